"""The builder of turns, which readers of foreign formats share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forgekit.model.transcript import Attachment, Correction, ImportedConversation, Speaker, Turn
from forgekit.text.words import changed_parts
from forgekit.times import Instant
from forgekit.transcripts.values import line_of, mapping, mappings, text_of

MOST_CALLS = 1_000
MOST_LINES = 100_000
MOST_TYPES = 10
MOST_FAILED = 20
_LONGEST_CALL = 1_000
_PROGRAM = re.compile(r"[\w./+-]{1,100}")


def conversation_of(
    source: str, turns: Sequence[Turn], created: Instant | None = None, **about: Any
) -> ImportedConversation:
    """Return a conversation; without a time of its own it starts with its first turn."""
    started = turns[0].time if created is None and turns else created
    about = {"external_id": "", "title": ""} | about
    return ImportedConversation(source=source, started=started, turns=tuple(turns), **about)


@dataclass(slots=True)
class _Open:
    """A turn to which texts and tool calls may still be added."""

    seed: Turn
    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    corrections: list[Correction] = field(default_factory=list)


class TurnBuilder:
    """Collects turns.

    Tool calls belong to the assistant's turn before them; where there is none, they open one, which takes the
    next text.

    Attributes:
        size: characters so far.
    """

    def __init__(self) -> None:
        self.size = 0
        self._turns: list[_Open] = []
        self._unknown: Counter[str] = Counter()
        self._prompt: _Open | None = None
        self._prompted = 0
        self._written: dict[tuple[str, str], int] = {}
        self._failed: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, turn: Turn) -> int | None:
        """Add a turn and return its number; without text and attachments there is none."""
        if not turn.text.strip() and not turn.attachments:
            return None
        last = self._turns[-1] if self._turns else None
        if (
            last is None
            or last.texts
            or turn.compaction
            or turn.speaker is Speaker.USER
            or last.seed.speaker is Speaker.USER
        ):
            last = _Open(turn)
            self._turns.append(last)
        if turn.speaker is Speaker.USER:
            self._prompt, self._prompted = last, len(self._turns)
        last.texts.append(turn.text)
        last.attachments.extend(turn.attachments)
        self.size += len(turn.text)
        return len(self._turns)

    def extend(self, number: int, text: str) -> None:
        """Add to a turn's text; a longer version of its last passage replaces that."""
        texts = self._turns[number - 1].texts
        self.size += len(text)
        if text.startswith(texts[-1]):
            texts[-1] = text
        else:
            texts.append(text)

    def attach(self, attachments: tuple[Attachment, ...]) -> None:
        """Add attachments to the last prompt."""
        if self._prompt is not None:
            self._prompt.attachments.extend(attachments)

    def add_call(self, tool: Any, turn: Turn, given: Any = None) -> None:
        """Add a tool call; those past 1,000 of a turn are left out.

        Args:
            turn: the assistant's turn that it opens where there is none before it.
            given: its input, of which a command line or a path is noted.
        """
        last = self._turns[-1] if self._turns else None
        if last is None or last.seed.speaker is Speaker.USER or last.seed.compaction:
            last = _Open(turn)
            self._turns.append(last)
        if len(last.tools) < MOST_CALLS:
            last.tools.append(line_of(tool) or "tool")
            values = mapping(given)
            if call := text_of(values.get("command") or values.get("file_path"))[:_LONGEST_CALL]:
                last.calls.append(call)
            path = text_of(values.get("file_path"))
            for each in (values, *mappings(values.get("edits"))) if path else ():
                new = text_of(each.get("new_string") or each.get("content"))
                self._change(path, text_of(each.get("old_string")), new)

    def correct(self, before: Any, after: Any) -> None:
        """Note that the user changed what the last turn writes before it was written."""
        one, other = changed_parts(text_of(before).splitlines(), text_of(after).splitlines())
        if one and self._prompt is not None:
            self._correct(one, other, len(self._turns))

    def ran(self, command: Any, failed: bool) -> None:
        """Note the outcome of a command line; one that passes corrects those like it that failed."""
        line = text_of(command)[:_LONGEST_CALL]
        if not line or not self._turns:
            return
        if failed:
            self._failed = dict([*self._failed.items(), (line, len(self._turns))][-MOST_FAILED:])
            return
        self._failed.pop(line, None)
        for other, turn in [*self._failed.items()]:
            if _is_like(other.split(), line.split()):
                del self._failed[other]
                self._turns[-1].corrections.append(Correction(other, line, turn, is_command=True))

    def _change(self, path: str, before: str, after: str) -> None:
        """Note the lines that an edit writes, and a correction of lines written before the last prompt."""
        one, other = changed_parts(before.splitlines(), after.splitlines())
        turns = [self._written.get((path, line.strip()), self._prompted) for line in one]
        if min(turns, default=self._prompted) < self._prompted:
            self._correct(one, other, min(turns))
        for line in map(str.strip, other[: MOST_LINES - len(self._written)]):
            if any(map(str.isalnum, line)):
                self._written[path, line] = len(self._turns)

    def _correct(self, one: list[str], other: list[str], written: int) -> None:
        """Add a correction to the last prompt."""
        if self._prompt is not None and len(self._prompt.corrections) < MOST_CALLS:
            before, after = ("\n".join(lines)[:_LONGEST_CALL] for lines in (one, other))
            self._prompt.corrections.append(Correction(before, after, written))

    def count_unknown(self, kind: str, value: Any) -> None:
        """Count a type that the reader does not know, such as `block video`."""
        key = f"{kind} {line_of(value) or type(value).__name__}"[:60]
        if key not in self._unknown and len(self._unknown) >= MOST_TYPES:
            key = "other"
        self._unknown[key] += 1

    def unknown_types(self) -> tuple[tuple[str, int], ...]:
        """Return the types that the reader does not know, by name."""
        return tuple(sorted(self._unknown.items()))

    def turns(self) -> tuple[Turn, ...]:
        """Return the turns, numbered."""
        return tuple(
            replace(
                one.seed,
                number=number,
                text="\n\n".join(text for text in one.texts if text),
                attachments=tuple(one.attachments),
                tools=tuple(one.tools),
                calls=tuple(one.calls),
                corrections=tuple(one.corrections),
            )
            for number, one in enumerate(self._turns, 1)
        )


def _is_like(one: list[str], other: list[str]) -> bool:
    """Say whether two command lines differ in the name of one program alone, which is given something."""
    differ = [n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) != len(other) or len(differ) != 1 or one[-1] != other[-1]:
        return False
    at = differ[0]
    begins = at == 0 or not any(map(str.isalnum, one[at - 1]))
    return begins and all(map(_PROGRAM.fullmatch, (one[at], other[at], one[at + 1])))
