r"""The kept text of a conversation: Markdown with a heading a turn, written so that it can be read back.

    ### 12. User, 2026-03-01T10:00:00Z

    The text of the turn.

    *Attachments: plan.md*
    *Tools: Bash (3), Read*

A line of a turn that looks like such a heading, or like a merge conflict, is written with a backslash
before it. A long conversation is kept in parts; a turn that is longer than a part goes on in the next one,
cut at the end of a line or, within a line that is longer than that, anywhere but before a line end.
More turns change the last part and add others: the parts before it stay as they are.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from forgekit.frozen import frozen, replace
from forgekit.model.rules import clean, one_line
from forgekit.model.transcript import Speaker, Turn
from forgekit.times import Instant, format_instant, parse_instant

PART_LIMIT = 400_000
"""Bytes of one part; a file may have 1 MB."""

_GOES_ON = (" (goes on)", " (line goes on)")
_TAKEN = r"### [0-9]{1,8}\. |\*(?:Attachments|Tools): |<{7} |>{7} |\|{7} "
_OPENS = re.compile(rf"^(\\*)({_TAKEN})", re.MULTILINE)
_ESCAPED = re.compile(rf"^\\(\\*(?:{_TAKEN}))", re.MULTILINE)
_HEADING = re.compile(
    r"^### ([0-9]{1,8})\. (User|Assistant)(?:, ([0-9TZ:.-]{10,30}))?( \((line )?goes on\))?$", re.MULTILINE
)
_BESIDE = re.compile(r"^\*(?:Attachments|Tools): [^\n]*\*$", re.MULTILINE)
_NAMES_SHOWN = 20


@frozen(kw_only=True)
class Message:
    """One turn as it was kept.

    Attributes:
        beside: the lines on attachments and tools.
    """

    number: int
    speaker: Speaker
    time: Instant | None
    text: str
    beside: tuple[str, ...] = ()


@frozen(kw_only=True)
class TranscriptChunk:
    """One part: first and last turn, and its Markdown."""

    first: int
    last: int
    body: str


def write_parts(turns: Sequence[Turn], limit: int = PART_LIMIT) -> list[TranscriptChunk]:
    """Lay the turns of a conversation out as parts, each of at most `limit` bytes and some."""
    parts: list[TranscriptChunk] = []
    pieces: list[str] = []
    first = last = size = 0
    for turn in turns:
        for piece in _pieces(turn, limit):
            cost = len(piece.encode())
            if pieces and size + cost > limit:
                parts.append(TranscriptChunk(first=first, last=last, body="\n\n".join(pieces)))
                pieces, size = [], 0
            if not pieces:
                first = turn.number
            pieces.append(piece)
            last, size = turn.number, size + cost
    if pieces:
        parts.append(TranscriptChunk(first=first, last=last, body="\n\n".join(pieces)))
    return parts


def _pieces(turn: Turn, limit: int) -> Iterator[str]:
    when = f", {format_instant(turn.time)}" if turn.time is not None else ""
    head = f"### {turn.number}. {turn.speaker.value.capitalize()}{when}"
    beside = "\n".join(_beside(turn))
    text = clean(turn.text)
    step = max(limit // 4, 1)  # characters, each of at most four bytes
    chunks = list(_cut(text, step)) if len(text.encode()) > limit else [(text, False)]
    for number, (chunk, within) in enumerate(chunks):
        goes_on = _GOES_ON[within] if number else ""
        rest = beside if number == len(chunks) - 1 else ""
        escaped = _OPENS.sub(r"\\\1\2", chunk)
        yield "\n\n".join(part for part in (f"{head}{goes_on}", escaped, rest) if part)


def _cut(text: str, step: int) -> Iterator[tuple[str, bool]]:
    """Cut a text that ends in no line end, and say of each piece whether it begins within a line.

    No piece ends in a line end: nobody sees one there. So one that begins with blank lines may be longer.
    """
    at, within = 0, False
    while len(text) - at > step:
        end = at + len(text[at : max(text.rfind("\n", at, at + step + 1), at)].rstrip("\n"))
        if end == at:  # no line ends in here but blank ones
            end = at + step
            while text[end - 1] == "\n":
                end += 1
        yield text[at:end][-PART_LIMIT:], within  # of more blank lines than a file may hold, what fits
        within = text[end : end + 1] != "\n"
        at = end if within else end + 1
    if at < len(text):
        yield text[at:], within


def _beside(turn: Turn) -> Iterator[str]:
    files = [one_line(file.name) or "unnamed" for file in turn.attachments]
    calls = Counter(one_line(tool) or "unnamed" for tool in turn.tools)
    tools = [name if count == 1 else f"{name} ({count})" for name, count in calls.items()]
    for what, names in (("Attachments", files), ("Tools", tools)):
        if names:
            more = f", and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
            yield f"*{what}: {', '.join(names[:_NAMES_SHOWN])}{more}*"


def read_messages(bodies: Iterable[str]) -> list[Message]:
    """Return the turns of parts, in their order; text before a part's first heading is left out."""
    found: list[Message] = []
    for body in bodies:
        headings = list(_HEADING.finditer(body))
        ends = [*(heading.start() for heading in headings[1:]), len(body)]
        for heading, end in zip(headings, ends, strict=False):  # a body without a heading has an end too
            message = _message(heading, body[heading.end() : end])
            if heading[4] and found and found[-1].number == message.number:
                last = found.pop()
                joined = last.text + ("" if heading[5] else "\n") + message.text
                message = replace(last, text=joined, beside=(*last.beside, *message.beside))
            found.append(message)
    return found


def united_turns(bodies: Iterable[str]) -> str:
    """Return the turns of all texts of one part: of one that has grown the longer, of an edited one both.

    Turns of one number and time are one message. Without a time it is one where a text begins with the other.
    """
    turns: dict[tuple[int, str, str], set[str]] = defaultdict(set)
    for body in bodies:
        for key, text in _blocks(body):
            turns[key].add(text)
    kept = [
        (key, text)
        for key, texts in turns.items()
        for text in texts
        if not any(
            other.startswith(text) or (key[1] and (len(other), other) > (len(text), text))
            for other in texts - {text}
        )
    ]
    return "\n\n".join(text for _, text in sorted(kept))


def _blocks(body: str) -> Iterator[tuple[tuple[int, str, str], str]]:
    """Yield each turn as it is written, with its number, time and speaker."""
    heads = list(_HEADING.finditer(body))
    opens = [
        h for n, h in enumerate(heads) if not (n and h[4] and h.group(1, 2, 3) == heads[n - 1].group(1, 2, 3))
    ]
    if before := body[: opens[0].start() if opens else None].strip("\n"):
        yield (0, "", ""), before
    for head, end in zip(opens, [*(h.start() for h in opens[1:]), len(body)], strict=False):
        yield (int(head[1]), head[3] or head[4] or "", head[2]), body[head.start() : end].rstrip("\n")


def _message(heading: re.Match[str], text: str) -> Message:
    try:
        time = parse_instant(heading[3]) if heading[3] else None
    except ValueError:
        time = None
    beside = tuple(match[0] for match in _BESIDE.finditer(text))
    content = _BESIDE.sub("", text).rstrip("\n")
    content = content.removeprefix("\n\n") if heading[4] else content.lstrip("\n")
    return Message(
        number=int(heading[1]),
        speaker=Speaker(heading[2].lower()),
        time=time,
        text=_ESCAPED.sub(r"\1", content),
        beside=beside,
    )
