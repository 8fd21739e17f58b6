"""Fit the joins of model and cosine and set the thresholds, on whole registers with labelled pairs.

    python training/calibrate.py REGISTERS [--judge FOLDER]

REGISTERS holds `g*.jsonl` and `truth.jsonl`: registers as people keep them, not those of `bank/whole`, which
are full of pairs that only look alike. A balanced set of pairs
would mislead: in a register one judged pair in 165 is a contradiction. The thresholds are set on
probabilities from joins that were fitted without the register of the pair; the joins that are written are
fitted on all registers. Writes `judge.json` of the folder.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from registers import CACHE, judged_pairs, read_registers

from forgekit.conflict.judge import Calibration, LevelCalibration
from forgekit.conflict.pairs import statement
from forgekit.model.settings import Settings
from forgekit.models.encoder import Missing, find_default, find_encoder
from forgekit.models.trained_judge import (
    CARD,
    DELTA,
    FOLDER,
    FORMAT,
    Card,
    Join,
    TrainedJudge,
    clipped,
    log_odds,
)

PRECISION = 0.9
"""Asked of the conflicts among left-out registers."""
PRECISION_OF_BOTH = 0.6
"""Asked of both levels together; other registers are harder."""
PER_100 = 6.0
"""Most flags of both levels in a register of 100 decisions."""
LABELLED = {"contradiction": "contradiction", "duplicate": "duplicate", "replacement": "supersedes"}
"""The labels that have a join, by the names that the truth has for them."""
_REGULARISATION = 10.0  # weaker, and the few contradictions make the join too sure of itself

_REPLACED = "supersedes"

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """A judged pair: its register, its label ("" where it has none) and what a join reads."""

    register: str
    label: str
    odds: dict[str, float]
    cosine: float


def main() -> int:
    """Calibrate and write; exit 1 where something is missing."""
    parser = argparse.ArgumentParser(description="calibrate the conflict judge")
    parser.add_argument("registers", type=Path)
    parser.add_argument("--judge", type=Path, default=FOLDER, help="folder of the judge")
    given = parser.parse_args()
    if not (given.registers / "truth.jsonl").exists():
        print(f"no labelled registers in {given.registers}", file=sys.stderr)
        return 1
    CACHE.mkdir(exist_ok=True)
    rows = read_rows(given.registers, given.judge)
    decisions = sum(len(found) for _, found in read_registers(given.registers))
    levels = {name: asdict(level) for name, level in set_levels(rows, left_out(rows), decisions).items()}
    file = given.judge / CARD
    card = json.loads(file.read_text(encoding="utf-8"))
    joins = {name: asdict(fitted(rows, name)) for name in LABELLED}
    card |= {"format": FORMAT, "joins": joins, "levels": levels}
    file.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({"pairs": len(rows), "joins": joins, "levels": levels}, indent=2))
    return 0


def read_rows(folder: Path, judge: Path) -> list[Row]:
    """Read all judged pairs of the registers with the model."""
    encoder, model = find_encoder(Settings(), CACHE), find_default(CACHE)
    if isinstance(encoder, Missing) or isinstance(model, Missing):
        raise SystemExit(str(encoder))
    data = json.loads((judge / CARD).read_text(encoding="utf-8"))
    none = LevelCalibration(threshold=1.0, expected_precision=0.0, per_100=0.0)
    card = Card(
        base=data["base"],
        sha256=data["sha256"],
        tokens_a_side=data["tokens_a_side"],
        contradiction=Join(bias=0.0, model=1.0, cosine=0.0),
        duplicate=Join(bias=0.0, model=1.0, cosine=0.0),
        replacement=Join(bias=0.0, model=1.0, cosine=0.0),
        calibration=Calibration(conflict=none, possible=none),
        digest="",
    )
    reader = TrainedJudge(card, model, judge / DELTA)
    truth = {}
    for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        truth[frozenset((row["a"], row["b"]))] = row["label"]
    kept = CACHE / f"rows-{data['sha256'][:12]}-{folder.name}.json"
    if kept.exists():
        return [Row(*row) for row in json.loads(kept.read_text("utf-8"))]
    rows = []
    for name, decisions in read_registers(folder):
        pairs = judged_pairs(decisions, encoder)
        cosines = reader.cosines([(statement(decisions[a]), statement(decisions[b])) for a, b in pairs])
        for (a, b), cosine in zip(pairs, cosines, strict=True):
            logits = reader.logits(decisions[a].decision, decisions[b].decision)
            label = truth.get(frozenset((str(decisions[a].local_id), str(decisions[b].local_id))), "")
            odds = {one: log_odds(logits, one) for one in LABELLED}
            rows.append(Row(name, label, odds, cosine))
        print(f"{name}: {len(pairs)} pairs", flush=True)
    CACHE.mkdir(exist_ok=True)
    kept.write_text(json.dumps([astuple(row) for row in rows]), "utf-8")
    return rows


def fitted(rows: Sequence[Row], label: str) -> Join:
    """Fit the join for a label. For a contradiction, a decision and what replaces it are neither."""
    used = [row for row in rows if label != "contradiction" or row.label != _REPLACED]
    features = np.array([clipped(row.odds[label], row.cosine) for row in used])
    truth = [row.label == LABELLED[label] for row in used]
    found = LogisticRegression(C=_REGULARISATION, max_iter=2_000).fit(features, truth)
    model, cosine = (round(float(x), 4) for x in found.coef_[0])
    return Join(bias=round(float(found.intercept_[0]), 4), model=model, cosine=cosine)


def left_out(rows: Sequence[Row]) -> Numbers:
    """Return the probability of a contradiction by a join that was fitted without the row's register."""
    joins = {
        name: fitted([row for row in rows if row.register != name], "contradiction")
        for name in {row.register for row in rows}
    }
    return np.array([joins[row.register].probability(row.odds["contradiction"], row.cosine) for row in rows])


def set_levels(rows: Sequence[Row], probabilities: Numbers, decisions: int) -> dict[str, LevelCalibration]:
    """Return both levels with the lowest thresholds, in hundredths, that keep the asked precisions.

    The expected precision is (right + 1) / (right + wrong + 2): few flags allow no stronger claim.

    Args:
        rows: the judged pairs.
        probabilities: of their left-out joins.
        decisions: of all registers.
    """
    right = np.array([row.label == "contradiction" for row in rows])
    wrong = np.array([row.label not in {"contradiction", _REPLACED} for row in rows])

    def lowest(precision: float) -> float:
        thresholds = [hundredth / 100 for hundredth in range(1, 100)]
        above = [(low, probabilities >= low) for low in thresholds]
        few = [(low, at) for low, at in above if 100 * at.sum() <= PER_100 * decisions]
        kept = [low for low, at in few if right[at].sum() >= precision * (right | wrong)[at].sum()]
        return min((low for low in kept if right[probabilities >= low].any()), default=thresholds[-1])

    conflict = lowest(PRECISION)
    possible = min(conflict, lowest(PRECISION_OF_BOTH))
    out = {}
    for name, low, high in (("conflict", conflict, 1.1), ("possible", possible, conflict)):
        called = (probabilities >= low) & (probabilities < high)
        hits, misses = int(right[called].sum()), int(wrong[called].sum())
        print(f"left-out registers, {name}: {hits} right, {misses} wrong, {int(called.sum())} flags")
        out[name] = LevelCalibration(
            threshold=low,
            expected_precision=round((hits + 1) / (hits + misses + 2), 2),
            per_100=round(100 * int(called.sum()) / decisions, 1),
        )
    return out


if __name__ == "__main__":
    sys.exit(main())
