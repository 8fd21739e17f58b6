"""A message behind a pasted archive."""

from __future__ import annotations

import pytest

from forgekit.archives.read import ImportOptions
from forgekit.filing.archive_facts import Fact
from forgekit.filing.archives import Incoming, arrival, words_behind

ARCHIVE = """# Conversation Archive

**Created:** 2026-01-05T18:00:00Z
**Compression Tag:** QUEUE_RESULT

## Decisions

- D001: Use Postgres for the queue
"""


def read(text: str) -> Fact:
    return arrival(Incoming(data=text.encode(), options=ImportOptions()), lambda *_: "Nexus")


@pytest.mark.parametrize("behind", ["\n\nGo on, please.\n", "\r\n\r\nIssue #7 is next.\r\n"])
def test_a_message_behind_an_archive_is_no_part_of_it(behind: str) -> None:
    assert words_behind(read(ARCHIVE + behind), read(ARCHIVE))


@pytest.mark.parametrize("behind", ["- D002: Retry three times\n", "- T001: Who runs the backups?\n"])
def test_a_record_behind_an_archive_makes_another_of_it(behind: str) -> None:
    assert not words_behind(read(ARCHIVE + behind), read(ARCHIVE))


def test_a_heading_behind_an_archive_makes_another_of_it() -> None:
    assert not words_behind(read(f"{ARCHIVE}\n## Key insights\n\nQueues fill up.\n"), read(ARCHIVE))


def test_a_shorter_text_has_no_words_behind_a_longer_one() -> None:
    assert not words_behind(read(ARCHIVE), read(f"{ARCHIVE}\n\nGo on, please.\n"))
