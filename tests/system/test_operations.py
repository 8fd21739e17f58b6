"""The table of operations: what is made from it, and that it says what the functions take."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from cli_runner import Cli

from forgekit import operations
from forgekit.cli import call
from forgekit.insight import views
from forgekit.operations import NOUNS, OPERATIONS, Argument, Operation, Type

ROOT = Path(__file__).parents[2]
IDS = [operation.name for operation in OPERATIONS]


def is_called_as_declared(operation: Operation) -> bool:
    """Whether the command line passes the arguments on as they are."""
    doors = {call.COMMANDS.get(name) for name in (operation.name, operation.name.rpartition(" ")[2])}
    changes = {f"changes:{name}" for name in ("decided", "duplicates", "edit", "scan", "validated")}
    return doors <= {None, "filing:archive_shown", "maintenance:sync", *changes}


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_a_row_names_a_function_that_takes_its_arguments(operation: Operation) -> None:
    module, _, name = operation.function.partition(":")
    parameters = inspect.signature(getattr(import_module(module), name)).parameters
    if not is_called_as_declared(operation):
        return
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    given = {a.name for a in operation.arguments if not a.printing} | dict(operation.fixed).keys()
    if operation.writes:
        given.add("options")
    assert given <= parameters.keys()
    needed = {n for n, parameter in parameters.items() if parameter.default is parameter.empty} - {"forge"}
    assert needed <= {a.name for a in operation.arguments if a.required} | dict(operation.fixed).keys()


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_a_row_is_complete(operation: Operation) -> None:
    assert operation.summary.endswith(".")
    assert operation.examples
    assert operation.section
    assert not operation.view or callable(getattr(views, operation.view))
    names = [argument.name for argument in operation.arguments]
    assert len(set(names)) == len(names)
    assert all(argument.help.endswith(".") for argument in operation.arguments if not argument.positional)


def test_names_are_given_once_and_nouns_have_verbs() -> None:
    assert len(set(IDS)) == len(IDS)
    assert {name.partition(" ")[0] for name in IDS if " " in name} == set(NOUNS)


def test_every_door_s_function_is_one_of_a_row() -> None:
    known = {name for operation in IDS for name in (operation, operation.rpartition(" ")[2])}
    assert {*call.COMMANDS, *call.FAILS} - known == set()
    rows = [o for o in OPERATIONS if not {o.name, o.name.rpartition(" ")[2]} & call.COMMANDS.keys()]
    printers = {f"{'changes' if row.writes else 'looking'}:{row.view}" for row in rows if row.view}
    for target in (*call.COMMANDS.values(), *printers):
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(f"forgekit.cli.{module}"), name))


def test_reading_the_table_imports_nothing_of_the_package_and_no_click() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import forgekit.operations; "
        "print(*sorted(n for n in sys.modules if n.startswith(('forgekit', 'click', 'dataclasses'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["forgekit", "forgekit.operations"]


def test_the_table_of_commands_names_every_command() -> None:
    shown = [first for names in operations.sections().values() for first in names]
    for name in IDS:
        first, _, verb = name.partition(" ")
        assert first in shown
        assert not verb or verb in operations.verbs(first)


def test_one_row_is_a_command(cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Operation(
        "thread active",
        "Return the open threads.",
        "forgekit.threads:thread_active_of",
        (Argument("project_name", Type.PROJECT, "Only of this project.", "--project"),),
        ("forgekit thread active",),
        section="Change",
    )

    def active(forge: Any, project_name: str | None = None) -> str:
        from forgekit.threads import thread_active

        return "".join(f"{thread['title']}\n" for thread in thread_active(project_name, forge=forge))

    monkeypatch.setattr("forgekit.threads.thread_active_of", active, raising=False)
    monkeypatch.setattr(operations, "OPERATIONS", (*OPERATIONS, row))
    cli("thread", "new", "Which queue?", "--project", "Nexus", root=registry)
    assert cli("thread", "active", "--project", "Nexus").out == "Which queue?\n"
    assert "active" in cli("thread").out
