"""Find the decisions, threads and standing instructions of a conversation, as candidates for review.

Explicit records and labelled lists are read by their form; what sentences state is read by a trained reader,
if there is one. Repetitions are left out. The explicit records of a compaction summary belong to its archive;
its other text is read like a turn of the assistant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from forgekit.extraction.records import records, rows
from forgekit.extraction.statements import Find, StatementReader, labelled
from forgekit.model.entities import Proposal
from forgekit.model.transcript import Speaker, Turn

LONGEST = 400_000
"""Characters of a turn that are read."""
SAME = 0.6
"""Share of words in common from which on the assistant only repeats the user."""
REMEMBERED = 400
_WORD = re.compile(r"\w+")


def extract(turns: Sequence[Turn], reader: StatementReader | None = None) -> tuple[Find, ...]:
    """Return the candidates of a conversation, by turn and place.

    Args:
        reader: of sentences; None finds explicit records and labelled lists alone.
    """
    own = [turn for turn in turns if turn.text.strip()]
    texts = [(turn.speaker is Speaker.USER and not turn.compaction, turn.text[:LONGEST]) for turn in own]
    stated: list[list[Find]] = [[] for _ in own]
    for number, one in reader.statements(texts) if reader is not None else ():
        stated[number].append(one)
    found: list[Find] = []
    earlier: list[tuple[Speaker, Find, frozenset[str]]] = []
    for turn, finds in zip(own, stated, strict=True):
        certain = list(_explicit(turn))
        others = (one for one in finds if not any(_overlap(one, each) for each in certain))
        for one in sorted([*certain, *others], key=lambda each: (each.start, each.end)):
            meant = frozenset(_WORD.findall(one.title.casefold()))
            if not one.explicit_id and _repeats(meant, turn.speaker, one.kind, earlier):
                continue
            earlier.append((turn.speaker, one, meant))
            found.append(replace(one, turn=turn.number))
        del earlier[:-REMEMBERED]
    return tuple(found)


def _explicit(turn: Turn) -> Iterator[Find]:
    text = turn.text[:LONGEST]
    explicit = {(one.explicit_id, one.kind): one for one in reversed(list(records(text)))}
    yield from () if turn.compaction else explicit.values()
    for one in (*rows(text), *labelled(text)):
        if turn.compaction and one.kind is not Proposal.DECISION:
            continue  # an agent's to-do list
        if not any(_overlap(one, each) for each in explicit.values()):
            yield one


def _overlap(one: Find, other: Find) -> bool:
    return one.start < other.end and other.start < one.end


def _repeats(
    meant: frozenset[str],
    speaker: Speaker,
    kind: Proposal,
    earlier: Sequence[tuple[Speaker, Find, frozenset[str]]],
) -> bool:
    """Say whether these words were found before, or nearly so and the assistant repeats the user."""
    for who, one, others in earlier:
        echoed = who is Speaker.USER and speaker is Speaker.ASSISTANT
        alike = echoed and len(meant & others) >= SAME * min(len(meant), len(others))
        if one.kind is kind and meant and (meant == others or alike):
            return True
    return False
