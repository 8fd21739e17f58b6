"""Which entity a person means: by id, short id, external id, `TAG:D003`, tag, title, or a part of an id."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection
from typing import Any, NamedTuple

from forgekit.errors import AmbiguousError, NotFoundError
from forgekit.ids import EntityId, match_key
from forgekit.index.database import DamageError
from forgekit.index.rows import checked_id, checked_text
from forgekit.model.kinds import Kind, short_id
from forgekit.model.rules import one_line

_SHOWN = 20  # matches that an error lists
_PREFIXES = {kind.prefix: kind for kind in Kind}
_SHORT = re.compile(r"(?:([a-z]{3})_)?([0-9a-f-]{1,36})")
_LOCAL = re.compile(r"[A-Za-z]{1,3}\d{1,6}")
_NAME_LIMIT = 2_500
_ID_LIKE = re.compile(
    r"[a-z]{3}_[0-9a-f]{12}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\S+:[A-Za-z]+\d+", re.IGNORECASE
)


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
        db: a catalogue.
        name: any text.
        kinds: None for all.
        bare: whether a part of an id counts without the prefix of its kind; in a sentence it may be a word.
    """
    found = _matches(db, _exact(db, name), kinds)
    return found or _matches(db, _partial(db, name, bare=bare), kinds)


def resolve(db: sqlite3.Connection, name: str, kinds: Collection[Kind] | None = None) -> EntityId:
    """Return the one id that a name means.

    Raises NotFoundError or AmbiguousError.
    """
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
        if _ID_LIKE.fullmatch(bare):
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
