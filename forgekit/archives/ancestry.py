"""Which archive continues which, and in what order they speak.

A parent speaks before its child whatever the clocks said; otherwise event time decides, then the id.
Two archives of one session, or of one conversation, follow each other in time.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from forgekit.ids import EntityId
from forgekit.model.archive import Archive
from forgekit.model.graph import Graph, order


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The archives in the order in which they speak, and each one's parents, nearest first.

    Attributes:
        waiting: (archive, tag) of parents that are named but not filed.
    """

    order: tuple[Archive, ...]
    parents: Mapping[EntityId, tuple[Archive, ...]]
    waiting: tuple[tuple[Archive, str], ...]


def ancestry(archives: Iterable[Archive]) -> Ancestry:
    """Find every archive's parents and put all into order; a cycle is cut at its earliest archive."""
    ordered = sorted(archives, key=_moment)
    by_name: dict[str, list[Archive]] = defaultdict(list)
    for archive in ordered:
        for name in names_of(archive):
            by_name[name].append(archive)
    parents: dict[EntityId, tuple[Archive, ...]] = {}
    waiting = []
    for archive in ordered:
        found: dict[EntityId, Archive] = {}
        for name in archive.inherits_from:
            parent = _pick(archive, by_name.get(name, []))
            if parent is None:
                waiting.append((archive, name))
            else:
                found[parent.id] = parent
        previous = _previous_stretch(archive, by_name)
        if previous is not None and not any(_same_talk(archive, p) for p in found.values()):
            found[previous.id] = previous
        parents[archive.id] = tuple(found.values())
    return Ancestry(tuple(_sorted(ordered, parents)), parents, tuple(waiting))


def _moment(archive: Archive) -> tuple[int, EntityId]:
    return archive.compressed_at, archive.id


def names_of(archive: Archive) -> list[str]:
    """Return what a conversation may call an archive by, or the archive its conversation."""
    names = archive.external_id, archive.session_id, archive.conversation_id, archive.compression_tag
    return [name for name in dict.fromkeys(names) if name]


def _pick(child: Archive, candidates: Sequence[Archive]) -> Archive | None:
    """Choose the parent of a name: of the own project before others, the last before the child."""
    others = [a for a in candidates if a.id != child.id]
    near = [a for a in others if a.project_uuid == child.project_uuid] or others
    earlier = [a for a in near if _moment(a) < _moment(child)]
    return earlier[-1] if earlier else near[0] if near else None


def _same_talk(a: Archive, b: Archive) -> bool:
    if a.conversation_id == b.conversation_id:
        return True
    return a.session_id is not None and (a.session_id, a.project_uuid) == (b.session_id, b.project_uuid)


def _previous_stretch(archive: Archive, by_name: Mapping[str, Sequence[Archive]]) -> Archive | None:
    names = [archive.conversation_id, *([archive.session_id] if archive.session_id else [])]
    earlier = {
        a.id: a
        for name in names
        for a in by_name.get(name, [])
        if _same_talk(a, archive) and _moment(a) < _moment(archive)
    }
    return max(earlier.values(), key=_moment, default=None)


def _sorted(ordered: Sequence[Archive], parents: Mapping[EntityId, tuple[Archive, ...]]) -> Iterable[Archive]:
    children: dict[EntityId, list[Archive]] = defaultdict(list)
    missing = {a.id: len(parents[a.id]) for a in ordered}
    for archive in ordered:
        for parent in parents[archive.id]:
            children[parent.id].append(archive)
    ready = [(_moment(a), a) for a in ordered if not missing[a.id]]
    heapq.heapify(ready)
    circles = _circles(ordered, parents)
    done: set[EntityId] = set()
    while len(done) < len(ordered):
        archive = heapq.heappop(ready)[1] if ready else next(circles)
        if archive.id in done:
            continue
        done.add(archive.id)
        yield archive
        for child in children[archive.id]:
            missing[child.id] -= 1
            if missing[child.id] == 0 and child.id not in done:
                heapq.heappush(ready, (_moment(child), child))


def _circles(
    ordered: Sequence[Archive], parents: Mapping[EntityId, tuple[Archive, ...]]
) -> Iterator[Archive]:
    """Yield the archives of cycles, those of a cycle that rests on no other first, each cycle's by time."""
    by_id = {archive.id: archive for archive in ordered}
    found = order(Graph.of((p.id, a.id) for a in ordered for p in parents[a.id]))
    for group in found.groups:
        if len(group) > 1:
            yield from sorted((by_id[name] for name in group), key=_moment)
