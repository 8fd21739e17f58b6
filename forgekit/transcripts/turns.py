"""The turns of one conversation, put together from the messages of an export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from forgekit.model.transcript import Attachment, Speaker, Turn
from forgekit.times import Instant
from forgekit.transcripts.fields import name, words

MOST_CALLS = 1_000
MOST_TYPES = 10


@dataclass(kw_only=True, slots=True)
class _Said:
    speaker: Speaker
    time: Instant | None
    external_id: str
    line: int | None
    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    compaction: bool = False
    aside: bool = False


@dataclass(kw_only=True, slots=True)
class Talk:
    """Turns in the making.

    Tool calls stand with the assistant's turn before them; where there is none, with the one that they open,
    which takes the next text.

    Attributes:
        unknown: types that the reader does not know, with their number.
        size: characters said so far.
    """

    unknown: Counter[str] = field(default_factory=Counter)
    size: int = 0
    _said: list[_Said] = field(default_factory=list)
    _heard: _Said | None = None

    def say(
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
        """Add a turn and return its number; nothing said and nothing attached is no turn."""
        if not text.strip() and not attachments:
            return None
        last = self._said[-1] if self._said else None
        if speaker is Speaker.USER or compaction or last is None or last.speaker is not speaker or last.texts:
            last = _Said(speaker=speaker, time=time, external_id=external_id, line=line)
            self._said.append(last)
        last.compaction, last.aside = compaction, aside
        if speaker is Speaker.USER:
            self._heard = last
        last.texts.append(text)
        last.attachments.extend(attachments)
        self.size += len(text)
        return len(self._said)

    def more(self, number: int, text: str) -> None:
        """Add to a turn's text; a longer state of the same passage replaces the shorter one."""
        texts = self._said[number - 1].texts
        self.size += len(text)
        if text.startswith(texts[-1]):
            texts[-1] = text
        else:
            texts.append(text)

    def attach(self, attachments: tuple[Attachment, ...]) -> None:
        """Add to what the user said last."""
        if self._heard is not None:
            self._heard.attachments.extend(attachments)

    def call(
        self,
        tool: Any,
        *,
        time: Instant | None = None,
        external_id: str = "",
        line: int | None = None,
    ) -> None:
        """Add a tool call; those past 1,000 of a turn are left out."""
        if not self._said or self._said[-1].speaker is Speaker.USER or self._said[-1].compaction:
            opened = _Said(speaker=Speaker.ASSISTANT, time=time, external_id=external_id, line=line)
            self._said.append(opened)
        if len(self._said[-1].tools) < MOST_CALLS:
            self._said[-1].tools.append(name(tool) or "tool")

    def odd(self, kind: str, value: Any) -> None:
        """Count a type that the reader does not know, such as `block video`."""
        key = f"{kind} {name(value) or type(value).__name__}"[:60]
        if key not in self.unknown and len(self.unknown) >= MOST_TYPES:
            key = "other"
        self.unknown[key] += 1

    def turns(self) -> tuple[Turn, ...]:
        """Return the turns, numbered."""
        return tuple(
            Turn(
                number=number,
                speaker=said.speaker,
                time=said.time,
                text="\n\n".join(text for text in said.texts if text),
                attachments=tuple(said.attachments),
                tools=tuple(said.tools),
                external_id=said.external_id,
                line=said.line,
                compaction=said.compaction,
                aside=said.aside,
            )
            for number, said in enumerate(self._said, 1)
        )

    def unknown_types(self) -> tuple[tuple[str, int], ...]:
        """Return the types that the reader does not know, by name."""
        return tuple(sorted(self.unknown.items()))


def attachments_of(value: Any) -> tuple[Attachment, ...]:
    """Return the attachments of a list of objects, under any of the names that exports use."""
    if not isinstance(value, list):
        return ()
    found = []
    for one in value:
        if isinstance(one, dict):
            called = name(one.get("file_name") or one.get("name") or one.get("filename"))
            text = words(one.get("extracted_content"))
            if called or text:
                found.append(Attachment(name=called or "attachment", text=text))
    return tuple(found)


def live_branch(
    keys: Sequence[str], parents: Sequence[str], times: Sequence[Instant | None], current: str = ""
) -> list[int]:
    """Return the places of the messages that lead to the current one, first to last.

    Args:
        keys: one a message; the last of equal ones counts.
        parents: the key of the message that each one answers, or one that no message has.
        times: of each message.
        current: where the branch ends; if no message has that key, the newest one that nobody answered, of
            equally new ones the last. In a circle of answers each message counts once.
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
