"""What the commands print that read: lists, one entity, commits, and questions about the whole registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from forgekit import console
from forgekit.cli.call import Call, name_unjudged
from forgekit.ids import EntityId, is_id
from forgekit.model.kinds import Kind, short_id
from forgekit.operations import PLURALS
from forgekit.text.blocks import disagreements
from forgekit.times import UNKNOWN, format_date, format_instant

if TYPE_CHECKING:
    from forgekit.agent_sessions import AgentSession
    from forgekit.conflict.judge import Judgement
    from forgekit.conventions import Lives
    from forgekit.git.program import Commit
    from forgekit.governing import Explanation
    from forgekit.injection import Injection
    from forgekit.lineage import Bridge, Trace
    from forgekit.model.entities import Conflict, Entity
    from forgekit.model.registry import Registry
    from forgekit.queries import Found, IndexStatus, Listing, Shown, StaleReport, Status
    from forgekit.search import Checked, Scored
    from forgekit.survival_report import CompactionReport

_COLUMNS = {
    Kind.PROJECT: ("id", "name", "decisions", "open threads", "conversations"),
    Kind.CONVERSATION: ("id", "started", "title", "project"),
    Kind.THREAD: ("id", "status", "priority", "title", "project"),
    Kind.DECISION: ("id", "status", "tier", "title", "project"),
    Kind.LINEAGE: ("id", "from", "to", "title", "project"),
    Kind.CONFLICT: ("id", "status", "one side", "one text", "other side", "other text"),
    Kind.CANDIDATE: ("id", "status", "confidence", "proposes", "title", "project"),
    Kind.NOTE: ("id", "written", "title", "project"),
    Kind.ARCHIVE: ("id", "compressed", "title", "conversation", "project", "about"),
}
_CELLS: dict[str, Callable[[Any], str]] = {
    "id": lambda entity: short_id(entity.kind, entity.id),
    "name": lambda entity: entity.title,
    "title": lambda entity: f"{entity.title}{_unsettled(entity)}",
    "project": lambda entity: entity.project_name,
    "status": lambda entity: entity.status.value,
    "priority": lambda entity: entity.priority.value,
    "tier": lambda entity: entity.tier_words,
    "confidence": lambda entity: f"{entity.confidence:.2f}",
    "proposes": lambda entity: entity.proposes.value,
    "written": lambda entity: format_date(entity.updated_at),
    "started": lambda entity: format_date(entity.created_at),
    "compressed": lambda entity: format_date(entity.compressed_at),
    "conversation": lambda entity: short_id(Kind.CONVERSATION, entity.conversation_id),
    "about": lambda entity: entity.conversation_title,
    "from": lambda entity: short_id(Kind.CONVERSATION, entity.source_conversation_id),
    "to": lambda entity: short_id(Kind.CONVERSATION, entity.target_conversation_id),
}
"""Column -> its cell of an entity; of a project's counts and of a conflict's sides, the registry is asked."""
_HIDDEN = (
    *("kind", "short_id", "path", "extra", "body", "records", "compressions", "moot"),
    # The headline and the project's name say these.
    *("title", "decision", "candidate", "convention", "project_uuid"),
    # The first is printed below; the other counts conversations, not what `decision validate` did.
    *("sections", "validation_count"),
)
_PATHS = 3
"""Paths that are named of those that a decision governs."""
_LEFT_OUT = 20
"""Conventions without room that are named."""
_WHEN = ("created_at", "compressed_at")
_LONG = ("content", "quote", "rationale", "context", "resolution", "bridge_summary")
_GROUPS = ("decisions_carried", "decisions_dropped", "threads_carried", "threads_resolved")


def _unsettled(entity: Entity) -> str:
    from forgekit.merge.conflicting_edits import unsettled

    return unsettled(entity)


def listing(found: Listing, _: Call) -> None:
    """Print a list of entities."""
    from forgekit.insight.staleness import conflict_state
    from forgekit.insight.views import project_counts
    from forgekit.model.entities import Conflict

    registry, columns = found.registry, _COLUMNS[found.kind]
    if found.conflicts is not None:
        rows = [_conflict(each.conflict, each.state, each.sides, each.yields) for each in found.conflicts]
        rows += [_contradiction(*each) for each in found.contradictions]
    elif found.kind is Kind.CONFLICT:
        conflicts = (entity for entity in found.entities if isinstance(entity, Conflict))
        rows = [_conflict(c, conflict_state(registry, c), map(registry.get, c.sides)) for c in conflicts]
    elif found.kind is Kind.PROJECT:
        counts = project_counts(registry, [entity.id for entity in found.entities])
        rows = [[*_row(e, columns[:2]), *map(str, counts[e.id].values())] for e in found.entities]
    else:
        rows = [_row(entity, columns) for entity in found.entities]
    console.table(columns, rows)
    if not rows:
        console.info(f"no {PLURALS.get(found.kind.value, f'{found.kind.value}s')}")
    name_unjudged(found.unjudged)


def conventions(found: Lives, _: Call) -> None:
    """Print conventions and where they stand."""
    columns = ("id", "stage", "confidence", "seen", "used", "title", "project")
    rows = [
        (
            short_id(Kind.CONVENTION, life.convention.id),
            life.stage.value,
            f"{life.confidence:.2f}",
            f"{life.observations} in {life.sessions}",
            str(life.uses),
            life.convention.title,
            life.convention.project_name,
        )
        for life in found.rows
    ]
    console.table(columns, rows)
    if not rows:
        console.info("no conventions")


def convention_status(found: Lives, _: Call) -> None:
    """Print how many conventions stand where, what contradicts them, and the trend."""
    from forgekit.cli.changes import print_contradictions
    from forgekit.insight.views import convention_status as view

    shown = view(found)
    lines = {stage: f"{number:,}" for stage, number in shown["stages"].items()}
    lines["observations"] = f"{shown['observations']:,}"
    lines["injected"] = f"at most {shown['most']}; {len(shown['left_out']):,} left out"
    lines["turns without correction or new convention"] = "\n".join(
        f"{share:.0%}  {short_id(session.kind, session.id)}  {format_date(session.created_at)}"
        for session, share in found.rewards
    )
    if shown["ready"]:
        lines["next"] = f"`forgekit review`: {', '.join(shown['ready'])}"
    console.fields({key: value for key, value in lines.items() if value})
    print_contradictions(found.contradictions)


def injected(found: Injection, call: Call) -> None:
    """Print which files change, and which conventions have no room."""
    from forgekit.cli.changes import headline, print_contradictions

    if found.checked:
        console.diff("".join(edit.diff for edit in found.edits))
    for edit in found.edits:
        console.info(f"{'would change' if found.checked else 'changed'} {edit.path}")
        for line in edit.lost:
            console.info(f"an edit between the marks, written over: {line}")
    if any(edit.lost for edit in found.edits):
        console.info(
            "to keep such an edit: `forgekit convention edit ID --text TEXT`, or `convention new TEXT`"
        )
    for life in found.ended:
        console.info(f"no longer in it, {life.stage.value}: {headline(life.convention)}")
    if found.edits:
        for life in found.left_out[:_LEFT_OUT]:
            console.info(f"left out: {headline(life.convention)}")
        if (more := len(found.left_out) - _LEFT_OUT) > 0:
            console.info(f"left out: {more:,} more; `forgekit convention list --json` has all")
        from forgekit.conventions import waiting

        ids = {life.convention.id for life in found.kept}
        opposed = waiting(call.forge, project=call["project"]).contradictions
        print_contradictions((each for each in opposed if {each[0].id, each[1].id} <= ids), to=console.info)
    else:
        console.info(f"unchanged: {console.count(len(found.kept), 'convention')} in it")


def _row(entity: Any, columns: Iterable[str]) -> list[str]:
    return [_CELLS[name](entity) for name in columns]


def _contradiction(a: Entity, b: Entity, judgement: Judgement) -> list[str]:
    sides = (text for side in (a, b) for text in (short_id(side.kind, side.id), side.title))
    return ["", judgement.level.state, *sides]


def _conflict(
    conflict: Conflict, state: str, sides: Iterable[Any], yields: EntityId | None = None
) -> list[str]:
    cells = [short_id(Kind.CONFLICT, conflict.id), state]
    for key, side in zip(conflict.sides, sides, strict=True):
        cells.append(short_id(Kind.DECISION, key) + (" (yields)" if yields == key else ""))
        cells.append(side.title if side is not None else "")
    return cells


def commits(found: Sequence[Commit], call: Call) -> None:
    """Print commits with what they did, or that there are none."""
    log = call.operation.name == "log"
    rows = [
        (c.short, format_instant(c.time), c.author, _with_text(call, c) if log else c.subject) for c in found
    ]
    console.table(("commit", "time", "author", "title"), rows)
    if not rows and call["since"]:
        console.info(f"no commit since {format_instant(call['since'])}")
    elif not rows:
        console.info("nothing is committed yet" if log else "not committed yet")


def _with_text(call: Call, commit: Commit) -> str:
    """Return the subject of a commit; one that ends with an id gets the text of that entity."""
    last = commit.subject.rpartition(" ")[2]
    touched = (value for key, value in commit.trailers if key == "Forgekit-Entity")
    first = EntityId(next(touched, ""))
    if "_" not in last or not first.endswith(last.partition("_")[2]):
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
        _print_entity(found)


def _print_turns(found: Shown, turns: str) -> None:
    for message in found.messages or ():
        at = f", {format_instant(message.time)}" if message.time is not None else ""
        text = "\n\n".join(part for part in (message.text, "\n".join(message.beside)) if part)
        console.data(f"### {message.number}. {message.speaker.value.capitalize()}{at}\n\n{text}\n")
    if not found.messages:
        console.info(f"no turn {turns}; the kept text holds 1-{found.last_turn}")


def _print_entity(found: Shown) -> None:
    from forgekit.insight.views import of_shown
    from forgekit.model.entities import Compression

    registry, origin = found.registry, found.provenance
    entity: Any = found.entity
    view = of_shown(found)
    console.data(f"{short_id(entity.kind, entity.id)}  {entity.title}")
    parts = {spec.name for spec in fields(Compression)}  # an edge shows each compression on its own
    own = {*_HIDDEN, *parts, *_LONG, entity.kind.id_field}
    if entity.kind is Kind.ARCHIVE:
        own -= {"compression_mode", "compressed_at", "turn_range"}
    values = {"id": entity.id} | {key: _shown(registry, view[key]) for key in view if key not in own}
    if view.get("moot"):
        values["status"] += " (moot: one side is no longer active)"
    values |= {key: format_date(UNKNOWN) for key in _WHEN if key in values and view[key] is None}
    lines = {
        "project" if key == "project_name" else key.replace("_", " "): value
        for key, value in values.items()
        if value
    }
    assert origin is not None  # noqa: S101 - entities have one
    if origin.archives:
        lines["stated in"] = "\n".join(
            f"{tag} ({short_id(Kind.ARCHIVE, archive)}) of {_named(registry, conversation)}"
            for tag, conversation, archive in origin.archives
        )
    if commit := origin.commit:
        lines["last commit"] = f"{commit.short} {format_date(commit.time)} {commit.subject}"
    if view["path"]:
        lines["file"] = view["path"]
    console.fields({**lines, **{f"({key})": str(value) for key, value in entity.extra.items()}})
    if entity.kind is Kind.LINEAGE:
        _print_compressions(registry, entity)
    if entity.kind is not Kind.ARCHIVE:
        _print_sections(entity, view)
    elif entity.records:
        console.data("\nRecords\n")
        console.fields({f"  {local}": _named(registry, key) for local, key in entity.records})
    _print_parts(found)


def _print_parts(found: Shown) -> None:
    """Print what else an archive holds."""
    if found.artifacts:
        console.data("\nArtifacts\n")
        console.fields(
            {f"  {item.local_id}": f"{item.name}  {item.summary}".rstrip() for item in found.artifacts}
        )
    if found.insights:
        console.data("\nInsights\n")
        for insight in found.insights:
            console.data(f"  {console.one_line(insight)}")


def _print_sections(entity: Any, view: dict[str, Any]) -> None:
    from forgekit.model import rules

    for key in _LONG:
        if view.get(key):
            console.section(key.replace("_", " ").capitalize(), view[key])
    if entity.kind is not Kind.NOTE and view.get("content") != entity.body:  # which holds all sections
        for name, text in rules.added_sections(entity.body).items():
            console.section(name, text)


def _print_compressions(registry: Registry, edge: Any) -> None:
    for entry in edge.compressions:
        console.data(f"\n{entry.compression_tag}\n")
        groups = {name: getattr(entry, name) for name in _GROUPS}
        console.fields(
            {
                f"  {name.replace('_', ' ')}": "\n".join(
                    f"{local}  {_named(registry, key)}".strip() for local, key in entries
                )
                for name, entries in groups.items()
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


def status(found: Status, _: Call) -> None:
    """Print the registry on one screen."""
    for counts in found.projects:
        waiting = counts["waiting_candidates"]
        console.data(
            f"{counts['project_name']}: {console.count(counts['active_decisions'], 'active decision')}, "
            f"{console.count(counts['open_threads'], 'open thread')}, "
            f"{console.count(counts['conversations'], 'conversation')}"
            + (f", {console.count(waiting, 'candidate')} waiting" if waiting else "")
        )
    if not found.projects:
        first = "no project yet; `forgekit sync-compression --archive FILE` files a first archive"
        console.data("no project can be read" if found.unreadable else first)
    console.data()
    kinds = [console.count(number, name, PLURALS.get(name)) for name, number in found.kinds.items() if number]
    share = f" ({found.stale / found.active:.0%})" if found.active else ""
    lines = {
        "entities": ", ".join(kinds) or "none",
        "decisions": _pairs(found.decisions),
        "open threads": _pairs(found.open_threads),
        "stale": f"{found.stale} of {found.active} active{share}",
        "to settle": _to_settle(found),
        "to revalidate": str(found.needs_revalidation),
    }
    if found.unsettled:
        lines["conflicting edits"] = f"{_paths(found.unsettled)}\n`forgekit check` says what to do"
    if found.waiting_candidates:
        lines["candidates"] = f"{found.waiting_candidates:,} waiting; `forgekit review`"
    lines["vectors"] = "none; `forgekit doctor` explains"
    if found.model:
        lines["vectors"] = f"{found.vectors:,} of {found.vectors_of:,} ({found.model})"
    if found.notes:
        lines["notes"] = f"{_pairs(dict(sorted(found.notes.items())))}; {found.essences:,} with an essence"
        lines["topics"] = f"{found.topics:,}, {found.digests:,} with a digest"
    lines["judge"] = f"none: {found.judge_missing}" if found.judge_missing else found.judge
    if found.unjudged_pairs and not found.judge_missing:
        pairs = console.count(found.unjudged_pairs, "pair")
        lines["judge"] += f"; {pairs} to judge (`forgekit conflict scan`)"
    lines |= {"uncommitted": _paths(found.uncommitted), "unreadable": _paths(found.unreadable)}
    console.fields(lines)
    if found.next_threads:
        console.data("\nnext:")
        columns = ("id", "priority", "title", "project")
        console.table(columns, [_row(thread, columns) for thread in found.next_threads])
    if found.unreadable:
        console.info("`forgekit check` shows what is wrong with the files that could not be read")


def _to_settle(found: Status) -> str:
    possible = found.conflicts.get("possible")
    known = disagreements(found.open_conflicts, found.conflicts.get("found", 0), found.unjudged_pairs)
    return f"{known}, {possible:,} possible" if possible else known


def _pairs(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number) or "none"


def _paths(paths: Sequence[str]) -> str:
    shown = "\n".join(paths[:5])
    return f"{shown}\nand {len(paths) - 5} more" if len(paths) > 5 else shown or "none"


def block(found: Any, call: Call) -> None:
    """Print a text to paste, or an answer; what it left out, and an explanation, go to stderr."""
    console.data(found.text.rstrip("\n"))
    for rank, row in enumerate(found.placed if call["explain"] else (), 1):
        at, cost = row.rendition, console.count(row.cost, "token")
        how = "left out" if at is None else f"rendition {at + 1} of {row.of}, {cost}"
        console.info(f"{rank}. {row.where}: {how}: {console.one_line(row.text[:60])}")
    if call["explain"]:
        parts = (f"{where} {number:,}" for where, number in found.data["tokens"].items())
        console.info(f"tokens: {'; '.join(parts) or 'none'}")
    if cut := getattr(found, "cut", ""):
        console.info(cut)


answer = block


def compaction_status(found: AgentSession, _: Call) -> None:
    """Print how near a session is to a compaction, and what is kept of it."""
    meter = found.meter
    seen = "where this model was seen to compact" if meter.observed else "the model's window"
    kept = ", ".join(console.count(number, kind) for kind, number in found.counts.items() if number)
    console.fields(
        {
            "session": found.name,
            "context": f"{meter.used:,} tokens, {meter.share:.0%} of {meter.limit:,} ({seen})",
            "risk": meter.risk.value,
            "compactions": str(meter.compactions),
            "kept": kept or "nothing",
        }
    )
    if not found.read:
        console.info("decisions and constraints of the last turns: `forgekit compaction preserve` reads them")


def compaction_report(found: CompactionReport, _: Call) -> None:
    """Print what compactions left, by kind."""
    if not found.compactions:
        console.info("no compaction with a summary in these transcripts")
        return
    rows = []
    for kind, kept in found.kinds.items():
        shares = (kept.summary, kept.both, kept.judged_summary, kept.judged_both)
        rows.append((kind.value, str(kept.total), *(f"{share / kept.total:.2f}" for share in shares)))
    console.table(("kind", "anchors", "summary", "with block", "judged", "judged with block"), rows)
    console.info(
        f"{console.count(len(found.compactions), 'compaction')}; columns: kind, anchors, the share of them "
        "that the summary holds, and with the block; then both as the judge compares the words"
    )
    console.info(
        f"touched again afterwards: {sum(one.again for one in found.compactions)} files and commands, "
        f"{sum(one.again_lost for one in found.compactions)} of them in neither; the blocks cost "
        f"{found.tokens_a_saved_anchor} tokens for each anchor that only they hold"
    )


def stale(found: StaleReport, call: Call) -> None:
    """Print stale decisions, and those that depend on one that has ended."""
    rows = []
    # There may be thousands, of which the entities themselves take ten times as long to read.
    names = call.forge.catalogue.names(aged.id for aged in found.stale.found)
    marks = {entity.id: _unsettled(entity) for entity in call.forge.unsettled()}
    for aged in found.stale.found:
        days = format_date(UNKNOWN) if aged.last_validated == UNKNOWN else f"{aged.days} d"
        (title, project), mark = names[aged.id], marks.get(aged.id, "")
        name, hops = short_id(Kind.DECISION, aged.id), console.count(aged.hops, "hop")
        rows.append((name, days, hops, title + mark, project))
    console.table(("id", "days", "hops", "title", "project"), rows)
    for each in found.revalidations:
        console.data(f"{short_id(Kind.DECISION, each.decision.id)} {each.why}")
    for decision, patterns in found.idle:
        console.data(f"{short_id(Kind.DECISION, decision.id)} governs no file: {', '.join(patterns)}")
    old = found.stale
    console.info(f"stale: {len(old)} of {old.active} active decisions ({old.share:.0%})")


def explained(found: Explanation, _: Call) -> None:
    """Print which decisions and conventions govern files."""
    for row in found.rows:
        name, decision = short_id(Kind.DECISION, row.decision.id), row.decision
        title = f"{decision.title}{_unsettled(decision)}"
        console.data(f"{name}  {title}" + (f"  [{'; '.join(row.marks)}]" if row.marks else ""))
        console.data(
            f"    {decision.project_name}, {format_date(decision.created_at)}, {decision.tier_words}; "
            f"governs {', '.join(row.patterns)}: {_first_paths(row.paths)}"
        )
    for each in found.conventions:
        console.data(f"{short_id(Kind.CONVENTION, each.convention.id)}  {each.convention.title}")
        console.data(
            f"    {each.convention.project_name}, {each.convention.form.value}; "
            f"scope {', '.join(each.patterns)}: {_first_paths(each.paths)}"
        )
    if not found.rows and not found.conventions:
        files = console.count(len(found.paths), "file")
        console.info(f"no decision or convention in force governs {files} asked about")


def _first_paths(paths: Sequence[str]) -> str:
    more = len(paths) - _PATHS
    return ", ".join(paths[:_PATHS]) + (f" and {more:,} more" if more > 0 else "")


def trace(found: Trace, _: Call) -> None:
    """Print the edges around a conversation."""
    from forgekit.model.graph import Direction, same_conversations

    same = same_conversations(found.registry)
    for hop in found.hops:
        edge = hop.edge
        a, b = edge.source_conversation_id, edge.target_conversation_id
        inside = same.get(a, a) == same.get(b, b)
        source, target = (end if inside else same.get(end, end) for end in (a, b))
        carried = sum(len(entry.decisions_carried) for entry in edge.compressions)
        dropped = sum(len(entry.decisions_dropped) for entry in edge.compressions)
        mark = "<" if hop.direction is Direction.ANCESTORS else ">"
        console.data(
            f"{mark}{hop.depth}  {_conversation(found.registry, source)} -> "
            f"{_conversation(found.registry, target)}  "
            f"[{console.one_line(edge.title)}] {carried} carried, {dropped} dropped"
        )
    if not found.hops:
        own = same.get(found.conversation, found.conversation)
        for key in (own, *(key for key, one in same.items() if one == own)):
            if key != found.conversation:
                console.info(f"{_conversation(found.registry, key)} is the same conversation")
        console.info(f"{short_id(Kind.CONVERSATION, found.conversation)} is joined to no other conversation")


def bridge(found: Bridge, _: Call) -> None:
    """Print what changed between two conversations."""
    from forgekit.model.entities import Thread

    registry = found.registry
    console.data(f"{_conversation(registry, found.source.id)} -> {_conversation(registry, found.target.id)}")

    def shown(entity: EntityId) -> str:
        return console.one_line(_named(registry, entity))

    for name, entities in (("carried", found.carried), ("dropped", found.dropped)):
        for entity in entities:
            console.data(f"  {name}  {shown(entity)}")
    for old, new in found.revised:
        console.data(f"  revised  {shown(old)} -> {shown(new)}")
    for thread in filter(None, (registry.find(Thread, key) for key in found.resolved)):
        console.data(f"  {thread.status.value}  {shown(thread.id)}")
    for entity in found.new:
        console.data(f"  new  {shown(entity)}")
    console.data(f"\n{found.summary}")


def _conversation(registry: Registry, entity: EntityId) -> str:
    found = registry.get(entity)
    title = f" {console.one_line(found.title)}" if found else ""
    return f"{short_id(Kind.CONVERSATION, entity)}{title}"


def search(found: Found, call: Call) -> None:
    """Print what a search found, best first."""
    marks = {entity.id: _unsettled(entity) for entity in found.unsettled}
    for scored in found.result.hits if found.result else ():
        hit = scored.hit
        about = ", ".join(part for part in (hit.status, hit.project) if part)
        title = f"{console.one_line(hit.title)}{marks.get(hit.id, '')}"
        console.data(f"{hit.short}  {title}" + (f"  ({about})" if about else ""))
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
    if not found.messages and not (found.result and found.result.hits):
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


def index_status(found: IndexStatus, call: Call) -> None:
    """Print the state of the index."""
    vectors = f"{found.vectors:,} of {found.entities:,} ({found.vectors_kind})"
    behind = found.added + found.updated + found.removed
    console.fields(
        {
            "path": found.path,
            "entities": f"{found.entities:,}",
            "size": f"{found.bytes / 1e6:.1f} MB" if found.bytes else "in memory",
            "was": f"behind by {behind} files" if found.existed else "missing",
            "unreadable": str(found.unreadable),
            "model": found.model or str(call.forge.encoder),
            "vectors": f"{vectors}, {found.vectors_bytes / 1e6:.1f} MB" if found.model else "none",
        }
    )


def index_verified(found: Checked, _: Call) -> None:
    """Print what a check of the vectors found."""
    console.data(
        f"{console.count(found.compared, 'vector')} compared: {found.wrong} wrong; "
        f"{console.count(found.missing, 'entity', 'entities')} without a vector"
    )
    if found.wrong:
        console.info("`forgekit index build --force` makes the index anew")
    elif found.missing:
        console.info("`forgekit index build` makes the vectors that are missing")
