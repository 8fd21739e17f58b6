"""After compressing: file an archive, and register what it says.

Filing is idempotent and its order does not matter: the archive is kept byte for byte, and the registry
becomes what all archives together say, merged into the files as people left them. Decisions that
contradict each other are found on the way (`detecting`).
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forgekit.archives.changes import ChangeSet, settle
from forgekit.archives.conversations import Ingested, gather
from forgekit.archives.fold import FoldResult, fold
from forgekit.archives.identity import ImportOptions, identify
from forgekit.archives.read import read_archive
from forgekit.change import superseding
from forgekit.detecting import Filing, filing
from forgekit.errors import ArchiveError, FormatError, NothingCompactedError, UsageError
from forgekit.filing.archive_facts import Fact, by_people, facts
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.merge.values import FieldConflict
from forgekit.model.archive import Archive
from forgekit.model.archive_record import ArchiveText
from forgekit.model.body import clean
from forgekit.model.conflict import Conflict
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.model.rules import one_line
from forgekit.model.thread import Thread, ThreadStatus
from forgekit.store import Change, Outcome
from forgekit.text.frontmatter import ARCHIVE_LIMIT, decode
from forgekit.text.secrets import SecretFinding, redact
from forgekit.times import DAY_MS, UNKNOWN, Instant, format_date
from forgekit.transcripts.claude_code import (
    CompactSummary,
    compactions,
    looks_like_transcript,
    read_compactions,
)

Arrival = tuple[Archive, ArchiveText]
_HEAD = 65_536
_SHOWN = 20
_NOTHING = Problem(
    code="no-record",
    message="no decision, thread or artifact was found in it; only its text is kept",
    fix="write them as `- D001: ...` and `- T001: ...`",
    severity=Severity.WARNING,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Incoming:
    """One archive, or a transcript, as it was given.

    Attributes:
        data: its bytes, where they are at hand.
        path: else where they are.
        name: what messages call it.
    """

    envelope: ImportOptions
    data: bytes = b""
    path: Path | None = None
    name: str = "archive"


def arrivals(
    item: Incoming, default_project: Callable[[], str], allowed: Collection[str] = ()
) -> Iterable[Arrival]:
    """Yield what was given as archives: a transcript holds one per compaction.

    Secrets are taken out before anything is read from a text, so that ids come from what will be filed.

    Args:
        item: what was given.
        default_project: asked where neither the person nor the text names a project.
        allowed: fingerprints of secrets that are kept.

    Raises ArchiveError for what is no archive, or not a whole one, NothingCompactedError.
    """
    head = _head(item)
    if not looks_like_transcript(head):
        yield arrival(item, default_project, allowed)
        return
    found = compactions(str(item.path)) if item.path else read_compactions(io.BytesIO(item.data))
    problems: list[Problem] = []
    any_yet = False
    for summary in found:
        if isinstance(summary, Problem):
            problems.append(summary)
            continue
        archive, text = _of_transcript(item, summary, default_project, allowed)
        yield archive, replace(text, problems=(*problems, *text.problems))
        problems, any_yet = [], True
    if not any_yet:
        raise NothingCompactedError(
            f"{item.name} is a transcript in which nothing was compacted; there is nothing to file",
            [str(problem) for problem in problems],
        )


def _head(item: Incoming) -> bytes:
    if item.path is None:
        return item.data[:_HEAD]
    try:
        with item.path.open("rb") as file:
            return file.read(_HEAD)
    except OSError as e:
        raise UsageError(f"cannot read {item.name}: {e.strerror}") from None


def _data(item: Incoming) -> bytes:
    if item.path is None:
        return item.data
    with item.path.open("rb") as file:
        return file.read(ARCHIVE_LIMIT + 1)


def _of_transcript(
    item: Incoming, summary: CompactSummary, default_project: Callable[[], str], allowed: Collection[str]
) -> Arrival:
    envelope = of_compaction(
        item.envelope,
        summary.session_id,
        summary.ordinal,
        summary.compacted_at,
        redact(summary.project_hint, allowed).text,
    )
    name = f"{item.name}:{summary.line}"
    one = replace(item, envelope=envelope, name=name, path=None, data=clean(summary.text).encode())
    return arrival(one, default_project, allowed)


def of_compaction(
    envelope: ImportOptions, session: str, number: int, at: Instant, place: str
) -> ImportOptions:
    """Return the envelope of what a program summed up when it made room.

    Args:
        envelope: what is known besides; a title in it stands.
        session: its id.
        number: of the compaction in its session, from 1.
        at: when it was made, in ms since 1970.
        place: name of the working folder, "" where nobody knows.
    """
    short = session[:8]
    return replace(
        envelope,
        at=at,
        tag=f"CLAUDE_CODE_{short}_{number}",
        session_id=session,
        title=envelope.title or f"{place or 'Claude Code'} {short}",
    )


def arrival(item: Incoming, default_project: Callable[[], str], allowed: Collection[str] = ()) -> Arrival:
    """Return one archive with what it says; arguments and errors as of `arrivals`."""
    try:
        raw = decode(_data(item), ARCHIVE_LIMIT)
    except FormatError as e:
        raise e.at(item.name) from None
    if not raw.strip():
        raise ArchiveError(f"{item.name} is empty; paste the whole archive")
    clean = redact(raw, allowed)
    raw, text = clean.text, read_archive(clean.text)
    if text.truncated:
        raise ArchiveError(f"{item.name} seems to be cut off: {text.truncated}; paste the whole archive")
    bare = not (text.decisions or text.threads or text.artifacts or text.carried)
    if bare:
        wrong = [f"line {p}" for p in text.problems if p.severity is Severity.ERROR and p.line]
        if text.ids_seen:
            lines = [f"line {line}: {local}" for local, line in text.ids_seen]
            message = f"{item.name}: ids stand in the text, but no record could be read"
            raise ArchiveError(message, [*lines, *wrong])
        if wrong:
            raise ArchiveError(f"{item.name}: no record could be read", wrong)
        named = text.tag or text.session_id or item.envelope.session_id
        if not named:
            raise ArchiveError(f"{item.name} does not look like an archive: no record, tag or session in it")
    project = item.envelope.project or text.project or default_project()
    nothing = (_NOTHING,) if bare else ()
    told = replace(text, problems=(*_redactions(clean.findings), *text.problems, *nothing))
    return identify(raw, text, item.envelope, project), told


def _redactions(findings: Sequence[SecretFinding]) -> Iterable[Problem]:
    """Say what was taken out: one remark a rule."""
    by_rule: dict[str, list[SecretFinding]] = defaultdict(list)
    for finding in findings:
        by_rule[finding.rule].append(finding)
    for rule, found in by_rule.items():
        shown = ", ".join(f"{f.fingerprint} (line {f.line})" for f in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        yield Problem(
            code="redacted",
            message=f"{len(found)} {rule} redacted: {shown}{more}",
            fix=f"--allow {found[0].fingerprint} keeps {'it' if len(found) == 1 else 'the first'}",
            severity=Severity.WARNING,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Overruled:
    """A thread that the archive shows open although it has ended."""

    local_id: str
    thread: Thread


@dataclass(frozen=True, kw_only=True, slots=True)
class FiledArchive:
    """What filing one archive came to.

    Attributes:
        new: whether it was not filed before.
        problems: what could not be read or joined, with lines; the last also has what is new in earlier ones.
        overruled: threads where the registry stands against the archive.
    """

    archive: Archive
    new: bool
    decisions: int
    threads: int
    artifacts: int
    problems: tuple[Problem, ...]
    overruled: tuple[Overruled, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncReport:
    """What one `sync-compression` did.

    Attributes:
        conflicts: fields that people and archives changed in different ways.
        ended: threads that have an end now and had none before.
        contradictions: new conflicts of decisions, those that a tier has settled included.
        passed_over: transcripts without a compaction, among others that have some; why, a line each.
    """

    outcome: Outcome
    filed: tuple[FiledArchive, ...]
    created: tuple[Entity, ...]
    changed: tuple[Entity, ...]
    removed: tuple[Entity, ...]
    ended: tuple[Thread, ...]
    conflicts: tuple[tuple[EntityId, FieldConflict], ...]
    contradictions: tuple[Conflict, ...]
    passed_over: tuple[str, ...]


def sync_compression(
    forge: Forge, incoming: Sequence[Incoming], *, dry_run: bool = False, no_commit: bool = False
) -> SyncReport:
    """File archives and register what they say, in one commit.

    Raises ArchiveError, before anything is written, for a text that cannot be read as an archive, and for one
    that is filed with other values than those that are given.
    """
    read, passed_over = _arrived(forge, incoming)
    outcome = forge.commit(lambda: _decide(forge, read), dry_run=dry_run, no_commit=no_commit)
    report = outcome.change.result
    assert isinstance(report, _Decided)  # noqa: S101 - what _decide put there
    filed = list(_reports(read, report, forge.now()))
    if filed:
        elsewhere = _elsewhere(report, {archive.id for archive, _, _ in read})
        filed[-1] = replace(filed[-1], problems=(*filed[-1].problems, *elsewhere))
    return SyncReport(
        outcome=outcome,
        filed=tuple(filed),
        created=tuple(e for e in report.settlement.writes if e.id not in report.ours.entities),
        changed=tuple(e for e in report.settlement.writes if e.id in report.ours.entities),
        removed=report.settlement.deletes,
        ended=tuple(_ended(report)),
        conflicts=report.settlement.conflicts,
        contradictions=report.found,
        passed_over=passed_over,
    )


def _ended(decided: _Decided) -> Iterator[Thread]:
    for thread in decided.settlement.writes:
        if isinstance(thread, Thread) and thread.status.ended:
            before = decided.ours.get(thread.id)
            if not (isinstance(before, Thread) and before.status.ended):
                yield thread


_Arrived = tuple[Archive, ArchiveText, ImportOptions]


def _arrived(forge: Forge, incoming: Sequence[Incoming]) -> tuple[list[_Arrived], tuple[str, ...]]:
    """Read everything before anything is written; a folder of transcripts may hold some without archives."""
    read: list[_Arrived] = []
    passed_over: list[NothingCompactedError] = []
    for item in incoming:
        try:
            found = arrivals(item, lambda: _default_project(forge), forge.allowed)
            read.extend((archive, text, item.envelope) for archive, text in found)
        except NothingCompactedError as e:
            passed_over.append(e)
    if passed_over and not read:
        raise passed_over[0]
    return read, tuple(str(error) for error in passed_over)


@dataclass(frozen=True, slots=True)
class _Decided:
    """What was decided, for the report."""

    ours: Registry
    before: FoldResult
    after: FoldResult
    settlement: ChangeSet
    found: tuple[Conflict, ...]
    known: frozenset[EntityId]


def _default_project(forge: Forge) -> str:
    return forge.project(None, forge.registry()) or ""


def _decide(forge: Forge, read: Sequence[_Arrived]) -> Change:
    ours = forge.registry()
    filed = {archive.id: archive for archive in ours.archives}
    new: dict[EntityId, tuple[Archive, ArchiveText]] = {}
    for archive, text, envelope in read:
        standing = filed.get(archive.id) or new.get(archive.id, (None,))[0]
        if standing is None:
            new[archive.id] = archive, text
        elif not same_archive(standing, archive):
            [filed_text] = facts(forge.catalogue, [standing])
            if words_behind(filed_text, (archive, text)):
                new[archive.id] = archive, text
                continue
            short = short_id(Kind.ARCHIVE, archive.id)
            raise ArchiveError(
                f"{short} is already filed for this conversation, time and turns, with another text; to put "
                f"this one in its place, `git revert` the commit that filed it (`forgekit archive history "
                f"{short}` names it), then file this one"
            )
        elif other := _other(standing, archive, envelope):
            short = short_id(Kind.ARCHIVE, archive.id)
            raise ArchiveError(
                f"{short} is already filed with another {' and '.join(other)}, and filing it again changes "
                f"nothing; `git revert` the commit that filed it (`forgekit archive history {short}` names "
                "it) and file it again, or join a parent by `forgekit lineage new`"
            )
    known = facts(forge.catalogue, filed.values())
    remembered = Ingested.of(ours.conversations, ours.candidates)
    own = by_people(forge.catalogue, ours, known, remembered)
    before = gather(fold(known, own), remembered)
    others = [fact for fact in known if fact[0].id not in new]
    after = gather(fold([*others, *new.values()], own), remembered) if new else before
    nothing = Filing(ChangeSet((), (), {}, ()), ())
    done = filing(forge, ours, after, settle(before, after, ours)) if new else nothing
    settlement = done.settlement
    decided = _Decided(ours, before, after, settlement, done.found, frozenset(filed))
    archives = [archive for archive, _ in new.values()]
    subject = (
        f"sync: file {short_id(Kind.ARCHIVE, archives[0].id)}"
        if len(archives) == 1
        else f"sync: file {len(archives)} archives"
    )
    return Change(
        writes=settlement.writes,
        deletes=tuple(entity_path(entity) for entity in settlement.deletes),
        subject=subject,
        trailers=(
            ("Forgekit-Op", "sync-compression"),
            *(("Forgekit-Archive", archive.id) for archive in archives),
            *(("Forgekit-Conversation", c) for c in sorted({a.conversation_id for a in archives})),
            *superseding(settlement.writes),
        ),
        result=decided,
    )


def _other(standing: Archive, archive: Archive, given: ImportOptions) -> list[str]:
    """Return what was given of an archive and is not as the one that is filed has it."""
    parents = {one_line(parent) for parent in given.inherits_from}
    known = {*standing.inherits_from, standing.compression_tag, standing.conversation_id}
    return [
        name
        for name, differs in (
            ("tag", given.tag and archive.compression_tag != standing.compression_tag),
            ("parent", parents - known),
            ("external id", given.external_id and archive.external_id != standing.external_id),
            ("title", given.title and archive.conversation_title != standing.conversation_title),
        )
        if differs
    ]


def same_archive(standing: Archive, archive: Archive) -> bool:
    """Say whether an archive is the one that is filed.

    Line ends, blank lines around it and which of its secrets were allowed make no other text of it.
    """
    return standing.content_sha256 == archive.content_sha256 or _plain(standing) == _plain(archive)


def words_behind(longer: Fact, shorter: Fact) -> bool:
    """Say whether one text is the other archive and words behind it: a message that it was pasted into."""
    long, short = _plain(longer[0]), _plain(shorter[0])
    rest = long[len(short) :]
    return long.startswith(short) and "\n#" not in rest and _ids(longer[1]) == _ids(shorter[1])


def _plain(archive: Archive) -> str:
    return redact(archive.body).text.replace("\r\n", "\n").strip()


def _ids(text: ArchiveText) -> set[str]:
    records = (*text.decisions, *text.carried), text.threads, text.artifacts
    return {record.local_id for some in records for record in some}


def _elsewhere(decided: _Decided, here: Collection[EntityId]) -> Iterable[Problem]:
    """Yield the warnings that archives filed earlier have by now."""
    for key, problems in sorted(decided.after.problems.items()):
        known = decided.before.problems.get(key, ())
        tag = decided.after.entities[key].title
        for problem in problems if key not in here else ():
            if problem.severity is Severity.WARNING and problem not in known:
                place = f", line {problem.line}" if problem.line else ""
                yield replace(problem, message=f"in {tag}{place}: {problem.message}", line=None)


def _reports(read: Sequence[_Arrived], decided: _Decided, now: Instant) -> Iterator[FiledArchive]:
    known = set(decided.known)
    for archive, text, _ in read:
        new = archive.id not in known
        doubts = tuple(_doubtful_date(archive.compressed_at, now)) if new else ()
        yield _report(archive, text, decided, new=new, doubts=doubts)
        known.add(archive.id)


def _report(
    archive: Archive, text: ArchiveText, decided: _Decided, *, new: bool, doubts: tuple[Problem, ...]
) -> FiledArchive:
    written = {entity.id: entity for entity in decided.settlement.writes}
    said = decided.after.mentions
    overruled = []
    for record in text.threads:
        entity = said.get((archive.id, record.local_id))
        thread = written.get(entity) or decided.ours.get(entity) if entity else None
        open_here = record.status in {None, ThreadStatus.OPEN}
        if isinstance(thread, Thread) and thread.status.ended and open_here:
            overruled.append(Overruled(local_id=record.local_id, thread=thread))
    filed = written.get(archive.id) or decided.ours.get(archive.id)
    return FiledArchive(
        archive=filed if isinstance(filed, Archive) else archive,
        new=new,
        decisions=sum((archive.id, record.local_id) in said for record in text.decisions),
        threads=sum((archive.id, record.local_id) in said for record in text.threads),
        artifacts=len(text.artifacts),
        problems=(*doubts, *text.problems, *decided.after.problems.get(archive.id, ())),
        overruled=tuple(overruled),
    )


def _doubtful_date(at: Instant, now: Instant) -> Iterator[Problem]:
    """Say that nobody can tell when an archive was made; it may be tomorrow already where somebody sits."""
    if at == UNKNOWN:
        message, fix = "no date was found", "say --at DATE; once it is filed, `git revert` that commit first"
    elif at > now + DAY_MS:
        message = f"its date, {format_date(at)}, lies ahead"
        fix = "if that is a slip, `git revert` the commit that filed it, and file the corrected text"
    else:
        return
    yield Problem(code="doubtful-date", message=message, fix=fix, severity=Severity.WARNING)
