"""Sections of an entity's Markdown body: `## Rationale`, `## Resolution`, and what stands before them.

A text put under a heading must not open a section of its own, so its heading lines of level 1 and 2
are written with a leading backslash, and read back without it.
"""

from __future__ import annotations

import re

_HEADING = re.compile(r"^## +(.+?) *#* *$")
_OPENS = re.compile(r"^(\\*)(#{1,2}(?:\s|$))", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(\\*#{1,2}(?:\s|$))", re.MULTILINE)


def clean(text: str) -> str:
    """Return text fit for a body: LF, no NUL, no blank lines at either end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").strip("\n")


def _split(body: str) -> list[tuple[str | None, list[str]]]:
    parts: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in body.split("\n"):
        match = _HEADING.match(line)
        if match:
            parts.append((match.group(1), []))
        else:
            parts[-1][1].append(line)
    return parts


def section(body: str, name: str | None) -> str:
    """Return the text under a level-2 heading, or with None what precedes the first; "" if absent."""
    for heading, lines in _split(body):
        if heading == name:
            return _ESCAPED.sub(r"\1", "\n".join(lines).strip("\n"))
    return ""


def with_section(body: str, name: str | None, text: str) -> str:
    """Return the body with one section's text replaced, added at the end, or (text "") removed."""
    escaped = _OPENS.sub(r"\\\1\2", clean(text))
    parts = _split(body)
    done = False
    out: list[str] = []
    for heading, lines in parts:
        content = "\n".join(lines).strip("\n")
        if heading == name and not done:
            content, done = escaped, True
            if not content:
                continue
        if heading is None:
            out.extend([content] if content else [])
        else:
            out.append(f"## {heading}\n\n{content}" if content else f"## {heading}")
    if not done and escaped:
        out.append(f"## {name}\n\n{escaped}" if name else escaped)
    return "\n\n".join(out)
