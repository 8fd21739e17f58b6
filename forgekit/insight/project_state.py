"""What a conversation must know: the parts of a registry-state or updated-context block, as data.

Pure: a registry, what its archives say, findings and the time go in; rows come out, most important first.
Both sides of a conflict, and what yields to a higher tier, are shown and not carried; speculative decisions
stay out of continuation blocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from forgekit.conflict.pairs import NOTHING, Findings, ListedConflict
from forgekit.frozen import frozen, replace
from forgekit.ids import EntityId
from forgekit.insight.staleness import (
    Revalidation,
    StaleEntry,
    blocked_from_carrying,
    needs_revalidation,
    open_conflicts,
    stale_by,
)
from forgekit.model.entities import Archive, Conversation, Decision, Lineage, Thread
from forgekit.model.graph import Direction, trace
from forgekit.model.kinds import Kind, is_short, short_id
from forgekit.model.registry import ActiveDecision, OpenThread, Registry
from forgekit.model.settings import Settings
from forgekit.text.blocks import brief, quote
from forgekit.text.words import needed, words
from forgekit.times import Instant, format_date

if TYPE_CHECKING:
    from forgekit.model.archive_record import ArchiveText

_COMMON = 100  # decisions of other projects up to which a word that they share is a sign


@frozen()
class Overtaken:
    """A record that an archive shows otherwise than the registry.

    Attributes:
        local_id: what the archive calls it.
        entity: as the registry has it.
        successor: what came in a decision's place last; it may have ended as well.
        between: what came in its place before, oldest first.
        rivals: what the successor is in conflict with, so that neither is carried.
    """

    local_id: str
    entity: Decision | Thread
    successor: Decision | None = None
    between: tuple[Decision, ...] = ()
    rivals: tuple[Decision, ...] = ()


@frozen(kw_only=True)
class CrossProject:
    """A decision of another project that bears on a thread or decision of this one.

    Attributes:
        bears_on: what it overlaps with.
        words: the telling words that both share.
        cosine: how close they are in meaning, where that is known.
    """

    decision: Decision
    bears_on: Thread | Decision
    words: tuple[str, ...]
    cosine: float | None = None

    @property
    def why(self) -> str:
        """What makes it bear on the other."""
        return ", ".join(self.words[:4]) or f"close in meaning ({self.cosine or 0:.2f})"


@frozen(kw_only=True)
class ProjectState:
    """Everything a block says of one project.

    Threads and decisions are as the registry sorts them; what is shown of them is read by its id.

    Attributes:
        overtaken: where the registry differs from the archive.
        conflicts: those with both sides there, of which a person must choose one.
        yielding: those in which one side yields to a higher tier.
        contradictions: how many of its decisions' findings say that both sides cannot be followed.
        unjudged: pairs that the judge had no time for.
        speculative: how many decisions were left out as speculative.
        flagged: the stale ones that are shown.
        stale: how many are stale, shown or not, of so many that are `active`.
        cross_project: of the decisions of other projects that bear on these, the first.
        cross_project_count: how many there are.
    """

    threads: tuple[OpenThread | Thread, ...]
    decisions: tuple[ActiveDecision | Decision, ...]
    overtaken: tuple[Overtaken, ...]
    conflicts: tuple[ListedConflict, ...]
    yielding: tuple[ListedConflict, ...]
    contradictions: int
    unjudged: int
    speculative: int
    revalidations: tuple[Revalidation, ...]
    flagged: tuple[StaleEntry, ...]
    stale: int
    active: int
    edges: tuple[Lineage, ...]
    cross_project: tuple[CrossProject, ...] = ()
    cross_project_count: int = 0


def project_state(
    registry: Registry,
    project: EntityId,
    now: Instant,
    settings: Settings,
    *,
    continued: tuple[Archive, ArchiveText] | None = None,
    findings: Findings = NOTHING,
) -> ProjectState:
    """Gather what a conversation in a project must know.

    Args:
        continued: the archive that is to be continued, with what it says: its records come first,
            speculative decisions stay out, and what the registry says otherwise is named.
    """
    blocked = blocked_from_carrying(registry, findings)
    archive = continued[0] if continued else None
    archived = frozenset(entity for _, entity in archive.records) if archive else frozenset()
    mine: dict[EntityId, ActiveDecision | Decision] = {d.id: d for d in registry.active_decisions(project)}
    mine |= {d.id: d for d in registry.of_ids(Decision, archived) if not d.status.ended}
    carriable = [d for d in mine.values() if d.id not in blocked]
    decisions = [d for d in carriable if archive is None or not d.speculative]
    threads: dict[EntityId, OpenThread | Thread] = {t.id: t for t in registry.open_threads(project)}
    threads |= {t.id: t for t in registry.of_ids(Thread, archived) if not t.status.ended}
    open_threads = sorted(
        threads.values(),
        key=lambda t: (t.id not in archived, t.priority.rank, -t.created_at, t.id),
    )
    decisions.sort(key=lambda d: (d.id not in archived, -(d.last_validated), d.id))
    stale_ones = stale_by(settings, registry, now, project=project)
    opposed = list(all_opposed(registry, set(mine), findings))
    return ProjectState(
        threads=tuple(open_threads),
        decisions=tuple(decisions),
        overtaken=tuple(_overtaken(registry, *continued, opposed)) if continued else (),
        conflicts=tuple(item for item in opposed if item.yields is None),
        yielding=tuple(item for item in opposed if item.yields is not None),
        contradictions=sum(not mine.keys().isdisjoint(found.sides) for found in findings.conflicts),
        unjudged=findings.unjudged,
        speculative=len(carriable) - len(decisions),
        revalidations=tuple(
            s
            for s in needs_revalidation(registry)
            if s.decision.project_uuid == project
            and s.decision.id not in blocked
            and (archive is None or not s.decision.speculative)
        ),
        flagged=tuple(
            aged
            for aged in stale_ones.found
            if aged.id not in blocked and (archive is None or not aged.speculative)
        ),
        stale=len(stale_ones),
        active=stale_ones.active,
        edges=tuple(_edges(registry, project, archive)),
    )


def _overtaken(
    registry: Registry, archive: Archive, text: ArchiveText, opposed: Sequence[ListedConflict]
) -> Iterable[Overtaken]:
    from forgekit.archives.fold import fold

    # What it carries came from archives that are not read here.
    by_id = (registry.get(entity) for local_id, entity in archive.records if is_short(local_id))
    alone = fold(
        [(archive, replace(text, decisions=(*text.carried, *text.decisions), carried=()))],
        [entity for entity in by_id if isinstance(entity, (Decision, Thread))],
    )
    for local_id, entity in archive.records:
        found = registry.get(entity)
        shown_as = alone.entities.get(alone.mentions.get((archive.id, local_id), entity))
        if not isinstance(found, (Decision, Thread)):
            continue
        shown = shown_as.status if isinstance(shown_as, (Decision, Thread)) else None
        if shown is not found.status and (found.status.ended or (shown is not None and shown.ended)):
            chain = successors(registry, found) if isinstance(found, Decision) else []
            last = chain.pop() if chain else None
            against = tuple(rivals(last, opposed)) if last else ()
            yield Overtaken(local_id, found, last, tuple(chain), against)


def successors(registry: Registry, decision: Decision) -> list[Decision]:
    """Return what came in a decision's place, oldest first; the last one may have ended."""
    chain = [decision]
    while isinstance(new := registry.get(chain[-1].superseded_by), Decision) and new not in chain:
        chain.append(new)
    return chain[1:]


def last_successor(registry: Registry, decision: Decision) -> Decision | None:
    """Return what came in a decision's place last; it may have ended."""
    return next(reversed(successors(registry, decision)), None)


def rivals(decision: Decision, opposed: Iterable[ListedConflict]) -> Iterable[Decision]:
    """Yield what a decision excludes, where a person must choose."""
    pairs = (item.present for item in opposed if item.yields is None and decision in item.present)
    yield from (side for pair in pairs for side in pair if side != decision)


def undecided(*sides: Decision) -> str:
    """Say that a person must choose what is in a decision's place."""
    names = " and ".join(short_id(Kind.DECISION, side.id) for side in sides)
    return f"nothing is in its place until a person has chosen between {names}"


def by_way_of(between: Iterable[Decision]) -> str:
    """Name what was in a decision's place for a time; "" for nothing."""
    names = " and ".join(f"{short_id(Kind.DECISION, d.id)} “{quote(brief(d.decision, 60))}”" for d in between)
    return f", by way of {names}" if names else ""


def ended_note(successor: Decision) -> str:
    """Say that what came in a decision's place has ended as well; "" where it is active."""
    short = short_id(Kind.DECISION, successor.id)
    return f"nothing; {short}, which followed, was {successor.status.value}" if successor.status.ended else ""


def called(local_id: str, entity: Decision | Thread) -> str:
    """Return what an archive calls an entity and what the registry does, once where both are one."""
    short = short_id(entity.kind, entity.id)
    return short if is_short(local_id) else f"{local_id} {short}"


def since(decision: Decision, at: Instant | None) -> str:
    """Return from when on and why a decision is out of force, as far as either is known."""
    day = f" since {format_date(at)}" if at is not None else ""
    return day + (f": {quote(decision.ending)}" if decision.ending else "")


def all_opposed(registry: Registry, mine: set[EntityId], findings: Findings) -> Iterable[ListedConflict]:
    """Yield the open verdicts and findings that a side of `mine` is in."""
    for conflict in open_conflicts(registry):
        a, b = (registry.find(Decision, side) for side in conflict.sides)
        if a is not None and b is not None and mine & {a.id, b.id}:
            yield ListedConflict(conflict, conflict.status.value, (a, b))
    shown = [*((f, None) for f in findings.contested), *((f, lost) for lost, f in findings.yields.items())]
    for finding, loser in sorted(shown, key=lambda item: item[0].id):
        if mine & {*finding.sides}:
            yield finding.listed(loser)


DecisionsWithWords = Callable[[Iterable[str], EntityId, int], Mapping[str, Sequence[EntityId]]]
"""Returns the decisions of other projects that have each of some words, as of the catalogue."""


def cross_project(
    registry: Registry,
    project: EntityId,
    own: Iterable[Thread | Decision],
    similarities: Mapping[tuple[EntityId, EntityId], float],
    decisions_with_words: DecisionsWithWords,
    most: int | None = None,
) -> tuple[tuple[CrossProject, ...], int]:
    """Return each decision of another project under what it shares most words with, or is closest to.

    Args:
        project: whose decisions are left out.
        own: the threads and decisions that the others may bear on.
        similarities: (own thread or decision, foreign decision) -> cosine, of those that are close.
        decisions_with_words: finds those that share words; a word that very many have is no sign.
        most: how many to return; all where None.

    Returns: the most telling first, and how many there are in all.
    """
    close: dict[EntityId, dict[EntityId, float]] = defaultdict(dict)
    for (ours, theirs), similarity in similarities.items():
        close[ours][theirs] = similarity
    telling = [(mine, words(mine.title)) for mine in own]
    known = decisions_with_words({word for _, found in telling for word in found}, project, _COMMON)
    made = {d.id: d.created_at for d in registry.active_decisions() if not d.speculative}
    for decision in registry.active_decisions(project):
        made.pop(decision.id, None)
    best: dict[EntityId, tuple[int, float, Thread | Decision, tuple[str, ...]]] = {}
    for mine, mine_words in telling:
        common: dict[EntityId, list[str]] = defaultdict(list)
        for word in mine_words:
            for key in known.get(word, ()):
                common[key].append(word)
        least = needed(mine_words)
        enough = {key: tuple(shared) for key, shared in common.items() if len(shared) >= least}
        near = close[mine.id]
        for key in dict.fromkeys((*enough, *near)):
            score = len(enough.get(key, ())), near.get(key, 0.0)
            if key in made and score > best.get(key, (-1, 0.0))[:2]:
                best[key] = *score, mine, enough.get(key, ())
    first = sorted(best, key=lambda key: (-best[key][0], -best[key][1], -made[key], key))[:most]
    found = []
    for decision in registry.in_order(Decision, first):
        _, cosine, mine, shared = best[decision.id]
        found.append(CrossProject(decision=decision, bears_on=mine, words=shared, cosine=cosine or None))
    return tuple(found), len(best)


def _edges(registry: Registry, project: EntityId, archive: Archive | None) -> list[Lineage]:
    if archive is not None:
        hops = trace(registry, archive.conversation_id, Direction.BOTH)
        return [hop.edge for hop in hops]
    return [edge for edge in registry.lineage if edge.project_uuid == project]


def titles(registry: Registry, edges: Iterable[Lineage]) -> Mapping[EntityId, str]:
    """Return the titles of the conversations that edges join."""
    ends = {e for edge in edges for e in (edge.source_conversation_id, edge.target_conversation_id)}
    found = {end: registry.get(end) for end in ends}
    return {
        end: conversation.title if isinstance(conversation, Conversation) else end
        for end, conversation in found.items()
    }
