"""`forgekit conflict`: decisions that cannot both be followed."""

from __future__ import annotations

import click

from forgekit.cli import output
from forgekit.cli.base import example, how, noun, open_forge, project_option, wants_json, writing
from forgekit.cli.entities import add_reading
from forgekit.cli.written import conflict_lines, conflict_view, done, talk_of_judge, wrote
from forgekit.model.kinds import Kind

conflict = noun(
    "conflict", "Decisions that cannot both be followed: list, show, scan, resolve, scope, dismiss, history."
)
add_reading(conflict, Kind.CONFLICT)

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
    from forgekit import conflicts  # noqa: PLC0415 - help loads no store

    forge = open_forge()
    way = how(dry_run=dry_run, no_commit=no_commit)
    found = forge.entity(name, Kind.CONFLICT, Kind.DECISION)
    settle = conflicts.resolve if found.kind is Kind.CONFLICT else conflicts.resolve_between
    wrote(settle(forge, name, keep, reason, how=way), "conflict resolve")


@conflict.command(
    help="Keep both sides, each in the scope that the reason states.\n\n"
    + example('forgekit conflict scope cfl_0d1e2f3a4b5c --reason "REST outside, gRPC between services"')
)
@click.argument("name", metavar="ID")
@_reason
@writing
def scope(name: str, reason: str, *, dry_run: bool, no_commit: bool) -> None:
    """Keep both sides."""
    from forgekit import conflicts  # noqa: PLC0415 - help loads no store

    way = how(dry_run=dry_run, no_commit=no_commit)
    wrote(conflicts.scope(open_forge(), name, reason, how=way), "conflict scope")


@conflict.command(
    help="Say that the two decisions do not contradict each other.\n\n"
    + example('forgekit conflict dismiss cfl_0d1e2f3a4b5c --reason "one is about tests"')
)
@click.argument("name", metavar="ID")
@_reason
@writing
def dismiss(name: str, reason: str, *, dry_run: bool, no_commit: bool) -> None:
    """Dismiss a conflict."""
    from forgekit import conflicts  # noqa: PLC0415 - help loads no store

    way = how(dry_run=dry_run, no_commit=no_commit)
    wrote(conflicts.dismiss(open_forge(), name, reason, how=way), "conflict dismiss")


@conflict.command(
    help="Compare active decisions with each other and record what contradicts, in one commit.\n\n"
    + example("forgekit conflict scan --dry-run", 'forgekit conflict scan --project "The Nexus"')
)
@project_option
@writing
def scan(project: str | None, *, dry_run: bool, no_commit: bool) -> None:
    """Look for contradictions among all decisions, or between one project's and all."""
    from forgekit import detecting  # noqa: PLC0415 - help loads no store

    way = how(dry_run=dry_run, no_commit=no_commit)
    forge = open_forge()
    chosen = None if project == "all" else project
    with output.meter("comparing decisions") as progress:
        found = detecting.scan(forge, chosen, near=detecting.nearness(forge), how=way, progress=progress)
    talk_of_judge(forge)
    if wants_json():
        output.as_json(
            {
                "compared": found.compared,
                "commit": found.outcome.commit,
                "dry_run": dry_run,
                "conflicts": [conflict_view(item) for item in found.conflicts],
            }
        )
        return
    if found.outcome.diff:
        output.diff(found.outcome.diff)
    for item in found.conflicts:
        for line in conflict_lines(item):
            (output.talk if dry_run else output.data)(line)
    numbers = f"{output.count(found.compared, 'pair')} compared"
    if found.conflicts:
        new = output.count(len(found.conflicts), "new conflict")
        output.talk(f"{numbers}, {new}: {done(found.outcome)}")
    else:
        output.talk(f"{numbers}, no new conflict")
