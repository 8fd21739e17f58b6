"""Records in YAML: logs in code fences, and machine blocks, read in three versions and written in one.

v1  `<!-- FORGE_OS_MACHINE_BLOCK v1 -->` ... `<!-- /FORGE_OS_MACHINE_BLOCK -->`
v2  `<!-- FORGE_OS_MACHINE_BLOCK_START` ... `FORGE_OS_MACHINE_BLOCK_END -->`
v3  `<!-- forgekit:machine-block v3` ... `-->`: one closed comment of YAML; no text in it can hold `--`, so
    none can end the comment; `sha256` is that of the rest of the document, so an edit beside it shows.

A text that is not YAML is read record by record: each `- id:` item by itself, once as it is and once with its
one-line values quoted, because an unquoted `: ` inside a value is the usual slip.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forgekit.archives.claims import (
    LOCAL_ID,
    RECORDS_LIMIT,
    Claim,
    ClaimList,
    bare,
    is_none,
    items,
    make_claim,
    text_of,
)
from forgekit.archives.document import Document, fold, read_document, split_lines
from forgekit.errors import FormatError
from forgekit.model.archive_record import Family
from forgekit.model.problem import Problem
from forgekit.model.rules import one_line
from forgekit.text.frontmatter import ENTITY_LIMIT, Located, load_yaml

START = "<!-- forgekit:machine-block v3"
END = "-->"

_MARKERS = {
    1: (r"<!--\s*FORGE_OS_MACHINE_BLOCK\s+v1\s*-->", r"<!--\s*/FORGE_OS_MACHINE_BLOCK\s*-->"),
    2: (
        r"<!--\s*FORGE_OS_MACHINE_BLOCK_START\s*(?:-->)?",
        r"(?:<!--\s*)?FORGE_OS_MACHINE_BLOCK_END\s*-->",
    ),
    3: (r"<!--\s*forgekit:machine-block\s+v3", r"-->"),
}
_OPENERS = {version: re.compile(rf"\s*{marks[0]}\s*$") for version, marks in _MARKERS.items()}
_CLOSERS = {version: re.compile(rf"\s*{marks[1]}\s*$") for version, marks in _MARKERS.items()}
_VERSION_KEYS = {1: "schema_version", 2: "version", 3: "version"}
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(?:#{2,6}[ \t]+[^ \t]|# Conversation)")


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineRecord:
    """A decision or thread as a machine block holds it: `text` is the decision or the title.

    Attributes:
        id: the local id, "" where the registry has none.
        entity: the short id.
    """

    id: str
    text: str
    entity: str = ""
    tier: float | None = None
    status: str = ""
    priority: str = ""
    blocked_by: tuple[str, ...] = ()
    resolution: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineBlock:
    """One machine block.

    Attributes:
        version: 1, 2 or 3.
        purpose: `registry-state` or `updated-context` if forgekit printed it: its records name entities of
            the registry and are no claims of the archive that it was pasted into.
        first_line, last_line: 1-based, of the markers.
        fresh: whether `sha256` is that of the rest of the document; True without a `sha256`.
        broken: why it cannot be relied on, "" if it can.
        payload: the YAML as text, lists and mappings.
        claims: its records, converted.
        problems: what could not be read.
    """

    version: int = 3
    purpose: str = ""
    project: str = ""
    tag: str = ""
    parents: tuple[str, ...] = ()
    decisions: tuple[MachineRecord, ...] = ()
    threads: tuple[MachineRecord, ...] = ()
    first_line: int = 0
    last_line: int = 0
    fresh: bool = True
    broken: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    problems: tuple[Problem, ...] = ()


def parse_machine_block(text: str) -> list[MachineBlock]:
    """Read every machine block of a text outside code fences."""
    return read_blocks(read_document(text))


def read_blocks(document: Document) -> list[MachineBlock]:
    """Read the machine blocks of a document."""
    spans = list(_spans(document))
    own = [(first, last) for version, first, last, _ in spans if version == 3]
    digest = _digest(document.lines, own) if own else ""
    return [_read(document.lines, span, digest) for span in spans]


def _spans(document: Document) -> Iterator[tuple[int, int, int, bool]]:
    """Yield (version, first, last, closed) of each block, lines 1-based."""
    lines = document.lines
    fenced = {n for fence in document.fences for n in range(fence.first_line, fence.last_line + 1)}
    reached = 0
    for number, line in enumerate(lines, 1):
        if number > reached and "<!--" in line[:60] and len(line) < 200 and number not in fenced:
            version = next((v for v, opener in _OPENERS.items() if opener.match(line)), None)
            if version is not None:
                reached, closed = _end(lines, number, version)
                yield version, number, reached, closed


def _end(lines: Sequence[str], start: int, version: int) -> tuple[int, bool]:
    """Return the last line (1-based) of a block; one without an end stops before the next heading."""
    for number in range(start, len(lines)):
        line = lines[number]
        if len(line) < 200 and _CLOSERS[version].match(line):
            return number + 1, True
        if _HEADING.match(line[:20]) or any(opener.match(line[:200]) for opener in _OPENERS.values()):
            return number, False
    return len(lines), False


def _read(lines: Sequence[str], span: tuple[int, int, int, bool], digest: str) -> MachineBlock:
    version, first, last, closed = span
    inner = ["" if _FENCE.match(line[:20]) else line for line in lines[first : last - closed]]
    found = ClaimList()
    maps = read_log(found, "\n".join(inner) + "\n", first + 1, Family.MACHINE)
    payload: Mapping[str, Any] = maps[0] if maps else {}
    broken = ""
    if not closed:
        broken = "is never closed"
    elif any(problem.code == "damaged-yaml" for problem in found.problems) or not payload:
        broken = "is not YAML"
    elif bare(str(payload.get(_VERSION_KEYS[version], ""))) != str(version):
        broken = f"does not say {_VERSION_KEYS[version]}: {version}"
    metadata = payload.get("metadata")
    meta: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    return MachineBlock(
        version=version,
        purpose=_text(payload.get("purpose")),
        project=_text(payload.get("project", meta.get("project"))),
        tag=_text(payload.get("tag", payload.get("compression_tag", meta.get("compression_tag")))),
        parents=items(payload.get("parents", meta.get("previous_session", ""))),
        decisions=_machine_records(payload.get("decisions")),
        threads=_machine_records(payload.get("threads")),
        first_line=first,
        last_line=last,
        fresh=version != 3 or payload.get("sha256") == digest,
        broken=broken,
        payload=payload,
        claims=tuple(found.claims),
        problems=tuple(found.problems),
    )


def _text(value: Any) -> str:
    return "" if is_none(value) or not isinstance(value, str) else one_line(bare(value))


def _machine_records(value: Any) -> tuple[MachineRecord, ...]:
    rows = [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []
    return tuple(map(_machine_record, rows))


def _machine_record(row: Mapping[str, Any]) -> MachineRecord:
    try:
        tier = float(row["tier"])
    except (KeyError, TypeError, ValueError):
        tier = -1.0
    return MachineRecord(
        id=_text(row.get("id")),
        text=one_line(str(row.get("text", row.get("title", "")))),
        entity=_text(row.get("entity")),
        tier=tier if 0 <= tier <= 1 else None,
        status=_text(row.get("status")),
        priority=_text(row.get("priority")),
        blocked_by=items(row.get("blocked_by")),
        resolution=one_line(str(row.get("resolution", ""))),
    )


def _digest(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> str:
    """Return the SHA-256 of a document without its v3 blocks (`spans`); blank lines do not count."""
    rest = list(lines)
    for first, last in reversed(spans):
        del rest[first - 1 : last]
    text = "\n".join(line.rstrip() for line in rest if line.strip())
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def write_machine_block(block: MachineBlock, rest: str) -> str:
    """Write a v3 block from project, tag, parents and records; `rest` is the document around it."""
    digest = _digest(split_lines(rest), [])
    head = {"purpose": block.purpose, "project": block.project, "tag": block.tag}
    out = [START, "version: 3", f"sha256: {digest}"]
    out += [f"{key}: {_quote(value)}" for key, value in head.items() if value]
    if block.parents:
        out.append(f"parents: {_flow(block.parents)}")
    for name, key, records in (("decisions", "text", block.decisions), ("threads", "title", block.threads)):
        if records:
            out.append(f"{name}:")
            out += [record_line(record, key) for record in records]
    return "\n".join([*out, END]) + "\n"


def record_line(record: MachineRecord, key: str) -> str:
    """Return a record as a line of a block; `key` is what its text is called there."""
    pairs: list[tuple[str, str]] = [
        (name, _quote(value))
        for name, value in (
            ("id", record.id),
            ("entity", record.entity),
            (key, record.text),
            ("status", record.status),
            ("priority", record.priority),
            ("resolution", record.resolution),
        )
        if value
    ]
    if record.tier is not None:
        tier = f"{record.tier:.6f}".rstrip("0")
        pairs.append(("tier", f"{tier}0" if tier.endswith(".") else tier))  # a bare 1 is a class
    if record.blocked_by:
        pairs.append(("blocked_by", _flow(record.blocked_by)))
    return "  - {" + ", ".join(f"{name}: {value}" for name, value in pairs) + "}"


def _flow(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_quote, values))}]"


def _quote(text: str) -> str:
    """Quote text so that YAML and JSON read it alike and `--` never occurs."""
    from forgekit.text.blocks import HIDDEN, MARKS  # for writers alone

    quoted = HIDDEN.sub(_escape, json.dumps(one_line(text), ensure_ascii=False))
    quoted = MARKS.sub(lambda match: "".join(f"\\u{ord(c):04x}" for c in match.group()), quoted)
    return quoted.replace("--", "-\\u002d").replace("\ufffe", "").replace("\uffff", "")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_THREADS = {"open threads", "threads", "active threads", "resolved threads"}
_DECISIONS = {"decisions", "decisions made", "decision log"}
_RECORDS = {*_THREADS, *_DECISIONS, "artifacts", "artifacts produced"}
_CONTEXT = {"inherited context", "external store", "retrieval triggers"}
_ROOTS = {*_RECORDS, *_CONTEXT, "conversation state", "compression scope", "compression mode"}
_NO_RECORDS = {*_CONTEXT, "carried decisions", "in context"}
_STATUS = {"open threads": "open", "active threads": "open", "resolved threads": "resolved"}

_LEADING_TABS = re.compile(r"^[ ]*\t[ \t]*", re.MULTILINE)
_ITEM = re.compile(r"( *)- +id *: *(\S.*)?$")
_KEY = re.compile(r"( *)(?:- +)?([A-Za-z_][\w -]{0,60}?) *:(?: |$)")
_YAML_VALUE = re.compile(r"( *(?:- +)?[A-Za-z_][\w-]{0,60}): +(\S.*)$")
_OF_ARCHIVE = re.compile(
    r"id[\"']?\s*:\s*[\"'`]?(?:OT|[DTA])\d{1,4}\b|\b(?:OT\d{3}|[DTA]\d{3,4})[\"']?\s*:"
    r"|compress(?:ed|ion)[_ ]tag",
    re.IGNORECASE,
)


def is_log(info: str, content: str, *, in_record: bool) -> bool:
    """Say whether a fence holds YAML of an archive: by its info string, or by a known first key.

    Under a record's own heading one with an info string is an example, unless it names local ids or a tag.
    """
    if info in ("yaml", "yml", "json"):
        return not in_record or _OF_ARCHIVE.search(content) is not None
    first = next((line for line in content.splitlines() if line.strip() not in ("", "---")), "")
    return info == "" and first.rstrip().split(":")[0].replace("_", " ") in _ROOTS


def read_log(
    found: ClaimList, text: str, first_line: int, family: Family = Family.YAML, *, carried_only: bool = False
) -> list[Mapping[str, Any]]:
    """Read the records of a YAML text.

    Args:
        found: receives claims and problems.
        text: the YAML, without fences.
        first_line: the line number of its first line.
        family: what its claims count as.
        carried_only: nothing in it is the archive's own.

    Returns the mappings that could be read whole.
    """
    text = _LEADING_TABS.sub(lambda m: m.group().replace("\t", "  "), text)
    try:
        documents = _load(text, first_line)
    except FormatError as e:
        maps = _salvage(found, text, first_line, e, family, carried_only=carried_only)
    else:
        maps = [document for document in documents if isinstance(document, Located)]
        if not maps and (listed := [item for one in documents if isinstance(one, list) for item in one]):
            maps = [Located(first_line, {"decisions": listed})]
    for document in maps:
        _walk(found, document, family, carried=carried_only)
    return maps


def _load(text: str, first_line: int) -> list[Any]:
    if len(text) > ENTITY_LIMIT:
        raise FormatError(f"longer than {ENTITY_LIMIT:,} characters", line=first_line)
    return load_yaml(text, first_line)


def _walk(found: ClaimList, document: Mapping[str, Any], family: Family, *, carried: bool) -> None:
    """Take the records out of a mapping and the mappings in it; depth is bounded by the YAML reader."""
    for key, value in document.items():
        name = fold(key)
        inherited = carried or name in _NO_RECORDS
        if name == "carried decisions" or (name in _RECORDS and not inherited):
            _take(found, name, value, family, carried=inherited)
        elif isinstance(value, Mapping):
            _walk(found, value, family, carried=inherited)
        elif isinstance(value, list) and not inherited and _looks_like_records(value):
            _take(found, name, value, family, carried=False)


def _looks_like_records(value: list[Any]) -> bool:
    return any(
        isinstance(item, Mapping) and LOCAL_ID.fullmatch(bare(str(item.get("id", ""))).upper())
        for item in value
    )


def _take(found: ClaimList, name: str, value: Any, family: Family, *, carried: bool) -> None:
    for item in _records(value):
        line = getattr(item, "line", None) or 0
        if isinstance(item, Mapping):
            raw = {key: inner for key, inner in item.items() if fold(key) not in ("id", "local id")}
            given = next((v for k, v in item.items() if fold(k) in ("id", "local id")), "")
        else:
            raw, given = {"title": item}, ""
        if name in _STATUS and not any(fold(key) == "status" for key in raw):
            raw["status"] = _STATUS[name]
        local_id = bare(str(given)).upper()
        if LOCAL_ID.fullmatch(local_id):
            make_claim(found, local_id, raw, line, family, carried=carried)
        elif name in _THREADS and not local_id:
            title = next((v for k, v in raw.items() if fold(k) in ("title", "description")), "")
            found.unnumbered.append((line, text_of(title), raw))
        elif text_of(item):
            what = f"the id {local_id[:40]!r}" if local_id else "no id"
            found.warn("unreadable-record", f"a record under {name!r} has {what}", line or None, "D001, T001")


def _records(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            fields = inner if isinstance(inner, Mapping) else {"text": inner}
            yield Located(getattr(inner, "line", getattr(value, "line", 0)), {"id": key, **fields})


def _salvage(
    found: ClaimList, text: str, first_line: int, error: FormatError, family: Family, *, carried_only: bool
) -> list[Mapping[str, Any]]:
    """Read `- id:` items one by one; return the plain `key: value` lines outside of them as one mapping."""
    lines = text.split("\n")
    place = error.line or first_line
    outside = Located(first_line)
    read = lost = 0
    path: list[tuple[int, str]] = []
    number = 0
    while number < len(lines) and read + lost < RECORDS_LIMIT:
        line = lines[number]
        item = _ITEM.match(line)
        if item is None:
            key = _KEY.match(line)
            if key:
                _descend(path, len(key.group(1)), key.group(2))
                value = line[key.end() :].strip()
                if value and value[0] not in "|>[{&*!" and len(path) <= 2:
                    outside.setdefault(key.group(2), value)
            number += 1
            continue
        end = _end_of_item(lines, number, len(item.group(1)))
        names = [fold(name) for indent, name in path if indent <= len(item.group(1))]
        record = _read_item(lines[number:end], first_line + number)
        if record is None:
            lost += 1
            name = bare(item.group(2) or "")[:20]
            found.warn(
                "unreadable-record",
                f"the record {name} is not YAML; it was left out",
                first_line + number,
                "quote values that hold a colon",
            )
        else:
            read += 1
            carried = carried_only or any(name in _NO_RECORDS for name in names)
            if not carried or names[-1:] == ["carried decisions"]:
                _take(found, names[-1] if names else "decisions", [record], family, carried=carried)
        number = end
    fix = "" if lost else "quote values that hold a colon"
    found.warn("damaged-yaml", f"{error.message}; {read} records were read one by one", place, fix)
    return [outside]


def _descend(path: list[tuple[int, str]], indent: int, name: str) -> None:
    while path and path[-1][0] >= indent:
        path.pop()
    path.append((indent, name))


def _end_of_item(lines: list[str], start: int, indent: int) -> int:
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
            return number
    return len(lines)


def _read_item(lines: list[str], first_line: int) -> Located | None:
    for attempt in (lines, [_with_quotes(line) for line in lines]):
        try:
            documents = load_yaml("\n".join(attempt), first_line)
        except FormatError:
            continue
        if documents and isinstance(documents[0], list) and isinstance(documents[0][0], Located):
            return documents[0][0]
    return None


def _with_quotes(line: str) -> str:
    match = _YAML_VALUE.match(line)
    if match is None or match.group(2)[0] in "\"'[{|>":
        return line
    return f"{match.group(1)}: '{match.group(2).rstrip().replace(chr(39), chr(39) * 2)}'"
