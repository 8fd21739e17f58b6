"""What a cue is: one way in which people say that something is decided, open or done.

A cue is a pattern, searched in one statement, anywhere or at its beginning. Its `triggers` are words of which
one must stand in the statement before the pattern is tried at all: that is what makes reading fast. What
repeats in a pattern is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from forgekit.model.transcript import Speaker


class FindKind(Enum):
    """What was found."""

    DECISION = "decision"
    THREAD_OPEN = "thread_open"
    THREAD_RESOLVED = "thread_resolved"
    THREAD_BLOCKED = "thread_blocked"
    THREAD_ABANDONED = "thread_abandoned"


@dataclass(frozen=True, kw_only=True, slots=True)
class Find:
    """A candidate, with its place.

    Attributes:
        turn: number of the turn that states it.
        start: index of its first character in that turn's text.
        end: index after its last one.
        text: the turn's text between the two, verbatim.
        title: one clean line: what the decision or thread says.
        rationale: the reason, "" where none stands near.
        alternatives: what was not taken, where the text names it.
        explicit_id: `D001` or `T001`, where the text names it as its own record.
        confidence: 0 to 1; 1 is kept for explicit records.
        why: the rule that found it, in words.
    """

    kind: FindKind
    turn: int
    start: int
    end: int
    text: str
    title: str
    rationale: str = ""
    alternatives: tuple[str, ...] = ()
    explicit_id: str = ""
    confidence: float
    why: str


BOTH = frozenset({Speaker.USER, Speaker.ASSISTANT})
USER = frozenset({Speaker.USER})


@dataclass(frozen=True, kw_only=True, slots=True)
class Cue:
    """One way of saying it.

    Attributes:
        pattern: its group `head`, if it matched, is left out of the title.
        leaves_open: `or` or `if` behind it takes the decision back.
    """

    kind: FindKind
    why: str
    triggers: frozenset[str]
    pattern: re.Pattern[str]
    said_by: frozenset[Speaker]
    confidence: float
    leaves_open: bool = False


def cue(
    kind: FindKind,
    why: str,
    triggers: str,
    pattern: str,
    confidence: float,
    *,
    said_by: frozenset[Speaker] = BOTH,
    leaves_open: bool = False,
) -> Cue:
    """Make a cue; triggers are parted by blanks, case does not count."""
    return Cue(
        kind=kind,
        why=why,
        triggers=frozenset(triggers.split()),
        pattern=re.compile(pattern, re.IGNORECASE),
        said_by=said_by,
        confidence=confidence,
        leaves_open=leaves_open,
    )
