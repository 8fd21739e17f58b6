"""What a conversation was begun from, in its first messages, and compressed to, in its answers."""

from __future__ import annotations

import pytest

from forgekit.archives.machine_block import MachineBlock, MachineRecord, write_machine_block
from forgekit.extraction.quoted_archives import find_quoted
from forgekit.model.transcript import Attachment, Speaker, Turn

ARCHIVE = """# Conversation Archive: Storage

**Session ID:** storage-1
**Created:** 2026-01-05T18:00:00Z
**Compression Tag:** STORAGE_RESULT

## Decisions

### D001: Use Postgres for the queue

## Threads

### T001: Who runs the backups?"""


def turns(*texts: str) -> list[Turn]:
    return [
        Turn(number=n, speaker=Speaker.USER if n % 2 else Speaker.ASSISTANT, time=None, text=text)
        for n, text in enumerate(texts, 1)
    ]


@pytest.mark.parametrize("around", ["{}", "Where we were:\n\n{}", "See:\n\n```markdown\n{}\n```\n\nGo on."])
def test_a_pasted_archive_is_told_from_the_words_around_it(around: str) -> None:
    found = find_quoted(turns(around.format(ARCHIVE), "Understood."))
    assert [(q.text, q.read.tag, q.written) for q in found.archives] == [(ARCHIVE, "STORAGE_RESULT", False)]
    assert found.local_ids == ("D001", "T001")
    assert "Postgres" not in found.own_turns[0].text


def test_an_archive_in_a_file_counts_and_leaves_the_message_alone() -> None:
    first = Turn(
        number=1,
        speaker=Speaker.USER,
        time=None,
        text="Go on from here.",
        attachments=(Attachment(name="archive.md", text=ARCHIVE),),
    )
    found = find_quoted([first])
    assert [q.read.tag for q in found.archives] == ["STORAGE_RESULT"]
    assert found.own_turns[0].text == "Go on from here."


def test_an_archive_in_an_answer_is_what_the_conversation_was_compressed_to() -> None:
    found = find_quoted(turns("Hi", "Ho", "Compress this.", ARCHIVE))
    assert [(q.turn.number, q.written) for q in found.archives] == [(4, True)]
    assert found.local_ids == ()


def test_an_archive_late_in_the_users_words_is_no_beginning() -> None:
    found = find_quoted(turns("1", "2", "3", "4", "5", "6", ARCHIVE))
    assert found.archives == ()


def test_our_block_names_its_archive_and_its_records() -> None:
    page = "## Updated context: STORAGE_RESULT\n\n(end of the updated context)\n"
    block = MachineBlock(
        purpose="updated-context",
        tag="STORAGE_RESULT",
        decisions=(MachineRecord(id="D001", entity="dec_b34bfcd74276"),),
    )
    found = find_quoted(turns(f"{page}\n{write_machine_block(block)}"))
    assert (found.archives, found.tags, found.local_ids) == ((), ("STORAGE_RESULT",), ("D001",))


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("Continue from STORAGE_RESULT, please", ("STORAGE_RESULT",)),
        ("Compression tag: `QUEUE_V2_DONE`", ("QUEUE_V2_DONE",)),
        ("resuming from TOPIC_A and TOPIC_B", ("TOPIC_A",)),
        ("set MAX_RETRIES to three", ()),
        ("the archive Continue_Not_A_Tag is old", ()),
        ("tag " * 20_000, ()),
    ],
)
def test_a_tag_counts_where_the_words_say_that_it_is_one(text: str, tags: tuple[str, ...]) -> None:
    assert find_quoted(turns(text)).tags == tags


def test_what_a_program_summed_up_is_no_paste() -> None:
    summed = Turn(number=1, speaker=Speaker.USER, time=None, text=ARCHIVE, compaction=True)
    assert find_quoted([summed]).archives == ()


def test_what_a_program_summed_up_is_none_of_the_first_messages() -> None:
    summed = Turn(number=1, speaker=Speaker.USER, time=None, text="So far.", compaction=True)
    found = find_quoted([summed, *turns("1", "2", "3", "4", ARCHIVE)])
    assert [q.read.tag for q in found.archives] == ["STORAGE_RESULT"]


def test_an_archive_that_is_cut_off_is_left_in_the_words() -> None:
    cut = f"{ARCHIVE}\n\n<!-- and so"
    found = find_quoted(turns(cut))
    assert (found.archives, found.local_ids, found.own_turns[0].text) == ((), (), cut)


def test_a_block_without_a_tag_is_continued_by_the_nearest_of_its_parents() -> None:
    page = "## Updated context\n\n(end of the updated context)\n"
    block = MachineBlock(purpose="updated-context", parents=("WEEK_TWO", "WEEK_ONE"))
    assert find_quoted(turns(f"{page}\n{write_machine_block(block)}")).tags == ("WEEK_TWO",)


PAGE = """## {}

**Summary:** 1 open thread.

### Decisions In Force

- D001 dec_b34bfcd74276 (tier 0.8): Use Postgres for the queue

### Lineage

- Hop 1: con_1 (a) -> con_2 (b), tag OTHER_RESULT, 1 decision carried, 0 dropped

(end of {})
"""


def printed(purpose: str, title: str) -> str:
    page = PAGE.format(title, purpose.replace("-", " "))
    record = MachineRecord(id="D001", entity="dec_b34bfcd74276")
    block = MachineBlock(
        purpose=purpose,
        tag="STORAGE_RESULT" if purpose == "updated-context" else "",
        decisions=(record,),
    )
    return f"{page}\n{write_machine_block(block)}"


CONTEXT = printed("updated-context", "Updated context: STORAGE_RESULT")
STATE = printed("registry-state", "Registry state: Nexus")


def test_what_forgekit_printed_is_nobodys_words_wherever_it_stands() -> None:
    hidden = PAGE.format("Registry state: Nexus", "registry state")
    said = ["1", "2", "3", "4", "5", "6", f"Look:\n{CONTEXT}Go on.", f"{STATE}So be it.\n{hidden}Yes."]
    found = find_quoted(turns(*said))
    assert [turn.text.split() for turn in found.own_turns[6:]] == [
        ["Look:", "Go", "on."],
        ["So", "be", "it.", "Yes."],
    ]
    assert (found.archives, found.tags, found.local_ids) == ((), (), ())


def test_the_words_beside_a_block_are_the_speakers() -> None:
    found = find_quoted(turns(f"{CONTEXT}\nWe decided to use Argon2. It continues QUEUE_RESULT."))
    assert found.own_turns[0].text.strip() == "We decided to use Argon2. It continues QUEUE_RESULT."
    assert (found.tags, found.local_ids) == (("STORAGE_RESULT", "QUEUE_RESULT"), ("D001",))


def test_the_state_of_the_registry_names_nothing_that_a_conversation_continues() -> None:
    found = find_quoted(turns(f"What there is:\n\n{STATE}"))
    assert (found.tags, found.local_ids, found.own_turns[0].text.strip()) == ((), (), "What there is:")


def test_a_block_without_an_end_is_left_where_it_is() -> None:
    text = "## Registry state: Nexus\n\nWe use Redis.\n" * 3
    assert find_quoted(turns(text)).own_turns[0].text == text
