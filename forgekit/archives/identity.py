"""From an archive's text to the archive's identity: which conversation, when, under which tag.

Pure: the same text and the same options give the same ids on every machine. An archive that names no
conversation stands for `v8(uuid5(P, session id or title), Created)`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from forgekit.ids import EntityId, archive_id, conversation_id, is_id, normalise, project_id, timestamp
from forgekit.model.archive import Archive
from forgekit.model.archive_record import ArchiveText
from forgekit.model.lineage import CompressionMode
from forgekit.model.rules import one_line
from forgekit.times import Instant


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportOptions:
    """What is known of an archive besides its text; None leaves it to the text.

    Attributes:
        project: where it belongs, whatever the text says.
        at: event time, where the text says none.
        external_id: the platform's own uuid of the conversation.
        inherits_from: parents to add to those that the text names.
    """

    project: str | None = None
    at: Instant | None = None
    tag: str | None = None
    session_id: str | None = None
    external_id: str | None = None
    title: str | None = None
    inherits_from: tuple[str, ...] = ()


def identify(raw: str, text: ArchiveText, envelope: ImportOptions, project_name: str) -> Archive:
    """Return the archive as it will be filed; `records` stays empty until the fold fills it.

    Args:
        raw: the archive, every byte of it, as text.
        text: what was read from it.
        envelope: what the person or the transcript adds.
        project_name: where it belongs.
    """
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
