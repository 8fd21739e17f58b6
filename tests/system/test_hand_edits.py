"""What somebody left uncommitted is never overwritten and never swept into a commit (G13)."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from damage_cases import COLUMNS, LATER, ROWS, TALK, THREAD, make, path_of
from guarantees import Level, Report
from repositories import git

from forgekit import decisions, threads
from forgekit.errors import DirtyFileError, ForgeError
from forgekit.forge import Forge
from forgekit.model.entities import Entity, entity_path

ENTITIES: tuple[Entity, ...] = (ROWS, COLUMNS, THREAD, TALK, LATER)
WAYS = (
    "edited",
    "edited and staged",
    "staged and edited on",
    "staged alone",
    "deleted",
    "deleted and staged",
    "junk",
)


def dirty(root: Path, entity: Entity, way: str) -> None:
    """Leave uncommitted work in an entity's file."""
    path, name = path_of(root, entity), entity_path(entity)
    before = path.read_bytes()
    if way.startswith("deleted"):
        path.unlink()
    else:
        path.write_bytes(b"no entity\n" if way == "junk" else before + b"\n## Rationale\n\nMine.\n")
    if "staged" in way:
        git(root, "add", "--all", "--", name)
    if way == "staged and edited on":
        path.write_bytes(path.read_bytes() + b"\nAnd more.\n")
    elif way == "staged alone":
        path.write_bytes(before)


def write(root: Path, entity: Entity, rng: random.Random) -> str | ForgeError:
    """Change an entity by a command of the interface, and return its commit, or why there is none."""
    forge = Forge.open(root)
    try:
        if entity is THREAD:
            written = threads.update(forge, THREAD.id, "open")
        elif rng.random() < 0.5:
            written = decisions.invalidate(forge, entity.id, "It is over")
        else:
            written = decisions.revise(forge, entity.id, f"Something else {rng.random()}")
    except ForgeError as e:
        return e
    assert written.outcome.commit is not None
    return written.outcome.commit


def entry(root: Path, name: str) -> list[str]:
    return [line for line in git(root, "ls-files", "--stage").splitlines() if line.endswith(name)]


def others(root: Path, *but: str) -> dict[str, bytes]:
    """Return the files of the work tree."""
    found = (path for top in ("registry", "archives") for path in (root / top).rglob("*") if path.is_file())
    named = {path.relative_to(root).as_posix(): path.read_bytes() for path in found}
    return {name: data for name, data in named.items() if name not in but}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("edits") / "registry")


def test_hand_edits_stay(base: Path, tmp_path: Path, level: Level, guarantee: Report) -> None:
    number = level.pick(28, 200)
    refused = written = 0
    for case in range(number):
        rng = level.random(f"hand edit {case}")
        root = Path(shutil.copytree(base, tmp_path / str(case)))
        edited, way = rng.choice(ENTITIES), WAYS[case % len(WAYS)]
        target = rng.choice([e for e in (ROWS, COLUMNS, THREAD) if e is not edited or way != "junk"])
        if rng.random() < 0.5 and edited in (ROWS, COLUMNS, THREAD):
            target = edited
        dirty(root, edited, way)
        tip, files = git(root, "rev-parse", "HEAD"), others(root)
        index = git(root, "ls-files", "--stage")
        name = entity_path(edited)
        done = write(root, target, rng)
        if isinstance(done, ForgeError):
            assert target is edited, (case, way)
            if isinstance(done, DirtyFileError):
                assert done.paths == (name,)
            else:  # nobody can change what is gone or cannot be read
                assert way in {"deleted", "deleted and staged", "junk"}, (case, way)
            assert (git(root, "rev-parse", "HEAD"), others(root)) == (tip, files)
            assert git(root, "ls-files", "--stage") == index
            refused += 1
        else:
            assert target is not edited, (case, way)
            paths = git(root, "diff", "--name-only", f"{done}~1", done).split()
            assert name not in paths
            assert others(root, *paths) == {n: data for n, data in files.items() if n not in paths}
            assert entry(root, name) == [line for line in index.splitlines() if line.endswith(name)]
            written += 1
        shutil.rmtree(root)
    assert refused
    assert written
    figure = f"{number} cases: {refused} refused by name, {written} written beside the edit, 0 edits lost"
    guarantee("G13", "uncommitted work is neither overwritten nor committed", figure)
