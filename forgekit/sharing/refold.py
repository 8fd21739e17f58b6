"""What two clones filed apart, read together for the first time.

Each clone has written what its own archives say. Where a parent was filed here and its child there, both
together say more: what the child carries is the parent's. So the files, merged, are brought from what the
clones said apart to what all archives say, as filing one more archive does. Then the decisions that one
clone alone had are compared with those of the other, as filing compares them. The result is the same as if
all had been filed in one place, but for what `detecting` says of order.

What git merged without us is joined alike, by the next sync; a second time it comes to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from forgekit.archives.changes import ChangeSet, settle
from forgekit.archives.conversations import Ingested, gather
from forgekit.archives.fold import FoldResult, fold
from forgekit.change import superseding
from forgekit.conflict.pairs import Pair
from forgekit.detecting import State, candidates, detect
from forgekit.filing.archive_facts import Fact, by_people, facts
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.merge import conflicting_edits
from forgekit.merge.merge import merge
from forgekit.merge.revisions import completed, recorded
from forgekit.merge.rules import FieldConflict
from forgekit.model.conflict import Conflict
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import Kind
from forgekit.model.registry import Registry
from forgekit.model.settings import JudgeKind
from forgekit.model.thread import Thread
from forgekit.store import Change, Outcome


@dataclass(frozen=True, slots=True)
class Apart:
    """What the two sides of a merge had alone.

    Attributes:
        here: entities of one side.
        there: those of the other.
        revised: decisions that both sides changed, and the successors that they gave them.
    """

    here: frozenset[EntityId]
    there: frozenset[EntityId]
    revised: Mapping[EntityId, frozenset[EntityId]]


@dataclass(frozen=True, slots=True)
class Rejoined:
    """Conflicts that came to light: contradictions, and decisions that were revised on both sides."""

    found: tuple[Conflict, ...]
    rivals: tuple[Conflict, ...]


def rejoin(forge: Forge, apart: Apart) -> Outcome:
    """Register what both sides of a merge come to together, in one commit; none where that is no more.

    Args:
        forge: the registry, with the files of both sides merged.
        apart: what they had alone.

    The change's result is a `Rejoined`.
    """

    def decide() -> Change:
        ours = forge.registry()
        settlement = _settled(forge, ours, apart)
        writes = {entity.id: entity for entity in settlement.writes}
        state = State(ours, writes, {entity.id for entity in settlement.deletes})
        revised, rivals = _rivals(state, apart.revised)
        writes |= {old.id: old for old in revised} | {one.id: one for one in rivals}
        found = detect(forge, state, _across(forge, state, apart, settlement.renamed))
        writes |= {entity.id: entity for entity in found.entities}
        return Change(
            writes=tuple(writes.values()),
            deletes=tuple(entity_path(entity) for entity in settlement.deletes),
            subject="sync: join what two clones filed",
            trailers=(("Forgekit-Op", "sync"), *superseding(tuple(writes.values()))),
            result=Rejoined(found.conflicts, rivals),
        )

    if apart.here and apart.there and forge.settings.judge is JudgeKind.TRAINED:
        decide()  # reading many pairs takes minutes, and the writers' lock is not held over them
    return forge.commit(decide)


def _settled(forge: Forge, ours: Registry, apart: Apart) -> ChangeSet:
    """Return what the archives and conversations of both sides say together and not each for itself."""
    telling = {archive.id for archive in ours.archives} | {talk.id for talk in ours.conversations}
    here, there = apart.here & telling, apart.there & telling
    if not (here and there):
        return ChangeSet((), (), {}, ())
    known = facts(forge.catalogue, ours.archives)
    own = by_people(forge.catalogue, ours, known, Ingested.of(ours.conversations, ours.candidates))
    said = partial(_said, ours, known, own)
    return settle(_told_apart(said, here, there), said(set()), ours)


def _rivals(
    state: State, revised: Mapping[EntityId, Collection[EntityId]]
) -> tuple[tuple[Decision, ...], tuple[Conflict, ...]]:
    """Return the decisions that were revised on both sides, as they then stand, and their conflicts."""
    both = [
        recorded(_with_successors(old, successors), state.get)
        for key, successors in sorted(revised.items())
        if (old := _decision(state.get(key)))
    ]
    conflicts = {one.id: one for _, rivals in both for one in rivals if state.get(one.id) is None}
    known = (*state.registry.conflicts, *conflicts.values())
    conflicts |= {one.id: one for one in completed(known, state.get)}
    return tuple(old for old, rivals in both if rivals), tuple(conflicts.values())


def _with_successors(old: Decision, successors: Collection[EntityId]) -> Decision:
    """Return a decision as a merge left it; a person may have removed the other one since."""
    rest, entries = conflicting_edits.taken(old.body)
    for successor in {*successors} - {old.superseded_by}:
        told = FieldConflict(field="superseded_by", base=None, winner=old.superseded_by, loser=successor)
        entries.add(conflicting_edits.entry_of(Kind.DECISION, told))
    return replace(old, body=conflicting_edits.put(rest, entries))


def _decision(entity: Entity | None) -> Decision | None:
    return entity if isinstance(entity, Decision) else None


def _across(
    forge: Forge, state: State, apart: Apart, renamed: Mapping[EntityId, EntityId]
) -> dict[Pair, float | None]:
    """Return the pairs worth judging of one side's decisions with the other's."""
    here, there = ({renamed.get(key, key) for key in side} for side in (apart.here, apart.there))
    few, many = sorted((here - there, there - here), key=len)
    new = [found for key in sorted(few) if (found := state.active(key)) is not None]
    if not new or not many:
        return {}
    pairs = candidates(forge, state, new)
    return {sides: cosine for sides, cosine in pairs.items() if not many.isdisjoint(sides)}


def _said(
    ours: Registry, known: list[Fact], own: Sequence[Decision | Thread], without: Collection[EntityId]
) -> FoldResult:
    """Return what is said by all archives and conversations but some; `own` is what people registered."""
    remembered = Ingested.of(
        (talk for talk in ours.conversations if talk.id not in without),
        (candidate for candidate in ours.candidates if candidate.conversation_id not in without),
    )
    return gather(fold((fact for fact in known if fact[0].id not in without), own), remembered)


def _told_apart(
    said: Callable[[Collection[EntityId]], FoldResult], here: frozenset[EntityId], there: frozenset[EntityId]
) -> FoldResult:
    """Return what two clones said, each for itself, merged as their files were."""
    shared, ours, theirs = (said(without) for without in (here | there, there, here))
    entities: dict[EntityId, Entity] = {}
    for key in sorted({*ours.entities, *theirs.entities}):
        merged = merge(*(each.entities.get(key) for each in (shared, ours, theirs))).entity
        if merged is not None:
            entities[key] = merged
    return FoldResult(entities, {**ours.mentions, **theirs.mentions})
