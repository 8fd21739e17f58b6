"""`edit` of every noun: by options, or in the person's editor when there is a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forgekit import console
from forgekit.cli.base import SHARE, example, open_forge, options, writing
from forgekit.cli.changes import talk_of_judge, wrote
from forgekit.errors import ForgeError, UsageError
from forgekit.model.kinds import Kind, short_id

if TYPE_CHECKING:
    from forgekit.change import WriteOptions, Written
    from forgekit.forge import Forge

Option = Callable[[Any], Any]

_CONTENT = click.option("--content", metavar="TEXT", help="A description, Markdown.")
_INSTEAD = 'In place of the old ones, "" for none; repeatable.'
_TAGS = click.option("--tag", "tags", multiple=True, metavar="WORD", help=_INSTEAD)
_TITLE = click.option("--title", metavar="TEXT", help="A new title; the id stays.")

OPTIONS: dict[Kind, tuple[Option, ...]] = {
    Kind.PROJECT: (_CONTENT, _TAGS),
    Kind.CONVERSATION: (_TITLE, _CONTENT, _TAGS),
    Kind.THREAD: (
        _TITLE,
        click.option("--priority", type=click.Choice(["high", "medium", "low"])),
        _CONTENT,
        click.option("--blocked-by", multiple=True, metavar="ID", help=_INSTEAD),
        _TAGS,
    ),
    Kind.DECISION: (
        click.option("--rationale", metavar="TEXT", help="Why, Markdown."),
        click.option("--context", metavar="TEXT", help="In which circumstances, Markdown."),
        click.option("--tier", type=SHARE, metavar="0..1", help="How sure it is."),
        click.option("--rejected", "alternatives", multiple=True, metavar="TEXT", help=_INSTEAD),
        click.option("--depends-on", "dependencies", multiple=True, metavar="ID", help=_INSTEAD),
        _TAGS,
    ),
    Kind.LINEAGE: (click.option("--summary", "content", metavar="TEXT", help="What changed on the way."),),
}
_USAGE = {
    Kind.PROJECT: '--content "A message bus for vehicles"',
    Kind.CONVERSATION: '--title "Storage layer, part 2"',
    Kind.THREAD: "--priority high",
    Kind.DECISION: "--tier 0.9 --tag storage",
    Kind.LINEAGE: '--summary "The queue was chosen on the way"',
}


def add_edit(group: click.Group, kind: Kind) -> None:
    """Give a noun its `edit`."""

    def run(*, name: str, dry_run: bool, no_commit: bool, **values: Any) -> None:
        given = {
            key: () if value == ("",) else value for key, value in values.items() if value not in (None, ())
        }
        way = options(dry_run=dry_run, no_commit=no_commit)
        forge = open_forge()
        if given:
            wrote(_apply(forge, kind, name, given, way), f"{kind.value} edit")
            return
        if not console.is_terminal():
            names = ", ".join(name for name in _option_names(command) if name not in _WAYS)
            raise UsageError(f"nothing to change: without a terminal say what, by {names}")
        written = _in_editor(forge, kind, name, way)
        if written is None:
            console.info("nothing changed")
        else:
            wrote(written, f"{kind.value} edit")
            if len(written.outcome.change.writes) > 1:  # a new text was compared
                talk_of_judge(forge)

    decorated: Any = run
    for option in reversed(OPTIONS[kind]):
        decorated = option(decorated)
    decorated = click.argument("name", metavar="ID")(writing(decorated))
    usage = f"forgekit {kind.value} edit {kind.prefix}_b34bfcd74276"
    command = click.command(
        "edit",
        help=f"Change one {kind.value}; without options in $VISUAL or $EDITOR.\n\n"
        + example(f"{usage} {_USAGE[kind]}", usage),
    )(decorated)
    group.add_command(command)


def _option_names(command: click.Command) -> list[str]:
    return [name for param in command.params for name in param.opts if name.startswith("--")]


_WAYS = ("--dry-run", "--no-commit", "--allow", "--json")


def _apply(forge: Forge, kind: Kind, name: str, given: dict[str, Any], way: WriteOptions) -> Written:
    if kind is Kind.THREAD:
        from forgekit.model.thread import Priority
        from forgekit.threads import edit

        if "priority" in given:
            given["priority"] = Priority(given["priority"])
        return edit(forge, name, **given, options=way)
    if kind is Kind.DECISION:
        from forgekit import decisions

        return decisions.edit(forge, name, **given, options=way)
    from forgekit.projects import describe

    return describe(forge, name, kind, **given, options=way)


def _in_editor(forge: Forge, kind: Kind, name: str, way: WriteOptions) -> Written | None:
    """Let the person edit a copy, then check and commit it; None when nothing was changed.

    Raises ForgeError that names the copy, so that no edit is lost, UsageError for an editor that is none.
    """
    import subprocess
    import tempfile

    from forgekit.model.entity import entity_path
    from forgekit.upkeep.check import accept
    from forgekit.worktree import files

    command = _editor()
    old = forge.entity(name, kind)
    _, text = files.read(forge.root, entity_path(old))
    handle, copy = tempfile.mkstemp(prefix=f"{short_id(kind, old.id)}-", suffix=".md")
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
        edited = _saved(path)
        written = accept(forge, old, text, edited, way) if edited != text else None
    except ForgeError as e:
        raise ForgeError(f"{e}\nyour edit is kept in {copy}") from e
    path.unlink()
    return written


def _saved(path: Path) -> str:
    """Return what the editor saved.

    Raises ForgeError for another encoding than UTF-8.
    """
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise ForgeError("the editor saved no UTF-8; set its encoding to UTF-8 and edit again") from None


def _editor() -> list[str]:
    """Return the words that start the editor.

    Raises UsageError where they cannot be told apart.
    """
    import shlex

    said = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        return shlex.split(said)
    except ValueError as e:
        raise UsageError(f"cannot start the editor {said!r}: {e}; set VISUAL or EDITOR") from None
