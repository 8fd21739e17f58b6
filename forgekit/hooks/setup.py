"""Putting forgekit into a coding agent's own settings, and taking it out again.

Hooks and the MCP server are entries of files that belong to the agent and may hold anything else: entries are
added and removed, nothing else is. What a file held before is kept in the user's state folder, so that
removing brings its bytes back where nobody changed it since.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from pathlib import Path
from typing import Any, NamedTuple

from forgekit.errors import FormatError
from forgekit.hooks.agents import AGENTS, HookEvent, home_of
from forgekit.worktree.files import FileEdit
from forgekit.worktree.local_state import path_hash

SECONDS = 10
"""For one hook."""
EDITING = "Edit|Write|NotebookEdit"
"""The tools of Claude Code before which it asks what governs a file."""
_NAMED = re.compile(r'^forgekit -C (?:"(?:[^"\\]|\\.)*"|\S+) ')
"""The beginning of a hook's command that names a registry."""
_TABLE = "[mcp_servers.forgekit"
_SHOWN = 40
"""Characters of a value that an error shows."""
_BOM = "\ufeff"
_BESIDE = r"//[^\n]*|/\*.*?\*/"
_BEYOND_JSON = re.compile(rf'("(?:[^"\\]|\\.)*")|{_BESIDE}|,(?=(?>\s|{_BESIDE})*+[}}\]])', re.DOTALL)
"""What editors allow in JSON: comments, and a comma after the last item; or a string, as the group."""
_STARTS = "startup|resume|clear|compact"
Data = dict[str, Any]


class Style(Enum):
    """How an agent writes a hook."""

    CLAUDE = auto()  # groups with a matcher; seconds
    GEMINI = auto()  # the same; milliseconds
    CURSOR = auto()  # a list of commands
    COPILOT = auto()


class Target(NamedTuple):
    """A file of an agent's settings.

    Attributes:
        path: below the home folder, or below the project.
        hooks: whether it holds hooks.
        servers: the key of its MCP servers, "" where it has none.
    """

    path: str
    hooks: bool = False
    servers: str = ""


class Place(NamedTuple):
    """Where an agent keeps its settings."""

    style: Style
    user: tuple[Target, ...]
    project: tuple[Target, ...]


_SERVERS = "mcpServers"
_CODEX = Target(".codex/hooks.json", hooks=True)
_CURSOR = (Target(".cursor/hooks.json", hooks=True), Target(".cursor/mcp.json", servers=_SERVERS))
_GEMINI = (Target(".gemini/settings.json", hooks=True, servers=_SERVERS),)
PLACES: Mapping[str, Place] = {
    "claude-code": Place(
        Style.CLAUDE,
        (Target(".claude/settings.json", hooks=True), Target(".claude.json", servers=_SERVERS)),
        (Target(".claude/settings.json", hooks=True), Target(".mcp.json", servers=_SERVERS)),
    ),
    "codex": Place(Style.CLAUDE, (_CODEX, Target(".codex/config.toml", servers="mcp_servers")), (_CODEX,)),
    "cursor": Place(Style.CURSOR, _CURSOR, _CURSOR),
    "gemini": Place(Style.GEMINI, _GEMINI, _GEMINI),
    "copilot": Place(
        Style.COPILOT,
        (Target(".copilot/mcp-config.json", servers=_SERVERS),),
        (Target(".github/hooks/forgekit.json", hooks=True), Target(".vscode/mcp.json", servers="servers")),
    ),
}


def setup(
    agent: str,
    *,
    project: bool = False,
    remove: bool = False,
    dry_run: bool = False,
    registry: str = "",
    env: Mapping[str, str] = os.environ,
) -> list[FileEdit]:
    """Add forgekit to an agent's settings, or remove it, and return what changed.

    Args:
        project: in the files of the working folder, else in those of the user.
        remove: take out what an earlier call added.
        registry: that hooks and server use; "" for the one that the agent's folder belongs to.

    Raises FormatError for a file that cannot be read, and then no file is changed.
    """
    home = _home(env)
    kept = Path(env.get("XDG_STATE_HOME") or home / ".local" / "state") / "forgekit" / "setup"
    line = ["forgekit", *(("-C", registry) if registry else ())]
    edits = []
    for target, path in _targets(agent, env, project=project):
        copy = kept / path_hash(path.resolve())
        before, wanted = _read(path), _wanted(agent, target, line)
        after = (_removed if remove else _added)(path, before, wanted)
        if remove and after != before:
            first = _read(copy)
            again = None if first is None else _removed(path, _added(path, first, wanted), wanted)
            after = first if first is not None and again == after else after
        if after != before:
            edits.append(FileEdit(path, before, after))
            if before is not None and not (remove or dry_run) and _removed(path, before, wanted) == before:
                kept.mkdir(parents=True, exist_ok=True)
                kept.chmod(0o700)  # settings may hold keys
                copy.write_text(before, encoding="utf-8", newline="")
    for edit in () if dry_run else edits:
        _write(edit)
        if remove:
            (kept / path_hash(edit.path.resolve())).unlink(missing_ok=True)
    return edits


def remarks(agent: str, *, project: bool = False, env: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield why the hooks or the server of an agent that was set up may not run."""
    targets = list(_targets(agent, env, project=project))
    for what, there in (
        ("hooks", any(target.hooks for target, _ in targets)),
        ("MCP server", any(target.servers for target, _ in targets)),
    ):
        if not there:
            whose, other = ("project", "") if project else ("user", " --project")
            yield f"{agent} gets no {what} for the {whose}; `forgekit setup {agent}{other}` adds that"
    for target, path in targets:
        wanted = _wanted(agent, target, ["forgekit"])
        servers = _parsed(path, _read(path), wanted).get(target.servers, {})
        if "forgekit" in servers and not _is_ours(servers["forgekit"], wanted[target.servers]["forgekit"]):
            yield f"{path} has a server `forgekit` of your own, which stays as it is"
    if shutil.which("forgekit", path=env.get("PATH")) is None:
        yield "`forgekit` is not on the PATH, so that the agent cannot run it: install it with pipx or uv"


def _targets(agent: str, env: Mapping[str, str], *, project: bool) -> Iterator[tuple[Target, Path]]:
    """Yield the files of an agent's settings, with their paths."""
    for target in PLACES[agent].project if project else PLACES[agent].user:
        yield target, Path.cwd() / target.path if project else _of_user(agent, target, _home(env), env)


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


def _of_user(agent: str, target: Target, home: Path, env: Mapping[str, str]) -> Path:
    """Return the path of a user's file, in the agent's own folder where that was moved."""
    known, own = AGENTS[agent], home_of(agent, env)
    moved = known.moved and env.get(known.moved)
    return own / target.path.removeprefix(f"{known.home}/") if moved else home / target.path


def _write(edit: FileEdit) -> None:
    if edit.after is None:
        edit.path.unlink()
    else:
        edit.path.parent.mkdir(parents=True, exist_ok=True)
        part = edit.path.with_name(f"{edit.path.name}.{os.getpid()}")
        part.touch(mode=0o600 if edit.before is not None else 0o666)
        part.write_text(edit.after, encoding="utf-8", newline="")
        if edit.before is not None:
            part.chmod(edit.path.stat().st_mode & 0o777)
        part.replace(edit.path.resolve())


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()  # with its line ends
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as e:
        raise FormatError(f"{path}: cannot be read: {e}") from None


def _wanted(agent: str, target: Target, line: list[str]) -> Data:
    """Return the entries of a file."""
    found: Data = {}
    style = PLACES[agent].style
    if target.hooks:
        events = AGENTS[agent].events.items()
        groups = {name: [_hook(style, event, [*line, "hook", agent, name])] for name, event in events}
        found |= {"hooks": groups}
        if style in {Style.CURSOR, Style.COPILOT}:
            found["version"] = 1
    if target.servers:
        server = {"command": line[0], "args": [*line[1:], "mcp"]}
        found[target.servers] = {"forgekit": server}
    return found


def _hook(style: Style, event: HookEvent, command: list[str]) -> Data:
    text = " ".join(part if " " not in part else json.dumps(part) for part in command)
    if style is Style.CURSOR:
        return {"command": text}
    if style is Style.COPILOT:
        return {"type": "command", "bash": text, "timeoutSec": SECONDS}
    timeout = SECONDS * (1000 if style is Style.GEMINI else 1)
    group: Data = {"hooks": [{"type": "command", "command": text, "timeout": timeout}]}
    if style is Style.CLAUDE and event in {HookEvent.START, HookEvent.EDIT}:
        group = {"matcher": _STARTS if event is HookEvent.START else EDITING, **group}
    return group


def _added(path: Path, text: str | None, wanted: Data) -> str:
    data = _parsed(path, text, wanted)
    if path.suffix == ".toml":
        if "forgekit" in data.get("mcp_servers", {}):
            return text or ""
        return text.rstrip() + _as_ended(f"\n\n{_toml(wanted)}", text) if text else _toml(wanted)
    try:
        if text is not None and _merged(data, wanted) == data:
            return text
        old = _without(data, {key: value for key, value in wanted.items() if key == "hooks"})
        return _dumped(path, _merged(old, wanted), text, wanted)
    except TypeError as e:
        raise _refused(path, str(e), wanted) from None


def _removed(path: Path, text: str | None, wanted: Data) -> str | None:
    if text is None:
        return None
    data = _parsed(path, text, wanted)
    left = _without(data, wanted)
    if left == data:
        return text
    if path.suffix == ".toml":
        rest = "".join(_outside_table(text))
        return rest if rest.strip() else None
    return _dumped(path, left, text, wanted) if set(left) - {"version"} else None


def _outside_table(text: str) -> Iterator[str]:
    """Yield the lines that do not belong to forgekit's table and those in it."""
    within = False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            within = line.startswith((f"{_TABLE}]", f"{_TABLE}."))
        if not within:
            yield line


def _parsed(path: Path, text: str | None, wanted: Data) -> Data:
    """Return what a file holds."""
    given = (text or "").removeprefix(_BOM)
    try:
        data = tomllib.loads(given) if path.suffix == ".toml" else json.loads(_plain(given).strip() or "{}")
    except (ValueError, RecursionError) as e:
        raise _refused(path, f"is no {path.suffix[1:].upper()} ({e})", wanted) from None
    if not isinstance(data, dict):
        raise _refused(path, "is no JSON object", wanted)
    return data


def _plain(text: str) -> str:
    """Return JSON without what only some programs read."""
    return _BEYOND_JSON.sub(lambda match: match[1] or "", text)


def _refused(path: Path, why: str, wanted: Data) -> FormatError:
    entries = _toml(wanted) if path.suffix == ".toml" else json.dumps(wanted, indent=2, ensure_ascii=False)
    return FormatError(f"{path}: {why}; add or remove forgekit's entries yourself:\n{entries}")


def _toml(wanted: Data) -> str:
    [(table, servers)] = wanted.items()
    rows = "".join(f"{key} = {json.dumps(value)}\n" for key, value in servers["forgekit"].items())
    return f"[{table}.forgekit]\n{rows}"


def _dumped(path: Path, data: Data, text: str | None, wanted: Data) -> str:
    """Return JSON, indented as the text was and with its line ends."""
    given = (text or "").removeprefix(_BOM)
    if _plain(given) != given:
        raise _refused(path, "has comments, which would be lost", wanted)
    second = given.lstrip("{ \t\r").removeprefix("\n").partition("\n")[0] if given else "  "
    indent = second[: len(second) - len(second.lstrip())] or "  "
    made = json.dumps(data, indent=indent, ensure_ascii=False) + "\n"
    return _BOM * (given != (text or "")) + _as_ended(made, text)


def _as_ended(made: str, text: str | None) -> str:
    """Return lines with the ends that those of a text have."""
    return made.replace("\n", "\r\n") if "\r\n" in (text or "") else made


def _is_ours(server: Any, wanted: Data) -> bool:
    """Return whether a server is the wanted one, whatever registry it names and whatever else it has."""
    same = {key: server.get(key) for key in wanted} if isinstance(server, dict) else None
    return bool(_anywhere(same) == _anywhere(wanted))


def _merged(data: Any, wanted: Any) -> Any:
    """Return data with what is wanted in it; what has another value stays as it is.

    Raises TypeError where something else is in the place of an object or a list.
    """
    if isinstance(wanted, dict) and "command" in wanted:
        return data | wanted if _is_ours(data, wanted) else data
    if isinstance(wanted, (dict, list)) and not isinstance(data, type(wanted)):
        needed = "an object" if isinstance(wanted, dict) else "a list"
        raise TypeError(f"has {json.dumps(data, ensure_ascii=False)[:_SHOWN]} where {needed} belongs")
    if isinstance(wanted, dict):
        more = {key: _merged(data[key], value) if key in data else value for key, value in wanted.items()}
        return {**data, **more}
    return [*data, *(each for each in wanted if each not in data)] if isinstance(wanted, list) else data


def _without(data: Any, wanted: Any) -> Any:
    """Return data without what `_merged` added, and without what is empty then."""
    if isinstance(data, dict) and isinstance(wanted, dict):
        if "command" in wanted:
            return {} if _is_ours(data, wanted) else data
        return dict(_left(data, wanted))
    if isinstance(data, list) and isinstance(wanted, list):
        ours = [_anywhere(each) for each in wanted]
        return [each for each in data if _anywhere(each) not in ours]
    return data


def _anywhere(entry: Any) -> Any:
    """Return an entry without the registry that it names, to compare it with an entry of any registry."""
    if isinstance(entry, dict):
        return {key: _anywhere(value) for key, value in entry.items()}
    if isinstance(entry, list):
        return [_anywhere(each) for each in (entry[2:] if entry[:1] == ["-C"] else entry)]
    return _NAMED.sub("forgekit ", entry) if isinstance(entry, str) else entry


def _left(data: Data, wanted: Data) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        same = key in wanted and _anywhere(value) == _anywhere(wanted[key])
        rest = _without(value, wanted[key]) if key in wanted and not same else value
        own = key in wanted and key != "version" and ((not rest and rest != value) or same)
        if not own:
            yield key, rest
