"""Conversations in: `ingest` and `watch`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forgekit import console
from forgekit.cli.base import PATH, example, is_dry_run, open_forge, options, wants_json, writing
from forgekit.cli.changes import conflict_lines, conflict_view, done, talk_of_judge
from forgekit.cli.entities import problem_view
from forgekit.errors import ForgeError, FormatError, NotFoundError, UsageError
from forgekit.model.kinds import Kind, short_id

if TYPE_CHECKING:
    from forgekit.change import WriteOptions
    from forgekit.filing.conversations import IngestReport
    from forgekit.model.problem import Problem
    from forgekit.model.transcript import ImportedConversation
    from forgekit.transcripts.sources import ReadingState

FORMATS = ("auto", "claude", "claude-code", "chatgpt", "specstory", "markdown")
_SHOWN = 20
_with_text = click.option(
    "--with-text/--without-text", default=None, help="Keep the whole text; as the settings say else."
)
_default_project = click.option(
    "--project", metavar="NAME", help="For conversations of which nothing else says the project."
)


@click.command(
    help="File conversations from exports and transcripts; a second time changes nothing.\n\n"
    f"FORMAT is one of {', '.join(FORMATS)}. PATH may be a folder, a .zip or .gz file, or `-`. Each commit "
    "files up to 500 conversations; after an end in the middle, run it again. A dry run and --no-commit hold "
    "all of it in memory, --json the names of all that it filed.\n\n"
    + example(
        "forgekit ingest auto ~/.claude/projects --with-text",
        'forgekit ingest claude conversations.json --project "The Nexus" --dry-run',
    )
)
@click.argument("form", metavar="FORMAT", type=click.Choice(FORMATS))
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
@_default_project
@_with_text
@writing
def ingest(
    form: str,
    paths: tuple[str, ...],
    project: str | None,
    *,
    with_text: bool | None,
    dry_run: bool,
    no_commit: bool,
) -> None:
    """File conversations."""
    way = options(dry_run=dry_run, no_commit=no_commit)
    from forgekit.transcripts.formats import conversations
    from forgekit.transcripts.sources import ReadingState

    reading = ReadingState(paths)
    report = _filed(conversations(paths, form, reading), reading, project or "", with_text, way)
    if wants_json():
        console.as_json(_as_json(report))
    else:
        if dry_run and report.outcome.diff:
            console.diff(report.outcome.diff)
        _say(report, to=console.info if dry_run else console.data)
    for name, number in report.elsewhere.items():
        stay = "1 conversation stays" if number == 1 else f"{number:,} conversations stay"
        console.info(
            f"{stay} in {name!r}, as the registry has it; to move it, `git revert` the commit that filed it "
            "and ingest again"
        )


def _filed(
    found: Iterable[ImportedConversation | Problem],
    reading: ReadingState,
    project: str,
    with_text: bool | None,
    way: WriteOptions,
) -> IngestReport:
    from forgekit.filing.conversations import ingest as file_conversations

    forge = open_forge()
    project = (project and forge.project(project, forge.registry())) or ""
    with console.counter("conversations") as show:
        report = file_conversations(
            forge,
            found,
            project=project,
            with_text=with_text,
            options=way,
            shown=None if wants_json() else _SHOWN,
            progress=lambda number: show(number, reading.share()),
        )
    talk_of_judge(forge)
    return report


def _say(report: IngestReport, to: Any) -> None:
    changed = sum(report.states.values()) - report.states.get("unchanged", 0)
    for filed in report.filed:
        more = f", {console.count(filed.candidates, 'candidate')}" if filed.candidates else ""
        to(
            f"{filed.state}  {short_id(Kind.CONVERSATION, filed.id)}  {console.one_line(filed.title)}  "
            f"({console.one_line(filed.project_name)}, said by {_BY[filed.placed]}): "
            f"{console.count(filed.new_turns, 'new turn')}{more}"
        )
    if changed > len(report.filed):
        to(f"and {changed - len(report.filed):,} more")
    for problem in report.problems[:_SHOWN]:
        console.info(f"{problem.severity.value}: {problem}")
    if len(report.problems) > _SHOWN:
        console.info(f"and {len(report.problems) - _SHOWN:,} more findings; --json lists them all")
    for conflict in report.contradictions:
        for line in conflict_lines(conflict):
            console.info(line)
    parts = [f"{report.states.get(state, 0):,} {state}" for state in ("new", "joined", "grown", "unchanged")]
    filed_ = [
        console.count(report.archives, "archive"),
        f"{console.count(report.registered, 'decision or thread', 'decisions and threads')} registered",
        console.count(report.edges, "new lineage edge"),
        console.count(report.waiting, "candidate"),
        console.count(sum(report.redacted.values()), "secret") + " redacted",
        f"{len(report.problems):,} doubtful",
    ]
    console.info(f"ingest: {', '.join(parts)}; {', '.join(filed_)}: {_done(report)}")
    if report.unplaced:
        talks = console.count(report.unplaced, "conversation")
        undo = "after a `git revert`, " if report.commits else ""
        console.info(
            f"nothing said the project of {talks}: {undo}give [projects] patterns in forgekit.toml "
            "or --project NAME, and ingest again"
        )
    if report.waiting:
        console.info("next: `forgekit review`")


def _done(report: IngestReport) -> str:
    more = len(report.commits)
    return done(report.outcome) + (f", the last of {more:,} commits" if more > 1 else "")


_BY = {
    "registry": "the registry",
    "export": "the export",
    "settings": "forgekit.toml",
    "option": "--project",
    "nothing": "nothing",
}


def _as_json(report: IngestReport) -> dict[str, object]:
    return {
        "commit": report.outcome.commit,
        "commits": list(report.commits),
        "dry_run": is_dry_run(),
        "written": sorted(report.outcome.written),
        "conversations": [
            {
                "conversation_id": filed.id,
                "external_id": filed.external_id,
                "title": filed.title,
                "project_name": filed.project_name,
                "project_from": filed.placed,
                "state": filed.state,
                "turns": filed.turns,
                "new_turns": filed.new_turns,
                "candidates": filed.candidates,
            }
            for filed in report.filed
        ],
        "archives": report.archives,
        "registered": report.registered,
        "edges": report.edges,
        "candidates": list(report.candidates),
        "redacted": dict(report.redacted),
        "problems": [problem_view(problem) for problem in report.problems],
        "conflicts": [conflict_view(conflict) for conflict in report.contradictions],
    }


@click.command(
    help="Ingest what appears or changes below a path, again and again, until Ctrl-C.\n\n"
    "From cron: `*/10 * * * * forgekit -C REGISTRY ingest auto PATH`.\n\n"
    + example("forgekit watch ~/.claude/projects --every 300")
)
@click.argument("path", type=PATH)
@click.option("--every", type=click.IntRange(1), default=60, show_default=True, metavar="SECONDS")
@click.option("--format", "form", type=click.Choice(FORMATS), default="auto", show_default=True)
@click.option("--times", type=click.IntRange(1), metavar="N", help="Look so many times, then stop.")
@_default_project
@_with_text
def watch(
    path: str, every: int, form: str, times: int | None, project: str | None, *, with_text: bool | None
) -> None:
    """Ingest again and again."""
    from forgekit.change import COMMITTED
    from forgekit.transcripts.sources import ReadingState

    if not Path(path).exists():
        raise UsageError(f"{path} does not exist")
    open_forge()
    seen: dict[str, tuple[int, int]] = {}
    told: set[str] = set()
    left = times
    while left is None or left > 0:
        now = _state(path)
        changed = sorted(name for name, state in now.items() if seen.get(name) != state)
        if changed:
            unread: dict[str, str] = {}
            try:
                reading = ReadingState(changed)
                found = _each(changed, form, reading, unread, given=not Path(path).is_dir())
                report = _filed(found, reading, project or "", with_text, COMMITTED)
            except (ForgeError, OSError) as e:
                wrong = {str(e)}  # nothing counts as seen, and all of it is tried again
            else:
                wrong = set(unread.values())
                seen = {name: state for name, state in now.items() if name not in unread}
                if len(unread) < len(changed):
                    _say(report, to=console.data)
            for message in sorted(wrong - told):
                console.info(f"forgekit: {message}")
            told = wrong
        left = None if left is None else left - 1
        if left != 0:
            time.sleep(every)


def _each(
    paths: Iterable[str], form: str, reading: ReadingState, unread: dict[str, str], *, given: bool
) -> Iterator[ImportedConversation | Problem]:
    """Read files one by one; one that is no conversation is told, and keeps no other back.

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
