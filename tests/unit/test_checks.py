"""The checks: each finding once, by name, and nothing about a sound registry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from sample_entities import PROJECT, P, archive, chain, conflict, day, decision, edge, thread

from forgekit import ids
from forgekit.checks import CheckInput, Fix, check, fixes, locate
from forgekit.ids import EntityId
from forgekit.model.entities import (
    Candidate,
    CandidateStatus,
    Compression,
    ConflictStatus,
    Decision,
    DecisionStatus,
    Entity,
    Priority,
    Proposal,
    ThreadStatus,
    entity_path,
)
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.text.codec import dumps
from forgekit.times import Instant

A, B = chain("a", "b")
X = decision("Keep rows", A, B)
Y = decision("Drop rows", A, dependencies=(X.id,))
T = thread("Retry", A)
NOBODY = ids.BASE
EDGE = edge(A, B, Compression(compression_tag="A", decisions_carried=(("D001", X.id),)))
BECAME = Candidate(
    candidate_id=ids.thread_id(P, "Candidate", A.id),
    candidate="Keep rows",
    status=CandidateStatus.APPROVED,
    proposes=Proposal.DECISION,
    confidence=0.9,
    why="it says so",
    project_name=PROJECT.project_name,
    project_uuid=P,
    conversation_id=A.id,
    turn=1,
    became=NOBODY,
)
SOUND: tuple[Entity, ...] = (
    PROJECT,
    A,
    B,
    X,
    Y,
    T,
    EDGE,
    conflict(X, Y),
    archive(A, records=(("D001", X.id), ("T001", T.id))),
)


def found(*changed: Entity, only: Iterable[Entity] | None = None) -> list[tuple[str, str, str]]:
    """Check the sound registry with some entities replaced or added."""
    registry = Registry.of({e.id: e for e in (*SOUND, *changed)}.values())
    paths = None if only is None else frozenset(entity_path(e) for e in only)
    return [(p.code, p.field, p.message) for p in check(registry, CheckInput(only=paths))]


def test_nothing_is_said_of_a_sound_registry() -> None:
    texts = {entity_path(e): dumps(e) for e in SOUND}
    assert check(Registry.of(SOUND), CheckInput(texts=texts)) == []


def test_a_finding_names_the_file_and_says_what_to_do() -> None:
    bad = replace(X, decision="Keep all rows")
    [problem] = check(Registry.of([PROJECT, A, B, bad]), CheckInput(committed={X.id: X}))
    assert problem == Problem(
        code="edited-in-place",
        message="the text was changed under the same id; a new text is a new decision",
        path=entity_path(X),
        field="decision",
        fix="`forgekit check --fix` turns the edit into a revision",
        fixable=True,
    )


LATE = Decision(
    decision_id=ids.decision_id(P, "By hand", EntityId(""), day(3)),
    decision="By hand",
    project_name=X.project_name,
    project_uuid=P,
    created_at=day(3),
    last_validated=day(3),
)
NEW_TEXT = "the text was changed under the same id; a new text is a new decision"
ID_PART = "was changed, and the id is made from it"


@pytest.mark.parametrize(
    ("edited", "committed", "field", "message"),
    [
        (replace(LATE, originated_in=A.id), LATE, "originated_in", ID_PART),
        (replace(X, originated_in=None), X, "originated_in", ID_PART),
        (replace(X, decision="Keep  rows ", originated_in=B.id), X, "originated_in", ID_PART),
        (replace(X, project_uuid=NOBODY), X, "project_uuid", ID_PART),
        (
            replace(X, decision="Keep all rows", status=DecisionStatus.INVALIDATED),
            replace(X, status=DecisionStatus.INVALIDATED),
            "decision",
            NEW_TEXT,
        ),
        (replace(X, decision=Y.decision), X, "decision", NEW_TEXT),
        (
            replace(X, decision="Keep all rows"),
            None,
            "decision",
            "the text, originated_in or project_uuid was changed, and the id is made from them",
        ),
    ],
    ids=["origin added", "origin gone", "other origin", "other project", "ended", "said already", "unknown"],
)
def test_an_edit_that_is_no_revision_is_to_be_undone(
    edited: Decision, committed: Decision | None, field: str, message: str
) -> None:
    registry = Registry.of({e.id: e for e in (*SOUND, edited)}.values())
    given = CheckInput(committed={edited.id: committed} if committed else {})
    [problem] = [p for p in check(registry, given) if p.code == "edited-in-place"]
    assert (problem.field, problem.message) == (field, message)
    assert (problem.fix, problem.fixable) == ("undo the edit", False)
    assert fixes(registry, given, day(50)) == []


def test_case_and_blanks_at_the_ends_of_a_text() -> None:
    assert found(replace(X, decision="Keep  rows ")) == []
    assert [code for code, *_ in found(replace(X, decision="keep rows"))] == ["edited-in-place"]


def test_a_decision_without_a_conversation_has_a_derivation_too() -> None:
    assert found(LATE) == []
    assert [code for code, *_ in found(replace(LATE, decision="By foot"))] == ["edited-in-place"]


def test_titles_of_threads_and_conversations_may_be_edited() -> None:
    assert found(replace(T, title="Try again"), replace(A, title="Alpha")) == []


@pytest.mark.parametrize(
    ("entity", "field", "basis"),
    [
        (replace(EDGE, lineage_id=X.id), "lineage_id", "source_conversation_id and target_conversation_id"),
        (replace(conflict(X, Y), conflict_id=T.id), "conflict_id", "decision_a and decision_b"),
        (
            replace(archive(A), turn_range=(1, 2)),
            "archive_id",
            "project_uuid, conversation_id, turn_range and compressed_at",
        ),
    ],
    ids=["edge", "conflict", "archive"],
)
def test_ids_follow_from_what_they_name(entity: Entity, field: str, basis: str) -> None:
    others = [e for e in SOUND if e.id != entity.id]
    [problem] = [p for p in check(Registry.of([*others, entity])) if p.code == "id-derivation"]
    assert problem.field == field
    assert problem.message.endswith(f", from {basis}")


def test_a_project_renamed_by_hand() -> None:
    renamed = replace(PROJECT, project_name="Books")
    [problem] = check(Registry.of([renamed, *(e for e in SOUND if e.id != renamed.id)]))
    assert (problem.code, problem.field) == ("id-derivation", "project_uuid")
    assert problem.message == f"the id should be {ids.project_id('Books')}, from project_name"
    assert (
        problem.fix == "undo the change: a project keeps its name, from which the ids of its records follow"
    )


def test_project_name_and_id_must_agree() -> None:
    message = "is 'Books', but project_uuid belongs to the project 'Ledger'"
    assert found(replace(T, project_name="Books")) == [("project-mismatch", "project_name", message)]


def test_a_project_name_agrees_with_the_id_where_the_project_has_no_file() -> None:
    others = [e for e in SOUND if e.id not in {PROJECT.id, T.id}]
    problems = check(Registry.of([*others, replace(T, project_name="Books")]))
    message = "is 'Books', but project_uuid belongs to another project"
    assert [(p.path, p.message) for p in problems if p.code == "project-mismatch"] == [
        (entity_path(T), message)
    ]


@pytest.mark.parametrize(
    ("entity", "field", "kind"),
    [
        (replace(Y, dependencies=(NOBODY,)), "dependencies", "decision"),
        (replace(T, blocked_by=(NOBODY,)), "blocked_by", "thread"),
        (replace(T, first_seen_in=NOBODY), "first_seen_in", "conversation"),
        (
            replace(
                EDGE,
                compressions=(Compression(compression_tag="A", threads_carried=(("", NOBODY),)),),
            ),
            "compressions",
            "thread",
        ),
        (
            replace(
                EDGE,
                compressions=(Compression(compression_tag="A", threads_resolved=(("", NOBODY),)),),
            ),
            "compressions",
            "thread",
        ),
        (replace(T, status=ThreadStatus.RESOLVED, resolved_in=NOBODY), "resolved_in", "conversation"),
        (archive(A, records=(("D009", NOBODY),)), "records", "decision or thread"),
        (BECAME, "became", "decision or thread"),
    ],
    ids=["dependency", "blocker", "conversation", "carried", "resolved", "end", "record", "candidate"],
)
def test_what_is_named_must_exist(entity: Entity, field: str, kind: str) -> None:
    assert found(entity) == [("broken-reference", field, f"no {kind} has the id {NOBODY}")]


def test_what_is_named_must_be_of_the_right_kind() -> None:
    wrong = f"thr_{T.id[-12:]} is a thread, and a decision belongs here"
    assert found(replace(Y, dependencies=(T.id,))) == [("broken-reference", "dependencies", wrong)]


def test_a_file_that_cannot_be_read_breaks_no_reference() -> None:
    others = [e for e in SOUND if e is not X]
    unread = Problem(code="format", message="is not YAML", path=entity_path(X))
    assert check(Registry.of(others, [unread])) == [unread]


def test_cycles_are_named_on_each_file_that_takes_part() -> None:
    x = replace(X, dependencies=(Y.id,))
    names = ", ".join(f"dec_{i[-12:]}" for i in sorted((X.id, Y.id)))
    message = f"decisions depend on each other in a circle: {names}"
    assert sorted(found(x)) == [("cycle", "dependencies", message)] * 2
    assert found(x, only=[x]) == [("cycle", "dependencies", message)]
    itself = replace(T, blocked_by=(T.id,))
    assert found(itself) == [
        ("cycle", "blocked_by", f"threads wait for each other in a circle: thr_{T.id[-12:]}")
    ]


def test_decisions_that_replace_each_other() -> None:
    x = replace(X, status=DecisionStatus.SUPERSEDED, superseded_by=Y.id)
    y = replace(Y, status=DecisionStatus.SUPERSEDED, superseded_by=X.id)
    registry = Registry.of({e.id: e for e in (*SOUND, x, y)}.values())
    said = [(p.field, p.fix) for p in check(registry) if p.code == "cycle"]
    fix = "take one of these references out and make that decision `active`"
    assert said.count(("superseded_by", fix)) == 2


def test_conversations_that_continue_each_other() -> None:
    (c,) = chain("c")
    c = replace(c, conversation_id=ids.conversation_id(P, "c", day(5)), created_at=day(5))
    codes = [(code, field) for code, field, _ in found(c, edge(B, c), edge(c, A))]
    assert codes == [("cycle", "target_conversation_id")] * 3


def test_a_long_cycle_is_named_in_short() -> None:
    many = [decision(f"number {n}", A) for n in range(9)]
    ring = [replace(d, dependencies=(many[n - 1].id,)) for n, d in enumerate(many)]
    messages = {message for code, _, message in found(*ring) if code == "cycle"}
    assert len(messages) == 1
    assert messages.pop().endswith(" and 4 more")


def test_a_status_says_what_a_reader_asks_next() -> None:
    registry = Registry.of(
        [
            *(e for e in SOUND if e.id not in {Y.id, T.id, conflict(X, Y).id}),
            replace(Y, status=DecisionStatus.SUPERSEDED),
            replace(T, status=ThreadStatus.RESOLVED),
            conflict(X, Y, status=ConflictStatus.RESOLVED),
        ]
    )
    assert {(p.severity, p.message) for p in check(registry)} == {
        (Severity.WARNING, "is superseded, and superseded_by does not say by what"),
        (Severity.WARNING, "is resolved, and `kept` is missing"),
    }


def test_a_conflict_keeps_one_of_its_sides_and_is_moot_without_one() -> None:
    z = decision("Sort rows", A)
    kept = conflict(X, Y, status=ConflictStatus.RESOLVED, kept=z.id)
    message = f"dec_{z.id[-12:]} is neither side of this conflict"
    assert found(z, kept) == [("status-fields", "kept", message)]
    moot = f"is open, and no longer in force: dec_{X.id[-12:]} (invalidated)"
    assert ("moot-conflict", "status", moot) in found(replace(X, status=DecisionStatus.INVALIDATED))


def test_an_archive_is_write_once() -> None:
    filed = archive(A)
    message = "the text is not the one that was filed; archives are write-once"
    assert found(replace(filed, body="text \n")) == [("archive-changed", "content_sha256", message)]


def test_a_key_that_looks_like_a_known_one() -> None:
    slip = replace(T, extra={"prioritty": "high", "team": "blue"})
    message = "is not a key of a thread; did you mean `priority`?"
    assert found(slip) == [("probable-slip", "prioritty", message)]


@pytest.mark.parametrize(
    ("character", "said"),
    [
        ("\u202e", "U+202E (RIGHT-TO-LEFT OVERRIDE)"),
        ("\u200b", "U+200B (ZERO WIDTH SPACE)"),
        ("\U000e0041", "U+E0041 (TAG LATIN CAPITAL LETTER A)"),
    ],
)
def test_characters_that_nobody_sees(character: str, said: str) -> None:
    message = f"holds the invisible character {said}"
    assert found(replace(T, body=f"a{character}b")) == [("hidden-character", "body", message)]
    assert found(replace(T, tags=(f"a{character}",))) == [("hidden-character", "tags", message)]


def test_joiners_and_marks_that_scripts_need_are_no_finding() -> None:
    assert found(replace(T, body="\U0001f469\u200d\U0001f52c \u05d0\u200f \u0645\u06cc\u200c")) == []


def test_projects_that_read_alike() -> None:
    twin = replace(PROJECT, project_name="LEDGER", project_uuid=ids.project_id("LEDGER"))
    assert sorted(found(twin)) == [
        ("twin-project", "project_name", "reads like the other project 'LEDGER'"),
        ("twin-project", "project_name", "reads like the other project 'Ledger'"),
    ]
    assert len(found(twin, only=[twin])) == 1


def test_only_the_files_asked_about_are_looked_at() -> None:
    bad = replace(T, blocked_by=(NOBODY,)), replace(X, decision="Other")
    assert [code for code, *_ in found(*bad, only=[T])] == ["broken-reference"]
    assert found(*bad, only=[A]) == []
    elsewhere = CheckInput(only=frozenset({"registry/threads/none.md", "README.md"}))
    assert check(Registry.of(SOUND), elsewhere) == []


def test_a_line_is_added_where_the_text_is_known() -> None:
    bad = replace(X, decision="Other")
    [problem] = locate(check(Registry.of([PROJECT, A, B, bad])), {entity_path(X): dumps(bad)}.get)
    assert problem.line == 3
    assert str(problem).startswith(f"{entity_path(X)}:3: decision: the text, originated_in or")
    assert locate([problem], lambda _: None) == [problem]


def _plan(text: str | None, *entities: Entity, committed: Decision | None = None) -> list[Fix]:
    given = CheckInput(
        texts={entity_path(entities[0]): text} if text else {},
        committed={committed.id: committed} if committed else {},
    )
    return fixes(Registry.of(entities), given, day(50))


def test_an_edit_in_place_becomes_a_revision() -> None:
    old = replace(X, local_id="D001", tags=("old",))
    edited = replace(old, decision="Keep all rows", tags=("new",), body="## Rationale\n\nMore.")
    [fix] = _plan(None, edited, A, B, committed=old)
    new_id = ids.decision_id(P, "Keep all rows", EntityId(""), day(50))
    assert fix.writes == (
        replace(old, status=DecisionStatus.REVISED, superseded_by=new_id),
        replace(
            edited,
            decision_id=new_id,
            local_id=None,
            originated_in=None,
            conversation_ids=(),
            created_at=day(50),
            last_validated=day(50),
        ),
    )
    assert fix.message == f"the old text is back as revised, and the new one is dec_{new_id[-12:]}"
    assert check(Registry.of([PROJECT, A, B, *fix.writes])) == []


def test_a_state_that_was_changed_in_a_file_gets_its_time() -> None:
    ended = replace(T, status=ThreadStatus.RESOLVED)
    given = CheckInput(before={T.id: T})
    registry = Registry.of([PROJECT, A, ended])
    assert [(p.code, p.severity) for p in check(registry, given)] == [
        ("undated-change", Severity.WARNING),
        ("no-resolution", Severity.WARNING),
    ]
    [fix] = fixes(registry, given, day(50))
    assert fix.writes == (replace(ended, updated_at=day(50)),)
    told = replace(ended, updated_at=day(50), body="## Resolution\n\nTwice.")
    for sound in (told, replace(T, priority=Priority.LOW)):
        registry = Registry.of([PROJECT, A, sound])
        assert (check(registry, given), fixes(registry, given, day(60))) == ([], [])


def test_a_validation_before_the_decision_is_found() -> None:
    early = replace(X, last_validated=Instant(X.created_at - 1))
    [problem] = check(Registry.of([PROJECT, A, B, early]))
    assert (problem.field, problem.severity) == ("last_validated", Severity.WARNING)
    assert problem.message == "lies before created_at"


def test_a_second_section_of_one_name_is_found() -> None:
    twice = replace(X, body="## Rationale\n\nCheap.\n\n## Aside\n\nSo.\n\n## Rationale\n\nFast.")
    text = dumps(twice)
    [problem] = check(Registry.of([PROJECT, A, B, twice]), CheckInput(texts={entity_path(twice): text}))
    assert (problem.code, problem.severity) == ("repeated-section", Severity.WARNING)
    assert problem.line == text.splitlines().index("Fast.") - 1
    once = replace(X, body="## Rationale\n\nCheap.\n\n## Aside\n\nSo.")
    assert check(Registry.of([PROJECT, A, B, once])) == []


@pytest.mark.parametrize(
    ("body", "heading"),
    [
        ("## Begruendung\n\nCheap.", "## Begruendung"),
        ("## rationale\n\nCheap.", "## rationale"),
        ("### Rationale\n\nCheap.", "### Rationale"),
        ("# Rationale\n\nCheap.", "# Rationale"),
        ("## Rationale\n\nCheap.\n\n## Aside\n\nSo.", ""),
        ("## Context\n\nNone.\n\n### Options", ""),
    ],
)
def test_a_heading_that_is_not_read_as_the_rationale_is_remarked(body: str, heading: str) -> None:
    message = (
        f"{entity_path(X)}: has no section `## Rationale`, and `{heading}` is not read as one "
        "(write the heading as `## Rationale` if it is meant so)"
    )
    found = check(Registry.of([PROJECT, A, B, replace(X, body=body)]))
    assert [str(problem) for problem in found] == [message] * bool(heading)


def test_a_heading_that_is_not_read_as_the_resolution_is_remarked() -> None:
    ended = thread("Who pays", A, status=ThreadStatus.RESOLVED, body="Text.\n\n## Ergebnis\n\nWe do.")
    [problem] = check(Registry.of([PROJECT, A, ended]))
    assert problem.message == "has no section `## Resolution`, and `## Ergebnis` is not read as one"


def test_a_canonical_text_is_written_where_it_loses_nothing() -> None:
    quoted = dumps(X).replace("status: active", "status: 'active'")
    for text in (quoted, quoted.replace("\n", "\r\n")):
        [fix] = _plan(text, X)
        assert (fix.code, fix.writes) == ("not-canonical", (X,))
    for text in (dumps(X), dumps(X).replace("\n", "\r\n")):  # git converts line ends
        assert _plan(text, X) == []
        assert check(Registry.of(SOUND), CheckInput(texts={entity_path(X): text})) == []
    edited = replace(X, originated_in=None)
    [fix] = _plan(dumps(edited).replace("status: active", "status: 'active'"), edited, committed=X)
    assert (fix.code, fix.writes) == ("not-canonical", (edited,))
    commented = dumps(X).replace("status: active", "status: active  # for now")
    assert _plan(commented, X) == []
    problems = check(Registry.of(SOUND), CheckInput(texts={entity_path(X): commented}))
    assert [(p.code, p.severity, p.fixable) for p in problems] == [("not-canonical", Severity.INFO, False)]


def test_an_archive_is_never_rewritten() -> None:
    filed = archive(A)
    text = dumps(filed).replace("compression_tag: A", "compression_tag: 'A'")
    assert text != dumps(filed)
    assert _plan(text, filed) == []
    problems = check(Registry.of(SOUND), CheckInput(texts={entity_path(filed): text}))
    assert [(p.code, p.fixable) for p in problems] == [("not-canonical", False)]
