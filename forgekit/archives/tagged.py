"""What the tagger finds beside the records that were found by id, label or table: more records, more fields.

In: the page after its records were read. Out: claims. A record that both found keeps what stands under a
known label; the tagger fills the fields that have no value yet.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from forgekit.archives.claims import (
    LOCAL_ID,
    Claim,
    ClaimList,
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
from forgekit.archives.grouping import PLACE, Found, grouped
from forgekit.archives.labels import CONFIDENCE, field_named, leading
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
_FILLED = ("rationale", "tier", "alternatives", "dependencies", "priority", "blocked_by", "resolution")
"""Fields that may be filled without a label that is known; ids and states are certain without."""
_REFERRING = ("dependencies", "blocked_by")
"""Fields that are certain only where a record is more than a part of a sentence."""
_WHOLE = {Family.MACHINE, Family.YAML}
"""Families whose records have nothing beside their own fields."""
_BESIDE = 12  # characters beside a value on its line that say nothing more
SURE = 4.0
"""The least margin of a record beside records that have ids; chosen on development archives."""
_COMPARED = 500  # records whose words are compared
_WORDS = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?![\w.,%])")


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
        if by_id and isinstance(same, Claim):
            _fill(page, same, each)
        elif by_id and (each.words.margin < SURE or each.words.line in page.taken or same):
            continue
        else:
            _register(page.found, each, known, same, referred)
        spans = [each.words, *each.fields]
        page.taken.update(line for span in spans for line in range(span.line, span.last + 1))
    page.found.unnumbered.sort(key=lambda record: record[0])
    return facts


def _fill(page: Page, claim: Claim, each: Found) -> None:
    """Add to a record what it has not said under a known label."""
    if claim.family in _WHOLE or claim.kind == "A":
        return
    lines, kind = page.document.lines, claim.kind
    spans = [s for s in each.fields if s.margin >= SURE and not _is_labelled(lines[s.line - 1], kind)]
    sure = _fields(replace(each, fields=spans), kind)
    names = [name for name in _FILLED if claim.family is not Family.PROSE or name not in _REFERRING]
    missing = {name: sure[name] for name in names if name in sure and not _has(claim, name)}
    missing = {name: value for name, value in missing.items() if _freed(page.found, claim, value)}
    if missing and "entity" in claim.values:
        missing |= {name: claim.values[name] for name in ("entity", "text")}
    if missing:
        make_claim(page.found, claim.local_id, missing, claim.line, Family.PROSE, kind=kind)


def _register(
    found: ClaimList, each: Found, known: _Known, same: Claim | Unnumbered | None, referred: Collection[str]
) -> None:
    """Add a record, with the values under known labels where the record was found otherwise too."""
    local_id, kind = _id_of(each), _kind_of(each)
    if LOCAL_ID.fullmatch(local_id) and kind_of(local_id) == "A":
        return  # an artifact
    raw = _fields(each, kind) | {"text": each.words.text}
    if same is not None:
        raw |= known.labelled(same)
        raw["text"] = _shorter(each.words.text, known.text(same))
    if local_id and (not PLACE.fullmatch(local_id) or key_of(local_id) in referred):
        make_claim(found, local_id, raw, each.words.line, Family.PROSE, kind=kind)
    else:
        found.unnumbered.append((each.words.line, kind, raw, local_id))


def _named(span: Span) -> tuple[str, ...]:
    """Return the ids that a field names."""
    if span.tag not in ("dep", "by", "blk"):
        return ()
    return references(span.text) or (tuple(_NUMBER.findall(span.text)) if span.tag != "blk" else ())


def _has(claim: Claim, name: str) -> bool:
    names = ("tier", "confidence") if name == "tier" else (name,)
    return any(claim.values.get(each) not in (None, "", ()) for each in names)


def _is_labelled(line: str, kind: str) -> bool:
    """Say whether a line begins with a known label, so that its value was read."""
    return field_named(labelled(line.lstrip(" \t-*+>"))[0], kind) is not None


def _freed(found: ClaimList, claim: Claim, value: str | list[str]) -> bool:
    """Take the lines that hold a value out of a record's text; say whether the value is no part of it now.

    A line whose label was not known was kept there and reported; now it is understood.
    """
    rest = "context" if claim.kind == "D" else "content"
    parts = value if isinstance(value, list) else [value]
    kept: list[str] = []
    for line in str(claim.values.get(rest) or "").split("\n"):
        label, said = labelled(line.removeprefix("- ")) if line.startswith("- ") else ("", "")
        if not any(part in line for part in parts):
            kept.append(line)
        elif label and len(said.strip()) <= len(" ".join(parts)) + _BESIDE:
            named = f"{claim.local_id}: the label {label[:40]!r} is not known"
            found.problems[:] = [each for each in found.problems if not each.message.startswith(named)]
        else:
            return False
    if rest in claim.values:
        claim.values[rest] = "\n".join(kept)
    return True


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
        elif spans and tag == "dep":
            own = key_of(_id_of(each)) if each.id else ""
            parts = (", ".join(_named(span)) or span.text for span in spans)
            raw[name] = ", ".join(part for part in parts if key_of(part) != own)
        elif spans:
            raw[name] = " ".join(span.text for span in spans)
    for span in each.all("tier")[:1] if kind == "D" else ():
        raw["tier"] = _tier(span)
    for span in each.all("prio")[:1] if kind == "T" else ():
        raw["priority"] = span.text if parse_priority(span.text) else span.value
    if by := [name for span in each.all("by") for name in _named(span)]:
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
