"""Run the conformance scenarios of the MCP project against `forgekit mcp --http`.

The runner is an npm package without an option for headers, so a forwarder on this machine adds the token and
passes all else through unchanged, `Host` and `Origin` too. Scenarios that use what only the runner's example
server has, or a capability that a server may leave out, are named as that. Exit status 1: others failed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

RUNNER = ("npx", "--yes", "-p", "node@22", "-p", "@modelcontextprotocol/conformance@0.1.16", "conformance")
FORGEKIT = (sys.executable, "-m", "forgekit")
FIXTURE = "needs the runner's own tool, prompt or resource"
PASSED, FAILED, UNDECLARED = "passed", "FAILED", "capability not declared"
NEEDED = {"logging": "logging", "completion": "completions", "subscribe": "resources.subscribe"}
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}


def outcome(scenario: str, checks: Sequence[dict[str, Any]], declared: Collection[str]) -> tuple[str, str]:
    """Return how a scenario ended, and why; `declared` has names such as `resources.subscribe`."""
    errors = [str(one.get("errorMessage", "no message")) for one in checks if one["status"] == "FAILURE"]
    needed = {capability for word, capability in NEEDED.items() if word in scenario}
    ends = []
    for error in errors:
        own, absent = re.search(r"\btest_\w+|\btest://", error), "-32601" in error and needed - set(declared)
        ends.append((FIXTURE if own else UNDECLARED if absent else FAILED, error))
    none = PASSED if checks else FAILED, f"checks: {len(checks)}"
    return next((end for end in ends if end[0] == FAILED), ends[0] if ends else none)


@contextmanager
def served(root: Path, token: str) -> Iterator[str]:
    """Run the server of a registry and yield its address."""
    env = os.environ | {"FORGEKIT_MCP_TOKEN": token}
    line = [*FORGEKIT, "-C", str(root), "mcp", "--http", "0"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, env=env, text=True) as server:
        printed = server.stderr.readline() if server.stderr else ""
        try:
            if not printed.startswith("serving "):
                raise SystemExit(printed)
            yield printed.split()[1]
        finally:
            server.terminate()


@contextmanager
def forwarded(address: str, token: str) -> Iterator[str]:
    """Yield an address that forwards to a server with a token added."""

    class Forwarder(BaseHTTPRequestHandler):
        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            server = HTTPConnection(urlsplit(address).netloc)
            server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in [*self.headers.items(), ("Authorization", f"Bearer {token}")]:
                server.putheader(name, value)
            server.endheaders(body)
            answer = server.getresponse()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"transfer-encoding", "connection"}:
                    self.send_header(name, value)
            self.end_headers()
            with suppress(HTTPException, OSError):  # either side may end a stream of events
                while part := answer.read1():
                    self.wfile.write(part)

        do_GET = do_POST = do_DELETE = forward  # noqa: N815 - the names that the library calls

    with ThreadingHTTPServer(("127.0.0.1", 0), Forwarder) as forwarder:
        threading.Thread(target=forwarder.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{forwarder.server_port}{urlsplit(address).path}"
        forwarder.shutdown()


def capabilities(url: str) -> set[str]:
    """Return the capabilities that a server declares, and those of their options that are on."""
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()
    with urlopen(Request(url, asked, HEADERS)) as answer:  # noqa: S310 - an address of this machine
        found = json.loads(answer.read().decode().partition("data: ")[2])["result"]["capabilities"]
    return {*found, *(f"{name}.{key}" for name, options in found.items() for key in options if options[key])}


def main() -> int:
    """Run as a script."""
    if shutil.which("npx") is None:
        print("SKIPPED: npx is not installed; the runner is an npm package")
        return 0
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        root, token = Path(scratch, "registry"), secrets.token_hex()
        for words in (["init", str(root)], ["-C", str(root), "project", "new", "Shop"]):
            subprocess.run([*FORGEKIT, *words], check=True, capture_output=True)
        with served(root, token) as address, forwarded(address, token) as url:
            declared, line = capabilities(url), [*RUNNER, "server", "--url", url, "-o", scratch]
            done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=scratch)
        for file in sorted(Path(scratch).glob("server-*/checks.json")):
            scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*", "", file.parent.name)
            how, why = outcome(scenario, json.loads(file.read_text("utf-8")), declared)
            counts[how] += 1
            print(f"{scenario:32}{how:50}{why[:70]}")
    if not counts:
        print(f"SKIPPED: the runner did not run: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    print(", ".join(f"{count} {how}" for how, count in counts.most_common()))
    return int(counts[FAILED] > 0)


if __name__ == "__main__":
    sys.exit(main())
