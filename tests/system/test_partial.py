"""A registry that reads what is asked for answers like the whole one."""

from __future__ import annotations

from pathlib import Path

from world import ARCHIVE, PROJECT, A, B, X, Y, conflict, edge, thread

from forgekit.catalogue.catalogue import Catalogue
from forgekit.catalogue.partial import PartialRegistry
from forgekit.ids import BASE, EntityId
from forgekit.model.entity import Entity, entity_path
from forgekit.model.registry import Registry
from forgekit.text.codec import dumps

EVERYTHING: tuple[Entity, ...] = (PROJECT, A, B, X, Y, thread("t", A), edge(A, B), conflict(X, Y), ARCHIVE)


def test_it_answers_like_the_whole_registry(tmp_path: Path) -> None:
    for entity in EVERYTHING:
        path = tmp_path / entity_path(entity)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dumps(entity).encode())
    (tmp_path / "registry" / "stray.md").touch()
    catalogue = Catalogue(tmp_path, tmp_path / "cache")
    catalogue.refresh()
    part, whole = PartialRegistry.over(catalogue), catalogue.registry()
    for entity in EVERYTHING:
        assert part.get(entity.id) == entity
    assert part.get(EntityId(str(BASE))) is None
    assert EntityId(str(BASE)) not in part.entities
    assert len(part.entities) == len(EVERYTHING)
    assert {e.id for e in part} == {e.id for e in whole} == {e.id for e in EVERYTHING}
    assert part.problems == whole.problems
    assert len(part.problems) == 1
    for name in ("projects", "conversations", "threads", "decisions", "lineage", "conflicts", "archives"):
        assert getattr(part, name) == getattr(Registry.of(EVERYTHING), name)
