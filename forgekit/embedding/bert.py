"""The forward pass of a BERT-family model, in NumPy over its memory-mapped weights.

The same numbers as sentence-transformers gives (cosine above 0.99999), in a fiftieth of its time from a cold
start: importing torch costs seconds, mapping a file nothing. Method: Devlin et al., "BERT" (2019), section 3;
GELU by the error function of Abramowitz and Stegun, 7.1.26, whose error is below 1.5e-7.

Texts are ordered by length and go through in batches of eight: little padding, and what a layer holds
stays in the processor's cache. A vector depends on its batch by rounding only, so vectors are compared
with a tolerance, never by their bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forgekit.embedding.files import TOKENIZER, WEIGHTS, BertModel, Tensor, read_tokenizer, shapes
from forgekit.errors import FormatError

Floats = NDArray[np.float32]

VERSION = "bert-1"
"""Changes whenever the vectors of any text do."""
TEXT_LIMIT = 65_536
"""Characters of a text that the tokenizer sees; a model reads a few hundred tokens."""

_BATCH = 8
_GROUP = 4_096  # texts whose tokens are held at once
_STORED = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_P = 0.3275911


class NumpyEncoder:
    """A model read by `embedding_files.read_model`; its weights are mapped when a text is first encoded."""

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
            tokens = self._tokens(texts[first : first + _GROUP])
            order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
            for start in range(0, len(order), _BATCH):
                rows = order[start : start + _BATCH]
                out[[first + row for row in rows]] = self._forward([tokens[row] for row in rows])
        return out

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        cut = [text.strip()[:TEXT_LIMIT].encode("utf-8", "replace").decode() for text in texts]
        if self._model.lower_case:
            cut = [text.lower() for text in cut]
        found = [encoding.ids for encoding in self._tokenizer.encode_batch(cut)]
        if any(max(ids, default=-1) not in range(self._model.vocabulary) for ids in found):
            raise FormatError("has tokens that the model does not know", path=str(self._path(TOKENIZER)))
        return found

    def _path(self, name: str) -> str:
        return str(self._model.folder / name)

    @cached_property
    def _tokenizer(self) -> Any:
        import tokenizers  # noqa: PLC0415 - 18 ms that only encoding needs

        text = read_tokenizer(self._model.folder / TOKENIZER)
        try:
            tokenizer = tokenizers.Tokenizer.from_str(text)
        except Exception as e:  # noqa: BLE001 - the library raises nothing narrower
            raise FormatError(f"is no tokenizer: {e}", path=self._path(TOKENIZER)) from None
        # The file may cut at another length than the model reads: the default one says 128 and reads 256.
        tokenizer.enable_truncation(max_length=self._model.max_length)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _weights(self) -> dict[str, Floats]:
        data = np.memmap(self._path(WEIGHTS), np.uint8, mode="r")
        names = shapes(self._model)
        return {name: _floats(data, self._model.tensors[name]) for name in names}

    def _forward(self, batch: Sequence[Sequence[int]]) -> Floats:
        """Return the vectors of a few token lists, in their order."""
        with np.errstate(all="ignore"):  # weights are data: what they break shows in the vectors
            found = self._pooled(batch)
        if not np.isfinite(found).all():
            raise FormatError("gives vectors that are no numbers", path=self._path(WEIGHTS))
        return found

    def _pooled(self, batch: Sequence[Sequence[int]]) -> Floats:
        lengths = np.array([len(ids) for ids in batch])
        longest = int(lengths.max())
        tokens = np.zeros((len(batch), longest), np.int64)
        for row, ids in enumerate(batch):
            tokens[row, : len(ids)] = ids
        real = np.arange(longest) < lengths[:, None]
        hidden = self._hidden(tokens, None if real.all() else real)
        if self._model.pooling == "cls":
            vectors: Floats = hidden[:, 0]
        else:
            vectors = (hidden * real[:, :, None]).sum(1) / lengths[:, None].astype(np.float32)
        norms = np.sqrt((vectors * vectors).sum(1, keepdims=True))
        vectors /= np.maximum(norms, np.float32(1e-12))
        return vectors

    def _hidden(self, tokens: NDArray[np.int64], real: NDArray[np.bool_] | None) -> Floats:
        """Return the last layer's output [texts, tokens, hidden]; `real` is False at padding."""
        model, weights = self._model, self._weights
        texts, length = tokens.shape
        width = model.hidden // model.heads
        words = weights["embeddings.word_embeddings.weight"][tokens.reshape(-1)]
        x = words.reshape(texts, length, model.hidden)
        x = x + weights["embeddings.position_embeddings.weight"][:length]
        x += weights["embeddings.token_type_embeddings.weight"][0]
        x = self._normed(x.reshape(-1, model.hidden), "embeddings.LayerNorm")
        unseen = None if real is None else np.where(real, np.float32(0), np.float32(-1e30))[:, None, None]

        def split(name: str) -> Any:  # NumPy's own types take a product of these for float64
            return self._dense(x, name).reshape(texts, length, model.heads, width).transpose(0, 2, 1, 3)

        for number in range(model.layers):
            layer = f"encoder.layer.{number}"
            query, key, value = (
                split(f"{layer}.attention.self.{part}") for part in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 1, 3, 2)
            scores *= np.float32(1 / math.sqrt(width))
            if unseen is not None:
                scores += unseen
            scores -= scores.max(-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(-1, keepdims=True)
            mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, model.hidden)
            attended = self._dense(mixed, f"{layer}.attention.output.dense")
            attended += x
            x = self._normed(attended, f"{layer}.attention.output.LayerNorm")
            inner = _gelu(self._dense(x, f"{layer}.intermediate.dense"))
            out = self._dense(inner, f"{layer}.output.dense")
            out += x
            x = self._normed(out, f"{layer}.output.LayerNorm")
        return x.reshape(texts, length, model.hidden)

    def _dense(self, x: Floats, name: str) -> Floats:
        out: Floats = x @ self._weights[f"{name}.weight"].T
        out += self._weights[f"{name}.bias"]
        return out

    def _normed(self, x: Floats, name: str) -> Floats:
        x -= x.mean(-1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[-1])
        x /= np.sqrt(variance + np.float32(self._model.epsilon))
        x *= self._weights[f"{name}.weight"]
        x += self._weights[f"{name}.bias"]
        return x


def _floats(data: NDArray[np.uint8], tensor: Tensor) -> Floats:
    """Return a tensor as float32: a view of the mapped file where that is how it is stored."""
    kind = np.dtype(_STORED[tensor.dtype])
    size = math.prod(tensor.shape) * kind.itemsize
    stored = np.asarray(data[tensor.start : tensor.start + size]).view(kind).reshape(tensor.shape)
    if tensor.dtype == "BF16":
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return stored.astype(np.float32, copy=False)


def _gelu(x: Floats) -> Floats:
    """Return max(x, 0) - |x| (1 - erf(|x| / sqrt 2)) / 2, which is x Phi(x)."""
    size = np.abs(x)
    t = size * np.float32(_ERF_P / math.sqrt(2))
    t += np.float32(1)
    np.reciprocal(t, out=t)
    tail = t * np.float32(_ERF[4])
    for factor in _ERF[3::-1]:
        tail += np.float32(factor)
        tail *= t
    np.multiply(x, x, out=t)
    t *= np.float32(-0.5)
    np.exp(t, out=t)
    tail *= t
    tail *= size
    tail *= np.float32(0.5)
    np.maximum(x, np.float32(0), out=x)
    x -= tail
    return x
