"""Decisions: what was chosen, how sure it is, and what replaced it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from forgekit.change import (
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
from forgekit.errors import RuleError
from forgekit.forge import COMMITTED, Forge, WriteOptions, opened
from forgekit.governing import given_patterns
from forgekit.ids import EntityId, decision_id, match_key, project_id
from forgekit.merge import conflicting_edits
from forgekit.model.entities import Decision, DecisionStatus, Entity
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import one_line, require_line, with_section
from forgekit.times import Instant

_AGAIN = "; to record the same text again pass another --conversation"


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
        context: in which circumstances, Markdown.
        tier: 0.0 to 1.0.
        project: a project's name, else the conversation's; a new one is registered along.
        local_id: what the conversation calls it, such as `D001`.
        conversation: the one that made it, by any name; an unknown uuid is registered along.
        dependencies: decisions it builds on, by any name.
        alternatives: what was rejected, one line each.
        governs: path globs and component names that it applies to.
        at: event time in ms since 1970, else the conversation's, else now.
        again: register the text although an active decision of the project has it.

    Raises TransitionError where that one is out of force; RuleError where it differs, where the text
    is too long, and for a text that an active decision of the project has already.
    """
    bases = forge.resolve_all(dependencies, Kind.DECISION)
    line = typed(text, "--rationale")
    others, words, governed = (
        tuple(dict.fromkeys(given)) for given in (alternatives, tags, given_patterns(governs))
    )
    values: dict[str, Any] = {
        "epistemic_tier": tier,
        "local_id": local_id,
        "dependencies": bases,
        "alternatives_rejected": others,
        "governs": governed,
        "tags": words,
    }

    def decide(registry: Registry) -> list[Entity]:
        origin = origin_of(forge, registry, project, conversation, at)
        name, source, owner = origin.project, origin.conversation, project_id(origin.project)
        decision = Decision(
            decision_id=decision_id(owner, line, source or EntityId(""), origin.at),
            decision=line,
            project_name=name,
            project_uuid=owner,
            originated_in=source,
            conversation_ids=(source,) if source else (),
            created_at=origin.at,
            last_validated=origin.at,
            body=with_section(with_section("", "Rationale", rationale), "Context", context),
            **values,
        )
        titled = _titled(forge, line, owner)
        if same := [d for d in titled if d.originated_in == source]:
            texts: dict[str, Any] = {"rationale": decision.rationale, "context": decision.context}
            existing = require_active(registry, same[0], _AGAIN)
            return [require_same(existing, **texts, **values, created_at=at)]
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
    context: str | None = None,
    tier: float | None = None,
    conversation: str | None = None,
    at: Instant | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Replace a decision's text: a new decision, and the old one kept as `revised`.

    The new one is of the conversation that is given, else of none, and takes along what is not given, but
    not the quote from which the old one was made.

    Raises TransitionError when it is out of force, RuleError when the text is taken or too long.
    """
    key = forge.resolve(name, Kind.DECISION)
    line = typed(text, "--rationale")

    def decide(registry: Registry) -> list[Entity]:
        old = require_active(registry, registry.expect(Decision, key))
        where = origin_of(forge, registry, old.project_name, conversation, at)
        source, moment = where.conversation, where.at
        new_id = decision_id(old.project_uuid, line, source or EntityId(""), moment)
        if new_id == old.id or match_key(line) == match_key(old.decision):
            raise RuleError("the new text says the same as the old one; use `forgekit decision edit`")
        titled = _titled(forge, line, old.project_uuid)
        same = (d for d in titled if d.originated_in in {source, old.originated_in} and not d.status.ended)
        if isinstance(taken := next(same, registry.get(new_id)), Decision):
            by, here = (short_id(Kind.DECISION, d.id) for d in (require_active(registry, taken, _AGAIN), old))
            raise RuleError(f"{by} says so already; `forgekit decision supersede {here} --by {by}`")
        body = conflicting_edits.split_entries(old.body)[0]
        body = with_section(body, "Context", _unquoted(registry, old) if context is None else context)
        if rationale is not None:
            body = with_section(body, "Rationale", rationale)
        new = replace(
            _with_tier(old, tier),
            decision_id=new_id,
            decision=line,
            originated_in=source,
            conversation_ids=(source,) if source else (),
            created_at=moment,
            last_validated=moment,
            body=body,
        )
        ended = replace(old, status=DecisionStatus.REVISED, superseded_by=new_id, revised_in=source)
        return [ended, new, *where.beside]

    written = write(forge, decide, "decision revise", options)
    return replace(written, entity=written.outcome.change.writes[1])


def _unquoted(registry: Registry, decision: Decision) -> str:
    """Return a decision's context without the quote from which a candidate made it."""
    text = decision.context
    for candidate in registry.candidates if text and decision.originated_in else ():
        if candidate.conversation_id == decision.originated_in and candidate.quote:
            text = text.removeprefix(candidate.quoted).strip()
    return text


def supersede(
    forge: Forge, name: str, by: str, *, reason: str = "", options: WriteOptions = COMMITTED
) -> Written:
    """Put another decision in a decision's place; raises TransitionError when either is out of force."""
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
    key = forge.resolve(name, Kind.DECISION)

    def decide(registry: Registry) -> list[Decision]:
        old = require_active(registry, registry.expect(Decision, key))
        body = with_section(old.body, "Invalidated", reason)
        return [replace(old, status=DecisionStatus.INVALIDATED, body=body)]

    return write(forge, decide, "decision invalidate", options)


def validate(
    forge: Forge,
    name: str,
    *,
    tier: float | None = None,
    at: Instant | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Say that a decision still holds."""
    key = forge.resolve(name, Kind.DECISION)

    def decide(registry: Registry) -> list[Decision]:
        old = require_active(registry, registry.expect(Decision, key))
        moment = max(old.last_validated, at if at is not None else forge.now())
        return [_with_tier(replace(old, last_validated=moment), tier)]

    return write(forge, decide, "decision validate", options)


def _with_tier(decision: Decision, tier: float | None) -> Decision:
    """Return a decision with another tier, which no archive wrote as a class; unchanged for None."""
    return decision if tier is None else replace(decision, epistemic_tier=tier, tier_token=None)


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
    """Change the fields of a decision besides its text.

    Raises RuleError where decisions would rest on each other.
    """
    bases = None if dependencies is None else forge.resolve_all(dependencies, Kind.DECISION)
    key = forge.resolve(name, Kind.DECISION)
    # A generator would be empty when this is decided again.
    patterns = None if governs is None else given_patterns(governs)
    lists = {"alternatives_rejected": alternatives, "governs": patterns, "dependencies": bases, "tags": tags}
    values: dict[str, Any] = {k: tuple(dict.fromkeys(v)) for k, v in lists.items() if v is not None}
    sections = {k: v for k, v in (("Rationale", rationale), ("Context", context)) if v is not None}

    def decide(registry: Registry) -> list[Decision]:
        decision = registry.expect(Decision, key)
        body = decision.body
        for heading, text in sections.items():
            body = with_section(body, heading, text)
        edited = _with_tier(replace(decision, body=body, **values), tier)
        return [without_circle(edited, registry.decisions) if bases else edited]

    return write(forge, decide, "decision edit", options)


def decision_create(
    decision: str,
    rationale: str = "",
    tier: float | None = None,
    local_id: str | None = None,
    conversation_id: str | None = None,
    project_name: str | None = None,
    *,
    alternatives_rejected: Iterable[str] = (),
    forge: Forge | None = None,
    **more: Any,
) -> dict[str, object]:
    """Register a decision and return it.

    Arguments as of `create`; `more` are its `context`, `dependencies`, `governs`, `tags`, `at` and `again`.
    """
    forge = opened(forge)
    written = create(
        forge,
        decision,
        rationale=rationale,
        tier=tier,
        project=project_name,
        local_id=local_id,
        conversation=conversation_id,
        alternatives=alternatives_rejected,
        **more,
    )
    return written.view(forge)


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
    return written.view(forge)


def decision_search(
    query: str,
    status: str | None = "active",
    project_name: str | None = None,
    *,
    limit: int = 10,
    forge: Forge | None = None,
) -> list[dict[str, object]]:
    """Return the decisions that a query finds, best first."""
    from forgekit.search import found_views

    return found_views(opened(forge), query, Kind.DECISION, status, project_name, limit)


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
        max_tier: only decisions of this tier or below; None for all.
    """
    from forgekit.insight.staleness import stale_by
    from forgekit.insight.views import Derived
    from forgekit.model.settings import Settings

    forge = opened(forge)
    registry = forge.registry()
    derived = Derived(registry)
    project = forge.known_project(project_name, registry).id if project_name else None
    limits = Settings(stale_days=days, stale_hops=hops, stale_max_tier=max_tier)
    found = stale_by(limits, registry, forge.now(), project=project)
    return [derived.view(decision) for decision, _ in found]


def decision_conflicts(
    decision_id: str | None = None, project_name: str | None = None, *, forge: Forge | None = None
) -> list[dict[str, object]]:
    """Return the open verdicts and the findings: all, those of a decision, or those that touch a project."""
    from forgekit.conflicts import UNANSWERED, listed
    from forgekit.insight.views import Derived, listed_conflict_view

    forge = opened(forge)
    registry = forge.registry()
    key = forge.resolve(decision_id, Kind.DECISION) if decision_id else None
    project = forge.known_project(project_name, registry).id if project_name else None
    rows, _ = listed(forge, registry, decision=key, project=project)
    derived = Derived(registry)
    return [listed_conflict_view(derived, row) for row in reversed(rows) if row.state in UNANSWERED]


def decision_resolve_conflict(
    decision_id: str, keep_id: str, reason: str, *, forge: Forge | None = None
) -> dict[str, object]:
    """Resolve a conflict: one decision is kept, the other is superseded, and the reason is recorded.

    Args:
        decision_id: either side of the conflict.
        keep_id: the side to keep; when both are the same, the only open conflict of that decision is meant.
    """
    from forgekit.conflicts import resolve

    forge = opened(forge)
    written = resolve(forge, decision_id, keep_id, reason)
    return written.view(forge)
