"""Registry files at the wrong path: which entity each holds, where it belongs, and moving it back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forgekit.checks import check as run_checks
from forgekit.errors import FormatError, NotFoundError, StoreError
from forgekit.forge import Forge
from forgekit.model.entities import Entity, entity_path
from forgekit.model.kinds import Kind
from forgekit.model.problem import Problem
from forgekit.model.registry import Registry
from forgekit.text import codec, frontmatter
from forgekit.worktree import files

if TYPE_CHECKING:
    from forgekit.git.repository import Repository

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


def named(forge: Forge, problem: Problem) -> list[Problem]:
    """Return a problem; for a file that holds an entity whose place is empty, say where it belongs.

    A folder that the registry has no place for is looked into.
    """
    if problem.code not in {"stray-file", "misplaced"}:
        return [problem]
    place = forge.root / problem.path
    if not place.is_dir() or place.is_symlink():
        return [_of_entity(forge, problem) or problem]
    inner = sorted(path.relative_to(forge.root).as_posix() for path in place.rglob("*") if path.is_file())
    found = [_of_entity(forge, replace(problem, path=path)) for path in inner]
    moved = [each for each in found if each is not None]
    return moved if moved and len(moved) == len(found) else [problem, *moved]


def _of_entity(forge: Forge, problem: Problem) -> Problem | None:
    entity = entity_in(forge, problem.path)
    if entity is None or "/.git" in problem.path:  # git gives these names a meaning
        return None
    home = entity_path(entity)
    message = f"holds {entity.id}, whose place is {home}"
    if (forge.root / home).exists():
        fix = "keep what is right in that file, and delete this one"
        return replace(problem, code="duplicate-id", fix=fix) if problem.code == "misplaced" else None
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
