"""`forgekit thread`: questions that work has to come back to."""

from __future__ import annotations

from typing import Any

import click

from forgekit.cli.base import (
    at_option,
    conversation_option,
    example,
    noun,
    open_forge,
    options,
    project_option,
    tags_option,
    writing,
)
from forgekit.cli.changes import wrote
from forgekit.cli.editing import add_edit
from forgekit.cli.entities import add_reading
from forgekit.model.kinds import Kind
from forgekit.times import Instant

thread = noun(
    "thread",
    "Open questions: list, show, new, edit, resolve, reopen, abandon, supersede, history.",
)
add_reading(thread, Kind.THREAD)


@thread.command(
    help="Register a thread.\n\n"
    + example('forgekit thread new "Which queue?" --project "The Nexus" --priority high')
)
@click.argument("title")
@project_option
@click.option("--content", default="", metavar="TEXT", help="A description, Markdown.")
@click.option("--priority", type=click.Choice(["high", "medium", "low"]), help="Medium where not given.")
@click.option("--blocked-by", multiple=True, metavar="ID", help="A thread it waits for; repeatable.")
@click.option("--local-id", metavar="T001", help="What the conversation calls it.")
@conversation_option
@tags_option
@at_option
@writing
def new(
    title: str,
    project: str | None,
    content: str,
    priority: str | None,
    blocked_by: tuple[str, ...],
    local_id: str | None,
    conversation: str | None,
    tags: tuple[str, ...],
    at: Instant | None,
    *,
    dry_run: bool,
    no_commit: bool,
) -> None:
    """Register a thread."""
    from forgekit.model.thread import Priority
    from forgekit.threads import create

    written = create(
        open_forge(),
        title,
        project=project,
        local_id=local_id,
        conversation=conversation,
        content=content,
        priority=Priority(priority) if priority else None,
        blocked_by=blocked_by,
        tags=tags,
        at=at,
        options=options(dry_run=dry_run, no_commit=no_commit),
    )
    wrote(written, "thread new")


def _ending(verb: str, status: str, summary: str, usage: str) -> None:
    """Add a command that ends a thread."""

    @click.argument("name", metavar="ID")
    @click.option("--resolution", default="", metavar="TEXT", help="How it ended, Markdown.")
    @conversation_option
    @at_option
    @writing
    def run(
        name: str,
        resolution: str,
        conversation: str | None,
        at: Instant | None,
        *,
        dry_run: bool,
        no_commit: bool,
    ) -> None:
        from forgekit.model.thread import ThreadStatus
        from forgekit.threads import end

        written = end(
            open_forge(),
            name,
            ThreadStatus(status),
            resolution=resolution,
            conversation=conversation,
            at=at,
            options=options(dry_run=dry_run, no_commit=no_commit),
        )
        wrote(written, f"thread {verb}")

    command: Any = thread.command(verb, help=f"{summary}\n\n{example(usage)}")
    command(run)


_ending(
    "resolve",
    "resolved",
    "Say that a thread is answered.",
    'forgekit thread resolve thr_5a6b7c8d9e0f --resolution "NATS, see D004"',
)
_ending(
    "abandon",
    "abandoned",
    "Say that nobody will answer a thread.",
    'forgekit thread abandon thr_5a6b7c8d9e0f --resolution "the customer left"',
)
_ending(
    "supersede",
    "superseded",
    "Say that another thread took a thread's place.",
    'forgekit thread supersede thr_5a6b7c8d9e0f --resolution "goes on as thr_001122334455"',
)


@thread.command(help="Open a thread again.\n\n" + example("forgekit thread reopen thr_5a6b7c8d9e0f"))
@click.argument("name", metavar="ID")
@conversation_option
@at_option
@writing
def reopen(
    name: str, conversation: str | None, at: Instant | None, *, dry_run: bool, no_commit: bool
) -> None:
    """Open a thread again."""
    from forgekit import threads

    way = options(dry_run=dry_run, no_commit=no_commit)
    wrote(threads.reopen(open_forge(), name, conversation=conversation, at=at, options=way), "thread reopen")


add_edit(thread, Kind.THREAD)
