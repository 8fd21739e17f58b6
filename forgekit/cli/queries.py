"""Commands that look: status, context, stale, trace, bridge, log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forgekit import console
from forgekit.cli.base import (
    MOMENT,
    SHARE,
    example,
    json_option,
    limit_option,
    open_forge,
    project_option,
    words_of,
)
from forgekit.cli.entities import PLURALS, print_commits, talk_of_unreadable
from forgekit.model.kinds import Kind, short_id
from forgekit.times import UNKNOWN, Instant, format_date, format_instant

if TYPE_CHECKING:
    from forgekit.ids import EntityId
    from forgekit.model.registry import Registry


@click.command(help="Show the registry on one screen.\n\n" + example("forgekit status"))
@json_option
def status(*, as_json: bool) -> None:
    """Show the registry on one screen."""
    from forgekit.upkeep.status import status as status_of

    forge = open_forge()
    with console.progress("reading the registry"):
        found = status_of(forge)
    if as_json:
        console.as_json(found.as_json())
        return
    for line in found.projects:
        console.data(
            f"{line.name}: {console.count(line.decisions, 'decision')} in force, "
            f"{console.count(line.threads, 'open thread')}, "
            f"{console.count(line.conversations, 'conversation')}"
            + (f", {console.count(line.candidates, 'candidate')} waiting" if line.candidates else "")
        )
    if not found.projects:
        first = "no project yet; `forgekit sync-compression --archive FILE` files a first archive"
        console.data("no project can be read" if found.unreadable else first)
    console.data()
    share = f"{found.stale} of {found.active} active"
    waiting = found.candidates > 0
    console.fields(
        {
            "entities": ", ".join(
                console.count(number, name, PLURALS.get(Kind(name))) for name, number in found.kinds if number
            )
            or "none",
            "decisions": _pairs(found.decisions),
            "open threads": _pairs(found.threads),
            "stale": f"{share} ({found.stale / found.active:.0%})" if found.active else share,
            "open conflicts": str(found.open_conflicts),
            "to revalidate": str(found.revalidate),
            **({"candidates": f"{found.candidates:,} waiting; `forgekit review`"} if waiting else {}),
            "vectors": f"{found.vectors:,} of {found.texts:,} ({found.model})"
            if found.model
            else "none; `forgekit doctor` says why",
            "findings": _pairs(tuple(c for c in found.conflicts if c[0] in ("found", "possible"))),
            "judge": f"none: {found.judge_missing}"
            if found.judge_missing
            else f"{found.judge}"
            + (f"; {found.unjudged:,} pairs to judge (`forgekit conflict scan`)" if found.unjudged else ""),
            "uncommitted": _paths(found.uncommitted),
            "unreadable": _paths(found.unreadable),
        }
    )
    if found.next_threads:
        console.data("\nnext:")
        rows = [
            (short_id(t.kind, t.id), t.priority.value, t.title, t.project_name) for t in found.next_threads
        ]
        console.table(("id", "priority", "title", "project"), rows)
    if found.unreadable:
        console.info("`forgekit check` says what is wrong with the files that could not be read")


def _pairs(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts if number) or "none"


def _paths(paths: tuple[str, ...]) -> str:
    shown = "\n".join(paths[:5])
    return f"{shown}\nand {len(paths) - 5} more" if len(paths) > 5 else shown or "none"


@click.command(
    help="Print what bears on a query, as a block to paste.\n\n"
    + example('forgekit context "message queue" --project "The Nexus" --cross-project')
)
@click.argument("query", nargs=-1, required=True)
@project_option
@click.option("--cross-project", is_flag=True, help="Search other projects too.")
@click.option("--budget", type=click.IntRange(100), metavar="TOKENS", help="Room for the block.")
@click.option("--no-threads", is_flag=True, help="Leave threads out.")
@click.option("--no-decisions", is_flag=True, help="Leave decisions out.")
@json_option
def context(
    query: tuple[str, ...],
    project: str | None,
    budget: int | None,
    *,
    cross_project: bool,
    no_threads: bool,
    no_decisions: bool,
    as_json: bool,
) -> None:
    """Print what bears on a query."""
    from forgekit.context import load

    forge = open_forge()
    found = load(
        forge,
        words_of(query),
        project=project,
        cross_project=cross_project,
        budget=budget,
        include_threads=not no_threads,
        include_decisions=not no_decisions,
    )
    talk_of_unreadable(forge)
    if found.data["notice"]:
        console.info(str(found.data["notice"]))
    if as_json:
        console.as_json(found.data)
    else:
        console.data(found.text.rstrip("\n"))


@click.command(
    help="List the active decisions that nobody has validated lately, and those whose ground has moved.\n\n"
    + example("forgekit stale", "forgekit stale --days 14 --max-tier 0.7 --json")
)
@click.option("--days", type=click.IntRange(1), help="Not validated for so many days.")
@click.option("--hops", type=click.IntRange(1), help="Left out by so many compressions in a row.")
@click.option("--max-tier", type=SHARE, metavar="0..1", help="Only decisions of this tier or below.")
@project_option
@json_option
def stale(
    days: int | None, hops: int | None, max_tier: float | None, project: str | None, *, as_json: bool
) -> None:
    """List stale decisions."""
    from forgekit.insight import staleness
    from forgekit.insight.views import Derived

    forge = open_forge()
    registry = forge.registry()
    settings = forge.settings
    owner = forge.known_project(project, registry).id if project is not None else None
    talk_of_unreadable(forge)
    found = staleness.stale(
        registry,
        forge.now(),
        days=days if days is not None else settings.stale_days,
        hops=hops if hops is not None else settings.stale_hops,
        max_tier=max_tier if max_tier is not None else settings.stale_max_tier,
        project=owner,
    )
    shaken = [
        item
        for item in staleness.needs_revalidation(registry)
        if owner is None or item.decision.project_uuid == owner
    ]
    if as_json:
        derived = Derived(registry)
        console.as_json(
            {
                "stale": [
                    {
                        **derived.view(item.decision),
                        "days": item.days,
                        "reasons": [r.value for r in item.reasons],
                    }
                    for item in found
                ],
                "needs_revalidation": [
                    {"decision_id": item.decision.id, "broken": item.broken.id, "why": item.why}
                    for item in shaken
                ],
                "active": found.active,
                "share": round(found.share, 3),
            }
        )
        return
    console.table(
        ("id", "days", "hops", "title", "project"),
        [
            (
                short_id(Kind.DECISION, item.decision.id),
                format_date(UNKNOWN) if item.last_validated == UNKNOWN else f"{item.days} d",
                console.count(item.hops, "hop"),
                item.decision.decision,
                item.decision.project_name,
            )
            for item in found
        ],
    )
    for item in shaken:
        console.data(f"{short_id(Kind.DECISION, item.decision.id)} {item.why}")
    console.info(f"stale: {len(found)} of {found.active} active decisions ({found.share:.0%})")


@click.command(
    help="Show which conversations a conversation came from, and which continue it.\n\n"
    + example("forgekit trace con_9c2f7be01d44 --direction ancestors")
)
@click.argument("conversation", metavar="CONVERSATION")
@click.option(
    "--direction",
    type=click.Choice(["both", "ancestors", "descendants"]),
    default="both",
    show_default=True,
)
@json_option
def trace(conversation: str, direction: str, *, as_json: bool) -> None:
    """Show lineage around a conversation."""
    from forgekit.insight.views import Derived
    from forgekit.model import graph

    forge = open_forge()
    key = forge.resolve(conversation, Kind.CONVERSATION)
    registry = forge.registry()
    talk_of_unreadable(forge)
    hops = graph.trace(registry, key, graph.Direction(direction))
    if as_json:
        derived = Derived(registry)
        console.as_json(
            [{**derived.view(hop.edge), "depth": hop.depth, "direction": hop.direction.value} for hop in hops]
        )
        return
    same = graph.one_talk(registry)
    for hop in hops:
        edge = hop.edge
        a, b = edge.source_conversation_id, edge.target_conversation_id
        inside = same.get(a, a) == same.get(b, b)
        source, target = (end if inside else same.get(end, end) for end in (a, b))
        carried = sum(len(entry.decisions_carried) for entry in edge.compressions)
        dropped = sum(len(entry.decisions_dropped) for entry in edge.compressions)
        mark = "<" if hop.direction is graph.Direction.ANCESTORS else ">"
        console.data(
            f"{mark}{hop.depth}  {_conversation(registry, source)} -> {_conversation(registry, target)}  "
            f"[{console.one_line(edge.title)}] {carried} carried, {dropped} dropped"
        )
    if not hops:
        console.info(f"{short_id(Kind.CONVERSATION, key)} is joined to no other conversation")


def _conversation(registry: Registry, entity: EntityId) -> str:
    found = registry.get(entity)
    title = f" {console.one_line(found.title)}" if found else ""
    return f"{short_id(Kind.CONVERSATION, entity)}{title}"


@click.command(
    help="Say what changed between two conversations that lineage joins.\n\n"
    + example("forgekit bridge con_1f0a5d9e3b21 con_9c2f7be01d44")
)
@click.argument("source")
@click.argument("target")
@json_option
def bridge(source: str, target: str, *, as_json: bool) -> None:
    """Say what changed on the way."""
    from forgekit.lineage import bridge as bridge_of
    from forgekit.lineage import bridge_view

    forge = open_forge()
    ends = [forge.resolve(name, Kind.CONVERSATION) for name in (source, target)]
    registry = forge.registry()
    talk_of_unreadable(forge)
    found = bridge_of(registry, *ends)
    if as_json:
        console.as_json(bridge_view(found))
        return
    console.data(f"{_conversation(registry, found.source.id)} -> {_conversation(registry, found.target.id)}")

    def shown(entity: EntityId) -> str:
        known = registry.get(entity)
        return f"{short_id(known.kind, known.id)}  {console.one_line(known.title)}" if known else entity

    for name, entities in (("carried", found.carried), ("dropped", found.dropped)):
        for entity in entities:
            console.data(f"  {name}  {shown(entity)}")
    for old, new in found.revised:
        console.data(f"  revised  {shown(old)} -> {shown(new)}")
    for entity in found.resolved:
        console.data(f"  resolved  {shown(entity)}")
    console.data(f"\n{found.summary}")


@click.command(
    help="Show what changed in the registry, newest first.\n\n"
    + example("forgekit log --limit 5", "forgekit log --since 2026-03-01 --json")
)
@limit_option
@click.option("--since", type=MOMENT, metavar="DATE", help="No older ones.")
@json_option
def log(limit: int, since: Instant | None, *, as_json: bool) -> None:
    """Show the registry's commits."""
    from forgekit import history

    commits = history.log(open_forge(), limit=limit, since=since)
    nothing = "nothing is committed yet" if since is None else f"no commit since {format_instant(since)}"
    print_commits(commits, as_json=as_json, nothing=nothing)
