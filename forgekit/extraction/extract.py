"""Find the decisions and threads of a conversation, as candidates for review.

Only the words of the person and the model count: explicit records first, then what sentences state, then
proposals that the person accepts. Repetitions are left out. Of a pasted document only the explicit records
are read. A compaction summary is read like any other turn, but its records belong to its archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from forgekit.extraction.records import records, rows
from forgekit.extraction.sentences import sentences
from forgekit.extraction.statements import Find, content_words, finds_of
from forgekit.model.entities import Proposal
from forgekit.model.transcript import Speaker, Turn

LONGEST = 400_000
"""Characters of a turn that are read."""
SAME = 0.6
"""Share of words in common from which on the assistant only repeats the user."""
REMEMBERED = 400

_PASTED = re.compile(
    r"\b(?:(?:continuation|compressed|context|lossless) archive|compression[_ ]tag"
    r"|here(?:'s| is) (?:the |my |an? )?(?:\w+ ){0,3}(?:transcript|archive|article|e-?mail|log|post|draft"
    r"|document|minutes|notes|report|text)\b(?: \w+){0,8}:"
    r"|(?:implement|execute|review) the following (?:\w+ ){0,2}plan:?\s*\n|this session is being continued)",
    re.IGNORECASE,
)
_FICTION = re.compile(
    r"\b(?:write|draft|tell|continue|compose|invent)\b.{0,40}?\b(?:story|tale|scene|poem|dialogue|lyrics|song"
    r"|chapter|fiction|sketch|role-?play|sample|example|template)\b",
    re.IGNORECASE,
)


def extract(turns: Sequence[Turn]) -> tuple[Find, ...]:
    """Return the candidates of a conversation, by turn and place."""
    found: list[Find] = []
    earlier: list[tuple[Speaker, Find, frozenset[str]]] = []
    before: Turn | None = None
    for turn in turns:
        if not turn.text.strip():
            continue
        for find in sorted(_finds(turn, before), key=lambda one: (one.start, one.end)):
            words = content_words(find.title) or content_words(find.text)
            if not find.explicit_id and _repeats(words, turn.speaker, find.kind, earlier):
                continue
            earlier.append((turn.speaker, find, words))
            found.append(replace(find, turn=turn.number))
        del earlier[:-REMEMBERED]
        before = None if turn.compaction else turn
    return tuple(found)


def _finds(turn: Turn, before: Turn | None) -> Iterator[Find]:
    text = turn.text[:LONGEST]
    explicit = list(records(text))
    if not turn.compaction:
        yield from {(one.explicit_id, one.kind): one for one in reversed(explicit)}.values()
    pasted = None if turn.compaction else _PASTED.search(text)
    if pasted is None:
        yield from rows(text)
    previous = before.text if before is not None and before.speaker is not turn.speaker else ""
    if turn.speaker is Speaker.ASSISTANT and _FICTION.search(previous[:2_000]):
        return
    own = [
        one
        for one in sentences(text)
        if (pasted is None or one.start < pasted.start())
        and not any(record.start < one.start + len(one.raw) and one.start < record.end for record in explicit)
    ]
    answers = turn.speaker is Speaker.USER and pasted is None
    yield from finds_of(text, own, turn.speaker, previous[:LONGEST] if answers else "")


def _repeats(
    words: frozenset[str],
    speaker: Speaker,
    kind: Proposal,
    earlier: Sequence[tuple[Speaker, Find, frozenset[str]]],
) -> bool:
    """Say whether these words were found before, or nearly so and the assistant repeats the user."""
    if not words:
        return False
    for who, find, others in reversed(earlier):
        if find.kind is not kind:
            continue
        echoed = who is Speaker.USER and speaker is Speaker.ASSISTANT
        if words == others or (echoed and len(words & others) >= SAME * min(len(words), len(others))):
            return True
    return False
