"""Questions to the catalogue: what a query finds, what the registry holds, and which entity a name means.

Every answer is the same after a rebuild: ties are broken by id, never by the order of rows.
Values are NamedTuples: importing dataclasses alone would cost a lexical search 20 ms.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from functools import cache
from operator import index, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, TypeVar, Unpack

from forgekit.archives import READER_VERSION
from forgekit.errors import AmbiguousError, NotFoundError
from forgekit.ids import EntityId, body_sha256, match_key, pair_id
from forgekit.index.database import DamageError
from forgekit.index.rows import ENTITY, checked_id, checked_text, entity_of, memory_of
from forgekit.model.kinds import Kind, path_of, short_id
from forgekit.model.rules import one_line, parts
from forgekit.text.words import match_expression, match_terms, readable
from forgekit.times import UNKNOWN, Instant, parse_instant

if TYPE_CHECKING:
    from forgekit.index.finding_cache import Opposed
    from forgekit.model.entities import Entity
    from forgekit.model.registry import ActiveDecision, Counts, DatedConversation, OpenThread, Registry

T = TypeVar("T", bound=tuple[Any, ...])

MARK, UNMARK = "«", "»"
"""Around a word of a snippet that the query asked for."""
NAMED_SCORE = 1000.0
"""The score of what the query names by id, tag or exact title; far above any bm25."""
TEXT_LIMIT = 4_000
"""Characters of the longest text to encode: more than the 512 tokens of common prose that models read."""

SCOPES: dict[str, frozenset[Kind]] = {
    "threads": frozenset({Kind.THREAD}),
    "decisions": frozenset({Kind.DECISION}),
    "lineage": frozenset({Kind.LINEAGE}),
    "conversations": frozenset({Kind.CONVERSATION}),
    "archives": frozenset({Kind.ARCHIVE}),
    "notes": frozenset({Kind.NOTE, Kind.TOPIC}),
    "conventions": frozenset({Kind.CONVENTION}),
    "all": frozenset(kind for kind in Kind if kind.registered),
}

_HEADING = re.compile(r"^#{1,6}[ \t]+([^\n]*)(\n?)", re.MULTILINE)
_K1 = 1.2  # of FTS5's bm25, which has no setting for it

# Kinds, status and project; each parameter left None filters nothing.
_FILTER = """
    instr(:kinds, ' ' || e.kind || ' ') > 0
    AND (:status IS NULL OR e.status = :status)
    AND (:project IS NULL OR e.project_uuid = :project OR e.project_key = :project)
"""
_HIT = "e.kind, e.id, e.title, e.status, e.project_name"
_BY_WORDS = f"""
    SELECT e.row, bm25(words, 4.0, 1.0, 2.0) AS rank_, {_HIT} FROM words JOIN entity e ON e.row = words.rowid
    WHERE words MATCH :match AND {_FILTER} ORDER BY rank_, e.id LIMIT :limit
"""  # noqa: S608 - constants only
_BY_ROW = f"""
    SELECT substr(e.body, 1, 400), {_HIT} FROM entity e
    WHERE e.row IN (SELECT value FROM json_each(:rows)) AND {_FILTER} ORDER BY e.id
"""  # noqa: S608 - constants only
_BY_ID = f"""
    SELECT substr(e.body, 1, 400), {_HIT} FROM entity e WHERE e.id IN (SELECT value FROM json_each(?))
"""  # noqa: S608 - constants only
_REPLACED = """
    SELECT id, json_extract(fields, '$.superseded_by') AS other FROM entity
    WHERE id IN (SELECT value FROM json_each(?)) AND other IS NOT NULL
"""
_SNIPPET = f"""
    SELECT rowid, snippet(words, 1, '{MARK}', '{UNMARK}', '…', 24) FROM words
    WHERE words MATCH ? AND rowid IN (SELECT value FROM json_each(?))
"""  # noqa: S608 - constants only
_MESSAGES = f"""
    SELECT m.conversation, m.number, m.speaker, m.time, m.title, m.project_name,
        snippet(message_words, 0, '{MARK}', '{UNMARK}', '…', 32), bm25(message_words) AS rank_
    FROM message_words JOIN message m ON m.row = message_words.rowid
    WHERE message_words MATCH :match
    AND (:project IS NULL OR m.project_uuid = :project OR m.project_key = :project)
    ORDER BY rank_, m.conversation, m.number LIMIT :limit
"""  # noqa: S608 - constants only
_LINKED = """
    WITH wanted (name) AS (
        SELECT value FROM json_each(:names)
        UNION SELECT c.value FROM entity e, json_each(e.fields, '$.continues') c
        WHERE e.kind = 'conversation')
    SELECT id FROM entity WHERE kind = 'conversation' AND (
        json_extract(fields, '$.continues') IS NOT NULL OR id IN wanted OR external_id IN wanted
        OR json_extract(fields, '$.session_id') IN wanted
        OR EXISTS (SELECT 1 FROM json_each(fields, '$.archived_as') a WHERE a.value IN wanted))
"""
_WITH_EXTERNAL_ID = """
    SELECT e.id FROM name n JOIN entity e ON e.row = n.row
    WHERE n.key = ? AND e.kind = 'conversation' AND e.external_id = ? ORDER BY e.id
"""
# Candidates and transcripts are not among the texts that are searched.
_SEARCHED = "kind NOT IN ({})".format(", ".join(f"'{kind.value}'" for kind in Kind if not kind.registered))


class Filters(TypedDict, total=False):
    """What narrows a search: kinds, a status such as `open`, a project's name or id; None for all.

    Conflicts belong to no project.
    """

    kinds: Collection[Kind] | None
    status: str | None
    project: str | None


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


class MessageHit(NamedTuple):
    """A turn of a kept transcript that a query found; `time` in ms, None where unknown."""

    conversation: EntityId
    number: int
    speaker: str
    time: int | None
    title: str
    project: str
    snippet: str
    score: float


def search_registry(
    registry: Registry, query: str, *, limit: int = 20, **filters: Unpack[Filters]
) -> list[Hit]:
    """Return what a query finds in a registry in memory, as `Catalogue.search` does among files."""
    with closing(memory_of(registry)) as db:
        return search(db, query, limit=limit, **filters)


def search(db: sqlite3.Connection, query: str, *, limit: int = 20, **filters: Unpack[Filters]) -> list[Hit]:
    """Return what a query finds, best first: what it names, then what its words find, ranked by bm25.

    No part of a query is read as syntax.
    """
    given = {**_given(**filters), "limit": _rows(limit)}
    named = db.execute(_BY_ROW, {**given, "rows": json.dumps(list(named_rows(db, query)))})
    found = {hit.id: hit for hit in [_hit_by_name(row, NAMED_SCORE) for row in named]}
    match = match_expression(query)
    if match:
        ranked = db.execute(_BY_WORDS, {**given, "match": match}).fetchall()
        chosen = json.dumps([row[0] for row in ranked])
        snippets = dict(db.execute(_SNIPPET, (match, chosen)).fetchall())
        for row, rank, *columns in ranked:
            snippet = _one_line(readable(checked_text(snippets.get(row))))
            hit = _hit(columns, round(-rank, 6), snippet)
            found.setdefault(hit.id, hit)
    return list(found.values())[: max(limit, 0)]


def hits(db: sqlite3.Connection, entities: Collection[str]) -> dict[EntityId, Hit]:
    """Return hits for entities that no word of a query found; the snippet is the beginning of the text."""
    rows = db.execute(_BY_ID, (json.dumps(list(entities)),)).fetchall()
    return {hit.id: hit for hit in [_hit_by_name(row, 0.0) for row in rows]}


def names(db: sqlite3.Connection, entities: Iterable[str]) -> dict[EntityId, tuple[str, str]]:
    """Return title and project of entities."""
    query = "SELECT id, title, project_name FROM entity WHERE id IN (SELECT value FROM json_each(?))"
    rows = db.execute(query, (json.dumps(list(entities)),))
    return {key: (checked_text(title), checked_text(project)) for key, title, project in rows}


def replaced(db: sqlite3.Connection, entities: Collection[str]) -> dict[EntityId, EntityId]:
    """Return what took the place of those entities that were replaced."""
    rows = db.execute(_REPLACED, (json.dumps(list(entities)),)).fetchall()
    return {EntityId(checked_text(old)): EntityId(checked_text(new)) for old, new in rows}


def _hit_by_name(row: Iterable[Any], score: float) -> Hit:
    beginning, *columns = row
    return _hit(columns, score, _one_line(checked_text(beginning))[:160])


def _one_line(text: str) -> str:
    """Return a part of a body as one line, its headings as words before a colon."""
    return one_line(_HEADING.sub(lambda found: f"{found[1]}: " if found[2] else found[1], text))


def _hit(columns: Iterable[Any], score: float, snippet: str) -> Hit:
    kind_text, id_text, title, status, project = columns
    kind, entity = checked_id(kind_text, id_text)
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


def messages(
    db: sqlite3.Connection, query: str, *, project: str | None = None, limit: int = 20
) -> list[MessageHit]:
    """Return the turns of kept transcripts that contain words of a query, ranked by bm25."""
    match = match_expression(query)
    if not match:
        return []
    given = {"match": match, "project": project and match_key(storable(project)), "limit": _rows(limit)}
    return [_message_hit(*row) for row in db.execute(_MESSAGES, given)]


def _message_hit(*row: Any) -> MessageHit:
    conversation, number, speaker, time, title, project, snippet, rank = row
    if type(number) is not int or not (time is None or type(time) is int):
        raise DamageError("a turn of another shape")
    _, entity = checked_id(Kind.CONVERSATION.value, conversation)
    words = one_line(readable(checked_text(snippet)))
    about = (checked_text(title), checked_text(project))
    return MessageHit(entity, number, checked_text(speaker), time, *about, words, round(-rank, 6))


def full_score(db: sqlite3.Connection, query: str) -> float:
    """Return the bm25 that a text with every word of a query approaches and never reaches."""
    (texts,) = db.execute(f"SELECT count(*) FROM entity WHERE {_SEARCHED}").fetchone()  # noqa: S608 - constants only
    count = "SELECT count(*) FROM words WHERE words MATCH ?"
    holding = [n for term in match_terms(query) for (n,) in db.execute(count, (term,))]
    # The weight of a word as FTS5 computes it; one that most texts contain counts next to nothing.
    return sum((_K1 + 1) * max(1e-6, math.log((texts - n + 0.5) / (n + 0.5))) for n in holding)


def matching(db: sqlite3.Connection, **filters: Unpack[Filters]) -> set[str]:
    """Return the ids that a search with these filters chooses from."""
    given = _given(**filters)
    given["kinds"] = json.dumps(given["kinds"].split())
    query = """
        SELECT id FROM entity WHERE kind IN (SELECT value FROM json_each(:kinds))
        AND (:status IS NULL OR status = :status)
    """
    if given["project"] is not None:  # all but this is in an index, and the rows take three times as long
        query += "AND (project_uuid = :project OR project_key = :project)"
    return {entity for (entity,) in db.execute(query, given)}


def linked(db: sqlite3.Connection, names: Collection[str]) -> list[EntityId]:
    """Return the conversations that continue something, are continued, or have one of the names."""
    return _conversations(db.execute(_LINKED, {"names": json.dumps(list(names))}))


def with_external_id(db: sqlite3.Connection, external: str) -> list[EntityId]:
    """Return the conversations that a platform knows by this id, in the order of ids."""
    text = storable(external)
    return _conversations(db.execute(_WITH_EXTERNAL_ID, (match_key(text), text)))


def _conversations(rows: Iterable[tuple[Any, ...]]) -> list[EntityId]:
    return [checked_id(Kind.CONVERSATION.value, entity)[1] for (entity,) in rows]


def contents(db: sqlite3.Connection) -> list[tuple[EntityId, str]]:
    """Return the id of each searchable entity and the blob id of its file, the newest first."""
    return _blobs(db, _SEARCHED)[::-1]


def _blobs(db: sqlite3.Connection, chosen: str) -> list[tuple[EntityId, str]]:
    """Return the ids and blob ids of the chosen entities, in the order of ids."""
    # In the order of an index of ids, SQLite would read the rows and not an index of both: in twice the time.
    rows = db.execute(f"SELECT id, blob FROM entity WHERE {chosen}").fetchall()  # noqa: S608 - constants only
    # A search reads all of these rows, so only their shape is checked.
    if not all(type(entity) is type(blob) is str and len(entity) == 36 for entity, blob in rows):
        raise DamageError("an id or a hash of another shape")
    return sorted(rows)


def state(db: sqlite3.Connection) -> str | None:
    """Return a name of the files' state; equal names mean equal `contents`.

    None while a file may change unseen. A new database gives another name: the former may have been damaged.
    """
    made = db.execute("SELECT value FROM meta WHERE key = 'instance'").fetchall()
    rows = db.execute("SELECT path, fingerprint FROM folder ORDER BY path").fetchall()
    if any(seen is None for _, seen in rows):
        return None
    return hashlib.blake2b(repr((made, rows)).encode(), digest_size=16).hexdigest()


def active_blobs(db: sqlite3.Connection) -> dict[EntityId, str]:
    """Return the active decisions with the blob ids of their files, in the order of ids."""
    return dict(_blobs(db, "kind = 'decision' AND status = 'active'"))


def governed(db: sqlite3.Connection, kind: Kind) -> list[tuple[str, str]]:
    """Return the active decisions or conventions that govern files, with their patterns as JSON, by id."""
    name = "governs" if kind is Kind.DECISION else "scope"
    query = f"""
        SELECT id, json_extract(fields, '$.{name}') AS patterns FROM entity
        WHERE kind = ? AND status = 'active' AND instr(fields, '"{name}"') AND patterns IS NOT NULL
        ORDER BY id
    """  # noqa: S608 - constants only
    return db.execute(query, (kind.value,)).fetchall()


def titles(
    db: sqlite3.Connection,
    kind: Kind,
    status: str | None = None,
    project: EntityId | None = None,
    limit: int = -1,
) -> list[tuple[EntityId, str]]:
    """Return id and title of the entities of a kind, a status and a project, the newest first.

    Of decisions those of higher tiers, to a tenth, come before; no tier counts as the middle.
    """
    tier = "round(coalesce(json_extract(fields, '$.epistemic_tier'), 0.5), 1) DESC,"
    tier = tier if kind is Kind.DECISION else ""
    query = f"""
        SELECT id, title FROM entity WHERE kind = ?1 AND (?2 IS NULL OR status = ?2)
        AND (?3 IS NULL OR project_uuid = ?3) ORDER BY {tier} id DESC LIMIT ?4
    """  # noqa: S608 - two texts of this function
    rows = db.execute(query, (kind.value, status, project, limit))
    return [(checked_id(kind.value, key)[1], checked_text(title)) for key, title in rows]


def opposed(db: sqlite3.Connection, found: Collection[Opposed] = ()) -> dict[EntityId, tuple[EntityId, ...]]:
    """Return the sides of open verdicts, and of contradictions in unchanged texts that no verdict answers.

    Each has the decisions that it is against.

    Args:
        found: contradictions as they were kept.
    """
    query = """
        SELECT json_extract(fields, '$.decision_a'), json_extract(fields, '$.decision_b') FROM entity
        WHERE kind = 'conflict' AND status = 'open'
    """
    pairs = {(EntityId(a), EntityId(b)) for a, b in db.execute(query) if a and b}
    named = json.dumps([key for a, _, b, _ in found for key in (a, b, pair_id(a, b))])
    query = """
        SELECT id, CASE kind WHEN 'decision' THEN blob END FROM entity
        WHERE id IN (SELECT value FROM json_each(?)) AND (kind = 'conflict' OR status = 'active')
    """
    known = dict(db.execute(query, (named,)).fetchall()) if found else {}
    for a, of_a, b, of_b in found:
        if (known.get(a), known.get(b)) == (of_a, of_b) and pair_id(a, b) not in known:
            pairs.add((a, b))
    sides: dict[EntityId, tuple[EntityId, ...]] = {}
    for one, other in sorted({*pairs, *((b, a) for a, b in pairs)}):
        sides[one] = (*sides.get(one, ()), other)
    return sides


def conflicting(db: sqlite3.Connection) -> list[EntityId]:
    """Return the entities that may hold conflicting edits of a merge, sorted."""
    query = "SELECT e.id, e.kind FROM unsettled u JOIN entity e ON e.row = u.row ORDER BY e.id"
    return [checked_id(kind, key)[1] for key, kind in db.execute(query)]


def candidates_of(db: sqlite3.Connection, session: str) -> int:
    """Return how many candidates of a session of an agent wait for a review."""
    query = """
        SELECT count(*) FROM entity t JOIN entity c ON json_extract(c.fields, '$.conversation_id') = t.id
        WHERE t.kind = 'conversation' AND t.external_id = ?
        AND c.kind = 'candidate' AND c.status = 'waiting'
    """
    return int(db.execute(query, (storable(session),)).fetchone()[0])


def sharing_rare_words(db: sqlite3.Connection, most: int) -> list[list[str]]:
    """Return the groups of 2 to so many active decisions that share a word, as of `conflict.pairs`."""
    query = """
        WITH rare AS (SELECT word FROM decision_word GROUP BY word HAVING count(*) BETWEEN 2 AND ?)
        SELECT group_concat(e.id, ' ') FROM rare JOIN decision_word t USING (word)
        JOIN entity e ON e.row = t.row GROUP BY word
    """
    return [checked_text(ids).split(" ") for (ids,) in db.execute(query, (most,))]


def decisions_with_words(
    db: sqlite3.Connection, words: Iterable[str], project: EntityId, most: int
) -> dict[str, list[EntityId]]:
    """Return the decisions of other projects whose text has each of some words, in the order of ids.

    Only those that a block of another project may show; a word that more than so many have is left out.
    """
    query = """
        WITH rare AS (
            SELECT word FROM decision_word WHERE word IN (SELECT value FROM json_each(:words))
            AND project != :project GROUP BY word HAVING count(*) <= :most)
        SELECT word, e.id FROM rare JOIN decision_word t USING (word) JOIN entity e ON e.row = t.row
        WHERE t.project != :project ORDER BY e.id
    """
    found: dict[str, list[EntityId]] = {}
    for word, key in db.execute(query, {"words": json.dumps(list(words)), "project": project, "most": most}):
        found.setdefault(word, []).append(EntityId(checked_text(key)))
    return found


def active_decisions(db: sqlite3.Connection, project: EntityId | None = None) -> list[ActiveDecision]:
    """Return what each active decision is sorted and aged by, in the order of ids."""
    from forgekit.model.registry import ActiveDecision

    @cache  # the decisions of a conversation share its id
    def ids(text: str) -> tuple[EntityId, ...]:
        return tuple(map(EntityId, json.loads(text)))

    def read(key: EntityId, tier: float | None, created: int, validated: int, named: str) -> ActiveDecision:
        times = Instant(index(created)), Instant(index(validated))
        return ActiveDecision(key, tier and float(tier), *times, ids(named))

    return _active(db, "id, tier, created, validated, conversations", Kind.DECISION, project, read)


def open_threads(db: sqlite3.Connection, project: EntityId | None = None) -> list[OpenThread]:
    """Return what each open thread is sorted by, in the order of ids."""
    from forgekit.model.entities import Priority
    from forgekit.model.registry import OpenThread

    def read(key: EntityId, priority: str, created: int) -> OpenThread:
        return OpenThread(key, Priority(priority), Instant(index(created)))

    return _active(db, "id, priority, created", Kind.THREAD, project, read)


def _active(
    db: sqlite3.Connection, columns: str, kind: Kind, project: EntityId | None, read: Callable[..., T]
) -> list[T]:
    chosen = "kind = ?1 AND (?2 IS NULL OR project_uuid = ?2)"
    query = f"SELECT {columns} FROM active WHERE {chosen}"  # noqa: S608 - constants only
    try:
        found = [read(*row) for row in db.execute(query, (kind.value, project))]
        return sorted(found, key=itemgetter(0))  # by id, which they nearly are: a third of SQLite's time
    except (ValueError, TypeError) as e:
        raise DamageError(str(e)) from e


def dated_conversations(db: sqlite3.Connection) -> list[DatedConversation]:
    """Return when each conversation began and by what it is known elsewhere, in the order of ids."""
    from forgekit.model.registry import DatedConversation

    query = """
        SELECT id, json_extract(fields, '$.created_at'), external_id, json_extract(fields, '$.source')
        FROM entity WHERE kind = 'conversation' ORDER BY id
    """
    try:
        return [
            DatedConversation(
                checked_id("conversation", key)[1], parse_instant(at) if at else UNKNOWN, *names
            )
            for key, at, *names in db.execute(query)
        ]
    except (ValueError, TypeError) as e:
        raise DamageError(str(e)) from e


def needing_revalidation(db: sqlite3.Connection) -> list[str]:
    """Return the active decisions that rest on one that has ended, directly or through other active ones."""
    query = """
        WITH RECURSIVE moved AS (
            SELECT id, status FROM entity WHERE kind = 'decision' AND status != 'active'
            UNION SELECT e.id, e.status FROM moved JOIN reference r ON r.target = moved.id
            JOIN entity e ON e.row = r.row
            WHERE r.field = 'dependencies' AND e.kind = 'decision' AND e.status = 'active')
        SELECT id FROM moved WHERE status = 'active'
    """
    return column(db, query)


def counts(db: sqlite3.Connection) -> Counts:
    """Return how many entities there are by kind, status and project."""
    query = "SELECT kind, status, project_uuid, count(*) FROM entity GROUP BY 1, 2, 3"
    return Counter({(Kind(kind), *of): number for kind, *of, number in db.execute(query)})


def referring(db: sqlite3.Connection, kind: Kind, field: str, target: EntityId) -> list[EntityId]:
    """Return the entities of a kind that name another one in a field, in time order."""
    query = """
        SELECT e.id FROM reference r JOIN entity e ON e.row = r.row
        WHERE r.target = ? AND r.field = ? AND e.kind = ? ORDER BY e.id
    """
    return [checked_id(kind.value, found)[1] for (found,) in db.execute(query, (target, field, kind.value))]


def embedding_texts(db: sqlite3.Connection, entity: str, blob: str) -> tuple[str, ...]:
    """Return the texts whose mean vector represents an entity: its title and its whole text.

    Only one where there is nothing but a title, "" for an entity without words, and none where its file is
    not that blob any more.
    """
    row = db.execute(f"{ENTITY} WHERE id = ? AND blob = ?", (entity, blob)).fetchone()
    if row is None:
        return ()
    title, rest = _texts(db, entity_of(*row))
    whole = "\n\n".join(part for part in map(str.strip, (title, *rest)) if part)[:TEXT_LIMIT].strip()
    title = title.strip()[:TEXT_LIMIT].strip()
    return (title, whole) if title and title != whole else (whole,)


def _texts(db: sqlite3.Connection, entity: Entity) -> tuple[str, list[str]]:
    """Return a title and the other texts; any of them may be empty."""
    from forgekit.model.entities import Archive, Conflict, Lineage

    if isinstance(entity, Archive):
        title = f"{_words(entity.compression_tag)}\n\n{entity.conversation_title}"
        return title, _archive_texts(db, entity.body)
    pieces = parts(entity.body)
    sections = [text if heading is None else text.partition("\n")[2] for heading, text in pieces]
    if isinstance(entity, Lineage):
        return "\n\n".join(_words(each.compression_tag) for each in entity.compressions), sections
    if isinstance(entity, Conflict):
        return entity.title, [*entity.evidence, entity.reason or "", *sections]
    rejected = "; ".join(getattr(entity, "alternatives_rejected", ()))
    digest, tags = getattr(entity, "digest", None) or "", ", ".join(getattr(entity, "tags", ()))
    return entity.title, [digest, *sections, rejected, tags]


def _archive_texts(db: sqlite3.Connection, body: str) -> list[str]:
    """Return an archive's summary, decisions and threads; its beginning where it has none of them."""
    query = "SELECT text FROM fact WHERE hash = ?1 AND (version = ?2 OR version LIKE ?2 || ':%')"
    kept = db.execute(query, (body_sha256(body), READER_VERSION)).fetchone()
    try:
        read = json.loads(checked_text(kept[0]) if kept else "")
        decisions = [record["text"] for record in read.get("decisions", ())]
        texts = [read.get("summary", ""), *decisions, *(t["title"] for t in read.get("threads", ()))]
        "".join(texts)  # raises TypeError unless all are texts
    except (ValueError, LookupError, TypeError, AttributeError, DamageError):  # unknown, or damaged
        from forgekit.archives.read import read_archive

        new = read_archive(body)
        texts = [new.summary, *(d.text for d in new.decisions), *(t.title for t in new.threads)]
    return texts if any(texts) else [body[:TEXT_LIMIT]]


def _words(tag: str) -> str:
    """Return the words of a tag as a question would use them."""
    return tag.replace("_", " ").lower()


def _given(
    kinds: Collection[Kind] | None = None, status: str | None = None, project: str | None = None
) -> dict[str, Any]:
    return {
        "kinds": f" {' '.join(kind.value for kind in (SCOPES['all'] if kinds is None else kinds))} ",
        "status": status and storable(status),
        "project": project and match_key(storable(project)),
    }


def _rows(limit: int) -> int:
    """Return a limit as SQLite accepts it: a whole number of 64 bits."""
    return min(max(limit, 0), 2**31)


_SHOWN = 20  # matches that an error lists
_PREFIXES = {kind.prefix: kind for kind in Kind}
_SHORT = re.compile(r"(?:([a-z]{3})_)?([0-9a-f-]{1,36})")
_LOCAL = re.compile(r"[A-Za-z]{1,3}\d{1,6}")
_NAME_LIMIT = 2_500
_ID_LIKE = r"(?i)[a-z]{3}_[0-9a-f]{12}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\S+:[A-Za-z]+\d+"


class NameMatch(NamedTuple):
    """An entity that a name may mean."""

    kind: Kind
    id: EntityId
    short: str
    title: str


def find(
    db: sqlite3.Connection, name: str, kinds: Collection[Kind] | None = None, *, bare: bool = True
) -> list[NameMatch]:
    """Return every entity that a name may mean, in the order of ids.

    An exact match (id, short id, external id, `TAG:D003`, tag, title) hides those whose id merely begins or
    ends with the name.

    Args:
        bare: whether a part of an id counts without the prefix of its kind; in a sentence it may be a word.
    """
    found = _matches(db, _exact(db, name), kinds)
    return found or _matches(db, _partial(db, name, bare=bare), kinds)


def resolve(db: sqlite3.Connection, name: str, kinds: Collection[Kind] | None = None) -> EntityId:
    """Return the one id that a name means; raises NotFoundError or AmbiguousError."""
    found = find(db, name, kinds)
    if len(found) == 1:
        return found[0].id
    if not found:
        only = next(iter(kinds)).value if kinds and len(kinds) == 1 else None
        where = f"{only} list" if only else "search"
        raise NotFoundError(only or "entity", one_line(name[:80]), f"find its id with `forgekit {where}`")
    listed = [(match.short, match.title) for match in found[:_SHOWN]]
    if len(found) > _SHOWN:
        listed.append(("...", f"and {len(found) - _SHOWN} more; type more of the id"))
    raise AmbiguousError(name, listed)


def _exact(db: sqlite3.Connection, name: str) -> set[int]:
    """Return the rows that a name matches exactly."""
    text = storable(name.strip()[:_NAME_LIMIT])
    key = match_key(text)
    rows = set(column(db, "SELECT row FROM name WHERE key = ? AND key != ''", key))
    rows |= set(column(db, "SELECT row FROM entity WHERE id = ?", text.lower()))
    short = _SHORT.fullmatch(text.lower())
    if short and len(short[2]) == 12 and short[1] in _PREFIXES:
        kind = _PREFIXES[short[1]].value
        rows |= set(column(db, "SELECT row FROM entity WHERE tail = ? AND kind = ?", short[2], kind))
    tag, colon, local = text.rpartition(":")
    if colon and _LOCAL.fullmatch(local):
        for entity in _recorded(db, tag, local.upper()):
            rows |= set(column(db, "SELECT row FROM entity WHERE id = ?", entity))
    return rows


def _recorded(db: sqlite3.Connection, tag: str, local: str) -> list[str]:
    """Return the ids that a local id has in the archives of a tag."""
    query = """SELECT e.fields FROM name n JOIN entity e ON e.row = n.row
               WHERE n.key = ? AND e.kind = 'archive' AND e.compression_tag IS NOT NULL"""
    out = []
    for fields in column(db, query, match_key(tag)):
        try:
            records = json.loads(checked_text(fields)).get("records") or {}
            out += [checked_text(entity) for name, entity in records.items() if name.upper() == local]
        except (ValueError, AttributeError, RecursionError) as e:
            raise DamageError(str(e)) from e
    return out


def _partial(db: sqlite3.Connection, name: str, *, bare: bool) -> set[int]:
    """Return the rows whose id begins or ends with a name: `dec_` and digits, or four bare digits."""
    match = _SHORT.fullmatch(name.strip()[:60].lower())
    if not match or (match[1] not in _PREFIXES if match[1] else not bare):
        return set()
    digits = match[2].replace("-", "")
    if len(digits) < (1 if match[1] else 4):
        return set()
    if match[1]:
        query = "SELECT row FROM entity WHERE tail >= ?1 AND tail < ?1 || 'g' AND kind = ?2"
        return set(column(db, query, digits, _PREFIXES[match[1]].value))
    query = """SELECT row FROM entity WHERE hex >= ?1 AND hex < ?1 || 'g'
               UNION SELECT row FROM entity WHERE tail >= ?1 AND tail < ?1 || 'g'
               UNION SELECT row FROM entity WHERE substr(hex, -length(?1)) = ?1"""
    return set(column(db, query, digits))


def named_rows(db: sqlite3.Connection, query: str) -> set[int]:
    """Return the rows that a query names, as a whole or by a word that looks like an id."""
    rows = _exact(db, query)
    for word in query[:_NAME_LIMIT].split():
        bare = word.strip(".,;()[]`'\"?!")
        if re.fullmatch(_ID_LIKE, bare):
            rows |= _exact(db, bare)
    return rows


def _matches(
    db: sqlite3.Connection, rows: Collection[int], kinds: Collection[Kind] | None
) -> list[NameMatch]:
    query = """SELECT kind, id, title FROM entity
               WHERE row IN (SELECT value FROM json_each(?)) ORDER BY kind, id"""
    out = []
    for kind_text, id_text, title in db.execute(query, (json.dumps(list(rows)),)):
        kind, entity = checked_id(kind_text, id_text)
        if not kinds or kind in kinds:
            out.append(NameMatch(kind, entity, short_id(kind, entity), checked_text(title)))
    return out


def storable(text: str) -> str:
    """Return text that SQLite accepts: an argument of a command may hold bytes that are not UTF-8."""
    return text.encode("utf-8", "replace").decode()


def column(db: sqlite3.Connection, query: str, *values: str) -> list[Any]:
    """Return the first column of an answer."""
    return [row[0] for row in db.execute(query, values)]
