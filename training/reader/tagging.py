"""The tagger as a torch module: the same arithmetic as `forgekit.archives.tagger`, with gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from annotated import NO_VALUE, Example
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from forgekit.archives.network import GRID
from forgekit.archives.tagger import FIRST_VALUE, TAGS, VALUES
from forgekit.archives.tokens import BUCKETS, WIDTH

WORD, AROUND, HIDDEN, LINE = 56, 24, 112, 80
_VALUE_COUNT = sum(map(len, VALUES.values()))


class Batch:
    """Several examples behind each other."""

    def __init__(self, examples: Sequence[Example], keep: float = 1.0) -> None:
        tokens = [each.tokens for each in examples]
        sizes = np.cumsum([0, *(len(t.texts) for t in tokens)])
        ids = np.cumsum([0, *(len(t.ids) for t in tokens)])
        rows = np.cumsum([0, *(t.rows for t in tokens)])
        segments = np.cumsum([0, *(t.segments for t in tokens)])

        def joined(parts: list[NDArray[np.int64]]) -> Tensor:
            return torch.from_numpy(np.concatenate(parts))

        def moved(of: NDArray[np.int64], by: int) -> NDArray[np.int64]:
            return np.where(of > 0, of + by, 0)

        self.ids = joined([t.ids for t in tokens])
        self.offsets = joined([t.offsets + n for t, n in zip(tokens, ids, strict=False)])
        self.row = joined([t.row + n for t, n in zip(tokens, rows, strict=False)])
        self.inside = joined([t.inside for t in tokens])
        self.pool_of = joined([t.pools[0] + n for t, n in zip(tokens, sizes, strict=False)])
        self.pool = joined([moved(t.pools[1], int(n)) for t, n in zip(tokens, segments, strict=False)])
        self.around = joined([moved(t.around, int(n)) for t, n in zip(tokens, segments, strict=False)])
        self.dense = torch.from_numpy(np.concatenate([t.dense for t in tokens])).float()
        self.rows, self.segments = int(rows[-1]), int(segments[-1]) + 1
        self.tags = joined([each.tags for each in examples])
        self.values = joined([each.values for each in examples])
        self.forward = torch.from_numpy(np.concatenate([each.forward for each in examples])).float()
        likely = [each.likely for each in examples if each.likely is not None]
        self.likely = torch.from_numpy(np.concatenate(likely)) if likely else None
        self.kept = (torch.rand(len(self.ids)) < keep).float()


class Network(nn.Module):
    """Embeddings of what is known of each token, convolutions over tokens and lines, a random field."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(BUCKETS, WORD)
        nn.init.normal_(self.embedding.weight, std=0.3)
        self.context = nn.Linear(WORD, 4 * AROUND, bias=False)
        self.first = nn.Conv1d(WORD + 4 * AROUND + WIDTH, HIDDEN, 3, padding=1)
        self.second = nn.Conv1d(HIDDEN, HIDDEN, 5, padding=2)
        self.line = nn.Conv1d(HIDDEN, LINE, 3, padding=1)
        self.lines = nn.Conv1d(LINE, LINE, 5, padding=2)
        self.third = nn.Conv1d(HIDDEN + 2 * LINE, HIDDEN, 3, padding=1)
        self.fourth = nn.Conv1d(HIDDEN, HIDDEN, 5, padding=4, dilation=2)
        self.out = nn.Linear(2 * HIDDEN, len(TAGS) + _VALUE_COUNT + 1)
        self.skip = nn.Linear(WORD, len(TAGS) + _VALUE_COUNT + 1, bias=False)
        self.drop = nn.Dropout(0.2)
        tags = len(TAGS)
        self.moves = nn.Parameter(torch.stack([torch.eye(tags), 3 * torch.eye(tags)]))
        self.starts = nn.Parameter(torch.zeros(tags))

    def forward(self, batch: Batch) -> Tensor:
        """Return for each token the scores of tags, values and `forward`."""
        words = functional.embedding_bag(
            batch.ids, self.embedding.weight, batch.offsets, mode="sum", per_sample_weights=batch.kept
        )
        sums = torch.zeros(batch.segments, WORD).index_add_(0, batch.pool, words[batch.pool_of])
        counts = torch.zeros(batch.segments).index_add_(0, batch.pool, torch.ones(len(batch.pool)))
        inner = self.context(sums / counts.clamp(min=1).sqrt()[:, None])
        around = [inner[batch.around[:, n], n * AROUND : (n + 1) * AROUND] for n in range(4)]
        x = self._over(self.first, torch.cat([words, *around, batch.dense], 1))
        x = self._over(self.second, x)
        pooled = torch.zeros(batch.rows, HIDDEN).index_reduce_(0, batch.row, x, "amax")
        line = self._over(self.line, pooled, drop=False)
        line = torch.cat([line, self._over(self.lines, line)], 1)
        y = self._over(self.third, torch.cat([x, line[batch.row]], 1), drop=False)
        z = torch.cat([y, self._over(self.fourth, y)], 1)
        scores: Tensor = self.out(self.drop(z)) + self.skip(self.drop(words))
        return scores

    def _over(self, layer: nn.Conv1d, x: Tensor, *, drop: bool = True) -> Tensor:
        x = self.drop(x) if drop else x
        return functional.relu(layer(x.T[None]))[0].T

    def loss(self, batch: Batch, *, with_field: bool) -> Tensor:
        """Return what is to be made small.

        Args:
            batch: examples.
            with_field: whether tags are scored along each line, else each alone, which is much faster.
        """
        scores = self(batch)
        tags = scores[:, : len(TAGS)]
        if with_field:
            loss = 2 * self._field_loss(tags, batch)
        else:
            loss = functional.cross_entropy(tags, batch.tags, label_smoothing=0.02)
        if batch.likely is not None:
            loss = loss + functional.cross_entropy(tags, batch.likely)
        values = scores[:, len(TAGS) : -1]
        for tag, first in FIRST_VALUE.items():
            of = torch.nonzero((batch.tags == TAGS.index(tag)) & (batch.values != NO_VALUE))[:, 0]
            if len(of):
                part = values[of, first : first + len(VALUES[tag])]
                loss = loss + 0.1 * functional.cross_entropy(
                    part, batch.values[of] - first, label_smoothing=0.02
                )
        marked = batch.tags > 0
        ahead = functional.binary_cross_entropy_with_logits(scores[marked, -1], batch.forward[marked])
        return loss + 0.2 * ahead if bool(marked.any()) else loss

    def _field_loss(self, tags: Tensor, batch: Batch) -> Tensor:
        """Return the negative log likelihood of the tags along each line, for each token."""
        total = tags.new_zeros(())
        for index, mask in _lines(batch.row.numpy()):
            scores, wanted, inside = tags[index], batch.tags[index], batch.inside[index]
            reached = self.starts + scores[:, 0]
            path = self.starts[wanted[:, 0]] + scores[:, 0].gather(1, wanted[:, :1])[:, 0]
            for step in range(1, index.shape[1]):
                moves = self.moves[inside[:, step]]
                on = torch.logsumexp(reached[:, :, None] + moves, 1) + scores[:, step]
                reached = torch.where(mask[:, step, None], on, reached)
                move = self.moves[inside[:, step], wanted[:, step - 1], wanted[:, step]]
                move = move + scores[:, step].gather(1, wanted[:, step : step + 1])[:, 0]
                path = path + torch.where(mask[:, step], move, torch.zeros_like(move))
            total = total + (torch.logsumexp(reached, 1) - path).sum()
        return total / len(tags)

    def load(self, weights: Mapping[str, NDArray[np.float64]]) -> None:
        """Take the weights that the package reads: the inverse of `weights`."""
        found = {"embedding.weight": weights["embedding"], "context.weight": weights["context"].T}
        for name in ("first", "second", "line", "lines", "third", "fourth"):
            out, inner, taps = getattr(self, name).weight.shape
            found[f"{name}.weight"] = weights[name].reshape(taps, inner, out).transpose(2, 1, 0)
            found[f"{name}.bias"] = weights[f"{name} bias"]
        found |= {
            "out.weight": weights["out"].T,
            "skip.weight": weights["skip"].T,
            "out.bias": weights["bias"],
        }
        found |= {name: weights[name] for name in ("moves", "starts")}
        self.load_state_dict({name: torch.from_numpy(np.array(each)).float() for name, each in found.items()})

    def weights(self) -> dict[str, NDArray[np.float64]]:
        """Return the weights as the package reads them, rounded to the grid."""

        def plain(x: Tensor) -> NDArray[np.float64]:
            return np.asarray(np.round(x.detach().double().numpy() * GRID) / GRID)

        found = {"embedding": plain(self.embedding.weight), "context": plain(self.context.weight).T}
        for name in ("first", "second", "line", "lines", "third", "fourth"):
            layer = getattr(self, name)
            kernel = plain(layer.weight)  # (out, in, taps)
            found[name] = kernel.transpose(2, 1, 0).reshape(-1, kernel.shape[0])
            found[f"{name} bias"] = plain(layer.bias)
        found |= {
            "out": plain(self.out.weight).T,
            "skip": plain(self.skip.weight).T,
            "bias": plain(self.out.bias),
        }
        return found | {"moves": plain(self.moves), "starts": plain(self.starts)}


def _lines(row: NDArray[np.int64]) -> list[tuple[Tensor, Tensor]]:
    """Return the tokens of lines of like length side by side: their numbers, and which of them are there."""
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    sizes = np.diff(begins, append=len(row))
    order = np.argsort(sizes, kind="stable")
    found, done = [], 0
    while done < len(order):
        count = max(4, min(600, 8000 // int(sizes[order[done]] + 1)))
        part = order[done : done + count]
        done += count
        steps = np.arange(sizes[part[-1]])
        index = np.minimum(begins[part][:, None] + steps, len(row) - 1)
        found.append((torch.from_numpy(index), torch.from_numpy(steps < sizes[part][:, None])))
    return found
