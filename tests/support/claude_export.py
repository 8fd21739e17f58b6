"""What claude.ai exports, small."""

from __future__ import annotations

from typing import Any


def message(sender: str, text: str, minute: int) -> dict[str, Any]:
    """Make one message of a conversation."""
    return {
        "uuid": f"m{minute}",
        "sender": sender,
        "text": text,
        "content": [{"type": "text", "text": text}],
        "created_at": f"2026-02-01T10:{minute:02}:00Z",
        "attachments": [],
        "files": [],
    }
