"""The hooks, called as git calls them, and through pre-commit in a repository of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import git
from sample_entities import ARCHIVE, PROJECT, A, X, Y, archive, conflict, day, decision

from forgekit.errors import NoRegistryError
from forgekit.hooks import pre_commit
from forgekit.hooks.pre_commit import HOOKS
from forgekit.model.entities import DecisionStatus, Entity, entity_path
from forgekit.model.rules import UNSETTLED_KEY
from forgekit.text.codec import dumps

SOURCE = Path(__file__).parent.parent.parent
SOUND: tuple[Entity, ...] = (PROJECT, A, X, ARCHIVE)
EDITED = (
    "decision: the text was changed under the same id; a new text is a new decision"
    " (`forgekit check --fix` turns the edit into a revision)"
)
NO_JUDGE = "note: conflicts were not looked for: "
NO_PYTHON = (
    "forgekit: cannot run /nowhere/python; install forgekit (pip install forgekit),"
    " or set FORGEKIT_PYTHON to a Python that has it\n"
)


def put(root: Path, *entities: Entity) -> list[str]:
    for entity in entities:
        path = root / entity_path(entity)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dumps(entity).encode())
    return [entity_path(entity) for entity in entities]


def commit(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "commit", "--message", "work", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def filed(repository: Path) -> Path:
    """Return a repository whose registry is sound and committed."""
    put(repository, *SOUND)
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "registry")
    return repository


@pytest.fixture
def run(filed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("FORGEKIT_NOW", "2023-11-20T00:00:00Z")
    return Runner(filed, capsys)


class Runner:
    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def __call__(self, name: str, *files: str) -> tuple[int, list[str]]:
        status = pre_commit.run(name, files, self.root)
        return int(status), self._capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", HOOKS)
def test_nothing_to_do_is_fine_and_a_sound_registry_too(run: Runner, name: str) -> None:
    assert run(name) == (0, [])
    status, said = run(name, *map(entity_path, SOUND), "README.md", "forgekit.toml")
    assert (status, [line for line in said if not line.startswith(NO_JUDGE)]) == (0, [])


def test_check_names_file_line_field_and_remedy(run: Runner) -> None:
    [path] = put(run.root, replace(X, decision="Keep all rows"))
    assert run("check", path) == (1, [f"{path}:3: {EDITED}"])


def test_check_says_warnings_and_lets_them_pass(run: Runner) -> None:
    [path] = put(run.root, replace(X, extra={"tagss": "a"}))
    message = "is not a key of a decision; did you mean `tags`?"
    assert run("check", path) == (0, [f"warning: {path}:11: tagss: {message}"])


def test_check_looks_at_the_named_files_alone(run: Runner) -> None:
    put(run.root, replace(X, decision="Keep all rows"))
    assert run("check", entity_path(A)) == (0, [])


def test_check_fails_on_what_cannot_be_read(run: Runner) -> None:
    [path] = put(run.root, X)
    (run.root / path).write_text("<<<<<<< ours\n")
    status, [line] = run("check", path)
    assert status == 1
    assert line.startswith(f"{path}:1: ")


def test_check_refuses_to_remove_what_others_name(run: Runner) -> None:
    put(run.root, Y, replace(decision("Count rows", A), dependencies=(X.id,)))
    put(run.root, conflict(X, Y))
    git(run.root, "add", ".")
    git(run.root, "commit", "--quiet", "--message", "more")
    git(run.root, "rm", "--quiet", entity_path(X))
    status, lines = run("check")
    assert status == 1
    said = f"no decision has the id {X.id} (restore its file, or take the id out)"
    paths = [entity_path(Y), entity_path(decision("Count rows", A)), entity_path(conflict(X, Y))]
    assert [line.split(":")[0] for line in lines] == sorted(paths)
    assert all(line.endswith(f": {said}") for line in lines)
    # Each finding once, be its file named or not; and a file that stays beside the index is gone as well.
    assert run("check", *paths) == (1, lines)
    put(run.root, X)
    assert run("check") == (1, lines)
    git(run.root, "rm", "--quiet", *paths)
    assert run("check") == (0, [])


def test_an_edit_without_a_remedy_promises_none(run: Runner) -> None:
    [path] = put(run.root, replace(X, originated_in=None))
    said = f"{path}: originated_in: was changed, and the id is made from it (undo the edit)"
    assert run("check", path) == (1, [said])


def test_folders_that_are_no_registrys_concern_nobody(
    filed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    below = filed / "below"
    below.mkdir()
    for name in ("forgekit.toml", "registry", "archives"):
        git(filed, "mv", name, "below")
    notes = ["docs/archives/notes.md", "docs/registry/notes.md"]
    for name in notes:
        (filed / name).parent.mkdir(parents=True, exist_ok=True)
        (filed / name).write_text("mine\n")
    git(filed, "add", ".")
    git(filed, "commit", "--quiet", "--message", "notes")
    for name in notes:
        (filed / name).write_text("mine, and more\n")
    git(filed, "add", ".")
    for hook in HOOKS:
        assert pre_commit.run(hook, notes, filed) == 0
    git(filed, "rm", "--quiet", "--force", *notes)
    for hook in HOOKS:
        assert pre_commit.run(hook, [], filed) == 0
    assert capsys.readouterr().out == ""


def test_only_archives_are_write_once(run: Runner) -> None:
    notes = ["archives/README.md", "archives/notes.md", "docs/archives/notes.md"]
    for name in notes:
        (run.root / name).parent.mkdir(parents=True, exist_ok=True)
        (run.root / name).write_text("mine\n")
    git(run.root, "add", ".")
    assert run("archives", *notes) == (0, [])
    git(run.root, "commit", "--quiet", "--message", "notes")
    for name in notes:
        (run.root / name).write_text("mine, and more\n")
    git(run.root, "add", ".")
    assert run("archives", *notes) == (0, [])
    git(run.root, "rm", "--quiet", "--force", *notes)
    assert run("archives") == (0, [])


def test_an_entity_without_a_registry_is_refused(filed: Path) -> None:
    (filed / "forgekit.toml").unlink()
    with pytest.raises(NoRegistryError):
        pre_commit.run("check", [entity_path(X)], filed)


def test_check_finds_a_registry_below_the_top(filed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    below = filed / "deep" / "er"
    below.mkdir(parents=True)
    (below / "forgekit.toml").touch()
    [path] = put(below, X)
    assert pre_commit.run("check", [f"deep/er/{path}"], filed) == 1
    assert capsys.readouterr().out.startswith(f"deep/er/{path}:")


def test_conflicts_are_noted_or_refused_as_the_settings_say(run: Runner) -> None:
    fight = conflict(X, Y)
    put(run.root, Y, fight)
    git(run.root, "add", ".")
    a, b = (f"dec_{side[-12:]}" for side in (fight.decision_a, fight.decision_b))
    line = (
        f"{a} and {b} cannot both be followed: one chooses what the other rejects"
        f" (forgekit conflict resolve cfl_{fight.id[-12:]} --keep {a} --reason TEXT --no-commit, then"
        " git add; or scope, or dismiss)"
    )
    for touched in (Y, X, fight):
        status, said = run("conflicts", entity_path(touched))
        assert (status, said[-1]) == (0, f"note: {line}")
        assert all(text.startswith(NO_JUDGE) for text in said[:-1])
    assert run("conflicts", entity_path(A)) == (0, [])
    (run.root / "forgekit.toml").write_text('conflicts = "refuse"\njudge = "off"\n')
    assert run("conflicts", entity_path(Y)) == (1, [line])
    assert run("conflicts", entity_path(A)) == (0, [])


def test_stale_refuses_what_rests_on_something_out_of_force(run: Runner) -> None:
    put(run.root, replace(X, status=DecisionStatus.INVALIDATED))
    [path] = put(run.root, Y)
    why = f"rests on dec_{X.id[-12:]}, which was invalidated"
    assert run("stale", path) == (1, [f"{path}: {why} (name what replaced it, or take it out)"])
    assert run("stale", entity_path(X)) == (
        0,
        [f"warning: dec_{Y.id[-12:]} {why}; it needs another look"],
    )


def test_stale_warns_of_the_rest_with_the_share(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGEKIT_NOW", "2024-01-01T00:00:00Z")
    put(run.root, replace(decision("Sort rows", A), last_validated=day(80)))
    assert run("stale", entity_path(X)) == (
        0,
        [
            f"warning: dec_{X.id[-12:]} was last validated 47 days and 0 hops ago",
            "warning: 1 of 2 active decisions (50%) are stale; `forgekit stale` lists them",
        ],
    )


def test_archives_are_write_once(run: Runner) -> None:
    [path] = put(run.root, replace(ARCHIVE, body="other\n"))
    fix = "bring it back with `git restore`, or file the new text as an archive of its own"
    message = "content_sha256: the text is not the one that was filed; archives are write-once"
    status, [line] = run("archives", path)
    assert status == 1
    assert line.startswith(f"{path}:")
    assert line.endswith(f": {message} ({fix})")


def test_an_archive_whose_hash_was_changed_along_with_its_text(run: Runner) -> None:
    [path] = put(run.root, archive(A, body="other\n"))
    git(run.root, "add", path)
    said = (
        f"{path}: the text is not the committed one; archives are write-once"
        f" (git restore --staged --worktree {path})"
    )
    assert run("archives") == (1, [said])


def test_the_other_of_two_texts_that_clones_filed_may_be_put_in_place(run: Runner) -> None:
    other = archive(A, body="other\n")
    put(run.root, replace(ARCHIVE, extra={UNSETTLED_KEY: [f"content_sha256: {other.content_sha256}"]}))
    git(run.root, "commit", "--quiet", "--all", "--message", "merge")
    [path] = put(run.root, other)
    git(run.root, "add", path)
    assert run("archives") == (0, [])


def test_an_archive_that_a_commit_removes(run: Runner) -> None:
    path = entity_path(ARCHIVE)
    git(run.root, "rm", "--quiet", path)
    said = f"{path}: archives are write-once, and this commit removes one (git restore --staged {path})"
    assert run("archives") == (1, [said])


def test_the_head_of_an_archive_may_change(run: Runner) -> None:
    [path] = put(run.root, archive(A, records=(("D001", X.id),)))
    git(run.root, "add", path)
    assert run("archives", path) == (0, [])


def test_before_the_first_commit_there_is_nothing_to_remove(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "forgekit.toml").touch()
    put(tmp_path, ARCHIVE)
    git(tmp_path, "add", ".")
    assert pre_commit.run("archives", [], tmp_path) == 0


def test_gits_variables_lead_nobody_astray(
    run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # `git commit FILE` has an index of its own; the variables of another repository must not count.
    git(run.root, "rm", "--quiet", "--cached", entity_path(ARCHIVE))
    shutil.copy(run.root / ".git" / "index", tmp_path / "other-index")
    git(run.root, "add", ".")
    assert run("archives") == (0, [])
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other-index"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert run("archives")[0] == 1
    assert not [name for name in os.environ if name.startswith("GIT_") and name != "GIT_CONFIG_NOSYSTEM"]


@pytest.fixture
def hooked(filed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the same repository with this project's hooks installed through pre-commit."""
    monkeypatch.setenv("FORGEKIT_PYTHON", sys.executable)
    monkeypatch.setenv("PRE_COMMIT_HOME", str(filed.parent / "pre-commit"))
    config = (SOURCE / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    registry_only = config.split("      - id: ruff-check")[0]
    (filed / ".pre-commit-config.yaml").write_text(
        registry_only.replace("entry: hooks/run", f"entry: {SOURCE}/hooks/run")
    )
    git(filed, "add", ".")
    git(filed, "commit", "--quiet", "--message", "hooks")
    install = [sys.executable, "-m", "pre_commit", "install"]
    subprocess.run(install, cwd=filed, check=True, capture_output=True)
    return filed


def test_a_bad_file_blocks_the_commit_with_one_sentence_and_a_good_one_passes(hooked: Path) -> None:
    [path] = put(hooked, replace(X, decision="Keep all rows"))
    git(hooked, "add", path)
    refused = commit(hooked)
    assert refused.returncode == 1
    said = [line for line in refused.stderr.splitlines() if line.startswith(path)]
    assert said == [f"{path}:3: {EDITED}"]
    assert "Traceback" not in refused.stderr

    sound = decision("Sort columns by name", A)
    put(hooked, X, sound)
    git(hooked, "add", ".")
    done = commit(hooked)
    assert done.returncode == 0, done.stderr
    assert entity_path(sound) in git(hooked, "ls-tree", "-r", "--name-only", "HEAD")


def test_a_removed_archive_blocks_the_commit_although_nobody_names_it(hooked: Path) -> None:
    path = entity_path(ARCHIVE)
    git(hooked, "rm", "--quiet", path)
    refused = commit(hooked)
    assert refused.returncode == 1
    assert f"{path}: archives are write-once, and this commit removes one" in refused.stderr


def test_a_removed_decision_blocks_the_commit_where_another_rests_on_it(hooked: Path) -> None:
    put(hooked, Y)
    git(hooked, "add", ".")
    git(hooked, "commit", "--quiet", "--no-verify", "--message", "more")
    git(hooked, "rm", "--quiet", entity_path(X))
    refused = commit(hooked)
    assert refused.returncode == 1, refused
    assert f"dependencies: no decision has the id {X.id}" in refused.stderr


def test_settings_that_cannot_be_read_block_the_commit(hooked: Path) -> None:
    (hooked / "forgekit.toml").write_text("stale_day = 3\n")
    git(hooked, "add", ".")
    refused = commit(hooked)
    assert refused.returncode == 1
    assert "forgekit.toml:1: stale_day: is not a setting; did you mean `stale_days`?" in refused.stderr


def launch(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SOURCE / "hooks" / "run"), *arguments],
        env={"PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_launcher_says_what_to_do_without_an_interpreter() -> None:
    done = launch("check", FORGEKIT_PYTHON="/nowhere/python")
    assert (done.returncode, done.stderr) == (1, NO_PYTHON)


def test_the_launcher_imports_nothing_from_the_folder_that_is_committed(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('ran')")
    done = subprocess.run(
        [str(SOURCE / "hooks" / "run"), "check"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "FORGEKIT_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_both_configurations_are_valid_and_name_the_same_hooks() -> None:
    import yaml

    manifest, config = (SOURCE / name for name in (".pre-commit-hooks.yaml", ".pre-commit-config.yaml"))
    for command, path in (("validate-manifest", manifest), ("validate-config", config)):
        subprocess.run([sys.executable, "-m", "pre_commit", command, str(path)], check=True)
    offered = {hook["id"]: hook for hook in yaml.safe_load(manifest.read_text(encoding="utf-8"))}
    hooks = yaml.safe_load(config.read_text(encoding="utf-8"))["repos"][0]["hooks"]
    local = {h["id"]: h for h in hooks if h["id"].startswith("forgekit-")}
    assert list(offered) == list(local) == [f"forgekit-{name}" for name in HOOKS]
    assert all(hook["stages"] for hook in offered.values())
    assert [h["entry"] for h in offered.values()] == [f"forgekit hook {name}" for name in HOOKS]
    assert [h["entry"] for h in local.values()] == [f"hooks/run {name}" for name in HOOKS]
