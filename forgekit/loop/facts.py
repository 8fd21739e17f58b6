"""What the filed archives say, read once per text.

Reading an archive costs milliseconds, and every filing needs all of them; so what was read is kept in the
cache under the hash of the text and the version of the reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from forgekit import __version__
from forgekit.catalogue.catalogue import Catalogue
from forgekit.model.archive import Archive
from forgekit.model.records import ArchiveText
from forgekit.policy.fold import Said, fold
from forgekit.text.plain import from_plain, to_plain

Fact = tuple[Archive, ArchiveText]


def facts(catalogue: Catalogue, archives: Iterable[Archive]) -> list[Fact]:
    """Return each archive with what its text says."""
    return [(archive, _read(catalogue, archive)) for archive in archives]


def said(catalogue: Catalogue, archives: Iterable[Archive]) -> Said:
    """Return what the archives say, all of them together."""
    return fold(facts(catalogue, archives))


def _read(catalogue: Catalogue, archive: Archive) -> ArchiveText:
    kept = catalogue.cached(archive.content_sha256, __version__)
    if kept is not None:
        try:
            return from_plain(ArchiveText, json.loads(kept))
        except ValueError:
            pass  # a damaged row is read anew
    from forgekit.text.archive import read_archive  # noqa: PLC0415 - only a text not seen before needs it

    text = read_archive(archive.body)
    catalogue.remember(archive.content_sha256, __version__, json.dumps(to_plain(text)))
    return text
