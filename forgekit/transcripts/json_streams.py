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

from forgekit.model.problem import Problem, warning
from forgekit.transcripts.sources import READ_ERRORS
from forgekit.transcripts.values import crowded, record_of

LONGEST_LINE = 32 * 1024 * 1024
LONGEST_ITEM = 32 * 1024 * 1024

_CHUNK = 1024 * 1024
_FIRST = 256 * 1024
_BETWEEN = re.compile(r"[\s,]*")
_NEAR = 32
_DECODER = json.JSONDecoder(strict=False)


def records(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    """Yield each record of a file of lines with its line; a broken line and a broken end as a Problem."""
    number = 0
    try:
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
                    pass
                message = "this line is longer than 32 MB and was skipped"
                yield number, warning("line-too-long", message, number)
            elif line.strip():
                record = record_of(line)
                broken = warning("broken-line", "this line is not a JSON record", number)
                yield number, broken if record is None else record
    except READ_ERRORS as e:
        yield number, warning("file-cut-off", f"the file cannot be read past this line: {e}", number or None)


def objects(stream: io.BufferedReader) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    """Yield the objects of a JSON list with their 1-based number; objects without a list count as one.

    What is no object is reported as a Problem, and so is a list that cannot be read to its end, and text
    after the end.
    """
    text = _Text(stream)
    number = 0
    try:
        lone = text.skip() != "["
        text.at += not lone
        while (sign := text.skip()) and (lone or sign != "]"):
            number += 1
            value = text.value()
            if isinstance(value, dict):
                yield number, value
            else:
                yield number, warning("broken-item", f"conversation {number} is no JSON object")
        text.at += len(sign)
        behind = text.skip()
    except READ_ERRORS as e:
        yield number, _stopped(number, f"cannot be read: {e}")
        return
    except ValueError as e:  # the standard error of JSON, or of a number that is too long
        yield number, _stopped(number, str(e) if isinstance(e, _UnreadableError) else "is no JSON")
        return
    if not lone and not sign:
        yield number, _stopped(number + 1, "is cut off")
    elif behind:
        message = "text after the end of the list was not read; give it as a file of its own"
        yield number, Problem(code="broken-export", message=message)


def _stopped(number: int, why: str) -> Problem:
    message = f"conversation {number} {why}; reading stopped there"
    return Problem(code="broken-export", message=message)


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

        Raises _UnreadableError and ValueError.
        """
        while True:
            try:
                value, self.at = _DECODER.raw_decode(self.text, self.at)
            except RecursionError:
                raise _UnreadableError("is nested too deeply") from None
            except json.JSONDecodeError as e:
                if e.pos < len(self.text) - _NEAR and not e.msg.startswith("Unterminated string"):
                    raise
                if len(self.text) - self.at > LONGEST_ITEM:
                    raise _UnreadableError("is longer than 32 MB") from None
                if not self.more():
                    raise _UnreadableError("is cut off") from None
                if crowded(self.text):
                    raise _UnreadableError("holds more than two million lists and objects") from None
            else:
                return value

    def more(self) -> bool:
        """Read as much again as is held, so that reading a long value takes time in proportion to it."""
        kept = self.text[self.at :]
        piece = b"" if self.ended else self.stream.read(max(_FIRST, len(kept)))
        self.ended = self.ended or not piece
        self.text, self.at = kept + self.decoder.decode(piece, self.ended), 0
        return not self.ended
