"""Explicit records in a message: `D001: Use X`, `| T002 | Choose ids | RESOLVED |`, wherever they stand.

They are read from pasted archives and tables too, for there they are records all the same. A decision that
is said to be superseded, rejected or only proposed is no decision in force, and a template is none at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from forgekit.archives.formats.records import annotated
from forgekit.extraction.find import FindKind
from forgekit.extraction.sentences import own_lines


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A record, with its place in the message."""

    kind: FindKind
    start: int
    end: int
    id: str


_ID = re.compile(
    r"(?<![\w.#/-])\**(?P<id>[DT]\d{3,4})\b(?![-.]\w)\**(?P<sep> ?: ?| ?[\u2014\u2013=|] ?| - |\)\s|\s)\**\s?"
)
_ANY_ID = re.compile(r"\b[DT]\d{3,4}\b")
_ROW_ID = re.compile(r"\**([DT]\d{3,4})\**(?:: ?(?=\S))?")
_STATE = re.compile(
    r"[ ,;\u2014\u2013-]*[(\[]?\b(?P<state>open|resolved|closed|done|blocked|abandoned|dropped|active"
    r"|superseded|deprecated|rejected|withdrawn|proposed|draft|retired|reversed|settled|in progress"
    r"|pending)\b[)\]]?(?P<by>(?: (?:by|in|on|until|with) [^,;|]{1,60})?)(?: ?\(?[\d.]{3,4}\)?)?[ .)]*\Z",
    re.IGNORECASE,
)
_TIER = re.compile(
    r"[ ,;]*[(\[](?:tier |confidence )?(?:[01](?:\.\d+)?|\d{1,3} ?%)[)\]][ .,]*\Z|[ ,]*tier [01]\.\d+\Z",
    re.IGNORECASE,
)
_NOT_IN_FORCE = frozenset(
    (
        "superseded",
        "deprecated",
        "rejected",
        "withdrawn",
        "proposed",
        "draft",
        "retired",
        "reversed",
        "revised",
        "replaced",
    )
)
_PLACEHOLDER = re.compile(
    r"\W*(?:<.*>|\[.*\]|\{.*\}|\.{2,}.*|\u2026.*|(?:the |your |a |my |some )?(?:decision|thread)(?: (?:text"
    r"|title|here|goes here|one|two|a|b|\d+|description|statement|name|summary))*|tbd|todo|xxx+|n/?a|title"
    r"|text|\?+|lorem ipsum.*|foo|bar|example.*)\W*",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"\b(?:decisions?|threads?|inherited|registry|archive|carried|open|resolved|entscheidungen)\b",
    re.IGNORECASE,
)
_SPEAKS_OF = re.compile(
    r"(?:is|are|was|were|has|have|had|and|or|in|on|of|the|says|said|from|to|with|still|stays|remains|should"
    r"|must|can|will|would|as|which|that|needs|conflicts|contradicts|supersedes|replaces|depends|blocks"
    r"|applies|again|please|instead|for|vs|but|if|not)\b",
    re.IGNORECASE,
)
_STATE_CELL = re.compile(
    r"(?:open|resolved|closed|done|settled|blocked|abandoned|dropped|active|superseded|deprecated|rejected"
    r"|withdrawn|proposed|draft|retired|reversed)(?=$| by | in | on | until | with |[ ,;:(])"
)
_STATES = {
    **dict.fromkeys(
        ("resolved", "closed", "done", "settled", "complete", "completed", "answered", "fixed"),
        FindKind.THREAD_RESOLVED,
    ),
    "blocked": FindKind.THREAD_BLOCKED,
    **dict.fromkeys(("abandoned", "dropped", "cancelled", "canceled", "wontfix"), FindKind.THREAD_ABANDONED),
}
LONGEST = 400
MOST = 500
MOST_CELLS = 40


def records(message: str) -> Iterator[Record]:
    """Yield the records of a message, in order, at most `MOST`."""
    several = len(set(_ANY_ID.findall(message))) > 1
    if not several and not _ANY_ID.search(message):
        return
    count = 0
    for start, line in own_lines(message):
        if "D" not in line and "T" not in line:
            continue
        found = _row(start, line) if line.lstrip().startswith("|") else _line(start, line, several=several)
        for one in found:
            yield one
            count += 1
            if count >= MOST:
                return


def _row(start: int, line: str) -> Iterator[Record]:
    """Read a table row: an id and its text in the next cell, or `D008: text` in a cell of its own."""
    cells: list[tuple[int, str]] = []
    place = start
    for cell in line.split("|", MOST_CELLS)[:MOST_CELLS]:
        cells.append((place + len(cell) - len(cell.lstrip()), cell.strip()))
        place += len(cell) + 1
    states = [_state(cell) for _, cell in cells]
    for number, (place, cell) in enumerate(cells):
        match = _ROW_ID.match(cell)
        if match is None:
            continue
        if match.end() < len(cell):
            if ":" in match.group():
                yield from _record(match[1], place + match.end(), cell[match.end() :], "")
        elif number + 1 < len(cells):
            state = next(filter(None, states[number + 2 :]), "")
            yield from _record(match[1], *cells[number + 1], state)


def _state(cell: str) -> str:
    """Return the state that a cell begins with, "" if it is none."""
    match = _STATE_CELL.match(cell.casefold().strip("*_ `"))
    return match.group() if match else ""


def _line(start: int, line: str, *, several: bool) -> Iterator[Record]:
    """Read `- D002 \u2014 text`, and `Inherited: D001 text (0.9), D002 text.`."""
    marks = [match for match in _ID.finditer(line) if not _SPEAKS_OF.match(line, match.end())]
    if not marks:
        return
    head = line[: marks[0].start()].strip(" \t-*+\u2022#0123456789.)([|")
    leads = not head
    listed = bool(_CONTEXT.search(head))
    for number, match in enumerate(marks):
        plain = match["sep"].isspace()
        if number == 0 and not (leads or listed):
            continue
        if (
            number > 0
            and not listed
            and line[max(0, match.start() - 4) : match.start()].rstrip()[-1:] not in {",", ";", "."}
        ):
            continue
        if plain and not listed and match["id"][1] != "0":
            continue
        if match["id"][1] != "0" and not several and not listed:
            continue
        if plain and not (several or listed):
            continue
        stop = marks[number + 1].start() if number + 1 < len(marks) else len(line)
        text = line[match.end() : stop]
        if stop < len(line) or listed:
            text = re.split(r"(?<=[\w)\]])\. (?=[A-Z])|;", text, maxsplit=1)[0]
        yield from _record(match["id"], start + match.end(), text, "")


def _record(number: str, place: int, text: str, state: str) -> Iterator[Record]:
    text = text[:LONGEST]
    text = text.rstrip(" \t,;.|*")
    title, fields = annotated(text, number[0])
    text, place = title, place + text.find(title)
    if not state:
        state = "blocked" if "blocked by" in fields else fields.get("status", "").split(" ")[0].casefold()
    if not state and (match := _STATE.search(text)) and match.start() > 0:
        state = match["state"].casefold()
        text = text[: match.start()].rstrip(" ,;:\u2014\u2013-*")
    if match := _TIER.search(text):
        text = text[: match.start()]
    skip = len(text) - len(text.lstrip(" *"))
    text, place = text.strip(" *"), place + skip
    if len(text) < 3 or _PLACEHOLDER.fullmatch(text) or "~~" in text:
        return
    if number.startswith("D"):
        if state not in _NOT_IN_FORCE:
            yield Record(kind=FindKind.DECISION, start=place, end=place + len(text), id=number)
        return
    kind = _STATES.get(state, FindKind.THREAD_OPEN)
    yield Record(kind=kind, start=place, end=place + len(text), id=number)


_HEADS = {
    "decision": FindKind.DECISION,
    "decision made": FindKind.DECISION,
    "decided": FindKind.DECISION,
    "design decision": FindKind.DECISION,
    "open question": FindKind.THREAD_OPEN,
    "open point": FindKind.THREAD_OPEN,
    "open issue": FindKind.THREAD_OPEN,
}
_REASONS = frozenset(("rationale", "reason", "why", "reasoning", "justification", "because"))
_RULE = re.compile(r"[\s|:-]+")
_EMPTY = re.compile(
    r"\W*+(?:(?:tbd|n/?a|none)\W*+|[DT]\d{3,4}\b.*)?|[^\w<]*+<.*>[^\w>]*+|[^\w\[]*+\[.*\][^\w\]]*+"
    r"|[^\w{]*+\{.*\}[^\w}]*+",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row, with the place of its first cell in the message."""

    kind: FindKind
    start: int
    end: int
    rationale: str


def rows(message: str) -> Iterator[Row]:
    """Yield the rows of such tables, in order."""
    if "|" not in message:
        return
    kind: FindKind | None = None
    why = 0
    inside = False
    expected = -1
    for start, line in own_lines(message):
        if not line.lstrip().startswith("|"):
            inside = False
            continue
        cells = _cells(start, line)
        if not inside or start != expected:
            heads = [text.casefold().strip("*_ ") for _, text in cells]
            kind = _HEADS.get(heads[0]) if heads else None
            why = next((number for number, head in enumerate(heads) if head in _REASONS), 0)
        elif kind is not None and cells and not _RULE.fullmatch(line) and not _EMPTY.fullmatch(cells[0][1]):
            place, text = cells[0]
            reason = cells[why][1] if 0 < why < len(cells) else ""
            yield Row(kind=kind, start=place, end=place + len(text), rationale=reason)
        inside = True
        expected = start + len(line) + 1


def _cells(start: int, line: str) -> list[tuple[int, str]]:
    place = start + line.index("|") + 1
    cells: list[tuple[int, str]] = []
    for cell in line.strip()[1:].removesuffix("|").split("|", MOST_CELLS):
        cells.append((place + len(cell) - len(cell.lstrip()), cell.strip()))
        place += len(cell) + 1
    return cells
