"""Find the decisions and threads of a conversation.

Only a person's and a model's own words count. Explicit records come first, then what is stated, then what is
agreed to. What the other merely repeats is left out, and so is a message that is a pasted document or a piece
of fiction, but for its records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from forgekit.extraction.find import Find, FindKind
from forgekit.extraction.phrases import alternatives, one_line, reason, substance
from forgekit.extraction.records import Record, Row, records, rows
from forgekit.extraction.replies import Reply, answer
from forgekit.extraction.sentences import Unit, offsets, units, verbatim
from forgekit.extraction.statements import Stated, recapped, stated
from forgekit.model.transcript import Speaker, Turn

LONGEST = 400_000
"""Characters of a turn that are read."""
SAME = 0.6
REMEMBERED = 400

_PASTED = re.compile(
    r"\b(?:continuation archive|compressed archive|context archive|lossless archive|continuation (?:block"
    r"|prompt)|compression[_ ]tag|here(?:'s| is) (?:the |my |our |an? )?(?:\w+ ){0,3}(?:transcript|archive"
    r"|article|e-?mail|log|excerpt|post|paper|chapter|draft|document|memo|minutes|notes|report|spec|readme"
    r"|text)\b(?: \w+){0,8}:|(?:implement|execute|review) the following (?:\w+ ){0,2}plan:?\s*\n"
    r"|this session is being continued)",
    re.IGNORECASE,
)
_OBJECTS = re.compile(r"\b(?:no|not|wrong|wait|actually)\b", re.IGNORECASE)
_FICTION = re.compile(
    r"\b(?:write|draft|tell|continue|compose|give|make up|invent)\b.{0,40}?\b(?:story|tale|scene|poem"
    r"|dialogue|monologue|lyrics|song|chapter|fiction|screenplay|sketch|fairy ?tale|limerick|role-?play"
    r"|sample|example|template|dummy|mock)\b",
    re.IGNORECASE,
)


def extract(turns: Sequence[Turn]) -> tuple[Find, ...]:
    """Return what a conversation decides, opens and closes, by turn and place.

    Compactions are passed over: the archive's own readers know them better.
    """
    found: list[Find] = []
    said: list[tuple[Speaker, FindKind, frozenset[str]]] = []
    before: Turn | None = None
    earlier: tuple[Unit, ...] = ()
    for number, turn in enumerate(turns):
        if turn.compaction:
            before, earlier = None, ()
            continue
        if not turn.text.strip():
            continue
        own = tuple(units(turn.text[:LONGEST]))
        confirmed = _confirms(turns, number)
        for find in sorted(
            _turn(turn, own, before, earlier, confirmed=confirmed), key=lambda one: (one.start, one.end)
        ):
            words = substance(find.title) or substance(find.text)
            if find.explicit_id == "" and _repeats(words, turn.speaker, find.kind, said):
                continue
            said.append((turn.speaker, find.kind, words))
            found.append(find)
        del said[:-REMEMBERED]
        before, earlier = turn, own
    return tuple(found)


def _turn(
    turn: Turn, own: Sequence[Unit], before: Turn | None, earlier: Sequence[Unit], *, confirmed: bool
) -> Iterator[Find]:
    text = turn.text[:LONGEST]
    taken: list[tuple[int, int]] = []
    explicit: dict[tuple[str, FindKind], None] = {}
    for record in records(text):
        taken.append((record.start, record.end))
        if (record.id, record.kind) not in explicit:
            explicit[record.id, record.kind] = None
            yield _of_record(turn, text, record)
    pasted = _PASTED.search(text)
    for row in rows(text) if pasted is None else ():
        yield _of_row(turn, text, row)
    told = (
        before is not None
        and before.speaker is Speaker.USER
        and _FICTION.search(before.text[:2_000]) is not None
    )
    if turn.speaker is Speaker.ASSISTANT and told:
        return
    free = [one for one in own if pasted is None or one.start < pasted.start()]
    free = [one for one in free if not any(a < one.start + len(one.raw) and one.start < b for a, b in taken)]
    reply = None
    if (
        turn.speaker is Speaker.USER
        and before is not None
        and before.speaker is Speaker.ASSISTANT
        and pasted is None
    ):
        reply = answer(free, before.text[:LONGEST], earlier)
    for place, unit in enumerate(free):
        following = free[place + 1].text if place + 1 < len(free) else ""
        found = recapped(unit, confirmed=confirmed) or stated(unit, turn.speaker, following)
        if (
            place == 0
            and reply is not None
            and not (reply.agrees and any(one.kind is FindKind.DECISION for one in found))
        ):
            yield _of_answer(turn, text, unit, reply, following)
            continue
        for one in found:
            yield _of_statement(turn, text, unit, one, following)


def _confirms(turns: Sequence[Turn], number: int) -> bool:
    """Say whether nobody objects in the next turn."""
    return number + 1 == len(turns) or _OBJECTS.search(turns[number + 1].text[:80]) is None


def _repeats(
    words: frozenset[str],
    speaker: Speaker,
    kind: FindKind,
    said: Sequence[tuple[Speaker, FindKind, frozenset[str]]],
) -> bool:
    """Say whether these words only repeat what was found before: the other's, or nearly the very same."""
    for who, which, others in reversed(said):
        if which is not kind or not words:
            continue
        common = len(words & others)
        if (
            who is not speaker
            and speaker is Speaker.ASSISTANT
            and common >= SAME * min(len(words), len(others))
        ):
            return True
        if words == others:
            return True
    return False


def _of_record(turn: Turn, text: str, record: Record) -> Find:
    raw = text[record.start : record.end]
    return Find(
        kind=record.kind,
        turn=turn.number,
        start=record.start,
        end=record.end,
        text=raw,
        title=one_line(raw),
        rationale=reason(raw, 0, ""),
        alternatives=alternatives(raw),
        explicit_id=record.id,
        confidence=1.0,
        why="a record with its own id",
    )


def _of_row(turn: Turn, text: str, row: Row) -> Find:
    raw = text[row.start : row.end]
    return Find(
        kind=row.kind,
        turn=turn.number,
        start=row.start,
        end=row.end,
        text=raw,
        title=one_line(raw),
        rationale=row.rationale[:300],
        alternatives=alternatives(raw),
        confidence=0.8,
        why="a row of a table of its kind",
    )


def _of_statement(turn: Turn, text: str, unit: Unit, one: Stated, following: str) -> Find:
    at = offsets(unit)
    start, end, begin = at[one.start], at[one.end - 1] + 1, at[min(one.begin, one.end - 1)]
    decides = one.kind is FindKind.DECISION
    words = verbatim(text, at) if decides else ""
    return Find(
        kind=one.kind,
        turn=turn.number,
        start=start,
        end=end,
        text=text[start:end],
        title=one_line(text[begin:end]),
        rationale=reason(words, one.end - 1, following) if decides else "",
        alternatives=alternatives(words) if decides else (),
        confidence=one.confidence,
        why=one.why,
    )


def _of_answer(turn: Turn, text: str, unit: Unit, reply: Reply, following: str) -> Find:
    at = offsets(unit)
    start, end = at[reply.start], at[min(reply.start + reply.length, len(at)) - 1] + 1
    return Find(
        kind=FindKind.DECISION,
        turn=turn.number,
        start=start,
        end=end,
        text=text[start:end],
        title=one_line(reply.title),
        rationale=reason(unit.text, min(reply.start + reply.length, len(unit.text)), following),
        alternatives=reply.others or alternatives(unit.text),
        confidence=reply.confidence,
        why=reply.why,
    )
