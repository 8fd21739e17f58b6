"""Answers: a person says yes to what the other proposed, picks an option, or corrects a guess.

Such an answer is short and says little; what it decides stands in the turn before it, and gives the title.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forgekit.extraction.phrases import lead, substance
from forgekit.extraction.sentences import Unit, offsets, verbatim


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What an answer decides; `length` characters of the answer's first unit say so.

    Attributes:
        title: what was proposed, or what is taken.
        others: the options that were not.
        agrees: it only says yes; words of its own say it better.
    """

    start: int
    length: int
    title: str
    confidence: float
    why: str
    others: tuple[str, ...] = ()
    agrees: bool = False


_YES = re.compile(
    r"(?:yes|yep|yeah|yup|ok|okay|sure|agreed|absolutely|exactly|definitely|perfect|great|good(?: idea| call"
    r"| point)?|fine(?: by me| with me)?|deal|sounds (?:good|great|right|fine|reasonable)|makes sense"
    r"|works for me|love it|i agree|approved|confirmed|lgtm|done|sold|i like (?:that|it)|that works|right"
    r"|correct|ja|genau|einverstanden|oui|d'accord|parfait|s\u00ed|vale|de acuerdo|perfecto|\u306f\u3044"
    r"|\u597d\u7684?|\u53ef\u4ee5)(?=[\s,.!:;\u2014\u3001\u3002\uff0c-]"
    r"|\Z)[\s,.!:;\u2014\u3001\u3002\uff0c-]*",
    re.IGNORECASE,
)
_DO = re.compile(
    r"(?:please |just |then |so |and )*(?:(?:let's|lets|we(?:'ll| will)?|i(?:'ll)?) )?(?:go (?:with"
    r"|for) (?:it|that|this)|do (?:it|that|this|so)(?: (?:then|please|that way|like that))*"
    r"|go ahead(?: with (?:it|that|this))?|make it so|ship it|that's the plan|that's decided|that way"
    r"|we(?:'re)? (?:agreed|good)|so machen wir(?: das|'s)?|machen wir(?: so)?|on fait (?:\u00e7a"
    r"|comme \u00e7a)|hag\u00e1moslo|adelante)(?=[\s,.!\u2014-]|\Z)",
    re.IGNORECASE,
)
_PICK = re.compile(
    r"(?:(?:let's|lets|i'll|we'll|i'd|we|i)\s)?(?:(?:go(?:ing)? (?:with|for)|take|pick|choose|do|use|prefer"
    r"|want|make it) )?(?:(?:option|variant|plan|choice|approach|proposal|number|alternative"
    r"|#)\s?(?P<name>[A-H]|\d{1,2})|(?P<letter>[A-H])(?! \w+ing)|(?P<digit>\d)(?=[\s.,!]*(?:please|then"
    r"|it is)?[\s.!]*\Z)|the (?P<place>first|second|third|fourth|last|latter|former|1st|2nd|3rd)(?: (?:one"
    r"|option|approach|variant|choice|alternative|proposal|way|idea|version))?)(?=[\s,.!\u2014-]|\Z)",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"(?:^|[\s(])\**(?:(?:option|variant|plan|approach|choice|alternative|proposal) )?(?P<name>[A-H]"
    r"|\d{1,2})\**(?:[.):]|\s[\u2014\u2013-]\s|:)\**\s+(?P<text>[^\n]{2,200}?)(?=(?:,|;|\.|,? or"
    r"|,? and)?\s+\**(?:(?:option|variant|plan|approach|choice) )?(?:[A-H]|\d{1,2})\**[.):]\**\s|\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_PROPOSES = re.compile(
    r"\b(?:i(?:'d| would)? (?:\w+ )?(?:suggest|recommend|propose|go (?:with|for)|advise|lean|pick|use|keep"
    r"|vote|prefer)|my (?:suggestion|recommendation|proposal|advice|vote)(?: is| would be)?:?|how about"
    r"|what about|(?:shall|should|could|can) we|should (?:it|they|the)|let's|we (?:could|can|should|might)"
    r"|why (?:not|don't we)|(?:shall|should|want me|would you like me|do you want me) ?(?:i )?(?:to )?(?:use"
    r"|keep|switch|drop|make|store|go with|replace|rename|split|merge|set|move|default|adopt|remove|leave"
    r"|name|call|skip|limit|cap)|do you want (?:\w+ )?(?:to (?:use|keep|be|go with|have)|me to (?:use|keep"
    r"|switch|drop|make|store|go with|replace|rename|split))|so you want|proposal:|suggestion:|recommended:"
    r"|recommendation:|would be (?:best|better|my)|ich (?:schlage|w\u00fcrde|empfehle)|je propose"
    r"|propongo)\b",
    re.IGNORECASE,
)
_ERRAND = re.compile(
    r"\b(?:(?:make|do) (?:that|this|the|these|those) (?:change|fix|edit|update)s?|run|commit|push|test|fix"
    r"|debug|look|check|start|continue|proceed|investigate|explain|show|read|open|write (?:the|a"
    r"|some) tests?|update the docs|implement|apply|create (?:a|the) (?:pr|branch|commit)|review|go ahead"
    r"|draft)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:(?:please|thanks|thank you|then|that works|works for me|sounds good|bitte|merci"
    r"|gracias)[\s.,!]*){0,3}",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"(?P<yes>(?!no\b|nah\b|nope\b|yes\b)[^,.;!?]{2,60}), (?:and )?not (?!yet|sure|really|now|only"
    r"|just)[^,.;!?]{2,60}[.!]?\Z",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:but|no|not|don't|wait|instead|except|however|aber|mais|pero|first)\b", re.IGNORECASE
)
_GUESSES = re.compile(r"(?:so|then|you mean|just|ok(?:ay)?,?|also)\b[^?]{2,80}\?", re.IGNORECASE)
_RULES = re.compile(
    r"(?:(?:yes|yeah|yep|ok|okay|no|nope|nah|sure|right|ah|hmm|but|and|ja|oui"
    r"|s\u00ed)[,.! ]+){1,3}(?P<what>(?:(?:that|this|it|we|they|you|the \w+(?: \w+)?|these|those) (?:should"
    r"|shouldn't|must|mustn't|don't need|only need|do not need|needn't|can stay|stays?)\b|(?:don't|do not"
    r"|never|always|keep|leave|only|put|use|make it|let it|stick)\b)(?! (?:worry|mind|forget|going"
    r"|be (?:possible|able|enough|fine|working|there))\b)[^?]{3,160})\Z",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"(?:i(?:'d| would)? (?:\w+ )?(?:suggest|recommend|propose|advise)(?: that| we| you| to)*"
    r"|my (?:suggestion|recommendation|proposal|advice)(?: is| would be)?(?: to| that)?:?|how about"
    r"|what about|(?:shall|should|could|can) we|let's|we (?:could|can|should|might)|why (?:not|don't we)"
    r"|(?:shall|should) i|(?:do you )?want me to|would you like me to|i(?:'d)? lean towards?|proposal:"
    r"|suggestion:|recommended:|recommendation:|i'd|i would) ",
    re.IGNORECASE,
)
SHORT = 25
"""Words of an answer's statement; a longer one speaks for itself."""
LATELY = 6
"""Statements at the end of the other's turn that an answer may answer."""


def answer(own: Sequence[Unit], before: str, proposed: Sequence[Unit]) -> Reply | None:
    """Read a user's turn as an answer to the turn before it.

    Args:
        own: the statements of the answer.
        before: the text of the other's turn.
        proposed: that turn's statements.
    """
    if not own or own[0].asks or len(own[0].text.split()) > SHORT:
        return None
    text = own[0].text
    yes = _YES.match(text)
    if yes and (again := _YES.match(text, yes.end())):
        yes = again
    at = yes.end() if yes else lead(text)
    return (
        _picked(text, at, before)
        or _named(text, at, proposed)
        or _corrected(text, proposed)
        or _confirmed(text, at, proposed)
        or _ruled(text, proposed)
        or _agreed(text, yes.end() if yes else 0, before, proposed)
    )


def _picked(text: str, at: int, before: str) -> Reply | None:
    """Read `option B`, `the second one` or `2`."""
    match = _PICK.match(text, at)
    if match is None or not (options := _options(before)):
        return None
    names = list(options)
    key = (match["name"] or match["letter"] or match["digit"] or "").upper()
    if place := (match["place"] or "").casefold():
        order = {"first": 0, "1st": 0, "former": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3}
        number = order.get(place, len(names) - 1)
        key = names[number] if number < len(names) else ""
    if key not in options:
        return None
    return Reply(
        start=0,
        length=match.end(),
        title=options[key],
        others=tuple(value for name, value in options.items() if name != key),
        confidence=0.85,
        why="a person picks an option of the turn before",
    )


def _corrected(text: str, proposed: Sequence[Unit]) -> Reply | None:
    """Read `hourly, not daily` after a question."""
    start = lead(text)
    match = _CORRECTS.match(text[start:])
    if match is None or not proposed or not proposed[-1].asks or len(text.split()) > 12:
        return None
    return Reply(
        start=start,
        length=match.end("yes"),
        title=match["yes"],
        confidence=0.7,
        why="a person corrects what the other asked",
    )


def _confirmed(text: str, at: int, proposed: Sequence[Unit]) -> Reply | None:
    """Read `Oak with an oil finish` after `So oak?`."""
    if (
        not proposed
        or not _GUESSES.match(proposed[-1].text)
        or len(text.split()) > 10
        or _REFUSES.search(text)
    ):
        return None
    asked = substance(proposed[-1].text)
    if not asked or not asked < substance(text) or len(asked) > 5:
        return None
    end = len(text.rstrip(" .!"))
    return Reply(
        start=at,
        length=end - at,
        title=text[at:end],
        confidence=0.65,
        why="a person says yes by naming it again",
        agrees=True,
    )


def _ruled(text: str, proposed: Sequence[Unit]) -> Reply | None:
    """Read `yes, but that should stay private`."""
    match = _RULES.match(text)
    if match is None or not any(one.asks or _proposes(one) for one in proposed[-LATELY:]):
        return None
    start = match.start("what")
    return Reply(
        start=start,
        length=match.end() - start,
        title=match["what"],
        confidence=0.6,
        why="a person answers with a ruling",
        agrees=True,
    )


def _agreed(text: str, rest_at: int, before: str, proposed: Sequence[Unit]) -> Reply | None:
    """Read `yes`, `ok, do that`."""
    rest = text[rest_at:]
    do = _DO.match(rest)
    if (not rest_at and do is None) or _REFUSES.search(rest) or (do is None and not _FILLER.fullmatch(rest)):
        return None
    proposal = next((one for one in reversed(proposed[-LATELY:]) if _proposes(one)), None)
    if proposal is None or (proposal.asks and " or " in proposal.text):
        return None
    title = _bare(verbatim(before, offsets(proposal)))
    if len(substance(title)) < 3:
        return None
    return Reply(
        start=0,
        length=len(text),
        title=title,
        confidence=0.75 if do is not None else 0.6,
        why="a person agrees to what the other proposed",
        agrees=True,
    )


def _named(text: str, at: int, proposed: Sequence[Unit]) -> Reply | None:
    """Read `monthly` as the answer to `weekly or monthly?`."""
    words = substance(text[at:])
    if not words or len(text[at:].split()) > 5 or _REFUSES.search(text[at:]):
        return None
    question = next((one for one in reversed(proposed[-LATELY:]) if one.asks), None)
    if question is None or " or " not in question.text:
        return None
    parts = re.split(r"\bor\b|,", question.text)
    hits = [part for part in parts if words <= substance(part)]
    if len(hits) != 1:
        return None
    end = len(text.rstrip(" .!"))
    return Reply(
        start=at,
        length=end - at,
        title=text[at:end],
        confidence=0.7,
        why="a person names one of two that the other asked for",
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


def _proposes(unit: Unit) -> bool:
    return _PROPOSES.search(unit.text) is not None and not _ERRAND.search(unit.text)


def _bare(text: str) -> str:
    match = _SAID.search(text[:120])
    rest = text[match.end() :] if match else text[lead(text) :]
    return rest.rstrip(" ?.!")
