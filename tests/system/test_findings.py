"""Findings in real repositories: what is judged, where it shows, and how a person answers."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_runner import Cli
from fake_judge import FakeJudge, give, install
from repositories import files, git

from forgekit import conflicts, decisions
from forgekit.briefing.answers import ask
from forgekit.briefing.blocks import prepare_compression
from forgekit.conflict.judge import Calibration, LevelCalibration
from forgekit.context import context_load
from forgekit.errors import DirtyFileError, NotFoundError, RuleError, TransitionError
from forgekit.findings import findings_of, of_written
from forgekit.forge import Forge, WriteOptions
from forgekit.ids import pair_id
from forgekit.index.finding_cache import CACHE_FILE
from forgekit.model.entities import ConflictStatus, Decision, DecisionStatus, entity_path
from forgekit.model.kinds import Kind, short_id
from forgekit.times import DAY_MS, Instant, parse_instant
from forgekit.upkeep.check import check
from forgekit.worktree.roots import cache_dir

NOW = parse_instant("2026-09-20T09:00:00Z")
SQL, MONGO = "Use PostgreSQL as the primary database", "Use MongoDB as the primary database"
MAYBE = "Maybe use SQLite as the primary database"
EAT = "Eat lunch together"


@pytest.fixture
def forge(repository: Path) -> Forge:
    forge = replace(Forge.open(repository), now=lambda: NOW)
    give(forge)
    return forge


@pytest.fixture
def judge(forge: Forge) -> FakeJudge:
    found = vars(forge)["judge"]
    assert isinstance(found, FakeJudge)
    return found


def made(forge: Forge, text: str, tier: float | None = None, project: str = "Ledger") -> Decision:
    found = decisions.create(forge, text, project=project, tier=tier).entity
    assert isinstance(found, Decision)
    return found


def dec(decision: Decision) -> str:
    return short_id(Kind.DECISION, decision.id)


def test_a_decision_is_written_without_a_judgement_and_its_findings_come_after(
    forge: Forge, judge: FakeJudge
) -> None:
    one, other = made(forge, SQL), made(forge, MONGO)
    made(forge, EAT)
    assert judge.asked == []
    assert forge.registry().conflicts == []
    found = of_written(forge, [other], [entity_path(other)])
    assert [{f.a.id, f.b.id} for f in found.conflicts] == [{one.id, other.id}]
    assert (MONGO, SQL) in judge.asked
    assert git(forge.root, "status", "--porcelain") == ""


def test_a_judgement_is_asked_for_once_and_again_after_a_new_version(forge: Forge, judge: FakeJudge) -> None:
    made(forge, SQL)
    made(forge, MONGO)
    for _ in range(2):
        assert len(findings_of(forge, forge.registry()).conflicts) == 1
    assert len(judge.asked) == 1
    vars(forge)["judge"] = newer = FakeJudge("fake-2", silent=True)
    assert findings_of(forge, forge.registry()).conflicts == ()
    assert len(newer.asked) == 1
    (cache_dir(forge.root) / CACHE_FILE).write_bytes(b"damage")
    assert findings_of(forge, forge.registry()).judged == 1


def test_findings_of_unchanged_decisions_are_remembered_and_made_anew_after_a_change(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = made(forge, SQL), made(forge, MONGO)
    first = findings_of(forge, forge.registry())
    with monkeypatch.context() as patch:
        patch.setattr("forgekit.findings._sharing", lambda *_: pytest.fail("paired again"))
        assert findings_of(forge, forge.registry()) == first
        assert findings_of(forge, forge.registry(), {one.id}, wait_ms=0).conflicts == first.conflicts
    made(forge, MAYBE)
    assert len(findings_of(forge, forge.registry()).possible) == 2
    conflicts.settle(forge, short_id(Kind.CONFLICT, first.conflicts[0].id), "both are used", "dismissed")
    assert findings_of(forge, forge.registry()).conflicts == ()


def test_a_write_that_is_judged_alone_keeps_the_findings_of_other_pairs(forge: Forge) -> None:
    made(forge, SQL)
    made(forge, MONGO)
    first = findings_of(forge, forge.registry())
    third = made(forge, EAT)
    of_written(forge, [third], [entity_path(third)])
    found = findings_of(forge, forge.registry(), wait_ms=0)
    assert found.conflicts == first.conflicts
    assert found.unjudged == 0


def test_sides_in_either_order_give_one_finding(forge: Forge) -> None:
    made(forge, MONGO)
    made(forge, SQL)
    [finding] = findings_of(forge, forge.registry()).conflicts
    told = {finding.a.decision: finding.judgement.words[0], finding.b.decision: finding.judgement.words[1]}
    assert told == {SQL: ("postgresql",), MONGO: ("mongodb",)}


def test_findings_of_some_decisions_are_those_of_all_that_touch_them(forge: Forge) -> None:
    every = [made(forge, text, project=p) for p in ("Ledger", "Harbour") for text in (SQL, MONGO, EAT)]
    registry = forge.registry()
    whole = findings_of(forge, registry)
    assert len(whole.conflicts) == 4
    for decision in every:
        some = findings_of(forge, registry, {decision.id})
        assert some.conflicts == tuple(f for f in whole.conflicts if decision.id in f.sides)


def test_what_was_not_judged_in_time_is_counted(forge: Forge) -> None:
    made(forge, SQL)
    made(forge, MONGO)
    findings_of(forge, forge.registry())
    vars(forge)["judge"] = FakeJudge("fake-3")
    found = findings_of(forge, forge.registry(), wait_ms=0)
    assert (found.conflicts, found.judged, found.unjudged) == ((), 0, 1)


def test_without_a_judge_there_are_no_findings_and_status_alone_says_what_to_do(
    cli: Cli, registry: Path
) -> None:
    cli("decision", "new", SQL, "--project", "Ledger", root=registry)
    ran = cli("decision", "new", MONGO, "--project", "Ledger")
    assert len(ran.err.splitlines()) == 1
    for command in (("conflict", "list"), ("prepare-compression",), ("search", "database"), ("stale",)):
        ran = cli(*command)
        assert "judge" not in ran.out + ran.err, command
    status = cli("status")
    assert [line.split()[0] for line in status.out.splitlines() if "judge" in line] == ["judge"]
    assert cli("status", "--json").json["judge_missing"]


def test_a_block_shows_findings_and_carries_neither_side(forge: Forge) -> None:
    one, other = made(forge, SQL, 0.9), made(forge, MONGO, 0.8)
    made(forge, EAT, 0.9)
    findings_of(forge, forge.registry())
    block = prepare_compression(forge, "Ledger")
    shown, _, in_force = block.text.partition("### Decisions In Force")
    assert f"{dec(one)} (tier 0.9): {SQL} [by hand, " in shown
    assert f"{dec(other)} (tier 0.8): {MONGO} [by hand, " in shown
    assert EAT in in_force
    assert SQL not in in_force
    assert MONGO not in in_force
    shown_as: list[dict[str, Any]] = block.data()["conflicts"]  # type: ignore[assignment] # JSON
    assert [(view["status"], sorted(view["texts"])) for view in shown_as] == [("found", [MONGO, SQL])]
    context = str(context_load(SQL, forge=forge)["context_text"])
    assert context.count("[IN AN OPEN CONFLICT]") == 2
    assert "[IN AN OPEN CONFLICT]" in ask(forge, "What decisions are in force?").text
    assert (
        "- It is in an open conflict: `forgekit conflict list`"
        in ask(forge, f"Why did we decide {dec(one)}?").text
    )
    assert "open conflict" not in ask(forge, f"Why did we decide to {EAT}?").text
    when = ask(forge, f"When did we decide {dec(one)}?").text.splitlines()
    assert when[2].startswith("Recorded 20")
    assert when[4] == "- It is in an open conflict: `forgekit conflict list`"


def test_answers_and_context_mark_what_may_be_in_conflict(forge: Forge) -> None:
    texts = [made(forge, text).title for text in (SQL, MAYBE)]
    assert findings_of(forge, forge.registry()).possible
    assert str(context_load(texts[0], forge=forge)["context_text"]).count(" [POSSIBLY IN CONFLICT]") == 2
    assert ask(forge, "What decisions are in force?").text.count(" [POSSIBLY IN CONFLICT]") == 2
    assert "- It may be in an open conflict: " in ask(forge, f"Why did we decide to {texts[0]}?").text


def test_a_block_carries_neither_side_of_a_conflict_that_is_stale(forge: Forge) -> None:
    one, other = made(forge, SQL, 0.7), made(forge, MONGO, 0.7)
    later = replace(forge, now=lambda: Instant(NOW + 400 * DAY_MS))
    give(later)
    findings_of(later, later.registry())
    block = prepare_compression(later, "Ledger")
    shown, _, machine = block.text.partition("<!--")
    assert "### Revalidation Required" not in shown
    assert "active" not in machine
    assert dec(one) not in machine
    assert dec(other) not in machine


def test_a_block_says_how_many_pairs_wait_for_the_judge(
    forge: Forge, judge: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(forge, SQL)
    made(forge, MONGO)
    monkeypatch.setattr("forgekit.briefing.blocks.BLOCK_WAIT_MS", 0)
    block = prepare_compression(forge, "Ledger")
    assert "1 pair not judged yet (`forgekit conflict scan`)" in block.text
    assert block.data()["unjudged_pairs"] == 1
    assert judge.asked == []


def test_a_much_lower_tier_yields_is_shown_and_is_not_rewritten(forge: Forge) -> None:
    high, low = made(forge, SQL, 0.9), made(forge, MONGO, 0.3)
    before = files(forge.root)
    block = prepare_compression(forge, "Ledger")
    head, _, in_force = block.text.partition("### Decisions In Force")
    sides = (f"{dec(low)} (tier 0.3): {MONGO}", f"{dec(high)} (tier 0.9): {SQL}")
    assert re.search(r"\| {} \[by hand, [\d-]+\] \| {} \[by hand,".format(*map(re.escape, sides)), head)
    assert SQL in in_force
    assert MONGO not in in_force
    assert block.data()["conflicts"] == []
    assert files(forge.root) == before
    assert all(d.status is DecisionStatus.ACTIVE for d in forge.registry().decisions)
    written = conflicts.resolve(forge, dec(low), dec(high), "the tier says so")
    assert written.entity.id == pair_id(high.id, low.id)
    lost = forge.registry().get(low.id)
    assert isinstance(lost, Decision)
    assert (lost.status, lost.superseded_by) == (DecisionStatus.SUPERSEDED, high.id)


@pytest.mark.parametrize("status", ["resolved", "scoped", "dismissed"])
@pytest.mark.parametrize("form", ["finding", "decision"])
def test_a_person_answers_a_finding_and_a_file_says_so(forge: Forge, status: str, form: str) -> None:
    one, other = made(forge, SQL), made(forge, MONGO)
    [finding] = of_written(forge, [other], [entity_path(other)]).conflicts
    name = short_id(Kind.CONFLICT, finding.id) if form == "finding" else dec(one)
    if status == "resolved":
        conflicts.resolve(forge, name, dec(other), "measured")
    else:
        conflicts.settle(forge, name, "one is about tests", status)
    [verdict] = forge.registry().conflicts
    assert (verdict.id, verdict.status.value) == (finding.id, status)
    assert findings_of(forge, forge.registry()).conflicts == ()
    assert check(forge).problems == ()
    said = short_id(Kind.CONFLICT, finding.id)
    if status == "resolved":
        with pytest.raises(TransitionError, match=f"{said} is already {status}"):
            conflicts.settle(forge, said, "again", "dismissed")
        return
    conflicts.settle(forge, said, "on second thoughts", "scoped")
    [verdict] = forge.registry().conflicts
    assert (verdict.status.value, verdict.reason) == ("scoped", "on second thoughts")
    text = f"[SCOPED beside {dec(other)}: on second thoughts]"
    assert text in prepare_compression(forge, "Ledger").text


def test_a_person_names_a_contradiction_that_nothing_found(forge: Forge) -> None:
    one, other = made(forge, SQL), made(forge, "Concerts are in May")
    conflict = conflicts.create(forge, dec(one), dec(other), nature="the hall is taken").entity
    assert [c.nature for c in forge.registry().conflicts] == ["the hall is taken"]
    assert conflicts.create(forge, dec(other), dec(one)).entity == conflict
    with pytest.raises(RuleError) as refused:
        conflicts.create(forge, dec(one), dec(one))
    assert str(refused.value) == "a conflict is between two decisions; both names mean one"


def test_a_new_text_brings_the_finding_back(forge: Forge) -> None:
    made(forge, SQL)
    other = made(forge, MONGO)
    conflicts.settle(forge, dec(other), "one is about tests", "dismissed")
    decisions.revise(forge, dec(other), "Use MongoDB for everything")
    assert len(findings_of(forge, forge.registry()).conflicts) == 1


def test_a_name_that_means_no_conflict_or_several_is_refused(forge: Forge) -> None:
    one = made(forge, SQL)
    made(forge, EAT)
    with pytest.raises(NotFoundError, match="no open conflict answers to"):
        conflicts.settle(forge, dec(one), "no", "dismissed")
    with pytest.raises(NotFoundError):
        conflicts.settle(forge, "cfl_0123456789ab", "no", "dismissed")
    made(forge, MONGO)
    made(forge, MONGO, project="Harbour")
    with pytest.raises(RuleError, match="has several open conflicts"):
        conflicts.settle(forge, dec(one), "no", "scoped")


def test_a_finding_of_a_decision_that_has_ended_since_cannot_be_answered(forge: Forge) -> None:
    made(forge, SQL)
    other = made(forge, MONGO)
    [finding] = of_written(forge, [other], [entity_path(other)]).conflicts
    decisions.invalidate(forge, dec(other), "too slow")
    with pytest.raises(NotFoundError):
        conflicts.settle(forge, short_id(Kind.CONFLICT, finding.id), "no", "scoped")


def test_lists_name_both_texts_and_the_level(forge: Forge) -> None:
    one, other = made(forge, SQL), made(forge, MONGO)
    made(forge, MAYBE)
    of_written(forge, forge.registry().decisions, map(entity_path, forge.registry().decisions))
    conflicts.settle(
        forge, short_id(Kind.CONFLICT, conflicts.named(forge, dec(one), other.id).id), "both", "scoped"
    )
    rows, _ = conflicts.listed(forge, forge.registry())
    assert sorted(row.state for row in rows) == ["possible", "possible", "scoped"]
    assert all(None not in row.sides for row in rows)
    views = decisions.decision_conflicts(forge=forge)
    assert [view["level"] for view in views] == ["possible", "possible"]
    assert all(MAYBE in view["texts"] for view in views)  # type: ignore[operator] # JSON
    assert {view["status"] for view in views} == {"possible"}


def test_a_revision_in_another_month_is_no_conflict_with_what_it_replaces(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    cli("decision", "new", SQL, "--project", "Ledger", "--at", "2026-01-02", root=registry)
    ran = cli("decision", "revise", SQL, MONGO)
    assert ran.code == 0
    assert "conflict" not in ran.err
    assert cli("conflict", "list").out == ""


def test_a_scan_writes_nothing(cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    for text in (SQL, MONGO, MAYBE):
        ran = cli("decision", "new", text, "--project", "Ledger", root=registry)
    assert "possible conflict cfl_" in ran.err
    tip = git(registry, "rev-parse", "HEAD")
    ran = cli("conflict", "scan")
    assert (ran.code, git(registry, "rev-parse", "HEAD")) == (0, tip)
    assert ran.err == "3 pairs judged: 1 conflict, 2 possible conflicts\n"
    assert f"  dec_{ran.out.split('dec_')[1][:12]}: " in ran.out
    assert {SQL, MONGO} == {line.partition(": ")[2] for line in ran.out.splitlines()[1:3]}
    assert len(cli("conflict", "scan", "--possible", "--json").json["conflicts"]) == 3
    assert git(registry, "status", "--porcelain") == ""


def test_duplicates_are_no_conflicts(cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    assert cli("decision", "duplicates", root=registry).err.endswith("no duplicates\n")
    first, then = (cli("decision", "new", SQL, "--project", project) for project in ("Ledger", "Harbour"))
    (old, new) = (ran.out.split()[0] for ran in (first, then))
    assert "says the same" not in first.err
    assert f"says the same: {old} of Ledger: {SQL}\n" in then.err
    assert f"forgekit decision supersede {new} --by {old}" in then.err
    found = cli("decision", "duplicates", "--json").json
    assert [item["texts"] for item in found] == [[SQL, SQL]]
    assert SQL in cli("decision", "duplicates", "--project", "Ledger").out


def test_an_active_text_is_registered_again_only_when_asked(forge: Forge) -> None:
    first = made(forge, SQL)
    assert made(forge, f"  {SQL}  ").id == first.id  # in the same conversation, here none, it is the same
    talk = "018bcfe5-6800-8625-89cf-d5faf30f5d9e"
    with pytest.raises(RuleError) as refused:
        decisions.create(forge, SQL, project="Ledger", conversation=talk)
    assert str(refused.value) == (
        f"{dec(first)} of Ledger says the same; use it, or pass --again to register it again"
    )
    second = decisions.create(forge, SQL, project="Ledger", conversation=talk, again=True).entity
    assert second.id != first.id
    decisions.invalidate(forge, dec(first), "wrong")
    assert decisions.create(forge, MONGO, project="Harbour").entity.id  # another project is another matter


# The commit hook


@pytest.fixture
def hooked(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a repository whose commits are looked at by `forgekit-conflicts`, with the fake judge."""
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    support = Path(__file__).parents[1] / "support"
    judged = tmp_path / "judged.py"
    judged.write_text(
        f"import sys; sys.path.insert(0, {str(support)!r})\n"
        "from pytest import MonkeyPatch\nfrom fake_judge import install\n"
        "if 'WITHOUT_JUDGE' not in __import__('os').environ: install(MonkeyPatch())\n"
        "from forgekit.__main__ import main\nsys.exit(main())\n",
        encoding="utf-8",
    )
    staged = "$(git diff --cached --name-only --diff-filter=d -- 'registry/*.md')"
    hook.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" {judged} hook conflicts {staged}\n', encoding="utf-8"
    )
    hook.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return repository


def commit(root: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        ["git", "commit", "--message", "work"], cwd=root, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr.splitlines()


def stage_both(root: Path) -> Forge:
    forge = replace(Forge.open(root), now=lambda: NOW)
    made(forge, SQL)
    decisions.create(forge, MONGO, project="Harbour", options=WriteOptions(no_commit=True))
    git(root, "add", ".")
    return forge


def test_a_commit_needs_the_verdict_on_its_contradiction(hooked: Path) -> None:
    forge = stage_both(hooked)
    status, said = commit(hooked)
    [verdict] = forge.registry().conflicts
    path = entity_path(verdict)
    texts = {d.id: f"dec_{d.id[-12:]} ({d.decision})" for d in forge.registry().decisions}
    line = (
        f"{texts[verdict.decision_a]} contradicts {texts[verdict.decision_b]}: both cannot be followed"
        f" (git add {path}; or change a side)"
    )
    assert (status, said) == (1, [line])
    assert git(hooked, "status", "--porcelain", "--", path) == f"?? {path}\n"
    assert commit(hooked) == (1, [line])  # written once, and still not part of the commit
    git(hooked, "add", path)
    assert commit(hooked)[0] == 0
    assert path in git(hooked, "ls-tree", "-r", "--name-only", "HEAD")
    assert verdict.status is ConflictStatus.OPEN
    assert check(forge).problems == ()


def test_without_a_judge_the_hook_says_so_and_passes_unless_one_is_required(
    hooked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WITHOUT_JUDGE", "1")
    (hooked / "forgekit.toml").write_text('judge = "llm"\n', encoding="utf-8")
    stage_both(hooked)
    status, said = commit(hooked)
    assert (status, len(said)) == (0, 1)
    assert said[0].startswith("note: conflicts were not looked for: ")
    (hooked / "forgekit.toml").write_text('judge = "llm"\nconflicts = "require"\n', encoding="utf-8")
    forge = replace(Forge.open(hooked), now=lambda: NOW)
    decisions.create(forge, EAT, project="Harbour", options=WriteOptions(no_commit=True))
    git(hooked, "add", ".")
    status, said = commit(hooked)
    assert status == 1
    assert said[0].startswith("conflicts were not looked for: ")


def test_settings_may_refuse_an_open_verdict_until_it_is_settled(hooked: Path) -> None:
    (hooked / "forgekit.toml").write_text('conflicts = "refuse"\n', encoding="utf-8")
    forge = stage_both(hooked)
    commit(hooked)
    git(hooked, "add", ".")
    [verdict] = forge.registry().conflicts
    a, b = (f"dec_{side[-12:]}" for side in (verdict.decision_a, verdict.decision_b))
    command = f"forgekit conflict resolve cfl_{verdict.id[-12:]} --keep {a} --reason TEXT --no-commit"
    choose = f"{command}, then git add; or scope, or dismiss"
    assert commit(hooked) == (1, [f"{a} and {b} cannot both be followed: both cannot be followed ({choose})"])
    conflicts.resolve(forge, verdict.id, b, "measured", options=WriteOptions(no_commit=True))
    git(hooked, "add", ".")
    assert commit(hooked)[0] == 0
    assert check(forge).problems == ()


def test_a_verdict_is_possible_before_its_conflict_is_committed(hooked: Path) -> None:
    forge = stage_both(hooked)
    commit(hooked)
    [verdict] = forge.registry().conflicts
    with pytest.raises(DirtyFileError):
        conflicts.resolve(forge, verdict.id, verdict.decision_a, "measured")
    options = WriteOptions(no_commit=True)
    conflicts.settle(forge, verdict.id, "one is for tests", ConflictStatus.SCOPED, options=options)
    scoped = replace(verdict, status=ConflictStatus.SCOPED, reason="one is for tests")
    assert forge.registry().conflicts == [scoped]


def test_the_list_shows_both_texts_of_verdicts_and_findings(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    for text in (SQL, MONGO, MAYBE):
        cli("decision", "new", text, "--project", "Ledger", root=registry)
    assert cli("conflict", "dismiss", "Maybe use SQLite as the primary database", "--reason", "x").code == 1
    lines = cli("conflict", "list").out.splitlines()
    assert len(lines) == 3
    assert sum(SQL in line and MONGO in line and "found" in line for line in lines) == 1
    assert sum(MAYBE in line and "possible" in line for line in lines) == 2
    views = cli("conflict", "list", "--json").json
    assert sorted(view["level"] for view in views) == ["conflict", "possible", "possible"]
    [found] = cli("conflict", "list", "--status", "found", "--json").json
    name = found["short_id"]
    assert cli("conflict", "dismiss", name, "--reason", "one is for tests").code == 0
    [view] = cli("conflict", "list", "--status", "dismissed", "--json").json
    assert (view["short_id"], view["level"], sorted(view["texts"])) == (name, None, [MONGO, SQL])
    listed = cli("review", "--list")
    assert sum("possible conflict cfl_" in line for line in listed.out.splitlines()) == 2
    assert "possible" in cli("status").out
    exported = cli("export").json
    assert [item["level"] for item in exported["findings"]] == ["possible", "possible"]
    assert cli("export", "--format", "markdown").out.count("[possible]") == 2


def test_a_finding_is_shown_by_its_id_and_with_its_sides(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    a, b, _ = (
        cli("decision", "new", text, "--project", "Ledger", root=registry).out.strip()
        for text in (SQL, MONGO, MAYBE)
    )
    [found] = cli("conflict", "list", "--status", "found", "--json").json
    assert found["path"] == ""
    for command in (("show",), ("conflict", "show")):
        shown = cli(*command, found["short_id"])
        assert (shown.code, "found" in shown.out, "registry/conflicts" in shown.out) == (0, True, False)
        view = cli(*command, found["short_id"], "--json").json
        assert (view["status"], view["path"]) == ("found", "")
    assert cli("history", found["short_id"]).code == 0
    assert cli("history", "cfl_000000000000").code == 1
    for side, other in ((a, b), (b, a)):
        assert other in cli("show", side).out
        assert [f"dec_{key[-12:]}" for key in cli("show", side, "--json").json["conflicts_with"]] == [other]


def test_an_export_says_how_many_pairs_wait_for_the_judge(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = install(monkeypatch)
    for text in (SQL, MONGO):
        cli("decision", "new", text, "--project", "Ledger", root=registry)
    assert len(judge.asked) == 1
    install(monkeypatch, newer := FakeJudge("fake-2"))
    monkeypatch.setattr("forgekit.findings.BLOCK_WAIT_MS", 0)
    monkeypatch.setattr("forgekit.findings._FEW_PAIRS", 0)
    for form in ("json", "markdown", "html"):
        exported = cli("export", "--format", form)
        assert exported.err == "1 pair not judged yet; `forgekit conflict scan` judges them\n"
    assert newer.asked == []


def test_a_filing_judges_for_a_limited_time_and_says_how_many_pairs_are_left(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    judge = install(monkeypatch)
    cli("decision", "new", SQL, "--project", "Ledger", root=registry)
    monkeypatch.setattr("forgekit.findings.WRITE_WAIT_MS", 0.001)
    archive = tmp_path / "archive.md"
    archive.write_text(f"# Conversation Archive: x\n\n**Project:** Ledger\n\n- D001: {MONGO}\n")
    filed = cli("sync-compression", "--archive", str(archive))
    assert filed.code == 0
    assert filed.err.endswith("1 pair not judged yet; `forgekit conflict scan` judges them\n")
    assert judge.asked == []


def test_the_decision_of_the_higher_tier_is_the_one_to_keep(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    kept = cli("decision", "new", SQL, "--project", "Ledger", "--tier", "1", root=registry).out.strip()
    lost = cli("decision", "new", MONGO, "--project", "Ledger", "--tier", "0.1").out.strip()
    found = cli("conflict", "scan").out
    assert f"  {lost} yields: its tier is lower by more than 0.4\n" in found
    assert f" --keep {kept} --reason TEXT" in found


def test_a_scan_states_the_precision_to_expect(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    level = LevelCalibration(threshold=0.8, expected_precision=0.75, per_100=1.5)
    monkeypatch.setattr(FakeJudge, "calibration", Calibration(conflict=level, possible=level))
    each = "from 0.8 on, expected precision 0.75, 1.5 per 100 decisions"
    assert cli("conflict", "scan", root=registry).err == (
        f"0 pairs judged: 0 conflicts, 0 possible conflicts\nconflict {each}; possible conflict {each}\n"
    )


@pytest.mark.usefixtures("trained")
@pytest.mark.parametrize(
    ("again", "contradicts"),
    [
        ("Logging: All services log JSON to stdout", False),
        ("We decided: all services log JSON to stdout", False),
        ("All services log JSON to stdout, as discussed on Monday.", False),
        ("All services must log JSON to stdout", False),
        ("All services log JSON to stdout (651.3)", False),
        ("All services log plain text to stdout", True),
        ("Logging: No service logs JSON to stdout", True),
    ],
)
def test_a_decision_noted_again_is_no_conflict(repository: Path, again: str, *, contradicts: bool) -> None:
    (repository / "forgekit.toml").write_text("schema = 2\n", encoding="utf-8")
    forge = Forge.open(repository)
    for text in ("All services log JSON to stdout", again):
        decisions.create(forge, text, project="The Nexus")
    found = findings_of(forge, forge.registry(), progress=lambda *_: None)
    assert (found.missing, found.judged) == ("", 1)
    assert bool(found.conflicts) is contradicts
