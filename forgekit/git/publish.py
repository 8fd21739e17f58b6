"""Publish one commit: branch, index and work tree together, or none of them.

The commit exists already and no branch names it. Then, in this order:

1. the journal records the plan; a hard link to it is the index's lock, so that the lock's text
   distinguishes its owner from any other git process, dead or alive;
2. the ref's lock is taken, and under both locks everything is compared again; what was decided from
   an older state is decided again, and the journal rewritten;
3. the files are put in place, then the index, then the branch moves;
4. the locks are removed, the journal last.

Plain git reads HEAD before the index. Since the branch moves last, whoever sees the new commit sees
the new index and the new files too. `git commit` also reads the index before it locks it, and would
write back what it read: so the lock stays until the git processes that ran when the index was replaced
have run into it. So no `git commit` beside us can remove our files.

A write that was killed is undone by the next writer unless the branch holds its commit.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from forgekit.errors import (
    DirtyFileError,
    LockedError,
    RepositoryError,
    StoreError,
    UnsureError,
    WriteError,
)
from forgekit.frozen import frozen
from forgekit.git.commits import IndexCopy, discard_index, failures, index_fault, sync
from forgekit.git.repository import Head, Repository, present
from forgekit.worktree import files
from forgekit.worktree.roots import worktree_key

DEAD_SECONDS = 60
"""A lock file younger than this is never taken for a dead process's."""
LOCK_SECONDS = 10.0

_NEW_LOCK_TRIES = 20
_STALE_SECONDS = 1.0
_ROUNDS = 3
_PASSING_SECONDS = 0.3  # a git process that is still there waits for its user's editor, not for the lock
_UNKNOWN_SECONDS = 0.01
_PROC = Path("/proc")
_OBJECT = re.compile(r"[0-9a-f]{40}")
_REF = re.compile(r"HEAD|refs/[^\x00-\x20~^:?*\[\\\x7f]{1,500}")
_AWAY = re.compile(r"/(?:\.{0,2}|\.git)/|[\x00\\]", re.IGNORECASE)


@frozen(kw_only=True)
class Step:
    """One file of a commit, and blob ids; None for no file.

    Attributes:
        old: at the tip.
        before: in the work tree, when the commit was decided.
        staged: in the index, then.
        new: to be, in all three.
    """

    path: str
    old: str | None
    before: str | None
    staged: str | None
    new: str | None


@frozen(kw_only=True)
class Publication:
    """What is to be published.

    Attributes:
        prefix: of the registry, as of its `Repository`: one work tree may hold several.
        ref: the branch, or `HEAD`.
        parent: its tip before; None on a branch without commits.
        commit: its tip after.
    """

    prefix: str
    ref: str
    parent: str | None
    commit: str
    subject: str
    steps: tuple[Step, ...]


@frozen()
class Places:
    """The files that the writes of one work tree use beside those of git."""

    journal: Path
    index: Path
    lock: Path
    top: Path

    @classmethod
    def of(cls, repository: Repository) -> Places:
        """Return the files of a repository's work tree."""
        cache, key = repository.common_dir / "forgekit", worktree_key(repository.root)
        lock = repository.git_dir / "index.lock"
        return cls(cache / f"journal-{key}.json", cache / f"index-{key}", lock, repository.top)

    def owned(self) -> bool:
        """Say whether the index's lock is a journal of this work tree, whatever became of its first name."""
        with contextlib.suppress(FileNotFoundError):
            if self.journal.samefile(self.lock):
                return True
        try:
            return bool(read_journal(self.lock))
        except (OSError, KeyError, TypeError, ValueError):
            return False


def write_journal(path: Path, publication: Publication) -> None:
    """Write the journal whole or not at all, even after a loss of power."""
    beside = path.with_suffix(".new")
    with beside.open("w", encoding="utf-8") as file:
        json.dump(asdict(publication), file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync(path.parent)


def read_journal(path: Path) -> Publication:
    """Read the plan of a write.

    Raises KeyError, TypeError or ValueError for a journal that is damaged, or that forgekit did not write: it
    may have come with the folder, and it names files. Raises FileNotFoundError.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    found = Publication(**{**data, "steps": tuple(Step(**step) for step in data["steps"])})
    blobs = [name for s in found.steps for name in (s.old, s.before, s.staged, s.new)]
    objects = [name for name in (*blobs, found.parent) if name is not None]
    sound = (
        all(_OBJECT.fullmatch(name) for name in (*objects, found.commit))
        and _REF.fullmatch(found.ref)
        and ".." not in found.ref
        and not any(_AWAY.search(f"/{found.prefix}{step.path}/") for step in found.steps)
    )
    if not sound:
        raise ValueError("names what no write could")
    return found


def running_git(top: Path) -> dict[Path, Path]:
    """Return the git processes that work in a work tree: /proc folder -> working directory."""
    found = {}
    for process in _PROC.iterdir() if _PROC.is_dir() else ():
        with contextlib.suppress(OSError):  # no process, one that ended, or another user's
            if process.name.isdecimal() and (process / "comm").read_bytes().startswith(b"git"):
                where = (process / "cwd").readlink()
                if where.is_relative_to(top):
                    found[process] = where
    return found


def is_dead(lock: Path, top: Path) -> bool:
    """Say whether a lock file of git is left over: old, ours, and no git process works in the work tree."""
    try:
        status = lock.stat()
    except FileNotFoundError:
        return False
    old = time.time() - status.st_mtime >= DEAD_SECONDS
    return old and status.st_uid == os.geteuid() and not running_git(top)


def clear_dead(lock: Path, top: Path) -> None:
    """Delete a lock file of git that `is_dead`."""
    if is_dead(lock, top):
        lock.unlink(missing_ok=True)


def lock_error(lock: Path, processes: Iterable[str]) -> LockedError:
    """Return the error for a lock that one of some processes, named by their numbers, holds."""
    age, named = 0.0, []
    with contextlib.suppress(OSError):
        age = max(time.time() - lock.stat().st_mtime, 0)
    for process in processes:
        with contextlib.suppress(OSError):  # it ended
            name = (_PROC / process / "comm").read_text(encoding="utf-8", errors="replace").strip()
            named.append(f"process {process} ({name})")
    return LockedError(str(lock), age, ", ".join(named))


def _git_lock_error(lock: Path, top: Path) -> LockedError:
    return lock_error(lock, (process.name for process in running_git(top)))


@dataclass(slots=True)
class _Write:
    """A write under way; the publication is the last one that was decided."""

    repository: Repository
    places: Places
    publication: Publication


def publish(
    repository: Repository, publication: Publication, propose: Callable[[Head], Publication | None]
) -> Publication | None:
    """Publish a commit; the caller holds the writers' lock.

    Args:
        propose: decides again, under the locks, when branch or files moved on since; None for nothing.

    Returns what was published; None, with nothing changed, when there is nothing to do or HEAD moved away.
    Raises DirtyFileError, LockedError, WriteError, UnsureError, StoreError.
    """
    write = _Write(repository, Places.of(repository), publication)
    with failures(write.places.journal):
        write_journal(write.places.journal, publication)
    try:
        with failures(write.places.journal):
            try:
                published = _publish_locked(write, propose)
            except BaseException:
                _end(repository, write.publication, write.places)
                raise
            # Once the branch has moved, a lock that cannot be removed is left to the next writer.
            with contextlib.suppress(OSError) if published else contextlib.nullcontext():
                _end(repository, write.publication, write.places)
    except WriteError as e:
        try:
            applied = repository.holds(write.publication.commit)
        except (OSError, pygit2.GitError, RepositoryError):
            applied = True
        if applied:
            raise UnsureError(e.path, e.reason) from e
        raise
    return write.publication if published else None


def _publish_locked(write: _Write, propose: Callable[[Head], Publication | None]) -> bool:
    """Take the locks, compare again, put everything in place and move the branch; as of `publish`."""
    repository, ref = write.repository, write.publication.ref
    _lock_index(write.places)
    with _locked_ref(repository, ref) as transaction:
        if not _up_to_date(write, ref, propose):
            return False
        publication = write.publication
        _put(repository, publication, write.places)
        running = running_git(repository.top)
        _move(transaction, repository, publication)
    _wait_for(running)
    if not repository.holds(publication.commit):
        raise StoreError(f"{ref} does not hold commit {publication.commit[:12]}; run this again")
    return True


def _ref_lock(repository: Repository, ref: str) -> Path:
    """Return the lock file of a ref, as git and libgit2 name it."""
    return (repository.git_dir if ref == "HEAD" else repository.common_dir) / f"{ref}.lock"


@contextlib.contextmanager
def _locked_ref(repository: Repository, ref: str) -> Iterator[pygit2.transaction.ReferenceTransaction]:
    """Hold a ref's lock; the transaction is applied at the end, unless an error came.

    Raises LockedError, WriteError.
    """
    lock = _ref_lock(repository, ref)
    clear_dead(lock, repository.top)
    until, tries = time.monotonic() + LOCK_SECONDS, 0
    while True:
        transaction = repository.raw.transaction()
        try:
            transaction.lock_ref(ref)
            break
        except (OSError, pygit2.GitError) as e:
            tries = 0 if lock.exists() else tries + 1
            if tries > _NEW_LOCK_TRIES:
                raise WriteError(str(lock), str(e)) from e
            if time.monotonic() > until:
                raise _git_lock_error(lock, repository.top) from e
            time.sleep(0.005)
    with transaction:
        yield transaction


def _move(
    transaction: pygit2.transaction.ReferenceTransaction, repository: Repository, publication: Publication
) -> None:
    """Let the transaction move the branch to the commit, with a line in its reflog."""
    committer = repository.identity("COMMITTER")
    repository.raw.set_ident(committer.name, committer.email)
    transaction.set_target(publication.ref, publication.commit, message=f"commit: {publication.subject}")


def _up_to_date(write: _Write, ref: str, propose: Callable[[Head], Publication | None]) -> bool:
    """Ensure that the proposal was made from the present state; no commit can come first any more.

    Proposing again without the locks would lose to a busy `git commit` loop for ever.
    """
    repository = write.repository
    for _ in range(_ROUNDS):
        head, publication = repository.head(), write.publication
        if head.ref != ref:
            return False
        untouched = all(present(repository.root, step.path) == step.before for step in publication.steps)
        if head.commit == publication.parent and untouched:
            return True
        again = propose(head)
        if again is None:
            return False
        write_journal(write.places.journal, again)
        write.publication = again
    return False


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


def _put(repository: Repository, publication: Publication, places: Places) -> None:
    """Put the files and the index in place."""
    steps = publication.steps
    tree = repository.tree(publication.commit)
    index = IndexCopy(repository, places.index)
    dirty = [step.path for step in steps if index.blob(step.path) != step.staged]
    if dirty:
        raise DirtyFileError(dirty)
    modes: dict[str, FileMode] = {}
    for step in steps:
        if step.new is not None and tree is not None:
            mode = modes[step.path] = tree[repository.prefix + step.path].filemode
            executable, data = mode == FileMode.BLOB_EXECUTABLE, repository.read_blob(step.new)
            files.stage(repository.root, step.path, data, publication.commit, executable=executable)
    for step in steps:
        if step.new is None:
            files.remove(repository.root, step.path)
            index.drop(step.path)
        else:
            status = files.place(repository.root, step.path, publication.commit)
            index.put(step.path, step.new, modes[step.path], status)
    files.settle(repository.root, [step.path for step in steps])
    index.use()


def recover(repository: Repository) -> None:
    """Undo or finish what a killed writer left; the caller holds the writers' lock, so that it is dead.

    An index that is lost is made anew from HEAD, without what was staged: with one that lacks files the next
    plain `git commit` would delete them.

    Raises LockedError, StoreError, OSError, pygit2.GitError.
    """
    places = Places.of(repository)
    if places.owned() and not places.journal.exists():  # a power failure may leave either of its names
        places.journal.hardlink_to(places.lock)
    if index_fault(repository):
        if places.owned():
            places.lock.unlink()
        repository.run("read-tree", "HEAD")
    damaged = StoreError(f"{places.journal} is damaged; see `git status`, then delete that file")
    try:
        publication = read_journal(places.journal)
        # A second proposal has a new journal; the lock is a name of the first.
        names = (places.journal, places.lock) if places.owned() else (places.journal,)
        begun = min(name.stat().st_mtime_ns for name in names)
    except FileNotFoundError:
        return
    except (KeyError, TypeError, ValueError) as e:
        raise damaged from e
    owner = Repository(repository.top / publication.prefix)
    if (owner.top, owner.prefix) != (repository.top, publication.prefix):
        raise damaged
    _clear_ref_lock(_ref_lock(repository, publication.ref), publication.commit, begun)
    _end(owner, publication, places)


def _clear_ref_lock(lock: Path, commit: str, begun: int) -> None:
    """Delete a ref's lock that the dead writer left; any other is respected.

    It is the writer's when it names its commit. libgit2 makes it empty at first; an empty or half written
    one counts as the writer's when it is no older than the journal and nobody touches it for a second.
    """
    try:
        before = lock.stat()
        content = lock.read_text(encoding="ascii", errors="replace").strip()
        if not commit.startswith(content) or before.st_mtime_ns < begun:
            return
        if content != commit:
            time.sleep(_STALE_SECONDS)
        after = lock.stat()
        if (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns):
            lock.unlink()
    except FileNotFoundError:
        return


def _end(repository: Repository, publication: Publication, places: Places) -> None:
    """Leave the new or the old state, and remove the locks and the journal."""
    if not repository.holds(publication.commit):
        _undo(repository, publication, places)
    discard_index(places.index)
    if places.owned():
        places.lock.unlink()
    places.journal.unlink(missing_ok=True)


def _undo(repository: Repository, publication: Publication, places: Places) -> None:
    """Restore the old bytes wherever the new ones are, on disk and in the index."""
    tip = repository.tip()
    steps = [
        step
        for step in publication.steps
        if repository.blob_id(tip, step.path) == step.old
        and (step.before is None or step.before in repository.raw)  # git forgets blobs after weeks
    ]
    copy = IndexCopy(repository, places.index)
    unstaged = [step for step in steps if step.staged != step.new == copy.blob(step.path)]
    if unstaged:
        if not places.owned():
            _lock_index(places)
            copy = IndexCopy(repository, places.index)
        for step in unstaged:
            if step.staged is None:
                copy.drop(step.path)
            else:
                copy.put(step.path, step.staged, FileMode.BLOB)
        copy.use()
    for step in steps:
        with contextlib.suppress(WriteError):  # a link in place of its folder: nothing was staged there
            files.discard(repository.root, step.path, publication.commit)
        if step.before != step.new and present(repository.root, step.path) == step.new:
            data = None if step.before is None else repository.read_blob(step.before)
            files.replace(repository.root, step.path, data, publication.commit)
    files.settle(repository.root, [step.path for step in steps])


def _lock_index(places: Places) -> None:
    """Take the index's lock as a hard link to the journal."""
    clear_dead(places.lock, places.top)
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            places.lock.hardlink_to(places.journal)
        except FileExistsError:
            if time.monotonic() > until:
                raise _git_lock_error(places.lock, places.top) from None
            time.sleep(0.002)
        else:
            return
