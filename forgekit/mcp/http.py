"""The MCP server over HTTP, on this machine alone: a token, and the allowed values of Host and Origin.

A page in a browser can send requests to a port of the machine; it knows no token, and its Origin is refused.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from forgekit.console import info
from forgekit.errors import UsageError

HOST = "127.0.0.1"
VARIABLE = "FORGEKIT_MCP_TOKEN"
"""The variable that may name the token."""
LEAST = 16
"""Characters of a token."""


class TokenGate:
    """Lets requests with the token through and answers others with status 401."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "http" or hmac.compare_digest(given, self._wanted):
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def app_of(server: Server[Any], token: str) -> Starlette:
    """Return the application that serves `/mcp`.

    Raises UsageError for a token that is too short.
    """
    if len(token) < LEAST or not (token.isascii() and token.isprintable()) or " " in token:
        raise UsageError(f"{VARIABLE} must have at least {LEAST} printable characters without blanks")
    app = server.streamable_http_app(host=HOST)
    app.add_middleware(TokenGate, token=token)
    return app


def serve(server: Server[Any], port: int) -> None:
    """Serve until the process is stopped; print the address, and the token that nobody chose.

    Args:
        port: of this machine; 0 for any free one.
    """
    given = os.environ.get(VARIABLE)
    token = given or secrets.token_urlsafe(24)
    app = app_of(server, token)
    with socket.create_server((HOST, port)) as listening:
        info(f"serving http://{HOST}:{listening.getsockname()[1]}/mcp")
        if not given:
            info(f"token (set {VARIABLE} to choose it): {token}")
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
