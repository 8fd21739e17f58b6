"""The process around a command: exit codes, what is imported, pipes, interrupts."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runner import Cli
from repositories import git

from forgekit.cli.commands import command_of
from forgekit.operations import OPERATIONS, Operation

ROOT = Path(__file__).parents[2]
HEAVY = {
    *("torch", "sentence_transformers", "faiss", "numpy", "tokenizers"),
    *("pygit2", "rich", "yaml", "markdown_it"),
}


def _imported(folder: Path, *arguments: str) -> set[str]:
    """Return the modules that a whole process has imported when a command is done."""
    script = (
        "import sys\n"
        "from forgekit.cli.main import main\n"
        "code = main(sys.argv[1:])\n"
        "sys.stderr.write('\\n'.join(sorted(sys.modules)))\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{script}", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split("\n"))


@pytest.mark.parametrize("arguments", [("--version",), ("hook", "check"), ("hook", "stale")])
def test_a_command_with_nothing_to_do_imports_click_alone(registry: Path, arguments: tuple[str, ...]) -> None:
    modules = _imported(registry, *arguments)
    assert modules & {*HEAVY, "sqlite3", "json"} == set()
    own = {name.partition(".")[2] for name in modules if name.startswith("forgekit")}
    assert own <= {
        *("", "cli", "cli.main", "console", "errors", "hooks", "hooks.pre_commit"),
        *("model", "model.settings", "worktree", "worktree.roots"),
    }


def test_a_lexical_search_imports_no_git_and_no_model_library(registry: Path, cli: Cli) -> None:
    cli("decision", "new", "Use NATS", "--project", "P", root=registry)
    cli("search", "NATS")
    modules = _imported(registry, "search", "NATS", "--mode", "lexical")
    assert "forgekit.index.catalogue" in modules
    assert modules & HEAVY == set()


def test_the_history_of_a_whole_id_opens_neither_catalogue_nor_libgit2(registry: Path, cli: Cli) -> None:
    cli("decision", "new", "Use NATS", "--project", "P", root=registry)
    (path,) = (registry / "registry" / "decisions").rglob("*.md")
    modules = _imported(registry, "decision", "history", path.stem)
    assert "forgekit.git.program" in modules
    assert modules & {*HEAVY, "sqlite3"} == set()


def test_the_status_imports_libgit2_only_where_git_would_run_a_filter(registry: Path, cli: Cli) -> None:
    cli("decision", "new", "Use NATS", "--project", "P", root=registry)
    (path,) = (registry / "registry" / "decisions").rglob("*.md")
    path.write_text(path.read_text("utf-8") + "\nMore.\n", "utf-8")
    assert "pygit2" not in _imported(registry, "status")
    git(registry, "config", "filter.x.clean", "cat")
    assert "pygit2" in _imported(registry, "status")


def test_a_check_of_one_file_imports_no_git_and_no_editor_of_yaml(registry: Path, cli: Cli) -> None:
    cli("decision", "new", "Use NATS", "--project", "P", root=registry)
    (path,) = (registry / "registry" / "decisions").rglob("*.md")
    modules = _imported(registry, "check", str(path))
    assert "forgekit.checks" in modules
    assert modules & {*HEAVY, "ruamel.yaml", "forgekit.store"} == {"yaml"}


def test_a_bug_is_one_line_and_a_traceback_on_request(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("x\x1b[2J")

    monkeypatch.setattr("forgekit.forge.Forge.open", broken)
    ran = cli("status", root=registry)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == (
        "forgekit: internal error: KeyError: 'x\\x1b[2J'; "
        "run it again with `forgekit --debug ...` to see where\n"
    )
    ran = cli("--debug", "status")
    assert ran.code == 3
    assert ran.err.startswith("Traceback (most recent call last):\n")


def test_an_interrupt_is_130(cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("forgekit.forge.Forge.open", interrupted)
    ran = cli("status", root=registry)
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "interrupted")


def test_a_broken_pipe_ends_quietly(registry: Path, cli: Cli) -> None:
    for number in range(3):
        cli("decision", "new", f"Use {number} {'x' * 1500}", "--project", "P", root=registry)
    command = f"'{sys.executable}' -m forgekit export --format json | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=registry,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(registry.parent)},
    )
    assert (done.stdout, done.stderr) == ("{0\n", "")


CLOSED = ("--version", "--help", "status --json", "decision list", "decision list --json", "export", "nope")


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", CLOSED[:-1])
def test_a_reader_that_has_gone_is_no_finding(
    registry: Path, cli: Cli, arguments: str, unbuffered: str
) -> None:
    cli("decision", "new", "Use NATS", "--project", "P", root=registry)
    # The reader is gone before the command writes: it waits for the end of a pipe that the reader holds.
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "forgekit", *arguments.split()],
        cwd=registry,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closing", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("arguments", CLOSED)
def test_a_stream_that_is_closed_is_nowhere(registry: Path, cli: Cli, arguments: str, closing: str) -> None:
    cli("decision", "new", "Use NATS", "--project", "P", root=registry)
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m forgekit {arguments} {closing}"],
        cwd=registry,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == (2 if arguments == "nope" else 0)
    assert bool(done.stdout) == (arguments != "nope" and " >&-" not in f" {closing}")
    assert bool(done.stderr) == (arguments == "nope" and "2>&-" not in closing)
    assert "Traceback" not in done.stderr


def _completed(folder: Path, words: str) -> list[str]:
    """Return what a shell is told of a line whose last word is not done."""
    done = subprocess.run(
        [sys.executable, "-m", "forgekit"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "_FORGEKIT_COMPLETE": "bash_complete",
            "COMP_WORDS": f"forgekit {words}",
            "COMP_CWORD": str(len(words.split())),
        },
    )
    return done.stdout.splitlines()


def test_a_shell_is_told_how_a_line_goes_on(registry: Path) -> None:
    assert _completed(registry, "prepare-") == ["plain,prepare-compression", "plain,prepare-continuation"]


@pytest.mark.parametrize("typed", ["Bl", r"Blue\ H", '"Bl', '"Blue He'])
def test_bash_is_told_a_name_with_blanks_as_one_word(
    cli: Cli, registry: Path, tmp_path: Path, typed: str
) -> None:
    cli("project", "new", "Blue Heron", root=registry)
    launcher = tmp_path / "forgekit"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m forgekit\n', encoding="utf-8")
    launcher.chmod(0o755)
    script = cli("completion", "bash").out.partition("_forgekit_completion_setup()")[0]
    words = f"COMP_WORDS=(forgekit stale --project {shlex.quote(typed)}) COMP_CWORD=3"
    ask = f"{script}\n{words}\n_forgekit_completion {launcher}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(
        ["bash", "-c", ask],
        cwd=registry,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout == ("Blue Heron\n" if typed.startswith('"') else "Blue\\ Heron\n")


@pytest.mark.parametrize(
    "words",
    [
        "sync-compression h",
        "sync-compression --archive h",
        "ingest auto h",
        "check h",
        "init h",
        "-C h",
    ],
)
def test_a_shell_is_told_where_files_are_named(registry: Path, words: str) -> None:
    assert _completed(registry, words) == ["file,h"]


def test_the_clock_can_be_fixed_and_must_be_a_date(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = cli("decision", "new", "Use NATS", "--project", "P", root=registry).out.strip()
    assert cli("show", name, "--json").json["created_at"] == "2026-04-01T12:00:00Z"
    monkeypatch.setenv("FORGEKIT_NOW", "today")
    for command in (("status",), ("decision", "validate", name, "--at", "2026-03-01"), ("doctor",)):
        ran = cli(*command)
        assert (ran.code, ran.out, ran.err) == (
            2,
            "",
            "forgekit: FORGEKIT_NOW: 'today' is not a date such as 2026-03-04T16:20:00Z\n",
        )


def test_the_registry_may_be_named(cli: Cli, registry: Path, tmp_path: Path) -> None:
    assert cli("-C", str(registry), "project", "new", "Apollo", root=tmp_path).code == 0
    assert cli("-C", str(registry), "project", "list").out.endswith("\tApollo\t0\t0\t0\n")


def test_hostile_text_is_shown_and_never_acts(cli: Cli, registry: Path) -> None:
    name = cli(
        "decision", "new", "Use \u202eSTAN", "--project", "P", "--rationale", "a\x1b[2Jb", root=registry
    ).out
    for arguments in (
        ("show", name.strip()),
        ("decision", "list"),
        ("search", "Use"),
        ("show", name.strip(), "--json"),
    ):
        out = cli(*arguments).out
        assert "\u202e" not in out
        assert "\x1b" not in out
        assert "\\u202e" in out


def test_the_loop_comes_first_in_the_help(cli: Cli, registry: Path) -> None:
    ran = cli(root=registry)
    assert ran.code == 0
    headings = [line for line in ran.out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == [
        "Options:",
        "The loop:",
        "Conversations in:",
        "Look:",
        "Change:",
        "Coding agents:",
        "Keep in order:",
    ]


READING = {
    *("list", "show", "history", "status", "search", "context"),
    *("stale", "trace", "bridge", "log", "doctor", "ask"),
}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_command_has_a_summary_an_example_and_the_options_it_should(operation: Operation) -> None:
    name, command = operation.name, command_of(operation)
    text = command.help or ""
    assert text.split("\n")[0].endswith("."), "a one-line summary"
    assert f"forgekit {name.split(maxsplit=1)[0]}" in text or f"forgekit {command.name}" in text, "an example"
    options = {name for param in command.params for name in param.opts}
    if command.name in READING:
        assert "--json" in options
    if name not in {"sync", "setup"}:  # what clones share is commits, and agents' settings are not committed
        assert ("--dry-run" in options) == ("--no-commit" in options)
