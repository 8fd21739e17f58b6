"""Context for a question: what is on record that bears on it, within a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from forgekit.findings import BLOCK_WAIT_MS, findings_of
from forgekit.forge import Forge, opened, reading
from forgekit.frozen import frozen
from forgekit.ids import EntityId
from forgekit.index.query import NAMED_SCORE
from forgekit.insight.budget import BlockPart, BlockRow, Placed, lay_out
from forgekit.insight.notes import ESSENCE_LIMIT, Fidelity, has_essence, theme, tiers, topics_of
from forgekit.insight.staleness import conflict_marks, scope_mark, scopes
from forgekit.insight.views import Derived
from forgekit.merge.conflicting_edits import unsettled
from forgekit.model.entities import Decision, Note, Thread, Topic, TopicStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry
from forgekit.search import Scored, SearchResult, search
from forgekit.text.blocks import NOTICE, brief, count, quote
from forgekit.text.words import tokens
from forgekit.times import DAY_MS, format_date
from forgekit.worktree import local_state

HITS, NOTES = 12, 40
"""Entities of one kind, and notes, of a stage: the next ones follow when all of these are shown at length."""
_STAGES, _WIDEST = 1, 20
"""Stages beyond those that the usual budget fills, and how many times that budget is looked for at most."""
_WORTH = {Fidelity.FULL: 0.2, Fidelity.HIGH: 0.1, Fidelity.SUMMARY: 0.0, Fidelity.SKELETON: -0.1}
_RECENT, _FADES_DAYS = 0.1, 90
TEXT_LIMIT = 4_000
"""Characters of a note's text that are shown at most: one long note must not take all the room."""
_CUTS = (TEXT_LIMIT, TEXT_LIMIT // 2, TEXT_LIMIT // 4)
"""Characters at which a longer text is cut where there is less room."""
_TOPICS_FIRST = 2 * NAMED_SCORE
"""The score of topics: only decisions and threads that bear on the query are filled before them."""
_NOTHING = "Nothing on record bears on this."
ECHO = 200
"""Characters of a query that are shown, a quarter of the budget at most."""


@frozen(kw_only=True)
class Context:
    """What bears on a query: as a block, as JSON values, and how each item was fitted in."""

    text: str
    data: dict[str, object]
    placed: tuple[Placed, ...] = ()


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
        project: its name, else the default or only one, else all.
        cross_project: whether other projects are searched too.
        budget: tokens, else as the settings say.

    Raises UsageError for a budget that does not hold the headings.
    """
    registry = forge.registry()
    own = None if cross_project and project is None else forge.project(project, registry, required=False)
    if project is not None:
        own = forge.known_project(project, registry).project_name
    everywhere = cross_project or own is None

    room = budget if budget is not None else forge.settings.budget
    stages = min(max(room // forge.settings.budget, 1), _WIDEST) + _STAGES
    answers: list[SearchResult] = []
    open_ended: set[Kind] = set()
    where = None if everywhere else own

    def find(kind: Kind, status: str | None, most: int = HITS) -> list[Scored]:
        limit = most * stages
        answer = search(forge, query, kinds=(kind,), status=status, project=where, limit=limit)
        answers.append(answer)
        open_ended.update([kind] if len(answer.hits) == limit else [])
        return sorted(answer.hits, key=lambda one: own is not None and one.hit.project != own)

    decisions = find(Kind.DECISION, "active") if include_decisions else []
    threads = find(Kind.THREAD, None) if include_threads else []
    conversations = find(Kind.CONVERSATION, None)
    notes = find(Kind.NOTE, None, NOTES) if forge.catalogue.titles(Kind.NOTE, limit=1) else []
    rules = find(Kind.CONVENTION, "active") if forge.catalogue.titles(Kind.CONVENTION, limit=1) else []
    conventions = [rule for rule in rules if rule.bears_on(query)]
    topics = [t for t in registry.topics if everywhere or t.project_name == own]

    def part(kind: Kind, rows: Sequence[BlockRow], most: int = HITS) -> BlockPart:
        staged = [row._replace(stage=place // most) for place, row in enumerate(rows)]
        return BlockPart(f"{kind.value.title()}s", staged, len(rows), is_open=kind in open_ended)

    listed = _topics(topics, notes)
    parts = [
        BlockPart(title="Threads of thought", rows=listed, total=len(listed)),
        part(Kind.DECISION, _decisions(forge, registry, query, decisions)),
        part(Kind.THREAD, _threads(registry, query, threads)),
        BlockPart(title="Conventions", rows=_conventions(conventions), total=len(conventions)),
        part(Kind.NOTE, _notes(forge, registry, notes, topics), NOTES),
        part(Kind.CONVERSATION, _conversations(registry, conversations)),
    ]
    beginning = NOTICE if any(each.rows for each in parts) else _NOTHING
    opening = f"## Context: {_echo(quote(query), min(ECHO, room // 4))}\n\n{beginning}"
    laid = lay_out(opening, parts, "(end of context)", budget=room, cost=tokens)
    derived = Derived(registry)
    views = [
        [
            derived.view(entity)
            for one in hits
            if one.hit.short in laid.text and (entity := registry.get(one.hit.id)) is not None
        ]
        for hits in (decisions, threads, conversations, notes, conventions)
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
        "notes": views[3],
        "conventions": views[4],
        "topics": [derived.view(topic) for topic in topics],
        "cut": [laid.cut] if laid.cut else [],
        "tokens": tokens_of(laid.placed),
        "context_text": laid.text,
    }
    return Context(text=laid.text, data=data, placed=laid.placed)


def tokens_of(placed: Iterable[Placed]) -> dict[str, int]:
    """Return what the rows of each section cost, and those of notes by how much of them may be shown."""
    found: Counter[str] = Counter()
    for each in placed:
        found[each.where] += each.cost
    return dict(found)


def _rank(query: str, one: Scored) -> float:
    """Return the score of a decision or thread, by which those that bear on a query precede topics."""
    return one.score + (_TOPICS_FIRST if one.bears_on(query) else 0.0)


def _topics(topics: Iterable[Topic], notes: Iterable[Scored]) -> list[BlockRow]:
    """Return a row for each topic: of the best note that was found first, then the active, then the latest.

    The digest of one without any of the notes that were found waits until all else is shown at length.
    """
    current = [topic for topic in topics if topic.status is not TopicStatus.MERGED]
    current.sort(key=lambda t: (t.status is not TopicStatus.ACTIVE, -t.updated_at, t.id))
    scores = {one.hit.id: one.score for one in notes}
    worths = {t.id: max((scores.get(note, -1.0) for note in t.note_ids), default=-1.0) for t in current}
    rows = []
    for topic in sorted(current, key=lambda t: -worths[t.id]):
        short = short_id(Kind.TOPIC, topic.id)
        line = f"- {short} {quote(brief(topic.title, 60))} ({count(len(topic.note_ids), 'note')})"
        digest = f"{line}: {quote(topic.digest)}" if topic.digest else line
        words = tuple(dict.fromkeys((digest, line)))
        rows.append(BlockRow(words, score=_TOPICS_FIRST, worth=worths[topic.id]))
    return rows


def _notes(
    forge: Forge, registry: Registry, hits: Iterable[Scored], topics: Iterable[Topic]
) -> list[BlockRow]:
    """Return the rows of notes in the order of hits, each in as many words as its fidelity allows."""
    found = [(one.score, note) for one in hits if isinstance(note := registry.get(one.hit.id), Note)]
    of_note, now = topics_of(topics), forge.now()
    shown = tiers((note for _, note in found), of_note, now, local_state.opened(forge.root))
    rows = []
    for score, note in found:
        fresh = _RECENT * 2 ** (-max(now - note.updated_at, 0) / (_FADES_DAYS * DAY_MS))
        words = note_renditions(note, shown[note.id], theme(note, of_note.get(note.id, ())))
        rank = score + _WORTH[shown[note.id]] + fresh
        rows.append(BlockRow(words, score=rank, worth=max(rank, 0.0), tier=shown[note.id].value))
    return rows


def note_renditions(note: Note, tier: Fidelity, about: str) -> tuple[str, ...]:
    """Return a note in ever fewer words."""
    name = f"- {short_id(Kind.NOTE, note.id)} {quote(brief(note.title, 60))}"
    mark = f" [{quote(brief(about, 30))}]" if about else ""
    skeleton = f"{name}{mark}"
    body = note.text.removeprefix(f"# {note.title}\n")
    if tier is Fidelity.SKELETON:
        return (skeleton,)
    essence = (has_essence(note) and note.essence) or brief(body, ESSENCE_LIMIT)
    summary = f"{skeleton}: {quote(essence)}"
    texts = [f"{body[:most].rpartition(' ')[0]} …" for most in _CUTS if len(body) > most]
    texts = [body, *texts] if len(body) <= TEXT_LIMIT else texts
    head = name if tier is Fidelity.FULL else skeleton
    longer = () if tier is Fidelity.SUMMARY else (f"{head}: {quote(text)}" for text in texts)
    words = (*longer, summary, skeleton)
    kept = [text for at, text in enumerate(words) if all(len(text) > len(more) for more in words[at + 1 :])]
    return tuple(kept)


def _echo(text: str, length: int) -> str:
    """Return a query cut at any character: it may be one long word."""
    return text if len(text) <= length else f"{text[: max(length - 1, 0)]}…"


def _decisions(forge: Forge, registry: Registry, query: str, hits: Sequence[Scored]) -> list[BlockRow]:
    findings = findings_of(forge, registry, {one.hit.id for one in hits}, wait_ms=BLOCK_WAIT_MS)
    marks, scoped = conflict_marks(registry, findings), scopes(registry)
    rows: list[BlockRow] = []
    for one in hits:
        hit = one.hit
        found = registry.get(hit.id)
        if isinstance(found, Decision):
            why = f" — {quote(found.rationale[:300])}" if found.rationale else ""
            yields = " [YIELDS TO A HIGHER TIER]" if found.id in findings.yields else ""
            mark = (yields or marks.get(found.id, "")) + unsettled(found) + scope_mark(scoped.get(found.id))
            head = (
                f"- {hit.short} (tier {found.tier_words}, {quote(found.project_name)}, "
                f"{_origin(found.local_id, found.originated_in)}): "
            )
            text, short = quote(found.decision), quote(brief(found.decision, 60))
            words = (f"{head}{text}{mark}{why}", f"{head}{text}{mark}", f"{head}{short}{mark}")
            rows.append(BlockRow(words, score=_rank(query, one), worth=one.score))
    return rows


def _threads(registry: Registry, query: str, hits: Iterable[Scored]) -> list[BlockRow]:
    rows: list[BlockRow] = []
    for one in hits:
        hit = one.hit
        found = registry.get(hit.id)
        if isinstance(found, Thread):
            end = f": {quote(found.resolution)}" if found.status.ended and found.resolution else ""
            line = (
                f"- {hit.short} ({quote(found.project_name)}, "
                f"{_origin(found.local_id, found.first_seen_in)}): {quote(found.title)} "
                f"[{found.status.value.upper()} {format_date(found.updated_at)}]{unsettled(found)}"
            )
            rows.append(BlockRow((f"{line}{end}", line), score=_rank(query, one), worth=one.score))
    return rows


def _conversations(registry: Registry, hits: Iterable[Scored]) -> list[BlockRow]:
    rows = []
    for one in hits:
        line = f"- {one.hit.short} ({quote(one.hit.project or '')}): {quote(one.hit.title)}"
        essence = getattr(registry.get(one.hit.id), "essence", None)
        words = (f"{line}: {quote(essence)}", line) if essence else (line,)
        rows.append(BlockRow(words, score=one.score, worth=one.score))
    return rows


def _conventions(hits: Iterable[Scored]) -> list[BlockRow]:
    lines = (
        (one, f"- {one.hit.short} ({quote(one.hit.project or '')}): {quote(one.hit.title)}") for one in hits
    )
    return [BlockRow((line,), score=one.score, worth=one.score) for one, line in lines]


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
    """Return what bears on a query: `context_text` and the entities behind it; arguments as of `load`."""
    return load(
        opened(forge),
        query,
        project=project_name,
        cross_project=cross_project,
        budget=budget,
        include_threads=include_threads,
        include_decisions=include_decisions,
    ).data
