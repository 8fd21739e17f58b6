"""The files of the trained judge: the delta on the encoder's weights, and what it belongs to.

They lie in `model/` beside this module: `judge.safetensors`, `judge.json` and the model's card. A file that
is not the one that was published with this forgekit is refused. Nothing here loads a library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forgekit.errors import FormatError
from forgekit.models.encoder import Missing, find_default
from forgekit.models.files import WEIGHTS, BertModel, file_sha256

FOLDER = Path(__file__).parent / "judge"
"""Where they were installed."""
CARD, DELTA = "judge.json", "judge.safetensors"
FORMAT = 2

REINSTALL = "install forgekit again"

_CARD_LIMIT = 100_000
_LABELS = ("contradiction", "duplicate", "refinement", "related", "unrelated")
_JOIN = ("bias", "model", "excluded", "differing", "heading")


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """What `judge.json` says.

    Attributes:
        base: SHA-256 of the encoder's weights that the delta belongs to.
        sha256: of the delta.
        labels: names of the verdicts, in the order of the head's logits.
        tokens_a_side: that are read.
        join: the weights of the join, by name.
        threshold: score from which a pair is called a contradiction.
        expected_precision: of what is called so, as it was calibrated.
        duplicate_log_odds: by the model, from which a pair is called a duplicate.
    """

    base: str
    sha256: str
    labels: tuple[str, ...]
    tokens_a_side: int
    join: Mapping[str, float]
    threshold: float
    expected_precision: float
    duplicate_log_odds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeFiles:
    """The files of the trained judge, each the one that was published."""

    card: Card
    model: BertModel
    delta: Path


class Refused(Missing):
    """The files are there, and are not what was published."""


def find_judge(cache: Path, folder: Path | None = None) -> JudgeFiles | Missing:
    """Return the files of the trained judge, or what is wrong with them; loads no library.

    Args:
        cache: the folder that remembers which files were hashed.
        folder: where they are, else where they were installed.
    """
    folder = folder or FOLDER
    delta = folder / DELTA
    if not (folder / CARD).is_file() or not delta.is_file():
        return Missing(reason=f"its files are not in {folder}", hint=REINSTALL)
    try:
        card = read_card(folder / CARD)
        if file_sha256(delta, cache) != card.sha256:
            return Refused(reason=f"{delta} is not the published file: its SHA-256 differs", hint=REINSTALL)
    except FormatError as e:
        return Refused(reason=str(e), hint=REINSTALL)
    model = find_default(cache)
    if isinstance(model, Missing):
        return model
    if model.sha256[WEIGHTS] != card.base:
        return Refused(
            reason=f"{delta} belongs to another encoder than {model.folder}: its SHA-256 differs",
            hint=REINSTALL,
        )
    return JudgeFiles(card=card, model=model, delta=delta)


def read_card(path: Path) -> Card:
    """Return what a `judge.json` says.

    Raises FormatError.
    """
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_CARD_LIMIT))
        return _card(data)
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as e:
        raise FormatError(f"cannot be read: {e}", path=str(path)) from None


def _card(data: Any) -> Card:
    if data["format"] != FORMAT:
        raise ValueError(f"its format is {str(data['format'])[:20]}, and this forgekit reads {FORMAT}")
    if data["labels"] != list(_LABELS):
        raise ValueError(f"its labels are not {', '.join(_LABELS)}")
    tokens = data["tokens_a_side"]
    if type(tokens) is not int or not 1 <= tokens <= 1_000:
        raise ValueError("tokens_a_side is no whole number from 1 to 1,000")
    return Card(
        base=_digest(data["base"]),
        sha256=_digest(data["sha256"]),
        labels=_LABELS,
        tokens_a_side=tokens,
        join={name: _number(data["join"][name]) for name in _JOIN},
        threshold=_number(data["threshold"]),
        expected_precision=_number(data["expected_precision"]),
        duplicate_log_odds=_number(data["duplicate_log_odds"]),
    )


def _digest(value: Any) -> str:
    if not re.fullmatch("[0-9a-f]{64}", value):
        raise ValueError("a SHA-256 has 64 hex digits")
    return str(value)


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < 1e6:
        raise ValueError("a figure is no number")
    return float(value)
