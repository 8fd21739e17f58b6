"""Archives as the fold takes them, built by hand: each says what a test gives it, on a day."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from forgekit.archives.fold import FoldResult
from forgekit.archives.read import ImportOptions, identify
from forgekit.ids import EntityId, decision_id, project_id, thread_id
from forgekit.model.archive_record import ArchiveText, DecisionRecord, Family, ThreadRecord
from forgekit.model.entities import Archive, Decision, Lineage, Thread
from forgekit.times import Instant, parse_instant

PROJECT = project_id("Ledger")
Pair = tuple[Archive, ArchiveText]


def decision(local_id: str, text: str, **more: object) -> DecisionRecord:
    return replace(
        DecisionRecord(local_id=local_id, text=text, line=1, family=Family.YAML),
        **more,  # type: ignore[arg-type] # fields by name
    )


def thread(local_id: str, title: str, **more: object) -> ThreadRecord:
    return replace(
        ThreadRecord(local_id=local_id, title=title, line=1, family=Family.YAML),
        **more,  # type: ignore[arg-type] # fields by name
    )


def archive(
    tag: str, day: str, *records: DecisionRecord | ThreadRecord, project: str = "Ledger", **more: object
) -> Pair:
    text = ArchiveText(
        title=f"Talk of {tag}",
        created=parse_instant(day),
        tag=tag,
        decisions=tuple(r for r in records if isinstance(r, DecisionRecord)),
        threads=tuple(r for r in records if isinstance(r, ThreadRecord)),
        **more,  # type: ignore[arg-type] # fields by name
    )
    return identify(f"text of {tag}", text, ImportOptions(), project), text


def own_decision(text: str, made: Instant, **more: Any) -> Decision:
    """Return a decision of the project that a person registered."""
    return Decision(
        decision_id=decision_id(PROJECT, text, EntityId(""), made),
        decision=text,
        project_name="Ledger",
        project_uuid=PROJECT,
        created_at=made,
        last_validated=made,
        **more,
    )


def own_thread(title: str, made: Instant, body: str = "") -> Thread:
    """Return a thread of the project that a person registered."""
    return Thread(
        thread_id=thread_id(PROJECT, title, EntityId(""), made),
        title=title,
        project_name="Ledger",
        project_uuid=PROJECT,
        created_at=made,
        updated_at=made,
        body=body,
    )


def entity(said: FoldResult, pair: Pair, local_id: str) -> EntityId:
    return said.mentions[pair[0].id, local_id]


def the_thread(said: FoldResult, pair: Pair, local_id: str) -> Thread:
    found = said.entities[entity(said, pair, local_id)]
    assert isinstance(found, Thread)
    return found


def the_decision(said: FoldResult, pair: Pair, local_id: str) -> Decision:
    found = said.entities[entity(said, pair, local_id)]
    assert isinstance(found, Decision)
    return found


def the_edge(said: FoldResult, *, into: Pair | None = None) -> Lineage:
    """Return the one edge, or the one edge into an archive's conversation."""
    edges = [e for e in said.entities.values() if isinstance(e, Lineage)]
    (found,) = (e for e in edges if into is None or e.target_conversation_id == into[0].conversation_id)
    return found
