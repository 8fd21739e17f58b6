"""The catalogue: an index of the work tree's files that can be deleted at any moment.

One SQLite database per work tree, in the cache folder. It is never a source: a row stands for the bytes of
one file as they were read, and `refresh` compares all files with their rows before anything is asked. A
database that is missing, damaged, of another version or out of reach is replaced in silence, in the worst
case by one in memory; so every answer is the same with and without it.

    refresh         look at the files; read those that changed
    find, resolve   which entity a person means
    search          words, ranked by bm25
    registry        everything, for use cases that need it all
    cached          what was read from an archive's text, kept by its hash

Nothing on the way of a search loads YAML, git or a model library.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
import stat
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from forgekit.ids import EntityId, is_id
from forgekit.index import names
from forgekit.index import query as query_
from forgekit.index.names import NameMatch
from forgekit.index.query import MARK, NAMED_SCORE, SCOPES, UNMARK, Hit, MessageHit, search_registry
from forgekit.index.schema import MADE_BY, DamageError, create, drop_all, entity_of, made_by
from forgekit.index.update import Refresh, problems, update
from forgekit.model.kinds import Kind

if TYPE_CHECKING:
    from forgekit.model.entity import Entity
    from forgekit.model.problem import Problem
    from forgekit.model.registry import Registry

__all__ = [
    "MARK",
    "NAMED_SCORE",
    "SCOPES",
    "UNMARK",
    "Catalogue",
    "Hit",
    "NameMatch",
    "Refresh",
    "engine",
    "fault",
    "search_registry",
]

T = TypeVar("T")

# What a damaged database raises; SQLite's own messages may hold bytes of it that are no text.
_DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError, DamageError, OSError)
_CACHE_KB = 4_096  # of the database, in memory
_WAIT_S = 15.0  # for another process that rebuilds
_FACTS_KEPT = 20_000
# The database is sound, but not for us: nothing to throw away.
_OUT_OF_REACH = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
}


class Catalogue:
    """The index of one work tree.

    Args:
        root: the registry's root.
        cache: the folder that may hold the database; made when needed.
    """

    def __init__(self, root: Path, cache: Path) -> None:
        self._root = root
        name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:12]
        self.tree = name  # tells the work trees apart that share a cache folder
        self.path = cache / f"catalogue-{name}.sqlite"
        self._db: sqlite3.Connection | None = None
        self._in_memory = False
        self._inode = 0
        self._finalizer: weakref.finalize[[], Catalogue] | None = None

    def close(self) -> None:
        """Close the database; the next question opens it again."""
        if self._finalizer is not None:
            self._finalizer()
        self._db = None

    def refresh(self, within: Collection[str] | None = None) -> Refresh:
        """Bring the catalogue up to what the files hold now.

        Args:
            within: look into these folders alone, those in them and those that lead to them.
        """
        return self._answer(lambda db: update(db, self._root, within), fill=False)

    def registry(self) -> Registry:
        """Return every entity, and a Problem for each file that is none."""
        from forgekit.model.registry import Registry

        return Registry.of(self._entities(None), self.problems())

    def entities(self, kind: Kind) -> list[Entity]:
        """Return the entities of a kind, in the order of their ids, which is that of time."""
        return sorted(self._entities(kind), key=lambda entity: entity.id)

    def entity(self, entity: EntityId, blob: str | None = None) -> Entity | None:
        """Return one entity, or None; with `blob`, only as that blob of its file says it."""
        if not is_id(entity):  # a file's name may hold what SQLite does not take for text
            return None
        query = "SELECT kind, fields, body FROM entity WHERE id = ? AND blob = ifnull(?, blob)"
        found = self._answer(lambda db: [entity_of(*row) for row in db.execute(query, (entity, blob))])
        return found[0] if found else None

    def problems(self) -> tuple[Problem, ...]:
        """Return a Problem for each file that holds no entity, by path."""
        return self._answer(problems)

    def find(self, name: str, kinds: Collection[Kind] | None = None, *, bare: bool = True) -> list[NameMatch]:
        """Return every entity that a name may stand for; exact matches hide mere beginnings and ends.

        Args:
            name: any text.
            kinds: None for all.
            bare: whether a part of an id counts without the prefix of its kind.
        """
        return self._answer(lambda db: names.find(db, name, kinds, bare=bare))

    def resolve(self, name: str, kinds: Collection[Kind] | None = None) -> EntityId:
        """Return the one id that a person means: uuid, short id, prefix, suffix, `TAG:D003`, tag, title.

        Raises NotFoundError or AmbiguousError.
        """
        return self._answer(lambda db: names.resolve(db, name, kinds))

    def search(
        self,
        query: str,
        *,
        kinds: Collection[Kind] | None = None,
        status: str | None = None,
        project: str | None = None,
        limit: int = 20,
    ) -> list[Hit]:
        """Return what a query finds, best first; the options are those of `catalogue.query.search`."""
        return self._answer(
            lambda db: query_.search(db, query, kinds=kinds, status=status, project=project, limit=limit)
        )

    def messages(self, query: str, *, project: str | None = None, limit: int = 20) -> list[MessageHit]:
        """Return the turns of kept texts that say the words of a query, best first."""
        return self._answer(lambda db: query_.messages(db, query, project=project, limit=limit))

    def full_score(self, query: str) -> float:
        """Return the score that the best hit of a search would come near to if it said every word."""
        return self._answer(lambda db: query_.full_score(db, query))

    def matching(
        self,
        *,
        kinds: Collection[Kind] | None = None,
        status: str | None = None,
        project: str | None = None,
    ) -> set[str]:
        """Return the ids that a search with these filters chooses from."""
        return self._answer(lambda db: query_.matching(db, kinds=kinds, status=status, project=project))

    def tied(self, names: Collection[str]) -> list[EntityId]:
        """Return the conversations that continue something, are continued, or have one of the names."""
        return self._answer(lambda db: query_.tied(db, names))

    def of_platform(self, external: str) -> list[EntityId]:
        """Return the conversations that a platform knows by this id, in the order of ids."""
        return self._answer(lambda db: query_.of_platform(db, external))

    def hits(self, entities: Collection[str]) -> dict[EntityId, Hit]:
        """Return hits for entities that no word of a query found."""
        return self._answer(lambda db: query_.hits(db, entities))

    def contents(self) -> list[tuple[EntityId, str]]:
        """Return the id of each entity that is searched and the blob id of its file, the newest first."""
        return self._answer(query_.contents)

    def state(self) -> str | None:
        """Return a name of the files' state, or None; two equal ones stand for the same `contents`."""
        return self._answer(query_.state)

    def cached(self, blob: str, version: str) -> str | None:
        """Return the text remembered for a content hash and a reader's version."""
        query = "SELECT text FROM fact WHERE blob = ? AND version = ?"
        found = self._answer(lambda db: db.execute(query, (blob, version)).fetchone())
        return found[0] if found and isinstance(found[0], str) else None

    def remember(self, blob: str, version: str, text: str) -> None:
        """Keep a text for `cached`; the oldest go when there are too many."""

        def write(db: sqlite3.Connection) -> None:
            row = db.execute("INSERT OR REPLACE INTO fact VALUES (?, ?, ?)", (blob, version, text)).lastrowid
            db.execute("DELETE FROM fact WHERE rowid <= ?", ((row or 0) - _FACTS_KEPT,))

        self._answer(write)

    def _entities(self, kind: Kind | None) -> list[Entity]:
        # One query for both would be answered without the index of kinds.
        condition, values = (" WHERE kind = ?", (kind.value,)) if kind else ("", ())
        query = f"SELECT kind, fields, body FROM entity{condition}"  # noqa: S608 - constants only
        return self._answer(lambda db: [entity_of(*row) for row in db.execute(query, values)])

    def _answer(self, ask: Callable[[sqlite3.Connection], T], *, fill: bool = True) -> T:
        """Ask; on damage ask a new database, and then one in memory."""
        try:
            return ask(self._opened())
        except _DAMAGED as e:
            first: Exception = e
        try:
            self._discard(first)
            return self._ask_new(ask, fill=fill)
        except _DAMAGED:
            self.close()
            self._in_memory = True
            return self._ask_new(ask, fill=fill)

    def _ask_new(self, ask: Callable[[sqlite3.Connection], T], *, fill: bool) -> T:
        db = self._opened()
        if fill:
            update(db, self._root)
        return ask(db)

    def _opened(self) -> sqlite3.Connection:
        """Return the open database; raise when it is not one of this version."""
        if self._db is None:
            if not self._in_memory:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            where = ":memory:" if self._in_memory else str(self.path)
            self._db = db = sqlite3.connect(
                where, timeout=_WAIT_S, isolation_level=None, check_same_thread=False
            )
            self._finalizer = weakref.finalize(self, db.close)
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
            if db.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
                # WAL: a writer never blocks readers, a kill leaves the last commit, no commit waits for the
                # disk. SQLite does not wait for its turn to switch, so this lock does.
                with self._locked():
                    db.execute("PRAGMA journal_mode = WAL")
            self._inode = 0 if self._in_memory else self.path.stat().st_ino
        if made_by(self._db) != MADE_BY:
            _make(self._db)
        return self._db

    def _discard(self, error: Exception) -> None:
        """Throw the database away, unless another process did so already or it is only out of reach."""
        self.close()
        code = getattr(error, "sqlite_errorcode", 0)
        moved = code == sqlite3.SQLITE_READONLY_DBMOVED
        if self._in_memory or (code & 0xFF in _OUT_OF_REACH and not moved):
            raise error
        with self._locked():
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

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.path.parent / "catalogue.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _make(db: sqlite3.Connection) -> None:
    """Make the tables, unless another process was faster."""
    db.execute("BEGIN IMMEDIATE")
    with db:
        if made_by(db) != MADE_BY:
            drop_all(db)
            create(db)


def engine() -> tuple[str, bool]:
    """Return SQLite's version, and whether it has the full-text index that a search needs."""
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE probe USING fts5(word)")
    except sqlite3.OperationalError:
        return sqlite3.sqlite_version, False
    finally:
        db.close()
    return sqlite3.sqlite_version, True


def fault(path: Path) -> str:
    """Return what is wrong with a database of the cache, or ""; one that another version made is sound."""
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT_S)
    except sqlite3.Error as e:
        return str(e)
    try:
        found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as e:
        return str(e)
    except UnicodeDecodeError:
        return "it holds bytes that are no text"
    finally:
        db.close()
    return "" if found == "ok" else found
