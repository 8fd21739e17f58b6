"""What an archive states about itself: tag, session, time, turns, mode, and what it continues.

In: the page with its machine blocks and YAML mappings. Out: `Facts`, the values of each fact, the most
trusted place first (machine blocks, text, tables, YAML); the other functions read one fact each from them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any

from forgekit.archives.claims import (
    AND,
    IDS,
    LOCAL_ID,
    ClaimList,
    ascii_of,
    bare,
    is_moment,
    is_none,
    items,
    key_of,
    kind_of,
    parse_integer,
    parse_moment,
    parse_range,
    references,
)
from forgekit.archives.descriptions import QUOTED
from forgekit.archives.document import Node
from forgekit.archives.labels import (
    MODES,
    fact_named,
    fold,
    is_symbol,
    leading,
    lists_kind,
    named_parent,
    names_parent,
    names_place,
)
from forgekit.archives.machine_block import MachineBlock
from forgekit.archives.notes import LABEL, split_labels
from forgekit.archives.records import Page
from forgekit.archives.spans import Span
from forgekit.ids import is_id
from forgekit.model.entities import CompressionMode
from forgekit.model.fields import TurnRange
from forgekit.model.rules import one_line
from forgekit.times import Instant

_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/#-]{1,127}")
_GIVEN_TAG = re.compile(r"[A-Za-z0-9][\w./#:-]{1,127}|(?=[^\W_]+[-._/#:])[^\W_][\w./#:-]{1,127}")
"""A tag behind a label, where letters of any script and colons count too."""
_CODE = re.compile(
    r"[^\s,;:=()\[\]{}\"'`*<>|\u201c\u201d\u00ab\u00bb\u2190-\u21ff\u3000-\u9fff\uff00-\uff5e]+"
)
_COUNTED = re.compile(r"(?:\d{1,4}|(?<=[-_./#])(?:(?=[IVX])X{0,3}(?:I[VX]|V?I{0,3})|[A-Za-z]))$")
_ONES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_ROMAN = tuple(f"{'X' * tens}{ones}" for tens in range(4) for ones in _ONES)
_NEAR, _PAIR = 3, 2
_OTHER_TAG = re.compile(r"(?<![A-Za-z0-9_])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![A-Za-z0-9_])")
_NAMES_ONE = re.compile(r"[-_./#\d]")  # a mere word is no tag
_BRIDGING = re.compile(
    r"bridg(?:ing|es?|ed)\s{1,3}from\s{1,3}[`\"'*]*([A-Za-z0-9][A-Za-z0-9._-]{1,127})", re.IGNORECASE
)
_SEVERAL = re.compile(r"\s[|\u00b7\u2022]\s|\u3000+|(?<=\S)\s(?=[\u3040-\u9fff]{1,8}\uff1a)")
_ALIGNED = re.compile(r"([^\W\d_][^\W\d_ ]*(?: [^\W\d_]+){0,2})(?: {2,}|\t+)(?=\S)(.+)$", re.DOTALL)
"""`PARENT     The first round`: a label and its value in columns."""
_ORDER = re.compile(r"#(\d{1,4})")
_NAME = r"[`\"*_#\u27e6]*(?=[^\W_]*[-._/#\d])[A-Za-z0-9][A-Za-z0-9._/#-]*[A-Za-z0-9][`\"*_\u27e7]*"
_PLAIN_PARENTS = re.compile(
    rf"[\W_]*([^\W\d_]+(?: [^\W\d_]+)?) ({_NAME}(?:(?:,| {AND}) {_NAME})*)(?:[.;,)]|\s*$)"
)
"""`Continues tw-10 and tw-12.`"""
_ARROWS = re.compile(r"->|\u2192|=>")
_NOTE = re.compile(r"\s*\([^()]*\)$")
_REMARK = re.compile(r"(?<=.)(?:[;(\uff08]|[,.:\u2013\u2014]\s)")
_LONGEST = 300
"""Characters of a description of a parent."""
_DESCRIBING = re.compile(rf"(?<=[^\W\d_][.;!?])\s|[;\n\u3002]|(?<![^\s])\(|\)|{_SEVERAL.pattern}")
_HEAD_LINES = 15
_CLAUSE_END = re.compile(r"[.;)\n\uff09\u3002]")
_ARCHIVE_TITLE = re.compile(r"conversation archive\s*[:\u2013\u2014-]\s*(\S.*)$", re.IGNORECASE)


class Facts:
    """Facts with their values and lines, the most trusted place first."""

    def __init__(self) -> None:
        self._pairs: dict[str, list[tuple[str, int]]] = {}

    def add(self, name: str, value: str, line: int) -> None:
        """Add one value."""
        self._pairs.setdefault(name, []).append((value, line))

    @property
    def lines(self) -> set[int]:
        """The lines that labelled values are on."""
        return {line for pairs in self._pairs.values() for _, line in pairs}

    def all(self, *names: str) -> Iterator[tuple[str, int]]:
        """Yield every value under the names, in their order, but for spellings of "none"."""
        for name in names:
            yield from (pair for pair in self._pairs.get(name, ()) if not is_none(pair[0]))

    def first(self, *names: str) -> str | None:
        """Return the first value as one line, without marks around it."""
        return next((one_line(bare(value)) for value, _ in self.all(*names)), None)


def collect(page: Page, blocks: Sequence[MachineBlock]) -> Facts:
    """Gather the facts of machine blocks, of the text and of the YAML in it, in that order."""
    facts = Facts()
    for block in blocks:
        for name, value in (("tag", block.tag), ("project", block.project)):
            if value:
                facts.add(name, value, block.first_line)
        _mapping_facts(facts, block.payload, block.first_line)
    _text_facts(facts, page)
    for table in page.document.nodes:
        if table.kind == "table" and len(table.cells) == 2 and page.own[table.line - 1]:
            rows = [(fact_named(row.cells[0]), row) for row in table.children if len(row.cells) == 2]
            known = [(each, row) for each, row in rows if each]
            for each, row in known if 2 * len(known) >= len(rows) else ():
                facts.add(each, row.cells[1], row.line)
    for mapping in page.found.documents:
        _mapping_facts(facts, mapping, getattr(mapping, "line", 0) or 1)
    return facts


_SURE_DATE = 2.5
"""The least margin of the archive's own day without a label; below it are days that it plans or remembers."""


def add_tagged(facts: Facts, spans: Iterable[Span], taken: Collection[int], page: Page) -> None:
    """Add what the tagger took for facts, where no label gives them; `taken` lines name no parent."""
    lines, own = page.document.lines, page.own
    ids = {key_of(claim.local_id) for claim in page.found.claims}
    others = {name for value, _ in facts.all("parent", "inherited", "chain") for name in _names(value)}
    known = {name for name in ("tag", "project") if facts.first(name)}
    known |= {"parent"} if others else set()
    known |= {"date"} if facts.first("created", "day") else set()
    tag = facts.first("tag")
    loose = {n: line for n, line in enumerate(lines, 1) if n not in taken and own[n - 1]}
    place = next((pair for pair in _successive(loose) if tag in (None, pair[0][0])), None)
    for number, value in enumerate(place[0] if place else ()):
        name = "parent" if number else "tag"
        if name not in known:
            facts.add(name, value, place[1] if place else 0)
            others.add(value)
    known |= {"tag"} if place else set()
    for span in sorted(spans, key=lambda span: -span.margin if span.tag == "tag" else 0):
        if span.tag in known or span.tag not in ("tag", "project", "parent", "date"):
            continue
        is_cell = span.tag == "project" and lines[span.line - 1].lstrip()[:1] == "|"
        if is_cell and span.line in facts.lines:
            continue  # it is behind another label
        is_date = span.margin >= _SURE_DATE and is_moment(bare(span.text), day_first=True)
        if span.tag == "date" and not is_date:
            continue
        if span.tag == "parent" and (span.line in taken or (place and abs(span.line - place[1]) > _NEAR)):
            continue
        names = [_outside_quotes(lines[span.line - 1], span)]
        if span.tag in ("tag", "parent"):
            codes = _codes(lines[span.line - 1], span)
            names = [name for name in codes if name not in others and not IDS.fullmatch(name)]
            names = [name for name in names if key_of(name) not in ids and kind_of(name) not in ("D", "T")]
        for name in names[: 1 if span.tag == "tag" else None]:
            facts.add("day" if span.tag == "date" else span.tag, name, span.line)


def _successive(lines: Mapping[int, str]) -> Iterator[tuple[list[str], int]]:
    """Yield two or three names that count one up, the last first, and the line of the one before it.

    They are near each other, no other name counts with them, and of three the last is above the others.
    """
    counted: dict[str, dict[str, int]] = {}
    for number, line in lines.items():
        for name in (match.group().strip(".") for match in _CODE.finditer(line)):
            count = _COUNTED.search(name) if _TAG.fullmatch(name) else None
            if count and sum(map(str.isalpha, name[: count.start()])) >= _NEAR:
                counted.setdefault(name[: count.start()], {}).setdefault(name, number)
    for series, names in counted.items():
        if _PAIR <= len(names) <= _PAIR + 1:
            newest, *older = sorted(names, key=lambda name: -_count(name.removeprefix(series)))
            counts = [_count(name.removeprefix(series)) for name in (newest, *older)]
            steps = {one - other for one, other in pairwise(counts)}
            first = len(names) == _PAIR or names[newest] < min(names[name] for name in older)
            if steps == {1} and first and abs(names[older[0]] - names[newest]) <= _NEAR:
                yield [newest, *reversed(older)], names[older[0]]


def _outside_quotes(line: str, span: Span) -> str:
    """Return a name; one that ends within quotes goes on to the end of its line."""
    is_cut = span.text.count('"') % 2 == 1 and span.tag == "project"
    return line[span.column :].strip(" *_#|") if is_cut else span.text.rstrip(" ,;:")


def _count(text: str) -> int:
    """Return what a number, a Roman number below forty or a letter counts."""
    return int(text) if text.isdigit() else _ROMAN.index(text) if text in _ROMAN else ord(text.casefold())


def _codes(line: str, span: Span) -> list[str]:
    """Return the names in a span, each as far as it reaches on its line."""
    first, last = span.column, span.column + len(span.text)
    found = (match for match in _CODE.finditer(line) if match.start() < last and first < match.end())
    names = (match.group().strip(".\u2605") for match in found)
    return [n for n in names if _TAG.fullmatch(n) and _NAMES_ONE.search(n) and re.search("[A-Za-z]", n)]


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
    """Gather the labelled lines of the head and of metadata sections, and what else the head states."""
    root, parts = page.document.root, page.document.nodes
    sections = [n for n in parts if n.kind == "heading"]
    before = [
        n for n in root.children if n.kind != "heading" and not (sections and n.line > sections[0].line)
    ]
    places = [before, *([n for n in s.children if n.kind != "heading"] for s in sections[:1])]
    places = places if before and sections else [before or places[-1]]
    head = [each for nodes in places for each in nodes]
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
    lines = [*sections[:1], *takewhile(lambda n: n.line not in page.taken and n.kind != "table", head)]
    _loose_facts(facts, [node for node in lines if page.speaks(node)])


def _is_of_facts(section: Node) -> bool:
    """Say whether most lines of a section begin with labels of facts, of which one is a tag or a parent."""
    lines = [node for node in section.children if node.kind in ("line", "item")]
    labels = (LABEL.match(ascii_of(node.text)) for node in lines)
    found = [fact_named(label["key"]) for label in labels if label and ":" in label["sep"]]
    named = list(filter(None, found))
    return len(named) > 1 and 2 * len(named) >= len(lines) and not {"tag", "parent"}.isdisjoint(named)


def _loose_facts(facts: Facts, lines: Sequence[Node]) -> None:
    """Take tags and the date out of the title and the text of the head, where no label gives them."""
    known = {
        _bare_name(part)
        for value, _ in facts.all("tag", "parent", "inherited", "chain", "session")
        for part in [*items(value), value]
    }
    tagged = facts.first("tag") is not None
    for node in lines:
        reached, is_parent = 0, False
        for match in _OTHER_TAG.finditer(node.text):
            between = node.text[reached : match.start()]
            joined = re.fullmatch(rf"[\W_]*{AND}?[\W_]*", between) and reached
            is_parent = bool(joined and is_parent) or names_parent(between)
            reached = match.end()
            if match.group() in known or node.text[match.end() : match.end() + 1] == ":":
                continue
            label = LABEL.match(ascii_of(node.text.lstrip("- *_")))
            other = label is not None and fact_named(label["key"]) is None
            if is_parent or other or not tagged:
                known.add(match.group())
                facts.add("parent" if is_parent or tagged else "tag", match.group(), node.line)
                tagged = True
    if not facts.first("parent", "inherited", "chain"):
        _unlabelled_parents(facts, lines)
    if not facts.first("created", "day"):
        dated = next((node for node in lines[:4] if is_moment(node.text)), None)
        if dated is not None:
            facts.add("day", dated.text, dated.line)


def _unlabelled_parents(facts: Facts, lines: Sequence[Node]) -> None:
    """Take names and the title in quotes behind words that say that they are continued."""
    for node in lines:
        plain = _PLAIN_PARENTS.match(node.text)
        if plain and fact_named(plain[1]) == "parent":
            facts.add("parent", plain[2], node.line)
        for match in QUOTED.finditer(node.text):
            if names_parent(node.text[: match.start()]):
                dated = _CLAUSE_END.split(node.text[match.end() :], maxsplit=1)[0]
                facts.add("parent", match.group() + dated, node.line)


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
        if _GIVEN_TAG.fullmatch(tag):
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
    described = []
    for value, _ in facts.all("parent"):
        if not is_none(_REMARK.split(value, maxsplit=1)[0]) and not is_none(value.strip(" :()")):
            tags = [name for name in _names(value) if _GIVEN_TAG.fullmatch(name) and _NAMES_ONE.search(name)]
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
    tags = [name for name in clean if _GIVEN_TAG.fullmatch(name) and name != tag]
    return tuple(dict.fromkeys([*tags, *described]))


_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab\u300c\u300e]([^\"\u201c\u201d\u00bb\u300d\u300f]{2,80})[\"\u201c\u201d\u00bb\u300d\u300f]"
    r"\s*(?:[^\W\d_]{1,3}\s*)?(?:[(,;.]|$)"
)
"""A name in quotes with nothing behind it but the end of a verb or a remark."""


_COUNT = re.compile(
    r"((?:[^\W\d_]{2,}\s+)?[^\W\d_]{2,}(?:[.#/]\s?|\s)|[\u3040-\u30ff\u3400-\u9fff]+)([2-9]|\d{2})(?![\d.])"
)
_COUNT_END = re.compile(r"(?<=[^\W\d_]{2}[.!])\s|\s[|\u00b7]|[;\u3002]")


def described_parents(page: Page) -> tuple[str, ...]:
    """Return what a sentence above the first record says is continued, by its day or number."""
    first = min((claim.line for claim in page.found.claims), default=_HEAD_LINES)
    ids = {key_of(claim.local_id) for claim in page.found.claims}
    head = [line for n, line in enumerate(page.document.lines[: min(first - 1, _HEAD_LINES)]) if page.own[n]]
    for sentence in (part for line in head for part in _DESCRIBING.split(line)):
        plain = _PLAIN_PARENTS.match(sentence)
        described = plain[2] if plain and fact_named(plain[1]) == "parent" else named_parent(sentence)
        if re.search(r"\d", described) and ids.isdisjoint(map(key_of, references(described))):
            described = described.lstrip(" :,;.-\u2013\u2014")
            at = sentence.casefold().find(described)
            return (_unquoted(one_line(sentence[at : at + len(described)] if at >= 0 else described)),)
    return _counted_before(head)


def _counted_before(head: Iterable[str]) -> tuple[str, ...]:
    """Return what the head names by the words and the number before the title's: `archive no. 1` of no. 2."""
    title, *others = [line for line in head if line.strip()] or [""]
    for count in _COUNT.finditer(title):
        for words in (count[1], count[1].split(None, 1)[-1]):
            name = rf"{re.escape(words)}{int(count[2]) - 1}(?!\d)"
            before = re.compile(rf"(?<!\w){name}" if words.isascii() else name, re.IGNORECASE)
            if found := next(((match, line) for line in others if (match := before.search(line))), None):
                match, line = found
                rest = _COUNT_END.split(line[match.end() :], maxsplit=1)[0]
                return (one_line(match[0] + rest).strip(" *_."),)
    return ()


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
    chosen = joined if all(_GIVEN_TAG.fullmatch(_bare_name(part)) for part in joined) else parts
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
