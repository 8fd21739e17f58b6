"""What git remembers of an entity, printed without opening what the answer does not need."""

from __future__ import annotations

from pathlib import Path

import pytest
from clirun import Cli
from support import decision, git, new_repository, path_of_text, recording

from forgekit.errors import NotFoundError, RepositoryError
from forgekit.forge import Forge
from forgekit.git.program import Program
from forgekit.history import entity_history
from forgekit.model.kinds import Kind, short_id
from forgekit.store.store import Change, Store

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
        for kinds in ((), (Kind.DECISION,)):
            assert [commit.id for commit in entity_history(forge, name, kinds)] == commits[::-1]
            assert [commit.id for commit in entity_history(forge, name, kinds, 1)] == commits[1:]


def test_a_whole_id_of_another_kind_is_none_of_this_one(repository: Path) -> None:
    Store(repository).commit(lambda: recording("Use A"))
    with pytest.raises(NotFoundError, match=f"^no thread answers to '{KEY}'; find its id with"):
        entity_history(Forge.open(repository), KEY, (Kind.THREAD,))


def test_what_was_deleted_answers_to_its_id(repository: Path) -> None:
    store = Store(repository)
    store.commit(lambda: recording("Use A"))
    store.commit(lambda: Change(deletes=(path_of_text("Use A"),), subject="decision: drop"))
    subjects = [commit.subject for commit in entity_history(Forge.open(repository), KEY, ())]
    assert subjects == ["decision: drop", "decision: new"]


def test_what_is_not_committed_has_an_empty_history(repository: Path) -> None:
    Store(repository).commit(lambda: recording("Use A"), no_commit=True)
    for name in (KEY, "Use A"):
        assert entity_history(Forge.open(repository), name, ()) == []


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
    entity_history(Forge.open(repository), KEY, ())
    (graph,) = _graph(repository).parent.glob("graph-*.graph")
    assert b"BIDX" in graph.read_bytes()
    git(repository, "commit-graph", "verify")
    stood = _graph(repository).stat().st_mtime_ns
    Store(repository).commit(lambda: recording("Use B"))
    entity_history(Forge.open(repository), KEY, ())
    assert _graph(repository).stat().st_mtime_ns == stood


def test_a_graph_that_cannot_be_written_is_done_without(repository: Path) -> None:
    Store(repository).commit(lambda: recording("Use A"))
    (repository / ".git" / "objects" / "info" / "commit-graphs").write_text("in the way", encoding="utf-8")
    assert len(entity_history(Forge.open(repository), KEY, ())) == 1


def test_a_missing_git_program_is_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(repository)
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(RepositoryError, match=r"^the git program is not on the PATH; install git$"):
        program.log()


def test_no_commit_is_said_on_stderr(cli: Cli, registry: Path) -> None:
    name = cli("decision", "new", "Use A", "--project", "P", "--no-commit", root=registry).out.strip()
    ran = cli("history", name)
    assert (ran.code, ran.out, ran.err) == (0, "", "not committed yet\n")
