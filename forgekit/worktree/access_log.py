"""When notes were last opened on this machine: one small file in the cache folder, never committed."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from forgekit.times import Instant
from forgekit.worktree.roots import cache_dir

MOST = 5_000
"""Notes that are remembered: those opened last."""


def read(root: Path) -> dict[str, Instant]:
    """Return when each note was last opened, by id; nothing where that is not known."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        data = json.loads(_path(root).read_text(encoding="utf-8"))
        return {str(key): Instant(int(at)) for key, at in data.items()}
    return {}


def record(root: Path, note: str, now: Instant) -> None:
    """Remember that a note was opened; where nothing can be written, it is not."""
    opened = {**read(root), note: now}
    kept = sorted(opened.items(), key=lambda item: (item[1], item[0]))[-MOST:]
    part = _path(root).with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        part.write_text(json.dumps(dict(kept)), encoding="utf-8")
        part.replace(_path(root))


def _path(root: Path) -> Path:
    return cache_dir(root) / "opened.json"
