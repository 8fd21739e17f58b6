"""What an archive states about itself: tag, session, time, turns, mode, and what it continues.

In: the page with its machine blocks and YAML mappings. Out: `Facts`, the values of each fact, the most
trusted place first (machine blocks, data, labelled lines, tables, the tagger). The other functions read one
fact each from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from forgekit.archives.claims import (
    AND,
    LOCAL_ID,
    ClaimList,
    ascii_of,
    bare,
    is_none,
    items,
    key_of,
    parse_integer,
    parse_moment,
    parse_range,
)
from forgekit.archives.document import Node
from forgekit.archives.heads import NAMES_ONE, TAG, Head
from forgekit.archives.labels import (
    MODES,
    fact_named,
    fold,
    is_symbol,
    leading,
    lists_kind,
    names_place,
)
from forgekit.archives.machine_block import MachineBlock
from forgekit.archives.notes import LABEL, split_labels
from forgekit.archives.records import BOLD_LINE, Page
from forgekit.ids import is_id
from forgekit.model.entities import CompressionMode
from forgekit.model.fields import TurnRange
from forgekit.model.rules import one_line, statement
from forgekit.times import Instant

_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/#-]{1,127}")
_BRIDGING = re.compile(
    r"bridg(?:ing|es?|ed)\s{1,3}from\s{1,3}[`\"'*]*([A-Za-z0-9][A-Za-z0-9._-]{1,127})", re.IGNORECASE
)
_SEVERAL = re.compile(r"\s[|\u00b7\u2022]\s|\u3000+|(?<=\S)\s(?=[\u3040-\u9fff]{1,8}\uff1a)")
_ALIGNED = re.compile(r"([^\W\d_][^\W\d_ ]*(?: [^\W\d_]+){0,2})(?: {2,}|\t+)(?=\S)(.+)$", re.DOTALL)
"""`PARENT     The first round`: a label and its value in columns."""
_ORDER = re.compile(r"#(\d{1,4})")
_ARROWS = re.compile(r"->|\u2192|=>")
_NOTE = re.compile(r"\s*\([^()]*\)$")
_REMARK = re.compile(r"(?<=.)(?:[;(\uff08]|[,.:\u2013\u2014]\s)")
_LONGEST_HEADING = 80
"""Characters of a first line that an archive is shown by."""
_COLONS = " :\uff1a"
_LONGEST = 300
"""Characters of a description of a parent."""
_ARCHIVE_TITLE = re.compile(r"conversation archive\s*[:\u2013\u2014-]\s*(\S.*)$", re.IGNORECASE)


class Facts:
    """Facts with their values and lines, the most trusted place first."""

    def __init__(self) -> None:
        self._pairs: dict[str, list[tuple[str, int]]] = {}

    def add(self, name: str, value: str, line: int) -> None:
        """Add one value."""
        self._pairs.setdefault(name, []).append((value, line))

    def all(self, *names: str) -> Iterator[tuple[str, int]]:
        """Yield every value under the names, in their order, but for spellings of "none"."""
        for name in names:
            yield from (pair for pair in self._pairs.get(name, ()) if not is_none(pair[0]))

    def every(self, name: str) -> list[str]:
        """Return the values under a name, spellings of "none" too."""
        return [value for value, _ in self._pairs.get(name, ())]

    def first(self, *names: str) -> str | None:
        """Return the first value as one line, without marks around it."""
        return next((one_line(bare(value)) for value, _ in self.all(*names)), None)


def collect(page: Page, blocks: Sequence[MachineBlock]) -> Facts:
    """Gather the facts of machine blocks, of data and of labels, in that order."""
    facts = Facts()
    for block in blocks:
        for name, value in (("tag", block.tag), ("project", block.project)):
            if value:
                facts.add(name, value, block.first_line)
        _mapping_facts(facts, block.payload, block.first_line)
    for mapping in page.found.documents:
        _mapping_facts(facts, mapping, getattr(mapping, "line", 0) or 1)
    _text_facts(facts, page)
    for table in page.document.nodes:
        if table.kind == "table" and len(table.cells) == 2 and page.own[table.line - 1]:
            rows = [(fact_named(row.cells[0]), row) for row in table.children if len(row.cells) == 2]
            known = [(each, row) for each, row in rows if each]
            for each, row in known if 2 * len(known) >= len(rows) else ():
                facts.add(each, row.cells[1], row.line)
    return facts


def is_complete(facts: Facts) -> bool:
    """Say whether facts leave nothing for the tagger to find in the head."""
    named = facts.first("tag") and facts.first("project") and facts.first("created", "day")
    return bool(named) and _names_parents(facts)


def add_head(facts: Facts, head: Head) -> None:
    """Add what the tagger found in head and foot, where nothing else gives it; its project as a guess."""
    if not facts.first("tag"):
        for pair in head.tags:
            facts.add("tag", *pair)
    if not _names_parents(facts):
        for pair in head.parents:
            facts.add("continued", *pair)
    if not facts.first("created", "day"):
        for pair in head.days:
            facts.add("day", *pair)
    for pair in head.projects[:1]:
        facts.add("guess", *pair)


def _names_parents(facts: Facts) -> bool:
    """Say whether facts name what is continued; "none" is an answer too."""
    return any(map(facts.every, ("parent", "inherited", "chain")))


def _mapping_facts(facts: Facts, mapping: Mapping[str, Any], line: int) -> None:
    for key, value in mapping.items():
        name, fact = fold(key), fact_named(key)
        if isinstance(value, str):
            if fact:
                facts.add(fact, value, line)
        elif isinstance(value, Mapping):
            if name in ("compression scope", "inherited context") and isinstance(value.get("mode"), str):
                facts.add("scope", value["mode"], line)
            known = name in ("conversation state", "compression scope", "metadata", "archive", "session")
            if known or sum(isinstance(v, str) and fact_named(k) is not None for k, v in value.items()) > 1:
                _mapping_facts(facts, value, getattr(value, "line", line))
        elif fact and isinstance(value, list) and all(isinstance(item, str) for item in value):
            facts.add(fact, f"[{', '.join(value)}]", line)


def _text_facts(facts: Facts, page: Page) -> None:
    """Gather the labelled lines of the head and of metadata sections."""
    root, parts = page.document.root, page.document.nodes
    sections = [n for n in parts if n.kind == "heading"]
    before = [
        n for n in root.children if n.kind != "heading" and not (sections and n.line > sections[0].line)
    ]
    places = [before, *([n for n in s.children if n.kind != "heading"] for s in sections[:1])]
    places = places if before and sections else [before or places[-1]]
    places += [s.children for s in sections[1:] if s.level == 1 or names_place(s.text) or _is_of_facts(s)]
    plain = True
    for nodes in places:
        for index, node in enumerate(nodes):
            if node.kind not in ("line", "item") or not page.speaks(node):
                continue
            if node.line in page.taken or any(lists_kind(node.text, k) for k in "DT"):
                plain = False
                continue
            labelled = _line_facts(facts, node, nodes[index + 1 : index + 60], is_plain=plain)
            plain = plain and (labelled or (nodes is places[0] and index == 0))
        plain = plain and nodes is places[0]


def _is_of_facts(section: Node) -> bool:
    """Say whether most lines of a section begin with labels of facts, of which one is a tag or a parent."""
    lines = [node for node in section.children if node.kind in ("line", "item")]
    labels = (LABEL.match(ascii_of(node.text)) for node in lines)
    found = [fact_named(label["key"]) for label in labels if label and ":" in label["sep"]]
    named = list(filter(None, found))
    return len(named) > 1 and 2 * len(named) >= len(lines) and not {"tag", "parent"}.isdisjoint(named)


def _line_facts(facts: Facts, node: Node, after: Sequence[Node], *, is_plain: bool) -> bool:
    """Add the facts of a line; return whether it has a label."""
    start = next((n for n, c in enumerate(node.text[:12]) if not (is_symbol(c) or c.isspace())), 0)
    text, labelled = node.text[start:], False
    if aligned := _ALIGNED.match(text):
        text, labelled = f"{aligned[1]}: {aligned[2]}", True
    for part in _SEVERAL.split(text):
        match = LABEL.match(ascii_of(part.lstrip("- ")))
        marked = node.kind == "item" or bool(aligned) or (match is not None and match["mark"] != "")
        lead, pairs = split_labels(
            part.strip().lstrip("*_") if part.startswith("*") and not part.startswith("**") else part, ""
        )
        labelled = labelled or bool(pairs) or (match is not None and ":" in match["sep"])
        if (
            match
            and ":" in match["sep"]
            and not part[match.end() :].strip()
            and (name := fact_named(match["key"]))
        ):
            below = [c.text for c in node.children] or [
                c.text
                for c in takewhile(lambda each: each.kind == "item" and not LOCAL_ID.match(each.text), after)
            ]
            pairs = [(name, ", ".join(below))]
            lead = ""
        for name, value in pairs if marked or is_plain else ():
            if not lead.strip(" *_") or name == "project":
                facts.add(name, value, node.line)
    return labelled


def tag_of(found: ClaimList, facts: Facts) -> str | None:
    """Return the compression tag; two places that disagree are a problem."""
    tags: list[tuple[str, int]] = []
    for value, line in facts.all("tag"):
        tag = _bare_name(value)
        if TAG.fullmatch(tag):
            tags.append((tag, line))
        elif not value.startswith("["):  # a list of topics, as in front matter
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
    for name in ("created", "day"):
        for value, line in facts.all(name):
            has_time = re.search(r"\d[Tt ]\d{1,2}:\d\d", value[:100]) is not None
            try:
                dates.append((not has_time, parse_moment(bare(value), day_first=name == "day")))
            except ValueError as e:
                found.warn("bad-time", str(e), line, "write 2026-03-04T16:20:00Z")
    return min(dates, key=lambda pair: pair[0])[1] if dates else None


def turns_of(facts: Facts) -> tuple[int | None, TurnRange | None]:
    """Return the number of turns and the range that was compressed."""
    ranges = [value for value, _ in facts.all("turns", "scope")]
    values = facts.all("turns")
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
    return next((bare(v).casefold() for v, _ in facts.all("conversation") if is_id(bare(v).casefold())), None)


def parents_of(page: Page, facts: Facts, blocks: Sequence[MachineBlock], tag: str | None) -> tuple[str, ...]:
    """Return the tags and conversations that the archive continues, nearest first, and what describes one."""
    named: list[str] = []
    for value, _ in facts.all("inherited"):
        named += _names(value)
    described: list[str] = []
    for name in facts.every("continued"):
        (named if TAG.fullmatch(name) and NAMES_ONE.search(name) else described).append(name)
    for value, _ in facts.all("parent"):
        if not is_none(_REMARK.split(value, maxsplit=1)[0]) and not is_none(value.strip(" :()")):
            tags = [name for name in _names(value) if TAG.fullmatch(name) and NAMES_ONE.search(name)]
            named += tags
            described += [] if tags else [_unquoted(one_line(value))[:_LONGEST]]
    for table in page.document.nodes:
        columns = list(map(fold, table.cells))
        if table.kind == "table" and page.own[table.line - 1] and {"tag", "relationship"} <= set(columns):
            named += _lineage_rows(columns, table.children)
    named += _bridged(facts)
    for block in blocks:
        lineage = block.payload.get("lineage")
        parent = lineage.get("parent_conversation") if isinstance(lineage, Mapping) else None
        named += [*block.parents, *(_names(parent) if isinstance(parent, str) else ())]
    if not named:  # a chain lists all ancestors; only its last one was continued
        chains = (_names(value) for value, _ in facts.all("chain"))
        named = [name for chain in chains for name in [each for each in chain if each != tag][-1:]]
    own = {key_of(claim.local_id) for claim in page.found.claims}
    named = [name for name in named if key_of(name) not in own]  # such as `follows from DEC_01`
    clean = (name.casefold() if is_id(name.casefold()) else name for name in named)
    tags = [name for name in clean if TAG.fullmatch(name) and name != tag]
    return tuple(dict.fromkeys([*tags, *described]))


_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab\u300c\u300e]([^\"\u201c\u201d\u00bb\u300d\u300f]{2,80})[\"\u201c\u201d\u00bb\u300d\u300f]"
    r"\s*(?:[^\W\d_]{1,3}\s*)?(?:[(,;.]|$)"
)
"""A name in quotes with nothing behind it but the end of a verb or a remark."""


def _unquoted(words: str) -> str:
    """Return the name in quotes that words begin with, else all of them."""
    quoted = _QUOTED.match(words)
    return quoted[1] if quoted else words


def _bridged(facts: Facts) -> list[str]:
    """Return the tags in scopes such as `partial (turns 3-9, bridging from TAG)`."""
    scopes = facts.all("scope")
    return [match.group(1) for value, _ in scopes for match in _BRIDGING.finditer(value[:1000])]


def _names(value: str) -> list[str]:
    parts = items(_ARROWS.sub(",", value))
    joined = [part for each in parts for part in re.split(rf"\s{AND}\s", each)]
    chosen = joined if all(TAG.fullmatch(_bare_name(part)) for part in joined) else parts
    return [_bare_name(part) for part in chosen if not is_none(part)]


def _lineage_rows(columns: Sequence[str], rows: Iterable[Node]) -> list[str]:
    """Return the parents in a lineage table: those the current row names, else all other rows."""
    wanted: list[str] = []
    parents: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        cell = dict(zip(columns, row.cells, strict=False))
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
    modes = {leading(bare(value), MODES)[0] for value, _ in facts.all("mode")}
    scopes = [fold(bare(value)) for value, _ in facts.all("scope")]
    # A later stretch of a session begins late too, so that counts only if nothing else is stated.
    starts_late = turn_range is not None and turn_range[0] > 1 and not scopes and not modes
    partial = any(scope.startswith("partial") for scope in scopes) or "partial" in modes
    if partial or _bridged(facts) or starts_late or "foundational context" in keys:
        return CompressionMode.PARTIAL
    if "lossless" in modes:
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


def heading_of(page: Page) -> str:
    """Return what the lines above the first record call the archive.

    That is a heading or a line in bold, if one is among them, else the first line.
    """
    first = ""
    for node in page.document.nodes:
        if node.line in page.taken:
            break
        bold = BOLD_LINE.match(node.text) if node.kind == "line" else None
        words = bare(node.text if node.kind == "heading" else bold["label"] if bold else "")
        if words and page.speaks(node) and not any(lists_kind(words, kind) for kind in "DTA"):
            return one_line(words).rstrip(_COLONS)
        if not first and node.kind == "line" and page.speaks(node):
            first = one_line(bare(node.text)).rstrip(_COLONS)
    return statement(first, _LONGEST_HEADING)
