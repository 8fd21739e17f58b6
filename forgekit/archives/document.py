"""The Markdown structure of a pasted text: which lines are headings, fences, comments and tables.

In: a text of any size. Out: a `Document`, and `own_lines`: which lines speak for the archive itself and not
for a quoted parent, a transcript or a block that forgekit printed. One pass over the lines, in linear time:
people paste transcripts of 100,000 lines. Fences and tables may be inside list items and quotes. A fence that
is never closed ends at the next heading, a comment that is never closed hides nothing.

Lines are 1-based in every value that leaves this module, and end at LF only, as editors count them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from forgekit.model.archive_record import Section
from forgekit.model.problem import Problem

LINES_LIMIT = 200_000
HEADINGS_LIMIT = 20_000
LINE_LIMIT = 20_000

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_ITEM = re.compile(r" *(?:[-*+]|\d{1,9}[.)]) +(?=\S)")
_FENCE = re.compile(
    r"(?P<place>[> \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<mark>`{3,}(?!.*`)|~{3,})(?P<info>.*)$"
)
_DELIMITERS = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_AFTER_TABLE = re.compile(
    r" {4}| {0,3}(?:>|#{1,6}(?:\s|$)|`{3}|~{3}|[-*+] |\d{1,9}[.)] |<!--|([-*_])(?: *\1){2,} *$)"
)
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*$")
_WRAPPER = re.compile(r"(`{3,}|~{3,})[ \t]*(?:markdown|md)[ \t]*$", re.IGNORECASE)
_BAR = re.compile(r"(?<!\\)\|")
_SUFFIX = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fence:
    """A fenced code block; `content` has lost the fence's own indent."""

    first_line: int
    last_line: int
    info: str
    content: str
    closed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Comment:
    """An HTML comment that is a block of its own."""

    first_line: int
    last_line: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table: folded column names and the rows with their lines."""

    line: int
    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A text in its blocks."""

    lines: tuple[str, ...]
    sections: tuple[Section, ...]
    fences: tuple[Fence, ...]
    comments: tuple[Comment, ...]
    tables: tuple[Table, ...]
    truncated: str
    problems: tuple[Problem, ...]


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """Return the key of a heading, column or field: case, `_` and a trailing (...) do not count."""
    plain = text[:200].replace("`", "").replace("*", "").replace("_", " ").replace("-", " ").strip(" \t:")
    return " ".join(_SUFFIX.sub("", plain).strip(" \t:").casefold().split())


def split_lines(text: str) -> list[str]:
    """Return the text's lines without their ends: no BOM, CRLF and CR count as LF."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_document(text: str) -> Document:
    """Find the blocks of a text of any size in linear time."""
    lines = split_lines(text)
    problems: list[Problem] = []
    headings = (number for number, line in enumerate(lines) if line[:1] == "#" and _HEADING.match(line[:200]))
    cut = next(islice(headings, HEADINGS_LIMIT, None), LINES_LIMIT)
    if len(lines) > cut:
        message = f"the text has more than {cut:,} lines of structure; from here on it was not read"
        fix = "file the transcript apart from the logs"
        problems.append(Problem(code="too-long", message=message, line=cut + 1, fix=fix))
        del lines[cut:]
    _unwrap(lines)
    blocks = _Blocks(lines)
    return Document(
        lines=tuple(lines),
        sections=_sections(lines, blocks),
        fences=tuple(blocks.fences),
        comments=tuple(blocks.comments),
        tables=tuple(blocks.tables),
        truncated=blocks.truncated or _cut_row(lines, blocks.tables),
        problems=(*problems, *blocks.problems),
    )


def _unwrap(lines: list[str]) -> None:
    """Blank the fence around a whole document that was copied as one Markdown block."""
    full = [i for i, line in enumerate(lines) if line.strip()]
    opening = _WRAPPER.match(lines[full[0]]) if full else None
    if opening and len(full) > 1 and lines[full[-1]].strip() == opening.group(1):
        lines[full[0]] = lines[full[-1]] = ""


class _Blocks:
    """The fences, comments, tables and underlined headings of some lines.

    Attributes:
        hidden: for each line whether a fence or a comment covers it.
        underlined: 0-based line of the underline to the heading's text.
    """

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.fences: list[Fence] = []
        self.comments: list[Comment] = []
        self.tables: list[Table] = []
        self.underlined: dict[int, str] = {}
        self.hidden = bytearray(len(lines) + 2)
        self.problems: list[Problem] = []
        self.truncated = ""
        self._last_full = max((i for i, line in enumerate(lines) if line.strip()), default=-1)
        self._last_end = max((i for i, line in enumerate(lines) if "-->" in line), default=-1)
        item = 0  # column of the text of the list item that a line may belong to
        number = 0
        while number < len(lines):
            line = lines[number][:LINE_LIMIT]
            start = len(line) - len(line.lstrip(" "))
            marker = _ITEM.match(line)
            if line.strip() and start < item and (not marker or start < item - marker.end()):
                item = 0 if not marker and (number == 0 or not lines[number - 1].strip()) else item
            base = item if start >= item else 0
            number = self._block(number, line, start - base, base)
            if marker and start - base < 4:
                item = marker.end()

    def _block(self, number: int, line: str, indent: int, base: int) -> int:
        """Read the block that begins on a line, if any, and return where to go on.

        Args:
            number: 0-based.
            line: its text.
            indent: of the text, from the list item around it.
            base: column of that item's text.
        """
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence and indent < 4:
            return self._fence(number, fence, base)
        if indent >= 4:
            return number + 1
        if line.lstrip().startswith("<!--"):
            return self._comment(number)
        if "|" in line and number + 1 < len(self.lines) and _DELIMITERS.match(self.lines[number + 1][:500]):
            columns, marks = cells(line), cells(self.lines[number + 1])
            if len(columns) == len(marks) and not line.lstrip().startswith(">"):
                return self._table(number, base, tuple(map(fold, columns)))
        if _UNDERLINE.match(line) and base == 0 and number and not self.hidden[number - 1]:
            above = self.lines[number - 1]
            if above.strip() and not _AFTER_TABLE.match(above) and number - 1 not in self.underlined:
                self.underlined[number] = above.strip()
        return number + 1

    def _comment(self, first: int) -> int:
        if first > self._last_end:
            self.truncated = f"the comment opened on line {first + 1} is never closed"
            return first + 1
        end = next(i for i in range(first, len(self.lines)) if "-->" in self.lines[i]) + 1
        self._hide(first, end)
        self.comments.append(Comment(first_line=first + 1, last_line=end))
        return end

    def _hide(self, first: int, end: int) -> None:
        self.hidden[first:end] = b"\x01" * (end - first)

    def _fence(self, first: int, opening: re.Match[str], base: int) -> int:
        mark, place = opening["mark"], opening["place"]
        quoted = ">" in place
        inside = max(base, len(place) if place.strip(" \t>") else 0)
        closed = False
        end = first + 1
        while end < len(self.lines) and not closed:
            line = self.lines[end][:LINE_LIMIT]
            text = line.strip(" \t>")
            start = len(line) - len(line.lstrip(" "))
            if (quoted and not line.lstrip().startswith(">")) or (not quoted and text and start < inside):
                break  # the quote or the list item ends, and the fence with it
            closed = len(text) >= len(mark) and not text.strip(mark[0]) and (quoted or start - inside < 4)
            end += 1
        if not closed and end > self._last_full:
            end = self._unclosed(first)
        self._hide(first, end)
        indent = len(place)
        content = [_dedent(line, indent) for line in self.lines[first + 1 : end - closed]]
        self.fences.append(
            Fence(
                first_line=first + 1,
                last_line=end,
                info=opening["info"].strip().partition(" ")[0].casefold(),
                content="\n".join(content) + "\n",
                closed=closed,
            )
        )
        return end

    def _unclosed(self, first: int) -> int:
        """Return where a fence without an end is taken to end: at the next heading, else with the text."""
        place = f"the code block opened on line {first + 1} is never closed"
        for number in range(first + 1, len(self.lines)):
            if self.lines[number][:2] == "##" and _HEADING.match(self.lines[number]):
                message = f"{place}; the next heading was taken for its end"
                self.problems.append(Problem(code="unclosed-fence", message=message, line=first + 1))
                return number
        self.truncated = place
        return len(self.lines)

    def _table(self, first: int, base: int, columns: tuple[str, ...]) -> int:
        end = first + 2
        while end < len(self.lines) and self.lines[end].strip():
            if _AFTER_TABLE.match(self.lines[end][base : base + 200]):
                break
            end += 1
        rows = tuple((i + 1, cells(self.lines[i])) for i in range(first + 2, end))
        self.tables.append(Table(line=first + 1, columns=columns, rows=rows))
        return end


def _dedent(line: str, indent: int) -> str:
    head = line[:indent]
    return line[len(head) - len(head.lstrip(" \t>")) if head.strip(" \t>") else indent :]


def cells(row: str) -> tuple[str, ...]:
    r"""Return the cells of a table row; `\|` is a bar."""
    inner = row.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return tuple(cell.strip().replace("\\|", "|") for cell in _BAR.split(inner))


def _sections(lines: list[str], blocks: _Blocks) -> tuple[Section, ...]:
    found: list[tuple[int, int, str, int]] = []
    for number, line in enumerate(lines):
        if blocks.hidden[number]:
            continue
        if number in blocks.underlined:
            found.append((number - 1, 1, blocks.underlined[number], number + 1))
        elif "#" in line[:4] and len(line) <= LINE_LIMIT and (match := _HEADING.match(line)):
            title = _CLOSING_HASHES.sub("", match.group(2) or "").strip()
            found.append((number, len(match.group(1)), title, number + 1))
    ends = [len(lines)] * len(found)
    open_: list[int] = []
    for index, (number, level, _, _) in enumerate(found):
        while open_ and found[open_[-1]][1] >= level:
            ends[open_.pop()] = number
        open_.append(index)
    return tuple(
        Section(title=title, level=level, heading_line=number + 1, first_line=first + 1, last_line=end)
        for (number, level, title, first), end in zip(found, ends, strict=True)
    )


def _cut_row(lines: list[str], tables: list[Table]) -> str:
    """Say when the very last line is a table row that stops before its last column."""
    if not tables or not tables[-1].rows or lines[-1] == "":
        return ""
    number, row = tables[-1].rows[-1]
    if number == len(lines) and len(row) < len(tables[-1].columns) and not lines[-1].rstrip().endswith("|"):
        return f"the table row on line {number} stops before its last column"
    return ""


_INHERITED = re.compile("inherited context(?: snapshot)?")
_QUOTED = re.compile(
    rf"{_INHERITED.pattern}|inherited decisions|previous archive|carried decisions|conflicts"
    "|cross project context|revalidation required|retrieval protocol"
)
_REGISTRY = ("registry state", "updated context")
_REGISTRY_END = tuple(f"(end of {title})" for title in _REGISTRY)
_TRANSCRIPT = re.compile("(?:full )?transcript|full conversation|exchange log|exchanges")
_AFTER_TRANSCRIPT = re.compile(
    rf"{_QUOTED.pattern}|{'|'.join(_REGISTRY)}|continuation prompt|transcript range markers"
    "|decision (?:log|index)|decisions(?: made)?|key decisions|extracted entities|insights|chunk index"
    "|artifacts(?: produced)?|artifact history|compression lineage"
    "|threads|(?:open|active|unresolved|resolved|closed) threads"
)
_MARKED = re.compile(r"<!--\s*(/?)\s*forgekit:(registry-state|updated-context)\b")


def own_lines(
    document: Document, blocks: Iterable[tuple[int, int]] = (), *, code: bool = False
) -> list[bool]:
    """Return for each line (0-based) whether it speaks for this archive.

    Args:
        document: the text.
        blocks: first and last line (1-based) of each machine block.
        code: whether code fences count like the lines around them.
    """
    covers: list[Comment | Fence] = [*document.comments, *(() if code else document.fences)]
    spans = [*blocks, *_named(document, _QUOTED), *printed_lines(document)]
    own = [True] * len(document.lines)
    for first, last in (*spans, *((each.first_line, each.last_line) for each in covers)):
        own[first - 1 : last] = [False] * (min(last, len(own)) - first + 1)
    return own


def inherited_lines(document: Document) -> list[tuple[int, int]]:
    """Return first and last line of the sections that quote the parent's context."""
    return list(_named(document, _INHERITED))


def _named(document: Document, titles: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for section in document.sections:
        if titles.fullmatch(fold(section.title)):
            yield section.heading_line, section.last_line


def printed_lines(document: Document) -> Iterator[tuple[int, int]]:
    """Yield first and last line of transcripts and registry blocks; no machine block counts there."""
    yield from _marked(document)
    reached = 0
    for index, section in enumerate(document.sections):
        if section.heading_line <= reached:
            continue
        key = fold(section.title)
        if _TRANSCRIPT.fullmatch(key):
            reached = _transcript_end(document.sections, index, len(document.lines))
        elif key.partition(":")[0] in _REGISTRY or key.startswith("forge os:"):
            body = range(section.first_line, section.last_line + 1)
            ends = (number for number in body if document.lines[number - 1].startswith(_REGISTRY_END))
            reached = next(ends, section.last_line)
        else:
            continue
        yield section.heading_line, reached


def _marked(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the blocks between our own marks; one without an end reaches to the next archive heading."""
    opened: int | None = None
    for comment in document.comments:
        match = _MARKED.match(document.lines[comment.first_line - 1].lstrip())
        if match is None:
            continue
        if not match.group(1) and opened is None:
            opened = comment.first_line
        elif match.group(1) and opened is not None:
            yield opened, comment.last_line
            opened = None
    if opened is not None:
        after = (
            s.heading_line - 1 for s in document.sections if s.heading_line > opened and _begins_archive(s)
        )
        yield opened, next(after, len(document.lines))


def _begins_archive(section: Section) -> bool:
    key = fold(section.title)
    return key.startswith("conversation archive") or key in ("continuation prompt", "compression")


def _transcript_end(sections: tuple[Section, ...], index: int, last_line: int) -> int:
    level = sections[index].level
    for section in sections[index + 1 :]:
        if section.level <= level and (
            _AFTER_TRANSCRIPT.fullmatch(fold(section.title)) or _begins_archive(section)
        ):
            return section.heading_line - 1
    return last_line
