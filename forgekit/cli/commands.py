"""The commands of click, made from `forgekit.operations` one by one when they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from forgekit.errors import UsageError
from forgekit.operations import NOUNS, Argument, Operation, Type, operation_named, sections, verbs

if TYPE_CHECKING:
    from forgekit.forge import Forge
    from forgekit.times import Instant

_METAVARS = {
    Type.ID: "ID",
    Type.PROJECT: "NAME",
    Type.TAG: "WORD",
    Type.COUNT: "N",
    Type.SHARE: "0..1",
    Type.DATE: "DATE",
    Type.REVISION: "REV|DATE",
}
_LONGEST = 64_000
"""Characters of a statement read from standard input; more than any statement may have."""


class CommandGroup(click.Group):
    """The commands of the root, or those of one noun; each is made when it is asked for."""

    def __init__(self, noun: str = "", **options: Any) -> None:
        super().__init__(name=noun or "forgekit", invoke_without_command=True, **options)
        self.noun = noun

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """Return the names in the order of the table."""
        if self.noun:
            return verbs(self.noun)
        return [name for names in sections().values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Make a command, or the group of a noun."""
        if not self.noun and cmd_name in NOUNS:
            return noun_group(cmd_name)
        try:
            return command_of(operation_named(f"{self.noun} {cmd_name}".strip()))
        except KeyError:
            return None

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
        headings = {"Commands": self.list_commands(ctx)} if self.noun else sections()
        for heading, names in headings.items():
            commands = ((name, self.get_command(ctx, name)) for name in names)
            with formatter.section(heading):
                formatter.write_dl([(name, c.get_short_help_str(90)) for name, c in commands if c])


def noun_group(noun: str) -> click.Group:
    """Return the group of one noun; without a verb it prints its help."""

    def run() -> None:
        from forgekit import console

        ctx = click.get_current_context()
        if ctx.invoked_subcommand is None:
            console.data(ctx.get_help())

    return CommandGroup(noun, callback=run, help=f"{NOUNS[noun]}: {', '.join(verbs(noun))}.")


def command_of(operation: Operation) -> click.Command:
    """Return the click command of an operation."""

    def run(**given: Any) -> int:
        from forgekit.cli.call import Call, execute

        flags: dict[str, Any] = {
            name: given.pop(name) for name in ("as_json", "no_commit", "allow") if name in given
        }
        if operation.writes:
            flags["dry_run"] = given.pop("dry_run")
        values = {a.name: v for a in operation.arguments if (v := _value(a, given[a.name])) is not None}
        return execute(Call(operation=operation, values=values, **flags))

    parts = [operation.summary, operation.more]
    parts.append("\b\nExamples:\n" + "\n".join(f"  {line}" for line in operation.examples))
    return click.Command(
        operation.name.rpartition(" ")[2],
        callback=run,
        params=[*map(_parameter, operation.arguments), *_flags(operation)],
        help="\n\n".join(filter(None, parts)),
    )


def _value(argument: Argument, value: Any) -> Any:
    """Return what was given for an argument; None where nothing was, so that the function's default holds."""
    if argument.type is Type.WORDS:
        return words_of(value)
    if argument.type is Type.OFF:
        return False if value else None
    if argument.replaces and value == ("",):
        return ()
    return None if value is False or value == () else value


def words_of(parts: Iterable[str]) -> str:
    """Return what a person typed to look for.

    Raises UsageError where no word is in it.
    """
    text = " ".join(parts)
    if not any(map(str.isalnum, text)):
        raise UsageError("nothing to look for; type a word at least")
    return text


def _parameter(argument: Argument) -> click.Parameter:
    flag, switch = argument.type in {Type.FLAG, Type.OFF}, argument.type is Type.SWITCH
    options: dict[str, Any] = {"type": _click_type(argument), "metavar": argument.metavar or None}
    if argument.default is not None:
        options["default"] = argument.default  # with an explicit None, click would take it for required=False
    if argument.positional:
        words = argument.many or argument.type is Type.WORDS
        names = [argument.name]
        return click.Argument(names, nargs=-1 if words else 1, required=argument.required, **options)
    if not (flag or switch or argument.type is Type.CHOICE):  # of choices, click shows the values
        options["metavar"] = argument.metavar or _METAVARS.get(argument.type, "TEXT")
    return click.Option(
        [argument.name, argument.option or f"--{argument.name.replace('_', '-')}"],
        is_flag=True if flag or switch else None,  # with False, click takes `--at --x` for a missing value
        show_default=argument.default is not None,
        nargs=2 if argument.type is Type.PAIR else 1,
        multiple=argument.many,
        required=argument.required,
        help=argument.help,
        **(options | ({"default": None} if switch else {})),
    )


def _flags(operation: Operation) -> list[click.Parameter]:
    """Return the options that operations have because they write, or because they return something."""
    found: list[click.Parameter] = []
    if operation.writes:
        found = [
            click.Option(["--dry-run"], is_flag=True, help="Print the diff, write nothing."),
            click.Option(["--no-commit"], is_flag=True, help="Write the files, leave committing to you."),
            click.Option(
                ["--allow"],
                multiple=True,
                metavar="FINGERPRINT",
                callback=_fingerprints,
                help="Write what looks like this secret; repeatable.",
            ),
        ]
    if operation.view:
        found.append(click.Option(["as_json", "--json"], is_flag=True, help="One JSON document on stdout."))
    return found


def _fingerprints(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    from forgekit.model.settings import is_fingerprint

    if not all(map(is_fingerprint, value)):
        raise click.BadParameter("a fingerprint is 8 hexadecimal digits, as the refusal names it", ctx, param)
    return value


def _click_type(argument: Argument) -> click.ParamType | None:  # type: ignore[type-arg] # generic from click 8.4 on only
    match argument.type:
        case Type.COUNT:
            return click.IntRange(argument.least)
        case Type.SHARE:
            return click.FloatRange(0.0, 1.0)
        case Type.CHOICE:
            return click.Choice(argument.of)
        case Type.PATH:
            return PATH
        case Type.DATE:
            return _Date()
        case Type.STATEMENT:
            return _Statement()
        case Type.ID | Type.PROJECT | Type.TAG:
            return _Known(argument)
        case _:
            return None


PATH = click.Path(readable=False, allow_dash=True)
"""A file or folder; shells complete it, and what is wrong with it is reported where it is read."""


class _Date(click.ParamType):  # type: ignore[type-arg] # generic from click 8.4 on only
    """A date, or a date with time, in UTC, not in the future."""

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


class _Statement(click.ParamType):  # type: ignore[type-arg] # generic from click 8.4 on only
    """A text of one line; `-` reads it from standard input."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read it."""
        if value != "-":
            return str(value)
        from forgekit import console

        if sys.stdin.isatty():
            console.info("type the text, then press Ctrl-D")
        text = sys.stdin.read(_LONGEST).strip()
        if text in {"", "-"}:
            self.fail("standard input holds no text", param, ctx)
        return text


class _Known(click.ParamType):  # type: ignore[type-arg] # generic from click 8.4 on only
    """A name of something registered; shells complete it."""

    name = "text"

    def __init__(self, argument: Argument) -> None:
        self._argument = argument

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin so; nothing where no registry can be read."""
        del param
        try:
            found = _NAMES[self._argument.type](_forge_of(ctx), self._argument.of)
            return [CompletionItem(name, help=text) for name, text in found if name.startswith(incomplete)]
        except Exception:  # noqa: BLE001 - a shell waits for an answer, and has no place for an error
            return []


def _forge_of(ctx: click.Context) -> Forge:
    from forgekit.forge import Forge

    return Forge.open(ctx.find_root().params.get("root"))


def _ids(forge: Forge, kinds: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    from forgekit.model.kinds import Kind, short_id

    forge.catalogue.refresh()
    for kind in map(Kind, kinds or tuple(noun for noun in NOUNS if noun not in {"index", "model"})):
        for entity in reversed(forge.catalogue.entities(kind)):
            yield short_id(kind, entity.id), entity.title


def _projects(forge: Forge, _: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    return ((project.project_name, "") for project in forge.registry().projects)


def _tags(forge: Forge, _: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    registry = forge.registry()
    return ((tag, "") for tag in sorted({tag for entity in registry for tag in getattr(entity, "tags", ())}))


_NAMES: dict[Type, Callable[[Forge, tuple[str, ...]], Iterable[tuple[str, str]]]] = {
    Type.ID: _ids,
    Type.PROJECT: _projects,
    Type.TAG: _tags,
}
