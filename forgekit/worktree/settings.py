"""`forgekit.toml`, the settings that come with a registry."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.errors import FormatError
from forgekit.model.settings import SETTINGS_FILE, schema_fault, schema_of

if TYPE_CHECKING:
    from forgekit.model.settings import Settings

SETTINGS_LIMIT = 64_000
_LINE_LIMIT = 1_000  # of a line: the parser's time grows with the square of a key's parts
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def load_settings(root: Path) -> Settings:
    """Read `forgekit.toml`.

    Raises FormatError naming the line or the key at fault.
    """
    return parse_settings(_text(root))


def _text(root: Path) -> str:
    """Return the text of the settings, read as a stranger's file: a pipe would block, a link lead elsewhere.

    Raises FormatError.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(os.open(root / SETTINGS_FILE, flags), "rb") as file:  # noqa: PTH123 - a file descriptor
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FormatError("is not a regular file", path=SETTINGS_FILE)
            data = file.read(SETTINGS_LIMIT + 1)
        if len(data) > SETTINGS_LIMIT:
            raise FormatError(f"is longer than {SETTINGS_LIMIT:,} bytes", path=SETTINGS_FILE)
        return data.decode("utf-8")
    except OSError as e:
        raise FormatError(f"cannot be read: {e.strerror}", path=SETTINGS_FILE) from None
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise FormatError("is not UTF-8 text; save it as UTF-8", path=SETTINGS_FILE, line=line) from None


def parse_settings(text: str) -> Settings:
    """Read the text of `forgekit.toml`.

    Raises FormatError naming the line or the key at fault.
    """
    import tomllib

    from forgekit.model.settings import read_settings

    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > _LINE_LIMIT:
            raise FormatError(
                f"is longer than {_LINE_LIMIT:,} characters on this line", path=SETTINGS_FILE, line=number
            )
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise FormatError("is nested too deeply", path=SETTINGS_FILE, line=1) from None
    except ValueError as e:  # of which the parser's own error is one, and that of too long a number another
        place = _PLACE.search(str(e))
        reason = _PLACE.sub("", str(e)) if place else "a number is too long"
        at = int(place[1] or text.count("\n") + 1) if place else 1
        raise FormatError(f"cannot be read: {reason}", path=SETTINGS_FILE, line=at) from None
    settings, problems = read_settings(data)
    if problems:
        field = problems[0].field
        raise FormatError(
            problems[0].message, path=SETTINGS_FILE, line=_line_of(text, field), field=field[:60]
        )
    return settings


def _line_of(text: str, key: str) -> int | None:
    """Return the line that gives a key its value, or None where the parser alone can tell."""
    found = (n for n, line in enumerate(text.splitlines(), 1) if line.split("=")[0].strip(" \t\"'[]") == key)
    return next(found, None)


def require_schema(root: Path) -> None:
    """Refuse a registry whose files this program does not know.

    Reading is refused as well as writing: what a newer schema means by a field nobody can guess, and an
    answer that leaves out what it does not understand is worse than none.

    Raises FormatError saying what to do.
    """
    try:
        text = _text(root)
    except FormatError:
        return  # whoever needs the settings reports it
    if fault := schema_fault(schema_of(text)):
        raise FormatError(fault, path=SETTINGS_FILE, field="schema")
