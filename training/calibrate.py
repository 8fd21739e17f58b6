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
from bank import Register, Verdict, read_registers
from neighbours import compared
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from forgekit.conflict.judge import Calibration, LevelCalibration
from forgekit.models.encoder import Missing, find_default
from forgekit.models.trained_judge import (
    CARD,
    DELTA,
    FOLDER,
    FORMAT,
    MOST_ODDS,
    Card,
    Join,
    TrainedJudge,
    log_odds,
)

PRECISION, PRECISION_OF_BOTH = 0.9, 0.5
"""Asked of the conflicts, and of both levels together, among left-out registers."""
PER_100 = 6.0
"""Most flags of both levels in a register of 100 decisions."""
_REGULARISATION = 10.0  # weaker, and the few contradictions make the join too sure of itself
JOINED = (Verdict.CONTRADICTION, Verdict.DUPLICATE, Verdict.REPLACEMENT)

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """A judged pair: its register, its label (None where it has none) and what the joins read."""

    register: str
    label: Verdict | None
    odds: dict[Verdict, float]
    cosine: float


def main() -> int:
    """Calibrate and write; exit 1 where something is missing."""
    parser = argparse.ArgumentParser(description="calibrate the conflict judge")
    parser.add_argument("--judge", type=Path, default=FOLDER, help="folder of the judge")
    given = parser.parse_args()
    registers = [register for register in read_registers() if register.held_back]
    model = find_default(Path(tempfile.gettempdir()))
    if isinstance(model, Missing):
        print(model, file=sys.stderr)
        return 1
    file = given.judge / CARD
    data = json.loads(file.read_text(encoding="utf-8"))
    reader = TrainedJudge(_unfitted(data), model, given.judge / DELTA)
    rows = [row for register in registers for row in read_rows(register, reader)]
    decisions = sum(len(register.decisions) for register in registers)
    levels = {name: asdict(level) for name, level in set_levels(rows, left_out(rows), decisions).items()}
    joins = {label.value: asdict(fitted(rows, label)) for label in JOINED}
    data |= {"format": FORMAT, "joins": joins, "levels": levels}
    file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({"registers": len(registers), "pairs": len(rows), "joins": joins, "levels": levels}))
    return 0


def _unfitted(data: dict[str, str]) -> Card:
    join = Join(bias=0.0, model=1.0, cosine=0.0)
    none = LevelCalibration(threshold=1.0, expected_precision=0.0, per_100=0.0)
    return Card(
        base=data["base"],
        sha256=data["sha256"],
        tokens_a_side=int(data["tokens_a_side"]),
        contradiction=join,
        duplicate=join,
        replacement=join,
        calibration=Calibration(conflict=none, possible=none),
        digest="",
    )


def read_rows(register: Register, reader: TrainedJudge) -> list[Row]:
    """Read all judged pairs of a register with the model; those that nobody labelled are left out."""
    pairs, cosines = compared(register.decisions)
    rows = []
    for i, j in pairs:
        label = register.labels.get((i, j), Verdict.UNRELATED)
        if label is None:
            continue
        logits = reader.logits(register.decisions[i], register.decisions[j])
        odds = {one: max(-MOST_ODDS, min(MOST_ODDS, log_odds(logits, one.value))) for one in JOINED}
        rows.append(Row(register.name, label, odds, float(cosines[i, j])))
    print(f"{register.name}: {len(rows)} pairs", flush=True)
    return rows


def fitted(rows: Sequence[Row], label: Verdict) -> Join:
    """Fit the join for a label. For a contradiction a replaced decision is neither, and left out."""
    used = [row for row in rows if label is not Verdict.CONTRADICTION or row.label is not Verdict.REPLACEMENT]
    features = np.array([[row.odds[label], row.cosine] for row in used])
    truth = [row.label is label for row in used]
    found = LogisticRegression(C=_REGULARISATION, max_iter=2_000).fit(features, truth)
    model, cosine = (round(float(x), 4) for x in found.coef_[0])
    return Join(bias=round(float(found.intercept_[0]), 4), model=model, cosine=cosine)


def left_out(rows: Sequence[Row]) -> Numbers:
    """Return the probability of a contradiction by a join that was fitted without the row's register."""
    label = Verdict.CONTRADICTION
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
    right = np.array([row.label is Verdict.CONTRADICTION for row in rows])
    wrong = np.array([row.label not in {Verdict.CONTRADICTION, Verdict.REPLACEMENT} for row in rows])

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
