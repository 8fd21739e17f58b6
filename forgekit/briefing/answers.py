"""The eight answers of the retrieval protocol, each put together from the registry and the archives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from forgekit.errors import NotFoundError
from forgekit.filing.archive_facts import facts
from forgekit.findings import BLOCK_WAIT_MS, findings_of
from forgekit.forge import Forge, reading
from forgekit.frozen import frozen
from forgekit.git.program import Program
from forgekit.history import endings, out_of_force
from forgekit.ids import EntityId
from forgekit.insight.conventions import lives
from forgekit.insight.project_state import (
    all_opposed,
    by_way_of,
    called,
    ended_note,
    last_successor,
    rivals,
    since,
    successors,
    undecided,
)
from forgekit.insight.question import Command, about, chosen, read_question
from forgekit.insight.staleness import IN_CONFLICT, conflict_marks
from forgekit.merge.conflicting_edits import unsettled
from forgekit.model.archive_record import (
    ArchiveText,
    ArtifactRecord,
    DecisionRecord,
    ThreadRecord,
    split_lines,
)
from forgekit.model.entities import (
    Archive,
    Convention,
    ConventionStatus,
    Conversation,
    Decision,
    Entity,
    Thread,
    entity_path,
)
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import UNSETTLED, added_sections, section
from forgekit.search import Scored, SearchResult, search
from forgekit.text.blocks import quote
from forgekit.text.words import relevant, shared
from forgekit.threads import active
from forgekit.times import UNKNOWN, Instant, format_date, parse_day

E = TypeVar("E", Decision, Thread)


@dataclass(slots=True)
class AnswerData:
    """What an answer is put together from; it is not sure where it lists what is only nearest."""

    lines: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    turns: str = ""
    scopes: list[str] = field(default_factory=list)
    ids: list[EntityId] = field(default_factory=list)
    is_sure: bool = True

    @property
    def scope(self) -> str:
        """What the answer is about: projects."""
        return ", ".join(sorted(set(self.scopes))) or "this project"

    def cite_archive(self, archive: Archive, before: str = "", within: str = "") -> None:
        """Name an archive as a source."""
        name = f"archive {quote(archive.compression_tag)}{within} ({short_id(Kind.ARCHIVE, archive.id)})"
        self.sources.append(before + name)
        self.ids.append(archive.id)
        self.scopes.append(archive.project_name)


@frozen()
class AnswerContext:
    """Where an answer is looked for: the registry and the texts of its archives; notices of searches."""

    forge: Forge
    registry: Registry
    project: str | None
    archives: Sequence[tuple[Archive, ArchiveText]]
    since: str = ""
    notices: list[str] = field(default_factory=list)


def decision_line(decision: Decision) -> str:
    """Return one line on a decision."""
    decided = "" if decision.created_at == UNKNOWN else "decided "
    return (
        f"{short_id(Kind.DECISION, decision.id)}: {quote(decision.decision)} "
        f"(tier {decision.tier_words}, {decision.status.value}, {decided}{format_date(decision.created_at)})"
        f"{unsettled(decision)}"
    )


def thread_line(thread: Thread) -> str:
    """Return one line on a thread."""
    return (
        f"{short_id(Kind.THREAD, thread.id)}: {quote(thread.title)} [{thread.status.value.upper()}]"
        f"{unsettled(thread)}"
    )


def _within(given: AnswerContext, subject: str, every: Iterable[E], *, by_origin: bool = False) -> list[E]:
    """Return those of the asked project, and of the project or on the subject that the question names.

    Args:
        by_origin: whether the title of the conversation that something comes from may name the subject.
    """
    scoped = [each for each in every if given.project in (None, each.project_name)]
    if not subject:
        return scoped
    with suppress(NotFoundError):
        named = given.forge.known_project(subject, given.registry).project_name
        return [each for each in scoped if each.project_name == named]
    if not by_origin:
        return [each for each in scoped if about(subject, each.title)]
    begun = ((each, _began(given.registry, each)[0]) for each in scoped)
    return [each for each, first in begun if about(subject, f"{each.title} {first.title if first else ''}")]


def _open(given: AnswerContext, subject: str) -> AnswerData:
    threads = _within(given, subject, active(given.registry))
    return AnswerData(
        lines=[f"- {thread_line(t)} ({t.priority.value})" for t in threads],
        sources=["`forgekit thread list --status open`"],
        scopes=[t.project_name for t in threads],
        ids=[t.id for t in threads],
    )


def _in_force(given: AnswerContext, subject: str) -> AnswerData:
    active_ones = _within(given, subject, (d for d in given.registry.decisions if not d.status.ended))
    decisions = sorted(active_ones, key=lambda d: (-d.last_validated, d.id))
    opposed = _opposed(given, decisions)
    return AnswerData(
        lines=[f"- {decision_line(d)}{opposed.get(d.id, '')}" for d in decisions],
        sources=["`forgekit decision list --status active`"],
        scopes=[d.project_name for d in decisions],
        ids=[d.id for d in decisions],
    )


def _changed(given: AnswerContext, subject: str) -> AnswerData:
    """List what was decided, ended, opened and closed since a day, oldest first."""
    start = parse_day(given.since, given.forge.now())
    if start is None:
        return AnswerData()
    day, ended = format_date(start), out_of_force(given.forge, given.registry)
    events: list[tuple[Instant, str, Decision | Thread]] = []
    for decision in _within(given, subject, given.registry.decisions, by_origin=True):
        events.append((decision.created_at, "decided", decision))
        if decision.id in ended:
            events.append((ended[decision.id], decision.status.value, decision))
    for thread in _within(given, subject, given.registry.threads, by_origin=True):
        events.append((thread.created_at, "opened", thread))
        if thread.status.ended:
            events.append((thread.updated_at, thread.status.value, thread))
    found = AnswerData(sources=[f"`forgekit log --since {day}`"])
    for at, what, entity in sorted(events, key=lambda event: (event[0], event[2].id)):
        if at >= start:
            name = short_id(entity.kind, entity.id)
            found.lines.append(f"- {format_date(at)} {what}: {name} {quote(entity.title)}")
            found.ids.append(entity.id)
            found.scopes.append(entity.project_name)
    found.scopes = found.scopes or [given.project or "all projects"]
    found.lines = found.lines or [f"- Nothing was decided, ended, opened or closed since {day}."]
    return found


def _opposed(
    given: AnswerContext, decisions: Iterable[Decision], wait_ms: int = BLOCK_WAIT_MS
) -> Mapping[EntityId, str]:
    """Return the marks of decisions in a conflict; pairs that are not judged take so many ms at most."""
    findings = findings_of(given.forge, given.registry, {d.id for d in decisions}, wait_ms=wait_ms)
    return conflict_marks(given.registry, findings)


_LOCAL_ID = re.compile(r"(?:OT|[DTAI])\d{3,4}")
_TURN = re.compile(r"Turn (\d+):")
_ABOUT_CONFLICTS = re.compile(r"\b(?:conflict|contradict|exclude|against|both be followed)", re.IGNORECASE)
_MOST = 8
_UNSURE = "Nothing in the registry is clearly about this; the nearest are:"


def _searched(given: AnswerContext, subject: str, kinds: tuple[Kind, ...] | None = None) -> SearchResult:
    found = search(given.forge, subject, kinds=kinds, project=given.project, limit=_MOST)
    given.notices.extend({found.notice}.difference(("", *given.notices)))
    return found


def _named(given: AnswerContext, subject: str, *kinds: Kind) -> Entity | None:
    """Return the only entity that a name means in the project that is asked about.

    A word of a question may be made of hex digits: a part of an id needs its prefix here.
    """
    candidates = given.forge.catalogue.find(subject, kinds, bare=False)
    known = (given.registry.get(candidate.id) for candidate in candidates)
    found = [e for e in known if e is not None and given.project in (None, getattr(e, "project_name", None))]
    return found[0] if len(found) == 1 else None


def _best(given: AnswerContext, subject: str) -> list[Decision]:
    """Return the decisions that a name may mean, else the first of each project that is about it.

    One that only rejects it is about it where no other is.
    """
    named = _named(given, subject, Kind.DECISION)
    if named is not None or _LOCAL_ID.fullmatch(subject):
        known = [named] if named is not None else _of_local_id(given, subject)
        return _decisions(active_first(given.registry, known))[:_MOST]
    found = _found(given, subject)
    of_name = [e for scored, e in found if scored.named]
    bearing = [e for scored, e in found if scored.bears_on(subject, _searchable(e))]
    choosing = [
        e
        for e in bearing
        if about(subject, f"{chosen(e.decision)} {e.body}") or not about(subject, _searchable(e))
    ]
    first: dict[str, Decision] = {}
    for each in choosing or bearing:
        first.setdefault(each.project_name, each)
    return _decisions(active_first(given.registry, of_name or [*first.values()]))


def _found(given: AnswerContext, subject: str) -> list[tuple[Scored, Decision]]:
    """Return the decisions that a search finds, best first."""
    hits = _searched(given, subject, (Kind.DECISION,)).hits
    return [(s, e) for s in hits if isinstance(e := given.registry.get(s.hit.id), Decision)]


def _rejected(decision: Decision) -> str:
    """Return what a decision rejects, in its text and in its list."""
    over = decision.decision.removeprefix(chosen(decision.decision))
    return " ".join((over, *decision.alternatives_rejected))


def _decisions(entities: Sequence[Entity]) -> list[Decision]:
    return [entity for entity in entities if isinstance(entity, Decision)]


def active_first(registry: Registry, found: Sequence[Entity]) -> list[Entity]:
    """Return what was found with decisions out of force last, and the active successor in place of each."""
    ended = [e for e in found if isinstance(e, Decision) and e.status.ended]
    first: list[Entity] = []
    for entity in found:
        successor = last_successor(registry, entity) if isinstance(entity, Decision) else None
        if entity not in ended:
            first.append(entity)
        elif successor is not None and not successor.status.ended:
            first.append(successor)
    return list({e.id: e for e in (*first, *ended)}.values())


def _searchable(decision: Decision) -> str:
    return " ".join((decision.title, decision.body, *decision.alternatives_rejected))


def _cite(given: AnswerContext, found: AnswerData, entity: Decision | Thread) -> None:
    """Name where an entity comes from: conversation, archive, turn, commit."""
    turns = ""
    stated = [one for one in given.archives if any(known == entity.id for _, known in one[0].records)]
    for archive, text in stated:
        local = next(name for name, known in archive.records if known == entity.id)
        records_all: list[DecisionRecord | ThreadRecord] = [*text.decisions, *text.threads]
        records = [record for record in records_all if record.local_id == local]
        found.sources.append(
            f"{local} of archive {quote(archive.compression_tag)} "
            f"({short_id(Kind.ARCHIVE, archive.id)}, {format_date(archive.compressed_at)}, "
            f"conversation {short_id(Kind.CONVERSATION, archive.conversation_id)})"
        )
        turn = next((r.turn for r in records if r.turn is not None), None)
        span = next((c.turns for c in text.chunks if local in c.decisions and c.turns), None)
        if span:
            turns = turns or f"Turn {span[0]} - Turn {span[1]}"
        elif turn is not None:
            turns = turns or f"Turn {turn}"
    origin, began = _began(given.registry, entity)
    if origin is not None and not any(a.conversation_id == origin.id for a, _ in stated):
        found.sources.append(f"{_conversation(origin)}{began and f', {began.lower()}'}")
        turns = turns or began
    found.turns = "" if found.ids else turns  # those of one entity are none of the next
    found.ids.append(entity.id)
    commits = Program(given.forge.root).log(entity_path(entity), limit=1)
    if commits:
        found.sources.append(f"commit {commits[0].short}")
    found.scopes.append(entity.project_name)


def _conversation(known: Conversation) -> str:
    """Name a conversation as a source."""
    name = short_id(Kind.CONVERSATION, known.id)
    return f"conversation {quote(known.title)} ({name}, {format_date(known.created_at)})"


def _began(registry: Registry, entity: Decision | Thread) -> tuple[Conversation | None, str]:
    """Return the conversation that an entity comes from, and the turn where its text begins with that."""
    first = entity.originated_in if isinstance(entity, Decision) else entity.first_seen_in
    turn = _TURN.match(entity.context if isinstance(entity, Decision) else entity.content)
    return registry.find(Conversation, first), f"Turn {turn[1]}" if turn else ""


def _why(given: AnswerContext, subject: str) -> AnswerData:
    found, decisions = AnswerData(), _best(given, subject)
    opposed = _opposed(given, decisions, 0)
    for decision in decisions:
        _explain(given, found, decision, opposed.get(decision.id, ""))
    return found


def _when(given: AnswerContext, subject: str) -> AnswerData:
    found, decisions = AnswerData(), _best(given, subject)
    opposed = _opposed(given, decisions)
    for decision in decisions:
        origin, turn = _began(given.registry, decision)
        named = f" in {quote(origin.title)} ({short_id(Kind.CONVERSATION, origin.id)})" if origin else ""
        at = f", {turn.lower()}" if origin and turn else ""
        how = "Decided" if origin else "Recorded"  # what names no conversation has the day of its entry
        day = "at no known date" if decision.created_at == UNKNOWN else format_date(decision.created_at)
        found.lines.append(f"{how} {day}{named}{at}:")
        _state_decision(given, found, decision, opposed.get(decision.id, ""))
        _cite(given, found, decision)
    return found


def _why_rejected(given: AnswerContext, subject: str) -> AnswerData:
    """Explain the decisions that reject a choice, else those whose own text names it."""
    found, decisions = AnswerData(), [decision for _, decision in _found(given, subject)]
    rejecting = [d for d in decisions if about(subject, _rejected(d))]
    for decision in rejecting or [d for d in decisions if about(subject, d.decision)]:
        _explain(given, found, decision)
    return found


def _explain(given: AnswerContext, found: AnswerData, decision: Decision, mark: str = "") -> None:
    _state_decision(given, found, decision, mark)
    because = f"Because: {quote(decision.rationale)}" if decision.rationale else "No rationale was recorded."
    found.lines.append(f"- {because}")
    if decision.context:
        found.lines.append(f"- Context: {quote(decision.context)}")
    if decision.alternatives_rejected:
        found.lines.append(f"- Rejected: {'; '.join(map(quote, decision.alternatives_rejected))}")
    if text := section(decision.body, None):
        found.lines.append(f"- Also written: {quote(text)}")
    added = added_sections(decision.body, decision.status.value.capitalize(), UNSETTLED)
    found.lines.extend(f"- {quote(name)}: {quote(text)}" for name, text in added.items())
    for base in map(given.registry.get, decision.dependencies):
        if isinstance(base, Decision):
            found.lines.append(f"- Rests on {short_id(Kind.DECISION, base.id)}: {quote(base.decision)}")
    _cite(given, found, decision)


def _of_local_id(given: AnswerContext, subject: str) -> list[Entity]:
    """Return what a bare local id means in each archive; they collide by design."""
    if not _LOCAL_ID.fullmatch(subject):
        return []
    ids = [known for archive, _ in given.archives for local, known in archive.records if local == subject]
    return [e for key in dict.fromkeys(ids) if (e := given.registry.get(key)) is not None]


def _state_decision(given: AnswerContext, found: AnswerData, decision: Decision, mark: str = "") -> None:
    found.lines.append(decision_line(decision))
    if mark:
        how = "is" if mark == IN_CONFLICT else "may be"
        found.lines.append(f"- It {how} in an open conflict: `forgekit conflict list`")
    ended = since(decision, endings(given.forge, [decision]).get(decision.id))
    if ended:
        found.lines.append(f"- {decision.status.value.capitalize()}{ended}")
    chain = successors(given.registry, decision)
    if chain:
        new = chain.pop()
        found_now = findings_of(given.forge, given.registry, {new.id}, wait_ms=0)
        against = [*rivals(new, all_opposed(given.registry, {new.id}, found_now))]
        now = f"{short_id(Kind.DECISION, new.id)}: {quote(new.decision)}"
        line = f"In its place now: {ended_note(new) or now}{by_way_of(chain)}"
        if against:
            line = f"{undecided(new, *against).capitalize()} (`forgekit conflict list`)"
        found.lines.append(f"- {line}")


def _alternatives(given: AnswerContext, subject: str) -> AnswerData:
    found = AnswerData()
    for decision in _best(given, subject):
        _state_decision(given, found, decision)
        found.lines.extend(f"- Rejected: {quote(item)}" for item in decision.alternatives_rejected)
        if not decision.alternatives_rejected:
            found.lines.append("- No alternatives were recorded.")
        _cite(given, found, decision)
    return found


def _earlier(given: AnswerContext, subject: str) -> AnswerData:
    found = AnswerData()
    for archive, text in given.archives:
        for artifact in text.artifacts:
            if subject.casefold() in (artifact.local_id.casefold(), artifact.name.casefold()):
                _versions(found, archive, artifact)
    if found.lines:
        return found
    seen: set[EntityId] = set()
    for decision in _best(given, subject):
        if decision.id not in seen:
            chain = _chain(given.registry, decision)
            seen.update(wording.id for wording in chain)
            for wording in chain:
                _state_decision(given, found, wording)
            _cite(given, found, chain[0])
            found.sources.append(f"`forgekit history {short_id(Kind.DECISION, decision.id)}`")
    return found


def _versions(found: AnswerData, archive: Archive, artifact: ArtifactRecord) -> None:
    found.cite_archive(archive, f"artifact {artifact.local_id} of ")
    found.lines.append(f"{artifact.local_id} {quote(artifact.name)} ({quote(artifact.type or 'artifact')})")
    for version in artifact.versions:
        change = f": {quote(version.changes)}" if version.changes else ""
        turn = f", turn {version.turn}" if version.turn is not None else ""
        state = f"{quote(version.status)}{turn}".removeprefix(", ")
        found.lines.append(f"- version {quote(version.version)}{f' ({state})' if state else ''}{change}")
        for line in version.content.expandtabs(4).splitlines()[:40]:
            found.lines.append(f"      {' ' * (len(line) - len(line.lstrip()))}{quote(line)}".rstrip())
    if not artifact.versions and artifact.summary:
        found.lines.append(f"- {quote(artifact.summary)}")


def _chain(registry: Registry, decision: Decision) -> list[Decision]:
    """Return a decision's earlier and later wordings, oldest first; several may have given way to one."""
    before: dict[EntityId | None, list[Decision]] = {}
    for one in reversed(registry.decisions):
        before.setdefault(one.superseded_by, []).append(one)
    chain = [decision]
    for later in chain:  # grows while it is walked: nearest first
        chain += [older for older in before.get(later.id, ()) if older not in chain]
    chain.reverse()
    newer = registry.get(decision.superseded_by)
    while isinstance(newer, Decision) and newer not in chain:
        chain.append(newer)
        newer = registry.get(newer.superseded_by)
    return chain


def _discussed(given: AnswerContext, subject: str) -> AnswerData:
    found = AnswerData(scopes=[given.project or "all projects"])
    ranked = _searched(given, subject).hits
    hits = {scored.hit.id: scored.hit for scored in ranked}
    found.is_sure = any(scored.bears_on(subject, _text_of(given, scored)) for scored in ranked)
    known = [entity for key in hits if (entity := given.registry.get(key)) is not None]
    passed_over = {Kind.PROJECT, Kind.LINEAGE}  # which hold no answer
    passed_over |= set() if _ABOUT_CONFLICTS.search(subject) else {Kind.CONFLICT}
    known = [entity for entity in known if entity.kind not in passed_over]
    opposed, stages = _opposed(given, _decisions(known)), _stages(given, known)
    for entity in active_first(given.registry, known):
        hit, short = hits.get(entity.id), short_id(entity.kind, entity.id)
        status, text = (hit.status, hit.snippet) if hit is not None else ("active", entity.title)
        status = stages.get(entity.id, status)
        found.ids.append(entity.id)
        state, more = f" [{status}]" if status else "", f": {quote(text)}" if text else ""
        mark = opposed.get(entity.id, "") + unsettled(entity)
        found.lines.append(f"- {short} {quote(entity.title)}{state}{mark}{more}")
        found.sources.append(f"{entity.kind.value} {short}")
    turns = _covering(given, subject)
    if turns:
        found.turns = turns[0][1]
    return found


def _text_of(given: AnswerContext, scored: Scored) -> str:
    """Return the text of a decision that was found, "" of what is none."""
    entity = given.registry.get(scored.hit.id)
    return _searchable(entity) if isinstance(entity, Decision) else ""


def _stages(given: AnswerContext, known: Iterable[Entity]) -> Mapping[EntityId, str]:
    """Return the stages of the active conventions among what was found: active, or decayed."""
    rules = [e for e in known if isinstance(e, Convention) and e.status is ConventionStatus.ACTIVE]
    found = lives(rules, given.registry.conversations if rules else ())
    return {key: life.stage.value for key, life in found.items()}


def _expand(given: AnswerContext, subject: str) -> AnswerData:
    named = _named(given, subject, Kind.DECISION, Kind.THREAD)
    entities = [named] if named is not None else _of_local_id(given, subject)
    found = AnswerData()
    for entity in entities[:_MOST]:
        if isinstance(entity, Decision):
            _explain(given, found, entity)
        elif isinstance(entity, Thread):
            found.lines.append(thread_line(entity))
            found.lines.extend(f"- {quote(text)}" for text in (entity.content, entity.resolution) if text)
            _cite(given, found, entity)
    if found.lines:
        return found
    for archive, text in given.archives:
        for part in text.sections:
            if relevant(subject, part.title) or subject.casefold() == part.title.casefold():
                lines = split_lines(archive.body)[part.first_line - 1 : part.last_line]
                found.lines.append(f"{quote(part.title)} ({quote(archive.compression_tag)}):")
                found.lines.extend(f"    {quote(line)}" for line in lines[:40] if line.strip())
                found.cite_archive(archive, within=f", lines {part.first_line}-{part.last_line}")
                return found
    return found


def _tag(given: AnswerContext, subject: str) -> AnswerData:
    archive, found = _about_archive(given, subject)
    for local, entity in archive.records if archive else ():
        known = given.registry.get(entity)
        if isinstance(known, (Decision, Thread)):
            found.ids.append(known.id)
            state = f"[{known.status.value}]{unsettled(known)}"
            found.lines.append(f"- {called(local, known)}: {quote(known.title)} {state}")
    return found


def _about_archive(given: AnswerContext, subject: str) -> tuple[Archive | None, AnswerData]:
    """Return the archive that a tag names, with what every answer on it begins with."""
    named, found = _named(given, subject, Kind.ARCHIVE), AnswerData()
    archive = next((one for one, _ in given.archives if named is not None and one.id == named.id), None)
    if archive is None:
        return None, found
    turns = f", turns {archive.turn_range[0]}-{archive.turn_range[1]}" if archive.turn_range else ""
    found.lines.append(
        f"{quote(archive.compression_tag)}: {quote(archive.conversation_title)} "
        f"({archive.compression_mode.value}, {format_date(archive.compressed_at)}{turns})"
    )
    found.cite_archive(archive)
    if archive.turn_range:
        found.turns = f"Turn {archive.turn_range[0]} - Turn {archive.turn_range[1]}"
    return archive, found


def _inherited(given: AnswerContext, subject: str) -> AnswerData:
    archive, found = _about_archive(given, subject)
    if archive is None:
        return found
    for edge in given.registry.lineage:
        if edge.source_conversation_id != archive.conversation_id:
            continue
        for compression in edge.compressions:
            if compression.compression_tag != archive.compression_tag:
                continue
            target = short_id(Kind.CONVERSATION, edge.target_conversation_id)
            for word, pairs in (
                ("carried", (*compression.decisions_carried, *compression.threads_carried)),
                ("dropped", compression.decisions_dropped),
                ("resolved", compression.threads_resolved),
            ):
                for local, entity in pairs:
                    known = given.registry.get(entity)
                    title = quote(known.title) if known else entity
                    found.lines.append(f"- {word} into {target}: {local} {title}")
            found.sources.append(f"lineage {short_id(Kind.LINEAGE, edge.id)}")
    if len(found.lines) == 1:
        found.lines.append("- No conversation that continues it has been filed yet.")
    return found


def _covering(given: AnswerContext, subject: str) -> list[tuple[str, str, Archive]]:
    """Return (topic, turns, archive) of every stretch whose topic or decisions bear on a subject."""
    out = []
    for archive, text in given.archives:
        own = dict(archive.records)
        for chunk in text.chunks:
            decided = " ".join(
                known.title for d in chunk.decisions if (known := given.registry.get(own.get(d))) is not None
            )
            if chunk.turns and shared(subject, f"{chunk.topic} {decided}"):
                out.append((chunk.topic, f"Turn {chunk.turns[0]} - Turn {chunk.turns[1]}", archive))
    return out


def _turns(given: AnswerContext, subject: str) -> AnswerData:
    found = AnswerData()
    for topic, turns, archive in _covering(given, subject)[:_MOST]:
        line = f"- {turns}: {quote(topic)} ({quote(archive.compression_tag)})"
        if line not in found.lines:
            found.lines.append(line)
        found.turns = found.turns or turns
        found.cite_archive(archive)
    return found


_ANSWERS: Mapping[Command, Callable[[AnswerContext, str], AnswerData]] = {
    Command.WHY: _why,
    Command.WHEN: _when,
    Command.REJECTED: _why_rejected,
    Command.ALTERNATIVES: _alternatives,
    Command.EARLIER: _earlier,
    Command.DISCUSSED: _discussed,
    Command.EXPAND: _expand,
    Command.TAG: _tag,
    Command.INHERITED: _inherited,
    Command.TURNS: _turns,
    Command.OPEN: _open,
    Command.STANDING: _in_force,
    Command.CHANGED: _changed,
}
_ELSE_SEARCHED = (
    *(Command.WHEN, Command.TAG, Command.INHERITED, Command.EXPAND),
    *(Command.OPEN, Command.STANDING, Command.CHANGED),
)
"""What a search answers where nothing is known by the name that the question gives."""


@frozen(kw_only=True)
class AnswerBlock:
    """An answer with its sources.

    Attributes:
        found: whether the registry holds one; what is only nearest to the question is none.
    """

    text: str
    data: dict[str, object]
    found: bool


@reading
def ask(forge: Forge, question: str, project: str | None = None) -> AnswerBlock:
    """Answer one of the retrieval commands, or search."""
    registry = forge.registry()
    if project is not None:
        project = forge.known_project(project, registry).project_name
    kept = [a for a in registry.archives if project in (None, a.project_name)]
    asked = read_question(question)
    given = AnswerContext(forge, registry, project, facts(forge.catalogue, kept), asked.since)
    found = _ANSWERS[asked.command](given, asked.subject)
    if not found.lines and asked.subject and asked.command in _ELSE_SEARCHED:
        found = _discussed(given, asked.subject)
    heading = f"## Retrieved Context: {quote(question)}"
    if not found.lines:
        text = f"{heading}\n\nNothing in the registry answers this.\n"
    else:
        about = [f"**Source:** {'; '.join(dict.fromkeys(found.sources)) or 'registry'}"]
        if found.turns:
            about.append(f"**Transcript Reference:** {found.turns}")
        about.append(f"**Scope:** {found.scope}")
        lines = found.lines if found.is_sure else [_UNSURE, *found.lines]
        text = "\n\n".join([heading, "\n".join(lines), "\n".join(about)]) + "\n"
    known = bool(found.lines) and found.is_sure
    data: dict[str, object] = {
        "question": question,
        "command": asked.command.value,
        "subject": asked.subject,
        "found": known,
        "ids": list(dict.fromkeys(found.ids)),
        "sources": list(dict.fromkeys(found.sources)),
        "answer_text": text,
        "notice": "; ".join(given.notices),
    }
    return AnswerBlock(text=text, data=data, found=known)
