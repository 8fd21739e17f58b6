"""Recaps: several decisions named in one sentence, as in `So far: storage is X, ids are Y`."""

from __future__ import annotations

import re

from forgekit.policy.extraction.find import FindKind
from forgekit.policy.extraction.own_words import Unit
from forgekit.policy.extraction.stating import Stated

_RECAP = re.compile(
    r"(?:ok(?:ay)?,? )?(?:so far|to recap|recap|to sum(?:mari[sz]e| up)|(?:agreed|settled|decided"
    r"|decisions)(?: so far| today)?|what we have(?: so far)?|where we are|we(?:'ve| have) (?:agreed|settled"
    r"|decided)|bisher(?: entschieden)?|jusqu'ici|hasta ahora)(?: we have| is)? ?(?:: |, (?=\w+ (?:is"
    r"|are)\b))",
    re.IGNORECASE,
)
_SURE = re.compile(r"agreed|settled|decided|decisions", re.IGNORECASE)
_CUT = re.compile(r", (?:and )?|,? and (?=\w+ (?:is|are|goes?|lives?|runs?|stays?|uses?)\b)")
_STATES = re.compile(
    r"(?:\w[\w'/-]* ){1,5}?(?:is|are|stays?|remains?|runs?|uses?|goes|go|lives?|keeps?|costs?|starts?|ends?"
    r"|happens?|will|gets?|comes?|ist|sind|bleibt|est|sont|es|son) \S",
    re.IGNORECASE,
)


def recapped(unit: Unit, *, confirmed: bool) -> list[Stated]:
    """Return the decisions that a recap lists, two at least; none where the other objects."""
    match = _RECAP.match(unit.text)
    if match is None or unit.asks or not (confirmed or _SURE.search(match.group())):
        return []
    parts: list[tuple[int, int]] = []
    place = match.end()
    for cut in [*_CUT.finditer(unit.text, place), None]:
        end = cut.start() if cut else len(unit.text.rstrip("."))
        parts.append((place, end))
        place = cut.end() if cut else end
    found = [(start, end) for start, end in parts if _STATES.match(unit.text, start, end)]
    if len(found) < 2:
        return []
    return [
        Stated(
            kind=FindKind.DECISION,
            start=start,
            end=end,
            begin=start,
            confidence=0.7,
            why="an item of a recap",
        )
        for start, end in found
    ]
