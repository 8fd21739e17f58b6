"""Records in Markdown: headings, bullets, bold lead-ins, and the tables of entities.

`### D001: Title` with bullets `- **Tier:** 0.8`; `- **T001:** title (High)`; `**T001 (HIGH):** text`;
`| D001 | text | 0.8 |`. Only lines that speak for the archive itself are looked at (see `zones`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from forgekit.model.records import Chunk, Family
from forgekit.text.archive.annotations import TICKED, annotated, noted
from forgekit.text.archive.claims import KEYS, Found, make_claim
from forgekit.text.archive.lines import LINE_LIMIT, Document, Table, fold
from forgekit.text.archive.turns import parse_range
from forgekit.text.archive.values import (
    IDS,
    LOCAL_ID,
    SHORT,
    SHORT_ID,
    bare,
    kind_of,
)

_ID = rf"(?:OT\d{{3}}|[DTA]\d{{3,4}}|{SHORT}(?![A-Za-z0-9_]))"
_START = re.compile(
    r"(?P<indent>\s*)(?P<mark>#{2,6}\s+|[-*+]\s+|\d{1,4}[.)]\s+)?(?:\[ \]\s+)?"
    rf"(?P<tick>{TICKED.pattern})?(?P<open>[*_`\[~]{{0,5}})"
    r"(?:(?:Artifact|Decision|Thread|Open Thread)\s+)?[*`\[]{0,3}"
    rf"(?P<id>{_ID})[`\]]{{0,2}}(?:\s+[`(\[]{{0,2}}(?P<entity>{SHORT})[`)\]]{{0,2}})?"
    r"(?P<notes>\s*[(\[][^()\[\]]{0,80}[)\]])?"
    r"(?P<colon>:\*\*|\*\*\s*:|:__|__\s*:|\s*:|\*\*|\.(?=\s)|\s+[\u2014\u2013-]+(?=\s))?(?P<title>.*)$",
)
_BEHIND_ID = re.compile(r"\s*(?P<notes>[(\[][^()\[\]]{0,80}[)\]])\s*(?::|[\u2014\u2013]|--?(?=\s))\s*(?=\S)")
_NAMED = re.compile(f"{IDS.pattern}|{SHORT_ID.pattern}")
_FIELD = re.compile(
    r"\s*(?:[-*+]\s+)?(?:\*\*|__)?(?P<key>[A-Za-z][A-Za-z _/-]{0,40}?)(?:\s*\([^()]{0,60}\))?"
    r"(?:\*\*\s*:|:\s*\*\*|__\s*:|:__|:)(?:\s+|$)(?P<value>.*)$"
)
_BOLD = re.compile(r"\s*(?:[-*+]\s+)?(?:\*\*|__)")
_BULLET = re.compile(r"\s*[-*+]\s+(?=\S)")
_PART = re.compile(r" {0,3}(#{3,6})\s+(.*)$")
_ID_COLUMNS = {
    "local id",
    "id",
    "decision id",
    "thread id",
    "artifact id",
    "thread",
    "artifact",
    "decision",
    "#",
}


def field_of(line: str) -> tuple[str, str] | None:
    """Return key and value of a `- **Key:** value` line, or None."""
    match = _FIELD.match(line) if len(line) <= LINE_LIMIT else None
    if match is None or LOCAL_ID.fullmatch(match["key"]):
        return None
    return match["key"], match["value"].strip()


def read_records(found: Found, document: Document, own: Sequence[bool]) -> set[int]:
    """Read heading, bullet and bold records; return the numbers of the lines that belong to one.

    Args:
        found: receives the claims.
        document: the text.
        own: for each line (0-based) whether it speaks for this archive.
    """
    lines = document.lines
    taken: set[int] = set()
    headings = {section.heading_line for section in document.sections}
    number = 0
    while number < len(lines):
        match = record_start(lines[number]) if own[number] else None
        if match is None or _in_table(lines[number]):
            number += 1
            continue
        end = _end_of_record(lines, own, headings, number, match)
        _take_record(found, lines[number:end], number + 1, match)
        taken.update(range(number + 1, end + 1))
        number = end
    return taken


def _in_table(line: str) -> bool:
    return line.lstrip().startswith("|")


def record_start(line: str) -> re.Match[str] | None:
    """Return how a line begins a record, None if it begins none."""
    if len(line) > LINE_LIMIT or not _NAMED.search(line, 0, 60):
        return None
    match = _START.match(line)
    if match is None:
        return None
    if "~~" in match["open"] and kind_of(match["id"]) != "T":  # what was struck out is not in force
        return None
    is_heading = (match["mark"] or "").startswith("#")
    if not match["mark"] and match["colon"] in (None, "."):  # a sentence may end with an id
        return None
    if not is_heading and not (match["colon"] and match["title"].strip(" *:\u2014\u2013-")):
        return None
    return match


def _end_of_record(
    lines: Sequence[str], own: Sequence[bool], headings: set[int], start: int, match: re.Match[str]
) -> int:
    """Return the 0-based line after a record: a heading's reaches to the next heading or record."""
    is_heading = (match["mark"] or "").startswith("#")
    indent = len(match["indent"])
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if number + 1 in headings and not (is_heading and _part_of(line, match)):
            return number
        if not own[number] or _in_table(line):
            return number
        if not is_heading and (not line.strip() or len(line) - len(line.lstrip()) <= indent):
            return number
        if record_start(line):
            return number
    return len(lines)


def _part_of(line: str, match: re.Match[str]) -> bool:
    """Say whether a line is a heading below the record's own that names one of its fields."""
    part = _PART.match(line)
    return part is not None and len(part[1]) > match["mark"].count("#") and _known(part[2], match["id"])


def _known(key: str, local_id: str) -> bool:
    return fold(key) in KEYS[kind_of(local_id)]


def _take_record(found: Found, lines: Sequence[str], line: int, match: re.Match[str]) -> None:
    local_id = match["id"]
    title = match["title"].strip()
    if "**" in match["open"] and not (match["colon"] or "").replace(" ", "").count("**"):
        title = title.replace("**", "", 1)
    if title.startswith(("\u2014", "\u2013", ":")):
        title = title.lstrip(":\u2014\u2013 ").strip()
    if "~~" in match["open"]:
        title = f"[x] ~~{title}"
    elif match["tick"] and kind_of(local_id) == "T":
        title = f"[x] {title}"
    notes = match["notes"]
    if not notes and (behind := _BEHIND_ID.match(title)) and (match["colon"] or "").strip() in ("**", "__"):
        notes, title = behind["notes"], title[behind.end() :]
    title, raw = annotated(title, kind_of(local_id))
    if notes:
        rest, told = noted(notes, kind_of(local_id))
        raw = {**told, **raw}
        title = f"{title} ({rest})" if rest and bare(title) else title
    fields, rest = _fields(lines[1:], local_id)
    entity = match["entity"] or (local_id if SHORT_ID.fullmatch(local_id) else None)
    raw = {**raw, **fields, **({"entity": entity} if entity else {})}
    text_key = {"D": "decision", "T": "title", "A": "name"}[kind_of(local_id)]
    if bare(title) and not any(fold(key) == text_key for key in raw):
        raw[text_key] = bare(title) if title.startswith("`") else title.strip("* ")
    if rest:
        raw.setdefault({"D": "context", "T": "content", "A": "summary"}[kind_of(local_id)], rest)
    make_claim(found, local_id, raw, line, Family.HEADING)


def _fields(lines: Sequence[str], local_id: str) -> tuple[dict[str, Any], str]:
    """Return the fields of a record, each value reaching to the next key, and the prose beside them.

    What is listed below a key without a value is its value, as a list.
    """
    fields: dict[str, Any] = {}
    rest: list[str] = []
    current: str | None = None
    blank = in_part = False
    level = -1
    for line in lines:
        text, column, bullet = line.strip(), len(line) - len(line.lstrip()), _BULLET.match(line)
        pair, part = _field_in(line, local_id), _PART.match(line)
        if part is not None and _known(part[2], local_id):
            pair = part[2], ""
        if pair is not None:
            current, in_part, level = pair[0], part is not None, column if bullet else -1
            fields[current] = pair[1] or ([] if _known(current, local_id) else "")
        elif text and set(text) != {"-"}:
            value: Any = fields[current] if current is not None else ""
            listing, sibling = isinstance(value, list), column <= level and field_of(line) is not None
            goes_on = column or in_part or (not blank and (listing or value))
            if current is None or not ((listing and bullet) or (goes_on and not sibling)):
                current = None
                rest.append(text)
            elif listing and bullet:
                value.append(line[bullet.end() :].strip())
            elif listing and value:
                value[-1] += f" {text}"
            else:
                fields[current] = f"{value or ''}\n{text.removeprefix('- ') if column else text}".strip()
        blank = not text
    return {key: value or "" for key, value in fields.items()}, "\n".join(rest)


def _field_in(line: str, local_id: str) -> tuple[str, str] | None:
    """Return key and value of a line that opens a field: in bold any key does, else one that is known."""
    pair = field_of(line)
    if pair is None or _BOLD.match(line):
        return pair
    listed = line.lstrip().startswith(("-", "*", "+"))
    return pair if (_known(pair[0], local_id) if listed else fold(pair[0]) in _PLAIN_KEYS) else None


_PLAIN_KEYS = {
    "status",
    "priority",
    "blocked by",
    "tier",
    "turn",
    "rationale",
    "decision",
    "resolution",
    "context",
}


def read_tables(
    found: Found, document: Document, own: Sequence[bool], index_lines: set[int]
) -> tuple[Chunk, ...]:
    """Read the tables that list entities, and return the rows of chunk tables.

    Args:
        found: receives the claims.
        document: the text.
        own: for each line (0-based) whether it speaks for this archive.
        index_lines: the lines of decision indexes.
    """
    chunks: list[Chunk] = []
    for table in document.tables:
        if not own[table.line - 1]:
            continue
        columns = table.columns
        if "chunk id" in columns or "chunk" in columns or columns[:1] == ("range",):
            chunks += _chunks(table)
        elif columns and columns[0] in _ID_COLUMNS:
            family = Family.INDEX if table.line in index_lines or "ref" in columns else Family.TABLE
            for line, row in table.rows:
                _take_row(found, columns, row, line, family)
    return tuple(chunks)


def _take_row(found: Found, columns: Sequence[str], row: Sequence[str], line: int, family: Family) -> None:
    local_id = bare(row[0]) if row else ""
    is_short = SHORT_ID.fullmatch(local_id) is not None
    if not is_short and not LOCAL_ID.fullmatch(local_id):
        return
    raw = {name: cell for name, cell in zip(columns[1:], row[1:], strict=False) if cell}
    if is_short:
        raw["entity"] = local_id
    kind = kind_of(local_id)
    raw.setdefault({"D": "decision", "T": "title", "A": "name"}[kind], "")
    if kind == "T" and not raw["title"]:
        raw.pop("title")
    for key in ("title", "thread", "description", "text"):
        if kind == "T" and key in raw:
            raw[key], told = annotated(raw[key], kind)
            raw = {**told, **raw}
            break
    make_claim(found, local_id, {k: v for k, v in raw.items() if v}, line, family)


def _chunks(table: Table) -> list[Chunk]:
    def cell(row: Sequence[str], *names: str) -> str:
        return next((row[table.columns.index(n)] for n in names if n in table.columns[: len(row)]), "")

    return [
        Chunk(
            ref=bare(cell(row, "chunk id", "chunk")),
            turns=parse_range(cell(row, "turn range", "turns", "range")),
            topic=cell(row, "topic", "topic cluster"),
            decisions=tuple(IDS.findall(cell(row, "decisions", "key decisions"))),
            line=line,
        )
        for line, row in table.rows
    ]
