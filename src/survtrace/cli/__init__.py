"""The command `survtrace`."""

from survtrace.cli.command import app, main

__all__ = ["app", "main"]
