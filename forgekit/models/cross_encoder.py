"""Pairs of texts read together by the bundled encoder with a delta on its weights: a cross-encoder.

A pair goes through the encoder's own layers as `[CLS] a [SEP] b [SEP]`; with `u` and `v` the means over the
tokens of either side, the head is linear over `[u; v; |u - v|; u * v]`. The delta is a safetensors file. For
a weight W of the encoder it holds a tensor of W's name, which replaces W, or, for one that a layer multiplies
by, `W.a` and `W.b` of a low rank (Hu et al., "LoRA", 2021), which are added as b @ a; and the head.

Pairs are ordered by length and go through in small batches, as texts do in the encoder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forgekit.errors import FormatError
from forgekit.models.files import BertModel, read_header, shapes
from forgekit.models.layers import (
    Floats,
    Layers,
    filled,
    open_tokenizer,
    read_tensors,
    read_weights,
    tokenise,
)

HEAD, BIAS = "head.weight", "head.bias"

_BATCH = 8
_FEW = 16
"""Pairs up to which the differences are not added to the weights: that takes as long as reading some more."""
_WORD = re.compile(r"[^\W_]+(?:[-'./_][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Read:
    """What one reading of a pair gives.

    Attributes:
        logits: one a label.
        words: of the first text, then of the second, in their order; each with what its tokens have in the
            first label's logit above the mean of the text's tokens.
    """

    logits: tuple[float, ...]
    words: tuple[list[tuple[str, float]], list[tuple[str, float]]]


class CrossEncoder:
    """The encoder with a delta on its weights.

    Args:
        model: the encoder's files.
        delta: the safetensors file.
        labels: so many logits the head has.
        most: tokens of a side that are read.

    Raises FormatError for a delta that does not fit the encoder.
    """

    def __init__(self, model: BertModel, delta: Path, labels: int, most: int) -> None:
        self._layers, self._head, self._bias = _changed(model, delta, labels)
        self._model = model
        self._tokenizer = open_tokenizer(model, most)
        found = [self._tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]")]
        if None in found or 2 * most + 3 > model.positions or model.types < 2:
            raise FormatError("is no model that reads pairs", path=str(model.folder))
        self._cls, self._sep = found

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Read]:
        """Return what reading each pair of texts gives, in this order of its sides.

        Raises FormatError for weights that are no numbers.
        """
        texts = sorted({text for pair in pairs for text in pair})
        encodings = tokenise(self._model, self._tokenizer, texts, marks=False)
        tokens = dict(zip(texts, encodings, strict=True))
        if len(pairs) > _FEW:
            self._layers.merge()
        out: dict[int, Read] = {}
        order = sorted(range(len(pairs)), key=lambda i: sum(len(tokens[text].ids) for text in pairs[i]))
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            batch = [(tokens[a], tokens[b]) for a, b in (pairs[row] for row in rows)]
            with np.errstate(all="ignore"):  # as in the encoder
                logits, *shares = self._batch(batch)
            if not np.isfinite(logits).all():
                raise FormatError("gives figures that are no numbers", path=str(self._model.folder))
            for at, row in enumerate(rows):
                (a, b), (left, right) = pairs[row], batch[at]
                out[row] = Read(
                    logits=tuple(map(float, logits[at])),
                    words=(
                        _words(a, left, shares[0][at, 1 : 1 + len(left.ids)]),
                        _words(b, right, shares[1][at, 2 + len(left.ids) :][: len(right.ids)]),
                    ),
                )
        return [out[row] for row in range(len(pairs))]

    def _batch(self, pairs: Sequence[tuple[Any, Any]]) -> tuple[Floats, Floats, Floats]:
        """Return the logits of a few pairs, and the share of every token as of either side."""
        rows = [[self._cls, *a.ids, self._sep, *b.ids, self._sep] for a, b in pairs]
        tokens, real = filled(rows)
        places = np.arange(tokens.shape[1])
        first = np.array([len(a.ids) + 1 for a, _ in pairs])[:, None]
        last = real.sum(1, keepdims=True) - 1
        hidden = self._layers.hidden(tokens, real, ((places > first) & real).astype(np.int64))
        u = _mean(hidden, (places > 0) & (places < first))
        v = _mean(hidden, (places > first) & (places < last))
        seen = np.concatenate([u, v, np.abs(u - v), u * v], axis=1)
        return seen @ self._head.T + self._bias, *self._shares(hidden, u, v)

    def _shares(self, hidden: Floats, u: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the share of every token in the first logit less the mean of all logits.

        Taken at the last layer, where it is exact: u and v are means over tokens, and |u - v| is s (u - v)
        with s the sign, so the logit is a sum over tokens but for u * v, of which either side gets half.
        What a token has taken in from others in the layers below counts as its own.
        """
        one, two, gap, product = np.split(self._head[0] - self._head.mean(0), 4)
        sign = np.sign(u - v)
        left = one + sign * gap + v * product / 2
        right = two - sign * gap + u * product / 2
        return np.einsum("pth,ph->pt", hidden, left), np.einsum("pth,ph->pt", hidden, right)


def _words(text: str, tokens: Any, shares: Floats) -> list[tuple[str, float]]:
    """Return the words of a text, each with what its tokens have above the mean of all."""
    clean = text.strip()
    found = [(match.start(), match.end()) for match in _WORD.finditer(clean)]
    above = (shares - shares.mean()).tolist() if len(shares) else []
    out = [0.0] * len(found)
    at = 0
    for (start, _), share in zip(tokens.offsets, above, strict=True):
        while at < len(found) and found[at][1] <= start:
            at += 1
        if at < len(found) and found[at][0] <= start:
            out[at] += share
    return [(clean[start:end], share) for (start, end), share in zip(found, out, strict=True)]


def _mean(hidden: Floats, side: NDArray[np.bool_]) -> Floats:
    """Return the mean over the tokens of a side; zero where it has none."""
    counts = np.maximum(side.sum(1, keepdims=True), 1).astype(np.float32)
    out: Floats = np.einsum("pth,pt->ph", hidden, side.astype(np.float32)) / counts
    return out


def _changed(model: BertModel, delta: Path, labels: int) -> tuple[Layers, Floats, Floats]:
    """Return the encoder's layers with the delta on their weights, and the head.

    Raises FormatError for a tensor that has no place in the encoder, or another shape than its place.
    """
    header, known = read_header(delta), shapes(model)
    odd = [name for name, tensor in header.items() if tensor.dtype not in {"F32", "F16", "BF16"}]
    tensors = read_tensors(delta, header) if not odd else {}
    weights, differences = read_weights(model), {}
    head, bias = tensors.pop(HEAD, None), tensors.pop(BIAS, None)
    if head is None or bias is None or head.shape != (labels, 4 * model.hidden) or bias.shape != (labels,):
        raise FormatError("has no head, or one of another shape", path=str(delta))
    for name in sorted(tensors):
        stem = name.removesuffix(".a").removesuffix(".b")
        shape = known.get(stem, ())
        tensor = tensors[name]
        ranked = stem.startswith("encoder.") and len(shape) == 2
        if stem == name and tensor.shape == shape:
            weights[name] = tensor
        elif name == f"{stem}.a" and ranked and f"{stem}.b" in tensors:
            b = tensors[f"{stem}.b"]
            if (b.shape[:1], b.shape[1:], tensor.shape[1:]) != (shape[:1], tensor.shape[:1], shape[1:]):
                raise FormatError(f"has a tensor of another shape: {name[:80]}", path=str(delta))
            differences[stem] = tensor, b
        elif not (name == f"{stem}.b" and f"{stem}.a" in tensors):
            raise FormatError(f"has a tensor without a place: {name[:80]}", path=str(delta))
    return Layers(model, weights, differences), head, bias
