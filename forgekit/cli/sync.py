"""`forgekit sync`: share the registry with its other clones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forgekit import console

if TYPE_CHECKING:
    from forgekit.cli.call import Call
    from forgekit.sharing import FileConflict, Synced


def sync(call: Call) -> int:
    """Share the registry; exit status 1 where a person has something to choose."""
    from forgekit.insight import views
    from forgekit.sharing import sync as share

    dry_run = bool(call["dry_run"])
    with console.progress("talking to the other repository"):
        done = share(call.forge, dry_run=dry_run)
    if call.as_json:
        console.as_json(views.synced(done, dry_run=dry_run))
    else:
        _say(done, dry_run=dry_run)
    return int(bool(done.conflicts or done.rivals))


def _say(done: Synced, *, dry_run: bool) -> None:
    from forgekit.merge import conflicting_edits
    from forgekit.merge.conflicting_edits import shown
    from forgekit.model.kinds import Kind, kind_of_path, short_id

    if done.diff:
        console.diff(done.diff)
    elif done.received:
        console.data("\n".join(done.received))
    for merged in done.conflicts:
        console.data(f"{merged.path}: {_sentence(merged)}")
    for path in dict.fromkeys(merged.path for merged in done.conflicts if merged.found.field):
        kind = kind_of_path(path)
        place = conflicting_edits.KEY if kind and kind.quoted else conflicting_edits.HEADING
        console.data(f"next: put the right text in {path}, delete `{place}`, then `forgekit check`")
    for merged in done.outlived:
        if merged.found.field == "status":
            old, new = (shown("status", value) for value in (merged.found.loser, merged.found.winner))
            console.data(f"{merged.path}: {old} gave way to {new}, the later; the history holds both")
    for conflict in done.rivals:
        a, b = (short_id(Kind.DECISION, side) for side in (conflict.decision_a, conflict.decision_b))
        name = short_id(Kind.CONFLICT, conflict.id)
        console.data(
            f"{a} and {b} are {conflict.nature}; neither is carried on until you choose: "
            f"`forgekit conflict resolve {name} --keep {a} --reason TEXT` (or {b}), or `scope`, or `dismiss`"
        )
    files = console.count(len(done.received), "file")
    sent = "would be pushed" if dry_run and done.sent else "pushed" if done.sent else "nothing to push"
    console.info(f"sync with {done.remote}: {files} {'would come' if dry_run else 'came'} in, {sent}")


def _sentence(merged: FileConflict) -> str:
    from forgekit.merge.conflicting_edits import sentence
    from forgekit.model.kinds import kind_of_path

    kind = kind_of_path(merged.path)
    assert kind is not None  # noqa: S101 - only files of entities are merged by fields
    return sentence(kind, merged.found)
