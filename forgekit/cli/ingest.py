"""Conversations in: `ingest` and `watch`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit import console
from forgekit.cli.changes import done
from forgekit.errors import ForgeError, FormatError, NotFoundError, UsageError
from forgekit.model.kinds import Kind, short_id

if TYPE_CHECKING:
    from forgekit.change import WriteOptions
    from forgekit.cli.call import Call
    from forgekit.filing.conversations import IngestReport
    from forgekit.model.problem import Problem
    from forgekit.model.transcript import ImportedConversation
    from forgekit.transcripts.sources import ReadingState

_SHOWN = 20


def ingest(call: Call) -> None:
    """File conversations."""
    from forgekit.transcripts.formats import conversations
    from forgekit.transcripts.sources import ReadingState

    options, paths = call.options, call["paths"]
    reading = ReadingState(paths)
    report = _filed(call, conversations(paths, call["form"], reading), reading, options)
    if not call.printed_json(report):
        if call.dry_run and report.outcome.diff:
            console.diff(report.outcome.diff)
        _say(report, to=console.info if call.dry_run else console.data)
    for name, number in report.elsewhere.items():
        stay = "1 conversation stays" if number == 1 else f"{number:,} conversations stay"
        console.info(
            f"{stay} in {name!r}, as the registry has it; to move it, `git revert` the commit that filed it "
            "and ingest again"
        )


def _filed(
    call: Call,
    found: Iterable[ImportedConversation | Problem],
    reading: ReadingState,
    options: WriteOptions,
) -> IngestReport:
    from forgekit.filing.conversations import ingest as file_conversations

    forge = call.forge
    project = call["project"] and forge.project(call["project"], forge.registry())
    with console.counter("conversations") as show:
        return file_conversations(
            forge,
            found,
            project=project or "",
            with_text=call["with_text"],
            options=options,
            shown=None if call.as_json else _SHOWN,
            progress=lambda number: show(number, reading.share()),
        )


def _say(report: IngestReport, to: Any) -> None:
    changed = sum(report.states.values()) - report.states.get("unchanged", 0)
    for filed in report.filed:
        more = f", {console.count(filed.candidates, 'candidate')}" if filed.candidates else ""
        one = filed.conversation
        to(
            f"{filed.state}  {short_id(Kind.CONVERSATION, one.id)}  {console.one_line(one.title)}  "
            f"({console.one_line(one.project_name)}, {_FROM[filed.project_from]}): "
            f"{console.count(filed.new_turns, 'new turn')}{more}"
        )
    if changed > len(report.filed):
        to(f"and {changed - len(report.filed):,} more")
    for problem in report.problems[:_SHOWN]:
        console.info(f"{problem.severity.value}: {problem}")
    if len(report.problems) > _SHOWN:
        console.info(f"and {len(report.problems) - _SHOWN:,} more findings; --json lists them all")
    parts = [f"{report.states.get(state, 0):,} {state}" for state in ("new", "joined", "grown", "unchanged")]
    counts = report.counts
    filed_ = [
        console.count(counts["archives"], "archive"),
        f"{console.count(counts['registered'], 'decision or thread', 'decisions and threads')} registered",
        console.count(counts["edges"], "new lineage edge"),
        console.count(counts["waiting"], "candidate"),
        console.count(sum(report.redacted.values()), "secret") + " redacted",
        f"{len(report.problems):,} doubtful",
    ]
    console.info(f"ingest: {', '.join(parts)}; {', '.join(filed_)}: {_done(report)}")
    if counts["unplaced"]:
        conversations = console.count(counts["unplaced"], "conversation")
        undo = "after a `git revert`, " if report.commits else ""
        console.info(
            f"nothing names the project of {conversations}: {undo}give [projects] patterns in forgekit.toml "
            "or --project NAME, and ingest again"
        )
    if counts["waiting"]:
        console.info("next: `forgekit review`")


def _done(report: IngestReport) -> str:
    more = len(report.commits)
    return done(report.outcome) + (f", the last of {more:,} commits" if more > 1 else "")


_FROM = {
    "registry": "as registered",
    "export": "named by the export",
    "settings": "by forgekit.toml",
    "option": "by --project",
    "folder": "after its working folder",
    "nothing": "nothing names its project",
}


def watch(call: Call) -> None:
    """Ingest again and again."""
    from forgekit.change import COMMITTED
    from forgekit.transcripts.sources import ReadingState

    path = call["path"]
    if not Path(path).exists():
        raise UsageError(f"{path} does not exist")
    _ = call.forge
    seen: dict[str, tuple[int, int]] = {}
    reported: set[str] = set()
    left = call["times"]
    while left is None or left > 0:
        now = _state(path)
        changed = sorted(name for name, state in now.items() if seen.get(name) != state)
        if changed:
            unread: dict[str, str] = {}
            try:
                reading = ReadingState(changed)
                found = _each(changed, call["form"], reading, unread, given=not Path(path).is_dir())
                report = _filed(replace(call), found, reading, COMMITTED)  # opened anew, with its settings
            except (ForgeError, OSError) as e:
                wrong = {str(e)}  # nothing counts as seen, and all of it is tried again
            else:
                wrong = set(unread.values())
                seen = {name: state for name, state in now.items() if name not in unread}
                if len(unread) < len(changed):
                    _say(report, to=console.data)
            for message in sorted(wrong - reported):
                console.info(f"forgekit: {message}")
            reported = wrong
        left = None if left is None else left - 1
        if left != 0:
            time.sleep(call["every"])


def _each(
    paths: Iterable[str], form: str, reading: ReadingState, unread: dict[str, str], *, given: bool
) -> Iterator[ImportedConversation | Problem]:
    """Read files one by one; one that is no conversation is reported, and does not stop the others.

    A file that cannot be read now comes into `unread`, with the reason.
    """
    from forgekit.model.problem import Problem, Severity
    from forgekit.transcripts.formats import conversations

    for path in paths:
        try:
            yield from conversations([path], form, reading, given=given)
        except FormatError as e:
            yield Problem(
                code="no-conversation", message=e.message, path=path, line=e.line, severity=Severity.WARNING
            )
        except (NotFoundError, OSError) as e:
            unread[path] = f"{path}: {e}"


def _state(path: str) -> dict[str, tuple[int, int]]:
    """Return time and size of each file that is read."""
    from forgekit.transcripts.sources import files_of

    found: dict[str, tuple[int, int]] = {}
    for place in files_of(path):
        with suppress(OSError):
            status = Path(place).stat()
            found[place] = status.st_mtime_ns, status.st_size
    return found
