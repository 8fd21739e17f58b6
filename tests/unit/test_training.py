"""What the judge is trained on: a bank without slips, and registers that are kept apart."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "training"))

from bank import Register, Verdict, joined, read_pairs, read_registers

REGISTERS = read_registers()


def test_the_written_pairs_are_many_of_each_label_and_none_is_in_both_parts() -> None:
    trained, held = read_pairs(), read_pairs(held=True)
    counts = Counter(pair.label for pair in trained)
    assert min(counts[label] for label in Verdict if label is not Verdict.REPLACEMENT) > 3_000
    assert not {(pair.a, pair.b) for pair in trained} & {(pair.a, pair.b) for pair in held}


def test_each_register_stands_once_and_none_of_its_texts_is_empty() -> None:
    names = Counter(register.name for register in REGISTERS)
    assert [name for name, number in names.items() if number > 1] == []
    empty = [register.name for register in REGISTERS if not all(map(str.strip, register.decisions))]
    assert empty == []


def test_each_labelled_pair_is_of_two_decisions_of_its_register() -> None:
    wrong = [
        (register.name, pair)
        for register in REGISTERS
        for pair in register.labels
        if not 0 <= pair[0] < pair[1] < len(register.decisions)
    ]
    assert wrong == []


def test_one_long_register_in_five_is_held_back_with_all_labels() -> None:
    held = [register for register in REGISTERS if register.held_back]
    assert 20 <= len(held) <= 80
    labels = Counter(label for register in held for label in register.labels.values())
    assert min(labels[label] for label in Verdict if label is not Verdict.UNRELATED) >= 20


def test_no_text_of_a_register_that_is_held_back_is_trained_on() -> None:
    held = {text for register in REGISTERS if register.held_back for text in register.decisions}
    trained = {text for register in REGISTERS if not register.held_back for text in register.decisions}
    assert len(held & trained) <= 5  # a few headings, such as "Postgres for orders", come to several people


def test_short_registers_are_joined_and_their_labels_go_with_them() -> None:
    labels = {(0, 1): Verdict.DUPLICATE}
    some = [Register(name, (f"{name} one", f"{name} two"), labels) for name in "abc"]
    pair, rest = joined(some, 2)
    assert pair.decisions == ("a one", "a two", "b one", "b two")
    assert pair.labels == {(0, 1): Verdict.DUPLICATE, (2, 3): Verdict.DUPLICATE}
    assert (rest.name, rest.decisions) == ("c", ("c one", "c two"))


def test_a_long_register_stays_as_it_is() -> None:
    long = Register("long", tuple(map(str, range(80))), {})
    assert joined([long], 3) == [long]


def test_an_unknown_label_is_refused(tmp_path: Path) -> None:
    row = '{"name": "a", "decisions": ["x", "y"], "pairs": [[0, 1, "rival"]]}\n'
    (tmp_path / "a.jsonl").write_text(row, encoding="utf-8")
    with pytest.raises(ValueError, match="'rival' is not a valid Verdict"):
        read_registers(tmp_path)
