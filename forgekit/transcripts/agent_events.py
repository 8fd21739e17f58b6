"""Events out of the records that Claude Code appends to a session's transcript, from a byte offset on.

Records of side chains, of the program itself and of unknown types give nothing. What a tool returns is never
kept but for the first lines of an error, and of what a command printed one line that reports a failure: it
may hold secrets, and words that look like an instruction.
A prompt is what a person typed, or answered when a tool call was refused or a question asked. The format of
the records is not documented: every field may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from forgekit.compaction.anchors import own_words
from forgekit.compaction.events import Event, EventKind
from forgekit.text.secrets import redact
from forgekit.transcripts.values import (
    assistant_message,
    from_the_program,
    line_of,
    mapping,
    mappings,
    queued_prompt,
    record_of,
    text_in,
    text_of,
    without_reminders,
)

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a record; a longer one is passed over."""
LONGEST_SUMMARY = 64_000
_PROMPT, _INPUT, _ERROR, _SUBJECT = 4_000, 1_000, 400, 300
"""Characters that are kept of a text."""
_OUTPUT = 100_000
"""Characters of an output in which a failure is looked for."""
_REFUSED = "The user doesn't want to proceed with this tool use."
_REASON = "the user said:\n"
_OTHER_FAILED = "Sibling tool call errored"
_MISUSED = "<tool_use_error>"
_COMMAND = re.compile(r"<command-name>([^<]+)</command-name>\s*<command-args>")
"""A command of the program with words that a person typed behind it."""
_REPORTS = re.compile(
    r"^[^\w\n]{0,8}(?:FAIL(?:ED)?\b|ERROR\b|error(?:\[\w{1,20}\])?:|panic: |Traceback \(most recent)"
    r"|^[^\s:]{1,200}:\d{1,6}:\d{1,6}: ",
    re.MULTILINE,
)
"""Begins a line with which test runners, compilers and interpreters report a failure in what they print."""
_INPUTS = ("command", "pattern", "query", "url", "description", "skill", "title", "prompt")
"""The inputs that say what a call does, the most telling first."""
_PATHS = ("file_path", "notebook_path", "filePath", "path")
_CHANGES = dict.fromkeys(("Edit", "MultiEdit", "NotebookEdit", "Write"), "edited") | {"Read": "read"}


@dataclass(slots=True)
class EventReader:
    """Reads what a transcript holds beyond an offset; a last line without an end waits for the next call.

    Attributes:
        offset: bytes that were read.
        turn: number of the person's last prompt.
        calls: the tool of each call without a result, by its id.
        usage: the last message whose tokens were counted, with the most that a record of it names.
        seen: the records that were read; a file may repeat some.
    """

    offset: int = 0
    turn: int = 0
    calls: dict[str, str] = field(default_factory=dict)
    usage: tuple[str, int] = ("", 0)
    seen: set[str] = field(default_factory=set)

    def read(self, stream: IO[bytes]) -> Iterator[Event]:
        """Yield the events of the records of a stream that stands at the offset, in the order of the file."""
        while line := stream.readline(LONGEST_LINE):
            if not line.endswith(b"\n"):
                if len(line) < LONGEST_LINE:
                    return
                while line and not line.endswith(b"\n"):
                    self.offset += len(line)
                    line = stream.readline(LONGEST_LINE)
                self.offset += len(line)
                continue
            self.offset += len(line)
            if b'"type":"progress"' in line[:2_000]:
                continue
            if (record := record_of(line)) is not None:
                yield from self._events(record)

    def _events(self, record: dict[str, Any]) -> Iterator[Event]:
        uuid = line_of(record.get("uuid"))
        if record.get("isSidechain") is True or (uuid and uuid in self.seen):
            return
        self.seen.add(uuid)
        kind = record.get("type")
        if kind == "user":
            found = self._user(record, uuid)
        elif kind == "assistant":
            found = self._assistant(record)
        elif kind == "attachment":
            found = _queued(record, uuid)
        else:
            found = _boundary(record, uuid)
        for event in found:
            self.turn += event.kind is EventKind.PROMPT
            own = own_words(event.text) if event.kind is EventKind.PROMPT else ""
            yield event._replace(turn=self.turn, own=own)

    def _user(self, record: dict[str, Any], uuid: str) -> Iterator[Event]:
        content = mapping(record.get("message")).get("content")
        blocks = mappings(content)
        text = without_reminders(text_in(content))
        if record.get("isCompactSummary") is True:
            yield Event(EventKind.SUMMARY, id=uuid, text=_kept(text, LONGEST_SUMMARY))
            return
        if text.startswith("<command-") and (command := _COMMAND.search(text)):
            words, closed, _ = text[command.end() :].partition("</command-args>")
            text = f"{command[1]} {words}" if closed and words.strip() else text
        for block in blocks:
            if block.get("type") == "tool_result":
                yield from self._result(block, mapping(record.get("toolUseResult")), uuid)
        if text.strip() and record.get("isMeta") is not True and not from_the_program(text):
            yield Event(EventKind.PROMPT, id=uuid, text=_kept(text, _PROMPT))

    def _result(self, block: dict[str, Any], data: dict[str, Any], uuid: str) -> Iterator[Event]:
        key = text_of(block.get("tool_use_id"))
        name = self.calls.pop(key, "")
        failed = block.get("is_error") is True
        content = block.get("content")
        text = content if isinstance(content, str) else ""
        own = not name.startswith("mcp__")  # the words of another server are not the program's
        if failed and own and text.startswith(_REFUSED):
            yield Event(EventKind.RESULT, id=key, name="refused", failed=True)
            if reason := text.partition(_REASON)[2].strip():
                yield Event(EventKind.PROMPT, id=f"{uuid}:reason", text=_kept(reason, _PROMPT))
            return
        if failed and _OTHER_FAILED in text[:200]:
            yield Event(EventKind.RESULT, id=key, name="refused", failed=True)
            return
        misused = failed and text.startswith(_MISUSED)
        change = "created" if data.get("type") == "create" else ""
        error = text if failed and not misused else ""
        if name == "Bash" and not failed and (report := _REPORTS.search(text, 0, _OUTPUT)):
            error = text[report.start() : report.start() + 2 * _ERROR].partition("\n")[0]
        yield Event(
            EventKind.RESULT,
            id=key,
            name="misused" if misused else "",
            failed=failed,
            change=change,
            text=_kept(error, _ERROR),
        )
        if not failed and own:
            yield from _answers(name, data, uuid)

    def _assistant(self, record: dict[str, Any]) -> Iterator[Event]:
        message = assistant_message(record)
        key = line_of(message.get("id")) or line_of(record.get("requestId"))
        tokens = _tokens(mapping(message.get("usage")))
        if tokens and (key, tokens) > (self.usage if self.usage[0] == key else (key, 0)):
            self.usage = key, tokens
            yield Event(EventKind.USAGE, id=key, name=line_of(message.get("model")), tokens=tokens)
        for block in mappings(message.get("content")):
            kind = block.get("type")
            if kind == "text" and (text := text_of(block.get("text")).strip()):
                yield Event(EventKind.REPLY, id=key, text=_kept(text, _INPUT))
            elif kind == "tool_use":
                yield from self._call(block)

    def _call(self, block: dict[str, Any]) -> Iterator[Event]:
        name, key, given = line_of(block.get("name")), text_of(block.get("id")), mapping(block.get("input"))
        text = next((text_of(given.get(name)) for name in _INPUTS if given.get(name)), "")
        path = next((text_of(given.get(name)) for name in _PATHS if given.get(name)), "")
        self.calls[key] = name
        change = _CHANGES.get(name, "ran" if text_of(given.get("command")) else "")
        path = line_of(path)[:_INPUT]
        text = _kept(text, _INPUT)
        yield Event(EventKind.CALL, id=key, name=name, text=text, path=path, change=change)
        if name == "TodoWrite":
            yield Event(EventKind.TASKS)
            for number, each in enumerate(mappings(given.get("todos"))):
                yield _task(f"todo{number}", each.get("status"), each.get("content"))
        elif name == "TaskUpdate":
            yield _task(given.get("taskId"), given.get("status"), given.get("subject"))


def _answers(name: str, data: dict[str, Any], uuid: str) -> Iterator[Event]:
    """Yield the tasks that a result numbers, and what a person answered to questions."""
    if task := mapping(data.get("task")) if name == "TaskCreate" else {}:
        yield _task(task.get("id"), "pending", task.get("subject"))
    for number, each in enumerate(mapping(data.get("answers")).items() if name == "AskUserQuestion" else ()):
        question, answer = (text_of(part) for part in each)
        text = _kept(f"{question} {answer}", _PROMPT)
        yield Event(EventKind.PROMPT, id=f"{uuid}:answer{number}", name="answer", text=text)


def _task(key: Any, state: Any, subject: Any) -> Event:
    text = _kept(text_of(subject), _SUBJECT)
    return Event(EventKind.TASK, id=line_of(key), name=line_of(state), text=text)


def _queued(record: dict[str, Any], uuid: str) -> Iterator[Event]:
    text = text_in(queued_prompt(record))
    if text.strip() and not from_the_program(text):
        yield Event(EventKind.PROMPT, id=uuid, text=_kept(text, _PROMPT))


def _boundary(record: dict[str, Any], uuid: str) -> Iterator[Event]:
    if record.get("type") == "system" and record.get("subtype") == "compact_boundary":
        data = mapping(record.get("compactMetadata"))
        name = "manual" if data.get("trigger") == "manual" else "auto"
        yield Event(EventKind.BOUNDARY, id=uuid, name=name, tokens=_count(data.get("preTokens")))


def _tokens(usage: dict[str, Any]) -> int:
    """Return the tokens of the context that a model answered to, with its answer."""
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return sum(_count(usage.get(key)) for key in keys)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _kept(text: str, most: int) -> str:
    """Return the beginning of a text without secrets."""
    return redact(text_of(text)[: most + 200]).text[:most]
