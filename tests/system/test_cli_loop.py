"""The loop, through the command line, with the four shapes of archive."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import Cli
from repositories import git

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
            "  read 6 of 6 ids, 34 labelled fields\n"
            "  decisions: 3 new, 0 known, 0 carried\n"
            "  threads: 2 new, 0 resolved, 2 still open\n"
            "  artifacts: 1, kept in the archive\n"
            "  + D001  active 0.9  Key every ledger row with a time-ordered 128-bit identifier  "
            "[reason, 1 alternative]\n"
            "  + D002  active 0.55  Store amounts as integer minor units  [reason]\n"
            "  + D003  active 0.15  Maybe expose a change stream instead of polling  [reason, 1 dependency]\n"
            "  + T001  open high  retry window for batch jobs\n"
            "  + T002  open low  audit export layout  [1 blocker]\n"
        ),
        "new project 'The Nexus'\ncommitted as <commit>\n",
    )
    ran = cli("sync-compression", "--project", "The Nexus", "--archive", str(SECOND))
    assert (ran.code, ran.out) == (
        0,
        (
            "arc_e4fa00c66653  LEDGER_RETRY_WINDOW_BRIDGE  (The Nexus)\n"
            "  read 6 of 6 ids, 14 labelled fields\n"
            "  decisions: 2 new, 0 known, 1 carried\n"
            "  threads: 1 new, 1 resolved, 1 still open\n"
            "  lineage: con_bfd788415939 -> con_d5faf30f5d9e\n"
            "  artifacts: 1, kept in the archive\n"
            "  + D004  active 0.6  Producers resend for at most fifteen minutes, then park the row  "
            "[reason, 1 dependency]\n"
            "  + D005  active 0.5  Parked rows live in a plain table  [reason]\n"
            "  + T003  open medium  Who owns the parked-row table\n"
            "  ~ T001  open high -> resolved  retry window for batch jobs  [resolution]\n"
            "  warning: LEDGER_RETRY_WINDOW_BRIDGE: the text names project 'Ledger'; --project files it "
            "under 'The Nexus' (file it without --project if that is wrong)\n"
        ),
    )


def test_an_archive_is_filed_under_the_project_of_its_parent(registry: Path, cli: Cli) -> None:
    first = "# Mill 1\n\n**Project:** Mill voices, a paper mill\n**Date:** 2026-03-01\n**Tag:** MILL_1\n\n"
    (registry / "one.md").write_text(f"{first}## Decisions\n- D1: Interview at home\n")
    second = "# Mill 2\n\n**Project:** Mill voices\n**Date:** 2026-04-01\n**Tag:** MILL_2\n"
    (registry / "two.md").write_text(f"{second}**Continues:** MILL_1\n\n- dropped D1, nobody is at home\n")
    assert cli("sync-compression", "one.md").code == 0
    ran = cli("sync-compression", "two.md")
    assert (ran.code, ran.out) == (
        0,
        (
            "arc_e4ae11940fcd  MILL_2  (Mill voices, a paper mill)\n"
            "  read 0 records, 0 labelled fields\n"
            "  decisions: 0 new, 0 known, 1 carried\n"
            "  threads: 0 new, 0 resolved, 0 still open\n"
            "  lineage: con_756d64d89c13 -> con_49621e5d0afa\n"
            "  ~ D1  active -> invalidated  Interview at home  [reason]\n"
            "  info: MILL_2: the text names project 'Mill voices'; it was filed under "
            "'Mill voices, a paper mill', where its parent is\n"
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
            "the registry is kept\n"
        ),
        "already filed: nothing to do\n",
    )
    assert _tip(filed) == tip


HEAD = (
    "# Conversation Archive: broker choice {0}\n\n{1}**Project:** Nexus\n**Compression Tag:** `NEXUS_{0}`\n"
)


def _archive(number: int, more: str, date: str = "") -> bytes:
    day = f"**Date:** {date or f'2026-03-0{number}'}\n"
    return (HEAD.format(number, "" if date == "none" else day) + more).encode()


def test_only_what_ended_now_counts_as_resolved(registry: Path, cli: Cli) -> None:
    threads = (
        "\n## Active Threads\n\n#### T001: Which retention?\n**Status:** {}\n"
        "\n#### T002: Which auth?\n**Status:** {}\n"
    )
    told = [("OPEN", "OPEN"), ("RESOLVED", "RESOLVED"), ("OPEN", "RESOLVED")]
    said = []
    for number, states in enumerate(told, 1):
        parent = f"**Inherits From:** `NEXUS_{number - 1}`\n" if number > 1 else ""
        ran = cli(
            "sync-compression", "-", stdin=_archive(number, parent + threads.format(*states)), root=registry
        )
        said += [line for line in ran.out.splitlines() if line.startswith("  threads:")]
    assert said == [
        "  threads: 2 new, 0 resolved, 2 still open",
        "  threads: 0 new, 2 resolved, 0 still open",
        "  threads: 0 new, 0 resolved, 0 still open",
    ]


def test_a_doubtful_date_is_said(registry: Path, cli: Cli) -> None:
    more = "\n## Decisions\n\n#### D001: Use NATS\n**Decision:** Use NATS as the broker {}.\n"
    undated = _archive(1, more.format("here"), "none")
    ran = cli("sync-compression", "-", stdin=undated, root=registry)
    assert ran.out.splitlines()[-1] == (
        "  warning: NEXUS_1: no date was found (say --at DATE; once it is filed, `git revert` that "
        "commit first)"
    )
    assert "warning" not in cli("sync-compression", "-", stdin=undated).out
    [line] = cli("stale").out.splitlines()
    assert line.split("\t")[1:3] == ["no date", "0 hops"]
    ran = cli("sync-compression", "-", stdin=_archive(2, more.format("there"), "2062-10-03"))
    assert ran.out.splitlines()[-1] == (
        "  warning: NEXUS_2: its date, 2062-10-03, lies ahead (if that is a slip, `git revert` the commit "
        "that filed it, and file the corrected text)"
    )
    name = cli("decision", "list").out.split("\t")[0]
    later = "unchanged: it was validated later, at 2062-10-03T00:00:00Z"
    assert cli("decision", "validate", name).err == f"decision validate {name}: {later}\n"
    again = ("decision", "validate", name, "--at", "2026-03-05")
    assert cli(*again).err == f"decision validate {name}: {later}\n"


def test_a_corrected_text_takes_the_place_of_the_filed_one(registry: Path, cli: Cli) -> None:
    more = "\n## Decisions\n\n#### D001: Use {0}\n**Decision:** Use {0} as the broker.\n"
    cli("sync-compression", "-", stdin=_archive(1, more.format("Kafka")), root=registry)
    name = cli("archive", "list").out.split("\t")[0]
    right = _archive(1, more.format("NATS"))
    ran = cli("sync-compression", "-", stdin=right)
    assert (ran.code, ran.err) == (
        1,
        (
            f"forgekit: {name} is already filed for this conversation, time and turns, with another text; "
            "--replace puts this one in its place\n"
        ),
    )
    ran = cli("sync-compression", "-", "--replace", stdin=right)
    assert (ran.code, ran.out.splitlines()[1]) == (0, "  read 1 of 1 id, 0 labelled fields")
    assert [len(cli(kind, "list").out.splitlines()) for kind in ("archive", "decision")] == [1, 1]
    assert cli("check").code == 0


def test_a_person_s_verdict_stays_with_the_text_that_it_was_given_on(registry: Path, cli: Cli) -> None:
    more = "\n## Decisions\n\n#### D001: Use {0}\n**Decision:** Use {0} as the broker.\n"
    cli("sync-compression", "-", stdin=_archive(1, more.format("Kafka")), root=registry)
    name = cli("decision", "list").out.split("\t")[0]
    cli("decision", "invalidate", name, "--reason", "Too much to run")
    ran = cli("sync-compression", "-", "--replace", stdin=_archive(1, more.format("NATS")))
    assert ran.out.splitlines()[-1] == (
        f"  {name} “Use Kafka as the broker.” is stated by no archive any more, and was changed since; "
        "its file stays"
    )
    rows = [row.split("\t")[1:4:2] for row in cli("decision", "list").out.splitlines()]
    assert sorted(rows) == [
        ["active", "Use NATS as the broker."],
        ["invalidated", "Use Kafka as the broker."],
    ]


def test_a_tag_that_another_conversation_has_is_warned_of(registry: Path, cli: Cli) -> None:
    text = "# Conversation Archive: {0}\n**Tag:** SAME_TAG\n**Date:** 2026-03-0{1}\n\n- D001: Use {0}\n"
    first = cli("sync-compression", "-", "--project", "P", stdin=text.format("A", 1).encode(), root=registry)
    assert "SAME_TAG too" not in first.out
    name = cli("archive", "list").out.split("\t")[0]
    again = cli("sync-compression", "-", "--project", "P", stdin=text.format("B", 2).encode())
    assert f"  warning: SAME_TAG: {name} has the tag SAME_TAG too (" in again.out


def test_an_archive_without_ids_says_how_many_records_were_read(registry: Path, cli: Cli) -> None:
    text = "# Archive\n\nTag: A_B\n\n## Decisions\n\n- We bake twice a week\n- We buy flour at the mill\n"
    ran = cli("sync-compression", "-", "--project", "Bakery", stdin=text.encode(), root=registry)
    assert "  read 2 records, 0 labelled fields" in ran.out.splitlines()


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
    assert (ran.code, ran.err) == (0, "new project 'The Nexus'\n8 files written, not committed\n")
    assert _tip(registry) == tip
    assert len(_status(registry).splitlines()) == 8


def test_the_blocks_are_data_and_say_what_was_cut(filed: Path, cli: Cli) -> None:
    ran = cli("prepare-compression", "--project", "The Nexus", root=filed)
    assert ran.code == 0
    assert ran.out.startswith("## Registry state: The Nexus\n")
    told = " ".join(cli("prepare-compression", "--help").out.split())
    assert "one that is too small is refused with the least that it holds" in told
    small = cli("prepare-compression", "--project", "The Nexus", "--budget", "700", "--json")
    assert small.json["block"] == "registry-state"
    assert small.json["cut"] == ["Left out: 1 of 5 in Decisions In Force; `--budget` shows more."]


def test_continuing_names_what_has_changed(filed: Path, cli: Cli) -> None:
    ran = cli("prepare-continuation", "--tag", "LEDGER_API_FROZEN", root=filed)
    assert ran.code == 0
    assert (
        "- T001 thr_e8601b672c50: “retry window for batch jobs” is RESOLVED since 2026-03-19 "
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


def test_new_records_are_listed_in_the_order_of_their_numbers(registry: Path, cli: Cli) -> None:
    path = registry / "talk.md"
    path.write_text("**Boats**\n\n## Decisions\n- D2: Use oak\n- D10: Use brass\n- D1: Use rope\n")
    ran = cli("sync-compression", "--project", "Boats", str(path), root=registry)
    assert [line for line in ran.out.splitlines() if line.startswith("  + ")] == [
        "  + D1  active  Use rope",
        "  + D2  active  Use oak",
        "  + D10  active  Use brass",
    ]
    assert cli("conversation", "list", "--json").json[0]["title"] == "Boats"
    assert cli("archive", "list").out.endswith("\tBoats\tBoats\n")


def _tip(root: Path) -> str:
    return git(root, "rev-parse", "HEAD")


def _status(root: Path) -> str:
    return git(root, "status", "--porcelain", "--untracked-files=all")


def test_an_archive_shows_its_artifacts(filed: Path, cli: Cli) -> None:
    ran = cli("archive", "show", "LEDGER_API_FROZEN", root=filed)
    shown = ran.out.partition("\nArtifacts\n\n")[2].split()
    (artifact,) = cli("archive", "show", "LEDGER_API_FROZEN", "--json").json["artifacts"]
    assert shown[: 1 + len(artifact["name"].split())] == [artifact["local_id"], *artifact["name"].split()]
