"""The statement reader as a torch module: the encoder's layers and a linear head over each token.

The lower layers stay as they are; the upper ones, the embeddings of who speaks and the head are trained.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertModel

from forgekit.extraction.statements import TAGS

sys.path.append(str(Path(__file__).parents[1]))

from network import half_precision

LEFT_OUT = -100
MASK = 103
"""The encoder's token for a hidden one."""
_SPEAKERS = "embeddings.token_type_embeddings.weight"


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens, for each whether a person said it, and its tag or `LEFT_OUT`."""

    ids: Sequence[int]
    human: Sequence[int]
    tags: Sequence[int]


class Network(nn.Module):
    """Layers of the encoder and a linear head.

    Args:
        folder: of the encoder.
        trained: upper layers that are trained.
        dropout: share of activations left out in training.
        masked: share of tokens hidden in training.
    """

    def __init__(self, folder: Path, trained: int, *, dropout: float = 0.1, masked: float = 0.05) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(
            folder,
            attn_implementation="eager",
            add_pooling_layer=False,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
        self.masked = masked
        self.lower = len(self.bert.encoder.layer) - trained
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(self.bert.config.hidden_size, len(TAGS))
        upper = tuple(f"encoder.layer.{n}." for n in range(self.lower, self.lower + trained))
        for name, weight in self.bert.named_parameters():
            weight.requires_grad = name.startswith(upper) or name == _SPEAKERS

    @property
    def speakers(self) -> nn.Parameter:
        """The embeddings of who speaks."""
        return self.bert.embeddings.token_type_embeddings.weight

    def forward(self, ids: Tensor, human: Tensor, mask: Tensor) -> Tensor:
        """Return the logits [windows, tokens, tags]."""
        unseen = (1.0 - mask[:, None, None, :].float()) * -1e30
        hidden = self.bert.embeddings(input_ids=ids, token_type_ids=1 - human)
        for layer in self.bert.encoder.layer:
            out = layer(hidden, unseen)
            hidden = out[0] if isinstance(out, tuple) else out
        return self.head(self.dropout(hidden))

    def loss(self, batch: Sequence[Window], smoothing: float) -> Tensor:
        """Return the cross entropy of a batch, a mean over its tokens."""
        ids, human, mask, tags = padded(batch)
        ids = ids.masked_fill(torch.rand(ids.shape) < self.masked, MASK)
        with half_precision():
            logits = self(ids, human, mask)
        return functional.cross_entropy(
            logits.float().reshape(-1, len(TAGS)),
            tags.reshape(-1),
            ignore_index=LEFT_OUT,
            label_smoothing=smoothing,
        )


def padded(batch: Sequence[Window]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return ids, who speaks, mask and tags of a batch, [windows, tokens] each."""
    longest = max(len(window.ids) for window in batch)
    ids, human, mask = (torch.zeros(len(batch), longest, dtype=torch.long) for _ in range(3))
    tags = torch.full((len(batch), longest), LEFT_OUT)
    for row, window in enumerate(batch):
        size = len(window.ids)
        ids[row, :size] = torch.tensor(window.ids)
        human[row, :size] = torch.tensor(window.human)
        tags[row, :size] = torch.tensor(window.tags)
        mask[row, :size] = 1
    return ids, human, mask, tags
