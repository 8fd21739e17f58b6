"""What may be wrong around a registry: git, identity, cache, locks. Each finding says what to do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forgekit.catalogue.catalogue import engine
from forgekit.embedding.encoder import Missing
from forgekit.errors import ForgeError, RepositoryError
from forgekit.forge import Forge
from forgekit.git.repository import Repository
from forgekit.store.roots import cache_dir
from forgekit.store.settings import load_settings

LOCK_SECONDS = 60
"""A lock older than this has probably been left behind."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        subject: in one or two words.
        good: whether it is as it should be.
        message: how it is.
        advice: what to do, or "".
    """

    subject: str
    good: bool
    message: str
    advice: str = ""


def diagnose(root: Path) -> list[Finding]:
    """Look at everything around the registry at a root."""
    return [*_git(root), _settings(root), *_cache(root), _fts5(), *_model(root), _files(root)]


def _git(root: Path) -> Iterator[Finding]:
    try:
        repository = Repository(root)
        head = repository.head()
    except RepositoryError as e:
        yield Finding(subject="git", good=False, message=str(e))
        return
    kind = "linked work tree" if repository.git_dir != repository.common_dir else "work tree"
    where = f"{kind} at {repository.top}, on {head.ref.removeprefix('refs/heads/')}"
    yield Finding(subject="git", good=True, message=where if head.commit else f"{where}, without commits")
    try:
        who = repository.identity("COMMITTER")
    except RepositoryError as e:
        yield Finding(subject="identity", good=False, message=str(e))
    else:
        yield Finding(subject="identity", good=True, message=f"{who.name} <{who.email}>")
    lock = repository.git_dir / "index.lock"
    if lock.exists():
        age = int(time.time() - lock.stat().st_mtime)
        yield Finding(
            subject="index.lock",
            good=age < LOCK_SECONDS,
            message=f"{lock} is {age} seconds old",
            advice="" if age < LOCK_SECONDS else f"if no git command is running, delete {lock}",
        )
    else:
        yield Finding(subject="index.lock", good=True, message="no lock is held")


def _settings(root: Path) -> Finding:
    try:
        load_settings(root)
    except ForgeError as e:
        return Finding(subject="settings", good=False, message=str(e), advice="mend forgekit.toml")
    return Finding(subject="settings", good=True, message="forgekit.toml can be read")


def _cache(root: Path) -> Iterator[Finding]:
    try:
        cache = cache_dir(root)
    except RepositoryError:
        return
    place = next(p for p in (cache, *cache.parents) if p.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        advice = "make it writable; until then every command reads all files"
        yield Finding(subject="cache", good=False, message=f"{place} cannot be written", advice=advice)
        return
    size = sum(f.stat().st_size for f in cache.rglob("*") if f.is_file()) if cache.exists() else 0
    message = f"{cache}, {size / 1e6:.1f} MB; it can be deleted at any time"
    yield Finding(subject="cache", good=True, message=message)


def _fts5() -> Finding:
    version, found = engine()
    if not found:
        advice = "use a Python whose sqlite3 has FTS5"
        return Finding(subject="search", good=False, message=f"SQLite {version} has no FTS5", advice=advice)
    return Finding(subject="search", good=True, message=f"SQLite {version} with FTS5")


def _model(root: Path) -> Iterator[Finding]:
    forge = Forge.open(root)
    try:
        vectors = forge.vectors
        if isinstance(forge.encoder, Missing):
            # Without a model a search is by words; one that somebody asked for must be there.
            good, missing = forge.settings.model is None, forge.encoder
            yield Finding(subject="model", good=good, message=missing.reason, advice=missing.hint)
    except ForgeError:
        return  # said of git or of the settings
    if vectors is not None:
        state = vectors.status()
        size = f"{state.count:,} vectors ({state.kind}), {state.size / 1e6:.1f} MB"
        yield Finding(subject="model", good=True, message=f"{state.model}, {size}")


def _files(root: Path) -> Finding:
    try:
        problems = Forge.open(root).registry().problems
    except ForgeError as e:
        return Finding(subject="files", good=False, message=str(e))
    paths = sorted({problem.path for problem in problems})
    if not paths:
        return Finding(subject="files", good=True, message="every file can be read")
    named = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
    message = f"{len(paths)} cannot be read: {named}"
    return Finding(subject="files", good=False, message=message, advice="run `forgekit check`")
