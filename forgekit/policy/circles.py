"""References that lead back to where they began, left out in the order in which they were said.

The order is that of the fold, so which one is left out does not depend on the order of filing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from forgekit.ids import EntityId
from forgekit.model.archive import Archive
from forgekit.policy.graph import Graph, cycles, reach
from forgekit.policy.told import DecisionNotes, End, standing_end

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
        pairs = [(key, end.heir) for key, end in stands.items() if end.heir is not None]
        circles = cycles(Graph.of(pairs))
        if not circles:
            return taken
        for circle in circles:
            key = max(circle, key=lambda k: (stands[k].at, stands[k].archive.id, stands[k].line, k))
            last = stands[key]
            decisions[key].ends[:] = [end for end in decisions[key].ends if end.heir != last.heir]
            taken.append((key, last))
