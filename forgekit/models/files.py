"""The files of an embedding model, read as untrusted data.

A model is a folder in the layout of sentence-transformers: `config.json` (the network), `modules.json` and a
pooling folder (what follows it), `tokenizer.json`, and `model.safetensors`: eight bytes of length, a JSON
header that names each tensor's type, shape and place, then the numbers (huggingface.co/docs/safetensors).
Nothing here executes anything that a file holds, and nothing needs a library.

A file's state is its path, size, times and inode; its SHA-256 is taken from the cache folder while it is
unchanged.
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
from pathlib import Path
from typing import Any, BinaryIO

from forgekit.errors import FormatError
from forgekit.frozen import frozen
from forgekit.worktree.local_state import write_json

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
ITEM_BYTES = {
    **dict.fromkeys(("F64", "I64", "U64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "I8", "U8", "BOOL"), 1),
}

_NUMBERS = {
    "hidden": ("hidden_size", 8192),
    "layers": ("num_hidden_layers", 96),
    "heads": ("num_attention_heads", 128),
    "intermediate": ("intermediate_size", 32768),
    "vocabulary": ("vocab_size", 2_000_000),
    "positions": ("max_position_embeddings", 32768),
    "types": ("type_vocab_size", 16),
}
"""The numbers of a configuration: their names there, and what each is at most."""
_JSON_LIMIT = 1 << 20
_HEADER_LIMIT = 16 << 20
_STATES = "model-files.json"
_STATES_KEPT = 200
_RACY_NS = 2_000_000_000  # a file written less than this ago may change within one tick of its clock
_E5 = re.compile(r"(?:^|[/_-])e5[-_]", re.IGNORECASE)
_E5_PROMPTS = ("query: ", "passage: ")  # its model card: "each input text should start with" one of them


@frozen(kw_only=True)
class Tensor:
    """Where a tensor's numbers lie: `start` in bytes from the beginning of the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int


@frozen(kw_only=True)
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
    numbers: dict[str, Any] = {
        name: _number(config, key, limit, path) for name, (key, limit) in _NUMBERS.items()
    }
    if numbers["hidden"] % numbers["heads"]:
        raise FormatError("is not a multiple of num_attention_heads", path=str(path), field="hidden_size")
    epsilon = config.get("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise FormatError("must be between 0 and 1", path=str(path), field="layer_norm_eps")
    longest = numbers["positions"]
    lengths = [bert.get("max_seq_length"), tokenizer.get("model_max_length"), longest]
    max_length = min(next(n for n in lengths if isinstance(n, int) and n > 0), longest)
    if max_length < 3:
        raise FormatError("leaves no room for a text", path=str(path), field="max_position_embeddings")
    model = BertModel(
        folder=folder,
        **numbers,
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
        raise ForeignModelError(f"its pooling is {' '.join(chosen)[:80] or 'not named'}")
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
    """Return the tensors of a safetensors file, each checked to lie inside it; raises FormatError."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            text = _header_text(file, size)
        header = json.loads(text, object_pairs_hook=_once)
        header.pop("__metadata__", None)
        return {
            name.removeprefix("bert."): _tensor(data, 8 + len(text), size) for name, data in header.items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as e:
        raise FormatError(f"is no safetensors file: {e}", path=str(path)) from None


def _header_text(file: BinaryIO, size: int) -> bytes:
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= min(_HEADER_LIMIT, size - 8):
        raise ValueError("the length of its header is wrong")
    return file.read(length)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is repeated")
    return found


def _tensor(data: Any, base: int, size: int) -> Tensor:
    dtype, shape, (start, end) = data["dtype"], data["shape"], data["data_offsets"]
    if len(shape) > 8 or not all(type(n) is int and 0 <= n < 1 << 48 for n in (*shape, start, end)):
        raise ValueError("the shape or the place of a tensor is no list of whole numbers")
    if not start <= end <= size - base or end - start != ITEM_BYTES[dtype] * math.prod(shape):
        raise ValueError("a tensor does not fill its place")
    return Tensor(dtype=dtype, shape=tuple(shape), start=base + start)


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
            raise FormatError(f"must have the shape {list(shape)}, as in config.json", path=place)
        if tensor.dtype not in {"F32", "F16", "BF16"}:
            raise ForeignModelError(f"its numbers are {tensor.dtype}")


def _json(path: Path, default: Any = None) -> Any:
    """Return a small JSON file of the default's type; the default where there is no file."""
    kind = type(default) if default is not None else dict
    try:
        value = json.loads(limited(path, _JSON_LIMIT))
    except FileNotFoundError:
        if default is not None:
            return default
        raise FormatError("is missing", path=str(path)) from None
    except (OSError, ValueError, RecursionError) as e:
        raise FormatError(f"cannot be read as JSON: {e}", path=str(path)) from None
    if not isinstance(value, kind):
        raise FormatError("does not hold what it should", path=str(path))
    return value


def limited(path: Path, limit: int) -> bytes:
    """Return the content of a file; raises ValueError for more than so many bytes, and OSError."""
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"it is longer than {limit} bytes")
    return data


def file_sha256(path: Path, cache: Path) -> str:
    """Return a file's SHA-256 in hex; while the file's state is unchanged, from the cache folder.

    Raises FormatError where the file cannot be read.
    """
    states = cache / _STATES
    try:
        with path.open("rb") as file:
            state = _state(path, file)
            known = _known(states)
            if state in known:
                return known[state]
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            found = os.fstat(file.fileno())
            unchanged = _state(path, file) == state
    except OSError as e:
        raise FormatError(f"cannot be read: {e.strerror}", path=str(path)) from None
    if unchanged and time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _RACY_NS:
        with contextlib.suppress(OSError):  # the next process hashes the file again
            cache.mkdir(parents=True, exist_ok=True)
            write_json(states, dict([*known.items(), (state, digest)][-_STATES_KEPT:]))
    return digest


def _state(path: Path, file: BinaryIO) -> str:
    found = os.fstat(file.fileno())
    times = found.st_mtime_ns, found.st_ctime_ns
    return f"{path.absolute()} {found.st_size} {times} {found.st_ino} {found.st_dev}"


def _known(states: Path) -> dict[str, str]:
    """Return the hashes of files by their state; nothing where they cannot be believed."""
    try:
        known = json.loads(states.read_bytes())
        return {state: digest for state, digest in known.items() if re.fullmatch("[0-9a-f]{64}", digest)}
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return {}
