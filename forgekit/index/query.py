"""Questions to the catalogue: what a query finds, and what there is.

Every answer is the same after a rebuild: ties are settled by id, never by the order of rows.
Values are NamedTuples, not dataclasses, whose library alone costs a lexical search 20 ms.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from forgekit.ids import EntityId, match_key
from forgekit.index.names import named_rows, storable
from forgekit.index.schema import DamageError, checked_id, checked_text, memory_of
from forgekit.model.kinds import Kind, path_of, short_id
from forgekit.model.rules import one_line
from forgekit.text.words import match_expression, match_terms, readable

if TYPE_CHECKING:
    from forgekit.model.registry import Registry

MARK, UNMARK = "«", "»"
"""What stands around a word of a snippet that the query asked for."""
NAMED_SCORE = 1000.0
"""The score of what the query names by id, tag or exact title; far above any bm25."""

SCOPES: dict[str, frozenset[Kind]] = {
    "threads": frozenset({Kind.THREAD}),
    "decisions": frozenset({Kind.DECISION}),
    "lineage": frozenset({Kind.LINEAGE}),
    "conversations": frozenset({Kind.CONVERSATION}),
    "archives": frozenset({Kind.ARCHIVE}),
    "all": frozenset(kind for kind in Kind if kind.registered),
}

_K1 = 1.2  # of FTS5's bm25, which has no setting for it

# Kinds, status and project; each parameter left None filters nothing.
_FILTER = """
    instr(:kinds, ' ' || e.kind || ' ') > 0
    AND (:status IS NULL OR e.status = :status)
    AND (:project IS NULL OR e.project_uuid = :project OR e.project_key = :project)
"""
_HIT = "e.row, e.kind, e.id, e.title, e.status, e.project_name"
_BY_WORDS = f"""
    SELECT {_HIT}, bm25(words, 4.0, 1.0, 2.0) AS rank_ FROM words JOIN entity e ON e.row = words.rowid
    WHERE words MATCH :match AND {_FILTER} ORDER BY rank_, e.id LIMIT :limit
"""  # noqa: S608 - constants only
_BY_ROW = f"SELECT {_HIT}, substr(e.body, 1, 400) FROM entity e WHERE e.row = :row AND {_FILTER}"  # noqa: S608 - constants only
_MATCHING = f"SELECT e.id FROM entity e WHERE {_FILTER}"  # noqa: S608 - constants only
_BY_ID = f"SELECT {_HIT}, substr(e.body, 1, 400) FROM entity e WHERE e.id IN (SELECT value FROM json_each(?))"  # noqa: S608 - constants only
_TIED = """
    WITH wanted (name) AS (
        SELECT value FROM json_each(:names)
        UNION SELECT c.value FROM entity e, json_each(e.fields, '$.continues') c
        WHERE e.kind = 'conversation')
    SELECT id FROM entity WHERE kind = 'conversation' AND (
        json_extract(fields, '$.continues') IS NOT NULL OR id IN wanted OR external_id IN wanted
        OR json_extract(fields, '$.session_id') IN wanted
        OR EXISTS (SELECT 1 FROM json_each(fields, '$.archived_as') a WHERE a.value IN wanted))
"""
_OF_PLATFORM = """
    SELECT e.id FROM name n JOIN entity e ON e.row = n.row
    WHERE n.key = ? AND e.kind = 'conversation' AND e.external_id = ? ORDER BY e.id
"""
_SNIPPET = f"""
    SELECT rowid, snippet(words, 1, '{MARK}', '{UNMARK}', '…', 24) FROM words
    WHERE words MATCH ? AND rowid IN (SELECT value FROM json_each(?))
"""  # noqa: S608 - constants only


# Rows as `put` writes them: candidates and kept texts have no words.
_BESIDE = "({})".format(", ".join(f"'{kind.value}'" for kind in Kind if not kind.registered))
_MESSAGES = f"""
    SELECT m.conversation, m.number, m.speaker, m.time, m.title, m.project_name,
        snippet(message_words, 0, '{MARK}', '{UNMARK}', '…', 32), bm25(message_words) AS rank_
    FROM message_words JOIN message m ON m.row = message_words.rowid
    WHERE message_words MATCH :match
    AND (:project IS NULL OR m.project_uuid = :project OR m.project_key = :project)
    ORDER BY rank_, m.conversation, m.number LIMIT :limit
"""  # noqa: S608 - constants only


class MessageHit(NamedTuple):
    """A turn of a kept text that a query found.

    Attributes:
        conversation: its id.
        number: of the turn.
        time: ms since 1970, None where it is not known.
        snippet: one line of it, the query's words between MARK and UNMARK.
        score: as of `Hit`.
    """

    conversation: EntityId
    number: int
    speaker: str
    time: int | None
    title: str
    project: str
    snippet: str
    score: float


class Hit(NamedTuple):
    """An entity that a query found.

    Attributes:
        snippet: one line of its text, the query's words between MARK and UNMARK.
        score: greater is better; comparable within one answer only.
        path: relative to the root.
    """

    kind: Kind
    id: EntityId
    short: str
    title: str
    status: str | None
    project: str | None
    snippet: str
    score: float
    path: str


def search_registry(
    registry: Registry,
    query: str,
    *,
    kinds: Collection[Kind] | None = None,
    status: str | None = None,
    project: str | None = None,
    limit: int = 20,
) -> list[Hit]:
    """Return what a query finds among any entities, as `Catalogue.search` does among files."""
    db = memory_of(registry)
    try:
        return search(db, query, kinds=kinds, status=status, project=project, limit=limit)
    finally:
        db.close()


def search(
    db: sqlite3.Connection,
    query: str,
    *,
    kinds: Collection[Kind] | None = None,
    status: str | None = None,
    project: str | None = None,
    limit: int = 20,
) -> list[Hit]:
    """Return what a query finds, best first: what it names, then its words ranked by bm25.

    Args:
        db: a catalogue.
        query: any text; none of it is taken for syntax.
        kinds: None for all.
        status: such as `open`; None for all.
        project: name or id; None for all. Conflicts belong to no project.
        limit: greatest number of hits.
    """
    given = {**_given(kinds, status, project), "limit": _rows(limit)}
    rows = named_rows(db, query)
    named = [
        _hit(columns, NAMED_SCORE, one_line(checked_text(body))[:160])
        for row in rows
        for *columns, body in db.execute(_BY_ROW, {**given, "row": row})
    ]
    found = {hit.id: hit for hit in sorted(named, key=lambda hit: hit.id)}
    match = match_expression(query)
    if match:
        ranked = db.execute(_BY_WORDS, {**given, "match": match}).fetchall()
        chosen = json.dumps([row[0] for row in ranked])
        snippets = dict(db.execute(_SNIPPET, (match, chosen)).fetchall())
        for *columns, rank in ranked:
            snippet = one_line(readable(checked_text(snippets.get(columns[0]))))
            hit = _hit(columns, round(-rank, 6), snippet)
            found.setdefault(hit.id, hit)
    return list(found.values())[: max(limit, 0)]


def messages(
    db: sqlite3.Connection, query: str, *, project: str | None = None, limit: int = 20
) -> list[MessageHit]:
    """Return the turns of kept texts that say the words of a query, ranked by bm25.

    Args:
        db: a catalogue.
        query: any text; none of it is taken for syntax.
        project: name or id; None for all.
        limit: greatest number of turns.
    """
    match = match_expression(query)
    if not match:
        return []
    given = {"match": match, "project": project and match_key(storable(project)), "limit": _rows(limit)}
    return [_said(*row) for row in db.execute(_MESSAGES, given)]


def _said(*row: Any) -> MessageHit:
    conversation, number, speaker, time, title, project, snippet, rank = row
    if type(number) is not int or not (time is None or type(time) is int):
        raise DamageError("a turn of another shape")
    _, name = checked_id(Kind.CONVERSATION.value, conversation)
    words = one_line(readable(checked_text(snippet)))
    return MessageHit(
        EntityId(name),
        number,
        checked_text(speaker),
        time,
        checked_text(title),
        checked_text(project),
        words,
        round(-rank, 6),
    )


def full_score(db: sqlite3.Connection, query: str) -> float:
    """Return what bm25 comes near to, and never reaches, for a text that says every word of a query."""
    (texts,) = db.execute(f"SELECT count(*) FROM entity WHERE kind NOT IN {_BESIDE}").fetchone()  # noqa: S608 - constants only
    ask = "SELECT count(*) FROM words WHERE words MATCH ?"
    holding = [n for term in match_terms(query) for (n,) in db.execute(ask, (term,))]
    # The weight of a word as FTS5 computes it; one that most texts hold counts next to nothing.
    return sum((_K1 + 1) * max(1e-6, math.log((texts - n + 0.5) / (n + 0.5))) for n in holding)


def matching(
    db: sqlite3.Connection,
    *,
    kinds: Collection[Kind] | None = None,
    status: str | None = None,
    project: str | None = None,
) -> set[str]:
    """Return the ids that a search with these filters chooses from."""
    return {entity for (entity,) in db.execute(_MATCHING, _given(kinds, status, project))}


def tied(db: sqlite3.Connection, names: Collection[str]) -> list[EntityId]:
    """Return the conversations that continue something, are continued, or have one of the names."""
    return _conversations(db.execute(_TIED, {"names": json.dumps(list(names))}))


def of_platform(db: sqlite3.Connection, external: str) -> list[EntityId]:
    """Return the conversations that a platform knows by this id, in the order of ids."""
    text = storable(external)
    return _conversations(db.execute(_OF_PLATFORM, (match_key(text), text)))


def _conversations(rows: Iterable[tuple[Any, ...]]) -> list[EntityId]:
    return [EntityId(checked_id(Kind.CONVERSATION.value, entity)[1]) for (entity,) in rows]


def hits(db: sqlite3.Connection, entities: Collection[str]) -> dict[EntityId, Hit]:
    """Return hits for entities that no word of a query found: the snippet is how their text begins."""
    rows = db.execute(_BY_ID, (json.dumps(list(entities)),)).fetchall()
    found = [_hit(columns, 0.0, one_line(checked_text(body))[:160]) for *columns, body in rows]
    return {hit.id: hit for hit in found}


def contents(db: sqlite3.Connection) -> list[tuple[EntityId, str]]:
    """Return the id of each entity that is searched and the blob id of its file, the newest first."""
    rows = db.execute(f"SELECT id, blob FROM entity WHERE kind NOT IN {_BESIDE} ORDER BY id DESC").fetchall()  # noqa: S608 - constants only
    # All rows on the way of each search: their shape is looked at, no more.
    if not all(type(entity) is type(blob) is str and len(entity) == 36 for entity, blob in rows):
        raise DamageError("an id or a hash of another shape")
    return rows


def state(db: sqlite3.Connection) -> str | None:
    """Return a name of the files' state; two equal ones stand for the same `contents`.

    None while a file may change unseen. A database that was made anew gives another name: the one before may
    have been damaged.
    """
    made = db.execute("SELECT value FROM meta WHERE key = 'instance'").fetchall()
    rows = db.execute("SELECT path, fingerprint FROM folder ORDER BY path").fetchall()
    if any(seen is None for _, seen in rows):
        return None
    return hashlib.blake2b(repr((made, rows)).encode(), digest_size=16).hexdigest()


def _hit(columns: list[object], score: float, snippet: str) -> Hit:
    _, kind_text, id_text, title, status, project = columns
    kind, name = checked_id(kind_text, id_text)
    entity = EntityId(name)
    return Hit(
        kind=kind,
        id=entity,
        short=short_id(kind, entity),
        title=checked_text(title),
        status=None if status is None else checked_text(status),
        project=None if project is None else checked_text(project),
        snippet=snippet,
        score=score,
        path=path_of(kind, entity),
    )


def _given(kinds: Collection[Kind] | None, status: str | None, project: str | None) -> dict[str, Any]:
    return {
        "kinds": f" {' '.join(kind.value for kind in (SCOPES['all'] if kinds is None else kinds))} ",
        "status": status and storable(status),
        "project": project and match_key(storable(project)),
    }


def _rows(limit: int) -> int:
    """Return a limit as SQLite takes it: a whole number of 64 bits."""
    return min(max(limit, 0), 2**31)
