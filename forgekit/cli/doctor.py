"""`forgekit doctor`: what is wrong in and around a registry, and mending it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit import console
from forgekit.cli.call import Call, root_of
from forgekit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forgekit.upkeep.doctor import Diagnosis
    from forgekit.upkeep.repair import Repair


def doctor(call: Call) -> int:
    """Look at the registry and everything around it."""
    from forgekit.forge import clock
    from forgekit.upkeep.doctor import bad, diagnose, root_for
    from forgekit.upkeep.repair import plan_repair
    from forgekit.upkeep.repair import repair as run_repair

    yes, as_json = bool(call["yes"]), call.as_json
    if yes and not call["repair"]:
        raise UsageError("--yes goes with --repair")
    clock()
    start = root_of()
    root = root_for(Path(start) if start else Path.cwd(), {} if start else dict(os.environ))
    if call["repair"]:
        with console.progress("mending" if yes else "looking"):
            found = run_repair(root) if yes else plan_repair(root)
        _say_repair(found, done=yes, as_json=as_json)
        return 1 if found.left or (found.steps and not yes) else 0
    with console.progress("looking"):
        findings = diagnose(root)
    if not call.printed_json(findings):
        _say(findings)
    return 1 if bad(findings) else 0


def _say(findings: Iterable[Diagnosis]) -> None:
    for finding in findings:
        advice = f"\n    {finding.advice}" if finding.advice else ""
        console.data(f"{'ok ' if finding.good else 'BAD'}  {finding.subject}: {finding.message}{advice}")


def _say_repair(found: Repair, *, done: bool, as_json: bool) -> None:
    if as_json:
        from forgekit.insight import views

        console.as_json(views.repaired(found, done=done))
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
        console.info(
            f"{number} that no copy or only a person can repair" if done else f"{number} left to you"
        )
