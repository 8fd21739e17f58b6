"""A server of a language model on this machine that says what a test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers each request with the next reply of the server, and the last one for ever."""

    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, dict(self.headers), json.loads(body)))
        number = min(len(self.server.seen), len(self.server.replies)) - 1
        self.server.replies[number](self)

    def log_message(self, *_: object) -> None: ...


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, dict[str, str], Any]] = []
        self.replies: Sequence[Reply] = ()
        self.closing = threading.Event()
        self.host = f"127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Say nothing where the caller hangs up."""


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server until the block ends."""
    found = Server()
    thread = threading.Thread(target=found.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield found
    finally:
        found.closing.set()
        found.shutdown()
        thread.join()
        found.server_close()


def sent(status: int, body: bytes, **headers: str) -> Reply:
    def reply(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def ollama(content: object) -> Reply:
    text = content if isinstance(content, str) else json.dumps(content)
    return sent(200, json.dumps({"message": {"role": "assistant", "content": text}, "done": True}).encode())


def openai(content: object) -> Reply:
    text = content if isinstance(content, str) else json.dumps(content)
    return sent(200, json.dumps({"choices": [{"message": {"content": text}}]}).encode())
