"""A block of ours between two marks in a file of somebody else's; every byte outside the marks stays.

The first mark holds the hash of the block, so a block is recognised where its end was lost. Marks in fenced
code are text. Laws: what is put is found again, putting it twice changes nothing, and what is not ours comes
out as it went in.
"""

from __future__ import annotations

import hashlib
import re

from forgekit.errors import FormatError

_BEGIN = re.compile(r"<!-- forgekit:begin v1 sha256=([0-9a-f]{64}) -->")
_OPENS = re.compile(r"<!--\s*forgekit:begin\b.*")
_END = "<!-- forgekit:end -->"
_FENCE = re.compile(r"(?:(?:[-*+]|\d{1,3}[.)])\s+)?(`{3,}(?!.*`)|~{3,})")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def put(text: str, block: str) -> str:
    """Return a text with the block in the place of the one it holds, at its end where it holds none.

    Args:
        text: of a file; its line ends are used for the block too.
        block: lines, each with its end, LF; "" takes out what there is.

    Raises FormatError, with the line, for a mark or a fence that begins something that has no end.
    """
    lines = _LINE.findall(text)
    found = _blocks(lines)
    ending = "\r\n" if lines and lines[0].endswith(("\r\n", "\r")) else "\n"
    hashed = hashlib.sha256(block.encode()).hexdigest()
    new = (
        f"<!-- forgekit:begin v1 sha256={hashed} -->\n{block}{_END}\n".replace("\n", ending) if block else ""
    )
    if not found:
        lack = ending if new and text and not text.endswith("\n") else ""
        return text + lack + new
    place = next((first for first, _, whole in found if whole), None)
    out: list[str] = []
    at = 0
    for first, last, _ in found:
        out += [*lines[at:first], new if first == place else ""]
        at = last
    kept = "".join([*out, *lines[at:]])
    return kept if place is not None else put(kept, block)


def edited(text: str) -> list[str]:
    """Return the lines of the blocks that somebody changed since they were put; errors as of `put`."""
    lines = _LINE.findall(text)
    found: list[str] = []
    for first, last, whole in _blocks(lines):
        own = [line for line in lines[first + whole : last] if line.strip() != _END]
        begin = _BEGIN.fullmatch(lines[first].strip())
        plain = "".join(own).replace("\r\n", "\n").encode("utf-8", "surrogateescape")
        if begin is None or hashlib.sha256(plain).hexdigest() != begin[1]:
            found += own
    return found


def _blocks(lines: list[str]) -> list[tuple[int, int, bool]]:
    """Return our stretches of lines, each first, one past the last, and whether it has a beginning."""
    found = []
    fence, opened, at = "", 0, 0
    while at < len(lines):
        line = lines[at].strip()
        if fence:
            fence = "" if line.startswith(fence) and not line.strip(fence[0]) else fence
        elif match := _FENCE.match(line):
            fence, opened = match[1], at + 1
        elif _OPENS.fullmatch(line):
            last = _end(lines, at)
            found.append((at, last, True))
            at = last
            continue
        elif line == _END:
            found.append((at, at + 1, False))
        at += 1
    if fence:
        raise FormatError("this code fence is never closed; close it, then run this again", line=opened)
    return found


def _end(lines: list[str], first: int) -> int:
    """Return the line after a block, by its hash, else by its mark."""
    begin = _BEGIN.fullmatch(lines[first].strip())
    running = hashlib.sha256()
    for at in range(first + 1, len(lines) + 1):
        if begin and running.hexdigest() == begin[1]:
            return at + (at < len(lines) and lines[at].strip() == _END)
        line = lines[at].strip() if at < len(lines) else _END
        if line == _END and at < len(lines):
            return at + 1
        if at == len(lines) or _OPENS.fullmatch(line):
            break
        running.update(lines[at].replace("\r\n", "\n").encode("utf-8", "surrogateescape"))
    message = (
        "this mark of forgekit has no end, and the text below it was edited; delete the mark and what is old"
    )
    raise FormatError(message, line=first + 1)
