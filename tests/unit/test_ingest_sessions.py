"""Conversations in transcripts of Claude Code: what is a turn, whose words, and what it goes on from."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from forgekit.errors import FormatError
from forgekit.model.problem import Problem, Severity
from forgekit.model.transcript import Attachment, ImportedConversation, Speaker
from forgekit.times import parse_instant
from forgekit.transcripts import claude_code, json_streams
from forgekit.transcripts.claude_code import (
    compactions_of,
    looks_like_transcript,
    project_of,
    read_sessions,
)
from forgekit.transcripts.formats import limited
from forgekit.transcripts.sources import unpacked

SESSION = "5b0c9a52-0000-4000-8000-000000000001"


def record(kind: str, second: int, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "sessionId": SESSION,
        "uuid": f"{kind[0]}{second}",
        "timestamp": f"2026-03-01T10:00:{second:02d}Z",
        "cwd": "/home/ada/engine",
        "isSidechain": False,
        **fields,
    }


def user(second: int, content: Any, **fields: Any) -> dict[str, Any]:
    return record("user", second, message={"role": "user", "content": content}, **fields)


def assistant(second: int, key: str, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return record("assistant", second, message={"id": key, "content": list(blocks)}, **fields)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(key: str, name: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": {"command": "ls"}}


def result(key: str, content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": content}


def read(*rows: dict[str, Any]) -> list[ImportedConversation | Problem]:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    return list(read_sessions(unpacked(io.BytesIO(data))))


def one(*rows: dict[str, Any]) -> ImportedConversation:
    (found,) = read(*rows)
    assert isinstance(found, ImportedConversation)
    return found


def texts(talk: ImportedConversation) -> list[str]:
    return [turn.text for turn in talk.turns]


def test_prompts_and_messages_are_turns() -> None:
    talk = one(
        user(1, "Which queue?"),
        assistant(2, "m1", {"type": "thinking", "thinking": "hm"}),
        assistant(3, "m1", text("I look.")),
        assistant(4, "m1", use("t1")),
        assistant(5, "m1", use("t2", "Read")),
        user(6, [result("t2", [text("a file")])]),
        user(7, [result("t1", "a.py")]),
        assistant(8, "m2", use("t3")),
        user(9, [result("t3", None)]),
        assistant(10, "m3", text("Redis.")),
        user(11, [text("Good."), {"type": "image", "source": {}}]),
    )
    assert [(t.number, t.speaker.value, t.text, t.line) for t in talk.turns] == [
        (1, "user", "Which queue?", 1),
        (2, "assistant", "I look.", 3),
        (3, "assistant", "Redis.", 10),
        (4, "user", "Good.", 11),
    ]
    assert talk.turns[1].tools == ("Bash", "Read", "Bash")
    assert talk.turns[3].attachments == (Attachment(name="image"),)
    assert (talk.folder, talk.started) == ("/home/ada/engine", parse_instant("2026-03-01T10:00:01Z"))


def test_tools_before_any_text_wait_for_it() -> None:
    talk = one(
        user(1, "Go."),
        assistant(2, "m1", use("t1")),
        assistant(3, "m2", text("Done.")),
        assistant(4, "m3", text("More.")),
    )
    assert [(t.text, len(t.tools), t.line) for t in talk.turns] == [
        ("Go.", 0, 1),
        ("Done.", 1, 2),
        ("More.", 0, 4),
    ]


def test_one_message_of_several_records_is_one_turn() -> None:
    talk = one(
        assistant(1, "m1", text("First")),
        assistant(2, "m1", text("First half.")),
        user(3, [result("x", "of no call")]),
        assistant(4, "m1", text("Second half.")),
        assistant(5, "m2", text("Another.")),
    )
    assert texts(talk) == ["First half.\n\nSecond half.", "Another."]


@pytest.mark.parametrize(
    "content",
    [
        "<command-name>/model</command-name>",
        "<local-command-stdout>Set</local-command-stdout>",
        "\n<bash-input>ls</bash-input>",
        "<task-notification>done</task-notification>",
        [text("[Request interrupted by user]")],
        "  ",
        None,
        [],
    ],
)
def test_what_the_program_writes_is_no_prompt(content: Any) -> None:
    assert texts(one(user(1, content), user(2, "<div> is a tag"))) == ["<div> is a tag"]
    assert texts(one(user(1, "Caveat", isMeta=True), user(2, "Go."))) == ["Go."]


def test_errors_and_synthetic_messages_are_nobodys_words() -> None:
    talk = one(
        user(1, "Go."),
        record("assistant", 2, isApiErrorMessage=True, message={"id": "e", "content": [text("API Error")]}),
        record("assistant", 3, message={"id": "s", "model": "<synthetic>", "content": [text("No response")]}),
    )
    assert texts(talk) == ["Go."]


def test_what_is_said_during_the_work_is_an_aside() -> None:
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": [text("And tests?")]}
    note = {"type": "queued_command", "commandMode": "task-notification", "prompt": "<task-notification>"}
    hook = {"type": "queued_command", "origin": {"kind": "hook"}, "prompt": "x"}
    talk = one(
        user(1, "Go."),
        assistant(2, "m1", use("t1")),
        user(3, [result("t1", "ok"), text("Use Redis.")]),
        record("attachment", 4, attachment=queued),
        record("attachment", 5, attachment=note),
        record("attachment", 6, attachment=hook),
        record("attachment", 7, attachment={"type": "todo"}),
    )
    assert [(t.text, t.aside) for t in talk.turns] == [
        ("Go.", False),
        ("", False),
        ("Use Redis.", True),
        ("And tests?", True),
    ]


def test_a_picture_alone_belongs_to_what_was_said() -> None:
    talk = one(user(1, "Look:"), assistant(2, "m", text("Yes?")), user(3, [{"type": "image"}]))
    assert [len(turn.attachments) for turn in talk.turns] == [1, 0]


def test_compactions_and_their_summaries() -> None:
    meta = {"trigger": "auto", "preTokens": 155_000}
    talk = one(
        user(1, "Go."),
        record("system", 2, subtype="microcompact_boundary", microcompactMetadata={"trigger": "manual"}),
        record("system", 3, subtype="compact_boundary", compactMetadata=meta),
        user(4, "This session is being continued", isCompactSummary=True),
        assistant(5, "m", text("I go on.")),
        user(6, "Another summary", isCompactSummary=True),
    )
    assert talk.compacted == {2: parse_instant("2026-03-01T10:00:03Z")}
    assert [(t.speaker, t.compaction) for t in talk.turns] == [
        (Speaker.USER, False),
        (Speaker.ASSISTANT, True),
        (Speaker.ASSISTANT, False),
        (Speaker.ASSISTANT, True),
    ]


def test_side_chains_are_left_out_and_counted() -> None:
    talk = one(
        user(1, "Go."),
        user(2, "a task for the sub-agent", isSidechain=True),
        assistant(3, "m", text("We decided."), isSidechain=True),
        record("progress", 4, isSidechain=True),
    )
    assert (texts(talk), talk.branches_left) == (["Go."], 2)


def test_titles_by_rank_and_the_last_of_a_rank() -> None:
    leaf = {"type": "summary", "summary": "By leaf", "leafUuid": "u1"}
    other = {"type": "summary", "summary": "Of another file", "leafUuid": "zz"}
    ai = [{"type": "ai-title", "sessionId": SESSION, "aiTitle": name} for name in ("Old", "New")]
    custom = {"type": "custom-title", "sessionId": SESSION, "customTitle": "Mine"}
    assert one(leaf, other, user(1, "Go.")).title == "By leaf"
    assert one(leaf, *ai, user(1, "Go.")).title == "New"
    assert one(custom, *ai, user(1, "Go.")).title == "Mine"


def test_resumed_and_forked_sessions_say_what_they_go_on_from() -> None:
    forked = {"sessionId": "source-2", "messageUuid": "original"}
    found = read(
        user(1, "Old words."),
        user(2, "New words.", sessionId="second", parentUuid="u1"),
        user(3, "Forked words.", sessionId="third", forkedFrom=forked),
        user(1, "Old words."),
    )
    talks = [talk for talk in found if isinstance(talk, ImportedConversation)]
    assert [(t.external_id, texts(t), t.resumes) for t in talks] == [
        (SESSION, ["Old words."], ()),
        ("second", ["New words."], (SESSION,)),
        ("third", ["Forked words."], ("source-2",)),
    ]


def test_types_that_are_not_known_are_counted() -> None:
    talk = one(
        user(1, [text("Go."), {"type": "video"}]),
        assistant(2, "m", {"type": "dance"}, text("Yes.")),
        record("hologram", 3),
        {"type": "hologram", "note": "of no session"},
        record("queue-operation", 4),
    )
    assert talk.unknown == (("block dance", 1), ("block video", 1), ("record hologram", 2))


def test_records_without_a_session_are_named() -> None:
    found = read(user(1, "Go.", sessionId="../../etc"), user(2, "On."))
    assert found[0] == Problem(
        code="unusable-record", message="this record names no session", line=1, severity=Severity.WARNING
    )
    assert isinstance(found[1], ImportedConversation)


def test_too_much_talk_and_too_many_sessions_end_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_code, "LONGEST_CONVERSATION", 10)
    told, talk = read(user(1, "x" * 20), user(2, "never read"))
    assert isinstance(told, Problem)
    assert (told.message, told.line) == ("more than 64 MB of messages; the rest of the file was left out", 1)
    assert isinstance(talk, ImportedConversation)
    assert len(talk.turns) == 1
    monkeypatch.setattr(claude_code, "MOST_SESSIONS", 2)
    with pytest.raises(FormatError) as raised:
        read(*[record("mode", 1, sessionId=name) for name in "abc"])
    assert str(raised.value) == "line 3: more than 10,000 sessions in one file; give one transcript at a time"


def boundary(second: int, **fields: Any) -> dict[str, Any]:
    meta = {"trigger": "auto", "preTokens": 155_000}
    return record("system", second, subtype="compact_boundary", **{"compactMetadata": meta, **fields})


def summary(second: int, content: Any = "So far.", **fields: Any) -> dict[str, Any]:
    return user(second, content, isCompactSummary=True, **fields)


def told(*rows: dict[str, Any] | bytes) -> list[str]:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    found = limited(read_sessions(unpacked(io.BytesIO(b"\n".join(lines) + b"\n"))))
    return [str(one) for one in found if isinstance(one, Problem)]


def test_a_summary_has_the_time_of_its_boundary_else_its_own() -> None:
    talk = one(boundary(5), summary(6), summary(9), summary(9))
    times = [parse_instant(f"2026-03-01T10:00:0{second}Z") for second in (5, 9)]
    assert [(turn.line, at) for turn, at in compactions_of(talk)] == [(2, times[0]), (3, times[1])]


@pytest.mark.parametrize("data", [{"trigger": "later", "preTokens": -1}, {"preTokens": True}, [], None])
def test_a_boundary_is_read_without_its_metadata(data: object) -> None:
    talk = one(boundary(5, compactMetadata=data), summary(6))
    assert talk.compacted == {1: parse_instant("2026-03-01T10:00:05Z")}


def test_only_the_user_record_of_a_summary_counts() -> None:
    talk = one(
        assistant(1, "m", text("No."), isCompactSummary=True),
        user(2, "No.", isCompactSummary="true"),
        {"type": "summary", "summary": "No.", "leafUuid": "x"},
    )
    assert list(compactions_of(talk)) == []


def test_half_a_surrogate_pair_becomes_a_replacement_mark() -> None:
    assert texts(one(summary(1, "a\ud83d b \U0001f600"))) == ["a\ufffd b \U0001f600"]


def test_summaries_that_cannot_be_filed_are_told() -> None:
    assert told(
        summary(1, sessionId="../../etc"),
        summary(2, isSidechain=True),
        summary(3, "  \n"),
        record("user", 4, isCompactSummary=True, message=None),
    ) == [
        "1: this compaction summary names no session",
        "2: this compaction summary belongs to a side chain and was left out",
        "3: this compaction summary is empty",
        "4: this compaction summary is empty",
    ]


def test_broken_lines_are_named_and_many_are_counted() -> None:
    rows = (b'{"type": "user", ', b"", b"[1, 2]", b"\xff\xfe", user(4, "Go."), b"[" * 100_000)
    assert told(*rows) == [f"{line}: this line is not a JSON record" for line in (1, 3, 4, 6)]
    many = told(*[b"{"] * 50)
    assert (len(many), many[-1]) == (21, "30 more findings of this kind: broken-line")


def test_a_line_that_is_too_long_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_streams, "LONGEST_LINE", 2_000)
    monkeypatch.setattr(json_streams, "_CHUNK", 100)
    first, talk = read(user(1, "x" * 5_000), user(2, "Go."))
    assert str(first) == "1: this line is longer than 32 MB and was skipped"
    assert isinstance(talk, ImportedConversation)
    assert talk.turns[0].line == 2


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/ada/engine", "engine"),
        ("/home/ada/engine/", "engine"),
        ("/home/ada/engine/.worktrees/fix/deep", "engine"),
        ("/home/ada/engine/.claude/worktrees/fix", "engine"),
        ("C:\\Users\\ada\\engine", "engine"),
        ("/", ""),
    ],
)
def test_a_project_is_named_after_the_working_folder(folder: str, name: str) -> None:
    assert project_of(folder) == name


def test_the_first_bytes_tell_a_transcript() -> None:
    line = json.dumps(user(1, "Go.")).encode()
    title = b'{"type":"summary","summary":"A title","leafUuid":"x"}\n'
    assert looks_like_transcript(line + b"\n")
    assert looks_like_transcript(b"\xef\xbb\xbf\n" + title)
    assert not looks_like_transcript(b"")
    assert not looks_like_transcript(b'[{"type": "user", "sessionId": "x"}]')
    assert not looks_like_transcript(b'{"title": "a chat", "mapping": {}}')
    assert not looks_like_transcript(b"# A title\n" + line)
