"""The scripted session of an agent: hooks, the MCP server and ingestion as real processes, twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repositories import git

pytest.importorskip("mcp", reason="the extra `mcp` is not installed: the agent's session was not tested")

from forgekit.decisions import create
from forgekit.forge import Forge

SCRIPT = Path(__file__).parents[2] / "examples" / "agent_session.py"


def test_a_session_is_told_recorded_and_filed_and_a_second_one_changes_nothing(registry: Path) -> None:
    create(
        Forge.open(registry), "Offer the public API as REST resources", project="Harbor", rationale="caches"
    )
    shutil.copy(Path(os.environ["HOME"]) / ".gitconfig", registry.parent)
    env = os.environ | {"HOME": str(registry.parent)}
    said = []
    trees = []
    for _ in range(2):
        line = [sys.executable, str(SCRIPT), str(registry)]
        done = subprocess.run(line, capture_output=True, text=True, check=False, env=env, timeout=300)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
        trees.append(git(registry, "rev-parse", "HEAD^{tree}"))
    first, second = said
    assert "forgekit's register of Harbor holds 1 decision in force and 0 open threads." in first
    assert "- Because: caches" in first
    assert "\n3 new, 0 changed\n" in first
    assert "\n0 new, 0 changed\n" in second
    assert first.rstrip().endswith("ingested: 5e551011-0000-4000-8000-000000000001.jsonl")
    assert trees[0] == trees[1]
    found = Forge.open(registry).registry()
    assert {one.decision for one in found.decisions} == {
        "Offer the public API as REST resources",
        "Offer the public API as GraphQL alone",
        "Limit each partner to 100 requests a minute",
    }
    assert "5e551011-0000-4000-8000-000000000001" in {talk.external_id for talk in found.conversations}
