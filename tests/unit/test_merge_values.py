"""Whose value stands where two sides changed one: counts, times no one said, answers, ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sample_entities import NAME, A, B, P, day, decision, thread

from forgekit.merge.conflicting_edits import FieldConflict
from forgekit.merge.merge import MergedFile, merge, merge_file, reconcile
from forgekit.merge.revisions import recorded
from forgekit.model.entities import Candidate, CandidateStatus, DecisionStatus, Proposal, ThreadStatus
from forgekit.model.kinds import Kind
from forgekit.text import codec
from forgekit.times import UNKNOWN

X = decision("Keep rows", A)
FOUND = Candidate(
    candidate_id=B.id,
    candidate="Keep rows",
    proposes=Proposal.DECISION,
    confidence=0.5,
    why="said so",
    project_name=NAME,
    project_uuid=P,
    conversation_id=A.id,
    turn=3,
    created_at=day(0),
)


def both(base: Any, ours: Any, theirs: Any) -> Any:
    """Return what both orders of the sides agree on, without a conflict."""
    merged = merge(base, ours, theirs)
    assert merge(base, theirs, ours) == merged
    assert merged.conflicts == ()
    return merged.entity


def test_any_time_stands_over_one_that_nobody_said() -> None:
    assert both(None, X, replace(X, created_at=UNKNOWN)) == X
    assert both(None, replace(A, created_at=UNKNOWN), A) == A


def test_of_two_counts_of_turns_the_greater_stands() -> None:
    read = replace(A, turns=4)
    assert both(read, replace(A, turns=6), replace(A, turns=9)) == replace(A, turns=9)


def test_a_candidate_stands_at_the_later_of_two_turns() -> None:
    assert both(FOUND, replace(FOUND, turn=5), replace(FOUND, turn=8)) == replace(FOUND, turn=8)


@pytest.mark.parametrize("status", [CandidateStatus.APPROVED, CandidateStatus.REJECTED])
def test_any_answer_to_a_candidate_stands_over_none(status: CandidateStatus) -> None:
    became = X.id if status is CandidateStatus.APPROVED else None
    answered = replace(FOUND, status=status, became=became)
    assert both(None, FOUND, answered) == answered


def test_an_answer_that_registered_something_stands_over_a_rejection() -> None:
    approved = replace(FOUND, status=CandidateStatus.APPROVED, became=X.id)
    rejected = replace(FOUND, status=CandidateStatus.REJECTED)
    states = (CandidateStatus.WAITING, approved.status, rejected.status)
    told = FieldConflict(field="status", **dict(zip(("base", "winner", "loser"), states, strict=True)))
    for sides in ((approved, rejected), (rejected, approved)):
        merged = merge(FOUND, *sides)
        assert (merged.entity, merged.conflicts) == (approved, ())
        assert merged.overridden == (told,)


def test_two_answers_that_registered_something_are_a_conflict() -> None:
    approved = replace(FOUND, status=CandidateStatus.APPROVED, became=X.id)
    into = replace(FOUND, status=CandidateStatus.MERGED, became=decision("Drop rows", A).id)
    merged = merge(FOUND, approved, into)
    assert (merged.entity, [each.field for each in merged.conflicts]) == (approved, ["status", "became"])


def test_a_resolution_that_only_one_side_wrote_anew_is_no_conflict() -> None:
    first = thread(
        "Which rows?", A, status=ThreadStatus.RESOLVED, updated_at=day(1), body="## Resolution\n\nAll."
    )
    dropped = replace(first, status=ThreadStatus.ABANDONED, updated_at=day(2))
    later = replace(first, updated_at=day(5), body="## Resolution\n\nSome.")
    assert both(first, later, dropped) == later


def test_two_spellings_of_one_file_come_to_the_same_from_either_side() -> None:
    base, plain = codec.dumps(X).encode(), codec.dumps(replace(X, decision="Keep all rows"))
    ours = plain.replace("decision: Keep all rows", "decision: 'Keep all rows'").encode()
    theirs = plain.replace("decision: Keep all rows", 'decision: "Keep all rows"').encode()
    assert merge_file(Kind.DECISION, X.id, base, ours, theirs) == MergedFile(data=ours)
    assert merge_file(Kind.DECISION, X.id, base, theirs, ours) == MergedFile(data=ours)


def test_a_conflict_of_two_revisions_is_as_old_as_the_later_one() -> None:
    successors = {
        successor.id: successor for successor in (decision("Keep some rows", A), decision("Keep no rows", B))
    }
    sides = (replace(X, status=DecisionStatus.REVISED, superseded_by=key) for key in successors)
    merged = reconcile(X, *sides).entity
    assert merged is not None
    [conflict] = recorded(merged, successors.get)[1]
    assert conflict.detected_at == B.created_at
