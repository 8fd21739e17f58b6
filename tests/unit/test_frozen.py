"""A frozen class is what `dataclasses` would make of it, although its methods are compiled later."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import pytest

from forgekit.frozen import frozen


@frozen()
class Point:
    """A point."""

    x: int
    y: int = 0
    tags: dict[str, int] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")


@dataclass(frozen=True, slots=True)
class Known:
    """The same, by `dataclasses`."""

    x: int
    y: int = 0
    tags: dict[str, int] = field(default_factory=dict, compare=False)


def test_it_has_the_methods_of_a_dataclass() -> None:
    assert repr(Point(1)) == repr(Known(1)).replace("Known", "Point")
    assert Point(1, 2) == Point(1, y=2) != Point(1)
    assert hash(Point(1, 2)) == hash(Known(1, 2))
    assert dataclasses.replace(Point(1, 2), y=3) == Point(1, 3)
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 0, "tags": {}}
    assert Point(1).tags is not Point(1).tags
    assert not hasattr(Point(1), "__dict__")


def test_each_method_may_be_the_first_that_is_called() -> None:
    @frozen(kw_only=True, slots=False)
    class Name:
        text: str

    blank = object.__new__(Name)
    blank.__dict__["text"] = "a"
    assert hash(blank) == hash(("a",))
    assert repr(blank).endswith("Name(text='a')")
    assert blank == Name(text="a")


def test_it_refuses_what_a_dataclass_refuses() -> None:
    with pytest.raises(ValueError, match="x is negative"):
        Point(-1)
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg] # what is tested
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        Point(1).x = 2  # type: ignore[misc] # what is tested
