"""The compactions in transcripts of Claude Code: JSON lines, plain or gzipped.

A **compaction** is a `user` record with `isCompactSummary`; the `compact_boundary` record before it gives
its time and trigger. The format is internal to that program and changes, so everything but the summary's
text, its session and a time may be missing.

One line is held at a time. What cannot be read is told as a `Problem` with its line, in file order.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from forgekit.errors import FormatError
from forgekit.ingest.fields import mapping, moment, told, words
from forgekit.ingest.lines import records, session_id_of
from forgekit.ingest.sources import GZIP, opened
from forgekit.model.problem import Problem
from forgekit.model.transcript import Compaction
from forgekit.times import Instant

MOST_SESSIONS = 10_000
TOO_MANY_SESSIONS = "more than 10,000 sessions in one file; give one transcript at a time"

_LEFT_OUT = {
    True: "this compaction summary names no session",
    False: "this compaction summary belongs to a side chain and was left out",
}
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
    """

    text: str
    line: int
    session_id: str
    project_hint: str
    compacted_at: Instant
    trigger: str
    pre_tokens: int | None
    ordinal: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Session:
    summaries: int = 0
    project_hint: str = ""
    boundary: Compaction | None = None


def looks_like_transcript(head: bytes) -> bool:
    """Say whether the first bytes of a file, gzipped or not, open a transcript."""
    if head.startswith(GZIP):
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
    with opened(source) as stream:
        yield from read_compactions(stream)


def read_compactions(stream: BinaryIO) -> Iterator[CompactSummary | Problem]:
    """Read the compactions of an open transcript; see `compactions`."""
    sessions: dict[str, _Session] = {}
    seen: set[str] = set()
    for number, record in records(stream):
        if isinstance(record, Problem):
            yield record
            continue
        compact = record.get("type") == "user" and record.get("isCompactSummary") is True
        session_id = session_id_of(record)
        if session_id is None or record.get("isSidechain") is True:
            if compact:
                yield told("unusable-summary", _LEFT_OUT[session_id is None], number)
            continue
        session = _advance(sessions.get(session_id, _Session()), record, number)
        uuid = str(record.get("uuid") or number)
        if compact and uuid not in seen:
            seen.add(uuid)
            found = _summary(session, record, session_id, number)
            yield found
            if isinstance(found, CompactSummary):
                session = replace(session, summaries=found.ordinal, boundary=None)
        sessions[session_id] = session
        if len(sessions) > MOST_SESSIONS:
            raise FormatError(TOO_MANY_SESSIONS, line=number)


def boundary_of(record: dict[str, Any], number: int) -> Compaction | None:
    """Return what a record says of a compaction that was made; None if it is no boundary.

    Args:
        record: one line of a transcript.
        number: of the line, from 1.
    """
    subtype = record.get("subtype")
    if record.get("type") != "system" or subtype not in ("compact_boundary", "microcompact_boundary"):
        return None
    kind = "compact" if subtype == "compact_boundary" else "microcompact"
    said = mapping(record.get(f"{kind}Metadata"))
    trigger, tokens = words(said.get("trigger")), said.get("preTokens")
    counted = isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0
    return Compaction(
        kind=kind,
        line=number,
        time=moment(record.get("timestamp")),
        trigger=trigger if trigger in {"auto", "manual"} else "",
        pre_tokens=tokens if counted else None,
    )


def _advance(session: _Session, record: dict[str, Any], number: int) -> _Session:
    """Note what a record says of its session: the folder, the boundary."""
    if not session.project_hint and isinstance(record.get("cwd"), str):
        session = replace(session, project_hint=project_of(record["cwd"]))
    boundary = boundary_of(record, number)
    if boundary is not None and boundary.kind == "compact":
        session = replace(session, boundary=boundary)
    return session


def _summary(
    session: _Session, record: dict[str, Any], session_id: str, number: int
) -> CompactSummary | Problem:
    text = _text(record)
    if not text.strip():
        return told("unusable-summary", "this compaction summary is empty", number)
    boundary = session.boundary or Compaction(kind="compact", line=number)
    at = boundary.time if boundary.time is not None else moment(record.get("timestamp"))
    if at is None:
        return told("unusable-summary", "neither this compaction summary nor its boundary says when", number)
    return CompactSummary(
        text=text,
        line=number,
        session_id=session_id,
        project_hint=session.project_hint,
        compacted_at=at,
        trigger=boundary.trigger,
        pre_tokens=boundary.pre_tokens,
        ordinal=session.summaries + 1,
    )


def _text(record: dict[str, Any]) -> str:
    """Return the message's text."""
    content = mapping(record.get("message")).get("content")
    if isinstance(content, list):
        blocks = [
            block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"
        ]
        content = "\n".join(block for block in blocks if block and isinstance(block, str))
    return words(content)


def project_of(folder: str) -> str:
    """Return the name of a working folder; a work tree counts as the repository it belongs to."""
    path = folder.replace("\\", "/")
    if worktree := _WORKTREE.search(path):
        path = path[: worktree.start()]
    return path.rstrip("/").rsplit("/", 1)[-1][:200]
