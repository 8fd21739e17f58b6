"""Archives quoted in a conversation: pasted at its beginning, or written by the model.

The first messages of a conversation, and the files attached to them, may hold a pasted archive, the block
that `prepare-continuation` printed, or only a compression tag. An answer may hold the archive that the
conversation was compressed to. The text around an archive is the speaker's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from forgekit.archives.logs import parse_machine_block
from forgekit.archives.read import read_archive
from forgekit.frozen import frozen, replace
from forgekit.model.archive_record import ArchiveText
from forgekit.model.transcript import Speaker, Turn

FIRST_MESSAGES = 3
"""Messages of the user in which a conversation may name what it continues."""
_LONGEST = 900_000
"""Characters of a text that is searched for an archive; a longer one cannot be filed."""

# Searched before a text is read as an archive, which is slower.
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
# Blocks that forgekit prints, and where they end.
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


@frozen(kw_only=True)
class QuotedArchive:
    """An archive in a turn or in a file attached to it.

    Attributes:
        text: the archive alone.
        read: its records.
        written: the model wrote it: this conversation was compressed to it.
    """

    turn: Turn
    text: str
    read: ArchiveText
    written: bool


@frozen(kw_only=True)
class Quotations:
    """The archives and tags quoted in a conversation.

    Attributes:
        tags: of what it continues, where no whole archive was pasted.
        local_ids: of the records that were pasted.
        own_turns: the turns without the archives and the blocks that forgekit printed.
    """

    archives: tuple[QuotedArchive, ...]
    tags: tuple[str, ...]
    local_ids: tuple[str, ...]
    own_turns: tuple[Turn, ...]


def find_quoted(turns: Sequence[Turn]) -> Quotations:
    """Find archives, blocks and tags in the turns of a conversation; compaction summaries are left alone."""
    archives: list[QuotedArchive] = []
    tags: dict[str, None] = {}
    local_ids: dict[str, None] = {}
    own_turns: list[Turn] = []
    prompts = 0
    for turn in turns:
        prompts += turn.speaker is Speaker.USER and not turn.compaction
        first = turn.speaker is Speaker.USER and prompts <= FIRST_MESSAGES
        if turn.compaction:
            own_turns.append(turn)
            continue
        rests: list[str] = []
        for text in [turn.text, *(file.text for file in turn.attachments if first)]:
            found = _archive(text) if first or turn.speaker is Speaker.ASSISTANT else None
            if found is not None:
                start, end, read = found
                archives.append(QuotedArchive(turn=turn, text=text[start:end], read=read, written=not first))
                rests.append(_without_blocks(f"{text[:start]}\n{text[end:]}")[0])
                if first:
                    local_ids.update(dict.fromkeys(_local_ids(read)))
                continue
            rest, printed = _without_blocks(text)
            rests.append(rest)
            if first:
                named, ids = _references(rest, printed)
                tags.update(dict.fromkeys(named))
                local_ids.update(dict.fromkeys(ids))
        own_turns.append(replace(turn, text=rests[0]))
    return Quotations(
        archives=tuple(archives), tags=tuple(tags), local_ids=tuple(local_ids), own_turns=tuple(own_turns)
    )


def _archive(text: str) -> tuple[int, int, ArchiveText] | None:
    """Return start and end of an archive in a text, and its records; words after it count as part of it."""
    if len(text) > _LONGEST or not _SIGNS.search(text):
        return None
    begins = _BEGINS.search(text)
    start = begins.start() if begins else 0
    start, end = _fenced(text, start)
    part = text[start:end].strip("\n")
    start = text.index(part, start)
    read = read_archive(part)
    records = read.decisions or read.threads or read.carried
    if not (records and (read.tag or read.session_id) and not read.truncated):
        return None
    return start, start + len(part), read


def _fenced(text: str, start: int) -> tuple[int, int]:
    """Return start and end of the archive, without a code fence that opens just before it."""
    line = text.rfind("\n", 0, max(start - 1, 0)) + 1
    opening = re.match(r"(`{3,8}|~{3,8})[A-Za-z]{0,20}[ \t]{0,4}\n", text[line:start])
    if start and opening:
        end = text.find(f"\n{opening[1]}", start)
        return start, end if end >= 0 else len(text)
    return start, len(text)


def _local_ids(read: ArchiveText) -> Iterator[str]:
    yield from (record.local_id for record in (*read.decisions, *read.carried))
    yield from (record.local_id for record in read.threads)


def _without_blocks(text: str) -> tuple[str, str]:
    """Return a text without the blocks that forgekit printed, and these; a block without an end stays."""
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


def _references(rest: str, printed: str) -> tuple[list[str], list[str]]:
    """Return the tags that a message or a printed block names, and the ids of the records in the block."""
    tags: list[str] = []
    ids: list[str] = []
    for block in parse_machine_block(printed[:_LONGEST]):
        if block.purpose == "updated-context" and not block.broken:
            tags += [block.tag] if block.tag else list(block.parents[:1])
            ids += [record.id for record in (*block.decisions, *block.threads) if record.id]
    tags += [match[1] for match in _NAMED.finditer(rest[:20_000]) if _TAG.fullmatch(match[1])]
    return tags, ids
