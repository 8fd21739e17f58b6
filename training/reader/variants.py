"""Variants of marked archives: words, labels and headings exchanged within a language, other marks."""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from annotated import Marked, Span

_EXCHANGED = {"D", "T", "why", "alt", "res", "blk", "note", "project", "tag", "parent", "artifact", "insight"}
_EXCHANGED |= {"prio", "state", "tier"}
_BULLETS = ("-", "*", "+", "•", "\u2013", "→")
_COMMON = {
    "en": "the and we is of to",
    "de": "und der die wir das ist nicht",
    "fr": "le la les et nous est des",
    "es": "el los las y que por no",
    "it": "il che di non per e gli",
    "pt": "o os as que não para em um",
    "nl": "het de en een van niet",
    "pl": "nie się na w i jest",
    "tr": "ve bir için bu",
    "sv": "och att det en är",
}
_SCRIPTS = {
    "ja": "[\u3040-\u30ff]",
    "zh": "[\u4e00-\u9fff]",
    "ko": "[\uac00-\ud7af]",
    "ru": "[\u0400-\u04ff]",
}

_WORDS = r"[^\W\d_]+(?:[ _-][^\W\d_]+){0,3}"
_LABELS = (
    ("key", re.compile(r"(?:^|[\s\"'{<(,:])((?:[^\W\d_]+_)*[^\W\d_]+)[\"']?\s?[:=>]\s?[\"'\[]{0,2}$")),
    (
        "label",
        re.compile(rf"({_WORDS})[*_\s]{{0,4}}(?:[:=\uff1a\u2192]|->|=>|[\u2014\u2013-])[*_\s]{{0,4}}$"),
    ),
    ("joint", re.compile(rf"(?:^|[,;.(\[\u2014\u2013-]\s?)({_WORDS})\s$")),
)
"""Shapes of what stands before a field: `"reason": "`, `Reason: `, `, because `."""
_HEADING = re.compile(r"^(?:#{1,6} |\*\*|__)([^\W\d_][^*_#\d\n]{2,40}?)(?:\*\*|__)?:?[ \t]*$", re.MULTILINE)

Pool = Mapping[tuple[str, str, str], Sequence[str]]
Labels = Mapping[tuple[str, str, str], Sequence[str]]


def language(text: str) -> str:
    """Return the language that a text is probably in."""
    for name, script in _SCRIPTS.items():
        if re.search(script, text):
            return name
    plain = f" {text.casefold()} "
    return max(_COMMON, key=lambda name: sum(plain.count(f" {word} ") for word in _COMMON[name].split()))


def pool_of(archives: Iterable[Marked]) -> Pool:
    """Return the words of all spans by language, tag and value."""
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for marked in archives:
        name = language(marked.text)
        for span in marked.spans:
            words = marked.text[span.first : span.last]
            if "\n" not in words:
                found[name, span.tag, span.value if span.tag in ("prio", "state", "tier") else ""].append(
                    words
                )
    return found


def variant(marked: Marked, pool: Pool, labels: Labels, rng: random.Random) -> Marked:
    """Return a marked archive with other words, other labels, other marks, or some of these."""
    marked = _relabelled(marked, labels, rng) if rng.random() < 0.7 else marked
    return _relaid(_exchanged(marked, pool, rng) if rng.random() < 0.6 else marked, rng)


def stretch(marked: Marked, rng: random.Random) -> Marked:
    """Return some lines of an archive with records, below the heading that they stand under."""
    lines = marked.text.split("\n")
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line) + 1)
    records = [bisect_right(begins, span.first) - 1 for span in marked.spans if span.tag in ("D", "T")]
    if not records:
        return marked
    first = max(rng.choice(records) - rng.randint(0, 2), 0)
    last = min(first + rng.randint(2, 14), len(lines))
    above = next((n for n in range(first, -1, -1) if _HEADING.match(lines[n])), first)
    kept = [*({above} - {*range(first, last)}), *range(first, last)]
    parts, spans, length = [], [], 0
    for n in kept:
        inside = (s for s in marked.spans if begins[n] <= s.first and s.last < begins[n + 1])
        by = length - begins[n]
        spans += [s._replace(first=s.first + by, last=s.last + by) for s in inside]
        parts.append(lines[n])
        length += len(lines[n]) + 1
    return Marked("\n".join(parts), tuple(spans))


def _exchanged(marked: Marked, pool: Pool, rng: random.Random) -> Marked:
    name, parts, spans = language(marked.text), [], []
    reached = length = 0
    edges = Counter(edge for span in marked.spans for edge in (span.first, span.last))
    for span in marked.spans:
        words = marked.text[span.first : span.last]
        others = pool.get((name, span.tag, span.value if span.tag in ("prio", "state", "tier") else ""), ())
        is_part = edges[span.first] + edges[span.last] > 2
        if (
            span.tag in _EXCHANGED
            and not is_part
            and rng.random() < 0.7
            and "\n" not in words
            and len(others) > 3
        ):
            words = _like(words, rng.choice(others))
        parts += [marked.text[reached : span.first], words]
        length += span.first - reached
        spans.append(span._replace(first=length, last=length + len(words)))
        length += len(words)
        reached = span.last
    return Marked("".join([*parts, marked.text[reached:]]), tuple(spans))


def _like(words: str, other: str) -> str:
    """Return other words with the case and the stop that the first ones have."""
    if words[0].isupper() and other[0].islower():
        other = other[0].upper() + other[1:]
    elif words[0].islower() and other[0].isupper() and other[1:2].islower():
        other = other[0].lower() + other[1:]
    if words[-1] in ".?!" and other[-1] not in ".?!":
        return other + words[-1]
    return other.rstrip(".") or other if words[-1] not in ".?!" else other


def _relaid(marked: Marked, rng: random.Random) -> Marked:
    """Return an archive with other bullets, bold marks, dashes, headings and indents outside of its spans."""
    plans = (
        (r"^[ \t]*([-*+•])(?= )", rng.choice(_BULLETS), 0.3),
        (r"(\*\*)", rng.choice(("", "__", "**", "*")), 0.25),
        (r"(\s[\u2014\u2013]\s)", rng.choice((" - ", ": ", " — ", " -- ", " | ", " → ")), 0.25),
        (r"^(#{1,4} )", rng.choice(("# ", "## ", "### ", "#### ", "**", "")), 0.2),
        (r"^( {2,8})(?=\S)", rng.choice(("  ", "    ", "\t", " ")), 0.15),
    )
    changes: list[tuple[int, int, str]] = []
    for pattern, other, share in plans:
        if rng.random() < share:
            changes += [(*m.span(1), other) for m in re.finditer(pattern, marked.text, re.MULTILINE)]
    return _edited(marked, changes)


def _edited(marked: Marked, changes: Iterable[tuple[int, int, str]]) -> Marked:
    """Return an archive with stretches replaced, but for those within spans or within each other."""
    inside = bytearray(len(marked.text) + 1)
    for span in marked.spans:
        inside[span.first : span.last] = b"\1" * (span.last - span.first)
    parts: list[str] = []
    moved: list[tuple[int, int]] = []
    reached = 0
    for first, last, other in sorted(changes):
        if first >= reached and not any(inside[first:last]):
            parts += [marked.text[reached:first], other]
            moved.append((first, len(other) - (last - first)))
            reached = last
    text = "".join([*parts, marked.text[reached:]])

    def at(place: int) -> int:
        return place + sum(by for first, by in moved if first < place)

    spans = (
        span._replace(first=at(span.first), last=at(span.first) + span.last - span.first)
        for span in marked.spans
    )
    return Marked(text, tuple(map(Span._make, spans)))


def labels_of(archives: Iterable[Marked]) -> Labels:
    """Return labels, joining words, heads of columns and headings of archives, by what they are of."""
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for marked in archives:
        name = language(marked.text)
        for first, last, shape, of in _labels_in(marked):
            found[name, shape, of].append(marked.text[first:last])
    return {
        key: [label for label in of if key[1] != "heading" or of.count(label) > 1]
        for key, of in found.items()
    }


def _labels_in(marked: Marked) -> Iterator[tuple[int, int, str, str]]:
    """Yield where labels stand, their shape, and the tag of what they label."""
    text, reached = marked.text, 0
    for span in marked.spans:
        line = text.rfind("\n", 0, span.first) + 1
        begin = max(reached, line)
        for shape, pattern in _LABELS:
            if match := pattern.search(text, begin, span.first):
                yield (*match.span(1), shape, span.tag)
                break
        reached = span.last
    yield from _heads_in(marked)
    headings = [*_HEADING.finditer(text)]
    ends = [*(match.start() for match in headings[1:]), len(text)]
    for match, end in zip(headings, ends, strict=False):
        within = {(s.tag, s.value) for s in marked.spans if match.end() <= s.first < end and s.tag in "DT"}
        if within and len({tag for tag, _ in within}) == 1:
            tag, values = next(iter(within))[0], {value for _, value in within}
            yield (*match.span(1), "heading", f"{tag} {values.pop() if len(values) == 1 else ''}")


def _heads_in(marked: Marked) -> Iterator[tuple[int, int, str, str]]:
    """Yield the heads of columns of tables, each once."""
    text, seen = marked.text, set[int]()
    for span in marked.spans:
        line = text.rfind("\n", 0, span.first) + 1
        if text[line : line + 1] != "|" or not (rule := text.rfind("\n|-", 0, span.first) + 1):
            continue
        head = text.rfind("\n", 0, rule - 1) + 1
        cells = [*re.finditer(r"(?<=\|)[^|\n]*(?=\|)", text[head : rule - 1])]
        column = text.count("|", line, span.first) - 1
        cell = cells[column] if 0 <= column < len(cells) else None
        if cell and cell.group().strip() and head + cell.start() not in seen:
            seen.add(head + cell.start())
            inner = cell.group()
            first = head + cell.start() + len(inner) - len(inner.lstrip())
            yield first, first + len(inner.strip()), "head", span.tag


def _relabelled(marked: Marked, labels: Labels, rng: random.Random) -> Marked:
    """Return an archive in which some labels are other ones, the same wherever they come again."""
    name, chosen = language(marked.text), dict[tuple[str, str, str], str]()
    changes: list[tuple[int, int, str]] = []
    for first, last, shape, of in _labels_in(marked):
        label = marked.text[first:last]
        others = labels.get((name, shape, of), ())
        if (shape, of, label) not in chosen:
            kept = rng.random() < 0.4 or len(others) < 4
            chosen[shape, of, label] = label if kept else _in_case(rng.choice(others), label)
        if chosen[shape, of, label] != label:
            changes.append((first, last, chosen[shape, of, label]))
    return _edited(marked, changes)


def _in_case(other: str, label: str) -> str:
    if label.isupper() and len(label) > 1:
        return other.upper()
    return other[0].upper() + other[1:] if label[0].isupper() else other[0].lower() + other[1:]
