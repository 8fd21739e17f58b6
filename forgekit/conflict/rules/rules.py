"""The default judge: rules and features in a small logistic sum. No model, no download.

For each pair of segments every kind of opposition is looked for; what the two segments share besides (the
*frame*) says whether they speak of one thing, and scopes, conditions and differing subjects speak against it.
The strongest pair of segments decides, so a clause that has nothing to do with the other side changes
nothing. Tier, project and time are left alone: they say who is right, not whether both can hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import product

from forgekit.conflict.rules.port import Judgement, Statement, Verdict
from forgekit.conflict.rules.agreement import agreement, apart, told
from forgekit.conflict.rules.opposition import Opposition, oppositions
from forgekit.conflict.rules.reading import Reading, Segment, read
from forgekit.conflict.rules.terms import Part, Term

WEIGHTS = {
    "bias": -3.0,  # an opposition in a common frame of no weight: about 5 in 100
    "rejected": 2.4,  # one side names as rejected what the other chooses
    "discarded": 0.8,  # the reasons of one side say no to a name that the other chooses
    "denied": 2.2,  # one side says no to a word that the other says yes to
    "opposite": 2.2,  # words that exclude each other by meaning
    "quantity": 2.0,  # two values of one dimension
    "choice": 1.4,  # two answers of which one is usually chosen for one purpose
    "agent": 2.0,  # another party does what one alone does
    "moment": 2.2,  # before against after one and the same thing
    "filled": 0.8,  # one sentence with another name in it
    "frame": 1.4,  # per shared telling word, at most 2.5 of them
    "coverage": 2.0,  # share of the segments' words that are shared, less a half
    "no_frame": -2.5,  # nothing shared besides the opposition
    "scope": -4.0,  # limited to scopes that exclude each other
    "adjuncts": -1.6,  # both are limited, by different words
    "condition": -1.4,  # one side holds under a condition
    "subjects": -2.8,  # different things are spoken about
    "modifiers": -2.0,  # one thing, named more closely and differently on both sides
    "nominal": -1.8,  # a side without a verb is a heading, no decision
    "later": -2.2,  # said in a further sentence, which explains more often than it decides
    "told": -1.8,  # nor is what such a sentence says no to forbidden
    "gloss": -1.8,  # a heading says yes to nothing that it names
    "extra": 0.5,  # each further kind of opposition
}
"""Log-odds of a contradiction, set by hand."""
THRESHOLD = 0.5
EXCLUDING = frozenset({"rejected", "opposite", "choice", "agent", "moment"})
"""Kinds of opposition that know that the two exclude each other; the others see that something differs."""
AGAINST = {
    "scope": "hold in scopes that exclude each other",
    "adjuncts": "hold in different places, times or purposes",
    "condition": "one holds under a condition",
    "subjects": "speak of different things",
    "modifiers": "name different kinds of one thing",
    "nominal": "a heading decides nothing",
    "later": "said in passing",
    "told": "a description forbids nothing",
    "gloss": "a name is no choice",
}
"""What speaks against a contradiction, in words."""
NOTHING = -6.0
"""Log-odds where no opposition was found at all."""


class RuleJudge:
    """The judge by rules and features."""

    def judge(
        self, pairs: Sequence[tuple[Statement, Statement]], similarity: Sequence[float | None]
    ) -> list[Judgement]:
        """Return one judgement a pair; the same for (a, b) and (b, a)."""
        return [compare(a, b, cosine) for (a, b), cosine in zip(read_pairs(pairs), similarity, strict=True)]


def read_pairs(pairs: Sequence[tuple[Statement, Statement]]) -> Iterator[tuple[Reading, Reading]]:
    """Yield the readings of each pair; a statement that stands in many pairs is read once."""
    readings: dict[int, Reading] = {}
    for sides in pairs:
        for side in sides:
            if id(side) not in readings:
                readings[id(side)] = read(side)
        yield readings[id(sides[0])], readings[id(sides[1])]


def compare(a: Reading, b: Reading, similarity: float | None) -> Judgement:
    """Return the judgement on two readings."""
    odds, reasons, _ = weigh(a, b, similarity)
    score = 1 / (1 + math.exp(-odds))
    if score >= THRESHOLD:
        return Judgement(verdict=Verdict.CONTRADICTION, score=score, reasons=reasons)
    return agreement(a, b, similarity, score, reasons)


def weigh(a: Reading, b: Reading, similarity: float | None) -> tuple[float, tuple[str, ...], bool]:
    """Return the log-odds of a contradiction, the reasons, and whether both are known to exclude each other.

    That is known where an opposition of `EXCLUDING` leads, or one side is the bare denial of the other. The
    log-odds are `NOTHING` where there is no opposition.
    """
    best: tuple[float, tuple[str, ...], bool] = (NOTHING, (), False)
    near = 0.0 if similarity is None else max(0.0, min(0.8, 2 * (similarity - 0.35)))
    for s, t in product(a.segments, b.segments):
        found = oppositions(a, s, b, t)
        if not found:
            continue
        best = max(best, _odds(a, s, b, t, found, near))
    return best


def is_heading(reading: Reading) -> bool:
    """Whether a whole text is a heading, which names a thing and decides nothing."""
    return all(_heading(reading, segment) for segment in reading.segments)


def _odds(
    a: Reading, s: Segment, b: Reading, t: Segment, found: list[Opposition], near: float
) -> tuple[float, tuple[str, ...], bool]:
    strongest = max(found, key=lambda o: (WEIGHTS[o.kind], o.reason))
    odds = WEIGHTS["bias"] + WEIGHTS[strongest.kind] + WEIGHTS["extra"] * (len({o.kind for o in found}) - 1)
    without = frozenset(word for o in found for word in o.words)
    left, right = s.weights(without=without), t.weights(without=without)
    common = {c: min(left[c], right[c]) for c in left.keys() & right.keys()}
    frame = sum(sorted(common.values()))
    beside = (a.concepts & b.concepts) - common.keys() - without
    frame += min(0.8, 0.4 * len(beside))
    if any(o.topic for o in found):
        frame += 0.8
    frame = max(frame, near)
    if strongest.kind == "quantity" and not strongest.topic and not _one_thing(s, t, common.keys() | beside):
        frame = min(frame, near)
    size = math.sqrt(sum(sorted(left.values())) * sum(sorted(right.values())))
    coverage = min(1.0, frame / size) if size else 0.5
    odds += WEIGHTS["frame"] * min(frame, 2.5) + WEIGHTS["coverage"] * (coverage - 0.5)
    reasons = [o.reason for o in sorted(found, key=lambda o: (-WEIGHTS[o.kind], o.reason))]
    if common:
        reasons.append(told(common, s.raws, t.raws))
    if frame < 0.6:
        odds += WEIGHTS["no_frame"]
    contrary = against(a, s, b, t, without, found)
    for name in contrary:
        odds += WEIGHTS[name]
        reasons.append(f"but {AGAINST[name]}")
    bare = not contrary and _bare(a, b, found)
    return odds, tuple(dict.fromkeys(reasons)), bare or strongest.kind in EXCLUDING


def _bare(a: Reading, b: Reading, found: list[Opposition]) -> bool:
    """Whether one text says no to all of the other, and says nothing else ("use tabs", "do not use tabs").

    58 of 63 such pairs among 60,000 that were written for the training of a judge are contradictions.
    """
    if any(o.kind != "denied" for o in found) or len(a.segments) != 1 or len(b.segments) != 1:
        return False
    left, right = a.segments[0].weights(), b.segments[0].weights()
    weights = left | right
    return not any(weights[concept] for concept in left.keys() ^ right.keys())


def _one_thing(s: Segment, t: Segment, shared: AbstractSet[str]) -> bool:
    """Whether a thing is shared, not only what is done, or a side names none."""
    deeds = {x.concept for x in (*s.terms, *t.terms) if x.verb}
    own = [{x.concept for x in one.terms if x.part is not Part.ADJUNCT} - deeds - shared for one in (s, t)]
    return bool(shared - deeds) or not all(own)


def against(
    a: Reading, s: Segment, b: Reading, t: Segment, without: frozenset[str], found: list[Opposition]
) -> list[str]:
    """Return what speaks against a contradiction: names of weights."""
    slots = {o.slot for o in found}
    names = []
    named = any(o.kind != "quantity" for o in found) and apart(_values(s), _values(t))
    if (
        named
        or _other_periods(a, b)
        or apart(s.scopes or a.scopes, t.scopes or b.scopes)
        or apart(s.labels, t.labels)
    ):
        names.append("scope")
    if not (s.universal or t.universal):
        if _differ(s, t, Part.ADJUNCT, without):
            names.append("adjuncts")
        if _differ(s, t, Part.SUBJECT, without) or _other_objects(s, t, without):
            names.append("subjects")
        elif _modified(s, t, without):
            names.append("modifiers")
    if (
        s.conditional is not t.conditional
        and "consent" not in slots
        and not _given(s, t)
        and not _absolute(s, t)
    ):
        names.append("condition")
    names += ["later"] * (s.later + t.later)
    headings = _heading(a, s) + _heading(b, t)
    if all(o.kind == "denied" for o in found):
        names += ["told"] * (s.later or t.later) + ["gloss"] * (headings > 0)
    names += ["nominal"] * (0 if headings == 2 and _one_question(s, t, without, found) else headings)
    return names


def _other_periods(a: Reading, b: Reading) -> bool:
    """Whether one text holds before a thing and the other after it."""
    after = {"before": "after", "after": "before"}
    return any((after[when], what) in b.periods for when, what in a.periods)


def _given(s: Segment, t: Segment) -> bool:
    """Whether what one segment makes a condition of is said by the other one anyway."""
    conditions = s.conditions | t.conditions
    return bool(conditions) and conditions <= (t if s.conditional else s).named


def _absolute(s: Segment, t: Segment) -> bool:
    """Whether the segment without a condition leaves no room for that of the other ("never")."""
    return (t if s.conditional else s).absolute and not (s.special or t.special)


def _values(segment: Segment) -> frozenset[tuple[str, float]]:
    """Return the labelled numbers: version 2 says which one is meant where it is not what differs."""
    return frozenset((q.dimension, q.value) for q in segment.quantities if q.dimension.startswith("label:"))


def _heading(reading: Reading, segment: Segment) -> bool:
    """Whether a segment is a heading: without a verb, and none before it."""
    return (
        not segment.verb and not segment.universal and (segment is reading.segments[0] or not reading.claims)
    )


def _one_question(s: Segment, t: Segment, without: frozenset[str], found: list[Opposition]) -> bool:
    """Whether two headings answer one question with choices that exclude each other ("X for login")."""

    def purpose(segment: Segment) -> set[str]:
        """Return what stands behind the preposition, where nothing else is left beside the choice."""
        rest = [x for x in segment.terms if x.concept not in without]
        return {x.concept for x in rest} if all(x.part is Part.ADJUNCT for x in rest) else set()

    chosen = any(o.kind in {"choice", "opposite"} for o in found)
    return chosen and bool(purpose(s)) and purpose(s) == purpose(t)


def _differ(s: Segment, t: Segment, part: Part, without: frozenset[str]) -> bool:
    """Whether both segments have telling words in a part, and none of them stands in the other segment."""

    def telling(segment: Segment) -> set[str]:
        return {term.concept for term in segment.terms if term.part is part and term.weight >= 0.4} - without

    left, right = telling(s), telling(t)
    if not left or not right:
        return False
    return not (left & t.named or right & s.named)


def _modified(s: Segment, t: Segment, without: frozenset[str]) -> bool:
    """Whether each segment's subject has a telling word that the other text lacks."""
    names = [
        {x.concept for x in one.terms if x.part is Part.SUBJECT} - other.named - without
        for one, other in ((s, t), (t, s))
    ]
    return all(names)


def _other_objects(s: Segment, t: Segment, without: frozenset[str]) -> bool:
    """Whether two imperatives end in different things ("remove the importer", "keep the exporter")."""
    if any(term.part is Part.SUBJECT for segment in (s, t) for term in segment.terms):
        return False
    ends = [[x for x in one.terms if _object(x) and x.concept not in without][-1:] for one in (s, t)]
    heads = [x.concept for end in ends for x in end if x.weight >= 1]
    return len(heads) == len(ends) and heads[0] not in t.named and heads[1] not in s.named


def _object(term: Term) -> bool:
    """Whether a term can be the object of an imperative."""
    return term.part is Part.CORE and term.sign and not term.verb
