"""The judge that comes trained: the rules, joined with a small model that reads both texts together.

The model is the bundled encoder with a delta on its weights, kept in `model/` beside this module:
`judge.safetensors`, `judge.json` (what it belongs to, the join and the threshold) and its card. Files that
are not the ones that were published together are refused, and the rules judge in their place.

The rules weigh every pair; the model reads those that may contradict each other (`policy.judge.joined`), and
the other way round only where the first reading leaves a contradiction possible. Nothing is loaded before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.conflict.rules.port import Judgement, Statement, Verdict
from forgekit.conflict.rules.joined import (
    SECOND,
    Join,
    Least,
    Weighed,
    contradicts,
    heaviest,
    joined,
    joined_score,
    log_odds_of,
    unread,
    weighed,
    worth_reading,
)
from forgekit.conflict.rules.rules import RuleJudge
from forgekit.errors import FormatError
from forgekit.model.problem import Problem, Severity
from forgekit.model.settings import SETTINGS_FILE
from forgekit.models.encoder import Missing
from forgekit.models.judge_files import REINSTALL, JudgeFiles, find_judge

if TYPE_CHECKING:
    from forgekit.models.cross_encoder import CrossEncoder


class TrainedJudge:
    """The rules joined with the model, or the rules alone where the model cannot be had.

    Args:
        cache: the folder that remembers which files were hashed.
        folder: where the judge's files are, else where they were installed.
    """

    def __init__(self, cache: Path, folder: Path | None = None) -> None:
        self._cache = cache
        self._folder = folder
        self._why = ""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """That the rules judged in its place, and why."""
        return (_fallback(self._why),) if self._why else ()

    @property
    def promise(self) -> tuple[float, float] | None:
        """The threshold and the precision expected of it; None where the rules judge."""
        return self._joined.promise if isinstance(self._joined, _Joined) else None

    def judge(
        self, pairs: Sequence[tuple[Statement, Statement]], similarity: Sequence[float | None]
    ) -> list[Judgement]:
        """Return one judgement a pair; the same for (a, b) and (b, a)."""
        if pairs and isinstance(self._joined, Missing):
            self._why = str(self._joined)
        elif pairs and isinstance(self._joined, _Joined):
            try:
                return self._joined.judge(pairs, similarity)
            except (FormatError, OSError) as e:
                self._why = f"{e}; {REINSTALL}"
                self._joined = Missing(reason=str(e), hint=REINSTALL)
        return RuleJudge().judge(pairs, similarity)

    @cached_property
    def _joined(self) -> _Joined | Missing:
        found = find_judge(self._cache, self._folder)
        return _Joined(found) if isinstance(found, JudgeFiles) else found


class _Joined:
    """The rules joined with the model.

    What the model has made of two texts is kept, so that asking again costs nothing.
    """

    def __init__(self, found: JudgeFiles) -> None:
        self._found = found
        self._join = Join(**found.card.join)
        self._least = Least(contradiction=found.card.threshold, duplicate=found.card.duplicate_log_odds)
        self._labels = tuple(map(Verdict, found.card.labels))
        self._seen: dict[tuple[str, str], _Seen] = {}
        self.promise = found.card.threshold, found.card.expected_precision

    def judge(
        self, pairs: Sequence[tuple[Statement, Statement]], similarity: Sequence[float | None]
    ) -> list[Judgement]:
        """Return one judgement a pair.

        Raises FormatError or OSError where the model cannot be read.
        """
        rows = weighed(pairs, similarity)
        worth = worth_reading(rows)
        self._read([row for row, chosen in zip(rows, worth, strict=True) if chosen])
        return [
            self._said(row) if chosen else unread(row, self._join, self._least.contradiction)
            for row, chosen in zip(rows, worth, strict=True)
        ]

    @cached_property
    def _encoder(self) -> CrossEncoder:
        from forgekit.models.cross_encoder import CrossEncoder

        found = self._found
        return CrossEncoder(found.model, found.delta, len(self._labels), found.card.tokens_a_side)

    def _read(self, rows: Sequence[Weighed]) -> None:
        """Read what was not read yet: each pair once, and the other way round where that may matter."""
        new = sorted({row.texts for row in rows} - self._seen.keys())
        forth = dict(zip(new, self._encoder.read(new), strict=True)) if new else {}
        for texts, read in forth.items():
            self._seen[texts] = _Seen(dict(zip(self._labels, read.logits, strict=True)))
        both = sorted({row.texts for row in rows if self._open(row)})
        if not both:
            return
        if late := [texts for texts in both if texts not in forth]:  # read before, for a weaker pair
            forth.update(zip(late, self._encoder.read(late), strict=True))
        for texts, back in zip(both, self._encoder.read([(b, a) for a, b in both]), strict=True):
            first = forth[texts]
            logits = zip(self._labels, first.logits, back.logits, strict=True)
            self._seen[texts] = _Seen(
                {label: (one + two) / 2 for label, one, two in logits},
                (heaviest(first.words[0], back.words[1]), heaviest(first.words[1], back.words[0])),
            )

    def _open(self, row: Weighed) -> bool:
        """Whether a pair that was read one way alone may turn out a contradiction."""
        seen = self._seen[row.texts]
        odds = log_odds_of(seen.logits) + SECOND
        best = joined_score(self._join, odds, row.features)
        return seen.words is None and contradicts(best, self._least.contradiction, odds, row.features)

    def _said(self, row: Weighed) -> Judgement:
        seen = self._seen[row.texts]
        score = joined_score(self._join, log_odds_of(seen.logits), row.features)
        return joined(row, score, self._least, seen.logits, seen.words or ((), ()))


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the model has made of two texts; the words once it has read them both ways."""

    logits: dict[Verdict, float]
    words: tuple[tuple[str, ...], tuple[str, ...]] | None = None


def _fallback(why: str) -> Problem:
    """Return the problem that the rules judge in place of the trained judge."""
    return Problem(
        code="judge-fallback",
        path=SETTINGS_FILE,
        field="judge",
        message=f'the rules judge in place of the trained judge: {why}, or set it to "rules"',
        severity=Severity.WARNING,
    )
