"""`forgekit hook`: what git's and pre-commit's hooks call."""

from __future__ import annotations

from pathlib import Path

import click

from forgekit.cli.base import example

NAMES = ("check", "conflicts", "stale", "archives")


@click.command(
    help="Run one hook on the files that are to be committed; exit status 1 stops the commit.\n\n"
    + example("forgekit hook check registry/decisions/2026-03/*.md", "forgekit hook archives")
)
@click.argument("name", type=click.Choice(NAMES))
@click.argument("files", nargs=-1)
def hook(name: str, files: tuple[str, ...]) -> int:
    """Run one hook."""
    from forgekit.hooks.pre_commit import HOOKS  # noqa: PLC0415 - help loads none

    return HOOKS[name](files, Path.cwd())
