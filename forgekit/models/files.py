"""The files of an embedding model, read as untrusted data.

A model is a folder in the layout of sentence-transformers: `config.json` (the network), `modules.json` and a
pooling folder (what follows it), `tokenizer.json`, and `model.safetensors`: eight bytes of length, a JSON
header that names each tensor's type, shape and place, then the numbers (huggingface.co/docs/safetensors).
Nothing here executes anything that a file holds, and nothing needs a library.

A file's state is its size, times and inode: while it is unchanged, its SHA-256 is taken from the cache
folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forgekit.errors import FormatError

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
ITEM_BYTES = {
    **dict.fromkeys(("F64", "I64", "U64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "I8", "U8", "BOOL"), 1),
}

_JSON_LIMIT = 1 << 20
_TOKENIZER_LIMIT = 64 << 20
_HEADER_LIMIT = 16 << 20
_STATES = "model-files.json"
_STATES_KEPT = 200
_RACY_NS = 2_000_000_000  # a file written less than this ago may change within one tick of its clock
_E5 = re.compile(r"(?:^|[/_-])e5[-_]", re.IGNORECASE)
_E5_PROMPTS = ("query: ", "passage: ")  # its model card: "each input text should start with" one of them


@dataclass(frozen=True, kw_only=True, slots=True)
class Tensor:
    """Where a tensor's numbers lie: `start` in bytes from the beginning of the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int


@dataclass(frozen=True, kw_only=True, slots=True)
class BertModel:
    """A model of the BERT family, as its files describe it.

    Attributes:
        positions: tokens that the network has positions for.
        max_length: tokens of a text that are read, its two marks included.
        pooling: `mean` or `cls`.
        lower_case: whether texts are lowered before the tokenizer sees them.
        prompts: what is put before a query, and before a document.
        tensors: by their names without the prefix `bert.`.
        sha256: of each file, by name.
    """

    folder: Path
    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float
    max_length: int
    pooling: str
    lower_case: bool
    prompts: tuple[str, str]
    tensors: Mapping[str, Tensor]
    sha256: Mapping[str, str]


class ForeignModelError(Exception):
    """The model seems sound and is not of the BERT family."""


def read_model(folder: Path, name: str, cache: Path) -> BertModel:
    """Read everything about a model but its numbers and its tokenizer's rules.

    Raises FormatError for files that are not what they should be, ForeignModelError for another family.
    """
    config = _json(folder / "config.json")
    modules = _json(folder / "modules.json", [])
    bert = _json(folder / "sentence_bert_config.json", {})
    tokenizer = _json(folder / "tokenizer_config.json", {})
    _require_bert(config)
    pooling = _pooling(folder, modules)
    if not (folder / WEIGHTS).exists() or not (folder / TOKENIZER).exists():
        raise ForeignModelError(f"it has no {WEIGHTS} or no {TOKENIZER}")
    path = folder / "config.json"
    numbers = {
        key: _number(config, key, limit, path)
        for key, limit in (
            ("hidden_size", 8192),
            ("num_hidden_layers", 96),
            ("num_attention_heads", 128),
            ("intermediate_size", 32768),
            ("vocab_size", 2_000_000),
            ("max_position_embeddings", 32768),
            ("type_vocab_size", 16),
        )
    }
    if numbers["hidden_size"] % numbers["num_attention_heads"]:
        raise FormatError("is not a multiple of num_attention_heads", path=str(path), field="hidden_size")
    epsilon = config.get("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise FormatError("must be between 0 and 1", path=str(path), field="layer_norm_eps")
    longest = numbers["max_position_embeddings"]
    lengths = [bert.get("max_seq_length"), tokenizer.get("model_max_length"), longest]
    max_length = min(next(n for n in lengths if isinstance(n, int) and n > 0), longest)
    if max_length < 3:
        raise FormatError("leaves no room for a text", path=str(path), field="max_position_embeddings")
    model = BertModel(
        folder=folder,
        hidden=numbers["hidden_size"],
        layers=numbers["num_hidden_layers"],
        heads=numbers["num_attention_heads"],
        intermediate=numbers["intermediate_size"],
        vocabulary=numbers["vocab_size"],
        positions=longest,
        types=numbers["type_vocab_size"],
        epsilon=epsilon,
        max_length=max_length,
        pooling=pooling,
        lower_case=bert.get("do_lower_case") is True,
        prompts=read_prompts(folder, name),
        tensors=read_header(folder / WEIGHTS),
        sha256={file: file_sha256(folder / file, cache) for file in ("config.json", TOKENIZER, WEIGHTS)},
    )
    _require_tensors(model)
    return model


def _require_bert(config: Mapping[str, Any]) -> None:
    if config.get("model_type") != "bert":
        raise ForeignModelError(f"its type is {str(config.get('model_type'))[:40]!r}, not 'bert'")
    if config.get("hidden_act", "gelu") != "gelu":
        raise ForeignModelError("its activation is not 'gelu'")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise ForeignModelError("its positions are not absolute")
    if config.get("is_decoder") is True:
        raise ForeignModelError("it is a decoder")


def _number(config: Mapping[str, Any], key: str, limit: int, path: Path) -> int:
    value = config.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= limit:
        raise FormatError(f"must be a whole number from 1 to {limit}", path=str(path), field=key)
    return value


def _pooling(folder: Path, modules: Any) -> str:
    """Return how token vectors become one: `mean` (the default) or `cls`."""
    entries = [entry for entry in modules if isinstance(entry, dict)]
    kinds = [str(entry.get("type", "")).rpartition(".")[2] for entry in entries]
    if kinds not in ([], ["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise ForeignModelError(f"it is made of {', '.join(kinds)[:80]}")
    if not kinds:
        return "mean"
    place = str(entries[1].get("path", ""))
    if not re.fullmatch(r"[\w.-]{1,80}", place) or place in {".", ".."}:
        raise FormatError("must be the name of a folder", path=str(folder / "modules.json"), field="path")
    config = _json(folder / place / "config.json")
    chosen = [key.removeprefix("pooling_mode_") for key in config if key.startswith("pooling_mode_")]
    chosen = [mode for mode in chosen if config[f"pooling_mode_{mode}"] is True]
    if isinstance(config.get("pooling_mode"), str):
        chosen = [config["pooling_mode"]]
    mode = {"mean_tokens": "mean", "cls_token": "cls", "mean": "mean", "cls": "cls"}.get(" ".join(chosen))
    if mode is None or config.get("include_prompt") is False:
        raise ForeignModelError(f"its pooling is {' '.join(chosen)[:80] or 'not said'}")
    return mode


def read_prompts(folder: Path, name: str) -> tuple[str, str]:
    """Return what a model wants before a query and before a document, each "" where it wants nothing."""
    config = _json(folder / "config_sentence_transformers.json", {})
    prompts = config.get("prompts")
    known = {k: v for k, v in prompts.items() if isinstance(v, str)} if isinstance(prompts, dict) else {}
    default = known.get(str(config.get("default_prompt_name")), "")
    query = known.get("query", default)
    document = next((known[k] for k in ("document", "passage", "corpus") if k in known), default)
    return (query, document) if query or document or not _E5.search(name) else _E5_PROMPTS


def read_header(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, each checked to lie inside it.

    Raises FormatError.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or not 2 <= length <= min(_HEADER_LIMIT, size - 8):
                raise FormatError("is no safetensors file: the length of its header is wrong", path=str(path))
            header = json.loads(file.read(length), object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError) as e:
        raise FormatError(f"cannot be read as safetensors: {e}", path=str(path)) from None
    if not isinstance(header, dict):
        raise FormatError("is no safetensors file: its header is no object", path=str(path))
    header.pop("__metadata__", None)
    return {
        name.removeprefix("bert."): _tensor(value, 8 + length, size, f"{path}: {name[:80]}")
        for name, value in header.items()
    }


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is repeated")
    return found


def _tensor(value: Any, base: int, size: int, place: str) -> Tensor:
    data = value if isinstance(value, dict) else {}
    dtype, shape, offsets = (
        str(data.get("dtype")),
        _whole(data.get("shape")),
        _whole(data.get("data_offsets")),
    )
    if dtype not in ITEM_BYTES or shape is None or offsets is None or len(offsets) != 2:
        raise FormatError("is no tensor: its type, shape or place is wrong", path=place)
    start, end = offsets
    if not start <= end <= size - base or end - start != ITEM_BYTES[dtype] * math.prod(shape):
        raise FormatError("is no tensor: its shape does not fill its place", path=place)
    return Tensor(dtype=dtype, shape=shape, start=base + start)


def _whole(value: Any) -> tuple[int, ...] | None:
    """Return a short list of whole numbers that a file could hold; None for anything else."""
    if not isinstance(value, list) or len(value) > 8:
        return None
    return tuple(value) if all(type(item) is int and 0 <= item < 1 << 48 for item in value) else None


def shapes(model: BertModel) -> dict[str, tuple[int, ...]]:
    """Return the tensors that the forward pass reads, with the shapes that the configuration gives them."""
    h, i = model.hidden, model.intermediate
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (model.vocabulary, h),
        "embeddings.position_embeddings.weight": (model.positions, h),
        "embeddings.token_type_embeddings.weight": (model.types, h),
        "embeddings.LayerNorm.weight": (h,),
        "embeddings.LayerNorm.bias": (h,),
    }
    for layer in range(model.layers):
        for part, rows, columns in (
            ("attention.self.query", h, h),
            ("attention.self.key", h, h),
            ("attention.self.value", h, h),
            ("attention.output.dense", h, h),
            ("intermediate.dense", i, h),
            ("output.dense", h, i),
        ):
            found[f"encoder.layer.{layer}.{part}.weight"] = (rows, columns)
            found[f"encoder.layer.{layer}.{part}.bias"] = (rows,)
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            found[f"encoder.layer.{layer}.{part}.weight"] = (h,)
            found[f"encoder.layer.{layer}.{part}.bias"] = (h,)
    return found


def _require_tensors(model: BertModel) -> None:
    for name, shape in shapes(model).items():
        tensor = model.tensors.get(name)
        place = f"{model.folder / WEIGHTS}: {name}"
        if tensor is None or tensor.shape != shape:
            raise FormatError(f"must have the shape {list(shape)}, as config.json says", path=place)
        if tensor.dtype not in {"F32", "F16", "BF16"}:
            raise ForeignModelError(f"its numbers are {tensor.dtype}")


def _json(path: Path, default: Any = None) -> Any:
    """Return a small JSON file of the default's type; the default where there is no file."""
    kind = type(default) if default is not None else dict
    try:
        value = json.loads(_limited(path, _JSON_LIMIT))
    except FileNotFoundError:
        if default is not None:
            return default
        raise FormatError("is missing", path=str(path)) from None
    except (OSError, ValueError, RecursionError) as e:
        raise FormatError(f"cannot be read as JSON: {e}", path=str(path)) from None
    if not isinstance(value, kind):
        raise FormatError("does not hold what it should", path=str(path))
    return value


def _limited(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"it is longer than {limit} bytes")
    return data


def read_tokenizer(path: Path) -> str:
    """Return the text of a tokenizer file.

    Raises FormatError.
    """
    try:
        return _limited(path, _TOKENIZER_LIMIT).decode()
    except (OSError, ValueError) as e:
        raise FormatError(f"cannot be read: {e}", path=str(path)) from None


def file_sha256(path: Path, cache: Path) -> str:
    """Return a file's SHA-256 in hex; while the file's state is unchanged, from the cache folder.

    Raises FormatError where the file cannot be read.
    """
    states = cache / _STATES
    try:
        with path.open("rb") as file:
            state = list(_state(file.fileno()))
            known = _known(states)
            key = str(path.absolute())
            if (found := known.get(key)) is not None and found[:-1] == state:
                return str(found[-1])
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            unchanged = list(_state(file.fileno())) == state
    except OSError as e:
        raise FormatError(f"cannot be read: {e.strerror}", path=str(path)) from None
    if unchanged and time.time_ns() - max(state[1:3]) > _RACY_NS:
        known.pop(key, None)
        kept = dict([*known.items(), (key, [*state, digest])][-_STATES_KEPT:])
        with contextlib.suppress(OSError):  # the next process hashes the file again
            cache.mkdir(parents=True, exist_ok=True)
            temporary = states.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(json.dumps(kept), encoding="utf-8")
            temporary.replace(states)
    return digest


def _state(descriptor: int) -> tuple[int, int, int, int, int]:
    found = os.fstat(descriptor)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev


def _known(states: Path) -> dict[str, list[Any]]:
    """Return the states of files that were hashed before; nothing where they cannot be believed."""
    try:
        known = json.loads(states.read_bytes())
        return {
            str(key): list(value)
            for key, value in known.items()
            if len(value) == 6 and re.fullmatch("[0-9a-f]{64}", value[-1])
        }
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return {}
