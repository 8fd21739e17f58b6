"""What conversations seem to have decided, answered by a person: `review`."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from forgekit import console
from forgekit.cli.base import (
    SHARE,
    example,
    is_dry_run,
    open_forge,
    options,
    project_option,
    wants_json,
    writing,
)
from forgekit.cli.changes import conflict_lines, conflict_view, done, finding_lines, talk_of_judge
from forgekit.errors import AmbiguousError, NotFoundError, UsageError
from forgekit.model.kinds import Kind, short_id
from forgekit.times import format_date

if TYPE_CHECKING:
    from forgekit.filing.review import Answers, Reviewed, Seen, Waiting
    from forgekit.forge import Forge
    from forgekit.ids import EntityId
    from forgekit.model.candidate import Candidate

_ANSWERS = "y registers, e rewords, m merges, n rejects, s skips, q ends"


@click.command(
    help="List the candidates that wait for a person, and answer them.\n\n"
    "On a terminal, and with no answer given, each is asked about: q or Ctrl-D ends and writes what was "
    "answered. ID is any name of a candidate; `forgekit candidate show ID` shows one.\n\n"
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
@click.option("--all-above", type=SHARE, metavar="0..1", help="Approve all of at least this confidence.")
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
    from forgekit.filing import review

    way = options(dry_run=dry_run, no_commit=no_commit)
    forge = open_forge()
    answering = bool(approve or reject or merge or titles or all_above is not None)
    if only_list and answering:
        raise UsageError("--list answers nothing; leave it out, or the answers")
    if project is not None and (approve or reject or merge or titles):
        raise UsageError(
            "--project goes with --list and --all-above; an answer names its candidate, leave it out"
        )
    if not answering:
        found = review.waiting(forge, project)
        if only_list or wants_json() or not console.is_terminal():
            _list(found)
            if not wants_json():
                _list_possible(forge, project)
            return
        if not found:
            console.info("nothing waits")
            return
        answers = _asked(forge, found)
    else:
        rejected = review.named(forge, reject)
        merged = tuple(
            (forge.resolve(name, Kind.CANDIDATE), forge.resolve(into, Kind.DECISION, Kind.THREAD))
            for name, into in merge
        )
        others = rejected | {candidate for candidate, _ in merged}
        chosen = review.named(forge, approve)
        if all_above is not None:
            chosen |= review.above(review.waiting(forge, project), all_above) - others
        answers = review.Answers(
            approve=chosen,
            reject=rejected,
            merge=merged,
            titles=tuple((forge.resolve(name, Kind.CANDIDATE), text) for name, text in titles),
        )
    if answers == review.Answers() and not wants_json():
        console.info("nothing to do")
        return
    _answered(review.answer(forge, answers, way))
    talk_of_judge(forge)


def _list_possible(forge: Forge, project: str | None) -> None:
    """List the possible conflicts, which wait for a person too."""
    from forgekit.conflicts import POSSIBLE, listed

    registry = forge.registry()
    owner = forge.known_project(project, registry).id if project is not None else None
    rows, _ = listed(forge, registry, project=owner, state=POSSIBLE)
    for row in rows:
        if row.finding is not None:
            for line in finding_lines(row.finding, row.yields):
                console.data(line)


def _asked(forge: Forge, found: list[Waiting]) -> Answers:
    """Ask about each candidate, until the last one, `q` or the end of the input."""
    from forgekit.filing.review import Answers, seen

    console.info(f"{console.count(len(found), 'candidate')} waiting: {_ANSWERS}; Ctrl-C writes nothing")
    answers = Answers()
    for number, item in enumerate(found, 1):
        around = seen(forge, item)
        _show(f"{number}/{len(found)}", item, around)
        said = _said_of(forge, item, around)
        if said is None:
            break
        answers = answers.and_(said)
    return answers


def _said_of(forge: Forge, item: Waiting, around: Seen) -> Answers | None:
    """Ask about one candidate until there is an answer; None at the end."""
    from forgekit.filing.review import Answers, reworded

    key = item.candidate.id
    while (said := _answer("y/e/m/n/s/q [s]: ")) not in {None, "q"}:
        if said in {"", "s"}:
            return Answers()
        if said == "y":
            return Answers(approve=frozenset({key}))
        if said == "n":
            return Answers(reject=frozenset({key}))
        if said == "e":
            text = _answer(f"text [{console.one_line(item.candidate.candidate)}]: ")
            if text == "":
                return Answers(approve=frozenset({key}))
            if text and reworded(text):
                return Answers(approve=frozenset({key}), titles=((key, text),))
            console.info("nothing is left of that as a text")
        elif said == "m":
            into = _target(forge, around)
            if into is not None:
                return Answers(merge=((key, into),))
        else:
            console.info(f"{str(said)[:40]!r} is no answer: {_ANSWERS}")
    return None


def _answer(question: str) -> str | None:
    """Ask on stderr and return the line that a person types; None at the end of the input."""
    sys.stdout.flush()
    sys.stderr.write(console.visible(question))
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        console.info("")
        return None
    return line.strip()


def _target(forge: Forge, around: Seen) -> EntityId | None:
    """Ask what a candidate is merged into; None where nothing of that name is registered."""
    first = " [1]" if around.alike else ""
    into = _answer(f"into, a number above or any name{first}: ")
    if into == "" and around.alike:
        into = "1"
    if not into:
        console.info("merged into nothing")
        return None
    if into.isdecimal() and 0 < int(into) <= len(around.alike):
        return around.alike[int(into) - 1].id
    try:
        return forge.resolve(into, Kind.DECISION, Kind.THREAD)
    except (NotFoundError, AmbiguousError) as e:
        console.info(str(e))
        return None


def _show(place: str, item: Waiting, around: Seen) -> None:
    """Print all that a person needs to answer."""
    candidate = item.candidate
    name = short_id(Kind.CANDIDATE, candidate.id)
    console.data(
        f"\n{place}  {name}  {candidate.confidence:.2f}  {candidate.proposes.value}\n"
        f"  {console.one_line(candidate.candidate)}"
    )
    words = f"{around.before}>>>{candidate.quote}<<<{around.after}"
    lines = {
        "from": f"{_source(candidate)}{f', {around.speaker}' if around.speaker else ''}",
        "talk": around.title,
        "words": words,
        "because": candidate.rationale,
        "rejected": "; ".join(candidate.alternatives_rejected),
        "found by": candidate.why,
    }
    alike = [
        f"{number}. {short_id(found.kind, found.id)}  {found.status.value}  {console.one_line(found.title)}"
        f"{'  (the same words)' if found.id == item.same else ''}"
        for number, found in enumerate(around.alike, 1)
    ]
    shown = {f"  {key}": " ".join(text.split()) for key, text in lines.items() if text}
    console.fields({**shown, "  alike": "\n".join(alike) or "nothing that is registered"})


def _source(candidate: Candidate) -> str:
    talk = short_id(Kind.CONVERSATION, candidate.conversation_id)
    return (
        f"{console.one_line(candidate.project_name)}, {talk} turn {candidate.turn}, "
        f"{format_date(candidate.created_at)}"
    )


def _line(item: Waiting) -> str:
    candidate = item.candidate
    name = short_id(Kind.CANDIDATE, candidate.id)
    same = ""
    if item.same is not None:
        kind = Kind.DECISION if candidate.proposes.value == "decision" else Kind.THREAD
        same = f"  [registered as {short_id(kind, item.same)}]"
    return (
        f"{name}  {candidate.confidence:.2f}  {candidate.proposes.value}  "
        f"{console.one_line(candidate.candidate)}  ({_source(candidate)}){same}"
    )


def _list(found: list[Waiting]) -> None:
    if wants_json():
        console.as_json([_view(item) for item in found])
        return
    for item in found:
        console.data(_line(item))
    console.info(f"{console.count(len(found), 'candidate')} waiting")


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
        console.as_json(
            {
                "commit": found.outcome.commit,
                "dry_run": is_dry_run(),
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
        console.diff(found.outcome.diff)
    else:
        for entity in found.entities:
            console.data(f"{short_id(entity.kind, entity.id)}  {console.one_line(entity.title)}")
    for conflict in found.conflicts:
        for line in conflict_lines(conflict):
            console.info(line)
    states = Counter(candidate.status.value for candidate in found.answered)
    console.info(
        f"review: {', '.join(f'{n} {state}' for state, n in sorted(states.items()))}: {done(found.outcome)}"
    )
