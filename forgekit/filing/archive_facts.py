"""What the filed archives say, read once per text.

Reading an archive costs milliseconds, and every filing needs all of them; so what was read is kept in the
cache under the hash of the text and that of the reader's code: what another reader made of a text may differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import forgekit
from forgekit.archives.conversations import Ingested, gather
from forgekit.archives.fold import FoldResult, coined
from forgekit.checks.texts import body_sha256
from forgekit.ids import EntityId
from forgekit.index.catalogue import Catalogue
from forgekit.model.archive import Archive
from forgekit.model.archive_record import ArchiveText
from forgekit.model.decision import Decision
from forgekit.model.kinds import Kind
from forgekit.model.registry import Registry
from forgekit.model.thread import Thread
from forgekit.text.plain import from_plain, to_plain

Fact = tuple[Archive, ArchiveText]


def facts(catalogue: Catalogue, archives: Iterable[Archive]) -> list[Fact]:
    """Return each archive with what its text says."""
    return [(archive, _read(catalogue, archive)) for archive in archives]


def by_people(
    catalogue: Catalogue, registry: Registry, known: Iterable[Fact], remembered: Ingested
) -> tuple[Decision | Thread, ...]:
    """Return what people registered: decisions and threads that no archive or candidate made.

    What is in force comes first, then what is older. Of the others only the ids are read.
    """
    made = coined(known) | gather(FoldResult(), Ingested((), remembered.registered)).entities.keys()
    ids = (EntityId(key) for key in catalogue.matching(kinds=(Kind.DECISION, Kind.THREAD)))
    found = (registry.get(key) for key in ids if key not in made)
    own = [entity for entity in found if isinstance(entity, (Decision, Thread))]
    return tuple(sorted(own, key=lambda entity: (entity.status.ended, entity.created_at, entity.id)))


def _read(catalogue: Catalogue, archive: Archive) -> ArchiveText:
    text_hash = body_sha256(archive)  # its front matter may claim another
    kept = catalogue.cached(text_hash, _reader())
    if kept is not None:
        try:
            return from_plain(ArchiveText, json.loads(kept))
        except ValueError:
            pass  # a damaged row is read anew
    from forgekit.archives.read import read_archive

    text = read_archive(archive.body)
    catalogue.remember(text_hash, _reader(), json.dumps(to_plain(text)))
    return text


@cache
def _reader() -> str:
    """Return the SHA-256 of the code that reads archives: a number by hand is forgotten."""
    root = Path(forgekit.__file__).parent
    files = sorted([p for room in ("text", "archives", "model") for p in (root / room).rglob("*.py")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
