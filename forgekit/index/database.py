"""A SQLite database in the cache folder, which may be deleted or damaged at any moment.

A database that is damaged, or was made by another version, is deleted and made anew. One that is out of
reach (locked, read-only, no space) is replaced by one in memory, which begins as a copy of what can only be
read. So every answer is the same with and
without the file.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import stat
import weakref
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar

from forgekit.errors import StoreError

T = TypeVar("T")

_CACHE_KB = 4_096  # of the database, in memory
_WAIT_S = 15.0  # for another process that rebuilds
_SPARE_ROWS = 10_000  # unused ones that are not worth deleting
# The database is sound but cannot be used by this process: nothing to delete.
_OUT_OF_REACH = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made when needed."""
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class DamageError(Exception):
    """The database does not hold what this version wrote."""


# SQLite's own messages about a damaged database may contain bytes that are not text.
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError, DamageError, OSError)


class CacheDatabase:
    """One database of the cache.

    Args:
        path: its file; the folder is made when needed.
        made_by: names the layout; a database with another name is made anew.
        tables: returns the SQL statements that make an empty one, each ended by `;` and a line break.
    """

    def __init__(self, path: Path, made_by: str, tables: Callable[[], str]) -> None:
        self.path = path
        self.in_memory = False
        self._made_by = made_by
        self._tables = tables
        self._db: sqlite3.Connection | None = None
        self._inode = 0
        self._finalizer: weakref.finalize[[], CacheDatabase] | None = None

    def close(self) -> None:
        """Close the database; the next question opens it again."""
        if self._finalizer is not None:
            self._finalizer()
        self._db = None

    def ask(
        self,
        question: Callable[[sqlite3.Connection], T],
        fill: Callable[[sqlite3.Connection], object] | None = None,
    ) -> T:
        """Return the answer of the database; on damage that of a new one, and then of one in memory.

        Args:
            fill: fills a new one before it is asked.
        """
        try:
            return question(self._opened())
        except _DAMAGE as e:
            first: Exception = e

        def ask_new() -> T:
            db = self._opened()
            if fill is not None:
                fill(db)
            return question(db)

        try:
            self._discard(first)
            return ask_new()
        except _DAMAGE:
            self.close()
            self.in_memory = True
            return ask_new()

    def _opened(self) -> sqlite3.Connection:
        if self._db is not None:
            return self._db
        if not self.in_memory:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        where = ":memory:" if self.in_memory else str(self.path)
        self._db = db = sqlite3.connect(where, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        self._finalizer = weakref.finalize(self, db.close)
        if self.in_memory:
            self._copy_into(db)
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        if db.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
            # WAL: a writer never blocks readers, a kill leaves the last commit, and no commit waits for the
            # disk. SQLite does not wait for its turn to switch, so this lock does.
            with locked(self.path.with_suffix(".lock")):
                db.execute("PRAGMA journal_mode = WAL")
        self._inode = 0 if self.in_memory else self.path.stat().st_ino
        if _is_empty(db):
            db.execute("BEGIN IMMEDIATE")
            with db:
                if _is_empty(db):  # no other process was faster
                    create(db, self._made_by, self._tables())
        found = db.execute("SELECT value FROM meta WHERE key = 'made_by'").fetchall()
        if found != [(self._made_by,)]:
            raise DamageError("made by another version")
        return db

    def _copy_into(self, db: sqlite3.Connection) -> None:
        """Copy the database of a folder that nobody can write to; one that is in use is left alone."""
        log = Path(f"{self.path}-wal")
        if os.access(self.path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
            return
        place = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
        with suppress(*_DAMAGE), closing(sqlite3.connect(place, uri=True)) as kept:
            made_by = kept.execute("SELECT value FROM meta WHERE key = 'made_by'").fetchall()
            if made_by == [(self._made_by,)] and kept.execute("PRAGMA quick_check").fetchall() == [("ok",)]:
                kept.backup(db)

    def _discard(self, error: Exception) -> None:
        """Delete the database, unless another process did so already or it is only out of reach."""
        self.close()
        code = getattr(error, "sqlite_errorcode", 0)
        moved = code == sqlite3.SQLITE_READONLY_DBMOVED
        if self.in_memory or (code & 0xFF in _OUT_OF_REACH and not moved):
            raise error
        with locked(self.path.with_suffix(".lock")):
            try:
                found = os.lstat(self.path)
            except FileNotFoundError:
                return
            if self._inode not in (0, found.st_ino):
                return
            if stat.S_ISDIR(found.st_mode):
                import shutil

                shutil.rmtree(self.path)
            for suffix in ("", "-wal", "-shm", "-journal"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)


_ROWS = "CREATE TABLE kept (space TEXT, key TEXT, data BLOB NOT NULL, UNIQUE (space, key));\n"


class CheckedRows:
    """Bytes by key, in a database that may be deleted at any time.

    A row has a checksum, and counts as absent where that does not fit.

    Args:
        path: the database, which all work trees share.
        space: rows of other spaces are not seen.
        most: rows, beyond which a write deletes all that was kept before; None for no limit.
    """

    def __init__(self, path: Path, space: str = "", most: int | None = None) -> None:
        self._database = CacheDatabase(path, "checked rows 1", lambda: _ROWS)
        self._space = space
        self._most = most

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return what is kept under these keys."""
        query = "SELECT key, data FROM kept WHERE space = ? AND key IN (SELECT value FROM json_each(?))"
        wanted = json.dumps(list(keys))
        rows = self._database.ask(lambda db: db.execute(query, (self._space, wanted)).fetchall())
        sound = ((key, data) for key, data in rows if isinstance(data, bytes))
        return {key: data[4:] for key, data in sound if data[:4] == self._checksum(key, data[4:])}

    def put(self, values: Mapping[str, bytes]) -> None:
        """Keep bytes, in one transaction."""
        most = self._most
        rows = [(self._space, key, self._checksum(key, data) + data) for key, data in values.items()]

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            with db:
                if most is not None and (db.execute("SELECT max(rowid) FROM kept").fetchone()[0] or 0) > most:
                    db.execute("DELETE FROM kept")
                db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", rows)

        self._database.ask(write)

    def trim(self, used: Collection[str]) -> None:
        """Delete what this space does not use, once that is most of the database."""

        def delete(db: sqlite3.Connection) -> None:
            (count,) = db.execute("SELECT count(*) FROM kept").fetchone()
            if count > 4 * len(used) + _SPARE_ROWS:
                query = "DELETE FROM kept WHERE space != ? OR key NOT IN (SELECT value FROM json_each(?))"
                db.execute(query, (self._space, json.dumps(list(used))))

        self._database.ask(delete)

    def _checksum(self, key: str, data: bytes) -> bytes:
        return zlib.crc32(data, zlib.crc32(f"{self._space} {key}".encode())).to_bytes(4, "little")


def create(db: sqlite3.Connection, made_by: str, tables: str) -> None:
    """Make the tables of an empty database, in the caller's transaction.

    Raises StoreError where SQLite was built without full-text search.
    """
    for statement in tables.strip().split(";\n"):
        try:
            db.execute(statement)
        except sqlite3.OperationalError as e:
            if "no such module" not in str(e):
                raise
            raise StoreError("this Python's SQLite lacks FTS5; use a Python that has it") from e
    db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    db.execute("INSERT INTO meta VALUES ('made_by', ?), ('instance', hex(randomblob(16)))", (made_by,))


def _is_empty(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def engine() -> tuple[str, bool]:
    """Return SQLite's version, and whether it has the full-text index that a search needs."""
    with closing(sqlite3.connect(":memory:")) as db:
        modules = {name for (name,) in db.execute("PRAGMA module_list")}
    return sqlite3.sqlite_version, "fts5" in modules


def fault(path: Path) -> str:
    """Return what is wrong with a database file, or ""; one that another version made is sound."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=_WAIT_S)) as db:
            found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as e:
        return str(e)
    except UnicodeDecodeError:
        return "it holds bytes that are not text"
    return "" if found == "ok" else found
