"""Join what all archives say: `fold(archives)` is a pure function of a set, so the order of filing is lost.

In: archives with what was read from them, and the manual entries (decisions and threads that people
registered). Out: every entity that follows from them, which entity each local id means, and what could not be
joined. Steps: order the archives (`ancestry`); for each record find the entity that it is about or begin one
(`EntityIndex`) and add the record to the entity's history; resolve references, without cycles; build the
entities (`aggregate`) and the edges (`ancestry`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Generic

from forgekit.archives import claims as claim_rules
from forgekit.archives.aggregate import (
    End,
    History,
    R,
    conversations_of,
    decision_of,
    manual_decision,
    manual_thread,
    revision_conflicts,
    thread_of,
)
from forgekit.archives.ancestry import (
    Contribution,
    Reference,
    ancestry,
    edges,
    links,
    local_ids,
    remove_successor_cycles,
    without_cycles,
)
from forgekit.archives.claims import OWN_FIELDS, REST, key_of, kind_of, references, series_of, update_in
from forgekit.archives.notes import annotated, stated_beside
from forgekit.archives.states import ENDS, SUBJECT, behind_clause, clear_state, first_clause
from forgekit.frozen import frozen
from forgekit.ids import EntityId, decision_id, match_key, thread_id
from forgekit.model.archive_record import (
    ArchiveText,
    DecisionRecord,
    Family,
    Scope,
    StateClause,
    ThreadRecord,
    Update,
)
from forgekit.model.entities import Archive, Decision, DecisionStatus, Entity, Project, Thread, ThreadStatus
from forgekit.model.kinds import Kind, is_short, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.rules import statement
from forgekit.text.words import likeness, shared

Record = DecisionRecord | ThreadRecord
Mention = tuple[EntityId, str]
"""(archive, local id)."""
LocalIds = Mapping[str, EntityId]
"""The key of a local id (`claims.key_of`) to its entity, as one archive and its ancestors use them."""
_TITLES = {"D": "text", "T": "title"}
"""The field of each kind of record that has its words."""
_STATED = (
    "status",
    "reinstated",
    "superseded_by",
    "revises",
    "reopened",
    "resolution",
    "blocked_by",
    "waits_for",
)
_AS_THREAD = {
    DecisionStatus.ACTIVE: ThreadStatus.OPEN,
    DecisionStatus.SUPERSEDED: ThreadStatus.SUPERSEDED,
    DecisionStatus.INVALIDATED: ThreadStatus.ABANDONED,
}
_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 3
"""Words of a line that makes a record where no parent has its id."""
_LEAD_WORDS = 4
"""Words before an id that only say what became of it: `We can forget T2`."""
_BEHIND_SUBJECT = " \t:)>.,=\u2192\u2013\u2014\uff1a-"
_PLACE = re.compile(r"\d+|\w")
_LAST_BRACKET = re.compile(r"^(?P<text>.*\S)\s*[(\[](?P<inner>[^()\[\]]*)[)\]]\W*$", re.DOTALL)
_LEAST_ALIKE, _ALIKE, _MOST_ALIKE, _NEVER_ALIKE = 0.3, 0.7, 0.8, 2.0
"""How like two texts under one id must be to be of one record: where others are, and where none is known."""


@frozen()
class FoldResult:
    """The entities that follow from a set of archives.

    Attributes:
        entities: all that follow from it, archives with their `records` included.
        mentions: which entity each archive's local id means.
        problems: what could not be joined, by archive.
    """

    entities: Mapping[EntityId, Entity] = field(default_factory=dict)
    mentions: Mapping[Mention, EntityId] = field(default_factory=dict)
    problems: Mapping[EntityId, tuple[Problem, ...]] = field(default_factory=dict)


def fold(
    archives: Iterable[tuple[Archive, ArchiveText]], manual: Iterable[Decision | Thread] = ()
) -> FoldResult:
    """Join what archives state, in any order; of `manual` entries the likeliest match comes first."""
    state = _Fold(list(archives), {entity.id: entity for entity in manual})
    for archive in state.ancestry.order:
        inherited = state.add_records(archive)
        state.add_references(archive, inherited)
    state.resolve_references()
    return state.result()


def ids_of_records(archives: Iterable[tuple[Archive, ArchiveText]]) -> set[EntityId]:
    """Return the ids of all entities that the archives' records can make."""
    found: set[EntityId] = set()
    for archive, text in archives:
        every: list[Record] = [*text.decisions, *text.threads, *_records_of_updates(text)]
        found.update(_made(archive, record)[0] for record in every)
    return found


def named_by_records(archives: Iterable[tuple[Archive, ArchiveText]]) -> tuple[set[str], set[str]]:
    """Return the match keys of the texts of all records, and the ends of the ids that records name."""
    keys: set[str] = set()
    names: set[str] = set()
    for archive, text in archives:
        for decision in (*text.carried, *text.decisions):
            keys.add(match_key(_made(archive, decision)[1]))
            names.update(decision.dependencies or (), decision.revises)
            names.update(filter(None, (decision.entity, decision.superseded_by)))
        keys.update(match_key(_made(archive, record)[1]) for record in _records_of_updates(text))
        for thread in text.threads:
            keys.add(match_key(_made(archive, thread)[1]))
            names.update(thread.blocked_by or (), filter(None, (thread.entity,)))
    return keys, {name[-12:] for name in names}


def _records_of_updates(text: ArchiveText) -> Iterator[Record]:
    """Yield the records that updates are if no parent has their ids."""
    series = _series_in(text) if text.updates else {}
    for update in text.updates:
        for kind in _kind_in(update.local_id, series) or "DT":
            if record := _record_of(update, kind):
                yield record


def _series_in(text: ArchiveText) -> Mapping[str, str]:
    """Return the kind of the records of each series of ids in an archive."""
    series = {series_of(each.local_id): "D" for each in text.decisions}
    series |= {series_of(each.local_id): "T" for each in text.threads}
    return {place[0]: kind for place, kind in series.items() if place}


def _kind_in(local_id: str, series: Mapping[str, str]) -> str:
    """Return the kind of an id by its letters, or by the records of its series, else ""."""
    found = kind_of(local_id) or series.get((series_of(local_id) or ("",))[0], "")
    return found if found in ("D", "T") else ""


def _lowest_in(ids: Iterable[str]) -> Mapping[str, int]:
    """Return the lowest number of each series of ids; of an archive's own, those of its parents are lower."""
    return dict(sorted(filter(None, map(series_of, ids)), reverse=True))


def _record_of(update: Update, kind: str) -> Record | None:
    """Return the record that an update is whose id no parent has, None where it is a state or too short."""
    title, fields = annotated(update.text, kind, clauses=True) if kind else ("", {})
    if len(title.split()) < _FEWEST_WORDS or clear_state(first_clause(title) or title, kind):
        return None
    found = claim_rules.ClaimList()
    raw = {"text": title, **fields}
    claim_rules.make_claim(found, update.local_id, raw, update.line, Family.PROSE, kind=kind)
    joined = claim_rules.join(found, found.claims, has_parent=True)
    if kind == "D":
        return next(iter(claim_rules.records(found, joined, DecisionRecord)), None)
    return next(iter(claim_rules.records(found, joined, ThreadRecord)), None)


def _made(archive: Archive, record: Record) -> tuple[EntityId, str]:
    """Return the id and the text of the entity that a record makes."""
    conversation, started = archive.conversation_id, archive.conversation_started
    if isinstance(record, DecisionRecord):
        text = statement(record.text) or record.local_id
        return decision_id(archive.project_uuid, text, conversation, started), text
    title = statement(record.title) or record.local_id
    return thread_id(archive.project_uuid, title, conversation, started), title


def abbreviates(a: str, b: str) -> bool:
    """Say whether one text consists of at least two words, all of which the other has."""
    one, other = _words(a), _words(b)
    small, large = sorted((one, other), key=len)
    return len(small) >= 2 and small <= large


def _adds_words(known: str, text: str) -> bool:
    """Say whether a text has words that the known one has not; a remark that punctuation parts is none."""
    one, other = match_key(known), match_key(text)
    whole = re.search(rf"(?<!\w)(?<!\w ){re.escape(one)}(?!\s*\w)", other)
    return whole is None and not _words(text) <= _words(known)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(match_key(text)))


def _held(lineage: Iterable[LocalIds], local_id: str) -> EntityId:
    """Return the entity that the nearest ancestor calls by a local id, "" where none does."""
    key = key_of(local_id)
    return next((ids[key] for ids in lineage if key in ids), EntityId(""))


def _has_fields(record: Record) -> bool:
    """Say whether a record has a field that only a record has."""
    return any(getattr(record, name, None) for name in OWN_FIELDS[_kind_of(record)])


def _with_state_of(told: Record, said: Record) -> Record:
    """Return a record with the state, and the words of a new version, that another one of it has."""
    names = [*_STATED, *(["text"] if getattr(said, "revises", ()) else ())]
    return replace(told, **{name: value for name in names if (value := getattr(said, name, None))})


def _adds(clause: StateClause, state: str, told: Record | None) -> bool:
    """Say whether the state that a clause gives a record counts beside what was read of the record itself.

    A note below it does, but for one that shows as open what the record shows as ended. So does what replaced
    it, where the record shows that it is over, and an end between its id and its words,
    but for `superseded`: those may be the new words of a decision.
    """
    if told is None:
        return True
    ended = told.status is not None and told.status.ended
    head = first_clause(clause.text.removeprefix(SUBJECT)).strip()
    if head and told.line == clause.line and told.status is None and state in {*ENDS} - {"superseded"}:
        return head not in getattr(told, _TITLES[_kind_of(told)])
    replaced = ended and state == "superseded" and not getattr(told, "superseded_by", None)
    is_below = told.line < clause.line and (not ended or state in (*ENDS, "reinstated", "reopened"))
    return is_below or (replaced and len(references(clause.text)) > 0)


def _without_subject(record: Record | None) -> Record | None:
    """Return a record whose reason or answer has no sign for an id."""
    if isinstance(record, DecisionRecord):
        return replace(record, rationale=_behind_subject(record.rationale or "", record.local_id))
    if record is not None:
        return replace(record, resolution=_behind_subject(record.resolution, record.local_id))
    return None


def _behind_subject(text: str, local_id: str) -> str:
    """Return what is behind a sign for an id and a few words, else the text with the id in its place."""
    lead, _, behind = text.partition(SUBJECT)
    behind = behind.strip(_BEHIND_SUBJECT)
    is_lead = re.search(r"\w", behind) and len(lead.split()) <= _LEAD_WORDS
    return behind if is_lead and SUBJECT not in behind else text.replace(SUBJECT, local_id)


def _kind_of(record: Record) -> str:
    return "D" if isinstance(record, DecisionRecord) else "T"


@dataclass(slots=True)
class EntityIndex:
    """The entities of one kind that were mentioned so far.

    Attributes:
        renamed: whether people may give an entity another text under the same id.
    """

    renamed: bool = False
    texts: dict[EntityId, str] = field(default_factory=dict)
    projects: dict[EntityId, EntityId] = field(default_factory=dict)
    by_key: dict[str, list[EntityId]] = field(default_factory=lambda: defaultdict(list))
    by_suffix: dict[str, EntityId] = field(default_factory=dict)

    def add(self, entity: EntityId, project: EntityId, text: str) -> None:
        """Add an entity under its first text."""
        self.texts[entity] = text
        self.projects[entity] = project
        self.by_key[match_key(text)].append(entity)
        self.by_suffix[entity[-12:]] = entity

    def named(self, short: str | None) -> EntityId | None:
        """Return the entity of a short or full id."""
        return self.by_suffix.get(short[-12:]) if short else None

    def match(
        self,
        text: str,
        *,
        project: EntityId,
        lineage: Iterable[LocalIds],
        local_id: str,
        inherited: bool,
        short: str | None = None,
    ) -> EntityId | None:
        """Return the entity that a record is about, None for a new one; `lineage` is nearest first.

        In this order (texts are compared by `match_key`; a person is asked about near-paraphrases elsewhere):
        the short id, if the project is the same and the text does not contradict it; the same text among
        the entities of the ancestors; the same text anywhere in the project; the same local id in the
        nearest ancestor, if the archive marks the record as inherited or one text abbreviates the other.
        """
        key = match_key(text)
        named = self.named(short)
        if named is not None and self.projects[named] == project:
            known = self.texts[named]
            if self.renamed or match_key(known) == key or abbreviates(known, text):
                return named
        visible = list(lineage)
        of_ancestors = {entity for ids in visible for entity in ids.values()}
        same = self.by_key.get(key, [])
        near = [e for e in same if e in of_ancestors] or [e for e in same if self.projects[e] == project]
        if near:
            return near[0]
        for ids in visible:
            entity = ids.get(key_of(local_id))
            if entity in self.texts and (inherited or abbreviates(self.texts[entity], text)):
                return entity
        return None


@dataclass(slots=True)
class _Entities(EntityIndex, Generic[R]):
    """The decisions or the threads of one fold, with their histories."""

    noun: str = field(kw_only=True)
    histories: dict[EntityId, History[R]] = field(default_factory=dict)

    def history(self, entity: EntityId, archive: Archive, record: R) -> History[R]:
        """Return the history of an entity; this record begins it if there is none."""
        return self.histories.setdefault(entity, History(archive, record, self.texts[entity]))


def _is_reworded(entities: _Entities[Any], entity: EntityId, record: Record, text: str) -> bool:
    """Say whether a record has words that the entity it is about has not, which a person should know."""
    known = entities.texts[entity]
    if record.entity is not None:
        return entity == entities.named(record.entity) and _adds_words(known, text)
    restated = text == record.local_id or (record.status is not None and record.status.ended)
    return entities.noun == "decision" and not restated and not _words(text) <= _words(known)


class _Fold:
    """The state of one fold.

    Attributes:
        own: local id to entity, as each archive mentions it.
        visible: the same with what its ancestors mention.
        by_name: archives by tag and conversation, in order.
        waiting: archives of which a parent is not filed.
        dependencies, blockers: the references of each decision, and of each thread.
        revising, active: of the archive whose references are added, the records that revise a local id, and
            those that it calls active.
        series: the kinds of the parents' ids by their series, once they are asked for.
    """

    def __init__(
        self, pairs: Sequence[tuple[Archive, ArchiveText]], manual: Mapping[EntityId, Decision | Thread]
    ) -> None:
        self.texts = {archive.id: text for archive, text in pairs}
        self.ancestry = ancestry(archive for archive, _ in pairs)
        self.manual = manual
        self.decisions: _Entities[DecisionRecord] = _Entities(noun="decision")
        self.threads: _Entities[ThreadRecord] = _Entities(noun="thread", renamed=True)
        for entity in manual.values():
            index = self.decisions if isinstance(entity, Decision) else self.threads
            index.add(entity.id, entity.project_uuid, entity.title)
        self.own: dict[EntityId, dict[str, EntityId]] = {}
        self.visible: dict[EntityId, LocalIds] = {}
        self.by_name: dict[str, list[Archive]] = defaultdict(list)
        self.dependencies: dict[EntityId, list[Reference]] = {}
        self.blockers: dict[EntityId, list[Reference]] = {}
        self.problems: dict[EntityId, list[Problem]] = defaultdict(list)
        self.most_like: dict[str, EntityId] = {}
        self.series: dict[str, set[str]] | None = None
        self.revising: dict[str, list[str]] = {}
        self.active: set[str] = set()
        self.waiting = {archive.id for archive, _ in self.ancestry.waiting}
        for archive, tag in self.ancestry.waiting:
            self.note(archive, None, "parent-not-filed", f"its parent {tag} has not been filed yet")

    def note(self, archive: Archive, line: int | None, code: str, message: str, fix: str = "") -> None:
        """Add a problem; one that a person can fix is a warning."""
        severity = Severity.WARNING if fix else Severity.INFO
        problem = Problem(code=code, message=message, line=line, fix=fix, severity=severity)
        self.problems[archive.id].append(problem)

    def note_unknown(self, archive: Archive, line: int, name: str) -> None:
        """Add the problem of an id of a parent's that no parent has."""
        message = f"{name} has no words of its own, and no parent has it; it was left out"
        self.note(archive, line, "unknown-id", message, "write its text behind the id")

    def add_records(self, archive: Archive) -> LocalIds:
        """Add an archive's records to the histories, and return the local ids that its ancestors use."""
        text = self.texts[archive.id]
        own = self.own[archive.id] = {}
        parents = self.ancestry.parents[archive.id]
        lineage = [self.visible[parent.id] for parent in parents if parent.id in self.visible]
        self.series = None
        self.find_most_like(archive, (*text.carried, *text.decisions, *text.threads))
        for carried in text.carried:
            entity = self.match(archive, carried, statement(carried.text), lineage, inherited=True)
            if entity is None:
                message = f"{carried.local_id} is carried from an archive that has not been filed yet"
                self.note(archive, carried.line, "carried-unknown", message)
            else:
                self.decisions.history(entity, archive, carried).carried.append(archive)
                own[carried.local_id] = entity
        updates = [*self.updated(archive, text, lineage)]
        records: list[Record] = [
            self.of_series(each, lineage) for some in (text.decisions, text.threads) for each in some
        ]
        records = self.with_clauses(archive, records, updates, lineage)
        records = [self.with_state(archive, self.with_old_id(r, lineage), lineage) for r in records] + updates
        alike = self.least_likeness(archive, records, lineage)
        records = [self.as_known(archive, each, lineage, alike) for each in sorted(records, key=_kind_of)]
        decisions = tuple(each for each in records if isinstance(each, DecisionRecord))
        threads = tuple(each for each in records if isinstance(each, ThreadRecord))
        self.texts[archive.id] = replace(text, decisions=decisions, threads=threads)
        for record in records:
            self.add_statement(archive, record, lineage)
        inherited = {local: entity for ids in reversed(lineage) for local, entity in ids.items()}
        self.visible[archive.id] = {**inherited, **{key_of(local): entity for local, entity in own.items()}}
        for name in {archive.compression_tag, archive.conversation_id}:
            self.by_name[name].append(archive)
        return inherited

    def entities_of(self, record: Record) -> _Entities[Any]:
        """Return the entities of a record's kind."""
        return self.decisions if isinstance(record, DecisionRecord) else self.threads

    def words_of(self, record: Record, lineage: Iterable[LocalIds]) -> str:
        """Return the words that a parent has under a record's id, "" where it has none."""
        return self.entities_of(record).texts.get(self.held(record, lineage), "")

    def held(self, record: Record, lineage: Iterable[LocalIds]) -> EntityId:
        """Return what the nearest ancestor calls by a record's id; without an id, what is most like it."""
        made = record.number == ""
        return self.most_like.get(record.local_id, EntityId("")) if made else _held(lineage, record.local_id)

    def find_most_like(self, archive: Archive, records: Iterable[Record]) -> None:
        """Find the record of a parent that each record without an id is about, by its words alone."""
        self.most_like = {}
        parents = self.ancestry.parents[archive.id]
        known = {entity for parent in parents for entity in self.own.get(parent.id, {}).values()}
        for record in records:
            if record.number == "":
                texts, text = self.entities_of(record).texts, _made(archive, record)[1]
                found = ((likeness(texts[e], text), e) for e in known if e in texts)
                share, entity = max(found, default=(0.0, EntityId("")))
                if share >= _MOST_ALIKE:
                    self.most_like[record.local_id] = entity

    def add_statement(self, archive: Archive, record: Record, lineage: Sequence[LocalIds]) -> None:
        """Add a record to the history of the entity that it is about, or that it makes."""
        made, text = _made(archive, record)
        entities, entity = self.entities_of(record), self.match(archive, record, text, lineage)
        if entity is None:
            if self.has_wrong_id(archive, record):
                return
            if text == record.local_id:  # it states what became of a parent's record, in no words of its own
                self.note_unknown(archive, record.line, record.local_id)
                return
            entity = made
            entities.add(entity, archive.project_uuid, text)
        elif _is_reworded(entities, entity, record, text):
            message = f"{record.local_id} is registered in other words, which it keeps"
            self.note(archive, record.line, "kept-words", message)
        entities.history(entity, archive, record).statements.append((archive, record))
        self.own[archive.id][record.local_id] = entity

    def updated(self, archive: Archive, text: ArchiveText, lineage: Sequence[LocalIds]) -> Iterator[Record]:
        """Yield a record for each line that states what became of one of a parent's."""
        own = {key_of(record.local_id) for some in (text.decisions, text.threads) for record in some}
        series, lowest = (_series_in(text), _lowest_in(own)) if text.updates else ({}, {})
        for update in text.updates:
            name, key = update.local_id, key_of(update.local_id)
            place = series_of(name) or ("", 0)
            held = _held(lineage, name) or self.decisions.named(name) or self.threads.named(name)
            if key not in own and held:
                own.add(key)
                record = self.of_update(update, held)
                if record is None:  # it is listed, without a state
                    self.own[archive.id][name] = held
                else:
                    yield record
            elif key not in own and (archive.id not in self.waiting or place[1] > lowest.get(place[0], inf)):
                own.add(key)
                if made := _record_of(update, _kind_in(name, series) or self.kind_of_series(name, lineage)):
                    yield made
                else:
                    self.note_unknown(archive, update.line, name)

    def with_clauses(
        self,
        archive: Archive,
        records: Sequence[Record],
        updates: Sequence[Record],
        lineage: Sequence[LocalIds],
    ) -> list[Record]:
        """Return records with the states of clauses, in the place of other words under a parent's id."""
        clauses, said = self.texts[archive.id].clauses, dict[str, Record]()
        named = {key_of(clause.local_id) for clause in clauses}
        done = {key_of(each.local_id) for each in updates}
        of_clauses = ((key_of(each.local_id), each) for each in records if named)
        told = {key: each for key, each in of_clauses if key in named and self.is_told(each, lineage)}
        for clause in sorted(clauses, key=lambda each: (each.text.startswith(SUBJECT), each.line)):
            key, held = key_of(clause.local_id), _held(lineage, clause.local_id)
            state = dict(clause.states).get("D" if held in self.decisions.texts else "T", "")
            if key in done or not held or not state or not _adds(clause, state, told.get(key)):
                continue
            text = clause.text.removeprefix(SUBJECT).lstrip(_BEHIND_SUBJECT)
            update = Update(local_id=clause.local_id, line=clause.line, text=text)
            if record := _without_subject(self.of_update(update, held, state)):
                # The last one counts.
                said[key] = _with_state_of(told[key], record) if key in told else record
        return [each for each in records if key_of(each.local_id) not in said] + [*said.values()]

    def is_told(self, record: Record, lineage: Sequence[LocalIds]) -> bool:
        """Say whether a rule read a record's words or state, or it repeats the words of its parent's."""
        known, text = self.words_of(record, lineage), statement(getattr(record, _TITLES[_kind_of(record)]))
        if record.family is Family.PROSE:
            return abbreviates(known, text) or likeness(known, text) >= _ALIKE
        return text != "" or record.status is not None

    def of_update(self, update: Update, held: EntityId, state: str = "") -> Record | None:
        """Return the record that an update makes, None where its words are not understood.

        Args:
            state: the one that the words name, where that is known.
        """
        kind, name = "D" if held in self.decisions.texts else "T", update.local_id
        words, given = stated_beside(update.text, kind, name)
        meaning, found = update_in(words, kind, name, state)
        found = found or update_in(update.text, kind, name, state)[1]
        is_reworded = kind == "D" and meaning == "revised"
        if is_reworded and "text" not in found and len(words.split()) > _FEWEST_WORDS:
            text = f"{self.decisions.texts[held]} ({words.rstrip(' .')})"
            found = {"text": text, "revises": (name,)}
        fields = found | given
        if kind == "T" and self.is_answered(held, fields.get("status")):
            fields.pop("resolution", None)  # such as `T1 stays settled`
        short = {"entity": name} if is_short(name) else {}
        if not fields:
            return None
        raw: dict[str, Any] = {"local_id": name, "line": update.line, "family": Family.PROSE}
        raw |= {"scope": Scope.INHERITED, **short, **fields}
        if kind == "D":
            return self.with_old_fields(DecisionRecord(**{"text": self.decisions.texts[held], **raw}), held)
        return ThreadRecord(**{"title": self.threads.texts[held], **raw})

    def is_answered(self, thread: EntityId, status: ThreadStatus | None) -> bool:
        """Say whether the last statement of a thread that has this state has a resolution."""
        history = self.threads.histories.get(thread)
        stated = [r for _, r in history.statements if r.status is not None] if history else []
        return bool(stated) and stated[-1].status is status and stated[-1].resolution != ""

    def kind_of_series(self, local_id: str, lineage: Sequence[LocalIds]) -> str:
        """Return the kind of all records of the parents whose ids are of the series of one, else ""."""
        if self.series is None:
            self.series = defaultdict(set)
            for key, entity in (pair for ids in lineage for pair in ids.items()):
                kind = "D" if entity in self.decisions.texts else "T"
                self.series[(series_of(key) or ("",))[0]].add(kind)
        place = series_of(local_id)
        kinds = self.series.get(place[0], set()) if place else set()
        return next(iter(kinds)) if len(kinds) == 1 else ""

    def of_series(self, record: Record, lineage: Sequence[LocalIds]) -> Record:
        """Return a record that no rule read, of the kind that all ids of its series have in the parents."""
        if record.family is not Family.PROSE or kind_of(record.local_id) or record.number is not None:
            return record
        if self.kind_of_series(record.local_id, lineage) in ("", _kind_of(record)):
            return record
        shared: dict[str, Any] = {
            name: getattr(record, name)
            for name in ("local_id", "line", "family", "scope", "inherited_from", "turn", "tags")
        }
        if isinstance(record, DecisionRecord):
            status = _AS_THREAD.get(record.status) if record.status else None
            said = "\n".join(filter(None, (record.context, record.rationale)))
            return ThreadRecord(title=record.text, content=said, status=status, **shared)
        return DecisionRecord(
            text=record.title, context=record.content, rationale=record.resolution, **shared
        )

    def with_old_id(self, record: Record, lineage: Sequence[LocalIds]) -> Record:
        """Return a record without a parent's id of its words in brackets: `D1: Use rows (was D2)`."""
        texts, title = self.entities_of(record).texts, _TITLES[_kind_of(record)]
        bracket = _LAST_BRACKET.search(getattr(record, title))
        for name in references(bracket["inner"]) if bracket else ():
            if bracket and match_key(texts.get(_held(lineage, name), "")) == match_key(bracket["text"]):
                words: dict[str, Any] = {title: bracket["text"]}
                return replace(record, **words)
        return record

    def with_state(self, archive: Archive, record: Record, lineage: Sequence[LocalIds]) -> Record:
        """Return a record under a parent's id; where its text is a state, as one with that state.

        So is one whose text is a state and the parent's words: `in force again: Use rows`.
        """
        kind, index = _kind_of(record), self.entities_of(record)
        held = self.held(record, lineage) or index.named(record.entity) or EntityId("")
        own = record.entity in (None, record.local_id) and record.scope is Scope.OWN
        text, known = _made(archive, record)[1], index.texts.get(held, "")
        repeats = known != "" and match_key(behind_clause(text)) == match_key(known)
        if not (own and known) or text == record.local_id or (abbreviates(known, text) and not repeats):
            return record
        text = first_clause(text) if repeats else text
        words, given = stated_beside(text, kind, record.local_id)
        state, fields = update_in(words, kind, record.local_id) if words else ("", {})
        fields |= given
        if not fields:
            return record
        change = state or f"{' and '.join(sorted(OWN_FIELDS[kind] & fields.keys()))} changed"
        message = f"{record.local_id}: “{text[:60]}” was read as what became of it: {change}"
        self.note(archive, record.line, "read-as-state", message)
        named = {_TITLES[kind]: fields.pop("text", known)}
        ended = record.status is not None and record.status.ended
        replaced = {"scope"} if ended else {"scope", "status", "reopened"}
        silent = {key: value for key, value in fields.items() if key in replaced or not getattr(record, key)}
        stated = replace(record, **named, **silent)
        return self.with_old_fields(stated, held) if isinstance(stated, DecisionRecord) else stated

    def least_likeness(
        self, archive: Archive, records: Iterable[Record], lineage: Sequence[LocalIds]
    ) -> float:
        """Return how like a parent's record one under the same id must be to be about the same.

        An archive whose numbers begin anew has other records under its parent's ids. One whose records are
        known under their ids goes on with its parent's.
        """
        found = []
        for record in records:
            known, text = self.words_of(record, lineage), _made(archive, record)[1]
            if known and record.entity is None:
                share = 1.0 if text == record.local_id or abbreviates(known, text) else likeness(known, text)
                ended = record.status is not None and record.status.ended
                found += [] if ended and share < _ALIKE else [share]  # it may be how the parent's ended
        same, alike = (sum(share >= least for share in found) for least in (1.0, _ALIKE))
        others = sum(share < _LEAST_ALIKE for share in found)
        return _LEAST_ALIKE if same > others else _ALIKE if alike >= others else _NEVER_ALIKE

    def as_known(self, archive: Archive, record: Record, lineage: Sequence[LocalIds], alike: float) -> Record:
        """Return a record under a parent's id as a remark on the parent's record, or as a version of it."""
        record = self.with_remark(archive, record, lineage, alike)
        if isinstance(record, DecisionRecord):
            return self.with_old_version(archive, record, lineage, alike)
        known, title = self.words_of(record, lineage), statement(record.title)
        if not known or record.entity or self.threads.by_key.get(match_key(title)):
            return record
        return replace(record, scope=Scope.INHERITED) if likeness(known, title) >= alike else record

    def with_remark(
        self, archive: Archive, record: Record, lineage: Sequence[LocalIds], alike: float
    ) -> Record:
        """Return a record whose words are a remark on a parent's record of its id as one about that.

        So are other words where it is shown as ended or as open still, and where the archive goes on with its
        parent's ids, those of a thread and those that no rule read as a record.
        """
        kind, status = _kind_of(record), record.status
        known, text = self.words_of(record, lineage), _made(archive, record)[1]
        is_own = record.scope is Scope.OWN and not (record.entity or getattr(record, "revises", None))
        is_like = abbreviates(known, text) or likeness(known, text) >= _ALIKE
        is_known = is_like or match_key(text) in self.entities_of(record).by_key
        ended = bool(status and status.ended)
        is_bare = likeness(known, text) < _LEAST_ALIKE and (kind == "T" or not _has_fields(record))
        goes_on = isinstance(record, ThreadRecord) and record.goes_on
        is_loose = kind == "T" or record.family is Family.PROSE
        is_remark = ended or goes_on or (alike == _LEAST_ALIKE and is_bare and is_loose)
        is_new = getattr(status, "value", "") == "revised" or alike == _NEVER_ALIKE or not is_remark
        if not known or not is_own or is_known or is_new:
            return record
        what = f"why it is {status.value}" if status and ended else "a remark"
        message = f"{record.local_id}: “{text[:60]}” was read as {what}"
        self.note(archive, record.line, "read-as-state", message)
        name = {"D": "rationale", "T": "resolution"}[kind] if ended else REST[kind]
        fields: dict[str, Any] = {_TITLES[kind]: known, name: getattr(record, name) or text}
        return replace(record, scope=Scope.INHERITED, **fields)

    def with_old_version(
        self, archive: Archive, record: DecisionRecord, lineage: Sequence[LocalIds], alike: float
    ) -> DecisionRecord:
        """Return a record that names a decision by its id alone, as revising it if it adds words."""
        index, text = self.decisions, statement(record.text)
        named = index.named(record.entity) if record.local_id == record.entity else None
        if record.entity is None and record.scope is Scope.OWN and record.inherited_from is None:
            held = self.held(record, lineage)
            old = self.words_of(record, lineage)
            # An archive that goes on with its parent's ids, and gives one other words and fields, means it.
            alike = 0.0 if alike == _LEAST_ALIKE and _has_fields(record) else alike
            named = held if old and (abbreviates(old, text) or likeness(old, text) >= alike) else None
        if (
            named is None
            or (record.local_id in record.revises and record.status is not DecisionStatus.REVISED)
            or index.projects[named] != archive.project_uuid
            or index.by_key.get(match_key(text))
        ):
            return record
        revised = record.status is DecisionStatus.REVISED and record.superseded_by is None
        ended = record.status is not None and record.status.ended and not revised
        known = index.texts[named]
        is_alike = likeness(known, text) >= alike or shared(known, text) != []
        is_other = _adds_words(known, text) or (revised and match_key(known) != match_key(text))
        if ended or not is_other or not is_alike:
            return record
        message = f"{record.local_id} has other words here, which were registered as its new version"
        self.note(archive, record.line, "reworded", message)
        status = None if revised else record.status
        name = short_id(Kind.DECISION, named) if record.number == "" else record.local_id
        revises = tuple(dict.fromkeys((*record.revises, name)))
        return self.with_old_fields(replace(record, entity=None, status=status, revises=revises), named)

    def with_old_fields(self, record: DecisionRecord, old: EntityId) -> DecisionRecord:
        """Return a record; a new version of a decision has the old one's fields where it is silent."""
        if not record.revises:
            return record
        silent = {
            name: value
            for name, value in self.fields_of(old).items()
            if not getattr(record, name) and (name != "tier_token" or record.tier is None)
        }
        return replace(record, **silent)

    def fields_of(self, decision: EntityId) -> dict[str, Any]:
        """Return the fields of a decision that a new version keeps where its record is silent."""
        known, history = self.manual.get(decision), self.decisions.histories.get(decision)
        if isinstance(known, Decision):
            return {
                "tier": known.epistemic_tier,
                "rationale": known.rationale,
                "alternatives": known.alternatives_rejected,
                "tags": known.tags,
                "governs": known.governs,
                "dependencies": tuple(short_id(Kind.DECISION, each) for each in known.dependencies) or None,
            }
        if history is None or not history.statements:
            return {}
        archive, last = history.statements[-1]
        names = ("tier", "tier_token", "rationale", "alternatives", "governs", "tags")
        # A local id of that archive may be another record's in the one of the new version.
        meant = (self.visible[archive.id].get(key_of(name)) for name in last.dependencies or ())
        needed = tuple(short_id(Kind.DECISION, each) for each in meant if each in self.decisions.texts)
        return {**{name: getattr(last, name) for name in names}, "dependencies": needed or None}

    def match(
        self,
        archive: Archive,
        record: Record,
        text: str,
        lineage: Sequence[LocalIds],
        *,
        inherited: bool = False,
    ) -> EntityId | None:
        """Return the known entity that a record is about, or None."""
        source = self.archive_named(archive, record.inherited_from)
        if source:
            lineage = [self.visible[source.id], *lineage]
        held = self.held(record, lineage)
        if record.number == "":
            lineage = [{key_of(record.local_id): held}, *lineage]
        # A thread revises nothing.
        revises_itself = not {record.local_id, short_id(Kind.DECISION, held)}.isdisjoint(
            getattr(record, "revises", ())
        )
        has_id = record.number != "" or held
        return self.entities_of(record).match(
            text,
            project=archive.project_uuid,
            lineage=lineage,
            local_id=record.local_id if has_id and not revises_itself else "",
            inherited=inherited or record.scope is Scope.INHERITED,
            short=record.entity,
        )

    def has_wrong_id(self, archive: Archive, record: Record) -> bool:
        """Report a short id that does not fit the text; say whether the record has no other id."""
        entities = self.entities_of(record)
        named = entities.named(record.entity)
        first, alone = f"{entities.noun[0].upper()}001", record.local_id == record.entity
        if named is not None and entities.projects[named] == archive.project_uuid:
            kept = "left out" if alone else f"taken for a new {entities.noun}"
            message = f"{record.entity} has another text in the registry; the line was {kept}"
            name = first if alone else record.local_id
            fix = f"write it as `{name} (revises {record.entity}): ...` if it replaces that"
            self.note(archive, record.line, "id-reads-otherwise", message, fix)
        elif alone:
            message = f"{record.entity} is not known in this project; the line was left out"
            fix = f"write it as `{first}: ...` if it is new"
            self.note(archive, record.line, "unknown-id", message, fix)
        return alone

    def add_references(self, archive: Archive, inherited: LocalIds) -> None:
        """Add the references between the archive's records."""
        text, own = self.texts[archive.id], self.own[archive.id]
        self.revising = defaultdict(list)
        for each in text.decisions:
            for name in each.revises:
                self.revising[name].append(each.local_id)
        self.active = {d.local_id for d in text.decisions if d.status is DecisionStatus.ACTIVE}
        for decision in text.decisions:
            if decision.local_id in own:
                self.refer_decision(archive, decision, inherited)
        for thread in text.threads:
            if thread.blocked_by is not None and thread.local_id in own:
                self.refer_thread(archive, thread, thread.blocked_by)

    def archive_named(self, archive: Archive, name: str | None) -> Archive | None:
        """Return the archive of a tag or conversation: a parent, else the last of the project, else any."""
        parents = {parent.id for parent in self.ancestry.parents[archive.id]}
        found = reversed(self.by_name.get(name or "", ()))
        return max(
            found, key=lambda a: (a.id in parents, a.project_uuid == archive.project_uuid), default=None
        )

    def refer_decision(self, archive: Archive, record: DecisionRecord, inherited: LocalIds) -> None:
        """Resolve what a decision depends on, what replaced it, and what it revises."""
        visible, index, line = self.visible[archive.id], self.decisions, record.line
        me = visible[key_of(record.local_id)]
        if record.dependencies:  # the last archive that states some counts alone, as for a thread
            self.dependencies.pop(me, None)
            self.dependencies[me] = [
                Reference(archive, line, (record.local_id, "depends on", name), (me, target))
                for name in record.dependencies
                if (target := self.find(archive, visible, name, index, line, me))
            ]
        successor = None
        if record.superseded_by is not None:
            successor = self.find(archive, visible, record.superseded_by, index, line, me)
        elif record.status is not None and record.status.ended:
            made = map(self.own[archive.id].get, self.revising.get(record.local_id, ()))
            successor = next((each for each in made if each not in {None, me}), None)
        status, revises = record.status or DecisionStatus.ACTIVE, record.revises
        # What is withdrawn is superseded only where the other record says that it replaces this one.
        is_withdrawn = status is DecisionStatus.INVALIDATED and not record.superseded_by
        if successor is not None and (status is DecisionStatus.ACTIVE or is_withdrawn):
            status = DecisionStatus.SUPERSEDED
        if status is DecisionStatus.REVISED and self.is_new_version(record, inherited, me):
            status, revises = DecisionStatus.ACTIVE, (*revises, record.local_id)
        if status.ended:
            kept = None if status is DecisionStatus.INVALIDATED else successor
            self.decisions.histories[me].ends.append(End(archive.compressed_at, archive, status, kept, line))
        for name in revises:
            ids = inherited if name == record.local_id or self.is_kept(archive, name, inherited) else visible
            if old := self.find(archive, ids, name, index, line, me):
                end = End(archive.compressed_at, archive, DecisionStatus.REVISED, me, line)
                self.decisions.history(old, archive, record).ends.append(end)

    def is_kept(self, archive: Archive, name: str, inherited: LocalIds) -> bool:
        """Say whether an archive calls its own record active that has the id of another one of its parent's.

        What the archive replaces under that id is then the parent's record.
        """
        if inherited.get(key_of(name)) in {None, self.own[archive.id].get(name)}:
            return False
        return name in self.active

    def is_new_version(self, record: DecisionRecord, inherited: LocalIds, me: EntityId) -> bool:
        """Say whether a record called revised is the new version of what a parent calls by the same id.

        Nothing is named that came in its place, and its text is another one.
        """
        if record.superseded_by is not None or inherited.get(key_of(record.local_id), me) == me:
            return False
        return record.local_id not in self.revising

    def refer_thread(self, archive: Archive, thread: ThreadRecord, names: Iterable[str]) -> None:
        """Resolve what blocks a thread; the last archive that states it counts alone."""
        visible, index = self.visible[archive.id], self.threads
        me = visible[key_of(thread.local_id)]
        self.blockers.pop(me, None)  # so that the later statement loses if both close a cycle
        self.blockers[me] = [
            Reference(archive, thread.line, (thread.local_id, "is blocked by", name), (me, target))
            for name in names
            if (target := self.find(archive, visible, name, index, thread.line, me))
        ]

    def find(
        self, archive: Archive, ids: LocalIds, name: str, index: EntityIndex, line: int, me: EntityId
    ) -> EntityId | None:
        """Return the entity of a local id, a short id, `TAG:D003` or the words of a record, but not `me`."""
        tag, _, local = name.rpartition(":")
        parts = name.split()
        is_words = len(parts) > 3 or (len(parts) > 1 and not _PLACE.fullmatch(parts[-1]))
        is_words = is_words and key_of(name) not in ids
        if is_words:
            entity = self.worded(archive, name, index)
        elif tag:
            source = self.archive_named(archive, tag)
            entity = self.visible[source.id].get(key_of(local)) if source else None
        else:
            entity = ids.get(key_of(name)) or index.named(name if "_" in name else None)
        if entity is None or entity not in index.texts:
            if is_words and archive.id in self.waiting:
                self.note(
                    archive, line, "unknown-reference", f"“{name[:60]}” may be of a parent not filed yet"
                )
            elif is_words:
                message = f"no record of its parents is “{name[:60]}”"
                self.note(archive, line, "no-reference", message, "write its id or its whole words")
            elif kind_of(local) or " " not in local:  # `May 1` may be a date
                self.note(archive, line, "unknown-reference", f"{name} is not known here")
            return None
        return entity if entity != me else None

    def worded(self, archive: Archive, words: str, index: EntityIndex) -> EntityId | None:
        """Return the entity of an archive or its ancestors whose text is most like some words, or in them."""
        waiting, seen = [archive], dict[EntityId, Archive]()
        while waiting:
            each = waiting.pop()
            waiting += () if each.id in seen else self.ancestry.parents[each.id]
            seen[each.id] = each
        of_archives = (self.own[each].values() for each in seen if each in self.own)
        known = {entity for some in of_archives for entity in some if entity in index.texts}
        held = [(1.0, e) for e in known if match_key(index.texts[e]) in match_key(words)]
        found = held or [(likeness(index.texts[e], words), e) for e in known]
        share, entity = max(found, default=(0.0, EntityId("")))
        return entity if share >= _MOST_ALIKE else None

    def resolve_references(self) -> None:
        """Add references to the histories; those that close a cycle become problems."""
        dependencies, cyclic = without_cycles(r for group in self.dependencies.values() for r in group)
        blockers, also_cyclic = without_cycles(r for group in self.blockers.values() for r in group)
        for reference in (*cyclic, *also_cyclic):
            self.note_cycle(reference.archive, reference.line, *reference.words)
        for me, target in (reference.ends for reference in dependencies):
            self.decisions.histories[me].references.add(target)
        for me, target in (reference.ends for reference in blockers):
            self.threads.histories[me].references.add(target)
        for history in self.decisions.histories.values():
            history.drop_ends_before_return()
        for old, end in remove_successor_cycles(self.decisions.histories):
            names = [short_id(Kind.DECISION, key) for key in (old, end.successor) if key]
            self.note_cycle(end.archive, end.line, names[0], "is replaced by", names[1])

    def note_cycle(self, archive: Archive, line: int | None, one: str, verb: str, other: str) -> None:
        """Add the problem of a reference that closes a cycle."""
        message = f"{one} {verb} {other}, which closes a cycle; this reference was left out"
        self.note(archive, line, "leads-back", message, "remove one of the references")

    def result(self) -> FoldResult:
        """Build the entities from the histories."""
        order, stated, asked = self.ancestry.order, self.decisions.histories, self.threads.histories
        decisions = {key: decision_of(key, history) for key, history in stated.items()}
        threads = {key: thread_of(key, history) for key, history in asked.items()}
        for entity in self.manual.values():
            if isinstance(entity, Decision):
                decisions[entity.id] = manual_decision(entity, stated.get(entity.id))
            else:
                threads[entity.id] = manual_thread(entity, asked.get(entity.id))
        ended_at = {key: min(end.at for end in h.ends) for key, h in stated.items() if h.ends}
        joined, cyclic = links(self.ancestry, [self.contribution(archive) for archive in order])
        for parent, child in (pair for pairs in cyclic.values() for pair in pairs):
            tags = child.archive.compression_tag, "continues", parent.archive.compression_tag
            self.note_cycle(child.archive, None, *tags)
        entities: list[Entity] = [
            *(Project(project_uuid=a.project_uuid, project_name=a.project_name) for a in reversed(order)),
            *(replace(archive, records=local_ids(self.own[archive.id])) for archive in order),
            *conversations_of(order),
            *decisions.values(),
            *threads.values(),
            *revision_conflicts(stated, decisions),
            *edges(joined, stated.keys(), ended_at),
        ]
        mentions = {
            (archive, local): entity for archive, own in self.own.items() for local, entity in own.items()
        }
        return FoldResult(
            {entity.id: entity for entity in entities},
            mentions,
            {key: tuple(found) for key, found in self.problems.items()},
        )

    def contribution(self, archive: Archive) -> Contribution:
        """Return what an archive adds to lineage edges."""
        own, text = self.own[archive.id], self.texts[archive.id]
        ended = (t.local_id for t in text.threads if t.status is not None and t.status.ended)
        return Contribution(
            archive=archive,
            mentioned=own,
            ended=frozenset(own[local] for local in ended if local in own),
            summary=text.summary,
        )
