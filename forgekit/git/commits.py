"""git, written: commits built from the tip's own tree, and copies of the index.

Nothing here moves a branch or touches the index in use; `forgekit.git.publish` does, under both locks.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import pygit2
from pygit2.enums import FileMode

from forgekit.errors import LockedError, StoreError, WriteError
from forgekit.git.repository import Repository
from forgekit.model.rules import require_line

LOCK_SECONDS = 10.0
_NEW_LOCK_TRIES = 20
_ENTRY = struct.Struct(">10I")  # what stat(2) says, at the head of an index entry (gitformat-index(5))
_NAME_LENGTH_MAX = 0xFFF
_CHECKSUM = 20


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
) -> str:
    """Store a commit that no branch names yet: the parent's tree and exactly these files.

    Args:
        repository: where.
        parent: None for the first commit.
        files: path -> bytes, or None for a file to delete.
        message: the whole text.
        merged: another parent.

    Raises RepositoryError without an identity, WriteError, StoreError.
    """
    author, committer = repository.identity("AUTHOR"), repository.identity("COMMITTER")
    raw = repository.raw
    objects = repository.common_dir / "objects"
    try:
        tree = write_tree(repository, repository.tree(parent), files)
        parents = [each for each in (parent, merged) if each is not None]
        commit = raw.create_commit(None, author, committer, message, tree, parents)
        sync_folder(objects)  # libgit2 syncs the folder of each object, and not the name of a new folder
    except (OSError, ValueError, pygit2.GitError) as e:
        raise WriteError(str(objects), str(e)) from e
    return str(commit)


def write_tree(
    repository: Repository, base: pygit2.Tree | None, files: Mapping[str, bytes | None]
) -> pygit2.Oid:
    """Store a tree: another one, and exactly these files.

    Raises OSError, ValueError, pygit2.GitError, StoreError.
    """
    raw = repository.raw
    blobs = {
        tuple(f"{repository.prefix}{path}".split("/")): None if data is None else raw.create_blob(data)
        for path, data in files.items()
    }
    tree = _tree(raw, base, blobs)
    return raw.TreeBuilder().write() if tree is None else tree


def _tree(
    raw: pygit2.Repository, base: pygit2.Tree | None, files: Mapping[tuple[str, ...], pygit2.Oid | None]
) -> pygit2.Oid | None:
    """Write a tree with some files changed; None when nothing is left in it."""
    builder = raw.TreeBuilder(base) if base is not None else raw.TreeBuilder()
    folders: dict[str, dict[tuple[str, ...], pygit2.Oid | None]] = {}
    for (name, *rest), blob in files.items():
        if rest:
            folders.setdefault(name, {})[tuple(rest)] = blob
            continue
        entry = cast("pygit2.Object | None", builder.get(name))
        if blob is not None:
            builder.insert(name, blob, entry.filemode if entry is not None else FileMode.BLOB)
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


class _LibgitIndex(pygit2.Index):
    """An index whose end is quiet when it could not be opened; pygit2 1.21 complains of the missing field."""

    _index = pygit2.ffi.NULL


class Index:
    """The index in use, to be read only; or a copy of it, to be edited and then moved over it.

    The git program serves where libgit2 cannot read an index (split, sparse).

    Args:
        repository: whose index.
        path: where it lies; a copy lies on the file system of the git folder.
    """

    def __init__(self, repository: Repository, path: Path) -> None:
        self._repository = repository
        self.path = path
        self._index: pygit2.Index | None = None
        with contextlib.suppress(pygit2.GitError):
            self._index = _LibgitIndex(str(path))

    @classmethod
    def in_use(cls, repository: Repository) -> Index:
        """Open the index that git uses, to be read."""
        return cls(repository, repository.git_dir / "index")

    @classmethod
    def copied(cls, repository: Repository, path: Path) -> Index:
        """Copy the index that git uses."""
        discard_index(path)
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(repository.git_dir / "index", path)
        return cls(repository, path)

    def ids(self, paths: Sequence[str]) -> dict[str, str | None]:
        """Return the blob id that the index holds for each path; None where it holds none."""
        prefix = self._repository.prefix
        return {path: entry[1] if (entry := self._entry(prefix + path)) else None for path in paths}

    def _entry(self, full: str) -> tuple[int, str] | None:
        if self._index is None:
            return self._listed().get(full)
        try:
            entry = self._index[full]
        except KeyError:
            return None
        return entry.mode, str(entry.id)

    def _listed(self) -> dict[str, tuple[int, str]]:
        rows = (
            self._git("ls-files", "--full-name", "--stage", "-z")
            .decode("utf-8", "surrogateescape")
            .split("\0")
        )
        fields = (row.partition("\t") for row in rows if row)
        split = ((head.split(" "), path) for head, _, path in fields)
        return {path: (int(mode, 8), blob) for (mode, blob, stage), path in split if stage == "0"}

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        env = {"GIT_INDEX_FILE": str(self.path)}
        return self._repository.run("-C", str(self._repository.top), *arguments, stdin=stdin, env=env)

    def change(self, blobs: Mapping[str, str | None]) -> None:
        """Set the blob id of each path, or take the path out, and write the copy.

        Raises WriteError.
        """
        full = {self._repository.prefix + path: blob for path, blob in blobs.items()}
        modes = {path: entry[0] if (entry := self._entry(path)) else FileMode.BLOB for path in full}
        if self._index is None:
            rows = (f"{modes[p] if b else 0:06o} {b or '0' * 40}\t{p}\0" for p, b in full.items())
            self._git("update-index", "-z", "--index-info", stdin="".join(rows).encode())
            return
        try:
            for path, blob in full.items():
                if blob is not None:
                    self._index.add(pygit2.IndexEntry(path, pygit2.Oid(hex=blob), FileMode(modes[path])))
                else:
                    self._index.remove(path)
            self._index.write()
        except (OSError, pygit2.GitError) as e:
            raise WriteError(str(self.path), str(e)) from e

    def stamp(self, placed: Mapping[str, tuple[str, os.stat_result]]) -> None:
        """Note what stat(2) says of the placed files, so that git need not read them to know them clean.

        Only an optimisation of what git would find by itself; an entry that is not found stays as it is.

        Args:
            placed: path -> blob id and status.
        """
        with self.path.open("r+b") as file:
            data = bytearray(file.read())
            for path, (blob, status) in placed.items():
                name = (self._repository.prefix + path).encode()
                flags = min(len(name), _NAME_LENGTH_MAX)
                at = data.find(bytes.fromhex(blob) + flags.to_bytes(2, "big") + name + b"\0") - _ENTRY.size
                if at > 0:
                    mode = _ENTRY.unpack_from(data, at)[6]
                    _ENTRY.pack_into(data, at, *_stat_fields(status, mode))
            data[-_CHECKSUM:] = hashlib.sha1(data[:-_CHECKSUM], usedforsecurity=False).digest()
            file.seek(0)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def use(self) -> None:
        """Move the copy over the index in use; the caller holds its lock."""
        self.path.replace(self._repository.git_dir / "index")
        sync_folder(self._repository.git_dir)


def _stat_fields(status: os.stat_result, mode: int) -> tuple[int, ...]:
    seconds = 1_000_000_000
    values = (
        *divmod(status.st_ctime_ns, seconds),
        *divmod(status.st_mtime_ns, seconds),
        status.st_dev,
        status.st_ino,
        mode,
        status.st_uid,
        status.st_gid,
        status.st_size,
    )
    return tuple(value & 0xFFFFFFFF for value in values)


def discard_index(path: Path) -> None:
    """Delete a copy of the index, whole or half written."""
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".lock").unlink(missing_ok=True)


@contextlib.contextmanager
def failures(path: Path) -> Iterator[None]:
    """Turn what the system and libgit2 raise into a sentence, where nothing came into force.

    Raises WriteError.
    """
    try:
        yield
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
    """Hold a ref's lock; what the transaction was told is done at the end, unless an error came.

    Raises LockedError, WriteError.
    """
    lock = ref_lock(repository, ref)
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
                raise LockedError(str(lock)) from e
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
