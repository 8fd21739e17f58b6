"""From what the archives state to what the files must hold.

Filing one more archive is a three-way merge: base is what the archives stated before, theirs what they state
now, ours the files as they are, because people edit them. An entity that takes its parent's identity,
because the parent has come, is renamed: its file's edits and every reference to it go along.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from forgekit.archives.fold import FoldResult
from forgekit.frozen import frozen, replace
from forgekit.ids import EntityId, pair_id
from forgekit.merge.conflicting_edits import FieldConflict
from forgekit.merge.merge import RESOLUTION, Merged, merge
from forgekit.model.entities import FIELDS, Compression, Conflict, Decision, DecisionStatus, Entity, Thread
from forgekit.model.fields import Field, Merge, ids_in
from forgekit.model.registry import Registry
from forgekit.model.rules import with_earlier_resolution, with_section


@frozen()
class ChangeSet:
    """What to write and what to remove, in the order of ids.

    Attributes:
        renamed: entities that took another identity.
        conflicts: fields that archives and people changed in different ways; people's edits are kept.
    """

    writes: tuple[Entity, ...]
    deletes: tuple[Entity, ...]
    renamed: Mapping[EntityId, EntityId]
    conflicts: tuple[tuple[EntityId, FieldConflict], ...]


def settle(
    before: FoldResult, after: FoldResult, ours: Registry, replaced: Collection[EntityId] = ()
) -> ChangeSet:
    """Merge what the archives now state into the files as they are.

    Args:
        replaced: archives that have another text now; what people did with an entity that the old one stated
            stays with that entity.
    """
    renamed = {
        old: after.mentions[mention]
        for mention, old in before.mentions.items()
        if old not in after.entities
        and after.mentions.get(mention, old) != old
        and (mention[0] not in replaced or ours.get(old) == before.entities[old])
    }
    base = _moved(before.entities, renamed)
    files = _moved(ours.entities, renamed)
    writes: dict[EntityId, Entity] = {}
    conflicts: list[tuple[EntityId, FieldConflict]] = []
    # A conflict takes a new id with its sides, or falls away when both became one decision.
    gone: set[EntityId] = ours.entities.keys() - files.keys() if renamed else set()
    for key in sorted({*base, *after.entities}):
        if base.get(key) == after.entities.get(key) and not renamed:
            continue  # nothing new was stated; the file, whatever it holds, need not be read
        merged = merge(base.get(key), files.get(key), after.entities.get(key))
        entity, against = _reopened(base.get(key), files.get(key), merged)
        conflicts.extend((key, conflict) for conflict in against)
        if entity is None:
            gone.add(key)
        elif entity != ours.entities.get(key):
            writes[key] = entity
    for key in sorted(files.keys() - base.keys() - after.entities.keys()) if renamed else ():
        if files[key] != ours.entities.get(key):  # only its references moved
            writes[key] = files[key]
    deletes = [ours.entities[key] for key in sorted(gone) if key in ours.entities and key not in writes]
    return ChangeSet(tuple(writes.values()), tuple(deletes), renamed, tuple(conflicts))


def _reopened(
    base: Entity | None, file: Entity | None, merged: Merged[Entity]
) -> tuple[Entity | None, list[FieldConflict]]:
    """Return a merged entity and its conflicts; a reopened thread keeps how a person ended it."""
    entity, conflicts = merged.entity, list(merged.conflicts)
    if (
        isinstance(file, Thread)
        and isinstance(entity, Thread)
        and file.status.ended
        and not entity.status.ended
        and file.resolution
        and not (isinstance(base, Thread) and base.resolution == file.resolution)  # which the fold keeps
    ):
        body = with_earlier_resolution(entity.body, file.updated_at, file.status.value, file.resolution)
        return replace(entity, body=body), [each for each in conflicts if each.field != RESOLUTION]
    return entity, conflicts


def _moved(
    entities: Mapping[EntityId, Entity], renamed: Mapping[EntityId, EntityId]
) -> Mapping[EntityId, Entity]:
    """Return the entities under their new ids; two that become one are merged."""
    if not renamed:
        return entities
    out: dict[EntityId, Entity] = {}
    for key in sorted(entities):
        entity = rename(entities[key], renamed)
        if entity is None:
            continue
        standing = out.get(entity.id)
        joined = merge(None, standing, entity).entity if standing is not None else entity
        out[entity.id] = joined if joined is not None else entity
    return out


def rename(entity: Entity, renamed: Mapping[EntityId, EntityId]) -> Entity | None:
    """Return the entity with old ids replaced, its own included; None for a conflict with itself."""
    me = renamed.get(entity.id, entity.id)
    changes: dict[str, Any] = {}
    if me != entity.id:
        changes[entity.kind.id_field] = me
    for field in FIELDS[entity.kind]:
        value = getattr(entity, field.name)
        new = _renamed(field, value, renamed, me)
        if field.entry:
            new = tuple(_renamed_entry(field.entry, entry, renamed) for entry in value)
        if new != value:
            changes[field.name] = new
    if isinstance(entity, Decision) and changes.get("superseded_by", me) is None:
        # The decision and its successor turned out to be one.
        body = with_section(entity.body, "Superseded", "")
        changes |= {"status": DecisionStatus.ACTIVE, "revised_in": None, "body": body}
    if isinstance(entity, Conflict) and changes:
        a, b = sorted(changes.get(name, getattr(entity, name)) for name in ("decision_a", "decision_b"))
        if a == b:
            return None
        changes |= {"conflict_id": pair_id(a, b), "decision_a": a, "decision_b": b}
    return replace(entity, **changes) if changes else entity


def _renamed(field: Field, value: Any, renamed: Mapping[EntityId, EntityId], me: EntityId | None) -> Any:
    """Return a field's value with old ids replaced, without one that now names the entity itself."""
    if not field.refers or not any(target == me or target in renamed for target in ids_in(field, value)):
        return value
    if not isinstance(value, tuple):
        new = renamed.get(value, value)
        return None if new == me else new
    if field.rule is Merge.PAIRS:
        return tuple(dict.fromkeys((local, renamed.get(target, target)) for local, target in value))
    return tuple(sorted({renamed.get(item, item) for item in value} - {me}))


def _renamed_entry(
    fields: tuple[Field, ...], entry: Compression, renamed: Mapping[EntityId, EntityId]
) -> Compression:
    changes = {f.name: _renamed(f, getattr(entry, f.name), renamed, None) for f in fields if f.refers}
    return replace(entry, **changes)
