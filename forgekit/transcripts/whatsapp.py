"""The text export of a WhatsApp chat: one conversation, each message a turn that begins with its sender.

    12/06/2026, 18:02 - Rosa: What do we give the teacher?          (Android)
    [12.06.26, 18:02:33] Rosa: What do we give the teacher?         (iOS)

A line without a date goes on with the message above it. Notices of the program have no sender, on iOS a mark
of direction before their text; files that were left out stand in angle brackets. Whether the day or the
month comes first depends on the phone: where the numbers and the order of the messages allow both, the
conversation has no date. The times have no zone and count as UTC.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from forgekit.errors import FormatError
from forgekit.model.problem import Problem, Severity
from forgekit.model.transcript import ImportedConversation, Speaker, Turn
from forgekit.times import Instant
from forgekit.transcripts.labelled import lines_of
from forgekit.transcripts.turns import conversation_of
from forgekit.transcripts.values import instant_of

_HEAD = re.compile(
    r"\u200e?(?P<ios>\[)?(?P<a>\d{1,4})(?P<by>[/.-])(?P<b>\d{1,2})(?P=by)(?P<c>\d{1,4}),?[ \u00a0\u202f]"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    r"(?:[ \u00a0\u202f]?(?P<half>[AaPp])\.?[ \u00a0]?[Mm]\.?)?(?(ios)\] | - )(?P<text>.*)"
)
_SENDER = re.compile(r"(?:~\s)?(?P<name>[^:\n]{1,60}):\s(?P<text>.*)", re.DOTALL)
_LEFT_OUT = re.compile(r"\u200e.*|<[^<>\n]*>", re.DOTALL)
_ORDERS = ("abc", "cba", "cab")
"""Which part of a date is the year, the month and the day."""


def looks_like_whatsapp(head: bytes) -> bool:
    """Say whether the first line of a file, and another, are messages of a chat."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines()[:40] if line.strip()]
    return bool(lines) and _HEAD.fullmatch(lines[0]) is not None and sum(map(_sent, lines)) > 1


def read_whatsapp(stream: io.BufferedReader) -> Iterator[ImportedConversation | Problem]:
    """Read one chat.

    Raises FormatError where no line is a message.
    """
    found: list[tuple[int, re.Match[str], list[str]]] = []
    for number, line in enumerate(lines_of(stream), 1):
        if head := _HEAD.fullmatch(line):
            found.append((number, head, [head["text"]]))
        elif found:
            found[-1][2].append(line)
    if not found:
        raise FormatError("no line is a message of a WhatsApp chat")
    times = _times([head for _, head, _ in found])
    if times[0] is None:
        message = "its dates can be read with the day or the month first, so the conversation has no date"
        yield Problem(code="date-unclear", message=message, severity=Severity.INFO)
    turns: list[Turn] = []
    for (line_number, _, lines), time in zip(found, times, strict=True):
        sent = _SENDER.fullmatch("\n".join(lines).strip())
        if sent and not _LEFT_OUT.fullmatch(text := sent["text"].strip()) and text:
            named = f"{sent['name'].strip()}: {text}"
            turn = Turn(number=len(turns) + 1, speaker=Speaker.USER, time=time, text=named, line=line_number)
            turns.append(turn)
    yield conversation_of("whatsapp", turns)


def _sent(line: str) -> bool:
    head = _HEAD.fullmatch(line)
    return head is not None and _SENDER.fullmatch(head["text"]) is not None


def _times(heads: Sequence[re.Match[str]]) -> list[Instant | None]:
    """Return the times of messages, in the one order of their dates that is possible; None without one."""
    possible: list[list[Instant | None]] = []
    for order in _ORDERS:
        times = [_time(head, order) for head in heads]
        known = [time for time in times if time is not None]
        if len(known) == len(times) and all(a <= b for a, b in pairwise(known)):
            possible.append(times)
    alike = bool(possible) and all(times == possible[0] for times in possible)
    return possible[0] if alike else [None] * len(heads)


def _time(head: re.Match[str], order: str) -> Instant | None:
    year, month, day = (head[part] for part in order)
    if len(year) == 2 and order != "abc":
        year = f"20{year}"
    if len(year) != 4 or (head["by"] == "." and order == "cab"):  # a date with full stops names the day first
        return None
    hour = int(head["hour"])
    if head["half"]:
        hour = hour % 12 + 12 * (head["half"] in "Pp")
    clock = f"{hour:02}:{head['minute']}:{head['second'] or '00'}"
    return instant_of(f"{year}-{int(month):02}-{int(day):02}T{clock}Z")
