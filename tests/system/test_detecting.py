"""Contradictions found on filing, writing, scanning and committing, in real repositories; by words alone."""

from __future__ import annotations

import fcntl
import itertools
import random
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cli_runner import Cli
from fake_encoder import FakeEncoder
from repositories import files, git, new_repository

from forgekit import conflicts, decisions, detecting, lineage
from forgekit.archives.identity import ImportOptions
from forgekit.briefing.blocks import prepare_continuation
from forgekit.change import WriteOptions, Written, write
from forgekit.cli.changes import conflict_lines
from forgekit.conflict.rules.port import Judgement, Statement, Verdict
from forgekit.filing import review
from forgekit.filing.archives import Incoming, SyncReport, sync_compression
from forgekit.forge import Forge
from forgekit.ids import v8_named
from forgekit.index.vectors import Vectors
from forgekit.model.candidate import Candidate, Proposal
from forgekit.model.conflict import Conflict, ConflictStatus
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision, DecisionStatus
from forgekit.model.entity import entity_path
from forgekit.model.kinds import Kind, short_id
from forgekit.models.judges import CachingJudge
from forgekit.times import parse_instant
from forgekit.upkeep.check import check
from forgekit.worktree.roots import cache_dir

SAMPLES = sorted((Path(__file__).parents[2] / "examples" / "archives").glob("*.md"))
NOW = parse_instant("2026-09-20T09:00:00Z")
SQL, MONGO = "Use PostgreSQL as the primary database", "Use MongoDB as the primary database"
STORES = "exclude each other (store): mongodb against postgresql"


def opened(root: Path) -> Forge:
    return replace(Forge.open(root), now=lambda: NOW)


@pytest.fixture
def forge(repository: Path) -> Forge:
    return opened(repository)


def saved(
    tag: str, *texts: tuple[str, float | None], project: str = "Ledger", day: int = 1, old: str = ""
) -> str:
    rows = "".join(
        f"  - id: D00{n}\n    decision: {text}\n" + (f"    tier: {tier}\n" if tier is not None else "")
        for n, (text, tier) in enumerate(texts, 1)
    )
    return (
        f"# Conversation Archive: {tag}\n\n## Metadata\n- Project: {project}\n"
        f"- Created: 2026-01-{day:02}T10:00:00Z\n"
        f"- Compressed Turn Range: all\n- Primary Topic: {tag}\n- Last Compressed Tag: {tag}\n"
        f"- Prior Compression Chain: [{old}]\n\n## Decision Log\n\n```yaml\ndecisions:\n{rows}```\n"
    )


def file(forge: Forge, *texts: str) -> SyncReport:
    return sync_compression(forge, [Incoming(data=text.encode(), envelope=ImportOptions()) for text in texts])


def by_text(forge: Forge) -> dict[str, Decision]:
    return {decision.decision: decision for decision in forge.registry().decisions}


def sides(conflict: Conflict, forge: Forge) -> set[str]:
    found = (forge.registry().get(side) for side in (conflict.decision_a, conflict.decision_b))
    return {side.decision for side in found if isinstance(side, Decision)}


def of(written: Written) -> list[Conflict]:
    return [entity for entity in written.outcome.change.writes if isinstance(entity, Conflict)]


def errors(forge: Forge) -> list[str]:
    return [str(problem) for problem in check(forge).problems]


def orders(archives: list[str]) -> Iterable[tuple[list[str], bool]]:
    """Yield orders of filing, and whether all are filed at once."""
    for order in itertools.permutations(archives):
        yield list(order), False
    yield archives[::-1], True


def test_the_samples_hold_a_contradiction_across_projects(forge: Forge) -> None:
    report = sync_compression(
        forge, [Incoming(path=p, envelope=ImportOptions(), name=p.name) for p in SAMPLES]
    )
    [conflict] = report.contradictions
    assert sides(conflict, forge) == {
        "Offer the public API as REST resources",
        "Read everything through one GraphQL API instead of REST resources",
    }
    assert (conflict.status, conflict.similarity, conflict.kept) == (ConflictStatus.OPEN, None, None)
    assert conflict.detected_at == max(
        d.created_at for d in forge.registry().decisions if d.decision in sides(conflict, forge)
    )
    assert errors(forge) == []


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_the_samples_gives_the_same_conflicts(
    repository: Path, tmp_path: Path, seed: int
) -> None:
    first, other = opened(repository), opened(new_repository(tmp_path / "other"))
    texts = [path.read_text(encoding="utf-8") for path in SAMPLES]
    file(first, *texts)
    random.Random(seed).shuffle(texts)  # noqa: S311 - a seeded order, no secret
    for text in texts:
        file(other, text)
    assert any(path.startswith("registry/conflicts/") for path in files(first.root))
    assert files(other.root) == files(first.root)


def test_a_contradiction_in_one_project_stays_open_where_the_tiers_are_near(forge: Forge) -> None:
    file(forge, saved("ONE", (SQL, 0.9)))
    [conflict] = file(forge, saved("TWO", (MONGO, 0.6), day=2)).contradictions
    assert (conflict.nature, conflict.status) == (STORES, ConflictStatus.OPEN)
    assert all(not d.status.ended for d in forge.registry().decisions)
    assert conflict.detected_at == parse_instant("2026-01-02T10:00:00Z")


def test_a_much_higher_tier_stands_and_file_and_commit_say_why(forge: Forge) -> None:
    file(forge, saved("ONE", (MONGO, 0.3)))
    [conflict] = file(forge, saved("TWO", (SQL, 0.9), day=2)).contradictions
    kept, lost = by_text(forge)[SQL], by_text(forge)[MONGO]
    assert (conflict.status, conflict.kept) == (ConflictStatus.RESOLVED, kept.id)
    assert (lost.status, lost.superseded_by) == (DecisionStatus.SUPERSEDED, kept.id)
    text = (forge.root / entity_path(lost)).read_text(encoding="utf-8")
    assert text.endswith(
        f"## Superseded\n\nContradicts a decision of a higher tier (0.9 against 0.3): {STORES}.\n"
    )
    message = git(forge.root, "log", "-1", "--format=%B")
    assert f"Forgekit-Superseded: {lost.id} by {kept.id}\n" in message
    assert MONGO not in message
    assert errors(forge) == []


def test_across_projects_no_tier_settles_anything(forge: Forge) -> None:
    file(forge, saved("ONE", (SQL, 0.9)))
    [conflict] = file(forge, saved("TWO", (MONGO, 0.1), project="Harbour", day=2)).contradictions
    assert conflict.status is ConflictStatus.OPEN
    assert all(not d.status.ended for d in forge.registry().decisions)


def test_an_open_conflict_blocks_carrying_forward(forge: Forge) -> None:
    file(forge, saved("ONE", (SQL, 0.9), ("Back up every night", 0.9)))
    before = prepare_continuation(forge, "ONE").text
    assert SQL in before.partition("### Decisions In Force")[2]
    file(forge, saved("TWO", (MONGO, 0.8), project="Harbour", day=2))
    [conflict] = forge.registry().conflicts
    block = prepare_continuation(forge, "ONE").text
    said, _, in_force = block.partition("### Decisions In Force")
    assert all(short_id(Kind.DECISION, side) in said for side in (conflict.decision_a, conflict.decision_b))
    assert "Back up every night" in in_force
    assert SQL not in in_force
    conflicts.scope(forge, conflict.id, "Harbour keeps its own data")
    assert SQL in prepare_continuation(forge, "ONE").text.partition("### Decisions In Force")[2]


def revising(tag: str, text: str, day: int) -> str:
    """Return an archive that continues ONE and replaces its D001."""
    return (
        saved(tag, (text, 0.8), day=day, old="ONE")
        .replace("    tier: 0.8\n", "    tier: 0.8\n    supersedes: D001\n")
        .replace("D001\n    decision", "D002\n    decision")
    )


ORDERED = {
    "two revisions of one decision, which archives know before or after": [
        saved("ONE", ("Use files as the primary database", 0.9)),
        revising("TWO", MONGO, 2),
        revising("THREE", SQL, 3),
    ],
    "both at a distance": [
        saved("ONE", (SQL, 0.9)),
        saved("TWO", (MONGO, 0.3), day=2),
        saved("SIX", ("Eat", 1), day=3),
    ],
    "across projects": [saved("ONE", (SQL, 0.9)), saved("TWO", (MONGO, 0.3), project="Harbour", day=2)],
    "a later tier makes it plain": [
        saved("ONE", (SQL, 0.9)),
        saved("TWO", (MONGO, None), day=2),
        saved("TWO_AGAIN", (MONGO, 0.2), day=3, old="TWO"),
    ],
    "carried over, so that an id changes": [
        saved("ONE", (SQL, 0.9)),
        saved("TWO", (MONGO, 0.8), day=2, project="Harbour"),
        saved("THREE", (MONGO, 0.8), day=3, project="Harbour", old="TWO"),
    ],
    "the winner is carried over": [
        saved("ONE", (SQL, 0.9), day=2),
        saved("TWO", (MONGO, 0.3)),
        saved("ONE_AGAIN", (SQL, 0.9), day=3, old="ONE"),
    ],
    "a winner ends what its loser contradicts elsewhere": [
        saved("ONE", (SQL, 0.9)),
        saved("TWO", (MONGO, 0.3), day=2),
        saved("FOUR", ("Use PostgreSQL as primary database of everything", 0.8), day=3, project="Harbour"),
    ],
}


@pytest.mark.parametrize("name", ORDERED)
def test_the_order_of_filing_leaves_no_trace(tmp_path: Path, name: str) -> None:
    ends = []
    for number, (order, at_once) in enumerate(orders(ORDERED[name])):
        forge = opened(new_repository(tmp_path / str(number)))
        for texts in [order] if at_once else [[text] for text in order]:
            file(forge, *texts)
        assert len(forge.registry().conflicts) == 1
        assert errors(forge) == []
        ends.append(files(forge.root))
    assert all(end == ends[0] for end in ends)


def test_a_conflict_goes_with_its_side_unless_a_person_has_touched_it(tmp_path: Path) -> None:
    both = [saved("ONE", (SQL, 0.9)), saved("TWO", (MONGO, 0.8), project="Harbour", day=2)]
    ending = (
        saved("THREE", ("Use PostgreSQL at last", 0.8), project="Harbour", day=3, old="TWO")
        .replace("    tier: 0.8\n", "    tier: 0.8\n    supersedes: D001\n")
        .replace("D001\n    decision", "D002\n    decision")
    )
    kept = []
    for touched in (False, True):
        forge = opened(new_repository(tmp_path / str(touched)))
        file(forge, *both)
        [conflict] = forge.registry().conflicts
        if touched:
            path = forge.root / entity_path(conflict)
            path.write_text(path.read_text(encoding="utf-8") + "\nAsked Ada.\n", encoding="utf-8")
            git(forge.root, "commit", "--quiet", "--all", "--message", "note")
        file(forge, ending)
        assert by_text(forge)[MONGO].status.ended
        kept.append([c.id for c in forge.registry().conflicts] == [conflict.id])
    assert kept == [False, True]


PARENT = saved("PARENT", (SQL, 0.6))


def inherited(tag: str, text: str, tier: float, day: int, old: str = "PARENT") -> str:
    """Return an archive that has D001 of another, in its own words."""
    told = saved(tag, (text, tier), day=day, old=old)
    return told.replace("    tier:", "    scope: inherited\n    tier:")


def test_two_wordings_of_one_decision_do_not_end_each_other(tmp_path: Path) -> None:
    archives = [PARENT, inherited("ONE", SQL, 0.9, 2), inherited("TWO", MONGO, 0.3, 3)]
    ends = []
    for number, (order, at_once) in enumerate(orders(archives)):
        forge = opened(new_repository(tmp_path / str(number)))
        for texts in [order] if at_once else [[text] for text in order]:
            file(forge, *texts)
        [decision] = forge.registry().decisions
        assert (decision.status, decision.body) == (DecisionStatus.ACTIVE, "")
        assert (forge.registry().conflicts, errors(forge)) == ([], [])
        ends.append(files(forge.root))
    assert all(end == ends[0] for end in ends)


def test_a_wording_that_joins_a_standing_decision_leaves_no_trace_in_its_conflict(tmp_path: Path) -> None:
    other = saved("OTHER", (MONGO, 0.6), project="Harbour", day=4)
    one = inherited("ONE", SQL, 0.6, 2)
    two = inherited("TWO", "Use PostgreSQL for the primary database instead of MongoDB", 0.6, 3, "ONE")
    ends: list[dict[str, bytes]] = []
    for order in ((PARENT, one, two, other), (PARENT, other, two, one)):
        forge = opened(new_repository(tmp_path / str(len(ends))))
        for text in order:
            file(forge, text)
        assert len(forge.registry().conflicts) == 1
        ends.append(files(forge.root))
    assert ends[0] == ends[1]


ALIKE = "Use PostgreSQL as the primary database everywhere"


@pytest.fixture
def twice(forge: Forge) -> Forge:
    """Return a registry with a decision in two wordings, not yet its parent, and one that contradicts it."""
    one, two = inherited("ONE", SQL, 0.6, 2), inherited("TWO", ALIKE, 0.6, 3)
    file(forge, one, two, saved("OTHER", (MONGO, 0.6), project="Harbour", day=4))
    assert len(forge.registry().conflicts) == 2
    return forge


def test_a_wording_that_gave_way_to_its_twin_is_in_force_with_it(twice: Forge) -> None:
    decisions.supersede(twice, by_text(twice)[ALIKE].id, by_text(twice)[SQL].id, reason="the same")
    file(twice, PARENT)
    decision, [conflict] = by_text(twice)[SQL], twice.registry().conflicts
    assert (decision.status, decision.superseded_by, decision.body) == (DecisionStatus.ACTIVE, None, "")
    assert (sides(conflict, twice), conflict.status) == ({SQL, MONGO}, ConflictStatus.OPEN)
    assert errors(twice) == []


@pytest.mark.parametrize("answered", [SQL, ALIKE])
@pytest.mark.parametrize("answer", ["dismissed", "resolved", "noted"])
def test_an_answer_stays_when_two_conflicts_become_one(twice: Forge, answered: str, answer: str) -> None:
    harbour = by_text(twice)[MONGO].id
    [answering] = [c for c in twice.registry().conflicts if answered in sides(c, twice)]
    if answer == "dismissed":
        conflicts.dismiss(twice, answering.id, "one is for tests")
    elif answer == "resolved":
        conflicts.resolve(twice, answering.id, harbour, "measured")
    else:
        path = twice.root / entity_path(answering)
        path.write_text(path.read_text(encoding="utf-8") + "\nAsked Ada.\n", encoding="utf-8")
        git(twice.root, "commit", "--quiet", "--all", "--message", "note")
    file(twice, PARENT)
    [conflict] = twice.registry().conflicts
    assert sides(conflict, twice) == {SQL, MONGO}
    assert (conflict.status, conflict.kept, conflict.reason, conflict.body) == {
        "dismissed": (ConflictStatus.DISMISSED, None, "one is for tests", ""),
        "resolved": (ConflictStatus.RESOLVED, harbour, "measured", ""),
        "noted": (ConflictStatus.OPEN, None, None, "Asked Ada."),
    }[answer]
    assert errors(twice) == []


def test_a_settled_pair_is_never_raised_again(forge: Forge) -> None:
    file(forge, saved("ONE", (SQL, 0.9)), saved("TWO", (MONGO, 0.8), day=2))
    [conflict] = forge.registry().conflicts
    conflicts.dismiss(forge, conflict.id, "one is for tests")
    again = file(forge, saved("TWO_AGAIN", (MONGO, 0.7), day=3, old="TWO"))
    assert again.contradictions == ()
    assert detecting.scan(forge).conflicts == ()
    assert [c.status for c in forge.registry().conflicts] == [ConflictStatus.DISMISSED]


def test_a_new_decision_and_a_revision_are_compared_in_the_same_commit(forge: Forge) -> None:
    decisions.create(forge, SQL, project="Ledger", tier=0.9)
    written = decisions.create(forge, MONGO, project="Ledger", tier=0.8)
    [conflict] = of(written)
    assert sides(conflict, forge) == {SQL, MONGO}
    assert f"Forgekit-Entity: {conflict.id}\n" in git(forge.root, "log", "-1", "--format=%B")
    # The revision contradicts nothing, and the old text's conflict waits for nobody any more.
    revised = decisions.revise(forge, written.entity.id, "Use PostgreSQL as the only database")
    assert of(revised) == []
    assert detecting.scan(forge).conflicts == ()


def test_a_new_decision_may_give_way_at_once(forge: Forge) -> None:
    strong = decisions.create(forge, SQL, project="Ledger", tier=0.9).entity
    weak = decisions.create(forge, MONGO, project="Ledger", tier=0.2).entity
    assert isinstance(weak, Decision)
    assert (weak.status, weak.superseded_by) == (DecisionStatus.SUPERSEDED, strong.id)
    assert errors(forge) == []


def test_a_text_changed_in_the_editor_is_compared_in_the_same_commit(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cli("decision", "new", SQL, "--project", "Ledger", "--at", "2026-03-01", root=registry)
    name = cli(
        "decision", "new", "Back up every night", "--project", "Ledger", "--at", "2026-03-01"
    ).out.strip()
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\nsed -i 's/^decision: .*/decision: {MONGO}/' \"$1\"\n", encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    monkeypatch.setattr("forgekit.console.is_terminal", lambda: True)
    ran = cli("decision", "edit", name)
    forge = opened(registry)
    [conflict] = forge.registry().conflicts
    assert sides(conflict, forge) == {SQL, MONGO}
    assert ran.out == f"{short_id(Kind.DECISION, by_text(forge)[MONGO].id)}\n"
    assert ran.err.splitlines()[1:] == conflict_lines(conflict)
    assert f"Forgekit-Entity: {conflict.id}\n" in git(registry, "log", "-1", "--format=%B")


@pytest.mark.parametrize("tier", [0.8, 0.2])
def test_a_text_changed_in_its_file_is_compared_when_it_is_mended(
    cli: Cli, registry: Path, tier: float
) -> None:
    cli("decision", "new", "Back up every night", "--project", "Ledger", "--at", "2026-03-01", root=registry)
    cli("decision", "edit", "Back up every night", "--tier", "0.8")
    cli("decision", "new", SQL, "--project", "Ledger", "--tier", str(tier), "--at", "2026-03-01")
    forge = opened(registry)
    edited, other = (registry / entity_path(by_text(forge)[text]) for text in ("Back up every night", SQL))
    other.write_text(other.read_text(encoding="utf-8").replace("tags: []\n", "") + "\n\n", encoding="utf-8")
    git(registry, "commit", "--quiet", "--all", "--message", "blanks")
    text = edited.read_text(encoding="utf-8")
    edited.write_text(text.replace("decision: Back up every night", f"decision: {MONGO}"), encoding="utf-8")
    ran = cli("check", "--fix")
    [conflict] = forge.registry().conflicts
    assert sides(conflict, forge) == {SQL, MONGO}
    assert conflict.status is (ConflictStatus.OPEN if tier > 0.5 else ConflictStatus.RESOLVED)
    assert by_text(forge)[SQL].status.ended is (tier < 0.5)
    assert ran.err.splitlines()[1:-1] == conflict_lines(conflict)
    assert git(registry, "status", "--porcelain") == ""
    message = git(registry, "log", "-1", "--format=%B")
    assert f"Forgekit-Entity: {conflict.id}\n" in message
    assert ("Forgekit-Superseded: " in message) is (tier < 0.5)
    assert cli("check", "--fix", "--json").json["conflicts"] == []
    assert errors(forge) == []


def test_decisions_that_are_approved_together_are_compared(forge: Forge) -> None:
    talk = lineage.new_conversation(forge, "Storage", project="Ledger").entity
    assert isinstance(talk, Conversation)
    offered = [
        Candidate(
            candidate_id=v8_named(talk.id, text, NOW),
            candidate=text,
            proposes=Proposal.DECISION,
            confidence=0.9,
            why="a person says so",
            project_name=talk.project_name,
            project_uuid=talk.project_uuid,
            conversation_id=talk.id,
            turn=1,
            created_at=NOW,
        )
        for text in (SQL, MONGO)
    ]
    write(forge, lambda _: offered, "candidate new")
    done = review.answer(forge, review.Answers(approve=frozenset(c.id for c in offered)))
    [conflict] = done.conflicts
    assert sides(conflict, forge) == {SQL, MONGO}
    assert detecting.scan(forge).conflicts == ()


def unchecked(forge: Forge, *texts: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Register decisions as versions did that compared nothing."""
    with monkeypatch.context() as patch:
        patch.setattr(decisions, "against", lambda _forge, _registry, entities: entities)
        for text, project in texts:
            decisions.create(forge, text, project=project)


def test_a_scan_finds_what_nobody_compared(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    unchecked(forge, (SQL, "Ledger"), (MONGO, "Harbour"), ("Eat", "Trellis"), monkeypatch=monkeypatch)
    tip = git(forge.root, "rev-parse", "HEAD")
    tried = detecting.scan(forge, options=WriteOptions(dry_run=True))
    assert len(tried.conflicts) == 1
    assert (git(forge.root, "rev-parse", "HEAD"), forge.registry().conflicts) == (tip, [])
    assert detecting.scan(forge, "Trellis").conflicts == ()
    done = detecting.scan(forge, "Harbour")
    assert (done.compared, done.conflicts) == (1, tried.conflicts)
    assert git(forge.root, "log", "-1", "--format=%s") == "conflict: scan found 1 conflict\n"
    assert git(forge.root, "rev-list", "--count", f"{tip.strip()}..HEAD") == "1\n"
    assert detecting.scan(forge).outcome.commit is None


def test_vectors_lead_to_what_no_word_leads_to(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    unchecked(forge, (SQL, "Ledger"), (MONGO, "Harbour"), monkeypatch=monkeypatch)
    monkeypatch.setattr(detecting, "akin", lambda _a, _b: False)
    assert detecting.scan(forge).compared == 0
    forge.__dict__["vectors"] = Vectors(forge.catalogue.path.parent, FakeEncoder())
    near = detecting.nearness(forge)
    assert near is not None
    [conflict] = detecting.scan(forge, near=near).conflicts
    assert conflict.similarity is not None
    assert conflict.similarity == round(conflict.similarity, 3) > 0.5


def test_duplicates_are_listed_and_are_no_conflicts(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detecting, "nearness", lambda _forge: None)
    assert cli("decision", "duplicates", root=registry).err == "no duplicates\n"
    for project in ("Ledger", "Harbour"):
        assert cli("decision", "new", SQL, "--project", project).code == 0
    found = cli("decision", "duplicates", "--json").json
    assert [item["texts"] for item in found] == [[SQL, SQL]]
    assert SQL in cli("decision", "duplicates", "--project", "Ledger").out
    assert cli("conflict", "list").out == ""


def test_commands_say_which_decisions_contradict_each_other(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detecting, "nearness", lambda _forge: None)
    cli("decision", "new", SQL, "--project", "Ledger", root=registry)
    ran = cli("decision", "new", MONGO, "--project", "Ledger")
    [conflict] = opened(registry).registry().conflicts
    a, b = (f"dec_{side[-12:]}" for side in (conflict.decision_a, conflict.decision_b))
    name = f"cfl_{conflict.id[-12:]}"
    assert (ran.code, ran.out) == (0, f"{b if b in ran.out else a}\n")
    assert ran.err.splitlines()[1:] == [
        f"conflict {name}: {a} and {b} cannot both be followed",
        *(f"  {reason}" for reason in conflict.evidence),
        f"  choose: forgekit conflict resolve {name} --keep {a} --reason TEXT; or scope, or dismiss",
    ]
    again = cli("conflict", "scan")
    assert (again.code, again.out, again.err) == (0, "", "0 pairs compared, no new conflict\n")
    refused = cli("conflict", "scan", "--project", "all")
    assert (refused.code, refused.err) == (
        1,
        "forgekit: no project answers to 'all'; known projects: Ledger\n",
    )
    told = cli(
        "sync-compression", "-", "--json", stdin=saved("ONE", (SQL, 0.9), project="Harbour").encode()
    ).json
    assert [item["decision_b"] for item in told["contradictions"]] == [conflict.decision_b]


@pytest.fixture
def hooked(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository whose commits are looked at by `forgekit-conflicts`."""
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    staged = "$(git diff --cached --name-only --diff-filter=d -- 'registry/*.md')"
    hook.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m forgekit hook conflicts {staged}\n', encoding="utf-8"
    )
    hook.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return repository


def commit(root: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        ["git", "commit", "--message", "work"], cwd=root, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr.splitlines()


def test_a_commit_needs_the_record_of_its_contradiction(
    hooked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge = opened(hooked)
    unchecked(forge, (SQL, "Ledger"), monkeypatch=monkeypatch)
    monkeypatch.setattr(decisions, "against", lambda _forge, _registry, entities: entities)
    decisions.create(forge, MONGO, project="Harbour", options=WriteOptions(no_commit=True))
    git(hooked, "add", ".")
    status, said = commit(hooked)
    [conflict] = forge.registry().conflicts
    path = entity_path(conflict)
    texts = {d.id: f"dec_{d.id[-12:]} ({d.decision})" for d in forge.registry().decisions}
    line = (
        f"{texts[conflict.decision_a]} contradicts {texts[conflict.decision_b]}: {STORES}"
        f" (git add {path}; or change a side)"
    )
    assert (status, said) == (1, [line])
    assert git(hooked, "status", "--porcelain", "--", path) == f"?? {path}\n"
    assert commit(hooked) == (1, [line])  # written once, and still not part of the commit
    git(hooked, "add", path)
    assert commit(hooked)[0] == 0
    assert path in git(hooked, "ls-tree", "-r", "--name-only", "HEAD")
    assert errors(forge) == []


def test_settings_may_refuse_a_recorded_conflict_until_it_is_settled(
    hooked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hooked / "forgekit.toml").write_text('conflicts = "refuse"\n', encoding="utf-8")
    git(hooked, "add", ".")
    assert commit(hooked)[0] == 0
    forge = opened(hooked)
    unchecked(forge, (SQL, "Ledger"), monkeypatch=monkeypatch)
    decisions.create(forge, MONGO, project="Harbour", options=WriteOptions(no_commit=True))
    git(hooked, "add", ".")
    [conflict] = forge.registry().conflicts
    a, b = (f"dec_{side[-12:]}" for side in (conflict.decision_a, conflict.decision_b))
    status, said = commit(hooked)
    assert status == 1
    choose = f"forgekit conflict resolve cfl_{conflict.id[-12:]} --keep {a}; or scope, or dismiss"
    assert said == [f"{a} and {b} cannot both be followed: {STORES} ({choose})"]


# A judge that is slow


class Slow:
    """Finds a contradiction in each pair, and notes how often it was asked with the writers' lock held."""

    def __init__(self, lock: Path) -> None:
        self.lock, self.asked, self.held = lock, 0, 0

    def judge(
        self, pairs: Sequence[tuple[Statement, Statement]], similarity: Sequence[float | None]
    ) -> list[Judgement]:
        self.asked += len(pairs)
        with self.lock.open("a") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.held += len(pairs)
        return [
            Judgement(verdict=Verdict.CONTRADICTION, score=0.9, reasons=("it says so",)) for _ in similarity
        ]


def test_a_slow_judge_is_asked_once_and_before_the_lock(repository: Path) -> None:
    settings = repository / "forgekit.toml"
    settings.write_text('judge = "nli"\njudge_model = "m"\n')
    git(repository, "commit", "-qam", "another judge")
    forge = opened(repository)
    slow = Slow(cache_dir(repository) / "write.lock")
    vars(forge)["judge"] = CachingJudge(slow)
    decisions.create(forge, SQL, project="Ledger")
    written = decisions.create(forge, MONGO, project="Ledger")
    assert [e.nature for e in written.outcome.change.writes if isinstance(e, Conflict)] == ["it says so"]
    assert (slow.asked, slow.held) == (1, 0)
