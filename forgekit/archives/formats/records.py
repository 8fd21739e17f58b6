"""Records in Markdown: headings, bullets, bold lead-ins, and the tables of entities.

`### D001: Title` with bullets `- **Tier:** 0.8`; `- **T001:** title (High)`; `**T001 (HIGH):** text`;
`| D001 | text | 0.8 |`. Only lines that speak for the archive itself are looked at (see `zones`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from forgekit.model.thread import ThreadStatus

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
_ID_COLUMNS = {
    "local id",
    "id",
    "decision id",
    "thread id",
    "artifact id",
    "thread",
    "artifact",
    "decision",
    "#",
}


def field_of(line: str) -> tuple[str, str] | None:
    """Return key and value of a `- **Key:** value` line, or None."""
    match = _FIELD.match(line) if len(line) <= LINE_LIMIT else None
    if match is None or LOCAL_ID.fullmatch(match["key"]):
        return None
    return match["key"], match["value"].strip()


def read_records(found: ClaimList, document: Document, own: Sequence[bool]) -> set[int]:
    """Read heading, bullet and bold records; return the numbers of the lines that belong to one.

    Args:
        found: receives the claims.
        document: the text.
        own: for each line (0-based) whether it speaks for this archive.
    """
    lines = document.lines
    taken: set[int] = set()
    headings = {section.heading_line for section in document.sections}
    number = 0
    while number < len(lines):
        match = record_start(lines[number]) if own[number] else None
        if match is None or _in_table(lines[number]):
            number += 1
            continue
        end = _end_of_record(lines, own, headings, number, match)
        _take_record(found, lines[number:end], number + 1, match)
        taken.update(range(number + 1, end + 1))
        number = end
    return taken


def _in_table(line: str) -> bool:
    return line.lstrip().startswith("|")


def record_start(line: str) -> re.Match[str] | None:
    """Return how a line begins a record, None if it begins none."""
    if len(line) > LINE_LIMIT or not _NAMED.search(line, 0, 60):
        return None
    match = _START.match(line)
    if match is None:
        return None
    if "~~" in match["open"] and kind_of(match["id"]) != "T":  # what was struck out is not in force
        return None
    is_heading = (match["mark"] or "").startswith("#")
    if not match["mark"] and match["colon"] in (None, "."):  # a sentence may end with an id
        return None
    if not is_heading and not (match["colon"] and match["title"].strip(" *:\u2014\u2013-")):
        return None
    return match


def _end_of_record(
    lines: Sequence[str], own: Sequence[bool], headings: set[int], start: int, match: re.Match[str]
) -> int:
    """Return the 0-based line after a record: a heading's reaches to the next heading or record."""
    is_heading = (match["mark"] or "").startswith("#")
    indent = len(match["indent"])
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if number + 1 in headings and not (is_heading and _part_of(line, match)):
            return number
        if not own[number] or _in_table(line):
            return number
        if not is_heading and (not line.strip() or len(line) - len(line.lstrip()) <= indent):
            return number
        if record_start(line):
            return number
    return len(lines)


def _part_of(line: str, match: re.Match[str]) -> bool:
    """Say whether a line is a heading below the record's own that names one of its fields."""
    part = _PART.match(line)
    return part is not None and len(part[1]) > match["mark"].count("#") and _known(part[2], match["id"])


def _known(key: str, local_id: str) -> bool:
    return fold(key) in KEYS[kind_of(local_id)]


def _take_record(found: ClaimList, lines: Sequence[str], line: int, match: re.Match[str]) -> None:
    local_id = match["id"]
    title = match["title"].strip()
    if "**" in match["open"] and not (match["colon"] or "").replace(" ", "").count("**"):
        title = title.replace("**", "", 1)
    if title.startswith(("\u2014", "\u2013", ":")):
        title = title.lstrip(":\u2014\u2013 ").strip()
    if "~~" in match["open"]:
        title = f"[x] ~~{title}"
    elif match["tick"] and kind_of(local_id) == "T":
        title = f"[x] {title}"
    notes = match["notes"]
    if not notes and (behind := _BEHIND_ID.match(title)) and (match["colon"] or "").strip() in ("**", "__"):
        notes, title = behind["notes"], title[behind.end() :]
    title, raw = annotated(title, kind_of(local_id))
    if notes:
        rest, told = noted(notes, kind_of(local_id))
        raw = {**told, **raw}
        title = f"{title} ({rest})" if rest and bare(title) else title
    fields, rest = _fields(lines[1:], local_id)
    entity = match["entity"] or (local_id if SHORT_ID.fullmatch(local_id) else None)
    raw = {**raw, **fields, **({"entity": entity} if entity else {})}
    text_key = {"D": "decision", "T": "title", "A": "name"}[kind_of(local_id)]
    if bare(title) and not any(fold(key) == text_key for key in raw):
        raw[text_key] = bare(title) if title.startswith("`") else title.strip("* ")
    if rest:
        raw.setdefault({"D": "context", "T": "content", "A": "summary"}[kind_of(local_id)], rest)
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
    return pair if (_known(pair[0], local_id) if listed else fold(pair[0]) in _PLAIN_KEYS) else None


_PLAIN_KEYS = {
    "status",
    "priority",
    "blocked by",
    "tier",
    "turn",
    "rationale",
    "decision",
    "resolution",
    "context",
}


def read_tables(
    found: ClaimList, document: Document, own: Sequence[bool], index_lines: set[int]
) -> tuple[Chunk, ...]:
    """Read the tables that list entities, and return the rows of chunk tables.

    Args:
        found: receives the claims.
        document: the text.
        own: for each line (0-based) whether it speaks for this archive.
        index_lines: the lines of decision indexes.
    """
    chunks: list[Chunk] = []
    for each in document.tables:
        if not own[each.line - 1]:
            continue
        columns = each.columns
        if "chunk id" in columns or "chunk" in columns or columns[:1] == ("range",):
            chunks += _chunks(each)
        elif columns and columns[0] in _ID_COLUMNS:
            family = Family.INDEX if each.line in index_lines or "ref" in columns else Family.TABLE
            for line, row in each.rows:
                _take_row(found, columns, row, line, family)
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
    kind = kind_of(local_id)
    raw.setdefault({"D": "decision", "T": "title", "A": "name"}[kind], "")
    if kind == "T" and not raw["title"]:
        raw.pop("title")
    for key in ("title", "thread", "description", "text"):
        if kind == "T" and key in raw:
            raw[key], told = annotated(raw[key], kind)
            raw = {**told, **raw}
            break
    make_claim(found, local_id, {k: v for k, v in raw.items() if v}, line, family)


def _chunks(table: Table) -> list[Chunk]:
    def cell(row: Sequence[str], *names: str) -> str:
        return next((row[table.columns.index(n)] for n in names if n in table.columns[: len(row)]), "")

    return [
        Chunk(
            ref=bare(cell(row, "chunk id", "chunk")),
            turns=parse_range(cell(row, "turn range", "turns", "range")),
            topic=cell(row, "topic", "topic cluster"),
            decisions=tuple(IDS.findall(cell(row, "decisions", "key decisions"))),
            line=line,
        )
        for line, row in table.rows
    ]


_LEAD_IN = re.compile(r"\s{0,8}(?P<bullet>[-*+]\s+)?(?:\*\*|__)(?P<label>[^*_]{1,120}?):?(?:\*\*|__):?\s*$")
_PLAIN_LEAD_IN = re.compile(r"(?P<label>[A-Za-z][A-Za-z ()/&,-]{2,80}):\s*$")
_NOUNS = {
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
    return _said(fold(label), kind) or _said(_words(label), kind)


def _said(words: str, kind: str) -> Enum | None:
    found = {_STATES[kind][word] for word in words.split() if word in _STATES[kind]}
    if len(found) != 1 or _IN_PART.search(words):
        return None
    if _NOT_YET.search(words):
        return ThreadStatus.OPEN if kind == "T" else None
    state, noun = f"(?:{'|'.join(_STATES[kind])})", _NOUNS[kind]
    beside = rf"\b{state} (?:(?:and|or) \w+ )?{noun}\b|\b{noun} {_BETWEEN}{state}\b|^{state}{_BEHIND}$"
    return found.pop() if re.search(beside, words) else None


def _words(label: str) -> str:
    return " ".join(re.findall(r"[a-z]+", label[:200].casefold()))


def announces(label: str) -> bool:
    """Say whether a label names decisions or threads."""
    words = _words(label)
    return any(re.search(rf"\b{noun}\b", words) for noun in _NOUNS.values())


def labels(document: Document, own: Sequence[bool], taken: Collection[int]) -> Iterator[tuple[int, int, str]]:
    """Yield first line, last line and words of what stands above lines: headings, then lead-ins.

    Args:
        document: the text.
        own: for each line (0-based) whether it speaks for the archive itself.
        taken: lines of records; a lead-in among them must name what it announces.
    """
    headings = set()
    for section in document.sections:
        if record_start(document.lines[section.heading_line - 1]) is None:
            headings.add(section.heading_line)
            yield section.first_line, section.last_line, section.title
    opened: tuple[int, str] | None = None
    for number, line in enumerate(document.lines, 1):
        label = _lead_in(line, taken=number in taken) if own[number - 1] else None
        if label is None and number not in headings:
            continue
        if opened is not None:
            yield opened[0], number - 1, opened[1]
        opened = (number + 1, label) if label is not None else None
    if opened is not None:
        yield opened[0], len(document.lines), opened[1]


def _lead_in(line: str, *, taken: bool) -> str | None:
    """Return the words of a lead-in; one that says nothing counts in bold only, and outside of records."""
    bold = _LEAD_IN.match(line) if len(line) <= LINE_LIMIT else None
    match = bold or _PLAIN_LEAD_IN.match(line)
    if match is None or (bold and record_start(line)):
        return None
    if bold and not taken and not bold["bullet"]:
        return bold["label"]
    kinds = [kind for kind in _NOUNS if status_of(match["label"], kind)]
    sure = bold and not taken
    named = any(sure or re.search(rf"\b{_NOUNS[kind]}\b", _words(match["label"])) for kind in kinds)
    return match["label"] if named else None


def said_by_line(lines: int, spans: Iterable[tuple[int, int, str]], kind: str) -> list[Enum | None]:
    """Return for each line (0-based) the status that the nearest label which says one gives to a kind.

    Args:
        lines: how many there are.
        spans: as `labels` yields them.
        kind: D or T.
    """
    said: list[Enum | None] = [None] * lines
    for first, last, label in spans:
        if (status := status_of(label, kind)) is not None:
            said[first - 1 : last] = [status] * (min(last, lines) - first + 1)
    return said
