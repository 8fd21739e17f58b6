"""Lineage edges: what each conversation carried over from its parent, dropped, or resolved.

In: each archive's contribution and the parents of each archive. Out: one `Lineage` for each pair of
conversations, with an entry for each tag of the parent. Steps: `links` pairs parent and child archives by
conversation and takes out what would make a conversation its own ancestor; `edges` compares what each pair
states. References between decisions and threads lose their cycles here in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from forgekit.archives.aggregate import End, History, final_end
from forgekit.archives.ancestry import Ancestry
from forgekit.ids import EntityId, pair_id
from forgekit.model.archive_record import DecisionRecord
from forgekit.model.entities import Archive, Compression, Lineage
from forgekit.model.graph import Graph, cycles, reach
from forgekit.model.kinds import is_short
from forgekit.model.rules import clean, with_section
from forgekit.times import Instant

Pair = tuple[EntityId, EntityId]
LocalPairs = tuple[tuple[str, EntityId], ...]

SUMMARY_LIMIT = 2_000
"""Characters of a bridge summary."""
_LARGE = 500


@dataclass(frozen=True, slots=True)
class Reference:
    """A line of an archive that refers from one entity to another.

    Attributes:
        words: name, verb and name, for messages.
        ends: from and to.
    """

    archive: Archive
    line: int
    words: tuple[str, str, str]
    ends: Pair


def without_cycles(references: Iterable[Reference]) -> tuple[list[Reference], list[Reference]]:
    """Split references into those that are kept and those that would close a cycle."""
    given = list(references)
    back = back_edges(reference.ends for reference in given)
    return [r for r in given if r.ends not in back], [r for r in given if r.ends in back]


def back_edges(pairs: Iterable[Pair]) -> set[Pair]:
    """Return each pair (from, to) that closes a cycle with kept pairs before it."""
    given = list(dict.fromkeys(pairs))
    groups = cycles(Graph.of(given))
    group_of = {node: number for number, group in enumerate(groups) for node in group}
    place = {node: number for number, node in enumerate(dict.fromkeys(end for pair in given for end in pair))}
    after: dict[EntityId, list[EntityId]] = defaultdict(list)
    back: set[Pair] = set()
    for a, b in given:
        group = group_of.get(a)
        if group is None or group != group_of.get(b):
            continue
        # A search for each pair is quadratic: in a large cycle each pair must lead to a later node instead.
        large = len(groups[group]) > _LARGE
        if (place[a] > place[b]) if large else a in reach(after, b):
            back.add((a, b))
        else:
            after[a].append(b)
    return back


def remove_successor_cycles(
    decisions: Mapping[EntityId, History[DecisionRecord]],
) -> list[tuple[EntityId, End]]:
    """Remove, and return, the latest end of each cycle of decisions that replace each other."""
    removed: list[tuple[EntityId, End]] = []
    while True:
        ends = {key: end for key, history in decisions.items() if (end := final_end(history.ends))}
        groups = cycles(Graph.of((key, end.successor) for key, end in ends.items() if end.successor))
        if not groups:
            return removed
        for group in groups:
            key = max(group, key=lambda k: (ends[k].at, ends[k].archive.id, ends[k].line, k))
            last = ends[key]
            decisions[key].ends[:] = [end for end in decisions[key].ends if end.successor != last.successor]
            removed.append((key, last))


@dataclass(frozen=True, kw_only=True, slots=True)
class Contribution:
    """One archive and the entities that it mentions.

    Attributes:
        mentioned: by local id, or by short id.
        ended: threads that it shows as ended.
    """

    archive: Archive
    mentioned: Mapping[str, EntityId]
    ended: frozenset[EntityId]
    summary: str


Links = dict[Pair, list[tuple[Contribution, Contribution]]]
"""(source, target) conversations to the (parent, child) contributions that link them."""


def links(ancestry: Ancestry, contributions: Sequence[Contribution]) -> tuple[Links, Links]:
    """Return the links between conversations, and those that would make one its own ancestor."""
    by_id = {contribution.archive.id: contribution for contribution in contributions}
    place = {key: number for number, key in enumerate(by_id)}
    found: Links = defaultdict(list)
    for child in contributions:
        for parent in ancestry.parents[child.archive.id]:
            source, target = parent.conversation_id, child.archive.conversation_id
            if source != target:
                found[source, target].append((by_id[parent.id], child))
    # Only in a cycle does a parent come after its child.
    late = {
        pair
        for pair, joined in found.items()
        if all(place[parent.archive.id] > place[child.archive.id] for parent, child in joined)
    }
    back = back_edges(sorted(found, key=late.__contains__))
    return {p: v for p, v in found.items() if p not in back}, {p: v for p, v in found.items() if p in back}


def edges(
    joined: Links, decisions: Collection[EntityId], ended_at: Mapping[EntityId, Instant]
) -> Iterable[Lineage]:
    """Yield one edge for each pair of conversations, with an entry for each tag of the parent."""
    for (source, target), found in joined.items():
        child = found[0][1]
        by_parent: dict[EntityId, tuple[Contribution, list[Contribution]]] = {}
        for parent, each in found:
            by_parent.setdefault(parent.archive.id, (parent, []))[1].append(each)
        groups = sorted(by_parent.values(), key=lambda p: (p[0].archive.compressed_at, p[0].archive.id))
        yield Lineage(
            lineage_id=pair_id(source, target),
            source_conversation_id=source,
            target_conversation_id=target,
            project_name=child.archive.project_name,
            project_uuid=child.archive.project_uuid,
            compressions=tuple(
                _compression(parent, children, decisions, ended_at) for parent, children in groups
            ),
            body=with_section("", None, clean(child.summary)[:SUMMARY_LIMIT].strip()),
        )


def _compression(
    parent: Contribution,
    children: Sequence[Contribution],
    decisions: Collection[EntityId],
    ended_at: Mapping[EntityId, Instant],
) -> Compression:
    """Compare what a parent mentions with what its children mention."""
    mentioned = {entity for child in children for entity in child.mentioned.values()}
    ended = {entity for child in children for entity in child.ended}
    until = max(child.archive.compressed_at for child in children)
    pairs = local_ids(parent.mentioned)
    decided = [(local, e) for local, e in pairs if e in decisions]
    dropped = [(n, e) for n, e in decided if e not in mentioned and ended_at.get(e, until + 1) > until]
    threads = [(local, e) for local, e in pairs if e not in decisions and e not in parent.ended]
    return Compression(
        compression_tag=parent.archive.compression_tag,
        compression_mode=parent.archive.compression_mode,
        compressed_at=parent.archive.compressed_at,
        turn_range=parent.archive.turn_range,
        decisions_carried=unique_pairs((local, e) for local, e in decided if e in mentioned),
        decisions_dropped=unique_pairs(dropped),
        threads_carried=unique_pairs((local, e) for local, e in threads if e in mentioned - ended),
        threads_resolved=unique_pairs((local, e) for local, e in threads if e in ended),
    )


def local_ids(mentioned: Mapping[str, EntityId]) -> LocalPairs:
    """Return the local ids of an archive's entities; a short id only for an entity without a local id."""
    with_local = {entity for local, entity in mentioned.items() if not is_short(local)}
    return tuple(sorted(p for p in mentioned.items() if not is_short(p[0]) or p[1] not in with_local))


def unique_pairs(found: Iterable[tuple[str, EntityId]]) -> LocalPairs:
    """Keep the first (local id, entity) pair of each entity; a short id counts as no local id."""
    by_entity: dict[EntityId, str] = {}
    for local, entity in found:
        by_entity.setdefault(entity, "" if is_short(local) else local)
    return tuple(sorted((local, entity) for entity, local in by_entity.items()))
