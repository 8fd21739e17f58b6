"""The sentences of a message that are its writer's own, each with its place.

Left out are code, quoted lines, text between tags, printed lines (of a shell, a log) up to the next
blank one, table rows and headings; words
between quotation marks and backquotes stay as a filler of the same length, so that no label and no end of a
sentence is read out of them. A sentence is split at semicolons and before `but`.

Everything is read line by line and once: linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from forgekit.frozen import frozen, replace

LONGEST = 600
"""Characters of a sentence; a longer one is skipped."""

_FENCE = re.compile(r"(?:[-*+]|\d{1,3}[.)])?\s*(`{3,}|~{3,})")
_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]{0,40})(?:\s[^<>]{0,300})?(/?)>")
_CODE_LINE = re.compile(
    r"(?:\$|%|>>>|===|\w+=\S|//|/\*|\*/|--\s|<!--|@@|\+\+\+|diff --git|at \w[\w.$]{0,80}\(|Traceback|import "
    r"|from \w+ import|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[\d{2,4}[-:]|\d{1,5}[→\t]"
    r"|[│├└┌╭╰\u276f\u23fa\u23bf\u273b\u23f5])"
)
_CODE_END = re.compile(r"[;{}]$|[=;){}]\s+(?:#|//)\s")
_ITEM = re.compile(r"(?:[-*+•·▪]|\d{1,3}[.)]|\[[ xX]\])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"#{1,6}\s")
_BOLD_LINE = re.compile(r"\*\*[^*]{2,70}\*\*:?|__[^_]{2,70}__:?")
_LABEL_LINE = re.compile(
    r"[\s*_]*+[^\s:*_|](?:[^:*_|]{0,68}[^\s:*_|]|(?=\s)|(?<=\s.))[\s*_]*+[:\uff1a][\s*_]*+"
)
_SENTENCE_END = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019)\]*_]*+(?=\s)|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d]*"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|cf|ca|approx|dr|mr|mrs|ms|st|no|nr|fig|inc|jr|z\.b|bzw|d\.h|usw|p\.ex|sr|sra|etc"
    r"|prof|v|ed|eq)|\b[A-Z]|^\W*\d{1,2})\.$",
    re.IGNORECASE,
)
_PART = re.compile(
    r";\s+|,\s+(?=(?:but|though|although|whereas|aber|mais|pero)\s)|(?:,|(?<!\s))\s++(?=and\s+(?:we|i|it|that|who|what"
    r"|how)(?:'s|\u2019s)?\s+(?:\w+\s+)?(?:still|not yet|open|unclear|undecided)\b)",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"`[^`\n]{1,200}`|[\"\u201c\u201d\u201e][^\"\u201c\u201d\u201e\n]{1,400}[\"\u201c\u201d]"
    r"|\u00ab[^\u00ab\u00bb\n]{1,400}\u00bb|\u300c[^\u300c\u300d\n]{1,300}\u300d"
    r"|(?<![\w'])'[^'\n]{2,300}'(?!\w)|\u2018[^\u2018\u2019\n]{2,300}\u2019(?!\w)|~~[^~\n]{1,400}~~"
)
_WRAPS_AT = 60
_DROP = frozenset("*\u200b\ufe0f")
_EMPHASIS = re.compile(r"(?<!\w)_+|_+(?!\w)")  # an underscore within a word is a part of a name
_ODD = re.compile(r"[^\x00-\x7f]|[*_]")
_QUOTES = re.compile(r"[\"`~\u201c\u201d\u201e\u00ab\u300c\u2018]|(?<!\w)'")
_PLAIN: dict[int, str | None] = {
    **{ord(char): None for char in _DROP},
    **{ord(char): "'" for char in "\u2019\u2018\u02bc"},
    ord("\uff1a"): ":",
}


@frozen(kw_only=True)
class Sentence:
    """A sentence, or a part of one between semicolons or before `but`.

    Attributes:
        text: as in the message, with quotations as filler; `start` is its index there.
        label: the heading, or the line that ends in a colon, above it; "" for none.
        item: it belongs to an item of a list.
        first: it is the first part of its sentence.
        asks: its sentence is a question.
    """

    text: str
    start: int
    label: str
    item: bool
    first: bool
    asks: bool


@frozen(kw_only=True)
class _Run:
    start: int
    end: int
    last: int
    label: str
    item: bool


def sentences(message: str) -> Iterator[Sentence]:
    """Yield the sentences of a message, in order."""
    for run in _runs(message):
        yield from _sentences(message, run)


def whole_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text verbatim, each on one line, without headings, code and tables."""
    for run in _runs(text):
        raw = text[run.start : run.end]
        place = 0
        for stop in [*_sentence_ends(_QUOTED.sub(_filler, raw)), len(raw)]:
            found = " ".join(_plain(raw[place:stop]).split())
            place = stop
            if found and not found.startswith("|"):
                yield found


def before_document(message: str) -> str:
    """Return what comes before a document that is pasted into a message: it has two headings or more."""
    headings = [start for start, line in own_lines(message) if _HEADING.match(line.lstrip())]
    return message[: headings[0]] if len(headings) > 1 else message


def own_lines(message: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its place, without fenced code, quoted lines and text between tags."""
    fence = ""
    tag = ""
    closed = frozenset(name for slash, name, _ in _TAG.findall(message) if slash)
    place = 0
    for line in message.splitlines(keepends=True):
        start, place = place, place + len(line)
        text = line.strip()
        if fence:
            if text.startswith(fence) and not text.strip(fence[0]):
                fence = ""
            continue
        if tag:
            if f"</{tag}>" in text:
                tag = ""
            continue
        if opened := _FENCE.match(text):
            fence = opened[1] if text.count(opened[1]) == 1 else ""
            continue
        if text.startswith(">"):
            continue
        if (mark := _TAG.match(text)) is not None:
            name = mark[2]
            if not mark[1] and not mark[3] and name in closed and f"</{name}>" not in text:
                tag = name
            continue
        yield start, line.rstrip("\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")


def is_quoted(message: str, start: int, end: int) -> bool:
    """Say whether a stretch of a message is between quotation marks, backquotes or in struck text."""
    first = message.rfind("\n", 0, start) + 1
    return any(q.start() <= start and end <= q.end() for q in _QUOTED.finditer(message, first, end + LONGEST))


def _runs(message: str) -> Iterator[_Run]:
    heading = label = ""
    listed = False
    run: _Run | None = None
    for start, text, kind, blank in _lines(message):
        if run is not None and kind == _PROSE and not blank and _goes_on(message[run.last : run.end], text):
            run = replace(run, end=start + len(text), last=start)
            continue
        if run is not None:
            yield run
            run = None
        if kind == _TITLE:
            heading, label = text.strip("# *_:"), ""
        elif kind == _LABEL:
            label, listed = _ITEM.sub("", text, count=1).strip("*_ :\uff1a"), False
        elif kind in {_PROSE, _LISTED}:
            label = "" if kind == _PROSE and listed else label
            mark = _ITEM.match(text)
            run = _Run(
                start=start + (mark.end() if mark else 0),
                end=start + len(text),
                last=start,
                label=label or heading,
                item=kind == _LISTED,
            )
            listed = listed or kind == _LISTED
            label = "" if kind == _PROSE else label
    if run is not None:
        yield run


def _lines(message: str) -> Iterator[tuple[int, str, int, bool]]:
    """Yield place, stripped text and kind of each line, and whether the line before it is blank."""
    blank, printed = True, False
    for start, line in own_lines(message):
        text = line.strip()
        kind = _kind(line, text, blank=blank)
        printed = bool(text) and (printed or kind == _PRINTED) and kind != _TITLE
        yield start + len(line) - len(line.lstrip()), text, _NOTHING if printed else kind, blank
        blank = not text


_PROSE, _LISTED, _TITLE, _LABEL, _PRINTED, _NOTHING = range(6)


def _kind(line: str, text: str, *, blank: bool) -> int:
    if not text or text.startswith("|"):
        return _NOTHING
    if _CODE_LINE.match(text) or _CODE_END.search(text):
        return _PRINTED
    if _HEADING.match(text) or _BOLD_LINE.fullmatch(text):
        return _TITLE
    mark = _ITEM.match(text)
    if blank and mark is None and line.startswith(("    ", "\t")):
        return _NOTHING
    if _LABEL_LINE.fullmatch(text[mark.end() :] if mark else text):
        return _LABEL
    return _LISTED if mark and mark.end() < len(text) else _NOTHING if mark else _PROSE


def _goes_on(last: str, text: str) -> bool:
    """Say whether a line only wraps the sentence of the last one, and is no statement of its own."""
    if last.endswith((".", "!", "?", ":", ";", "\u3002")) and not _ABBREVIATION.search(last[-12:]):
        return False
    return text[:1].islower() or len(last) >= _WRAPS_AT


def _sentences(message: str, run: _Run) -> Iterator[Sentence]:
    raw = message[run.start : run.end]
    hidden = _QUOTED.sub(_filler, raw) if _QUOTES.search(raw) else raw
    place = 0
    for stop in [*_sentence_ends(hidden), len(hidden)]:
        whole = hidden[place:stop]
        asks = whole.rstrip("\"')]*_ \n").endswith(("?", "\uff1f"))
        begin = 0
        parted = ", " in whole or ";" in whole or " and " in whole
        for cut in [*(_PART.finditer(whole) if parted else ()), None]:
            part = whole[begin : cut.start() if cut else len(whole)]
            plain = _plain(part) if _ODD.search(part) and len(part) <= 2 * LONGEST else part
            if 0 < len(" ".join(plain.split())) <= LONGEST:
                yield Sentence(
                    text=part,
                    start=run.start + place + begin,
                    label=run.label,
                    item=run.item,
                    first=begin == 0,
                    asks=asks,
                )
            begin = cut.end() if cut else len(whole)
        place = stop


def _plain(text: str) -> str:
    return _EMPHASIS.sub("", text.translate(_PLAIN))


def _sentence_ends(text: str) -> Iterator[int]:
    for end in _SENTENCE_END.finditer(text):
        before = text[max(0, end.start() - 12) : end.start() + 1]
        if not (end.group() == "." and _ABBREVIATION.search(before)):
            yield end.end()


def _filler(quoted: re.Match[str]) -> str:
    text = quoted.group()
    if text.startswith("~~"):
        return " " * len(text)
    return text[0] + "x" * (len(text) - 2) + text[-1]
