"""Archives on their way in."""

from __future__ import annotations

import pytest

from forgekit.loop.incoming import Incoming, arrival
from forgekit.policy.filing import Envelope

HEAD = (
    "# Conversation Archive: broker choice\n\n**Date:** 2026-10-03\n**Compression Tag:** `BROKER_CHOICE`\n\n"
)
NOTHING = (
    "no decision, thread or artifact was found in it; only its text is kept "
    "(write them as `- D001: ...` and `- T001: ...`)"
)
SHORT = "7: D1 begins a line like a record's, but such ids have three digits (write D001 if it is one)"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("We talked about brokers.\n", [NOTHING]),
        (
            "## Decisions\n- D1: Use NATS\n",
            [SHORT, NOTHING],
        ),
        ("- D001: Use NATS\n", []),
        ("- A001: a drawing\n", []),
    ],
)
def test_an_archive_without_a_record_says_so(text: str, problems: list[str]) -> None:
    item = Incoming(envelope=Envelope(), data=(HEAD + text).encode())
    archive, read = arrival(item, lambda: "Nexus")
    assert archive.compression_tag == "BROKER_CHOICE"
    assert [str(problem) for problem in read.problems] == problems
