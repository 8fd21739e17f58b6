"""Recipes for pairs that share nearly all words: a text with one word changed, and plain sentences."""

from __future__ import annotations

from random import Random

from bank import Attribute, Slot, Texts
from edits import denied, opposite, other_number, other_subject, same_meaning
from phrasing import SCOPED, framed, lowered, raised
from split import Sides, Split, own_texts


def _plain(random: Random, split: Split) -> tuple[str, Attribute, str, Texts]:
    """Return a sentence with its attribute, subject and group of values."""
    attribute = random.choice(split.attributes)
    subject, group = random.choice(attribute.subjects), random.choice(attribute.values)
    return _plainly(random, attribute, subject, group), attribute, subject, group


def _plainly(random: Random, attribute: Attribute, subject: str, group: Texts) -> str:
    return raised(random.choice(attribute.says).format(s=subject, v=random.choice(group)))


def plain_other_value(random: Random, _: Slot, split: Split) -> Sides:
    """Return two values for one subject."""
    text, attribute, subject, group = _plain(random, split)
    other = random.choice([values for values in attribute.values if values is not group])
    return text, _plainly(random, attribute, subject, other)


def plain_same_value(random: Random, _: Slot, split: Split) -> Sides:
    """Return one value for one subject in two wordings."""
    text, attribute, subject, group = _plain(random, split)
    return text, _plainly(random, attribute, subject, group)


def plain_other_subject(random: Random, _slot: Slot, split: Split) -> Sides:
    """Return what is said of two subjects."""
    _text, attribute, subject, group = _plain(random, split)
    says = random.sample(attribute.says, 2) if random.random() < 0.5 else [random.choice(attribute.says)] * 2
    another = random.choice([name for name in attribute.subjects if name != subject])
    other = random.choice(attribute.values)
    return (
        raised(says[0].format(s=subject, v=random.choice(group))),
        raised(says[1].format(s=another, v=random.choice(other))),
    )


def plain_also(random: Random, _: Slot, split: Split) -> Sides:
    """Return what is decided of a subject and something else about it."""
    text, attribute, subject, _group = _plain(random, split)
    return text, raised(random.choice(attribute.also).format(s=subject))


def plain_parts(random: Random, _: Slot, split: Split) -> Sides:
    """Return two values for one subject, each for a part of it."""
    text, attribute, subject, group = _plain(random, split)
    other = random.choice([values for values in attribute.values if values is not group])
    one, two = random.sample(attribute.parts, 2)
    return f"{text} {one}", f"{_plainly(random, attribute, subject, other)} {two}"


def plain_exception(random: Random, _: Slot, split: Split) -> Sides:
    """Return a rule, and the same one with an exception."""
    text, attribute, subject, group = _plain(random, split)
    other = random.choice([values for values in attribute.values if values is not group])
    part = random.choice(attribute.parts)
    shape = random.choice(("{0}, but {1} {2}", "{0}; {2}, {1}", "{0}, except {2}: {1}"))
    return text, shape.format(_plainly(random, attribute, subject, group), random.choice(other), part)


def plain_part(random: Random, _: Slot, split: Split) -> Sides:
    """Return a rule, and the same one for a part."""
    text, attribute, subject, group = _plain(random, split)
    return text, f"{_plainly(random, attribute, subject, group)} {random.choice(attribute.parts)}"


# --- the same words but one


def _text(random: Random, slot: Slot, split: Split) -> str:
    """Return a decision: of the slot, or a plain one."""
    return _plain(random, split)[0] if random.random() < 0.3 else random.choice(own_texts(slot))


def turned_round(random: Random, slot: Slot, split: Split) -> Sides:
    """Return a decision and the same one with a word turned into its opposite."""
    text = _text(random, slot, split)
    other = opposite(random, text)
    return None if other is None else (text, other)


def with_not(random: Random, slot: Slot, split: Split) -> Sides:
    """Return a decision and the same one, or its like in other words, with a "not"."""
    one = random.choice(slot.choices) if slot.choices else None
    if one is None or random.random() < 0.5:
        text = _text(random, slot, split)
        other = denied(random, text)
    else:
        text, other = random.choice(one.wordings), denied(random, random.choice(one.wordings))
    return None if other is None else (text, other)


def with_other_number(random: Random, slot: Slot, split: Split) -> Sides:
    """Return a decision and the same one with another number."""
    text = _text(random, slot, split)
    other = other_number(random, text)
    return None if other is None else (text, other)


def with_synonym(random: Random, slot: Slot, split: Split) -> Sides:
    """Return a decision and the same one with a synonym."""
    text = _text(random, slot, split)
    other = same_meaning(random, text)
    return None if other is None else (text, other)


def of_other_subject(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a decision and the same one about another thing."""
    text = random.choice(own_texts(slot))
    other = other_subject(random, text)
    return None if other is None else (text, other)


def opposite_elsewhere(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a decision and its opposite, each for a scope of its own."""
    text = random.choice(own_texts(slot))
    turn = random.choice((opposite, denied, other_number))
    other, (one, two) = turn(random, text), random.sample(slot.scopes, 2)
    if other is None:
        return None
    frame = random.choice(SCOPED)
    return (
        framed(random, (frame,), scope=one, text=lowered(text)),
        framed(random, (frame,), scope=two, text=lowered(other)),
    )
