"""Build the turns of one conversation from the messages of an export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from forgekit.model.transcript import Attachment, Speaker, Turn
from forgekit.times import Instant
from forgekit.transcripts.fields import line_of, text_of

MOST_CALLS = 1_000
MOST_TYPES = 10


@dataclass(kw_only=True, slots=True)
class _Open:
    """A turn to which texts and tool calls may still be added."""

    speaker: Speaker
    time: Instant | None
    external_id: str
    line: int | None
    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    compaction: bool = False
    aside: bool = False


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

    def __len__(self) -> int:
        return len(self._turns)

    def add(
        self,
        speaker: Speaker,
        text: str,
        *,
        time: Instant | None = None,
        external_id: str = "",
        line: int | None = None,
        attachments: tuple[Attachment, ...] = (),
        compaction: bool = False,
        aside: bool = False,
    ) -> int | None:
        """Add a turn and return its number; without text and attachments there is none."""
        if not text.strip() and not attachments:
            return None
        last = self._turns[-1] if self._turns else None
        if speaker is Speaker.USER or compaction or last is None or last.speaker is not speaker or last.texts:
            last = _Open(speaker=speaker, time=time, external_id=external_id, line=line)
            self._turns.append(last)
        last.compaction, last.aside = compaction, aside
        if speaker is Speaker.USER:
            self._prompt = last
        last.texts.append(text)
        last.attachments.extend(attachments)
        self.size += len(text)
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

    def add_call(
        self, tool: Any, *, time: Instant | None = None, external_id: str = "", line: int | None = None
    ) -> None:
        """Add a tool call; those past 1,000 of a turn are left out."""
        last = self._turns[-1] if self._turns else None
        if last is None or last.speaker is Speaker.USER or last.compaction:
            last = _Open(speaker=Speaker.ASSISTANT, time=time, external_id=external_id, line=line)
            self._turns.append(last)
        if len(last.tools) < MOST_CALLS:
            last.tools.append(line_of(tool) or "tool")

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
            Turn(
                number=number,
                speaker=turn.speaker,
                time=turn.time,
                text="\n\n".join(text for text in turn.texts if text),
                attachments=tuple(turn.attachments),
                tools=tuple(turn.tools),
                external_id=turn.external_id,
                line=turn.line,
                compaction=turn.compaction,
                aside=turn.aside,
            )
            for number, turn in enumerate(self._turns, 1)
        )


def attachments_of(value: Any) -> tuple[Attachment, ...]:
    """Return the attachments of a list of objects, under any of the names that exports use."""
    found = []
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            name = line_of(one.get("file_name") or one.get("name") or one.get("filename"))
            text = text_of(one.get("extracted_content"))
            if name or text:
                found.append(Attachment(name=name or "attachment", text=text))
    return tuple(found)


def live_branch(
    keys: Sequence[str], parents: Sequence[str], times: Sequence[Instant | None], current: str = ""
) -> list[int]:
    """Return the places of the messages that lead to the current one, first to last.

    Args:
        keys: one a message; the last of equal ones counts.
        parents: the key of the message that each one answers, or one that no message has.
        times: of each message.
        current: where the branch ends; if no message has that key, the newest unanswered one, of equally new
            ones the last. In a cycle each message counts once.
    """
    places = {key: place for place, key in enumerate(keys)}
    if current not in places:
        answered = set(parents)
        ends = [place for key, place in places.items() if key not in answered] or list(places.values())
        if not ends:
            return []
        current = keys[max(ends, key=lambda place: (times[place] or -1, place))]
    branch: list[int] = []
    seen: set[str] = set()
    while current in places and current not in seen:
        seen.add(current)
        branch.append(places[current])
        current = parents[places[current]]
    return branch[::-1]
