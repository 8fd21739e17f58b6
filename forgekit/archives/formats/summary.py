"""Threads of a compaction summary: its pending tasks, task lists with states, and the next step.

What is missing costs a line of typing; what is invented costs trust. So a next step counts only when it
orders something that no pending task says already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import count, islice

from forgekit.ids import match_key
from forgekit.model.archive_record import (
    ArchiveText,
    ArtifactRecord,
    DecisionRecord,
    Family,
    Section,
    ThreadRecord,
)
from forgekit.model.lineage import CompressionMode
from forgekit.model.problem import Problem, Severity
from forgekit.model.thread import ThreadStatus

DEEPEST = 40
LONGEST_TITLE = 200

_ITEM = re.compile(r"(?:[-*+•]|(?:\d{1,3}|[A-Za-z])[.)])[ \t]+(?=\S)")
_HASHES = re.compile(r"(#{1,6})[ \t]+")
_NUMBER = re.compile(r"(\d{1,2})[.)][ \t]+")
_RULE = re.compile(r"[-*_=]{3,}")
_SUMMARY = re.compile(r"(?:#{1,6} )?\**(?:<summary>|summary:?)\**:?", re.IGNORECASE)
_ANALYSIS = re.compile(r"(?:#{1,6} )?\**(?:<analysis>|analysis:?)\**:?", re.IGNORECASE)
_TRAILERS = (
    "If you need specific details from before compaction",
    "Please continue the conversation from where",
    "Continue the conversation from where",
    "Recent messages are preserved verbatim",
    "</summary>",
)


class Role(Enum):
    """What a section is for, told by its title."""

    REQUEST = auto()
    FILES = auto()
    MESSAGES = auto()
    PENDING = auto()
    CURRENT = auto()
    NEXT = auto()
    OTHER = auto()


_ROLES = (
    ("next step", Role.NEXT),
    ("user message", Role.MESSAGES),
    ("pending", Role.PENDING),
    ("outstanding", Role.PENDING),
    ("remaining", Role.PENDING),
    ("todo", Role.PENDING),
    ("task list", Role.PENDING),
    ("current work", Role.CURRENT),
    ("current state", Role.CURRENT),
    ("files", Role.FILES),
    ("request", Role.REQUEST),
    ("errors", Role.OTHER),
    ("problem solving", Role.OTHER),
    ("key technical", Role.OTHER),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One list item, paragraph, heading or quotation.

    Attributes:
        line: 1-based.
        marker: `-` for an item, `#` for a heading, `>` for a quotation, "" for a paragraph.
        text: without its marker, line ends as blanks, emphasis kept.
    """

    line: int
    marker: str
    text: str
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryPart:
    """A numbered section.

    Attributes:
        rest: what follows the heading on its own line, or "".
        last_line: equal to the heading's line where nothing follows.
    """

    title: str
    role: Role
    level: int
    line: int
    last_line: int
    rest: str = ""


@dataclass(kw_only=True, slots=True)
class _Draft:
    line: int
    indent: int
    marker: str
    words: list[str]
    children: list[_Draft] = field(default_factory=list)

    def node(self) -> Node:
        return Node(
            line=self.line,
            marker=self.marker,
            text=" ".join(self.words),
            children=tuple(child.node() for child in self.children),
        )


def plain(text: str) -> str:
    """Return the text without emphasis and runs of blanks; code marks stay."""
    return " ".join(text.replace("**", "").split())


def one_line(text: str, limit: int = LONGEST_TITLE) -> str:
    """Cut a text at the end of a sentence or word so that it fits the limit."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    stop = text.rfind(". ", 40, limit)
    if stop > 0:
        return text[: stop + 1]
    return text[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:—\u2013-") + "…"


def fenced_lines(lines: Sequence[str]) -> list[bool]:
    """Say of each line whether it belongs to a code block, its fences included.

    A fence that is never closed ends where the next section begins.
    """
    inside = [False] * len(lines)
    opened: int | None = None
    fence = ""
    for index, line in enumerate(lines):
        stripped = line.strip()
        if not stripped.startswith(("```", "~~~")):
            continue
        if opened is None:
            opened, fence = index, stripped[0]
        elif stripped[0] == fence and not stripped.strip(fence):
            inside[opened : index + 1] = [True] * (index + 1 - opened)
            opened = None
    if opened is not None:
        end = next((i for i in range(opened + 1, len(lines)) if _heading(lines[i]) is not None), len(lines))
        inside[opened:end] = [True] * (end - opened)
    return inside


def analysis_lines(lines: Sequence[str], fenced: Sequence[bool]) -> tuple[int, int]:
    """Return the half-open range of line indexes of the analysis; (0, 0) where there is none."""
    end = _summary_start(lines, fenced)
    for index in range(min(end, len(lines))):
        if not fenced[index] and _ANALYSIS.fullmatch(lines[index].strip()):
            return index + 1, end - 1
    return 0, 0


def parts(lines: Sequence[str], fenced: Sequence[bool]) -> tuple[SummaryPart, ...]:
    """Find the sections: `1. Title:`, counted upwards, or Markdown headings of one level."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].strip().startswith(_TRAILERS)):
        end -= 1
    candidates = [
        (index, *heading)
        for index in range(_summary_start(lines, fenced), end)
        if not fenced[index] and (heading := _heading(lines[index])) is not None
    ]
    candidates = [one for one in candidates if one[2] is not None] or candidates
    found: list[tuple[int, int, str, str]] = []
    expected = 0
    for index, level, number, title, rest in candidates:
        if found and level != found[0][1]:
            continue
        near = number is not None and 0 <= number - expected <= (99 if _known_role(title) else 2)
        if number is None or not found or near:
            found.append((index, level, title, rest))
            expected = 0 if number is None else number + 1
    ends = [index for index, _, _, _ in found[1:]] + [end] * bool(found)
    return tuple(
        SummaryPart(
            title=title,
            role=role_of(title),
            level=level or 1,
            line=index + 1,
            last_line=_last_text(lines, index, stop),
            rest=rest,
        )
        for (index, level, title, rest), stop in zip(found, ends, strict=True)
    )


def role_of(title: str) -> Role:
    """Tell what a section is for."""
    return _known_role(title) or Role.OTHER


def outline(
    lines: Sequence[str], fenced: Sequence[bool], first: int, end: int, lead: str = ""
) -> tuple[Node, ...]:
    """Read the lists and paragraphs of a range of lines.

    Args:
        lines: the whole text.
        fenced: from `fenced_lines`.
        first: index of the first line.
        end: index after the last line.
        lead: text that stands on the heading's own line.
    """
    roots: list[_Draft] = []
    stack: list[_Draft] = []
    joinable = False
    if lead:
        roots.append(_Draft(line=first, indent=0, marker="", words=[lead]))
        stack.append(roots[0])
    for index in range(first, end):
        stripped = lines[index].strip()
        if fenced[index] or not stripped or _RULE.fullmatch(stripped):
            joinable = False
            continue
        indent, marker, text = _split(lines[index], stripped)
        last = stack[-1] if stack else None
        if joinable and last is not None and _continues(last, indent, marker):
            last.words.append(text)
            continue
        draft = _Draft(line=index + 1, indent=indent, marker=marker, words=[text])
        while stack and not _holds(stack[-1], draft):
            stack.pop()
        (stack[-1].children if stack else roots).append(draft)
        stack.append(draft)
        joinable = marker != "#"
    return tuple(draft.node() for draft in roots)


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield every node, parents before their children."""
    for node in nodes:
        yield node
        yield from walk(node.children)


def body(node: Node) -> str:
    """Write a node and all below it as plain text, nested items indented."""
    rows: list[str] = []

    def write(one: Node, depth: int) -> None:
        rows.append("  " * max(depth - 1, 0) + ("- " if depth else "") + plain(one.text))
        for child in one.children:
            write(child, depth + 1)

    write(node, 0)
    return "\n".join(rows)


def _summary_start(lines: Sequence[str], fenced: Sequence[bool]) -> int:
    for index, line in enumerate(lines):
        if not fenced[index] and len(line) < 40 and _SUMMARY.fullmatch(line.strip()):
            return index + 1
    return 0


def _heading(line: str) -> tuple[int, int | None, str, str] | None:
    """Read `## 3. Title:`, `3. **Title**:` or `3. Title: rest` as level, number, title, rest."""
    if len(line) > 2_000:
        return None
    hashes = _HASHES.match(line)
    text = plain(line[hashes.end() :] if hashes else line.rstrip())
    number = _NUMBER.match(text)
    if number is None and hashes is None:
        return None
    if line[:1].isspace():
        return None
    title, _, rest = (text[number.end() :] if number else text).partition(":")
    title = title.strip()
    if not title or len(title) > 80 or not title[0].isupper() or set(title) & set("\"'`“”"):
        return None
    if hashes is None and (rest or not text.endswith(":")) and _known_role(title) is None:
        return None
    return (
        len(hashes.group(1)) if hashes else 0,
        int(number.group(1)) if number else None,
        title,
        rest.strip(),
    )


def _known_role(title: str) -> Role | None:
    lowered = title.casefold()
    return next((role for words, role in _ROLES if words in lowered), None)


def _last_text(lines: Sequence[str], index: int, stop: int) -> int:
    while stop > index + 1 and not lines[stop - 1].strip():
        stop -= 1
    return stop


def _split(line: str, stripped: str) -> tuple[int, str, str]:
    indent = 0
    for character in line[:DEEPEST]:
        if not character.isspace():
            break
        indent += 4 if character == "\t" else 1
    indent = min(indent, DEEPEST)
    stripped = " ".join(stripped.split())
    if hashes := _HASHES.match(stripped):
        return len(hashes.group(1)) - 7, "#", stripped[hashes.end() :]
    if item := _ITEM.match(stripped):
        return indent, "-", stripped[item.end() :]
    if stripped.startswith(">"):
        return indent, ">", stripped[1:].strip()
    return indent, "", stripped


def _continues(last: _Draft, indent: int, marker: str) -> bool:
    if marker == ">":
        return last.marker == ">"
    if marker or last.marker == ">":
        return False
    return indent > last.indent or (last.marker == "" and indent == last.indent)


def _holds(parent: _Draft, child: _Draft) -> bool:
    if parent.indent < child.indent:
        return parent.marker != ">"
    lead_in = parent.marker == "" and parent.words[-1].rstrip("*").endswith(":")
    return lead_in and parent.indent == child.indent and child.marker == "-"


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A task as the summary lists it.

    Attributes:
        number: of `Task #3`, or "".
        blocked_by: numbers of such tasks.
        resolution: what the summary says of the end, "" while the task is open.
    """

    line: int
    title: str
    content: str
    status: ThreadStatus
    resolution: str = ""
    reopened: bool = False
    number: str = ""
    blocked_by: tuple[str, ...] = ()


_NOTHING = re.compile(
    r"(?:\W*)(?:"
    r"none\b(?! of\b)|n/a\b|nothing\b"
    r"|no (?:(?:explicit|explicitly|specific|other|further|additional|more|new|outstanding|"
    r"remaining|pending|open|"
    r"incomplete|unfinished|immediate|next|requested|assigned)[ ,]+){0,4}(?:tasks?|steps?|"
    r"work|items?|todos?|requests?|"
    r"actions?)\b"
    r"|(?:all|everything)\b.{0,80}?\b(?:is|are|was|were|been|now|tasks|work|items) "
    r"(?:now |fully |successfully )*"
    r"(?:complete|completed|done|finished|resolved|addressed)\b"
    r"|(?:the |this |current |main |requested )*(?:tasks?|work|implementation|request|plan|feature)s? "
    r"(?:is|are|has been|have been|was|were) (?:now |all |fully )*(?:complete|completed|done|finished)\b"
    r")",
    re.IGNORECASE,
)
_BOX = re.compile(r"(?:[-*] )?\[([ xX~/-]?)\]\s*")
_TICK = re.compile(r"[✅✓✔☑]\ufe0f?\s*")
_WAIT = re.compile(r"[⏳🔄🚧⬜☐◻⏸]\ufe0f?\s*")
_NUMBERED = re.compile(
    r"(?:[Tt]ask\s*)?#(\d{1,4})\b[:.)]?\s*|[Tt]ask (\d{1,4})(?=\s*[\[(:—\u2013-])[:.)]?\s*"
)
_BLOCKED = re.compile(
    r"blocked by ((?:task )?#?\d{1,4}(?:(?:, | and |, and )(?:task )?#?\d{1,4}){0,9})", re.IGNORECASE
)
_BRACKET = re.compile(r"\s*[\[(]([^\[\]()]{1,120})[\])]:?")
_ENDED = r"completed?|done|resolved|finished"
_ENDED_IN_BRACKETS = re.compile(
    rf"(?:{_ENDED})(?: ?[,:;\u2013\u2014-].*| (?:in|as|via|with|on|and)\b.*)?|fixed|merged|implemented",
    re.IGNORECASE,
)
_GIVEN_UP = re.compile(
    r"(?:cancell?ed|abandoned|dropped|won['\u2019]t (?:do|fix)|wontfix)\b.*", re.IGNORECASE
)
_OPEN_IN_BRACKETS = re.compile(
    r"(?:pending|in[ _-]progress|not[ _-]started|not (?:yet )?(?:done|started|completed?)|"
    r"todo|open|blocked|partial\w*)\b.*",
    re.IGNORECASE,
)
_DASH = r"\s*(?:[\u2013\u2014:]|--| -)\s*"
_DONE_FIRST = re.compile(r"(?:RESOLVED|COMPLETED|COMPLETE|DONE|FIXED)\s*[:\u2013\u2014-]\s*")
_LAST_MARKS = (
    (re.compile(rf"{_DASH}((?:RESOLVED|COMPLETED|COMPLETE|DONE|FIXED)\b.*)"), ThreadStatus.RESOLVED),
    (re.compile(rf"{_DASH}(?:IN[ _]PROGRESS|PENDING|NOT STARTED|BLOCKED)\b.*()"), ThreadStatus.OPEN),
    (
        re.compile(rf"{_DASH}({_ENDED}|fixed|implemented|merged)[.!]?\Z", re.IGNORECASE),
        ThreadStatus.RESOLVED,
    ),
    (
        re.compile(rf"{_DASH}(?:pending|in[ _-]progress|not started|todo)[.!]?()\Z", re.IGNORECASE),
        ThreadStatus.OPEN,
    ),
    (re.compile(r"\s?[\u2705\u2713\u2714\u2611]\ufe0f?()\Z"), ThreadStatus.RESOLVED),
)
_REOPENED = re.compile(r"re-?opened\b", re.IGNORECASE)
_GROUP_ENDED = re.compile(
    rf"(?:\W*)(?:already |recently |just )?(?:{_ENDED})(?: (?:tasks?|items?|work|so far|already))*\W*",
    re.IGNORECASE,
)
_GROUP_OPEN = re.compile(
    r"(?:\W*)(?:still )?(?:pending|remaining|open|to[ -]?do|in[ _-]progress|"
    r"not (?:yet )?started|outstanding|next|"
    r"left to do|blocked)(?: (?:tasks?|items?|work|steps?|up))*\W*",
    re.IGNORECASE,
)
_OTHER_WAY = re.compile(r"alternatively\b|or(?: else)?,? ", re.IGNORECASE)  # an option of the task before it
_AFTER_A_MARK = ":.,;-\u2013\u2014"
_AS_LISTED = "Marked as done in the compaction summary."
_GIVEN_UP_AS_LISTED = "Marked as given up in the compaction summary."

_STEP_LABEL = re.compile(
    r"(?:(?:the )?(?:immediate |logical |recommended )?next (?:step|task)s?(?: is to| is|"
    r" would be to)?|next)\s*[:,]?\s+",
    re.IGNORECASE,
)
_STEP_NEED = re.compile(
    r"(?:I |we )?(?:still )?(?:need|have) to |(?:I|we) (?:will|should|must) ", re.IGNORECASE
)
_CONDITIONAL = re.compile(
    r"\b(?:if|unless|once|when) the user\b|\b(?:wait|waiting|await|awaiting) (?:for|user|further|the)\b"
    r"|\b(?:clarify|confirm|check|discuss) with (?:the )?user\b|\bask (?:the )?user\b|"
    r"\bif (?:needed|requested|desired|wanted)\b",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"(?:add|address|adjust|analyse|analyze|apply|audit|build|bump|change|clean|close|commit|complete|"
    r"configure|consolidate|continue|convert|create|debug|define|delete|deploy|design|document|draft|"
    r"enable|ensure|execute|expand|explain|extend|extract|fetch|file|fill|finalise|finalize|finish|fix|"
    r"generate|handle|implement|improve|inspect|install|integrate|introduce|investigate|"
    r"make|measure|merge|"
    r"migrate|modify|move|open|optimise|optimize|polish|port|prepare|profile|publish|pull|push|re-run|"
    r"rebase|rebuild|record|refactor|release|remove|rename|replace|reproduce|rerun|resolve|"
    r"restart|restore|"
    r"resume|retry|revert|review|rewrite|rotate|run|send|set|show|simplify|split|stage|"
    r"start|stop|switch|"
    r"test|tighten|trace|translate|tune|turn|update|upgrade|upload|use|validate|verify|wire|wrap|write)"
)
_COMMON = re.compile(
    r"the|and|for|with|that|this|from|into|then|all|any|are|was|not|has|have|its|per|via|"
    r"new"
)
_WORDS = re.compile(r"[^\W_]{2,40}")


def says_nothing(text: str) -> bool:
    """Say whether a text only states that there is nothing to do."""
    return _NOTHING.match(plain(text)) is not None


def pending_tasks(nodes: Sequence[Node]) -> list[Task]:
    """Read a section of pending tasks; a nested list belongs to its item."""
    found: list[Task] = []
    _gather(nodes, None, found)
    return found


def listed_tasks(nodes: Sequence[Node]) -> list[Task]:
    """Read only the items that carry a state of a task list: a box, `[pending]`, `#3 — completed`."""
    found = []
    for node in walk(nodes):
        text = plain(node.text)
        if node.marker != "-":
            continue
        number = _NUMBERED.match(text)
        stated = _state(text[number.end() :] if number else text)
        if _BOX.match(text) or (number and stated[0] is not None):
            found.append(_task(node, None))
    return found


def next_step(nodes: Sequence[Node], known: Iterable[Task]) -> Task | None:
    """Read the next step, where it orders something that is no task yet."""
    if not nodes:
        return None
    first = nodes[0]
    text = plain(first.text)
    if first.marker == ">" or says_nothing(text) or any(says_nothing(one) for one in text.split(". ")):
        return None
    if label := _STEP_LABEL.match(text):
        text = text[label.end() :]
    if need := _STEP_NEED.match(text):
        text = text[need.end() :]
    text = text[:1].upper() + text[1:]
    order = text.split(" ", 1)[0].rstrip(",:").casefold()
    if not _ORDERS.fullmatch(order) or _CONDITIONAL.search(text):
        return None
    whole = "\n".join(body(node) for node in nodes)
    title = one_line(text.split(". ", 1)[0])
    step, said = _summary_threads_stems(title), _summary_threads_stems(whole)
    for task in known:
        words = _summary_threads_stems(task.title)
        task_words = words | _summary_threads_stems(task.content)
        if _share(step, task_words) >= 0.5 or _share(words, said) >= 0.6:
            return None
    title = title.rstrip(":").rstrip()
    content = "\n".join(body(node) for node in nodes if node.marker != ">")
    return Task(line=first.line, title=title, content=_unless_same(content, title), status=ThreadStatus.OPEN)


def merge_tasks(tasks: Iterable[Task]) -> list[Task]:
    """Join tasks of one title; an end stands over an opening."""
    merged: dict[str, Task] = {}
    for task in tasks:
        key = match_key(task.title)
        known = merged.get(key)
        if known is None:
            merged[key] = task
        elif not known.status.ended and task.status.ended:
            merged[key] = replace(known, status=task.status, resolution=task.resolution)
    return sorted(merged.values(), key=lambda task: task.line)


def _gather(nodes: Sequence[Node], status: ThreadStatus | None, found: list[Task]) -> None:
    has_items = any(node.marker == "-" for node in nodes)
    for node in nodes:
        text = plain(node.text)
        group = _group(text) if node.children else None
        if node.marker == ">" or says_nothing(text):
            continue
        if group is not None or node.marker == "#" or (node.marker == "" and text.endswith(":")):
            _gather(node.children, group or status, found)
        elif (node.marker == "-" or not has_items) and not _OTHER_WAY.match(text):
            found.append(_task(node, status))


def _group(text: str) -> ThreadStatus | None:
    label = text.rstrip(":")
    if _GROUP_ENDED.fullmatch(label):
        return ThreadStatus.RESOLVED
    return ThreadStatus.OPEN if _GROUP_OPEN.fullmatch(label) else None


def _task(node: Node, group: ThreadStatus | None) -> Task:
    full = plain(node.text)
    number = ""
    text = full
    struck = text.startswith("~~") and text.find("~~", 2) > 0
    text = text.replace("~~", "")
    status, resolution, text = _state(text)
    if match := _NUMBERED.match(text):
        number = match.group(1) or match.group(2)
        again, resolution_again, rest = _state(text[match.end() :])
        status, resolution, text = again or status, resolution_again or resolution, rest
    if struck:
        status = ThreadStatus.RESOLVED
    status = status or group or ThreadStatus.OPEN
    if status is ThreadStatus.RESOLVED:
        resolution = resolution or _AS_LISTED
    elif status is ThreadStatus.ABANDONED:
        resolution = resolution or _GIVEN_UP_AS_LISTED
    if node.children and text.endswith(":") and ". " in text:
        text = text[: text.rindex(". ")]
    title = one_line(text.strip(" :;—\u2013-\t")) or one_line(full) or "(no title)"
    blocked = _BLOCKED.search(full)
    return Task(
        line=node.line,
        title=title,
        content=_unless_same(body(node), title),
        status=status,
        resolution=resolution,
        reopened=status is ThreadStatus.OPEN and _REOPENED.search(full[:120]) is not None,
        number=number,
        blocked_by=tuple(re.findall(r"\d+", blocked.group(1))) if blocked else (),
    )


def _state(text: str) -> tuple[ThreadStatus | None, str, str]:
    """Take the marks of a state off a task's text: state, resolution, text without them.

    Marks at the end say the latest, so they stand over those before them.
    """
    status, text = _first_mark(text)
    resolution = ""
    for bracket in islice(_BRACKET.finditer(text), 20):
        mark = _TICK.sub("", bracket.group(1)).strip()
        said = _bracket_state(mark)
        rest = text[bracket.end() :].lstrip()
        at_an_end = (
            bracket.start() == 0 or not rest or bracket.group().endswith(":") or rest[0] in _AFTER_A_MARK
        )
        if said is not None and at_an_end:
            status = status if status is ThreadStatus.RESOLVED else said
            resolution = mark if said.ended and " " in mark else ""
            text = text[: bracket.start()] + text[bracket.end() :]
            break
    for pattern, state in _LAST_MARKS:
        if match := pattern.search(text):
            shouted = match.group(1) if state.ended and " " in (match.group(1) or "") else ""
            return state, shouted.strip() or resolution, text[: match.start()]
    return status, resolution, text


def _first_mark(text: str) -> tuple[ThreadStatus | None, str]:
    status: ThreadStatus | None = None
    if box := _BOX.match(text):
        status = ThreadStatus.RESOLVED if box.group(1) in {"x", "X"} else ThreadStatus.OPEN
        text = text[box.end() :]
    for pattern, state in (
        (_TICK, ThreadStatus.RESOLVED),
        (_DONE_FIRST, ThreadStatus.RESOLVED),
        (_WAIT, None),
    ):
        if mark := pattern.match(text):
            return state or status or ThreadStatus.OPEN, text[mark.end() :]
    return status, text


def _bracket_state(mark: str) -> ThreadStatus | None:
    if _OPEN_IN_BRACKETS.fullmatch(mark) or _REOPENED.fullmatch(mark):
        return ThreadStatus.OPEN
    if _ENDED_IN_BRACKETS.fullmatch(mark):
        return ThreadStatus.RESOLVED
    return ThreadStatus.ABANDONED if _GIVEN_UP.fullmatch(mark) else None


def _unless_same(content: str, title: str) -> str:
    return "" if content == title else content


def _summary_threads_stems(text: str) -> frozenset[str]:
    words = (word.rstrip("s") for word in _WORDS.findall(text.casefold()))
    return frozenset(word for word in words if len(word) > 2 and not _COMMON.fullmatch(word))


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part & whole) / len(part) if part else 0.0


TIER = 0.5
LONGEST_SUMMARY = 1_000

_OPENING = "This session is being continued from a previous conversation"
_LOCAL_ID = re.compile(r"\b(?:D|T|A|OT)\d{3,6}\b")
_PATH = re.compile(r"[\w.@~+\[\]{}*-]*(?:/[\w.@~+\[\]{}*-]+)+|[\w@~+-]*\.[A-Za-z]\w{0,12}(?:\.\w{1,12}){0,3}")
_BARE_FILES = re.compile(r"Makefile|Dockerfile|Justfile|Procfile|Rakefile|Gemfile|LICENSE|README|CHANGELOG")
_CODE = re.compile(r"`([^`]{1,300})`(?:,? and |, ?| & | / |/)?")


def is_summary(text: str) -> bool:
    """Say whether a text is a compaction summary: it opens with the agent's fixed sentence."""
    return text[:2_000].lstrip("\ufeff \t\r\n").startswith(_OPENING)


def read_summary(text: str) -> ArchiveText:
    """Read what a compaction summary says.

    Args:
        text: the summary, as the transcript holds it.

    The boundary record gives the time, so `created` stays empty; so do tag and session.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    fenced = fenced_lines(lines)
    found = parts(lines, fenced)
    outlines = {part.line: outline(lines, fenced, part.line, part.last_line, part.rest) for part in found}
    first, end = analysis_lines(lines, fenced)
    stated = choices(outline(lines, fenced, first, end), Role.OTHER)
    for part in found:
        stated.extend(choices(outlines[part.line], part.role))
    names = frozenset(_LOCAL_ID.findall(text))
    return ArchiveText(
        mode=CompressionMode.LOSSY,
        decisions=tuple(
            _decision(name, one) for name, one in zip(_names("D", names), distinct(stated), strict=False)
        ),
        threads=_threads(_tasks(found, outlines), names),
        artifacts=tuple(
            ArtifactRecord(
                local_id=name, name=path, line=line, family=Family.SUMMARY, type="code", summary=said
            )
            for name, (path, line, said) in zip(_names("A", names), _files(found, outlines), strict=False)
        ),
        sections=tuple(
            Section(
                title=part.title,
                level=part.level,
                heading_line=part.line,
                first_line=part.line + 1,
                last_line=part.last_line,
            )
            for part in found
        ),
        summary=_request(found, outlines),
        ids_seen=_ids_seen(lines, fenced),
        problems=_problems(found),
    )


def _tasks(found: Sequence[SummaryPart], outlines: dict[int, tuple[Node, ...]]) -> list[Task]:
    tasks: list[Task] = []
    for part in found:
        if part.role is Role.PENDING:
            tasks.extend(pending_tasks(outlines[part.line]))
        elif part.role is Role.CURRENT:
            tasks.extend(listed_tasks(outlines[part.line]))
    for part in found:
        if part.role is Role.NEXT and (step := next_step(outlines[part.line], tasks)) is not None:
            tasks.append(step)
    return merge_tasks(tasks)


def _threads(tasks: Sequence[Task], taken: frozenset[str]) -> tuple[ThreadRecord, ...]:
    named = list(zip(_names("T", taken), tasks, strict=False))
    waiting = {task.number: name for name, task in named if task.number and not task.status.ended}
    return tuple(
        ThreadRecord(
            local_id=name,
            title=task.title,
            line=task.line,
            family=Family.SUMMARY,
            content=task.content,
            status=task.status,
            reopened=task.reopened,
            resolution=task.resolution,
            blocked_by=tuple(
                waiting[number] for number in task.blocked_by if waiting.get(number, name) != name
            )
            or None,
        )
        for name, task in named
    )


def _decision(name: str, choice: Choice) -> DecisionRecord:
    return DecisionRecord(
        local_id=name,
        text=choice.text,
        line=choice.line,
        family=Family.SUMMARY,
        tier=TIER,
        rationale=choice.rationale,
        context=choice.context,
        alternatives=choice.alternatives,
    )


def _files(
    found: Sequence[SummaryPart], outlines: dict[int, tuple[Node, ...]]
) -> Iterator[tuple[str, int, str]]:
    """Yield path, line and summary of each file that the section of files lists, each path once."""
    seen: set[str] = set()
    for part in found:
        if part.role is not Role.FILES:
            continue
        for node in outlines[part.line]:
            if node.marker == ">":
                continue
            paths, said = _paths(node)
            for path in paths:
                if path not in seen:
                    seen.add(path)
                    yield path, node.line, said


def _paths(node: Node) -> tuple[tuple[str, ...], str]:
    """Read the paths at the head of an entry, and one line on it."""
    text = plain(node.text)
    head, _, said = text.partition(" — ") if " — " in text else text.partition(" - ")
    named = _leading_code(head) or head.split(" ", 1)[:1]
    paths = tuple(path for path in (name.strip("`,:") for name in named) if _is_path(path))
    if not said and node.children:
        said = plain(node.children[0].text)
    return paths, one_line(said)


def _leading_code(text: str) -> list[str]:
    """Return the code spans that a text opens with: "`a.py` and `b.py` (moved from `c.py`)" gives two."""
    found: list[str] = []
    end = 0
    while match := _CODE.match(text, end):
        found.append(match.group(1))
        end = match.end()
    return found


def _is_path(name: str) -> bool:
    if len(name) > 300 or "://" in name:
        return False
    return _BARE_FILES.fullmatch(name) is not None or _PATH.fullmatch(name) is not None


def _request(found: Sequence[SummaryPart], outlines: dict[int, tuple[Node, ...]]) -> str:
    """Return the first paragraph of the request, or its list as one line."""
    for part in found:
        nodes = outlines[part.line] if part.role is Role.REQUEST else ()
        if nodes and nodes[0].marker == "":
            lead = plain(nodes[0].text)
            items = nodes[0].children if lead.endswith(":") else ()
            return one_line(" ".join([lead, "; ".join(plain(item.text) for item in items)]), LONGEST_SUMMARY)
        if nodes:
            return one_line("; ".join(plain(node.text) for node in nodes), LONGEST_SUMMARY)
    return ""


def _names(letter: str, taken: frozenset[str]) -> Iterator[str]:
    return (name for number in count(1) if (name := f"{letter}{number:03d}") not in taken)


def _ids_seen(lines: Sequence[str], fenced: Sequence[bool]) -> tuple[tuple[str, int], ...]:
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not fenced[number - 1]:
            for name in _LOCAL_ID.findall(line):
                seen.setdefault(name, number)
    return tuple(seen.items())


def _problems(found: Sequence[SummaryPart]) -> tuple[Problem, ...]:
    if found:
        return ()
    return (
        Problem(
            code="summary-without-sections",
            message="this compaction summary has no numbered sections, so nothing was read from it",
            severity=Severity.WARNING,
            fix="the text is kept whole; write what matters as `D001` and `T001` lines",
        ),
    )
