"""What stands in brackets and behind dashes around a record's words: its tier, status, priority, end."""

from __future__ import annotations

import re
from typing import Any

from forgekit.model.decision import band
from forgekit.text.archive.values import (
    BANDS,
    CONFIDENCE,
    DECISION_STATUS,
    bare,
    parse_priority,
    parse_thread_status,
    parse_tier,
    references,
    word_in,
)

_TICK = "[\u2705\u2713\u2714\u2611]\ufe0f?"
TICKED = re.compile(rf"(?:\[[xX]\]|{_TICK})\s*")
_TRAILING = re.compile(r"\s*(?P<code>(?<=\s)`)?[(\[](?P<inner>[^()\[\]]{0,120})[)\]](?(code)`)\s*$")
_LEADING = re.compile(r"\s*(?:\*\*)?\[([^\[\]]{0,40})\](?:\*\*)?:?\s+")
_BEFORE_DASH = re.compile(
    r"\s*[(\[](?P<inner>(?=[^()]{0,120}\b(?i:tier|confidence)\b)[^()\[\]]{1,120})[)\]](?=\s*[\u2014\u2013:](?:\s|$)|\s+--?\s)"
)
_CONFIDENCE = re.compile(r"confidence:?\s+([a-z]{3,12})|([a-z]{3,12})\s+confidence", re.IGNORECASE)
_BRACKETS_LIMIT = 8
_ENDED = (
    "resolved|done|closed|completed?|answered|settled|fixed|superseded|abandoned|dropped|cancell?ed|wontfix"
)
_ENDED_INSIDE = re.compile(
    rf"(?P<word>{_ENDED})(?=\s*[:,;\u2013\u2014-]|\s+(?:in|as|via|with|on|by(?=\s+[DT]\d))\s)(?P<said>.*)$",
    re.IGNORECASE,
)
_DASH = r"(?:[\u2014\u2013]|(?<=\s)--?(?=\s))\s{0,3}"
# Behind a dash in capitals or as the last word: a title may speak of what is done.
_ENDS = tuple(
    re.compile(rf"\s{{0,3}}{mark}(?P<said>.*)$")
    for mark in (
        rf"{_DASH}(?P<word>{_ENDED.upper()})\b",
        rf"(?:{_TICK}|(?<=\S)~~)[\s\u2014\u2013:-]{{0,4}}\*{{0,2}}[\[(]?(?P<word>(?i:{_ENDED}))\b",
        rf"\*\*[\[(]?(?P<word>(?i:{_ENDED}))(?=\s*[:\])\u2014\u2013-]|\*\*)",
        rf"{_DASH}(?P<word>(?i:{_ENDED}))[.!]?(?=\s*$)",
        rf"(?:{_TICK}|(?<=\S)~~)(?P<word>)(?=\s*$)",
    )
)
_SPLIT = re.compile(r"[,;]")


def annotated(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Split `title [OPEN] (high, blocked by T001)` and `title — RESOLVED: so` into title and fields.

    Args:
        text: what stands behind the id.
        kind: D, T or A; a decision's statuses are others than a thread's.
    """
    fields: dict[str, Any] = {}
    leading = _LEADING.match(text)
    if leading and (told := _annotation(leading.group(1), kind)):
        fields.update(told)
        text = text[leading.end() :]
    tick = TICKED.match(text) if kind == "T" else None
    if tick is not None:
        text = text[tick.end() :]
    for _ in range(_BRACKETS_LIMIT):
        match = _TRAILING.search(text[-200:])
        told = _annotation(match["inner"], kind) if match else {}
        if match is not None and not told and kind == "T" and (ended := _ENDED_INSIDE.match(match["inner"])):
            told = _end_of(ended)
        if match is not None and told:
            text = text[: len(text) - len(match.group())]
        elif kind == "T" and (end := _end_in(text)):
            text, told = end
        else:
            break
        fields = {**told, **fields}
    if tick is not None:
        fields.setdefault("status", "resolved")
    for match in _BEFORE_DASH.finditer(text) if kind == "D" else ():
        if told := _annotation(match["inner"], kind):
            text, fields = text[: match.start()] + text[match.end() :], {**told, **fields}
            break
    return text.strip(), fields


def noted(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Split a bracket between an id and its words into what is none of the fields, and the fields."""
    inner = text.strip(" ()[]")
    if told := _annotation(inner, kind):
        return "", told
    parts = [part.strip() for part in _SPLIT.split(inner)]
    known = [part for part in parts if _annotation(part, kind)]
    if told := _annotation(", ".join(known), kind):
        return ", ".join(part for part in parts if part and part not in known), told
    return inner, {}


def _end_in(text: str) -> tuple[str, dict[str, Any]] | None:
    """Split a thread's title from the mark of an end behind it."""
    for pattern in _ENDS:
        if (match := pattern.search(text)) and (title := text[: match.start()].removeprefix("~~").strip()):
            return title.removesuffix("~~"), _end_of(match)
    return None


def _end_of(match: re.Match[str]) -> dict[str, Any]:
    said = match["said"].lstrip(" *:;,.\u2013\u2014-").rstrip(" *")
    if said.count(")") > said.count("(") or said.count("]") > said.count("["):
        said = said[:-1]
    return {"status": match["word"] or "resolved", **({"resolution": said} if said.strip("])") else {})}


def _annotation(inner: str, kind: str) -> dict[str, Any]:
    """Return the fields of a bracket, or {} when any part of it is something else."""
    fields: dict[str, Any] = {}
    blockers = re.match(r"(.*?)\bblocked (?:by|on):?\s*(.+)$", inner.strip(), re.IGNORECASE)
    if blockers:
        if not references(blockers.group(2)) and "#" not in blockers.group(2):
            return {}
        fields["blocked by"] = re.sub(r"#(\d{1,3})", lambda m: f"OT{int(m[1]):03d}", blockers.group(2))
        inner = blockers.group(1)
    for part in filter(None, (bare(part) for part in _SPLIT.split(inner))):
        told = _told_of_decision(part) if kind == "D" else {}
        told = told or _told(part, kind)
        if not told:
            return {}
        fields.update(told)
    named_band = fields.pop("band", "")
    if named_band and not _lies_in(fields.setdefault("tier", named_band), named_band):
        return {}
    return fields


def _lies_in(tier: str, named_band: str) -> bool:
    try:
        number, _ = parse_tier(tier)
    except ValueError:
        return False
    return number is not None and band(number).value == named_band


def _told_of_decision(part: str) -> dict[str, Any]:
    """Return the band or the confidence that one part of a bracket names."""
    words = part.casefold().split()
    if words[0] in BANDS and words[1:] in ([], ["tier"]):
        return {"band": words[0]}
    sure = _CONFIDENCE.fullmatch(part)
    word = (sure[1] or sure[2]) if sure else ""
    return {"confidence": word} if word_in(word, CONFIDENCE) else {}


def _told(part: str, kind: str) -> dict[str, Any]:
    """Return the field that one part of a bracket names, or {}."""
    tier = re.fullmatch(r"(0?\.\d{1,6}|1\.0{1,6})|tier:?\s*(\d?\.\d{1,6}|[0-3])", part, re.IGNORECASE)
    turn = re.fullmatch(r"turn:?\s*(\d{1,6})", part, re.IGNORECASE)
    words = part.casefold().split()
    status = word_in(part, DECISION_STATUS) if kind == "D" else parse_thread_status(part)[0]
    if tier:
        return {"tier": tier.group(1) or tier.group(2)}
    if turn:
        return {"turn": turn.group(1)}
    if len(words) <= 2 and words[-1] in ("priority", words[0]) and parse_priority(words[0]):
        return {"priority": words[0]}
    if (len(words) <= 2 and status) or (words[:2] == ["superseded", "by"] and references(part)):
        return {"status": part}
    if words[0] in ("supersedes", "revises", "replaces") and references(part):
        return {"revises": part}
    return {}
