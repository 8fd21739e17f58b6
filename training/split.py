"""One split of the bank, as recipes make pairs of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from bank import Attribute, Slot, Texts


@dataclass(frozen=True, slots=True)
class Split:
    """What pairs are made of: one split of the bank.

    Attributes:
        slots: questions.
        attributes: plain sentences about many subjects.
        neighbours: to each text those of other slots that are nearest to it by meaning.
    """

    slots: Sequence[Slot]
    attributes: Sequence[Attribute]
    neighbours: Mapping[str, Texts]


Sides = tuple[str, str] | None
Recipe = Callable[[Random, Slot, Split], Sides]


def own_texts(slot: Slot) -> list[str]:
    """Return the decisions of a slot as they stand, amounts with a value each."""
    texts = [*slot.beside]
    for choice in slot.choices:
        texts += [*choice.wordings, *choice.against, *choice.refines]
    if slot.values:
        for number, text in enumerate([*slot.amounts, *slot.near]):
            texts.append(text.replace("{}", slot.values[number % len(slot.values)][0]))
    else:
        texts += slot.near
    return texts
