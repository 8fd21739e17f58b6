"""Train the conflict judge's model from a seed; `calibrate.py` then fits the joins and sets the thresholds.

    python training/train.py                      # trains, prints the figures, writes forgekit/models/judge
    python training/train.py --seed 3 --out /tmp/judge-3

A step sees written pairs, labelled pairs of whole registers, and of many unlabelled neighbours in registers
those that the model takes for contradictions most: a scan meets a hundred of them for each contradiction
(Shrivastava et al., 2016, online hard example mining). Two decisions of a register that nobody labelled can
both be followed; whether they are related is left to the model. The same seed gives the same pairs; the same
weights only on the same processor and libraries.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import torch
from bank import Pair, Register, Verdict, joined, read_pairs, read_registers
from delta import apply_delta, delta_of, write_delta
from neighbours import CACHE, compared
from network import SIDE, Network, Tokens, tokens_of
from sklearn.metrics import roc_auc_score
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from forgekit.models.encoder import Missing, find_default
from forgekit.models.files import TOKENIZER, WEIGHTS, BertModel

OUT = Path(__file__).parent.parent / "forgekit" / "models" / "judge"
LABELS = list(Verdict)
PARTS = 4
"""Parts of a batch, by length: padding would take half of the time."""
JOINED = 3
DRAWN = {
    Verdict.CONTRADICTION: 12, Verdict.DUPLICATE: 6, Verdict.REFINEMENT: 5, Verdict.RELATED: 3,
    Verdict.REPLACEMENT: 3,
}  # fmt: skip
"""Labelled pairs of registers in a batch."""
WRITTEN, HARDEST = 28, 24
"""Written pairs and hardest neighbours in a batch."""
NEAR = 3.0
"""A neighbour is drawn in proportion to exp(NEAR * cosine)."""


def main() -> int:
    """Train and write; exit 1 where the encoder is not installed."""
    given = _arguments()
    torch.set_flush_denormal(True)
    torch.set_num_threads(given.threads)
    CACHE.mkdir(exist_ok=True)
    model = find_default(CACHE)
    if isinstance(model, Missing):
        print(model, file=sys.stderr)
        return 1
    registers = [register for register in read_registers() if not register.held_back]
    registers = registers[: round(given.share * len(registers))]
    pools = Pools(read_pairs(), joined(registers, JOINED), given.seed)
    print(pools, flush=True)
    torch.manual_seed(0)  # all runs begin with one head
    network = Network(model.folder, len(LABELS), given.layers)
    torch.manual_seed(given.seed)
    before = {name: tensor.clone() for name, tensor in network.bert.state_dict().items()}
    tokenizer = Tokenizer.from_file(str(model.folder / TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    train(network, tokenizer, pools, given)
    delta = delta_of(network, before, given.rank)
    apply_delta(network, delta, before)
    held = read_pairs(held=True)
    figures = validation(held, both_ways(network, tokenizer, held))
    print(json.dumps(figures), flush=True)
    write(given, model, delta, figures)
    return 0


class Pools:
    """What batches are drawn from.

    Args:
        written: pairs written one by one.
        registers: whole registers.
        seed: of every draw.
    """

    def __init__(self, written: Sequence[Pair], registers: Sequence[Register], seed: int) -> None:
        self.written = list(written)
        self.labelled: dict[Verdict, list[Pair]] = {label: [] for label in DRAWN}
        self.neighbours: list[tuple[str, str]] = []
        cosines: list[float] = []
        for register in registers:
            texts = register.decisions
            for (i, j), label in register.labels.items():
                if label is not None:
                    self.labelled[label].append(Pair(texts[i], texts[j], label))
            pairs, near = compared(texts)
            free = [pair for pair in pairs if pair not in register.labels]
            self.neighbours += [(texts[i], texts[j]) for i, j in free]
            cosines += [float(near[pair]) for pair in free]
        weights = np.exp(NEAR * np.array(cosines))
        self._shares = weights / weights.sum()
        self._random, self._generator = Random(seed), np.random.default_rng(seed)
        self._order: list[int] = []

    def __str__(self) -> str:
        labelled = ", ".join(f"{len(pairs):,} {label.value}" for label, pairs in self.labelled.items())
        return f"{len(self.written):,} written; of registers {labelled}, {len(self.neighbours):,} neighbours"

    def drawn(self) -> list[Pair]:
        """Return written pairs and labelled pairs of registers, some of them turned round."""
        out = self._random.sample(self.written, WRITTEN)
        for label, number in DRAWN.items():
            out += self._random.choices(self.labelled[label], k=number)
        return [replace(pair, a=pair.b, b=pair.a) if self._random.random() < 0.5 else pair for pair in out]

    def near(self, number: int) -> list[tuple[str, str]]:
        """Return so many neighbours that nobody labelled, the nearer the oftener."""
        if len(self._order) < number:
            some = min(len(self.neighbours), 50_000)
            chosen = self._generator.choice(len(self.neighbours), some, replace=False, p=self._shares)
            self._order = chosen.tolist()
        rows = [self.neighbours[self._order.pop()] for _ in range(number)]
        return [row if self._random.random() < 0.5 else row[::-1] for row in rows]


def train(network: Network, tokenizer: Tokenizer, pools: Pools, given: argparse.Namespace) -> None:
    """Train the upper layers and the head."""
    layers = [weight for weight in network.bert.parameters() if weight.requires_grad]
    head = list(network.head.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": layers, "lr": given.rate}, {"params": head, "lr": given.head_rate}], weight_decay=0.01
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, [given.rate, given.head_rate], total_steps=given.steps, pct_start=0.1
    )
    start, total = time.perf_counter(), 0.0
    for step in range(1, given.steps + 1):
        near = tokens_of(tokenizer, pools.near(given.mined))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            odds = log_odds(network.logits(near))
        hardest = sorted(range(len(near)), key=lambda i: -odds[i])
        drawn = pools.drawn()
        tokens = [near[i] for i in hardest[:HARDEST]]
        labels = [-1] * len(tokens) + [LABELS.index(pair.label) for pair in drawn]
        tokens += tokens_of(tokenizer, [(pair.a, pair.b) for pair in drawn])
        network.train()
        optimizer.zero_grad()
        for rows in parts_of(tokens):
            loss = loss_of(network, [tokens[i] for i in rows], [labels[i] for i in rows], given.smoothing)
            (loss / len(tokens)).backward()
            total += loss.item() / len(tokens)
        torch.nn.utils.clip_grad_norm_([*layers, *head], 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            spent = time.perf_counter() - start
            print(f"step {step}: loss {total / 50:.4f}, {spent:.0f} s", flush=True)
            total = 0.0


def parts_of(tokens: Sequence[Tokens]) -> Iterator[list[int]]:
    """Yield the numbers of pairs in parts of like length."""
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i].ids))
    yield from (part.tolist() for part in np.array_split(np.array(order), PARTS))


def loss_of(network: Network, tokens: Sequence[Tokens], labels: Sequence[int], smoothing: float) -> Tensor:
    """Return the summed cross entropy; of label -1 that of being related or unrelated."""
    with torch.no_grad():
        below = network.below(tokens)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = network.above(below, tokens).float()
    truth = torch.tensor(labels)
    some = truth >= 0
    free = [LABELS.index(Verdict.RELATED), LABELS.index(Verdict.UNRELATED)]
    told = functional.cross_entropy(logits[some], truth[some], label_smoothing=smoothing, reduction="sum")
    return told - torch.logsumexp(torch.log_softmax(logits[~some], 1)[:, free], 1).sum()


def both_ways(network: Network, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> Tensor:
    """Return the logits of pairs, the mean of both orders [pairs, labels]."""
    forth = network.logits(tokens_of(tokenizer, [(pair.a, pair.b) for pair in pairs]))
    back = network.logits(tokens_of(tokenizer, [(pair.b, pair.a) for pair in pairs]))
    return (forth + back) / 2


def log_odds(logits: Tensor) -> list[float]:
    """Return the log-odds of a contradiction from the logits of all labels [pairs, labels]."""
    return [float(x) for x in logits[:, 0] - torch.logsumexp(logits[:, 1:], 1)]


def validation(pairs: Sequence[Pair], logits: Tensor) -> dict[str, float]:
    """Return what the model alone reaches on written pairs that it was not trained on."""
    truth = np.array([LABELS.index(pair.label) for pair in pairs])
    return {
        "auroc": round(float(roc_auc_score(truth == 0, log_odds(logits))), 3),
        "accuracy": round(float((logits.argmax(1).numpy() == truth).mean()), 3),
    }


def write(
    given: argparse.Namespace, model: BertModel, delta: dict[str, Tensor], figures: dict[str, float]
) -> None:
    """Write the delta and what it belongs to; the card is refused until `calibrate.py` has completed it."""
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "judge.safetensors"
    write_delta(delta, file)
    card = {
        "base": model.sha256[WEIGHTS],
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "labels": [label.value for label in LABELS],
        "tokens_a_side": SIDE,
        "seed": given.seed,
        "validation": figures,
    }
    (given.out / "judge.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(f"{given.out}: {file.stat().st_size / 1e6:.1f} MB", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="train the conflict judge")
    parser.add_argument("--seed", type=int, default=1, help="of the pairs and their order")
    parser.add_argument("--out", type=Path, default=OUT, help="folder that is written")
    parser.add_argument("--steps", type=int, default=1_300)
    parser.add_argument("--share", type=float, default=1.0, help="of the registers, for a learning curve")
    parser.add_argument("--mined", type=int, default=96, help="neighbours of which a step takes the hardest")
    parser.add_argument("--layers", type=int, default=6, help="upper layers that are trained")
    parser.add_argument("--rank", type=int, default=64, help="of the differences shipped; 0 = whole")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--head-rate", type=float, default=1e-3)
    parser.add_argument("--smoothing", type=float, default=0.02)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
