"""File archives and register what they say, in one commit.

Steps: read every input (a transcript holds one archive for each compaction); fold the archives as they were
and as they are now; merge the difference into the files as people left them (a three-way change set);
commit. The archive's text is kept byte for byte but for its secrets. Filing again changes nothing, and the
order of filing does not matter.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from forgekit.archives.ancestry import project_continued
from forgekit.archives.claims import key_of
from forgekit.archives.conversations import Ingested, candidate_from
from forgekit.archives.descriptions import begins_alike
from forgekit.archives.read import ImportOptions, identify, is_compaction, read_archive
from forgekit.change import subject_of
from forgekit.errors import ArchiveError, ForgeError, FormatError, NothingCompactedError, UsageError
from forgekit.filing.archive_facts import Fact, Refolded, facts, read_once, refold
from forgekit.forge import COMMITTED, Forge, WriteOptions
from forgekit.frozen import frozen, replace
from forgekit.ids import EntityId, match_key
from forgekit.merge.conflicting_edits import FieldConflict
from forgekit.merge.merge import bare_text, same_archive
from forgekit.model.archive_record import ArchiveText
from forgekit.model.entities import (
    Archive,
    Decision,
    DecisionStatus,
    Entity,
    Thread,
    ThreadStatus,
    entity_path,
)
from forgekit.model.kinds import UNSORTED, Kind, short_id
from forgekit.model.problem import Problem, Severity, warning
from forgekit.model.registry import Registry
from forgekit.model.rules import clean, one_line
from forgekit.store import Change, Outcome
from forgekit.text.exports import is_export
from forgekit.text.frontmatter import ARCHIVE_LIMIT, decode
from forgekit.text.secrets import SecretFinding, redact
from forgekit.times import DAY_MS, UNKNOWN, Instant, format_date, parse_instant

_BEFORE_JSON = (b"\x1f\x8b", b"{", b" ", b"\t", b"\r", b"\n", b"\xef\xbb\xbf")
_SHOWN = 20
_NUMBERED = re.compile(r"O[DTA]\d{3}")
"""An id that the reader gives to a record without one."""
_LOST = frozenset(
    {"unparsed-id", "unreadable-record", "too-many-records", "no-record", "unread-table"}
    | {"no-reference", "bad-tag", "bad-tier", "bad-time", "unknown-priority", "unknown-status", "unknown-id"}
)
"""Problems by which a record or a field of the text is not registered."""
_UNREAD = frozenset(
    {"unknown-label", "unread-label", "read-from-text", "damaged-yaml", "quoted-field", "families-disagree"}
    | {
        "machine-block-broken",
        "too-long",
        "unclosed-fence",
        "unread-list",
        "possible-record",
        "pasted-records",
    }
)
"""Problems of text that is kept and was not understood, or not taken as said."""
_NO_RECORD = warning(
    "no-record",
    "no decision, thread or artifact was found in it; only its text is kept",
    fix="write them as `- D001: ...` and `- T001: ...`",
)


@frozen(kw_only=True)
class Incoming:
    """An archive or a transcript: its bytes, or its path; `name` is for messages."""

    options: ImportOptions
    data: bytes = b""
    path: Path | None = None
    name: str = "archive"


class Coverage(NamedTuple):
    """How much of an archive was read: how many of its ids are of records, and how many labelled fields."""

    read: int
    ids: int
    fields: int

    @classmethod
    def of(cls, text: ArchiveText) -> Coverage:
        """Return the coverage of a text."""
        seen = {key_of(local_id) for local_id, _ in text.ids_seen}
        records = (text.decisions, text.threads, text.artifacts) if seen else ()
        ids = (record.local_id for some in records for record in some)
        own = {key_of(local_id) for local_id in ids if not _NUMBERED.fullmatch(local_id)}
        read = own | (seen & {*map(key_of, _ids(text))})
        return cls(len(read), len(seen | own), text.fields)


@frozen(kw_only=True)
class FiledArchive:
    """The result of filing one archive.

    The last one of a command also has the problems that archives filed earlier get by it.

    Attributes:
        overruled: local ids that the archive shows open, or in force, with what has ended.
    """

    archive: Archive
    new: bool
    decisions: int
    threads: int
    artifacts: int
    coverage: Coverage
    problems: tuple[Problem, ...]
    overruled: tuple[tuple[str, Thread | Decision], ...]

    @property
    def lost(self) -> bool:
        """Whether a record or field of the text was not registered."""
        return any(problem.code in _LOST for problem in self.problems)


@frozen(kw_only=True)
class SyncReport:
    """The result of one `sync-compression`.

    Attributes:
        conflicts: fields that people and archives changed in different ways.
        replaced: what `changed` was before.
        passed_over: a line for each transcript without a compaction, if others have some.
        refused: why the archives that could not be filed were not, where others were.
    """

    outcome: Outcome
    filed: tuple[FiledArchive, ...]
    created: tuple[Entity, ...]
    changed: tuple[Entity, ...]
    replaced: tuple[Entity, ...]
    removed: tuple[Entity, ...]
    ended: tuple[Thread, ...]
    conflicts: tuple[tuple[Entity, FieldConflict], ...]
    passed_over: tuple[str, ...]
    refused: tuple[ForgeError, ...]


ProjectChoice = Callable[[str, ArchiveText, ImportOptions], str]
"""From the whole text of an archive, what was read from it, and the options, to its project."""


def arrivals(
    item: Incoming,
    choose_project: ProjectChoice,
    allowed: Collection[str] = (),
    read: Callable[[str], ArchiveText] = read_archive,
) -> Iterable[Fact]:
    """Read an input as archives: one, or one for each compaction of a transcript.

    The project is asked for if the person names none; `allowed` are fingerprints of secrets to keep; `read`
    reads a text. Raises ArchiveError for a text that is no whole archive,
    NothingCompactedError.
    """
    if _bytes(item, 4).startswith(_BEFORE_JSON):
        from forgekit.transcripts.claude_code import looks_like_transcript
        from forgekit.transcripts.sources import HEAD, READ_ERRORS, unpacked

        with item.path.open("rb") if item.path else io.BytesIO(item.data) as file, suppress(*READ_ERRORS):
            stream = unpacked(file)
            if looks_like_transcript(stream.peek(HEAD)):
                return _compactions(item, stream, choose_project, allowed)
    return [arrival(item, choose_project, allowed, read)]


def _bytes(item: Incoming, limit: int) -> bytes:
    if item.path is None:
        return item.data
    try:
        with item.path.open("rb") as file:
            return file.read(limit)
    except OSError as e:
        raise UsageError(f"cannot read {item.name}: {e.strerror}") from None


def _compactions(
    item: Incoming,
    stream: io.BufferedReader,
    choose_project: ProjectChoice,
    allowed: Collection[str],
) -> list[Fact]:
    from forgekit.transcripts.claude_code import compactions_of, project_of, read_sessions
    from forgekit.transcripts.formats import limited

    found: list[Fact] = []
    problems: list[Problem] = []
    for one in limited(read_sessions(stream)):
        if isinstance(one, Problem):
            problems += [one] if one.code != "unusable-record" else []
            continue
        place = redact(project_of(one.folder), allowed).text
        for number, (turn, at) in enumerate(compactions_of(one), 1):
            if at is None:
                message = "neither this compaction summary nor its boundary has a time"
                problems.append(warning("unusable-summary", message, turn.line))
                continue
            options = of_compaction(item.options, one.external_id, number, at, place)
            data = clean(turn.text).encode()
            summary = Incoming(options=options, name=f"{item.name}:{turn.line}", data=data)
            found.append(arrival(summary, choose_project, allowed))
    if not found:
        raise NothingCompactedError(
            f"{item.name} is a transcript in which nothing was compacted; there is nothing to file",
            [str(problem) for problem in problems],
        )
    (archive, read_first), *others = found
    return [(archive, replace(read_first, problems=(*problems, *read_first.problems))), *others]


def of_compaction(
    options: ImportOptions, session: str, number: int, at: Instant, place: str
) -> ImportOptions:
    """Return the import options of a session's compaction number 1, 2, ...; a title that was given wins.

    `place` is the name of the working folder, "" if unknown.
    """
    short = session[:8]
    return replace(
        options,
        at=at,
        tag=f"CLAUDE_CODE_{short}_{number}",
        session_id=session,
        title=options.title or f"{place or 'Claude Code'} {short}, compaction {number}",
    )


def arrival(
    item: Incoming,
    choose_project: ProjectChoice,
    allowed: Collection[str] = (),
    read: Callable[[str], ArchiveText] = read_archive,
) -> Fact:
    """Read one archive; arguments and errors as of `arrivals`.

    Secrets are taken out first, so that ids are derived from the text that is filed.
    """
    try:
        raw = decode(_bytes(item, ARCHIVE_LIMIT + 1), ARCHIVE_LIMIT)
    except FormatError as e:
        raise e.at(item.name) from None
    if not raw.strip():
        raise ArchiveError(f"{item.name} is empty; paste the whole archive")
    if is_export(raw):
        raise ArchiveError(
            f"{item.name} is an export of a registry, not an archive; `git clone` copies the registry, "
            "and `forgekit sync` brings its changes into a clone"
        )
    redacted = redact(raw, allowed)
    raw = redacted.text
    text = read(raw)
    if text.truncated:
        raise ArchiveError(f"{item.name} seems to be cut off: {text.truncated}; paste the whole archive")
    problems = (*_redactions(redacted.findings), *text.problems)
    said = text.carried or text.updates or text.clauses
    records = text.decisions or text.threads or text.artifacts or said
    if not records and not is_compaction(raw):
        _require_archive(item, text)
        problems = (*problems, _NO_RECORD)
    given = item.options.project
    named = None if text.project_is_guess else text.project
    if given and named and match_key(given) != match_key(named):
        message = f"the text names project {one_line(named)[:80]!r}; --project files it under {given!r}"
        problems = (
            *problems,
            warning("other-project", message, fix="file it without --project if that is wrong"),
        )
    project = given or choose_project(raw, text, item.options)
    if not given and text.project and match_key(text.project) != match_key(project):
        name = one_line(text.project)[:60]
        message = f"the text names project {name!r}; it was filed under {project!r}, where its parent is"
        problems = (*problems, Problem(code="parents-project", message=message, severity=Severity.INFO))
    return identify(raw, text, item.options, project), replace(text, problems=problems)


def _require_archive(item: Incoming, text: ArchiveText) -> None:
    """Refuse a text without records unless it is an archive otherwise."""
    errors = [f"line {p}" for p in text.problems if p.severity is Severity.ERROR and p.line]
    if text.ids_seen:
        lines = [f"line {line}: {local}" for local, line in text.ids_seen]
        message = f"{item.name}: the text has ids, but no record could be read"
        raise ArchiveError(message, [*lines, *errors])
    if errors:
        raise ArchiveError(f"{item.name}: no record could be read", errors)
    if not (text.tag or text.session_id or item.options.session_id):
        raise ArchiveError(f"{item.name} does not look like an archive: no record, tag or session in it")


def _redactions(findings: Sequence[SecretFinding]) -> Iterable[Problem]:
    """Yield one problem for each rule that took secrets out."""
    by_rule: dict[str, list[SecretFinding]] = defaultdict(list)
    for finding in findings:
        by_rule[finding.rule].append(finding)
    for rule, found in by_rule.items():
        shown = ", ".join(f"{f.fingerprint} (line {f.line})" for f in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        fix = f"--allow {found[0].fingerprint} keeps {'it' if len(found) == 1 else 'the first'}"
        yield warning("redacted", f"{len(found)} {rule} redacted: {shown}{more}", fix=fix)


@frozen(slots=False)
class _Decided:
    """What was decided, for the report; `new` are the ids of the archives whose text is written."""

    ours: Registry
    folded: Refolded
    new: frozenset[EntityId]
    refused: Mapping[EntityId, ArchiveError]

    @cached_property
    def tagged(self) -> Mapping[tuple[str, EntityId], Sequence[Archive]]:
        """The archives that were filed before, by tag and project."""
        found: dict[tuple[str, EntityId], list[Archive]] = defaultdict(list)
        for archive in self.ours.archives:
            found[archive.compression_tag, archive.project_uuid].append(archive)
        return found


def sync_compression(
    forge: Forge,
    incoming: Sequence[Incoming],
    *,
    replace_filed: bool = False,
    strict: bool = False,
    options: WriteOptions = COMMITTED,
) -> SyncReport:
    """File archives and register what they say, in one commit; one that cannot be filed stops no other.

    Args:
        replace_filed: put another text in the place of the filed one of the same conversation and time.
        strict: refuse an archive of which anything was not read.

    Raises ForgeError, before anything is written, where nothing can be filed: for a text that cannot be read
    as an archive, and for one that is filed with another text or other values than those that are given.
    """
    read: list[tuple[Archive, ArchiveText, ImportOptions]] = []
    passed_over: list[NothingCompactedError] = []
    refused: list[ForgeError] = []
    for item in incoming:
        try:
            cached = partial(read_once, forge.catalogue)
            found = arrivals(item, partial(_project_of, forge, read), forge.allowed, cached)
            if strict:
                _require_complete(item, [text for _, text in found])
            read.extend((archive, text, item.options) for archive, text in found)
        except NothingCompactedError as e:
            passed_over.append(e)
        except ForgeError as e:
            if len(incoming) == 1:
                raise
            refused.append(e)
    if not read and (passed_over or refused):
        raise (*passed_over, *refused)[0]
    outcome = forge.commit(lambda: _decide(forge, read, replace_filed=replace_filed), options)
    decided = outcome.change.result
    assert isinstance(decided, _Decided)  # noqa: S101 - what _decide put there
    refused += decided.refused.values()
    changes, ours = decided.folded.changes, decided.ours.entities
    new = set(decided.new)
    filed: list[FiledArchive] = []
    for archive, text, _ in read:
        if archive.id in decided.refused:
            continue
        filed.append(_report(archive, text, decided, new=archive.id in new, now=forge.now()))
        new.discard(archive.id)
    if filed:
        others = _warnings_elsewhere(decided, {archive.id for archive, _, _ in read})
        filed[-1] = replace(filed[-1], problems=(*filed[-1].problems, *others))
    return SyncReport(
        outcome=outcome,
        filed=tuple(filed),
        created=tuple(e for e in outcome.change.writes if e.id not in ours),
        changed=tuple(e for e in changes.writes if e.id in ours),
        replaced=tuple(ours[e.id] for e in changes.writes if e.id in ours),
        removed=changes.deletes,
        ended=tuple(
            e
            for e in changes.writes
            if isinstance(e, Thread)
            and e.status.ended
            and ((before := decided.ours.find(Thread, e.id)) is None or not before.status.ended)
        ),
        conflicts=tuple(
            (ours.get(key) or decided.folded.after.entities[key], one) for key, one in changes.conflicts
        ),
        passed_over=tuple(map(str, passed_over)),
        refused=tuple(refused),
    )


def _project_of(
    forge: Forge,
    read: Sequence[tuple[Archive, ArchiveText, ImportOptions]],
    raw: str,
    text: ArchiveText,
    options: ImportOptions,
) -> str:
    """Return the project of an archive: the one that it names, its parent's where that is not another one.

    One that it only seems to name is less than its parent's; without any it is the default one.
    """
    registry, continued = forge.registry(), None
    if text.inherits_from or options.inherits_from:
        archives = [*registry.archives, *(archive for archive, _, _ in read)]
        continued = project_continued(identify(raw, text, options, text.project or UNSORTED), archives)
    named = text.project or ""
    if continued and (text.project_is_guess or begins_alike(named, continued)):
        return continued
    return named or forge.project(None, registry) or ""


def file_text(
    forge: Forge,
    text: str,
    project: str | None = None,
    tag: str | None = None,
    at: str | None = None,
    *,
    options: WriteOptions = COMMITTED,
) -> SyncReport:
    """File one archive that was given as text; errors as of `sync_compression`, ValueError for no date.

    Args:
        project: where the text names none.
        tag: the compression tag, where the text names none.
        at: the day of the compression, where the text names none.
    """
    day = parse_instant(at) if at is not None else None
    named = forge.project(project, forge.registry()) if project is not None else None
    incoming = Incoming(options=ImportOptions(project=named, tag=tag, at=day), data=text.encode())
    return sync_compression(forge, [incoming], options=options)


def _require_complete(item: Incoming, texts: Iterable[ArchiveText]) -> None:
    unread = [problem for text in texts for problem in text.problems if problem.code in _LOST | _UNREAD]
    if unread:
        lines = [f"line {problem}" if problem.line else str(problem) for problem in unread]
        raise ArchiveError(f"{item.name}: not everything was read, and --strict asks for it", lines)


def _decide(
    forge: Forge, read: Sequence[tuple[Archive, ArchiveText, ImportOptions]], *, replace_filed: bool
) -> Change:
    ours = forge.registry()
    filed = {archive.id: archive for archive in ours.archives}
    new: dict[EntityId, Fact] = {}
    refused: dict[EntityId, ArchiveError] = {}
    for archive, text, options in read:
        present = filed.get(archive.id) or new.get(archive.id, (None,))[0]
        try:
            if present is None or replace_filed or _replaces(forge, present, archive, text, options):
                new[archive.id] = archive, text
        except ArchiveError as e:
            if len(read) == 1:
                raise
            refused[archive.id] = e
    known = facts(forge.catalogue, filed.values())
    ingested = Ingested.of(ours.conversations, ours.candidates)
    folded = refold(forge.catalogue, ours, known, list(new.values()), ingested)
    archives = [archive for archive, _ in new.values()]
    proposed = (candidate_from(archive, each) for archive, text in new.values() for each in text.possible)
    return Change(
        writes=(*folded.changes.writes, *{c.id: c for c in proposed if ours.get(c.id) is None}.values()),
        deletes=tuple(entity_path(entity) for entity in folded.changes.deletes),
        subject=subject_of("sync: file", archives, "archives"),
        trailers=(
            ("Forgekit-Op", "sync-compression"),
            *(("Forgekit-Archive", archive.id) for archive in archives),
            *(("Forgekit-Conversation", c) for c in sorted({a.conversation_id for a in archives})),
        ),
        result=_Decided(ours, folded, frozenset(new), refused),
    )


def _replaces(
    forge: Forge, present: Archive, archive: Archive, text: ArchiveText, options: ImportOptions
) -> bool:
    """Say whether an archive takes the place of the filed one, as the same text without words behind it.

    Raises ArchiveError for another text or other options.
    """
    if same_archive(present, archive):
        _require_same_options(present, archive, options)
        return False
    if words_behind(facts(forge.catalogue, [present])[0], (archive, text)):
        return True
    name = short_id(Kind.ARCHIVE, present.id)
    if archive.compression_tag != present.compression_tag:
        raise ArchiveError(
            f"{name} ({present.compression_tag}) has the title, time and turns of {archive.compression_tag}; "
            "--title gives this one's conversation a name of its own, --replace puts it in the other's place"
        )
    raise ArchiveError(
        f"{name} is already filed for this conversation, time and turns, with another text; "
        "--replace puts this one in its place"
    )


def _require_same_options(present: Archive, archive: Archive, given: ImportOptions) -> None:
    """Refuse options that the filed archive does not have: filing it again would drop them."""
    parents = {one_line(parent) for parent in given.inherits_from}
    known = {*present.inherits_from, present.compression_tag, present.conversation_id}
    different = [
        name
        for name, differs in (
            ("tag", given.tag and archive.compression_tag != present.compression_tag),
            ("parent", parents - known),
            ("external id", given.external_id and archive.external_id != present.external_id),
            ("title", given.title and archive.conversation_title != present.conversation_title),
        )
        if differs
    ]
    if different:
        short = short_id(Kind.ARCHIVE, archive.id)
        raise ArchiveError(
            f"{short} is already filed with another {' and '.join(different)}, and filing it again changes "
            "nothing; --replace files it anew, and `forgekit lineage new` joins a parent"
        )


def words_behind(longer: Fact, shorter: Fact) -> bool:
    """Say whether one text is the other archive and words behind it: a message that it was pasted into."""
    long, short = bare_text(longer[0]), bare_text(shorter[0])
    rest = long[len(short) :]
    return long.startswith(short) and "\n#" not in rest and _ids(longer[1]) == _ids(shorter[1])


def _ids(text: ArchiveText) -> set[str]:
    records = (*text.decisions, *text.carried), text.threads, text.artifacts, text.updates, text.clauses
    return {record.local_id for some in records for record in some}


def _warnings_elsewhere(decided: _Decided, here: Collection[EntityId]) -> Iterable[Problem]:
    """Yield the warnings that archives filed earlier get by this filing."""
    for key, problems in sorted(decided.folded.after.problems.items()):
        known = decided.folded.before.problems.get(key, ())
        tag = decided.folded.after.entities[key].title
        for problem in problems if key not in here else ():
            if problem.severity is Severity.WARNING and problem not in known:
                place = f", line {problem.line}" if problem.line else ""
                yield replace(problem, message=f"in {tag}{place}: {problem.message}", line=None)


def _report(
    archive: Archive, text: ArchiveText, decided: _Decided, *, new: bool, now: Instant
) -> FiledArchive:
    written = {entity.id: entity for entity in decided.folded.changes.writes}
    mentions = decided.folded.after.mentions
    overruled = []
    shown = [each.local_id for each in text.threads if each.status in {None, ThreadStatus.OPEN}]
    shown += [each.local_id for each in text.decisions if each.status is DecisionStatus.ACTIVE]
    for local_id in shown:
        key = mentions.get((archive.id, local_id))
        known = written.get(key) or decided.ours.get(key) if key else None
        ended = isinstance(known, (Thread, Decision)) and known.status.ended
        here = archive.conversation_id in (
            getattr(known, "resolved_in", ""),
            getattr(known, "revised_in", ""),
        )
        if isinstance(known, (Thread, Decision)) and ended and not here:
            overruled.append((local_id, known))
    filed = written.get(archive.id) or decided.ours.get(archive.id)
    doubts = [_doubtful_date(archive.compressed_at, now), _used_tag(archive, decided.tagged)] if new else []
    return FiledArchive(
        archive=filed if isinstance(filed, Archive) else archive,
        new=new,
        decisions=sum((archive.id, record.local_id) in mentions for record in text.decisions),
        threads=sum((archive.id, record.local_id) in mentions for record in text.threads),
        artifacts=len(text.artifacts),
        coverage=Coverage.of(text),
        problems=(*filter(None, doubts), *text.problems, *decided.folded.after.problems.get(archive.id, ())),
        overruled=tuple(overruled),
    )


def _used_tag(archive: Archive, tagged: Mapping[tuple[str, EntityId], Sequence[Archive]]) -> Problem | None:
    """Return a warning for a tag that an archive of another conversation has too."""
    for other in tagged.get((archive.compression_tag, archive.project_uuid), ()):
        if other.conversation_id != archive.conversation_id:
            message = f"{short_id(other.kind, other.id)} has the tag {archive.compression_tag} too"
            fix = "name the archive by its id where the tag means both, or file it with another --tag"
            return warning("tag-used", message, fix=fix)
    return None


def _doubtful_date(at: Instant, now: Instant) -> Problem | None:
    """Return a warning for an unknown date, and for one more than a day ahead (time zones differ)."""
    if at == UNKNOWN:
        message, fix = "no date was found", "say --at DATE; once it is filed, `git revert` that commit first"
    elif at > now + DAY_MS:
        message = f"its date, {format_date(at)}, lies ahead"
        fix = "if that is a slip, `git revert` the commit that filed it, and file the corrected text"
    else:
        return None
    return warning("doubtful-date", message, fix=fix)
