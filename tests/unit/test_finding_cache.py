"""The cache of judgements may be deleted or damaged at any time, and processes share it."""

from __future__ import annotations

import errno
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from forgekit.index.finding_cache import finding_cache, text_cosines

SOURCE = Path(__file__).parents[2]


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "findings.sqlite"
    with finding_cache(path.parent) as cache:
        assert cache.get(["a", "b"]) == {}
        cache.put({"a": b"one", "b": "zwei \u2713".encode()})
        cache.put({"a": b"two"})
    with finding_cache(path.parent) as cache:
        assert cache.get(["a", "b", "c"]) == {"a": b"two", "b": "zwei \u2713".encode()}


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\x00" + bytes(84)])
def test_a_damaged_database_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "findings.sqlite"
    with finding_cache(path.parent) as cache:
        cache.put({"a": b"one"})
    path.write_bytes(damage)
    with finding_cache(path.parent) as cache:
        assert cache.get(["a"]) == {}
        cache.put({"a": b"two"})
    with finding_cache(path.parent) as cache:
        assert cache.get(["a"]) == {"a": b"two"}


def test_a_row_that_was_changed_is_as_good_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "findings.sqlite"
    with finding_cache(path.parent) as cache:
        cache.put({"a": b"one", "b": b"two"})
    with sqlite3.connect(path) as db:
        db.execute("UPDATE kept SET data = CAST(substr(data, 1, 4) || 'six' AS BLOB) WHERE key = 'a'")
    db.close()
    with finding_cache(path.parent) as cache:
        assert cache.get(["a", "b"]) == {"b": b"two"}


def test_a_database_that_cannot_be_written_is_replaced_by_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with finding_cache(tmp_path / "file") as cache:
        cache.put({"a": b"one"})
        assert cache.get(["a"]) == {"a": b"one"}


def test_processes_write_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "findings.sqlite"
    code = (
        "import sys; from pathlib import Path; from forgekit.index.finding_cache import finding_cache\n"
        "with finding_cache(Path(sys.argv[1]).parent) as cache:\n"
        "    for n in range(20): cache.put({f'{sys.argv[2]}-{n}': b'x'})\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(n)], cwd=SOURCE) for n in range(4)
    ]
    assert [process.wait() for process in running] == [0] * 4
    with finding_cache(path.parent) as cache:
        assert len(cache.get([f"{p}-{n}" for p in range(4) for n in range(20)])) == 80


def test_a_full_cache_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forgekit.index.finding_cache._MOST_ROWS", 3)
    with finding_cache(tmp_path) as cache:
        cache.put({str(n): b"x" for n in range(5)})
        cache.put({"new": b"y"})
        assert cache.get(["1", "new"]) == {"new": b"y"}


def test_a_cosine_follows_from_two_texts_and_is_encoded_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def encode(text: str) -> NDArray[np.float32]:
        asked.append(text)
        return np.array([len(text), 1], np.float32) / np.float32(np.hypot(len(text), 1))

    pairs = [("a", "bb"), ("bb", "a"), ("a", "a")]
    with finding_cache(tmp_path) as cache:
        assert text_cosines(cache, "1", encode, pairs, lambda: True) == [None] * 3
        first = text_cosines(cache, "1", encode, pairs, lambda: False)
        assert first == text_cosines(cache, "1", encode, pairs, lambda: True)
        assert text_cosines(cache, "1", encode, [("bb", "a"), ("a", "new")], lambda: True) == [first[0], None]
    assert first[0] == first[1] == pytest.approx(0.949, abs=0.001)
    assert asked == ["a", "bb"]


@given(st.integers(0, 2**32 - 1))
def test_a_vector_made_along_with_others_changes_no_cosine(seed: int) -> None:
    random = np.random.default_rng(seed)
    alone = random.normal(random.normal(0, 1, 384), 0.5, (12, 384)).astype(np.float32)
    alone /= np.linalg.norm(alone, axis=1, keepdims=True)
    along = (alone + random.uniform(-2e-7, 2e-7, alone.shape)).astype("<f2")
    pairs = [(str(a), str(b)) for a in range(12) for b in range(a, 12)]
    asked: list[str] = []

    def encode(text: str) -> NDArray[np.float32]:
        asked.append(text)
        return np.asarray(alone[int(text)])

    def near(texts: Sequence[str]) -> dict[str, bytes]:
        return {text: along[int(text)].tobytes() for text in texts if text != "0"}

    with finding_cache(Path("/dev/null/memory")) as cache:
        expected = text_cosines(cache, "1", encode, pairs, lambda: False)
    asked.clear()
    with finding_cache(Path("/dev/null/memory")) as cache:
        assert text_cosines(cache, "1", encode, pairs[1:2], lambda: True, near) == [None]
        assert text_cosines(cache, "1", encode, pairs, lambda: False, near) == expected
        assert "0" in asked


@pytest.mark.parametrize(("writable", "known"), [(False, {"a": b"one"}), (True, {})])
def test_a_database_that_can_only_be_read_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writable: bool, known: dict[str, bytes]
) -> None:
    path = tmp_path / "findings.sqlite"
    with finding_cache(path.parent) as cache:
        cache.put({"a": b"one"})
    before = path.read_bytes()
    monkeypatch.setattr("os.access", lambda *_: writable)
    monkeypatch.setattr("fcntl.flock", _refuse)
    monkeypatch.setattr(Path, "mkdir", _refuse)
    with finding_cache(path.parent) as cache:
        assert cache.get(["a"]) == known
        cache.put({"b": b"two"})
        assert cache.get(["a", "b"]) == known | {"b": b"two"}
    assert path.read_bytes() == before


def _refuse(*_: object, **__: object) -> None:
    raise OSError(errno.EROFS, "Read-only file system")
