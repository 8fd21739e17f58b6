"""What the tagger finds: records that have no id, and the words and fields of those that have one.

In: the page after its records were found by id, label or table. Out: claims. Known labels go first: the
tagger gives a record its words and the fields that no label gave it; what is neither stays in its text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise, takewhile
from math import exp, inf
from typing import Any

from forgekit.archives.claims import (
    ANY_ID,
    LOCAL_ID,
    ONLY_STARS,
    OWN_FIELDS,
    REST,
    SEMICOLONS,
    Claim,
    Unnumbered,
    ascii_of,
    bare,
    is_none,
    items,
    key_of,
    keys_in,
    kind_of,
    make_claim,
    named_fields,
    not_known,
    parse_priority,
    parse_status,
    parse_tier,
    references,
    series_of,
)
from forgekit.archives.columns import TAG_OF_WORDS, column_of, with_columns
from forgekit.archives.grouping import PLACE, Found, grouped
from forgekit.archives.labels import (
    CONFIDENCE,
    STATES,
    colour_in,
    fact_named,
    field_named,
    leading,
    lists_kind,
    names_kind,
    state_of_label,
)
from forgekit.archives.layout import (
    introductions,
    is_item,
    title_of_list,
    with_headings,
    with_lists,
    with_series,
)
from forgekit.archives.notes import fields_of_note, split_labels
from forgekit.archives.records import Page, labelled
from forgekit.archives.spans import Span, spans_of
from forgekit.archives.states import SUBJECT, end_noted
from forgekit.archives.tagger import VALUES
from forgekit.model.archive_record import Family, PossibleRecord, Section, StateClause
from forgekit.model.entities import DecisionStatus, ThreadStatus
from forgekit.model.kinds import is_short
from forgekit.model.problem import Problem
from forgekit.model.rules import one_line, statement

_UNSAID = (None, DecisionStatus.ACTIVE.value, ThreadStatus.OPEN.value)
"""States that a record may have without a word of its own."""
_VAGUE: Mapping[str, Collection[str | None]] = {"D": (None,), "T": (None, "context", "content")}
"""What a label names whose words may hold fields of their own."""
_NO_ROW: tuple[Sequence[str], Sequence[str]] = ((), ())
_NAMING = ("dependencies", "superseded_by", "revises", "blocked_by")
"""Fields that name records; the head of a column gives them to a record, whatever its cell seems to be."""
_FIELDS = ("status", "tier", "confidence", "priority", *_NAMING)
"""Fields whose words are no record of their own."""
_WHOLE = {Family.MACHINE, Family.YAML}
"""Families whose records have nothing beside their own fields."""
_NO_REFERENCE = ("tier", "prio", "why", "note")
"""Tags of fields that no id is."""
_SURE_BESIDE, _SURE_BESIDE_DATA = 2.0, 4.0
"""The least margin of a record without an id beside records that have ids, and beside a log, whose records
prose repeats in other words; chosen, as all margins, on development archives."""
_SURE_FIELD = 2.0
"""The least margin of an answer, or of what replaced a decision, that changes a record's state."""
_LEAST_SURE, _SURE_ENOUGH = {"tier": 3.0, "alt": 1.0}, 0.5
"""The least margins of fields of a record that was found by its id, and that of all others."""
_SURE_WITH_ID, _SURE_BEGUN, _SURE_ALONE = 1.0, 0.6, 0.3
"""The least margin of a record with an id of its own, of one whose id begins a line, and of one in an archive
without ids or that a heading or a label announces. Beside records that have ids, a person is asked about what
reaches half of the least."""
_NO_WORDS = ("id", "tier", "prio", "state")
"""Tags of values that need no words of their own."""
_MARKS = " \t.,;:*_->\u2013\u2014\u2192"
_PARTS = re.compile(r"(?<=[.;!?])\s+|\s[\u00b7|\u2022]\s|[()\u3002\uff1b]")
_UNTICKED = re.compile(r"\s*[-*+]\s+\[ \]\s")
_TICKED = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])?\s*\[[xX]\]\s")
_BESIDE = 12  # characters beside a value on its line that say nothing more
_SLASH = re.compile(r"\s+[/|]\s+|(?<=[\u3040-\u9fff])[/\uff0f](?=[\u3040-\u9fff])")
_NUMBERED = re.compile(r"\s*(\d{1,3})[.)]\s")
_WRITTEN = re.compile(
    r"(?:[\s>|#*+_`~\u2022-]|\[[ xX]?\]|[^\w\s\x00-\x7f])*[(\[]?"
    r"(?P<id>#?(?:[^\W\d_]{1,20}(?: [^\W\d_]{1,12})?[ ._-]?(?:n[\u00b0\u00ba.] ?|[Nn]r\.? ?|#)?)?"
    r"\d{1,4}(?:\.\d{1,3})*[a-z]?|[^\W\d_]{2,20} (?:[A-Z]|[IVX]{1,4})|(?!x\])[a-z](?=[.)\]]))"
    r"(?:[\s|)\[\]*_`:.\u00b7\u2014\u2013\u2192\u3011\u3001\u2605\u2606=>-]"
    r"|(?<=\s)[^\W\d_]{2,20}(?: \([^()]{1,20}\))?:)*"
)
"""What may be before a record's words: marks, its id, marks."""
_ARTIFACT = re.compile(r"A-?\d{3}")
_ID, _LETTERS = re.compile(rf"(?<!\w){ANY_ID}"), re.compile(r"[^\W\d_]")
_ID_END = re.compile(r" [(\[]|\s{2,}|\t")
_LOOK_BELOW = 60  # lines that are looked at below a record
_NOUNS = {"D": "decision", "T": "thread"}
_WORDS = re.compile(r"[^\W_]+")
_FROM_NUMBER = re.compile(r"\d.*", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\u9fff]{2}")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?![\w.,%])")
_ITEM_HEAD = re.compile(r"\s*(?:(?:[-*+\u2022]|\(?\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?[*_]{0,3}")
_LEAD = re.compile(r"[^\w*]*(?:[*+-]\s+)?[^\w*]*\*\*(?!\s)[^*]{3,}\*\*")
_NOTE = re.compile(r"[(\[\uff08]([^()\[\]\uff08\uff09]{1,80})[)\]\uff09]")
_NOTE_PARTS = re.compile(r"\s*[,|;\u00b7]\s*")
_DIVIDED = re.compile(r"[|\u00b7\u2022()\[\];]|,\s|\s[\u2013\u2014-]\s")
_POINT = re.compile(r"\.(?:\d{1,3}|[A-Za-z])(?!\w)")
_ANSWER = re.compile(r"[\s*_]*(?:->|=>|\u2192)\s*(\S.*?)[\s|*_]*$")
_OUTER = " .*_`"
_STATE_BEHIND = re.compile(r"[\s*_]*[\u2013\u2014-]\s+[*_]*(\w[^:\uff1a.]{2,30})[*_]*[:\uff1a]\s")
_MOST_WORDS = 4  # of what is beside a tier
_WORDS_END = 12  # characters by which the end of words is found on its line
_LISTED_LINES = 40
_BULLET = re.compile(r"\s*(?:\d{1,3}[.)]|[^\w\s])\s+")
_EMPHASISED = re.compile(r"(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_ITEM = "item"
"""The value of a span that is one item of a list."""
_STOP, _FULL_STOP = re.compile(r"(?<=[.!?])\s"), re.compile(r"[.!?\u3002\uff01\uff1f]+")
_BEHIND_ID = " *_`:.)]|-\u2013\u2014\u3011"
_RATINGS = {"tier": "tier", "priority": "prio"}
_NOTED = ("tier", "confidence", "priority", "status")
"""The fields that brackets beside a record's words may give."""


def read_tagged(page: Page, own: Sequence[bool], ends: Sequence[StateClause]) -> list[Span]:
    """Add what the tagger finds to the claims of a page; return the facts of the archive that it found.

    Args:
        own: which lines it reads.
        ends: clauses by which records end, such as a parent's.
    """
    lines, titles = page.document.lines, introductions(page.document.lines)
    claims, unnumbered = list(page.found.claims), list(page.found.unnumbered)
    page.begun = sorted({(claim.line, claim.local_id) for claim in claims})
    by_id = any(claim.kind != "A" for claim in claims)
    labels = _label_counts(lines)
    found, facts = _found_in(page, own, ends, titles, by_id=by_id)
    by_key = {(claim.kind, key_of(claim.local_id)): claim for claim in reversed(claims)}
    by_line: dict[int, Claim | Unnumbered] = {record[0]: record for record in reversed(unnumbered)}
    by_line |= {claim.line: claim for claim in reversed(claims)}
    used = {key_of(claim.local_id) for claim in claims}
    alone = _least_beside(claims) if by_id else _SURE_ALONE
    written = [_written_before(lines[each.words.line - 1][: each.words.column]) for each in found]
    own_ids = used | {key_of(_id_of(each)) for each in found if each.id}
    for each in found:
        _take_labelled(each, lines, _kind_of(each))
        _take_listed(each, lines, titles, _kind_of(each))
        each.fields = [_meant(page, span, each, own_ids) for span in each.fields]
    referred = {key_of(name) for each in found for span in each.fields for name in _named(span)}
    for each, before in zip(found, written, strict=True):
        same = by_key.get((_kind_of(each), key_of(_id_of(each)))) or by_line.get(each.words.line)
        if isinstance(same, Claim) and same.kind == "A" and not _ARTIFACT.fullmatch(same.local_id):
            page.found.claims.remove(same)  # such as A1 of a list of decisions
            page.taken.discard(each.words.line)
            used.discard(key_of(same.local_id))
            same = None
        least = _SURE_WITH_ID if each.id or before[1] in referred else alone
        least = _SURE_BEGUN if each.id and before[0] else least
        least = _SURE_ALONE if _is_announced(page, each) else least
        title = title_of_list(each.words.line, titles, lines)
        if isinstance(same, Claim):
            _fill(page, same, each, title, labels)
        elif same or (
            by_id and (each.words.line in page.taken or _repeats_above(page, each, by_key))
        ):  # data gives it
            continue
        elif each.words.margin < least:
            if not each.id and (each.words.margin >= least / 2 or not by_id):
                _propose(page, each)
            continue
        else:
            _register(page, each, before, title, referred, used, labels)
        spans = [each.words, *each.fields]
        page.taken.update(line for span in spans for line in range(span.line, span.last + 1))
    page.found.unnumbered.sort(key=lambda record: record[0])
    page.found.problems[:] = [each for each in page.found.problems if not _is_understood(page, each)]
    return facts


def _found_in(
    page: Page,
    own: Sequence[bool],
    ends: Sequence[StateClause],
    titles: Sequence[int],
    *,
    by_id: bool,
) -> tuple[list[Found], list[Span]]:
    """Return the records with their fields, and the facts of the archive, that the tagger finds."""
    lines = page.document.lines
    nodes = (node for node in page.document.nodes if node.kind == "table")
    tables = [(node.cells, [(row.line, row.cells) for row in node.children]) for node in nodes]
    page.rows.update({line: (heads, cells) for heads, rows in tables for line, cells in rows})
    spans = with_headings(with_series(spans_of(lines, own), lines, own), lines, own)
    spans = with_columns(spans if by_id else with_lists(spans, lines, own), lines, tables)
    spans = [
        span
        for span in _with_references(spans)
        if span.tag not in ("D", "T")
        or (_says_something(span.text) and not _is_label(lines[span.last - 1], span))
    ]
    found, facts = grouped(_unrated(page, spans), lines, page.rows)
    ids = {key_of(each.id) for each in found if each.id and lines[each.words.line - 1][:1] == "#"}
    found = [
        e
        for e in found
        if not any(_is_end(each, e) for each in ends)
        and not _is_field(page, e, titles)
        and not _is_mention(page, e, ids)
    ]
    return _stated(found, page), facts


def _is_end(clause: StateClause, each: Found) -> bool:
    """Say whether words belong to the end of a record: its id is within the clause, or they are behind it."""
    if each.words.line != clause.line:
        return False
    if clause.text.startswith(SUBJECT):
        return not each.id and each.words.text in clause.text
    return key_of(each.id) == key_of(clause.local_id)


def _least_beside(claims: Sequence[Claim]) -> float:
    """Return the least margin of a record without an id beside some that have one."""
    return _SURE_BESIDE_DATA if any(claim.family in _WHOLE for claim in claims) else _SURE_BESIDE


def _with_references(spans: Sequence[Span]) -> list[Span]:
    """Return spans; the id of a record that seems to rate or explain another is what that depends on.

    What names an archive is the id of no record.
    """
    names = {(span.line, span.column) for span in spans if span.tag in ("tag", "parent")}
    spans = [span for span in spans if span.tag != "id" or (span.line, span.column) not in names]
    ids = {key_of(span.text) for span in spans if span.tag == "id" and not span.text.isdigit()}
    return [
        replace(span, tag="dep") if span.tag in _NO_REFERENCE and key_of(span.text) in ids else span
        for span in spans
    ]


def _says_something(text: str) -> bool:
    """Say whether words are more than marks and ids."""
    return _LETTERS.search(_ID.sub(" ", ascii_of(text))) is not None


def _unrated(page: Page, spans: Sequence[Span]) -> list[Span]:
    """Return spans as their labels name them, without words that belong to the tier behind them."""
    pairs = pairwise([*spans, None])
    kept = (one for one, behind in pairs if one and not _is_rated(page, one, behind))
    return [_whole(page, _as_labelled(page, span)) for span in kept]


def _whole(page: Page, span: Span) -> Span:
    """Return a span that ends in an id with the part behind the point of that: `Decision 3.A`."""
    part = _POINT.match(page.document.lines[span.last - 1], span.column + len(span.text))
    is_cut = part is not None and span.line == span.last and span.tag in ("id", "dep", "by", "rev", "blk")
    return replace(span, text=span.text + part[0]) if part and is_cut and span.text[-1:].isdigit() else span


def _is_rated(page: Page, span: Span, behind: Span | None) -> bool:
    """Say whether a span is the words of a tier in brackets behind it: `Epistemic: plausible (0.6)`."""
    if (
        behind is None
        or behind.tag != "tier"
        or span.tag in ("D", "T", "id", "state")
        or span.line != behind.line
    ):
        return False
    line, label = page.document.lines[span.line - 1], _label_beside(page, span)
    between = line[span.column + len(span.text) : behind.column].strip()
    is_first = line[: span.column].rstrip(" *_")[-1:] in {":", "\uff1a"}
    return is_first and label != "" and between in {"(", "["} and len(span.text.split()) < _MOST_WORDS


def _is_label(line: str, span: Span) -> bool:
    """Say whether words are the label of a field, with a colon behind them."""
    behind = line[span.column + len(span.text) :].lstrip(" *_`")
    names = (field_named(span.text, kind) for kind in "DT")
    return behind[:1] in {":", "\uff1a"} and any(name in TAG_OF_WORDS or name in _FIELDS for name in names)


def _is_understood(page: Page, problem: Problem) -> bool:
    begins = problem.message.partition(";")[0]
    return not page.understood.isdisjoint({(None, begins), (problem.line, begins)})


def _stated(records: Sequence[Found], page: Page) -> list[Found]:
    """Return records; those with a title beside their id have the words of a label below it.

    What else looks like a record between such a title and the next is a note of it, and so is what looks like
    another one on the line of a record with an id, or behind the bold beginning that is a record.
    """
    kept: list[Found] = []
    texts = _text_labels(records, page)
    title = -1  # where in `kept` the last record with an id is
    is_stated = False
    for each in records:
        before = kept[-1] if kept else None
        is_beside = before is not None and not each.id and before.words.line == each.words.line
        if before and is_beside and (before.id or _is_led(page.document.lines, before.words, each.words)):
            _add_note(before, each)
        elif each.id or title < 0 or not _is_below(page, each, kept[title]):
            title, is_stated = (len(kept), False) if each.id else (title, is_stated)
            kept.append(each)
        elif not is_stated and _is_text(_label_beside(page, each.words), each.kind, texts):
            for one in kept[title + 1 :]:
                _add_note(kept[title], one)
            del kept[title + 1 :]
            if kept[title].words.line not in {span.line for span in kept[title].all("id")}:
                kept[title].fields.append(replace(kept[title].words, tag="note"))
            kept[title].words, is_stated = each.words, True
            kept[title].fields += each.fields
        elif is_stated:
            _add_note(kept[title], each)
        else:
            kept.append(each)
    return kept


def _text_labels(records: Sequence[Found], page: Page) -> set[str]:
    """Return the labels that two titles with an id or more have below them, before words like a record's."""
    lines, begun = page.document.lines, {each.words.line for each in records if each.id}
    counts: Counter[str] = Counter()
    for each in (each for each in records if not each.id):
        above = next((n for n in range(each.words.line - 1, 0, -1) if lines[n - 1].strip()), 0)
        counts[_label_beside(page, each.words).casefold()] += above in begun
    return {label for label, count in counts.items() if label and count > 1}


def _is_text(label: str, kind: str, texts: Collection[str]) -> bool:
    return field_named(label, kind) == "text" or label.casefold() in texts


def _is_led(lines: Sequence[str], words: Span, other: Span) -> bool:
    """Say whether words stand in the bold beginning of a line, and other words of it behind that."""
    lead = _LEAD.match(lines[words.line - 1])
    return lead is not None and words.column < lead.end() <= other.column


def _is_field(page: Page, each: Found, titles: Sequence[int]) -> bool:
    """Say whether what looks like a record is a field of another one, by its label, or an artifact."""
    is_field = not each.id and field_named(_label_beside(page, each.words), each.kind) in _FIELDS
    return is_field or _is_artifact(page, each, titles)


def _is_artifact(page: Page, each: Found, titles: Sequence[int]) -> bool:
    """Say whether what looks like a record is below a title of artifacts, without an id of another kind."""
    section = _section_of(page, each)
    title = title_of_list(each.words.line, titles, page.document.lines) or (section.title if section else "")
    lists = [kind for kind in "DTA" if lists_kind(title.strip(" *_[]<>=:-"), kind)]
    return lists == ["A"] and kind_of(_id_of(each)) not in ("D", "T")


def _is_mention(page: Page, each: Found, ids: set[str]) -> bool:
    """Say whether words only mention records, by ids of headings in a bracket: `retries moved (K1)`."""
    words, line = each.words, page.document.lines[each.words.last - 1]
    note = _NOTE.match(line[words.column + len(words.text) :].lstrip(" *_"))
    if note is None or each.id or words.line != words.last:
        return False
    named = references(note[1])
    rest = re.sub("|".join(map(re.escape, named)), "", note[1]) if named else note[1]
    return bool(named) and ids.issuperset(map(key_of, named)) and re.search(r"[^\W\d_]{4}", rest) is None


def _add_note(record: Found, other: Found) -> None:
    record.fields += [replace(other.words, tag="note"), *other.fields]


def _is_below(page: Page, each: Found, title: Found) -> bool:
    """Say whether a record is in the section or the block of lines that begins with the id of another."""
    section = _section_of(page, each)
    begins = {span.line for span in (title.words, *title.all("id"))}
    if section is not None and section.heading_line in begins:
        return True
    return all(row.strip() for row in page.document.lines[title.words.line : each.words.line - 1])


def _section_of(page: Page, each: Found) -> Section | None:
    """Return the section of the nearest heading above a record."""
    sections = page.document.sections
    above = bisect_left(sections, each.words.line, key=lambda section: section.heading_line)
    return sections[above - 1] if above else None


def _is_announced(page: Page, each: Found) -> bool:
    """Say whether its label or the nearest heading lists records of its kind, or threads by their state."""
    kind, section = _kind_of(each), _section_of(page, each)
    title = section.title if section else ""
    is_state = kind == "T" and state_of_label(title, kind) is not None
    return is_state or any(lists_kind(name, kind) for name in (_label_beside(page, each.words), title))


def _fill(page: Page, claim: Claim, each: Found, title: str, labels: Mapping[str, int]) -> None:
    """Give a record that was found by its id its words, and the fields that no known label gave it.

    Args:
        title, labels: as of `_register`.
    """
    if claim.family in _WHOLE or claim.kind == "A" or is_short(claim.local_id):
        return
    kind = claim.kind
    _correct(claim, each)
    each.words = replace(each.words, value="")
    each.fields = [span for span in each.fields if _is_sure(page, span, claim)]
    rest = _take_words(page, claim, each, labels)
    raw = _stated_fields(page, each, title, claim.local_id)
    if raw.get("status", "") in _UNSAID and not any(_is_state(span, kind) for span in each.all("state")):
        del raw["status"]
    rest = "\n".join(filter(None, [raw.pop(REST[kind], ""), rest]))
    barred = {"text"} | ({"resolution"} if claim.values.get("status") is ThreadStatus.OPEN else set())
    barred |= {"revises"} if claim.values.get("superseded_by") else set()
    wanted = {name: value for name, value in raw.items() if value and name not in barred}
    missing = {name: value for name, value in wanted.items() if _lacks(page, claim, name, value)}
    for value in missing.values():
        _take_out(page, claim, value)
    kept = str(claim.values.get(REST[kind]) or "")
    if rest and rest not in kept:
        claim.values[REST[kind]] = "\n".join(filter(None, [kept, rest]))
    if missing and "entity" in claim.values:
        missing |= {name: claim.values[name] for name in ("entity", "text")}
    if missing:
        page.found.tagged.append(claim.local_id)
        make_claim(page.found, claim.local_id, missing, claim.line, Family.PROSE, kind=kind)


def _is_sure(page: Page, span: Span, claim: Claim) -> bool:
    """Say whether a span may be a field of a record that was found by its id."""
    is_above = span.tag == "state" and span.line < claim.line
    is_read = _is_labelled(page, span, claim.kind) or _is_of_another(page, span, claim)
    return span.margin >= _LEAST_SURE.get(span.tag, _SURE_ENOUGH) and not is_above and not is_read


def _take_words(page: Page, claim: Claim, each: Found, labels: Mapping[str, int]) -> str:
    """Give a record the words that the tagger found in its title; return what is behind them and no field."""
    text, words = one_line(str(claim.values.get("text") or "")), one_line(each.words.text)
    line = page.document.lines[each.words.line - 1]
    is_cut = text.endswith("?") and text.count("?") == 1 and words[-1:] != "?"
    is_cut |= bool(_UNTICKED.match(line)) and any(span.line == each.words.line for span in each.all("state"))
    if claim.kind == "T" and is_cut:  # what looks like a field is a part of the title
        each.fields = [span for span in each.fields if span.line != each.words.line]
        return ""
    if each.words.margin < _SURE_WITH_ID or not _begins_title(text, words, claim.kind):
        return ""
    _widen(each, line, labels)
    claim.values["text"] = _with_brackets(text, each)
    _take_out(page, claim, each.words.text)
    return left_behind(page.document.lines, each)


def _is_state(span: Span, kind: str) -> bool:
    """Say whether words are a known state of a kind, or seem to be one that has ended."""
    return parse_status(span.text, kind) is not None or span.value not in _UNSAID


def _correct(claim: Claim, each: Found) -> None:
    """Split alternatives that were read as one, and replace a decision that has what replaced it."""
    parts = [part for span in each.all("alt") for part in _parts(span)]
    known = tuple(claim.values.get("alternatives") or ())
    if len(parts) > len(known) == 1 and all(_is_outside_brackets(part, known[0]) for part in parts):
        claim.values["alternatives"] = tuple(parts)
    if claim.values.get("status") is DecisionStatus.INVALIDATED and _is_replaced(each, claim.kind):
        claim.values["status"] = DecisionStatus.SUPERSEDED


def _is_outside_brackets(part: str, text: str) -> bool:
    """Say whether a text holds a part, outside of brackets and behind no colon, as a reason is."""
    before, found, _ = text.partition(part)
    return bool(found) and before.count("(") == before.count(")") and before.rstrip()[-1:] != ":"


def _with_brackets(text: str, each: Found) -> str:
    """Return a record's words with the brackets behind them that hold no field."""
    words, found, behind = text.partition(one_line(each.words.text))
    words = found or one_line(each.words.text)
    words = f"~~{words}" if words.count("~~") % 2 else words
    fields = (span for span in each.fields if span.tag != "id")
    given = [span.text for span in fields if span.tag != "state" or _is_state(span, each.kind)]
    while (note := _NOTE.match(behind.lstrip())) and not any(s in note[1] or note[1] in s for s in given):
        words, behind = f"{words} {note[0]}", behind.lstrip()[note.end() :]
    return statement(bare(words + behind if _FULL_STOP.fullmatch(behind) else words))


def _begins_title(text: str, words: str, kind: str) -> bool:
    """Say whether words begin a title, behind a label or brackets; one that begins with a state is whole."""
    before, found, _ = text.partition(words)
    is_begun = before.rstrip(" *_")[-1:] in (":", "\uff1a") or not re.search(r"\w", _NOTE.sub("", before))
    return text == "" or (found != "" and is_begun and leading(text, STATES[kind])[0] is None)


def _lacks(page: Page, claim: Claim, name: str, value: Any) -> bool:
    """Say whether a record lacks a field that a value can give: what names no record is no dependency."""
    if _has(claim, name):
        return False
    ids = {key_of(each.local_id) for each in page.found.claims} if name == "dependencies" else ()
    return name != "dependencies" or bool(references(value) or keys_in(value, ids))


def _register(
    page: Page,
    each: Found,
    before: tuple[str, str],
    title: str,
    referred: Collection[str],
    used: set[str],
    labels: Mapping[str, int],
) -> None:
    """Add a record.

    Args:
        before: the id and the number written before its words.
        title: of its list.
        referred: keys of the ids that other records name.
        used: keys of the ids of records.
        labels: how many lines begin with each label.
    """
    local_id, kind = _id_of(each), _kind_of(each)
    if _ARTIFACT.fullmatch(local_id):
        return
    lines, line = page.document.lines, page.document.lines[each.words.line - 1]
    if not _has_more_words(lines, each, title):
        each.words = replace(each.words, value="")
    _widen(each, line, labels)
    left = left_behind(lines, each)
    raw = _stated_fields(page, each, title, local_id)
    if left:
        ended = kind == "T" and raw.get("status") == ThreadStatus.RESOLVED.value
        rest = "resolution" if ended else REST[kind]
        raw[rest] = "\n".join(filter(None, [raw.get(rest), left]))
    written, place = before
    apart = all(span.line != each.words.line for span in each.all("id"))
    if PLACE.fullmatch(local_id) or not local_id or (written and apart):
        local_id = written or local_id or (place if kind == "D" else "")
    if kind == "T" and local_id == place and place not in referred:
        local_id = ""
    if local_id and key_of(local_id) not in used:
        used.add(key_of(local_id))
        page.found.tagged.append(local_id)
        make_claim(page.found, local_id, raw, each.words.line, Family.PROSE, kind=kind)
    else:
        page.found.unnumbered.append((each.words.line, kind, raw, place))


_LAST_STARS = re.compile(rf"\s({ONLY_STARS.pattern})\W*$")


def _stated_fields(page: Page, each: Found, title: str, local_id: str) -> dict[str, Any]:
    """Return the fields of a record that its spans, its line and the title of its list give."""
    kind, lines, line = _kind_of(each), page.document.lines, page.document.lines[each.words.line - 1]
    raw = _fields(each, kind) | _labelled_state(each, lines, kind) | {"text": each.words.text}
    section = _section_of(page, each)
    labels = (_label_beside(page, each.words), title, section.title if section and not title else "")
    state = next(filter(None, (state_of_label(label, kind) for label in labels)), None)
    unsaid = ("state", "by") if state is ThreadStatus.RESOLVED else ("state", "by", "res")
    if state and not any(span.tag in unsaid for span in each.fields):
        raw["status"] = str(state.value)
    if kind == "T" and (opening := _state_below(lines, each) or _state_behind(each, line)):
        raw["status"] = opening
    heads, cells = page.rows.get(each.words.line, _NO_ROW)
    columns = [(head, cell) for head, cell in zip(heads, cells, strict=False) if not is_none(cell)]
    raw |= {name: v for name, v in named_fields(columns, kind)[0].items() if name in _NAMING}
    noted = _noted_beside(each, line, key_of(local_id), kind)
    if raw.get("status") in _UNSAID and "status" in noted:
        raw["status"] = noted["status"]
    elsewhere = {
        name for name, tag in _RATINGS.items() if all(s.line != each.words.line for s in each.all(tag))
    }
    raw = noted | {name: value for name, value in raw.items() if name not in noted.keys() & elsewhere}
    if raw.get("status") == ThreadStatus.RESOLVED.value and (answer := _answer_behind(each, line)):
        raw |= {"resolution": answer, "blocked_by": []}
    if kind == "D" and "tier" not in raw and (stars := _LAST_STARS.search(line)):
        raw |= {"tier": stars[1], "text": raw["text"].removesuffix(stars[1]).rstrip()}
    if kind == "T" and "priority" not in raw:
        raw |= _rating_behind(line[each.words.column + len(each.words.text) :])
    if kind == "T":
        raw = _marked(line, raw, has_state=bool(each.all("state")))
        if all(span.margin < _SURE_FIELD for span in each.all("res")):  # no answer that is sure resolves it
            raw.setdefault("status", ThreadStatus.OPEN.value)
    return raw


def _state_below(lines: Sequence[str], each: Found) -> str:
    """Return the state that opens the line below a heading that is a thread: `Open, urgent`."""
    is_heading = lines[each.words.line - 1][:1] == "#" and each.words.last < len(lines)
    below = lines[each.words.last].strip("*_ ") if is_heading else ""
    state, rest = leading(below, STATES["T"])
    return str(state.value) if state is not None and rest.strip("*_")[:1] in (",", ".") else ""


def _state_behind(each: Found, line: str) -> str:
    """Return the state between the words of a thread and a colon: `Water - solved: an old barrel`."""
    _, found, behind = line.rpartition(each.words.text[-_WORDS_END:])
    match = _STATE_BEHIND.match(behind) if found and not each.all("state") else None
    state, rest = leading(match[1], STATES["T"]) if match else (None, "")
    return str(state.value) if state is not None and not rest.strip() else ""


def _marked(line: str, raw: dict[str, Any], *, has_state: bool) -> dict[str, Any]:
    """Return the fields of a thread with those that the box and the colour on its line give."""
    if _TICKED.match(line):
        raw["status"] = ThreadStatus.RESOLVED.value
    elif _UNTICKED.match(line) and not has_state:
        raw["status"] = ThreadStatus.OPEN.value
    colour = colour_in(line)
    return {"priority": colour.value, **raw} if colour else raw


def _has_more_words(lines: Sequence[str], each: Found, title: str) -> bool:
    """Say whether words beside a record or above its list may say in which state it is."""
    first = each.words.line
    indent = len(lines[first - 1]) - len(lines[first - 1].lstrip())
    below = lines[each.words.last : each.words.last + _LOOK_BELOW]
    inner = takewhile(lambda line: len(line) - len(line.lstrip()) > indent, below)
    beside = "\n".join([*lines[first - 1 : each.words.last], *inner])
    for span in (each.words, *each.fields):
        beside = beside.replace(span.text, "", 1)
    parts = (part.strip(_MARKS) for part in re.split(r"[.,;:()|\n]", beside))
    more = any(_WORD.search(part) and not field_named(part, each.kind) for part in parts)
    return more or not lists_kind(title, each.kind)


def left_behind(lines: Sequence[str], each: Found) -> str:
    """Return the sentences and brackets behind a record in its list item that hold no field."""
    words, line = each.words, lines[each.words.line - 1]
    behind = line[words.column + len(words.text) :] if is_item(line) and words.line == words.last else ""
    parts = (part.strip(_MARKS) for part in _PARTS.split(behind))
    return "; ".join(
        part
        for part in parts
        if len("".join(_WORDS.findall(part))) > _BESIDE
        and not any(s.text in part or part in s.text for s in each.fields)
        and not field_named(labelled(part)[0], each.kind)
    )


def _propose(page: Page, each: Found) -> None:
    """Add what may be a record and is not sure enough."""
    kind, fields = _kind_of(each), _fields(each, _kind_of(each))
    page.found.possible.append(
        PossibleRecord(
            kind=kind,
            text=each.words.text,
            sure=round(1 / (1 + exp(-each.words.margin / 2)), 2),
            line=each.words.line,
            quote=page.document.lines[each.words.line - 1].strip(),
            status=fields.get("status", "") if kind == "T" else "",
            rationale=fields.get("rationale", ""),
            alternatives=tuple(fields.get("alternatives", ())),
        )
    )
    message = f"{one_line(each.words.text)[:80]!r} may be a {_NOUNS[kind]}; it waits for `forgekit review`"
    page.found.warn("possible-record", message, each.words.line)


def _written_before(text: str) -> tuple[str, str]:
    """Return the id before a record's words on their line, and the number of its item."""
    place = _NUMBERED.match(text)
    found = _WRITTEN.fullmatch(ascii_of(text))
    word, _, number = found["id"].partition(" ") if found else ("", "", "")
    is_state = number != "" and any(leading(word, STATES[kind])[0] for kind in "DT")
    return (number if is_state else found["id"] if found else ""), (place[1] if place else "")


def _named(span: Span) -> tuple[str, ...]:
    """Return the ids that a field names."""
    if span.tag not in ("dep", "by", "rev", "blk"):
        return ()
    return references(span.text) or (tuple(_NUMBER.findall(span.text)) if span.tag != "blk" else ())


def _meant(page: Page, span: Span, each: Found, own_ids: AbstractSet[str]) -> Span:
    """Return a span that names decisions with the tag of its label, else with that of their numbers.

    A record replaces an earlier one, and is not replaced by it: one of a series with a smaller number, or one
    of a parent's where it has no id itself. `No` answers a question.

    Args:
        own_ids: keys of the archive's ids.
    """
    if span.tag == "state" and each.words.text.endswith("?") and is_none(span.text):
        return replace(span, tag="res")
    if span.tag not in ("dep", "by") or _kind_of(each) != "D":
        return span
    name = field_named(_label_beside(page, span), "D")
    if name in _NAMING:
        return replace(span, tag=TAG_OF_WORDS[name])
    named = [name for name in _named(span) if name.isascii() and name.isalnum() and not name.isdigit()]
    own, others = series_of(_id_of(each)), map(series_of, named)
    earlier = not each.id and bool(named) and own_ids.isdisjoint(map(key_of, named))
    earlier = earlier or any(own and other and own[0] == other[0] and other[1] < own[1] for other in others)
    return replace(span, tag="rev") if span.tag == "by" and earlier else span


def _has(claim: Claim, name: str) -> bool:
    names = ("tier", "confidence") if name == "tier" else (name,)
    return any(claim.values.get(each) not in (None, "", ()) for each in names)


def _is_labelled(page: Page, span: Span, kind: str) -> bool:
    """Say whether a known label begins the span's line or heads its column, so that it was read."""
    label = _label_beside(page, span)
    return label != "" and field_named(label, kind) not in _VAGUE[kind]


def _repeats_above(page: Page, each: Found, claims: Mapping[tuple[str, str], Claim]) -> bool:
    """Say whether a record without an id has the words of the one above: the text under `### Decision`."""
    at = bisect_right(page.begun, each.words.line, key=lambda place: place[0])
    above = claims.get((each.kind, key_of(page.begun[at - 1][1]))) if at and not each.id else None
    return above is not None and one_line(each.words.text) in str(above.values.get("text", ""))


def _is_of_another(page: Page, span: Span, claim: Claim) -> bool:
    """Say whether a line was read as a part of another record, above this one or below it."""
    at = bisect_right(page.begun, span.line, key=lambda each: each[0])
    while at and page.begun[at - 1][1] == claim.local_id:
        at -= 1
    begun = page.begun[at - 1][0] if at else 0
    return span.line in page.taken and begun > (0 if span.line < claim.line else claim.line)


def _label_beside(page: Page, span: Span) -> str:
    """Return the label that begins the span's line or heads its column, "" where there is none."""
    line = page.document.lines[span.line - 1]
    label = labelled(line.lstrip(" \t-*+>"))[0]
    if line.lstrip()[:1] == "|":
        heads, column = page.rows.get(span.line, _NO_ROW)[0], column_of(line, span)
        label = heads[column] if 0 <= column < len(heads) else ""
    return label


def _take_out(page: Page, claim: Claim, value: str | list[str]) -> None:
    """Take the lines that are a value and a label out of a record's text; such a label is known now."""
    rest, own = REST[claim.kind], page.document.lines[claim.line - 1]
    parts = value if isinstance(value, list) else [value]
    kept: list[str] = []
    for line in str(claim.values.get(rest) or "").split("\n"):
        label, value_of = labelled(line.removeprefix("- ")) if line.startswith("- ") else ("", "")
        is_held = any(part in line for part in parts)
        if is_held and label and _is_all(value_of, parts):
            page.understood.add((None, not_known(label, claim.local_id)))
        elif not is_held or not _is_all(line, parts) or line.strip() not in own:
            kept.append(line)
    if rest in claim.values:
        claim.values[rest] = "\n".join(kept)


def _is_all(line: str, parts: Sequence[str]) -> bool:
    return len(line.strip()) <= len(" ".join(parts)) + _BESIDE


def _id_of(each: Found) -> str:
    """Return a record's id, in the shape of an id if its line holds one there."""
    return _ID_END.split(ascii_of(each.id), maxsplit=1)[0].strip("#[]().:* ") if each.id else ""


def _kind_of(each: Found) -> str:
    """Return the kind: an id of known letters decides it."""
    local_id = _id_of(each)
    known = kind_of(local_id) if LOCAL_ID.fullmatch(local_id) else ""
    return known if known in ("D", "T") else each.kind


def _fields(each: Found, kind: str) -> dict[str, Any]:
    """Return the fields of a record under the names of claims."""
    raw: dict[str, Any] = {}
    for name, tag in TAG_OF_WORDS.items():
        spans = each.all(tag) if name in OWN_FIELDS[kind] else []
        if spans and tag in ("alt", "blk"):
            raw[name] = [part for span in spans for part in _parts(span)]
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
    for tag, name in (("by", "superseded_by"), ("rev", "revises")):
        named = [one for span in each.all(tag) for one in _named(span) or [span.text]]
        raw |= {name: ", ".join(named)} if named else {}
    if status := _status(each, kind):
        raw["status"] = status
    if notes := [span.text for span in each.all("note")]:
        raw[REST[kind]] = "\n".join(notes)
    return raw


def _parts(span: Span) -> Sequence[str]:
    """Return the alternatives that a span names together, any other span as it is."""
    if span.tag != "alt" or span.value == _ITEM:
        return [span.text]
    return [item for part in _SLASH.split(span.text) for item in items(part, prefer=SEMICOLONS)]


def _tier(span: Span) -> str:
    """Return a tier that can be read: as it is written, else what its words seem to mean."""
    number = _FROM_NUMBER.search(span.text)
    for words in filter(None, (span.text, number and number.group())):
        with suppress(ValueError):
            parse_tier(words)
            return words
    sure = leading(span.text, CONFIDENCE)[0]
    return span.value if sure is None else str(sure)


def _status(each: Found, kind: str) -> str:
    """Return the state of a record: what words say, else what its own words seem to mean."""
    if _is_replaced(each, kind):
        return DecisionStatus.SUPERSEDED.value
    own = each.words.value if each.words.tag == kind else ""
    is_successor = own == DecisionStatus.SUPERSEDED.value and each.all("rev")
    return _named_status(each.fields, kind) or ("" if is_successor else own)


def _named_status(fields: Iterable[Span], kind: str) -> str:
    """Return the state that words beside a record name, "" if none do."""
    for span in fields:
        known = parse_status(span.text, kind)
        if span.tag == "state" and known is not None:
            return str(known.value)
        if span.tag == "state" and span.value in VALUES[kind]:
            return span.value
    return ""


def _is_replaced(each: Found, kind: str) -> bool:
    """Say whether a decision has words that name what replaced it."""
    return kind == "D" and any(span.margin >= _SURE_FIELD for span in each.all("by"))


# Labels, brackets and arrows on the line of a record, beside its spans


def _label_counts(lines: Sequence[str]) -> Mapping[str, int]:
    """Return how many lines begin with each label, in lower case."""
    return Counter(labelled(_ITEM_HEAD.sub("", line, count=1))[0].casefold() for line in lines)


def _as_labelled(page: Page, span: Span) -> Span:
    """Return a thread or an answer as the decision, a rating as the state, that its label names."""
    if span.tag not in ("T", "res", "prio"):
        return span
    label = _label_beside(page, span)
    if span.tag == "prio":
        behind = labelled(page.document.lines[span.line - 1].lstrip(" \t-*+>"))[1].lstrip(" *_")
        is_state = field_named(label, "T") == "status" and behind.startswith(span.text)
        return replace(span, tag="state") if is_state else span
    is_text = field_named(label, "D") == "text"
    is_decision = is_text and names_kind(label, "D") and not names_kind(label, "T")
    return replace(span, tag="D", value="") if is_decision else span


def _widen(each: Found, line: str, labels: Mapping[str, int]) -> None:
    """Give a record all words that are its own on its line.

    A known label such as `Decision:` gives it the whole line. Words before a colon that are no label are its
    subject, as in `Budget: 9,000 a year`; a label is known, or begins more than one line (`_label_counts`).
    """
    start = _start_of_words(each, line)
    label, value = labelled(line[start:])
    words = each.words
    inside = [span for span in each.fields if span.line == words.line and span.column >= start]
    if field_named(label, each.kind) == "text" or lists_kind(label, each.kind):
        text = value.strip(" *_`|")
        if words.text in text and words.line == words.last and all(span.tag == "note" for span in inside):
            each.fields = [span for span in each.fields if span not in inside]
            each.words = replace(words, text=text, column=line.rindex(text))
    elif label and labels[label.casefold()] < 2 and not (_is_known(label) or LOCAL_ID.fullmatch(label)):
        between = line[start : words.column].removeprefix(label).strip(_OUTER)
        if words.text == label and not any(span.column > words.column for span in inside):
            sentence = re.split(r"(?<=[.;!?])\s", value, maxsplit=1)[0].rstrip(_OUTER)
            each.words = replace(words, text=f"{label}: {sentence}", column=start)
        elif words.text != label and between == ":" and not _written_before(line[: words.column])[0]:
            each.words = replace(words, text=f"{label}: {words.text}", column=start)


def _start_of_words(each: Found, line: str) -> int:
    """Return where words begin on a record's line, behind its marks and its id."""
    ids = (span.column + len(span.text) for span in each.all("id") if span.line == each.words.line)
    if behind := max(ids, default=0):
        return len(line) - len(line[behind:].lstrip(_BEHIND_ID))
    return len(line) - len(_ITEM_HEAD.sub("", line, count=1))


def _is_known(label: str) -> bool:
    known = (lists_kind, names_kind, state_of_label, field_named, end_noted)
    return fact_named(label) is not None or any(meets(label, kind) for meets in known for kind in "DT")


def _labelled_state(each: Found, lines: Sequence[str], kind: str) -> dict[str, Any]:
    """Return the state of a decision as the whole value of the label that begins its line."""
    numbers = dict.fromkeys(span.line for span in each.all("state") if kind == "D")
    read = [split_labels(_ITEM_HEAD.sub("", lines[n - 1], count=1), kind, opening=True) for n in numbers]
    pairs = (pair for lead, some in read if not lead.strip() for pair in some)
    values = [value for name, value in pairs if name == "status"]
    return {"status": " ".join(values)} if read and len(values) == len(read) else {}


def _take_labelled(each: Found, lines: Sequence[str], kind: str) -> None:
    """Give a record's fields the values of known labels that the tagger took for something else.

    Such a label begins a line, or a sentence behind the record's words. An answer is not divided.
    """
    for number in sorted({span.line for span in (each.words, *each.fields)}):
        line, words = lines[number - 1], each.words
        behind = words.column + len(words.text)
        at = behind if number == words.line else len(line) - len(_ITEM_HEAD.sub("", line, count=1))
        is_bare = all(s.line != number or s.tag in _NO_WORDS for s in each.fields)
        is_row = line.lstrip()[:1] == "|"
        lead, pairs = ("", []) if is_row else split_labels(line[at:], kind, clauses=is_bare)
        for name, value in pairs if number == words.line or not lead.strip(" :*_") else ():
            tag, text = TAG_OF_WORDS.get(name, ""), _STOP.split(value, maxsplit=1)[0]
            at = max(line.find(value, at), at)
            inside = [s for s in each.fields if s.line == number and at <= s.column < at + len(text)]
            inside = [s for s in inside if s.tag in TAG_OF_WORDS.values() or s.text == text.rstrip(_OUTER)]
            is_whole = tag == "res" or (tag in ("dep", "by") and not references(text))
            is_noted = tag == "alt" and any(_is_in_brackets(s.text, text) for s in inside if s.tag == tag)
            is_cut = is_noted or (
                is_whole and max((len(s.text) for s in inside if s.tag == tag), default=0) < len(text)
            )
            if tag and (is_cut or all(span.tag != tag for span in inside)):
                near = inside[0] if inside else replace(words, value="", line=number, last=number)
                span = replace(near, tag=tag, text=text.rstrip(_OUTER), column=at, margin=inf)
                each.fields = [*(span for span in each.fields if span not in inside), span]


def _take_listed(each: Found, lines: Sequence[str], titles: Sequence[int], kind: str) -> None:
    """Give a record's fields the items of lists that a known label alone introduces, each as a whole.

    Args:
        titles: as of `layout.introductions`.
    """
    heads = {titles[span.line - 1] for span in each.fields} - {0, titles[each.words.line - 1]}
    for head in sorted(heads):
        label, value = labelled(_ITEM_HEAD.sub("", lines[head - 1], count=1).strip())
        tag = "" if value.strip(_OUTER) else TAG_OF_WORDS.get(field_named(label, kind) or "", "")
        below = range(head + 1, min(head + _LISTED_LINES, len(lines)) + 1)
        members = [n for n in below if titles[n - 1] == head]
        are_items = all(is_item(lines[n - 1]) and "{" not in lines[n - 1] for n in members)
        if tag and head > each.words.line and members and are_items:
            others = [span for span in each.fields if span.line not in members]
            whole = replace(each.words, tag=tag, value=_ITEM, margin=inf)
            for n in members:
                text = _BULLET.sub("", lines[n - 1], count=1).strip()
                at = lines[n - 1].find(text)
                others.append(replace(whole, text=_EMPHASISED.sub(r"\2", text), line=n, last=n, column=at))
            each.fields = others


def _is_in_brackets(part: str, text: str) -> bool:
    before = text.partition(part)[0]
    return before.count("(") > before.count(")")


def _rating_behind(text: str) -> dict[str, Any]:
    """Return the priority that a part of what is behind a thread's words names: `| prio A`."""
    noted = (fields_of_note(part, "T") for part in _DIVIDED.split(_STOP.split(text, maxsplit=1)[0]))
    return next(({"priority": note["priority"]} for note in noted if list(note) == ["priority"]), {})


def _answer_behind(each: Found, line: str) -> str:
    """Return what an arrow behind a question leads to on its line, "" where there is none."""
    _, found, behind = line.rpartition(each.words.text[-_WORDS_END:])
    match = _ANSWER.match(behind) if found.endswith("?") else None
    return match[1] if match else ""


def _noted_beside(each: Found, line: str, own: str, kind: str) -> dict[str, Any]:
    """Return the fields in brackets before a record's words, or next behind them: `E1 (level 2)`.

    `own` is the key of its id.
    """
    behind = line[each.words.column + len(each.words.text) :].lstrip(" *_")
    found = [*_NOTE.finditer(line[: each.words.column]), *filter(None, [_NOTE.match(behind)])]
    notes = (_NOTE_PARTS.split(match[1]) for match in found)
    parts = (",".join(part for part in note if key_of(part.strip()) != own) for note in notes)
    fields = [fields_of_note(part, kind) for part in parts]
    return {name: value for some in fields for name, value in some.items() if name in _NOTED}
