"""The ways in which two segments can exclude each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from forgekit.conflict.rules import grammar
from forgekit.conflict.rules.agents import Mode
from forgekit.conflict.rules.quantity import Quantity, differ, same
from forgekit.conflict.rules.reading import Reading, Segment
from forgekit.conflict.rules.terms import Denial, Part, Term
from forgekit.conflict.rules.words import stem


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
        *_acted(s, t),
        *_ordered(s, t),
    ]
    return sorted(set(found), key=lambda o: (o.kind, o.reason))


_USING = frozenset(map(stem, grammar.USING))
_MOVING = frozenset(map(stem, grammar.MOVING))


def _denied(s: Segment, t: Segment) -> Iterator[Opposition]:
    """Find words that `s` says no to and `t` yes."""
    no, stand = s.denied, t.named
    if no.keys().isdisjoint(stand):
        return
    if any(concept in no and (term.verb or no[concept].verb) for concept, term in t.denied.items()):
        return  # both say no to doing it
    adjunct = any(term.part is Part.ADJUNCT for term in s.terms)
    timed = any(q.dimension in {"clock", "date", "day"} for q in s.quantities)
    limited = (adjunct or timed or _swapped(s, t)) and not t.universal
    yes = {term.concept for term in t.terms if term.sign and (term.part is not Part.ADJUNCT or not limited)}
    things = {concept for concept, term in no.items() if not term.verb}
    if not _whole(s, t, yes):
        return
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


def _whole(s: Segment, t: Segment, yes: set[str]) -> bool:
    """Whether what `s` says no to by naming something else in its place is what `t` says yes to.

    Such a phrase is rejected as a whole ("rather than full hash comparison"); and what is moved "from" a
    thing leaves it alone: the thing stays for everything else.
    """
    contrasted = {c for c, term in s.denied.items() if term.denial is Denial.CONTRAST and not term.verb}
    if contrasted & yes and not contrasted <= yes:
        return False
    left = {c for c, term in s.denied.items() if term.denial is Denial.MOVED} & yes
    moved = {
        term.concept for term in s.terms if term.sign and term.part is not Part.ADJUNCT and not term.verb
    }
    source = next((at for at, term in enumerate(s.terms) if term.denial is Denial.MOVED), 0)
    objects = moved & {term.concept for term in s.terms[:source]}
    return not left or not objects or bool(objects & t.named)


def _swapped(s: Segment, t: Segment) -> bool:
    """Whether a subject that `t` does not speak of replaces one thing with another."""
    own = {x.concept for x in s.terms if x.part is Part.SUBJECT and x.sign} - t.named
    return bool(own) and any(x.verb and x.word.stem in _MOVING for x in s.terms)


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
        if p.slot != q.slot or x.concept == y.concept or _other_things(s, x, t, y):
            continue
        poles = x.sign and y.sign and p.pole != q.pole and not _common(a.poles, b.poles, p.slot)
        if poles or (p.pole == q.pole and x.sign is not y.sign):
            yield Opposition(
                kind="opposite" if p.opposite else "choice",
                reason=f"exclude each other ({p.slot}): " + " against ".join(sorted((_shown(x), _shown(y)))),
                words=frozenset({x.concept, y.concept}),
                slot=p.slot,
                topic=p.topic and not (s.later or t.later),
            )


def _other_things(s: Segment, x: Term, t: Segment, y: Term) -> bool:
    """Whether two verbs are done to different things ("enable alerts", "disable sounds")."""
    if not (x.verb and y.verb):
        return False
    heads = [_head(s, x), _head(t, y)]
    return None not in heads and heads[0] not in t.named and heads[1] not in s.named


def _head(segment: Segment, verb: Term) -> str | None:
    """Return the last word of the phrase behind a verb."""
    place, head = verb.word.place, None
    for term in segment.terms:
        if term.part is Part.CORE and 0 < term.word.place - place <= (1 if head else 2):
            place, head = term.word.place, term.concept
    return head


def _common(left: frozenset[tuple[str, int]], right: frozenset[tuple[str, int]], slot: str) -> bool:
    return any(name == slot for name, _ in left & right)


def _shown(term: Term) -> str:
    return term.word.raw if term.sign else f"not {term.word.raw}"


def _measured(a: Reading, s: Segment, b: Reading, t: Segment) -> Iterator[Opposition]:
    """Find two values of one dimension, unless the two texts agree on a value of it elsewhere."""
    for p, q in product(s.quantities, t.quantities):
        if p.dimension.startswith("label:") and not (s.verb and t.verb):
            continue
        if p.dimension in _TIMES and _other_deeds(s, t):
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


_TIMES = frozenset(("clock", "date", "day"))


def _other_deeds(s: Segment, t: Segment) -> bool:
    """Whether two segments share one telling word at most and each has others: other things happen then."""
    left, right = ({x.concept for x in one.terms if x.weight >= 0.7} for one in (s, t))
    return len(left & right) < 2 and bool(left - right) and bool(right - left)


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


def _acted(s: Segment, t: Segment) -> Iterator[Opposition]:
    """Find two parties of which one alone does a thing, or one that may do what is kept for the other."""
    if s.quantities or t.quantities:
        return  # up to an amount the one, above it the other
    for p, q in product(s.agents, t.agents):
        modes = {p.mode, q.mode}
        rules = modes == {Mode.DOES} and p.deed == q.deed
        if not (rules or modes in ({Mode.ONLY}, {Mode.ONLY, Mode.MAY})):
            continue
        if p.people - q.people and q.people - p.people:
            yield Opposition(
                kind="agent",
                reason="another party: " + " against ".join(sorted((p.shown, q.shown))),
                words=p.people | q.people,
            )


def _ordered(s: Segment, t: Segment) -> Iterator[Opposition]:
    """Find one deed before a thing on one side and after it on the other."""
    verbs = [{x.concept for x in one.terms if x.verb} for one in (s, t)]
    for (when, what), (then, other) in product(s.moments, t.moments):
        if what == other and when != then and verbs[0] & verbs[1]:
            yield Opposition(
                kind="moment",
                reason=f"before against after: {s.raws.get(what, what)}",
                words=frozenset({what}),
            )


def _heading(segment: Segment) -> bool:
    """Whether most words are capitalised, so that capitals say nothing about names."""
    return 2 * sum(x.word.proper for x in segment.terms) >= len(segment.terms)


def _valued(quantity: Quantity) -> str:
    bound = quantity.bound.value
    return quantity.shown if bound == "exactly" else f"{bound} {quantity.shown}"


def _agreed(a: Reading, b: Reading, dimension: str) -> bool:
    left, right = ([q for s in r.segments for q in s.quantities if q.dimension == dimension] for r in (a, b))
    return any(same(p, q) for p, q in product(left, right))
