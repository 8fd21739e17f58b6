"""The command `forgekit`: its commands, made from `forgekit.operations` when they are asked for.

It is the one place where errors become exit codes:

0  fine        1  findings, or the user's to fix        2  called wrongly
3  our fault   130  interrupted
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from forgekit import __version__, console
from forgekit.errors import ForgeError, UsageError
from forgekit.operations import NOUNS, Argument, Operation, Type, operation_named, sections, verbs

if TYPE_CHECKING:
    from forgekit.forge import Forge
    from forgekit.times import Instant

COMPLETE = "_FORGEKIT_COMPLETE"
"""The variable by which a shell asks how a command line may go on."""
_INTERNAL = 3
_INTERRUPTED = 130
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


@click.pass_context
def _begin(ctx: click.Context, /, *, no_color: bool = False, **_: object) -> None:
    """Print the help where no command is named."""
    if no_color:
        os.environ[console.NO_COLOR] = "1"
    if ctx.invoked_subcommand is None:
        console.data(ctx.get_help())


class CommandGroup(click.Group):
    """The commands of the root, or those of one noun; each is made when it is asked for."""

    def __init__(self, noun: str = "", **options: Any) -> None:
        super().__init__(noun or "forgekit", invoke_without_command=True, callback=_begin, **options)
        self.noun = noun

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """Return the names in the order of the table."""
        if self.noun:
            return verbs(self.noun)
        return [name for names in sections().values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Make a command, or the group of a noun."""
        if not self.noun and cmd_name in NOUNS:
            return CommandGroup(cmd_name, help=f"{NOUNS[cmd_name]}: {', '.join(verbs(cmd_name))}.")
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
    """Return what was given for an argument; None where nothing was, so that the function's default holds.

    Raises UsageError for words to look for that hold no letter and no digit.
    """
    if argument.type is Type.WORDS:
        text = " ".join(value)
        if not any(map(str.isalnum, text)):
            raise UsageError("nothing to look for; type a word at least")
        return text
    if argument.type is Type.OFF:
        return False if value else None
    if argument.replaces and value == ("",):
        return ()
    return None if value is False or value == () else value


def _parameter(argument: Argument) -> click.Parameter:
    flag, switch = argument.type in {Type.FLAG, Type.OFF}, argument.type is Type.SWITCH
    options: dict[str, Any] = {"type": _click_type(argument), "metavar": argument.metavar or None}
    if argument.type in _NAMES:
        options["shell_complete"] = partial(_completed, argument)
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


def _click_type(argument: Argument) -> click.ParamType | Callable[[str], object] | None:  # type: ignore[type-arg] # generic from click 8.4 on only
    match argument.type:
        case Type.COUNT:
            return click.IntRange(argument.least)
        case Type.SHARE:
            return SHARE
        case Type.CHOICE:
            return click.Choice(argument.of)
        case Type.PATH:
            return PATH
        case Type.DATE:
            return _date
        case Type.STATEMENT:
            return _statement
        case Type.FLAG | Type.OFF | Type.SWITCH:
            return None
        case _:
            return _text


PATH = click.Path(readable=False, allow_dash=True)
"""A file or folder; shells complete it, and what is wrong with it is reported where it is read."""


class _Share(click.FloatRange):
    """A number from 0 to 1, with a point or a comma."""

    name = "number from 0 to 1"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; raise BadParameter for what is none."""
        plain: Any = str(value).replace(",", ".")  # click says that it takes numbers only
        return super().convert(plain, param, ctx)


SHARE = _Share(0.0, 1.0)


def _date(value: str) -> Instant:
    """Read a date, or a date with time, in UTC, not in the future."""
    from forgekit.forge import clock
    from forgekit.times import DAY_MS, parse_instant

    try:
        moment = parse_instant(value)
    except ValueError as e:
        raise click.BadParameter(str(e)) from None
    if moment > clock() + DAY_MS:  # it may be tomorrow already where somebody sits
        raise click.BadParameter(f"{value} lies ahead")
    return moment


def _text(value: str) -> str:
    """Return what was typed; refuse bytes that are no text in UTF-8, which would be lost."""
    try:
        value.encode()
    except UnicodeEncodeError:
        shown = value.encode("utf-8", "replace").decode()[:60]
        raise click.BadParameter(f"{shown!r} is no text in UTF-8; set the terminal to UTF-8") from None
    return value


def _statement(value: str) -> str:
    """Return a text of one line; `-` reads it from standard input."""
    if value != "-":
        return _text(value)
    if sys.stdin.isatty():
        console.info("type the text, then press Ctrl-D")
    try:
        text = sys.stdin.read(_LONGEST).strip()
    except UnicodeDecodeError:
        raise click.BadParameter("standard input is no text in UTF-8") from None
    if text in {"", "-"}:
        raise click.BadParameter("standard input holds no text")
    return text


def _completed(
    argument: Argument, ctx: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the registered names that begin so; nothing where no registry can be read."""
    from forgekit.forge import Forge

    try:
        found = _NAMES[argument.type](Forge.open(root_of(ctx)), argument.of)
        return [CompletionItem(name, help=text) for name, text in found if name.startswith(incomplete)]
    except Exception:  # noqa: BLE001 - a shell waits for an answer, and has no place for an error
        return []


class _Bash(BashComplete):
    """Completion for bash, which inserts names unquoted: a blank in one would end the word."""

    def format_completion(self, item: CompletionItem) -> str:
        words = os.environ["COMP_WORDS"].split("\n")[int(os.environ["COMP_CWORD"]) :]
        if item.type == "plain" and not (words and words[0].startswith(('"', "'"))):
            # The `read` of click's script takes one of two backslashes away.
            item = CompletionItem(re.sub(r"[^\w@%+=:,./-]", r"\\\\\g<0>", item.value))
        return super().format_completion(item)


def root_of(ctx: click.Context) -> str | None:
    """Return the folder given by `-C`."""
    root: str | None = ctx.find_root().params.get("root")
    return root


def _ids(forge: Forge, kinds: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    from forgekit.model.kinds import Kind, short_id

    forge.catalogue.refresh()
    for kind in map(Kind, kinds) if kinds else Kind:
        for entity in reversed(forge.catalogue.entities(kind)):
            yield short_id(kind, entity.id), entity.title


def _tags(forge: Forge, _: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    tags = {tag for entity in forge.registry() for tag in getattr(entity, "tags", ())}
    return ((tag, "") for tag in sorted(tags))


_NAMES: dict[Type, Callable[[Forge, tuple[str, ...]], Iterable[tuple[str, str]]]] = {
    Type.ID: _ids,
    Type.PROJECT: lambda forge, _: ((project.project_name, "") for project in forge.registry().projects),
    Type.TAG: _tags,
}


forgekit = CommandGroup(
    help="Keep the decisions, threads and lineage of model conversations as Markdown files in git.",
    params=[
        click.Option(["-C", "--root"], type=PATH, metavar="DIR", help="Work on the registry of this folder."),
        click.Option(["--no-color"], is_flag=True, help="No colours; the variable NO_COLOR does the same."),
        click.Option(["--no-pager"], is_flag=True, help="Never start a pager; PAGER=cat does the same."),
        click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."),
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, message="forgekit %(version)s")(forgekit)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code.

    Raises BrokenPipeError.
    """
    try:
        if asked := os.environ.get(COMPLETE):
            from click.shell_completion import shell_complete

            add_completion_class(_Bash)
            return shell_complete(forgekit, {}, "forgekit", COMPLETE, asked)
        # click's own `main` would end with 1 where the reader of a pipe has gone.
        with forgekit.make_context("forgekit", list(arguments)) as ctx:
            result = forgekit.invoke(ctx)
    except click.exceptions.Exit as e:
        return e.exit_code
    except (click.Abort, KeyboardInterrupt):
        console.info("\ninterrupted")
        return _INTERRUPTED
    except click.ClickException as e:
        hint = ""
        if isinstance(e, click.UsageError):
            hint = f"\nSee `{e.ctx.command_path if e.ctx else 'forgekit'} --help`."
        console.info(f"forgekit: {e.format_message()}{hint}")
        return e.exit_code
    except BrokenPipeError:
        raise
    except Exception as e:  # noqa: BLE001 - any other error is a bug, and still gets one line
        return _failed(e, debug="--debug" in arguments)
    return result if isinstance(result, int) else 0


def _failed(error: Exception, *, debug: bool) -> int:
    """Say in one sentence what went wrong."""
    if debug:
        import traceback

        console.info(traceback.format_exc().rstrip("\n"))
    if isinstance(error, ForgeError):
        console.info(f"forgekit: {error}")
        return error.exit_code
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        reason = console.one_line(f"{where}{error.strerror or error}")
        console.info(f"forgekit: {reason}; check the disk and the permissions, then run this again")
        return ForgeError.exit_code
    reason = f"{type(error).__name__}: {console.one_line(str(error))[:300]}"
    hint = "" if debug else "; run it again with `forgekit --debug ...` to see where"
    console.info(f"forgekit: internal error: {reason}{hint}")
    return _INTERNAL
