"""The index: read, or copied and edited beside the one in use.

Nothing here touches the index in use before `Index.use`; `forgekit.git.publish` calls that under both locks.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from io import BufferedIOBase
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from forgekit.errors import WriteError
from forgekit.git.commits import mode_of, sync_folder
from forgekit.git.repository import Repository, present

# gitformat-index(5); offsets in bytes from where an entry begins.
_COUNT = struct.Struct(">8xI")
_STAT = struct.Struct(">10I")
_WORD = struct.Struct(">I")
_HALF = struct.Struct(">H")
_MTIME, _MODE, _SIZE, _BLOB, _FLAGS, _NAME = 8, 24, 36, 40, 60, 62
_EXTENDED = 0x4000  # two more bytes of flags
_LENGTH = 0x0FFF  # of the name, or of all longer ones
_CUT_NAMES = 4  # the version that leaves out how a name begins where the one before begins so
_CHECKSUM = 20


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


class _LibgitIndex(pygit2.Index):
    """An index whose end is quiet when it could not be opened; pygit2 1.21 complains of the missing field."""

    _index = pygit2.ffi.NULL


class GitIndex:
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
    def in_use(cls, repository: Repository) -> GitIndex:
        """Open the index that git uses, to be read."""
        return cls(repository, repository.git_dir / "index")

    @classmethod
    def copied(cls, repository: Repository, path: Path) -> GitIndex:
        """Copy the index that git uses."""
        discard_index(path)
        with contextlib.suppress(FileNotFoundError):
            _copy(repository, path)  # the git program sees to the entries of a shared index
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

    def change(self, blobs: Mapping[str, str | None], executable: Collection[str] = ()) -> None:
        """Set the blob id of each path, or take the path out, and write the copy.

        Args:
            blobs: path -> blob id, or None.
            executable: those of the new files that are.

        Raises WriteError.
        """
        prefix = self._repository.prefix
        full = {prefix + path: blob for path, blob in blobs.items()}
        modes = {
            prefix + path: entry[0] if (entry := self._entry(prefix + path)) else mode_of(path, executable)
            for path in blobs
        }
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
        """Record the stat(2) data of the placed files, so that git need not read them to know them clean.

        Only an optimisation of what git would find by itself; an entry that is not found stays as it is.

        Args:
            placed: path -> blob id and status.
        """
        self._index = None  # it is written, and need not be in memory twice
        with self.path.open("r+b") as file:
            data = _content(file)
            for path, (blob, status) in placed.items():
                name = (self._repository.prefix + path).encode()
                length = _HALF.pack(min(len(name), _LENGTH))
                at = data.find(bytes.fromhex(blob) + length + name + b"\0") - _BLOB
                if at > 0:
                    mode = _WORD.unpack_from(data, at + _MODE)[0]
                    _STAT.pack_into(data, at, *_stat_fields(status, mode))
            _sign(data)
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


def _entered_since(data: bytearray, seconds: int) -> Iterator[tuple[int, bytes]]:
    """Yield where each entry begins whose file was not edited before a second, and its path."""
    since = _WORD.pack(seconds & 0xFFFFFFFF)
    at, name, cut = _COUNT.size, b"", data[7] == _CUT_NAMES
    for _ in range(_COUNT.unpack_from(data)[0]):
        flags = _HALF.unpack_from(data, at + _FLAGS)[0]
        begin = at + (_NAME + 2 if flags & _EXTENDED else _NAME)
        if cut:
            left_out, begin = _number(data, begin)
            end = data.index(0, begin)
            name = name[: len(name) - left_out] + data[begin:end]
            after = end + 1
        else:
            length = flags & _LENGTH
            end = begin + length if length < _LENGTH else data.index(0, begin + length)
            after = at + (end - at + 8) // 8 * 8
        if data[at + _MTIME : at + _MTIME + 4] >= since:
            yield at, name if cut else bytes(data[begin:end])
        at = after


def _number(data: bytearray, at: int) -> tuple[int, int]:
    """Read a number of variable length, and say where it ends (gitformat-pack(5), OFS_DELTA)."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _content(file: BufferedIOBase) -> bytearray:
    """Read an open file to its end; held once, an index may be large."""
    data = bytearray(os.fstat(file.fileno()).st_size)
    del data[file.readinto(data) :]
    return data


def _sign(data: bytearray) -> None:
    """Write the checksum of the content at its end."""
    data[-_CHECKSUM:] = hashlib.sha1(memoryview(data)[:-_CHECKSUM], usedforsecurity=False).digest()


def _copy(repository: Repository, path: Path) -> None:
    """Copy the index in use so that the copy, which is younger, hides no edit.

    Git compares whole seconds: to an entry no older than its index it looks at the file itself, for an edit
    of the same second (racy-git, "Racy Git"). A younger copy would end that. So such an entry loses its size
    unless the file is what it names, as git has it when it writes an index; then git looks at any time.
    """
    with (repository.git_dir / "index").open("rb") as file:
        data = _content(file)
        seconds = int(os.fstat(file.fileno()).st_mtime)
    hiding = []
    with contextlib.suppress(IndexError, ValueError, struct.error):  # damaged: git will say so
        for at, name in _entered_since(data, seconds):
            blob = data[at + _BLOB : at + _FLAGS].hex()
            if present(repository.top, os.fsdecode(name)) != blob:
                hiding.append(at)
    for at in hiding:
        _WORD.pack_into(data, at + _SIZE, 0)
    if hiding:
        _sign(data)
    path.write_bytes(data)
    os.utime(path, (seconds, seconds))
