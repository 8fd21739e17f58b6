"""What a heading or a lead-in says of the records below it: `## Resolved Questions`, `**Open threads:**`.

Words are matched, not names: a word of a state beside a noun, or a label that begins with it. Where words
of two states meet (`Open Questions Resolved By Later Work`) the label says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from forgekit.model.decision import DecisionStatus
from forgekit.model.thread import ThreadStatus
from forgekit.text.archive.lines import LINE_LIMIT, Document, fold
from forgekit.text.archive.records import record_start

_LEAD_IN = re.compile(r"\s{0,8}(?P<bullet>[-*+]\s+)?(?:\*\*|__)(?P<label>[^*_]{1,120}?):?(?:\*\*|__):?\s*$")
_PLAIN_LEAD_IN = re.compile(r"(?P<label>[A-Za-z][A-Za-z ()/&,-]{2,80}):\s*$")
_NOUNS = {
    "T": r"(?:thread|question|issue|item|topic|task|point|problem|matter)s?",
    "D": r"(?:decision|choice)s?",
}


def _table(*rows: tuple[Enum, str]) -> dict[str, Enum]:
    return {word: value for value, words in rows for word in words.split()}


_STATES: Mapping[str, Mapping[str, Enum]] = {
    "T": _table(
        (ThreadStatus.OPEN, "open active pending unresolved outstanding remaining ongoing unanswered"),
        (ThreadStatus.OPEN, "blocked paused deferred reopened"),
        (ThreadStatus.RESOLVED, "resolved closed completed answered done settled fixed solved"),
        (ThreadStatus.SUPERSEDED, "superseded"),
        (ThreadStatus.ABANDONED, "abandoned dropped cancelled canceled"),
    ),
    "D": _table(
        (DecisionStatus.ACTIVE, "active current standing accepted confirmed"),
        (DecisionStatus.SUPERSEDED, "superseded replaced"),
        (DecisionStatus.INVALIDATED, "invalidated withdrawn retracted deprecated"),
    ),
}
_NOT_YET = re.compile(r"\b(?:to be|not|never|yet)\b")
_IN_PART = re.compile(r"\b(?:partially|partly|half|nearly|almost|mostly)\b")
_BETWEEN = r"(?:that |which |are |is |were |was |been |have |has |now |already |all |still |recently )*"
_BEHIND = r"(?: (?:in|this|since|during|now|by|at|on|from|as|so|with|today|here|earlier|before)\b.*)?"


def status_of(label: str, kind: str) -> Enum | None:
    """Return the status that a label gives to the records of a kind (D or T) below it, or None."""
    if "?" in label:
        return None
    return _said(fold(label), kind) or _said(_words(label), kind)


def _said(words: str, kind: str) -> Enum | None:
    found = {_STATES[kind][word] for word in words.split() if word in _STATES[kind]}
    if len(found) != 1 or _IN_PART.search(words):
        return None
    if _NOT_YET.search(words):
        return ThreadStatus.OPEN if kind == "T" else None
    state, noun = f"(?:{'|'.join(_STATES[kind])})", _NOUNS[kind]
    beside = rf"\b{state} (?:(?:and|or) \w+ )?{noun}\b|\b{noun} {_BETWEEN}{state}\b|^{state}{_BEHIND}$"
    return found.pop() if re.search(beside, words) else None


def _words(label: str) -> str:
    return " ".join(re.findall(r"[a-z]+", label[:200].casefold()))


def announces(label: str) -> bool:
    """Say whether a label names decisions or threads."""
    words = _words(label)
    return any(re.search(rf"\b{noun}\b", words) for noun in _NOUNS.values())


def labels(document: Document, own: Sequence[bool], taken: Collection[int]) -> Iterator[tuple[int, int, str]]:
    """Yield first line, last line and words of what stands above lines: headings, then lead-ins.

    Args:
        document: the text.
        own: for each line (0-based) whether it speaks for the archive itself.
        taken: lines of records; a lead-in among them must name what it announces.
    """
    headings = set()
    for section in document.sections:
        if record_start(document.lines[section.heading_line - 1]) is None:
            headings.add(section.heading_line)
            yield section.first_line, section.last_line, section.title
    opened: tuple[int, str] | None = None
    for number, line in enumerate(document.lines, 1):
        label = _lead_in(line, taken=number in taken) if own[number - 1] else None
        if label is None and number not in headings:
            continue
        if opened is not None:
            yield opened[0], number - 1, opened[1]
        opened = (number + 1, label) if label is not None else None
    if opened is not None:
        yield opened[0], len(document.lines), opened[1]


def _lead_in(line: str, *, taken: bool) -> str | None:
    """Return the words of a lead-in; one that says nothing counts in bold only, and outside of records."""
    bold = _LEAD_IN.match(line) if len(line) <= LINE_LIMIT else None
    match = bold or _PLAIN_LEAD_IN.match(line)
    if match is None or (bold and record_start(line)):
        return None
    if bold and not taken and not bold["bullet"]:
        return bold["label"]
    kinds = [kind for kind in _NOUNS if status_of(match["label"], kind)]
    sure = bold and not taken
    named = any(sure or re.search(rf"\b{_NOUNS[kind]}\b", _words(match["label"])) for kind in kinds)
    return match["label"] if named else None


def said_by_line(lines: int, spans: Iterable[tuple[int, int, str]], kind: str) -> list[Enum | None]:
    """Return for each line (0-based) the status that the nearest label which says one gives to a kind.

    Args:
        lines: how many there are.
        spans: as `labels` yields them.
        kind: D or T.
    """
    said: list[Enum | None] = [None] * lines
    for first, last, label in spans:
        if (status := status_of(label, kind)) is not None:
            said[first - 1 : last] = [status] * (min(last, lines) - first + 1)
    return said
