"""A registry of 200 sound entities, and the ways into forgekit that a hostile file may come by."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import sample_entities
from repositories import git

from forgekit.model.entities import Entity, entity_path
from forgekit.text import codec

CONVERSATIONS = [sample_entities.conversation(f"talk {n}", n) for n in range(20)]
DECISIONS = [
    sample_entities.decision(
        f"Keep ledger table {n} in its own file", CONVERSATIONS[n % 20], local_id=f"D{n // 20 + 1:03}"
    )
    for n in range(118)
]
THREADS = [sample_entities.thread(f"Who counts ledger {n}?", CONVERSATIONS[n % 20]) for n in range(40)]
ARCHIVES = [
    sample_entities.archive(
        CONVERSATIONS[n], records=(("D001", DECISIONS[n].id),), body=f"# Archive {n}\n\nD001: kept.\n"
    )
    for n in (0, 19)
]
ENTITIES: list[Entity] = [
    sample_entities.PROJECT,
    *CONVERSATIONS,
    *DECISIONS,
    *THREADS,
    *sample_entities.links(*CONVERSATIONS),
    *ARCHIVES,
]
TAG = ARCHIVES[1].compression_tag


def build(root: Path, entities: Sequence[Entity] = ENTITIES) -> Path:
    """Write the 200 entities, or others, and commit them."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet")
    (root / "forgekit.toml").write_text("# settings\n", encoding="utf-8")
    for entity in entities:
        path = root / entity_path(entity)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(codec.dumps(entity), encoding="utf-8")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "start")
    return root


def copy(base: Path, to: Path) -> Path:
    """Return a copy of a registry; the cache is left behind."""
    return Path(shutil.copytree(base, to, symlinks=True, ignore=shutil.ignore_patterns("forgekit")))
