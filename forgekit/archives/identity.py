"""Derive the identity of an archive: its conversation, time, tag and ids.

In: the text, what was read from it, and import options. Out: an `Archive` without `records`, which the fold
fills. The same text and options give the same ids on every machine. An archive that names no conversation
belongs to the conversation `v8(uuid5(P, session id or title), Created)`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from forgekit.ids import EntityId, archive_id, conversation_id, is_id, normalise, project_id, timestamp
from forgekit.model.archive_record import ArchiveText
from forgekit.model.entities import Archive, CompressionMode
from forgekit.model.rules import one_line
from forgekit.times import Instant


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportOptions:
    """What a person or a transcript states about an archive besides its text.

    `project` and `title` win over the text, the others count if the text has none; `inherits_from` are
    parents besides those in the text; `external_id` is the platform's own uuid of the conversation.
    """

    project: str | None = None
    at: Instant | None = None
    tag: str | None = None
    session_id: str | None = None
    external_id: str | None = None
    title: str | None = None
    inherits_from: tuple[str, ...] = ()


def identify(raw: str, text: ArchiveText, envelope: ImportOptions, project_name: str) -> Archive:
    """Return the archive as it will be filed, from its whole text and what was read from that."""
    digest = hashlib.sha256(raw.encode()).hexdigest()
    project_name = normalise(project_name)
    project = project_id(project_name)
    named = text.conversation or envelope.external_id
    own = EntityId(named) if named and is_id(named) and named[14] == "8" else None
    at = next((t for t in (text.created, envelope.at) if t is not None), None)
    if at is None:
        at = Instant(timestamp(named) if named else 0)
    session = text.session_id or envelope.session_id
    tag = text.tag or envelope.tag
    title = one_line(envelope.title or text.title or session or tag or digest[:16])
    conversation = own or conversation_id(project, session or title, at)
    turns = f"{text.turn_range[0]}-{text.turn_range[1]}" if text.turn_range else "all"
    parents = [p for p in (*envelope.inherits_from, *text.inherits_from) if p not in (tag, conversation)]
    return Archive(
        archive_id=archive_id(project, conversation, turns, at),
        compression_tag=one_line(tag) if tag else f"ARCHIVE-{digest[:12]}",
        compression_mode=text.mode or CompressionMode.LOSSLESS,
        compressed_at=at,
        conversation_id=conversation,
        conversation_title=title,
        conversation_started=Instant(timestamp(conversation)),
        session_id=one_line(session) if session else None,
        external_id=named if named and own is None else None,
        project_name=project_name,
        project_uuid=project,
        turn_range=text.turn_range,
        inherits_from=tuple(dict.fromkeys(one_line(p) for p in parents)),
        content_sha256=digest,
        body=raw,
    )
