"""The types of front-matter fields: how a value is read, written, merged, searched and shown.

`model.entities` declares each field of each kind once, by `key`. A reader takes what a strict YAML parser
returns: text, and lists and maps of text. A writer returns the same. Readers raise ValueError with a
message that follows the field's name.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeVar, dataclass_transform

from forgekit.errors import FormatError
from forgekit.frozen import frozen
from forgekit.ids import EntityId, is_id, parse_id
from forgekit.model.kinds import Kind
from forgekit.model.rules import MOST_TURNS
from forgekit.times import UNKNOWN, Instant, format_instant, parse_instant

T = TypeVar("T")
TurnRange = tuple[int, int]
"""First and last turn, both included, counted from 1."""

_DECIMAL = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,4})?")
_WHOLE = re.compile(r"[0-9]{1,8}")
_UUID_LIKE = re.compile(r"[0-9A-Fa-f-]{32,}")


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


class FieldType(NamedTuple):
    """How the values of a field are handled.

    Attributes:
        json: returns a value that is not None as JSON.
        merge: the rule for a field that names none.
        searched: whether full-text search finds its words.
        most: the greatest number; the least is 0. None where any is allowed.
    """

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = str
    json: Callable[[Any], Any] = lambda value: value
    merge: Merge = Merge.CHOOSE
    searched: bool = False
    most: int | None = None


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be one line of text")
    return value


def _read_id(value: Any) -> EntityId:
    # A person's vault may hold ids as links: [[018b...]].
    return parse_id(_read_text(value).removeprefix("[[").removesuffix("]]"))


def _read_id_or_words(value: Any) -> str:
    text = _read_text(value)
    is_link = text.startswith("[[") and text.endswith("]]")
    return _read_id(text) if is_link or _UUID_LIKE.fullmatch(text) else text


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
    if not isinstance(value, dict):
        raise ValueError("must be a map of local ids to ids")
    pairs = ((name, _read_id(entity)) for name, entity in value.items())
    return tuple(("" if name == entity else name, entity) for name, entity in pairs)


def _pairs_as_map(pairs: tuple[tuple[str, EntityId], ...]) -> dict[str, str]:
    return {local or entity: entity for local, entity in pairs}


def _list_of(read: Callable[[Any], Any], merge: Merge, *, searched: bool = False) -> FieldType:
    def read_list(value: Any) -> tuple[Any, ...]:
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
SHARE = NUMBER._replace(most=1)
COUNT = FieldType(_read_count, lambda number: Plain(str(number)), most=MOST_TURNS)
INSTANT = FieldType(
    lambda value: parse_instant(_read_text(value)),
    lambda moment: Plain(format_instant(moment)),
    _instant_json,
)
TURNS = FieldType(_read_turns, lambda turns: [Plain(str(turn)) for turn in turns], list)
LINES = _list_of(_read_text, Merge.LIST, searched=True)
CODES = _list_of(_read_text, Merge.SET)
IDS = _list_of(_read_id, Merge.SET)
IDS_OR_WORDS = _list_of(_read_id_or_words, Merge.SET, searched=True)
PAIRS = FieldType(_read_pairs, _pairs_as_map, _pairs_as_map, Merge.PAIRS)


class Field(NamedTuple):
    """One front-matter key.

    Attributes:
        name: the key, and the attribute of the dataclass.
        required: whether a file without it is refused.
        unset: the value that is not written, beside None and an empty list.
        merge: the rule for two changes; None for the one of its type.
        together: the group of fields that are merged as one, "" for a field that is merged alone.
        states: the only ones that it goes with, for a field that goes with some states of its entity.
        refers: the kinds whose ids it holds. Ids of decisions and threads may change when an archive is
            filed, and the field is then renamed with them.
        column: whether the catalogue has a column of this name.
        csv: whether the CSV export has a column of this name.
        entry: the fields of each entry, for a list of entries.
    """

    name: str
    type: FieldType
    required: bool
    unset: object = None
    merge: Merge | None = None
    together: str = ""
    states: tuple[Enum, ...] = ()
    refers: tuple[Kind, ...] = ()
    column: bool = False
    csv: bool = False
    entry: tuple[Field, ...] = ()

    @property
    def rule(self) -> Merge:
        """How two changes of this field are merged."""
        return self.merge or self.type.merge


def key(
    type: FieldType,  # noqa: A002 - the attribute of Field
    *,
    default: object = dataclasses.MISSING,
    required: bool = False,
    **more: Any,
) -> Any:
    """Declare an attribute that a file holds under the key of its name.

    Args:
        default: of the attribute; without one, the key is required.
        required: whether the key is, although the attribute has a default.
        more: other attributes of Field.
    """
    needed = required or default is dataclasses.MISSING
    metadata: dict[str, object] = {"type": type, "required": needed, **more}
    return dataclasses.field(default=default, metadata=metadata)


def status_key(states: type[Enum], *, default: Enum) -> Any:
    """Declare the status of an entity by `key`."""
    return key(one_of(states), default=default, required=True, together="state", column=True, csv=True)


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(key, status_key, dataclasses.field)
)
def stored(cls: type[T]) -> type[T]:
    """Make a class a dataclass whose attributes may be declared by `key`."""
    return frozen(kw_only=True)(cls)


def keys_of(cls: Any) -> tuple[Field, ...]:
    """Return the fields that a stored class declares, in canonical order."""
    return tuple(Field(f.name, **f.metadata) for f in dataclasses.fields(cls) if f.metadata)


def read_fields(fields: tuple[Field, ...], raw: dict[str, Any], lines: Mapping[str, int]) -> dict[str, Any]:
    """Convert the known fields and remove them from `raw`; what is left there is unknown.

    Args:
        raw: text, lists and maps of text.
        lines: the 1-based line of each key, for messages; may be empty.

    Raises FormatError.
    """
    values: dict[str, Any] = {}
    for field in fields:
        value = raw.pop(field.name, None)
        if value is None or value == "" or isinstance(value, Null):
            if field.required:
                line = lines.get(field.name, 1 if lines else None)
                raise FormatError("is missing", field=field.name, line=line)
            continue
        try:
            values[field.name] = field.type.read(value)
        except ValueError as e:
            raise FormatError(str(e), field=field.name, line=lines.get(field.name)) from None
    return values


def write_fields(fields: tuple[Field, ...], entity: object) -> dict[str, Any]:
    """Return the fields that are set, as text, lists and maps of text."""
    values = ((field, getattr(entity, field.name)) for field in fields)
    return {
        field.name: field.type.write(value)
        for field, value in values
        if value is not None and value not in ((), field.unset)
    }


def json_fields(fields: tuple[Field, ...], entity: object) -> dict[str, Any]:
    """Return every field as JSON."""
    values = ((field, getattr(entity, field.name)) for field in fields)
    return {field.name: None if value is None else field.type.json(value) for field, value in values}


def ids_in(field: Field, value: Any) -> Iterator[EntityId]:
    """Yield the ids that a field's value holds, alone, in a list or in a map; words are passed over."""
    if not isinstance(value, tuple):
        if value is not None:
            yield value
        return
    for item in value:
        if field.type is not IDS_OR_WORDS or is_id(item):
            yield item[1] if field.rule is Merge.PAIRS else item
