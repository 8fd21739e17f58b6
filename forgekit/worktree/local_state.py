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
    with contextlib.suppress(OSError, ValueError):
        data = json.loads((cache_dir(root) / name).read_text(encoding="utf-8"))
        return data if isinstance(data, dict) else {}
    return {}


def write(root: Path, name: str, data: Mapping[str, Any]) -> None:
    """Replace a file at once; where nothing can be written, it stays."""
    path = cache_dir(root) / name
    part = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        part.write_text(json.dumps(data), encoding="utf-8")
        part.replace(path)


def opened(root: Path) -> dict[str, Instant]:
    """Return when each note was last opened, by id."""
    return {key: Instant(at) for key, at in read(root, OPENED).items() if isinstance(at, int)}


def record_opening(root: Path, note: str, now: Instant) -> None:
    """Remember that a note was opened."""
    every = sorted({**opened(root), note: now}.items(), key=lambda item: (item[1], item[0]))
    write(root, OPENED, dict(every[-MOST_OPENED:]))
