"""What a cue is: one way in which people say that something is decided, open or done.

A cue is a pattern, searched in one statement, anywhere or at its beginning. Its `triggers` are words of which
one must stand in the statement before the pattern is tried at all: that is what makes reading fast. What
repeats in a pattern is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from forgekit.model.transcript import Speaker
from forgekit.policy.extraction.find import FindKind

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
