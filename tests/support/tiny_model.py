"""A model of the BERT family that is small enough to be made for a test, with seeded numbers in it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *("use", "rest", "grpc", "uuid", "for", "ids", "why", "did", "we", "choose"),
    *("the", "query", "passage", "a", ":", "?"),
]
WIDTH = 16
CONFIG = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 32,
    "vocab_size": len(WORDS),
    "max_position_embeddings": 24,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}


def write_model(
    folder: Path, *, dtype: str = "F32", pooling: str = "mean_tokens", max_length: int = 12, **config: Any
) -> Path:
    """Write a model in the layout of sentence-transformers, and return its folder."""
    (folder / "1_Pooling").mkdir(parents=True)
    write_json(folder / "config.json", CONFIG | config)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": max_length, "do_lower_case": False})
    modes = {f"pooling_mode_{mode}": mode == pooling for mode in ("cls_token", "mean_tokens", "max_tokens")}
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": WIDTH, **modes})
    kinds = ["models.Transformer", "models.Pooling", "models.Normalize"]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.{kind}"}
        for i, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    write_json(folder / "modules.json", modules)
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizerFast"})
    write_tokenizer(folder / "tokenizer.json")
    write_tensors(folder / "model.safetensors", tensors(), dtype)
    return folder


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def write_tokenizer(path: Path) -> None:
    """Write a tokenizer that cuts and pads at another length than the model reads, as published ones do."""
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106 - no password
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.enable_truncation(5)
    made.enable_padding(length=5)
    made.save(str(path))


def tensors() -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (24, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
        "pooler.dense.weight": (WIDTH, WIDTH),
        "pooler.dense.bias": (WIDTH,),
    }
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        for part in (
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
        ):
            shapes |= {f"{layer}.{part}.weight": (WIDTH, WIDTH), f"{layer}.{part}.bias": (WIDTH,)}
        shapes |= {
            f"{layer}.intermediate.dense.weight": (32, WIDTH),
            f"{layer}.intermediate.dense.bias": (32,),
        }
        shapes |= {f"{layer}.output.dense.weight": (WIDTH, 32), f"{layer}.output.dense.bias": (WIDTH,)}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{layer}.{part}.weight": (WIDTH,), f"{layer}.{part}.bias": (WIDTH,)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def write_tensors(path: Path, numbers: Mapping[str, NDArray[np.float32]], dtype: str = "F32") -> None:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, array in numbers.items():
        if dtype == "BF16":
            stored = (array.view(np.uint32) >> np.uint32(16)).astype("<u2").tobytes()
        else:
            stored = array.astype({"F32": "<f4", "F16": "<f2"}[dtype]).tobytes()
        header[name] = {
            "dtype": dtype,
            "shape": array.shape,
            "data_offsets": [len(data), len(data) + len(stored)],
        }
        data += stored
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
