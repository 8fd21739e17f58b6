"""One JSON request to one server, within a time and a size.

The standard library's `http.client` is enough for two addresses, and leaves out what would have to be
switched off elsewhere: it follows no redirect, and it knows no proxy of the environment. So a request
arrives at the host it was meant for, or nowhere.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Event, Timer
from typing import Any
from urllib.parse import urlsplit

from forgekit.errors import ForgeError

REPLY_LIMIT = 1_000_000
"""Bytes of an answer that are read."""


class NoAnswerError(ForgeError):
    """The server gave no answer: it cannot be reached, is late, or says too much."""


def post(url: str, payload: object, *, key: str | None, seconds: float) -> tuple[int, bytes]:
    """Send JSON, and return the status and the body.

    Args:
        url: http or https; the host's name is looked up in whatever time the system takes for it.
        payload: what JSON can say.
        key: sent as a bearer token; printable ASCII.
        seconds: for everything after that, however slowly the server trickles.

    Raises NoAnswerError.
    """
    host = urlsplit(url).netloc
    started, late = time.monotonic(), Event()
    with contextlib.ExitStack() as stack:
        try:
            connection = stack.enter_context(contextlib.closing(_connection(url, seconds)))
            connection.connect()
            # A time-out of the socket begins again with each byte; the timer does not.
            timer = Timer(seconds - (time.monotonic() - started), _hang_up, (connection.sock, late))
            timer.daemon = True
            stack.callback(timer.cancel)
            timer.start()
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if key:
                headers["Authorization"] = f"Bearer {key}"
            connection.request("POST", urlsplit(url).path, json.dumps(payload).encode(), headers)
            reply = connection.getresponse()
            body = reply.read(REPLY_LIMIT + 1)
        except (OSError, HTTPException, ValueError) as e:
            if late.is_set() or isinstance(e, TimeoutError):
                raise _too_late(host, seconds) from None
            why = e.strerror if isinstance(e, OSError) else None
            raise NoAnswerError(f"{host} cannot be reached: {why or type(e).__name__}") from None
    if late.is_set():
        raise _too_late(host, seconds)
    if len(body) > REPLY_LIMIT:
        raise NoAnswerError(f"{host} answered with more than {REPLY_LIMIT:,} bytes")
    return reply.status, body


def _too_late(host: str, seconds: float) -> NoAnswerError:
    return NoAnswerError(f"{host} did not answer within {seconds:.3g} seconds")


def _connection(url: str, seconds: float) -> HTTPConnection:
    parts = urlsplit(url)
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return HTTPSConnection(parts.hostname or "", parts.port, timeout=seconds, context=context)
    return HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)


def _hang_up(connected: Any, late: Event) -> None:
    late.set()
    with contextlib.suppress(OSError):  # the other side was faster
        socket.socket.shutdown(connected, socket.SHUT_RDWR)  # below TLS, which would wait for a goodbye
