"""The terms of a segment: its telling words, the part each plays, and whether the text says yes to it.

A *term* is `subject` before the verb, `core` after it, `adjunct` behind a preposition that sets place, time
or purpose ("in tests", "for invoices"). Its sign is False where the text says no to it: a negator before it,
a verb that rejects it, or a contrast ("instead of cookies").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from forgekit.conflict.rules import grammar, lexicon
from forgekit.conflict.rules.lexicon.people import UNITS
from forgekit.conflict.rules.slots import Answer, answers
from forgekit.conflict.rules.words import Word, concepts, stem

FILLERS = grammar.FILLERS | grammar.ADJUNCTS | grammar.BREAKS

_BEFORE_VERBS = grammar.PERSONS | {"and", "or", "then", "no longer", "instead of", "rather than"}
_VERBS = grammar.VERBS | {stem(word) for word in grammar.VERBS}
_NOUNS_TOO = frozenset(map(stem, grammar.NOUNS_TOO))
_LIGHT = frozenset(map(stem, grammar.LIGHT_VERBS))
_ASSENTS = frozenset(map(stem, grammar.ASSENTS))
_CHOOSING = frozenset(map(stem, grammar.CHOOSING))
_MOVING = frozenset(map(stem, grammar.MOVING))
_REJECTED_AFTER = frozenset(map(stem, grammar.REJECTED_AFTER))
_LEAVING = frozenset(map(stem, grammar.LEAVING))
_UNITS = frozenset(map(stem, UNITS))
_REJECTED_BEFORE = frozenset(map(stem, grammar.REJECTED_BEFORE))
_GENERIC = frozenset(concepts().get((stem(word),), stem(word)) for word in lexicon.GENERIC)


class Denial(Enum):
    """How a text says no to a term."""

    PLAIN = "plain"  # a negator or a rejecting verb
    CONTRAST = "contrast"  # something else is named in its place: the phrase is rejected as a whole
    MOVED = "moved"  # the thing moved leaves it, and nothing else does


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
    denial: Denial | None = None

    @property
    def concept(self) -> str:
        """What it means."""
        return self.word.concept

    @property
    def weight(self) -> float:
        """How much sharing it says about a common frame."""
        if self.word.concept in _GENERIC:
            return 0.6
        if self.verb:
            return 0.3 if self.word.stem in _LIGHT else 0.7
        return 1.0


def terms_of(words: Sequence[Word], numbers: frozenset[int]) -> tuple[Term, ...]:
    """Return the terms of a segment; words at the places `numbers` belong to quantities and are left out."""
    scan = _Scan(words=words, verb=verb_at(words))
    for at, word in enumerate(words):
        if scan.contrast(word):
            continue
        scan.mark(at, word)
        scan.look_back(at, word)
        if word.raw not in FILLERS and word.raw[0].isalnum() and word.place not in numbers:
            scan.take(at, word)
    return tuple(scan.terms)


@dataclass(slots=True)
class _Scan:
    """Where the reader of a segment is: in an adjunct, behind a negator, behind a rejecting verb."""

    words: Sequence[Word]
    verb: int | None
    adjunct: bool = False
    negated: bool = False
    rejecting: bool = False
    moving: bool = False
    choosing: bool = False
    denial: Denial = Denial.PLAIN
    terms: list[Term] = field(default_factory=list)

    def contrast(self, word: Word) -> bool:
        """Take a contrast: what follows is rejected, behind `in favour of` what stood before."""
        if word.raw not in grammar.CONTRASTS:
            return False
        self.adjunct = False
        self.denial = Denial.CONTRAST
        favour = word.raw.startswith("in fav")
        self.negated = self.rejecting = not favour
        if favour:
            self._turn(Part.CORE)
        return True

    def mark(self, at: int, word: Word) -> None:
        """Take a function word, or the verb."""
        raw = word.raw
        if raw in grammar.ADJUNCTS or opens_condition(self.words, at):
            self.adjunct, self.rejecting = True, False
        over, moved = raw == "over" and self.choosing, raw == "from" and self.moving
        if raw in grammar.NEGATORS or over or moved:
            self.negated, self.adjunct = True, False
            self.denial = Denial.CONTRAST if over else Denial.MOVED if moved else Denial.PLAIN
        if self.moving and raw in {"to", "with"}:
            self.negated = self.adjunct = self.rejecting = False
        self.moving = self.moving or word.stem in _MOVING
        self.choosing = self.choosing or word.stem in _CHOOSING
        if at == self.verb:
            self.adjunct = False

    def look_back(self, at: int, word: Word) -> None:
        """Say no to what stands before "is rejected" and to the subject of "is not used"."""
        if self.adjunct:
            return  # "public once names are removed" says no to no more than its names
        before = [w.raw for w in self.words[max(0, at - 4) : at]]
        rejected = word.stem in _REJECTED_AFTER or word.raw in grammar.REJECTED_PHRASES
        passive = not grammar.BE.isdisjoint(before[-1:] if before[-1:] != ["and"] else before)
        if rejected and (passive or (word.raw in grammar.REJECTED_PHRASES and before)) and not self.negated:
            self._turn(Part.SUBJECT)
            self._turn(Part.CORE)
        elif self.negated and word.stem in _ASSENTS and not grammar.BE.isdisjoint(before):
            self._turn(Part.SUBJECT)

    def take(self, at: int, word: Word) -> None:
        """Add a term."""
        before = self.words[at - 1].raw if at else ""
        rejects = word.stem in _REJECTED_BEFORE or (self.negated and word.stem in _LEAVING)
        if rejects and before not in grammar.BE:
            sign = not (self.negated and self.denial is Denial.PLAIN)
            self.negated, self.rejecting = self.negated and sign, sign  # "never skip" is a yes
            self.denial = Denial.PLAIN
            self.terms.append(
                Term(word, Part.CORE, sign=sign, verb=True, answers=answers().get(word.stem, ()))
            )
            return
        sign = self.adjunct or not (self.negated or self.rejecting) or self._joins(at)
        behind = self.verb is None or at >= self.verb
        following = self.words[at + 1].raw if at + 1 < len(self.words) else ""
        if not following or following in FILLERS:  # "unreleased version" names a kind of version
            word, sign = _bare(word, sign=sign)
        part = Part.ADJUNCT if self.adjunct else Part.CORE if behind else Part.SUBJECT
        known = word.raw in grammar.VERBS and before in _BEFORE_VERBS
        verb = at == self.verb or known or before in grammar.SURE_BEFORE_VERB
        denial = None if sign else self.denial
        given = _answers(word)
        if before in {"each", "every"} and word.stem in _UNITS:
            given += answers()["each_unit"]
        if word.proper and any(
            w.proper for w in self.words[max(0, at - 1) : at + 2] if w is not self.words[at]
        ):
            given = tuple(a for a in given if a.topic or not a.opposite)  # part of a name (Cloud Platform)
        self.terms.append(Term(word, part, sign=sign, verb=verb, answers=given, denial=denial))

    def _joins(self, at: int) -> bool:
        """Whether a verb stands beside the one that rejects: "deprecate and remove" says no to its object."""
        before = self.words[max(0, at - 2) : at]
        return (
            [word.raw for word in before[1:]] in (["and"], ["or"])
            and before[0].stem in _REJECTED_BEFORE
            and self.words[at].raw in grammar.VERBS
        )

    def _turn(self, part: Part) -> None:
        self.terms = [
            replace(t, sign=not t.sign, denial=self.denial if t.sign else None) if t.part is part else t
            for t in self.terms
        ]


def opens_condition(words: Sequence[Word], at: int) -> bool:
    """Whether a word opens a condition; "once" does but in "once a week"."""
    raw = words[at].raw
    if raw == "once":
        return at > 0 and at + 1 < len(words) and words[at + 1].raw not in grammar.ARTICLES
    return raw in grammar.CONDITIONS


def rejects(term: Term) -> bool:
    """Whether a term only says no to others."""
    return term.word.stem in _REJECTED_BEFORE | _REJECTED_AFTER or term.word.raw in grammar.REJECTED_PHRASES


def _bare(word: Word, *, sign: bool) -> tuple[Word, bool]:
    """Read `passwordless`, `uncompressed` and `nonblocking` as no to the word inside."""
    raw, inside = word.raw, ""
    if raw.endswith("less") and len(raw) > 8:
        inside = raw[:-4]
    elif raw.startswith("un") and raw.endswith("ed") and len(raw) > 7:
        inside = raw[2:]
    if not inside or answers().get(word.stem):
        return word, sign
    bare = stem(inside)
    return replace(word, stem=bare, concept=concepts().get((bare,), bare)), not sign


def _answers(word: Word) -> tuple[Answer, ...]:
    table = answers()
    return table.get(f"={word.raw}") or table.get(word.stem) or table.get(word.concept, ())


def verb_at(words: Sequence[Word]) -> int | None:
    """Return where the verb of a segment stands: a base form that opens it, else the first finite form."""
    finite = [at for at in range(1, len(words)) if _is_finite(words, at)]
    sure = [at for at in finite if words[at].stem not in _NOUNS_TOO]
    governs = len(words) > 1 and words[1].raw in grammar.ARTICLES  # "pay the plumber"
    noun = words[0].raw in grammar.NOUNS_TOO and not governs and (finite or _titled(words))
    if any(part in grammar.VERBS for part in words[0].raw.split()) and not noun:
        return 0
    return next(iter(sure or finite), None)


def _titled(words: Sequence[Word]) -> bool:
    """Whether every word behind the first that is no function word has a capital, as in a title."""
    telling = [word for word in words[1:] if word.raw not in FILLERS and word.raw[0].isalpha()]
    return len(telling) > 1 and words[0].raw != "use" and all(word.proper for word in telling)


def _is_finite(words: Sequence[Word], at: int) -> bool:
    """Whether a word can be a finite verb here: none follows an article, a preposition or a number."""
    raw, before = words[at].raw.split(" ")[0], words[at - 1].raw
    if before in grammar.ARTICLES or before in grammar.ADJUNCTS or before[0].isdigit():
        return False
    if (
        before in grammar.SURE_BEFORE_VERB
        and raw not in grammar.NEGATORS | grammar.AUXILIARIES
        and raw not in FILLERS
    ):
        return True
    if raw == ":" or raw in grammar.AUXILIARIES:
        return True
    if words[at].proper:
        return False  # a heading in title case, or a name
    if raw in grammar.VERBS:
        return at + 1 < len(words) or raw not in grammar.NOUNS_TOO
    past = raw.endswith("ed") and before in grammar.PERSONS
    finite = past or raw in grammar.IRREGULAR or (raw.endswith("s") and not raw.endswith("ings"))
    last = at + 1 == len(words) and not past and stem(raw) in _NOUNS_TOO
    return finite and stem(raw) in _VERBS and not last
