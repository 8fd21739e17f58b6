"""The tokens of an archive with what the tagger looks at: words, layout, and the words above and beside them.

In: lines, and which of them speak for the archive. Out: `Tokens`, arrays with one row for each token. Lines
that do not speak, and empty ones, have no tokens; only that something was there is known to the next line.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from forgekit.archives.labels import letters, phrases
from forgekit.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

BUCKETS = 1 << 14
"""Rows of the table of embeddings; a feature's row is its hash."""
LINE_LIMIT = 20_000

_CJK = "\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(
    rf"[{_CJK}]|\d{{4}}-\d\d-\d\d(?:T[\d:]+Z?)?|[^\W\d_]+(?:_[^\W_]+)+"
    rf"|[^\W\d_{_CJK}]{{1,8}}[-.]?\d{{1,5}}[a-z]?(?!\w)|[^\W\d_{_CJK}]+(?:['\u2019][^\W\d_]+)?"
    r"|\d+(?:[.,:]\d+)*%?|([^\w\s])\1*|_+|[^\s]"
)
_YEAR = re.compile(r"199\d|20\d\d|2100")
_PREFIX = re.compile(r"([^\W\d]+).*\d.*")
_WIDE = re.compile(f"[{_CJK}]+")
_LEAD = re.compile(
    r"\s*(?:#{1,6}\s|h[1-6]\.\s|={1,6}\s?\S.*=+\s*$|--+\s?\S.*--+\s*$|\*{2}[^*]+\*{2}:?\s*$|__[^_]+__:?\s*$"
    r"|[\u3010\u25a0\u25cf\u25c6\u25b6\u25c7\u25a1]|\[[^\]]{2,40}\]\s*$|<summary>|\*+\s[A-Z]|\\(?:sub)*section)"
)
_LEVEL = re.compile(r"\s{0,3}(#{1,6})\s|h([1-6])\.\s|(={1,6})\s?\S")
_MARKER = re.compile(
    r"[\s>]*(?:[-*+\u2022\u30fb\u25e6\u2192\u2023]\s+|\(?(?:\d{1,3}|[a-zA-Z])[.)\uff09]\s+|\|)"
)
_RULE = re.compile(r"[\s|:+=-]{3,}")
_DEEPEST = 7
_OPEN, _SHUT = "([{\uff08\u3010", ")]}\uff09\u3011"
_QUOTES = {"\u201c": 1, "\u00ab": 1, "\u201e": 1, "\u300c": 1, "\u201d": 0, "\u00bb": 0, "\u300d": 0}


@frozen()
class Tokens:
    """The tokens of some lines.

    Attributes:
        lines: (line number from 0, first column, last column) of each token.
        texts: the tokens.
        row: for each token, the number of its line among those that have tokens.
        ids: rows of the embedding table, those of one token behind another's; `offsets`: where each begins.
        dense: layout, one row of `WIDTH` zeros and ones for each token.
        inside: 1 where a token goes on from the one before it without a mark between.
        pools: (tokens, segments) of what is averaged: each line and each head of a column; 0 is none.
        around: for each token the segments of the heading, the one above that, the line it is indented under,
            and the head of its column.
    """

    lines: tuple[tuple[int, int, int], ...]
    texts: tuple[str, ...]
    row: Ints
    ids: Ints
    offsets: Ints
    dense: NDArray[np.float64]
    inside: Ints
    pools: tuple[Ints, Ints]
    around: Ints
    rows: int
    segments: int


WIDTH = 27


def _bucket(feature: str) -> int:
    return zlib.crc32(feature.encode("utf-8", "surrogatepass")) % (BUCKETS - 1) + 1


@lru_cache(maxsize=1 << 15)
def _features(token: str) -> tuple[int, ...]:
    """Return the rows of a token: its letters folded, its beginning and end, its shape."""
    return tuple(map(_bucket, _names(token)))


def _names(token: str) -> Iterator[str]:
    first = token[0]
    if first.isdecimal() and len(token) >= 10 and token[4] == "-":
        yield "date"
    elif first.isdecimal():
        yield f"num:{_number_shape(token)}"
        if len(token) <= 2:
            yield f"w:{token}"
    elif not first.isalpha():
        yield f"p:{first}{min(len(token), 4)}"
        yield f"pp:{first}"
    elif (prefix := _PREFIX.fullmatch(token)) and "_" not in token:
        name = letters(prefix[1])
        yield from (f"w:{name}0", f"s:id{len(token)}", f"pre:{name}")
    else:
        word = letters(token) or token
        yield f"w:{word}"
        yield f"s:{'TAG' if '_' in token else ''}{_shape(token)}"
        if len(word) > 3:
            yield from (f"3:{word[:3]}", f"e2{word[-2:]}", f"e3{word[-3:]}")
        yield from (f"{size}:{word[:size]}" for size in (4, 5) if len(word) > size)


def _number_shape(token: str) -> str:
    if token[-1] == "%":
        return "%"
    number = token.replace(",", ".")
    if "." in number or ":" in number:
        return "0-1" if re.fullmatch(r"0\.\d+|1\.0+", number) else "num"
    return "year" if _YEAR.fullmatch(number) else f"int{len(number)}"


def _shape(token: str) -> str:
    if _WIDE.match(token):
        return "C"
    if token.isupper() and len(token) > 1:
        return "X"
    return "Xx" if token[0].isupper() else "x"


@cache
def _known() -> tuple[dict[str, tuple[int, ...]], dict[str, list[int]], re.Pattern[str]]:
    """Return the label table's phrases with their rows, their sizes by first word, a pattern of wide ones."""
    rows = {phrase: tuple(_bucket(f"L:{name}") for name in names) for phrase, names in phrases().items()}
    sizes: dict[str, set[int]] = {}
    for phrase in rows:
        words = phrase.split()
        sizes.setdefault(words[0], set()).add(len(words))
    wide = sorted((p for p in rows if _WIDE.fullmatch(p)), key=len, reverse=True)
    return rows, {w: sorted(s, reverse=True) for w, s in sizes.items()}, re.compile("|".join(wide))


def tokens_of(lines: Sequence[str], own: Sequence[bool]) -> Tokens:
    """Return the tokens of the lines that speak for the archive, but for overlong lines."""
    import numpy as np  # for readers alone

    kept = [n for n, line in enumerate(lines) if own[n] and len(line) <= LINE_LIMIT and line.strip()]
    page = _Page(
        [lines[n] for n in kept], [n > 0 and not (own[n - 1] and lines[n - 1].strip()) for n in kept]
    )
    heads, columns = _structure(page), _tables(page)
    places: list[tuple[int, int, int]] = []
    texts: list[str] = []
    row: list[int] = []
    cells: list[int] = []
    dense: list[tuple[int, ...]] = []
    for number, line in enumerate(page.lines):
        table = columns.get(number)
        for match, column, features in _line_tokens(page, number, line, table):
            places.append((kept[number], match.start(), match.end()))
            texts.append(match.group())
            row.append(number)
            cells.append(column)
            dense.append(features)
    known = _phrases_in(texts, row, page.lines, places)
    ids: list[int] = []
    offsets = np.zeros(len(texts), dtype=np.int64)
    for n, text in enumerate(texts):
        offsets[n] = len(ids)
        ids += _features(text)
        ids += known.get(n, ())
    rows = np.array(row, dtype=np.int64)
    pools, column_of, segments = _pools(texts, row, cells, columns, len(page.lines))
    around = np.zeros((len(texts), 4), dtype=np.int64)
    if texts:
        around[:, :3] = np.array(heads, dtype=np.int64)[rows]
        around[:, 3] = column_of
    inside = np.zeros(len(texts), dtype=np.int64)
    for n in range(1, len(texts)):
        inside[n] = row[n] == row[n - 1] and texts[n][0].isalnum() and texts[n - 1][0].isalnum()
    return Tokens(
        lines=tuple(places),
        texts=tuple(texts),
        row=rows,
        ids=np.array(ids, dtype=np.int64),
        offsets=offsets,
        dense=np.array(dense, dtype=np.float64).reshape(len(texts), WIDTH),
        inside=inside,
        pools=pools,
        around=around,
        rows=len(page.lines),
        segments=segments,
    )


@frozen()
class _Page:
    """The lines that have tokens, and before which of them something is empty or left out."""

    lines: list[str]
    gaps: list[bool]

    def after(self, number: int) -> str:
        """Return the next line, "" behind a gap and at the end."""
        number += 1
        return "" if number >= len(self.lines) or self.gaps[number] else self.lines[number]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if "\t" not in line else _indent(line.expandtabs(4))


def _structure(page: _Page) -> list[tuple[int, int, int]]:
    """Return for each line the segments of its heading, the heading above, and what it is indented under."""
    found = []
    headings: list[tuple[int, int]] = []
    outer: list[tuple[int, int]] = []
    for number, line in enumerate(page.lines):
        indent, level = _indent(line), _level(page, number, line)
        while outer and outer[-1][0] >= indent:
            outer.pop()
        parent = outer[-1][1] if outer else 0
        outer.append((indent, number + 1))
        while level and headings and headings[-1][0] >= level:
            headings.pop()
        found.append(
            (headings[-1][1] if headings else 0, headings[-2][1] if len(headings) > 1 else 0, parent)
        )
        if level:
            headings.append((level, number + 1))
    return found


def _level(page: _Page, number: int, line: str) -> int:
    """Return the level of a heading, `_DEEPEST` of what may be one, 0 of any other line."""
    below, text = page.after(number).strip(), line.strip()
    if match := _LEVEL.match(line):
        return len(match[1] or match[3] or "") or int(match[2])
    if re.fullmatch(r"={3,}", below):
        return 1
    if re.fullmatch(r"[-~^]{3,}", below) and len(text) < 80:
        return 2
    if _LEAD.match(line):
        return _DEEPEST
    if len(text) >= 70 or _MARKER.match(line) or _indent(line) >= 4:
        return 0
    alone = page.gaps[number] or number == 0
    listed = not below or _MARKER.match(page.after(number)) or below[0] in "|>"
    is_lead = (
        text[-1] in ":\uff1a"
        or (alone and listed and text[-1] not in ".;,")
        or (text.isupper() and len(text) > 3)
    )
    return _DEEPEST * bool(is_lead)


def _tables(page: _Page) -> dict[int, tuple[int, str]]:
    """Return the lines of tables: the number of the head's line, and the mark between cells."""
    found: dict[int, tuple[int, str]] = {}
    number = 0
    while number < len(page.lines):
        line, below = page.lines[number], page.after(number)
        mark = next(
            (m for m, least in (("|", 1), ("\t", 2), (";", 2), (",", 3)) if line.count(m) >= least), ""
        )
        even = mark == "|" or line.count(mark or "|") == below.count(mark or "|")
        if not mark or not below or not (mark in below or _RULE.fullmatch(below)) or not even:
            number += 1
            continue
        head = number
        while number < len(page.lines) and (number == head or not page.gaps[number]):
            line = page.lines[number]
            if not (line.count(mark) >= 1 or _RULE.fullmatch(line)):
                break
            found[number] = (head, mark)
            number += 1
    return found


def _line_tokens(
    page: _Page, number: int, line: str, table: tuple[int, str] | None
) -> Iterator[tuple[re.Match[str], int, tuple[int, ...]]]:
    """Yield each token of a line with the column of its cell (-1 outside tables) and its layout."""
    marks, column, indent = _Marks(), 0, _indent(line)
    parting = table[1] if table else ""
    fixed = (
        *(indent > 0, indent > 3, indent > 7),
        *(table is not None and table[0] != number, table is not None and table[0] == number),
        *(line.lstrip()[:1] == ">", page.gaps[number]),
        *(number < 2, number < 6, number >= len(page.lines) - 3),
    )
    for place, match in enumerate(_TOKEN.finditer(line)):
        word, before = match.group(), line[match.start() - 1] if match.start() else ""
        if parting == "|":
            column += word[0] == "|"
        elif parting:
            column = line.count(parting, 0, match.start())
        layout = (
            *(marks.bold, marks.tick, marks.strike, marks.depth > 0, marks.colons > 0, marks.quoted),
            *(place == 0, place == 1, place == 2, 2 < place < 6, place >= 6, place >= 15),
            *(before != "" and before in " \t", parting != "" and column <= 1),
            *(place > 0 and before != "" and before in "([{", *fixed, marks.colons > 1, column > 2),
        )
        yield match, column if parting else -1, layout
        marks.see(word)


class _Marks:
    """Which marks are open at a place in a line, and how many colons are before it."""

    __slots__ = ("bold", "colons", "depth", "quoted", "strike", "tick")

    def __init__(self) -> None:
        self.bold = self.tick = self.strike = self.quoted = self.depth = self.colons = 0

    def see(self, word: str) -> None:
        """Go on behind a word or a mark."""
        first = word[0]
        if first.isalnum():
            return
        if word in ("**", "__"):
            self.bold = 1 - self.bold
        elif first == "`":
            self.tick = 1 - self.tick
        elif word == "~~":
            self.strike = 1 - self.strike
        elif first in _OPEN:
            self.depth += 1
        elif first in _SHUT:
            self.depth = max(self.depth - 1, 0)
        elif word in _QUOTES:
            self.quoted = _QUOTES[word]
        elif word == '"':
            self.quoted = 1 - self.quoted
        elif first in ":\uff1a=":
            self.colons += 1


def _phrases_in(
    texts: Sequence[str], row: Sequence[int], lines: Sequence[str], places: Sequence[tuple[int, int, int]]
) -> dict[int, tuple[int, ...]]:
    """Return the rows of the label table's phrases, by the tokens that belong to them."""
    rows, sizes, wide = _known()
    folded = [letters(text) if text[0].isalpha() else text for text in texts]
    found: dict[int, tuple[int, ...]] = {}
    starts: dict[int, int] = {}
    for n, word in enumerate(folded):
        starts.setdefault(row[n], n)
        for size in sizes.get(word, ()):
            phrase = " ".join(folded[n : n + size])
            if phrase in rows:
                for each in range(n, n + size):
                    found[each] = found.get(each, ()) + rows[phrase]
                break
    for number, first in starts.items():
        for stretch in _WIDE.finditer(lines[number]):
            for match in wide.finditer(stretch.group()):
                begin = stretch.start() + match.start()
                n = first
                while places[n][1] < begin:
                    n += 1
                for each in range(n, n + len(match.group())):
                    found[each] = found.get(each, ()) + rows[match.group()]
    return found


def _pools(
    texts: Sequence[str],
    row: Sequence[int],
    cells: Sequence[int],
    columns: dict[int, tuple[int, str]],
    lines: int,
) -> tuple[tuple[Ints, Ints], Ints, int]:
    """Return what is averaged, the segment of each token's column, and how many segments there are."""
    import numpy as np

    heads: dict[tuple[int, int], int] = {}
    of = list(range(len(texts)))
    segments = [number + 1 for number in row]
    column_of = np.zeros(len(texts), dtype=np.int64)
    for n, text in enumerate(texts):
        table = columns.get(row[n])
        if table is None:
            continue
        if table[0] != row[n]:
            column_of[n] = heads.get((table[0], cells[n]), 0)
        elif text[0] != "|":
            of.append(n)
            segments.append(heads.setdefault((row[n], cells[n]), lines + 1 + len(heads)))
    pools = np.array(of, dtype=np.int64), np.array(segments, dtype=np.int64)
    return pools, column_of, lines + 1 + len(heads)
