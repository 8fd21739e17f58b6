"""`forgekit sync`: share the registry with its other clones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forgekit import console
from forgekit.cli.base import example, is_dry_run, json_option, open_forge
from forgekit.cli.changes import conflict_lines, conflict_view, talk_of_judge

if TYPE_CHECKING:
    from forgekit.sharing.sync import Synced, SyncReport


@click.command(
    help="Fetch, merge and push the branch; what two clones changed in different ways is kept and named.\n\n"
    "It is shared through the branch's upstream, else through `origin`. Nothing is ever forced. Exit "
    "status 1 where a person has something to choose.\n\n"
    + example("forgekit sync", "forgekit sync --dry-run")
)
@click.option("--dry-run", is_flag=True, help="Fetch, print the diff, merge and push nothing.")
@json_option
def sync(*, dry_run: bool, as_json: bool) -> int:
    """Share the registry."""
    from forgekit.sharing.sync import sync as share

    forge = open_forge()
    with console.progress("talking to the other repository"):
        done = share(forge, dry_run=dry_run)
    if as_json:
        console.as_json(_view(done))
    else:
        _say(done, dry_run=dry_run)
        talk_of_judge(forge)
    return int(bool(done.conflicts or done.rivals or any(c.kept is None for c in done.contradictions)))


def _say(done: Synced, *, dry_run: bool) -> None:
    from forgekit.merge import conflicting_edits
    from forgekit.merge.conflicting_edits import shown
    from forgekit.model.kinds import Kind, kind_of_path, short_id

    if done.diff:
        console.diff(done.diff)
    elif done.received:
        console.data("\n".join(done.received))
    for told in done.conflicts:
        console.data(f"{told.path}: {_sentence(told)}")
    for path in dict.fromkeys(told.path for told in done.conflicts if told.found.field):
        kind = kind_of_path(path)
        place = conflicting_edits.KEY if kind and kind.quoted else conflicting_edits.HEADING
        console.data(f"next: put the right text in {path}, delete `{place}`, then `forgekit check`")
    for told in done.outlived:
        if told.found.field == "status":
            gone, stands = (shown("status", value) for value in (told.found.loser, told.found.winner))
            console.data(f"{told.path}: {gone} gave way to {stands}, the later; the history holds both")
    for conflict in done.rivals:
        a, b = (short_id(Kind.DECISION, side) for side in (conflict.decision_a, conflict.decision_b))
        name = short_id(Kind.CONFLICT, conflict.id)
        console.data(
            f"{a} and {b} are {conflict.nature}; neither is carried on until you choose: "
            f"`forgekit conflict resolve {name} --keep {a} --reason TEXT` (or {b}), or `scope`, or `dismiss`"
        )
    for conflict in done.contradictions:
        for line in conflict_lines(conflict):
            console.data(line)
    files = console.count(len(done.received), "file")
    sent = "would be pushed" if dry_run and done.sent else "pushed" if done.sent else "nothing to push"
    console.info(f"sync with {done.remote}: {files} {'would come' if dry_run else 'came'} in, {sent}")


def _sentence(told: SyncReport) -> str:
    from forgekit.merge.conflicting_edits import sentence
    from forgekit.model.kinds import kind_of_path

    kind = kind_of_path(told.path)
    assert kind is not None  # noqa: S101 - only files of entities are merged by fields
    return sentence(kind, told.found)


def _view(done: Synced) -> dict[str, object]:
    from forgekit.text import codec

    return {
        "remote": done.remote.name,
        "branch": done.remote.branch,
        "commit": done.commit,
        "dry_run": is_dry_run(),
        "received": list(done.received),
        "sent": done.sent,
        "conflicts": [_told(told) for told in done.conflicts],
        "outlived": [_told(told) for told in done.outlived],
        "rivals": [codec.to_fields(conflict) for conflict in done.rivals],
        "contradictions": [conflict_view(conflict) for conflict in done.contradictions],
    }


def _told(told: SyncReport) -> dict[str, object]:
    from forgekit.merge.conflicting_edits import plain

    values = {"base": told.found.base, "stands": told.found.winner, "yields": told.found.loser}
    field = told.found.field
    shown = {name: None if value is None else plain(field, value) for name, value in values.items()}
    return {"path": told.path, "field": told.found.field, **shown}
