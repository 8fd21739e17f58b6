"""The three-way merge of one entity's states."""

from __future__ import annotations

import dataclasses
from typing import Any

from forgekit.merge.conflicting_edits import (
    HEADING,
    KEY,
    PREAMBLE,
    entries,
    entry_of,
    line_of,
    listed,
    put,
)
from forgekit.merge.rules import (
    E,
    FieldConflict,
    Ledger,
    Merged,
    Sides,
    keyed,
    merge_fields,
    merge_groups,
    settle,
    thread_state,
    united,
)
from forgekit.model.body import parts
from forgekit.model.entities import FIELDS, Thread, group_fields
from forgekit.model.kinds import Kind

_RESOLUTION = "## Resolution"


def merge(base: E | None, ours: E | None, theirs: E | None) -> Merged[E]:
    """Merge changes made elsewhere into an entity that people edit: in a conflict ours wins.

    Args:
        base: the state both come from; None where both sides made the entity.
        ours: None where this side deleted it.
        theirs: likewise.

    Raises ValueError when they are not states of one entity.
    """
    return _merged(Sides(base, ours, theirs), Ledger(symmetric=False))


def reconcile(base: E | None, ours: E | None, theirs: E | None) -> Merged[E]:
    """Merge the states of two clones: the same from either side, with losing values kept in the entity.

    Arguments and errors as of `merge`.
    """
    return _merged(Sides(base, ours, theirs), Ledger(symmetric=True))


def _merged(sides: Sides, ledger: Ledger) -> Merged[Any]:
    base, ours, theirs = sides
    if len({(entity.kind, entity.id) for entity in sides if entity is not None}) > 1:
        raise ValueError("only states of one entity can be merged")
    if ours == theirs:
        # Equal states may differ in the order of unknown keys: the same one from either side.
        return Merged(entity=max(ours, theirs, key=repr))
    if base in (ours, theirs):
        return Merged(entity=theirs if ours == base else ours)
    if ours is None or theirs is None:
        changed = theirs if ours is None else ours
        conflict = FieldConflict(field="", base=base, winner=changed, loser=None)
        return Merged(entity=changed, conflicts=(conflict,))
    kind = ours.kind
    values = merge_fields(FIELDS[kind], sides, ledger) | merge_groups(kind, sides, ledger)
    values["extra"] = _extra(kind, sides, ledger)
    if not kind.quoted:
        values["body"] = _body(kind, sides, ledger)
    return Merged(
        entity=dataclasses.replace(ours, **values),
        conflicts=tuple(ledger.conflicts),
        overridden=tuple(ledger.overridden),
    )


def _extra(kind: Kind, entities: Sides, ledger: Ledger) -> dict[str, Any]:
    """Merge unknown keys; a kind whose body is not ours to write in has its conflicting edits there."""
    maps = Sides._make({} if entity is None else dict(entity.extra) for entity in entities)
    for extra in maps:
        extra.pop(KEY, None)
    merged = keyed("", maps, ledger)
    if kind.quoted:
        noted = united(Sides._make(listed(entity) for entity in entities))
        if ledger.symmetric:
            noted |= {line_of(kind, found) for found in ledger.conflicts if found.field != "body"}
        if noted:
            merged[KEY] = sorted(noted)
    return merged


def _body(kind: Kind, entities: Sides, ledger: Ledger) -> str:
    """Merge bodies section by section; a thread's resolution comes from the side whose state won."""
    bodies = Sides._make("" if entity is None else entity.body for entity in entities)
    maps = Sides._make(_sections(body) for body in bodies)
    noted = united(Sides._make(entries(side.pop(HEADING, "")) for side in maps))
    winner = _winner(entities)
    if winner is not None:
        won, lost = (maps.ours, maps.theirs) if winner is entities.ours else (maps.theirs, maps.ours)
        base, kept, other = maps.base.get(_RESOLUTION), won.get(_RESOLUTION), lost.pop(_RESOLUTION, None)
        if other not in {None, base, kept}:
            ledger.conflicts.append(FieldConflict(field=_RESOLUTION, base=base, winner=kept, loser=other))
        if kept is not None:
            lost[_RESOLUTION] = kept
    sections = keyed("", maps, ledger)
    new = {entry_of(kind, found) for found in ledger.conflicts} if ledger.symmetric else set()
    if winner is None and new <= noted:
        return str(settle(bodies, lambda: _joined(sections, noted)))
    return _joined(sections, noted | new)


def _winner(entities: Sides) -> Thread | None:
    """Return the thread whose state a rule chose over the other's, where one of them has ended."""
    ours, theirs = entities.ours, entities.theirs
    if not isinstance(ours, Thread) or not (ours.status.ended or theirs.status.ended):
        return None
    names = group_fields(Kind.THREAD, "state")
    state = Sides._make([getattr(entity, name, None) for name in names] for entity in entities)
    return thread_state(ours, theirs)[0] if settle(state, lambda: None) is None else None


def _sections(body: str) -> dict[str, str]:
    """Return the text of each section, heading included; those of one name count as one."""
    out: dict[str, str] = {}
    for name, text in parts(body):
        key = PREAMBLE if name is None else f"## {name}"
        out[key] = f"{out[key]}\n\n{text}".strip("\n") if key in out else text.strip("\n")
    return {key: text for key, text in out.items() if text}


def _joined(sections: dict[str, str], chosen: set[str]) -> str:
    preamble = sections.pop(PREAMBLE, "")
    return put("\n\n".join(text for text in (preamble, *sections.values()) if text), chosen)
