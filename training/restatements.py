"""Pairs in nearly the same words: one decision noted twice, and two that exclude each other.

A judge that has met near twins only as contradictions takes every restatement for one. `restated` changes
what does not matter; `edits` changes one word that does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from bank import Verdict
from edits import denied, opposite, other_number, same_meaning
from phrasing import IRRELEVANT, OPENERS, PREFIXES, REASONS, SCOPED, dressed, lowered, raised

from forgekit.text.words import STOP_WORDS

_HEADINGS = ("Decision", "Policy", "Rule", "Update", "Outcome", "Agreement", "Note", "Choice", "Standard")
_BEHIND = (
    "({n}.{m})", "[D{n:03}]", "(D{n})", "(see #{n})", "#{n}", "(2025-{k:02}-{m:02})", "[ref {n}{letter}]",
    "(item {m} of the minutes)", "(unchanged)", "(carried over)", "(confirmed)", "(as before)", "(v{m})",
    "- agreed {m} {month}", "(still in force)", "(tier 0.{m})", "[ADR-{n}]", "(from the {month} meeting)",
    "(again)", "(restated)", "(turn {n})", "— {name}", "({name}, {month})", "(all agreed)",
)  # fmt: skip
_BEFORE = (
    "{n}.{m} {text}", "D{n}: {text}", "[{n}] {text}", "ADR {n}: {text}", "({letter}) {text}", "{m}. {text}",
    "{month} {m}: {text}", "{name}: {text}", "DEC-{n:03} {text}", "- {text}", "Item {m}: {text}", "✅ {text}",
)  # fmt: skip
_FRAMES = (
    "We agreed that {lower}", "It was decided that {lower}", "We still say: {lower}",
    "Same as before: {lower}",
    "The plan stays: {lower}", "As agreed, {lower}", "To confirm: {lower}", "Our rule: {lower}",
    "The decision stands: {lower}", "In short, {lower}", "We will do it like this: {lower}",
    "Settled: {lower}",
    "The group decided that {lower}", "As a team we decided: {lower}", "Carried over: {lower}", "“{text}”",
    "**{text}**", "Going forward, {lower}", "For everybody: {lower}", "{text} That is final.", "`{text}`",
    "{text} This has not changed.", "We have decided the following: {lower}", "Everyone agreed: {lower}",
)  # fmt: skip
_NAMES = ("Ana", "Bo", "Chen", "Dora", "Emil", "Farid", "Greta", "Hugo", "Ines", "Kofi", "Olga", "Priya")
_MONTHS = ("January", "February", "April", "May", "June", "July", "September", "October", "November")
_SWAPS = (
    (" must ", " has to "), (" must ", " should "), (" must ", " will "), (" should ", " must "),
    (" will ", " shall "), (" are ", " are always "), (" is ", " is now "), (" and ", " & "),
    (" the ", " our "), (" the ", " "), (" a ", " one "), (" we ", " the team "), (" our ", " the "),
    (" every ", " each "), (" all ", " all of the "), (" until ", " till "), (" for ", " in the case of "),
    (" with ", " by means of "), ("ise", "ize"), ("our", "or"), ("isation", "ization"), ("e-mail", "email"),
    (" use ", " make use of "), (" only ", " solely "), (" at most ", " no more than "),
    (" at least ", " a minimum of "),
    (" minutes", " min"), (" hours", " h"), (" seconds", " s"), (" percent", " %"), (" euros", " EUR"),
    (" days", " d"), (" weeks", " wks"), (" two ", " 2 "), (" three ", " 3 "), (" four ", " 4 "),
    (" five ", " 5 "),
    (" ten ", " 10 "), (" 2 ", " two "), (" 3 ", " three "), (" 5 ", " five "), (" 10 ", " ten "),
    (" database", " DB"), (" documentation", " docs"), (" configuration", " config"),
    (" production", " prod"),
    (" before ", " prior to "), (" instead of ", " in place of "), (" because ", " since "), ("; ", ". "),
    (", ", " - "),
)  # fmt: skip
_SCOPES = (
    "the shop", "the blog", "room 2", "room 5", "the Berlin office", "the pilot", "new customers", "members",
    "the annex", "phase one", "phase two", "the web client", "the app", "guests", "the summer term",
    "the archive",
    "the second floor", "wholesale", "interns", "the nightly run", "the youth group", "the north site",
    "invoices",
)  # fmt: skip
_TAIL = re.compile(r"(?:;|,? because| so that|,? since)\s.*$")
_CLAUSE = re.compile(
    r"(?P<first>(?:For|In|On|From|At|During|After|Before) [^,]{3,60}), (?P<rest>.+?)(?P<dot>\.?)$"
)
Pair = tuple[str, str]


def restated(random: Random, text: str) -> str:
    """Return a text with one to three changes that leave its meaning alone."""
    changed = text
    for change in random.sample(_CHANGES, random.choice((1, 1, 2, 3))):
        changed = change(random, changed)
    return _framed(random, text) if changed == text else changed


def near_twins(random: Random, texts: Sequence[str]) -> list[tuple[Pair, Verdict]]:
    """Return pairs in nearly the same words: one decision twice, two that exclude each other, two subjects.

    Args:
        random: of every choice.
        texts: decisions; each gives one pair.
    """
    out: list[tuple[Pair, Verdict]] = []
    for text in texts:
        kind = random.choices((Verdict.DUPLICATE, Verdict.CONTRADICTION, Verdict.RELATED), (6, 3, 1))[0]
        one, other = text, _excluded(random, text) if kind is Verdict.CONTRADICTION else None
        if kind is Verdict.RELATED:
            frame, scopes = random.choice(SCOPED), random.sample(_SCOPES, 2)
            one, other = (frame.format(scope=scope, text=text) for scope in scopes)
        if other is None or other == one:
            kind, other = Verdict.DUPLICATE, restated(random, text)
        if random.random() < 0.5:
            one = restated(random, one)
        if random.random() < 0.3 and kind is not Verdict.DUPLICATE:
            other = restated(random, other)
        out.append(((one, other), kind))
    return out


def _excluded(random: Random, text: str) -> str | None:
    changes = [other_number, opposite, denied]
    random.shuffle(changes)
    return next(filter(None, (change(random, text) for change in changes)), None)


def _filled(random: Random, frame: str, text: str) -> str:
    return frame.format(
        text=text,
        lower=lowered(text),
        n=random.randint(1, 999),
        m=random.randint(1, 9),
        k=random.randint(1, 12),
        number=random.randint(1, 60),
        letter=random.choice("abcdefgh"),
        name=random.choice(_NAMES),
        month=random.choice(_MONTHS),
    )


def _headed(random: Random, text: str) -> str:
    words = [word.strip('.,;:()*`“”"') for word in text.split()]
    telling = [at for at, word in enumerate(words) if len(word) > 3 and word.lower() not in STOP_WORDS]
    if not telling or random.random() < 0.3:
        return f"{random.choice(_HEADINGS)}: {text}"
    at = random.choice(telling)
    topic = raised(" ".join(words[at : at + random.choice((1, 1, 2))]))
    return f"{topic}{random.choice((': ', ' — ', ' - ', ': '))}{text}"


def _framed(random: Random, text: str) -> str:
    return _filled(random, random.choice((*_FRAMES, *_BEFORE, *PREFIXES, *OPENERS)), text)


def _referred(random: Random, text: str) -> str:
    behind = _filled(random, random.choice(_BEHIND), text)
    return f"{text.rstrip('.')} {behind}{random.choice(('', '', '.'))}"


def _reasoned(random: Random, text: str) -> str:
    if random.random() < 0.3 and len(cut := _TAIL.sub("", text)) > 20:
        return cut
    why = random.choice((*REASONS, *REASONS, *IRRELEVANT))
    return f"{text.rstrip('.')}{random.choice((' ', ', ', '; '))}{why}{random.choice(('', '.'))}"


def _swapped(random: Random, text: str) -> str:
    for old, new in random.sample(_SWAPS, len(_SWAPS))[: random.randint(20, len(_SWAPS))]:
        if old in text:
            return text.replace(old, new, 1)
    return same_meaning(random, text) or text


def _turned(random: Random, text: str) -> str:
    if found := _CLAUSE.match(text):
        return raised(f"{found['rest']} {lowered(found['first'])}{found['dot']}")
    return _swapped(random, text)


_CHANGES: tuple[Callable[[Random, str], str], ...] = (
    _headed,
    _framed,
    _referred,
    _reasoned,
    _swapped,
    _turned,
    dressed,
)
