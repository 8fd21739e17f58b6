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
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pygit2

from forgekit.errors import DirtyFileError, RepositoryError, StoreError, UnsureError, WriteError
from forgekit.git.commits import LOCK_SECONDS, failures, locked_ref, move, ref_lock, sync_folder
from forgekit.git.index import GitIndex, discard_index, index_fault
from forgekit.git.locks import clear_dead, git_lock_error, running_git
from forgekit.git.repository import Head, Repository, present
from forgekit.worktree import files
from forgekit.worktree.roots import worktree_key

_OBJECT = re.compile(r"[0-9a-f]{40}")
_REF = re.compile(r"HEAD|refs/[^\x00-\x20~^:?*\[\\\x7f]{1,500}")
_AWAY = re.compile(r"/(?:\.{0,2}|\.git)/|[\x00\\]", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
            read_journal(self.lock)
        except (OSError, KeyError, TypeError, ValueError):
            return False
        return True


def write_journal(path: Path, publication: Publication) -> None:
    """Write the journal whole or not at all, even after a loss of power."""
    beside = path.with_suffix(".new")
    with beside.open("w", encoding="utf-8") as file:
        json.dump(asdict(publication), file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_folder(path.parent)


def read_journal(path: Path) -> Publication:
    """Read the plan of a write.

    Raises KeyError, TypeError or ValueError for a journal that is damaged, FileNotFoundError.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    publication = Publication(**{**data, "steps": tuple(Step(**step) for step in data["steps"])})
    _require_ours(publication)
    return publication


def _require_ours(publication: Publication) -> None:
    """Refuse a journal that forgekit did not write: it may have come with the folder, and it names files.

    Raises TypeError or ValueError.
    """
    blobs = [name for s in publication.steps for name in (s.old, s.before, s.staged, s.new)]
    objects = [name for name in (*blobs, publication.parent) if name is not None]
    sound = (
        all(_OBJECT.fullmatch(name) for name in (*objects, publication.commit))
        and _REF.fullmatch(publication.ref)
        and ".." not in publication.ref
        and not any(_AWAY.search(f"/{publication.prefix}{step.path}/") for step in publication.steps)
    )
    if not sound:
        raise ValueError("names what no write could")


_STALE_SECONDS = 1.0
_ROUNDS = 3
_PASSING_SECONDS = 0.3  # a git process that is still there waits for its user's editor, not for the lock
_UNKNOWN_SECONDS = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitProposal:
    """A commit, and what is to lie in the work tree.

    Attributes:
        contents: path -> new bytes, or None for a file to delete.
        executable: those of the new files that are.
    """

    publication: Publication
    contents: Mapping[str, bytes | None]
    executable: Collection[str] = ()


@dataclass(slots=True)
class _Write:
    """A write under way."""

    repository: Repository
    places: Places
    proposal: CommitProposal

    def end(self) -> None:
        _end(self.repository, self.proposal.publication, self.places)


def publish(
    repository: Repository, proposal: CommitProposal, propose: Callable[[Head], CommitProposal | None]
) -> CommitProposal | None:
    """Publish a commit; the caller holds the writers' lock.

    Args:
        repository: where.
        proposal: what.
        propose: decides again, under the locks, when branch or files moved on since; None for nothing.

    Returns what was published; None, with nothing changed, when there is nothing to do or HEAD moved away.
    Raises DirtyFileError, LockedError, WriteError, UnsureError, StoreError.
    """
    places = Places.of(repository)
    write = _Write(repository, places, proposal)
    with failures(places.journal):
        write_journal(places.journal, proposal.publication)
    with _classified(write):
        try:
            published = _publish_locked(write, propose)
        except BaseException:
            write.end()
            raise
        # Once the branch has moved, a lock that cannot be removed is left to the next writer.
        with contextlib.suppress(OSError) if published else contextlib.nullcontext():
            write.end()
    return write.proposal if published else None


def _publish_locked(write: _Write, propose: Callable[[Head], CommitProposal | None]) -> bool:
    """Take the locks, compare again, put everything in place and move the branch; as of `publish`."""
    repository, ref = write.repository, write.proposal.publication.ref
    _lock_index(write.places)
    with locked_ref(repository, ref) as transaction:
        if not _up_to_date(write, ref, propose):
            return False
        publication = write.proposal.publication
        _put(repository, write.proposal, write.places)
        running = running_git(repository.top)
        move(transaction, repository, ref, publication.commit, publication.subject)
    _wait_for(running)
    if not repository.holds(publication.commit):
        raise StoreError(f"{ref} does not hold commit {publication.commit[:12]}; run this again")
    return True


def _up_to_date(write: _Write, ref: str, propose: Callable[[Head], CommitProposal | None]) -> bool:
    """Ensure that the proposal was made from the present state; no commit can come first any more.

    Proposing again without the locks would lose to a busy `git commit` loop for ever.
    """
    repository = write.repository
    for _ in range(_ROUNDS):
        head, publication = repository.head(), write.proposal.publication
        if head.ref != ref:
            return False
        untouched = all(present(repository.root, step.path) == step.before for step in publication.steps)
        if head.commit == publication.parent and untouched:
            return True
        again = propose(head)
        if again is None:
            return False
        write_journal(write.places.journal, again.publication)
        write.proposal = again
    return False


@contextlib.contextmanager
def _classified(write: _Write) -> Iterator[None]:
    """Turn a failure into an error that distinguishes a change that may have been applied.

    Raises WriteError when it does not, UnsureError.
    """
    try:
        with failures(write.places.journal):
            yield
    except WriteError as e:
        try:
            applied = write.repository.holds(write.proposal.publication.commit)
        except (OSError, pygit2.GitError, RepositoryError):
            applied = True
        if applied:
            raise UnsureError(e.path, e.reason) from e
        raise


def _wait_for(processes: Mapping[Path, Path]) -> None:
    """Wait until the processes are gone, or for so long that none of them is on its way to the lock."""
    if not Path("/proc").is_dir():
        time.sleep(_UNKNOWN_SECONDS)
        return
    until = time.monotonic() + _PASSING_SECONDS
    for process, where in processes.items():
        with contextlib.suppress(OSError):  # it ended
            while (process / "cwd").readlink() == where and time.monotonic() < until:
                time.sleep(0.001)


def _put(repository: Repository, proposal: CommitProposal, places: Places) -> None:
    """Put files and index in place, with everything that can fail done before the first of them."""
    publication, contents = proposal.publication, proposal.contents
    steps = publication.steps
    index = GitIndex.copied(repository, places.index)
    staged = index.ids([step.path for step in steps])
    dirty = [step.path for step in steps if staged[step.path] != step.staged]
    if dirty:
        raise DirtyFileError(dirty)
    index.change({step.path: step.new for step in steps}, proposal.executable)
    for step in steps:
        if (data := contents[step.path]) is not None:
            executable = step.path in proposal.executable
            files.stage(repository.root, step.path, data, publication.commit, executable=executable)
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

    Raises LockedError, StoreError, OSError, pygit2.GitError.
    """
    places = Places.of(repository)
    if index_fault(repository):
        _rebuild_index(repository, places)
    # Of a journal's two names a power failure may leave either.
    left = places.lock if not places.journal.exists() and places.owned() else places.journal
    try:
        publication = read_journal(left)
        owner = _owner(repository, publication)
        # A second proposal has a new journal; the lock is a name of the first.
        names = (left, places.lock) if places.owned() else (left,)
        begun = min(name.stat().st_mtime_ns for name in names)
    except FileNotFoundError:
        return
    except (KeyError, TypeError, ValueError) as e:
        raise StoreError(f"{places.journal} is damaged; see `git status`, then delete that file") from e
    _clear_ref_lock(ref_lock(repository, publication.ref), publication.commit, begun)
    _end(owner, publication, places)


def _owner(repository: Repository, publication: Publication) -> Repository:
    """Return the registry of this work tree that a write was about.

    Raises ValueError for one elsewhere, RepositoryError.
    """
    owner = Repository(repository.top / publication.prefix)
    if (owner.top, owner.prefix) != (repository.top, publication.prefix):
        raise ValueError(publication.prefix)
    return owner


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
    except FileNotFoundError:
        return
    if (before.st_ino, before.st_mtime_ns, before.st_size) == (
        after.st_ino,
        after.st_mtime_ns,
        after.st_size,
    ):
        lock.unlink(missing_ok=True)


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
    copy = GitIndex.copied(repository, places.index)
    staged = copy.ids([step.path for step in steps])
    unstaged = {step.path: step.staged for step in steps if step.staged != step.new == staged[step.path]}
    if unstaged:
        if not places.owned():
            _lock_index(places)
            copy = GitIndex.copied(repository, places.index)
        copy.change(unstaged)
        copy.use()
    for step in steps:
        with contextlib.suppress(WriteError):  # a link in place of its folder: nothing was staged there
            files.discard(repository.root, step.path, publication.commit)
        if step.before == step.new or present(repository.root, step.path) != step.new:
            continue
        if step.before is None:
            files.remove(repository.root, step.path)
        else:
            files.stage(repository.root, step.path, repository.read_blob(step.before), publication.commit)
            files.place(repository.root, step.path, publication.commit)
    files.settle(repository.root, [step.path for step in steps])


def _lock_index(places: Places) -> None:
    """Take the index's lock as a hard link to the journal."""
    _link_lock(places, places.journal)


def _link_lock(places: Places, target: Path) -> None:
    clear_dead(places.lock, places.top)
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            places.lock.hardlink_to(target)
        except FileExistsError:
            if time.monotonic() > until:
                raise git_lock_error(places.lock, places.top) from None
            time.sleep(0.002)
        else:
            return


def _rebuild_index(repository: Repository, places: Places) -> None:
    """Make an index that is missing or damaged from HEAD; what was staged in it is lost.

    With an index that lacks files the next plain `git commit` would delete them.
    """
    discard_index(places.index)
    repository.run("read-tree", "HEAD", env={"GIT_INDEX_FILE": str(places.index)})
    owned = places.owned()
    if not owned:
        _link_lock(places, places.index)
    if index_fault(repository):  # nobody was faster
        places.index.replace(repository.git_dir / "index")
        sync_folder(repository.git_dir)
    discard_index(places.index)
    if not owned:
        places.lock.unlink()
