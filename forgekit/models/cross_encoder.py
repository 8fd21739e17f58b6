"""Pairs of texts read together by the bundled encoder with a delta on its weights: a cross-encoder.

A pair goes through the encoder's layers as `[CLS] a [SEP] b [SEP]` and as `[CLS] b [SEP] a [SEP]`, in a batch
of its own, so that no other pair can change a bit of the result. With `u` and `v` the means over the
tokens of either side, the head is linear over `[u; v; |u - v|; u * v]`.

The delta is a safetensors file. For a weight W of the encoder it holds a tensor named W, which replaces W, or
`W.a` and `W.b` of a low rank (Hu et al., "LoRA", 2021), whose product b @ a is added to W; and the head.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forgekit.errors import FormatError
from forgekit.models.files import BertModel, read_header, shapes
from forgekit.models.numpy_encoder import (
    Floats,
    Layers,
    open_tokenizer,
    read_tensors,
    read_weights,
    tokenise,
)

HEAD, BIAS = "head.weight", "head.bias"

_WORD = re.compile(r"[^\W_]+(?:[-'./_][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a pair in both orders gives.

    Attributes:
        logits: one a label, the mean of both orders.
        words: of the first and of the second text, in the order of the text; each with the
            share of its tokens in the first label's logit above the mean of the text, in both orders.
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
        self._layers, self._head, self._bias = _with_delta(model, delta, labels)
        self._model = model
        self._tokenizer = open_tokenizer(model, most)
        found = [self._tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]")]
        if None in found or 2 * most + 3 > model.positions or model.types < 2:
            raise FormatError("is no model that reads pairs", path=str(model.folder))
        self._cls, self._sep = found

    def read(self, a: str, b: str) -> Reading:
        """Read two texts in both orders.

        Raises FormatError for weights that are no numbers.
        """
        left, right = tokenise(self._model, self._tokenizer, [a, b], marks=False)
        orders = [(left, right), (right, left)]
        tokens = np.array([[self._cls, *x.ids, self._sep, *y.ids, self._sep] for x, y in orders])
        first = np.array([[len(x.ids) + 1] for x, _ in orders])
        places = np.arange(tokens.shape[1])
        with np.errstate(all="ignore"):  # weights are data: what they break shows in the logits
            hidden = self._layers.hidden(
                tokens, np.full(tokens.shape, True), (places > first).astype(np.int64)
            )
            u = _mean(hidden, (places > 0) & (places < first))
            v = _mean(hidden, (places > first) & (places < tokens.shape[1] - 1))
            logits = np.concatenate([u, v, np.abs(u - v), u * v], axis=1) @ self._head.T + self._bias
            one, two = self._shares(hidden, u, v)
        if not np.isfinite(logits).all():
            raise FormatError("gives figures that are no numbers", path=str(self._model.folder))
        m, n = len(left.ids), len(right.ids)
        of_a = _above_mean(one[0, 1 : 1 + m]) + _above_mean(two[1, 2 + n : 2 + n + m])
        of_b = _above_mean(one[1, 1 : 1 + n]) + _above_mean(two[0, 2 + m : 2 + m + n])
        return Reading(
            logits=tuple(map(float, logits.mean(0))), words=(_words(a, left, of_a), _words(b, right, of_b))
        )

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


def _above_mean(shares: Floats) -> Floats:
    return shares - shares.mean() if len(shares) else shares


def _words(text: str, tokens: Any, shares: Floats) -> list[tuple[str, float]]:
    """Return the words of a text, each with the sum of its tokens' shares."""
    clean = text.strip()
    found = [(match.start(), match.end()) for match in _WORD.finditer(clean)]
    out = [0.0] * len(found)
    at = 0
    for (start, _), share in zip(tokens.offsets, shares.tolist(), strict=True):
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


def _with_delta(model: BertModel, delta: Path, labels: int) -> tuple[Layers, Floats, Floats]:
    """Return the encoder's layers with the delta on their weights, and the head.

    Raises FormatError for a tensor that has no place in the encoder, or another shape than its place.
    """
    header, known = read_header(delta), shapes(model)
    odd = [name for name, tensor in header.items() if tensor.dtype not in {"F32", "F16", "BF16"}]
    tensors = read_tensors(delta, header) if not odd else {}
    weights = read_weights(model)
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
            weights[stem] = weights[stem] + b @ tensor
        elif not (name == f"{stem}.b" and f"{stem}.a" in tensors):
            raise FormatError(f"has a tensor without a place: {name[:80]}", path=str(delta))
    return Layers(model, weights), head, bias
