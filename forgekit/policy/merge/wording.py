"""What people are told of a merge."""

from __future__ import annotations

from forgekit.model.kinds import Kind
from forgekit.model.rules import one_line
from forgekit.policy.merge import record
from forgekit.policy.merge.values import FieldConflict

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
    if kind.quoted and name == record.PREAMBLE:
        return "each side filed another text; one stands, the other is in the history"
    place = f"`{record.KEY}`" if kind.quoted else f"`{record.HEADING}`"
    return (
        f"{name}: {shown(name, conflict.stands)} stands; {shown(name, conflict.yields)} is kept under {place}"
    )


def shown(name: str, value: object) -> str:
    """Return the value of a field of some name in a few words."""
    if value is None:
        return "leaving it out"
    text = one_line(str(record.plain(name, value)))
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
