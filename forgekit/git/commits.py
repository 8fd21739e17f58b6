"""git, written: commits built from the tip's own tree.

Nothing here moves a branch by itself; `forgekit.git.publish` does, under its locks.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import pygit2
from pygit2.enums import FileMode

from forgekit.errors import StoreError, WriteError
from forgekit.git.locks import clear_dead, git_lock_error
from forgekit.git.repository import Repository, lost_object
from forgekit.model.rules import require_line

LOCK_SECONDS = 10.0
_NEW_LOCK_TRIES = 20
_OBJECT = re.compile(r"[0-9a-f]{40}")


def message_of(subject: str, trailers: Sequence[tuple[str, str]]) -> str:
    """Return the text of a commit.

    Raises RuleError for a subject or trailer that is not one line.
    """
    require_line("subject", subject)
    for key, value in trailers:
        require_line("trailer", key, value)
    lines = "".join(f"{key}: {value}\n" for key, value in trailers)
    return f"{subject}\n" + (f"\n{lines}" if lines else "")


def build_commit(
    repository: Repository,
    parent: str | None,
    files: Mapping[str, bytes | None],
    message: str,
    merged: str | None = None,
    executable: Collection[str] = (),
) -> str:
    """Store a commit that no branch names yet: the parent's tree and exactly these files.

    Args:
        repository: where.
        parent: None for the first commit.
        files: path -> bytes, or None for a file to delete.
        message: the whole text.
        merged: another parent.
        executable: those of the new files that are.

    Raises RepositoryError without an identity, WriteError, StoreError.
    """
    author, committer = repository.identity("AUTHOR"), repository.identity("COMMITTER")
    raw = repository.raw
    objects = repository.common_dir / "objects"
    try:
        tree = write_tree(repository, repository.tree(parent), files, executable)
        parents = [each for each in (parent, merged) if each is not None]
        commit = raw.create_commit(None, author, committer, message, tree, parents)
        sync_folder(objects)  # libgit2 syncs the folder of each object, and not the name of a new folder
    except (OSError, ValueError, pygit2.GitError) as e:
        raise WriteError(str(objects), str(e)) from e
    return str(commit)


def store_blobs(repository: Repository, contents: Sequence[bytes]) -> None:
    """Store bytes that no commit names, on disk before this returns.

    Raises OSError, pygit2.GitError.
    """
    for data in contents:
        repository.raw.create_blob(data)
    if contents:
        sync_folder(repository.common_dir / "objects")


def write_tree(
    repository: Repository,
    base: pygit2.Tree | None,
    files: Mapping[str, bytes | None],
    executable: Collection[str] = (),
) -> pygit2.Oid:
    """Store a tree: another one, and exactly these files; an existing file keeps its mode.

    Raises OSError, ValueError, pygit2.GitError, StoreError.
    """
    raw = repository.raw
    blobs = {
        tuple(f"{repository.prefix}{path}".split("/")): None
        if data is None
        else (raw.create_blob(data), mode_of(path, executable))
        for path, data in files.items()
    }
    tree = _tree(raw, base, blobs)
    return raw.TreeBuilder().write() if tree is None else tree


def mode_of(path: str, executable: Collection[str]) -> FileMode:
    """Return the mode of a new file."""
    return FileMode.BLOB_EXECUTABLE if path in executable else FileMode.BLOB


def _tree(
    raw: pygit2.Repository,
    base: pygit2.Tree | None,
    files: Mapping[tuple[str, ...], tuple[pygit2.Oid, FileMode] | None],
) -> pygit2.Oid | None:
    """Write a tree with some files changed; None when nothing is left in it."""
    builder = raw.TreeBuilder(base) if base is not None else raw.TreeBuilder()
    folders: dict[str, dict[tuple[str, ...], tuple[pygit2.Oid, FileMode] | None]] = {}
    for (name, *rest), file in files.items():
        if rest:
            folders.setdefault(name, {})[tuple(rest)] = file
            continue
        entry = cast("pygit2.Object | None", builder.get(name))
        if file is not None:
            builder.insert(name, file[0], entry.filemode if entry is not None else file[1])
        elif entry is not None:
            builder.remove(name)
    for name, inner in folders.items():
        entry = cast("pygit2.Object | None", builder.get(name))
        if entry is not None and not isinstance(entry, pygit2.Tree):
            raise StoreError(f"{name} is no folder in git; delete it and commit that")
        subtree = _tree(raw, entry, inner)
        if subtree is not None:
            builder.insert(name, subtree, FileMode.TREE)
        elif entry is not None:
            builder.remove(name)
    return builder.write() if len(builder) else None


@contextlib.contextmanager
def failures(path: Path) -> Iterator[None]:
    """Turn what the system and libgit2 raise into a sentence, where nothing came into force.

    Raises WriteError, RepositoryError for an object that git lost.
    """
    try:
        yield
    except KeyError as e:
        if _OBJECT.fullmatch(str(e.args[0])):
            raise lost_object(e) from e
        raise
    except OSError as e:
        raise WriteError(str(e.filename or path), e.strerror or str(e)) from e
    except pygit2.GitError as e:
        raise WriteError(str(path), str(e)) from e


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder on disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def ref_lock(repository: Repository, ref: str) -> Path:
    """Return the lock file of a ref, as git and libgit2 name it."""
    return (repository.git_dir if ref == "HEAD" else repository.common_dir) / f"{ref}.lock"


@contextlib.contextmanager
def locked_ref(repository: Repository, ref: str) -> Iterator[pygit2.transaction.ReferenceTransaction]:
    """Hold a ref's lock; the transaction is applied at the end, unless an error came.

    Raises LockedError, WriteError.
    """
    lock = ref_lock(repository, ref)
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
                raise git_lock_error(lock, repository.top) from e
            time.sleep(0.005)
    with transaction:
        yield transaction


def move(
    transaction: pygit2.transaction.ReferenceTransaction,
    repository: Repository,
    ref: str,
    commit: str,
    subject: str,
) -> None:
    """Let the transaction move a branch to a commit, with a line in its reflog."""
    committer = repository.identity("COMMITTER")
    repository.raw.set_ident(committer.name, committer.email)
    transaction.set_target(ref, commit, message=f"commit: {subject}")
