"""What a statement claims: its terms with a sign, what it rejects, its quantities, conditions and scopes.

A *segment* is a stretch of a clause between commas and conjunctions such as `but` and `because`.
"""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping
from dataclasses import dataclass

from forgekit.conflict.rules.port import Statement
from forgekit.conflict.rules import grammar
from forgekit.conflict.rules.agents import Agent, agents, moments
from forgekit.conflict.rules.numbers import is_sequence, quantities
from forgekit.conflict.rules.quantity import Quantity
from forgekit.conflict.rules.slots import Answer, scopes
from forgekit.conflict.rules.terms import FILLERS, Term, opens_condition, terms_of, verb_at
from forgekit.conflict.rules.words import Word, cut, key

SEGMENT_LIMIT = 12
"""Segments of a text that are compared."""
ALTERNATIVES = 16
"""Rejected alternatives of a statement that are read."""
VALUE_WORDS = 6
"""Words behind a colon that still are the value of what stands before it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a clause.

    Attributes:
        later: it stands behind the first sentence, or in brackets.
        agents: who does it, or alone may do it.
        moments: "before" and "after", each with what; not what opens the segment, for that limits it.
        absolute: it holds without exception ("never").
        special: it carves a case out ("except").
        conditions: the concepts of what it makes a condition of.
        answered: the slots it answers, each with the term.
        denied: the terms it says no to, by concept.
        raws: its concepts, each as the text writes it.
    """

    terms: tuple[Term, ...]
    quantities: tuple[Quantity, ...]
    conditional: bool
    conditions: frozenset[str]
    universal: bool
    absolute: bool
    special: bool
    agents: tuple[Agent, ...]
    moments: frozenset[tuple[str, str]]
    verb: bool
    scopes: frozenset[tuple[str, int]]
    labels: frozenset[tuple[str, float]]
    later: bool
    answered: tuple[tuple[Term, Answer], ...]
    denied: Mapping[str, Term]
    raws: dict[str, str]

    @property
    def named(self) -> KeysView[str]:
        """All its concepts."""
        return self.raws.keys()

    def weights(self, *, without: frozenset[str] = frozenset()) -> dict[str, float]:
        """Return the concepts of the segment, each with its weight."""
        return {t.concept: t.weight for t in self.terms if t.concept not in without}


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement as the judge compares it.

    Attributes:
        alternatives: what the statement rejected: the concepts of each phrase, and the phrase.
        discarded: names that the rationale says no to, in the same form.
        periods: "before" and "after" that open a segment, each with what: it holds then alone.
        poles: every (slot, pole) that the text names, whichever sign it has.
    """

    segments: tuple[Segment, ...]
    alternatives: tuple[tuple[frozenset[str], str], ...]
    discarded: tuple[tuple[frozenset[str], str], ...]
    concepts: frozenset[str]
    poles: frozenset[tuple[str, int]]
    scopes: frozenset[tuple[str, int]]
    periods: frozenset[tuple[str, str]]
    claims: bool


def read(statement: Statement) -> Reading:
    """Read a statement; linear in its length, which is cut at `TEXT_LIMIT`."""
    segments: list[Segment] = []
    clauses = cut(statement.text)
    for clause, later in clauses:
        for stretch in _stretches(clause):
            if len(segments) < SEGMENT_LIMIT and (made := _segment(stretch, later=later)).terms:
                segments.append(made)
    terms = [term for segment in segments for term in segment.terms]
    extra = frozenset(scope for word in statement.scope for scope in scopes().get("_".join(key(word)), ()))
    return Reading(
        segments=tuple(segments),
        alternatives=tuple(_alternatives(statement)),
        discarded=tuple(_discarded(statement)),
        concepts=frozenset(term.concept for term in terms),
        poles=frozenset((a.slot, a.pole) for t in terms for a in t.answers),
        scopes=frozenset(scope for segment in segments for scope in segment.scopes) | extra,
        periods=frozenset(
            found for clause, _ in clauses for found in moments(clause[:4]) if clause[0].raw == found[0]
        ),
        claims=any(segment.verb for segment in segments),
    )


def _alternatives(statement: Statement) -> list[tuple[frozenset[str], str]]:
    found = []
    for alternative in statement.alternatives[:ALTERNATIVES]:
        words = [w for clause, _ in cut(alternative.partition("(")[0][:200]) for w in clause]
        telling = frozenset(w.concept for w in words if w.raw not in FILLERS and w.raw[0].isalnum())
        if telling:
            found.append((telling, " ".join(w.raw for w in words)))
    return found


def _discarded(statement: Statement) -> Iterator[tuple[frozenset[str], str]]:
    for clause, _ in cut(statement.rationale):
        for stretch in _stretches(clause):
            terms = terms_of(stretch, frozenset())
            named = {term.word.place for term in terms if term.word.proper}
            for term in terms:
                part = not named.isdisjoint(
                    (term.word.place - 1, term.word.place + 1)
                )  # AWS Lambda is not AWS
                if not term.sign and not part and any(not answer.opposite for answer in term.answers):
                    yield frozenset({term.concept}), term.word.raw


def _stretches(clause: list[Word]) -> list[list[Word]]:
    """Split a clause at commas and conjunctions; the conjunction opens the new stretch."""
    found: list[list[Word]] = [[]]
    for at, word in enumerate(clause):
        value = word.raw == ":" and len(clause) - at <= VALUE_WORDS
        if word.raw in grammar.BREAKS and found[-1] and not value:
            found.append([])
        if value or word.raw not in {",", ":", ";"}:
            found[-1].append(word)
    return [stretch for stretch in found if stretch]


def _segment(words: list[Word], *, later: bool) -> Segment:
    found = quantities(words)
    # The noun that is counted stays a term; units and numbers do not.
    numbers = {w.place for w in words if w.raw[0].isdigit()}
    for q in found:
        if q.dimension == "label:v":
            continue  # v1 names what is spoken about
        noun = q.dimension.startswith(("count:", "label:"))
        numbers |= {place for place in q.places if not noun or place == q.number}
    terms = terms_of(words, frozenset(numbers))
    places = {term.concept: term.word.place for term in terms}
    condition = next((w.place for at, w in enumerate(words) if opens_condition(words, at)), None)
    return Segment(
        terms=terms,
        answered=tuple((term, answer) for term in terms for answer in term.answers),
        denied={term.concept: term for term in terms if not term.sign},
        raws={term.concept: term.word.raw for term in terms},
        quantities=tuple(q for q in found if not is_sequence(q)),
        conditional=condition is not None,
        conditions=frozenset()
        if condition is None
        else frozenset(c for c, p in places.items() if p > condition),
        universal=any(w.raw in grammar.UNIVERSALS for w in words),
        absolute=any(w.raw in grammar.ABSOLUTES for w in words),
        special=any(w.raw in grammar.SPECIAL_CASES for w in words),
        agents=tuple(agents(words)),
        moments=frozenset(moments(words[1:])),
        verb=verb_at(words) is not None or any(w.raw in grammar.NEGATORS for w in words),
        scopes=frozenset(scope for w in words for scope in scopes().get(w.stem, ())),
        labels=frozenset((q.dimension, q.value) for q in found if is_sequence(q)),
        later=later,
    )
