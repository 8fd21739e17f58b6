"""The reader of archives: `read_archive` makes an `ArchiveText` of any text, `identify` an `Archive`.

Steps: find the Markdown blocks (`document`), read records in them (`logs`, `records`, `tagged`) and facts of
the archive (`metadata`), merge the claims (`claims`). What could not be read is in `problems`, with its line.
`identify` derives the conversation, time, tag and ids; the same text and options give the same ids on every
machine. An archive that names no conversation belongs to `v8(uuid5(P, session id or title), Created)`.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from forgekit.archives import claims as claim_rules
from forgekit.archives import metadata, records
from forgekit.archives.claims import IDS, MADE, Claim, ClaimList
from forgekit.archives.clauses import ends, read_clauses
from forgekit.archives.document import (
    Document,
    Fence,
    Node,
    inherited_lines,
    own_lines,
    printed_lines,
    read_document,
)
from forgekit.archives.heads import NOTHING, read_head
from forgekit.archives.labels import fold, own_labels
from forgekit.archives.logs import (
    is_bare_log,
    is_log,
    own_part,
    read_blocks,
    read_log,
    unread_lines,
    with_quotes,
)
from forgekit.archives.machine_block import MachineBlock
from forgekit.archives.records import Page
from forgekit.archives.remarks import add_rejected, add_remarks
from forgekit.archives.tagged import read_tagged
from forgekit.archives.updates import mark_open, read_updates
from forgekit.errors import FormatError
from forgekit.frozen import frozen
from forgekit.ids import EntityId, archive_id, conversation_id, is_id, normalise, project_id, timestamp
from forgekit.model.archive_record import ArchiveText, ArtifactRecord, DecisionRecord, Scope, ThreadRecord
from forgekit.model.entities import Archive, CompressionMode
from forgekit.model.kinds import is_short
from forgekit.model.rules import one_line
from forgekit.model.settings import OwnLabels
from forgekit.times import Instant

_DATA = {"yaml", "yml", "json", "jsonl", "toml", "xml", "ini", "csv", "tsv", "edn", "front matter"}
_NO_FIELDS = {"text", "entity", "number", "goes_on"}
"""What a claim has beside its fields."""
_COMPACTION = "This session is being continued from a previous conversation"


def read_archive(text: str, labels: OwnLabels = ()) -> ArchiveText:
    """Read an archive of any family, or a coding agent's compaction summary.

    Args:
        labels: that a registry's owners added.
    """
    with own_labels(labels):
        document = read_document(text)
        found = _read(document)
        if document.quoted and not _named(found):
            opened = _read(read_document(text, unquote=True))
            found = opened if _named(opened) or not found.decisions else found
    return _compaction(found) if is_compaction(text) else found


def _named(found: ArchiveText) -> list[str]:
    """Return the ids that an archive itself gives to its records."""
    ids = [*(each.local_id for each in found.decisions), *(each.local_id for each in found.threads)]
    return [local_id for local_id in ids if not MADE.fullmatch(local_id)]


def is_compaction(text: str) -> bool:
    """Say whether a text is a compaction summary: it opens with the agent's fixed sentence."""
    return text[:2_000].lstrip("\ufeff \t\r\n").startswith(_COMPACTION)


def _compaction(found: ArchiveText) -> ArchiveText:
    """Keep records with an explicit id; time, tag and session come from the transcript around a summary."""
    explicit = {local_id for local_id, _ in found.ids_seen}
    return ArchiveText(
        mode=CompressionMode.LOSSY,
        decisions=tuple(d for d in found.decisions if d.local_id in explicit),
        threads=tuple(t for t in found.threads if t.local_id in explicit),
        artifacts=found.artifacts,
        sections=found.sections,
    )


def _read(document: Document) -> ArchiveText:
    found = ClaimList(problems=list(document.problems))
    blocks = read_blocks(document)
    spans = [(block.first_line, block.last_line) for block in blocks]
    usable = _usable(found, document, blocks)
    is_log_alone = _read_fences(found, document, spans)
    is_log_alone = is_log_alone and bool(found.claims)
    own = [False] * len(document.lines) if is_log_alone else own_lines(document, spans)
    page = Page(found=found, document=document, own=own)
    records.read_records(page)
    records.read_sentences(page)
    stated = metadata.collect(page, usable)
    head = NOTHING
    if not metadata.is_complete(stated):  # the weights take longer to load than the head to read
        head = read_head(page, _data_lines(document, spans, is_log_alone=is_log_alone))
    names_parent = bool(metadata.parents_of(page, stated, usable, None))
    updates = [*found.updates, *(read_updates(page) if names_parent else ())]
    unread = _unread_alone(page) if is_log_alone else _unread(page, spans)
    listed = records.read_insights(page)
    unread = [is_unread and number not in listed for number, is_unread in enumerate(unread, 1)]
    clauses = tuple(read_clauses(page)) if names_parent or head.parents else ()
    tagged = read_tagged(page, unread, ends(clauses))
    insights = (one_line(span.text) for span in tagged if span.tag == "insight")
    records.number_records(found)
    facts = metadata.collect(page, usable)
    metadata.add_head(facts, head)
    kept = set(facts.all("parent"))
    for value, line in stated.all("parent") if not head.parents else ():
        if (value, line) not in kept:  # its line was taken for a record's
            facts.add("parent", value, line)
    project = facts.first("project")
    tag, created = metadata.tag_of(found, facts), metadata.created_of(found, facts)
    turns, turn_range = metadata.turns_of(facts)
    parents = metadata.parents_of(page, facts, usable, tag)
    title, session = metadata.title_of(page)
    if parents and not names_parent:
        updates, clauses = [*updates, *read_updates(page)], clauses or tuple(read_clauses(page))
    add_remarks(page)
    merged = claim_rules.join(found, found.claims, has_parent=bool(parents))
    add_rejected(merged)
    merged = _with_states(page, merged, has_parent=bool(parents))
    decisions = claim_rules.records(found, merged, DecisionRecord)
    threads = claim_rules.records(found, merged, ThreadRecord)
    artifacts = claim_rules.records(found, merged, ArtifactRecord)
    carried = _carried(found, parents)
    known = {claim.local_id for claim in (*merged, *found.carried)} | {each.local_id for each in updates}
    known |= {claim.values["entity"] for claim in merged if "entity" in claim.values}
    has_parent = bool(parents or carried or inherited_lines(document))
    records.report_lost_ids(page, merged, known, has_parent=has_parent)
    records.report_unread(page)
    records.report_quoted_fields(page)
    records.report_unlabelled(found)
    return ArchiveText(
        title=title or facts.first("title", "session") or "",
        heading=metadata.heading_of(page),
        session_id=facts.first("session") or session,
        project=facts.first("project", "guess"),
        project_is_guess=project is None,
        conversation=metadata.conversation_of(facts),
        created=created,
        tag=tag,
        mode=metadata.mode_of(page, facts, turn_range),
        turns=turns,
        turn_range=turn_range,
        inherits_from=parents,
        decisions=decisions,
        threads=threads,
        artifacts=artifacts,
        updates=tuple(updates) if parents else (),
        clauses=clauses if parents else (),
        carried=carried,
        summary=records.read_summary(document),
        chunks=tuple(records.read_chunks(page)),
        possible=tuple(found.possible),
        insights=tuple(dict.fromkeys((*listed.values(), *insights))),
        sections=document.sections,
        truncated=_unclosed(blocks, document) or document.truncated,
        fields=sum(len(claim.values.keys() - _NO_FIELDS) for claim in merged),
        ids_seen=tuple(
            (local_id, line)
            for local_id, (line, _) in page.seen.items()
            if IDS.fullmatch(local_id) or is_short(local_id)
        ),
        problems=tuple(sorted(found.problems, key=lambda problem: problem.line or 0)),
    )


def _with_states(page: Page, claims: Sequence[Claim], *, has_parent: bool) -> list[Claim]:
    """Return claims with the states that their words give; those of a parent's records too if it has one."""
    if not has_parent:
        return [claim_rules.stated(claim) for claim in claims]
    mark_open(page, claims)
    return [claim_rules.restated(claim) for claim in claims]


def _unread_alone(page: Page) -> list[bool]:
    """Return which lines of a text that is all data the tagger reads."""
    return unread_lines("\n".join(page.document.lines), {claim.line - 1 for claim in page.found.claims})


def _unread(page: Page, spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Return which lines the tagger reads: those of the archive that no rule reads, and such of its data."""
    document, lines = page.document, list(page.own)
    for section in document.sections if page.found.claims else ():
        if fold(section.title) in records.SUMMARIES:
            lines[section.first_line - 1 : section.last_line] = [False] * (
                section.last_line - section.first_line + 1
            )
    for table in document.nodes:
        if table.kind == "table" and records.lists_chunks(table):
            lines[table.line - 1 : table.last] = [False] * (table.last - table.line + 1)
    found = page.found
    begun = [*(each.line for each in found.claims), *(each.line for each in found.updates)]
    read = sorted([*begun, *(line for line, *_ in found.unnumbered)])
    for fence, is_own, heading in _fences(document, spans):
        is_most = 2 * (fence.last_line - fence.first_line) > len(document.lines)
        is_data = fence.info in _DATA or (fence.info == "" and not read and is_most)
        if is_data and is_own and not (heading and records.is_record(heading)):
            first, last = fence.first_line, fence.last_line
            begun = read[bisect_left(read, first) : bisect_left(read, last)]
            unread = unread_lines(fence.content, {line - 1 - first for line in begun})
            lines[first : last - 1] = unread[: last - 1 - first]
    return [is_unread and number not in page.of_parents for number, is_unread in enumerate(lines, 1)]


def _data_lines(document: Document, spans: Sequence[tuple[int, int]], *, is_log_alone: bool) -> set[int]:
    """Return the lines of the archive's own data, from 1."""
    if is_log_alone and not document.fences:
        return {*range(1, len(document.lines) + 1)}
    fences = (fence for fence, is_own, _ in _fences(document, spans) if is_own and fence.info in _DATA)
    return {n for fence in fences for n in range(fence.first_line + 1, fence.last_line)}


def _fences(
    document: Document, spans: Sequence[tuple[int, int]]
) -> Iterator[tuple[Fence, bool, Node | None]]:
    """Yield each fence, whether what is around it is the archive's own, and the nearest heading above it."""
    own = own_lines(document, spans, code=True)
    headings = [node for node in document.nodes if node.kind == "heading"]
    for fence in document.fences:
        above = bisect_left(headings, fence.first_line, key=lambda node: node.line)
        yield fence, own[fence.first_line - 1], headings[above - 1] if above else None


def _unclosed(blocks: Sequence[MachineBlock], document: Document) -> str:
    last = blocks[-1] if blocks else None
    if last is not None and last.broken == "is never closed" and last.last_line >= len(document.lines):
        return f"the machine block on line {last.first_line} is never closed"
    return ""


def _usable(found: ClaimList, document: Document, blocks: Iterable[MachineBlock]) -> list[MachineBlock]:
    """Take the claims of the blocks that can be relied on, and report the others."""
    printed = [range(first, last + 1) for first, last in printed_lines(document)]
    usable: list[MachineBlock] = []
    for block in blocks:
        if block.purpose or any(block.first_line in lines for lines in printed):
            continue
        if block.broken:
            message = f"the machine block {block.broken}; the rest of the text is read instead"
            found.warn("machine-block-broken", message, block.first_line)
        elif not block.fresh:
            message = "the text was edited after the machine block was written; the text is believed"
            found.warn("machine-block-stale", message, block.first_line)
        else:
            usable.append(block)
            found.problems += block.problems
            found.claims += block.claims
    return usable


def _read_fences(found: ClaimList, document: Document, spans: Sequence[tuple[int, int]]) -> bool:
    """Read the YAML logs, those in quoted parents for carried records; say whether all the text is one."""
    if not document.fences and is_bare_log(document.lines):
        _read_log(found, "\n".join(document.lines), 1, carried=False)
        return True
    inherited = inherited_lines(document)
    for fence, is_own, heading in _fences(document, spans):
        carried = any(first <= fence.first_line <= last for first, last in inherited)
        in_record = heading is not None and records.is_record(heading)
        if (is_own or carried) and is_log(fence.info, fence.content, in_record=in_record):
            _read_log(found, fence.content, fence.first_line + 1, carried=carried)
    return False


def _read_log(found: ClaimList, text: str, first_line: int, *, carried: bool) -> None:
    """Read a log as YAML or JSON; one that is neither is read by its lines."""
    try:
        found.documents += read_log(found, text, first_line, carried_only=carried)
    except FormatError as e:
        message, fix = f"{e.message}; each line was read by itself", "quote values that hold a colon"
        found.warn("damaged-yaml", message, e.line or first_line, fix)
        own = "" if carried else own_part(text)
        with contextlib.suppress(FormatError):
            found.documents += read_log(found, with_quotes(own), first_line)
            return
        pairs = re.findall(r"^ {0,4}([A-Za-z_][\w -]{0,60}): +([^\s|>\[{&*!].*)$", own, re.MULTILINE)
        found.documents.append(dict(reversed(pairs)))


def _carried(found: ClaimList, parents: Sequence[str]) -> tuple[DecisionRecord, ...]:
    claims: dict[str, Claim] = {}
    for claim in found.carried:
        if parents:
            claim.values.setdefault("inherited_from", parents[0])
        claim.values["scope"] = Scope.INHERITED
        claims.setdefault(claim.local_id, claim)
    return claim_rules.records(found, claims.values(), DecisionRecord)


@frozen(kw_only=True)
class ImportOptions:
    """What a person or a transcript states about an archive besides its text.

    `project` and `title` win over the text, the others count if the text has none; `inherits_from` are
    parents besides those in the text; `external_id` is the platform's own uuid of the conversation.
    """

    project: str | None = None
    at: Instant | None = None
    tag: str | None = None
    session_id: str | None = None
    external_id: str | None = None
    title: str | None = None
    inherits_from: tuple[str, ...] = ()


def identify(raw: str, text: ArchiveText, envelope: ImportOptions, project_name: str) -> Archive:
    """Return the archive as it will be filed, from its whole text and what was read from that."""
    digest = hashlib.sha256(raw.encode()).hexdigest()
    project_name = normalise(project_name)
    project = project_id(project_name)
    named = text.conversation or envelope.external_id
    own = EntityId(named) if named and is_id(named) and named[14] == "8" else None
    at = next((t for t in (text.created, envelope.at) if t is not None), None)
    if at is None:
        at = Instant(timestamp(named) if named else 0)
    session = text.session_id or envelope.session_id
    tag = text.tag or envelope.tag
    name = envelope.title or text.title or session or tag
    title = one_line(name or digest[:16])
    named_parents = (*envelope.inherits_from, *text.inherits_from)
    if named_parents and not (at or envelope.title):  # a series of undated archives often has one title
        title = f"{title}, after {one_line(named_parents[0])}"
    conversation = own or conversation_id(project, session or title, at)
    turns = f"{text.turn_range[0]}-{text.turn_range[1]}" if text.turn_range else "all"
    parents = [p for p in named_parents if p not in (tag, conversation)]
    return Archive(
        archive_id=archive_id(project, conversation, turns, at),
        compression_tag=one_line(tag) if tag else f"ARCHIVE-{digest[:12]}",
        compression_mode=text.mode or CompressionMode.LOSSLESS,
        compressed_at=at,
        conversation_id=conversation,
        conversation_title=title if name else text.heading or title,
        conversation_started=Instant(timestamp(conversation)),
        session_id=one_line(session) if session else None,
        external_id=named if named and own is None else None,
        project_name=project_name,
        project_uuid=project,
        turn_range=text.turn_range,
        inherits_from=tuple(dict.fromkeys(one_line(p) for p in parents)),
        content_sha256=digest,
        body=raw,
    )
