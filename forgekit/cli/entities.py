"""What every noun has: `list`, `show`, `history`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from forgekit import console
from forgekit.cli.base import example, json_option, open_forge, project_option
from forgekit.cli.showing import partial, show_entity, show_turns
from forgekit.errors import UsageError
from forgekit.model.kinds import Kind, short_id
from forgekit.times import Instant, format_date, format_instant

if TYPE_CHECKING:
    from forgekit.forge import Forge
    from forgekit.git.program import Commit
    from forgekit.model.entity import Entity
    from forgekit.model.problem import Problem
    from forgekit.model.registry import Registry

COLUMNS = {
    Kind.PROJECT: ("id", "name", "decisions", "open threads", "conversations"),
    Kind.CONVERSATION: ("id", "started", "title", "project"),
    Kind.THREAD: ("id", "status", "priority", "title", "project"),
    Kind.DECISION: ("id", "status", "tier", "title", "project"),
    Kind.LINEAGE: ("id", "from", "to", "title", "project"),
    Kind.CONFLICT: ("id", "status", "title", "one side", "other side"),
    Kind.CANDIDATE: ("id", "status", "confidence", "proposes", "title", "project"),
    Kind.TRANSCRIPT: ("id", "started", "turns", "title", "project"),
    Kind.ARCHIVE: ("id", "compressed", "title", "conversation", "project"),
}
STATUSES = {
    Kind.THREAD: ("open", "resolved", "superseded", "abandoned"),
    Kind.DECISION: ("active", "revised", "superseded", "invalidated"),
    Kind.CONFLICT: ("open", "moot", "resolved", "scoped", "dismissed"),
    Kind.CANDIDATE: ("waiting", "approved", "merged", "rejected", "registered"),
}
Counts = dict[Any, dict[str, int]]
"""Of projects, by id: what `policy.derived.project_counts` counts."""
PLURALS = {Kind.LINEAGE: "lineage edges"}


def add_reading(group: click.Group, kind: Kind) -> None:
    """Give a noun its `list`, `show` and `history`."""
    for command in (_list_command(kind), _show_command(kind), _history_command(kind)):
        group.add_command(command)


def _list_command(kind: Kind) -> click.Command:
    plural = PLURALS.get(kind, f"{kind.value}s")

    def run(
        *, as_json: bool, limit: int | None, project: str | None = None, status: str | None = None
    ) -> None:
        forge = open_forge()
        with console.progress("reading the registry"):
            registry = partial(forge)
        chosen = listed(forge, registry, kind, project=project, status=status)[:limit]
        counts = _counts(registry, chosen) if kind is Kind.PROJECT else {}
        if as_json:
            from forgekit.insight.views import Derived

            derived = Derived(registry)
            console.as_json([derived.view(e) | counts.get(e.id, {}) for e in chosen])
        else:
            console.table(COLUMNS[kind], [row(registry, entity, counts) for entity in chosen])
            if not chosen:
                console.info(f"no {plural}")
        talk_of_unreadable(forge)

    run = json_option(run)
    run = click.option("--limit", type=click.IntRange(1), metavar="N", help="At most so many.")(run)
    if kind in STATUSES:
        run = click.option("--status", type=click.Choice(STATUSES[kind]), help="Only these.")(run)
    if kind is not Kind.PROJECT:
        run = project_option(run)
    options = f" --status {STATUSES[kind][0]}" if kind in STATUSES else ""
    help_text = f"List {plural}, newest first.\n\n" + example(f"forgekit {kind.value} list{options}")
    return click.command("list", help=help_text)(run)


def listed(
    forge: Forge, registry: Registry, kind: Kind, *, project: str | None = None, status: str | None = None
) -> list[Entity]:
    """Return the entities of a kind, newest first.

    Raises NotFoundError for a project that is not known.
    """
    owner = forge.known_project(project, registry) if project is not None else None

    def wanted(entity: Any) -> bool:
        if status is not None and _state(registry, entity) != status:
            return False
        if owner is None:
            return True
        if kind is not Kind.CONFLICT:
            return bool(entity.project_uuid == owner.id)
        sides = (registry.get(entity.decision_a), registry.get(entity.decision_b))
        return any(getattr(side, "project_uuid", None) == owner.id for side in sides)

    return sorted(filter(wanted, forge.catalogue.entities(kind)), key=lambda e: (when(e), e.id), reverse=True)


def _state(registry: Registry, entity: Any) -> str:
    """Return the status of an entity as people see it."""
    from forgekit.insight.staleness import conflict_state

    return conflict_state(registry, entity) if entity.kind is Kind.CONFLICT else str(entity.status.value)


def when(entity: Any) -> Instant:
    """Return the event time by which an entity is sorted; a project has none."""
    for name in ("compressed_at", "created_at", "detected_at"):
        found = getattr(entity, name, None)
        if found is not None:
            return Instant(found)
    if entity.kind is Kind.LINEAGE:
        return max((c.compressed_at or Instant(0) for c in entity.compressions), default=Instant(0))
    return Instant(0)


def row(registry: Registry, entity: Any, counts: Counts) -> tuple[str, ...]:
    """Return the cells of one line of a list; `counts` are of projects alone."""
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
        case Kind.CONFLICT:
            sides = (short_id(Kind.DECISION, side) for side in (entity.decision_a, entity.decision_b))
            return short, _state(registry, entity), entity.title, *sides
        case Kind.CANDIDATE:
            sure = f"{entity.confidence:.2f}"
            return short, entity.status.value, sure, entity.proposes.value, entity.title, entity.project_name
        case Kind.TRANSCRIPT:
            turns = "{}-{}".format(*entity.turn_range)
            return short, format_date(entity.created_at), turns, entity.title, entity.project_name
        case _:
            talk = short_id(Kind.CONVERSATION, entity.conversation_id)
            return short, format_date(entity.compressed_at), entity.title, talk, entity.project_name


def _counts(registry: Registry, projects: Iterable[Any]) -> Counts:
    from forgekit.insight.views import project_counts

    return project_counts(registry, (project.id for project in projects))


def _show_command(kind: Kind) -> click.Command:
    text_option = kind is Kind.ARCHIVE

    def run(
        *, name: str, at: str | None, as_json: bool, text: bool = False, turns: str | None = None
    ) -> None:
        if text and as_json:
            raise UsageError(
                "--text prints the archive byte for byte, which JSON is not; leave one of them out"
            )
        if turns is not None:
            if at is not None:
                raise UsageError("--turns shows the text as it is kept now; leave --at out")
            show_turns(name, turns, as_json=as_json)
        else:
            show_entity(name, (kind,), at=at, as_json=as_json, text=text)

    run = json_option(run)
    if text_option:
        run = click.option("--text", is_flag=True, help="The archive alone, byte for byte.")(run)
    if kind is Kind.CONVERSATION:
        run = click.option(
            "--turns", metavar="N-M", help="What was said, where the text is kept: 12-18, or 12."
        )(run)
    run = _at_revision(run)
    run = click.argument("name", metavar="ID")(run)
    help_text = f"Show one {kind.value} with everything known of it.\n\n" + example(
        f"forgekit {kind.value} show {kind.prefix}_b34bfcd74276",
        f"forgekit {kind.value} show {kind.prefix}_b34bfcd74276 --at 2026-03-01",
    )
    return click.command("show", help=help_text)(run)


def _at_revision(command: Any) -> Any:
    return click.option("--at", metavar="REV|DATE", help="As it stood at a revision or date.")(command)


@click.command(
    help="Show one entity of any kind.\n\n"
    + example("forgekit show dec_b34bfcd74276", "forgekit show TOPIC_A_RESULT:D003 --json")
)
@click.argument("name", metavar="ID")
@_at_revision
@json_option
def show(*, name: str, at: str | None, as_json: bool) -> None:
    """Show one entity of any kind."""
    show_entity(name, (), at=at, as_json=as_json)


def _history_command(kind: Kind) -> click.Command:
    def run(*, name: str, limit: int | None, as_json: bool) -> None:
        print_history(name, (kind,), limit, as_json=as_json)

    run = click.argument("name", metavar="ID")(_limit(json_option(run)))
    help_text = f"Show the commits that touched one {kind.value}, newest first.\n\n" + example(
        f"forgekit {kind.value} history {kind.prefix}_b34bfcd74276"
    )
    return click.command("history", help=help_text)(run)


def _limit(command: Any) -> Any:
    return click.option("--limit", type=click.IntRange(1), metavar="N", help="At most so many.")(command)


@click.command(
    help="Show the commits that touched one entity, newest first.\n\n"
    + example("forgekit history dec_b34bfcd74276", "forgekit show dec_b34bfcd74276 --at COMMIT")
)
@click.argument("name", metavar="ID")
@_limit
@json_option
def history(*, name: str, limit: int | None, as_json: bool) -> None:
    """Show the commits that touched one entity."""
    print_history(name, (), limit, as_json=as_json)


def print_history(name: str, kinds: tuple[Kind, ...], limit: int | None, *, as_json: bool) -> None:
    """Print the commits of one entity."""
    from forgekit.history import entity_history

    print_commits(entity_history(open_forge(), name, kinds, limit), as_json=as_json)


def print_commits(commits: Iterable[Commit], *, as_json: bool, nothing: str = "not committed yet") -> None:
    """Print commits with what they did, or that there are none."""
    from forgekit.history import commit_view

    if as_json:
        console.as_json([commit_view(commit) for commit in commits])
        return
    rows = [(c.short, format_instant(c.time), c.author, c.subject) for c in commits]
    console.table(("commit", "time", "author", "title"), rows)
    if not rows:
        console.info(nothing)


def talk_of_unreadable(forge: Forge) -> None:
    """Say on stderr how many files could not be read."""
    if forge.unread:
        console.info(forge.unread)


def problem_view(problem: Problem) -> dict[str, object]:
    """Return a problem as JSON values."""
    return {
        "code": problem.code,
        "severity": problem.severity.value,
        "path": problem.path or None,
        "line": problem.line,
        "field": problem.field or None,
        "message": problem.message,
        "fix": problem.fix or None,
        "fixable": problem.fixable,
    }
