"""Many machines: training, scoring and search on a Ray cluster."""

from survtrace.distributed.prediction import predict_files
from survtrace.distributed.search import tune
from survtrace.distributed.training import fit

__all__ = ["fit", "predict_files", "tune"]
