"""How people put one and the same decision: frames, prefixes, reasons, case and slips of the fingers."""

from __future__ import annotations

from random import Random

CHOSEN = (
    "Use {name} for {about}",
    "Go with {name} for {about}",
    "Adopt {name} for {about}",
    "{name} for {about}",
    "{about}: {name}",
    "We chose {name} for {about}",
    "For {about} we use {name}",
    "We settled on {name} for {about}",
    "Standardise on {name} for {about}",
    "{about} will be done with {name}",
    "Stick with {name} for {about}",
    "Make {name} the default for {about}",
)
OVER = (
    "{text} rather than {other}",
    "{text}, not {other}",
    "{text} instead of {other}",
    "{text} (rejected: {other})",
    "{text}; {other} was considered and dropped",
)
MOVED = (
    "Switch {about} from {other} to {name}",
    "Replace {other} by {name} for {about}",
    "Move {about} to {name}",
    "Migrate {about} from {other} to {name}",
)
DENIED = (
    "No {name} for {about}",
    "Do not use {name} for {about}",
    "Never use {name} for {about}",
    "Stop using {name} for {about}",
    "We decided against {name} for {about}",
    "Drop {name} for {about}",
    "{name} is ruled out for {about}",
    "{about} without {name}",
    "Reject {name} for {about}",
)
SCOPED = (
    "For {scope}: {text}",
    "{text}, for {scope} only",
    "{text} for {scope}",
    "In the case of {scope}, {text}",
)
EXCEPT = (
    "{text}, except for {scope}",
    "{text}; {scope} are exempt",
    "{text}, with an exception for {scope}",
    "{text} unless it concerns {scope}",
)
PREFIXES = (
    "Decision: {text}",
    "Decided: {text}",
    "We decided: {text}",
    "Agreed: {text}",
    "D{number}: {text}",
    "ADR {number}: {text}",
    "{text} (agreed)",
    "Conclusion: {text}",
    "{text} for now",
    "From now on: {text}",
    "{number}. {text}",
)
REASONS = (
    "because it is simpler",
    "because the other way was too slow",
    "since nobody wants to maintain more than that",
    "so that we do not have to argue again",
    "as agreed in the last meeting",
    "because it cost too much before",
    "since that is what most people expect",
    "to keep the effort small",
    "because two of us know it well",
    "after the trial in spring",
    "to be safe",
    "so it can be changed later",
)
IRRELEVANT = (
    "Anna writes it down",
    "to be looked at again in a year",
    "the notes are in the shared folder",
    "everybody present agreed",
    "Tom tells the others",
    "this was discussed twice",
    "starting next month",
    "see the minutes",
    "six people were there",
    "Priya was on holiday",
    "the slides are on the wiki",
    "nobody objected",
    "question came from Oskar",
    "raised again by the new colleague",
    "we spent half an hour on this",
    "the ticket is closed",
    "thanks to everyone who commented",
    "asked by the board",
    "a summary goes out by mail",
    "background is in the long thread",
    "the whiteboard was photographed",
    "Lena will draw the diagram",
    "this was the third item",
    "recorded by the secretary",
    "filed under general matters",
    "some of us joined by phone",
)
OPENERS = (
    "Second item: {text}",
    "After some discussion: {text}",
    "Following Thursday's call, {text}",
    "Noted by Petra: {text}",
    "From the workshop: {text}",
    "As written in the mail last week: {text}",
    "To answer Jonas's question: {text}",
    "For the record: {text}",
    "With all seven present: {text}",
    "Summing up the thread: {text}",
    "As we said before the break, {text}",
    "Copied from the old page: {text}",
    "Short version: {text}",
    "Back to the first point: {text}",
    "Nothing new here: {text}",
    "Reminder: {text}",
)
_ORDERS = frozenset(  # a word list reads best as one text
    """allow ask build buy cache delete deploy encrypt generate give hold keep let make offer pay publish put
    report require run send serve ship show split start store take train use write""".split()  # noqa: SIM905
)


def lowered(text: str) -> str:
    """Return a sentence as it stands inside another one: its first word in lower case unless it is a name."""
    first = text.split(" ", 1)[0]
    return text if len(first) < 2 or not first[1:].islower() else text[0].lower() + text[1:]


def raised(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def framed(random: Random, frames: tuple[str, ...], **words: str) -> str:
    """Return one of the frames with its words."""
    return raised(random.choice(frames).format(**words))


def negated(text: str) -> str | None:
    """Return the order not to do what a text orders; None where it does not begin with a known verb."""
    first, _, rest = text.partition(" ")
    return f"Do not {first.lower()} {rest}" if first.lower() in _ORDERS and rest else None


def dressed(random: Random, text: str) -> str:
    """Return a text as somebody else would have put it into a log; it says the same."""
    if random.random() < 0.08:
        text = f"{text} {random.choice(REASONS)}"
    elif random.random() < 0.10:
        text = f"{text}{random.choice('.;,')} {random.choice(IRRELEVANT)}"
    if random.random() < 0.06:
        text = random.choice(OPENERS).format(text=text)
    elif random.random() < 0.12:
        text = random.choice(PREFIXES).format(text=text, number=random.randint(1, 60))
    shape = random.random()
    if shape < 0.10:
        text = text.lower()
    elif shape < 0.17:
        text = text.title() if shape < 0.14 else " ".join(raised(word) for word in text.split())
    if random.random() < 0.25:
        text += "."
    if random.random() < 0.06:
        text = _slipped(random, text)
    return text


def _slipped(random: Random, text: str) -> str:
    """Return a text with one typing slip in a longer word."""
    places = [i for i in range(2, len(text) - 2) if text[i - 1 : i + 3].isalpha()]
    if not places:
        return text
    at = random.choice(places)
    kind = random.randrange(3)
    if kind == 0:
        return text[:at] + text[at + 1 :]
    if kind == 1:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text[:at] + text[at] + text[at:]
