"""Directed graphs of ids: which conversation continues which, which decision depends on which.

Every function runs in time linear in nodes and edges (times a logarithm where order matters), needs no
recursion, and ends on cycles: the nodes of a cycle form one group, and groups have an order always.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from forgekit.frozen import frozen
from forgekit.ids import EntityId, timestamp
from forgekit.model.entities import Lineage
from forgekit.model.registry import Registry

Neighbours = Mapping[EntityId, Sequence[EntityId]]


@frozen()
class Graph:
    """Nodes and arrows; each arrow is listed once, in a stable order.

    Attributes:
        after: where a node's arrows lead; holds every node.
        before: where the arrows into a node come from; holds every node.
    """

    after: Neighbours
    before: Neighbours

    @classmethod
    def of(cls, edges: Iterable[tuple[EntityId, EntityId]], nodes: Iterable[EntityId] = ()) -> Graph:
        """Build a graph from (source, target) pairs and, if wanted, nodes without any."""
        pairs = sorted(set(edges))
        names = sorted({*nodes, *(end for pair in pairs for end in pair)})
        after: dict[EntityId, list[EntityId]] = {name: [] for name in names}
        before: dict[EntityId, list[EntityId]] = {name: [] for name in names}
        for source, target in pairs:
            after[source].append(target)
            before[target].append(source)
        return cls(after, before)

    def __iter__(self) -> Iterator[EntityId]:
        return iter(self.after)


def lineage_graph(registry: Registry, same: Mapping[EntityId, EntityId] = MappingProxyType({})) -> Graph:
    """Return the conversations; an arrow leads from a conversation to what continues it.

    Args:
        same: conversations that count as another (`same_conversations`); an edge inside one is no arrow.
    """
    return Graph.of(arrows(registry, same), (same.get(c.id, c.id) for c in registry.conversations))


def arrows(registry: Registry, same: Mapping[EntityId, EntityId]) -> Iterator[tuple[EntityId, EntityId]]:
    """Yield the arrows of `lineage_graph`: each conversation that is continued, and what continues it."""
    pairs = ((e.source_conversation_id, e.target_conversation_id) for e in registry.lineage)
    ends = ((same.get(a, a), same.get(b, b)) for a, b in pairs)
    return ((a, b) for a, b in ends if a != b)


def reach(neighbours: Neighbours, start: EntityId) -> dict[EntityId, int]:
    """Return every other node that arrows lead to, and the fewest hops to it, nearest first."""
    found = {start: 0}
    todo = deque([start])
    while todo:
        node = todo.popleft()
        for following in neighbours.get(node, ()):
            if following not in found:
                found[following] = found[node] + 1
                todo.append(following)
    del found[start]
    return found


@frozen()
class Order:
    """The nodes in groups, parents before children, older before younger where neither leads to the other.

    Attributes:
        groups: one node each, or all nodes of a cycle.
        position: the group of each node.
        after: the groups that each group leads to; always greater than its own number.
        before: the groups that lead to it.
    """

    groups: tuple[tuple[EntityId, ...], ...]
    position: Mapping[EntityId, int]
    after: tuple[tuple[int, ...], ...]
    before: tuple[tuple[int, ...], ...]


def order(graph: Graph) -> Order:
    """Put a graph into order; cycles become groups."""
    groups = [tuple(sorted(group)) for group in _components(graph)]
    group_of = {node: number for number, group in enumerate(groups) for node in group}
    leads: list[set[int]] = [set() for _ in groups]
    for node in graph:
        leads[group_of[node]].update(group_of[target] for target in graph.after[node])
    missing = [0] * len(groups)
    for number, targets in enumerate(leads):
        targets.discard(number)
        for target in targets:
            missing[target] += 1
    age = [min((timestamp(node), node) for node in group) for group in groups]
    ready = [(age[number], number) for number in range(len(groups)) if not missing[number]]
    heapq.heapify(ready)
    sequence: list[int] = []
    while ready:
        number = heapq.heappop(ready)[1]
        sequence.append(number)
        for target in leads[number]:
            missing[target] -= 1
            if not missing[target]:
                heapq.heappush(ready, (age[target], target))
    place = {number: position for position, number in enumerate(sequence)}
    after = tuple(tuple(sorted(place[target] for target in leads[number])) for number in sequence)
    before: list[list[int]] = [[] for _ in sequence]
    for source, targets_of in enumerate(after):
        for target in targets_of:
            before[target].append(source)
    return Order(
        groups=tuple(groups[number] for number in sequence),
        position={node: place[number] for node, number in group_of.items()},
        after=after,
        before=tuple(map(tuple, before)),
    )


def cycles(graph: Graph) -> list[tuple[EntityId, ...]]:
    """Return the groups of nodes that lead back to themselves, each group sorted."""
    return [group for group in order(graph).groups if len(group) > 1 or group[0] in graph.after[group[0]]]


def _components(graph: Graph) -> list[list[EntityId]]:
    """Find the strongly connected components (Kosaraju): along the arrows, then back, last ended first."""
    ended: list[EntityId] = []
    seen: set[EntityId] = set()
    for root in graph:
        work = [] if root in seen else [(root, iter(graph.after[root]))]
        seen.add(root)
        while work:
            node, targets = work[-1]
            following = next((target for target in targets if target not in seen), None)
            if following is None:
                ended.append(node)
                work.pop()
            else:
                seen.add(following)
                work.append((following, iter(graph.after[following])))
    groups: list[list[EntityId]] = []
    for root in reversed(ended):
        group = [root] if root in seen else []
        seen.discard(root)
        for node in group:  # grows while it is walked
            sources = [source for source in graph.before[node] if source in seen]
            seen.difference_update(sources)
            group += sources
        groups += [group] if group else []
    return groups


class Direction(Enum):
    """Which way a trace goes."""

    BOTH = "both"
    ANCESTORS = "ancestors"
    DESCENDANTS = "descendants"


@frozen(kw_only=True)
class Hop:
    """One lineage edge on the way.

    Attributes:
        depth: hops between the conversation asked about and the edge's far end; 0 inside its own story.
        direction: ANCESTORS or DESCENDANTS; the far end is the edge's source or its target.
    """

    edge: Lineage
    depth: int
    direction: Direction


def same_conversations(registry: Registry) -> dict[EntityId, EntityId]:
    """Map each conversation known from an archive to the ingested one that it is.

    They are one where one bears the platform's id of the other, or its id as such.
    """
    ingested: dict[str, EntityId] = {}
    every = registry.dated_conversations()
    for conversation in reversed(every):
        if conversation.source is not None:
            names = (conversation.external_id, conversation.id)
            ingested.update({name: conversation.id for name in names if name})
    named = ((c.id, c.external_id) for c in every if c.external_id)
    return {key: ingested[name] for key, name in named if ingested.get(name, key) != key}


def trace(registry: Registry, conversation: EntityId, direction: Direction = Direction.BOTH) -> list[Hop]:
    """Return every edge by which a conversation came about or goes on, oldest first, each once.

    `same_conversations` count as one; an edge between them is a step inside its story.
    """
    same = same_conversations(registry)
    ends = {
        e.id: tuple(same.get(end, end) for end in (e.source_conversation_id, e.target_conversation_id))
        for e in registry.lineage
    }
    graph = lineage_graph(registry, same)
    start = same.get(conversation, conversation)
    up: dict[EntityId, int] = {}
    down: dict[EntityId, int] = {}
    if direction is not Direction.DESCENDANTS:
        up = {start: 0, **reach(graph.before, start)}
    if direction is not Direction.ANCESTORS:
        down = {start: 0, **reach(graph.after, start)}
    hops = []
    for edge in registry.lineage:
        source, target = ends[edge.id]
        step = int(source != target)
        if target in up:
            hops.append(Hop(edge=edge, depth=up[target] + step, direction=Direction.ANCESTORS))
        elif source in down:
            hops.append(Hop(edge=edge, depth=down[source] + step, direction=Direction.DESCENDANTS))
    place = order(graph).position

    def position(hop: Hop) -> tuple[int, int, EntityId]:
        a, b = ends[hop.edge.id]
        return place.get(a, 0), place.get(b, 0), hop.edge.id

    return sorted(hops, key=position)
