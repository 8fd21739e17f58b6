"""The journal: what a write is about to do, on disk before it does it, so that the next writer can undo it.

It may have come with a received folder, and it names files: what no write of ours could name is refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from forgekit.git.commits import sync_folder
from forgekit.git.repository import Repository
from forgekit.store.roots import worktree_key

_OBJECT = re.compile(r"[0-9a-f]{40}")
_REF = re.compile(r"HEAD|refs/[^\x00-\x20~^:?*\[\\\x7f]{1,500}")
_AWAY = re.compile(r"/(?:\.{0,2}|\.git)/|[\x00\\]", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One file of a commit, and blob ids; None for no file.

    Attributes:
        old: at the tip.
        before: in the work tree, when the commit was decided.
        staged: in the index, then.
        new: to be, in all three.
    """

    path: str
    old: str | None
    before: str | None
    staged: str | None
    new: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Publication:
    """What is to come into force.

    Attributes:
        prefix: of the registry, as of its `Repository`: one work tree may hold several.
        ref: the branch, or `HEAD`.
        parent: its tip before; None on a branch without commits.
        commit: its tip after.
    """

    prefix: str
    ref: str
    parent: str | None
    commit: str
    subject: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """The files that one work tree's writes use beside git's own."""

    journal: Path
    index: Path
    lock: Path

    @classmethod
    def of(cls, repository: Repository) -> Places:
        """Return the files of a repository's work tree."""
        cache, key = repository.common_dir / "forgekit", worktree_key(repository.root)
        return cls(cache / f"journal-{key}.json", cache / f"index-{key}", repository.git_dir / "index.lock")

    def owned(self) -> bool:
        """Say whether the index's lock is a journal of this work tree, whatever became of its first name."""
        with contextlib.suppress(FileNotFoundError):
            if self.journal.samefile(self.lock):
                return True
        try:
            read_journal(self.lock)
        except (OSError, KeyError, TypeError, ValueError):
            return False
        return True


def write_journal(path: Path, publication: Publication) -> None:
    """Write it so that it is there whole, or not at all, even after a loss of power."""
    beside = path.with_suffix(".new")
    with beside.open("w", encoding="utf-8") as file:
        json.dump(asdict(publication), file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_folder(path.parent)


def read_journal(path: Path) -> Publication:
    """Read what a write said that it was about to do.

    Raises KeyError, TypeError or ValueError for a journal that is damaged, FileNotFoundError.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    publication = Publication(**{**data, "steps": tuple(Step(**step) for step in data["steps"])})
    _require_ours(publication)
    return publication


def _require_ours(publication: Publication) -> None:
    """Refuse a journal that no write of ours wrote: it may have come with the folder, and it names files.

    Raises TypeError or ValueError.
    """
    blobs = [name for s in publication.steps for name in (s.old, s.before, s.staged, s.new)]
    objects = [name for name in (*blobs, publication.parent) if name is not None]
    sound = (
        all(_OBJECT.fullmatch(name) for name in (*objects, publication.commit))
        and _REF.fullmatch(publication.ref)
        and ".." not in publication.ref
        and not any(_AWAY.search(f"/{publication.prefix}{step.path}/") for step in publication.steps)
    )
    if not sound:
        raise ValueError("names what no write could")
