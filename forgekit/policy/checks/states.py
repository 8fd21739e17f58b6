"""States: a status goes with the fields that say when, where and by what it came about."""

from __future__ import annotations

from collections.abc import Iterator

from forgekit.model.conflict import Conflict, ConflictStatus
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.policy.checks.base import CheckInput, finding


def status_fields(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find states that do not say what a reader will ask next."""
    for entity in given.subjects(registry):
        match entity:
            case Decision():
                yield from _decision(entity)
            case Conflict():
                yield from _conflict(registry, entity)
            case _:
                pass


def _decision(decision: Decision) -> Iterator[Problem]:
    replaced = decision.status in {DecisionStatus.REVISED, DecisionStatus.SUPERSEDED}
    if replaced and decision.superseded_by is None:
        yield finding(
            decision,
            "status-fields",
            f"is {decision.status.value}, and superseded_by does not say by what",
            field="status",
            fix="add superseded_by, or make it invalidated",
            severity=Severity.WARNING,
        )


def _conflict(registry: Registry, conflict: Conflict) -> Iterator[Problem]:
    sides = (conflict.decision_a, conflict.decision_b)
    if conflict.status is ConflictStatus.RESOLVED and conflict.kept is None:
        yield finding(
            conflict,
            "status-fields",
            "is resolved, and kept does not say which side stands",
            field="status",
            fix="add kept with the id of the side that stands",
            severity=Severity.WARNING,
        )
    if conflict.kept is not None and conflict.kept not in sides:
        yield finding(
            conflict,
            "status-fields",
            f"{short_id(Kind.DECISION, conflict.kept)} is neither side of this conflict",
            field="kept",
        )
    if conflict.status is ConflictStatus.OPEN:
        ended = [s for s in map(registry.get, sides) if isinstance(s, Decision) and s.status.ended]
        if ended:
            names = " and ".join(f"{short_id(s.kind, s.id)} ({s.status.value})" for s in ended)
            yield finding(
                conflict,
                "moot-conflict",
                f"is open, and no longer in force: {names}",
                field="status",
                severity=Severity.INFO,
            )
