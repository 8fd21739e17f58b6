"""The command `forgekit`, and the one place where errors become exit codes.

0  fine        1  findings, or the user's to fix        2  called wrongly
3  our fault   130  interrupted
"""

from __future__ import annotations

import os

import click

from forgekit import __version__, console
from forgekit.cli.commands import PATH, CommandGroup
from forgekit.errors import ForgeError

INTERNAL = 3
INTERRUPTED = 130
COMPLETE = "_FORGEKIT_COMPLETE"
"""The variable by which a shell asks how a command line may go on."""


@click.pass_context
def _root(ctx: click.Context, root: str | None, *, no_color: bool, no_pager: bool, debug: bool) -> None:
    ctx.obj = {"root": root, "debug": debug, "no_pager": no_pager}
    if no_color:
        os.environ[console.NO_COLOR] = "1"
    if ctx.invoked_subcommand is None:
        console.data(ctx.get_help())


forgekit = CommandGroup(
    callback=_root,
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
    debug = "--debug" in arguments
    try:
        if asked := os.environ.get(COMPLETE):
            from click.shell_completion import shell_complete

            return shell_complete(forgekit, {}, "forgekit", COMPLETE, asked)
        # click's own `main` would end with 1 where the reader of a pipe has gone.
        with forgekit.make_context("forgekit", list(arguments)) as ctx:
            result = forgekit.invoke(ctx)
    except click.exceptions.Exit as e:
        return e.exit_code
    except (click.Abort, KeyboardInterrupt):
        console.info("\ninterrupted")
        return INTERRUPTED
    except click.UsageError as e:
        where = e.ctx.command_path if e.ctx else "forgekit"
        console.info(f"forgekit: {e.format_message()}\nSee `{where} --help`.")
        return e.exit_code
    except click.ClickException as e:
        console.info(f"forgekit: {e.format_message()}")
        return e.exit_code
    except BrokenPipeError:
        raise
    except Exception as e:  # noqa: BLE001 - whatever is left is a bug, and still gets one line
        return _failed(e, debug=debug)
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
    return INTERNAL
