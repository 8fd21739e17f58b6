"""What a conversation was begun from, and what it was compressed to.

Its first messages, and the files that came with them, may hold a pasted **archive**, the block that
`prepare-continuation` printed, or no more than a compression tag. An answer may hold the archive that the
conversation was compressed to. The text around an archive is the speaker's; the archive is a quotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from forgekit.archives.formats.machine import parse_machine_block
from forgekit.archives.read import read_archive
from forgekit.model.archive_record import ArchiveText
from forgekit.model.transcript import Speaker, Turn

FIRST_MESSAGES = 3
"""Messages of the user in which a conversation says what it continues."""
_LOOKED_AT = 900_000
"""Characters of a text in which an archive is looked for; a longer one cannot be filed."""

# Cheap signs, looked for before a text is read as an archive.
_BEGINS = re.compile(
    r"^(?:---\n(?=[^\n]{0,200}\n)"
    r"|#{1,3}[ \t]{1,3}(?:Conversation[ \t]{1,3}Archive|Compression|Continuation[ \t]{1,3}Prompt)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_SIGNS = re.compile(
    r"compression[ _-]?tag|conversation archive|inherited[ _]context"
    r"|forgekit:machine-block|FORGE_OS_MACHINE_BLOCK",
    re.IGNORECASE,
)
# What we print ourselves, and where it ends.
_PRINTED = re.compile(
    r"^(?:## (?:Updated context|Registry state): |<!-- forgekit:machine-block v3$)", re.MULTILINE
)
_PAGE_END = re.compile(
    r"^\(end of (?:updated context|registry state)\)$|(?=^<!-- forgekit:machine-block v3$)", re.MULTILINE
)
_BLOCK_END = re.compile(r"^-->$", re.MULTILINE)
_NAMED = re.compile(
    r"\b(?:compress(?:ion|ed)[ _]{0,2}tag|tag(?:ged)?|archive"
    r"|continu(?:e|es|ed|ing|ation)(?:[ ]{1,2}(?:from|of|with))?"
    r"|inherits?[ _](?:from)?|bridging[ ]from|resum(?:e|es|ing)(?:[ ]{1,2}from)?)"
    r"[\s:=`\"'*(\[]{1,8}([A-Z][A-Z0-9]{1,40}(?:_[A-Z0-9]{1,40}){1,8})(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_TAG = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Quoted:
    """An archive that stands in a turn or in a file that came with it.

    Attributes:
        text: the archive alone.
        read: what it says.
        written: an answer wrote it: it is what this conversation was compressed to.
    """

    turn: Turn
    text: str
    read: ArchiveText
    written: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Recognised:
    """What stands in a conversation besides its own words.

    Attributes:
        archives: that were pasted or written.
        tags: of what it continues, where no whole archive was pasted.
        brought: local ids of the records that were pasted.
        own: the turns without the archives and what forgekit printed, for whoever looks for what was said.
    """

    archives: tuple[Quoted, ...]
    tags: tuple[str, ...]
    brought: tuple[str, ...]
    own: tuple[Turn, ...]


def recognise(turns: Sequence[Turn]) -> Recognised:
    """Find archives, blocks and tags in the turns of a conversation; a compaction is left as it is."""
    archives: list[Quoted] = []
    tags: dict[str, None] = {}
    brought: dict[str, None] = {}
    own: list[Turn] = []
    asked = 0
    for turn in turns:
        asked += turn.speaker is Speaker.USER and not turn.compaction
        first = turn.speaker is Speaker.USER and asked <= FIRST_MESSAGES
        if turn.compaction:
            own.append(turn)
            continue
        rests: list[str] = []
        for text in [turn.text, *(file.text for file in turn.attachments if first)]:
            found = _archive(text) if first or turn.speaker is Speaker.ASSISTANT else None
            if found is not None:
                start, end, read = found
                archives.append(Quoted(turn=turn, text=text[start:end], read=read, written=not first))
                rests.append(_apart(f"{text[:start]}\n{text[end:]}")[0])
                if first:
                    brought.update(dict.fromkeys(_local_ids(read)))
                continue
            rest, printed = _apart(text)
            rests.append(rest)
            if first:
                named, ids = _named(rest, printed)
                tags.update(dict.fromkeys(named))
                brought.update(dict.fromkeys(ids))
        own.append(replace(turn, text=rests[0]))
    return Recognised(archives=tuple(archives), tags=tuple(tags), brought=tuple(brought), own=tuple(own))


def _archive(text: str) -> tuple[int, int, ArchiveText] | None:
    """Return where an archive stands in a text, and what it says; the words after it are not told apart."""
    if len(text) > _LOOKED_AT or not _SIGNS.search(text):
        return None
    begins = _BEGINS.search(text)
    start = begins.start() if begins else 0
    start, end = _fenced(text, start)
    part = text[start:end].strip("\n")
    start = text.index(part, start)
    read = read_archive(part)
    says = read.decisions or read.threads or read.carried
    if not (says and (read.tag or read.session_id) and not read.truncated):
        return None
    return start, start + len(part), read


def _fenced(text: str, start: int) -> tuple[int, int]:
    """Return the ends of what a code fence holds that opens just before a place."""
    line = text.rfind("\n", 0, max(start - 1, 0)) + 1
    opening = re.match(r"(`{3,8}|~{3,8})[A-Za-z]{0,20}[ \t]{0,4}\n", text[line:start])
    if start and opening:
        end = text.find(f"\n{opening[1]}", start)
        return start, end if end >= 0 else len(text)
    return start, len(text)


def _local_ids(read: ArchiveText) -> Iterator[str]:
    yield from (record.local_id for record in (*read.decisions, *read.carried))
    yield from (record.local_id for record in read.threads)


def _apart(text: str) -> tuple[str, str]:
    """Return a text without what forgekit printed, and that; what has no end is left where it is."""
    rest, printed = "", ""
    at = 0
    while begin := _PRINTED.search(text, at):
        end = (_BLOCK_END if begin[0].startswith("<") else _PAGE_END).search(text, begin.end())
        if end is None:
            break
        rest += text[at : begin.start()]
        printed += text[begin.start() : end.end()] + "\n"
        at = end.end()
    return rest + text[at:], printed


def _named(rest: str, printed: str) -> tuple[list[str], list[str]]:
    """Return the tags that a message names, in words or in what forgekit printed, and the records in that."""
    tags: list[str] = []
    ids: list[str] = []
    for block in parse_machine_block(printed[:_LOOKED_AT]):
        if block.purpose == "updated-context" and not block.broken:
            tags += [block.tag] if block.tag else list(block.parents[:1])
            ids += [record.id for record in (*block.decisions, *block.threads) if record.id]
    tags += [match[1] for match in _NAMED.finditer(rest[:20_000]) if _TAG.fullmatch(match[1])]
    return tags, ids
