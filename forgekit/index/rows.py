"""The catalogue's tables, and how an entity becomes rows and comes back.

Anything can be in a cache file: another program may have written it, and disks fail. Rows are read as text
of a known shape, never as objects; any other shape raises DamageError, and the database is made anew.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from forgekit import __version__
from forgekit.ids import EntityId, is_id, match_key
from forgekit.index.database import DamageError, create
from forgekit.model.kinds import Kind
from forgekit.model.rules import UNSETTLED, UNSETTLED_KEY
from forgekit.text.words import indexed, words

if TYPE_CHECKING:
    from forgekit.model.entities import Decision, Entity, Thread

_TOKENIZER = "porter unicode61 remove_diacritics 2"
MADE_BY = f"schema 13, forgekit {__version__}, {_TOKENIZER}"
"""Names the layout; a catalogue made by another version is rebuilt."""

_REFERRING = ("dependencies", "blocked_by")
"""Fields whose references are followed backwards."""

_TABLES = f"""
CREATE TABLE folder (path TEXT PRIMARY KEY, fingerprint BLOB, problems TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file (
    row INTEGER PRIMARY KEY, folder TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL,
    mtime INTEGER NOT NULL, inode INTEGER NOT NULL, ctime INTEGER NOT NULL, checked INTEGER NOT NULL,
    blob TEXT NOT NULL, problem TEXT, UNIQUE (folder, name));
CREATE INDEX file_problem ON file (row) WHERE problem IS NOT NULL;
CREATE TABLE entity (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, hex TEXT NOT NULL, tail TEXT NOT NULL,
    kind TEXT NOT NULL, blob TEXT NOT NULL, title TEXT NOT NULL, project_key TEXT, fields TEXT NOT NULL,
    body TEXT NOT NULL, sum INTEGER NOT NULL, [columns]);
CREATE INDEX entity_hex ON entity (hex);
CREATE INDEX entity_tail ON entity (tail);
CREATE INDEX entity_kind ON entity (kind, status, project_uuid, id, blob);
CREATE INDEX entity_governs ON entity (kind, status, id) WHERE instr(fields, '"governs"');
CREATE TABLE name (key TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (key, row)) WITHOUT ROWID;
CREATE INDEX name_row ON name (row);
CREATE TABLE reference (
    target TEXT NOT NULL, field TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (target, field, row)
) WITHOUT ROWID;
CREATE INDEX reference_row ON reference (row);
CREATE TABLE active (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL, kind TEXT NOT NULL, project_uuid TEXT NOT NULL,
    created INTEGER NOT NULL, conversations TEXT NOT NULL, tier REAL, validated INTEGER, priority TEXT);
CREATE TABLE decision_word (
    word TEXT NOT NULL, row INTEGER NOT NULL, project TEXT, PRIMARY KEY (word, row)) WITHOUT ROWID;
CREATE INDEX decision_word_row ON decision_word (row);
CREATE TABLE unsettled (row INTEGER PRIMARY KEY);
CREATE VIRTUAL TABLE words USING fts5 (title, body, names, tokenize = '{_TOKENIZER}');
CREATE TABLE message (
    row INTEGER PRIMARY KEY, entity INTEGER NOT NULL, number INTEGER NOT NULL, speaker TEXT NOT NULL,
    time INTEGER, conversation TEXT NOT NULL, title TEXT NOT NULL, project_uuid TEXT NOT NULL,
    project_name TEXT NOT NULL, project_key TEXT NOT NULL);
CREATE INDEX message_entity ON message (entity);
CREATE VIRTUAL TABLE message_words USING fts5 (text, tokenize = '{_TOKENIZER}');
CREATE TABLE fact (hash TEXT NOT NULL, version TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (hash, version));
"""

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ].*")


def tables() -> str:
    """Return the statements that make the catalogue; `FIELDS` names the fields that have a column."""
    from forgekit.model.entities import flagged

    return _TABLES.replace("[columns]", ", ".join(f"{name} TEXT" for name in flagged("column")))


def memory_of(entities: Iterable[Entity]) -> sqlite3.Connection:
    """Return a catalogue in memory of any entities; it answers as the one of their files would."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    with db:
        db.execute("BEGIN")
        create(db, MADE_BY, tables())
        for row, entity in enumerate(entities, 1):
            put(db, row, "", entity)
    return db


def put(db: sqlite3.Connection, row: int, blob: str, entity: Entity) -> None:
    """Write the rows of one entity.

    Args:
        db: inside a transaction.
        row: free in all tables.
        blob: the git blob id of its file, "" where there is none.
    """
    from forgekit.model.entities import Decision, Note, Thread, flagged
    from forgekit.text.codec import to_fields

    fields = to_fields(entity)
    project, title = getattr(entity, "project_name", None), entity.title
    tag, external = getattr(entity, "compression_tag", None), getattr(entity, "external_id", None)
    columns = (
        row,
        entity.id,
        entity.id.replace("-", ""),
        entity.id[-12:],
        entity.kind.value,
        blob,
        title,
        project and match_key(project),
        text := json.dumps(fields),
        entity.body,
        _sum(entity.id, entity.kind.value, text, entity.body),
        *(fields.get(name) if hasattr(entity, name) else None for name in flagged("column")),
    )
    db.execute(f"INSERT INTO entity VALUES ({', '.join('?' * len(columns))})", columns)  # noqa: S608 - question marks only
    # An edge shows the tags of its archives, a candidate words that a decision may have: neither is a name.
    own = entity.kind.registered and entity.kind is not Kind.LINEAGE
    named = [match_key(name) for name in (external, tag, title if own else None) if name]
    db.executemany("INSERT OR IGNORE INTO name VALUES (?, ?)", [(key, row) for key in named])
    named_in = (
        (target, name, row) for name in _REFERRING for target in getattr(entity, name, ()) if is_id(target)
    )
    db.executemany("INSERT OR IGNORE INTO reference VALUES (?, ?, ?)", named_in)
    if isinstance(entity, Decision) and not entity.status.ended:
        _put_decision_words(db, row, entity)
        _put_active(db, row, entity, tier=entity.epistemic_tier, validated=entity.last_validated)
    elif isinstance(entity, Thread) and not entity.status.ended:
        _put_active(db, row, entity, priority=entity.priority.value)
    is_unsettled = f"\n## {UNSETTLED}" in f"\n{entity.body}"
    if is_unsettled or UNSETTLED_KEY in entity.extra:
        db.execute("INSERT INTO unsettled VALUES (?)", (row,))
    if entity.kind.registered:
        names = " ".join((entity.id[-12:], *_words({k: v for k, v in fields.items() if v != title})))
        text = entity.text if isinstance(entity, Note) else entity.body
        if is_unsettled and not isinstance(entity, Note):
            from forgekit.merge import conflicting_edits

            text = conflicting_edits.split_entries(text)[0]
        texts = (row, indexed(title), indexed(text), indexed(names))
        db.execute("INSERT INTO words (rowid, title, body, names) VALUES (?, ?, ?, ?)", texts)
    elif entity.kind is Kind.TRANSCRIPT:
        _put_messages(db, row, entity)


def _put_active(db: sqlite3.Connection, row: int, entity: Decision | Thread, **placed: Any) -> None:
    """Write what an active decision or an open thread is sorted and aged by."""
    values = (row, entity.id, entity.kind.value, entity.project_uuid, entity.created_at)
    conversations = json.dumps(entity.conversation_ids)
    columns = (*values, conversations, *(placed.get(name) for name in ("tier", "validated", "priority")))
    db.execute("INSERT INTO active VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", columns)


def _put_decision_words(db: sqlite3.Connection, row: int, decision: Decision) -> None:
    """Write the words of an active decision and of what it rejected.

    Those of its own text name its project, if the blocks of other projects may show it.
    """
    project = None if decision.speculative else decision.project_uuid
    terms = dict.fromkeys(words(" ".join(decision.alternatives_rejected)))
    terms |= dict.fromkeys(words(decision.decision), project)
    rows = [(word, row, of) for word, of in terms.items()]
    db.executemany("INSERT INTO decision_word VALUES (?, ?, ?)", rows)


def _put_messages(db: sqlite3.Connection, row: int, kept: Any) -> None:
    """Write a row for each turn of a transcript."""
    from forgekit.text.transcript import read_messages

    project = (kept.project_uuid, kept.project_name, match_key(kept.project_name))
    insert = "INSERT INTO message VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    for m in read_messages([kept.body]):
        turn = (row, m.number, m.speaker.value, m.time, kept.conversation_id, kept.title, *project)
        added = db.execute(insert, turn).lastrowid
        db.execute("INSERT INTO message_words (rowid, text) VALUES (?, ?)", (added, indexed(m.text)))


def drop(db: sqlite3.Connection, row: int) -> None:
    """Remove the rows of one entity, if it has any."""
    if db.execute("DELETE FROM entity WHERE row = ?", (row,)).rowcount:
        for table in ("name", "reference", "active", "decision_word", "unsettled"):
            db.execute(f"DELETE FROM {table} WHERE row = ?", (row,))  # noqa: S608 - one of these
        db.execute("DELETE FROM words WHERE rowid = ?", (row,))
        turns = "SELECT row FROM message WHERE entity = ?"
        db.execute(f"DELETE FROM message_words WHERE rowid IN ({turns})", (row,))  # noqa: S608 - a constant
        db.execute("DELETE FROM message WHERE entity = ?", (row,))


ENTITY = "SELECT id, kind, fields, body, sum FROM entity"
"""What `entity_of` is made from."""


def _sum(entity: str, kind: str, fields: str, body: str) -> int:
    return zlib.crc32(f"{entity} {kind} {fields} {body}".encode("utf-8", "surrogatepass"))


def entity_of(key: object, kind: object, fields: object, body: object, checksum: object) -> Entity:
    """Build an entity from its row.

    The values were checked when the row was written, and its checksum proves that they are the same.

    Raises DamageError.
    """
    from forgekit.model.entities import unread

    text, rest = checked_text(fields), checked_text(body)
    if checksum != _sum(str(key), str(kind), text, rest):
        raise DamageError("another checksum")
    return unread(Kind(kind), EntityId(str(key)), text, rest)


def checked_id(kind: object, entity: object) -> tuple[Kind, EntityId]:
    """Return the kind and id in a row; raises DamageError."""
    try:
        found = Kind(kind)
    except ValueError as e:
        raise DamageError(str(e)) from e
    if not isinstance(entity, str) or not is_id(entity):
        raise DamageError("an id of another shape")
    return found, EntityId(entity)


def checked_text(value: object) -> str:
    """Return the value of a text column; raises DamageError."""
    # Files with NUL are never indexed, so one here comes from a page of zeros.
    if not isinstance(value, str) or "\x00" in value:
        raise DamageError("text of another shape")
    return value


def _words(value: Any) -> Iterator[str]:
    """Yield what a person may search for among fields; the title has its own column."""
    if isinstance(value, str):
        if not is_id(value) and not _TIME.fullmatch(value):
            yield value
        return
    if isinstance(value, dict):
        from forgekit.model.entities import unsearched

        value = [item for key, item in value.items() if key not in unsearched()]
    for item in value:
        yield from _words(item)
