"""The summary that a coding agent writes when it compacts a conversation, read as an archive.

It has no ids and no tag of its own. Pending tasks become threads, stated choices become decisions of the
heuristic tier, files become artifacts, and every numbered section is kept by its lines. Local ids are counted
in the order of the text, past any that the text itself uses. The records are a reading of prose: the archive
keeps every word, and the laws of `summary_choices` and `summary_threads` prefer a miss to an invention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count

from forgekit.model.lineage import CompressionMode
from forgekit.model.problem import Problem, Severity
from forgekit.model.records import ArchiveText, ArtifactRecord, DecisionRecord, Family, Section, ThreadRecord
from forgekit.text.archive.summary_choices import Choice, choices, distinct
from forgekit.text.archive.summary_outline import (
    Node,
    Part,
    Role,
    analysis_lines,
    fenced_lines,
    one_line,
    outline,
    parts,
    plain,
)
from forgekit.text.archive.summary_threads import Task, listed_tasks, merge_tasks, next_step, pending_tasks

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


def _tasks(found: Sequence[Part], outlines: dict[int, tuple[Node, ...]]) -> list[Task]:
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


def _files(found: Sequence[Part], outlines: dict[int, tuple[Node, ...]]) -> Iterator[tuple[str, int, str]]:
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


def _request(found: Sequence[Part], outlines: dict[int, tuple[Node, ...]]) -> str:
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


def _problems(found: Sequence[Part]) -> tuple[Problem, ...]:
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
