"""The cache is disposable: whatever becomes of it, answers are those of a fresh one (G11)."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sample_entities as sample
from damage_cases import half
from fake_encoder import FakeEncoder
from guarantees import Level, Report
from repositories import git

from forgekit.forge import Forge
from forgekit.index import update
from forgekit.index.update import RACY_NS
from forgekit.model.entities import entity_path
from forgekit.search import INLINE_TEXTS, Mode, search
from forgekit.store import Change, Store
from forgekit.upkeep.init_migrate import initialise

SUBJECTS = ("ids", "pages", "queues", "retries", "tables", "logs")
CHOICES = ("Use uuid for", "Keep no", "Sort all", "Never cache", "Write down")
QUERIES = ("uuid ids", "never cache the logs", "T001", "rationale of retries", "äöü")
TALK = sample.conversation("talk")


def _each(cache: Path, pattern: str, do: Callable[[Path], object]) -> None:
    for path in sorted(cache.glob(pattern)):
        do(path)


def _sql(statement: str) -> Callable[[Path], None]:
    def do(cache: Path) -> None:
        for path in cache.glob("catalogue-*.sqlite"):
            db = sqlite3.connect(path, isolation_level=None)
            db.execute(statement)
            db.close()

    return do


def _junk_log(cache: Path) -> None:
    _each(cache, "*.sqlite", lambda p: Path(f"{p}-wal").write_bytes(b"\x37\x7f\x06\x82" * 2000))
    _each(cache, "*.sqlite", lambda p: Path(f"{p}-shm").write_bytes(b"\xff" * 32768))


def _a_file(cache: Path) -> None:
    shutil.rmtree(cache)
    cache.write_text("no folder", encoding="utf-8")


def _foreign(cache: Path) -> None:
    """Leave the vectors of another model, under the same names."""
    root = cache.parent.parent
    answers(root, FakeEncoder("another model"))


def _dates(cache: Path) -> None:
    _each(cache, "*", lambda p: os.utime(p, (4_000_000_000, 4_000_000_000)))


def _cut_vectors(cache: Path) -> None:
    _each(cache, "vectors-*.matrix", half)
    _each(cache, "vectors.sqlite", half)


def _leftovers(cache: Path) -> None:
    for name in ("vectors-main-new.tmp", "catalogue.lock", "index-main", "index-main.lock"):
        (cache / name).write_bytes(b"half of something")


@contextlib.contextmanager
def _limited(way: str) -> Iterator[None]:
    """Let no file grow, where the disk is to be full: that holds for root as well."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    if way == FULL:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


FULL = "deleted, and the disk is full"
WAYS: dict[str, Callable[[Path], None]] = {
    "deleted": shutil.rmtree,
    "cut off": lambda c: _each(c, "*.sqlite", half),
    "garbage header": lambda c: _each(c, "*.sqlite", lambda p: p.write_bytes(b"junk " * 4000)),
    "other version": _sql("UPDATE meta SET value = 'schema 99, forgekit 99'"),
    "wrong rows": _sql("UPDATE entity SET fields = '[1, 2]', title = x'00ff', kind = 'x', body = 7"),
    "lost rows": _sql("DELETE FROM entity WHERE row % 2"),
    "no table": _sql("DROP TABLE words"),
    "leftover log": _junk_log,
    "file in its place": _a_file,
    FULL: shutil.rmtree,
    "vectors cut off": _cut_vectors,
    "manifest garbage": lambda c: _each(c, "vectors-*.json", lambda p: p.write_text('{"digest": [')),
    "other model's vectors": _foreign,
    "dates to come": _dates,
    "leftovers of a kill": _leftovers,
}


def answers(root: Path, encoder: FakeEncoder | None = None) -> list[object]:
    """Return what people are told."""
    forge = Forge.open(root)
    object.__setattr__(forge, "encoder", encoder or FakeEncoder())
    registry = forge.registry()
    found: list[object] = [dict(registry.entities), registry.problems]
    for query in QUERIES:
        for mode in (Mode.LEXICAL, Mode.HYBRID):
            answer = search(forge, query, mode=mode)
            assert answer.mode is mode, answer.notice
            found.append([(scored.hit.id, round(scored.score, 6)) for scored in answer.hits])
        found.append([candidate.id for candidate in forge.catalogue.find(query)])
    forge.catalogue.close()
    return found


def live(root: Path, rng: random.Random) -> None:
    """Do what people, editors and git do to a registry."""
    store = Store(root)
    for _ in range(rng.randint(3, 8)):
        files = sorted((root / "registry" / "decisions").rglob("*.md"))
        act = rng.choice(("write", "write", "edit", "spoil", "delete", "commit", "back", "ask"))
        if act == "write" or not files:
            git(root, "reset", "--quiet", "--hard")  # a write refuses what is not committed
            texts = {f"{rng.choice(CHOICES)} {rng.choice(SUBJECTS)}" for _ in range(3)}
            made = [sample.decision(text, TALK) for text in sorted(texts)]
            fresh = tuple(d for d in made if not (root / entity_path(d)).exists())
            store.commit(lambda fresh=fresh: Change(writes=(sample.PROJECT, TALK, *fresh), subject="new"))  # type: ignore[misc] # bound here
        elif act == "edit":
            path = rng.choice(files)
            path.write_bytes(path.read_bytes() + f"\n## Rationale\n\n{rng.choice(SUBJECTS)}\n".encode())
        elif act == "spoil":
            rng.choice(files).write_bytes(rng.randbytes(40))
        elif act == "delete":
            rng.choice(files).unlink()
        elif act == "commit":
            git(root, "commit", "--quiet", "--all", "--allow-empty", "--message", "by hand")
        elif act == "back":
            git(root, "checkout", "--quiet", "--force", "HEAD~1", "--", "registry")
        else:
            answers(root)


def work_tree(root: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in root.rglob("*") if p.is_file() and ".git" not in p.parts}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("disposable") / "registry"
    initialise(root)
    seed = tuple(
        sample.decision(f"{choice} {subject}", TALK)
        for choice, subject in zip(CHOICES, SUBJECTS, strict=False)
    )
    for part in (seed[:2], seed[2:]):
        Store(root).commit(lambda part=part: Change(writes=(sample.PROJECT, TALK, *part), subject="seed"))  # type: ignore[misc] # bound here
    assert len(CHOICES) * len(SUBJECTS) + 2 <= INLINE_TEXTS, "one search encodes all"
    return root


def test_answers_are_those_of_a_fresh_cache(
    base: Path, tmp_path: Path, level: Level, guarantee: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = level.pick(30, 300)
    for case in range(number):
        rng = level.random(f"disposable {case}")
        root = Path(shutil.copytree(base, tmp_path / str(case)))
        way = list(WAYS)[case % len(WAYS)]
        monkeypatch.setattr(update, "RACY_NS", RACY_NS)
        live(root, rng)
        if case // len(WAYS) % 2:  # as if nothing had been written for long: little is looked at again
            monkeypatch.setattr(update, "RACY_NS", 0)
            time.sleep(0.02)  # two ticks of the file system's clock
        answers(root)
        before = work_tree(root)
        cache = root / ".git" / "forgekit"
        WAYS[way](cache)
        with _limited(way):
            under_damage = [answers(root), answers(root)]
        if cache.is_dir():
            shutil.rmtree(cache)
        else:
            cache.unlink(missing_ok=True)
        fresh = answers(root)
        assert under_damage == [fresh, fresh], (case, way)
        assert work_tree(root) == before, (case, way)
        shutil.rmtree(root)
    figure = f"{number} random histories, {len(WAYS)} ways of damage, 0 wrong answers"
    guarantee("G11", "the cache can be damaged or deleted at any moment", figure)
