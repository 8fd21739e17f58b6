"""The loop around a compression: what to paste before it, what to paste after it, and questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forgekit.cli import output
from forgekit.cli.base import example, json_option, open_forge, project_option, words_of
from forgekit.cli.entities import talk_of_unreadable

if TYPE_CHECKING:
    from forgekit.forge import Forge
    from forgekit.loop.continuation import Block

_budget = click.option(
    "--budget",
    type=click.IntRange(100),
    metavar="TOKENS",
    help="Room for the block; as the settings say else.",
)


@click.command(
    help="Print what a conversation must know before it is compressed.\n\n"
    + example('forgekit prepare-compression --project "The Nexus" | pbcopy')
)
@project_option
@_budget
@json_option
def prepare_compression(project: str | None, budget: int | None, *, as_json: bool) -> None:
    """Print the registry-state block."""
    from forgekit.loop.continuation import prepare_compression as prepare  # noqa: PLC0415 - help loads no store

    forge = open_forge()
    with output.progress("reading the registry"):
        block = prepare(forge, project, budget)
    _print(forge, block, as_json=as_json)


@click.command(
    help="Print what has become of an archive, to paste with it into the next conversation.\n\n"
    + example("forgekit prepare-continuation --tag STORAGE_LAYER_RESULT")
)
@click.option("--tag", required=True, metavar="TAG", help="The archive's compression tag.")
@project_option
@_budget
@json_option
def prepare_continuation(tag: str, project: str | None, budget: int | None, *, as_json: bool) -> None:
    """Print the updated-context block."""
    from forgekit.loop.continuation import prepare_continuation as prepare  # noqa: PLC0415 - help loads no store

    forge = open_forge()
    with output.progress("reading the registry"):
        block = prepare(forge, tag, budget, project)
    _print(forge, block, as_json=as_json)


def _print(forge: Forge, block: Block, *, as_json: bool) -> None:
    if as_json:
        output.as_json({**block.data, "cut": list(block.cut), "text": block.text})
    else:
        output.data(block.text.rstrip("\n"))
        for left_out in block.cut:
            output.talk(f"left out for lack of room: {left_out}")
    talk_of_unreadable(forge)


@click.command(
    help="Answer a question from the registry, with sources.\n\n"
    + example('forgekit ask "Why did we decide on UUID v7?"', 'forgekit ask "What about the queue?" --json')
)
@click.argument("question", nargs=-1, required=True)
@project_option
@json_option
def ask(question: tuple[str, ...], project: str | None, *, as_json: bool) -> int:
    """Answer a question."""
    from forgekit.loop.asking import ask as answer_of  # noqa: PLC0415 - help loads no store

    forge = open_forge()
    answer = answer_of(forge, words_of(question), project)
    talk_of_unreadable(forge)
    if answer.data["notice"]:
        output.talk(str(answer.data["notice"]))
    if as_json:
        output.as_json(answer.data)
    else:
        output.data(answer.text.rstrip("\n"))
    return 0 if answer.found else 1
