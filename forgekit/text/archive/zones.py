"""Which lines speak for the archive itself.

An archive quotes much that is not its own: the parent's context, other projects' decisions, the
registry's state as it was pasted in, the transcript, examples of commands, code. Ids there are neither
records nor losses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forgekit.model.records import Section
from forgekit.text.archive.lines import Document, fold

_QUOTED = {
    "inherited context snapshot",
    "inherited context",
    "inherited decisions",
    "previous archive",
    "carried decisions",
    "conflicts",
    "cross project context",
    "revalidation required",
    "retrieval protocol",
}
_REGISTRY = {"registry state", "updated context"}
_REGISTRY_END = tuple(f"(end of {title})" for title in _REGISTRY)
INHERITED = {"inherited context snapshot", "inherited context"}
_TRANSCRIPT = {"full transcript", "transcript", "exchange log", "exchanges", "full conversation"}
_AFTER_TRANSCRIPT = {
    "continuation prompt",
    "transcript range markers",
    "decision log",
    "decision index",
    "decisions",
    "decisions made",
    "key decisions",
    "threads",
    "artifacts",
    "artifacts produced",
    "artifact history",
    "chunk index",
    "extracted entities",
    "insights",
    "compression lineage",
    "open threads",
    "active threads",
    "unresolved threads",
    "resolved threads",
    "closed threads",
    *_QUOTED,
    *_REGISTRY,
}
_MARKED = re.compile(r"<!--\s*(/?)\s*forgekit:(registry-state|updated-context)\b")


def own_lines(
    document: Document, blocks: Iterable[tuple[int, int]] = (), *, code: bool = False
) -> list[bool]:
    """Return for each line (0-based) whether it speaks for this archive.

    Args:
        document: the text.
        blocks: first and last line (1-based) of each machine block.
        code: whether code fences count like the lines around them.
    """
    spans = [*blocks, *_quoted(document), *printed(document)]
    spans += [(comment.first_line, comment.last_line) for comment in document.comments]
    if not code:
        spans += [(fence.first_line, fence.last_line) for fence in document.fences]
    return _outside(document, spans)


def _outside(document: Document, spans: Iterable[tuple[int, int]]) -> list[bool]:
    own = [True] * len(document.lines)
    for first, last in spans:
        own[first - 1 : last] = [False] * (min(last, len(own)) - first + 1)
    return own


def printed(document: Document) -> Iterator[tuple[int, int]]:
    """Yield first and last line of transcripts and registry blocks; no machine block counts there."""
    yield from _marked(document)
    reached = 0
    for index, section in enumerate(document.sections):
        if section.heading_line <= reached:
            continue
        key = fold(section.title)
        if key in _TRANSCRIPT:
            reached = _transcript_end(document.sections, index, len(document.lines))
        elif key.partition(":")[0] in _REGISTRY or key.startswith("forge os:"):
            body = range(section.first_line, section.last_line + 1)
            ends = (number for number in body if document.lines[number - 1].startswith(_REGISTRY_END))
            reached = next(ends, section.last_line)
        else:
            continue
        yield section.heading_line, reached


def _quoted(document: Document) -> Iterator[tuple[int, int]]:
    for section in document.sections:
        if fold(section.title) in _QUOTED:
            yield section.heading_line, section.last_line


def _marked(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the blocks between our own marks; one without an end reaches to the next archive heading."""
    opened: int | None = None
    for comment in document.comments:
        match = _MARKED.match(document.lines[comment.first_line - 1].lstrip())
        if match is None:
            continue
        if not match.group(1) and opened is None:
            opened = comment.first_line
        elif match.group(1) and opened is not None:
            yield opened, comment.last_line
            opened = None
    if opened is not None:
        after = (
            s.heading_line - 1 for s in document.sections if s.heading_line > opened and _begins_archive(s)
        )
        yield opened, next(after, len(document.lines))


def _begins_archive(section: Section) -> bool:
    key = fold(section.title)
    return key.startswith("conversation archive") or key in ("continuation prompt", "compression")


def _transcript_end(sections: tuple[Section, ...], index: int, last_line: int) -> int:
    level = sections[index].level
    for section in sections[index + 1 :]:
        if section.level <= level and (fold(section.title) in _AFTER_TRANSCRIPT or _begins_archive(section)):
            return section.heading_line - 1
    return last_line


def inherited_lines(document: Document) -> list[tuple[int, int]]:
    """Return first and last line of the sections that quote the parent's context."""
    return [(s.heading_line, s.last_line) for s in document.sections if fold(s.title) in INHERITED]
