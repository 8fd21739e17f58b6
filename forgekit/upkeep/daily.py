"""The day's summary: what was decided, opened, resolved and noted, as a note."""

from __future__ import annotations

from collections.abc import Iterable

from forgekit.change import COMMITTED, WriteOptions, Written
from forgekit.forge import Forge
from forgekit.insight.staleness import open_conflicts, stale
from forgekit.model.entities import UNSORTED, Entity
from forgekit.model.kinds import short_id
from forgekit.model.registry import Registry
from forgekit.notes import add
from forgekit.times import DAY_MS, Instant, format_date

SOURCE = "daily:"
"""Begins the source of each daily summary."""


def daily(
    forge: Forge,
    *,
    date: Instant | None = None,
    project: str | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Write the summary of a day as a note; the same day again brings it up to date.

    Args:
        date: a moment of the day, in UTC, else now.
        project: of the note, else the default or only one, else `Unsorted`.
    """
    at = _beginning(date if date is not None else forge.now())
    registry = forge.registry()
    text = summary(forge, registry, at) or "Nothing was decided, opened, resolved or noted."
    return _write(forge, registry, at, text, project, options)


def yesterday(forge: Forge, *, options: WriteOptions = COMMITTED) -> Written | None:
    """Write the summary of the day before, where anything happened and no summary is there."""
    at = _beginning(Instant(forge.now() - DAY_MS))
    registry = forge.registry()
    if any(note.source == f"{SOURCE}{format_date(at)}" for note in registry.notes):
        return None
    text = summary(forge, registry, at)
    return _write(forge, registry, at, text, None, options) if text else None


def _beginning(moment: Instant) -> Instant:
    return Instant(moment // DAY_MS * DAY_MS)


def _write(
    forge: Forge, registry: Registry, at: Instant, text: str, project: str | None, options: WriteOptions
) -> Written:
    day = format_date(at)
    owner = forge.project(project, registry, required=False) or UNSORTED
    source = f"{SOURCE}{day}"
    return add(forge, text, title=f"Summary of {day}", project=owner, at=at, source=source, options=options)


def summary(forge: Forge, registry: Registry, at: Instant) -> str:
    """Return what happened on the day that begins at a moment, as Markdown; "" where nothing did."""

    def on_day(moment: Instant) -> bool:
        return at <= moment < at + DAY_MS

    written = (note for note in registry.notes if not (note.source or "").startswith(SOURCE))
    parts: list[tuple[str, Iterable[Entity]]] = [
        ("Decided", [d for d in registry.decisions if on_day(d.created_at)]),
        ("Opened", [t for t in registry.threads if on_day(t.created_at)]),
        ("Resolved", [t for t in registry.threads if t.status.ended and on_day(t.updated_at)]),
        ("Noted", [note for note in written if on_day(note.updated_at)]),
    ]
    sections = [
        f"{heading}:\n\n" + "\n".join(f"- {short_id(e.kind, e.id)}: {e.title}" for e in entities)
        for heading, entities in parts
        if entities
    ]
    if not sections:
        return ""
    settings = forge.settings
    old = stale(
        registry,
        Instant(at + DAY_MS),
        days=settings.stale_days,
        hops=settings.stale_hops,
        max_tier=settings.stale_max_tier,
    )
    conflicts = len(open_conflicts(registry))
    return "\n\n".join([*sections, f"Stale decisions: {len(old)}. Open conflicts: {conflicts}."])
