"""Conversations of a claude.ai export.

`chat_messages` is a tree by `parent_message_uuid`, with every edited and repeated message in it. The **live
branch** ends in the newest message that nobody answered. A message that does not say its parent, or one that
is neither in the file nor where its tree begins, follows the one before it in the file.
"""

from __future__ import annotations

from typing import Any

from forgekit.model.transcript import ImportedConversation, Speaker
from forgekit.times import Instant
from forgekit.transcripts.fields import instant_of, line_of, mapping, mappings, text_of
from forgekit.transcripts.turns import TurnBuilder, attachments_of, live_branch

_SPEAKERS = {"human": Speaker.USER, "assistant": Speaker.ASSISTANT}
_NIL = "00000000-0000-0000-0000-000000000000"
_PASSED = frozenset({"thinking", "redacted_thinking", "token_budget", "flag"})


def claude_conversation(record: dict[str, Any]) -> ImportedConversation | None:
    """Read one conversation; None if the record is none of a claude.ai export."""
    if not isinstance(record.get("chat_messages"), list):
        return None
    messages = mappings(record["chat_messages"])
    keys = [line_of(message.get("uuid")) or f"#{place}" for place, message in enumerate(messages)]
    given = [line_of(message.get("parent_message_uuid")) for message in messages]
    known = {*keys, *given[:1], _NIL} - {""}
    parents = [
        parent if parent in known else keys[place - 1] if place else "" for place, parent in enumerate(given)
    ]
    times = [instant_of(message.get("created_at")) for message in messages]
    branch = live_branch(keys, parents, times)
    builder = TurnBuilder()
    for place in branch:
        _take(builder, messages[place], times[place])
    turns = builder.turns()
    return ImportedConversation(
        source="claude",
        external_id=line_of(record.get("uuid")),
        title=line_of(record.get("name")),
        project=line_of(mapping(record.get("project")).get("name")),
        folder="",
        started=_started(instant_of(record.get("created_at")), turns[0].time if turns else None),
        turns=turns,
        branches_left=len(messages) - len(branch),
        unknown=builder.unknown_types(),
    )


def _started(conversation: Instant | None, first: Instant | None) -> Instant | None:
    return first if conversation is None else conversation


def _take(builder: TurnBuilder, message: dict[str, Any], time: Instant | None) -> None:
    speaker = _SPEAKERS.get(text_of(message.get("sender")))
    if speaker is None:
        builder.count_unknown("sender", message.get("sender"))
        return
    own = line_of(message.get("uuid"))
    content = mappings(message.get("content"))
    texts = [text_of(block.get("text")) for block in content if block.get("type") == "text"]
    text = "\n\n".join(text for text in texts if text.strip())
    if not text and not any(_is_tool(block) for block in content):
        text = text_of(message.get("text"))
    attachments = attachments_of(message.get("attachments")) + attachments_of(message.get("files"))
    builder.add(speaker, text, time=time, external_id=own, attachments=attachments)
    for block in content:
        kind = text_of(block.get("type"))
        if kind.endswith("tool_use"):
            builder.add_call(block.get("name"), time=time, external_id=own)
        elif kind != "text" and not kind.endswith("tool_result") and kind not in _PASSED:
            builder.count_unknown("block", block.get("type"))


def _is_tool(block: dict[str, Any]) -> bool:
    return text_of(block.get("type")).endswith(("tool_use", "tool_result"))
