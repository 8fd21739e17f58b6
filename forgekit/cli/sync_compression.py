"""`forgekit sync-compression`: file an archive and register what it says."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forgekit import console
from forgekit.cli.base import (
    MOMENT,
    PATH,
    example,
    is_dry_run,
    open_forge,
    options,
    project_option,
    wants_json,
    writing,
)
from forgekit.cli.changes import done
from forgekit.cli.entities import problem_view
from forgekit.errors import UsageError
from forgekit.model.kinds import Kind, short_id
from forgekit.times import Instant, format_date

if TYPE_CHECKING:
    from forgekit.filing.archives import FiledArchive, SyncReport
    from forgekit.model.entity import Entity

_PROBLEMS_SHOWN = 40
_LONGEST = 512_000_000
"""Bytes read from standard input."""


@click.command(
    help="File archives and register their decisions, threads and lineage, in one commit.\n\n"
    "FILE `-` is standard input. Filing an archive again changes nothing.\n\n"
    + example(
        "forgekit sync-compression --archive archive.md",
        'pbpaste | forgekit sync-compression --archive - --project "The Nexus"',
        "forgekit sync-compression archives-to-file/*.md --dry-run",
    )
)
@click.argument("files", nargs=-1, type=PATH, metavar="[FILE]...")
@click.option(
    "--archive", "archives", multiple=True, type=PATH, metavar="FILE|-", help="An archive; repeatable."
)
@project_option
@click.option("--tag", metavar="TAG", help="The compression tag, where the text names none.")
@click.option(
    "--at", type=MOMENT, metavar="DATE", help="When it was compressed, where the text does not say."
)
@click.option("--parent", "parents", multiple=True, metavar="TAG", help="What it continues; repeatable.")
@click.option("--external-id", metavar="UUID", help="The platform's own id of the conversation.")
@click.option("--title", metavar="TEXT", help="The conversation's title.")
@writing
def sync_compression(
    files: tuple[str, ...],
    archives: tuple[str, ...],
    project: str | None,
    tag: str | None,
    at: Instant | None,
    parents: tuple[str, ...],
    external_id: str | None,
    title: str | None,
    *,
    dry_run: bool,
    no_commit: bool,
) -> None:
    """File archives."""
    from forgekit.archives.identity import ImportOptions
    from forgekit.filing.archives import Incoming
    from forgekit.filing.archives import sync_compression as file_archives

    names = [*archives, *files]
    if not names:
        raise UsageError("which archive? say --archive FILE, or --archive - and paste it")
    if names.count("-") > 1:
        raise UsageError("standard input can be read once; give `-` once")
    way = options(dry_run=dry_run, no_commit=no_commit)
    forge = open_forge()
    envelope = ImportOptions(
        project=project and forge.project(project, forge.registry()),
        at=at,
        tag=tag,
        external_id=external_id,
        title=title,
        inherits_from=parents,
    )
    incoming = [
        Incoming(envelope=envelope, data=_pasted(), name="standard input")
        if name == "-"
        else Incoming(envelope=envelope, path=Path(name), name=name)
        for name in names
    ]
    with console.progress(f"filing {console.count(len(incoming), 'archive')}"):
        report = file_archives(forge, incoming, dry_run=way.dry_run, no_commit=way.no_commit)
    if wants_json():
        console.as_json(_as_json(report))
    elif dry_run:
        if report.outcome.diff:
            console.diff(report.outcome.diff)
        _say(report, to=console.info)
    else:
        _say(report, to=console.data)


def _pasted() -> bytes:
    """Return what stands on standard input; a transcript may be longer than an archive."""
    if sys.stdin.isatty():
        console.info("paste the archive, then press Ctrl-D")
    return sys.stdin.buffer.read(_LONGEST)


def _say(report: SyncReport, to: Any) -> None:
    new = [filed for filed in report.filed if filed.new]
    for filed in report.filed:
        archive = filed.archive
        line = f"{short_id(Kind.ARCHIVE, archive.id)}  {archive.compression_tag}  ({archive.project_name})"
        to(line if filed.new else f"{line}: already filed")
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
            f"{format_date(thread.updated_at)}{where}: the registry stands"
        )
    shown = filed.problems[:_PROBLEMS_SHOWN]
    for problem in shown:
        place = f"{filed.archive.compression_tag}: {'line ' if problem.line else ''}"
        yield f"{problem.severity.value}: {place}{problem}"
    if len(filed.problems) > len(shown):
        yield f"... and {len(filed.problems) - len(shown)} more; --json shows all"


def _as_json(report: SyncReport) -> dict[str, object]:
    def ids(entities: Iterable[Entity]) -> list[dict[str, object]]:
        return [{"kind": e.kind.value, "id": e.id, "short_id": short_id(e.kind, e.id)} for e in entities]

    return {
        "commit": report.outcome.commit,
        "dry_run": is_dry_run(),
        "archives": [
            {
                "archive_id": filed.archive.id,
                "short_id": short_id(Kind.ARCHIVE, filed.archive.id),
                "compression_tag": filed.archive.compression_tag,
                "project_name": filed.archive.project_name,
                "conversation_id": filed.archive.conversation_id,
                "new": filed.new,
                "decisions": filed.decisions,
                "threads": filed.threads,
                "artifacts": filed.artifacts,
                "overruled": [
                    {"local_id": o.local_id, "thread_id": o.thread.id, "status": o.thread.status.value}
                    for o in filed.overruled
                ],
                "problems": [problem_view(problem) for problem in filed.problems],
            }
            for filed in report.filed
        ],
        "created": ids(report.created),
        "changed": ids(report.changed),
        "removed": ids(report.removed),
        "conflicts": [{"id": entity, "field": conflict.field} for entity, conflict in report.conflicts],
        "passed_over": list(report.passed_over),
    }
