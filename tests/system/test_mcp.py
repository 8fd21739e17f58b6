"""The MCP server: what a client sees of it, in both eras of the protocol, and over a real process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_judge import install
from repositories import git

pytest.importorskip("mcp", reason="the extra `mcp` is not installed: the MCP server was not tested")

import anyio
from mcp import Client, MCPError, StdioServerParameters

from forgekit.decisions import create
from forgekit.forge import Forge
from forgekit.mcp.server import server_of
from forgekit.mcp.tools import TOOLS, tools

MODES = ("auto", "legacy")
WRITING = ["record_decision", "revise_decision", "record_thread", "resolve_thread", "file_archive"]


@pytest.fixture
def forge(registry: Path, monkeypatch: pytest.MonkeyPatch) -> Forge:
    install(monkeypatch)
    forge = Forge.open(registry)

    create(forge, "The API is REST", project="Nexus", rationale="everybody knows it")
    return forge


def asked(server: Any, ask: Callable[[Client], Any], mode: Any = "auto") -> Any:
    """Return what a client gets."""

    async def run() -> Any:
        async with Client(server, mode=mode) as client:
            try:
                return await ask(client)
            except MCPError as e:
                return e

    return anyio.run(run)


def called(forge: Forge, tool: str, **given: Any) -> Any:
    return asked(server_of(forge, writing=True), lambda client: client.call_tool(tool, given))


@pytest.mark.parametrize("mode", MODES)
def test_a_client_of_either_era_sees_the_tools_in_their_order(forge: Forge, mode: str) -> None:
    listed = asked(server_of(forge), lambda client: client.list_tools(), mode)
    names = [tool.name for tool in listed.tools]
    assert names == [tool.name for tool in tools(writing=False)]
    assert not set(names) & set(WRITING)
    for tool in listed.tools:
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, False)
        assert tool.annotations.destructive_hint is False
        assert tool.output_schema is not None


def test_the_writing_tools_are_offered_where_that_is_allowed(forge: Forge) -> None:
    listed = asked(server_of(forge, writing=True), lambda client: client.list_tools())
    assert [tool.name for tool in listed.tools if not tool.annotations.read_only_hint] == WRITING


@pytest.mark.parametrize("mode", MODES)
def test_a_question_is_answered_with_its_sources(forge: Forge, mode: str) -> None:
    given = {"question": "Why is the API REST?"}
    found = asked(server_of(forge), lambda client: client.call_tool("ask", given), mode)
    assert not found.is_error
    assert "everybody knows it" in found.content[0].text
    assert json.loads(found.content[0].text) == found.structured_content


def test_each_reading_tool_answers(forge: Forge) -> None:
    given: dict[str, Any] = {
        "search": {"query": "API"},
        "context": {"query": "API"},
        "explain": {"paths": ["a.py"]},
        "get": {"name": "The API is REST"},
    }
    given |= {"ask": {"question": "what is open?"}, "trace": {"conversation": "nobody"}}
    for tool in tools(writing=False):
        found = called(forge, tool.name, **given.get(tool.name, {}))
        assert found.is_error is (tool.name == "trace"), tool.name


def test_a_decision_that_contradicts_one_in_force_is_recorded_and_said_so(forge: Forge) -> None:
    found = called(forge, "record_decision", text="The API is GraphQL", project="Nexus")
    [conflict] = found.structured_content["conflicts"]
    assert conflict["level"] == "conflict"
    assert sorted(conflict["texts"]) == ["The API is GraphQL", "The API is REST"]
    listed = called(forge, "conflicts").structured_content["rows"]
    assert [row["status"] for row in listed] == ["found"]


def test_a_thread_is_recorded_and_resolved(forge: Forge) -> None:
    made = called(forge, "record_thread", title="Which queue?", project="Nexus").structured_content
    ended = called(forge, "resolve_thread", name=made["short_id"], resolution="NATS").structured_content
    assert made["id"] == ended["id"]
    assert called(forge, "get", name=made["short_id"]).structured_content["status"] == "resolved"


def test_an_archive_is_filed_once(forge: Forge) -> None:
    text = "# Conversation Archive: QUEUE_A_DONE\n\n## Decision Log\n\n### D001: Use NATS for the queue\n"
    given = {"text": text, "project": "Nexus"}
    first, again = (called(forge, "file_archive", **given).structured_content for _ in range(2))
    assert [one["kind"] for one in first["created"] if one["kind"] == "decision"] == ["decision"]
    assert (again["created"], again["commit"]) == ([], None)


def test_a_revision_takes_the_place_of_its_decision(forge: Forge) -> None:
    made = called(forge, "revise_decision", name="The API is REST", text="The API is REST, version 2")
    shown = called(forge, "get", name=made.structured_content["id"]).structured_content
    assert (shown["decision"], shown["status"]) == ("The API is REST, version 2", "active")
    assert called(forge, "get", name="The API is REST").structured_content["status"] == "revised"


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("search", {}, "'query' is a required property"),
        ("search", {"query": ""}, "query: '' should be non-empty"),
        ("search", {"query": "x", "limit": 0}, "limit: 0 is less than the minimum of 1"),
        (
            "search",
            {"query": "x", "path": "/etc"},
            "('path' was unexpected)",
        ),
        ("get", {"name": "dec_000000000000"}, "no entity answers to 'dec_000000000000'"),
        ("record_decision", {"text": "x y", "tier": 2}, "tier: 2 is greater than the maximum of 1"),
    ],
)
def test_a_call_that_does_not_fit_is_told_why(forge: Forge, name: str, given: Any, said: str) -> None:
    found = called(forge, name, **given)
    assert found.is_error
    assert said in found.content[0].text


def test_an_unknown_tool_is_an_error_of_the_protocol(forge: Forge) -> None:
    found = called(forge, "drop")
    assert (type(found), str(found)) == (MCPError, "no such tool: drop")


@pytest.mark.parametrize("mode", MODES)
def test_a_record_is_a_resource(forge: Forge, mode: str) -> None:
    server = server_of(forge)
    [one] = forge.registry().decisions
    read = asked(server, lambda client: client.read_resource(f"forgekit://decision/{one.id}"), mode)
    path = next((forge.root / "registry" / "decisions").rglob("*.md"))
    assert read.contents[0].text == path.read_text(encoding="utf-8")
    state = asked(server, lambda client: client.read_resource("forgekit://project/Nexus/state"), mode)
    assert "The API is REST" in state.contents[0].text
    shapes = asked(server, lambda client: client.list_resource_templates(), mode).resource_templates
    assert [shape.name for shape in shapes] == ["decision", "thread", "conversation", "archive", "state"]


@pytest.mark.parametrize(
    "uri", ["forgekit://decision/nobody", "forgekit://file/etc", "forgekit://decision/..%2F..%2Fx", "x://y"]
)
def test_what_is_no_record_is_no_resource(forge: Forge, uri: str) -> None:
    found = asked(server_of(forge), lambda client: client.read_resource(uri))
    assert isinstance(found, MCPError)


@pytest.mark.parametrize("mode", MODES)
def test_the_loop_is_offered_as_prompts(forge: Forge, mode: str) -> None:
    server = server_of(forge)
    prompts = asked(server, lambda client: client.list_prompts(), mode).prompts
    assert [prompt.name for prompt in prompts] == ["compress", "continue", "review"]
    found = asked(server, lambda client: client.get_prompt("compress", {"project": "Nexus"}), mode)
    assert "The API is REST" in found.messages[0].content.text
    waiting = asked(server, lambda client: client.get_prompt("review"), mode)
    assert "```json\n[]\n```" in waiting.messages[0].content.text
    refused = asked(server, lambda client: client.get_prompt("continue"), mode)
    assert (type(refused), str(refused)) == (MCPError, "continue needs tag")


def test_a_real_process_serves_over_its_standard_streams(registry: Path) -> None:
    line = ["-m", "forgekit", "-C", str(registry), "mcp", "--allow-write"]
    process = StdioServerParameters(command=sys.executable, args=line)
    made = asked(
        process, lambda client: client.call_tool("record_decision", {"text": "Use NATS", "project": "N"})
    )
    assert made.structured_content["commit"] is not None
    assert [one.decision for one in Forge.open(registry).registry().decisions] == ["Use NATS"]
    assert "\nForgekit-Agent: mcp\n" in git(registry, "log", "-1", "--format=%B")


def test_every_tool_says_what_each_argument_is() -> None:
    for tool in TOOLS:
        assert {argument.name for argument in tool.offered} >= set(tool.arguments)
        missing = [name for name, shape in tool.schema["properties"].items() if "description" not in shape]
        assert missing == [], tool.name
