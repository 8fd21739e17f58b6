"""What two statements are that do not contradict: the same, one narrower, of one topic, or apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from forgekit.conflict.rules.port import Judgement, Verdict
from forgekit.conflict.rules.quantity import same
from forgekit.conflict.rules.reading import Reading
from forgekit.conflict.rules.terms import Part, Term, rejects

SHARED = "both speak of: "
_APART = ("but hold in", "but speak of")  # an opposition that other places or other things excuse
_ROUGH = frozenset(("time", "every", "size"))  # 30 days are a month


@dataclass(frozen=True, slots=True)
class Common:
    """What two statements speak of, in weights of words and numbers.

    Attributes:
        words: of what both speak of, the words alone.
        shared: of what both speak of.
        smaller, larger: of all that the one speaks of that says less, and the other.
    """

    words: float
    shared: float
    smaller: float
    larger: float

    @property
    def likeness(self) -> float:
        """The share of everything that both speak of, 0 to 1."""
        union = self.smaller + self.larger - self.shared
        return self.shared / union if union else 0.0


def common(left: Mapping[str, float], right: Mapping[str, float]) -> Common:
    """Compare what two statements speak of, each as `mass` gives it."""
    met = {c: min(left[c], right[c]) for c in left.keys() & right.keys()}
    smaller, larger = sorted((sum(sorted(left.values())), sum(sorted(right.values()))))
    words = sum(sorted(weight for c, weight in met.items() if not c.startswith("=")))
    return Common(words=words, shared=sum(sorted(met.values())), smaller=smaller, larger=larger)


def agreement(
    a: Reading,
    b: Reading,
    similarity: float | None,
    score: float,
    reasons: tuple[str, ...],
    met: Common | None = None,
) -> Judgement:
    """Return the verdict on a pair that does not contradict; `met` where it is known already."""
    met = met or common(mass(a), mass(b))
    words, shared, smaller, larger = met.words, met.shared, met.smaller, met.larger
    union = met.likeness
    cosine = 0.0 if similarity is None else similarity
    raws = ({c: raw for x in r.segments for c, raw in x.raws.items()} for r in (a, b))
    both = told(a.concepts & b.concepts, *raws)
    named = (both,) if both and not any(reason.startswith(SHARED) for reason in reasons) else ()
    other = apart(a.scopes, b.scopes) or _other_values(a, b) or any(r.startswith(_APART) for r in reasons)
    other = other or (cosine < 0.85 and _other_subjects(a, b))
    carved = any(x.conditional for x in a.segments) is not any(x.conditional for x in b.segments)
    narrowed = larger >= 1.4 * smaller or carved
    adds = carved or (larger - shared >= 1.5 and smaller - shared < 0.5)
    near = not narrowed and (cosine >= 0.85 or (cosine >= 0.7 and union >= 0.35))
    if ((union >= 0.6 and not adds) or near) and not reasons and not other:
        return Judgement(verdict=Verdict.DUPLICATE, score=score, reasons=named)
    if words >= 1 and smaller and shared / smaller >= 0.4 and (narrowed or adds) and not other:
        return Judgement(verdict=Verdict.REFINEMENT, score=score, reasons=(*named, *reasons))
    if words >= 0.8 or cosine >= 0.4 or {slot for slot, _ in a.poles} & {slot for slot, _ in b.poles}:
        return Judgement(verdict=Verdict.RELATED, score=score, reasons=(*named, *reasons))
    return Judgement(verdict=Verdict.UNRELATED, score=score, reasons=reasons)


def told(concepts: Iterable[str], left: Mapping[str, str], right: Mapping[str, str]) -> str:
    """Return the words that both texts have, as one of them writes each; "" for none."""
    words = sorted(min(left[concept], right[concept]) for concept in concepts)
    return SHARED + ", ".join(words) if words else ""


def apart(
    left: frozenset[tuple[str, int]] | frozenset[tuple[str, float]],
    right: frozenset[tuple[str, int]] | frozenset[tuple[str, float]],
) -> bool:
    """Whether some slot is answered on both sides and without a common answer."""
    for slot in {slot for slot, _ in left} & {slot for slot, _ in right}:
        if not {v for k, v in left if k == slot} & {v for k, v in right if k == slot}:
            return True
    return False


def mass(reading: Reading) -> dict[str, float]:
    """Return what a statement speaks of, words and numbers; words of one pole are one word."""
    found: dict[str, float] = {}
    for segment in reading.segments:
        for term in segment.terms:
            if not rejects(term):  # its sign stands at what it rejects
                found[_key(term)] = term.weight
        for q in segment.quantities:
            digits = ".2g" if q.dimension in _ROUGH else "g"
            found[f"={q.value:{digits}} {q.dimension}"] = 1.0
    return found


def _key(term: Term) -> str:
    return f"{term.answers[0].slot} {term.answers[0].pole}" if term.answers else term.concept


def _other_values(a: Reading, b: Reading) -> bool:
    """Whether both name a value of one dimension, or a place in one row, and none in common."""
    left, right = ([q for s in r.segments for q in s.quantities] for r in (a, b))
    for dimension in {q.dimension for q in left} & {q.dimension for q in right}:
        meeting = product(*([q for q in side if q.dimension == dimension] for side in (left, right)))
        if not any(same(p, q) for p, q in meeting):
            return True
    rows = (frozenset(label for s in r.segments for label in s.labels) for r in (a, b))
    return apart(*rows)


def _other_subjects(a: Reading, b: Reading) -> bool:
    """Whether the first segments speak of things of which the other text says nothing."""
    if not (a.segments and b.segments):
        return False
    subjects = [
        {x.concept for x in r.segments[0].terms if x.part is Part.SUBJECT and x.weight >= 0.7} for r in (a, b)
    ]
    return all(subjects) and subjects[0].isdisjoint(b.concepts) and subjects[1].isdisjoint(a.concepts)
