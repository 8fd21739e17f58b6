"""What the tagger finds beside the records that were found by id, label or table: more records, more fields.

In: the page after its records were read. Out: claims. A record that both found keeps what stands under a
known label; the tagger fills the fields that have no value yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from forgekit.archives.claims import (
    LOCAL_ID,
    Claim,
    ascii_of,
    key_of,
    kind_of,
    make_claim,
    parse_decision_status,
    parse_priority,
    parse_thread_status,
    parse_tier,
    references,
)
from forgekit.archives.formats.records import Page, labelled
from forgekit.archives.labels import CONFIDENCE, field_named, leading
from forgekit.archives.grouping import Found, grouped
from forgekit.archives.spans import Span, spans_of
from forgekit.archives.tagger import VALUES
from forgekit.model.archive_record import Family

_LISTS = {
    "why": "rationale",
    "alt": "alternatives",
    "dep": "dependencies",
    "blk": "blocked_by",
    "res": "resolution",
}
_OF_KIND = {"D": {"why", "alt", "dep", "tier", "by"}, "T": {"blk", "res", "prio", "by"}}
_PLACE = re.compile(r"\d+|\w")
"""What may be a record's place in its list as well as its id."""
_FILLED = ("rationale", "tier", "alternatives", "priority", "resolution")
"""Fields that may be filled without a label that is known; ids and states are certain without."""
SURE = 4.0
"""The least margin of a record beside records that have ids; chosen on development archives."""
_COMPARED = 500  # records whose words are compared
_WORDS = re.compile(r"[^\W_]+")


def read_tagged(page: Page, own: Sequence[bool]) -> list[Span]:
    """Add what the tagger finds to the claims of a page; return the facts of the archive that it found.

    Where records have ids, those are the records: the tagger fills their fields, and adds what it is surest
    of. Elsewhere it says which the records are.

    Args:
        page: after its records were read.
        own: the lines that the tagger may read, data in fences included.
    """
    tables = {row.line: 1 for node in page.document.nodes if node.kind == "table" for row in node.children}
    found, facts = grouped(spans_of(page.document.lines, own), page.document.lines, tables)
    claims, unnumbered = list(page.found.claims), list(page.found.unnumbered)
    by_id = bool(claims)  # those without ids are not among them
    if not by_id and found:
        page.found.claims.clear()
        page.found.unnumbered.clear()
        page.taken.clear()
    known = _Known(claims, unnumbered)
    restated = [known.same(each, _id_of(each), _kind_of(each)) for each in found]
    if not by_id and 2 * len({id(each) for each in restated if each}) >= len(unnumbered):
        seen = {id(each) for each in restated}
        page.found.unnumbered += [each for each in unnumbered if id(each) not in seen]
    referred = {key_of(name) for each in found for span in each.fields for name in _named(span)}
    for each, same in zip(found, restated, strict=True):
        local_id, kind, line = _id_of(each), _kind_of(each), each.words.line
        raw = _fields(each, kind)
        if by_id and isinstance(same, Claim):
            cells = tables if same.family in (Family.TABLE, Family.INDEX) else {}
            spans = [span for span in each.fields if span.margin >= SURE and span.line not in cells]
            spans = [span for span in spans if not _is_labelled(page.document.lines[span.line - 1], kind)]
            sure = _fields(replace(each, fields=spans), kind)
            kept = str(same.values.get("context") or same.values.get("content") or "")
            missing = {
                name: sure[name]
                for name in _FILLED
                if name in sure and not _has(same, name) and not _within(sure[name], kept)
            }
            if missing and "entity" in same.values:
                missing |= {name: same.values[name] for name in ("entity", "text")}
            if missing:
                make_claim(page.found, same.local_id, missing, same.line, Family.PROSE, kind=same.kind)
        elif by_id and (each.words.margin < SURE or line in page.taken or same):
            continue
        else:
            raw["text"] = each.words.text
            if same is not None:
                raw |= known.labelled(same)
                raw["text"] = _shorter(each.words.text, known.text(same))
            if local_id and (not _PLACE.fullmatch(local_id) or key_of(local_id) in referred):
                make_claim(page.found, local_id, raw, line, Family.PROSE, kind=kind)
            else:
                page.found.unnumbered.append((line, kind, raw, local_id))
        spans = [each.words, *each.fields]
        page.taken.update(line for span in spans for line in range(span.line, span.last + 1))
    page.found.unnumbered.sort(key=lambda record: record[0])
    return facts


def _named(span: Span) -> tuple[str, ...]:
    """Return the ids that a field names."""
    return references(span.text) if span.tag in ("dep", "by", "blk") else ()


def _has(claim: Claim, name: str) -> bool:
    names = ("tier", "confidence") if name == "tier" else (name,)
    return any(claim.values.get(each) not in (None, "", ()) for each in names)


def _is_labelled(line: str, kind: str) -> bool:
    """Say whether a line begins with a known label, so that its value was read."""
    return field_named(labelled(line.lstrip(" \t-*+>"))[0], kind) is not None


def _within(value: str | list[str], kept: str) -> bool:
    """Say whether words were kept in the record's text already."""
    return any(part in kept for part in (value if isinstance(value, list) else [value]))


def _shorter(words: str, other: str) -> str:
    """Return the shorter one of two readings of a text where one holds the other."""
    return other if other and other in words else words


Unnumbered = tuple[int, str, Mapping[str, Any], Any]


class _Known:
    """The records that were found otherwise, by id, line and words."""

    def __init__(self, claims: Sequence[Claim], unnumbered: Sequence[Unnumbered]) -> None:
        self._by_id = {(claim.kind, key_of(claim.local_id)): claim for claim in reversed(claims)}
        texts: list[tuple[Claim | Unnumbered, int, Any]] = [
            (claim, claim.line, claim.values.get("text", "")) for claim in claims
        ]
        texts += [(each, each[0], each[2].get("text", "")) for each in unnumbered]
        self._by_line = {line: known for known, line, _ in reversed(texts)}
        self._texts = [(known, _word_set(str(text))) for known, _, text in texts[:_COMPARED]]

    def same(self, each: Found, local_id: str, kind: str) -> Claim | Unnumbered | None:
        """Return what was found about the same record."""
        found = self._by_id.get((kind, key_of(local_id))) if local_id else None
        if known := found or self._by_line.get(each.words.line):
            return known
        words = _word_set(each.words.text)
        return next((known for known, others in self._texts if _alike(words, others)), None)

    @staticmethod
    def text(same: Claim | Unnumbered) -> str:
        """Return the words that were found."""
        return str((same.values if isinstance(same, Claim) else same[2]).get("text", ""))

    @staticmethod
    def labelled(same: Claim | Unnumbered) -> dict[str, Any]:
        """Return the fields that were found under known labels, as they were written."""
        raw = {} if isinstance(same, Claim) else same[2]
        return {name: value for name, value in raw.items() if name not in ("text", "status") and value}


def _word_set(text: str) -> set[str]:
    return {word.casefold() for word in _WORDS.findall(text[:500])}


def _alike(words: set[str], others: set[str]) -> bool:
    common = len(words & others)
    return 3 * common >= 2 * min(len(words), len(others)) > 0 and 2 * common >= max(len(words), len(others))


def _id_of(each: Found) -> str:
    """Return a record's id, in the shape of an id if its line holds one there."""
    return ascii_of(each.id).strip("#[]().:* ") if each.id else ""


def _kind_of(each: Found) -> str:
    """Return the kind: an id of known letters says it for certain."""
    local_id = _id_of(each)
    said = kind_of(local_id) if LOCAL_ID.fullmatch(local_id) else ""
    return said if said in ("D", "T") else each.kind


def _fields(each: Found, kind: str) -> dict[str, Any]:
    """Return the fields of a record under the names of claims."""
    raw: dict[str, Any] = {}
    for tag, name in _LISTS.items():
        spans = each.all(tag) if tag in _OF_KIND[kind] else []
        if spans and tag in ("alt", "blk"):
            raw[name] = [span.text for span in spans]
        elif spans:
            raw[name] = (", " if tag == "dep" else " ").join(span.text for span in spans)
    for span in each.all("tier")[:1] if kind == "D" else ():
        raw["tier"] = _tier(span)
    for span in each.all("prio")[:1] if kind == "T" else ():
        raw["priority"] = span.text if parse_priority(span.text) else span.value
    if by := [name for span in each.all("by") for name in references(span.text)]:
        raw["superseded_by"] = by[0]
    if status := _status(each, kind):
        raw["status"] = status
    if notes := [span.text for span in each.all("note")]:
        raw["context" if kind == "D" else "content"] = "\n".join(notes)
    return raw


def _tier(span: Span) -> str:
    """Return a tier that can be read: as it is written, else what its words seem to mean."""
    try:
        parse_tier(span.text)
    except ValueError:
        sure = leading(span.text, CONFIDENCE)[0]
        return span.value if sure is None else str(sure)
    return span.text


def _status(each: Found, kind: str) -> str:
    """Return the state of a record: a word that is known, else what the words around it seem to mean."""
    for span in each.all("state"):
        known = parse_decision_status(span.text) if kind == "D" else parse_thread_status(span.text)[0]
        if known is not None:
            return str(known.value)
        if span.value in VALUES[kind]:
            return span.value
    return each.words.value if each.words.tag == kind else ""
