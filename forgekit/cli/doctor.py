"""`forgekit doctor`: what is wrong in and around a registry, and mending it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forgekit import console
from forgekit.cli.base import example, json_option, root_of
from forgekit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forgekit.upkeep.doctor import Diagnosis
    from forgekit.upkeep.repair import Repair


@click.command(
    help="Look at git, files, settings, cache and machine; exit status 1 when something is damaged.\n\n"
    "`--repair` says what it would mend and changes nothing; with `--yes` it saves a copy below "
    "`.git/forgekit-backups` and mends it: what history holds comes back, what has two sides is left to "
    "you.\n\n" + example("forgekit doctor", "forgekit doctor --repair", "forgekit doctor --repair --yes")
)
@click.option("--repair", is_flag=True, help="Say what can be mended.")
@click.option("--yes", is_flag=True, help="Mend it, after a copy was saved.")
@json_option
def doctor(*, repair: bool, yes: bool, as_json: bool) -> int:
    """Look at the registry and everything around it."""
    from forgekit.forge import clock
    from forgekit.upkeep.doctor import bad, diagnose, root_for
    from forgekit.upkeep.repair import plan_repair
    from forgekit.upkeep.repair import repair as run_repair

    if yes and not repair:
        raise UsageError("--yes goes with --repair")
    clock()
    start = root_of()
    root = root_for(Path(start) if start else Path.cwd(), {} if start else dict(os.environ))
    if repair:
        with console.progress("mending" if yes else "looking"):
            found = run_repair(root) if yes else plan_repair(root)
        _say_repair(found, done=yes, as_json=as_json)
        return 1 if found.left or (found.steps and not yes) else 0
    with console.progress("looking"):
        findings = diagnose(root)
    if as_json:
        console.as_json(_views(findings))
    else:
        _say(findings)
    return 1 if bad(findings) else 0


def _say(findings: Iterable[Diagnosis]) -> None:
    for finding in findings:
        advice = f"\n    {finding.advice}" if finding.advice else ""
        console.data(f"{'ok ' if finding.good else 'BAD'}  {finding.subject}: {finding.message}{advice}")


def _views(findings: Iterable[Diagnosis]) -> list[dict[str, object]]:
    return [
        {
            "subject": f.subject,
            "good": f.good,
            "message": f.message,
            "advice": f.advice or None,
            "path": f.path or None,
        }
        for f in findings
    ]


def _say_repair(found: Repair, *, done: bool, as_json: bool) -> None:
    if as_json:
        console.as_json(
            {
                "done": done,
                "steps": [{"subject": s.subject, "path": s.path, "message": s.message} for s in found.steps],
                "left": _views(found.left),
                "edits": list(found.edits),
                "copy": str(found.copy) if found.copy else None,
                "commits": list(found.commits),
            }
        )
        return
    for step in found.steps:
        console.data(f"{'did' if done else 'would'}  {step.subject}: {step}")
    if found.diff:
        console.diff(found.diff)
    _say(found.left)
    for path in found.edits:
        kept = "its uncommitted text is in the copy" if done else "its uncommitted text goes into the copy"
        console.info(f"{path}: {kept}")
    if found.copy:
        console.info(f"copy of everything as it was: {found.copy}")
    for commit in found.commits:
        console.info(f"doctor --repair: committed as {commit[:10]}")
    if not found.steps and not found.left:
        console.info("doctor --repair: nothing is damaged")
    elif not done and found.steps:
        console.info("nothing was changed; `forgekit doctor --repair --yes` does it")
    if found.left:
        number = console.count(len(found.left), "finding")
        console.info(f"{number} that no copy or only a person can mend" if done else f"{number} left to you")
