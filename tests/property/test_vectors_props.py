"""Laws of the vector index: it finds what comparing everything finds."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.index import vector_index as vectors_index
from forgekit.index.vector_index import IndexFiles

COUNT = 60


def matrix_of(seed: int, count: int) -> vectors_index.Floats:
    """Return unit vectors of few different values, so that many are equally far."""
    numbers = np.random.default_rng(seed).integers(-1, 2, (count, 4)).astype(np.float32)
    numbers[:, 0] += 3
    numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
    return numbers


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(0, COUNT),
    k=st.integers(0, COUNT + 5),
    allowed=st.none() | st.sets(st.integers(0, COUNT - 1)),
)
def test_what_is_found_is_what_comparing_everything_finds(
    seed: int, count: int, k: int, allowed: set[int] | None
) -> None:
    matrix = matrix_of(seed, count)
    query = matrix_of(seed + 1, 1)[0]
    keys = [f"key-{i:03d}" for i in range(count)]
    rows = None if allowed is None else np.array(sorted(i for i in allowed if i < count), np.int64)
    index = vectors_index.VectorIndex(keys=keys, hashes=keys, kind="scan", matrix=matrix)
    cosines = np.round(matrix.astype(np.float64) @ query.astype(np.float64), 9)
    among = range(count) if allowed is None else sorted(i for i in allowed if i < count)
    best = sorted(among, key=lambda row: (-cosines[row], row))[:k]
    assert index.search(query, k, rows) == [(keys[row], cosines[row]) for row in best]


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    names=st.sets(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1)),
)
def test_what_is_written_is_read_back(seed: int, names: set[str]) -> None:
    keys = sorted(names)
    hashes = [f"{seed} {key}" for key in keys]
    matrix = matrix_of(seed, len(keys))
    with tempfile.TemporaryDirectory() as folder:
        files = IndexFiles(Path(folder), "main", "space")
        files.write(keys, hashes, matrix)
        index = files.load()
        assert index is not None
        assert (index.keys, index.hashes, index.kind) == (keys, hashes, "scan")
        rows = np.arange(len(keys))
        assert np.array_equal(index.vectors(rows), matrix)
        assert IndexFiles(Path(folder), "main", "another space").load() is None
        assert IndexFiles(Path(folder), "another", "space").load() is None


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    changes=st.lists(st.lists(st.integers(-1, 4), min_size=5, max_size=9), max_size=3),
)
def test_a_changed_index_answers_as_one_made_anew(seed: int, changes: list[list[int]]) -> None:
    matrix = matrix_of(seed, 5)
    index = vectors_index.VectorIndex(keys=[*"abcde"], hashes=[*"abcde"], kind="scan", matrix=matrix)
    for number, change in enumerate(changes):
        rows = np.array(change, np.int64)
        made = matrix_of(seed + number + 2, int((rows < 0).sum()))
        matrix = matrix[rows]
        matrix[rows < 0] = made
        keys = [f"{place}" for place in range(len(rows))]
        index = index.changed(keys, keys, rows, made, None)
    anew = vectors_index.VectorIndex(keys=index.keys, hashes=index.keys, kind="scan", matrix=matrix)
    every, query = np.arange(len(matrix)), matrix_of(seed + 1, 1)[0]
    assert np.array_equal(index.vectors(every[::2]), matrix[::2])
    assert np.allclose(index.products(matrix[:2]), matrix @ matrix[:2].T)
    assert index.search(query, 3, None) == anew.search(query, 3, None)
    assert index.search(query, 3, every[:2]) == anew.search(query, 3, every[:2])
