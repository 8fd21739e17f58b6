"""The outline of a compaction summary: its numbered sections, and the lists and paragraphs in each.

A **node** is one list item, paragraph, heading or quotation with what is nested below it. Code between
fences never becomes part of a node. Every scan is linear in the text; nesting stops at `DEEPEST`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

DEEPEST = 40
LONGEST_TITLE = 200

_ITEM = re.compile(r"(?:[-*+•]|(?:\d{1,3}|[A-Za-z])[.)])[ \t]+(?=\S)")
_HASHES = re.compile(r"(#{1,6})[ \t]+")
_NUMBER = re.compile(r"(\d{1,2})[.)][ \t]+")
_RULE = re.compile(r"[-*_=]{3,}")
_SUMMARY = re.compile(r"(?:#{1,6} )?\**(?:<summary>|summary:?)\**:?", re.IGNORECASE)
_ANALYSIS = re.compile(r"(?:#{1,6} )?\**(?:<analysis>|analysis:?)\**:?", re.IGNORECASE)
_TRAILERS = (
    "If you need specific details from before compaction",
    "Please continue the conversation from where",
    "Continue the conversation from where",
    "Recent messages are preserved verbatim",
    "</summary>",
)


class Role(Enum):
    """What a section is for, told by its title."""

    REQUEST = auto()
    FILES = auto()
    MESSAGES = auto()
    PENDING = auto()
    CURRENT = auto()
    NEXT = auto()
    OTHER = auto()


_ROLES = (
    ("next step", Role.NEXT),
    ("user message", Role.MESSAGES),
    ("pending", Role.PENDING),
    ("outstanding", Role.PENDING),
    ("remaining", Role.PENDING),
    ("todo", Role.PENDING),
    ("task list", Role.PENDING),
    ("current work", Role.CURRENT),
    ("current state", Role.CURRENT),
    ("files", Role.FILES),
    ("request", Role.REQUEST),
    ("errors", Role.OTHER),
    ("problem solving", Role.OTHER),
    ("key technical", Role.OTHER),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One list item, paragraph, heading or quotation.

    Attributes:
        line: 1-based.
        marker: `-` for an item, `#` for a heading, `>` for a quotation, "" for a paragraph.
        text: without its marker, line ends as blanks, emphasis kept.
    """

    line: int
    marker: str
    text: str
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A numbered section.

    Attributes:
        rest: what follows the heading on its own line, or "".
        last_line: equal to the heading's line where nothing follows.
    """

    title: str
    role: Role
    level: int
    line: int
    last_line: int
    rest: str = ""


@dataclass(kw_only=True, slots=True)
class _Draft:
    line: int
    indent: int
    marker: str
    words: list[str]
    children: list[_Draft] = field(default_factory=list)

    def node(self) -> Node:
        return Node(
            line=self.line,
            marker=self.marker,
            text=" ".join(self.words),
            children=tuple(child.node() for child in self.children),
        )


def plain(text: str) -> str:
    """Return the text without emphasis and runs of blanks; code marks stay."""
    return " ".join(text.replace("**", "").split())


def one_line(text: str, limit: int = LONGEST_TITLE) -> str:
    """Cut a text at the end of a sentence or word so that it fits the limit."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    stop = text.rfind(". ", 40, limit)
    if stop > 0:
        return text[: stop + 1]
    return text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:—\u2013-") + "…"


def fenced_lines(lines: Sequence[str]) -> list[bool]:
    """Say of each line whether it belongs to a code block, its fences included.

    A fence that is never closed ends where the next section begins.
    """
    inside = [False] * len(lines)
    opened: int | None = None
    fence = ""
    for index, line in enumerate(lines):
        stripped = line.strip()
        if not stripped.startswith(("```", "~~~")):
            continue
        if opened is None:
            opened, fence = index, stripped[0]
        elif stripped[0] == fence and not stripped.strip(fence):
            inside[opened : index + 1] = [True] * (index + 1 - opened)
            opened = None
    if opened is not None:
        end = next((i for i in range(opened + 1, len(lines)) if _heading(lines[i]) is not None), len(lines))
        inside[opened:end] = [True] * (end - opened)
    return inside


def analysis_lines(lines: Sequence[str], fenced: Sequence[bool]) -> tuple[int, int]:
    """Return the half-open range of line indexes of the analysis; (0, 0) where there is none."""
    end = _summary_start(lines, fenced)
    for index in range(min(end, len(lines))):
        if not fenced[index] and _ANALYSIS.fullmatch(lines[index].strip()):
            return index + 1, end - 1
    return 0, 0


def parts(lines: Sequence[str], fenced: Sequence[bool]) -> tuple[Part, ...]:
    """Find the sections: `1. Title:`, counted upwards, or Markdown headings of one level."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].strip().startswith(_TRAILERS)):
        end -= 1
    candidates = [
        (index, *heading)
        for index in range(_summary_start(lines, fenced), end)
        if not fenced[index] and (heading := _heading(lines[index])) is not None
    ]
    candidates = [one for one in candidates if one[2] is not None] or candidates
    found: list[tuple[int, int, str, str]] = []
    expected = 0
    for index, level, number, title, rest in candidates:
        if found and level != found[0][1]:
            continue
        near = number is not None and 0 <= number - expected <= (99 if _known_role(title) else 2)
        if number is None or not found or near:
            found.append((index, level, title, rest))
            expected = 0 if number is None else number + 1
    ends = [index for index, _, _, _ in found[1:]] + [end] * bool(found)
    return tuple(
        Part(
            title=title,
            role=role_of(title),
            level=level or 1,
            line=index + 1,
            last_line=_last_text(lines, index, stop),
            rest=rest,
        )
        for (index, level, title, rest), stop in zip(found, ends, strict=True)
    )


def role_of(title: str) -> Role:
    """Tell what a section is for."""
    return _known_role(title) or Role.OTHER


def outline(
    lines: Sequence[str], fenced: Sequence[bool], first: int, end: int, lead: str = ""
) -> tuple[Node, ...]:
    """Read the lists and paragraphs of a range of lines.

    Args:
        lines: the whole text.
        fenced: from `fenced_lines`.
        first: index of the first line.
        end: index after the last line.
        lead: text that stands on the heading's own line.
    """
    roots: list[_Draft] = []
    stack: list[_Draft] = []
    joinable = False
    if lead:
        roots.append(_Draft(line=first, indent=0, marker="", words=[lead]))
        stack.append(roots[0])
    for index in range(first, end):
        stripped = lines[index].strip()
        if fenced[index] or not stripped or _RULE.fullmatch(stripped):
            joinable = False
            continue
        indent, marker, text = _split(lines[index], stripped)
        last = stack[-1] if stack else None
        if joinable and last is not None and _continues(last, indent, marker):
            last.words.append(text)
            continue
        draft = _Draft(line=index + 1, indent=indent, marker=marker, words=[text])
        while stack and not _holds(stack[-1], draft):
            stack.pop()
        (stack[-1].children if stack else roots).append(draft)
        stack.append(draft)
        joinable = marker != "#"
    return tuple(draft.node() for draft in roots)


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield every node, parents before their children."""
    for node in nodes:
        yield node
        yield from walk(node.children)


def body(node: Node) -> str:
    """Write a node and all below it as plain text, nested items indented."""
    rows: list[str] = []

    def write(one: Node, depth: int) -> None:
        rows.append("  " * max(depth - 1, 0) + ("- " if depth else "") + plain(one.text))
        for child in one.children:
            write(child, depth + 1)

    write(node, 0)
    return "\n".join(rows)


def _summary_start(lines: Sequence[str], fenced: Sequence[bool]) -> int:
    for index, line in enumerate(lines):
        if not fenced[index] and len(line) < 40 and _SUMMARY.fullmatch(line.strip()):
            return index + 1
    return 0


def _heading(line: str) -> tuple[int, int | None, str, str] | None:
    """Read `## 3. Title:`, `3. **Title**:` or `3. Title: rest` as level, number, title, rest."""
    if len(line) > 2_000:
        return None
    hashes = _HASHES.match(line)
    text = plain(line[hashes.end() :] if hashes else line.rstrip())
    number = _NUMBER.match(text)
    if number is None and hashes is None:
        return None
    if line[:1].isspace():
        return None
    title, _, rest = (text[number.end() :] if number else text).partition(":")
    title = title.strip()
    if not title or len(title) > 80 or not title[0].isupper() or set(title) & set("\"'`“”"):
        return None
    if hashes is None and (rest or not text.endswith(":")) and _known_role(title) is None:
        return None
    return (
        len(hashes.group(1)) if hashes else 0,
        int(number.group(1)) if number else None,
        title,
        rest.strip(),
    )


def _known_role(title: str) -> Role | None:
    lowered = title.casefold()
    return next((role for words, role in _ROLES if words in lowered), None)


def _last_text(lines: Sequence[str], index: int, stop: int) -> int:
    while stop > index + 1 and not lines[stop - 1].strip():
        stop -= 1
    return stop


def _split(line: str, stripped: str) -> tuple[int, str, str]:
    indent = 0
    for character in line[:DEEPEST]:
        if not character.isspace():
            break
        indent += 4 if character == "\t" else 1
    indent = min(indent, DEEPEST)
    stripped = " ".join(stripped.split())
    if hashes := _HASHES.match(stripped):
        return len(hashes.group(1)) - 7, "#", stripped[hashes.end() :]
    if item := _ITEM.match(stripped):
        return indent, "-", stripped[item.end() :]
    if stripped.startswith(">"):
        return indent, ">", stripped[1:].strip()
    return indent, "", stripped


def _continues(last: _Draft, indent: int, marker: str) -> bool:
    if marker == ">":
        return last.marker == ">"
    if marker or last.marker == ">":
        return False
    return indent > last.indent or (last.marker == "" and indent == last.indent)


def _holds(parent: _Draft, child: _Draft) -> bool:
    if parent.indent < child.indent:
        return parent.marker != ">"
    lead_in = parent.marker == "" and parent.words[-1].rstrip("*").endswith(":")
    return lead_in and parent.indent == child.indent and child.marker == "-"
