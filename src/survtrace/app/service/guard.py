"""Check host, token, size and time of a request before the app sees it; head every answer."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from survtrace.app.answers.limits import LimitError, Limits
from survtrace.app.service.questions import FormError, refusal_words
from survtrace.app.service.queue import BusyError
from survtrace.app.service.record import Recorder
from survtrace.errors import SurvtraceError

Head = Mapping[bytes, bytes]
# A handler of a whole body; FastAPI's routing before it would take as long as the answer.
Direct = Callable[[bytes, Head], Awaitable[Response]]
# None of these speaks of a subject; the page's own files are open, too.
OPEN_PATHS = ("/", "/health", "/ready", "/openapi.json")
SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
RAW_HEADERS = [(k.lower().encode(), v.encode()) for k, v in SECURITY_HEADERS.items()]
BODIES_HELD = 8  # bodies of the largest size that may be in memory at once
DRAIN_SECONDS = 5.0


class RefusedError(Exception):
    """A request that is refused by its head."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


class RequestGuard:
    """The outermost part of the app: what it refuses, no route sees."""

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        recorder: Recorder,
        token: str | None = None,
        hosts: Sequence[str] | None = None,
        direct: Mapping[tuple[str, str], Direct] | None = None,
    ) -> None:
        self.app, self.limits, self.recorder = app, limits, recorder
        self.credentials = None if token is None else b"Bearer " + token.encode()
        self.hosts = None if hosts is None else {host.lower() for host in hosts}
        self.direct = dict(direct or {})
        self.n_held = 0  # bytes of bodies in memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to its handler or the app, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *RAW_HEADERS]
            await send(message)

        try:
            await self._answer(scope, receive, send_with_headers)
        except Exception as error:
            # Its message may quote a patient: neither log nor answer has more than its place.
            self.recorder.log_fault(error)
            if status:  # half an answer is out; the server closes the connection
                raise RuntimeError("an answer broke off") from None
            await refusal(
                500, "the server failed, by a fault of its own; its log names the place."
            )(scope, receive, send_with_headers)
        finally:
            self.recorder.record(
                scope["method"], scope["path"], status, time.perf_counter() - began
            )

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        head, held, path = dict(scope["headers"]), [0], scope["path"]
        is_whole = False  # nothing is left to drain, which would wait for it in vain

        async def receive_part() -> Message:
            nonlocal is_whole
            message = await receive()
            is_whole = not message.get("more_body", False)
            return message

        try:
            self._check_head(path, head)
            async with asyncio.timeout(self.limits.seconds):
                body = await self._read(receive_part, held)
            handler = self.direct.get((scope["method"], path))
            if handler is None:
                await self.app(scope, _replay(body, receive), send)
                return
            answer = await handler(body, head)
        except RefusedError as error:
            if not is_whole:
                await self._drain(head, receive)
            answer = refusal(error.status, str(error), error.headers)
        except TimeoutError:
            message = (
                f"a request must arrive within {self.limits.seconds:g} seconds. Send it again."
            )
            answer = refusal(408, message, {"Connection": "close"})
        except SurvtraceError as error:
            is_large = isinstance(error, LimitError) and not isinstance(error, BusyError)
            if is_large and not is_whole:
                await self._drain(head, receive)
            answer = refusal_of(error, path)
        finally:
            self.n_held -= held[0]
        await answer(scope, receive, send)

    def _check_head(self, path: str, head: Head) -> None:
        """Refuse a foreign host, a wrong token, a compressed or too large body."""
        if self.hosts is not None and _host_name(head.get(b"host", b"")) not in self.hosts:
            raise RefusedError(
                400, "this server is called by another name. Use the address it printed."
            )
        if not (path in OPEN_PATHS or path.startswith("/page/") or self._has_token(head)):
            raise RefusedError(
                401,
                "this server asks for its token. Send the header 'Authorization: Bearer <token>'.",
                {"WWW-Authenticate": "Bearer"},
            )
        if head.get(b"content-encoding", b"identity").lower() != b"identity":
            raise RefusedError(
                415, "a request must not be compressed. Send it without Content-Encoding."
            )
        announced = head.get(b"content-length", b"")
        self._check_size(int(announced) if announced.isdigit() else 0)

    def _has_token(self, head: Head) -> bool:
        given = head.get(b"authorization", b"")
        return self.credentials is None or hmac.compare_digest(given, self.credentials)

    def _check_size(self, size: int) -> None:
        if size > self.limits.bytes:
            raise LimitError(
                f"a request may have at most {self.limits.bytes} bytes; got {size} or more. "
                "Send it in parts."
            )

    async def _read(self, receive: Receive, held: list[int]) -> bytes:
        """Read a body; ``held`` is told how many bytes of it are in memory."""
        parts, more = list[bytes](), True
        while more:
            message = await receive()
            part: bytes = message.get("body", b"")
            parts.append(part)
            held[0] += len(part)
            self.n_held += len(part)
            self._check_size(held[0])
            if self.n_held > BODIES_HELD * self.limits.bytes:
                raise BusyError
            more = message.get("more_body", False)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _drain(self, head: Head, receive: Receive) -> None:
        """Read what a refused client still sends, within bounds, and keep nothing of it.

        A connection that is closed with data unread is reset, and its client may never see why.
        """
        if b"expect" in head:  # it waits for leave to send
            return
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while size <= BODIES_HELD * self.limits.bytes:
                    message = await receive()
                    size += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return


def refusal_of(error: SurvtraceError, path: str) -> Response:
    """Answer with the words and the code of one of our errors."""
    if isinstance(error, FormError):
        return refusal(error.status, refusal_words(error, path))
    status = error.status if isinstance(error, LimitError) else 422
    return refusal(status, str(error), {"Retry-After": "1"} if status == 429 else None)


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with an error message; text that is no Unicode is escaped, long text is cut."""
    shown = message.encode("utf-8", "backslashreplace").decode()
    if len(shown) > 1000:
        shown = f"{shown[:700]} ... {shown[-250:]}"
    content = json.dumps({"detail": shown}, ensure_ascii=False)
    return Response(content, status, headers, media_type="application/json")


def _host_name(host: bytes) -> str:
    """Take the port off a Host header.

    Examples
    --------
    >>> _host_name(b"localhost:8000"), _host_name(b"[::1]:8000")
    ('localhost', '[::1]')
    """
    text = host.decode("latin-1").lower()
    name, colon, port = text.rpartition(":")
    return name if colon and port.isdigit() else text


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receive function for a body that was already read, then for what follows."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Any:
        return waiting.pop() if waiting else await receive()

    return replayed
