"""Recognise the format of an export and read its conversations, one at a time.

An export that is not recognised is an error, never an empty success.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from forgekit.errors import FormatError
from forgekit.model.problem import Problem, Severity, warning
from forgekit.model.transcript import ImportedConversation
from forgekit.transcripts.claude_code import looks_like_transcript, read_sessions
from forgekit.transcripts.json_streams import objects
from forgekit.transcripts.labelled import (
    looks_like_markdown,
    looks_like_specstory,
    read_markdown,
    read_specstory,
)
from forgekit.transcripts.message_trees import chatgpt_conversation, claude_conversation
from forgekit.transcripts.sources import READ_ERRORS, ReadingState, Source, sources
from forgekit.transcripts.whatsapp import looks_like_whatsapp, read_whatsapp

Found = Iterator[ImportedConversation | Problem]

NAMED = 20
"""Problems of one kind that are named; the rest is counted."""
_OPENED_LINES = 20
_BESIDE = re.compile(
    r"(?:.*[/\\:])?(?:tool-results/[^/]+|[^/\\:]+\.meta\.json"
    r"|(?:projects/[^/]+|projects|users?|memories|export_manifest|manifest-[^/]+)\.json)"
)
"""Files that lie beside the conversations of an export."""


class Format(NamedTuple):
    """A foreign format.

    Attributes:
        place: returns where in the head of a file the format shows, -1 where it does not; of several
            formats the one that shows first wins, in the order of `FORMATS` where equal.
        read: yields the conversations of a stream.
    """

    place: Callable[[bytes], int]
    read: Callable[[io.BufferedReader], Found]


def _list_of(
    key: bytes, convert: Callable[[dict[str, Any]], ImportedConversation | None], what: str
) -> Format:
    """Return a format that is a JSON list of conversations, each an object with this key."""

    def read_objects(stream: io.BufferedReader) -> Found:
        for number, record in objects(stream):
            found = record if isinstance(record, Problem) else convert(record)
            message = f"conversation {number} is not one of {what}"
            yield found or Problem(code="broken-item", message=message)

    return Format(lambda head: head.find(key) if head.startswith((b"[", b"{")) else -1, read_objects)


def _opens_transcript(head: bytes) -> bool:
    lines = head.split(b"\n", _OPENED_LINES)[:_OPENED_LINES]
    return head.startswith(b"{") and any(map(looks_like_transcript, lines))


FORMATS = {
    "claude": _list_of(b'"chat_messages"', claude_conversation, "a claude.ai export"),
    "claude-code": Format(lambda head: _opens_transcript(head) - 1, read_sessions),
    "chatgpt": _list_of(b'"mapping"', chatgpt_conversation, "a ChatGPT export"),
    "specstory": Format(lambda head: looks_like_specstory(head) - 1, read_specstory),
    "markdown": Format(lambda head: looks_like_markdown(head) - 1, read_markdown),
    "whatsapp": Format(lambda head: looks_like_whatsapp(head) - 1, read_whatsapp),
}


def detect(head: bytes, name: str) -> str:
    """Return the name of the format that the first bytes of a file show.

    Args:
        head: unpacked; 256 KB are enough for any export.

    Raises FormatError where they show none.
    """
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    shown = {form: place for form, one in FORMATS.items() if (place := one.place(start)) >= 0}
    if shown:
        return min(shown, key=lambda form: shown[form])
    known = ", ".join(FORMATS)
    raise FormatError(f"not a conversation in a known format; if it is one, name it ({known})", path=name)


def read(source: Source, form: str = "auto") -> Found:
    """Read the conversations of one source, and what could not be read, in the order of the file.

    Unknown types and conversations without a turn are reported as problems. Of problems of one kind the first
    20 are named and the rest counted.

    Args:
        form: name of one of FORMATS, or `auto`.

    Raises FormatError for a source in no known format, or not in the one that was named.
    """
    try:
        read_form = FORMATS[_form_of(source, form)].read
        for found in limited(_checked(read_form(source.stream))):
            yield found if isinstance(found, ImportedConversation) else replace(found, path=source.name)
    except FormatError as e:
        raise e.at(source.name) from None
    except READ_ERRORS as e:
        raise FormatError(f"cannot be read: {e}", path=source.name) from e


def _form_of(source: Source, form: str) -> str:
    """Return the format to read; a file that nobody named must show the one that was asked for."""
    if source.given and form != "auto":
        return form
    shown = detect(source.head(), source.name)
    if form not in {"auto", shown}:
        raise FormatError(f"it is of the format {shown}, not {form}")
    return shown


def _checked(found: Found) -> Found:
    """Report unknown types and empty conversations; raise FormatError where there is no conversation."""
    any_yet = False
    tell = partial(Problem, severity=Severity.INFO)
    for one in found:
        if isinstance(one, Problem):
            yield one
            continue
        any_yet = True
        name = f"conversation {one.external_id or one.title or '(no name)'}"
        if one.unknown:
            kinds = ", ".join(f"{kind} ({number})" for kind, number in one.unknown)
            yield tell(code="unknown-types", message=f"{name}: unknown types were left out: {kinds}")
        if one.turns:
            yield one
        else:
            left = one.branches_left
            more = f"; messages of side chains or branches that were left out: {left}" if left else ""
            yield tell(code="empty-conversation", message=f"{name} has no turn{more}")
    if not any_yet:
        raise FormatError("no conversation is in it")


def limited(found: Found) -> Found:
    """Pass on the first 20 problems of a kind, and count the rest."""
    numbers: Counter[str] = Counter()
    for one in found:
        if isinstance(one, Problem):
            numbers[one.code] += 1
        if isinstance(one, ImportedConversation) or numbers[one.code] <= NAMED:
            yield one
    for code, number in numbers.items():
        if number > NAMED:
            yield warning(code, f"{number - NAMED} more findings of this kind: {code}")


def conversations(paths: Iterable[str], form: str = "auto", reading: ReadingState | None = None) -> Found:
    """Read the conversations of files, folders and packed files, one after the other.

    A file that a person named must be readable. One found in a folder or in a packed file that is no
    conversation is reported as a problem; the files beside the conversations of an export are skipped.

    Args:
        form: name of one of FORMATS, or `auto`.

    Raises FormatError, also where nothing was read at all of what was given, and NotFoundError.
    """
    any_yet = False
    for source in sources(paths, reading):
        if isinstance(source, Problem):
            yield source
        elif source.given or not _BESIDE.fullmatch(source.name):
            try:
                for found in read(source, form):
                    any_yet = any_yet or isinstance(found, ImportedConversation)
                    yield found
            except FormatError as e:
                if source.given:
                    raise
                yield warning("no-conversation", e.message, e.line, path=source.name)
    if not any_yet:
        raise FormatError("no conversation was found in what was given")
