"""References: what an entity names exists, is of the right kind, and does not lead back to itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from forgekit.checks.base import CheckInput, finding, is_unread, name_of, unread_paths
from forgekit.ids import EntityId
from forgekit.model.archive import Archive
from forgekit.model.candidate import Candidate
from forgekit.model.conflict import Conflict, ConflictStatus
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.model.entity import Entity, entity_path
from forgekit.model.graph import Graph, cycles, lineage_graph
from forgekit.model.kinds import Kind, path_of, short_id
from forgekit.model.lineage import Lineage
from forgekit.model.problem import Problem, Severity
from forgekit.model.project import Project
from forgekit.model.registry import Registry
from forgekit.model.thread import Thread
from forgekit.model.transcript import TranscriptPart

_SHOWN = 5

Reference = tuple[str, EntityId, tuple[Kind, ...]]
_CONVERSATION = (Kind.CONVERSATION,)
_DECISION = (Kind.DECISION,)
_THREAD = (Kind.THREAD,)


def references(entity: Entity) -> Iterator[Reference]:
    """Return (field, id, kinds allowed) for every id that an entity names."""
    if not isinstance(entity, (Conflict, Project)):
        yield "project_uuid", entity.project_uuid, (Kind.PROJECT,)
    match entity:
        case Decision():
            yield from _each("originated_in", _CONVERSATION, entity.originated_in)
            yield from _each("revised_in", _CONVERSATION, entity.revised_in)
            yield from _each("superseded_by", _DECISION, entity.superseded_by)
            yield from _each("conversation_ids", _CONVERSATION, *entity.conversation_ids)
            yield from _each("dependencies", _DECISION, *entity.dependencies)
        case Thread():
            yield from _each("blocked_by", _THREAD, *entity.blocked_by)
            yield from _each("first_seen_in", _CONVERSATION, entity.first_seen_in)
            yield from _each("resolved_in", _CONVERSATION, entity.resolved_in)
            yield from _each("conversation_ids", _CONVERSATION, *entity.conversation_ids)
        case Lineage():
            yield "source_conversation_id", entity.source_conversation_id, _CONVERSATION
            yield "target_conversation_id", entity.target_conversation_id, _CONVERSATION
            for entry in entity.compressions:
                decisions = (*entry.decisions_carried, *entry.decisions_dropped)
                threads = (*entry.threads_carried, *entry.threads_resolved)
                yield from _each("compressions", _DECISION, *(id_ for _, id_ in decisions))
                yield from _each("compressions", _THREAD, *(id_ for _, id_ in threads))
        case Conflict():
            yield "decision_a", entity.decision_a, _DECISION
            yield "decision_b", entity.decision_b, _DECISION
        case Candidate():
            yield "conversation_id", entity.conversation_id, _CONVERSATION
            yield from _each("became", (Kind.DECISION, Kind.THREAD), entity.became)
        case TranscriptPart():
            yield "conversation_id", entity.conversation_id, _CONVERSATION
        case Archive():
            yield "conversation_id", entity.conversation_id, _CONVERSATION
            yield from _each("records", (Kind.DECISION, Kind.THREAD), *(id_ for _, id_ in entity.records))


def paths_named(entities: Collection[Entity]) -> list[str]:
    """Return where the files lie that entities name, in order; the entities' own are left out."""
    named = {
        path_of(kind, id_) for entity in entities for _, id_, kinds in references(entity) for kind in kinds
    }
    return sorted(named - {entity_path(entity) for entity in entities})


def _each(name: str, kinds: tuple[Kind, ...], *ids: EntityId | None) -> Iterator[Reference]:
    return ((name, entity, kinds) for entity in ids if entity is not None)


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


def no_cycles(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find decisions, threads and conversations that lead back to themselves."""
    subjects = list(given.subjects(registry))
    for field, step, what in _CHAINS:
        around = _closure(registry, subjects, step)
        for entity, group in _in_cycle(subjects, around):
            yield _cycle(registry, entity, group, field=field, what=what)
    edges = [e for e in subjects if isinstance(e, Lineage)]
    if not edges:
        return
    group_of = {node: group for group in cycles(lineage_graph(registry)) for node in group}
    for edge in edges:
        group = group_of.get(edge.source_conversation_id, ())
        if edge.target_conversation_id in group:
            yield _cycle(registry, edge, group, field="target_conversation_id", what="conversations continue")


def _dependencies(entity: Entity) -> Iterable[EntityId]:
    return entity.dependencies if isinstance(entity, Decision) else ()


def _successor(entity: Entity) -> Iterable[EntityId]:
    return (entity.superseded_by,) if isinstance(entity, Decision) and entity.superseded_by else ()


def _blockers(entity: Entity) -> Iterable[EntityId]:
    return entity.blocked_by if isinstance(entity, Thread) else ()


_CHAINS: tuple[tuple[str, Callable[[Entity], Iterable[EntityId]], str], ...] = (
    ("dependencies", _dependencies, "decisions rest on"),
    ("superseded_by", _successor, "decisions replace"),
    ("blocked_by", _blockers, "threads wait for"),
)


def _closure(
    registry: Registry, subjects: Iterable[Entity], step: Callable[[Entity], Iterable[EntityId]]
) -> Graph:
    """Return what the subjects lead to, as a graph."""
    edges = []
    todo = [entity for entity in subjects if step(entity)]
    seen = {entity.id for entity in todo}
    while todo:
        entity = todo.pop()
        for target in step(entity):
            edges.append((entity.id, target))
            found = registry.get(target)
            if found is not None and target not in seen:
                seen.add(target)
                todo.append(found)
    return Graph.of(edges)


def _in_cycle(subjects: Iterable[Entity], graph: Graph) -> Iterator[tuple[Entity, tuple[EntityId, ...]]]:
    group_of = {node: group for group in cycles(graph) for node in group}
    return ((entity, group_of[entity.id]) for entity in subjects if entity.id in group_of)


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
