"""Frozen dataclasses whose methods are compiled when they are first called.

`dataclasses` compiles six methods of a class when its module is imported, in .5 to 1.2 ms. A command imports
fifty such classes and makes instances of ten: 25 ms of the 195 of `decision show`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, make_dataclass, replace
from typing import Any, TypeVar, dataclass_transform

__all__ = ["field", "frozen", "replace"]
T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, kw_only: bool = False, slots: bool = True) -> Callable[[type[T]], type[T]]:
    """Make a class what `dataclass(frozen=True)` makes of it."""

    def decorate(cls: type[T]) -> type[T]:
        made = dataclass(init=False, repr=False, eq=False, kw_only=kw_only, slots=slots)(cls)
        wanted = {"__init__", "__repr__", "__eq__", "__hash__"}.difference(cls.__dict__)
        methods = {name: _compiled_on_call(made, name) for name in wanted}
        for name, method in {**methods, "__setattr__": _refuse, "__delattr__": _refuse}.items():
            setattr(made, name, method)
        return made

    return decorate


def _compiled_on_call(cls: Any, name: str) -> Callable[..., Any]:
    """Return a method that replaces itself by the one that `dataclasses` compiles."""

    def method(self: object, *args: object, **options: object) -> object:
        begun = {"__post_init__": cls.__post_init__} if hasattr(cls, "__post_init__") else {}
        declared = [(each.name, each.type, each) for each in fields(cls)]
        init, shown, equal = name == "__init__", name == "__repr__", name in {"__eq__", "__hash__"}
        same = make_dataclass(
            cls.__qualname__, declared, namespace=begun, frozen=True, init=init, repr=shown, eq=equal
        )
        setattr(cls, name, same.__dict__[name])
        return getattr(cls, name)(self, *args, **options)

    return method


def _refuse(_: object, name: str, *__: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")
