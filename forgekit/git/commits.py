"""git, written: commits built from the tip's own tree, and copies of the index to go with them.

Nothing here moves a branch or touches the index in use; `forgekit.git.publish` does, under its locks.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import pygit2
from pygit2.enums import FileMode
from pygit2.errors import check_error
from pygit2.ffi import C, ffi

from forgekit.errors import StoreError, WriteError
from forgekit.git.repository import Repository, lost_object, present
from forgekit.model.rules import require_line

_OBJECT = re.compile(r"[0-9a-f]{40}")
_CHECKSUM = 20  # bytes at the end of an index
_Entry = tuple[pygit2.Oid, FileMode] | None


def build_commit(
    repository: Repository,
    parent: str | None,
    files: Mapping[str, bytes | None],
    subject: str,
    trailers: Sequence[tuple[str, str]] = (),
    *,
    merged: str | None = None,
    executable: Collection[str] = (),
) -> str:
    """Store a commit that no branch names yet: the parent's tree and exactly these files.

    Args:
        parent: None for the first commit.
        files: path -> bytes, or None for a file to delete.
        merged: another parent.
        executable: those of the new files that are.

    Raises RuleError for a subject or trailer that is not one line, RepositoryError without an identity,
    WriteError, StoreError.
    """
    require_line("subject", subject)
    for key, value in trailers:
        require_line("trailer", key, value)
    lines = "".join(f"{key}: {value}\n" for key, value in trailers)
    message = f"{subject}\n" + (f"\n{lines}" if lines else "")
    author, committer = repository.identity("AUTHOR"), repository.identity("COMMITTER")
    raw = repository.raw
    objects = repository.common_dir / "objects"
    parents = [each for each in (parent, merged) if each is not None]
    with failures(objects):
        tree = write_tree(repository, repository.tree(parent), files, executable)
        commit = raw.create_commit(None, author, committer, message, tree, parents)
        sync(objects)  # libgit2 syncs the folder of each object, and not the name of a new folder
    return str(commit)


def store_blobs(repository: Repository, contents: Sequence[bytes]) -> None:
    """Store bytes that no commit names, on disk before this returns; raises OSError, pygit2.GitError."""
    for data in contents:
        repository.raw.create_blob(data)
    if contents:
        sync(repository.common_dir / "objects")


def write_tree(
    repository: Repository,
    base: pygit2.Tree | None,
    files: Mapping[str, bytes | None],
    executable: Collection[str],
) -> pygit2.Oid:
    """Store a tree: another one, and exactly these files; an existing file keeps its mode.

    Raises OSError, ValueError, pygit2.GitError, StoreError.
    """
    raw = repository.raw
    blobs: dict[tuple[str, ...], _Entry] = {}
    for path, data in files.items():
        mode = FileMode.BLOB_EXECUTABLE if path in executable else FileMode.BLOB
        entry = None if data is None else (raw.create_blob(data), mode)
        blobs[tuple(f"{repository.prefix}{path}".split("/"))] = entry
    return _tree(raw, base, blobs) or raw.TreeBuilder().write()


def _tree(
    raw: pygit2.Repository,
    base: pygit2.Tree | None,
    files: Mapping[tuple[str, ...], _Entry],
) -> pygit2.Oid | None:
    """Write a tree with some files changed; None when nothing is left in it."""
    builder = raw.TreeBuilder(base) if base is not None else raw.TreeBuilder()
    folders: dict[str, dict[tuple[str, ...], _Entry]] = {}
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


def sync(path: Path) -> None:
    """Bring the content of a file, or the names in a folder, on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def index_fault(repository: Repository) -> str:
    """Say what is wrong with the index that git uses, or return "". The shared part of one is not read."""
    try:
        data = (repository.git_dir / "index").read_bytes()
    except FileNotFoundError:
        return "" if repository.tip() is None else "is missing"
    checksum = data[-_CHECKSUM:]
    made = hashlib.sha1(memoryview(data)[:-_CHECKSUM], usedforsecurity=False).digest()
    sound = data.startswith(b"DIRC") and (checksum == made or not any(checksum))  # zeros: index.skipHash
    return "" if sound else "cannot be read"


class _Index(pygit2.Index):
    """An index whose end is quiet when it could not be opened; pygit2 1.21 complains of the missing field."""

    _index = ffi.NULL


class IndexCopy:
    """A copy of the index, to be edited and then moved over the one in use.

    Args:
        path: where the copy lies, on the file system of the git folder.

    Raises OSError, pygit2.GitError.
    """

    def __init__(self, repository: Repository, path: Path) -> None:
        self._repository = repository
        self._path = path
        discard_index(path)
        seconds = 0.0
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(repository.git_dir / "index", path)
            seconds = (repository.git_dir / "index").stat().st_mtime
        try:
            self._index = _Index(str(path))
        except pygit2.GitError:
            # It is split or sparse. With no file in sight git looks at none, and so runs no filter.
            options = ("-c", "core.splitIndex=false", "-c", "index.sparse=false")
            command = ("update-index", "--no-split-index", "--force-write-index")
            env = {"GIT_INDEX_FILE": str(path), "GIT_WORK_TREE": str(path.parent)}
            repository.run(*options, *command, env=env)
            self._index = _Index(str(path))
        self._unhide_edits(int(seconds))

    def _unhide_edits(self, seconds: int) -> None:
        """Keep git from taking an edited file for clean because the copy is younger than the index.

        Git compares whole seconds: to an entry no older than its index it looks at the file itself, for an
        edit of the same second (racy-git, "Racy Git"). So such an entry loses its size unless the file is
        what it names, as git has it when it writes an index; then git looks at any time.
        """
        for at in range(len(self._index)):
            entry = C.git_index_get_byindex(self._index._index, at)  # noqa: SLF001 - pygit2 leaves times out
            if entry.mtime.seconds >= seconds and entry.file_size:
                blob = ffi.buffer(ffi.addressof(entry, "id"))[:].hex()
                if present(self._repository.top, os.fsdecode(ffi.string(entry.path))) != blob:
                    entry.file_size = 0

    def get(self, path: str) -> pygit2.IndexEntry | None:
        """Return the entry of a path, or None."""
        try:
            return self._index[self._repository.prefix + path]
        except KeyError:
            return None

    def blob(self, path: str) -> str | None:
        """Return the blob id that the index holds for a path, or None."""
        entry = self.get(path)
        return None if entry is None else str(entry.id)

    def put(self, path: str, blob: str, mode: FileMode, status: os.stat_result | None = None) -> None:
        """Set the entry of a path; an existing one keeps its mode.

        Args:
            mode: for a new entry.
            status: of the file placed, by which git knows it for clean without reading it.
        """
        known = self.get(path)
        mode = mode if known is None else known.mode
        new = pygit2.IndexEntry(self._repository.prefix + path, pygit2.Oid(hex=blob), mode)
        entry, _kept = new._to_c()  # noqa: SLF001 - as above
        if status is not None:
            entry.dev, entry.ino, entry.file_size = (
                value & 0xFFFFFFFF for value in (status.st_dev, status.st_ino, status.st_size)
            )
            entry.uid, entry.gid = status.st_uid, status.st_gid
            for time, value in ((entry.ctime, status.st_ctime_ns), (entry.mtime, status.st_mtime_ns)):
                time.seconds, time.nanoseconds = divmod(value, 1_000_000_000)
        check_error(C.git_index_add(self._index._index, entry))  # noqa: SLF001 - as above

    def drop(self, path: str) -> None:
        """Take a path out."""
        if self.get(path) is not None:
            self._index.remove(self._repository.prefix + path)

    def use(self) -> None:
        """Write the copy and move it over the index in use; the caller holds its lock."""
        self._index.write()
        sync(self._path)
        self._path.replace(self._repository.git_dir / "index")
        sync(self._repository.git_dir)


def discard_index(path: Path) -> None:
    """Delete a copy of the index, whole or half written."""
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".lock").unlink(missing_ok=True)
