"""Rows and entries that state what a parent's record was and what it is now, as updates.

In: the labels and values of a table's row, or of an entry in YAML or JSON. Out: the sentence of an update, as
`updates` finds them in prose: `resolved: typed in by hand`, `revised: Pay 15 euro. reason: ...`.
"""

from __future__ import annotations

from collections.abc import Iterable

from forgekit.archives.claims import bare, is_none
from forgekit.archives.labels import change_named, field_named
from forgekit.archives.states import ENDS, first_clause, state_named

_AGAIN = "reinstated"
"""What a record is whose end is taken back, in words of `states`."""
_FEWEST_WORDS = 3
"""Words of what a record says; fewer are a state or a value."""
_WHY_ENDED = {"rationale", "resolution", "context", "content"}
"""Fields whose words may follow an end without their label."""
_GIVEN = ("text", "status")
"""Fields of which a change gives the value alone."""


def is_change(labels: Iterable[str]) -> bool:
    """Say whether labels give what something is now, beside what it was or which field it is."""
    names = {change_named(label) for label in labels}
    return "now" in names and not names.isdisjoint({"before", "field"})


def change_of(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the sentence of a change, by its labels and values; "" where it says nothing.

    A text, or a state that ends, begins the sentence; words under other labels go on with it.
    """
    values = {change_named(label) or label: bare(value) for label, value in pairs if not is_none(value)}
    before, now, field = (values.pop(name, "") for name in ("before", "now", "field"))
    names = {name for kind in "DT" if (name := field_named(field, kind))} if field else set()
    if names and names.isdisjoint(_GIVEN):
        sentence = f"{field}: {now}"
    elif _is_text(now) and (_is_text(before) or "text" in names):
        sentence = f"revised: {now}"
    elif _is_over(before) and not _is_over(now) and any(state_named(now, kind) for kind in "DT"):
        sentence = f"{_AGAIN}: {now}"
    else:
        sentence = now
    ended = _is_over(first_clause(sentence) or sentence)
    for label, value in values.items():
        named = {field_named(label, kind) for kind in "DT"} - {None}
        is_known = bool(named) and not (ended and named & _WHY_ENDED)
        joint = f". {label}: " if is_known else ": " if ended else ". "
        sentence = f"{sentence.rstrip(' .')}{joint}{value}"
    return sentence.strip()


def _is_over(value: str) -> bool:
    return any(state_named(value, kind) in ENDS for kind in "DT")


def _is_text(value: str) -> bool:
    words = value.split()
    return len(words) >= _FEWEST_WORDS and not any(state_named(value, kind) for kind in "DT")
