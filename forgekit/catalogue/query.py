"""Questions to the catalogue: which entity a person means, and what a query finds.

Every answer is the same after a rebuild: ties are settled by id, never by the order of rows.
Values are NamedTuples, not dataclasses, whose library alone costs a lexical search 20 ms.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from forgekit.catalogue.schema import DamageError, checked_id, checked_text, memory_of
from forgekit.catalogue.words import match_expression, match_terms, readable
from forgekit.errors import AmbiguousError, NotFoundError
from forgekit.ids import EntityId, match_key
from forgekit.model.kinds import Kind, path_of, short_id
from forgekit.model.rules import one_line

if TYPE_CHECKING:
    from forgekit.model.registry import Registry

MARK, UNMARK = "«", "»"
"""What stands around a word of a snippet that the query asked for."""
NAMED_SCORE = 1000.0
"""The score of what the query names by id, tag or exact title; far above any bm25."""
SHOWN_CANDIDATES = 20

SCOPES: dict[str, frozenset[Kind]] = {
    "threads": frozenset({Kind.THREAD}),
    "decisions": frozenset({Kind.DECISION}),
    "lineage": frozenset({Kind.LINEAGE}),
    "conversations": frozenset({Kind.CONVERSATION}),
    "archives": frozenset({Kind.ARCHIVE}),
    "all": frozenset(kind for kind in Kind if kind.registered),
}

_PREFIXES = {kind.prefix: kind for kind in Kind}
_SHORT = re.compile(r"(?:([a-z]{3})_)?([0-9a-f-]{4,36})")
_LOCAL = re.compile(r"[A-Za-z]{1,3}\d{1,6}")
_ID_LIKE = re.compile(
    r"[a-z]{3}_[0-9a-f]{12}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\S+:[A-Za-z]+\d+", re.IGNORECASE
)
_NAME_LIMIT = 2_500
_K1 = 1.2  # of FTS5's bm25, which has no setting for it

# Kinds, status, project and time; each parameter left None filters nothing.
_FILTER = """
    instr(:kinds, ' ' || e.kind || ' ') > 0
    AND (:status IS NULL OR e.status = :status)
    AND (:project IS NULL OR e.project_uuid = :project OR e.project_key = :project)
    AND (:since IS NULL OR e.created >= :since)
    AND (:until IS NULL OR e.created <= :until)
"""
_HIT = "e.row, e.kind, e.id, e.title, e.status, e.project_name"
_BY_WORDS = f"""
    SELECT {_HIT}, bm25(words, 4.0, 1.0, 2.0) AS rank_ FROM words JOIN entity e ON e.row = words.rowid
    WHERE words MATCH :match AND {_FILTER} ORDER BY rank_, e.id LIMIT :limit
"""  # noqa: S608 - constants only
_BY_ROW = f"SELECT {_HIT}, substr(e.body, 1, 400) FROM entity e WHERE e.row = :row AND {_FILTER}"  # noqa: S608 - constants only
_MATCHING = f"SELECT e.id FROM entity e WHERE {_FILTER}"  # noqa: S608 - constants only
_BY_ID = f"SELECT {_HIT}, substr(e.body, 1, 400) FROM entity e WHERE e.id IN (SELECT value FROM json_each(?))"  # noqa: S608 - constants only
_SNIPPET = f"""
    SELECT rowid, snippet(words, 1, '{MARK}', '{UNMARK}', '…', 24) FROM words
    WHERE words MATCH ? AND rowid IN (SELECT value FROM json_each(?))
"""  # noqa: S608 - constants only
_CANDIDATE = "SELECT e.row, e.kind, e.id, e.title FROM entity e"


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


class Said(NamedTuple):
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


class Candidate(NamedTuple):
    """An entity that answers to a name."""

    kind: Kind
    id: EntityId
    short: str
    title: str


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
    since: int | None = None,
    until: int | None = None,
    limit: int = 20,
) -> list[Hit]:
    """Return what a query finds among any entities, as `Catalogue.search` does among files."""
    db = memory_of(registry)
    try:
        return search(
            db, query, kinds=kinds, status=status, project=project, since=since, until=until, limit=limit
        )
    finally:
        db.close()


def search(
    db: sqlite3.Connection,
    query: str,
    *,
    kinds: Collection[Kind] | None = None,
    status: str | None = None,
    project: str | None = None,
    since: int | None = None,
    until: int | None = None,
    limit: int = 20,
) -> list[Hit]:
    """Return what a query finds, best first: what it names, then its words ranked by bm25.

    Args:
        db: a catalogue.
        query: any text; none of it is taken for syntax.
        kinds: None for all.
        status: such as `open`; None for all.
        project: name or id; None for all. Conflicts belong to no project.
        since: ms since 1970; the entity was made then or later.
        until: ms since 1970; the entity was made then or before.
        limit: greatest number of hits.
    """
    given = {**_given(kinds, status, project), "since": since, "until": until, "limit": max(limit, 0)}
    rows = _named(db, query)
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
) -> list[Said]:
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
    given = {"match": match, "project": project and match_key(_storable(project)), "limit": max(limit, 0)}
    return [_said(*row) for row in db.execute(_MESSAGES, given)]


def _said(*row: Any) -> Said:
    conversation, number, speaker, time, title, project, snippet, rank = row
    if type(number) is not int or not (time is None or type(time) is int):
        raise DamageError("a turn of another shape")
    _, name = checked_id(Kind.CONVERSATION.value, conversation)
    words = one_line(readable(checked_text(snippet)))
    return Said(
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
    given = {**_given(kinds, status, project), "since": None, "until": None}
    return {entity for (entity,) in db.execute(_MATCHING, given)}


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


def find(db: sqlite3.Connection, name: str, kinds: Collection[Kind] | None = None) -> list[Candidate]:
    """Return every entity that a name may stand for, in the order of ids.

    What answers exactly (id, short id, external id, `TAG:D003`, tag, title) hides what merely begins or
    ends alike.
    """
    found = _candidates(db, _exact(db, name), kinds)
    return found or _candidates(db, _alike(db, name), kinds)


def resolve(db: sqlite3.Connection, name: str, kinds: Collection[Kind] | None = None) -> EntityId:
    """Return the one id that a name stands for.

    Raises NotFoundError or AmbiguousError.
    """
    found = find(db, name, kinds)
    if len(found) == 1:
        return found[0].id
    if not found:
        what = next(iter(kinds)).value if kinds and len(kinds) == 1 else "entity"
        raise NotFoundError(what, one_line(name[:80]), "find its id with `forgekit search`")
    listed = [(c.short, c.title) for c in found[:SHOWN_CANDIDATES]]
    if len(found) > SHOWN_CANDIDATES:
        listed.append(("...", f"and {len(found) - SHOWN_CANDIDATES} more; type more of the id"))
    raise AmbiguousError(name, listed)


def _exact(db: sqlite3.Connection, name: str) -> set[int]:
    """Return the rows that a name stands for exactly."""
    text = _storable(name.strip()[:_NAME_LIMIT])
    key = match_key(text)
    rows = set(_column(db, "SELECT row FROM name WHERE key = ? AND key != ''", key))
    rows |= set(_column(db, "SELECT row FROM entity WHERE id = ?", text.lower()))
    short = _SHORT.fullmatch(text.lower())
    if short and len(short[2]) == 12 and short[1] in _PREFIXES:
        kind = _PREFIXES[short[1]].value
        rows |= set(_column(db, "SELECT row FROM entity WHERE tail = ? AND kind = ?", short[2], kind))
    tag, colon, local = text.rpartition(":")
    if colon and _LOCAL.fullmatch(local):
        for entity in _recorded(db, tag, local.upper()):
            rows |= set(_column(db, "SELECT row FROM entity WHERE id = ?", entity))
    return rows


def _recorded(db: sqlite3.Connection, tag: str, local: str) -> list[str]:
    """Return the ids that a local id stands for in the archives of a tag."""
    query = """SELECT e.fields FROM name n JOIN entity e ON e.row = n.row
               WHERE n.key = ? AND e.kind = 'archive' AND e.tag IS NOT NULL"""
    out = []
    for fields in _column(db, query, match_key(tag)):
        try:
            records = json.loads(checked_text(fields)).get("records") or {}
            out += [checked_text(entity) for name, entity in records.items() if name.upper() == local]
        except (ValueError, AttributeError, RecursionError) as e:
            raise DamageError(str(e)) from e
    return out


def _alike(db: sqlite3.Connection, name: str) -> set[int]:
    """Return the rows whose id begins or ends with a name of at least four hex digits."""
    match = _SHORT.fullmatch(name.strip()[:60].lower())
    if not match or (match[1] and match[1] not in _PREFIXES):
        return set()
    digits = match[2].replace("-", "")
    if len(digits) < 4:
        return set()
    if match[1]:
        return set(
            _column(
                db,
                "SELECT row FROM entity WHERE tail >= ? AND tail < ? AND kind = ?",
                digits,
                digits + "g",
                _PREFIXES[match[1]].value,
            )
        )
    return set(
        _column(
            db,
            """SELECT row FROM entity WHERE hex >= ?1 AND hex < ?1 || 'g'
               UNION SELECT row FROM entity WHERE tail >= ?1 AND tail < ?1 || 'g'
               UNION SELECT row FROM entity WHERE substr(hex, -length(?1)) = ?1""",
            digits,
        )
    )


def _named(db: sqlite3.Connection, query: str) -> set[int]:
    """Return the rows that a query names, as a whole or by a word that looks like an id."""
    rows = _exact(db, query)
    for word in query[:_NAME_LIMIT].split():
        bare = word.strip(".,;()[]`'\"?!")
        if _ID_LIKE.fullmatch(bare):
            rows |= _exact(db, bare)
    return rows


def _candidates(
    db: sqlite3.Connection, rows: Collection[int], kinds: Collection[Kind] | None
) -> list[Candidate]:
    wanted = "WHERE e.row IN (SELECT value FROM json_each(?)) ORDER BY e.kind, e.id"
    out = []
    for _, kind_text, id_text, title in db.execute(f"{_CANDIDATE} {wanted}", (json.dumps(list(rows)),)):
        kind, entity = checked_id(kind_text, id_text)
        if not kinds or kind in kinds:
            candidate = EntityId(entity)
            out.append(Candidate(kind, candidate, short_id(kind, candidate), checked_text(title)))
    return out


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
        "status": status and _storable(status),
        "project": project and match_key(_storable(project)),
    }


def _storable(text: str) -> str:
    """Return text that SQLite takes: an argument of a command may hold bytes that are no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _column(db: sqlite3.Connection, query: str, *values: str) -> list[Any]:
    return [row[0] for row in db.execute(query, values)]
