"""Machine blocks: records as YAML in one comment, which no text in it can end; how forgekit writes them.

`logs` reads blocks. A block with a `sha256` counts while the rest of the document has that sum.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forgekit.frozen import field, frozen
from forgekit.model.rules import one_line
from forgekit.text.blocks import HIDDEN, MARKS

if TYPE_CHECKING:
    from forgekit.archives.claims import Claim
    from forgekit.model.problem import Problem

START = "<!-- forgekit:machine-block v3"
END = "-->"


@frozen(kw_only=True)
class MachineRecord:
    """The name of a decision or thread: its local id ("" if it has none), its short id, its status."""

    id: str
    entity: str
    status: str = ""


@frozen(kw_only=True)
class MachineBlock:
    """One machine block.

    Attributes:
        purpose: `registry-state` or `updated-context` if forgekit printed it: its records name entities of
            the registry and are no claims of the archive that it was pasted into.
        first_line, last_line: 1-based, of the markers.
        fresh: whether `sha256` is that of the rest of the document; True without a `sha256`.
        broken: why it cannot be relied on, "" if it can.
        payload: the YAML as text, lists and mappings.
        claims: its records, converted.
        problems: what could not be read.
    """

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


def digest_of(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> str:
    """Return the SHA-256 of a document without its v3 blocks (`spans`); blank lines do not count."""
    rest = list(lines)
    for first, last in reversed(spans):
        del rest[first - 1 : last]
    text = "\n".join(line.rstrip() for line in rest if line.strip())
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def write_machine_block(block: MachineBlock) -> str:
    """Write a v3 block that names entities: their text is in the document around it."""
    head = {"purpose": block.purpose, "project": block.project, "tag": block.tag}
    out = [START, "version: 3", *(f"{key}: {_quote(value)}" for key, value in head.items() if value)]
    if block.parents:
        out.append(f"parents: [{', '.join(map(_quote, block.parents))}]")
    names = {"active": block.decisions, "open": block.threads}
    out += [f"{key}: [{', '.join(map(record_name, some))}]" for key, some in names.items() if some]
    return "\n".join([*out, END]) + "\n"


def record_name(record: MachineRecord) -> str:
    """Return what a block that forgekit printed calls an entity."""
    own = record.id if re.fullmatch(r"[\w-]{1,20}", record.id, re.ASCII) else ""
    return f"{own} {record.entity}".strip()


def _quote(text: str) -> str:
    """Quote text so that YAML and JSON read it alike and `--` never occurs."""
    quoted = re.sub(MARKS, _escape, re.sub(HIDDEN, _escape, json.dumps(one_line(text), ensure_ascii=False)))
    return quoted.replace("--", "-\\u002d").replace("\ufffe", "").replace("\uffff", "")


def _escape(match: re.Match[str]) -> str:
    codes = map(ord, match.group())
    return "".join(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}" for code in codes)
