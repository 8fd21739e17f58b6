"""Transcripts of Claude Code: conversations, and the compactions in them.

A prompt is a `user` record whose text a person typed; text typed while the assistant was at work is an aside.
One message of the assistant spans several records with one `message.id`. Records of side chains (sub-agents)
are counted and left out, and so is thinking. Turns keep file order, rewound ones included.
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
from forgekit.transcripts.fields import instant_of, line_of, mapping, mappings, problem, text_of
from forgekit.transcripts.json_streams import records, session_id_of
from forgekit.transcripts.sources import GZIP, opened
from forgekit.transcripts.turns import TurnBuilder

MOST_SESSIONS = 10_000
TOO_MANY_SESSIONS = "more than 10,000 sessions in one file; give one transcript at a time"

_WORKTREE = re.compile(r"/\.(?:git|claude)/worktrees/|/\.?worktrees/")


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactSummary:
    """One compaction of one session.

    Attributes:
        text: the summary, verbatim.
        line: 1-based line of its record.
        project_hint: name of the session's working folder, "" if unknown.
        trigger: `auto`, `manual` or "".
        pre_tokens: tokens in the context before it.
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
        source: a path, `-` for standard input, or an open file, which may be gzipped.

    Raises NotFoundError and FormatError for a file that cannot be opened or is no transcript.
    """
    with opened(source) as stream:
        yield from read_compactions(stream)


def read_compactions(stream: io.BufferedReader | BinaryIO) -> Iterator[CompactSummary | Problem]:
    """Read the compactions of an open transcript; see `compactions`."""
    found: list[CompactSummary | Problem] = []
    for one in read_sessions(stream):
        if isinstance(one, ImportedConversation):
            found += _compactions(one)
        elif one.code != "unusable-record":
            found.append(one)
    yield from sorted(found, key=lambda one: (not one.line, one.line or 0, isinstance(one, Problem)))


def _compactions(conversation: ImportedConversation) -> Iterator[CompactSummary | Problem]:
    made = [compaction for compaction in conversation.compactions if compaction.turn is not None]
    for ordinal, compaction in enumerate(made, 1):
        turn = conversation.turns[(compaction.turn or 0) - 1]
        at = compaction.time if compaction.time is not None else turn.time
        line = turn.line or compaction.line
        if at is None:
            yield problem(
                "unusable-summary", "neither this compaction summary nor its boundary has a time", line
            )
        else:
            yield CompactSummary(
                text=turn.text,
                line=line,
                session_id=conversation.external_id,
                project_hint=project_of(conversation.folder),
                compacted_at=at,
                trigger=compaction.trigger,
                pre_tokens=compaction.pre_tokens,
                ordinal=ordinal,
            )


def _boundary(record: dict[str, Any], number: int) -> Compaction | None:
    """Return the compaction that a record marks, None if it is no boundary; `number` is its line."""
    subtype = record.get("subtype")
    if subtype not in ("compact_boundary", "microcompact_boundary"):
        return None
    kind = "compact" if subtype == "compact_boundary" else "microcompact"
    metadata = mapping(record.get(f"{kind}Metadata"))
    trigger, tokens = text_of(metadata.get("trigger")), metadata.get("preTokens")
    counted = isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0
    return Compaction(
        kind=kind,
        line=number,
        time=instant_of(record.get("timestamp")),
        trigger=trigger if trigger in {"auto", "manual"} else "",
        pre_tokens=tokens if counted else None,
    )


def project_of(folder: str) -> str:
    """Return the name of a working folder; a work tree counts as the repository it belongs to."""
    path = folder.replace("\\", "/")
    if worktree := _WORKTREE.search(path):
        path = path[: worktree.start()]
    return path.rstrip("/").rsplit("/", 1)[-1][:200]


LONGEST_TALK = 64 * 1024 * 1024

_SPOKEN = frozenset({"user", "assistant", "system", "attachment"})
_BOOKKEEPING = frozenset(
    re.findall(
        r"\S+",
        "agent-color agent-name agent-setting content-replacement file-history-delta file-history-snapshot"
        " last-prompt mode permission-mode pr-link progress queue-operation tag worktree-state",
    )
)
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_THINKING = frozenset({"thinking", "redacted_thinking"})
_PICTURES = frozenset({"image", "document"})
_PROGRAM = (
    *("<bash-input>", "<bash-stderr>", "<bash-stdout>"),
    *("<command-args>", "<command-message>", "<command-name>"),
    *("<local-command-caveat>", "<local-command-stderr>", "<local-command-stdout>"),
    *("<system-reminder>", "<task-notification>", "[Request interrupted"),
)


@dataclass(kw_only=True, slots=True)
class _Session:
    session_id: str
    builder: TurnBuilder = field(default_factory=TurnBuilder)
    titles: dict[str, str] = field(default_factory=dict)
    folder: str = ""
    started: Instant | None = None
    messages: dict[str, int] = field(default_factory=dict)
    resumes: dict[str, None] = field(default_factory=dict)
    compactions: list[Compaction] = field(default_factory=list)
    boundary_open: bool = False
    left_out: int = 0

    def conversation(self) -> ImportedConversation:
        return ImportedConversation(
            source="claude-code",
            external_id=self.session_id,
            title=next((self.titles[kind] for kind in _TITLES if self.titles.get(kind)), ""),
            project="",
            folder=self.folder,
            started=self.started,
            turns=self.builder.turns(),
            resumes=tuple(self.resumes),
            branches_left=self.left_out,
            compactions=tuple(self.compactions),
            unknown=self.builder.unknown_types(),
        )


@dataclass(kw_only=True, slots=True)
class _File:
    """The sessions of a file, the session of each record by its uuid, and records without a session."""

    sessions: dict[str, _Session] = field(default_factory=dict)
    homes: dict[str, _Session] = field(default_factory=dict)
    strays: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0


def from_the_program(text: str) -> bool:
    """Say whether a user's message was written by the program in the user's place."""
    return text.lstrip().startswith(_PROGRAM)


def read_sessions(stream: BinaryIO) -> Iterator[ImportedConversation | Problem]:
    """Read the conversations of one transcript: one a session, in the order in which they begin.

    A session resumes another one in the file if a record of its follows one of the other's, or names it
    as its origin; a forked record keeps the id of the original. A repeated record counts once.

    Raises FormatError for more sessions than one file can hold.
    """
    file = _File()
    for number, record in records(stream):
        found = record if isinstance(record, Problem) else _file_record(file, record, number)
        if found is not None:
            yield found
        if file.size > LONGEST_TALK:
            message = "more than 64 MB of messages; the rest of the file was left out"
            yield problem("talk-too-long", message, number)
            break
    for record in file.strays:
        if text_of(record.get("type")) in _TITLES:
            _note_title(record, file.homes.get(text_of(record.get("leafUuid"))))
        elif file.sessions:
            next(iter(file.sessions.values())).builder.count_unknown("record", record.get("type"))
    for session in file.sessions.values():
        yield session.conversation()


def _file_record(file: _File, record: dict[str, Any], number: int) -> Problem | None:
    """Give a record to its session; one without a session is kept, as it may hold a title."""
    session_id = session_id_of(record)
    kind = text_of(record.get("type"))
    compact = kind == "user" and record.get("isCompactSummary") is True
    if session_id is None:
        if compact:
            return problem("unusable-summary", "this compaction summary names no session", number)
        if kind in {"user", "assistant"}:
            return problem("unusable-record", "this record names no session", number)
        if kind not in _BOOKKEEPING and len(file.strays) < MOST_SESSIONS:
            file.strays.append(record)
        return None
    if session_id not in file.sessions and len(file.sessions) >= MOST_SESSIONS:
        raise FormatError(TOO_MANY_SESSIONS, line=number)
    session = file.sessions.setdefault(session_id, _Session(session_id=session_id))
    uuid = text_of(record.get("uuid"))
    if uuid not in file.homes:
        if uuid:
            file.homes[uuid] = session
        before, turns = session.builder.size, len(session.builder)
        _take(session, record, number, file.homes.get(text_of(record.get("parentUuid"))))
        file.size += session.builder.size - before
        if compact and len(session.builder) == turns:
            side = record.get("isSidechain") is True
            reason = "belongs to a side chain and was left out" if side else "is empty"
            return problem("unusable-summary", f"this compaction summary {reason}", number)
    return None


def _note_title(record: dict[str, Any], session: _Session | None) -> None:
    kind = text_of(record.get("type"))
    if session is not None and kind in _TITLES:
        session.titles[kind] = line_of(record.get(_TITLES[kind]))


def _take(session: _Session, record: dict[str, Any], number: int, parent: _Session | None) -> None:
    kind = text_of(record.get("type"))
    if kind in _TITLES:
        _note_title(record, session)
    elif kind not in _SPOKEN:
        if kind not in _BOOKKEEPING:
            session.builder.count_unknown("record", record.get("type"))
    elif record.get("isSidechain") is True:
        session.left_out += kind in {"user", "assistant"}
    else:
        _note_origin(session, record, parent)
        if kind == "user":
            _user(session, record, number)
        elif kind == "assistant":
            _assistant(session, record, number)
        elif kind == "attachment":
            _attachment(session, record, number)
        elif (boundary := _boundary(record, number)) is not None:
            session.compactions.append(boundary)
            session.boundary_open = boundary.kind == "compact"


def _note_origin(session: _Session, record: dict[str, Any], parent: _Session | None) -> None:
    """Note the folder, the start, and the sessions that this one resumes."""
    session.folder = session.folder or text_of(record.get("cwd"))[:4096]
    if session.started is None:
        session.started = instant_of(record.get("timestamp"))
    origins = [parent.session_id] if parent is not None else []
    if forked := session_id_of(mapping(record.get("forkedFrom"))):
        origins.append(forked)
    for origin in origins:
        if origin != session.session_id and len(session.resumes) < MOST_SESSIONS:
            session.resumes[origin] = None


def _own_id(record: dict[str, Any]) -> str:
    return line_of(mapping(record.get("forkedFrom")).get("messageUuid")) or line_of(record.get("uuid"))


def _add(
    session: _Session,
    record: dict[str, Any],
    number: int,
    text: str,
    speaker: Speaker = Speaker.USER,
    attachments: tuple[Attachment, ...] = (),
    *,
    compaction: bool = False,
    aside: bool = False,
) -> int | None:
    return session.builder.add(
        speaker,
        text,
        time=instant_of(record.get("timestamp")),
        external_id=_own_id(record),
        line=number,
        attachments=attachments,
        compaction=compaction,
        aside=aside,
    )


def _user(session: _Session, record: dict[str, Any], number: int) -> None:
    content = mapping(record.get("message")).get("content")
    blocks = mappings(content)
    text = _text(session, content)
    if record.get("isCompactSummary") is True:
        _compact_summary(session, record, number, text)
        return
    if record.get("isMeta") is True or from_the_program(text):
        return
    kinds = (text_of(block.get("type")) for block in blocks)
    pictures = tuple(Attachment(name=kind) for kind in kinds if kind in _PICTURES)
    if text.strip():
        aside = any(block.get("type") == "tool_result" for block in blocks)
        _add(session, record, number, text, attachments=pictures, aside=aside)
    else:
        session.builder.attach(pictures)


def _text(session: _Session, content: Any) -> str:
    """Return the text of a message; blocks of unknown types are counted."""
    if isinstance(content, str):
        return text_of(content)
    texts = []
    for block in mappings(content):
        kind = block.get("type")
        if kind == "text":
            texts.append(text_of(block.get("text")))
        elif kind != "tool_result" and text_of(kind) not in _PICTURES:
            session.builder.count_unknown("block", kind)
    return "\n".join(text for text in texts if text)


def _compact_summary(session: _Session, record: dict[str, Any], number: int, text: str) -> None:
    """Add a compaction summary; it belongs to the boundary before it, if there is one."""
    turn = _add(session, record, number, text, Speaker.ASSISTANT, compaction=True)
    if not session.boundary_open:
        at = instant_of(record.get("timestamp"))
        session.compactions.append(Compaction(kind="compact", line=number, time=at))
    session.boundary_open = False
    session.compactions[-1] = replace(session.compactions[-1], turn=turn)


def _attachment(session: _Session, record: dict[str, Any], number: int) -> None:
    """Add a prompt that was typed while the assistant was at work; other attachments are the program's."""
    attachment = mapping(record.get("attachment"))
    if attachment.get("type") != "queued_command" or attachment.get("commandMode", "prompt") != "prompt":
        return
    if record.get("isMeta") is True or mapping(attachment.get("origin")).get("kind", "human") != "human":
        return
    text = _text(session, attachment.get("prompt"))
    if not from_the_program(text):
        _add(session, record, number, text, aside=True)


def _assistant(session: _Session, record: dict[str, Any], number: int) -> None:
    message = mapping(record.get("message"))
    if record.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
        return
    time, own = instant_of(record.get("timestamp")), _own_id(record)
    key = text_of(message.get("id")) or text_of(record.get("requestId")) or own
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in mappings(content):
        kind = text_of(block.get("type"))
        if kind == "text":
            text = text_of(block.get("text"))
            if key in session.messages:
                session.builder.extend(session.messages[key], text)
            elif turn := _add(session, record, number, text, Speaker.ASSISTANT):
                session.messages[key] = turn
        elif kind.endswith("tool_use"):
            session.builder.add_call(block.get("name"), time=time, external_id=own, line=number)
        elif not kind.endswith("tool_result") and kind not in _THINKING:
            session.builder.count_unknown("block", block.get("type"))
