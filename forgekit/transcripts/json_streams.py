"""Exports that are one JSON list of conversations, or one JSON object after the other, read one at a time.

A list is never held whole: what is held is the conversation being read, and up to a few MB of those after it.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from forgekit.model.problem import Problem, Severity
from forgekit.transcripts.fields import problem
from forgekit.transcripts.sources import READ_ERRORS

LONGEST_LINE = 32 * 1024 * 1024
LONGEST_FILE = 16 * 1024 * 1024 * 1024
MOST_VALUES = 2_000_000
NAMED_LINES = 20

_CHUNK = 1024 * 1024
_SESSION_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


def records(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    """Yield each record with its line; broken lines as Problems, the first ones by name, the rest counted."""
    broken = 0
    for number, line in _lines(stream):
        if isinstance(line, Problem):
            yield number, line
        elif (record := _record(line)) is not None:
            yield number, record
        elif line.strip():
            broken += 1
            if broken <= NAMED_LINES:
                yield number, problem("broken-line", "this line is not a JSON record", number)
    if broken > NAMED_LINES:
        yield 0, problem("broken-line", f"{broken - NAMED_LINES} more lines are not JSON records")


def session_id_of(record: dict[str, Any]) -> str | None:
    """Return the session id of a record, None if it has no valid one."""
    session_id = record.get("sessionId")
    return session_id if isinstance(session_id, str) and _SESSION_ID.fullmatch(session_id) else None


def crowded(text: str | bytes) -> bool:
    """Say whether a JSON text holds so many lists and objects that reading it would need gigabytes."""
    if len(text) <= MOST_VALUES:
        return False
    if isinstance(text, str):
        return text.count("[") + text.count("{") > MOST_VALUES
    return text.count(b"[") + text.count(b"{") > MOST_VALUES


def _record(line: bytes) -> dict[str, Any] | None:
    if crowded(line):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | Problem]]:
    """Yield each line with its number; one that is too long, or an end in mid-file, as a Problem."""
    number = total = 0
    try:
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            total += len(line)
            if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
                    total += len(rest)
                yield (
                    number,
                    problem("line-too-long", "this line is longer than 32 MB and was skipped", number),
                )
            else:
                yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if total > LONGEST_FILE:
                yield number, problem("file-too-long", "reading stopped after 16 GB", number)
                return
    except READ_ERRORS as e:
        yield number, problem("file-cut-off", f"the file cannot be read past this line: {e}", number or None)


LONGEST_ITEM = 32 * 1024 * 1024

_FIRST = 256 * 1024
_BETWEEN = re.compile(r"[\s,]*")
_NEAR = 32
_DECODER = json.JSONDecoder(strict=False)


def objects(stream: io.BufferedReader) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    """Yield the objects of a JSON list with their 1-based number; objects without a list count as one.

    What is no object is reported as a Problem, and so is a list that cannot be read to its end, and text
    after the end.
    """
    text = _Text(stream)
    number = 0
    try:
        lone = text.skip() != "["
        if not lone:
            text.at += 1
        while (sign := text.skip()) and (lone or sign != "]"):
            number += 1
            value = text.value()
            if isinstance(value, dict):
                yield number, value
            else:
                yield number, problem("broken-item", f"conversation {number} is no JSON object")
        text.at += len(sign)
        behind = text.skip()
    except READ_ERRORS as e:
        yield number, _stopped(number, f"cannot be read: {e}")
        return
    except (ValueError, RecursionError) as e:
        yield number, _stopped(number, str(e) if isinstance(e, _UnreadableError) else "is no JSON")
        return
    if not lone and not sign:
        yield number, _stopped(number + 1, "is cut off")
    elif behind:
        message = "text after the end of the list was not read; give it as a file of its own"
        yield number, problem("broken-export", message, severity=Severity.ERROR)


def _stopped(number: int, why: str) -> Problem:
    message = f"conversation {number} {why}; reading stopped there"
    return problem("broken-export", message, severity=Severity.ERROR)


class _UnreadableError(ValueError):
    """Why a value cannot be read, as the end of a sentence."""


class _Text:
    """The text of a stream, kept from the current place on."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self.stream = stream
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.text = ""
        self.at = 0
        self.ended = False

    def skip(self) -> str:
        """Pass over white space and commas, and return the character there; "" at the end."""
        while True:
            found = _BETWEEN.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        """Return the value there, and pass over it; read on until it is whole.

        Raises _UnreadableError, RecursionError and ValueError.
        """
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except RecursionError:
                raise _UnreadableError("is nested too deeply") from None
            except json.JSONDecodeError as e:
                near = e.pos >= len(self.text) - _NEAR or e.msg.startswith("Unterminated string")
                if not near:
                    raise
                if len(self.text) - self.at > LONGEST_ITEM:
                    raise _UnreadableError("is longer than 32 MB") from None
                if not self.more():
                    raise _UnreadableError("is cut off") from None
                if crowded(self.text):
                    raise _UnreadableError("holds more than two million lists and objects") from None
            else:
                self.at = end
                return value

    def more(self) -> bool:
        """Read as much again as is held, so that reading a long value takes time in proportion to it."""
        kept = self.text[self.at :]
        piece = b"" if self.ended else self.stream.read(max(_FIRST, len(kept)))
        self.ended = self.ended or not piece
        self.text, self.at = kept + self.decoder.decode(piece, self.ended), 0
        return not self.ended
