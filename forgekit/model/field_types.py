"""The types of front-matter fields: how a value is read, written, merged and shown as JSON.

A reader takes what a strict YAML parser returns: text, and lists and maps of text. A writer returns the
same. Readers raise ValueError with a message that follows the field's name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from forgekit.ids import EntityId, parse_id
from forgekit.model.lineage import TurnRange
from forgekit.model.rules import MOST_TURNS
from forgekit.times import UNKNOWN, Instant, format_instant, parse_instant

_DECIMAL = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,4})?")
_WHOLE = re.compile(r"[0-9]{1,8}")


class Plain(str):
    """The text of a number, a date or a name, written without quotes."""

    __slots__ = ()


class Null(str):
    """The plain scalar `null` or `~`: an unset field, where the same word in quotes is text."""

    __slots__ = ()


class Merge(Enum):
    """How two changes of one field are merged."""

    CHOOSE = "choose"  # a person chooses
    EARLIER = "earlier"  # the earlier time; a known one over an unknown one
    LATER = "later"  # the later time
    GREATER = "greater"  # the greater number; any over none
    SET = "set"  # union of two sets, sorted
    LIST = "list"  # union of two lists, in their order
    PAIRS = "pairs"  # map from local id to id, key by key
    ENTRIES = "entries"  # compressions by tag, each field by field


@dataclass(frozen=True, slots=True)
class FieldType:
    """How the values of a field are handled.

    Attributes:
        json: returns a value that is not None as JSON.
        merge: the rule for a field that names none.
        searched: whether full-text search finds its words.
    """

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = str
    json: Callable[[Any], Any] = lambda value: value
    merge: Merge = Merge.CHOOSE
    searched: bool = False


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be one line of text")
    return value


def _read_id(value: Any) -> EntityId:
    # A person's vault may hold ids as links: [[018b...]].
    return parse_id(_read_text(value).removeprefix("[[").removesuffix("]]"))


def _read_number(value: Any) -> float:
    # Python also takes `0_5`, `nan` and the digits of every script; other readers of the file do not.
    text = _read_text(value)
    number = float(text) if _DECIMAL.fullmatch(text) else math.inf
    if not math.isfinite(number):
        raise ValueError(f"{text[:60]!r} is not a number")
    return number


def _read_count(value: Any) -> int:
    if not _WHOLE.fullmatch(_read_text(value)) or int(value) > MOST_TURNS:
        raise ValueError("must be a whole number, such as 35")
    return int(value)


def _read_turns(value: Any) -> TurnRange:
    if isinstance(value, list) and len(value) == 2 and all(_WHOLE.fullmatch(str(v)) for v in value):
        first, last = int(value[0]), int(value[1])
        if first <= last <= MOST_TURNS:
            return first, last
    raise ValueError("must be two turn numbers, such as [1, 35]")


def _read_pairs(value: Any) -> tuple[tuple[str, EntityId], ...]:
    """Read a map from local id to id; an entity without a local id is under its own id."""
    if value == "":
        return ()
    if not isinstance(value, dict):
        raise ValueError("must be a map of local ids to ids")
    pairs = ((name, _read_id(entity)) for name, entity in value.items())
    return tuple(("" if name == entity else name, entity) for name, entity in pairs)


def _pairs_as_map(pairs: tuple[tuple[str, EntityId], ...]) -> dict[str, str]:
    return {local or entity: entity for local, entity in pairs}


def _list_of(read: Callable[[Any], Any], merge: Merge, *, searched: bool = False) -> FieldType:
    def read_list(value: Any) -> tuple[Any, ...]:
        if value == "":
            return ()
        if not isinstance(value, list):
            raise ValueError("must be a list, such as [a, b]")
        return tuple(read(item) for item in value)

    return FieldType(read_list, list, list, merge, searched)


def one_of(enum: type[Enum]) -> FieldType:
    """Return the type of fields that hold a member of an enum."""
    names = [member.value for member in enum]

    def read(value: Any) -> Enum:
        if value not in names:
            raise ValueError(f"{str(value)[:60]!r} is none of {', '.join(names)}")
        return enum(value)

    return FieldType(read, lambda member: str(member.value), lambda member: member.value)


def _instant_json(moment: Instant) -> str | None:
    return None if moment == UNKNOWN else format_instant(moment)


TEXT = FieldType(_read_text, searched=True)
CODE = FieldType(_read_text, Plain)
ID = FieldType(_read_id)
NUMBER = FieldType(_read_number, lambda number: Plain(repr(float(number))))
COUNT = FieldType(_read_count, lambda number: Plain(str(number)))
INSTANT = FieldType(
    lambda value: parse_instant(_read_text(value)),
    lambda moment: Plain(format_instant(moment)),
    _instant_json,
)
TURNS = FieldType(_read_turns, lambda turns: [Plain(str(turn)) for turn in turns], list)
LINES = _list_of(_read_text, Merge.LIST, searched=True)
IDS = _list_of(_read_id, Merge.SET)
PAIRS = FieldType(_read_pairs, _pairs_as_map, _pairs_as_map, Merge.PAIRS)
