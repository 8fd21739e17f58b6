"""What stands in brackets around a record's words: read where it is a field, else kept in the text."""

from __future__ import annotations

import pytest

from forgekit.archives.claims import items
from forgekit.archives.read import read_archive


@pytest.mark.parametrize(
    ("line", "text", "tier"),
    [
        ("- D003 (speculative, 0.2): Maybe x", "Maybe x", 0.2),
        ("- D003 (0.2, speculative): Maybe x", "Maybe x", 0.2),
        ("- D003 (speculative, 0.9): Maybe x", "Maybe x (speculative, 0.9)", None),
        ("- D003 (speculative, tier 5.5): Maybe x", "Maybe x (speculative, tier 5.5)", None),
        ("- D007 [heuristic]: Offer sun", "Offer sun", 0.5),
        ("- D007: Offer sun (validated)", "Offer sun", 0.9),
        ("- D009 (pending legal review): Offer hail", "Offer hail (pending legal review)", None),
        ("### D009 (pending legal review): Offer hail", "Offer hail (pending legal review)", None),
        ("- D009 (tier 0.8, pending review): Offer hail", "Offer hail (pending review)", 0.8),
        ("- **D008** (confidence: low): Offer moon", "Offer moon", 0.3),
        ("- **D008** (high confidence) \u2014 Offer moon", "Offer moon", 0.7),
        ("- **D008** (some confidence): Offer moon", "Offer moon (some confidence)", None),
        (
            "- **D001: Use NATS** (tier 0.8) \u2014 because it is small",
            "Use NATS",
            0.8,
        ),
        ("- D001: Use NATS (tier 0.8) - it is small", "Use NATS - it is small", 0.8),
        ("- D001: Use NATS (0.8) - it is small", "Use NATS (0.8) - it is small", 0.8),
    ],
)
def test_a_bracket_is_a_field_or_stays_in_the_text(line: str, text: str, tier: float | None) -> None:
    read = read_archive(f"## Decisions\n\n{line}\n")
    assert [(d.text, d.tier) for d in read.decisions] == [(text, tier)]
    assert read.problems == ()


def test_what_a_thread_waits_for_is_kept_in_its_words_and_named() -> None:
    read = read_archive("- T009 (waiting for Bob, high): Which port?\n")
    (thread,) = read.threads
    assert (thread.title, thread.content, thread.priority and thread.priority.value) == (
        "Which port?",
        "Blocked by: Bob",
        "high",
    )
    assert [(problem.code, problem.line) for problem in read.problems] == [("no-reference", 1)]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (
            "Kafka (too heavy, needs ZooKeeper), RabbitMQ; [a, b] mail",
            ("Kafka (too heavy, needs ZooKeeper)", "RabbitMQ", "[a, b] mail"),
        ),
        ("[Kafka (a, b), RabbitMQ]", ("Kafka (a, b)", "RabbitMQ")),
        ("Kafka (too heavy, RabbitMQ", ("Kafka (too heavy", "RabbitMQ")),
        ("Kafka), RabbitMQ", ("Kafka)", "RabbitMQ")),
    ],
)
def test_a_list_is_split_outside_of_brackets(value: str, found: tuple[str, ...]) -> None:
    assert items(value) == found
