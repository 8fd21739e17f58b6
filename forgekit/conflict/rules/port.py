"""What a conflict judge is given and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from forgekit.times import Instant


class Verdict(Enum):
    """How two decisions stand to each other."""

    CONTRADICTION = "contradiction"  # they cannot both be followed
    DUPLICATE = "duplicate"  # they say the same
    REFINEMENT = "refinement"  # one narrows, scopes or adds to the other
    RELATED = "related"  # one topic, independent of each other
    UNRELATED = "unrelated"


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One decision as a judge reads it.

    Attributes:
        text: what was decided, one line.
        scope: words that limit where it holds and do not stand in the text, such as tags.
        tier: 0.0 to 1.0; with `project` and `created` for judges that weigh who is right. Whether two
            texts can both hold does not hang on them, so the judge by rules leaves them alone.
    """

    text: str
    rationale: str = ""
    alternatives: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    tier: float | None = None
    project: str | None = None
    created: Instant | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """A verdict on a pair.

    Attributes:
        score: probability that the two contradict each other, 0 to 1.
        reasons: the strongest first, in words.
        parts: what they are made of, where the judge can tell.
    """

    verdict: Verdict
    score: float
    reasons: tuple[str, ...] = ()
    parts: Parts | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """What a verdict of contradiction is made of.

    Attributes:
        rules: what the rules say for and against it.
        words: the words of either text that weighed most, the heaviest first.
        next: the verdict that came next.
        next_score: its probability, 0 to 1.
    """

    rules: tuple[str, ...]
    words: tuple[tuple[str, ...], tuple[str, ...]]
    next: Verdict
    next_score: float


class Judge(Protocol):
    """Whatever can say whether two decisions can both be followed."""

    def judge(
        self, pairs: Sequence[tuple[Statement, Statement]], similarity: Sequence[float | None]
    ) -> list[Judgement]:
        """Return one judgement a pair.

        Args:
            pairs: the candidates; the order of the two sides says nothing.
            similarity: the cosine of each pair, -1 to 1; None where it is not known.
        """
        ...
