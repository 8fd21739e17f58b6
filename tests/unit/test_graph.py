"""Walks over lineage and dependencies: merges, branches, cycles, depth."""

from __future__ import annotations

from dataclasses import replace

from sample_entities import PROJECT, chain, conversation, decision, edge, links

from forgekit.ids import BASE, EntityId, v8
from forgekit.model.entities import Decision
from forgekit.model.graph import (
    Direction,
    Graph,
    cycles,
    lineage_graph,
    order,
    reach,
    same_conversations,
    trace,
)
from forgekit.model.registry import Registry


def node(number: int) -> EntityId:
    return v8(BASE, number)


def graph(*pairs: tuple[int, int]) -> Graph:
    return Graph.of((node(a), node(b)) for a, b in pairs)


def named(found: dict[EntityId, int]) -> dict[int, int]:
    return {int(key[:8] + key[9:13], 16): hops for key, hops in found.items()}


def line(graph: Graph) -> list[EntityId]:
    return [name for group in order(graph).groups for name in group]


def test_every_parent_and_every_child_is_found_with_the_fewest_hops() -> None:
    g = graph((1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6), (1, 6))
    assert named(reach(g.before, node(6))) == {1: 1, 4: 1, 5: 1, 3: 2, 2: 3}
    assert named(reach(g.after, node(1))) == {3: 1, 6: 1, 4: 2, 5: 2}
    assert reach(g.before, node(1)) == {}
    assert reach(g.after, node(99)) == {}


def test_cycles_are_groups_and_a_loop_is_one() -> None:
    g = graph((1, 2), (2, 3), (3, 2), (4, 4), (3, 5))
    assert cycles(g) == [(node(2), node(3)), (node(4),)]
    assert cycles(graph((1, 2), (2, 3), (1, 3))) == []


def test_order_puts_parents_first_whatever_the_clocks_said_and_the_older_first_else() -> None:
    g = graph((9, 1), (5, 1), (1, 2))
    assert line(g) == [node(n) for n in (5, 9, 1, 2)]


def test_arrows_back_to_several_of_a_cycle_leave_it_whole() -> None:
    g = graph((1, 2), (2, 3), (3, 1), (3, 2))
    assert cycles(g) == [(node(1), node(2), node(3))]


def test_a_cycle_is_as_old_as_its_oldest() -> None:
    g = graph((1, 9), (9, 1), (5, 6))
    assert line(g) == [node(n) for n in (1, 9, 5, 6)]


def test_a_walk_ends_on_a_cycle_and_leaves_out_its_start() -> None:
    g = graph((1, 2), (2, 3), (3, 1))
    assert named(reach(g.before, node(1))) == {3: 1, 2: 2}
    assert named(reach(g.after, node(1))) == {2: 1, 3: 2}


def test_a_chain_of_fifty_thousand_needs_no_recursion() -> None:
    g = graph(*((n, n + 1) for n in range(50_000)))
    assert len(line(g)) == 50_001
    assert cycles(g) == []
    assert reach(g.after, node(0))[node(50_000)] == 50_000


def test_trace_lists_each_edge_once_oldest_first_with_its_depth() -> None:
    a, b, c, d, e = chain("a", "b", "c", "d", "e")
    edges = [edge(a, c), edge(b, c), edge(c, d), edge(c, e), edge(a, e)]
    registry = Registry.of([PROJECT, a, b, c, d, e, *edges])
    assert [(h.edge, h.depth, h.direction.value) for h in trace(registry, c.id)] == [
        (edges[0], 1, "ancestors"),
        (edges[1], 1, "ancestors"),
        (edges[2], 1, "descendants"),
        (edges[3], 1, "descendants"),
    ]
    up = trace(registry, e.id, Direction.ANCESTORS)
    assert [(h.edge, h.depth) for h in up] == [
        (edges[0], 2),
        (edges[4], 1),
        (edges[1], 2),
        (edges[3], 1),
    ]
    assert trace(registry, e.id, Direction.DESCENDANTS) == []


def test_trace_of_a_cycle_ends_and_lists_each_edge_once() -> None:
    a, b = chain("a", "b")
    registry = Registry.of([a, b, edge(a, b)])
    c = conversation("c", 3)
    loop = [edge(a, b), edge(b, c), edge(c, a)]
    registry = Registry.of([a, b, c, *loop])
    assert {h.edge.id for h in trace(registry, b.id)} == {e.id for e in loop}
    assert len(trace(registry, b.id)) == 3


def test_graphs_of_a_registry_hold_what_is_only_named() -> None:
    a, b = chain("a", "b")
    first = decision("Keep rows", a)
    second = decision("Index rows", b, dependencies=(first.id,))
    registry = Registry.of([a, second, *links(a, b)])
    assert lineage_graph(registry).after == {a.id: [b.id], b.id: []}
    assert registry.referring(Decision, "dependencies")(first.id) == [second.id]


def test_conversations_that_count_as_one_are_one_node() -> None:
    a, b, c = chain("a", "b", "c")
    registry = Registry.of([a, b, c, *links(a, b, c)])
    assert lineage_graph(registry, {b.id: a.id}).after == {a.id: [c.id], c.id: []}


def test_conversations_of_one_platform_id_are_the_first_ingested_one_and_without_one_none() -> None:
    told = [replace(c, external_id="platform") for c in chain("a", "b", "c")]
    first, second, archived = (replace(told[0], source="claude"), replace(told[1], source="claude"), told[2])
    assert same_conversations(Registry.of(told)) == {}
    assert same_conversations(Registry.of([first, second, archived])) == {
        second.id: first.id,
        archived.id: first.id,
    }


def test_an_edge_inside_one_story_is_no_step_of_a_trace() -> None:
    a, archived, b = chain("a", "a archived", "b")
    a, archived = replace(a, source="claude", external_id="p"), replace(archived, external_id="p")
    inside, on = edge(a, archived), edge(archived, b)
    registry = Registry.of([a, archived, b, inside, on])
    assert [(h.edge, h.depth) for h in trace(registry, a.id)] == [(inside, 0), (on, 1)]
    assert [(h.edge, h.depth) for h in trace(registry, b.id)] == [(inside, 1), (on, 1)]
