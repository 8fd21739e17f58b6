"""`forgekit`: where the process begins.

What needs no command line at all is answered here: importing click costs more than a hook may.
"""

from __future__ import annotations

import gc
import os
import sys

from forgekit import __version__

TYPE_CHECKING = False  # typing and collections take longer to import than `--version` may
if TYPE_CHECKING:
    from collections.abc import Sequence

_ALLOCATIONS = 50_000
"""Containers made between two garbage collections; Python's own choice is 700."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Args:
        argv: the words after `forgekit`; those of the process where None.
    """
    if argv is not None:
        return _answer(list(argv))
    # Most commands end before there is any garbage: collecting takes a tenth of their time.
    gc.set_threshold(_ALLOCATIONS, 10, 10)
    if sys.argv[1:3] != ["index", "build"]:
        # A query, or a pair to judge, makes a few small products. The threads that would share them wait for
        # each other by spinning: twice the processor time at best, ten times where other programs run.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        return _answer(sys.argv[1:])
    finally:
        gc.freeze()  # what is left goes with the process


def _answer(arguments: list[str]) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has what it wanted. Python would complain again when it flushes at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        return 0
    return code


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"] and sys.stdout is not None:
        sys.stdout.write(f"forgekit {__version__}\n")
        return 0
    from forgekit import console

    console.prepare()
    if len(arguments) == 2 and arguments[0] == "hook":
        from pathlib import Path

        from forgekit.errors import ForgeError
        from forgekit.hooks.pre_commit import HOOKS
        from forgekit.hooks.pre_commit import run as run_hook

        if arguments[1] in HOOKS:  # without files, there may be nothing to do
            try:
                return run_hook(arguments[1], (), Path.cwd())
            except ForgeError:
                pass  # the command itself reports it
    if len(arguments) == 3 and arguments[0] == "hook":
        from forgekit.hooks.agents import AGENTS, answer

        if arguments[1] in AGENTS:
            return answer(arguments[1], arguments[2])
    from forgekit.cli.commands import run

    return run(arguments)
