"""What git calls to merge one file of the registry: `forgekit merge-driver %O %A %B %P`.

It is the same merge that `forgekit sync` does, byte for byte. git passes names of temporary files, and
the path as a name to speak of: nothing is read or written at that path.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from forgekit import console
from forgekit.errors import FormatError
from forgekit.git.driver import CHOOSE
from forgekit.ids import EntityId
from forgekit.merge.conflicting_edits import sentence
from forgekit.merge.merge import MergedFile, merge_file
from forgekit.model.kinds import Kind
from forgekit.worktree.files import entity_of_path
from forgekit.worktree.roots import git_program

_LARGE = 2_000_000


def merge_driver(base: Path, ours: Path, theirs: Path, path: str) -> int:
    """Merge one file and leave the result in `ours`; exit status 64 where a person has something to choose.

    Args:
        base: holds the common ancestor, or nothing.
        ours: holds this side.
        theirs: holds the other side.
        path: where the file lies below the top of the work tree.

    A file that is no entity's, or that cannot be merged by fields, is merged line by line as git does.
    """
    owner = _owner(path)
    if owner is None:
        return _by_lines(base, ours, theirs)
    try:
        merged = _merged(owner, base, ours, theirs)
    except FormatError as e:
        console.info(f"{path}: {e}; merged line by line")
        return _by_lines(base, ours, theirs)
    for conflict in merged.conflicts:
        console.info(f"{path}: {sentence(owner[0], conflict)}")
    if merged.data is not None:
        beside = ours.with_name(f"{ours.name}.new")
        beside.write_bytes(merged.data)
        beside.replace(ours)  # last and at once: git merges what a failure leaves here line by line
    return CHOOSE if merged.conflicts else 0


def _merged(owner: tuple[Kind, EntityId], base: Path, ours: Path, theirs: Path) -> MergedFile:
    # git hands an empty file where there is no ancestor.
    return merge_file(*owner, _read(base) or None, _read(ours), _read(theirs))


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LARGE)  # what is longer than an entity may be is refused by its length


def _owner(path: str) -> tuple[Kind, EntityId] | None:
    """Return whose file a path is, wherever below the work tree's top the registry lies."""
    names = path.split("/")
    found = (entity_of_path("/".join(names[at:])) for at in range(len(names)))
    return next((owner for owner in found if owner is not None), None)


def _by_lines(base: Path, ours: Path, theirs: Path) -> int:
    command = [git_program(), "merge-file", "-L", "ours", "-L", "base", "-L", "theirs"]
    names = [os.path.abspath(name) for name in (ours, base, theirs)]  # noqa: PTH100 - as git named them
    done = subprocess.run([*command, *names], capture_output=True, check=False)  # noqa: S603 - fixed, no shell
    return CHOOSE if done.returncode else 0
