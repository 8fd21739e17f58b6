"""What the judge is trained on: a bank without slips, pairs that follow from a seed, slots kept apart."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from forgekit.text.words import shared

sys.path.append(str(Path(__file__).parents[2] / "training"))

import pairs
import phrasing
from bank import (
    BANK,
    Register,
    Slot,
    Verdict,
    Written,
    read_attributes,
    read_bank,
    read_pairs,
    read_registers,
)
from restatements import near_twins
from side_by_side import all_beside, beside, named, near_beside, tied
from split import Split, own_texts
from strangers import strangers

SLOTS, ATTRIBUTES = read_bank(), read_attributes()
SPLIT = Split(SLOTS, ATTRIBUTES, {})
SLOT = """\
- slot: {name}
  about: ids
  choices:
    hashes: [Ids are hashes, Hash the text for its id, Same text and same id]
    counters: [Ids are counted, The server hands out the next number, Number them]
  against: {{hashes: [No hashes]}}
  refines: {{counters: [Start at one]}}
  beside: [Ids are short, Ids are shown]
  near: [Files are hashed]
  scopes: [drafts, tests]
"""


def test_a_slot_of_another_shape_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ops_1.yaml").write_text("- slot: ids\n  about: ids\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"^ops_1\.yaml: the slot 'ids' has the keys \['about', 'slot'\]$"):
        read_bank(tmp_path)


def test_a_slot_stands_once(tmp_path: Path) -> None:
    for name in ("ops_1", "people_1"):
        (tmp_path / f"{name}.yaml").write_text(SLOT.format(name="ids"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"^people: the slot 'ids' stands in ops already$"):
        read_bank(tmp_path)


def test_the_bank_has_hundreds_of_slots_of_many_topics() -> None:
    assert len(SLOTS) >= 400
    assert {slot.topic for slot in SLOTS} == {"operations", "people", "research", "software", "teams"}


def test_every_slot_can_be_told_in_every_way() -> None:
    assert [slot.name for slot in SLOTS if _fault(slot)] == []


def _fault(slot: Slot) -> bool:
    texts = own_texts(slot)
    return (
        (len(slot.choices) >= 2) is (len(slot.values) >= 2)
        or any(len(choice.wordings) < 3 for choice in slot.choices)
        or any(text.count("{}") != 1 for text in slot.amounts)
        or min(len(slot.beside), len(slot.near), len(slot.scopes)) < 2
        or any(text != text.strip() or "{" in text for text in texts)
    )


def test_no_decision_stands_in_two_slots() -> None:
    said = Counter(
        text.casefold()
        for slot in SLOTS
        for text in (*slot.amounts, *(t for choice in slot.choices for t in choice.wordings))
    )
    assert [text for text, times in said.items() if times > 1] == []


def test_written_pairs_are_labelled_once_and_held_back_apart() -> None:
    trained, held = read_pairs(), read_pairs(held=True)
    assert len(trained) >= 2_000
    assert len(held) >= 200
    seen = Counter(frozenset((pair.a.casefold(), pair.b.casefold())) for pair in (*trained, *held))
    assert [sides for sides, times in seen.items() if times > 1 or len(sides) < 2] == []
    assert {pair.label for pair in trained} == {verdict.value for verdict in Verdict}


def test_a_written_pair_is_met_as_it_stands_and_put_otherwise() -> None:
    pair = read_pairs(held=True)[0]
    first, *others = pairs.written([pair], 1, 40)
    assert (first.a, first.b, first.label.value) == (pair.a, pair.b, pair.label)
    assert len(others) == 40
    assert {other.label for other in others} == {first.label}
    assert len({(other.a, other.b) for other in others}) > 10
    assert pairs.written([pair], 1, 40) == [first, *others]


def test_strangers_share_a_word_and_no_subject() -> None:
    told = [
        Written(label="contradiction", a="Keys rotate weekly", b="Keys never rotate"),
        Written(label="duplicate", a="Keys rotate weekly", b="New keys each week"),
        Written(
            label="related", a="The keys of the boat house hang in the hall", b="Boats are washed in May"
        ),
        Written(label="related", a="Piano keys are cleaned by the tuner", b="The tuner comes in spring"),
    ]
    tied = {
        text: number for number, pair in zip((0, 0, 1, 2), told, strict=True) for text in (pair.a, pair.b)
    }
    made = strangers(told, lambda texts: np.eye(len(texts), 99, dtype=np.float32), 1, 40)
    assert made
    for one in made:
        assert one.label is Verdict.UNRELATED
        a, b = ({text for text in tied if side.startswith(text)} for side in (one.a, one.b))
        assert {tied[text] for text in a}.isdisjoint(tied[text] for text in b)
        assert shared(one.a, one.b)
    alike = strangers(told, lambda texts: np.ones((len(texts), 1), dtype=np.float32), 1, 40)
    assert alike == []
    assert strangers(told, lambda texts: np.eye(len(texts), 99, dtype=np.float32), 1, 40) == made


def test_a_register_tells_what_stands_side_by_side_and_what_does_not() -> None:
    told = Register(
        name="Boat house",
        decisions=("Keys hang in the hall", "Keys are counted weekly", "Boats are washed in May"),
        against=((0, "Keys stay with the warden"),),
        same=((1, "A count of the keys each week"),),
        detail=((2, "A hose is fetched"),),
    )
    assert [(one.label, one.a, one.b) for one in named([told])] == [
        ("contradiction", "Keys hang in the hall", "Keys stay with the warden"),
        ("duplicate", "Keys are counted weekly", "A count of the keys each week"),
        ("refinement", "Boats are washed in May", "A hose is fetched"),
    ]
    stood = {frozenset((one.a, one.b)): one.label for one in all_beside([told])}
    near, far = frozenset(told.decisions[:2]), frozenset(told.decisions[1:])
    assert (stood[near], stood[far]) == (Verdict.RELATED, Verdict.UNRELATED)
    assert frozenset(("Keys are counted weekly", "A count of the keys each week")) not in stood
    assert not any("warden" in text for sides in stood for text in sides)
    assert len(stood) == 3 + 2 + 2 + 1  # of decisions; of `same` and `detail` with the others, and each other


def test_what_is_near_is_met_twice_and_half_as_much_that_is_far() -> None:
    read = read_registers()[:4]
    near = near_beside(read, 1)
    made = beside(read, 1)
    assert made == beside(read, 1) != beside(read, 2)
    assert made[: len(near)] == near
    assert Counter(one.label for one in made) == {
        Verdict.RELATED: 2 * len(near),
        Verdict.UNRELATED: len(near) // 2,
    }


def test_a_register_gives_up_to_forty_of_its_near_pairs() -> None:
    told = (
        ("Keys hang here", "Keys are counted", "Tea at four"),
        tuple(f"Keys of room {n}" for n in range(30)),
    )
    read = [Register(name=texts[0], decisions=texts, against=(), same=(), detail=()) for texts in told]
    sides = [(one.a, one.b) for one in near_beside(read, 1)]
    assert sides[0] == told[0][:2]
    assert len(sides) == len({*sides}) == 1 + 40
    assert {one.label for one in near_beside(read, 1)} == {Verdict.RELATED}


def test_no_text_of_a_register_is_a_stranger_to_another_of_it() -> None:
    one = Register(
        name="Boat house",
        decisions=("Keys hang in the hall", "Keys are counted weekly", "Boats are washed in May"),
        against=((0, "Keys stay with the warden"),),
        same=((1, "A count of the keys each week"),),
        detail=((2, "The hose has keys"),),
    )
    ties = tied([one])
    assert {text for tie in ties for text in (tie.a, tie.b)} == {
        *one.decisions,
        "A count of the keys each week",
        "The hose has keys",
    }
    other = Written(label="related", a="Piano keys are cleaned", b="The tuner comes in spring")
    made = strangers(
        [*ties, *named([one]), other], lambda texts: np.eye(len(texts), 99, dtype=np.float32), 1, 40
    )
    assert made
    assert all("Piano" in pair.a + pair.b for pair in made)


def test_registers_hold_what_they_should() -> None:
    read = read_registers()
    assert len({one.name for one in read}) == len(read) >= 300
    for one in read:
        assert len({*one.decisions}) == len(one.decisions) >= 10
        assert all(at < len(one.decisions) for at, _ in (*one.against, *one.same, *one.detail))


def test_the_same_seed_makes_the_same_pairs() -> None:
    first = pairs.generate(SPLIT, 7, 300)
    assert pairs.generate(SPLIT, 7, 300) == first
    assert pairs.generate(SPLIT, 8, 300) != first


def test_every_recipe_makes_pairs_of_its_label() -> None:
    text = SLOTS[0].beside[0]
    made = pairs.generate(Split(SLOTS, ATTRIBUTES, dict.fromkeys([text], ("Tea at four",))), 3, 6_000)
    kinds = {pair.kind: pair.label for pair in made}
    wanted = {recipe.__name__: label for label, recipe, _ in pairs.RECIPES}
    assert kinds.items() <= wanted.items()
    assert wanted.keys() - kinds.keys() <= {"neighbours"}
    shares = Counter(pair.label for pair in made)
    assert 0.2 <= shares[Verdict.CONTRADICTION] / len(made) <= 0.4


def test_both_sides_differ_and_say_something() -> None:
    for pair in pairs.generate(SPLIT, 5, 2_000):
        assert pair.a != pair.b
        assert pair.a.strip()
        assert pair.b.strip()
        assert "{" not in pair.a + pair.b


def test_pairs_in_nearly_the_same_words_are_held_back_apart() -> None:
    trained, held = (read_pairs(BANK / "twins", held=held) for held in (False, True))
    assert len(trained) >= 2_000
    assert len(held) >= 100
    texts = [{text for pair in some for text in (pair.a, pair.b)} for some in (trained, held)]
    assert texts[0].isdisjoint(texts[1])
    assert {pair.label for pair in trained} <= {verdict.value for verdict in Verdict}


def test_near_twins_differ_follow_from_a_seed_and_are_of_three_kinds() -> None:
    texts = [pair.a for pair in read_pairs()[:2_000]]
    twins, again = (near_twins(Random(1), texts) for _ in range(2))  # noqa: S311 - repeatable
    assert twins == again
    assert all(one.strip() and other.strip() and "{" not in one + other for (one, other), _ in twins)
    assert sum(one == other for (one, other), _ in twins) < 20
    shares = Counter(label for _, label in twins)
    assert shares.keys() == {Verdict.DUPLICATE, Verdict.CONTRADICTION, Verdict.RELATED}
    assert shares[Verdict.DUPLICATE] > 2 * shares[Verdict.CONTRADICTION] > 4 * shares[Verdict.RELATED]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Store sessions in Redis", "Do not store sessions in Redis"),
        ("Redis holds the sessions", None),
        ("Store", None),
    ],
)
def test_an_order_is_denied(text: str, wanted: str | None) -> None:
    assert phrasing.negated(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("Keep it", "keep it"), ("REST only", "REST only"), ("A test", "A test"), ("GraphQL", "GraphQL")],
)
def test_names_keep_their_case_inside_a_sentence(text: str, wanted: str) -> None:
    assert phrasing.lowered(text) == wanted
