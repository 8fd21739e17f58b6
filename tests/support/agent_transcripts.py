"""Transcripts of a coding agent's sessions, record by record, as tests write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Transcript:
    """The records of one session; each has an id of its own."""

    def __init__(self, session: str = "s1", day: str = "2026-01-01") -> None:
        self.lines: list[str] = []
        self._session = session
        self._day = day

    def add(self, kind: str, **more: Any) -> str:
        """Add a record and return its uuid."""
        uuid = more.pop("uuid", f"{self._session}-{len(self.lines)}")
        record = {"type": kind, "uuid": uuid, "sessionId": self._session}
        record["timestamp"] = f"{self._day}T00:{len(self.lines) // 60 % 60:02}:{len(self.lines) % 60:02}Z"
        self.lines.append(json.dumps(record | more))
        return str(uuid)

    def prompt(self, text: str, **more: Any) -> None:
        self.add("user", message={"role": "user", "content": text}, **more)

    def reply(self, text: str, tokens: int = 0, message: str = "", model: str = "m-1", **more: Any) -> None:
        usage = {"input_tokens": 1, "cache_read_input_tokens": max(tokens - 2, 0), "output_tokens": 1}
        said = {"id": message or f"msg{len(self.lines)}", "model": model, "usage": usage if tokens else {}}
        content = [{"type": "text", "text": text}] if text else []
        self.add("assistant", message=said | {"content": content}, **more)

    def call(
        self, name: str, result: str = "ok", *, failed: bool = False, data: Any = None, **given: Any
    ) -> None:
        """Add a call of a tool and its result."""
        key = f"call{len(self.lines)}"
        block = {"type": "tool_use", "id": key, "name": name, "input": given}
        self.add("assistant", message={"id": f"msg{key}", "model": "m-1", "content": [block]})
        back = {"type": "tool_result", "tool_use_id": key, "content": result, "is_error": failed}
        more = {"toolUseResult": data} if data is not None else {}
        self.add("user", message={"role": "user", "content": [back]}, **more)

    def run(self, command: str, result: str = "ok", *, failed: bool = False) -> None:
        self.call("Bash", f"Exit code 1\n{result}" if failed else result, failed=failed, command=command)

    def edit(self, path: str, old: str = "", new: str = "", *, failed: bool = False) -> None:
        self.call("Edit", failed=failed, file_path=path, old_string=old, new_string=new)

    def compact(self, summary: str, tokens: int = 100_000, trigger: str = "auto") -> None:
        told = {"trigger": trigger, "preTokens": tokens}
        self.add("system", subtype="compact_boundary", compactMetadata=told)
        self.add("user", message={"role": "user", "content": summary}, isCompactSummary=True)

    @property
    def data(self) -> bytes:
        return "".join(f"{line}\n" for line in self.lines).encode()

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path
