"""Before compressing and before continuing: what a conversation must know, as a block to paste."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from forgekit.archives.machine_block import MachineBlock, MachineRecord, record_name, write_machine_block
from forgekit.briefing.template import INSTRUCTIONS
from forgekit.conflict.pairs import ListedConflict
from forgekit.errors import NotFoundError
from forgekit.findings import BLOCK_WAIT_MS, findings_of
from forgekit.forge import Forge, reading
from forgekit.history import endings
from forgekit.ids import EntityId, is_id
from forgekit.insight.budget import Block, BlockPart, BlockRow, lay_out
from forgekit.insight.project_state import (
    CrossProject,
    Overtaken,
    ProjectState,
    by_way_of,
    called,
    cross_project,
    ended_note,
    project_state,
    since,
    titles,
    undecided,
)
from forgekit.insight.staleness import scope_mark, scopes
from forgekit.insight.views import Derived
from forgekit.merge.conflicting_edits import unsettled
from forgekit.model.entities import Archive, Decision, Thread, TierBand, band
from forgekit.model.kinds import Kind, is_short, short_id
from forgekit.model.registry import ActiveDecision, Registry
from forgekit.search import close_in_meaning
from forgekit.text.blocks import NOTICE, brief, count, disagreements, quote, row, table_head
from forgekit.text.words import tokens
from forgekit.times import format_date

_LEAST_ROW = 12  # tokens of the shortest row
# Tokens up to which the same rows are written, so that a refusal names a budget that works.
_LEAST_ROOM = 4_000


@reading
def prepare_compression(
    forge: Forge, project: str | None = None, budget: int | None = None, instructions: bool = True
) -> Block:
    """Return the registry's state of a project, to paste before compressing a conversation.

    Args:
        project: its name; the default or only one where none is given.
        budget: tokens, else as the settings say.
        instructions: whether the block ends with how to write the archive.

    Raises NotFoundError, UsageError.
    """
    registry = forge.registry()
    name = forge.project(project, registry) or ""
    known = forge.known_project(name, registry)
    state = _state(forge, registry, known.id, budget)
    opening = f"## Registry state: {quote(known.project_name)}\n\n{NOTICE}\n\n{_summary(registry, state)}"
    ending = INSTRUCTIONS if instructions else ""
    return _block(
        forge, registry, state, "registry-state", opening, known.project_name, budget, ending=ending
    )


@reading
def prepare_continuation(
    forge: Forge, tag: str, budget: int | None = None, project: str | None = None
) -> Block:
    """Return what has become of an archive, to paste with it into the next conversation.

    Args:
        tag: the archive's compression tag, or another name of it.
        project: where several projects use the tag.

    Raises NotFoundError, AmbiguousError, UsageError.
    """
    registry = forge.registry()
    archive = _archive(forge, registry, tag, project)
    state = _state(forge, registry, archive.project_uuid, budget, archive)
    opening = (
        f"## Updated context: {quote(archive.compression_tag)}\n\n{NOTICE}\n"
        "Where the archive says otherwise, the registry is right.\n\n"
        f"**Project:** {quote(archive.project_name)}. **Archive:** {short_id(Kind.ARCHIVE, archive.id)}, "
        f"compressed {format_date(archive.compressed_at)}.\n\n{_summary(registry, state)}"
    )
    name = archive.project_name
    return _block(forge, registry, state, "updated-context", opening, name, budget, archive)


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


def _most(room: int) -> int:
    """Return how many rows of a section could fit in so many tokens, were they the shortest possible."""
    return max(room, _LEAST_ROOM) // _LEAST_ROW + 1


def _state(
    forge: Forge, registry: Registry, project: EntityId, budget: int | None, archive: Archive | None = None
) -> ProjectState:
    archived = {entity for _, entity in archive.records} if archive is not None else set[EntityId]()
    own = {d.id for d in registry.active_decisions(project)} | archived
    continued = None
    if archive is not None:
        from forgekit.filing.archive_facts import facts

        continued = facts(forge.catalogue, [archive])[0]
    state = project_state(
        registry,
        project,
        forge.now(),
        forge.settings,
        continued=continued,
        findings=findings_of(forge, registry, own, wait_ms=BLOCK_WAIT_MS, finish_small=True),
    )
    # What other projects decided is looked up for what a reader can see here.
    most = _most(budget if budget is not None else forge.settings.budget)
    threads = registry.in_order(Thread, [thread.id for thread in state.threads[:most]])
    decisions = registry.in_order(Decision, [d.id for d in state.decisions[: most - len(threads)]])
    near = close_in_meaning(forge, registry, project, {entity.id for entity in (*threads, *decisions)})
    decisions_with_words = forge.catalogue.decisions_with_words
    found, number = cross_project(registry, project, (*threads, *decisions), near, decisions_with_words, most)
    return replace(state, cross_project=found, cross_project_count=number)


def _block(
    forge: Forge,
    registry: Registry,
    state: ProjectState,
    purpose: str,
    opening: str,
    project: str,
    budget: int | None,
    archive: Archive | None = None,
    ending: str = "",
) -> Block:
    room = budget if budget is not None else forge.settings.budget
    rows = _Rows(registry, archive, room)
    parts = [  # what is filled first comes first
        *([_overtaken(forge, state)] if archive is not None else []),
        _conflicts(rows, state),
        _yielding(rows, state),
        _threads(rows, state),
        _revalidation(rows, state),
        _decisions(rows, state),
        _cross_project(rows, state),
        _lineage(registry, state),
    ]
    names = MachineBlock(
        purpose=purpose, project=project, tag=archive.compression_tag if archive is not None else ""
    )
    rest = f"\n{write_machine_block(names)}active: []\nopen: []\n"
    closing = "\n\n".join(filter(None, (ending, f"(end of {purpose.replace('-', ' ')})")))
    laid = lay_out(opening, parts, closing, budget=room, cost=tokens, rest=rest)
    shown = [row for part, kept in zip(parts, laid.kept, strict=True) for row in part.rows[:kept]]
    records = {row.beside: rows.records[row.beside] for row in shown if row.beside}.values()
    names = replace(
        names,
        threads=tuple(record for record in records if record.status == "open"),
        decisions=tuple(record for record in records if record.status == "active"),
    )
    text = f"{laid.text}\n{write_machine_block(names)}"
    return Block(text=text, data=partial(_data, registry, state, purpose), cut=laid.cut)


class _Rows:
    """Writes the rows of a block.

    Attributes:
        most: rows of a section, as of `_most`.
        records: what the machine block names, by the text that it adds to the block.
    """

    def __init__(self, registry: Registry, archive: Archive | None, room: int) -> None:
        self.registry = registry
        self.most = _most(room)
        self._room = max(room, _LEAST_ROOM)
        self.records: dict[str, MachineRecord] = {}
        self._tags = {a.conversation_id: a.compression_tag for a in registry.archives}
        self._since = archive.compressed_at if archive is not None else None
        own = archive.records if archive is not None else ()
        self._own = {entity for _, entity in own}
        self._scopes = scopes(registry)
        self._local = {entity: local for local, entity in reversed(own) if not is_short(local)}

    def fitting(self, rows: Iterable[BlockRow]) -> list[BlockRow]:
        """Return the rows of a section up to the first that there is no room for."""
        found, spent = [], 0
        for each in rows:
            found.append(each)
            spent += tokens(each.renditions[-1])
            if spent > self._room:
                break
        return found

    def name(self, entity: Decision | Thread) -> str:
        """Return what an archive may call an entity: its short id, after the archive's own id."""
        return f"{self._local.get(entity.id, '')} {_name(entity)}".lstrip()

    def own(self, entity: EntityId) -> bool:
        """Say whether the archive that is continued has it."""
        return entity in self._own

    def marks(self, entity: Decision | Thread) -> str:
        """Return marks for two texts of two clones, for a scope, and for what began after the archive."""
        new = " NEW" if self._since is not None and entity.created_at > self._since else ""
        return unsettled(entity) + scope_mark(self._scopes.get(entity.id)) + new

    def source(self, entity: Decision | Thread) -> str:
        """Return where an entity comes from: an archive's tag or a conversation, and the date."""
        first = entity.originated_in if isinstance(entity, Decision) else entity.first_seen_in
        where = "by hand"
        if first is not None:
            where = quote(self._tags.get(first, short_id(Kind.CONVERSATION, first)))
        return f"[{where}, {format_date(entity.created_at)}]"

    def side(self, decision: Decision, width: int) -> str:
        """Return one side of a conflict for a cell."""
        text = brief(decision.decision, width)
        return f"{_name(decision)} (tier {decision.tier_words}): {text} {self.source(decision)}"

    def row(self, entity: Decision | Thread, renditions: Iterable[str], group: str = "") -> BlockRow:
        """Return the row of an entity that the machine block names too."""
        local = self._local.get(entity.id, "")
        record = MachineRecord(id=local, entity=_name(entity), status=entity.status.value)
        beside = f"{record_name(record)}, "
        self.records[beside] = record
        return BlockRow(tuple(dict.fromkeys(renditions)), group, beside)


def _data(registry: Registry, state: ProjectState, kind: str) -> dict[str, object]:
    derived = Derived(registry)
    return {
        "block": kind,
        "threads": [derived.view(t) for t in registry.in_order(Thread, [t.id for t in state.threads])],
        "decisions": [derived.view(d) for d in registry.in_order(Decision, [d.id for d in state.decisions])],
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
        "conflicts": [_opposed(derived, row) for row in state.conflicts],
        "yielding": [_opposed(derived, row) for row in state.yielding],
        "unjudged_pairs": state.unjudged,
        "revalidation_required": [
            *({"decision_id": s.decision.id, "why": s.why} for s in state.revalidations),
            *({"decision_id": aged.id, "why": _age(aged.days, aged.hops)} for aged in state.flagged),
        ],
        "cross_project": [
            {
                "decision": derived.view(a.decision),
                "bears_on": a.bears_on.id,
                "words": list(a.words),
                "cosine": a.cosine and round(a.cosine, 4),
            }
            for a in state.cross_project
        ],
        "lineage": [derived.view(edge) for edge in state.edges],
        "speculative_left_out": state.speculative,
        "stale_share": round(state.stale / state.active, 3) if state.active else 0.0,
    }


def _opposed(derived: Derived, row: ListedConflict) -> dict[str, object]:
    texts = [side.decision for side in row.sides if side is not None]
    return derived.view(row.conflict) | {"texts": texts, "status": row.state, "yields": row.yields}


def _summary(registry: Registry, state: ProjectState) -> str:
    parts = [
        count(len(state.threads), "open thread"),
        f"{count(len(state.decisions), 'decision')} in force",
        disagreements(sum(row.finding is None for row in state.conflicts), state.contradictions),
        f"{state.stale} of {state.active} stale",
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


def _threads(rows: _Rows, state: ProjectState) -> BlockPart:
    def ended(name: str) -> bool:
        known = rows.registry.get(EntityId(name))
        return isinstance(known, Thread) and known.status.ended

    def blocker(name: str) -> str:
        return short_id(Kind.THREAD, EntityId(name)) if is_id(name) else f"“{quote(brief(name))}”"

    def row(thread: Thread) -> BlockRow:
        blocked = ", ".join(blocker(b) for b in thread.blocked_by if not ended(b))
        state = f"({thread.priority.value}{f', blocked by {blocked}' if blocked else ''})"
        tail = f"{state}{rows.marks(thread)} {rows.source(thread)}"
        texts = (thread.title, brief(thread.title))
        return rows.row(thread, (f"- {rows.name(thread)}: “{quote(text)}” {tail}" for text in texts))

    first = rows.registry.in_order(Thread, [thread.id for thread in state.threads[: rows.most]])
    shown = rows.fitting(row(thread) for thread in first)
    return BlockPart(title="Active Threads", rows=shown, total=len(state.threads))


def _decisions(rows: _Rows, state: ProjectState) -> BlockPart:
    again = {*(each.decision.id for each in state.revalidations), *(aged.id for aged in state.flagged)}
    chosen = sorted(
        (d for d in state.decisions if d.id not in again),
        key=lambda d: (_BANDS.index(_band(d)), not rows.own(d.id), -d.created_at, d.id),
    )

    def row(decision: Decision) -> BlockRow:
        head, why = f"- {rows.name(decision)} (tier {decision.tier_words}):", decision.rationale
        tail = f"{rows.marks(decision)} {rows.source(decision)}"
        texts = [f"“{quote(decision.decision)}”", f"“{quote(brief(decision.decision))}”"]
        if why:
            texts.insert(0, f"{texts[0]} because “{quote(brief(why, 300))}”")
        return rows.row(decision, (f"{head} {text}{tail}" for text in texts), f"**{_band(decision)}**")

    first = rows.registry.in_order(Decision, [decision.id for decision in chosen[: rows.most]])
    shown = rows.fitting(row(decision) for decision in first)
    return BlockPart(title="Decisions In Force", rows=shown, total=len(chosen))


_UNKNOWN = "Tier unknown"
_BANDS = (*(f"{band.value.capitalize()}" for band in TierBand), _UNKNOWN)


def _band(decision: ActiveDecision | Decision) -> str:
    tier = decision.epistemic_tier
    return _UNKNOWN if tier is None else band(tier).value.capitalize()


def _overtaken(forge: Forge, state: ProjectState) -> BlockPart:
    ended = endings(forge, (o.entity for o in state.overtaken if isinstance(o.entity, Decision)))

    def line(item: Overtaken, width: int) -> str:
        def text(words: str) -> str:
            return quote(brief(words, width))

        entity = item.entity
        state_word = f"{entity.status.value.upper()}{'' if entity.status.ended else ' again'}"
        if isinstance(entity, Thread):
            resolution = text(entity.resolution) or "no resolution was recorded"
            where = f" in {short_id(Kind.CONVERSATION, entity.resolved_in)}" if entity.resolved_in else ""
            return (
                f"- {called(item.local_id, entity)}: “{text(entity.title)}” is {state_word} since "
                f"{format_date(entity.updated_at)}{where}{f': {resolution}' if entity.status.ended else ''}"
            )
        how, now = since(entity, ended.get(entity.id)), ""
        if item.successor is not None and item.rivals:
            now = f"; {undecided(item.successor, *item.rivals)} (see Conflicts)"
        elif item.successor is not None:
            new = item.successor
            name = f"{_name(new)} (tier {new.tier_words}) “{text(new.decision)}”"
            way = by_way_of(item.between)
            now = f"; in its place: {ended_note(new) or name}{way if width > len(way) else ''}"
        was = f"- {called(item.local_id, entity)}: “{text(entity.decision)}” is {state_word}"
        return f"{was}{how if width > len(how) else ''}{now}"

    rows = [BlockRow((line(item, 400), line(item, 60))) for item in state.overtaken]
    return BlockPart(title="Changed Since This Archive", rows=rows, total=len(rows))


def _conflicts(rows: _Rows, state: ProjectState) -> BlockPart:
    def cells(o: ListedConflict, width: int) -> str:
        nature = f"found by the judge: {o.conflict.nature}" if o.finding else o.conflict.nature
        sides = (rows.side(side, width) for side in o.present)
        return row(*sides, *(side.project_name for side in o.present), brief(nature, width))

    shown = rows.fitting(BlockRow((cells(o, 400), cells(o, 60))) for o in state.conflicts)
    head = "Do not carry either side of these forward until a person has chosen.\n\n" + table_head(
        "Decision A", "Decision B", "Project A", "Project B", "Nature"
    )
    return BlockPart(title="Conflicts", rows=shown, total=len(state.conflicts), head=head)


def _yielding(rows: _Rows, state: ProjectState) -> BlockPart:
    shown = rows.fitting(
        BlockRow(tuple(row(*(rows.side(side, width) for side in o.present)) for width in (400, 60)))
        for o in state.yielding
    )
    head = "These contradict a decision of a much higher tier. Do not carry them forward.\n\n" + table_head(
        "Decision", "Yields To"
    )
    return BlockPart(title="Yielding To A Higher Tier", rows=shown, total=len(state.yielding), head=head)


def _age(days: int, hops: int) -> str:
    return f"{count(days, 'day')}, {count(hops, 'hop')} since validated"


def _revalidation(rows: _Rows, state: ProjectState) -> BlockPart:
    """Return what must be looked at again: what rests on something out of force, then what is stale.

    Of each the decisions of the archive come first, then those of higher tiers, then the newest.
    """
    flagged = {aged.id: aged for aged in state.flagged}
    whys: dict[EntityId, list[str]] = {}
    for each in state.revalidations:
        whys.setdefault(each.decision.id, []).append(each.why)
    order = dict.fromkeys((*whys, *flagged))
    carried = {decision.id: decision for decision in state.decisions}

    def cells(decision: Decision, width: int) -> str:
        aged = flagged.get(decision.id)
        return row(
            rows.name(decision),
            f"{brief(decision.decision, width)}{rows.marks(decision)}",
            decision.tier_words,
            format_date(aged.last_validated if aged else decision.last_validated),
            str(aged.hops) if aged else "",
            "; ".join(whys.get(decision.id) or [f"stale for {count(aged.days, 'day')}" if aged else ""]),
            rows.source(decision)[1:-1],
        )

    def place(key: EntityId) -> tuple[bool, bool, int, int]:
        bare = carried.get(key)
        among = (len(_BANDS), 0) if bare is None else (_BANDS.index(_band(bare)), -bare.created_at)
        return key not in whys, not rows.own(key), *among

    first = rows.registry.in_order(Decision, sorted(order, key=place)[: rows.most])
    shown = rows.fitting(
        rows.row(decision, (cells(decision, 400), cells(decision, 60))) for decision in first
    )
    head = table_head("ID", "Decision", "Tier", "Last Validated", "Hops Since", "Why", "Source")
    return BlockPart(title="Revalidation Required", rows=shown, total=len(order), head=head)


def _cross_project(rows: _Rows, state: ProjectState) -> BlockPart:
    def cells(a: CrossProject, width: int) -> str:
        return row(
            a.decision.project_name,
            f"{_name(a.decision)}: {brief(a.decision.decision, width)}",
            a.decision.tier_words,
            f"overlaps with {_name(a.bears_on)}: {a.why}",
            rows.source(a.decision)[1:-1],
        )

    shown = rows.fitting(BlockRow((cells(a, 400), cells(a, 60))) for a in state.cross_project)
    head = table_head("Source Project", "Decision", "Tier", "Relevance", "Source")
    return BlockPart(title="Cross-Project Context", rows=shown, total=state.cross_project_count, head=head)


def _lineage(registry: Registry, state: ProjectState) -> BlockPart:
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
    return BlockPart(title="Lineage", rows=[BlockRow((line,)) for line in lines], total=len(lines))
