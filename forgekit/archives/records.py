"""Records in Markdown: found by id, by the label above them or by the header of their table.

In: a document and which of its lines are the archive's own. Out: claims. A record reaches over what is below
its heading or item, the lines that go on its paragraph, and the labelled lines behind it. What looks like a
label in it and is not understood is reported and kept in its text; so is an id that became no record.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Any

from forgekit.archives.claims import (
    ANY_ID,
    IDS,
    LOCAL_ID,
    OWN_FIELDS,
    PLAIN_ID,
    REST,
    SCALE,
    SHORT,
    SHORT_ID,
    TEXT_NAMES,
    Claim,
    ClaimList,
    ascii_of,
    bare,
    keep_unknown,
    key_of,
    kind_of,
    make_claim,
    named_fields,
    parse_integer,
    parse_range,
)
from forgekit.archives.differences import change_of, is_change
from forgekit.archives.document import LINE_LIMIT, Document, Node, pasted_from, read_document, walk
from forgekit.archives.labels import (
    ANSWERS,
    fact_named,
    field_named,
    fold,
    is_symbol,
    lists_kind,
    names_kind,
    priority_in,
    state_of_label,
)
from forgekit.archives.logs import is_log
from forgekit.archives.notes import LABEL, annotated, beside, split_labels, split_note
from forgekit.frozen import frozen
from forgekit.model.archive_record import Chunk, Family, Update
from forgekit.model.entities import ThreadStatus
from forgekit.model.kinds import is_short
from forgekit.model.problem import Problem, Severity
from forgekit.model.rules import one_line, statement

DECORATION = re.compile(r"(?:\[[ xX\u2713-]\]\s+|[*_`~]|\[(?!\s)|[^\w\s\x00-\x7f]|\s){0,24}")
_NOUNS = re.compile(rf"(?P<words>(?:[^\W\d_]+\s+){{1,3}})[*`\[]{{0,3}}(?=(?P<id>{PLAIN_ID}))", re.IGNORECASE)
_START = re.compile(
    rf"#?(?P<id>{ANY_ID})"
    rf"[`\]\u3011]{{0,2}}(?:\s+[`(\[]{{0,2}}(?P<entity>{SHORT})[`)\]]{{0,2}})?(?P<shut>[*_`~]{{0,4}})"
    r"(?P<notes>\s*`?[(\[][^()\[\]]{1,160}[)\]]`?)?"
    r"(?P<sep>\s*::?[*_`]{0,3}|[*_`]{0,3}\s*(?:[\u00b7\u2014\u2013\u2192\u3011\u3001|]|=>|->|-{1,2}(?=\s))\s*"
    r"|[.)][*_]{0,2}(?=\s)|,(?=\s)|[*_]{2}(?:\s?:)?|\s{2,}|(?=\s|$)|(?<=[\])]))"
    r"\s*(?P<title>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_BRACKETED = re.compile(
    rf"^(?P<before>\W*?)[(\[](?P<id>{PLAIN_ID})(?:\s*[,;|\u00b7]\s*(?P<notes>[^()\[\]]*))?[)\]]\s+(?=\S)",
    re.IGNORECASE,
)
_BEHIND = re.compile(rf"(?P<title>.*\S)\s+[(\[](?P<id>{PLAIN_ID})[)\]][*_]*$")
_NUMBER = re.compile(r"\d{1,4}[.)]\s+")
_ALONE = re.compile(rf"[*_`~#\[]*{ANY_ID}[*_`~\]]*")
"""A cell that is an id."""
_GAP = re.compile(r"(?<=\S)\s{3,}(?=\S)")
BOLD_LINE = re.compile(r"(?:[^\w\s*]\s*)?(?:\*\*|__)(?P<label>[^*_]{1,120}?)(?:\*\*|__)\s*:?$")
_WEAK = re.compile(r"(?:OT|[DTA])\d{1,2}[a-z]?", re.IGNORECASE)
_LEAD_IN = re.compile(
    rf"(?:^|(?<=[.;\n])\s*|\*\*)(?P<label>[^.:;\n*]{{3,100}}):(?:\*\*)?\s+(?={PLAIN_ID})", re.MULTILINE
)
_ENDS = re.compile(r";\s+|\.(?:\s|$)")
_LISTED = re.compile(rf"(?:and\s+)?(?P<id>{PLAIN_ID})[\s,:\u2013\u2014-]{{1,4}}(?P<title>.+)", re.DOTALL)
_JOINING = re.compile(rf"\b(?:and|or|to|through|{PLAIN_ID})\b|[\s,;&\u2013\u2014-]")
_GOES_ON = re.compile(rf"(?:[^\W\d_]{{1,3}}\s+|[,&/+]\s*)?{PLAIN_ID}", re.IGNORECASE)
_DEFINES = re.compile(r"\s*(?:#{1,6}\s+|[-*+]\s+|\d{1,4}[.)]\s+|\|\s*)?(?:\[[ xX]\]\s+)?[*`\[_~]{0,5}$")
_SEEN = re.compile(rf"{IDS.pattern}|{SHORT_ID.pattern}|(?<!\w)[DT]\d{{1,2}}(?=\s?[:=\u2192\u2014\u2013])")
_SERIES = re.compile(r"[A-Za-z]{1,6}[-.]?\d{1,5}")
_MAY_NAME = re.compile(r"[ACDRTcr](?:-?\d|_[0-9a-f])")
"""What every match of `_SEEN` holds: to look for it first is much faster."""
_INSIGHT_ID = re.compile(r"^\W{0,4}(?:I-?\d{1,4}\b|insight\b(?=:))[\s:.)*_\u2013\u2014-]*")
_LISTED_FIELDS = {"status", *OWN_FIELDS["D"], *OWN_FIELDS["T"]}
_NAMES = {"blocked_by": "blocked by", "superseded_by": "superseded by"}
SUMMARIES = ("foundational context", "compressed state", "continuation prompt")
"""Headings of what sums up an archive."""
_LOOK_AHEAD, _FEW = 60, 2
_SHOWN = 40
_LONGEST_NAME = 80


@dataclass(kw_only=True, slots=True)
class Page:
    """A document while its records are read.

    Attributes:
        own: for each line (0-based) whether it speaks for the archive itself.
        taken: lines (1-based) that belong to records.
        several: those of them that name several and make none.
        of_parents: those of them that give the state of a parent's records.
        seen: each id in the own lines: its first line, and whether a line begins with it.
        unread: first lines of the tables that look like records and are none.
        understood: how the message of each problem begins that the tagger solved, and the line of its record,
            None if that has an id.
        rows: the heads of the table and the cells of each line that is a row of one, for the tagger.
        begun: line and id of each record that rules read, in order, for the tagger.
    """

    found: ClaimList
    document: Document
    own: Sequence[bool]
    taken: set[int] = field(default_factory=set)
    several: set[int] = field(default_factory=set)
    of_parents: set[int] = field(default_factory=set)
    seen: dict[str, tuple[int, bool]] = field(default_factory=dict)
    unread: list[int] = field(default_factory=list)
    understood: set[tuple[int | None, str]] = field(default_factory=set)
    rows: dict[int, tuple[Sequence[str], Sequence[str]]] = field(default_factory=dict)
    begun: list[tuple[int, str]] = field(default_factory=list)

    def speaks(self, node: Node) -> bool:
        """Say whether a part is the archive's own and short enough to be read."""
        return self.own[node.line - 1] and len(node.text) <= LINE_LIMIT


@frozen()
class _Above:
    """What the labels above a record say: kinds they list, states, priority."""

    lists: str = ""
    states: Mapping[str, Enum] = field(default_factory=dict)
    priority: str = ""
    family: Family = Family.HEADING
    field: str = ""

    def under(self, label: str) -> _Above:
        """Return what counts below another label."""
        named = any(names_kind(label, kind) for kind in "DTA")
        states = {kind: state for kind in "DT" if (state := state_of_label(label, kind)) is not None}
        lists = "".join(kind for kind in "DTA" if lists_kind(label, kind))
        rates = len(label.split()) <= 4 and not named and priority_in(label)
        return _Above(
            lists=lists or ("" if named else self.lists),
            states={**self.states, **states},
            priority=label if rates else self.priority,
            family=Family.INDEX if fold(label) == "decision index" else self.family,
            field=label
            if (" " in label or not states)
            and not lists
            and any(field_named(label, k) in _LISTED_FIELDS for k in "DT")
            else "",
        )


@dataclass(slots=True)
class _Start:
    """How a part begins a record."""

    id: str
    kind: str
    title: str
    notes: str = ""
    entity: str = ""
    alone: bool = False
    fields: dict[str, Any] = field(default_factory=dict)


def read_records(page: Page) -> None:
    """Read the records of the whole tree."""
    page.seen.update(seen_ids(page))
    Reader(page).walk(page.document.root.children, _Above())


@lru_cache(maxsize=512)
def labelled(text: str) -> tuple[str, str]:
    """Return the label with a colon that a text begins with, and what is behind it; ("", "") if none."""
    match = LABEL.match(ascii_of(text))
    return (match["key"], text[match.end() :]) if match and ":" in match["sep"] else ("", "")


def is_record(node: Node) -> bool:
    """Say whether a heading begins a record."""
    return Reader(Page(found=ClaimList(), document=read_document(""), own=())).start_of(node) is not None


class Reader:
    """Reads the records of a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.labels: Counter[str] | None = None

    def walk(self, nodes: Sequence[Node], base: _Above) -> None:
        """Read the records among some siblings and below them."""
        above, index = base, 0
        while index < len(nodes):
            node = nodes[index]
            before = nodes[index - 1] if index else None
            index += 1
            if node.kind in ("heading", "rule"):
                above = base
            if not self.page.speaks(node):
                self.walk(node.children if node.kind == "heading" else (), base)
            elif node.kind == "table" and is_change(node.cells):
                self._changes(node)
            elif node.kind == "table":
                self._table(node, above)
            elif start := self.start_of(node, above, before):
                end = self._end(nodes, index, start)
                self._take(start, node, nodes[index:end], above)
                index = end
            elif not node.children and (label := self.label_of(node, nodes[index : index + 1])):
                above = base.under(label)
            elif node.children:
                outer = base if node.kind == "heading" else above
                self.walk(node.children, outer.under(node.text))

    def start_of(self, node: Node, above: _Above = _Above(), before: Node | None = None) -> _Start | None:  # noqa: B008 - immutable
        """Return how a heading, item or line with an id begins a record, None if it begins none."""
        if node.kind not in ("heading", "item", "line"):
            return None
        text = node.text
        if bracketed := _BRACKETED.match(text):
            notes = f" ({bracketed['notes']})" if bracketed["notes"] else ""
            text = f"{bracketed['before']}{bracketed['id']}{notes}: {text[bracketed.end() :]}"
        plain = ascii_of(text)
        place = end_of(DECORATION, plain, 0)
        marks = text[:place]
        place = end_of(_NUMBER, plain, place) if node.kind == "heading" else place
        words = _NOUNS.match(plain, place)
        noun = words["words"] if words and names_kind(words["words"], kind_of(words["id"])) else ""
        match = _START.match(plain, words.end() if words and noun else place)
        if match is None:
            return self._start_beside(node, text, above)
        bold = "**" in marks or "__" in marks
        kind = kind_of(match["id"])
        marked = bold or "~~" in marks
        named = noun and match["sep"].strip()
        if not kind or not (named or self._counts(node, match, above, kind, before, bold=marked)):
            return None
        start = _Start(text[match.start("id") : match.end("id")], kind, text[match.start("title") :])
        if bold and "**" not in match["shut"] + match["sep"]:
            start.title = start.title.replace("**", "", 1)
        kept = "".join(re.findall(r"\[.\]\s|[^\x00-\x7f]", marks)).strip()
        start.title = f"{kept} {'~~' if '~~' in marks else ''}{start.title}".strip()
        start.alone = bold and node.kind == "line" and text.rstrip(" :").endswith("**")
        start.notes, start.entity = match["notes"] or "", match["entity"] or ""
        return start

    def _start_beside(self, node: Node, text: str, above: _Above) -> _Start | None:
        """Return the start of a record whose id is behind its title, or in a labelled line below it."""
        ends = node.kind != "line" and ascii_of(text).rstrip("*_")[-1:] in (")", "]")
        match = _BEHIND.match(ascii_of(text)) if ends else None
        title = _NUMBER.sub("", text, count=1) if node.kind == "heading" else text
        if match and (node.kind == "heading" or kind_of(match["id"]) in above.lists):
            title = _NUMBER.sub("", text[: match.end("title")], count=1)
            return _Start(text[match.start("id") : match.end("id")], kind_of(match["id"]), title)
        if local_id := self._labelled_id(node):
            alone = node.kind == "line" or (node.kind == "item" and LABEL.match(text))
            return _Start(local_id, kind_of(local_id), "" if alone else title)
        return None

    def _labelled_id(self, node: Node) -> str:
        """Return the id that a labelled line of a heading or item gives."""
        for each in (node, *node.children[:8]) if node.kind in ("heading", "item") else (node,):
            label, value = labelled(each.text) if each.kind in ("line", "item") else ("", "")
            if label and field_named(label, "D") == "local_id":
                listing = node.kind == "heading" and any(lists_kind(node.text, kind) for kind in "DTA")
                is_id = LOCAL_ID.fullmatch(ascii_of(bare(value))) and not listing
                return bare(value) if is_id and kind_of(bare(value)) else ""
        return ""

    def _counts(
        self, node: Node, match: re.Match[str], above: _Above, kind: str, before: Node | None, *, bold: bool
    ) -> bool:
        """Say whether what looks like an id begins a record here and is not just named."""
        sep, title = match["sep"].strip(" *_`"), match["title"].strip(" *:\u2014\u2013-~")
        if sep in ("", ",") and _GOES_ON.match(title):
            self.page.taken.add(node.line)
            self.page.several.add(node.line)  # a sentence that names several, and makes none of them
            return False
        listed, weak = kind in above.lists, _WEAK.fullmatch(match["id"]) is not None
        boxed = match.string[match.end("id") : match.end("id") + 1] == "]" or node.text[:1] in ("(", "[")
        if node.kind == "heading":
            below = any(self._known(each, kind) for each in node.children[:8])
            return bool(not weak or sep or listed or below or not title)
        strong = bold and "**" in match["shut"] + match["sep"] + match["title"]
        is_noted = match["notes"] and (boxed or sep == ".")  # `D1 (0.8, active). Words`
        strong = strong or bool(is_noted and split_note(match["notes"], kind)[1])
        if node.level == 1:  # it goes on a paragraph: of a list, or a sentence
            text = ascii_of(before.text) if before else ":"
            behind = text.endswith(":") or LOCAL_ID.match(text, end_of(DECORATION, text, 0))
            known = listed and before and (boxed or match["sep"] or self._label_in(before, kind))
            if before and not behind and not known and not self.label_of(before):
                return False
            strong = strong or sep in (":", "::", "\u2014", "\u2013", "-", "--") or listed
        known = strong or listed or not weak
        if sep in (",", ".", ")") or not sep:
            noted = node.kind == "item" and (
                sep == "." or (match["notes"] and not sep) or (kind == "A" and not sep)
            )
            apart = boxed or match["sep"] or match["notes"] or node.kind != "line" or node.level == 1
            apart = apart or kind_of(match["id"]) == kind
            known = known and (strong or (listed and bool(apart)) or bool(noted))
        return bool(title) and known

    def label_of(self, node: Node, after: Sequence[Node] = ()) -> str:
        """Return the words of a lead-in: a line or item alone that is bold, ends with a colon, or lists."""
        text, colon = node.text, node.text[-1:] in (":", "\uff1a")
        if node.kind not in ("line", "item") or len(text) > 120:
            return ""
        plain_words = node.kind == "line" and re.fullmatch(r"[^\W\d_][^.!?:;,|`=\d]*", text)
        short = plain_words and len(text.split()) <= 6
        if short and node.level == 0 and (text.isupper() or (after and after[0].kind in ("item", "table"))):
            return text
        if bold := BOLD_LINE.match(text):
            return bold["label"].rstrip(": ")
        plain = text.rstrip(": \uff1a")
        if colon and not re.search(r"[.!?|`]", text) and not node.children:
            known = state_of_label(plain, "T") or any(lists_kind(plain, k) for k in "DT")
            return plain if known or (names_kind(plain, "D") and state_of_label(plain, "D")) else ""
        return plain if node.kind == "line" and any(lists_kind(plain, kind) for kind in "DTA") else ""

    def _ends_record(self, node: Node) -> bool:
        """Say whether a line begins another record, or lists some."""
        if node.kind == "line" and self.start_of(node):
            return True
        label = self.label_of(node)
        return label != "" and any(
            lists_kind(label, k) or (names_kind(label, k) and state_of_label(label, k)) for k in "DTA"
        )

    def _end(self, nodes: Sequence[Node], first: int, start: _Start) -> int:
        """Return where the siblings behind a record that belong to it end."""
        end, reads_on, listing = first, True, _Above(start.kind)
        if nodes[first - 1].kind == "heading":
            return first
        for index in range(first, min(len(nodes), first + _LOOK_AHEAD)):
            node, before = nodes[index], nodes[index - 1]
            reads_on = reads_on and node.kind == "line" and node.level == 1
            if node.kind in ("heading", "table", "rule") or not self.page.speaks(node):
                break
            if self.start_of(node, listing, before) or self._ends_record(node):
                break
            pair = self._label_in(node, start.kind)
            is_empty = pair is not None and not pair[1].strip(" *_")
            if is_empty and any(self.start_of(each, listing) for each in nodes[index + 1 : index + 2]):
                break
            known = pair is not None and field_named(pair[0], start.kind) not in (None, "text")
            if reads_on or known:
                end = index + 1
            elif not (pair or start.alone):
                break
        return end

    def _label_in(self, node: Node, kind: str) -> tuple[str, str] | None:
        """Return label and value of a line or item that opens a field, None if it opens none."""
        text = node.text if len(node.text) <= LINE_LIMIT else ""
        skipped = next((n for n, c in enumerate(text[:12]) if not (is_symbol(c) or c.isspace())), 0)
        match = LABEL.match(ascii_of(text), skipped)
        if match is None or LOCAL_ID.fullmatch(match["key"]):
            return None
        bold, item, sep = match["mark"].strip("`") != "", node.kind == "item", match["sep"].strip()
        known = field_named(match["key"], kind) is not None
        if ":" in sep:
            counts = known or bold or self._recurs(match["key"]) or (item and len(match["key"].split()) <= 4)
        else:
            opens = field_named(match["key"], kind) in _LISTED_FIELDS and not match["key"][0].islower()
            counts = known and (bold or item or sep[0] in "=\u2192" or sep == "->" or opens)
        return (match["key"], text[match.end() :]) if counts else None

    def _recurs(self, label: str) -> bool:
        """Say whether several lines of the page begin with a label."""
        if self.labels is None:
            labels = (labelled(line.strip(" -*+")) for line in self.page.document.lines)
            self.labels = Counter(label.casefold() for label, value in labels if value.strip())
        return self.labels[label.casefold()] > _FEW

    def _take(self, start: _Start, node: Node, behind: Sequence[Node], above: _Above) -> None:
        """Make the claim of a record, then read the records within it."""
        kind, inner = start.kind, list(node.children)
        if above.field:
            self.page.taken.add(node.line)
            values = {field_named(above.field, kind) or "context": start.title.strip("*_ ")}
            make_claim(self.page.found, start.id, values, node.line, Family.PROSE, kind=kind)
            return
        ends = (n for n, each in enumerate(inner) if node.kind == "heading" and self._ends_record(each))
        cut = next(ends, len(inner))
        lines, body = self._title_lines(start, node, [*inner[:cut], *behind])
        entries, rest = list[tuple[str, Any]](), list[str]()
        text, raw = _read_title(start, lines, above.states.get(kind))
        self._gather(body, kind, entries, rest)
        is_titled = any(field_named(label, kind) == "text" for label, _ in entries)
        if not bare(text) and rest and not is_titled:
            text = rest.pop(0).strip("~")
        if bare(text):
            entries.append((TEXT_NAMES[kind], bare(text) if text.startswith("`") else text.strip("* ")))
        self.page.taken.update((node.line, *(n for each in body for n in range(each.line, each.last + 1))))
        self._claim(start, raw, entries, rest, node.line, above)
        within = replace(above, lists="")
        self.walk(
            [n for n in body if n.kind != "line" and (n.children or not self._label_in(n, kind))], within
        )
        self.walk(inner[cut:], within)

    def take_reworded(self, local_id: str, text: str, nodes: Sequence[Node], index: int) -> None:
        """Make the claim of a parent's decision that a line gives new words, with the fields behind it."""
        start = _Start(local_id, "D", text)
        before = len(self.page.found.claims)
        self._take(start, nodes[index], nodes[index + 1 : self._end(nodes, index + 1, start)], _Above())
        for claim in self.page.found.claims[before : before + 1]:
            claim.values["reworded"] = True

    def _title_lines(self, start: _Start, node: Node, body: list[Node]) -> tuple[list[str], list[Node]]:
        """Return the lines on which a title goes on, and what is behind them."""
        lines: list[str] = []
        follows = body and body[0].kind == "line" and body[0].line == node.line + 1
        left, fields = beside(start.title, start.kind) if follows else (start.title, {})
        if fields and not left:  # `**D1** · 0.9 · active`
            start.title, start.fields = "", fields
            return lines, body
        while body and node.kind != "heading" and not start.alone and start.title:
            first, text = body[0], body[0].text
            goes_on = first.kind == "line" and first.level == 1 and first.line == node.line + len(lines) + 1
            if (
                not goes_on
                or self._label_in(first, start.kind)
                or split_labels(text, start.kind)[1]
                or text[:1] in "*_"
            ):
                break
            lines.append(text)
            body = body[1:]
        return lines, body

    def _claim(
        self,
        start: _Start,
        raw: dict[str, Any],
        entries: list[tuple[str, Any]],
        rest: list[str],
        line: int,
        above: _Above,
    ) -> None:
        """Add a claim, with what the labels above it say."""
        kind, local_id, found = start.kind, start.id, self.page.found
        known, unknown = named_fields([*_in_notes(entries, kind)], kind)
        if rest:
            known[REST[kind]] = "\n".join(filter(None, [str(known.get(REST[kind], "")), *rest]))
        given = {
            **raw,
            **{name: value for name, value in known.items() if value not in ("", []) or name not in raw},
        }
        if start.entity or SHORT_ID.fullmatch(local_id):
            given["entity"] = start.entity or local_id
        if kind in ("D", "T"):
            keep_unknown(found, local_id, unknown, given, kind, line)
        if kind == "T" and above.priority:
            given.setdefault("priority", above.priority)
        given.pop("local_id", None)
        if kind in above.states and not (above.states[kind] is ThreadStatus.OPEN and "resolution" in given):
            given.setdefault("status", above.states[kind].value)
        make_claim(found, local_id, given, line, above.family, kind=kind)

    def _gather(
        self,
        nodes: Sequence[Node],
        kind: str,
        entries: list[tuple[str, Any]],
        rest: list[str],
        *,
        part: bool = False,
    ) -> None:
        """Gather labelled values up to the next label, and prose; in a `part` prose is of its field."""
        open_, titled, last = part, part, 0
        for node in nodes:
            follows, last = node.line == last + 1, node.last
            in_list = bool(open_ and entries) and isinstance(entries[-1][1], list)
            if node.kind == "code":
                body = self._body(node) if kind == "A" else ""
                _add_code(entries, node.text, body, open_=open_, near=titled or follows)
            elif not self.page.speaks(node) or (node.kind != "line" and self.start_of(node)):
                continue
            elif node.kind == "heading":
                if field_named(node.text, kind) is None and self._holds_records(node):
                    continue
                entries.append((node.text, []))
                self._gather(node.children, kind, entries, rest, part=True)
            elif node.kind == "table":
                rows = [
                    row.cells for row in node.children if len(row.cells) == 2 and not _cell_id(row.cells, 0)
                ]
                entries += [(row[0], row[1]) for row in rows if field_named(row[0], kind)]
            elif title := self._title_of(node, kind):
                entries.append((title, []))
                open_ = titled = True
            elif pairs := self._labelled(node, kind, in_list=in_list):
                entries += pairs
                open_, titled = True, part
            elif (
                open_
                and entries
                and (titled or (in_list and node.kind == "item") or self._goes_on(node, entries, follows))
            ):
                entries[-1] = (entries[-1][0], _more(entries[-1][1], node, self._plain(node.children)))
            else:
                open_ = part
                text, fields = beside(node.text, kind) if node.kind == "line" else (node.text, {})
                entries += [
                    (_NAMES.get(name, name), value)
                    for name, value in fields.items()
                    if name not in dict(entries)
                ]
                rest += [text if node.kind == "line" else f"- {text}"] if text else []
                rest += self._plain(node.children)

    def _body(self, code: Node) -> str:
        """Return what is in a fence, unless that is a log; "" for code without a fence."""
        fences = (fence for fence in self.page.document.fences if fence.first_line == code.line)
        return next((f.content for f in fences if not is_log(f.info, f.content, in_record=True)), "")

    def _holds_records(self, node: Node) -> bool:
        """Say whether a heading lists records, or one begins below it."""
        lists = any(lists_kind(node.text, kind) for kind in "DTA")
        return lists or any(self.start_of(each) or self._holds_records(each) for each in node.children)

    def _title_of(self, node: Node, kind: str) -> str:
        """Return the words of a bold line without a colon that name a field, as a heading does, else ""."""
        bold = BOLD_LINE.match(node.text) if node.kind == "line" and ":" not in node.text else None
        label = bold["label"].strip() if bold else ""
        return label if field_named(label, kind) in _LISTED_FIELDS else ""

    def _goes_on(self, node: Node, entries: Sequence[tuple[str, Any]], follows: bool) -> bool:
        return node.kind == "line" and ((node.level == 1 and follows) or entries[-1][1] == [])

    def _labelled(self, node: Node, kind: str, *, in_list: bool) -> list[tuple[str, Any]]:
        """Return the labels and values of a line or item that begins with one, those behind it included."""
        pair, below = self._label_in(node, kind), self._plain(node.children)
        if pair is not None and field_named(pair[0], kind) is None:
            unknown = " ".join([pair[1].strip(), *below])
            return [] if in_list and "**" not in node.text[:6] else [(pair[0], unknown)]
        lead, pairs = split_labels(node.text, kind, opening=True)
        if lead.strip(" *_-") or not pairs:
            pairs = [pair] if pair else []
        if not pairs:
            return []
        value: Any = pairs[0][1].strip()
        fields = [c for c in node.children if value and c.kind == "item" and self._known(c, kind)]
        nested = [each for child in fields for each in self._labelled(child, kind, in_list=False)]
        below = self._plain([child for child in node.children if child not in fields])
        items = [" ".join([c.text, *self._plain(c.children)]) for c in node.children if c.kind == "item"]
        value = "\n".join([value, *below]) if value else items or "\n".join(below) or []
        is_answer = kind == "T" and pair is not None and fold(pair[0]) in ANSWERS
        names = {"text": pair[0] if pair and is_answer else TEXT_NAMES[kind]} | _NAMES
        pairs = [(pairs[0][0], value), *pairs[1:]]
        return [*((names.get(name, name), each) for name, each in pairs), *nested]

    def _known(self, node: Node, kind: str) -> bool:
        pair = (node.text, "") if node.kind == "heading" else self._label_in(node, kind)
        return pair is not None and field_named(pair[0], kind) in _LISTED_FIELDS

    def _plain(self, nodes: Sequence[Node]) -> list[str]:
        parts = [n for n in nodes if n.kind in ("line", "item", "code") and not self.start_of(n)]
        return [line for node in parts for line in (node.text, *self._plain(node.children))]

    def _table(self, table: Node, above: _Above) -> None:
        """Read the rows of a table that lists records."""
        columns = [fold(cell) or cell.strip() for cell in table.cells]
        columns = [
            cell if SCALE.search(cell) else name for cell, name in zip(table.cells, columns, strict=True)
        ]
        pairs = [row.cells[0] for row in table.children if len(columns) == 2 == len(row.cells)]
        if pairs and all(any(field_named(label, k) for k in "DT") for label in pairs):
            return  # the fields of one record
        if lists_chunks(table) or {"relationship", "project a", "source project"} & set(columns):
            return
        named = _kind_named(table, columns)
        at = 0 if named else _column_of_ids(table)
        if at is None:
            fields = {field_named(column, kind) for column in columns for kind in "DT"}
            if table.children and fields & (OWN_FIELDS["D"] | OWN_FIELDS["T"]):
                self.page.unread.append(table.line)
            return
        index = above.family is Family.INDEX or "ref" in columns
        above = replace(above, family=Family.INDEX if index else Family.TABLE)
        for row in table.children:
            local_id = bare(row.cells[0]) if named and row.cells else _cell_id(row.cells, at)
            kind = named or kind_of(local_id)
            if not kind or not self.page.own[row.line - 1]:
                continue
            self.page.taken.add(row.line)
            cells = {n: c for i, (n, c) in enumerate(zip(columns, row.cells, strict=False)) if c and i != at}
            text = next((n for n in cells if field_named(n, kind) == "text"), "")
            text = text or next((n for n in cells if kind == "D" and field_named(n, kind) is None), "")
            raw: dict[str, Any] = {}
            if text:
                title, raw = annotated(cells.pop(text), kind)
                cells = {TEXT_NAMES[kind]: bare(title), **cells}
            if "~~" in row.cells[at]:
                raw.setdefault("status", "rejected" if kind == "D" else "resolved")
            if re.search(r"\w", "".join(cells.values())):
                self._claim(_Start(local_id, kind, ""), raw, list(cells.items()), [], row.line, above)

    def _changes(self, table: Node) -> None:
        """Read the rows of a table that give what a parent's records were and are now."""
        for row in table.children:
            pairs = list(zip(table.cells, row.cells, strict=False))
            name = next((cell for _, cell in pairs if _ALONE.fullmatch(ascii_of(bare(cell)))), "")
            if name and self.page.own[row.line - 1]:
                text = one_line(change_of((label, cell) for label, cell in pairs if cell != name))
                self.page.found.updates.append(Update(local_id=bare(name), line=row.line, text=text))
                self.page.of_parents.add(row.line)
                self.page.taken.add(row.line)


def end_of(pattern: re.Pattern[str], text: str, place: int) -> int:
    """Return where a pattern that begins at a place ends, the place itself where it does not match."""
    match = pattern.match(text, place)
    return match.end() if match else place


def _read_title(start: _Start, lines: Sequence[str], above: Enum | None) -> tuple[str, dict[str, Any]]:
    """Return the words of a title, and the fields beside them and in columns behind them."""
    kind, (lead, noted) = start.kind, split_note(start.notes, start.kind)
    title, *columns = [start.title] if lines else _GAP.split(start.title)
    left, fields = beside(". ".join(columns), kind) if columns else ("", {})
    if left:
        title, fields = start.title, {}
    given = {"status": above.value} if above is ThreadStatus.RESOLVED else {}
    text, more = annotated(" ".join([title, *lines]), kind, clauses=True, given=given | noted)
    text = f"{text} ({lead})" if lead and bare(text) else text
    more = {name: value for name, value in more.items() if name not in given or value != given[name]}
    return text, more | fields | noted | start.fields


def _in_notes(entries: Sequence[tuple[str, Any]], kind: str) -> Iterator[tuple[str, Any]]:
    """Yield labels with values; of a note that begins with a label, that label and its value."""
    for label, value in entries:
        is_note = isinstance(value, str) and field_named(label, kind) in ("context", "content")
        lead, pairs = split_labels(value, kind, opening=True) if is_note else ("", [])
        if pairs and not lead.strip(" *_"):
            yield from pairs
        else:
            yield label, value


def _more(value: Any, node: Node, below: Sequence[str]) -> Any:
    """Return a value with what goes on below or behind it."""
    if isinstance(value, list) and node.kind == "item":
        return [*value, " ".join([node.text, *below])]
    if isinstance(value, list) and value:
        return [*value[:-1], f"{value[-1]} {node.text}"]
    return f"{value or ''}\n{node.text}".strip()


def _add_code(entries: list[tuple[str, Any]], code: str, body: str, *, open_: bool, near: bool) -> None:
    """Add code to the text of the field above it, of which it is a part, or the body of an artifact."""
    name, value = entries[-1] if entries and open_ else ("", "")
    if body:
        bodies = [version for label, listed in entries if label == "versions" for version in listed]
        entries[:] = [each for each in entries if each[0] != "versions"]
        entries.append(("versions", [*bodies, {"content": body}]))
    elif isinstance(value, str) and value and (near or value.endswith((":", "\uff1a"))):
        entries[-1] = (name, f"{value}\n{code}".strip())


def _cell_id(row: Sequence[str], column: int) -> str:
    """Return the id that a cell holds alone, "" if it holds something else."""
    cell = bare(row[column]).strip("~[]() ").strip("*` #") if 0 <= column < len(row) else ""
    plain = ascii_of(cell)
    return cell if SHORT_ID.fullmatch(plain) or (LOCAL_ID.fullmatch(plain) and kind_of(plain)) else ""


def _column_of_ids(table: Node) -> int | None:
    columns = range(len(table.cells))
    return next((n for n in columns if any(_cell_id(row.cells, n) for row in table.children)), None)


def _kind_named(table: Node, columns: Sequence[str]) -> str:
    """Return the kind of records whose ids, in the first column, are of a series that names none, else ""."""
    kinds = [k for k in "DT" for n in columns if names_kind(n, k) and field_named(n, k) == "text"]
    if len(kinds) != 1 or field_named(columns[0], kinds[0]) != "local_id":
        return ""
    ids = [bare(row.cells[0]) for row in table.children if row.cells]
    return kinds[0] if ids and all(_SERIES.fullmatch(each) and not kind_of(each) for each in ids) else ""


def lists_chunks(table: Node) -> bool:
    """Say whether a table has a row for each part of a conversation."""
    columns = [fold(cell) for cell in table.cells]
    return "chunk id" in columns or "chunk" in columns or columns[:1] == ["range"]


def read_chunks(page: Page) -> Iterator[Chunk]:
    """Yield the rows of chunk tables and range markers."""
    names = ("turn range|turns|range", "topic|topic cluster", "decisions|key decisions")
    for table in page.document.nodes:
        columns = [fold(cell) for cell in table.cells]
        for row in (
            table.children
            if table.kind == "table" and lists_chunks(table) and page.own[table.line - 1]
            else ()
        ):
            cell = dict(zip(columns, row.cells, strict=False))
            turns, topic, ids = (next((cell[n] for n in each.split("|") if n in cell), "") for each in names)
            yield Chunk(turns=parse_range(turns), topic=topic, decisions=tuple(IDS.findall(ids)))


def number_records(found: ClaimList) -> None:
    """Number the records without ids as `OT001`, `OD001`..."""
    used = {claim.local_id for claim in found.claims}
    count = dict.fromkeys("DTA", 0)
    for line, kind, given, number in found.unnumbered:
        title = str(given.get("text", ""))
        if not title.strip():
            continue
        given_number = parse_integer(number) or 0
        wanted = given_number if 1 <= given_number <= 999 else count[kind] + 1
        while (local_id := f"O{kind}{wanted:03d}") in used:
            wanted += 1
        count[kind] = max(count[kind], wanted)
        if wanted > 999:
            found.warn("unreadable-record", "more than 999 records without ids; the rest was left out", line)
            return
        used.add(local_id)
        words = one_line(title.replace("**", ""))
        raw: dict[str, Any] = {"status": "open"} if kind == "T" and "resolution" not in given else {}
        raw |= {**given, "text": words, "number": str(number).strip() if wanted == given_number else ""}
        found.tagged.append(repr(statement(words, _LONGEST_NAME)))
        make_claim(found, local_id, raw, line, Family.PROSE, kind=kind)


# Sentences


def read_sentences(page: Page) -> None:
    """Read `Open threads: T001 title (high); T002 title` in running text: a label that lists ids."""
    for first, text in paragraphs(page):
        for lead in _LEAD_IN.finditer(text):
            kind = kind_of(text[lead.end() :][:12].split(" ")[0])
            if kind not in ("D", "T") or not names_kind(lead["label"], kind):
                continue
            state = state_of_label(lead["label"].strip(), kind)
            for part in _ENDS.split(text[lead.end() :]):
                match = _LISTED.match(part)
                if match is None or kind_of(match["id"]) != kind:
                    break
                title, raw = annotated(" ".join(match["title"].split()), kind)
                if _JOINING.sub("", title):
                    raw = ({"status": state.value} if state is not None else {}) | raw | {"text": title}
                    line = first + text.count("\n", 0, lead.end())
                    make_claim(page.found, match["id"], raw, line, Family.PROSE)


def paragraphs(page: Page, also: Collection[int] = ()) -> Iterator[tuple[int, str]]:
    """Yield first line and text of each stretch of plain lines that belongs to no record, or is in `also`."""
    stretch: list[Node] = []
    for node in (*page.document.nodes, Node("", -1, -1)):
        free = node.line not in page.taken or node.line in also
        plain = node.kind in ("line", "item") and free and page.speaks(node)
        if stretch and (not plain or node.line != stretch[-1].line + 1):
            yield stretch[0].line, "\n".join(each.text for each in stretch)[:LINE_LIMIT]
            stretch = []
        stretch += [node] if plain else []


# Ids without a record


def seen_ids(page: Page) -> dict[str, tuple[int, bool]]:
    """Return each id in the archive's own lines: its first line, and whether a line begins with it."""
    seen: dict[str, tuple[int, bool]] = {}
    for number, line in enumerate(page.document.lines, 1):
        plain = ascii_of(line) if page.own[number - 1] else ""
        for match in _SEEN.finditer(plain) if _MAY_NAME.search(plain) else ():
            local_id, begins = match.group(), plain[: match.start()] if match.start() < 40 else "x"
            defines = _DEFINES.match(begins) is not None
            if defines or not (is_short(local_id) or _WEAK.fullmatch(local_id)):  # else a reference
                first, defined = seen.get(local_id, (number, False))
                seen[local_id] = first, defined or defines
    return seen


def report_lost_ids(page: Page, merged: Sequence[Claim], known: Collection[str], *, has_parent: bool) -> None:
    """Add a problem for each id, mentioned or referred to, that has no record.

    What refers to an id of a parent's is looked up, and reported, when the archive is filed.
    """
    keys = {key_of(local_id) for local_id in known}
    # A100 is a processor as often as an artifact; artifacts are numbered from A001.
    has_artifacts = any(local_id[:2] in ("A0", "A1") for local_id in known)
    lost = {k: v for k, v in page.seen.items() if key_of(k) not in keys and (k[:2] != "A1" or has_artifacts)}
    for claim in () if has_parent else merged:
        for local_id in claim.references:
            if key_of(local_id) not in keys:
                lost.setdefault(local_id, (claim.line, False))
    for local_id, (line, defines) in lost.items():
        if has_parent and not defines:
            message = f"{local_id} is no record of this archive; it may be its parent's"
            problem = Problem(code="foreign-id", message=message, line=line, severity=Severity.INFO)
            page.found.problems.append(problem)
        else:
            fix = f"write it as `### {local_id}: ...` or in the YAML log"
            fix = f"write it as `- {local_id}: ...` with its words" if is_short(local_id) else fix
            page.found.warn(
                "unparsed-id", f"{local_id} is named but no record of it could be read", line, fix
            )


def report_unread(page: Page) -> None:
    """Add a problem for each line and table that looks like a part of a record and belongs to none."""
    for line in page.unread if not page.found.claims else ():
        message = "the table looks like records, and none of them could be read"
        page.found.warn("unread-table", message, line, "name a column `Decision` or `Thread`")
    for node in page.document.nodes:
        if node.kind not in ("line", "item") or node.line in page.taken or not page.speaks(node):
            continue
        label, value = labelled(node.text)
        known = any(field_named(label, kind) in OWN_FIELDS[kind] for kind in "DT")
        if known and value.strip() and not fact_named(label):
            message = f"the line with the label {label[:40]!r} belongs to no record; it was not read"
            page.found.warn("unread-label", message, node.line, "put it below the record's own line")


def report_unlabelled(found: ClaimList) -> None:
    """Add a problem that names the records of which the tagger read something."""
    names = list(dict.fromkeys(found.tagged))
    if names:
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if names[_SHOWN:] else "")
        message = f"read without ids or labels that are known: {shown}; compare with the text"
        found.warn("read-from-text", message, None, "`forgekit template archive` shows the labels")


def report_quoted_fields(page: Page) -> None:
    """Add a problem for each quote beside own lines that labels fields, and for records in a transcript."""
    for first, last in page.document.quoted:
        lines = [line.lstrip(" >") for line in page.document.lines[first - 1 : last]]
        labels = (label for label, _ in map(labelled, lines))
        own = [each for each in labels if any(field_named(each, k) in OWN_FIELDS[k] for k in "DT")]
        if own and first > 2 and any(page.own[max(first - 4, 0) : first - 1]):
            message = f"the quote labels {own[0][:40]!r} and was not read: a quote is not part of the archive"
            page.found.warn("quoted-field", message, first, "write it without `>`")
    if line := pasted_from(page.document):
        message = "records follow the transcript as they come before it; they were taken for a part of it"
        page.found.warn(
            "pasted-records", message, line, "move the archive's own records above the transcript"
        )


def read_insights(page: Page) -> dict[int, str]:
    """Return each item and row below a heading `Insights`, without its id, by its lines."""
    found: dict[int, str] = {}
    headings = (n for n in page.document.nodes if n.kind == "heading" and fold(n.text) == "insights")
    for node in (below for heading in headings for below in heading.children):
        columns = [fold(cell) for cell in node.cells]
        at = columns.index("insight") if "insight" in columns else -1
        for part in node.children if node.kind == "table" else [node] if node.kind == "item" else ():
            words = [n.text for n in walk(part) if n.kind in ("item", "line")]
            text = _INSIGHT_ID.sub("", " ".join(words) or "".join(part.cells[at:][:1]))
            if page.own[part.line - 1] and part.line not in page.taken:
                found |= dict.fromkeys(range(part.line, part.last + 1), one_line(text))
    return found


def read_summary(document: Document) -> str:
    """Return the first paragraph of the foundational context, compressed state or continuation prompt."""
    nodes = document.nodes
    for key in SUMMARIES:
        for index, node in enumerate(nodes):
            bold = BOLD_LINE.match(node.text) if node.kind == "line" else None
            prompt = bold and key == "continuation prompt" and fold(bold["label"]).startswith(key)
            below = nodes[index + 1 :] if prompt else node.children
            if prompt or (node.kind == "heading" and fold(node.text) == key):
                first = next((n for n, each in enumerate(below) if each.kind != "rule"), len(below))
                words: list[str] = []
                for each in below[first:]:
                    if each.kind not in ("line", "item") or (words and (each.kind == "line") > each.level):
                        break
                    words.append(each.text if each.kind == "line" else f"- {each.text}")
                if words:
                    return one_line(" ".join(words)[:LINE_LIMIT])
    return ""
