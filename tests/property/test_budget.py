"""The laws of the allocator, on any costs and any sections."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forgekit.errors import UsageError
from forgekit.insight.budget import BlockPart, BlockRow, Laid, allocate, lay_out

ITEMS = st.lists(
    st.lists(st.integers(1, 40), min_size=1, max_size=4).map(lambda costs: sorted(costs, reverse=True)),
    max_size=12,
)
PLANS = ITEMS.flatmap(
    lambda items: st.tuples(
        st.just(items), st.frozensets(st.integers(0, max(len(items) - 1, 0)), max_size=3 if items else 0)
    )
)


def least(items: list[list[int]], required: frozenset[int]) -> int:
    return sum(items[index][-1] for index in required)


NUMBERS = st.lists(st.integers(-1, 2), min_size=12, max_size=12)


@given(PLANS, st.integers(0, 300), st.integers(0, 60), NUMBERS, NUMBERS)
def test_a_larger_budget_drops_and_shortens_nothing_and_no_budget_is_exceeded(
    plan: tuple[list[list[int]], frozenset[int]], room: int, more: int, worth: list[int], stages: list[int]
) -> None:
    items, required = plan
    budget = least(items, required) + room
    small, large = (allocate(items, size, required, worth, stages) for size in (budget, budget + more))
    assert small == allocate(items, budget, required, worth, stages)
    for costs, before, after in zip(items, small, large, strict=True):
        assert before is None or (after is not None and costs[after] >= costs[before])
    assert sum(costs[at] for costs, at in zip(items, small, strict=True) if at is not None) <= budget
    assert all(small[index] is not None for index in required)


@given(PLANS, st.integers(0, 300))
def test_every_item_is_shown_shortly_before_any_is_shown_at_length_and_in_order(
    plan: tuple[list[list[int]], frozenset[int]], room: int
) -> None:
    items, required = plan
    chosen = allocate(items, least(items, required) + room, required)
    shown = [at is not None for index, at in enumerate(chosen) if index not in required]
    assert shown == sorted(shown, reverse=True)
    if None in chosen:
        assert all(at in (None, len(costs) - 1) for costs, at in zip(items, chosen, strict=True))


@given(PLANS, st.integers(0, 300))
def test_items_are_shown_up_to_the_first_that_does_not_fit(
    plan: tuple[list[list[int]], frozenset[int]], room: int
) -> None:
    items, required = plan
    chosen = allocate(items, least(items, required) + room, required)
    if None in chosen:
        end = chosen.index(None)
        spent = sum(costs[-1] for index, costs in enumerate(items[: end + 1]) if index not in required)
        assert spent > room
        assert all(index in required for index, at in enumerate(chosen) if index > end and at is not None)


def test_a_smaller_item_does_not_pass_one_that_a_larger_budget_would_show_in_its_place() -> None:
    assert allocate([[10], [2]], 5, frozenset()) == [None, None]
    assert allocate([[10], [2]], 10, frozenset()) == [0, None]
    assert allocate([[3], [10], [2]], 13, frozenset()) == [0, 0, None]


def test_a_later_stage_begins_when_all_before_is_shown_at_length() -> None:
    items, stages = [[9, 1], [9, 1], [9, 1]], [0, 0, 1]
    found = [allocate(items, budget, frozenset(), stages=stages) for budget in (17, 18, 19, 26, 27)]
    assert found == [[0, 1, None], [0, 0, None], [0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_the_worthiest_are_shown_at_length_first_and_what_waits_comes_last() -> None:
    items = [[9, 5, 1], [9, 5, 1], [9, 5, 1]]
    found = [allocate(items, 3 + room, frozenset(), [-1, 0.2, 0.5]) for room in (4, 8, 12, 16, 20, 24)]
    assert found == [[2, 2, 1], [2, 1, 1], [2, 1, 0], [2, 0, 0], [1, 0, 0], [0, 0, 0]]


WORDS = st.text("ab ", min_size=1, max_size=30)
ROWS = st.lists(
    st.builds(
        lambda long, short, group, beside: BlockRow((long + short, short), group, beside),
        WORDS, WORDS, st.sampled_from(["", "**g**", "**h**"]), WORDS,
    ),
    max_size=6,
)  # fmt: skip
PARTS = st.lists(
    st.builds(
        lambda title, rows, unseen, head, rank: BlockPart(
            title=title, rows=rows, total=len(rows) + (unseen if rows else 0), head=head, rank=rank
        ),
        WORDS, ROWS, st.integers(0, 3), st.sampled_from(["", "| A |\n|---|"]), st.integers(0, 4),
    ),
    max_size=5,
)  # fmt: skip


def laid(parts: list[BlockPart], budget: int) -> Laid | None:
    try:
        return lay_out("## Block", parts, "(end)", budget=budget, cost=len, rest="rest\n")
    except UsageError:
        return None


@given(PARTS, st.integers(0, 900), st.integers(0, 300))
def test_a_block_with_what_is_written_beside_it_never_costs_more_than_its_budget(
    parts: list[BlockPart], budget: int, more: int
) -> None:
    found = laid(parts, budget)
    if found is None:
        return
    beside = (row.beside for part, kept in zip(parts, found.kept, strict=True) for row in part.rows[:kept])
    assert len(found.text) + len("rest\n") + sum(map(len, beside)) <= budget
    larger = laid(parts, budget + more)
    assert larger is not None
    for part, kept, later in zip(parts, found.kept, larger.kept, strict=True):
        assert later >= kept >= bool(part.rows)
        assert (f"### {part.title} (" in found.text) >= bool(part.rows)
    missing = sum(part.total for part in parts) - sum(found.kept)
    assert bool(found.cut) == bool(missing)
    assert found.cut in found.text
