"""Conventions: stated, proposed, answered, edited and merged by people."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runner import Cli

TEXT = "Run tests with `make test`"


@pytest.fixture(autouse=True)
def _root(registry: Path, cli: Cli) -> None:
    assert cli("project", "new", "The Nexus").code == 0
    assert registry.is_dir()


def test_a_convention_is_stated_listed_edited_and_retired(cli: Cli) -> None:
    made = cli("convention", "new", TEXT, "--project", "The Nexus", "--scope", "src/**")
    name = made.out.strip()
    assert made.err.startswith(f"convention new {name}: committed as ")
    again = cli("convention", "list")
    assert again.out.split("\n")[0].split("\t") == [name, "active", "1.00", "0 in 0", "0", TEXT, "The Nexus"]
    edited = cli("convention", "edit", name, "--text", "Run tests with `make check`").out.strip()
    assert edited != name
    taken = cli("convention", "edit", edited, "--text", TEXT)
    assert taken.err == (f"forgekit: {name} says so already; `forgekit convention merge {edited} {name}`\n")
    assert cli("convention", "retire", name).err == (
        f"forgekit: {name} is revised; {edited} took its place\n"
    )
    assert cli("convention", "retire", edited).code == 0
    assert [row.split("\t")[1] for row in cli("convention", "list").out.splitlines()] == [
        "retired",
        "revised",
    ]
    assert cli("check").err == "3 entities checked: 0 errors, 0 remarks\n"
    subjects = [row.split("\t")[-1] for row in cli("convention", "history", edited).out.splitlines()]
    assert subjects == [
        f"convention: retire {edited} Run tests with `make check`",
        f"convention: edit {name} Run tests with `make test`",
    ]
