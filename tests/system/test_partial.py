"""A registry that reads what is asked for answers like the whole one."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from repositories import new_repository, write
from sample_entities import ARCHIVE, PROJECT, A, B, X, Y, conflict, conversation, decision, edge, thread

from forgekit.forge import Forge
from forgekit.ids import BASE, EntityId, project_id
from forgekit.index.catalogue import Catalogue
from forgekit.index.lazy_registry import PartialRegistry
from forgekit.model.entities import Decision, DecisionStatus, Entity, Project, Thread, entity_path
from forgekit.model.registry import Registry
from forgekit.text.codec import dumps
from forgekit.upkeep import check

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


def test_it_finds_references_and_statements_as_the_whole_registry_does(tmp_path: Path) -> None:
    first = thread("t", A)
    rests = decision("Rest on rows", A, dependencies=(X.id,), alternatives_rejected=("columns", "a, b"))
    waits = thread("u", A, blocked_by=(first.id,))
    ended = decision("Keep columns", A, status=DecisionStatus.INVALIDATED)
    write(tmp_path, *EVERYTHING, rests, waits, ended)
    catalogue = Catalogue(tmp_path, tmp_path / "cache")
    catalogue.refresh()
    part, whole = PartialRegistry.over(catalogue), catalogue.registry()
    assert rests.id in part.referring(Decision, "dependencies")(X.id)
    assert list(part.referring(Thread, "blocked_by")(first.id)) == [waits.id]
    for entity in whole:
        for kind, field in ((Decision, "dependencies"), (Thread, "blocked_by")):
            found = [list(each.referring(kind, field)(entity.id)) for each in (part, whole)]
            assert found[0] == found[1]
    active = [one for one in whole.decisions if one.id != ended.id]
    before = part.active_blobs()
    assert [*before] == [one.id for one in active]
    write(tmp_path, dataclasses.replace(rests, tags=("edited",)))
    assert PartialRegistry.as_asked(catalogue, []).active_blobs() != before


def test_one_that_looks_as_it_is_asked_answers_like_a_fresh_one(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, *EVERYTHING)
    old = Catalogue(root, tmp_path / "old")
    old.refresh()
    edited = dataclasses.replace(X, tags=("edited",))
    born = decision("Count rows", B)
    write(root, edited, born)
    (root / entity_path(Y)).unlink()
    (root / entity_path(B)).write_text("no entity\n", encoding="utf-8")
    new = Catalogue(root, tmp_path / "new")
    new.refresh()
    whole = new.registry()
    for first in (*EVERYTHING, born):
        part = PartialRegistry.as_asked(old, [entity_path(first).rpartition("/")[0]])
        for entity in (first, *EVERYTHING, born):
            assert part.get(entity.id) == whole.get(entity.id)
    part = PartialRegistry.as_asked(old, [])
    for name in ("projects", "conversations", "threads", "decisions", "lineage", "conflicts", "archives"):
        assert getattr(part, name) == getattr(whole, name)
    assert part.with_problems().problems == whole.problems
    assert [problem.path for problem in whole.problems] == [entity_path(B)]


def test_it_looks_no_further_than_asked(tmp_path: Path) -> None:
    far = conversation("far", 400)
    write(tmp_path, A, X, far)
    catalogue = Catalogue(tmp_path, tmp_path / "cache")
    part = PartialRegistry.as_asked(catalogue, [])
    assert part.get(X.id) == X
    assert catalogue.entity(far.id) is None
    assert part.get(far.id) == far
    assert catalogue.refresh() == (0, 0, 0, 0)


def test_a_month_that_went_away_is_noticed(tmp_path: Path) -> None:
    write(tmp_path, A, X)
    catalogue = Catalogue(tmp_path, tmp_path / "cache")
    catalogue.refresh()
    shutil.rmtree((tmp_path / entity_path(X)).parent)
    assert PartialRegistry.as_asked(catalogue, []).get(X.id) is None
    assert PartialRegistry.as_asked(catalogue, []).get(A.id) == A


@pytest.mark.parametrize("known", [True, False], ids=["an old catalogue", "no catalogue"])
def test_a_check_of_one_file_finds_what_a_check_of_all_finds_there(tmp_path: Path, *, known: bool) -> None:
    root = new_repository(tmp_path / "root")
    rests = decision("Count rows", B, dependencies=(Y.id, A.id))
    around = decision("Go round", A, dependencies=(rests.id,))
    circle = dataclasses.replace(rests, dependencies=(Y.id, A.id, around.id))
    twin = Project(project_uuid=project_id("ledger."), project_name="ledger.")
    write(root, *EVERYTHING, rests, around)
    if known:
        Forge.open(root).catalogue.refresh()
    write(root, circle, twin, dataclasses.replace(Y, decision="Drop no rows"))
    (root / entity_path(B)).write_text("no entity\n", encoding="utf-8")
    (root / entity_path(ARCHIVE)).unlink()
    month = (root / entity_path(X)).parent
    (month / "notes.txt").touch()
    (month / f"{A.id}.md").write_bytes((root / entity_path(X)).read_bytes())
    (month / "link.md").symlink_to(root / entity_path(X))
    (month / f"{BASE}.md").symlink_to(root / entity_path(X))
    paths = [path.relative_to(root).as_posix() for path in (root / "registry").rglob("*") if path.is_file()]
    wrong = 0
    for path in paths:
        part = check.check(Forge.open(root), [path])  # before the check of all looks everywhere
        again = Forge(root=root)
        again.catalogue.path.rename(tmp_path / "aside")
        whole = check.check(again)
        found = [problem for problem in whole.problems if problem.path == path]
        assert list(part.problems) == found
        wrong += bool(found)
        again.catalogue.close()
        (tmp_path / "aside").replace(again.catalogue.path)
    assert wrong >= 6
