"""Archives that were filed in two clones, read together for the first time.

Each clone has written what its own archives say. Where a parent was filed here and its child there, both
together say more: what the child carries is the parent's. So the files, merged, are brought from what the
clones said apart to what all archives say, as filing one more archive does; the result is the same as if
all had been filed in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.loop.facts import Fact, facts
from forgekit.model.entity import Entity, entity_path
from forgekit.model.registry import Registry
from forgekit.policy.fold import Said, fold
from forgekit.policy.gathering import Ingested, gather
from forgekit.policy.merge import merge
from forgekit.policy.settling import settle
from forgekit.store.store import Change, Outcome
from forgekit.writing import superseding


def rejoin(forge: Forge, here: Collection[EntityId], there: Collection[EntityId]) -> Outcome:
    """Register what archives and conversations say together, in one commit; nothing where that is no more.

    Args:
        forge: the registry, with the files of both clones merged.
        here: the archives and conversations that only this clone had.
        there: those that only the other had.
    """

    def decide() -> Change:
        ours = forge.registry()
        known = facts(forge.catalogue, ours.archives)
        apart = _apart(partial(_said, ours, known), set(here), set(there))
        settlement = settle(apart, _said(ours, known, set()), ours)
        return Change(
            writes=settlement.writes,
            deletes=tuple(entity_path(entity) for entity in settlement.deletes),
            subject="sync: join what two clones filed",
            trailers=(("Forgekit-Op", "sync"), *superseding(settlement.writes)),
        )

    return forge.commit(decide)


def _said(ours: Registry, known: list[Fact], without: Collection[EntityId]) -> Said:
    """Return what is said by all archives and conversations but some."""
    remembered = Ingested.of(
        (talk for talk in ours.conversations if talk.id not in without),
        (candidate for candidate in ours.candidates if candidate.conversation_id not in without),
    )
    return gather(fold(fact for fact in known if fact[0].id not in without), remembered)


def _apart(said: Callable[[Collection[EntityId]], Said], here: set[EntityId], there: set[EntityId]) -> Said:
    """Return what two clones said, each for itself, merged as their files were."""
    shared, ours, theirs = (said(without) for without in (here | there, there, here))
    entities: dict[EntityId, Entity] = {}
    for key in sorted({*ours.entities, *theirs.entities}):
        merged = merge(*(each.entities.get(key) for each in (shared, ours, theirs))).entity
        if merged is not None:
            entities[key] = merged
    return Said(entities, {**ours.mentions, **theirs.mentions})
