"""The four pre-commit hooks, as far as they can be answered without loading anything.

The work is in `forgekit.hooks.commit_checks`; a commit that touches no registry never gets there. git runs
hooks with its own variables set (`GIT_DIR`, `GIT_INDEX_FILE`), which would lead every later git call
astray: they are taken away first, and only the question what is staged is asked with the index they name.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from forgekit.errors import RepositoryError
from forgekit.worktree.roots import TOPS, git_program

_KEPT = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"})
_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
HOOKS = ("check", "conflicts", "stale", "archives")


def run(hook: str, files: Sequence[str], folder: Path) -> int:
    """Run a hook on the named files.

    Args:
        hook: `check` runs every check on the files, and finds who names a removed one. `conflicts` refuses
            decisions that contradict others while the commit holds no record of it. `stale` refuses decisions
            that depend on something that has ended. `archives` refuses archives whose text was changed or
            taken away; pre-commit does not name deleted files.
        files: relative to the folder, as pre-commit names them.
        folder: where git works: the top of the work tree.

    Returns the exit status. Raises ForgeError where a registry cannot be read.
    """
    git = _git(folder, clean_environment())
    rows = _staged_changes(git) if hook in {"check", "archives"} else []
    if hook == "archives":
        rows = [(state, path) for state, path in rows if _has_folder(path, "archives")]
    removed = [path for state, path in rows if state == "D"]
    if not files and not (rows if hook == "archives" else removed):
        return 0
    from forgekit.hooks import commit_checks

    if hook == "check":
        return commit_checks.checks(files, folder, removed=removed)
    if hook == "conflicts":
        return commit_checks.conflicts(files, folder, staged=partial(_staged, git))
    if hook == "stale":
        return commit_checks.stale(files, folder)
    changed = {path: _output(git("cat-file", "blob", f"HEAD:{path}")) for state, path in rows if state != "D"}
    return commit_checks.archives(files, folder, removed=removed, changed=changed)


def clean_environment() -> str | None:
    """Take git's variables out of this process's environment and return the index that they named."""
    index = os.environ.get("GIT_INDEX_FILE")
    for name in [n for n in os.environ if n.startswith("GIT_") and n not in _KEPT]:
        del os.environ[name]
    return index


def _git(folder: Path, index: str | None) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return a function that runs git with the index of the commit; it raises RepositoryError without git."""
    # A folder may call itself a partial clone: git would fetch what it lacks with the folder's own commands.
    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
    if index:
        env["GIT_INDEX_FILE"] = str((folder / index).absolute())

    def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [git_program(), *_OPTIONS, *arguments]
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)  # noqa: S603 - fixed arguments, no shell

    return git


def _output(done: subprocess.CompletedProcess[bytes]) -> bytes:
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip() or "no reason given"
        raise RepositoryError(f"git cannot say what is staged: {reason}")
    return done.stdout


def _staged(git: Callable[..., subprocess.CompletedProcess[bytes]], paths: Sequence[str]) -> set[str]:
    """Return those of some paths that the commit holds.

    Raises RepositoryError when git cannot say.
    """
    listed = _output(git("--literal-pathspecs", "ls-files", "--cached", "-z", "--", *paths))
    return set(os.fsdecode(listed).split("\0")) & set(paths)


def _staged_changes(git: Callable[..., subprocess.CompletedProcess[bytes]]) -> list[tuple[str, str]]:
    """Return state and path of the registry's files that the commit removes (`D`) or changes, and others.

    Raises RepositoryError when git cannot say.
    """
    options = ("--cached", "--name-status", "--no-renames", "--no-ext-diff", "--diff-filter=DMT", "-z")
    listed = git("diff-index", *options, "HEAD", "--")
    if listed.returncode and git("rev-parse", "--verify", "--quiet", "HEAD").returncode:
        return []  # before the first commit there is nothing to change
    parts = os.fsdecode(_output(listed)).split("\0")
    rows = zip(parts[::2], parts[1::2], strict=False)
    return [(state, path) for state, path in rows if path.endswith(".md") and _has_folder(path, *TOPS)]


def _has_folder(path: str, *names: str) -> bool:
    return any(f"/{name}/" in f"/{path}" for name in names)
