"""A conversation as an export or transcript holds it: turns with speaker and time.

It is what every foreign format is read into, one conversation at a time, and it is no entity: the register
keeps the conversation, and of its text what a person asks to keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from forgekit.frozen import field, frozen
from forgekit.times import Instant


class Speaker(Enum):
    """Who a turn belongs to."""

    USER = "user"
    ASSISTANT = "assistant"


@frozen(kw_only=True)
class Attachment:
    """A file that came with a turn; its text where the export carries it, else ""."""

    name: str
    text: str = ""


class Correction(NamedTuple):
    """Lines of the assistant that the user changed, or the assistant after what the user wrote; or a command.

    Attributes:
        before: the changed lines as they were.
        after: as they are then.
        written: number of the turn that had written them.
        is_command: a command failed, and another one passed.
    """

    before: str
    after: str
    written: int
    is_command: bool = False


@frozen(kw_only=True)
class Turn:
    """The text of one speaker between two others: a prompt, or one message and the tools called after it.

    Attributes:
        number: 1 for the first; turns are counted as they are shown, whoever speaks. 0 before that.
        time: None where the export does not say.
        text: the speaker's own words, Markdown; "" where the assistant only called tools.
        tools: name of each tool that was called; their output is left out.
        calls: what they were called with: a command line or a path each; never kept.
        corrections: of what was written before, made after this prompt or by a command of this turn; never
            kept.
        line: 1-based line of its first record in a file of lines, else None.
        compaction: a summary that the assistant's program wrote of the turns before.
        aside: the user wrote it while the assistant was at work, so it is no prompt of its own.
    """

    number: int = 0
    speaker: Speaker
    time: Instant | None = None
    text: str
    attachments: tuple[Attachment, ...] = ()
    tools: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = ()
    line: int | None = None
    compaction: bool = False
    aside: bool = False


@frozen(kw_only=True)
class ImportedConversation:
    """One conversation, whole: the live branch where the export is a tree.

    Attributes:
        source: the format it was read from, such as `claude-code`.
        external_id: the platform's id of the conversation, "" if it has none.
        title: "" if it has none.
        project: as the export names it, "" if it does not.
        folder: the working folder of an agent's run, "" if there is none.
        started: time of the first turn, or of the conversation; None where it is unknown.
        resumes: the platform's ids of the conversations that it was resumed or forked from.
        branches_left: messages left out because they are on no live branch or on a side chain.
        compacted: when the context was compacted, by the number of the turn that holds the summary.
        unknown: record and block types that the reader does not know, with their number.
    """

    source: str
    external_id: str
    title: str
    project: str = ""
    folder: str = ""
    started: Instant | None
    turns: tuple[Turn, ...]
    resumes: tuple[str, ...] = ()
    branches_left: int = 0
    compacted: Mapping[int, Instant] = field(default_factory=dict)
    unknown: tuple[tuple[str, int], ...] = ()
