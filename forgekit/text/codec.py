"""Entities as Markdown: YAML front matter for machines, a body for people.

Two laws hold:

    loads(kind, dumps(e)) == e          nothing is lost
    dumps(loads(kind, t)) == t          for any t that dumps wrote: no change, no diff

Unknown keys are kept, in their order, after the known ones. The path of a file is not known here;
the store adds it to an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from forgekit.errors import FormatError, RuleError
from forgekit.ids import is_id
from forgekit.model.entities import CLASSES, FIELDS, Archive, Entity
from forgekit.model.fields import Plain, read_fields, write_fields
from forgekit.model.kinds import Kind
from forgekit.text import frontmatter

_SURELY_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 _./()-]*[A-Za-z0-9)]|[A-Za-z]")
# What ends a line in YAML 1.1 or cannot be in a file as it is; escaped, the value keeps to one line.
_ESCAPED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WORDS = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}
# Numbers of YAML 1.2 that PyYAML (YAML 1.1) takes for words; other readers do not.
_NUMBER_12 = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")


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
    # A tag means that this text needs quotes.
    return _dumped(text, False, flow) if plain and out.startswith("!") else out


def _quoted(text: str) -> str:
    """Return a double-quoted scalar; JSON's escapes are YAML's."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False))


def scalar(value: str, *, flow: bool = False) -> str:
    """Return one text as a YAML scalar; `flow` inside brackets."""
    if _ESCAPED.search(value):
        return _quoted(value)
    if isinstance(value, Plain):
        return _dumped(str(value), True, flow)
    if is_id(value) or (_SURELY_PLAIN.fullmatch(value) and value.casefold() not in _WORDS):
        return value
    return _dumped(value, False, flow)


def dump_field(key: str, value: Any, indent: int = 0) -> str:
    """Return the line or lines of one field, each with its line end.

    Args:
        value: text, or lists and mappings of text, nested at will.
    """
    start = f"{' ' * indent}{scalar(key)}:"
    if isinstance(value, str):
        return f"{start} {scalar(value)}\n"
    if isinstance(value, dict) and value:
        inner = "".join(dump_field(name, item, indent + 2) for name, item in value.items())
        return f"{start}\n{inner}"
    if isinstance(value, list) and any(isinstance(item, dict) and item for item in value):
        return f"{start}\n" + "".join(_item(item, indent + 2) for item in value)
    return f"{start} {_flow(value)}\n"


def _item(value: Any, indent: int) -> str:
    if isinstance(value, dict) and value:
        lines = "".join(dump_field(name, item, indent + 2) for name, item in value.items())
        return f"{' ' * indent}- {lines[indent + 2 :]}"
    return f"{' ' * indent}- {_flow(value)}\n"


def _flow(value: Any) -> str:
    if isinstance(value, str):
        return scalar(value, flow=True)
    if isinstance(value, list):
        return f"[{', '.join(_flow(item) for item in value)}]"
    return "{" + ", ".join(f"{scalar(k, flow=True)}: {_flow(v)}" for k, v in value.items()) + "}"


def loads(kind: Kind, text: str) -> Entity:
    """Read one entity; raises FormatError with line and field."""
    if kind is Kind.ARCHIVE:
        head, rest = frontmatter.split(text)
        fields, lines = frontmatter.load_fields(head.replace("\r\n", "\n"))
        # The body is verbatim: exactly one line end after the fence is ours.
        body = rest.removeprefix("\r\n" if rest.startswith("\r\n") else "\n")
    else:
        fields, lines, body = frontmatter.read(text)
    return from_fields(kind, fields, body, lines)


def from_fields(
    kind: Kind, fields: frontmatter.Fields, body: str, lines: Mapping[str, int] | None = None
) -> Entity:
    """Build an entity from fields as the front matter holds them: text, lists and maps of text.

    Args:
        fields: kept unchanged.
        lines: the 1-based line of each field, for messages.

    Raises FormatError with field and, where known, line.
    """
    unknown = dict(fields)
    lines = lines or {}
    values = read_fields(FIELDS[kind], unknown, lines)
    try:
        return CLASSES[kind](**values, extra=unknown, body=body)
    except RuleError as e:
        field, _, message = str(e).partition(": ")
        raise FormatError(message or field, line=lines.get(field), field=field) from None


def to_fields(entity: Entity) -> frontmatter.Fields:
    """Return the fields of an entity as the front matter holds them; the inverse of from_fields."""
    return {**write_fields(FIELDS[entity.kind], entity), **entity.extra}


def plain_tree(value: Any) -> Any:
    """Return a value of an unknown key as it is written: each scalar as plain as it was."""
    if isinstance(value, str):
        return Plain(value)
    if isinstance(value, dict):
        return {key: plain_tree(item) for key, item in value.items()}
    return [plain_tree(item) for item in value]


def field_texts(entity: Entity) -> dict[str, str]:
    """Return each set field's canonical line or lines, in canonical order."""
    unknown = {key: plain_tree(value) for key, value in entity.extra.items()}
    fields = {**write_fields(FIELDS[entity.kind], entity), **unknown}
    return {key: dump_field(key, value) for key, value in fields.items()}


def dumps(entity: Entity) -> str:
    """Write the one canonical text: fixed key order, unset fields left out, LF.

    Raises FormatError when the front matter would be too long to be read back.
    """
    texts = field_texts(entity)
    fields = "".join(texts.values())
    if len(fields.encode()) > frontmatter.FRONT_MATTER_LIMIT:
        longest = max(texts, key=lambda name: len(texts[name]))
        raise FormatError(
            f"makes the front matter longer than {frontmatter.FRONT_MATTER_LIMIT:,} bytes; shorten it",
            field=longest,
        )
    head = f"---\n{fields}---\n"
    if isinstance(entity, Archive):
        return f"{head}\n{entity.body}"
    return head + (f"\n{entity.body}\n" if entity.body else "")
