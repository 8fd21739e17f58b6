"""`forgekit conflict`: decisions that cannot both be followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from forgekit import console
from forgekit.cli.base import example, json_option, noun, open_forge, options, project_option, writing
from forgekit.cli.changes import finding_lines, wrote
from forgekit.cli.entities import add_reading, talk_of_unreadable
from forgekit.model.kinds import Kind, short_id

if TYPE_CHECKING:
    from forgekit.conflicts import ListedConflict

STATES = ("found", "possible", "open", "moot", "resolved", "scoped", "dismissed")

conflict = noun(
    "conflict", "Decisions that cannot both be followed: list, show, scan, resolve, scope, dismiss, history."
)
add_reading(conflict, Kind.CONFLICT)

@conflict.command(
    "list",
    help="List verdicts and findings with the texts of both sides, newest first.\n\n"
    + example("forgekit conflict list --status open"),
)
@click.option("--status", type=click.Choice(STATES), help="Only these.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most so many.")
@project_option
@json_option
def list_conflicts(status: str | None, limit: int | None, project: str | None, *, as_json: bool) -> None:
    """List conflicts."""
    from forgekit.conflicts import listed
    from forgekit.insight.views import Derived, listed_conflict_view

    forge = open_forge()
    registry = forge.registry()
    owner = forge.known_project(project, registry).id if project is not None else None
    rows, findings = listed(forge, registry, project=owner, state=status)
    chosen = rows[:limit]
    if as_json:
        derived = Derived(registry)
        console.as_json(
            [
                listed_conflict_view(derived, row.conflict, row.state, row.sides, row.finding, row.yields)
                for row in chosen
            ]
        )
    else:
        console.table(
            ("id", "status", "one side", "text", "other side", "text"),
            [(short_id(Kind.CONFLICT, row.conflict.id), row.state, *_cells(row)) for row in chosen],
        )
        if not chosen:
            console.info("no conflicts")
        if findings.unjudged:
            pairs = console.count(findings.unjudged, "pair")
            console.info(f"{pairs} not judged yet; `forgekit conflict scan` judges them")
    talk_of_unreadable(forge)


def _cells(row: ListedConflict) -> Iterator[str]:
    ids = (row.conflict.decision_a, row.conflict.decision_b)
    for key, side in zip(ids, row.sides, strict=True):
        yield short_id(Kind.DECISION, key) + (" (yields)" if row.yields == key else "")
        yield side.decision if side is not None else ""


_reason = click.option("--reason", required=True, metavar="TEXT", help="Why; one line.")


@conflict.command(
    help="Keep one side of a conflict; the other is superseded.\n\n"
    + example(
        'forgekit conflict resolve cfl_0d1e2f3a4b5c --keep dec_b34bfcd74276 --reason "measured twice"',
        'forgekit conflict resolve dec_0a1b2c3d4e5f --keep dec_b34bfcd74276 --reason "measured twice"',
    )
)
@click.argument("name", metavar="ID")
@click.option("--keep", required=True, metavar="DECISION", help="The side that stands.")
@_reason
@writing
def resolve(name: str, keep: str, reason: str, *, dry_run: bool, no_commit: bool) -> None:
    """Keep one side; the conflict is named by its own id or by one of its decisions."""
    from forgekit import conflicts

    way = options(dry_run=dry_run, no_commit=no_commit)
    wrote(conflicts.resolve(open_forge(), name, keep, reason, options=way), "conflict resolve")


@conflict.command(
    help="Keep both sides, each in the scope that the reason states.\n\n"
    + example('forgekit conflict scope cfl_0d1e2f3a4b5c --reason "REST outside, gRPC between services"')
)
@click.argument("name", metavar="ID")
@_reason
@writing
def scope(name: str, reason: str, *, dry_run: bool, no_commit: bool) -> None:
    """Keep both sides."""
    from forgekit import conflicts

    way = options(dry_run=dry_run, no_commit=no_commit)
    wrote(conflicts.scope(open_forge(), name, reason, options=way), "conflict scope")


@conflict.command(
    help="Say that the two decisions do not contradict each other.\n\n"
    + example('forgekit conflict dismiss cfl_0d1e2f3a4b5c --reason "one is about tests"')
)
@click.argument("name", metavar="ID")
@_reason
@writing
def dismiss(name: str, reason: str, *, dry_run: bool, no_commit: bool) -> None:
    """Dismiss a conflict."""
    from forgekit import conflicts

    way = options(dry_run=dry_run, no_commit=no_commit)
    wrote(conflicts.dismiss(open_forge(), name, reason, options=way), "conflict dismiss")


@conflict.command(
    help="Judge the pairs of active decisions and list what contradicts; writes nothing.\n\n"
    + example("forgekit conflict scan", 'forgekit conflict scan --project "The Nexus" --possible')
)
@project_option
@click.option("--possible", is_flag=True, help="List possible conflicts too.")
@json_option
def scan(project: str | None, *, possible: bool, as_json: bool) -> None:
    """Look for contradictions among all decisions, or between one project's and all."""
    from forgekit.conflict.judge import Level
    from forgekit.findings import of_project
    from forgekit.insight.views import Derived, listed_conflict_view

    forge = open_forge()
    with console.meter("judging decisions") as progress:
        found = of_project(forge, project, progress)
    talk_of_unreadable(forge)
    shown = [item for item in found.with_losers() if possible or item[0].level is Level.CONFLICT]
    if as_json:
        derived = Derived(forge.registry())
        views = [
            listed_conflict_view(derived, f.verdict(), "found", (f.a, f.b), f, loser) for f, loser in shown
        ]
        counts = {"judged": found.judged, "unjudged": found.unjudged, "missing": found.missing or None}
        console.as_json({**counts, "conflicts": views})
        return
    for finding, loser in shown:
        for line in finding_lines(finding, loser):
            console.data(line)
    if found.missing:
        console.info(f"nothing was judged: {found.missing}")
        return
    console.info(
        f"{console.count(found.judged, 'pair')} judged: {console.count(len(found.conflicts), 'conflict')}, "
        f"{console.count(len(found.possible), 'possible conflict')}"
        + (f"; {console.count(found.unjudged, 'pair')} could not be judged" if found.unjudged else "")
    )
