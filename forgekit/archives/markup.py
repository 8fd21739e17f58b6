"""Other markup written as Markdown: HTML blocks, diffs, data between sentences, cards, ids behind words.

Each function changes lines in place; a line stays where it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from forgekit.archives.claims import ANY_ID

_BLOCK = re.compile(r"\s*(?:</?[a-z]+>\s*)*<(?P<name>h[1-6]|li|d[td])\b[^<>]*>", re.IGNORECASE)
_ITEMS = {"li": "- ", "dt": "- ", "dd": "  - "}
_INLINE = re.compile(r"</?(?P<name>[a-z]+[1-6]?)\b[^<>]*>", re.IGNORECASE)
_MARKS = {"b": "**", "strong": "**", "s": "~~", "del": "~~", "strike": "~~", "code": "`"}
_CARD = re.compile(rf"\s*\|\s*[*_`]*(?P<id>{ANY_ID})[*_`]*\s*\|(?P<title>[^|]*)\|?\s*$")
_RULE = re.compile(r"\s*\|\s*:?-+:?\s*\|\s*:?-+:?\s*\|?\s*$")
_PAIR = re.compile(r"\s*\|(?P<label>[^|]+)\|(?P<value>(?:[^|\\]|\\.)*)\|?\s*$")
_CODE_BEHIND = re.compile(
    r"(?P<head>\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[.\]\s+)?)(?P<words>(?P<mark>\*\*|~~)[^*~`]+(?P=mark))"
    r"\s*`(?P<id>[A-Za-z]{1,6}[-_.]?(?:\d{1,4}|[A-Z]))`"
)
_DIFF = re.compile(r"(?:```|~~~)\s*diff\s*$")
_CHANGED = re.compile(rf"[+~=-] ?(?={ANY_ID}\b|#\d)")
_MEANT = {"-": " (withdrawn)", "~": " (revised)"}
_SHUT = {"{": "}", "[": "]"}
_FEWEST = 2


def open_diffs(lines: list[str]) -> None:
    """Write each fenced diff with several records as their text: added, reworded and removed ones."""
    start = -1
    for number, line in enumerate(lines):
        if start < 0 and _DIFF.match(line):
            start = number
        elif start >= 0 and line.strip() in ("```", "~~~"):
            begun = [n for n in range(start + 1, number) if _CHANGED.match(lines[n])]
            if len(begun) >= _FEWEST:
                lines[start] = lines[number] = ""
                for each in begun:
                    lines[each] = lines[each][1:].lstrip() + _MEANT.get(lines[each][0], "")
            start = -1


def fence_data(lines: list[str], outside: Sequence[int]) -> None:
    """Write the empty lines around JSON between sentences as a fence."""
    start = -1
    for number in outside:
        if start < 0 and lines[number].rstrip() in ("{", "[") and number and not lines[number - 1].strip():
            start = number
        elif start >= 0 and lines[number].rstrip() == _SHUT[lines[start].rstrip()]:
            if number + 1 < len(lines) and not lines[number + 1].strip() and number > start + _FEWEST:
                lines[start - 1], lines[number + 1] = "```json", "```"
            start = -1


def write_html(lines: list[str], outside: Sequence[int]) -> None:
    """Write headings, items and definitions of HTML as those of Markdown."""
    for number in outside:
        if match := _BLOCK.match(lines[number]):
            name = match["name"].casefold()
            lead = _ITEMS.get(name) or f"{'#' * int(name[1])} "
            lines[number] = lead + _INLINE.sub(_mark, lines[number][match.end() :]).strip()


def _mark(match: re.Match[str]) -> str:
    return _MARKS.get(match["name"].casefold(), "")


def open_cards(lines: list[str], outside: Sequence[int]) -> None:
    """Write each table of two columns that is headed by an id as a heading with labelled items."""
    is_card = False
    for place, number in enumerate(outside):
        below = lines[outside[place + 1]] if place + 1 < len(outside) else ""
        line = lines[number]
        if (card := _CARD.match(line)) and _RULE.match(below):
            title = f": {card['title'].strip()}" if card["title"].strip() else ""
            lines[number], is_card = f"### {card['id']}{title}", True
        elif is_card and _RULE.match(line):
            lines[number] = ""
        elif is_card and (pair := _PAIR.match(line)):
            lines[number] = f"- {pair['label'].strip()}: {pair['value'].strip()}"
        else:
            is_card = False


def put_ids_first(lines: list[str], outside: Sequence[int]) -> None:
    """Write an id in code behind the emphasised words of an item before them, if several items have one."""
    found = {number: match for number in outside if (match := _CODE_BEHIND.match(lines[number]))}
    series = Counter(_series(match["id"]) for match in found.values())
    for number, match in found.items():
        if series[_series(match["id"])] >= _FEWEST:
            behind = lines[number][match.end() :]
            lines[number] = f"{match['head']}{match['id']}: {match['words']}{behind}"


def _series(local_id: str) -> str:
    return re.sub(r"[-_.]?(?:\d+|[A-Z])$", "", local_id)
