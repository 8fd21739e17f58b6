"""Train the statement reader from a seed, calibrate it, and write forgekit/models/statements.

    python training/statements/fit_statements.py [--data ZIP] [--out FOLDER] [--hold-out PREFIX]

One conversation in ten, by the hash of its name, is held back: it calibrates the probabilities and sets the
least one of each family. `--hold-out w2/` holds back one writer instead.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random

import numpy as np
import torch
from dialogues import Dialogue, read_dialogues
from safetensors.torch import load_file
from sklearn.linear_model import LogisticRegression
from token_network import LEFT_OUT, Network, Window
from tokenizers import Tokenizer

sys.path.append(str(Path(__file__).parents[1]))

from delta import apply_delta, delta_of, write_delta
from network import opened_tokenizer

from forgekit.extraction.statements import FAMILIES, TAGS, runs_of
from forgekit.models.encoder import Missing, find_default
from forgekit.models.files import WEIGHTS, BertModel
from forgekit.models.statement_reader import CARD, DELTA, FORMAT, Card, Level, TrainedReader
from forgekit.models.windows import conversation_of, windows_of

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "forgekit" / "models" / "statements"


def main() -> int:
    """Train, calibrate and write; exit 1 where the encoder is not installed."""
    given = _arguments()
    torch.set_flush_denormal(True)
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    model = find_default(Path(tempfile.gettempdir()))
    if isinstance(model, Missing):
        print(model, file=sys.stderr)
        return 1
    tokenizer = opened_tokenizer(model.folder)
    dialogues = list(read_dialogues(given.data))
    held = [each for each in dialogues if _held_back(each, given.hold_out)]
    names = {each.name for each in held}
    windows = [w for each in dialogues if each.name not in names for w in windows_in(tokenizer, each)]
    tokens = sum(len(window.ids) for window in windows)
    print(
        f"{len(dialogues) - len(held)} conversations, {len(windows):,} windows, {tokens:,} tokens", flush=True
    )
    network = Network(model.folder, given.layers, dropout=given.dropout, masked=given.masked)
    before = {name: tensor.clone() for name, tensor in network.bert.state_dict().items()}
    if given.begin is not None:
        apply_delta(network, load_file(given.begin / DELTA), before)
        network.speakers.requires_grad = False  # so that nothing is computed back through the lower layers
    train(network, windows, given)
    network.speakers.requires_grad = True
    delta = delta_of(network, before, given.rank)
    apply_delta(network, delta, before)
    given.out.mkdir(parents=True, exist_ok=True)
    write_delta(delta, given.out / DELTA)
    write_card(model, given.out, {name: Level(bias=0.0, slope=1.0, least=0.5) for name in FAMILIES})
    levels = calibrated(given.out, model, held)
    write_card(model, given.out, levels)
    return 0


def _held_back(dialogue: Dialogue, prefix: str) -> bool:
    if prefix:
        return dialogue.name.startswith(prefix)
    return int(hashlib.sha256(dialogue.name.encode()).hexdigest(), 16) % 10 == 0


def windows_in(tokenizer: Tokenizer, dialogue: Dialogue) -> list[Window]:
    """Return the windows of a conversation with their tags."""
    found = conversation_of(tokenizer, [(turn.human, turn.text) for turn in dialogue.turns])
    places = np.array(found.places).reshape(-1, 3)
    tags = np.where(places[:, 0] < 0, LEFT_OUT, 0)
    for number, turn in enumerate(dialogue.turns):
        for span in turn.spans:
            inside = (places[:, 0] == number) & (places[:, 1] >= span.first) & (places[:, 1] < span.last)
            tags[inside] = TAGS.index(span.tag)
    windows = []
    for first, last, begin, end in windows_of(len(found.ids)):
        counted = tags[first:last].copy()
        counted[: begin - first] = LEFT_OUT
        counted[end - first :] = LEFT_OUT
        windows.append(Window(found.ids[first:last], found.human[first:last], counted.tolist()))
    return windows


def train(network: Network, windows: Sequence[Window], given: argparse.Namespace) -> None:
    """Train the upper layers and the head."""
    layers = [weight for weight in network.bert.parameters() if weight.requires_grad]
    head = list(network.head.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": layers, "lr": given.rate}, {"params": head, "lr": given.head_rate}], weight_decay=0.01
    )
    order = sorted(range(len(windows)), key=lambda i: len(windows[i].ids))
    batches = [order[start : start + given.batch] for start in range(0, len(order), given.batch)]
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, [given.rate, given.head_rate], total_steps=given.epochs * len(batches), pct_start=0.1
    )
    random = Random(given.seed)
    for epoch in range(given.epochs):
        start, total = time.perf_counter(), 0.0
        network.train()
        for number in random.sample(range(len(batches)), len(batches)):
            loss = network.loss([windows[i] for i in batches[number]], given.smoothing)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*layers, *head], 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        spent = time.perf_counter() - start
        print(f"epoch {epoch + 1}: loss {total / len(batches):.4f}, {spent:.0f} s", flush=True)
    network.eval()


def calibrated(folder: Path, model: BertModel, held: Sequence[Dialogue]) -> dict[str, Level]:
    """Return the level of each family, fitted on conversations held back, and print what it reaches."""
    card = Card(base="", sha256="", levels={})
    reader = TrainedReader(card, model, folder / DELTA)
    rows: dict[str, list[tuple[float, bool]]] = {name: [] for name in FAMILIES}
    truth = dict.fromkeys(FAMILIES, 0)
    for dialogue in held:
        words = reader.read([(turn.human, turn.text) for turn in dialogue.turns])
        for number, (turn, tagged) in enumerate(zip(dialogue.turns, words, strict=True)):
            runs = list(runs_of(number, tagged))
            for family, tags in FAMILIES.items():
                spans = [(span.first, span.last) for span in turn.spans if span.tag in tags]
                truth[family] += len(spans)
                rows[family] += [
                    (run.share, any(_same(run.start, run.end, *s) for s in spans))
                    for run in runs
                    if run.family == family
                ]
    return {name: _level(name, rows[name], truth[name]) for name in FAMILIES}


def _same(start: int, end: int, first: int, last: int) -> bool:
    common = min(end, last) - max(start, first)
    return common > 0 and 2 * common >= max(end, last) - min(start, first)


def _level(family: str, rows: Sequence[tuple[float, bool]], truth: int) -> Level:
    """Return bias and slope by logistic regression, and the least probability with the best F1."""
    shares = np.clip(np.array([share for share, _ in rows] or [0.5]), 1e-4, 1 - 1e-4)
    right = np.array([is_right for _, is_right in rows] or [False])
    if len(set(right.tolist())) < 2:
        return Level(bias=0.0, slope=1.0, least=0.5)
    odds = np.log(shares / (1 - shares))[:, None]
    fitted = LogisticRegression(C=10.0).fit(odds, right)
    chances = fitted.predict_proba(odds)[:, 1]
    score: Callable[[float], float] = lambda least: _f(right[chances >= least], truth)  # noqa: E731
    least = max(np.round(np.arange(0.2, 0.8, 0.02), 2), key=score)
    kept = right[chances >= least]
    figures = f"{kept.sum()} of {len(kept)} right, {truth} to find, F1 {_f(kept, truth):.2f}"
    error = abs(chances[chances >= least].mean() - kept.mean()) if len(kept) else 0.0
    print(f"{family}: from {least} on {figures}; calibration error {error:.3f}", flush=True)
    return Level(
        bias=round(float(fitted.intercept_[0]), 4),
        slope=round(float(fitted.coef_[0, 0]), 4),
        least=float(least),
    )


def _f(kept: np.ndarray, truth: int) -> float:
    return 2 * float(kept.sum()) / max(1, len(kept) + truth)


def write_card(model: BertModel, folder: Path, levels: dict[str, Level]) -> None:
    """Write `reader.json`."""
    card = {
        "format": FORMAT,
        "base": model.sha256[WEIGHTS],
        "sha256": hashlib.sha256((folder / DELTA).read_bytes()).hexdigest(),
        "tags": list(TAGS),
        "levels": {name: asdict(level) for name, level in levels.items()},
    }
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="train the statement reader")
    parser.add_argument("--data", type=Path, default=HERE / "dialogues.zip")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--begin", type=Path, help="folder of a reader to go on from")
    parser.add_argument("--hold-out", default="", help="hold back the conversations whose name begins so")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--layers", type=int, default=6, help="upper layers that are trained")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--masked", type=float, default=0.05, help="share of tokens hidden in training")
    parser.add_argument("--rank", type=int, default=64, help="of the differences shipped; 0 = whole")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--head-rate", type=float, default=2e-3)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--smoothing", type=float, default=0.02)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
