"""What a command says that changed the registry: the entity, the commit, the conflicts that came to light."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forgekit import console
from forgekit.cli.base import is_dry_run, wants_json
from forgekit.conflict.judge import Level
from forgekit.conflict.pairs import GAP
from forgekit.model.kinds import Kind, short_id

if TYPE_CHECKING:
    from forgekit.change import Written
    from forgekit.conflict.finding import Finding, Findings
    from forgekit.forge import Forge
    from forgekit.ids import EntityId
    from forgekit.model.conflict import Conflict
    from forgekit.store import Outcome

UNCHANGED = "nothing to do, it says so already"


def wrote(written: Written, verb: str, unchanged: str = UNCHANGED) -> None:
    """Say what a write did: the short id on stdout, the rest on stderr; a dry run prints the diff.

    Args:
        written: what was written.
        verb: noun and verb.
        unchanged: says why there was nothing to do, if so it was.
    """
    entity, outcome = written.entity, written.outcome
    name = short_id(entity.kind, entity.id)
    if wants_json():
        console.as_json(
            {
                "id": entity.id,
                "short_id": name,
                "commit": outcome.commit,
                "dry_run": is_dry_run(),
                "written": sorted(outcome.written),
            }
        )
        return
    if outcome.diff:
        console.diff(outcome.diff)
    else:
        console.data(name)
    console.info(f"{verb} {name}: {done(outcome, unchanged)}")


def say_findings(findings: Findings, *, possible: bool = True) -> None:
    """Print findings on stderr."""
    for finding, loser in findings.with_losers():
        if possible or finding.level is Level.CONFLICT:
            for line in finding_lines(finding, loser):
                console.info(line)


def finding_lines(finding: Finding, loser: EntityId | None) -> list[str]:
    """Return which two decisions contradict each other, why, and what to do."""
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
    return [
        *lines,
        f"  choose: forgekit conflict resolve {name} --keep {a} --reason TEXT; or scope, or dismiss",
    ]


def talk_of_judge(forge: Forge) -> None:
    """Print nothing; to be deleted with its callers."""


def conflict_lines(conflict: Conflict) -> list[str]:
    """Return one line on a verdict; to be deleted with its callers."""
    return [f"conflict {short_id(Kind.CONFLICT, conflict.id)}: {conflict.nature}"]


def conflict_view(conflict: Conflict) -> dict[str, object]:
    """Return a verdict as JSON values; to be deleted with its callers."""
    return {"conflict_id": conflict.id}


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
