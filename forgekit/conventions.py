"""Conventions: how a team wants work done, answered by people, and the stage of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from forgekit.change import Written, commit_subject, origin_of, typed, write
from forgekit.conflict.judge import Judgement, Level
from forgekit.conflict.pairs import statement as statement_of
from forgekit.errors import FormatError, RuleError, TransitionError, UsageError
from forgekit.extraction.config_files import FILES, PROSE, WORKFLOW, Stated, rivals, stated_in
from forgekit.findings import EXCLUDE, judged_texts
from forgekit.forge import COMMITTED, Forge, WriteOptions
from forgekit.frozen import frozen
from forgekit.ids import EntityId, convention_id, project_id
from forgekit.insight.conventions import (
    APPROVED,
    CONFIDENCE,
    Life,
    Stage,
    compared,
    injected,
    joined,
    lives,
    scopes_overlap,
)
from forgekit.model.entities import (
    Convention,
    ConventionForm,
    ConventionOrigin,
    ConventionStatus,
    Conversation,
    Decision,
    Entity,
    Project,
    entity_path,
)
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import statement
from forgekit.models.encoder import Missing
from forgekit.text.markers import put
from forgekit.times import Instant
from forgekit.worktree import files
from forgekit.worktree.roots import top_of

PROPOSED, ACTIVE = ConventionStatus.PROPOSED, ConventionStatus.ACTIVE
REVISED = ConventionStatus.REVISED
SECOND, MOST_SURE = 0.1, 0.9
"""What a further file adds to the confidence in what files state, and the most."""
REWARDED = 10
"""Sessions of which the trend is shown."""
WAIT_MS = 5_000
"""How long to judge pairs that are not cached."""
_ORDER = (Stage.READY, Stage.ACTIVE, Stage.DECAYED, Stage.OBSERVED, *Stage)
Judged = tuple[EntityId, EntityId, Judgement]
Contradiction = tuple[Convention | Decision, Convention | Decision, Judgement]
_ALLOWED = {
    ConventionStatus.REJECTED: (PROPOSED, ConventionStatus.REJECTED),
    ConventionStatus.RETIRED: (ACTIVE, ConventionStatus.RETIRED),
}
"""Answers that go with some states only; a convention can be approved in any but `revised`."""


def create(
    forge: Forge,
    text: str,
    *,
    anti_pattern: bool = False,
    scope: Iterable[str] = (),
    project: str | None = None,
    conversation: str | None = None,
    tags: Iterable[str] = (),
    at: Instant | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Register a convention that a person states; one with this text is approved, and used again if decayed.

    Args:
        anti_pattern: whether it is about what not to do.
        scope: path globs and names of components that it applies to.
        project: a project's name, else the conversation's; a new one is registered along.
        at: event time in ms since 1970, else the conversation's, else now.

    Raises RuleError for a text that is too long, TransitionError for one that was revised.
    """
    line, where, words = typed(text, "the body"), tuple(dict.fromkeys(scope)), tuple(dict.fromkeys(tags))

    def decide(registry: Registry) -> list[Entity]:
        origin = origin_of(forge, registry, project, conversation, at)
        owner = project_id(origin.project)
        seen = (origin.conversation,) if origin.conversation else ()
        new = Convention(
            convention_id=convention_id(owner, line),
            convention=line,
            form=ConventionForm.ANTI_PATTERN if anti_pattern else ConventionForm.CONVENTION,
            origin=ConventionOrigin.EXPLICIT,
            confidence=CONFIDENCE[ConventionOrigin.EXPLICIT],
            project_name=origin.project,
            project_uuid=owner,
            scope=where,
            evidence=tuple(short_id(Kind.CONVERSATION, each) for each in seen),
            sessions_seen=seen,
            created_at=origin.at,
            tags=words,
        )
        known = registry.get(new.id)
        if isinstance(known, Convention):
            more = joined(known, new)
            new = replace(
                more, origin=ConventionOrigin.EXPLICIT, confidence=new.confidence, scope=where or known.scope
            )
        return [answered(new, ACTIVE, forge.now()), *origin.beside]

    return write(forge, decide, "convention new", options)


def answered(convention: Convention, status: ConventionStatus, now: Instant) -> Convention:
    """Return a convention with a person's answer.

    Raises TransitionError for an answer that does not go with its state.
    """
    allowed = _ALLOWED.get(status, tuple(s for s in ConventionStatus if s is not REVISED))
    if convention.status not in allowed:
        name = short_id(Kind.CONVENTION, convention.id)
        then = ""
        if convention.superseded_by:
            then = f"; {short_id(Kind.CONVENTION, convention.superseded_by)} took its place"
        elif convention.status is ACTIVE:
            then = f"; `forgekit convention retire {name}` ends it"
        raise TransitionError(f"{name} is {convention.status.value}{then}")
    if status is convention.status and status is not ACTIVE:
        return convention
    sure = max(convention.confidence, APPROVED) if status is ACTIVE else convention.confidence
    return replace(convention, status=status, confidence=sure, answered_at=now)


def answer(forge: Forge, names: Iterable[str], status: str, *, options: WriteOptions = COMMITTED) -> Written:
    """Approve, reject or retire conventions in one commit.

    Raises TransitionError as of `answered`.
    """
    keys = forge.resolve_all(names, Kind.CONVENTION)
    wanted = ConventionStatus(status)
    verbs = {ACTIVE: "approve", ConventionStatus.REJECTED: "reject", ConventionStatus.RETIRED: "retire"}

    def decide(registry: Registry) -> list[Convention]:
        return [answered(registry.expect(Convention, key), wanted, forge.now()) for key in keys]

    return write(forge, decide, f"convention {verbs[wanted]}", options)


def edit(
    forge: Forge,
    name: str,
    *,
    text: str | None = None,
    form: str | None = None,
    scope: Iterable[str] | None = None,
    tags: Iterable[str] | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Change a convention; a new text is a convention of its own, and the old one is kept as revised.

    Raises RuleError for a text that another convention has, TransitionError for one that was revised.
    """
    key = forge.resolve(name, Kind.CONVENTION)
    lists = {"scope": scope, "tags": tags}
    values: dict[str, Any] = {k: tuple(dict.fromkeys(v)) for k, v in lists.items() if v is not None}
    values |= {"form": ConventionForm(form)} if form is not None else {}
    line = None if text is None else typed(text, "the body")

    def decide(registry: Registry) -> list[Convention]:
        old = registry.expect(Convention, key)
        if line is None:
            return [replace(old, **values)]
        _require_unrevised(old)
        new = replace(old, convention_id=convention_id(old.project_uuid, line), convention=line, **values)
        if new.id == old.id:  # case and final stop alone
            return [new]
        if isinstance(taken := registry.get(new.id), Convention):
            by, here = (short_id(Kind.CONVENTION, each.id) for each in (taken, old))
            raise RuleError(f"{by} says so already; `forgekit convention merge {here} {by}`")
        return [replaced(old, new.id, forge.now()), new]

    written = write(forge, decide, "convention edit", options)
    return replace(written, entity=written.outcome.change.writes[-1])


def merge(forge: Forge, name: str, into: str, *, options: WriteOptions = COMMITTED) -> Written:
    """State that a convention repeats another one, which takes its observations.

    Raises TransitionError for one that was revised, RuleError for one and the same.
    """
    key, target = forge.resolve(name, Kind.CONVENTION), forge.resolve(into, Kind.CONVENTION)

    def decide(registry: Registry) -> list[Convention]:
        old, kept = registry.expect(Convention, key), registry.expect(Convention, target)
        if key == target:
            raise RuleError("a convention cannot be merged into itself; name another one")
        for each in (old, kept):
            _require_unrevised(each)
        return [joined(kept, old), replaced(old, target, forge.now())]

    return write(forge, decide, "convention merge", options)


def reset(
    forge: Forge, *, project: str | None = None, yes: bool = False, options: WriteOptions = COMMITTED
) -> Written:
    """Delete the conventions of a project in one commit, which `git revert` undoes.

    Raises UsageError without `yes`, NotFoundError for a project that is not known.
    """
    from forgekit.store import Change

    registry = forge.registry()
    owner = registry.expect(Project, forge.known_project(forge.project(project, registry) or "", registry).id)
    if not yes and not options.dry_run:
        raise UsageError(
            "this deletes every convention of the project; say --yes, or see them with --dry-run"
        )

    def change() -> Change:
        every = [each for each in forge.registry().conventions if each.project_uuid == owner.id]
        return Change(
            deletes=tuple(entity_path(each) for each in every),
            subject=commit_subject(f"convention: reset {short_id(owner.kind, owner.id)}", owner.title),
            trailers=(("Forgekit-Op", "convention reset"), ("Forgekit-Entity", owner.id)),
        )

    outcome = forge.commit(change, options)
    return Written(entity=owner, outcome=outcome)


def _require_unrevised(convention: Convention) -> None:
    answered(convention, ACTIVE, Instant(0))


def replaced(old: Convention, by: EntityId, now: Instant) -> Convention:
    """Return a convention as revised by another one."""
    return replace(old, status=REVISED, superseded_by=by, answered_at=now)


@frozen(kw_only=True)
class Bootstrapped(Written):
    """What the files of a project state.

    Attributes:
        unread: for each file that could not be read, what is wrong with its marks.
        rivals: lock files of different programs that install the same packages.
    """

    unread: Sequence[FormatError]
    rivals: Sequence[tuple[str, ...]]


def bootstrap(
    forge: Forge, *, project: str | None = None, folder: str | None = None, options: WriteOptions = COMMITTED
) -> Bootstrapped:
    """Propose what the files of a project state, each with file and line; what was answered stays.

    Args:
        project: a project's name, else the default or only one.
        folder: in the project's repository; the working folder where None.

    Raises RuleError where no file states anything, FormatError where that is so for its broken marks.
    """
    top = top_of(Path(folder or "."))
    flows = sorted(path.name for path in (top / WORKFLOW).glob("*.y*ml"))
    shipped = forge.statement_reader
    reader = None if isinstance(shipped, Missing) else shipped
    rows: list[tuple[str, Stated]] = []
    unread: list[FormatError] = []
    for path in (*FILES, *(f"{WORKFLOW}{name}" for name in flows)):
        if (data := files.read_bytes(top, path)) is None:
            continue
        text = data.decode("utf-8", "replace")
        try:
            own = put(text, "") if path in PROSE else text
        except FormatError as e:
            unread.append(e.at(path))
            continue
        rows += [(path, each) for each in stated_in(path, own, reader)]

    def decide(registry: Registry) -> list[Entity]:
        origin = origin_of(forge, registry, project, None, None)
        known = {each.id: each for each in registry.conventions}
        found: dict[EntityId, Convention] = {}
        for path, each in rows:
            new = proposed(origin.project, path, each, forge.now())
            old = known.get(new.id, new)
            if old.status is PROPOSED and old is not new:
                others = tuple(line for line in old.evidence if not line.startswith(f"{path}:"))
                sure = max(old.confidence, new.confidence) + SECOND * (len(others) == len(old.evidence))
                more = joined(replace(old, evidence=others), new)
                old = replace(more, origin=ConventionOrigin.BOOTSTRAP, confidence=min(sure, MOST_SURE))
            known[new.id] = found[new.id] = old
        if not found:
            if unread:
                raise unread[0]
            raise RuleError(
                f"no file of {top} states a convention; state them with `forgekit convention new`"
            )
        return [*found.values(), *origin.beside]

    made = write(forge, decide, "convention bootstrap", options)
    return Bootstrapped(
        entity=made.entity, outcome=made.outcome, unread=unread, rivals=rivals(path for path, _ in rows)
    )


def proposed(project: str, path: str, each: Stated, now: Instant) -> Convention:
    """Return what a line of a file states, as a convention that waits for a person."""
    owner, text = project_id(project), statement(each.text)
    return Convention(
        convention_id=convention_id(owner, text),
        convention=text,
        origin=ConventionOrigin.BOOTSTRAP,
        confidence=each.confidence,
        project_name=project,
        project_uuid=owner,
        scope=(each.scope,) if each.scope else (),
        evidence=(f"{path}:{each.line}",),
        created_at=now,
    )


@frozen(kw_only=True)
class Lives:
    """Conventions with their stages, in the order in which they are shown.

    Attributes:
        left_out: active ones that the cap leaves out of what is injected.
        contradictions: pairs of active conventions, or of one and an active decision, that the judge found.
        rewards: of each of the last sessions, the newest last, the share of the turns that neither state a
            convention nor correct the agent.
    """

    registry: Registry
    rows: Sequence[Life]
    left_out: Sequence[Life] = ()
    contradictions: Sequence[Contradiction] = ()
    rewards: Sequence[tuple[Conversation, float]] = ()


def listed(forge: Forge, *, project: str | None = None, status: str | None = None) -> Lives:
    """Return the conventions of a project, or of all, and the stage of each.

    Raises NotFoundError for a project that is not known.
    """
    registry = forge.registry()
    owner = forge.known_project(project, registry).id if project is not None else None
    rows = [life for life in _lives(forge, registry, owner)[0] if status in {None, life.stage.value}]
    return Lives(registry=registry, rows=rows)


def overview(forge: Forge, *, project: str | None = None) -> Lives:
    """Return the conventions of a project, what contradicts them, and how often they were restated.

    Raises UsageError where there is a choice of projects and nobody made it.
    """
    registry = forge.registry()
    owner = forge.known_project(forge.project(project, registry) or "", registry).id
    rows, found = _contradictions(forge, registry, owner)
    conversations = sorted(
        (c for c in registry.conversations if c.project_uuid == owner and c.source and c.turns),
        key=lambda c: (c.created_at, c.id),
    )[-REWARDED:]
    restated = Counter(line.partition(" ")[0] for life in rows for line in life.convention.evidence)
    rewards = [(c, 1 - min(1.0, restated[short_id(c.kind, c.id)] / (c.turns or 1))) for c in conversations]
    return Lives(
        registry=registry,
        rows=rows,
        left_out=injected(rows)[1],
        contradictions=found,
        rewards=[(session, round(share, 2)) for session, share in rewards],
    )


def waiting(forge: Forge, *, project: str | None = None) -> Lives:
    """Return what waits for a person: the conventions that are ready, and the contradictions.

    Raises NotFoundError for a project that is not known.
    """
    registry = forge.registry()
    owner = forge.known_project(project, registry).id if project is not None else None
    rows, found = _contradictions(forge, registry, owner) if registry.conventions else ((), ())
    ready = [life for life in rows if life.stage is Stage.READY]
    return Lives(registry=registry, rows=ready, contradictions=found)


def _contradictions(
    forge: Forge, registry: Registry, owner: EntityId | None
) -> tuple[list[Life], Sequence[Contradiction]]:
    decisions = registry.with_status(Decision, "active", owner)
    rows, judged = _lives(forge, registry, owner, beside=decisions)
    sides = {x.convention.id: x.convention for x in rows if x.stage in {Stage.ACTIVE, Stage.DECAYED}}
    every: dict[EntityId, Convention | Decision] = {**sides, **{d.id: d for d in decisions}}
    return rows, [
        (every[a], every[b], judgement)
        for a, b, judgement in judged
        if {a, b} <= every.keys()
        and {a, b} & sides.keys()
        and judgement.level in EXCLUDE
        and not (a in sides and b in sides and not scopes_overlap(sides[a], sides[b]))
    ]


def _lives(
    forge: Forge, registry: Registry, owner: EntityId | None, beside: Sequence[Decision] = ()
) -> tuple[list[Life], list[Judged]]:
    """Return the stages of conventions, and the judgements of pairs of them and of some decisions."""
    conventions = [c for c in registry.conventions if owner in {None, c.project_uuid}]
    judged: list[Judged] = []
    for project in {c.project_uuid for c in conventions}:
        texts = compared(c for c in conventions if c.project_uuid == project)
        near = {d.id: statement_of(d) for d in beside if d.project_uuid == project}
        judged += judged_texts(forge, texts, near, WAIT_MS)
    same: dict[EntityId, set[EntityId]] = {}
    for a, b, judgement in judged:
        if judgement.level is Level.DUPLICATE:
            same.setdefault(a, set()).add(b)
            same.setdefault(b, set()).add(a)
    found = lives(conventions, registry.conversations if conventions else (), same)
    rows = sorted(found.values(), key=lambda x: (_ORDER.index(x.stage), -x.confidence, x.convention.id))
    return rows, judged
