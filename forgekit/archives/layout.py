"""What the layout shows beside the tagger: ids of a series, headings that are an id, lists.

Each function returns the spans with those added that the layout makes certain. Ids in whatever shape (`K-1
K-2`, `#14 #15`, `dec/1`, `0x01`, `26-a`) are of one series if they differ in what counts alone and begin
lines; if most lines of a series hold a record, all do.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from forgekit.archives.claims import BEGINNING, BEGINS_WITH_ID, ascii_of
from forgekit.archives.labels import lists_kind, state_of_label
from forgekit.archives.spans import Span
from forgekit.model.entities import ThreadStatus

_HEAD = re.compile(
    r"(?:[^\w#\u00a7]|:\w+:\s|#+\s)*(?:(?![^\W\d_]{1,6}[_.-]?\d{1,4}\s)"
    r"(?:[^\W\d_][\w'\u2019+-]*,?\s+){1,3}(?=[^\s:.]+\s?[:.)\]]|[(\[][^\s:.,]+[,;]))?"
    r"[<(\[]?"
    r"(?P<id>[^\W_]*[#\u00a7\u00b0\u00ba_./-]{0,2}[^\W_]+)(?:[>)\]*'_]|\s?[:.=](?=\s|\w)|(?=[\s\u3000,;]|$)|(?=[(\[][^()\[\]]{1,60}[)\]]\s?:))+"
)
_COUNTED = re.compile(
    r"(?:#{1,6}\s+|[*_]{0,3}(?=[^\W\d_]+ \d+\W*$))"
    r"(?P<id>(?P<words>[^\W\d_]{2,20}) (?:\d{1,3}|[IVX]{1,4}|[A-Z]))[:*_]{0,4}\s*$"
)
"""A heading that is an id alone."""
_COUNT = re.compile(r"(?:(?<=^0x)[0-9a-f]+|\d{1,4}|(?<=[^\w.])[a-z])(?=[a-z]?$)")
_REST = re.compile(r"[,;][^()\[\]]{0,120}[)\]][.:*_]*\s")
"""The rest of a bracket that opens with the id of a record."""
_NOTED = re.compile(r"[\s*_]*[(\[][^()\[\]]{1,120}[)\]][*_]*[:\uff1a]")
"""A bracket between an id and the words of its record."""
_IN_BRACKETS = re.compile(r"[*_]*[(\[][^()\[\]]{1,60}[)\]][*_]*\s+")
_LONGEST, _FEWEST, _HEAD_LIMIT, _REACH = 14, 3, 120, 60
_LEAST = 4  # characters of a record's words
_PARTS = re.compile(
    r"\s+[\u2014\u2013\u00b7|/\u00b6\u27f5\u2190\u2192(\[]|[;\u3002\uff1b]|\.{3,}|(?<=\w\w)[.](?=\s|$)|(?<=[?!\uff1f])\s"
)
_BULLET = re.compile(
    r"\s*(?:\d{1,3}(?=[.)]))?(?P<mark>[-*+.)\u2022\u30fb\u25e6\u2023](?=\s)|\[(?=[ xX]?\]))"
    r"(?:\s*\[?[ xX]?\])?\s+(?=\S)"
)
_MARKS = " \t*_`|:\u00b7\u2014\u2013-\u3000"
_PLAIN = re.compile(r"[^\d_()\[\]]{1,40}")
_CERTAIN, _SURE = 6.0, 1.5

Place = tuple[int, int, int]
"""Where an id is: its line, its first column, and the column behind it and its marks."""


def with_series(spans: Sequence[Span], lines: Sequence[str], own: Sequence[bool]) -> list[Span]:
    """Add the ids of series, and the records that they begin where no other was found."""
    by_line = _by_line(spans)
    records = {span.line: span for span in reversed(spans) if span.tag in ("D", "T")}
    for members in _series(lines, own):
        places = {line: name for name, (line, _, _) in members.items()}
        held = [records[line] for line in sorted(places) if line in records]
        are_ids = all(any(span.tag == "id" for span in by_line[line]) for line in places)
        fewest = _FEWEST - 1 if are_ids and max(places) < min(places) + _FEWEST else _FEWEST
        is_most = 2 * len(held) >= len(members) or (held and _are_listed(lines, places, held[0].tag))
        if len(members) < fewest or not is_most:
            continue
        for name, place in members.items():
            line = place[0]
            near = bisect_left(held, line, key=lambda span: span.line)
            about = [
                span for span in held[max(near - 1, 0) : near + 1] if _together(lines, line, span, places)
            ]
            if about:
                nearest = min(about, key=lambda span: abs(span.line - line))
                by_line[line] = _begun(name, place, nearest, by_line[line], lines[line - 1])
    return _in_order(by_line)


def _are_listed(lines: Sequence[str], places: Iterable[int], kind: str) -> bool:
    """Say whether a heading right above some lines lists records of a kind."""
    first, *more = sorted(places)
    above = next((lines[n - 1] for n in range(first - 1, 0, -1) if lines[n - 1].strip()), "")
    is_dense = more == list(range(first + 1, first + 1 + len(more)))
    return is_dense and above[:1] == "#" and lists_kind(above.strip("# *_"), kind)


def with_headings(spans: Sequence[Span], lines: Sequence[str], own: Sequence[bool]) -> list[Span]:
    """Add the ids of headings, and of lines, that are an id alone (`### Choice A`), if most hold a record."""
    by_line, records = _by_line(spans), sorted(span.line for span in spans if span.tag in ("D", "T"))
    begin = (n for n, line in enumerate(lines, 1) if line[:1] == "#" or _COUNTED.match(line[:40]))
    headings = [number for number in begin if own[number - 1]]
    counts: Counter[str] = Counter()
    holding: dict[str, list[tuple[int, re.Match[str]]]] = defaultdict(list)
    for number, end in pairwise([*headings, len(lines) + 1]):
        if match := _COUNTED.match(lines[number - 1]):
            counts[match["words"]] += 1
            if bisect_left(records, end) > bisect_left(records, number):
                holding[match["words"]].append((number, match))
    for words, members in holding.items():
        if 2 * len(members) > counts[words] > 1:
            for number, match in members:
                others = [span for span in by_line[number] if span.tag != "id"]
                place = number, number, _CERTAIN, _CERTAIN, match.start("id")
                by_line[number] = [Span("id", "", match["id"], *place), *others]
    return _in_order(by_line)


def with_lists(spans: Sequence[Span], lines: Sequence[str], own: Sequence[bool]) -> list[Span]:
    """Make all items of a list records whose title names their kind."""
    by_line = _by_line(spans)
    for (title, *_), places in _lists(lines, own).items():
        begun = {line: _first(by_line[line], start) for line, start in places.items()}
        like = _as_titled(lines, title, begun)
        if like is None:
            continue
        for line, start in places.items():
            first = begun[line]
            unsure = first is None or first.margin < _SURE or first.column < start - 1
            if unsure and all(span.tag != "id" for span in by_line[line]):
                place = line, start, start
                by_line[line] = _begun("", place, like, by_line[line], lines[line - 1])
    return _in_order(by_line)


def _as_titled(lines: Sequence[str], number: int, begun: Mapping[int, Span | None]) -> Span | None:
    """Return a record as the line above a list announces it, if it names one kind and no item is another."""
    title = lines[number - 1].strip(" \t#*_:") if number else ""
    named = _PLAIN.fullmatch(title) is not None
    kinds = [kind for kind in "DT" if named and lists_kind(title, kind)]
    if named and not kinds and state_of_label(title, "T") is ThreadStatus.OPEN:
        kinds = ["T"]
    if len(kinds) != 1 or any(span is not None and span.tag not in kinds for span in begun.values()):
        return None
    state = state_of_label(title, kinds[0])
    if kinds == ["T"] and state is None:
        return None
    return Span(kinds[0], str(state.value) if state else "", "", 0, 0, 0.0, _SURE)


def is_item(line: str) -> bool:
    """Say whether a line is an item of a list."""
    return _BULLET.match(line) is not None


def introductions(lines: Sequence[str]) -> list[int]:
    """Return for each line the number of the line that introduces it, 0 if none does.

    It is the nearest line above with a smaller indent, or above its list. Lines are counted from 1.
    """
    found: list[int] = []
    above: list[tuple[int, bool, int]] = []  # the lines around: indent, whether it is an item, number
    for number, line in enumerate(lines, 1):
        if not line.strip():
            found.append(0)
            continue
        indent, listed = len(line) - len(line.lstrip()), is_item(line)
        while above and above[-1][:2] >= (indent, listed):
            above.pop()
        found.append(above[-1][2] if above else 0)
        above.append((indent, listed, number))
    return found


def title_of_list(number: int, titles: Sequence[int], lines: Sequence[str]) -> str:
    """Return the words of the line above the list that a line is an item of, "" if it is none.

    A line that begins with an id is an item too.

    Args:
        titles: as of `introductions`.
    """
    while number and _is_listed(lines[number - 1]):
        number = titles[number - 1]
        if number and not _is_listed(lines[number - 1]):
            return lines[number - 1].strip(" \t#*_:")
    return ""


def _is_listed(line: str) -> bool:
    return is_item(line) or BEGINS_WITH_ID.match(ascii_of(line[:BEGINNING])) is not None


def _by_line(spans: Iterable[Span]) -> dict[int, list[Span]]:
    by_line: dict[int, list[Span]] = defaultdict(list)
    for span in spans:
        by_line[span.line].append(span)
    return by_line


def _in_order(by_line: Mapping[int, Sequence[Span]]) -> list[Span]:
    return [span for line in sorted(by_line) for span in by_line[line]]


def _first(spans: Sequence[Span], start: int) -> Span | None:
    """Return the record whose words begin an item's text."""
    return next((span for span in spans if span.tag in ("D", "T") and span.column <= start + 2), None)


def _lists(lines: Sequence[str], own: Sequence[bool]) -> Mapping[tuple[int, int, str], dict[int, int]]:
    """Return lists by the line that introduces them: each line of an item with the column of its words."""
    found: dict[tuple[int, int, str], dict[int, int]] = defaultdict(dict)
    titles = introductions(lines)
    for number, line in enumerate(lines, 1):
        if own[number - 1] and (item := _BULLET.match(line)):
            indent = len(line) - len(line.lstrip())
            noted = _IN_BRACKETS.match(line, item.end())
            found[titles[number - 1], indent, item["mark"]][number] = (noted or item).end()
    return found


def _series(lines: Sequence[str], own: Sequence[bool]) -> Iterable[dict[str, Place]]:
    """Return the ids that begin lines, by what is the same in them, each with its first place."""
    series: dict[str, dict[str, Place]] = defaultdict(dict)
    for number, line in enumerate(lines, 1):
        match = _HEAD.match(ascii_of(line[:_HEAD_LIMIT])) if own[number - 1] else None
        if match and len(match["id"]) <= _LONGEST and (count := _COUNT.search(match["id"])):
            prefix = match["id"][: count.start()]
            if prefix.strip("0123456789."):
                start = match.start("id")
                rest = _REST.match(line, match.end()) if line[:start].endswith(("(", "[")) else None
                series[prefix].setdefault(match["id"], (number, start, (rest or match).end()))
    return series.values()


def _together(lines: Sequence[str], line: int, span: Span, heads: Collection[int]) -> bool:
    """Say whether nothing but an id of the series begins a block between a line and a record near it."""
    first, last = sorted((line, span.line))
    return last - first <= _REACH and not any(
        lines[number - 1].strip() and not lines[number - 2].strip() and number not in heads
        for number in range(first + 1, last)
    )


def _begun(name: str, place: Place, nearest: Span, spans: Sequence[Span], text: str) -> list[Span]:
    """Return the spans of a line that begins with an id of a series, or with none as an item of a list."""
    line, first, end = place
    words = next((span for span in spans if span.tag in ("D", "T")), None)
    noted = _NOTED.match(ascii_of(text), end) if words is None else None
    end = noted.end() if noted else end
    start = end + len(text[end:]) - len(text[end:].lstrip(_MARKS))
    if words is None or words.column + len(words.text) <= start:
        behind = [span.column for span in spans if span.column >= start + _LEAST and span.tag != "id"]
        words = replace(nearest, text=text[start : min(behind, default=None)], line=line, last=line, value="")
        words = replace(words, text=_PARTS.split(words.text)[0].strip(_MARKS), column=start)
    elif words.column < start:
        words = replace(words, text=words.text[start - words.column :], column=start)
    if not words.text:
        return list(spans)
    words = replace(words, margin=max(words.margin, _CERTAIN if name else nearest.margin))
    identity = replace(words, tag="id", value="", text=name, last=line, column=first, ahead=_CERTAIN)
    reach = (first if name else -1, max(end, words.column) if name else words.column)
    before = [
        replace(span, ahead=_CERTAIN)
        for span in spans
        if reach[0] < span.column < reach[1] and span.tag not in ("id", "D", "T")
    ]
    others = [
        span for span in spans if span.column > words.column or (span.tag == "state" and span.column < first)
    ]
    begun = [identity, words] if name else [words]
    return sorted([*begun, *before, *others], key=lambda span: span.column)
