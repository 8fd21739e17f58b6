"""Conversations of a claude.ai export.

`chat_messages` is a tree by `parent_message_uuid`, with every edited and repeated message in it. The **live
branch** ends in the newest message that nobody answered. A message that does not say its parent, or one that
is neither in the file nor where its tree begins, follows the one before it in the file.
"""

from __future__ import annotations

from typing import Any

from forgekit.model.transcript import ImportedConversation, Speaker
from forgekit.times import Instant
from forgekit.transcripts.fields import mapping, mappings, moment, name, words
from forgekit.transcripts.turns import Talk, attachments_of, live_branch

_SPEAKERS = {"human": Speaker.USER, "assistant": Speaker.ASSISTANT}
_NIL = "00000000-0000-0000-0000-000000000000"
_PASSED = frozenset({"thinking", "redacted_thinking", "token_budget", "flag"})


def claude_conversation(record: dict[str, Any]) -> ImportedConversation | None:
    """Read one conversation; None if the record is none of a claude.ai export."""
    if not isinstance(record.get("chat_messages"), list):
        return None
    messages = mappings(record["chat_messages"])
    keys = [name(message.get("uuid")) or f"#{place}" for place, message in enumerate(messages)]
    said = [name(message.get("parent_message_uuid")) for message in messages]
    known = {*keys, *said[:1], _NIL} - {""}
    parents = [
        parent if parent in known else keys[place - 1] if place else "" for place, parent in enumerate(said)
    ]
    times = [moment(message.get("created_at")) for message in messages]
    branch = live_branch(keys, parents, times)
    talk = Talk()
    for place in branch:
        _take(talk, messages[place], times[place])
    turns = talk.turns()
    return ImportedConversation(
        source="claude",
        external_id=name(record.get("uuid")),
        title=name(record.get("name")),
        project=name(mapping(record.get("project")).get("name")),
        folder="",
        started=_started(moment(record.get("created_at")), turns[0].time if turns else None),
        turns=turns,
        branches_left=len(messages) - len(branch),
        unknown=talk.unknown_types(),
    )


def _started(conversation: Instant | None, first: Instant | None) -> Instant | None:
    return first if conversation is None else conversation


def _take(talk: Talk, message: dict[str, Any], time: Instant | None) -> None:
    speaker = _SPEAKERS.get(words(message.get("sender")))
    if speaker is None:
        talk.odd("sender", message.get("sender"))
        return
    own = name(message.get("uuid"))
    content = mappings(message.get("content"))
    texts = [words(block.get("text")) for block in content if block.get("type") == "text"]
    text = "\n\n".join(text for text in texts if text.strip())
    if not text and not any(_is_tool(block) for block in content):
        text = words(message.get("text"))
    attachments = attachments_of(message.get("attachments")) + attachments_of(message.get("files"))
    talk.say(speaker, text, time=time, external_id=own, attachments=attachments)
    for block in content:
        kind = words(block.get("type"))
        if kind.endswith("tool_use"):
            talk.call(block.get("name"), time=time, external_id=own)
        elif kind != "text" and not kind.endswith("tool_result") and kind not in _PASSED:
            talk.odd("block", block.get("type"))


def _is_tool(block: dict[str, Any]) -> bool:
    return words(block.get("type")).endswith(("tool_use", "tool_result"))
