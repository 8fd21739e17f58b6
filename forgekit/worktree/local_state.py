"""What is known on this machine alone: small JSON files in the cache folder, never committed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from forgekit.times import Instant
from forgekit.worktree.roots import cache_dir, sessions_dir

OPENED, MAINTAINED, INJECTED, GONE = "opened.json", "maintain.json", "injected.json", "gone.json"
ENDED = "ended"
STATED = "stated.json"
"""The conventions that became active at once and no session knows of yet, with their projects."""
QUEUE = "queue"
"""The folder of the transcripts that wait to be ingested."""
MOST_OPENED = 5_000
"""Notes that are remembered: those opened last."""
MOST_INJECTED = 100
"""Memory files whose injection is remembered."""
MOST_FOLDERS = 100
"""Folders of notes of which it is remembered which files are gone, and of transcripts."""
_MOST_FILES, _MOST_SESSIONS = 500, 200


def read(root: Path, name: str) -> dict[str, Any]:
    """Return what a file holds; nothing where that cannot be read."""
    return read_json(cache_dir(root) / name)


def write(root: Path, name: str, data: Mapping[str, Any]) -> None:
    """Replace a file at once; where nothing can be written, it stays."""
    with contextlib.suppress(OSError):
        write_json(cache_dir(root) / name, data)


def path_hash(path: Path) -> str:
    """Return the name under which a file of another place is kept."""
    return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a file holds; nothing where that cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        data = json.loads(path.read_text(encoding="utf-8"))
        return data if isinstance(data, dict) else {}
    return {}


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Replace a file, which only its owner can read, at once; raises OSError."""
    part = path.with_suffix(f".{os.getpid()}")
    part.touch(mode=0o600)
    part.write_text(json.dumps(data), encoding="utf-8")
    part.replace(path)


def make_private(folder: Path) -> None:
    """Make a folder that only its owner can enter; another's stays as it is."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(PermissionError):
        folder.chmod(0o700)


def opened(root: Path) -> dict[str, Instant]:
    """Return when each note was last opened, by id."""
    return {key: Instant(at) for key, at in read(root, OPENED).items() if isinstance(at, int)}


def record_openings(root: Path, notes: Mapping[str, Instant]) -> None:
    """Remember when notes were opened; an earlier time than the known one changes nothing."""
    known = opened(root)
    every = known | {key: max(at, known.get(key, at)) for key, at in notes.items()}
    if every != known:
        latest = sorted(every.items(), key=lambda item: (item[1], item[0]))[-MOST_OPENED:]
        write(root, OPENED, dict(latest))


def record_gone(root: Path, folder: Path, notes: Iterable[str]) -> set[str]:
    """Remember the notes of a folder whose files are gone, and return those whose files were there before."""
    every, gone = read(root, GONE), sorted(notes)
    known: Any = every.pop(name := str(folder.resolve()), [])
    if gone != known:
        write(root, GONE, dict([*every.items(), (name, gone)][-MOST_FOLDERS:]))
    return {key for key in gone if not isinstance(known, list) or key not in known}


def is_injected(root: Path, target: Path, project: str, state: str | None) -> bool:
    """Say whether a memory file, and what was written with it, are as they were left at a known state."""
    known: Any = read(root, INJECTED).get(str(target))
    with contextlib.suppress(TypeError, LookupError, AttributeError):
        return known["state"] == f"{state} {project}" and all(
            _hash(path) == one for path, one in known["files"].items()
        )
    return False


def record_injection(root: Path, target: Path, project: str, state: str, files: Iterable[Path]) -> None:
    """Remember the content of the files that conventions were written into, at a state of the registry."""
    every = read(root, INJECTED)
    every.pop(str(target), None)
    every[str(target)] = {"state": f"{state} {project}", "files": {str(path): _hash(path) for path in files}}
    write(root, INJECTED, dict([*every.items()][-MOST_INJECTED:]))


def _hash(path: Path | str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def unfiled(root: Path) -> list[str]:
    """Return why each transcript that hooks noted could not be ingested."""
    rows = map(read_json, sorted((cache_dir(root) / QUEUE).glob("*.json")))
    return [str(row["failed"]) for row in rows if "failed" in row]


class SessionNotices(NamedTuple):
    """The notices that one session had.

    Attributes:
        files: those whose governing decisions it was shown.
        reminded: that statements of it wait for a review.
        kept: bytes of its transcript when what happened in it was kept last.
        unmapped: that nothing names the project of its folder.
    """

    files: tuple[str, ...] = ()
    reminded: bool = False
    kept: int = 0
    unmapped: bool = False


def notices_of(root: Path | None, session: str) -> SessionNotices:
    """Return the notices that a session had; none where that is not known."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        data = read_json(_notices_path(root, session))
        return SessionNotices(
            tuple(map(str, data["files"])),
            data["reminded"] is True,
            int(data.get("kept", 0)),
            data.get("unmapped") is True,
        )
    return SessionNotices()


def record_notices(root: Path | None, session: str, had: SessionNotices) -> None:
    """Keep the notices that a session had, of the last files, and forget the sessions written longest ago."""
    path = _notices_path(root, session)
    make_private(path.parent)
    write_json(path, had._replace(files=had.files[-_MOST_FILES:])._asdict())
    old = sorted(path.parent.glob("*.json"), key=lambda each: each.stat().st_mtime)[:-_MOST_SESSIONS]
    for each in old:
        each.unlink(missing_ok=True)


def _notices_path(root: Path | None, session: str) -> Path:
    name = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return sessions_dir(root) / f"{name}.json"


def ended(root: Path | None) -> dict[str, str]:
    """Return the transcript whose session ended last, by name, of each folder of transcripts."""
    return {folder: str(name) for folder, name in read_json(sessions_dir(root) / ENDED).items()}


def record_end(root: Path | None, transcript: Path) -> None:
    """Remember that the session of a transcript ended."""
    path, every = sessions_dir(root) / ENDED, ended(root)
    every.pop(folder := str(transcript.parent), None)
    make_private(path.parent)
    write_json(path, dict([*every.items(), (folder, transcript.name)][-MOST_FOLDERS:]))
