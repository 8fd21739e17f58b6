"""An encoder of the BERT family, in NumPy over its memory-mapped weights.

The same numbers as sentence-transformers gives (cosine above 0.99999), in a fiftieth of its time from a cold
start: importing torch costs seconds, mapping a file nothing.

Texts are ordered by length and go through in batches of eight: little padding, and what a layer holds
stays in the processor's cache. A vector depends on its batch by rounding only, so vectors are compared
with a tolerance, never by their bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from forgekit.embedding.files import WEIGHTS, BertModel
from forgekit.embedding.layers import Floats, Layers, filled, open_tokenizer, read_weights, tokenise
from forgekit.errors import FormatError

VERSION = "bert-1"
"""Changes whenever the vectors of any text do."""

_BATCH = 8
_GROUP = 4_096  # texts whose tokens are held at once


class NumpyEncoder:
    """A model read by `embedding.files.read_model`; its weights are mapped when a text is first encoded."""

    def __init__(self, model: BertModel, name: str) -> None:
        self._model = model
        self.name = name
        self.dimension = model.hidden
        described = [VERSION, model.max_length, model.pooling, model.lower_case, model.prompts]
        text = json.dumps([*described, sorted(model.sha256.items())])
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()[:32]

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of what people ask, unit length, [len(texts), dimension]."""
        return self._encode([self._model.prompts[0] + text for text in texts])

    def encode_documents(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of what is searched, unit length, [len(texts), dimension]."""
        return self._encode([self._model.prompts[1] + text for text in texts])

    def _encode(self, texts: Sequence[str]) -> Floats:
        out = np.empty((len(texts), self.dimension), np.float32)
        for first in range(0, len(texts), _GROUP):
            group = texts[first : first + _GROUP]
            tokens = [found.ids for found in tokenise(self._model, self._tokenizer, group)]
            order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
            for start in range(0, len(order), _BATCH):
                rows = order[start : start + _BATCH]
                out[[first + row for row in rows]] = self._forward([tokens[row] for row in rows])
        return out

    @cached_property
    def _tokenizer(self) -> Any:
        return open_tokenizer(self._model, self._model.max_length)

    @cached_property
    def _layers(self) -> Layers:
        return Layers(self._model, read_weights(self._model))

    def _forward(self, batch: Sequence[Sequence[int]]) -> Floats:
        """Return the vectors of a few token lists, in their order."""
        with np.errstate(all="ignore"):  # weights are data: what they break shows in the vectors
            found = self._pooled(batch)
        if not np.isfinite(found).all():
            path = str(self._model.folder / WEIGHTS)
            raise FormatError("gives vectors that are no numbers", path=path)
        return found

    def _pooled(self, batch: Sequence[Sequence[int]]) -> Floats:
        tokens, real = filled(batch)
        hidden = self._layers.hidden(tokens, real)
        if self._model.pooling == "cls":
            vectors: Floats = hidden[:, 0]
        else:
            lengths = real.sum(1, keepdims=True).astype(np.float32)
            vectors = (hidden * real[:, :, None]).sum(1) / lengths
        norms = np.sqrt((vectors * vectors).sum(1, keepdims=True))
        vectors /= np.maximum(norms, np.float32(1e-12))
        return vectors
