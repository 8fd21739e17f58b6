"""The kinds of entity, and what each is called in ids, folders and front matter."""

from __future__ import annotations

from enum import Enum
from typing import Self

from forgekit.ids import EntityId, timestamp
from forgekit.times import month

UNSORTED = "Unsorted"
"""The project of conversations whose project is unknown."""
ENTITY_LIMIT = 4_000_000
"""Bytes of the longest file of an entity that is read."""


class Kind(Enum):
    """A kind of entity: its noun on the command line, the prefix of its short ids, and its folder."""

    PROJECT = "project", "prj", "registry/projects"
    CONVERSATION = "conversation", "con", "registry/conversations"
    THREAD = "thread", "thr", "registry/threads"
    DECISION = "decision", "dec", "registry/decisions"
    LINEAGE = "lineage", "lin", "registry/lineage"
    CONFLICT = "conflict", "cfl", "registry/conflicts"
    CANDIDATE = "candidate", "can", "registry/candidates"
    NOTE = "note", "nte", "registry/notes"
    TOPIC = "topic", "top", "registry/topics"
    CONVENTION = "convention", "cnv", "registry/conventions"
    TRANSCRIPT = "transcript", "trn", "archives/transcripts"
    ARCHIVE = "archive", "arc", "archives"

    prefix: str
    folder: str
    _value_: object

    def __new__(cls, noun: object, prefix: str = "", folder: str = "") -> Self:  # noqa: D102 - of Enum
        kind = object.__new__(cls)
        kind._value_, kind.prefix, kind.folder = noun, prefix, folder
        return kind

    @property
    def id_field(self) -> str:
        """The front-matter key that holds the id."""
        return "project_uuid" if self is Kind.PROJECT else f"{self.value}_id"

    @property
    def dated(self) -> bool:
        """Whether its ids hold a time, and its files lie in a folder for each month."""
        return self not in {Kind.PROJECT, Kind.CONVENTION}

    @property
    def quoted(self) -> bool:
        """Whether the body is a text kept as it was, without sections of ours."""
        return self in {Kind.TRANSCRIPT, Kind.ARCHIVE}

    @property
    def registered(self) -> bool:
        """Whether it is part of the register itself: searched, compared, and shown in blocks."""
        return self not in {Kind.CANDIDATE, Kind.TRANSCRIPT}


def short_id(kind: Kind, entity: EntityId) -> str:
    """Return what people type and see: the prefix and the last 12 hex digits."""
    return f"{kind.prefix}_{entity[-12:]}"


def is_short(name: str) -> bool:
    """Say whether the name of a record in an archive is a short id, used where there is no local id."""
    return "_" in name


def path_of(kind: Kind, entity: EntityId) -> str:
    """Return the one path an entity can have, relative to the registry's root."""
    if not kind.dated:
        return f"{kind.folder}/{entity}.md"
    return f"{kind.folder}/{month(timestamp(entity))}/{entity}.md"


_BY_FOLDER = {kind.folder: kind for kind in Kind}


def kind_of_path(path: str) -> Kind | None:
    """Return the kind whose folder, or a folder in that, holds a path; else None."""
    folder = path.rpartition("/")[0]
    return _BY_FOLDER.get(folder) or _BY_FOLDER.get(folder.rpartition("/")[0])
