"""The merge of one entity's file, bytes in and bytes out: what the merge driver and `forgekit sync` share.

The files are read, merged by fields and written canonically; comments in the front matter go along. What
comes out can always be read again: if one of two files cannot be read, the other is kept, with
the whole text of the first among its conflicting edits.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, cast

from forgekit.errors import FormatError, RuleError
from forgekit.ids import EntityId
from forgekit.merge import conflicting_edits
from forgekit.merge.conflicting_edits import FieldConflict
from forgekit.merge.merge import Sides, reconcile, united
from forgekit.model.entities import Entity
from forgekit.model.kinds import Kind
from forgekit.text import codec, edit, frontmatter

UNREADABLE = "unreadable file"


@dataclass(frozen=True, kw_only=True, slots=True)
class MergedFile:
    """A merged file (None: deleted).

    Attributes:
        conflicts: what a person has to choose.
        overridden: what a rule on times or states decided.
    """

    data: bytes | None
    conflicts: tuple[FieldConflict, ...] = ()
    overridden: tuple[FieldConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class _Read:
    """A file that could be read."""

    text: str
    entity: Entity
    comments: frozenset[str]


def merge_file(
    kind: Kind, owner: EntityId, base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> MergedFile:
    """Merge the states of one entity's file; the same from either side.

    Args:
        kind: from its path.
        owner: the id in its path.
        base: the state both come from; None where there is none.
        ours: None where this side deleted it.
        theirs: likewise.

    Raises FormatError when neither side can be read, or the result would be too large to be.
    """
    if theirs in (ours, base):
        return MergedFile(data=ours)
    if ours == base:
        return MergedFile(data=theirs)
    if ours is None or theirs is None:
        changed = theirs if ours is None else ours
        conflict = FieldConflict(field="", base=None, winner="changed", loser="deleted")
        return MergedFile(data=changed, conflicts=(conflict,))
    first, second = _read(kind, owner, ours), _read(kind, owner, theirs)
    if isinstance(first, FormatError) or isinstance(second, FormatError):
        return _beside(first, second, ours, theirs)
    known = None if base is None else _read(kind, owner, base)
    start = known if isinstance(known, _Read) else None
    merged = reconcile(None if start is None else start.entity, first.entity, second.entity)
    assert merged.entity is not None  # noqa: S101 - neither side deleted it
    sides = Sides(start.comments if start else (), first.comments, second.comments)
    data = _written(merged.entity, (first, second), united(sides))
    return MergedFile(data=data, conflicts=merged.conflicts, overridden=merged.overridden)


def _read(kind: Kind, owner: EntityId, data: bytes) -> _Read | FormatError:
    try:
        text = frontmatter.decode(data)
        entity = codec.loads(kind, text)
        if entity.id != owner:
            return FormatError("is not the id in the file's name", field=kind.id_field)
        return _Read(text, entity, frozenset(edit.comments(text)))
    except FormatError as e:
        return e


def _beside(
    first: _Read | FormatError, second: _Read | FormatError, ours: bytes, theirs: bytes
) -> MergedFile:
    """Keep the side that can be read, with the text of the other among its conflicting edits."""
    good, raw = (first, theirs) if isinstance(first, _Read) else (second, ours)
    if not isinstance(good, _Read) or good.entity.kind.quoted:
        raise first if isinstance(first, FormatError) else cast(FormatError, second)
    text = frontmatter.decode(raw).replace("\r\n", "\n").replace("\r", "\n")
    rest, standing = conflicting_edits.taken(good.entity.body)
    body = conflicting_edits.put(rest, {*standing, conflicting_edits.quoted(UNREADABLE, text)})
    entity: Entity = dataclasses.replace(cast(Any, good.entity), body=body)
    conflict = FieldConflict(field=UNREADABLE, base=None, winner=good.text, loser=text)
    return MergedFile(data=_written(entity, (good,), set(good.comments)), conflicts=(conflict,))


def _written(entity: Entity, sides: tuple[_Read, ...], wanted: set[str]) -> bytes:
    """Return the file of a merged entity: a side's own where it is equal, else written anew."""
    same = [side.text for side in sides if side.entity == entity and side.comments == wanted]
    if same:
        text = max(same)
    elif not wanted:
        text = codec.dumps(entity)
    else:
        text = _with_comments(entity, sides, wanted)
    data = text.encode()
    frontmatter.decode(data)  # what is too large to be read is not written
    return data


def _with_comments(entity: Entity, sides: tuple[_Read, ...], wanted: set[str]) -> str:
    """Return the side's text that holds most of the comments, edited; those it lacks go at the end."""
    most = max(sides, key=lambda side: (len(side.comments & wanted), side.text))
    try:
        text = edit.update(most.text, entity)
    except RuleError:  # a form that cannot be edited in place
        text = codec.dumps(entity)
    return edit.with_comments(text, sorted(wanted.difference(edit.comments(text))))
