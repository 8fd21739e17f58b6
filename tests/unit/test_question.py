"""The retrieval commands, as people write them."""

from __future__ import annotations

import pytest

from forgekit.policy.question import Command, read_question


@pytest.mark.parametrize(
    ("text", "command", "subject"),
    [
        ('"Why did we decide [time-ordered keys]?"', Command.WHY, "time-ordered keys"),
        ("Why did we decide on CSV?", Command.WHY, "CSV"),
        ("why did we choose to store amounts as integers?", Command.WHY, "store amounts as integers"),
        ("Why is D003 speculative?", Command.WHY, "D003 speculative"),
        ("What were the alternatives for the export format?", Command.ALTERNATIVES, "the export format"),
        ("Show earlier version of ledger-openapi.yaml", Command.EARLIER, "ledger-openapi.yaml"),
        ("What did we discuss about retries?", Command.DISCUSSED, "retries"),
        ("Expand on the retry window", Command.EXPAND, "the retry window"),
        ("What was in the LEDGER_API_FROZEN compression?", Command.TAG, "LEDGER_API_FROZEN"),
        ("Show what I inherited from LEDGER_API_FROZEN", Command.INHERITED, "LEDGER_API_FROZEN"),
        ("What turns cover delivery guarantees?", Command.TURNS, "delivery guarantees"),
        ("authentication approach", Command.DISCUSSED, "authentication approach"),
        ("", Command.DISCUSSED, ""),
    ],
)
def test_reads_the_eight_commands_and_takes_the_rest_for_a_search(
    text: str, command: Command, subject: str
) -> None:
    asked = read_question(text)
    assert (asked.command, asked.subject) == (command, subject)
