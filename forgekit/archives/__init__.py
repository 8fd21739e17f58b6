"""What archives state: `read_archive` reads one text, `fold` joins all of them, `settle` finds what to write.

Order of reading: `document` (Markdown structure), `logs`, `records`, `notes`, `updates`, `differences` (of a
parent's records); `tagged` with `tokens`, `tagger`, `spans`, `layout`, `columns`, `grouping` (what has no
known label); `remarks`, `claims` (values, merging), `heads` and `metadata` (what an archive says of itself),
`read`.
Order of joining: `ancestry` with `descriptions`, `fold`, `aggregate`, `conversations`, `changes`. `states`
reads what the words of a state mean, `machine_block` writes records as a block.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forgekit.model.settings import OwnLabels

READER_VERSION = "41"
"""Raise it when `read_archive` reads a text in another way: it is part of the key of the reader's cache."""


def reader_version(labels: OwnLabels = ()) -> str:
    """Return the version of the reader with a registry's own labels."""
    if not labels:
        return READER_VERSION
    return f"{READER_VERSION}:{hashlib.sha256(repr(labels).encode()).hexdigest()[:16]}"
