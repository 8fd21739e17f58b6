"""What clauses of a follow-up archive say of ids in them: `dropped D5, nobody has time`.

In: a page. Out: each id with the state that a clause gives it, as a decision's or as a thread's; the fold
knows which of them the archive's parents have, and as what.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from forgekit.archives.claims import AND, ANY_ID, ascii_of
from forgekit.archives.labels import field_named
from forgekit.archives.records import Page, labelled
from forgekit.archives.states import CLASSES, SUBJECT, surest_of
from forgekit.model.archive_record import StateClause
from forgekit.model.entities import DecisionStatus, ThreadStatus

_ID = re.compile(rf"(?<![\w-])#?({ANY_ID}|[A-Z]{{1,6}}(?:-[A-Z]{{1,4}}-?|[.#])\d{{1,5}})(?![\w-])")
_STOP = re.compile(r"(?<=[.!?;])\s+(?=\S)|(?<=[\u3002\uff1b])")
_DAY = r"(?:\d{1,4}[./-]\d{1,2}(?:[./-]\d{1,4})?|\d{1,2}\.?\s[^\W\d_]{3,9}|[^\W\d_]{3,9}\s\d{1,2})\b[\s:,]+"
_MARKS = re.compile(
    r"^[\s>|*+\u2022\u30fb\u21b3-]*(?:\[[ xX\u2713-]\]\s*)?"
    rf"(?:[*_`~\"'{{\[]\s*)*(?:{_DAY})?(?:[*_`~\"'{{\[]\s*)*"
)
_NOTE = re.compile(rf"\s*(?:(?:\u21b3|\u2192|\u21d2|->|=>|>)\s*(?:{_DAY})?|[-*]?\s*{_DAY})")
_GOES_ON = re.compile(r"\s*\w")
_SHUT = re.compile(rf"{SUBJECT}[*_`~\"'\])}}]+")
_BETWEEN = re.compile(rf"[\s,;/*_`\u3001\u30fb\u3068-]*(?:{AND}\s+)?")
_LEAST_BESIDE, _LEAST_WITHIN = 0.5, 2.0
"""How clear the state of a record is whose id begins a clause, and of one that is named within it."""
_IN_FORCE = (DecisionStatus.ACTIVE.value, ThreadStatus.OPEN.value)
_MOST_NOTES, _FEW = 8, 5
_LONGEST = 400
_MOST_IDS = 12


def read_clauses(page: Page) -> Iterator[StateClause]:
    """Yield each id of which a clause of the archive's own lines clearly says a state.

    A note below the line that begins with an id is about that record.
    """
    found: list[tuple[Sequence[str], int, str, float]] = []
    for line, words, is_entry in _clauses(page):
        clause = words.replace(SUBJECT, "#")  # that of a law
        runs = list(_runs(ascii_of(clause)))
        for run, first, last in runs[:1] if is_entry else runs:
            text = clause[:first] + SUBJECT + clause[last:]
            text = _SHUT.sub(SUBJECT, _MARKS.sub("", text))
            found.append((run, line, text, _LEAST_BESIDE if text.startswith(SUBJECT) else _LEAST_WITHIN))
    found += (([name], line, f"{SUBJECT} {text}", _LEAST_WITHIN) for name, line, text in _notes(page))
    found = [each for each in found if _may_be_state(each[2])]
    for (ids, line, text, least), sure in zip(found, surest_of([each[2] for each in found]), strict=True):
        states = tuple(
            (kind, name) for kind, (name, lead) in sure.items() if lead >= least and name != "none"
        )
        for local_id in ids if states else ():
            yield StateClause(local_id=local_id, line=line, text=text, states=states)


def ends(clauses: Iterable[StateClause]) -> list[StateClause]:
    """Return the clauses by which a record ends."""
    return [each for each in clauses if any(state not in _IN_FORCE for _, state in each.states)]


def _clauses(page: Page) -> Iterator[tuple[int, str, bool]]:
    """Yield line and text of each clause, and whether it is an entry of data."""
    yield from ((line, text, False) for line, text in _sentences(page))
    yield from ((line, text, True) for line, text in _entries(page))


def _may_be_state(text: str) -> bool:
    """Say whether a clause has words, and does not begin with a field's label: `Depends on: D2`."""
    labels = {field_named(labelled(text)[0], kind) for kind in CLASSES}
    return labels <= {None, "status"} and re.search(r"[^\W\d_]{2}|->|[\u2190-\u21ff]", text) is not None


def _runs(plain: str) -> Iterator[tuple[list[str], int, int]]:
    """Yield the ids that stand side by side in a clause, and where they begin and end: `D1, D2 and D4`."""
    found = list(_ID.finditer(plain))
    while found and len(found) <= _MOST_IDS:
        run = [found.pop(0)]
        while found and _BETWEEN.fullmatch(plain, run[-1].end(), found[0].start()):
            run.append(found.pop(0))
        yield [match[1] for match in run], run[0].start(), run[-1].end()


def _sentences(page: Page) -> Iterator[tuple[int, str]]:
    """Yield first line and text of each sentence of the archive's own lines, wrapped lines as one."""
    parts: list[tuple[int, list[str]]] = []
    for node in page.document.nodes:
        if node.kind not in ("line", "item") or not page.speaks(node):
            continue
        goes_on = parts and node.kind == "line" and parts[-1][0] + len(parts[-1][1]) == node.line
        is_wrapped = _GOES_ON.match(node.text) and not _begins(node.text) and labelled(node.text)[0] == ""
        if goes_on and is_wrapped:
            parts[-1][1].append(node.text)
        else:
            parts.append((node.line, node.text.split("\n")))
    for line, lines in parts:
        text, start, at = "\n".join(lines), 0, line
        for end in [*(match.end() for match in _STOP.finditer(text)), len(text)]:
            clause = text[start:end]
            yield at, " ".join(clause.split())[:_LONGEST]
            at, start = at + clause.count("\n"), end


def _begins(text: str) -> re.Match[str] | None:
    return _ID.match(_MARKS.sub("", ascii_of(text)))


def _notes(page: Page) -> Iterator[tuple[str, int, str]]:
    """Yield the id that a line begins with, and each line below it that an arrow or a day begins."""
    local_id, last, depth = "", 0, 0
    for number, line in enumerate(page.document.lines, 1):
        inner = len(line) - len(line.lstrip())
        if not (page.own[number - 1] and line.strip()):
            local_id = ""
        elif begins := _begins(line):
            local_id, last, depth = begins[1], number, inner
        elif local_id and inner > depth and number - last <= _MOST_NOTES and (note := _NOTE.match(line)):
            yield local_id, number, line[note.end() :][:_LONGEST]


def _entries(page: Page) -> Iterator[tuple[int, str]]:
    """Yield line and words of each key of data, and of each entry that is an id with a few short values."""
    waiting: list[tuple[str, object]] = [("", each) for each in reversed(page.found.documents)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            line = getattr(value, "line", None) or 1
            words = {key: item for key, item in value.items() if isinstance(item, str)}
            ids = [key for key, item in words.items() if _ID.fullmatch(item)]
            has_text = any(field_named(key, kind) in ("text", "title") for key in words for kind in CLASSES)
            if ids and not has_text and len(words) == len(value) <= _FEW:
                others = ", ".join(f"{key}: {item}" for key, item in words.items() if key != ids[0])
                yield line, f"{words[ids[0]]}: {name.replace('_', ' ')}, {others}"
            for key, item in {} if ids else value.items():
                if isinstance(item, str):
                    yield line, f"{key}: {item}"[:_LONGEST]
                else:
                    waiting.append((str(key), item))
        elif isinstance(value, list):
            listed = [each for each in value if isinstance(each, str)]
            if listed and all(map(_ID.fullmatch, listed)):
                yield 1, f"{name.replace('_', ' ')}: {', '.join(listed)}"
            else:
                yield from ((1, each[:_LONGEST]) for each in listed)
            waiting += [(name, each) for each in reversed(value) if not isinstance(each, str)]
