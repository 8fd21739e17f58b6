"""Values of foreign formats, checked before use: one of the wrong type reads as an empty one."""

from __future__ import annotations

import json
import re
from typing import Any

from forgekit.times import LAST, Instant, parse_instant

_REMINDER = re.compile(r"<system-reminder>(?:(?!<system-reminder>).)*?</system-reminder>\s*", re.DOTALL)
LONGEST_NAME = 300
MOST_VALUES = 2_000_000
_PROGRAM = (
    *("<bash-input>", "<bash-stderr>", "<bash-stdout>"),
    *("<command-args>", "<command-message>", "<command-name>"),
    *("<local-command-caveat>", "<local-command-stderr>", "<local-command-stdout>"),
    *("<system-reminder>", "<task-notification>", "[Request interrupted"),
)


def record_of(line: bytes) -> dict[str, Any] | None:
    """Return the object that a line holds; None where it is none, or would need gigabytes."""
    try:
        text = line.removeprefix(b"\xef\xbb\xbf").decode()
        record = None if crowded(text) else json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def crowded(text: str) -> bool:
    """Say whether a JSON text holds so many lists and objects that reading it would need gigabytes."""
    return len(text) > MOST_VALUES and text.count("[") + text.count("{") > MOST_VALUES


def without_reminders(text: str) -> str:
    """Return a user's message without what the program put into it for the model."""
    return _REMINDER.sub("", text) if "<system-reminder>" in text else text


def from_the_program(text: str) -> bool:
    """Say whether a user's message was written by the program in the user's place."""
    return text.lstrip().startswith(_PROGRAM)


def queued_prompt(record: dict[str, Any]) -> Any:
    """Return what a person typed while the assistant was at work; None of any other attachment."""
    attachment = mapping(record.get("attachment"))
    typed = (
        attachment.get("type") == "queued_command"
        and attachment.get("commandMode", "prompt") == "prompt"
        and mapping(attachment.get("origin")).get("kind", "human") == "human"
        and record.get("isMeta") is not True
    )
    return attachment.get("prompt") if typed else None


def text_in(content: Any) -> str:
    """Return the text of a message, or of the blocks of text in it."""
    blocks = (text_of(each.get("text")) for each in mappings(content) if each.get("type") == "text")
    return text_of(content) if isinstance(content, str) else "\n".join(filter(None, blocks))


def assistant_message(record: dict[str, Any]) -> dict[str, Any]:
    """Return the message of the assistant, an empty one where the program wrote it."""
    message = mapping(record.get("message"))
    own = record.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>"
    return {} if own else message


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, and nothing else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return a text that a file can hold: lone surrogates and NUL become U+FFFD; "" for no text."""
    text: str = value.replace("\0", "\ufffd") if isinstance(value, str) else ""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def line_of(value: Any) -> str:
    """Return a title, an id or a file's name as one line of at most 300 characters."""
    return " ".join(text_of(value)[: 4 * LONGEST_NAME].split())[:LONGEST_NAME]


def instant_of(value: Any) -> Instant | None:
    """Return a time from ISO 8601 text or from seconds since 1970, None if it is neither."""
    if isinstance(value, str):
        try:
            return parse_instant(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Instant(int(value * 1000)) if 0 <= value <= LAST / 1000 else None
