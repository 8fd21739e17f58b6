"""`forgekit sync-compression`: file an archive and register what it records."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit import console
from forgekit.cli.changes import done, findings_after, print_findings
from forgekit.errors import UsageError
from forgekit.model.kinds import Kind, short_id
from forgekit.times import format_date

if TYPE_CHECKING:
    from forgekit.cli.call import Call
    from forgekit.filing.archives import FiledArchive, SyncReport
    from forgekit.model.entities import Entity

_PROBLEMS_SHOWN = 40
_LONGEST = 512_000_000
"""Bytes read from standard input."""


def sync_compression(call: Call) -> int:
    """File archives; return 1 where anything was lost."""
    from forgekit.archives.identity import ImportOptions
    from forgekit.filing.archives import Incoming
    from forgekit.filing.archives import sync_compression as file_archives

    names = [*(call["archives"] or ()), *(call["files"] or ())]
    if not names:
        raise UsageError("which archive? say --archive FILE, or --archive - and paste it")
    if names.count("-") > 1:
        raise UsageError("standard input can be read once; give `-` once")
    options, forge, project = call.options, call.forge, call["project"]
    given = ImportOptions(
        project=project and forge.project(project, forge.registry()),
        at=call["at"],
        tag=call["tag"],
        external_id=call["external_id"],
        title=call["title"],
        inherits_from=call["parents"] or (),
    )
    incoming = [
        Incoming(envelope=given, data=_pasted(), name="standard input")
        if name == "-"
        else Incoming(envelope=given, path=Path(name), name=name)
        for name in names
    ]
    with console.progress(f"filing {console.count(len(incoming), 'archive')}"):
        report = file_archives(
            forge,
            incoming,
            replace_filed=bool(call["replace"]),
            strict=bool(call["strict"]),
            dry_run=options.dry_run,
            no_commit=options.no_commit,
        )
    findings = findings_after(call, report.outcome, report.created)
    if call.as_json:
        from forgekit.insight import views

        console.as_json(views.filed(report, dry_run=call.dry_run, findings=findings.with_losers()))
        return _status(report)
    if call.dry_run and report.outcome.diff:
        console.diff(report.outcome.diff)
    _say(report, to=console.info if call.dry_run else console.data)
    print_findings(findings)
    return _status(report)


def _status(report: SyncReport) -> int:
    """Name what was refused, and return the exit status."""
    for error in report.refused:
        console.info(f"forgekit: {error}")
    return int(bool(report.refused) or any(filed.lost for filed in report.filed if filed.new))


def _pasted() -> bytes:
    """Return standard input; a transcript may be longer than an archive."""
    if sys.stdin.isatty():
        console.info("paste the archive, then press Ctrl-D")
    return sys.stdin.buffer.read(_LONGEST)


def _say(report: SyncReport, to: Any) -> None:
    new = [filed for filed in report.filed if filed.new]
    for filed in report.filed:
        archive = filed.archive
        line = f"{short_id(Kind.ARCHIVE, archive.id)}  {archive.compression_tag}  ({archive.project_name})"
        to(line if filed.new else f"{line}: already filed")
        if filed.new:
            read, ids, fields = filed.coverage
            to(f"  read {read} of {console.count(ids, 'id')}, {console.count(fields, 'labelled field')}")
    if new:
        for line in _counts(report, new):
            to(f"  {line}")
    remarks = (line for filed in report.filed for line in _remarks(filed))
    for line in (*remarks, *_conflict_lines(report)):
        to(f"  {line}")
    for line in report.passed_over:
        console.info(f"passed over: {line}")
    changed = report.outcome.written or report.outcome.deleted
    if report.outcome.diff:
        console.info(done(report.outcome))
    elif report.outcome.commit:
        console.info(f"committed as {report.outcome.commit[:10]}")
    elif changed:
        console.info(done(report.outcome))
    else:
        console.info("already filed: nothing to do")


def _conflict_lines(report: SyncReport) -> Iterable[str]:
    for entity, conflict in report.conflicts:
        yield (
            f"{entity}: {conflict.field or 'the file'} was changed by hand and by the archive, each in its "
            "own way; the file stays as it is"
        )


def _of(entities: Iterable[Entity], kind: Kind) -> list[Any]:
    return [entity for entity in entities if entity.kind is kind]


def _counts(report: SyncReport, new: list[FiledArchive]) -> Iterable[str]:
    decisions, threads = _of(report.created, Kind.DECISION), _of(report.created, Kind.THREAD)
    changed = _of(report.changed, Kind.THREAD)
    edges = [*_of(report.created, Kind.LINEAGE), *_of(report.changed, Kind.LINEAGE)]
    tags = {filed.archive.compression_tag for filed in report.filed} | {
        parent for filed in report.filed for parent in filed.archive.inherits_from
    }
    carried = {
        key
        for edge in edges
        for entry in edge.compressions
        if entry.compression_tag in tags
        for _, key in entry.decisions_carried
    }
    known = max(sum(filed.decisions for filed in new) - len(decisions), 0)
    yield f"decisions: {len(decisions)} new, {known} known, {len(carried)} carried"
    still = [thread for thread in (*threads, *changed) if not thread.status.ended]
    yield f"threads: {len(threads)} new, {len(report.ended)} resolved, {len(still)} still open"
    if edges:
        joined = ", ".join(
            f"{short_id(Kind.CONVERSATION, e.source_conversation_id)} -> "
            f"{short_id(Kind.CONVERSATION, e.target_conversation_id)}"
            for e in edges
        )
        yield f"lineage: {joined}"
    artifacts = sum(filed.artifacts for filed in new)
    if artifacts:
        yield f"artifacts: {artifacts}, kept in the archive"


def _remarks(filed: FiledArchive) -> Iterable[str]:
    for item in filed.overruled:
        thread = item.thread
        where = f" in {short_id(Kind.CONVERSATION, thread.resolved_in)}" if thread.resolved_in else ""
        yield (
            f"{item.local_id} is shown open in {filed.archive.compression_tag}; it was {thread.status.value} "
            f"{format_date(thread.updated_at)}{where}: the registry is kept"
        )
    shown = filed.problems[:_PROBLEMS_SHOWN]
    for problem in shown:
        place = f"{filed.archive.compression_tag}: {'line ' if problem.line else ''}"
        yield f"{problem.severity.value}: {place}{problem}"
    if len(filed.problems) > len(shown):
        yield f"... and {len(filed.problems) - len(shown)} more; --json shows all"
