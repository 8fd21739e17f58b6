"""Spans of an archive's text that the tagger joined to fields, and the records that they make up.

In: lines, and which of them speak. Out: `Found`, each with its fields, and facts of the archive itself.
Which record a field belongs to is decided by its table row, its id, or whether it stands before or behind the
words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from forgekit.archives.claims import key_of
from forgekit.archives.tagger import FIRST_VALUE, TAGS, VALUES, tag
from forgekit.archives.tokens import tokens_of

FACTS = ("tag", "parent", "project", "date", "artifact", "insight")
_EMPHASIS = re.compile(r"[*_`~\"'\u201c\u201d\u00ab\u00bb\u300c\u300d]+")
_OUTER = " \t*_`~"
_GAP = 2


@dataclass(frozen=True, slots=True)
class Span:
    """Words that belong together.

    Attributes:
        tag: of `tagger.TAGS`.
        value: what they seem to mean, of `tagger.VALUES`; "" of tags without values.
        text: without emphasis around it; lines are kept.
        line, last: of its first and its last token, from 1.
        forward: whether it belongs to the record that follows.
        margin: how sure the tagger is, the mean over its tokens.
    """

    tag: str
    value: str
    text: str
    line: int
    last: int
    forward: bool
    margin: float


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
        """Return its fields of one tag."""
        return [span for span in self.fields if span.tag == name]


def spans_of(lines: Sequence[str], own: Sequence[bool]) -> list[Span]:
    """Return the spans of the lines that speak for the archive, in order."""
    tokens = tokens_of(lines, own)
    tagged = tag(tokens)
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
            first = FIRST_VALUE[name]
            scores = tagged.values[members, first : first + len(VALUES[name])].sum(axis=0)
            value = VALUES[name][int(scores.argmax())]
        text = _text(lines, tokens.lines[n], tokens.lines[end - 1])
        if text:
            line, last = tokens.lines[n][0] + 1, tokens.lines[end - 1][0] + 1
            ahead = 2 * int(tagged.forward[members].sum()) > len(members)
            margin = float(tagged.margins[members].mean())
            spans.append(Span(name, value, text, line, last, ahead, margin))
        n = end
    return spans


def _end(first: int, kind: int, tags: Sequence[int], texts: Sequence[str], row: Sequence[int]) -> int:
    """Return where a span ends: it may go on behind marks of emphasis, and on the next line."""
    end, n = first + 1, first + 1
    while n < len(tags) and n - end <= _GAP:
        if tags[n] == kind:
            if row[n] != row[n - 1] and (n != end or kind == TAGS.index("alt")):
                break
            end = n + 1
        elif tags[n] or not _EMPHASIS.fullmatch(texts[n]) or row[n] != row[first]:
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
    return text.strip(_OUTER).strip()


def grouped(spans: Iterable[Span], tables: Mapping[int, int]) -> tuple[list[Found], list[Span]]:
    """Return records with their fields, and the facts of the archive.

    Args:
        spans: in order.
        tables: lines that are rows of tables.
    """
    records: list[Found] = []
    facts: list[Span] = []
    waiting: list[Span] = []
    by_id: dict[str, Found] = {}
    row_of: dict[int, Found] = {}
    for span in spans:
        now = records[-1] if records else None
        if span.tag in FACTS:
            facts.append(span)
        elif span.tag in ("D", "T"):
            found = Found(span, [each for each in waiting if _goes_with(each, span)])
            records.append(found)
            waiting = []
            if span.line in tables:
                row_of.setdefault(span.line, found)
            for each in found.all("id"):
                by_id.setdefault(key_of(each.text), found)
        elif span.line in row_of:
            row_of[span.line].fields.append(span)
        elif span.tag == "id" and not span.forward and key_of(span.text) in by_id:
            records.append(by_id[key_of(span.text)])  # what follows is said of that one
        elif span.forward or span.line in tables or now is None:
            waiting.append(span)
        else:
            now.fields.append(span)
            if span.tag == "id":
                by_id.setdefault(key_of(span.text), now)
    return list(_once(records)), facts


def _goes_with(span: Span, words: Span) -> bool:
    """Say whether a field before a record's words is near enough to be its own."""
    return words.line - span.line <= 12


def _once(records: Iterable[Found]) -> Iterator[Found]:
    seen: set[int] = set()
    for each in records:
        if id(each) not in seen:
            seen.add(id(each))
            yield each
