"""The files of a registry as the work tree holds them, found without git.

A listing is what one folder holds; two equal fingerprints of a listing mean that no file in it was written,
replaced, renamed or touched in between, because the change time of a file cannot be set back.
Symbolic links are never followed. Names that begin with a dot belong to editors and are passed over.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from forgekit.errors import FormatError
from forgekit.ids import is_id
from forgekit.model.kinds import Kind

READ_LIMIT = 1_000_000
"""Bytes of the longest file that is read."""
RACY_NS = 2_000_000_000
"""A file written less than this before it was read may change again within one tick of its clock."""

_TOPS = ("archives", "registry")
_FOLDERS = frozenset(kind.folder for kind in Kind)
_MONTH = re.compile(r"\d{4}-\d{2}")


Row = tuple[str, int, int, int, int, int]
"""An Entry before anybody asks for its parts; ten thousand tuples are made in half the time."""
Listing = list[Row]


class Entry(NamedTuple):
    """One name in a folder: `mode` as lstat gives it, times in ns; folders carry no more than their mode."""

    name: str
    mode: int
    size: int
    mtime: int
    inode: int
    ctime: int


def scan(root: Path) -> dict[str, Listing]:
    """Return the listing of every folder that may hold entities, by its path relative to the root."""
    found = {"": [row for name in _TOPS if (row := _top(root / name)) is not None]}
    waiting = [name for name, mode, *_ in found[""] if mode == stat.S_IFDIR]
    base = os.fspath(root)
    while waiting:
        folder = waiting.pop()
        found[folder] = listing = _listing(f"{base}/{folder}")
        waiting += [
            f"{folder}/{row[0]}" for row in listing if row[1] == stat.S_IFDIR and is_place(folder, row[0])
        ]
    return found


def is_place(folder: str, name: str) -> bool:
    """Say whether a folder of this name belongs in a folder of a registry."""
    if folder in _FOLDERS:
        return _MONTH.fullmatch(name) is not None
    path = f"{folder}/{name}" if folder else name
    return path in _TOPS or path in _FOLDERS


def is_entity_name(name: str) -> bool:
    """Say whether a file of this name can hold an entity."""
    return name.endswith(".md") and is_id(name[:-3])


def fingerprint(listing: Listing) -> bytes:
    """Return a short digest of a listing."""
    # marshal is three times as fast as any text form here, and its output is never read back.
    return hashlib.blake2b(marshal.dumps(listing, 2), digest_size=16).digest()


def shown(path: str) -> str:
    """Return a path that can be printed and stored whatever bytes its names hold."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path)


def read_file(path: str, name: str) -> tuple[bytes, Entry]:
    """Read a regular file and its state just before.

    Raises FormatError for what is no regular file or too long, OSError.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        state = Entry(*_of_stat(name, os.fstat(handle)))
        if not stat.S_ISREG(state.mode):
            raise FormatError("is not a regular file")
        if state.size > READ_LIMIT:
            raise FormatError(f"is {state.size:,} bytes long; at most {READ_LIMIT:,} are read")
        data = os.read(handle, state.size + 1)
        while len(data) <= READ_LIMIT and (more := os.read(handle, READ_LIMIT + 1 - len(data))):
            data += more
    finally:
        os.close(handle)
    return data, state


def blob_id(data: bytes) -> str:
    """Return the name under which git files these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _of_stat(name: str, s: os.stat_result) -> Row:
    return (name, s.st_mode, s.st_size, s.st_mtime_ns, s.st_ino, s.st_ctime_ns)


def _top(path: Path) -> Row | None:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    return (path.name, stat.S_IFDIR if stat.S_ISDIR(mode) else mode, 0, 0, 0, 0)


def _listing(folder: str) -> Listing:
    out: Listing = []
    try:
        with os.scandir(folder) as entries:
            for item in entries:
                if item.name[0] == ".":
                    continue
                if item.is_dir(follow_symlinks=False):
                    out.append((item.name, stat.S_IFDIR, 0, 0, 0, 0))
                    continue
                with contextlib.suppress(FileNotFoundError):  # deleted since the folder was opened
                    out.append(_of_stat(item.name, item.stat(follow_symlinks=False)))
    except (FileNotFoundError, NotADirectoryError):
        return []  # deleted or replaced since its parent was listed
    except OSError as e:
        return [(f"({e.strerror})", 0, 0, 0, 0, 0)]
    return out
