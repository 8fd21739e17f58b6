"""Dataclasses as plain JSON values and back, for what the cache keeps of parsed archives.

The types that a dataclass declares decide how a value is read back; anything that does not fit raises
ValueError, so a damaged cache is never believed.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from enum import Enum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Return JSON values; fields that hold their default are left out."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_plain(item)
            for field in dataclasses.fields(value)
            if (item := getattr(value, field.name)) != field.default
        }
    return value


def from_plain(cls: type[T], data: Any) -> T:
    """Build a dataclass from what to_plain returned; raises ValueError."""
    try:
        return typing.cast(T, _read(cls, data))
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError(f"not a {cls.__name__}: {e}") from e


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _read(kind: Any, data: Any) -> Any:
    if hasattr(kind, "__supertype__"):
        return _read(kind.__supertype__, data)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return None if data is None else _read(next(t for t in inner if t is not type(None)), data)
    if origin is tuple:
        if not isinstance(data, list):
            raise TypeError("a list was expected")
        if len(inner) == 2 and inner[1] is ...:
            return tuple(_read(inner[0], item) for item in data)
        return tuple(_read(kind_, item) for kind_, item in zip(inner, data, strict=True))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return kind(**{name: _read(_hints(kind)[name], item) for name, item in data.items()})
    if kind is float and isinstance(data, int):
        return float(data)
    if not isinstance(data, kind) or (kind is not bool and isinstance(data, bool)):
        raise TypeError(f"{data!r} is no {kind}")
    return data
