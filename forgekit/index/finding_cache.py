"""Judgements of pairs of texts, kept so that no pair is judged twice.

One SQLite database for all work trees. The key of a row is the hash of everything that a judgement follows
from; a row whose checksum does not fit is as good as absent. A damaged database is deleted and made anew, one
that is out of reach is replaced by one in memory.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Self, TypeVar

T = TypeVar("T")

_DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError)
_LAYOUT = 0x666B_4601  # "fkF", layout 1
_WAIT_S = 5.0
_SPARE_ROWS = 50_000
# The database is sound and cannot be used now; deleting it would help nobody.
_OUT_OF_REACH = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
}


class FindingCache:
    """Texts by key, in a database that may be deleted at any time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def get(self, keys: Collection[str]) -> dict[str, str]:
        """Return what is kept under these keys."""
        query = "SELECT key, data FROM judgement WHERE key IN (SELECT value FROM json_each(?))"
        rows = self._do(lambda db: db.execute(query, (json.dumps(list(keys)),)).fetchall())
        found = ((key, _text(key, data)) for key, data in rows)
        return {key: text for key, text in found if text is not None}

    def put(self, texts: Mapping[str, str]) -> None:
        """Keep texts, in one transaction."""
        rows = [(key, _checksum(key, text.encode()) + text.encode()) for key, text in texts.items()]
        self._write("INSERT OR REPLACE INTO judgement VALUES (?, ?)", rows)

    def trim(self, used: Collection[str]) -> None:
        """Delete what is not used any more, once that is most of the database."""
        count = self._do(lambda db: int(db.execute("SELECT count(*) FROM judgement").fetchone()[0]))
        if count > 2 * len(used) + _SPARE_ROWS:
            query = "DELETE FROM judgement WHERE key NOT IN (SELECT value FROM json_each(?))"
            self._write(query, [(json.dumps(list(used)),)])

    def _write(self, query: str, rows: Iterable[tuple[object, ...]]) -> None:
        def write(db: sqlite3.Connection) -> None:
            with db:
                db.execute("BEGIN IMMEDIATE")
                db.executemany(query, rows)

        self._do(write)

    def _do(self, ask: Callable[[sqlite3.Connection], T]) -> T:
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
            layout = db.execute("PRAGMA user_version").fetchone()[0]
            if layout != _LAYOUT:
                if layout or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise sqlite3.DatabaseError("another layout")
                db.execute("CREATE TABLE IF NOT EXISTS judgement (key TEXT PRIMARY KEY, data BLOB NOT NULL)")
                db.execute(f"PRAGMA user_version = {_LAYOUT}")
        return self._db


def _checksum(key: str, data: bytes) -> bytes:
    return zlib.crc32(data, zlib.crc32(key.encode())).to_bytes(4, "little")


def _text(key: str, data: object) -> str | None:
    if isinstance(data, bytes) and data[:4] == _checksum(key, data[4:]):
        return data[4:].decode("utf-8", "replace")
    return None
