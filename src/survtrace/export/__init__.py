"""A saved estimator as a file of another format: ONNX, with a JSON Schema of its inputs."""

from survtrace.export.onnx_file import ExportedFile, export_onnx

__all__ = ["ExportedFile", "export_onnx"]
