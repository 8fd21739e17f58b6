"""`forgekit decision`: what was chosen, how sure it is, and what replaced it."""

from __future__ import annotations

import click

from forgekit import console
from forgekit.cli.base import (
    SHARE,
    at_option,
    conversation_option,
    example,
    json_option,
    noun,
    open_forge,
    options,
    project_option,
    tags_option,
    wants_json,
    writing,
)
from forgekit.cli.changes import UNCHANGED, say_findings, wrote
from forgekit.cli.editing import add_edit
from forgekit.cli.entities import add_reading, talk_of_unreadable
from forgekit.model.kinds import Kind, short_id
from forgekit.model.rules import one_line, require_line
from forgekit.times import UNKNOWN, Instant, format_instant

decision = noun(
    "decision",
    "What was chosen: list, show, new, edit, revise, validate, supersede, invalidate, duplicates, history.",
)
add_reading(decision, Kind.DECISION)


@decision.command(
    help="Register a decision.\n\n"
    + example('forgekit decision new "Use UUID v7 for all resource IDs" --tier 0.85 --rationale "Sortable"')
)
@click.argument("text")
@click.option("--rationale", default="", metavar="TEXT", help="Why, Markdown.")
@click.option("--context", default="", metavar="TEXT", help="In which circumstances, Markdown.")
@click.option("--tier", type=SHARE, metavar="0..1", help="How sure it is.")
@project_option
@click.option("--depends-on", "dependencies", multiple=True, metavar="ID", help="Repeatable.")
@click.option("--rejected", "alternatives", multiple=True, metavar="TEXT", help="An alternative; repeatable.")
@click.option("--local-id", metavar="D001", help="What the conversation calls it.")
@conversation_option
@tags_option
@at_option
@click.option("--again", is_flag=True, help="Register a text that an active decision of the project has.")
@writing
def new(
    text: str,
    rationale: str,
    context: str,
    tier: float | None,
    project: str | None,
    dependencies: tuple[str, ...],
    alternatives: tuple[str, ...],
    local_id: str | None,
    conversation: str | None,
    tags: tuple[str, ...],
    at: Instant | None,
    *,
    again: bool,
    dry_run: bool,
    no_commit: bool,
) -> None:
    """Register a decision."""
    from forgekit.decisions import create
    from forgekit.findings import of_written

    forge = open_forge()
    written = create(
        forge,
        text,
        rationale=rationale,
        context=context,
        tier=tier,
        project=project,
        local_id=local_id,
        conversation=conversation,
        dependencies=dependencies,
        alternatives=alternatives,
        tags=tags,
        at=at,
        again=again,
        options=options(dry_run=dry_run, no_commit=no_commit),
    )
    wrote(written, "decision new")
    if written.outcome.written and not wants_json():
        say_findings(of_written(forge, [written.entity]))


@decision.command(
    help="Replace a decision's text by a new decision; the old one is kept as revised.\n\n"
    + example('forgekit decision revise dec_b34bfcd74276 "Use UUID v8 for all resource IDs"')
)
@click.argument("name", metavar="ID")
@click.argument("text")
@click.option("--rationale", metavar="TEXT", help="Why, Markdown; the old one where not given.")
@click.option("--tier", type=SHARE, metavar="0..1", help="How sure it is.")
@conversation_option
@at_option
@writing
def revise(
    name: str,
    text: str,
    rationale: str | None,
    tier: float | None,
    conversation: str | None,
    at: Instant | None,
    *,
    dry_run: bool,
    no_commit: bool,
) -> None:
    """Revise a decision."""
    from forgekit import decisions
    from forgekit.findings import of_written

    forge = open_forge()
    written = decisions.revise(
        forge,
        name,
        text,
        rationale=rationale,
        tier=tier,
        conversation=conversation,
        at=at,
        options=options(dry_run=dry_run, no_commit=no_commit),
    )
    wrote(written, "decision revise")
    if written.outcome.written and not wants_json():
        say_findings(of_written(forge, [written.entity]))


@decision.command(
    help="Say that a decision still holds.\n\n"
    + example("forgekit decision validate dec_b34bfcd74276 --tier 0.9")
)
@click.argument("name", metavar="ID")
@click.option("--tier", type=SHARE, metavar="0..1", help="How sure it is now.")
@at_option
@writing
def validate(name: str, tier: float | None, at: Instant | None, *, dry_run: bool, no_commit: bool) -> None:
    """Validate a decision."""
    from forgekit import decisions

    way = options(dry_run=dry_run, no_commit=no_commit)
    forge = open_forge()
    written = decisions.validate(forge, name, tier=tier, at=at, options=way)
    stands = getattr(written.entity, "last_validated", UNKNOWN)
    later = f"nothing to do, it was validated later already, at {format_instant(stands)}"
    is_later = stands > (at if at is not None else forge.now())
    wrote(written, "decision validate", later if is_later else UNCHANGED)


@decision.command(
    help="Put another decision in a decision's place.\n\n"
    + example("forgekit decision supersede dec_b34bfcd74276 --by dec_0a1b2c3d4e5f")
)
@click.argument("name", metavar="ID")
@click.option("--by", required=True, metavar="ID", help="The decision that stands now.")
@click.option("--reason", default="", metavar="TEXT", help="Why, Markdown.")
@writing
def supersede(name: str, by: str, reason: str, *, dry_run: bool, no_commit: bool) -> None:
    """Supersede a decision."""
    from forgekit import decisions

    way = options(dry_run=dry_run, no_commit=no_commit)
    wrote(decisions.supersede(open_forge(), name, by, reason=reason, options=way), "decision supersede")


@decision.command(
    help="Put a decision out of force because it was found wrong.\n\n"
    + example('forgekit decision invalidate dec_b34bfcd74276 --reason "the benchmark was wrong"')
)
@click.argument("name", metavar="ID")
@click.option("--reason", required=True, metavar="TEXT", help="Why, Markdown.")
@writing
def invalidate(name: str, reason: str, *, dry_run: bool, no_commit: bool) -> None:
    """Invalidate a decision."""
    from forgekit import decisions

    require_line("reason", one_line(reason))
    way = options(dry_run=dry_run, no_commit=no_commit)
    wrote(decisions.invalidate(open_forge(), name, reason, options=way), "decision invalidate")


@decision.command(
    help="List pairs of active decisions that say the same.\n\n"
    + example('forgekit decision duplicates --project "The Nexus"')
)
@project_option
@json_option
def duplicates(project: str | None, *, as_json: bool) -> None:
    """List decisions that say the same."""
    from forgekit.findings import of_project

    forge = open_forge()
    with console.meter("judging decisions") as progress:
        findings = of_project(forge, project, progress)
    found = findings.duplicates
    talk_of_unreadable(forge)
    if as_json:
        console.as_json(
            [
                {"decision_a": f.a.id, "decision_b": f.b.id, "texts": [f.a.decision, f.b.decision]}
                for f in found
            ]
        )
        return
    console.table(
        ("id", "title", "other id", "title"),
        [
            (short_id(Kind.DECISION, f.a.id), f.a.decision, short_id(Kind.DECISION, f.b.id), f.b.decision)
            for f in found
        ],
    )
    if findings.missing:
        console.info(f"nothing was judged: {findings.missing}")
    elif not found:
        console.info("no duplicates")


add_edit(decision, Kind.DECISION)
