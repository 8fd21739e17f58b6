"""What comes trained with forgekit: a delta on the default encoder's weights, and the card of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from forgekit.errors import FormatError
from forgekit.frozen import frozen
from forgekit.models.encoder import Missing, find_default
from forgekit.models.files import WEIGHTS, BertModel, file_sha256

_CARD_LIMIT = 100_000
REINSTALL = "install forgekit again"


class Damaged(Missing):
    """The files are there and are not the published ones."""


@frozen(kw_only=True)
class Shipped:
    """What every card holds: SHA-256 of the encoder's weights that the delta belongs to, and of the delta."""

    base: str
    sha256: str


C = TypeVar("C", bound=Shipped)
T = TypeVar("T")


def read_card(path: Path, made: Callable[[Any, str], C]) -> C:
    """Return the card that a JSON file holds.

    Args:
        made: makes the card of its data and its SHA-256; raises ValueError, LookupError or TypeError.

    Raises FormatError.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_CARD_LIMIT)
        return made(json.loads(content), hashlib.sha256(content).hexdigest())
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as e:
        raise FormatError(f"cannot be read: {e}", path=str(path)) from None


def find_shipped(
    what: str,
    card: Path,
    delta: Path,
    made: Callable[[Any, str], C],
    cache: Path,
    opened: Callable[[C, BertModel, Path], T],
) -> T | Missing:
    """Return what came with forgekit, or what is wrong with its files; loads no library.

    Args:
        what: it is, for messages.
        card: the JSON file.
        delta: the safetensors file.
        made: makes the card, as `read_card`.
        cache: the folder that remembers which files were hashed.
        opened: makes it of its card, the encoder's files and the delta.
    """
    if not card.is_file() or not delta.is_file():
        return Missing(reason=f"the {what}'s files are not in {card.parent}", hint=REINSTALL)
    try:
        found = read_card(card, made)
        if file_sha256(delta, cache) != found.sha256:
            return Damaged(reason=f"{delta} is not the published file: its SHA-256 differs", hint=REINSTALL)
    except FormatError as e:
        return Damaged(reason=str(e), hint=REINSTALL)
    model = find_default(cache)
    if isinstance(model, Missing):
        return model
    if model.sha256[WEIGHTS] != found.base:
        reason = f"{delta} belongs to another encoder than {model.folder}: its SHA-256 differs"
        return Damaged(reason=reason, hint=REINSTALL)
    return opened(found, model, delta)
