"""Conversations of a ChatGPT export.

`mapping` is a tree of nodes. The **live branch** is what leads from its root to `current_node`; other nodes
are answers that were made again and prompts that were edited. Hidden nodes and those of the system are
nobody's words; what goes to a tool and comes from it is a tool call.
"""

from __future__ import annotations

from typing import Any

from forgekit.model.transcript import Attachment, ImportedConversation, Speaker
from forgekit.times import Instant
from forgekit.transcripts.fields import mapping, moment, name, words
from forgekit.transcripts.turns import Talk, attachments_of, live_branch

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
    times = [moment(message.get("create_time")) for message in messages]
    parents = [words(node.get("parent")) for node in nodes.values()]
    branch = live_branch(list(nodes), parents, times, words(record.get("current_node")))
    talk = Talk()
    for place in branch:
        _take(talk, messages[place], times[place])
    live = set(branch)
    turns = talk.turns()
    created = moment(record.get("create_time"))
    return ImportedConversation(
        source="chatgpt",
        external_id=name(record.get("conversation_id")) or name(record.get("id")),
        title=name(record.get("title")),
        project="",
        folder="",
        started=created if created is not None or not turns else turns[0].time,
        turns=turns,
        branches_left=sum(_spoken(one) for place, one in enumerate(messages) if place not in live),
        unknown=talk.unknown_types(),
    )


def _role(message: dict[str, Any]) -> str:
    return words(mapping(message.get("author")).get("role"))


def _hidden(message: dict[str, Any]) -> bool:
    return mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") is True


def _spoken(message: dict[str, Any]) -> bool:
    return _role(message) in _SPEAKERS and not _hidden(message)


def _take(talk: Talk, message: dict[str, Any], time: Instant | None) -> None:
    role = _role(message)
    if not message or role == "system" or _hidden(message):
        return
    text, pictures = _content(talk, mapping(message.get("content")))
    own = name(message.get("id"))
    recipient = words(message.get("recipient")) or "all"
    if role == "assistant" and recipient != "all":
        talk.call(recipient, time=time, external_id=own)
    elif role in _SPEAKERS:
        attachments = attachments_of(mapping(message.get("metadata")).get("attachments"))
        talk.say(_SPEAKERS[role], text, time=time, external_id=own, attachments=attachments + pictures)
    elif role != "tool":
        talk.odd("role", mapping(message.get("author")).get("role"))


def _content(talk: Talk, content: dict[str, Any]) -> tuple[str, tuple[Attachment, ...]]:
    """Return a message's text and its pictures; thinking is left out, and what is not known is counted."""
    kind = content.get("content_type", "text")
    if kind in ("text", "multimodal_text"):
        return _parts(talk, content.get("parts"))
    if kind == "code" or (isinstance(kind, str) and kind in _TOOL_TYPES):
        return words(content.get("text")) or words(content.get("result")), ()
    if not isinstance(kind, str) or kind not in _PASSED:
        talk.odd("content", kind)
    return "", ()


def _parts(talk: Talk, parts: Any) -> tuple[str, tuple[Attachment, ...]]:
    texts, pictures = [], []
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, str):
            texts.append(words(part))
        elif isinstance(part, dict) and words(part.get("content_type")).endswith("asset_pointer"):
            pictures.append(Attachment(name=name(part.get("asset_pointer")) or "picture"))
        elif isinstance(part, dict) and part.get("content_type") == "audio_transcription":
            texts.append(words(part.get("text")))
        elif part is not None:
            talk.odd("part", mapping(part).get("content_type"))
    return "\n".join(text for text in texts if text), tuple(pictures)
