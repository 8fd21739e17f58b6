"""What the commands print that look at the whole registry: status, search, stale, trace, bridge, blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forgekit import console
from forgekit.model.kinds import Kind, short_id
from forgekit.operations import PLURALS
from forgekit.times import UNKNOWN, format_date

if TYPE_CHECKING:
    from forgekit.cli.call import Call
    from forgekit.ids import EntityId
    from forgekit.lineage import Bridge, Trace
    from forgekit.model.registry import Registry
    from forgekit.queries import Found, StaleReport
    from forgekit.search import Scored
    from forgekit.upkeep.status import Status


def status(found: Status, call: Call) -> None:
    """Print the registry on one screen."""
    del call
    for line in found.projects:
        console.data(
            f"{line.name}: {console.count(line.decisions, 'active decision')}, "
            f"{console.count(line.threads, 'open thread')}, "
            f"{console.count(line.conversations, 'conversation')}"
            + (f", {console.count(line.candidates, 'candidate')} waiting" if line.candidates else "")
        )
    if not found.projects:
        first = "no project yet; `forgekit sync-compression --archive FILE` files a first archive"
        console.data("no project can be read" if found.unreadable else first)
    console.data()
    share = f"{found.stale} of {found.active} active"
    console.fields(
        {
            "entities": ", ".join(
                console.count(number, name, PLURALS.get(name)) for name, number in found.kinds if number
            )
            or "none",
            "decisions": _pairs(found.decisions),
            "open threads": _pairs(found.threads),
            "stale": f"{share} ({found.stale / found.active:.0%})" if found.active else share,
            "open conflicts": str(found.open_conflicts),
            "to revalidate": str(found.revalidate),
            **(
                {"candidates": f"{found.candidates:,} waiting; `forgekit review`"} if found.candidates else {}
            ),
            "vectors": f"{found.vectors:,} of {found.texts:,} ({found.model})"
            if found.model
            else "none; `forgekit doctor` explains",
            "findings": _pairs(tuple(c for c in found.conflicts if c[0] in {"found", "possible"})),
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
        console.info("`forgekit check` shows what is wrong with the files that could not be read")


def _pairs(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts if number) or "none"


def _paths(paths: tuple[str, ...]) -> str:
    shown = "\n".join(paths[:5])
    return f"{shown}\nand {len(paths) - 5} more" if len(paths) > 5 else shown or "none"


def block(found: Any, call: Call) -> None:
    """Print a text to paste, or an answer; what it left out goes to stderr."""
    del call
    console.data(found.text.rstrip("\n"))
    if cut := getattr(found, "cut", ""):
        console.info(cut)


def template(call: Call) -> None:
    """Print a text to fill in; it needs no registry."""
    from forgekit.briefing.template import template as text_of

    console.data(text_of(call["kind"]).rstrip("\n"))


def stale(found: StaleReport, call: Call) -> None:
    """Print stale decisions, and those that depend on one that has ended."""
    del call
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
            for item in found.stale
        ],
    )
    for item in found.shaken:
        console.data(f"{short_id(Kind.DECISION, item.decision.id)} {item.why}")
    old = found.stale
    console.info(f"stale: {len(old)} of {old.active} active decisions ({old.share:.0%})")


def trace(found: Trace, call: Call) -> None:
    """Print the edges around a conversation."""
    del call
    from forgekit.model.graph import Direction, one_talk

    same = one_talk(found.registry)
    for hop in found.hops:
        edge = hop.edge
        a, b = edge.source_conversation_id, edge.target_conversation_id
        inside = same.get(a, a) == same.get(b, b)
        source, target = (end if inside else same.get(end, end) for end in (a, b))
        carried = sum(len(entry.decisions_carried) for entry in edge.compressions)
        dropped = sum(len(entry.decisions_dropped) for entry in edge.compressions)
        mark = "<" if hop.direction is Direction.ANCESTORS else ">"
        console.data(
            f"{mark}{hop.depth}  {_named(found.registry, source)} -> {_named(found.registry, target)}  "
            f"[{console.one_line(edge.title)}] {carried} carried, {dropped} dropped"
        )
    if not found.hops:
        console.info(f"{short_id(Kind.CONVERSATION, found.conversation)} is joined to no other conversation")


def bridge(found: Bridge, call: Call) -> None:
    """Print what changed between two conversations."""
    del call
    registry = found.registry
    console.data(f"{_named(registry, found.source.id)} -> {_named(registry, found.target.id)}")

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


def _named(registry: Registry, entity: EntityId) -> str:
    found = registry.get(entity)
    title = f" {console.one_line(found.title)}" if found else ""
    return f"{short_id(Kind.CONVERSATION, entity)}{title}"


def hits(found: Found, call: Call) -> None:
    """Print what a search found, best first."""
    for scored in found.result.hits if found.result else ():
        hit = scored.hit
        about = ", ".join(part for part in (hit.status, hit.project) if part)
        console.data(f"{hit.short}  {console.one_line(hit.title)}" + (f"  ({about})" if about else ""))
        if hit.snippet and hit.snippet != hit.title:
            console.data(f"    {console.one_line(hit.snippet)}")
        if call["explain"]:
            console.data(f"    = {_parts(scored)}")
    for message in found.messages:
        name = short_id(Kind.CONVERSATION, message.conversation)
        console.data(
            f"{name} turn {message.number}, {message.speaker}  {console.one_line(message.title)}  "
            f"({console.one_line(message.project)})"
        )
        console.data(f"    {console.one_line(message.snippet)}")
    if not (found.result.hits if found.result else found.messages):
        kept = f"; {found.hint}" if found.hint else ""
        console.info(f"nothing found for {found.query[:80]!r}{kept}")


def _parts(scored: Scored) -> str:
    if scored.named:
        return "named by the query"
    share = "" if scored.share is None else f"share {scored.share:.3f}, "
    words = "no word found it" if scored.lexical_rank is None else f"words: {share}rank {scored.lexical_rank}"
    meaning = "" if scored.cosine is None else f"meaning: cosine {scored.cosine:.3f}"
    if scored.semantic_rank is not None:
        meaning += f", rank {scored.semantic_rank}"
    return "; ".join(part for part in (words, meaning, f"score {scored.score:.6f}") if part)
