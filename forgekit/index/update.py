"""Make the catalogue's rows those of the files.

A folder whose fingerprint is the recorded one holds nothing new. In any other, a file is read when its size,
inode or times differ from its row, or when it was written so shortly before it was last read that a further
write could go unseen. A file whose bytes are those of its row is not parsed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import marshal
import os
import re
import sqlite3
import stat
import time
import unicodedata
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from forgekit.errors import FormatError
from forgekit.ids import is_id
from forgekit.index.database import DamageError
from forgekit.index.rows import drop, put
from forgekit.model.kinds import ENTITY_LIMIT, Kind, kind_of_path, path_of
from forgekit.worktree.roots import TOPS

if TYPE_CHECKING:
    from forgekit.model.problem import Problem

_REBUILD_CACHE_KB = 65_536  # a rebuild that fits in memory is written once
_NO_BLOB = ""  # of a file that could not be read: every refresh reads it again
_TWICE = "duplicate-id"
_STATE = """
    INSERT INTO file (folder, name, size, mtime, inode, ctime, checked, blob)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (folder, name) DO UPDATE SET size = excluded.size,
    mtime = excluded.mtime, inode = excluded.inode, ctime = excluded.ctime, checked = excluded.checked,
    blob = excluded.blob RETURNING row
"""


class Refresh(NamedTuple):
    """What a refresh found: files added, updated and removed, and how many hold no entity now."""

    added: int
    updated: int
    removed: int
    unreadable: int


class _File(NamedTuple):
    """A row of the table `file`; from `size` on as in `FileEntry`."""

    row: int
    checked: int
    blob: str
    size: int
    mtime: int
    inode: int
    ctime: int


def update(db: sqlite3.Connection, root: Path, within: Collection[str] | None = None) -> Refresh:
    """Compare the files with their rows, and read what changed, in one transaction.

    Args:
        within: folders to compare, as of `is_within`; all where None.

    Raises DamageError for a catalogue that lost rows.
    """
    version = _version(db)
    stale = _stale(root, db, within)
    if stale:
        db.execute("BEGIN IMMEDIATE")
        with db:
            if _version(db) != version:  # another process wrote since, and may have read newer files
                stale = _stale(root, db, within)
            done = _Pass(db, root).over(stale)
    else:
        done = Refresh(0, 0, 0, _unreadable(db))
    # Each file without a problem has an entity of some kind.
    kinds = dict(db.execute("SELECT kind, count(*) FROM entity GROUP BY kind").fetchall())
    (files,) = db.execute("SELECT count(*) FROM file").fetchone()
    if sum(kinds.get(kind.value, 0) for kind in Kind) != files - _unreadable(db):
        raise DamageError("files and entities do not agree")
    return done


def problems(db: sqlite3.Connection) -> tuple[Problem, ...]:
    """Return a Problem for each file that holds no entity, by path; raises DamageError."""
    from forgekit.model.problem import Problem

    texts = db.execute(
        "SELECT '[' || problem || ']' FROM file WHERE problem IS NOT NULL"
        " UNION ALL SELECT problems FROM folder WHERE problems != '[]'"
    ).fetchall()
    try:
        found = [Problem(**item) for (text,) in texts for item in json.loads(text)]
        return tuple(sorted(found, key=lambda p: (p.path, p.line or 0, p.message)))
    except (ValueError, TypeError) as e:
        raise DamageError(str(e)) from e


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA data_version").fetchone()[0])


def _unreadable(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM file WHERE problem IS NOT NULL").fetchone()[0])


def _stale(root: Path, db: sqlite3.Connection, within: Collection[str] | None) -> dict[str, Listing | None]:
    """Return the folders to look into; those that are gone have no listing."""
    known = dict(db.execute("SELECT path, fingerprint FROM folder").fetchall())
    found = scan(root, within)
    stale = {path: rows for path, rows in found if known.pop(path, None) != fingerprint(rows)}
    gone = [path for path in known if within is None or is_within(path, within)]  # what is left of them
    return {**stale, **dict.fromkeys(gone)}


class _Pass:
    """One pass over folders that changed, inside a transaction."""

    def __init__(self, db: sqlite3.Connection, root: Path) -> None:
        self._db = db
        self._root = os.fspath(root)
        self._now = time.time_ns()
        self._whole = db.execute("SELECT 1 FROM file LIMIT 1").fetchone() is None
        if self._whole:
            db.execute(f"PRAGMA cache_size = -{_REBUILD_CACHE_KB}")
        self._counts = {"added": 0, "updated": 0, "removed": 0}

    def over(self, stale: dict[str, Listing | None]) -> Refresh:
        """Compare each folder and record its fingerprint.

        Raises DamageError where two files have one id: which of them counts depends on the folders before.
        """
        twice = "SELECT 1 FROM file WHERE problem LIKE ?"
        if not self._whole and self._db.execute(twice, (f'%"code": "{_TWICE}"%',)).fetchone():
            raise DamageError("two files had one id")
        for folder, listing in sorted(stale.items()):
            strays, racy = list[FileEntry](), False
            query = "SELECT name, row, checked, blob, size, mtime, inode, ctime FROM file WHERE folder = ?"
            known = {name: _File._make(seen) for name, *seen in self._db.execute(query, (folder,))}
            kind = kind_of_path(folder + "/")
            for entry in map(FileEntry._make, listing or ()):
                if stat.S_ISREG(entry.mode) and is_entity_name(entry.name) and kind:
                    racy |= self._file(kind, folder, entry, known.pop(entry.name, None))
                elif not (entry.mode == stat.S_IFDIR and is_place(folder, entry.name)):
                    strays.append(entry)
            for file in known.values():
                self._remove(file.row)
            if listing is None:
                self._db.execute("DELETE FROM folder WHERE path = ?", (folder,))
            else:
                found = json.dumps(_strays(folder, strays, listing))
                self._db.execute(
                    "INSERT OR REPLACE INTO folder VALUES (?, ?, ?)",
                    (folder, None if racy else fingerprint(listing), found),
                )
        return Refresh(**self._counts, unreadable=_unreadable(self._db))

    def _file(self, kind: Kind, folder: str, entry: FileEntry, known: _File | None) -> bool:
        """Compare one file; return whether the next refresh must read it again."""
        if known and known.blob and _settled(entry, known.checked) and entry[2:] == known[3:]:
            return False
        problem: dict[str, Any] | None = None
        data = b""
        try:
            data, entry = read_file(f"{self._root}/{folder}/{entry.name}", entry.name)
            blob = blob_id(data)
        except FileNotFoundError:
            if known:
                self._remove(known.row)
            return True
        except (OSError, FormatError) as e:
            blob = _NO_BLOB
            why = e.message if isinstance(e, FormatError) else f"cannot be read: {e.strerror}"
            problem = {"message": why}
        same = known is not None and blob != _NO_BLOB and known.blob == blob
        if known and not same:
            drop(self._db, known.row)
        # The state of the file when it was read.
        state = (folder, entry.name, *entry[2:], self._now, blob)
        ((row,),) = self._db.execute(_STATE, state).fetchall()
        if not same:
            if known is None or known.blob != blob:
                self._counts["updated" if known else "added"] += 1
            if problem is None:
                problem = self._parse(row, kind, f"{folder}/{entry.name}", blob, data)
            if known or problem:
                text = problem and json.dumps({"code": "format", "path": f"{folder}/{entry.name}", **problem})
                self._db.execute("UPDATE file SET problem = ? WHERE row = ?", (text, row))
        return blob == _NO_BLOB or not _settled(entry, self._now)

    def _parse(self, row: int, kind: Kind, path: str, blob: str, data: bytes) -> dict[str, Any] | None:
        """Write the rows of a file's entity, or return why it holds none."""
        # YAML is loaded for files that changed, and for nothing else.
        from forgekit.text.codec import loads
        from forgekit.text.frontmatter import decode

        try:
            entity = loads(kind, decode(data))
        except FormatError as e:
            return {"message": e.message, "line": e.line, "field": e.field}
        home = path_of(kind, entity.id)
        if home != path:
            return {
                "code": "misplaced",
                "message": f"holds {entity.id}, whose place is {home}",
                "field": kind.id_field,
                "fix": "move the file there, or correct the id",
            }
        taken = self._db.execute("SELECT kind FROM entity WHERE id = ?", (entity.id,)).fetchone()
        if taken is not None:  # in a pass over all folders the first file counts
            if not self._whole:
                raise DamageError("two files have one id")
            return {
                "code": _TWICE,
                "message": f"holds an id that {path_of(Kind(taken[0]), entity.id)} has too",
                "field": kind.id_field,
                "fix": "delete the one that is wrong",
            }
        put(self._db, row, blob, entity)
        return None

    def _remove(self, row: int) -> None:
        drop(self._db, row)
        self._db.execute("DELETE FROM file WHERE row = ?", (row,))
        self._counts["removed"] += 1


def _settled(entry: FileEntry, checked: int) -> bool:
    return max(entry.mtime, entry.ctime) < checked - RACY_NS


def _strays(folder: str, strays: Collection[FileEntry], listing: Listing) -> list[dict[str, str]]:
    """Return a Problem's parts for each name that belongs in no registry."""
    if not strays:
        return []
    stray = {entry.name for entry in strays}
    sound = {
        folded(name): name
        for name, mode, *_ in listing
        if name not in stray and (is_entity_name(name) if stat.S_ISREG(mode) else is_place(folder, name))
    }
    return [_stray(folder, entry, sound.get(folded(entry.name))) for entry in strays]


def _stray(folder: str, entry: FileEntry, twin: str | None) -> dict[str, str]:
    path = shown(f"{folder}/{entry.name}" if folder else entry.name)
    fix = "move it elsewhere"
    if entry.mode == 0:
        return {"code": "format", "path": shown(folder), "message": f"cannot be listed {shown(entry.name)}"}
    if stat.S_ISLNK(entry.mode):
        code, message = "symlink", "is a symbolic link, and links are not followed"
        fix = "put the file itself here"
    elif twin is not None or (not folder and entry.name != folded(entry.name)):
        other = twin or folded(entry.name)
        code, message = "twin", f"differs from {other} in case or Unicode form only"
        fix = "move it elsewhere or delete it"
    elif is_git_name(entry.name):
        code, message = "stray-file", "has a name that git gives a meaning to, which harms a registry"
        fix = "delete it"
    else:
        what = "a file" if stat.S_ISREG(entry.mode) else "a pipe, a socket or a device"
        what = "a folder" if entry.mode == stat.S_IFDIR else what
        code, message = "stray-file", f"is {what} that the registry has no place for"
    return {"code": code, "path": path, "message": message, "fix": fix}


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


def is_git_name(name: str) -> bool:
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
        s = os.fstat(handle)
        state = FileEntry(name, s.st_mode, s.st_size, s.st_mtime_ns, s.st_ino, s.st_ctime_ns)
        if not stat.S_ISREG(state.mode):
            raise FormatError("is not a regular file")
        if state.size > ENTITY_LIMIT:
            raise FormatError(f"is {state.size:,} bytes long; at most {ENTITY_LIMIT:,} are read")
        data = os.read(handle, state.size + 1)
        while len(data) <= ENTITY_LIMIT and (more := os.read(handle, ENTITY_LIMIT + 1 - len(data))):
            data += more
    finally:
        os.close(handle)
    return data, state


def blob_id(data: bytes) -> str:
    """Return the name under which git files these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


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
                if name[0] == "." and not is_git_name(name):
                    continue
                if item.is_dir(follow_symlinks=False):
                    out.append((name, stat.S_IFDIR, 0, 0, 0, 0))
                    continue
                try:
                    s = item.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # deleted since the folder was opened
                # Not in a function: ten thousand calls take as long as the rest of a search.
                out.append((name, s.st_mode, s.st_size, s.st_mtime_ns, s.st_ino, s.st_ctime_ns))
    except OSError as e:
        return _unlisted(e)
    finally:
        os.close(handle)
    return out


def _unlisted(error: OSError) -> Listing:
    """Return the listing of a folder that cannot be listed."""
    return [(f"({error.strerror})", 0, 0, 0, 0, 0)]
