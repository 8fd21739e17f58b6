"""Conflicts: verdicts on file and findings of the judge, and a person's choice between two decisions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from forgekit.change import Written, require_active, typed, write
from forgekit.conflict.judge import Level
from forgekit.conflict.pairs import NATURE, Finding, Findings, ListedConflict, superseded
from forgekit.errors import NotFoundError, RuleError, TransitionError
from forgekit.findings import BLOCK_WAIT_MS, findings_of
from forgekit.forge import COMMITTED, Forge, WriteOptions
from forgekit.ids import EntityId, pair_id
from forgekit.insight.staleness import conflict_state, open_conflicts
from forgekit.model.entities import Conflict, ConflictStatus, Decision, DecisionStatus, Entity
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry

FOUND, POSSIBLE = Level.CONFLICT.state, Level.POSSIBLE.state
_VERBS = {ConflictStatus.SCOPED: "scope", ConflictStatus.DISMISSED: "dismiss"}
_WAIT_MS = 20_000
UNANSWERED = ("open", FOUND, POSSIBLE)
"""The states of verdicts and findings that wait for a person."""


def listed(
    forge: Forge,
    registry: Registry,
    *,
    decision: EntityId | None = None,
    project: EntityId | None = None,
    state: str | None = None,
) -> tuple[list[ListedConflict], Findings]:
    """Return the verdicts and findings, newest first, with the findings they come from."""
    chosen = None if decision is None else {decision}
    found = findings_of(forge, registry, chosen, wait_ms=BLOCK_WAIT_MS, finish_small=True)

    def rows() -> Iterator[ListedConflict]:
        for conflict in registry.conflicts:
            a, b = (registry.find(Decision, side) for side in conflict.sides)
            yield ListedConflict(conflict, conflict_state(registry, conflict), (a, b))
        yield from (finding.listed(loser) for finding, loser in found.with_losers())

    def wanted(row: ListedConflict) -> bool:
        owners = {side.project_uuid for side in row.sides if side is not None}
        return (
            (decision is None or decision in row.conflict.sides)
            and (project is None or project in owners)
            and state in (None, row.state)
        )

    chosen_rows = sorted(filter(wanted, rows()), key=lambda row: (row.conflict.detected_at, row.conflict.id))
    return chosen_rows[::-1], found


def named(forge: Forge, name: str, other: EntityId | None = None) -> Conflict:
    """Return the verdict that a name means, on file or as a finding's would be.

    Args:
        name: of a verdict, of a finding, or of one of the sides.
        other: of the conflicts of a side only those with this one are meant.

    Raises NotFoundError when there is none, RuleError when a decision has several.
    """
    registry = forge.registry()
    try:
        found = registry.get(forge.resolve(name, Kind.CONFLICT, Kind.DECISION))
    except NotFoundError:
        finding = finding_named(forge, name)
        if finding is None:
            raise
        return finding.verdict()
    if isinstance(found, Conflict):
        return found
    if not isinstance(found, Decision):
        raise NotFoundError("conflict", name)
    side = found.id
    pairs = [conflict for conflict in open_conflicts(registry) if side in conflict.sides]
    pairs += [finding.verdict() for finding in findings_of(forge, registry, {side}).of(side)]
    chosen = [pair for pair in pairs if other is None or other in pair.sides]
    if not chosen:
        raise NotFoundError("open conflict", name, "`forgekit conflict list` shows what is open")
    if len(chosen) > 1:
        ids = ", ".join(short_id(Kind.CONFLICT, pair.id) for pair in chosen)
        raise RuleError(f"{name} has several open conflicts ({ids}); name the conflict by its id")
    return chosen[0]


def finding_named(forge: Forge, name: str) -> Finding | None:
    """Return the finding that has an id, or None."""
    registry = forge.registry()
    # Another clone may have named a finding that is not judged here yet.
    for wait in (0, _WAIT_MS) if name.startswith(Kind.CONFLICT.prefix) else (0,):
        found = findings_of(forge, registry, wait_ms=wait)
        for finding in (*found.conflicts, *found.possible, *found.replacements):
            if name.strip().lower() in (finding.id, short_id(Kind.CONFLICT, finding.id)):
                return finding
    return None


def create(
    forge: Forge, name: str, other: str, *, nature: str = NATURE, options: WriteOptions = COMMITTED
) -> Written:
    """State that two decisions cannot both be followed; a verdict that is on file stays.

    Args:
        nature: what they disagree on, one line.

    Raises RuleError for one decision twice, TransitionError for one out of force.
    """
    keys = forge.resolve(name, Kind.DECISION), forge.resolve(other, Kind.DECISION)
    line = typed(nature, "--nature")

    def decide(registry: Registry) -> list[Conflict]:
        if keys[0] == keys[1]:
            raise RuleError("a conflict is between two decisions; both names mean one")
        a, b = (require_active(registry, registry.expect(Decision, key)) for key in sorted(keys))
        known = registry.find(Conflict, pair_id(a.id, b.id))
        return [known if known is not None else Conflict.between(a, b, line)]

    return write(forge, decide, "conflict new", options)


def resolve(forge: Forge, name: str, keep: str, reason: str, *, options: WriteOptions = COMMITTED) -> Written:
    """Keep one side of a conflict; the other is superseded, with the reason.

    Raises RuleError when `keep` is no side of it, TransitionError when it is settled or `keep` out of force.
    """
    kept = forge.resolve(keep, Kind.DECISION)
    chosen = named(forge, name, kept)

    def decide(registry: Registry) -> list[Entity]:
        conflict = _open(registry, chosen)
        sides = conflict.sides
        if kept not in sides:
            names = " or ".join(short_id(Kind.DECISION, side) for side in sides)
            raise RuleError(f"--keep must name a side of the conflict: {names}")
        winner, loser = (registry.find(Decision, s) for s in (kept, sides[sides[0] == kept]))
        if winner is not None:
            require_active(registry, winner)
        settled = replace(conflict, status=ConflictStatus.RESOLVED, kept=kept, reason=reason)
        if loser is None or loser.status is not DecisionStatus.ACTIVE:
            return [settled]
        return [settled, superseded(loser, kept, reason)]

    # Both sides and the verdict may be part of a commit that waits for the answer.
    return write(forge, decide, "conflict resolve", options, over=options.no_commit)


def settle(
    forge: Forge, name: str, reason: str, status: ConflictStatus | str, *, options: WriteOptions = COMMITTED
) -> Written:
    """Keep both sides of a conflict.

    Args:
        status: `scoped`: each holds in the scope that the reason states; `dismissed`: no contradiction.

    Raises TransitionError when a side of it was kept.
    """
    state = ConflictStatus(status)
    chosen = named(forge, name)

    def decide(registry: Registry) -> list[Conflict]:
        return [replace(_open(registry, chosen), status=state, reason=reason)]

    return write(forge, decide, f"conflict {_VERBS[state]}", options, over=options.no_commit)


def _open(registry: Registry, chosen: Conflict) -> Conflict:
    """Return a verdict as it is on file, unless a side was kept; else that of a finding."""
    conflict = registry.find(Conflict, chosen.id)
    if conflict is None:
        for side in chosen.sides:
            require_active(registry, registry.expect(Decision, side))
        return chosen
    if conflict.status is ConflictStatus.RESOLVED:
        raise TransitionError(f"{short_id(Kind.CONFLICT, conflict.id)} is already {conflict.status.value}")
    return conflict
