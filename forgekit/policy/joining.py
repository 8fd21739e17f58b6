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
from forgekit.policy.circles import Pair, closing
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


Links = dict[Pair, list[tuple[Speaker, Speaker]]]
"""(source, target) conversations to the (parent, child) archives that join them."""


def links(ancestry: Ancestry, speakers: Sequence[Speaker]) -> tuple[Links, Links]:
    """Return what joins conversations, and what would lead one back to itself."""
    by_id = {speaker.archive.id: speaker for speaker in speakers}
    place = {speaker.archive.id: number for number, speaker in enumerate(speakers)}
    pairs: Links = defaultdict(list)
    for child in speakers:
        for parent in ancestry.parents[child.archive.id]:
            source, target = parent.conversation_id, child.archive.conversation_id
            if source != target:
                pairs[source, target].append((by_id[parent.id], child))
    # A parent that speaks after its child does so in a circle alone.
    late = {
        pair
        for pair, found in pairs.items()
        if all(place[p.archive.id] > place[c.archive.id] for p, c in found)
    }
    back = closing(sorted(pairs, key=late.__contains__))
    return {p: v for p, v in pairs.items() if p not in back}, {p: v for p, v in pairs.items() if p in back}


def edges(joined: Links) -> Iterable[Lineage]:
    """Yield one edge per pair of conversations, with an entry per tag that was carried over."""
    for (source, target), found in joined.items():
        first_child = found[0][1]
        yield Lineage(
            lineage_id=pair_id(source, target),
            source_conversation_id=source,
            target_conversation_id=target,
            project_name=first_child.archive.project_name,
            project_uuid=first_child.archive.project_uuid,
            compressions=tuple(_compressions(found)),
            body=with_section("", None, clean(first_child.summary)[:SUMMARY_LIMIT].strip()),
        )


def _compressions(joined: Sequence[tuple[Speaker, Speaker]]) -> Iterable[Compression]:
    by_parent: dict[EntityId, tuple[Speaker, list[Speaker]]] = {}
    for parent, child in joined:
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
    """Return what an archive's names stand for: short ids only where there is no local id."""
    told = {entity for local, entity in own.items() if "_" not in local}
    return tuple(sorted(pair for pair in own.items() if "_" not in pair[0] or pair[1] not in told))


def once(found: Iterable[tuple[str, EntityId]]) -> Pairs:
    """Keep one (local id, id) pair per entity: the first; a short id is no local id."""
    by_entity: dict[EntityId, str] = {}
    for local, entity in found:
        by_entity.setdefault(entity, "" if "_" in local else local)
    return tuple(sorted((local, entity) for entity, local in by_entity.items()))
