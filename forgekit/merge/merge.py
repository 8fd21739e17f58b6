"""The merge of one entity's states."""

from __future__ import annotations

import dataclasses
from typing import Any

from forgekit.merge import conflicting_edits
from forgekit.merge.rules import GROUPS, RULES, STATE, fields, group, thread_state
from forgekit.merge.values import E, FieldConflict, Ledger, Merged, Sides, keyed, settle, united
from forgekit.model.body import parts
from forgekit.model.thread import Thread

RESOLUTION = "## Resolution"


def merge(base: E | None, ours: E | None, theirs: E | None) -> Merged[E]:
    """Merge what is said elsewhere into an entity that people edit: in a conflict ours stands.

    Args:
        base: the state both come from; None where both sides made the entity.
        ours: None where this side deleted it.
        theirs: likewise.

    Raises ValueError when they are not states of one entity.
    """
    return _merged(Sides(base, ours, theirs), Ledger(symmetric=False))


def reconcile(base: E | None, ours: E | None, theirs: E | None) -> Merged[E]:
    """Merge the states of two clones: the same from either side, with what yields kept in the entity.

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
        conflict = FieldConflict(field="", base=base, stands=changed, yields=None)
        return Merged(entity=changed, conflicts=(conflict,))
    values = fields(RULES[ours.kind], sides, ledger)
    for names, choose in GROUPS.get(ours.kind, {}).items():
        values |= group(names, choose, sides, ledger)
    extras = Sides._make(
        {} if entity is None else conflicting_edits.without(entity.extra) for entity in sides
    )
    values["extra"] = keyed("", extras, ledger)
    if ours.kind.quoted:
        noted = united(
            Sides._make(
                conflicting_edits.listed(entity and entity.extra.get(conflicting_edits.KEY))
                for entity in sides
            )
        )
        if ledger.symmetric:
            noted |= {
                conflicting_edits.line_of(ours.kind, found)
                for found in ledger.conflicts
                if found.field != "body"
            }
        if noted:
            values["extra"][conflicting_edits.KEY] = sorted(noted)
    else:
        values["body"] = _body(sides, ledger)
    return Merged(
        entity=dataclasses.replace(ours, **values),
        conflicts=tuple(ledger.conflicts),
        outlived=tuple(ledger.outlived),
    )


def _body(entities: Sides, ledger: Ledger) -> str:
    """Merge bodies section by section; a thread's resolution goes with the state that stands."""
    bodies = Sides._make("" if entity is None else entity.body for entity in entities)
    maps = Sides._make(_sections(body) for body in bodies)
    noted = united(
        Sides._make(conflicting_edits.entries(side.pop(conflicting_edits.HEADING, "")) for side in maps)
    )
    winner = _winner(entities)
    if winner is not None:
        stands, yields = (maps.ours, maps.theirs) if winner is entities.ours else (maps.theirs, maps.ours)
        base, kept, lost = maps.base.get(RESOLUTION), stands.get(RESOLUTION), yields.pop(RESOLUTION, None)
        if lost not in {None, base, kept}:
            ledger.conflicts.append(FieldConflict(field=RESOLUTION, base=base, stands=kept, yields=lost))
        if kept is not None:
            yields[RESOLUTION] = kept
    sections = keyed("", maps, ledger)
    new = (
        {conflicting_edits.entry_of(entities.ours.kind, found) for found in ledger.conflicts}
        if ledger.symmetric
        else set()
    )
    if winner is None and new <= noted:
        return str(settle(bodies, lambda: _joined(sections, conflicting_edits.section_of(noted))))
    return _joined(sections, conflicting_edits.section_of(noted | new))


def _winner(entities: Sides) -> Thread | None:
    """Return the thread whose state a rule chose over the other's, where one of them has ended."""
    ours, theirs = entities.ours, entities.theirs
    if not isinstance(ours, Thread) or not (ours.status.ended or theirs.status.ended):
        return None
    state = Sides._make([getattr(entity, name, None) for name in STATE] for entity in entities)
    return thread_state(ours, theirs)[0] if settle(state, lambda: None) is None else None


def _sections(body: str) -> dict[str, str]:
    """Return the text of each section, heading included; those of one name count as one."""
    out: dict[str, str] = {}
    for name, text in parts(body):
        key = conflicting_edits.PREAMBLE if name is None else f"## {name}"
        out[key] = f"{out[key]}\n\n{text}".strip("\n") if key in out else text.strip("\n")
    return {key: text for key, text in out.items() if text}


def _joined(sections: dict[str, str], last: str) -> str:
    preamble = sections.pop(conflicting_edits.PREAMBLE, "")
    return "\n\n".join(text for text in (preamble, *sections.values(), last) if text)
