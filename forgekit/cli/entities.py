"""What every noun prints: lists, one entity, and the commits that touched it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from forgekit import console
from forgekit.cli.call import Call, answer
from forgekit.errors import UsageError
from forgekit.ids import EntityId, is_id
from forgekit.model.kinds import Kind, short_id
from forgekit.operations import PLURALS
from forgekit.times import UNKNOWN, format_date, format_instant

if TYPE_CHECKING:
    from forgekit.conflicts import ListedConflict
    from forgekit.git.program import Commit
    from forgekit.history import Provenance
    from forgekit.model.registry import Registry
    from forgekit.queries import Listing, Shown

COLUMNS = {
    Kind.PROJECT: ("id", "name", "decisions", "open threads", "conversations"),
    Kind.CONVERSATION: ("id", "started", "title", "project"),
    Kind.THREAD: ("id", "status", "priority", "title", "project"),
    Kind.DECISION: ("id", "status", "tier", "title", "project"),
    Kind.LINEAGE: ("id", "from", "to", "title", "project"),
    Kind.CONFLICT: ("id", "status", "one side", "one text", "other side", "other text"),
    Kind.CANDIDATE: ("id", "status", "confidence", "proposes", "title", "project"),
    Kind.ARCHIVE: ("id", "compressed", "title", "conversation", "project"),
}
_HIDDEN = (
    *("kind", "short_id", "path", "extra", "body", "records", "compressions", "moot"),
    *("title", "decision", "candidate", "project_uuid"),  # the headline and the project's name say it
)
_WHEN = ("created_at", "compressed_at")
_LONG = ("content", "quote", "rationale", "context", "resolution", "bridge_summary")
_GROUPS = ("decisions_carried", "decisions_dropped", "threads_carried", "threads_resolved")


def listing(found: Listing, call: Call) -> None:
    """Print a list of entities."""
    del call
    from forgekit.insight.views import project_counts

    if found.conflicts is not None:
        console.table(COLUMNS[Kind.CONFLICT], [_conflict(listed) for listed in found.conflicts])
        if not found.entities:
            console.info("no conflicts")
        if found.unjudged:
            pairs = console.count(found.unjudged, "pair")
            console.info(f"{pairs} not judged yet; `forgekit conflict scan` judges them")
        return
    projects = [e.id for e in found.entities if e.kind is Kind.PROJECT]
    counts = project_counts(found.registry, projects) if projects else {}
    console.table(COLUMNS[found.kind], [row(found.registry, e, counts) for e in found.entities])
    if not found.entities:
        console.info(f"no {PLURALS.get(found.kind.value, f'{found.kind.value}s')}")


def _conflict(listed: ListedConflict) -> tuple[str, ...]:
    conflict = listed.conflict
    cells = [short_id(Kind.CONFLICT, conflict.id), listed.state]
    for key, side in zip((conflict.decision_a, conflict.decision_b), listed.sides, strict=True):
        cells.append(short_id(Kind.DECISION, key) + (" (yields)" if listed.yields == key else ""))
        cells.append(side.decision if side is not None else "")
    return tuple(cells)


def row(registry: Registry, entity: Any, counts: dict[EntityId, dict[str, int]]) -> tuple[str, ...]:
    """Return the cells of one line of a list; `counts` are of projects alone."""
    from forgekit.queries import state_of

    short = short_id(entity.kind, entity.id)
    match entity.kind:
        case Kind.PROJECT:
            return short, entity.title, *map(str, counts[entity.id].values())
        case Kind.CONVERSATION:
            return short, format_date(entity.created_at), entity.title, entity.project_name
        case Kind.THREAD:
            return short, entity.status.value, entity.priority.value, entity.title, entity.project_name
        case Kind.DECISION:
            return short, entity.status.value, entity.tier_words, entity.title, entity.project_name
        case Kind.LINEAGE:
            ends = (entity.source_conversation_id, entity.target_conversation_id)
            a, b = (short_id(Kind.CONVERSATION, end) for end in ends)
            return short, a, b, entity.title, entity.project_name
        case Kind.CONFLICT:  # as it was at a revision
            sides = [(side, registry.get(side)) for side in (entity.decision_a, entity.decision_b)]
            texts = [(short_id(Kind.DECISION, key), side.title if side else "") for key, side in sides]
            return short, state_of(registry, entity), *texts[0], *texts[1]
        case Kind.CANDIDATE:
            sure = f"{entity.confidence:.2f}"
            return short, entity.status.value, sure, entity.proposes.value, entity.title, entity.project_name
        case _:
            conversation = short_id(Kind.CONVERSATION, entity.conversation_id)
            day = format_date(entity.compressed_at)
            return short, day, entity.title, conversation, entity.project_name


def commits(found: Sequence[Commit], call: Call) -> None:
    """Print commits with what they did, or that there are none."""
    texts = call.operation.name == "log"
    rows = [
        (c.short, format_instant(c.time), c.author, _with_text(call, c) if texts else c.subject)
        for c in found
    ]
    console.table(("commit", "time", "author", "title"), rows)
    if not rows and call.operation.name != "log":
        console.info("not committed yet")
    elif not rows:
        since = call["since"]
        console.info(f"no commit since {format_instant(since)}" if since else "nothing is committed yet")


def _with_text(call: Call, commit: Commit) -> str:
    """Return the subject of a commit; in the log, one that ends with an id gets the text of that entity."""
    last = commit.subject.rpartition(" ")[2]
    touched = (value for key, value in commit.trailers if key == "Forgekit-Entity")
    first = EntityId(next(touched, ""))
    if call.operation.name != "log" or "_" not in last or not first.endswith(last.partition("_")[2]):
        return commit.subject
    entity = call.forge.catalogue.entity(first)
    return f"{commit.subject} {entity.title}" if entity else commit.subject


def shown(found: Shown, call: Call) -> None:
    """Print one entity, turns of a kept text, or an archive byte for byte."""
    if found.messages is not None:
        _print_turns(found, call["turns"])
    elif call["text"]:
        console.verbatim(found.entity.body)
    else:
        from forgekit.insight.views import Derived

        assert found.provenance is not None  # noqa: S101 - entities have one
        view = Derived(found.registry).view(found.entity)
        _print_entity(found.registry, found.entity, view, found.provenance)


def archive_shown(call: Call) -> int:
    """Show an archive.

    Raises UsageError for `--text --json`.
    """
    if call["text"] and call.as_json:
        raise UsageError("--text prints the archive byte for byte, which JSON is not; leave one of them out")
    return answer(call)


def _print_turns(found: Shown, turns: str) -> None:
    for message in found.messages or ():
        at = f", {format_instant(message.time)}" if message.time is not None else ""
        text = "\n\n".join(part for part in (message.text, "\n".join(message.beside)) if part)
        console.data(f"### {message.number}. {message.speaker.value.capitalize()}{at}\n\n{text}\n")
    if not found.messages:
        console.info(f"no turn {turns}; the kept text holds 1-{found.last_turn}")


def _print_entity(registry: Registry, entity: Any, view: dict[str, object], origin: Provenance) -> None:
    from forgekit.model.entities import Compression

    console.data(f"{short_id(entity.kind, entity.id)}  {entity.title}")
    parts = {spec.name for spec in fields(Compression)}  # an edge shows each compression on its own
    own = {*_HIDDEN, *parts, *_LONG, entity.kind.id_field}
    if entity.kind is Kind.ARCHIVE:
        own -= {"compression_mode", "compressed_at", "turn_range"}
    values = {"id": entity.id} | {key: _shown(registry, view[key]) for key in view if key not in own}
    if view.get("moot"):
        values["status"] += " (moot: one side is no longer active)"
    values |= {key: format_date(UNKNOWN) for key in _WHEN if key in values and view[key] is None}
    lines = {_label(key): value for key, value in values.items() if value}
    stated = [
        f"{tag} ({short_id(Kind.ARCHIVE, archive)}) of {_named(registry, conversation)}"
        for tag, conversation, archive in origin.archives
    ]
    if stated:
        lines["stated in"] = "\n".join(stated)
    if origin.commit is not None:
        commit = origin.commit
        lines["last commit"] = f"{commit.short} {format_date(commit.time)} {commit.subject}"
    lines["file"] = str(view["path"])
    console.fields({**lines, **{f"({key})": str(value) for key, value in entity.extra.items()}})
    if entity.kind is Kind.LINEAGE:
        _print_compressions(registry, entity)
    if entity.kind is not Kind.ARCHIVE:
        _print_sections(entity, view)
    elif entity.records:
        console.data("\nRecords\n")
        console.fields({f"  {local}": _named(registry, key) for local, key in entity.records})


def _print_sections(entity: Any, view: dict[str, object]) -> None:
    from forgekit.model import rules

    for key in _LONG:
        if view.get(key):
            console.section(key.replace("_", " ").capitalize(), str(view[key]))
    for name, _ in rules.parts(entity.body):  # what people added, and what a merge did not choose
        if name is not None and name.lower() not in _LONG:
            console.section(name, rules.section(entity.body, name))


def _label(key: str) -> str:
    return "project" if key == "project_name" else key.replace("_", " ")


def _print_compressions(registry: Registry, edge: Any) -> None:
    for entry in edge.compressions:
        console.data(f"\n{entry.compression_tag}\n")
        pairs = {f"  {name.replace('_', ' ')}": getattr(entry, name) for name in _GROUPS}
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
