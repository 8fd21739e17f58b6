"""The loop around a compression: what to paste before it, what to paste after it, and questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forgekit import console
from forgekit.cli.base import example, json_option, open_forge, project_option, words_of
from forgekit.cli.entities import talk_of_unreadable

if TYPE_CHECKING:
    from forgekit.briefing.blocks import Block
    from forgekit.forge import Forge

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
    from forgekit.briefing.blocks import prepare_compression as prepare

    forge = open_forge()
    with console.progress("reading the registry"):
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
    from forgekit.briefing.blocks import prepare_continuation as prepare

    forge = open_forge()
    with console.progress("reading the registry"):
        block = prepare(forge, tag, budget, project)
    _print(forge, block, as_json=as_json)


def _print(forge: Forge, block: Block, *, as_json: bool) -> None:
    if as_json:
        console.as_json({**block.data, "cut": list(block.cut), "text": block.text})
    else:
        console.data(block.text.rstrip("\n"))
        for left_out in block.cut:
            console.info(f"left out for lack of room: {left_out}")
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
    from forgekit.briefing.answers import ask as answer_of

    forge = open_forge()
    answer = answer_of(forge, words_of(question), project)
    talk_of_unreadable(forge)
    if answer.data["notice"]:
        console.info(str(answer.data["notice"]))
    if as_json:
        console.as_json(answer.data)
    else:
        console.data(answer.text.rstrip("\n"))
    return 0 if answer.found else 1
