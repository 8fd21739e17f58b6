"""Which decisions nobody has restated for too long, and which rest on something out of force.

A decision is *validated* by every conversation that states or carries it, and by a person. *Hops since
validated* is the longest path of lineage edges from the conversations that last stated or carried it:

* every edge is one hop, however it was made, and counts once however often it was filed;
* a partial compression ages only what was in its scope: what it lists as dropped;
* after a person's validation only edges made since then count;
* an ingested conversation and what archives tell of it are one (`same_conversations`).

All of it is a function of the registry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from forgekit.conflict.pairs import NOTHING, Findings
from forgekit.frozen import frozen
from forgekit.ids import EntityId
from forgekit.model.entities import CompressionMode, Conflict, ConflictStatus, Decision, Entity
from forgekit.model.graph import Graph, arrows, order, same_conversations
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import ActiveDecision, Registry
from forgekit.model.settings import Settings
from forgekit.times import DAY_MS, Instant

UNKNOWN_TIER = 0.5
"""Where nobody gave a tier: heuristic."""


class Age(NamedTuple):
    """How long ago a decision was validated.

    Attributes:
        last_validated: the latest event time at which it was stated, carried or validated.
        conversations: all that stated or carried it, sorted.
    """

    last_validated: Instant
    hops: int
    conversations: tuple[EntityId, ...]


class StaleEntry(NamedTuple):
    """An active decision that nobody has validated for too long; `days` are whole days.

    Attributes:
        reasons: `days`, `hops` or both.
    """

    id: EntityId
    last_validated: Instant
    days: int
    hops: int
    reasons: tuple[str, ...]
    speculative: bool


@frozen(slots=False)
class Staleness:
    """The stale decisions, with their entries, and how many were looked at.

    Attributes:
        found: each of them, longest unvalidated first.
        active: active decisions asked about, stale or not.
    """

    registry: Registry
    found: tuple[StaleEntry, ...]
    active: int

    def __iter__(self) -> Iterator[tuple[Decision, StaleEntry]]:
        decisions = self.registry.in_order(Decision, [aged.id for aged in self.found])
        return zip(decisions, self.found, strict=True)

    def __len__(self) -> int:
        return len(self.found)

    @property
    def share(self) -> float:
        """Flagged of active, 0.0 to 1.0; a flag on everything is a flag on nothing."""
        return len(self) / self.active if self.active else 0.0


@frozen()
class _Edge:
    """One hop into a group of the order.

    Attributes:
        scope: the decisions that it ages; None for all.
        narrow: a decision outside its scope did not come along at all, so no path leads on for it.
    """

    target: int
    made: Instant
    scope: frozenset[EntityId] | None
    narrow: bool

    def concerns(self, decision: EntityId) -> bool:
        return self.scope is None or decision in self.scope


class Ages:
    """Answers how old each decision of one registry is; the graph is put into order once."""

    def __init__(self, registry: Registry) -> None:
        self._same = same_conversations(registry)
        self._statements: dict[EntityId, dict[EntityId, Instant]] = defaultdict(dict)
        full: dict[EntityId, Instant] = {}
        archived: set[EntityId] = set()
        for archive in registry.archives:
            conversation, at = self._one(archive.conversation_id), archive.compressed_at
            archived.add(conversation)
            if archive.compression_mode is not CompressionMode.PARTIAL:
                full[conversation] = max(at, full.get(conversation, at))
            for _, entity in archive.records:
                self._state(entity, conversation, at)
        self._started = {c.id: c.created_at for c in registry.dated_conversations()}
        # A conversation without an edge has no hops and stays out of the order.
        self._order = order(Graph.of(arrows(registry, self._same)))
        self._out: dict[int, list[_Edge]] = defaultdict(list)
        for edge in registry.lineage:
            at = self._started.get(edge.target_conversation_id, Instant(0))
            source, target = (
                self._one(c) for c in (edge.source_conversation_id, edge.target_conversation_id)
            )
            for compression in edge.compressions:
                for _, entity in compression.decisions_carried:
                    self._state(entity, target, at)
            modes = {compression.compression_mode for compression in edge.compressions}
            narrow = modes == {CompressionMode.PARTIAL}
            partial = narrow or (target in archived and target not in full)
            dropped = frozenset(key for c in edge.compressions for _, key in c.decisions_dropped)
            times = (c.compressed_at or Instant(0) for c in edge.compressions)
            made = full[target] if target in full else Instant(max((at, *times)))
            start, end = (self._order.position.get(conversation, -1) for conversation in (source, target))
            if start != end:
                self._out[start].append(_Edge(end, made, dropped if partial else None, narrow))
        self._far = self._longest(range(len(self._order.groups)), EntityId(""), Instant(0))
        self._stories: dict[Any, tuple[tuple[EntityId, ...], int, set[int], int]] = {}
        self._scoped = frozenset(d for edges in self._out.values() for e in edges for d in e.scope or ())

    def age(self, decision: Decision | ActiveDecision) -> Age:
        """Return when and how many hops ago a decision was last validated."""
        statements = self._statements.get(decision.id, {})
        conversations, begun, tips, hops = self._story(decision.conversation_ids, tuple(statements))
        stated = max(begun, *statements.values()) if statements else begun
        if decision.last_validated > stated or decision.id in self._scoped:
            since = decision.last_validated if decision.last_validated > stated else Instant(0)
            far = self._longest(self._reached(tips), decision.id, since)
            hops = max((far[tip] for tip in tips), default=0)
        validated = Instant(max(stated, decision.last_validated))
        return Age(validated, hops, conversations)

    def _story(
        self, own: tuple[EntityId, ...], stated: tuple[EntityId, ...]
    ) -> tuple[tuple[EntityId, ...], int, set[int], int]:
        """Return what is the same for all decisions of some conversations.

        Those, when the last of them began, their groups that lead to no other of them, and the hops since.
        """
        if (own, stated) not in self._stories:
            conversations = tuple(sorted({*map(self._one, own), *stated}))
            begun = max((self._started.get(c, 0) for c in (*own, *conversations)), default=0)
            tips = self._tips(conversations)
            hops = max((self._far[tip] for tip in tips), default=0)
            self._stories[own, stated] = conversations, begun, tips, hops
        return self._stories[own, stated]

    def _one(self, conversation: EntityId) -> EntityId:
        return self._same.get(conversation, conversation)

    def _state(self, decision: EntityId, conversation: EntityId, at: Instant) -> None:
        """Note that a conversation stated a decision."""
        known = self._statements[decision].get(conversation, at)
        self._statements[decision][conversation] = max(at, known)

    def _tips(self, conversations: Iterable[EntityId]) -> set[int]:
        """Return the groups of these conversations that lead to no other of them."""
        position = self._order.position
        tips = {position[c] for c in conversations if c in position}
        if len(tips) < 2:
            return tips
        # Nothing before the first of them can lie between two of them.
        first = min(tips)
        seen: set[int] = set()
        todo = [parent for tip in tips for parent in self._order.before[tip]]
        while todo:
            group = todo.pop()
            if group >= first and group not in seen:
                seen.add(group)
                todo.extend(self._order.before[group])
        return tips - seen

    def _reached(self, tips: set[int]) -> set[int]:
        """Return the groups that these lead to, themselves included."""
        reached, todo = set(tips), list(tips)
        while todo:
            for group in self._order.after[todo.pop()]:
                if group not in reached:
                    reached.add(group)
                    todo.append(group)
        return reached

    def _longest(self, groups: Iterable[int], decision: EntityId, since: Instant) -> Mapping[int, int]:
        """Return the hops of the longest path from each group that ages a decision; edges lead upwards."""
        far: dict[int, int] = {}
        for group in sorted(groups, reverse=True):
            out = (edge for edge in self._out.get(group, ()) if edge.concerns(decision) or not edge.narrow)
            paths = (far[e.target] + (e.concerns(decision) and e.made >= since) for e in out)
            far[group] = max(paths, default=0)
        return far


_REASONS = {
    (days, hops): ("days",) * days + ("hops",) * hops for days in (False, True) for hops in (False, True)
}


def stale_by(
    limits: Settings,
    registry: Registry,
    now: Instant,
    *,
    project: EntityId | None = None,
    among: Collection[EntityId] | None = None,
) -> Staleness:
    """Find the active decisions that nobody validated for some days or hops; no tier counts as 0.5."""
    most, most_days, most_hops = limits.stale_max_tier, limits.stale_days, limits.stale_hops
    ages = Ages(registry)
    found = []
    active = [each for each in registry.active_decisions(project) if among is None or each.id in among]
    for decision in active:
        tier = UNKNOWN_TIER if decision.epistemic_tier is None else decision.epistemic_tier
        if most is not None and tier > most:
            continue
        validated, hops, _ = ages.age(decision)
        days = max(now - validated, 0) // DAY_MS
        if reasons := _REASONS[days >= most_days, hops >= most_hops]:
            found.append(StaleEntry(decision.id, validated, days, hops, reasons, decision.speculative))
    found.sort(key=itemgetter(1, 0))  # by `last_validated`
    return Staleness(registry, tuple(found), len(active))


@frozen(kw_only=True)
class Revalidation:
    """An active decision that rests on one out of force.

    Attributes:
        why: one clause, such as `rests on dec_b34bfcd74276, which was revised`.
    """

    decision: Decision
    broken: Decision
    why: str


def needs_revalidation(registry: Registry) -> list[Revalidation]:
    """Find the active decisions that rest on one out of force, directly or through other active ones.

    A decision is listed once for each broken one that it names, or else once for the nearest.
    """
    out: list[Revalidation] = []
    seen: set[EntityId] = set()
    todo: list[Revalidation] = []
    resting = registry.needing_revalidation()
    bases = registry.of_ids(Decision, (base for decision in resting for base in decision.dependencies))
    ended = {base.id: base for base in bases if base.status.ended}
    after: dict[EntityId, list[Decision]] = defaultdict(list)
    for decision in resting:
        for dependency in dict.fromkeys(decision.dependencies):
            after[dependency].append(decision)
            if (broken := ended.get(dependency)) is not None:
                found = Revalidation(decision=decision, broken=broken, why=_rests(broken, broken))
                out.append(found)
                if decision.id not in seen:
                    seen.add(decision.id)
                    todo.append(found)
    for through in todo:  # grows while it is walked: nearest first
        for following in after[through.decision.id]:
            if following.id not in seen:
                why = _rests(through.decision, through.broken)
                found = Revalidation(decision=following, broken=through.broken, why=why)
                seen.add(following.id)
                out.append(found)
                todo.append(found)
    return sorted(out, key=lambda item: (item.decision.id, item.broken.id))


def _rests(named: Decision, broken: Decision) -> str:
    ended = f"which was {broken.status.value}"
    if broken.superseded_by:
        ended += f" by {short_id(broken.kind, broken.superseded_by)}"
    if named is broken:
        return f"rests on {short_id(broken.kind, broken.id)}, {ended}"
    return f"rests on {short_id(named.kind, named.id)}, and so on {short_id(broken.kind, broken.id)}, {ended}"


MOOT = "moot"
"""The state of an open verdict of which a side has ended."""


def conflict_state(registry: Registry, conflict: Conflict) -> str:
    """Return a verdict's status, or `moot` where it is open and a side has ended."""
    sides = map(registry.get, (conflict.decision_a, conflict.decision_b))
    ended = any(isinstance(side, Decision) and side.status.ended for side in sides)
    return MOOT if ended and conflict.status is ConflictStatus.OPEN else conflict.status.value


def projects_of(registry: Registry, entity: Entity) -> set[EntityId]:
    """Return the projects that an entity belongs to: of a conflict those of its sides."""
    if not isinstance(entity, Conflict):
        return {entity.project_uuid}
    return {side.project_uuid for side in registry.of_ids(Decision, entity.sides)}


def open_conflicts(registry: Registry) -> list[Conflict]:
    """Return the verdicts that wait for a person's choice; one whose side has ended waits no more."""
    waits = ConflictStatus.OPEN.value
    return [c for c in registry.conflicts if conflict_state(registry, c) == waits]


def scopes(registry: Registry) -> Mapping[EntityId, str]:
    """Return the scope of each decision that a verdict keeps beside another one, in a person's words."""
    found: dict[EntityId, list[str]] = defaultdict(list)
    for conflict in registry.conflicts:
        if conflict_state(registry, conflict) == ConflictStatus.SCOPED.value:
            for side, other in (conflict.sides, conflict.sides[::-1]):
                found[side].append(f"beside {short_id(Kind.DECISION, other)}: {conflict.reason}")
    return {side: "; ".join(sorted(reasons)) for side, reasons in found.items()}


def scope_mark(scope: str | None) -> str:
    """Return the mark that a line on a decision with a scope ends with."""
    if not scope:
        return ""
    from forgekit.text.blocks import quote

    return f" [SCOPED {quote(scope)}]"


IN_CONFLICT, MAYBE_IN_CONFLICT = " [IN AN OPEN CONFLICT]", " [POSSIBLY IN CONFLICT]"


def conflict_marks(registry: Registry, findings: Findings) -> Mapping[EntityId, str]:
    """Return the marks of the decisions that are in an open conflict, or that may be in one."""
    maybe = {side: MAYBE_IN_CONFLICT for finding in findings.possible for side in finding.sides}
    return maybe | dict.fromkeys(blocked_from_carrying(registry, findings), IN_CONFLICT)


def blocked_from_carrying(registry: Registry, findings: Findings = NOTHING) -> frozenset[EntityId]:
    """Return the decisions that blocks do not carry: in an open verdict, in a finding, or yielding."""
    verdicts = (side for c in open_conflicts(registry) for side in (c.decision_a, c.decision_b))
    return findings.uncarried.union(verdicts)
