"""The nearest others of each of some keys, kept from one set of keys to the next.

Comparing all with all takes half a second at 5,000 keys, and one write changes few of them: only what came,
what changed and what had a neighbour that left is compared anew. The answer is that of comparing everything,
and the file may be deleted or damaged at any moment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int32]
CosinesOf = Callable[[NDArray[np.int64]], Floats]
"""Returns the cosines of some rows with all rows, [some, all]."""

_DIGITS = 6
"""Cosines are compared rounded: their last bits depend on how a product was cut into parts."""
_BLOCK = 256  # rows compared with all others at once
_SPARE = 8  # rows looked at beyond those that are wanted, for equal ones after rounding


def nearest(
    keys: Sequence[str], hashes: Sequence[str], cosines_of: CosinesOf, count: int, kept: Path | None = None
) -> tuple[Rows, Floats]:
    """Return the rows of the nearest others of each key, best first, and their cosines.

    Equal ones are in the order of rows.

    Args:
        keys: sorted.
        count: how many others; fewer where there are not so many, and -1 in the rest.
        kept: a file for the answer; it names the space of the vectors.
    """
    size = len(keys)
    table = np.zeros(size, _layout(count))
    table["key"], table["hash"] = np.array(keys, "S"), np.array(hashes, "S")
    before = _load(kept, count)
    fresh = np.arange(size)
    if before is not None and all(np.array_equal(before[part], table[part]) for part in ("key", "hash")):
        table, fresh = before, fresh[:0]
    elif before is not None and size:
        fresh = _carry(before, table, cosines_of)
    for start in range(0, len(fresh), _BLOCK):
        rows = fresh[start : start + _BLOCK]
        cosines = np.round(cosines_of(rows), _DIGITS)
        cosines[np.arange(len(rows)), rows] = -np.inf
        picked = np.broadcast_to(np.arange(size), cosines.shape)
        if size > count + _SPARE:
            picked = np.argpartition(-cosines, count + _SPARE - 1, axis=1)[:, : count + _SPARE]
        _put(table, rows, picked, np.take_along_axis(cosines, picked, axis=1))
    if kept is not None and (before is None or len(fresh) or len(before) != size):
        _save(table, kept)
    return np.asarray(table["near"], np.int32), np.asarray(table["cosine"], np.float32)


def _layout(count: int) -> np.dtype[Any]:
    fields: list[Any] = [
        ("key", "S36"),
        ("hash", "S64"),
        ("near", "<i4", (count,)),
        ("cosine", "<f4", (count,)),
    ]
    return np.dtype(fields)


def _put(table: NDArray[Any], rows: NDArray[Any], picked: NDArray[Any], cosines: Floats) -> None:
    """Write the best of what was picked for some rows; a cosine of minus infinity is none."""
    count = table["near"].shape[1]
    order = np.lexsort((picked, -cosines), axis=1)[:, :count]
    best = np.take_along_axis(cosines, order, axis=1)
    near = np.where(np.isinf(best), -1, np.take_along_axis(picked, order, axis=1))
    table["near"][rows] = -1
    table["cosine"][rows] = -np.inf
    table["near"][rows, : near.shape[1]] = near
    table["cosine"][rows, : best.shape[1]] = best


def _carry(before: NDArray[Any], table: NDArray[Any], cosines_of: CosinesOf) -> NDArray[Any]:
    """Fill in the rows that follow from those of before, and return the others."""
    place = np.searchsorted(before["key"], table["key"]).clip(max=len(before) - 1)
    same = (before["key"][place] == table["key"]) & (before["hash"][place] == table["hash"])
    moved = np.full(len(before) + 1, -1, np.int32)  # the last entry is for "no neighbour"
    moved[place[same]] = np.flatnonzero(same)
    old_rows, rows = place[same], np.flatnonzero(same)
    near, cosines = moved[before["near"][old_rows]], before["cosine"][old_rows]
    # A list with a gap has lost a neighbour; a list that was never full has room for every other one.
    whole = (near >= 0).all(axis=1)
    rows, near, cosines = rows[whole], near[whole], cosines[whole]
    came = np.flatnonzero(~same)
    if len(rows) and len(came):
        added = np.round(cosines_of(came), _DIGITS).T[rows]
        columns = np.broadcast_to(came, added.shape)
        near, cosines = np.hstack([near, columns]), np.hstack([cosines, added]).astype(np.float32)
    _put(table, rows, near, cosines)
    return np.setdiff1d(np.arange(len(table)), rows, assume_unique=True)


def _load(path: Path | None, count: int) -> NDArray[Any] | None:
    if path is None:
        return None
    try:
        table = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if table.dtype != _layout(count) or table.ndim != 1 or not len(table):
        return None
    inside = (table["near"] >= -1) & (table["near"] < len(table))
    ordered = (table["key"][1:] > table["key"][:-1]).all()
    return table if inside.all() and ordered else None


def _save(table: NDArray[Any], path: Path) -> None:
    """Replace the file at once; without room or permission there is none."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    with suppress(OSError):
        try:
            with temporary.open("wb") as file:
                np.save(file, table, allow_pickle=False)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
