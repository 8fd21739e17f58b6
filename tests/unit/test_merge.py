"""Each rule of the merge, by example."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest

from forgekit.errors import FormatError
from forgekit.ids import EntityId, pair_id
from forgekit.merge import conflicting_edits
from forgekit.merge.conflicting_edits import FieldConflict, sentence
from forgekit.merge.merge import CHOICES, Merged, merge, merge_file, reconcile
from forgekit.merge.revisions import completed, recorded, reopened
from forgekit.model.entities import (
    COMPRESSION,
    FIELDS,
    Archive,
    Compression,
    CompressionMode,
    Conflict,
    ConflictStatus,
    Decision,
    DecisionStatus,
    Lineage,
    Priority,
    Thread,
    ThreadStatus,
)
from forgekit.model.kinds import Kind, short_id
from forgekit.model.rules import section
from forgekit.text import codec
from forgekit.times import Instant

P = EntityId("a48e83a0-af8c-5975-9225-16e202e1338c")
I1, I2, I3, I4 = (EntityId(f"018bcfe5-6800-8{n}25-89cf-d5faf30f5d9e") for n in range(1, 5))


def at(hour: int) -> Instant:
    return Instant(1_700_000_000_000 + hour * 3_600_000)


T = Thread(thread_id=I1, title="T", project_name="N", project_uuid=P, created_at=at(0), updated_at=at(0))
D = Decision(
    decision_id=I1, decision="D", project_name="N", project_uuid=P, created_at=at(0), last_validated=at(0)
)
X = Conflict(conflict_id=I1, decision_a=I2, decision_b=I3, nature="n", detected_at=at(5))
L = Lineage(
    lineage_id=I1, source_conversation_id=I2, target_conversation_id=I3, project_name="N", project_uuid=P
)
A = Archive(
    archive_id=I1,
    compression_tag="A",
    compression_mode=CompressionMode.LOSSY,
    compressed_at=at(0),
    conversation_id=I2,
    conversation_title="C",
    project_name="N",
    project_uuid=P,
    conversation_started=at(0),
    content_sha256="0" * 64,
    body="a\r\n",
)
RESOLVED, ABANDONED = ThreadStatus.RESOLVED, ThreadStatus.ABANDONED


def put(entity: Any, **values: Any) -> Any:
    return dataclasses.replace(entity, **values)


def both(base: Any, ours: Any, theirs: Any) -> Any:
    """Return what both orders of the sides agree on, without a conflict."""
    merged = merge(base, ours, theirs)
    assert merged.conflicts == ()
    assert merge(base, theirs, ours) == merged
    return merged.entity


def test_every_choice_is_of_a_group_of_fields() -> None:
    groups = {(kind, field.together) for kind, fields in FIELDS.items() for field in fields}
    assert set(CHOICES) <= groups


def test_every_field_of_a_compression_is_declared() -> None:
    assert [field.name for field in COMPRESSION] == [f.name for f in dataclasses.fields(Compression)]


def test_deletion() -> None:
    assert merge(T, None, T) == merge(T, T, None) == merge(T, None, None) == Merged(entity=None)
    new = put(T, title="New")
    assert merge(T, None, new) == Merged(
        entity=new, conflicts=(FieldConflict(field="", base=T, winner=new, loser=None),)
    )
    assert merge(T, new, None) == Merged(
        entity=new, conflicts=(FieldConflict(field="", base=T, winner=new, loser=None),)
    )
    assert merge(None, None, T) == merge(None, T, None) == Merged(entity=T)


def test_two_entities_are_not_merged() -> None:
    with pytest.raises(ValueError, match=r"^only states of one entity can be merged$"):
        merge(None, T, put(T, thread_id=I2))
    with pytest.raises(ValueError, match=r"^only states of one entity can be merged$"):
        merge(cast(Any, T), cast(Any, D), cast(Any, D))


def test_each_side_changes_its_own_field() -> None:
    merged = both(T, put(T, title="New"), put(T, priority=Priority.HIGH, local_id="T001"))
    assert merged == put(T, title="New", priority=Priority.HIGH, local_id="T001")


@pytest.mark.parametrize(
    ("field", "ours", "theirs"), [("title", "A", "B"), ("priority", Priority.HIGH, Priority.LOW)]
)
def test_one_field_changed_on_both_sides_is_a_conflict(field: str, ours: Any, theirs: Any) -> None:
    merged = merge(T, put(T, **{field: ours}), put(T, **{field: theirs}))
    expected = FieldConflict(field=field, base=getattr(T, field), winner=ours, loser=theirs)
    assert merged == Merged(entity=put(T, **{field: ours}), conflicts=(expected,))


def test_a_removal_is_authoritative() -> None:
    base = put(T, tags=("a", "b", "c"))
    assert both(base, put(T, tags=("a", "c", "z")), put(T, tags=("a", "b", "y"))).tags == ("a", "y", "z")


def test_lists_keep_the_order_one_side_gave_them() -> None:
    base = put(T, tags=("a", "b", "c"))
    turned = put(T, tags=("c", "b", "a"))
    assert both(base, turned, put(T, tags=("a", "b", "c", "d"))).tags == ("a", "b", "c", "d")
    assert both(base, put(turned, tags=("c", "b", "a", "e")), put(T, tags=("a", "b", "c", "d"))).tags == (
        *("c", "b", "a"),
        *("d", "e"),
    )
    assert both(base, put(T, tags=("c", "b", "a")), put(T, tags=("b", "a", "c"))).tags == ("b", "a", "c")


def test_sets_of_ids_are_sorted() -> None:
    base = put(T, conversation_ids=(I2,))
    merged = both(base, put(T, conversation_ids=(I2, I4)), put(T, conversation_ids=(I3, I2, I1)))
    assert merged.conversation_ids == (I1, I2, I3, I4)


def test_times() -> None:
    merged = both(
        D, put(D, last_validated=at(5), created_at=at(3)), put(D, last_validated=at(9), created_at=at(2))
    )
    assert (merged.last_validated, merged.created_at) == (at(9), at(2))
    assert both(X, put(X, detected_at=at(4)), put(X, detected_at=at(6))).detected_at == at(4)


def ended(
    hour: int, status: ThreadStatus = RESOLVED, where: EntityId | None = I2, text: str = "Done."
) -> Thread:
    body = f"## Resolution\n\n{text}"
    return dataclasses.replace(T, status=status, updated_at=at(hour), resolved_in=where, body=body)


def test_an_end_stands_over_open() -> None:
    touched = put(T, updated_at=at(3))
    assert both(T, ended(5), touched) == ended(5)
    assert both(None, ended(0), T) == ended(0)
    assert both(T, ended(5), put(T, title="New")) == put(ended(5), title="New")


def test_an_explicit_reopening_after_the_end_stands() -> None:
    base = ended(5)
    assert both(base, put(T, updated_at=at(9)), base) == put(T, updated_at=at(9))
    reopened = put(T, updated_at=at(9))
    merged = merge(base, reopened, put(base, updated_at=at(6)))
    assert merged.entity == reopened


def test_of_two_ends_the_later_stands_with_its_resolution() -> None:
    early, late = ended(5, text="A."), ended(7, ABANDONED, I3, "B.")
    told = FieldConflict(
        field="## Resolution", base=None, winner="## Resolution\n\nB.", loser="## Resolution\n\nA."
    )
    gone = {"status": RESOLVED, "resolved_in": I2, "updated_at": at(5)}
    overridden = tuple(
        FieldConflict(field=name, base=getattr(T, name), winner=getattr(late, name), loser=value)
        for name, value in gone.items()
    )
    assert merge(T, early, late) == Merged(entity=late, conflicts=(told,), overridden=overridden)
    assert merge(T, late, early).entity == late


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ended(5), ended(5, ABANDONED)),
        (ended(5), ended(5, ThreadStatus.SUPERSEDED)),
        (ended(5, ThreadStatus.SUPERSEDED), ended(5, ABANDONED)),
        (ended(5), ended(5, where=I3)),
        (ended(5), ended(5, where=None)),
    ],
)
def test_ties_between_ends(first: Thread, second: Thread) -> None:
    assert both(T, first, second) == first


def test_sections_merge_apart() -> None:
    base = put(D, body="Lead\n\n## Rationale\n\nwhy\n\n## Context\n\nthen")
    ours = put(base, body=base.body.replace("why", "because") + "\n\n## Ours\n\no")
    theirs = put(base, body=base.body.replace("then", "now").replace("Lead", "Led") + "\n\n## Aside\n\nt")
    expected = "Led\n\n## Rationale\n\nbecause\n\n## Context\n\nnow\n\n## Aside\n\nt\n\n## Ours\n\no"
    assert both(base, ours, theirs).body == expected


def test_one_section_changed_on_both_sides_is_a_conflict() -> None:
    base = put(D, body="Lead\n\n## Context\n\nthen")
    ours, theirs = put(D, body="Lead\n\n## Context\n\nA"), put(D, body="Led\n\n## Context\n\nB")
    told = FieldConflict(
        field="## Context", base="## Context\n\nthen", winner="## Context\n\nA", loser="## Context\n\nB"
    )
    assert merge(base, ours, theirs) == Merged(
        entity=put(D, body="Led\n\n## Context\n\nA"), conflicts=(told,)
    )
    gone = merge(base, put(D, body="Lead"), put(D, body="Lead\n\n## Context\n\nB"))
    assert gone.entity is not None
    assert gone.entity.body == "Lead\n\n## Context\n\nB"
    assert [c.field for c in gone.conflicts] == ["## Context"]


def test_an_ended_decision_stands_over_active() -> None:
    gone = put(D, status=DecisionStatus.SUPERSEDED, superseded_by=I2)
    assert both(None, gone, D) == gone
    assert both(D, gone, put(D, tags=("x",))) == put(gone, tags=("x",))


def test_a_validation_of_what_the_other_side_ended_is_told() -> None:
    wrong = put(D, status=DecisionStatus.INVALIDATED)
    merged = same(D, wrong, put(D, last_validated=at(9)))
    assert merged.entity == put(wrong, last_validated=at(9))
    told = FieldConflict(field="status", base=D.status, winner=wrong.status, loser=DecisionStatus.ACTIVE)
    assert (merged.conflicts, merged.overridden) == ((), (told,))
    assert same(D, wrong, put(D, tags=("x",))).overridden == ()


def test_two_ends_of_a_decision_are_a_conflict_with_one_winner() -> None:
    revised = put(D, status=DecisionStatus.REVISED, superseded_by=I2, revised_in=I4)
    replaced = put(D, status=DecisionStatus.SUPERSEDED, superseded_by=I3)
    invalid = put(D, status=DecisionStatus.INVALIDATED)
    for ours, theirs, winner in (
        (revised, replaced, replaced),
        (replaced, revised, replaced),
        (invalid, revised, revised),
        (replaced, put(replaced, superseded_by=I2), put(replaced, superseded_by=I2)),
        (put(replaced, superseded_by=None), replaced, replaced),
    ):
        merged = merge(D, ours, theirs)
        assert merged.entity == winner
        loser = theirs if winner == ours else ours
        names = ("status", "revised_in", "superseded_by")
        differ = [name for name in names if getattr(ours, name) != getattr(theirs, name)]
        assert merged.conflicts == tuple(
            FieldConflict(field=n, base=getattr(D, n), winner=getattr(winner, n), loser=getattr(loser, n))
            for n in differ
        )


def test_any_answer_to_a_conflict_stands_over_open() -> None:
    kept = put(X, status=ConflictStatus.RESOLVED, kept=I2, reason="r")
    assert both(None, kept, put(X, reason="r")) == kept
    dismissed = put(X, status=ConflictStatus.DISMISSED)
    merged = merge(X, kept, dismissed)
    assert merged.entity == kept
    assert [c.field for c in merged.conflicts] == ["status", "kept", "reason"]
    assert merge(X, dismissed, kept).entity == dismissed


def test_the_reason_is_that_of_the_answer_that_stands() -> None:
    kept = put(X, status=ConflictStatus.RESOLVED, kept=I2, reason="one says rest")
    scoped = put(X, status=ConflictStatus.SCOPED, reason="REST outside, GraphQL inside")
    merged = same(X, kept, scoped).entity
    entries = {f"### status\n\n    status: {kept.status.value}", f"### kept\n\n    kept: {I2}"}
    assert put(merged, body="") == scoped
    assert conflicting_edits.split_entries(merged.body)[1] == {
        *entries,
        "### reason\n\n    reason: one says rest",
    }


def test_pairs_of_ids_are_never_mixed() -> None:
    merged = merge(L, put(L, source_conversation_id=I4), put(L, target_conversation_id=I4))
    assert merged.entity == put(L, source_conversation_id=I4)
    assert [c.field for c in merged.conflicts] == ["source_conversation_id", "target_conversation_id"]


def entry(tag: str = "A", **values: Any) -> Compression:
    return Compression(compression_tag=tag, **values)


def test_compressions_merge_by_tag_and_their_maps_by_key() -> None:
    base = put(L, compressions=(entry(decisions_carried=(("D001", I1), ("", I2))),))
    ours = put(L, compressions=(entry(decisions_carried=(("D001", I1),), turn_range=(1, 2)), entry("Z")))
    theirs = put(
        L, compressions=(entry("B"), entry(decisions_carried=(("D001", I1), ("", I2), ("D002", I3))))
    )
    merged = both(base, ours, theirs)
    carried = (("D001", I1), ("D002", I3))
    assert merged.compressions == (
        entry(decisions_carried=carried, turn_range=(1, 2)),
        entry("B"),
        entry("Z"),
    )


def test_one_entry_of_a_map_changed_on_both_sides_is_a_conflict() -> None:
    ours = put(L, compressions=(entry(threads_carried=(("T001", I1),)),))
    theirs = put(L, compressions=(entry(threads_carried=(("T001", I2), ("T002", I3))),))
    merged = merge(L, ours, theirs)
    assert merged.entity == put(L, compressions=(entry(threads_carried=(("T001", I1), ("T002", I3))),))
    told = FieldConflict(
        field="compressions.A.threads_carried.T001", base=None, winner=("T001", I1), loser=("T001", I2)
    )
    assert merged.conflicts == (told,)


def test_an_archive_never_mixes_its_text() -> None:
    ours = put(A, content_sha256="1" * 64, body="b\r\n", records=(("D001", I1),))
    theirs = put(A, content_sha256="2" * 64, body="c", records=(("D002", I2),))
    merged = merge(A, ours, theirs)
    assert merged.entity == put(ours, records=(("D001", I1), ("D002", I2)))
    assert [(c.field, c.winner, c.loser) for c in merged.conflicts] == [
        ("content_sha256", "1" * 64, "2" * 64),
        ("body", "b\r\n", "c"),
    ]
    assert both(A, ours, put(A, records=(("D002", I2),))) == merged.entity


def test_unknown_fields_merge_key_by_key() -> None:
    base = put(T, extra={"a": "1", "b": "2", "c": "3"})
    ours = put(T, extra={"a": "1", "b": "9", "c": "3", "x": {"k": "v"}})
    theirs = put(T, extra={"a": "1", "b": "2", "w": "4"})
    merged = both(base, ours, theirs)
    assert list(merged.extra.items()) == [("a", "1"), ("b", "9"), ("w", "4"), ("x", {"k": "v"})]
    clash = merge(base, put(base, extra={"b": "5"}), put(base, extra={"a": "1", "c": "3"}))
    assert clash.entity == put(T, extra={"b": "5"})
    assert clash.conflicts == (FieldConflict(field="b", base="2", winner="5", loser=None),)


def test_without_a_base_fields_that_one_side_lacks_are_taken_from_the_other() -> None:
    ours, theirs = put(T, local_id="T001", tags=("a",)), put(T, first_seen_in=I2, tags=("b",), body="Text")
    assert both(None, ours, theirs) == put(T, local_id="T001", first_seen_in=I2, tags=("a", "b"), body="Text")


def test_sections_of_one_name_count_as_one() -> None:
    base = put(D, body="## R\n\na")
    twice = put(D, body="## R\n\na\n\n## R\n\nb")
    merged = merge(base, D, twice)
    assert merged.entity == twice
    assert [c.field for c in merged.conflicts] == ["## R"]


def same(base: Any, ours: Any, theirs: Any) -> Any:
    """Return what two clones come to, from either side."""
    merged = reconcile(base, ours, theirs)
    assert reconcile(base, theirs, ours) == merged
    return merged


WHY = (
    "Both sides of a merge changed these, and a rule chose what stands above.\n"
    "Where the text below is the right one, put it in its place; then delete this section."
)


def test_between_clones_the_greater_text_stands_and_the_other_is_kept() -> None:
    base = put(T, title="T", body="Lead", extra={"owner": "Al"})
    ours = put(
        base, title="A", priority=Priority.HIGH, extra={"owner": "Bo"}, body="Lead\n\n## Notes\n\n## x"
    )
    theirs = put(base, title="B", priority=Priority.LOW, extra={}, body="## Notes\n\n<no marker>")
    merged = same(base, ours, theirs).entity
    assert (merged.title, merged.priority, merged.extra) == ("B", Priority.LOW, {"owner": "Bo"})
    assert merged.body == (
        f"## Notes\n\n<no marker>\n\n## x\n\n## Conflicting edits\n\n{WHY}\n\n"
        "### Notes\n\n    ## Notes\n\n### owner\n\n    (left out)\n\n"
        "### priority\n\n    priority: high\n\n### title\n\n    title: A"
    )
    assert conflicting_edits.fields_in_conflict(merged) == ["Notes", "owner", "priority", "title"]


def test_entries_unite_and_a_person_takes_them_out() -> None:
    once = same(T, put(T, title="A"), put(T, title="B")).entity
    twice = same(T, once, put(T, title="C")).entity
    assert twice.title == "C"
    assert conflicting_edits.split_entries(twice.body) == (
        "",
        {conflicting_edits.quoted("title", f"title: {x}") for x in "AB"},
    )
    chosen = put(once, title="A", body="")
    assert same(once, chosen, put(once, tags=("x",))).entity == put(chosen, tags=("x",))
    noted = put(once, body=once.body.replace(WHY, "I would take A."))
    assert conflicting_edits.split_entries(noted.body)[1] == {
        conflicting_edits.quoted("note", "I would take A."),
        conflicting_edits.quoted("title", "title: A"),
    }


def test_an_edit_that_two_people_settle_in_opposite_ways_is_in_conflict_again() -> None:
    base = same(D, *(put(D, body=f"## Rationale\n\n{text}", epistemic_tier=tier) for text, tier in SIDES))
    kept = put(base.entity, body=conflicting_edits.split_entries(base.entity.body)[0])
    other = put(kept, body="## Rationale\n\nA", epistemic_tier=0.2)
    assert (kept.rationale, kept.epistemic_tier) == ("B", 0.6)
    merged = same(base.entity, kept, other)
    assert merged.entity == base.entity
    assert sorted(each.field for each in merged.conflicts) == ["## Rationale", "epistemic_tier"]
    assert same(base.entity, other, other).entity == other
    assert same(base.entity, base.entity, other).entity == other


SIDES = (("A", 0.2), ("B", 0.6))


def test_no_text_passes_for_structure_in_the_record() -> None:
    hostile = "## Context\n\na\n### title\n---\n~~~\n```"
    merged = same(put(D, body="x"), put(D, body="y"), put(D, body=hostile)).entity
    other = same(put(D, body="x"), put(D, body="z"), put(merged, body=merged.body)).entity
    for each in (merged, other):
        assert codec.loads(Kind.DECISION, codec.dumps(each)) == each
        assert set(conflicting_edits.fields_in_conflict(each)) <= {"text before the first section", "Context"}


def test_an_archive_keeps_one_text_and_names_what_yields() -> None:
    ours = put(A, content_sha256="1" * 64, body="b\r\n", compression_tag="X")
    theirs = put(A, content_sha256="2" * 64, body="c", compression_tag="Y")
    merged = same(A, ours, theirs)
    assert merged.entity == put(
        theirs, extra={"conflicting_edits": ["compression_tag: X", f"content_sha256: {'1' * 64}"]}
    )
    assert conflicting_edits.fields_in_conflict(merged.entity) == ["compression_tag", "content_sha256"]
    assert [sentence(Kind.ARCHIVE, found) for found in merged.conflicts] == [
        "compression_tag: 'Y' was kept; 'X' is under `conflicting_edits`",
        f"content_sha256: '{'2' * 59}…' was kept; '{'1' * 59}…' is under `conflicting_edits`",
        "each side filed another text; one was kept, the other is in the history",
    ]


def test_an_archive_in_two_forms_of_one_text_is_no_conflict() -> None:
    short = put(A, content_sha256="1" * 64, body="a\nb")
    for form in ("a\r\nb\r\n", "\ufeffa\nb\n", "\na\nb\n\n"):
        merged = same(None, short, put(A, content_sha256="2" * 64, body=form))
        assert (merged.entity, merged.conflicts) == (short, ())


def test_two_revisions_become_a_conflict_of_the_revisions() -> None:
    old = put(D, status=DecisionStatus.REVISED)
    successors = {key: put(D, decision_id=key, decision=str(key)) for key in (I2, I3)}
    merged = same(D, *(put(old, superseded_by=key, revised_in=I4 if key == I2 else None) for key in (I2, I3)))
    decision, (conflict,), _ = recorded(merged.entity, successors.get)
    assert decision == put(old, superseded_by=I2, revised_in=I4)
    assert (conflict.decision_a, conflict.decision_b, conflict.status) == (I2, I3, ConflictStatus.OPEN)
    assert conflict.nature == f"two revisions of {short_id(Kind.DECISION, I1)}"
    assert recorded(merged.entity, {I2: successors[I2]}.get) == (merged.entity, [], [])
    ended = {**successors, I3: put(successors[I3], status=DecisionStatus.INVALIDATED)}
    assert recorded(merged.entity, ended.get) == (merged.entity, [], [])


def test_of_two_revisions_with_one_text_one_stands() -> None:
    old = put(D, status=DecisionStatus.REVISED)
    texts = {I2: "One text", I3: "One text.", I4: "Another"}
    every = {key: put(D, decision_id=key, decision=text) for key, text in texts.items()}
    successors = {key: every[key] for key in (I2, I3)}
    decision, rivals, [ended] = recorded(
        same(D, *(put(old, superseded_by=key) for key in successors)).entity, successors.get
    )
    assert (decision, rivals) == (put(old, superseded_by=I2), [])
    assert (ended.id, ended.status, ended.superseded_by) == (I3, DecisionStatus.SUPERSEDED, I2)
    clash = put(X, nature=f"two revisions of {short_id(Kind.DECISION, I1)}", decision_b=I4)
    known = [put(clash, conflict_id=pair_id(key, I4), decision_a=key) for key in successors]
    assert completed(known, every.get) == []


def test_a_reopened_verdict_holds_both_answers_and_what_else_a_person_wrote() -> None:
    kept = put(X, status=ConflictStatus.RESOLVED, kept=I2, reason="one: says rest")
    scoped = put(X, status=ConflictStatus.SCOPED, reason="each inside")
    merged = same(X, kept, scoped).entity
    rest, found = conflicting_edits.split_entries(merged.body)
    note = "### note\n\n    by Ada"
    changed = {entry.replace(": one: says", ": [ says") for entry in found} | {note}
    for entries, reason in ((found, "one: says rest"), (changed, None)):
        open_again = reopened(put(merged, body=conflicting_edits.put(rest, entries)))
        assert (open_again.status, open_again.kept, open_again.reason) == (ConflictStatus.OPEN, None, None)
        answers = f"- resolved, kept {short_id(Kind.DECISION, I2)}: {reason}\n- scoped: each inside"
        assert reason is None or section(open_again.body, "Earlier answers") == answers
        assert conflicting_edits.split_entries(open_again.body)[1] == entries & {note}
        assert "says rest" in open_again.body


def test_an_answer_to_a_reopened_verdict_settles_it_only_if_it_was_given_with_the_others_in_view() -> None:
    kept = put(X, status=ConflictStatus.RESOLVED, kept=I2, reason="r")
    contested = reopened(same(X, kept, put(X, status=ConflictStatus.SCOPED, reason="s")).entity)
    third = put(X, status=ConflictStatus.DISMISSED, reason="t")
    merged = same(X, contested, third)
    assert [(each.field, each.loser) for each in merged.conflicts] == [("status", ConflictStatus.OPEN)]
    again = reopened(merged.entity)
    answers = f"- dismissed: t\n- resolved, kept {short_id(Kind.DECISION, I2)}: r\n- scoped: s"
    assert (again.status, section(again.body, "Earlier answers")) == (ConflictStatus.OPEN, answers)
    assert "Conflicting edits" not in again.body
    seen = put(contested, status=ConflictStatus.DISMISSED)
    assert same(contested, seen, put(contested, evidence=("e",))) == Merged(entity=put(seen, evidence=("e",)))


def test_every_revision_stands_against_every_other() -> None:
    successors = {key: put(D, decision_id=key, decision=str(key)) for key in (I2, I3, I4)}
    known = [
        put(
            X,
            conflict_id=pair_id(a, b),
            decision_a=a,
            decision_b=b,
            nature="two revisions of dec_1",
            evidence=("e",),
        )
        for a, b in ((I2, I3), (I2, I4))
    ]
    assert completed([*known, put(X, decision_a=I1, decision_b=I4)], successors.get) == [
        put(known[0], conflict_id=pair_id(I3, I4), decision_a=I3, decision_b=I4, detected_at=at(0))
    ]
    ended = {**successors, I4: put(successors[I4], status=DecisionStatus.INVALIDATED)}
    assert completed(known, ended.get) == []
    assert completed(known[:1], successors.get) == []


def test_comments_of_both_sides_are_kept() -> None:
    text = codec.dumps(D)
    ours = text.replace("status: active", "# why\nstatus: active  # for now").replace(
        "decision: D", "decision: A"
    )
    theirs = text.replace("project_name", "# which\nproject_name").replace("decision: D", "decision: B")
    merged = merge_file(Kind.DECISION, I1, text.encode(), ours.encode(), theirs.encode())
    assert merged == merge_file(Kind.DECISION, I1, text.encode(), theirs.encode(), ours.encode())
    assert merged.data is not None
    head = merged.data.decode().partition("\n---\n")[0].split("\n")
    assert head[2:5] == ["decision: B", "# why", "status: active  # for now"]
    assert head[-1] == "# which"


def test_a_list_of_two_is_quoted_as_a_list() -> None:
    ours, theirs = (dataclasses.replace(D, extra={"seen": value}) for value in (["a", "b"], "c"))
    merged = merge_file(Kind.DECISION, I1, *(codec.dumps(e).encode() for e in (D, ours, theirs)))
    assert merged.data is not None
    assert merged.data.decode().endswith("### seen\n\n    seen: [a, b]\n")


def test_files_that_cannot_be_read() -> None:
    good, bad = codec.dumps(D).encode(), b"---\nbroken: [\n---\n"
    merged = merge_file(Kind.DECISION, I1, None, good, bad)
    assert merged == merge_file(Kind.DECISION, I1, None, bad, good)
    assert merged.data is not None
    assert merged.data.decode().endswith("### unreadable file\n\n    ---\n    broken: [\n    ---\n    \n")
    assert [found.field for found in merged.conflicts] == ["unreadable file"]
    with pytest.raises(FormatError, match=r"^line 3: front matter is not YAML: did not find expected node"):
        merge_file(Kind.DECISION, I1, None, bad, bad + b"x")
    with pytest.raises(FormatError, match=r"^decision_id: is not the id in the file's name$"):
        merge_file(Kind.DECISION, I2, None, good, good + b"x")
