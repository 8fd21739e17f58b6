"""Putting forgekit into a coding agent's own settings, and taking it out again.

Hooks and the MCP server are entries of files that belong to the agent and may hold anything else: entries are
added and removed, nothing else is. What a file held before is kept in the user's state folder, so that
removing brings its bytes back where nobody changed it since.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from enum import Enum, auto
from pathlib import Path
from typing import Any, NamedTuple

from forgekit.errors import FormatError
from forgekit.hooks.agents import AGENTS, Event, home_of

SECONDS = 10
"""For one hook."""
EDITING = "Edit|Write|NotebookEdit"
"""The tools of Claude Code before which it asks what governs a file."""
_NAMED = re.compile(r'^forgekit -C (?:"(?:[^"\\]|\\.)*"|\S+) ')
"""The beginning of a hook's command that names a registry."""
_TABLE = "[mcp_servers.forgekit"
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


class Edit(NamedTuple):
    """One file before and after; None where there is none."""

    path: Path
    before: str | None
    after: str | None

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        a, b = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(unified_diff(a, b, str(self.path), str(self.path)))


def setup(
    agent: str,
    *,
    project: bool = False,
    remove: bool = False,
    dry_run: bool = False,
    registry: str = "",
    env: Mapping[str, str] = os.environ,
) -> list[Edit]:
    """Add forgekit to an agent's settings, or remove it, and return what changed.

    Args:
        project: in the files of the working folder, else in those of the user.
        remove: take out what an earlier call added.
        registry: that hooks and server use; "" for the one that the agent's folder belongs to.

    Raises FormatError for a file that cannot be read, and then no file is changed.
    """
    home = Path(env.get("HOME") or Path.home())
    kept = Path(env.get("XDG_STATE_HOME") or home / ".local" / "state") / "forgekit" / "setup"
    place = PLACES[agent]
    line = ["forgekit", *(("-C", registry) if registry else ())]
    edits = []
    for target in place.project if project else place.user:
        path = Path.cwd() / target.path if project else _of_user(agent, target, home, env)
        before, wanted = _read(path), _wanted(agent, place.style, target, line)
        after = (_removed if remove else _added)(path, before, wanted)
        if remove and after != before:
            first = _read(kept / _name(path))
            again = None if first is None else _removed(path, _added(path, first, wanted), wanted)
            after = first if first is not None and again == after else after
        if after != before:
            edits.append(Edit(path, before, after))
            if before is not None and not (remove or dry_run) and _removed(path, before, wanted) == before:
                kept.mkdir(parents=True, exist_ok=True)
                (kept / _name(path)).write_text(before, encoding="utf-8")
    for edit in () if dry_run else edits:
        _write(edit)
        if remove:
            (kept / _name(edit.path)).unlink(missing_ok=True)
    return edits


def _of_user(agent: str, target: Target, home: Path, env: Mapping[str, str]) -> Path:
    """Return the path of a user's file, in the agent's own folder where that was moved."""
    known, own = AGENTS[agent], home_of(agent, env)
    moved = known.moved and env.get(known.moved)
    return own / target.path.removeprefix(f"{known.home}/") if moved else home / target.path


def _write(edit: Edit) -> None:
    if edit.after is None:
        edit.path.unlink()
    else:
        edit.path.parent.mkdir(parents=True, exist_ok=True)
        part = edit.path.with_name(f"{edit.path.name}.{os.getpid()}")
        part.write_text(edit.after, encoding="utf-8")
        if edit.before is not None:
            part.chmod(edit.path.stat().st_mode & 0o777)
        part.replace(edit.path.resolve())


def _name(path: Path) -> str:
    return hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as e:
        raise FormatError(f"{path}: cannot be read: {e}") from None


def _wanted(agent: str, style: Style, target: Target, line: list[str]) -> Data:
    """Return the entries of a file."""
    found: Data = {}
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


def _hook(style: Style, event: Event, command: list[str]) -> Data:
    text = " ".join(part if " " not in part else json.dumps(part) for part in command)
    if style is Style.CURSOR:
        return {"command": text}
    if style is Style.COPILOT:
        return {"type": "command", "bash": text, "timeoutSec": SECONDS}
    timeout = SECONDS * (1000 if style is Style.GEMINI else 1)
    group: Data = {"hooks": [{"type": "command", "command": text, "timeout": timeout}]}
    if style is Style.CLAUDE and event in {Event.START, Event.EDIT}:
        group = {"matcher": _STARTS if event is Event.START else EDITING, **group}
    return group


def _added(path: Path, text: str | None, wanted: Data) -> str:
    if path.suffix == ".toml":
        block = _toml(wanted)
        known = _parsed_toml(path, text or "").get("mcp_servers", {})
        return text or "" if "forgekit" in known else f"{text.rstrip()}\n\n{block}" if text else block
    data = _parsed(path, text)
    if text is not None and _merged(data, wanted) == data:
        return text
    return _dumped(_merged(_without(data, wanted), wanted), text)


def _removed(path: Path, text: str | None, wanted: Data) -> str | None:
    if text is None:
        return None
    if path.suffix == ".toml":
        rest = "".join(_outside_table(text))
        return rest if rest.strip() else None
    data = _parsed(path, text)
    left = _without(data, wanted)
    return text if left == data else _dumped(left, text) if set(left) - {"version"} else None


def _outside_table(text: str) -> Iterator[str]:
    """Yield the lines that do not belong to forgekit's table and those in it."""
    within = False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            within = line.startswith((f"{_TABLE}]", f"{_TABLE}."))
        if not within:
            yield line


def _parsed(path: Path, text: str | None) -> Data:
    try:
        data = json.loads(text) if text and text.strip() else {}
    except (ValueError, RecursionError) as e:
        raise FormatError(f"{path}: is no JSON ({e}); correct it, or add the entries yourself") from None
    if not isinstance(data, dict):
        raise FormatError(f"{path}: is no JSON object; correct it, or add the entries yourself")
    return data


def _parsed_toml(path: Path, text: str) -> Data:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as e:
        raise FormatError(f"{path}: is no TOML ({e}); correct it, or add the entries yourself") from None


def _toml(wanted: Data) -> str:
    [(table, servers)] = wanted.items()
    rows = "".join(f"{key} = {json.dumps(value)}\n" for key, value in servers["forgekit"].items())
    return f"[{table}.forgekit]\n{rows}"


def _dumped(data: Data, text: str | None) -> str:
    """Return JSON, indented as the text was."""
    second = (text or "").lstrip("{ \t\r").removeprefix("\n").partition("\n")[0] if text else "  "
    indent = second[: len(second) - len(second.lstrip())] or "  "
    return json.dumps(data, indent=indent, ensure_ascii=False) + "\n"


def _merged(data: Any, wanted: Any) -> Any:
    """Return data with what is wanted in it; what has another value stays as it is."""
    if isinstance(data, dict) and isinstance(wanted, dict):
        more = {key: _merged(data[key], value) if key in data else value for key, value in wanted.items()}
        return {**data, **more}
    if isinstance(data, list) and isinstance(wanted, list):
        return [*data, *(each for each in wanted if each not in data)]
    return data


def _without(data: Any, wanted: Any) -> Any:
    """Return data without what `_merged` added, and without what is empty then."""
    if isinstance(data, dict) and isinstance(wanted, dict):
        return dict(_left(data, wanted))
    if isinstance(data, list) and isinstance(wanted, list):
        ours = [_anywhere(each) for each in wanted]
        return [each for each in data if _anywhere(each) not in ours]
    return data


def _anywhere(entry: Any) -> Any:
    """Return an entry without the registry that it names, so that one is known whatever it names."""
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
