"""Near misses: the known word that somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 64


def near_miss(word: str, known: Iterable[str]) -> str | None:
    """Return the known word closest to this one, or None where none is close.

    Close is at most two slips (a letter left out, added, changed, or two swapped), and at most one in a
    word of five letters or fewer: `team` is not a slip for `tags`.
    """
    limit = 1 if len(word) < 6 else 2
    if len(word) > _LONGEST:
        return None
    near = sorted((slips(word, other), other) for other in known if abs(len(other) - len(word)) <= limit)
    return near[0][1] if near and near[0][0] <= limit else None


def slips(a: str, b: str) -> int:
    """Count the fewest single slips between two words (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
