"""What a statement claims: its terms with a sign, what it rejects, its quantities, conditions and scopes.

A *segment* is a stretch of a clause between commas and conjunctions such as `but` and `because`. A *term* is
a telling word of a segment with its part: `subject` before the verb, `core` after it, `adjunct` behind a
preposition that sets place, time or purpose ("in tests", "for invoices"). The sign of a term is False where the
text says no to it: a negator before it, a verb that rejects it, or a contrast ("instead of cookies").
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from forgekit.policy.judge import lexicon
from forgekit.policy.judge.numbers import Quantity, is_sequence, quantities
from forgekit.policy.judge.port import Statement
from forgekit.policy.judge.slots import Answer, answers, scopes
from forgekit.policy.judge.words import Word, concepts, cut, key, stem
from forgekit.policy.relevance import STOP_WORDS

SEGMENT_LIMIT = 12
"""Segments of a text that are compared."""
VALUE_WORDS = 6
"""Words behind a colon that still are the value of what stands before it."""

_BREAKS = frozenset(
    [
        ",",
        "but",
        "because",
        "since",
        "so",
        "while",
        "whereas",
        "although",
        "though",
        "however",
        "therefore",
        "thus",
        ":",
        ";",
    ]
)
_ADJUNCT = frozenset(
    [
        "in",
        "on",
        "for",
        "at",
        "during",
        "within",
        "inside",
        "outside",
        "throughout",
        "across",
        "between",
        "before",
        "after",
        "until",
        "till",
        "by",
        "from",
        "per",
        "when",
        "whenever",
        "while",
        "if",
        "unless",
        "except",
        "under",
        "onto",
    ]
)
_CONDITIONS = frozenset(["when", "whenever", "if", "unless", "except", "may", "might", "optionally", "otherwise", "fallback", "given", "onward", "experimental", "exception"])  # fmt: skip
_UNIVERSAL = frozenset(
    [
        "all",
        "always",
        "every",
        "everywhere",
        "everyone",
        "any",
        "anyone",
        "entire",
        "whole",
        "only",
        "sole",
        "never",
        "nobody",
    ]
)
_FILLERS = (
    STOP_WORDS
    | _ADJUNCT
    | _BREAKS
    | frozenset(
        [
            "we",
            "i",
            "us",
            "a",
            "an",
            "the",
            "it",
            "they",
            "one",
            "every",
            "each",
            "any",
            "all",
            "own",
            "same",
            "other",
            "another",
            "both",
            "also",
            "already",
            "still",
            "just",
            "only",
            "even",
            "very",
            "always",
            "never",
            "everywhere",
            "whole",
            "entire",
            "sole",
            "going",
            "let's",
            "don't",
            "doesn't",
            "aren't",
            "isn't",
            "cannot",
            "can't",
            "not",
            "no",
            "none",
            "neither",
            "must",
            "should",
            "shall",
            "will",
            "may",
            "can",
            "might",
            "would",
            "could",
            "be",
            "is",
            "are",
            "was",
            "were",
            "been",
            "being",
            "do",
            "does",
            "did",
            "has",
            "have",
            "had",
            "through",
            "via",
            "against",
            "like",
            "such",
            "etc",
            "so",
            "that",
            "this",
            "these",
            "those",
            "there",
            "here",
            "then",
            "than",
            "when",
            "if",
            "unless",
            "except",
            "onto",
        ]
    )
)
_BE = frozenset(["is", "are", "was", "were", "be", "been", "being", "get", "gets", "remain", "remains"])
_ASSENT = frozenset(
    stem(w)
    for w in [
        "used",
        "allowed",
        "permitted",
        "adopted",
        "accepted",
        "supported",
        "kept",
        "needed",
        "wanted",
        "welcome",
        "required",
        "offered",
    ]
)
_CHOOSING = frozenset(
    stem(w) for w in ["choose", "prefer", "pick", "favour", "favor", "select", "adopt", "use", "win"]
)
_REJECTED_AFTER = frozenset(stem(w) for w in lexicon.REJECTED_AFTER)
_REJECTED_BEFORE = frozenset(stem(w) for w in lexicon.REJECTED_BEFORE)
_VERBS = frozenset(stem(w) for w in lexicon.VERBS) | lexicon.VERBS
_LIGHT = frozenset(stem(w) for w in lexicon.LIGHT_VERBS)
_GENERIC = frozenset(concepts().get((stem(w),), stem(w)) for w in lexicon.GENERIC)


_ARTICLES = frozenset(
    "the a an our its their each every all no of per this that any one your his her".split()
)
_PERSONS = frozenset(
    "we they you i to not never always must should shall will may can don't everyone users".split()
)
_BEFORE_VERBS = _PERSONS | {"and", "or", "then", "no longer", "instead of", "rather than"}


class Part(Enum):
    """The part a term plays in its segment."""

    SUBJECT = "subject"
    CORE = "core"
    ADJUNCT = "adjunct"


@dataclass(frozen=True, slots=True)
class Term:
    """A telling word, its part, and whether the text says yes to it."""

    word: Word
    part: Part
    sign: bool
    verb: bool
    answers: tuple[Answer, ...] = ()

    @property
    def concept(self) -> str:
        """What it means."""
        return self.word.concept

    @property
    def weight(self) -> float:
        """How much sharing it says about a common frame."""
        if self.word.concept in _GENERIC:
            return 0.4
        if self.verb:
            return 0.3 if self.word.stem in _LIGHT else 0.7
        return 1.0


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a clause."""

    terms: tuple[Term, ...]
    quantities: tuple[Quantity, ...]
    conditional: bool
    universal: bool
    verb: bool
    scopes: frozenset[tuple[str, int]]
    labels: frozenset[tuple[str, float]]
    later: bool

    def weights(self, *, without: frozenset[str] = frozenset()) -> dict[str, float]:
        """Return the concepts of the segment, each with its weight."""
        return {t.concept: t.weight for t in self.terms if t.concept not in without}


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement as the judge compares it.

    Attributes:
        alternatives: what the statement rejected: the concepts of each phrase, and the phrase.
        poles: every (slot, pole) that the text names, whichever sign it has.
    """

    segments: tuple[Segment, ...]
    alternatives: tuple[tuple[frozenset[str], str], ...]
    concepts: frozenset[str]
    poles: frozenset[tuple[str, int]]
    scopes: frozenset[tuple[str, int]]
    claims: bool


def read(statement: Statement) -> Reading:
    """Read a statement; linear in its length, which is cut at `TEXT_LIMIT`."""
    segments: list[Segment] = []
    for clause, later in cut(statement.text):
        for stretch in _stretches(clause):
            if len(segments) < SEGMENT_LIMIT and (made := _segment(stretch, later=later)).terms:
                segments.append(made)
    terms = [term for segment in segments for term in segment.terms]
    extra = frozenset(scope for word in statement.scope for scope in scopes().get("_".join(key(word)), ()))
    return Reading(
        segments=tuple(segments),
        alternatives=tuple(_alternatives(statement)),
        concepts=frozenset(term.concept for term in terms),
        poles=frozenset((a.slot, a.pole) for t in terms for a in t.answers),
        scopes=frozenset(scope for segment in segments for scope in segment.scopes) | extra,
        claims=any(segment.verb for segment in segments),
    )


def _alternatives(statement: Statement) -> list[tuple[frozenset[str], str]]:
    found = []
    for alternative in statement.alternatives[:16]:
        words = [w for clause, _ in cut(alternative.partition("(")[0][:200]) for w in clause]
        telling = frozenset(w.concept for w in words if w.raw not in _FILLERS and w.raw[0].isalnum())
        if telling:
            found.append((telling, " ".join(w.raw for w in words)))
    return found


def _stretches(clause: list[Word]) -> list[list[Word]]:
    """Split a clause at commas and conjunctions; the conjunction opens the new stretch."""
    found: list[list[Word]] = [[]]
    for at, word in enumerate(clause):
        value = word.raw == ":" and len(clause) - at <= VALUE_WORDS
        if word.raw in _BREAKS and found[-1] and not value:
            found.append([])
        if value or word.raw not in {",", ":", ";"}:
            found[-1].append(word)
    return [stretch for stretch in found if stretch]


def _segment(words: list[Word], *, later: bool) -> Segment:
    found = quantities(words)
    measured = frozenset(
        place for q in found for place in q.places if not q.dimension.startswith(("count:", "label:"))
    )
    numbers = measured | frozenset(min(q.places) for q in found if q.dimension.startswith("count:"))
    numbers |= frozenset(w.place for w in words if w.raw[0].isdigit())
    terms: list[Term] = []
    seen_verb = adjunct = negated = False
    reject_next = False
    verb_at = _verb_at(words)
    for at, word in enumerate(words):
        raw = word.raw
        if raw in _ADJUNCT:
            adjunct, reject_next = True, False
        if raw in lexicon.CONTRASTS:
            negated = reject_next = raw == "no longer" or raw not in {"in favour of", "in favor of"}
            if raw in {"in favour of", "in favor of"}:
                terms = [_turned(term) if term.part is Part.CORE else term for term in terms]
            adjunct = False
            continue
        if raw in lexicon.NEGATORS:
            negated, adjunct = True, False
        if raw == "over" and terms and any(w.stem in _CHOOSING for w in words[:at]):
            negated, adjunct = True, False
        if raw == "with" and any(w.stem in {"replac", "migrat"} for w in words[:at]):
            negated = reject_next = False
        if (
            raw == "to"
            and any(w.raw == "from" for w in words[:at])
            and any(w.stem in {"migrat", "move", "mov", "switch", "switched"} for w in words[:at])
        ):
            negated = adjunct = reject_next = False
        if raw == "from" and any(w.stem in {"migrat", "move", "mov", "switch", "away"} for w in words[:at]):
            negated, adjunct = True, False
        if verb_at is not None and at == verb_at:
            seen_verb, adjunct = True, False
        if (
            (word.stem in _REJECTED_AFTER or raw in lexicon.REJECTED_PHRASES)
            and at
            and (words[at - 1].raw in _BE or words[at - 1].raw == "and")
        ):
            terms = [_turned(term) if term.part is not Part.ADJUNCT else term for term in terms]
        elif (
            negated and word.stem in _ASSENT and at and any(w.raw in _BE for w in words[max(0, at - 3) : at])
        ):
            terms = [_turned(term) if term.part is Part.SUBJECT else term for term in terms]
        if raw in _FILLERS or not raw[0].isalnum() or word.place in numbers:
            continue
        if word.stem in _REJECTED_BEFORE and not negated and not (at and words[at - 1].raw in _BE):
            reject_next = True
            terms.append(Term(word, Part.CORE, True, True, answers().get(word.stem, ())))
            continue
        sign = not ((negated or reject_next) and not adjunct)
        part = Part.ADJUNCT if adjunct else Part.CORE if seen_verb or verb_at is None else Part.SUBJECT
        verb = word.stem in _VERBS and (at == verb_at or (part is Part.CORE and raw in lexicon.VERBS))
        terms.append(Term(word, part, sign, verb, _answers(word)))
    return Segment(
        terms=tuple(terms),
        quantities=tuple(q for q in found if not is_sequence(q)),
        conditional=any(w.raw in _CONDITIONS or w.stem == "exempt" for w in words),
        universal=any(w.raw in _UNIVERSAL for w in words),
        verb=verb_at is not None or any(w.raw in lexicon.NEGATORS for w in words),
        scopes=frozenset(scope for w in words for scope in scopes().get(w.stem, ())),
        later=later,
        labels=frozenset((q.dimension, q.value) for q in found if is_sequence(q)),
    )


def _answers(word: Word) -> tuple[Answer, ...]:
    table = answers()
    return table.get(f"={word.raw}") or table.get(word.stem) or table.get(word.concept, ())


def _turned(term: Term) -> Term:
    return Term(word=term.word, part=term.part, sign=not term.sign, verb=term.verb, answers=term.answers)


def _verb_at(words: list[Word]) -> int | None:
    """Return where the verb of a segment stands: a base form that opens it, else the first finite form."""
    finite = [at for at in range(1, len(words)) if _is_finite(words, at)]
    sure = [at for at in finite if words[at].raw not in lexicon.NOUNS_TOO]
    if any(part in lexicon.VERBS for part in words[0].raw.split()) and not (words[0].raw in lexicon.NOUNS_TOO and finite):
        return 0
    return next(iter(sure or finite), None)


def _is_finite(words: list[Word], at: int) -> bool:
    """Whether a word can be a finite verb here: none follows an article, a preposition or a number."""
    raw, before = words[at].raw.split(" ")[0], words[at - 1].raw
    if before in _ARTICLES or before in _ADJUNCT or before[0].isdigit():
        return False
    if raw == ":" or raw in lexicon.AUXILIARIES or raw in lexicon.VERBS:
        return True
    if raw.endswith(("ing", "ings")) or (raw.endswith("ed") and before not in _PERSONS):
        return False
    return stem(raw) in _VERBS
