"""The notices that sessions of coding agents had already: a small file for each, below the cache folder."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import NamedTuple

from forgekit.worktree.local_state import read_json, write_json
from forgekit.worktree.roots import sessions_dir

_MOST_FILES, _MOST_SESSIONS = 500, 200


class Session(NamedTuple):
    """The notices that one session had.

    Attributes:
        files: those whose governing decisions it was shown.
        reminded: that statements of it wait for a review.
        kept: bytes of its transcript when what happened in it was kept last.
    """

    files: tuple[str, ...] = ()
    reminded: bool = False
    kept: int = 0

    def with_file(self, path: str) -> Session:
        """Return it with one file more; the oldest are forgotten."""
        return self._replace(files=(*self.files, path)[-_MOST_FILES:])

    def with_reminder(self) -> Session:
        """Return it as one that was reminded."""
        return self._replace(reminded=True)


def read(root: Path | None, session: str) -> Session:
    """Return the notices that a session had; none where that is not known."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        data = read_json(_path(root, session))
        return Session(tuple(map(str, data["files"])), data["reminded"] is True, int(data.get("kept", 0)))
    return Session()


def write(root: Path | None, session: str, had: Session) -> None:
    """Keep the notices that a session had, and forget the sessions that were written longest ago."""
    path = _path(root, session)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, had._asdict())
    old = sorted(path.parent.glob("*.json"), key=lambda each: each.stat().st_mtime)[:-_MOST_SESSIONS]
    for each in old:
        each.unlink(missing_ok=True)


def _path(root: Path | None, session: str) -> Path:
    name = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return sessions_dir(root) / f"{name}.json"
