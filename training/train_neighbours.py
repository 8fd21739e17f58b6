"""Go on training the judge on whole registers, as it will meet them; `calibrate.py` follows.

    python training/train_neighbours.py [--judge FOLDER] [--share .25]

A step sees written pairs, labelled pairs of registers, and of many unlabelled neighbours those that the model
takes for contradictions most: a scan meets a hundred of them for each contradiction (Shrivastava et al.,
2016, online hard example mining). Two decisions of a register that nobody labelled can both be followed;
whether they are related is left to the model. The head learns one label more, that of a replacement.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import torch
from bank import BANK, read_pairs
from delta import apply_delta, delta_of, write_delta
from neighbours import CACHE, compared
from network import Network, Tokens, half_precision, opened_tokenizer, tokens_of
from pairs import written
from restatements import near_twins
from safetensors.torch import load_file
from sklearn.metrics import average_precision_score
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional
from train import both_ways, log_odds, validation
from whole import Relation, Whole, joined, read_whole

from forgekit.models.encoder import Missing, find_default
from forgekit.models.trained_judge import CARD, DELTA, FOLDER

LABELS = list(Relation)
PARTS = 4
"""Parts of a batch, by length: padding would take half of the time."""
JOINED = 3
DRAWN = {
    Relation.CONTRADICTION: 16, Relation.DUPLICATE: 8, Relation.REFINEMENT: 6, Relation.RELATED: 3,
    Relation.REPLACEMENT: 3,
}  # fmt: skip
"""Labelled pairs of registers in a batch."""
WRITTEN, HARDEST = 16, 20
"""Written pairs and hardest neighbours in a batch."""
TWINS, MADE_TWINS = 24, 8
"""Pairs in nearly the same words in a batch: written, and made by recipes."""
NEAR = 3.0
"""A neighbour is drawn in proportion to exp(NEAR * cosine)."""
UNKNOWN = -3.0
"""The bias with which the head begins to learn its new label."""
Pair = tuple[str, str]


def main() -> int:
    """Train and write; exit 1 where the encoder is not installed."""
    given = _arguments()
    torch.set_flush_denormal(True)
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    model = find_default(CACHE)
    if isinstance(model, Missing):
        print(model, file=sys.stderr)
        return 1
    whole = [register for register in read_whole() if not register.held_back]
    registers = [*whole, *joined(JOINED)]
    pools = Pools(Random(given.seed).sample(registers, round(given.share * len(registers))), given.seed)
    print(pools, flush=True)
    network = Network(model.folder, len(LABELS), given.layers)
    before = {name: tensor.clone() for name, tensor in network.bert.state_dict().items()}
    apply_delta(network, _widened(load_file(given.judge / DELTA)), before)
    tokenizer = opened_tokenizer(model.folder)
    train(network, tokenizer, pools, given)
    delta = delta_of(network, before, given.rank)
    apply_delta(network, delta, before)
    figures = validated(network, tokenizer)
    print(json.dumps(figures), flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    write_delta(delta, given.out / DELTA)
    card = json.loads((given.judge / CARD).read_text(encoding="utf-8"))
    card["sha256"] = hashlib.sha256((given.out / DELTA).read_bytes()).hexdigest()
    card |= {"labels": [label.value for label in LABELS], "validation": figures}
    (given.out / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return 0


def validated(network: Network, tokenizer: Tokenizer) -> dict[str, object]:
    """Return what the model alone reaches on written pairs and whole registers that were held back."""
    held = written(read_pairs(held=True), 0, 0)
    truth: list[bool] = []
    odds: list[float] = []
    for register in (each for each in read_whole() if each.held_back):
        pairs, _ = compared(register.decisions)
        labels = {pair: register.labels.get(pair, Relation.UNRELATED) for pair in pairs}
        pairs = [pair for pair in pairs if labels[pair] not in {None, Relation.REPLACEMENT}]
        truth += [labels[pair] is Relation.CONTRADICTION for pair in pairs]
        texts = [(register.decisions[i], register.decisions[j]) for i, j in pairs]
        odds += log_odds(both_ways(network, tokenizer, texts))
    precision = float(average_precision_score(truth, odds))
    logits = both_ways(network, tokenizer, [(pair.a, pair.b) for pair in held])
    return {
        "written": validation(held, logits),
        "whole_registers": {"average_precision": round(precision, 3), "pairs": len(odds)},
    }


def _widened(delta: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a delta whose head has a row for each label; a new row begins with nothing."""
    weight, bias = delta["head.weight"].float(), delta["head.bias"].float()
    missing = len(LABELS) - len(bias)
    new = {
        "head.weight": torch.cat([weight, torch.zeros(missing, weight.shape[1])]),
        "head.bias": torch.cat([bias, torch.full((missing,), UNKNOWN)]),
    }
    return delta | new


class Pools:
    """What batches are drawn from.

    Args:
        registers: whole registers.
        seed: of every draw.
    """

    def __init__(self, registers: Sequence[Whole], seed: int) -> None:
        self.written = [((pair.a, pair.b), Relation(pair.label)) for pair in read_pairs()]
        self.labelled: dict[Relation, list[Pair]] = {label: [] for label in DRAWN}
        self.neighbours: list[Pair] = []
        cosines: list[float] = []
        for register in registers:
            texts = register.decisions
            for (i, j), label in register.labels.items():
                if label is not None:
                    self.labelled[label].append((texts[i], texts[j]))
            pairs, near = compared(texts)
            free = [pair for pair in pairs if pair not in register.labels]
            self.neighbours += [(texts[i], texts[j]) for i, j in free]
            cosines += [float(near[pair]) for pair in free]
        weights = np.exp(NEAR * np.array(cosines))
        self.twins = [((pair.a, pair.b), Relation(pair.label)) for pair in read_pairs(BANK / "twins")]
        self.texts = sorted({text for register in registers for text in register.decisions})
        self.texts += [side for sides, _ in self.written for side in sides]
        self._shares = weights / weights.sum()
        self._random, self._generator = Random(seed), np.random.default_rng(seed)
        self._order: list[int] = []

    def __str__(self) -> str:
        labelled = ", ".join(f"{len(pairs):,} {label.value}" for label, pairs in self.labelled.items())
        written = f"{len(self.written):,} written, {len(self.twins):,} in nearly the same words"
        return f"{written}; of registers {labelled}, {len(self.neighbours):,} neighbours"

    def drawn(self) -> list[tuple[Pair, Relation]]:
        """Return written pairs and labelled pairs of registers, with their labels."""
        out = self._random.sample(self.written, WRITTEN)
        for label, number in DRAWN.items():
            out += [(pair, label) for pair in self._random.choices(self.labelled[label], k=number)]
        out += self._random.sample(self.twins, TWINS)
        made = near_twins(self._random, self._random.sample(self.texts, MADE_TWINS))
        out += [(pair, Relation(verdict.value)) for pair, verdict in made]
        return [(self._turned(pair), label) for pair, label in out]

    def near(self, number: int) -> list[Pair]:
        """Return so many neighbours that nobody labelled, the nearer the oftener."""
        if len(self._order) < number:
            some = min(len(self.neighbours), 50_000)
            chosen = self._generator.choice(len(self.neighbours), some, replace=False, p=self._shares)
            self._order = chosen.tolist()
        return [self._turned(self.neighbours[self._order.pop()]) for _ in range(number)]

    def _turned(self, pair: Pair) -> Pair:
        return pair[::-1] if self._random.random() < 0.5 else pair


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
        with half_precision():
            odds = torch.tensor(log_odds(network.logits(near)))
        hardest = torch.argsort(odds, descending=True)[:HARDEST].tolist()
        drawn = pools.drawn()
        tokens = [near[i] for i in hardest] + tokens_of(tokenizer, [pair for pair, _ in drawn])
        labels = [-1] * len(hardest) + [LABELS.index(label) for _, label in drawn]
        network.train()
        optimizer.zero_grad()
        for rows in _parts(tokens):
            loss = _loss(network, [tokens[i] for i in rows], [labels[i] for i in rows]) / len(tokens)
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_([*layers, *head], 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            spent = time.perf_counter() - start
            print(f"step {step}: loss {total / 50:.4f}, {spent:.0f} s", flush=True)
            total = 0.0
    network.eval()


def _parts(tokens: Sequence[Tokens]) -> Iterator[list[int]]:
    """Yield the numbers of pairs in parts of like length."""
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i].ids))
    yield from (part.tolist() for part in np.array_split(np.array(order), PARTS))


def _loss(network: Network, tokens: Sequence[Tokens], labels: Sequence[int]) -> Tensor:
    """Return the summed cross entropy; of label -1 that of being related or unrelated."""
    with torch.no_grad():
        below = network.below(tokens)
    with half_precision():
        shares = torch.log_softmax(network.above(below, tokens).float(), 1)
    truth = torch.tensor(labels)
    some = truth >= 0
    free = [LABELS.index(Relation.RELATED), LABELS.index(Relation.UNRELATED)]
    told = functional.nll_loss(shares[some], truth[some], reduction="sum")
    return told - torch.logsumexp(shares[~some][:, free], 1).sum()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="train the conflict judge on whole registers")
    parser.add_argument("--judge", type=Path, default=FOLDER, help="folder of the judge to begin with")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder that is written")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--share", type=float, default=1.0, help="of the registers, for a learning curve")
    parser.add_argument("--mined", type=int, default=112, help="neighbours of which a step takes the hardest")
    parser.add_argument("--layers", type=int, default=6, help="upper layers that are trained")
    parser.add_argument("--rank", type=int, default=64, help="of the differences shipped; 0 = whole")
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--head-rate", type=float, default=5e-4)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
