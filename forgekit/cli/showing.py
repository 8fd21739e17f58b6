"""One entity as people see it, and the turns of a kept text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forgekit import console
from forgekit.cli.base import open_forge
from forgekit.ids import EntityId, is_id
from forgekit.model.kinds import Kind, short_id
from forgekit.times import UNKNOWN, format_date, format_instant

if TYPE_CHECKING:
    from forgekit.forge import Forge
    from forgekit.history import Provenance
    from forgekit.model.registry import Registry

_HIDDEN = (
    *("kind", "short_id", "path", "extra", "body", "records", "compressions", "moot"),
    *("title", "decision", "candidate", "project_uuid"),  # the headline and the project's name say it
)
_WHEN = ("created_at", "compressed_at")
_DIGITS = 9
"""Digits of a turn's number at most."""
_LONG = ("content", "quote", "rationale", "context", "resolution", "bridge_summary")


def partial(forge: Forge) -> Registry:
    """Return the registry as it stands, read as far as it is asked for."""
    from forgekit.index.lazy_registry import PartialRegistry

    forge.catalogue.refresh()
    return PartialRegistry.over(forge.catalogue)


def show_entity(
    name: str, kinds: tuple[Kind, ...], *, at: str | None, as_json: bool, text: bool = False
) -> None:
    """Print one entity: its fields, what follows from them, and where it came from."""
    from forgekit.history import past_entity, provenance
    from forgekit.insight.views import Derived
    from forgekit.search import unread_then

    forge = open_forge()
    if at is None:
        registry = partial(forge)
        entity = forge.entity(name, *kinds)
    else:
        registry = forge.registry_at(at)
        entity = past_entity(forge, registry, name, kinds, at)
        if unread := unread_then(registry):
            console.info(unread)
    if text:
        console.verbatim(entity.body)
        return
    view = Derived(registry).view(entity)
    origin = provenance(forge, registry, entity, at)
    if as_json:
        console.as_json({**view, "provenance": origin.as_json()})
    else:
        _print_entity(registry, entity, view, origin)


def show_turns(name: str, turns: str, *, as_json: bool) -> None:
    """Print some turns of a conversation as they were kept."""
    from forgekit.errors import NotFoundError, UsageError
    from forgekit.model.graph import one_talk
    from forgekit.model.transcript import in_order
    from forgekit.text.transcript import read_messages

    first, _, last = turns.partition("-")
    if not all(end.isdecimal() and len(end) <= _DIGITS for end in (first, last or first)):
        raise UsageError(f"--turns takes numbers such as 12-18, not {turns[:40]!r}")
    low, high = int(first), int(last or first)
    forge = open_forge()
    registry = partial(forge)
    key = forge.resolve(name, Kind.CONVERSATION)
    texts = registry.transcripts
    own = any(kept.conversation_id == key for kept in texts)
    talk = key if own else one_talk(registry).get(key)
    parts = in_order(kept for kept in texts if kept.conversation_id == talk)
    if not parts:
        raise NotFoundError("text of conversation", name, "`forgekit ingest --with-text` keeps it")
    near = [kept.body for kept in parts if kept.turn_range[0] <= high and kept.turn_range[1] >= low]
    found = [message for message in read_messages(near) if low <= message.number <= high]
    if as_json:
        console.as_json(
            [
                {
                    "turn": message.number,
                    "speaker": message.speaker.value,
                    "created_at": None if message.time is None else format_instant(message.time),
                    "text": message.text,
                    "beside": list(message.beside),
                }
                for message in found
            ]
        )
        return
    for message in found:
        when = f", {format_instant(message.time)}" if message.time is not None else ""
        text = "\n\n".join(part for part in (message.text, "\n".join(message.beside)) if part)
        console.data(f"### {message.number}. {message.speaker.value.capitalize()}{when}\n\n{text}\n")
    if not found:
        console.info(f"no turn {turns}; the kept text holds 1-{parts[-1].turn_range[1]}")


def _print_entity(registry: Registry, entity: Any, view: dict[str, object], origin: Provenance) -> None:
    console.data(f"{short_id(entity.kind, entity.id)}  {entity.title}")
    from dataclasses import fields

    from forgekit.model.lineage import Compression

    parts = {spec.name for spec in fields(Compression)}  # an edge shows each compression on its own
    own = {*_HIDDEN, *parts, *_LONG, entity.kind.id_field}
    if entity.kind is Kind.ARCHIVE:
        own -= {"compression_mode", "compressed_at", "turn_range"}
    shown = {"id": entity.id} | {key: _shown(registry, view[key]) for key in view if key not in own}
    if view.get("moot"):
        shown["status"] += " (moot: a side is out of force)"
    shown |= {key: format_date(UNKNOWN) for key in _WHEN if key in shown and view[key] is None}
    lines = {_label(key): value for key, value in shown.items() if value}
    for tag, conversation, archive in origin.archives:
        said = f"{tag} ({short_id(Kind.ARCHIVE, archive)}) of {_named(registry, conversation)}"
        lines["said by"] = "\n".join(filter(None, (lines.get("said by"), said)))
    if origin.commit is not None:
        lines["last commit"] = (
            f"{origin.commit.short} {format_date(origin.commit.time)} {origin.commit.subject}"
        )
    lines["file"] = str(view["path"])
    console.fields({**lines, **{f"({key})": str(value) for key, value in entity.extra.items()}})
    if entity.kind is Kind.LINEAGE:
        _show_compressions(registry, entity)
    if entity.kind is Kind.ARCHIVE:
        _show_records(registry, entity)
    else:
        _show_sections(entity, view)


def _show_sections(entity: Any, view: dict[str, object]) -> None:
    from forgekit.model import body

    for key in _LONG:
        if view.get(key):
            console.section(key.replace("_", " ").capitalize(), str(view[key]))
    for name, _ in body.parts(entity.body):  # what people added, and what yielded in a merge
        if name is not None and name.lower() not in _LONG:
            console.section(name, body.section(entity.body, name))


def _label(key: str) -> str:
    return "project" if key == "project_name" else key.replace("_", " ")


def _show_records(registry: Registry, archive: Any) -> None:
    if archive.records:
        console.data("\nRecords\n")
        console.fields({f"  {local}": _named(registry, key) for local, key in archive.records})


def _show_compressions(registry: Registry, edge: Any) -> None:
    for entry in edge.compressions:
        console.data(f"\n{entry.compression_tag}\n")
        groups = ("decisions_carried", "decisions_dropped", "threads_carried", "threads_resolved")
        pairs = {f"  {name.replace('_', ' ')}": getattr(entry, name) for name in groups}
        console.fields(
            {
                name: "\n".join(f"{local}  {_named(registry, key)}".strip() for local, key in entries)
                for name, entries in pairs.items()
                if entries
            }
        )


def _shown(registry: Registry, value: object) -> str:
    if value is None or value == []:
        return ""
    if isinstance(value, list):
        parts = [_shown(registry, item) for item in value]
        multiline = any(isinstance(item, str) and (is_id(item) or len(item) > 30) for item in value)
        return ("\n" if multiline else ", ").join(parts)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(registry, item)}" for key, item in value.items())
    text = str(value)
    return _named(registry, EntityId(text)) if is_id(text) else text


def _named(registry: Registry, entity: EntityId) -> str:
    found = registry.get(entity)
    return entity if found is None else f"{short_id(found.kind, found.id)}  {found.title}"
