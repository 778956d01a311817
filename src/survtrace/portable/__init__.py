"""Predictions of a saved estimator with numpy and safetensors alone; no torch, no pandas."""

from survtrace.portable.model import PortableSurvTRACE, load

__all__ = ["PortableSurvTRACE", "load"]
