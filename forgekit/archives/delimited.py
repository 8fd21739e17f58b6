"""Rows of separated values (CSV, TSV, semicolons) written as tables of Markdown.

Lines are changed in place. A table of Markdown needs one line more than its rows: it begins on the empty line
or the fence above the row of labels, else it ends on the one below the last row.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from forgekit.archives.labels import fact_named, field_named, lists_kind

_FENCE = re.compile(r"\s{0,3}(?:`{3,}|~{3,})\s*(?:csv|tsv|text|txt)?\s*$")
_COMMENT = re.compile(r"\s*(?:#{1,6}\s|//|;\s)")
_NUMBER = re.compile(r"\d")
_SEPARATORS = ("\t", ";", ",")
_FEWEST_COLUMNS, _FEWEST_ROWS, _LONGEST_LABEL = 3, 2, 40
_BAR = re.compile(r"\s*\|\s*")

Table = list[list[str]]
"""Rows of cells; the first are labels."""


def write_tables(lines: list[str]) -> None:
    """Write each block of separated values below a row of labels as a table, where a line is free for it.

    Such a block may begin with a title.
    """
    for first, last in list(_blocks(lines)):
        above = [lines[first - 1]] if first and _is_free(lines[first - 1]) else []
        block = [*above, *lines[first:last], *(lines[last : last + 1] if not above else [])]
        for titles in (0, 1):
            table = _table(lines[first + titles : last])
            if table and len(block) > last - first:
                rows = [_row(cells) for cells in table]
                rows.insert(1, "|" + "---|" * len(table[0]))
                start = first - len(above)
                lines[start : start + len(block)] = [*lines[first : first + titles], *rows]
                if above and above[0].strip() and last < len(lines):  # the fence around it
                    lines[last] = ""
                break


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where runs of lines begin and end that are full, no fence and no comment."""
    first = 0
    for number, line in enumerate([*lines, ""]):
        if _is_free(line) or _COMMENT.match(line):
            if number - first > _FEWEST_ROWS:
                yield first, number
            first = number + 1


def _is_free(line: str) -> bool:
    return line.strip() in ("", "#") or _FENCE.match(line) is not None


def _table(lines: Sequence[str]) -> Table | None:
    """Return the rows of lines that are all separated by one mark below labels, None where they are none."""
    if len(lines) <= _FEWEST_ROWS or any(line.lstrip()[:1] in ("|", "{", "-") for line in lines):
        return None
    for mark in _SEPARATORS:
        if all(mark in line for line in lines):
            try:
                found = list(csv.reader(lines, delimiter=mark, strict=True))
            except csv.Error:
                continue
            rows = [[cell.strip() for cell in row] for row in found]
            if len(rows) == len(lines) and _is_table(rows, mark):
                return rows
    return None


def _is_table(rows: Table, mark: str) -> bool:
    labels, *records = rows
    width = len(labels)
    if width < _FEWEST_COLUMNS or len({*labels}) < width or any(len(row) > width for row in records):
        return False
    are_short = all(0 < len(each) <= _LONGEST_LABEL and not _NUMBER.search(each) for each in labels)
    known = sum(map(_is_label, labels))
    whole = sum(len(row) == width for row in records)
    is_even = mark != "," and whole == len(records) > _FEWEST_COLUMNS
    return are_short and 2 * whole > len(records) and (3 * known > width or (known > 0 and is_even))


def _is_label(label: str) -> bool:
    named = any(field_named(label, kind) or lists_kind(label, kind) for kind in "DTA")
    return named or fact_named(label) is not None


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_BAR.sub('; ', cell) for cell in cells)} |"
