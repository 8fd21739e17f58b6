"""One change to the registry: load, decide, write, one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forgekit.errors import ChangedError
from forgekit.forge import Forge
from forgekit.model.conflict import Conflict
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import short_id
from forgekit.model.registry import Registry

if TYPE_CHECKING:
    from forgekit.store.store import Change, Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class How:
    """How to write.

    Attributes:
        dry_run: show the diff, write nothing.
        no_commit: write the files, leave committing to the person.
        seen: the entity that the caller read and based this change on; it must not have moved on since.
    """

    dry_run: bool = False
    no_commit: bool = False
    seen: Entity | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What a use case wrote.

    Attributes:
        entity: the one that the command was about, as it stands now.
        outcome: commit, paths and diff.
    """

    entity: Entity
    outcome: Outcome


COMMITTED = How()


def write(
    forge: Forge,
    decide: Callable[[Registry], Sequence[Entity]],
    operation: str,
    how: How = COMMITTED,
) -> Written:
    """Write what `decide` makes of the registry.

    Args:
        forge: the registry.
        decide: returns the entities to write, the one that the command is about first; it runs again
            when somebody else's commit came first.
        operation: noun and verb, such as `decision revise`.
        how: dry run, without a commit, or only if nobody else was faster.

    Raises ChangedError when `how.seen` has moved on.
    """
    from forgekit.store.store import Change  # noqa: PLC0415 - a check alone writes nothing

    def change() -> Change:
        registry = forge.registry()
        if how.seen is not None and registry.get(how.seen.id) != how.seen:
            raise ChangedError(entity_path(how.seen))
        entities = tuple(decide(registry))
        noun, _, verb = operation.partition(" ")
        first = entities[0]
        return Change(
            writes=entities,
            deletes=(),
            subject=f"{noun}: {verb} {short_id(first.kind, first.id)}",
            trailers=(("Forgekit-Op", operation), *_entity_trailers(entities)),
            result=entities,
        )

    outcome = forge.commit(change, dry_run=how.dry_run, no_commit=how.no_commit)
    return Written(entity=outcome.change.writes[0], outcome=outcome)


def _entity_trailers(entities: Sequence[Entity]) -> Iterable[tuple[str, str]]:
    return *(("Forgekit-Entity", entity.id) for entity in entities), *superseding(entities)


def superseding(entities: Sequence[Entity]) -> tuple[tuple[str, str], ...]:
    """Return the trailers that say which decision gave way to which in a conflict."""
    written = {entity.id for entity in entities}
    settled = [e for e in entities if isinstance(e, Conflict) and e.kept is not None]
    sides = [(c.decision_b if c.kept == c.decision_a else c.decision_a, c.kept) for c in settled]
    return tuple(("Forgekit-Superseded", f"{lost} by {kept}") for lost, kept in sides if lost in written)
