"""Machine blocks: the part of a text that is written for programs, read in three versions and written in one.

v1  `<!-- FORGE_OS_MACHINE_BLOCK v1 -->` ... `<!-- /FORGE_OS_MACHINE_BLOCK -->`
v2  `<!-- FORGE_OS_MACHINE_BLOCK_START` ... `FORGE_OS_MACHINE_BLOCK_END -->`
v3  `<!-- forgekit:machine-block v3` ... `-->`: one closed comment of YAML; no text in it can hold `--`, so
    none can end the comment; `sha256` is that of the rest of the document, so an edit beside it shows.

The blocks that forgekit prints and the blocks that an archive brings back are the same value.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forgekit.archives.claims import Claim, ClaimList, bare, is_none, items
from forgekit.archives.document import Document, read_document, split_lines
from forgekit.archives.formats.yaml_log import read_log
from forgekit.model.archive_record import Family
from forgekit.model.problem import Problem
from forgekit.model.rules import one_line
from forgekit.text.blocks import HIDDEN, MARKS

START = "<!-- forgekit:machine-block v3"
END = "-->"

_OPENERS = {
    1: re.compile(r"\s*<!--\s*FORGE_OS_MACHINE_BLOCK\s+v1\s*-->\s*$"),
    2: re.compile(r"\s*<!--\s*FORGE_OS_MACHINE_BLOCK_START\s*(?:-->)?\s*$"),
    3: re.compile(r"\s*<!--\s*forgekit:machine-block\s+v3\s*$"),
}
_CLOSERS = {
    1: re.compile(r"\s*<!--\s*/FORGE_OS_MACHINE_BLOCK\s*-->\s*$"),
    2: re.compile(r"\s*(?:<!--\s*)?FORGE_OS_MACHINE_BLOCK_END\s*-->\s*$"),
    3: re.compile(r"\s*-->\s*$"),
}
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
        purpose: `registry-state` or `updated-context` where forgekit printed it: its records are names for
            what stands in the registry, never claims of the archive that it was pasted into.
        first_line, last_line: 1-based, of the markers.
        fresh: whether `sha256` is that of the rest of the document; True where none is given.
        broken: why nothing in it can be relied on, "" when it can.
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
    """Read every machine block of a text that does not stand inside a code fence."""
    return read_blocks(read_document(text))


def read_blocks(document: Document) -> list[MachineBlock]:
    """Read the machine blocks of a document."""
    spans = _spans(document)
    digest = ""
    if any(version == 3 for version, *_ in spans):
        digest = _digest(document.lines, [(first, last) for version, first, last, _ in spans if version == 3])
    return [_read(document.lines, span, digest) for span in spans]


def _spans(document: Document) -> list[tuple[int, int, int, bool]]:
    """Return (version, first, last, closed) of each block, lines 1-based."""
    lines = document.lines
    fenced = set[int]()
    for fence in document.fences:
        fenced.update(range(fence.first_line, fence.last_line + 1))
    spans: list[tuple[int, int, int, bool]] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        version = None
        if "<!--" in line[:60] and len(line) < 200 and number + 1 not in fenced:
            version = next((v for v, opener in _OPENERS.items() if opener.match(line)), None)
        if version is None:
            number += 1
            continue
        last, closed = _end(lines, number, version)
        spans.append((version, number + 1, last, closed))
        number = last
    return spans


def _end(lines: Sequence[str], start: int, version: int) -> tuple[int, bool]:
    """Return the last line (1-based) of a block; one without an end stops before the next heading."""
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if len(line) < 200 and _CLOSERS[version].match(line):
            return number + 1, True
        if _HEADING.match(line[:20]) or any(opener.match(line[:200]) for opener in _OPENERS.values()):
            return number, False
    return len(lines), False


def _read(lines: Sequence[str], span: tuple[int, int, int, bool], digest: str) -> MachineBlock:
    version, first, last, closed = span
    inner = list(lines[first : last - 1 if closed else last])
    inner = ["" if _FENCE.match(line[:20]) else line for line in inner]
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
    given = payload.get("sha256")
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
        fresh=version != 3 or given == digest,
        broken=broken,
        payload=payload,
        claims=tuple(found.claims),
        problems=tuple(found.problems),
    )


def _text(value: Any) -> str:
    return "" if is_none(value) or not isinstance(value, str) else one_line(bare(value))


def _machine_records(value: Any) -> tuple[MachineRecord, ...]:
    rows = [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []
    return tuple(_machine_record(row) for row in rows)


def _machine_record(row: Mapping[str, Any]) -> MachineRecord:
    try:
        tier = float(row["tier"])
    except (KeyError, TypeError, ValueError):
        tier = None
    return MachineRecord(
        id=_text(row.get("id")),
        text=one_line(str(row.get("text", row.get("title", "")))),
        entity=_text(row.get("entity")),
        tier=tier if tier is not None and 0 <= tier <= 1 else None,
        status=_text(row.get("status")),
        priority=_text(row.get("priority")),
        blocked_by=items(row.get("blocked_by")),
        resolution=one_line(str(row.get("resolution", ""))),
    )


def _digest(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> str:
    """Return the SHA-256 of a document without its v3 blocks; blank lines do not count."""
    rest: list[str] = []
    start = 0
    for first, last in spans:
        rest += lines[start : first - 1]
        start = last
    rest += lines[start:]
    text = "\n".join(line.rstrip() for line in rest if line.strip())
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def write_machine_block(block: MachineBlock, rest: str) -> str:
    """Write a v3 block.

    Args:
        block: project, tag, parents and records are written; everything else is derived.
        rest: the document that the block will stand in, without it.

    Returns the comment with a line end.
    """
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
    quoted = HIDDEN.sub(_escape, json.dumps(one_line(text), ensure_ascii=False))
    quoted = MARKS.sub(lambda match: "".join(f"\\u{ord(c):04x}" for c in match.group()), quoted)
    return quoted.replace("--", "-\\u002d").replace("\ufffe", "").replace("\uffff", "")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
