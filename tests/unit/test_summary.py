"""Compaction summaries as archives: invented ones line by line, laws, and the real ones in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from forgekit.archives.formats.summary import is_summary, read_summary
from forgekit.model.archive_record import ArchiveText, Family, Section
from forgekit.model.lineage import CompressionMode
from forgekit.model.problem import Problem, Severity
from forgekit.model.thread import ThreadStatus
from forgekit.transcripts.claude_code import CompactSummary, compactions

CASES = Path(__file__).parents[1] / "cases" / "summaries"
REAL = Path(__file__).parents[3] / "shared" / "data" / "claude_code"
OPENING = "This session is being continued from a previous conversation that ran out of context.\n\n"


def told(said: ArchiveText) -> str:
    rows = []
    for decision in said.decisions:
        rows.append(f"{decision.local_id} {decision.line} {decision.text}")
        rows[-1] += "".join(f" | not: {name}" for name in decision.alternatives)
    for thread in said.threads:
        assert thread.status is not None
        rows.append(f"{thread.local_id} {thread.line} {thread.status.value} {thread.title}")
        rows[-1] += f" | {thread.resolution}" if thread.resolution else ""
        rows[-1] += f" | blocked by {', '.join(thread.blocked_by)}" if thread.blocked_by else ""
        rows[-1] += " | reopened" if thread.reopened else ""
    rows += [f"{one.local_id} {one.line} {one.name}: {one.summary}" for one in said.artifacts]
    return "".join(f"{row}\n" for row in rows)


def case(name: str) -> tuple[str, str]:
    text, _, expected = (CASES / name).read_text("utf-8").partition("=== expected\n")
    return text, expected


def summary(sections: str) -> ArchiveText:
    return read_summary(f"{OPENING}Summary:\n{sections}")


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.glob("*.md")))
def test_a_case_is_read_line_by_line(name: str) -> None:
    text, expected = case(name)
    assert is_summary(text)
    assert told(read_summary(text)) == expected


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.glob("*.md")))
def test_line_ends_of_another_system_change_nothing(name: str) -> None:
    text, _ = case(name)
    assert read_summary(text.replace("\n", "\r\n")) == read_summary(text)


def test_only_the_fixed_opening_makes_a_summary() -> None:
    assert is_summary("\ufeff\n" + OPENING)
    assert not is_summary("# Notes\n\n" + OPENING)
    assert not is_summary("Summary:\n1. Primary Request and Intent:\n")
    assert not is_summary("")


def test_what_goes_for_the_whole_archive() -> None:
    said = read_summary(case("plain.md")[0])
    assert said.mode is CompressionMode.LOSSY
    assert (said.created, said.tag, said.session_id, said.conversation) == (None, None, None, None)
    assert said.summary == ("Build a service that mails invoices every night. It must run on one small host.")
    assert {decision.tier for decision in said.decisions} == {0.5}
    assert {decision.tier_token for decision in said.decisions} == {None}
    families = [{one.family for one in said.decisions}, {one.family for one in said.threads}]
    assert [*families, {one.family for one in said.artifacts}] == [{Family.SUMMARY}] * 3
    assert said.problems == ()


def test_sections_keep_their_lines() -> None:
    text = case("nothing.md")[0]
    said = read_summary(text)
    assert said.sections == (
        Section(title="Primary Request and Intent", level=1, heading_line=4, first_line=5, last_line=6),
        Section(title="Pending Tasks", level=1, heading_line=8, first_line=9, last_line=9),
        Section(title="Current Work", level=1, heading_line=11, first_line=12, last_line=13),
        Section(title="Optional Next Step", level=1, heading_line=15, first_line=16, last_line=16),
    )
    assert said.summary == "Count the stars; Print them"


def test_a_nested_list_is_the_content_of_its_task() -> None:
    thread = read_summary(case("plain.md")[0]).threads[0]
    assert thread.content == "Add the dry run\n- print the recipients\n- send nothing"


def test_a_long_task_is_cut_at_a_word_and_kept_whole() -> None:
    long = "Rewrite " + "the import of every old customer record " * 10 + "now"
    (thread,) = summary(f"7. Pending Tasks:\n   - {long}\n").threads
    assert len(thread.title) <= 200
    assert thread.title == long[: len(thread.title) - 1] + "…"
    assert long[len(thread.title) - 1] == " "
    assert thread.content == long


def test_reason_and_surroundings_of_a_decision_are_kept() -> None:
    said = read_summary(case("plain.md")[0])
    assert said.decisions[1].rationale == "the mail host allows one connection"
    assert said.decisions[0].context == "Storage: The user asked how invoices should be kept."


def test_ids_of_the_text_are_named_and_never_given_again() -> None:
    said = summary(
        "1. Key Decisions:\n   - D001 stands\n\n2. Pending Tasks:\n   - Close T001\n   - Close T003\n"
    )
    assert said.ids_seen == (("D001", 5), ("T001", 8), ("T003", 9))
    assert [thread.local_id for thread in said.threads] == ["T002", "T004"]


def test_a_task_told_on_the_heading_line() -> None:
    said = summary(
        "6. All user messages:\n   - go\n7. Pending Tasks: None.\n8. Next Steps: Publish the site\n"
    )
    assert [section.title for section in said.sections] == [
        "All user messages",
        "Pending Tasks",
        "Next Steps",
    ]
    assert told(said) == "T001 7 open Publish the site\n"


def test_without_sections_nothing_is_read_and_that_is_said() -> None:
    said = read_summary(OPENING + "We decided to use tabs.\n")
    assert said.decisions == ()
    assert said.problems == (
        Problem(
            code="summary-without-sections",
            message="this compaction summary has no numbered sections, so nothing was read from it",
            severity=Severity.WARNING,
            fix="the text is kept whole; write what matters as `D001` and `T001` lines",
        ),
    )


def test_a_fence_left_open_ends_at_the_next_section() -> None:
    said = summary("6. Current Work:\n```\n- [x] code\n7. Pending Tasks:\n   - Close the fence\n")
    assert told(said) == "T001 8 open Close the fence\n"


@pytest.mark.parametrize(
    "line",
    [
        "- " + "[a" * 50_000,
        "- " + "** " * 30_000,
        "- " + "user agreed " * 8_000,
        "- " + " " * 100_000 + "done",
        "- " + '"' * 100_000,
        "\n".join(" " * depth + "- x" for depth in range(400)),
        "- use a instead of b\n" * 3_000,
    ],
)
def test_hostile_lines_are_read_to_the_end(line: str) -> None:
    said = summary(
        f"5. Problem Solving:\n{line}\n7. Pending Tasks:\n{line}\n9. Optional Next Step:\n{line}\n"
    )
    assert [section.title for section in said.sections] == [
        "Problem Solving",
        "Pending Tasks",
        "Optional Next Step",
    ]
    assert all(len(one.text) <= 200 for one in said.decisions)
    assert all(0 < len(one.title) <= 200 for one in said.threads)


def test_every_real_summary_gives_its_sections_tasks_and_files() -> None:
    if not REAL.is_dir():
        pytest.skip(f"no real transcripts in {REAL}: nothing was read")
    found = [one for path in sorted(REAL.glob("*.jsonl.gz")) for one in compactions(str(path))]
    summaries = [one for one in found if isinstance(one, CompactSummary)]
    assert len(summaries) == len(found) == 24
    assert all(is_summary(one.text) for one in summaries)
    read = [read_summary(one.text) for one in summaries]
    assert [len(said.sections) for said in read] == [9] * 24
    assert [said.problems for said in read] == [()] * 24
    assert all(said.summary and said.artifacts for said in read)
    # three of them say that nothing is pending; one task of another is told as resolved
    assert sum(not said.threads for said in read) == 3
    ended = [thread for said in read for thread in said.threads if thread.status is not ThreadStatus.OPEN]
    assert len(ended) == 1
    for one, said in zip(summaries, read, strict=True):
        lines = one.text.split("\n")
        places = [one.line for one in said.decisions] + [one.line for one in said.threads]
        assert all(lines[place - 1].strip() for place in places)
