"""Conversations pasted as text, with a label before each turn.

A **label** names the speaker on a line of its own, as a heading (`## User`) or in bold (`**User:**`), or
opens a line (`User: ...`). Of the three kinds the first one that labels both speakers counts and no other,
and no label inside a code fence does. Behind a bold or plain label the turn's text may begin on its line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from forgekit.errors import FormatError
from forgekit.model.problem import Problem, Severity
from forgekit.model.transcript import ImportedConversation, Speaker
from forgekit.transcripts.fields import instant_of, line_of, problem, text_of
from forgekit.transcripts.sources import READ_ERRORS
from forgekit.transcripts.turns import TurnBuilder

LONGEST_TEXT = 32 * 1024 * 1024

_USER = r"user|human|you|me"
_ASSISTANT = r"assistant|ai|agent|bot|model|claude|chatgpt|gpt[-.\w]{0,20}|gemini|copilot"
_WHO = rf"(?:(?P<user>{_USER})|(?P<assistant>{_ASSISTANT}))(?:\ssaid)?"
_WHEN = r"(?:\s?\((?P<when>[^()]{1,60})\))?"
_STYLES = (
    re.compile(rf"#{{1,6}}\s{{1,4}}(?:\*\*)?{_WHO}{_WHEN}:?(?:\*\*)?:?\s*(?P<rest>)", re.IGNORECASE),
    re.compile(rf"(?:\*\*|__){_WHO}{_WHEN}(?::(?:\*\*|__)|(?:\*\*|__):?)(?P<rest>.*)", re.IGNORECASE),
    re.compile(rf"{_WHO}{_WHEN}:(?P<rest>.*)", re.IGNORECASE),
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def read_markdown(stream: io.BufferedReader) -> Iterator[ImportedConversation | Problem]:
    """Read a pasted conversation: one a file, without an id of its own.

    Raises FormatError where no turn is labelled.
    """
    lines = read_text(stream).split("\n")
    builder = TurnBuilder()
    labels = _labels(lines)
    if not labels:
        raise FormatError("no line names a speaker; put `## User` and `## Assistant` above the turns")
    before = [line for line in lines[: labels[0][0]] if line.strip()]
    title = before.pop(0) if before and before[0].startswith("# ") else ""
    if before:
        message = f"lines before the first turn were left out: {len(before)}"
        yield problem("before-first-turn", message, severity=Severity.INFO)
    ends = [place for place, _ in labels[1:]] + [len(lines)]
    for (place, label), end in zip(labels, ends, strict=True):
        text = "\n".join((label["rest"].strip(), *lines[place + 1 : end]))
        speaker = Speaker.USER if label["user"] else Speaker.ASSISTANT
        builder.add(speaker, trimmed(text), time=instant_of(label["when"]), line=place + 1)
    turns = builder.turns()
    yield ImportedConversation(
        source="markdown",
        external_id="",
        title=line_of(title.lstrip("#")),
        project="",
        folder="",
        started=turns[0].time if turns else None,
        turns=turns,
    )


def looks_like_markdown(head: bytes) -> bool:
    """Say whether both a user and an assistant are labelled in the first bytes of a file."""
    if head.startswith((b"[", b"{")):
        return False
    lines = head.decode("utf-8", "replace").split("\n")
    found = [label["user"] is not None for _, label in _labels(lines)]
    return any(found) and not all(found)


def read_text(stream: io.BufferedReader) -> str:
    """Return a whole file as text; bytes that are no UTF-8 become U+FFFD.

    Raises FormatError for more than 32 MB, and for what cannot be read.
    """
    try:
        content = stream.read(LONGEST_TEXT + 1)
    except READ_ERRORS as e:
        raise FormatError(f"cannot be read: {e}") from e
    if len(content) > LONGEST_TEXT:
        raise FormatError("this text is longer than 32 MB; give one conversation a file")
    return text_of(content.decode("utf-8-sig", "replace")).replace("\r\n", "\n")


def trimmed(text: str) -> str:
    """Return a text without the empty lines and rules around it."""
    lines = text.split("\n")
    start, end = 0, len(lines)
    while start < end and lines[start].strip() in {"", "---"}:
        start += 1
    while end > start and lines[end - 1].strip() in {"", "---"}:
        end -= 1
    return "\n".join(lines[start:end])


def _labels(lines: list[str]) -> list[tuple[int, re.Match[str]]]:
    """Return the place and the match of each label, of the first kind that labels both speakers, or any."""
    by_style = [_labels_of(style, lines) for style in _STYLES]
    both = [found for found in by_style if len({label["user"] is None for _, label in found}) == 2]
    return next((found for found in (*both, *by_style) if found), [])


def _labels_of(style: re.Pattern[str], lines: list[str]) -> list[tuple[int, re.Match[str]]]:
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
