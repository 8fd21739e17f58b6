"""What git and pre-commit call: `forgekit hook`, `forgekit merge-driver`."""

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
    from forgekit.hooks.pre_commit import HOOKS

    return HOOKS[name](files, Path.cwd())


@click.command(
    "merge-driver",
    help="Merge one file of the registry, as git asks for it; `forgekit init` registers this in a clone.\n\n"
    "The result is left in OURS; exit status 64 where a person has something to choose.\n\n"
    + example("forgekit merge-driver %O %A %B %P"),
)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("path")
def merge_driver(base: Path, ours: Path, theirs: Path, path: str) -> int:
    """Merge one file."""
    from forgekit.hooks.merge_driver import merge_driver as merge
    from forgekit.hooks.pre_commit import clean_environment

    clean_environment()
    return merge(base, ours, theirs, path)
