"""Commands that keep a registry in order and share it, and those that git and shells call."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forgekit import console
from forgekit.cli.call import Call, name_unjudged
from forgekit.cli.changes import done, print_findings, suggestions, written
from forgekit.cli.commands import COMPLETE, root_of
from forgekit.errors import NoRegistryError, UsageError
from forgekit.model.kinds import Kind, short_id
from forgekit.operations import OF_AGENTS
from forgekit.worktree.roots import find_root

if TYPE_CHECKING:
    from forgekit.model.entities import Conflict, Entity
    from forgekit.sharing import Synced
    from forgekit.upkeep.check import CheckReport
    from forgekit.upkeep.doctor import Diagnosis
    from forgekit.upkeep.repair import Repair

_JUDGED_AT_ONCE = 50
"""Decisions of one sync whose contradictions are looked for at once."""
_NAMED = 20
"""Texts without an essence, or with conflicting edits, that are named."""
_GAVE_WAY: dict[Kind | None, str] = {
    Kind.DECISION: ", though it was validated meanwhile; the history holds both",
    Kind.CANDIDATE: ", since something was registered by it; `forgekit decision invalidate` or `forgekit "
    "thread abandon` ends that",
}
"""Why a state gave way in a merge, and what to do."""
_LONGEST_STATUS = 1_000_000
"""Bytes of the JSON that an agent gives the command of its status line."""


def init(call: Call) -> None:
    """Make a registry."""
    from forgekit.upkeep.init_migrate import initialise

    place = Path(root_of(click.get_current_context()) or ".") / (call["folder"] or "")
    made = initialise(place, call.options)
    if call.printed_json(made):
        return
    if made.made_repository:
        console.info(f"made a git repository in {made.root}")
    if made.outcome.diff:
        console.diff(made.outcome.diff)
    elif made.outcome.written:
        console.data("\n".join(made.outcome.written))
    if made.outcome.written:
        console.info(f"init {made.root}: {done(made.outcome)}")
        console.info(
            "next: `forgekit sync-compression --archive FILE`, or `forgekit decision new TEXT --project NAME`"
        )
    elif made.registered:
        console.info(f"{made.root} is a registry already; this clone now merges its files by their meaning")
    else:
        console.info(f"{made.root} is a registry already: nothing to do")


def check(call: Call) -> int:
    """Check the registry."""
    from forgekit.upkeep import check as checking

    paths, fix = call["paths"], call["fix"]
    if (call.dry_run or call.no_commit) and not fix:
        raise UsageError("--dry-run and --no-commit go with --fix; a check writes nothing")
    forge = call.forge
    if not paths:
        _ = forge.settings  # a registry whose settings cannot be read is not in order
    chosen = checking.relative(forge, paths, Path.cwd()) if paths else None
    with console.progress("checking"):
        found = checking.fix(forge, chosen, call.options) if fix else checking.check(forge, chosen)
    if not call.printed_json(found):
        _print_check(found)
    return 1 if found.errors else 0


def _print_check(found: CheckReport) -> None:
    for item in found.fixed:
        console.data(f"{item.path}: {item.message}")
    if found.outcome is not None and found.fixed:
        console.diff(found.outcome.diff)
        console.info(f"check --fix: {done(found.outcome)}")
    for problem in found.problems:
        console.data(f"{problem.severity.value}: {problem}")
    fixable = sum(problem.fixable for problem in found.problems)
    hint = f"; `forgekit check --fix` fixes {fixable}" if fixable and not found.fixed else ""
    others = len(found.problems) - found.errors
    files = console.count(found.looked_at, "entity", "entities")
    numbers = f"{console.count(found.errors, 'error')}, {console.count(others, 'remark')}"
    console.info(f"{files} checked: {numbers}{hint}")


def doctor(call: Call) -> int:
    """Look at the registry and everything around it."""
    from forgekit.forge import clock
    from forgekit.upkeep.doctor import bad, diagnose, root_for
    from forgekit.upkeep.repair import plan_repair, repair

    yes = bool(call["yes"])
    if yes and not call["repair"]:
        raise UsageError("--yes goes with --repair")
    clock()
    start = root_of(click.get_current_context())
    root = root_for(Path(start) if start else Path.cwd(), {} if start else dict(os.environ))
    if call["repair"]:
        with console.progress("mending" if yes else "looking"):
            repaired = repair(root) if yes else plan_repair(root)
        if not call.printed_json(repaired, "repaired", done=yes):
            _print_repair(repaired, done=yes)
        return 1 if repaired.left or (repaired.steps and not yes) else 0
    with console.progress("looking"):
        findings = diagnose(root)
    if not call.printed_json(findings):
        _print_diagnosis(findings)
    return 1 if bad(findings) else 0


def _print_diagnosis(findings: Iterable[Diagnosis]) -> None:
    for finding in findings:
        advice = f"\n    {finding.advice}" if finding.advice else ""
        console.data(f"{'ok ' if finding.good else 'BAD'}  {finding.subject}: {finding.message}{advice}")


def _print_repair(found: Repair, *, done: bool) -> None:
    for step in found.steps:
        console.data(f"{'did' if done else 'would'}  {step.subject}: {step}")
    console.diff(found.diff)
    _print_diagnosis(found.left)
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
        rest = " that no copy or only a person can repair" if done else " left to you"
        console.info(f"{console.count(len(found.left), 'finding')}{rest}")


def sync(call: Call) -> int:
    """Share the registry; exit status 1 where a person has something to choose."""
    dry_run = bool(call["dry_run"])
    with console.progress("talking to the other repository"):
        found: Synced = call.result()
    if not call.printed_json(found, dry_run=dry_run):
        _print_sync(found, dry_run=dry_run)
        _print_findings(call, found.received if not dry_run else ())
    return int(bool(found.conflicts or found.rivals or found.errors or found.unsettled))


def _print_findings(call: Call, received: Sequence[str]) -> None:
    """Print what contradicts the decisions that came in; of very many, only how to look for it."""
    from forgekit.findings import of_written
    from forgekit.model.entities import Decision
    from forgekit.worktree.files import entity_of_path

    owners = filter(None, map(entity_of_path, received))
    came = [key for kind, key in owners if kind is Kind.DECISION]
    if len(came) > _JUDGED_AT_ONCE:
        console.info("`forgekit conflict scan` looks for contradictions among what came in")
    elif came:
        with console.progress("looking for contradictions"):
            decisions = call.forge.registry().of_ids(Decision, came)
            found = of_written(call.forge, decisions, received)
        print_findings(found)
        name_unjudged(found.unjudged)


def _print_sync(found: Synced, *, dry_run: bool) -> None:
    if found.diff:
        console.diff(found.diff)
    else:
        for line in (*found.received, *(f"{path}: deleted" for path in found.deleted)):
            console.data(line)
    _print_merged(found)
    for conflict in found.rivals:
        _print_rivals(conflict)
    _print_unsettled(found.unsettled)
    for problem in (*found.errors, *found.repeated):
        console.data(f"{problem.severity.value}: {problem}")
    came = f"{console.count(len(found.received), 'file')} {'would come' if dry_run else 'came'} in"
    if found.deleted:
        came += f", {len(found.deleted):,} {'would be ' if dry_run else ''}deleted"
    sent = "would be pushed" if dry_run and found.sent else "pushed" if found.sent else "nothing to push"
    if found.held_back:
        sent = "not pushed: fix these errors, commit, then sync again"
    console.info(f"sync with {found.remote}: {came}, {sent}")
    if found.uncommitted:
        files = console.count(len(found.uncommitted), "uncommitted file")
        console.info(f"not shared: {files} (see `git status`); commit, then sync again")


def _print_merged(found: Synced) -> None:
    """Print what a person has to choose, and the states that gave way."""
    from forgekit.merge.conflicting_edits import sentence, shown
    from forgekit.model.kinds import kind_of_path

    for path, merged in found.conflicts:
        kind = kind_of_path(path)
        assert kind is not None  # noqa: S101 - only files of entities are merged by fields
        console.data(f"{path}: {sentence(kind, merged)}")
    for path, merged in found.outlived:
        if merged.field == "status":
            old, new = (shown("status", value) for value in (merged.loser, merged.winner))
            why = _GAVE_WAY.get(kind_of_path(path), ", the later; the history holds both")
            console.data(f"{path}: {old} gave way to {new}{why}")


def _print_unsettled(entities: Sequence[Entity]) -> None:
    from forgekit.merge.conflicting_edits import HEADING
    from forgekit.model.rules import UNSETTLED_KEY

    named = [f"{short_id(e.kind, e.id)} ({console.one_line(e.title)})" for e in entities[:_NAMED]]
    if more := len(entities) - len(named):
        named.append(f"{more:,} more")
    places = " or ".join(sorted({f"`{UNSETTLED_KEY if e.kind.quoted else HEADING}`" for e in entities}))
    if named:
        console.data(
            f"next: put the right text in {', '.join(named)}, delete {places}, then `forgekit check`"
        )


def _print_rivals(conflict: Conflict) -> None:
    from forgekit.merge.revisions import ANSWERS
    from forgekit.model.rules import section

    a, b = (short_id(Kind.DECISION, side) for side in conflict.sides)
    name = short_id(Kind.CONFLICT, conflict.id)
    if answers := section(conflict.body, ANSWERS):
        console.data(f"{name} was answered in different ways, and it is open again:\n{answers}")
    console.data(
        f"{a} against {b}: {conflict.nature}; neither is carried on until you choose: "
        f"`forgekit conflict resolve {name} --keep {a} --reason TEXT` (or {b}), or `scope`, or `dismiss`"
    )


def index_build(call: Call) -> None:
    """Build the index."""
    from forgekit.search import update_vectors

    forge = call.forge
    if call["force"]:
        forge.catalogue.close()
        database = forge.catalogue.path
        files = [Path(f"{database}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")]
        for path in (*files, *database.parent.glob("vectors*")):
            path.unlink(missing_ok=True)
    with console.progress("reading all files"):
        found = forge.catalogue.refresh()
    changed = f"{found.added} added, {found.updated} updated, {found.removed} removed"
    console.info(f"index: {changed}, {found.unreadable} unreadable")
    if forge.vectors is None:
        console.info(f"no vectors: {forge.encoder}")
        return
    with console.meter("encoding texts") as progress:
        built = update_vectors(forge, forge.vectors, progress=progress)
    console.info(f"vectors: {built.added} added, {built.reused} kept, {built.removed} removed")
    if forge.vectors.status().count < built.added + built.reused:
        folder = forge.catalogue.path.parent
        console.info(f"they are not kept: {folder} cannot be written; make it writable and build again")


def maintain(call: Call) -> int:
    """Run the steps that are due; return 1 where a text could not be distilled."""
    with console.meter("distilling notes") as progress:
        found = call.result(progress=progress)
    if not call.printed_json(found):
        console.diff(found.diff)
        if not found.due:
            console.info("nothing is due")
            return 0
        if found.tiers:
            tiers = ", ".join(f"{number:,} {tier}" for tier, number in sorted(found.tiers.items()))
            console.data(f"notes, by how much of each a context shows: {tiers}")
        made = f"{console.count(found.essences, 'essence')}, {console.count(found.digests, 'digest')}"
        failed = f", {len(found.unmade):,} failed" if found.unmade else ""
        commits = ", ".join(commit[:10] for commit in found.commits) or "nothing committed"
        console.info(f"maintain: {made}{failed}: {commits}")
        for title in found.unmade[:_NAMED]:
            console.info(f"no essence could be made of {console.one_line(title)!r}")
        for why, number in found.failures.items():
            console.info(f"{number:,} failed: {console.one_line(why)}")
        if found.unmade:
            console.info(
                "the next `forgekit maintain` tries them again; forgekit.toml names the model (`judge_url`, "
                '`judge_model`), and `essences = "trained"` does without one'
            )
        suggestions(found)
    return int(bool(found.unmade))


def daily(call: Call) -> None:
    """Write the summary of a day, if it has one."""
    made = call.result()
    if made is None:
        console.info("nothing was decided, opened, resolved or noted on that day; nothing written")
    elif not call.printed_json(made):
        written(made, call)


def export(call: Call) -> None:
    """Export the registry."""
    from forgekit.conflict.pairs import NOTHING
    from forgekit.findings import BLOCK_WAIT_MS, findings_of
    from forgekit.upkeep.export import export as exported

    forge, form = call.forge, call["form"]
    registry = forge.registry()
    owner = forge.known_project(call["project"], registry).id if call["project"] else None
    findings = NOTHING
    if form in {"json", "markdown", "html"}:
        findings = findings_of(forge, registry, wait_ms=BLOCK_WAIT_MS, finish_small=True)
    console.verbatim(exported(registry, form, owner, findings))
    call.name_unread()
    name_unjudged(findings.unjudged)


def model(call: Call) -> None:
    """Install, list or remove the default model; this needs no registry."""
    from forgekit.models import install

    verb = call.operation.name.rpartition(" ")[2]
    if verb == "list":
        found = install.installed()
    elif verb == "remove":
        found = [install.remove()]
    else:
        with console.meter("fetching the model") as progress:
            found = [install.install(progress=progress)]
    if call.printed_json(found):
        return
    rows = [
        (m.name, f"{m.size / 1e6:.0f} MB", "verified" if m.verified else "unverified", str(m.folder))
        for m in found
    ]
    console.table(("name", "size", "files", "folder"), rows)
    if not found:
        console.info("no model; `forgekit model install` fetches one")
    elif verb != "list":
        console.info("model removed" if verb == "remove" else "model installed")


def template(call: Call) -> None:
    """Print a text to fill in; it needs no registry."""
    from forgekit.briefing.template import template as text_of

    console.data(text_of(call["kind"]).rstrip("\n"))


def demo_data(call: Call) -> None:
    """Write sample files."""
    from forgekit.upkeep.init_migrate import write_demo_data

    for path in write_demo_data(Path(call["folder"])):
        console.data(str(path))


def hook(call: Call) -> int:
    """Run one hook."""
    if call["hook"] in OF_AGENTS:
        from forgekit.hooks.agents import answer

        root = root_of(click.get_current_context())
        return answer(call["hook"], " ".join(call["files"] or ())[:60], str(root or ""))
    from forgekit.hooks.pre_commit import run

    return run(call["hook"], call["files"] or (), Path.cwd())


def status_line(call: Call) -> None:
    """Print the line on a session's context."""
    given = b"" if sys.stdin.isatty() else sys.stdin.buffer.read(_LONGEST_STATUS)
    console.data(call.result(given=given))


def setup(call: Call) -> None:
    """Add forgekit to a coding agent's settings."""
    from forgekit.hooks.setup import remarks
    from forgekit.hooks.setup import setup as change

    root = root_of(click.get_current_context())
    edits = change(**call.values, registry=str(Path(root).resolve()) if root else "")
    if call.printed_json(edits):
        return
    console.diff("".join(edit.diff for edit in edits))
    done = "would change" if call["dry_run"] else "changed"
    for edit in edits:
        console.info(f"{done} {edit.path}")
    if edits and not call["remove"]:
        try:
            find_root(Path(root or "."), os.environ)
        except NoRegistryError:
            console.info(
                f"there is no registry in {Path(root or '.').resolve()}, so that hooks there find none; "
                f"`forgekit -C REGISTRY setup {call['agent']}` names one, `forgekit init` makes one"
            )
    for remark in () if call["remove"] else remarks(call["agent"], project=call["project"]):
        console.info(remark)
    if not edits:
        state = "is not in" if call["remove"] else "is already in"
        console.info(f"forgekit {state} the settings of {call['agent']}")


def mcp(call: Call) -> None:
    """Serve the registry to agents."""
    try:
        from forgekit.mcp.server import serve
    except ModuleNotFoundError as e:
        raise UsageError(f"{e.name} is not installed; `pip install forgekit[mcp]` adds it") from None
    serve(call.forge, **call.values)


def merge_driver(call: Call) -> int:
    """Merge one file."""
    from forgekit.hooks.merge_driver import merge_driver as merge
    from forgekit.hooks.pre_commit import clean_environment

    clean_environment()
    base, ours, theirs = (Path(call[name]) for name in ("base", "ours", "theirs"))
    return merge(base, ours, theirs, call["path"])


def completion(call: Call) -> None:
    """Print a completion script."""
    from click.shell_completion import get_completion_class

    made = get_completion_class(call["shell"])
    assert made is not None  # noqa: S101 - the choices are those that click knows
    script = made(click.get_current_context().find_root().command, {}, "forgekit", COMPLETE)
    console.data(script.source().rstrip("\n"))
