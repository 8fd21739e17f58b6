"""A find: a place in a conversation that states a decision, or says how a thread of work stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
