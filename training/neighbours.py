"""The pairs of a register that forgekit would judge: near ones, and those that share a rare word."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from forgekit.conflict.judge import Statement
from forgekit.conflict.pairs import NEAREST, sharing_rare_words
from forgekit.ids import EntityId
from forgekit.model.settings import Settings
from forgekit.models.encoder import Missing, find_encoder

CACHE = Path(tempfile.gettempdir()) / "forgekit-training"


def compared(texts: Sequence[str]) -> tuple[list[tuple[int, int]], NDArray[np.float32]]:
    """Return the pairs of numbers of texts that are judged, in order, and all cosines [texts, texts]."""
    vectors = vectors_of(texts)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]
    pairs = {(min(i, j), max(i, j)) for i, row in enumerate(nearest.tolist()) for j in row if i != j}
    stated = {EntityId(str(number)): Statement(text=text) for number, text in enumerate(texts)}
    for group in sharing_rare_words(stated):
        numbers = sorted(map(int, group))
        pairs |= {(i, j) for at, i in enumerate(numbers) for j in numbers[at + 1 :]}
    return sorted(pairs), cosines


def vectors_of(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the bundled encoder's vectors of texts [texts, hidden]; they are made once."""
    CACHE.mkdir(exist_ok=True)
    kept = CACHE / f"{hashlib.sha256(repr(list(texts)).encode()).hexdigest()[:16]}.npy"
    if not kept.exists():
        encoder = find_encoder(Settings(), CACHE)
        if isinstance(encoder, Missing):
            raise SystemExit(str(encoder))
        np.save(kept, encoder.encode_documents(texts))
    vectors: NDArray[np.float32] = np.load(kept)
    return vectors
