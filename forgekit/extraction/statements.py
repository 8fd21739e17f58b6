"""Read one sentence: does it state a decision, or the state of a thread, or answer the turn before it?

`CUES` and `LABELS` hold the wordings that were found right on labelled conversations; wordings that never
occurred there, or were mostly wrong, are left out. A cue alone is not enough: a question, a guess, a
condition or a report of somebody else's words is no decision, however it is worded.

A reply accepts the assistant's proposal, or picks one of its options. It is short, and its title comes from
the turn before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from forgekit.extraction.sentences import Sentence, offsets, sentences, verbatim
from forgekit.model.entities import Proposal
from forgekit.model.transcript import Speaker

DECISION = Proposal.DECISION
OPEN = Proposal.THREAD_OPEN
RESOLVED = Proposal.THREAD_RESOLVED


class Cue(NamedTuple):
    """One wording; a sentence without any of the strings that it needs is skipped, which is fast.

    The group `head` of the pattern, if it matched, is left out of the title.
    """

    kind: Proposal
    why: str
    confidence: float
    needs: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Find:
    """A candidate, with its place.

    Attributes:
        turn: number of the turn; 0 before it is known.
        start: index of its first character in that turn's text.
        end: index after its last one.
        text: the turn's text between the two, verbatim.
        title: one clean line.
        rationale: the reason, "" if none is given.
        alternatives: what was not chosen.
        explicit_id: `D001` or `T001`, where the text gives it one.
        confidence: 0 to 1; 1 for explicit records only.
        why: the rule that found it.
    """

    kind: Proposal
    turn: int = 0
    start: int
    end: int
    text: str
    title: str
    rationale: str = ""
    alternatives: tuple[str, ...] = ()
    explicit_id: str = ""
    confidence: float
    why: str


def find(
    kind: Proposal,
    start: int,
    text: str,
    why: str,
    *,
    rationale: str,
    title: str = "",
    others: tuple[str, ...] | None = None,
    confidence: float = 0.8,
) -> Find:
    """Return a find; without a title and alternatives of its own it has those of its text."""
    return Find(
        kind=kind,
        start=start,
        end=start + len(text),
        text=text,
        title=one_line(title or text),
        rationale=rationale,
        alternatives=alternatives(text) if others is None else others,
        confidence=confidence,
        why=why,
    )


class _Stated(NamedTuple):
    """What a sentence states, with places in the sentence's text; the title begins behind `we decided to`."""

    kind: Proposal
    start: int
    end: int
    title: int
    cue: tuple[int, int]
    confidence: float
    why: str


def _table(text: str) -> tuple[Cue, ...]:
    """Read cues: a line `kind | why | confidence | needs`, and the lines of the pattern, indented."""
    blocks = re.findall(r"^(\w+) \| (.+) \| (.+) \| (.+)\n((?:    .+\n)+)", text, re.MULTILINE)
    return tuple(
        Cue(
            Proposal(kind),
            why,
            float(share),
            tuple(needs.split()),
            re.compile("".join(line[4:] for line in pattern.splitlines()), re.IGNORECASE),
        )
        for kind, why, share, needs, pattern in blocks
    )


CUES = _table(
    r"""
decision | stated as decided | 0.9 | decided agreed
    (?P<head>\b(?:it was|(?:we|i)(?:'ve| have)?(?: both| finally| also)?) (?:decided|agreed) (?:to|that|on) )
    (?!(?:move on|continue|wait|look|check|try|see|take)\b)
decision | stated as chosen | 0.85 | decided chose settled
    \b(?:we|i)(?:'ve| have)? (?:chose(?! \w+ly\b)|settled on|decided (?:for|against|not to))\b
decision | stated as decided, in another language | 0.8 | entschieden beschlossen décidé decid 決 决
    \b(?:entschieden|beschlossen|décidé|decidimos|(?:hemos|ha|he) decidido)\b
    |決め(?:ました|た)|决定|決定
thread_open | stated as open | 0.8 | open un decided
    (?:\b(?:is|are|remains?|stays?)|'s) (?:still )?(?:open[.!]?\Z|unresolved|undecided|unanswered
    |unclear|to be decided)
thread_open | still to be decided or found | 0.7 | still
    \bwe still (?:(?:need|have) to (?:work out|decide|figure out|settle|clarify|agree|choose|find)|have no)\b
thread_open | put off | 0.65 | deferred postponed let's
    \b(?:deferred|postponed) (?:to|until) (?:a |the )?(?:later|next|future|PR\b|v\d|[A-Z]{2,6}-\d+)
    |\blet's (?:pick|come back|return|revisit|park|discuss)\b.{0,40} (?:up|to|later|tomorrow|next|in the)\b
thread_blocked | stated as blocked | 0.75 | hold blocked
    \b(?:is|are|stays?|now) (?:still )?(?:on hold|blocked (?:on|until))\b
thread_resolved | stated as settled | 0.8 | settled resolved closed solved answered fixed
    \b(?:T\d{3,4}|(?:question|issue|thread|ticket|point|problem|bug)s?)
    (?: (?:of|about|with|on) [^,.:;]{1,60}?)? (?:is|are|was|has been) (?:now |finally )?
    (?:settled|resolved|closed|solved|answered|fixed)\b
thread_abandoned | given up | 0.7 | obsolete moot abandoned shelved gave
    \bmakes (?:[^,.:;]{1,60} )?(?:obsolete|moot)\b|\b(?:was|were|is|are) (?:abandoned|shelved)\b
    |\b(?:i|we)(?:'ve| have)? (?:abandoned|shelved|gave up on)\b
"""
)
USER_CUES = _table(
    r"""
decision | let's, and a verb of choosing | 0.75 | let's
    (?P<head>\blet's (?:(?:just|instead|also|rather|only|always) ){0,2})(?:go (?:with|for)|use|keep|stick with
    |drop|switch to|skip|limit|replace|leave|(?:make|call)(?: it| them)?|pick|take|set|move to|store|not)\b
    (?! (?:me|you|us|it|that|this|these|those|\w+ing|a look)\b)
decision | going with one | 0.75 | go stick stay
    \b(?:we|i)(?:'re|'ll| are| will)? (?:go|going|stick|sticking|stay|staying) (?:with|for|back to)\b
    (?! (?:me|you|us|it|that|this|these|those)\b)
decision | a change under way | 0.7 | ing
    \b(?:we|i)(?:'re|'m| are| am) (?:now )?(?:moving|switching|migrating|dropping|keeping|replacing
    |cancelling)\b(?! (?:on|to the next)\b)
decision | one of them it is | 0.75 | is
    \A[A-Z\d][^,.:]{1,60} it is\b(?= then|[.!]|\Z)
decision | only this one | 0.6 | only
    \A[\w.'-]+(?: [\w.'-]+){0,2} only(?=[.,!]|\Z)
decision | rules one thing out | 0.6 | no
    \Ano (?:more )?(?!(?:idea|problem|worries|thanks|way|need|one|doubt|rush|i|we|you|it|that|this|the)\b)
    \w[\w'-]*(?: [^,.!?]{1,40})?[.!]?\Z
decision | a person takes or drops one | 0.6 | go stick switch scrap ditch drop
    \A(?:please |just )?(?:go (?:with|for)|stick (?:with|to)|switch to|scrap|ditch|drop)\b
    (?! (?:me|you|us|it|that|this|these|those)\b)(?= .{5,80}\Z)
decision | one thing rather than another | 0.7 | rather instead
    \bwe (?:only )?(?:use|keep|store|send|write|run|ship|build|pay|return)\b.{1,120}?
     (?:rather than|instead of)[ ]
decision | a rule for all | 0.6 | must need get
    \A(?:all|every|each|any) [\w' -]{2,60}? (?:must|needs?|gets?)\b
thread_open | nobody knows yet | 0.75 | yet know
    \b(?:i|we) (?:(?:do|have)n't|do not|have not) (?:know|decided?|agreed|settled) yet\b
    |\b(?:i|we) still (?:don't|do not) know\b
thread_blocked | nothing can be done until | 0.7 | until
    \b(?:can't|cannot|nothing can) (?:\w+ ){1,8}until\b
"""
)
"""Wordings that count only in a person's turn."""

_ADJECTIVE = r"(?:(?:the|our|key|main|final|design|architecture|team|remaining|other|agreed|still) ){0,3}"
LABELS = {
    DECISION: rf"{_ADJECTIVE}(?:decisions?|decided|agreed|agreements?|so far|rulings?|entscheidungen)"
    r"(?: (?:made|so far|taken))?",
    OPEN: rf"{_ADJECTIVE}(?:open(?: (?:questions?|points?|issues?|threads?|items?))?|unresolved|undecided"
    r"|noch offen)",
    RESOLVED: r"(?:resolved|settled|fixed)(?: (?:questions?|issues?|threads?|points?))?",
}
"""Headings, and lines that end in a colon, above a list of one kind; also at the beginning of a sentence."""
_LABELS = {kind: re.compile(label, re.IGNORECASE) for kind, label in LABELS.items()}
_INLINE = {
    kind: Cue(
        kind,
        "labelled as such",
        0.8,
        (":",),
        re.compile(rf"\A(?P<head>(?:{label}): ?)(?=\S)", re.IGNORECASE),
    )
    for kind, label in LABELS.items()
}
_ONE = re.compile(r"(?:the |our |final )?decision", re.IGNORECASE)
_COMMA = re.compile(r", (?:and )?")
_CUES_OF = {
    Speaker.USER: (*_INLINE.values(), *CUES, *USER_CUES),
    Speaker.ASSISTANT: (*_INLINE.values(), *CUES),
}

_REPORT = (
    r"says?|said|states?|claims?|claimed|wrote|writes|tells?|told|heard|apparently|allegedly|according to"
)
_CONDITION = r"if|unless|suppose|imagine|in case|wenn|falls|example"
_UNSURE_BEFORE = re.compile(
    rf"\b(?:{_REPORT}|{_CONDITION}|whether|could|would|might|may|should|wonder|consider|think|thought|lean\w*"
    r"|suggest|propose|recommend|until|sure|how|why|which|need to|have to|not|\w+n't|nobody|never|once|when"
    r"|before|wish|hope|originally|initially|at first|formerly|previously|had)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|hypothetically|vielleicht|peut-\u00eatre|quiz\u00e1s?|tbd"
    r"|what could go wrong|kidding|for example|what if|assuming|depends on)\b|\?\s*\Z",
    re.IGNORECASE,
)
_WITHDRAWN = re.compile(
    r"scratch that|never ?mind|wait,? no|that(?:'s| is| was) (?:history|outdated|reversed|wrong)",
    re.IGNORECASE,
)
_THREAD_UNSURE_BEFORE = re.compile(rf"\b(?:{_REPORT}|{_CONDITION})\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"\W*(?:none|n/?a|nothing|tbd|todo|\.{3}|\u2026|<[^>]*>|\[[^\]]*\]|\{[^}]*\}|[XY]\b)", re.IGNORECASE
)

_LEAD = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yep|yeah|no|so|well|right|great|good|fine|actually|and|then|also|sure|agreed|noted"
    r"|understood|got it|thanks|anyway|but|aber|mais|pero|i changed my mind)"
    r"(?:[,.:!]+| [\u2014\u2013-]| (?=let's|we |i )) ?){1,4}",
    re.IGNORECASE,
)
_INTRODUCED = re.compile(r"\w[\w' ]{1,40}: (?=\S)")
_REASON = re.compile(
    r",? ?(?:\(|[\u2014\u2013-] )?\b(?:because(?: of)?|since(?! (?:\d|last|then|we started))|so that|due to"
    r"|given that|in order to|weil|parce qu[e']|porque)\b ?",
    re.IGNORECASE,
)
_REASON_NEXT = re.compile(r"(?:because|(?:the )?reason(?: is|:)|rationale:|why:|weil)[ ,]*", re.IGNORECASE)
_CLAUSE_END = re.compile(
    rf"{_REASON.pattern}| (?:[\u2014\u2013]|--?) |,? and not |, (?:not|nicht|pas|so|which|then|please) "
    r"|, (?=(?:i|we) (?:don't|can't|have no)\b|[^,.]{1,40} (?:ist|is|are|was) (?:too|zu|trop|much)\b)",
    re.IGNORECASE,
)
_REJECTED = re.compile(
    r"(?:\b(?:instead of|rather than|anstatt|statt|en lugar de|au lieu d[e'])"
    r"|\b(?:chose|picked|prefer|go(?:ing)? with|use|take) .{1,120}? over"
    r"|, (?:and )?not(?! (?:sure|yet|only|just)\b)) ?"
    r"(?P<name>.{2,100}?)(?=[,;:()!?]|\.(?:\s|\Z)| [\u2014\u2013-] |\Z"
    r"| (?:because|since|so|to|for|when|as|which|that|but|and then|is|are|we|i)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]{2,40}")
_THIN = frozenset(
    _WORD.findall(
        "the and for with that this then let lets we ve ll re it is are be will go going use using to of in"
        " on at our my your you yes no ok okay do so as an by or not decided chose agreed understood got have"
        " has from instead rather than over option one them they its all now just also please thanks thank"
    )
)
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
TITLE = 200


def finds_of(message: str, own: Sequence[Sentence], speaker: Speaker, before: str) -> Iterator[Find]:
    """Yield what the sentences of a message state, in order.

    Args:
        message: the text of a turn.
        own: its sentences.
        speaker: of the turn.
        before: the assistant's turn that this one may answer, "" for none.
    """
    for number, sentence in enumerate(own):
        following = own[number + 1].text if number + 1 < len(own) else ""
        stated = _stated_in(sentence, speaker, following)
        if before and not number:
            decides = any(one.kind is DECISION for one in stated)
            if (reply := _reply(message, sentence, before, following, decides=decides)) is not None:
                yield reply
                continue
        places = offsets(sentence) if stated else ()
        for one in stated:
            words = verbatim(message, places) if one.kind is DECISION else ""
            start, end = places[one.start], places[one.end - 1] + 1
            yield find(
                one.kind,
                start,
                message[start:end],
                one.why,
                title=message[places[min(one.title, one.end - 1)] : end],
                rationale=reason(words, one.end - 1, following) if words else "",
                others=alternatives(words),
                confidence=one.confidence,
            )


def _stated_in(sentence: Sentence, speaker: Speaker, following: str) -> list[_Stated]:
    """Return at most one decision and one thread that a sentence states, or the decisions that it lists.

    `following` is the text of the next sentence, which may withdraw a decision.
    """
    if labelled := _under_label(sentence) or _listed(sentence):
        return labelled
    text = sentence.text
    folded = text.casefold()
    cues = [cue for cue in _CUES_OF[speaker] if any(word in folded for word in cue.needs)]
    found: dict[bool, _Stated] = {}
    for shift in dict.fromkeys((_opening(text), _lead(text))) if cues else ():
        body = text[shift:]
        for cue in cues:
            decides = cue.kind is DECISION
            match = cue.pattern.search(body) if decides not in found else None
            if match is not None and _is_stated(decides, match, body, sentence):
                at = shift + match.start(), shift + match.end()
                start, end = _clause(text, *at)
                title = shift + match.end("head") if match.groupdict().get("head") else start
                found[decides] = _Stated(cue.kind, start, end, title, at, cue.confidence, cue.why)
    if _WITHDRAWN.match(following):
        found.pop(True, None)
    decision, thread = found.get(True), found.get(False)
    if decision and thread and max(decision.cue[0], thread.cue[0]) < min(decision.cue[1], thread.cue[1]):
        return [max(decision, thread, key=lambda one: one.confidence)]
    return list(found.values())


def _is_stated(decides: bool, match: re.Match[str], body: str, sentence: Sentence) -> bool:
    before, after = body[: match.start()], body[match.end() :]
    if _PLACEHOLDER.match(after):
        return False
    if decides:
        return not (sentence.asks or _UNSURE_BEFORE.search(before) or _UNSURE.search(body))
    asked = sentence.asks and not match.groupdict().get("head")
    return not (asked or _THREAD_UNSURE_BEFORE.search(before))


def _under_label(sentence: Sentence) -> list[_Stated]:
    """Read an item below `Decisions:` or `Open questions:`, or the paragraph below `## Decision`."""
    single = sentence.fresh and _ONE.fullmatch(sentence.label)
    if not (sentence.first and (sentence.item or single)) or _PLACEHOLDER.match(sentence.text):
        return []
    kind = next((kind for kind, label in _LABELS.items() if label.fullmatch(sentence.label)), None)
    if kind is None or len(sentence.text.split()) < 2:
        return []
    if kind is DECISION and (sentence.asks or _UNSURE.search(sentence.text)):
        return []
    return [_labelled(kind, 0, len(sentence.text))]


def _listed(sentence: Sentence) -> list[_Stated]:
    """Read `So far: storage is Markdown, ids are UUIDs`: a list of clauses behind a label."""
    text = sentence.text.rstrip(".")
    label = _INLINE[DECISION].pattern.match(text)
    if label is None or sentence.asks:
        return []
    commas = list(_COMMA.finditer(text, label.end()))
    starts = [label.end(), *(comma.end() for comma in commas)]
    ends = [*(comma.start() for comma in commas), len(text)]
    clauses = all(len(text[a:b].split()) >= 3 for a, b in zip(starts, ends, strict=True))
    if not commas or not clauses:
        return []
    return [_labelled(DECISION, a, b) for a, b in zip(starts, ends, strict=True)]


def _labelled(kind: Proposal, start: int, end: int) -> _Stated:
    return _Stated(kind, start, end, start, (start, end), 0.8, "an item below a label of its kind")


def _opening(text: str) -> int:
    match = _LEAD.match(text)
    return match.end() if match and match.end() < len(text) else 0


def _lead(text: str) -> int:
    """Return where a sentence begins, behind `ok, so` and `Summary of today:`."""
    start = 0
    for pattern in (_LEAD, _INTRODUCED, _LEAD):
        if (match := pattern.match(text, start)) and match.end() < len(text):
            start = match.end()
    return start


def _clause(text: str, cue_start: int, cue_end: int) -> tuple[int, int]:
    """Return start and end of the clause that holds a cue, without its reason."""
    start = min(_opening(text), cue_start)
    if (comma := max(text.rfind(mark, start, cue_start) for mark in (", ", ": ", " ("))) > 0:
        start = comma + 2
        start += _opening(text[start:cue_start])
    match = _CLAUSE_END.search(text, cue_end)
    if match is None or (match.start() <= cue_end + 1 and match.start() - start <= 8):
        return start, len(text)
    return start, match.start()


def reason(text: str, after: int, following: str) -> str:
    """Return the reason given in a sentence, or at the beginning of the next one."""
    match = _REASON.search(text, after)
    rest = text[match.end() :] if match is not None else ""
    if not rest and (match := _REASON_NEXT.match(following)) is not None:
        rest = following[match.end() :]
    return rest.strip(" .)!")[:300]


def alternatives(text: str) -> tuple[str, ...]:
    """Return the alternatives that a sentence rejects."""
    match = _REJECTED.search(text)
    names = re.split(r" (?:or|nor|oder|ou) ", match["name"].strip(" .,*_\"'`")) if match else ()
    return tuple(one for one in names if len(one) > 1)


def one_line(text: str) -> str:
    """Return a title: one line, no emphasis, first letter upper case, cut at a word."""
    line = " ".join(text.replace("**", "").replace("__", "").split()).strip(" .,;:-\u2013\u2014*")
    if line.endswith(")") and "(" not in line:
        line = line[:-1]
    if len(line) > TITLE:
        line = line[: TITLE - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "\u2026"
    return line[:1].upper() + line[1:]


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text that carry meaning, folded."""
    words = _WORD.findall(text.casefold())
    return frozenset(word.rstrip("s") for word in words if word not in _THIN and not word.isdigit())


def _reply(message: str, first: Sentence, before: str, following: str, *, decides: bool) -> Find | None:
    """Read the first sentence of a user's turn as a reply to the assistant's turn before it.

    Where it decides something in words of its own, these are better than that it only agrees.
    """
    if first.asks or len(first.text.split()) > SHORT:
        return None
    text = first.text
    yes = _YES.match(text)
    at = yes.end() if yes else _lead(text)
    found = _picked(text, at, before)
    if found is None:
        proposed = list(sentences(before))[-LATELY:]
        found = _named(text, at, proposed)
        if found is None and not decides:
            found = _agreed(text, yes.end() if yes else 0, before, proposed)
    if found is None:
        return None
    places = offsets(first)
    end = min(found.end, len(places))
    start = places[found.start]
    return find(
        DECISION,
        start,
        message[start : places[end - 1] + 1],
        found.why,
        title=found.title,
        rationale=reason(text, end, following),
        others=found.others or alternatives(text),
        confidence=0.75,
    )


class _Reply(NamedTuple):
    """The words of a sentence that decide; the title is what was proposed, or the option that was picked."""

    start: int
    end: int
    title: str
    why: str
    others: tuple[str, ...] = ()


def _picked(text: str, at: int, before: str) -> _Reply | None:
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
    others = tuple(value for name, value in options.items() if name != key)
    return _Reply(0, match.end(), options[key], "a person picks an option of the turn before", others)


def _options(text: str) -> dict[str, str]:
    """Return the last run of lettered or numbered options of a message, if there are two at least."""
    found: dict[str, str] = {}
    for match in _OPTION.finditer(text[-8_000:]):
        name = match["name"].upper()
        if name in {"A", "1"}:
            found = {}
        found[name] = match["text"].strip(" *_.,;")
    return found if len(found) >= 2 else {}


def _named(text: str, at: int, proposed: Sequence[Sentence]) -> _Reply | None:
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
    return _Reply(at, end, text[at:end], "a person names one of two that the other asked for")


def _agreed(text: str, rest_at: int, before: str, proposed: Sequence[Sentence]) -> _Reply | None:
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
    title = title[match.end() if match else _lead(title) :].rstrip(" ?.!")
    if len(content_words(title)) < 3:
        return None
    return _Reply(0, len(text), title, "a person agrees to what the other proposed")


def _proposes(sentence: Sentence) -> bool:
    return _PROPOSAL.search(sentence.text) is not None and not _ERRAND.search(sentence.text)
