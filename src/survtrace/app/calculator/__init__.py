"""The risk explorer in one HTML file: page, model and forward pass, without a server."""

from survtrace.app.calculator.write import write_page

__all__ = ["write_page"]
