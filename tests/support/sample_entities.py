"""Small registries, built by hand: everything that a test does not name has a sensible value."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

from forgekit import ids
from forgekit.ids import EntityId
from forgekit.model.entities import (
    Archive,
    Compression,
    CompressionMode,
    Conflict,
    Conversation,
    Decision,
    Lineage,
    Project,
    Thread,
)
from forgekit.times import DAY_MS, Instant

START = 1_700_000_000_000
NAME = "Ledger"
P = ids.project_id(NAME)
PROJECT = Project(project_uuid=P, project_name=NAME)
LOSSLESS, PARTIAL = CompressionMode.LOSSLESS, CompressionMode.PARTIAL


def day(number: int) -> Instant:
    """Return a moment, so many days after the start."""
    return Instant(START + number * DAY_MS)


def conversation(name: str, at: int = 0) -> Conversation:
    return Conversation(
        conversation_id=ids.conversation_id(P, name, day(at)),
        title=name,
        project_name=NAME,
        project_uuid=P,
        created_at=day(at),
    )


def decision(text: str, origin: Conversation, *carried: Conversation, **more: Any) -> Decision:
    seen = (origin, *carried)
    values: dict[str, Any] = {
        "decision_id": ids.decision_id(P, text, origin.id),
        "originated_in": origin.id,
        "conversation_ids": tuple(c.id for c in seen),
        "created_at": origin.created_at,
        "last_validated": max(c.created_at for c in seen),
    }
    return Decision(decision=text, project_name=NAME, project_uuid=P, **(values | more))


def thread(title: str, origin: Conversation, **more: Any) -> Thread:
    values: dict[str, Any] = {
        "thread_id": ids.thread_id(P, title, origin.id),
        "first_seen_in": origin.id,
        "conversation_ids": (origin.id,),
        "created_at": origin.created_at,
        "updated_at": origin.created_at,
    }
    return Thread(title=title, project_name=NAME, project_uuid=P, **(values | more))


def edge(source: Conversation, target: Conversation, *compressions: Compression) -> Lineage:
    return Lineage(
        lineage_id=ids.pair_id(source.id, target.id),
        source_conversation_id=source.id,
        target_conversation_id=target.id,
        project_name=NAME,
        project_uuid=P,
        compressions=compressions,
    )


def archive(
    of: Conversation,
    mode: CompressionMode = LOSSLESS,
    records: tuple[tuple[str, EntityId], ...] = (),
    body: str = "text\n",
) -> Archive:
    return Archive(
        archive_id=ids.archive_id(P, of.id, "all", of.created_at),
        compression_tag=of.title.upper(),
        compression_mode=mode,
        compressed_at=of.created_at,
        conversation_id=of.id,
        conversation_title=of.title,
        conversation_started=of.created_at,
        project_name=NAME,
        project_uuid=P,
        content_sha256=hashlib.sha256(body.encode()).hexdigest(),
        records=records,
        body=body,
    )


def conflict(a: Decision, b: Decision, **more: Any) -> Conflict:
    low, high = sorted((a.id, b.id))
    values: dict[str, Any] = {"nature": "one chooses what the other rejects", "detected_at": day(0)}
    return Conflict(conflict_id=ids.pair_id(low, high), decision_a=low, decision_b=high, **(values | more))


def chain(*names: str) -> list[Conversation]:
    """Return conversations, one a day."""
    return [conversation(name, at) for at, name in enumerate(names)]


def links(*conversations: Conversation) -> list[Lineage]:
    """Return the edges that join each conversation to the next."""
    return [edge(a, b) for a, b in itertools.pairwise(conversations)]


A, B = chain("a", "b")
X = decision("Keep rows", A)
Y = decision("Drop rows", A, dependencies=(X.id,))
ARCHIVE = archive(A)
