"""Rules that several entities share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from forgekit.errors import RuleError
from forgekit.ids import normalise
from forgekit.model.kinds import Kind

# C0 and C1 controls, and the separators that editors and YAML disagree on (U+0085, U+2028, U+2029).
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")


def require_line(name: str, *values: str | None) -> None:
    """Raise RuleError unless each value is one line of printable text."""
    for value in values:
        if value is not None and (not value.strip() or _CONTROL.search(value)):
            raise RuleError(f"{name}: {value[:60]!r} must be one line of text")


def one_line(text: str) -> str:
    """Return text folded to one printable line; controls become blanks."""
    return " ".join(_CONTROL.sub(" ", text).split())


STATEMENT_LIMIT = 2_000
"""Characters of a decision's text or a thread's title; more would not fit a front matter."""


def statement(text: str, limit: int = STATEMENT_LIMIT) -> str:
    """Return pasted text as the one line that a decision or a title is: normalised, bounded."""
    line = normalise(one_line(text[: 4 * limit]))
    return line if len(line) <= limit else normalise(line[: limit - 1]) + "…"


MOST_TURNS = 10_000_000


def require_between(name: str, number: float | None, most: int) -> None:
    """Raise RuleError unless the number, if there is one, lies between 0 and the greatest."""
    if number is not None and not 0 <= number <= most:
        raise RuleError(f"{name}: {number} must lie between 0 and {most:,}")


def require_keys(name: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Raise RuleError unless (local id or "", id) pairs make a map: each local id once, else each id."""
    seen: set[str] = set()
    for local, entity in pairs:
        require_line(name, local or None)
        if (key := local or entity) in seen:
            raise RuleError(f"{name}: {key!r} stands there twice")
        seen.add(key)


# What git leaves where a merge failed; a file that holds it is never read as an entity.
MERGE_MARKER = re.compile(r"^(?:<{7} |>{7} |\|{7} )", re.MULTILINE)
SURROGATE = re.compile("[\ud800-\udfff]")


def require_body(body: str) -> None:
    """Raise RuleError unless the body can be written to a file and read back."""
    if MERGE_MARKER.search(body):
        raise RuleError("body: holds a merge-conflict marker")
    if SURROGATE.search(body):
        raise RuleError("body: holds half of a surrogate pair, which no file can")
    if "\r" in body or "\x00" in body or body != body.strip("\n"):
        raise RuleError("body: uses LF and has no blank lines at either end")


def require_values(entity: Any) -> None:
    """Raise RuleError unless texts are one line, maps have each key once, and the body can be written.

    The body of an archive is kept as it was pasted.
    """
    for name in entity.__dataclass_fields__:
        value = getattr(entity, name)
        if name == "body":
            if entity.kind is not Kind.ARCHIVE:
                require_body(value)
        elif isinstance(value, str):
            require_line(name, value)
        elif isinstance(value, tuple) and value and isinstance(value[0], str):
            require_line(name, *value)
        elif isinstance(value, tuple) and value and isinstance(value[0], tuple):
            require_keys(name, value)


_LONGEST = 64


def near_miss(word: str, known: Iterable[str]) -> str | None:
    """Return the known word closest to this one, or None where none is close.

    Close is at most two slips (a letter left out, added, changed, or two swapped), and at most one in a
    word of five letters or fewer: `team` is not a slip for `tags`.
    """
    limit = 1 if len(word) < 6 else 2
    if len(word) > _LONGEST:
        return None
    near = sorted((slips(word, other), other) for other in known if abs(len(other) - len(word)) <= limit)
    return near[0][1] if near and near[0][0] <= limit else None


def slips(a: str, b: str) -> int:
    """Count the fewest single slips between two words (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
