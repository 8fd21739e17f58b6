"""Writers beside writers, beside plain git, and under SIGKILL."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from guarantees import Level, Report
from independent_reader import read
from repositories import BORN, decision, git, loaded, new_repository, path_of_text, recording

from forgekit.decisions import create, edit
from forgekit.errors import ChangedError, LockedError, UnsureError
from forgekit.forge import Forge, WriteOptions
from forgekit.git import publish
from forgekit.git.commits import IndexCopy
from forgekit.git.repository import Repository
from forgekit.store import Change, Store
from forgekit.text import codec
from forgekit.worktree import files

FORK = multiprocessing.get_context("fork")

# Stages and commits files of its own until told to stop; git's own lock errors are retried.
GIT_LOOP = """
import pathlib, subprocess, sys, time
root, stop = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
done = 0

def git(*command):
    # A gc that outlives its commit removes objects while the test verifies them.
    attached = ["-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false"]
    return subprocess.run(["git", *attached, *command], cwd=root, capture_output=True).returncode

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


@dataclass(frozen=True, slots=True)
class _Load:
    """What each writer writes, and where it notes what was acknowledged, with the seconds it took."""

    root: Path
    notes: Path
    writes: int

    def by(self, writer: int, write: Callable[[Path, str], None]) -> None:
        """Write, one after the other."""
        with (self.notes / str(writer)).open("w", encoding="utf-8") as file:
            for number in range(self.writes):
                text = f"Record {hashlib.sha256(f'{writer} {number}'.encode()).hexdigest()[:12]}"
                start = time.monotonic()
                write(self.root, text)
                file.write(f"{time.monotonic() - start}\t{text}\n")

    def acknowledged(self) -> dict[str, float]:
        """Return text -> seconds."""
        lines = [line for path in self.notes.iterdir() for line in path.read_text("utf-8").splitlines()]
        return {text: float(seconds) for seconds, _, text in (line.partition("\t") for line in lines)}


def _by_store(root: Path, text: str) -> None:
    assert Store(root).commit(lambda: recording(text)).commit is not None


def _by_api(root: Path, text: str) -> None:
    forge = Forge(root=root, now=lambda: BORN)
    assert create(forge, text, project="The Nexus").outcome.commit is not None


def _by_command(root: Path, text: str) -> None:
    command = [sys.executable, "-m", "forgekit", "decision", "new", "--project", "The Nexus", text]
    done = subprocess.run(
        [*command, "--at", "2023-11-14T22:13:20Z"], cwd=root, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def _threads(load: _Load, writers: range) -> None:
    """Write by the Python API in threads of one process."""
    failed: list[BaseException] = []

    def run(writer: int) -> None:
        try:
            load.by(writer, _by_api)
        except BaseException as e:  # noqa: BLE001 - a thread's failure must end the process with one
            failed.append(e)

    threads = [threading.Thread(target=run, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


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
    repository: Path, tmp_path: Path, options: tuple[str, ...], level: Level, guarantee: Report
) -> None:
    stop = tmp_path / "stop"
    writers = level.pick(8, 16)
    load = _Load(repository, tmp_path / "notes", level.pick(25, 200))
    load.notes.mkdir()
    plain = subprocess.Popen(
        [sys.executable, "-c", GIT_LOOP, str(repository), str(stop), *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    # A quarter by commands, a quarter by threads, half by processes that hold on to nothing.
    quarter = writers // 4
    workers = [FORK.Process(target=load.by, args=(n, _by_command)) for n in range(quarter)]
    workers += [FORK.Process(target=_threads, args=(load, range(quarter, 2 * quarter)))]
    workers += [FORK.Process(target=load.by, args=(n, _by_store)) for n in range(2 * quarter, writers)]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        stop.touch()
        commits, _ = plain.communicate()
    assert [worker.exitcode for worker in workers] == [0] * len(workers)
    acknowledged = load.acknowledged()
    assert len(acknowledged) == writers * load.writes
    assert acknowledged.keys() <= {entity.get("decision") for entity in read(repository).values()}
    tree = _tree(repository)
    assert {f"other/{number}.txt" for number in range(int(commits))} <= tree
    _sound(repository)
    made = git(repository, "rev-list", "--count", "-E", "--grep", "^decision: (new|add)", "HEAD")
    assert int(made) == len(acknowledged)
    waits = sorted(acknowledged.values())
    guarantee(
        "G5",
        f"{writers} writers x {load.writes}, commands, threads, processes, git commit {' '.join(options)}",
        f"{len(acknowledged)} of {len(acknowledged)} at the tip, {commits.strip()} git commits, "
        f"0 deletions, p99 wait {waits[len(waits) * 99 // 100]:.2f} s",
    )


def _count_up(root: Path, name: str, applied: int, notes: Path) -> None:
    """Read a number, write the next one, until so many updates are applied; note how many were refused."""
    refused = 0
    while applied:
        forge = Forge(root=root)
        seen = forge.entity(name)
        number = int(seen.body.split()[-1]) + 1
        try:
            edit(forge, name, rationale=str(number), options=WriteOptions(seen=seen))
            applied -= 1
        except ChangedError:
            refused += 1
    notes.write_text(str(refused), encoding="utf-8")


def test_two_writers_of_one_entity_are_applied_or_refused(
    repository: Path, tmp_path: Path, level: Level, guarantee: Report
) -> None:
    """Count in one field from four processes, while commands change another field of the same entity."""
    store = Store(repository)
    store.commit(lambda: recording("Counted", rationale="0"))
    name, updates, commands = decision("Counted").id, level.pick(300, 10_000), level.pick(12, 200)
    notes = [tmp_path / f"refused-{number}" for number in range(4)]
    workers = [
        FORK.Process(target=_count_up, args=(repository, name, updates // len(notes), path)) for path in notes
    ]
    for worker in workers:
        worker.start()
    for number in range(commands):
        command = [sys.executable, "-m", "forgekit", "decision", "edit", name, "--tag", f"at-{number}"]
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * len(workers)
    found = read(repository)[path_of_text("Counted")]
    assert (int(found[""].split()[-1]), found["tags"]) == (updates, [f"at-{commands - 1}"])
    _sound(repository)
    assert int(git(repository, "rev-list", "--count", "HEAD")) == 2 + updates + commands
    refused = sum(int(path.read_text("utf-8")) for path in notes)
    guarantee(
        "G6",
        "one entity, four processes and commands",
        f"{updates} applied, {refused} refused, {commands} commands beside them, 0 lost",
    )


def _overtaken(change: Change, root: Path) -> Callable[[], Change]:
    """Return what decides on a change, the first time just before somebody else commits."""
    decided: list[int] = []

    def decide() -> Change:
        if not decided:
            git(root, "commit", "--quiet", "--allow-empty", "--message", "somebody else's")
        decided.append(1)
        return change

    return decide


def _killed_at(
    store: Store, monkeypatch: pytest.MonkeyPatch, target: str, call: int, decide: Callable[[], Change]
) -> bool:
    """Write in a child that SIGKILL ends at the n-th call of a function; False when it came through."""

    def child() -> None:
        owner, _, name = target.rpartition(".")
        place: object = {"os": os, "publish": publish, "Index": IndexCopy, "files": files, "Path": Path}[
            owner
        ]
        real: Callable[..., object] = getattr(place, name)
        calls = [0]

        def fatal(*args: object, **named: object) -> object:
            calls[0] += 1
            if calls[0] == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **named)

        monkeypatch.setattr(place, name, fatal)
        store.commit(decide)

    process = FORK.Process(target=child)
    process.start()
    process.join()
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode != 0


KILLED_AT = (
    "publish._lock_index",
    "publish._put",
    "publish._move",
    "publish._end",
    "Index.put",
    "Index.use",
    "files.stage",
    "files.place",
    "os.fsync",
    "os.replace",
    "os.link",
    "Path.unlink",
)


@pytest.mark.parametrize("race", [False, True])
@pytest.mark.parametrize("target", KILLED_AT)
def test_a_kill_leaves_old_or_new_and_the_next_writer_works(
    repository: Path, monkeypatch: pytest.MonkeyPatch, target: str, *, race: bool
) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Changed", rationale="old"))
    new = {path_of_text("Killed"), path_of_text("Changed")}
    change = recording("Killed", "Changed", rationale="new")
    for call in range(1, 40):
        before = git(repository, "rev-parse", "HEAD:registry")
        decide = _overtaken(change, repository) if race else lambda: change
        if not _killed_at(Store(repository), monkeypatch, target, call, decide):
            assert call > 1
            break
        moved = git(repository, "rev-parse", "HEAD:registry") != before
        store.commit(lambda call=call: recording(f"Next {call}"))  # type: ignore[misc] # mypy cannot infer a lambda's default
        assert (path_of_text("Killed") in _tree(repository)) is moved
        rationale = "new" if moved else "old"
        found = loaded(repository)
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


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("target", KILLED_AT)
def test_a_kill_gives_back_the_edit_that_a_write_was_made_from(
    repository: Path, monkeypatch: pytest.MonkeyPatch, target: str, *, staged: bool
) -> None:
    store, path = Store(repository), path_of_text("Changed")
    change = recording("Killed", "Changed", rationale="new")
    mine = codec.dumps(decision("Changed", "by hand")).encode()
    for call in range(1, 40):
        undone = Change(
            writes=(decision("Changed", "old"),), deletes=(path_of_text("Killed"),), subject="undo"
        )
        store.commit(lambda undone=undone: undone)  # type: ignore[misc] # mypy cannot infer a lambda's default
        (repository / path).write_bytes(mine)
        if staged:
            git(repository, "add", path)
        before = git(repository, "ls-files", "--stage")
        if not _killed_at(store, monkeypatch, target, call, lambda: replace(change, over={path: mine})):
            break
        moved = path_of_text("Killed") in _tree(repository)
        store.commit(lambda: Change(subject="recover"))
        if not moved:
            assert (repository / path).read_bytes() == mine
            assert git(repository, "ls-files", "--stage") == before
            git(repository, "restore", "--staged", "--worktree", path)
        assert git(repository, "status", "--porcelain") == ""
        assert not list(repository.rglob(".forgekit-*"))
    else:
        pytest.fail("the write never came through")
    assert call > 1


@pytest.mark.parametrize("target", KILLED_AT)
def test_a_kill_in_one_registry_is_mended_by_a_write_in_another_of_the_work_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    top = new_repository(tmp_path / "repo")
    one, two = Store(top / "a"), Store(top / "deep/b")
    for store in (one, two):
        store.root.mkdir(parents=True)
        store.commit(lambda: recording("Changed", rationale="old"))
    change = recording("Killed", "Changed", rationale="new")
    for call in range(1, 40):
        if not _killed_at(one, monkeypatch, target, call, lambda: change):
            break
        moved = f"a/{path_of_text('Killed')}" in _tree(top)
        two.commit(lambda call=call: recording(f"Next {call}"))  # type: ignore[misc] # mypy cannot infer a lambda's default
        assert loaded(one.root).get(decision("Changed").id) == decision("Changed", "new" if moved else "old")
        assert git(top, "status", "--porcelain") == ""
        assert not list(top.rglob(".forgekit-*"))
        if moved:
            one.commit(
                lambda: Change(
                    writes=(decision("Changed", "old"),), deletes=(path_of_text("Killed"),), subject="undo"
                )
            )
    else:
        pytest.fail("the write never came through")
    assert call > 1


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


@pytest.mark.parametrize("length", [0, 20, 40])
def test_the_ref_lock_of_a_killed_writer_is_cleared(repository: Path, length: int) -> None:
    journal = _leave_a_journal(repository)
    lock = repository / ".git/refs/heads/main.lock"
    lock.write_text(str(journal["commit"])[:length], encoding="ascii")
    assert Store(repository).commit(lambda: recording("Next")).commit is not None
    assert not lock.exists()


def test_the_ref_lock_of_somebody_else_is_respected(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forgekit.git.publish.LOCK_SECONDS", 0.1)
    _leave_a_journal(repository)
    lock = repository / ".git/refs/heads/main.lock"
    lock.write_text("1" * 40, encoding="ascii")
    with pytest.raises(LockedError, match=r"/refs/heads/main.lock has been locked for \d+ s: no git process"):
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
    with pytest.raises(LockedError, match=r"/index.lock has been locked for \d+ s: no git process"):
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


def test_an_index_lock_that_outlived_its_journal_is_cleared(repository: Path) -> None:
    """A power failure may keep the second name of a journal and lose the first."""
    _leave_a_journal(repository)
    journal, lock = repository / ".git/forgekit/journal-main.json", repository / ".git/index.lock"
    journal.rename(lock)
    assert Store(repository).commit(lambda: recording("Next")).commit is not None
    assert not lock.exists()
    _sound(repository)


def test_a_busy_git_cannot_keep_a_writer_out(repository: Path) -> None:
    """Whoever decides before the locks are taken loses to a loop of `git commit`; once they are, it waits."""
    came: list[int] = []

    def decide() -> Change:
        command = ["git", "commit", "--quiet", "--allow-empty", "--message", "busy"]
        came.append(subprocess.run(command, cwd=repository, capture_output=True, check=False).returncode)
        return recording("Mine")

    assert Store(repository).commit(decide).commit == Repository(repository).tip()
    assert [bool(code) for code in came] == [False, True]
    _sound(repository)


def test_a_failure_after_the_change_stands_does_not_deny_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: object) -> None:
        raise OSError(5, "Input/output error", "main")

    with monkeypatch.context() as patch:
        patch.setattr(publish, "_wait_for", failing)
        with pytest.raises(UnsureError) as caught:
            Store(repository).commit(lambda: recording("Mine"))
    assert str(caught.value) == (
        "cannot finish main: Input/output error; "
        "it may have been applied; run this again, nothing is recorded twice"
    )
    assert Store(repository).commit(lambda: recording("Mine")).commit is None
    assert path_of_text("Mine") in _tree(repository)
    _sound(repository)


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
