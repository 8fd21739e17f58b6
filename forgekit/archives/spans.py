"""Spans of an archive's text: the words that belong together for the tagger.

In: lines, and which of them speak. Out: `Span`, in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf

from forgekit.archives.network import weights
from forgekit.archives.tagger import FIRST_VALUE, TAGS, VALUES, tag
from forgekit.archives.tokens import tokens_of
from forgekit.frozen import frozen

_EMPHASIS = re.compile(r"[*_`~\"'\u201c\u201d\u00ab\u00bb\u300c\u300d]+")
_EMPHASIS_OR_STOP = re.compile(rf"{_EMPHASIS.pattern}|[;:]")
_OUTER = " \t*_`~"
_OF_ONE_LINE = ("id", "alt")
_PARTS = ("alt", "dep")
"""Tags of words that may stand within a record's words."""
_OF_CLAUSES = ("why", "res")
"""Tags of words that go on behind a semicolon or a colon."""
_USUAL, _CLEAR = "active", 3.0
_GAP = 2
_LONGEST = 40
_JOINED, _JOINED_WORD = re.compile(r"(?:[^\W_]+[-/])+$"), re.compile(r"(?:[^\W_]+[-/])*[^\W_]+$")
_REST_OF_WORD = re.compile(r"(?<=[A-Za-z])[A-Za-z\d]+")
_JOINED_BEHIND = re.compile(r"(?:-|(?<=[^\W\d_]-))[^\W\d_]+")
"""What belongs to an id that the tagger found behind it, at most `_LONGEST` characters."""
_SHARE = re.compile(r"0[.,]\d+")
_REDACTED = re.compile(r"\[redacted: [^\]]*\]")
"""What is put in the place of a secret; the rule and fingerprint in it are no words of the archive."""


Place = tuple[int, int, int]
"""The line of a token, its first column and the one behind it."""


@frozen()
class Span:
    """Words that belong together.

    Attributes:
        tag: of `tagger.TAGS`.
        value: what they seem to mean, of `tagger.VALUES`; "" of tags without values.
        text: without emphasis around it; lines are kept.
        line, last: of its first and its last token, from 1.
        ahead: a score, above zero where it belongs to the record that follows.
        margin: how sure the tagger is, the mean over its tokens.
        column: of its first character in its line, from 0.
    """

    tag: str
    value: str
    text: str
    line: int
    last: int
    ahead: float
    margin: float
    column: int = 0


def spans_of(lines: Sequence[str], own: Sequence[bool], file: str = "tagger.bin") -> list[Span]:
    """Return the spans of the lines that speak for the archive, in order, by the weights in a file."""
    masked = (
        _REDACTED.sub(lambda m: "x" * len(m[0]), line) if "[redacted" in line else line for line in lines
    )
    tokens = tokens_of([*masked], own)
    tagged = tag(tokens, weights(file))
    spans: list[Span] = []
    tags, row = tagged.tags.tolist(), tokens.row.tolist()
    n, count = 0, len(tokens.texts)
    while n < count:
        kind = tags[n]
        if not kind:
            n += 1
            continue
        end = _end(n, kind, tags, tokens.texts, row)
        members = [each for each in range(n, end) if tags[each] == kind]
        name = TAGS[kind]
        value = ""
        if name in VALUES:
            place = FIRST_VALUE[name]
            scores = tagged.values[members, place : place + len(VALUES[name])].mean(axis=0)
            value = _value(dict(zip(VALUES[name], scores.tolist(), strict=True)))
        first, last = tokens.lines[n], tokens.lines[end - 1]
        first, last = _whole(lines, name, first, last)
        text = _text(lines, first, last)
        if name == "id" and _SHARE.fullmatch(text):
            name = "tier"
        if text:
            ahead = float(tagged.ahead[members].mean())
            margin = float(tagged.margins[members].mean())
            spans.append(Span(name, value, text, first[0] + 1, last[0] + 1, ahead, margin, first[1]))
        n = end
    return with_parts(spans, lines)


def with_parts(spans: Iterable[Span], lines: Sequence[str]) -> list[Span]:
    """Return spans; a record's words go on over what was found within them: `the bus, not the train`."""
    found: list[Span] = []
    at = -1  # of the record that the next span may be a part of
    for span in spans:
        whole = found[at] if at >= 0 else None
        if whole and whole.line == whole.last == span.line == span.last:
            line = lines[span.line - 1]
            behind = whole.column + len(whole.text)
            if span.tag in (*_PARTS, whole.tag) and not line[behind : span.column].strip():
                text = line[whole.column : span.column + len(span.text)]
                found[at] = replace(whole, text=text)
                if span.tag != whole.tag:
                    found.append(span)
                continue
        at = len(found) if span.tag in ("D", "T") else -1
        found.append(span)
    return found


def _value(scores: Mapping[str, float]) -> str:
    """Return the likeliest value; that a decision is not active must be clear."""
    best = max(scores, key=lambda value: scores[value])
    return _USUAL if scores[best] - scores.get(_USUAL, -inf) < _CLEAR else best


def _whole(lines: Sequence[str], name: str, first: Place, last: Place) -> tuple[Place, Place]:
    """Return a span that begins and ends with whole words; what is joined by a hyphen is one."""
    line, start = lines[first[0]], first[1]
    joined = _JOINED if line[start] not in "-/" else _JOINED_WORD
    if (name == "id" or line[start - 1 : start] == "-") and (
        before := joined.search(line[max(0, start - _LONGEST) : start])
    ):
        first = (first[0], start - len(before.group()), first[2])
    behind = _REST_OF_WORD.match(lines[last[0]], last[2])
    behind = behind or (_JOINED_BEHIND.match(lines[last[0]], last[2]) if name != "id" else None)
    end = behind.end() if behind else last[2]
    text = lines[last[0]][first[1] if first[0] == last[0] else 0 : end]
    shut = lines[last[0]][end : end + 1] == ")" and text.count("(") > text.count(")")
    return first, (last[0], last[1], end + shut)


def _end(first: int, kind: int, tags: Sequence[int], texts: Sequence[str], row: Sequence[int]) -> int:
    """Return where a span ends: it may go on behind marks of emphasis, and on the next line."""
    link = _EMPHASIS_OR_STOP if TAGS[kind] in _OF_CLAUSES else _EMPHASIS
    end, n = first + 1, first + 1
    while n < len(tags) and n - end <= _GAP:
        if tags[n] == kind:
            if row[n] != row[n - 1] and (n != end or TAGS[kind] in _OF_ONE_LINE):
                break
            end = n + 1
        elif tags[n] or row[n] != row[first] or not link.fullmatch(texts[n]):
            break
        n += 1
    return end


def _text(lines: Sequence[str], first: tuple[int, int, int], last: tuple[int, int, int]) -> str:
    """Return the text from a token to another."""
    if first[0] == last[0]:
        text = lines[first[0]][first[1] : last[2]]
    else:
        between = (line.strip() for line in lines[first[0] + 1 : last[0]])
        text = "\n".join([lines[first[0]][first[1] :].strip(), *between, lines[last[0]][: last[2]].strip()])
    plain = text.strip(_OUTER).strip()
    if plain.count("`") % 2:  # code at one end
        return f"`{plain}" if text.strip()[:1] == "`" else f"{plain}`"
    return plain
