"""The catalogue: an index of the work tree's files that can be deleted at any moment.

One SQLite database per work tree, in the cache folder. It is never a source: a row holds what was read from
one file, and `refresh` compares all files with their rows before anything is asked.

    refresh         compare the files with their rows; read those that changed
    find, resolve   which entity a person means
    search          full-text search, ranked by bm25
    registry        every entity, for use cases that need them all
    cached          what was computed from a text, by the text's hash

A search loads neither YAML nor git nor a model library.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from forgekit.ids import EntityId, is_id
from forgekit.index import query as queries
from forgekit.index.database import CacheDatabase
from forgekit.index.rows import ENTITY, MADE_BY, entity_of, tables
from forgekit.index.update import Refresh, problems, update
from forgekit.model.kinds import Kind

if TYPE_CHECKING:
    from forgekit.model.entities import Entity
    from forgekit.model.registry import Registry
    from forgekit.model.settings import OwnLabels

T = TypeVar("T")

P = ParamSpec("P")

_FACTS_KEPT = 20_000


def _asked(
    question: Callable[Concatenate[sqlite3.Connection, P], T],
) -> Callable[Concatenate[Catalogue, P], T]:
    """Return a question to the database as a method of the catalogue."""

    @wraps(question)
    def method(self: Catalogue, /, *args: P.args, **options: P.kwargs) -> T:
        return self.ask(lambda db: question(db, *args, **options))

    return method


class Catalogue:
    """The index of one work tree.

    Args:
        cache: the folder that may hold the database; made when needed.
        labels: returns the registry's own labels, with which its archives are read.
    """

    def __init__(self, root: Path, cache: Path, labels: Callable[[], OwnLabels] = tuple) -> None:
        self._root = root
        self.labels = labels
        # Distinguishes the work trees that share a cache folder.
        self.tree = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:12]
        self.path = cache / f"catalogue-{self.tree}.sqlite"
        self.database = CacheDatabase(self.path, MADE_BY, tables)
        self._seen: Refresh | None = None
        self._holds = False

    def close(self) -> None:
        """Close the database; the next question opens it again."""
        self.database.close()

    def refresh(self, within: Collection[str] | None = None) -> Refresh:
        """Make the rows those of the files as they are now.

        Args:
            within: only these folders, those in them and those that lead to them; None for all.
        """
        if self._seen is not None:
            return self._seen
        done = self.database.ask(partial(update, root=self._root, within=within))
        if self._holds and within is None:
            self._seen = done
        return done

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within, look at all files once, however often that is asked for."""
        outer, self._holds = self._holds, True
        try:
            yield
        finally:
            self._holds = outer
            self._seen = self._seen if outer else None

    def registry(self) -> Registry:
        """Return every entity, and a Problem for each file that holds none."""
        from forgekit.model.registry import Registry

        return Registry.of(self._entities(ENTITY), self.problems())

    def entities(
        self, kind: Kind, status: str | None = None, project: EntityId | None = None
    ) -> list[Entity]:
        """Return the entities of a kind, of a status and of a project in time order; None for all."""
        query = f"""{ENTITY} WHERE kind = ?1 AND (?2 IS NULL OR status = ?2)
                    AND (?3 IS NULL OR project_uuid = ?3)"""
        return sorted(self._entities(query, kind.value, status, project), key=lambda entity: entity.id)

    def of_ids(self, kind: Kind, ids: Iterable[str]) -> list[Entity]:
        """Return, in no order, the entities of a kind that have one of these ids."""
        # The plus keeps SQLite from looking at every entity of the kind.
        query = f"{ENTITY} WHERE +kind = ? AND id IN (SELECT value FROM json_each(?))"  # noqa: S608 - constants only
        return self._entities(query, kind.value, json.dumps(list(ids)))

    def named(self, kinds: Iterable[Kind], keys: Iterable[str], tails: Iterable[str]) -> list[Entity]:
        """Return, in no order, the entities with one of some match keys or ends of ids."""
        query = f"""
            {ENTITY} WHERE kind IN (SELECT value FROM json_each(?))
            AND (row IN (SELECT row FROM name WHERE key IN (SELECT value FROM json_each(?)))
                 OR tail IN (SELECT value FROM json_each(?)))
        """  # noqa: S608 - constants only
        values = [json.dumps(list(some)) for some in ([kind.value for kind in kinds], keys, tails)]
        return self._entities(query, *values)

    def _entities(self, query: str, *values: str | None) -> list[Entity]:
        return self.ask(lambda db: [entity_of(*row) for row in db.execute(query, values)])

    def entity(self, entity: EntityId) -> Entity | None:
        """Return one entity, or None."""
        if not is_id(entity):  # a file's name may hold what SQLite does not accept as text
            return None
        found = self._entities(f"{ENTITY} WHERE id = ?", entity)
        return found[0] if found else None

    find = _asked(queries.find)
    resolve = _asked(queries.resolve)
    search = _asked(queries.search)
    messages = _asked(queries.messages)
    full_score = _asked(queries.full_score)
    matching = _asked(queries.matching)
    linked = _asked(queries.linked)
    with_external_id = _asked(queries.with_external_id)
    hits = _asked(queries.hits)
    names = _asked(queries.names)
    replaced = _asked(queries.replaced)
    contents = _asked(queries.contents)
    state = _asked(queries.state)
    active_blobs = _asked(queries.active_blobs)
    active_decisions = _asked(queries.active_decisions)
    open_threads = _asked(queries.open_threads)
    dated_conversations = _asked(queries.dated_conversations)
    needing_revalidation = _asked(queries.needing_revalidation)
    counts = _asked(queries.counts)
    governed = _asked(queries.governed)
    titles = _asked(queries.titles)
    opposed = _asked(queries.opposed)
    conflicting = _asked(queries.conflicting)
    candidates_of = _asked(queries.candidates_of)
    referring = _asked(queries.referring)
    sharing_rare_words = _asked(queries.sharing_rare_words)
    decisions_with_words = _asked(queries.decisions_with_words)
    embedding_texts = _asked(queries.embedding_texts)
    problems = _asked(problems)

    def cached(self, text_hash: str, version: str) -> str | None:
        """Return what was remembered for a text's hash by this version of its reader."""
        query = "SELECT text FROM fact WHERE hash = ? AND version = ?"
        found = self.ask(lambda db: db.execute(query, (text_hash, version)).fetchone())
        return found[0] if found and isinstance(found[0], str) else None

    def remember(self, text_hash: str, version: str, text: str) -> None:
        """Keep a text for `cached`; the oldest are deleted when there are too many."""

        def write(db: sqlite3.Connection) -> None:
            row = db.execute(
                "INSERT OR REPLACE INTO fact VALUES (?, ?, ?)", (text_hash, version, text)
            ).lastrowid
            db.execute("DELETE FROM fact WHERE rowid <= ?", ((row or 0) - _FACTS_KEPT,))

        self.ask(write)

    def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Return the answer of the database, filled if it had to be made anew."""
        return self.database.ask(question, fill=partial(update, root=self._root))
