"""Trees of messages and their live branch: claude.ai and ChatGPT exports."""

from __future__ import annotations

from typing import Any

import pytest

from forgekit.model.transcript import Attachment, ImportedConversation, Speaker, Turn
from forgekit.times import Instant, parse_instant
from forgekit.transcripts.message_trees import chatgpt_conversation, claude_conversation, live_branch

ROOT = "00000000-0000-4000-8000-000000000000"


def at(second: int) -> str:
    return f"2026-03-01T10:00:{second:02d}Z"


def said(key: str, text: str, second: int, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    message = {
        "uuid": key,
        "sender": "human" if key.startswith("h") else "assistant",
        "text": "as text",
        "content": [{"type": "text", "text": text}],
        "created_at": at(second),
    }
    return message | ({} if parent is None else {"parent_message_uuid": parent}) | fields


def claude(*messages: Any, **fields: Any) -> ImportedConversation:
    found = claude_conversation({"uuid": "c-1", "name": "Queues", "chat_messages": list(messages), **fields})
    assert found is not None
    return found


def node(key: str, parent: str | None, role: str, text: str, second: float | None = None, **said: Any) -> Any:
    message = {
        "id": key,
        "author": {"role": role},
        "create_time": second,
        "content": {"content_type": "text", "parts": [text]},
        "recipient": "all",
        **said,
    }
    return {"id": key, "parent": parent, "children": [], "message": message}


def chatgpt(*nodes: Any, **fields: Any) -> ImportedConversation:
    mapping = {one["id"]: one for one in nodes}
    found = chatgpt_conversation({"title": "Queues", "conversation_id": "g-1", "mapping": mapping, **fields})
    assert found is not None
    return found


def texts(talk: ImportedConversation) -> list[str]:
    return [turn.text for turn in talk.turns]


@pytest.mark.parametrize(
    ("parents", "times", "current", "branch"),
    [
        (["", "a", "b"], [1, 2, 3], "", [0, 1, 2]),
        (["", "a", "a"], [1, 3, 2], "", [0, 1]),  # the newest end
        (["", "a", "a"], [1, 2, 2], "", [0, 2]),  # of equal ones the last
        (["", "a", "a"], [1, None, None], "b", [0, 1]),  # what the export says
        (["", "x", "b"], [1, 2, 3], "", [1, 2]),  # a parent that is not there
        (["b", "a", "b"], [1, 2, 0], "c", [0, 1, 2]),  # a circle
        (["c", "a", "b"], [1, 2, 3], "", [0, 1, 2]),  # nothing but a circle
    ],
)
def test_the_live_branch(parents: list[str], times: list[Any], current: str, branch: list[int]) -> None:
    assert live_branch(["a", "b", "c"], parents, times, current) == branch


def test_no_messages_are_no_branch() -> None:
    assert live_branch([], [], [], "a") == []


def test_a_claude_conversation_is_read_whole() -> None:
    use = {"type": "tool_use", "id": None, "name": "web_search", "input": {"query": "queues"}}
    gave = {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "found"}]}
    answer = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "I look."},
        use,
        gave,
        {"type": "text", "text": "We use Redis."},
        {"type": "hologram"},
    ]
    paste = {"file_name": "paste.txt", "file_size": 4, "extracted_content": "D001"}
    question = said("h1", "", 1, ROOT, content=[], attachments=[paste], files=[{"file_name": "a.png"}])
    question["text"] = ""
    talk = claude(
        question,
        said("a1", "", 2, "h1", content=answer),
        created_at=at(0),
        project={"uuid": "p", "name": "Billing"},
    )
    assert talk == ImportedConversation(
        source="claude",
        external_id="c-1",
        title="Queues",
        project="Billing",
        folder="",
        started=parse_instant(at(0)),
        turns=(
            Turn(
                number=1,
                speaker=Speaker.USER,
                time=parse_instant(at(1)),
                text="",
                attachments=(Attachment(name="paste.txt", text="D001"), Attachment(name="a.png")),
            ),
            Turn(
                number=2,
                speaker=Speaker.ASSISTANT,
                time=parse_instant(at(2)),
                text="I look.\n\nWe use Redis.",
                tools=("web_search",),
            ),
        ),
        unknown=(("block hologram", 1),),
    )


def test_content_comes_before_text() -> None:
    assert texts(claude(said("h1", "as content", 1))) == ["as content"]
    assert texts(claude(said("h1", "", 1, content=[]))) == ["as text"]
    assert texts(claude(said("h1", "", 1, content=None))) == ["as text"]
    only_tool = said("a1", "", 1, content=[{"type": "tool_use", "name": "repl", "input": "1"}])
    assert texts(claude(only_tool)) == [""]


def test_claude_edits_are_left_out_and_counted() -> None:
    talk = claude(
        said("h1", "first try", 1, ROOT),
        said("a1", "first answer", 2, "h1"),
        said("h2", "second try", 3, ROOT),
        said("a2", "an answer", 4, "h2"),
        said("a3", "the answer made again", 5, "h2"),
    )
    assert texts(talk) == ["second try", "the answer made again"]
    assert talk.branches_left == 3


def test_without_parents_the_order_of_the_file_counts() -> None:
    talk = claude(said("h1", "one", 9), said("a1", "two", 1), said("h2", "three", 5))
    assert (texts(talk), talk.branches_left) == (["one", "two", "three"], 0)


def test_a_parent_that_is_nowhere_counts_as_not_said() -> None:
    nil = "00000000-0000-0000-0000-000000000000"
    lost = (said("h1", "one", 1, "gone"), said("a1", "two", 2, "h1"), said("h2", "three", 3, "lost"))
    assert texts(claude(*lost)) == ["one", "two", "three"]
    assert texts(claude(*lost, said("h3", "one again", 4, "gone"))) == ["one again"]
    assert texts(claude(*lost, said("h3", "one again", 4, nil))) == ["one again"]


def test_what_is_no_conversation_is_told_apart() -> None:
    assert claude_conversation({"uuid": "x", "name": "a project", "docs": []}) is None
    assert chatgpt_conversation({"title": "x", "mapping": []}) is None


def test_a_chatgpt_conversation_follows_its_current_node() -> None:
    nodes = (
        {"id": "root", "parent": None, "children": ["s"], "message": None},
        node("s", "root", "system", "You are."),
        node("u1", "s", "user", "Which queue?", 1_700_000_000.5),
        node("a1", "u1", "assistant", "Kafka.", 1_700_000_001),
        node("a2", "u1", "assistant", "Redis.", 1_700_000_000),
        node("u2", "a1", "user", "No, really?", 1_700_000_009),
    )
    talk = chatgpt(*nodes, current_node="a2", create_time=1_700_000_000)
    assert texts(talk) == ["Which queue?", "Redis."]
    assert talk.branches_left == 2
    assert (talk.started, talk.turns[0].time) == (Instant(1_700_000_000_000), Instant(1_700_000_000_500))
    assert texts(chatgpt(*nodes)) == ["Which queue?", "Kafka.", "No, really?"]


def test_chatgpt_tools_are_data_and_hidden_nodes_nobodys_words() -> None:
    code = {"content_type": "code", "language": "python", "text": "1 + 1"}
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
    voice = {"content_type": "audio_transcription", "text": "spoken"}
    parts = {"content_type": "multimodal_text", "parts": ["Look:", pointer, voice, {"content_type": "smell"}]}
    hidden = {"is_visually_hidden_from_conversation": True}
    talk = chatgpt(
        node("h", None, "user", "about me", metadata=hidden),
        node("u", "h", "user", "", content=parts, metadata={"attachments": [{"id": "1", "name": "a.pdf"}]}),
        node("t", "u", "assistant", "", content={"content_type": "thoughts", "thoughts": []}),
        node("c", "t", "assistant", "", content=code, recipient="python"),
        node("o", "c", "tool", "", content={"content_type": "execution_output", "text": "2"}),
        node("x", "o", "assistant", "", content={"content_type": "dance"}),
        node("a", "x", "assistant", "It is two."),
        node("n", "a", "narrator", "The end."),
        current_node="n",
    )
    assert [(turn.speaker, turn.text) for turn in talk.turns] == [
        (Speaker.USER, "Look:\nspoken"),
        (Speaker.ASSISTANT, "It is two."),
    ]
    assert talk.turns[0].attachments == (
        Attachment(name="a.pdf"),
        Attachment(name="file-service://file-1"),
    )
    assert talk.turns[1].tools == ("python",)
    assert talk.unknown == (("content dance", 1), ("part smell", 1), ("role narrator", 1))
