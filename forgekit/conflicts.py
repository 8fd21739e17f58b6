"""Conflicts: pairs of decisions that cannot both be followed; a person chooses."""

from __future__ import annotations

from dataclasses import replace

from forgekit.change import COMMITTED, WriteOptions, Written, in_force, write
from forgekit.conflict.pairs import superseded
from forgekit.errors import NotFoundError, RuleError, TransitionError
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.insight.staleness import open_conflicts
from forgekit.model.conflict import Conflict, ConflictStatus
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry


def waiting(
    registry: Registry, *, decision: EntityId | None = None, project: EntityId | None = None
) -> list[Conflict]:
    """Return the conflicts that wait for a person, oldest first: all, a decision's, or a project's."""

    def concerns(conflict: Conflict) -> bool:
        sides = conflict.decision_a, conflict.decision_b
        if decision is not None and decision not in sides:
            return False
        owners = {d.project_uuid for d in map(registry.get, sides) if isinstance(d, Decision)}
        return project is None or project in owners

    return [conflict for conflict in open_conflicts(registry) if concerns(conflict)]


def resolve(forge: Forge, name: str, keep: str, reason: str, *, options: WriteOptions = COMMITTED) -> Written:
    """Keep one side of a conflict; the other is superseded, with the reason.

    Raises RuleError when `keep` is no side of it, TransitionError when it is settled or `keep` out of force.
    """
    key, kept = forge.resolve(name, Kind.CONFLICT), forge.resolve(keep, Kind.DECISION)

    def decide(registry: Registry) -> list[Entity]:
        conflict = _open(registry, key)
        if kept not in (conflict.decision_a, conflict.decision_b):
            sides = " or ".join(
                short_id(Kind.DECISION, side) for side in (conflict.decision_a, conflict.decision_b)
            )
            raise RuleError(f"--keep must name a side of the conflict: {sides}")
        lost = conflict.decision_b if kept == conflict.decision_a else conflict.decision_a
        winner, loser = registry.get(kept), registry.get(lost)
        if isinstance(winner, Decision):
            in_force(registry, winner)
        settled = replace(conflict, status=ConflictStatus.RESOLVED, kept=kept, reason=reason)
        if not isinstance(loser, Decision) or loser.status is not DecisionStatus.ACTIVE:
            return [settled]
        return [settled, superseded(loser, kept, reason)]

    return write(forge, decide, "conflict resolve", options)


def resolve_between(
    forge: Forge, decision: str, keep: str, reason: str, *, options: WriteOptions = COMMITTED
) -> Written:
    """Resolve the open conflict of a decision, keeping one side.

    Raises NotFoundError when there is none, RuleError when several could be meant.
    """
    registry = forge.registry()
    side, kept = forge.resolve(decision, Kind.DECISION), forge.resolve(keep, Kind.DECISION)
    found = [
        conflict
        for conflict in waiting(registry, decision=side)
        if kept in (conflict.decision_a, conflict.decision_b)
    ]
    if not found:
        raise NotFoundError("open conflict", decision, "`forgekit conflict list` shows what is open")
    if len(found) > 1:
        listed = ", ".join(short_id(Kind.CONFLICT, conflict.id) for conflict in found)
        raise RuleError(f"{decision} has several open conflicts ({listed}); name the conflict by its id")
    return resolve(forge, found[0].id, kept, reason, options=options)


def scope(forge: Forge, name: str, reason: str, *, options: WriteOptions = COMMITTED) -> Written:
    """Keep both sides, each in the scope that the reason states."""
    return _settle(forge, name, ConflictStatus.SCOPED, reason, options)


def dismiss(forge: Forge, name: str, reason: str, *, options: WriteOptions = COMMITTED) -> Written:
    """Say that the two decisions do not contradict each other."""
    return _settle(forge, name, ConflictStatus.DISMISSED, reason, options)


def _settle(forge: Forge, name: str, status: ConflictStatus, reason: str, options: WriteOptions) -> Written:
    key = forge.resolve(name, Kind.CONFLICT)
    verb = "scope" if status is ConflictStatus.SCOPED else "dismiss"
    return write(
        forge,
        lambda registry: [replace(_open(registry, key), status=status, reason=reason)],
        f"conflict {verb}",
        options,
    )


def _open(registry: Registry, key: EntityId) -> Conflict:
    conflict = registry.expect(Conflict, key)
    if conflict.status is not ConflictStatus.OPEN:
        raise TransitionError(f"{short_id(Kind.CONFLICT, key)} is already {conflict.status.value}")
    return conflict
