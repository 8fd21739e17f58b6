"""Fit the joins of model and cosine and set the thresholds, on whole registers that were held back.

    python training/calibrate.py [--judge FOLDER]

A balanced set of pairs would mislead: in a register one judged pair in 165 is a contradiction. The thresholds
are set on probabilities from joins that were fitted without the register of the pair; the joins that are
written are fitted on all held-back registers. Writes `judge.json` of the folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from bank import Verdict
from delta import apply_delta
from neighbours import compared
from network import Network
from numpy.typing import NDArray
from pairs import Pair
from safetensors.torch import load_file
from sklearn.linear_model import LogisticRegression
from tokenizers import Tokenizer
from train import both_ways
from whole import Relation, Whole, read_whole

from forgekit.conflict.judge import LevelCalibration
from forgekit.models.encoder import Missing, find_default
from forgekit.models.files import TOKENIZER
from forgekit.models.trained_judge import CARD, DELTA, FOLDER, FORMAT, MOST_ODDS, Join, log_odds

PRECISION, PRECISION_OF_BOTH = 0.9, 0.5
"""Asked of the conflicts, and of both levels together, among left-out registers."""
PER_100 = 6.0
"""Most flags of both levels in a register of 100 decisions."""
_REGULARISATION = 10.0  # weaker, and the few contradictions make the join too sure of itself
JOINED = (Relation.CONTRADICTION, Relation.DUPLICATE, Relation.REPLACEMENT)

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """A judged pair: its register, its label (None where it has none) and what the joins read."""

    register: str
    label: Relation | None
    odds: dict[Relation, float]
    cosine: float


def main() -> int:
    """Calibrate and write; exit 1 where something is missing."""
    parser = argparse.ArgumentParser(description="calibrate the conflict judge")
    parser.add_argument("--judge", type=Path, default=FOLDER, help="folder of the judge")
    given = parser.parse_args()
    registers = [register for register in read_whole() if register.held_back]
    model = find_default(Path(tempfile.gettempdir()))
    if isinstance(model, Missing):
        print(model, file=sys.stderr)
        return 1
    file = given.judge / CARD
    data = json.loads(file.read_text(encoding="utf-8"))
    network = Network(model.folder, len(Relation), 0)
    before = {name: tensor.clone() for name, tensor in network.bert.state_dict().items()}
    apply_delta(network, load_file(given.judge / DELTA), before)
    tokenizer = Tokenizer.from_file(str(model.folder / TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    rows = [row for register in registers for row in read_rows(register, network, tokenizer)]
    decisions = sum(len(register.decisions) for register in registers)
    levels = {name: asdict(level) for name, level in set_levels(rows, left_out(rows), decisions).items()}
    joins = {label.value: asdict(fitted(rows, label)) for label in JOINED}
    data |= {"format": FORMAT, "joins": joins, "levels": levels}
    file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({"registers": len(registers), "pairs": len(rows), "joins": joins, "levels": levels}))
    return 0


def read_rows(register: Whole, network: Network, tokenizer: Tokenizer) -> list[Row]:
    """Read all judged pairs of a register with the model; those that nobody labelled are left out."""
    pairs, cosines = compared(register.decisions)
    labels = {pair: register.labels.get(pair, Relation.UNRELATED) for pair in pairs}
    pairs = [pair for pair in pairs if labels[pair] is not None]
    texts = register.decisions
    given = [Pair(texts[i], texts[j], Verdict.UNRELATED, "", "") for i, j in pairs]
    rows = []
    for pair, logits in zip(pairs, both_ways(network, tokenizer, given).tolist(), strict=True):
        odds = {one: max(-MOST_ODDS, min(MOST_ODDS, log_odds(logits, one.value))) for one in JOINED}
        rows.append(Row(register.name, labels[pair], odds, float(cosines[pair])))
    print(f"{register.name}: {len(rows)} pairs", flush=True)
    return rows


def fitted(rows: Sequence[Row], label: Relation) -> Join:
    """Fit the join for a label. For a contradiction a replaced decision is neither, and left out."""
    used = [
        row for row in rows if label is not Relation.CONTRADICTION or row.label is not Relation.REPLACEMENT
    ]
    features = np.array([[row.odds[label], row.cosine] for row in used])
    truth = [row.label is label for row in used]
    found = LogisticRegression(C=_REGULARISATION, max_iter=2_000).fit(features, truth)
    model, cosine = (round(float(x), 4) for x in found.coef_[0])
    return Join(bias=round(float(found.intercept_[0]), 4), model=model, cosine=cosine)


def left_out(rows: Sequence[Row]) -> Numbers:
    """Return the probability of a contradiction by a join that was fitted without the row's register."""
    label = Relation.CONTRADICTION
    joins = {
        name: fitted([row for row in rows if row.register != name], label)
        for name in {row.register for row in rows}
    }
    return np.array([joins[row.register].probability(row.odds[label], row.cosine) for row in rows])


def set_levels(rows: Sequence[Row], probabilities: Numbers, decisions: int) -> dict[str, LevelCalibration]:
    """Return both levels with the lowest thresholds, in hundredths, that keep what is asked of them.

    The expected precision is (right + 1) / (right + wrong + 2): few flags allow no stronger claim.

    Args:
        rows: the judged pairs.
        probabilities: of their left-out joins.
        decisions: of all registers.
    """
    right = np.array([row.label is Relation.CONTRADICTION for row in rows])
    wrong = np.array([row.label not in {Relation.CONTRADICTION, Relation.REPLACEMENT} for row in rows])

    def lowest(precision: float, per_100: float) -> float:
        thresholds = [hundredth / 100 for hundredth in range(1, 100)]
        above = [(low, probabilities >= low) for low in thresholds]
        kept = [
            low
            for low, at in above
            if right[at].any()
            and right[at].sum() >= precision * (right | wrong)[at].sum()
            and 100 * at.sum() <= per_100 * decisions
        ]
        return min(kept, default=thresholds[-1])

    conflict = lowest(PRECISION, PER_100)
    possible = min(conflict, lowest(PRECISION_OF_BOTH, PER_100))
    total, out = int(right.sum()), {}
    for name, low, high in (("conflict", conflict, 1.1), ("possible", possible, conflict)):
        called = (probabilities >= low) & (probabilities < high)
        hits, misses = int(right[called].sum()), int(wrong[called].sum())
        print(f"left-out registers, {name}: {hits} of {total} right, {misses} wrong, {called.sum()} flags")
        out[name] = LevelCalibration(
            threshold=low,
            expected_precision=round((hits + 1) / (hits + misses + 2), 2),
            per_100=round(100 * int(called.sum()) / decisions, 1),
        )
    return out


if __name__ == "__main__":
    sys.exit(main())
