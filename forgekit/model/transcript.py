"""A conversation as an export or transcript tells it: who said what, when.

It is what every foreign format is read into, one conversation at a time, and it is no entity: the register
keeps the conversation, and of its text what a person asks to keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from forgekit.times import Instant


class Speaker(Enum):
    """Who a turn belongs to."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, kw_only=True, slots=True)
class Attachment:
    """A file that came with a turn; its text where the export carries it, else ""."""

    name: str
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A tool that the assistant called; both texts may be cut, and neither is anybody's own words."""

    name: str
    request: str = ""
    result: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """What one speaker said before the other spoke again.

    Attributes:
        number: 1 for the first; turns are counted as they are shown, whoever speaks.
        time: None where the export does not say.
        text: the speaker's own words, Markdown.
        external_id: the platform's id of its first message, "" if not said.
        line: 1-based line of its first record in a file of lines, else None.
        compaction: the text is no turn of a person's: the program summed up what came before.
    """

    number: int
    speaker: Speaker
    time: Instant | None
    text: str
    attachments: tuple[Attachment, ...] = ()
    tools: tuple[ToolCall, ...] = ()
    external_id: str = ""
    line: int | None = None
    compaction: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Transcript:
    """One conversation, whole: the live branch where the export is a tree.

    Attributes:
        source: the format it was read from, such as `claude-code`.
        external_id: the platform's id of the conversation, "" if it has none.
        title: "" if it has none.
        project: as the export says it, "" if it does not.
        folder: the working folder of an agent's run, "" if there is none.
        started: time of the first turn, or of the conversation; None where nothing says it.
        resumes: the platform's ids of the conversations that it was resumed or forked from.
        branches_left: turns that stand on no live branch and were left out.
        unknown: record and block types that the reader does not know, with their number.
    """

    source: str
    external_id: str
    title: str
    project: str
    folder: str
    started: Instant | None
    turns: tuple[Turn, ...]
    resumes: tuple[str, ...] = ()
    branches_left: int = 0
    unknown: tuple[tuple[str, int], ...] = ()
