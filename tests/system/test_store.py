"""The store: what a write changes, what it leaves alone, what it refuses."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import PROJECT, decision, git, loaded, new_repository, path_of_text, recording

from forgekit.errors import (
    DirtyFileError,
    FormatError,
    LockedError,
    RepositoryError,
    RuleError,
    UnsureError,
    WriteError,
)
from forgekit.git import publish
from forgekit.model.entities import Project, entity_path
from forgekit.model.problem import Problem
from forgekit.store import Change, Store
from forgekit.text import codec

PATH = path_of_text("Use A")


def _state(root: Path) -> tuple[str, str, str]:
    return (
        git(root, "rev-parse", "HEAD"),
        git(root, "status", "--porcelain", "--untracked-files=all"),
        git(root, "ls-files", "--stage"),
    )


def test_a_write_is_one_commit_and_leaves_all_clean(repository: Path) -> None:
    outcome = Store(repository).commit(lambda: recording("Use A"))
    assert outcome.written == (PATH,)
    assert outcome.deleted == ()
    assert git(repository, "rev-parse", "HEAD").strip() == outcome.commit
    assert git(repository, "show", "--format=%B", "--name-only") == (
        f"decision: new\n\nForgekit-Op: decision new\n\n\n{PATH}\n"
    )
    assert git(repository, "show", f"HEAD:{PATH}") == codec.dumps(decision("Use A"))
    git(repository, "diff-files", "--quiet")
    assert _state(repository)[1] == ""


def test_a_second_identical_write_makes_no_commit(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    before = _state(repository)
    outcome = store.commit(lambda: recording("Use A"))
    assert (outcome.commit, outcome.written) == (None, ())
    assert _state(repository) == before


def test_a_deletion(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    outcome = store.commit(lambda: Change(deletes=(PATH,), subject="decision: delete"))
    assert outcome.deleted == (PATH,)
    assert not (repository / PATH).exists()
    assert _state(repository)[1] == ""
    assert store.commit(lambda: Change(deletes=(PATH,), subject="decision: delete")).commit is None


def test_other_files_go_into_the_same_commit(repository: Path) -> None:
    change = replace(recording("Use A"), files={"forgekit.toml": b"# new\n"})
    assert Store(repository).commit(lambda: change).written == ("forgekit.toml", PATH)
    assert git(repository, "show", "HEAD:forgekit.toml") == "# new\n"
    assert _state(repository)[1] == ""


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", ".git/config", ".GIT/config", "a/./b", ""])
def test_other_files_stay_inside(repository: Path, path: str) -> None:
    change = Change(files={path: b""}, subject="x")
    with pytest.raises(RuleError, match="is not a path inside the registry"):
        Store(repository).commit(lambda: change)


def test_an_empty_repository_gets_its_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    outcome = Store(tmp_path).commit(lambda: recording("Use A"))
    assert git(tmp_path, "log", "--format=%H %s") == f"{outcome.commit} decision: new\n"
    assert _state(tmp_path)[1] == ""


def test_a_write_on_a_detached_head_is_refused(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "--detach")
    before = _state(repository)
    with pytest.raises(RepositoryError) as caught:
        Store(repository).commit(lambda: recording("Use A"))
    assert str(caught.value) == (
        f"{repository} is on no branch (detached HEAD), and the next checkout would leave a commit behind; "
        "run `git switch BRANCH`, or `git switch --create NAME` to start one here, then run this again"
    )
    assert _state(repository) == before
    git(repository, "switch", "--quiet", "--create", "side")
    assert Store(repository).commit(lambda: recording("Use A")).commit is not None


def test_a_write_in_a_submodule_is_refused_until_it_is_on_a_branch(repository: Path, tmp_path: Path) -> None:
    outer = new_repository(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repository), "inner")
    git(outer / "inner", "checkout", "--quiet", "--detach")
    with pytest.raises(RepositoryError, match=r"inner is on no branch \(detached HEAD\)"):
        Store(outer / "inner").commit(lambda: recording("Use A"))
    git(outer / "inner", "switch", "--quiet", "main")
    assert Store(outer / "inner").commit(lambda: recording("Use A")).commit is not None


def _unfinished(root: Path, *command: str) -> None:
    """Begin a command whose two sides do not merge."""
    for branch, text in (("other", "theirs"), ("main", "ours")):
        git(root, "switch", "--quiet", *(["--create", branch] if branch == "other" else [branch]))
        (root / "notes.txt").write_text(text, encoding="utf-8")
        git(root, "add", "notes.txt")
        git(root, "commit", "--quiet", "--message", text)
    subprocess.run(["git", *command, "other"], cwd=root, capture_output=True, check=False)


@pytest.mark.parametrize("command", ["merge", "cherry-pick", "rebase"])
def test_a_write_in_an_unfinished_merge_is_refused(repository: Path, command: str) -> None:
    _unfinished(repository, command)
    before = _state(repository)
    with pytest.raises(RepositoryError) as caught:
        Store(repository).commit(lambda: recording("Use A"))
    assert str(caught.value) == (
        f"a merge, rebase or bisect is under way in {repository}; end it (see `git status`), "
        "then run this again"
    )
    assert _state(repository) == before
    git(repository, command, "--abort")
    assert Store(repository).commit(lambda: recording("Use A")).commit is not None


@pytest.mark.parametrize("damage", [None, b"", b"junk" * 99])
def test_an_index_that_is_lost_is_rebuilt_before_a_write(repository: Path, damage: bytes | None) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    index = repository / ".git/index"
    index.unlink()
    if damage is not None:
        index.write_bytes(damage)
    assert store.commit(lambda: recording("Use B")).commit is not None
    assert not list((repository / ".git/forgekit").glob("journal-*"))
    assert git(repository, "status", "--porcelain") == ""
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "by hand")
    assert git(repository, "diff", "--name-status", "HEAD~2", "HEAD") == f"A\t{path_of_text('Use B')}\n"


def test_a_killed_write_with_a_lost_index_is_recovered(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(repository)
    with monkeypatch.context() as patch:
        patch.setattr(publish, "_end", lambda *_: None)
        patch.setattr(publish, "_put", _failing_at(1, publish._put))
        with pytest.raises(WriteError):
            store.commit(lambda: recording("Use A"))
    assert (repository / ".git/forgekit/journal-main.json").exists()
    assert (repository / ".git/index.lock").exists()
    (repository / ".git/index").write_bytes(b"junk")
    assert store.commit(lambda: recording("Use B")).commit is not None
    assert not (repository / ".git/forgekit/journal-main.json").exists()
    assert _state(repository)[1] == ""


def test_objects_that_git_lost_end_a_write_in_one_sentence(repository: Path) -> None:
    Store(repository).commit(lambda: recording("Use A"))
    tip = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "gc", "--quiet")
    (pack,) = (repository / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o644)
    os.truncate(pack, pack.stat().st_size // 2)
    for _ in range(2):
        with pytest.raises(RepositoryError) as caught:
            Store(repository).commit(lambda: recording("Use B"))
        assert str(caught.value) == f"git cannot read object {tip[:12]}; run `forgekit doctor`"
    assert not list((repository / ".git/forgekit").glob("journal-*"))


@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock"])
def test_the_lock_of_a_dead_process_is_cleared(repository: Path, name: str) -> None:
    lock = repository / ".git" / name
    lock.touch()
    os.utime(lock, (time.time() - 3600, time.time() - 3600))
    assert Store(repository).commit(lambda: recording("Use A")).commit is not None
    assert not lock.exists()
    assert _state(repository)[1] == ""


def test_an_old_lock_is_respected_while_git_works_in_the_work_tree(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forgekit.git.publish.LOCK_SECONDS", 0.1)
    lock = repository / ".git/index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 3600, time.time() - 3600))
    with subprocess.Popen(
        ["git", "cat-file", "--batch"], cwd=repository, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as alive:
        with pytest.raises(LockedError) as caught:
            Store(repository).commit(lambda: recording("Use A"))
        assert alive.stdin is not None
        alive.stdin.close()
    assert re.fullmatch(
        rf"{lock} has been locked for 3,60\d s: held by process {alive.pid} \(git\); "
        "wait for it, then run this again",
        str(caught.value),
    )
    assert lock.exists()


def test_whoever_holds_the_writers_lock_is_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forgekit.store.WRITER_SECONDS", 0.1)
    store = Store(repository)
    with store._writing(), pytest.raises(LockedError) as caught:
        Store(repository).commit(lambda: recording("Use A"))
    assert re.fullmatch(
        rf"{repository}/.git/forgekit/write.lock has been locked for \d s: "
        rf"held by process {os.getpid()} \(.+\); wait for it, then run this again",
        str(caught.value),
    )


def test_a_linked_work_tree(repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "--quiet", "-b", "side", str(linked))
    main = _state(repository)
    outcome = Store(linked).commit(lambda: recording("Use A"))
    assert git(linked, "rev-parse", "side").strip() == outcome.commit
    assert _state(linked)[1] == ""
    assert _state(repository) == main


def test_packed_refs_and_other_work_stay(repository: Path) -> None:
    (repository / "src/deep").mkdir(parents=True)
    (repository / "src/deep/a.py").write_text("a", encoding="utf-8")
    (repository / "src/run.sh").write_text("a", encoding="utf-8")
    (repository / "src/run.sh").chmod(0o755)
    git(repository, "add", "src")
    git(repository, "commit", "--quiet", "--message", "work")
    git(repository, "pack-refs", "--all")
    before = git(repository, "ls-tree", "-r", "HEAD", "src")
    Store(repository).commit(lambda: recording("Use A"))
    assert git(repository, "ls-tree", "-r", "HEAD", "src") == before
    assert git(repository, "show", "--format=", "--name-status") == f"A\t{PATH}\n"
    assert _state(repository)[1] == ""


@pytest.mark.parametrize("setting", [(), ("--split-index",), ("--index-version", "4")])
def test_what_is_staged_or_edited_stays_as_it_was(repository: Path, setting: tuple[str, ...]) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (repository / name).write_text("old", encoding="utf-8")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "work")
    for name in ("a.py", "b.py"):
        (repository / name).write_text(f"new {name}", encoding="utf-8")
    git(repository, "add", "a.py")
    git(repository, "rm", "--quiet", "--cached", "c.py")
    (repository / "a.py").write_text("newer", encoding="utf-8")
    if setting:
        git(repository, "update-index", *setting)
    _, status, staged = _state(repository)
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    store.commit(lambda: recording("Use A", rationale="Short."))
    assert _state(repository)[1] == status == "MM a.py\n M b.py\nD  c.py\n?? c.py\n"
    rest = [line for line in _state(repository)[2].splitlines() if PATH not in line]
    assert rest == staged.splitlines()
    assert (repository / "a.py").read_text(encoding="utf-8") == "newer"
    assert (repository / "b.py").read_text(encoding="utf-8") == "new b.py"


@pytest.mark.parametrize("setting", [(), ("--split-index",), ("--index-version", "4")])
def test_an_edit_in_the_second_of_a_git_write_is_still_seen(
    repository: Path, setting: tuple[str, ...]
) -> None:
    """Git compares whole seconds, and a change time, which a test cannot set, is left out of it here."""
    git(repository, "config", "core.trustctime", "false")
    names = ("src/a.py", "src/b.py", "src/unchanged.py")
    long_ago = (1_700_000_000, 1_700_000_000)
    (repository / "src").mkdir()
    for name in names:
        (repository / name).write_text("old", encoding="utf-8")
        os.utime(repository / name, long_ago)
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "work")
    if setting:
        git(repository, "update-index", *setting)
    for name in names[:2]:
        (repository / name).write_text("new", encoding="utf-8")
        os.utime(repository / name, long_ago)
    for index in (repository / ".git").glob("*index*"):
        os.utime(index, long_ago)
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    store.commit(lambda: recording("Use B"))
    assert git(repository, "status", "--porcelain") == " M src/a.py\n M src/b.py\n"


def _edit(root: Path) -> None:
    (root / PATH).write_text(codec.dumps(decision("Use A", "By hand.")), encoding="utf-8")


def _stage(root: Path) -> None:
    _edit(root)
    git(root, "add", PATH)
    (root / PATH).write_text(git(root, "show", f"HEAD:{PATH}"), encoding="utf-8")


def _delete(root: Path) -> None:
    (root / PATH).unlink()


def _unstage(root: Path) -> None:
    git(root, "rm", "--quiet", "--cached", PATH)


def _edit_where_git_looks_away(root: Path) -> None:
    _edit(root)
    git(root, "update-index", "--assume-unchanged", PATH)


def _edit_outside_the_cone(root: Path) -> None:
    _edit(root)
    git(root, "update-index", "--skip-worktree", PATH)


SPOILED = [_edit, _stage, _delete, _unstage, _edit_where_git_looks_away, _edit_outside_the_cone]


@pytest.mark.parametrize("spoil", SPOILED)
@pytest.mark.parametrize("how", [{}, {"dry_run": True}, {"no_commit": True}])
def test_a_dirty_file_is_refused_by_name(repository: Path, spoil: object, how: dict[str, bool]) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    spoil(repository)  # type: ignore[operator] # each is a function of the root
    before = _state(repository)
    with pytest.raises(DirtyFileError) as caught:
        store.commit(lambda: recording("Use A", "Use B", rationale="Short."), **how)
    assert str(caught.value) == (
        f"uncommitted changes in {PATH}; commit or undo them (`git restore`; a new file: delete it), "
        "then run this again"
    )
    assert _state(repository) == before
    assert store.commit(lambda: recording("Use C")).commit is not None


def test_an_untracked_file_is_refused(repository: Path) -> None:
    (repository / PATH).parent.mkdir(parents=True)
    _edit(repository)
    with pytest.raises(DirtyFileError):
        Store(repository).commit(lambda: recording("Use A"))


def test_what_lies_uncommitted_is_not_said_to_be_done(repository: Path) -> None:
    store = Store(repository)
    for _ in range(2):
        written = store.commit(lambda: recording("Use A"), no_commit=True)
    assert (written.commit, written.written) == (None, ())
    before = _state(repository)
    for dry_run in (False, True):
        with pytest.raises(DirtyFileError) as caught:
            store.commit(lambda: recording("Use A"), dry_run=dry_run)
        assert caught.value.paths == (PATH,)
    assert _state(repository) == before
    git(repository, "add", PATH)
    git(repository, "commit", "--quiet", "--message", "by hand")
    assert store.commit(lambda: recording("Use A")).commit is None


def test_a_commit_names_nothing_that_only_the_work_tree_has(repository: Path) -> None:
    """A clone would have a decision without its project."""
    store, project = Store(repository), Project(project_uuid=PROJECT, project_name="The Nexus")
    store.commit(lambda: Change(writes=(project,), subject="project: new"), no_commit=True)
    before = _state(repository)
    for dry_run in (False, True):
        with pytest.raises(DirtyFileError) as caught:
            store.commit(lambda: recording("Use A"), dry_run=dry_run)
        assert caught.value.paths == (entity_path(project),)
    assert _state(repository) == before
    assert store.commit(lambda: recording("Use B"), no_commit=True).written == (path_of_text("Use B"),)
    git(repository, "add", entity_path(project))
    git(repository, "commit", "--quiet", "--message", "by hand")
    assert store.commit(lambda: recording("Use A")).commit is not None


def _mending(root: Path) -> Change:
    """Return what is made of an uncommitted edit, as `check --fix` does."""
    return replace(recording("Use A", rationale="Mended."), over={PATH: (root / PATH).read_bytes()})


def test_an_edit_may_be_staged_where_it_is_what_a_write_is_made_from(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    _edit(repository)
    git(repository, "add", PATH)
    before = _state(repository)
    assert store.commit(lambda: _mending(repository), dry_run=True).written == (PATH,)
    assert _state(repository) == before
    assert store.commit(lambda: _mending(repository)).commit is not None
    assert loaded(repository).decisions == [decision("Use A", "Mended.")]
    assert _state(repository)[1] == ""
    _edit(repository)
    git(repository, "add", PATH)
    (repository / PATH).write_text(codec.dumps(decision("Use A", "And on.")), encoding="utf-8")
    for dry_run in (False, True):
        with pytest.raises(DirtyFileError) as caught:
            store.commit(lambda: _mending(repository), dry_run=dry_run)
        assert caught.value.paths == (PATH,)


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("where", ["_move", "_put", "_wait_for"])
def test_a_write_that_fails_gives_back_the_edit_that_it_was_made_from(
    repository: Path, monkeypatch: pytest.MonkeyPatch, where: str, *, staged: bool
) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    _edit(repository)
    if staged:
        git(repository, "add", PATH)
    before, edited = _state(repository), (repository / PATH).read_bytes()
    real = getattr(publish, where)

    def failing(*arguments: object) -> None:
        if where != "_move":
            real(*arguments)
        raise OSError(5, "Input/output error", "main")

    monkeypatch.setattr(publish, where, failing)
    with pytest.raises(UnsureError if where == "_wait_for" else WriteError):
        store.commit(lambda: _mending(repository))
    if where == "_wait_for":
        assert loaded(repository).decisions == [decision("Use A", "Mended.")]
    else:
        assert (_state(repository), (repository / PATH).read_bytes()) == (before, edited)


def test_hand_written_parts_stay(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    text = codec.dumps(decision("Use A")).replace("status: active", "status: active  # for now")
    (repository / PATH).write_text(text.replace("\n", "\r\n"), encoding="utf-8", newline="")
    git(repository, "commit", "--quiet", "--all", "--message", "by hand")
    changed = replace(decision("Use A"), tags=("ids",))
    store.commit(lambda: Change(writes=(changed,), subject="decision: tag"))
    expected = text.replace(
        "last_validated: 2023-11-14T22:13:20Z\n", "last_validated: 2023-11-14T22:13:20Z\ntags: [ids]\n"
    )
    assert (repository / PATH).read_bytes() == expected.replace("\n", "\r\n").encode()


def test_line_ends_converted_on_checkout_are_no_edit(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    git(repository, "config", "core.autocrlf", "true")
    (repository / PATH).unlink()
    git(repository, "checkout", "--", PATH)
    assert b"\r\n" in (repository / PATH).read_bytes()
    store.commit(lambda: recording("Use A", rationale="Short."))
    assert git(repository, "show", f"HEAD:{PATH}") == codec.dumps(decision("Use A", "Short."))
    assert _state(repository)[1] == ""


def test_an_edit_with_converted_line_ends_is_committed_without_them(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    git(repository, "config", "core.autocrlf", "true")
    edited = codec.dumps(decision("Use A", "By hand.")).replace("\n", "\r\n")
    (repository / PATH).write_bytes(edited.encode())
    commit = str(store.commit(lambda: _mending(repository)).commit)
    assert store.repository.read_at(commit, PATH) == codec.dumps(decision("Use A", "Mended.")).encode()
    assert _state(repository)[1] == ""


def test_a_dry_run_writes_nothing(repository: Path) -> None:
    def listing() -> list[tuple[str, int]]:
        return [(str(p), p.lstat().st_mtime_ns) for p in sorted(repository.rglob("*"))]

    before = listing()
    outcome = Store(repository).commit(lambda: recording("Use A"), dry_run=True)
    lines = codec.dumps(decision("Use A")).splitlines(keepends=True)
    assert outcome.diff == f"--- /dev/null\n+++ b/{PATH}\n@@ -0,0 +1,{len(lines)} @@\n" + "".join(
        "+" + line for line in lines
    )
    assert (outcome.commit, outcome.written) == (None, (PATH,))
    assert listing() == before


def test_without_a_commit_only_the_file_is_written(repository: Path) -> None:
    before = _state(repository)
    outcome = Store(repository).commit(lambda: recording("Use A"), no_commit=True)
    assert (outcome.commit, outcome.written) == (None, (PATH,))
    assert (repository / PATH).read_text(encoding="utf-8") == codec.dumps(decision("Use A"))
    assert _state(repository) == (before[0], f"?? {PATH}\n", before[2])


def test_the_past_is_read_from_git(repository: Path) -> None:
    store = Store(repository)
    first = store.commit(lambda: recording("Use A")).commit
    store.commit(lambda: recording("Use A", "Use B", rationale="Short."))
    assert store.load_at(str(first)).decisions == [decision("Use A")]
    assert store.load_at("HEAD~2").decisions == []
    assert len(loaded(repository).decisions) == 2


@pytest.mark.parametrize("where", ["registry", "registry/decisions", "registry/decisions/2023-11", PATH])
def test_a_symbolic_link_is_never_followed(repository: Path, tmp_path: Path, where: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = repository / where
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    store = Store(repository)
    with pytest.raises((FormatError, WriteError), match=f"{PATH}: (cannot be read|Not a directory)"):
        store.commit(lambda: recording("Use A"))
    assert list(outside.iterdir()) == []
    assert loaded(repository).problems == (
        Problem(
            code="symlink",
            message="is a symbolic link, and links are not followed",
            path=where,
            fix="put the file itself here",
        ),
    )


def test_one_bad_file_hides_no_other(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A", "Use B", "Use C", "Use D"))
    (repository / PATH).write_bytes(b"\xff")
    other = path_of_text("Use B")
    (repository / other).write_text(codec.dumps(decision("Use C")), encoding="utf-8")
    (repository / path_of_text("Use D")).unlink()
    os.mkfifo(repository / path_of_text("Use D"))
    found = loaded(repository)
    assert found.decisions == [decision("Use C")]
    assert {str(problem) for problem in found.problems} == {
        f"{PATH}:1: is not UTF-8 text; save it as UTF-8",
        (
            f"{other}: decision_id: holds {decision('Use C').id}, whose place is {path_of_text('Use C')} "
            "(move the file there, or correct the id)"
        ),
        (
            f"{path_of_text('Use D')}: is a pipe, a socket or a device that the registry has no place for "
            "(move it elsewhere)"
        ),
    }


def test_strays_and_twins_are_named(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    shouted = PATH.replace("registry/decisions", "registry/Decisions")
    names = [
        shouted,
        "registry/notes.txt",
        PATH.replace("2023-11", "2023-12"),
        "registry/decisions/README.md",
    ]
    for name in names:
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("x", encoding="utf-8")
    found = loaded(repository)
    assert found.decisions == [decision("Use A")]
    assert [(problem.code, problem.path) for problem in found.problems] == [
        ("twin", "registry/Decisions"),
        ("format", PATH.replace("2023-11", "2023-12")),
        ("stray-file", "registry/decisions/README.md"),
        ("stray-file", "registry/notes.txt"),
    ]


@pytest.mark.parametrize("trailers", [(("Key", "two\nlines"),), (("Key\nForged: x", "v"),), (("Key", ""),)])
def test_trailers_are_single_lines(repository: Path, trailers: tuple[tuple[str, str], ...]) -> None:
    before = _state(repository)
    with pytest.raises(RuleError, match=r"^trailer: .* must be one line of text$"):
        Store(repository).commit(lambda: replace(recording("Use A"), trailers=trailers))
    assert _state(repository) == before


def _failing_at(failing: int, real: Callable[..., object]) -> Callable[..., object]:
    calls = [0]

    def broken(*args: object, **named: object) -> object:
        calls[0] += 1
        if calls[0] == failing:
            raise OSError(28, "No space left on device")
        return real(*args, **named)

    return broken


def test_without_a_commit_all_files_are_written_or_none(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    before = _state(repository)
    for failing in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", _failing_at(failing, os.replace))
            with pytest.raises(WriteError, match="`git gc --prune=now` in the registry may"):
                store.commit(lambda: recording("Use A", "Use B", rationale="Short."), no_commit=True)
        assert _state(repository) == before


@pytest.mark.parametrize("target", ["fsync", "replace", "link", "open"])
def test_a_failing_disk_leaves_nothing_behind(
    repository: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """Let the n-th call fail, for all n until the write comes through."""
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    before = _state(repository)
    real = getattr(os, target)
    for failing in range(1, 40):
        broken = _failing_at(failing, real)
        with monkeypatch.context() as patch:
            patch.setattr(os, target, broken)
            try:
                outcome = store.commit(lambda: recording("Use A", "Use B", rationale="Short."))
            except (WriteError, FormatError):
                assert _state(repository) == before
                continue
        assert failing > 1
        assert outcome.commit is not None
        break
    else:
        pytest.fail("the write never came through")
    assert _state(repository)[1] == ""
