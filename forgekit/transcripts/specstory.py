"""SpecStory histories: Markdown with a comment that names the session, and a label above each turn.

    <!-- Claude Code Session 066e1e40-... (2026-01-12 15:08:38Z) -->
    _**User (2026-01-12 15:08:38Z)**_
    _**Agent (model 2026-01-12 15:08:42Z)**_

Each label opens a turn, whatever stands below it, so that turns are counted as the file shows them. Tool
calls stand in `<tool-use>` blocks, in older files in `<details>` below `Tool use: **name**`; thinking is left
out; where nothing closes it, it counts as said. A tool's output may quote such a history, so a block ends at
the last line of the turn that closes one. What the agent's program wrote in the user's place is a tool call
named `command`, with no text beside it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from forgekit.errors import FormatError
from forgekit.model.problem import Problem
from forgekit.model.transcript import ImportedConversation, Speaker, Turn
from forgekit.transcripts.claude_code import from_the_program
from forgekit.transcripts.fields import moment, name
from forgekit.transcripts.markdown import text_of, trimmed

_SESSION = re.compile(r"<!-- [^<>]{1,60} Session ([\w-]{1,100}) \(([^()]{1,40})\) -->")
_LABEL = re.compile(r"_\*\*(?:(User)|Agent|Assistant)(?: - [^()*]{1,60})?(?: \(([^()]{0,200})\))?\*\*_")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?Z")
_TOOL = re.compile(r'<tool-use [^<>]{0,200}data-tool-name="([^"<>]{0,200})"')
_OLD_TOOL = re.compile(r"Tool use: \*\*([^*]{1,200})\*\*")
_CLOSES = ("</details></tool-use>", "</tool-use>")
_SIDE = " - sidechain"


def read_specstory(stream: io.BufferedReader) -> Iterator[ImportedConversation | Problem]:
    """Read one history: one conversation.

    Raises FormatError where no turn is labelled.
    """
    lines = text_of(stream).split("\n")
    labels = list(_labels(lines))
    if not labels:
        raise FormatError("no line of this SpecStory history says who speaks")
    head = lines[: labels[0][0]]
    session = next((found for line in head if (found := _SESSION.fullmatch(line.strip()))), None)
    heading = next((line for line in head if line.startswith("# ")), "")
    ends = [place for place, _ in labels[1:]] + [len(lines)]
    turns: list[Turn] = []
    left_out = 0
    for (place, label), end in zip(labels, ends, strict=True):
        if _SIDE in label[0]:
            left_out += 1
        else:
            turns.append(_turn(label, lines[place + 1 : end], len(turns) + 1, place + 1))
    yield ImportedConversation(
        source="specstory",
        external_id=session[1] if session else "",
        title=name(_TIME.sub("", heading[2:]).replace("()", "")),
        project="",
        folder="",
        started=moment(session[2]) if session else turns[0].time if turns else None,
        turns=tuple(turns),
        branches_left=left_out,
    )


def _labels(lines: list[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the place and the match of each label that stands in no tool's output."""
    closes = [place for place, line in enumerate(lines) if line.strip() in _CLOSES]
    last_close = closes[-1] if closes else -1
    inside = False
    for place, line in enumerate(lines):
        if line.startswith("<tool-use ") and place <= last_close:
            inside = True
        if line.strip() in _CLOSES:
            inside = False
        elif not inside and (label := _LABEL.fullmatch(line.rstrip())):
            yield place, label


def _turn(label: re.Match[str], lines: list[str], number: int, line: int) -> Turn:
    user = label[1] is not None
    time = _TIME.search(label[2] or "")
    text, tools = (trimmed("\n".join(lines)), []) if user else _without_tools(lines)
    if user and from_the_program(text):
        text, tools = "", ["command"]
    return Turn(
        number=number,
        speaker=Speaker.USER if user else Speaker.ASSISTANT,
        time=moment(time[0]) if time else None,
        text=text,
        tools=tuple(tools),
        line=line,
    )


def _without_tools(lines: list[str]) -> tuple[str, list[str]]:
    """Take thinking and tool calls out of an assistant's turn."""
    said: list[str] = []
    tools: list[str] = []
    place = 0
    thought = max((at for at, line in enumerate(lines) if "</think>" in line), default=-1)
    while place < len(lines):
        line = lines[place]
        if line.startswith("<think>") and place <= thought:
            place = _after(lines, place, "</think>")
        elif tool := _TOOL.match(line):
            tools.append(name(tool[1]))
            place = _tool_end(lines, place)
        elif tool := _OLD_TOOL.fullmatch(line.strip()):
            below = next((lines[at] for at in range(place + 1, len(lines)) if lines[at].strip()), "")
            output = below.lstrip().startswith("<details")
            tools.append(name(tool[1]))
            place = _after(lines, place, "</details>") if output else place + 1
        else:
            said.append(line)
            place += 1
    return trimmed("\n".join(said)), tools


def _after(lines: list[str], start: int, mark: str) -> int:
    """Return the place after the line that closes a block; a block that nothing closes goes to the end."""
    return next((place + 1 for place in range(start, len(lines)) if mark in lines[place]), len(lines))


def _tool_end(lines: list[str], start: int) -> int:
    """Return the place after the last line that closes a block before the next one opens, else the end."""
    following = (place for place in range(start + 1, len(lines)) if lines[place].startswith("<tool-use "))
    stop = next(following, len(lines))
    closes = (place + 1 for place in range(stop - 1, start, -1) if lines[place].strip() in _CLOSES)
    return next(closes, stop)
