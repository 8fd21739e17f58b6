"""A registry on one screen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from forgekit.findings import findings_of
from forgekit.forge import Forge
from forgekit.history import uncommitted
from forgekit.insight.staleness import conflict_state, needs_revalidation, open_conflicts, stale
from forgekit.insight.views import project_counts
from forgekit.model.entities import CandidateStatus, Thread
from forgekit.model.kinds import Kind
from forgekit.model.registry import Registry
from forgekit.threads import active

Counts = tuple[tuple[str, int], ...]
"""(name, number) pairs in the order in which they are shown."""

_NAMED = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectLine:
    """One project: what is in force and what waits; `candidates` are those that wait for a review."""

    name: str
    decisions: int
    threads: int
    conversations: int
    candidates: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """Where a registry stands.

    Attributes:
        kinds: entities of each kind.
        decisions, conflicts: by status; those of none are left out. An open verdict may be moot, and a
            finding is `found` or `possible`.
        threads: open ones by priority.
        next_threads: the most important open ones.
        stale, active: active decisions, and the stale ones among them.
        revalidate: active decisions that rest on one out of force.
        candidates: that wait for a review.
        uncommitted: paths with uncommitted changes.
        unreadable: paths of files that hold no entity.
        model: the embedding model, or "".
        vectors, texts: entities that are indexed by meaning, of those that can be.
        judge: who judges conflicts.
        judge_wanted: who shall, by the settings.
        judge_missing: why nobody judges and what to do about it, or "".
        unjudged: pairs of decisions that wait for the judge.
    """

    root: str
    projects: tuple[ProjectLine, ...]
    kinds: Counts
    decisions: Counts
    threads: Counts
    conflicts: Counts
    next_threads: tuple[Thread, ...]
    stale: int
    active: int
    open_conflicts: int
    revalidate: int
    candidates: int
    uncommitted: tuple[str, ...]
    unreadable: tuple[str, ...]
    model: str
    vectors: int
    texts: int
    judge: str
    judge_wanted: str
    judge_missing: str
    unjudged: int


def status(forge: Forge) -> Status:
    """Say where the registry stands."""
    registry = forge.registry()
    opened = active(registry)
    settings = forge.settings
    findings = findings_of(forge, registry, wait_ms=0)
    states = Counter(conflict_state(registry, c) for c in registry.conflicts)
    states.update({"found": len(findings.conflicts), "possible": len(findings.possible)})
    old = stale(
        registry,
        forge.now(),
        days=settings.stale_days,
        hops=settings.stale_hops,
        max_tier=settings.stale_max_tier,
    )
    kinds = Counter(entity.kind for entity in registry)
    vectors = forge.vectors.status() if forge.vectors else None
    return Status(
        root=str(forge.root),
        projects=_projects(forge, registry),
        kinds=tuple((kind.value, kinds[kind]) for kind in Kind),
        decisions=_counts(Counter(d.status.value for d in registry.decisions)),
        threads=_counts(Counter(t.priority.value for t in opened), ("high", "medium", "low")),
        conflicts=_counts(states),
        next_threads=tuple(opened[:_NAMED]),
        stale=len(old),
        active=old.active,
        open_conflicts=len(open_conflicts(registry)),
        revalidate=len({item.decision.id for item in needs_revalidation(registry)}),
        candidates=len(_waiting(forge)),
        uncommitted=tuple(uncommitted(forge)),
        unreadable=tuple(dict.fromkeys(problem.path for problem in registry.problems)),
        model=vectors.model if vectors else "",
        vectors=vectors.count if vectors else 0,
        texts=len(forge.catalogue.contents()),
        judge="none" if findings.missing else settings.judge.value,
        judge_wanted=settings.judge.value,
        judge_missing=findings.missing,
        unjudged=findings.unjudged,
    )


def _counts(counter: Counter[str], names: tuple[str, ...] = ()) -> Counts:
    return tuple((name, counter[name]) for name in names or sorted(counter) if counter[name])


def _waiting(forge: Forge, project: str | None = None) -> set[str]:
    status = CandidateStatus.WAITING.value
    return forge.catalogue.matching(kinds=(Kind.CANDIDATE,), status=status, project=project)


def _projects(forge: Forge, registry: Registry) -> tuple[ProjectLine, ...]:
    counts = project_counts(registry, (project.id for project in registry.projects))
    return tuple(
        ProjectLine(
            name=project.project_name,
            decisions=counts[project.id]["active_decisions"],
            threads=counts[project.id]["open_threads"],
            conversations=counts[project.id]["conversations"],
            candidates=len(_waiting(forge, project.id)),
        )
        for project in sorted(registry.projects, key=lambda p: p.project_name)
    )
