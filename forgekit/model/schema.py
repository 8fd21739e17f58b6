"""The schema: the version of the files' format, as `forgekit.toml` names it.

Every command asks for it, so it stands apart from the settings, which few commands load.
"""

from __future__ import annotations

import re

SCHEMA_VERSION = 1
SETTINGS_FILE = "forgekit.toml"

_SCHEMA = re.compile(r"^(schema[ \t]*=[ \t]*)(\d{1,5})(?=[ \t]*(?:#.*)?\r?$)", re.MULTILINE)


def schema_of(text: str) -> int:
    """Return the schema that a settings file names, whatever else is right or wrong in it."""
    found = _SCHEMA.search(text)
    return int(found[2]) if found else SCHEMA_VERSION


def with_schema(text: str) -> str:
    """Return a settings file that names the present schema, where it named one."""
    return _SCHEMA.sub(rf"\g<1>{SCHEMA_VERSION}", text, count=1)


def schema_fault(schema: int) -> str | None:
    """Return why files of a schema are neither read nor written, or None where they are."""
    if schema > SCHEMA_VERSION:
        return f"is {schema}, and this forgekit reads up to {SCHEMA_VERSION}; upgrade forgekit"
    if schema < SCHEMA_VERSION:
        return f"is {schema}; `forgekit doctor --repair` brings the registry to {SCHEMA_VERSION}"
    return None
