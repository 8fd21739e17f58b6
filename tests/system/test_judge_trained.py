"""The trained judge in a registry: filing, scanning, explaining, and who says which judge is in force."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import Cli
from repositories import git
from tiny_judge import Reader, install

from forgekit import decisions, detecting
from forgekit.conflict.rules.joined import MOST_KNOWN
from forgekit.forge import Forge
from forgekit.model.entity import entity_path
from forgekit.model.settings import JudgeKind
from forgekit.models import judge_files
from forgekit.times import parse_instant

DERIVED = "Ids are derived from content"
HANDED = "The central allocator hands out ids"
SQL, MONGO = "Use PostgreSQL as the primary database", "Use MongoDB as the primary database"


def contradicting(*words: str, otherwise: float = -7.0) -> Reader:
    """Return a reader that finds a contradiction in pairs with one of these words."""
    return Reader(lambda a, b: 7.0 if any(word in a + b for word in words) else otherwise)


@pytest.fixture
def trained(registry: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a registry where the tiny judge is the trained one, and says yes to derived ids alone."""
    monkeypatch.setattr(detecting, "nearness", lambda _forge: None)
    install(monkeypatch, tmp_path, contradicting("derived"))
    return registry


def unchecked(root: Path, monkeypatch: pytest.MonkeyPatch, *texts: str) -> Forge:
    forge = Forge(root=root, now=lambda: parse_instant("2026-03-01T12:00:00Z"))
    with monkeypatch.context() as patch:
        patch.setattr(decisions, "against", lambda _forge, _registry, entities: entities)
        for text in texts:
            decisions.create(forge, text, project="Ledger")
    return forge


def in_order(forge: Forge, *texts: str) -> list[str]:
    """Return texts in the order of their decisions' ids."""
    return [d.decision for d in sorted(forge.registry().decisions, key=lambda d: d.id) if d.decision in texts]


def short(forge: Forge, text: str) -> str:
    [found] = [d for d in forge.registry().decisions if d.decision == text]
    return f"dec_{found.id[-12:]}"


def test_a_contradiction_without_a_rule_is_filed_with_its_words(trained: Path, cli: Cli) -> None:
    cli("decision", "new", DERIVED, "--project", "Ledger", root=trained)
    ran = cli("decision", "new", HANDED, "--project", "Ledger")
    forge = Forge.open(trained)
    [conflict] = forge.registry().conflicts
    assert conflict.evidence == (
        "read as excluding each other: allocator, central, hands against content, derived",
        "both speak of: ids",
        "a contradiction with probability 0.73, else unrelated (0.07)",
    )
    assert conflict.nature == conflict.evidence[0]
    a, b = (short(forge, text) for text in in_order(forge, DERIVED, HANDED))
    choose = "  choose: forgekit conflict resolve {} --keep {} --reason TEXT; or scope, or dismiss"
    assert ran.err.splitlines()[1:] == [
        f"conflict cfl_{conflict.id[-12:]}: {a} and {b} cannot both be followed",
        *(f"  {line}" for line in conflict.evidence),
        choose.format(f"cfl_{conflict.id[-12:]}", a),
    ]


def test_scan_explains_what_a_verdict_is_made_of(
    trained: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge = unchecked(trained, monkeypatch, DERIVED, HANDED, "Lunch is at noon")
    ran = cli("conflict", "scan", "--explain", "--dry-run", root=trained)
    a, b = (short(forge, text) for text in in_order(forge, DERIVED, HANDED))
    words = {short(forge, DERIVED): "content, derived", short(forge, HANDED): "allocator, central, hands"}
    lines = ran.err.splitlines()
    assert lines[0].endswith(f": {a} and {b} cannot both be followed")
    assert lines[1:5] == [
        "  rules: none fired",
        f"  words of {a}: {words[a]}",
        f"  words of {b}: {words[b]}",
        "  a contradiction with probability 0.73, next unrelated with 0.07",
    ]
    promised = (
        "from 0.70 on, where a precision of 0.90 is expected, and below that where a rule alone is sure"
    )
    assert lines[6:] == [
        f"called a contradiction {promised}; 100.0% of the pairs came to it",
        "1 pair compared, 1 new conflict: nothing written (dry run)",
    ]
    told = cli("conflict", "scan", "--explain", "--json").json
    assert (told["threshold"], told["expected_precision"]) == (0.7, 0.9)
    [found] = told["conflicts"]
    assert {key: found[key] for key in ("score", "rules", "words", "next", "next_score")} == {
        "score": 0.731,
        "rules": [],
        "words": [words[a].split(", "), words[b].split(", ")],
        "next": "unrelated",
        "next_score": 0.07,
    }
    assert "threshold" not in cli("conflict", "scan", "--json").json


@pytest.mark.parametrize("unread", [0, 2])
def test_what_is_recorded_is_what_is_explained(
    trained: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, unread: int
) -> None:
    others = [f"Use spaces for indentation in part {n}" for n in range(MOST_KNOWN + unread)]
    unchecked(trained, monkeypatch, "Use tabs for indentation", *others)
    found = cli("conflict", "scan", "--explain", "--json", root=trained).json["conflicts"]
    # The model denies each pair that it reads; of the others the rules say what is recorded.
    assert [(item["score"], item.get("words")) for item in found] == [(0.94, None)] * unread


def test_a_judge_may_be_named_for_one_scan(
    trained: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forge = unchecked(trained, monkeypatch, DERIVED, HANDED, SQL, MONGO)
    by_rules = cli("conflict", "scan", "--judge", "rules", "--explain", "--dry-run", root=trained)
    lines = by_rules.err.splitlines()
    assert short(forge, SQL) in lines[0]
    assert short(forge, MONGO) in lines[0]
    assert lines[1:5] == [
        "  rules: exclude each other (store): mongodb against postgresql",
        "  rules: one sentence, another name: mongodb against postgresql",
        "  rules: both speak of: database, primary, use",
        "  a contradiction with probability 0.97",
    ]
    assert lines[6:] == [
        "this judge states no expected precision",
        "2 pairs compared, 1 new conflict: nothing written (dry run)",
    ]
    by_model = cli("conflict", "scan", "--judge", "trained", "--dry-run")
    assert short(forge, DERIVED) in by_model.err
    assert short(forge, SQL) not in by_model.err  # the model is sure of the contrary
    install(monkeypatch, tmp_path, contradicting("derived", otherwise=-1.0))
    by_model = cli("conflict", "scan", "--judge", "trained", "--dry-run")
    assert short(forge, DERIVED) in by_model.err
    assert short(forge, SQL) in by_model.err  # what the rules know stays known
    refused = cli("conflict", "scan", "--judge", "nli")
    assert (refused.code, refused.err) == (
        1,
        'forgekit: forgekit.toml: judge_model: is empty, and `judge` is "nli"; name a model\n',
    )
    assert 'judge = "trained"' in (trained / "forgekit.toml").read_text(encoding="utf-8")


def test_without_the_model_the_rules_judge_and_it_is_said_once(
    trained: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_files, "FOLDER", trained / "nowhere")
    unchecked(trained, monkeypatch, DERIVED, HANDED, SQL, MONGO)
    ran = cli("conflict", "scan", root=trained)
    warning = (
        f"warning: forgekit.toml: judge: the rules judge in place of the trained judge: its files are not in "
        f'{trained}/nowhere; install forgekit again, or set it to "rules"'
    )
    assert ran.err.splitlines().count(warning) == 1
    assert "2 pairs compared, 1 new conflict" in ran.err
    assert "warning" not in cli("conflict", "scan", "--judge", "rules").err


def test_the_hook_says_that_the_rules_judge_in_place_of_the_model(
    trained: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_files, "FOLDER", trained / "nowhere")
    forge = unchecked(trained, monkeypatch, DERIVED, HANDED, "Lunch is at noon")
    paths = {d.decision: entity_path(d) for d in forge.registry().decisions}
    ran = cli("hook", "conflicts", paths[DERIVED], root=trained)
    warning = (
        "warning: forgekit.toml: judge: the rules judge in place of the trained judge: its files are not in "
        f'{trained}/nowhere; install forgekit again, or set it to "rules"\n'
    )
    assert (ran.code, ran.out) == (0, warning)
    alone = cli("hook", "conflicts", paths["Lunch is at noon"])
    assert (alone.code, alone.out, alone.err) == (0, "", "")


def test_status_and_doctor_say_which_judge_is_in_force(trained: Path, cli: Cli) -> None:
    told = cli("status", "--json", root=trained).json
    assert (told["judge"], told["judge_wanted"]) == ("trained", "trained")
    assert "\njudge           trained\n" in cli("status").out
    said = "ok   judge: trained, from 0.70 on, with an expected precision of 0.90\n"
    assert said in cli("doctor").out
    delta = judge_files.FOLDER / judge_files.DELTA
    delta.write_bytes(delta.read_bytes()[:-1] + b"\0")
    assert "\njudge           rules in place of trained; `forgekit doctor` says why\n" in cli("status").out
    damaged = cli("doctor")
    assert damaged.code == 1
    assert (
        f"BAD  judge: the rules judge in place of the trained judge: {delta} is not the published file: "
        "its SHA-256 differs\n    install forgekit again\n"
    ) in damaged.out
    delta.unlink()
    assert (
        "ok   judge: the rules judge in place of the trained judge: its files are not in" in cli("doctor").out
    )
    (trained / "forgekit.toml").write_text('judge = "rules"\n', encoding="utf-8")
    assert "ok   judge: rules\n" in cli("doctor").out
    assert "\njudge           rules\n" in cli("status").out


@pytest.mark.parametrize("touched", [False, True])
def test_what_the_rules_filed_goes_with_its_side_under_the_trained_judge(
    trained: Path, touched: bool
) -> None:
    now = parse_instant("2026-03-01T12:00:00Z")
    by_rules = Forge(root=trained, now=lambda: now, judge_kind=JudgeKind.RULES)
    decisions.create(by_rules, SQL, project="Ledger")
    decisions.create(by_rules, MONGO, project="Ledger")
    [conflict] = by_rules.registry().conflicts
    if touched:
        [path] = (trained / "registry" / "conflicts").rglob("*.md")
        path.write_text(path.read_text(encoding="utf-8") + "\nAsked Ada.\n", encoding="utf-8")
        git(trained, "commit", "--quiet", "--all", "--message", "note")
    later = Forge(root=trained, now=lambda: now)
    assert later.settings.judge is JudgeKind.TRAINED
    untouched = detecting._untouched(later, later.registry(), {conflict.decision_a})
    assert [c.id for c in untouched] == ([] if touched else [conflict.id])


def test_what_the_model_filed_is_known_again(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [conflict] = detecting.scan(unchecked(trained, monkeypatch, DERIVED, HANDED)).conflicts
    again = Forge.open(trained)
    assert detecting._untouched(again, again.registry(), {conflict.decision_b}) == [conflict]
    assert detecting.scan(again).conflicts == ()
