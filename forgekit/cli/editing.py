"""`edit` of every noun: by options, or in the person's editor when there is a terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit import console
from forgekit.cli.changes import findings_after, print_findings, wrote
from forgekit.errors import ForgeError, UsageError
from forgekit.model.kinds import Kind, short_id

if TYPE_CHECKING:
    from forgekit.change import WriteOptions, Written
    from forgekit.cli.call import Call
    from forgekit.forge import Forge


def edit(call: Call) -> None:
    """Change one entity by options; without any, in the person's editor when there is a terminal."""
    kind = Kind(call.operation.name.partition(" ")[0])
    if set(call.values) != {"name"}:
        wrote(call.result(), call)
        return
    if not console.is_terminal():
        options = [a.option or f"--{a.name.replace('_', '-')}" for a in call.operation.arguments[1:]]
        raise UsageError(f"nothing to change: without a terminal say what, by {', '.join(options)}")
    written = _in_editor(call.forge, kind, call["name"], call.options)
    if written is None:
        console.info("nothing changed")
    else:
        wrote(written, call)
        print_findings(findings_after(call, written.outcome, [written.entity]))


def _in_editor(forge: Forge, kind: Kind, name: str, way: WriteOptions) -> Written | None:
    """Let the person edit a copy, then check and commit it; None when nothing was changed.

    Raises ForgeError that names the copy, so that no edit is lost, UsageError for an editor that is none.
    """
    import subprocess
    import tempfile

    from forgekit.model.entities import entity_path
    from forgekit.upkeep.check import accept
    from forgekit.worktree import files

    command = _editor()
    old = forge.entity(name, kind)
    place = entity_path(old)
    _, text = files.parse(place, files.read_bytes(forge.root, place) or b"")
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

    Raises UsageError where they cannot be split.
    """
    import shlex

    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        return shlex.split(command)
    except ValueError as e:
        raise UsageError(f"cannot start the editor {command!r}: {e}; set VISUAL or EDITOR") from None
