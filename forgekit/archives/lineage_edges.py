"""Lineage edges: what each child carried over from its parent, dropped, or resolved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from forgekit.archives.aggregate import DecisionNotes, End, standing_end
from forgekit.archives.ancestry import Ancestry
from forgekit.ids import EntityId, pair_id
from forgekit.model.archive import Archive
from forgekit.model.body import clean, with_section
from forgekit.model.graph import Graph, cycles, reach
from forgekit.model.kinds import is_short
from forgekit.model.lineage import Compression, Lineage
from forgekit.times import Instant

Pair = tuple[EntityId, EntityId]

_LARGE = 500


@dataclass(frozen=True, slots=True)
class Reference:
    """One line of one archive refers to another record: `said` in words, from and to in `ends`."""

    archive: Archive
    line: int
    said: tuple[str, str, str]
    ends: Pair


def parted(references: Iterable[Reference]) -> tuple[list[Reference], list[Reference]]:
    """Return the references that stand, and those that close a circle with them."""
    said = list(references)
    back = closing(reference.ends for reference in said)
    return [r for r in said if r.ends not in back], [r for r in said if r.ends in back]


def closing(pairs: Iterable[Pair]) -> set[Pair]:
    """Return each pair (from, to) that closes a circle with the pairs before it that do not."""
    said = list(dict.fromkeys(pairs))
    groups = cycles(Graph.of(said))
    group_of = {node: number for number, group in enumerate(groups) for node in group}
    place = {node: number for number, node in enumerate(dict.fromkeys(end for pair in said for end in pair))}
    after: dict[EntityId, list[EntityId]] = defaultdict(list)
    found: set[Pair] = set()
    for a, b in said:
        group = group_of.get(a)
        if group is None or group != group_of.get(b):
            continue
        # Nobody means hundreds in one circle: there no arrow is followed, each must lead to what came later.
        large = len(groups[group]) > _LARGE
        if (place[a] > place[b]) if large else a in reach(after, b):
            found.add((a, b))
        else:
            after[a].append(b)
    return found


def take_out_circles(decisions: Mapping[EntityId, DecisionNotes]) -> list[tuple[EntityId, End]]:
    """Take out, of each circle of decisions that replace each other, the end that was said last."""
    taken: list[tuple[EntityId, End]] = []
    while True:
        stands = {
            key: end for key, notes in decisions.items() if (end := standing_end(notes.ends)) is not None
        }
        pairs = [(key, end.successor) for key, end in stands.items() if end.successor is not None]
        circles = cycles(Graph.of(pairs))
        if not circles:
            return taken
        for circle in circles:
            key = max(circle, key=lambda k: (stands[k].at, stands[k].archive.id, stands[k].line, k))
            last = stands[key]
            decisions[key].ends[:] = [end for end in decisions[key].ends if end.successor != last.successor]
            taken.append((key, last))


SUMMARY_LIMIT = 2_000
"""Characters of a bridge summary."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contribution:
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


Links = dict[Pair, list[tuple[Contribution, Contribution]]]
"""(source, target) conversations to the (parent, child) archives that join them."""


def links(ancestry: Ancestry, speakers: Sequence[Contribution]) -> tuple[Links, Links]:
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


def _compressions(joined: Sequence[tuple[Contribution, Contribution]]) -> Iterable[Compression]:
    by_parent: dict[EntityId, tuple[Contribution, list[Contribution]]] = {}
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
    told = {entity for local, entity in own.items() if not is_short(local)}
    return tuple(sorted(pair for pair in own.items() if not is_short(pair[0]) or pair[1] not in told))


def once(found: Iterable[tuple[str, EntityId]]) -> Pairs:
    """Keep one (local id, id) pair per entity: the first; a short id is no local id."""
    by_entity: dict[EntityId, str] = {}
    for local, entity in found:
        by_entity.setdefault(entity, "" if is_short(local) else local)
    return tuple(sorted((local, entity) for entity, local in by_entity.items()))
