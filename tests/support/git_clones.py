"""Helpers of the tests that merge: a registry to begin with, a commit, and what a tip holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pygit2

from forgekit.forge import Forge
from forgekit.model.entities import Entity
from forgekit.store import Change
from forgekit.upkeep.init_migrate import initialise


def template(folder: Path, entities: Sequence[Entity]) -> Path:
    """Make a registry that holds some entities."""
    initialise(folder)
    record(folder, *entities)
    return folder


def record(root: Path, *entities: Entity) -> None:
    """Commit entities as they are."""
    change = Change(writes=entities, subject="edit: by a test", trailers=(("Forgekit-Op", "edit"),))
    Forge.open(root).store.commit(lambda: change)


def tree(root: Path) -> str:
    """Return the id of everything that a clone's tip holds."""
    return str(pygit2.Repository(str(root)).head.peel(pygit2.Tree).id)
