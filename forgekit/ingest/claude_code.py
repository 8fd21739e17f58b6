"""Transcripts of Claude Code: JSON lines, plain or gzipped, of which only compactions are read.

A **compaction** is a `user` record with `isCompactSummary`; the `compact_boundary` record before it gives
its time and trigger. A **stretch** is what one compaction summed up: the records since the one before it. The
format is internal to that program and changes, so everything but the summary's text, its session and a time
may be missing.

One line is held at a time. What cannot be read is told as a `Problem` with its line, in file order.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from forgekit.errors import FormatError, NotFoundError
from forgekit.model.problem import Problem, Severity
from forgekit.times import Instant, parse_instant

LONGEST_LINE = 32 * 1024 * 1024
LONGEST_FILE = 16 * 1024 * 1024 * 1024
NAMED_LINES = 20
MOST_SESSIONS = 10_000

_CHUNK = 1024 * 1024
_GZIP = b"\x1f\x8b"
_LEFT_OUT = {
    True: "this compaction summary names no session",
    False: "this compaction summary belongs to a side chain and was left out",
}
_SESSION_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_WORKTREE = re.compile(r"/\.(?:git|claude)/worktrees/|/\.?worktrees/")


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactSummary:
    """One compaction of one session.

    Attributes:
        text: the summary, verbatim.
        line: 1-based line of its record.
        project_hint: the folder's name that the session began in, "" if not said.
        trigger: `auto`, `manual` or "".
        pre_tokens: tokens in the context before it, where said.
        ordinal: 1 for the session's first compaction.
        started: time of the first record of the stretch that it sums up, not before the last one ended.
        version: of the program that wrote it, "" if not said.
    """

    text: str
    line: int
    session_id: str
    project_hint: str
    compacted_at: Instant
    trigger: str
    pre_tokens: int | None
    ordinal: int
    started: Instant
    version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Boundary:
    at: Instant | None = None
    trigger: str = ""
    pre_tokens: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Session:
    started: Instant | None = None
    last: CompactSummary | None = None
    project_hint: str = ""
    boundary: _Boundary = field(default_factory=_Boundary)


def looks_like_transcript(head: bytes) -> bool:
    """Say whether the first bytes of a file, gzipped or not, open a transcript."""
    if head.startswith(_GZIP):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, 65_536)
        except zlib.error:
            return False
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:65_536]
    first = head.split(b"\n", 1)[0]
    return (
        first.startswith(b"{")
        and b'"type"' in first
        and any(key in first for key in (b'"sessionId"', b'"leafUuid"', b'"parentUuid"', b'"snapshot"'))
    )


def compactions(source: str | BinaryIO) -> Iterator[CompactSummary | Problem]:
    """Read the compactions of a transcript, and what could not be read, in file order.

    Args:
        source: a path, `-` for standard input, or an open file; gzip is told by its first bytes.

    Raises NotFoundError and FormatError for a file that cannot be opened or is no transcript.
    """
    with _opened(source) as stream:
        yield from read_compactions(stream)


def read_compactions(stream: BinaryIO) -> Iterator[CompactSummary | Problem]:
    """Read the compactions of an open transcript; see `compactions`."""
    sessions: dict[str, _Session] = {}
    seen: set[str] = set()
    for number, record in _records(stream):
        if isinstance(record, Problem):
            yield record
            continue
        compact = record.get("type") == "user" and record.get("isCompactSummary") is True
        session_id = _session_id(record)
        if session_id is None or record.get("isSidechain") is True:
            if compact:
                yield _problem("unusable-summary", _LEFT_OUT[session_id is None], number)
            continue
        session = _advance(sessions.get(session_id, _Session()), record)
        uuid = str(record.get("uuid") or number)
        if compact and uuid not in seen:
            seen.add(uuid)
            found = _summary(session, record, session_id, number)
            yield found
            if isinstance(found, CompactSummary):
                session = replace(session, started=None, last=found, boundary=_Boundary())
        sessions[session_id] = session
        if len(sessions) > MOST_SESSIONS:
            raise FormatError(
                "more than 10,000 sessions in one file; give one transcript at a time", line=number
            )


def _records(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
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
                yield number, _problem("broken-line", "this line is not a JSON record", number)
    if broken > NAMED_LINES:
        yield 0, _problem("broken-line", f"{broken - NAMED_LINES} more lines are not JSON records", None)


def _session_id(record: dict[str, Any]) -> str | None:
    said = record.get("sessionId")
    return said if isinstance(said, str) and _SESSION_ID.fullmatch(said) else None


def _advance(session: _Session, record: dict[str, Any]) -> _Session:
    """Note what a record says of its session: where the stretch began, the folder, the boundary."""
    if session.started is None and record.get("isCompactSummary") is not True:
        session = replace(session, started=_time(record))
    if not session.project_hint and isinstance(record.get("cwd"), str):
        session = replace(session, project_hint=_project(record["cwd"]))
    if record.get("type") == "system" and record.get("subtype") == "compact_boundary":
        said = record.get("compactMetadata")
        said = said if isinstance(said, dict) else {}
        trigger, tokens = said.get("trigger"), said.get("preTokens")
        boundary = _Boundary(
            at=_time(record),
            trigger=trigger if trigger in {"auto", "manual"} else "",
            pre_tokens=tokens
            if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0
            else None,
        )
        session = replace(session, boundary=boundary)
    return session


def _summary(
    session: _Session, record: dict[str, Any], session_id: str, number: int
) -> CompactSummary | Problem:
    text = _text(record)
    if not text.strip():
        return _problem("unusable-summary", "this compaction summary is empty", number)
    at = session.boundary.at if session.boundary.at is not None else _time(record)
    if at is None:
        return _problem(
            "unusable-summary", "neither this compaction summary nor its boundary says when", number
        )
    version = record.get("version")
    last = session.last
    started = min(session.started if session.started is not None else at, at)
    return CompactSummary(
        text=text,
        line=number,
        session_id=session_id,
        project_hint=session.project_hint,
        compacted_at=at,
        trigger=session.boundary.trigger,
        pre_tokens=session.boundary.pre_tokens,
        ordinal=last.ordinal + 1 if last else 1,
        started=max(started, last.compacted_at) if last else started,
        version=version if isinstance(version, str) else "",
    )


def _text(record: dict[str, Any]) -> str:
    """Return the message's text; half of a surrogate pair, which no file can hold, becomes U+FFFD."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        blocks = [
            block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"
        ]
        content = "\n".join(block for block in blocks if isinstance(block, str))
    if not isinstance(content, str):
        return ""
    return content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _time(record: dict[str, Any]) -> Instant | None:
    stamp = record.get("timestamp")
    if not isinstance(stamp, str):
        return None
    try:
        return parse_instant(stamp)
    except ValueError:
        return None


def _project(folder: str) -> str:
    """Return the name of a working folder; a work tree counts as the repository it belongs to."""
    path = folder.replace("\\", "/")
    if worktree := _WORKTREE.search(path):
        path = path[: worktree.start()]
    return path.rstrip("/").rsplit("/", 1)[-1][:200]


def _record(line: bytes) -> dict[str, Any] | None:
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
                yield (
                    number,
                    _problem("line-too-long", "this line is longer than 32 MB and was skipped", number),
                )
            else:
                yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if total > LONGEST_FILE:
                yield number, _problem("file-too-long", "reading stopped after 16 GB", number)
                return
    except (EOFError, OSError, zlib.error) as e:
        yield number, _problem("file-cut-off", f"the file cannot be read past this line: {e}", number or None)


def _problem(code: str, message: str, line: int | None) -> Problem:
    return Problem(code=code, message=message, line=line, severity=Severity.WARNING)


@contextmanager
def _opened(source: str | BinaryIO) -> Iterator[BinaryIO]:
    if not isinstance(source, str):
        yield _unpacked(source)
        return
    if source == "-":
        yield _unpacked(sys.stdin.buffer)
        return
    try:
        with Path(source).open("rb") as stream:
            yield _unpacked(stream)
    except FileNotFoundError as e:
        raise NotFoundError("file", source) from e
    except OSError as e:
        raise FormatError(f"cannot be read: {e.strerror or e}", path=source) from e


def _unpacked(stream: BinaryIO) -> BinaryIO:
    """Undo gzip, told by the first two bytes, which are not taken from the stream."""
    buffered = (
        stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", stream))
    )
    if buffered.peek(2)[:2] != _GZIP:
        return buffered
    return cast("BinaryIO", gzip.GzipFile(fileobj=buffered))
