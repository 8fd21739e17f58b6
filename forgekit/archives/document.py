"""The structure of a pasted text: a tree of headings, list items, lines, tables and code, and who speaks.

In: a text of any size. Out: a `Document`: the tree by markdown-it, the code fences and comments, and
`zones`: the lines that quote a parent, a transcript, an example or a block that forgekit printed. A wrapper
around the whole text (a fence, a block quote) is taken off first. A fence that is never closed ends at the
next heading; a comment that is never closed hides nothing.

Lines are 1-based in every value that leaves this module, and end at LF only, as editors count them.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING

from forgekit.archives.claims import ANY_ID, OWN_FIELDS, kind_of
from forgekit.archives.labels import fact_named, field_named, fold, letters, lists_kind, names_kind, quotes
from forgekit.frozen import frozen
from forgekit.model.archive_record import Section, split_lines
from forgekit.model.problem import Problem

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LINES_LIMIT = 200_000
HEADINGS_LIMIT = 20_000
LINE_LIMIT = 20_000
_CUTS_LIMIT = _TRANSCRIPTS_LIMIT = 20
_RECORD_FIELDS = {"status", "governs", "revises", "superseded_by", *OWN_FIELDS["D"], *OWN_FIELDS["T"]}

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_DEEP_HEADING = re.compile(r" {0,3}#{2,6}[ \t]")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[\w+-]*)[ \t]*$")
_QUOTE = re.compile(r" {0,3}> ?")
_RUN_IN = re.compile(
    r"^(?P<head>\s*(?:[-*+]\s+)?)(?P<letter>\([a-z]\)\s+)?(?P<mark>\*\*?|__?)"
    r"(?P<label>[^\W\d_]{3,30}(?: [^\W\d_]{2,30}){0,3})\.(?P=mark)(?=\s)"
)
_SPEAKER = re.compile(r"\s{0,3}[#*_]{0,3}\s?([^\W\d_][^:\uff1a*]{0,30}?)[*_]{0,2}\s?[:\uff1a\u25b8\u25b6]")
_CALLOUT = re.compile(r"\[!(?P<type>[^\]\s]{1,40})\][+-]?\s*")
_ASKED = re.compile(r"[\s*_>-]*(?P<letter>[A-Z])\.?(?P<n>\d{1,3})\b.*[?\uff1f][\s*_]*$")
_ANSWERED = re.compile(
    r"(?P<mark>[\s>-]*)[*_]*(?P<letter>[A-Z])\.?(?P<n>\d{1,3})(?:[:.)*_]+|\s+[\u2013\u2014-])\s*"
)
_FOOTNOTE = re.compile(r"\s{0,3}\[\^(?P<mark>\w{1,8})\]:\s*(?=\S)")
_ENDNOTE = re.compile(r"\s{0,3}\[(?P<mark>\d{1,2})\]\s+(?=\S)")
_ENDMARK = re.compile(r"(?<=\S) ?\[(?P<mark>\d{1,2})\](?=[\s.,;*_]*$)")
_FEWEST_NOTES = 2
_FOOTMARK = re.compile(r"\[\^(?P<mark>\w{1,8})\](?!:)")
_COMMENT_LINES = 60
_CITATIONS = ("quote", "cite", "example")
_ID = re.compile(r"[^\W\d_]{1,6}-?\d{1,5}\b")
_BEGINS = re.compile(rf"#|<!|{ANY_ID}|{_ID.pattern}")
_LINK = re.compile(r"\[\[#?\^?([^\]\[|#^]{1,200})(?:[|#^][^\]\[]{0,200})?\]\]")
_BLOCK_ID = re.compile(r"\s\^[A-Za-z\d-]{1,40}$")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_BREAK = re.compile(r"\s*<br\s*/?>\s*", re.IGNORECASE)
_HTML_QUOTE = re.compile(r"(?P<begins>^[\s*+-]*)?<(?P<name>blockquote|pre)\b[^<>]*>(?P<ends>\s*$)?")
_HTML_QUOTES = re.compile(r"</?(?:blockquote|pre)\b[^<>]*>", re.IGNORECASE)
_SUMMARY = re.compile(r"^.*<summary>(?:<[bh]\w*>)?(.*?)(?:</[bh]\w*>)?</summary>.*$", re.IGNORECASE)
_RULE = re.compile(r"([^\w\s])\1{2,}")
_BULLETS = tuple("\u2022\u25e6\u25aa\u25b8\u2023\u25cf\u25cb\u30fb")
_FENCE_MARK = re.compile(r" {0,3}(`{3,}|~{3,})")
_OTHER_HEADING = re.compile(
    r"\s{0,3}(?:[\u25a0\u25a1\u25c6\u25c7\u25bc\u25bd\u2605]\s*(?P<title>[^\s:\uff1a\u2605\u2606\u25a0\u25a1][^:\uff1a]{0,80})"
    r"|(?P<rule>[-=~\u2013\u2014\u2500])(?P=rule)+ (?P<ruled>[^\W\d_][^:\uff1a|]{1,60}?) (?P=rule){2,}"
    r"|\[(?=[^\]]*\w{4})(?P<boxed>[^\[\]]{4,60})\]|[\u3010\u300a\u3014](?P<bracketed>[^\u3010\u3011]{1,40})[\u3011\u300b\u3015])\s*"
)
_ENDS_OPEN = re.compile(r"(?<!\S)[^\W\d_]+(?: [^\W\d_]+)?\s?[:\uff1a][*_]*\s*$")
_TAIL = 60  # characters at the end of a line
_ANCHOR = re.compile(r"\s*\{#[\w-]{1,60}\}\s*$")
_KEYCAP = re.compile(r"^([\s#>*-]{0,12})(\d)\ufe0f?\u20e3\s*")
_BRACKETS = str.maketrans("\u3010\u3011\u3014\u3015", "[][]")
_ORG = re.compile(r"(?:(?=\*)|\s+(?=\*\*))(?P<mark>\*{1,5}) (?P<title>\S.*)$")
_ORG_NOTES = re.compile(
    r"^(?:(?P<state>[A-Z]{3,}) )?(?:\[#(?P<rank>[ABC])\] )?(?P<title>.*?)(?:\s+:(?P<tags>[\w:]+):)?$"
)
_STATES_FACTS = re.compile(
    r"[\W_]*[^\W\d_][^:\uff1a>]{0,40}[*_]*\s?[:\uff1a]"
    r"|[^|\u00b7\u2022]+(?: [|\u00b7\u2022] [^|\u00b7\u2022]+){2}"
)
_MARKED_LINE = re.compile(r"([?x!])\s+(?=\S)")
_DEFINES = re.compile(r"\s{0,3}:\s+(?=\S)")
_DEFINED = re.compile(r"\s{0,3}:\s+(?:\*\*?|__?)([^\W\d_][^*_:\n]{1,30}?)(?:\*\*?|__?)\s+(?=\S)")
_DEFINITION = re.compile(r"\s{0,3}:\s+(?=[^\W\d_][^:\uff1a]{0,40}[:\uff1a]\s)")
_BRACKET_LABEL = re.compile(r"\s*\[(?P<label>[^\W\d_][^\[\]]{1,30})\]\s+(?=\S)")
_FIELD_LIST = re.compile(r"\s{0,3}:([^\W\d_][\w -]{1,30}):\s+(?=\S)")
_ORG_DRAWER = re.compile(r"^\s*:(?:PROPERTIES|END):\s*$")
_ORG_KEY = re.compile(r"^\s*#\+([A-Za-z_]+): ?(?=\S)")
_CLOSING = re.compile(r"</([^\W\d_][\w-]{1,40})>")
_ELEMENT = re.compile(
    r"\s*(?:<(?P<name>[^\W\d_][\w-]*)(?P<attributes>(?:\s+[\w-]+\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'))*)\s*(?P<shut>/?)>"
    r"(?P<value>[^<]*)(?:</(?P=name)>)?|(?P<before>[^<]*)</(?P<end>[^\W\d_][\w-]*)>)\s*"
)
_INNER = re.compile(r"<([^\W\d_][\w-]*)>([^<]*)</\1>")
_NESTED = re.compile(rf"(?<=>)\s*(?:{_INNER.pattern}\s*)+(?=</[^\W\d_][\w-]*>\s*$)")
_COUNTED = re.compile(r"[^\W\d_]{1,12}[-_.]?\d{1,4}")
_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*([\"'])(.*?)\2")
_HTML = re.compile(
    r"details|summary|br|[biupsa]|em|strong|code|pre|[uo]l|li|table|thead|tbody|t[rdh]|div|span|h[1-6]|hr|su[bp]|kbd"
    r"|blockquote|img|del|ins|mark|small|center",
    re.IGNORECASE,
)
_BRACED = re.compile(
    r"(?<=\S)\s+\{(?P<label>[^\W\d_][^{}:]{0,30}):\s*(?P<rest>[^{}]+)\}\s*$|(?<=\S)\s+\{\}\s*$"
)
_DATA = ("yaml", "yml", "json", "jsonl")
_DETAILS = re.compile(r"</?(?:details|summary)\b.*")
_WIKI = re.compile(r"(?P<mark>={2,6})\s*(?P<title>[^=\s][^=]{0,200}?)\s*={2,6}\s*$")
BAR = re.compile(r"(?<!\\)\|")
"""What parts the cells of a row."""
_MARKED = re.compile(r"<!--\s*(/?)\s*forgekit:(registry-state|updated-context)\b")
_PRINTED = ("registry state", "updated context")
_PRINTED_END = tuple(f"(end of {title})" for title in _PRINTED)
_TURN = re.compile(
    r"\s{0,3}(?:#{1,6} |[-*] )?(?:\*\*|__)?(?:user|human|assistant|system|ai|claude|chatgpt|model"
    r"|(?:turn|exchange)[ _]\d+)(?: \([^()]{0,40}\))?\s?(?:\*\*|__)?\s?(?::|$)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Node:
    """A part of a text.

    Attributes:
        kind: `heading`, `item`, `line`, `table`, `row`, `code` or `rule`.
        line, last: the first and last line.
        text: of a heading, item or line without its mark; the content of code.
        level: of a heading; of a line 1 if it goes on a paragraph.
        number: of an ordered list item.
        cells: of a table's head, and of a row.
    """

    kind: str
    line: int
    last: int
    text: str = ""
    level: int = 0
    number: str = ""
    cells: tuple[str, ...] = ()
    column: int = 0
    children: list[Node] = field(default_factory=list)


@frozen(kw_only=True)
class Fence:
    """A fenced code block; `content` has lost the fence's own indent."""

    first_line: int
    last_line: int
    info: str
    content: str


@frozen(kw_only=True)
class Document:
    """A text in its parts.

    Attributes:
        nodes: every part of the tree, in the order of the text.
        comments: first and last line of each HTML comment that is a block of its own.
        quoted: first and last line of each block quote and piece of indented code.
        around: number and text of the few lines above a fence around the whole archive.
    """

    lines: tuple[str, ...]
    root: Node
    nodes: tuple[Node, ...]
    sections: tuple[Section, ...]
    fences: tuple[Fence, ...]
    comments: tuple[tuple[int, int], ...]
    quoted: tuple[tuple[int, int], ...]
    truncated: str
    around: tuple[tuple[int, str], ...]
    problems: tuple[Problem, ...]


_FEW_AROUND = 3
"""Lines above a fence around the whole archive; more are a conversation."""


def read_document(text: str, *, unquote: bool = False) -> Document:
    """Find the parts of a text of any size in linear time; `unquote` opens quoted lists of records."""
    lines = split_lines(text)
    problems: list[Problem] = []
    headings = (number for number, line in enumerate(lines) if line[:1] == "#" and _HEADING.match(line[:200]))
    cut = next(islice(headings, HEADINGS_LIMIT, None), LINES_LIMIT)
    if len(lines) > cut:
        message = f"the text has more than {cut:,} lines of structure; from here on it was not read"
        fix = "file the transcript apart from the logs"
        problems.append(Problem(code="too-long", message=message, line=cut + 1, fix=fix))
        del lines[cut:]
    _quote_elements(lines)
    whole = [*lines]
    _unwrap(lines)
    above = next((n for n, line in enumerate(lines) if line.strip()), 0)
    around = tuple(
        (n + 1, line) for n, line in enumerate(whole[:above]) if line.strip() and "```" not in line
    )
    _open_callouts(lines)
    _label_answers(lines)
    _place_footnotes(lines)
    _Markup(lines)
    _unquote(lines, lists=unquote)
    builder = _Builder(lines)
    if plain := _unindented(lines, builder.indented):
        lines, builder = plain, _Builder(plain)
    nodes = tuple(walk(builder.root))
    return Document(
        lines=tuple(lines),
        root=builder.root,
        nodes=nodes,
        sections=_sections(builder.headings, len(lines)),
        fences=tuple(builder.fences),
        comments=tuple(builder.comments),
        quoted=(*builder.quoted, *builder.indented),
        truncated=builder.truncated or _cut_row(lines, nodes),
        around=around if len(around) <= _FEW_AROUND else (),
        problems=(*problems, *builder.problems),
    )


def _quote_elements(lines: list[str]) -> None:
    """Write each HTML quote whose tag begins or ends a line, and `/* comment */`, as a quote of Markdown."""
    first, name, depth = 0, "", 0
    for number in _outside(lines):
        if lines[number].startswith("/*"):
            behind = range(number, min(number + _COMMENT_LINES, len(lines)))
            end = next((n for n in behind if lines[n].rstrip().endswith("*/")), -1)
            lines[number : end + 1] = [f"> {line}" for line in lines[number : end + 1]]
    for number in _outside(lines):
        line = lines[number].casefold()
        opening = _HTML_QUOTE.search(line) if depth == 0 else None
        if opening and (opening["begins"] is not None or opening["ends"] is not None):
            first, name = number + (opening["begins"] is None), opening["name"]
        elif depth == 0:
            continue
        depth += line.count(f"<{name}") - line.count(f"</{name}>")
        if depth <= 0:
            depth = 0
            for quoted in range(first, number + 1):
                lines[quoted] = f"> {_HTML_QUOTES.sub('', lines[quoted])}"


def _unquote(lines: list[str], *, lists: bool) -> None:
    """Take the marks of quotes off the head and, with `lists`, off sections that list records and are quoted.

    A quote beside anything else in its section is written by somebody else.
    """
    starts = [number for number, line in enumerate(lines) if _HEADING.match(line[:9])] + [len(lines)]
    titled = starts[0] < 3 and len(starts) > 1
    head = range(starts[0] + 1, starts[1]) if titled else range(starts[0])
    quoted = [n for n in head if lines[n].lstrip()[:1] == ">"]
    labels = (_SPEAKER.match(lines[n]) for n in head)
    if any(label and fact_named(label[1]) for label in labels) or not all(
        _states_facts(lines[n], lists=lists) for n in quoted if lines[n].strip("> ")
    ):
        quoted = []
    _list_quoted_fields(lines)
    for start, end in pairwise(starts if lists else ()):
        inner = [n for n in range(start + 1, end) if lines[n].strip()]
        title = lines[start].strip("# ")
        if inner and all(lines[n].lstrip()[:1] == ">" for n in inner) and not quotes(title):
            quoted += inner if any(lists_kind(title, kind) for kind in "DT") else []
    for card in _cards(lines) if lists else ():
        quoted += card
    for number in set(quoted):
        lines[number] = _QUOTE.sub("", lines[number], count=1)


def _cards(lines: Sequence[str]) -> Iterator[list[int]]:
    """Yield the lines of each quote that begins with words and goes on with fields of a record."""
    block: list[int] = []
    for number, line in enumerate([*lines, ""]):
        if line.lstrip()[:1] == ">":
            block.append(number)
        elif block:
            fields = [_is_field(lines[each]) for each in block]
            labelled = all(_SPEAKER.match(lines[each].lstrip(" >")) for each in block[1:])
            if not fields[0] and (sum(fields) > 1 or (any(fields) and labelled)):
                yield block
            block = []


def _states_facts(line: str, *, lists: bool) -> bool:
    """Say whether a quoted line of the head has labels, and, unless `lists`, begins no record."""
    inner = line.lstrip(" >*_-[(`")
    label = _SPEAKER.match(inner)
    begins = _BEGINS.match(inner) or (label and any(names_kind(label[1], kind) for kind in "DT"))
    return _STATES_FACTS.match(line) is not None and (lists or not begins)


def _list_quoted_fields(lines: list[str]) -> None:
    """Write fields that are quoted right below a line, such as a record's heading, as a list."""
    outside = (n for n, line in enumerate(lines) if line.lstrip()[:1] != ">")
    for start, end in pairwise([*outside, len(lines)]):
        below = range(start + 1, end)
        if lines[start].strip() and all(_is_field(lines[n]) for n in below):
            for number in below:
                lines[number] = _QUOTE.sub("- ", lines[number], count=1)


def _labelled_definition(line: str) -> re.Match[str] | None:
    """Return the match of a definition that begins with a field in emphasis: `: *reason* It is cheaper`."""
    match = _DEFINED.match(line)
    return match if match and any(field_named(match[1], kind) for kind in "DT") else None


def _is_field(line: str) -> bool:
    label = _SPEAKER.match(line.lstrip(" >"))
    return label is not None and any(field_named(label[1], kind) in _RECORD_FIELDS for kind in "DT")


def _unindented(lines: Sequence[str], code: Sequence[tuple[int, int]]) -> list[str]:
    """Return lines without the indent of their code if that is most of them: there it is layout."""
    numbers = [n for first, last in code for n in range(first - 1, last) if lines[n].strip()]
    if 2 * len(numbers) <= sum(map(bool, map(str.strip, lines))):
        return []
    indent = min(len(lines[n]) - len(lines[n].lstrip()) for n in numbers)
    found = list(lines)
    for number in numbers:
        found[number] = lines[number][indent:]
    return found


def _open_callouts(lines: list[str]) -> None:
    """Write each callout (`> [!note] title`, of Obsidian and GitHub) as a list item: it quotes nobody."""
    before, is_callout = -1, False
    for number in _outside(lines, quoted=True):
        mark = _QUOTE.match(lines[number])
        if mark is None:
            continue
        inner = lines[number][mark.end() :]
        head = _CALLOUT.match(inner)
        if head or number != before + 1:
            is_callout = head is not None and head["type"].casefold() not in _CITATIONS
        if is_callout:
            lines[number] = f"- {_callout_title(head['type'], inner[head.end() :])}" if head else f"  {inner}"
        before = number


def _label_answers(lines: list[str]) -> None:
    """Write the number of an answer as its label where the line above asks: `Q3: Who?`, `A3: Ruth`."""
    before = ""
    for number in _outside(lines):
        asked, answer = _ASKED.match(before), _ANSWERED.match(lines[number])
        if asked and answer and asked["n"] == answer["n"] and asked["letter"] != answer["letter"]:
            lines[number] = f"{answer['mark']}Answer: {lines[number][answer.end() :]}"
        before = lines[number] or before


def _place_footnotes(lines: list[str]) -> None:
    """Write each footnote where its mark is, behind what it is about, if it has one mark.

    Notes without the sign of Markdown, `[1] Because`, all stand below the lines that their marks end.
    """
    outside = _outside(lines)
    notes, places = _notes(lines, outside, _FOOTNOTE, _FOOTMARK)
    if not notes:
        notes, places = _notes(lines, outside, _ENDNOTE, _ENDMARK)
        placed = [number for where in places.values() for number in where]
        if len(placed) != len(notes) or len(notes) < _FEWEST_NOTES or max(placed) > min(notes.values()):
            return
    for mark, where in places.items():
        if len(where) == 1:
            line, note = where[0], notes[mark]
            text = lines[note].partition("]")[2].lstrip(": ")
            lines[line] = f" \u2014 {text}".join(re.split(rf" ?\[\^?{mark}\]", lines[line]))
            lines[note] = ""


def _notes(
    lines: Sequence[str], outside: Sequence[int], note: re.Pattern[str], mark: re.Pattern[str]
) -> tuple[dict[str, int], dict[str, list[int]]]:
    """Return the line of each footnote by its mark, and the lines that have the mark."""
    notes = {match["mark"]: number for number in outside if (match := note.match(lines[number]))}
    places = defaultdict(list)
    for number in outside if notes else ():
        for match in mark.finditer(lines[number]):
            if notes.get(match["mark"], number) != number:
                places[match["mark"]].append(number)
    return notes, places


def _callout_title(kind: str, title: str) -> str:
    """Return the title of a callout behind its type, which adds nothing where an id follows."""
    named = names_kind(kind, "D") or names_kind(kind, "T")
    return title if named and _ID.match(title) else f"{kind}: {title}"


class _Markup:
    """Writes the marks of other markups as those of Markdown; each line stays where it is."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        outside = _outside(lines)
        text = "\n".join(lines[number] for number in outside)
        names = {name for name in _CLOSING.findall(text) if not _HTML.fullmatch(name)}
        shallow = re.search(rf"^ {{0,3}}</?(?:{'|'.join(names)})\b", text, re.MULTILINE)
        self.elements = names if shallow else set()  # else they are in indented code
        self.org = any(lines[number].startswith("#+") for number in outside[:60])
        self.depth = self.level = self.folded = self.headed = 0
        for number in outside:
            if "[[" in lines[number]:
                lines[number] = _LINK.sub(r"\1", lines[number])
            lines[number] = _BRACED.sub(_unbraced, _BLOCK_ID.sub("", lines[number]))
            if not lines[number].isascii() and not _OTHER_HEADING.fullmatch(lines[number]):
                lines[number] = _KEYCAP.sub(r"\1\2. ", lines[number].translate(_BRACKETS), count=1)
            lines[number] = _RUN_IN.sub(_labelled, lines[number], count=1)
            if not self._part(number):
                self._item(number)
                if self.elements and self.depth > 0 and not self.lines[number].lstrip().startswith("- "):
                    self.lines[number] = self.lines[number].lstrip()  # an indent within an element is no code

    def _part(self, number: int) -> bool:
        """Write a heading, an element or a folded part; say whether a line is one."""
        line = self.lines[number]
        match = _ELEMENT.fullmatch(_NESTED.sub(_as_fields, line)) if self.elements else None
        if match and (match["name"] or match["end"]) in self.elements:
            self._element(number, match)
        elif title := _other_heading(line):
            self.lines[number] = f"## {title}"
        elif heading := _WIKI.match(line) or (_ORG.match(line) if self.org else None):
            title = _ORG_NOTES.sub(_org_notes, heading["title"]) if self.org else heading["title"]
            self.lines[number] = f"{'#' * len(heading['mark'])} {title}"
        elif line[:40].lstrip().startswith(("<details", "</details", "<summary")):
            self.folded += line.count("<details") - line.count("</details")
            title = _SUMMARY.sub(rf"{'#' * min(self.level + 1, 6)} \1", line)
            self.lines[number] = _TAG.sub("", title) if title != line else line
        elif _HEADING.match(line[:9]):
            self.level = self.level if self.folded else len(line.split(maxsplit=1)[0])
            self.lines[number] = _ANCHOR.sub("", line)
        else:
            return False
        return True

    def _item(self, number: int) -> None:
        line, before = self.lines[number], self.lines[number - 1].strip() if number else ""
        start = line[:40].lstrip()[:2]
        if start[:1] in _BULLETS and (start[1:].isspace() or start[0] == "\u30fb"):
            self.lines[number] = line.replace(start[0], "- ", 1)
        elif match := _DEFINITION.match(line):
            self.lines[number] = f"- {line[match.end() :]}"
        elif fact_named(before) and (match := _DEFINES.match(line)):  # the term and its value are one fact
            self.lines[number - 1], self.lines[number] = "", f"- {before}: {line[match.end() :]}"
        elif match := _labelled_definition(line) or _FIELD_LIST.match(line):
            self.lines[number] = f"- {match[1]}: {line[match.end() :]}"
        elif (match := _BRACKET_LABEL.match(line)) and _is_label(match["label"]):
            self.lines[number] = f"- {match['label']}: {line[match.end() :]}"
        elif self.org:
            label = _SPEAKER.match(line.lstrip()) if line[:1] == " " else None
            line = line.lstrip() if label and _is_label(label[1]) else line
            self.lines[number] = _ORG_KEY.sub(r"- \1: ", _ORG_DRAWER.sub("", line)).replace(" :: ", ": ")
        elif (match := _MARKED_LINE.match(line)) and (
            before[-1:] == ":" or before.startswith("- ") or len(before.split()) < 4
        ):
            self.lines[number] = f"- {'[x] ' if match[1] == 'x' else ''}{line[match.end() :]}"

    def _element(self, number: int, match: re.Match[str]) -> None:
        """Write the tags on a line as a heading or a labelled item."""
        if match["end"]:
            self.lines[number] = match["before"]
            self.depth -= not match["before"].strip()
            self.headed = min(self.headed, self.depth + 1)
            return
        pairs = {k.casefold(): html.unescape(v) for k, _, v in _ATTRIBUTE.findall(match["attributes"])}
        first = next(iter(pairs), "")
        key = "id" if "id" in pairs or not _COUNTED.fullmatch(pairs.get(first, "")) else first
        local_id, name = pairs.pop(key, ""), match["name"].replace("_", " ")
        if kind_of(local_id) == "A" and any(names_kind(name, kind) for kind in "DT"):
            local_id = f"{name} {local_id}"  # alone it would be an artifact's
        notes = ", ".join(f"{key}: {value}" for key, value in pairs.items())
        noted, value = f" ({notes})" if notes else "", html.unescape(match["value"]).strip()
        if value or match["shut"]:
            plain = f"{local_id}{noted}: {value}" if local_id else f"{value}{noted}"
            if local_id and self.headed == self.depth + 1:  # one beside it is a heading
                self.lines[number] = f"{'#' * min(self.headed, 6)} {plain}"
                return
            self.lines[number] = f"- {plain}" if local_id or notes else f"- {name}: {value}"
            return
        self.depth += 1
        self.headed = self.depth if local_id else self.headed
        heading = f"{'#' * min(self.depth, 6)} {local_id or name}{noted}"
        self.lines[number] = heading if local_id or not notes else notes.replace(", ", " \u00b7 ")


def _other_heading(line: str) -> str:
    """Return the title of a heading by a sign, a rule or brackets, "" for any other line."""
    match = _OTHER_HEADING.fullmatch(line)
    title = next(filter(None, match.group("title", "ruled", "boxed", "bracketed"))) if match else ""
    return "" if match and match["boxed"] and not title.isupper() else title


def _as_fields(match: re.Match[str]) -> str:
    """Write the elements within an element as its text and its labelled parts."""
    pairs = [(name.replace("_", " "), value.strip()) for name, value in _INNER.findall(match.group())]
    pairs.sort(key=lambda pair: not any(field_named(pair[0], kind) == "text" for kind in "DT"))
    text = pairs.pop(0)[1] if any(field_named(pairs[0][0], kind) == "text" for kind in "DT") else ""
    return " \u00b7 ".join([text, *(f"{name}: {value}" for name, value in pairs)])


def _unbraced(match: re.Match[str]) -> str:
    """Write the labelled values in braces behind a record with dots between: `{why: a; not: b}`."""
    if not match["label"]:
        return ""
    parts = re.split(r"\s*;\s+(?=[^\W\d_][^:;]{0,30}:\s)", f"{match['label']}: {match['rest']}")
    return (
        "".join(f" \u00b7 {part}" for part in parts)
        if _is_label(match["label"]) or parts[1:]
        else match.group()
    )


def _labelled(match: re.Match[str]) -> str:
    """Write `**Decision.** words`, also behind `(a)`, with a colon, if what is emphasised is a label."""
    head = "- " if match["letter"] else match["head"]
    return f"{head}**{match['label']}:**" if _is_label(match["label"]) else match.group()


def _org_notes(match: re.Match[str]) -> str:
    rank = f"P{'ABC'.index(match['rank']) + 1}" if match["rank"] else ""
    words = [word for word in (match["state"], rank, *(match["tags"] or "").split(":")) if word]
    return f"{match['title'].strip()} ({', '.join(words)})" if words else match["title"].strip()


def _outside(lines: Sequence[str], *, quoted: bool = False) -> list[int]:
    """Return the numbers of the full lines outside of fences and, unless `quoted`, of quotes."""
    found, fence = [], ""
    hidden = ("",) if quoted else ("", ">")
    for number, line in enumerate(lines):
        mark = _FENCE_MARK.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence:
            is_end = mark and mark[1].startswith(fence) and not line.strip(" " + fence[0])
            fence = "" if is_end else fence
        elif len(line) <= LINE_LIMIT and line.lstrip()[:1] not in hidden:
            found.append(number)
    return found


def _unwrap(lines: list[str]) -> None:
    """Blank what is around a whole archive: a fence or the marks of a quote, and the chat about it."""
    for _ in range(3):
        full = [number for number, line in enumerate(lines) if line.strip()]
        bare = [n for n in full if not _DETAILS.fullmatch(lines[n].strip())]
        quoted = [number for number in bare if lines[number].lstrip().startswith(">")]
        around = [number for number in bare if not quoted or not quoted[0] <= number <= quoted[-1]]
        headed = any(_HEADING.match(lines[number][:9]) for number in around)
        if (
            quoted
            and len(quoted) + len(around) == len(bare)
            and 3 * len(around) <= len(quoted)
            and not headed
        ):
            for number in bare:
                is_quoted = lines[number].lstrip().startswith(">")
                lines[number] = _QUOTE.sub("", lines[number], count=1) if is_quoted else ""
        elif not _unfence(lines, full):
            return


def _unfence(lines: list[str], full: Sequence[int]) -> bool:
    """Blank a fence around the whole archive, and the chat around it; say whether there was one."""
    opening = next((number for number in full if _FENCE.match(lines[number])), None)
    match = _FENCE.match(lines[opening]) if opening is not None else None
    if opening is None or match is None:
        return False
    first = next((lines[n] for n in full if n > opening), "")
    info, headed = match["info"].casefold(), _HEADING.match(first) or first == "---"
    document = info in ("markdown", "md") or (info in ("", "text") and headed)
    marks = [number for number in full if number > opening and lines[number].strip() == match["mark"]]
    closing = marks[-1 if document else 0] if marks else opening
    around = [n for n in full if n < opening or n > closing]
    headed = any(_HEADING.match(lines[n][:9]) for n in around)
    is_data = info in _DATA  # such a fence may be a part of an archive, with its facts beside it
    alone = not is_data and (document or 2 * len(around) <= closing - opening)
    if closing <= opening or headed:
        return False
    if not alone and not (_is_chat(lines[n] for n in around) and _has_labels(lines[opening + 1 : closing])):
        return False
    for number in around if is_data else (*around, opening, closing):
        lines[number] = ""
    return not is_data


def _is_chat(lines: Iterable[str]) -> bool:
    """Say whether two speakers take turns, each named at least twice at the beginning of a line."""
    named = [match[1].casefold() for line in lines if (match := _SPEAKER.match(line))]
    speakers = [name for name, count in Counter(named).most_common(2) if count > 1 and not _is_label(name)]
    turns = [name for name in named if name in speakers]
    return len(speakers) == 2 and all(one != other for one, other in pairwise(turns))


def _has_labels(lines: Iterable[str]) -> bool:
    """Say whether at least two lines begin with a label of a record."""
    named = (match[1] for line in lines if (match := _SPEAKER.match(line.strip(" -"))))
    return sum(map(_is_label, named)) > 1


def _is_label(name: str) -> bool:
    return any(field_named(name, kind) or names_kind(name, kind) for kind in "DT")


class _Builder:
    """Builds the tree of some lines from markdown-it's tokens."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.root = Node("root", 1, len(lines))
        self.headings: list[Node] = []
        self.fences: list[Fence] = []
        self.comments: list[tuple[int, int]] = []
        self.quoted: list[tuple[int, int]] = []
        self.indented: list[tuple[int, int]] = []
        self.problems: list[Problem] = []
        self.truncated = ""
        self._stack = [self.root]
        self._place = 0
        self._last_full = max((i for i, line in enumerate(lines) if line.strip()), default=-1)
        plain = self._plain_lines()
        start, cuts = self._front_matter(), 0
        while start < len(lines):
            start = self._parse(plain, start, may_cut=cuts < _CUTS_LIMIT)
            cuts += 1

    def _plain_lines(self) -> list[str]:
        """Return the lines for markdown-it: without HTML tags, endless comments and overlong lines."""
        last_end = max((i for i, line in enumerate(self.lines) if "-->" in line), default=-1)
        plain = []
        for number, line in enumerate(self.lines):
            start = line[:200].lstrip()
            if len(line) > LINE_LIMIT:
                plain.append("x")
            elif start.startswith("<!--") and number > last_end:
                self.truncated = f"the comment opened on line {number + 1} is never closed"
                plain.append(f"\\{start}")
            elif start.startswith("<") and not start.startswith("<!--"):
                plain.append(_TAG.sub("", line))
            else:
                plain.append(line)
        return plain

    def _front_matter(self) -> int:
        """Take the front matter as YAML; return where the text behind it begins."""
        if self.lines[0].rstrip() != "---":
            return 0
        end = next((n for n, line in enumerate(self.lines[1:200], 1) if line.rstrip() == "---"), 0)
        if not end or not all(":" in line or line[:1] in " -#" for line in self.lines[1:end] if line):
            return 0
        content = "\n".join(self.lines[1:end]) + "\n"
        self.fences.append(Fence(first_line=1, last_line=end + 1, info="front matter", content=content))
        return end + 1

    def _parse(self, plain: Sequence[str], start: int, *, may_cut: bool) -> int:
        """Read the text from a line on; return where to go on: behind a fence that was never closed."""
        parser = _parser()
        self._place = start
        self._stack = self._around(self.headings[-1]) if self.headings else [self.root]
        tokens = parser.parse("\n".join(plain[start:]))
        quotes_open = 0
        for index, token in enumerate(tokens):
            if token.type.startswith("blockquote"):
                quotes_open += token.nesting
                if token.nesting > 0 and quotes_open == 1:
                    self.quoted.append(self._span(token))
            elif quotes_open and token.type not in ("fence", "html_block"):
                continue
            elif token.type == "fence" and (end := self._fence(token, may_cut=may_cut)):
                return end
            else:
                self._take(token, tokens[index + 1].content if token.type == "heading_open" else "")
        return len(self.lines)

    def _around(self, last: Node) -> list[Node]:
        found = [self.root]
        while found[-1] is not last:
            found.append(next(n for n in reversed(found[-1].children) if n.kind == "heading"))
        return found

    def _span(self, token: Token) -> tuple[int, int]:
        first, end = token.map or (0, 1)
        while end > first + 1 and not self.lines[self._place + end - 1].strip():
            end -= 1
        return self._place + first + 1, self._place + end

    def _add(self, node: Node) -> None:
        self._stack[-1].children.append(node)

    def _take(self, token: Token, heading: str) -> None:
        """Add what a token opens or holds to the tree."""
        if token.type.endswith("_close") or token.type == "inline":
            if token.type == "list_item_close":
                self._stack.pop()
            return
        first, last = self._span(token)
        if token.type == "heading_open":
            self._heading(token, heading)
        elif token.type == "list_item_open":
            mark = re.match(r"[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*", self.lines[first - 1])
            self._add(Node("item", first, last, number=token.info, column=mark.end() if mark else 0))
            self._stack.append(self._stack[-1].children[-1])
        elif token.type == "paragraph_open":
            self._paragraph(first, last)
        elif token.type == "tr_open":
            self._row(first)
        elif token.type in ("table_open", "hr"):
            self._add(Node("rule" if token.type == "hr" else "table", first, last))
        elif token.type == "code_block":
            self.indented.append((first, last))
            self._add(Node("code", first, last, "\n".join(self.lines[first - 1 : last])))
        elif token.type == "html_block" and self.lines[first - 1].lstrip()[:4] == "<!--":
            self.comments.append((first, last))

    def _heading(self, token: Token, text: str) -> None:
        """Add a heading; an underlined one is a line alone, and no labelled line above a rule."""
        first, last = self._span(token)
        level = int(token.tag[1:])
        if token.markup in "=-":
            *above, text = text.split("\n")
            if above:
                self._paragraph(first, first + len(above) - 1)
            first = last - 1
            if token.markup == "-" and (":" in text or text[-1:] in ".!?"):
                self._paragraph(first, first)
                return
        node = Node("heading", first, last, text.strip(), level)
        while self._stack[-1].kind == "heading" and self._stack[-1].level >= level:
            self._stack.pop()
        self._add(node)
        if self._stack[-1].kind != "item":
            self.headings.append(node)
            self._stack.append(node)

    def _paragraph(self, first: int, last: int) -> None:
        """Add the lines of a paragraph; one that a list item has only by its lack of a mark is apart."""
        inner = self._stack[-1]
        for number in range(first, last + 1):
            line = self.lines[number - 1]
            indent = len(line) - len(line.lstrip())
            text = _TAG.sub(" ", line).strip() if "<" in line else line.strip()
            if inner.kind == "item" and number == inner.line and not inner.text:
                inner.text = line[inner.column :].strip()
                continue
            if _RULE.fullmatch(text):
                continue
            lazy = number > first and inner.kind == "item" and indent < min(inner.column, 2)
            holder = next(n for n in reversed(self._stack) if n.kind != "item") if lazy else inner
            holder.children.append(
                Node("line", number, number, text, level=int(number > first), column=indent)
            )

    def _row(self, number: int) -> None:
        table = self._stack[-1].children[-1]
        row = cells(self.lines[number - 1])
        if table.cells:
            table.children.append(Node("row", number, number, cells=row))
        else:
            table.cells = row

    def _fence(self, token: Token, *, may_cut: bool) -> int:
        """Take a fence; return where to go on if it is never closed and a heading follows, else 0."""
        first, last = self._span(token)
        closed = last > first and not self.lines[last - 1].strip(" \t>").strip(token.markup[0])
        end = 0
        if not closed and last - 1 >= self._last_full and token.level == 0:
            place = f"the code block opened on line {first} is never closed"
            after = range(first, len(self.lines)) if may_cut else ()
            end = next((n for n in after if _DEEP_HEADING.match(self.lines[n][:9])), 0)
            if end:
                message = f"{place}; the next heading was taken for its end"
                self.problems.append(Problem(code="unclosed-fence", message=message, line=first))
                last = end
            else:
                self.truncated = place
        content = "\n".join(token.content.split("\n")[: last - first]) if end else token.content
        if "<" in content or len(content) > LINE_LIMIT:  # markdown-it was given other lines
            indent = len(self.lines[first - 1]) - len(self.lines[first - 1].lstrip())
            inner = self.lines[first : last - closed]
            content = (
                "\n".join(line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in inner) + "\n"
            )
        info = token.info.strip().partition(" ")[0].casefold()
        self.fences.append(Fence(first_line=first, last_line=last, info=info, content=content))
        self._add(Node("code", first, last, "\n".join(self.lines[first - 1 : last])))
        return end


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # for readers alone

    parser = MarkdownIt("commonmark", {"maxNesting": 40}).enable("table")
    return parser.disable(["inline", "reference", "text_join"], ignoreInvalid=True)


def cells(row: str) -> tuple[str, ...]:
    r"""Return the cells of a table row; `\|` is a bar, `<br>` a line end."""
    inner = row.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    parts = (_BREAK.sub("\n", cell).strip() for cell in BAR.split(inner))
    return tuple(_TAG.sub(" ", cell).replace("\\|", "|") for cell in parts)


def _sections(headings: Sequence[Node], count: int) -> tuple[Section, ...]:
    ends = [count] * len(headings)
    open_: list[int] = []
    for index, node in enumerate(headings):
        while open_ and headings[open_[-1]].level >= node.level:
            ends[open_.pop()] = node.line - 1
        open_.append(index)
    return tuple(
        Section(title=n.text, level=n.level, heading_line=n.line, first_line=n.last + 1, last_line=end)
        for n, end in zip(headings, ends, strict=True)
    )


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, in the order of the text."""
    stack = [node]
    while stack:
        each = stack.pop()
        yield each
        stack.extend(reversed(each.children))


def _cut_row(lines: Sequence[str], nodes: Sequence[Node]) -> str:
    """Say when the very last line is a table row that stops before its last column."""
    if lines[-1] == "" or "|" not in lines[-1]:
        return ""
    for node in nodes:
        if node.kind == "table" and node.last == len(lines) and node.children:
            row = node.children[-1]
            if len(row.cells) < len(node.cells) and not lines[-1].rstrip().endswith("|"):
                return f"the table row on line {row.line} stops before its last column"
    return ""


def own_lines(
    document: Document, blocks: Iterable[tuple[int, int]] = (), *, code: bool = False
) -> list[bool]:
    """Return for each line (0-based) whether it is this archive's own; with `code`, fences count too."""
    fences = () if code else tuple((fence.first_line, fence.last_line) for fence in document.fences)
    own = [True] * len(document.lines)
    named = (*inherited_lines(document), *_titled(document, "earlier"), *_shown(document.lines))
    for first, last in (
        *(*blocks, *named, *printed_lines(document)),
        *(*document.comments, *document.quoted, *fences),
    ):
        own[first - 1 : last] = [False] * (min(last, len(own)) - first + 1)
    return own


def inherited_lines(document: Document) -> list[tuple[int, int]]:
    """Return first and last line of the sections that quote the parent's context."""
    return list(_titled(document, "inherited"))


def _titled(document: Document, what: str) -> Iterator[tuple[int, int]]:
    """Yield first and last line of the sections with such a title; that of a whole text quotes nothing."""
    first, *others = document.sections or (None,)
    is_all = first is not None and others and first.last_line == len(document.lines)
    for section in others if is_all else document.sections:
        if quotes(section.title) == what:
            yield section.heading_line, section.last_line


def _shown(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield first and last line of each record alone that a sentence gives as an example: `For example:`."""
    for number, line in enumerate(lines, 1):
        words = _ENDS_OPEN.search(line[-_TAIL:])
        if words is None or not any(quotes(word) == "earlier" for word in words[0].split()):
            continue
        first = next((n for n in range(number, len(lines)) if lines[n].strip()), len(lines))
        below = list(takewhile(lambda n: lines[n].strip(), range(first, len(lines))))
        begun = [n for n in below if _BEGINS.match(lines[n].lstrip(" >*_-+[(`"))]
        if below and first <= number + 1 and begun == below[:1] and lines[first][:1] != "#":
            yield below[0] + 1, below[-1] + 1


def printed_lines(document: Document) -> Iterator[tuple[int, int]]:
    """Yield first and last line of transcripts and registry blocks; no machine block counts there."""
    yield from _marked(document)
    yield from ((first, last) for first, last, _ in _printed(document))


def pasted_from(document: Document) -> int:
    """Return the first line of the records that end no transcript because such come before it, else 0."""
    return max((pasted for *_, pasted in _printed(document)), default=0)


def _printed(document: Document) -> Iterator[tuple[int, int, int]]:
    """Yield first and last line of transcripts and of blocks by their headings, and what is pasted behind."""
    turns: list[int] | None = None
    reached = transcripts = 0
    for index, section in enumerate(document.sections):
        if section.heading_line <= reached:
            continue
        key, pasted = fold(section.title), 0
        if quotes(section.title) == "transcript":
            if turns is None:  # most archives have no transcript
                turns = [n for n, line in enumerate(document.lines, 1) if _TURN.match(line[:120])]
            reached = _transcript_end(document, index, turns)
            transcripts += 1
            if transcripts <= _TRANSCRIPTS_LIMIT and (pasted := _pasted_behind(document, index, reached)):
                reached = len(document.lines)
        elif key.partition(":")[0] in _PRINTED or key.startswith("forge os:"):
            body = range(section.first_line, section.last_line + 1)
            ends = (number for number in body if document.lines[number - 1].startswith(_PRINTED_END))
            reached = max(ends, default=section.last_line)
        else:
            continue
        yield section.heading_line, reached, pasted


def _marked(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the blocks between our own marks; one without an end reaches to the next archive heading."""
    opened: int | None = None
    ended = 0  # what is quoted may hold such a mark: the last one before another block counts
    for first, last in document.comments:
        match = _MARKED.match(document.lines[first - 1].lstrip())
        if match and match.group(1) and opened is not None:
            ended = last
        elif match and not match.group(1) and (opened is None or ended):
            if opened is not None:
                yield opened, ended
            opened, ended = first, 0
    if opened is not None and ended:
        yield opened, ended
    elif opened is not None:
        after = (
            s.heading_line - 1 for s in document.sections if s.heading_line > opened and _begins_archive(s)
        )
        yield opened, next(after, len(document.lines))


def _begins_archive(section: Section) -> bool:
    key = fold(section.title)
    return key.startswith("conversation archive") or key in ("continuation prompt", "compression")


def _series(line: str, *, lists: bool) -> set[str]:
    """Return the kind or series of the record that a line begins, else the kinds that a heading lists."""
    title = line[:120].strip(" #>*_-|[`")
    if record := re.match(ANY_ID, title):
        return {kind_of(record[0]) or re.split(r"[\d-]", record[0])[0]} - {"A"}
    return {kind for kind in "DT" if lists and lists_kind(title, kind)}


def _transcript_end(document: Document, index: int, turns: Sequence[int]) -> int:
    """Return the last line of a transcript: up to a heading of its level behind the last turn in it."""
    section = document.sections[index]
    after = [s for s in document.sections[index + 1 :] if s.level <= section.level]
    limit = next((s.heading_line for s in after if _begins_archive(s)), len(document.lines) + 1)
    last_turn = max(turns[bisect_left(turns, section.first_line) : bisect_left(turns, limit)][-1:], default=0)
    ends = (s.heading_line - 1 for s in after if s.heading_line > last_turn and letters(s.title))
    return min(next(ends, len(document.lines)), limit - 1 if limit > last_turn else len(document.lines))


def _pasted_behind(document: Document, index: int, end: int) -> int:
    """Return the first line behind a transcript with a record of a kind that is listed before it, else 0.

    A heading that ends the section of which a transcript is a part is not pasted.
    """
    level, sections, lines = document.sections[index].level, document.sections, document.lines
    begun = next((n for n in range(index, -1, -1) if _begins_archive(sections[n])), 0)
    before = set().union(*(_series(s.title, lists=s.level <= level) for s in sections[begun:index]))
    least = level if any(s.level < level for s in sections[begun + 1 : index]) else 0
    behind = (s for s in sections[index + 1 :] if before and s.heading_line > end and s.level >= least)
    numbers = (n for s in behind for n in range(s.heading_line, s.last_line + 1))
    return next((n for n in numbers if before & _series(lines[n - 1], lists=lines[n - 1][:1] == "#")), 0)
