"""The loop, through the command line, with the four shapes of archive."""

from __future__ import annotations

from pathlib import Path

import pytest
from clirun import Cli
from support import git

CASES = Path(__file__).parents[1] / "cases" / "archives"
FIRST, SECOND = (CASES / f"example_{letter}.md" for letter in "ab")


@pytest.fixture
def filed(registry: Path, cli: Cli) -> Path:
    assert cli("sync-compression", "--project", "The Nexus", str(FIRST), str(SECOND)).code == 0
    return registry


def test_filing_says_what_it_did(registry: Path, cli: Cli) -> None:
    ran = cli("sync-compression", "--project", "The Nexus", "--archive", str(FIRST), root=registry)
    assert (ran.code, ran.out, ran.err) == (
        0,
        (
            "arc_ab836915c1d9  LEDGER_API_FROZEN  (The Nexus)\n"
            "  decisions: 3 new, 0 known, 0 carried\n"
            "  threads: 2 new, 0 resolved, 2 still open\n"
            "  artifacts: 1, kept in the archive\n"
        ),
        "committed as <commit>\n",
    )
    ran = cli("sync-compression", "--project", "The Nexus", "--archive", str(SECOND))
    assert (ran.code, ran.out) == (
        0,
        (
            "arc_e4fa00c66653  LEDGER_RETRY_WINDOW_BRIDGE  (The Nexus)\n"
            "  decisions: 2 new, 0 known, 1 carried\n"
            "  threads: 1 new, 1 resolved, 1 still open\n"
            "  lineage: con_bfd788415939 -> con_d5faf30f5d9e\n"
            "  artifacts: 1, kept in the archive\n"
        ),
    )


def test_filing_again_changes_nothing_and_says_where_the_registry_stands(filed: Path, cli: Cli) -> None:
    tip = _tip(filed)
    ran = cli("sync-compression", "--project", "The Nexus", str(FIRST))
    assert (ran.code, ran.out, ran.err) == (
        0,
        (
            "arc_ab836915c1d9  LEDGER_API_FROZEN  (The Nexus): already filed\n"
            "  T001 is shown open in LEDGER_API_FROZEN; it was resolved 2026-03-19 in con_d5faf30f5d9e: "
            "the registry stands\n"
        ),
        "already filed: nothing to do\n",
    )
    assert _tip(filed) == tip


def test_an_archive_is_read_from_standard_input(registry: Path, cli: Cli) -> None:
    data = FIRST.read_bytes()
    ran = cli(
        "sync-compression", "--archive", "-", "--project", "The Nexus", "--json", root=registry, stdin=data
    )
    assert ran.code == 0
    assert ran.json["archives"][0]["short_id"] == "arc_ab836915c1d9"
    assert [e["kind"] for e in ran.json["created"]].count("decision") == 3
    text = cli("archive", "show", "LEDGER_API_FROZEN", "--text")
    assert text.out.encode() == data


def test_a_dry_run_writes_nothing(registry: Path, cli: Cli) -> None:
    tip = _tip(registry)
    ran = cli("sync-compression", "--project", "The Nexus", str(FIRST), "--dry-run", root=registry)
    assert ran.code == 0
    assert "+decision: Store amounts as integer minor units" in ran.out.splitlines()
    assert ran.err.endswith("nothing written (dry run)\n")
    assert _tip(registry) == tip
    assert _status(registry) == ""


def test_a_dry_run_with_nothing_to_write_is_told_as_one(filed: Path, cli: Cli) -> None:
    told = cli(
        "sync-compression", "--project", "The Nexus", str(FIRST), "--dry-run", "--json", root=filed
    ).json
    assert (told["commit"], told["dry_run"]) == (None, True)


def test_without_a_commit_the_files_wait_for_the_person(registry: Path, cli: Cli) -> None:
    tip = _tip(registry)
    ran = cli("sync-compression", "--project", "The Nexus", str(FIRST), "--no-commit", root=registry)
    assert (ran.code, ran.err) == (0, "8 files written, not committed\n")
    assert _tip(registry) == tip
    assert len(_status(registry).splitlines()) == 8


def test_the_blocks_are_data_and_say_what_was_cut(filed: Path, cli: Cli) -> None:
    ran = cli("prepare-compression", "--project", "The Nexus", root=filed)
    assert ran.code == 0
    assert ran.out.startswith("## Registry state: The Nexus\n")
    small = cli("prepare-compression", "--project", "The Nexus", "--budget", "300", "--json")
    assert small.json["block"] == "registry-state"
    assert small.json["cut"]


def test_continuing_names_what_has_changed(filed: Path, cli: Cli) -> None:
    ran = cli("prepare-continuation", "--tag", "LEDGER_API_FROZEN", root=filed)
    assert ran.code == 0
    assert (
        "- T001 thr_e8601b672c50: retry window for batch jobs is RESOLVED since 2026-03-19 "
        "in con_d5faf30f5d9e: Fifteen minutes, see D004\n"
    ) in ran.out


def test_an_archive_of_another_project_is_not_continued(filed: Path, cli: Cli) -> None:
    cli("project", "new", "Apollo", root=filed)
    name = "LEDGER_API_FROZEN"
    ran = cli("prepare-continuation", "--tag", name, "--project", "Apollo")
    assert (ran.code, ran.out, ran.err) == (
        1,
        "",
        f"forgekit: no archive of Apollo answers to '{name}'; `forgekit archive list` shows the tags\n",
    )
    assert cli("prepare-continuation", "--tag", name, "--project", "the nexus").code == 0


def test_questions_are_answered_with_sources_or_not_at_all(filed: Path, cli: Cli) -> None:
    ran = cli("ask", "Why", "did", "we", "decide", "plain", "table", root=filed)
    assert ran.code == 0
    assert "Operators can query it with the tools they have" in ran.out
    assert "archive LEDGER_RETRY_WINDOW_BRIDGE" in ran.out
    ran = cli("ask", "zeppelin", "--json")
    assert (ran.code, ran.json["found"]) == (1, False)


def _tip(root: Path) -> str:
    return git(root, "rev-parse", "HEAD")


def _status(root: Path) -> str:
    return git(root, "status", "--porcelain", "--untracked-files=all")
