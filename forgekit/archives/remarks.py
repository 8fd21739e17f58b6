"""Fields that stand in other lines than their records', which those name by id, or in a decision's words.

`D2 rests on D1`, `For L-1: a demonstration` below `Options we turned down`, `Very sure: D1, D2`; `Use tin
instead of felt`. In: a page whose records were read. Each field is given to the record unless it has one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forgekit.archives.claims import (
    ANY_ID,
    MADE,
    OWN_FIELDS,
    Claim,
    ClaimList,
    ascii_of,
    bare,
    key_of,
    make_claim,
    references,
)
from forgekit.archives.labels import CONFIDENCE, JOINING, field_named, leading, priority_of, title_words
from forgekit.archives.layout import introductions, title_of_list
from forgekit.archives.notes import stated_beside
from forgekit.archives.records import DECORATION, Page, end_of, labelled
from forgekit.model.archive_record import Family

_NAMES = re.compile(
    rf"(?P<lead>(?:[^\W\d_]+\s+){{0,3}}){DECORATION.pattern}(?P<id>{ANY_ID})(?P<behind>(?=\W|$).*)"
)
_CLAUSES = re.compile(
    rf"(?:(?<=[.;])\s+|,\s+(?:[^\W\d_]{{1,3}}\s+)?)(?={DECORATION.pattern}{ANY_ID}\s+[^\W\d_])"
)
_REJECTS = re.compile(
    r"(?<=\w)[\s*_]+(?:"
    + "|".join(
        re.escape(label).removesuffix("e") + (r"(?:e\s+|['\u2019])" if label.endswith("que") else r"\w?\s+")
        for label, name in JOINING["D"].items()
        if name == "alternatives"
    )
    + ")"
)
"""A label that joins an alternative without a colon, behind other words."""
_CLAUSE_END = re.compile(r"\s*(?:[,;:(]|\.(?:\s|$)|\s[\u2013\u2014-]\s)")
_MOST_WORDS = 8
_WORD = re.compile(r"[^\W\d_]{4}")
_ITEM = re.compile(r"[\s>]*(?:[-*+\u2022](?=\s)|\d{1,3}[.)])?")
_LONGEST = 400  # characters of a line


def add_remarks(page: Page) -> None:
    """Add to the records of a page what lines beside them state of them."""
    claims = page.found.claims
    by_key = {key_of(claim.local_id): claim for claim in reversed(claims) if claim.kind in ("D", "T")}
    lines, sections = page.document.lines, page.document.sections
    titles, headings = introductions(lines), {section.heading_line: section.title for section in sections}
    begun = {claim.line for claim in by_key.values() if not MADE.fullmatch(claim.local_id)}
    begun |= headings.keys()
    of_claims = {claim.line for claim in claims}
    title = ""
    for number, line in enumerate(lines, 1):
        title = headings.get(number, title)
        if not by_key or not line.strip() or not page.own[number - 1] or number in begun:
            continue
        above = title_of_list(number, titles, lines) or title
        is_used = False
        for claim, raw in _remarks(_ITEM.sub("", line[:_LONGEST], count=1).strip(), above, by_key):
            is_used |= _add(claim, raw, number)
        if is_used and number in of_claims:  # what was taken for a record there is none
            wrong = {repr(str(each.values.get("text", ""))) for each in claims if each.line == number}
            claims[:] = [each for each in claims if each.line != number]
            page.found.tagged[:] = [name for name in page.found.tagged if name not in wrong]


def _remarks(line: str, above: str, by_key: Mapping[str, Claim]) -> Iterator[tuple[Claim, Mapping[str, Any]]]:
    """Yield the records that a line names, with the fields that it gives them."""
    label, value = labelled(line.replace("*", "").lstrip("_"))
    ids = references(value) if label else ()
    if ids and not references(label) and not _WORD.search(_without(value, ids)):
        for named in filter(None, (by_key.get(key_of(each)) for each in ids)):
            if raw := _rating(label.strip(" *_"), named.kind):
                yield named, raw
        return
    for clause in _CLAUSES.split(line):
        match = _NAMES.match(ascii_of(clause), end_of(DECORATION, clause, 0))
        claim = by_key.get(key_of(match["id"])) if match else None
        if match is None or claim is None:
            continue
        lead, behind = clause[match.start("lead") : match.end("lead")], clause[match.start("behind") :]
        words = behind.strip(" \t*_:.\uff1a\u2013\u2014-")
        stated = stated_beside(words, claim.kind, claim.local_id) if not lead else ("", {})
        if stated[1] and not stated[0]:
            yield claim, stated[1]
        elif words and behind.lstrip("*_ )")[:1] in {":", "\uff1a"}:
            name = _field_in(lead, claim.kind) or _field_in(above, claim.kind)
            if name:
                yield claim, {name: words}


def add_rejected(claims: Iterable[Claim]) -> None:
    """Give each decision without alternatives the one that its words name: `Use tin instead of felt`."""
    for claim in claims:
        is_data = claim.family in (Family.MACHINE, Family.YAML)  # their fields are all there
        if claim.kind == "D" and not is_data and not claim.values.get("alternatives"):
            found = _rejected_in(str(claim.values.get("text", "")))
            claim.values |= {"alternatives": (found,)} if found else {}


def _rejected_in(words: str) -> str:
    """Return what words say is not done, "" where they say nothing of it."""
    plain = "".join(unicodedata.normalize("NFD", c)[0] for c in words.lower())  # as long as the words
    match = _REJECTS.search(plain) if len(plain) == len(words) else None
    if match is None:
        return ""
    end = _CLAUSE_END.search(words, match.end())
    rejected = words[match.end() : end.start() if end else None].strip(' *_`"')
    return rejected if 0 < len(rejected.split()) <= _MOST_WORDS else ""


def _without(text: str, ids: tuple[str, ...]) -> str:
    return re.sub("|".join(map(re.escape, ids)), " ", text)


def _rating(label: str, kind: str) -> Mapping[str, Any]:
    """Return the field that a label over ids gives them: `Very sure: D1, D2`."""
    if kind == "T":
        return {"priority": label} if priority_of(label) else {}
    return {"confidence": label} if leading(label, CONFIDENCE)[0] is not None else {}


def _field_in(title: str, kind: str) -> str:
    """Return the field of a kind that words of a title name: `Options we turned down`."""
    words = title_words(bare(title)).split()[:8]
    spans = (words[at : at + size] for size in (3, 2, 1) for at in range(len(words)))
    names = (field_named(" ".join(span), kind) for span in spans)
    return next((name for name in names if name in OWN_FIELDS[kind]), "")


def _add(claim: Claim, raw: Mapping[str, Any], line: int) -> bool:
    """Give a record the fields that it lacks; say whether it lacked one."""
    made = make_claim(ClaimList(), claim.local_id, raw, line, Family.PROSE, kind=claim.kind)
    new = {name: value for name, value in (made.values if made else {}).items() if not claim.values.get(name)}
    claim.values |= new
    return bool(new)
