"""Which archive continues which, in what order archives are read, and what conversations passed on.

`ancestry`: in, a set of archives; out, their parents, nearest first, and an order in which a parent comes
before its child whatever the clocks say; otherwise event time decides, then the id. Archives of one session
or of one conversation follow each other in time. A cycle is cut at its earliest archive.

`links` and `edges`: in, each archive's contribution and its parents; out, one `Lineage` for each pair of
conversations, with an entry for each tag of the parent. `links` pairs parent and child archives by
conversation and takes out what would make a conversation its own ancestor; `edges` compares what each pair
states. References between decisions and threads lose their cycles here in the same way.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

from forgekit.archives.aggregate import End, History, final_end
from forgekit.archives.descriptions import Descriptions
from forgekit.frozen import frozen
from forgekit.ids import EntityId, pair_id
from forgekit.model.archive_record import DecisionRecord
from forgekit.model.entities import Archive, Compression, Lineage
from forgekit.model.graph import Graph, cycles, order, reach
from forgekit.model.kinds import is_short
from forgekit.model.rules import clean, with_section
from forgekit.times import Instant

Parents = Mapping[EntityId, tuple[Archive, ...]]


@frozen()
class Ancestry:
    """The archives in order, and each one's parents, nearest first.

    Attributes:
        waiting: (archive, tag) of parents that are named but not filed.
    """

    order: tuple[Archive, ...]
    parents: Parents
    waiting: tuple[tuple[Archive, str], ...]


def ancestry(archives: Iterable[Archive]) -> Ancestry:
    """Find every archive's parents and put all into order."""
    ordered = sorted(archives, key=moment)
    by_name = by_names(ordered)
    parents: dict[EntityId, tuple[Archive, ...]] = {}
    waiting = []

    @cache
    def descriptions(project: EntityId) -> Descriptions:
        return Descriptions([each for each in ordered if each.project_uuid == project])

    for archive in ordered:
        found: dict[EntityId, Archive] = {}
        unknown = []
        for name in archive.inherits_from:
            others = [a for a in by_name.get(name, ()) if a.id != archive.id]
            parent = closest(others, archive.project_uuid, moment(archive))
            given = [parent] if parent else descriptions(archive.project_uuid).find(name, archive)
            unknown += [] if given else [name]
            found |= {each.id: each for each in _without_ancestors(given, parents)}
        # Beside a parent that was found, what is no name is a remark.
        waiting += [(archive, name) for name in unknown if not found or " " not in name]
        names = (archive.conversation_id, archive.session_id or "")
        earlier = [
            a
            for name in names
            for a in by_name.get(name, ())
            if _same_session(a, archive) and moment(a) < moment(archive)
        ]
        if earlier and not any(_same_session(archive, parent) for parent in found.values()):
            previous = max(earlier, key=moment)
            found[previous.id] = previous
        parents[archive.id] = tuple(found.values())
    return Ancestry(tuple(_in_order(ordered, parents)), parents, tuple(waiting))


def project_continued(child: Archive, archives: Iterable[Archive]) -> str | None:
    """Return the project of the archives that one says it continues, None where it is not one alone."""
    known, others = [*archives], {*child.inherits_from}
    named = [archive for archive in known if not others.isdisjoint(names_of(archive))]
    found = {archive.project_name for archive in named}
    if others := others.difference(*map(names_of, named)):
        described = Descriptions(sorted(known, key=moment))  # looks at every archive
        found = found.union(*(described.projects(name, child) for name in others))
    return found.pop() if len(found) == 1 else None


def _without_ancestors(given: Sequence[Archive], parents: Parents) -> list[Archive]:
    """Return archives without those that another of them continues."""
    older = {parent.id for archive in given for parent in parents.get(archive.id, ())}
    return [archive for archive in given if archive.id not in older]


def moment(archive: Archive) -> tuple[int, str]:
    """Return what archives are ordered by: event time, then id."""
    return archive.compressed_at, archive.id


def names_of(archive: Archive) -> list[str]:
    """Return the names by which a conversation may refer to an archive or to its conversation."""
    names = archive.external_id, archive.session_id, archive.conversation_id, archive.compression_tag
    return [name for name in dict.fromkeys(names) if name]


def by_names(archives: Iterable[Archive]) -> Mapping[str, list[Archive]]:
    """Return archives, in their order, by each of their names."""
    found: dict[str, list[Archive]] = defaultdict(list)
    for archive in archives:
        for name in names_of(archive):
            found[name].append(archive)
    return found


def closest(archives: Sequence[Archive], project: EntityId, before: tuple[int, str]) -> Archive | None:
    """Choose the parent among archives of one name: of the own project first, the last before a moment."""
    near = [a for a in archives if a.project_uuid == project] or archives
    earlier = [a for a in near if moment(a) < before]
    return earlier[-1] if earlier else near[0] if near else None


def _same_session(a: Archive, b: Archive) -> bool:
    if a.conversation_id == b.conversation_id:
        return True
    return a.session_id is not None and (a.session_id, a.project_uuid) == (b.session_id, b.project_uuid)


def _in_order(ordered: Sequence[Archive], parents: Parents) -> Iterator[Archive]:
    children: dict[EntityId, list[Archive]] = defaultdict(list)
    missing = {a.id: len(parents[a.id]) for a in ordered}
    for archive in ordered:
        for parent in parents[archive.id]:
            children[parent.id].append(archive)
    ready = [(moment(a), a) for a in ordered if not missing[a.id]]
    heapq.heapify(ready)
    cyclic = _cyclic(ordered, parents)
    done: set[EntityId] = set()
    while len(done) < len(ordered):
        archive = heapq.heappop(ready)[1] if ready else next(cyclic)
        if archive.id in done:
            continue
        done.add(archive.id)
        yield archive
        for child in children[archive.id]:
            missing[child.id] -= 1
            if missing[child.id] == 0 and child.id not in done:
                heapq.heappush(ready, (moment(child), child))


def _cyclic(ordered: Sequence[Archive], parents: Parents) -> Iterator[Archive]:
    """Yield the archives of cycles, a cycle after those it continues, the archives of one by time."""
    by_id = {archive.id: archive for archive in ordered}
    found = order(Graph.of((p.id, a.id) for a in ordered for p in parents[a.id]))
    for group in found.groups:
        if len(group) > 1:
            yield from sorted((by_id[name] for name in group), key=moment)


Pair = tuple[EntityId, EntityId]
LocalPairs = tuple[tuple[str, EntityId], ...]

SUMMARY_LIMIT = 2_000
"""Characters of a bridge summary."""
_LARGE = 500


@frozen()
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
    found = order(Graph.of(given))
    place = {node: number for number, node in enumerate(dict.fromkeys(end for pair in given for end in pair))}
    after: dict[EntityId, list[EntityId]] = defaultdict(list)
    back: set[Pair] = set()
    for a, b in given:
        group = found.position[a]
        if group != found.position[b]:
            continue
        # A search for each pair is quadratic: in a large cycle each pair must lead to a later node instead.
        large = len(found.groups[group]) > _LARGE
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


@frozen(kw_only=True)
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
