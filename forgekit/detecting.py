"""Contradictions in a registry: found when a decision is written, filed or staged, or by a scan.

Filing compares the decisions that an archive brings or changes with the state that the filing ends in. What
it writes is a function of that state: a conflict that nobody has touched is made anew when a side changes,
and goes when a side ends. So the order of filing leaves no trace in the files, with these exceptions:

* of a decision the nearest are compared (`NEAREST`), as they were at that time;
* once a tier has settled a contradiction, the decision that lost stays superseded, as if a person had done
  it: an archive that changes a tier, or a third decision that contradicts the winner, comes too late;
* the trained judge reads the pairs with the most evidence of those that it is given at once.

A pair whose conflict is on file is never raised again, whatever became of it. A judge that does not always
say the same (a language model) gives no order to speak of. Clones of which one has the trained judge's
model and one has not file what each finds; what the rules would write alike counts as untouched anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forgekit.change import COMMITTED, WriteOptions, superseding
from forgekit.conflict.pairs import (
    NEAREST,
    Pair,
    Settled,
    akin,
    contradiction,
    pair,
    settled,
    sought,
    statement,
    together,
)
from forgekit.forge import Forge
from forgekit.ids import EntityId, pair_id
from forgekit.model.conflict import Conflict, ConflictStatus
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import Kind
from forgekit.model.registry import Registry
from forgekit.model.settings import JudgeKind
from forgekit.search import CLOSE, bring_up
from forgekit.store import Change, Outcome
from forgekit.text import codec
from forgekit.worktree.files import read_bytes

if TYPE_CHECKING:
    from forgekit.archives.changes import ChangeSet
    from forgekit.archives.fold import FoldResult
    from forgekit.conflict.judge import Judge, Judgement

Near = Callable[[Collection[EntityId], Collection[EntityId]], Mapping[tuple[EntityId, EntityId], float]]
"""Returns the cosines of close pairs of filed decisions, one of these and one of those."""
Cosines = Mapping[Pair, float | None]
Progress = Callable[[int, int], None]

_BATCH = 20_000  # pairs that a judge gets at once


@dataclass(frozen=True, slots=True)
class State:
    """A registry as it stands once a change is made."""

    registry: Registry
    writes: Mapping[EntityId, Entity]
    deletes: Collection[EntityId] = ()

    def get(self, key: EntityId) -> Entity | None:
        """Return an entity, or None."""
        if key in self.writes:
            return self.writes[key]
        return None if key in self.deletes else self.registry.get(key)

    def active(self, key: EntityId) -> Decision | None:
        """Return a decision that is in force, or None."""
        found = self.get(key)
        return found if isinstance(found, Decision) and not found.status.ended else None


def candidates(
    forge: Forge,
    state: State,
    decisions: Iterable[Decision],
    near: Near | None = None,
    progress: Progress | None = None,
) -> dict[Pair, float | None]:
    """Return the pairs of these decisions with standing ones that are worth judging, with their cosines.

    Args:
        forge: its catalogue was refreshed when the state was read.
        state: only what is active in it counts.
        decisions: active ones.
        near: who knows vectors; None for words alone.
        progress: told how many decisions of all were looked up.
    """
    these, out = {decision.id: decision for decision in decisions}, dict[Pair, float | None]()
    for number, (key, decision) in enumerate(these.items()):
        if progress is not None:
            progress(number, len(these))
        hits = forge.catalogue.search(
            sought(decision), kinds=(Kind.DECISION,), status="active", limit=NEAREST + 1
        )
        for hit in hits:
            other = state.active(hit.id)
            if hit.id != key and other is not None and akin(decision, other):
                out[pair(key, hit.id)] = None
    if near is None:
        return out
    filed = {EntityId(key) for key in forge.catalogue.matching(kinds=(Kind.DECISION,), status="active")}
    close = {pair(a, b): cosine for (a, b), cosine in near(these, filed).items() if a != b}
    counts: Counter[EntityId] = Counter()
    for sides, cosine in sorted(close.items(), key=lambda item: (-item[1], item[0])):
        if sides in out or any(counts[side] < NEAREST for side in sides if side in these):
            out[sides] = cosine
            counts.update(sides)
    return out


def judgements(
    forge: Forge, state: State, pairs: Cosines, judge: Judge | None = None
) -> Iterable[tuple[Decision, Decision, Judgement]]:
    """Yield a judge's (else the registry's) judgement on each pair of active sides, in the order of ids."""
    asked = judge or forge.judge
    sides = [(state.active(a), state.active(b), cosine) for (a, b), cosine in sorted(pairs.items())]
    known = [(a, b, cosine) for a, b, cosine in sides if a is not None and b is not None]
    read = {side.id: statement(side) for a, b, _ in known for side in (a, b)}
    for start in range(0, len(known), _BATCH):
        some = known[start : start + _BATCH]
        said = asked.judge([(read[a.id], read[b.id]) for a, b, _ in some], [cosine for *_, cosine in some])
        for (a, b, _), judgement in zip(some, said, strict=True):
            yield a, b, judgement


def contradictions(
    forge: Forge, state: State, pairs: Cosines, judge: Judge | None = None
) -> list[tuple[Conflict, Decision, Decision, Judgement]]:
    """Return an open conflict for each pair that a judge finds to contradict each other, with both sides."""
    if not pairs:
        return []
    from forgekit.conflict.judge import Verdict

    return [
        (contradiction(a, b, judgement, pairs[a.id, b.id]), a, b, judgement)
        for a, b, judgement in judgements(forge, state, pairs, judge)
        if judgement.verdict is Verdict.CONTRADICTION
    ]


def detect(forge: Forge, state: State, pairs: Cosines) -> Settled:
    """Judge the pairs that have no conflict on file, and settle what the tiers settle."""
    return settled([found[:3] for found in contradictions(forge, state, _unfiled(state, pairs))])


def _unfiled(state: State, pairs: Cosines) -> Cosines:
    return {sides: cosine for sides, cosine in pairs.items() if state.get(pair_id(*sides)) is None}


def against(forge: Forge, registry: Registry, entities: Sequence[Entity]) -> list[Entity]:
    """Return entities to be written, with the conflicts that their decisions make.

    A decision that gives way to a higher tier stands in the list as superseded.
    """
    state = State(registry, {entity.id: entity for entity in entities})
    new = [found for entity in entities if (found := state.active(entity.id)) is not None]
    outcome = detect(forge, state, {**dict.fromkeys(together(new)), **candidates(forge, state, new)})
    lost = {decision.id: decision for decision in outcome.superseded}
    ours = [lost.pop(entity.id, entity) for entity in entities]
    return [*ours, *lost.values(), *outcome.conflicts]


@dataclass(frozen=True, slots=True)
class Filing:
    """A settlement with what detection adds to it; `found` are the conflicts that are new."""

    settlement: ChangeSet
    found: tuple[Conflict, ...]


def filing(forge: Forge, ours: Registry, said: FoldResult, settlement: ChangeSet) -> Filing:
    """Add the contradictions of what an archive brings to what is to be written.

    Args:
        forge: the registry.
        ours: the files as they stand.
        said: what the archives say, this one included.
        settlement: what filing it comes to.
    """
    writes = {entity.id: entity for entity in settlement.writes}
    deletes = {entity.id: entity for entity in settlement.deletes}
    changed = [
        entity
        for entity in (*settlement.writes, *settlement.deletes)
        if isinstance(entity, Decision)
        and (entity.id in deletes or _weight(entity) != _weight(ours.get(entity.id)))
    ]
    told_otherwise = [ours.get(key) for key, _ in settlement.conflicts]
    moved = {entity.id for entity in changed} | set(settlement.renamed.values())
    moved |= {c.decision_a for c in told_otherwise if isinstance(c, Conflict)}
    untouched = _untouched(forge, ours, moved) if moved else []
    if settlement.renamed:  # one that comes to a pair whose conflict a person touched was joined with that
        known = {conflict.id for conflict in untouched}
        held = {_sides(conflict, settlement) for conflict in ours.conflicts if conflict.id not in known}
        untouched = [conflict for conflict in untouched if _sides(conflict, settlement) not in held]
    again: dict[Pair, float | None] = {}
    told: set[EntityId] = set()
    for conflict in untouched:
        a, b = _sides(conflict, settlement)
        if a == b:
            continue
        key = pair_id(a, b)
        if key in said.entities:  # archives say by now what detection had found
            writes[key] = said.entities[key]
            told.add(key)
        else:
            writes.pop(key, None)
            again[a, b] = conflict.similarity
    hidden = {*deletes, *(conflict.id for conflict in untouched)}
    state = State(ours, writes, hidden)
    new = [found for entity in changed if (found := state.active(entity.id)) is not None]
    pairs = {**dict.fromkeys(together(new)), **candidates(forge, state, new), **again}
    outcome = detect(forge, state, pairs)
    lost = {decision.id for decision in outcome.superseded}
    moot = _untouched(forge, ours, lost) if lost else []
    writes |= {entity.id: entity for entity in outcome.entities}
    deletes |= {conflict.id: conflict for conflict in (*untouched, *moot)}
    writes |= _dated(ours, State(ours, writes, deletes), settlement)
    for key in writes.keys() & deletes.keys():
        del deletes[key]
        if writes[key] == ours.get(key):
            del writes[key]
    return Filing(
        replace(
            settlement,
            writes=tuple(writes.values()),
            deletes=tuple(deletes.values()),
            conflicts=tuple(item for item in settlement.conflicts if item[0] not in told),
        ),
        tuple(conflict for conflict in outcome.conflicts if conflict.id not in ours.entities),
    )


def _sides(conflict: Conflict, settlement: ChangeSet) -> Pair:
    """Return the sides of a conflict under the ids that they take."""
    renamed = settlement.renamed
    return pair(*(renamed.get(side, side) for side in (conflict.decision_a, conflict.decision_b)))


def _weight(entity: Entity | None) -> object:
    """Return what the verdict on a decision, and the conflict's file, hang on."""
    return (statement(entity), entity.status.ended) if isinstance(entity, Decision) else None


def _dated(ours: Registry, state: State, settlement: ChangeSet) -> dict[EntityId, Conflict]:
    """Return the conflicts whose sides took another identity, and so another time."""
    out = {}
    for old in ours.conflicts if settlement.renamed else ():
        a, b = _sides(old, settlement)
        found = state.get(pair_id(a, b))
        sides = [state.get(a), state.get(b)]
        times = [side.created_at for side in sides if isinstance(side, Decision)]
        if isinstance(found, Conflict) and found.detected_at == old.detected_at and len(times) == len(sides):
            out[found.id] = replace(found, detected_at=max(times))
    return {key: conflict for key, conflict in out.items() if conflict != state.get(key)}


def _untouched(forge: Forge, registry: Registry, sides: Collection[EntityId]) -> list[Conflict]:
    """Return the open conflicts of these decisions whose files are as detection would write them."""
    opened = {
        conflict.id: conflict
        for conflict in registry.conflicts
        if conflict.status is ConflictStatus.OPEN
        and (conflict.decision_a in sides or conflict.decision_b in sides)
    }
    if not opened:
        return []
    from forgekit.conflict.rules.rules import RuleJudge

    pairs = {(c.decision_a, c.decision_b): c.similarity for c in opened.values()}
    judges: list[Judge | None] = [None]
    if forge.settings.judge is not JudgeKind.RULES:
        judges.append(RuleJudge())  # which may have judged where another one could not
    made = [
        conflict
        for judge in judges
        for conflict, *_ in contradictions(forge, State(registry, {}), pairs, judge)
        if read_bytes(forge.root, entity_path(conflict)) == codec.dumps(conflict).encode()
    ]
    return list({conflict.id: conflict for conflict in made}.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Scanned:
    """What a scan did.

    Attributes:
        compared: pairs that were judged.
        conflicts: new ones, those that a tier has settled included.
        judgements: on their pairs, by the conflicts' ids.
    """

    outcome: Outcome
    compared: int
    conflicts: tuple[Conflict, ...]
    judgements: Mapping[EntityId, Judgement]


def scan(
    forge: Forge,
    project: str | None = None,
    *,
    near: Near | None = None,
    options: WriteOptions = COMMITTED,
    progress: Progress | None = None,
) -> Scanned:
    """Compare the active decisions of a project, or all, with their nearest; record what contradicts.

    Raises NotFoundError for a project that is not known.
    """

    def decide() -> Change:
        state, pairs = _standing(forge, project, near, progress)
        new = _unfiled(state, pairs)
        judged = contradictions(forge, state, new)
        found = settled([item[:3] for item in judged])
        entities, number = found.entities, len(found.conflicts)
        return Change(
            writes=entities,
            subject=f"conflict: scan found {number} {'conflict' if number == 1 else 'conflicts'}",
            trailers=(
                ("Forgekit-Op", "conflict scan"),
                *(("Forgekit-Entity", entity.id) for entity in entities),
                *superseding(entities),
            ),
            result=(len(new), found.conflicts, {conflict.id: said for conflict, *_, said in judged}),
        )

    if forge.settings.judge is JudgeKind.TRAINED and not options.dry_run:
        decide()  # reading many pairs takes minutes, and the writers' lock is not held over them
    outcome = forge.commit(decide, dry_run=options.dry_run, no_commit=options.no_commit)
    result = outcome.change.result
    assert isinstance(result, tuple)  # noqa: S101 - what decide put there
    compared, conflicts, judgements = result
    return Scanned(outcome=outcome, compared=compared, conflicts=conflicts, judgements=judgements)


def duplicates(
    forge: Forge,
    project: str | None = None,
    *,
    near: Near | None = None,
    progress: Progress | None = None,
) -> list[tuple[Decision, Decision, Judgement]]:
    """Return the pairs of active decisions that say the same, in the order of ids; one side is the project's.

    Raises NotFoundError for a project that is not known.
    """
    from forgekit.conflict.judge import Verdict

    return [
        (a, b, judgement)
        for a, b, judgement in judgements(forge, *_standing(forge, project, near, progress))
        if judgement.verdict is Verdict.DUPLICATE
    ]


def _standing(
    forge: Forge, project: str | None, near: Near | None, progress: Progress | None
) -> tuple[State, Cosines]:
    registry = forge.registry()
    owner = forge.known_project(project, registry).id if project is not None else None
    chosen = [
        decision
        for decision in registry.decisions
        if not decision.status.ended and owner in (None, decision.project_uuid)
    ]
    state = State(registry, {})
    return state, candidates(forge, state, chosen, near, progress)


def nearness(forge: Forge) -> Near | None:
    """Return who knows the vectors of a registry; None where there is no embedding model."""
    vectors = forge.vectors
    if vectors is None:
        return None

    def near(
        these: Collection[EntityId], those: Collection[EntityId]
    ) -> dict[tuple[EntityId, EntityId], float]:
        bring_up(forge, vectors)
        return {
            (EntityId(a), EntityId(b)): cosine
            for (a, b), cosine in vectors.pairs(these, those, CLOSE).items()
        }

    return near
