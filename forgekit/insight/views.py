"""What is computed for a reader and never stored, beside every field that is, as JSON values.

Every key is always there: `None` where nothing was said, an empty list where there is none. Times are
ISO 8601 text. What stands in several entities is counted once for a whole registry.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from forgekit.ids import EntityId
from forgekit.insight.staleness import MOOT, Ages, conflict_state, open_conflicts
from forgekit.model.archive import Archive
from forgekit.model.candidate import Candidate
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity, entity_path
from forgekit.model.field_types import INSTANT, PAIRS
from forgekit.model.fields import COMPRESSION, FIELDS, json_fields
from forgekit.model.graph import Graph, dependency_graph, lineage_graph, one_talk
from forgekit.model.kinds import short_id
from forgekit.model.lineage import Lineage
from forgekit.model.registry import Registry
from forgekit.model.thread import Thread
from forgekit.model.transcript import TranscriptPart

Json = dict[str, Any]


def project_counts(registry: Registry, projects: Iterable[EntityId]) -> dict[EntityId, dict[str, int]]:
    """Return how many decisions in force, open threads and conversations each of some projects has."""
    active = Counter(d.project_uuid for d in registry.decisions if not d.status.ended)
    opened = Counter(t.project_uuid for t in registry.threads if not t.status.ended)
    talks = Counter(c.project_uuid for c in registry.conversations)
    return {
        key: {"active_decisions": active[key], "open_threads": opened[key], "conversations": talks[key]}
        for key in projects
    }


class Derived:
    """Views of the entities of one registry; indexes are built when first needed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def view(self, entity: Entity, *, body: bool = False) -> Json:
        """Return an entity with every field of its schema.

        Args:
            entity: of this registry.
            body: whether an archive's text comes along.
        """
        out: Json = json_fields(FIELDS[entity.kind], entity)
        out.update(self._more(entity, body=body))
        out["kind"] = entity.kind.value
        out["short_id"] = short_id(entity.kind, entity.id)
        out["path"] = entity_path(entity)
        out["extra"] = dict(entity.extra)
        return out

    def _more(self, entity: Entity, *, body: bool) -> Json:
        if isinstance(entity, Decision):
            return self._decision(entity)
        if isinstance(entity, Thread):
            return {
                "content": entity.content,
                "resolution": entity.resolution or None,
                "blocks": list(self._blocks[entity.id]),
            }
        if isinstance(entity, Lineage):
            return _edge(entity)
        if isinstance(entity, Conversation):
            talk = self._same.get(entity.id, entity.id)
            return {
                "content": entity.body,
                "continuation_of": list(self._lineage.before.get(talk, ())),
                "continued_by": list(self._lineage.after.get(talk, ())),
            }
        if isinstance(entity, Candidate):
            return {"quote": entity.quote, "rationale": entity.rationale}
        if isinstance(entity, (Archive, TranscriptPart)):
            return {"body": entity.body} if body else {}
        if isinstance(entity, Conflict):
            return {"content": entity.body, "moot": conflict_state(self._registry, entity) == MOOT}
        return {"content": entity.body}

    def _decision(self, decision: Decision) -> Json:
        age = self._ages.age(decision)
        return {
            "rationale": decision.rationale,
            "context": decision.context,
            "last_validated": INSTANT.json(age.last_validated),
            "hops_since_validated": age.hops,
            "validation_count": max(len(age.conversations) - 1, 0),
            "dependents": list(self._dependencies.after.get(decision.id, ())),
            "conflicts_with": list(self._opposed[decision.id]),
        }

    @cached_property
    def _ages(self) -> Ages:
        return Ages(self._registry)

    @cached_property
    def _same(self) -> dict[EntityId, EntityId]:
        return one_talk(self._registry)

    @cached_property
    def _lineage(self) -> Graph:
        return lineage_graph(self._registry, self._same)

    @cached_property
    def _dependencies(self) -> Graph:
        return dependency_graph(self._registry)

    @cached_property
    def _blocks(self) -> dict[EntityId, list[EntityId]]:
        blocks: dict[EntityId, list[EntityId]] = defaultdict(list)
        for thread in self._registry.threads:
            for blocker in thread.blocked_by:
                blocks[blocker].append(thread.id)
        return blocks

    @cached_property
    def _opposed(self) -> dict[EntityId, list[EntityId]]:
        opposed: dict[EntityId, list[EntityId]] = defaultdict(list)
        for conflict in open_conflicts(self._registry):
            opposed[conflict.decision_a].append(conflict.decision_b)
            opposed[conflict.decision_b].append(conflict.decision_a)
        return opposed


def _edge(edge: Lineage) -> Json:
    """Return the fields of the first compression, with local ids, beside the list of all."""
    flat: Json = {field.name: [] if field.type is PAIRS else None for field in COMPRESSION}
    if edge.compressions:
        flat = json_fields(COMPRESSION, edge.compressions[0])
        flat |= {field.name: list(flat[field.name]) for field in COMPRESSION if field.type is PAIRS}
    return {**flat, "bridge_summary": edge.body}
