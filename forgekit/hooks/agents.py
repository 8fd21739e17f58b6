"""The hooks of coding agents: what an agent is told when a session starts.

An agent runs `forgekit hook claude-code EVENT` with one JSON object on standard input. What the hook prints
becomes part of the agent's context, so it is statements of fact and never longer than `LONGEST`. A hook
fails open: whatever is wrong, it prints nothing, and its exit status is 0. It loads no model and no git
library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from forgekit.console import count, one_line
from forgekit.errors import AmbiguousError, NotFoundError
from forgekit.forge import Forge
from forgekit.ids import EntityId
from forgekit.model.entities import Decision, Thread
from forgekit.model.kinds import Kind, short_id
from forgekit.model.settings import project_matching
from forgekit.times import format_date
from forgekit.worktree.roots import cache_dir

LONGEST = 2_500
"""Characters of what a session is told at its start."""
MOST_READ = 1_000_000
LOG, LOG_SIZE = "agent-hooks.log", 100_000
_ROWS = 20
_TITLE = 160


def run(event: str, given: bytes, env: Mapping[str, str]) -> str:
    """Return what an agent is told at an event, "" where there is nothing to say.

    Args:
        event: such as `session-start`; an unknown one says nothing.
        given: what the agent wrote to standard input.
        env: `FORGEKIT_ROOT` may name the registry.
    """
    folder = Path()
    try:
        data = json.loads(given[:MOST_READ] or b"{}")
        if not isinstance(data, dict):
            return ""
        folder = Path(str(data.get("cwd") or Path.cwd()))
        tell = EVENTS.get(event)
        return tell(data, folder, env) if tell is not None else ""
    except Exception as e:  # noqa: BLE001 - an agent must go on, whatever happens here
        _note(folder, env, f"{event}: {type(e).__name__}: {e}")
        return ""


def _session_start(data: Mapping[str, Any], folder: Path, env: Mapping[str, str]) -> str:
    """Return the state of the project that a folder belongs to; after a compaction another hook speaks."""
    if data.get("source") == "compact":
        return ""
    forge = _opened(folder, env)
    with forge.catalogue.held():
        project, name = _project(forge, folder)
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


def _lines(word: str, entities: Iterable[Any]) -> list[str]:
    found = []
    for entity in entities:
        if isinstance(entity, (Decision, Thread)):
            name = f"{short_id(entity.kind, entity.id)} ({format_date(entity.created_at)})"
            found.append(f"- {word} {name}: {one_line(entity.title)[:_TITLE]}")
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


def _opened(folder: Path, env: Mapping[str, str]) -> Forge:
    """Return the registry that the environment names, else that of a folder."""
    return Forge.open(None if env.get("FORGEKIT_ROOT") else folder, env)


def _project(forge: Forge, folder: Path) -> tuple[EntityId, str]:
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


def _note(folder: Path, env: Mapping[str, str], text: str) -> None:
    """Add a line to the log of the registry, if there is one."""
    try:
        path = cache_dir(_opened(folder, env).root) / LOG
        with path.open("a", encoding="utf-8") as log:
            if log.tell() < LOG_SIZE:
                log.write(f"{one_line(text)[:500]}\n")
    except Exception:  # noqa: BLE001, S110 - there is nowhere to say it
        pass


EVENTS: Mapping[str, Callable[[Mapping[str, Any], Path, Mapping[str, str]], str]] = {
    "session-start": _session_start,
}
