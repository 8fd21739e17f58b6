"""Writers beside writers, beside plain git, and under SIGKILL."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from support import decision, git, path_of_text, recording

from forgekit.errors import LockedError
from forgekit.git import publish
from forgekit.git.commits import Index
from forgekit.git.repository import Repository
from forgekit.store import files
from forgekit.store.store import Change, Store

WRITERS, WRITES = 8, 25
FORK = multiprocessing.get_context("fork")

# Stages and commits files of its own until told to stop; git's own lock errors are retried.
GIT_LOOP = """
import pathlib, subprocess, sys, time
root, stop = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
done = 0

def git(*command):
    return subprocess.run(["git", *command], cwd=root, capture_output=True).returncode

while not stop.exists():
    (root / "other").mkdir(exist_ok=True)
    (root / "other" / f"{done}.txt").write_text(str(done))
    while git("add", f"other/{done}.txt"):
        time.sleep(0.01)
    while git("commit", "-q", *sys.argv[3:], "-m", f"plain {done}"):
        if not git("diff", "--cached", "--quiet", "HEAD", f"other/{done}.txt"):
            break
        time.sleep(0.01)
    done += 1
print(done)
"""


def _write_many(root: Path, writer: int, acknowledged: Path) -> None:
    store = Store(root)
    with acknowledged.open("w", encoding="utf-8") as file:
        for number in range(WRITES):
            text = f"Decision {number} of writer {writer}"
            outcome = store.commit(lambda text=text: recording(text))  # type: ignore[misc] # mypy cannot infer a lambda's default
            assert outcome.commit is not None
            file.write(text + "\n")


def _tree(root: Path) -> set[str]:
    return set(git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines())


def _deletions(root: Path) -> str:
    return git(root, "log", "--diff-filter=D", "--name-only", "--format=", "--no-renames")


def _sound(root: Path) -> None:
    git(root, "fsck", "--strict", "--no-dangling")
    assert _deletions(root) == ""
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("options", [(), ("-a",)])
def test_writers_beside_a_git_commit_loop_lose_nothing(
    repository: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    stop = tmp_path / "stop"
    command = [sys.executable, "-c", GIT_LOOP, str(repository), str(stop), *options]
    loop = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    lists = [tmp_path / f"acknowledged-{writer}" for writer in range(WRITERS)]
    workers = [
        FORK.Process(target=_write_many, args=(repository, writer, path)) for writer, path in enumerate(lists)
    ]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        stop.touch()
        plain, _ = loop.communicate()
    assert [worker.exitcode for worker in workers] == [0] * WRITERS
    acknowledged = [text for path in lists for text in path.read_text(encoding="utf-8").splitlines()]
    assert len(acknowledged) == WRITERS * WRITES
    tree = _tree(repository)
    assert {path_of_text(text) for text in acknowledged} <= tree
    assert {f"other/{number}.txt" for number in range(int(plain))} <= tree
    _sound(repository)


def _killed_at(root: Path, monkeypatch: pytest.MonkeyPatch, target: str, call: int) -> bool:
    """Write in a child that SIGKILL ends at the n-th call of a function; False when it came through."""

    def child() -> None:
        owner, _, name = target.rpartition(".")
        place: object = {"os": os, "publish": publish, "Index": Index, "files": files, "Path": Path}[owner]
        real: Callable[..., object] = getattr(place, name)
        calls = [0]

        def fatal(*args: object, **named: object) -> object:
            calls[0] += 1
            if calls[0] == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **named)

        monkeypatch.setattr(place, name, fatal)
        Store(root).commit(lambda: recording("Killed", "Changed", rationale="new"))

    process = FORK.Process(target=child)
    process.start()
    process.join()
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode != 0


@pytest.mark.parametrize(
    "target",
    [
        "publish._lock_index",
        "publish._put",
        "publish.move",
        "publish._end",
        "Index.change",
        "Index.stamp",
        "Index.use",
        "files.stage",
        "files.place",
        "os.fsync",
        "os.replace",
        "os.link",
        "Path.unlink",
    ],
)
def test_a_kill_leaves_old_or_new_and_the_next_writer_works(
    repository: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Changed", rationale="old"))
    new = {path_of_text("Killed"), path_of_text("Changed")}
    for call in range(1, 40):
        before = git(repository, "rev-parse", "HEAD")
        if not _killed_at(repository, monkeypatch, target, call):
            assert call > 1
            break
        moved = git(repository, "rev-parse", "HEAD") != before
        store.commit(lambda call=call: recording(f"Next {call}"))  # type: ignore[misc] # mypy cannot infer a lambda's default
        assert (path_of_text("Killed") in _tree(repository)) is moved
        rationale = "new" if moved else "old"
        found = store.load()
        assert found.problems == ()
        assert found.get(decision("Changed").id) == decision("Changed", rationale)
        git(repository, "fsck", "--strict", "--no-dangling")
        assert git(repository, "status", "--porcelain") == ""
        assert [path.name for path in (repository / ".git").rglob("*.lock")] == ["write.lock"]
        assert not list(repository.rglob(".forgekit-*"))
        if moved:
            store.commit(
                lambda: Change(
                    writes=(decision("Changed", "old"),), deletes=(path_of_text("Killed"),), subject="undo"
                )
            )
    else:
        pytest.fail("the write never came through")
    assert new <= _tree(repository)


def _leave_a_journal(root: Path) -> dict[str, object]:
    """Leave what a writer leaves that was killed right after it wrote its journal."""
    process = FORK.Process(target=_killed_after_its_journal, args=(root,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    journal: dict[str, object] = json.loads((root / ".git/forgekit/journal-main.json").read_bytes())
    return journal


def _killed_after_its_journal(root: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "_lock_index", lambda _: os.kill(os.getpid(), signal.SIGKILL))
        Store(root).commit(lambda: recording("Killed"))


@pytest.mark.parametrize("content", ["", "commit"])
def test_the_ref_lock_of_a_killed_writer_is_cleared(repository: Path, content: str) -> None:
    journal = _leave_a_journal(repository)
    lock = repository / ".git/refs/heads/main.lock"
    lock.write_text(str(journal.get(content, "")), encoding="ascii")
    assert Store(repository).commit(lambda: recording("Next")).commit is not None
    assert not lock.exists()


def test_the_ref_lock_of_somebody_else_is_respected(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forgekit.git.commits.LOCK_SECONDS", 0.1)
    _leave_a_journal(repository)
    lock = repository / ".git/refs/heads/main.lock"
    lock.write_text("1" * 40, encoding="ascii")
    with pytest.raises(LockedError, match=r"another process holds .*/refs/heads/main.lock; wait for it, or"):
        Store(repository).commit(lambda: recording("Next"))
    assert lock.read_text(encoding="ascii") == "1" * 40
    lock.unlink()
    assert Store(repository).commit(lambda: recording("Next")).commit is not None


def test_the_index_lock_of_somebody_else_is_respected(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forgekit.git.publish.LOCK_SECONDS", 0.1)
    _leave_a_journal(repository)
    lock = repository / ".git/index.lock"
    lock.write_bytes(b"")
    before = git(repository, "rev-parse", "HEAD")
    with pytest.raises(LockedError, match=r"another process holds .*/index.lock; wait for it, or delete it"):
        Store(repository).commit(lambda: recording("Next"))
    assert lock.exists()
    assert git(repository, "rev-parse", "HEAD") == before
    lock.unlink()
    assert Store(repository).commit(lambda: recording("Next")).commit is not None
    _sound(repository)


def test_a_lock_that_goes_away_is_waited_for(repository: Path) -> None:
    lock = repository / ".git/index.lock"
    lock.touch()
    timer = threading.Timer(0.3, lock.unlink)
    timer.start()
    assert Store(repository).commit(lambda: recording("Next")).commit is not None
    timer.join()


def test_a_lost_race_decides_again(repository: Path) -> None:
    decided = []

    def decide() -> Change:
        decided.append(1)
        if len(decided) == 1:
            git(repository, "commit", "--quiet", "--allow-empty", "--message", "somebody else's")
        return recording("Mine")

    outcome = Store(repository).commit(decide)
    assert len(decided) == 2
    assert outcome.commit == Repository(repository).tip()
    assert [c.subject for c in Repository(repository).log()] == ["decision: new", "somebody else's", "start"]
