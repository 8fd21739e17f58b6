"""One call of an operation from the command line: what was given, the registry, and what is printed.

A result is printed by the function that is called as its view is, of `changes` where the operation writes,
else of `looking`; without a view it is a text, printed as it is. Where a command asks a person, reads
streams or shows progress, `COMMANDS` names a function that does all of it, by the name or the verb of the
operation.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from forgekit import console
from forgekit.cli.commands import root_of
from forgekit.errors import NoRegistryError, UsageError
from forgekit.operations import Operation, imported

if TYPE_CHECKING:
    from forgekit.forge import Forge, WriteOptions

COMMANDS = {
    "approve": "changes:answered",
    "archive new": "filing:sync_compression",
    "archive show": "filing:archive_shown",
    "check": "maintenance:check",
    "completion": "maintenance:completion",
    "conflict scan": "changes:scan",
    "convention new": "changes:stated",
    "convention bootstrap": "changes:bootstrapped",
    "convention reset": "changes:reset",
    "daily": "maintenance:daily",
    "decision duplicates": "changes:duplicates",
    "decision new": "changes:decided",
    "decision revise": "changes:decided",
    "decision validate": "changes:validated",
    "demo-data": "maintenance:demo_data",
    "doctor": "maintenance:doctor",
    "edit": "changes:edit",
    "export": "maintenance:export",
    "hook": "maintenance:hook",
    "index build": "maintenance:index_build",
    "ingest": "filing:ingest",
    "init": "maintenance:init",
    "mcp": "maintenance:mcp",
    "maintain": "maintenance:maintain",
    "merge-driver": "maintenance:merge_driver",
    "model install": "maintenance:model",
    "model list": "maintenance:model",
    "model remove": "maintenance:model",
    "note add": "filing:note_add",
    "reject": "changes:answered",
    "retire": "changes:answered",
    "review": "review:review",
    "setup": "maintenance:setup",
    "statusline": "maintenance:status_line",
    "sync": "maintenance:sync",
    "sync-compression": "filing:sync_compression",
    "template": "maintenance:template",
}
FAILS: dict[str, Callable[[Any], bool]] = {
    "ask": lambda answer: not answer.found,
    "convention inject": lambda found: found.checked and bool(found.edits),
    "index verify": lambda checked: checked.wrong > 0,
}
"""Which results end the process with exit status 1."""


@dataclass(kw_only=True, eq=False, repr=False)
class Call:
    """One call of an operation.

    Attributes:
        values: the arguments that were given, by name, and those that have a default.
        allow: fingerprints of secrets that may be written.
    """

    operation: Operation
    values: dict[str, Any] = field(default_factory=dict)
    as_json: bool = False
    dry_run: bool = False
    no_commit: bool = False
    allow: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name)

    @cached_property
    def forge(self) -> Forge:
        """The registry that the command line is about.

        Raises NoRegistryError, FormatError, UsageError for a clock that is no date.
        """
        from forgekit.forge import Forge, clock

        clock()
        root = root_of(click.get_current_context())
        return replace(Forge.open(root, allow=self.allow), on_new_project=_name_project)

    @property
    def registry(self) -> Forge | None:
        """The registry; None outside one where the operation needs none."""
        try:
            return self.forge
        except NoRegistryError:
            if not self.operation.anywhere:
                raise
            return None

    @cached_property
    def options(self) -> WriteOptions:
        """How to write.

        Raises UsageError for a dry run that is not to be committed.
        """
        from forgekit.forge import WriteOptions

        if self.dry_run and self.no_commit:
            raise UsageError("--dry-run writes nothing, so --no-commit has no effect; leave one out")
        return WriteOptions(dry_run=self.dry_run, no_commit=self.no_commit)

    def result(self, **more: Any) -> Any:
        """Run the operation's function; `more` are arguments that no person gives."""
        printing = {argument.name for argument in self.operation.arguments if argument.printing}
        values = {name: value for name, value in self.values.items() if name not in printing}
        if self.operation.writes:
            more["options"] = self.options
        function = imported(self.operation.function)
        return function(self.registry, **dict(self.operation.fixed), **values, **more)

    def printed_json(self, result: Any, view: str = "", **more: Any) -> bool:
        """Print a result as JSON where that was asked for, and say whether it was.

        Args:
            view: of `insight.views`, where it is not the operation's own.
            more: what the view takes beside the result.
        """
        if self.as_json:
            from forgekit.insight import views

            if self.operation.writes and not view:
                more["dry_run"] = self.dry_run
            console.as_json(getattr(views, view or self.operation.view)(result, **more))
        return self.as_json

    def name_unread(self) -> None:
        """Say on stderr how many files could not be read, where the catalogue was asked at all."""
        forge = self.registry
        if forge is not None and "catalogue" in vars(forge) and forge.unread:
            console.info(forge.unread)


def name_unjudged(pairs: int) -> None:
    """Say on stderr how many pairs of decisions wait for the judge, where any do."""
    if pairs:
        number = console.count(pairs, "pair")
        console.info(f"{number} not judged yet; `forgekit conflict scan` judges them")


def execute(call: Call) -> int:
    """Run one call and return the exit code."""
    name = call.operation.name
    target = COMMANDS.get(name) or COMMANDS.get(name.rpartition(" ")[2])
    return imported(f"forgekit.cli.{target}")(call) or 0 if target else answer(call)


def answer(call: Call) -> int:
    """Run the operation's function, print its result, and return the exit code."""
    with console.progress("reading the registry"):
        result = call.result()
    if not call.operation.writes:
        call.name_unread()
    if notice := _notice(result):
        console.info(notice)
    if not call.operation.view:
        console.verbatim(result)
    elif not call.printed_json(result):
        writes = call.operation.writes
        printer = imported(f"forgekit.cli.{'changes' if writes else 'looking'}:{call.operation.view}")
        with contextlib.nullcontext() if writes else paged():
            printer(result, call)
    fails = FAILS.get(call.operation.name)
    return int(fails is not None and fails(result))


def _notice(result: Any) -> str:
    """Return what a person should know about how a result came to be."""
    data = getattr(result, "data", None)
    return str(getattr(result, "notice", "") or (isinstance(data, dict) and data.get("notice")) or "")


def _name_project(name: str, near: str | None) -> None:
    console.info(f"new project {name!r}" + (f"; did you mean {near!r}?" if near else ""))


class _Held(io.StringIO):
    """What is printed to a terminal, held back until its length is known."""

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def paged() -> Iterator[None]:
    """Show what is printed in a pager where a terminal has fewer lines than it."""
    unpaged = click.get_current_context().find_root().params["no_pager"]
    if not sys.stdout.isatty() or unpaged or os.environ.get("PAGER") in {"", "cat"}:
        yield
        return
    held = _Held()
    try:
        with contextlib.redirect_stdout(held):
            yield
    finally:
        import shutil  # with three compressors

        text = held.getvalue()
        if text.count("\n") >= shutil.get_terminal_size().lines:
            click.echo_via_pager(text.removesuffix("\n"), color=not os.environ.get(console.NO_COLOR))
        else:
            sys.stdout.write(text)
