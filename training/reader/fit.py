"""Fit the tagger of the archive reader.

    python training/reader/fit.py [--heads] [--out FILE] [--hold-out PREFIX] [--data ZIP] [--teachers N]

Each epoch reads the archives and variants of them. The first epochs score each tag alone, the last ones along
each line. With teachers (Hinton et al. 2015), N taggers are fitted first, and the last one learns the mean of
what they find besides the marks. With `--heads` the weights go on from the tagger's, over marked heads of
archives and the first lines of some whole ones, and become those that read heads.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from annotated import Example, example, read_beginnings, read_examples
from layouts import layouts
from tagging import Batch, Network
from variants import labels_of, pool_of, stretch, variant

from forgekit.archives.network import stored_weights, weights
from forgekit.archives.tagger import TAGS

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "forgekit" / "archives"
BEGINNINGS = 600
"""Whole archives whose first lines are read beside the heads."""
BATCH_TOKENS = 5_000
RATE = 3e-3
ON = 0.4  # of the rate, for weights that were fitted before


def main() -> None:
    """Fit and write the weights."""
    parser = argparse.ArgumentParser(description="fit the tagger of the archive reader")
    parser.add_argument("--heads", action="store_true", help="fit what reads heads, ten minutes")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--hold-out", default="-", help="leave out the archives whose name begins so")
    parser.add_argument("--begin", action="store_true", help="go on from the weights that are shipped")
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--with-field", type=int, default=4, help="last epochs that score whole lines")
    parser.add_argument("--copies", type=int, default=2, help="variants of each archive")
    parser.add_argument("--stretches", type=int, default=1, help="stretches of each archive")
    parser.add_argument("--layouts", type=int, default=600, help="archives in plain layouts")
    parser.add_argument("--teachers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if asked.heads:
        parser.set_defaults(begin=True, epochs=16, with_field=3, layouts=0, teachers=0, stretches=0)
    options = parser.parse_args()
    out = options.out or PACKAGE / ("heads.bin" if options.heads else "tagger.bin")
    rng = random.Random(options.seed)
    whole = HERE / "annotations.zip"
    given = [*read_examples(options.data or (HERE / "heads.zip" if options.heads else whole))]
    given += read_beginnings(whole, BEGINNINGS, rng) if options.heads else ()
    archives = [m for name, m in given if not name.startswith(options.hold_out)]
    pool, labels = pool_of(archives), labels_of(archives)
    examples = [example(each) for each in archives]
    for _ in range(options.copies):
        examples += [example(variant(each, pool, labels, rng)) for each in archives]
    for _ in range(options.stretches):
        examples += [example(stretch(variant(each, pool, labels, rng), rng)) for each in archives]
    examples += [example(each) for each in layouts(pool, options.layouts, rng)]
    examples = [each for each in examples if len(each.tags)]
    print(
        f"{len(archives)} archives, {len(examples)} examples, {sum(len(e.tags) for e in examples):,} tokens"
    )
    fitted: list[Network] = []
    for number in range(options.teachers + 1):
        if fitted and number == options.teachers:
            examples = [taught(each, fitted) for each in examples]
        torch.manual_seed(options.seed + number)
        network = Network()
        if options.begin:
            network.load(weights("tagger.bin"))
        rate = RATE * (ON if options.begin else 1)
        fitted.append(fit(network, examples, options.epochs, options.with_field, rate, rng))
    out.write_bytes(stored_weights(fitted[-1].weights()))
    print(f"wrote {out} ({out.stat().st_size:,} bytes)")


def taught(example: Example, teachers: Sequence[Network]) -> Example:
    """Return an example with the probabilities of the mean of the teachers' scores."""
    with torch.no_grad():
        scores = torch.stack([each(Batch([example]))[:, : len(TAGS)] for each in teachers])
    return replace(example, likely=scores.mean(0).softmax(1).numpy())


def fit(
    network: Network, examples: list[Example], epochs: int, with_field: int, rate: float, rng: random.Random
) -> Network:
    """Return the network fitted to examples."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.01)
    steps = epochs * (sum(len(each.tags) for each in examples) // BATCH_TOKENS + 2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    for epoch in range(epochs):
        rng.shuffle(examples)
        begin, total, count = time.perf_counter(), 0.0, 0
        for batch in _batches(examples):
            loss = network.loss(Batch(batch, keep=0.88), with_field=epoch >= epochs - with_field)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            if count + 1 < steps // epochs:
                schedule.step()
            total, count = total + loss.item(), count + 1
        print(f"epoch {epoch + 1}: loss {total / count:.3f}, {time.perf_counter() - begin:.0f} s", flush=True)
    network.eval()
    return network


def _batches(examples: list[Example]) -> list[list[Example]]:
    found: list[list[Example]] = [[]]
    size = 0
    for each in examples:
        if size > BATCH_TOKENS:
            found.append([])
            size = 0
        found[-1].append(each)
        size += len(each.tags)
    return found


if __name__ == "__main__":
    main()
