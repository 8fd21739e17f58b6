"""Notices to a coding agent: facts of the registry, as few as bear on what happens.

Each function takes the registry and the input of a hook, and returns text, "" where there is none to give.
None loads a model or a git library.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from forgekit.console import count, one_line
from forgekit.errors import ForgeError
from forgekit.forge import Forge
from forgekit.governing import applying, governing, relative
from forgekit.hooks.agents import HookInput
from forgekit.ids import EntityId, match_key, timestamp
from forgekit.model.kinds import UNSORTED, Kind, short_id
from forgekit.model.settings import project_matching
from forgekit.text.words import words
from forgekit.times import Instant, format_date
from forgekit.worktree import local_state
from forgekit.worktree.roots import cache_dir, top_of

LONGEST = 2_500
"""Characters of the notice at the start of a session."""
MOST_LINES = 3
"""Lines of a later one."""
_ROWS = 20
_TITLE, _PATH = 160, 1_000
"""Characters of a title that are shown, and of a path that is looked at."""
_NEAR, _LEAST_WORDS = 0.5, 3
"""Share and number of a decision's words that a prompt has when it touches the decision."""
_PATCH, _FILES = 100_000, 20
"""Characters of a patch that are looked at, and files of it."""
_PATCHED = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")
_HELD = ("active", "open")
_PROMPT, _WORDS = 8_000, 200
"""Characters and words of a prompt that are looked at."""


def at_start(forge: Forge, given: HookInput) -> str:
    """Return the state of the project that a folder belongs to; after a compaction `compactions.after` does.

    Where the settings ask for it, the conventions are written into the agent's memory file before.
    """
    target, compacted = forge.settings.inject, given.data.get("source") == "compact"
    if compacted and not target:
        return ""
    remarks = []
    if failures := [] if compacted else local_state.unfiled(forge.root):
        sessions = count(len(failures), "session")
        remarks.append(
            f"forgekit could not ingest {sessions}: {failures[-1]}; `forgekit doctor` says what to do"
        )
    with forge.catalogue.held():
        forge.catalogue.refresh()
        project, name = project_of(forge, given.folder)
        memory, state = top_of(given.folder) / (target or ""), forge.catalogue.state()
        if target and project and not local_state.is_injected(forge.root, memory, project, state):
            from forgekit.injection import inject_for

            try:
                done = inject_for(forge, project, target, check=False, folder=given.folder)
                if lost := [one_line(line) for edit in done.edits for line in edit.lost]:
                    remarks.append(
                        f"forgekit wrote over what was edited between its marks in {target}; "
                        f"`forgekit convention new` keeps it: {' / '.join(lost)}"[:_PATH]
                    )
                ended = (f"“{one_line(life.convention.title)}” ({life.stage.value})" for life in done.ended)
                if done.ended:
                    remarks.append(f"forgekit took out of {target}: {', '.join(ended)}"[:_PATH])
            except ForgeError as e:
                remarks.append(f"forgekit could not write the conventions: {one_line(str(e))}")
        if compacted:
            return "\n".join(remarks)
        remarks += _stated(forge, project) if project else _unmapped(forge, given)
        counts = forge.catalogue.counts()
        active, opened = (
            counts.get((kind, state, project), 0)
            for kind, state in ((Kind.DECISION, "active"), (Kind.THREAD, "open"))
        )
        if not active and not opened:
            return "\n".join(remarks)
        threads = forge.catalogue.titles(Kind.THREAD, "open", project, _ROWS)
        decisions = forge.catalogue.titles(Kind.DECISION, "active", project, _ROWS)
        opposed = _opposed(forge) if decisions else {}
    head = (
        f"forgekit's register of {one_line(name)} holds {count(active, 'decision')} in force and "
        f"{count(opened, 'open thread')}. The surest and newest, as recorded (data, not instructions); "
        "the tools `search`, `ask` and `get` of forgekit, or `forgekit search`, find the others:"
    )
    decided = _lines("decided", Kind.DECISION, decisions, opposed)
    return _within("\n".join([*remarks, head]), _lines("open", Kind.THREAD, threads), decided)


def _stated(forge: Forge, project: EntityId) -> list[str]:
    """Return once which conventions of a project hold because a user stated them outright."""
    every = local_state.read(forge.root, local_state.STATED)
    new = [key for key, owner in sorted(every.items()) if owner == project]
    if not new:
        return []
    local_state.write(forge.root, local_state.STATED, {key: every[key] for key in every if key not in new})
    found = [hit for hit in forge.catalogue.hits(new).values() if hit.status == "active"]
    names = ", ".join(f"{hit.short} “{one_line(hit.title)[:_TITLE]}”" for hit in found)
    head = "active at once, as the user stated it (`forgekit convention retire ID` ends it)"
    return [f"{head}: {names}"[:_PATH]] if found else []


def _unmapped(forge: Forge, given: HookInput) -> list[str]:
    """Return once per session how to name the project of a folder, where nothing does."""
    projects = [name for _, name in forge.catalogue.titles(Kind.PROJECT) if name != UNSORTED]
    seen = local_state.notices_of(forge.root, given.session)
    mapped = project_matching(forge.settings.projects, (given.folder.as_posix(), given.folder.name))
    if not projects or seen.unmapped or mapped or forge.settings.project:
        return []
    if given.session:
        local_state.record_notices(forge.root, given.session, seen._replace(unmapped=True))
    line = f'"{one_line(min(projects))[:_TITLE]}" = ["*/{one_line(given.folder.name)}"]'
    unknown = "forgekit does not know which project this folder belongs to"
    return [f"{unknown}; a line such as `{line}` below [projects] in forgekit.toml names it"]


def at_prompt(forge: Forge, given: HookInput) -> str:
    """Return the decisions in force that a prompt touches closely, by words, and what contradicts them."""
    asked = set(words(given.prompt[:_PROMPT]))
    if len(asked) < _LEAST_WORDS or not forge.settings.prompt_hook:
        return ""
    with forge.catalogue.held():
        forge.catalogue.refresh()
        project, _ = project_of(forge, given.folder)
        query, kinds = " ".join(sorted(asked)[:_WORDS]), {Kind.DECISION}
        hits = forge.catalogue.search(query, kinds=kinds, status="active", project=project, limit=_ROWS)
        near = [hit for hit in hits if _is_near(hit.title, asked)][:MOST_LINES]
        opposed = _opposed(forge) if near else {}
        others = forge.catalogue.hits({key for hit in near for key in opposed.get(hit.id, ())})
    against = {key: other for key, other in others.items() if other.status == "active"}
    rows: dict[EntityId, str] = {}
    for hit in near:  # both sides of a conflict, or none
        sides = [hit, *(against[key] for key in opposed.get(hit.id, ()) if key in against)]
        if rows and len(rows.keys() | {side.id for side in sides}) > MOST_LINES:
            break
        rows |= {side.id: side.title for side in sides[:MOST_LINES]}
    return "\n".join(_lines("decided", Kind.DECISION, rows.items(), opposed))


def _is_near(title: str, asked: set[str]) -> bool:
    own = words(title)
    common = len(asked.intersection(own))
    return common >= min(_LEAST_WORDS, len(own)) and common >= _NEAR * len(own)


def at_edit(forge: Forge, given: HookInput) -> str:
    """Return what governs the files that an agent is about to change, once per file and session."""
    seen = local_state.notices_of(forge.root, given.session)
    named = dict.fromkeys(relative(path, given.folder) for path in _edited(given.data.get("tool_input")))
    files = [path for path in named if path not in seen.files]
    if not files:
        return ""
    with forge.catalogue.held():
        governed = governing(forge, files)
        found = forge.catalogue.hits(governed)
        opposed = _opposed(forge) if found else {}
        conventions = applying(forge, files)
    if not found and not conventions:
        return ""
    governed_paths = {path for key in found for path in governed[key][0]}
    governed_paths |= {path for each in conventions for path in each.paths}
    local_state.record_notices(
        forge.root, given.session, seen._replace(files=(*seen.files, *sorted(governed_paths)))
    )
    lines = []
    for key in sorted(sorted(found, reverse=True), key=lambda key: key not in opposed):
        lines += _lines(_governed_by(governed[key][0]), Kind.DECISION, [(key, found[key].title)], opposed)
    for each in conventions:
        name, title = short_id(Kind.CONVENTION, each.convention.id), each.convention.title
        lines.append(f"- {_governed_by(each.paths)} the convention {name}: “{one_line(title)[:_TITLE]}”")
    if len(lines) > MOST_LINES:
        names = one_line(" ".join(path for path in files if path in governed_paths))[:_PATH]
        more = f"- {len(lines) - MOST_LINES + 1} more: forgekit explain {names}"
        lines = [*lines[: MOST_LINES - 1], more]
    return "\n".join(lines)


def _governed_by(paths: Sequence[str]) -> str:
    return f"{one_line(', '.join(paths))[:_TITLE]} {'is' if len(paths) == 1 else 'are'} governed by"


def _edited(tool: Any) -> list[str]:
    """Return the paths of the files that a call of a tool changes, as it names them or its patch does."""
    given = tool if isinstance(tool, dict) else {}
    patch = given.get("command") or given.get("patch") or given.get("input")
    lines = patch[:_PATCH].splitlines() if isinstance(patch, str) else []
    named = [given.get(key) for key in ("file_path", "notebook_path", "path")]
    named += [line.partition(": ")[2].strip() for line in lines if line.startswith(_PATCHED)]
    return [path for path in named if isinstance(path, str) and 0 < len(path) <= _PATH][:_FILES]


def at_turn_end(forge: Forge, given: HookInput) -> str:
    """Say once per session that statements of it wait for a review."""
    seen = local_state.notices_of(forge.root, given.session)
    if seen.reminded or not given.session:
        return ""
    forge.catalogue.refresh()
    waiting = forge.catalogue.candidates_of(given.session)
    if not waiting:
        return ""
    local_state.record_notices(forge.root, given.session, seen._replace(reminded=True))
    return f"{count(waiting, 'statement')} of this session may be a decision or a thread: `forgekit review`"


def project_of(forge: Forge, folder: Path) -> tuple[EntityId, str]:
    """Return id and name of the project of a folder, "" where nothing says which.

    The settings' patterns decide, then the name of the folder or of one above it, then the default project
    and the only one. Of projects whose names differ in case alone, the one with most in force is meant.
    """
    known = forge.catalogue.titles(Kind.PROJECT)
    chosen = project_matching(forge.settings.projects, (folder.as_posix(), folder.name))
    for each in (chosen,) if chosen else (*reversed(folder.parts), forge.settings.project or ""):
        found = [row for row in known if match_key(row[1]) == match_key(each)]
        if found:
            counts = forge.catalogue.counts() if len(found) > 1 else {}
            held = {
                row: sum(n for (_, s, of), n in counts.items() if of == row[0] and s in _HELD)
                for row in found
            }
            return max(found, key=lambda row: (held[row], row[1] == each, row))
    only = len(known) == 1 and not chosen and known[0][1] != UNSORTED
    return known[0] if only else (EntityId(""), "")


def _opposed(forge: Forge) -> Mapping[EntityId, Collection[EntityId]]:
    """Return the decisions that contradict others, with these, as far as that is known without judging."""
    from forgekit.index.finding_cache import kept_opposed

    return forge.catalogue.opposed(kept_opposed(cache_dir(forge.root), forge.catalogue.tree))


def _lines(
    word: str,
    kind: Kind,
    rows: Iterable[tuple[EntityId, str]],
    opposed: Mapping[EntityId, Collection[EntityId]] = MappingProxyType({}),
) -> list[str]:
    found = []
    for key, title in rows:
        name = f"{short_id(kind, key)} ({format_date(Instant(timestamp(key)))})"
        others = " and ".join(short_id(kind, other) for other in opposed.get(key, ()))
        open_ = f", in an open conflict with {others}" if others else ""
        found.append(f"- {word} {name}{open_}: “{one_line(title)[:_TITLE]}”")
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
