"""Files of JSON lines, one record held at a time.

What cannot be read is told as a `Problem` with its line, in file order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from forgekit.ingest.fields import told
from forgekit.ingest.sources import READ_ERRORS
from forgekit.model.problem import Problem

LONGEST_LINE = 32 * 1024 * 1024
LONGEST_FILE = 16 * 1024 * 1024 * 1024
MOST_VALUES = 2_000_000
NAMED_LINES = 20

_CHUNK = 1024 * 1024
_SESSION_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


def records(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    """Yield each record with its line; broken lines as Problems, the first ones by name, the rest counted."""
    broken = 0
    for number, line in _lines(stream):
        if isinstance(line, Problem):
            yield number, line
        elif (record := _record(line)) is not None:
            yield number, record
        elif line.strip():
            broken += 1
            if broken <= NAMED_LINES:
                yield number, told("broken-line", "this line is not a JSON record", number)
    if broken > NAMED_LINES:
        yield 0, told("broken-line", f"{broken - NAMED_LINES} more lines are not JSON records")


def session_id_of(record: dict[str, Any]) -> str | None:
    """Return the session that a record belongs to, None if it says none that could be one."""
    said = record.get("sessionId")
    return said if isinstance(said, str) and _SESSION_ID.fullmatch(said) else None


def crowded(text: str | bytes) -> bool:
    """Say whether a JSON text holds so many lists and objects that reading it would need gigabytes."""
    if len(text) <= MOST_VALUES:
        return False
    if isinstance(text, str):
        return text.count("[") + text.count("{") > MOST_VALUES
    return text.count(b"[") + text.count(b"{") > MOST_VALUES


def _record(line: bytes) -> dict[str, Any] | None:
    if crowded(line):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | Problem]]:
    """Yield each line with its number; one that is too long, or an end in mid-file, as a Problem."""
    number = total = 0
    try:
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            total += len(line)
            if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
                    total += len(rest)
                yield number, told("line-too-long", "this line is longer than 32 MB and was skipped", number)
            else:
                yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if total > LONGEST_FILE:
                yield number, told("file-too-long", "reading stopped after 16 GB", number)
                return
    except READ_ERRORS as e:
        yield number, told("file-cut-off", f"the file cannot be read past this line: {e}", number or None)
