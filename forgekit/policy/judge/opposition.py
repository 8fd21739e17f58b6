"""The ways in which two segments can exclude each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from forgekit.policy.judge import grammar
from forgekit.policy.judge.numbers import Quantity, differ, same
from forgekit.policy.judge.reading import Reading, Segment
from forgekit.policy.judge.terms import Part, Term
from forgekit.policy.judge.words import stem


@dataclass(frozen=True, slots=True)
class Opposition:
    """One way in which two segments exclude each other.

    Attributes:
        kind: a key of the weights.
        words: the concepts that oppose each other; they do not count as shared.
        slot: what is answered differently, where a table says so.
        topic: the opposition itself says what is spoken about.
    """

    kind: str
    reason: str
    words: frozenset[str] = frozenset()
    slot: str = ""
    topic: bool = False


def oppositions(a: Reading, s: Segment, b: Reading, t: Segment) -> list[Opposition]:
    """Return every opposition between segment `s` of `a` and segment `t` of `b`."""
    found = [
        *_denied(s, t),
        *_denied(t, s),
        *_rejected(a, t),
        *_rejected(b, s),
        *_answered(a, s, b, t),
        *_measured(a, s, b, t),
        *_filled(s, t),
    ]
    return sorted(set(found), key=lambda o: (o.kind, o.reason))


_USING = frozenset(map(stem, grammar.USING))


def _denied(s: Segment, t: Segment) -> Iterator[Opposition]:
    """Find words that `s` says no to and `t` yes."""
    no, stand = s.denied, t.named
    if no.keys().isdisjoint(stand):
        return
    if any(concept in no and (term.verb or no[concept].verb) for concept, term in t.denied.items()):
        return  # both say no to doing it
    limited = any(term.part is Part.ADJUNCT for term in s.terms) and not t.universal
    yes = {term.concept for term in t.terms if term.sign and (term.part is not Part.ADJUNCT or not limited)}
    things = {concept for concept, term in no.items() if not term.verb}
    met = no.keys() & yes
    held = [
        term.weight for term in s.terms if term.concept in stand and (term.concept in met or not term.verb)
    ]
    if not met or 2 * len(things & stand) < len(things) or max(held) < 0.7:
        return
    choices = {c for c in things if any(not answer.opposite for answer in no[c].answers)}
    if choices and choices.isdisjoint(stand):
        return  # "over Yarn for packages" rejects Yarn, not packages
    doing = any(
        term.verb and term.word.stem not in _USING and term.concept not in yes for term in no.values()
    )
    if doing:
        return  # storing a thing is denied, not the thing
    flat = bool(things) and things <= yes and not limited
    named = flat or any(_named(no[concept]) or concept == _choice(t) for concept in met)
    lightest = min(met, key=lambda concept: (no[concept].weight, concept))
    shown = ", ".join(sorted(no[concept].word.raw for concept in met))
    yield Opposition(
        "denied",
        f"one says no to what the other says yes to: {shown}",
        frozenset() if named else frozenset({lightest}),
    )


def _named(term: Term) -> bool:
    """Whether a term is a name, which speaks of one thing wherever it stands."""
    return term.word.proper or any(not answer.opposite for answer in term.answers)


def _choice(segment: Segment) -> str | None:
    """Return what an imperative ("Use the serial comma") is about: its last word before any adjunct."""
    core = [term for term in segment.terms if term.part is Part.CORE and not term.verb]
    imperative = segment.verb and not any(term.part is Part.SUBJECT for term in segment.terms)
    return core[-1].concept if core and imperative else None


def _rejected(a: Reading, t: Segment) -> Iterator[Opposition]:
    """Find alternatives that `a` rejects and `t` chooses."""
    chosen = {term.concept for term in t.terms if term.sign}
    held = {term.concept for segment in a.segments for term in segment.terms if term.sign}
    for kind, phrases in (("rejected", a.alternatives), ("discarded", a.discarded)):
        for words, shown in phrases:
            if words <= chosen and not words <= held:
                yield Opposition(kind, f"rejects what the other chooses: {shown}", words)


def _answered(a: Reading, s: Segment, b: Reading, t: Segment) -> Iterator[Opposition]:
    """Find two poles of one slot, unless the two texts name a common pole of it."""
    for (x, p), (y, q) in product(s.answered, t.answered):
        if p.slot != q.slot or x.concept == y.concept:
            continue
        poles = x.sign and y.sign and p.pole != q.pole and not _common(a.poles, b.poles, p.slot)
        if poles or (p.pole == q.pole and x.sign is not y.sign):
            yield Opposition(
                kind="opposite" if p.opposite else "choice",
                reason=f"exclude each other ({p.slot}): " + " against ".join(sorted((_shown(x), _shown(y)))),
                words=frozenset({x.concept, y.concept}),
                slot=p.slot,
                topic=p.topic,
            )


def _common(left: frozenset[tuple[str, int]], right: frozenset[tuple[str, int]], slot: str) -> bool:
    return any(name == slot for name, _ in left & right)


def _shown(term: Term) -> str:
    return term.word.raw if term.sign else f"not {term.word.raw}"


def _measured(a: Reading, s: Segment, b: Reading, t: Segment) -> Iterator[Opposition]:
    """Find two values of one dimension, unless the two texts agree on a value of it elsewhere."""
    for p, q in product(s.quantities, t.quantities):
        if p.dimension.startswith("label:") and not (s.verb and t.verb):
            continue
        if differ(p, q) and not _agreed(a, b, p.dimension):
            label, count = p.dimension.startswith("label:"), p.dimension.startswith("count:")
            yield Opposition(
                kind="quantity",
                reason="different values: " + " against ".join(sorted((_valued(p), _valued(q)))),
                words=frozenset({p.dimension[6:]} if count else ()),
                slot=p.dimension,
                topic=label,
            )


def _filled(s: Segment, t: Segment) -> Iterator[Opposition]:
    """Find one sentence with another name in it: "send alerts to Relay", "send alerts to Beacon"."""
    left, right = ([x for x in one.terms if x.concept not in other.named] for one, other in ((s, t), (t, s)))
    same_verb = {x.concept for x in s.terms if x.verb} & {x.concept for x in t.terms if x.verb}
    if not (
        same_verb and 0 < len(left) <= 2 and 0 < len(right) <= 2 and all(x.sign for x in (*s.terms, *t.terms))
    ):
        return
    names = [[x.word.raw for x in side if x.word.proper] for side in (left, right)]
    parts = {x.part for side in (left, right) for x in side}
    if (
        names[0]
        and names[1]
        and len(parts) == 1
        and Part.SUBJECT not in parts
        and not _heading(s) | _heading(t)
    ):
        yield Opposition(
            kind="filled",
            reason="one sentence, another name: "
            + " against ".join(sorted(" ".join(side) for side in names)),
            words=frozenset(x.concept for side in (left, right) for x in side),
        )


def _heading(segment: Segment) -> bool:
    """Whether most words are capitalised, so that capitals say nothing about names."""
    return 2 * sum(x.word.proper for x in segment.terms) > len(segment.terms)


def _valued(quantity: Quantity) -> str:
    bound = quantity.bound.value
    return quantity.shown if bound == "exactly" else f"{bound} {quantity.shown}"


def _agreed(a: Reading, b: Reading, dimension: str) -> bool:
    left, right = ([q for s in r.segments for q in s.quantities if q.dimension == dimension] for r in (a, b))
    return any(same(p, q) for p, q in product(left, right))
