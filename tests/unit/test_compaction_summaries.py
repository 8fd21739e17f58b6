"""Compaction summaries as archives: what is registered from them."""

from __future__ import annotations

from forgekit.archives.read import ImportOptions, is_compaction, read_archive
from forgekit.filing.archives import Incoming, arrival
from forgekit.model.entities import CompressionMode

SUMMARY = """This session is being continued from a previous conversation that ran out of context.

Summary:
1. Primary Request and Intent:
   We decided to use Redis for the cache. See D002.

## Open threads

1. Write the retry logic

7. Pending Tasks:
   - Run lint
"""


def test_a_compaction_summary_registers_nothing_without_an_explicit_id() -> None:
    found = read_archive(SUMMARY)
    assert (found.decisions, found.threads, found.artifacts, found.problems) == ((), (), (), ())
    assert found.mode is CompressionMode.LOSSY


def test_a_compaction_summary_registers_records_with_an_explicit_id() -> None:
    found = read_archive(f"{SUMMARY}\n- D001: Use Redis\n- T001: Who pays?\n- OT004: Who asks?\n")
    assert [decision.text for decision in found.decisions] == ["Use Redis"]
    assert [(thread.local_id, thread.title) for thread in found.threads] == [
        ("T001", "Who pays?"),
        ("OT004", "Who asks?"),
    ]


def test_a_compaction_summary_without_records_is_filed_without_a_warning() -> None:
    archive, found = arrival(Incoming(options=ImportOptions(), data=SUMMARY.encode()), lambda *_: "Nexus")
    assert (found.problems, archive.compression_mode) == ((), CompressionMode.LOSSY)


def test_time_tag_and_session_of_a_compaction_summary_come_from_its_transcript() -> None:
    found = read_archive(f"{SUMMARY}\n**Compression Tag:** `TOPIC_A`\n**Created:** 2026-03-01T10:00:00Z\n")
    assert (found.tag, found.created, found.session_id, found.inherits_from) == (None, None, None, ())


def test_only_the_fixed_opening_makes_a_compaction_summary() -> None:
    assert is_compaction("\ufeff\n" + SUMMARY)
    assert not is_compaction("# Notes\n\n" + SUMMARY)
    assert not is_compaction("Summary:\n1. Primary Request and Intent:\n")
    assert not is_compaction("")
