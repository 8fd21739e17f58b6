"""Laws of the trained judge: symmetric, and each pair independent of the others in a call."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_judge import tiny, write_judge

from forgekit.conflict.judge import Statement
from forgekit.models.shipped import read_card
from forgekit.models.trained_judge import CARD, DELTA, TrainedJudge, card_of

WORDS = ("use", "rest", "grpc", "uuid", "for", "the", "query", "why", "we", "choose", "ids", "not", "7")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join)
cases = st.tuples(texts, texts, st.floats(-1, 1))


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> TrainedJudge:
    folder = tmp_path_factory.mktemp("judge")
    model = tiny(folder)
    made = write_judge(folder / "judge", model)
    return TrainedJudge(read_card(made / CARD, card_of), model, made / DELTA)


def sides(case: tuple[str, str, float]) -> tuple[Statement, Statement]:
    return Statement(text=case[0]), Statement(text=case[1])


@given(st.lists(cases, min_size=1, max_size=12), st.data())
@settings(max_examples=60)
def test_a_judgement_does_not_depend_on_the_rest_of_the_call(
    judge: TrainedJudge, some: list[tuple[str, str, float]], data: st.DataObject
) -> None:
    alone = {case: judge.judge([sides(case)], [case[2]])[0] for case in some}
    mixed = data.draw(st.permutations(some + some[: data.draw(st.integers(0, len(some)))]))
    found = judge.judge([sides(case) for case in mixed], [case[2] for case in mixed])
    assert found == [alone[case] for case in mixed]
    cosines = judge.cosines([sides(case) for case in mixed])
    assert cosines == [judge.cosines([sides(case)])[0] for case in mixed]


@given(cases)
@settings(max_examples=60)
def test_the_sides_may_come_in_either_order(judge: TrainedJudge, case: tuple[str, str, float]) -> None:
    a, b = sides(case)
    [one], [other] = judge.judge([(a, b)], [case[2]]), judge.judge([(b, a)], [case[2]])
    assert one is not None
    assert other is not None
    assert (one.probability, one.level, one.reason) == (other.probability, other.level, other.reason)
    assert one.words == other.words[::-1] or a.text == b.text
