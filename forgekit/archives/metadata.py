"""What an archive says of itself: tag, session, time, turns, mode, and what it continues."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forgekit.archives.claims import (
    ClaimList,
    bare,
    is_none,
    is_uuid,
    items,
    parse_integer,
    parse_moment,
    parse_range,
)
from forgekit.archives.document import LINE_LIMIT, Document, Table, fold
from forgekit.archives.formats.machine import MachineBlock
from forgekit.archives.formats.records import field_of
from forgekit.model.lineage import CompressionMode, TurnRange
from forgekit.model.rules import one_line
from forgekit.times import Instant

_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,127}")
_TAG_KEYS = ("last compressed tag", "compression tag", "compressed tag")
_CREATED_KEYS = (
    "created",
    "last updated",
    "compression timestamp",
    "compressed at",
    "timestamp",
    "date",
    "updated",
)
_PARENT_KEYS = {"continues", "continues from", "inherits from", "parent", "parent tag", "parent archive"}
_HEAD_PARENT = "parent in the head"
_PLAIN_KEYS = {
    *_TAG_KEYS,
    *_PARENT_KEYS,
    "tag",
    "project",
    "project name",
    "date",
    "created",
    "session id",
    "inherited from",
}
_PLACES = {"session reference", "metadata", "compression", "archive metadata"}
_TABLE_KEYS = {"field", "key", "property", "attribute"}
_WRAPPERS = {"conversation state", "compression scope", "metadata"}
_FRONT_LIMIT = 200
_NAMES_ONE = re.compile(r"[-_.\d]")  # a mere word is none

_BRIDGING = re.compile(
    r"bridg(?:ing|es?|ed)\s{1,3}from\s{1,3}[`\"'*]*([A-Za-z0-9][A-Za-z0-9._-]{1,127})", re.IGNORECASE
)
_SEVERAL = re.compile(r"[|\u00b7]\s{1,3}(?=\*\*)")
_ITEM = re.compile(r"\s+(?:[-*+]|\d{1,3}[.)])\s+(\S.*)$")
_ORDER = re.compile(r"#(\d{1,4})")
_ARROWS = re.compile(r"->|\u2192|=>")
_NOTE = re.compile(r"\s*\([^()]*\)$")
_ARCHIVE_TITLE = re.compile(r"conversation archive\s*[:\u2013\u2014-]\s*(\S.*)$", re.IGNORECASE)


@dataclass(kw_only=True, slots=True)
class Facts:
    """Folded keys with their values and lines, the most trusted place first."""

    pairs: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def add(self, key: str, value: str, line: int) -> None:
        """Note one value."""
        self.pairs.setdefault(fold(key), []).append((value, line))

    def all(self, *keys: str) -> Iterator[tuple[str, int]]:
        """Yield every value under the keys that says something, keys in their order."""
        for key in keys:
            for value, line in self.pairs.get(key, ()):
                if not is_none(value):
                    yield value, line

    def first(self, *keys: str) -> str | None:
        """Return the first such value as one line, without marks around it."""
        return next((one_line(bare(value)) for value, _ in self.all(*keys)), None)


def collect(
    found: ClaimList, document: Document, own: Sequence[bool], blocks: Sequence[MachineBlock]
) -> Facts:
    """Gather the facts of machine blocks, of the text and of the YAML in it, in that order."""
    facts = Facts()
    for block in blocks:
        for key, value in (("compression tag", block.tag), ("project", block.project)):
            if value:
                facts.add(key, value, block.first_line)
        _mapping_facts(facts, block.payload, block.first_line)
    _text_facts(facts, document, own)
    for table in document.tables:
        if own[table.line - 1] and len(table.columns) == 2 and table.columns[0] in _TABLE_KEYS:
            for line, row in table.rows:
                if len(row) == 2:
                    facts.add(row[0], row[1], line)
    for mapping in found.documents:
        _mapping_facts(facts, mapping, getattr(mapping, "line", 0) or 1)
    return facts


def _mapping_facts(facts: Facts, mapping: Mapping[str, Any], line: int) -> None:
    for key, value in mapping.items():
        name = fold(key)
        if isinstance(value, str):
            facts.add(key, value, line)
        elif isinstance(value, Mapping) and name in _WRAPPERS:
            if name == "compression scope" and isinstance(value.get("mode"), str):
                facts.add("compression scope", value["mode"], line)
            _mapping_facts(facts, value, getattr(value, "line", line))
        elif (
            isinstance(value, Mapping) and name == "inherited context" and isinstance(value.get("mode"), str)
        ):
            facts.add("inherited mode", value["mode"], line)
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            facts.add(key, f"[{', '.join(value)}]", line)


def _text_facts(facts: Facts, document: Document, own: Sequence[bool]) -> None:
    headings = {s.heading_line: s for s in document.sections}
    lines = document.lines
    inside = True
    front = _front_matter_end(lines)
    head = next((s.heading_line for s in document.sections if s.level > 1), len(lines) + 1)
    plain = _first_block_end(lines, min(head, len(lines) + 1))
    for number, line in enumerate(lines, 1):
        section = headings.get(number)
        if section is not None:
            inside = section.level == 1 or fold(section.title) in _PLACES
            continue
        if not own[number - 1] or ":" not in line or len(line) > LINE_LIMIT:
            continue
        for part in _SEVERAL.split(line):
            pair = field_of(part.rstrip())
            if pair is None:
                continue
            marked = "**" in part or "__" in part or line.lstrip().startswith(("-", "*")) or number <= front
            key = fold(pair[0])
            marked = marked or (number < plain and key in _PLAIN_KEYS)
            if (inside and marked) or (marked and key in _TAG_KEYS):
                key = _HEAD_PARENT if key in _PARENT_KEYS and number < head and line[:1].strip() else key
                facts.add(key, pair[1] or _nested(lines, number, own), number)


def _front_matter_end(lines: Sequence[str]) -> int:
    """Return the line that closes front matter, 0 when there is none."""
    if lines[0].rstrip() != "---":
        return 0
    return next((n for n, line in enumerate(lines[1:_FRONT_LIMIT], 2) if line.rstrip() == "---"), 0)


def _first_block_end(lines: Sequence[str], head: int) -> int:
    """Return the first line that is neither a title, nor blank, nor `Key: value`; `head` where all are."""
    return next(
        (
            number
            for number, line in enumerate(lines[: head - 1], 1)
            if line.strip(" -=") and not line.startswith("# ") and field_of(line) is None
        ),
        head,
    )


def _nested(lines: Sequence[str], number: int, own: Sequence[bool]) -> str:
    """Return the items of the list below a key without a value."""
    found: list[str] = []
    for index in range(number, min(number + _FRONT_LIMIT, len(lines))):
        match = _ITEM.match(lines[index]) if own[index] and len(lines[index]) <= LINE_LIMIT else None
        if match is None:
            break
        found.append(match.group(1))
    return ", ".join(found)


def tag_of(found: ClaimList, facts: Facts) -> str | None:
    """Return the compression tag; two places that disagree are a finding."""
    tags: list[tuple[str, int]] = []
    for value, line in facts.all(*_TAG_KEYS, "tag"):
        tag = _NOTE.sub("", bare(value)[:300]).strip("` ")
        if _TAG.fullmatch(tag):
            tags.append((tag, line))
        else:
            found.warn("bad-tag", f"{tag[:40]!r} is no compression tag", line, "write TOPIC_A_RESULT")
    if not tags:
        return None
    for tag, line in tags[1:]:
        if tag != tags[0][0]:
            found.warn(
                "families-disagree",
                f"the tag is {tags[0][0]} on line {tags[0][1]} and {tag} on line {line}; the first stands",
                line,
            )
            break
    return tags[0][0]


def created_of(found: ClaimList, facts: Facts) -> Instant | None:
    """Return the most precise time that the text names, a time of day before a mere date."""
    dates: list[tuple[bool, Instant]] = []
    for value, line in facts.all(*_CREATED_KEYS):
        try:
            dates.append((re.search(r"\d[Tt ]\d{1,2}:\d\d", value[:100]) is None, parse_moment(bare(value))))
        except ValueError as e:
            found.warn("bad-time", str(e), line, "write 2026-03-04T16:20:00Z")
    return min(dates, key=lambda pair: pair[0])[1] if dates else None


def turns_of(facts: Facts) -> tuple[int | None, TurnRange | None]:
    """Return the number of turns and the range that was compressed."""
    turns: int | None = None
    ranges: list[TurnRange | None] = []
    everything = False
    for value, _ in facts.all(
        "compressed turn range", "turn range", "turns", "turns compressed", "compression scope", "scope"
    ):
        text = fold(bare(value))
        everything = everything or text.startswith(("all", "full"))
        ranges.append(parse_range(value))
    for value, _ in facts.all(
        "turns", "turns compressed", "last compressed turn", "last compressed turn count"
    ):
        if turns is None and parse_range(value) is None:
            turns = parse_integer(value)
    known = next((turn_range for turn_range in ranges if turn_range), None)
    if known is None and everything and turns:
        known = (1, turns)
    if turns is None and known is not None:
        turns = known[1] - known[0] + 1
    return turns, known


def conversation_of(facts: Facts) -> str | None:
    """Return the uuid by which the archive names its own conversation."""
    keys = ("source conversation", "conversation id", "conversation uuid", "conversation")
    return next((bare(v).casefold() for v, _ in facts.all(*keys) if is_uuid(bare(v))), None)


def parents_of(
    found: ClaimList,
    facts: Facts,
    document: Document,
    own: Sequence[bool],
    blocks: Sequence[MachineBlock],
    tag: str | None,
) -> tuple[str, ...]:
    """Return what the archive continues, nearest first."""
    named: list[str] = []
    for value, _ in facts.all("inherited from", "previous session", "prior compression tag"):
        named += _names(value)
    for value, line in facts.all(_HEAD_PARENT):
        for name in _names(value):
            if _TAG.fullmatch(name) and _NAMES_ONE.search(name):
                named.append(name)
            else:
                found.warn(
                    "bad-parent", f"{name[:40]!r} is no compression tag", line, "write the parent's tag"
                )
    for table in document.tables:
        if own[table.line - 1] and {"tag", "relationship"} <= set(table.columns):
            named += _lineage_rows(table)
    for value, _ in facts.all("compression scope", "scope"):
        named += [match.group(1) for match in _BRIDGING.finditer(value[:1000])]
    for block in blocks:
        lineage = block.payload.get("lineage")
        parent = lineage.get("parent_conversation") if isinstance(lineage, Mapping) else None
        named += [*block.parents, *(_names(parent) if isinstance(parent, str) else ())]
    if not named:  # a chain lists all ancestors; only its last one was continued
        chains = (_names(value) for value, _ in facts.all("prior compression chain"))
        named = [name for chain in chains for name in [each for each in chain if each != tag][-1:]]
    clean = (name.casefold() if is_uuid(name) else name for name in named)
    return tuple(dict.fromkeys(name for name in clean if _TAG.fullmatch(name) and name != tag))


def _names(value: str) -> list[str]:
    parts = items(_ARROWS.sub(",", value))
    return [_NOTE.sub("", bare(part)[:300]).strip("` ") for part in parts if not is_none(part)]


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


def mode_of(facts: Facts, document: Document, turn_range: TurnRange | None) -> CompressionMode | None:
    """Return how the conversation was compressed, as far as the text shows it."""
    keys = {fold(section.title) for section in document.sections}
    modes = {fold(bare(value)) for value, _ in facts.all("compression mode")}
    scopes = [fold(bare(value)) for value, _ in facts.all("compression scope", "scope", "inherited mode")]
    bridged = any(_BRIDGING.search(value[:1000]) for value, _ in facts.all("compression scope", "scope"))
    # A later stretch of a session begins late as well; only where nothing is said does that tell.
    starts_late = turn_range is not None and turn_range[0] > 1 and not scopes and not modes
    partial = any(scope.startswith("partial") for scope in scopes) or "partial" in modes
    if partial or bridged or starts_late or "foundational context" in keys:
        return CompressionMode.PARTIAL
    if modes & {"hybrid lossless", "lossless"}:
        return CompressionMode.LOSSLESS
    if "lossy" in modes or "compression" in keys:
        return CompressionMode.LOSSY
    archive = any(key.startswith("conversation archive") for key in keys)
    return CompressionMode.LOSSLESS if archive or {"decision log", "full transcript"} & keys else None


def title_of(document: Document, own: Sequence[bool]) -> tuple[str, str | None]:
    """Return the archive's title and, where that is a name without blanks, the session it stands for."""
    level_one = [s for s in document.sections if s.level == 1 and own[s.heading_line - 1]]
    for section in level_one:
        match = _ARCHIVE_TITLE.match(section.title)
        if match:
            title = one_line(bare(match.group(1)))
            return title, title if _TAG.fullmatch(title) else None
    return (one_line(bare(level_one[0].title)) if level_one else ""), None
