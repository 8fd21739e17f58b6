r"""Rules that several entities share, and the sections of their Markdown bodies.

A body has sections: `## Rationale`, `## Resolution`, and the text before them. Every line that begins with
`## ` opens one, inside a code block too: a fence that nobody closed must not hide the sections after it. So a
text put under a heading must open none of its own, nor look like a merge conflict: such lines are written
with a leading backslash, and read back without it.

Laws, for a text t that `clean` leaves alone and that has a visible character:

    section(with_section(body, name, t), name) == t
    with_section changes no byte of another section
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from forgekit.errors import RuleError
from forgekit.ids import normalise
from forgekit.model.kinds import Kind
from forgekit.times import Instant, format_date

EARLIER = "Earlier resolutions"
"""The section that keeps how a thread ended before it was reopened."""

# C0 and C1 controls, and the separators that editors and YAML disagree on (U+0085, U+2028, U+2029).
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]"


def require_line(name: str, *values: str | None) -> None:
    """Raise RuleError unless each value is one line of printable text."""
    for value in values:
        if value is None or (value.isprintable() and value.strip()):  # as most, and no control is printable
            continue
        if not value.strip() or re.search(_CONTROL, value):
            raise RuleError(f"{name}: {value[:60]!r} must be one line of text")


def one_line(text: str) -> str:
    """Return text folded to one printable line; controls become blanks."""
    return " ".join(re.sub(_CONTROL, " ", text).split())


STATEMENT_LIMIT = 2_000
"""Characters of a decision's text or a thread's title; more would not fit a front matter."""


def statement(text: str, limit: int = STATEMENT_LIMIT) -> str:
    """Return pasted text as the one line that a decision or a title is: normalised, bounded."""
    line = normalise(one_line(text[: 4 * limit]))
    return line if len(line) <= limit else normalise(line[: limit - 1]) + "…"


MOST_TURNS = 10_000_000


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
_SURROGATE = "[\ud800-\udfff]"


def require_body(body: str) -> None:
    """Raise RuleError unless the body can be written to a file and read back."""
    if MERGE_MARKER.search(body):
        raise RuleError("body: holds a merge-conflict marker")
    if re.search(_SURROGATE, body):
        raise RuleError("body: holds half of a surrogate pair, which no file can")
    if "\r" in body or "\x00" in body or body != body.strip("\n"):
        raise RuleError("body: uses LF and has no blank lines at either end")


def require_values(entity: Any) -> None:
    """Raise RuleError unless each value is one that its field may have, and the body can be written.

    Texts are one line, maps have each key once, numbers are in their range, and what goes with some states of
    an entity is in no other. The body of an archive is kept as it was pasted.
    """
    for name, field in entity.__dataclass_fields__.items():
        value = getattr(entity, name)
        if value is not None and field.metadata:
            most, states = field.metadata["type"].most, field.metadata.get("states", ())
            if most is not None and not 0 <= value <= most:
                raise RuleError(f"{name}: {value} must lie between 0 and {most:,}")
            if states and entity.status not in states:
                words = " or ".join(state.value for state in states)
                raise RuleError(f"{name}: goes with status {words} and no other")
        if name == "body":
            if entity.kind is not Kind.ARCHIVE:
                require_body(value)
        elif isinstance(value, str):
            require_line(name, value)
        elif isinstance(value, tuple) and value and isinstance(value[0], str):
            require_line(name, *value)
        elif isinstance(value, tuple) and value and isinstance(value[0], tuple):
            require_keys(name, value)


_SPECIAL = r"#{1,2}(?:\s|$)|<{7} |>{7} |\|{7} "
_OPENS = re.compile(rf"^(\\*)({_SPECIAL})", re.MULTILINE)
_ESCAPED = re.compile(rf"^\\(\\*(?:{_SPECIAL}))", re.MULTILINE)


UNSETTLED = "Conflicting edits"
"""The section in which a merge keeps what a person has to choose from."""
UNSETTLED_KEY = "conflicting_edits"
"""The front-matter key that does so in a file whose body is a text of somebody."""
_MERGED = rf"##[ \t][^\S\n]*+{UNSETTLED}[^\S\n]*+#*+[^\S\n]*+$|<{{7}} |>{{7}} |\|{{7}} "


def escaped(text: str) -> str:
    """Return a text that is a whole body: a line that looks like a merge's gets a backslash before it."""
    return re.sub(rf"^(\\*)({_MERGED})", r"\\\1\2", text, flags=re.MULTILINE)


def unescaped(body: str) -> str:
    """Return the text that a body was made of by `escaped`."""
    return re.sub(rf"^\\(\\*(?:{_MERGED}))", r"\1", body, flags=re.MULTILINE)


def clean(text: str) -> str:
    """Return text fit for a body: LF, no NUL, no half of a surrogate pair, no blank lines at either end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return re.sub(_SURROGATE, "\ufffd", text).strip("\n")


def _heading(line: str) -> str | None:
    """Return the name in a level-2 heading, without a closing run of `#`; None for any other line."""
    if not line.startswith(("## ", "##\t")):
        return None
    name = line[3:].strip()
    bare = name.rstrip("#")
    return (bare.rstrip() if bare != bare.rstrip() or not bare else name) or None


def parts(body: str) -> list[tuple[str | None, str]]:
    """Return (heading, text with its heading line and line ends) in order, first what precedes any heading.

    The texts joined are the body.
    """
    out: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in re.findall(r"[^\n]*\n|[^\n]+", body):
        name = _heading(line)
        if name is not None:
            out.append((name, []))
        out[-1][1].append(line)
    return [(name, "".join(lines)) for name, lines in out]


_FIELDS = frozenset({"Context", "Quote", "Rationale", "Resolution"})
"""Sections that entities hold as fields."""


def added_sections(body: str, *more: str) -> dict[str, str]:
    """Return the sections that people added and those that a merge left, by heading.

    Args:
        more: headings that hold a field of the entity too.
    """
    known = _FIELDS.union(more)
    names = dict.fromkeys(name for name, _ in parts(body) if name is not None and name not in known)
    return {name: section(body, name) for name in names}


def section(body: str, name: str | None) -> str:
    """Return the text under a level-2 heading, or with None what precedes the first; "" if absent."""
    for heading, text in parts(body):
        if heading == name:
            content = text if name is None else text.partition("\n")[2]
            return _ESCAPED.sub(r"\1", content.strip("\n"))
    return ""


def with_earlier_resolution(body: str, ended: Instant, status: str, resolution: str) -> str:
    """Return a thread's body that keeps how the thread ended before it was reopened."""
    before = f"- {format_date(ended)}, {status}: {one_line(resolution)}"
    return with_section(body, EARLIER, f"{section(body, EARLIER)}\n{before}".strip("\n"))


def with_section(body: str, name: str | None, text: str) -> str:
    """Return the body with one section's text replaced, added at the end, or (text "") removed."""
    cleaned = clean(text)
    if cleaned and section(body, name) == cleaned:
        return body
    new = _OPENS.sub(r"\\\1\2", cleaned)
    pieces = parts(body)
    at = next((i for i, (heading, _) in enumerate(pieces) if heading == name), None)
    if at is None:
        return "\n\n".join(piece for piece in (body, f"## {name}\n\n{new}") if piece) if new else body
    old = pieces[at][1]
    if new and name is not None:
        new = old.partition("\n")[0] + "\n\n" + new
    if new and at + 1 < len(pieces):
        new += old[len(old.rstrip("\n")) :].ljust(2, "\n")
    before, after = ("".join(text for _, text in some) for some in (pieces[:at], pieces[at + 1 :]))
    return (before + new + after).strip("\n")


def near_miss(word: str, known: Iterable[str]) -> str | None:
    """Return the known word closest to this one, or None where none is close.

    Close words have three quarters of their letters in common, in order: `team` is not a slip for `tags`.
    """
    from difflib import get_close_matches

    like = [other for other in known if abs(len(other) - len(word)) <= 2]
    return next(iter(get_close_matches(word, like, 1, 0.75)), None)
