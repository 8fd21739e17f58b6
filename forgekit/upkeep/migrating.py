"""Bringing the files of an older schema to the one that this program writes, in one commit.

A step is a pure function of one file's path and text. Steps are applied in order, one schema at a time, to
every entity file; what a step does not know it leaves as it stands, so unknown fields are kept. `schema` in
`forgekit.toml` says which steps are behind a registry.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from forgekit.catalogue.scan import scan
from forgekit.errors import FormatError
from forgekit.model.schema import SCHEMA_VERSION, SETTINGS_FILE, schema_of, with_schema
from forgekit.store import files
from forgekit.store.store import Change, Store
from forgekit.text.frontmatter import decode

Step = Callable[[str, str], str]

STEPS: Mapping[int, Step] = {}
"""Schema -> what brings a file of it to the next one. Schema 1 is the first that was released."""


def path_up(schema: int) -> list[Step] | None:
    """Return the steps from a schema to the present one; None where none lead there."""
    steps = [STEPS.get(number) for number in range(schema, SCHEMA_VERSION)]
    return [step for step in steps if step] if all(steps) else None


def migration(store: Store) -> Change:
    """Return the change that brings every file to the present schema.

    Raises FormatError where no steps lead there, or for settings that are no text.
    """
    settings = decode(files.read_bytes(store.root, SETTINGS_FILE) or b"")
    schema = schema_of(settings)
    steps = path_up(schema)
    if steps is None:
        raise FormatError(f"is {schema}, which no forgekit ever wrote", path=SETTINGS_FILE, field="schema")
    changed: dict[str, bytes | None] = {SETTINGS_FILE: with_schema(settings).encode()}
    for path in _entity_files(store.root):
        data = files.read_bytes(store.root, path) or b""
        try:
            text = decode(data)
        except FormatError:
            continue  # damage of its own, with a finding of its own
        for step in steps:
            text = step(path, text)
        if text.encode() != data:
            changed[path] = text.encode()
    return Change(
        files=changed,
        subject=f"doctor: migrate from schema {schema} to {SCHEMA_VERSION}",
        trailers=(("Forgekit-Op", "doctor --repair"),),
    )


def _entity_files(root: Path) -> list[str]:
    found = (
        f"{folder}/{name}"
        for folder, listing in scan(root)
        for name, mode, *_ in listing
        if stat.S_ISREG(mode)
    )
    return sorted(path for path in found if files.entity_of_path(path) is not None)


def is_older(root: Path) -> bool:
    """Say whether the schema of a registry is older than this program's."""
    return schema_of(decode(files.read_bytes(root, SETTINGS_FILE) or b"")) < SCHEMA_VERSION
