"""What stands in brackets around a record's words: read where it is a field, else kept in the text."""

from __future__ import annotations

import pytest

from forgekit.archives.claims import items
from forgekit.archives.read import read_archive
from forgekit.model.entities import ThreadStatus


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
        ("- D001: Use NATS (tier 0.8) - it is small", "Use NATS", 0.8),
        ("- D001: Use NATS (0.8) - it is small", "Use NATS", 0.8),
    ],
)
def test_a_bracket_is_a_field_or_stays_in_the_text(line: str, text: str, tier: float | None) -> None:
    read = read_archive(f"## Decisions\n\n{line}\n")
    assert [(d.text, d.tier) for d in read.decisions] == [(text, tier)]
    assert {problem.code for problem in read.problems} <= {"read-from-text"}


@pytest.mark.parametrize(
    ("value", "threads", "words"),
    [
        ("Bob", (), ("Bob",)),
        ("legal, and the bank; a key", (), ("legal, and the bank", "a key")),
        ("T002 and the answer of the bank", ("T002",), ("T002 and the answer of the bank",)),
        ("T002, the bank", ("T002",), ("the bank",)),
        ("end of T002", ("T002",), ()),
        ("legal sign-off (see D009)", (), ("legal sign-off (see D009)",)),
        ("nothing", (), ()),
    ],
)
def test_a_thread_waits_for_threads_and_for_what_words_say(
    value: str, threads: tuple[str, ...], words: tuple[str, ...]
) -> None:
    others = "### T002: Which host?\n\n### D009: Rows\n"
    read = read_archive(f"### T009: Which port?\n- Blocked by: {value}\n\n{others}")
    (thread,) = (each for each in read.threads if each.local_id == "T009")
    assert (thread.blocked_by, thread.waits_for, thread.content) == (threads, words, "")
    assert read.problems == ()


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


@pytest.mark.parametrize(
    ("answer", "status"),
    [("Ann", "resolved"), ("nobody, it depends on the weather", "resolved"), ("pending", "open")],
)
def test_an_answer_resolves_a_thread_and_is_whole(answer: str, status: str) -> None:
    lines = f"### T4: Who cooks?\n- **Resolution:** {answer}\n"
    (thread,) = read_archive(f"## Threads\n\n{lines}").threads
    assert (thread.title, thread.status, thread.resolution) == ("Who cooks?", ThreadStatus(status), answer)


def test_an_answer_without_a_known_id_is_not_divided() -> None:
    text = (
        "**RESOLVED**\n\nQuestion 3\n: Who pays for it?\n: *Answer:* the fund, because there is a referral\n"
    )
    (thread,) = read_archive(text).threads
    assert thread.resolution == "the fund, because there is a referral"


def test_a_label_behind_the_words_outranks_what_they_seem_to_be() -> None:
    lines = (
        "Decision 1. No bonfires. Confidence: 0.95. Replaces: Decision 3.",
        "Decision 2. Paint the gate. Rejected: fifty pounds.",
        "Decision 3. Bonfires in October. Confidence: high.",
    )
    first, second, _ = read_archive("Decisions\n\n" + "\n".join(lines)).decisions
    assert (first.revises, first.dependencies, first.tier) == (("Decision 3",), None, 0.95)
    assert (second.alternatives, second.tier) == (("fifty pounds",), None)


@pytest.mark.parametrize(("words", "tier"), [("confidence 0.31", 0.31), ("confidence 62%", 0.62)])
def test_a_number_within_a_bracket_is_the_tier(words: str, tier: float) -> None:
    (decision,) = read_archive(f"## Decisions\n\n- Keep logs for thirty days ({words})\n").decisions
    assert decision.tier == tier


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("Depends on: Water by hose", (("D2",), None)),
        ("Superseded by: Water by hose.", (None, "D2")),
        ('Status: superseded by "Water by hose"', (None, "D2")),
    ],
)
def test_a_reference_may_be_the_whole_words_of_a_record(
    field: str, found: tuple[tuple[str, ...] | None, str | None]
) -> None:
    read = read_archive(f"### D1: Water by drip\n- {field}\n\n### D2: Water by hose\n- Tier: 0.6\n")
    assert (read.decisions[0].dependencies, read.decisions[0].superseded_by) == found
