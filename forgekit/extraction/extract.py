"""Find the decisions and threads of a conversation, as candidates for review.

Only the words of the person and the model count: explicit records first, then what sentences state, then
proposals that the person accepts. Repetitions are left out. Of a pasted document only the explicit records
are read. A compaction summary is read like any other turn, but its records belong to its archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forgekit.extraction.cues import alternatives, content_words, one_line, reason, statements_of
from forgekit.extraction.records import Record, records, rows
from forgekit.extraction.replies import accepted
from forgekit.extraction.sentences import Sentence, offsets, sentences, verbatim
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Find:
    """A candidate, with its place.

    Attributes:
        turn: number of the turn.
        start: index of its first character in that turn's text.
        end: index after its last one.
        text: the turn's text between the two, verbatim.
        title: one clean line.
        rationale: the reason, "" if none is given.
        alternatives: what was not chosen.
        explicit_id: `D001` or `T001`, where the text gives it one.
        confidence: 0 to 1; 1 for explicit records only.
        why: the rule that found it.
    """

    kind: Proposal
    turn: int
    start: int
    end: int
    text: str
    title: str
    rationale: str = ""
    alternatives: tuple[str, ...] = ()
    explicit_id: str = ""
    confidence: float
    why: str


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
            found.append(find)
        del earlier[:-REMEMBERED]
        before = None if turn.compaction else turn
    return tuple(found)


def _finds(turn: Turn, before: Turn | None) -> Iterator[Find]:
    text = turn.text[:LONGEST]
    explicit = list(records(text))
    if not turn.compaction:
        first = {(record.id, record.kind): record for record in reversed(explicit)}
        for record in first.values():
            rationale = reason(text[record.start : record.end], 0, "")
            yield _find(turn, record, rationale, confidence=1.0, why="a record with its own id")
    pasted = None if turn.compaction else _PASTED.search(text)
    for row in rows(text) if pasted is None else ():
        yield _find(turn, row, row.rationale[:300], confidence=0.8, why="a row of a table of its kind")
    asked = before.text[:2_000] if before is not None and before.speaker is Speaker.USER else ""
    if turn.speaker is Speaker.ASSISTANT and _FICTION.search(asked):
        return
    own = [
        one
        for one in sentences(text)
        if (pasted is None or one.start < pasted.start())
        and not any(record.start < one.start + len(one.raw) and one.start < record.end for record in explicit)
    ]
    yield from _of_sentences(turn, own, before if pasted is None else None)


def _of_sentences(turn: Turn, own: Sequence[Sentence], before: Turn | None) -> Iterator[Find]:
    answers = turn.speaker is Speaker.USER and before is not None and before.speaker is Speaker.ASSISTANT
    for number, sentence in enumerate(own):
        following = own[number + 1].text if number + 1 < len(own) else ""
        statements = statements_of(sentence, turn.speaker, following)
        reply = (
            accepted(own, before.text[:LONGEST]) if answers and before is not None and not number else None
        )
        decides = any(one.kind is Proposal.DECISION for one in statements)
        places = offsets(sentence) if statements or reply is not None else ()
        if reply is not None and not (reply.agrees and decides):
            end = min(reply.start + reply.length, len(places))
            yield _find(
                turn,
                Record(kind=Proposal.DECISION, start=places[reply.start], end=places[end - 1] + 1),
                reason(sentence.text, end, following),
                title=reply.title,
                others=reply.others or alternatives(sentence.text),
                confidence=0.75,
                why=reply.why,
            )
            continue
        for one in statements:
            words = verbatim(turn.text, places) if one.kind is Proposal.DECISION else ""
            place = Record(kind=one.kind, start=places[one.start], end=places[one.end - 1] + 1)
            yield _find(
                turn,
                place,
                reason(words, one.end - 1, following) if words else "",
                title=turn.text[places[min(one.title, one.end - 1)] : place.end],
                others=alternatives(words),
                confidence=one.confidence,
                why=one.why,
            )


def _find(
    turn: Turn,
    record: Record,
    rationale: str,
    *,
    confidence: float,
    why: str,
    title: str = "",
    others: tuple[str, ...] | None = None,
) -> Find:
    text = turn.text[record.start : record.end]
    return Find(
        kind=record.kind,
        turn=turn.number,
        start=record.start,
        end=record.end,
        text=text,
        title=one_line(title or text),
        rationale=rationale,
        alternatives=alternatives(text) if others is None else others,
        explicit_id=record.id,
        confidence=confidence,
        why=why,
    )


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
