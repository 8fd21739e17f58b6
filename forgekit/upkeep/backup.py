"""A copy of everything that a repair may touch: the files as they stand, git's own small files, all history.

It lies in `.git/forgekit-backups/`, beside the cache that anybody may delete, under the hash of its content:
so the same state is saved once, and outlives a linked work tree.

    files.tar        forgekit.toml, .gitattributes, registry/, archives/; below git/ HEAD, refs, logs,
                     index, locks, journals and damaged objects; below staged/ what only the index holds
    history.bundle   every branch, as far as git can read it: `git clone history.bundle`
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from forgekit.errors import RepositoryError, WriteError
from forgekit.git import health
from forgekit.git.repository import Repository
from forgekit.model.schema import SETTINGS_FILE
from forgekit.store.roots import TOPS, git_dirs, work_tree

FOLDER = "forgekit-backups"
_OWN = ("HEAD", "config", "index", "packed-refs", "refs", "logs")


def save(root: Path, extra: Iterable[str] = ()) -> Path:
    """Save a copy and return its folder.

    Args:
        root: the registry's root.
        extra: files of git's own that are to be saved too, relative to the work tree's top.

    Raises WriteError; then nothing may be repaired.
    """
    git = health.git_folder(root)
    try:
        data = _tar(root, git, sorted(set(extra)))
        folder = _shared(root) / FOLDER / hashlib.sha256(data).hexdigest()[:16]
        if not (folder / "files.tar").exists():
            folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(RepositoryError):
                _bundle(Repository(root), folder / "history.bundle")
            beside = folder / "files.new"
            beside.write_bytes(data)
            beside.replace(folder / "files.tar")  # last: it says that the copy is whole
    except OSError as e:
        raise WriteError(str(e.filename or git), e.strerror or str(e)) from None
    return folder


def _shared(root: Path) -> Path:
    try:
        return git_dirs(root)[1]
    except RepositoryError:
        return health.git_folder(root)


def unblock(cache: Path) -> None:
    """Move away what stands in the place of the cache folder."""
    if cache.exists() and not cache.is_dir():
        cache.replace(cache.with_name("forgekit-was-no-folder"))


def _bundle(repository: Repository, path: Path) -> None:
    """Write the history, where git can read all of it; git's folder is left as it is anyway."""
    if repository.attempt("bundle", "create", "--quiet", str(path), "--all").returncode:
        path.unlink(missing_ok=True)


def _tar(root: Path, git: Path, extra: Iterable[str]) -> bytes:
    """Return the files as an archive whose bytes follow from their content alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, path in _members(root, git, extra):
            found = tar.gettarinfo(path, name)
            found.mtime, found.uid, found.gid, found.uname, found.gname = 0, 0, 0, "", ""
            if found.issym():
                tar.addfile(found)
                continue
            data = path.read_bytes()
            found.type, found.size, found.linkname = tarfile.REGTYPE, len(data), ""
            tar.addfile(found, io.BytesIO(data))
        for name, data in _staged(root):
            info = tarfile.TarInfo(f"staged/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _members(root: Path, git: Path, extra: Iterable[str]) -> Iterator[tuple[str, Path]]:
    for name in (SETTINGS_FILE, ".gitattributes", *TOPS):
        yield from _below(name, root / name)
    for path in sorted(
        [*(git / name for name in _OWN), *git.glob("*.lock"), *git.glob("forgekit/journal-*")]
    ):
        yield from _below(f"git/{path.relative_to(git).as_posix()}", path)
    for name in extra:
        yield from _below(f"git/{name.removeprefix('.git/')}", work_tree(root) / name)


def _below(name: str, path: Path) -> Iterator[tuple[str, Path]]:
    if path.is_dir() and not path.is_symlink():
        for inner in sorted(path.iterdir()):
            yield from _below(f"{name}/{inner.name}", inner)
    elif path.is_symlink() or path.is_file():
        yield name, path


def _staged(root: Path) -> list[tuple[str, bytes]]:
    try:
        return sorted(Repository(root).staged())
    except (RepositoryError, KeyError):
        return []
