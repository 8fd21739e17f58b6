"""What entities and results of operations look like as JSON values: the only place that defines it.

A view of an entity has every field that is stored and what is computed from the registry. Every key is
always there: `None` where nothing is known, an empty list where there is none. Times are ISO 8601 text.

The functions below `Derived` are the views that `forgekit.operations` names. Results belong to rooms above
this one, so they are taken as they are (`Any`). A view of an operation that writes also takes `dry_run`:
what was asked for, which an outcome that changed nothing does not say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from forgekit.ids import EntityId
from forgekit.model import entities as kinds
from forgekit.model.entities import COMPRESSION, FIELDS, Decision, Entity, Lineage, Thread, entity_path
from forgekit.model.fields import INSTANT, PAIRS, json_fields
from forgekit.model.kinds import Kind, short_id
from forgekit.model.rules import added_sections, section
from forgekit.text.plain import to_plain
from forgekit.times import Instant, format_instant

if TYPE_CHECKING:
    from forgekit.conflict.judge import Judgement
    from forgekit.conflict.pairs import Finding, ListedConflict
    from forgekit.insight.conventions import Life
    from forgekit.insight.staleness import Ages
    from forgekit.merge.conflicting_edits import FieldConflict
    from forgekit.model.graph import Graph
    from forgekit.model.registry import Registry

Json = dict[str, Any]
_Findings = Iterable[tuple["Finding", EntityId | None]]
"""Findings, each with the side that yields in it."""


def _of(item: Any, names: str) -> Json:
    """Return attributes of a result as JSON values under their own names, separated by blanks."""
    return {name: to_plain(getattr(item, name)) for name in names.split()}


def project_counts(registry: Registry, projects: Iterable[EntityId]) -> dict[EntityId, dict[str, int]]:
    """Return how many decisions in force, open threads and conversations each of some projects has."""
    counts = registry.counts()
    return {
        key: {
            "active_decisions": counts[Kind.DECISION, "active", key],
            "open_threads": counts[Kind.THREAD, "open", key],
            "conversations": counts[Kind.CONVERSATION, None, key],
        }
        for key in projects
    }


class Derived:
    """Views of the entities of one registry; indexes are built when first needed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def view(self, entity: Entity, *, body: bool = False) -> Json:
        """Return an entity with every field of its schema.

        Args:
            body: whether an archive's text comes along.
        """
        out: Json = json_fields(FIELDS[entity.kind], entity)
        out.update(self._more(entity, body=body))
        out["kind"] = entity.kind.value
        out["short_id"] = short_id(entity.kind, entity.id)
        out["path"] = entity_path(entity)
        out["extra"] = dict(entity.extra)
        if isinstance(entity, (Decision, Thread)):
            added = {"content": section(entity.body, None), "sections": added_sections(entity.body)}
            out |= {name: value for name, value in added.items() if value}
        return out

    def _more(self, entity: Entity, *, body: bool) -> Json:
        from forgekit.insight.staleness import MOOT, conflict_state

        if isinstance(entity, Decision):
            return self._decision(entity)
        if isinstance(entity, Thread):
            return {
                "content": entity.content,
                "resolution": entity.resolution or None,
                "blocks": list(self._blocked(entity.id)),
            }
        if isinstance(entity, Lineage):
            return _edge(entity)
        if isinstance(entity, kinds.Conversation):
            key = self._same.get(entity.id, entity.id)
            return {
                "content": entity.body,
                "continuation_of": list(self._lineage.before.get(key, ())),
                "continued_by": list(self._lineage.after.get(key, ())),
            }
        if isinstance(entity, kinds.Candidate):
            return {"quote": entity.quote, "rationale": entity.rationale}
        if isinstance(entity, (kinds.Archive, kinds.TranscriptPart)):
            return {"body": entity.body} if body else {}
        if isinstance(entity, kinds.Convention):
            return {"content": entity.body} | life_view(self._lives[entity.id])
        if isinstance(entity, kinds.Note):
            from forgekit.insight.notes import has_essence

            made = ("essence", "essence_of", "essence_by") if not has_essence(entity) else ()
            return {"content": entity.text} | dict.fromkeys(made)
        if isinstance(entity, kinds.Conflict):
            return {"content": entity.body, "moot": conflict_state(self._registry, entity) == MOOT}
        return {"content": entity.body}

    def _decision(self, decision: Decision) -> Json:
        age = self._ages.age(decision)
        return {
            "rationale": decision.rationale,
            "context": decision.context,
            "last_validated": INSTANT.json(age.last_validated),
            "hops_since_validated": age.hops,
            "validation_count": max(len(age.conversations) - 1, 0),
            "dependents": list(self._dependents(decision.id)),
            "conflicts_with": list(self._opposed[decision.id]),
            "scope": self._scopes.get(decision.id, ""),
        }

    @cached_property
    def _scopes(self) -> Mapping[EntityId, str]:
        from forgekit.insight.staleness import scopes

        return scopes(self._registry)

    @cached_property
    def _ages(self) -> Ages:
        from forgekit.insight.staleness import Ages

        return Ages(self._registry)

    @cached_property
    def _lives(self) -> dict[EntityId, Life]:
        from forgekit.insight.conventions import lives

        return lives(self._registry.conventions, self._registry.conversations)

    @cached_property
    def _same(self) -> dict[EntityId, EntityId]:
        from forgekit.model.graph import same_conversations

        return same_conversations(self._registry)

    @cached_property
    def _lineage(self) -> Graph:
        from forgekit.model.graph import lineage_graph

        return lineage_graph(self._registry, self._same)

    @cached_property
    def _dependents(self) -> Callable[[EntityId], Sequence[EntityId]]:
        return self._registry.referring(Decision, "dependencies")

    @cached_property
    def _blocked(self) -> Callable[[EntityId], Sequence[EntityId]]:
        return self._registry.referring(Thread, "blocked_by")

    @cached_property
    def _opposed(self) -> dict[EntityId, list[EntityId]]:
        from forgekit.insight.staleness import open_conflicts

        opposed: dict[EntityId, list[EntityId]] = defaultdict(list)
        for conflict in open_conflicts(self._registry):
            opposed[conflict.decision_a].append(conflict.decision_b)
            opposed[conflict.decision_b].append(conflict.decision_a)
        return opposed


def listed_conflict_view(derived: Derived, row: ListedConflict) -> Json:
    """Return a verdict, or a finding, with the texts of both sides."""
    view = derived.view(row.conflict)
    view["texts"] = [side.decision if side is not None else None for side in row.sides]
    view |= {"level": None, "probability": None, "words": [], "judge_reason": None, "yields": row.yields}
    return view if row.finding is None else view | {"status": row.state, "path": ""} | _finding(row.finding)


def _finding(finding: Finding) -> Json:
    return {**_judged(finding.judgement), "similarity": finding.cosine}


def _judged(judgement: Judgement) -> Json:
    return {**_of(judgement, "level probability words"), "judge_reason": judgement.reason or None}


def contradiction(a: Entity, b: Entity, judgement: Judgement) -> Json:
    """Return a contradiction of conventions under the names of a finding's; no verdict can answer it."""
    return {
        **dict.fromkeys(("conflict_id", "yields")),
        "ids": [short_id(each.kind, each.id) for each in (a, b)],
        "decision_a": a.id,
        "decision_b": b.id,
        "texts": [a.title, b.title],
        "status": judgement.level.state,
        **_judged(judgement),
    }


def _edge(edge: Lineage) -> Json:
    """Return the fields of the first compression, with local ids, beside the list of all."""
    flat: Json = {field.name: [] if field.type is PAIRS else None for field in COMPRESSION}
    if edge.compressions:
        flat = json_fields(COMPRESSION, edge.compressions[0])
        flat |= {field.name: list(flat[field.name]) for field in COMPRESSION if field.type is PAIRS}
    return {**flat, "bridge_summary": edge.body}


def conventions(found: Any) -> list[Json]:
    """Return conventions with their stages."""
    derived = Derived(found.registry)
    return [derived.view(life.convention) | life_view(life) for life in found.rows]


def convention_status(found: Any) -> Json:
    """Return how many conventions are in each stage, what contradicts them, and the trend."""
    from forgekit.insight.conventions import MOST, Stage
    from forgekit.model.fields import INSTANT

    stages = Counter(life.stage.value for life in found.rows)
    return {
        "stages": dict(stages),
        "observations": sum(life.observations for life in found.rows),
        "ready": _conventions(life for life in found.rows if life.stage is Stage.READY),
        "most": MOST,
        "left_out": _conventions(found.left_out),
        "contradictions": [contradiction(*each) for each in found.contradictions],
        "rewards": [
            {
                **_entity(session, "conversation_id", "title"),
                "created_at": INSTANT.json(session.created_at),
                "share": share,
            }
            for session, share in found.rewards
        ],
    }


def injected(found: Any) -> Json:
    """Return the files that change, and which conventions are in them."""
    return {
        "edits": edits(found.edits),
        "kept": _conventions(found.kept),
        "left_out": _conventions(found.left_out),
        "ended": _conventions(found.ended),
        "lost": {str(edit.path): list(edit.lost) for edit in found.edits if edit.lost},
    }


def _conventions(found: Iterable[Life]) -> list[str]:
    return _shorts(Kind.CONVENTION, (life.convention.id for life in found))


def life_view(life: Life) -> Json:
    """Return the stage of a convention."""
    return _of(life, "stage observations sessions uses unused confidence same")


def listing(found: Any) -> list[Json]:
    """Return the entities of a list; projects with their counts."""
    derived = Derived(found.registry)
    if found.conflicts is not None:
        rows = [listed_conflict_view(derived, row) for row in found.conflicts]
        return rows + [contradiction(*each) for each in found.contradictions]
    counts = project_counts(found.registry, (e.id for e in found.entities if e.kind is Kind.PROJECT))
    return [derived.view(entity) | counts.get(entity.id, {}) for entity in found.entities]


def of_shown(found: Any) -> Json:
    """Return an entity with what the judge found: whom a decision contradicts, or that no file holds it."""
    view = Derived(found.registry).view(found.entity)
    for finding in found.findings:
        if finding.id == found.entity.id:
            view |= {"status": finding.level.state, "path": ""}
        else:
            view["conflicts_with"] += [side for side in finding.sides if side != found.entity.id]
    return view


def shown(found: Any) -> Json | list[Json]:
    """Return an entity with its origin, or turns of a kept text."""
    if found.messages is not None:
        return [
            {
                "turn": message.number,
                "speaker": message.speaker.value,
                "created_at": _time(message.time),
                **_of(message, "text beside"),
            }
            for message in found.messages
        ]
    origin = found.provenance
    archives = [
        {"compression_tag": tag, "conversation_id": conversation, "archive_id": archive}
        for tag, conversation, archive in origin.archives
    ]
    last = commits([origin.commit])[0] if origin.commit else None
    view = of_shown(found)
    if found.entity.kind is Kind.ARCHIVE:
        view["artifacts"] = [
            _of(item, "local_id name type summary") | {"type": item.type or None} for item in found.artifacts
        ]
        view["insights"] = list(found.insights)
    return {**view, "provenance": {"archives": archives, "last_commit": last}}


def commits(found: Iterable[Any]) -> list[Json]:
    """Return commits; repeated trailers are lists."""
    out: list[Json] = []
    for commit in found:
        trailers: dict[str, list[str]] = {}
        for key, value in commit.trailers:
            trailers.setdefault(key, []).append(value)
        head = {"commit": commit.id, "time": format_instant(commit.time)}
        out.append(head | _of(commit, "author subject") | {"trailers": trailers})
    return out


def search(found: Any) -> Json:
    """Return the hits of a search."""
    turns = [_message(hit) for hit in found.messages]
    if found.result is None:
        return {"query": found.query, "mode": "lexical", "notice": "", "hits": turns}
    unsettled = {entity.id for entity in found.unsettled}
    hits = [*(_hit(s) | {"unsettled": s.hit.id in unsettled} for s in found.result.hits), *turns]
    return {"query": found.query, **_of(found.result, "mode notice"), "hits": hits}


def _message(hit: Any) -> Json:
    return {
        "kind": "message",
        "conversation_id": hit.conversation,
        "short_id": short_id(Kind.CONVERSATION, hit.conversation),
        "turn": hit.number,
        "created_at": _time(hit.time),
        "project_name": hit.project,
        **_of(hit, "speaker title snippet score"),
    }


def _hit(scored: Any) -> Json:
    hit = scored.hit
    return {
        **_of(hit, "kind id title status snippet path"),
        "short_id": hit.short,
        "project_name": hit.project,
        "score": round(scored.score, 6),
        **_of(scored, "named lexical_rank share semantic_rank cosine"),
    }


def status(found: Any) -> Json:
    """Return a registry on one screen."""
    share = round(found.stale / found.active, 3) if found.active else 0.0
    return {
        **_of(found, "root projects kinds decisions open_threads"),
        "next_threads": [
            _entity(thread, "thread_id", "priority title project_name") for thread in found.next_threads
        ],
        "conflicts": found.conflicts,
        "stale": {**_of(found, "stale active"), "share": share},
        **_of(found, "open_conflicts needs_revalidation unsettled waiting_candidates uncommitted unreadable"),
        "model": found.model or None,
        **_of(found, "vectors vectors_of"),
        "notes": {
            "tiers": found.notes,
            **_of(found, "essences topics digests"),
            "last_run": _time(found.maintained[0]),
            "next_run": found.maintained[1],
            "failed": found.maintained[2],
        },
        **_of(found, "judge judge_wanted"),
        "judge_missing": found.judge_missing or None,
        "unjudged_pairs": found.unjudged_pairs,
    }


def _entity(entity: Entity, key: str, names: str) -> Json:
    """Return both ids of an entity, the whole one under a key, and some of its attributes."""
    return {key: entity.id, "short_id": short_id(entity.kind, entity.id), **_of(entity, names)}


def answer(found: Any) -> Json:
    """Return an answer, or the context of a query: it is made of JSON values."""
    return dict(found.data)


def block(found: Any) -> Json:
    """Return a block to paste, with its text and what had no room in it."""
    return {**found.data(), "cut": [found.cut] if found.cut else [], "text": found.text}


def compaction_status(found: Any) -> Json:
    """Return the meter of an agent's session, and what is kept of it."""
    meter = found.meter
    return {
        "session": found.name,
        "transcript": str(found.transcript),
        "tokens_used": meter.used,
        "window": meter.window,
        "limit": meter.limit,
        "limit_observed": meter.observed,
        "share": meter.share,
        "compaction_risk": meter.risk.value,
        "compactions": meter.compactions,
        "model": meter.model,
        "preserved_anchors": sum(found.counts.values()),
        "anchors": dict(found.counts),
        "statements_read": found.read,
    }


def compaction_report(found: Any) -> Json:
    """Return what each compaction left, by kind, and all together."""
    rows = [
        {
            "session": one.session,
            "turn": one.boundary.turn,
            "trigger": one.boundary.name,
            "pre_tokens": one.boundary.tokens,
            "measured_tokens": one.used,
            "block_characters": one.block,
            "touched_again": one.again,
            "touched_again_lost": one.again_lost,
            "kinds": _survived(one.kinds),
            "lost": [_of(anchor, "kind turn text") for anchor in one.lost],
        }
        for one in found.compactions
    ]
    return {
        "compactions": rows,
        "kinds": _survived(found.kinds),
        **_of(found, "tokens_a_saved_anchor judged"),
    }


def _survived(kinds: Any) -> Json:
    return {
        kind.value: {
            "anchors": kept.total,
            "in_summary": kept.summary,
            "in_summary_and_block": kept.both,
            "judged_in_summary": kept.judged_summary,
            "judged_in_summary_and_block": kept.judged_both,
        }
        for kind, kept in kinds.items()
    }


def stale(found: Any) -> Json:
    """Return stale decisions, and those that depend on one that has ended."""
    derived = Derived(found.registry)
    return {
        "stale": [derived.view(decision) | _of(aged, "days reasons") for decision, aged in found.stale],
        "needs_revalidation": [
            {"decision_id": item.decision.id, "broken": item.broken.id, "why": item.why}
            for item in found.revalidations
        ],
        "governs_no_file": [
            {"decision_id": decision.id, "governs": list(patterns)} for decision, patterns in found.idle
        ],
        "active": found.stale.active,
        "share": round(found.stale.share, 3),
    }


def explained(found: Any) -> Json:
    """Return which decisions and conventions govern files."""
    from forgekit.merge.conflicting_edits import unsettled

    return {
        "paths": list(found.paths),
        "decisions": [
            {
                **_entity(row.decision, "decision_id", "decision rationale project_name epistemic_tier"),
                "created_at": INSTANT.json(row.decision.created_at),
                "governs": list(row.patterns),
                "conflicts": _shorts(Kind.CONFLICT, row.conflicts),
                **_of(row, "paths stale"),
                "marks": [*row.marks, *filter(None, [unsettled(row.decision).strip(" []")])],
                "unsettled": bool(unsettled(row.decision)),
            }
            for row in found.rows
        ],
        "conventions": [
            {
                **_entity(row.convention, "convention_id", "convention form project_name"),
                "scope": list(row.patterns),
                "paths": list(row.paths),
            }
            for row in found.conventions
        ],
        "notice": found.notice,
    }


def edits(found: Iterable[Any]) -> list[Json]:
    """Return the files of an agent's settings that change, each with its diff."""
    return [{"path": str(edit.path), "diff": edit.diff} for edit in found]


def trace(found: Any) -> list[Json]:
    """Return the edges around a conversation."""
    derived = Derived(found.registry)
    return [derived.view(hop.edge) | _of(hop, "depth direction") for hop in found.hops]


def bridge(found: Any) -> Json:
    """Return what changed between two conversations."""
    revised = {short_id(Kind.DECISION, a): short_id(Kind.DECISION, b) for a, b in found.revised}
    return {
        "source_conversation_id": found.source.id,
        "target_conversation_id": found.target.id,
        "hops": _shorts(Kind.LINEAGE, (edge.id for edge in found.hops)),
        "decisions_carried": _shorts(Kind.DECISION, found.carried),
        "decisions_dropped": _shorts(Kind.DECISION, found.dropped),
        "decisions_revised": revised,
        "threads_resolved": _shorts(Kind.THREAD, found.resolved),
        "new": [short_id(found.registry.get(key).kind, key) for key in found.new],
        "bridge_summary": found.summary,
    }


def written(found: Any, *, dry_run: bool, findings: _Findings = ()) -> Json:
    """Return what a command wrote that is about one entity, with findings about it."""
    return {
        **_entity(found.entity, "id", ""),
        **_outcome(found.outcome, dry_run=dry_run),
        "conflicts": [finding_view(finding, loser) for finding, loser in findings],
    }


def maintained(found: Any, *, dry_run: bool) -> Json:
    """Return what a run of maintenance did."""
    return {
        **_of(found, "due essences digests unmade applied commits"),
        "failed": len(found.unmade),
        "failures": dict(found.failures),
        "dry_run": dry_run,
        "tiers": dict(found.tiers),
        "missing": found.missing or None,
        "suggestions": [
            _of(each, "what added removed") | {"topic_id": each.topic.id, "title": each.topic.title}
            for each in found.suggestions
        ],
    }


def note_threads(found: Any, *, dry_run: bool) -> Json:
    """Return topics, what they are close to, and how they would change."""
    report, topics, links = found
    return {
        **maintained(report, dry_run=dry_run),
        "topics": [
            json_fields(FIELDS[topic.kind], topic)
            | {"close_to": [other for (key, other) in links if key == topic.id]}
            for topic in topics
        ],
    }


def ingested_notes(found: Any, *, dry_run: bool) -> Json:
    """Return what became of the files of a folder."""
    return {
        **_outcome(found.outcome, dry_run=dry_run),
        "notes": {state: found.states.get(state, 0) for state in ("new", "changed", "moved", "unchanged")},
        "gone": [note.id for note in found.gone],
        "redacted": dict(found.redacted),
        "left_out": [{"path": problem.path, "why": problem.message} for problem in found.problems],
        "unread": [{"path": problem.path, "why": problem.message} for problem in found.unread],
    }


def _outcome(outcome: Any, *, dry_run: bool) -> Json:
    return {"commit": outcome.commit, "dry_run": dry_run, "written": sorted(outcome.written)}


def finding_view(finding: Finding, loser: EntityId | None) -> Json:
    """Return a finding, with the side that yields in it."""
    return {
        "conflict_id": finding.id,
        "short_id": short_id(Kind.CONFLICT, finding.id),
        "decision_a": finding.a.id,
        "decision_b": finding.b.id,
        "texts": [finding.a.decision, finding.b.decision],
        "status": finding.level.state,
        **_finding(finding),
        "yields": loser,
    }


def scanned(found: Any, listed: _Findings, contradictions: Iterable[Any], registry: Registry) -> Json:
    """Return what a scan for contradictions found, and how much of it was judged."""
    derived = Derived(registry)
    conflicts = [listed_conflict_view(derived, finding.listed(loser)) for finding, loser in listed]
    counts = {"judged": found.judged, "unjudged": found.unjudged, "missing": found.missing or None}
    return {
        **counts,
        "conflicts": conflicts,
        "conventions": [contradiction(*each) for each in contradictions],
    }


def duplicates(found: Iterable[Finding]) -> list[Json]:
    """Return pairs of decisions that say the same."""
    return [
        {"decision_a": f.a.id, "decision_b": f.b.id, "texts": [f.a.decision, f.b.decision]} for f in found
    ]


def problem(found: Any) -> Json:
    """Return a problem of a file."""
    return _of(found, "code severity line message fixable") | {
        name: getattr(found, name) or None for name in ("path", "field", "fix")
    }


def filed(found: Any, *, dry_run: bool, findings: _Findings = ()) -> Json:
    """Return what filing archives did, with findings about the new decisions."""

    def ids(entities: Iterable[Entity]) -> list[Json]:
        return [_entity(entity, "id", "kind") for entity in entities]

    return {
        "commit": found.outcome.commit,
        "dry_run": dry_run,
        "archives": [_filed(item) for item in found.filed],
        "created": ids(found.created),
        "changed": ids(found.changed),
        "removed": ids(found.removed),
        "conflicts": [{"id": entity.id, "field": edit.field} for entity, edit in found.conflicts],
        "contradictions": [finding_view(finding, loser) for finding, loser in findings],
        "passed_over": list(found.passed_over),
        "refused": list(map(str, found.refused)),
    }


def _filed(item: Any) -> Json:
    return {
        **_entity(item.archive, "archive_id", "compression_tag project_name conversation_id"),
        **_of(item, "new decisions threads artifacts"),
        "coverage": item.coverage._asdict(),
        "overruled": [
            {"local_id": name, f"{entity.kind.value}_id": entity.id, "status": entity.status.value}
            for name, entity in item.overruled
        ],
        "problems": [problem(p) for p in item.problems],
    }


def ingested(found: Any, *, dry_run: bool) -> Json:
    """Return what filing conversations did."""
    return {
        **_outcome(found.outcome, dry_run=dry_run),
        "commits": list(found.commits),
        "conversations": [
            _of(item.conversation, "conversation_id external_id title project_name turns")
            | _of(item, "project_from state new_turns candidates")
            for item in found.filed
        ],
        **{name: found.counts[name] for name in ("archives", "registered", "edges")},
        "candidates": list(found.candidates),
        "conventions": [_of(each, "convention_id convention status") for each in found.conventions],
        "decayed": [short_id(Kind.CONVENTION, each.id) for each in found.decayed],
        "redacted": dict(found.redacted),
        "problems": [problem(p) for p in found.problems],
    }


def waiting(found: Iterable[Any]) -> list[Json]:
    """Return the candidates that wait for a person."""
    return [
        {
            **_entity(
                item.candidate,
                "candidate_id",
                "proposes candidate confidence why project_name conversation_id turn quote rationale context "
                "epistemic_tier dependencies alternatives_rejected governs priority",
            ),
            "same_as": item.same,
            "said_again": list(item.again),
        }
        for item in found
    ]


def reviewed(found: Any, *, dry_run: bool, findings: _Findings = ()) -> Json:
    """Return which candidates were answered, what they became, and findings about that."""
    return {
        **_outcome(found.outcome, dry_run=dry_run),
        "answered": [_of(each, "candidate_id status became") for each in found.answered],
        "conflicts": [finding_view(finding, loser) for finding, loser in findings],
    }


def initialised(found: Any, *, dry_run: bool) -> Json:
    """Return what making a registry wrote."""
    return {"root": str(found.root), **_outcome(found.outcome, dry_run=dry_run)}


def checked(found: Any, *, dry_run: bool) -> Json:
    """Return what a check found and fixed."""
    return {
        "checked": found.looked_at,
        "errors": found.errors,
        "problems": [problem(p) for p in found.problems],
        "fixed": [_of(item, "code path message") for item in found.fixed],
        "commit": found.outcome.commit if found.outcome else None,
        "dry_run": dry_run,
        "written": sorted(found.outcome.written) if found.outcome else [],
    }


def diagnosed(found: Iterable[Any]) -> list[Json]:
    """Return what a look at the registry and its machine found."""
    return [
        _of(item, "subject good message") | {"advice": item.advice or None, "path": item.path or None}
        for item in found
    ]


def repaired(found: Any, *, done: bool) -> Json:
    """Return what a repair did, or would do."""
    return {
        "done": done,
        "steps": [_of(step, "subject path message") for step in found.steps],
        "left": diagnosed(found.left),
        "copy": str(found.copy) if found.copy else None,
        **_of(found, "edits commits"),
    }


def index_status(found: Any) -> Json:
    """Return the state of the index."""
    return dict(found._asdict())


index_verified = index_status


def models(found: Iterable[Any]) -> list[Json]:
    """Return copies of the default model."""
    return [
        _of(item, "name verified removable") | {"folder": str(item.folder), "bytes": item.size}
        for item in found
    ]


def synced(found: Any, *, dry_run: bool) -> Json:
    """Return what sharing a registry brought and sent."""
    from forgekit.text.codec import to_fields

    return {
        "remote": found.remote.name,
        "branch": found.remote.branch,
        "commit": found.commit,
        "dry_run": dry_run,
        "received": list(found.received),
        "deleted": list(found.deleted),
        "sent": found.sent,
        "conflicts": [_merged(*item) for item in found.conflicts],
        "outlived": [_merged(*item) for item in found.outlived],
        "rivals": [to_fields(item) for item in found.rivals],
        "errors": [problem(p) for p in found.errors],
        "held_back": found.held_back,
        "unsettled": [entity.id for entity in found.unsettled],
        "repeated": [problem(p) for p in found.repeated],
        "uncommitted": list(found.uncommitted),
    }


def _merged(path: str, found: FieldConflict) -> Json:
    from forgekit.merge.conflicting_edits import plain

    values = (("base", found.base), ("stands", found.winner), ("yields", found.loser))
    plain_values = {name: None if value is None else plain(found.field, value) for name, value in values}
    return {"path": path, "field": found.field, **plain_values}


def _shorts(kind: Kind, entities: Iterable[EntityId]) -> list[str]:
    return [short_id(kind, entity) for entity in entities]


def _time(instant: int | None) -> str | None:
    return None if instant is None else format_instant(Instant(instant))
