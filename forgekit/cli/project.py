"""`forgekit project`: named areas of work."""

from __future__ import annotations

import click

from forgekit.cli.base import example, noun, open_forge, options, tags_option, writing
from forgekit.cli.changes import wrote
from forgekit.cli.editing import add_edit
from forgekit.cli.entities import add_reading
from forgekit.model.kinds import Kind

project = noun("project", "Named areas of work: list, show, new, edit, history.")
add_reading(project, Kind.PROJECT)


@project.command(help="Register a project.\n\n" + example('forgekit project new "The Nexus"'))
@click.argument("name")
@click.option("--content", default="", metavar="TEXT", help="What it is about, Markdown.")
@tags_option
@writing
def new(name: str, content: str, tags: tuple[str, ...], *, dry_run: bool, no_commit: bool) -> None:
    """Register a project."""
    from forgekit.projects import create

    way = options(dry_run=dry_run, no_commit=no_commit)
    forge = open_forge()
    known = forge.project(name, forge.registry()) or ""
    wrote(create(forge, known, content=content, tags=tags, options=way), "project new")


add_edit(project, Kind.PROJECT)
