"""The legend of an archive: what its signs and short codes mean, written out where they are used.

In: the lines of a text. A legend is a paragraph below such a label, a line that defines two codes with
equals signs, or a line of nothing but signs and what they rate. Each meaning is a field, or the value of one;
where fewer than two signs of a legend mean such a thing, all stays as it is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from forgekit.archives import states
from forgekit.archives.claims import (
    BEGINNING,
    BEGINS_WITH_ID,
    OWN_FIELDS,
    parse_decision_status,
    parse_status,
    parse_thread_status,
    parse_tier,
)
from forgekit.archives.labels import (
    CONFIDENCE,
    KEYS,
    MARKS,
    colour_in,
    fact_named,
    field_named,
    leading,
    lists_kind,
    names_legend,
    priority_of,
)
from forgekit.frozen import frozen
from forgekit.text.frontmatter import Located

_LABEL = re.compile(
    r"[\s>#*_+(\u3010-]*(?P<label>[^\W\d_][^:\uff1a=|]{0,30}?)[*_\s]*(?:[:\uff1a][*_\s]*|\u3011?\s*$)"
)
_COLUMN = re.compile(r"\s*(?:[-*+]\s+)?(?P<sign>\S{1,4})\s{2,}(?=\S)")
_ENTRY = re.compile(
    r"\s*(?:[-*+]\s+)?\(?(?P<sign>\[[^\]\s]{0,4}\]|[`\"\u00ab\u201c][^`\"\u00bb\u201d]{1,8}[`\"\u00bb\u201d]"
    r"|[^\W\d_]{1,3}\d{1,2}|[^\W\d_]{1,4}|[^\w\s,;()\[\]]{1,6})(?P<mark>\s*[=\uff1d:\uff1a\u2192\u2013\u2014]\s*|\s+)(?P<meaning>[^\W_].*)"
)
_PARTS = re.compile(r"\s+[\u00b7\u2022|/]\s+|\s*[;\uff1b\u3001]\s*|,\s+|\uff0c|\s{2,}")
_OPEN = {"[", "(", "\u3014", "\u3010", "\uff08", "\u00b7"}
_QUOTES = '`"\u00ab\u00bb\u201c\u201d'
_NUMBER = re.compile(r"0?[.,]\d+|\d+ ?%")
_KEY = re.compile(
    r"(?<![\w.])(?P<key>[A-Za-z]{1,5})\s?=\s?(?P<words>[^\W\d_][^=,;:()|]{0,30}?)\s*"
    r"(?:\((?P<codes>[^()]{3,200})\)|(?=\s[A-Za-z]{1,5}\s?=|[,;:|]|$))"
)
_CODE = re.compile(r"(?<!\S)([^\s,;]{1,3})[ =:]+([^\W\d_]{2,}(?: [^\W\d_]{2,})*)")
_LONGEST, _FEWEST_KEYS = 2_000, 3
_MOST_SIGNS = 60
_RULES = re.compile(r"[-=_#|~.:+]+")
_VALUES = (*OWN_FIELDS["D"] - {"tier", "confidence"}, "blocked_by", "superseded_by", "resolution")
"""Fields whose value follows a sign."""


@frozen()
class _Meaning:
    """What a sign means: the value of a field, or the field whose value follows; some mean both."""

    value: str = ""
    field: str = ""


def write_out(lines: list[str], outside: Sequence[int]) -> None:
    """Write what the signs of each legend mean in their place, and take the legend away.

    Args:
        outside: the numbers of the lines that nothing quotes.
    """
    shown, found = set(outside), dict[str, _Meaning]()
    for start in outside:
        paragraph = list(_paragraph(lines, start, shown)) if len(found) < _MOST_SIGNS else []
        signs = dict(_signs([lines[number] for number in paragraph]))
        if len(signs) > 1:
            found = signs | found
            for number in paragraph:
                lines[number] = ""
    begun = (BEGINS_WITH_ID.match(lines[number][:BEGINNING]) for number in outside)
    for local_id in {match[1] for match in begun if match} & found.keys():
        del found[local_id]
    if found:
        pattern = re.compile("|".join(map(_place_of, sorted(found, key=len, reverse=True))))
        for number in outside:
            lines[number] = _written(lines[number], pattern, found)


@frozen()
class Keys:
    """What a text says that the short keys of its data mean: `t=text s=state(a active, z thrown out)`.

    Attributes:
        labels: by key.
        values: words by key and value; a key may mean another thing for decisions than for threads.
    """

    labels: Mapping[str, str]
    values: Mapping[tuple[str, str], Sequence[str]]


def keys_of(lines: Iterable[str]) -> Keys:
    """Return the keys that the lines beside data explain, if they name several fields."""
    labels: dict[str, str] = {}
    values: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in lines:
        pairs = list(_KEY.finditer(line[:_LONGEST])) if "=" in line else []
        if sum(_names_field(pair["words"]) for pair in pairs) < _FEWEST_KEYS:
            continue
        for pair in pairs:
            if _names_field(pair["words"]) or fact_named(pair["words"]):
                labels.setdefault(pair["key"], pair["words"])
            for value, words in _CODE.findall(pair["codes"] or ""):
                values[pair["key"], value].append(words)
    return Keys(labels, values)


def keys_in(document: Any) -> Keys | None:
    """Return the keys that a mapping in data explains: `legend: {t: text, w: why}`."""
    for name, value in document.items() if isinstance(document, Located) else ():
        pairs = list(value.items()) if isinstance(value, Located) else []
        labels = {key: words for key, words in pairs if isinstance(words, str) and _names_field(words)}
        is_legend = names_legend(name) or 2 * len(labels) > len(pairs)
        if len(labels) >= _FEWEST_KEYS and is_legend and 2 * sum(map(_names_field, labels)) < len(labels):
            named = {key: words for key, words in pairs if isinstance(words, str)}
            return Keys(named, {})
    return None


def _names_field(words: str) -> bool:
    return any(field_named(words, kind) for kind in "DT")


def written_keys(value: Any, keys: Keys | None) -> Any:
    """Return data with what its keys, and their values, mean."""
    if keys is None or not keys.labels:
        return value
    if isinstance(value, list):
        return [written_keys(each, keys) for each in value]
    if not isinstance(value, Located):
        return value
    labels = {key: keys.labels.get(key, key) for key in value}
    kinds = "TD" if any(field_named(label, "T") in OWN_FIELDS["T"] for label in labels.values()) else "DT"
    found = Located(value.line)
    for key, each in value.items():
        words = keys.values.get((key, str(each)), ())
        stated = (word for kind in kinds for word in words if parse_status(word, kind))
        found[labels[key]] = next(stated, next(iter(words), written_keys(each, keys)))
    return found


def _paragraph(lines: Sequence[str], start: int, shown: set[int]) -> Iterator[int]:
    """Yield the lines of the legend that begins at a line."""
    first = lines[start][:500]
    label = _LABEL.match(first)
    is_named = label is not None and names_legend(label["label"])
    if not is_named:
        if _defines(first) or _rates(first):
            yield start
        return
    yield start
    is_open = label is not None and not first[label.end() :].strip()
    for number in range(start + 1, len(lines)):
        text = lines[number].strip()
        if number not in shown or text[:1] == "#" or (not text and not is_open):
            return
        if text and not (list(_entries(text)) or lines[number][:2].isspace()):
            return
        is_open = is_open and not text
        yield number


def _defines(line: str) -> bool:
    """Say whether a line defines codes with equals signs, and does nothing else."""
    parts = [part for part in _PARTS.split(line.strip(" ()*_")) if part]
    return len(parts) > 1 and all(
        (entry := _ENTRY.match(part)) and entry["mark"].strip() in {"=", "\uff1d"} for part in parts
    )


def _rates(line: str) -> bool:
    """Say whether a line is nothing but signs, each with a priority or state: `! low, !! high`."""
    entries = [_ENTRY.fullmatch(part) for part in _PARTS.split(line.strip(" ()*_")) if part]
    return len(entries) > 1 and all(
        entry and not entry["sign"][0].isalnum() and priority_of(entry["meaning"]) for entry in entries
    )


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the signs that a line of a legend defines, with the words of their meanings."""
    for part in _PARTS.split(_COLUMN.sub(r"\g<sign> = ", text[:1_000], count=1)):
        entry = _ENTRY.match(part)
        sign = entry["sign"].strip(_QUOTES) if entry else ""
        if entry is None or not sign or _RULES.fullmatch(sign):
            continue
        if any(character in MARKS or colour_in(character) for character in sign):
            continue  # every reader knows it, for decisions and for threads
        if entry["mark"].strip() or not sign[0].isalnum():
            yield sign, entry["meaning"].strip(" .*_)")


def _signs(lines: Sequence[str]) -> Iterator[tuple[str, _Meaning]]:
    for line in lines:
        label = _LABEL.match(line[:200])
        entry = _ENTRY.fullmatch(line[: label.end()].lstrip("-* ")) if label else None
        named = label["label"] if label and not (entry and entry["mark"].strip()) else ""
        rated = field_named(named, "D") or field_named(named, "T") or ""
        entries = list(_entries(line[label.end() :] if label and named else line))
        longest = max((len(sign) for sign, _ in entries), default=0)
        is_scale = longest > 1 and len({character for sign, _ in entries for character in sign}) == 1
        for sign, text in entries:
            if rated == "priority" or priority_of(text):
                yield sign, _Meaning(f"(priority: {text})")
            elif is_scale:
                yield sign, _Meaning(f"(confidence: {len(sign)}/{longest})")
            elif rated in ("tier", "confidence") or _is_tier(text):
                number = _NUMBER.search(text)
                yield sign, _Meaning(f"(confidence: {number.group() if number else text})")
            elif meaning := _meaning(text):
                yield sign, meaning


def _meaning(text: str) -> _Meaning | None:
    """Return the field or state that words name."""
    named = [found for kind in "DT" if (found := leading(text, KEYS[kind])[0]) in _VALUES]
    stated = parse_decision_status(text) or parse_thread_status(text)[0]
    state = stated.value if stated else ""
    if not state and not named:
        state = states.clear_state(text, "D") or states.clear_state(text, "T")
    return _Meaning(f"[{state}]" if state else "", str(named[0]) if named else "") if state or named else None


def _is_tier(text: str) -> bool:
    try:
        return parse_tier(text)[0] is not None
    except ValueError:
        return leading(text, CONFIDENCE)[0] is not None


def _place_of(sign: str) -> str:
    """Return the pattern of a sign that is a word of its own."""
    if sign[0].isalnum():
        return rf"(?<![^\W_]){re.escape(sign)}(?![^\W_])"
    return (
        rf"(?<![^\s\[(|]){re.escape(sign)}(?![^\s\])|*])" if sign.isascii() else rf"{re.escape(sign)}\ufe0f?"
    )


def _written(line: str, pattern: re.Pattern[str], found: Mapping[str, _Meaning]) -> str:
    """Return a line with what its signs mean; a heading of a list names that itself."""
    if line[:1] == "#" and any(lists_kind(line.lstrip("# "), kind) for kind in "DT"):
        return line

    def written(match: re.Match[str]) -> str:
        sign = match.group().removesuffix("\ufe0f") if match.group() not in found else match.group()
        meaning = found.get(sign) or found[f"{sign}\ufe0f"]
        before = line[: match.start()].strip(" \t*+->")
        is_cell = before[-1:] == "|" and line[match.end() :].lstrip()[:1] == "|"
        if meaning.value and not (meaning.field and before and not is_cell):
            return meaning.value.strip("[]()") if before[-1:] in _OPEN else meaning.value
        parted = "" if before[-1:] in {"", "|", "(", ";", "."} else "; "
        return f"{parted}{meaning.field}: "

    return pattern.sub(written, line)
