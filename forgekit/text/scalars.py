"""Values as YAML text, on one line, with quotes only where some YAML reader needs them."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import yaml

from forgekit.ids import is_id

_SURELY_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 _./()-]*[A-Za-z0-9)]|[A-Za-z]")
# What ends a line in YAML 1.1 or cannot stand in a file as it is; escaped, the value keeps to one line.
_ESCAPED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WORDS = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}
# Numbers of YAML 1.2 that PyYAML (YAML 1.1) takes for words; other readers do not.
_NUMBER_12 = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")


class Plain(str):
    """Text that stands for a number, a date or something a person wrote: never quoted for its look."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Flow lists, no aliases, and quotes for whatever YAML 1.1 or 1.2 would take for another type."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the base class names it
        return True


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(rf"^(?:{_NUMBER_12.pattern})$"), list("-+.0123456789")
)
_Dumper.add_representer(
    Plain,
    lambda dumper, data: dumper.represent_scalar(
        dumper.resolve(yaml.ScalarNode, str(data), (True, False)),  # type: ignore[no-untyped-call] # the stubs leave it out
        str(data),
    ),
)


@lru_cache(maxsize=4096)
def _dumped(text: str, plain: bool, flow: bool) -> str:
    value: str = Plain(text) if plain else text
    dumped = str(
        yaml.dump([value], Dumper=_Dumper, default_flow_style=flow, allow_unicode=True, width=float("inf"))
    )
    out = dumped[1:].rstrip("\n").removesuffix("]") if flow else dumped[2:].rstrip("\n")
    # A tag means that this text cannot stand plain here; quotes say the same without one.
    return _dumped(text, False, flow) if plain and out.startswith("!") else out


def _quoted(text: str) -> str:
    """Return a double-quoted scalar; JSON's escapes are YAML's."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False))


def scalar(value: str, *, flow: bool = False) -> str:
    """Return one text as a YAML scalar; `flow` when it stands between brackets."""
    if _ESCAPED.search(value):
        return _quoted(value)
    if isinstance(value, Plain):
        return _dumped(str(value), True, flow)
    if is_id(value) or (_SURELY_PLAIN.fullmatch(value) and value.casefold() not in _WORDS):
        return value
    return _dumped(value, False, flow)


def dump_field(key: str, value: Any) -> str:
    """Return the line or lines of one field, each with its line end.

    Args:
        key: the field's name.
        value: text, or lists and mappings of text, nested at will.
    """
    return _block(value, key, 0)


def _block(value: Any, key: str, indent: int) -> str:
    start = f"{' ' * indent}{scalar(key)}:"
    if isinstance(value, str):
        return f"{start} {scalar(value)}\n"
    if isinstance(value, dict) and value:
        inner = "".join(_block(item, name, indent + 2) for name, item in value.items())
        return f"{start}\n{inner}"
    if isinstance(value, list) and any(isinstance(item, dict) and item for item in value):
        return f"{start}\n" + "".join(_item(item, indent + 2) for item in value)
    return f"{start} {_flow(value)}\n"


def _item(value: Any, indent: int) -> str:
    if isinstance(value, dict) and value:
        lines = "".join(_block(item, name, indent + 2) for name, item in value.items())
        return f"{' ' * indent}- {lines[indent + 2 :]}"
    return f"{' ' * indent}- {_flow(value)}\n"


def _flow(value: Any) -> str:
    if isinstance(value, str):
        return scalar(value, flow=True)
    if isinstance(value, list):
        return f"[{', '.join(_flow(item) for item in value)}]"
    return "{" + ", ".join(f"{scalar(k, flow=True)}: {_flow(v)}" for k, v in value.items()) + "}"
