"""Marked archives, from which the archive reader is fitted."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[2] / "training" / "reader"))

from annotated import example, unmarked
from variants import labels_of, pool_of, variant

from forgekit.archives.tagger import TAGS

MARKED = "- ⟦^id|D1⟧ ⟦D.active|We take the bus, not ⟦alt|the train⟧ again⟧ because ⟦why|it is cheap⟧"


def test_a_mark_around_another_one_is_in_parts() -> None:
    read = unmarked(MARKED)
    assert read.text == "- D1 We take the bus, not the train again because it is cheap"
    assert [(each.tag, read.text[each.first : each.last], each.forward) for each in read.spans] == [
        ("id", "D1", True),
        ("D", "We take the bus, not ", False),
        ("alt", "the train", False),
        ("D", " again", False),
        ("why", "it is cheap", False),
    ]


def test_tokens_have_the_tag_of_the_innermost_mark() -> None:
    read = example(unmarked(MARKED))
    tags = [TAGS[tag] for tag in read.tags.tolist()]
    assert dict(zip(read.tokens.texts, tags, strict=True)) == {
        "-": "O",
        "D1": "id",
        "because": "O",
        "the": "alt",
        "train": "alt",
        **dict.fromkeys(("We", "take", "bus", ",", "not", "again"), "D"),
        **dict.fromkeys(("it", "is", "cheap"), "why"),
    }


def test_a_variant_exchanges_no_part_of_a_mark_alone() -> None:
    others = [unmarked(f"- ⟦D|Keep number {n}⟧ because ⟦why|reason {n}⟧") for n in range(9)]
    read = unmarked(MARKED)
    pool, labels = pool_of(others), labels_of(others)
    made = [variant(read, pool, labels, Random(seed)) for seed in range(40)]  # noqa: S311
    words = {each.text[span.first : span.last] for each in made for span in each.spans if span.tag == "D"}
    assert words == {"We take the bus, not ", " again"}
    assert any("reason" in each.text for each in made)
