"""What a coding agent is told: facts of the registry, as few as bear on what happens.

Each function takes the registry and what the agent said, and returns text, "" where there is nothing to say.
None loads a model or a git library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forgekit.console import count, one_line
from forgekit.errors import AmbiguousError, NotFoundError
from forgekit.forge import Forge
from forgekit.governing import governing, relative
from forgekit.hooks import sessions
from forgekit.ids import EntityId
from forgekit.model.entities import Conflict, Decision, Thread
from forgekit.model.kinds import Kind, short_id
from forgekit.model.settings import project_matching
from forgekit.text.words import words
from forgekit.times import format_date

LONGEST = 2_500
"""Characters of what a session is told at its start."""
MOST_LINES = 3
"""Lines of what it is told later."""
_ROWS = 20
_TITLE = 160
_NEAR, _LEAST_WORDS = 0.6, 3
"""Share and number of a decision's words that a prompt has when it touches the decision."""
_PROMPT, _WORDS = 8_000, 200
"""Characters and words of a prompt that are looked at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """What an agent said when it called a hook.

    Attributes:
        session: the agent's id of the session, "" where it named none.
        folder: where the agent works.
        data: the whole input.
        prompt: what the person typed.
        transcripts: the format of its transcripts that `ingest` reads, "" where none is known.
        home: the folder that its transcripts are in.
    """

    agent: str
    session: str
    folder: Path
    data: Mapping[str, Any]
    prompt: str = ""
    transcripts: str = ""
    home: Path = Path()


def at_start(forge: Forge, heard: Heard) -> str:
    """Return the state of the project that a folder belongs to; after a compaction another hook speaks."""
    if heard.data.get("source") == "compact":
        return ""
    with forge.catalogue.held():
        project, name = project_of(forge, heard.folder)
        counts = forge.catalogue.counts()
        active, opened = (
            counts.get((kind, state, project), 0)
            for kind, state in ((Kind.DECISION, "active"), (Kind.THREAD, "open"))
        )
        if not active and not opened:
            return ""
        threads = forge.catalogue.newest(Kind.THREAD, "open", project, _ROWS)
        decisions = forge.catalogue.newest(Kind.DECISION, "active", project, _ROWS)
    head = (
        f"forgekit's register of {one_line(name)} holds {count(active, 'decision')} in force and "
        f"{count(opened, 'open thread')}. The newest, as recorded; the tools `search`, `ask` and `get` of "
        "forgekit, or `forgekit search`, find the others:"
    )
    return _within(head, _lines("open", threads), _lines("decided", decisions))


def at_prompt(forge: Forge, heard: Heard) -> str:
    """Return the decisions in force that a prompt touches closely, by words."""
    asked = set(words(heard.prompt[:_PROMPT]))
    if len(asked) < _LEAST_WORDS or not forge.settings.prompt_hook:
        return ""
    with forge.catalogue.held():
        forge.catalogue.refresh()
        project, _ = project_of(forge, heard.folder)
        query, kinds = " ".join(sorted(asked)[:_WORDS]), {Kind.DECISION}
        hits = forge.catalogue.search(query, kinds=kinds, status="active", project=project, limit=_ROWS)
        near = [hit.id for hit in hits if _is_near(hit.title, asked)][:MOST_LINES]
        decisions = {d.id: d for d in forge.catalogue.of_ids(Kind.DECISION, near)}
        opposed = _opposed(forge)
    return "\n".join(_lines("decided", (decisions[key] for key in near if key in decisions), opposed))


def _is_near(title: str, asked: set[str]) -> bool:
    own = words(title)
    common = len(asked.intersection(own))
    return common >= min(_LEAST_WORDS, len(own)) and common >= _NEAR * len(own)


def at_edit(forge: Forge, heard: Heard) -> str:
    """Return what governs the file that an agent is about to change, once per file and session."""
    given = heard.data.get("tool_input")
    path = given.get("file_path") or given.get("path") if isinstance(given, dict) else None
    if not isinstance(path, str) or not path:
        return ""
    inside = relative(path, heard.folder)
    seen = sessions.read(forge.root, heard.session)
    if inside in seen.files:
        return ""
    with forge.catalogue.held():
        rows = sorted(governing(forge, [inside]), key=lambda row: row.decision.id, reverse=True)
        opposed = _opposed(forge)
    if not rows:
        return ""
    sessions.write(forge.root, heard.session, seen.with_file(inside))
    rows.sort(key=lambda row: row.decision.id not in opposed)
    lines = _lines(f"{one_line(inside)} is governed by", (row.decision for row in rows), opposed)
    if len(lines) > MOST_LINES:
        more = f"- {len(lines) - MOST_LINES + 1} more: forgekit explain {one_line(inside)}"
        lines = [*lines[: MOST_LINES - 1], more]
    return "\n".join(lines)


def at_turn_end(forge: Forge, heard: Heard) -> str:
    """Say once per session that statements of it wait for a review."""
    seen = sessions.read(forge.root, heard.session)
    if seen.reminded or not heard.session:
        return ""
    forge.catalogue.refresh()
    waiting = forge.catalogue.candidates_of(heard.session)
    if not waiting:
        return ""
    sessions.write(forge.root, heard.session, seen.with_reminder())
    return f"{count(waiting, 'statement')} of this session may be a decision or a thread: `forgekit review`"


def project_of(forge: Forge, folder: Path) -> tuple[EntityId, str]:
    """Return id and name of the project of a folder, "" where nothing says which.

    The settings' patterns decide, then the name of the folder or of one above it, then the default project
    and the only one.
    """
    registry = forge.registry()
    chosen = project_matching(forge.settings.projects, (folder.as_posix(), folder.name))
    for each in [chosen] if chosen else reversed(folder.parts):
        try:
            found = forge.known_project(each, registry)
        except (NotFoundError, AmbiguousError):
            continue
        return found.id, found.project_name
    only = forge.project(None, registry, required=False)
    if only is None:
        return EntityId(""), ""
    found = forge.known_project(only, registry)
    return found.id, found.project_name


def _opposed(forge: Forge) -> set[EntityId]:
    """Return the sides of open verdicts."""
    found = forge.catalogue.entities(Kind.CONFLICT, "open")
    return {side for each in found if isinstance(each, Conflict) for side in each.sides}


def _lines(word: str, entities: Iterable[Any], opposed: Iterable[EntityId] = ()) -> list[str]:
    found = []
    for entity in entities:
        if isinstance(entity, (Decision, Thread)):
            name = f"{short_id(entity.kind, entity.id)} ({format_date(entity.created_at)})"
            open_ = ", in an open conflict" if entity.id in opposed else ""
            found.append(f"- {word} {name}{open_}: {one_line(entity.title)[:_TITLE]}")
    return found


def _within(head: str, threads: list[str], decisions: list[str]) -> str:
    """Return as many rows as there is room for; threads get half of it, decisions what is left."""
    kept = [head]
    for rows, most in ((threads, (LONGEST + len(head)) // 2), (decisions, LONGEST)):
        for row in rows:
            if len("\n".join((*kept, row))) > most:
                break
            kept.append(row)
    return "\n".join(kept)
