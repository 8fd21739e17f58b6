"""Vectors on disk: made once, found exactly, and rebuilt whatever happens to their files."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from fake_encoder import FakeEncoder

from forgekit.index import vector_index as vectors_index
from forgekit.index.vectors import Built, Entry, Vectors, VectorStatus

TESTS = Path(__file__).parents[1]
COLOURS = "red green blue black white grey pink brown".split()  # noqa: SIM905 - words read best as words
THINGS = "billing login search export import archive schema queue cache retry".split()  # noqa: SIM905 - see above


def entries(count: int = 80) -> list[Entry]:
    found: list[Entry] = []
    for i in range(count):
        text = f"use {COLOURS[i % 8]} for {THINGS[i // 8 % 10]} {i // 80 or ''}"
        found.append((f"dec-{i:05d}", f"hash of {text}", text))
    return found


def answers(vectors: Vectors, k: int = 7) -> list[object]:
    queries = ("use red for login", "green", "queue retry", "")
    some = [key for key, _, _ in entries()[::3]]
    found: list[object] = [vectors.search(query, k) for query in queries]
    found += [vectors.search(query, k, some) for query in queries]
    return [*found, vectors.search("red", k, ["dec-00004", "no such key"]), vectors.search("red", k, [])]


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make the next indexes of one kind, however small they are."""

    def choose(kind: str) -> None:
        monkeypatch.setattr(vectors_index, "SCAN_UP_TO", 10**9 if kind == "scan" else 0)
        monkeypatch.setattr(vectors_index, "IVF_ABOVE", 0 if kind == "ivf" else 10**9)

    return choose


# Updates


def test_the_vector_of_an_entry_is_the_mean_of_those_of_its_texts(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    vectors = Vectors(tmp_path, encoder)
    both = ("use red", "use red for login")
    vectors.update([("a", "1", lambda: both), ("b", "2", "use red"), ("c", "3", "use red for login")])
    assert encoder.encoded == ["use red", "use red for login", *both]
    mean = encoder.encode_queries(both).sum(axis=0)
    query = vectors.vector("login")
    cosines = vectors.cosines(query, ["c", "none", "a"])
    assert list(cosines) == ["c", "a"]
    assert cosines["a"] == pytest.approx(float(mean @ query) / float(np.linalg.norm(mean)), abs=1e-3)
    assert vectors.search(query, 1, ["a"]) == [("a", cosines["a"])]
    assert vectors.nearness("a", *both) == pytest.approx(1, abs=1e-3)
    assert vectors.nearness("a", "use red") == pytest.approx(vectors.nearness("b", *both), abs=1e-3)


def test_what_is_not_in_the_index_has_no_cosine(tmp_path: Path) -> None:
    vectors = Vectors(tmp_path, FakeEncoder())
    query = vectors.vector("red")
    assert vectors.cosines(query, ["dec-00000"]) == {}
    vectors.update(entries(2))
    assert vectors.cosines(query, ["", "dec-00002"]) == vectors.cosines(query, []) == {}


def test_a_text_is_encoded_once(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    vectors = Vectors(tmp_path, encoder)
    assert vectors.update(entries()) == Built(added=80, reused=0, removed=0, missing=0)
    assert vectors.update(entries()) == Built(added=0, reused=80, removed=0, missing=0)
    again = Vectors(tmp_path, encoder)
    assert again.update(entries()) == Built(added=0, reused=80, removed=0, missing=0)
    assert len(encoder.encoded) == 80
    changed = [("dec-00003", "hash 3", "use purple"), *entries()[4:], ("dec-9", "hash 9", "use gold")]
    assert again.update(changed) == Built(added=2, reused=76, removed=3, missing=0)
    assert encoder.encoded[80:] == ["use gold", "use purple"]
    ((key, cosine),) = again.search("use gold", 1)
    assert (key, round(cosine, 6)) == ("dec-9", 1.0)
    assert "dec-00001" not in dict(again.search("use green for billing", 80))


def test_texts_are_asked_for_only_when_they_must_be_encoded(tmp_path: Path) -> None:
    asked = []

    def text() -> str:
        asked.append(1)
        return "use red"

    twice: list[Entry] = [("a", "same", text), ("b", "same", text)]
    assert Vectors(tmp_path, FakeEncoder()).update(twice) == Built(added=2, reused=0, removed=0, missing=0)
    assert Vectors(tmp_path, FakeEncoder(), tree="other").update(twice).reused == 2
    assert len(asked) == 1


def test_each_encoder_has_its_own_space(tmp_path: Path) -> None:
    Vectors(tmp_path, FakeEncoder()).update(entries())
    other = Vectors(tmp_path, FakeEncoder("fake-2"))
    assert other.search("use red for login", 3) == []
    assert other.update(entries()).added == 80
    assert other.search("use red for login", 1)[0][0] == "dec-00008"


def test_an_interrupted_update_keeps_what_it_did(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Vectors(tmp_path, FakeEncoder(stop_after=150)).update(entries(300))
    encoder = FakeEncoder()
    vectors = Vectors(tmp_path, encoder)
    assert vectors.search("red", 3) == []
    assert vectors.update(entries(300)) == Built(added=172, reused=128, removed=0, missing=0)
    assert len(vectors.search("red", 300)) == 300


def test_a_limit_leaves_the_rest_for_later(tmp_path: Path) -> None:
    vectors = Vectors(tmp_path, FakeEncoder())
    assert vectors.update(entries(), limit=30) == Built(added=30, reused=0, removed=0, missing=50)
    assert len(vectors.search("red", 80)) == 30
    assert vectors.update(entries(), limit=0) == Built(added=0, reused=30, removed=0, missing=50)
    assert vectors.update(entries(), limit=100) == Built(added=50, reused=30, removed=0, missing=0)
    assert len(vectors.search("red", 80)) == 80


def test_an_index_tells_of_what_state_it_was_made(tmp_path: Path) -> None:
    vectors, all_known = Vectors(tmp_path, FakeEncoder()), Built(added=0, reused=80, removed=0, missing=0)
    assert vectors.current("monday") is None
    assert vectors.update(entries(), limit=30, state="monday").missing == 50
    assert vectors.current("monday") is None, "not all of it"
    vectors.update(entries(), state="monday")
    later = Vectors(tmp_path, FakeEncoder())
    assert vectors.current("monday") == later.current("monday") == all_known
    assert vectors.current("tuesday") is later.current(None) is None
    assert later.update(entries(), state="tuesday") == all_known
    again = Vectors(tmp_path, FakeEncoder())
    assert later.current("tuesday") == again.current("tuesday") == all_known
    assert again.current("monday") is None
    again.update(entries()[:79])
    assert Vectors(tmp_path, FakeEncoder()).current("tuesday") is None
    assert Vectors(tmp_path, FakeEncoder("fake-2")).current("tuesday") is None


@pytest.mark.parametrize("part", ["ids", "matrix", "json"])
def test_an_index_that_was_changed_tells_of_no_state(tmp_path: Path, part: str) -> None:
    Vectors(tmp_path, FakeEncoder()).update(entries(), state="monday")
    (path,) = tmp_path.glob(f"vectors-main*.{part}")
    path.write_bytes(b"7" * path.stat().st_size)
    vectors = Vectors(tmp_path, FakeEncoder())
    assert vectors.current("monday") is None
    assert vectors.update(entries(), state="monday").reused == 80
    assert Vectors(tmp_path, FakeEncoder()).current("monday") is not None


def test_a_state_that_cannot_be_noted_is_found_out_again(tmp_path: Path) -> None:
    Vectors(tmp_path, FakeEncoder()).update(entries())
    replace_by_folder(tmp_path / "vectors-main.lock")
    vectors = Vectors(tmp_path, FakeEncoder())
    assert vectors.update(entries(), state="monday").reused == 80
    assert vectors.current("monday") is not None
    assert Vectors(tmp_path, FakeEncoder()).current("monday") is None


def test_progress_goes_from_nothing_to_all(tmp_path: Path) -> None:
    said: list[tuple[int, int]] = []
    vectors = Vectors(tmp_path, FakeEncoder())
    vectors.update(entries(150), lambda done, total: said.append((done, total)))
    assert said == [(0, 150), (64, 150), (128, 150), (150, 150)]
    vectors.update(entries(150), lambda done, total: said.append((done, total)))
    assert len(said) == 4


def test_nothing_can_be_indexed_and_searched(tmp_path: Path) -> None:
    vectors = Vectors(tmp_path, FakeEncoder())
    assert vectors.search("red", 3) == []
    assert vectors.update([]) == Built(added=0, reused=0, removed=0, missing=0)
    assert Vectors(tmp_path, FakeEncoder()).search("red", 3) == []
    assert vectors.update(entries(2)).added == 2
    assert vectors.update([]) == Built(added=0, reused=0, removed=2, missing=0)
    assert vectors.search("red", 3) == []


def test_the_status_says_what_is_on_disk(tmp_path: Path) -> None:
    vectors = Vectors(tmp_path, FakeEncoder())
    nothing = VectorStatus(model="fake", kind="none", count=0, size=0)
    assert vectors.status() == nothing
    vectors.update(entries())
    ids = sum(len(key) + len(digest) + 2 for key, digest, _ in entries()) - 1
    assert vectors.status() == VectorStatus(model="fake", kind="scan", count=80, size=80 * 32 * 4 + ids)
    assert Vectors(tmp_path, FakeEncoder("fake-2")).status().kind == "none"


def test_what_is_no_longer_used_goes_once_it_is_most_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forgekit.index.database._SPARE_ROWS", 50)
    Vectors(tmp_path, FakeEncoder("old")).update(entries())
    vectors = Vectors(tmp_path, FakeEncoder())
    vectors.update(entries())
    vectors.update(entries(70))
    with sqlite3.connect(tmp_path / "vectors.sqlite") as db:
        assert db.execute("SELECT count(*) FROM kept").fetchone() == (320,)
    vectors.update(entries(60))
    with sqlite3.connect(tmp_path / "vectors.sqlite") as db:
        assert db.execute("SELECT count(*), max(space) FROM kept").fetchone() == (60, "fake-1 entity-2")
    db.close()


# Search


@pytest.mark.parametrize("kind", ["scan", "flat"])
def test_the_exact_kinds_give_the_same_answers(
    tmp_path: Path, small_limits: Callable[[str], None], kind: str
) -> None:
    vectors = Vectors(tmp_path / "scan", FakeEncoder())
    vectors.update(entries(400))
    small_limits(kind)
    other = Vectors(tmp_path / "other", FakeEncoder())
    other.update(entries(400))
    assert other.status().kind == kind
    assert answers(other) == answers(vectors)
    assert answers(Vectors(tmp_path / "other", FakeEncoder())) == answers(vectors)
    every = {key for key, _, _ in entries(400)[5:]}
    assert len(other.search("red", 500, every)) == 395


def test_lists_are_near_the_exact_answer_and_exact_among_few(
    tmp_path: Path, small_limits: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = Vectors(tmp_path / "scan", FakeEncoder())
    exact.update(entries(400))
    small_limits("ivf")
    lists = Vectors(tmp_path / "lists", FakeEncoder())
    lists.update(entries(400))
    assert lists.status().kind == "ivf"
    texts = [str(text) for _, _, text in entries(400)]
    assert [lists.search(text, 1) for text in texts] == [exact.search(text, 1) for text in texts]
    every = {key for key, _, _ in entries(400)[5:]}
    found = lists.search("red", 500, every)
    assert found == exact.search("red", 500, every), "one that finds fewer than there are looks at all"
    monkeypatch.setattr(vectors_index, "SCAN_UP_TO", 300)
    some = {key for key, _, _ in entries(400)[100:300]}
    assert [lists.search(t, 9, some) for t in texts] == [exact.search(t, 9, some) for t in texts]


def test_the_answers_are_those_of_all_cosines(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    vectors = Vectors(tmp_path, encoder)
    vectors.update(entries())
    query = encoder.encode_queries(["use red for login"])[0]
    texts = [str(text) for _, _, text in entries()]
    cosines = encoder.encode_queries(texts).astype(np.float64) @ query.astype(np.float64)
    best = sorted(zip(-cosines, [key for key, _, _ in entries()], strict=True))[:5]
    found = vectors.search("use red for login", 5)
    assert [key for key, _ in found] == [key for _, key in best]
    assert [cosine for _, cosine in found] == pytest.approx([-c for c, _ in best], abs=1e-3)
    assert vectors.search(query, 5) == found


def test_equal_texts_come_in_the_order_of_their_keys(tmp_path: Path) -> None:
    same: list[Entry] = [(f"dec-{i:03d}", "one", "use red") for i in reversed(range(200))]
    vectors = Vectors(tmp_path, FakeEncoder())
    vectors.update(same)
    assert [key for key, _ in vectors.search("use red", 3)] == ["dec-000", "dec-001", "dec-002"]


def test_a_small_registry_never_loads_faiss(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from fake_encoder import FakeEncoder;"
        "from forgekit.index.vectors import Vectors;"
        f"v = Vectors(Path({str(tmp_path)!r}), FakeEncoder()); v.update([('a', 'b', 'c')]); v.search('c', 1);"
        "print({'faiss', 'torch', 'pygit2', 'tokenizers', 'yaml'} & set(sys.modules))"
    )
    places = (TESTS / "support", TESTS.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert ran.stdout == "set()\n"


# Damage


def delete(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0x10
    path.write_bytes(bytes(data))


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("kind", ["scan", "flat", "ivf"])
@pytest.mark.parametrize("damage", [delete, truncate, flip, zero, empty, replace_by_folder])
def test_no_damage_changes_an_answer(
    tmp_path: Path,
    small_limits: Callable[[str], None],
    kind: str,
    damage: Callable[[Path], None],
) -> None:
    small_limits(kind)
    vectors = Vectors(tmp_path, FakeEncoder())
    vectors.update(entries())
    expected = answers(vectors)
    parts = sorted(path for path in tmp_path.iterdir() if path.stat().st_size)
    assert len(parts) == {"scan": 4, "flat": 4, "ivf": 5}[kind]
    for path in parts:
        damage(path)
        encoder = FakeEncoder()
        after = Vectors(tmp_path, encoder)
        assert after.update(entries()).missing == 0
        assert answers(after) == expected
        if path.name != "vectors.sqlite":
            assert encoder.encoded == []
        if path.is_dir():
            path.rmdir()
            Vectors(tmp_path, FakeEncoder()).update(entries())


def test_a_damaged_vector_is_made_again(tmp_path: Path) -> None:
    Vectors(tmp_path, FakeEncoder()).update(entries())
    text = str(entries()[8][2])
    with sqlite3.connect(tmp_path / "vectors.sqlite") as db:
        (data,) = db.execute("SELECT data FROM kept WHERE key = ?", (f"hash of {text}",)).fetchone()
        worse = data[:20] + bytes([data[20] ^ 1]) + data[21:]
        db.execute("UPDATE kept SET data = ? WHERE key = ?", (worse, f"hash of {text}"))
        db.execute("UPDATE kept SET data = 'text' WHERE key = ?", (entries()[9][1],))
        db.execute("UPDATE kept SET data = zeroblob(4) WHERE key = ?", (entries()[10][1],))
    db.close()
    (tmp_path / "vectors-main.json").unlink()
    encoder = FakeEncoder()
    assert Vectors(tmp_path, encoder).update(entries()).added == 3
    assert encoder.encoded == sorted((str(t) for _, _, t in entries()[8:11]), key=len)


def test_a_database_of_another_make_is_replaced(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "vectors.sqlite") as db:
        db.execute("CREATE TABLE vector (other TEXT)")
    db.close()
    assert Vectors(tmp_path, FakeEncoder()).update(entries()).added == 80
    assert Vectors(tmp_path, FakeEncoder(), tree="second").update(entries()).reused == 80


def test_a_database_whose_tables_are_no_text_is_replaced(tmp_path: Path) -> None:
    Vectors(tmp_path, FakeEncoder()).update(entries())
    path = tmp_path / "vectors.sqlite"
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CR\xffATE TABLE"))
    assert Vectors(tmp_path, FakeEncoder(), tree="second").update(entries()).added == 80
    assert Vectors(tmp_path, FakeEncoder(), tree="third").update(entries()).reused == 80


@pytest.mark.parametrize(
    "changed",
    [
        {"files": {"ids": []}},
        {"files": {"ids": 7}},
        {"files": {"ids": [1, 2, 3, "4"]}},
        {"files": [1]},
        {"kind": ["scan"]},
    ],
)
def test_a_manifest_of_another_shape_counts_as_none(tmp_path: Path, changed: dict[str, object]) -> None:
    vectors = Vectors(tmp_path, FakeEncoder())
    vectors.update(entries())
    expected = answers(vectors)
    manifest = tmp_path / "vectors-main.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_bytes()) | changed), encoding="utf-8")
    assert vectors_index.is_sound(manifest) is ("kind" in changed)
    after = Vectors(tmp_path, FakeEncoder())
    assert after.status().kind == "none"
    assert after.update(entries()).reused == 80
    assert answers(after) == expected


def test_without_a_place_to_write_everything_stays_in_memory(tmp_path: Path) -> None:
    place = tmp_path / "cache"
    place.write_text("no folder", encoding="utf-8")
    vectors = Vectors(place, FakeEncoder())
    expected = Vectors(tmp_path / "other", FakeEncoder())
    expected.update(entries())
    assert vectors.update(entries()).added == 80
    assert answers(vectors) == answers(expected)
    assert vectors.status().kind == "none"


def test_old_files_go_and_other_work_trees_keep_theirs(tmp_path: Path) -> None:
    one, two = Vectors(tmp_path, FakeEncoder()), Vectors(tmp_path, FakeEncoder(), tree="worktree-b")
    one.update(entries())
    two.update(entries(10))
    reader = Vectors(tmp_path, FakeEncoder())
    before = answers(reader)
    one.update(entries(20))
    assert answers(reader) == before, "what was opened stays"
    names = sorted(path.name.partition("-")[2] for path in tmp_path.glob("vectors-*"))
    assert [name.rpartition(".")[2] for name in names] == ["ids", "matrix", "json", "lock"] * 2
    assert len(two.search("red", 100)) == 10


# Two processes


@pytest.fixture
def racing(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    program = (
        "import sys; from pathlib import Path; from fake_encoder import FakeEncoder;"
        "from forgekit.index.vectors import Vectors; from test_vectors import entries\n"
        "for n in (300, 200, 400, 100, 300):\n"
        f"    v = Vectors(Path({str(tmp_path)!r}), FakeEncoder()); v.update(entries(n))\n"
        "    assert len(v.search('red', 1000)) == n\n"
    )
    places = (TESTS / "support", TESTS / "system", TESTS.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    running = [
        subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, env=environment)
        for _ in range(3)
    ]
    yield running
    for process in running:
        process.kill()
        process.wait()


def test_processes_do_not_disturb_each_other(tmp_path: Path, racing: list[subprocess.Popen[str]]) -> None:
    for process in racing:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    encoder = FakeEncoder()
    vectors = Vectors(tmp_path, encoder)
    vectors.update(entries(300))
    alone = Vectors(tmp_path / "alone", FakeEncoder())
    alone.update(entries(300))
    assert answers(vectors) == answers(alone)
    assert encoder.encoded == []


def test_an_entry_whose_text_is_another_by_now_waits(tmp_path: Path) -> None:
    vectors = Vectors(tmp_path, FakeEncoder())
    built = vectors.update([("a", "1", "ids"), ("b", "2", lambda: ())], state="now")
    assert built == Built(added=1, reused=0, removed=0, missing=1)
    assert (vectors.current("now"), vectors.nearness("b", "ids")) == (None, None)
    assert vectors.update([("a", "1", "ids"), ("b", "2", lambda: ("keys",))]).added == 1
