"""Commands that change entities or judge decisions, and what they print: entity, commit, findings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit import console
from forgekit.cli.call import Call, name_unjudged
from forgekit.errors import ForgeError, UsageError
from forgekit.ids import EntityId, is_id
from forgekit.model.kinds import Kind, short_id
from forgekit.times import UNKNOWN, format_instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from forgekit.change import Written
    from forgekit.conflict.pairs import Finding, Findings
    from forgekit.conventions import Bootstrapped, Contradiction
    from forgekit.forge import Forge
    from forgekit.model.entities import Entity
    from forgekit.store import Outcome

UNCHANGED = "unchanged"


def written(made: Written, call: Call, unchanged: str = UNCHANGED) -> None:
    """Print what a write did: the short id on stdout, the rest on stderr; a dry run prints the diff."""
    console.diff(made.outcome.diff)
    _named(made.entity, made.outcome, call, unchanged)


def _named(entity: Entity, outcome: Outcome, call: Call, unchanged: str = UNCHANGED) -> None:
    name = short_id(entity.kind, entity.id)
    if not outcome.diff:
        console.data(name)
    console.info(f"{call.operation.name} {name}: {done(outcome, unchanged)}")
    if entity.kind in {Kind.DECISION, Kind.THREAD}:
        _name_ended(entity, call.forge)
    from forgekit.merge.conflicting_edits import fields_in_conflict

    if fields := fields_in_conflict(entity):
        console.info(
            f"{name} has two versions of {', '.join(fields)}; `forgekit check` says how to settle it"
        )


def _name_ended(entity: Any, forge: Forge) -> None:
    """Print which dependencies and blockers of an entity in force have ended."""
    for name, does in (("dependencies", "depends on"), ("blocked_by", "waits for")):
        for key in getattr(entity, name, ()) if not entity.status.ended else ():
            found: Any = forge.registry().get(EntityId(key)) if is_id(key) else None
            if found is not None and found.status.ended:
                console.info(f"it {does} {headline(found)}, which is {found.status.value}")


def headline(entity: Entity) -> str:
    """Return an entity's short id and title in one line."""
    return f"{short_id(entity.kind, entity.id)}  {console.one_line(entity.title)}"


def answered(call: Call) -> None:
    """Approve, reject or retire, and print each that was named."""
    made: Written = call.result()
    if not call.printed_json(made):
        console.diff(made.outcome.diff)
        for each in made.outcome.change.writes:
            _named(each, made.outcome, call)


def decided(call: Call) -> None:
    """Register or revise a decision, and print contradictions and duplicates."""
    made: Written = call.result()
    if not call.as_json:  # printed at once: the judge may need some time
        written(made, call)
    findings = findings_after(call, made.outcome, [made.entity])
    if not call.printed_json(made, findings=findings.with_losers()):
        print_findings(findings)
        _print_duplicates(findings.duplicates, made.entity.id)


def stated(call: Call) -> None:
    """Register a convention, and print what contradicts it."""
    made: Written = call.result()
    if call.printed_json(made):
        return
    written(made, call)
    if made.outcome.commit:
        print_contradictions_of(call.forge, [made.entity], getattr(made.entity, "project_name", None))


def bootstrapped(call: Call) -> None:
    """Propose conventions, and print them."""
    made: Bootstrapped = call.result()
    for error in made.unread:
        console.info(f"not read: {error}")
    for paths in made.rivals:
        console.info(
            f"{' and '.join(paths)} name different programs for the same packages: approve one, "
            "reject the others"
        )
    if call.printed_json(made):
        return
    console.diff(made.outcome.diff)
    new = [each for each in made.outcome.change.writes if each.kind is Kind.CONVENTION]
    for each in new:
        console.data(headline(each))
    waiting = console.count(len(new), "convention")
    console.info(f"{waiting} stated; `forgekit review` approves: {done(made.outcome)}")


def reset(call: Call) -> None:
    """Delete the conventions of a project, after a question on a terminal."""
    if not call["yes"] and not call.dry_run and console.is_terminal():
        if console.ask_key("delete every convention of the project? y/n [n]: ") != "y":
            console.info("nothing written")
            return
        call.values["yes"] = True
    made: Written = call.result()
    if not call.printed_json(made):
        written(made, call)
        conventions = console.count(len(made.outcome.change.deletes), "convention")
        console.info(f"{'would delete' if call.dry_run else 'deleted'} {conventions}")
        if commit := made.outcome.commit:
            console.info(f"`git revert {commit[:10]}` brings them back")


def validated(call: Call) -> None:
    """Validate a decision; a later validation stays, and is named."""
    made: Written = call.result()
    if call.printed_json(made):
        return
    last = getattr(made.entity, "last_validated", UNKNOWN)
    given = call["at"] if call["at"] is not None else call.forge.now()
    later = f"unchanged: it was validated later, at {format_instant(last)}"
    written(made, call, later if last > given else UNCHANGED)


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

    if not outcome.written or outcome.diff:
        return NOTHING
    with console.progress("looking for contradictions"):
        found = of_written(call.forge, entities, outcome.written)
    name_unjudged(found.unjudged)
    return found


def print_findings(findings: Findings) -> None:
    """Print findings on stderr."""
    for finding, loser in findings.with_losers():
        console.info(finding_text(finding, loser))
    for finding in findings.replacements:
        console.info(finding_text(finding, None))


def _print_duplicates(found: Iterable[Finding], own: EntityId) -> None:
    """Print which registered decisions say the same as one that was just written."""
    for finding in found:
        other = finding.b if finding.a.id == own else finding.a
        names = [short_id(Kind.DECISION, key) for key in (own, other.id)]
        console.info(
            f"says the same: {names[1]} of {console.one_line(other.project_name)}: "
            f"{console.one_line(other.decision)}\n"
            f"  if one is enough: forgekit decision supersede {names[0]} --by {names[1]}"
        )


def print_contradictions(found: Iterable[Contradiction], to: Callable[[str], None] = console.data) -> None:
    """Print which conventions contradict each other or a decision, and what to do."""
    for a, b, judgement in found:
        sides = [(short_id(each.kind, each.id), each) for each in (a, b)]
        name = next(name for name, each in sides if each.kind is Kind.CONVENTION)
        to(
            f"{judgement.level.value} (probability {judgement.probability:.2f})\n"
            + "".join(f"  {name}: {console.one_line(each.title)}\n" for name, each in sides)
            + f"  choose: forgekit convention retire {name}; or edit one of them"
        )


def print_contradictions_of(forge: Forge, entities: Iterable[Entity], project: str | None = None) -> None:
    """Print on stderr what contradicts some conventions."""
    from forgekit.conventions import waiting

    ids = {each.id for each in entities}
    found = waiting(forge, project=project).contradictions if ids else ()
    print_contradictions((each for each in found if ids & {each[0].id, each[1].id}), to=console.info)


def _replacement_text(finding: Finding) -> str:
    """Return which decision seems to replace which, and what to do."""
    new, old = finding.later
    names = [short_id(Kind.DECISION, side.id) for side in (new, old)]
    return (
        f"replacement?\n  {names[0]}: {new.decision}\n  {names[1]}: {old.decision}\n"
        f"  if so: forgekit decision supersede {names[1]} --by {names[0]}"
    )


def finding_text(finding: Finding, loser: EntityId | None) -> str:
    """Return which two decisions contradict or replace each other, why, and what to do."""
    from forgekit.conflict.judge import Level
    from forgekit.conflict.pairs import GAP

    if finding.level is Level.REPLACEMENT:
        return _replacement_text(finding)
    name = short_id(Kind.CONFLICT, finding.id)
    a, b = (short_id(Kind.DECISION, side) for side in finding.sides)
    lines = [
        f"{'conflict' if finding.level is Level.CONFLICT else 'possible conflict'} {name}",
        f"  {a}: {finding.a.decision}",
        f"  {b}: {finding.b.decision}",
        f"  probability {finding.judgement.probability:.2f}",
    ]
    if loser is not None:
        lines.append(f"  {short_id(Kind.DECISION, loser)} yields: its tier is lower by more than {GAP:g}")
    lines.append(f"  choose: forgekit conflict {_choice(finding, name, b if loser == finding.a.id else a)}")
    return "\n".join(lines)


def _choice(finding: Finding, name: str, keep: str) -> str:
    # What is right for one project may be so there alone.
    if finding.a.project_uuid != finding.b.project_uuid:
        return f"scope {name} --reason TEXT keeps each in its project; or resolve, or dismiss"
    return f"resolve {name} --keep {keep} --reason TEXT; or scope, or dismiss"


def _judged(call: Call) -> Findings:
    with console.meter("judging decisions") as progress:
        found: Findings = call.result(progress=progress)
    call.name_unread()
    return found


def scan(call: Call) -> None:
    """Judge the pairs of active decisions, and list what contradicts."""
    from forgekit.conflict.judge import Level
    from forgekit.conventions import waiting

    found = _judged(call)
    wanted = {Level.CONFLICT, Level.POSSIBLE} if call["possible"] else {Level.CONFLICT}
    listed = [item for item in found.with_losers() if item[0].level in wanted]
    beside = [
        each
        for each in waiting(call.forge, project=call["project"]).contradictions
        if each[2].level in wanted
    ]
    if call.printed_json(found, listed=listed, contradictions=beside, registry=call.forge.registry()):
        return
    for finding, loser in listed:
        console.data(finding_text(finding, loser))
    if found.missing:
        console.info(f"nothing was judged: {found.missing}")
        return
    print_contradictions(beside)
    console.info(
        f"{console.count(found.judged, 'pair')} judged: {console.count(len(found.conflicts), 'conflict')}, "
        f"{console.count(len(found.possible), 'possible conflict')}"
        + (f"; {console.count(found.unjudged, 'pair')} could not be judged" if found.unjudged else "")
    )
    if calibration := getattr(call.forge.judge, "calibration", None):
        console.info(str(calibration))


def duplicates(call: Call) -> None:
    """List decisions that say the same."""
    found = _judged(call)
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


def edit(call: Call) -> None:
    """Change one entity by options; without any, in the person's editor when there is a terminal."""
    if set(call.values) != {"name"}:
        changed = call.result()
        if not call.printed_json(changed):
            written(changed, call)
        return
    if not console.is_terminal():
        options = [a.option or f"--{a.name.replace('_', '-')}" for a in call.operation.arguments[1:]]
        raise UsageError(f"nothing to change: without a terminal say what, by {', '.join(options)}")
    made = _in_editor(call)
    if made is None:
        console.info("nothing changed")
    elif not call.printed_json(made):
        written(made, call)
        print_findings(findings_after(call, made.outcome, [made.entity]))


def _in_editor(call: Call) -> Written | None:
    """Let the person edit a copy, then check and commit it; None when nothing was changed.

    Raises ForgeError that names the copy, so that no edit is lost, UsageError for an editor that is none.
    """
    import shlex
    import subprocess
    import tempfile

    from forgekit.model.entities import entity_path
    from forgekit.upkeep.check import accept
    from forgekit.worktree import files

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        command = shlex.split(editor)
    except ValueError as e:
        raise UsageError(f"cannot start the editor {editor!r}: {e}; set VISUAL or EDITOR") from None
    forge, options = call.forge, call.options
    old = forge.entity(call["name"], Kind(call.operation.name.partition(" ")[0]))
    place = entity_path(old)
    _, text = files.parse(place, files.read_bytes(forge.root, place) or b"")
    handle, copy = tempfile.mkstemp(prefix=f"{short_id(old.kind, old.id)}-", suffix=".md")
    path = Path(copy)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    try:
        status = subprocess.run([*command, copy], check=False).returncode  # noqa: S603 - what the person chose
    except OSError as e:
        path.unlink()
        raise ForgeError(
            f"cannot start the editor {command[0]!r}: {e.strerror}; set VISUAL or EDITOR"
        ) from None
    if status:
        path.unlink()
        return None
    try:
        edited = path.read_bytes().decode()
        made = accept(forge, old, text, edited, options) if edited != text else None
    except UnicodeDecodeError:
        reason = "the editor saved no UTF-8; set its encoding to UTF-8 and edit again"
        raise ForgeError(f"{reason}\nyour edit is kept in {copy}") from None
    except ForgeError as e:
        raise ForgeError(f"{e}\nyour edit is kept in {copy}") from e
    path.unlink()
    return made


def note_threads(found: tuple[Any, Any, Any], call: Call) -> None:
    """Print topics, what they are close to, and how they would change."""
    report, topics, links = found
    console.diff(report.diff)
    rows = [(short_id(Kind.TOPIC, t.id), t.status.value, f"{len(t.note_ids):,}", t.title) for t in topics]
    console.table(("id", "status", "notes", "title"), rows)
    registry = call.forge.registry()
    for topic, other in sorted(links, key=lambda pair: (-links[pair], pair)):
        near = registry.get(other)
        if near is not None:
            name = short_id(near.kind, other)
            console.data(f"{short_id(Kind.TOPIC, topic)} is close to {name} {console.one_line(near.title)}")
    suggestions(report)


def suggestions(report: Any) -> None:
    """Print on stderr how topics would change."""
    for each in report.suggestions:
        change = f"+{each.added} -{each.removed} of {console.count(len(each.topic.note_ids), 'note')}"
        console.info(f"{each.what}  {headline(each.topic)}  ({change})")
    if report.missing:
        console.info(f"nothing was distilled or compared: {report.missing}")
    elif report.suggestions and not report.applied:
        console.info("to change the topics so: `forgekit note threads apply`")
