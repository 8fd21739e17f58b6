"""Labelled pairs of decisions, made from the bank by recipes; the same seed gives the same pairs.

Each recipe makes one kind of pair of one label. Half of them make what looks like a contradiction and is
none: the same frame about another thing, the same choice for another purpose, what rejects a third answer,
what holds in another scope, and each text's nearest neighbours in other slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import of_plain as plain
import of_slots as slots
from bank import Verdict, Written
from phrasing import dressed
from split import Recipe, Split


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair; `kind` names the recipe."""

    a: str
    b: str
    label: Verdict
    kind: str
    topic: str


def generate(split: Split, seed: int, number: int) -> list[Pair]:
    """Make pairs of all kinds in the shares of `RECIPES`.

    Args:
        split: slots of one split, so that no text is in two of them.
        seed: of every choice that is made.
        number: of pairs.
    """
    random = Random(seed)
    weights = [weight for *_, weight in RECIPES]
    pairs: list[Pair] = []
    while len(pairs) < number:
        label, recipe, _ = random.choices(RECIPES, weights)[0]
        slot = random.choice(split.slots)
        sides = recipe(random, slot, split)
        if sides is None:
            continue
        a, b = (dressed(random, side) for side in sides)
        if random.random() < 0.5:
            a, b = b, a
        if a != b:
            pairs.append(Pair(a, b, label, recipe.__name__, slot.topic))
    return pairs


def written(pairs: Sequence[Written], seed: int, times: int) -> list[Pair]:
    """Return pairs that were written one by one, each so many times, every time put otherwise.

    Args:
        pairs: as they stand.
        seed: of every choice that is made.
        times: 0 returns each once as it stands.
    """
    random = Random(seed)
    out = [Pair(pair.a, pair.b, Verdict(pair.label), "written", "") for pair in pairs]
    for pair in list(out) * times:
        a, b = dressed(random, pair.a), dressed(random, pair.b)
        out.append(replace(pair, a=b, b=a) if random.random() < 0.5 else replace(pair, a=a, b=b))
    return out


RECIPES: tuple[tuple[Verdict, Recipe, float], ...] = (
    (Verdict.CONTRADICTION, slots.another_choice, 12),
    (Verdict.CONTRADICTION, slots.in_one_frame, 3),
    (Verdict.CONTRADICTION, slots.choice_denied, 5),
    (Verdict.CONTRADICTION, slots.detail_of_another, 4),
    (Verdict.CONTRADICTION, slots.detail_denied, 1),
    (Verdict.CONTRADICTION, slots.in_one_scope, 1.5),
    (Verdict.CONTRADICTION, slots.another_value, 16),  # seven of eight draws meet a slot without amounts
    (Verdict.CONTRADICTION, slots.buried, 2),
    (Verdict.CONTRADICTION, plain.turned_round, 4),
    (Verdict.CONTRADICTION, plain.with_not, 4),
    (Verdict.CONTRADICTION, plain.with_other_number, 6),  # few texts have a number
    (Verdict.CONTRADICTION, plain.plain_other_value, 9),
    (Verdict.DUPLICATE, plain.plain_same_value, 5),
    (Verdict.DUPLICATE, plain.with_synonym, 3),
    (Verdict.REFINEMENT, plain.plain_exception, 2),
    (Verdict.REFINEMENT, plain.plain_part, 2),
    (Verdict.RELATED, plain.plain_other_subject, 7),
    (Verdict.RELATED, plain.plain_also, 3),
    (Verdict.RELATED, plain.plain_parts, 2),
    (Verdict.RELATED, plain.of_other_subject, 4),
    (Verdict.RELATED, plain.opposite_elsewhere, 4),
    (Verdict.DUPLICATE, slots.other_words, 9),
    (Verdict.DUPLICATE, slots.same_denial, 1.5),
    (Verdict.DUPLICATE, slots.same_value, 8),
    (Verdict.DUPLICATE, slots.with_a_reason, 1.5),
    (Verdict.REFINEMENT, slots.detail, 7),
    (Verdict.REFINEMENT, slots.with_a_detail, 3),
    (Verdict.REFINEMENT, slots.with_an_exception, 2),
    (Verdict.REFINEMENT, slots.exception, 3),
    (Verdict.RELATED, slots.beside, 5),
    (Verdict.RELATED, slots.both_beside, 2),
    (Verdict.RELATED, slots.near, 9),
    (Verdict.RELATED, slots.both_near, 3),
    (Verdict.RELATED, slots.other_scopes, 3),
    (Verdict.RELATED, slots.third_denied, 4),
    (Verdict.RELATED, slots.other_purpose, 4),
    (Verdict.RELATED, slots.headings, 2),
    (Verdict.RELATED, slots.neighbours, 10),
    (Verdict.UNRELATED, slots.of_one_topic, 4),
    (Verdict.UNRELATED, slots.same_frame, 4),
    (Verdict.UNRELATED, slots.far, 4),
)
"""Label, recipe, share."""
