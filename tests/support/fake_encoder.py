"""An encoder for tests: a text's vector follows from its words, by their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class FakeEncoder:
    """Texts that share words are near each other; `encoded` keeps what was asked for."""

    name = "fake"
    dimension = 32

    def __init__(self, fingerprint: str = "fake-1", stop_after: int | None = None) -> None:
        self.fingerprint = fingerprint
        self.encoded: list[str] = []
        self._stop_after = stop_after

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._stop_after is not None and len(self.encoded) + len(texts) > self._stop_after:
            raise KeyboardInterrupt
        self.encoded += texts
        return self.encode_queries(texts)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        out = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in text.split() or [""]:
                seed = int.from_bytes(
                    hashlib.sha256(f"{self.fingerprint} {word}".encode()).digest()[:8], "big"
                )
                out[row] += np.random.default_rng(seed).standard_normal(self.dimension, np.float32)
        out /= np.linalg.norm(out, axis=1, keepdims=True)
        return out
