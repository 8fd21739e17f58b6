"""`forgekit sync`: two clones of one registry, shared through a third repository by the git program."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from cli_runner import Cli
from clone_schedules import SEEDS
from git_clones import record, tree
from repositories import BORN, decision, git, path_of_text
from sample_entities import PROJECT, archive, conflict, conversation

from forgekit import sharing as sync_module
from forgekit.errors import DirtyFileError
from forgekit.forge import Forge
from forgekit.git import driver, remote
from forgekit.git.repository import Repository
from forgekit.model.entities import CompressionMode, DecisionStatus, Thread, entity_path
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Problem
from forgekit.sharing import MergedSides, refold, sync
from forgekit.times import Instant
from forgekit.upkeep.check import check

USE_A = decision("Use A", "Because.")
ARCHIVES = Path(__file__).parent.parent / "cases" / "archives"
PATH_A = path_of_text("Use A")
SHORT_A = short_id(Kind.DECISION, USE_A.id)


@pytest.fixture
def pair(tmp_path: Path, registry: Path) -> tuple[Path, Path]:
    """Return two clones that are shared through a bare repository beside them."""
    record(registry, *SEEDS[:2], USE_A)
    git(tmp_path, "clone", "--quiet", "--bare", str(registry), "hub.git")
    git(registry, "remote", "add", "origin", str(tmp_path / "hub.git"))
    git(tmp_path, "clone", "--quiet", "hub.git", "second")
    return registry, tmp_path / "second"


@pytest.mark.parametrize("ahead", [True, False])
def test_an_executable_file_comes_in_as_one(pair: tuple[Path, Path], cli: Cli, *, ahead: bool) -> None:
    one, two = pair
    script = one / "tools" / "run.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    git(one, "add", ".")
    git(one, "commit", "--quiet", "-m", "a script")
    assert cli("sync", root=one).code == 0
    if not ahead:
        record(two, decision("Use C"))
    ran = cli("sync", root=two)
    assert (ran.code, ran.out) == (0, "tools/run.sh\n")
    assert git(two, "ls-tree", "-r", "HEAD", "tools").startswith("100755 ")
    assert git(two, "status", "--porcelain") == ""
    assert (two / "tools" / "run.sh").stat().st_mode & 0o111


def test_a_file_that_one_side_made_executable_needs_a_person(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    (one / PATH_A).chmod(0o755)
    git(one, "commit", "--quiet", "-a", "-m", "a mode")
    assert cli("sync", root=one).code == 0
    ran = cli("sync", root=two)
    why = f"{PATH_A} was made executable, or no longer is; run `git merge` with the fetched branch, fix them"
    assert (ran.code, ran.err) == (1, f"forgekit: these need a person: {why}, commit, and sync again\n")


def test_work_goes_both_ways_and_a_second_time_changes_nothing(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    record(one, decision("Use B"))
    record(two, decision("Use C"))
    ran = cli("sync", root=one)
    assert (ran.code, ran.out, ran.err) == (0, "", "sync with origin/main: 0 files came in, pushed\n")
    ran = cli("sync", root=two)
    assert (ran.code, ran.out) == (0, path_of_text("Use B") + "\n")
    assert ran.err == "sync with origin/main: 1 file came in, pushed\n"
    ran = cli("sync", root=one)
    assert (ran.code, ran.out) == (0, path_of_text("Use C") + "\n")
    for root in pair:
        ran = cli("sync", root=root)
        assert (ran.out, ran.err) == ("", "sync with origin/main: 0 files came in, nothing to push\n")
        assert git(root, "status", "--porcelain") == ""
    assert tree(one) == tree(two)


def test_a_file_that_git_is_told_to_ignore_is_not_taken_for_the_one_that_comes_in(
    pair: tuple[Path, Path], cli: Cli
) -> None:
    one, two = pair
    record(one, decision("Use B"))
    assert cli("sync", root=one).code == 0
    path = path_of_text("Use B")
    (two / ".git/info/exclude").write_text("registry/decisions/\n", encoding="utf-8")
    (two / path).write_bytes((one / path).read_bytes())
    for options in ((), ("--dry-run",)):
        ran = cli("sync", *options, root=two)
        assert (ran.code, ran.err) == (1, f"forgekit: {DirtyFileError([path])}\n")
    (two / path).unlink()
    assert cli("sync", root=two).code == 0
    assert git(two, "ls-files", "--", path) == path + "\n"


def test_a_conflict_is_committed_told_and_ends_with_a_choice(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    record(one, replace(USE_A, epistemic_tier=0.2, tags=("one",)))
    record(two, replace(USE_A, epistemic_tier=0.6, tags=("two",)))
    assert cli("sync", root=one).code == 0
    ran = cli("sync", root=two)
    assert ran.code == 1
    assert ran.out == (
        f"{PATH_A}\n"
        f"{PATH_A}: epistemic_tier: '0.6' was kept; '0.2' is under `## Conflicting edits`\n"
        f"next: put the right text in {SHORT_A} (Use A), delete `## Conflicting edits`, "
        "then `forgekit check`\n"
    )
    for root in (two, one):
        later = cli("sync", root=root)
        assert (later.code, later.out.splitlines()[-1]) == (1, ran.out.splitlines()[-1])
        status = cli("status", root=root).out.split()
        assert status[status.index("conflicting") :][:3] == ["conflicting", "edits", SHORT_A]
    text = (two / PATH_A).read_text(encoding="utf-8")
    assert "tags: [one, two]\n" in text
    assert text.endswith(
        "## Rationale\n\nBecause.\n\n## Conflicting edits\n\n"
        "Both sides of a merge changed these, and a rule chose what stands above.\n"
        "Where the text below is the right one, put it in its place; then delete this section.\n\n"
        "### epistemic_tier\n\n    epistemic_tier: 0.2\n"
    )
    ran = cli("check", root=two)
    assert ran.code == 1
    assert ran.out == (
        f"error: {PATH_A}: two clones changed epistemic_tier in different ways "
        "(the section 'Conflicting edits' holds what yielded: put the right text in its place, "
        "then delete the section 'Conflicting edits')\n"
    )
    shown = cli("show", SHORT_A, root=two).out
    assert shown.endswith("  ### epistemic_tier\n\n      epistemic_tier: 0.2\n")
    chosen = text.partition("\n\n## Conflicting")[0].replace("0.6", "0.2") + "\n"
    (two / PATH_A).write_text(chosen, encoding="utf-8")
    assert cli("check", root=two).code == 0
    git(two, "commit", "--quiet", "--all", "--message", "choose")
    assert cli("sync", root=two).code == 0
    assert cli("sync", root=one).code == 0
    assert (one / PATH_A).read_text(encoding="utf-8") == chosen


def test_a_conflict_in_an_archive_is_chosen_in_its_front_matter(pair: tuple[Path, Path], cli: Cli) -> None:
    filed = archive(conversation("Resource ids"))
    record(pair[0], PROJECT, conversation("Resource ids"), filed)
    for root in (*pair, pair[0]):
        assert cli("sync", root=root).code == 0
    for root, mode in zip(pair, (CompressionMode.LOSSY, CompressionMode.PARTIAL), strict=True):
        record(root, replace(filed, compression_mode=mode))
    cli("sync", root=pair[0])
    ran = cli("sync", root=pair[1])
    path = entity_path(filed)
    assert ran.code == 1
    assert ran.out == (
        f"{path}\n"
        f"{path}: compression_mode: 'partial' was kept; 'lossy' is under `conflicting_edits`\n"
        f"next: put the right text in {short_id(Kind.ARCHIVE, filed.id)} ({filed.title}), "
        "delete `conflicting_edits`, then `forgekit check`\n"
    )


def test_two_revisions_of_one_decision_wait_for_a_person(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    for root, text in ((one, "Use B instead"), (two, "Use C instead")):
        assert cli("decision", "revise", SHORT_A, text, root=root).code == 0
    cli("sync", root=one)
    ran = cli("sync", root=two)
    assert ran.code == 1
    (conflict,) = cli("conflict", "list", "--json", root=two).json
    b, c = sorted(short_id(Kind.DECISION, conflict[side]) for side in ("decision_a", "decision_b"))
    name = short_id(Kind.CONFLICT, conflict["conflict_id"])
    assert conflict["nature"] == f"two revisions of {SHORT_A}"
    assert re.search(
        rf"({b} against {c}|{c} against {b}): two revisions of {SHORT_A}; neither is carried "
        rf"on until you choose: `forgekit conflict resolve {name} --keep dec_\w+ --reason TEXT` "
        r"\(or dec_\w+\), or `scope`, or `dismiss`\n",
        ran.out,
    )
    assert cli("check", root=two).code == 0
    assert "to settle      1 conflict noted, 0 contradictions found\n" in cli("status", root=two).out
    shown = cli("show", b, root=two).out
    assert name in shown or c in shown
    block = cli("prepare-compression", "--project", "The Nexus", root=two).out
    assert "Use B instead" in block
    assert "Use C instead" in block
    cli("sync", root=one)
    assert tree(one) == tree(two)
    assert cli("conflict", "resolve", name, "--keep", b, "--reason", "B is enough", root=one).code == 0
    for root in (one, two, one):
        assert cli("sync", root=root).code == 0
    assert tree(one) == tree(two)
    states = {row["decision"]: row["status"] for row in cli("decision", "list", "--json", root=two).json}
    assert sorted(states.values()) == ["active", "revised", "superseded"]


def test_one_revision_made_twice_stays_in_force_once(pair: tuple[Path, Path], cli: Cli) -> None:
    for root, at in zip(pair, ("2026-01-01", "2026-01-02"), strict=True):
        assert cli("decision", "revise", SHORT_A, "Use B", "--at", at, root=root).code == 0
    for root in (*pair, pair[0]):
        assert cli("sync", root=root).code == 0
    assert tree(pair[0]) == tree(pair[1])
    states = [row["status"] for row in cli("decision", "list", "--json", root=pair[0]).json]
    assert sorted(states) == ["active", "revised", "superseded"]
    assert (cli("conflict", "list", "--json").json, cli("check").code) == ([], 0)


def test_two_revisions_are_not_carried_on(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    source = str(ARCHIVES / "example_a.md")
    cli("sync-compression", "--archive", source, "--project", "The Nexus", root=one)
    for root in (one, two):
        cli("sync", root=root)
    (archive,) = cli("archive", "list", "--json", root=two).json
    old = next(iter(archive["records"].values()))
    for root, text in ((one, "Paint it blue"), (two, "Paint it green")):
        assert cli("decision", "revise", old, text, root=root).code == 0
    cli("sync", root=one)
    assert cli("sync", root=two).code == 1
    block = cli("prepare-continuation", "--tag", archive["compression_tag"], root=two).out
    assert "Paint it blue" in block
    assert "Paint it green" in block
    assert f"two revisions of {short_id(Kind.DECISION, old)}" in block


def test_one_thread_ended_in_two_ways(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    ran = cli("thread", "new", "Design pagination", "--project", "The Nexus", "--at", "2026-01-01", root=one)
    name = ran.out.strip()
    for root in pair:
        cli("sync", root=root)
    cli("thread", "resolve", name, "--resolution", "Cursors.", "--at", "2026-03-01", root=one)
    cli("thread", "abandon", name, "--at", "2026-02-01", root=two)
    cli("sync", root=one)
    ran = cli("sync", root=two)
    assert ran.code == 0
    assert ran.out.endswith(": 'abandoned' gave way to 'resolved', the later; the history holds both\n")
    (row,) = cli("thread", "list", "--json", root=two).json
    assert (row["status"], row["updated_at"]) == ("resolved", "2026-03-01T00:00:00Z")


def test_the_same_archive_filed_twice_is_one(pair: tuple[Path, Path], cli: Cli) -> None:
    for root in pair:
        ran = cli("sync-compression", "--archive", str(ARCHIVES / "example_a.md"), root=root)
        assert ran.code == 0, ran.err
    cli("sync", root=pair[0])
    ran = cli("sync", root=pair[1])
    assert (ran.code, ran.out) == (0, "")
    cli("sync", root=pair[0])
    assert tree(pair[0]) == tree(pair[1])
    assert cli("check", root=pair[0]).code == 0


def by_git(two: Path) -> None:
    """Merge as `git pull` does."""
    git(two, "fetch", "--quiet", "origin")
    git(two, "merge", "--quiet", "--no-edit", "origin/main")


@pytest.mark.parametrize(
    ("here", "there", "how"),
    [
        *((*pair, "sync") for pair in ("ab", "ba", "cd", "dc", "ad")),
        *(("a", "b", how) for how in ("stopped", "git", "pushed by git")),
    ],
)
def test_archives_filed_apart_are_read_together(
    pair: tuple[Path, Path],
    cli: Cli,
    here: str,
    there: str,
    how: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, two = pair
    git(tmp_path, "clone", "--quiet", "hub.git", "alone")
    for root, names in ((one, (here,)), (two, (there,)), (tmp_path / "alone", (here, there))):
        for name in names:
            source = str(ARCHIVES / f"example_{name}.md")
            ran = cli("sync-compression", "--archive", source, "--project", "The Nexus", root=root)
            assert ran.code == 0, ran.err
    assert cli("sync", root=one).code == 0
    if how == "stopped":
        with monkeypatch.context() as patched:
            patched.setattr(sync_module, "refold", stopped)
            assert cli("sync", root=two).code == 1
    elif how != "sync":
        by_git(two)
    if how == "pushed by git":
        git(two, "push", "--quiet")
    for root in (two, one, two):
        assert cli("sync", root=root).code == 0
    assert tree(one) == tree(two) == tree(tmp_path / "alone")


@pytest.mark.parametrize("parent", ["none", "ONE_DONE"])
def test_what_a_person_registered_is_one_though_two_clones_file_it_again(
    pair: tuple[Path, Path], cli: Cli, parent: str, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--quiet", "hub.git", "alone")
    alone = tmp_path / "alone"
    for tag, before, roots in (
        ("ONE_DONE", "none", (pair[0], alone)),
        ("TWO_DONE", parent, (pair[1], alone)),
    ):
        text = (
            f"# Conversation Archive: {tag}\n\n## Metadata\n- Project: The Nexus\n- Turns: 20\n"
            f"- Created: 2030-03-0{len(before)}T10:00:00Z\n- Last Compressed Tag: {tag}\n"
            f"- Previous Session: {before}\n\n## Decision Log\n\n### D001: Use A\n"
        )
        for root in roots:
            assert cli("sync-compression", "-", root=root, stdin=text.encode()).code == 0
    for root in (*pair, *pair):
        assert cli("sync", root=root).code == 0
    assert tree(pair[0]) == tree(pair[1]) == tree(alone)
    assert len(cli("decision", "list", "--json", root=alone).json) == 1


def stopped(*_: object) -> None:
    raise DirtyFileError(["registry/some/file.md"])


@pytest.mark.parametrize("who", [0, 1])
def test_what_git_has_merged_and_pushed_is_folded_once(
    pair: tuple[Path, Path], cli: Cli, monkeypatch: pytest.MonkeyPatch, who: int
) -> None:
    one, two = pair
    for root, text in ((one, "Offer the public API as REST"), (two, "The public API speaks GraphQL")):
        given = ("decision", "new", text, "--project", f"Project of {text}", "--at", "2026-03-01")
        assert cli(*given, root=root).code == 0
    git(one, "push", "--quiet", "origin", "main")
    by_git(two)
    git(two, "push", "--quiet", "origin", "main")
    git(one, "pull", "--quiet", "--ff-only", "origin", "main")
    first, second = pair[who], pair[1 - who]
    folded: list[MergedSides] = []

    def counted(forge: Forge, sides: MergedSides) -> Any:
        folded.append(sides)
        return refold(forge, sides)

    with monkeypatch.context() as patched:
        patched.setattr(sync_module, "refold", counted)
        for root in (first, second, first, second):
            assert cli("sync", root=root).code == 0
    assert len(folded) == 2, "each clone folds it once"
    assert tree(one) == tree(two)


def test_two_revisions_that_git_merged_wait_for_a_person_too(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    for root, text in ((one, "Use B instead"), (two, "Use C instead")):
        assert cli("decision", "revise", SHORT_A, text, root=root).code == 0
    assert cli("init", root=two).code == 0
    assert cli("sync", root=one).code == 0
    with pytest.raises(AssertionError, match=r"git merge .*: superseded_by: '\S+' was kept; "):
        by_git(two)
    git(two, "commit", "--quiet", "--all", "--no-edit")
    assert cli("conflict", "list", "--json", root=two).json == []
    ran = cli("sync", root=two)
    assert ran.code == 1
    (conflict,) = cli("conflict", "list", "--json", root=two).json
    assert conflict["nature"] == f"two revisions of {SHORT_A}"
    assert f": two revisions of {SHORT_A}; neither is carried on until " in ran.out
    assert cli("check", root=two).code == 0


@pytest.mark.parametrize("how", [("rebase", "origin/main"), ("cherry-pick", "HEAD@{1}")])
def test_two_revisions_in_one_line_of_commits_wait_for_a_person_too(
    pair: tuple[Path, Path], cli: Cli, how: tuple[str, str]
) -> None:
    one, two = pair
    for root, text in ((one, "Use B instead"), (two, "Use C instead")):
        assert cli("decision", "revise", SHORT_A, text, root=root).code == 0
    assert cli("init", root=two).code == 0
    assert cli("sync", root=one).code == 0
    git(two, "fetch", "--quiet", "origin")
    if how[0] == "cherry-pick":
        git(two, "reset", "--quiet", "--hard", "origin/main")
    with pytest.raises(AssertionError, match=rf"(?s)git {how[0]} .*: superseded_by: '\S+' was kept; "):
        git(two, *how)
    text = (two / PATH_A).read_text(encoding="utf-8")
    (two / PATH_A).write_text(text.partition("\n\n## Conflicting edits")[0] + "\n", encoding="utf-8")
    git(two, "add", ".")
    git(two, "-c", "core.editor=true", how[0], "--continue")
    [found] = check(Forge.open(two)).problems
    assert (found.code, git(two, "log", "--merges", "--format=%h")) == ("rival-revisions", "")
    assert cli("sync", root=two).code == 1
    (conflict,) = cli("conflict", "list", "--json", root=two).json
    assert conflict["nature"] == f"two revisions of {SHORT_A}"
    assert cli("check", root=two).code == 0
    assert cli("sync", root=two).code == 0
    assert cli("sync", root=one).code == 0
    assert tree(one) == tree(two)


@pytest.mark.parametrize("side", ["--ours", "--theirs"])
def test_a_choice_in_the_file_alone_leaves_two_revisions(
    pair: tuple[Path, Path], cli: Cli, side: str
) -> None:
    one, two = pair
    for root, new in ((one, "Use B instead"), (two, "Use C instead")):
        assert cli("decision", "revise", SHORT_A, new, root=root).code == 0
    assert cli("sync", root=one).code == 0
    with pytest.raises(AssertionError, match="git merge"):
        by_git(two)
    git(two, "checkout", "--quiet", side, "--", PATH_A)
    git(two, "commit", "--quiet", "--all", "--no-edit")
    before = (two / PATH_A).read_bytes()
    assert cli("sync", root=two).code == 1
    (conflict,) = cli("conflict", "list", "--json", root=two).json
    assert conflict["nature"] == f"two revisions of {SHORT_A}"
    assert (two / PATH_A).read_bytes() == before
    name = short_id(Kind.CONFLICT, conflict["conflict_id"])
    keep = short_id(Kind.DECISION, conflict["decision_a"])
    assert cli("conflict", "resolve", name, "--keep", keep, "--reason", "Enough", root=two).code == 0
    (two / ".git/forgekit/read-together").unlink()
    for root in (two, one):
        assert cli("sync", root=root).code == 0
    assert tree(one) == tree(two)


def test_an_successor_that_both_sides_knew_is_no_rival(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    b, c = decision("Use B"), decision("Use C")
    old = replace(USE_A, status=DecisionStatus.REVISED, superseded_by=b.id)
    record(one, b, c, old)
    for root in pair:
        assert cli("sync", root=root).code == 0
    record(one, replace(old, superseded_by=c.id))
    record(two, replace(old, tags=("two",)))
    for root in pair:
        assert cli("sync", root=root).code == 0
    assert cli("conflict", "list", "--json", root=two).json == []


def test_each_of_three_revisions_stands_against_each_other_though_git_merged_them(
    pair: tuple[Path, Path], cli: Cli
) -> None:
    one, two = pair
    b, c, d = sorted((decision(f"Use {name}") for name in "BCD"), key=lambda each: each.id)
    old = replace(USE_A, status=DecisionStatus.REVISED, superseded_by=b.id)
    for root, other in ((one, c), (two, d)):
        clash = conflict(b, other, nature=f"two revisions of {SHORT_A}")
        record(root, old, b, other, clash)
    git(one, "push", "--quiet", "origin", "main")
    by_git(two)
    assert cli("sync", root=two).code == 1
    found = cli("conflict", "list", "--json", root=two).json
    assert {(each["decision_a"], each["decision_b"]) for each in found} == {
        *combinations((b.id, c.id, d.id), 2)
    }


def test_a_decision_that_won_is_no_revision_of_the_one_that_lost(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    b = decision("Use B")
    clash = conflict(USE_A, b)
    record(one, b, clash)
    for root in pair:
        assert cli("sync", root=root).code == 0
    name, keep = short_id(Kind.CONFLICT, clash.id), short_id(Kind.DECISION, b.id)
    assert cli("conflict", "resolve", name, "--keep", keep, "--reason", "Enough", root=one).code == 0
    c = decision("Use C")
    old = replace(USE_A, status=DecisionStatus.REVISED, superseded_by=c.id)
    other = conflict(b, c, nature="exclude each other")
    record(two, old, c, other)
    assert cli("sync", root=one).code == 0
    ran = cli("sync", root=two)
    assert "two revisions" not in ran.out
    assert (
        cli("conflict", "show", short_id(Kind.CONFLICT, other.id), "--json", root=two).json["nature"]
        == other.nature
    )


def test_of_two_decisions_put_in_each_others_place_one_stands(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    stands, yields = sorted((USE_A, decision("Use B")), key=lambda each: each.id)
    record(one, stands, yields)
    for root in pair:
        assert cli("sync", root=root).code == 0
    for root, kept, lost in ((one, stands, yields), (two, yields, stands)):
        given = ("decision", "supersede", lost.id, "--by", kept.id)
        assert cli(*given, "--reason", f"{kept.decision}!", root=root).code == 0
    assert cli("sync", root=one).code == 0
    ran = cli("sync", root=two)
    assert ran.code == 1
    path, mark = entity_path(stands), "`## Conflicting edits`"
    assert ran.out.endswith(
        f".md\n{path}: status: 'active' was kept; 'superseded' is under {mark}\n"
        f"{path}: superseded_by: leaving it out was kept; '{yields.id}' is under {mark}\n"
        f"{path}: Superseded: leaving it out was kept; '## Superseded {yields.decision}!' is under {mark}\n"
        f"next: put the right text in {short_id(Kind.DECISION, stands.id)} ({stands.decision}), "
        f"delete {mark}, then `forgekit check`\n"
    )
    [active] = cli("decision", "list", "--status", "active", "--json", root=two).json
    assert active["decision_id"] == stands.id
    text = (two / path).read_text(encoding="utf-8")
    assert f"\n    superseded_by: {yields.id}\n" in text
    chosen = text.partition("\n\n## Conflicting")[0]
    (two / path).write_text(f"{chosen}\n", encoding="utf-8")
    git(two, "commit", "--quiet", "--all", "--message", "choose")
    assert cli("check", root=two).code == 0
    for root in (two, one):
        assert cli("sync", root=root).code == 0
    assert tree(one) == tree(two)


def test_a_changed_file_stays_where_the_other_side_deleted_it(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    (one / PATH_A).unlink()
    git(one, "commit", "--quiet", "--all", "--message", "delete")
    record(two, replace(USE_A, tags=("kept",)))
    cli("sync", root=one)
    ran = cli("sync", root=two)
    assert ran.code == 1
    kept = "the changed file was kept (`git rm` deletes it)"
    assert ran.out == f"{PATH_A}: one side deleted it and the other changed it; {kept}\n"
    cli("sync", root=one)
    assert "tags: [kept]" in (one / PATH_A).read_text(encoding="utf-8")


def test_a_text_that_two_clones_recorded_is_named_until_one_is_superseded(
    pair: tuple[Path, Path], cli: Cli
) -> None:
    one, two = pair
    for root, at in zip(pair, ("2026-01-01", "2026-01-02"), strict=True):
        given = ("decision", "new", "Use B", "--project", USE_A.project_name, "--at", at)
        assert cli(*given, root=root).code == 0
    assert cli("sync", root=one).code == 0
    ran = cli("sync", root=two)
    (command,) = re.findall(r"`forgekit (decision supersede dec_\w+ --by dec_\w+)` keeps one", ran.out)
    assert ran.code == 0
    assert f": decision: says the same as {command.split()[-1]}, and both are in force (" in ran.out
    ran = cli("check", root=two)
    assert (ran.code, ran.out.count("says the same")) == (0, 1)
    assert cli(*command.split(), root=two).code == 0
    assert "says the same" not in cli("check", root=two).out


def test_uncommitted_files_are_counted(pair: tuple[Path, Path], cli: Cli) -> None:
    (pair[0] / PATH_A).write_text((pair[0] / PATH_A).read_text("utf-8") + "\nMore.\n", encoding="utf-8")
    assert cli("sync", root=pair[0]).err == (
        "sync with origin/main: 0 files came in, nothing to push\n"
        "not shared: 1 uncommitted file (see `git status`); commit, then sync again\n"
    )


def test_a_sync_registers_the_merge_driver_where_there_is_none(pair: tuple[Path, Path], cli: Cli) -> None:
    assert driver.is_missing(Repository(pair[1]))
    assert cli("sync", root=pair[1]).code == 0
    assert driver.fault(Repository(pair[1])) == ""
    git(pair[1], "config", "merge.forgekit.driver", "another")
    assert cli("sync", root=pair[1]).code == 0
    assert git(pair[1], "config", "merge.forgekit.driver") == "another\n"


def test_a_deleted_file_is_called_so(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    git(one, "rm", "--quiet", PATH_A)
    git(one, "commit", "--quiet", "--message", "tidy")
    assert cli("sync", root=one).code == 0
    ran = cli("sync", root=two)
    assert (ran.code, ran.out) == (0, f"{PATH_A}: deleted\n")
    assert ran.err == "sync with origin/main: 0 files came in, 1 deleted, nothing to push\n"


def test_a_dry_run_shows_and_changes_nothing(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    record(one, replace(USE_A, tags=("one",)))
    cli("sync", root=one)
    record(two, replace(USE_A, epistemic_tier=0.5))
    before, there = tree(two), git(one, "ls-remote", "origin", "main")
    ran = cli("sync", "--dry-run", root=two)
    assert ran.code == 0
    assert "\n+tags: [one]\n" in ran.out
    assert ran.err == "sync with origin/main: 1 file would come in, would be pushed\n"
    assert (tree(two), git(one, "ls-remote", "origin", "main")) == (before, there)
    assert git(two, "status", "--porcelain") == ""


def test_json_says_what_came_of_it(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    record(one, replace(USE_A, epistemic_tier=0.2, last_validated=Instant(BORN + 1000)))
    record(two, replace(USE_A, epistemic_tier=0.6, last_validated=Instant(BORN + 2000)))
    cli("sync", root=one)
    assert cli("sync", "--dry-run", "--json", root=two).json["dry_run"]
    ran = cli("sync", "--json")
    assert ran.code == 1
    said = ran.json
    assert said.pop("commit") == git(two, "rev-parse", "HEAD").strip()
    assert said == {
        "remote": "origin",
        "branch": "main",
        "dry_run": False,
        "received": [PATH_A],
        "deleted": [],
        "sent": True,
        "conflicts": [
            {"path": PATH_A, "field": "epistemic_tier", "base": None, "stands": "0.6", "yields": "0.2"}
        ],
        "outlived": [
            {
                "path": PATH_A,
                "field": "last_validated",
                "base": "2023-11-14T22:13:20Z",
                "stands": "2023-11-14T22:13:22Z",
                "yields": "2023-11-14T22:13:21Z",
            }
        ],
        "rivals": [],
        "errors": [],
        "held_back": False,
        "repeated": [],
        "uncommitted": [],
        "unsettled": [USE_A.id],
    }


def test_somebody_else_may_be_first_again_and_again(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = pair
    record(two, decision("Use mine"))
    left = [decision(f"Use {word}") for word in ("B", "C", "D")]

    def push(repository: Repository, where: remote.Remote, commit: str) -> None:
        if left and repository.top == two:
            record(one, left.pop())
            sync(Forge.open(one))
        remote.push(repository, where, commit)

    monkeypatch.setattr(sync_module, "push", push)
    done = sync(Forge.open(two))
    assert done.sent
    assert {path_of_text(f"Use {word}") for word in ("B", "C", "D")} == set(done.received)
    sync(Forge.open(one))
    assert tree(one) == tree(two)


def test_the_branch_of_the_upstream_is_shared(pair: tuple[Path, Path], cli: Cli, tmp_path: Path) -> None:
    one, _ = pair
    git(tmp_path, "init", "--quiet", "--bare", "other.git")
    git(one, "remote", "add", "other", str(tmp_path / "other.git"))
    git(one, "config", "branch.main.remote", "other")
    git(one, "config", "branch.main.merge", "refs/heads/register")
    assert cli("sync", root=one).err == "sync with other/register: 0 files came in, pushed\n"
    assert git(one, "ls-remote", "other").split()[1] == "refs/heads/register"


def test_other_files_are_merged_as_text_or_refused(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    for root, line in ((one, "# one"), (two, "# two")):
        text = (root / "forgekit.toml").read_text(encoding="utf-8")
        (root / "forgekit.toml").write_text(f"{line}\n{text}" if root == one else f"{text}{line}\n")
        git(root, "commit", "--quiet", "--all", "--message", line)
    cli("sync", root=one)
    assert cli("sync", root=two).code == 0
    text = (two / "forgekit.toml").read_text(encoding="utf-8")
    assert text.startswith("# one\n")
    assert text.endswith("# two\n")
    cli("sync", root=one)
    for root, line in ((one, "# 1"), (two, "# 2")):
        (root / "forgekit.toml").write_text(text.replace("# one", line), encoding="utf-8")
        git(root, "commit", "--quiet", "--all", "--message", line)
    cli("sync", root=one)
    before = tree(two)
    ran = cli("sync", root=two)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "forgekit: these need a person: forgekit.toml was changed on both sides; run `git merge` with the "
        "fetched branch, fix them, commit, and sync again\n"
    )
    assert (tree(two), git(two, "status", "--porcelain")) == (before, "")


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("names", [("notes", "notes/a"), ("notes/a", "notes")])
def test_a_file_in_place_of_a_folder_needs_a_person(
    pair: tuple[Path, Path], cli: Cli, names: tuple[str, str], ahead: bool
) -> None:
    one, two = pair
    old, new = names
    (one / old).parent.mkdir(exist_ok=True)
    (one / old).write_text("old\n", encoding="utf-8")
    git(one, "add", "--all")
    git(one, "commit", "--quiet", "--message", "old")
    for root in pair:
        assert cli("sync", root=root).code == 0
    git(one, "rm", "--quiet", old)
    (one / new).parent.mkdir(exist_ok=True)
    (one / new).write_text("new\n", encoding="utf-8")
    git(one, "add", "--all")
    git(one, "commit", "--quiet", "--message", "new")
    assert cli("sync", root=one).code == 0
    if not ahead:
        record(two, decision("Use B"))
    ran = cli("sync", root=two)
    assert ran.code == 1
    assert ran.err == (
        "forgekit: these need a person: notes is a file on one side and a folder on the other; run "
        "`git merge` with the fetched branch, fix them, commit, and sync again\n"
    )
    git(two, "merge", "--quiet", "--no-edit", "origin/main")
    assert cli("sync", root=two).code == 0


def marks(root: Path) -> None:
    (root / PATH_A).write_text("---\n<<<<<<< ours\n", encoding="utf-8")


def midway(root: Path) -> None:
    (root / ".git" / "MERGE_HEAD").write_text(git(root, "rev-parse", "HEAD"), encoding="utf-8")


UNDER_WAY = "a merge, rebase or bisect is under way; end it (see `git status`), then sync"


def shallow(root: Path) -> None:
    record(root.parent / "registry", decision("Use B"))
    assert sync(Forge.open(root.parent / "registry")).sent
    git(root, "fetch", "--quiet", "--depth", "1", f"file://{root.parent / 'hub.git'}", "main")
    record(root, decision("Use D"))


def strangers(root: Path) -> None:
    shutil.rmtree(root / ".git")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "another beginning")
    git(root, "remote", "add", "origin", str(root.parent / "hub.git"))


NAMES_A_PROGRAM = (
    "{} in this clone's .git/config names a program to run; if you trust it, move it to your own settings "
    "(`git config --global`), else delete it (`git config --unset`)"
)
Breaking = Callable[[Path], Any]


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        (
            marks,
            f"there are conflict markers of an earlier merge in {PATH_A}:2; choose a side, commit, sync",
        ),
        *((breaks, UNDER_WAY) for breaks in (midway, lambda root: git(root, "bisect", "start"))),
        (
            strangers,
            "the two histories have no commit in common: this is another registry; look at `git remote -v`",
        ),
        (
            shallow,
            "this clone holds the last commits only, and none in common; `git fetch --unshallow`, then sync",
        ),
        (
            lambda root: git(root, "remote", "remove", "origin"),
            "there is no remote 'origin' to share main through; `git remote add origin URL` names one",
        ),
        (
            lambda root: git(root, "checkout", "--quiet", "--detach"),
            "no branch is checked out; `git switch` to the one to be shared",
        ),
        (
            lambda root: git(root, "remote", "set-url", "origin", "ext::touch pwned"),
            "'ext::touch pwned' would run a program; give remote origin the address of a repository",
        ),
        (
            lambda root: git(root, "config", "remote.origin.uploadpack", "touch pwned;"),
            NAMES_A_PROGRAM.format("remote.origin.uploadpack"),
        ),
        (
            lambda root: git(root, "config", "branch.main.merge", "--output=x"),
            "'origin' or '--output=x' is no name of a remote and a branch; see `.git/config`",
        ),
        (
            lambda root: git(root, "remote", "set-url", "origin", "/nowhere/hub.git"),
            (
                "origin/main cannot be reached or refuses: fatal: '/nowhere/hub.git' does not appear to be "
                "a git repository; nothing is lost here, run `forgekit sync` again when it can be"
            ),
        ),
    ],
)
def test_what_stands_in_the_way_is_one_sentence(
    pair: tuple[Path, Path], cli: Cli, breaks: Breaking, says: str
) -> None:
    _, two = pair
    breaks(two)
    before = tree(two)
    ran = cli("sync", root=two)
    assert (ran.code, ran.out, ran.err) == (1, "", f"forgekit: {says}\n")
    assert tree(two) == before
    assert list(two.rglob("pwned")) == []


@pytest.mark.parametrize(
    "key",
    [
        "core.alternaterefscommand",
        "gpg.program",
        "gpg.x509.program",
        "gpg.ssh.program",
        "gpg.ssh.defaultkeycommand",
    ],
)
def test_a_program_that_only_some_fetches_and_pushes_run(pair: tuple[Path, Path], cli: Cli, key: str) -> None:
    _, two = pair
    git(two, "config", key, "touch pwned")
    assert cli("sync", root=two).err == f"forgekit: {NAMES_A_PROGRAM.format(key)}\n"


def test_a_program_in_a_file_that_git_alone_includes(pair: tuple[Path, Path], cli: Cli) -> None:
    _, two = pair
    (two.parent / "more").write_text("[core]\n\tsshCommand = touch pwned\n", encoding="utf-8")
    git(two, "config", "includeIf.hasconfig:remote.*.url:**.path", str(two.parent / "more"))
    assert cli("sync", root=two).err == f"forgekit: {NAMES_A_PROGRAM.format('core.sshcommand')}\n"


def test_uncommitted_work_is_never_overwritten(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    record(one, replace(USE_A, tags=("one",)))
    cli("sync", root=one)
    for text in ("mine\n", (one / PATH_A).read_text(encoding="utf-8")):
        (two / PATH_A).write_text(text, encoding="utf-8")
        if text.startswith("---"):
            ran = cli("sync", root=two)
            assert ran.err == (
                f"forgekit: uncommitted changes in {PATH_A}; commit or undo them (`git restore`; "
                "a new file: delete it), then run this again\n"
            )
        assert cli("sync", root=two).code == 1
        assert (two / PATH_A).read_text(encoding="utf-8") == text
    git(two, "restore", PATH_A)
    assert cli("sync", root=two).code == 0


def test_a_registry_inside_a_larger_repository_is_left_to_git(tmp_path: Path, cli: Cli) -> None:
    git(tmp_path, "init", "--quiet")
    cli("init", str(tmp_path / "docs"))
    ran = cli("sync", root=tmp_path / "docs")
    assert ran.err == (
        f"forgekit: the registry is a part of the repository at {tmp_path}; use `git pull` and `git push` "
        "there: with the merge driver (`forgekit init`) they merge its files as `sync` would\n"
    )
    said = git(tmp_path, "check-attr", "merge", "docs/registry/threads/2026-01/x.md")
    assert said == "docs/registry/threads/2026-01/x.md: merge: forgekit\n"


def test_what_a_person_committed_is_pushed_without_secrets_and_errors_alone(
    pair: tuple[Path, Path], cli: Cli
) -> None:
    one, two = pair
    file = one / PATH_A
    good = file.read_text("utf-8")
    file.write_text(f"{good}\nghp_{'a1B2c3D4e5' * 3}f6G7h8\n", "utf-8")
    git(one, "commit", "-qam", "Add a note")
    bad = git(one, "rev-parse", "HEAD").strip()
    file.write_text(good, "utf-8")
    git(one, "commit", "-qam", "Take it out")
    ran = cli("sync", root=one)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"forgekit: {PATH_A}:")
    assert f" of commit {bad[:10]} looks like a secret (" in ran.err
    (name,) = re.findall("[0-9a-f]{8}(?=[)])", ran.err)
    assert ran.err.endswith(
        f", and nothing was pushed; take it out of that commit (`git rebase -i {bad[:10]}^`), "
        f"or add {name} to `allowed_secrets` in forgekit.toml\n"
    )
    git(one, "reset", "-q", "--hard", "HEAD~2")
    file.write_text(good.replace("status: active", "status: Active"), "utf-8")
    git(one, "commit", "-qam", "Edit")
    ran = cli("sync", root=one)
    assert ran.code == 1
    assert ran.err.startswith(
        f"forgekit: not pushed, since this must be fixed first (see `forgekit check`):\n  {PATH_A}:"
    )
    assert git(one, "rev-parse", "origin/main") == git(two, "rev-parse", "HEAD")
    git(one, "push", "-q", "origin", "main")
    ran = cli("sync", root=two)
    assert ran.code == 1
    assert ran.out.splitlines()[1].startswith(f"error: {PATH_A}:")


def test_a_verdict_that_two_clones_gave_in_different_ways_is_open_again(
    pair: tuple[Path, Path], cli: Cli
) -> None:
    one, two = pair
    a, b = sorted((USE_A, decision("Use B")), key=lambda each: each.id)
    clash = conflict(a, b)
    record(one, a, b, clash)
    for root in pair:
        assert cli("sync", root=root).code == 0
    for root, kept in ((one, a), (two, b)):
        given = ("conflict", "resolve", clash.id, "--keep", kept.id, "--reason", f"{kept.decision}!")
        assert cli(*given, root=root).code == 0
    assert cli("sync", root=one).code == 0
    ran = cli("sync", root=two)
    name, first, second = short_id(Kind.CONFLICT, clash.id), *(short_id(Kind.DECISION, d.id) for d in (a, b))
    assert ran.code == 1
    assert ran.out.splitlines()[-1] == (
        f"{first} against {second}: {clash.nature}; neither is carried on "
        f"until you choose: `forgekit conflict resolve {name} --keep {first} --reason TEXT` (or {second}), "
        "or `scope`, or `dismiss`"
    )
    assert cli("sync", root=one).code == 0
    assert tree(one) == tree(two)
    assert [row["status"] for row in cli("decision", "list", "--json", root=one).json] == ["active"] * 2
    assert (
        f"“{a.decision}”"
        not in cli("prepare-compression", "--project", a.project_name).out.split("Conflicts")[0]
    )
    assert cli("check").code == 0
    answers = [f"- resolved, kept {side}: {d.decision}!" for side, d in ((first, a), (second, b))]
    said = f"{name} was answered in different ways, and it is open again:"
    assert sorted(answers) == ran.out.splitlines()[-3:-1]
    assert ran.out.splitlines()[-4] == said
    assert cli("show", name).out.count(f"{b.decision}!") == 1
    assert cli("conflict", "resolve", name, "--keep", second, "--reason", "Cheaper").code == 0
    assert cli("check").code == 0


def test_a_verdict_that_keeps_a_side_here_and_both_there_is_open_again(
    pair: tuple[Path, Path], cli: Cli
) -> None:
    one, two = pair
    b = decision("Use B")
    clash = conflict(USE_A, b)
    record(one, b, clash)
    for root in pair:
        assert cli("sync", root=root).code == 0
    given = ("conflict", "resolve", clash.id, "--keep", USE_A.id, "--reason", "A: is sane")
    assert cli(*given, root=one).code == 0
    assert cli("conflict", "scope", clash.id, "--reason", "B in exports", root=two).code == 0
    assert cli("sync", root=one).code == 0
    ran = cli("sync", root=two)
    assert (ran.code, "Conflicting edits" in ran.out) == (1, False)
    assert f"- resolved, kept {SHORT_A}: A: is sane\n- scoped: B in exports\n" in ran.out
    assert cli("check", root=two).code == 0
    assert cli("sync", root=one).code == 0
    assert tree(one) == tree(two)
    [row] = cli("conflict", "list", "--json", root=one).json
    assert row["status"] == "open"
    assert {row["status"] for row in cli("decision", "list", "--json", root=one).json} == {"active"}


def test_an_unsettled_edit_is_marked_and_goes_into_no_revision(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    record(one, replace(USE_A, epistemic_tier=0.2))
    record(two, replace(USE_A, epistemic_tier=0.6))
    assert cli("sync", root=one).code == 0
    assert cli("sync", root=two).code == 1
    mark = "Use A [TWO VERSIONS OF epistemic_tier, NOT SETTLED]"
    assert mark in cli("prepare-compression", "--project", USE_A.project_name).out
    assert mark in cli("context", "use a").out
    settle = f"{SHORT_A} has two versions of epistemic_tier; `forgekit check` says how to settle it\n"
    assert settle in cli("decision", "edit", SHORT_A, "--governs", "src/*").err
    for command in (("search", "use a"), ("explain", "src/a.py"), ("decision", "list")):
        assert mark in cli(*command).out
    assert f"{SHORT_A} Use A [active] [TWO VERSIONS OF" in cli("ask", "What is there about use A?").out
    [hit] = [hit for hit in cli("search", "use a", "--json").json["hits"] if hit["id"] == USE_A.id]
    assert hit["unsettled"] is True
    assert "Both sides of a merge" not in cli("search", "because").out + cli("ask", "Why use A?").out
    new = cli("decision", "revise", SHORT_A, "Use A twice").out.strip()
    assert "Conflicting edits" not in cli("show", new).out


def test_two_revisions_that_git_merged_are_an_error_before_and_after_the_commit(
    pair: tuple[Path, Path], cli: Cli
) -> None:
    one, two = pair
    for root, text in ((one, "Use B instead"), (two, "Use C instead")):
        assert cli("decision", "revise", SHORT_A, text, root=root).code == 0
    assert cli("init", root=two).code == 0
    git(one, "push", "--quiet", "origin", "main")
    with pytest.raises(AssertionError, match=r"git merge .*: superseded_by: '\S+' was kept; "):
        by_git(two)
    text = (two / PATH_A).read_text(encoding="utf-8")
    (two / PATH_A).write_text(text.partition("\n\n## Conflicting edits")[0] + "\n", encoding="utf-8")

    def rivals(*paths: str) -> list[Problem]:
        problems = check(Forge.open(two), paths or None).problems
        return [problem for problem in problems if problem.code == "rival-revisions"]

    [found] = rivals(PATH_A)
    git(two, "commit", "--quiet", "--all", "--no-edit")
    assert (rivals(), rivals(PATH_A)) == ([found], []), "one file is looked at without the history"
    assert rivals("registry/projects/x.md") == []
    ids = re.findall(r"dec_\w+", found.message)
    assert found.message == f"{ids[0]} and {ids[1]} both revise {SHORT_A}, and both are in force"
    assert f"`forgekit conflict new {ids[0]} {ids[1]}` leaves it open" in found.fix
    git(two, "push", "--quiet", "origin", "main")
    git(two, "clone", "--quiet", "--depth=1", f"file://{two.parent}/hub.git", "shallow")
    assert cli("check", root=two / "shallow").code == 0, "its history is not there"
    assert cli("decision", "supersede", ids[0], "--by", ids[1], root=two).code == 0
    assert rivals() == []


@pytest.mark.parametrize("how", ["sync", "git"])
def test_what_only_the_merge_breaks_is_not_pushed(pair: tuple[Path, Path], cli: Cli, how: str) -> None:
    one, two = pair
    first, second = SEEDS[2:4] if how == "sync" else reversed(SEEDS[2:4])
    assert isinstance(first, Thread)
    assert isinstance(second, Thread)
    record(one, first, second)
    for root in pair:
        assert cli("sync", root=root).code == 0
    record(one, replace(first, blocked_by=(second.id,)))
    record(two, replace(second, blocked_by=(first.id,)))
    assert cli("sync", root=one).code == 0
    there = git(one, "rev-parse", "HEAD")
    if how == "git":
        by_git(two)
    for _ in range(2):
        ran = cli("sync", root=two)
        assert ran.code == 1
        assert "threads wait for each other in a circle" in ran.out
        assert ran.err.endswith(" in, not pushed: fix these errors, commit, then sync again\n")
        git(one, "fetch", "--quiet")
        assert git(one, "rev-parse", "origin/main") == there
    record(two, second)
    assert cli("sync", root=two).err.endswith(" in, pushed\n")


def test_nothing_is_pushed_onto_a_registry_that_a_deletion_broke(pair: tuple[Path, Path], cli: Cli) -> None:
    one, two = pair
    record(one, replace(decision("Use B"), dependencies=(USE_A.id,)))
    for root in pair:
        assert cli("sync", root=root).code == 0
    git(one, "rm", "--quiet", PATH_A)
    git(one, "commit", "--quiet", "--message", "delete")
    git(one, "push", "--quiet", "origin", "main")
    record(two, decision("Use C"))
    ran = cli("sync", "--json", root=two)
    assert (ran.code, ran.json["sent"], ran.json["held_back"]) == (1, False, True)
    record(two, USE_A)
    assert cli("sync", root=two).code == 0
