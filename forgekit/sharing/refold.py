"""Fold together what two clones filed apart.

Each clone has registered what its own archives say. Where a parent was filed here and its child there, both
together say more: what the child carries belongs to the parent. So the merged files are brought from the sum
of the two folds to the fold of all archives, as filing one more archive does. The result is the same as if
all had been filed in one place. Merges that git made itself are folded by the next sync.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from forgekit.archives.changes import ChangeSet, settle
from forgekit.archives.conversations import Ingested, gather
from forgekit.archives.fold import FoldResult, fold
from forgekit.change import superseding
from forgekit.filing.archive_facts import by_people, facts
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.merge import conflicting_edits
from forgekit.merge.conflicting_edits import FieldConflict
from forgekit.merge.merge import merge
from forgekit.merge.revisions import completed, recorded
from forgekit.model.entities import Conflict, Decision, Entity, entity_path
from forgekit.model.kinds import Kind
from forgekit.model.registry import Registry
from forgekit.store import Change, Outcome


@dataclass(frozen=True, slots=True)
class MergedSides:
    """What each side of a merge added.

    Attributes:
        here: archives, conversations and decisions of one side.
        there: those of the other.
        revised: decisions that both sides changed, and the successors that they gave them.
    """

    here: frozenset[EntityId]
    there: frozenset[EntityId]
    revised: Mapping[EntityId, frozenset[EntityId]]


def refold(forge: Forge, sides: MergedSides) -> Outcome:
    """Register what both sides of a merge say together, in one commit; none where nothing changes.

    The change's result is the tuple of conflicts between decisions that both sides revised.
    """

    def decide() -> Change:
        ours = forge.registry()
        changes = _changes(forge, ours, sides)
        writes = {entity.id: entity for entity in changes.writes}
        deleted = {entity.id for entity in changes.deletes}

        def get(key: EntityId) -> Entity | None:
            return writes.get(key) or (None if key in deleted else ours.get(key))

        revised, rivals = _rivals(get, sides.revised, ours.conflicts)
        writes |= {old.id: old for old in revised} | {one.id: one for one in rivals}
        return Change(
            writes=tuple(writes.values()),
            deletes=tuple(entity_path(entity) for entity in changes.deletes),
            subject="sync: fold what two clones filed apart",
            trailers=(("Forgekit-Op", "sync"), *superseding(tuple(writes.values()))),
            result=rivals,
        )

    return forge.commit(decide)


def _changes(forge: Forge, ours: Registry, sides: MergedSides) -> ChangeSet:
    """Return what the archives and conversations of both sides say together and not each for itself."""
    sources = {one.id for one in ours.archives} | {one.id for one in ours.conversations}
    if not (sides.here & sources and sides.there & sources):
        return ChangeSet((), (), {}, ())
    known = facts(forge.catalogue, ours.archives)
    manual = by_people(forge.catalogue, known, Ingested.of(ours.conversations, ours.candidates))

    def fold_without(left_out: Collection[EntityId]) -> FoldResult:
        ingested = Ingested.of(
            (one for one in ours.conversations if one.id not in left_out),
            (one for one in ours.candidates if one.conversation_id not in left_out),
        )
        return gather(fold((fact for fact in known if fact[0].id not in left_out), manual), ingested)

    return settle(_folded_apart(fold_without, sides), fold_without(()), ours)


def _folded_apart(
    fold_without: Callable[[Collection[EntityId]], FoldResult], sides: MergedSides
) -> FoldResult:
    """Return the folds of two clones, each for itself, merged as their files were."""
    both = (sides.here | sides.there, sides.there, sides.here)
    base, ours, theirs = (fold_without(left_out) for left_out in both)
    entities: dict[EntityId, Entity] = {}
    for key in sorted({*ours.entities, *theirs.entities}):
        merged = merge(*(each.entities.get(key) for each in (base, ours, theirs))).entity
        if merged is not None:
            entities[key] = merged
    return FoldResult(entities, {**ours.mentions, **theirs.mentions})


def _rivals(
    get: Callable[[EntityId], Entity | None],
    revised: Mapping[EntityId, Collection[EntityId]],
    conflicts: Collection[Conflict],
) -> tuple[list[Decision], tuple[Conflict, ...]]:
    """Return the decisions that both sides revised, with both successors noted, and their conflicts."""
    decisions: list[Decision] = []
    new: dict[EntityId, Conflict] = {}
    for key, successors in sorted(revised.items()):
        if not isinstance(old := get(key), Decision):
            continue
        decision, rivals = recorded(_with_successors(old, successors), get)
        if rivals:
            decisions.append(decision)
        new |= {one.id: one for one in rivals if get(one.id) is None}
    new |= {one.id: one for one in completed((*conflicts, *new.values()), get)}
    return decisions, tuple(new.values())


def _with_successors(old: Decision, successors: Collection[EntityId]) -> Decision:
    """Return a decision as a merge left it; a person may have removed the other successor since."""
    rest, entries = conflicting_edits.taken(old.body)
    for successor in {*successors} - {old.superseded_by}:
        lost = FieldConflict(field="superseded_by", base=None, winner=old.superseded_by, loser=successor)
        entries.add(conflicting_edits.entry_of(Kind.DECISION, lost))
    return replace(old, body=conflicting_edits.put(rest, entries))
