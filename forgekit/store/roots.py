"""Where things are: the registry's root, git's own folders, the cache.

Pure path finding by the rules of gitrepository-layout(5), so that a command that only reads the cache
starts no git and loads no library.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from forgekit.errors import NoRegistryError, RepositoryError

SETTINGS_FILE = "forgekit.toml"
_POINTER_LIMIT = 4096  # bytes read of a `.git` file: one path


def find_root(start: Path, env: Mapping[str, str]) -> Path:
    """Return the registry's root: `FORGEKIT_ROOT`, else the nearest parent with a `forgekit.toml`.

    Raises NoRegistryError.
    """
    named = env.get("FORGEKIT_ROOT")
    base = start.absolute()
    if named:
        base = base / named
        if (base / SETTINGS_FILE).is_file():
            return base.resolve()
        raise NoRegistryError(str(base))
    for folder in (base, *base.parents):
        if (folder / SETTINGS_FILE).is_file():
            return folder.resolve()
    raise NoRegistryError(str(base))


def work_tree(root: Path) -> Path:
    """Return the folder at or above `root` that holds `.git`.

    Raises RepositoryError outside a work tree.
    """
    base = root.resolve()
    for folder in (base, *base.parents):
        if (folder / ".git").exists():
            return folder
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
            raise RepositoryError(
                f"{folder} is a bare git repository; clone it and run this in the clone, where files are"
            )
    raise RepositoryError(f"{base} is in no git repository; run `git init` there first")


def git_dirs(root: Path) -> tuple[Path, Path]:
    """Return the work tree's own git folder and the one that all its work trees share.

    Raises RepositoryError outside git.
    """
    dot_git = work_tree(root) / ".git"
    git_dir = dot_git
    if dot_git.is_file():
        pointer = _first_line(dot_git)
        if not pointer.startswith("gitdir:"):
            raise RepositoryError(f"{dot_git} names no git folder; make the work tree again")
        git_dir = (dot_git.parent / pointer.removeprefix("gitdir:").strip()).resolve()
    if not (git_dir / "HEAD").exists():
        raise RepositoryError(f"{git_dir} is not a git folder; run `git init`, or make the work tree again")
    commondir = git_dir / "commondir"
    common = (git_dir / _first_line(commondir)).resolve() if commondir.is_file() else git_dir
    return git_dir, common


def cache_dir(root: Path) -> Path:
    """Return the folder of everything that can be rebuilt, and of forgekit's locks; it need not exist."""
    return git_dirs(root)[1] / "forgekit"


def worktree_key(root: Path) -> str:
    """Return the name under which the cache keeps what belongs to one work tree."""
    git_dir, common = git_dirs(root)
    return "main" if git_dir == common else f"worktree-{git_dir.name}"


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_POINTER_LIMIT).decode("utf-8", "surrogateescape").split("\n", 1)[0].strip()
