"""Which decisions govern files: `explain`, its diff, components, and patterns that cover nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runner import Cli
from fake_judge import install
from repositories import git

from forgekit import conventions
from forgekit.change import write
from forgekit.conflict.pairs import NATURE
from forgekit.decisions import create
from forgekit.errors import RepositoryError, RuleError, UsageError
from forgekit.forge import Forge
from forgekit.governing import explain, relative, unused
from forgekit.ids import pair_id
from forgekit.model.entities import Conflict, Decision, Entity
from forgekit.models.encoder import Missing
from forgekit.queries import stale_decisions


@pytest.fixture
def forge(registry: Path, monkeypatch: pytest.MonkeyPatch) -> Forge:
    install(monkeypatch)
    for path in ("src/api/routes.py", "src/store/rows.py", "db/1.sql"):
        (registry / path).parent.mkdir(parents=True, exist_ok=True)
        (registry / path).write_text("x")
    settings = registry / "forgekit.toml"
    text = settings.read_text().replace("[projects]", 'storage = ["src/store/**", "db/*.sql"]\n[projects]')
    settings.write_text(text)
    git(registry, "add", "src", "db", "forgekit.toml")
    git(registry, "commit", "-qm", "code")
    monkeypatch.chdir(registry)
    forge = Forge.open(registry)
    create(forge, "The API is REST", project="Nexus", governs=["src/api/**"])
    create(forge, "Rows are kept in SQLite", project="Nexus", governs=["storage"])
    create(forge, "Money is never a float", project="Nexus")
    return forge


def titles(forge: Forge, *paths: str, diff: str | None = None) -> list[str]:
    return [row.decision.title for row in explain(forge, paths, diff=diff).rows]


def test_a_file_is_governed_by_patterns_and_components(forge: Forge) -> None:
    assert titles(forge, "src/api/routes.py") == ["The API is REST"]
    assert titles(forge, "src/store/rows.py") == titles(forge, "db/1.sql") == ["Rows are kept in SQLite"]
    assert titles(forge, "README.md") == []
    [row] = explain(forge, [str(Path.cwd() / "src/api/routes.py"), "src/api/new.py"]).rows
    assert (row.paths, row.patterns) == (("src/api/routes.py", "src/api/new.py"), ("src/api/**",))


def test_decisions_in_conflict_come_first_and_then_the_stale_ones(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(forge, "The API is GraphQL", project="Nexus", governs=["src/**"])
    create(forge, "Routes are sorted by path", project="Nexus", governs=["routes.py"])
    rows = explain(forge, ["src/api/routes.py"]).rows
    assert {row.decision.title for row in rows[:2]} == {"The API is GraphQL", "The API is REST"}
    assert [len(row.conflicts) for row in rows] == [1, 1, 0]
    monkeypatch.setenv("FORGEKIT_NOW", "2036-01-01")
    later = explain(Forge.open(Path.cwd()), ["src/api/routes.py"]).rows
    assert all(row.stale for row in later)


def test_what_contradicts_is_looked_for_in_a_fresh_clone(
    forge: Forge, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(forge, "The API is GraphQL", project="Nexus", governs=["src/**"])
    git(forge.root, "clone", "-q", str(forge.root), str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    shown = cli("explain", "src/api/routes.py", "--json", root=tmp_path / "clone").json
    assert [(len(row["conflicts"]), row["marks"]) for row in shown["decisions"]] == [
        (1, [f"in conflict: {row['conflicts'][0]}"]) for row in shown["decisions"]
    ]
    assert (len(shown["decisions"]), shown["notice"]) == (2, "")


def test_where_nothing_can_be_judged_it_is_named(
    forge: Forge, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = Missing(reason="no embedding model is installed", hint="forgekit model install")
    monkeypatch.setattr("forgekit.models.choice.find_judge", lambda *_, **__: missing)
    ran = cli("explain", "src/api/routes.py", root=forge.root)
    assert ran.err == f"conflicts were not looked for: {missing}\n"
    assert cli("explain", "README.md", root=forge.root).err == (
        "no decision or convention in force governs 1 file asked about\n"
    )


def test_active_conventions_are_shown_by_their_scope(forge: Forge, cli: Cli) -> None:
    made = conventions.create(forge, "Sort the routes", project="Nexus", scope=["src/api/**"]).entity
    conventions.create(forge, "Number the rows", project="Nexus", scope=["storage"])
    gone = conventions.create(forge, "Avoid routes", project="Nexus", scope=["src/**"]).entity
    conventions.create(forge, "Be brief", project="Nexus")
    conventions.answer(forge, [gone.id], "retired")
    [row] = explain(forge, ["src/api/routes.py", "README.md"]).conventions
    assert (row.convention.id, row.paths, row.patterns) == (made.id, ("src/api/routes.py",), ("src/api/**",))
    assert cli("explain", "src/api/routes.py", root=forge.root).out.splitlines()[2:] == [
        f"cnv_{made.id[-12:]}  Sort the routes",
        "    Nexus, convention; scope src/api/**: src/api/routes.py",
    ]
    [shown] = cli("explain", "db/1.sql", "--json", root=forge.root).json["conventions"]
    assert (shown["convention"], shown["scope"], shown["paths"]) == (
        "Number the rows",
        ["storage"],
        ["db/1.sql"],
    )


def test_the_files_of_a_diff_are_asked_about(forge: Forge) -> None:
    Path("db/2.sql").write_text("y")
    git(Path.cwd(), "add", "db")
    git(Path.cwd(), "commit", "-qm", "more")
    assert titles(forge, diff="HEAD~1..HEAD") == titles(forge, diff="HEAD~1..") == ["Rows are kept in SQLite"]
    with pytest.raises(UsageError, match=r"--diff takes two revisions such as main\.\.HEAD, not 'HEAD'"):
        explain(forge, diff="HEAD")
    with pytest.raises(RepositoryError):
        explain(forge, diff="nowhere..HEAD")
    with pytest.raises(UsageError, match=r"name a file, or two revisions with --diff BASE\.\.HEAD"):
        explain(forge)


def test_a_path_is_relative_to_the_top_of_its_repository(forge: Forge) -> None:
    root = forge.root
    assert relative("routes.py", root / "src/api") == "src/api/routes.py"
    assert relative("../../db/1.sql", root / "src/api") == "db/1.sql"
    assert relative("/etc/passwd", root) == "/etc/passwd"


def test_patterns_that_cover_no_file_are_a_finding_of_stale(forge: Forge) -> None:
    assert unused(forge) == {}
    made = create(forge, "Old views", project="Nexus", governs=["src/views/**", "db/*.sql"]).entity
    assert unused(forge) == {made.id: ("src/views/**",)}
    assert [(d.title, names) for d, names in stale_decisions(forge).idle] == [
        ("Old views", ("src/views/**",))
    ]
    git(forge.root, "rm", "-qr", "src", "db")
    assert unused(forge) == {}, "where no pattern covers a file, the files are in another repository"


def test_the_command_prints_what_governs_a_file(forge: Forge, cli: Cli) -> None:
    lines = cli("explain", "src/api/routes.py", root=forge.root).out.splitlines()
    assert len(lines) == 2
    assert lines[0].endswith("  The API is REST")
    assert lines[1].endswith("; governs src/api/**: src/api/routes.py")
    found = json.loads(cli("explain", "db/1.sql", "--json", root=forge.root).out)
    assert [(row["decision"], row["governs"]) for row in found["decisions"]] == [
        ("Rows are kept in SQLite", ["storage"])
    ]


SCRIPT = Path(__file__).parents[2] / "hooks" / "ci" / "explain.sh"


@pytest.mark.parametrize(
    ("fail", "status", "said"),
    [
        ("", 0, ""),
        ("conflicts", 1, " is in an open conflict: "),
        ("stale", 1, " is in an open conflict: "),
        ("often", 2, "FORGEKIT_CI_FAIL must be never, conflicts or stale"),
    ],
)
def test_the_job_of_a_pull_request_fails_where_it_is_asked_to(
    forge: Forge, tmp_path: Path, fail: str, status: int, said: str
) -> None:
    other = create(forge, "The API is SOAP", project="Nexus", governs=["src/**"]).entity
    record_conflict(forge, other)
    git(forge.root, "add", "-A")
    Path("src/api/routes.py").write_text("y")
    git(forge.root, "commit", "-qam", "change")
    program = tmp_path / "bin" / "forgekit"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m forgekit "$@"\n')
    program.chmod(0o755)
    env = os.environ | {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "FORGEKIT_CI_FAIL": fail}
    line = [str(SCRIPT), "HEAD~1..HEAD"]
    done = subprocess.run(line, cwd=forge.root, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert ("The API is SOAP" in done.stdout) is (status != 2)


def test_the_action_fails_where_its_script_does() -> None:
    text = SCRIPT.with_name("action.yml").read_text(encoding="utf-8")
    assert " | tee " in text
    assert "- shell: bash " in text, "sh takes the status of `tee`"


def record_conflict(forge: Forge, one: Entity) -> None:
    """File an open verdict between a decision and the one on REST."""
    [rest] = [each for each in forge.registry().decisions if each.title == "The API is REST"]
    assert isinstance(one, Decision)
    a, b = sorted((one, rest), key=lambda side: side.id)
    verdict = Conflict(
        conflict_id=pair_id(a.id, b.id),
        decision_a=a.id,
        decision_b=b.id,
        nature=NATURE,
        detected_at=one.created_at,
    )
    write(forge, lambda _: [verdict], "conflict new")


def test_a_folder_means_all_files_below_it(forge: Forge) -> None:
    assert sorted(titles(forge, "src"), reverse=True) == ["The API is REST", "Rows are kept in SQLite"]
    Path("src/api/new.py").write_text("y")
    [row] = explain(forge, ["src/api/"]).rows
    assert row.paths == ("src/api/new.py", "src/api/routes.py")


@pytest.mark.parametrize("pattern", ["/etc/passwd", "../x", "a/../b"])
def test_a_pattern_that_can_cover_no_file_of_the_repository_is_refused(forge: Forge, pattern: str) -> None:
    with pytest.raises(RuleError) as refused:
        create(forge, "Use B", project="Nexus", governs=[pattern])
    assert str(refused.value) == (
        f"governs: {pattern!r} must be relative to the top of the repository, such as `src/**`"
    )
