"""The network that is trained: the encoder's own layers over both texts, and a head.

The lower layers stay as they are; the upper ones and the head are trained. The same numbers come out of
`forgekit.models.trained_judge`, which needs no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertModel

from forgekit.models.files import TOKENIZER

SIDE = 60
"""Tokens of a side that are read."""
_BATCH = 32


@dataclass(frozen=True, slots=True)
class Tokens:
    """One pair as numbers, and how many of them are the first side's and the second's."""

    ids: tuple[int, ...]
    first: int
    second: int


def half_precision() -> torch.autocast:
    """Return the context for half precision; without effect where the processor would have to emulate it."""
    fast = torch.ops.mkldnn._is_mkldnn_bf16_supported()  # noqa: SLF001 (torch asks it so too)
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=fast)


def opened_tokenizer(folder: Path) -> Tokenizer:
    """Return the encoder's tokenizer, which neither cuts nor pads."""
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def tokens_of(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
    """Return `[CLS] a [SEP] b [SEP]` of each pair, each side cut to `SIDE` tokens."""
    vocabulary = tokenizer.get_vocab()
    cls, sep = vocabulary["[CLS]"], vocabulary["[SEP]"]
    texts = [text.strip().lower() for sides in pairs for text in sides]
    found = [encoding.ids[:SIDE] for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    return [
        Tokens((cls, *a, sep, *b, sep), len(a), len(b)) for a, b in zip(found[::2], found[1::2], strict=True)
    ]


class Network(nn.Module):
    """Layers of the encoder and a linear head over [u; v; |u - v|; u * v], u and v the means of each side."""

    def __init__(self, folder: Path, labels: int, trained: int, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(
            folder,
            attn_implementation="eager",
            add_pooling_layer=False,
            hidden_dropout_prob=0.0,  # random numbers took a quarter of the time; each pair is met once
            attention_probs_dropout_prob=0.0,
        )
        self.lower = len(self.bert.encoder.layer) - trained
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(4 * self.bert.config.hidden_size, labels)
        for name, weight in self.bert.named_parameters():
            weight.requires_grad = any(
                name.startswith(f"encoder.layer.{number}.")
                for number in range(self.lower, self.lower + trained)
            )

    def below(self, batch: Sequence[Tokens]) -> Tensor:
        """Return what the lower layers make of a batch [pairs, tokens, hidden]."""
        ids, types, mask = padded(batch)
        hidden = self.bert.embeddings(input_ids=ids, token_type_ids=types)
        return self._through(hidden, mask, 0, self.lower)

    def above(self, hidden: Tensor, batch: Sequence[Tokens]) -> Tensor:
        """Return the logits [pairs, labels] from what `below` returned."""
        _, _, mask = padded(batch)
        hidden = self._through(hidden, mask, self.lower, len(self.bert.encoder.layer))
        u, v = (_mean(hidden, where) for where in sides(batch))
        return self.head(self.dropout(torch.cat([u, v, (u - v).abs(), u * v], -1)))

    def _through(self, hidden: Tensor, mask: Tensor, first: int, last: int) -> Tensor:
        unseen = (1.0 - mask[:, None, None, :].to(hidden.dtype)) * -1e30
        for layer in self.bert.encoder.layer[first:last]:
            out = layer(hidden, unseen)
            hidden = out[0] if isinstance(out, tuple) else out
        return hidden

    def logits(self, pairs: Sequence[Tokens]) -> Tensor:
        """Return the logits of pairs in one order [pairs, labels], without gradients."""
        self.eval()
        out = torch.empty(len(pairs), self.head.out_features)
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].ids))
        with torch.no_grad():
            for start in range(0, len(order), _BATCH):
                rows = order[start : start + _BATCH]
                batch = [pairs[row] for row in rows]
                out[rows] = self.above(self.below(batch), batch).float()
        return out


def padded(batch: Sequence[Tokens]) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids, token types and mask of a batch, [pairs, tokens] each."""
    longest = max(len(pair.ids) for pair in batch)
    ids, types, mask = (torch.zeros(len(batch), longest, dtype=torch.long) for _ in range(3))
    for row, pair in enumerate(batch):
        ids[row, : len(pair.ids)] = torch.tensor(pair.ids)
        types[row, pair.first + 2 : len(pair.ids)] = 1
        mask[row, : len(pair.ids)] = 1
    return ids, types, mask


def sides(batch: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
    """Return where the tokens of each side stand, without marks, [pairs, tokens] each."""
    longest = max(len(pair.ids) for pair in batch)
    at = torch.arange(longest)[None]
    first = torch.tensor([pair.first for pair in batch])[:, None]
    second = torch.tensor([pair.second for pair in batch])[:, None]
    return (at >= 1) & (at <= first), (at >= first + 2) & (at < first + 2 + second)


def _mean(hidden: Tensor, where: Tensor) -> Tensor:
    weights = where.to(hidden.dtype)[:, :, None]
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1)
