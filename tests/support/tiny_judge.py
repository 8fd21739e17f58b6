"""The files of a trained judge over the tiny model, and a stand-in for what reads with them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_model import WIDTH, write_json, write_model, write_tensors

from forgekit.models import shipped, trained_judge
from forgekit.models.files import WEIGHTS, BertModel, read_model
from forgekit.models.forward import Reading
from forgekit.models.trained_judge import CARD, DELTA, FORMAT, LABELS

QUERY = "encoder.layer.1.attention.self.query.weight"
OUTPUT = "encoder.layer.1.output.dense.weight"
JOINS = {
    "contradiction": {"bias": -4.0, "model": 1.0, "cosine": 8.0},
    "duplicate": {"bias": -4.0, "model": 1.0, "cosine": 6.0},
    "replacement": {"bias": -4.0, "model": 1.0, "cosine": 0.0},
}
LEVELS = {
    "conflict": {"threshold": 0.9, "expected_precision": 0.8, "per_100": 1.0},
    "possible": {"threshold": 0.5, "expected_precision": 0.6, "per_100": 3.0},
}


def delta_tensors() -> dict[str, NDArray[np.float32]]:
    """Return a delta with every form that one can have."""
    random = np.random.default_rng(5)
    found = {
        f"{QUERY}.a": (2, WIDTH),
        f"{QUERY}.b": (WIDTH, 2),
        f"{OUTPUT}.a": (3, 32),
        f"{OUTPUT}.b": (WIDTH, 3),
        "encoder.layer.1.output.LayerNorm.weight": (WIDTH,),
        "encoder.layer.0.intermediate.dense.bias": (32,),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "head.weight": (6, 4 * WIDTH),
        "head.bias": (6,),
    }
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in found.items()}


def write_judge(
    folder: Path,
    model: BertModel,
    tensors: Mapping[str, NDArray[np.float32]] | None = None,
    **changed: object,
) -> Path:
    """Write the files of a judge over a model, and return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / DELTA, delta_tensors() if tensors is None else tensors, "F16")
    card = {
        "format": FORMAT,
        "base": model.sha256[WEIGHTS],
        "sha256": hashlib.sha256((folder / DELTA).read_bytes()).hexdigest(),
        "labels": list(LABELS),
        "tokens_a_side": 10,
        "joins": JOINS,
        "levels": LEVELS,
        "seed": 1,
    }
    write_json(folder / CARD, card | changed)
    return folder


def tiny(folder: Path) -> BertModel:
    """Return a tiny model, made where it does not stand yet."""
    if not (folder / "tiny").exists():
        write_model(folder / "tiny")
    return read_model(folder / "tiny", "tiny", folder / "cache")


class Reader:
    """Reads pairs as a test wants: the log-odds of a contradiction by what the pair is."""

    def __init__(self, odds: Callable[[str, str], float]) -> None:
        self.read_pairs: list[tuple[str, str]] = []
        self._odds = odds

    def read(self, a: str, b: str) -> Reading:
        self.read_pairs.append((a, b))
        words = tuple([(word, len(word) - 4.5) for word in text.split()] for text in (a, b))
        logits = self._logits(a, b)
        return Reading(logits=logits, first=logits, words=(words[0], words[1]))

    def estimates(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        return np.array([self._logits(a, b) for a, b in pairs])

    def _logits(self, a: str, b: str) -> tuple[float, ...]:
        return (self._odds(a, b) + float(np.log(5)), 0.0, 0.0, 0.0, 0.0, 0.0)


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, reader: Reader | None = None) -> None:
    """Make the tiny judge the shipped one; with a reader, read with that."""
    model = tiny(folder)
    monkeypatch.setattr(trained_judge, "FOLDER", write_judge(folder / "judge", model))
    monkeypatch.setattr(shipped, "find_default", lambda _cache: model)
    if reader is not None:
        monkeypatch.setattr("forgekit.models.forward.CrossEncoder", lambda *_: reader)
