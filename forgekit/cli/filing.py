"""Archives, conversations and notes in: `sync-compression`, `ingest` and `note add`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit import console
from forgekit.cli.call import Call, answer
from forgekit.cli.changes import (
    done,
    findings_after,
    headline,
    print_contradictions_of,
    print_findings,
    written,
)
from forgekit.errors import UsageError
from forgekit.model.entities import ConventionStatus, Decision, Entity, Thread, entity_path
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Severity
from forgekit.times import format_date

if TYPE_CHECKING:
    from forgekit.filing.archives import FiledArchive, SyncReport
    from forgekit.filing.conversations import IngestReport
    from forgekit.forge import Forge
    from forgekit.ids import EntityId

_LONGEST = 512_000_000
"""Bytes read from standard input; a transcript may be longer than an archive."""
_ARCHIVE_PROBLEMS = 40
_RECORDS, _WORDS = 60, 72
"""Lines of records that are printed, and characters of each one's text."""
_CONVERSATIONS = 20
"""How many conversations and how many of their problems are named."""


def sync_compression(call: Call) -> int:
    """File archives; return 1 where anything was lost."""
    from forgekit.archives.read import ImportOptions
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
        Incoming(options=given, data=_pasted("paste the archive", _LONGEST), name="standard input")
        if name == "-"
        else Incoming(options=given, path=Path(name), name=name)
        for name in names
    ]
    with console.progress(f"filing {console.count(len(incoming), 'archive')}"):
        report = file_archives(
            forge,
            incoming,
            replace_filed=bool(call["replace"]),
            strict=bool(call["strict"]),
            options=options,
        )
    if not call.as_json:  # printed at once: the judge may need some time
        console.diff(report.outcome.diff)
        _print_archives(report, to=console.info if call.dry_run else console.data)
    findings = findings_after(call, report.outcome, report.created)
    if not call.printed_json(report, findings=findings.with_losers()):
        print_findings(findings)
    for error in report.refused:
        console.info(f"forgekit: {error}")
    return int(bool(report.refused) or any(filed.lost for filed in report.filed if filed.new))


def _pasted(do: str, most: int) -> bytes:
    """Read standard input; `do` is what a person at a terminal is asked to do."""
    if sys.stdin.isatty():
        console.info(f"{do}, then press Ctrl-D")
    return sys.stdin.buffer.read(most)


def _print_archives(report: SyncReport, to: Any) -> None:
    for filed in report.filed:
        archive = filed.archive
        line = f"{short_id(Kind.ARCHIVE, archive.id)}  {archive.compression_tag}  ({archive.project_name})"
        to(line if filed.new else f"{line}: already filed")
        if filed.new:
            read, ids, fields = filed.coverage
            records = console.count(filed.decisions + filed.threads + filed.artifacts, "record")
            named = f"{read} of {console.count(ids, 'id')}" if ids else records
            to(f"  read {named}, {console.count(fields, 'labelled field')}")
    for line in _counts(report):
        to(f"  {line}")
    lines = list(_records(report))
    if len(lines) > _RECORDS:
        lines[_RECORDS:] = [f"and {len(lines) - _RECORDS:,} more records; `forgekit log -n 1` lists them"]
    for line in (*lines, *(remark for filed in report.filed for remark in _remarks(filed))):
        to(f"  {line}")
    for entity, conflict in report.conflicts:
        name = f"{short_id(entity.kind, entity.id)} “{console.one_line(entity.title)[:80]}”"
        if conflict.field:
            to(f"  {name}: {conflict.field} was changed by hand and by the archive; the file keeps the edit")
        elif conflict.winner is None:
            to(f"  {name} was deleted by hand; it stays deleted")
        else:
            to(f"  {name} is stated by no archive any more, and was changed since; its file stays")
    for line in report.passed_over:
        console.info(f"passed over: {line}")
    console.info(done(report.outcome, "already filed: nothing to do"))


def _of(entities: Iterable[Entity], kind: Kind) -> list[Any]:
    return [entity for entity in entities if entity.kind is kind]


def _counts(report: SyncReport) -> Iterator[str]:
    new = [filed for filed in report.filed if filed.new]
    if not new:
        return
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


def _records(report: SyncReport) -> Iterator[str]:
    """Yield a line for each decision and thread that is new or changed, in the order of local ids."""
    replaced: dict[EntityId, Any] = {entity.id: entity for entity in report.replaced}
    names = {key: name for filed in report.filed for name, key in filed.archive.records}

    def place(entity: Decision | Thread) -> tuple[bool, int, str]:
        name = names.get(entity.id) or entity.local_id or ""
        return entity.id in replaced, len(name), name  # D2 before D10

    for kind in (Kind.DECISION, Kind.THREAD):
        for entity in sorted([*_of(report.created, kind), *_of(report.changed, kind)], key=place):
            before = replaced.get(entity.id)
            now, old = _state(entity, before), _state(before) if before else None
            if now != old:
                name = entity.local_id or short_id(kind, entity.id)
                was = f"{old[0]} -> " if old and old[0] != now[0] else ""
                more = f"  [{', '.join(now[1])}]" if now[1] else ""
                words = console.one_line(entity.title)[:_WORDS]
                yield f"{'~' if old else '+'} {name}  {was}{now[0]}  {words}{more}"


def _state(entity: Decision | Thread, before: Decision | Thread | None = None) -> tuple[str, list[str]]:
    """Return the state of a decision or thread, and which fields it has, `other` than before."""
    if isinstance(entity, Decision):
        counts = [
            (len(entity.alternatives_rejected), "alternative", "alternatives"),
            (len(entity.dependencies), "dependency", "dependencies"),
        ]
        words = [entity.status.value, "" if entity.epistemic_tier is None else f"{entity.epistemic_tier:g}"]
        name = "rationale"
    else:
        counts = [(len(entity.blocked_by), "blocker", "blockers")]
        words = [entity.status.value, "" if entity.status.ended else entity.priority.value]
        name = "resolution"
    why, old = getattr(entity, name), getattr(before, name, None)
    word = "reason" if name == "rationale" else name
    fields = [f"other {word}" if old and old != why else word] if why else []
    fields += [console.count(number, one, many) for number, one, many in counts if number]
    return " ".join(filter(None, words)), fields


def _remarks(filed: FiledArchive) -> Iterator[str]:
    for name, entity in filed.overruled:
        yield _overruled(name, entity, filed.archive.compression_tag)
    for problem in filed.problems[:_ARCHIVE_PROBLEMS]:
        place = f"{filed.archive.compression_tag}: {'line ' if problem.line else ''}"
        yield f"{problem.severity.value}: {place}{problem}"
    if len(filed.problems) > _ARCHIVE_PROBLEMS:
        yield f"... and {len(filed.problems) - _ARCHIVE_PROBLEMS} more; --json shows all"


def _overruled(name: str, entity: Decision | Thread, tag: str) -> str:
    """Return what an archive shows of what has ended, and that the registry keeps it so."""
    if isinstance(entity, Decision):
        return f"{name} is shown active in {tag}; it is {entity.status.value}: the registry is kept"
    where = f" in {short_id(Kind.CONVERSATION, entity.resolved_in)}" if entity.resolved_in else ""
    ended = f"{entity.status.value} {format_date(entity.updated_at)}{where}"
    return f"{name} is shown open in {tag}; it was {ended}: the registry is kept"


def ingest(call: Call) -> None:
    """File conversations, or the notes of folders."""
    if call["form"] == "notes":
        _ingest_notes(call)
        return
    from forgekit.filing.conversations import ingest as file_conversations
    from forgekit.transcripts.formats import conversations
    from forgekit.transcripts.sources import ReadingState

    options, forge, reading = call.options, call.forge, ReadingState(call["paths"])
    with console.counter("conversations") as show:
        report = file_conversations(
            forge,
            conversations(call["paths"], call["form"], reading),
            project=(call["project"] and forge.project(call["project"], forge.registry())) or "",
            with_text=call["with_text"],
            options=options,
            shown=None if call.as_json else _CONVERSATIONS,
            progress=lambda number: show(number, reading.share()),
        )
    if not call.printed_json(report):
        console.diff(report.outcome.diff)
        _print_conversations(report, forge, console.info if call.dry_run else console.data)
    for name, number in report.elsewhere.items():
        stay = "1 conversation stays" if number == 1 else f"{number:,} conversations stay"
        console.info(
            f"{stay} in {name!r}, as the registry has it; "
            "`forgekit conversation edit ID --project NAME` moves one, with what waits for review"
        )


def _ingest_notes(call: Call) -> None:
    from forgekit.notes import ingest_folder
    from forgekit.worktree.local_state import record_gone

    for path in call["paths"]:
        with console.progress(f"reading {path}"):
            report = ingest_folder(call.forge, Path(path), project=call["project"], options=call.options)
        if call.printed_json(report, view="ingested_notes", dry_run=call.dry_run):
            continue
        console.diff(report.outcome.diff)
        for problem in report.problems[:_ARCHIVE_PROBLEMS]:
            console.info(f"left out: {problem.path} {problem.message}")
        for problem in report.unread[:_ARCHIVE_PROBLEMS]:
            console.info(f"front matter not read: {problem.path}: {problem.message}")
        for source in report.secret[:_ARCHIVE_PROBLEMS]:
            console.info(f"kept without a secret, which the file still holds: {source}")
        gone = {note.id: note for note in report.gone}
        first_time = set(gone) if call.dry_run else record_gone(call.forge.root, Path(path), gone)
        for note in [note for key, note in gone.items() if key in first_time][:_CONVERSATIONS]:
            name = f"{short_id(Kind.NOTE, note.id)} {console.one_line(note.title)}"
            console.info(
                f"{name}: its file is gone; the note stays (`git rm {entity_path(note)}` deletes it)"
            )
        counts = {state: report.states.get(state, 0) for state in ("new", "changed", "moved", "unchanged")}
        counts |= {"gone": len(report.gone), "left out": len(report.problems)}
        counts |= {"redacted": sum(report.redacted.values())}
        parts = ", ".join(f"{number:,} {state}" for state, number in counts.items())
        console.info(f"ingest notes: {parts}: {done(report.outcome)}")


def note_add(call: Call) -> None:
    """Keep a note from a file or standard input."""
    from forgekit.notes import TEXT_LIMIT, add

    values = dict(call.values)
    name = values.pop("file", None)
    try:
        if name in {None, "-"}:
            data = _pasted("type the note", TEXT_LIMIT + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(TEXT_LIMIT + 1)
        if len(data) > TEXT_LIMIT:
            raise UsageError(f"a note has at most {TEXT_LIMIT:,} bytes; split it")
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{name or 'standard input'} is no text in UTF-8") from None
    except OSError as e:
        raise UsageError(f"cannot read {name}: {e.strerror}; a text comes from standard input") from None
    made = add(call.forge, text, options=call.options, **values)
    if not call.printed_json(made):
        written(made, call)


def _print_conversations(report: IngestReport, forge: Forge, to: Any) -> None:
    changed = sum(report.states.values()) - report.states.get("unchanged", 0)
    for item in report.filed:
        more = f", {console.count(item.candidates, 'candidate')}" if item.candidates else ""
        one = item.conversation
        to(
            f"{item.state}  {short_id(Kind.CONVERSATION, one.id)}  {console.one_line(one.title)}  "
            f"({console.one_line(one.project_name)}, {_FROM[item.project_from]}): "
            f"{console.count(item.new_turns, 'new turn')}{more}"
        )
    if changed > len(report.filed):
        to(f"and {changed - len(report.filed):,} more")
    for problem in report.problems[:_CONVERSATIONS]:
        console.info(f"{problem.severity.value}: {problem}")
    if len(report.problems) > _CONVERSATIONS:
        console.info(f"and {len(report.problems) - _CONVERSATIONS:,} more findings; --json lists them all")
    parts = [f"{report.states.get(state, 0):,} {state}" for state in ("new", "joined", "grown", "unchanged")]
    counts = report.counts
    filed = [
        console.count(counts["archives"], "archive"),
        f"{console.count(counts['registered'], 'decision or thread', 'decisions and threads')} registered",
        console.count(counts["edges"], "new lineage edge"),
        console.count(counts["waiting"], "candidate"),
        console.count(sum(report.redacted.values()), "secret") + " redacted",
        f"{sum(p.severity is not Severity.INFO for p in report.problems):,} doubtful",
    ]
    last = f", the last of {len(report.commits):,} commits" if len(report.commits) > 1 else ""
    console.info(f"ingest: {', '.join(parts)}; {', '.join(filed)}: {done(report.outcome)}{last}")
    if counts["unplaced"]:
        conversations = console.count(counts["unplaced"], "conversation")
        move = (
            "`forgekit conversation edit ID --project NAME` moves one; before an ingest, "
            if report.commits
            else ""
        )
        console.info(
            f"nothing names the project of {conversations}: {move}[projects] patterns in forgekit.toml or "
            "--project NAME give it"
        )
    _print_conventions(report, forge)
    if counts["waiting"]:
        console.info("next: `forgekit review`")


def _print_conventions(report: IngestReport, forge: Forge) -> None:
    decayed = {each.id for each in report.decayed}
    stated = [each for each in report.conventions if each.status is ConventionStatus.ACTIVE]
    active = [each for each in stated if each.id not in decayed]
    for each in active:
        console.info(f"active at once, as it was stated: {headline(each)}")
    if active:
        console.info("`forgekit convention retire ID` ends it")
    print_contradictions_of(forge, active)
    if proposed := len(report.conventions) - len(stated):
        console.info(f"{console.count(proposed, 'convention')} observed; `forgekit convention list`")
    for each in report.decayed:
        console.info(f"decayed, as no session used it lately: {headline(each)}")


_FROM = {
    "registry": "as registered",
    "export": "named by the export",
    "settings": "by forgekit.toml",
    "option": "by --project",
    "folder": "after its working folder",
    "nothing": "nothing names its project",
}


def archive_shown(call: Call) -> int:
    """Show an archive.

    Raises UsageError for `--text --json`.
    """
    if call["text"] and call.as_json:
        raise UsageError("--text prints the archive byte for byte, which JSON is not; leave one of them out")
    return answer(call)
