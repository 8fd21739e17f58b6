"""`setup`: a coding agent's own settings get entries, keep everything else, and get their bytes back."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cli_runner import Cli
from hypothesis import given
from hypothesis import strategies as st

from forgekit.errors import FormatError
from forgekit.hooks.agents import AGENTS
from forgekit.hooks.setup import PLACES, _merged, _without, remarks, setup
from forgekit.operations import OF_AGENTS
from forgekit.worktree.files import FileEdit

HOOK = '{"hooks": [{"type": "command", "command": "say é"}]}'
OWN = f'{{\n    "model": "opus",\n    "hooks": {{"Stop": [{HOOK}]}}\n}}'
EXISTING = {
    ".claude/settings.json": OWN,
    ".claude.json": '{"mcpServers": {"other": {"command": "x"}}, "numStartups": 3}\n',
    ".mcp.json": "{}\n",
    ".codex/hooks.json": OWN,
    ".codex/config.toml": '# mine\nmodel = "o"\n\n[mcp_servers.other]\ncommand = "x"',
    ".cursor/hooks.json": '{\n\t"version": 1,\n\t"hooks": {"stop": [{"command": "say done"}]}\n}\n',
    ".cursor/mcp.json": '{"mcpServers": {}}',
    ".gemini/settings.json": '{"theme": "dark"}',
    ".copilot/mcp-config.json": '{"mcpServers": {"other": {"command": "x"}}}',
    ".github/hooks/other.json": '{"version": 1, "hooks": {}}',
}
SCOPES = [(agent, project) for agent in PLACES for project in (False, True)]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in EXISTING.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(home: Path) -> dict[str, bytes]:
    """Return what the agents' files hold."""
    every = (path for path in home.rglob("*") if path.is_file() and ".local" not in path.parts)
    return {str(path.relative_to(home)): path.read_bytes() for path in every}


def done(home: Path, agent: str, **options: Any) -> list[FileEdit]:
    return setup(agent, env={"HOME": str(home)}, **options)


def test_every_agent_that_calls_hooks_can_be_set_up() -> None:
    assert set(PLACES) == set(AGENTS) == set(OF_AGENTS)


@pytest.mark.parametrize(("agent", "project"), SCOPES)
def test_entries_are_added_once_and_removed_to_the_byte(home: Path, agent: str, project: bool) -> None:
    before = files(home)
    planned = done(home, agent, project=project, dry_run=True)
    assert files(home) == before
    assert all(edit.diff.startswith("--- ") for edit in planned)
    assert done(home, agent, project=project) == planned
    after = files(home)
    assert set(after) - set(before) == {str(e.path.relative_to(home)) for e in planned if e.before is None}
    assert done(home, agent, project=project) == []
    assert done(home, agent, project=project, remove=True) != []
    assert files(home) == before
    assert done(home, agent, project=project, remove=True) == []


@pytest.mark.parametrize(("agent", "project"), SCOPES)
def test_what_was_there_stays(home: Path, agent: str, project: bool) -> None:
    for edit in done(home, agent, project=project):
        parsed = tomllib.loads if edit.path.suffix == ".toml" else json.loads
        old, new = parsed(edit.before or ("" if parsed is tomllib.loads else "{}")), parsed(edit.after or "")
        assert _merged(old, new) == new
        assert _merged(new, old) == new


@pytest.mark.parametrize(("agent", "project"), SCOPES)
def test_a_file_that_was_changed_since_loses_only_the_entries(home: Path, agent: str, project: bool) -> None:
    for edit in done(home, agent, project=project):
        if edit.path.suffix == ".json":
            data = json.loads(edit.path.read_text()) | {"mine": [1]}
            edit.path.write_text(json.dumps(data))
    for edit in done(home, agent, project=project, remove=True):
        assert "forgekit" not in (edit.after or "")
        if edit.path.suffix == ".json":
            old = json.loads(EXISTING.get(str(edit.path.relative_to(home)), "{}"))
            left = json.loads(edit.path.read_text())
            assert left.pop("mine") == [1]
            assert {k: v for k, v in left.items() if v} == {k: v for k, v in old.items() if v} | (
                {"version": 1} if "version" in left else {}
            )


def test_private_settings_stay_private(home: Path) -> None:
    path = home / ".claude.json"
    path.write_text('{"key": "k"}\n')
    path.chmod(0o600)
    done(home, "claude-code")
    assert path.stat().st_mode & 0o777 == 0o600
    kept = home / ".local" / "state" / "forgekit" / "setup"
    assert [*kept.iterdir()]
    assert kept.stat().st_mode & 0o777 == 0o700


def test_the_registry_that_was_named_is_used(home: Path) -> None:
    done(home, "claude-code", registry="/r/my registry")
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    assert hooks["SessionStart"] == [
        {
            "matcher": "startup|resume|clear|compact",
            "hooks": [
                {
                    "type": "command",
                    "command": 'forgekit -C "/r/my registry" hook claude-code SessionStart',
                    "timeout": 10,
                }
            ],
        }
    ]
    servers = json.loads((home / ".claude.json").read_text())["mcpServers"]
    assert servers["forgekit"] == {
        "command": "forgekit",
        "args": ["-C", "/r/my registry", "mcp"],
    }


@pytest.mark.parametrize(("agent", "project"), SCOPES)
@pytest.mark.parametrize("later", ["", "/other place"])
def test_entries_that_name_a_registry_are_known_whatever_is_named_later(
    home: Path, agent: str, later: str, *, project: bool
) -> None:
    before = files(home)
    done(home, agent, project=project, registry="/a registry")
    done(home, agent, project=project, registry=later)
    told = "".join(data.decode() for name, data in files(home).items() if data != before.get(name))
    assert told.count("forgekit mcp") + told.count('"mcp"') <= 1
    for name in AGENTS[agent].events:
        assert told.count(f'hook {agent} {name}"') <= 1
    done(home, agent, project=project, remove=True)
    assert files(home) == before


@pytest.mark.parametrize(
    ("name", "agent", "text"),
    [
        (".claude.json", "claude-code", b"{ / a comment\n}"),
        (".claude/settings.json", "claude-code", b"[]"),
        (".claude/settings.json", "claude-code", b"\xff"),
        (".codex/config.toml", "codex", b"model = ["),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_nothing_is_written(
    home: Path, name: str, agent: str, text: bytes
) -> None:
    (home / name).write_bytes(text)
    before = files(home)
    with pytest.raises(FormatError, match=str(home / name)):
        done(home, agent)
    assert files(home) == before


@pytest.mark.parametrize(("agent", "project"), SCOPES)
def test_line_ends_and_a_byte_order_mark_stay(home: Path, agent: str, project: bool) -> None:
    for name in EXISTING:
        (home / name).write_bytes(b"\xef\xbb\xbf" + (home / name).read_bytes().replace(b"\n", b"\r\n"))
    before = files(home)
    for edit in done(home, agent, project=project):
        if edit.before is not None:
            data = edit.path.read_bytes()
            assert data.startswith(b"\xef\xbb\xbf")
            assert data.count(b"\n") == data.count(b"\r\n") or b"\r\n" not in edit.before.encode()
    done(home, agent, project=project, remove=True)
    assert files(home) == before


def test_the_diff_shows_lines_whatever_ends_them() -> None:
    edit = FileEdit(Path("a"), "x\r\ny", "x\r\nz\r\n")
    assert edit.diff == "--- a\n+++ a\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"
    assert FileEdit(Path("a"), "\udcff", None).diff.endswith("-\ufffd\n")


SERVER = json.dumps({"mcpServers": {"forgekit": {"command": "forgekit", "args": ["mcp"]}}}, indent=2)
UNTOUCHED = "add or remove forgekit's entries yourself"


def test_a_file_with_comments_is_left_and_the_entries_are_shown(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.write_text('{ // mine\n "mcpServers": {}, /* "x", */\n}', encoding="utf-8")
    before = files(home)
    with pytest.raises(FormatError) as refused:
        done(home, "cursor")
    assert str(refused.value) == f"{path}: has comments, which would be lost; {UNTOUCHED}:\n{SERVER}"
    assert files(home) == before
    path.write_text(f"// mine\n{SERVER[:-1]}, // {'/' * 99}\n}}", encoding="utf-8")
    assert [edit.path.name for edit in done(home, "cursor")] == ["hooks.json"]


def test_a_value_where_an_object_belongs_is_named(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.write_text('{"mcpServers": []}', encoding="utf-8")
    with pytest.raises(FormatError) as refused:
        done(home, "cursor")
    assert str(refused.value) == f"{path}: has [] where an object belongs; {UNTOUCHED}:\n{SERVER}"


@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("claude-code", ".claude.json", '{"mcpServers": {"forgekit": {"command": "mine"}}}'),
        ("claude-code", ".claude.json", '{"mcpServers": {"forgekit": {"url": "http://localhost:1"}}}'),
        ("codex", ".codex/config.toml", '[mcp_servers.forgekit]\ncommand = "mine"\n'),
    ],
)
def test_a_server_of_the_users_own_stays_whole(home: Path, agent: str, name: str, text: str) -> None:
    (home / name).write_text(text, encoding="utf-8")
    done(home, agent)
    env = {"HOME": str(home), "PATH": str(_with_forgekit(home))}
    stays = f"{home / name} has a server `forgekit` of your own, which stays as it is"
    assert list(remarks(agent, env=env)) == [stays]
    assert (home / name).read_text() == text
    done(home, agent, remove=True)
    assert (home / name).read_text() == text


def test_what_a_server_has_besides_stays_with_another_registry(home: Path) -> None:
    done(home, "claude-code", registry="/a")
    path = home / ".claude.json"
    path.write_text(path.read_text().replace('"command"', '"env": {"A": "b"}, "command"'), encoding="utf-8")
    done(home, "claude-code", registry="/b")
    assert json.loads(path.read_text())["mcpServers"]["forgekit"] == {
        "env": {"A": "b"},
        "command": "forgekit",
        "args": ["-C", "/b", "mcp"],
    }


def _with_forgekit(home: Path) -> Path:
    """Return a folder in which there is a `forgekit`."""
    program = home / ".local" / "bin" / "forgekit"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.touch(mode=0o755)
    return program.parent


def test_what_an_agent_does_not_get_is_said(home: Path) -> None:
    env = {"HOME": str(home), "PATH": str(_with_forgekit(home))}
    told = {(agent, scope): list(remarks(agent, project=scope, env=env)) for agent, scope in SCOPES}
    assert {key: lines for key, lines in told.items() if lines} == {
        ("codex", True): ["codex gets no MCP server for the project; `forgekit setup codex` adds that"],
        ("copilot", False): [
            "copilot gets no hooks for the user; `forgekit setup copilot --project` adds that"
        ],
    }
    assert list(remarks("gemini", env={"HOME": str(home), "PATH": ""})) == [
        "`forgekit` is not on the PATH, so that the agent cannot run it: install it with pipx or uv"
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.text("ab", max_size=1),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.text("ab", max_size=1), JSON, max_size=2), st.lists(JSON, max_size=3))
def test_adding_twice_is_adding_once(data: dict[str, Any], entries: list[Any]) -> None:
    wanted = {"hooks": {"Stop": entries}}
    once = _merged(data, wanted)
    assert _merged(once, wanted) == once
    if "hooks" not in data:
        assert _without(once, wanted) == data


def test_the_command_prints_the_diff(home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(_with_forgekit(home)), prepend=os.pathsep)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    [row] = cli("setup", "gemini", "--dry-run", "--json", root=home).json
    assert row["path"] == f"{home}/.gemini/settings.json"
    ran = cli("setup", "gemini", "--dry-run", root=home)
    assert (ran.code, cli("setup", "gemini", "--user", "--dry-run", root=home).out) == (0, ran.out)
    assert '+    "SessionStart": [' in ran.out
    lacks = (
        f"there is no registry in {home}, so that hooks there find none; `forgekit -C REGISTRY setup gemini` "
        "names one, `forgekit init` makes one\n"
    )
    assert ran.err == f"would change {home}/.gemini/settings.json\n{lacks}"
    (home / "forgekit.toml").write_text("schema = 2\n", encoding="utf-8")
    assert cli("setup", "gemini", root=home).err == f"changed {home}/.gemini/settings.json\n"
    assert cli("setup", "gemini", root=home).err == "forgekit is already in the settings of gemini\n"
    assert cli("setup", "gemini", "--remove", root=home).code == 0
    assert cli("setup", "gemini", "--remove", root=home).err == "forgekit is not in the settings of gemini\n"
