"""Explicit records in a message: `D001: Use X`, `| T002 | Choose ids | RESOLVED |`, and tables of decisions.

They are read from pasted archives and tables too. A decision that is superseded, rejected or only proposed is
left out, and so is a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from forgekit.archives.notes import annotated
from forgekit.extraction.sentences import own_lines
from forgekit.extraction.statements import Find, find
from forgekit.model.entities import Proposal

_ID = re.compile(
    r"(?<![\w.#/-])\**(?P<id>[DT]\d{3,4})\b(?![-.]\w)\**(?P<sep> ?: ?| ?[\u2014\u2013=|] ?| - |\)\s|\s)\**\s?"
)
_ANY_ID = re.compile(r"\b[DT]\d{3,4}\b")
_CELL_ID = re.compile(r"\**([DT]\d{3,4})\**(?:: ?(?=\S))?")
_STATE_WORDS = (
    r"open|resolved|closed|done|settled|blocked|abandoned|dropped|active|superseded|deprecated|rejected"
    r"|withdrawn|proposed|draft|retired|reversed|in progress|pending"
)
_STATE = re.compile(
    rf"[ ,;\u2014\u2013-]*[(\[]?\b(?P<state>{_STATE_WORDS})\b[)\]]?"
    r"(?: (?:by|in|on|until|with) [^,;|]{1,60})?(?: ?\(?[\d.]{3,4}\)?)?[ .)]*\Z",
    re.IGNORECASE,
)
_STATE_CELL = re.compile(rf"(?:{_STATE_WORDS})(?=$| by | in | on | until | with |[ ,;:(])")
_TIER = re.compile(
    r"[ ,;]*[(\[](?:tier |confidence )?(?:[01](?:\.\d+)?|\d{1,3} ?%)[)\]][ .,]*\Z|[ ,]*tier [01]\.\d+\Z",
    re.IGNORECASE,
)
_INACTIVE = {
    *("superseded", "deprecated", "rejected", "withdrawn", "proposed"),
    *("draft", "retired", "reversed", "revised"),
}
_THREAD_STATES = {
    **dict.fromkeys(("resolved", "closed", "done", "settled", "answered", "fixed"), Proposal.THREAD_RESOLVED),
    "blocked": Proposal.THREAD_BLOCKED,
    **dict.fromkeys(("abandoned", "dropped"), Proposal.THREAD_ABANDONED),
}
_PLACEHOLDER = re.compile(
    r"\W*(?:<.*>|\[.*\]|\{.*\}|\.{2,}.*|\u2026.*|tbd|todo|xxx+|n/?a|none|title|text|\?+|foo|bar|example.*"
    r"|(?:(?:the|your|a|my) )?(?:decision|thread)(?: (?:text|title|here|one|two|\d+|description|statement"
    r"|name|summary))*)\W*",
    re.IGNORECASE,
)
_EMPTY = re.compile(rf"\W*(?:[DT]\d{{3,4}}\b.*)?|{_PLACEHOLDER.pattern}", re.IGNORECASE)
_CONTEXT = re.compile(
    r"\b(?:decisions?|threads?|inherited|registry|archive|carried|open|resolved|entscheidungen)\b",
    re.IGNORECASE,
)
_MENTION = re.compile(
    r"(?:is|are|was|were|has|have|had|and|or|in|on|of|the|says|said|from|to|with|still|stays|remains|should"
    r"|must|can|will|would|as|which|that|needs|conflicts|contradicts|supersedes|replaces|depends|blocks"
    r"|applies|again|please|instead|for|vs|but|if|not)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[^.!?]+\?")
_HEADS = {
    **dict.fromkeys(("decision", "decision made", "decided", "design decision"), Proposal.DECISION),
    **dict.fromkeys(("open question", "open point", "open issue"), Proposal.THREAD_OPEN),
}
_REASONS = {"rationale", "reason", "why", "reasoning", "justification", "because"}
LONGEST = 400
MOST = 500
MOST_CELLS = 40

Cells = list[tuple[int, str]]


def records(message: str) -> Iterator[Find]:
    """Yield the records of a message that have an id, in order, at most `MOST`."""
    return islice(_records(message), MOST)


def _records(message: str) -> Iterator[Find]:
    ids = set(_ANY_ID.findall(message))
    for start, line in own_lines(message) if ids else ():
        if line.lstrip().startswith("|"):
            yield from _row(_cells(start, line))
        elif _ANY_ID.search(line):
            yield from _line(start, line, several=len(ids) > 1)


def rows(message: str) -> Iterator[Find]:
    """Yield the rows of tables whose first column is headed `Decision` or `Open question`, in order."""
    kind: Proposal | None = None
    why = 0
    expected = -1  # where the next line of the same table begins
    for start, line in own_lines(message) if "|" in message else ():
        if not line.lstrip().startswith("|"):
            continue
        cells = _cells(start, line)[1:]
        if start != expected:
            heads = [text.casefold().strip("*_ ") for _, text in cells]
            kind = _HEADS.get(heads[0]) if heads else None
            why = next((number for number, head in enumerate(heads) if head in _REASONS), 0)
        elif kind is not None and cells and not _EMPTY.fullmatch(cells[0][1][:LONGEST]):
            place, text = cells[0]
            rationale = cells[why][1][:300] if 0 < why < len(cells) else ""
            yield find(kind, place, text, "a row of a table of its kind", rationale=rationale)
        expected = start + len(line) + 1


def _cells(start: int, line: str) -> Cells:
    """Return place and text of each cell; the first is the text before the first bar."""
    cells: Cells = []
    place = start
    for cell in line.split("|", MOST_CELLS)[:MOST_CELLS]:
        cells.append((place + len(cell) - len(cell.lstrip()), cell.strip()))
        place += len(cell) + 1
    return cells


def _row(cells: Cells) -> Iterator[Find]:
    """Read a table row: an id and its text in the next cell, or `D008: text` in a cell of its own."""
    states = [_STATE_CELL.match(cell.casefold().strip("*_ `")) for _, cell in cells]
    for number, (place, cell) in enumerate(cells):
        match = _CELL_ID.match(cell)
        if match is None:
            continue
        if match.end() < len(cell):
            if ":" in match.group():
                yield from _record(match[1], place + match.end(), cell[match.end() :], "")
        elif number + 1 < len(cells):
            state = next((found.group() for found in states[number + 2 :] if found), "")
            yield from _record(match[1], *cells[number + 1], state)


def _line(start: int, line: str, *, several: bool) -> Iterator[Find]:
    """Read `- D002 \u2014 text`, and `Inherited: D001 text (0.9), D002 text.`."""
    marks = [
        match for match in _ID.finditer(line) if not _MENTION.match(line, match.end()) or _asks(match, line)
    ]
    if not marks:
        return
    head = line[: marks[0].start()].strip(" \t-*+\u2022#0123456789.)([|")
    listed = bool(_CONTEXT.search(head))
    for number, match in enumerate(marks):
        plain = match["sep"].isspace()
        follows = line[max(0, match.start() - 4) : match.start()].rstrip()[-1:] in {",", ";", "."}
        begins = not head if number == 0 else follows
        low = match["id"][1] == "0"  # D850 may be a camera
        if not listed and not (begins and (low or (several and not plain)) and (several or not plain)):
            continue
        end = marks[number + 1].start() if number + 1 < len(marks) else len(line)
        text = line[match.end() : end]
        if end < len(line) or listed:
            text = re.split(r"(?<=[\w)\]])\. (?=[A-Z])|;", text, maxsplit=1)[0]
        yield from _record(match["id"], start + match.end(), text, "")


def _asks(match: re.Match[str], line: str) -> bool:
    """Say whether a thread's id is followed by a question, as in `T001: Which queue?`."""
    asked = _QUESTION.match(line, match.end()) is not None
    return asked and match["id"].startswith("T") and ":" in match["sep"]


def _record(number: str, place: int, text: str, state: str) -> Iterator[Find]:
    text = text[:LONGEST].rstrip(" \t,;.|*")
    title, fields = annotated(text, number[0])
    text, place = title, place + text.find(title)
    if not state:
        state = "blocked" if "blocked_by" in fields else fields.get("status", "").split(" ")[0].casefold()
    if not state and (match := _STATE.search(text)) and match.start() > 0:
        state = match["state"].casefold()
        text = text[: match.start()].rstrip(" ,;:\u2014\u2013-*")
    if match := _TIER.search(text):
        text = text[: match.start()]
    place += len(text) - len(text.lstrip(" *"))
    text = text.strip(" *")
    if len(text) < 3 or _PLACEHOLDER.fullmatch(text) or "~~" in text:
        return
    decides = number.startswith("D")
    if not decides or state not in _INACTIVE:
        kind = Proposal.DECISION if decides else _THREAD_STATES.get(state, Proposal.THREAD_OPEN)
        why = fields.get("rationale", "")
        found = find(kind, place, text, "a record with its own id", rationale=why)
        yield replace(found, explicit_id=number, confidence=1.0)
