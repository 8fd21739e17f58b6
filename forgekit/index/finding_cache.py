"""Judgements of pairs of texts and vectors of texts, kept so that nothing is computed twice.

One SQLite database for all work trees. The key of a row is the hash of everything that a judgement follows
from; a row whose checksum does not fit is as good as absent. A damaged database is deleted and made anew, one
that is out of reach is replaced by one in memory.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from forgekit.index.database import CacheDatabase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TABLE = "CREATE TABLE judgement (key TEXT PRIMARY KEY, data BLOB NOT NULL);\n"
_MOST_ROWS = 2_000_000
_GROUP = 64  # texts encoded between two commits


class FindingCache:
    """Texts by key, in a database that may be deleted at any time."""

    def __init__(self, path: Path) -> None:
        self._database = CacheDatabase(path, "judgements 1", lambda: _TABLE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def get(self, keys: Collection[str]) -> dict[str, str]:
        """Return what is kept under these keys."""
        query = "SELECT key, data FROM judgement WHERE key IN (SELECT value FROM json_each(?))"
        rows = self._database.ask(lambda db: db.execute(query, (json.dumps(list(keys)),)).fetchall())
        found = ((key, _text(key, data)) for key, data in rows)
        return {key: text for key, text in found if text is not None}

    def put(self, texts: Mapping[str, str]) -> None:
        """Keep texts, in one transaction; once there are very many, what was kept before goes."""
        rows = [(key, _checksum(key, text.encode()) + text.encode()) for key, text in texts.items()]

        def write(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            with db:
                if (db.execute("SELECT max(rowid) FROM judgement").fetchone()[0] or 0) > _MOST_ROWS:
                    db.execute("DELETE FROM judgement")
                db.executemany("INSERT OR REPLACE INTO judgement VALUES (?, ?)", rows)

        self._database.ask(write)


def text_cosines(
    cache: FindingCache,
    version: str,
    encode: Callable[[str], NDArray[np.float32]],
    pairs: Sequence[tuple[str, str]],
    late: Callable[[], bool],
) -> list[float | None]:
    """Return the cosines of pairs of texts, each a function of its two texts and the version alone.

    Args:
        cache: keeps the vectors.
        version: names what encodes.
        encode: returns the unit vector of a text.
        pairs: of texts.
        late: says that no more texts may be encoded; a pair that needs one has None.
    """
    import numpy as np

    keys = {
        text: _vector_key(version, text) for text in dict.fromkeys(text for pair in pairs for text in pair)
    }
    known = cache.get(keys.values())
    made: dict[str, str] = {}
    for text, key in keys.items():
        if key not in known and not late():
            made[key] = known[key] = base64.b64encode(encode(text).astype("<f2").tobytes()).decode()
        if len(made) >= _GROUP:
            cache.put(made)
            made = {}
    cache.put(made)
    vectors: dict[str, NDArray[Any]] = {
        text: np.frombuffer(base64.b64decode(known[key]), "<f2").astype(np.float64)
        for text, key in keys.items()
        if key in known
    }
    return [
        round(float(vectors[a] @ vectors[b]), 3) if a in vectors and b in vectors else None for a, b in pairs
    ]


def _vector_key(version: str, text: str) -> str:
    return hashlib.sha256(f"{version} vector {text}".encode()).hexdigest()


def _checksum(key: str, data: bytes) -> bytes:
    return zlib.crc32(data, zlib.crc32(key.encode())).to_bytes(4, "little")


def _text(key: str, data: object) -> str | None:
    if isinstance(data, bytes) and data[:4] == _checksum(key, data[4:]):
        return data[4:].decode("utf-8", "replace")
    return None
