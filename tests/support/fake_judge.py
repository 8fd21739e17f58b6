"""A judge for tests: what contradicts what follows from the words of two texts, and nothing is loaded.

install(monkeypatch)      every forge that is opened from now on has this judge and the fake encoder
give(forge)               this forge has them
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fake_encoder import FakeEncoder

from forgekit.conflict.judge import Judgement, Level, Statement
from forgekit.forge import Forge
from forgekit.worktree.roots import cache_dir

RIVALS = (
    frozenset({"postgresql", "mongodb", "sqlite"}),
    frozenset({"rest", "graphql", "grpc"}),
    frozenset({"always", "never"}),
    frozenset({"do", "not"}),
)
"""Two texts that name two words of one set contradict each other."""


class FakeJudge:
    """Finds a conflict where the texts name rival words, a possible one where one of them says `maybe`.

    Attributes:
        asked: every pair of texts that it judged, in order.
    """

    calibration = None
    problems = ()

    def __init__(self, version: str = "fake-1", *, silent: bool = False) -> None:
        self.version = version
        self.asked: list[tuple[str, str]] = []
        self._silent = silent

    def judge(
        self, pairs: Sequence[tuple[Statement, Statement]], cosines: Sequence[float]
    ) -> list[Judgement | None]:
        assert len(pairs) == len(cosines)
        self.asked += [(a.text, b.text) for a, b in pairs]
        return [self._one(a.text, b.text) for a, b in pairs]

    def _one(self, a: str, b: str) -> Judgement:
        one, two = (frozenset(text.lower().replace(".", " ").split()) for text in (a, b))
        weighed = [(one & rivals, two & rivals) for rivals in RIVALS]
        clash = next(((x, y) for x, y in weighed if x and y and x != y), None)
        if one == two:
            return Judgement(probability=0.0, level=Level.DUPLICATE)
        if clash is None or self._silent:
            return Judgement(probability=0.05, level=Level.NONE)
        words = (tuple(sorted(clash[0])), tuple(sorted(clash[1])))
        if "maybe" in one | two:
            return Judgement(probability=0.6, level=Level.POSSIBLE, words=words)
        return Judgement(probability=0.95, level=Level.CONFLICT, words=words)


def give(forge: Forge, judge: FakeJudge | None = None) -> FakeJudge:
    """Give one forge a judge and vectors, and return the judge."""
    from forgekit.index.vectors import Vectors

    found = judge or FakeJudge()
    encoder = FakeEncoder()
    vars(forge).update(
        judge=found,
        encoder=encoder,
        vectors=Vectors(cache_dir(forge.root), encoder, forge.catalogue.tree),
    )
    return found


def install(monkeypatch: pytest.MonkeyPatch, judge: FakeJudge | None = None) -> FakeJudge:
    """Give every forge that is opened from now on a judge and vectors, and return the judge."""
    found = judge or FakeJudge()
    monkeypatch.setattr("forgekit.models.choice.find_judge", lambda *_, **__: found)
    monkeypatch.setattr("forgekit.models.encoder.find_encoder", lambda *_, **__: FakeEncoder())
    return found
