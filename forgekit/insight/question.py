"""The retrieval commands that archives promise, read from a question.

Eight patterns are those of the retrieval protocol, the others ask what is in force and when it was decided;
any other question is a search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from itertools import pairwise

from forgekit.frozen import frozen
from forgekit.text.words import is_grammar, needed, stem, wide, words


class Command(Enum):
    """What a question asks for."""

    WHY = "why did we decide X"
    WHEN = "when did we decide X"
    REJECTED = "why did we reject X"
    ALTERNATIVES = "what were the alternatives for X"
    EARLIER = "show earlier version of A"
    DISCUSSED = "what did we discuss about Y"
    EXPAND = "expand on S"
    TAG = "what was in the TAG compression"
    INHERITED = "show what I inherited from TAG"
    TURNS = "what turns cover Y"
    OPEN = "what threads are open"
    STANDING = "what decisions are in force"
    CHANGED = "what changed in P since DATE"


@frozen()
class Question:
    """A command and what it is about; "" where that is everything, or since when where that is not given."""

    command: Command
    subject: str
    since: str = ""


_WHY_VERB = (
    r"(?:decided?|choose|chose|chosen|pick(?:ed)?|going|go|use|using|select(?:ed)?)"
    r"(?: on| to| for| that| with)?"
)
_WHO = r"(?:i|we|they)"
_REJECTING = (
    r"(?:reject(?:ed)?|rule[d]? out|turn(?:ed)? down|decide[d]? against|not (?:choose|pick|take|use|go with))"
)
_LIST = r"(?:(?:what|which)(?: are)?|(?:show|list)(?: me)?)(?: all)?(?: the| our| my)?"
_STATE = r"(?:still )?(?:open|active|unresolved)"
_FORCE = r"(?:still )?(?:in force|active|stand|standing|hold|current)"
_OF = r"(?: (?:in|of|for|on|about|from)(?: the| our| my)? (.+))?"
_OF_TAG = r"(?:the )?(\S+)(?: compression| archive)?"
# The question words of the languages that archives are read in, of which the last ones set no blanks.
_WHY_WORD = (
    r"(?:(?:why|warum|wieso|weshalb|weswegen|pourquoi|por ?qu[e\u00e9\u00ea]|perch[e\u00e9\u00e8]|waarom"
    r"|\u043f\u043e\u0447\u0435\u043c\u0443|\u0437\u0430\u0447\u0435\u043c)\s+"
    r"|(?:\u306a\u305c|\u3069\u3046\u3057\u3066|\u4e3a\u4ec0\u4e48|\u70ba\u4ec0\u9ebc)\s*)"
)
_WHEN_WORD = (
    r"(?:(?:wann|quand|cu[a\u00e1]ndo|quando|wanneer|\u043a\u043e\u0433\u0434\u0430)\s+"
    r"|(?:\u3044\u3064|\u4ec0\u4e48\u65f6\u5019|\u4f55\u65f6)\s*)"
)
# Tried in order; each pattern is one pass over the text.
_SHAPES = {
    Command.REJECTED: rf"(?:why (?:did|do|have) {_WHO}|why was|what did {_WHO}) {_REJECTING} (.+)",
    Command.WHY: rf"(?:tell me )?(?:why (?:did|do|have|are|is|was|were) (?:{_WHO} )?(?:{_WHY_VERB} )?"
    rf"|{_WHY_WORD})(.+)",
    Command.WHEN: rf"(?:(?:since )?when (?:did|do|have|has|is|are|was|were) (?:{_WHO} )?|{_WHEN_WORD})"
    rf"(?:{_WHY_VERB} )?(?:(?:the|our) (?:decision|choice) (?:about|on|for|of|to) )?"
    r"(.+?)(?: (?:made|taken|decided|chosen))?",
    Command.ALTERNATIVES: r"(?:what|which) (?:were |are |was )?(?:the |other )?(?:alternatives?|options?)"
    r"(?: did we (?:reject|consider))?(?: for| to| of)? (.+)",
    Command.EARLIER: r"show (?:me )?(?:the |an )?(?:earlier|previous|older|prior) versions? of (.+)",
    Command.OPEN: rf"(?:{_LIST} (?:{_STATE} (?:threads?|questions?)"
    rf"|(?:threads?|questions?) (?:are |is )?{_STATE})|what(?: is|'s) {_STATE}){_OF}",
    Command.STANDING: rf"(?:{_LIST} (?:{_FORCE} decisions?|decisions? (?:are |is )?{_FORCE})"
    rf"|what(?: is|'s) in force){_OF}",
    Command.CHANGED: rf"what(?:'s| is| has| have| did)? (?:{_WHO} )?(?:been )?"
    r"(?:changed?|new|happened|decided?)(?: (?:in|for|with|on|about)(?: the| our| my)? (.+?))? since (.+)",
    Command.INHERITED: rf"(?:show |list )?(?:me )?what (?:{_WHO}|did {_WHO}) inherit(?:ed)? from {_OF_TAG}",
    Command.TAG: rf"what (?:was|is) in {_OF_TAG}",
    Command.TURNS: r"(?:what|which) turns? (?:cover|covers|discuss|are about|is about) (.+)",
    Command.DISCUSSED: rf"what (?:did|have) {_WHO} (?:discuss(?:ed)?|say|said|talk(?:ed)?)(?: about)? (.+)",
    Command.EXPAND: r"expand (?:on )?(.+)",
}
_OVER = re.compile(
    r"(?:\s(?:over|instead of|rather than|versus|vs\.?)|,\s(?:and\s|but\s)?not)\s", re.IGNORECASE
)
_FORM = range(5, 40)  # letters by which longer forms of a word are known: mastered, mastery
_QUOTES = "\"'`\u201c\u201d\u2018\u2019[]"
LONGEST = 2_000


def read_question(text: str) -> Question:
    """Return what a question asks; of no known shape, a search for its words."""
    line = " ".join(text[:LONGEST].split()).strip(f"{_QUOTES[:-2]}?!. \u00bf\u00a1\uff1f\u3002")
    for command, shape in _SHAPES.items():
        match = re.fullmatch(shape, line, re.IGNORECASE)
        if match:
            subject, *since = (found.strip(_QUOTES + " ") for found in match.groups(""))
            return Question(command, subject, *since)
    return _list_asked(line) or Question(Command.DISCUSSED, line.strip(_QUOTES))


def _list_asked(line: str) -> Question | None:
    """Return the list that a question asks for in any language: it names a state, and a kind or nothing."""
    from forgekit.archives.labels import STATES, leading, lists_kind
    from forgekit.model.entities import DecisionStatus, ThreadStatus

    telling = words(line)
    for kind, state, command in (
        ("T", ThreadStatus.OPEN, Command.OPEN),
        ("D", DecisionStatus.ACTIVE, Command.STANDING),
    ):
        of_kind = {word for word in telling if lists_kind(word, kind)}
        of_state = {word for word in telling if leading(word, STATES[kind])[0] is state}
        rest = [word for word in telling if word not in of_kind | of_state]
        if of_state and (of_kind or not rest) and len(rest) <= 1:
            return Question(command, " ".join(rest))
    return None


def chosen(text: str) -> str:
    """Return a decision's text without what it was chosen over."""
    return _OVER.split(text, 1)[0]


def about(subject: str, text: str) -> bool:
    """Say whether a text is about a question's subject: it shares two telling words, or its only one.

    What something was chosen over (`Postgres over MySQL`) is not what is asked about.
    """
    wanted, there = set(_terms(chosen(subject))), set(_terms(text))
    begun = {start for term in there for start in _starts(term)}
    common = sum(term in begun or not there.isdisjoint(_starts(term)) for term in wanted)
    return 0 < needed(wanted) <= common


def _terms(text: str) -> Iterable[str]:
    """Return stems, and of a script that sets no blanks the pairs of its characters."""
    for word in words(text):
        if len(word) > 1 and wide().match(word):
            pairs = ["".join(pair) for pair in pairwise(word)]
            yield from [pair for pair in pairs if not is_grammar(pair)] or pairs
        else:
            yield stem(word)


def _starts(term: str) -> Iterable[str]:
    """Return a term and its beginnings that tell what word it is a form of."""
    return term, *(term[:end] for end in _FORM if end < len(term))
