"""Records in Markdown: headings, bullets, bold lead-ins, tables, sentences, and the labels above them.

In: a document and which of its lines are the archive's own. Out: claims, the lines that belong to records,
the status that a label ("Resolved threads") gives to the records below it, and the ids without a record.
Shapes: `### D001: Title` with bullets `- **Tier:** 0.8`; `- **T001:** title (High)`; `**T001 (HIGH):** text`;
`| D001 | text | 0.8 |`; `Open threads: T001 title; T002 title`; numbered items under "Open threads".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from forgekit.archives.claims import (
    BANDS,
    CONFIDENCE,
    DECISION_STATUS,
    IDS,
    KEYS,
    LOCAL_ID,
    SHORT,
    SHORT_ID,
    ClaimList,
    bare,
    kind_of,
    make_claim,
    parse_integer,
    parse_priority,
    parse_range,
    parse_thread_status,
    parse_tier,
    references,
    table,
    word_in,
)
from forgekit.archives.document import LINE_LIMIT, Document, Table, fold
from forgekit.model.archive_record import Chunk, Family
from forgekit.model.decision import DecisionStatus, band
from forgekit.model.kinds import is_short
from forgekit.model.problem import Problem, Severity
from forgekit.model.rules import one_line
from forgekit.model.thread import ThreadStatus


@dataclass(kw_only=True, slots=True)
class Page:
    """A document while its records are read.

    Attributes:
        own: for each line (0-based) whether it speaks for the archive itself.
        taken: lines (1-based) that belong to records.
    """

    found: ClaimList
    document: Document
    own: Sequence[bool]
    taken: set[int] = field(default_factory=set)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield number (1-based) and text of the archive's own lines, but for very long ones."""
        for number, line in enumerate(self.document.lines, 1):
            if self.own[number - 1] and len(line) <= LINE_LIMIT:
                yield number, line


# Notes around a title: `title [OPEN] (high, blocked by T001)`, `title - RESOLVED: so`

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
    rf"(?P<word>{_ENDED})(?=\s*[:,;\u2013\u2014-]|\s+(?:in|as|via|with|on|by(?=\s+[DT]\d))\s)(?P<rest>.*)$",
    re.IGNORECASE,
)
_DASH = r"(?:[\u2014\u2013]|(?<=\s)--?(?=\s))\s{0,3}"
# Behind a dash in capitals or as the last word: a title may speak of what is done.
_ENDS = tuple(
    re.compile(rf"\s{{0,3}}{mark}(?P<rest>.*)$")
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
    """Split the text behind an id into title and fields; the statuses depend on `kind` (D, T or A)."""
    fields: dict[str, Any] = {}
    leading = _LEADING.match(text)
    if leading and (notes := _fields_of_note(leading.group(1), kind)):
        fields.update(notes)
        text = text[leading.end() :]
    tick = TICKED.match(text) if kind == "T" else None
    if tick is not None:
        text = text[tick.end() :]
    for _ in range(_BRACKETS_LIMIT):
        match = _TRAILING.search(text[-200:])
        notes = _fields_of_note(match["inner"], kind) if match else {}
        if match is not None and not notes and kind == "T" and (ended := _ENDED_INSIDE.match(match["inner"])):
            notes = _end_of(ended)
        if match is not None and notes:
            text = text[: len(text) - len(match.group())]
        elif kind == "T" and (end := _end_in(text)):
            text, notes = end
        else:
            break
        fields = {**notes, **fields}
    if tick is not None:
        fields.setdefault("status", "resolved")
    for match in _BEFORE_DASH.finditer(text) if kind == "D" else ():
        if notes := _fields_of_note(match["inner"], kind):
            text, fields = text[: match.start()] + text[match.end() :], {**notes, **fields}
            break
    return text.strip(), fields


def _split_note(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Split a bracket between an id and its title into text that is no field, and fields."""
    inner = text.strip(" ()[]")
    if fields := _fields_of_note(inner, kind):
        return "", fields
    parts = [part.strip() for part in _SPLIT.split(inner)]
    known = [part for part in parts if _fields_of_note(part, kind)]
    if fields := _fields_of_note(", ".join(known), kind):
        return ", ".join(part for part in parts if part and part not in known), fields
    return inner, {}


def _end_in(text: str) -> tuple[str, dict[str, Any]] | None:
    """Split a thread's title from the mark of an end behind it."""
    for pattern in _ENDS:
        if (match := pattern.search(text)) and (title := text[: match.start()].removeprefix("~~").strip()):
            return title.removesuffix("~~"), _end_of(match)
    return None


def _end_of(match: re.Match[str]) -> dict[str, Any]:
    text = match["rest"].lstrip(" *:;,.\u2013\u2014-").rstrip(" *")
    if text.count(")") > text.count("(") or text.count("]") > text.count("["):
        text = text[:-1]
    return {"status": match["word"] or "resolved", **({"resolution": text} if text.strip("])") else {})}


def _fields_of_note(inner: str, kind: str) -> dict[str, Any]:
    """Return the fields of a bracket, or {} if any part of it is something else."""
    fields: dict[str, Any] = {}
    blockers = re.match(r"(.*?)\bblocked (?:by|on):?\s*(.+)$", inner.strip(), re.IGNORECASE)
    if blockers:
        if not references(blockers.group(2)) and "#" not in blockers.group(2):
            return {}
        fields["blocked by"] = re.sub(r"#(\d{1,3})", lambda m: f"OT{int(m[1]):03d}", blockers.group(2))
        inner = blockers.group(1)
    for part in filter(None, (bare(part) for part in _SPLIT.split(inner))):
        found = _field_of_part(part, kind)
        if not found:
            return {}
        fields.update(found)
    named_band = fields.pop("band", "")
    if named_band:
        try:
            tier, _ = parse_tier(fields.setdefault("tier", named_band))
        except ValueError:
            return {}
        if tier is None or band(tier).value != named_band:
            return {}
    return fields


def _field_of_part(part: str, kind: str) -> dict[str, Any]:
    """Return the field that one part of a bracket names, or {}."""
    words = part.casefold().split()
    if kind == "D":
        if words[0] in BANDS and words[1:] in ([], ["tier"]):
            return {"band": words[0]}
        sure = _CONFIDENCE.fullmatch(part)
        if sure and word_in(sure[1] or sure[2], CONFIDENCE):
            return {"confidence": sure[1] or sure[2]}
    tier = re.fullmatch(r"(0?\.\d{1,6}|1\.0{1,6})|tier:?\s*(\d?\.\d{1,6}|[0-3])", part, re.IGNORECASE)
    turn = re.fullmatch(r"turn:?\s*(\d{1,6})", part, re.IGNORECASE)
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


# Headings, bullets and bold lead-ins

_ID = rf"(?:OT\d{{3}}|[DTA]\d{{3,4}}|{SHORT}(?![A-Za-z0-9_]))"
_START = re.compile(
    r"(?P<indent>\s*)(?P<mark>#{2,6}\s+|[-*+]\s+|\d{1,4}[.)]\s+)?(?:\[ \]\s+)?"
    rf"(?P<tick>{TICKED.pattern})?(?P<open>[*_`\[~]{{0,5}})"
    r"(?:(?:Artifact|Decision|Thread|Open Thread)\s+)?[*`\[]{0,3}"
    rf"(?P<id>{_ID})[`\]]{{0,2}}(?:\s+[`(\[]{{0,2}}(?P<entity>{SHORT})[`)\]]{{0,2}})?"
    r"(?P<notes>\s*[(\[][^()\[\]]{0,80}[)\]])?"
    r"(?P<colon>:\*\*|\*\*\s*:|:__|__\s*:|\s*:|\*\*|\.(?=\s)|\s+[\u2014\u2013-]+(?=\s))?(?P<title>.*)$",
)
_BEHIND_ID = re.compile(r"\s*(?P<notes>[(\[][^()\[\]]{0,80}[)\]])\s*(?::|[\u2014\u2013]|--?(?=\s))\s*(?=\S)")
_NAMED = re.compile(f"{IDS.pattern}|{SHORT_ID.pattern}")
_FIELD = re.compile(
    r"\s*(?:[-*+]\s+)?(?:\*\*|__)?(?P<key>[A-Za-z][A-Za-z _/-]{0,40}?)(?:\s*\([^()]{0,60}\))?"
    r"(?:\*\*\s*:|:\s*\*\*|__\s*:|:__|:)(?:\s+|$)(?P<value>.*)$"
)
_BOLD = re.compile(r"\s*(?:[-*+]\s+)?(?:\*\*|__)")
_BULLET = re.compile(r"\s*[-*+]\s+(?=\S)")
_PART = re.compile(r" {0,3}(#{3,6})\s+(.*)$")
_TEXT_KEYS = {"D": "decision", "T": "title", "A": "name"}
_REST_KEYS = {"D": "context", "T": "content", "A": "summary"}
_PLAIN_KEY = re.compile("status|priority|blocked by|tier|turn|rationale|decision|resolution|context")
"""Keys that open a field without bold marks or a bullet."""


def field_of(line: str) -> tuple[str, str] | None:
    """Return key and value of a `- **Key:** value` line, or None."""
    match = _FIELD.match(line) if len(line) <= LINE_LIMIT else None
    if match is None or LOCAL_ID.fullmatch(match["key"]):
        return None
    return match["key"], match["value"].strip()


def read_records(page: Page) -> None:
    """Read heading, bullet and bold records."""
    lines = page.document.lines
    headings = {section.heading_line for section in page.document.sections}
    reached = 0
    for number, line in page.lines():
        if number <= reached or _in_table(line) or (match := record_start(line)) is None:
            continue
        reached = _end_of_record(page, headings, number, match)
        _take_record(page.found, lines[number - 1 : reached], number, match)
        page.taken.update(range(number, reached + 1))


def _in_table(line: str) -> bool:
    return line.lstrip().startswith("|")


def record_start(line: str) -> re.Match[str] | None:
    """Return how a line begins a record, None if it begins none."""
    if len(line) > LINE_LIMIT or not _NAMED.search(line, 0, 60) or (match := _START.match(line)) is None:
        return None
    if "~~" in match["open"] and kind_of(match["id"]) != "T":  # a decision that was struck out
        return None
    if not match["mark"] and match["colon"] in (None, "."):  # a sentence may end with an id
        return None
    if not _is_heading(match) and not (match["colon"] and match["title"].strip(" *:\u2014\u2013-")):
        return None
    return match


def _is_heading(match: re.Match[str]) -> bool:
    return (match["mark"] or "").startswith("#")


def _end_of_record(page: Page, headings: set[int], start: int, match: re.Match[str]) -> int:
    """Return the last line of a record: a heading's reaches to the next heading or record."""
    lines, is_heading, indent = page.document.lines, _is_heading(match), len(match["indent"])
    for number in range(start + 1, len(lines) + 1):
        line = lines[number - 1]
        if number in headings and not (is_heading and _part_of(line, match)):
            return number - 1
        if not page.own[number - 1] or _in_table(line) or record_start(line):
            return number - 1
        if not is_heading and (not line.strip() or len(line) - len(line.lstrip()) <= indent):
            return number - 1
    return len(lines)


def _part_of(line: str, match: re.Match[str]) -> bool:
    """Say whether a line is a heading below the record's own that names one of its fields."""
    part = _PART.match(line)
    return part is not None and len(part[1]) > match["mark"].count("#") and _known(part[2], match["id"])


def _known(key: str, local_id: str) -> bool:
    return fold(key) in KEYS[kind_of(local_id)]


def _take_record(found: ClaimList, lines: Sequence[str], line: int, match: re.Match[str]) -> None:
    local_id, kind = match["id"], kind_of(match["id"])
    title = match["title"].strip()
    if "**" in match["open"] and "**" not in (match["colon"] or "").replace(" ", ""):
        title = title.replace("**", "", 1)
    if title.startswith(("\u2014", "\u2013", ":")):
        title = title.lstrip(":\u2014\u2013 ").strip()
    if "~~" in match["open"]:
        title = f"[x] ~~{title}"
    elif match["tick"] and kind == "T":
        title = f"[x] {title}"
    notes = match["notes"]
    if not notes and (behind := _BEHIND_ID.match(title)) and (match["colon"] or "").strip() in ("**", "__"):
        notes, title = behind["notes"], title[behind.end() :]
    title, raw = annotated(title, kind)
    if notes:
        rest, fields = _split_note(notes, kind)
        raw = {**fields, **raw}
        title = f"{title} ({rest})" if rest and bare(title) else title
    fields, rest = _fields(lines[1:], local_id)
    raw |= fields
    if entity := match["entity"] or (local_id if SHORT_ID.fullmatch(local_id) else None):
        raw["entity"] = entity
    if bare(title) and not any(fold(key) == _TEXT_KEYS[kind] for key in raw):
        raw[_TEXT_KEYS[kind]] = bare(title) if title.startswith("`") else title.strip("* ")
    if rest:
        raw.setdefault(_REST_KEYS[kind], rest)
    make_claim(found, local_id, raw, line, Family.HEADING)


def _fields(lines: Sequence[str], local_id: str) -> tuple[dict[str, Any], str]:
    """Return the fields of a record, each value reaching to the next key, and the prose beside them.

    What is listed below a key without a value is its value, as a list.
    """
    fields: dict[str, Any] = {}
    rest: list[str] = []
    current: str | None = None
    blank = in_part = False
    level = -1
    for line in lines:
        text, column, bullet = line.strip(), len(line) - len(line.lstrip()), _BULLET.match(line)
        pair, part = _field_in(line, local_id), _PART.match(line)
        if part is not None and _known(part[2], local_id):
            pair = part[2], ""
        if pair is not None:
            current, in_part, level = pair[0], part is not None, column if bullet else -1
            fields[current] = pair[1] or ([] if _known(current, local_id) else "")
        elif text and set(text) != {"-"}:
            value: Any = fields[current] if current is not None else ""
            listing, sibling = isinstance(value, list), column <= level and field_of(line) is not None
            goes_on = column or in_part or (not blank and (listing or value))
            if current is None or not ((listing and bullet) or (goes_on and not sibling)):
                current = None
                rest.append(text)
            elif listing and bullet:
                value.append(line[bullet.end() :].strip())
            elif listing and value:
                value[-1] += f" {text}"
            else:
                fields[current] = f"{value or ''}\n{text.removeprefix('- ') if column else text}".strip()
        blank = not text
    return {key: value or "" for key, value in fields.items()}, "\n".join(rest)


def _field_in(line: str, local_id: str) -> tuple[str, str] | None:
    """Return key and value of a line that opens a field: in bold any key does, else one that is known."""
    pair = field_of(line)
    if pair is None or _BOLD.match(line):
        return pair
    listed = line.lstrip().startswith(("-", "*", "+"))
    return pair if (_known(pair[0], local_id) if listed else _PLAIN_KEY.fullmatch(fold(pair[0]))) else None


# Tables

_ID_COLUMN = re.compile("(?:local |decision |thread |artifact )?id|thread|artifact|decision|#")


def read_tables(page: Page) -> tuple[Chunk, ...]:
    """Read the tables that list entities, and return the rows of chunk tables."""
    chunks: list[Chunk] = []
    indexes = [
        (s.heading_line, s.last_line) for s in page.document.sections if fold(s.title) == "decision index"
    ]
    for each in page.document.tables:
        columns = each.columns
        if not page.own[each.line - 1]:
            continue
        if "chunk id" in columns or "chunk" in columns or columns[:1] == ("range",):
            chunks += _chunks(each)
        elif columns and _ID_COLUMN.fullmatch(columns[0]):
            in_index = any(first <= each.line <= last for first, last in indexes)
            family = Family.INDEX if in_index or "ref" in columns else Family.TABLE
            for line, row in each.rows:
                _take_row(page.found, columns, row, line, family)
    return tuple(chunks)


def _take_row(
    found: ClaimList, columns: Sequence[str], row: Sequence[str], line: int, family: Family
) -> None:
    local_id = bare(row[0]) if row else ""
    is_short = SHORT_ID.fullmatch(local_id) is not None
    if not is_short and not LOCAL_ID.fullmatch(local_id):
        return
    raw = {name: cell for name, cell in zip(columns[1:], row[1:], strict=False) if cell}
    if is_short:
        raw["entity"] = local_id
    if kind_of(local_id) == "T":
        key = next((key for key in ("title", "thread", "description", "text") if key in raw), None)
        if key is not None:
            raw[key], fields = annotated(raw[key], "T")
            raw = {**fields, **raw}
    make_claim(found, local_id, {k: v for k, v in raw.items() if v}, line, family)


def _chunks(table: Table) -> Iterator[Chunk]:
    for line, row in table.rows:
        cell = dict(zip(table.columns, row, strict=False))
        ref, turns, topic, decisions = (
            next((cell[name] for name in names.split("|") if name in cell), "")
            for names in (
                "chunk id|chunk",
                "turn range|turns|range",
                "topic|topic cluster",
                "decisions|key decisions",
            )
        )
        ids = tuple(IDS.findall(decisions))
        yield Chunk(ref=bare(ref), turns=parse_range(turns), topic=topic, decisions=ids, line=line)


# Labels: headings and lead-ins above records, and the status that they give

_LABEL = re.compile(r"\s{0,8}(?P<bullet>[-*+]\s+)?(?:\*\*|__)(?P<label>[^*_]{1,120}?):?(?:\*\*|__):?\s*$")
_PLAIN_LABEL = re.compile(r"(?P<label>[A-Za-z][A-Za-z ()/&,-]{2,80}):\s*$")
_KIND_NOUNS = {
    "T": r"(?:thread|question|issue|item|topic|task|point|problem|matter)s?",
    "D": r"(?:decision|choice)s?",
}
_STATES: Mapping[str, Mapping[str, Enum]] = {
    "T": table(
        (ThreadStatus.OPEN, "open active pending unresolved outstanding remaining ongoing unanswered"),
        (ThreadStatus.OPEN, "blocked paused deferred reopened"),
        (ThreadStatus.RESOLVED, "resolved closed completed answered done settled fixed solved"),
        (ThreadStatus.SUPERSEDED, "superseded"),
        (ThreadStatus.ABANDONED, "abandoned dropped cancelled canceled"),
    ),
    "D": table(
        (DecisionStatus.ACTIVE, "active current standing accepted confirmed"),
        (DecisionStatus.SUPERSEDED, "superseded replaced"),
        (DecisionStatus.INVALIDATED, "invalidated withdrawn retracted deprecated"),
    ),
}
_NOT_YET = re.compile(r"\b(?:to be|not|never|yet)\b")
_IN_PART = re.compile(r"\b(?:partially|partly|half|nearly|almost|mostly)\b")
_BETWEEN = r"(?:that |which |are |is |were |was |been |have |has |now |already |all |still |recently )*"
_BEHIND = r"(?: (?:in|this|since|during|now|by|at|on|from|as|so|with|today|here|earlier|before)\b.*)?"


def status_of(label: str, kind: str) -> Enum | None:
    """Return the status that a label gives to the records of a kind (D or T) below it, or None."""
    if "?" in label:
        return None
    return _status_in(fold(label), kind) or _status_in(_letters(label), kind)


def _status_in(words: str, kind: str) -> Enum | None:
    found = {_STATES[kind][word] for word in words.split() if word in _STATES[kind]}
    if len(found) != 1 or _IN_PART.search(words):
        return None
    if _NOT_YET.search(words):
        return ThreadStatus.OPEN if kind == "T" else None
    state, noun = f"(?:{'|'.join(_STATES[kind])})", _KIND_NOUNS[kind]
    beside = rf"\b{state} (?:(?:and|or) \w+ )?{noun}\b|\b{noun} {_BETWEEN}{state}\b|^{state}{_BEHIND}$"
    return found.pop() if re.search(beside, words) else None


def _letters(label: str) -> str:
    return " ".join(re.findall(r"[a-z]+", label[:200].casefold()))


def _names_kind(label: str, kind: str) -> bool:
    return re.search(rf"\b{_KIND_NOUNS[kind]}\b", _letters(label)) is not None


def read_labels(page: Page) -> set[int]:
    """Give each record without a status that of the nearest label; return the lines below any label."""
    spans = list(_labels(page))
    for kind in _KIND_NOUNS:
        status: list[Enum | None] = [None] * len(page.own)
        for first, last, label in spans:
            if (named := status_of(label, kind)) is not None:
                status[first - 1 : last] = [named] * (min(last, len(status)) - first + 1)
        for claim in page.found.claims:
            named = status[claim.line - 1] if claim.kind == kind else None
            if named is not None and "status" not in claim.values and claim.family is not Family.MACHINE:
                claim.values["status"] = named
    listing = [span for span in spans if any(_names_kind(span[2], kind) for kind in _KIND_NOUNS)]
    return {number for first, last, _ in listing for number in range(first, last + 1)}


def _labels(page: Page) -> Iterator[tuple[int, int, str]]:
    """Yield first line, last line and words of each label: headings, then lead-ins."""
    headings = set()
    for section in page.document.sections:
        if record_start(page.document.lines[section.heading_line - 1]) is None:
            headings.add(section.heading_line)
            yield section.first_line, section.last_line, section.title
    opened: tuple[int, str] | None = None
    for number, line in enumerate(page.document.lines, 1):
        label = _label_in(line, taken=number in page.taken) if page.own[number - 1] else None
        if label is None and number not in headings:
            continue
        if opened is not None:
            yield opened[0], number - 1, opened[1]
        opened = (number + 1, label) if label is not None else None
    if opened is not None:
        yield opened[0], len(page.document.lines), opened[1]


def _label_in(line: str, *, taken: bool) -> str | None:
    """Return the words of a lead-in; one without a status counts in bold only, and outside of records."""
    bold = _LABEL.match(line) if len(line) <= LINE_LIMIT else None
    match = bold or _PLAIN_LABEL.match(line)
    if match is None or (bold and record_start(line)):
        return None
    label = match["label"]
    if bold and not taken and not bold["bullet"]:
        return label
    kinds = [kind for kind in _KIND_NOUNS if status_of(label, kind)]
    return label if any((bold and not taken) or _names_kind(label, kind) for kind in kinds) else None


# Sentences, and open threads that are numbered without ids

_LIST_IN_SENTENCE = re.compile(
    r"\b(?P<what>open|active|unresolved|outstanding|remaining|resolved|closed|key|main|final)?\s{0,3}"
    r"(?P<noun>threads?|decisions?)\b[^:.;]{0,60}:(?:\*\*)?\s+(?=\S)",
    re.IGNORECASE,
)
_FIRST_CLAUSE = re.compile(r"(OT\d{3}|[DT]\d{3,4})(?![A-Za-z0-9_])[\s:\u2013\u2014-]{0,4}")
_CLAUSE = re.compile(r"[;.\n]\s{0,8}(?:and\s)?(OT\d{3}|[DT]\d{3,4})(?![A-Za-z0-9_])[\s:\u2013\u2014-]{0,4}")
_SENTENCE_END = re.compile(r"[.;\n](?:\s|$)")
_JOINING = re.compile(r"\b(?:and|or|to|through|OT\d{3}|[DTA]\d{3,4})\b|[\s,;&\u2013\u2014-]")
_NUMBERED = re.compile(r"\s{0,8}(\d{1,3})[.)]\s+(\S.*)$")
_BOLD_LEAD_IN = re.compile(r"\s{0,3}(?:\*\*|__)([^*_]{1,120}?):?(?:\*\*|__):?\s*$")
_SHORT = re.compile(
    r"\s{0,8}(?P<mark>#{2,6}\s+|[-*+]\s+|\d{1,3}[.)]\s+)?(?P<bold>\*\*)?(?P<id>(?:OT|[DT])\d{1,2})"
    r"(?:\s*[(\[][^()\[\]]{0,80}[)\]])?(?::\*\*|\*\*\s*:|\s*:|\s+[\u2014\u2013-]+\s)"
)
_DEFINES = re.compile(r"\s*(?:#{1,6}\s+|[-*+]\s+|\d{1,4}[.)]\s+|\|\s*)?(?:\[[ xX]\]\s+)?[*`\[_~]{0,5}$")
_WORDS = re.compile(r"[^\W_]{3,}")
_FENCE_RULE = re.compile(r"\s*-{3,}\s*$")
_PARAGRAPH_LINES = 1000
_SENTENCE_STATUS = {
    **dict.fromkeys(("open", "active", "unresolved", "outstanding", "remaining"), "open"),
    **dict.fromkeys(("resolved", "closed"), "resolved"),
}
_THREAD_HEADINGS = ("open threads", "open thread", "unresolved threads", "active threads")


def read_sentences(page: Page) -> None:
    """Read `Open threads: T001 title (high); T002 title` in running text."""
    for first, text in _paragraphs(page):
        reached = 0
        for lead in _LIST_IN_SENTENCE.finditer(text):
            if lead.start() >= reached:
                status = _SENTENCE_STATUS.get((lead["what"] or "").casefold(), "")
                kind = lead["noun"][0].upper()
                reached = _clauses(page.found, text, lead.end(), first, status, kind)


def _paragraphs(page: Page) -> Iterator[tuple[int, str]]:
    """Yield first line and text of each stretch of plain lines."""
    stretch: list[str] = []
    last = 0
    for number, line in (*page.lines(), (len(page.own) + 2, "")):
        plain = number not in page.taken and line.strip() and not line.lstrip().startswith(("|", "#"))
        if stretch and (not plain or number != last + 1):
            yield last - len(stretch) + 1, "\n".join(stretch[:_PARAGRAPH_LINES])[:LINE_LIMIT]
            stretch = []
        if plain:
            stretch.append(line)
            last = number


def _clauses(found: ClaimList, text: str, start: int, first: int, status: str, kind: str) -> int:
    """Read the clauses behind one lead-in, up to the first without an id; return where they end."""
    stop = start
    match = _FIRST_CLAUSE.match(text, start)
    while match:
        end = _SENTENCE_END.search(text, match.end())
        stop = end.start() if end else len(text)
        local_id = match.group(1)
        title, raw = annotated(text[match.end() : stop].strip().rstrip(".;"), kind_of(local_id))
        if kind_of(local_id) == kind and _JOINING.sub("", title):
            given = {"status": status} if status and kind == "T" else {}
            line = first + text.count("\n", 0, match.start(1))
            make_claim(found, local_id, {**given, **raw, _TEXT_KEYS[kind]: title}, line, Family.PROSE)
        match = _CLAUSE.match(text, stop)
    return stop


def read_numbered(page: Page) -> None:
    """Number the open threads without ids as `OT001`..., but for those that restate a recorded thread."""
    headings = {s.heading_line: fold(s.title) for s in page.document.sections}
    inside = False
    for number, line in enumerate(page.document.lines, 1):
        if number in headings:
            inside = headings[number].startswith(_THREAD_HEADINGS)
        elif not page.own[number - 1] or len(line) > LINE_LIMIT:
            continue
        elif lead := _BOLD_LEAD_IN.match(line):
            inside = fold(lead.group(1)).startswith(_THREAD_HEADINGS)
        elif _FENCE_RULE.match(line):
            inside = False
        elif inside and number not in page.taken and (item := _NUMBERED.match(line)):
            title, raw = annotated(item.group(2), "T")
            if not IDS.match(title.lstrip("*` ")):
                page.found.unnumbered.append((number, title, {**raw, "number": item.group(1)}))
    _number_threads(page.found)


def _number_threads(found: ClaimList) -> None:
    used = {claim.local_id for claim in found.claims}
    known = [_word_set(claim.values.get("text", "")) for claim in found.claims if claim.kind == "T"]
    count = 0
    for line, title, raw in found.unnumbered:
        words = _word_set(title)
        if not title.strip() or any(_restates(words, other) for other in known[:1000]):
            continue
        wanted = parse_integer(raw.get("number")) or 0
        if not 1 <= wanted <= 999:
            wanted = count + 1
        while f"OT{wanted:03d}" in used:
            wanted += 1
        count = max(count, wanted)
        if wanted > 999:
            found.warn("unreadable-record", "more than 999 threads without ids; the rest was left out", line)
            return
        used.add(f"OT{wanted:03d}")
        known.append(words)
        fields = {"status": "open"} | {k: v for k, v in raw.items() if k not in ("number", "title")}
        fields["title"] = one_line(title.replace("**", ""))
        make_claim(found, f"OT{wanted:03d}", fields, line, Family.PROSE)


def _word_set(text: str) -> set[str]:
    return {word.casefold() for word in _WORDS.findall(text[:500])}


def _restates(words: set[str], other: set[str]) -> bool:
    common = len(words & other)
    return common > 0 and 2 * common >= min(len(words), len(other)) + 1


# Ids without a record


def seen_ids(page: Page) -> dict[str, tuple[int, bool]]:
    """Return each id in the archive's own lines: its first line, and whether a line begins with it."""
    seen: dict[str, tuple[int, bool]] = {}
    for number, line in enumerate(page.document.lines, 1):
        if not page.own[number - 1]:
            continue
        for match in (*IDS.finditer(line), *SHORT_ID.finditer(line)):
            local_id = match.group()
            defines = match.start() < 40 and _DEFINES.match(line[: match.start()]) is not None
            if defines or not is_short(
                local_id
            ):  # a short id elsewhere is a reference, which `fold` looks up
                first, defined = seen.get(local_id, (number, False))
                seen[local_id] = first, defined or defines
    return seen


def report_lost_ids(
    page: Page, seen: Mapping[str, tuple[int, bool]], known: Collection[str], *, has_parent: bool
) -> None:
    """Add a problem for each id, mentioned or referred to, that has no record."""
    # A100 is a processor as often as an artifact; artifacts are numbered from A001.
    has_artifacts = any(local_id[:2] in ("A0", "A1") for local_id in known)
    lost = {k: v for k, v in seen.items() if k not in known and (k[:2] != "A1" or has_artifacts)}
    for claim in page.found.claims:
        for local_id in claim.references:
            if local_id not in known:
                lost.setdefault(local_id, (claim.line, False))
    for local_id, (line, defines) in lost.items():
        if has_parent and not defines:
            message = f"{local_id} is no record of this archive; it may be its parent's"
            page.found.problems.append(
                Problem(code="foreign-id", message=message, line=line, severity=Severity.INFO)
            )
        else:
            fix = f"write it as `### {local_id}: ...` or in the YAML log"
            if is_short(local_id):
                fix = f"write it as `- {local_id}: ...` with its words"
            page.found.warn(
                "unparsed-id", f"{local_id} is named but no record of it could be read", line, fix
            )


def report_short_ids(page: Page, known: Collection[str], listed: Collection[int]) -> None:
    """Warn of each line that begins as a record does, but with an id of one or two digits.

    Without bold marks or a heading only in `listed` lines: elsewhere `- D2: a printer` is no decision.
    """
    for number, line in enumerate(page.document.lines, 1):
        match = _SHORT.match(line) if page.own[number - 1] else None
        if match is None or match["id"] in known:
            continue
        if match["bold"] or _is_heading(match) or number in listed:
            kind = match["id"].rstrip("0123456789")
            message = f"{match['id']} begins a line like a record's, but such ids have three digits"
            fix = f"write {kind}{match['id'].removeprefix(kind):0>3} if it is one"
            page.found.warn("short-id", message, number, fix)


def read_summary(document: Document) -> str:
    """Return the first paragraph of the foundational context, compressed state or continuation prompt."""
    for key in ("foundational context", "compressed state", "continuation prompt"):
        for section in document.sections:
            if fold(section.title) == key and (
                text := _paragraph(document, section.first_line, section.last_line)
            ):
                return text
    for number, line in enumerate(document.lines, 1):
        lead = _BOLD_LEAD_IN.match(line) if line.startswith(("**", "__")) else None
        if lead and fold(lead.group(1)).startswith("continuation prompt"):
            return _paragraph(document, number + 1, len(document.lines))
    return ""


def _paragraph(document: Document, first: int, last: int) -> str:
    """Return the first paragraph of a stretch, on one line, before any heading, fence or table."""
    stops = {s.heading_line for s in document.sections} | {f.first_line for f in document.fences}
    stops |= {table.line for table in document.tables}
    words: list[str] = []
    for number in range(first, min(last, len(document.lines)) + 1):
        line = document.lines[number - 1].strip()
        rule = _FENCE_RULE.match(line)
        if number in stops or (words and (not line or rule)):
            break
        if line and not rule:
            words.append(line)
    return one_line(" ".join(words)[:LINE_LIMIT])
