"""The judge by natural language inference, over cross-encoders that say what a test wants."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny_model import CONFIG, WIDTH, tensors, write_json, write_tensors, write_tokenizer

from forgekit.conflict.rules.port import Judgement, Statement, Verdict
from forgekit.errors import FormatError
from forgekit.models.nli import LONGEST, NliJudge, label_order

USUAL = {0: "contradiction", 1: "entailment", 2: "neutral"}
REST, GRPC = Statement(text="Use REST"), Statement(text="Use gRPC", rationale="fast", scope=("api",))


class Stub:
    """A cross-encoder: each pair of texts has its shares (contradiction, entailment, neutral)."""

    def __init__(self, shares: Mapping[tuple[str, str], Sequence[float]], labels: Mapping[Any, Any]) -> None:
        self.config = SimpleNamespace(id2label=labels)
        self.asked: list[tuple[str, str]] = []
        self._shares = shares

    def predict(
        self, pairs: Sequence[tuple[str, str]], *, apply_softmax: bool, show_progress_bar: bool
    ) -> list[list[float]]:
        assert apply_softmax
        assert not show_progress_bar
        self.asked += pairs
        rows = []
        for pair in pairs:
            by_name = dict(zip(USUAL.values(), self._shares[pair], strict=True))
            rows.append([by_name[str(self.config.id2label[i]).casefold()] for i in range(3)])
        return rows


def judged(
    forth: Sequence[float],
    back: Sequence[float],
    similarity: float | None = None,
    labels: Mapping[Any, Any] = USUAL,
) -> Judgement:
    stub = Stub({("Use REST", "Use gRPC"): forth, ("Use gRPC", "Use REST"): back}, labels)
    [found] = NliJudge("some/model", lambda _: stub).judge([(REST, GRPC)], [similarity])
    [turned] = NliJudge("some/model", lambda _: stub).judge([(GRPC, REST)], [similarity])
    assert found == turned
    return found


@pytest.mark.parametrize(
    ("forth", "back", "similarity", "verdict", "score", "reason"),
    [
        (
            (0.9, 0.05, 0.05),
            (0.7, 0.1, 0.2),
            None,
            Verdict.CONTRADICTION,
            0.8,
            "the model reads a contradiction, p=0.80",
        ),
        (
            (0.9, 0.05, 0.05),
            (0.0, 0.1, 0.9),
            0.9,
            Verdict.RELATED,
            0.45,
            "neither follows from nor contradicts the other",
        ),
        (
            (0.0, 0.9, 0.1),
            (0.1, 0.6, 0.3),
            None,
            Verdict.DUPLICATE,
            0.05,
            "each follows from the other, p=0.60",
        ),
        (
            (0.0, 0.2, 0.8),
            (0.1, 0.7, 0.2),
            0.1,
            Verdict.REFINEMENT,
            0.05,
            "one follows from the other, p=0.70",
        ),
        (
            (0.0, 0.2, 0.8),
            (0.0, 0.1, 0.9),
            0.39,
            Verdict.UNRELATED,
            0.0,
            "neither follows from nor contradicts the other",
        ),
        (
            (0.0, 0.2, 0.8),
            (0.0, 0.1, 0.9),
            None,
            Verdict.UNRELATED,
            0.0,
            "neither follows from nor contradicts the other",
        ),
    ],
)
def test_both_directions_make_one_judgement(
    forth: Sequence[float],
    back: Sequence[float],
    similarity: float | None,
    verdict: Verdict,
    score: float,
    reason: str,
) -> None:
    found = judged(forth, back, similarity)
    assert (found.verdict, found.reasons) == (verdict, (reason,))
    assert math.isclose(found.score, score)


@pytest.mark.parametrize(
    "labels",
    [
        {0: "entailment", 1: "neutral", 2: "contradiction"},
        {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"},
    ],
)
def test_the_order_of_the_labels_is_the_models(labels: Mapping[int, str]) -> None:
    assert judged((0.9, 0.1, 0.0), (0.7, 0.1, 0.2), labels=labels).score == 0.8
    assert judged((0.1, 0.9, 0.0), (0.1, 0.7, 0.2), labels=labels).verdict is Verdict.DUPLICATE


def test_numbers_of_labels_may_be_text() -> None:
    assert label_order({"2": "Neutral", "0": "Entailment", "1": "Contradiction"}, "m") == {
        "neutral": 2,
        "entailment": 0,
        "contradiction": 1,
    }


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        ({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, "LABEL_0, LABEL_1, LABEL_2"),
        ({0: "entailment", 1: "not_entailment"}, "entailment, not_entailment"),
        (USUAL | {3: "other"}, "contradiction, entailment, neutral, other"),
        ({0: "neutral", 1: "entailment", 3: "contradiction"}, "neutral, entailment, contradiction"),
        ({}, "nothing"),
    ],
)
def test_a_model_with_other_labels_is_refused(labels: Mapping[int, str], named: str) -> None:
    judge = NliJudge("some/model", lambda _: Stub({}, labels))
    with pytest.raises(FormatError) as caught:
        judge.judge([(REST, GRPC)], [None])
    assert str(caught.value) == (
        f"forgekit.toml: judge_model: the model some/model tells apart {named}, and not contradiction, "
        "entailment and neutral; name another, such as cross-encoder/nli-deberta-v3-small"
    )


def test_a_model_whose_numbers_are_none_is_refused() -> None:
    nan = (math.nan, 0.0, 0.0)
    with pytest.raises(FormatError) as caught:
        judged(nan, nan)
    assert str(caught.value) == (
        "forgekit.toml: judge_model: the model some/model answers with no probabilities; "
        "name another, such as cross-encoder/nli-deberta-v3-small"
    )


def test_only_the_texts_are_read_in_one_call_and_cut() -> None:
    long = "ü" * (LONGEST + 1)
    shown = "ü" * LONGEST
    shares = (0.0, 0.0, 1.0)
    stub = Stub(dict.fromkeys([("a? b", shown), (shown, "a? b")], shares), USUAL)
    NliJudge("m", lambda _: stub).judge([(Statement(text="a\udc80\nb"), Statement(text=long))], [None])
    assert stub.asked == [("a? b", shown), (shown, "a? b")]


def test_no_pairs_load_no_model() -> None:
    assert NliJudge("m", lambda _: pytest.fail("loaded")).judge([], []) == []


def test_a_model_is_loaded_once_from_this_machine_without_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def make(*names: str, **options: object) -> Stub:
        made.append((names, options))
        return Stub({("Use REST", "Use gRPC"): (1, 0, 0), ("Use gRPC", "Use REST"): (1, 0, 0)}, USUAL)

    _install(monkeypatch, make)
    judge = NliJudge("~/nli")
    for _ in range(2):
        judge.judge([(REST, GRPC)], [None])
    options = {
        "local_files_only": True,
        "trust_remote_code": False,
        "model_kwargs": {"use_safetensors": True},
    }
    assert made == [((str(Path.home() / "nli"),), options)]


def test_a_model_that_is_not_here_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(*_: str, **__: object) -> Stub:
        raise OSError("no such\nfolder")

    _install(monkeypatch, make)
    with pytest.raises(FormatError) as caught:
        NliJudge("some/model").judge([(REST, GRPC)], [None])
    assert str(caught.value) == (
        "forgekit.toml: judge_model: the cross-encoder some/model cannot be loaded from this machine "
        "(no such folder); a model of the hub is fetched with: hf download some/model"
    )


def test_a_library_that_is_not_here_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(FormatError) as caught:
        NliJudge("some/model").judge([(REST, GRPC)], [None])
    assert str(caught.value) == (
        'forgekit.toml: judge: is "nli", and the extra `models` is not installed; '
        'pip install "forgekit[models]"'
    )


def _install(monkeypatch: pytest.MonkeyPatch, make: object) -> None:
    library: Any = ModuleType("sentence_transformers")
    library.CrossEncoder = make
    other: Any = ModuleType("transformers")
    other.utils = SimpleNamespace(logging=SimpleNamespace(disable_progress_bar=lambda: None))
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    monkeypatch.setitem(sys.modules, "transformers", other)


def test_a_real_cross_encoder_gives_the_same_judgement_under_any_order_of_labels(tmp_path: Path) -> None:
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("the extra `models` is not installed: no real cross-encoder was asked")
    order = ["neutral", "contradiction", "entailment"]
    first = NliJudge(str(_cross_encoder(tmp_path / "one", order))).judge([(REST, GRPC)], [0.1])
    second = NliJudge(str(_cross_encoder(tmp_path / "two", order[::-1]))).judge([(REST, GRPC)], [0.1])
    [a], [b] = first, second
    assert (a.verdict, a.reasons) == (b.verdict, b.reasons)
    assert math.isclose(a.score, b.score, abs_tol=1e-6)
    assert 0 < a.score < 1


def _cross_encoder(folder: Path, order: Sequence[str]) -> Path:
    """Write a model whose head has one row of numbers for each label, wherever the label stands."""
    folder.mkdir()
    labels = {
        "id2label": {str(i): name for i, name in enumerate(order)},
        "label2id": {name: i for i, name in enumerate(order)},
    }
    write_json(folder / "config.json", CONFIG | {"architectures": ["BertForSequenceClassification"]} | labels)
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizerFast"})
    write_tokenizer(folder / "tokenizer.json")
    rows = np.random.default_rng(3).standard_normal((3, WIDTH)).astype(np.float32)
    head = np.stack([rows[sorted(order).index(name)] for name in order])
    body = {f"bert.{name}": numbers for name, numbers in tensors().items()}
    write_tensors(
        folder / "model.safetensors",
        body | {"classifier.weight": head, "classifier.bias": np.zeros(3, np.float32)},
    )
    return folder
