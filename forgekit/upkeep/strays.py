"""Registry files at the wrong path: which entity each holds, where it belongs, and moving it back."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

from forgekit.checks.list import check as run_checks
from forgekit.errors import FormatError, NotFoundError, StoreError
from forgekit.forge import Forge
from forgekit.git.repository import Repository
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import Kind
from forgekit.model.problem import Problem
from forgekit.model.registry import Registry
from forgekit.text import codec, frontmatter
from forgekit.worktree import files

_OF_ITSELF = frozenset({"id-derivation", "edited-in-place", "archive-changed"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """A file that is to go back to the path of the entity it holds.

    Attributes:
        path: where it lies.
        home: where it belongs; nothing is there.
        data: its bytes.
        committed: whether the last commit has it at `path`.
    """

    path: str
    home: str
    data: bytes
    committed: bool


def named(forge: Forge, problem: Problem) -> Iterator[Problem]:
    """Say of a stray or misplaced file which entity it holds and where that belongs.

    A folder that the registry has no place for is replaced by the files in it.
    """
    place = forge.root / problem.path
    if problem.code == "stray-file" and place.is_dir() and not place.is_symlink():
        inner = sorted(path for path in place.rglob("*") if path.is_file() or path.is_symlink())
        for path in inner:
            yield _stray(forge, replace(problem, path=path.relative_to(forge.root).as_posix()))
        if not inner:
            yield problem
    elif problem.code in {"stray-file", "misplaced"}:
        yield _stray(forge, problem)
    else:
        yield problem


def _stray(forge: Forge, problem: Problem) -> Problem:
    entity = entity_in(forge, problem.path)
    if entity is None:
        return problem
    home = entity_path(entity)
    message = f"holds {entity.id}, whose place is {home}"
    if (forge.root / home).exists():
        same_name = unicodedata.normalize("NFC", problem.path).casefold() == home
        return replace(
            problem,
            code="twin" if same_name else "duplicate-id",
            message=f"{message}, and a file is there",
            fix="keep what is right in that file, and delete this one",
        )
    if move_of(forge, problem.path) is None:
        return replace(problem, code="misplaced", message=message, fix="restore its id, or move it there")
    fix = f"`forgekit check --fix` moves it to {home}"
    return replace(problem, code="misplaced", message=message, fix=fix, fixable=True)


def move_of(forge: Forge, path: str) -> Move | None:
    """Return how a misplaced file goes back to its place.

    None where something is there, where the entity has faults of its own, or where the last commit has
    another sound entity at the path: then the file was overwritten or its id edited, not moved.
    """
    entity = entity_in(forge, path)
    if entity is None or (forge.root / entity_path(entity)).exists():
        return None
    home, data = entity_path(entity), files.read_bytes(forge.root, path) or b""
    before = committed(forge.store.repository, path)
    if not sound(home, data) or (before is not None and sound(path, before)):
        return None
    return Move(path=path, home=home, data=data, committed=before is not None)


def place_moved(forge: Forge, move: Move) -> None:
    """Move a file in the work tree, and in the index where it is staged.

    Raises WriteError, RepositoryError.
    """
    repository = forge.store.repository
    files.stage(forge.root, move.home, move.data, "move")
    files.place(forge.root, move.home, "move")
    files.remove(forge.root, move.path)
    files.settle(forge.root, (move.home, move.path))
    staged = repository.run("ls-files", "--stage", "-z", "--", move.path).decode().partition(" 0\t")[0]
    if staged:
        # Not `git mv`, which may run the clone's filters.
        rows = f"0 {'0' * 40}\t{repository.prefix}{move.path}\0{staged}\t{repository.prefix}{move.home}\0"
        repository.run("-C", str(repository.top), "update-index", "-z", "--index-info", stdin=rows.encode())


def entity_in(forge: Forge, path: str) -> Entity | None:
    """Return the entity that a file holds, wherever the file is."""
    try:
        text = frontmatter.decode(files.read_bytes(forge.root, path) or b"")
        given = frontmatter.read(text)[0]
    except FormatError:
        return None
    for kind in sorted(Kind, key=lambda kind: kind is Kind.PROJECT):  # every kind names its project's id
        if kind.id_field in given:
            try:
                return codec.loads(kind, text)
            except FormatError:
                return None
    return None


def committed(repository: Repository, path: str) -> bytes | None:
    """Return the bytes of a file at the last commit."""
    try:
        tip = repository.tip()
        return None if tip is None else repository.read_at(tip, path)
    except (NotFoundError, StoreError):
        return None


def sound(path: str, data: bytes) -> bool:
    """Say whether bytes are those of the entity that a path is for, with nothing wrong in themselves."""
    try:
        entity, _ = files.parse(path, data)
    except FormatError:
        return False
    return not any(problem.code in _OF_ITSELF for problem in run_checks(Registry.of([entity])))
