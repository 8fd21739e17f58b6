"""`forgekit conversation`: chats and agent runs."""

from __future__ import annotations

import click

from forgekit.cli.base import at_option, example, noun, open_forge, options, project_option, writing
from forgekit.cli.changes import wrote
from forgekit.cli.editing import add_edit
from forgekit.cli.entities import add_reading
from forgekit.model.kinds import Kind
from forgekit.times import Instant

conversation = noun("conversation", "Chats and agent runs: list, show, new, edit, history.")
add_reading(conversation, Kind.CONVERSATION)


@conversation.command(
    help="Register a conversation.\n\n"
    + example('forgekit conversation new "Storage layer" --project "The Nexus" --at 2026-03-04T10:00Z')
)
@click.argument("title")
@project_option
@click.option("--external-id", metavar="UUID", help="The platform's own id of it.")
@at_option
@writing
def new(
    title: str,
    project: str | None,
    external_id: str | None,
    at: Instant | None,
    *,
    dry_run: bool,
    no_commit: bool,
) -> None:
    """Register a conversation."""
    from forgekit.lineage import new_conversation

    way = options(dry_run=dry_run, no_commit=no_commit)
    written = new_conversation(
        open_forge(), title, project=project, external_id=external_id, at=at, options=way
    )
    wrote(written, "conversation new")


add_edit(conversation, Kind.CONVERSATION)
