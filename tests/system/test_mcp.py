"""The MCP server: what a client sees of it, in both eras of the protocol, and over a real process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agent_transcripts import Transcript
from fake_judge import install
from guarantees import Level
from planted_secrets import ALNUM, drawn, seeded
from repositories import git

pytest.importorskip("mcp", reason="the extra `mcp` is not installed: the MCP server was not tested")

import anyio
from jsonschema import Draft202012Validator
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from starlette.testclient import TestClient

from forgekit import conventions
from forgekit.decisions import create
from forgekit.errors import UsageError
from forgekit.filing.review import Answers, answer
from forgekit.forge import Forge
from forgekit.mcp.http import app_of
from forgekit.mcp.server import server_of
from forgekit.mcp.tools import TOOLS, tools
from forgekit.model.entities import Proposal
from forgekit.model.kinds import Kind, short_id
from forgekit.threads import create as open_thread
from forgekit.times import format_date

MODES = ("auto", "legacy")
PUBLISHED = Path(__file__).parents[1] / "cases" / "mcp_tools.json"
BEARER = "a-token-for-tests-alone"
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
    assert set(names) & set(WRITING) == set(WRITING) - {"file_archive"}
    for tool in listed.tools:
        hints = tool.annotations
        assert (hints.destructive_hint, hints.open_world_hint) == (False, False)
        assert hints.read_only_hint is hints.idempotent_hint is (tool.name not in WRITING)
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)


def test_the_list_of_tools_is_as_published(forge: Forge) -> None:
    listed = asked(server_of(forge, writing=True), lambda client: client.list_tools())
    shown = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]
    assert json.dumps(shown, indent=1, ensure_ascii=False) + "\n" == PUBLISHED.read_text(encoding="utf-8")


def test_a_block_of_text_is_all_of_its_answer(forge: Forge) -> None:
    answer = called(forge, "context", query="queue", budget=300)
    [content] = answer.content
    assert answer.structured_content == {"context_text": content.text}
    assert content.text.startswith("## Context: queue\n")
    assert len(content.text) < 1_200


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


ARCHIVE = "# Conversation Archive: QUEUE_A_DONE\n\n## Decision Log\n\n### D001: Use NATS for the queue\n"
CALLS: dict[str, dict[str, Any]] = {
    "search": {"query": "API"},
    "ask": {"question": "why is the API REST?"},
    "get": {"name": "The API is REST"},
    "context": {"query": "API"},
    "status": {},
    "explain": {"paths": ["src/a.py"]},
    "trace": {"conversation": "QUEUE_A_DONE"},
    "conflicts": {},
    "stale": {"days": 1},
    "record_decision": {"text": "The API is GraphQL", "project": "Nexus", "governs": ["src/**"]},
    "revise_decision": {"name": "The API is GraphQL", "text": "The API is GraphQL, not REST"},
    "record_thread": {"title": "Which queue?", "project": "Nexus"},
    "resolve_thread": {"name": "Which queue?", "resolution": "NATS"},
    "file_archive": {"text": ARCHIVE, "project": "Nexus"},
    "check_compaction_status": {"session": "s1"},
    "preserve_critical_context": {"level": "critical", "session": "s1"},
    "restore_compacted_context": {"depth": "session", "session": "s1"},
}


@pytest.fixture(autouse=True)
def agent_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be a session of an agent."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    talk = Transcript()
    talk.prompt("Sort the routes by their length, please.")
    talk.write(tmp_path / "claude" / "projects" / "x" / "s1.jsonl")


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_answers_in_the_form_that_it_names(forge: Forge, mode: str) -> None:
    server = server_of(forge, writing=True)
    assert set(CALLS) == {tool.name for tool in TOOLS}
    order = [*(name for name in CALLS if name in WRITING), *(name for name in CALLS if name not in WRITING)]
    for name in order:
        found = asked(server, partial(Client.call_tool, name=name, arguments=CALLS[name]), mode)
        assert not found.is_error, (name, found.content)
        form = next(tool.answer for tool in TOOLS if tool.name == name)
        Draft202012Validator(form.schema).validate(found.structured_content)
        if form.rows:
            rows = found.structured_content[form.rows]
            assert rows or name in {"trace", "conflicts"}, name
            assert len(found.content[0].text.splitlines()) in {max(1, len(rows)), len(rows) + 1}, name


def test_a_list_goes_on_where_its_cursor_says(forge: Forge) -> None:
    for number in range(5):
        create(forge, f"The API has {number} versions", project="Nexus")
    seen: list[str] = []
    cursor: dict[str, str] = {}
    for size in (2, 2, 2):
        found = called(forge, "search", query="API", limit=2, **cursor).structured_content
        assert len(found["hits"]) == size
        seen += [hit["title"] for hit in found["hits"]]
        cursor = {"cursor": found["next"]}
    assert found["next"] is None
    whole = called(forge, "search", query="API").structured_content["hits"]
    assert seen == [hit["title"] for hit in whole]
    refused = called(forge, "search", query="API", cursor="-1")
    assert (refused.is_error, refused.content[0].text) == (
        True,
        "cursor: is not what an answer named as `next`",
    )


def test_what_an_agent_may_not_write_waits_for_a_review(forge: Forge) -> None:
    server = server_of(forge)
    known = Kind.DECISION, forge.registry().decisions[0].id
    given = {"text": "The API is GraphQL", "rationale": "fewer calls", "alternatives": ["REST"], "tier": 0.7}
    given |= {"context": "slow phones", "governs": ["src/api/**"], "dependencies": [short_id(*known)]}
    question = {"title": "Which queue?", "content": "Kafka is slow", "priority": "high"}
    for _ in range(2):
        found = asked(server, lambda client: client.call_tool("record_decision", given))
        assert not found.is_error, found.content
        (against,) = found.structured_content["conflicts"]
        assert (against["short_id"], against["level"]) == (short_id(*known), "conflict")
        asked(server, lambda client: client.call_tool("record_thread", question))
    decision, thread = sorted(forge.registry().candidates, key=lambda one: one.proposes.value)
    assert (decision.candidate, decision.rationale) == ("The API is GraphQL", "fewer calls")
    assert (decision.status.value, decision.why) == ("waiting", "proposed by mcp")
    assert (thread.candidate, thread.proposes.value) == ("Which queue?", "thread_open")
    assert len(forge.registry().decisions) == 1
    answer(forge, Answers(approve=frozenset({decision.id, thread.id})))
    (made,) = (one for one in forge.registry().decisions if one.decision == "The API is GraphQL")
    assert (made.rationale, made.context, made.epistemic_tier) == ("fewer calls", "slow phones", 0.7)
    assert (made.governs, made.dependencies) == (("src/api/**",), (known[1],))
    (asks,) = forge.registry().threads
    assert (asks.title, asks.content, asks.priority.value) == ("Which queue?", "Kafka is slow", "high")
    refused = asked(
        server, lambda client: client.call_tool("record_decision", {**given, "project": "Halbor"})
    )
    assert refused.is_error
    assert refused.content[0].text.startswith("no project answers to 'Halbor'")
    same = {"text": "the API is REST.", "project": "Nexus"}
    refused = asked(server, lambda client: client.call_tool("record_decision", same))
    assert (refused.is_error, refused.content[0].text) == (
        True,
        f"{short_id(*known)} of Nexus says the same; use it",
    )


def test_what_an_agent_may_not_change_waits_for_a_review(forge: Forge) -> None:
    server = server_of(forge)
    old = forge.registry().decisions[0]
    asks = open_thread(forge, "Which queue?", project="Nexus").entity
    name = short_id(Kind.DECISION, old.id)
    revised = {"name": name, "text": "The API is REST, and gRPC inside", "rationale": "speed"}
    ended = {"name": short_id(Kind.THREAD, asks.id), "resolution": "Kafka, since June"}
    found = asked(server, lambda client: client.call_tool("revise_decision", revised))
    assert (found.is_error, found.structured_content["conflicts"]) == (False, [])
    asked(server, lambda client: client.call_tool("resolve_thread", ended))
    decision, thread = sorted(forge.registry().candidates, key=lambda one: one.proposes.value)
    assert (decision.candidate, decision.why) == (revised["text"], f"proposed by mcp in the place of {name}")
    assert (thread.candidate, thread.proposes, thread.quote) == (
        "Which queue?",
        Proposal.THREAD_RESOLVED,
        "Kafka, since June",
    )
    answer(forge, Answers(approve=frozenset({thread.id}), revise=((decision.id, old.id),)))
    (asks,) = forge.registry().threads
    assert (asks.status.value, asks.resolution) == ("resolved", "Kafka, since June")
    assert {one.decision: one.status.value for one in forge.registry().decisions} == {
        old.decision: "revised",
        revised["text"]: "active",
    }
    refused = asked(server, lambda client: client.call_tool("revise_decision", revised))
    assert (refused.is_error, refused.content[0].text) == (True, f"{name} is already revised")


def test_the_setting_allows_writing(forge: Forge) -> None:
    settings = forge.root / "forgekit.toml"
    settings.write_text(settings.read_text().replace("mcp_write = false", "mcp_write = true"))
    listed = asked(server_of(Forge.open(forge.root)), lambda client: client.list_tools())
    assert {tool.name for tool in listed.tools} == set(CALLS)


def test_each_reading_tool_answers(forge: Forge) -> None:
    given: dict[str, Any] = {
        "search": {"query": "API"},
        "context": {"query": "API"},
        "explain": {"paths": ["a.py"]},
        "get": {"name": "The API is REST"},
    }
    given |= {"ask": {"question": "what is open?"}, "trace": {"conversation": "nobody"}}
    given |= {
        name: CALLS[name]
        for name in ("check_compaction_status", "preserve_critical_context", "restore_compacted_context")
    }
    for tool in (tool for tool in TOOLS if not tool.behind.writes):
        found = called(forge, tool.name, **given.get(tool.name, {}))
        assert found.is_error is (tool.name == "trace"), tool.name


def test_what_governs_a_file_has_its_marks_and_the_conventions(forge: Forge) -> None:
    names = [
        called(forge, "record_decision", text=text, project="Nexus", governs=["a.py"]).structured_content
        for text in ("The API is GraphQL", "Rows are sorted")
    ]
    made = conventions.create(forge, "Be brief", project="Nexus", scope=["*.py"]).entity
    found = called(forge, "explain", paths=["a.py"])
    [conflict] = names[0]["conflicts"]
    text = found.content[0].text.splitlines()
    assert text[:2] == [
        f"{names[0]['short_id']} | Nexus | The API is GraphQL | in conflict: {conflict['short_id']}",
        f"{names[1]['short_id']} | Nexus | Rows are sorted",
    ]
    assert f"cnv_{made.id[-12:]}" in text[2]


def test_a_decision_that_contradicts_one_in_force_is_recorded_and_said_so(forge: Forge) -> None:
    found = called(forge, "record_decision", text="The API is GraphQL", project="Nexus")
    [conflict] = found.structured_content["conflicts"]
    assert conflict["level"] == "conflict"
    assert sorted(conflict["texts"]) == ["The API is GraphQL", "The API is REST"]
    listed = called(forge, "conflicts").structured_content["rows"]
    assert [row["status"] for row in listed] == ["found"]


def test_a_project_that_a_record_begins_is_named_with_the_one_that_may_be_meant(forge: Forge) -> None:
    server = server_of(forge, writing=True)

    async def ask(client: Client) -> list[Any]:
        names = ("Nexsu", "Nexsu", "Nexus")
        given = ({"title": f"Which {n}?", "project": name} for n, name in enumerate(names))
        return [await client.call_tool("record_thread", each) for each in given]

    made = [found.structured_content["new_projects"] for found in asked(server, ask)]
    assert made == [[{"name": "Nexsu", "did_you_mean": "Nexus"}], [], []]


def test_a_thread_is_recorded_and_resolved(forge: Forge) -> None:
    made = called(forge, "record_thread", title="Which queue?", project="Nexus").structured_content
    ended = called(forge, "resolve_thread", name=made["short_id"], resolution="NATS").structured_content
    assert made["id"] == ended["id"]
    assert called(forge, "get", name=made["short_id"]).structured_content["status"] == "resolved"


def test_an_archive_is_filed_once(forge: Forge) -> None:
    text = "# Conversation Archive: QUEUE_A_DONE\n\n## Decision Log\n\n### D001: Use NATS for the queue\n"
    given = {"text": text, "project": "Nexus", "at": "2025-05-04"}
    first, again = (called(forge, "file_archive", **given).structured_content for _ in range(2))
    assert format_date(forge.registry().archives[0].compressed_at) == "2025-05-04"
    assert first["archives"][0]["problems"] == []
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
        ("search", {"query": "x" * 16_001}, "query is too long (16,001 characters, at most 16,000)"),
        ("search", {"query": "x", "limit": 0}, "limit: 0 is less than the minimum of 1"),
        (
            "search",
            {"query": "x", "path": "/etc"},
            "('path' was unexpected)",
        ),
        (
            "get",
            {"name": "dec_000000000000"},
            "no entity answers to 'dec_000000000000'; find its id with `forgekit search`",
        ),
        ("record_decision", {"text": "x y", "tier": 2}, "tier: 2 is greater than the maximum of 1"),
        ("resolve_thread", {"name": "Which queue?"}, "'resolution' is a required property"),
        ("explain", {}, "name a file, or two revisions with `diff`"),
        (
            "restore_compacted_context",
            {"session": "none"},
            (
                "no session answers to 'none'; name it with `session`, or its file with `--transcript` "
                "on the command line"
            ),
        ),
    ],
)
def test_a_call_that_does_not_fit_is_told_why(forge: Forge, name: str, given: Any, said: str) -> None:
    found = called(forge, name, **given)
    assert found.is_error
    assert found.content[0].text.endswith(said)


def test_an_agent_is_told_arguments_and_not_how_to_write_a_secret(forge: Forge) -> None:
    create(forge, "Use NATS", project="Ledger")
    token = "ghp_" + drawn(seeded("a token"), ALNUM, 36)
    refused = called(forge, "record_decision", text=f"Use {token}", project="Nexus").content[0].text
    assert refused.endswith("and nothing was written; remove it")
    missing = called(forge, "record_decision", text="Use Kafka").content[0].text
    assert missing.startswith("which project? say `project` (known: ")
    archive = f"# Conversation Archive: QUEUE_A_DONE\n\n### D001: Use {token}\n"
    [filed] = called(forge, "file_archive", text=archive, project="Nexus").structured_content["archives"]
    assert [each["fix"] for each in filed["problems"] if each["code"] == "redacted"] == [None]


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
    create(forge, "The game is 2D", project="Harbor / 2")
    listed = asked(server, lambda client: client.list_resources(), mode).resources
    assert [one.name for one in listed] == ["State of Harbor / 2", "State of Nexus"]
    state = asked(server, lambda client: client.read_resource(str(listed[0].uri)), mode)
    assert "The game is 2D" in state.contents[0].text
    shapes = asked(server, lambda client: client.list_resource_templates(), mode).resource_templates
    assert [shape.name for shape in shapes] == ["decision", "thread", "conversation", "archive", "state"]


@pytest.mark.parametrize(
    "uri", ["forgekit://decision/nobody", "forgekit://file/etc", "forgekit://decision/..%2F..%2Fx", "x://y"]
)
def test_what_is_no_record_is_no_resource(forge: Forge, uri: str) -> None:
    found = asked(server_of(forge), lambda client: client.read_resource(uri))
    assert isinstance(found, MCPError)
    assert uri.rpartition("/")[2].replace("%2F", "/") in str(found)


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
    [trailer] = re.findall("^Forgekit-Agent: (.*)$", git(registry, "log", "-1", "--format=%B"), re.MULTILINE)
    assert re.fullmatch(r"mcp [0-9a-f-]{36}", trailer), "the agent and its session"


def test_a_line_that_is_no_message_is_answered_with_an_error(registry: Path) -> None:
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        b"{not json",
        b"[" * 100_000,
        b"\xff",
        b"[]",
        b'{"jsonrpc":"2.0","id":7}',
        b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":"x"}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized","params":"x"}',
        json.dumps({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": info}).encode(),
    ]
    line = [sys.executable, "-m", "forgekit", "-C", str(registry), "mcp"]
    done = subprocess.run(line, input=b"\n".join(lines) + b"\n", capture_output=True, check=False)
    answers = [json.loads(row) for row in done.stdout.splitlines()]
    assert [(row["id"], row.get("error", {}).get("code")) for row in answers] == [
        *[(None, PARSE_ERROR)] * 3,
        (None, INVALID_REQUEST),
        (7, INVALID_REQUEST),
        (8, INVALID_PARAMS),
        (9, None),
    ]
    assert (done.returncode, done.stderr) == (0, b"")


def served(forge: Forge) -> TestClient:
    return TestClient(app_of(server_of(forge), BEARER), base_url="http://127.0.0.1:8000")


def test_http_answers_who_has_the_token(forge: Forge) -> None:
    right = {"Authorization": f"Bearer {BEARER}", "Accept": "application/json, text/event-stream"}
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info}
    with served(forge) as client:
        assert "forgekit" in client.post("/mcp", json=asked, headers=right).text
        for wrong, status in (
            ({"Authorization": ""}, 401),
            ({"Authorization": "Bearer x"}, 401),
            ({"Host": "evil.example"}, 421),
            ({"Origin": "https://evil.example"}, 403),
        ):
            assert client.post("/mcp", json=asked, headers=right | wrong).status_code == status


@pytest.mark.parametrize("token", ["", "short", "with blanks in it, many", "tökentökentökentöken"])
def test_a_token_that_is_easily_guessed_is_refused(forge: Forge, token: str) -> None:
    with pytest.raises(UsageError, match="FORGEKIT_MCP_TOKEN must have at least 16 printable characters"):
        app_of(server_of(forge), token)


def test_a_real_process_serves_over_http(registry: Path) -> None:
    line = [sys.executable, "-m", "forgekit", "-C", str(registry), "mcp", "--http", "0"]
    env = os.environ | {"FORGEKIT_MCP_TOKEN": BEARER}
    with subprocess.Popen(line, stderr=subprocess.PIPE, env=env, text=True) as process:
        try:
            assert process.stderr is not None
            [address] = re.findall(r"^serving (http://127\.0\.0\.1:\d+/mcp)$", process.stderr.readline())

            async def run() -> Any:
                headers = {"Authorization": f"Bearer {BEARER}"}
                async with (
                    create_mcp_http_client(headers=headers) as http,
                    Client(streamable_http_client(address, http_client=http)) as client,
                ):
                    return await client.call_tool("status", {})

            assert anyio.run(run).structured_content["root"] == str(registry)
        finally:
            process.terminate()


def test_two_agents_and_a_person_write_at_the_same_time(registry: Path, level: Level) -> None:
    end = time.monotonic() + (60 if level.soak else 5)

    async def agent(name: str) -> int:
        line = ["-m", "forgekit", "-C", str(registry), "mcp", "--allow-write"]
        made = 0
        async with Client(StdioServerParameters(command=sys.executable, args=line)) as client:
            while not made or time.monotonic() < end:
                given = {"text": f"{name} decides matter {made}", "project": "Nexus"}
                found = await client.call_tool("record_decision", given)
                assert not found.is_error, found.content
                made += 1
        return made

    def person() -> int:
        made = 0
        while not made or time.monotonic() < end:
            text = f"A person decides matter {made}"
            line = [sys.executable, "-m", "forgekit", "decision", "new", text, "--project", "Nexus"]
            done = subprocess.run(line, cwd=registry, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            made += 1
        return made

    with ThreadPoolExecutor(3) as pool:
        each = [
            pool.submit(anyio.run, agent, "One"),
            pool.submit(anyio.run, agent, "Another"),
            pool.submit(person),
        ]
        made = [one.result() for one in each]
    assert min(made) > 0
    assert len(Forge.open(registry).registry().decisions) == sum(made)


def test_every_tool_says_what_each_argument_is() -> None:
    for tool in TOOLS:
        assert {argument.name for argument in tool.offered} >= set(tool.arguments)
        missing = [name for name, shape in tool.schema["properties"].items() if "description" not in shape]
        assert missing == [], tool.name
