"""TOML and INI as mappings: sections of keys with values.

In: text. Out: what `load_yaml` gives of YAML: text, lists and Located mappings.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from configparser import ConfigParser, Error
from typing import Any

from forgekit.archives.labels import fact_named, field_named, lists_kind
from forgekit.errors import FormatError
from forgekit.text.frontmatter import Located

_SECTION = re.compile(r"\s*\[{1,2}\s*([^\W\d_][^\[\]]*?)\s*\]{1,2}\s*(?:[#;].*)?$")
_PAIR = re.compile(r"\s*([^\W\d_][\w .-]{0,40}?)\s*=\s*\S")
_NUMBERED = re.compile(r"([^\W\d_]{2,20})[ ._-]\d{1,4}")
_FEWEST, _DEEPEST = 2, 16
_TOP = "forgekit top"


def is_section(line: str) -> bool:
    """Say whether a line begins a section."""
    return _SECTION.match(line) is not None


def is_sectioned(text: str) -> bool:
    """Say whether a text is sections of `key = value` with labels that are known, and little else."""
    lines = [line for line in text.split("\n") if line.strip() and line.lstrip()[0] not in "#;"]
    sections = sum(map(is_section, lines))
    if sections < _FEWEST:
        return False
    keys = [pair[1] for line in lines if (pair := _PAIR.match(line))]
    known = sum(map(_is_label, keys))
    return sections <= len(keys) and 3 * (sections + len(keys)) > 2 * len(lines) and 2 * known >= len(keys)


def _is_label(key: str) -> bool:
    return fact_named(key) is not None or lists_kind(key, "A") or any(field_named(key, kind) for kind in "DT")


def load_sections(text: str, first_line: int) -> Located:
    """Read TOML, else INI.

    Raises FormatError for what is neither, and for what is nested too deeply.
    """
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, line in enumerate(text.split("\n"), first_line):
        if match := _SECTION.match(line):
            places[tuple(part.strip(" \"'") for part in match[1].split("."))].append(number)
    if max(map(len, places), default=0) > _DEEPEST:
        raise FormatError("is nested too deeply", line=first_line)
    try:
        values: Mapping[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        values = _ini(text, first_line)
    except RecursionError:
        raise FormatError("is nested too deeply", line=first_line) from None
    return _by_word(_located(values, (), places, first_line))


def _by_word(found: Located) -> Located:
    """Return a mapping whose numbered sections, such as `decision 1`, are those of one list."""
    grouped = Located(found.line)
    for key, value in found.items():
        match = _NUMBERED.fullmatch(key) if isinstance(value, Located) else None
        if match is None:
            grouped[key] = value
        else:
            grouped.setdefault(match[1], Located(value.line))[key] = value
    return grouped


def _ini(text: str, first_line: int) -> dict[str, Any]:
    parser = ConfigParser(strict=False, interpolation=None, default_section=_TOP)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(f"[{_TOP}]\n{text}")
    except Error as e:
        raise FormatError(f"neither TOML nor INI: {e.message.splitlines()[0]}", line=first_line) from e
    found: dict[str, Any] = dict(parser.defaults())
    for name in parser.sections():
        inner = found
        for part in name.split("."):
            inner = inner.setdefault(part.strip(), {})
            if not isinstance(inner, dict):
                raise FormatError(f"{name} is a key and a section", line=first_line)
        inner |= {key: value for key, value in parser[name].items() if key not in parser.defaults()}
    return found


def _located(
    value: Any, path: tuple[str, ...], places: Mapping[tuple[str, ...], list[int]], line: int
) -> Any:
    """Return a value as text, lists and mappings that know their lines."""
    own = places.get(path, [line])
    if isinstance(value, Mapping):
        return Located(own[0], {k: _located(v, (*path, k), places, own[0]) for k, v in value.items()})
    if isinstance(value, list):
        lines = [*own, *own[-1:] * len(value)]
        return [_located(each, path, {path: [n]}, n) for each, n in zip(value, lines, strict=False)]
    return str(value).lower() if isinstance(value, bool) else str(value)
