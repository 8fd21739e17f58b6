"""What the rules say of a pair, in numbers that a trained judge is joined with, and what comes of it.

Training and judging take the features from here, so that what the join was fitted to is what it meets. They
hang on the two texts alone: a cosine is known in a scan and not in a filing, and a verdict shall be one.

Reading a pair with the model costs milliseconds, so only those are read that may contradict each other. Their
*evidence* is the rules' log-odds and eight times the likeness of the texts. Each side of 153 contradictions
was looked for with the other among 3,066 texts: in 287 of 306 cases it was one of the 50 with most words in
common, in 285 of these it was among the `MOST` with most evidence. A pair is read if it is among the `MOST`
of both its sides, or among the `MOST_KNOWN` of both of those that the rules alone would call a contradiction.
That hangs on stronger pairs alone: a pair that is read among many is read among few. What the rules alone
would call and is not read, because of a text with more such pairs, is called as they say.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forgekit.conflict.rules.port import Judgement, Parts, Statement, Verdict
from forgekit.conflict.rules.agreement import agreement, common, mass
from forgekit.conflict.rules.grammar import NEGATORS
from forgekit.conflict.rules.reading import Reading
from forgekit.conflict.rules.rules import is_heading, read_pairs, weigh
from forgekit.text.words import STOP_WORDS

MOST_ODDS = 6.0
"""Log-odds that either side of the join is believed, at most."""
MOST = 6
"""Pairs of one text that are read."""
MOST_KNOWN = 8
"""Pairs of one text that are read because the rules know them."""
SECOND = 1.5
"""Log-odds that reading a pair the other way round may add; more is not waited for."""

_DENIED = -2.0  # log-odds of the model: held back, the rules had 2 of 25 right below it, 69 of 85 above
_LIKENESS = 8.0
_FAR = 0.3  # a cosine less this tells as much as a likeness
_WORDS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleFeatures:
    """What the rules say of a pair.

    Attributes:
        log_odds: of a contradiction, at most `MOST_ODDS` either way.
        headings: sides that are headings without a verb: 0, 1 or 2.
        excluded: whether they know that the two exclude each other, and do not only see that they differ.
    """

    log_odds: float
    headings: int
    excluded: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Join:
    """The weights of a logistic sum over what the model and the rules say.

    Attributes:
        model: of its log-odds.
        excluded: of the rules' log-odds for a contradiction, where words exclude each other.
        differing: of the rules' log-odds for a contradiction, where they only differ.
        heading: of each side that is one.
    """

    bias: float
    model: float
    excluded: float
    differing: float
    heading: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Least:
    """What is asked of a pair that is called something which a person has to act on.

    Attributes:
        contradiction: its score.
        duplicate: its log-odds by the model, in which far more pairs are duplicates than in a registry.
    """

    contradiction: float
    duplicate: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Weighed:
    """A pair as the rules leave it.

    Attributes:
        otherwise: their judgement where it is no contradiction.
        reasons: for and against a contradiction, the strongest first.
        evidence: the higher, the more a contradiction is to be expected.
        texts: of both sides, in their order by alphabet, so that (a, b) is read as (b, a) is.
        turned: whether that is not the order in which the sides were given.
    """

    features: RuleFeatures
    otherwise: Judgement
    reasons: tuple[str, ...]
    evidence: float
    texts: tuple[str, str]
    turned: bool


def rule_features(pairs: Sequence[tuple[Statement, Statement]]) -> list[RuleFeatures]:
    """Return what the rules say of each pair; the same for (a, b) and (b, a)."""
    return [
        _features(a, b, odds, excluded)
        for a, b in read_pairs(pairs)
        for odds, _, excluded in [weigh(a, b, None)]
    ]


def weighed(
    pairs: Sequence[tuple[Statement, Statement]], similarity: Sequence[float | None]
) -> list[Weighed]:
    """Return each pair as the rules leave it; arguments as of `Judge`."""
    out = []
    masses: dict[int, dict[str, float]] = {}
    for (a, b), (left, right), cosine in zip(pairs, read_pairs(pairs), similarity, strict=True):
        odds, reasons, excluded = weigh(left, right, None)
        features = _features(left, right, odds, excluded)
        for side in (left, right):
            if id(side) not in masses:
                masses[id(side)] = mass(side)
        met = common(masses[id(left)], masses[id(right)])
        near = max(met.likeness, (cosine or 0.0) - _FAR)
        low, high = sorted((a.text, b.text))
        out.append(
            Weighed(
                features=features,
                otherwise=agreement(left, right, cosine, 0.0, reasons, met),
                reasons=reasons,
                evidence=features.log_odds + _LIKENESS * near,
                texts=(low, high),
                turned=low != a.text,
            )
        )
    return out


def _features(a: Reading, b: Reading, log_odds: float, excluded: bool) -> RuleFeatures:
    return RuleFeatures(
        log_odds=_clipped(log_odds),
        headings=is_heading(a) + is_heading(b),
        excluded=excluded,
    )


def worth_reading(pairs: Sequence[Weighed]) -> list[bool]:
    """Say of each pair whether the model shall read it; their order says nothing."""
    known = [pair for pair in pairs if _known(pair.features, None)]
    read = _strongest(pairs, MOST) | _strongest(known, MOST_KNOWN)
    return [(pair.texts, pair.evidence) in read for pair in pairs]


def _strongest(pairs: Sequence[Weighed], most: int) -> set[tuple[tuple[str, str], float]]:
    """Return texts and evidence of the pairs that are among so many of both sides with most evidence."""
    best: dict[str, dict[str, float]] = defaultdict(dict)
    for pair in pairs:
        for text, other in (pair.texts, pair.texts[::-1]):
            best[text][other] = max(pair.evidence, best[text].get(other, pair.evidence))
    ranked = {
        text: sorted((-evidence, other) for other, evidence in others.items())
        for text, others in best.items()
        if len(others) > most
    }
    return {
        (pair.texts, pair.evidence)
        for pair in pairs
        if all(
            bisect_left(ranked.get(text, []), (-pair.evidence, other)) < most
            for text, other in (pair.texts, pair.texts[::-1])
        )
    }


def joined_score(join: Join, model_log_odds: float | None, features: RuleFeatures) -> float:
    """Return the probability of a contradiction.

    Where the rules know that the two exclude each other, their own probability stands if it is the higher
    one and the model is not sure of the contrary: REST or GraphQL, JWT or session cookies are knowledge that
    a small model does not have.

    Args:
        join: the weights.
        model_log_odds: of a contradiction, as the model alone sees it; None where it has not read the pair.
        features: what the rules see.
    """
    odds = (
        join.bias
        + join.model * (-MOST_ODDS if model_log_odds is None else _clipped(model_log_odds))
        + (join.excluded if features.excluded else join.differing) * max(0.0, features.log_odds)
        + join.heading * features.headings
    )
    if _stands(features, model_log_odds):
        odds = max(odds, features.log_odds)
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else 1 - 1 / (1 + math.exp(odds))


def contradicts(score: float, threshold: float, model_log_odds: float | None, features: RuleFeatures) -> bool:
    """Whether a pair is called a contradiction: by its score, or because the rules know it.

    Arguments as of `joined_score`, and what that returned.
    """
    return score >= threshold or _known(features, model_log_odds)


def _known(features: RuleFeatures, model_log_odds: float | None) -> bool:
    return features.log_odds >= 0 and _stands(features, model_log_odds)


def _stands(features: RuleFeatures, model_log_odds: float | None) -> bool:
    """Whether the rules know that the two exclude each other, and the model is not sure of the contrary."""
    return features.excluded and (model_log_odds is None or model_log_odds >= _DENIED)


def _clipped(log_odds: float) -> float:
    return max(-MOST_ODDS, min(MOST_ODDS, log_odds))


def log_odds_of(logits: Mapping[Verdict, float], verdict: Verdict = Verdict.CONTRADICTION) -> float:
    """Return the log-odds of a verdict from the logits of all of them."""
    others = [logit for other, logit in logits.items() if other is not verdict]
    top = max(others)
    return logits[verdict] - top - math.log(sum(math.exp(x - top) for x in others))


def joined(
    pair: Weighed,
    score: float,
    least: Least,
    logits: Mapping[Verdict, float],
    words: tuple[Sequence[str], Sequence[str]],
) -> Judgement:
    """Return the judgement on a pair that the model has read.

    The rules' word on duplicates stands (10 of 10 on pairs of our own): they call so what has the same words.
    The other verdicts are the model's. Probabilities are rounded, so that machines that round differently
    say the same.

    Args:
        pair: as the rules leave it.
        score: of a contradiction, by the join.
        least: what is asked of a contradiction and of a duplicate.
        logits: of all verdicts.
        words: of either text, in the order of `pair.texts`, that weighed most.
    """
    score = round(score, 3)
    if _same(pair.texts):
        return Judgement(verdict=Verdict.DUPLICATE, score=0.0, reasons=pair.otherwise.reasons)
    others = {verdict: logit for verdict, logit in logits.items() if verdict is not Verdict.CONTRADICTION}
    same = log_odds_of(logits, Verdict.DUPLICATE) >= least.duplicate
    called = others if same else others.keys() - {Verdict.DUPLICATE}
    following = max(called, key=lambda verdict: (others[verdict], verdict.value))
    odds = log_odds_of(logits)
    if not contradicts(score, least.contradiction, odds, pair.features):
        verdict = pair.otherwise.verdict
        verdict = verdict if verdict is Verdict.DUPLICATE else following
        return Judgement(verdict=verdict, score=score, reasons=pair.otherwise.reasons)
    share = 1 / sum(math.exp(logit - others[following]) for logit in others.values())
    low, high = tuple(words[0]), tuple(words[1])
    sides = ([word for word in low if word not in high], [word for word in high if word not in low])
    parts = Parts(
        rules=pair.reasons,
        words=(high, low) if pair.turned else (low, high),
        next=following,
        next_score=round((1 - score) * share, 2),
    )
    named = " against ".join(sorted(", ".join(side) for side in sides if side))
    read: tuple[str, ...] = ("read as excluding each other" + (f": {named}" if named else ""),)
    if pair.features.excluded and odds < 0:
        read = ()  # the rules stand alone
    rules = pair.reasons if pair.features.log_odds >= 0 else ()
    weaker = () if rules else pair.reasons or pair.otherwise.reasons
    chance = f"a contradiction with probability {score:.2f}, else {following.value} ({parts.next_score:.2f})"
    return Judgement(
        verdict=Verdict.CONTRADICTION, score=score, reasons=(*rules, *read, *weaker, chance), parts=parts
    )


def _same(texts: tuple[str, str]) -> bool:
    """Whether two texts are one but for case and blanks: a text does not contradict itself."""
    low, high = (" ".join(text.casefold().split()) for text in texts)
    return low == high


def unread(pair: Weighed, join: Join, threshold: float) -> Judgement:
    """Return the judgement on a pair that the model does not read: what the rules know of it."""
    score = round(joined_score(join, None, pair.features), 3)
    if contradicts(score, threshold, None, pair.features):
        return Judgement(verdict=Verdict.CONTRADICTION, score=score, reasons=pair.reasons)
    return Judgement(verdict=pair.otherwise.verdict, score=score, reasons=pair.otherwise.reasons)


def heaviest(*readings: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """Return the words of a text that weighed most, at most three, the heaviest first.

    Args:
        readings: the text's words in order with what each weighed, once for each time it was read.
    """
    sums: dict[str, float] = defaultdict(float)
    for number, (word, _) in enumerate(readings[0]):
        key = word.casefold()
        if key not in STOP_WORDS or key in NEGATORS:
            sums[key] += sum(reading[number][1] for reading in readings)
    ranked = sorted((word for word in sums if sums[word] > 0), key=lambda word: (-sums[word], word))
    return tuple(ranked[:_WORDS])
