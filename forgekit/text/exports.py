"""The beginnings of exports, which distinguish their text from an archive."""

from __future__ import annotations

import re

SCHEMA = "forgekit/registry@1"
COMMENT = f"<!-- {SCHEMA} -->"
COLUMNS = ("kind", "short_id", "id", "title")
"""The first columns of a table."""
_BEGINNING = re.compile(
    rf'\s*(?:\{{\s*"schema":\s*"{SCHEMA}"|{",".join(COLUMNS)},|(?:<!DOCTYPE html>\s*)?{COMMENT}'
    r'|<!-- \d{4,}-[a-z0-9-]+\.md -->\s*---\s*status: ")'
)


def is_export(text: str) -> bool:
    """Say whether a text begins as `forgekit export` begins one that holds records."""
    return _BEGINNING.match(text) is not None
