"""Other markup written as Markdown: HTML blocks, tables of one record, ids in code behind a record's words.

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
_FEWEST = 2


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
