"""Conversations of a ChatGPT export.

`mapping` is a tree of nodes. The **live branch** is what leads from its root to `current_node`; other nodes
are answers that were made again and prompts that were edited. Hidden nodes and those of the system are
left out; a message to or from a tool is a tool call.
"""

from __future__ import annotations

from typing import Any

from forgekit.model.transcript import Attachment, ImportedConversation, Speaker
from forgekit.times import Instant
from forgekit.transcripts.fields import instant_of, line_of, mapping, text_of
from forgekit.transcripts.turns import TurnBuilder, attachments_of, live_branch

_SPEAKERS = {"user": Speaker.USER, "assistant": Speaker.ASSISTANT}
_TOOL_TYPES = frozenset(
    {"execution_output", "sonic_webpage", "system_error", "tether_browsing_display", "tether_quote"}
)
_PASSED = frozenset(
    {"model_editable_context", "reasoning_recap", "thoughts", "user_editable_context", "app_pairing_content"}
)


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
        _take(builder, messages[place], times[place])
    live = set(branch)
    turns = builder.turns()
    created = instant_of(record.get("create_time"))
    return ImportedConversation(
        source="chatgpt",
        external_id=line_of(record.get("conversation_id")) or line_of(record.get("id")),
        title=line_of(record.get("title")),
        project="",
        folder="",
        started=created if created is not None or not turns else turns[0].time,
        turns=turns,
        branches_left=sum(_spoken(one) for place, one in enumerate(messages) if place not in live),
        unknown=builder.unknown_types(),
    )


def _role(message: dict[str, Any]) -> str:
    return text_of(mapping(message.get("author")).get("role"))


def _hidden(message: dict[str, Any]) -> bool:
    return mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") is True


def _spoken(message: dict[str, Any]) -> bool:
    return _role(message) in _SPEAKERS and not _hidden(message)


def _take(builder: TurnBuilder, message: dict[str, Any], time: Instant | None) -> None:
    role = _role(message)
    if not message or role == "system" or _hidden(message):
        return
    text, pictures = _content(builder, mapping(message.get("content")))
    own = line_of(message.get("id"))
    recipient = text_of(message.get("recipient")) or "all"
    if role == "assistant" and recipient != "all":
        builder.add_call(recipient, time=time, external_id=own)
    elif role in _SPEAKERS:
        attachments = attachments_of(mapping(message.get("metadata")).get("attachments"))
        builder.add(_SPEAKERS[role], text, time=time, external_id=own, attachments=attachments + pictures)
    elif role != "tool":
        builder.count_unknown("role", mapping(message.get("author")).get("role"))


def _content(builder: TurnBuilder, content: dict[str, Any]) -> tuple[str, tuple[Attachment, ...]]:
    """Return a message's text and its pictures; thinking is left out, and what is not known is counted."""
    kind = content.get("content_type", "text")
    if kind in ("text", "multimodal_text"):
        return _parts(builder, content.get("parts"))
    if kind == "code" or (isinstance(kind, str) and kind in _TOOL_TYPES):
        return text_of(content.get("text")) or text_of(content.get("result")), ()
    if not isinstance(kind, str) or kind not in _PASSED:
        builder.count_unknown("content", kind)
    return "", ()


def _parts(builder: TurnBuilder, parts: Any) -> tuple[str, tuple[Attachment, ...]]:
    texts, pictures = [], []
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, str):
            texts.append(text_of(part))
        elif isinstance(part, dict) and text_of(part.get("content_type")).endswith("asset_pointer"):
            pictures.append(Attachment(name=line_of(part.get("asset_pointer")) or "picture"))
        elif isinstance(part, dict) and part.get("content_type") == "audio_transcription":
            texts.append(text_of(part.get("text")))
        elif part is not None:
            builder.count_unknown("part", mapping(part).get("content_type"))
    return "\n".join(text for text in texts if text), tuple(pictures)
