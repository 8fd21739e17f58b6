"""The hooks of coding agents, and the plugin that runs them: facts at the start, never an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forgekit.decisions import create
from forgekit.forge import Forge
from forgekit.hooks import agents
from forgekit.threads import create as open_thread
from forgekit.worktree.roots import cache_dir

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "hooks" / "claude-code"


@pytest.fixture
def told(registry: Path) -> Path:
    """Return a registry with a decision and a thread of one project."""
    forge = Forge.open(registry)
    create(forge, "The API is REST", project="Nexus")
    open_thread(forge, "Which queue?", project="Nexus")
    return registry


def started(folder: Path, **more: object) -> str:
    given = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": str(folder)}
    return agents.run("session-start", json.dumps(given | more).encode(), {})


def test_a_session_is_told_what_its_project_decided(told: Path) -> None:
    [decision], [thread] = Forge.open(told).registry().decisions, Forge.open(told).registry().threads
    head, *rows = started(told).splitlines()
    assert head == (
        "forgekit's register of Nexus holds 1 decision in force and 1 open thread. The newest, as recorded; "
        "the tools `search`, `ask` and `get` of forgekit, or `forgekit search`, find the others:"
    )
    assert [row.split(" (")[0] for row in rows] == [
        f"- open thr_{thread.id[-12:]}",
        f"- decided dec_{decision.id[-12:]}",
    ]
    assert [row.split("): ")[1] for row in rows] == ["Which queue?", "The API is REST"]


@pytest.mark.parametrize("source", ["startup", "resume", "clear"])
def test_it_is_told_again_whenever_a_session_starts(told: Path, source: str) -> None:
    assert started(told, source=source) == started(told)


def test_after_a_compaction_nothing_is_said(told: Path) -> None:
    assert started(told, source="compact") == ""


def test_what_is_told_is_bounded_and_threads_leave_room_for_decisions(registry: Path) -> None:
    forge = Forge.open(registry)
    for number in range(30):
        create(forge, f"Decision {number}: " + "long " * 40, project="Nexus")
        open_thread(forge, f"Question {number}: " + "long " * 40, project="Nexus")
    text = started(registry)
    assert len(text) <= agents.LONGEST
    words = [row.split()[1] for row in text.splitlines()[1:]]
    assert words.count("open") >= 3
    assert words.count("decided") >= 3


def test_the_folder_says_which_project_is_meant(told: Path) -> None:
    create(Forge.open(told), "The game is 2D", project="Harbor")
    assert started(told) == ""
    inside = told / "harbor" / "src"
    inside.mkdir(parents=True)
    assert "The game is 2D" in started(inside)
    text = (told / "forgekit.toml").read_text(encoding="utf-8")
    (told / "forgekit.toml").write_text(f'{text}\n"Nexus" = ["*/harbor/*"]\n', encoding="utf-8")
    assert "The API is REST" in started(inside)


def test_a_text_cannot_leave_its_row(registry: Path) -> None:
    create(Forge.open(registry), "Use \u202etxt", project="Nexus")
    assert started(registry).splitlines()[1].endswith("Use \\u202etxt")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300) | st.text(max_size=60).map(lambda text: json.dumps({"cwd": text}).encode()))
def test_whatever_an_agent_writes_the_hook_does_not_fail(tmp_path: Path, written: bytes) -> None:
    for event in ("session-start", "stop", ""):
        assert agents.run(event, written, {"FORGEKIT_ROOT": str(tmp_path / "nowhere")}) == ""


def test_a_working_directory_that_is_gone_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert agents.run("session-start", b"{}", {}) == ""


def test_a_broken_registry_is_noted_in_its_log(told: Path) -> None:
    for path in (told / "registry" / "projects").glob("*.md"):
        path.write_bytes(b"---\n\xff")
    (told / "forgekit.toml").write_text("project = [", encoding="utf-8")
    assert started(told) == ""
    log = (cache_dir(told) / agents.LOG).read_text(encoding="utf-8")
    assert log.startswith("session-start: FormatError: ")


def test_the_plugins_hooks_run_what_they_name(told: Path) -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    [group] = hooks["SessionStart"]
    [handler] = group["hooks"]
    assert (handler["command"], group["matcher"]) == ("forgekit", "startup|resume|clear")
    line = [sys.executable, "-m", "forgekit", *handler["args"]]
    given = json.dumps({"cwd": str(told), "source": "startup"})
    done = subprocess.run(line, input=given, capture_output=True, text=True, check=True, cwd=told.parent)
    assert (done.stdout, done.stderr) == (started(told), "")
    nothing = subprocess.run(line, input="{", capture_output=True, text=True, check=True, cwd=told.parent)
    assert (nothing.stdout, nothing.stderr) == ("", "")


def test_the_manifests_have_what_the_agent_asks_of_them() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    [entry] = market["plugins"]
    assert (entry["name"], ROOT / entry["source"]) == (manifest["name"], PLUGIN)
    assert {"name", "owner", "plugins"} == set(market)
    server = json.loads((PLUGIN / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["forgekit"]
    assert server == {"command": "forgekit", "args": ["mcp", "--allow-write"]}


SKILLS = sorted((PLUGIN / "skills").glob("*/SKILL.md"))


@pytest.mark.parametrize("path", SKILLS, ids=[path.parent.name for path in SKILLS])
def test_a_skill_has_the_portable_keys(path: Path) -> None:
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    keys = dict(line.split(": ", 1) for line in head.splitlines())
    assert set(keys) == {"name", "description"}
    assert keys["name"] == path.parent.name
    assert len(keys["description"]) <= 1_024
    assert body.strip()
