"""Blocks for a model: what a section shows, and what pasted text cannot do."""

from __future__ import annotations

import pytest

from forgekit.errors import UsageError
from forgekit.insight.budget import BlockPart, BlockRow, lay_out
from forgekit.text.blocks import cell, disagreements, quote, row

PARTS = (
    BlockPart(
        title="Threads",
        rows=(BlockRow(("- an open question", "- a question")), BlockRow(("- b",))),
        total=3,
        rank=1,
    ),
    BlockPart(title="Conflicts", rows=(), total=0, head="| A |"),
    BlockPart(
        title="Decisions",
        rows=(BlockRow(("| c |",), "**Validated**"), BlockRow(("| d |",), "**Heuristic**")),
        total=2,
        head="| Text |\n|---|",
    ),
)


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("~~~ over ~~~~", "~ ~ ~ over ~ ~ ~ ~"),
        ("```sh", "` ` `sh"),
        ("a ~~ b `` c", "a ~~ b `` c"),
        ("--> <b> [a](b) (End of x)", "- - > &lt;b> [a] (b) ( End of x)"),
        ("a\ufe0fb\u2800c\U0001d173d\u200be", "abcde"),
    ],
)
def test_pasted_text_opens_and_closes_nothing(text: str, harmless: str) -> None:
    assert quote(text) == harmless


def test_a_pipe_in_pasted_text_begins_no_cell() -> None:
    assert cell("a | b") == "a \\| b"
    assert row("a | b", "c") == "| a \\| b | c |"


def test_a_section_has_its_count_and_its_groups_and_an_empty_one_is_left_out() -> None:
    found = lay_out("## Block", PARTS, "(end)", budget=1_000, cost=len)
    assert found.text == (
        "## Block\n\n### Threads (2 of 3)\n\n- an open question\n- b\n\n"
        "### Decisions (2)\n\n**Validated**\n\n| Text |\n|---|\n| c |\n\n**Heuristic**\n\n| d |\n\n"
        "Left out: 1 of 3 in Threads; `--budget` shows more.\n\n(end)\n"
    )
    assert found.kept == (2, 0, 2)


def test_the_first_row_of_each_section_stays_and_the_section_of_the_lowest_rank_is_filled_first() -> None:
    with pytest.raises(
        UsageError, match="do not hold the first rows of the block; ask for --budget"
    ) as refused:
        lay_out("## Block", PARTS, "(end)", budget=0, cost=len)
    least = int(str(refused.value).split()[-3])
    found = lay_out("## Block", PARTS, "(end)", budget=least, cost=len)
    assert found.kept == (1, 0, 1)
    assert "- a question" in found.text
    assert lay_out("## Block", PARTS, "(end)", budget=least + 8, cost=len).kept == (1, 0, 2)


def test_what_is_not_judged_counts_as_no_absence_of_contradictions() -> None:
    assert disagreements(1, 0) == "1 conflict noted, 0 contradictions found"
    assert disagreements(0, 0, 3) == "0 conflicts noted, not judged yet (3 pairs)"
    assert disagreements(0, 2, 1) == "0 conflicts noted, 2 contradictions found, not judged yet (1 pair)"
