"""References: what an entity names exists, is of the right kind, and does not lead back to itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forgekit.checks.base import CheckInput, finding, is_unread, name_of, unread_paths
from forgekit.ids import EntityId
from forgekit.model.entities import (
    Conflict,
    ConflictStatus,
    Decision,
    DecisionStatus,
    Entity,
    Lineage,
    Thread,
    references,
)
from forgekit.model.graph import Graph, cycles, lineage_graph
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry

_SHOWN = 5


def references_exist(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find ids that nothing answers to, or the wrong kind; a file that cannot be read is no broken one."""
    unread = unread_paths(registry)
    for entity in given.subjects(registry):
        for name, target, kinds in dict.fromkeys(references(entity)):
            found = registry.get(target)
            wanted = " or ".join(kind.value for kind in kinds)
            if found is None and not is_unread(unread, target):
                yield finding(
                    entity,
                    "broken-reference",
                    f"no {wanted} has the id {target}",
                    field=name,
                    fix="restore its file, or take the id out",
                )
            elif found is not None and found.kind not in kinds:
                yield finding(
                    entity,
                    "broken-reference",
                    f"{name_of(registry, target)} is a {found.kind.value}, and a {wanted} belongs here",
                    field=name,
                )


# Fields by which an entity can lead back to itself, and how a message begins.
_CHAINS = (
    (Decision, "dependencies", "decisions depend on"),
    (Decision, "superseded_by", "decisions replace"),
    (Thread, "blocked_by", "threads wait for"),
)


def no_cycles(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find decisions, threads and conversations that lead back to themselves."""
    subjects = list(given.subjects(registry))
    for kind, field, what in _CHAINS:
        group_of = _in_cycles(registry, [e for e in subjects if isinstance(e, kind)], field)
        for entity in subjects:
            if entity.id in group_of:
                yield _cycle(registry, entity, group_of[entity.id], field=field, what=what)
    edges = [e for e in subjects if isinstance(e, Lineage)]
    if not edges:
        return
    group_of = {node: group for group in cycles(lineage_graph(registry)) for node in group}
    for edge in edges:
        group = group_of.get(edge.source_conversation_id, ())
        if edge.target_conversation_id in group:
            yield _cycle(registry, edge, group, field="target_conversation_id", what="conversations continue")


def _in_cycles(
    registry: Registry, subjects: Iterable[Entity], field: str
) -> dict[EntityId, tuple[EntityId, ...]]:
    """Return the cycle of each entity that the subjects lead to through a field and that lies on one."""
    edges = []
    todo = list(subjects)
    seen = {entity.id for entity in todo}
    while todo:
        entity = todo.pop()
        value = getattr(entity, field, None) or ()
        for target in value if isinstance(value, tuple) else (value,):
            edges.append((entity.id, target))
            found = registry.get(target)
            if found is not None and target not in seen:
                seen.add(target)
                todo.append(found)
    return {node: group for group in cycles(Graph.of(edges)) for node in group}


def _cycle(
    registry: Registry,
    entity: Entity,
    group: tuple[EntityId, ...],
    *,
    field: str,
    what: str,
) -> Problem:
    names = ", ".join(name_of(registry, node) for node in group[:_SHOWN])
    more = f" and {len(group) - _SHOWN} more" if len(group) > _SHOWN else ""
    return finding(
        entity,
        "cycle",
        f"{what} each other in a circle: {names}{more}",
        field=field,
        fix="take one of these references out"
        + (" and make that decision `active`" if field == "superseded_by" else ""),
    )


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
            "is resolved, and `kept` is missing",
            field="status",
            fix="add kept with the id of the side that was kept",
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
