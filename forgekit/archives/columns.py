"""What each column of a table means, by its head, by all its cells, else by what the tagger finds in most.

In: the spans of an archive and its tables. Out: the spans; in a column whose meaning is known each cell that
holds anything is one span of it, so that one row is read as the others are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from forgekit.archives.claims import is_none, key_of, parse_tier
from forgekit.archives.document import BAR
from forgekit.archives.labels import CONFIDENCE, field_named, leading, priority_of
from forgekit.archives.spans import Span

TAG_OF_WORDS = {
    "rationale": "why",
    "alternatives": "alt",
    "dependencies": "dep",
    "superseded_by": "by",
    "revises": "rev",
    "blocked_by": "blk",
    "resolution": "res",
}
"""Tags of the fields whose values are words or names."""
TAG_OF = TAG_OF_WORDS | {
    "status": "state",
    "tier": "tier",
    "confidence": "tier",
    "priority": "prio",
    "local_id": "id",
}
"""Tags of the fields that labels name."""
_OF_KIND = {
    "D": {"why", "alt", "dep", "by", "rev", "tier", "D", "id"},
    "T": {"prio", "blk", "res", "T", "id"},
}
_WHOLE = {"D", "T", "why", "alt", "dep", "tier", "prio", "blk", "res"}
"""Tags whose spans are whole cells."""
_FEWEST = 2
"""Rows of one kind whose columns are read by what the tagger finds in them, where no head is known."""
FEW = 0.5
"""The share of another kind's margins up to which records in one series or table are of that kind."""
_MOST = 0.6
"""The share of the tagger's spans in a column, by margin, that must agree."""
_LABELLED = re.compile(r"[^\W\d_][^:\uff1a]{0,30}[:\uff1a](?!//)")
_SURE = 4.0
_MARKS = "*_`~ "
_TEN, _FIVE, _CLASSES = 10, 5, 3

Row = tuple[int, Sequence[str]]
"""The line of a row and its cells."""


def with_columns(
    spans: Iterable[Span], lines: Sequence[str], tables: Iterable[tuple[Sequence[str], Sequence[Row]]]
) -> list[Span]:
    """Return spans with those of each table as its columns mean."""
    by_line: dict[int, list[Span]] = defaultdict(list)
    for span in spans:
        by_line[span.line].append(span)
    for heads, rows in tables:
        signs = {at for at in range(len(heads)) if _are_signs([c[at] for _, c in rows if at < len(c)])}
        for line, _ in rows if signs else ():
            spans = by_line[line]
            by_line[line] = [s for s in spans if s.tag != "id" or column_of(lines[line - 1], s) not in signs]
        _give_rows_one_kind([by_line[line] for line, _ in rows if line in by_line])
        of_kind: dict[str, list[Row]] = {"D": [], "T": []}
        for row in rows:
            kinds = [span.tag for span in by_line.get(row[0], ()) if span.tag in of_kind]
            if kinds:
                of_kind[kinds[0]].append(row)
        for kind, members in of_kind.items():
            if len(members) >= _FEWEST or (members and any(field_named(head, kind) for head in heads)):
                _read(heads, members, kind, by_line, lines)
    return [span for line in sorted(by_line) for span in by_line[line]]


def _give_rows_one_kind(rows: Sequence[list[Span]]) -> None:
    """Give the rows of a table without ids one kind, if few of them seem to be another."""
    margins: dict[str, float] = defaultdict(float)
    for span in (span for row in rows for span in row):
        margins[span.tag] += span.margin
    few, most = sorted("DT", key=lambda tag: margins[tag])
    if "id" in margins or margins[few] > FEW * margins[most]:
        return
    for row in rows:
        row[:] = [replace(span, tag=most, value="") if span.tag == few else span for span in row]


def _read(
    heads: Sequence[str],
    rows: Sequence[Row],
    kind: str,
    by_line: dict[int, list[Span]],
    lines: Sequence[str],
) -> None:
    """Write the spans of the rows of one kind in a table."""
    found = {
        (line, at): [span for span in by_line[line] if column_of(lines[line - 1], span) == at]
        for line, _ in rows
        for at in range(len(heads))
    }
    ids = {key_of(span.text) for line, _ in rows for span in by_line[line] if span.tag == "id"}
    meant: dict[int, str] = {}
    for at, head in enumerate(heads):
        cells = {line: _bare(row[at]) for line, row in rows if at < len(row)}
        votes = ((span.tag, span.margin) for line in cells for span in found[line, at])
        named = ids if at and not _are_own(cells.values(), ids) else ()
        meant[at] = meaning(head, list(cells.values()), votes, kind, named)
    for line, row in rows:  # what was found in an empty cell is nothing
        empty = [
            span for at in meant if at < len(row) and is_none(_bare(row[at])) for span in found[line, at]
        ]
        by_line[line] = [span for span in by_line[line] if span not in empty]
    words = [at for at, tag in meant.items() if tag == kind]
    for at, tag in meant.items():
        if tag not in _WHOLE or (tag == kind and at != words[0]):
            continue
        scale = _scale([row[at] for _, row in rows if at < len(row)]) if tag == "tier" else 0
        for line, row in rows:
            cell = _bare(row[at]) if at < len(row) else ""
            old = found[line, at]
            if not cell or _LABELLED.match(cell) or "\n" in cell or not _is_of(tag, old, kind):
                continue
            kept = next((span for span in old if span.tag == tag), None)
            like = kept or next(iter(old), None) or by_line[line][0]
            text = f"{cell}/{scale}" if scale and cell.isdigit() else cell
            start = _start(lines[line - 1], at, cell)
            new = replace(
                like, tag=tag, text=text, value=kept.value if kept else "", column=start, line=line, last=line
            )
            new = replace(new, margin=max(new.margin, _SURE))
            others = [span for span in by_line[line] if span not in old]
            by_line[line] = sorted([*others, *([] if is_none(cell) else [new])], key=lambda s: s.column)


def _bare(cell: str) -> str:
    """Return a cell without marks around it."""
    cell = cell.strip(_MARKS)
    return cell[1:-1] if cell[:1] == "(" and cell.find(")") == len(cell) - 1 else cell


def _are_own(cells: Iterable[str], ids: Collection[str]) -> bool:
    """Say whether cells are the ids of their rows."""
    keys = list(map(key_of, cells))
    return len(set(keys)) == len(keys) and all(key in ids for key in keys)


def _are_signs(cells: Sequence[str]) -> bool:
    """Say whether cells come again too often for ids."""
    full = [cell for cell in cells if cell.strip()]
    return 3 * len({*full}) < 2 * len(full)


def _is_of(tag: str, old: Sequence[Span], kind: str) -> bool:
    """Say whether a cell with some spans may be one span of a tag."""
    tags = {span.tag for span in old} - {tag}
    if tag == kind:
        return not tags
    return tags.isdisjoint({"id", "by", "rev", "dep"} if tag != "dep" else ()) and (tag != "res" or bool(old))


def meaning(
    label: str, values: Sequence[str], votes: Iterable[tuple[str, float]], kind: str, ids: Collection[str]
) -> str:
    """Return the tag of like values: that of their label, else of all of them, else of most votes.

    Args:
        votes: what the tagger found in them, with its margin.
        ids: keys of the ids of records.
    """
    values = [value for value in values if not is_none(value)]
    name = field_named(label, kind) or ""
    tag = kind if name == "text" else TAG_OF.get(name, "")
    if not values or (tag and _fits(tag, values)) or (kind == "D" and name and not tag):
        return tag
    if kind == "T" and len(values) > 1 and all(map(priority_of, values)):
        return "prio"
    counts: dict[str, float] = defaultdict(float)
    for each, margin in votes:
        if (each in _OF_KIND[kind] or each == "state") and _fits(each, values):
            counts[each] += max(margin, 0.1)
    likeliest = max(counts, key=lambda each: counts[each], default="")
    parts = [part for value in values for part in re.split(r"[,;\s\u3001]+", value)]
    if ids and not all(map(str.isdigit, values)) and all(key_of(part) in ids for part in parts):
        return likeliest if likeliest in ("by", "rev") else "dep" if kind == "D" else "blk"
    if not counts or {"blk", "res"} <= counts.keys():  # what threads wait for or how they ended
        return ""
    return likeliest if counts[likeliest] > _MOST * sum(counts.values()) else ""


LABELS = {tag: name.replace("_", " ") for name, tag in TAG_OF.items() if tag != "id"}
LABELS |= {"D": "decision", "T": "title"}
"""Labels of the fields that tags stand for, as data is read by."""


def votes_for(values: Iterable[str], spans: Mapping[str, Sequence[Span]]) -> list[tuple[str, float]]:
    """Return the tags and margins of the spans that begin values; spans are by how they begin."""
    return [
        (span.tag, span.margin)
        for value in values
        for span in spans.get(value[:BEGINS], ())
        if value.startswith(span.text)
    ]


BEGINS = 4
"""Characters by which spans are found."""


def _fits(tag: str, values: Sequence[str]) -> bool:
    """Say whether most values can be read as what a tag needs."""
    if tag == "tier":
        return 2 * sum(map(_is_tier, values)) > len(values)
    if tag == "prio":
        return 2 * sum(priority_of(value) is not None for value in values) > len(values)
    return True


def _is_tier(value: str) -> bool:
    if value.isdigit() and int(value) <= _TEN:
        return True
    try:
        return parse_tier(value)[0] is not None
    except ValueError:
        return leading(value, CONFIDENCE)[0] is not None


def _scale(values: Iterable[str]) -> int:
    """Return the greatest number of the scale that whole numbers seem to be of, 0 where they are of none."""
    numbers = [int(value) for value in values if value.strip().isdigit()]
    most = max(numbers, default=0)
    return 0 if not _CLASSES < most <= _TEN else _FIVE if most <= _FIVE else _TEN


def column_of(line: str, span: Span) -> int:
    """Return the number of the column of its row that a span is in."""
    return len(BAR.findall(line, 0, span.column)) - (line.lstrip()[:1] == "|")


def _start(line: str, at: int, cell: str) -> int:
    """Return the column at which a cell's words begin on their line."""
    bars = [match.end() for match in BAR.finditer(line)]
    bars = bars if line.lstrip()[:1] == "|" else [0, *bars]
    return max(line.find(cell, bars[at] if at < len(bars) else 0), 0)
