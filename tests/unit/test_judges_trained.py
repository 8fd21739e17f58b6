"""The trained judge: its forward pass, its files, what it reads, and what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_judge import (
    JOINS,
    LEVELS,
    OUTPUT,
    QUERY,
    Reader,
    delta_tensors,
    install,
    tiny,
    write_judge,
)
from tiny_model import tensors, write_json

from forgekit.conflict.judge import Judgement, Level, Statement
from forgekit.errors import FormatError
from forgekit.model.settings import ModelKind, Settings
from forgekit.models import shipped, trained_judge
from forgekit.models.choice import find_judge
from forgekit.models.encoder import DEFAULT_SHA256, Missing
from forgekit.models.files import WEIGHTS, file_sha256
from forgekit.models.forward import CrossEncoder
from forgekit.models.shipped import Damaged, read_card
from forgekit.models.trained_judge import (
    CARD,
    DELTA,
    LABELS,
    Join,
    TrainedJudge,
    card_of,
    find_trained_judge,
    heaviest,
    log_odds,
)

SHIPPED = Path(trained_judge.__file__).parent / "judge"
PAIRS = [
    ("use rest for ids", "why did we choose grpc"),
    ("the query", "a passage : we choose uuid for the query ?"),
    ("use", "uuid " * 30),
    ("", "grpc"),
]


def cross(tmp_path: Path, given: dict[str, Any] | None = None) -> CrossEncoder:
    model = tiny(tmp_path)
    folder = write_judge(tmp_path / "judge", model, given)
    return CrossEncoder(model, folder / DELTA, 6, 10)


def logits(encoder: CrossEncoder, pairs: list[tuple[str, str]]) -> Any:
    return np.array([encoder.read(a, b).logits for a, b in pairs])


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

    def one_order(a: str, b: str) -> Any:
        left, right = (encoder._tokenizer.encode(text, add_special_tokens=False).ids for text in (a, b))
        ids = [2, *left, 3, *right, 3]
        types = [0] * (len(left) + 2) + [1] * (len(right) + 1)
        with torch.no_grad():
            hidden = network(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types]))[0][0]
        u = hidden[1 : 1 + len(left)].mean(0) if left else torch.zeros(hidden.shape[1])
        v = hidden[2 + len(left) : -1].mean(0) if right else torch.zeros(hidden.shape[1])
        return (head @ torch.cat([u, v, (u - v).abs(), u * v]) + bias).numpy()

    for (a, b), found in zip(PAIRS, logits(encoder, PAIRS), strict=True):
        assert np.allclose(found, (one_order(a, b) + one_order(b, a)) / 2, atol=1e-4)


def test_many_pairs_together_are_estimated_as_each_is_read_first(tmp_path: Path) -> None:
    encoder = cross(tmp_path)
    first = [encoder.read(a, b).first for a, b in PAIRS]
    assert np.allclose(encoder.estimates(PAIRS), first, atol=1e-4)


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


def test_words_are_those_of_the_text_with_their_tokens_together(tmp_path: Path) -> None:
    read = cross(tmp_path).read(" use UUID-v7 for ids? ", "why : grpc")
    assert [word for word, _ in read.words[0]] == ["use", "UUID-v7", "for", "ids"]
    assert [word for word, _ in read.words[1]] == ["why", "grpc"]
    assert all(share != 0 for side in read.words for _, share in side)


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [
        ("head.bias", (4,), "has no head, or one of another shape"),
        ("head.weight", (6, 3), "has no head, or one of another shape"),
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


def test_figures_that_are_no_numbers_become_no_judgement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = delta_tensors()
    broken["head.bias"][2] = np.inf
    install(monkeypatch, tmp_path)
    judge = found(tmp_path, write_judge(tmp_path / "broken", tiny(tmp_path), broken))
    with pytest.raises(FormatError, match="gives figures that are no numbers"):
        judge.judge([PAIR], [0.9])


# Its files


REST, GRPC = Statement(text="Use REST for the public API"), Statement(text="The public API speaks gRPC")
PAIR = (REST, GRPC)


def found(tmp_path: Path, folder: Path | None = None) -> TrainedJudge:
    judge = find_trained_judge(tmp_path / "cache", folder)
    assert isinstance(judge, TrainedJudge)
    return judge


def refused(tmp_path: Path, why: str, *, damaged: bool) -> None:
    judge = find_judge(Settings(), tmp_path / "cache")
    assert isinstance(judge, Missing)
    assert (str(judge), isinstance(judge, Damaged)) == (why, damaged)


def test_without_its_files_there_is_no_judge(tmp_path: Path) -> None:
    why = f"the judge's files are not in {trained_judge.FOLDER}; install forgekit again"
    refused(tmp_path, why, damaged=False)


def test_without_the_encoder_there_is_no_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path)
    missing = Missing(reason="there is no model", hint="get one")
    monkeypatch.setattr(shipped, "find_default", lambda _: missing)
    refused(tmp_path, "there is no model; get one", damaged=False)


def test_a_judge_that_is_off_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path)
    off = find_judge(Settings(judge=ModelKind.OFF), tmp_path)
    assert str(off) == '`judge` is "off"; set it to "trained" in forgekit.toml'


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
        ({"format": 2}, "its format is 2, and this forgekit reads 5"),
        ({"labels": LABELS[::-1]}, f"its labels are not {', '.join(LABELS)}"),
        (
            {"levels": LEVELS | {"possible": dict.fromkeys(LEVELS["possible"], "0.5")}},
            "a figure is no number",
        ),
        (
            {"joins": JOINS | {"duplicate": dict.fromkeys(JOINS["duplicate"], float("nan"))}},
            "a figure is no number",
        ),
        ({"levels": {"conflict": LEVELS["conflict"]}}, "'possible'"),
        ({"joins": {"contradiction": JOINS["contradiction"]}}, "'duplicate'"),
    ],
)
def test_a_card_that_says_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], said: str
) -> None:
    install(monkeypatch, tmp_path)
    write_judge(tmp_path / "judge", tiny(tmp_path), None, **changed)
    why = f"{tmp_path}/judge/{CARD}: cannot be read: {said}; install forgekit again"
    refused(tmp_path, why, damaged=True)


def test_the_card_is_json(tmp_path: Path) -> None:
    write_json(tmp_path / CARD, json.loads("[]"))
    for path in (tmp_path / CARD, tmp_path / "none" / CARD):
        with pytest.raises(FormatError, match=r"judge\.json: cannot be read"):
            read_card(path, card_of)


def test_the_files_that_are_shipped_are_those_that_were_published(tmp_path: Path) -> None:
    card = read_card(SHIPPED / CARD, card_of)
    assert card.sha256 == file_sha256(SHIPPED / DELTA, tmp_path)
    assert card.base == DEFAULT_SHA256[WEIGHTS]
    conflict, possible = card.calibration.conflict, card.calibration.possible
    assert 0 < possible.threshold < conflict.threshold < 1
    assert 0.5 <= possible.expected_precision <= conflict.expected_precision <= 1


def test_the_version_changes_with_the_weights_the_card_and_the_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path)
    model = tiny(tmp_path)
    first = found(tmp_path).version
    assert found(tmp_path).version == first
    other = delta_tensors() | {"head.bias": np.ones(5, np.float32)}
    weights = write_judge(tmp_path / "weights", model, other)
    card = write_judge(tmp_path / "card", model, tokens_a_side=9)
    versions = {first, found(tmp_path, weights).version, found(tmp_path, card).version}
    assert len(versions) == 3
    assert {len(version) for version in versions} == {12}


# What it says


def saying(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, odds: float) -> tuple[TrainedJudge, Reader]:
    reader = Reader(lambda *_: odds)
    install(monkeypatch, tmp_path, reader)
    return found(tmp_path), reader


@pytest.mark.parametrize(
    ("odds", "cosine", "level", "probability"),
    [
        (2.0, 0.6, Level.CONFLICT, 0.943),  # -4 + 2 + 4.8
        (1.0, 0.5, Level.POSSIBLE, 0.731),
        (-1.0, 0.5, Level.NONE, 0.269),
        (99.0, 0.25, Level.POSSIBLE, 0.731),  # log-odds are clipped to 3
    ],
)
def test_the_level_comes_from_model_and_cosine(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    odds: float,
    cosine: float,
    level: Level,
    probability: float,
) -> None:
    judge, _ = saying(monkeypatch, tmp_path, odds)
    [judgement] = judge.judge([PAIR], [cosine])
    assert judgement is not None
    assert (judgement.level, judgement.probability) == (level, probability)


def test_a_pair_that_no_reading_could_flag_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, reader = saying(monkeypatch, tmp_path, 99.0)
    assert judge.judge([PAIR], [0.124]) == [Judgement(probability=0.0, level=Level.NONE)]
    assert reader.read_pairs == []
    judge.judge([PAIR], [0.126])
    assert len(reader.read_pairs) == 1


def test_a_pair_whose_first_order_is_far_from_a_level_is_not_read_in_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, reader = saying(monkeypatch, tmp_path, -2.1)
    pairs = [PAIR, PAIR[::-1]]
    assert judge.judge(pairs, [0.48, 0.48]) == [Judgement(probability=0.0, level=Level.NONE)] * 2
    assert reader.read_pairs == []
    judge.judge(pairs, [0.52, 0.52])  # -4 - 2.1 + 2 + 4.16 is above 0
    assert reader.read_pairs == [tuple(sorted((REST.text, GRPC.text)))] * 2


def test_a_batch_that_estimates_a_little_too_much_changes_no_judgement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, reader = saying(monkeypatch, tmp_path, -2.005)
    exact = reader.estimates
    monkeypatch.setattr(reader, "estimates", lambda pairs: exact(pairs) + np.eye(6)[0] * 0.006)
    none = [Judgement(probability=0.0, level=Level.NONE)]
    assert judge.judge([PAIR], [0.5]) == none  # read, and as far from a level as without the estimate
    assert len(reader.read_pairs) == 1


def test_words_and_reason_name_what_weighed_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, _ = saying(monkeypatch, tmp_path, 3.0)
    expected = (("public",), ("public", "speaks"))
    for pair, words in ((PAIR, expected), (PAIR[::-1], expected[::-1])):
        [judgement] = judge.judge([pair], [0.9])
        assert judgement is not None
        assert judgement.words == words
        assert judgement.reason == "read as excluding each other: speaks"


def test_the_same_text_is_a_duplicate_and_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, reader = saying(monkeypatch, tmp_path, 99.0)
    again = Statement(text="  use rest for the  public API.")
    [judgement] = judge.judge([(REST, again)], [0.0])
    assert judgement is not None
    assert (judgement.level, reader.read_pairs) == (Level.DUPLICATE, [])


def test_a_duplicate_is_no_conflict_unless_a_contradiction_is_likelier() -> None:
    contradiction, duplicate = (Join(**JOINS[name]) for name in ("contradiction", "duplicate"))
    assert contradiction.probability(0.0, 0.9) == contradiction.probability(0.0, 0.8) == pytest.approx(0.917)
    assert duplicate.probability(0.0, 0.9) < contradiction.probability(0.0, 0.9)


def test_a_likely_duplicate_is_called_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joins = JOINS | {"duplicate": {"bias": 9.0, "model": 0.0, "cosine": 0.0}}
    install(monkeypatch, tmp_path, Reader(lambda *_: 1.0))
    folder = write_judge(tmp_path / "same", tiny(tmp_path), joins=joins)
    [judgement] = found(tmp_path, folder).judge([PAIR], [0.9])
    assert judgement is not None
    assert (judgement.level, judgement.reason) == (Level.DUPLICATE, "read as a duplicate")


def test_the_heaviest_words_are_no_filling_words() -> None:
    words = [("Never", 1.2), ("the", 9.0), ("store", 1.0), ("Tokens", 1.0), ("tokens", 1.0), ("odd", -1.0)]
    assert heaviest(words) == ("tokens", "never", "store")
    assert heaviest([]) == ()


@pytest.mark.parametrize("odds", [-3.0, 0.0, 2.5])
def test_log_odds_are_those_of_the_softmax(odds: float) -> None:
    logits = [1.0, odds, 1.0, 1.0, 1.0]
    shares = np.exp(logits) / np.exp(logits).sum()
    assert log_odds(logits, "duplicate") == pytest.approx(float(np.log(shares[1] / (1 - shares[1]))))


def test_nothing_is_loaded_before_a_pair_is_read(tmp_path: Path) -> None:
    write_judge(tmp_path / "judge", tiny(tmp_path))
    program = f"""
import sys
from pathlib import Path
from forgekit.models.files import read_model
from forgekit.models import shipped, trained_judge as trained
from forgekit.conflict.judge import Statement
here = Path({str(tmp_path)!r})
shipped.find_default = lambda cache: read_model(here / "tiny", "tiny", cache)
judge = trained.find_trained_judge(here / "cache", here / "judge")
heavy = {{"numpy", "tokenizers", "torch", "transformers", "faiss", "pygit2"}}
pair = (Statement(text="Use REST"), Statement(text="Use gRPC"))
judge.judge([pair], [-1.0])
print(sorted(heavy & set(sys.modules)))
judge.judge([pair], [1.0])
print(sorted(heavy & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n['numpy', 'tokenizers']\n"
