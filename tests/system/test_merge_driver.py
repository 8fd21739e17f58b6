"""git's own merges, with the driver that `init` registers: the same bytes as the merge in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_runner import Cli
from clone_schedules import SEEDS, World
from git_clones import record as commit
from guarantees import Level, Report
from repositories import decision, git, path_of_text

from forgekit.git import driver
from forgekit.git.repository import Repository
from forgekit.merge.merge import merge_file
from forgekit.model.entities import Decision, Entity, entity_path
from forgekit.sharing import bring_together
from forgekit.upkeep.init_migrate import initialise
from forgekit.worktree import files

USE_A = decision("Use A", "Because.")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a registry with the driver registered, as git finds it from any folder."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent.parent))
    root = tmp_path / "registry"
    initialise(root)
    commit(root, *SEEDS, USE_A)
    return root


def attempt(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)


def sides(root: Path, ours: Entity, theirs: Entity) -> None:
    """Leave one state on `main` and the other on `side`."""
    git(root, "switch", "--quiet", "--create", "side")
    commit(root, theirs)
    git(root, "switch", "--quiet", "main")
    commit(root, ours)


def edited(**values: Any) -> Decision:
    return replace(USE_A, **values)


def in_process(root: Path, entity: Entity, base: str, ours: str, theirs: str) -> bytes | None:
    path = entity_path(entity)
    repository = Repository(root)
    blobs = [repository.read_at(repository.resolve(side), path) for side in (base, ours, theirs)]
    return merge_file(entity.kind, entity.id, *blobs).data


MERGES: dict[str, tuple[str, ...]] = {
    "merge": ("merge", "--no-edit", "side"),
    "rebase": ("rebase", "side"),
    "cherry-pick": ("cherry-pick", "side"),
}


@pytest.mark.parametrize("how", MERGES)
def test_fields_changed_apart_need_nobody(root: Path, how: str) -> None:
    sides(root, edited(tags=("ours",)), edited(tags=("theirs",), extra={"owner": "Bo"}))
    expected = in_process(root, USE_A, "main~1", "main", "side")
    done = attempt(root, *MERGES[how])
    assert (done.returncode, git(root, "status", "--porcelain")) == (0, "")
    assert (root / entity_path(USE_A)).read_bytes() == expected
    entity, _ = files.parse(entity_path(USE_A), (root / entity_path(USE_A)).read_bytes())
    assert isinstance(entity, Decision)
    assert (entity.tags, entity.extra) == (("ours", "theirs"), {"owner": "Bo"})


@pytest.mark.parametrize("how", MERGES)
def test_a_conflict_is_shown_and_can_be_read(root: Path, cli: Cli, how: str) -> None:
    sides(root, edited(body="## Rationale\n\nOurs."), edited(body="## Rationale\n\nTheirs."))
    expected = in_process(root, USE_A, "main~1", "main", "side")
    done = attempt(root, *MERGES[how])
    path = entity_path(USE_A)
    assert done.returncode != 0
    assert f"CONFLICT (content): Merge conflict in {path}" in done.stdout
    said = f"{path}: Rationale: '## Rationale Theirs.' was kept; '## Rationale Ours.' is under"
    assert f"{said} `## Conflicting edits`\n" in done.stderr
    assert (root / path).read_bytes() == expected
    entity, text = files.parse(path, (root / path).read_bytes())
    assert isinstance(entity, Decision)
    assert entity.rationale == "Theirs."
    assert text.endswith("### Rationale\n\n    ## Rationale\n    \n    Ours.\n")
    ran = cli("hook", "check", path, root=root)
    assert ran.code == 1
    assert f"{path}: two clones changed Rationale in different ways" in ran.out


@pytest.mark.parametrize("how", MERGES)
@pytest.mark.parametrize("program", ["#!/bin/sh\necho No module named forgekit >&2\nexit 1\n", None])
def test_a_driver_that_cannot_start_loses_no_side(
    root: Path, tmp_path: Path, how: str, program: str | None
) -> None:
    python = tmp_path / "100% py"
    if program is not None:
        python.write_text(program, encoding="utf-8")
        python.chmod(0o755)
    git(root, "config", "merge.forgekit.driver", driver.command(str(python)))
    sides(root, edited(tags=("ours",)), edited(tags=("theirs",)))
    assert attempt(root, *MERGES[how]).returncode != 0
    text = (root / entity_path(USE_A)).read_text(encoding="utf-8")
    first, second = ("theirs", "ours") if how == "rebase" else ("ours", "theirs")
    assert f"<<<<<<< ours\ntags: [{first}]\n=======\ntags: [{second}]\n>>>>>>> theirs\n" in text


def test_without_a_driver_what_lies_apart_needs_nobody(root: Path, tmp_path: Path) -> None:
    git(root, "config", "merge.forgekit.driver", driver.command(str(tmp_path / "gone")))
    sides(root, edited(tags=("ours",)), edited(body="## Rationale\n\nTheirs."))
    assert attempt(root, *MERGES["merge"]).returncode == 0
    entity, _ = files.parse(entity_path(USE_A), (root / entity_path(USE_A)).read_bytes())
    assert isinstance(entity, Decision)
    assert (entity.tags, entity.rationale) == (("ours",), "Theirs.")


def test_many_random_branches(root: Path, level: Level, guarantee: Report) -> None:
    """Two branches that edit the same files at random, merged by git and in this process."""
    chance = level.random("merges by git")
    repository = Repository(root)
    start = git(root, "rev-parse", "HEAD").strip()
    total, compared = level.pick(12, 500), 0
    for _ in range(total):
        world = World(repository, start, 2, chance)
        for clone in world.clones:
            for _ in range(6):
                world.edit(clone)
        ours, theirs = (clone.tip for clone in world.clones)
        git(root, "checkout", "--quiet", "--detach", ours)
        attempt(root, "merge", "--no-edit", "--no-ff", theirs)
        for entity in SEEDS:
            path = entity_path(entity)
            found = [repository.read_at(side, path) for side in (start, ours, theirs)]
            assert (root / path).read_bytes() == merge_file(entity.kind, entity.id, *found).data
            compared += 1
        git(root, "reset", "--quiet", "--hard")
    guarantee(
        "G8", "git merge with the driver", f"{total} merges, {compared} files equal to the merge in process"
    )


def test_crossed_merges_have_one_result(root: Path) -> None:
    sides(root, edited(tags=("ours",), epistemic_tier=0.2), edited(tags=("theirs",), epistemic_tier=0.4))
    repository = Repository(root)
    ours, theirs = (repository.resolve(name) for name in ("main", "side"))
    crossed = [bring_together(repository, *pair)[0] for pair in ((ours, theirs), (theirs, ours))]
    tips = []
    for number, start in enumerate(crossed):
        git(root, "checkout", "--quiet", "-B", f"crossed{number}", start)
        entity, _ = files.parse(entity_path(USE_A), (root / entity_path(USE_A)).read_bytes())
        assert isinstance(entity, Decision)
        commit(root, replace(entity, tags=(*entity.tags, f"later{number}")))
        tips.append(repository.resolve("HEAD"))
    together = bring_together(repository, *tips)[0]
    git(root, "checkout", "--quiet", "--detach", tips[0])
    git(root, "merge", "--quiet", "--no-edit", tips[1])
    assert git(root, "rev-parse", "HEAD^{tree}") == git(root, "rev-parse", f"{together}^{{tree}}")


def test_a_file_of_no_entity_and_one_that_cannot_be_read(root: Path, tmp_path: Path, cli: Cli) -> None:
    names = [tmp_path / name for name in ("base", "ours", "theirs")]
    for name, text in zip(names, ("a\n", "a\nb\n", "a\nc\n"), strict=True):
        name.write_text(text, encoding="utf-8")
    ran = cli("merge-driver", *map(str, names), "registry/README.md", root=root)
    assert ran.code == 255
    assert names[1].read_text(encoding="utf-8") == "a\nb\n"
    line = driver.command().replace("%O", "base").replace("%A", "ours").replace("%B", "theirs")
    done = subprocess.run(["sh", "-c", line.replace("%P", "registry/README.md")], cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert names[1].read_text(encoding="utf-8") == "a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"
    path = path_of_text("Use A")
    good = (root / path).read_text(encoding="utf-8")
    names[1].write_text("---\nbroken: [\n", encoding="utf-8")
    names[2].write_text(good, encoding="utf-8")
    ran = cli("merge-driver", *map(str, names), path, root=root)
    assert (ran.code, ran.out) == (64, "")
    entity, _ = files.parse(path, names[1].read_bytes())
    assert entity.body.startswith("## Rationale\n\nBecause.\n\n## Conflicting edits\n")
    assert entity.body.endswith("### unreadable file\n\n    ---\n    broken: [\n    ")


def test_no_name_reaches_a_shell(root: Path) -> None:
    odd = root / "registry" / "$(touch pwned).md"
    odd.write_text("a\n", encoding="utf-8")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "odd")
    git(root, "switch", "--quiet", "--create", "side")
    odd.write_text("a\nb\n", encoding="utf-8")
    git(root, "commit", "--quiet", "--all", "--message", "b")
    git(root, "switch", "--quiet", "main")
    odd.write_text("c\na\n", encoding="utf-8")
    git(root, "commit", "--quiet", "--all", "--message", "c")
    attempt(root, "merge", "--no-edit", "side")
    assert "CONFLICT" not in git(root, "status")
    assert list(root.rglob("pwned")) == []
    assert os.listdir(root.parent) == ["registry"]  # noqa: PTH208 - names alone


NOT_OURS = "this clone's merge driver is not this forgekit's: where it cannot start, a side may be lost"
Breaking = Callable[[Path], object]


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        (
            lambda root: git(root, "config", "--unset", "merge.forgekit.driver"),
            "this clone lacks the merge driver: git merges the registry's files line by line",
        ),
        (
            lambda root: git(root, "config", "merge.forgekit.driver", driver.command("/nowhere/python")),
            NOT_OURS,
        ),
        (
            lambda root: git(
                root,
                "config",
                "merge.forgekit.driver",
                f"{sys.executable} -P -m forgekit merge-driver %O %A %B %P",
            ),
            NOT_OURS,
        ),
        (lambda root: git(root, "config", "merge.forgekit.driver", "'"), NOT_OURS),
        (
            lambda root: (root / ".git/info/attributes").write_text("", encoding="utf-8"),
            "this clone lacks the rules that lead to the merge driver",
        ),
    ],
)
def test_doctor_names_a_clone_without_the_driver(root: Path, cli: Cli, breaks: Breaking, says: str) -> None:
    assert driver.fault(Repository(root)) == ""
    breaks(root)
    assert driver.fault(Repository(root)) == says
    assert f"BAD  driver-missing: {says}\n    run `forgekit init` here\n" in cli("doctor", root=root).out
    said = f"{root} is a registry already; this clone now merges its files by their meaning\n"
    assert cli("init", root=root).err == said
    assert driver.fault(Repository(root)) == ""


def test_a_python_of_several_names_is_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, name in (("venv", "python"), ("venv", "python3"), ("other", "python")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv/python"))
    git(root, "config", "merge.forgekit.driver", driver.command(str(tmp_path / "venv/python3")))
    assert driver.fault(Repository(root)) == ""
    git(root, "config", "merge.forgekit.driver", driver.command(str(tmp_path / "other/python")))
    assert driver.fault(Repository(root)) == NOT_OURS


def test_registries_of_one_repository_each_have_their_rules_once(tmp_path: Path, cli: Cli) -> None:
    git(tmp_path, "init", "--quiet")
    folders = [tmp_path / name for name in ("one", "été", 'my "own" notes', "#1 [a*] b\\c")]
    for registry in folders:
        assert cli("init", str(registry)).code == 0
    attributes = tmp_path / ".git/info/attributes"
    lines = attributes.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(folders) * len(driver.RULES)
    for registry in folders:
        path = f"{registry.name}/registry/threads/2026-01/a.md"
        assert git(tmp_path, "check-attr", "-z", "merge", path).split("\0")[2] == driver.NAME
        assert driver.fault(Repository(registry)) == ""
        assert cli("init", root=registry).err == f"{registry} is a registry already: nothing to do\n"
    assert attributes.read_text(encoding="utf-8").splitlines() == lines


@pytest.mark.parametrize("line", ["*.md merge=union", "registry/threads/** !merge", "archives/** text"])
def test_a_later_rule_of_the_clone_is_overridden_once(root: Path, line: str) -> None:
    attributes = root / ".git/info/attributes"
    with attributes.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    assert driver.fault(Repository(root)) == "this clone lacks the rules that lead to the merge driver"
    assert driver.register(Repository(root))
    assert driver.fault(Repository(root)) == ""
    assert len(attributes.read_text(encoding="utf-8").splitlines()) == 2 * len(driver.RULES) + 1


def test_rules_of_the_clone_win_over_those_of_a_branch(root: Path) -> None:
    with (root / ".gitattributes").open("a", encoding="utf-8") as file:
        file.write("registry/** merge=union\n")
    said = git(root, "check-attr", "merge", entity_path(USE_A))
    assert said == f"{entity_path(USE_A)}: merge: forgekit\n"
