"""Conversations in transcripts of Claude Code.

A **prompt** is what a person typed and sent: a `user` record whose text is not the program's own. What was
typed while the assistant was at work is an aside. One message of the assistant's stands over several records
of one `message.id`. Records of side chains, which sub-agents write, are counted and left out, and so is
thinking. Turns keep file order: what a person took back by rewinding was said all the same.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from forgekit.errors import FormatError
from forgekit.model.problem import Problem
from forgekit.model.transcript import Attachment, Compaction, ImportedConversation, Speaker
from forgekit.times import Instant
from forgekit.transcripts.fields import mapping, mappings, moment, name, told, words
from forgekit.transcripts.json_streams import records, session_id_of
from forgekit.transcripts.sources import GZIP, opened
from forgekit.transcripts.turns import Talk

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


LONGEST_TALK = 64 * 1024 * 1024

_SPOKEN = frozenset({"user", "assistant", "system", "attachment"})
_BOOKKEEPING = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "content-replacement",
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "tag",
        "worktree-state",
    }
)
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_THINKING = frozenset({"thinking", "redacted_thinking"})
_PICTURES = frozenset({"image", "document"})
_PROGRAM = (
    "<bash-input>",
    "<bash-stderr>",
    "<bash-stdout>",
    "<command-args>",
    "<command-message>",
    "<command-name>",
    "<local-command-caveat>",
    "<local-command-stderr>",
    "<local-command-stdout>",
    "<system-reminder>",
    "<task-notification>",
    "[Request interrupted",
)


@dataclass(kw_only=True, slots=True)
class _SessionsSession:
    session_id: str
    talk: Talk = field(default_factory=Talk)
    titles: dict[str, str] = field(default_factory=dict)
    folder: str = ""
    started: Instant | None = None
    messages: dict[str, int] = field(default_factory=dict)
    resumes: dict[str, None] = field(default_factory=dict)
    compactions: list[Compaction] = field(default_factory=list)
    boundary_open: bool = False
    left_out: int = 0


@dataclass(kw_only=True, slots=True)
class _File:
    sessions: dict[str, _SessionsSession] = field(default_factory=dict)
    homes: dict[str, _SessionsSession] = field(default_factory=dict)
    strays: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0


def from_the_program(text: str) -> bool:
    """Say whether a user's message is what the program wrote in the user's place."""
    return text.lstrip().startswith(_PROGRAM)


def read_sessions(stream: io.BufferedReader) -> Iterator[ImportedConversation | Problem]:
    """Read the conversations of one transcript: one a session, in the order in which they begin.

    A session resumes another one in the file when a record of its follows one of the other's, or says that it
    was forked from it; a forked record keeps the id of the original. A record that stands there twice counts
    once.

    Raises FormatError for more sessions than one file can hold.
    """
    file = _File()
    for number, record in records(stream):
        problem = record if isinstance(record, Problem) else _file_record(file, record, number)
        if problem is not None:
            yield problem
        if file.size > LONGEST_TALK:
            yield told("talk-too-long", "more than 64 MB of talk; the rest of the file was left out", number)
            break
    for record in file.strays:
        if words(record.get("type")) in _TITLES:
            _note_title(record, file.homes.get(words(record.get("leafUuid"))))
        elif file.sessions:
            next(iter(file.sessions.values())).talk.odd("record", record.get("type"))
    for session in file.sessions.values():
        yield _transcript(session)


def _file_record(file: _File, record: dict[str, Any], number: int) -> Problem | None:
    """Give a record to its session; one that names none is kept for later, as it may hold a title."""
    session_id = session_id_of(record)
    if session_id is None:
        kind = words(record.get("type"))
        if kind in {"user", "assistant"}:
            return told("unusable-record", "this record names no session", number)
        if kind not in _BOOKKEEPING and len(file.strays) < MOST_SESSIONS:
            file.strays.append(record)
        return None
    if session_id not in file.sessions and len(file.sessions) >= MOST_SESSIONS:
        raise FormatError(TOO_MANY_SESSIONS, line=number)
    session = file.sessions.setdefault(session_id, _SessionsSession(session_id=session_id))
    uuid = words(record.get("uuid"))
    if uuid not in file.homes:
        if uuid:
            file.homes[uuid] = session
        before = session.talk.size
        _take(session, record, number, file.homes.get(words(record.get("parentUuid"))))
        file.size += session.talk.size - before
    return None


def _transcript(session: _SessionsSession) -> ImportedConversation:
    turns = session.talk.turns()
    return ImportedConversation(
        source="claude-code",
        external_id=session.session_id,
        title=next((session.titles[kind] for kind in _TITLES if session.titles.get(kind)), ""),
        project="",
        folder=session.folder,
        started=session.started,
        turns=turns,
        resumes=tuple(session.resumes),
        branches_left=session.left_out,
        compactions=tuple(session.compactions),
        unknown=session.talk.unknown_types(),
    )


def _note_title(record: dict[str, Any], session: _SessionsSession | None) -> None:
    kind = words(record.get("type"))
    if session is not None and kind in _TITLES:
        session.titles[kind] = name(record.get(_TITLES[kind]))


def _take(
    session: _SessionsSession, record: dict[str, Any], number: int, after: _SessionsSession | None
) -> None:
    kind = words(record.get("type"))
    if kind in _TITLES:
        _note_title(record, session)
    elif kind not in _SPOKEN:
        if kind not in _BOOKKEEPING:
            session.talk.odd("record", record.get("type"))
    elif record.get("isSidechain") is True:
        session.left_out += kind in {"user", "assistant"}
    else:
        _note_origin(session, record, after)
        if kind == "user":
            _user(session, record, number)
        elif kind == "assistant":
            _assistant(session, record, number)
        elif kind == "system":
            _system(session, record, number)
        else:
            _attachment(session, record, number)


def _note_origin(session: _SessionsSession, record: dict[str, Any], after: _SessionsSession | None) -> None:
    """Note the folder, the start, and the sessions that this one goes on from."""
    session.folder = session.folder or words(record.get("cwd"))[:4096]
    if session.started is None:
        session.started = moment(record.get("timestamp"))
    origins = [after.session_id] if after is not None else []
    if forked := session_id_of(mapping(record.get("forkedFrom"))):
        origins.append(forked)
    for origin in origins:
        if origin != session.session_id and len(session.resumes) < MOST_SESSIONS:
            session.resumes[origin] = None


def _own_id(record: dict[str, Any]) -> str:
    return name(mapping(record.get("forkedFrom")).get("messageUuid")) or name(record.get("uuid"))


def _user(session: _SessionsSession, record: dict[str, Any], number: int) -> None:
    content = mapping(record.get("message")).get("content")
    blocks = mappings(content)
    if record.get("isCompactSummary") is True:
        _sessions_summary(session, record, number, _sessions_text(session, content))
        return
    text = _sessions_text(session, content)
    if record.get("isMeta") is True or from_the_program(text):
        return
    pictures = tuple(
        Attachment(name=name(b.get("type"))) for b in blocks if words(b.get("type")) in _PICTURES
    )
    if not text.strip():
        session.talk.attach(pictures)
        return
    session.talk.say(
        Speaker.USER,
        text,
        time=moment(record.get("timestamp")),
        external_id=_own_id(record),
        line=number,
        attachments=pictures,
        aside=any(block.get("type") == "tool_result" for block in blocks),
    )


def _sessions_text(session: _SessionsSession, content: Any) -> str:
    """Return the text of a message's content; what is no text, no tool's and no picture is counted."""
    if isinstance(content, str):
        return words(content)
    texts = []
    for block in mappings(content):
        kind = block.get("type")
        if kind == "text":
            texts.append(words(block.get("text")))
        elif kind != "tool_result" and words(kind) not in _PICTURES:
            session.talk.odd("block", kind)
    return "\n".join(text for text in texts if text)


def _sessions_summary(session: _SessionsSession, record: dict[str, Any], number: int, text: str) -> None:
    """Take what the program summed up; it belongs to the boundary before it, where there is one."""
    time = moment(record.get("timestamp"))
    turn = session.talk.say(
        Speaker.ASSISTANT, text, time=time, external_id=_own_id(record), line=number, compaction=True
    )
    if not session.boundary_open:
        session.compactions.append(Compaction(kind="compact", line=number, time=time))
    session.boundary_open = False
    session.compactions[-1] = replace(session.compactions[-1], turn=turn)


def _system(session: _SessionsSession, record: dict[str, Any], number: int) -> None:
    boundary = boundary_of(record, number)
    if boundary is not None:
        session.compactions.append(boundary)
        session.boundary_open = boundary.kind == "compact"


def _attachment(session: _SessionsSession, record: dict[str, Any], number: int) -> None:
    """Take a prompt that was typed while the assistant was at work; the rest is the program's own."""
    said = mapping(record.get("attachment"))
    if said.get("type") != "queued_command" or said.get("commandMode", "prompt") != "prompt":
        return
    if record.get("isMeta") is True or mapping(said.get("origin")).get("kind", "human") != "human":
        return
    text = _sessions_text(session, said.get("prompt"))
    if not from_the_program(text):
        session.talk.say(
            Speaker.USER,
            text,
            time=moment(record.get("timestamp")),
            external_id=_own_id(record),
            line=number,
            aside=True,
        )


def _assistant(session: _SessionsSession, record: dict[str, Any], number: int) -> None:
    message = mapping(record.get("message"))
    if record.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
        return
    time, own = moment(record.get("timestamp")), _own_id(record)
    key = words(message.get("id")) or words(record.get("requestId")) or own
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in mappings(content):
        kind = words(block.get("type"))
        if kind == "text":
            text = words(block.get("text"))
            if key in session.messages:
                session.talk.more(session.messages[key], text)
            elif turn := session.talk.say(Speaker.ASSISTANT, text, time=time, external_id=own, line=number):
                session.messages[key] = turn
        elif kind.endswith("tool_use"):
            session.talk.call(block.get("name"), time=time, external_id=own, line=number)
        elif not kind.endswith("tool_result") and kind not in _THINKING:
            session.talk.odd("block", block.get("type"))
