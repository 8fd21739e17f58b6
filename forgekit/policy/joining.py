"""Lineage edges: what each child carried over from its parent, dropped, or resolved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from forgekit.ids import EntityId, pair_id
from forgekit.model.archive import Archive
from forgekit.model.body import clean, with_section
from forgekit.model.lineage import Compression, Lineage
from forgekit.policy.ancestry import Ancestry
from forgekit.times import Instant

SUMMARY_LIMIT = 2_000
"""Characters of a bridge summary."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Speaker:
    """An archive and what it spoke of.

    Attributes:
        own: its local ids, and the short ids that stand in the place of one.
        decisions: ids of all decisions there are.
        ended_at: when each decision first went out of force, of those that did.
        ended: threads that it says have ended.
    """

    archive: Archive
    own: Mapping[str, EntityId]
    decisions: frozenset[EntityId]
    ended_at: Mapping[EntityId, Instant]
    ended: frozenset[EntityId]
    summary: str


Pairs = tuple[tuple[str, EntityId], ...]


def edges(ancestry: Ancestry, speakers: Sequence[Speaker]) -> Iterable[Lineage]:
    """Yield one edge per pair of conversations, with an entry per tag that was carried over."""
    by_id = {speaker.archive.id: speaker for speaker in speakers}
    pairs: dict[tuple[EntityId, EntityId], list[tuple[Speaker, Speaker]]] = defaultdict(list)
    for child in speakers:
        for parent in ancestry.parents[child.archive.id]:
            source, target = parent.conversation_id, child.archive.conversation_id
            if source != target:
                pairs[source, target].append((by_id[parent.id], child))
    joined: set[EntityId] = set()
    for (source, target), links in pairs.items():
        edge = pair_id(source, target)
        if edge in joined:  # a cycle: the earlier direction stands
            continue
        joined.add(edge)
        first_child = links[0][1]
        yield Lineage(
            lineage_id=edge,
            source_conversation_id=source,
            target_conversation_id=target,
            project_name=first_child.archive.project_name,
            project_uuid=first_child.archive.project_uuid,
            compressions=tuple(_compressions(links)),
            body=with_section("", None, clean(first_child.summary)[:SUMMARY_LIMIT].strip()),
        )


def _compressions(links: Sequence[tuple[Speaker, Speaker]]) -> Iterable[Compression]:
    by_parent: dict[EntityId, tuple[Speaker, list[Speaker]]] = {}
    for parent, child in links:
        by_parent.setdefault(parent.archive.id, (parent, []))[1].append(child)
    ordered = sorted(by_parent.values(), key=lambda p: (p[0].archive.compressed_at, p[0].archive.id))
    for parent, children in ordered:
        spoken = {entity for child in children for entity in child.own.values()}
        ended = {entity for child in children for entity in child.ended}
        decided = [(name, e) for name, e in local_ids(parent.own) if e in parent.decisions]
        threads = [(name, e) for name, e in local_ids(parent.own) if e not in parent.decisions]
        until = max(child.archive.compressed_at for child in children)
        out = {e for _, e in decided if e in parent.ended_at and parent.ended_at[e] <= until}
        standing = [(name, e) for name, e in threads if e not in parent.ended]
        yield Compression(
            compression_tag=parent.archive.compression_tag,
            compression_mode=parent.archive.compression_mode,
            compressed_at=parent.archive.compressed_at,
            turn_range=parent.archive.turn_range,
            decisions_carried=once((name, e) for name, e in decided if e in spoken),
            decisions_dropped=once((name, e) for name, e in decided if e not in spoken | out),
            threads_carried=once((name, e) for name, e in standing if e in spoken - ended),
            threads_resolved=once((name, e) for name, e in standing if e in ended),
        )


def local_ids(own: Mapping[str, EntityId]) -> Pairs:
    """Return what an archive's local ids stand for; what it names by short id alone has none."""
    named = {(local, entity) for local, entity in own.items() if "_" not in local}
    told = {entity for _, entity in named}
    return tuple(sorted(named | {("", entity) for entity in own.values() if entity not in told}))


def once(found: Iterable[tuple[str, EntityId]]) -> Pairs:
    """Keep one (local id, id) pair per entity: the first."""
    by_entity: dict[EntityId, str] = {}
    for local, entity in found:
        by_entity.setdefault(entity, local)
    return tuple(sorted((local, entity) for entity, local in by_entity.items()))
