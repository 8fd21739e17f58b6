"""A session of a coding agent, as the registry sees it: `python examples/agent_session.py REGISTRY`.

Each step is a process or a call over the wire, as an agent makes them: the hook at the start, questions over
MCP, a decision that contradicts one in force, an archive, and the hook at the end. A second time changes
nothing. It needs the extra `mcp`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

FORGEKIT = [sys.executable, "-m", "forgekit"]
SESSION = "5e551011-0000-4000-8000-000000000001"
ARCHIVE = """\
# Conversation Archive: HARBOR_RATE_LIMITS

## Metadata
- **Date:** 2026-09-20
- **Project:** Harbor

## Decision Log

### D001: Limit each partner to 100 requests a minute
- **Rationale:** one partner polled every second
"""
SAID = (
    ("user", "How many requests may a partner send?"),
    ("assistant", "Nothing says so yet. I would allow 100 a minute."),
    ("user", "100 a minute, and we answer 429 above that."),
)


def main(registry: Path) -> int:
    """Run the session."""
    folder = registry / "harbor"  # its name says which project is meant
    folder.mkdir(exist_ok=True)
    transcript = written(folder)
    heard = {"session_id": SESSION, "cwd": str(folder), "transcript_path": str(transcript)}
    step("The session starts: a hook tells the agent what was decided.")
    print(hook(registry, "SessionStart", heard | {"source": "startup"}))
    anyio.run(over_mcp, registry)
    step("The session ends: a hook queues its transcript, and a process of its own ingests it.")
    hook(registry, "SessionEnd", heard)
    queue = registry / ".git" / "forgekit" / "queue"
    end = time.monotonic() + 120
    while any(queue.glob("*.json")) and time.monotonic() < end:
        time.sleep(0.1)
    print(f"{'still queued' if any(queue.glob('*.json')) else 'ingested'}: {transcript.name}")
    return 0


async def over_mcp(registry: Path) -> None:
    """Ask, record and file over MCP."""
    line = [*FORGEKIT[1:], "-C", str(registry), "mcp", "--allow-write"]
    async with Client(StdioServerParameters(command=FORGEKIT[0], args=line, env=dict(os.environ))) as client:

        async def call(tool: str, **given: Any) -> dict[str, Any]:
            found = await client.call_tool(tool, given)
            if found.is_error:
                raise SystemExit(f"{tool}: {found.content[0].text}")
            return found.structured_content

        step("The agent looks before it proposes.")
        hits = (await call("search", query="public API", scope="decisions", limit=2))["hits"]
        print(*(f"{hit['short_id']} {hit['title']}" for hit in hits), sep="\n")
        answer = await call("ask", question="Why did we decide to offer the public API as REST?")
        print(answer["answer_text"])
        step("It records what was said; the answer names what that contradicts. (This needs the model.)")
        text = "Offer the public API as GraphQL alone"
        made = await call("record_decision", text=text, project="Harbor", rationale="fewer round trips")
        print(f"{made['short_id']} {text}")
        for one in made["conflicts"]:
            print(f"{one['level']} {one['probability']}: {' / '.join(one['texts'])}")
        step("It files what compressing the session produced.")
        filed = await call("file_archive", text=ARCHIVE, project="Harbor")
        print(f"{len(filed['created'])} new, {len(filed['changed'])} changed")


def hook(registry: Path, event: str, given: dict[str, str]) -> str:
    """Call a hook as the agent does."""
    line = [*FORGEKIT, "hook", "claude-code", event]
    done = subprocess.run(
        line, cwd=registry, input=json.dumps(given), capture_output=True, text=True, check=True
    )
    return done.stdout


def written(folder: Path) -> Path:
    """Write the transcript that Claude Code would have kept, and return its path."""
    path = Path.home() / ".claude" / "projects" / "harbor" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "type": who,
            "sessionId": SESSION,
            "uuid": f"{number:08}-0000-4000-8000-000000000000",
            "parentUuid": f"{number - 1:08}-0000-4000-8000-000000000000" if number else None,
            "timestamp": f"2026-09-20T10:0{number}:00Z",
            "cwd": str(folder),
            "message": {"role": who, "content": text},
        }
        for number, (who, text) in enumerate(SAID)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def step(text: str) -> None:
    """Print what comes next."""
    print(f"\n-- {text}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]).resolve()))
