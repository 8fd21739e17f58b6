"""What an archive says of itself: tag, session, time, turns, mode, and what it continues.

In: the page with its machine blocks and YAML mappings. Out: `Facts`, the values under each key, the most
trusted place first (machine blocks, text, tables, YAML); the other functions read one fact each from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forgekit.archives.claims import (
    ClaimList,
    bare,
    is_none,
    items,
    parse_integer,
    parse_moment,
    parse_range,
)
from forgekit.archives.document import Table, fold
from forgekit.archives.formats.machine import MachineBlock
from forgekit.archives.formats.records import Page, field_of
from forgekit.ids import is_id
from forgekit.model.entities import CompressionMode, TurnRange
from forgekit.model.rules import one_line
from forgekit.times import Instant

_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,127}")
_TAG_KEYS = ("last compressed tag", "compression tag", "compressed tag")
_PARENT_KEYS = ("continues", "continues from", "inherits from", "parent", "parent tag", "parent archive")
_HEAD_PARENT = "parent in the head"
_PLAIN_KEYS = (
    *(*_TAG_KEYS, *_PARENT_KEYS),
    *("tag", "project", "project name", "date", "created", "session id", "inherited from"),
)
"""Keys that count without marks in the first block of a text."""
_FRONT_LIMIT = 200
_NAMES_ONE = re.compile(r"[-_.\d]")  # a mere word is no tag

_BRIDGING = re.compile(
    r"bridg(?:ing|es?|ed)\s{1,3}from\s{1,3}[`\"'*]*([A-Za-z0-9][A-Za-z0-9._-]{1,127})", re.IGNORECASE
)
_SEVERAL = re.compile(r"[|\u00b7]\s{1,3}(?=\*\*)")
_ITEM = re.compile(r"\s+(?:[-*+]|\d{1,3}[.)])\s+(\S.*)$")
_ORDER = re.compile(r"#(\d{1,4})")
_ARROWS = re.compile(r"->|\u2192|=>")
_NOTE = re.compile(r"\s*\([^()]*\)$")
_ARCHIVE_TITLE = re.compile(r"conversation archive\s*[:\u2013\u2014-]\s*(\S.*)$", re.IGNORECASE)


class Facts:
    """Folded keys with their values and lines, the most trusted place first."""

    def __init__(self) -> None:
        self._pairs: dict[str, list[tuple[str, int]]] = {}

    def add(self, key: str, value: str, line: int) -> None:
        """Add one value."""
        self._pairs.setdefault(fold(key), []).append((value, line))

    def all(self, *keys: str) -> Iterator[tuple[str, int]]:
        """Yield every value under the keys, in their order, but for spellings of "none"."""
        for key in keys:
            yield from (pair for pair in self._pairs.get(key, ()) if not is_none(pair[0]))

    def first(self, *keys: str) -> str | None:
        """Return the first value as one line, without marks around it."""
        return next((one_line(bare(value)) for value, _ in self.all(*keys)), None)


def collect(page: Page, blocks: Sequence[MachineBlock]) -> Facts:
    """Gather the facts of machine blocks, of the text and of the YAML in it, in that order."""
    facts = Facts()
    for block in blocks:
        for key, value in (("compression tag", block.tag), ("project", block.project)):
            if value:
                facts.add(key, value, block.first_line)
        _mapping_facts(facts, block.payload, block.first_line)
    _text_facts(facts, page)
    for table in page.document.tables:
        keys = len(table.columns) == 2 and table.columns[0] in ("field", "key", "property", "attribute")
        for line, row in table.rows if keys and page.own[table.line - 1] else ():
            if len(row) == 2:
                facts.add(row[0], row[1], line)
    for mapping in page.found.documents:
        _mapping_facts(facts, mapping, getattr(mapping, "line", 0) or 1)
    return facts


def _mapping_facts(facts: Facts, mapping: Mapping[str, Any], line: int) -> None:
    for key, value in mapping.items():
        name = fold(key)
        if isinstance(value, str):
            facts.add(key, value, line)
        elif isinstance(value, Mapping):
            if name in ("compression scope", "inherited context") and isinstance(value.get("mode"), str):
                facts.add(name.replace("context", "mode"), value["mode"], line)
            if name in ("conversation state", "compression scope", "metadata"):
                _mapping_facts(facts, value, getattr(value, "line", line))
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            facts.add(key, f"[{', '.join(value)}]", line)


def _text_facts(facts: Facts, page: Page) -> None:
    """Gather `- **Key:** value` lines of the title's and the metadata sections, tags of any section."""
    sections = {section.heading_line: section for section in page.document.sections}
    lines = page.document.lines
    front = 0
    if lines[0].rstrip() == "---":
        front = next((n for n, line in enumerate(lines[1:_FRONT_LIMIT], 2) if line.rstrip() == "---"), 0)
    head = next((s.heading_line for s in sections.values() if s.level > 1), len(lines) + 1)
    plain = _first_block_end(lines, head)
    inside = True
    for number, line in enumerate(lines, 1):
        if section := sections.get(number):
            places = ("session reference", "metadata", "compression", "archive metadata")
            inside = section.level == 1 or fold(section.title) in places
        elif page.own[number - 1] and ":" in line:
            for part in _SEVERAL.split(line):
                pair = field_of(part.rstrip())
                if pair is None:
                    continue
                key = fold(pair[0])
                marked = "**" in part or "__" in part or line.lstrip().startswith(("-", "*"))
                marked = marked or number <= front or (number < plain and key in _PLAIN_KEYS)
                if marked and (inside or key in _TAG_KEYS):
                    if key in _PARENT_KEYS and number < head and line[:1].strip():
                        key = _HEAD_PARENT
                    facts.add(key, pair[1] or _listed(page, number), number)


def _first_block_end(lines: Sequence[str], head: int) -> int:
    """Return the first line that is no title, not blank and no `Key: value`; `head` if there is none."""
    for number, line in enumerate(lines[: head - 1], 1):
        if line.strip(" -=") and not line.startswith("# ") and field_of(line) is None:
            return number
    return head


def _listed(page: Page, number: int) -> str:
    """Return the items of the list below a key without a value."""
    found: list[str] = []
    lines = page.document.lines
    for index in range(number, min(number + _FRONT_LIMIT, len(lines))):
        match = _ITEM.match(lines[index][:20_000]) if page.own[index] else None
        if match is None:
            break
        found.append(match.group(1))
    return ", ".join(found)


def tag_of(found: ClaimList, facts: Facts) -> str | None:
    """Return the compression tag; two places that disagree are a problem."""
    tags: list[tuple[str, int]] = []
    for value, line in facts.all(*_TAG_KEYS, "tag"):
        tag = _bare_name(value)
        if _TAG.fullmatch(tag):
            tags.append((tag, line))
        else:
            found.warn("bad-tag", f"{tag[:40]!r} is no compression tag", line, "write TOPIC_A_RESULT")
    if not tags:
        return None
    first, place = tags[0]
    other = next((pair for pair in tags if pair[0] != first), None)
    if other:
        message = f"the tag is {first} on line {place} and {other[0]} on line {other[1]}; the first counts"
        found.warn("families-disagree", message, other[1])
    return first


def _bare_name(value: str) -> str:
    return _NOTE.sub("", bare(value)[:300]).strip("` ")


def created_of(found: ClaimList, facts: Facts) -> Instant | None:
    """Return the first time that the text names, one with a time of day before a mere date."""
    dates: list[tuple[bool, Instant]] = []
    keys = (
        "created",
        "last updated",
        "compression timestamp",
        "compressed at",
        "timestamp",
        "date",
        "updated",
    )
    for value, line in facts.all(*keys):
        try:
            dates.append((re.search(r"\d[Tt ]\d{1,2}:\d\d", value[:100]) is None, parse_moment(bare(value))))
        except ValueError as e:
            found.warn("bad-time", str(e), line, "write 2026-03-04T16:20:00Z")
    return min(dates, key=lambda pair: pair[0])[1] if dates else None


def turns_of(facts: Facts) -> tuple[int | None, TurnRange | None]:
    """Return the number of turns and the range that was compressed."""
    keys = ("compressed turn range", "turn range", "turns", "turns compressed", "compression scope", "scope")
    ranges = [value for value, _ in facts.all(*keys)]
    values = facts.all("turns", "turns compressed", "last compressed turn", "last compressed turn count")
    counts = (parse_integer(value) for value, _ in values if parse_range(value) is None)
    turns = next((count for count in counts if count is not None), None)
    known = next(filter(None, map(parse_range, ranges)), None)
    if known is None and turns and any(fold(bare(value)).startswith(("all", "full")) for value in ranges):
        known = (1, turns)
    if turns is None and known is not None:
        turns = known[1] - known[0] + 1
    return turns, known


def conversation_of(facts: Facts) -> str | None:
    """Return the uuid by which the archive names its own conversation."""
    keys = ("source conversation", "conversation id", "conversation uuid", "conversation")
    return next((bare(v).casefold() for v, _ in facts.all(*keys) if is_id(bare(v).casefold())), None)


def parents_of(page: Page, facts: Facts, blocks: Sequence[MachineBlock], tag: str | None) -> tuple[str, ...]:
    """Return the tags and conversations that the archive continues, nearest first."""
    named: list[str] = []
    for value, _ in facts.all("inherited from", "previous session", "prior compression tag"):
        named += _names(value)
    for value, line in facts.all(_HEAD_PARENT):
        for name in _names(value):
            if _TAG.fullmatch(name) and _NAMES_ONE.search(name):
                named.append(name)
            else:
                message = f"{name[:40]!r} is no compression tag"
                page.found.warn("bad-parent", message, line, "write the parent's tag")
    for table in page.document.tables:
        if page.own[table.line - 1] and {"tag", "relationship"} <= set(table.columns):
            named += _lineage_rows(table)
    named += _bridged(facts)
    for block in blocks:
        lineage = block.payload.get("lineage")
        parent = lineage.get("parent_conversation") if isinstance(lineage, Mapping) else None
        named += [*block.parents, *(_names(parent) if isinstance(parent, str) else ())]
    if not named:  # a chain lists all ancestors; only its last one was continued
        chains = (_names(value) for value, _ in facts.all("prior compression chain"))
        named = [name for chain in chains for name in [each for each in chain if each != tag][-1:]]
    clean = (name.casefold() if is_id(name.casefold()) else name for name in named)
    return tuple(dict.fromkeys(name for name in clean if _TAG.fullmatch(name) and name != tag))


def _bridged(facts: Facts) -> list[str]:
    """Return the tags in scopes such as `partial (turns 3-9, bridging from TAG)`."""
    scopes = facts.all("compression scope", "scope")
    return [match.group(1) for value, _ in scopes for match in _BRIDGING.finditer(value[:1000])]


def _names(value: str) -> list[str]:
    return [_bare_name(part) for part in items(_ARROWS.sub(",", value)) if not is_none(part)]


def _lineage_rows(table: Table) -> list[str]:
    """Return the parents in a lineage table: those the current row names, else all other rows."""
    wanted: list[str] = []
    parents: dict[str, str] = {}
    for number, (_, row) in enumerate(table.rows, 1):
        cell = dict(zip(table.columns, row, strict=False))
        relationship = cell.get("relationship", "").casefold()
        if relationship.startswith("current"):
            wanted = _ORDER.findall(relationship)
        elif cell.get("tag"):
            parents[cell.get("order", str(number)).strip("# ")] = bare(cell["tag"])
    named = [parents[order] for order in reversed(wanted) if order in parents]
    return named or list(reversed(parents.values()))


def mode_of(page: Page, facts: Facts, turn_range: TurnRange | None) -> CompressionMode | None:
    """Return how the conversation was compressed, as far as the text shows it."""
    keys = {fold(section.title) for section in page.document.sections}
    modes = {fold(bare(value)) for value, _ in facts.all("compression mode")}
    scopes = [fold(bare(value)) for value, _ in facts.all("compression scope", "scope", "inherited mode")]
    # A later stretch of a session begins late too, so that counts only if nothing else is stated.
    starts_late = turn_range is not None and turn_range[0] > 1 and not scopes and not modes
    partial = any(scope.startswith("partial") for scope in scopes) or "partial" in modes
    if partial or _bridged(facts) or starts_late or "foundational context" in keys:
        return CompressionMode.PARTIAL
    if modes & {"hybrid lossless", "lossless"}:
        return CompressionMode.LOSSLESS
    if "lossy" in modes or "compression" in keys:
        return CompressionMode.LOSSY
    archive = any(key.startswith("conversation archive") for key in keys)
    return CompressionMode.LOSSLESS if archive or {"decision log", "full transcript"} & keys else None


def title_of(page: Page) -> tuple[str, str | None]:
    """Return the archive's title and, if that is a name without blanks, the session that it names."""
    titles = [s.title for s in page.document.sections if s.level == 1 and page.own[s.heading_line - 1]]
    for match in filter(None, map(_ARCHIVE_TITLE.match, titles)):
        title = one_line(bare(match.group(1)))
        return title, title if _TAG.fullmatch(title) else None
    return (one_line(bare(titles[0])) if titles else ""), None
