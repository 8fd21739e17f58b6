"""What git calls to merge one file of the registry: `forgekit merge-driver %O %A %B %P`.

It is the same merge that `forgekit sync` does, byte for byte. git passes names of temporary files, and
the path as a name to speak of: nothing is read or written at that path.
"""

from __future__ import annotations

from pathlib import Path

from forgekit import console
from forgekit.errors import FormatError
from forgekit.git.driver import CHOOSE
from forgekit.merge.conflicting_edits import sentence
from forgekit.merge.merge import merge_file
from forgekit.worktree.files import entity_of_path

_LARGE = 2_000_000
_BY_LINES = 255
"""Exit status after which the registered command merges line by line, and git by itself merges nothing."""


def merge_driver(base: Path, ours: Path, theirs: Path, path: str) -> int:
    """Merge one file and leave the result in `ours`; exit status 64 where a person has something to choose.

    Args:
        base: holds the common ancestor, or nothing.
        path: where the file lies below the top of the work tree.

    Exit status 255 asks for a merge line by line, of a file that is no entity's or cannot be read as one.
    """
    names = path.split("/")
    owners = (entity_of_path("/".join(names[at:])) for at in range(len(names)))  # the registry may lie below
    owner = next((owner for owner in owners if owner is not None), None)
    if owner is None:
        return _BY_LINES
    try:
        # git hands an empty file where there is no ancestor.
        merged = merge_file(*owner, _read(base) or None, _read(ours), _read(theirs))
    except FormatError as e:
        console.info(f"{path}: {e}; merged line by line")
        return _BY_LINES
    for conflict in merged.conflicts:
        console.info(f"{path}: {sentence(owner[0], conflict)}")
    if merged.data is not None:
        beside = ours.with_name(f"{ours.name}.new")
        beside.write_bytes(merged.data)
        beside.replace(ours)  # last and at once: git merges what a failure leaves here line by line
    return CHOOSE if merged.conflicts else 0


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LARGE)  # what is longer than an entity may be is refused by its length
