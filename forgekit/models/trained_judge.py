"""The judge that comes trained: a small model that reads both texts, joined with their cosine.

    log-odds = bias + model * (the model's log-odds, clipped) + cosine * (the cosine of the texts, clipped)

of a contradiction, and the same with other weights for a duplicate and for a replacement. The model alone
mistakes decisions on different questions for contradictions; the cosine shows whether two texts concern one
question. A pair is not read if its cosine is so low that no reading could lift it to a level, and not in
its second order if the first one is so low that the mean of both could not.

The model is the default encoder with a delta on its weights. In `judge/` beside this module lie the delta
(`judge.safetensors`), its model card and `judge.json`: which encoder it belongs to, the weights of the joins
and the calibration of both levels. A file that is not the published one is refused. No library and no weight
is loaded before a pair is read.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit.conflict.judge import Calibration, Judgement, Level, LevelCalibration, Statement
from forgekit.frozen import frozen
from forgekit.ids import match_key
from forgekit.models.encoder import DEFAULT_MODEL, Missing, NumpyEncoder
from forgekit.models.files import BertModel
from forgekit.models.shipped import Shipped, find_shipped
from forgekit.text.words import STOP_WORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forgekit.models.forward import CrossEncoder

FOLDER = Path(__file__).parent / "judge"
CARD, DELTA = "judge.json", "judge.safetensors"
FORMAT = 5
LABELS = ("contradiction", "duplicate", "refinement", "related", "unrelated", "replacement")

MOST_ODDS = 3.0
"""The model's log-odds are clipped to this; they lead to the highest probability that a cosine allows."""

MOST_COSINE = 0.8
"""A cosine counts up to this: beyond it two texts say the same oftener than the opposite."""

_ONE_ORDER = 2.0
"""The log-odds of both orders together are taken to exceed those of the first by no more than this."""
_ESTIMATED = 0.01
"""An estimate of the first order's log-odds is nearer to them than this."""

_NO_LEVEL = Judgement(probability=0.0, level=Level.NONE)

_WORDS = 3
_SURE = 0.5
_NEGATIONS = frozenset(("no", "nor", "not", "only", "cannot", "never", "without"))


@frozen(kw_only=True)
class Join:
    """The weights of a logistic join of the model and the cosine."""

    bias: float
    model: float
    cosine: float

    def probability(self, log_odds: float, cosine: float) -> float:
        """Return the joined probability, rounded to 3 digits."""
        by_model, by_cosine = clipped(log_odds, cosine)
        odds = self.bias + self.model * by_model + self.cosine * by_cosine
        return round(1 / (1 + math.exp(max(-700.0, min(700.0, -odds)))), 3)


@frozen(kw_only=True)
class Card(Shipped):
    """What `judge.json` holds.

    Attributes:
        tokens_a_side: of each text, the tokens that are read.
        contradiction, duplicate, replacement: the joins; the latter two hold from probability 0.5.
        digest: SHA-256 of the file.
    """

    tokens_a_side: int
    contradiction: Join
    duplicate: Join
    replacement: Join
    calibration: Calibration
    digest: str


class TrainedJudge:
    """Judges by a join of the model and the cosine."""

    problems = ()

    def __init__(self, card: Card, model: BertModel, delta: Path) -> None:
        self._card, self._model, self._delta = card, model, delta
        self.calibration: Calibration | None = card.calibration
        self._others = (
            (card.replacement, "replacement", Level.REPLACEMENT),
            (card.duplicate, "duplicate", Level.DUPLICATE),
        )
        files = card.sha256 + card.digest + card.base
        self.version = hashlib.sha256(files.encode()).hexdigest()[:12]

    def judge(
        self, pairs: Sequence[tuple[Statement, Statement]], cosines: Sequence[float]
    ) -> list[Judgement | None]:
        """Return one judgement a pair; arguments and errors as of `Judge`."""
        out = [self._unread(a.text, b.text, cosine) for (a, b), cosine in zip(pairs, cosines, strict=True)]
        todo = [at for at, judged in enumerate(out) if judged is None]
        if todo:
            from forgekit.models.forward import in_parallel

            texts = [(pairs[at][0].text, pairs[at][1].text) for at in todo]
            estimates = self._encoder.estimates([(min(pair), max(pair)) for pair in texts]).tolist()
            near = [
                (at, pair)
                for at, pair, estimate in zip(todo, texts, estimates, strict=True)
                if self._reachable(estimate, cosines[at], _ONE_ORDER + _ESTIMATED)
            ]
            read = in_parallel(lambda one: self._read(*one[1], cosines[one[0]]), near)
            found = dict(zip((at for at, _ in near), read, strict=True))
            out = [judged or found.get(at, _NO_LEVEL) for at, judged in enumerate(out)]
        return out

    def cosines(self, pairs: Sequence[tuple[Statement, Statement]]) -> list[float]:
        """Return the cosines of pairs of texts by the encoder that the joins were fitted with."""
        vectors = {text: self.vector(text) for text in {side.text for pair in pairs for side in pair}}
        return [round(float(vectors[a.text] @ vectors[b.text]), 4) for a, b in pairs]

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a text, encoded alone so that no other text changes a digit of it."""
        vector: NDArray[np.float32] = self._texts.encode_documents([text])[0]
        return vector

    @property
    def space(self) -> str:
        """The fingerprint of what `vector` encodes with."""
        return self._texts.fingerprint

    def logits(self, a: str, b: str) -> tuple[float, ...]:
        """Return the model's logits, one a label, the mean of both reading orders."""
        return self._encoder.read(*sorted((a, b))).logits

    def _unread(self, a: str, b: str, cosine: float) -> Judgement | None:
        """Return the judgement of a pair that need not be read; None of another one."""
        if match_key(a) == match_key(b):
            return Judgement(probability=0.0, level=Level.DUPLICATE, reason="the same text")
        card = self._card
        most = card.calibration.level(card.contradiction.probability(MOST_ODDS, cosine))
        return _NO_LEVEL if most is Level.NONE else None

    def _reachable(self, logits: Sequence[float], cosine: float, more: float) -> bool:
        """Say whether log-odds that exceed those of logits by `more` lift a pair to a level."""
        card = self._card
        share = card.contradiction.probability(log_odds(logits) + more, cosine)
        return card.calibration.level(share) is not Level.NONE or any(
            join.probability(log_odds(logits, label) + more, cosine) >= _SURE
            for join, label, _ in self._others
        )

    def _read(self, a: str, b: str, cosine: float) -> Judgement:
        card = self._card
        low, high = sorted((a, b))  # so that (b, a) is read as (a, b)
        read = self._encoder.read(low, high)
        if not self._reachable(read.first, cosine, _ONE_ORDER):
            return _NO_LEVEL
        probability = card.contradiction.probability(log_odds(read.logits), cosine)
        for join, label, level in self._others:
            share = join.probability(log_odds(read.logits, label), cosine)
            if share >= _SURE and share > probability:
                return Judgement(probability=probability, level=level, reason=f"read as a {label}")
        words = heaviest(read.words[0]), heaviest(read.words[1])
        return Judgement(
            probability=probability,
            level=card.calibration.level(probability),
            words=words if low == a else words[::-1],
            reason=_reason(*words),
        )

    @cached_property
    def _texts(self) -> NumpyEncoder:
        return NumpyEncoder(self._model, DEFAULT_MODEL)

    @cached_property
    def _encoder(self) -> CrossEncoder:
        from forgekit.models.forward import CrossEncoder

        return CrossEncoder(self._model, self._delta, len(LABELS), self._card.tokens_a_side)


def find_trained_judge(cache: Path, folder: Path | None = None) -> TrainedJudge | Missing:
    """Return the trained judge, or what is wrong with its files; loads no library.

    Args:
        cache: the folder that remembers which files were hashed.
        folder: where the judge's files are; None for those that came with forgekit.
    """
    folder = folder or FOLDER
    return find_shipped("judge", folder / CARD, folder / DELTA, card_of, cache, TrainedJudge)


def card_of(data: Any, digest: str) -> Card:
    """Return a card of its JSON; raises ValueError, LookupError or TypeError."""
    if data["format"] != FORMAT:
        raise ValueError(f"its format is {str(data['format'])[:20]}, and this forgekit reads {FORMAT}")
    if data["labels"] != list(LABELS):
        raise ValueError(f"its labels are not {', '.join(LABELS)}")
    joins = {name: Join(**join) for name, join in data["joins"].items()}
    levels = {name: LevelCalibration(**level) for name, level in data["levels"].items()}
    parts: list[Join | LevelCalibration] = [*joins.values(), *levels.values()]
    figures = [figure for part in parts for figure in astuple(part)]
    if not all(type(figure) in {int, float} and math.isfinite(figure) for figure in figures):
        raise ValueError("a figure is no number")
    return Card(
        base=str(data["base"]),
        sha256=str(data["sha256"]),
        tokens_a_side=int(data["tokens_a_side"]),
        contradiction=joins["contradiction"],
        duplicate=joins["duplicate"],
        replacement=joins["replacement"],
        calibration=Calibration(conflict=levels["conflict"], possible=levels["possible"]),
        digest=digest,
    )


def clipped(log_odds: float, cosine: float) -> tuple[float, float]:
    """Return the model's log-odds and the cosine as a join weighs them: clipped."""
    return max(-MOST_ODDS, min(MOST_ODDS, log_odds)), min(cosine, MOST_COSINE)


def log_odds(logits: Sequence[float], label: str = LABELS[0]) -> float:
    """Return the log-odds of a label from the logits of all of them."""
    at = LABELS.index(label)
    others = [*logits[:at], *logits[at + 1 :]]
    top = max(others)
    return logits[at] - top - math.log(sum(math.exp(x - top) for x in others))


def heaviest(words: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """Return the words of a text that weighed most, at most three, the heaviest first.

    Args:
        words: in the order of the text, each with what it weighed.
    """
    sums: dict[str, float] = defaultdict(float)
    for word, weight in words:
        if (key := word.casefold()) not in STOP_WORDS or key in _NEGATIONS:
            sums[key] += weight
    ranked = sorted((word for word in sums if sums[word] > 0), key=lambda word: (-sums[word], word))
    return tuple(ranked[:_WORDS])


def _reason(a: Sequence[str], b: Sequence[str]) -> str:
    """Name the words of either text that the other lacks."""
    sides = ([word for word in a if word not in b], [word for word in b if word not in a])
    named = " against ".join(sorted(", ".join(side) for side in sides if side))
    return "read as excluding each other" + (f": {named}" if named else "")
