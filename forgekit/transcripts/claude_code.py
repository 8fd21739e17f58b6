"""Transcripts of Claude Code: conversations, and the compactions in them.

A prompt is a `user` record whose text a person typed; text typed while the assistant was at work is an aside.
One message of the assistant spans several records with one `message.id`. Records of side chains (sub-agents)
are counted and left out, and so is thinking. Turns keep file order, rewound ones included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from forgekit.errors import FormatError
from forgekit.model.problem import Problem, warning
from forgekit.model.transcript import Attachment, ImportedConversation, Speaker, Turn
from forgekit.times import Instant
from forgekit.transcripts.json_streams import records
from forgekit.transcripts.turns import TurnBuilder
from forgekit.transcripts.values import (
    assistant_message,
    from_the_program,
    instant_of,
    line_of,
    mapping,
    mappings,
    queued_prompt,
    text_in,
    text_of,
    without_reminders,
)

LONGEST_CONVERSATION = 64 * 1024 * 1024
MOST_SESSIONS = 10_000
TOO_MANY_SESSIONS = "more than 10,000 sessions in one file; give one transcript at a time"

_SESSION_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_WORKTREE = re.compile(r"/\.(?:git|claude)/worktrees/|/\.?worktrees/")
_SPOKEN = frozenset({"user", "assistant", "system", "attachment"})
_BOOKKEEPING = frozenset(
    {
        *("agent-color", "agent-name", "agent-setting", "content-replacement", "file-history-delta"),
        *("file-history-snapshot", "last-prompt", "mode", "permission-mode", "pr-link", "progress"),
        *("queue-operation", "tag", "worktree-state"),
    }
)
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_THINKING = frozenset({"thinking", "redacted_thinking"})
_PICTURES = frozenset({"image", "document"})
_OF_USERS = _PICTURES | {"text", "tool_result"}


def looks_like_transcript(head: bytes) -> bool:
    """Say whether the first bytes of a file open a transcript."""
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
    return (
        first.startswith(b"{")
        and b'"type"' in first
        and any(key in first for key in (b'"sessionId"', b'"leafUuid"', b'"parentUuid"', b'"snapshot"'))
    )


def compactions_of(conversation: ImportedConversation) -> Iterator[tuple[Turn, Instant | None]]:
    """Yield the turns that hold a compaction summary, and when each was made."""
    for turn in conversation.turns:
        if turn.compaction:
            yield turn, conversation.compacted.get(turn.number, turn.time)


def project_of(folder: str) -> str:
    """Return the name of a working folder; a work tree counts as the repository it belongs to."""
    path = folder.replace("\\", "/")
    if worktree := _WORKTREE.search(path):
        path = path[: worktree.start()]
    return path.rstrip("/").rsplit("/", 1)[-1][:200]


def read_sessions(stream: BinaryIO) -> Iterator[ImportedConversation | Problem]:
    """Read the conversations of one transcript: one a session, in the order in which they begin.

    A session resumes another one in the file if a record of its follows one of the other's, or names it
    as its origin; a forked record keeps the id of the original. A repeated record counts once.

    Raises FormatError for more sessions than one file can hold.
    """
    file = _File()
    for number, record in records(stream):
        found = record if isinstance(record, Problem) else file.take(record, number)
        if found is not None:
            yield found
        if file.size > LONGEST_CONVERSATION:
            message = "more than 64 MB of messages; the rest of the file was left out"
            yield warning("talk-too-long", message, number)
            break
    for record in file.strays:
        if text_of(record.get("type")) in _TITLES:
            if (session := file.homes.get(text_of(record.get("leafUuid")))) is not None:
                session.note_title(record)
        elif file.sessions:
            next(iter(file.sessions.values())).builder.count_unknown("record", record.get("type"))
    for session in file.sessions.values():
        yield session.conversation()


@dataclass(slots=True)
class _File:
    """The sessions of a file, the session of each record by its uuid, and records without a session."""

    sessions: dict[str, _Session] = field(default_factory=dict)
    homes: dict[str, _Session] = field(default_factory=dict)
    strays: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0

    def take(self, record: dict[str, Any], number: int) -> Problem | None:
        """Give a record to its session; one without a session is kept, as it may hold a title."""
        session_id = _session_id(record)
        kind = text_of(record.get("type"))
        compact = kind == "user" and record.get("isCompactSummary") is True
        if not session_id:
            if compact:
                return warning("unusable-summary", "this compaction summary names no session", number)
            if kind in {"user", "assistant"}:
                return warning("unusable-record", "this record names no session", number)
            if kind not in _BOOKKEEPING and len(self.strays) < MOST_SESSIONS:
                self.strays.append(record)
            return None
        if session_id not in self.sessions and len(self.sessions) >= MOST_SESSIONS:
            raise FormatError(TOO_MANY_SESSIONS, line=number)
        session = self.sessions.setdefault(session_id, _Session(session_id))
        uuid = text_of(record.get("uuid"))
        if uuid in self.homes:
            return None
        if uuid:
            self.homes[uuid] = session
        before, turns = session.builder.size, len(session.builder)
        session.take(record, number, self.homes.get(text_of(record.get("parentUuid"))))
        self.size += session.builder.size - before
        if compact and len(session.builder) == turns:
            side = record.get("isSidechain") is True
            reason = "belongs to a side chain and was left out" if side else "is empty"
            return warning("unusable-summary", f"this compaction summary {reason}", number)
        return None


@dataclass(slots=True)
class _Session:
    """One session so far.

    Attributes:
        messages: the turn of each message of the assistant, by its id.
        calls: the input of each call of a tool, by its id.
        boundary: when the compaction was that waits for its summary.
    """

    session_id: str
    builder: TurnBuilder = field(default_factory=TurnBuilder)
    folder: str = ""
    started: Instant | None = None
    titles: dict[str, str] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    resumes: dict[str, None] = field(default_factory=dict)
    compacted: dict[int, Instant] = field(default_factory=dict)
    boundary: Instant | None = None
    left_out: int = 0

    def conversation(self) -> ImportedConversation:
        return ImportedConversation(
            source="claude-code",
            external_id=self.session_id,
            title=next((self.titles[kind] for kind in _TITLES if self.titles.get(kind)), ""),
            folder=self.folder,
            started=self.started,
            turns=self.builder.turns(),
            resumes=tuple(self.resumes),
            branches_left=self.left_out,
            compacted=self.compacted,
            unknown=self.builder.unknown_types(),
        )

    def take(self, record: dict[str, Any], number: int, parent: _Session | None) -> None:
        """Read a record; `parent` is the session of the one that it follows."""
        kind = text_of(record.get("type"))
        if kind in _TITLES:
            self.note_title(record)
        elif kind not in _SPOKEN:
            if kind not in _BOOKKEEPING:
                self.builder.count_unknown("record", record.get("type"))
        elif record.get("isSidechain") is True:
            self.left_out += kind in {"user", "assistant"}
        else:
            self._note_origin(record, parent)
            turn = Turn(speaker=Speaker.USER, text="", time=instant_of(record.get("timestamp")), line=number)
            read = {"user": self._user, "assistant": self._assistant, "attachment": self._attachment}
            read.get(kind, self._boundary)(record, turn)

    def note_title(self, record: dict[str, Any]) -> None:
        kind = text_of(record.get("type"))
        self.titles[kind] = line_of(record.get(_TITLES[kind]))

    def _note_origin(self, record: dict[str, Any], parent: _Session | None) -> None:
        """Note the folder, the start, and the sessions that this one resumes."""
        self.folder = self.folder or text_of(record.get("cwd"))[:4096]
        if self.started is None:
            self.started = instant_of(record.get("timestamp"))
        for origin in (parent.session_id if parent else "", _session_id(mapping(record.get("forkedFrom")))):
            if origin not in {"", self.session_id} and len(self.resumes) < MOST_SESSIONS:
                self.resumes[origin] = None

    def _user(self, record: dict[str, Any], turn: Turn) -> None:
        content = mapping(record.get("message")).get("content")
        text = without_reminders(self._text(content))
        if record.get("isCompactSummary") is True:
            summary = replace(turn, speaker=Speaker.ASSISTANT, text=text, compaction=True)
            turn_number = self.builder.add(summary)
            if turn_number is not None and self.boundary is not None:
                self.compacted[turn_number] = self.boundary
            self.boundary = None
            return
        for block in mappings(content):
            given = self.calls.pop(text_of(block.get("tool_use_id")), {})
            self.builder.ran(given.get("command"), failed=block.get("is_error") is True)
            if (result := mapping(record.get("toolUseResult"))).get("userModified") is True:
                for written, kept in (("new_string", "newString"), ("content", "content")):
                    self.builder.correct(given.get(written), result.get(kept))
        if record.get("isMeta") is True or from_the_program(text):
            return
        kinds = [text_of(block.get("type")) for block in mappings(content)]
        pictures = tuple(Attachment(name=kind) for kind in kinds if kind in _PICTURES)
        if text.strip():
            self.builder.add(replace(turn, text=text, attachments=pictures, aside="tool_result" in kinds))
        else:
            self.builder.attach(pictures)

    def _text(self, content: Any) -> str:
        """Return the text of a message; blocks of unknown types are counted."""
        for block in mappings(content):
            if text_of(block.get("type")) not in _OF_USERS:
                self.builder.count_unknown("block", block.get("type"))
        return text_in(content)

    def _boundary(self, record: dict[str, Any], turn: Turn) -> None:
        """Note the compaction that a record of the system marks, if it marks one."""
        if record.get("subtype") == "compact_boundary":
            self.boundary = turn.time

    def _attachment(self, record: dict[str, Any], turn: Turn) -> None:
        """Add a prompt that was typed while the assistant was at work; the program adds other attachments."""
        prompt = queued_prompt(record)
        if prompt is not None and not from_the_program(text := self._text(prompt)):
            self.builder.add(replace(turn, text=text, aside=True))

    def _assistant(self, record: dict[str, Any], turn: Turn) -> None:
        message = assistant_message(record)
        turn = replace(turn, speaker=Speaker.ASSISTANT)
        key = text_of(message.get("id")) or text_of(record.get("requestId")) or f"line {turn.line}"
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in mappings(content):
            kind = text_of(block.get("type"))
            if kind == "text":
                text = text_of(block.get("text"))
                if key in self.messages:
                    self.builder.extend(self.messages[key], text)
                elif number := self.builder.add(replace(turn, text=text)):
                    self.messages[key] = number
            elif kind.endswith("tool_use"):
                given = mapping(block.get("input"))
                self.calls[text_of(block.get("id"))] = given
                self.builder.add_call(block.get("name"), turn, given)
            elif not kind.endswith("tool_result") and kind not in _THINKING:
                self.builder.count_unknown("block", block.get("type"))


def _session_id(record: dict[str, Any]) -> str:
    """Return the session id of a record, "" if it has no valid one."""
    session_id = text_of(record.get("sessionId"))
    return session_id if _SESSION_ID.fullmatch(session_id) else ""
