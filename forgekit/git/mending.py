"""Mending git's own files: for each kind of damage that `health` finds, what can be done about it.

A mending is a sentence and a function that does it. None is returned where no copy of what was lost is here,
or where a person must choose. Nothing is taken away that the caller has not saved before.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from forgekit.errors import FormatError, RepositoryError
from forgekit.git import health
from forgekit.git.publish import Places
from forgekit.git.repository import Repository, blob_of
from forgekit.model.problem import Problem
from forgekit.worktree import files
from forgekit.worktree.roots import TOPS, work_tree

Mending = tuple[str, Callable[[], None]]

_MOVED = re.compile(r"checkout: moving from \S+ to (\S+)$", re.MULTILINE)
_DANGLING = re.compile(r"^dangling commit ([0-9a-f]{40})$", re.MULTILINE)


def mending(root: Path, problem: Problem) -> Mending | None:
    """Return how a problem of git's files can be mended."""
    if problem.code == "broken-head":
        return _head(root)
    place = work_tree(root) / problem.path
    if problem.code == "broken-packed-refs":
        text = place.read_text(encoding="utf-8", errors="replace")
        return "the lines that are no refs are taken out", lambda: _replace(place, health.good_refs(text))
    plan = _PLANS.get(problem.code)
    try:
        return plan(Repository(root), place, problem.path) if plan else None
    except RepositoryError:
        return None


def _head(root: Path) -> Mending | None:
    folder = health.git_folder(root)
    heads = folder / "refs" / "heads"
    names = {p.relative_to(heads).as_posix() for p in heads.rglob("*") if p.is_file() and p.suffix != ".lock"}
    packed = folder / "packed-refs"
    for line in _read(packed).splitlines():
        _, _, ref = line.partition(" refs/heads/")
        names |= {ref} if ref else set()
    moves = [name for name in _MOVED.findall(_read(folder / "logs" / "HEAD")) if name in names]
    choice = moves[-1] if moves else names.pop() if len(names) == 1 else None
    if choice is None:
        return None
    return f"HEAD names the branch {choice} again", lambda: _replace(
        folder / "HEAD", f"ref: refs/heads/{choice}\n"
    )


def _branch(repository: Repository, place: Path, _: str) -> Mending | None:
    ref = place.relative_to(repository.common_dir).as_posix()
    named = _read(place).strip()
    tree = _said(repository, "log", "-1", "--format=%T", named) if named else ""
    if tree and tree in (trees := _trees_of_index(repository)):
        return f"tree {tree[:12]} is made again from the index", lambda: _store(repository, tree, trees[tree])
    commit = next((c for c in _candidates(repository, ref) if _whole(repository, c)), None)
    if commit is None:
        return None

    def act() -> None:
        place.unlink(missing_ok=True)
        repository.run("update-ref", "-m", "doctor: repair", ref, commit)

    return f"{ref} names {commit[:12]} again, the newest commit known whose files are here", act


def _candidates(repository: Repository, ref: str) -> Iterator[str]:
    """Return the commits that a branch may have named, the likeliest first."""
    yield from health.logged(repository, ref)
    if _read(repository.git_dir / "HEAD").strip() == f"ref: {ref}":
        yield from health.logged(repository, "HEAD")
    loose = _DANGLING.findall(repository.attempt("fsck", "--no-reflogs", "--no-progress").stdout.decode())
    if len(loose) == 1:
        yield loose[0]


def _whole(repository: Repository, commit: str) -> bool:
    return not repository.attempt("cat-file", "-e", f"{commit}^{{tree}}").returncode


def _lock(repository: Repository, place: Path, path: str) -> Mending:
    def act() -> None:
        if any(problem.path == path for problem in health.locks(repository)):
            place.unlink(missing_ok=True)

    return "the lock is taken away", act


def _journal(repository: Repository, place: Path, _: str) -> Mending:
    def act() -> None:
        places = Places.of(repository)
        if places.owned():
            places.lock.unlink()
        places.index.unlink(missing_ok=True)
        place.unlink(missing_ok=True)

    return "the journal is taken away; what the killed write did shows in `git status`", act


def _leftover(repository: Repository, _: Path, path: str) -> Mending:
    return "deleted", lambda: files.remove(repository.root, path)


def _index(repository: Repository, place: Path, _: str) -> Mending:
    def act() -> None:
        place.unlink(missing_ok=True)
        repository.run("read-tree", "HEAD")  # a refresh would run the clone's filters

    return "the index is made anew from the last commit; what was staged is no longer", act


def _entry(repository: Repository, _: Path, path: str) -> Mending:
    # `git reset` would refresh the whole index, and so run the clone's filters.
    options = ("--quiet", "--staged", "--", path)
    return "the index holds what was committed", lambda: _ran(repository.run("restore", *options))


def _object(repository: Repository, place: Path, _: str) -> Mending | None:
    name = place.parent.name + place.name
    for path, data in _contents(repository.root):
        if blob_of(data) == name:

            def act(data: bytes = data) -> None:
                place.unlink(missing_ok=True)
                repository.run("hash-object", "-w", "--stdin", stdin=data)

            return f"made again from {path}", act
    if place.exists():
        return "the damaged object is taken away", place.unlink
    trees = _trees_of_index(repository)
    if name in trees:
        return "made again from the index", lambda: _store(repository, name, trees[name])
    return None


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    """Return the files of the work tree that may hold what git lost."""
    found = [path for top in TOPS for path in sorted((root / top).rglob("*"))]
    for path in (*found, *(p for p in sorted(root.iterdir()) if p.name != ".git")):
        name = path.relative_to(root).as_posix()
        try:
            data = files.read_bytes(root, name)
        except FormatError:
            continue
        if data is not None:
            yield name, data


def _trees_of_index(repository: Repository) -> dict[str, bytes]:
    """Return the stored form of the trees that the index stands for, as far as git lacks them."""
    with tempfile.TemporaryDirectory() as folder:
        # A copy of the index: git notes in it which trees it wrote.
        copy = Path(folder) / "index"
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(repository.git_dir / "index", copy)
        env = {
            "GIT_INDEX_FILE": str(copy),
            "GIT_OBJECT_DIRECTORY": folder,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repository.common_dir / "objects"),
        }
        if repository.attempt("write-tree", "--missing-ok", env=env).returncode:
            return {}
        return {p.parent.name + p.name: p.read_bytes() for p in Path(folder).glob("??/*")}


def _store(repository: Repository, name: str, data: bytes) -> None:
    place = repository.common_dir / "objects" / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    _replace(place, data)


_PLANS: dict[str, Callable[[Repository, Path, str], Mending | None]] = {
    "broken-branch": _branch,
    "stale-lock": _lock,
    "broken-journal": _journal,
    "leftover-file": _leftover,
    "broken-index": _index,
    "index-differs": _entry,
    "missing-object": _object,
    "corrupt-object": _object,
}


def _said(repository: Repository, *arguments: str) -> str:
    done = repository.attempt(*arguments)
    return "" if done.returncode else done.stdout.decode("utf-8", "replace").strip()


def _ran(_: bytes) -> None:
    """Drop what a command printed."""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _replace(path: Path, data: str | bytes) -> None:
    beside = path.with_name(f"{path.name}.forgekit-new")
    with beside.open("wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
