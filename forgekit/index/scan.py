"""The files of a registry as the work tree holds them, found without git.

A listing is what one folder holds; two equal fingerprints of a listing mean that no file in it was written,
replaced, renamed or touched in between, because the change time of a file cannot be set back.
Symbolic links are never followed. Names that begin with a dot belong to editors and are passed over, but
for those that git reads, or that some file system takes for one of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import re
import stat
import unicodedata
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from forgekit.errors import FormatError
from forgekit.ids import is_id
from forgekit.model.kinds import Kind
from forgekit.worktree.roots import TOPS

READ_LIMIT = 1_000_000
"""Bytes of the longest file that is read."""
RACY_NS = 2_000_000_000
"""A file written less than this before it was read may change again within one tick of its clock."""

_FOLDERS = frozenset(kind.folder for kind in Kind)
_MONTH = re.compile(r"\d{4}-\d{2}")


Row = tuple[str, int, int, int, int, int]
"""An Entry before anybody asks for its parts; ten thousand tuples are made in half the time."""
Listing = list[Row]


class FileEntry(NamedTuple):
    """One name in a folder: `mode` as lstat gives it, times in ns; folders carry no more than their mode."""

    name: str
    mode: int
    size: int
    mtime: int
    inode: int
    ctime: int


def scan(root: Path, within: Collection[str] | None = None) -> Iterator[tuple[str, Listing]]:
    """Yield every folder that may hold entities, by its path relative to the root, and its listing.

    Args:
        root: the registry's root.
        within: as of `is_within`; all folders where None.
    """
    tops = [row for name in TOPS if (row := _top(root / name)) is not None] + _twins(root)
    yield "", tops
    waiting = [name for name, mode, *_ in tops if mode == stat.S_IFDIR]
    base = os.fspath(root)
    while waiting:
        folder = waiting.pop()
        if within is not None and not is_within(folder, within):
            continue
        listing = _listing(f"{base}/{folder}")
        yield folder, listing
        waiting += [
            f"{folder}/{row[0]}" for row in listing if row[1] == stat.S_IFDIR and is_place(folder, row[0])
        ]


def is_within(folder: str, within: Collection[str]) -> bool:
    """Say whether a folder is one of these, lies in one of these, or leads to one."""
    return (
        not folder
        or folder in within
        or folder.rpartition("/")[0] in within
        or any(path.startswith(folder + "/") for path in within)
    )


def is_place(folder: str, name: str) -> bool:
    """Say whether a folder of this name belongs in a folder of a registry."""
    path = f"{folder}/{name}" if folder else name
    if folder in _FOLDERS and _MONTH.fullmatch(name):
        return True
    return path in TOPS or path in _FOLDERS


def is_entity_name(name: str) -> bool:
    """Say whether a file of this name can hold an entity."""
    return name.endswith(".md") and is_id(name[:-3])


def folded(name: str) -> str:
    """Return the key under which names meet that some file system takes for one."""
    if name.isascii():
        return name.casefold()
    plain = "".join(c for c in name if unicodedata.category(c) != "Cf")  # what HFS+ does not see
    return unicodedata.normalize("NFKC", plain).casefold()


def is_gits(name: str) -> bool:
    """Say whether git reads a file of this name, or some file system takes it for one that git reads."""
    return name != ".gitkeep" and folded(name).startswith(".git")


def fingerprint(listing: Listing) -> bytes:
    """Return a short digest of a listing."""
    # marshal is three times as fast as any text form here, and its output is never read back.
    return hashlib.blake2b(marshal.dumps(listing, 2), digest_size=16).digest()


def shown(path: str) -> str:
    """Return a path that can be printed and stored whatever bytes its names hold."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path)


def read_file(path: str, name: str) -> tuple[bytes, FileEntry]:
    """Read a regular file and its state just before.

    Raises FormatError for what is no regular file or too long, OSError.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        state = FileEntry(*_of_stat(name, os.fstat(handle)))
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


def _twins(root: Path) -> Listing:
    """Return what a file system that ignores case would take for one of the two folders."""
    with contextlib.suppress(OSError):
        return [
            (name, stat.S_IFREG, 0, 0, 0, 0)
            for name in sorted(os.listdir(root))  # noqa: PTH208 - names alone, and half the time
            if name not in TOPS and folded(name) in TOPS
        ]
    return []


def _listing(folder: str) -> Listing:
    out: Listing = []
    try:
        # Relative to an open folder the kernel looks a name up in three quarters of the time.
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return []  # deleted or replaced since its parent was listed
    except OSError as e:
        return _unlisted(e)
    try:
        with os.scandir(handle) as entries:
            for item in entries:
                name = item.name
                if name[0] == "." and not is_gits(name):
                    continue
                if item.is_dir(follow_symlinks=False):
                    out.append((name, stat.S_IFDIR, 0, 0, 0, 0))
                    continue
                try:
                    s = item.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # deleted since the folder was opened
                # Not `_of_stat`: ten thousand calls take as long as the rest of a search.
                out.append((name, s.st_mode, s.st_size, s.st_mtime_ns, s.st_ino, s.st_ctime_ns))
    except OSError as e:
        return _unlisted(e)
    finally:
        os.close(handle)
    return out


def _unlisted(error: OSError) -> Listing:
    """Return the listing of a folder that cannot be listed."""
    return [(f"({error.strerror})", 0, 0, 0, 0, 0)]
