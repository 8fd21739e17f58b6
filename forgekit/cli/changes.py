"""What a command prints that changed the registry or judged decisions: entity, commit, findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forgekit import console
from forgekit.model.kinds import Kind, short_id
from forgekit.times import UNKNOWN, format_instant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forgekit.change import Written
    from forgekit.cli.call import Call
    from forgekit.conflict.pairs import Finding, Findings
    from forgekit.ids import EntityId
    from forgekit.model.entities import Entity
    from forgekit.store import Outcome

UNCHANGED = "unchanged"


def wrote(written: Written, call: Call, unchanged: str = UNCHANGED) -> None:
    """Print what a write did: the short id on stdout, the rest on stderr; a dry run prints the diff."""
    entity, outcome = written.entity, written.outcome
    name = short_id(entity.kind, entity.id)
    if outcome.diff:
        console.diff(outcome.diff)
    else:
        console.data(name)
    console.info(f"{call.operation.name} {name}: {done(outcome, unchanged)}")


def decided(call: Call) -> None:
    """Register or revise a decision, and print what contradicts it."""
    written: Written = call.result()
    findings = findings_after(call, written.outcome, [written.entity])
    if call.as_json:
        from forgekit.insight import views

        console.as_json(views.written(written, dry_run=call.dry_run, findings=findings.with_losers()))
        return
    wrote(written, call)
    print_findings(findings)


def validated(written: Written, call: Call) -> None:
    """Print what `decision validate` did; a later validation stays."""
    last = getattr(written.entity, "last_validated", UNKNOWN)
    given = call["at"]
    later = last > (given if given is not None else call.forge.now())
    wrote(
        written, call, f"unchanged: it was validated later, at {format_instant(last)}" if later else UNCHANGED
    )


def done(outcome: Outcome, unchanged: str = UNCHANGED) -> str:
    """Say in words what became of a write."""
    if outcome.diff:
        return "nothing written (dry run)"
    if outcome.commit is not None:
        return f"committed as {outcome.commit[:10]}"
    if outcome.written or outcome.deleted:
        files = console.count(len(outcome.written) + len(outcome.deleted), "file")
        return f"{files} written, not committed"
    return unchanged


def findings_after(call: Call, outcome: Outcome, entities: Iterable[Entity]) -> Findings:
    """Return the findings of the decisions that a command wrote; none where it wrote nothing."""
    from forgekit.conflict.pairs import NOTHING
    from forgekit.findings import of_written

    return of_written(call.forge, entities) if outcome.written and not outcome.diff else NOTHING


def print_findings(findings: Findings) -> None:
    """Print findings on stderr."""
    for finding, loser in findings.with_losers():
        for line in finding_lines(finding, loser):
            console.info(line)


def finding_lines(finding: Finding, loser: EntityId | None) -> list[str]:
    """Return which two decisions contradict each other, why, and what to do."""
    from forgekit.conflict.judge import Level
    from forgekit.conflict.pairs import GAP

    name = short_id(Kind.CONFLICT, finding.id)
    a, b = (short_id(Kind.DECISION, side) for side in finding.sides)
    judgement = finding.judgement
    words = " | ".join(", ".join(side) for side in judgement.words if side)
    parts = (f"probability {judgement.probability:.2f}", judgement.reason, words and f"words: {words}")
    lines = [
        f"{'conflict' if finding.level is Level.CONFLICT else 'possible conflict'} {name}",
        f"  {a}: {finding.a.decision}",
        f"  {b}: {finding.b.decision}",
        f"  {'; '.join(filter(None, parts))}",
    ]
    if loser is not None:
        lines.append(f"  {short_id(Kind.DECISION, loser)} yields: its tier is lower by more than {GAP:g}")
    keep = b if loser == finding.a.id else a
    return [
        *lines,
        f"  choose: forgekit conflict resolve {name} --keep {keep} --reason TEXT; or scope, or dismiss",
    ]


def scan(call: Call) -> None:
    """Judge the pairs of active decisions, and list what contradicts."""
    from forgekit.conflict.judge import Level
    from forgekit.findings import of_project
    from forgekit.insight import views

    with console.meter("judging decisions") as progress:
        found = of_project(call.forge, call["project"], progress)
    call.name_unread()
    wanted = {Level.CONFLICT, Level.POSSIBLE} if call["possible"] else {Level.CONFLICT}
    listed = [item for item in found.with_losers() if item[0].level in wanted]
    if call.as_json:
        console.as_json(views.scanned(found, listed, call.forge.registry()))
        return
    for finding, loser in listed:
        for line in finding_lines(finding, loser):
            console.data(line)
    if found.missing:
        console.info(f"nothing was judged: {found.missing}")
        return
    console.info(
        f"{console.count(found.judged, 'pair')} judged: {console.count(len(found.conflicts), 'conflict')}, "
        f"{console.count(len(found.possible), 'possible conflict')}"
        + (f"; {console.count(found.unjudged, 'pair')} could not be judged" if found.unjudged else "")
    )
    if calibration := getattr(call.forge.judge, "calibration", None):
        console.info(str(calibration))


def duplicates(call: Call) -> None:
    """List decisions that say the same."""
    from forgekit.findings import of_project

    with console.meter("judging decisions") as progress:
        found = of_project(call.forge, call["project"], progress)
    call.name_unread()
    if call.printed_json(found.duplicates):
        return
    rows = [
        (short_id(Kind.DECISION, f.a.id), f.a.decision, short_id(Kind.DECISION, f.b.id), f.b.decision)
        for f in found.duplicates
    ]
    console.table(("id", "title", "other id", "title"), rows)
    if found.missing:
        console.info(f"nothing was judged: {found.missing}")
    elif not rows:
        console.info("no duplicates")
