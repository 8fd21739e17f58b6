"""Train the conflict judge's model from a seed; `train_neighbours.py` and `calibrate.py` follow.

    python training/train.py                      # trains, prints the figures, writes forgekit/models/judge
    python training/train.py --seed 3 --out /tmp/judge-3

Slots are split by the hash of their name: one in seven is kept for validation, and no text of it is trained
on. The same seed gives the same pairs; the same weights only on the same processor and libraries.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import torch
from bank import Attribute, Register, Slot, Verdict, read_attributes, read_bank, read_pairs, read_registers
from delta import apply_delta, delta_of, write_delta
from neighbours import CACHE, vectors_of
from network import SIDE, Network, Tokens, half_precision, opened_tokenizer, tokens_of
from pairs import Pair, generate, written
from side_by_side import beside, named, tied
from sklearn.metrics import roc_auc_score
from split import Split, own_texts
from strangers import strangers
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from forgekit.models.encoder import Missing, find_default
from forgekit.models.files import WEIGHTS, BertModel

OUT = Path(__file__).parent.parent / "forgekit" / "models" / "judge"
LABELS = list(Verdict)
VALIDATION_SEED = 1_000_003
_NEIGHBOURS = 6
_SAME, _NEAR = 0.8, 0.3  # cosines: above, two slots may ask one question; below, nobody would compare them


def main() -> int:
    """Train, calibrate and write; exit 1 where the encoder is not installed."""
    given = _arguments()
    torch.set_flush_denormal(True)
    torch.set_num_threads(given.threads)
    CACHE.mkdir(exist_ok=True)
    model = find_default(CACHE)
    if isinstance(model, Missing):
        print(model, file=sys.stderr)
        return 1
    trained, held = (split(held=held) for held in (False, True))
    by_hand, registers = read_pairs(), read_registers()
    kept = [register for register in registers if held_back(register)]
    registers = [register for register in registers if not held_back(register)]
    pairs = [
        *generate(trained, given.seed, given.pairs),
        *written([*by_hand, *named(registers)], given.seed, given.written),
        *strangers(by_hand, vectors_of, given.seed, given.strangers),
        *strangers([*tied(registers), *named(registers)], vectors_of, given.seed, given.strangers // 2),
        *beside(registers, given.seed),
    ]
    checks = {
        "generated": generate(held, VALIDATION_SEED, given.validation),
        "written": written([*read_pairs(held=True), *named(kept)], VALIDATION_SEED, 0),
    }
    print(
        f"{len(trained.slots)} slots and {len(trained.attributes)} attributes to train on,"
        f" {len(held.slots)} and {len(held.attributes)} held back; {len(pairs):,} pairs",
        flush=True,
    )
    torch.manual_seed(0)  # all runs begin with one head
    network = Network(model.folder, len(LABELS), given.layers)
    torch.manual_seed(given.seed)
    before = {name: tensor.clone() for name, tensor in network.bert.state_dict().items()}
    tokenizer = opened_tokenizer(model.folder)
    train(network, tokenizer, pairs, given)
    delta = delta_of(network, before, given.rank)
    apply_delta(network, delta, before)
    logits = {
        name: both_ways(network, tokenizer, [(pair.a, pair.b) for pair in some])
        for name, some in checks.items()
    }
    figures = {name: validation(some, logits[name]) for name, some in checks.items()}
    print(json.dumps(figures), flush=True)
    write(given, model, delta, figures)
    return 0


def held_back(entry: Slot | Attribute | Register) -> bool:
    """Whether an entry of the bank is for validation alone."""
    return int(hashlib.sha256(entry.name.encode()).hexdigest(), 16) % 7 == 0


def split(*, held: bool) -> Split:
    """Return one split of the bank, with the nearest texts of other slots for each text of a slot."""
    slots = [slot for slot in read_bank() if held_back(slot) is held]
    attributes = [attribute for attribute in read_attributes() if held_back(attribute) is held]
    owners = {text: number for number, slot in enumerate(slots) for text in own_texts(slot)}
    texts = [*owners]
    vectors = vectors_of(texts)
    numbers = np.array([*owners.values()])
    neighbours = {}
    for start in range(0, len(texts), 512):
        some = vectors[start : start + 512] @ vectors.T
        some[numbers[start : start + 512, None] == numbers[None]] = -1
        some[some > _SAME] = -1
        best = np.argsort(-some, 1, kind="stable")[:, :_NEIGHBOURS]
        for row, columns in enumerate(best):
            near = tuple(texts[column] for column in columns if some[row, column] > _NEAR)
            neighbours[texts[start + row]] = near
    return Split(slots, attributes, neighbours)


def train(network: Network, tokenizer: Tokenizer, pairs: Sequence[Pair], given: argparse.Namespace) -> None:
    """Train the upper layers and the head."""
    tokens = tokens_of(tokenizer, [(pair.a, pair.b) for pair in pairs])
    labels = torch.tensor([LABELS.index(pair.label) for pair in pairs])
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i].ids))
    batches = [order[start : start + given.batch] for start in range(0, len(order), given.batch)]
    layers = [weight for weight in network.bert.parameters() if weight.requires_grad]
    head = list(network.head.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": layers, "lr": given.rate}, {"params": head, "lr": given.head_rate}], weight_decay=0.01
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, [given.rate, given.head_rate], total_steps=given.epochs * len(batches), pct_start=0.1
    )
    random = Random(given.seed)
    for epoch in range(given.epochs):
        start, total = time.perf_counter(), 0.0
        network.train()
        for number in random.sample(range(len(batches)), len(batches)):
            rows = batches[number]
            batch = _of(tokens, rows)
            with torch.no_grad():
                below = network.below(batch)
            with half_precision():
                logits = network.above(below, batch)
            loss = functional.cross_entropy(logits.float(), labels[rows], label_smoothing=given.smoothing)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*layers, *head], 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(
            f"epoch {epoch + 1}: loss {total / len(batches):.4f}, {time.perf_counter() - start:.0f} s",
            flush=True,
        )


def _of(tokens: Sequence[Tokens], rows: Sequence[int]) -> list[Tokens]:
    return [tokens[row] for row in rows]


def both_ways(network: Network, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> Tensor:
    """Return the logits of pairs of texts, the mean of both orders [pairs, labels]."""
    forth = network.logits(tokens_of(tokenizer, pairs))
    back = network.logits(tokens_of(tokenizer, [(b, a) for a, b in pairs]))
    return (forth + back) / 2


def log_odds(logits: Tensor) -> list[float]:
    """Return the log-odds of a contradiction from the logits of all labels [pairs, labels]."""
    return [float(x) for x in logits[:, 0] - torch.logsumexp(logits[:, 1:], 1)]


def validation(pairs: Sequence[Pair], logits: Tensor) -> dict[str, float]:
    """Return what the model alone reaches on pairs that it was not trained on."""
    truth = np.array([LABELS.index(pair.label) for pair in pairs])
    return {
        "auroc": round(float(roc_auc_score(truth == 0, log_odds(logits))), 3),
        "accuracy_of_five": round(float((logits.argmax(1).numpy() == truth).mean()), 3),
    }


def write(
    given: argparse.Namespace,
    model: BertModel,
    delta: dict[str, Tensor],
    figures: dict[str, dict[str, float]],
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
    parser.add_argument("--pairs", type=int, default=14_000)
    parser.add_argument("--written", type=int, default=3, help="times that a written pair is met")
    parser.add_argument(
        "--strangers",
        type=int,
        default=16_000,
        help="pairs of texts of different pairs; half as many of registers",
    )
    parser.add_argument("--validation", type=int, default=3_000, help="pairs of slots held back")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--layers", type=int, default=6, help="upper layers that are trained")
    parser.add_argument("--rank", type=int, default=64, help="of the differences shipped; 0 = whole")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--head-rate", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--smoothing", type=float, default=0.05)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
