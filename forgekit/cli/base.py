"""What every command is made with: lazy groups, shared options, and the registry that is worked on."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from forgekit.errors import UsageError

if TYPE_CHECKING:
    from forgekit.change import WriteOptions
    from forgekit.forge import Forge
    from forgekit.times import Instant

F = TypeVar("F", bound=Callable[..., Any])
Sections = Mapping[str, Mapping[str, str]]
"""Heading -> command name -> `module:attribute`."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for, listed under headings."""

    def __init__(self, *args: Any, sections: Sections | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections: Sections = sections or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the headings."""
        return [name for names in self.sections.values() for name in names] or super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        for names in self.sections.values():
            if cmd_name in names:
                module, _, attribute = names[cmd_name].partition(":")
                command = getattr(importlib.import_module(module), attribute)
                assert isinstance(command, click.Command)  # noqa: S101 - a table of our own
                return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for one that does not exist, name the one that was probably meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from forgekit.model.rules import near_miss

            meant = near_miss(args[0], self.list_commands(ctx))
            hint = f"; did you mean `{meant}`?" if meant else ""
            raise click.UsageError(f"no such command: {args[0][:60]!r}{hint}", ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands below their headings."""
        for heading, names in (self.sections or {"Commands": dict.fromkeys(self.commands, "")}).items():
            rows = [
                (name, command.get_short_help_str(90))
                for name in names
                if (command := self.get_command(ctx, name)) is not None
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)


def noun(name: str, summary: str) -> click.Group:
    """Return the group of one noun; without a verb it prints its help."""

    @click.group(name=name, cls=LazyGroup, invoke_without_command=True, help=summary)
    @click.pass_context
    def group(ctx: click.Context) -> None:
        if ctx.invoked_subcommand is None:
            from forgekit import console

            console.data(ctx.get_help())

    return group


class _Moment(click.ParamType):  # type: ignore[type-arg] # generic from click 8.4 on only
    """A date, or a date with time, in UTC; none that lies ahead."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Instant:
        """Read it."""
        from forgekit.forge import clock
        from forgekit.times import DAY_MS, parse_instant

        try:
            moment = parse_instant(value)
        except ValueError as e:
            self.fail(str(e), param, ctx)
        if moment > clock() + DAY_MS:  # it may be tomorrow already where somebody sits
            self.fail(f"{value} lies ahead", param, ctx)
        return moment


MOMENT = _Moment()
PATH = click.Path(readable=False, allow_dash=True)
"""A file or folder; shells complete it, and what is wrong with it is said where it is read."""

SHARE = click.FloatRange(0.0, 1.0)
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
limit_option = click.option("--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N")
project_option = click.option("--project", metavar="NAME", help="The project's name.")
at_option = click.option("--at", type=MOMENT, metavar="DATE", help="When it happened; now where not given.")
conversation_option = click.option(
    "--conversation", metavar="ID", help="The conversation where it happened, by any name."
)
tags_option = click.option("--tag", "tags", multiple=True, metavar="WORD", help="A tag; repeatable.")


COMPLETE = "_FORGEKIT_COMPLETE"
"""The variable by which a shell asks how a command line may go on."""
_JSON = f"{__name__}.json"
_ALLOW = f"{__name__}.allow"


def _allow(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> None:
    """Keep the fingerprints for `open_forge`."""
    from forgekit.model.settings import is_fingerprint

    if not all(map(is_fingerprint, value)):
        raise click.BadParameter("a fingerprint is 8 hexadecimal digits, as the refusal names it", ctx, param)
    ctx.meta[_ALLOW] = value


def writing(command: F) -> F:
    """Add `--dry-run`, `--no-commit`, `--allow` and `--json` to a command; `wants_json` tells of the last."""
    command = click.option(
        "--allow",
        multiple=True,
        metavar="FINGERPRINT",
        expose_value=False,
        callback=_allow,
        help="Write what looks like this secret; repeatable.",
    )(command)
    command = click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=lambda ctx, _param, value: ctx.meta.__setitem__(_JSON, value),
        help="One JSON document on stdout.",
    )(command)
    command = click.option("--no-commit", is_flag=True, help="Write the files, leave committing to you.")(
        command
    )
    return click.option("--dry-run", is_flag=True, help="Print the diff, write nothing.")(command)


def wants_json() -> bool:
    """Return whether the command that runs was asked for JSON."""
    return bool(click.get_current_context().meta.get(_JSON))


def is_dry_run() -> bool:
    """Return whether the command that runs was asked to write nothing."""
    return bool(click.get_current_context().params.get("dry_run"))


def options(*, dry_run: bool, no_commit: bool) -> WriteOptions:
    """Return how to write.

    Raises UsageError for both at once.
    """
    from forgekit.change import WriteOptions

    if dry_run and no_commit:
        raise UsageError("--dry-run writes nothing, so --no-commit says nothing; leave one out")
    return WriteOptions(dry_run=dry_run, no_commit=no_commit)


def words_of(parts: tuple[str, ...]) -> str:
    """Return what a person typed to look for.

    Raises UsageError where no word is in it.
    """
    text = " ".join(parts)
    if not any(map(str.isalnum, text)):
        raise UsageError("nothing to look for; type a word at least")
    return text


def example(*lines: str) -> str:
    """Return help text that shows how a command is used."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def root_of() -> str | None:
    """Return the folder given by `-C`."""
    found = click.get_current_context().find_object(dict)
    return str(found["root"]) if found and found["root"] else None


def open_forge() -> Forge:
    """Open the registry that the command line is about.

    Raises NoRegistryError, FormatError, UsageError for a clock that is no date.
    """
    from forgekit.forge import Forge, clock

    clock()
    forge = Forge.open(root_of(), allow=click.get_current_context().meta.get(_ALLOW, ()))
    return replace(forge, on_new_project=_talk_of_project)


def _talk_of_project(name: str, near: str | None) -> None:
    from forgekit import console

    console.info(f"new project {name!r}" + (f"; did you mean {near!r}?" if near else ""))
