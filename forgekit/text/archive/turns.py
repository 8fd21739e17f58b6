"""Turn ranges: `1-24`, `[25, 41]`, `turns 1 through 24`, `partial (turns 25-41)`."""

from __future__ import annotations

import re

from forgekit.model.lineage import TurnRange

_THOUSANDS = re.compile(r"(\[[^\[\]]*\])|(?<=\d),(?=\d{3}(?!\d))")
_RANGE = re.compile(r"(?<!\d)(\d{1,9})\s{0,3}(?:-|\u2013|\u2014|,|to|through|\.\.)\s{0,3}(\d{1,9})(?!\d)")


def ungrouped(text: str) -> str:
    """Return a text without thousands separators: `1,250` is 1250, `[1,250]` stays a list."""
    return _THOUSANDS.sub(r"\1", text)


def parse_range(text: str) -> TurnRange | None:
    """Return the first range in a text, or None; a range that runs backwards or begins at 0 is none."""
    match = _RANGE.search(ungrouped(text[:500]))
    if match is None:
        return None
    first, last = int(match.group(1)), int(match.group(2))
    return (first, last) if 1 <= first <= last else None
