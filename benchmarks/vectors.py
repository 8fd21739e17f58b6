"""What search by meaning costs, and what the quicker index misses.

    python benchmarks/vectors.py [--texts 512] [--rows 120000] [--runs 7]

Encoder: texts per second, and a whole process from nothing to the first answer beside the floor under it,
which imports the same libraries and does nothing. Index: built from known vectors, each kind at each size,
with the share of the true ten best that it finds. Vectors are generated around seeded centres. No number here
fails a build.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from forgekit.index import vector_index as vectors_index
from forgekit.index.vector_index import IndexFiles, VectorIndex
from forgekit.index.vectors import Vectors
from forgekit.model.settings import Settings
from forgekit.models.encoder import Encoder, Missing, find_encoder

if TYPE_CHECKING:
    from forgekit.index.vector_index import Floats, Rows

T = TypeVar("T")

WIDTH = 384
FLOOR = "import sqlite3, json, pathlib, dataclasses, numpy, tokenizers"
COLD = """
import sys
from pathlib import Path
from forgekit.models.encoder import find_encoder
from forgekit.model.settings import Settings
from forgekit.index.vectors import Vectors
cache = Path(sys.argv[1])
print(Vectors(cache, find_encoder(Settings(), cache)).search("why did we choose uuid ids", 10)[0][0])
"""
STEMS, ENDS = ("stor", "key", "hash", "cach", "log", "rest", "row"), ("e", "", "ing")
WORDS = [f"{stem}{end}" for stem in STEMS for end in ENDS]


def timed(run: Callable[[], T], runs: int) -> tuple[float, T]:
    """Return the median time in ms, and the last answer."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        answer = run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times), answer


def clustered(count: int, seed: int = 1) -> Floats:
    """Return unit vectors around one centre per fifty of them."""
    draw = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((2400, WIDTH), np.float32)
    out = centres[draw.integers(0, len(centres), count)]
    out += np.float32(0.7) * draw.standard_normal((count, WIDTH), np.float32)
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    return out


def encoder_table(encoder: Encoder, texts: int, runs: int, folder: Path) -> None:
    """Print what encoding costs."""
    draw = random.Random(1)
    made = [" ".join(draw.choices(WORDS, k=int(draw.lognormvariate(3.5, 0.6)) + 3)) for _ in range(texts)]
    encoder.encode_documents(made[:16])
    once, _ = timed(lambda: encoder.encode_documents(made), 1)
    words = statistics.mean(len(text.split()) for text in made)
    print(f"{encoder.name}: {texts / once * 1000:.0f} texts/s, {texts} texts of {words:.0f} words")
    warm, _ = timed(lambda: encoder.encode_queries(["why did we choose uuid ids"]), runs)
    print(f"one query in a warm process: {warm:.1f} ms")
    vectors = Vectors(folder, encoder)
    spent, _ = timed(
        lambda: vectors.update((f"key-{i:06d}", f"h{i}", text) for i, text in enumerate(made)), 1
    )
    print(f"index of {texts} from nothing: {spent / once:.2f} of the encoder's time")
    floor, _ = timed(lambda: subprocess.run([sys.executable, "-c", FLOOR], check=True), runs)
    cold = [sys.executable, "-c", COLD, str(folder)]
    whole, _ = timed(lambda: subprocess.run(cold, check=True, capture_output=True), runs)
    print(f"whole process, cold query: {whole:.0f} ms; floor {floor:.0f} ms; ratio {whole / floor:.2f}")


def index_table(sizes: list[int], runs: int, folder: Path) -> None:
    """Print what each kind of index costs at each size, and what it finds."""
    print("\n    rows  kind  build ms  open ms  query ms  1 % ms  recall@10")
    for count in sizes:
        matrix, queries = clustered(count), clustered(max(runs, 50), seed=2)
        exact = _answers(_made(matrix, "scan", folder)[1], queries, None)[1]
        for kind in ("scan", "flat", "ivf"):
            build, index, opened = _made(matrix, kind, folder)
            query, found = _answers(index, queries, None)
            filtered, _ = _answers(index, queries, np.arange(0, count, 100))
            hit = statistics.mean(len(a & b) / 10 for a, b in zip(found, exact, strict=True))
            print(
                f"{count:8}  {kind:4}  {build:8.0f}  {opened:7.1f}  {query:8.2f}  {filtered:6.2f}  {hit:9.3f}"
            )


def _made(matrix: Floats, kind: str, folder: Path) -> tuple[float, VectorIndex, float]:
    """Return the ms that building takes, an index of a kind, and the ms that opening takes."""
    keys = [f"key-{i:08d}" for i in range(len(matrix))]
    usual = vectors_index.SCAN_UP_TO, vectors_index.IVF_ABOVE
    limits = {"scan": (len(matrix), len(matrix)), "flat": (0, len(matrix)), "ivf": (0, 0)}[kind]
    vectors_index.SCAN_UP_TO, vectors_index.IVF_ABOVE = limits
    files = IndexFiles(folder / kind, "bench", "bench")
    build, index = timed(lambda: files.write(keys, keys, matrix), 1)
    vectors_index.SCAN_UP_TO, vectors_index.IVF_ABOVE = usual
    return build, index, timed(files.load, 3)[0]


def _answers(index: VectorIndex, queries: Floats, rows: Rows | None) -> tuple[float, list[set[str]]]:
    """Return the median ms of a query, and the ten best keys of each."""
    index.search(queries[0], 10, rows)
    ran = [timed(partial(index.search, query, 10, rows), 1) for query in queries]
    return statistics.median(ms for ms, _ in ran), [{key for key, _ in answer} for _, answer in ran]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="What search by meaning costs.")
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--rows", type=int, default=120_000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        encoder = find_encoder(Settings(), folder)
        if isinstance(encoder, Missing):
            print(f"no encoder was measured: {encoder}")
        else:
            encoder_table(encoder, options.texts, options.runs, folder)
        sizes = [n for n in (10_000, 50_000, 100_000) if n < options.rows]
        index_table([*sizes, options.rows], options.runs, folder)


if __name__ == "__main__":
    main()
