"""What is computed for a reader and never stored, beside every field that is, as JSON values.

Every key is always there: `None` where nothing was said, an empty list where there is none. Times are
ISO 8601 text. What stands in several entities is counted once for a whole registry.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from enum import Enum
from functools import cached_property

from forgekit.conflict.finding import Finding
from forgekit.ids import EntityId
from forgekit.insight.staleness import MOOT, Ages, conflict_state, open_conflicts
from forgekit.model.archive import Archive
from forgekit.model.candidate import Candidate
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity, entity_path
from forgekit.model.graph import Graph, dependency_graph, lineage_graph, one_talk
from forgekit.model.kinds import short_id
from forgekit.model.lineage import Compression, Lineage
from forgekit.model.registry import Registry
from forgekit.model.thread import Thread
from forgekit.model.transcript import TranscriptPart
from forgekit.text.codec import known_fields
from forgekit.times import UNKNOWN, Instant, format_instant

Json = dict[str, object]

_COMPRESSION = (
    "compression_tag",
    "compression_mode",
    "compressed_at",
    "turn_range",
    "decisions_carried",
    "decisions_dropped",
    "threads_carried",
    "threads_resolved",
)
_PAIRS = frozenset({"records", *_COMPRESSION[4:]})
_NUMBERS = frozenset({"turn", "turns", "epistemic_tier", "confidence", "similarity"})


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
        out: Json = {name: _value(name, getattr(entity, name)) for name in known_fields(entity.kind)}
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
            "last_validated": _value("last_validated", age.last_validated),
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


def listed_conflict_view(
    derived: Derived,
    conflict: Conflict,
    state: str,
    sides: tuple[Decision | None, Decision | None],
    finding: Finding | None,
    yields: EntityId | None,
) -> Json:
    """Return a verdict, or a finding, with the texts of both sides.

    Args:
        derived: of the registry.
        conflict: the verdict; of a finding, the one it would begin from.
        state: as `conflicts.ListedConflict` has it.
        sides: both decisions; None for one that is gone.
        finding: None for a verdict; its view has `level`, `probability`, `words` and `judge_reason`.
        yields: the side that yields to the other's higher tier.
    """
    view = derived.view(conflict)
    view["texts"] = [side.decision if side is not None else None for side in sides]
    view |= {"level": None, "probability": None, "words": [], "judge_reason": None, "yields": yields}
    if finding is not None:
        view |= {
            "status": state,
            "level": finding.level.value,
            "probability": finding.judgement.probability,
            "words": [list(words) for words in finding.judgement.words],
            "judge_reason": finding.judgement.reason or None,
            "similarity": finding.cosine,
        }
    return view


def _edge(edge: Lineage) -> Json:
    """Return one flat entry per edge: of the first compression, with local ids."""
    flat: Json = {name: [] if name in _PAIRS else None for name in _COMPRESSION}
    if edge.compressions:
        first = edge.compressions[0]
        flat = {name: _value(name, getattr(first, name)) for name in _COMPRESSION}
        for name in _COMPRESSION[4:]:
            flat[name] = [local or entity for local, entity in getattr(first, name)]
    return {**flat, "bridge_summary": edge.body}


def _value(name: str, value: object) -> object:
    """Return a field's value as JSON holds it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Compression):
        return {key: _value(key, getattr(value, key)) for key in _COMPRESSION}
    if isinstance(value, tuple):
        if name in _PAIRS:
            return {local or entity: entity for local, entity in value}
        return list(value) if name == "turn_range" else [_value("", item) for item in value]
    if name in _NUMBERS or not isinstance(value, int):
        return value
    # Elsewhere whole numbers are times.
    return None if value == UNKNOWN else format_instant(Instant(value))
