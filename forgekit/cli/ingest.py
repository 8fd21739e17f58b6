"""Conversations in: `ingest` and `watch`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forgekit.cli import output
from forgekit.cli.base import PATH, example, how, is_dry_run, open_forge, wants_json, writing
from forgekit.cli.entities import problem_view
from forgekit.cli.written import conflict_lines, conflict_view, done, talk_of_judge
from forgekit.errors import ForgeError, FormatError, NotFoundError, UsageError
from forgekit.model.kinds import Kind, short_id

if TYPE_CHECKING:
    from forgekit.ingest.sources import Reading
    from forgekit.loop.ingest_report import IngestReport
    from forgekit.model.problem import Problem
    from forgekit.model.transcript import Transcript
    from forgekit.writing import How

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
    way = how(dry_run=dry_run, no_commit=no_commit)
    from forgekit.ingest.formats import conversations  # noqa: PLC0415 - help loads no reader
    from forgekit.ingest.sources import Reading  # noqa: PLC0415 - as above

    reading = Reading(paths)
    report = _filed(conversations(paths, form, reading), reading, project or "", with_text, way)
    if wants_json():
        output.as_json(_as_json(report))
    else:
        if dry_run and report.outcome.diff:
            output.diff(report.outcome.diff)
        _say(report, to=output.talk if dry_run else output.data)
    for name, number in report.elsewhere.items():
        stay = "1 conversation stays" if number == 1 else f"{number:,} conversations stay"
        output.talk(
            f"{stay} in {name!r}, as the registry has it; to move it, `git revert` the commit that filed it "
            "and ingest again"
        )


def _filed(
    found: Iterable[Transcript | Problem], reading: Reading, project: str, with_text: bool | None, way: How
) -> IngestReport:
    from forgekit.loop.ingesting import ingest as file_conversations  # noqa: PLC0415 - as above

    forge = open_forge()
    project = (project and forge.project(project, forge.registry())) or ""
    with output.counter("conversations") as show:
        report = file_conversations(
            forge,
            found,
            project=project,
            with_text=with_text,
            how=way,
            shown=None if wants_json() else _SHOWN,
            progress=lambda number: show(number, reading.share()),
        )
    talk_of_judge(forge)
    return report


def _say(report: IngestReport, to: Any) -> None:
    changed = sum(report.states.values()) - report.states.get("unchanged", 0)
    for filed in report.filed:
        more = f", {output.count(filed.candidates, 'candidate')}" if filed.candidates else ""
        to(
            f"{filed.state}  {short_id(Kind.CONVERSATION, filed.id)}  {output.one_line(filed.title)}  "
            f"({output.one_line(filed.project_name)}, said by {_BY[filed.placed]}): "
            f"{output.count(filed.new_turns, 'new turn')}{more}"
        )
    if changed > len(report.filed):
        to(f"and {changed - len(report.filed):,} more")
    for problem in report.problems[:_SHOWN]:
        output.talk(f"{problem.severity.value}: {problem}")
    if len(report.problems) > _SHOWN:
        output.talk(f"and {len(report.problems) - _SHOWN:,} more findings; --json lists them all")
    for conflict in report.contradictions:
        for line in conflict_lines(conflict):
            output.talk(line)
    parts = [f"{report.states.get(state, 0):,} {state}" for state in ("new", "joined", "grown", "unchanged")]
    filed_ = [
        output.count(report.archives, "archive"),
        f"{output.count(report.registered, 'decision or thread', 'decisions and threads')} registered",
        output.count(report.edges, "new lineage edge"),
        output.count(report.waiting, "candidate"),
        output.count(sum(report.redacted.values()), "secret") + " redacted",
        f"{len(report.problems):,} doubtful",
    ]
    output.talk(f"ingest: {', '.join(parts)}; {', '.join(filed_)}: {_done(report)}")
    if report.unplaced:
        talks = output.count(report.unplaced, "conversation")
        undo = "after a `git revert`, " if report.commits else ""
        output.talk(
            f"nothing said the project of {talks}: {undo}give [projects] patterns in forgekit.toml "
            "or --project NAME, and ingest again"
        )
    if report.waiting:
        output.talk("next: `forgekit review`")


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
    from forgekit.ingest.sources import Reading  # noqa: PLC0415 - help loads no reader
    from forgekit.writing import COMMITTED  # noqa: PLC0415 - help loads no store

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
                reading = Reading(changed)
                found = _each(changed, form, reading, unread, given=not Path(path).is_dir())
                report = _filed(found, reading, project or "", with_text, COMMITTED)
            except (ForgeError, OSError) as e:
                wrong = {str(e)}  # nothing counts as seen, and all of it is tried again
            else:
                wrong = set(unread.values())
                seen = {name: state for name, state in now.items() if name not in unread}
                if len(unread) < len(changed):
                    _say(report, to=output.data)
            for message in sorted(wrong - told):
                output.talk(f"forgekit: {message}")
            told = wrong
        left = None if left is None else left - 1
        if left != 0:
            time.sleep(every)


def _each(
    paths: Iterable[str], form: str, reading: Reading, unread: dict[str, str], *, given: bool
) -> Iterator[Transcript | Problem]:
    """Read files one by one; one that is no conversation is told, and keeps no other back.

    A file that cannot be read now comes into `unread`, with the reason.
    """
    from forgekit.ingest.formats import conversations  # noqa: PLC0415 - help loads no reader
    from forgekit.model.problem import Problem, Severity  # noqa: PLC0415 - as above

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
    from forgekit.ingest.sources import files_of  # noqa: PLC0415 - help loads no reader

    found: dict[str, tuple[int, int]] = {}
    for place in files_of(path):
        with suppress(OSError):
            status = Path(place).stat()
            found[place] = status.st_mtime_ns, status.st_size
    return found
