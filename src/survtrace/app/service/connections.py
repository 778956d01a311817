"""Limits of a connection: how many there are, and how long one may be silent or slow."""

from __future__ import annotations

import asyncio
from asyncio.events import TimerHandle
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from survtrace.app.service.guard import SECURITY_HEADERS

HEAD_SECONDS = 10.0  # from the first byte, or from the opening, to the end of a request's head
HEAD_BYTES = 32 * 2**10
UNREAD_SECONDS = 30.0  # that an answer may wait for its client to read it
LINGER_SECONDS = 2.0  # that a client may go on to send what nobody reads any more


class LimitedProtocol(HttpToolsProtocol):
    """A connection that is closed where uvicorn would wait for ever."""

    most_connections = 1000

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.timer: TimerHandle | None = None
        self.n_head: int | None = None  # bytes of a head that is not complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection on, or turn it away at once: it then takes no file descriptor."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._turn_away("503 Service Unavailable", "too many connections are open")
            return
        self._within(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand data on; a head that does not end is refused."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.n_head is not None:
            self.n_head += len(data)
            if self.n_head > HEAD_BYTES:
                self._turn_away("431 Request Header Fields Too Large", "the head is too long")

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._turn_away("400 Bad Request", "this is no HTTP request")

    def on_message_begin(self) -> None:
        """Begin to read the head of a request."""
        self.n_head = 0
        self._within(HEAD_SECONDS)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin an answer."""
        self._in_time()
        self.n_head = None
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request; a client that still sends this one is waited for shortly."""
        self._in_time()
        super().on_response_complete()
        if self.cycle.more_body and not self.transport.is_closing():
            self._within(LINGER_SECONDS)

    def pause_writing(self) -> None:
        """Wait for the client to read, not for ever."""
        super().pause_writing()
        self._within(UNREAD_SECONDS)

    def resume_writing(self) -> None:
        """Go on with the answer."""
        self._in_time()
        super().resume_writing()

    def _turn_away(self, status: str, words: str) -> None:
        if not self.transport.is_closing():
            self.transport.write(_short_answer(status, words))
            self.transport.close()

    def _within(self, seconds: float) -> None:
        self._in_time()
        self.timer = self.loop.call_later(seconds, self.transport.abort)

    def _in_time(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


def _short_answer(status: str, words: str) -> bytes:
    """Write a whole answer that ends a connection."""
    content = f'{{"detail": "{words}. Try again later, or with less."}}'
    head = {
        **SECURITY_HEADERS,
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
        "Retry-After": "1",
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in head.items())]
    return ("\r\n".join([*lines, "", content])).encode()
