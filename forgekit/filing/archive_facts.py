"""What the filed archives say, read once per text, and what people registered beside them.

Every filing needs all archives, and reading one costs milliseconds. So what was read is cached under the
hash of the text and `reader_version`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from forgekit.archives import reader_version
from forgekit.frozen import frozen
from forgekit.ids import body_sha256, match_key
from forgekit.index.catalogue import Catalogue
from forgekit.model.archive_record import ArchiveText
from forgekit.model.entities import Archive, Candidate, Decision, Thread
from forgekit.model.kinds import Kind
from forgekit.model.registry import Registry
from forgekit.text.plain import from_plain, to_plain

if TYPE_CHECKING:
    from forgekit.archives.changes import ChangeSet
    from forgekit.archives.conversations import Ingested
    from forgekit.archives.fold import FoldResult

Fact = tuple[Archive, ArchiveText]


def facts(catalogue: Catalogue, archives: Iterable[Archive]) -> list[Fact]:
    """Return each archive with what its text says."""
    # The hash in the front matter may be another text's.
    return [(archive, read_once(catalogue, archive.body)) for archive in archives]


def read_once(catalogue: Catalogue, body: str) -> ArchiveText:
    """Return what the text of an archive says, from the cache where it was read before."""
    labels = catalogue.labels()
    text_hash, version = body_sha256(body), reader_version(labels)
    cached = catalogue.cached(text_hash, version)
    if cached is not None:
        try:
            return from_plain(ArchiveText, json.loads(cached))
        except ValueError:
            pass  # a damaged row is read again
    from forgekit.archives.read import read_archive

    text = read_archive(body, labels)
    catalogue.remember(text_hash, version, json.dumps(to_plain(text)))
    return text


def by_people(
    catalogue: Catalogue,
    known: Collection[Fact],
    remembered: Ingested,
    new: Iterable[Fact] = (),
    proposed: Iterable[Candidate] = (),
) -> tuple[Decision | Thread, ...]:
    """Return the manual entries that a record is about or refers to, active ones first, then older ones.

    Args:
        known: the filed archives; what their records made is no manual entry.
        remembered: likewise.
    """
    from forgekit.archives.conversations import Ingested, gather
    from forgekit.archives.fold import FoldResult, ids_of_records, named_by_records

    made = ids_of_records(known) | gather(FoldResult(), Ingested((), remembered.registered)).entities.keys()
    keys, tails = named_by_records((*known, *new))
    keys |= {match_key(candidate.candidate) for candidate in (*remembered.registered, *proposed)}
    found = catalogue.named((Kind.DECISION, Kind.THREAD), keys, tails)
    manual = [e for e in found if isinstance(e, (Decision, Thread)) and e.id not in made]
    return tuple(sorted(manual, key=lambda entity: (entity.status.ended, entity.created_at, entity.id)))


@frozen()
class Refolded:
    """All archives folded without and with new ones, and what that changes in the files as they are."""

    before: FoldResult
    after: FoldResult
    changes: ChangeSet


def refold(
    catalogue: Catalogue,
    ours: Registry,
    filed: Sequence[Fact],
    new: Sequence[Fact],
    remembered: Ingested,
    imported: Ingested | None = None,
    proposed: Sequence[Candidate] = (),
) -> Refolded:
    """Fold all archives and conversations without and with those that are being filed.

    Args:
        filed: the filed archives; a new one of the same id replaces its text.
        remembered: what is ingested already.
        imported: what is ingested after this filing, if that differs.
    """
    from forgekit.archives.changes import ChangeSet, settle
    from forgekit.archives.conversations import gather
    from forgekit.archives.fold import fold

    manual = by_people(catalogue, filed, remembered, new, proposed)
    before = gather(fold(filed, manual), remembered)
    if not new and imported is None:
        return Refolded(before, before, ChangeSet((), (), {}, ()))
    replaced = {archive.id for archive, _ in new}
    kept = (fact for fact in filed if fact[0].id not in replaced)
    after = gather(fold([*kept, *new], manual), imported or remembered)
    changes = ChangeSet((), (), {}, ()) if before == after else settle(before, after, ours, replaced)
    return Refolded(before, after, changes)
