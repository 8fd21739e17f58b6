"""Recognise the format of an export and read its conversations, one at a time.

An export that is not recognised is an error, never an empty success.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from forgekit.errors import FormatError
from forgekit.model.problem import Problem, Severity
from forgekit.model.transcript import ImportedConversation
from forgekit.transcripts.chatgpt import chatgpt_conversation
from forgekit.transcripts.claude_ai import claude_conversation
from forgekit.transcripts.claude_code import looks_like_transcript, read_sessions
from forgekit.transcripts.fields import problem
from forgekit.transcripts.json_streams import NAMED_LINES, objects
from forgekit.transcripts.markdown import looks_like_markdown, read_markdown
from forgekit.transcripts.sources import READ_ERRORS, ReadingState, Source, sources
from forgekit.transcripts.specstory import looks_like_specstory, read_specstory

Found = Iterator[ImportedConversation | Problem]

_OPENED_LINES = 20
_BESIDE = re.compile(
    r"(?:.*[/\\:])?(?:tool-results/[^/]+|[^/\\:]+\.meta\.json"
    r"|(?:projects/[^/]+|projects|users?|memories|export_manifest|manifest-[^/]+)\.json)"
)
"""Files that lie beside the conversations of an export."""


@dataclass(frozen=True, slots=True)
class Format:
    """A foreign format.

    Attributes:
        place: returns where in the head of a file the format shows, None where it does not; of several
            formats the one that shows first wins, in the order of `FORMATS` where equal.
        read: yields the conversations of a stream.
    """

    place: Callable[[bytes], int | None]
    read: Callable[[io.BufferedReader], Found]


def _json_with(key: bytes) -> Callable[[bytes], int | None]:
    def place(head: bytes) -> int | None:
        found = head.find(key) if head.startswith((b"[", b"{")) else -1
        return found if found >= 0 else None

    return place


def _at_start(shows: Callable[[bytes], bool]) -> Callable[[bytes], int | None]:
    return lambda head: 0 if shows(head) else None


def _opens_transcript(head: bytes) -> bool:
    lines = head.split(b"\n", _OPENED_LINES)[:_OPENED_LINES]
    return head.startswith(b"{") and any(looks_like_transcript(line) for line in lines)


def _objects(
    convert: Callable[[dict[str, Any]], ImportedConversation | None], what: str
) -> Callable[[io.BufferedReader], Found]:
    def read_objects(stream: io.BufferedReader) -> Found:
        for number, record in objects(stream):
            if isinstance(record, Problem):
                yield record
            elif (conversation := convert(record)) is not None:
                yield conversation
            else:
                message = f"conversation {number} is not one of {what}"
                yield problem("broken-item", message, severity=Severity.ERROR)

    return read_objects


FORMATS = {
    "claude": Format(_json_with(b'"chat_messages"'), _objects(claude_conversation, "a claude.ai export")),
    "claude-code": Format(_at_start(_opens_transcript), read_sessions),
    "chatgpt": Format(_json_with(b'"mapping"'), _objects(chatgpt_conversation, "a ChatGPT export")),
    "specstory": Format(_at_start(looks_like_specstory), read_specstory),
    "markdown": Format(_at_start(looks_like_markdown), read_markdown),
}


def detect(head: bytes, name: str) -> str:
    """Return the name of the format that the first bytes of a file show.

    Args:
        head: unpacked; 256 KB are enough for any export.
        name: of the file, for messages.

    Raises FormatError where they show none.
    """
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    shown = {form: place for form, one in FORMATS.items() if (place := one.place(start)) is not None}
    if shown:
        return min(shown, key=lambda form: shown[form])
    known = ", ".join(FORMATS)
    raise FormatError(f"not a conversation in a known format; if it is one, name it ({known})", path=name)


def read(source: Source, form: str = "auto") -> Found:
    """Read the conversations of one source, and what could not be read, in the order of the file.

    Unknown types and conversations without a turn are reported as problems. Of problems of one kind the first
    20 are named and the rest counted.

    Args:
        source: from `sources`.
        form: name of one of FORMATS, or `auto`.

    Raises FormatError for a source in no known format, or not in the one that was named.
    """
    try:
        form = detect(source.head(), source.name) if form == "auto" else form
        for found in _limited(_checked(FORMATS[form].read(source.stream))):
            yield found if isinstance(found, ImportedConversation) else replace(found, path=source.name)
    except FormatError as e:
        raise e.at(source.name) from None
    except READ_ERRORS as e:
        raise FormatError(f"cannot be read: {e}", path=source.name) from e


def _checked(found: Found) -> Found:
    """Report unknown types and empty conversations; raise FormatError where there is no conversation."""
    any_yet = False
    for one in found:
        if isinstance(one, Problem):
            yield one
            continue
        any_yet = True
        name = f"conversation {one.external_id or one.title or '(no name)'}"
        if one.unknown:
            kinds = ", ".join(f"{kind} ({number})" for kind, number in one.unknown)
            message = f"{name}: unknown types were left out: {kinds}"
            yield problem("unknown-types", message, severity=Severity.INFO)
        if one.turns:
            yield one
        else:
            message = f"{name} has no turn"
            if one.branches_left:
                message += f"; messages of side chains or branches that were left out: {one.branches_left}"
            yield problem("empty-conversation", message, severity=Severity.INFO)
    if not any_yet:
        raise FormatError("no conversation is in it")


def _limited(found: Found) -> Found:
    """Pass on the first 20 problems of a kind, and count the rest."""
    numbers: Counter[str] = Counter()
    for one in found:
        if isinstance(one, Problem):
            numbers[one.code] += 1
        if isinstance(one, ImportedConversation) or numbers[one.code] <= NAMED_LINES:
            yield one
    for code, number in numbers.items():
        if number > NAMED_LINES:
            yield problem(code, f"{number - NAMED_LINES} more findings of this kind: {code}")


def conversations(
    paths: Iterable[str], form: str = "auto", reading: ReadingState | None = None, *, given: bool = True
) -> Found:
    """Read the conversations of files, folders and packed files, one after the other.

    A file that a person named must be readable. One found in a folder or in a packed file that is no
    conversation is reported as a problem; the files beside the conversations of an export are skipped.

    Args:
        paths: as of `sources`.
        form: name of one of FORMATS, or `auto`.
        reading: updated with the progress.
        given: as of `sources`.

    Raises FormatError, also where nothing was read at all of what was given, and NotFoundError.
    """
    any_yet = False
    for source in sources(paths, reading, given=given):
        if isinstance(source, Problem):
            yield source
            continue
        if not source.given and _BESIDE.fullmatch(source.name):
            continue
        try:
            if not source.given:
                _require(source, form)
            for found in read(source, form):
                any_yet = any_yet or isinstance(found, ImportedConversation)
                yield found
        except FormatError as e:
            if source.given:
                raise
            yield replace(problem("no-conversation", e.message, e.line), path=source.name)
    if given and not any_yet:
        raise FormatError("no conversation was found in what was given")


def _require(source: Source, form: str) -> None:
    """Raise FormatError for a file that shows another format than the one asked for."""
    try:
        found = detect(source.head(), source.name)
    except READ_ERRORS as e:
        raise FormatError(f"cannot be read: {e}") from e
    if form not in {found, "auto"}:
        raise FormatError(f"it is of the format {found}, not {form}")
