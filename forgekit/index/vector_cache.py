"""Vectors of texts, kept so that no text is encoded twice.

One SQLite database for all work trees. A row stands under the space (encoder and chunk rule) and the hash of
its text; it carries a checksum, and one that does not fit is as good as absent. A database that is damaged is
thrown away, one that is out of reach is replaced by one in memory: the vectors are then made again.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Self, TypeVar

T = TypeVar("T")

ITEM_BYTES = 2
"""Bytes per number: half precision, which leaves the best ten as they are."""

# What a damaged database raises; SQLite's own messages may hold bytes of it that are no text.
_DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError)
_MADE_BY = 0x666B_0001  # "fk", layout 1
_WAIT_S = 15.0
_TABLE = (
    "CREATE TABLE IF NOT EXISTS vector (space TEXT NOT NULL, hash TEXT NOT NULL, data BLOB NOT NULL,"
    " UNIQUE (space, hash))"
)
_SPARE_ROWS = 10_000
# The database is sound, but not for us: nothing to throw away.
_OUT_OF_REACH = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}


class VectorCache:
    """The rows of one space.

    Args:
        path: the database; its folder is made when needed.
        space: names the encoder and the chunk rule.
        dimension: numbers per vector.
    """

    def __init__(self, path: Path, space: str, dimension: int) -> None:
        self._path = path
        self._space = space
        self._size = dimension * ITEM_BYTES
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def get(self, hashes: Collection[str]) -> dict[str, bytes]:
        """Return the vectors that are known, as half-precision numbers, by the hash of their text."""
        query = "SELECT hash, data FROM vector WHERE space = ? AND hash IN (SELECT value FROM json_each(?))"
        wanted = json.dumps(list(hashes))
        rows = self._do(lambda db: db.execute(query, (self._space, wanted)).fetchall())
        return {key: data[4:] for key, data in rows if isinstance(data, bytes) and self._sound(key, data)}

    def put(self, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors, in one transaction."""
        rows = [(self._space, key, self._checksum(key, data) + data) for key, data in vectors.items()]
        query = "INSERT OR REPLACE INTO vector VALUES (?, ?, ?)"

        def write(db: sqlite3.Connection) -> None:
            with db:
                db.execute("BEGIN IMMEDIATE")
                db.executemany(query, rows)

        self._do(write)

    def trim(self, used: Collection[str]) -> None:
        """Delete what this space does not use, once that is most of the database."""

        def delete(db: sqlite3.Connection) -> None:
            (count,) = db.execute("SELECT count(*) FROM vector").fetchone()
            if count > 2 * len(used) + _SPARE_ROWS:
                query = "DELETE FROM vector WHERE space != ? OR hash NOT IN (SELECT value FROM json_each(?))"
                with db:
                    db.execute("BEGIN IMMEDIATE")
                    db.execute(query, (self._space, json.dumps(list(used))))

        self._do(delete)

    def _sound(self, key: str, data: bytes) -> bool:
        return len(data) == 4 + self._size and data[:4] == self._checksum(key, data[4:])

    def _checksum(self, key: str, data: bytes) -> bytes:
        return zlib.crc32(data, zlib.crc32(f"{self._space} {key}".encode())).to_bytes(4, "little")

    def _do(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """Ask the database; on damage a new one, and where there can be none, one in memory."""
        try:
            return ask(self._opened(self._path))
        except (*_DAMAGED, OSError) as e:
            code = getattr(e, "sqlite_errorcode", 0) & 0xFF
            damaged = isinstance(e, _DAMAGED) and code not in _OUT_OF_REACH
            self.__exit__()
        if damaged:
            with contextlib.suppress(*_DAMAGED, OSError):
                for suffix in ("", "-wal", "-shm", "-journal"):
                    Path(f"{self._path}{suffix}").unlink(missing_ok=True)
                return ask(self._opened(self._path))
            self.__exit__()
        return ask(self._opened(None))

    def _opened(self, path: Path | None) -> sqlite3.Connection:
        if self._db is None:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = db = sqlite3.connect(path or ":memory:", timeout=_WAIT_S, isolation_level=None)
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA synchronous = NORMAL")
            made_by = db.execute("PRAGMA user_version").fetchone()[0]
            if made_by != _MADE_BY:
                if made_by or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise sqlite3.DatabaseError("another layout")
                db.execute(_TABLE)
                db.execute(f"PRAGMA user_version = {_MADE_BY}")
        return self._db
