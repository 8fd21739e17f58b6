"""`forgekit conflict`: decisions that cannot both be followed."""

from __future__ import annotations

from dataclasses import replace

import click

from forgekit import console
from forgekit.cli.base import example, noun, open_forge, options, project_option, wants_json, writing
from forgekit.cli.changes import conflict_lines, conflict_view, done, talk_of_judge, wrote
from forgekit.cli.entities import add_reading, talk_of_unreadable
from forgekit.model.kinds import Kind

conflict = noun(
    "conflict", "Decisions that cannot both be followed: list, show, scan, resolve, scope, dismiss, history."
)
add_reading(conflict, Kind.CONFLICT)

JUDGES = ("trained", "llm")
"""The judges' names, by `model.settings.JudgeKind`, which help does not load."""

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

    forge = open_forge()
    way = options(dry_run=dry_run, no_commit=no_commit)
    found = forge.entity(name, Kind.CONFLICT, Kind.DECISION)
    settle = conflicts.resolve if found.kind is Kind.CONFLICT else conflicts.resolve_between
    wrote(settle(forge, name, keep, reason, options=way), "conflict resolve")


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
    help="Compare active decisions with each other and record what contradicts, in one commit.\n\n"
    + example(
        "forgekit conflict scan --dry-run",
        'forgekit conflict scan --project "The Nexus"',
        "forgekit conflict scan --judge rules --explain",
    )
)
@project_option
@click.option("--judge", type=click.Choice(JUDGES), help="Who judges this time, whatever forgekit.toml says.")
@click.option("--explain", is_flag=True, help="Say what each verdict is made of, and what to expect of it.")
@writing
def scan(project: str | None, judge: str | None, *, explain: bool, dry_run: bool, no_commit: bool) -> None:
    """Look for contradictions among all decisions, or between one project's and all."""
    from forgekit import detecting
    from forgekit.model.settings import JudgeKind
    from forgekit.models.judges import calibration_of

    way = options(dry_run=dry_run, no_commit=no_commit)
    forge = open_forge()
    if judge is not None:
        forge = replace(forge, judge_kind=JudgeKind(judge))
    with console.meter("comparing decisions") as progress:
        found = detecting.scan(forge, project, near=detecting.nearness(forge), options=way, progress=progress)
    said = found.judgements if explain else {}
    promise = calibration_of(forge.judge) if explain else None
    talk_of_judge(forge)
    talk_of_unreadable(forge)
    if wants_json():
        console.as_json(
            {
                "compared": found.compared,
                "commit": found.outcome.commit,
                "dry_run": dry_run,
                "conflicts": [conflict_view(item, said.get(item.id)) for item in found.conflicts],
            }
            | ({"threshold": promise[0], "expected_precision": promise[1]} if promise else {})
        )
        return
    if found.outcome.diff:
        console.diff(found.outcome.diff)
    for item in found.conflicts:
        for line in conflict_lines(item, said.get(item.id)):
            (console.info if dry_run else console.data)(line)
    if promise:
        share = f"{len(found.conflicts) / found.compared:.1%} of the pairs" if found.compared else "no pair"
        console.info(
            f"called a contradiction from {promise[0]:.2f} on, where a precision of {promise[1]:.2f} is "
            f"expected, and below that where a rule alone is sure; {share} came to it"
        )
    elif explain:
        console.info("this judge states no expected precision")
    numbers = f"{console.count(found.compared, 'pair')} compared"
    if found.conflicts:
        new = console.count(len(found.conflicts), "new conflict")
        console.info(f"{numbers}, {new}: {done(found.outcome)}")
    else:
        console.info(f"{numbers}, no new conflict")
