"""The catalogue's tables, and how an entity becomes rows and comes back.

Whoever can write to the cache can write anything, and disks fail: rows are read as text with a shape, never
as objects, and whatever does not fit raises DamageError, upon which the database is thrown away.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from forgekit import __version__
from forgekit.errors import FormatError, StoreError
from forgekit.ids import is_id, match_key
from forgekit.model.kinds import Kind
from forgekit.text.words import indexed

if TYPE_CHECKING:
    from forgekit.model.entity import Entity

TOKENIZER = "porter unicode61 remove_diacritics 2"
MADE_BY = f"schema 5, forgekit {__version__}, {TOKENIZER}"
"""A database that says anything else is made anew."""

_TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE folder (path TEXT PRIMARY KEY, fingerprint BLOB, problems TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file (
    row INTEGER PRIMARY KEY, folder TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL,
    mtime INTEGER NOT NULL, inode INTEGER NOT NULL, ctime INTEGER NOT NULL, checked INTEGER NOT NULL,
    blob TEXT NOT NULL, problem TEXT, UNIQUE (folder, name));
CREATE INDEX file_problem ON file (row) WHERE problem IS NOT NULL;
CREATE TABLE entity (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, hex TEXT NOT NULL, tail TEXT NOT NULL,
    kind TEXT NOT NULL, blob TEXT NOT NULL, title TEXT NOT NULL, project_key TEXT, fields TEXT NOT NULL,
    body TEXT NOT NULL, [columns]);
CREATE INDEX entity_hex ON entity (hex);
CREATE INDEX entity_tail ON entity (tail);
CREATE INDEX entity_kind ON entity (kind);
CREATE TABLE name (key TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (key, row)) WITHOUT ROWID;
CREATE INDEX name_row ON name (row);
CREATE VIRTUAL TABLE words USING fts5 (title, body, names, tokenize = '{TOKENIZER}');
CREATE TABLE message (
    row INTEGER PRIMARY KEY, entity INTEGER NOT NULL, number INTEGER NOT NULL, speaker TEXT NOT NULL,
    time INTEGER, conversation TEXT NOT NULL, title TEXT NOT NULL, project_uuid TEXT NOT NULL,
    project_name TEXT NOT NULL, project_key TEXT NOT NULL);
CREATE INDEX message_entity ON message (entity);
CREATE VIRTUAL TABLE message_words USING fts5 (text, tokenize = '{TOKENIZER}');
CREATE TABLE fact (blob TEXT NOT NULL, version TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (blob, version));
"""

_NO_WORD = re.compile(r"\d{4}-\d{2}-\d{2}[T ].*")


class DamageError(Exception):
    """The database is not what this version wrote."""


def create(db: sqlite3.Connection) -> None:
    """Make the tables of an empty database, in the caller's transaction.

    Raises StoreError where SQLite was built without full-text search.
    """
    from forgekit.model.fields import catalogue_columns

    columns = ", ".join(f"{name} TEXT" for name in catalogue_columns())
    for statement in _TABLES.replace("[columns]", columns).strip().split(";\n"):
        try:
            db.execute(statement)
        except sqlite3.OperationalError as e:
            if "no such module" not in str(e):
                raise
            raise StoreError("this Python's SQLite lacks FTS5; use a Python that has it") from e
    db.execute("INSERT INTO meta VALUES ('made_by', ?), ('instance', hex(randomblob(16)))", (MADE_BY,))


def drop_all(db: sqlite3.Connection) -> None:
    """Empty a sound database that another version made, in the caller's transaction."""
    for index in ("words", "message_words"):
        db.execute(f"DROP TABLE IF EXISTS {index}")
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in names:
        if not name.startswith("sqlite_"):
            db.execute('DROP TABLE IF EXISTS "{}"'.format(name.replace('"', '""')))


def made_by(db: sqlite3.Connection) -> str | None:
    """Return who made the database, or None where it has no such mark."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").fetchone():
        return None
    found = db.execute("SELECT value FROM meta WHERE key = 'made_by'").fetchone()
    return str(found[0]) if found else None


def memory_of(entities: Iterable[Entity]) -> sqlite3.Connection:
    """Return an in-memory catalogue of any entities; it answers as the one of their files would."""
    from forgekit.text.codec import to_fields

    db = sqlite3.connect(":memory:", isolation_level=None)
    create(db)
    with db:
        db.execute("BEGIN")
        for row, entity in enumerate(entities, 1):
            put(db, row, "", entity, to_fields(entity))
    return db


def put(db: sqlite3.Connection, row: int, blob: str, entity: Entity, fields: Mapping[str, Any]) -> None:
    """Write the rows of one entity.

    Args:
        db: inside a transaction.
        row: free in all tables.
        blob: the git blob id of its file, "" where there is none.
        entity: what to write.
        fields: what `from_fields` makes the entity of.
    """
    from forgekit.model.fields import catalogue_columns

    columns = [fields.get(name) if hasattr(entity, name) else None for name in catalogue_columns()]
    project, title = getattr(entity, "project_name", None), entity.title
    db.execute(
        f"INSERT INTO entity VALUES ({', '.join('?' * (10 + len(columns)))})",  # noqa: S608 - marks only
        (
            row,
            entity.id,
            entity.id.replace("-", ""),
            entity.id[-12:],
            entity.kind.value,
            blob,
            title,
            project and match_key(project),
            json.dumps(fields),
            entity.body,
            *columns,
        ),
    )
    # An edge shows the tags of its archives, a candidate words that a decision may have: neither is a name.
    own = entity.kind.registered and entity.kind is not Kind.LINEAGE
    tag, external = getattr(entity, "compression_tag", None), getattr(entity, "external_id", None)
    named = (external, tag, title if own else None)
    db.executemany(
        "INSERT OR IGNORE INTO name VALUES (?, ?)", [(match_key(name), row) for name in named if name]
    )
    if not entity.kind.registered:  # no words: no search finds it, nor counts it among the texts
        if entity.kind is Kind.TRANSCRIPT:
            _put_messages(db, row, entity)
        return
    names = " ".join((entity.id[-12:], *_words({k: v for k, v in fields.items() if v != title})))
    db.execute(
        "INSERT INTO words (rowid, title, body, names) VALUES (?, ?, ?, ?)",
        (row, indexed(title), indexed(entity.body), indexed(names)),
    )


def _put_messages(db: sqlite3.Connection, row: int, kept: Any) -> None:
    """Write a row for each turn of a kept text."""
    from forgekit.text.transcript import read_messages

    about = (
        kept.conversation_id,
        kept.title,
        kept.project_uuid,
        kept.project_name,
        match_key(kept.project_name),
    )
    for message in read_messages([kept.body]):
        place = (row, message.number, message.speaker.value, message.time, *about)
        added = db.execute(
            "INSERT INTO message (entity, number, speaker, time, conversation, title, project_uuid,"
            " project_name, project_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            place,
        )
        db.execute(
            "INSERT INTO message_words (rowid, text) VALUES (?, ?)", (added.lastrowid, indexed(message.text))
        )


def drop(db: sqlite3.Connection, row: int) -> None:
    """Remove the rows of one entity, if it has any."""
    if db.execute("DELETE FROM entity WHERE row = ?", (row,)).rowcount:
        db.execute("DELETE FROM name WHERE row = ?", (row,))
        db.execute("DELETE FROM words WHERE rowid = ?", (row,))
        said = "SELECT row FROM message WHERE entity = ?"
        db.execute(f"DELETE FROM message_words WHERE rowid IN ({said})", (row,))  # noqa: S608 - a constant
        db.execute("DELETE FROM message WHERE entity = ?", (row,))


def entity_of(kind: object, fields: object, body: object) -> Entity:
    """Build an entity from its row.

    Raises DamageError.
    """
    from forgekit.text.codec import from_fields

    try:
        tree = json.loads(checked_text(fields))
        if not isinstance(tree, dict) or not _is_plain(tree):
            raise DamageError("fields of another shape")
        return from_fields(Kind(kind), tree, checked_text(body))
    except (ValueError, FormatError, RecursionError) as e:
        raise DamageError(str(e)) from e


def checked_id(kind: object, entity: object) -> tuple[Kind, str]:
    """Return kind and id as a row holds them.

    Raises DamageError.
    """
    try:
        found = Kind(kind)
    except ValueError as e:
        raise DamageError(str(e)) from e
    if not isinstance(entity, str) or not is_id(entity):
        raise DamageError("an id of another shape")
    return found, entity


def checked_text(value: object) -> str:
    """Return a text column's value.

    Raises DamageError.
    """
    # A file that holds NUL is never taken in, so one here stems from a page of zeros.
    if not isinstance(value, str) or "\x00" in value:
        raise DamageError("text of another shape")
    return value


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        return True
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, dict) and all(map(_is_plain, value.values()))


def _words(fields: Mapping[str, Any]) -> Iterable[str]:
    """Yield what a person may look for among the fields; the title has its own place."""
    from forgekit.model.fields import unsearched

    for key, value in fields.items():
        if key not in unsearched():
            yield from _leaves(value)


def _leaves(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        if not is_id(value) and not _NO_WORD.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        yield from _words(value)
    else:
        for item in value:
            yield from _leaves(item)
