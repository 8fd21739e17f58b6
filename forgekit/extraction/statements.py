"""One statement at a time: does it say that something is decided, or how a thread stands?

A cue alone is not enough: a question, a guess, a condition, a report of what others or older texts say, a
plan that was dropped and irony are no decisions, however they are worded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from forgekit.extraction.cues import (
    ABANDONED_LABEL,
    BLOCKED_LABEL,
    DECISION_CUES,
    OPEN_LABEL,
    RESOLVED_LABEL,
    THREAD_CUES,
)
from forgekit.extraction.find import Cue, FindKind
from forgekit.extraction.phrases import clause, lead, opening
from forgekit.extraction.sentences import Unit
from forgekit.model.transcript import Speaker


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """What one unit states, with places in the unit's text.

    Attributes:
        begin: of the title, behind `we decided to`.
    """

    kind: FindKind
    start: int
    end: int
    begin: int
    confidence: float
    why: str


_WORD = re.compile(r"[^\W_]+")
_JOINED = re.compile(r"[^\W_]+(?:['-][^\W_]+)+")
_WIDE = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]")
_UNSURE_BEFORE = re.compile(
    r"\b(?:if|whether|unless|suppose|imagine|could|would|might|may|maybe|perhaps|possibly|probably|likely"
    r"|should|ought|wonder\w*|consider(?:ing)?|think(?:ing)?|thought|guess|leaning|lean|tempted|suggest\w*"
    r"|propos\w+|recommend\w*|hypothetically|in theory|say we|assum(?:e|ing)|pretend|until|not sure|unsure"
    r"|don't know|how|why|which|asked?|need(?:s|ed)? to|ha(?:ve|s|d) to|example|e\.g|for instance|haven't"
    r"|hasn't|didn't|don't|isn't|not|nobody|no one|neither|once|when|before we|in case|as soon as|wish|hope"
    r"|hopefully|told you|pretends|ob|vielleicht|wenn|falls|k\u00f6nnte|w\u00fcrde|peut-\u00eatre|si"
    r"|pourrait|quiz\u00e1s?|tal vez|podr\u00eda)\b",
    re.IGNORECASE,
)
_UNSURE_ANYWHERE = re.compile(
    r"\b(?:tbd|what could go wrong|maybe|perhaps|possibly|probably|hypothetically|not decided|undecided"
    r"|vielleicht|peut-\u00eatre|quiz\u00e1s?|thoughts|just kidding|jk|yeah right|as if|lol|i'm joking"
    r"|or should|or shall|tentativ\w+|for example|for instance|what if|assuming|depends on|or maybe|/s"
    r"|we'll see|would be)(?!\w)|\u304b\u3082|\?\s*\Z",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:notes?|docs?|document(?:ation)?|readme|wiki|adr|comment|issue|e-?mail|article|book|paper|novel"
    r"|story|post|page|report|minutes|spec|blog|chapter|author|he|she|it|they|ticket|log|character|hero"
    r"|narrator|legend|according to)(?:'s)? (?:\w+ )?(?:says?|said|states?|stated|claims?|claimed|mentions?"
    r"|reads?|wrote|writes|tells?|records?|that)\b|\bas \w+ (?:puts?|said|wrote)"
    r"|(?<!\bi )(?<!\bwe )\b(?:says|claims|claimed|told me|told us|heard|rumou?r\w*|apparently|allegedly"
    r"|supposedly)\b",
    re.IGNORECASE,
)
_OLD = re.compile(
    r"\b(?:originally|initially|at first|back then|used to|formerly|previously|no longer the case|had"
    r"|in the old days|in (?:1[5-9]\d\d|20[01]\d)|years? ago|once upon|last year|urspr\u00fcnglich|damals"
    r"|au d\u00e9but|al principio|the old (?:plan|decision|rule))\b",
    re.IGNORECASE,
)
_UNDONE = re.compile(
    r"(?:that(?:'s| is| was) (?:history|outdated|obsolete|no longer|old|not the case|wrong|moot|reversed)"
    r"|not any ?more|we(?:'ve)? (?:since|later|then) (?:changed|reversed|dropped|abandoned|switched)"
    r"|this no longer|no longer\b|but (?:that|we|this) (?:was|changed|reversed|no longer)|just kidding"
    r"|wait,? no|never ?mind|scratch that|actually,? (?:no|wait|scratch)|or not)",
    re.IGNORECASE,
)
_OPEN_AFTER = re.compile(
    r"\b(?:or(?! (?:else|so|later|less|more|better)\b)|if|unless|provided|oder|ou)\b", re.IGNORECASE
)
_DECISION_LABEL = re.compile(
    r"(?:(?:the|our|my|final|key|main|design|architectur\w+|team|what we|so|agreed|\d+\.?|made|all|and"
    r"|locked|technical|user|important|today's|joint|current) ){0,3}(?:decisions?|decided|agreed|agreements?"
    r"|rulings?|resolutions|entscheidungen|beschl\u00fcsse|d\u00e9cisions|decisiones)(?: (?:made|taken"
    r"|reached|so far|today|log|locked in|we made|on|from|this|session|the|call"
    r"|meeting)){0,4}(?: \([^()]{0,60}\))?",
    re.IGNORECASE,
)
_ONE = re.compile(r"(?:the |our |final |open )?(?:decision|question|blocker)(?: taken| made)?", re.IGNORECASE)
_LABELS = (
    (FindKind.THREAD_OPEN, re.compile(OPEN_LABEL, re.IGNORECASE)),
    (FindKind.THREAD_BLOCKED, re.compile(BLOCKED_LABEL, re.IGNORECASE)),
    (FindKind.THREAD_RESOLVED, re.compile(RESOLVED_LABEL, re.IGNORECASE)),
    (FindKind.THREAD_ABANDONED, re.compile(ABANDONED_LABEL, re.IGNORECASE)),
)
_NOTHING = re.compile(
    r"\W*(?:none|n/?a|nothing|no (?:open|pending|outstanding|further|more)|tbd|todo|\.{3}|\u2026|all (?:done"
    r"|resolved)|keine|aucune?|ninguna?|<[^>]*>|\[[^\]]*\]|\{[^}]*\}|your \w+ here|placeholder"
    r"|lorem)\W*(?:\w+\W*)?",
    re.IGNORECASE,
)
_BLANK = re.compile(
    r"[\s:]*(?:to |on |that |the )?(?:\[[^\[\]]{0,60}\](?!\()|<[^<>]{1,60}>|\{[^{}]{1,60}\}|_{2,}|(?:X|XXX|Y"
    r"|foo|bar)\b|\.\.\.|\u2026)",
    re.IGNORECASE,
)
_PLANNED = re.compile(
    r"\b(?:i'll|i will|let me|i can|shall i|i could|want me to|would you|do you want)\b", re.IGNORECASE
)
SHORTEST_TITLE = 2


_Triggers = dict[str, list[tuple[int, Cue]]]


def _by_trigger(cues: Iterable[Cue]) -> dict[Speaker, _Triggers]:
    """Return the cues of each speaker by the words that call for them, numbered: the surest come first."""
    index: dict[Speaker, _Triggers] = {speaker: {} for speaker in Speaker}
    for number, one in enumerate(sorted(cues, key=lambda one: -one.confidence)):
        for speaker in one.said_by:
            for word in one.triggers:
                index[speaker].setdefault(word, []).append((number, one))
    return index


_DECISIONS = _by_trigger(DECISION_CUES)
_THREADS = _by_trigger(THREAD_CUES)
_TRIGGERS = {speaker: frozenset(_DECISIONS[speaker]) | frozenset(_THREADS[speaker]) for speaker in Speaker}


def stated(unit: Unit, speaker: Speaker, following: str) -> list[Stated]:
    """Return at most one decision and one thread of a unit; `following` is the next unit's text, or ""."""
    by_label = _labelled(unit)
    if by_label is not None:
        return [by_label]
    text = unit.text
    words = _words(text)
    if words.isdisjoint(_TRIGGERS[speaker]):
        return []
    shift = opening(text)
    labelled = lead(text)
    if not words.isdisjoint(_ASIDE_WORDS) and _ASIDE.search(text):
        return []
    body = text[shift:]
    decision = _first(_DECISIONS[speaker], body, words)
    if decision is None and labelled > shift:
        shift, body = labelled, text[labelled:]
        decision = _first(_DECISIONS[speaker], body, words)
        if decision is None:
            shift = opening(text)
            body = text[shift:]
    thread = _first(_THREADS[speaker], body, words)
    if decision is not None and (unit.asks or _UNDONE.match(following) or not _is_made(*decision, body)):
        decision = None
    if thread is not None and (
        (unit.asks and not thread[1].groupdict().get("head"))
        or not _is_said(*thread, body, speaker)
        or _NOTHING.match(body[thread[1].end() :])
    ):
        thread = None
    if decision is not None and thread is not None and _overlap(decision[1], thread[1]):
        if thread[0].confidence > decision[0].confidence:
            decision = None
        else:
            thread = None
    return [_made(text, shift, *one) for one in (decision, thread) if one is not None]


_ASIDE = re.compile(
    r"what could go wrong|just kidding|\bjk\b|yeah,? right|\blol\b|i'm joking|\bi joke\b|for the fun of it",
    re.IGNORECASE,
)
_ASIDE_WORDS = frozenset(("wrong", "kidding", "jk", "yeah", "lol", "joking", "joke", "fun"))


def _overlap(a: re.Match[str], b: re.Match[str]) -> bool:
    return min(a.end(), b.end()) > max(a.start(), b.start())


def _words(text: str) -> frozenset[str]:
    folded = text.casefold()
    words = set(_WORD.findall(folded))
    if "'" in folded or "-" in folded:
        words.update(_JOINED.findall(folded))
    if not folded.isascii():
        words.update(_WIDE.findall(folded))
    return frozenset(words)


def _first(cues: _Triggers, body: str, words: frozenset[str]) -> tuple[Cue, re.Match[str]] | None:
    """Return the surest cue of a statement, the earliest of equals."""
    best: tuple[Cue, re.Match[str]] | None = None
    called = dict(pair for word in words if word in cues for pair in cues[word])
    for number in sorted(called):
        one = called[number]
        if best is not None and one.confidence < best[0].confidence:
            break
        match = one.pattern.search(body)
        if match is not None and (best is None or _rank(one, match) > _rank(*best)):
            best = (one, match)
    return best


def _rank(cue: Cue, match: re.Match[str]) -> tuple[float, int, str]:
    return cue.confidence, -match.start(), cue.why


def _is_made(cue: Cue, match: re.Match[str], body: str) -> bool:
    before, after = body[: match.start()], body[match.end() :]
    if _UNSURE_BEFORE.search(before) or _OLD.search(body) or _REPORTED.search(before):
        return False
    if _UNSURE_ANYWHERE.search(body) or _NOTHING.fullmatch(after) or _BLANK.match(after):
        return False
    return not (cue.leaves_open and _OPEN_AFTER.search(after[:80]))


def _is_said(cue: Cue, match: re.Match[str], body: str, speaker: Speaker) -> bool:
    before = body[: match.start()]
    if _REPORTED.search(before) or _CONDITION.search(before):
        return False
    planned = speaker is Speaker.ASSISTANT and _PLANNED.search(before + match.group()) is not None
    return not planned and not (cue.kind is not FindKind.THREAD_OPEN and _DENIED.search(before))


_CONDITION = re.compile(
    r"\b(?:if|unless|suppose|imagine|in case|hypothetically|wenn|falls|example|wouldn't)\b", re.IGNORECASE
)
_DENIED = re.compile(
    r"\b(?:not|n't|never|isn't|aren't|until|once|when|might|could|may|would|should)\b", re.IGNORECASE
)


def _made(text: str, shift: int, cue: Cue, match: re.Match[str]) -> Stated:
    start, end = clause(text, shift + match.start(), shift + match.end())
    begin = shift + match.end("head") if match.groupdict().get("head") else start
    if len(text[begin:end].split()) < SHORTEST_TITLE and not _WIDE.search(text):
        begin = start
    return Stated(kind=cue.kind, start=start, end=end, begin=begin, confidence=cue.confidence, why=cue.why)


def _labelled(unit: Unit) -> Stated | None:
    """Read an item of `Decisions:` or `Open questions:`."""
    if not unit.label or not unit.first or not (unit.item or unit.fresh):
        return None
    start = lead(unit.text)
    kind = None
    if not unit.item and not _ONE.fullmatch(unit.label):
        return None
    if _DECISION_LABEL.fullmatch(unit.label):
        kind = FindKind.DECISION
        if unit.asks or _UNSURE_ANYWHERE.search(unit.text):
            return None
    else:
        kind = next((one for one, pattern in _LABELS if pattern.fullmatch(unit.label)), None)
    if kind is None or _NOTHING.match(unit.text) or len(_words(unit.text)) < SHORTEST_TITLE:
        return None
    begin, end = (start, len(unit.text)) if kind is FindKind.DECISION else (0, len(unit.text))
    return Stated(
        kind=kind, start=begin, end=end, begin=begin, confidence=0.8, why="an item below a label of its kind"
    )


_RECAP = re.compile(
    r"(?:ok(?:ay)?,? )?(?:so far|to recap|recap|to sum(?:mari[sz]e| up)|(?:agreed|settled|decided"
    r"|decisions)(?: so far| today)?|what we have(?: so far)?|where we are|we(?:'ve| have) (?:agreed|settled"
    r"|decided)|bisher(?: entschieden)?|jusqu'ici|hasta ahora)(?: we have| is)? ?(?:: |, (?=\w+ (?:is"
    r"|are)\b))",
    re.IGNORECASE,
)
_SURE = re.compile(r"agreed|settled|decided|decisions", re.IGNORECASE)
_CUT = re.compile(r", (?:and )?|,? and (?=\w+ (?:is|are|goes?|lives?|runs?|stays?|uses?)\b)")
_STATES = re.compile(
    r"(?:\w[\w'/-]* ){1,5}?(?:is|are|stays?|remains?|runs?|uses?|goes|go|lives?|keeps?|costs?|starts?|ends?"
    r"|happens?|will|gets?|comes?|ist|sind|bleibt|est|sont|es|son) \S",
    re.IGNORECASE,
)


def recapped(unit: Unit, *, confirmed: bool) -> list[Stated]:
    """Return the decisions that a recap lists, two at least; none where the other objects."""
    match = _RECAP.match(unit.text)
    if match is None or unit.asks or not (confirmed or _SURE.search(match.group())):
        return []
    parts: list[tuple[int, int]] = []
    place = match.end()
    for cut in [*_CUT.finditer(unit.text, place), None]:
        end = cut.start() if cut else len(unit.text.rstrip("."))
        parts.append((place, end))
        place = cut.end() if cut else end
    found = [(start, end) for start, end in parts if _STATES.match(unit.text, start, end)]
    if len(found) < 2:
        return []
    return [
        Stated(
            kind=FindKind.DECISION,
            start=start,
            end=end,
            begin=start,
            confidence=0.7,
            why="an item of a recap",
        )
        for start, end in found
    ]
