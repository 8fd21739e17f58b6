"""Tables with a first column headed `Decision` or `Open question`: each row is one, its reason beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from forgekit.policy.extraction.find import FindKind
from forgekit.policy.extraction.own_words import own_lines

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
MOST_CELLS = 40
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
