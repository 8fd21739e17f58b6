"""The whole registers that the judge is trained and calibrated on: without slips, and kept apart."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "training"))

from bank import read_registers
from whole import Relation, joined, read_whole

REGISTERS = read_whole()


def test_each_register_stands_once_and_none_of_its_texts_is_empty() -> None:
    names = Counter(register.name for register in REGISTERS)
    assert [name for name, number in names.items() if number > 1] == []
    empty = [register.name for register in REGISTERS if not all(map(str.strip, register.decisions))]
    assert empty == []


def test_each_labelled_pair_is_of_two_decisions_of_its_register() -> None:
    wrong = [
        (register.name, pair)
        for register in (*REGISTERS, *joined(3))
        for pair in register.labels
        if not 0 <= pair[0] < pair[1] < len(register.decisions)
    ]
    assert wrong == []


def test_one_register_in_eight_is_held_back_with_all_labels() -> None:
    held = [register for register in REGISTERS if register.held_back]
    assert 20 <= len(held) <= 60
    labels = Counter(label for register in held for label in register.labels.values())
    assert min(labels[label] for label in Relation if label is not Relation.UNRELATED) >= 20


def test_no_text_of_a_register_that_is_held_back_is_trained_on() -> None:
    held = {text for register in REGISTERS if register.held_back for text in register.decisions}
    trained = {text for register in REGISTERS if not register.held_back for text in register.decisions}
    assert len(held & trained) <= 5  # a few headings, such as "Postgres for orders", come to several people


def test_the_shorter_registers_are_joined_with_what_excludes_their_decisions() -> None:
    first, second = read_registers()[:2]
    register = joined(2)[0]
    lists = [(each.against, each.same, each.detail) for each in (first, second)]
    assert len(register.decisions) == sum(
        len(each.decisions) + sum(map(len, of)) for each, of in zip((first, second), lists, strict=True)
    )
    texts = {
        (register.decisions[i], register.decisions[j])
        for (i, j), label in register.labels.items()
        if label is Relation.CONTRADICTION
    }
    told = {(each.decisions[at], text) for each in (first, second) for at, text in each.against}
    assert told <= texts


def test_what_restates_a_decision_excludes_what_excludes_it() -> None:
    for each, register in zip(read_registers(), joined(1), strict=True):
        same, against = dict(each.same), dict(each.against)
        for at in same.keys() & against.keys():
            i, j = sorted(map(register.decisions.index, (same[at], against[at])))
            assert register.labels[i, j] is Relation.CONTRADICTION
