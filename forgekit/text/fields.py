"""Front-matter values as the front matter holds them (text, lists and maps of text), read by what they mean.

A reader raises ValueError with what the value must be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

from forgekit.ids import EntityId, parse_id
from forgekit.model.lineage import TurnRange
from forgekit.times import Instant, parse_instant

T = TypeVar("T")
_DECIMAL = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,4})?")
_TURN = re.compile(r"[0-9]{1,8}")


def as_text(value: Any) -> str:
    """Read a line."""
    if not isinstance(value, str):
        raise ValueError("must be one line of text")
    return value


def as_list(read: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    """Return a reader of lists."""

    def convert(value: Any) -> tuple[T, ...]:
        if value == "":
            return ()
        if not isinstance(value, list):
            raise ValueError("must be a list, such as [a, b]")
        return tuple(read(item) for item in value)

    return convert


def as_id(value: Any) -> EntityId:
    """Read an id."""
    # A person's vault may hold ids as links: [[018b...]].
    return parse_id(as_text(value).removeprefix("[[").removesuffix("]]"))


def as_number(value: Any) -> float:
    """Read a number."""
    # Python also takes `0_5`, `nan` and the digits of every script; other readers of the file do not.
    text = as_text(value)
    number = float(text) if _DECIMAL.fullmatch(text) else math.inf
    if not math.isfinite(number):
        raise ValueError(f"{text[:60]!r} is not a number")
    return number


def as_one_of(enum: type[Enum]) -> Callable[[Any], Any]:
    """Return a reader of the names of an enum."""
    names = [str(member.value) for member in enum]

    def convert(value: Any) -> Enum:
        if value not in names:
            raise ValueError(f"{str(value)[:60]!r} is none of {', '.join(names)}")
        return enum(value)

    return convert


def as_instant(value: Any) -> Instant:
    """Read a time."""
    return parse_instant(as_text(value))


def as_turns(value: Any) -> TurnRange:
    """Read a range of turns."""
    if isinstance(value, list) and len(value) == 2 and all(_TURN.fullmatch(str(v)) for v in value):
        first, last = int(value[0]), int(value[1])
        if 0 <= first <= last <= 10_000_000:
            return first, last
    raise ValueError("must be two turn numbers, such as [1, 35]")


def as_count(value: Any) -> int:
    """Read a whole number."""
    if not _TURN.fullmatch(as_text(value)) or int(value) > 10_000_000:
        raise ValueError("must be a whole number, such as 35")
    return int(value)


def as_pairs(value: Any) -> tuple[tuple[str, EntityId], ...]:
    """Read a map local id -> id; an entity whose local id is unknown stands under its own id."""
    if value == "":
        return ()
    if not isinstance(value, dict):
        raise ValueError("must be a map of local ids to ids")
    pairs = ((name, as_id(entity)) for name, entity in value.items())
    return tuple(("" if name == entity else name, entity) for name, entity in pairs)


def write_pairs(pairs: tuple[tuple[str, EntityId], ...]) -> dict[str, str]:
    """Return the map that `as_pairs` reads."""
    return {local or entity: entity for local, entity in pairs}
