"""Neighbours that are kept from set to set are those of comparing everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from forgekit.index.neighbours import nearest

COUNT = 3
SETS = st.lists(st.dictionaries(st.integers(0, 40), st.integers(0, 2), max_size=30), min_size=2, max_size=5)


def vectors(members: list[tuple[int, int]]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Return a vector of unit length for each key and version; some are the same."""
    rows = [np.random.default_rng(key % 17 + 100 * version).normal(size=8) for key, version in members]
    matrix = np.array(rows, np.float32).reshape(len(members), 8)
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)


def cosines_of(
    matrix: NDArray[np.float32],
) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    return lambda rows: np.asarray(matrix[rows] @ matrix.T)


def plain(matrix: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> list[list[int]]:
    """Compare everything, one pair after the other."""
    out = []
    for row, one in enumerate(matrix):
        cosines = [(-round(float(one @ other), 4), at) for at, other in enumerate(matrix) if at != row]
        out.append([at for _, at in sorted(cosines)][:COUNT])
    return out


@given(SETS)
def test_each_set_has_the_neighbours_of_comparing_everything(sets: list[dict[int, int]]) -> None:
    with TemporaryDirectory() as folder:
        kept = Path(folder, "neighbours.npy")
        for members in sets:
            chosen = sorted(members.items())
            keys = [f"{key:03}" for key, _ in chosen]
            hashes = [str(version) for _, version in chosen]
            matrix = vectors(chosen)
            found, _ = nearest(keys, hashes, cosines_of(matrix), COUNT, kept)
            assert (found == nearest(keys, hashes, cosines_of(matrix), COUNT)[0]).all()
            assert [[at for at in row if at >= 0] for row in found.tolist()] == plain(matrix)


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"junk" * 99])
def test_a_damaged_file_changes_no_answer(tmp_path: Path, damage: bytes) -> None:
    kept = tmp_path / "neighbours.npy"
    kept.write_bytes(damage)
    chosen = [(key, 0) for key in range(9)]
    keys, hashes = [f"{key:03}" for key, _ in chosen], ["0"] * 9
    assert (
        nearest(keys, hashes, cosines_of(vectors(chosen)), COUNT, kept)[0]
        == nearest(keys, hashes, cosines_of(vectors(chosen)), COUNT)[0]
    ).all()
    assert np.load(kept)["near"].shape == (9, COUNT)
