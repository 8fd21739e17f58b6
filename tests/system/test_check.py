"""What `check` sees beside the texts of the files, and misplaced files that `check --fix` moves back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cli_runner import Cli
from damage_cases import ARCHIVE, COLUMNS, ROWS, commit_all, edit, make, path_of
from repositories import git

from forgekit.forge import Forge
from forgekit.model.entities import entity_path
from forgekit.model.problem import Problem, Severity
from forgekit.upkeep.check import check, fix

HOME = entity_path(ROWS)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("base") / "registry")


@pytest.fixture
def root(base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base, tmp_path / "registry", symlinks=True))


def problems(root: Path) -> tuple[Problem, ...]:
    return check(Forge.open(root)).problems


def status(root: Path) -> str:
    return git(root, "status", "--porcelain", "--untracked-files=all")


def test_a_deleted_file_is_reported(root: Path, cli: Cli) -> None:
    path_of(root, ARCHIVE).unlink()
    path = entity_path(ARCHIVE)
    ran = cli("check", root=root)
    assert ran.code == 1
    assert ran.out == (
        f"error: {path}: is committed, and missing from the work tree (`git restore {path}` brings it back)\n"
    )


def test_an_archive_that_a_commit_deletes_is_reported_unless_its_filing_is_undone(root: Path) -> None:
    path = entity_path(ARCHIVE)
    git(root, "rm", "--quiet", path)
    commit_all(root)
    assert [(p.code, p.path) for p in problems(root)] == [("archive-deleted", path)]
    git(root, "revert", "--no-edit", "HEAD")
    assert problems(root) == ()
    git(root, "rm", "--quiet", path)
    git(root, "commit", "--quiet", "--message", f"Undo\n\nThis reverts commit {'0' * 40}.")
    assert problems(root) == ()


def test_lost_attributes_are_reported_and_restored(root: Path, cli: Cli) -> None:
    git(root, "rm", "--quiet", ".gitattributes")
    git(root, "commit", "--quiet", "--message", "tidy")
    [found] = problems(root)
    assert (found.code, found.severity) == ("attributes-lost", Severity.WARNING)
    assert cli("init", root=root).code == 0
    assert git(root, "log", "-1", "--format=%s") == "init: restore .gitattributes\n"
    assert problems(root) == ()


def test_a_registry_without_its_folders_is_reported(root: Path) -> None:
    shutil.rmtree(root / "registry")
    shutil.rmtree(root / "archives")
    tracked = git(root, "ls-files", "registry", "archives").splitlines()
    found = problems(root)
    assert [p.path for p in found] == tracked
    assert {p.code for p in found} == {"deleted-file"}


def test_an_unfinished_merge_is_reported(root: Path, cli: Cli) -> None:
    (root / ".git/MERGE_HEAD").write_text(git(root, "rev-parse", "HEAD"), encoding="utf-8")
    ran = cli("check", root=root)
    assert ran.code == 1
    assert ran.out == (
        "error: a merge, rebase or bisect is under way: files may be half merged, and nothing can be written "
        "(`git status` says how to end or undo it)\n"
    )
    assert cli("check", HOME, root=root).code == 0, "a hook that ends the merge checks its files"


@pytest.mark.parametrize(
    ("place", "line", "says"),
    [
        (".gitattributes", "*.md merge=union", "merge=union"),
        (".gitattributes", "*.md filter=pwn", "filter=pwn"),
        (".git/info/attributes", "* working-tree-encoding=utf-16", "working-tree-encoding=utf-16"),
    ],
)
def test_hostile_attributes_are_reported(root: Path, place: str, line: str, says: str) -> None:
    path = root / place
    path.write_text(path.read_text(encoding="utf-8") + f"{line}\n", encoding="utf-8")
    if place == ".gitattributes" and "merge" in line:
        (root / ".git/info/attributes").unlink()  # it would win
    found = [p for p in problems(root) if p.code == "attributes-harmful"]
    assert [p.message for p in found] == [f"git attributes change what is stored or merged: {says}"]


def test_a_submodule_in_the_registry_is_reported(root: Path) -> None:
    tip = git(root, "rev-parse", "HEAD").strip()
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{tip},registry/decisions/inner")
    found = [(p.path, p.message) for p in problems(root) if p.code == "gitlink"]
    assert found == [
        ("registry/decisions/inner", "is a submodule, whose files no clone of this registry has")
    ]


def test_dot_files_are_errors_once_git_holds_them(root: Path) -> None:
    hidden = root / "registry/decisions/.hidden.md"
    hidden.write_text("x", encoding="utf-8")
    before = problems(root)
    git(root, "add", str(hidden))
    assert [(p.code, p.path, p.severity) for p in (*before, *problems(root))] == [
        ("dot-file", "registry/decisions/.hidden.md", Severity.WARNING),
        ("dot-file", "registry/decisions/.hidden.md", Severity.ERROR),
    ]


def test_the_form_of_an_edited_file_is_fixed_once_it_is_committed(root: Path, cli: Cli) -> None:
    path = root / HOME
    path.write_text(path.read_text(encoding="utf-8") + "\n\n", encoding="utf-8")
    remark = f"info: {HOME}: is not in canonical form (order of keys, quotes, blank lines)"
    for options in ((), ("--fix",)):
        ran = cli("check", *options, root=root)
        assert ran.out == f"{remark} (commit it first; `forgekit check --fix` rewrites it then)\n"
        assert ran.err.endswith("checked: 0 errors, 1 remark\n")
    commit_all(root)
    ran = cli("check")
    assert ran.out == f"{remark} (`forgekit check --fix` rewrites it)\n"
    assert ran.err.endswith("checked: 0 errors, 1 remark; `forgekit check --fix` fixes 1\n")
    assert f"{HOME}: brought into canonical form\n" in cli("check", "--fix").out
    assert cli("check").out == ""


def test_times_to_come_are_remarked(root: Path) -> None:
    edit(root, ROWS, "last_validated: 2023", "last_validated: 2999")
    assert [(p.path, p.field, p.severity, p.message) for p in problems(root)] == [
        (
            HOME,
            "last_validated",
            Severity.WARNING,
            "2999-11-14 is in the future, and the latest time wins for as long",
        )
    ]


def renamed(root: Path, to: str = "registry/decisions/keep-rows.md") -> Path:
    place = root / to
    place.parent.mkdir(parents=True, exist_ok=True)
    return path_of(root, ROWS).rename(place)


@pytest.mark.parametrize(
    "to", ["registry/decisions/keep-rows.md", "registry/notes/rows.md", HOME.replace("2023-11", "1999-01")]
)
def test_a_renamed_file_goes_back_to_its_place(root: Path, to: str, cli: Cli) -> None:
    before = git(root, "rev-parse", "HEAD")
    renamed(root, to)
    ran = cli("check", root=root)
    assert ran.code == 1
    line = next(line for line in ran.out.splitlines() if line.startswith(f"error: {to}:"))
    assert line.endswith(
        f"holds {ROWS.id}, whose place is {HOME} (`forgekit check --fix` moves it to {HOME})"
    )
    assert "missing from the work tree" not in ran.out
    ran = cli("check", "--fix", root=root)
    assert (ran.code, ran.out) == (0, f"{to}: moved to {HOME}\n")
    assert (status(root), git(root, "rev-parse", "HEAD")) == ("", before)


def test_a_rename_that_is_committed_is_undone_in_a_commit(root: Path) -> None:
    place = renamed(root)
    commit_all(root)
    found = fix(Forge.open(root))
    assert (found.problems, [f.message for f in found.fixed]) == ((), [f"moved to {HOME}"])
    assert git(root, "diff", "--stat", "HEAD~2", "HEAD") == ""
    assert (status(root), place.exists()) == ("", False)


def test_a_rename_that_is_staged_is_undone_in_the_index_too(root: Path) -> None:
    renamed(root)
    git(root, "add", "--all")
    assert fix(Forge.open(root)).problems == ()
    assert status(root) == ""


@pytest.mark.parametrize("is_committed", [False, True])
def test_an_edit_goes_along_with_a_move(root: Path, is_committed: bool) -> None:
    place = renamed(root)
    if is_committed:
        commit_all(root)
    with place.open("a", encoding="utf-8") as file:
        file.write("\n## Rationale\n\nMine.\n")
    assert fix(Forge.open(root)).problems == ()
    assert (root / HOME).read_text(encoding="utf-8").endswith("\n## Rationale\n\nMine.\n")
    assert status(root) == ("" if is_committed else f" M {HOME}\n")


@pytest.mark.parametrize("change", ["", "\nMine.\n"])
def test_a_copy_beside_a_file_names_it(root: Path, change: str) -> None:
    copy = path_of(root, ROWS).with_name(f"{ROWS.id}-2.md")
    copy.write_text(path_of(root, ROWS).read_text(encoding="utf-8") + change, encoding="utf-8")
    [found] = problems(root)
    assert (found.code, found.path) == ("stray-file", copy.relative_to(root).as_posix())
    assert found.message == f"holds {ROWS.id}, whose place is {HOME}"
    assert found.fix == "keep what is right in that file, and delete this one"


def test_a_dry_run_moves_nothing(root: Path, cli: Cli) -> None:
    place = renamed(root)
    ran = cli("check", "--fix", "--dry-run", root=root)
    assert f"keep-rows.md: moved to {HOME}\n" in ran.out
    assert place.exists()
    assert not (root / HOME).exists()


def test_a_file_that_was_overwritten_with_another_is_not_moved(root: Path) -> None:
    path_of(root, COLUMNS).replace(path_of(root, ROWS))
    found = {p.code: p for p in problems(root)}
    assert not found["misplaced"].fixable
    assert fix(Forge.open(root)).fixed == ()
