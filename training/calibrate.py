"""The join of model and rules, and the threshold: set on pairs that were not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pairs import Pair
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from forgekit.conflict.rules.port import Statement, Verdict
from forgekit.conflict.rules.joined import (
    MOST_ODDS,
    Join,
    RuleFeatures,
    contradicts,
    joined_score,
    rule_features,
)

SHARE = 0.25
"""Contradictions among the pairs that a judge meets: far fewer than among those that were written."""
PRECISION = 0.85
"""Asked of the threshold at that share."""
TAKEN = 0.01
"""Share of what stands side by side in one project, and is near, that may be taken for something else."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """What was set.

    Attributes:
        threshold: the lowest that keeps `PRECISION`, and above which lie `TAKEN` of what stands side by side.
        precision: of what lies above the threshold, at the share of `SHARE`.
        recall: of the contradictions among the pairs.
        area: under the curve of the joined scores.
    """

    join: Join
    threshold: float
    precision: float
    recall: float
    area: float


def calibrate(
    pairs: Sequence[Pair], log_odds: Sequence[float], stood: Sequence[Pair], stood_log_odds: Sequence[float]
) -> Calibration:
    """Fit the join, then find the lowest threshold that keeps the asked precision and takes little else.

    Args:
        pairs: that were not trained on.
        log_odds: of a contradiction, by the model, for each pair.
        stood: near pairs that stand side by side in registers held back; none is a contradiction.
        stood_log_odds: the same of these.
    """
    rules = _rules(pairs)
    clipped = np.clip(log_odds, -MOST_ODDS, MOST_ODDS)
    rows = [
        [m, max(0.0, r.log_odds) * r.excluded, max(0.0, r.log_odds) * (not r.excluded), r.headings]
        for m, r in zip(clipped, rules, strict=True)
    ]
    truth = np.array([pair.label is Verdict.CONTRADICTION for pair in pairs])
    weights = np.where(truth, SHARE / truth.mean(), (1 - SHARE) / (1 - truth.mean()))
    model, excluded, differing, heading, bias = _fitted(np.array(rows, float), truth, weights)
    join = Join(
        bias=bias,
        model=model,
        excluded=excluded,
        differing=differing,
        heading=heading,
    )
    scores = np.array([joined_score(join, m, r) for m, r in zip(log_odds, rules, strict=True)])
    beside = [joined_score(join, m, r) for m, r in zip(stood_log_odds, _rules(stood), strict=True)]
    threshold = max(_threshold(scores, truth, weights), bar(beside))
    called = scores >= threshold
    return Calibration(
        join=join,
        threshold=threshold,
        precision=round(float(weights[called & truth].sum() / weights[called].sum()), 3),
        recall=round(float(called[truth].mean()), 3),
        area=round(float(roc_auc_score(truth, scores)), 3),
    )


def flagged(found: Calibration, pairs: Sequence[Pair], log_odds: Sequence[float]) -> float:
    """Return the share of pairs that are called a contradiction, by the rules alone too."""
    rules = _rules(pairs)
    called = [
        contradicts(joined_score(found.join, odds, rule), found.threshold, odds, rule)
        for odds, rule in zip(log_odds, rules, strict=True)
    ]
    return round(sum(called) / len(called), 4)


def bar(figures: Sequence[float]) -> float:
    """Return what a share of `TAKEN` of the figures lies above."""
    return float(np.ceil(np.quantile(figures, 1 - TAKEN) * 1000) / 1000)


def _rules(pairs: Sequence[Pair]) -> list[RuleFeatures]:
    return rule_features([(Statement(text=pair.a), Statement(text=pair.b)) for pair in pairs])


SIGNS = np.array([1, 1, 1, -1])
"""What speaks for a contradiction, and what against: a heading decides nothing."""


def _fitted(rows: Numbers, truth: NDArray[np.bool_], weights: Numbers) -> list[float]:
    """Return a weight for each column and the bias; a column that comes out against its sign is left out."""
    used = np.ones(len(SIGNS), bool)
    while True:
        fitted = LogisticRegression(C=1.0).fit(rows * used, truth, sample_weight=weights)
        wrong = used & (fitted.coef_[0] * SIGNS < 0)
        if not wrong.any():
            return [round(float(x), 4) for x in (*fitted.coef_[0] * used, fitted.intercept_[0])]
        used &= ~wrong


def _threshold(scores: Numbers, truth: NDArray[np.bool_], weights: Numbers) -> float:
    """Return the lowest threshold from which on every higher one keeps the precision too."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(np.where(truth, weights, 0)[order])
    precision = right / np.cumsum(weights[order])
    kept = np.flatnonzero(precision >= PRECISION)
    last = int(kept[-1]) if len(kept) else 0
    return float(np.floor(scores[order[last]] * 1000) / 1000)
