"""Questions about a registry: lists, one entity with its origin, searches, what is stale, status, index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from forgekit.errors import NotFoundError, UsageError
from forgekit.forge import Forge, reading
from forgekit.frozen import frozen, replace
from forgekit.model.kinds import Kind, short_id
from forgekit.times import DAY_MS, Instant, format_date
from forgekit.worktree import local_state

if TYPE_CHECKING:
    from forgekit.conflict.pairs import Finding, ListedConflict
    from forgekit.conventions import Contradiction
    from forgekit.git.program import Commit
    from forgekit.history import Provenance
    from forgekit.ids import EntityId
    from forgekit.index.query import MessageHit
    from forgekit.insight.staleness import Revalidation, Staleness
    from forgekit.model.archive_record import ArtifactRecord
    from forgekit.model.entities import Decision, Entity, Thread
    from forgekit.model.registry import Registry
    from forgekit.search import SearchResult
    from forgekit.text.transcript import Message

_DIGITS = 9
"""Digits of a turn's number at most."""
_NEXT_THREADS = 5
"""Open threads that the status names."""


class Listing(NamedTuple):
    """Entities of one kind, in the order asked for, and the registry that they are of.

    Attributes:
        conflicts: verdicts and findings with both sides; None for other kinds.
        contradictions: of conventions, with each other and with decisions.
        unjudged: pairs of decisions that were not judged in time.
    """

    kind: Kind
    registry: Registry
    entities: list[Entity]
    conflicts: list[ListedConflict] | None = None
    contradictions: Sequence[Contradiction] = ()
    unjudged: int = 0


@frozen(kw_only=True)
class Shown:
    """One entity and where it came from, or turns of a conversation's kept text.

    Attributes:
        artifacts, insights: of an archive.
        findings: the contradictions that the judge found of a decision; of a finding itself.
        messages: the turns asked for; None where the entity was.
        last_turn: of the kept text.
        notice: what a person should know about files that could not be read.
    """

    registry: Registry
    entity: Entity
    provenance: Provenance | None = None
    artifacts: tuple[ArtifactRecord, ...] = ()
    insights: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    messages: tuple[Message, ...] | None = None
    last_turn: int = 0
    notice: str = ""


TURNS = 5
"""Turns of kept texts that a search of everything shows behind the entities."""


class Found(NamedTuple):
    """What a search found: entities, and turns of kept texts.

    Attributes:
        unsettled: all entities that two clones changed in different ways.
    """

    query: str
    result: SearchResult | None
    messages: Sequence[MessageHit] = ()
    notice: str = ""
    hint: str = ""
    unsettled: Sequence[Entity] = ()


class StaleReport(NamedTuple):
    """Stale decisions, those that depend on one that has ended, and those that govern files no more.

    Attributes:
        idle: active decisions with patterns of `governs` that cover no file.
    """

    registry: Registry
    stale: Staleness
    revalidations: list[Revalidation]
    idle: list[tuple[Decision, tuple[str, ...]]]


@frozen(kw_only=True)
class Status:
    """The state of a registry; counts are in the order in which they are shown.

    Attributes:
        projects: their names, with what is in force and what waits.
        kinds: entities of each kind.
        decisions, conflicts: by status; those of none are left out. An open verdict may be moot, and a
            finding is `found` or `possible`.
        open_threads: by priority.
        next_threads: the most important open ones.
        stale, active: active decisions, and the stale ones among them.
        needs_revalidation: active decisions that rest on one out of force.
        unsettled: short ids of what holds conflicting edits.
        uncommitted: paths with uncommitted changes.
        unreadable: paths of files that hold no entity.
        model: the embedding model, or "".
        vectors, vectors_of: entities that are indexed by meaning, of those that can be.
        notes: by fidelity; `essences` and `digests` count those that are made, of `topics`.
        maintained: when `forgekit maintain` last ran, in ms since 1970, the next day it has work, failures.
        judge: who judges conflicts.
        judge_wanted: who shall, by the settings.
        judge_missing: why nobody judges and what to do about it, or "".
        unjudged_pairs: of decisions, that wait for the judge.
    """

    root: str
    projects: Sequence[Mapping[str, Any]]
    kinds: Mapping[str, int]
    decisions: Mapping[str, int]
    open_threads: Mapping[str, int]
    conflicts: Mapping[str, int]
    next_threads: Sequence[Thread]
    stale: int
    active: int
    open_conflicts: int
    needs_revalidation: int
    unsettled: Sequence[str]
    waiting_candidates: int
    uncommitted: Sequence[str]
    unreadable: Sequence[str]
    model: str
    vectors: int
    vectors_of: int
    notes: Mapping[str, int]
    essences: int
    digests: int
    topics: int
    maintained: tuple[Instant | None, str, int]
    judge: str
    judge_wanted: str
    judge_missing: str
    unjudged_pairs: int


class IndexStatus(NamedTuple):
    """What the index holds and where it lies; `existed` and the counts are of the look before."""

    path: str
    existed: bool
    entities: int
    bytes: int
    added: int
    updated: int
    removed: int
    unreadable: int
    model: str | None
    vectors: int
    vectors_kind: str
    vectors_bytes: int


def list_entities(
    forge: Forge,
    kind: str,
    *,
    project: str | None = None,
    status: str | None = None,
    tags: Sequence[str] = (),
    sort: str = "newest",
    as_of: str | None = None,
    limit: int | None = None,
) -> Listing:
    """Return the entities of a kind that all filters let through.

    Raises NotFoundError for a project that is not known.
    """
    from forgekit.insight.staleness import projects_of

    wanted_kind = Kind(kind)
    registry = forge.registry() if as_of is None else forge.registry_at(as_of)
    if wanted_kind is Kind.CONFLICT and as_of is None:
        return _conflicts(forge, registry, project, status, sort, limit)
    owner = forge.known_project(project, registry).id if project is not None else None

    def wanted(entity: Any) -> bool:
        if status is not None and state_of(registry, entity) != status:
            return False
        if not set(tags) <= set(getattr(entity, "tags", ())):
            return False
        return owner is None or owner in projects_of(registry, entity)

    every = forge.catalogue.entities(wanted_kind) if as_of is None else registry
    chosen = [entity for entity in every if entity.kind is wanted_kind and wanted(entity)]
    return Listing(wanted_kind, registry, _sorted(chosen, sort)[:limit])


def _sorted(entities: list[Any], sort: str) -> list[Any]:
    if sort == "title":
        return sorted(entities, key=lambda entity: (entity.title.casefold(), entity.id))
    return sorted(entities, key=lambda entity: (when(entity), entity.id), reverse=sort == "newest")


def _conflicts(
    forge: Forge, registry: Registry, project: str | None, status: str | None, sort: str, limit: int | None
) -> Listing:
    """Return verdicts and findings, and then the contradictions of conventions."""
    from forgekit.conflicts import FOUND, POSSIBLE, listed
    from forgekit.conventions import waiting

    owner = forge.known_project(project, registry).id if project is not None else None
    rows, findings = listed(forge, registry, project=owner, state=status)
    by_id = {row.conflict.id: row for row in rows}
    entities = _sorted([row.conflict for row in rows], sort)[:limit]
    chosen = [by_id[entity.id] for entity in entities]
    found = waiting(forge, project=project).contradictions if status in {None, FOUND, POSSIBLE} else ()
    ours = [each for each in found if status in {None, each[2].level.state}]
    more = ours if limit is None else ours[: max(limit - len(chosen), 0)]
    return Listing(Kind.CONFLICT, registry, entities, chosen, more, findings.unjudged)


def state_of(registry: Registry, entity: Any) -> str:
    """Return the status of an entity as people see it."""
    from forgekit.insight.staleness import conflict_state

    return conflict_state(registry, entity) if entity.kind is Kind.CONFLICT else str(entity.status.value)


def when(entity: Any) -> Instant:
    """Return the event time by which an entity is sorted; a project has none."""
    for name in ("compressed_at", "created_at", "detected_at"):
        found = getattr(entity, name, None)
        if found is not None:
            return Instant(found)
    if entity.kind is Kind.LINEAGE:
        return max((c.compressed_at or Instant(0) for c in entity.compressions), default=Instant(0))
    return Instant(0)


@reading
def show(
    forge: Forge, name: str, *, kind: str | None = None, at: str | None = None, turns: str | None = None
) -> Shown:
    """Return one entity with its origin, as it is or as it was, or turns of a conversation.

    Raises NotFoundError, AmbiguousError.
    """
    from forgekit.history import past_entity, provenance
    from forgekit.model.entities import Archive
    from forgekit.search import unread_then

    if turns is not None:
        if at is not None:
            raise UsageError("--turns shows the text as it is kept now; leave --at out")
        return _turns(forge, name, turns)
    kinds = (Kind(kind),) if kind else ()
    findings: tuple[Finding, ...] = ()
    if at is None:
        registry, notice = forge.registry(), ""
        entity, findings = _named(forge, registry, name, kinds)
        if entity.kind is Kind.CONFLICT and findings:
            notice = "found by the judge; no verdict is on file"
    else:
        registry = forge.registry_at(at)
        entity, notice = past_entity(forge, registry, name, kinds, at), unread_then(registry)
    origin = provenance(forge, registry, entity, at)
    if entity.kind is Kind.NOTE and at is None:
        local_state.record_openings(forge.root, {entity.id: forge.now()})
    found = Shown(registry=registry, entity=entity, provenance=origin, findings=findings, notice=notice)
    if not isinstance(entity, Archive):
        return found
    from forgekit.filing.archive_facts import read_once

    text = read_once(forge.catalogue, entity.body)
    return replace(found, artifacts=text.artifacts, insights=text.insights)


def _named(
    forge: Forge, registry: Registry, name: str, kinds: tuple[Kind, ...]
) -> tuple[Entity, tuple[Finding, ...]]:
    """Return an entity by name with the contradictions found of a decision; or a finding by its id."""
    from forgekit.findings import findings_of
    from forgekit.history import deletion

    try:
        entity = forge.entity(name, *kinds)
    except NotFoundError as e:
        finding = _finding(forge, name, kinds)
        if finding is not None:
            return finding.verdict(), (finding,)
        commit, _ = deletion(forge, name, kinds)
        if not commit:
            raise
        hint = f"it was deleted in {commit[:10]}; `forgekit show {name} --at {commit[:10]}~1` shows it"
        raise NotFoundError(e.what, e.name, hint) from None
    if entity.kind is not Kind.DECISION:
        return entity, ()
    found = findings_of(forge, registry, {entity.id}, wait_ms=0).conflicts
    return entity, tuple(each for each in found if entity.id in each.sides)


def _finding(forge: Forge, name: str, kinds: tuple[Kind, ...]) -> Finding | None:
    """Return the finding that has an id, where a conflict may be meant."""
    from forgekit.conflicts import finding_named

    meant = kinds == (Kind.CONFLICT,) or (not kinds and name.startswith(f"{Kind.CONFLICT.prefix}_"))
    return finding_named(forge, name) if meant else None


def history(forge: Forge, name: str, *, kind: str | None = None, limit: int | None = None) -> list[Commit]:
    """Return the commits that touched an entity, newest first; none of a finding, which no file holds.

    Raises NotFoundError, AmbiguousError.
    """
    from forgekit.history import entity_history

    try:
        return entity_history(forge, name, kind=kind, limit=limit)
    except NotFoundError:
        if _finding(forge, name, (Kind(kind),) if kind else ()) is None:
            raise
        return []


def _turns(forge: Forge, name: str, turns: str) -> Shown:
    from forgekit.model.entities import in_order
    from forgekit.model.graph import same_conversations
    from forgekit.text.transcript import read_messages

    first, _, last = turns.partition("-")
    if not all(end.isdecimal() and len(end) <= _DIGITS for end in (first, last or first)):
        raise UsageError(f"--turns takes numbers such as 12-18, not {turns[:40]!r}")
    low, high = int(first), int(last or first)
    entity = forge.entity(name, Kind.CONVERSATION)
    registry = forge.registry()
    texts = registry.transcripts
    own = any(kept.conversation_id == entity.id for kept in texts)
    conversation = entity.id if own else same_conversations(registry).get(entity.id)
    parts = in_order(kept for kept in texts if kept.conversation_id == conversation)
    if not parts:
        raise NotFoundError("text of conversation", name, "`forgekit ingest --with-text` keeps it")
    near = [kept.body for kept in parts if kept.turn_range[0] <= high and kept.turn_range[1] >= low]
    messages = tuple(message for message in read_messages(near) if low <= message.number <= high)
    return Shown(registry=registry, entity=entity, messages=messages, last_turn=parts[-1].turn_range[1])


@reading
def find(
    forge: Forge,
    query: str,
    *,
    scope: str = "all",
    project: str | None = None,
    status: str | None = None,
    as_of: str | None = None,
    mode: str | None = None,
    limit: int = 20,
) -> Found:
    """Search entities of a scope, or the kept texts of conversations (`messages`), by default both.

    Raises UsageError for a filter that messages have not; else as of `search`.
    """
    owner = forge.known_project(project, forge.registry()).id if project is not None else None
    by_words = not (status or as_of) and mode not in {"semantic", "hybrid"}
    if scope == "messages":
        if not by_words:
            raise UsageError(
                "messages are searched by words, as they are kept; leave --status, --as-of and --mode out"
            )
        forge.catalogue.refresh()
        messages = forge.catalogue.messages(query, project=owner, limit=limit)
        kept = bool(messages or forge.catalogue.entities(Kind.TRANSCRIPT))
        hint = "" if kept else "no text is kept: `forgekit ingest --with-text`"
        return Found(query, None, messages, hint=hint)
    from forgekit.index.query import SCOPES
    from forgekit.search import Mode, search

    result = search(
        forge,
        query,
        kinds=None if scope == "all" else sorted(SCOPES[scope], key=lambda kind: kind.value),
        status=status,
        project=project,
        limit=limit,
        revision=as_of,
        mode=Mode(mode) if mode else None,
    )
    both = scope == "all" and by_words
    messages = forge.catalogue.messages(query, project=owner, limit=min(limit, TURNS)) if both else []
    unsettled = forge.unsettled() if as_of is None else ()
    return Found(query, result, messages, notice=result.notice, unsettled=unsettled)


@reading
def stale_decisions(
    forge: Forge,
    *,
    days: int | None = None,
    hops: int | None = None,
    max_tier: float | None = None,
    project: str | None = None,
) -> StaleReport:
    """Return what is stale by these limits, or by those of the settings."""
    from forgekit.governing import unused
    from forgekit.insight.staleness import needs_revalidation, stale_by
    from forgekit.model.entities import Decision

    registry = forge.registry()
    owner = forge.known_project(project, registry).id if project is not None else None
    given: dict[str, Any] = {"stale_days": days, "stale_hops": hops, "stale_max_tier": max_tier}
    limits = replace(forge.settings, **{name: most for name, most in given.items() if most is not None})
    found = stale_by(limits, registry, forge.now(), project=owner)
    needed = needs_revalidation(registry)
    revalidations = [each for each in needed if owner in {None, each.decision.project_uuid}]
    patterns = unused(forge)
    decisions = sorted(registry.of_ids(Decision, patterns), key=lambda decision: decision.id)
    idle = [(d, patterns[d.id]) for d in decisions if owner in {None, d.project_uuid}]
    return StaleReport(registry, found, revalidations, idle)


@reading
def status(forge: Forge) -> Status:
    """Return the state of the registry."""
    from forgekit.findings import findings_of
    from forgekit.history import uncommitted
    from forgekit.insight.staleness import conflict_state, open_conflicts, stale_by
    from forgekit.insight.views import project_counts
    from forgekit.model.entities import CandidateStatus
    from forgekit.threads import active

    registry = forge.registry()
    old = stale_by(forge.settings, registry, forge.now())
    opened = Counter(thread.priority.value for thread in registry.open_threads())
    findings = findings_of(forge, registry, wait_ms=0)
    states = Counter(conflict_state(registry, c) for c in registry.conflicts)
    states.update({"found": len(findings.conflicts), "possible": len(findings.possible)})
    of_projects = project_counts(registry, (project.id for project in registry.projects))
    kinds: Counter[Kind] = Counter()
    decisions: Counter[str] = Counter()
    waiting: Counter[EntityId | None] = Counter()
    for (kind, state, project), number in registry.counts().items():
        kinds[kind] += number
        if kind is Kind.DECISION:
            decisions[str(state)] += number
        elif (kind, state) == (Kind.CANDIDATE, CandidateStatus.WAITING.value):
            waiting[project] += number
    judge = forge.settings.judge.value
    vectors = forge.vectors.status() if forge.vectors else None
    return Status(
        root=str(forge.root),
        projects=[
            {"project_name": p.project_name, **of_projects[p.id], "waiting_candidates": waiting[p.id]}
            for p in sorted(registry.projects, key=lambda p: p.project_name)
        ],
        kinds={kind.value: kinds[kind] for kind in Kind},
        decisions=_counts(decisions),
        open_threads=_counts(opened, ("high", "medium", "low")),
        conflicts=_counts(states),
        next_threads=active(registry, most=_NEXT_THREADS),
        stale=len(old),
        active=old.active,
        open_conflicts=len(open_conflicts(registry)),
        needs_revalidation=len(forge.catalogue.needing_revalidation()),
        unsettled=[short_id(entity.kind, entity.id) for entity in forge.unsettled()],
        waiting_candidates=waiting.total(),
        uncommitted=uncommitted(forge),
        unreadable=list(dict.fromkeys(problem.path for problem in registry.problems)),
        model=vectors.model if vectors else "",
        vectors=vectors.count if vectors else 0,
        vectors_of=sum(number for kind, number in kinds.items() if kind.registered),
        judge="none" if findings.missing else judge,
        **_notes(forge, registry),
        judge_wanted=judge,
        judge_missing=findings.missing,
        unjudged_pairs=findings.unjudged,
    )


def _notes(forge: Forge, registry: Registry) -> dict[str, Any]:
    """Return what `Status` says of notes."""
    from forgekit.insight.notes import fidelity_counts, has_essence

    topics = [topic for topic in registry.topics if topic.merged_into is None]
    last = local_state.read(forge.root, local_state.MAINTAINED)
    at = Instant(last["at"]) if isinstance(last.get("at"), int) else None
    due = format_date(forge.now() if at is None else Instant(at + DAY_MS))
    return {
        "notes": fidelity_counts(registry, forge.now(), local_state.opened(forge.root)),
        "essences": sum(map(has_essence, registry.notes)),
        "digests": sum(topic.digest is not None for topic in topics),
        "topics": len(topics),
        "maintained": (at, due, last.get("failed", 0)),
    }


def _counts(counter: Counter[str], names: tuple[str, ...] = ()) -> dict[str, int]:
    return {name: counter[name] for name in names or sorted(counter) if counter[name]}


def index_status(forge: Forge) -> IndexStatus:
    """Return what the index holds, brought up to date."""
    path = forge.catalogue.path
    existed = path.exists()
    found = forge.catalogue.refresh()
    vectors = forge.vectors.status() if forge.vectors else None
    return IndexStatus(
        path=str(path),
        existed=existed,
        entities=len(forge.catalogue.contents()),
        bytes=path.stat().st_size if path.exists() else 0,
        added=found.added,
        updated=found.updated,
        removed=found.removed,
        unreadable=found.unreadable,
        model=vectors.model if vectors else None,
        vectors=vectors.count if vectors else 0,
        vectors_kind=vectors.kind if vectors else "none",
        vectors_bytes=vectors.size if vectors else 0,
    )
