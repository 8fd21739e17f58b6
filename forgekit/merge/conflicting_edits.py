"""The section `## Conflicting edits`: what yielded in a merge, kept until a person has chosen.

It is a set of entries, united when files are merged again. An entry is a level-3 heading that names the
field, and the text that yielded as an indented code block: no line of it can pass for structure. An
archive's body is not ours to write in, so its entries are a list under a key of its front matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from forgekit.merge.values import FieldConflict
from forgekit.model.body import parts
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind
from forgekit.model.rules import one_line
from forgekit.text.codec import Plain, dump_field, known_fields, plain_tree
from forgekit.times import Instant, format_instant

NAME = "Conflicting edits"
HEADING = f"## {NAME}"
KEY = "conflicting_edits"
PREAMBLE = "body"
_WHY = (
    "Both sides of a merge changed these, and a rule chose what stands above.\n"
    "Where the text below is the right one, put it in its place; then delete this section."
)
_GONE = "(left out)"
_BARE = frozenset({"content_sha256", "tier_token"})  # never quoted for their look
_TIMES = ("_at", "_started", "_validated")
_ENTRY = re.compile(r"^### ", re.MULTILINE)


def quoted(label: str, text: str) -> str:
    """Return one entry: a label and a text of which no line can pass for structure."""
    lines = "\n".join(f"    {line}" for line in text.split("\n"))
    return f"### {one_line(label)}\n\n{lines}"


def entries(section: str) -> set[str]:
    """Return the entries of a section's text, its heading included; what a person added is one of them."""
    content = section.partition("\n")[2].strip("\n").removeprefix(_WHY).strip("\n")
    first, *found = _ENTRY.split(content)
    out = {f"### {text}".strip("\n") for text in found}
    if first.strip():
        out.add(quoted("note", first.strip("\n")))
    return out


def section_of(chosen: Iterable[str]) -> str:
    """Return the section that holds entries, or "" for none."""
    found = sorted(chosen)
    return "\n\n".join((HEADING, _WHY, *found)) if found else ""


def entry_of(kind: Kind, conflict: FieldConflict) -> str:
    """Return what yielded in a conflict as an entry."""
    if conflict.field == PREAMBLE:
        return quoted(
            "text before the first section", _GONE if conflict.yields is None else str(conflict.yields)
        )
    if conflict.field.startswith("## "):
        return quoted(conflict.field[3:], _GONE if conflict.yields is None else str(conflict.yields))
    return quoted(conflict.field, line_of(kind, conflict))


def line_of(kind: Kind, conflict: FieldConflict) -> str:
    """Return what yielded as the file would hold it."""
    if conflict.yields is None:
        return _GONE
    value = plain(conflict.field, conflict.yields)
    if isinstance(value, str) and (conflict.field in _BARE or conflict.field not in known_fields(kind)):
        value = Plain(value)
    return dump_field(conflict.field, value).rstrip("\n")


def plain(name: str, value: Any) -> Any:
    """Return the value of a field of some name as front matter holds it."""
    match value:
        case dict() | list():  # before the pairs: a pattern of two takes a list of two as well
            return plain_tree(value)
        case Enum():
            return Plain(value.value)
        case int() if name.endswith(_TIMES):
            return Plain(format_instant(Instant(value)))
        case int():
            return Plain(str(value))
        case float():
            return Plain(repr(value))
        case (int() as first, int() as last):
            return [Plain(str(first)), Plain(str(last))]
        case (_, str() as entity):
            return entity
        case _:
            return str(value)


def listed(value: object) -> set[str]:
    """Return the entries under an archive's key."""
    if value is None:
        return set()
    return {str(item) for item in value} if isinstance(value, list) else {str(value)}


def fields_in_conflict(entity: Entity) -> list[str]:
    """Return what the entries of an entity name, in order; none where there is nothing to choose."""
    if entity.kind.quoted:
        return sorted({text.partition(":")[0] for text in listed(entity.extra.get(KEY))})
    texts = [text for name, text in parts(entity.body) if name == NAME]
    names = {entry.partition("\n")[0].removeprefix("### ") for text in texts for entry in entries(text)}
    return sorted(names or {NAME}) if texts else []


def without(extra: Mapping[str, object]) -> dict[str, object]:
    """Return unknown fields without the entries."""
    return {key: item for key, item in extra.items() if key != KEY}


def taken(body: str) -> tuple[str, set[str]]:
    """Return a body without the section, and the section's entries."""
    pieces = parts(body)
    found = {entry for name, text in pieces if name == NAME for entry in entries(text)}
    return "".join(text for name, text in pieces if name != NAME).strip("\n"), found


def put(body: str, chosen: Iterable[str]) -> str:
    """Return a body that has no such section with the section of some entries."""
    return "\n\n".join(text for text in (body, section_of(chosen)) if text)


_SHOWN = 60


def sentence(kind: Kind, conflict: FieldConflict) -> str:
    """Say what stands and where the other value is.

    Args:
        kind: of the entity.
        conflict: what a person has to choose.
    """
    if not conflict.field:
        return "one side deleted it and the other changed it; the changed file stays"
    name = conflict.field.removeprefix("## ")
    if kind.quoted and name == PREAMBLE:
        return "each side filed another text; one stands, the other is in the history"
    place = f"`{KEY}`" if kind.quoted else f"`{HEADING}`"
    return (
        f"{name}: {shown(name, conflict.stands)} stands; {shown(name, conflict.yields)} is kept under {place}"
    )


def shown(name: str, value: object) -> str:
    """Return the value of a field of some name in a few words."""
    if value is None:
        return "leaving it out"
    text = one_line(str(plain(name, value)))
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
