"""Before compressing and before continuing: what a conversation must know, as a block to paste."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from textwrap import shorten

from forgekit.archives.formats.machine import MachineBlock, MachineRecord, record_line, write_machine_block
from forgekit.briefing.answers import called, since
from forgekit.errors import NotFoundError
from forgekit.filing.archive_facts import facts
from forgekit.findings import BLOCK_WAIT_MS, findings_of
from forgekit.forge import Forge
from forgekit.history import endings
from forgekit.ids import EntityId
from forgekit.insight.project_state import (
    Limits,
    Opposed,
    Overtaken,
    ProjectState,
    ended_note,
    project_state,
    titles,
)
from forgekit.insight.views import Derived
from forgekit.model.entities import Archive, Decision, Thread
from forgekit.model.kinds import Kind, is_short, short_id
from forgekit.model.registry import Registry
from forgekit.search import close_in_meaning
from forgekit.text.blocks import NOTICE, BlockPart, count, lay_out, quote, row, table_head
from forgekit.text.words import tokens
from forgekit.times import format_date

_THREADS, _DECISIONS = "Active Threads", "Decisions In Force"


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A block to paste.

    Attributes:
        text: Markdown.
        data: returns the same as JSON values.
        cut: what did not fit, in words.
    """

    text: str
    data: Callable[[], dict[str, object]]
    cut: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Page:
    """What a block is put together from."""

    purpose: str
    opening: str
    project: str
    archive: Archive | None = None

    @property
    def words(self) -> str:
        return self.purpose.replace("-", " ")


def prepare_compression(forge: Forge, project: str | None = None, budget: int | None = None) -> Block:
    """Return the registry's state of a project, to paste before compressing a conversation.

    Args:
        forge: the registry.
        project: its name; the default or only one where none is given.
        budget: tokens, else as the settings say.

    Raises NotFoundError, UsageError.
    """
    registry = forge.registry()
    name = forge.project(project, registry) or ""
    known = forge.known_project(name, registry)
    state = _state(forge, registry, known.id)
    opening = f"## Registry state: {quote(known.project_name)}\n\n{NOTICE}\n\n{_summary(registry, state)}"
    page = _Page("registry-state", opening, known.project_name)
    return _block(forge, registry, state, page, budget)


def prepare_continuation(
    forge: Forge, tag: str, budget: int | None = None, project: str | None = None
) -> Block:
    """Return what has become of an archive, to paste with it into the next conversation.

    Args:
        forge: the registry.
        tag: the archive's compression tag, or another name of it.
        budget: tokens, else as the settings say.
        project: where several projects use the tag.

    Raises NotFoundError, AmbiguousError, UsageError.
    """
    registry = forge.registry()
    archive = _archive(forge, registry, tag, project)
    state = _state(forge, registry, archive.project_uuid, archive)
    opening = (
        f"## Updated context: {quote(archive.compression_tag)}\n\n{NOTICE}\n"
        "Where the archive says otherwise, the registry is right.\n\n"
        f"**Project:** {quote(archive.project_name)}. **Archive:** {short_id(Kind.ARCHIVE, archive.id)}, "
        f"compressed {format_date(archive.compressed_at)}.\n\n{_summary(registry, state)}"
    )
    page = _Page("updated-context", opening, archive.project_name, archive)
    return _block(forge, registry, state, page, budget)


def _archive(forge: Forge, registry: Registry, tag: str, project: str | None) -> Archive:
    owner = forge.known_project(project, registry) if project is not None else None
    if owner is not None:
        same = [a for a in registry.archives if a.compression_tag == tag and a.project_uuid == owner.id]
        if len(same) == 1:
            return same[0]
    found = registry.get(forge.resolve(tag, Kind.ARCHIVE))
    if not isinstance(found, Archive) or (owner is not None and found.project_uuid != owner.id):
        what = "archive" if owner is None else f"archive of {owner.project_name}"
        raise NotFoundError(what, tag, "`forgekit archive list` shows the tags")
    return found


def _state(
    forge: Forge, registry: Registry, project: EntityId, archive: Archive | None = None
) -> ProjectState:
    settings = forge.settings
    archived = {entity for _, entity in archive.records} if archive is not None else set[EntityId]()
    own = {d.id for d in registry.decisions if d.project_uuid == project} | archived
    return project_state(
        registry,
        project,
        forge.now(),
        Limits(days=settings.stale_days, hops=settings.stale_hops, max_tier=settings.stale_max_tier),
        continued=facts(forge.catalogue, [archive])[0] if archive is not None else None,
        similarities=close_in_meaning(forge, project),
        findings=findings_of(forge, registry, own, wait_ms=BLOCK_WAIT_MS),
    )


def _block(forge: Forge, registry: Registry, state: ProjectState, page: _Page, budget: int | None) -> Block:
    parts = [
        *([_overtaken(forge, state, rank=0)] if page.archive is not None else []),
        _conflicts(state, rank=1),
        _yielding(state, rank=1),
        _threads(registry, state, page.archive, rank=2),
        *_revalidation(state, rank=4),
        _decisions(state, page.archive, rank=3),
        _abroad(state, rank=5),
        _lineage(registry, state, rank=6),
    ]
    room = budget if budget is not None else forge.settings.budget
    names = MachineBlock(
        purpose=page.purpose,
        project=page.project,
        tag=page.archive.compression_tag if page.archive else "",
    )
    rest = f"\n{write_machine_block(names, '')}decisions:\nthreads:\n"
    laid = lay_out(page.opening, parts, f"(end of {page.words})", budget=room, cost=tokens, rest=rest)
    kept = dict(zip((part.title for part in parts), laid.kept, strict=True))
    names = replace(
        names,
        threads=tuple(_record(thread, page.archive) for thread in state.threads[: kept[_THREADS]]),
        decisions=tuple(_record(decision, page.archive) for decision in state.decisions[: kept[_DECISIONS]]),
    )
    text = f"{laid.text}\n{write_machine_block(names, laid.text)}"
    return Block(text=text, data=partial(_data, registry, state, page.purpose), cut=laid.cut)


def _record(entity: Decision | Thread, archive: Archive | None) -> MachineRecord:
    """Return the ids by which an archive may name what is in the block."""
    return MachineRecord(
        id=_local(entity, archive).strip(),
        text=entity.title,
        entity=_name(entity),
        tier=entity.epistemic_tier if isinstance(entity, Decision) else None,
        status=entity.status.value,
    )


def _data(registry: Registry, state: ProjectState, kind: str) -> dict[str, object]:
    derived = Derived(registry)
    return {
        "block": kind,
        "threads": [derived.view(thread) for thread in state.threads],
        "decisions": [derived.view(decision) for decision in state.decisions],
        "overtaken": [
            {
                "local_id": o.local_id,
                "entity": derived.view(o.entity),
                "superseded_by": derived.view(o.successor)
                if o.successor and not o.successor.status.ended
                else None,
            }
            for o in state.overtaken
        ],
        "conflicts": [_opposed(derived, o) for o in state.conflicts],
        "yielding": [_opposed(derived, o) for o in state.yielding],
        "unjudged_pairs": state.unjudged,
        "revalidation_required": [
            *({"decision_id": s.decision.id, "why": s.why} for s in state.shaken),
            *({"decision_id": s.decision.id, "why": _age(s.days, s.hops)} for s in state.flagged),
        ],
        "cross_project": [
            {
                "decision": derived.view(a.decision),
                "bears_on": a.bears_on.id,
                "words": list(a.words),
                "cosine": a.cosine and round(a.cosine, 4),
            }
            for a in state.abroad
        ],
        "lineage": [derived.view(edge) for edge in state.edges],
        "speculative_left_out": state.speculative,
        "stale_share": round(len(state.flagged) / state.active, 3) if state.active else 0.0,
    }


def _opposed(derived: Derived, item: Opposed) -> dict[str, object]:
    view = derived.view(item.conflict)
    texts = [item.a.decision, item.b.decision]
    return view | {"texts": texts, "status": "found" if item.found else view["status"], "yields": item.yields}


def _summary(registry: Registry, state: ProjectState) -> str:
    parts = [
        count(len(state.threads), "open thread"),
        f"{count(len(state.decisions), 'decision')} in force",
        count(len(state.conflicts), "open conflict"),
        f"{len(state.flagged)} of {state.active} stale",
    ]
    if state.unjudged:
        parts.append(f"{count(state.unjudged, 'pair')} not judged yet (`forgekit conflict scan`)")
    if state.speculative:
        parts.append(f"{state.speculative} speculative left out")
    if unread := {problem.path for problem in registry.problems}:
        parts.append(f"{count(len(unread), 'file')} could not be read")
    return f"**Summary:** {', '.join(parts)}."


def _name(entity: Decision | Thread) -> str:
    return short_id(entity.kind, entity.id)


def _local(entity: Decision | Thread, archive: Archive | None) -> str:
    """Return the local id under which the archive knows an entity, and a blank, or ""; a short id is none."""
    if archive is None:
        return ""
    names = (local for local, known in archive.records if known == entity.id and not is_short(local))
    local = next(names, None)
    return f"{local} " if local else ""


def _brief(title: str) -> str:
    return shorten(title, 60, placeholder=" …")


def _threads(registry: Registry, state: ProjectState, archive: Archive | None, rank: int) -> BlockPart:
    def ended(blocker: EntityId) -> bool:
        known = registry.get(blocker)
        return isinstance(known, Thread) and known.status.ended

    def lines() -> Iterable[str]:
        for thread in state.threads:
            blocked = ", ".join(short_id(Kind.THREAD, b) for b in thread.blocked_by if not ended(b))
            yield (
                f"- {_local(thread, archive)}{_name(thread)}: {quote(thread.title)} [OPEN] "
                f"({thread.priority.value}){f', blocked by {blocked}' if blocked else ''}"
            )

    names = [record_line(_record(thread, archive), "title") for thread in state.threads]
    return BlockPart(title=_THREADS, items=list(lines()), rank=rank, beside=names)


def _decisions(state: ProjectState, archive: Archive | None, rank: int) -> BlockPart:
    def lines() -> Iterable[str]:
        for decision in state.decisions:
            why = decision.rationale
            yield (
                f"- {_local(decision, archive)}{_name(decision)} (tier {decision.tier_words}): "
                f"{quote(decision.decision)}{f' — {quote(why[:300])}' if why else ''}"
            )

    names = [record_line(_record(decision, archive), "text") for decision in state.decisions]
    return BlockPart(title=_DECISIONS, items=list(lines()), rank=rank, beside=names)


def _overtaken(forge: Forge, state: ProjectState, rank: int) -> BlockPart:
    ended = endings(forge, (o.entity for o in state.overtaken if isinstance(o.entity, Decision)))

    def line(item: Overtaken) -> str:
        entity = item.entity
        state_word = f"{entity.status.value.upper()}{'' if entity.status.ended else ' again'}"
        if isinstance(entity, Thread):
            how = (
                f": {quote(entity.resolution) or 'no resolution was recorded'}" if entity.status.ended else ""
            )
            where = f" in {short_id(Kind.CONVERSATION, entity.resolved_in)}" if entity.resolved_in else ""
            return (
                f"- {called(item.local_id, entity)}: {quote(entity.title)} is "
                f"{state_word} since {format_date(entity.updated_at)}{where}{how}"
            )
        how, now = since(entity, ended.get(entity.id)), ""
        if item.successor is not None and item.rivals:
            names = " and ".join(_name(d) for d in (item.successor, *item.rivals))
            now = f"; nothing is in its place until a person has chosen between {names} (see Conflicts)"
        elif item.successor is not None:
            tier = item.successor.tier_words
            name = f"{_name(item.successor)} (tier {tier}): {quote(item.successor.decision)}"
            now = f"; in its place: {ended_note(item.successor) or name}"
        return f"- {called(item.local_id, entity)}: {quote(entity.decision)} is {state_word}{how}{now}"

    title = "Changed Since This Archive"
    return BlockPart(title=title, items=[line(o) for o in state.overtaken], rank=rank)


def _side(decision: Decision) -> str:
    return f"{_name(decision)}: {decision.decision} (tier {decision.tier_words})"


def _conflicts(state: ProjectState, rank: int) -> BlockPart:
    rows = [
        row(
            _side(o.a),
            _side(o.b),
            o.a.project_name,
            o.b.project_name,
            f"found by the judge: {o.conflict.nature}" if o.found else o.conflict.nature,
        )
        for o in state.conflicts
    ]
    head = "Do not carry either side of these forward until a person has chosen.\n\n" + table_head(
        "Decision A", "Decision B", "Project A", "Project B", "Nature"
    )
    return BlockPart(title="Conflicts", items=rows, head=head, rank=rank)


def _yielding(state: ProjectState, rank: int) -> BlockPart:
    pairs = ((o.a, o.b) if o.yields == o.a.id else (o.b, o.a) for o in state.yielding)
    rows = [row(_side(lower), _side(higher)) for lower, higher in pairs]
    head = "These contradict a decision of a much higher tier. Do not carry them forward.\n\n" + table_head(
        "Decision", "Yields To"
    )
    return BlockPart(title="Yielding To A Higher Tier", items=rows, head=head, empty="", rank=rank)


def _age(days: int, hops: int) -> str:
    return f"{count(days, 'day')}, {count(hops, 'hop')} since validated"


def _revalidation(state: ProjectState, rank: int) -> Iterable[BlockPart]:
    shaken = [f"- {_name(s.decision)}: {quote(s.decision.decision)} — {quote(s.why)}" for s in state.shaken]
    yield BlockPart(title="Resting On Something Out Of Force", items=shaken, empty="", rank=rank)
    rows = [
        row(
            _name(s.decision),
            s.decision.decision,
            s.decision.tier_words,
            format_date(s.last_validated),
            str(s.hops),
        )
        for s in state.flagged
    ]
    head = table_head("ID", "Decision", "Tier", "Last Validated", "Hops Since")
    yield BlockPart(title="Revalidation Required", items=rows, head=head, rank=rank)


def _abroad(state: ProjectState, rank: int) -> BlockPart:
    rows = [
        row(
            a.decision.project_name,
            f"{_name(a.decision)}: {a.decision.decision}",
            a.decision.tier_words,
            f"overlaps with {_name(a.bears_on)} ({_brief(a.bears_on.title)}): {a.why}",
        )
        for a in state.abroad
    ]
    head = table_head("Source Project", "Decision", "Tier", "Relevance")
    return BlockPart(title="Cross-Project Context", items=rows, head=head, rank=rank)


def _lineage(registry: Registry, state: ProjectState, rank: int) -> BlockPart:
    named = titles(registry, state.edges)
    lines = []
    for number, edge in enumerate(state.edges, 1):
        source, target = edge.source_conversation_id, edge.target_conversation_id
        carried = sum(len(c.decisions_carried) for c in edge.compressions)
        dropped = sum(len(c.decisions_dropped) for c in edge.compressions)
        lines.append(
            f"- Hop {number}: {short_id(Kind.CONVERSATION, source)} ({quote(named[source])}) -> "
            f"{short_id(Kind.CONVERSATION, target)} ({quote(named[target])}), tag {quote(edge.title)}, "
            f"{count(carried, 'decision')} carried, {dropped} dropped"
        )
    return BlockPart(title="Lineage", items=lines, rank=rank)
