"""One allocator for every block that forgekit prints: which items a budget holds, and in what words.

Laws, each a property test: the block never costs more than the budget; a larger budget never drops an item
and never shortens one; every item of a stage is shown in its shortest words before any is shown in longer
ones. So an item that does not fit ends the list: a later one that costs less would have to leave again when
the budget grows. What is shown first and what is shown at length first are two orders: a topic must be there,
but its digest has to bear on the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from forgekit.errors import UsageError

MORE = "`--budget` shows more"
"""How a reader gets what a block left out."""


def allocate(
    costs: Sequence[Sequence[int]],
    budget: int,
    required: frozenset[int],
    worth: Sequence[float] = (),
    stages: Sequence[int] = (),
) -> list[int | None]:
    """Choose a rendition for each item: by steps in an order that no budget changes, up to one too dear.

    Args:
        costs: of each item, the most important first, what its renditions cost, from long to short.
        budget: what all may cost; at least the shortest renditions of the required items.
        required: items that are shown in any case.
        worth: of each item, the greatest is shown at more length first, and one below zero after all others;
            else as they come.
        stages: of each item; those of a stage come after all of the stages before are shown at length.

    Returns for each item the index of its rendition, None where it is left out.
    """
    room = budget - sum(costs[index][-1] for index in required)
    chosen = [len(some) - 1 if index in required else None for index, some in enumerate(costs)]
    worth, stages = worth or [0.0] * len(costs), stages or [0] * len(costs)
    steps = sorted(
        (back > 0 and worth[index] < 0, stages[index], back, -worth[index] if back else 0.0, index)
        for index, some in enumerate(costs)
        for back in range(index in required, len(some))
    )
    for _, _, back, _, index in steps:
        at = len(costs[index]) - 1 - back
        room -= costs[index][at] - (costs[index][at + 1] if back else 0)
        if room < 0:
            break
        chosen[index] = at
    return chosen


class BlockRow(NamedTuple):
    """One item of a section.

    Attributes:
        renditions: the same in ever fewer words, each one line.
        group: the line above all rows of the group.
        beside: what the machine block adds for a row that is shown.
        score: among sections of one rank, rows with a greater one are filled first.
        worth: as of `allocate`.
        tier: how much of it may be shown; "" where that is always all.
        stage: as of `allocate`.
    """

    renditions: tuple[str, ...]
    group: str = ""
    beside: str = ""
    score: float = 0.0
    worth: float = 0.0
    tier: str = ""
    stage: int = 0


class Placed(NamedTuple):
    """How a row was fitted in: its section, rendition (0 the longest, None: left out) and cost in tokens."""

    section: str
    tier: str
    rendition: int | None
    of: int
    cost: int
    text: str

    @property
    def where(self) -> str:
        """Its section, and how much of it may be shown if that is not always all."""
        return f"{self.section}, {self.tier}" if self.tier else self.section


class BlockPart(NamedTuple):
    """A section of a block; one without rows is left out.

    Attributes:
        rows: the most important first; as many as could fit.
        total: how many there are.
        head: lines before the rows, such as a table's header.
        rank: the lowest is filled first.
        is_open: whether there may be more than `total`.
    """

    title: str
    rows: Sequence[BlockRow]
    total: int
    head: str = ""
    rank: int = 0
    is_open: bool = False

    @property
    def of(self) -> str:
        """How many there are, in words."""
        return f"{self.total:,}{'+' if self.is_open else ''}"


class Laid(NamedTuple):
    """A block that fits.

    Attributes:
        kept: how many rows of each section are in it.
        cut: how many of each section are not, in words; "" where all are.
        placed: every row, the most important first.
    """

    text: str
    kept: tuple[int, ...]
    cut: str
    placed: tuple[Placed, ...] = ()


class Block(NamedTuple):
    """A block to paste.

    Attributes:
        data: returns the same as JSON values.
        cut: how many rows did not fit, in words; "" where all did.
    """

    text: str
    data: Callable[[], dict[str, object]]
    cut: str = ""


def lay_out(
    opening: str,
    parts: Sequence[BlockPart],
    closing: str,
    *,
    budget: int,
    cost: Callable[[str], int],
    rest: str = "",
    more: str = MORE,
) -> Laid:
    """Fit sections into a budget; each keeps its heading, its count and at least its first row.

    Args:
        budget: tokens for the whole block and what is written with it.
        cost: estimates the tokens of a text; of two texts together never more than of both alone.
        rest: what is written below the block in any case.
        more: how a reader gets what is left out.

    Raises UsageError for a budget that does not hold the headings and first rows.
    """
    ranked = sorted(range(len(parts)), key=lambda index: parts[index].rank)
    order = [(index, row) for index in ranked for row in parts[index].rows]
    order.sort(key=lambda item: (parts[item[0]].rank, item[1].stage, -item[1].score))
    costs = [[cost(f"{text}\n{row.beside}") + 1 for text in row.renditions] for _, row in order]
    first = (next((at for at, (index, _) in enumerate(order) if index == part), None) for part in ranked)
    required = frozenset(at for at in first if at is not None)
    longest = _left_out([(part, part.total) for part in parts], more)
    frame = sum(cost(f"{text}\n\n") for text in (opening, closing, rest, longest))
    frame += sum(cost(line) + 1 for part in parts if part.rows for line in _frame(part))
    least = frame + sum(costs[at][-1] for at in required)
    if budget < least:
        raise UsageError(
            f"{budget} tokens do not hold the first rows of the block; ask for --budget {least} or more"
        )
    worth, stages = [row.worth for _, row in order], [row.stage for _, row in order]
    chosen = allocate(costs, budget - frame, required, worth, stages)
    shown: list[list[tuple[str, str]]] = [[] for _ in parts]
    for (index, row), at in zip(order, chosen, strict=True):
        if at is not None:
            shown[index].append((row.group, row.renditions[at]))
    sections = [_section(part, rows) for part, rows in zip(parts, shown, strict=True) if rows]
    cut = _left_out([(p, p.total - len(rows)) for p, rows in zip(parts, shown, strict=True)], more)
    text = "\n\n".join(filter(None, [opening, *sections, cut, closing])) + "\n"
    placed = (
        Placed(
            parts[index].title,
            row.tier,
            at,
            len(row.renditions),
            some[at] if at is not None else 0,
            row.renditions[-1],
        )
        for (index, row), at, some in zip(order, chosen, costs, strict=True)
    )
    return Laid(text=text, kept=tuple(map(len, shown)), cut=cut, placed=tuple(placed))


def _left_out(missing: Iterable[tuple[BlockPart, int]], more: str) -> str:
    """Return one line that counts the rows of each section that are not shown; "" where all are."""
    parts = [
        f"{number:,}{'+' if part.is_open else ''} of {part.of} in {part.title}"
        for part, number in missing
        if number
    ]
    return f"Left out: {', '.join(parts)}; {more}." if parts else ""


def _frame(part: BlockPart) -> list[str]:
    """Return the lines of a section besides its rows, in their longest form."""
    groups = [f"\n{group}\n" for group, _ in groupby(row.group for row in part.rows) if group]
    return [f"### {part.title} ({part.total:,} of {part.of})\n\n", f"{part.head}\n\n", *groups]


def _section(part: BlockPart, shown: Sequence[tuple[str, str]]) -> str:
    of = f" of {part.of}" if len(shown) < part.total or part.is_open else ""
    blocks = [f"### {part.title} ({len(shown):,}{of})"]
    head = f"{part.head}\n" if part.head else ""
    for group, rows in groupby(shown, key=lambda row: row[0]):
        blocks += [group] if group else []
        blocks.append(head + "\n".join(text for _, text in rows))
        head = ""
    return "\n\n".join(blocks)
