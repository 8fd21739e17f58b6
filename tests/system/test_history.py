"""What git remembers of an entity, printed without opening what the answer does not need."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import Cli
from repositories import decision, git, new_repository, path_of_text, recording

from forgekit.errors import NotFoundError, RepositoryError
from forgekit.forge import Forge
from forgekit.git.program import Program
from forgekit.history import entity_history, log
from forgekit.model.kinds import Kind, short_id
from forgekit.store import Change, Store

KEY = decision("Use A").id


def _graph(root: Path) -> Path:
    return root / ".git" / "objects" / "info" / "commit-graphs" / "commit-graph-chain"


def test_a_whole_id_and_every_other_name_give_the_same_history(repository: Path) -> None:
    store = Store(repository)
    commits = [
        store.commit(lambda: recording("Use A", "Use B")).commit,
        store.commit(lambda: recording("Use A", rationale="It is short.")).commit,
    ]
    forge = Forge.open(repository)
    for name in (KEY, KEY.upper(), short_id(Kind.DECISION, KEY), "Use A"):
        for kind in (None, "decision"):
            assert [commit.id for commit in entity_history(forge, name, kind=kind)] == commits[::-1]
            assert [commit.id for commit in entity_history(forge, name, kind=kind, limit=1)] == commits[1:]


def test_a_whole_id_of_another_kind_is_none_of_this_one(repository: Path) -> None:
    Store(repository).commit(lambda: recording("Use A"))
    with pytest.raises(NotFoundError, match=f"^no thread answers to '{KEY}'; find its id with"):
        entity_history(Forge.open(repository), KEY, kind="thread")


def test_what_was_deleted_answers_to_its_id(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    store.commit(lambda: Change(deletes=(path_of_text("Use A"),), subject="decision: drop"))
    for name in (KEY, short_id(Kind.DECISION, KEY)):
        subjects = [commit.subject for commit in entity_history(Forge.open(repository), name)]
        assert subjects == ["decision: drop", "decision: new"]
    with pytest.raises(NotFoundError):
        entity_history(Forge.open(repository), f"thr_{KEY[-12:]}")


def test_what_was_deleted_is_shown_as_of_the_commit_that_is_named(cli: Cli, registry: Path) -> None:
    name = cli("decision", "new", "Use A", "--project", "P", root=registry).out.strip()
    git(registry, "rm", "--quiet", cli("show", name, "--json").json["path"])
    git(registry, "commit", "--quiet", "--message", "drop it")
    commit = git(registry, "rev-parse", "HEAD")[:10]
    hint = f"it was deleted in {commit}; `forgekit show {name} --at {commit}~1` shows it"
    assert cli("show", name).err == f"forgekit: no entity answers to '{name}'; {hint}\n"
    assert cli("show", name, "--at", f"{commit}~1").out.startswith(f"{name}  Use A\n")


def test_what_is_not_committed_has_an_empty_history(repository: Path) -> None:
    Store(repository).commit(lambda: recording("Use A"), no_commit=True)
    for name in (KEY, "Use A"):
        assert entity_history(Forge.open(repository), name) == []


def test_a_branch_without_commits_has_no_history_and_a_broken_one_says_so(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "root")
    git(root, "checkout", "--quiet", "--orphan", "fresh")
    assert Program(root).log() == []
    (root / ".git" / "HEAD").write_text("ref: refs/heads/broken\n", encoding="utf-8")
    (root / ".git" / "refs" / "heads" / "broken").write_text("0\n", encoding="utf-8")
    with pytest.raises(RepositoryError, match=r"^refs/heads/broken cannot be read "):
        Program(root).log()


def test_the_history_of_one_entity_leaves_a_commit_graph_with_filters(repository: Path) -> None:
    Store(repository).commit(lambda: recording("Use A"))
    assert not _graph(repository).exists()
    entity_history(Forge.open(repository), KEY)
    (graph,) = _graph(repository).parent.glob("graph-*.graph")
    assert b"BIDX" in graph.read_bytes()
    git(repository, "commit-graph", "verify")
    stood = _graph(repository).stat().st_mtime_ns
    Store(repository).commit(lambda: recording("Use B"))
    entity_history(Forge.open(repository), KEY)
    assert _graph(repository).stat().st_mtime_ns == stood


def test_a_graph_that_cannot_be_written_is_done_without(repository: Path) -> None:
    Store(repository).commit(lambda: recording("Use A"))
    (repository / ".git" / "objects" / "info" / "commit-graphs").write_text("in the way", encoding="utf-8")
    assert len(entity_history(Forge.open(repository), KEY)) == 1


def test_a_missing_git_program_is_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(repository)
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(RepositoryError, match=r"^the git program is not on the PATH; install git$"):
        program.log()


def test_no_commit_is_said_on_stderr(cli: Cli, registry: Path) -> None:
    name = cli("decision", "new", "Use A", "--project", "P", "--no-commit", root=registry).out.strip()
    ran = cli("history", name)
    assert (ran.code, ran.out, ran.err) == (0, "", "not committed yet\n")


def test_what_an_entity_was_names_no_later_commit(cli: Cli, registry: Path) -> None:
    name = cli("decision", "new", "Use A", "--project", "P", root=registry).out.strip()
    cli("decision", "invalidate", name, "--reason", "It is over")
    at = [cli("show", name, "--at", revision, "--json").json for revision in ("HEAD~1", "HEAD")]
    assert [one["status"] for one in at] == ["active", "invalidated"]
    subjects = [one["provenance"]["last_commit"]["subject"] for one in at]
    assert subjects == [f"decision: add {name} Use A", f"decision: invalidate {name} Use A"]


def test_a_file_of_another_time_that_could_not_be_read_is_told(cli: Cli, registry: Path) -> None:
    name, other = (
        cli("decision", "new", text, "--project", "P", root=registry).out.strip() for text in ("A", "B")
    )
    path = registry / cli("show", name, "--json").json["path"]
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("status:", "<<<<<<< ours\nstatus:"), encoding="utf-8")
    git(registry, "commit", "--quiet", "--all", "--message", "by hand")
    path.write_text(text, encoding="utf-8")
    git(registry, "commit", "--quiet", "--all", "--message", "mended")
    ran = cli("show", name, "--at", "HEAD~1")
    assert (ran.code, ran.out) == (1, "")
    unread = f"its file could not be read at HEAD~1: {path.relative_to(registry)}:4: "
    assert ran.err.startswith(f"forgekit: no entity answers to '{name}'; {unread}")
    ran = cli("show", other, "--at", "HEAD~1")
    assert (ran.code, ran.err) == (0, "files of that time that could not be read: 1\n")
    assert cli("show", other, "--at", "HEAD").err == ""


def test_commits_of_one_second_are_in_their_order(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
    for place in ("registry/one.md", "archives/two.md", "registry/three.md"):
        (repository / place).parent.mkdir(exist_ok=True)
        (repository / place).touch()
        git(repository, "add", place)
        git(repository, "commit", "--quiet", "--message", place)
    forge = Forge.open(repository)
    newest = ["registry/three.md", "archives/two.md", "registry/one.md"]
    assert [commit.subject for commit in log(forge)] == newest
    assert [commit.subject for commit in log(forge, limit=2)] == newest[:2]
