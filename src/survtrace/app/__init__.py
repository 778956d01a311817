"""The risk explorer: a fitted estimator as a web page with a JSON API, or as one HTML file."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from survtrace.app.calculator import write_page
    from survtrace.app.service.api import create_app
    from survtrace.app.service.server import serve

__all__ = ["create_app", "serve", "write_page"]


def __dir__() -> list[str]:
    """Return names to offer, also those that are imported on demand."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import the service when it is first asked for; answers and pages need no FastAPI."""
    if name not in __all__:
        raise AttributeError(f"module 'survtrace.app' has no attribute {name!r}")
    if name == "write_page":
        from survtrace.app import calculator

        return calculator.write_page
    from survtrace.errors import require

    for package in ("fastapi", "uvicorn"):
        require(package, "app", "the server needs")
    if name == "create_app":
        from survtrace.app.service import api

        return api.create_app
    from survtrace.app.service import server

    return server.serve
