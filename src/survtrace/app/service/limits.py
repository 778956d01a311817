"""Limit the size and time of a request, check its token, and add headers to every answer."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import torch
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from survtrace.app.answers.limits import LimitError, Limits

Answer = TypeVar("Answer")
OPEN_PATHS = ("/", "/health", "/openapi.json")  # and the page's own files: none speaks of a subject
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Worker:
    """One thread in which every prediction runs, one after the other.

    The network is small: requests side by side on one core each would only be slower, and the
    warnings of one request would mix with those of another.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.thread = ThreadPoolExecutor(1, "survtrace", partial(torch.set_num_threads, 1))

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Wait for the answer; work not yet begun when the time is over is dropped."""
        done = asyncio.get_running_loop().run_in_executor(self.thread, work)
        try:
            return await asyncio.wait_for(done, self.seconds)
        except TimeoutError:
            raise LimitError(
                f"an answer takes at most {self.seconds:g} seconds; this one took longer. "
                "Ask for fewer subjects or times, or try again when less is asked.",
                429,
            ) from None


class RequestGuard:
    """Check token, size and time of a request before the app sees it; add headers to answers."""

    def __init__(self, app: ASGIApp, limits: Limits, token: str | None = None) -> None:
        self.app, self.limits, self.token = app, limits, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the app, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        headers = Headers(scope=scope)
        if not (scope["path"] in OPEN_PATHS or scope["path"].startswith("/page/")):
            refused = self._refuse_without_token(headers)
            if refused is not None:
                await refused(scope, receive, send_with_headers)
                return
        try:
            announced = headers.get("content-length", "")
            self._check_size(int(announced) if announced.isdecimal() else 0)
            body = await asyncio.wait_for(self._read(receive), self.limits.seconds)
        except LimitError as error:
            await refusal(error.status, str(error))(scope, receive, send_with_headers)
        except TimeoutError:
            message = (
                f"a request must arrive within {self.limits.seconds:g} seconds. Send it again."
            )
            await refusal(408, message)(scope, receive, send_with_headers)
        else:
            await self.app(scope, _replay(body, receive), send_with_headers)

    def _refuse_without_token(self, headers: Headers) -> JSONResponse | None:
        if self.token is None:
            return None
        given = headers.get("authorization", "").encode("latin-1")
        if hmac.compare_digest(given, b"Bearer " + self.token.encode("utf-8")):
            return None
        message = "this server asks for its token. Send the header 'Authorization: Bearer <token>'."
        return refusal(401, message, {"WWW-Authenticate": "Bearer"})

    def _check_size(self, size: int) -> None:
        if size > self.limits.bytes:
            raise LimitError(
                f"a request may have at most {self.limits.bytes} bytes; got {size} or more. "
                "Send it in parts."
            )

    async def _read(self, receive: Receive) -> bytes:
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            self._check_size(size)
            more = message.get("more_body", False)
        return b"".join(parts)


def refusal(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Answer with an error message; text that is no Unicode is escaped, long text is cut."""
    shown = message.encode("utf-8", "backslashreplace").decode()
    if len(shown) > 1000:
        shown = f"{shown[:700]} ... {shown[-250:]}"
    return JSONResponse({"detail": shown}, status, headers)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receive function for a body that was already read, then for what follows."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed
