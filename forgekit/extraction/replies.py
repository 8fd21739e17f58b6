"""Replies: a person accepts the assistant's proposal, or picks one of its options.

Such a reply is short; the title comes from the turn before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forgekit.extraction.cues import content_words, lead
from forgekit.extraction.sentences import Sentence, offsets, sentences, verbatim


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a reply decides.

    Attributes:
        start: of the deciding words in the reply's first sentence.
        length: of them.
        title: what was proposed, or the option that was picked.
        others: the options that were not.
        agrees: it only accepts; a decision in its own words is better.
    """

    start: int
    length: int
    title: str
    why: str
    others: tuple[str, ...] = ()
    agrees: bool = False


_YES = re.compile(
    r"(?:(?:yes|yep|yeah|yup|ok(?:ay)?|sure|agreed|exactly|definitely|perfect|great|good(?: idea)?"
    r"|fine(?: by me)?|deal|sounds good|makes sense|works for me|i agree|lgtm|ja|jo|genau|einverstanden|oui"
    r"|d'accord|s\u00ed|vale|\u306f\u3044|\u597d\u7684?)"
    r"(?=[\s,.!:;\u3001\u3002\uff0c-]|\Z)[\s,.!:;\u3001\u3002\uff0c-]*){1,3}",
    re.IGNORECASE,
)
_DO = re.compile(
    r"(?:please |just |then |so |and |that's good )*(?:(?:let's|we(?:'ll)?|i'll) )?(?:go (?:with|for)"
    r" (?:it|that|this)|do (?:it|that|this|so)|go ahead|why not|that one|make it so|machen wir(?: so)?"
    r"|on fait \u00e7a)\W*\Z",
    re.IGNORECASE,
)
_NOUN = r"option|variant|plan|choice|approach|proposal|number|alternative"
_PICK = re.compile(
    r"(?:(?:let's|i'll|we'll|i'd|we|i)\s)?"
    r"(?:(?:go(?:ing)? (?:with|for)|take|pick|choose|do|use|prefer|want) )?"
    rf"(?:(?:{_NOUN}|#)\s?(?P<name>[A-H]|\d{{1,2}})|(?P<letter>[A-H])(?! \w+ing)"
    r"|(?P<digit>\d)(?=[\s.,!]*(?:please|then|it is)?[\s.!]*\Z)"
    rf"|the (?P<place>first|second|third|last|latter|former)(?: (?:one|{_NOUN}|idea|version))?)"
    r"(?=[\s,.!\u2014-]|\Z)",
    re.IGNORECASE,
)
_OPTION = re.compile(
    rf"(?:^|[\s(])\**(?:(?:{_NOUN}) )?(?P<name>[A-H]|\d{{1,2}})\**(?:[.):]|\s[\u2014\u2013-]\s|:)\**\s+"
    rf"(?P<text>[^\n]{{2,200}}?)(?=(?:,|;|\.|,? or|,? and)?\s+\**(?:(?:{_NOUN}) )?(?:[A-H]|\d{{1,2}})"
    r"\**[.):]\**\s|\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_PROPOSAL = re.compile(
    r"\b(?:i(?:'d| would| could| can)? (?:\w+ )?(?:suggest|recommend|propose)(?: that| we| you| to)*"
    r"|i(?:'d| would| could| can)(?= (?:\w+ )?(?:go with|pick|use|keep|make|store|add)\b)"
    r"|my (?:suggestion|recommendation|proposal)(?: is)?:?|how about|what about|let's"
    r"|(?:shall|should|could|can) (?:we|i)|we (?:could|can|should|might)|(?:do you )?want me to"
    r"|would you like me to|proposal:|recommended:|soll ich|ich (?:schlage|w\u00fcrde|empfehle)|je propose"
    r"|propongo)(?= )",
    re.IGNORECASE,
)
_ERRAND = re.compile(
    r"\b(?:run|commit|push|test|fix|debug|look|check|start|continue|proceed|investigate|explain|show|read|open"
    r"|implement|apply|create|review|go ahead|draft|write)\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:but|no|(?<!why )not|don't|wait|instead|except|however|aber|mais|pero|first)\b", re.IGNORECASE
)
SHORT = 25
"""Words of a reply's sentence; a longer one speaks for itself."""
LATELY = 6
"""Sentences at the end of the assistant's turn that a reply may answer."""
_PLACES = {"first": 0, "former": 0, "second": 1, "third": 2}


def accepted(own: Sequence[Sentence], before: str) -> Reply | None:
    """Read a user's turn as a reply.

    Args:
        own: the sentences of the reply, at least one.
        before: the assistant's turn before it.
    """
    first = own[0]
    if first.asks or len(first.text.split()) > SHORT:
        return None
    text = first.text
    yes = _YES.match(text)
    at = yes.end() if yes else lead(text)
    if (picked := _picked(text, at, before)) is not None:
        return picked
    proposed = list(sentences(before))[-LATELY:]
    return _named(text, at, proposed) or _agreed(text, yes.end() if yes else 0, before, proposed)


def _picked(text: str, at: int, before: str) -> Reply | None:
    """Read `option B`, `the second one` or `2`."""
    match = _PICK.match(text, at)
    if match is None or not (options := _options(before)):
        return None
    names = list(options)
    key = (match["name"] or match["letter"] or match["digit"] or "").upper()
    if place := (match["place"] or "").casefold():
        number = _PLACES.get(place, len(names) - 1)
        key = names[number] if number < len(names) else ""
    if key not in options:
        return None
    return Reply(
        start=0,
        length=match.end(),
        title=options[key],
        others=tuple(value for name, value in options.items() if name != key),
        why="a person picks an option of the turn before",
    )


def _options(text: str) -> dict[str, str]:
    """Return the last run of lettered or numbered options of a message, if there are two at least."""
    found: dict[str, str] = {}
    for match in _OPTION.finditer(text[-8_000:]):
        name = match["name"].upper()
        if name in {"A", "1"}:
            found = {}
        found[name] = match["text"].strip(" *_.,;")
    return found if len(found) >= 2 else {}


def _named(text: str, at: int, proposed: Sequence[Sentence]) -> Reply | None:
    """Read `monthly` as the reply to `weekly or monthly?`."""
    words = content_words(text[at:])
    question = next((one for one in reversed(proposed) if one.asks), None)
    if not words or question is None or " or " not in question.text:
        return None
    if len(text[at:].split()) > 5 or _REFUSES.search(text[at:]):
        return None
    if sum(words <= content_words(part) for part in re.split(r"\bor\b|,", question.text)) != 1:
        return None
    end = len(text.rstrip(" .!"))
    return Reply(
        start=at,
        length=end - at,
        title=text[at:end],
        why="a person names one of two that the other asked for",
    )


def _agreed(text: str, rest_at: int, before: str, proposed: Sequence[Sentence]) -> Reply | None:
    """Read `yes`, `ok, do that`."""
    rest = text[rest_at:].strip(" .!")
    do = _DO.match(rest)
    if (not rest_at and do is None) or _REFUSES.search(rest) or (rest and do is None):
        return None
    proposal = next((one for one in reversed(proposed) if _proposes(one)), None)
    if proposal is None or (proposal.asks and " or " in proposal.text):
        return None
    title = verbatim(before, offsets(proposal))
    match = _PROPOSAL.search(title)
    title = title[match.end() if match else lead(title) :].rstrip(" ?.!")
    if len(content_words(title)) < 3:
        return None
    return Reply(
        start=0,
        length=len(text),
        title=title,
        why="a person agrees to what the other proposed",
        agrees=True,
    )


def _proposes(sentence: Sentence) -> bool:
    return _PROPOSAL.search(sentence.text) is not None and not _ERRAND.search(sentence.text)
