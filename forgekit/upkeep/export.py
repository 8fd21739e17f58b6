"""The registry in other formats; each entry of `FORMATS` is one function in this module.

The same registry and findings give the same bytes in every format, so an export can be compared and kept.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from textwrap import indent
from typing import NamedTuple

from forgekit.conflict.pairs import NOTHING, Finding, Findings
from forgekit.console import visible
from forgekit.errors import UsageError
from forgekit.ids import EntityId, is_id
from forgekit.insight.staleness import blocked_from_carrying, open_conflicts, projects_of
from forgekit.insight.views import Derived, listed_conflict_view
from forgekit.merge.conflicting_edits import unsettled
from forgekit.model.entities import (
    Conflict,
    Convention,
    ConventionStatus,
    Conversation,
    Decision,
    Entity,
    Note,
    Thread,
    flagged,
)
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.model.rules import added_sections, one_line, section
from forgekit.text.blocks import HIDDEN, quote
from forgekit.text.exports import COLUMNS, COMMENT, SCHEMA
from forgekit.times import format_date

MERMAID_NODES = 100
MERMAID_EDGES = 280
"""Older renderers draw no more."""


def export(
    registry: Registry, form: str, project: EntityId | None = None, findings: Findings = NOTHING
) -> str:
    """Return the registry, or one project of it, in a format, control characters escaped.

    Args:
        registry: all entities; derived values are derived from all of them.
        project: only its entities, and the conflicts of its decisions.
        findings: shown beside the verdicts by JSON, Markdown and HTML.

    Raises UsageError for an unknown format.
    """
    if form not in FORMATS:
        raise UsageError(f"no format {form!r}; use one of {', '.join(FORMATS)}")
    chosen = [entity for entity in registry if project is None or project in projects_of(registry, entity)]

    def kept(some: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return tuple(f for f in some if project in (None, f.a.project_uuid, f.b.project_uuid))

    findings = replace(findings, conflicts=kept(findings.conflicts), possible=kept(findings.possible))
    return visible(FORMATS[form](registry, chosen, findings))


def _json(registry: Registry, chosen: Sequence[Entity], findings: Findings) -> str:
    derived = Derived(registry)
    groups: dict[str, list[dict[str, object]]] = {kind.value: [] for kind in Kind}
    for entity in chosen:
        groups[entity.kind.value].append(derived.view(entity, body=True))
    found = [listed_conflict_view(derived, one.listed(loser)) for one, loser in findings.with_losers()]
    return json.dumps({"schema": SCHEMA, **groups, "findings": found}, indent=2) + "\n"


def _jsonl(registry: Registry, chosen: Sequence[Entity], _: Findings) -> str:
    derived = Derived(registry)
    views = ({"schema": SCHEMA, **derived.view(entity, body=True)} for entity in chosen)
    return "".join(json.dumps(view, separators=(",", ":")) + "\n" for view in views)


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _csv(registry: Registry, chosen: Sequence[Entity], _: Findings) -> str:
    derived = Derived(registry)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    derived_too = ("hops_since_validated", "text", "context", "path")
    columns = (*COLUMNS, *flagged("csv"), *derived_too)
    writer.writerow(columns)
    for entity in chosen:
        view = derived.view(entity)
        text = view.get("rationale") or view.get("content") or view.get("bridge_summary") or ""
        text = "\n\n".join(filter(None, (text, *_added(entity))))
        view |= {"id": entity.id, "title": entity.title, "text": text}
        writer.writerow([_cell(view.get(name)) for name in columns])
    return out.getvalue()


def _cell(value: object) -> str:
    """Return a cell that no spreadsheet reads as a formula."""
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, list):
        items = [str(item) for item in value]
        text = ("\n" if any("," in item for item in items) else ", ").join(items)
    return f"'{text}" if text.startswith(_FORMULA) else text


class _Item(NamedTuple):
    """One line of a document: `dec_... (tier 0.8, 2026-01-01)`, its text, and remarks on it."""

    head: str
    text: str
    remarks: tuple[str, ...] = ()
    disputed: bool = False


_PARTS = {
    (Kind.DECISION, False): "Decisions in force",
    (Kind.THREAD, False): "Open threads",
    (Kind.DECISION, True): "Decisions out of force",
    (Kind.THREAD, True): "Threads that ended",
    (Kind.CONVENTION, False): "Conventions",
    (Kind.NOTE, False): "Notes",
}
_Parts = list[tuple[str, list[_Item]]]


def _outline(registry: Registry, chosen: Sequence[Entity], findings: Findings) -> list[tuple[str, _Parts]]:
    """Return the chapters of a document: a project's parts, and the conflicts last."""
    opposed = blocked_from_carrying(registry, findings)
    chapters = []
    for name in sorted({getattr(e, "project_name", "") for e in chosen if e.kind is not Kind.CONFLICT}):
        parts: dict[str, list[_Item]] = {title: [] for title in _PARTS.values()}
        for entity in chosen:
            item = _item(entity, opposed) if getattr(entity, "project_name", None) == name else None
            if item is not None:
                ended = isinstance(entity, (Decision, Thread)) and entity.status.ended
                parts[_PARTS[entity.kind, ended]].append(item)
        chapters.append((name, [(title, items) for title, items in parts.items() if items]))
    conflicts = [
        _opposed(e.id, e.status.value, e.sides, "", e.nature) for e in chosen if isinstance(e, Conflict)
    ]
    for finding, loser in findings.with_losers():
        remark = f"; {short_id(Kind.DECISION, loser)} yields to the higher tier" if loser is not None else ""
        conflicts.append(_opposed(finding.id, finding.level.state, finding.sides, remark, ""))
    return [*chapters, ("Conflicts", [("", conflicts)])] if conflicts else chapters


def _item(entity: Entity, opposed: Collection[EntityId]) -> _Item | None:
    """Return the line of an entity that a document has."""
    match entity:
        case Decision():
            return _decision(entity, opposed)
        case Thread():
            return _thread(entity)
        case Convention(status=ConventionStatus.ACTIVE):
            return _Item(f"{short_id(entity.kind, entity.id)} ({entity.form.value})", entity.convention)
        case Note():
            head = f"{short_id(entity.kind, entity.id)} ({format_date(entity.created_at)})"
            return _Item(head, entity.title, (entity.text,))
    return None


def _decision(decision: Decision, opposed: Collection[EntityId]) -> _Item:
    state = "" if not decision.status.ended else f", {decision.status.value}"
    if decision.superseded_by:
        state += f" by {short_id(Kind.DECISION, decision.superseded_by)}"
    about = f"tier {decision.tier_words}, {format_date(decision.created_at)}{state}"
    ending = f"{decision.status.value}: {decision.ending}" if decision.ending else ""
    remarks = (
        decision.rationale,
        ending,
        _named("Context", [decision.context]),
        _named("Rejected", decision.alternatives_rejected),
        _named("Governs", decision.governs),
        _named("Builds on", (short_id(Kind.DECISION, base) for base in decision.dependencies)),
        *_added(decision),
    )
    head = f"{short_id(decision.kind, decision.id)} ({about}){unsettled(decision)}"
    return _Item(head, decision.decision, tuple(filter(None, remarks)), decision.id in opposed)


def _named(name: str, items: Iterable[str]) -> str:
    """Return a remark that holds the values of a field, or "" where it has none."""
    text = "; ".join(filter(None, items))
    return f"{name}: {text}" if text else ""


def _thread(thread: Thread) -> _Item:
    ended = thread.status.ended
    state = f"{thread.status.value}, " if ended else ""
    about = f"{state}{thread.priority.value}, {format_date(thread.updated_at)}"
    head = f"{short_id(thread.kind, thread.id)} ({about}){unsettled(thread)}"
    blockers = (short_id(Kind.THREAD, EntityId(each)) if is_id(each) else each for each in thread.blocked_by)
    remarks = (_named("Waits for", blockers), thread.resolution if ended else "", *_added(thread))
    return _Item(head, thread.title, tuple(filter(None, remarks)))


def _added(entity: Entity) -> list[str]:
    """Return the sections of a decision or thread that no field holds: `heading: text`."""
    if not isinstance(entity, (Decision, Thread)):
        return []
    ending = entity.status.value.capitalize() if isinstance(entity, Decision) else ""
    own = [text] if isinstance(entity, Decision) and (text := section(entity.body, None)) else []
    return [*own, *(f"{name}: {text}" for name, text in added_sections(entity.body, ending).items())]


def _opposed(name: EntityId, state: str, sides: Iterable[EntityId], remark: str, text: str) -> _Item:
    a, b = (short_id(Kind.DECISION, side) for side in sides)
    return _Item(f"{short_id(Kind.CONFLICT, name)} [{state}] {a} and {b}{remark}", text)


def _markdown(registry: Registry, chosen: Sequence[Entity], findings: Findings) -> str:
    lines = [COMMENT, "# Registry"]
    for name, parts in _outline(registry, chosen, findings):
        lines += ["", f"## {quote(name)}"]
        for title, items in parts:
            lines += ["", f"### {title}", ""] if title else [""]
            for item in items:
                mark = " **in an open conflict**" if item.disputed else ""
                remarks = "".join(map(_remark, item.remarks))
                text = f": {quote(item.text)}" if item.text else ""
                lines.append(f"- {item.head}{text}{mark}{remarks}")
    return "\n".join(lines) + "\n"


def _remark(text: str) -> str:
    """Return a remark behind its line, one of several lines below it as a part of the item."""
    return f" — {quote(text)}" if "\n" not in text else f"\n\n{indent(_text(text), '  ')}\n"


def _text(text: str) -> str:
    """Return a text as Markdown that opens no heading of the document, and holds no tag and no script."""
    parts = _FENCED.split(re.sub(HIDDEN, "", text))
    parts[::2] = (_SCRIPT.sub(r"\1&#58;", _TAG.sub("&lt;", _HEADING.sub(r"\1\\\2", p))) for p in parts[::2])
    return "".join(parts)


_FENCED = re.compile(r"(^```[^\n]*\n.*?^```[ \t]*$)", re.MULTILINE | re.DOTALL)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SCRIPT = re.compile(r"\b(javascript|vbscript|data):", re.IGNORECASE)
_HEADING = re.compile(r"^( {0,3})(#{1,6}(?=\s|$)|<!--|-{3,}\s*$|={3,}\s*$)", re.MULTILINE)
_STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
li { margin: .6rem 0 } small { color: #666; display: block } b { color: #a00 }
p { margin: .2rem 0; white-space: pre-line }
"""


def _html(registry: Registry, chosen: Sequence[Entity], findings: Findings) -> str:
    """Write one page that needs no other file and runs no script."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    lines = [
        f'<!DOCTYPE html>\n{COMMENT}\n<html lang="en">\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Registry</title>\n<style>{_STYLE}</style>\n<h1>Registry</h1>",
    ]
    for name, parts in _outline(registry, chosen, findings):
        lines.append(f"<h2>{_escaped(name)}</h2>")
        for title, items in parts:
            lines += [f"<h3>{title}</h3>"] if title else []
            lines.append("<ul>")
            for item in items:
                mark = " <b>in an open conflict</b>" if item.disputed else ""
                remarks = "".join(f"<p>{html.escape(re.sub(HIDDEN, '', text))}</p>" for text in item.remarks)
                lines.append(
                    f'<li id="{item.head[:16]}">{_escaped(item.text)}{mark}'
                    f"<small>{_escaped(item.head)}</small>{remarks}</li>"
                )
            lines.append("</ul>")
    return "\n".join([*lines, "</html>"]) + "\n"


def _escaped(text: str) -> str:
    return html.escape(re.sub(HIDDEN, "", one_line(text)))


def _madr(registry: Registry, chosen: Sequence[Entity], _: Findings) -> str:
    """Write each decision as a MADR 4 record; a comment before it names a file for it."""
    decisions = [entity for entity in chosen if isinstance(entity, Decision)]
    disputes = defaultdict(list)
    for conflict in open_conflicts(registry):
        for side in conflict.sides:
            disputes[side].append(f"In an open conflict, {short_id(conflict.kind, conflict.id)}")
    return "\n".join(
        _madr_record(number, decision, disputes[decision.id]) for number, decision in enumerate(decisions, 1)
    )


def _madr_record(number: int, decision: Decision, disputes: Iterable[str]) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", decision.decision.casefold()).strip("-")[:60] or "decision"
    states = {"active": "accepted", "revised": "superseded", "invalidated": "rejected"}
    status = states.get(decision.status.value, decision.status.value)
    if decision.superseded_by:
        status += f" by {short_id(Kind.DECISION, decision.superseded_by)}"
    name, chosen = short_id(decision.kind, decision.id), _text(decision.decision)
    why = decision.rationale
    because = f".\n\n{_text(why)}" if "\n" in why else f", because {_text(why)}" if why else ""
    options = [chosen, *map(_text, decision.alternatives_rejected)]
    lines = [
        f"<!-- {number:04}-{slug}.md -->",
        f'---\nstatus: "{status}"\ndate: {format_date(decision.created_at)}\n---\n',
        f"# {chosen}\n",
        f"## Context and Problem Statement\n\n{_text(decision.context) or '(not recorded)'}\n",
        "## Considered Options\n\n" + "\n".join(f"* {option}" for option in options) + "\n",
        f'## Decision Outcome\n\nChosen option: "{chosen}"{because}\n',
        f"## More Information\n\n{name} of {quote(decision.project_name)}, tier {decision.tier_words}"
        + unsettled(decision),
        *(f"\n{_text(text)}" for text in (*disputes, *_added(decision))),
    ]
    return "\n".join(lines) + "\n"


def _mermaid(registry: Registry, chosen: Sequence[Entity], _: Findings) -> str:
    """Draw lineage and supersession; only the newest arrows where there are too many for a chart."""
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


_MERMAID = str.maketrans({"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "'"})


def _quoted(text: str) -> str:
    """Return a label that cannot end its quotes, open a tag or be read as an entity."""
    line = re.sub(HIDDEN, "", one_line(text))
    line = line if len(line) <= 60 else line[:59] + "…"
    return line.translate(_MERMAID)


FORMATS: dict[str, Callable[[Registry, Sequence[Entity], Findings], str]] = {
    "json": _json,  # one document, a list per kind
    "jsonl": _jsonl,  # one entity a line
    "csv": _csv,  # one entity a line, the columns that most kinds have
    "markdown": _markdown,  # a document to read
    "html": _html,  # the same as one page for a browser
    "madr": _madr,  # decisions as Markdown Any Decision Records
    "mermaid": _mermaid,  # lineage and supersession as a chart
}
"""Each format of `forgekit export`: its name, and what writes the chosen entities of a registry."""
