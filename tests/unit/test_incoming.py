"""Archives on their way in."""

from __future__ import annotations

import json

import pytest

from forgekit.archives.read import ImportOptions
from forgekit.errors import NothingCompactedError
from forgekit.filing.archives import Incoming, arrival, arrivals, of_compaction
from forgekit.times import parse_instant

HEAD = (
    "# Conversation Archive: broker choice\n\n**Date:** 2026-10-03\n**Compression Tag:** `BROKER_CHOICE`\n\n"
)
NOTHING = (
    "no decision, thread or artifact was found in it; only its text is kept "
    "(write them as `- D001: ...` and `- T001: ...`)"
)
UNREAD = "7: D1 is named but no record of it could be read (write it as `### D1: ...` or in the YAML log)"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("We talked about brokers.\n", [NOTHING]),
        ("## Decisions\n- D1: Use NATS\n", []),
        ("## Notes\n- D1: a printer\n", [UNREAD, NOTHING]),
        ("- D001: Use NATS\n", []),
        ("- A001: a drawing\n", []),
    ],
)
def test_an_archive_without_a_record_says_so(text: str, problems: list[str]) -> None:
    item = Incoming(options=ImportOptions(), data=(HEAD + text).encode())
    archive, read = arrival(item, lambda *_: "Nexus")
    assert archive.compression_tag == "BROKER_CHOICE"
    assert [str(problem) for problem in read.problems] == problems


def test_a_transcript_without_a_whole_summary_says_what_was_wrong_with_each() -> None:
    row = {
        "type": "user",
        "sessionId": "5b0c9a52-0000-4000-8000-000000000001",
        "uuid": "one",
        "timestamp": "2026-03-01T10:00:05.000Z",
        "cwd": "/home/ada/engine",
        "isCompactSummary": True,
        "message": {"role": "user", "content": ""},
    }
    item = Incoming(options=ImportOptions(), data=json.dumps(row).encode() + b"\n", name="talk.jsonl")
    with pytest.raises(NothingCompactedError) as caught:
        list(arrivals(item, lambda *_: "Nexus"))
    assert caught.value.lines == ("1: this compaction summary is empty",)


@pytest.mark.parametrize(
    ("title", "place", "found"),
    [
        ("Brokers", "engine", "Brokers"),
        ("", "engine", "engine 5b0c9a52, compaction 2"),
        ("", "", "Claude Code 5b0c9a52, compaction 2"),
    ],
)
def test_a_title_that_a_person_gave_stands_for_a_compaction(title: str, place: str, found: str) -> None:
    at = parse_instant("2026-03-01T10:00:05Z")
    options = of_compaction(ImportOptions(title=title), "5b0c9a52-0000-4000", 2, at, place)
    assert options == ImportOptions(
        at=at, tag="CLAUDE_CODE_5b0c9a52_2", session_id="5b0c9a52-0000-4000", title=found
    )
