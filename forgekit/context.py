"""Context for a question: threads, decisions and conversations that bear on it, within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from forgekit.findings import BLOCK_WAIT_MS, findings_of
from forgekit.forge import Forge, opened, reading
from forgekit.ids import EntityId
from forgekit.index.catalogue import Hit
from forgekit.insight.budget import BlockPart, BlockRow, lay_out
from forgekit.insight.staleness import blocked_from_carrying
from forgekit.insight.views import Derived
from forgekit.model.entities import Decision, Thread
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.search import SearchResult, search
from forgekit.text.blocks import NOTICE, brief, quote
from forgekit.text.words import tokens
from forgekit.times import format_date

HITS = 12
"""Entities of one kind that a context considers."""
ECHO = 200
"""Characters of a query that are shown, a quarter of the budget at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What bears on a query: as a block, and as JSON values."""

    text: str
    data: dict[str, object]


@reading
def load(
    forge: Forge,
    query: str,
    *,
    project: str | None = None,
    cross_project: bool = False,
    budget: int | None = None,
    include_threads: bool = True,
    include_decisions: bool = True,
) -> Context:
    """Gather what bears on a query.

    Args:
        forge: the registry.
        query: words.
        project: its name, else the default or only one, else all.
        cross_project: whether other projects are searched too.
        budget: tokens, else as the settings say.
        include_threads: whether open and ended threads come along.
        include_decisions: whether decisions come along.

    Raises UsageError for a budget that does not hold the headings.
    """
    registry = forge.registry()
    own = None if cross_project and project is None else forge.project(project, registry, required=False)
    if project is not None:
        own = forge.known_project(project, registry).project_name
    everywhere = cross_project or own is None

    answers: list[SearchResult] = []

    def find(kind: Kind, status: str | None) -> list[Hit]:
        where = None if everywhere else own
        answer = search(forge, query, kinds=(kind,), status=status, project=where, limit=2 * HITS)
        answers.append(answer)
        hits = [scored.hit for scored in answer.hits]
        return sorted(hits, key=lambda hit: hit.project != own)[:HITS] if own else hits[:HITS]

    decisions = find(Kind.DECISION, "active") if include_decisions else []
    threads = find(Kind.THREAD, None) if include_threads else []
    conversations = find(Kind.CONVERSATION, None)
    parts = [
        _part("Decisions", _decisions(forge, registry, decisions), 1),
        _part("Threads", _threads(registry, threads), 2),
        _part("Conversations", _conversations(conversations), 3),
    ]
    room = budget if budget is not None else forge.settings.budget
    opening = f"## Context: {_echo(quote(query), min(ECHO, room // 4))}\n\n{NOTICE}"
    laid = lay_out(opening, parts, "(end of context)", budget=room, cost=tokens)
    derived = Derived(registry)
    views = [
        [derived.view(entity) for hit in hits if (entity := registry.get(hit.id)) is not None]
        for hits in (decisions, threads, conversations)
    ]
    data: dict[str, object] = {
        "query": query,
        "project": own,
        "cross_project": cross_project,
        "mode": answers[-1].mode.value,
        "notice": answers[-1].notice,
        "decisions": views[0],
        "threads": views[1],
        "conversations": views[2],
        "cut": [laid.cut] if laid.cut else [],
        "context_text": laid.text,
    }
    return Context(text=laid.text, data=data)


def _part(title: str, rows: Sequence[tuple[str, ...]], rank: int) -> BlockPart:
    """Return a section of rows, each in ever fewer words."""
    return BlockPart(title=title, rows=[BlockRow(row) for row in rows], total=len(rows), rank=rank)


def _echo(text: str, length: int) -> str:
    """Return a query cut at any character: it may be one long word."""
    return text if len(text) <= length else f"{text[: max(length - 1, 0)]}…"


def _decisions(forge: Forge, registry: Registry, hits: Sequence[Hit]) -> list[tuple[str, ...]]:
    findings = findings_of(forge, registry, {hit.id for hit in hits}, wait_ms=BLOCK_WAIT_MS)
    blocked = blocked_from_carrying(registry, findings)
    lines: list[tuple[str, ...]] = []
    for hit in hits:
        found = registry.get(hit.id)
        if isinstance(found, Decision):
            why = f" — {quote(found.rationale[:300])}" if found.rationale else ""
            conflict = (
                " [YIELDS TO A HIGHER TIER]" if found.id in findings.yields else " [IN AN OPEN CONFLICT]"
            )
            mark = conflict if found.id in blocked else ""
            head = (
                f"- {hit.short} (tier {found.tier_words}, {quote(found.project_name)}, "
                f"{_origin(found.local_id, found.originated_in)}): "
            )
            text, short = quote(found.decision), quote(brief(found.decision, 60))
            lines.append((f"{head}{text}{mark}{why}", f"{head}{text}{mark}", f"{head}{short}{mark}"))
    return lines


def _threads(registry: Registry, hits: Iterable[Hit]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for hit in hits:
        found = registry.get(hit.id)
        if isinstance(found, Thread):
            end = f": {quote(found.resolution)}" if found.status.ended and found.resolution else ""
            line = (
                f"- {hit.short} ({quote(found.project_name)}, "
                f"{_origin(found.local_id, found.first_seen_in)}): {quote(found.title)} "
                f"[{found.status.value.upper()} {format_date(found.updated_at)}]"
            )
            lines.append((f"{line}{end}", line))
    return lines


def _conversations(hits: Iterable[Hit]) -> list[tuple[str, ...]]:
    return [(f"- {hit.short} ({quote(hit.project or '')}): {quote(hit.title)}",) for hit in hits]


def _origin(local_id: str | None, conversation: EntityId | None) -> str:
    where = short_id(Kind.CONVERSATION, conversation) if conversation else "no conversation"
    return f"{local_id} of {where}" if local_id else where


def context_load(
    query: str,
    project_name: str | None = None,
    include_threads: bool = True,
    include_decisions: bool = True,
    cross_project: bool = False,
    *,
    budget: int | None = None,
    forge: Forge | None = None,
) -> dict[str, object]:
    """Return what bears on a query: `context_text` and the entities behind it.

    Args:
        query: words.
        project_name: its name, else the default or only one, else all.
        include_threads: whether threads come along.
        include_decisions: whether decisions come along.
        cross_project: whether other projects are searched too.
        budget: tokens, else as the settings say.
        forge: the registry, else that of the working directory.
    """
    return load(
        opened(forge),
        query,
        project=project_name,
        cross_project=cross_project,
        budget=budget,
        include_threads=include_threads,
        include_decisions=include_decisions,
    ).data
