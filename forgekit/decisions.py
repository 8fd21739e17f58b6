"""Decisions: what was chosen, how sure it is, and what replaced it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from forgekit.change import (
    COMMITTED,
    WriteOptions,
    Written,
    origin_of,
    require_active,
    require_same,
    typed,
    unclaimed,
    without_circle,
    write,
)
from forgekit.conflict.pairs import superseded
from forgekit.conflicts import listed, resolve
from forgekit.errors import RuleError
from forgekit.forge import Forge, opened
from forgekit.ids import EntityId, decision_id, match_key, project_id
from forgekit.insight.staleness import stale
from forgekit.insight.views import Derived, listed_conflict_view
from forgekit.model.body import with_section
from forgekit.model.entities import Decision, DecisionStatus, Entity
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import one_line, require_line
from forgekit.search import search
from forgekit.times import Instant

_AGAIN = "; to record the same text again pass another --conversation"
_UNANSWERED = ("open", "found", "possible")


def create(
    forge: Forge,
    text: str,
    *,
    rationale: str = "",
    context: str = "",
    tier: float | None = None,
    project: str | None = None,
    local_id: str | None = None,
    conversation: str | None = None,
    dependencies: Iterable[str] = (),
    alternatives: Iterable[str] = (),
    governs: Iterable[str] = (),
    tags: Iterable[str] = (),
    at: Instant | None = None,
    again: bool = False,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Register a decision; the same text in the project and conversation is returned as it is.

    Args:
        forge: the registry.
        text: the decision, one line.
        rationale: why, Markdown.
        context: in which circumstances, Markdown.
        tier: 0.0 to 1.0.
        project: a project's name, else the conversation's; a new one is registered along.
        local_id: what the conversation calls it, such as `D001`.
        conversation: the one that made it, by any name; an unknown uuid is registered along.
        dependencies: decisions it builds on, by any name.
        alternatives: what was rejected, one line each.
        governs: path globs and component names that it applies to.
        tags: words.
        at: event time in ms since 1970, else the conversation's, else now.
        again: register the text although an active decision of the project has it.
        options: dry run, or without a commit.

    Raises TransitionError where that one is out of force; RuleError where it says otherwise, where the text
    is too long, and for a text that an active decision of the project has already.
    """
    bases = forge.resolve_all(dependencies, Kind.DECISION)
    line = typed(text, "--rationale")
    others, words, governed = (tuple(dict.fromkeys(given)) for given in (alternatives, tags, governs))

    def decide(registry: Registry) -> list[Entity]:
        origin = origin_of(forge, registry, project, conversation, at)
        name, source, owner = origin.project, origin.conversation, project_id(origin.project)
        decision = Decision(
            decision_id=decision_id(owner, line, source or EntityId(""), origin.at),
            decision=line,
            epistemic_tier=tier,
            project_name=name,
            project_uuid=owner,
            local_id=local_id,
            originated_in=source,
            conversation_ids=(source,) if source else (),
            dependencies=bases,
            alternatives_rejected=others,
            governs=governed,
            created_at=origin.at,
            last_validated=origin.at,
            tags=words,
            body=with_section(with_section("", "Rationale", rationale), "Context", context),
        )
        titled = _titled(forge, line, owner)
        if same := [d for d in titled if d.originated_in == source]:
            return [
                require_same(
                    require_active(registry, same[0], _AGAIN),
                    rationale=decision.rationale,
                    context=decision.context,
                    epistemic_tier=tier,
                    local_id=local_id,
                    dependencies=bases,
                    alternatives_rejected=others,
                    governs=governed,
                    tags=words,
                    created_at=at,
                )
            ]
        if titled and not titled[0].status.ended and not again:
            known = short_id(Kind.DECISION, titled[0].id)
            raise RuleError(f"{known} of {name} says the same; use it, or pass --again to register it again")
        return [unclaimed(decision, registry), *origin.beside]

    return write(forge, decide, "decision new", options)


def _titled(forge: Forge, text: str, project: EntityId) -> list[Decision]:
    """Return the decisions of a project that have a text, the active ones first."""
    titled = (e for e in forge.titled(Kind.DECISION, text, project) if isinstance(e, Decision))
    return sorted(titled, key=lambda d: d.status.ended)


def revise(
    forge: Forge,
    name: str,
    text: str,
    *,
    rationale: str | None = None,
    tier: float | None = None,
    conversation: str | None = None,
    at: Instant | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Replace a decision's text: a new decision, and the old one kept as `revised`.

    Raises TransitionError when it is out of force, RuleError when the text is taken or too long.
    """
    key = forge.resolve(name, Kind.DECISION)
    line = typed(text, "--rationale")

    def decide(registry: Registry) -> list[Entity]:
        old = require_active(registry, registry.expect(Decision, key))
        where = origin_of(forge, registry, old.project_name, conversation, at)
        source, moment = where.conversation, where.at
        origin = source or old.originated_in
        new_id = decision_id(old.project_uuid, line, origin or EntityId(""), moment)
        if new_id == old.id or match_key(line) == match_key(old.decision):
            raise RuleError("the new text says the same as the old one; use `forgekit decision edit`")
        titled = _titled(forge, line, old.project_uuid)
        same = (d for d in titled if d.originated_in == origin and not d.status.ended)
        if isinstance(taken := next(same, registry.get(new_id)), Decision):
            by, here = (short_id(Kind.DECISION, d.id) for d in (require_active(registry, taken, _AGAIN), old))
            raise RuleError(f"{by} says so already; `forgekit decision supersede {here} --by {by}`")
        body = old.body if rationale is None else with_section(old.body, "Rationale", rationale)
        new = replace(
            old,
            decision_id=new_id,
            decision=line,
            epistemic_tier=tier if tier is not None else old.epistemic_tier,
            tier_token=None if tier is not None else old.tier_token,
            originated_in=origin,
            conversation_ids=(origin,) if origin else (),
            created_at=moment,
            last_validated=moment,
            body=body,
        )
        ended = replace(old, status=DecisionStatus.REVISED, superseded_by=new_id, revised_in=source)
        return [ended, new, *where.beside]

    written = write(forge, decide, "decision revise", options)
    return replace(written, entity=written.outcome.change.writes[1])


def supersede(
    forge: Forge, name: str, by: str, *, reason: str = "", options: WriteOptions = COMMITTED
) -> Written:
    """Put another decision in a decision's place.

    Raises TransitionError when either is out of force.
    """
    key, successor = forge.resolve(name, Kind.DECISION), forge.resolve(by, Kind.DECISION)

    def decide(registry: Registry) -> list[Decision]:
        require_active(registry, registry.expect(Decision, successor))
        return [superseded(require_active(registry, registry.expect(Decision, key)), successor, reason)]

    return write(forge, decide, "decision supersede", options)


def invalidate(forge: Forge, name: str, reason: str, *, options: WriteOptions = COMMITTED) -> Written:
    """Put a decision out of force because it was found wrong.

    Raises RuleError for a reason without a word.
    """
    require_line("reason", one_line(reason))
    return _change(
        forge,
        name,
        lambda d: replace(
            d, status=DecisionStatus.INVALIDATED, body=with_section(d.body, "Invalidated", reason)
        ),
        "decision invalidate",
        options,
    )


def validate(
    forge: Forge,
    name: str,
    *,
    tier: float | None = None,
    at: Instant | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Say that a decision still holds."""
    return _change(
        forge,
        name,
        lambda d: replace(
            d,
            last_validated=max(d.last_validated, at if at is not None else forge.now()),
            epistemic_tier=tier if tier is not None else d.epistemic_tier,
            tier_token=None if tier is not None else d.tier_token,
        ),
        "decision validate",
        options,
    )


def edit(
    forge: Forge,
    name: str,
    *,
    rationale: str | None = None,
    context: str | None = None,
    tier: float | None = None,
    alternatives: Iterable[str] | None = None,
    governs: Iterable[str] | None = None,
    dependencies: Iterable[str] | None = None,
    tags: Iterable[str] | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Change what a decision says besides its text.

    Raises RuleError where decisions would rest on each other.
    """
    bases = None if dependencies is None else forge.resolve_all(dependencies, Kind.DECISION)
    key = forge.resolve(name, Kind.DECISION)
    # A generator would be empty when this is decided again.
    others, words, governed = (
        None if given is None else tuple(dict.fromkeys(given)) for given in (alternatives, tags, governs)
    )

    def decide(registry: Registry) -> list[Decision]:
        decision = registry.expect(Decision, key)
        body = decision.body if rationale is None else with_section(decision.body, "Rationale", rationale)
        body = body if context is None else with_section(body, "Context", context)
        edited = replace(
            decision,
            epistemic_tier=tier if tier is not None else decision.epistemic_tier,
            tier_token=None if tier is not None else decision.tier_token,
            alternatives_rejected=others if others is not None else decision.alternatives_rejected,
            governs=governed if governed is not None else decision.governs,
            dependencies=bases if bases is not None else decision.dependencies,
            tags=words if words is not None else decision.tags,
            body=body,
        )
        return [without_circle(edited, registry.decisions) if bases else edited]

    return write(forge, decide, "decision edit", options)


def _change(
    forge: Forge, name: str, change: Callable[[Decision], Decision], operation: str, options: WriteOptions
) -> Written:
    key = forge.resolve(name, Kind.DECISION)
    return write(
        forge,
        lambda registry: [change(require_active(registry, registry.expect(Decision, key)))],
        operation,
        options,
    )


def decision_create(
    decision: str,
    rationale: str = "",
    tier: float | None = None,
    local_id: str | None = None,
    conversation_id: str | None = None,
    project_name: str | None = None,
    *,
    dependencies: Iterable[str] = (),
    alternatives_rejected: Iterable[str] = (),
    tags: Iterable[str] = (),
    at: Instant | None = None,
    again: bool = False,
    forge: Forge | None = None,
) -> dict[str, object]:
    """Register a decision and return it; arguments as of `create`."""
    forge = opened(forge)
    written = create(
        forge,
        decision,
        rationale=rationale,
        tier=tier,
        project=project_name,
        local_id=local_id,
        conversation=conversation_id,
        dependencies=dependencies,
        alternatives=alternatives_rejected,
        tags=tags,
        at=at,
        again=again,
    )
    return Derived(forge.registry()).view(written.entity)


def decision_revise(
    decision_id: str,
    new_decision: str,
    new_rationale: str | None = None,
    conversation_id: str | None = None,
    *,
    tier: float | None = None,
    forge: Forge | None = None,
) -> dict[str, object]:
    """Revise a decision and return the revision; the original is kept."""
    forge = opened(forge)
    written = revise(
        forge, decision_id, new_decision, rationale=new_rationale, tier=tier, conversation=conversation_id
    )
    return Derived(forge.registry()).view(written.entity)


def decision_search(
    query: str,
    status: str | None = "active",
    project_name: str | None = None,
    *,
    limit: int = 10,
    forge: Forge | None = None,
) -> list[dict[str, object]]:
    """Return the decisions that a query finds, best first."""
    forge = opened(forge)
    hits = search(forge, query, kinds=(Kind.DECISION,), status=status, project=project_name, limit=limit)
    registry = forge.registry()
    derived = Derived(registry)
    return [derived.view(found) for hit in hits.ids if (found := registry.get(hit)) is not None]


def decision_stale(
    days: int = 30,
    max_tier: float | None = 0.7,
    *,
    hops: int = 3,
    project_name: str | None = None,
    forge: Forge | None = None,
) -> list[dict[str, object]]:
    """Return the active decisions that nobody has validated lately.

    Args:
        days: since last validated.
        max_tier: only decisions of this tier or below; None for all.
        hops: compressions since last validated.
        project_name: only this project.
        forge: the registry, else that of the working directory.
    """
    forge = opened(forge)
    registry = forge.registry()
    derived = Derived(registry)
    project = forge.known_project(project_name, registry).id if project_name else None
    found = stale(registry, forge.now(), days=days, hops=hops, max_tier=max_tier, project=project)
    return [derived.view(item.decision) for item in found]


def decision_conflicts(
    decision_id: str | None = None, project_name: str | None = None, *, forge: Forge | None = None
) -> list[dict[str, object]]:
    """Return the open verdicts and the findings: all, those of a decision, or those that touch a project."""
    forge = opened(forge)
    registry = forge.registry()
    key = forge.resolve(decision_id, Kind.DECISION) if decision_id else None
    project = forge.known_project(project_name, registry).id if project_name else None
    rows, _ = listed(forge, registry, decision=key, project=project)
    derived = Derived(registry)
    return [
        listed_conflict_view(derived, row.conflict, row.state, row.sides, row.finding, row.yields)
        for row in reversed(rows)
        if row.state in _UNANSWERED
    ]


def decision_resolve_conflict(
    decision_id: str, keep_id: str, reason: str, *, forge: Forge | None = None
) -> dict[str, object]:
    """Resolve a conflict: one decision is kept, the other is superseded, and the reason is recorded.

    Args:
        decision_id: either side of the conflict.
        keep_id: the side to keep; when both are the same, the only open conflict of that decision is meant.
        reason: why.
        forge: the registry, else that of the working directory.
    """
    forge = opened(forge)
    written = resolve(forge, decision_id, keep_id, reason)
    return Derived(forge.registry()).view(written.entity)
