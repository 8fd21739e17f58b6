"""Laws of reading archives: total, line ends do not count, nothing lost in silence, blocks round-trip."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.archives.claims import IDS
from forgekit.archives.document import read_document
from forgekit.archives.logs import parse_machine_block
from forgekit.archives.machine_block import MachineBlock, MachineRecord, write_machine_block
from forgekit.archives.read import read_archive
from forgekit.model.rules import one_line

PIECES = st.sampled_from(
    [
        "### D001: Use rows\n",
        "- **Tier:** 0.8\n",
        "- T001: Retry (high)\n",
        "| ID | Text |\n|----|------|\n",
        "| D002 | files |\n",
        "```yaml\n",
        "```\n",
        "decisions:\n  - id: D003\n    decision: x\n",
        "<!--\n",
        "-->\n",
        "## Conflicts\n",
        "## Decision Log\n",
        "<!-- FORGE_OS_MACHINE_BLOCK_START\nversion: 2\n",
        "FORGE_OS_MACHINE_BLOCK_END -->\n",
        "see D004\n",
        "Open threads: T005 this; T006 that\n",
        "> quoted\n",
        "\n",
    ]
)
DOCUMENTS = st.lists(PIECES | st.text(max_size=20), max_size=14).map("".join)
LINES = st.text(min_size=1, max_size=30).map(one_line).filter(bool)


@given(DOCUMENTS)
@settings(max_examples=150, deadline=None)
def test_every_text_can_be_read_and_line_ends_do_not_count(text: str) -> None:
    read = read_archive(text)
    count = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert all(1 <= problem.line <= count for problem in read.problems if problem.line is not None)
    lines = [d.line for d in read.decisions] + [t.line for t in read.threads]
    assert all(1 <= line <= count for line in lines)
    plain = text.replace("\r", "")
    assert read_archive(plain.replace("\n", "\r\n")) == read_archive(plain)


@given(DOCUMENTS)
@settings(max_examples=150, deadline=None)
def test_each_id_seen_is_a_record_or_a_finding(text: str) -> None:
    read = read_archive(text)
    known = {decision.local_id for decision in (*read.decisions, *read.carried)}
    known |= {thread.local_id for thread in read.threads} | {a.local_id for a in read.artifacts}
    told = {found for problem in read.problems for found in IDS.findall(problem.message)}
    assert {local_id for local_id, _ in read.ids_seen} <= known | told


@given(LINES, st.lists(st.integers(1, 999), max_size=4))
@settings(max_examples=150, deadline=None)
def test_machine_blocks_round_trip(project: str, numbers: list[int]) -> None:
    named = tuple(MachineRecord(id=f"D{n:03d}", entity=f"dec_{n:012x}", status="active") for n in numbers)
    block = write_machine_block(MachineBlock(purpose="registry-state", project=project, decisions=named))
    assert block.count("--") == 2
    (read,) = parse_machine_block(f"\n{block}")
    assert (read.decisions, read.broken) == (named, "")


@pytest.mark.parametrize(
    "text",
    ["#" * 300_000, "`" * 300_000, "- D001\n" * 5_000, "[" * 300_000, "\t" * 300_000, " " * 300_000 + "x"],
    ids=["hashes", "backticks", "bullets", "brackets", "tabs", "blanks"],
)
def test_long_runs_are_read(text: str) -> None:
    assert read_document(text).problems == ()
    assert read_archive(text).decisions == ()
