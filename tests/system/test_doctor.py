"""What `doctor` finds, and what `doctor --repair` makes of it (G19)."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_runner import Cli
from damage_cases import CASES, COLUMNS, ROWS, After, append, commit_all, edit, half, make, old_file, path_of
from guarantees import Report
from repositories import git

from forgekit.git import health
from forgekit.git.repository import Repository
from forgekit.model.entities import entity_path
from forgekit.upkeep.doctor import Diagnosis, bad, diagnose
from forgekit.upkeep.repair import plan_repair, repair


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("base") / "registry")


@pytest.fixture
def root(base: Path, tmp_path: Path) -> Path:
    """Return a copy of the registry; a place of its own for what lies outside it."""
    return Path(shutil.copytree(base, tmp_path / "registry", symlinks=True))


@pytest.fixture(scope="module")
def tally(guarantee: Report) -> Iterator[set[str]]:
    mended: set[str] = set()
    yield mended
    kinds = len({CASES[name].found for name in mended})
    figure = f"{len(mended)} of {len(CASES)} cases of {kinds} kinds"
    guarantee("G19", "damage found, repaired safely, second repair changes nothing", figure)


def contents(root: Path, *, git_too: bool = True) -> dict[str, bytes]:
    """Return every file but those of the cache."""
    found = {}
    for folder, folders, names in os.walk(root):
        place = Path(folder)
        folders[:] = [name for name in folders if git_too or name != ".git"]
        folders[:] = [name for name in folders if (place / name) != root / ".git" / "forgekit"]
        for name in (*names, *(n for n in folders if (place / n).is_symlink())):
            path = place / name
            data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            found[path.relative_to(root).as_posix()] = data
    return found


def subjects(findings: list[Diagnosis] | tuple[Diagnosis, ...]) -> set[str]:
    return {finding.subject for finding in findings if not finding.good}


@pytest.mark.parametrize("name", CASES)
def test_damage_is_found_and_mended_once(name: str, root: Path, base: Path, tally: set[str]) -> None:
    case = CASES[name]
    case.do(root)
    damaged = contents(root)

    found = bad(diagnose(root))
    assert case.found in subjects(found), found
    assert all(finding.message for finding in found)
    assert all(finding.advice for finding in found if finding.subject == case.found)

    planned = plan_repair(root)
    assert contents(root) == damaged, "a dry run"
    assert (case.found in subjects(planned.left)) == (case.after is After.LEFT)

    done = repair(root)
    if case.after is After.LEFT:
        assert contents(root) == damaged
        assert done.copy is None
        assert case.found in subjects(done.left)
    else:
        assert done.left == ()
        assert contents(root, git_too=False) == contents(base, git_too=False)
        assert done.copy is None or (done.copy / "files.tar").is_file()
        git(root, "fsck", "--full", "--strict", "--no-dangling", "--no-reflogs")
    if case.after is After.WHOLE:
        assert git(root, "rev-parse", "HEAD") == git(base, "rev-parse", "HEAD")
        assert git(root, "status", "--porcelain") == ""
    assert len(done.commits) <= 1

    after = contents(root)
    again = repair(root)
    assert (again.steps, again.copy, again.left) == ((), None, done.left)
    assert contents(root) == after
    tally.add(name)


def test_a_sound_registry_has_nothing_to_mend(root: Path, cli: Cli) -> None:
    before = contents(root)
    assert repair(root).steps == ()
    ran = cli("doctor", "--repair", "--yes", root=root)
    assert (ran.code, ran.out, ran.err) == (0, "", "doctor --repair: nothing is damaged\n")
    assert contents(root) == before
    assert not (root / ".git" / "forgekit-backups").exists()


def test_signing_that_is_asked_for_is_said_not_to_be_done(root: Path, cli: Cli) -> None:
    git(root, "config", "commit.gpgSign", "true")
    ran = cli("doctor", root=root)
    assert "ok   signing: commit.gpgSign is set, and no commit that forgekit makes is signed\n" in ran.out


def test_hand_edits_are_kept_in_the_copy_and_named(root: Path, cli: Cli) -> None:
    path = path_of(root, ROWS)
    edit(root, ROWS, "decision: Keep rows", "decision: [Keep rows")
    edited = path.read_bytes()
    name = path.relative_to(root).as_posix()
    dry = cli("doctor", "--repair", root=root)
    assert dry.code == 1
    assert f"would  unreadable-file: {name}: restored as committed\n" in dry.out
    assert "-decision: [Keep rows\n+decision: Keep rows\n" in dry.out
    assert f"{name}: its uncommitted text goes into the copy\n" in dry.err
    assert path.read_bytes() == edited

    done = cli("doctor", "--repair", "--yes", "--json", root=root)
    assert done.code == 0
    assert done.json["edits"] == [name]
    with tarfile.open(Path(done.json["copy"]) / "files.tar") as tar:
        kept = tar.extractfile(name)
        assert kept is not None
        assert kept.read() == edited
    clone = root.parent / "clone"
    git(root, "clone", "--quiet", str(Path(done.json["copy"]) / "history.bundle"), str(clone))
    assert git(clone, "rev-parse", "HEAD") == git(root, "rev-parse", "HEAD")


def test_other_uncommitted_work_stays(root: Path) -> None:
    half(path_of(root, ROWS))
    append(path_of(root, COLUMNS), "\n## Rationale\n\nMine, and not committed.\n")
    (root / "staged.txt").write_text("mine", encoding="utf-8")
    git(root, "add", "staged.txt")
    assert repair(root).left == ()
    assert path_of(root, COLUMNS).read_text(encoding="utf-8").endswith("\nMine, and not committed.\n")
    assert git(root, "status", "--porcelain") == f" M {entity_path(COLUMNS)}\nA  staged.txt\n"


def test_several_damages_are_mended_in_one_commit(root: Path, base: Path) -> None:
    for name in (
        "deleted, committed, though cited",
        "attributes are gone, committed",
        "settings are gone",
        "index is garbage",
    ):
        CASES[name].do(root)
    tip = git(base, "rev-parse", "HEAD").strip()
    done = repair(root)
    assert done.left == ()
    assert len(done.commits) == 1
    assert contents(root, git_too=False) == contents(base, git_too=False)
    message = git(root, "log", "-1", "--format=%B")
    assert message.startswith("doctor: repair 3 files\n\nForgekit-Op: doctor --repair\nForgekit-Entity: ")
    assert git(root, "diff", "--stat", tip, "HEAD") == ""


@pytest.mark.parametrize("packed", [False, True])
def test_a_symbolic_branch_is_no_damage(root: Path, packed: bool) -> None:
    git(root, "symbolic-ref", "refs/heads/trunk", "refs/heads/main")
    git(root, "symbolic-ref", "refs/heads/master", "refs/heads/trunk")
    if packed:
        git(root, "pack-refs", "--all")
    assert bad(diagnose(root)) == []
    git(root, "symbolic-ref", "refs/heads/trunk", "refs/heads/gone")
    assert {finding.subject for finding in bad(diagnose(root))} == {"lost-objects"}
    git(root, "symbolic-ref", "refs/heads/trunk", "refs/heads/master")
    assert {finding.subject for finding in bad(diagnose(root))} == {"lost-objects"}, "a circle"


def test_a_configuration_of_hooks_that_cannot_be_read_is_passed_over(root: Path) -> None:
    (root / ".pre-commit-config.yaml").symlink_to(root.parent / "shared.yaml")
    assert bad(diagnose(root)) == []


def test_a_lock_whose_holder_lives_is_respected(root: Path) -> None:
    lock = root / ".git" / "index.lock"
    lock.touch()
    assert "stale-lock" not in subjects(diagnose(root)), "young"
    old_file(lock)
    with subprocess.Popen(
        ["git", "cat-file", "--batch"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as alive:
        assert "stale-lock" not in subjects(diagnose(root)), "git is at work"
        assert repair(root).steps == ()
        assert alive.stdin is not None
        alive.stdin.close()
        alive.wait()
    assert "stale-lock" in subjects(diagnose(root))


def test_a_write_under_way_is_no_damage(root: Path) -> None:
    import fcntl

    CASES["write killed"].do(root)
    with (root / ".git" / "forgekit" / "write.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert list(health.journals(Repository(root))) == []
    assert [p.code for p in health.journals(Repository(root))] == ["half-done"]


def test_a_file_that_was_never_sound_is_left_alone(root: Path) -> None:
    path = root / "registry" / "decisions" / "2023-11" / f"{ROWS.id[:-1]}0.md"
    path.write_text("no entity", encoding="utf-8")
    commit_all(root)
    done = repair(root)
    assert (subjects(done.left), done.steps) == ({"unreadable-file"}, ())
    assert path.read_text(encoding="utf-8") == "no entity"


def test_the_machine_is_looked_at(root: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(root)._replace(free=5_000_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    ran = cli("doctor", root=root)
    assert ran.code == 1
    assert "BAD  identity: git does not know who you are (no email was given and auto-detection" in ran.out
    assert f"BAD  disk-full: 5 MB are free at {root}\n    make room: a write that does not fit is" in ran.out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_a_repository_of_somebody_else_is_named(root: Path) -> None:
    os.chown(root, 12345, 12345)
    os.chown(root / ".git", 12345, 12345)
    found = [f for f in diagnose(root) if f.subject == "ownership"]
    assert "git config --global --add safe.directory" in found[0].message
    assert repair(root).steps == ()


def test_a_copy_is_saved_once_for_one_state(root: Path) -> None:
    backups = root / ".git" / "forgekit-backups"
    for _ in range(2):
        half(path_of(root, ROWS))
        first = repair(root).copy
    assert [first] == list(backups.iterdir())


def test_a_copy_outlives_a_linked_work_tree(root: Path) -> None:
    linked = root.parent / "linked"
    git(root, "worktree", "add", "--quiet", "-b", "aside", str(linked))
    half(path_of(linked, ROWS))
    copy = repair(linked).copy
    assert copy is not None
    git(root, "worktree", "remove", "--force", str(linked))
    assert copy.parent == root / ".git" / "forgekit-backups"
    assert (copy / "files.tar").exists()


@pytest.mark.parametrize("name", ["checks", "~/checks"])
def test_hooks_in_another_folder_are_looked_for_there(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(root.parent))
    (root / ".pre-commit-config.yaml").write_text("- id: forgekit-check\n", encoding="utf-8")
    (root / ".git/hooks").mkdir(exist_ok=True)
    (root / ".git/hooks/pre-commit").touch()
    assert "hooks-missing" not in subjects(diagnose(root))
    git(root, "config", "core.hooksPath", name)
    assert "hooks-missing" in subjects(diagnose(root))
    folder = Path(name).expanduser() if name.startswith("~") else root / name
    folder.mkdir()
    (folder / "pre-commit").touch()
    assert "hooks-missing" not in subjects(diagnose(root))


def test_yes_goes_with_repair(cli: Cli, root: Path) -> None:
    ran = cli("doctor", "--yes", root=root)
    assert (ran.code, ran.err) == (2, "forgekit: --yes goes with --repair\n")
