"""The four worked examples of the archive formats, read in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from forgekit.archives.read import read_archive
from forgekit.model.archive_record import (
    ArchiveText,
    ArtifactRecord,
    ArtifactVersion,
    Chunk,
    DecisionRecord,
    Family,
    Scope,
    ThreadRecord,
)
from forgekit.model.entities import CompressionMode, DecisionStatus, Priority, ThreadStatus
from forgekit.times import parse_instant

CASES = Path(__file__).parent.parent / "cases" / "archives"


def example(letter: str) -> ArchiveText:
    return read_archive((CASES / f"example_{letter}.md").read_text(encoding="utf-8"))


def test_example_a_lossless() -> None:
    read = example("a")
    assert (read.tag, read.session_id, read.title) == (
        "LEDGER_API_FROZEN",
        "ledger-api-2026-03",
        "ledger-api-2026-03",
    )
    assert read.mode is CompressionMode.LOSSLESS
    assert (read.turns, read.turn_range) == (24, (1, 24))
    assert read.created == parse_instant("2026-03-04T16:20:00Z")
    assert (read.inherits_from, read.carried, read.truncated, read.problems) == ((), (), "", ())
    assert read.decisions == (
        DecisionRecord(
            local_id="D001",
            text="Key every ledger row with a time-ordered 128-bit identifier",
            line=61,
            family=Family.YAML,
            rationale="Index stays append-mostly and no sequence server is needed",
            context="Batch jobs insert from three hosts at once",
            tier=0.9,
            turn=5,
            timestamp=parse_instant("2026-03-04T14:05:00Z"),
            dependencies=(),
            alternatives=("bigint sequence (needs one coordinating writer)",),
        ),
        DecisionRecord(
            local_id="D002",
            text="Store amounts as integer minor units",
            line=76,
            family=Family.YAML,
            rationale="Exact sums; currency scale kept beside the amount",
            tier=0.55,
            turn=9,
            dependencies=(),
        ),
        DecisionRecord(
            local_id="D003",
            text="Maybe expose a change stream instead of polling",
            line=85,
            family=Family.YAML,
            rationale="Would cut poll traffic; nobody has tried it here",
            tier=0.15,
            turn=21,
            dependencies=("D001",),
        ),
    )
    assert read.threads == (
        ThreadRecord(
            local_id="T001",
            title="retry window for batch jobs",
            line=16,
            family=Family.PROSE,
            status=ThreadStatus.OPEN,
            priority=Priority.HIGH,
        ),
        ThreadRecord(
            local_id="T002",
            title="audit export layout",
            line=16,
            family=Family.PROSE,
            status=ThreadStatus.OPEN,
            priority=Priority.LOW,
            blocked_by=("T001",),
        ),
    )
    assert read.artifacts == (
        ArtifactRecord(
            local_id="A001",
            name="ledger-openapi.yaml",
            line=100,
            family=Family.YAML,
            type="schema",
            turn=7,
            versions=(
                ArtifactVersion(
                    version="1",
                    turn=7,
                    status="superseded",
                    content="openapi: 3.1.0\npaths: {}\n",
                ),
                ArtifactVersion(
                    version="2",
                    turn=18,
                    status="final",
                    changes="added /entries",
                    content="openapi: 3.1.0\npaths:\n  /entries: {}\n",
                ),
            ),
        ),
    )
    stretches = (
        Chunk(turns=(1, 11), topic="Identifiers and storage", decisions=("D001", "D002")),
        Chunk(turns=(12, 24), topic="Delivery guarantees", decisions=("D003",)),
    )
    assert read.chunks == (*stretches, *stretches)
    assert read.summary.startswith("The ledger service needs an HTTP API")


def test_example_b_partial_with_a_machine_block() -> None:
    read = example("b")
    assert (read.tag, read.mode) == ("LEDGER_RETRY_WINDOW_BRIDGE", CompressionMode.PARTIAL)
    assert (read.turns, read.turn_range) == (17, (25, 41))
    assert read.inherits_from == ("LEDGER_API_FROZEN",)
    assert read.project == "Ledger"
    assert read.conversation == "018bcfe5-6800-8625-89cf-d5faf30f5d9e"
    assert read.decisions == (
        DecisionRecord(
            local_id="D004",
            text="Producers resend for at most fifteen minutes, then park the row",
            line=80,
            family=Family.MACHINE,
            rationale="Longest outage seen last year was nine minutes",
            context="Settles T001",
            tier=0.6,
            turn=31,
            dependencies=("D001",),
        ),
        DecisionRecord(
            local_id="D005",
            text="Parked rows live in a plain table",
            line=85,
            family=Family.MACHINE,
            rationale="Operators can query it with the tools they have",
            tier=0.5,
            tier_token="2",  # noqa: S106 - a class of tier
            turn=38,
        ),
    )
    assert read.threads == (
        ThreadRecord(
            local_id="T001",
            title="Retry window for batch jobs",
            line=89,
            family=Family.MACHINE,
            status=ThreadStatus.RESOLVED,
            priority=Priority.HIGH,
            resolution="Fifteen minutes, see D004",
        ),
        ThreadRecord(
            local_id="T003",
            title="Who owns the parked-row table",
            line=93,
            family=Family.MACHINE,
            status=ThreadStatus.OPEN,
            priority=Priority.MEDIUM,
        ),
    )
    assert [(a.local_id, a.name) for a in read.artifacts] == [("A002", "retry-sequence.md")]
    assert [(d.local_id, d.tier, d.scope, d.inherited_from) for d in read.carried] == [
        ("D001", 0.9, Scope.INHERITED, "LEDGER_API_FROZEN")
    ]
    assert {local_id for local_id, _ in read.ids_seen} == {"D001", "D004", "D005", "T001", "T003", "A002"}
    assert (read.problems, read.truncated) == ((), "")


def test_example_c_lossy() -> None:
    read = example("c")
    assert (read.tag, read.session_id) == ("LEDGER_EXPORT_CSV_CHOSEN", "ledger-quick-01")
    assert (read.mode, read.turns, read.turn_range) == (CompressionMode.LOSSY, 6, (1, 6))
    assert read.created == parse_instant("2026-03-20T08:00:00Z")
    assert [(d.text, d.tier, d.turn, d.alternatives) for d in read.decisions] == [
        ("Export audit rows as CSV with a header line", 0.8, 4, ("XML", "fixed width"))
    ]
    assert [(t.title, t.status, t.priority, t.blocked_by) for t in read.threads] == [
        ("Column order for refunds", ThreadStatus.OPEN, Priority.MEDIUM, ())
    ]
    assert [(a.name, a.type, a.summary, a.status) for a in read.artifacts] == [
        ("export-layout.md", "document", "Column list", "draft - needs sign-off")
    ]
    assert read.summary == (
        "You are continuing work on the audit export. **Next action:** settle the refund column order."
    )
    assert (read.problems, read.truncated) == ((), "")


def test_example_d_entity_tables() -> None:
    read = example("d")
    assert (read.tag, read.project, read.title) == (
        "ledger-parked-rows-2026-03-22",
        "Ledger",
        "Parked Rows Review",
    )
    assert read.created == parse_instant("2026-03-22")
    assert read.decisions == (
        DecisionRecord(
            local_id="D001",
            text="Only on-call may delete parked rows",
            line=28,
            family=Family.TABLE,
            context="two-person rule | audited",
            tier=0.9,
            tier_token="1",  # noqa: S106 - a class of tier
            status=DecisionStatus.ACTIVE,
        ),
    )
    assert read.threads == (
        ThreadRecord(
            local_id="T001",
            title="Retention of parked rows",
            line=33,
            family=Family.TABLE,
            status=ThreadStatus.OPEN,
        ),
    )
    assert (read.problems, read.truncated) == ((), "")


@pytest.mark.parametrize("letter", "abcd")
def test_line_ends_and_a_bom_change_nothing(letter: str) -> None:
    text = (CASES / f"example_{letter}.md").read_text(encoding="utf-8")
    assert read_archive("\ufeff" + text.replace("\n", "\r\n")) == read_archive(text)


@pytest.mark.parametrize("letter", "abcd")
def test_a_markdown_fence_around_the_whole_changes_only_lines(letter: str) -> None:
    text = (CASES / f"example_{letter}.md").read_text(encoding="utf-8")
    wrapped = read_archive(f"```markdown\n{text}```\n")
    plain = read_archive(text)
    assert [d.text for d in wrapped.decisions] == [d.text for d in plain.decisions]
    assert [t.title for t in wrapped.threads] == [t.title for t in plain.threads]
    assert (wrapped.tag, wrapped.problems) == (plain.tag, ())
