"""What `check --fix` writes: planned here, committed by the use case."""

from __future__ import annotations

from dataclasses import dataclass, replace

from forgekit.checks.base import CheckInput
from forgekit.checks.identity import revised_id, text_gives_id
from forgekit.checks.texts import is_canonical, is_rewritable
from forgekit.model.entities import Decision, DecisionStatus, Entity, entity_path
from forgekit.model.kinds import short_id
from forgekit.model.registry import Registry
from forgekit.times import Instant


@dataclass(frozen=True, kw_only=True, slots=True)
class Fix:
    """One change to make.

    Attributes:
        code: of the problem that it fixes.
        path: of the file at fault.
        message: what is done, as a clause.
        writes: entities to write, each in canonical form.
    """

    code: str
    path: str
    message: str
    writes: tuple[Entity, ...]


def fixes(registry: Registry, given: CheckInput, now: Instant) -> list[Fix]:
    """Plan the fixes that need no person; other problems stay.

    Args:
        registry: all entities.
        given: the texts to be brought into canonical form, what was committed, and what to look at.
        now: when a revision is made.
    """
    out = []
    for entity in given.subjects(registry):
        path, text = entity_path(entity), given.texts.get(entity_path(entity))
        pair = None
        if isinstance(entity, Decision) and not text_gives_id(entity):
            pair = _revision(registry, entity, given.committed.get(entity.id), now)
        if pair is not None:
            new = short_id(entity.kind, pair[1].id)
            message = f"the old text is back as revised, and the new one is {new}"
            out.append(Fix(code="edited-in-place", path=path, message=message, writes=pair))
        elif text is not None and not is_canonical(entity, text) and is_rewritable(entity, text):
            out.append(
                Fix(code="not-canonical", path=path, message="brought into canonical form", writes=(entity,))
            )
    return out


def _revision(
    registry: Registry, edited: Decision, old: Decision | None, now: Instant
) -> tuple[Decision, Decision] | None:
    """Return the old decision restored and ended, and the edit as a decision of its own."""
    new_id = revised_id(registry, edited, old, now) if old else None
    if old is None or new_id is None:
        return None
    origin = old.originated_in
    new = replace(
        edited,
        decision_id=new_id,
        project_name=old.project_name,
        project_uuid=old.project_uuid,
        local_id=None,
        originated_in=origin,
        conversation_ids=(origin,) if origin else (),
        created_at=now,
        last_validated=now,
    )
    ended = replace(old, status=DecisionStatus.REVISED, superseded_by=new_id)
    return ended, new
