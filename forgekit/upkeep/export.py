"""The registry in other people's formats: JSON, JSON lines, CSV, Markdown, Mermaid.

Every format says the same of the same registry, byte for byte, so an export can be compared and kept.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from enum import Enum

from forgekit.conflict.finding import NOTHING, Finding, Findings
from forgekit.conflict.judge import Level
from forgekit.ids import EntityId
from forgekit.insight.staleness import blocked_from_carrying
from forgekit.insight.views import Derived, listed_conflict_view
from forgekit.model.body import section
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity
from forgekit.model.fields import csv_columns
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import one_line
from forgekit.model.thread import Thread
from forgekit.text.blocks import quote
from forgekit.times import format_date

MERMAID_NODES = 100
MERMAID_EDGES = 280
"""Older renderers stop there."""


class Format(Enum):
    """What an export is written in."""

    JSON = "json"  # one document, a list per kind
    JSONL = "jsonl"  # one entity a line
    CSV = "csv"  # one entity a line, the columns that most of them have
    MARKDOWN = "markdown"  # a document to read
    MERMAID = "mermaid"  # lineage and supersession as a chart


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(
    registry: Registry, form: Format, project: EntityId | None = None, findings: Findings = NOTHING
) -> str:
    """Return the registry, or one project of it, in a format.

    Args:
        registry: all entities; what is derived is derived from all of them.
        form: the format.
        project: only its entities, and the conflicts that touch it.
        findings: shown beside the verdicts by JSON and Markdown.
    """
    chosen = [entity for entity in registry if project is None or _belongs(registry, entity, project)]
    match form:
        case Format.JSON:
            return _json(registry, chosen, _of(findings, project))
        case Format.JSONL:
            derived = Derived(registry)
            return "".join(f"{_compact(derived.view(entity, body=True))}\n" for entity in chosen)
        case Format.CSV:
            return _csv(registry, chosen)
        case Format.MARKDOWN:
            return _markdown(registry, chosen, _of(findings, project))
        case Format.MERMAID:
            return _mermaid(registry, chosen)


def _of(findings: Findings, project: EntityId | None) -> Findings:
    def kept(some: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return tuple(f for f in some if project in (None, f.a.project_uuid, f.b.project_uuid))

    return replace(findings, conflicts=kept(findings.conflicts), possible=kept(findings.possible))


def _belongs(registry: Registry, entity: Entity, project: EntityId) -> bool:
    if not isinstance(entity, Conflict):
        return entity.project_uuid == project
    sides = (registry.get(entity.decision_a), registry.get(entity.decision_b))
    return any(isinstance(side, Decision) and side.project_uuid == project for side in sides)


def _json(registry: Registry, chosen: Iterable[Entity], findings: Findings) -> str:
    derived = Derived(registry)
    groups: dict[str, list[dict[str, object]]] = {kind.value: [] for kind in Kind}
    for entity in chosen:
        groups[entity.kind.value].append(derived.view(entity, body=True))
    found = [
        listed_conflict_view(derived, finding.verdict(), "found", (finding.a, finding.b), finding, loser)
        for finding, loser in findings.with_losers()
    ]
    return json.dumps({"schema": "forgekit/registry@1", **groups, "findings": found}, indent=2) + "\n"


def _compact(view: dict[str, object]) -> str:
    return json.dumps(view, separators=(",", ":"))


def _csv(registry: Registry, chosen: Iterable[Entity]) -> str:
    derived = Derived(registry)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = ("kind", "short_id", "id", "title", *csv_columns(), "hops_since_validated", "text", "path")
    writer.writerow(columns)
    for entity in chosen:
        view = derived.view(entity)
        text = view.get("rationale") or view.get("content") or view.get("bridge_summary") or ""
        view |= {"id": entity.id, "title": entity.title, "text": text}
        writer.writerow([_cell(view.get(name)) for name in columns])
    return out.getvalue()


def _cell(value: object) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _markdown(registry: Registry, chosen: list[Entity], findings: Findings) -> str:
    opposed = blocked_from_carrying(registry, findings)
    lines = ["# Registry"]
    for name in sorted({getattr(e, "project_name", "") for e in chosen if e.kind is not Kind.CONFLICT}):
        own = [e for e in chosen if getattr(e, "project_name", None) == name]
        decisions = [e for e in own if isinstance(e, Decision)]
        threads = [e for e in own if isinstance(e, Thread)]
        lines += ["", f"## {quote(name)}"]
        lines += _part("Decisions in force", (_decision(d, opposed) for d in decisions if not d.status.ended))
        lines += _part("Open threads", (_thread(t) for t in threads if not t.status.ended))
        lines += _part("Decisions out of force", (_decision(d, opposed) for d in decisions if d.status.ended))
        lines += _part("Threads that ended", (_thread(t) for t in threads if t.status.ended))
    conflicts = (
        f"- {short_id(c.kind, c.id)} [{c.status.value}] {short_id(Kind.DECISION, c.decision_a)} and "
        f"{short_id(Kind.DECISION, c.decision_b)}: {quote(c.nature)}"
        for c in registry.conflicts
        if c in chosen
    )
    found = list(conflicts)
    for finding, loser in findings.with_losers():
        a, b = (short_id(Kind.DECISION, side) for side in finding.sides)
        mark = f"; {short_id(Kind.DECISION, loser)} yields to the higher tier" if loser is not None else ""
        level = "found" if finding.level is Level.CONFLICT else "possible"
        found.append(f"- {short_id(Kind.CONFLICT, finding.id)} [{level}] {a} and {b}{mark}")
    if found:
        lines += ["", "## Conflicts", "", *found]
    return "\n".join(lines) + "\n"


def _part(title: str, items: Iterable[str]) -> Iterator[str]:
    found = list(items)
    if found:
        yield from ("", f"### {title}", "", *found)


def _decision(decision: Decision, opposed: Collection[EntityId]) -> str:
    state = "" if not decision.status.ended else f", {decision.status.value}"
    if decision.superseded_by:
        state += f" by {short_id(Kind.DECISION, decision.superseded_by)}"
    mark = " **in an open conflict**" if decision.id in opposed else ""
    why = f" — {quote(decision.rationale)}" if decision.rationale else ""
    end = f" — {decision.status.value}: {quote(decision.ending)}" if decision.ending else ""
    date = format_date(decision.created_at)
    name = short_id(decision.kind, decision.id)
    return f"- {name} (tier {decision.tier_words}, {date}{state}): {quote(decision.decision)}{mark}{why}{end}"


def _thread(thread: Thread) -> str:
    how = section(thread.body, "Resolution")
    end = f" — {quote(how)}" if thread.status.ended and how else ""
    state = f"{thread.status.value}, " if thread.status.ended else ""
    about = f"{state}{thread.priority.value}, {format_date(thread.updated_at)}"
    return f"- {short_id(thread.kind, thread.id)} ({about}): {quote(thread.title)}{end}"


def _mermaid(registry: Registry, chosen: list[Entity]) -> str:
    """Draw what continues what and what replaced what; the newest, where there is too much for a chart."""
    kept = {e.id for e in chosen}
    arrows = [
        (edge.source_conversation_id, edge.target_conversation_id, edge.title)
        for edge in registry.lineage
        if edge.id in kept
    ]
    arrows += [
        (decision.id, decision.superseded_by, decision.status.value)
        for decision in registry.decisions
        if decision.superseded_by and decision.id in kept
    ]
    arrows.sort(key=lambda arrow: (arrow[1], arrow[0]), reverse=True)
    nodes: set[EntityId] = set()
    drawn: list[tuple[EntityId, EntityId, str]] = []
    for arrow in arrows:
        if len(drawn) < MERMAID_EDGES and len(nodes | set(arrow[:2])) <= MERMAID_NODES:
            nodes.update(arrow[:2])
            drawn.append(arrow)
    lines = ["flowchart LR"]
    if len(drawn) < len(arrows):
        lines.append(f"    %% the newest {len(drawn)} of {len(arrows)} arrows")
    lines += [f'    {_node(registry, node)}["{_label(registry, node)}"]' for node in sorted(nodes)]
    lines += [
        f'    {_node(registry, a)} -->|"{_quoted(label)}"| {_node(registry, b)}'
        for a, b, label in sorted(drawn)
    ]
    return "\n".join(lines) + "\n"


def _node(registry: Registry, entity: EntityId) -> str:
    found = registry.get(entity)
    return short_id(found.kind if found else Kind.CONVERSATION, entity)


def _label(registry: Registry, entity: EntityId) -> str:
    found = registry.get(entity)
    if found is None:
        return f"{entity[-12:]} (not in the registry)"
    date = f" ({format_date(found.created_at)})" if isinstance(found, Conversation) else ""
    return _quoted(found.title) + date


def _quoted(text: str) -> str:
    """Return a label that cannot end its quotes, open a tag or be read as an entity."""
    line = one_line(text)
    line = line if len(line) <= 60 else line[:59] + "…"
    for mark, name in (
        ("#", "#35;"),
        ("&", "#amp;"),
        ('"', "#quot;"),
        ("<", "#lt;"),
        (">", "#gt;"),
        ("`", "'"),
    ):
        line = line.replace(mark, name)
    return line
