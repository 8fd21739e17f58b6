"""Read one sentence: does it state a decision, or the state of a thread?

`CUES` and `LABELS` hold the wordings that were found right on labelled conversations; wordings that never
occurred there, or were mostly wrong, are left out. A cue alone is not enough: a question, a guess, a
condition or a report of somebody else's words is no decision, however it is worded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from forgekit.extraction.sentences import Sentence
from forgekit.model.entities import Proposal
from forgekit.model.transcript import Speaker

DECISION = Proposal.DECISION
OPEN = Proposal.THREAD_OPEN
RESOLVED = Proposal.THREAD_RESOLVED


@dataclass(frozen=True, slots=True)
class Cue:
    """One wording.

    Attributes:
        needs: a sentence without any of these strings is skipped, which is fast.
        pattern: its group `head`, if it matched, is left out of the title.
    """

    kind: Proposal
    why: str
    confidence: float
    needs: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """What one sentence states, with places in the sentence's text.

    Attributes:
        title: where the title begins, behind `we decided to`.
        cue: start and end of the cue.
    """

    kind: Proposal
    start: int
    end: int
    title: int
    cue: tuple[int, int]
    confidence: float
    why: str


def _cue(kind: Proposal, why: str, confidence: float, needs: str, pattern: str) -> Cue:
    return Cue(kind, why, confidence, tuple(needs.split()), re.compile(pattern, re.IGNORECASE))


def _table(text: str) -> tuple[Cue, ...]:
    """Read cues: a line `kind | why | confidence | needs`, and the lines of the pattern, indented."""
    blocks = re.findall(r"^(\w+) \| (.+) \| (.+) \| (.+)\n((?:    .+\n)+)", text, re.MULTILINE)
    return tuple(
        _cue(Proposal(kind), why, float(share), needs, "".join(line[4:] for line in pattern.splitlines()))
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
    kind: _cue(kind, "labelled as such", 0.8, ":", rf"\A(?P<head>(?:{label}): ?)(?=\S)")
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
TITLE = 200


def statements_of(sentence: Sentence, speaker: Speaker, following: str) -> list[Statement]:
    """Return at most one decision and one thread that a sentence states, or the decisions that it lists.

    `following` is the text of the next sentence, which may withdraw a decision.
    """
    if labelled := _under_label(sentence) or _listed(sentence):
        return labelled
    text = sentence.text
    folded = text.casefold()
    cues = [cue for cue in _CUES_OF[speaker] if any(word in folded for word in cue.needs)]
    found: dict[bool, Statement] = {}
    for shift in dict.fromkeys((_opening(text), lead(text))) if cues else ():
        body = text[shift:]
        for cue in cues:
            decides = cue.kind is DECISION
            match = cue.pattern.search(body) if decides not in found else None
            if match is not None and _is_stated(decides, match, body, sentence):
                found[decides] = _statement(text, shift, cue, match)
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


def _statement(text: str, shift: int, cue: Cue, match: re.Match[str]) -> Statement:
    start, end = _clause(text, shift + match.start(), shift + match.end())
    return Statement(
        kind=cue.kind,
        start=start,
        end=end,
        title=shift + match.end("head") if match.groupdict().get("head") else start,
        cue=(shift + match.start(), shift + match.end()),
        confidence=cue.confidence,
        why=cue.why,
    )


def _under_label(sentence: Sentence) -> list[Statement]:
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


def _listed(sentence: Sentence) -> list[Statement]:
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


def _labelled(kind: Proposal, start: int, end: int) -> Statement:
    why = "an item below a label of its kind"
    return Statement(kind=kind, start=start, end=end, title=start, cue=(start, end), confidence=0.8, why=why)


def _opening(text: str) -> int:
    match = _LEAD.match(text)
    return match.end() if match and match.end() < len(text) else 0


def lead(text: str) -> int:
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
