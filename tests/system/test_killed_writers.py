"""Writers that are killed, beside plain git and its garbage collection, for some minutes (G21)."""

from __future__ import annotations

import hashlib
import multiprocessing
import re
import subprocess
import time
from pathlib import Path

from guarantees import Level, Report
from independent_reader import read
from repositories import git, recording

from forgekit.forge import Forge
from forgekit.store import Store

FORK = multiprocessing.get_context("fork")
WRITERS = 4


def _write_on(root: Path, notes: Path, writer: int, life: int) -> None:
    """Write until killed; note what was acknowledged."""
    forge = Forge(root=root)
    most = 0
    with notes.open("a", encoding="utf-8") as file:
        for number in range(1_000_000):
            text = f"Record {hashlib.sha256(f'{writer} {life} {number}'.encode()).hexdigest()[:12]}"
            assert forge.store.commit(lambda text=text: recording(text)).commit is not None  # type: ignore[misc] # mypy cannot infer a lambda's default
            file.write(text + "\n")
            file.flush()
            handles = sum(1 for _ in Path("/proc/self/fd").iterdir()) if Path("/proc").is_dir() else 0
            most = most or handles + 32  # what the parent had open came along
            assert handles <= most, f"{handles} open handles after {number} writes"
            forge.catalogue.refresh()


def _temporary(root: Path) -> list[str]:
    """Return locks, journals and temporary files; the names that stay are left out."""
    kept = re.compile(r"(?:write|catalogue-[0-9a-f]+)\.lock")
    names = [path.relative_to(root).as_posix() for path in root.rglob("*")]
    marks = (".lock", ".new", "/tmp_", "/.forgekit-", "/journal-", "/index-")  # noqa: S108 - parts of names
    return [n for n in names if any(mark in n for mark in marks) and not kept.fullmatch(Path(n).name)]


def test_kills_and_garbage_collection_leave_no_growth(
    repository: Path, tmp_path: Path, level: Level, guarantee: Report
) -> None:
    seconds = level.minutes * 60 if level.soak else 4.0
    chances = level.random("soak")
    notes = [tmp_path / f"acknowledged-{writer}" for writer in range(WRITERS)]
    lives = [0] * WRITERS

    def begin(writer: int) -> multiprocessing.process.BaseProcess:
        lives[writer] += 1
        process = FORK.Process(
            target=_write_on, args=(repository, notes[writer], writer, lives[writer]), daemon=True
        )
        process.start()
        return process

    workers = [begin(writer) for writer in range(WRITERS)]
    until, kills, collections = time.monotonic() + seconds, 0, 0
    next_collection = time.monotonic() + seconds / 10
    try:
        while time.monotonic() < until:
            time.sleep(chances.uniform(0.05, 0.6))
            victim = chances.randrange(WRITERS)
            assert workers[victim].exitcode is None, "a writer ended by itself"
            workers[victim].kill()
            workers[victim].join()
            kills += 1
            workers[victim] = begin(victim)
            if time.monotonic() > next_collection:
                done = subprocess.run(
                    ["git", "gc", "--quiet"], cwd=repository, capture_output=True, check=False
                )
                # git does not wait for a branch that is being written; it says so and collects next time.
                assert done.returncode == 0 or b"cannot lock ref" in done.stderr, done.stderr
                collections += done.returncode == 0
                next_collection = time.monotonic() + seconds / 10
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
    assert Store(repository).commit(lambda: recording("Last")).commit is not None
    acknowledged = [text for path in notes if path.exists() for text in path.read_text("utf-8").splitlines()]
    found = {entity.get("decision") for entity in read(repository).values()}
    assert set(acknowledged) <= found
    git(repository, "fsck", "--strict", "--no-dangling")
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "log", "--diff-filter=D", "--name-only", "--format=", "--no-renames") == ""
    git(repository, "gc", "--quiet", "--prune=now")
    assert _temporary(repository) == []
    assert Forge(root=repository).catalogue.refresh().unreadable == 0
    guarantee(
        "G21",
        f"{WRITERS} writers for {seconds / 60:.1f} min, git gc beside them",
        f"{len(acknowledged)} acknowledged, {kills} kills, {collections} collections: 0 lost, none left over",
    )
