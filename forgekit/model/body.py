r"""Sections of an entity's Markdown body: `## Rationale`, `## Resolution`, and the text before them.

Every line that begins with `## ` opens a section, inside a code block too: a fence that nobody closed
must not hide the sections after it. So a text put under a heading must open none of its own, nor look
like a merge conflict: such lines are written with a leading backslash, and read back without it.

Laws, for a text t that `clean` leaves alone and that has a visible character:

    section(with_section(body, name, t), name) == t
    with_section changes no byte of another section
"""

from __future__ import annotations

import re

from forgekit.model.rules import SURROGATE

_SPECIAL = r"#{1,2}(?:\s|$)|<{7} |>{7} |\|{7} "
_OPENS = re.compile(rf"^(\\*)({_SPECIAL})", re.MULTILINE)
_ESCAPED = re.compile(rf"^\\(\\*(?:{_SPECIAL}))", re.MULTILINE)


def clean(text: str) -> str:
    """Return text fit for a body: LF, no NUL, no half of a surrogate pair, no blank lines at either end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return SURROGATE.sub("\ufffd", text).strip("\n")


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


def section(body: str, name: str | None) -> str:
    """Return the text under a level-2 heading, or with None what precedes the first; "" if absent."""
    for heading, text in parts(body):
        if heading == name:
            content = text if name is None else text.partition("\n")[2]
            return _ESCAPED.sub(r"\1", content.strip("\n"))
    return ""


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
