"""The section `## Conflicting edits`: the losing values of a merge, kept until a person has chosen.

It is a set of entries, united when files are merged again. An entry is a level-3 heading that names the
field, and the losing text as an indented code block, of which no line can be read as structure. The body of
an archive must stay as it was filed, so its entries are a list under a key of the front matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from forgekit.errors import FormatError
from forgekit.frozen import frozen
from forgekit.model.entities import COMPRESSION, FIELDS, Compression, Entity, known_fields
from forgekit.model.fields import FieldType, Plain, write_fields
from forgekit.model.kinds import Kind
from forgekit.model.rules import UNSETTLED, UNSETTLED_KEY, one_line, parts

HEADING = f"## {UNSETTLED}"
PREAMBLE = "body"
# Part of the file format: it is removed again when the entries are read.
_WHY = (
    "Both sides of a merge changed these, and a rule chose what stands above.\n"
    "Where the text below is the right one, put it in its place; then delete this section."
)
_LEFT_OUT = "(left out)"
_ENTRY = re.compile(r"^### ", re.MULTILINE)
_SHOWN = 60


@frozen(kw_only=True)
class FieldConflict:
    """One field that both sides changed, each in its own way.

    Attributes:
        field: a front-matter key; `records.D001` for one entry of a map; `body` or `## Context` for the
            text before the first section or a section; "" for the entity as a whole.
        base: the value before both changes; None where there was none, as in the other two.
        winner: the value in the result.
        loser: the other value.
    """

    field: str
    base: object
    winner: object
    loser: object


def quoted(label: str, text: str) -> str:
    """Return one entry: a label and an indented text."""
    lines = "\n".join(f"    {line}" for line in text.split("\n"))
    return f"### {one_line(label)}\n\n{lines}"


def entries(section: str) -> set[str]:
    """Return the entries of a section's text, heading included; text that a person added is one of them."""
    content = section.partition("\n")[2].strip("\n").removeprefix(_WHY).strip("\n")
    first, *found = _ENTRY.split(content)
    out = {f"### {text}".strip("\n") for text in found}
    if first.strip():
        out.add(quoted("note", first.strip("\n")))
    return out


def entry_of(kind: Kind, conflict: FieldConflict) -> str:
    """Return the losing value of a conflict as an entry."""
    if conflict.field != PREAMBLE and not conflict.field.startswith("## "):
        return quoted(conflict.field, line_of(kind, conflict))
    return quoted(label_of(conflict.field), _LEFT_OUT if conflict.loser is None else str(conflict.loser))


def label_of(field: str) -> str:
    """Return what an entry calls a part of a body."""
    return "text before the first section" if field == PREAMBLE else field.removeprefix("## ")


def name_of(entry: str) -> str:
    """Return the name of an entry, of a section or of a list."""
    return entry.partition("\n")[0].removeprefix("### ") if "\n" in entry else entry.partition(":")[0]


def line_of(kind: Kind, conflict: FieldConflict) -> str:
    """Return the losing value as the file would hold it."""
    from forgekit.text.codec import dump_field  # loads YAML in 15 ms; few entities hold a conflict

    if conflict.loser is None:
        return _LEFT_OUT
    value = plain(conflict.field, conflict.loser)
    if isinstance(value, str) and conflict.field not in known_fields(kind):
        value = Plain(value)
    return dump_field(conflict.field, value).rstrip("\n")


@cache
def _types() -> dict[str, FieldType]:
    every = [field for fields in FIELDS.values() for field in fields]
    return {field.name: field.type for field in (*every, *COMPRESSION)}


def plain(name: str, value: Any) -> Any:
    """Return the value of a conflict's field as front matter holds it.

    Args:
        name: of the field, such as `title`, `records.D001` or `compressions.TAG.turn_range`.
        value: what its dataclass holds; for an unknown key what the front matter holds.
    """
    if isinstance(value, dict | list):
        from forgekit.text.codec import plain_tree

        return plain_tree(value)
    if isinstance(value, Compression):
        return write_fields(COMPRESSION, value)
    if isinstance(value, tuple) and isinstance(value[1], str):  # one pair of a map
        return value[1]
    known = _types().get(name.rpartition(".")[2])
    return known.write(value) if known else str(value)


def listed(entity: Entity | None) -> set[str]:
    """Return the entries in an entity's front matter."""
    if entity is None or (value := entity.extra.get(UNSETTLED_KEY)) is None:
        return set()
    return {str(item) for item in value} if isinstance(value, list) else {str(value)}


def fields_in_conflict(entity: Entity) -> list[str]:
    """Return the names in the headings of an entity's entries, sorted."""
    if entity.kind.quoted:
        return sorted({name_of(entry) for entry in listed(entity)})
    if UNSETTLED not in entity.body:  # as in most, of which no part is looked at
        return []
    texts = [text for name, text in parts(entity.body) if name == UNSETTLED]
    names = {name_of(entry) for text in texts for entry in entries(text)}
    return sorted(names or {UNSETTLED}) if texts else []


def unsettled(entity: Entity) -> str:
    """Return a mark for a line on an entity that two clones changed in different ways; "" for any other."""
    names = fields_in_conflict(entity)
    return f" [TWO VERSIONS OF {', '.join(names)}, NOT SETTLED]" if names else ""


def values(chosen: Iterable[str], name: str) -> list[str]:
    """Return what the entries of one front-matter key hold, sorted; "" where it was left out."""
    texts = (entry.partition("\n\n")[2] for entry in chosen if entry.startswith(f"### {name}\n"))
    return sorted(_value(text.strip(), name) for text in texts)


def _value(line: str, name: str) -> str:
    from forgekit.text.frontmatter import load_fields

    try:
        return "" if line == _LEFT_OUT else str(load_fields(line)[0].get(name, line))
    except FormatError:  # a person changed the entry
        return one_line(line)


def split_entries(body: str) -> tuple[str, set[str]]:
    """Return a body without the section, and the section's entries."""
    pieces = parts(body)
    found = {entry for name, text in pieces if name == UNSETTLED for entry in entries(text)}
    return "".join(text for name, text in pieces if name != UNSETTLED).strip("\n"), found


def put(body: str, chosen: Iterable[str]) -> str:
    """Return a body without the section with one that holds some entries; unchanged for none."""
    found = sorted(chosen)
    section = "\n\n".join((HEADING, _WHY, *found)) if found else ""
    return "\n\n".join(text for text in (body, section) if text)


def sentence(kind: Kind, conflict: FieldConflict) -> str:
    """Describe a conflict for people: the value in the file, and the place of the other one."""
    if not conflict.field:
        return "one side deleted it and the other changed it; the changed file was kept (`git rm` deletes it)"
    name = conflict.field.removeprefix("## ")
    if kind.quoted and name == PREAMBLE:
        return "each side filed another text; one was kept, the other is in the history"
    place = f"`{UNSETTLED_KEY}`" if kind.quoted else f"`{HEADING}`"
    winner, loser = shown(name, conflict.winner), shown(name, conflict.loser)
    return f"{name}: {winner} was kept; {loser} is under {place}"


def shown(name: str, value: object) -> str:
    """Return the value of a conflict's field in a few words."""
    if value is None:
        return "leaving it out"
    text = one_line(str(plain(name, value)))
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
