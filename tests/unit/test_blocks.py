"""Blocks for a model: what fits a budget, what is cut, and what pasted text cannot do."""

from __future__ import annotations

import pytest

from forgekit.errors import UsageError
from forgekit.text.blocks import BlockPart, Laid, cell, lay_out, quote, row

THREADS = BlockPart(title="Threads", items=("- a", "- bb"), rank=1)
DECISIONS = BlockPart(title="Decisions", items=("- ccc", "- d"), rank=0)


def laid(*parts: BlockPart, budget: int, rest: str = "") -> Laid:
    """Lay parts out where a character costs a token."""
    return lay_out("## Block", parts, "(end)", budget=budget, cost=len, rest=rest)


def least(*parts: BlockPart, rest: str = "") -> int:
    """Return what a refusal asks for."""
    with pytest.raises(UsageError) as refused:
        laid(*parts, budget=0, rest=rest)
    words = str(refused.value).split()
    return int(words[words.index("--budget") + 1])


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("~~~ over ~~~~", "~ ~ ~ over ~ ~ ~ ~"),
        ("```sh", "` ` `sh"),
        ("a ~~ b `` c", "a ~~ b `` c"),
        ("--> <b> [a](b) (End of x)", "- - > &lt;b> [a] (b) ( End of x)"),
    ],
)
def test_pasted_text_opens_and_closes_nothing(text: str, harmless: str) -> None:
    assert quote(text) == harmless


def test_a_pipe_in_pasted_text_begins_no_cell() -> None:
    assert cell("a | b") == "a \\| b"
    assert row("a | b", "c") == "| a \\| b | c |"


def test_what_fits_is_whole() -> None:
    found = laid(THREADS, DECISIONS, budget=1_000)
    text = "## Block\n\n### Threads\n\n- a\n- bb\n\n### Decisions\n\n- ccc\n- d\n\n(end)\n"
    assert found == Laid(text=text, kept=(2, 2), cut=())
    assert laid(THREADS, DECISIONS, budget=len(text)) == found


def test_the_part_of_the_lowest_rank_is_filled_first() -> None:
    long = [
        BlockPart(title=name, items=("- " + 38 * "x",) * 9, rank=n) for name, n in (("Low", 1), ("High", 0))
    ]
    budget = least(*long) + 10 * 41
    assert laid(*long, budget=budget).kept == (1, 9)
    assert laid(*long[::-1], budget=budget).kept == (9, 1)


def test_an_item_is_never_shown_while_a_more_important_one_is_cut() -> None:
    part = BlockPart(title="Decisions", items=("- " + 98 * "x", "- d", *["- " + 98 * "y"] * 9))
    assert laid(part, budget=least(part) + 50).kept == (0,)


def test_what_is_written_elsewhere_for_an_item_counts() -> None:
    beside = BlockPart(title="Decisions", items=("- a", "- b"), beside=(200 * "x", 200 * "y"))
    plain = laid(BlockPart(title="Decisions", items=("- a", "- b")), budget=1_000).text
    assert laid(beside, budget=len(plain) + 402).kept == (2,)
    assert laid(beside, budget=len(plain) + 401).kept == (1,)


def test_what_is_written_below_counts() -> None:
    whole = laid(THREADS, DECISIONS, budget=1_000)
    rest = 100 * "x"
    assert laid(THREADS, DECISIONS, budget=len(whole.text) + 100, rest=rest) == whole
    with pytest.raises(UsageError):
        laid(THREADS, DECISIONS, budget=len(whole.text), rest=rest)


def test_a_block_that_costs_less_than_its_headings_with_a_note_of_cuts_needs_no_more() -> None:
    text = laid(THREADS, budget=1_000).text
    assert least(THREADS) == len(text)
    assert laid(THREADS, budget=len(text)).cut == ()
