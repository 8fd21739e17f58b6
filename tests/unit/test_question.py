"""The retrieval commands, as people write them."""

from __future__ import annotations

import pytest

from forgekit.insight.question import Command, about, read_question
from forgekit.text.words import is_english


@pytest.mark.parametrize(
    ("text", "command", "subject"),
    [
        ('"Why did we decide [time-ordered keys]?"', Command.WHY, "time-ordered keys"),
        ("Why did we decide on CSV?", Command.WHY, "CSV"),
        ("why did we choose to store amounts as integers?", Command.WHY, "store amounts as integers"),
        ("Why is D003 speculative?", Command.WHY, "D003 speculative"),
        ("Why Allianz?", Command.WHY, "Allianz"),
        ("Perch\u00e9 abbiamo scelto La Pergola?", Command.WHY, "abbiamo scelto La Pergola"),
        ("\u00bfPor qu\u00e9 la finca?", Command.WHY, "la finca"),
        ("Warum nehmen wir Huk?", Command.WHY, "nehmen wir Huk"),
        ("\u306a\u305c\u30b5\u30ab\u30a4\uff1f", Command.WHY, "\u30b5\u30ab\u30a4"),
        ("Quando abbiamo scelto La Pergola?", Command.WHEN, "abbiamo scelto La Pergola"),
        ("Whyalla depot", Command.DISCUSSED, "Whyalla depot"),
        ("When did we choose quartz?", Command.WHEN, "quartz"),
        ("When was the decision about the queue made?", Command.WHEN, "the queue"),
        ("when did we decide on the Touran", Command.WHEN, "the Touran"),
        ("What were the alternatives for the export format?", Command.ALTERNATIVES, "the export format"),
        ("Show earlier version of ledger-openapi.yaml", Command.EARLIER, "ledger-openapi.yaml"),
        ("What did we discuss about retries?", Command.DISCUSSED, "retries"),
        ("Expand on the retry window", Command.EXPAND, "the retry window"),
        ("What was in the LEDGER_API_FROZEN compression?", Command.TAG, "LEDGER_API_FROZEN"),
        ("Show what I inherited from LEDGER_API_FROZEN", Command.INHERITED, "LEDGER_API_FROZEN"),
        ("What turns cover delivery guarantees?", Command.TURNS, "delivery guarantees"),
        ("What are the open threads?", Command.OPEN, ""),
        ("which questions are still open", Command.OPEN, ""),
        ("List all open questions", Command.OPEN, ""),
        ("What decisions are in force?", Command.STANDING, ""),
        ("Which decisions still stand?", Command.STANDING, ""),
        ("show me the active decisions", Command.STANDING, ""),
        ("What are the open threads of the gateway?", Command.OPEN, "gateway"),
        ("what threads are open in Trellis?", Command.OPEN, "Trellis"),
        ("What is still open in Orchard?", Command.OPEN, "Orchard"),
        ("what's open", Command.OPEN, ""),
        ("Which decisions are in force for Harbor", Command.STANDING, "Harbor"),
        ("what is in force", Command.STANDING, ""),
        ("What changed in pendulum since June 2026?", Command.CHANGED, "pendulum"),
        ("What did we decide about the queue since May?", Command.CHANGED, "queue"),
        ("what's new since 2026-06-01", Command.CHANGED, ""),
        ("authentication approach", Command.DISCUSSED, "authentication approach"),
        ("", Command.DISCUSSED, ""),
    ],
)
def test_reads_the_commands_and_takes_the_rest_for_a_search(
    text: str, command: Command, subject: str
) -> None:
    asked = read_question(text)
    assert (asked.command, asked.subject) == (command, subject)


@pytest.mark.parametrize(
    ("subject", "text", "found"),
    [
        ("Postgres over MySQL", "Five correct answers over seven days", False),
        ("Kubernetes instead of Nomad", "Read all through GraphQL instead of REST", False),
        ("Rust over Go", "Mix skills that are due into every lesson, over and over", False),
        ("Postgres over MySQL", "Keep rows in PostgreSQL", True),
        ("MySQL rather than Postgres", "Keep rows in Postgres", False),
        ("offer the public API as REST", "Offer the public API as REST resources", True),
        ("offer the public API as REST", "API keys are for our own servers only", False),
        ("the mastery rule", "Skills mastered by the old rule were forgotten", True),
        ("webhooks", "Sign every webhook with a secret of the partner", True),
        ("データベース", "注文データベースを使う", True),
        ("データベース", "注文を保存する", False),
        ("over", "Five correct answers over seven days", True),
        ("the", "the", False),
    ],
)
def test_two_telling_words_make_a_text_bear_on_a_subject(subject: str, text: str, *, found: bool) -> None:
    assert about(subject, text) is found


@pytest.mark.parametrize(
    ("question", "command", "subject"),
    [
        ("Was ist noch offen?", Command.OPEN, ""),
        ("Quelles questions sont ouvertes ?", Command.OPEN, ""),
        ("¿Qué está pendiente?", Command.OPEN, ""),
        ("Quali domande sono ancora aperte?", Command.OPEN, ""),
        ("未解決の課題は何ですか", Command.OPEN, ""),
        ("¿Qué decisiones están vigentes?", Command.STANDING, ""),
        ("Which open questions does the landlord have?", Command.OPEN, "landlord"),
        ("Is the window open?", Command.DISCUSSED, "Is the window open"),
    ],
)
def test_words_of_a_state_ask_for_a_list_in_any_language(
    question: str, command: Command, subject: str
) -> None:
    asked = read_question(question)
    assert (asked.command, asked.subject) == (command, subject)


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("standard event loop for non-blocking I/O", True),
        ("license per seat", True),
        ("Warum ist der Himmel blau?", False),
        ("空はなぜ青い", False),
    ],
)
def test_two_function_words_tell_a_language(text: str, *, english: bool) -> None:
    assert is_english(text) is english
