"""Which archive continues which, and in what order archives are read.

In: a set of archives. Out: their parents, nearest first, and an order in which a parent comes before its
child whatever the clocks say; otherwise event time decides, then the id. Archives of one session or of one
conversation follow each other in time. A cycle is cut at its earliest archive.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from forgekit.ids import EntityId
from forgekit.model.entities import Archive
from forgekit.model.graph import Graph, order

Parents = Mapping[EntityId, tuple[Archive, ...]]


@dataclass(frozen=True, slots=True)
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
    by_name: dict[str, list[Archive]] = defaultdict(list)
    for archive in ordered:
        for name in names_of(archive):
            by_name[name].append(archive)
    parents: dict[EntityId, tuple[Archive, ...]] = {}
    waiting = []
    for archive in ordered:
        found: dict[EntityId, Archive] = {}
        for name in archive.inherits_from:
            others = [a for a in by_name.get(name, ()) if a.id != archive.id]
            parent = closest(others, archive.project_uuid, moment(archive))
            if parent is None:
                waiting.append((archive, name))
            else:
                found[parent.id] = parent
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


def moment(archive: Archive) -> tuple[int, str]:
    """Return what archives are ordered by: event time, then id."""
    return archive.compressed_at, archive.id


def names_of(archive: Archive) -> list[str]:
    """Return the names by which a conversation may refer to an archive or to its conversation."""
    names = archive.external_id, archive.session_id, archive.conversation_id, archive.compression_tag
    return [name for name in dict.fromkeys(names) if name]


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
