"""The trained judge: its forward pass, its files, which pairs it reads, and what it says of them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_judge import (
    JOIN,
    LABELS,
    OUTPUT,
    QUERY,
    TRAINED,
    Reader,
    delta_tensors,
    install,
    tiny,
    write_judge,
)
from tiny_model import tensors, write_json

from forgekit.conflict.rules.port import Judgement, Parts, Statement, Verdict
from forgekit.conflict.rules.joined import (
    MOST,
    MOST_KNOWN,
    Join,
    Least,
    RuleFeatures,
    Weighed,
    heaviest,
    joined,
    joined_score,
    log_odds_of,
    rule_features,
    unread,
    weighed,
    worth_reading,
)
from forgekit.conflict.rules.rules import RuleJudge
from forgekit.errors import FormatError
from forgekit.model.problem import Problem, Severity
from forgekit.model.settings import JudgeKind, Settings
from forgekit.models import judge_files
from forgekit.models.cross_encoder import CrossEncoder
from forgekit.models.encoder import DEFAULT_SHA256, Missing
from forgekit.models.files import WEIGHTS, file_sha256
from forgekit.models.judge_files import CARD, DELTA
from forgekit.models.judges import active_judge, calibration_of, problems_of

PAIRS = [
    ("use rest for ids", "why did we choose grpc"),
    ("the query", "a passage : we choose uuid for the query ?"),
    ("use", "uuid " * 30),
    ("", "grpc"),
]


def cross(tmp_path: Path, given: dict[str, Any] | None = None) -> CrossEncoder:
    model = tiny(tmp_path)
    folder = write_judge(tmp_path / "judge", model, given)
    return CrossEncoder(model, folder / DELTA, 5, 10)


def logits(encoder: CrossEncoder, pairs: list[tuple[str, str]]) -> Any:
    return np.array([read.logits for read in encoder.read(pairs)])


# The forward pass


@pytest.mark.filterwarnings("default")  # torch and its friends warn about themselves
def test_reads_pairs_as_torch_does(tmp_path: Path) -> None:
    if find_spec("torch") is None or find_spec("transformers") is None:
        pytest.skip("the extra `models` is not installed: the judge was not compared with its reference")
    import torch
    import transformers

    encoder = cross(tmp_path)
    model = tiny(tmp_path)
    delta = {name: torch.tensor(array).half().float() for name, array in delta_tensors().items()}
    network = transformers.BertModel(transformers.BertConfig.from_pretrained(model.folder)).eval()
    weights = network.state_dict() | {name: torch.tensor(array) for name, array in tensors().items()}
    for name in (QUERY, OUTPUT):
        weights[name] = weights[name] + delta.pop(f"{name}.b") @ delta.pop(f"{name}.a")
    head, bias = delta.pop("head.weight"), delta.pop("head.bias")
    network.load_state_dict(weights | delta)
    for (a, b), found in zip(PAIRS, logits(encoder, PAIRS), strict=True):
        left, right = (encoder._tokenizer.encode(text, add_special_tokens=False).ids for text in (a, b))
        ids = [2, *left, 3, *right, 3]
        types = [0] * (len(left) + 2) + [1] * (len(right) + 1)
        with torch.no_grad():
            hidden = network(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types]))[0][0]
        u = hidden[1 : 1 + len(left)].mean(0) if left else torch.zeros(hidden.shape[1])
        v = hidden[2 + len(left) : -1].mean(0)
        expected = head @ torch.cat([u, v, (u - v).abs(), u * v]) + bias
        assert np.allclose(found, expected.numpy(), atol=1e-4)


def test_a_low_rank_is_added_and_another_tensor_replaces(tmp_path: Path) -> None:
    ranked = {name: array.astype(np.float16).astype(np.float32) for name, array in delta_tensors().items()}
    whole = {name: array for name, array in ranked.items() if not name.endswith((".a", ".b"))}
    small = dict(whole)
    for name in (QUERY, OUTPUT):
        added = ranked[f"{name}.b"] @ ranked[f"{name}.a"]
        whole[name] = tensors()[name] + added
    expected = logits(cross(tmp_path / "one", ranked), PAIRS)
    assert np.allclose(logits(cross(tmp_path / "two", whole), PAIRS), expected, atol=0.05)
    assert not np.allclose(logits(cross(tmp_path / "three", small), PAIRS), expected, atol=0.05)


def test_a_pair_is_read_alike_alone_and_among_others(tmp_path: Path) -> None:
    encoder = cross(tmp_path)
    many = [*PAIRS, *((b, a) for a, b in PAIRS)] * 3
    alone = np.concatenate([logits(encoder, [pair]) for pair in many])
    assert np.allclose(logits(encoder, many), alone, atol=1e-4)
    assert not np.allclose(alone[:4], alone[4:8], atol=0.1), "the order of the sides matters to the model"
    assert encoder.read([]) == []


def test_the_shares_of_the_tokens_add_up_to_the_logit(tmp_path: Path) -> None:
    encoder = cross(tmp_path)
    a, b = (encoder._tokenizer.encode(text, add_special_tokens=False) for text in PAIRS[0])
    found, left, right = encoder._batch([(a, b)])
    mine = left[0, 1 : 1 + len(a.ids)].mean() + right[0, 2 + len(a.ids) : -1].mean()
    bias = encoder._bias[0] - encoder._bias.mean()
    assert float(mine + bias) == pytest.approx(float(found[0, 0] - found[0].mean()), abs=1e-4)


def test_words_are_those_of_the_text_with_their_tokens_together(tmp_path: Path) -> None:
    [read] = cross(tmp_path).read([(" use UUID-v7 for ids? ", "why : grpc")])
    assert [word for word, _ in read.words[0]] == ["use", "UUID-v7", "for", "ids"]
    assert [word for word, _ in read.words[1]] == ["why", "grpc"]
    assert all(share != 0 for side in read.words for _, share in side)


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [
        ("head.bias", (4,), "has no head, or one of another shape"),
        ("head.weight", (5, 3), "has no head, or one of another shape"),
        ("encoder.layer.9.output.dense.bias", (16,), "has a tensor without a place: "),
        (f"{QUERY}.b", (15, 2), "has a tensor of another shape: "),
        (f"{QUERY}.a", (3, 16), "has a tensor of another shape: "),
        ("encoder.layer.0.output.dense.weight.b", (16, 2), "has a tensor without a place: "),
        ("encoder.layer.1.output.LayerNorm.weight", (15,), "has a tensor without a place: "),
    ],
)
def test_a_delta_that_does_not_fit_is_refused(
    tmp_path: Path, name: str, shape: tuple[int, ...], said: str
) -> None:
    with pytest.raises(FormatError) as refused:
        cross(tmp_path, delta_tensors() | {name: np.ones(shape, np.float32)})
    place = f"{tmp_path}/judge/{DELTA}: {said}"
    named = name.replace(".b", ".a") if "another shape: " in said else name
    assert str(refused.value) == (place + named if said.endswith(": ") else place)


def test_a_low_rank_of_what_is_looked_up_is_refused(tmp_path: Path) -> None:
    name, ones = "embeddings.position_embeddings.weight", np.ones
    shape = tensors()[name].shape
    ranked = {f"{name}.a": ones((1, shape[1]), np.float32), f"{name}.b": ones((shape[0], 1), np.float32)}
    with pytest.raises(FormatError, match=rf"has a tensor without a place: {name}\.a"):
        cross(tmp_path, delta_tensors() | ranked)


def test_figures_that_are_no_numbers_become_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = delta_tensors()
    broken["head.bias"][2] = np.inf
    install(monkeypatch, tmp_path)
    model = tiny(tmp_path)
    judge = TRAINED(tmp_path / "cache", write_judge(tmp_path / "broken", model, broken))
    assert judge.judge([PAIR], [None]) == RuleJudge().judge([PAIR], [None])
    assert problems_of(judge) == fell_back(
        f"{model.folder}: gives figures that are no numbers; install forgekit again"
    )


# Its files


REST, GRPC = Statement(text="Use REST for the public API"), Statement(text="The public API speaks gRPC")
PAIR = (REST, GRPC)


def fell_back(why: str) -> tuple[Problem, ...]:
    return (
        Problem(
            code="judge-fallback",
            path="forgekit.toml",
            field="judge",
            message=f'the rules judge in place of the trained judge: {why}, or set it to "rules"',
            severity=Severity.WARNING,
        ),
    )


def refused(tmp_path: Path, why: str, *, damaged: bool) -> None:
    judge = TRAINED(tmp_path / "cache")
    assert problems_of(judge) == ()
    assert judge.judge([], []) == []
    assert problems_of(judge) == (), "nothing was judged"
    assert judge.judge([PAIR] * 3, [None] * 3) == RuleJudge().judge([PAIR] * 3, [None] * 3)
    assert problems_of(judge) == fell_back(why)
    assert calibration_of(judge) is None
    found = active_judge(Settings(), tmp_path / "cache")
    assert (found.kind, found.damaged) == (JudgeKind.RULES, damaged)
    assert f"{found.why}; {found.advice}" == why


def test_without_its_files_the_rules_judge(tmp_path: Path) -> None:
    refused(tmp_path, f"its files are not in {judge_files.FOLDER}; install forgekit again", damaged=False)


def test_without_the_encoder_the_rules_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path)
    monkeypatch.setattr(
        judge_files, "find_default", lambda _: Missing(reason="there is no model", hint="get one")
    )
    refused(tmp_path, "there is no model; get one", damaged=False)


def test_a_wrong_byte_in_the_delta_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path)
    delta = tmp_path / "judge" / DELTA
    data = bytearray(delta.read_bytes())
    data[-1] ^= 1
    delta.write_bytes(data)
    why = f"{delta} is not the published file: its SHA-256 differs; install forgekit again"
    refused(tmp_path, why, damaged=True)


def test_a_delta_for_another_encoder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path)
    model = tiny(tmp_path)
    write_judge(tmp_path / "judge", model, base="0" * 64)
    why = f"{tmp_path}/judge/{DELTA} belongs to another encoder than {model.folder}: its SHA-256 differs"
    refused(tmp_path, f"{why}; install forgekit again", damaged=True)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": 1}, "its format is 1, and this forgekit reads 2"),
        ({"labels": LABELS[::-1]}, f"its labels are not {', '.join(LABELS)}"),
        ({"tokens_a_side": True}, "tokens_a_side is no whole number from 1 to 1,000"),
        ({"sha256": "abc"}, "a SHA-256 has 64 hex digits"),
        ({"threshold": "0.5"}, "a figure is no number"),
        ({"threshold": float("nan")}, "a figure is no number"),
        ({"join": {"bias": 1.0}}, "'model'"),
    ],
)
def test_a_card_that_says_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], said: str
) -> None:
    install(monkeypatch, tmp_path)
    write_judge(tmp_path / "judge", tiny(tmp_path), None, **changed)
    why = f"{tmp_path}/judge/{CARD}: cannot be read: {said}; install forgekit again"
    refused(tmp_path, why, damaged=True)


def test_its_files_are_read_once_they_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path)
    judge = TRAINED(tmp_path / "cache")
    [found] = judge.judge([PAIR], [None])
    assert 0 <= found.score <= 1
    assert (problems_of(judge), calibration_of(judge)) == ((), (0.7, 0.9))
    in_force = active_judge(Settings(), tmp_path / "cache")
    assert (in_force.kind, in_force.why, in_force.promise) == (JudgeKind.TRAINED, "", (0.7, 0.9))
    assert active_judge(Settings(judge=JudgeKind.RULES), tmp_path).kind is JudgeKind.RULES


def test_the_files_that_are_shipped_are_those_that_were_published(tmp_path: Path) -> None:
    folder = Path(judge_files.__file__).parent / "judge"
    card = judge_files.read_card(folder / CARD)
    assert card.sha256 == file_sha256(folder / DELTA, tmp_path)
    assert card.base == DEFAULT_SHA256[WEIGHTS]
    assert 0.5 < card.threshold < 1


# Which pairs are read


def pair(a: str, b: str, evidence: float, **changed: Any) -> Weighed:
    low, high = sorted((a, b))
    said = Judgement(verdict=Verdict.RELATED, score=0.0, reasons=("both speak of: api",))
    features = RuleFeatures(log_odds=-6.0, headings=0, excluded=False)
    row = Weighed(
        features=features,
        otherwise=said,
        reasons=(),
        evidence=evidence,
        texts=(low, high),
        turned=low != a,
    )
    return replace(row, **changed)


DIFFERING = RuleFeatures(log_odds=-6.0, headings=0, excluded=False)
KNOWN = RuleFeatures(log_odds=1.5, headings=0, excluded=True)
letters = st.sampled_from("abcdefghijklmnopqrstuvwxyz")
rows = st.lists(
    st.builds(pair, letters, letters, st.floats(-8, 8), features=st.sampled_from((DIFFERING, KNOWN))),
    min_size=1,
    max_size=60,
)


@given(rows, st.randoms(use_true_random=False))
def test_which_pairs_are_read_hangs_on_no_order(some: list[Weighed], chance: random.Random) -> None:
    order = list(range(len(some)))
    chance.shuffle(order)
    chosen = worth_reading(some)
    shuffled = worth_reading([some[i] for i in order])
    assert [chosen[i] for i in order] == shuffled
    turned = [replace(row, texts=row.texts[::-1]) for row in some]
    assert worth_reading(turned) == chosen


@given(rows, st.randoms(use_true_random=False))
def test_what_is_read_among_many_is_read_among_few(some: list[Weighed], chance: random.Random) -> None:
    chosen = worth_reading(some)
    few = [i for i in range(len(some)) if chance.random() < 0.5]
    assert all(
        now or not chosen[i] for i, now in zip(few, worth_reading([some[i] for i in few]), strict=True)
    )


def test_of_one_decision_the_pairs_with_most_evidence_are_read() -> None:
    some = [pair("new", f"old {n:02}", float(n % 17)) for n in range(40)]
    read = [row for row, chosen in zip(some, worth_reading(some), strict=True) if chosen]
    assert len(read) == MOST
    assert sorted(row.evidence for row in read) == sorted(row.evidence for row in some)[-MOST:]


def test_what_the_rules_alone_would_call_is_read_up_to_a_number() -> None:
    some = [pair("new", f"old {n}", 9.0) for n in range(MOST)]
    some += [pair("new", f"known {n:02}", float(n % 7), features=KNOWN) for n in range(MOST_KNOWN + 4)]
    some += [pair("new", "unsure", 6.0, features=replace(KNOWN, log_odds=-0.1))]
    chosen = worth_reading(some)
    assert chosen[:MOST] == [True] * MOST
    known = [(row.evidence, read) for row, read in zip(some, chosen, strict=True) if row.features == KNOWN]
    assert sorted(evidence for evidence, read in known if not read) == [0.0, 0.0, 1.0, 1.0]
    assert chosen[-1] is False


def test_what_the_rules_call_a_contradiction_is_worth_reading() -> None:
    [row] = weighed([PAIR], [None])
    assert RuleJudge().judge([PAIR], [None])[0].verdict is Verdict.CONTRADICTION
    rivals = [pair(row.texts[0], f"old {n}", row.evidence - 1) for n in range(MOST)]
    assert worth_reading([*rivals, row])[-1] is True
    apart = (Statement(text="Use tabs for indentation"), Statement(text="Lunch is at noon"))
    [near], [far] = (weighed([apart], [cosine]) for cosine in (0.6, None))
    assert near.evidence > far.evidence, "vectors may know better"


def judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: Reader, *pairs: tuple[Statement, Statement]
) -> list[Judgement]:
    install(monkeypatch, tmp_path, reader)
    return TRAINED(tmp_path / "cache").judge(pairs, [None] * len(pairs))


def test_a_pair_is_read_the_other_way_only_where_that_may_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far, near = Statement(text="Cache the partner API"), Statement(text="Watch the partner API")
    reader = Reader(lambda a, b: 6.0 if "public" in a + b else -4.0)
    found = judged(tmp_path, monkeypatch, reader, PAIR, (far, near), PAIR[::-1])
    assert [one.verdict for one in found] == [Verdict.CONTRADICTION, Verdict.UNRELATED, Verdict.CONTRADICTION]
    assert reader.read_pairs == [
        (far.text, near.text),
        (GRPC.text, REST.text),
        (REST.text, GRPC.text),
    ]


def test_what_the_rules_know_is_read_both_ways_below_the_threshold_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(lambda a, _: -2.0 if a == GRPC.text else -6.0)
    install(monkeypatch, tmp_path, reader)
    write_judge(tmp_path / "judge", tiny(tmp_path), threshold=0.99)
    [found] = TRAINED(tmp_path / "cache").judge([PAIR], [None])
    assert reader.read_pairs == [(GRPC.text, REST.text), (REST.text, GRPC.text)]
    assert found.verdict is not Verdict.CONTRADICTION, "the model is sure once it has read them both ways"


def test_both_orders_count_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(lambda a, _: 3.0 if a == GRPC.text else 1.0)
    [found] = judged(tmp_path, monkeypatch, reader, PAIR)
    [features] = rule_features([PAIR])
    assert found.score == round(joined_score(Join(**JOIN), 2.0, features), 3)


def test_the_sides_may_stand_either_way_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(lambda a, b: len(a) - len(b) + 5.0)
    [one, other] = judged(tmp_path, monkeypatch, reader, PAIR, PAIR[::-1])
    assert one.parts is not None
    assert one.parts.words == (("public",), ("public", "speaks"))
    assert other == replace(one, parts=replace(one.parts, words=one.parts.words[::-1]))


def test_asking_again_reads_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(lambda *_: 4.0)
    install(monkeypatch, tmp_path, reader)
    judge = TRAINED(tmp_path / "cache")
    first = judge.judge([PAIR], [None])
    assert judge.judge([PAIR], [None]) == first
    assert len(reader.read_pairs) == 2


# What is said


SURE = dict.fromkeys(Verdict, 0.0) | {Verdict.REFINEMENT: 1.0}
WORDS = (("content", "derived"), ("allocator",))


def least(contradiction: float) -> Least:
    return Least(contradiction=contradiction, duplicate=1.0)


def test_a_contradiction_keeps_its_words() -> None:
    row = pair("b", "a", 1.0, reasons=("both speak of: ids",))
    assert joined(row, 0.91234, least(0.9), SURE, WORDS) == Judgement(
        verdict=Verdict.CONTRADICTION,
        score=0.912,
        reasons=(
            "read as excluding each other: allocator against content, derived",
            "both speak of: ids",
            "a contradiction with probability 0.91, else refinement (0.04)",
        ),
        parts=Parts(
            rules=("both speak of: ids",), words=WORDS[::-1], next=Verdict.REFINEMENT, next_score=0.04
        ),
    )


def test_a_rule_that_is_sure_comes_first() -> None:
    sure = RuleFeatures(log_odds=1.5, headings=0, excluded=True)
    row = pair("a", "b", 1.0, reasons=("exclude each other (store): x against y",), features=sure)
    assert joined(row, 0.95, least(0.9), SURE, ((), ())).reasons == (
        "exclude each other (store): x against y",
        "a contradiction with probability 0.95, else refinement (0.02)",
    )
    same = replace(row, features=replace(sure, excluded=False))
    assert joined(same, 0.95, least(0.9), SURE, ((), ())).reasons[1] == "read as excluding each other"


def test_a_text_does_not_contradict_itself() -> None:
    row = pair("Keep  the logs", "keep the logs", 1.0)
    wanted = Judgement(verdict=Verdict.DUPLICATE, score=0.0, reasons=("both speak of: api",))
    assert joined(row, 0.95, least(0.9), SURE, WORDS) == wanted


def test_below_the_threshold_the_model_says_what_it_is_but_duplicates_stay() -> None:
    row = pair("a", "b", 1.0)
    other = joined(row, 0.8994, least(0.9), SURE, WORDS)
    assert other == Judgement(verdict=Verdict.REFINEMENT, score=0.899, reasons=("both speak of: api",))
    same = replace(row, otherwise=replace(row.otherwise, verdict=Verdict.DUPLICATE))
    assert joined(same, 0.2, least(0.9), SURE, WORDS).verdict is Verdict.DUPLICATE
    assert joined(same, 0.9, least(0.9), SURE, WORDS).verdict is Verdict.CONTRADICTION


@pytest.mark.parametrize(
    ("logit", "verdict"), [(3.1, Verdict.RELATED), (3.2, Verdict.DUPLICATE), (9.0, Verdict.DUPLICATE)]
)
def test_a_duplicate_is_called_so_from_its_log_odds_on(logit: float, verdict: Verdict) -> None:
    logits = dict.fromkeys(Verdict, 0.0) | {Verdict.RELATED: 2.0, Verdict.DUPLICATE: logit}
    assert (log_odds_of(logits, Verdict.DUPLICATE) >= 0.79) is (verdict is Verdict.DUPLICATE)
    asked = Least(contradiction=0.9, duplicate=0.79)
    assert joined(pair("a", "b", 1.0), 0.2, asked, logits, WORDS).verdict is verdict


def test_what_was_not_read_is_no_contradiction_else() -> None:
    row = pair("a", "b", -9.0)
    assert unread(row, Join(**JOIN), 0.7) == Judgement(
        verdict=Verdict.RELATED, score=0.0, reasons=("both speak of: api",)
    )


def test_what_the_rules_know_is_a_contradiction_read_or_not() -> None:
    known = RuleFeatures(log_odds=0.5, headings=0, excluded=True)
    row = pair("a", "b", 1.0, reasons=("exclude each other (store): x against y",), features=known)
    wanted = Judgement(verdict=Verdict.CONTRADICTION, score=0.622, reasons=row.reasons)
    assert unread(row, Join(**JOIN), 0.7) == wanted
    assert joined(row, 0.622, least(0.7), SURE, ((), ())).verdict is Verdict.CONTRADICTION
    unsure = replace(row, features=replace(known, log_odds=-0.5))
    assert unread(unsure, Join(**JOIN), 0.7).verdict is Verdict.RELATED


def test_what_the_rules_know_gives_way_to_a_model_that_is_sure() -> None:
    known = RuleFeatures(log_odds=0.5, headings=0, excluded=True)
    row = pair("a", "b", 1.0, reasons=("exclude each other (store): x against y",), features=known)
    for odds, verdict, score in ((-1.9, Verdict.CONTRADICTION, 0.622), (-2.1, Verdict.RELATED, 0.003)):
        found = joined_score(Join(**JOIN), odds, known)
        assert round(found, 3) == score
        logits = {**dict.fromkeys(Verdict, -99.0), Verdict.CONTRADICTION: odds, Verdict.RELATED: 0.0}
        assert joined(row, found, least(0.7), logits, ((), ())).verdict is verdict


def test_the_heaviest_words_are_no_filling_words() -> None:
    forth = [("Never", 0.5), ("the", 9.0), ("store", 2.0), ("Tokens", 1.0), ("tokens", 1.0), ("here", 0.1)]
    back = [("Never", 0.7), ("the", 9.0), ("store", -1.0), ("Tokens", 1.0), ("tokens", 1.0), ("here", 9.0)]
    assert heaviest(forth, back) == ("tokens", "never", "store")
    assert heaviest([("one", -1.0)], [("one", 0.5)]) == heaviest([], []) == ()


@pytest.mark.parametrize("odds", [-3.0, 0.0, 2.5])
def test_log_odds_are_those_of_the_softmax(odds: float) -> None:
    found = dict.fromkeys(Verdict, 1.0) | {Verdict.CONTRADICTION: odds}
    shares = np.exp(list(found.values())) / np.exp(list(found.values())).sum()
    assert log_odds_of(found) == pytest.approx(float(np.log(shares[0] / (1 - shares[0]))))


def test_features_are_what_the_rules_see() -> None:
    heading = Statement(text="Database choice")
    pairs = [PAIR, PAIR[::-1], (heading, REST), (heading, heading)]
    found = rule_features(pairs)
    assert found[0] == found[1]
    odds = -float(np.log(1 / RuleJudge().judge([PAIR], [None])[0].score - 1))
    assert found[0].log_odds == pytest.approx(odds)
    assert (found[0].headings, found[0].excluded) == (0, True)
    assert found[2:] == [
        RuleFeatures(log_odds=-6.0, headings=1, excluded=False),
        RuleFeatures(log_odds=-6.0, headings=2, excluded=False),
    ]


BARE = (
    ("Use tabs", "Do not use tabs"),
    ("Deploy on Fridays", "No deployments on Fridays"),
    ("Support Windows", "Windows is not supported"),
    ("Every pull request needs a review", "Pull requests need no review"),
)
MORE = (
    ("Use tabs", "Do not use tabs in YAML"),
    ("Drivers are tracked", "Cyclists are not tracked"),
    ("Publish the minutes", "Do not publish the minutes; they hold names"),
    ("Meetings are recorded", "Meetings are recorded"),
)


@pytest.mark.parametrize(("pairs", "excluded"), [(BARE, True), (MORE, False)])
def test_a_bare_denial_is_known_to_exclude(pairs: tuple[tuple[str, str], ...], *, excluded: bool) -> None:
    found = rule_features([(Statement(text=a), Statement(text=b)) for a, b in pairs])
    assert [features.excluded for features in found] == [excluded] * len(pairs)


def test_the_join_believes_neither_side_without_end() -> None:
    join = Join(bias=0.0, model=1.0, excluded=1.0, differing=0.5, heading=-1.0)
    features = RuleFeatures(log_odds=2.0, headings=1, excluded=True)
    assert joined_score(join, 99.0, features) == joined_score(join, 6.0, features)
    assert joined_score(join, -99.0, features) == joined_score(join, -6.0, features)
    assert joined_score(join, 6.0, features) == pytest.approx(1 / (1 + np.exp(-7.0)))
    differing = replace(features, excluded=False)
    assert joined_score(join, 6.0, differing) == pytest.approx(1 / (1 + np.exp(-6.0)))
    against = replace(features, log_odds=-6.0)  # that the rules find nothing says nothing
    assert joined_score(join, 6.0, against) == pytest.approx(1 / (1 + np.exp(-5.0)))
    assert joined_score(replace(join, bias=-9999.0), 0.0, differing) == 0.0
    assert joined_score(replace(join, bias=-9999.0), 0.0, features) == pytest.approx(1 / (1 + np.exp(-2.0)))


# What is loaded


def test_nothing_is_loaded_before_a_pair_is_read(tmp_path: Path) -> None:
    write_judge(tmp_path / "judge", tiny(tmp_path))
    program = f"""
import sys
from pathlib import Path
from forgekit.models.files import read_model
from forgekit.models import judge_files as files, trained_judge as trained
from forgekit.conflict.rules.port import Statement
here = Path({str(tmp_path)!r})
files.find_default = lambda cache: read_model(here / "tiny", "tiny", cache)
judge = trained.TrainedJudge(here / "cache", here / "judge")
heavy = {{"numpy", "tokenizers", "torch", "transformers", "faiss", "pygit2"}}
judge.judge([], [])
print(sorted(heavy & set(sys.modules)), judge.promise, judge.problems)
judge.judge([(Statement(text="Use REST"), Statement(text="Use gRPC"))], [None])
print(sorted(heavy & set(sys.modules)), judge.problems)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[] (0.7, 0.9) ()\n['numpy', 'tokenizers'] ()\n"


def test_the_card_is_json(tmp_path: Path) -> None:
    write_json(tmp_path / CARD, json.loads("[]"))
    with pytest.raises(FormatError, match=r"judge\.json: cannot be read"):
        judge_files.read_card(tmp_path / CARD)
    with pytest.raises(FormatError, match=r"judge\.json: cannot be read"):
        judge_files.read_card(tmp_path / "none" / CARD)
