"""A registry that the first version wrote, with a person's edits, loses nothing a person wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fake_judge import give
from repositories import files, git

from forgekit.findings import findings_of
from forgekit.forge import Forge
from forgekit.git import driver
from forgekit.model.entities import Conflict, ConflictStatus, Decision, DecisionStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.upkeep.check import check
from forgekit.upkeep.repair import repair

CASE = Path(__file__).parents[1] / "cases" / "first_version"
TIER, STORES, REST, LOGIN = "f313039eb8a5", "17c29810dfe0", "3f794fa60816", "012574505c76"
"""Conflicts by the end of their ids: two that a tier had settled (the first and the last), two open ones."""
MONGO, PASSWORDS = "062069841504", "23e6ba35643c"
"""The decisions that a tier had superseded."""
REVISIONS = """\
---
conflict_id: 019b9ae7-2c00-8f77-bf8a-85c7d4a05ab5
decision_a: 019b76da-a800-8067-adf5-f544de3b6570
decision_b: 019b864d-bc00-8b82-bfa1-34fd6726e7ec
status: open
nature: two active revisions of dec_23e6ba35643c
evidence: [Use PostgreSQL as the primary database, Offer the public API as REST]
detected_at: 2026-01-08T00:00:00Z
---
"""


def path_of(root: Path, end: str) -> Path:
    [path] = root.glob(f"registry/*/*/*{end}.md")
    return path


def commit(root: Path, subject: str, operation: str = "") -> None:
    git(root, "add", "--all")
    trailer = ("--trailer", f"Forgekit-Op: {operation}") if operation else ()
    git(root, "commit", "--quiet", "--message", subject, *trailer)


def edit(root: Path, end: str, old: str, new: str) -> None:
    path = path_of(root, end)
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a registry that the first version filed and a person has worked in."""
    root = tmp_path / "old"
    shutil.copytree(CASE, root)
    (root / "archives").mkdir()
    (root / "archives" / ".gitkeep").touch()
    (root / ".gitattributes").write_text("".join(f"{rule}\n" for rule in driver.RULES), encoding="utf-8")
    git(root, "init", "--quiet")
    commit(root, "sync: file arc_000000000000", "sync-compression")
    edit(root, MONGO, "Documents fit.", "Documents fit. Ada agrees.")
    edit(root, MONGO, "\ncreated_at:", "\nteam: blue  # ours\ncreated_at:")
    commit(root, "by hand")
    edit(root, REST, "status: open", "status: dismissed\nreason: one is for partners")
    commit(root, "conflict: dismiss cfl_3f794fa60816", "conflict dismiss")
    edit(root, LOGIN, "'the higher tier stands: 0.9 against 0.3'", "agreed with Ada")
    commit(root, "by hand")
    return root


def test_only_what_detection_wrote_goes_and_what_a_tier_ended_comes_back(old: Path) -> None:
    before = files(old)
    tip = git(old, "rev-parse", "HEAD").strip()
    assert repair(old).left == ()
    assert git(old, "rev-parse", "HEAD~1").strip() == tip
    assert git(old, "log", "-1", "--format=%s").strip() == "doctor: migrate from schema 1 to 2"
    assert git(old, "status", "--porcelain") == ""
    after = files(old)
    gone = {name[-15:-3] for name in before.keys() - after.keys()}
    assert gone == {TIER, STORES}
    changed = {name[-15:-3] for name in after if after[name] != before[name]}
    assert changed == {MONGO}
    back = path_of(old, MONGO).read_text(encoding="utf-8")
    assert "\nstatus: active\n" in back
    assert "superseded" not in back.lower()
    assert "\nteam: blue  # ours\n" in back
    assert back.endswith("## Rationale\n\nDocuments fit. Ada agrees.\n")


def test_the_migrated_registry_is_sound_and_a_second_migration_does_nothing(old: Path) -> None:
    repair(old)
    tip = git(old, "rev-parse", "HEAD")
    assert repair(old).steps == ()
    assert git(old, "rev-parse", "HEAD") == tip
    forge = Forge.open(old)
    registry = forge.registry()
    assert [p for p in check(forge).problems if p.severity.value == "error"] == []
    verdicts = {c.id[-12:]: (c.status, c.reason) for c in registry.conflicts}
    assert verdicts == {
        REST: (ConflictStatus.DISMISSED, "one is for partners"),
        LOGIN: (ConflictStatus.RESOLVED, "agreed with Ada"),
    }
    lost = registry.get(next(d.id for d in registry.decisions if d.id.endswith(PASSWORDS)))
    assert isinstance(lost, Decision)
    assert lost.status is DecisionStatus.SUPERSEDED
    give(forge)
    found = findings_of(forge, registry)
    assert {short_id(Kind.CONFLICT, f.id) for f in found.conflicts} == {f"cfl_{TIER}", f"cfl_{STORES}"}
    assert {key[-12:] for key in found.yields} == {MONGO}


@pytest.mark.parametrize(
    ("old_text", "new_text"),
    [
        ("nature: 'exclude each other (store): mongodb against postgresql'", "nature: two stores"),
        ("exclude each other (store): mongodb against postgresql", "ask Ada"),
        ("\n---\n", "  # ask Ada\n---\n"),
        ("00Z\n---\n", "00Z\n---\n\nAsk Ada.\n"),
        ("status: open", "status: open\nteam: blue"),
        ("status: open", "status: open\nreason: ask Ada"),
    ],
)
def test_a_conflict_that_a_person_edited_stays(old: Path, old_text: str, new_text: str) -> None:
    path = path_of(old, STORES)
    text = path.read_text(encoding="utf-8").replace(old_text, new_text)
    path.write_text(text, encoding="utf-8")
    commit(old, "by hand")
    repair(old)
    assert path.read_text(encoding="utf-8") == text


def test_two_revisions_that_archives_told_of_stay(old: Path) -> None:
    path = path_of(old, STORES).with_name("019b9ae7-2c00-8f77-bf8a-85c7d4a05ab5.md")
    path.write_text(REVISIONS, encoding="utf-8")
    commit(old, "sync: file arc_000000000001", "sync-compression")
    repair(old)
    assert path.read_text(encoding="utf-8") == REVISIONS


def test_a_section_that_a_person_went_on_writing_keeps_the_decision_ended(old: Path) -> None:
    path = path_of(old, MONGO)
    path.write_text(path.read_text(encoding="utf-8") + "\nAda agrees.\n", encoding="utf-8")
    commit(old, "by hand")
    repair(old)
    forge = Forge.open(old)
    [decision] = [d for d in forge.registry().decisions if d.id.endswith(MONGO)]
    assert decision.status is DecisionStatus.SUPERSEDED
    assert any(isinstance(e, Conflict) and e.id.endswith(TIER) for e in forge.registry())


def test_a_file_with_uncommitted_work_stops_the_migration(old: Path) -> None:
    edit(old, STORES, "status: open", "status: dismissed\nreason: mine")
    edit(old, MONGO, "Ada agrees.", "Ada and Bo agree.")
    tip = git(old, "rev-parse", "HEAD")
    assert any("uncommitted changes in" in finding.message for finding in repair(old).left)
    assert git(old, "rev-parse", "HEAD") == tip
