"""Conventions: how a team wants work done, answered by people, and where each stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from forgekit.change import COMMITTED, WriteOptions, Written, origin_of, typed, write
from forgekit.errors import RuleError, TransitionError
from forgekit.forge import Forge
from forgekit.ids import EntityId, convention_id, project_id
from forgekit.insight.conventions import APPROVED, CONFIDENCE, Life, joined, lives
from forgekit.model.entities import Convention, ConventionForm, ConventionOrigin, ConventionStatus, Entity
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.times import Instant

PROPOSED, ACTIVE = ConventionStatus.PROPOSED, ConventionStatus.ACTIVE
REVISED = ConventionStatus.REVISED
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
        forge: the registry.
        text: the convention, one line.
        anti_pattern: whether it says what not to do.
        scope: path globs and names of components that it applies to.
        project: a project's name, else the conversation's; a new one is registered along.
        conversation: the one that states it, by any name.
        tags: words.
        at: event time in ms since 1970, else the conversation's, else now.
        options: dry run, or without a commit.

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
        return [_replaced(old, new.id, forge.now()), new]

    written = write(forge, decide, "convention edit", options)
    return replace(written, entity=written.outcome.change.writes[-1])


def merge(forge: Forge, name: str, into: str, *, options: WriteOptions = COMMITTED) -> Written:
    """State that a convention says the same as another one, which takes its observations.

    Raises TransitionError for one that was revised, RuleError for one and the same.
    """
    key, target = forge.resolve(name, Kind.CONVENTION), forge.resolve(into, Kind.CONVENTION)

    def decide(registry: Registry) -> list[Convention]:
        old, kept = registry.expect(Convention, key), registry.expect(Convention, target)
        if key == target:
            raise RuleError("a convention cannot be merged into itself; name another one")
        for each in (old, kept):
            _require_unrevised(each)
        return [joined(kept, old), _replaced(old, target, forge.now())]

    return write(forge, decide, "convention merge", options)


def _require_unrevised(convention: Convention) -> None:
    answered(convention, ACTIVE, Instant(0))


def _replaced(old: Convention, by: EntityId, now: Instant) -> Convention:
    return replace(old, status=REVISED, superseded_by=by, answered_at=now)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lives:
    """Conventions and where they stand, in the order in which they are shown."""

    registry: Registry
    rows: Sequence[Life]


def listed(forge: Forge, *, project: str | None = None, status: str | None = None) -> Lives:
    """Return the conventions of a project, or of all, and where each stands.

    Raises NotFoundError for a project that is not known.
    """
    registry = forge.registry()
    owner = forge.known_project(project, registry).id if project is not None else None
    rows = [life for life in _lives(registry, owner) if status in {None, life.stage.value}]
    return Lives(registry=registry, rows=rows)


def _lives(registry: Registry, owner: EntityId | None) -> list[Life]:
    conventions = [c for c in registry.conventions if owner in {None, c.project_uuid}]
    found = lives(conventions, registry.conversations if conventions else ())
    order = {key: number for number, key in enumerate(_STAGES)}
    return sorted(
        found.values(), key=lambda life: (order[life.stage.value], -life.confidence, life.convention.id)
    )


_STAGES = ("ready", "active", "decayed", "observed", "retired", "rejected", "revised")
