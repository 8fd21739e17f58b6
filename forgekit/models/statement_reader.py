"""The statement reader: a small model that tags the words of a conversation.

The default encoder with a delta on its weights and a linear head over each token. In `statements/` beside
this module lie the delta (`reader.safetensors`), its model card and `reader.json`: which encoder it belongs
to, and for each family the calibration of a run's share and the least probability of a candidate. A file
that is not the published one is refused. No library and no weight is loaded before a conversation is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from forgekit.extraction.statements import FAMILIES, TAGS, Find, Run, Words, lasting, runs_in, statements
from forgekit.frozen import frozen
from forgekit.models.encoder import Missing
from forgekit.models.files import BertModel
from forgekit.models.shipped import Shipped, find_shipped

if TYPE_CHECKING:
    from forgekit.models.forward import TokenTagger

FOLDER = Path(__file__).parent / "statements"
CARD, DELTA = "reader.json", "reader.safetensors"
FORMAT = 1
_LONGEST = 400_000


@frozen(kw_only=True)
class Level:
    """The calibration of a family: log-odds = bias + slope * those of the share; the least probability."""

    bias: float
    slope: float
    least: float


@frozen(kw_only=True)
class Card(Shipped):
    """What `reader.json` holds; its levels are by family."""

    levels: Mapping[str, Level]


class Memory(Protocol):
    """Texts by the hash of what they follow from and the version of what made them, as a catalogue has."""

    def cached(self, text_hash: str, version: str) -> str | None:
        """Return a text, None where it is not known."""

    def remember(self, text_hash: str, version: str, text: str) -> None:
        """Keep a text."""


class TrainedReader:
    """Reads conversations by the encoder with the delta.

    Args:
        memory: keeps what was read, so that it is not read again.
    """

    def __init__(self, card: Card, model: BertModel, delta: Path, memory: Memory | None = None) -> None:
        self._card, self._model, self._delta, self._memory = card, model, delta, memory

    problems = ()

    def remembering(self, memory: Memory) -> TrainedReader:
        """Return the reader with a memory."""
        return TrainedReader(self._card, self._model, self._delta, memory)

    def runs(self, turns: Sequence[tuple[bool, str]]) -> list[Run]:
        """Return the runs of turns, as `WordTagger`; places alone are remembered, no words."""
        if self._memory is None:
            return runs_in(self.read(turns))
        key, version = hashlib.sha256(json.dumps(turns).encode()).hexdigest(), f"runs {self._card.sha256}"
        with contextlib.suppress(ValueError, TypeError):  # a damaged row is read again
            return [Run(*row) for row in json.loads(self._memory.cached(key, version) or "")]
        found = runs_in(self.read(turns))
        self._memory.remember(key, version, json.dumps([astuple(run) for run in found]))
        return found

    def statements(self, turns: Sequence[tuple[bool, str]]) -> Iterator[tuple[int, Find]]:
        """Yield what turns state, as `StatementReader`."""
        return statements(turns, self)

    def lasting(self, turns: Sequence[tuple[bool, str]]) -> Iterator[tuple[int, str, str]]:
        """Yield what holds from then on, as `StatementReader`."""
        return lasting(turns, self)

    def read(self, turns: Sequence[tuple[bool, str]]) -> list[Words]:
        """Return the tagged words of each turn, given as (by a person, text)."""
        from forgekit.models.windows import conversation_of

        given = [(by, text[:_LONGEST]) for by, text in turns]
        conversation = conversation_of(self._tagger.tokenizer, given)
        shares = self._tagger.shares(conversation)
        rows: list[list[int]] = [[] for _ in turns]
        for n, (turn, _, _) in enumerate(conversation.places):
            if turn >= 0:
                rows[turn].append(n)
        return [
            Words(
                places=[conversation.places[n][1:] for n in row],
                sentences=[conversation.sentences[n] for n in row],
                shares=shares[row].tolist(),
            )
            for row in rows
        ]

    def probability(self, family: str, share: float) -> float:
        """Return the calibrated probability of a run, rounded to 2 digits, as `WordTagger`."""
        level = self._card.levels[family]
        share = min(max(share, 1e-4), 1 - 1e-4)
        odds = level.bias + level.slope * math.log(share / (1 - share))
        return round(1 / (1 + math.exp(-odds)), 2)

    def least(self, family: str) -> float:
        """Return the least probability of a candidate, as `WordTagger`."""
        return self._card.levels[family].least

    @cached_property
    def _tagger(self) -> TokenTagger:
        from forgekit.models.forward import TokenTagger

        return TokenTagger(self._model, self._delta, len(TAGS))


def find_statement_reader(cache: Path, folder: Path | None = None) -> TrainedReader | Missing:
    """Return the statement reader, or what is wrong with its files; loads no library.

    Args:
        cache: the folder that remembers which files were hashed.
        folder: where the reader's files are; None for those that came with forgekit.
    """
    folder = folder or FOLDER
    return find_shipped("statement reader", folder / CARD, folder / DELTA, card_of, cache, TrainedReader)


def card_of(data: Any, _digest: str) -> Card:
    """Return a card of its JSON; raises ValueError, LookupError or TypeError."""
    if data["format"] != FORMAT or data["tags"] != list(TAGS):
        raise ValueError("it belongs to another forgekit")
    levels = {name: Level(**data["levels"][name]) for name in FAMILIES}
    return Card(base=str(data["base"]), sha256=str(data["sha256"]), levels=levels)
