"""Records in Markdown: headings, bullets, bold lead-ins, and the tables of entities.

`### D001: Title` with bullets `- **Tier:** 0.8`; `- **T001:** title (High)`; `**T001 (HIGH):** text`;
`| D001 | text | 0.8 |`. Only lines that speak for the archive itself are looked at (see `zones`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from forgekit.model.records import Chunk, Family
from forgekit.text.archive.claims import Found, make_claim
from forgekit.text.archive.lines import LINE_LIMIT, Document, Table, fold
from forgekit.text.archive.turns import parse_range
from forgekit.text.archive.values import (
    DECISION_STATUS,
    IDS,
    LOCAL_ID,
    bare,
    kind_of,
    parse_priority,
    parse_thread_status,
    references,
    word_in,
)

_ID = r"(?:OT\d{3}|[DTA]\d{3,4})"
_START = re.compile(
    r"(?P<indent>\s*)(?P<mark>#{2,6}\s+|[-*+]\s+|\d{1,4}[.)]\s+)?(?:\[[ xX]\]\s+)?"
    r"(?P<open>[*_`\[]{0,3})(?:(?:Artifact|Decision|Thread|Open Thread)\s+)?[*`\[]{0,3}"
    rf"(?P<id>{_ID})[`\]]{{0,2}}(?P<notes>\s*[(\[][^()\[\]]{{0,80}}[)\]])?"
    r"(?P<colon>:\*\*|\*\*\s*:|:__|__\s*:|\s*:|\*\*|\.(?=\s)|\s+[\u2014\u2013-]+(?=\s))?(?P<title>.*)$",
)
_FIELD = re.compile(
    r"\s*(?:[-*+]\s+)?(?:\*\*|__)?(?P<key>[A-Za-z][A-Za-z _/-]{0,40}?)(?:\s*\([^()]{0,60}\))?"
    r"(?:\*\*\s*:|:\s*\*\*|__\s*:|:__|:)(?:\s+|$)(?P<value>.*)$"
)
_TRAILING = re.compile(r"\s*[(\[]([^()\[\]]{0,120})[)\]]\s*$")
_LEADING = re.compile(r"\s*(?:\*\*)?\[([^\[\]]{0,40})\](?:\*\*)?:?\s+")
_BRACKETS_LIMIT = 8
_SPLIT = re.compile(r"[,;]")
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


def annotated(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Split `title [OPEN] (high, blocked by T001)` into the title and the fields that the brackets hold.

    Args:
        text: what stands behind the id.
        kind: D, T or A; a decision's statuses are others than a thread's.
    """
    fields: dict[str, Any] = {}
    leading = _LEADING.match(text)
    if leading and (told := _annotation(leading.group(1), kind)):
        fields.update(told)
        text = text[leading.end() :]
    for _ in range(_BRACKETS_LIMIT):
        match = _TRAILING.search(text[-200:])
        if match is None or not (told := _annotation(match.group(1), kind)):
            break
        fields = {**told, **fields}
        text = text[: len(text) - len(match.group())]
    return text.strip(), fields


def _annotation(inner: str, kind: str) -> dict[str, Any]:
    """Return the fields of a bracket, or {} when any part of it is something else."""
    fields: dict[str, Any] = {}
    blockers = re.match(r"(.*?)\bblocked (?:by|on):?\s*(.+)$", inner.strip(), re.IGNORECASE)
    if blockers:
        if not references(blockers.group(2)) and "#" not in blockers.group(2):
            return {}
        fields["blocked by"] = re.sub(r"#(\d{1,3})", lambda m: f"OT{int(m[1]):03d}", blockers.group(2))
        inner = blockers.group(1)
    for part in filter(None, (bare(part) for part in _SPLIT.split(inner))):
        tier = re.fullmatch(r"(0?\.\d{1,6}|1\.0{1,6})|tier:?\s*(\d?\.\d{1,6}|[0-3])", part, re.IGNORECASE)
        turn = re.fullmatch(r"turn:?\s*(\d{1,6})", part, re.IGNORECASE)
        words = part.casefold().split()
        status = word_in(part, DECISION_STATUS) if kind == "D" else parse_thread_status(part)[0]
        if tier:
            fields["tier"] = tier.group(1) or tier.group(2)
        elif turn:
            fields["turn"] = turn.group(1)
        elif len(words) <= 2 and words[-1] in ("priority", words[0]) and parse_priority(words[0]):
            fields["priority"] = words[0]
        elif (len(words) <= 2 and status) or (words[:2] == ["superseded", "by"] and references(part)):
            fields["status"] = part
        elif words[0] in ("supersedes", "revises", "replaces") and references(part):
            fields["revises"] = part
        else:
            return {}
    return fields


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
    if len(line) > LINE_LIMIT or IDS.search(line, 0, 60) is None:
        return None
    match = _START.match(line)
    if match is None:
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
        if number + 1 in headings or not own[number] or _in_table(line):
            return number
        if not is_heading and (not line.strip() or len(line) - len(line.lstrip()) <= indent):
            return number
        if record_start(line):
            return number
    return len(lines)


def _take_record(found: Found, lines: Sequence[str], line: int, match: re.Match[str]) -> None:
    local_id = match["id"]
    title = match["title"].strip()
    if match["open"].startswith("**") and not (match["colon"] or "").replace(" ", "").count("**"):
        title = title.replace("**", "", 1)
    if title.startswith(("\u2014", "\u2013", ":")):
        title = title.lstrip(":\u2014\u2013 ").strip()
    title, raw = annotated(title, kind_of(local_id))
    if match["notes"]:
        raw = {**_annotation(match["notes"].strip(" ()[]"), kind_of(local_id)), **raw}
    fields, rest = _fields(lines[1:])
    raw = {**raw, **fields}
    text_key = {"D": "decision", "T": "title", "A": "name"}[kind_of(local_id)]
    if bare(title) and not any(fold(key) == text_key for key in raw):
        raw[text_key] = bare(title) if title.startswith("`") else title.strip("* ")
    if rest:
        raw.setdefault({"D": "context", "T": "content", "A": "summary"}[kind_of(local_id)], rest)
    make_claim(found, local_id, raw, line, Family.HEADING)


def _fields(lines: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return the fields of a record, each value reaching to the next key, and the prose beside them."""
    fields: dict[str, str] = {}
    rest: list[str] = []
    current: str | None = None
    blank = False
    for line in lines:
        pair = field_of(line)
        if pair is not None and (
            line.lstrip().startswith(("-", "*", "+", "_")) or fold(pair[0]) in _PLAIN_KEYS
        ):
            current = pair[0]
            fields[current] = pair[1]
        elif current is not None and line.strip() and line[:1] in (" ", "\t"):
            fields[current] = f"{fields[current]}\n{line.strip().removeprefix('- ')}".strip()
        elif line.strip() and set(line.strip()) != {"-"}:
            if current is not None and fields[current] and not blank:
                fields[current] = f"{fields[current]}\n{line.strip()}"
            else:
                rest.append(line.strip())
        blank = not line.strip()
    return fields, "\n".join(rest)


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
    if not LOCAL_ID.fullmatch(local_id):
        return
    raw = {name: cell for name, cell in zip(columns[1:], row[1:], strict=False) if cell}
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
