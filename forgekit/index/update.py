"""Make the catalogue's rows those of the files.

A folder whose fingerprint is the recorded one holds nothing new. In any other, a file is read when its size,
inode or times differ from its row, or when it was written so shortly before it was last read that a further
write could go unseen. A file whose bytes are those of its row is not parsed again.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from forgekit.errors import FormatError
from forgekit.index.database import DamageError
from forgekit.index.rows import drop, put
from forgekit.index.scan import (
    RACY_NS,
    FileEntry,
    Listing,
    blob_id,
    fingerprint,
    folded,
    is_entity_name,
    is_gits,
    is_place,
    is_within,
    read_file,
    scan,
    shown,
)
from forgekit.model.kinds import Kind, kind_of_path, path_of

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
        db: a catalogue.
        root: the registry's root.
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
    """Return a Problem for each file that holds no entity, by path.

    Raises DamageError.
    """
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
        from forgekit.text.codec import loads, to_fields
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
        put(self._db, row, blob, entity, to_fields(entity))
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
    elif is_gits(entry.name):
        code, message = "stray-file", "has a name that git gives a meaning to, which harms a registry"
        fix = "delete it"
    else:
        what = "a file" if stat.S_ISREG(entry.mode) else "a pipe, a socket or a device"
        what = "a folder" if entry.mode == stat.S_IFDIR else what
        code, message = "stray-file", f"is {what} that the registry has no place for"
    return {"code": code, "path": path, "message": message, "fix": fix}
