"""Which record each span belongs to, by cost.

In: the spans of an archive, and its lines. Out: `Found`, each with its fields, and the facts of the archive
itself. A field costs more the farther a record is and the more the layout parts them (an empty line, the
beginning of an item, a heading), and where the tagger contradicts; the cheaper record has it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from statistics import fmean

from forgekit.archives.claims import BEGINNING, BEGINS_WITH_ID, ascii_of, key_of, series_of
from forgekit.archives.columns import FEW
from forgekit.archives.spans import Span

FACTS = ("tag", "parent", "project", "date", "artifact", "insight")
_KIND_OF = {"tier": "D", "alt": "D", "dep": "D", "prio": "T", "blk": "T", "res": "T"}
PLACE = re.compile(r"\d+|\w")
"""What may be a record's place in its list as well as its id."""
_ITEM = re.compile(
    r"[\s>]*(?:[-*+\u2022\u30fb\u25e6\u2192\u2023]\s+|\(?(?:\d{1,3}|[a-zA-Z])[.)\uff09]\s+"
    r"|\*{1,3}\s|<\w+[ >]|\{|\[\[)"
)
_HEADING = re.compile(r"\s*(?:#{1,6}\s|={2,}|-{3,}|={1,5}\s?\S.*=$)")

_LOOK_BACK = 8
_JOINS, _JOINS_BEHIND_ID = ("=", ":", "\uff1a"), (";", ",", "\uff1b", "\uff0c", "\u3001", "/")

# Weights, chosen on marked archives that the tagger was not fitted to.
_AHEAD, _MOST_AHEAD = 0.35, 6.0
_GAP, _FARTHEST = 0.4, 12
_LINE, _EMPTY, _INNER, _BEGUN, _HEADED = 1.0, 1.5, 3.0, 3.0, 7.5
_OTHER_KIND, _SURE_ID, _BEHIND = 6.0, 0.6, 3.0
_LOOK_ACROSS = 40


@dataclass(slots=True)
class Found:
    """A decision or a thread: its words and the fields around them."""

    words: Span
    fields: list[Span] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """D or T."""
        return self.words.tag

    @property
    def id(self) -> str:
        """Return its id as written, "" if it has none."""
        return next((span.text for span in self.fields if span.tag == "id"), "")

    def all(self, name: str) -> list[Span]:
        """Return its fields of one tag, in order."""
        return [span for span in self.fields if span.tag == name]


def grouped(
    spans: Iterable[Span], lines: Sequence[str], tables: Container[int]
) -> tuple[list[Found], list[Span]]:
    """Return records with their fields, and the facts of the archive."""
    spans = _united(spans, lines)
    groups = _Groups(spans, lines, tables)
    groups.add_ids()
    groups.add_others()
    _give_series_one_kind(groups.records)
    groups.add_fields()
    for found in groups.records:
        found.fields.sort(key=lambda span: span.line)
    return groups.records, [span for span in spans if span.tag in FACTS]


def _united(spans: Iterable[Span], lines: Sequence[str]) -> list[Span]:
    """Return spans; what an equals sign or a colon joins, behind an id a comma too, is one."""
    found: list[Span] = []
    for span in spans:
        before = found[-1] if found else None
        if (
            before
            and before.tag == span.tag in ("D", "T")
            and before.line == before.last == span.line == span.last
        ):
            line, end = lines[span.line - 1], span.column + len(span.text)
            between = line[before.column + len(before.text) : span.column].strip(" *_`")
            has_id = any(each.tag == "id" and each.line == span.line for each in found[-_LOOK_BACK:])
            if between in _JOINS or (has_id and between in _JOINS_BEHIND_ID):
                found[-1] = replace(before, text=line[before.column : end])
                continue
        found.append(span)
    return found


_Place = tuple[float, int, Found]
"""The number of a span about a record, its line, and the record."""


class _Groups:
    """Records to which fields are added; `_places` are in the order of their spans."""

    def __init__(self, spans: Sequence[Span], lines: Sequence[str], tables: Container[int]) -> None:
        self._spans, self._lines = spans, lines
        self._places: list[_Place] = [
            (n, span.line, Found(span)) for n, span in enumerate(spans) if span.tag in ("D", "T")
        ]
        self.records = [found for *_, found in self._places]
        self._rows: dict[int, Found] = {}
        for found in self.records:
            if found.words.line in tables:
                self._rows.setdefault(found.words.line, found)
        scores: dict[str, list[float]] = defaultdict(list)
        for span in spans:
            scores[span.tag].append(_clipped(span.ahead))
        self._usual = {tag: fmean(of) for tag, of in scores.items()}

    def add_ids(self) -> None:
        """Give each record one id, the cheapest first; an id that comes again names its record again."""
        offers: list[tuple[bool, float, int, Found]] = []
        first = {span.line: span.column for span in reversed(self._spans) if span.tag == "id"}
        words = (found.words for found in self.records)
        led = {each.line: each.column for each in words if first.get(each.line, inf) < each.column}
        begun = {key_of(span.text) for span in self._spans if span.tag == "id" and self._begins(span)}
        for number, span in enumerate(self._spans):
            if span.tag == "id":
                row, is_place = self._rows.get(span.line), PLACE.fullmatch(span.text) is not None
                options = [(0.0, row)] if row else [*self._options(number)]
                options = [option for option in options if not self._is_behind(span, option[1])]
                sure = _SURE_ID * span.margin
                more = _BEHIND * (span.line in led and span.column > led[span.line])
                more += _BEHIND * (key_of(span.text) in begun and not self._begins(span))
                offers += [(is_place, cost + more - sure, number, found) for cost, found in options]
        by_id: dict[str, Found] = {}
        given: set[int] = set()
        for _, _, number, found in sorted(offers, key=lambda offer: offer[:3]):
            span = self._spans[number]
            key = key_of(span.text)
            if key not in by_id and not found.id:
                found.fields.append(span)
                by_id[key] = found
                given.add(number)
        given_lines = {self._spans[number].line for number in given}
        again: list[_Place] = [
            (number, span.line, by_id[key_of(span.text)])
            for number, span in enumerate(self._spans)
            if span.tag == "id" and span.line not in given_lines and key_of(span.text) in by_id
        ]
        self._places = sorted([*self._places, *again], key=lambda place: place[0])

    def _is_behind(self, span: Span, found: Found) -> bool:
        """Say whether an id begins a line, and lines with words part it from the record before."""
        between = self._lines[found.words.last : span.line - 1]
        return any(map(str.strip, between)) and self._begins(span)

    def _begins(self, span: Span) -> bool:
        """Say whether a span begins its line, behind marks."""
        return re.search(r"\w", self._lines[span.line - 1][: span.column]) is None

    def add_others(self) -> None:
        """Give what follows an id that no record has, at the beginning of a line, to none of the records."""
        known = {key_of(found.id): found for found in self.records if found.id}
        series = {place[0] for place in map(series_of, known) if place}
        begun = {span.line for span in self._spans if span.tag in ("D", "T")}
        named = {(span.line, span.column) for span in self._spans if span.tag != "id"}
        others: list[_Place] = []
        for line, text in enumerate(self._lines, 1):
            match = None if line in begun else BEGINS_WITH_ID.match(ascii_of(text[:BEGINNING]))
            place = series_of(match[1]) if match else None
            is_field = match is not None and (line, match.start(1)) in named
            if match and place and place[0] in series and key_of(match[1]) not in known and not is_field:
                number = bisect_left(self._spans, line, key=lambda span: span.line)
                others.append((number - 0.5, line, Found(Span("D", "", "", line, line, 0.0, 0.0))))
        self._places = sorted([*self._places, *others], key=lambda place: place[0])

    def add_fields(self) -> None:
        """Give each other field to a record."""
        for number, span in enumerate(self._spans):
            if span.tag in ("D", "T", "id") or span.tag in FACTS:
                continue
            if row := self._rows.get(span.line):
                row.fields.append(span)
            elif options := list(self._options(number)):
                min(options, key=lambda option: option[0])[1].fields.append(span)

    def _options(self, number: int) -> Iterator[tuple[float, Found]]:
        """Yield the records before and behind a span, with what each costs."""
        span = self._spans[number]
        ahead = (_clipped(span.ahead) + self._usual[span.tag]) / 2
        near = bisect_left(self._places, float(number), key=_number)
        before = self._places[near - 1] if near else None
        behind = next((place for place in self._places[near : near + 2] if place[0] != number), None)
        for place, against in ((before, ahead), (behind, -ahead)):
            if place is None:
                continue
            _, line, found = place
            first, last = sorted((line, span.line))
            cost = _AHEAD * max(against, 0) + _GAP * min(last - first, _FARTHEST) + self._parted(first, last)
            is_other = found.words.text != "" and _KIND_OF.get(span.tag, found.kind) != found.kind
            yield cost + _OTHER_KIND * is_other, found

    def _parted(self, first: int, last: int) -> float:
        """Return how much the layout parts two lines, both counted from 1."""
        within, cost = _depth(self._lines[first - 1]), 0.0
        for line in self._lines[first : min(last, first + _LOOK_ACROSS)]:
            depth = _depth(line)
            if depth is None:
                cost = max(cost, _EMPTY)
            elif depth < 0:
                return _HEADED
            elif within is not None and depth <= within:
                cost = max(cost, _BEGUN if depth % 1 else _INNER if depth < within else _LINE)
        return cost


def _give_series_one_kind(records: Sequence[Found]) -> None:
    """Give records whose ids differ in the last number alone one kind, if few of them seem to be another."""
    margins: dict[tuple[str, str], float] = defaultdict(float)
    for each in records:
        margins[_series_of(each), each.kind] += each.words.margin
    for each in records:
        if series := _series_of(each):
            kind = max("DT", key=lambda one: margins[series, one])
            if margins[series, each.kind] <= FEW * margins[series, kind]:
                each.words = replace(each.words, tag=kind)


def _series_of(record: Found) -> str:
    """Return what is before the last number or letter of an id, "" unless it has letters."""
    match = re.fullmatch(r"\W*([^\W\d_].*?)(?:\d+|(?<=[\s._-])[^\W\d_])\W*", record.id)
    return match[1].casefold() if match else ""


def _number(place: _Place) -> float:
    return place[0]


def _clipped(score: float) -> float:
    return max(-_MOST_AHEAD, min(score, _MOST_AHEAD))


def _depth(line: str) -> float | None:
    """Return a line's indent, a half more for an item, -1 for a heading, None for an empty line."""
    if not line.strip():
        return None
    line = line.expandtabs(4)
    indent = len(line) - len(line.lstrip())
    return -1.0 if _HEADING.match(line) else indent + (_ITEM.match(line) is not None) / 2
