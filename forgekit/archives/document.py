"""The Markdown structure of a pasted text: which lines are headings, fences, comments and tables.

markdown-it-py finds the blocks; what it is shown is first bounded. A line of more than 20,000
characters is shown cut. Inside a run of lines of one shape (bullets of one indent, rows, prose) the
middle cannot change the structure around it, so it is left out and line numbers are mapped back: the
parser costs some 40 microseconds for each list item, and people paste transcripts of 100,000 lines.

Lines are 1-based in every value that leaves this module, and end at LF only, as editors count them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from markdown_it import MarkdownIt
from markdown_it.token import Token

from forgekit.model.archive_record import Section
from forgekit.model.problem import Problem

LINES_LIMIT = 200_000
COST_LIMIT = 200_000  # half a microsecond each, about
HEADINGS_LIMIT = 20_000
LINE_LIMIT = 20_000

_REPARSES = 8
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_SHAPE = re.compile(
    r"( *)(?:([-*+]|\d{1,9}[.)]) +(?=[A-Za-z0-9*_\[])|(#{1,6})(?=[ \t]|$)|(\|)|(?=[A-Za-z])|$)"
)
_COSTLY = re.compile(r" {0,60}(?:[-*+>#]|\d{1,9}[.)])")
_OPENER = re.compile(r"[>\s]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})")
_WRAPPER = re.compile(r"(`{3,}|~{3,})[ \t]*(?:markdown|md)[ \t]*$", re.IGNORECASE)
_BAR = re.compile(r"(?<!\\)\|")
_SUFFIX = re.compile(r"\s*\([^()]*\)\s*$")

_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


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
    if len(lines) > LINES_LIMIT:
        problems.append(_too_long(LINES_LIMIT, LINES_LIMIT + 1))
        del lines[LINES_LIMIT:]
    headings = (number for number, line in enumerate(lines) if line[:1] == "#" and _HEADING.match(line[:200]))
    cut = next(islice(headings, HEADINGS_LIMIT, None), None)
    if cut is not None:
        problems.append(_too_long(cut, cut + 1))
        del lines[cut:]
    _unwrap(lines)
    blocks = _Blocks(lines)
    blocks.read()
    problems += blocks.problems
    return Document(
        lines=tuple(lines),
        sections=_sections(lines, blocks),
        fences=tuple(blocks.fences),
        comments=tuple(blocks.comments),
        tables=tuple(blocks.tables),
        truncated=blocks.truncated or _cut_row(lines, blocks.tables),
        problems=tuple(problems),
    )


def _too_long(limit: int, line: int) -> Problem:
    return Problem(
        code="too-long",
        message=f"the text has more than {limit:,} lines of structure; from here on it was not read",
        line=line,
        fix="file the transcript apart from the logs",
    )


def _unwrap(lines: list[str]) -> None:
    """Blank the fence around a whole document that was copied as one Markdown block."""
    full = [i for i, line in enumerate(lines) if line.strip()]
    opening = _WRAPPER.match(lines[full[0]]) if full else None
    if opening and len(full) > 1 and lines[full[-1]].strip() == opening.group(1):
        lines[full[0]] = lines[full[-1]] = ""


def _shape(line: str) -> str | None:
    """Name the shape of a line whose repetition cannot change the structure around it, or None."""
    if ">" in line or len(line) > LINE_LIMIT:
        return None
    match = _SHAPE.match(line)
    if match is None or not line.strip(" \t:|-"):
        return None if line.strip() else "text0"
    indent, bullet, hashes, bar = match.groups()
    kind = "#" if hashes else bar or ("1" if bullet and bullet[0].isdigit() else bullet) or "text"
    return f"{kind}{len(indent)}"


def _thin(lines: Sequence[str], start: int) -> list[int]:
    """Return the 0-based numbers of the lines that decide the structure."""
    kept: list[int] = []
    run: list[int] = []
    previous: str | None = None
    for number in range(start, len(lines)):
        shape = _shape(lines[number])
        if shape is None or shape != previous:
            kept += _ends(lines, run)
            run = []
        run.append(number)
        previous = shape
    return kept + _ends(lines, run)


def _ends(lines: Sequence[str], run: list[int]) -> list[int]:
    if len(run) < 6:
        return run
    blank = next((i for i in run if not lines[i].strip()), None)
    some = {*run[:2], *run[-2:]}
    if blank is not None:
        some.add(blank)
        some.update([i for i in run if i > blank and lines[i].strip()][:1])
        some.update([i for i in run if lines[i].strip()][-1:])
    return sorted(some)


def _costs(lines: Sequence[str], kept: Sequence[int]) -> Iterator[int]:
    """Yield what the parser has to do up to each line; inside what looks like a fence it does less."""
    total = 0
    fenced = False
    for number in kept:
        line = lines[number]
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        costly = _COSTLY.match(line)
        cost = 16 + 2 * costly.end() if costly else 4
        total += cost // 4 if fenced else cost
        yield total


class _Blocks:
    """Collects the blocks of the lines; an opener that is never closed gives way to the next heading."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.fences: list[Fence] = []
        self.comments: list[Comment] = []
        self.tables: list[Table] = []
        self.underlined: dict[int, str] = {}
        self.hidden = bytearray(len(lines) + 2)
        self.problems: list[Problem] = []
        self.truncated = ""

    def read(self) -> None:
        start: int | None = 0
        blanked: set[int] = set()
        for _ in range(_REPARSES):
            if start is None:
                return
            start = self._parse(start, blanked)

    def _parse(self, start: int, blanked: set[int]) -> int | None:
        """Read from a line on; return where to go on when an opener without end hid what follows."""
        kept = _thin(self.lines, start)
        limit = next((n for n, cost in enumerate(_costs(self.lines, kept)) if cost > COST_LIMIT), None)
        if limit is not None:
            self.problems.append(_too_long(limit, kept[limit] + 1))
            del self.lines[kept[limit] :]
            del kept[limit:]
        shown = ["" if i in blanked else self.lines[i][:LINE_LIMIT] for i in kept]
        tokens: list[Token] = []
        _MARKDOWN.block.parse("\n".join(shown), _MARKDOWN, {}, tokens)
        kept.append(len(self.lines))
        for token in tokens:
            if token.map is None:
                continue
            first, end = kept[token.map[0]], kept[min(token.map[1], len(kept) - 1)]
            if token.type == "fence":
                again = self._fence(first, end, token)
                if again is not None:
                    return again
            elif token.type == "html_block" and token.content.lstrip().startswith("<!--"):
                if not any("-->" in line for line in self.lines[first:end]):
                    self.truncated = f"the comment opened on line {first + 1} is never closed"
                    blanked.update(i for i in range(first, end) if "<!--" in self.lines[i])
                    return first
                self._hide(first, end)
                self.comments.append(Comment(first_line=first + 1, last_line=end))
            elif token.type == "table_open":
                self.tables.append(self._table(first, end))
            elif token.type == "heading_open" and token.markup == "=" and token.level == 0:
                self.underlined[end - 1] = self.lines[end - 2].strip()
        return None

    def _hide(self, first: int, end: int) -> None:
        self.hidden[first:end] = b"\x01" * (end - first)

    def _fence(self, first: int, end: int, token: Token) -> int | None:
        last = self.lines[end - 1].strip(" \t>")
        mark = token.markup
        closed = end - first > 1 and len(last) >= len(mark) and not last.strip(mark[0])
        again = None
        if not closed and not any(line.strip() for line in self.lines[end:]):
            end = len(self.lines)
            body = range(first + 1, len(self.lines))
            again = next(
                (i for i in body if _HEADING.match(self.lines[i]) and self.lines[i][:2] == "##"), None
            )
            place = f"the code block opened on line {first + 1} is never closed"
            if again is None:
                self.truncated = place
            else:
                end = again
                self.problems.append(_unclosed(place, first + 1))
        self._hide(first, end)
        opener = _OPENER.match(self.lines[first])
        indent = opener.start(1) if opener else 0
        content = [_dedent(line, indent) for line in self.lines[first + 1 : end - closed]]
        self.fences.append(
            Fence(
                first_line=first + 1,
                last_line=end,
                info=token.info.strip().partition(" ")[0].casefold(),
                content="\n".join(content) + "\n",
                closed=closed,
            )
        )
        return again

    def _table(self, first: int, end: int) -> Table:
        rows = [(i + 1, cells(self.lines[i])) for i in range(first + 2, end) if self.lines[i].strip()]
        return Table(line=first + 1, columns=tuple(map(fold, cells(self.lines[first]))), rows=tuple(rows))


def _unclosed(place: str, line: int) -> Problem:
    return Problem(
        code="unclosed-fence", message=f"{place}; the next heading was taken for its end", line=line
    )


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


_QUOTED = {
    "inherited context snapshot",
    "inherited context",
    "inherited decisions",
    "previous archive",
    "carried decisions",
    "conflicts",
    "cross project context",
    "revalidation required",
    "retrieval protocol",
}
_REGISTRY = {"registry state", "updated context"}
_REGISTRY_END = tuple(f"(end of {title})" for title in _REGISTRY)
INHERITED = {"inherited context snapshot", "inherited context"}
_TRANSCRIPT = {"full transcript", "transcript", "exchange log", "exchanges", "full conversation"}
_AFTER_TRANSCRIPT = {
    "continuation prompt",
    "transcript range markers",
    "decision log",
    "decision index",
    "decisions",
    "decisions made",
    "key decisions",
    "threads",
    "artifacts",
    "artifacts produced",
    "artifact history",
    "chunk index",
    "extracted entities",
    "insights",
    "compression lineage",
    "open threads",
    "active threads",
    "unresolved threads",
    "resolved threads",
    "closed threads",
    *_QUOTED,
    *_REGISTRY,
}
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
    spans = [*blocks, *_quoted(document), *printed(document)]
    spans += [(comment.first_line, comment.last_line) for comment in document.comments]
    if not code:
        spans += [(fence.first_line, fence.last_line) for fence in document.fences]
    return _outside(document, spans)


def _outside(document: Document, spans: Iterable[tuple[int, int]]) -> list[bool]:
    own = [True] * len(document.lines)
    for first, last in spans:
        own[first - 1 : last] = [False] * (min(last, len(own)) - first + 1)
    return own


def printed(document: Document) -> Iterator[tuple[int, int]]:
    """Yield first and last line of transcripts and registry blocks; no machine block counts there."""
    yield from _marked(document)
    reached = 0
    for index, section in enumerate(document.sections):
        if section.heading_line <= reached:
            continue
        key = fold(section.title)
        if key in _TRANSCRIPT:
            reached = _transcript_end(document.sections, index, len(document.lines))
        elif key.partition(":")[0] in _REGISTRY or key.startswith("forge os:"):
            body = range(section.first_line, section.last_line + 1)
            ends = (number for number in body if document.lines[number - 1].startswith(_REGISTRY_END))
            reached = next(ends, section.last_line)
        else:
            continue
        yield section.heading_line, reached


def _quoted(document: Document) -> Iterator[tuple[int, int]]:
    for section in document.sections:
        if fold(section.title) in _QUOTED:
            yield section.heading_line, section.last_line


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
        if section.level <= level and (fold(section.title) in _AFTER_TRANSCRIPT or _begins_archive(section)):
            return section.heading_line - 1
    return last_line


def inherited_lines(document: Document) -> list[tuple[int, int]]:
    """Return first and last line of the sections that quote the parent's context."""
    return [(s.heading_line, s.last_line) for s in document.sections if fold(s.title) in INHERITED]
