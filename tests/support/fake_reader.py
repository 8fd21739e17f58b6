"""A statement reader that tags the words it is told to, so that tests need no model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from forgekit.extraction.sentences import sentences
from forgekit.extraction.statements import FAMILIES, TAGS, Find, Run, Words, lasting, runs_in, statements

_TOKEN = re.compile(r"\w+|[^\w\s]")
PLAIN_ENGLISH: Mapping[str, str] = {
    r"(?s)\A.*\b(?:[Dd]ecided|[Cc]hose|[Ll]et's|[Gg]oing with)\b.*?(?=\sbecause\s|\Z)": "dec",
    r"(?s)(?<=\bbecause\s).+": "why",
    r"(?s)\A.*\b(?:is|are) still open\b": "open",
    r"(?s)\A.*\b(?:is|are) finally settled\b": "done",
    r"(?s)\AFrom now on\b.*": "std",
}
"""Patterns for the plainest wordings: of a decision, its reason, a question, its end and an instruction."""


class FakeReader:
    """Tags every token of a phrase, or of what a pattern matches within a sentence, with its tag.

    Args:
        phrases: phrase -> tag, of `TAGS`.
        share: of the tag.
        patterns: regular expression -> tag.

    Attributes:
        shares: phrase -> share in the sentences that hold it; a test may add to it.
    """

    def __init__(
        self, phrases: Mapping[str, str], share: float = 0.9, *, patterns: Mapping[str, str] | None = None
    ) -> None:
        literal = {re.escape(phrase): tag for phrase, tag in phrases.items()}
        self._patterns = {**(patterns or {}), **literal}
        self._share = share
        self.shares: dict[str, float] = {}

    problems = ()

    def statements(self, turns: Sequence[tuple[bool, str]]) -> Iterator[tuple[int, Find]]:
        return statements(turns, self)

    def lasting(self, turns: Sequence[tuple[bool, str]]) -> Iterator[tuple[int, str, str]]:
        return lasting(turns, self)

    def runs(self, turns: Sequence[tuple[bool, str]]) -> list[Run]:
        return runs_in(self._words(text) for _, text in turns)

    def probability(self, family: str, share: float) -> float:
        assert family in FAMILIES
        return round(share, 2)

    def least(self, family: str) -> float:
        assert family in FAMILIES
        return 0.5

    def _words(self, text: str) -> Words:
        places, of, shares = [], [], []
        for number, each in enumerate(sentences(text)):
            said = text[each.start : each.start + len(each.text)]
            share = next((share for phrase, share in self.shares.items() if phrase in said), self._share)
            tags = {
                each.start + n: tag
                for pattern, tag in self._patterns.items()
                for match in re.finditer(pattern, said)
                for n in range(*match.span())
            }
            for match in _TOKEN.finditer(text, each.start, each.start + len(said)):
                row = [0.0] * len(TAGS)
                row[TAGS.index(tags.get(match.start(), "none"))] = share
                row[0] += 1 - share
                places.append(match.span())
                of.append(number)
                shares.append(row)
        return Words(places, of, shares)
