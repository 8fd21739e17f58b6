"""Putting one commit in force: branch, index and work tree together, or none of them.

The commit exists already and no branch names it. Then, in this order:

1. the journal says what is about to happen; a hard link to it is the index's lock, so that its owner can
   be told from any other git process, dead or alive;
2. the ref's lock is taken, and under both locks everything is looked at once more;
3. the files are put in place, then the index, then the branch moves;
4. the locks go, the journal last.

Plain git reads HEAD before the index. Since the branch moves last, whoever sees the new commit sees
the new index and the new files too. `git commit` also reads the index before it locks it, and would
write back what it read: so the lock stays until the git processes that ran when the index was replaced
have run into it. So no `git commit` beside us can take our files away.

A write that was killed is undone by the next writer unless the branch holds its commit.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pygit2

from forgekit.errors import DirtyFileError, FormatError, LockedError, StoreError, WriteError
from forgekit.git.commits import (
    LOCK_SECONDS,
    Index,
    discard_index,
    locked_ref,
    move,
    ref_lock,
    sync_folder,
)
from forgekit.git.repository import Head, Repository, blob_of
from forgekit.store import files
from forgekit.store.roots import worktree_key

_STALE_SECONDS = 1.0
_PROC = Path("/proc")
_PASSING_SECONDS = 0.3  # a git process that is still there waits for its user's editor, not for the lock
_UNKNOWN_SECONDS = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One file of a commit: blob ids before and after, None for no file."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Publication:
    """What is to come into force.

    Attributes:
        ref: the branch, or `HEAD`.
        parent: its tip before; None on a branch without commits.
        commit: its tip after.
    """

    ref: str
    parent: str | None
    commit: str
    subject: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Places:
    """The files that one work tree's writes use beside git's own."""

    journal: Path
    index: Path
    lock: Path

    @classmethod
    def of(cls, repository: Repository) -> _Places:
        cache, key = repository.common_dir / "forgekit", worktree_key(repository.root)
        return cls(cache / f"journal-{key}.json", cache / f"index-{key}", repository.git_dir / "index.lock")

    def owned(self) -> bool:
        """Say whether the index's lock is this journal's."""
        try:
            return self.journal.samefile(self.lock)
        except FileNotFoundError:
            return False


def publish(
    repository: Repository,
    publication: Publication,
    contents: Mapping[str, bytes | None],
    seen: Mapping[str, str | None],
) -> bool:
    """Bring a commit into force; the caller holds the writers' lock.

    Args:
        repository: where.
        publication: what.
        contents: path -> new bytes, or None for a file to delete.
        seen: path -> blob id of the bytes in the work tree when the commit was decided.

    Returns False, with nothing changed, when branch or files moved on since.
    Raises DirtyFileError, LockedError, WriteError, StoreError.
    """
    places = _Places.of(repository)
    _write_journal(places.journal, publication)
    try:
        with _failures(places.journal):
            _lock_index(places)
            with locked_ref(repository, publication.ref) as transaction:
                if repository.head() != Head(ref=publication.ref, commit=publication.parent):
                    return False
                if {path: _present(repository.root, path) for path in seen} != seen:
                    return False
                _put(repository, publication, contents, places)
                running = _running_git(repository)
                move(transaction, repository, publication.ref, publication.commit, publication.subject)
        _wait_for(running)
        if not repository.holds(publication.commit):
            raise StoreError(
                f"{publication.ref} does not hold commit {publication.commit[:12]}; run this again"
            )
        return True
    finally:
        _end(repository, publication, places)


def _running_git(repository: Repository) -> dict[Path, Path]:
    """Return the git processes in the work tree: /proc folder -> where it works."""
    found = {}
    for process in _PROC.iterdir() if _PROC.is_dir() else ():
        with contextlib.suppress(OSError):  # no process, one that ended, or somebody else's
            if process.name.isdecimal() and (process / "comm").read_bytes().startswith(b"git"):
                where = (process / "cwd").readlink()
                if where.is_relative_to(repository.top):
                    found[process] = where
    return found


def _wait_for(processes: Mapping[Path, Path]) -> None:
    """Wait until the processes are gone, or for so long that none of them is on its way to the lock."""
    if not _PROC.is_dir():
        time.sleep(_UNKNOWN_SECONDS)
        return
    until = time.monotonic() + _PASSING_SECONDS
    for process, where in processes.items():
        with contextlib.suppress(OSError):  # it ended
            while (process / "cwd").readlink() == where and time.monotonic() < until:
                time.sleep(0.001)


@contextlib.contextmanager
def _failures(path: Path) -> Iterator[None]:
    """Turn what the system and libgit2 raise into a sentence."""
    try:
        yield
    except OSError as e:
        raise WriteError(str(e.filename or path), e.strerror or str(e)) from e
    except pygit2.GitError as e:
        raise WriteError(str(path), str(e)) from e


def _put(
    repository: Repository, publication: Publication, contents: Mapping[str, bytes | None], places: _Places
) -> None:
    """Put files and index in place, with everything that can fail done before the first of them."""
    steps = publication.steps
    index = Index.copied(repository, places.index)
    staged = index.ids([step.path for step in steps])
    dirty = [step.path for step in steps if staged[step.path] != step.old]
    if dirty:
        raise DirtyFileError(dirty)
    index.change({step.path: step.new for step in steps})
    for step in steps:
        if (data := contents[step.path]) is not None:
            files.stage(repository.root, step.path, data, publication.commit)
    placed = {}
    for step in steps:
        if step.new is None:
            files.remove(repository.root, step.path)
        else:
            placed[step.path] = (step.new, files.place(repository.root, step.path, publication.commit))
    files.settle(repository.root, contents)
    index.stamp(placed)
    index.use()


def recover(repository: Repository) -> None:
    """Undo or finish what a killed writer left; the caller holds the writers' lock, so that it is dead.

    Raises LockedError, WriteError.
    """
    places = _Places.of(repository)
    try:
        publication = _read_journal(places.journal)
        begun = places.journal.stat().st_mtime_ns
    except FileNotFoundError:
        return
    except (KeyError, TypeError, ValueError) as e:
        raise StoreError(f"{places.journal} is damaged; see `git status`, then delete that file") from e
    with _failures(places.journal):
        _clear_ref_lock(ref_lock(repository, publication.ref), publication.commit, begun)
        _end(repository, publication, places)


def _clear_ref_lock(lock: Path, commit: str, begun: int) -> None:
    """Delete a ref's lock that the dead writer left; any other is respected.

    It is the writer's when it names its commit. libgit2 makes it empty at first; an empty one counts as
    the writer's when it is no older than the journal and nobody touches it for a second.
    """
    try:
        before = lock.stat()
        content = lock.read_text(encoding="ascii", errors="replace").strip()
        if content not in {"", commit} or before.st_mtime_ns < begun:
            return
        if content != commit:
            time.sleep(_STALE_SECONDS)
        after = lock.stat()
    except FileNotFoundError:
        return
    if (before.st_ino, before.st_mtime_ns, before.st_size) == (
        after.st_ino,
        after.st_mtime_ns,
        after.st_size,
    ):
        lock.unlink(missing_ok=True)


def _end(repository: Repository, publication: Publication, places: _Places) -> None:
    """Leave new or old, and take the locks and the journal away."""
    if not repository.holds(publication.commit):
        _undo(repository, publication, places)
    discard_index(places.index)
    if places.owned():
        places.lock.unlink()
    places.journal.unlink()


def _undo(repository: Repository, publication: Publication, places: _Places) -> None:
    """Bring back the old bytes wherever the new ones lie, on disk and in the index."""
    tip = repository.tip()
    steps = [step for step in publication.steps if repository.blob_id(tip, step.path) == step.old]
    copy = Index.copied(repository, places.index)
    staged = copy.ids([step.path for step in steps])
    unstaged = {step.path: step.old for step in steps if step.old != step.new == staged[step.path]}
    if unstaged:
        if not places.owned():
            _lock_index(places)
            copy = Index.copied(repository, places.index)
        copy.change(unstaged)
        copy.use()
    for step in steps:
        with contextlib.suppress(WriteError):  # a link in place of its folder: nothing was staged there
            files.discard(repository.root, step.path, publication.commit)
        if _present(repository.root, step.path) != step.new:
            continue
        if step.old is None:
            files.remove(repository.root, step.path)
        else:
            files.stage(repository.root, step.path, repository.read_blob(step.old), publication.commit)
            files.place(repository.root, step.path, publication.commit)
    files.settle(repository.root, [step.path for step in steps])


def _present(root: Path, path: str) -> str | None:
    """Return the blob id of the bytes in the work tree; "" for what is no regular file."""
    try:
        data = files.read_bytes(root, path)
    except FormatError:
        return ""
    return None if data is None else blob_of(data)


def _lock_index(places: _Places) -> None:
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            places.lock.hardlink_to(places.journal)
        except FileExistsError:
            if time.monotonic() > until:
                raise LockedError(str(places.lock)) from None
            time.sleep(0.002)
        else:
            return


def _write_journal(path: Path, publication: Publication) -> None:
    beside = path.with_suffix(".new")
    with _failures(path):
        with beside.open("w", encoding="utf-8") as file:
            json.dump(asdict(publication), file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_folder(path.parent)


def _read_journal(path: Path) -> Publication:
    fields = json.loads(path.read_text(encoding="utf-8"))
    return Publication(**{**fields, "steps": tuple(Step(**step) for step in fields["steps"])})
