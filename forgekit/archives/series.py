"""Series of ids: what the records of an archive count by, in whatever shape.

`K-1 K-2`, `#14 #15`, `dec/1`, `0x01`, `26-a`: ids of one series differ in what counts alone, and begin lines.
In: spans and lines. Out: spans; if most lines of a series hold a record, each of its lines has an id and one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from forgekit.archives.spans import Span

_HEAD = re.compile(
    r"(?:[^\w#\u00a7]|:\w+:\s|#+\s)*(?:(?:[^\W\d_][\w'\u2019+-]*,?\s+){1,3}(?=[^\s:.]+\s?[:.)\]]|[(\[][^\s:.,]+[,;]))?"
    r"[<(\[]?"
    r"(?P<id>[^\W_]*[#\u00a7\u00b0\u00ba_./-]{0,2}[^\W_]+)(?:[>)\]*'_]|\s?[:.=](?=\s|\w)|(?=[\s\u3000,;]|$))+"
)
_COUNT = re.compile(r"(?:(?<=^0x)[0-9a-f]+|\d{1,4}|(?<=[^\w.])[a-z])(?=[a-z]?$)")
_REST = re.compile(r"[,;][^()\[\]]{0,120}[)\]][.:*_]*\s")
"""What else a bracket says of the record whose id it opens with."""
_LONGEST, _FEWEST, _HEAD_LIMIT, _FARTHEST = 14, 3, 120, 60
_PARTS = re.compile(
    r"\s+[\u2014\u2013\u00b7|/\u00b6\u27f5\u2190\u2192(\[]|[;\u3002\uff1b]|\.{3,}|(?<=\w\w)[.](?=\s|$)|(?<=[?!\uff1f])\s"
)
_MARKS = " \t*_`|:\u00b7\u2014\u2013-\u3000"
_CERTAIN = 6.0


Place = tuple[int, int, int]
"""Where an id is: its line, its first column, and the column behind it and its marks."""


def with_series(spans: Sequence[Span], lines: Sequence[str], own: Sequence[bool]) -> list[Span]:
    """Add the ids of series, and the records that they begin where no other was found."""
    by_line: dict[int, list[Span]] = defaultdict(list)
    for span in spans:
        by_line[span.line].append(span)
    records = {span.line: span for span in reversed(spans) if span.tag in ("D", "T")}
    for members in _series(lines, own):
        places = {line: name for name, (line, _, _) in members.items()}
        held = [records[line] for line in sorted(places) if line in records]
        if len(members) < _FEWEST or 2 * len(held) < len(members):
            continue
        kinds = Counter(span.tag for span in held)
        common, count = kinds.most_common(1)[0]
        kind = common if 4 * count >= 3 * len(held) > 3 * _FEWEST else ""
        for name, place in members.items():
            line = place[0]
            near = bisect_left(held, line, key=lambda span: span.line)
            about = [
                span for span in held[max(near - 1, 0) : near + 1] if _together(lines, line, span, places)
            ]
            if about:
                nearest = min(about, key=lambda span: abs(span.line - line))
                by_line[line] = _begun(name, place, nearest, kind, by_line[line], lines[line - 1])
    return [span for line in sorted(by_line) for span in by_line[line]]


def _series(lines: Sequence[str], own: Sequence[bool]) -> Iterable[dict[str, Place]]:
    """Return the ids that begin lines, by what is the same in them, each with its first place."""
    series: dict[str, dict[str, Place]] = defaultdict(dict)
    for number, line in enumerate(lines, 1):
        match = _HEAD.match(line[:_HEAD_LIMIT]) if own[number - 1] else None
        if match and len(match["id"]) <= _LONGEST and (count := _COUNT.search(match["id"])):
            prefix = match["id"][: count.start()]
            if prefix.strip("0123456789."):
                rest = _REST.match(line, match.end()) if line[match.start("id") - 1] in "([" else None
                end = rest.end() if rest else match.end()
                series[prefix].setdefault(match["id"], (number, match.start("id"), end))
    return series.values()


def _together(lines: Sequence[str], line: int, span: Span, heads: Collection[int]) -> bool:
    """Say whether nothing but an id of the series begins a block between a line and a record near it."""
    first, last = sorted((line, span.line))
    return last - first <= _FARTHEST and not any(
        lines[number - 1].strip() and not lines[number - 2].strip() and number not in heads
        for number in range(first + 1, last)
    )


def _begun(name: str, place: Place, nearest: Span, kind: str, spans: Sequence[Span], text: str) -> list[Span]:
    """Return the spans of a line that begins with an id of a series; `kind` is the one of all, if any."""
    line, first, end = place
    start = end + len(text[end:]) - len(text[end:].lstrip(_MARKS))
    words = next((span for span in spans if span.tag in ("D", "T")), None)
    if words is None or words.column + len(words.text) <= start:
        behind = [span.column for span in spans if span.column > start and span.tag != "id"]
        words = replace(nearest, text=text[start : min(behind, default=None)], line=line, last=line, value="")
        words = replace(words, text=_PARTS.split(words.text)[0].strip(_MARKS), column=start)
    elif words.column < start:
        words = replace(words, text=words.text[start - words.column :], column=start)
    if not words.text:
        return list(spans)
    identity = replace(words, tag="id", value="", text=name, last=line, column=first, ahead=_CERTAIN)
    words = replace(words, tag=kind or words.tag, margin=max(words.margin, _CERTAIN))
    noted = [
        replace(span, ahead=_CERTAIN) for span in spans if first < span.column < end and span.tag != "id"
    ]
    others = [
        span for span in spans if span.column > words.column or (span.tag == "state" and span.column < first)
    ]
    return sorted([identity, words, *noted, *others], key=lambda span: span.column)
