"""Conversations in, and what they seem to have decided: `ingest`, `watch`, `review`."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forgekit.cli import output
from forgekit.cli.base import example, how, open_forge, project_option, wants_json, writing
from forgekit.cli.entities import problem_view
from forgekit.cli.written import conflict_lines, conflict_view, done, talk_of_judge
from forgekit.errors import ForgeError, FormatError, UsageError
from forgekit.model.kinds import Kind, short_id
from forgekit.times import format_date

if TYPE_CHECKING:
    from forgekit.loop.ingesting import IngestReport
    from forgekit.loop.reviewing import Answers, Reviewed, Waiting
    from forgekit.model.problem import Problem
    from forgekit.model.transcript import Transcript
    from forgekit.writing import How

FORMATS = ("auto", "claude", "claude-code", "chatgpt", "specstory", "markdown")
_SHOWN = 20
_SHARE = click.FloatRange(0.0, 1.0)
_with_text = click.option(
    "--with-text/--without-text", default=None, help="Keep the whole text; as the settings say else."
)
_default_project = click.option(
    "--project", metavar="NAME", help="For conversations of which nothing else says the project."
)


@click.command(
    help="File conversations from exports and transcripts, in one commit; a second time changes nothing.\n\n"
    f"FORMAT is one of {', '.join(FORMATS)}. PATH may be a folder, a .zip or .gz file, or `-`.\n\n"
    + example(
        "forgekit ingest auto ~/.claude/projects --with-text",
        'forgekit ingest claude conversations.json --project "The Nexus" --dry-run',
    )
)
@click.argument("form", metavar="FORMAT", type=click.Choice(FORMATS))
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
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

    report = _filed(conversations(paths, form), project or "", with_text, way)
    if wants_json():
        output.as_json(_as_json(report))
        return
    if dry_run and report.outcome.diff:
        output.diff(report.outcome.diff)
    _say(report, to=output.talk if dry_run else output.data)


def _filed(
    found: Iterable[Transcript | Problem], project: str, with_text: bool | None, way: How
) -> IngestReport:
    from forgekit.loop.ingesting import ingest as file_conversations  # noqa: PLC0415 - as above

    forge = open_forge()
    with output.counter("reading conversations") as progress:
        report = file_conversations(
            forge,
            found,
            project=project,
            with_text=with_text,
            how=way,
            progress=progress,
        )
    talk_of_judge(forge)
    return report


def _say(report: IngestReport, to: Any) -> None:
    states = Counter(filed.state for filed in report.filed)
    changed = [filed for filed in report.filed if filed.state != "unchanged"]
    for filed in changed[:_SHOWN]:
        talk = filed.conversation
        more = f", {output.count(filed.candidates, 'candidate')}" if filed.candidates else ""
        to(
            f"{filed.state}  {short_id(Kind.CONVERSATION, talk.id)}  {output.one_line(talk.title)}  "
            f"({output.one_line(talk.project_name)}, said by {_BY[filed.placed]}): "
            f"{output.count(filed.turns, 'new turn')}{more}"
        )
    if len(changed) > _SHOWN:
        to(f"and {len(changed) - _SHOWN:,} more")
    for problem in report.problems[:_SHOWN]:
        output.talk(f"{problem.severity.value}: {problem}")
    if len(report.problems) > _SHOWN:
        output.talk(f"and {len(report.problems) - _SHOWN:,} more findings; --json lists them all")
    for conflict in report.contradictions:
        for line in conflict_lines(conflict):
            output.talk(line)
    parts = [f"{states[state]:,} {state}" for state in ("new", "joined", "grown", "unchanged")]
    filed_ = [
        output.count(report.archives, "archive"),
        f"{output.count(report.registered, 'decision or thread', 'decisions and threads')} registered",
        output.count(report.edges, "new lineage edge"),
        output.count(len(report.candidates), "candidate"),
        output.count(sum(report.redacted.values()), "secret") + " redacted",
        f"{len(report.problems):,} doubtful",
    ]
    output.talk(f"ingest: {', '.join(parts)}; {', '.join(filed_)}: {done(report.outcome)}")
    if report.candidates:
        output.talk("next: `forgekit review`")


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
        "dry_run": bool(report.outcome.diff),
        "written": sorted(report.outcome.written),
        "conversations": [
            {
                "conversation_id": filed.conversation.id,
                "external_id": filed.conversation.external_id,
                "title": filed.conversation.title,
                "project_name": filed.conversation.project_name,
                "project_from": filed.placed,
                "state": filed.state,
                "turns": filed.conversation.turns,
                "new_turns": filed.turns,
                "candidates": filed.candidates,
            }
            for filed in report.filed
        ],
        "archives": report.archives,
        "registered": report.registered,
        "edges": report.edges,
        "candidates": [candidate.id for candidate in report.candidates],
        "redacted": dict(report.redacted),
        "problems": [problem_view(problem) for problem in report.problems],
        "conflicts": [conflict_view(conflict) for conflict in report.contradictions],
    }


@click.command(
    help="Ingest what appears or changes below a path, again and again, until Ctrl-C.\n\n"
    "From cron: `*/10 * * * * forgekit -C REGISTRY ingest auto PATH`.\n\n"
    + example("forgekit watch ~/.claude/projects --every 300")
)
@click.argument("path")
@click.option("--every", type=click.IntRange(1), default=60, show_default=True, metavar="SECONDS")
@click.option("--format", "form", type=click.Choice(FORMATS), default="auto", show_default=True)
@click.option("--times", type=click.IntRange(1), metavar="N", help="Look so many times, then stop.")
@_default_project
@_with_text
def watch(
    path: str, every: int, form: str, times: int | None, project: str | None, *, with_text: bool | None
) -> None:
    """Ingest again and again."""
    from forgekit.writing import COMMITTED  # noqa: PLC0415 - help loads no store

    if not Path(path).exists():
        raise UsageError(f"{path} does not exist")
    open_forge()
    seen: dict[str, tuple[int, int]] = {}
    left = times
    while left is None or left > 0:
        now = _state(path)
        changed = sorted(name for name, state in now.items() if seen.get(name) != state)
        if changed:
            seen = now  # what goes wrong is said once; a file that is still being written changes again
            try:
                _say(_filed(_each(changed, form), project or "", with_text, COMMITTED), to=output.data)
            except ForgeError as e:
                output.talk(f"forgekit: {e}")
        left = None if left is None else left - 1
        if left != 0:
            time.sleep(every)


def _each(paths: Iterable[str], form: str) -> Iterator[Transcript | Problem]:
    """Read files one by one; one that is no conversation is told, and keeps no other back."""
    from forgekit.ingest.formats import conversations  # noqa: PLC0415 - help loads no reader
    from forgekit.model.problem import Problem, Severity  # noqa: PLC0415 - as above

    for path in paths:
        try:
            yield from conversations([path], form)
        except FormatError as e:
            yield Problem(
                code="no-conversation", message=e.message, path=path, line=e.line, severity=Severity.WARNING
            )


def _state(path: str) -> dict[str, tuple[int, int]]:
    """Return size and time of each file; links are not followed."""
    found: dict[str, tuple[int, int]] = {}
    places = [path] if Path(path).is_file() else []
    for folder, _, names in os.walk(path):
        places += [str(Path(folder) / name) for name in names if not name.startswith(".")]
    for place in places:
        try:
            status = Path(place).lstat()
        except OSError:
            continue
        found[place] = status.st_mtime_ns, status.st_size
    return found


@click.command(
    help="List the candidates that wait for a person, and answer them.\n\n"
    "On a terminal, and with no answer given, each is asked about. ID is any name of a candidate.\n\n"
    + example(
        "forgekit review --list",
        "forgekit review --approve can_3f9a1c2b7d10 --reject can_9d0e4f5a6b7c",
        "forgekit review --merge can_3f9a1c2b7d10 dec_b34bfcd74276",
        'forgekit review --approve can_3f9a1c2b7d10 --title can_3f9a1c2b7d10 "Use Postgres for the queue"',
        "forgekit review --all-above 0.9",
    )
)
@click.option("--approve", multiple=True, metavar="ID", help="Register it; repeatable.")
@click.option("--reject", multiple=True, metavar="ID", help="It is none, never offer it again; repeatable.")
@click.option(
    "--merge", multiple=True, nargs=2, metavar="ID INTO", help="A registered one says it; repeatable."
)
@click.option("--title", "titles", multiple=True, nargs=2, metavar="ID TEXT", help="Reword it; repeatable.")
@click.option("--all-above", type=_SHARE, metavar="0..1", help="Approve all of at least this confidence.")
@click.option("--list", "only_list", is_flag=True, help="List, and ask nothing.")
@project_option
@writing
def review(
    approve: tuple[str, ...],
    reject: tuple[str, ...],
    merge: tuple[tuple[str, str], ...],
    titles: tuple[tuple[str, str], ...],
    all_above: float | None,
    project: str | None,
    *,
    only_list: bool,
    dry_run: bool,
    no_commit: bool,
) -> None:
    """Review candidates."""
    from forgekit.loop import reviewing  # noqa: PLC0415 - help loads no store

    way = how(dry_run=dry_run, no_commit=no_commit)
    forge = open_forge()
    if not (approve or reject or merge or titles or all_above is not None):
        found = reviewing.waiting(forge, project)
        if only_list or wants_json() or not output.is_terminal():
            _list(found)
            return
        answers = _asked(found)
    else:
        rejected = reviewing.named(forge, reject)
        merged = tuple(
            (forge.resolve(name, Kind.CANDIDATE), forge.resolve(into, Kind.DECISION, Kind.THREAD))
            for name, into in merge
        )
        others = rejected | {candidate for candidate, _ in merged}
        chosen = reviewing.named(forge, approve)
        if all_above is not None:
            chosen |= reviewing.above(reviewing.waiting(forge, project), all_above) - others
        answers = reviewing.Answers(
            approve=chosen,
            reject=rejected,
            merge=merged,
            titles=tuple((forge.resolve(name, Kind.CANDIDATE), text) for name, text in titles),
        )
    if answers == reviewing.Answers():
        output.talk("nothing to do")
        return
    _answered(reviewing.answer(forge, answers, way))
    talk_of_judge(forge)


def _asked(found: list[Waiting]) -> Answers:
    """Ask about each candidate."""
    from forgekit.loop.reviewing import Answers  # noqa: PLC0415 - help loads no store

    approve, reject, titles = set(), set(), []
    output.talk(
        f"{output.count(len(found), 'candidate')} waiting: y registers, n rejects, e rewords, s skips, q ends"
    )
    for number, item in enumerate(found, 1):
        candidate = item.candidate
        output.data(f"\n{number}/{len(found)}  {_line(item)}")
        output.data(
            f"    {output.one_line(candidate.quote[:400])}\n    why: {output.one_line(candidate.why)}"
        )
        said = click.prompt(
            "y/n/e/s/q", type=click.Choice(["y", "n", "e", "s", "q"]), default="s", show_choices=False
        )
        if said == "q":
            break
        if said == "e":
            titles.append((candidate.id, click.prompt("text", default=candidate.candidate)))
        if said in {"y", "e"}:
            approve.add(candidate.id)
        if said == "n":
            reject.add(candidate.id)
    return Answers(approve=frozenset(approve), reject=frozenset(reject), titles=tuple(titles))


def _line(item: Waiting) -> str:
    candidate = item.candidate
    name = short_id(Kind.CANDIDATE, candidate.id)
    same = ""
    if item.same is not None:
        kind = Kind.DECISION if candidate.proposes.value == "decision" else Kind.THREAD
        same = f"  [registered as {short_id(kind, item.same)}]"
    talk = short_id(Kind.CONVERSATION, candidate.conversation_id)
    return (
        f"{name}  {candidate.confidence:.2f}  {candidate.proposes.value}  "
        f"{output.one_line(candidate.candidate)}  "
        f"({output.one_line(candidate.project_name)}, {talk} turn {candidate.turn}, "
        f"{format_date(candidate.created_at)}){same}"
    )


def _list(found: list[Waiting]) -> None:
    if wants_json():
        output.as_json([_view(item) for item in found])
        return
    for item in found:
        output.data(_line(item))
    output.talk(f"{output.count(len(found), 'candidate')} waiting")


def _view(item: Waiting) -> dict[str, object]:
    candidate = item.candidate
    return {
        "candidate_id": candidate.id,
        "short_id": short_id(Kind.CANDIDATE, candidate.id),
        "proposes": candidate.proposes.value,
        "candidate": candidate.candidate,
        "confidence": candidate.confidence,
        "why": candidate.why,
        "project_name": candidate.project_name,
        "conversation_id": candidate.conversation_id,
        "turn": candidate.turn,
        "quote": candidate.quote,
        "rationale": candidate.rationale,
        "alternatives_rejected": list(candidate.alternatives_rejected),
        "same_as": item.same,
    }


def _answered(found: Reviewed) -> None:
    if wants_json():
        output.as_json(
            {
                "commit": found.outcome.commit,
                "dry_run": bool(found.outcome.diff),
                "written": sorted(found.outcome.written),
                "answered": [
                    {"candidate_id": c.id, "status": c.status.value, "became": c.became}
                    for c in found.answered
                ],
                "conflicts": [conflict_view(conflict) for conflict in found.conflicts],
            }
        )
        return
    if found.outcome.diff:
        output.diff(found.outcome.diff)
    else:
        for entity in found.entities:
            output.data(f"{short_id(entity.kind, entity.id)}  {output.one_line(entity.title)}")
    for conflict in found.conflicts:
        for line in conflict_lines(conflict):
            output.talk(line)
    states = Counter(candidate.status.value for candidate in found.answered)
    output.talk(
        f"review: {', '.join(f'{n} {state}' for state, n in sorted(states.items()))}: {done(found.outcome)}"
    )
