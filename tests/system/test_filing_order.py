"""The order of filing, its split into commands and the judge leave no trace in the files."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fake_judge import FakeJudge, give
from repositories import files, git, new_repository

from forgekit.archives.read import ImportOptions
from forgekit.briefing.answers import ask
from forgekit.briefing.blocks import prepare_continuation
from forgekit.conflict.pairs import Findings
from forgekit.filing.archives import Incoming, sync_compression
from forgekit.findings import findings_of
from forgekit.forge import Forge
from forgekit.model.entities import DecisionStatus
from forgekit.times import parse_instant
from forgekit.upkeep.init_migrate import SAMPLES as SAMPLES_FOLDER

SAMPLES = sorted(SAMPLES_FOLDER.glob("*.md"))
NOW = parse_instant("2026-09-20T09:00:00Z")


def opened(root: Path) -> Forge:
    return replace(Forge.open(root), now=lambda: NOW)


def file(forge: Forge, *texts: str) -> None:
    sync_compression(forge, [Incoming(data=text.encode(), options=ImportOptions()) for text in texts])


def filed(root: Path, commands: Sequence[Sequence[str]], judge: FakeJudge | None) -> Forge:
    """File texts by some commands; with a judge, findings are computed and shown in between."""
    forge = opened(new_repository(root))
    if judge is not None:
        give(forge, judge)
    for texts in commands:
        file(forge, *texts)
        if judge is not None:
            findings_of(forge, forge.registry())
    return forge


def split(texts: Sequence[str], seed: int) -> list[list[str]]:
    """Return texts in some order, cut into some commands."""
    chance = random.Random(seed)  # noqa: S311 - a seeded order, no secret
    order = list(texts)
    chance.shuffle(order)
    cuts = sorted(chance.sample(range(1, len(order)), chance.randint(0, len(order) - 1)))
    return [order[start:end] for start, end in itertools.pairwise([0, *cuts, len(order)])]


def saved(tag: str, text: str, tier: float, day: int, old: str = "", supersedes: str = "") -> str:
    more = f"    supersedes: {supersedes}\n" if supersedes else ""
    local = "D002" if supersedes else "D001"
    return (
        f"# Conversation Archive: {tag}\n\n## Metadata\n- Project: Ledger\n"
        f"- Created: 2026-01-{day:02}T10:00:00Z\n"
        f"- Compressed Turn Range: all\n- Primary Topic: {tag}\n- Last Compressed Tag: {tag}\n"
        f"- Prior Compression Chain: [{old}]\n\n## Decision Log\n\n```yaml\ndecisions:\n"
        f"  - id: {local}\n    decision: {text}\n    tier: {tier}\n{more}```\n"
    )


REDIS = [
    saved("ONE", "Do not use Redis for sessions", 0.05, 1),
    saved("TWO", "Use Redis for sessions always", 0.5, 2),
    saved("THREE", "Never use Redis for sessions", 1.0, 3),
]


def all_findings(forge: Forge) -> Findings:
    """Judge every pair; with a progress report all missing vectors are made first."""
    return findings_of(forge, forge.registry(), progress=lambda *_: None)


@pytest.mark.usefixtures("trained")
@pytest.mark.parametrize("seed", range(4, 6))
def test_shuffles_and_splits_of_the_samples_give_one_tree_with_the_trained_judge(
    tmp_path: Path, seed: int
) -> None:
    texts = [path.read_text(encoding="utf-8") for path in SAMPLES] + REDIS
    first, other = opened(new_repository(tmp_path / "first")), opened(new_repository(tmp_path / "other"))
    file(first, *texts)
    for command in split(texts, seed):
        file(other, *command)
        assert all_findings(other).missing == ""
    found = all_findings(other)
    assert found.judged > 0
    assert found == all_findings(first)
    assert files(other.root) == files(first.root)


@pytest.mark.parametrize("seed", range(4))
def test_shuffles_and_splits_of_the_samples_give_one_tree_with_a_judge(tmp_path: Path, seed: int) -> None:
    texts = [path.read_text(encoding="utf-8") for path in SAMPLES]
    first = filed(tmp_path / "first", [texts], None)
    other = filed(tmp_path / "other", split(texts, seed), FakeJudge())
    assert files(other.root) == files(first.root)
    assert not any(path.startswith("registry/conflicts/") for path in files(other.root))
    assert git(other.root, "status", "--porcelain") == ""


def test_three_tiers_give_one_tree_and_one_set_of_findings_in_all_orders(tmp_path: Path) -> None:
    ends, found = [], []
    for number, order in enumerate(itertools.permutations(REDIS)):
        forge = filed(tmp_path / str(number), [[text] for text in order], FakeJudge())
        ends.append(files(forge.root))
        findings = findings_of(forge, forge.registry())
        found.append((findings.conflicts, dict(findings.yields)))
        assert all(d.status is DecisionStatus.ACTIVE for d in forge.registry().decisions)
    assert all(end == ends[0] for end in ends)
    assert all(one == found[0] for one in found)
    registry = forge.registry()
    lower = [d.decision for key in found[0][1] if (d := registry.get(key)) is not None]  # type: ignore[union-attr]
    assert lower == ["Use Redis for sessions always"]


def test_no_judge_a_judge_and_another_version_of_it_leave_the_same_files(tmp_path: Path) -> None:
    judges = (None, FakeJudge(), FakeJudge("fake-2"), FakeJudge("fake-3", silent=True))
    roots = [filed(tmp_path / str(n), [[text] for text in REDIS], judge) for n, judge in enumerate(judges)]
    assert all(files(forge.root) == files(roots[0].root) for forge in roots)


def test_two_revisions_of_one_decision_are_shown_and_none_is_in_its_place(tmp_path: Path) -> None:
    texts = [
        saved("ONE", "Use files as the store", 0.9, 1),
        saved("TWO", "Use a queue as the store", 0.8, 2, "ONE", "D001"),
        saved("THREE", "Use a table as the store", 0.8, 3, "ONE", "D001"),
    ]
    forge = filed(tmp_path / "repo", [texts], None)
    block = prepare_continuation(forge, "ONE").text
    [changed] = [line for line in block.splitlines() if "“Use files as the store” is REVISED" in line]
    a, b = sorted(f"dec_{d.id[-12:]}" for d in forge.registry().decisions if not d.status.ended)
    assert "in its place:" not in changed
    assert "nothing is in its place until a person has chosen between " in changed
    assert a in changed
    assert b in changed
    assert "Do not carry either side of these forward until a person has chosen." in block
    assert "Use a queue as the store" not in block.partition("### Decisions In Force")[2]
    undecided = changed.partition("; ")[2].removesuffix(" (see Conflicts)")
    answer = ask(forge, "Why did we use files as the store?").text.splitlines()
    assert f"- N{undecided[1:]} (`forgekit conflict list`)" in answer
