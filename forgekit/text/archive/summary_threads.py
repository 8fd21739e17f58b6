"""Threads of a compaction summary: its pending tasks, task lists with states, and the next step.

What is missing costs a line of typing; what is invented costs trust. So a next step counts only when it
orders something that no pending task says already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from forgekit.ids import match_key
from forgekit.model.thread import ThreadStatus
from forgekit.text.archive.summary_outline import Node, body, one_line, plain, walk


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
    step, said = _stems(title), _stems(whole)
    for task in known:
        words = _stems(task.title)
        task_words = words | _stems(task.content)
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


def _stems(text: str) -> frozenset[str]:
    words = (word.rstrip("s") for word in _WORDS.findall(text.casefold()))
    return frozenset(word for word in words if len(word) > 2 and not _COMMON.fullmatch(word))


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part & whole) / len(part) if part else 0.0
