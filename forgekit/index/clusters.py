"""Clusters of vectors: mutual neighbours, the nearest joined first, as long as their centres stay close."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOOR = 0.5
"""The least cosine of two neighbours that are joined, and of the centres of two clusters."""
COUNT = 10
"""Neighbours of a vector that are looked at."""


def clusters(
    keys: list[str], near: NDArray[np.int32], cosines: NDArray[np.float32], matrix: NDArray[np.float32]
) -> list[list[str]]:
    """Return the groups of keys, larger ones first; the same for the same vectors in any order.

    Args:
        keys: sorted.
        near: of each row those of its neighbours, -1 for none.
        cosines: of the neighbours.
        matrix: the vectors, of unit length.
    """
    listed = [set(row) for row in near.tolist()]
    edges = [
        (-float(cosine), row, other)
        for row, (others, values) in enumerate(zip(near.tolist(), cosines.tolist(), strict=True))
        for other, cosine in zip(others, values, strict=True)
        if row < other and cosine >= FLOOR and row in listed[other]
    ]
    home = list(range(len(keys)))
    members = [[row] for row in home]
    sums: list[NDArray[Any]] = [row.astype(np.float64) for row in matrix]
    for _, a, b in sorted(edges):
        one, two = home[a], home[b]
        if one == two:
            continue
        lengths = np.linalg.norm(sums[one]) * np.linalg.norm(sums[two])
        if float(sums[one] @ sums[two]) / lengths < FLOOR:
            continue
        if len(members[one]) < len(members[two]):
            one, two = two, one
        for row in members[two]:
            home[row] = one
        members[one] += members[two]
        sums[one] = sums[one] + sums[two]
        members[two] = []
    found = [sorted(keys[row] for row in some) for some in members if some]
    return sorted(found, key=lambda group: (-len(group), group))
