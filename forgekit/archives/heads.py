"""What the head and the foot of an archive state of it: its tag, what it continues, its project, its day.

In: a page whose records the rules have read. Out: the facts with their lines. The tagger reads the lines
above the first record and below the last one with weights of their own (`heads.bin`), fitted to marked heads
by `training/reader`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from forgekit.archives.claims import AND, bare, is_moment, is_none, key_of
from forgekit.archives.descriptions import QUOTED
from forgekit.archives.records import Page
from forgekit.archives.spans import Span, spans_of
from forgekit.frozen import frozen
from forgekit.model.rules import one_line

_HEAD, _FOOT = 24, 10
"""The most lines of each that are read."""
_SURE_PROJECT = 2.0
"""The least margin of a project's name, chosen on development archives: a wrong one makes a project."""
TAG = re.compile(r"[A-Za-z0-9][\w./#:-]{1,127}|(?=[^\W_]+[-._/#:])[^\W_][\w./#:-]{1,127}")
"""A tag, in which letters of any script and colons count too."""
NAMES_ONE = re.compile(r"[-_./#\d]")  # a mere word is no tag
_CODE = re.compile(
    r"[^\s,;:=()\[\]{}\"'`*<>|\u201c\u201d\u00ab\u00bb\u2190-\u21ff\u3000-\u9fff\uff00-\uff5e]+"
)
_JOINED_BEFORE = re.compile(r"[^\W_][\w./#-]*$")
_ALSO = re.compile(rf"[`*_\"']*(?:,|\s+{AND}\s)\s*[`*_\"']*([^\s,]+)")
"""`TW-10 and TW-12`: what stands beside a name in a list."""
_WINDOW = 130
"""Characters on either side of a span that may belong to it."""
_JOINTS = "-_./#"
_NOTE = re.compile(r"\s?(?:\((?=[^)]*\d)[^()]{1,24}\)|\uff08(?=[^\uff09]*\d)[^\uff08\uff09]{1,24}\uff09)")
_OPEN = re.compile(r"[^()\uff08\uff09]{0,40}[)\uff09]")
_COUNTED = re.compile(r"(?:\d{1,4}|(?<=[-_./#])(?:(?=[IVX])X{0,3}(?:I[VX]|V?I{0,3})|[A-Za-z]))$")
_ONES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_ROMAN = tuple(f"{'X' * tens}{ones}" for tens in range(4) for ones in _ONES)
_DAY_STOP = re.compile(r"\d\.\s?\d{1,2}\.$")
_YEAR = re.compile(r"(?:19|20)\d\d")

Fact = tuple[str, int]
"""A value and its line."""


@frozen()
class Head:
    """What an archive states of itself, the surest first."""

    tags: Sequence[Fact] = ()
    parents: Sequence[Fact] = ()
    projects: Sequence[Fact] = ()
    days: Sequence[Fact] = ()


NOTHING = Head()


def read_head(page: Page, data: Collection[int]) -> Head:
    """Return what the tagger finds in head and foot of a page.

    Args:
        data: lines of data of the archive's own, from 1.
    """
    ids = {key_of(claim.local_id) for claim in page.found.claims}
    around = dict(page.document.around)
    lines = [around.get(n, line) for n, line in enumerate(page.document.lines, 1)]
    found: Mapping[str, list[Fact]] = {"tag": [], "parent": [], "project": [], "date": []}
    for span in sorted(_spans(page, lines, data), key=lambda span: -span.margin):
        if span.tag in ("tag", "parent"):
            names = (name for name in _names(lines[span.line - 1], span) if key_of(name) not in ids)
            found[span.tag].extend((name, span.line) for name in names)
        elif span.tag == "project" and span.margin >= _SURE_PROJECT:
            found["project"].append((_outside_quotes(lines[span.line - 1], span), span.line))
        elif span.tag == "date" and is_moment(bare(span.text), day_first=True):
            found["date"].append((bare(one_line(span.text)), span.line))
    tags = [fact for fact in found["tag"] if TAG.fullmatch(fact[0]) and NAMES_ONE.search(fact[0])]
    tags, parents = _in_series(tags, found["parent"])
    return Head(tags, parents, found["project"], found["date"])


def _spans(page: Page, lines: Sequence[str], data: Collection[int]) -> list[Span]:
    found = page.found
    begun = [*(each.line for each in found.claims), *(each.line for each in found.updates)]
    begun = list(filter(None, [*begun, *(line for line, *_ in found.unnumbered)]))
    first = min(begun, default=len(lines) + 1)
    last = max([*begun, *page.taken], default=0)
    spoken = [n for n, line in enumerate(lines, 1) if line.strip() and (page.own[n - 1] or n in data)]
    chosen = {*[n for n in spoken if n < first][:_HEAD], *[n for n in spoken if n > last][-_FOOT:]}
    return spans_of(lines, [n in chosen for n in range(1, len(lines) + 1)], "heads.bin") if chosen else []


def _names(line: str, span: Span) -> Iterator[str]:
    """Yield the codes in a span, each as far as it reaches on its line; the words where there is none."""
    low = max(0, span.column - _WINDOW)
    line, start = line[low : span.column + len(span.text) + _WINDOW], span.column - low
    end = start + len(span.text)
    before = _JOINED_BEFORE.search(line[:start])
    if before and (line[start : start + 1] in _JOINTS or line[start - 1] in _JOINTS):
        start = before.start()
    end += _DAY_STOP.search(line[start : end + 1]) is not None
    whole = _trimmed(line[start:end])
    if TAG.fullmatch(whole) and NAMES_ONE.search(whole) and re.search(r"[^\W\d_]", whole):
        codes = [whole]
    else:
        codes = list(_codes(line, start, end))
    if codes:
        yield from codes
        also = _ALSO.match(line, line.rfind(codes[-1]) + len(codes[-1]))
        yield from _codes(line, *also.span(1)) if also and span.tag == "parent" else ()
        return
    if quoted := next((m for m in QUOTED.finditer(line) if m.start() <= start and end <= m.end()), None):
        start, end = quoted.span()
    opened = line.count("(", start, end) + line.count("\uff08", start, end)
    is_open = opened > line.count(")", start, end) + line.count("\uff09", start, end)
    behind = (_OPEN if is_open else _NOTE).match(line, end)
    words = _trimmed(line[start : behind.end() if behind else end])
    if words and not _YEAR.fullmatch(words) and (re.search(r"\d", words) or not is_none(words)):
        yield words


def _trimmed(words: str) -> str:
    """Return words without marks and stops around them, but for the stop of a day such as `14.01.`."""
    plain = one_line(bare(words)).rstrip(" ,;:")
    return plain if _DAY_STOP.search(plain) else plain.rstrip(" .,;:")


def _codes(line: str, start: int, end: int) -> Iterator[str]:
    for match in _CODE.finditer(line):
        name = match.group().strip(".\u2605")
        is_code = TAG.fullmatch(name) and NAMES_ONE.search(name) and re.search("[A-Za-z]", name)
        if match.start() < end and start < match.end() and is_code:
            yield name


def _in_series(tags: Sequence[Fact], parents: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """Return the archive's name, and those that it continues; without one the highest of a series is it."""
    own = tags[0] if tags else None
    for name in () if own else parents:
        near = [each for each in parents if _series(each[0])[0] == _series(name[0])[0] != ""]
        if len({each[0] for each in near}) > 1:
            own = max(near, key=lambda each: _series(each[0])[1])
            break
    others = (each for each in parents if own is None or each[0] != own[0])
    return [own] if own else [], list(dict.fromkeys(others))


def _series(name: str) -> tuple[str, int]:
    """Return the series of a name, "" if it has no number at its end, and its place in it."""
    count = _COUNTED.search(name)
    return (name[: count.start()].casefold(), _count(count.group())) if count else ("", 0)


def _count(text: str) -> int:
    """Return what a number, a Roman number below forty or a letter counts."""
    return int(text) if text.isdigit() else _ROMAN.index(text) if text in _ROMAN else ord(text.casefold())


def _outside_quotes(line: str, span: Span) -> str:
    """Return a project's name; one that ends within quotes goes on to the end of its line."""
    is_cut = span.text.count('"') % 2 == 1
    return line[span.column :].strip(" *_#|") if is_cut else span.text.rstrip(" ,;:")
