"""Clones that edit and merge in any order, with clocks a year apart: one registry, and no edit missing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pygit2
import pytest
from clone_schedules import SEEDS, YEAR_MS, World
from git_clones import template
from guarantees import Level, Report

from forgekit.git.repository import Repository
from forgekit.sharing import bring_together


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """Return a repository whose writes wait for no disk, and whose commits are a year off."""
    source = template(tmp_path / "registry", SEEDS)
    found = Repository(source)
    chance = random.Random(1)  # noqa: S311 - clocks, no secrets

    def identity(*_: object) -> pygit2.Signature:
        return pygit2.Signature(
            "Ada", "ada@example.org", 1_700_000_000 + chance.randint(-1, 1) * YEAR_MS // 1000
        )

    monkeypatch.setattr(found, "identity", identity)
    monkeypatch.setattr("os.fsync", lambda _: None)
    pygit2.settings.enable_fsync_gitdir(False)
    yield found
    pygit2.settings.enable_fsync_gitdir(True)


@pytest.mark.parametrize(("count", "c"), [(2, 300), (3, 60)])
def test_any_schedule_ends_alike_with_every_edit(
    repository: Repository, level: Level, guarantee: Report, count: int, c: int
) -> None:
    start = repository.tip()
    assert start is not None
    chance = level.random(f"schedules of {count}")
    total, edits = level.pick(c, max(c, 300)), 0
    for number in range(total):
        world = World(repository, start, count, chance)
        for _ in range(chance.randint(6, 30)):
            world.step()
        world.end()
        trees = {str(repository.raw[clone.tip].peel(pygit2.Tree).id) for clone in world.clones}
        assert len(trees) == 1, f"schedule {number}: {len(trees)} trees"
        assert list(world.missing()) == [], f"schedule {number}"
        edits += len(world.edits)
    told = f"{total} schedules, clocks a year apart: 1 tree each, 0 of {edits:,} edits missing"
    guarantee("G9", f"{count} clones converge", told)


def test_the_order_of_merging_does_not_matter(
    repository: Repository, level: Level, guarantee: Report
) -> None:
    start = repository.tip()
    assert start is not None
    chance = level.random("orders of merging")
    total = level.pick(40, 1_000)
    for number in range(total):
        world = World(repository, start, 3, chance)
        for clone in world.clones:
            for _ in range(5):
                world.edit(clone)
        tips = [clone.tip for clone in world.clones]
        trees = set()
        for order in permutations(tips):
            tip = order[0]
            for other in order[1:]:
                tip = bring_together(repository, tip, other)[0]
            trees.add(str(repository.raw[tip].peel(pygit2.Tree).id))
        assert len(trees) == 1, f"schedule {number}"
    guarantee("G9", "3 clones merged in each of 6 orders", f"{total} times, 1 tree each")
