"""The last net before anything is written: a file with a secret in it becomes no git object.

A secret that the committed file holds already is in the history, and does not stop other changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from forgekit.errors import SecretError
from forgekit.text.redaction import find

_KEY = re.compile(r"([A-Za-z_][\w-]{0,60}):")
_HEADING = re.compile(r"## (.{1,60})")


def refuse_secrets(
    path: str, new: bytes, committed: Callable[[], bytes], allowed: Callable[[], Collection[str]]
) -> None:
    """Raise SecretError for the first secret that a file would gain.

    Args:
        path: of the file, relative to the registry's root.
        new: its bytes as they are to be.
        committed: returns those of the commit that the change is made on; b"" for no file.
        allowed: returns the fingerprints of what may be written.
    """
    text = new.decode("utf-8", "replace")
    if not find(text):
        return
    known = {finding.fingerprint for finding in find(committed().decode("utf-8", "replace"))}
    for found in find(text, {*allowed(), *known}):
        raise SecretError(
            path=path,
            line=found.line,
            field=field_at(text, found.line),
            rule=found.rule,
            name=found.fingerprint,
        )


def field_at(text: str, line: int) -> str:
    """Return the front-matter key or the section of the body that a line belongs to, "" where neither."""
    above = text.split("\n")[:line]
    if not above or above[0].strip() != "---":
        return ""
    in_body = "---" in (each.strip() for each in above[1:])
    pattern = _HEADING if in_body else _KEY
    found = (pattern.match(each) for each in reversed(above))
    return next((match[1].lower() for match in found if match), "body" if in_body else "")
