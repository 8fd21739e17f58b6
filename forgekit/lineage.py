"""Lineage: which conversation continues which, and what came along."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from forgekit.change import Written, moment_of, require_same, typed, without_circle, word_of, write
from forgekit.errors import NotFoundError, RuleError
from forgekit.forge import COMMITTED, Forge, WriteOptions, opened
from forgekit.frozen import frozen, replace
from forgekit.ids import EntityId, conversation_id, pair_id, project_id
from forgekit.insight import views
from forgekit.insight.project_state import last_successor
from forgekit.insight.views import Derived
from forgekit.model.entities import (
    COMPRESSION,
    Compression,
    CompressionMode,
    Conversation,
    Decision,
    DecisionStatus,
    Entity,
    Lineage,
    Thread,
)
from forgekit.model.fields import TurnRange
from forgekit.model.graph import Direction, Hop, same_conversations, trace
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import section, with_section
from forgekit.text.blocks import count
from forgekit.times import Instant


def new_conversation(
    forge: Forge,
    title: str,
    *,
    project: str | None = None,
    external_id: str | None = None,
    at: Instant | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Register a conversation; one of the same title and start in the project is returned as it is.

    Args:
        title: one line; with the start it makes the id.
        project: a project's name; a new one is registered along.
        external_id: the platform's own uuid.
        at: its start in ms since 1970, else now.

    Raises RuleError where the registered one differs, and for a title that is too long.
    """
    line = typed(title, "its description, by `forgekit conversation edit --content`")

    def decide(registry: Registry) -> list[Entity]:
        name = forge.project(project, registry) or ""
        owner = project_id(name)
        started = at if at is not None else forge.now()
        conversation = Conversation(
            conversation_id=conversation_id(owner, line, started),
            title=line,
            project_name=name,
            project_uuid=owner,
            created_at=started,
            external_id=external_id,
        )
        existing = registry.get(conversation.id)
        if isinstance(existing, Conversation):
            return [require_same(existing, title=line, external_id=external_id)]
        return [conversation, *forge.new_project(name, registry)]

    return write(forge, decide, "conversation new", options)


def link_named(
    forge: Forge,
    source: str,
    target: str,
    tag: str,
    *,
    mode: str | None = None,
    compressed_at: Instant | None = None,
    turn_range: TurnRange | None = None,
    summary: str | None = None,
    carried: Iterable[str] = (),
    dropped: Iterable[str] = (),
    resolved: Iterable[str] = (),
    options: WriteOptions = COMMITTED,
) -> Written:
    """Register that one conversation continues another under a tag; the same tag again is returned as it is.

    Conversations, decisions and threads are meant by any of their names.

    Raises UsageError for another mode, RuleError where the edge differs for that tag or has another summary,
    and where conversations would continue each other.
    """
    registry = forge.registry()

    def named(names: Iterable[str], *kinds: Kind) -> dict[Kind, tuple[tuple[str, EntityId], ...]]:
        found = [registry.get(forge.resolve(name, *kinds)) for name in names]
        known = [entity for entity in found if isinstance(entity, (Decision, Thread))]
        return {kind: pairs(entity for entity in known if entity.kind is kind) for kind in kinds}

    kept = named(carried, Kind.DECISION, Kind.THREAD)
    compression = Compression(
        compression_tag=tag,
        compression_mode=word_of(CompressionMode, "compression_mode", mode),
        compressed_at=moment_of("compressed_at", compressed_at),
        turn_range=turn_range,
        decisions_carried=kept[Kind.DECISION],
        threads_carried=kept[Kind.THREAD],
        decisions_dropped=named(dropped, Kind.DECISION)[Kind.DECISION],
        threads_resolved=named(resolved, Kind.THREAD)[Kind.THREAD],
    )
    a, b = forge.resolve(source, Kind.CONVERSATION), forge.resolve(target, Kind.CONVERSATION)

    def decide(registry: Registry) -> list[Lineage]:
        child = registry.get(b)
        if not isinstance(child, Conversation):
            raise NotFoundError("conversation", target)
        edge = registry.get(pair_id(a, b))
        if not isinstance(edge, Lineage):
            made = Lineage(
                lineage_id=pair_id(a, b),
                source_conversation_id=a,
                target_conversation_id=b,
                project_name=child.project_name,
                project_uuid=child.project_uuid,
                compressions=(compression,),
                body=with_section("", None, summary or ""),
            )
            return [without_circle(made, [*registry.conversations, *registry.lineage])]
        if edge.source_conversation_id != a:
            first, second = (short_id(Kind.CONVERSATION, end) for end in (b, a))
            raise RuleError(
                f"{short_id(Kind.LINEAGE, edge.id)} says that {second} continues {first}, "
                f"and they cannot continue each other; say {first} before {second}"
            )
        body = edge.body if summary is None else with_section(edge.body, None, summary)
        if section(edge.body, None):
            require_same(edge, body=body)
        for entry in edge.compressions:
            if entry.compression_tag == tag:
                values = {field.name: getattr(compression, field.name) for field in COMPRESSION}
                return [replace(require_same(edge, entry, **values), body=body)]
        return [replace(edge, compressions=(*edge.compressions, compression), body=body)]

    return write(forge, decide, "lineage new", options)


def pairs(entities: Iterable[Decision | Thread]) -> tuple[tuple[str, EntityId], ...]:
    """Return entities as an edge names them: by local id, or by id alone where that is not unique."""
    found = {entity.id: entity.local_id or "" for entity in entities}
    names = list(found.values())
    return tuple((local if names.count(local) == 1 else "", key) for key, local in found.items())


@frozen(kw_only=True)
class Bridge:
    """What changed between two linked conversations.

    Attributes:
        hops: the edges from source to target, in order.
        carried: decisions that the source knew and the target has.
        dropped: decisions that the source knew, that were dropped on the way and that the target has not.
        revised: decisions that the source knew, with what the target has in their place.
        resolved: threads that ended on the way.
        new: decisions and threads that began on the way.
        registry: that all of them are of.
    """

    source: Conversation
    target: Conversation
    hops: tuple[Lineage, ...]
    carried: tuple[EntityId, ...]
    dropped: tuple[EntityId, ...]
    revised: tuple[tuple[EntityId, EntityId], ...]
    resolved: tuple[EntityId, ...]
    new: tuple[EntityId, ...]
    summary: str
    registry: Registry


def bridge(registry: Registry, source: EntityId, target: EntityId) -> Bridge:
    """Say what changed between two conversations, along the shortest way between them.

    Conversations that are one (`same_conversations`) count as one.

    Raises NotFoundError when no lineage joins them.
    """
    ends = registry.get(source), registry.get(target)
    same = same_conversations(registry)
    hops = _way(registry, source, target, same)
    if not hops or not (isinstance(ends[0], Conversation) and isinstance(ends[1], Conversation)):
        unlinked = " -> ".join(short_id(Kind.CONVERSATION, end) for end in (source, target))
        raise NotFoundError("lineage", unlinked, "`forgekit trace` shows what is linked")
    entries = [entry for edge in hops for entry in edge.compressions]
    first, last = hops[0].compressions, hops[-1].compressions
    named = (pair for entry in first for pair in (*entry.decisions_carried, *entry.decisions_dropped))
    had = {*_ids(named), *_known(registry, source, same)}
    has = dict.fromkeys(_ids(pair for entry in last for pair in entry.decisions_carried))
    has |= dict.fromkeys(_known(registry, target, same))
    way = {same.get(edge.target_conversation_id, edge.target_conversation_id) for edge in hops}
    old = {d.id: d for d in registry.decisions if d.id in had}
    successors = {key: last_successor(registry, d) for key, d in old.items()}
    revised = {
        key: new.id
        for key, new in successors.items()
        if new and new.id not in had and (new.id in has or _in(old[key].revised_in, way, same))
    }
    ended = [
        d.id
        for d in old.values()
        if d.status is DecisionStatus.INVALIDATED and _in(_last_named(registry, d), way, same)
    ]
    carried = tuple(d for d in has if d in had and d not in revised and d not in ended)
    left = dict.fromkeys([*_ids(pair for entry in entries for pair in entry.decisions_dropped), *ended])
    dropped = tuple(d for d in left if d in had and (d not in has or d in ended) and d not in revised)
    resolved = dict.fromkeys(_ids(pair for entry in entries for pair in entry.threads_resolved))
    resolved |= dict.fromkeys(
        t.id for t in registry.threads if t.status.ended and _in(t.resolved_in, way, same)
    )
    began = [d.id for d in registry.decisions if d.id not in had and _in(d.originated_in, way, same)]
    began += [t.id for t in registry.threads if _in(t.first_seen_in, way, same)]
    new = tuple(key for key in reversed(began) if key not in dict(revised).values())
    summaries = [edge.body for edge in hops if edge.body]
    changed = f"{count(len(revised), 'decision')} revised, " if revised else ""
    counts = (
        f"{count(len(hops), 'hop')}: {count(len(carried), 'decision')} carried, "
        f"{count(len(dropped), 'decision')} dropped, {changed}{count(len(resolved), 'thread')} ended, "
        f"{count(len(new), 'record')} new."
    )
    return Bridge(
        source=ends[0],
        target=ends[1],
        hops=tuple(hops),
        carried=carried,
        dropped=dropped,
        revised=tuple(revised.items()),
        resolved=tuple(resolved),
        new=new,
        summary="\n\n".join([counts, *summaries]),
        registry=registry,
    )


def _last_named(registry: Registry, decision: Decision) -> EntityId | None:
    """Return the conversation that named a decision last."""
    known = (registry.get(key) for key in decision.conversation_ids)
    found = [each for each in known if isinstance(each, Conversation)]
    return max(found, key=lambda each: (each.created_at, each.id)).id if found else None


def _in(key: EntityId | None, way: Collection[EntityId], same: Mapping[EntityId, EntityId]) -> bool:
    return key is not None and same.get(key, key) in way


def _way(
    registry: Registry, source: EntityId, target: EntityId, same: Mapping[EntityId, EntityId]
) -> list[Lineage]:
    """Return the edges of the shortest way from source to target; [] when there is none."""
    after: dict[EntityId, list[tuple[EntityId, Lineage]]] = {}
    for edge in registry.lineage:
        a, b = (same.get(end, end) for end in (edge.source_conversation_id, edge.target_conversation_id))
        after.setdefault(a, []).append((b, edge))
    start, end = same.get(source, source), same.get(target, target)
    came: dict[EntityId, tuple[EntityId, Lineage] | None] = {start: None}
    todo = [start]
    for node in todo:  # grows while it is walked: nearest first
        for following, edge in after.get(node, []):
            if following not in came:
                came[following] = node, edge
                todo.append(following)
    hops: list[Lineage] = []
    step = came.get(end)
    while step is not None:
        hops.insert(0, step[1])
        step = came[step[0]]
    return hops


def _known(registry: Registry, conversation: EntityId, same: Mapping[EntityId, EntityId]) -> list[EntityId]:
    """Return the decisions that a conversation states or its archives record."""
    key = same.get(conversation, conversation)
    archives = (a for a in registry.archives if same.get(a.conversation_id, a.conversation_id) == key)
    recorded = {entity for archive in archives for _, entity in archive.records}
    return [
        d.id
        for d in registry.decisions
        if d.id in recorded or any(same.get(c, c) == key for c in d.conversation_ids)
    ]


def _ids(pairs: Iterable[tuple[str, EntityId]]) -> tuple[EntityId, ...]:
    return tuple(dict.fromkeys(entity for _, entity in pairs))


class Trace(NamedTuple):
    """The edges around a conversation, and the registry that they are of."""

    registry: Registry
    conversation: EntityId
    hops: list[Hop]


def trace_from(forge: Forge, conversation: str, direction: str = "both") -> Trace:
    """Return the edges before and after a conversation, oldest first.

    Raises NotFoundError, AmbiguousError, UsageError for another direction.
    """
    way = word_of(Direction, "direction", direction) or Direction.BOTH
    key = forge.resolve(conversation, Kind.CONVERSATION)
    registry = forge.registry()
    return Trace(registry, key, trace(registry, key, way))


def bridge_between(forge: Forge, source: str, target: str) -> Bridge:
    """Say what changed between two conversations, each by any name; errors as of `bridge`."""
    a, b = (forge.resolve(name, Kind.CONVERSATION) for name in (source, target))
    try:
        return bridge(forge.registry(), a, b)
    except NotFoundError as e:
        raise NotFoundError(e.what, e.name, "; ".join(filter(None, (e.hint, forge.unread)))) from None


def lineage_link(
    source_id: str,
    target_id: str,
    compression_tag: str,
    bridge_summary: str | None = None,
    *,
    compression_mode: str | None = None,
    compressed_at: Instant | None = None,
    turn_range: TurnRange | None = None,
    decisions_carried: Iterable[str] = (),
    decisions_dropped: Iterable[str] = (),
    threads_carried: Iterable[str] = (),
    threads_resolved: Iterable[str] = (),
    forge: Forge | None = None,
) -> dict[str, object]:
    """Register that one conversation continues another, and return the edge.

    Arguments are what the fields of an edge hold, with entities by any name; errors as of `link_named`.
    """
    forge = opened(forge)
    written = link_named(
        forge,
        source_id,
        target_id,
        compression_tag,
        mode=compression_mode,
        compressed_at=compressed_at,
        turn_range=turn_range,
        summary=bridge_summary,
        carried=[*decisions_carried, *threads_carried],
        dropped=decisions_dropped,
        resolved=threads_resolved,
    )
    return written.view(forge)


def lineage_trace(
    conversation_id: str, direction: str = "both", *, forge: Forge | None = None
) -> list[dict[str, object]]:
    """Return the edges before and after a conversation, oldest first.

    Args:
        conversation_id: any name of it; a platform's own uuid too.

    Raises UsageError for another direction.
    """
    forge = opened(forge)
    found = trace_from(forge, conversation_id, direction)
    derived = Derived(found.registry)
    return [derived.view(hop.edge) for hop in found.hops]


def lineage_bridge(source_id: str, target_id: str, *, forge: Forge | None = None) -> dict[str, object]:
    """Return what changed between two linked conversations.

    Keys: `source_conversation_id`, `target_conversation_id`, `hops`, `decisions_carried`,
    `decisions_dropped`, `decisions_revised` (old -> new), `threads_resolved` (short ids), `bridge_summary`.
    """
    return views.bridge(bridge_between(opened(forge), source_id, target_id))
