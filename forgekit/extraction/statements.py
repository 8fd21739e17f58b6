"""What a conversation states: decisions, threads and standing instructions, out of tagged words.

In: turns, and for each the words that a model tagged (the port `WordTagger`). Out: `Find`s, which another
`StatementReader` may as well find by itself.
A statement is a run of words of one family within a sentence, which is its quote. Words that give a reason
or name what was rejected go to the nearest decision; a decision in few words, such as "B then", takes its
title from the proposal that it takes up.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Protocol

from forgekit.archives.labels import field_named, lists_kind
from forgekit.extraction.sentences import Sentence, is_quoted, sentences
from forgekit.frozen import frozen, replace
from forgekit.model.entities import Proposal
from forgekit.model.problem import Problem
from forgekit.text.words import shared, words

DECISION = Proposal.DECISION
OPEN = Proposal.THREAD_OPEN

TAGS = ("none", "dec", "wd", "open", "done", "blk", "drop", "std", "con", "prop", "rej", "why")
"""What a word may belong to: nothing; a decision, or one withdrawn; an open question, its end, what it waits
for, what was given up; a standing instruction; a constraint; a proposal; what was rejected; a reason."""
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "decision": ("dec", "wd"),
    "thread": ("open", "done", "blk", "drop"),
    "instruction": ("std",),
    "constraint": ("con",),
    "proposal": ("prop",),
    "rejected": ("rej",),
    "reason": ("why",),
}
_PROPOSALS = {
    "dec": Proposal.DECISION,
    "wd": Proposal.DECISION,
    "open": Proposal.THREAD_OPEN,
    "done": Proposal.THREAD_RESOLVED,
    "blk": Proposal.THREAD_BLOCKED,
    "drop": Proposal.THREAD_ABANDONED,
    "std": Proposal.INSTRUCTION,
}
TAKES_BACK = "read as taking an earlier choice back"
_WHY = {
    "decision": "read as a decision",
    "thread": "read as the state of a thread",
    "instruction": "read as a standing instruction",
    "wd": TAKES_BACK,
}
SEEN = 0.3
"""The least share of a family for a word to belong to it."""
_GAP = 2
_LEAST_WORDS, _SHORT = 3, 8
_LASTING = ("decision", "instruction", "constraint")
_NAMES = ("proposal", "rejected", "reason")
_WHOLE = 0.6
"""A run over this share of a sentence's words is the whole sentence."""
FEW, _TELLING = 7, 2
"""Words, and words that say something, of a message that may only accept a proposal."""
TITLE = 200
_LONGEST_QUESTION = 150
"""Characters of questions that stay before a short answer in its title."""
_PLACEHOLDER = re.compile(
    r"\W*(?:none|n/?a|nothing|tbd|todo|\.{3}|\u2026|<[^>]*>|\[[^\]]*\]|\{[^}]*\})\W*", re.IGNORECASE
)
_OPEN = re.compile(
    r"(?:\W|\d|(?:the|our|remaining|other|still)\s)*(?:open|unresolved)\s(?:questions?|points?|issues?|threads?)",
    re.IGNORECASE,
)
"""Labels of lists of threads; an agent also lists tasks, files and issues that it fixed."""
_INLINE = re.compile(r"\W{0,6}(?P<label>[^\W\d_][^\n:*\uff1a]{2,30})\*{0,2}[:\uff1a]\*{0,2}\s+(?=\S)")
"""A label with its text on the same line."""
_LISTED = re.compile(r"[,;]\s+|\s*\n\s*")
_CLAUSE = re.compile(r"(?:[,:]+(?=[\s*_])|[;()\n\"\u2013\u2014\u201c\u201d\u201e\u00ab\u00bb])+\s*")
"""What parts the clauses of a sentence; `sentences` finds where a sentence ends."""
_ENDS = " \n*_.,;:!?\u2026"
_CLAUSE_END = re.compile(r"[`*_]*\s*(?:[.,;:!?)\n\"\u2013\u2014\u3002\u201c\u201d\u00bb]|$)")
_STOP = re.compile(r"[.!?]+\s|\n|\u3002")
_WIDENED = ("decision", "thread")
"""Families of which a candidate is its clause; an instruction must be one by itself."""
_CODE = re.compile(r"`[^`\n]+`")
_STRUCK = re.compile(r"~~[^~\n]+~~")
_LINE_LIMIT = 400
"""Characters before and behind a statement in which its line begins, and its code ends."""
_LEADING, _ENDING = 8, 3
"""Words between a statement and the ends of its clause that belong to it."""
_OPTION = re.compile(
    r"^\W{0,6}(?:[^\W\d_]{3,12} )?(?P<name>[A-Ha-h]|\d{1,2})[.):]\W{0,4}\s+(?P<text>\S[^\n]*)", re.MULTILINE
)
_NAME = re.compile(r"(?<![\w'])(?:[A-Ha-h]|\d{1,2})(?![\w'])")


@frozen(kw_only=True)
class Find:
    """A candidate, with its place.

    Attributes:
        turn: number of the turn; 0 before it is known.
        start: index of its first character in that turn's text.
        end: index after its last one.
        text: the turn's text between the two, verbatim.
        title: one clean line.
        rationale: the reason, "" if none is given.
        alternatives: what was not chosen.
        explicit_id: `D001` or `T001`, where the text gives it one.
        confidence: 0 to 1; 1 for explicit records only.
        why: what found it.
    """

    kind: Proposal
    turn: int = 0
    start: int
    end: int
    text: str
    title: str
    rationale: str = ""
    alternatives: tuple[str, ...] = ()
    explicit_id: str = ""
    confidence: float
    why: str


@frozen()
class Words:
    """The words of one turn as they were tagged.

    Attributes:
        places: first and last character of each token.
        sentences: for each token the number of its sentence.
        shares: for each token the probability of each of `TAGS`.
    """

    places: Sequence[tuple[int, int]]
    sentences: Sequence[int]
    shares: Sequence[Sequence[float]]


class StatementReader(Protocol):
    """Finds what a conversation states."""

    def statements(self, turns: Sequence[tuple[bool, str]]) -> Iterable[tuple[int, Find]]:
        """Return (number of the turn from 0, find) of turns, each (by a person, text)."""

    def lasting(self, turns: Sequence[tuple[bool, str]]) -> Iterable[tuple[int, str, str]]:
        """Return (number of the turn, family, words) of decisions, withdrawals, instructions, constraints."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read since the reader was made."""


class WordTagger(Protocol):
    """Tags the words of conversations; the result follows from the conversation alone."""

    def runs(self, turns: Sequence[tuple[bool, str]]) -> Sequence[Run]:
        """Return the runs of turns, given as (by a person, text), in order."""

    def probability(self, family: str, share: float) -> float:
        """Return how likely a run whose greatest share this is states what its family says."""

    def least(self, family: str) -> float:
        """Return the least probability of a candidate of a family."""


@frozen()
class Run:
    """A stretch of words of one family within a turn."""

    turn: int
    start: int
    end: int
    family: str
    tag: str
    share: float


def find(
    kind: Proposal, start: int, text: str, why: str, *, rationale: str = "", confidence: float = 0.8
) -> Find:
    """Return a find whose title is its text."""
    return Find(
        kind=kind,
        start=start,
        end=start + len(text),
        text=text,
        title=title_of(text),
        rationale=rationale,
        confidence=confidence,
        why=why,
    )


def labelled(text: str) -> Iterator[Find]:
    """Yield what is behind `Decision:`, and the items below `Decisions made:` or `Open questions:`.

    A sentence `Reason: ...` or `Alternatives: ...` that follows belongs to the decision.
    """
    last: Find | None = None
    for one in _labelled(text):
        if isinstance(one, Find):
            yield from (last,) if last is not None else ()
            last = one
        elif last is not None and not text[last.end : one.start].strip():
            name, words = one.field
            if name == "rationale":
                last = replace(last, rationale=" ".join(words.split()).rstrip("."))
            else:
                rejected = (each.strip(" .") for each in _LISTED.split(words))
                last = replace(last, alternatives=tuple(dict.fromkeys(filter(None, rejected))))
            last = replace(last, end=one.end, text=text[last.start : one.end])
    yield from (last,) if last is not None else ()


@frozen()
class _Beside:
    """A sentence behind the name of a field of decisions: place, name and words."""

    start: int
    end: int
    field: tuple[str, str]


def _labelled(text: str) -> Iterator[Find | _Beside]:
    for each in sentences(text):
        inline = _INLINE.match(each.text)
        name = field_named(inline["label"], "D") if inline and each.first else None
        start, end = each.start + (inline.end() if inline else 0), each.start + len(each.text)
        words = text[start:end]
        if inline and name in {"rationale", "alternatives"}:
            if not _PLACEHOLDER.fullmatch(words):
                yield _Beside(each.start, end, (str(name), words))
            continue
        own = each.text[inline.end() :] if inline and each.first and lists_kind(inline["label"], "D") else ""
        if len(own.split()) >= _LEAST_WORDS and not each.asks and not _PLACEHOLDER.fullmatch(words):
            yield find(DECISION, start, words, "labelled as a decision")
            continue
        kind = DECISION if lists_kind(each.label, "D") else OPEN if _OPEN.fullmatch(each.label) else None
        if kind is not None and _is_item(each) and not (each.asks and kind is DECISION):
            yield find(kind, each.start, text[each.start : end], "an item below a label of its kind")


def _is_item(sentence: Sentence) -> bool:
    listed = sentence.first and sentence.item and len(sentence.text.split()) > 1
    return listed and not _PLACEHOLDER.fullmatch(sentence.text)


def statements(turns: Sequence[tuple[bool, str]], tagger: WordTagger) -> Iterator[tuple[int, Find]]:
    """Yield what turns state, as (number of the turn from 0, find), in order.

    Args:
        turns: each (by a person, text).
    """
    runs = _runs(turns, tagger)
    beside = _beside(runs, turns)
    for run in runs:
        kind = _PROPOSALS.get(run.tag)
        confidence = tagger.probability(run.family, run.share)
        if kind is None or confidence < tagger.least(run.family):
            continue
        text = turns[run.turn][1]
        if is_quoted(text, run.start, run.end):
            continue
        why = _WHY.get(run.tag, _WHY[run.family])
        found = find(kind, run.start, text[run.start : run.end], why, confidence=confidence)
        found = _completed(found, run, beside[run], turns) if kind is DECISION else found
        first, last = _sentence(text, run.start) if run.family in _WIDENED else (run.start, run.end)
        start, end = min(first, run.start), max(last, run.end)
        yield run.turn, replace(found, start=start, end=end, text=text[start:end])


def lasting(turns: Sequence[tuple[bool, str]], tagger: WordTagger) -> Iterator[tuple[int, str, str]]:
    """Yield the decisions, standing instructions and constraints of turns, as `StatementReader.lasting`."""
    for run in _runs(turns, tagger):
        text = turns[run.turn][1]
        sure = run.family in _LASTING and tagger.probability(run.family, run.share) >= tagger.least(
            run.family
        )
        if sure and not is_quoted(text, run.start, run.end):
            yield run.turn, "withdrawal" if run.tag == "wd" else run.family, text[run.start : run.end]


def _runs(turns: Sequence[tuple[bool, str]], tagger: WordTagger) -> list[Run]:
    """Return the runs, each with its clause; those of one family that share words are one.

    So are instructions between which there is a semicolon: the second may hold under the first alone.
    """
    found: list[Run] = []
    last: dict[tuple[int, str], int] = {}
    for each in tagger.runs(turns):
        text = turns[each.turn][1]
        run = _of_words(each, text)
        if not re.search(r"\w", text[run.start : run.end]):
            continue
        number = last.setdefault((run.turn, run.family), len(found))
        joined = number < len(found) and (
            run.start < found[number].end
            if run.family in _WIDENED
            else run.family == "instruction" and text[found[number].end : run.start].strip() == ";"
        )
        if joined:
            surer = max(found[number], run, key=lambda one: one.share)
            start, end = min(found[number].start, run.start), max(found[number].end, run.end)
            found[number] = replace(surer, start=start, end=end)
        else:
            last[run.turn, run.family] = len(found)
            found.append(run)
    return found


def _of_words(run: Run, text: str, *, widened: bool = False) -> Run:
    """Return a run of whole words; a decision or thread has the near ends of its clause, such as a `not`.

    What a clause that ends in a colon announces is behind it: all of it belongs to the run. Code between
    backquotes is one word.
    """
    start, end = run.start, run.end
    while 0 < start < len(text) and _is_word(text[start - 1]) and _is_word(text[start]):
        start -= 1
    while 0 < end < len(text) and _is_word(text[end - 1]) and _is_word(text[end]):
        end += 1
    if widened or run.family in _WIDENED:
        first, last = _sentence(text, start)
        last = first + len(text[first:last].rstrip(_ENDS))
        begun = max((m.end() for m in _CLAUSE.finditer(text, first, start)), default=first)
        start = begun if len(text[begun:start].split()) <= _LEADING else start
        bare = start + len(text[start:end].rstrip(_ENDS))
        following = _CLAUSE.search(text, bare, last)
        ended = following.start() if following else last
        if len(text[bare:ended].split()) <= _ENDING:
            end = max(end, last if following and ":" in following.group() else ended)
    line = text.rfind("\n", max(start - _LINE_LIMIT, 0), start) + 1
    for code in _CODE.finditer(text, line, end + _LINE_LIMIT) if start - line <= _LINE_LIMIT else ():
        start = code.start() if code.start() < start < code.end() else start
        end = code.end() if code.start() < end < code.end() else end
    return replace(run, start=start, end=end)


def _sentence(text: str, at: int) -> tuple[int, int]:
    """Return the place of the sentence around a character, without the white space around it."""
    places = _places(text)
    number = bisect_right(places, (at, len(text))) - 1
    first, last = places[number] if number >= 0 and at < places[number][1] else (0, len(text))
    inside = text[first:last]
    return last - len(inside.lstrip()), first + len(inside.rstrip())


@lru_cache(maxsize=2)
def _places(text: str) -> Sequence[tuple[int, int]]:
    """Return the places of the sentences of a text; those of one text are asked for in a row."""
    return tuple((each.start, each.start + len(each.text)) for each in sentences(text))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def runs_in(turns: Iterable[Words]) -> list[Run]:
    """Return the runs of the tagged words of each turn."""
    return [run for turn, words in enumerate(turns) for run in runs_of(turn, words)]


def runs_of(turn: int, words: Words) -> Iterator[Run]:
    """Yield the stretches of words of one family, each within a sentence."""
    begins = [n for n, (a, b) in enumerate(pairwise([-1, *words.sentences])) if a != b]
    found: list[Run] = []
    for first, last in pairwise([*begins, len(words.sentences)]):
        for family, tags in FAMILIES.items():
            columns = [TAGS.index(tag) for tag in tags]
            shares = [sum(words.shares[n][c] for c in columns) for n in range(first, last)]
            found += _of_sentence(turn, words, first, family, shares)
    yield from sorted(found, key=lambda run: run.start)


def _of_sentence(turn: int, words: Words, first: int, family: str, shares: Sequence[float]) -> Iterator[Run]:
    """Yield the runs of a family in a sentence; one over most of it is the whole sentence."""
    seen = [n for n, share in enumerate(shares) if share >= SEEN]
    groups: list[list[int]] = []
    for n in seen:
        if groups and n - groups[-1][-1] <= _GAP + 1:
            groups[-1].append(n)
        else:
            groups.append([n])
    if len(seen) >= _WHOLE * len(shares):
        groups = [[0, *seen, len(shares) - 1]]
    for group in groups:
        few = group[-1] - group[0] + 1 < _LEAST_WORDS and len(shares) > _SHORT
        if few and family not in _NAMES:
            continue  # a word or two of a long sentence state nothing
        inside = range(group[0], group[-1] + 1)
        tags = FAMILIES[family]
        totals = {tag: sum(words.shares[first + n][TAGS.index(tag)] for n in inside) for tag in tags}
        yield Run(
            turn=turn,
            start=words.places[first + group[0]][0],
            end=words.places[first + group[-1]][1],
            family=family,
            tag=max(tags, key=lambda tag: totals[tag]),
            share=max(shares[n] for n in inside),
        )


def _beside(runs: Sequence[Run], turns: Sequence[tuple[bool, str]]) -> Mapping[Run, Sequence[Run]]:
    """Return the reasons, rejections and proposals of each decision.

    A reason goes to the statement that it is in or next to, and to none where that is no decision; a
    rejection to the nearest decision of its turn, without one to the first decision of the next turn; a
    proposal to every decision of the next turn.
    """
    stated: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        stated[run.turn] += [] if run.family in _NAMES else [run]
    decisions = {turn: [run for run in some if run.family == "decision"] for turn, some in stated.items()}
    found: dict[Run, list[Run]] = defaultdict(list)
    for run in runs:
        own, after = decisions.get(run.turn, []), decisions.get(run.turn + 1, [])
        if run.family == "proposal":
            for each in after:
                found[each].append(run)
        elif run.family == "reason" and own:
            near = _nearest(stated[run.turn], run)
            reason = _reason(run, near, turns[run.turn][1]) if near.family == "decision" else None
            found[near] += [reason] if reason is not None else []
        elif run.family == "rejected" and (own or after):
            found[_nearest(own, run) if own else after[0]].append(run)
    return found


def _nearest(runs: Sequence[Run], to: Run) -> Run:
    """Return the run of a turn with the fewest characters between it and another."""
    return min(runs, key=lambda each: max(each.start - to.end, to.start - each.end, 0))


def _reason(run: Run, of: Run, text: str) -> Run | None:
    """Return a reason as a whole clause, if it is one and is in or next to its decision's sentence."""
    run = replace(run, end=run.start + len(text[run.start : run.end].rstrip(" .,;:!?")))
    wide = _of_words(run, text, widened=True)
    start = run.start if wide.start <= of.start < run.start else wide.start
    between = _STOP.split(text[min(of.end, wide.end) : max(of.start, start)])
    beside = between[-1] if start >= of.end else between[0]
    near = len(between) == 1 or (len(between) == 2 and not re.search(r"\w", beside))
    around = start <= of.start and of.end <= wide.end
    whole = _ends_clause(text, wide.end) and len(text[start : wide.end].split()) >= _LEAST_WORDS
    return replace(wide, start=start) if near and whole and not around else None


def _ends_clause(text: str, end: int) -> bool:
    """Say whether a clause of a text ends there."""
    return _CLAUSE_END.match(text, end) is not None


def _completed(found: Find, run: Run, beside: Sequence[Run], turns: Sequence[tuple[bool, str]]) -> Find:
    """Return a decision with its reason, what it rejects, and the words of the proposal that it takes up."""

    def texts(family: str) -> list[str]:
        stretches = (turns[each.turn][1][each.start : each.end] for each in beside if each.family == family)
        return [" ".join(text.split()).strip(" .,;:*") for text in stretches]

    by_user, text = turns[run.turn]
    title, why = "", found.why
    for each in beside:  # a statement that ends in "because" goes on with its reason
        inside = run.start < each.start and run.end < each.end <= _sentence(text, run.start)[1]
        if each.family == "reason" and inside and not re.search(r"\w", text[run.end : each.start]):
            found = replace(found, title=title_of(text[run.start : each.end]))
    before = turns[run.turn - 1][1] if run.turn else ""
    if by_user and run.turn and not turns[run.turn - 1][0]:
        offer = ""
        for each in beside:  # the nearest one that is whole
            words_offered = before[each.start : each.end] if each.family == "proposal" else ""
            if len(words_offered.split()) >= _LEAST_WORDS and _ends_clause(before, each.end):
                offer = words_offered
        title = _option(found.text, before) if len(found.text.split()) <= FEW else ""
        if offer and not title:
            title = offer if _only_accepts(text, before.replace(offer, "")) else ""
            why = found.why if title else f"{found.why}; offered before: {title_of(offer)}"
    first, last = _sentence(text, run.start)
    answers = by_user and not title and not text[:first].strip() and len(text[first:last].split()) <= FEW
    if answers and (asked := _asked(before)):
        title = f"{asked} {found.title}"
    return replace(
        found,
        title=title_of(title) if title and title not in found.text else found.title,
        why=why,
        rationale=" ".join(texts("reason"))[:300],
        alternatives=tuple(dict.fromkeys(each for each in texts("rejected") if len(each) > 1)),
    )


def _only_accepts(text: str, others: str) -> bool:
    """Say whether a message is a few words which name nothing: no number, and no word of the other texts."""
    own = words(text)
    return (
        len(text.split()) <= FEW
        and len(own) <= _TELLING
        and not any(map(str.isdigit, text))
        and not shared(text, others)
    )


def _asked(before: str) -> str:
    """Return the questions that a turn ends with, in one line; "" where there are none, or long ones."""
    tail = before[-_LINE_LIMIT:]
    asked = [*takewhile(lambda each: each.asks, reversed([*sentences(tail)]))]
    if not asked or re.search(r"\w", tail[asked[0].start + len(asked[0].text) :]):
        return ""
    line = " ".join(tail[asked[-1].start :].replace("**", "").split())
    return line if len(line) <= _LONGEST_QUESTION else ""


def _option(text: str, before: str) -> str:
    """Return the lettered or numbered option of a message that a few words name: `B`, `2 please`."""
    options = {match["name"].casefold(): match["text"] for match in _OPTION.finditer(before[-8_000:])}
    names = [name.casefold() for name in _NAME.findall(text)]
    return options.get(names[0], "") if len(options) > 1 and len(names) == 1 else ""


def title_of(text: str) -> str:
    """Return a title: one line, no emphasis and no struck text, first letter upper case, cut at a word."""
    plain = _STRUCK.sub("", text).replace("**", "").replace("__", "")
    line = " ".join(plain.split()).strip(" .,;:-\u2013\u2014*")
    if line.endswith(")") and "(" not in line:
        line = line[:-1]
    if len(line) > TITLE:
        line = line[: TITLE - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "\u2026"
    return line[:1].upper() + line[1:]
