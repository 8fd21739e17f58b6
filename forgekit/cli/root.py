"""The commands of `forgekit`, and the one place where errors become exit codes.

    0  fine        1  findings, or the user's to fix        2  called wrongly
    3  our fault   130  interrupted

A command's module is imported when the command runs.
"""

from __future__ import annotations

import os

import click

from forgekit import __version__, console
from forgekit.cli.base import COMPLETE, PATH, LazyGroup
from forgekit.errors import ForgeError

INTERNAL = 3
INTERRUPTED = 130

COMMANDS = {
    "The loop": {
        "prepare-compression": "forgekit.cli.loop:prepare_compression",
        "sync-compression": "forgekit.cli.sync_compression:sync_compression",
        "prepare-continuation": "forgekit.cli.loop:prepare_continuation",
        "ask": "forgekit.cli.loop:ask",
    },
    "Conversations in": {
        "ingest": "forgekit.cli.ingest:ingest",
        "review": "forgekit.cli.review:review",
        "candidate": "forgekit.cli.candidate:candidate",
        "watch": "forgekit.cli.ingest:watch",
    },
    "Look": {
        "status": "forgekit.cli.queries:status",
        "search": "forgekit.cli.search:search",
        "context": "forgekit.cli.queries:context",
        "stale": "forgekit.cli.queries:stale",
        "trace": "forgekit.cli.queries:trace",
        "bridge": "forgekit.cli.queries:bridge",
        "show": "forgekit.cli.entities:show",
        "history": "forgekit.cli.entities:history",
        "log": "forgekit.cli.queries:log",
    },
    "Change": {
        "project": "forgekit.cli.project:project",
        "conversation": "forgekit.cli.conversation:conversation",
        "thread": "forgekit.cli.thread:thread",
        "decision": "forgekit.cli.decision:decision",
        "lineage": "forgekit.cli.lineage:lineage",
        "conflict": "forgekit.cli.conflict:conflict",
        "archive": "forgekit.cli.archive:archive",
    },
    "Keep in order": {
        "init": "forgekit.cli.maintenance:init",
        "sync": "forgekit.cli.sync:sync",
        "check": "forgekit.cli.maintenance:check",
        "doctor": "forgekit.cli.doctor:doctor",
        "index": "forgekit.cli.maintenance:index",
        "export": "forgekit.cli.maintenance:export",
        "hook": "forgekit.cli.hook:hook",
        "merge-driver": "forgekit.cli.hook:merge_driver",
        "completion": "forgekit.cli.maintenance:completion",
    },
}


@click.group(
    cls=LazyGroup,
    sections=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="forgekit %(version)s")
@click.option("-C", "--root", type=PATH, metavar="DIR", help="Work on the registry of this folder.")
@click.option("--no-color", is_flag=True, help="No colours; the variable NO_COLOR does the same.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def forgekit(ctx: click.Context, root: str | None, *, no_color: bool, debug: bool) -> None:
    """Keep the decisions, threads and lineage of model conversations as Markdown files in git."""
    ctx.obj = {"root": root, "debug": debug}
    if no_color:
        os.environ[console.NO_COLOR] = "1"
    if ctx.invoked_subcommand is None:
        console.data(ctx.get_help())


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
    except Exception as e:  # noqa: BLE001 - whatever is left is a bug, and gets one line all the same
        return _failed(e, debug=debug)
    return result if isinstance(result, int) else 0


def _failed(error: Exception, *, debug: bool) -> int:
    """Say in one sentence what went wrong."""
    if debug:
        _traceback()
    if isinstance(error, ForgeError):
        console.info(f"forgekit: {error}")
        return error.exit_code
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        reason = console.one_line(f"{where}{error.strerror or error}")
        console.info(f"forgekit: {reason}; see to the disk or the permissions, then run this again")
        return ForgeError.exit_code
    reason = f"{type(error).__name__}: {console.one_line(str(error))[:300]}"
    hint = "" if debug else "; run it again with `forgekit --debug ...` to see where"
    console.info(f"forgekit: internal error: {reason}{hint}")
    return INTERNAL


def _traceback() -> None:
    import traceback

    console.info(traceback.format_exc().rstrip("\n"))
