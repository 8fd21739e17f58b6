"""What an answer is put together from, and how it shows a decision and a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.model.archive import Archive
from forgekit.model.decision import Decision
from forgekit.model.kinds import Kind, short_id
from forgekit.model.records import ArchiveText
from forgekit.model.registry import Registry
from forgekit.model.thread import Thread
from forgekit.text.blocks import quote
from forgekit.times import Instant, format_date


@dataclass(slots=True)
class Found:
    """What an answer is put together from."""

    lines: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    turns: str = ""
    scopes: list[str] = field(default_factory=list)
    ids: list[EntityId] = field(default_factory=list)

    @property
    def scope(self) -> str:
        """What the answer is about: projects."""
        return ", ".join(sorted(set(self.scopes))) or "this project"


@dataclass(frozen=True, slots=True)
class Store:
    """What is asked: the registry, what each archive says, and what searches say of themselves."""

    forge: Forge
    registry: Registry
    project: str | None
    archives: Sequence[tuple[Archive, ArchiveText]]
    notices: list[str] = field(default_factory=list)


def told_decision(decision: Decision) -> str:
    """Return a decision as answers show it."""
    return (
        f"{short_id(Kind.DECISION, decision.id)}: {quote(decision.decision)} "
        f"(tier {decision.tier_words}, {decision.status.value}, decided {format_date(decision.created_at)})"
    )


def called(local_id: str, entity: Decision | Thread) -> str:
    """Return what an archive calls an entity and what the registry does, once where both are one."""
    short = short_id(entity.kind, entity.id)
    return short if "_" in local_id else f"{local_id} {short}"


def since(decision: Decision, at: Instant | None) -> str:
    """Return from when on and why a decision is out of force, as far as either is known."""
    day = f" since {format_date(at)}" if at is not None else ""
    return day + (f": {quote(decision.ending)}" if decision.ending else "")


def told_thread(thread: Thread) -> str:
    """Return a thread as answers show it."""
    return f"{short_id(Kind.THREAD, thread.id)}: {quote(thread.title)} [{thread.status.value.upper()}]"
