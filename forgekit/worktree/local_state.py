"""What is known on this machine alone: small JSON files in the cache folder, never committed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forgekit.times import Instant
from forgekit.worktree.roots import cache_dir

OPENED, MAINTAINED = "opened.json", "maintain.json"
MOST_OPENED = 5_000
"""Notes that are remembered: those opened last."""


def read(root: Path, name: str) -> dict[str, Any]:
    """Return what a file holds; nothing where that cannot be read."""
    return read_json(cache_dir(root) / name)


def write(root: Path, name: str, data: Mapping[str, Any]) -> None:
    """Replace a file at once; where nothing can be written, it stays."""
    with contextlib.suppress(OSError):
        write_json(cache_dir(root) / name, data)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a file holds; nothing where that cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        data = json.loads(path.read_text(encoding="utf-8"))
        return data if isinstance(data, dict) else {}
    return {}


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Replace a file at once; raises OSError."""
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(data), encoding="utf-8")
    part.replace(path)


def opened(root: Path) -> dict[str, Instant]:
    """Return when each note was last opened, by id."""
    return {key: Instant(at) for key, at in read(root, OPENED).items() if isinstance(at, int)}


def record_opening(root: Path, note: str, now: Instant) -> None:
    """Remember that a note was opened."""
    every = sorted({**opened(root), note: now}.items(), key=lambda item: (item[1], item[0]))
    write(root, OPENED, dict(every[-MOST_OPENED:]))
