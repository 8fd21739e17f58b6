"""Conversations with what was decided marked, as examples for the statement reader.

A file holds one conversation: `# domain | voice | language`, then turns that begin `H:`, `A:` or `H(Name):`.
`⟦code.number|words⟧` marks a statement, a reason, a proposal that was taken up or what was rejected.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from forgekit.extraction.statements import TAGS

MARK = re.compile(r"⟦([a-z]+)(?:\.([\w-]+)(?:<(\d+))?)?\|([^⟦⟧]*)⟧")
_TURN = re.compile(r"^([HA])(?:\(([^)\n]*)\))?:[ ]?", re.MULTILINE)


class Span(NamedTuple):
    """A marked stretch of a turn; `number` joins it with others of its conversation."""

    first: int
    last: int
    tag: str
    number: str


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: who said it, its text without marks, and the spans."""

    human: bool
    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation; `none` are the marked near misses (turn, words, kind)."""

    name: str
    language: str
    turns: tuple[Said, ...]
    none: tuple[tuple[int, str, str], ...]


def read_dialogue(name: str, text: str) -> Dialogue:
    """Return a marked conversation."""
    head, _, rest = text.strip().partition("\n")
    language = head.rsplit("|", 1)[-1].strip()
    starts = [*_TURN.finditer(rest)]
    ends = [*(match.start() for match in starts[1:]), len(rest)]
    turns, none = [], []
    for number, (match, end) in enumerate(zip(starts, ends, strict=True)):
        words, spans, missed = _unmarked(rest[match.end() : end].rstrip())
        turns.append(Said(match[1] == "H", words, spans))
        none += [(number, *each) for each in missed]
    return Dialogue(name, language, tuple(turns), tuple(none))


def _unmarked(text: str) -> tuple[str, tuple[Span, ...], list[tuple[str, str]]]:
    parts: list[str] = []
    spans: list[Span] = []
    none: list[tuple[str, str]] = []
    reached = length = 0
    for match in MARK.finditer(text):
        tag, number, _, inner = match.groups()
        parts += [text[reached : match.start()], inner]
        length += match.start() - reached
        if tag == "no":
            none.append((inner, number or ""))
        elif tag in TAGS:
            spans.append(Span(length, length + len(inner), tag, number or ""))
        length += len(inner)
        reached = match.end()
    return "".join([*parts, text[reached:]]), tuple(spans), none


def read_dialogues(path: Path) -> Iterator[Dialogue]:
    """Yield the conversations of a zip, or of a folder of folders."""
    if path.is_dir():
        for each in sorted(path.rglob("*.txt")):
            yield read_dialogue(str(each.relative_to(path)), each.read_text("utf-8"))
        return
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".txt"):
                yield read_dialogue(name, archive.read(name).decode())
