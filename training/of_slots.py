"""Recipes for pairs of the texts of slots: what contradicts, repeats, narrows or only looks alike."""

from __future__ import annotations

from random import Random

from bank import Choice, Slot, Texts
from phrasing import CHOSEN, DENIED, EXCEPT, MOVED, OVER, REASONS, SCOPED, framed, lowered, negated
from split import Sides, Split, own_texts


def _one(random: Random, slot: Slot) -> Choice | None:
    return random.choice(slot.choices) if slot.choices else None


def _two(random: Random, slot: Slot) -> tuple[Choice, Choice] | None:
    if len(slot.choices) < 2:
        return None
    first, second = random.sample(slot.choices, 2)
    return first, second


def _other(random: Random, slot: Slot, choice: Choice) -> str:
    return random.choice([other.name for other in slot.choices if other is not choice])


def _said(random: Random, slot: Slot, choice: Choice) -> str:
    """Return a wording of a choice; now and then one made of its name, or one that names what it rejects."""
    shape = random.random()
    if shape < 0.10:
        return framed(random, CHOSEN, name=choice.name, about=slot.about)
    text = random.choice(choice.wordings)
    if shape < 0.17:
        return random.choice(OVER).format(text=text, other=_other(random, slot, choice))
    if shape < 0.20:
        return framed(random, MOVED, name=choice.name, about=slot.about, other=_other(random, slot, choice))
    return text


def _denial(random: Random, slot: Slot, choice: Choice) -> str:
    if choice.against and random.random() < 0.6:
        return random.choice(choice.against)
    denied = negated(random.choice(choice.wordings))
    return denied if denied is not None else framed(random, DENIED, name=choice.name, about=slot.about)


def _value(random: Random, text: str, values: Texts) -> str:
    return text.replace("{}", random.choice(values))


# --- contradictions


def another_choice(random: Random, slot: Slot, _: Split) -> Sides:
    """Return two choices of one slot."""
    two = _two(random, slot)
    return two and (_said(random, slot, two[0]), _said(random, slot, two[1]))


def in_one_frame(random: Random, slot: Slot, _: Split) -> Sides:
    """Return two choices, or a choice and a no to it, by their names for one purpose."""
    two = _two(random, slot)
    if two is None:
        return None
    first, second = (side.name for side in two)
    a = framed(random, CHOSEN, name=first, about=slot.about)
    if random.random() < 0.4:
        return a, framed(random, DENIED, name=first, about=slot.about)
    return a, framed(random, (*CHOSEN, *MOVED), name=second, about=slot.about, other=first)


def choice_denied(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a choice and a no to it."""
    one = _one(random, slot)
    return None if one is None else (_said(random, slot, one), _denial(random, slot, one))


def detail_of_another(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a detail of one choice, and another choice."""
    two = _two(random, slot)
    if two is None or not two[0].refines:
        return None
    return random.choice(two[0].refines), _said(random, slot, two[1])


def detail_denied(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a detail of a choice and a no to that choice."""
    one = _one(random, slot)
    return (random.choice(one.refines), _denial(random, slot, one)) if one and one.refines else None


def in_one_scope(random: Random, slot: Slot, _: Split) -> Sides:
    """Return two choices for one and the same scope."""
    two, scope = _two(random, slot), random.choice(slot.scopes)
    if two is None:
        return None
    first, second = (lowered(_said(random, slot, side)) for side in two)
    return framed(random, SCOPED, scope=scope, text=first), framed(random, SCOPED, scope=scope, text=second)


def another_value(random: Random, slot: Slot, _: Split) -> Sides:
    """Return two values of one amount."""
    if not slot.values:
        return None
    one, other = random.sample(slot.values, 2)
    a, b = random.choice(slot.amounts), random.choice(slot.amounts)
    if random.random() < 0.5:
        b = a
    return _value(random, a, one), _value(random, b, other)


def buried(random: Random, slot: Slot, _: Split) -> Sides:
    """Return two choices of which one stands in a longer note."""
    two = _two(random, slot)
    if two is None:
        return None
    beside = random.choice(slot.beside)
    long = random.choice(("{0}. {1}", "{1}. {0}", "{0}; {1}", "{1}, and {0}"))
    return long.format(_said(random, slot, two[0]), lowered(beside)), _said(random, slot, two[1])


# --- duplicates


def other_words(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a choice in two wordings."""
    one = _one(random, slot)
    if one is None:
        return None
    first, second = random.sample(one.wordings, 2)
    return first, second if random.random() < 0.8 else framed(random, CHOSEN, name=one.name, about=slot.about)


def same_denial(random: Random, slot: Slot, _: Split) -> Sides:
    """Return two ways of saying no to a choice."""
    one = _one(random, slot)
    return (random.choice(one.against), _denial(random, slot, one)) if one and one.against else None


def same_value(random: Random, slot: Slot, _: Split) -> Sides:
    """Return one value of an amount in two wordings."""
    if not slot.values:
        return None
    values = random.choice(slot.values)
    return _value(random, random.choice(slot.amounts), values), _value(
        random, random.choice(slot.amounts), values
    )


def with_a_reason(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a decision, and the same with a reason."""
    text = random.choice(own_texts(slot))
    return text, f"{text} {random.choice(REASONS)}"


# --- refinements


def detail(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a choice and a detail of it."""
    one = _one(random, slot)
    return (_said(random, slot, one), random.choice(one.refines)) if one and one.refines else None


def with_a_detail(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a choice, and the same in other words with a detail."""
    one = _one(random, slot)
    if one is None or not one.refines:
        return None
    first, second = random.sample(one.wordings, 2)
    return first, f"{second}; {lowered(random.choice(one.refines))}"


def with_an_exception(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a rule and the same rule with a stated exception: both can be kept to."""
    scope = random.choice(slot.scopes)
    if slot.values:
        values = random.choice(slot.values)
        a, b = (_value(random, random.choice(slot.amounts), values) for _ in range(2))
        return a, framed(random, EXCEPT, scope=scope, text=b)
    one = _one(random, slot)
    if one is None:
        return None
    first, second = random.sample(one.wordings, 2)
    return first, framed(random, EXCEPT, scope=scope, text=second)


def exception(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a rule and what holds for a stated part instead."""
    two, scope = _two(random, slot), random.choice(slot.scopes)
    if two is None:
        return None
    other = lowered(random.choice(two[1].wordings))
    shape = random.choice(
        (
            "As an exception, for {scope}: {other}",
            "Only {scope}: {other}; the rest stays as it is",
            "{other}, for {scope} only; everything else stays",
            "{scope} are the exception: {other}",
        )
    )
    return random.choice(two[0].wordings), shape.format(scope=scope, other=other)


# --- related: one topic, and both can be kept to


def beside(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a choice and what holds beside any of them."""
    b = random.choice(slot.beside)
    if slot.values:
        return _value(random, random.choice(slot.amounts), random.choice(slot.values)), b
    one = _one(random, slot)
    return None if one is None else (_said(random, slot, one), b)


def both_beside(random: Random, slot: Slot, _: Split) -> Sides:
    """Return two decisions that hold beside any choice."""
    a, b = random.sample(slot.beside, 2)
    return a, b


def near(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a decision and one in its words or frame about another thing."""
    near = random.choice(slot.near)
    if slot.values:
        one, other = random.sample(slot.values, 2)
        return _value(random, random.choice(slot.amounts), one), _value(random, near, other)
    one_of = _one(random, slot)
    if one_of is None:
        return None
    texts = [*one_of.wordings, *one_of.wordings, *one_of.refines, *one_of.against]
    return random.choice(texts), near


def both_near(random: Random, slot: Slot, _: Split) -> Sides:
    """Return two decisions that are in the words of the choices and speak of other things."""
    a, b = random.sample(slot.near, 2)
    if slot.values:
        one, other = random.sample(slot.values, 2)
        return _value(random, a, one), _value(random, b, other)
    return a, b


def other_scopes(random: Random, slot: Slot, _: Split) -> Sides:
    """Return two answers for two scopes."""
    one, other = random.sample(slot.scopes, 2)
    if slot.values:
        v, w = random.sample(slot.values, 2)
        a, b = _value(random, random.choice(slot.amounts), v), _value(random, random.choice(slot.amounts), w)
    else:
        two = _two(random, slot)
        if two is None:
            return None
        a, b = (random.choice(side.wordings) for side in two)
    return (
        framed(random, SCOPED, scope=one, text=lowered(a)),
        framed(random, SCOPED, scope=other, text=lowered(b)),
    )


def third_denied(random: Random, slot: Slot, _: Split) -> Sides:
    """Return a choice and a no to another one."""
    two = _two(random, slot)
    return two and (_said(random, slot, two[0]), _denial(random, slot, two[1]))


def other_purpose(random: Random, slot: Slot, split: Split) -> Sides:
    """Return two answers of one slot, each for the purpose of another slot, in a shared frame."""
    two, other = _two(random, slot), random.choice(split.slots)
    if two is None or other is slot:
        return None
    frame = random.choice((*CHOSEN, *DENIED[:4]))
    first, second = (
        framed(random, (frame,), name=side.name, about=about)
        for side, about in zip(two, (slot.about, other.about), strict=True)
    )
    return first, second


def headings(random: Random, slot: Slot, _: Split) -> Sides:
    """Return two names without a word of what is decided about them."""
    two = _two(random, slot)
    if two is None:
        return None
    shapes = (
        "{0}",
        "{0} support",
        "{0} for beginners",
        "notes on {0}",
        "{0}, part 2",
        "an outline of {0}",
        "{0} checks",
    )
    a, b = (random.choice(shapes).format(side.name) for side in two)
    return a, b


# --- of different slots


def neighbours(random: Random, slot: Slot, split: Split) -> Sides:
    """Return two decisions of different slots that are near each other by meaning."""
    text = random.choice(own_texts(slot))
    near = split.neighbours.get(text)
    return (text, random.choice(near)) if near else None


def of_one_topic(random: Random, slot: Slot, split: Split) -> Sides:
    """Return decisions of two slots of one topic."""
    others = [other for other in split.slots if other.topic == slot.topic and other is not slot]
    return random.choice(own_texts(slot)), random.choice(own_texts(random.choice(others)))


def same_frame(random: Random, slot: Slot, split: Split) -> Sides:
    """Return two choices of two questions in one frame."""
    other = random.choice(split.slots)
    a, b = _one(random, slot), _one(random, other)
    if a is None or b is None or other is slot:
        return None
    frame = random.choice((*CHOSEN, *DENIED))
    return (
        framed(random, (frame,), name=a.name, about=slot.about),
        framed(random, (frame,), name=b.name, about=other.about),
    )


def far(random: Random, slot: Slot, split: Split) -> Sides:
    """Return decisions of two topics."""
    other = random.choice(split.slots)
    if other.topic == slot.topic:
        return None
    return random.choice(own_texts(slot)), random.choice(own_texts(other))
