"""Decisions of a compaction summary: choices that it states as made, by the user or the assistant.

Three ways of stating count: under a label (`Decision:`, `Key decisions:`), by a verb of choosing
(`decided to`, `chose X over Y`, `user agreed`), and by naming what was not taken (`use X instead of Y`).
Questions, proposals, options and descriptions of faults do not. Every pattern is linear: what repeats is
bounded, and sentences are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forgekit.text.archive.summary_outline import Node, Role, one_line, plain

MOST = 200
LONGEST_SENTENCE = 1_000
SAME = 0.7


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """A stated choice.

    Attributes:
        text: one line.
        context: the full statement, or what it stands under; "" where the text says it all.
        alternatives: what was not taken, where the sentence names it.
    """

    line: int
    text: str
    context: str = ""
    rationale: str = ""
    alternatives: tuple[str, ...] = ()


_LABEL = re.compile(
    r"(?:^|[—\u2013-] )(?P<before>(?:[\w&/'\u2019-]{1,20} ){0,3})(?:decisions?|"
    r"choices?)(?: (?:made|taken|so far))?"
    r"(?: \([^()]{0,60}\))?:(?: |$)",
    re.IGNORECASE,
)
_NOT_MADE = re.compile(
    r"no|not|pending|open|future|next|outstanding|remaining|undecided|possible|unresolved|"
    r"needed"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”\u2019)]? (?=[A-Z`\"“])")
_LEAD = re.compile(r"[A-Z][\w /'\u2019-]{0,40}(?: #?\d{1,3})?: (?=\S)")
_FAULT_LEAD = re.compile(
    r"(?:\w+ ){0,3}(?:error|cause|bug|issue|problem|example|original|before|old|symptom|"
    r"question|status|initial|option|todo|"
    r"suggestion|proposal|alternative|test)s?\b",
    re.IGNORECASE,
)

_CHOSE = re.compile(
    r"\bdecided (?:to(?! (?:move on|continue|proceed|wait|look|investigate|check|start|"
    r"stop here|try))|on|that|against|not|"
    r"in favou?r of)\b"
    r"|\b(?:chose|opted (?:for|to)|settled on|went with|ruled out)\b(?! (?:to (?:move on|"
    r"continue)|wrong|badly))"
    r"|\blet['\u2019]s go with\b(?! (?:me|you|us|it|that|this)\b)"
    r"|\b(?:we|user|team|both|everyone|they|client|customer|reviewer|owner) (?:\w+ly |"
    r"then |later |also |finally )?"
    r"(?:have |has )?(?:agreed|approved|vetoed|preferred|prefers)\b"
    r"|\b(?:user|team|client|customer|reviewer|owner) (?:\w+ly |then |later |also |"
    r"finally )?(?:has )?(?:accepted|rejected)\b"
    r"(?! saying)(?! (?:the |this |my )?(?:tool|git|bash|edit|command|comment|write|push|"
    r"commit)\b(?! saying))"
    r"|\b[Uu]ser (?:\w+ly |then |later )?(?:said|told \w+|asked|wants|wanted|"
    r"insisted) (?:not to|to not|to keep|to revert)\b"
    r"|\b(?:it|this) was (?:decided|agreed)\b",
    re.IGNORECASE,
)
_APPROVED = re.compile(
    r"\(\s?(?:per )?(?:the )?user(?:['\u2019]s)?(?:: [\"“](?:yes|yeah|ok|okay|sure|agreed|"
    r"do|go)\b| (?:agreed|approved|choice|"
    r"preference|decision|preferred|chose)\b)"
    r"|[—\u2013-] user (?:preference|choice|decision)\b"
    r"|\buser said [\"“](?:yes|agreed|ok|okay)[\"”.!,]",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:ask(?:ed|s|ing)? (?:if|whether|why|how|about|which|what|for)|whether|why|how|"
    r"wonder\w*|could|might|may|would|"
    r"suggest(?:ed|s|ing|ion)?|propos(?:e|es|ing|al)|recommend(?:s|ing)?|considering|if we|"
    r"should we|(?:what|which) we|"
    r"needs? to|has to|have to|let me|to be decided|undecided|not (?:yet|decided|agreed)|"
    r"never|hasn['\u2019]t|haven['\u2019]t|didn['\u2019]t|"
    r"until|once the|unless|TBD)\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(r"\b(?:instead of|rather than|in favou?r of|as opposed to)\b", re.IGNORECASE)
_VERB = re.compile(
    r"(?:adopt|appl[iy]|build|built|call|chang|check|choos|comput|convert|creat|default|"
    r"deriv|delet|display|do(?=ing\b| )|"
    r"emit|expos|extend|fetch|fix|generat|handl|implement|inject|keep|kept|load|log|made|"
    r"mak|merg|migrat|mov|order|"
    r"pars|pass|pick|pin|prefer|read|refactor|render|replac|requir|restructur|return|"
    r"revert|rewr[io]t|run|"
    r"send|serv|simplif|skip|sort|stor|stream|switch|test|treat|trigger|updat|us(?=e\b|"
    r"ing\b)|valid|writ)\w*\b",
    re.IGNORECASE,
)
_FIXED = re.compile(
    r"\b(?:fixed|solved|resolved|addressed|handled) (?:this |it |that )?(?:by|with|via) ", re.IGNORECASE
)
_PAST_STATE = re.compile(
    r"(?:used|was|were|is|are|had|has|called|wrote|returned|caused|expected|got|tests|"
    r"tested|(?:[a-z]{3,12} ){1,3}tests?)\b",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:chose|chosen|prefer(?:red|s)?|picked|selected|favou?red) .{1,200}? over ", re.IGNORECASE
)
_NOT = re.compile(r"(?:, (?:and )?not |\(not )", re.IGNORECASE)
_END_OF_NAME = re.compile(
    r"[,;:()\[\]—]| \u2013 | - |\. |\.$| (?:because|since|so|to|for|in order|when|as|which|"
    r"that|due|after|on|until|while|but|and then|"
    r"from|has|have|is|are|was|were|went)\b"
)
_GERUND = re.compile(
    r"(?:just|only|using|trying to|adding|having|hardcoding|relying on|going with|my|the|a|an) ",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\b(?:because|the reason being|so that)\b ?(.{3,300})", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“][^\"“”]{0,400}[\"”]")
_USER_SUGGESTS = re.compile(
    r"\buser(?:['\u2019]s)? (?:\w+ly )?suggest(?:ed|s|ion)\b.{1,300}?(?:instead of|rather than|, not)\b",
    re.IGNORECASE,
)
_USER_RULES = re.compile(
    r"(?:^|[.,;:!] )(?:ok,? |okay,? |yes,? |no,? |actually,? |please |just )?(?:"
    r"let['\u2019]?s go with (?!(?:it|that|this|me|you|us)\b)\S"
    r"|(?:let['\u2019]?s |just |always )?(?:use|keep|stick with|switch to|"
    r"prefer) .{1,120}?(?: instead of |, not | rather than | over ))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]{2,40}")
_THIN = re.compile(
    r"user|users|said|yes|agreed|approved|approval|approach|option|this|that|the|with|ok|"
    r"okay|go|do|it|to|and|we|both"
)


def choices(nodes: Sequence[Node], role: Role) -> list[Choice]:
    """Read the stated choices of one section, in order.

    Nothing is read from pending tasks and next steps: what is still to be done is a thread. The user's own
    messages count where they rule (`use X, not Y`), file lists only where they carry a label.
    """
    if role in {Role.PENDING, Role.NEXT}:
        return []
    found: list[Choice] = []
    _read(nodes, None, role, found)
    return found


def distinct(found: Sequence[Choice]) -> list[Choice]:
    """Keep the first of choices that say nearly the same, at most `MOST`."""
    kept: list[tuple[frozenset[str], Choice]] = []
    for choice in found:
        words = _stems(choice.text)
        if len(kept) < MOST and not any(_same(words, other) for other, _ in kept):
            kept.append((words, choice))
    return [choice for _, choice in kept]


def _read(nodes: Sequence[Node], parent: Node | None, role: Role, found: list[Choice]) -> None:
    before: Node | None = None
    for node in nodes:
        text = plain(node.text)
        if node.marker == ">":
            continue
        label = _label(text)
        if label is not None:
            rest = text[label:].strip()
            if rest:
                found.append(_choice(node.line, rest, parent))
            else:
                found.extend(
                    _choice(child.line, plain(child.text), None)
                    for child in node.children
                    if child.marker == "-" and not _open_question(plain(child.text))
                )
            before = node
            continue
        if role is Role.MESSAGES:
            found.extend(_ruling(node.line, text))
        elif role is not Role.FILES:
            found.extend(_stated(node, text, before, parent))
        _read(node.children, node, role, found)
        before = node


def _label(text: str) -> int | None:
    match = _LABEL.search(text[:400])
    if match is None or any(_NOT_MADE.fullmatch(word) for word in match["before"].casefold().split()):
        return None
    return match.end()


def _open_question(text: str) -> bool:
    return text.endswith("?") or "TBD" in text or "undecided" in text.casefold()


def _stated(node: Node, text: str, before: Node | None, parent: Node | None) -> Iterator[Choice]:
    for sentence in _sentences(text):
        unquoted = _QUOTED.sub('""', sentence)
        if unquoted.endswith("?"):
            continue
        verb = _CHOSE.search(unquoted) or _APPROVED.search(sentence)
        if verb is not None:
            unsure = _UNSURE.search(unquoted)
            if unsure is not None and unsure.start() < verb.start():
                continue
            if verb.group().endswith(("rejected", "accepted")) and unquoted[: verb.end() + 24].count(": "):
                continue
            yield _choice(node.line, _full(sentence, text, before, parent), parent)
        elif _USER_SUGGESTS.search(unquoted):
            yield _choice(node.line, sentence, parent)
        elif (clause := _taken_instead(unquoted, sentence)) is not None:
            yield _choice(node.line, clause, parent)


def _taken_instead(unquoted: str, sentence: str) -> str | None:
    """Return the clause `use X instead of Y` of a sentence, where it says what was done or is to be done."""
    instead = _INSTEAD.search(unquoted)
    if instead is None or _UNSURE.search(unquoted):
        return None
    if fixed := _FIXED.search(sentence):
        start = fixed.end()
        if start < instead.start() and _VERB.match(sentence, start):
            return sentence[start:]
    start = 0
    while lead := _LEAD.match(sentence, start):
        if _FAULT_LEAD.match(sentence, start):
            return None
        start = lead.end()
    if start > instead.start() or _PAST_STATE.match(sentence, start) or not _VERB.match(sentence, start):
        return None
    return sentence[start:]


def _ruling(line: int, text: str) -> Iterator[Choice]:
    for quoted in re.findall(r"[\"“]([^\"“”]{1,600})[\"”]", text) or [text]:
        for sentence in _sentences(quoted):
            if not sentence.endswith("?") and _USER_RULES.search(sentence) and not _UNSURE.search(sentence):
                yield _choice(line, sentence, None)


def _full(sentence: str, text: str, before: Node | None, parent: Node | None) -> str:
    """Complete `User agreed: "yes do option 1"` with the statement that it answers."""
    if _substance(sentence) >= 3:
        return sentence
    if sentence != text:
        return text
    answered = before or parent
    return f"{plain(answered.text).rstrip('.:')}. {sentence}" if answered is not None else sentence


def _substance(text: str) -> int:
    return len(
        {word for word in _WORD.findall(text.casefold()) if not _THIN.fullmatch(word) and not word.isdigit()}
    )


def _choice(line: int, full: str, parent: Node | None) -> Choice:
    text = one_line(full)
    context = full if text != full else (one_line(plain(parent.text), 400) if parent is not None else "")
    because = _BECAUSE.search(full)
    return Choice(
        line=line,
        text=text[:1].upper() + text[1:],
        context=context,
        rationale=because.group(1).rstrip(".") if because else "",
        alternatives=_alternatives(full),
    )


def _alternatives(text: str) -> tuple[str, ...]:
    """Return what was not taken: after `instead of`, `rather than`, `chose X over`, `, not`."""
    match = (
        re.search(r"\b(?:instead of|rather than|as opposed to)\b", text, re.IGNORECASE)
        or _OVER.search(text)
        or _NOT.search(text)
    )
    if match is None:
        return ()
    rest = text[match.end() : match.end() + 160].strip()
    while gerund := _GERUND.match(rest):
        rest = rest[gerund.end() :]
    outside = re.sub(r"`[^`]*`", lambda code: "x" * len(code.group()), rest)
    end = _END_OF_NAME.search(outside)
    name = rest[: end.start()] if end else rest
    name = name.strip(" .*\"“”'")
    if name.startswith("`") and name.count("`") == 2 and name.endswith("`"):
        name = name.strip("`")
    return (name,) if 1 < len(name) <= 100 else ()


def _sentences(text: str) -> list[str]:
    return [one.strip() for one in _SENTENCE_END.split(text) if one.strip() and len(one) <= LONGEST_SENTENCE]


def _stems(text: str) -> frozenset[str]:
    return frozenset(word.rstrip("s") for word in _WORD.findall(text.casefold()))


def _same(a: frozenset[str], b: frozenset[str]) -> bool:
    return len(a & b) >= SAME * max(1, min(len(a), len(b)))
