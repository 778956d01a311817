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
        self.timer: TimerHandle | None = None  # until when the client must have sent something
        self.unread: TimerHandle | None = None  # until when it must have read something
        self.n_head: int | None = None  # bytes of a head that is not complete
        self.n_beside = 0  # bytes since the last that were of a head or a body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection on, or turn it away at once: it then takes no file descriptor."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._turn_away(
                "503 Service Unavailable", "too many connections are open. Try again later."
            )
            return
        self._within(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._in_time()
        self._is_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand data on; a head that does not end is refused, as are trailers of a body."""
        if self.transport.is_closing():
            return
        head = self.headers
        self.n_beside += len(data)
        super().data_received(data)
        if self.n_head is not None:  # of a head that begins here, other requests may lie before it
            self.n_head += len(data) if self.headers is head else self._parsed_bytes()
            if self.n_head > HEAD_BYTES:
                self._refuse_head()
        elif self.n_beside > HEAD_BYTES:  # the parser would keep trailers without end
            self._refuse_head()
        elif self.timer is None and self.cycle is not None and self.cycle.response_complete:
            self._within(HEAD_SECONDS)  # empty lines, by which uvicorn forgets that nobody asks

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._turn_away("400 Bad Request", "this is no HTTP request.")

    def on_message_begin(self) -> None:
        """Begin to read the head of a request."""
        self.n_head = 0
        self._within(HEAD_SECONDS)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin an answer, unless the head came whole and is too long."""
        self._in_time()
        self.n_head, self.n_beside = None, 0
        if self._parsed_bytes() > HEAD_BYTES:
            self._refuse_head()
            raise ValueError("the head is too long")  # the parser stops
        # Java's client asks for HTTP/2 so, beside its question; the parser would drop the latter.
        if self.parser.should_upgrade() and self.parser.get_method() != b"GET":
            words = "HTTP/1.1 alone is spoken here. Leave the header Upgrade out."
            self._turn_away("400 Bad Request", words)
            raise ValueError(words)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self.n_beside = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self.n_beside = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request; a client that still sends this one is waited for shortly."""
        super().on_response_complete()
        is_last = self.cycle.response_complete  # else it is the next request that still comes in
        if is_last and self.cycle.more_body and not self.transport.is_closing():
            self._within(LINGER_SECONDS)

    def pause_writing(self) -> None:
        """Wait for the client to read, not for ever."""
        super().pause_writing()
        self.unread = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with the answer."""
        self._is_read()
        super().resume_writing()

    def _parsed_bytes(self) -> int:
        """Count the bytes of a head so far, where others may have come with it."""
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse_head(self) -> None:
        self._turn_away(
            "431 Request Header Fields Too Large", f"a head has at most {HEAD_BYTES} bytes."
        )

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

    def _is_read(self) -> None:
        if self.unread is not None:
            self.unread.cancel()
            self.unread = None


def _short_answer(status: str, words: str) -> bytes:
    """Write a whole answer that ends a connection."""
    content = f'{{"detail": "{words}"}}'
    head = {
        **SECURITY_HEADERS,
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
        "Retry-After": "1",
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in head.items())]
    return ("\r\n".join([*lines, "", content])).encode()
