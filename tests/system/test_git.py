"""Reading git: roots, revisions, history, and repositories that cannot be served."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from repositories import decision, git, loaded, new_repository, path_of_text, recording

from forgekit.decisions import create
from forgekit.errors import NoRegistryError, NotFoundError, RepositoryError
from forgekit.forge import Forge
from forgekit.git import program
from forgekit.git.repository import Head, Repository, diff
from forgekit.store import Store
from forgekit.times import parse_instant
from forgekit.worktree.roots import cache_dir, find_root, git_dirs, worktree_key


def test_the_root_is_the_nearest_parent_or_the_one_named(repository: Path, tmp_path: Path) -> None:
    inner = repository / "a/b"
    inner.mkdir(parents=True)
    assert find_root(inner, {}) == repository
    assert find_root(tmp_path, {"FORGEKIT_ROOT": "repo"}) == repository
    with pytest.raises(
        NoRegistryError, match=r"^no forgekit\.toml in /nowhere or above it; run `forgekit init`"
    ):
        find_root(Path("/nowhere"), {})
    with pytest.raises(NoRegistryError):
        find_root(inner, {"FORGEKIT_ROOT": str(inner)})


def test_git_folders_of_main_and_linked_work_trees(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    linked, common = git_dirs(tmp_path / "linked")
    assert (linked, common) == (repository / ".git/worktrees/linked", repository / ".git")
    assert git_dirs(repository) == (common, common)
    assert cache_dir(tmp_path / "linked") == cache_dir(repository) == common / "forgekit"
    assert (worktree_key(repository), worktree_key(tmp_path / "linked")) == ("main", "worktree-linked")


def test_outside_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RepositoryError, match=f"^{tmp_path} is in no git repository; run `git init` there first$"
    ):
        Repository(tmp_path)


def test_a_bare_repository_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "bare.git")
    with pytest.raises(RepositoryError, match=r"bare.git is a bare git repository; clone it and run this in"):
        Repository(tmp_path / "bare.git")


def test_a_sha256_repository_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "new")
    with pytest.raises(RepositoryError) as caught:
        Repository(tmp_path / "new")
    assert str(caught.value) == (
        f"{tmp_path}/new names its objects by SHA-256, which libgit2 cannot read; "
        "keep the registry in a repository made by `git init --object-format=sha1`"
    )


HOSTILE = [
    "--output=x",
    "-rf",
    "ext::sh -c true",
    "HEAD:../../x",
    "HEAD:forgekit.toml",
    ":/start",
    "HEAD^{/start}",
    "HEAD^{tree}",
    "HEAD\n",
    "",
    "\0",
    "a" * 10_000,
    "2026-02-30",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_revisions_are_refused(repository: Path, name: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        Repository(repository).resolve(name)
    assert str(caught.value) == f"no revision or date answers to {name!r}"
    assert {path.name for path in repository.iterdir()} == {".git", "forgekit.toml"}


def test_revisions_and_dates(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in ("2030-03-04T10:00:00Z", "2030-03-05T10:00:00Z"):
        monkeypatch.setenv("GIT_COMMITTER_DATE", day)
        git(repository, "commit", "--quiet", "--allow-empty", "--message", day)
    here = Repository(repository)
    first, second = git(repository, "rev-parse", "HEAD~1", "HEAD").split()
    git(repository, "tag", "--annotate", "--message", "m", "v1", first)
    assert here.resolve("HEAD") == here.resolve("main") == here.resolve(second[:8]) == second
    assert here.resolve("HEAD~1") == here.resolve("v1") == here.resolve("2030-03-04") == first
    assert here.resolve("2030-03-05T09:59:59Z") == first
    assert here.resolve("2030-03-05T10:00:00Z") == here.resolve("2031-01-01") == second
    with pytest.raises(NotFoundError, match=r"'1999-01-01'; it lies before the first commit$"):
        here.resolve("1999-01-01")


def test_heads(repository: Path) -> None:
    tip = git(repository, "rev-parse", "HEAD").strip()
    assert Repository(repository).head() == Head(ref="refs/heads/main", commit=tip)
    git(repository, "checkout", "--quiet", "--detach")
    assert Repository(repository).head() == Head(ref="HEAD", commit=tip)
    git(repository, "checkout", "--quiet", "--orphan", "fresh")
    assert Repository(repository).head() == Head(ref="refs/heads/fresh", commit=None)
    assert Repository(repository).log() == []
    assert Repository(repository).blobs(None) == {}


def test_history_of_one_file(repository: Path) -> None:
    store, path = Store(repository), path_of_text("Use A")
    first = store.commit(lambda: recording("Use A")).commit
    store.commit(lambda: recording("Use B"))
    second = store.commit(lambda: recording("Use A", rationale="It is short.")).commit
    here = Repository(repository)
    for _ in range(2):
        commits = here.log(path)
        assert [commit.id for commit in commits] == [second, first]
        here.keep_graph()
    assert commits[0].trailers == (("Forgekit-Op", "decision new"),)
    assert (commits[0].author, commits[0].subject) == ("Ada Example", "decision: new")
    assert [commit.id for commit in here.log(limit=1)] == [second]
    assert here.log(since=parse_instant("2100-01-01")) == []
    assert b"It is short" not in here.read_at(str(first), path)
    with pytest.raises(
        NotFoundError, match=f"^no file answers to 'forgekit.md'; commit {str(first)[:12]} does"
    ):
        here.read_at(str(first), "forgekit.md")


def test_a_write_has_many_single_objects_packed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_LOOSE", 1)
    git(repository, "config", "gc.auto", "1")
    git(repository, "config", "gc.autoDetach", "false")
    forge = Forge.open(repository)
    create(forge, "Use A", project="The Nexus")
    assert "in-pack: 0" in git(repository, "count-objects", "-v")
    for number in range(2_000):  # two of them are in the folder that is looked at
        content = f"blob {len(str(number))}\0{number}".encode()
        if hashlib.sha1(content, usedforsecurity=False).hexdigest().startswith("17"):
            git(repository, "hash-object", "-w", "--stdin", stdin=str(number))
    create(forge, "Use B", project="The Nexus")
    assert "in-pack: 0" not in git(repository, "count-objects", "-v")
    assert [d.decision for d in loaded(repository).decisions] == ["Use A", "Use B"]


def test_a_path_is_literal_in_the_history(repository: Path) -> None:
    Store(repository).commit(lambda: recording("Use A"))
    assert Repository(repository).log("registry/*") == []
    assert Repository(repository).log(":(top)registry") == []


def test_nothing_of_the_repository_is_run(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = repository / "canary"
    script = repository / ".git/run"
    script.write_text(f"#!/bin/sh\ntouch {canary}\n", encoding="utf-8")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "diff.external", "core.editor", "filter.x.clean"):
        git(repository, "config", key, str(script))
    (repository / ".git/info/attributes").write_text("* filter=x\n", encoding="utf-8")
    hook = repository / ".git/hooks/reference-transaction"
    hook.write_bytes(script.read_bytes())
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(script))
    Store(repository).commit(lambda: recording("Use A"))
    here = Repository(repository)
    here.log(path_of_text("Use A"))
    here.changed_paths()
    assert not canary.exists()


def test_hooks_variables_do_not_lead_elsewhere(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    outcome = Store(repository).commit(lambda: recording("Use A"))
    assert [commit.id for commit in Repository(repository).log(limit=1)] == [outcome.commit]


def test_uncommitted_and_staged(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A", "Use B"))
    (repository / "registry/new.md").write_text("new", encoding="utf-8")
    (repository / path_of_text("Use A")).write_text("edited", encoding="utf-8")
    (repository / path_of_text("Use B")).write_text("staged", encoding="utf-8")
    (repository / "elsewhere").write_text("x", encoding="utf-8")
    git(repository, "add", path_of_text("Use B"), "elsewhere")
    here = Repository(repository)
    changed = [path_of_text("Use A"), path_of_text("Use B"), "registry/new.md"]
    assert here.changed_paths() == here.status() == sorted(changed)
    git(repository, "config", "filter.x.smudge", "cat")
    assert here.status() is None
    assert here.staged() == [(path_of_text("Use B"), b"staged")]


def test_who_commits(repository: Path) -> None:
    here = Repository(repository)
    who = here.identity(
        "AUTHOR", {"GIT_AUTHOR_NAME": "Eve\nforged <x>", "GIT_AUTHOR_EMAIL": "eve@example.org"}
    )
    assert (who.name, who.email) == ("Eveforged x", "eve@example.org")
    assert here.identity("COMMITTER", {}).name == "Ada Example"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("", "no email was given and auto-detection is disabled"),
        ("[user]\nemail = ada@example.org\n", "no name was given and auto-detection is disabled"),
        ("[user]\nname = Ada\nemail =\n", "no email"),
    ],
)
def test_nobody_commits(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, reason: str
) -> None:
    (tmp_path / "mine").write_text(settings, encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "mine"))
    with pytest.raises(RepositoryError) as caught:
        Repository(repository).identity("AUTHOR", {})
    assert str(caught.value) == (
        f'git does not know who you are ({reason}); run `git config --global user.name "Your Name"` and '
        "`git config --global user.email you@example.org`"
    )


def test_who_commits_is_who_git_says(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings that libgit2 does not read: another global file, one included by the remote, an author's."""
    (tmp_path / "mine").write_text("[user]\nname = Mine\nemail = mine@example.org\n", encoding="utf-8")
    (tmp_path / "work").write_text("[user]\nname = Work\nemail = work@example.org\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "mine"))
    assert Repository(repository).identity("AUTHOR").name == "Mine"
    git(repository, "remote", "add", "origin", "https://work.example/registry")
    key = "includeIf.hasconfig:remote.*.url:https://work.example/**.path"
    git(repository, "config", "--file", str(tmp_path / "mine"), key, str(tmp_path / "work"))
    git(repository, "config", "author.email", "author@example.org")
    Store(repository).commit(lambda: recording("Use A"))
    assert git(repository, "log", "-1", "--format=%an <%ae> %cn <%ce>") == (
        "Work <author@example.org> Work <work@example.org>\n"
    )


def test_diffs() -> None:
    assert diff(None, b"a\n", "x") == "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
    assert diff(b"a\n", None, "x") == "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert diff(b"a\x0bb", b"a\x0bc\n", "x") == (
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\x0bb\n\\ No newline at end of file\n+a\x0bc\n"
    )


def test_a_registry_in_a_folder_of_a_repository(repository: Path) -> None:
    inner = repository / "docs/register"
    inner.mkdir(parents=True)
    (inner / "forgekit.toml").touch()
    store = Store(inner)
    outcome = store.commit(lambda: recording("Use A"))
    here = Repository(inner)
    assert list(here.blobs(outcome.commit)) == [path_of_text("Use A")]
    assert [commit.id for commit in here.log(path_of_text("Use A"))] == [outcome.commit]
    assert git(repository, "show", "--name-only", "--format=") == f"docs/register/{path_of_text('Use A')}\n"
    assert store.load_at("HEAD").decisions == [decision("Use A")]
    assert git(repository, "status", "--porcelain") == "?? docs/register/forgekit.toml\n"
