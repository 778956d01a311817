"""The risk explorer: a fitted estimator behind a web page and a JSON API."""

from survtrace.app.api import create_app
from survtrace.app.server import serve

__all__ = ["create_app", "serve"]
