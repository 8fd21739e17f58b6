"""The forward pass of a BERT-family model in NumPy, for single texts and for pairs read together.

Method: Devlin et al., "BERT" (2019), section 3; GELU by the error function of Abramowitz and Stegun,
7.1.26, whose error is below 1.5e-7.

In the cross-encoder a pair goes through the layers as `[CLS] a [SEP] b [SEP]` and as `[CLS] b [SEP] a [SEP]`,
in a batch of its own, so that no other pair can change a bit of the result; what a batch of many pairs gives
is only an estimate of it. With `u` and `v` the means over the tokens of either side, the head is linear over
`[u; v; |u - v|; u * v]`. Its weights are the encoder's with a delta, a safetensors file: for a weight W it
holds a tensor named W, which replaces W, or `W.a` and `W.b` of a low rank (Hu et al., "LoRA", 2021), whose
product b @ a is added to W; and the head.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from forgekit.errors import FormatError
from forgekit.frozen import frozen
from forgekit.models.files import TOKENIZER, WEIGHTS, BertModel, Tensor, limited, read_header, shapes
from forgekit.models.windows import AFTER, BEFORE, NEW, Conversation, windows_of

Floats = NDArray[np.float32]
T = TypeVar("T")
R = TypeVar("R")

TEXT_LIMIT = 65_536
"""Characters of a text that the tokenizer sees; a model reads a few hundred tokens."""

_BATCH = 8  # windows of a conversation read at once
_BATCH_TOKENS = 256  # of texts read at once; more of them leave the processor's caches
_GROUP = 4_096  # texts whose tokens are held at once
_STORED = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_P = 0.3275911
_TOKENIZER_LIMIT = 64 << 20
_HEAD, _BIAS = "head.weight", "head.bias"
_WORD = re.compile(r"[^\W_]+(?:[-'./_][^\W_]+)*")


def read_weights(model: BertModel) -> dict[str, Floats]:
    """Return a model's numbers, mapped from its file."""
    data = _mapped(model.folder / WEIGHTS, model.sha256[WEIGHTS])
    return {name: _floats(data, model.tensors[name]) for name in shapes(model)}


@cache
def _mapped(path: Path, digest: str) -> NDArray[np.uint8]:
    """Return the bytes of a file of this SHA-256, mapped once for all encoders of a process."""
    del digest
    return np.memmap(path, np.uint8, mode="r")


@cache
def open_tokenizer(path: Path, digest: str) -> Any:
    """Return the tokenizer of a file, read once in a process, which fills nothing up.

    Args:
        digest: its SHA-256 when the model was found.

    Raises FormatError.
    """
    import tokenizers

    del digest
    try:
        tokenizer = tokenizers.Tokenizer.from_str(limited(path, _TOKENIZER_LIMIT).decode())
    except Exception as e:  # noqa: BLE001 - the library raises nothing narrower
        raise FormatError(f"is no tokenizer: {e}", path=str(path)) from None
    tokenizer.no_padding()
    return tokenizer


def tokenise(
    model: BertModel, tokenizer: Any, texts: Sequence[str], most: int, *, marks: bool = True
) -> list[Any]:
    """Return the tokenizer's encodings of texts, cut at so many tokens, with the model's marks or without.

    Raises FormatError where the tokenizer belongs to another model.
    """
    cut = [text.strip()[:TEXT_LIMIT].encode("utf-8", "replace").decode() for text in texts]
    if model.lower_case:
        cut = [text.lower() for text in cut]
    # The file may cut at another length than the model reads: 128 and 256 for the default model.
    tokenizer.enable_truncation(max_length=most)
    found: list[Any] = tokenizer.encode_batch(cut, add_special_tokens=marks)
    none = -1 if marks else 0  # a text without tokens still has its marks
    if any(max(encoding.ids, default=none) not in range(model.vocabulary) for encoding in found):
        raise FormatError("has tokens that the model does not know", path=str(model.folder / TOKENIZER))
    return found


def filled(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return rows of numbers filled up with zeros to the longest, and where they are real."""
    lengths = np.array([len(row) for row in rows])
    out = np.zeros((len(rows), int(lengths.max())), np.int64)
    for number, row in enumerate(rows):
        out[number, : len(row)] = row
    return out, np.arange(out.shape[1]) < lengths[:, None]


def _batches(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the numbers of the token lists that are read at once: of like length, and few tokens."""
    rows: list[int] = []
    for row in sorted(range(len(tokens)), key=lambda row: len(tokens[row])):
        if rows and (len(rows) + 1) * len(tokens[row]) > _BATCH_TOKENS:
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


def in_parallel(compute: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Return what is computed of each item, in their order, of as many at once as there are processors."""
    count = min(os.cpu_count() or 1, len(items))
    if count < 2:
        return [compute(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count) as pool:  # NumPy lets other threads run while it computes
        return list(pool.map(compute, items))


class Layers:
    """A model's layers over the weights given, by name."""

    def __init__(self, model: BertModel, weights: Mapping[str, Floats]) -> None:
        self._model = model
        self._weights = weights

    def hidden(
        self,
        tokens: NDArray[np.int64],
        real: NDArray[np.bool_],
        types: NDArray[np.int64] | None = None,
    ) -> Floats:
        """Return the last layer's output [texts, tokens, hidden].

        Args:
            tokens: [texts, tokens].
            real: False at padding.
            types: which part of its text each token belongs to; None where all belong to the first.
        """
        model, weights = self._model, self._weights
        texts, length = tokens.shape
        width = model.hidden // model.heads
        words = weights["embeddings.word_embeddings.weight"][tokens.reshape(-1)]
        x = words.reshape(texts, length, model.hidden)
        x = x + weights["embeddings.position_embeddings.weight"][:length]
        x += weights["embeddings.token_type_embeddings.weight"][0 if types is None else types]
        x = self._normed(x.reshape(-1, model.hidden), "embeddings.LayerNorm")
        unseen = None if real.all() else np.where(real, np.float32(0), np.float32(-1e30))[:, None, None]

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
            inner = gelu(self._dense(x, f"{layer}.intermediate.dense"))
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
    kind = np.dtype(_STORED[tensor.dtype])
    size = math.prod(tensor.shape) * kind.itemsize
    stored = np.asarray(data[tensor.start : tensor.start + size]).view(kind).reshape(tensor.shape)
    if tensor.dtype == "BF16":
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return stored.astype(np.float32, copy=False)


def gelu(x: Floats) -> Floats:
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


class TextEncoder:
    """What `encoder.NumpyEncoder` computes with; its weights are mapped when a text is first encoded."""

    def __init__(self, model: BertModel) -> None:
        self._model = model
        self._tokenizer = open_tokenizer(model.folder / TOKENIZER, model.sha256[TOKENIZER])
        self._layers = Layers(model, read_weights(model))

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of texts, one a row."""
        out = np.empty((len(texts), self._model.hidden), np.float32)
        for first in range(0, len(texts), _GROUP):
            group = texts[first : first + _GROUP]
            tokens = [
                found.ids for found in tokenise(self._model, self._tokenizer, group, self._model.max_length)
            ]
            batches = [*_batches(tokens)]
            found = in_parallel(self._forward, [[tokens[row] for row in rows] for rows in batches])
            for rows, vectors in zip(batches, found, strict=True):
                out[[first + row for row in rows]] = vectors
        return out

    def _forward(self, batch: Sequence[Sequence[int]]) -> Floats:
        """Return the vectors of a few token lists, in their order."""
        tokens, real = filled(batch)
        with np.errstate(all="ignore"):  # weights are data: what they break shows in the vectors
            hidden = self._layers.hidden(tokens, real)
            if self._model.pooling == "cls":
                vectors: Floats = hidden[:, 0]
            else:
                lengths = real.sum(1, keepdims=True).astype(np.float32)
                vectors = (hidden * real[:, :, None]).sum(1) / lengths
            norms = np.sqrt((vectors * vectors).sum(1, keepdims=True))
            vectors /= np.maximum(norms, np.float32(1e-12))
        if not np.isfinite(vectors).all():
            path = str(self._model.folder / WEIGHTS)
            raise FormatError("gives vectors that are no numbers", path=path)
        return vectors


@frozen()
class Reading:
    """What reading a pair in both orders gives.

    Attributes:
        logits: one a label, the mean of both orders.
        first: one a label, of the first order alone.
        words: of the first and of the second text, in the order of the text; each with the
            share of its tokens in the first label's logit above the mean of the text, in both orders.
    """

    logits: tuple[float, ...]
    first: tuple[float, ...]
    words: tuple[list[tuple[str, float]], list[tuple[str, float]]]


class TokenTagger:
    """The encoder with a delta on its weights, and a head over each token of a conversation.

    Args:
        labels: so many logits the head has.

    Raises FormatError for a delta that does not fit the encoder.
    """

    def __init__(self, model: BertModel, delta: Path, labels: int) -> None:
        self._layers, self._head, self._bias = _with_delta(model, delta, labels, model.hidden)
        if model.positions < BEFORE + NEW + AFTER or model.types < 2:
            raise FormatError("is no model that reads conversations", path=str(model.folder))
        self.tokenizer = open_tokenizer(model.folder / TOKENIZER, model.sha256[TOKENIZER])
        self._path = str(model.folder)

    def shares(self, conversation: Conversation) -> Floats:
        """Return the probability of each label for each token [tokens, labels].

        Raises FormatError for weights that are no numbers.
        """
        ids, types = conversation.ids, [1 - by for by in conversation.human]
        out = np.zeros((len(ids), len(self._head)), np.float32)
        windows = windows_of(len(ids))
        groups = [windows[start : start + _BATCH] for start in range(0, len(windows), _BATCH)]

        def read(group: Sequence[tuple[int, int, int, int]]) -> Floats:
            tokens, real = filled([ids[first:last] for first, last, _, _ in group])
            kinds, _ = filled([types[first:last] for first, last, _, _ in group])
            with np.errstate(all="ignore"):  # weights are data: what they break shows in the logits
                logits: Floats = self._layers.hidden(tokens, real, kinds) @ self._head.T + self._bias
                logits -= logits.max(-1, keepdims=True)
                np.exp(logits, out=logits)
                logits /= logits.sum(-1, keepdims=True)
            return logits

        for group, logits in zip(groups, in_parallel(read, groups), strict=True):
            for row, (first, _, begin, end) in enumerate(group):
                out[begin:end] = logits[row, begin - first : end - first]
        if not np.isfinite(out).all():
            raise FormatError("gives figures that are no numbers", path=self._path)
        return out


class CrossEncoder:
    """The encoder with a delta on its weights.

    Args:
        labels: so many logits the head has.
        most: tokens of a side that are read.

    Raises FormatError for a delta that does not fit the encoder.
    """

    def __init__(self, model: BertModel, delta: Path, labels: int, most: int) -> None:
        self._layers, self._head, self._bias = _with_delta(model, delta, labels, 4 * model.hidden)
        self._model = model
        self._tokenizer, self._most = open_tokenizer(model.folder / TOKENIZER, model.sha256[TOKENIZER]), most
        found = [self._tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]")]
        if None in found or 2 * most + 3 > model.positions or model.types < 2:
            raise FormatError("is no model that reads pairs", path=str(model.folder))
        self._cls, self._sep = found

    def read(self, a: str, b: str) -> Reading:
        """Read two texts in both orders; raises FormatError for weights that are no numbers."""
        left, right = tokenise(self._model, self._tokenizer, [a, b], self._most, marks=False)
        hidden, u, v, logits = self._forward([(left.ids, right.ids), (right.ids, left.ids)])
        with np.errstate(all="ignore"):
            one, two = self._shares(hidden, u, v)
        m, n = len(left.ids), len(right.ids)
        of_a = _above_mean(one[0, 1 : 1 + m]) + _above_mean(two[1, 2 + n : 2 + n + m])
        of_b = _above_mean(one[1, 1 : 1 + n]) + _above_mean(two[0, 2 + m : 2 + m + n])
        return Reading(
            logits=tuple(map(float, logits.mean(0))),
            first=tuple(map(float, logits[0])),
            words=(_words(a, left, of_a), _words(b, right, of_b)),
        )

    def estimates(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Return nearly the logits that `read` finds in the first order [pairs, labels], for less time.

        Raises FormatError for weights that are no numbers.
        """
        texts = [text for pair in pairs for text in pair]
        ids = [found.ids for found in tokenise(self._model, self._tokenizer, texts, self._most, marks=False)]
        orders = [*zip(ids[::2], ids[1::2], strict=True)]
        out = np.empty((len(orders), len(self._bias)), np.float32)
        batches = [*_batches([x + y for x, y in orders])]
        found = in_parallel(lambda rows: self._forward([orders[row] for row in rows])[3], batches)
        for rows, logits in zip(batches, found, strict=True):
            out[rows] = logits
        return out

    def _forward(
        self, orders: Sequence[tuple[list[int], list[int]]]
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the last layer's output, the means of both sides and the logits of pairs of token lists."""
        tokens, real = filled([[self._cls, *x, self._sep, *y, self._sep] for x, y in orders])
        first = np.array([[len(x) + 1] for x, _ in orders])
        last = np.array([[len(x) + len(y) + 2] for x, y in orders])
        places = np.arange(tokens.shape[1])
        with np.errstate(all="ignore"):  # weights are data: what they break shows in the logits
            hidden = self._layers.hidden(tokens, real, (places > first).astype(np.int64))
            u = _mean(hidden, (places > 0) & (places < first))
            v = _mean(hidden, (places > first) & (places < last))
            logits: Floats = np.concatenate([u, v, np.abs(u - v), u * v], axis=1) @ self._head.T + self._bias
        if not np.isfinite(logits).all():
            raise FormatError("gives figures that are no numbers", path=str(self._model.folder))
        return hidden, u, v, logits

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


def _with_delta(model: BertModel, delta: Path, labels: int, width: int) -> tuple[Layers, Floats, Floats]:
    """Return the encoder's layers with the delta on their weights, and the head.

    Raises FormatError for a tensor that has no place in the encoder, or another shape than its place.
    """
    header, known = read_header(delta), shapes(model)
    odd = [name for name, tensor in header.items() if tensor.dtype not in {"F32", "F16", "BF16"}]
    data = np.memmap(delta, np.uint8, mode="r")
    tensors = {name: _floats(data, tensor) for name, tensor in header.items()} if not odd else {}
    weights = read_weights(model)
    head, bias = tensors.pop(_HEAD, None), tensors.pop(_BIAS, None)
    if head is None or bias is None or head.shape != (labels, width) or bias.shape != (labels,):
        raise FormatError("has no head, or one of another shape", path=str(delta))
    sizes = (math.prod(known.get(name[:-2], ())) for name in tensors if name.endswith(".a"))
    room = np.empty(sum(sizes), np.float32)  # at once: the system gives small pieces page by page, in 10 ms
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
            merged = room[: math.prod(shape)].reshape(shape)
            room = room[merged.size :]
            np.matmul(b, tensor, out=merged)
            merged += weights[stem]
            weights[stem] = merged
        elif not (name == f"{stem}.b" and f"{stem}.a" in tensors):
            raise FormatError(f"has a tensor without a place: {name[:80]}", path=str(delta))
    return Layers(model, weights), head, bias
