"""What happens in a coding agent's session, as its transcript records it: the input of this room."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class EventKind(Enum):
    """What happened."""

    PROMPT = "prompt"  # a person typed `text`
    REPLY = "reply"  # the assistant wrote `text`
    CALL = "call"  # the assistant called tool `name`; `text` is its key input, `path` a file
    RESULT = "result"  # of the call `id`; `failed`, with an excerpt of the failure that it reports
    TASK = "task"  # task `id` is in state `name`; `text` is its subject, "" where that is unchanged
    TASKS = "tasks"  # the tasks that follow replace all others of the list
    USAGE = "usage"  # the context had `tokens` when model `name` answered with message `id`
    BOUNDARY = "boundary"  # a compaction, `auto` or `manual`, at `tokens`
    SUMMARY = "summary"  # what the compaction made of the context


class Event(NamedTuple):
    """One thing that happened.

    Attributes:
        turn: number of the person's prompt before it, from 1; 0 before the first.
        own: of a prompt, the words that are its user's.
        id: of the record, the call, the task or the message.
        path: of the file that a call is about; "" for none.
        change: what a call does where it succeeds: `read`, `edited` or `created` a file, `ran` a command.
        failed: whether a result is an error.
        tokens: in the context.
    """

    kind: EventKind
    turn: int = 0
    id: str = ""
    name: str = ""
    text: str = ""
    own: str = ""
    path: str = ""
    change: str = ""
    failed: bool = False
    tokens: int = 0
