"""What an archive says in sentences: records named in them, numbered threads, its state, and lost ids."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from forgekit.archives.claims import IDS, SHORT_ID, Claim, ClaimList, kind_of, make_claim, parse_integer
from forgekit.archives.document import LINE_LIMIT, Document, fold
from forgekit.archives.formats.records import annotated
from forgekit.model.archive_record import Family
from forgekit.model.kinds import is_short
from forgekit.model.problem import Problem, Severity
from forgekit.model.rules import one_line

_LEAD_IN = re.compile(
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
_STATUS = {
    **dict.fromkeys(("open", "active", "unresolved", "outstanding", "remaining"), "open"),
    **dict.fromkeys(("resolved", "closed"), "resolved"),
}
_THREAD_HEADINGS = ("open threads", "open thread", "unresolved threads", "active threads")


def read_sentences(
    found: ClaimList, lines: Sequence[str], own: Sequence[bool], taken: Collection[int]
) -> None:
    """Read `Open threads: T001 title (high); T002 title` in running text."""
    for first, text in _paragraphs(lines, own, taken):
        reached = 0
        for lead in _LEAD_IN.finditer(text):
            if lead.start() < reached:
                continue
            status = _STATUS.get((lead["what"] or "").casefold(), "")
            reached = _clauses(found, text, lead.end(), first, status, lead["noun"][0].upper())


def _paragraphs(
    lines: Sequence[str], own: Sequence[bool], taken: Collection[int]
) -> Iterator[tuple[int, str]]:
    """Yield (0-based first line, text) of each stretch of plain lines."""
    start: int | None = None
    for number in range(len(lines) + 1):
        plain = (
            number < len(lines)
            and own[number]
            and number + 1 not in taken
            and lines[number].strip() != ""
            and not lines[number].lstrip().startswith(("|", "#"))
            and len(lines[number]) <= LINE_LIMIT
        )
        if plain and start is None:
            start = number
        elif not plain and start is not None:
            yield start, "\n".join(lines[start : min(number, start + _PARAGRAPH_LINES)])[:LINE_LIMIT]
            start = None


def _clauses(found: ClaimList, text: str, start: int, first: int, status: str, kind: str) -> int:
    """Read the clauses behind one lead-in, up to the first that names no id; return where they end."""
    stop = start
    match = _FIRST_CLAUSE.match(text, start)
    while match:
        end = _SENTENCE_END.search(text, match.end())
        stop = end.start() if end else len(text)
        local_id = match.group(1)
        title, raw = annotated(text[match.end() : stop].strip().rstrip(".;"), kind_of(local_id))
        if kind_of(local_id) == kind and _JOINING.sub("", title):
            key = "decision" if kind == "D" else "title"
            fields = {**({"status": status} if status and kind == "T" else {}), **raw, key: title}
            make_claim(found, local_id, fields, first + text.count("\n", 0, match.start(1)) + 1, Family.PROSE)
        match = _CLAUSE.match(text, stop)
    return stop


def read_numbered(found: ClaimList, document: Document, own: Sequence[bool], taken: Collection[int]) -> None:
    """Collect the numbered items under an "Open Threads" heading or lead-in that carry no id."""
    headings = {s.heading_line: fold(s.title) for s in document.sections}
    inside = False
    for number, line in enumerate(document.lines, 1):
        if number in headings:
            inside = headings[number].startswith(_THREAD_HEADINGS)
            continue
        if not own[number - 1] or len(line) > LINE_LIMIT:
            continue
        lead = _BOLD_LEAD_IN.match(line)
        if lead:
            inside = fold(lead.group(1)).startswith(_THREAD_HEADINGS)
        elif _FENCE_RULE.match(line):
            inside = False
        elif inside and number not in taken and (item := _NUMBERED.match(line)):
            title, raw = annotated(item.group(2), "T")
            if not IDS.match(title.lstrip("*` ")):
                found.unnumbered.append((number, title, {**raw, "number": item.group(1)}))


def number_threads(found: ClaimList) -> None:
    """Give the threads without ids `OT001`...; one that restates a recorded thread stays out."""
    used = {claim.local_id for claim in found.claims}
    known = [_words(claim.values.get("text", "")) for claim in found.claims if claim.kind == "T"]
    count = 0
    for line, title, raw in found.unnumbered:
        words = _words(title)
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
        local_id = f"OT{wanted:03d}"
        used.add(local_id)
        known.append(words)
        fields: Mapping[str, Any] = {k: v for k, v in raw.items() if k not in ("number", "title")}
        fields = {"status": "open", **fields, "title": one_line(title.replace("**", ""))}
        make_claim(found, local_id, fields, line, Family.PROSE)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORDS.findall(text[:500])}


def _restates(words: set[str], other: set[str]) -> bool:
    common = len(words & other)
    return common > 0 and 2 * common >= min(len(words), len(other)) + 1


def seen_ids(lines: Sequence[str], own: Sequence[bool]) -> dict[str, tuple[int, bool]]:
    """Return each id in the archive's own lines: its first line, and whether a line begins with it."""
    seen: dict[str, tuple[int, bool]] = {}
    for number, line in enumerate(lines, 1):
        if not own[number - 1]:
            continue
        for match in (*IDS.finditer(line), *SHORT_ID.finditer(line)):
            local_id = match.group()
            defines = _DEFINES.match(line[: min(match.start(), 40)]) is not None and match.start() < 40
            if not defines and is_short(local_id):  # a reference, which `fold` looks up
                continue
            if local_id not in seen:
                seen[local_id] = (number, defines)
            elif defines and not seen[local_id][1]:
                seen[local_id] = (seen[local_id][0], True)
    return seen


def name_short_ids(
    found: ClaimList,
    lines: Sequence[str],
    own: Sequence[bool],
    known: Collection[str],
    listed: Collection[int],
) -> None:
    """Warn of each line that begins as a record does, but with an id of one or two digits.

    Args:
        found: receives the warnings.
        lines: of the text.
        own: for each line (0-based) whether it speaks for the archive itself.
        known: ids of records.
        listed: lines below a label of decisions or threads; elsewhere a plain `- D2: a printer` is none.
    """
    for number, line in enumerate(lines, 1):
        match = _SHORT.match(line) if own[number - 1] else None
        if match is None or match["id"] in known:
            continue
        if match["bold"] or (match["mark"] or "").startswith("#") or number in listed:
            kind = match["id"].rstrip("0123456789")
            message = f"{match['id']} begins a line like a record's, but such ids have three digits"
            fix = f"write {kind}{match['id'].removeprefix(kind):0>3} if it is one"
            found.warn("short-id", message, number, fix)


def lost_ids(
    found: ClaimList, seen: Mapping[str, tuple[int, bool]], known: Collection[str], *, has_parent: bool
) -> Iterator[Problem]:
    """Yield a finding for each id that no record answers to."""
    for local_id, line, defines in _unanswered(found.claims, seen, known):
        if has_parent and not defines:
            yield Problem(
                code="foreign-id",
                message=f"{local_id} is no record of this archive; it may be its parent's",
                line=line,
                severity=Severity.INFO,
            )
        else:
            yield Problem(
                code="unparsed-id",
                message=f"{local_id} is named but no record of it could be read",
                line=line,
                fix=f"write it as `- {local_id}: ...` with its words"
                if is_short(local_id)
                else f"write it as `### {local_id}: ...` or in the YAML log",
                severity=Severity.WARNING,
            )


def _unanswered(
    claims: Iterable[Claim], seen: Mapping[str, tuple[int, bool]], known: Collection[str]
) -> Iterator[tuple[str, int, bool]]:
    told: set[str] = set()
    for local_id, (line, defines) in seen.items():
        # A100 is a processor as often as an artifact; artifacts are numbered from A001.
        if local_id not in known and (local_id[:2] != "A1" or any(k[:2] in ("A0", "A1") for k in known)):
            told.add(local_id)
            yield local_id, line, defines
    for claim in claims:
        for local_id in claim.references:
            if local_id not in known and local_id not in told:
                told.add(local_id)
                yield local_id, claim.line, False


def read_summary_of(document: Document) -> str:
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
        if number in stops or (words and (not line or _FENCE_RULE.match(line))):
            break
        if line and not _FENCE_RULE.match(line):
            words.append(line)
    return one_line(" ".join(words)[:LINE_LIMIT])
