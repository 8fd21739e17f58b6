"""A conversation taken apart: where it belongs, and what it goes on from."""

from __future__ import annotations

import pytest
from repositories import in_turn

from forgekit.filing.conversations import ProjectRules, Unpacked, unpack
from forgekit.model.transcript import ImportedConversation
from forgekit.times import parse_instant

START = parse_instant("2026-01-05T10:00:00Z")
ARCHIVE = """# Conversation Archive

**Created:** 2026-01-05T18:00:00Z
**Project:** Nexus
**Compression Tag:** QUEUE_RESULT

## Decisions

### D001: Use Postgres for the queue
"""


def unpacked(*texts: str, folder: str = "", patterns: tuple[str, ...] = ()) -> Unpacked:
    """Take a conversation apart in which the user and the assistant speak in turn."""
    talk = ImportedConversation(
        source="claude",
        external_id="alpha-0001",
        title="Queues",
        project="",
        folder=folder,
        started=START,
        turns=in_turn(texts, START),
    )
    rules = ProjectRules(known=lambda _: None, patterns=(("Ledger", patterns),))
    return unpack(talk, rules, keep=(), allowed=())


@pytest.mark.parametrize("folder", ["/home/ada/ledger", "/home/ada/Ledger/", "C:\\work\\ledger"])
@pytest.mark.parametrize("pattern", ["ledger", "LED*"])
def test_a_pattern_names_a_working_folder_by_its_last_name(folder: str, pattern: str) -> None:
    found = unpacked("Go.", folder=folder, patterns=(pattern,))
    assert (found.conversation.project_name, found.project_from) == ("Ledger", "settings")


def test_a_pattern_of_one_folder_says_nothing_of_what_lies_in_it() -> None:
    found = unpacked("Go.", folder="/home/ada/ledger/docs", patterns=("ledger",))
    assert (found.conversation.project_name, found.project_from) == ("docs", "folder")


@pytest.mark.parametrize(
    ("folder", "project"),
    [
        ("/home/ada/ledger", "ledger"),
        ("/home/ada/ledger/.claude/worktrees/fix", "ledger"),
        ("C:\\work\\ledger\\", "ledger"),
        ("", "Unsorted"),
        ("/", "Unsorted"),
    ],
)
def test_a_conversation_belongs_to_a_project_named_after_its_working_folder(
    folder: str, project: str
) -> None:
    found = unpacked("Go.", folder=folder)
    assert found.conversation.project_name == project
    assert found.project_from == ("nothing" if project == "Unsorted" else "folder")


def test_a_conversation_goes_on_from_no_archive_that_was_written_in_it() -> None:
    talk = unpacked("Compress this.", ARCHIVE, f"Here it is again:\n\n{ARCHIVE}", "Yes.").conversation
    assert (talk.continues, talk.archived_as) == ((), ("QUEUE_RESULT",))


def test_a_conversation_goes_on_from_an_archive_that_was_pasted_into_it() -> None:
    talk = unpacked(f"Here is where we were:\n\n{ARCHIVE}", "Yes.").conversation
    assert (talk.continues, talk.archived_as) == (("QUEUE_RESULT",), ())
