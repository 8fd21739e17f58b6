"""`forgekit.toml`, the settings that come with a registry."""

from __future__ import annotations

import tomllib
from pathlib import Path

from forgekit.errors import FormatError
from forgekit.model.settings import Settings, read_settings
from forgekit.store.roots import SETTINGS_FILE


def load_settings(root: Path) -> Settings:
    """Read `forgekit.toml`.

    Raises FormatError naming the key at fault.
    """
    path = root / SETTINGS_FILE
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise FormatError(f"cannot be read: {e}", path=SETTINGS_FILE) from None
    settings, problems = read_settings(data)
    if problems:
        raise FormatError(problems[0].message, path=SETTINGS_FILE, field=problems[0].field)
    return settings
