"""Lock files: how old they are, which process holds them, and which a dead process left behind."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from forgekit.errors import LockedError

DEAD_SECONDS = 60
"""A lock file younger than this is never taken for a dead process's."""

_PROC = Path("/proc")


def running_git(top: Path) -> dict[Path, Path]:
    """Return the git processes that work in a work tree: /proc folder -> working directory."""
    found = {}
    for process in _PROC.iterdir() if _PROC.is_dir() else ():
        with contextlib.suppress(OSError):  # no process, one that ended, or another user's
            if process.name.isdecimal() and (process / "comm").read_bytes().startswith(b"git"):
                where = (process / "cwd").readlink()
                if where.is_relative_to(top):
                    found[process] = where
    return found


def is_dead(lock: Path, top: Path) -> bool:
    """Say whether a lock file of git is left over: old, ours, and no git process works in the work tree."""
    try:
        status = lock.stat()
    except FileNotFoundError:
        return False
    old = time.time() - status.st_mtime >= DEAD_SECONDS
    return old and status.st_uid == os.geteuid() and not running_git(top)


def clear_dead(lock: Path, top: Path) -> None:
    """Delete a lock file of git that `is_dead`."""
    if is_dead(lock, top):
        lock.unlink(missing_ok=True)


def git_lock_error(lock: Path, top: Path) -> LockedError:
    """Return the error for a lock file of git that somebody else holds."""
    return LockedError(str(lock), _age(lock), ", ".join(map(_described, running_git(top))))


def flock_error(path: Path) -> LockedError:
    """Return the error for a file that another process holds by flock(2)."""
    owner = ""
    with contextlib.suppress(OSError):
        inode = str(path.stat().st_ino)
        for line in (_PROC / "locks").read_text(encoding="ascii").splitlines():
            fields = line.split()  # number, FLOCK, ADVISORY, WRITE, process, device:inode, ...
            if len(fields) > 5 and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode:
                owner = _described(_PROC / fields[4])
    return LockedError(str(path), _age(path), owner)


def _age(lock: Path) -> float:
    with contextlib.suppress(OSError):
        return max(time.time() - lock.stat().st_mtime, 0)
    return 0


def _described(process: Path) -> str:
    name = ""
    with contextlib.suppress(OSError):
        name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    return f"process {process.name}" + (f" ({name})" if name else "")
