"""Filing in any order ends in the same files: the heart of "event time decides state"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.archives.changes import settle
from forgekit.archives.fold import FoldResult, fold, ids_of_records, named_by_records
from forgekit.archives.read import ImportOptions, identify
from forgekit.checks import CheckInput, no_cycles
from forgekit.ids import EntityId, decision_id, match_key, project_id, thread_id
from forgekit.model.archive_record import ArchiveText, DecisionRecord, Family, Scope, ThreadRecord
from forgekit.model.entities import (
    Archive,
    CompressionMode,
    Decision,
    DecisionStatus,
    Entity,
    Thread,
    ThreadStatus,
    entity_path,
)
from forgekit.model.registry import Registry
from forgekit.text.codec import dumps
from forgekit.times import Instant

Pair = tuple[Archive, ArchiveText]

# Few texts, so that archives keep meeting the same statements.
TEXTS = ["Keep rows in a table", "keep rows in a table.", "Use tokens", "Cache answers", "Rows in a table"]
TITLES = ["Retry window", "retry window for batch jobs", "Who owns parking", "Column order"]
TAGS = ["ALPHA_ONE", "BETA_TWO", "GAMMA_THREE", "DELTA_FOUR"]


def decisions(local_id: str) -> st.SearchStrategy[DecisionRecord]:
    return st.builds(
        DecisionRecord,
        local_id=st.just(local_id),
        text=st.sampled_from(TEXTS),
        line=st.just(1),
        family=st.just(Family.YAML),
        scope=st.sampled_from(Scope),
        rationale=st.sampled_from(["", "it is simple", "nobody objected"]),
        tier=st.sampled_from([None, 0.15, 0.5, 0.9]),
        status=st.sampled_from([None, DecisionStatus.ACTIVE, *DecisionStatus]),
        revises=st.sampled_from([(), (), ("D001",), ("D002",)]),
        superseded_by=st.sampled_from([None, None, "D001"]),
        dependencies=st.sampled_from([None, (), ("D001",), ("D001", "D009")]),
        alternatives=st.sampled_from([(), ("queue",), ("queue", "file")]),
    )


def threads(local_id: str) -> st.SearchStrategy[ThreadRecord]:
    return st.builds(
        ThreadRecord,
        local_id=st.just(local_id),
        title=st.sampled_from(TITLES),
        line=st.just(1),
        family=st.just(Family.HEADING),
        scope=st.sampled_from(Scope),
        content=st.sampled_from(["", "some words"]),
        status=st.sampled_from([None, ThreadStatus.OPEN, *ThreadStatus]),
        reopened=st.booleans(),
        blocked_by=st.sampled_from([None, (), ("T001",), ("T002",)]),
        waits_for=st.sampled_from([(), ("the bank",), ("a key", "Bob")]),
        resolution=st.sampled_from(["", "done so"]),
    )


@st.composite
def archive(draw: st.DrawFn) -> Pair:
    minute = draw(st.integers(0, 12))
    tag = draw(st.sampled_from(TAGS))
    text = ArchiveText(
        title=draw(st.sampled_from(["One talk", "Another talk", "Third talk"])),
        session_id=draw(st.sampled_from([None, "talk-1", "talk-2"])),
        created=Instant(1_770_000_000_000 + minute * 60_000),
        tag=tag,
        mode=draw(st.sampled_from(CompressionMode)),
        turn_range=draw(st.sampled_from([None, (1, 5), (6, 9)])),
        inherits_from=draw(st.lists(st.sampled_from(TAGS), max_size=2).map(tuple)),
        decisions=tuple(draw(decisions(f"D00{n}")) for n in range(1, draw(st.integers(1, 4)))),
        threads=tuple(draw(threads(f"T00{n}")) for n in range(1, draw(st.integers(1, 4)))),
        carried=draw(
            st.lists(decisions("D001").map(lambda r: replace(r, scope=Scope.INHERITED)), max_size=1).map(
                tuple
            )
        ),
        summary=draw(st.sampled_from(["", "What matters."])),
    )
    raw = draw(st.integers(0, 10**6)).__str__()
    return identify(raw, text, ImportOptions(), draw(st.sampled_from(["Ledger", "Portal"]))), text


worlds = st.lists(archive(), min_size=1, max_size=6, unique_by=lambda pair: pair[0].id)


@st.composite
def registered(draw: st.DrawFn) -> Decision | Thread:
    """Return what a person has registered before any archive came."""
    project = draw(st.sampled_from(["Ledger", "Portal"]))
    made = Instant(1_770_000_000_000 + draw(st.integers(0, 12)) * 60_000)
    common = {"project_name": project, "project_uuid": project_id(project), "created_at": made}
    if draw(st.booleans()):
        text = draw(st.sampled_from(TEXTS))
        key = decision_id(project_id(project), text, EntityId(""), made)
        return Decision(decision_id=key, decision=text, last_validated=made, **common)  # type: ignore[arg-type] # by name
    title = draw(st.sampled_from(TITLES))
    key = thread_id(project_id(project), title, EntityId(""), made)
    return Thread(thread_id=key, title=title, status=ThreadStatus.OPEN, updated_at=made, **common)  # type: ignore[arg-type] # by name


people = st.lists(registered(), max_size=3, unique_by=lambda entity: entity.id)


def by_people(files: Mapping[EntityId, Entity], filed: Sequence[Pair]) -> list[Decision | Thread]:
    made = ids_of_records(filed)
    found = (files[key] for key in sorted(files) if key not in made)
    return [entity for entity in found if isinstance(entity, (Decision, Thread))]


def related(manual: Sequence[Decision | Thread], pairs: Sequence[Pair]) -> list[Decision | Thread]:
    """Return the manual entries that a record is about or refers to."""
    keys, tails = named_by_records(pairs)
    return [entity for entity in manual if match_key(entity.title) in keys or entity.id[-12:] in tails]


def file_all(
    commands: Sequence[Sequence[Pair]], own: Sequence[Decision | Thread] = (), *, every: bool = False
) -> dict[EntityId, Entity]:
    """File archives, some with each command, as `sync-compression` does, beside manual entries.

    Args:
        commands: the archives of each.
        own: the manual entries.
        every: fold all manual entries, not only those that a record is about.
    """
    files: dict[EntityId, Entity] = {entity.id: entity for entity in own}
    filed: list[Pair] = []
    for pairs in commands:
        manual = by_people(files, filed)
        manual = manual if every else related(manual, [*filed, *pairs])
        before, after = fold(filed, manual), fold([*filed, *pairs], manual)
        changes = settle(before, after, Registry.of(files.values()))
        for gone in changes.deletes:
            del files[gone.id]
        files.update((entity.id, entity) for entity in changes.writes)
        filed += pairs
    return files


def one_by_one(pairs: Sequence[Pair]) -> list[list[Pair]]:
    return [[pair] for pair in pairs]


def texts(files: Mapping[EntityId, Entity]) -> dict[str, bytes]:
    """Return the tree: path to bytes."""
    return {entity_path(files[key]): dumps(files[key]).encode() for key in sorted(files)}


@settings(max_examples=100, deadline=None)
@given(worlds, people, st.data())
def test_any_order_and_any_split_into_commands_give_the_same_tree(
    pairs: list[Pair], own: list[Decision | Thread], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(pairs))
    ends = sorted(data.draw(st.sets(st.integers(1, len(pairs)))) | {len(pairs)})
    commands = [shuffled[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    tree = texts(file_all(commands, own))
    assert tree == texts(file_all(one_by_one(pairs), own))
    assert tree == texts(file_all([pairs], own))


@settings(max_examples=100, deadline=None)
@given(worlds, people)
def test_manual_entries_that_no_record_is_about_change_nothing(
    pairs: list[Pair], own: list[Decision | Thread]
) -> None:
    commands = one_by_one(pairs)
    assert texts(file_all(commands, own)) == texts(file_all(commands, own, every=True))


@settings(max_examples=60, deadline=None)
@given(worlds, people)
def test_nobody_says_anew_what_people_have_registered(
    pairs: list[Pair], own: list[Decision | Thread]
) -> None:
    files = file_all(one_by_one(pairs), own)
    registered = {(e.kind, e.project_uuid, match_key(e.title)) for e in own}
    made = [files[key] for key in files.keys() - {e.id for e in own}]
    found = [e for e in made if isinstance(e, (Decision, Thread))]
    assert not registered & {(e.kind, e.project_uuid, match_key(e.title)) for e in found}


@settings(max_examples=40, deadline=None)
@given(worlds)
def test_files_are_what_the_archives_say_together(pairs: list[Pair]) -> None:
    assert texts(file_all(one_by_one(pairs))) == texts(fold(pairs).entities)


@settings(max_examples=40, deadline=None)
@given(worlds, people)
def test_filing_again_changes_nothing(pairs: list[Pair], own: list[Decision | Thread]) -> None:
    files = file_all(one_by_one(pairs), own)
    said = fold(pairs, by_people(files, pairs))
    assert settle(said, said, Registry.of(files.values())).writes == ()


@settings(max_examples=40, deadline=None)
@given(worlds)
def test_an_archive_that_shows_a_thread_open_never_reopens_it(pairs: list[Pair]) -> None:
    said = fold(pairs)
    for key, entity in said.entities.items():
        if isinstance(entity, Thread) and entity.status is ThreadStatus.OPEN:
            spoken = [record for pair in pairs for record in _records(said, pair, key)]
            ended = any(record.status is not None and record.status.ended for record in spoken)
            assert not ended or any(record.reopened for record in spoken)


def _records(said: FoldResult, pair: Pair, key: EntityId) -> list[ThreadRecord]:
    return [r for r in pair[1].threads if said.mentions.get((pair[0].id, r.local_id)) == key]


@given(worlds)
@settings(max_examples=200, deadline=None)
def test_nothing_that_archives_say_leads_back_to_itself(pairs: list[Pair]) -> None:
    said = Registry.of(fold(pairs).entities.values())
    assert list(no_cycles(said, CheckInput())) == []
