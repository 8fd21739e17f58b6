"""Conversations of claude.ai and ChatGPT exports: trees of messages, of which the live branch is read.

Of claude.ai `chat_messages` is a tree by `parent_message_uuid`, with every edited and repeated message in it;
its live branch ends in the newest message that nobody answered. A message that does not say its parent, or
one that is neither in the file nor where its tree begins, follows the one before it in the file.

Of ChatGPT `mapping` is a tree of nodes; its live branch ends in `current_node`. Hidden messages and those of
the system are left out; a message to or from a tool is a tool call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forgekit.model.transcript import Attachment, ImportedConversation, Speaker, Turn
from forgekit.times import Instant
from forgekit.transcripts.turns import TurnBuilder, conversation_of
from forgekit.transcripts.values import instant_of, line_of, mapping, mappings, text_of

_NIL = "00000000-0000-0000-0000-000000000000"
_SENDERS = {"human": Speaker.USER, "assistant": Speaker.ASSISTANT}
_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "token_budget", "flag"})
_ROLES = {"user": Speaker.USER, "assistant": Speaker.ASSISTANT}
_WITH_TEXT = frozenset(
    {"code", "execution_output", "sonic_webpage", "system_error", "tether_browsing_display", "tether_quote"}
)
_PASSED = frozenset(
    {"model_editable_context", "reasoning_recap", "thoughts", "user_editable_context", "app_pairing_content"}
)


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
        _take_claude(builder, messages[place], times[place])
    return conversation_of(
        "claude",
        builder.turns(),
        instant_of(record.get("created_at")),
        external_id=line_of(record.get("uuid")),
        title=line_of(record.get("name")),
        project=line_of(mapping(record.get("project")).get("name")),
        branches_left=len(messages) - len(branch),
        unknown=builder.unknown_types(),
    )


def _take_claude(builder: TurnBuilder, message: dict[str, Any], time: Instant | None) -> None:
    speaker = _SENDERS.get(text_of(message.get("sender")))
    if speaker is None:
        builder.count_unknown("sender", message.get("sender"))
        return
    content = [(text_of(block.get("type")), block) for block in mappings(message.get("content"))]
    texts = [text_of(block.get("text")) for kind, block in content if kind == "text"]
    text = "\n\n".join(text for text in texts if text.strip())
    if not text and not any(kind.endswith(("tool_use", "tool_result")) for kind, _ in content):
        text = text_of(message.get("text"))
    attachments = _attachments(message.get("attachments")) + _attachments(message.get("files"))
    builder.add(Turn(speaker=speaker, text=text, time=time, attachments=attachments))
    for kind, block in content:
        if kind.endswith("tool_use"):
            builder.add_call(block.get("name"), Turn(speaker=Speaker.ASSISTANT, text="", time=time))
        elif not kind.endswith("tool_result") and kind not in _BLOCKS:
            builder.count_unknown("block", block.get("type"))


def chatgpt_conversation(record: dict[str, Any]) -> ImportedConversation | None:
    """Read one conversation; None if the record is none of a ChatGPT export."""
    if not isinstance(record.get("mapping"), dict):
        return None
    nodes = {key: mapping(node) for key, node in record["mapping"].items()}
    messages = [mapping(node.get("message")) for node in nodes.values()]
    times = [instant_of(message.get("create_time")) for message in messages]
    parents = [text_of(node.get("parent")) for node in nodes.values()]
    branch = live_branch(list(nodes), parents, times, text_of(record.get("current_node")))
    builder = TurnBuilder()
    for place in branch:
        _take_chatgpt(builder, messages[place], times[place])
    live = set(branch)
    others = (message for place, message in enumerate(messages) if place not in live)
    return conversation_of(
        "chatgpt",
        builder.turns(),
        instant_of(record.get("create_time")),
        external_id=line_of(record.get("conversation_id")) or line_of(record.get("id")),
        title=line_of(record.get("title")),
        branches_left=sum(_role(message) in _ROLES and not _hidden(message) for message in others),
        unknown=builder.unknown_types(),
    )


def _role(message: dict[str, Any]) -> str:
    return text_of(mapping(message.get("author")).get("role"))


def _hidden(message: dict[str, Any]) -> bool:
    return mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") is True


def _take_chatgpt(builder: TurnBuilder, message: dict[str, Any], time: Instant | None) -> None:
    role = _role(message)
    if not message or role == "system" or _hidden(message):
        return
    text, pictures = _content(builder, mapping(message.get("content")))
    recipient = text_of(message.get("recipient")) or "all"
    if role == "assistant" and recipient != "all":
        builder.add_call(recipient, Turn(speaker=Speaker.ASSISTANT, text="", time=time))
    elif role in _ROLES:
        files = _attachments(mapping(message.get("metadata")).get("attachments")) + pictures
        builder.add(Turn(speaker=_ROLES[role], text=text, time=time, attachments=files))
    elif role != "tool":
        builder.count_unknown("role", mapping(message.get("author")).get("role"))


def _content(builder: TurnBuilder, content: dict[str, Any]) -> tuple[str, tuple[Attachment, ...]]:
    """Return a message's text and its pictures; thinking is left out, and what is not known is counted."""
    given = content.get("content_type", "text")
    kind = text_of(given)
    if kind in _WITH_TEXT:
        return text_of(content.get("text")) or text_of(content.get("result")), ()
    if kind not in {"text", "multimodal_text"}:
        if kind not in _PASSED:
            builder.count_unknown("content", given)
        return "", ()
    texts, pictures = [], []
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else []:
        kind = text_of(mapping(part).get("content_type"))
        if isinstance(part, str):
            texts.append(text_of(part))
        elif kind.endswith("asset_pointer"):
            pictures.append(Attachment(name=line_of(part.get("asset_pointer")) or "picture"))
        elif kind == "audio_transcription":
            texts.append(text_of(part.get("text")))
        elif part is not None:
            builder.count_unknown("part", mapping(part).get("content_type"))
    return "\n".join(text for text in texts if text), tuple(pictures)


def _attachments(value: Any) -> tuple[Attachment, ...]:
    """Return the attachments of a list of objects, under any of the names that exports use."""
    found = []
    for one in mappings(value):
        name = line_of(one.get("file_name") or one.get("name") or one.get("filename"))
        text = text_of(one.get("extracted_content"))
        if name or text:
            found.append(Attachment(name=name or "attachment", text=text))
    return tuple(found)


def live_branch(
    keys: Sequence[str], parents: Sequence[str], times: Sequence[Instant | None], current: str = ""
) -> list[int]:
    """Return the places of the messages that lead to the current one, first to last.

    Args:
        keys: one a message; the last of equal ones counts.
        parents: the key of the message that each one answers, or one that no message has.
        current: where the branch ends; if no message has that key, the newest unanswered one, of equally new
            ones the last. In a cycle each message counts once.
    """
    places = {key: place for place, key in enumerate(keys)}
    if current not in places:
        answered = set(parents)
        ends = [place for key, place in places.items() if key not in answered] or list(places.values())
        if not ends:
            return []
        current = keys[max(ends, key=lambda place: (times[place] or -1, place))]
    branch: dict[str, int] = {}
    while current in places and current not in branch:
        branch[current] = places[current]
        current = parents[places[current]]
    return list(branch.values())[::-1]
