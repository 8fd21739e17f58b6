"""The words of a find: where its clause begins and ends, its title, its reason, what was not taken."""

from __future__ import annotations

import re

TITLE = 200

_LEAD = re.compile(
    r"(?:(?:yeah|yep|yup|yes|okay|ok) |(?:ok|okay|okey|yes|yep|yeah|yup|no|nope|so|well|alright|all right"
    r"|right|great|good|fine|cool"
    r"|perfect|nice|actually|hmm+|and|then|also|sure|agreed|understood|got it|just to be clear|to be clear"
    r"|fyi|btw|by the way|quick update|update|note|for the record|thanks|thank you|anyway|look|listen|now"
    r"|in short|oh|ah|ja|gut|also|oui|s\u00ed|bueno|but|aber|mais|pero|though|i changed my mind"
    r"|on second thought|after all|honestly|news|correction)(?:[,.:!]+| [\u2014\u2013-]| (?=let's|we "
    r"|i )) ?){1,4}",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\w[\w' ]{1,40}: (?=\S)")
_REASON = re.compile(
    r",? ?(?:\(|[\u2014\u2013-] )?\b(?:because(?: of)?\b|since\b(?! (?:\d|last|then|yesterday"
    r"|the (?:beginning|start)|we started))|so that\b|as (?=(?:it|we|they|that|this|nobody|there|he|she) )"
    r"|due to\b|given that\b|the reason (?:being|is)\b|in order to\b|to (?=(?:avoid|save|reduce|keep|prevent"
    r"|make sure|cut|ensure|stay|simplify|protect|lower)\b)|weil\b|da (?=(?:wir|es|die|der|das|sie) )"
    r"|damit\b|denn\b|parce qu[e']|car\b|puisque\b|pour (?=\w+er\b)|porque\b|ya que\b|para que\b"
    r"|perch\u00e9\b|omdat\b)[ ]?",
    re.IGNORECASE,
)
_SPLICE = re.compile(
    r", (?=(?:[^,.]{1,50} (?:is|are|was|were|ist|sind|war|est|sont|es|son|costs?|takes?|has"
    r"|have) (?:\w+ )?(?:too|much|way|far|zu|viel|trop|demasiado|more|less|cheaper|faster|simpler|easier"
    r"|slower|expensive|enough|no|overkill|not worth)\b|(?:i|we) (?:don't want|do not want|can't|cannot|hate"
    r"|have no)\b))",
    re.IGNORECASE,
)
_NOT = re.compile(
    r",? (?:and )?not (?!sure|yet|only|just|really|because|to\b|be\b|un|that\b)|, nicht |, pas |, no ",
    re.IGNORECASE,
)
_DASH = re.compile(r" (?:[\u2014\u2013]|--?) ")
_THEN = re.compile(
    r", (?=(?:so|which|then|and then|please|can you|could you|and please|and (?:let me|we can|i can|you can)"
    r"|let me|add|thanks|ok|right)\b)",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\b(?:instead of|rather than|as opposed to|in place of|statt|anstatt|anstelle von|plut\u00f4t qu[e']"
    r"|au lieu d[e']|en lugar de|en vez de)\s?(.{2,120})|\b(?:chose|chosen|picked|prefer(?:red)?|selected"
    r"|favou?r(?:ed)?|go(?:ing)? with|went with|opted for|use|take|pick) .{1,120}? over (.{2,120})|(?:,"
    r"|\() ?(?:and )?not (?!sure|yet|only|just|because|to\b|that\b)(.{2,100})|\b(?:decided against|ruled out"
    r"|forget(?: about)?|rejected|ditch(?:ing)?|vetoed) (.{2,100})",
    re.IGNORECASE,
)
_NAME_END = re.compile(
    r"[,;:()\[\].!?](?=\s|\Z)| [\u2014\u2013-] | (?:because|since|so|to|for|in order|when|as|which|that|due"
    r"|after|until|while|but|and then|from|has|have|is|are|was|were|we|i)\b",
    re.IGNORECASE,
)
_WHY_NEXT = re.compile(
    r"(?:because|(?:the |main |our )?reasons?(?: is| are|:)|rationale:|why:|that way|this way|otherwise"
    r"|it'?s (?:simpler|cheaper|faster|easier|safer)|weil|grund:|this (?:keeps|avoids|means|gives|lets|saves"
    r"|makes))[ ,]*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]{2,40}")


def opening(text: str) -> int:
    """Return where a statement begins, behind `ok, so`."""
    match = _LEAD.match(text)
    return match.end() if match and match.end() < len(text) else 0


def lead(text: str) -> int:
    """Return where a statement begins, behind `ok, so` and `Summary of today:`."""
    start = 0
    for pattern in (_LEAD, _LABEL, _LEAD):
        if (match := pattern.match(text, start)) and match.end() < len(text):
            start = match.end()
    return start


def clause(text: str, begin: int, cue_end: int) -> tuple[int, int]:
    """Return start and end of the clause that holds a cue: without its reason, and without `, not Y`."""
    start = lead(text)
    if start > begin:
        start = min(opening(text), begin)
    head = text[start:begin]
    if (comma := max(head.rfind(", "), head.rfind(": "), head.rfind(" ("))) > 0:
        start += comma + 2
        if (match := _LEAD.match(text, start)) and match.end() <= begin:
            start = match.end()
    end = len(text)
    for pattern in (_REASON, _SPLICE, _NOT, _DASH, _THEN):
        match = pattern.search(text, cue_end)
        if match is not None and (match.start() - cue_end > 1 or match.start() - start > 12):
            end = min(end, match.start())
    if (closing := text.find(")", start, end)) >= 0 and "(" not in text[start:closing]:
        end = max(closing, cue_end)
    return start, max(end, min(len(text), cue_end + 1))


def reason(text: str, after: int, following: str) -> str:
    """Return the reason that stands in a statement, or at the beginning of the next one."""
    for pattern in (_REASON, _SPLICE, _DASH):
        match = pattern.search(text, after)
        if match is not None and len(text) - match.end() >= 4:
            return text[match.end() :].strip(" .)!")[:300]
    if (match := _WHY_NEXT.match(following)) is not None:
        rest = (
            following
            if match.group().casefold().startswith(("this", "that", "it", "otherwise"))
            else following[match.end() :]
        )
        return rest.strip(" .!")[:300]
    return ""


def alternatives(text: str) -> tuple[str, ...]:
    """Return what a statement says was not taken."""
    match = _OTHER.search(text)
    if match is None:
        return ()
    rest = next(group for group in match.groups() if group is not None)
    end = _NAME_END.search(rest)
    name = (rest[: end.start()] if end else rest).strip(" .,!*_\"'`")
    return tuple(one for one in re.split(r" (?:or|nor|oder|ou) ", name) if 1 < len(one) <= 100)


def one_line(text: str) -> str:
    """Return a title: one line, no emphasis, first letter large, cut at a word."""
    line = " ".join(text.replace("**", "").replace("__", "").split()).strip(" .,;:-\u2013\u2014*")
    if line.endswith(")") and "(" not in line:
        line = line[:-1]
    if len(line) > TITLE:
        line = line[: TITLE - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "\u2026"
    return line[:1].upper() + line[1:]


def substance(text: str) -> frozenset[str]:
    """Return the words of a text that carry meaning, folded."""
    return frozenset(
        word.rstrip("s")
        for word in _WORD.findall(text.casefold())
        if word not in _THIN and not word.isdigit()
    )


_THIN = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "that",
        "this",
        "then",
        "let",
        "lets",
        "we",
        "ve",
        "ll",
        "re",
        "it",
        "is",
        "are",
        "be",
        "will",
        "go",
        "going",
        "use",
        "using",
        "to",
        "of",
        "in",
        "on",
        "at",
        "our",
        "my",
        "your",
        "you",
        "yes",
        "no",
        "ok",
        "okay",
        "do",
        "so",
        "as",
        "an",
        "by",
        "or",
        "not",
        "decided",
        "chose",
        "agreed",
        "understood",
        "got",
        "have",
        "has",
        "from",
        "instead",
        "rather",
        "than",
        "over",
        "option",
        "one",
        "them",
        "they",
        "its",
        "all",
        "now",
        "just",
        "also",
        "so",
        "please",
        "thanks",
        "thank",
    ]
)
