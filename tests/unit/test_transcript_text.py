"""The kept text of a conversation: what is written is read back, and growth touches the last part alone."""

from __future__ import annotations

import string

from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.model.rules import clean, require_body
from forgekit.model.transcript import Attachment, Speaker, Turn
from forgekit.text.transcript import PART_LIMIT, read_messages, united_turns, write_parts
from forgekit.times import Instant
from forgekit.transcripts.values import without_reminders

_AWKWARD = (
    "### 3. User",
    "\\### 4. User",
    "x" * 24 + "### 5. Assistant (goes on)",
    "<<<<<<< HEAD",
    "x" * 7 + "<<<<<<< HEAD",
    "*Tools: Bash*",
    "# Title",
    "",
    "\n" * 30,
    "---",
    "> x",
)
_LINES = st.one_of(st.sampled_from(_AWKWARD), st.text(string.ascii_letters + " #*\\<é", max_size=12))


@st.composite
def _turns(draw: st.DrawFn) -> tuple[Turn, ...]:
    texts = draw(st.lists(st.lists(_LINES, max_size=5).map("\n".join), max_size=6))
    return tuple(
        Turn(
            number=number,
            speaker=draw(st.sampled_from(Speaker)),
            time=draw(st.one_of(st.none(), st.just(Instant(1_700_000_000_000)))),
            text=text,
        )
        for number, text in enumerate(texts, 1)
    )


def _said(text: str) -> Turn:
    return Turn(number=1, speaker=Speaker.USER, time=None, text=text)


@given(_turns(), st.sampled_from((1, 20, 60, PART_LIMIT)))
@settings(max_examples=300)
def test_what_is_written_is_read_back(turns: tuple[Turn, ...], limit: int) -> None:
    parts = write_parts(turns, limit)
    for part in parts:
        require_body(part.body)
    found = read_messages(part.body for part in parts)
    assert [(m.number, m.speaker, m.time, m.text) for m in found] == [
        (t.number, t.speaker, t.time, clean(t.text)) for t in turns
    ]


@given(_turns(), _turns())
@settings(max_examples=80)
def test_more_turns_touch_the_last_part_alone(turns: tuple[Turn, ...], more: tuple[Turn, ...]) -> None:
    short = write_parts(turns, limit=60)
    long = write_parts((*turns, *more), limit=60)
    assert long[: max(len(short) - 1, 0)] == short[:-1]


def test_a_turn_longer_than_a_part_is_cut_at_line_ends_and_a_line_only_where_it_is_too_long() -> None:
    text = "one line\n### 2. Assistant\n\n" + "x" * 20
    bodies = [part.body for part in write_parts([_said(text)], limit=36)]
    assert bodies == [
        "### 1. User\n\none line",
        "### 1. User (goes on)\n\n\\### 2. As",
        "### 1. User (line goes on)\n\nsistant",
        "### 1. User (goes on)\n\n\nxxxxxxxx",
        "### 1. User (line goes on)\n\nxxxxxxxxx",
        "### 1. User (line goes on)\n\nxxx",
    ]
    assert [(m.number, m.text) for m in read_messages(bodies)] == [(1, text)]


def test_more_blank_lines_than_a_file_may_hold_are_fewer() -> None:
    parts = write_parts([_said("a" + "\n" * 1_500_000 + "b")])
    assert max(len(part.body) for part in parts) < PART_LIMIT + 100
    (message,) = read_messages(part.body for part in parts)
    assert message.text == "a" + "\n" * PART_LIMIT + "b"


def test_files_and_tools_stand_below_what_was_said() -> None:
    turn = Turn(
        number=1,
        speaker=Speaker.ASSISTANT,
        time=None,
        text="Done.",
        attachments=(Attachment(name="plan.md"),),
        tools=("Bash", "Read", "Bash"),
    )
    body = write_parts([turn])[0].body
    assert body == "### 1. Assistant\n\nDone.\n\n*Attachments: plan.md*\n*Tools: Bash (2), Read*"
    assert read_messages([body])[0].beside == ("*Attachments: plan.md*", "*Tools: Bash (2), Read*")


def test_the_files_of_a_turn_that_was_cut_stand_once_below_its_last_piece() -> None:
    turn = Turn(number=1, speaker=Speaker.USER, time=None, text="x" * 20, tools=("Bash",))
    assert [part.body for part in write_parts([turn], limit=16)] == [
        *["### 1. User\n\nxxxx", *["### 1. User (line goes on)\n\nxxxx"] * 3],
        "### 1. User (line goes on)\n\nxxxx\n\n*Tools: Bash*",
    ]


def test_two_turns_of_one_number_are_two_where_none_says_that_it_goes_on() -> None:
    found = read_messages(["### 1. User\n\nRows?\n\n### 1. User\n\nColumns?"])
    assert [(m.number, m.text) for m in found] == [(1, "Rows?"), (1, "Columns?")]


def test_what_the_program_puts_into_a_message_is_not_the_user_s() -> None:
    reminder = "<system-reminder>\nAlways run tests.\n</system-reminder>\n"
    assert without_reminders(f"{reminder}Migrate to FastAPI.\n{reminder}") == "Migrate to FastAPI.\n"
    assert without_reminders("<system-reminder> is a tag") == "<system-reminder> is a tag"


_BODIES = _turns().map(lambda turns: "\n\n".join(part.body for part in write_parts(turns, 60)[:1]))


@given(_BODIES, _BODIES, _BODIES)
@settings(max_examples=200)
def test_texts_unite_in_any_order(a: str, b: str, c: str) -> None:
    both = united_turns((a, b))
    assert both == united_turns((b, a)) == united_turns((both, a))
    assert united_turns((both, c)) == united_turns((a, united_turns((b, c)))) == united_turns((a, b, c))


def test_of_an_edited_turn_each_version_is_kept_and_of_one_that_grew_the_longer() -> None:
    old = "### 1. User, 2026-03-01T10:00:00Z\n\nFive.\n\n### 2. Assistant\n\nFi"
    new = "### 1. User, 2026-03-02T10:00:00Z\n\nThree.\n\n### 2. Assistant\n\nFine."
    found = read_messages([united_turns((old, new))])
    assert [(m.number, m.text) for m in found] == [(1, "Five."), (1, "Three."), (2, "Fine.")]
