"""Conversations in text, with a label before each turn: pasted ones, and the histories of SpecStory.

In a pasted conversation a **label** names the speaker on a line of its own, as a heading (`## User`) or in
bold (`**User:**`), or opens a line (`User: ...`). Of the three kinds the first one that labels both speakers
counts and no other, and no label inside a code fence does. Behind a bold or plain label the turn's text may
begin on its line. Where only the assistant is known by its label, who takes turns with it is the user.
Where neither is, people may talk to each other: bold or plain names open most paragraphs, two of them more
than once, and sentences stand behind them. All of them are users, and each turn keeps its name.

A history of SpecStory names its session in a comment, and each label opens a turn, whatever is below it:

    <!-- Claude Code Session 066e1e40-... (2026-01-12 15:08:38Z) -->
    _**User (2026-01-12 15:08:38Z)**_
    _**Agent (model 2026-01-12 15:08:42Z)**_

Its tool calls are `<tool-use>` blocks, in older files `<details>` below `Tool use: **name**`. Thinking is
left out; where nothing closes it, it counts as text. A tool's output may quote such a history, so a block
ends at the last line of the turn that closes one. What the agent's program wrote in the user's place is a
tool call named `command`, with no text beside it. A turn below a label that says more is left out, with a
warning.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from forgekit.archives.labels import field_named, lists_kind
from forgekit.errors import FormatError
from forgekit.model.problem import Problem, Severity, warning
from forgekit.model.transcript import ImportedConversation, Speaker, Turn
from forgekit.transcripts.sources import READ_ERRORS
from forgekit.transcripts.turns import conversation_of
from forgekit.transcripts.values import from_the_program, instant_of, line_of, text_of

LONGEST_TEXT = 32 * 1024 * 1024

# Words that programs and people label turns with, in the languages of the archives' labels.
_USER = (
    "user|human|you|me|ich|benutzer|nutzer|mensch|moi|utilisateur|yo|usuario|eu|usu\u00e1rio|io|utente|ik|gebruiker"
    "|\u30e6\u30fc\u30b6\u30fc|\u79c1|\u7528\u6237|\u6211|\uc0ac\uc6a9\uc790"
)
_ASSISTANT = (
    r"assistant|ai|agent|bot|model|claude|chatgpt|gpt[-.\w]{0,20}|gemini|copilot|assistente?|asistente|ki|ia"
    "|\u30a2\u30b7\u30b9\u30bf\u30f3\u30c8|\u52a9\u624b|\uc5b4\uc2dc\uc2a4\ud134\ud2b8"
)
_NAME = re.compile(
    r"(?:#{1,6}\s{1,4})?(?:\[[^\[\]]{1,40}\]\s)?(?:\*\*|__)?(?P<name>[^\W\d_][\w.' -]{0,30}?)"
    r"(?:\s?\([^()]{1,60}\))?(?:\s?[:\uff1a]|\*\*|__|$)"
)
"""What may be somebody's name in the place of a label."""


@lru_cache(maxsize=64)
def _styles(name: str = "") -> tuple[re.Pattern[str], ...]:
    """Return the three kinds of labels, in which a person's name may stand for the user."""
    user = f"{_USER}|{re.escape(name)}" if name else _USER
    who = rf"(?:(?P<user>{user})|(?P<assistant>{_ASSISTANT}))(?:\ssaid)?"
    when = r"(?:\s?\((?P<when>[^()]{1,60})\))?"
    colon = "\\s?[:\uff1a]"
    return (
        re.compile(rf"#{{1,6}}\s{{1,4}}(?:\*\*)?{who}{when}:?(?:\*\*)?:?\s*(?P<rest>)", re.IGNORECASE),
        re.compile(
            rf"(?:\*\*|__){who}{when}(?:{colon}(?:\*\*|__)|(?:\*\*|__)(?:\s?\([^()]{{1,60}}\))?:?)(?P<rest>.*)",
            re.IGNORECASE,
        ),
        re.compile(rf"(?:\[[^\[\]]{{1,40}}\]\s)?{who}{when}{colon}(?P<rest>.*)", re.IGNORECASE),
    )


_PERSON = r"(?P<user>[^\W\d_][\w.'\u2019-]{1,29}(?: [\w.'\u2019-]{1,30}){0,2})"
_PEOPLE = (
    re.compile(rf"(?:\*\*|__){_PERSON}(?:[:\uff1a](?:\*\*|__)|(?:\*\*|__)[:\uff1a])(?P<when>)(?P<rest>.*)"),
    re.compile(rf"{_PERSON}[:\uff1a](?P<when>)(?P<rest>(?:\s.*)?)"),
)
"""Labels of people, in bold or plain."""
_FEWEST = 4
"""Paragraphs from which on names in front of them show a conversation."""
_JSON = re.compile(rb"\s*[\[{]\s*[\[\]{}\"]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_SESSION = re.compile(r"<!-- [^<>]{1,60} Session ([\w-]{1,100}) \(([^()]{1,40})\) -->")
_LABEL = re.compile(r"_\*\*(?:(User)|Agent|Assistant)( - sidechain)?(?: \(([^()]{0,200})\))?\*\*_")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?Z")
_OTHER_LABEL = re.compile(
    rf"_\*\*(?:(?:User|Agent|Assistant) - [^*]{{1,60}}|[^*]{{1,200}}{_TIME.pattern}[^*]{{0,200}})\*\*_"
)
"""A line that is written as a label, and says more than one does."""
_TOOL = re.compile(r'<tool-use [^<>]{0,200}data-tool-name="([^"<>]{0,200})"')
_OLD_TOOL = re.compile(r"Tool use: \*\*([^*]{1,200})\*\*")
_CLOSES = ("</details></tool-use>", "</tool-use>")

Label = tuple[int, re.Match[str]]
"""The place of a line, and the match of the label in it."""


def looks_like_markdown(head: bytes) -> bool:
    """Say whether both a user and an assistant are labelled in the first bytes of a file."""
    if _JSON.match(head):
        return False
    found = _labels(head.decode("utf-8", "replace").split("\n"))
    return _names_both(found) or _of_people(found)


def looks_like_specstory(head: bytes) -> bool:
    """Say whether the first bytes of a file open a SpecStory history."""
    return not head.startswith((b"[", b"{")) and b"<!-- Generated by SpecStory" in head[:4096]


def read_markdown(stream: io.BufferedReader) -> Iterator[ImportedConversation | Problem]:
    """Read a pasted conversation: one a file, without an id of its own.

    Raises FormatError where no turn is labelled.
    """
    lines = lines_of(stream)
    labels = _labels(lines)
    if not labels:
        raise FormatError("no line names a speaker; put `## User` and `## Assistant` above the turns")
    before = [line for line in lines[: labels[0][0]] if line.strip()]
    title = before.pop(0) if before and before[0].startswith("# ") else ""
    if before:
        message = f"lines before the first turn were left out: {len(before)}"
        yield Problem(code="before-first-turn", message=message, severity=Severity.INFO)
    turns: list[Turn] = []
    for place, label, below in _sections(lines, labels):
        text = _trimmed([label["rest"].strip(), *below])
        if text.strip():
            text = f"{label['user']}: {text}" if _of_people(labels) else text
            speaker = Speaker.USER if label["user"] else Speaker.ASSISTANT
            time = instant_of(label["when"])
            turns.append(Turn(number=len(turns) + 1, speaker=speaker, time=time, text=text, line=place + 1))
    yield conversation_of("markdown", turns, title=line_of(title.lstrip("#")))


def read_specstory(stream: io.BufferedReader) -> Iterator[ImportedConversation | Problem]:
    """Read one history: one conversation.

    Raises FormatError where no turn is labelled.
    """
    lines = lines_of(stream)
    labels = list(_story_labels(lines))
    others = [(place, label[0]) for place, label in labels if label.re is _OTHER_LABEL]
    if len(others) == len(labels):
        raise FormatError("no line of this SpecStory history names a speaker")
    head = lines[: labels[0][0]]
    session = next((found for line in head if (found := _SESSION.fullmatch(line.strip()))), None)
    heading = next((line for line in head if line.startswith("# ")), "")
    turns: list[Turn] = []
    for place, label, below in _sections(lines, labels):
        if label.re is _LABEL and not label[2]:
            turns.append(_story_turn(label, below, len(turns) + 1, place + 1))
    if others:
        (place, first), number = others[0], len(others)
        message = f"turns left out whose labels are not known: {number}; the first is {line_of(first)}"
        yield warning("unknown-label", message, place + 1)
    yield conversation_of(
        "specstory",
        turns,
        instant_of(session[2]) if session else None,
        external_id=session[1] if session else "",
        title=line_of(_TIME.sub("", heading[2:]).replace("()", "")),
        branches_left=len(labels) - len(turns) - len(others),
    )


def lines_of(stream: io.BufferedReader) -> list[str]:
    """Return the lines of a file; bytes that are no UTF-8 become U+FFFD.

    Raises FormatError for more than 32 MB, and for what cannot be read.
    """
    try:
        content = stream.read(LONGEST_TEXT + 1)
    except READ_ERRORS as e:
        raise FormatError(f"cannot be read: {e}") from e
    if len(content) > LONGEST_TEXT:
        raise FormatError("this text is longer than 32 MB; give one conversation a file")
    return text_of(content.decode("utf-8-sig", "replace")).replace("\r\n", "\n").split("\n")


def _sections(lines: list[str], labels: Sequence[Label]) -> Iterator[tuple[int, re.Match[str], list[str]]]:
    """Yield the place and the match of each label, and the lines below it."""
    ends = [*(place for place, _ in labels[1:]), len(lines)]
    for (place, label), end in zip(labels, ends, strict=True):
        yield place, label, lines[place + 1 : end]


def _trimmed(lines: list[str]) -> str:
    """Return lines as a text, without the empty ones and the rules around it."""
    filled = [place for place, line in enumerate(lines) if line.strip() not in {"", "---"}]
    return "\n".join(lines[filled[0] : filled[-1] + 1]) if filled else ""


def _labels(lines: list[str]) -> list[Label]:
    """Return the labels of the first kind that labels both speakers, else of the first that labels any.

    Where only the assistant is labelled, whoever takes turns with it is the user.
    """
    by_style = [_labels_of(style, lines) for style in _styles()]
    both = [found for found in by_style if _names_both(found)]
    if not both and (found := next(filter(None, by_style), [])) and found[0][1]["user"] is None:
        style = _styles(_other(lines, found))[by_style.index(found)]
        both = [named for named in (_labels_of(style, lines),) if _names_both(named)]
    people = [] if both else [_labels_of_people(style, lines) for style in _PEOPLE]
    return next((found for found in (*both, *people, *by_style) if found), [])


def _labels_of_people(style: re.Pattern[str], lines: list[str]) -> list[Label]:
    """Return the labels of people who talk to each other, [] where that is not certain."""
    found = [(place, label) for place, label in _labels_of(style, lines) if _is_name(label["user"])]
    if not found:
        return []
    recurring = [name for name, count in Counter(label["user"] for _, label in found).items() if count > 1]
    places = {place for place, _ in found}
    filled = [place for place, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    opened = [place for place in filled if place == 0 or not lines[place - 1].strip()]
    ends = [
        _trimmed([label["rest"], *below]).rstrip("*_\"')\u201d")
        for _, label, below in _sections(lines, found)
    ]
    most = any(
        len(some) >= _FEWEST and 2 * len(places.intersection(some)) > len(some) for some in (filled, opened)
    )
    spoken = 2 * sum(text.endswith((".", "!", "?", "\u2026", "\u3002")) for text in ends) > len(ends)
    return found if len(recurring) > 1 and most and spoken else []


def _is_name(label: str) -> bool:
    """Say whether a label may be a person's name: it names no list or field of a record."""
    known = any(lists_kind(label, kind) or field_named(label, kind) for kind in ("D", "T"))
    return not (label[0].islower() or known)


def _of_people(labels: Sequence[Label]) -> bool:
    return bool(labels) and labels[0][1].re in _PEOPLE


def _names_both(found: Sequence[Label]) -> bool:
    return len({label["user"] is None for _, label in found}) == 2


def _other(lines: list[str], assistant: Sequence[Label]) -> str:
    """Return the name that labels lines between the turns of the assistant's, or most of them; else ""."""
    places = [place for place, _ in assistant]
    before: Counter[str] = Counter()
    for first, last in pairwise((-1, *places, len(lines))):
        between = (_NAME.match(line.rstrip()) for line in lines[first + 1 : last])
        before.update({name["name"].strip() for name in between if name})
    name, count = max(before.items(), key=lambda item: item[1], default=("", 0))
    return name if count >= max(2, len(places) - 1) else ""


def _labels_of(style: re.Pattern[str], lines: list[str]) -> list[Label]:
    found = []
    fence = ""
    for place, line in enumerate(lines):
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif not fence and (label := style.fullmatch(line.rstrip())):
            found.append((place, label))
    return found


def _story_labels(lines: list[str]) -> Iterator[Label]:
    """Yield the labels of a history outside of tools' output."""
    last_close = max((place for place, line in enumerate(lines) if line.strip() in _CLOSES), default=-1)
    inside = False
    for place, line in enumerate(lines):
        if line.startswith("<tool-use ") and place <= last_close:
            inside = True
        if line.strip() in _CLOSES:
            inside = False
        elif not inside and (
            label := _LABEL.fullmatch(line.rstrip()) or _OTHER_LABEL.fullmatch(line.rstrip())
        ):
            yield place, label


def _story_turn(label: re.Match[str], lines: list[str], number: int, line: int) -> Turn:
    user = label[1] is not None
    time = _TIME.search(label[3] or "")
    text, tools = (_trimmed(lines), []) if user else _without_tools(lines)
    if user and from_the_program(text):
        text, tools = "", ["command"]
    return Turn(
        number=number,
        speaker=Speaker.USER if user else Speaker.ASSISTANT,
        time=instant_of(time[0]) if time else None,
        text=text,
        tools=tuple(tools),
        line=line,
    )


def _without_tools(lines: list[str]) -> tuple[str, list[str]]:
    """Take thinking and tool calls out of an assistant's turn."""
    kept: list[str] = []
    tools: list[str] = []
    place = 0
    thought = max((at for at, line in enumerate(lines) if "</think>" in line), default=-1)
    while place < len(lines):
        line = lines[place]
        if line.startswith("<think>") and place <= thought:
            place = _after(lines, place, "</think>")
        elif tool := _TOOL.match(line):
            tools.append(line_of(tool[1]))
            place = _tool_end(lines, place)
        elif tool := _OLD_TOOL.fullmatch(line.strip()):
            below = next((lines[at] for at in range(place + 1, len(lines)) if lines[at].strip()), "")
            output = below.lstrip().startswith("<details")
            tools.append(line_of(tool[1]))
            place = _after(lines, place, "</details>") if output else place + 1
        else:
            kept.append(line)
            place += 1
    return _trimmed(kept), tools


def _after(lines: list[str], start: int, mark: str) -> int:
    """Return the place after the line that closes a block; a block that nothing closes goes to the end."""
    return next((place + 1 for place in range(start, len(lines)) if mark in lines[place]), len(lines))


def _tool_end(lines: list[str], start: int) -> int:
    """Return the place after the last line that closes a block before the next one opens, else the end."""
    following = (place for place in range(start + 1, len(lines)) if lines[place].startswith("<tool-use "))
    stop = next(following, len(lines))
    closes = (place + 1 for place in range(stop - 1, start, -1) if lines[place].strip() in _CLOSES)
    return next(closes, stop)
