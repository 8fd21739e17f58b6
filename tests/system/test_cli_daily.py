"""What makes a command line pleasant: standard input, short names, narrow terminals, completion, pagers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runner import Cli

from forgekit import console

ROOT = Path(__file__).parents[2]


def test_a_dash_reads_the_text_from_standard_input(cli: Cli, registry: Path) -> None:
    ran = cli("decision", "new", "-", "--project", "P", root=registry, stdin=b"Use NATS\n")
    assert (ran.code, cli("decision", "list", "--json").json[0]["decision"]) == (0, "Use NATS")
    name = ran.out.strip()
    assert cli("decision", "revise", name, "-", stdin=b"Use JetStream\n").code == 0
    assert cli("thread", "new", "-", stdin=b"Which topic?").code == 0
    assert cli("thread", "list", "--json").json[0]["title"] == "Which topic?"


@pytest.mark.parametrize("stdin", [b"", b" \n", b"-\n"])
@pytest.mark.parametrize("noun", ["decision", "thread"])
def test_an_empty_standard_input_is_refused(cli: Cli, registry: Path, noun: str, stdin: bytes) -> None:
    ran = cli(noun, "new", "-", "--project", "P", root=registry, stdin=stdin)
    argument = "TEXT" if noun == "decision" else "TITLE"
    assert (ran.code, ran.out, ran.err) == (
        2,
        "",
        (
            f"forgekit: Invalid value for '{argument}': standard input holds no text\n"
            f"See `forgekit {noun} new --help`.\n"
        ),
    )


def test_a_text_without_a_word_is_no_decision(cli: Cli, registry: Path) -> None:
    ran = cli("decision", "new", "?!", "--project", "P", root=registry)
    assert (ran.code, ran.err) == (1, "forgekit: there is no word in '?!'; say it in words\n")


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ((), "forgekit: Missing option '--resolution'.\nSee `forgekit thread resolve --help`.\n"),
        (("--resolution", " "), "forgekit: how was the thread resolved? give --resolution TEXT\n"),
    ],
)
def test_a_thread_is_resolved_with_words_only(
    cli: Cli, registry: Path, given: tuple[str, ...], asked: str
) -> None:
    name = cli("thread", "new", "Which queue?", "--project", "P", root=registry).out.strip()
    ran = cli("thread", "resolve", name, *given)
    assert (ran.code, ran.out, ran.err) == (2, "", asked)
    assert cli("show", name, "--json").json["status"] == "open"


def test_a_short_prefix_names_what_only_one_begins_with(cli: Cli, registry: Path) -> None:
    names = [
        cli("decision", "new", f"Use number {n}", "--project", "P", root=registry).out.strip()
        for n in range(20)
    ]
    for name in names:
        length = next(n for n in range(5, 17) if [x[:n] for x in names].count(name[:n]) == 1)
        assert cli("show", name[:length]).out.startswith(name)
    ambiguous = next(x[:5] for x in names if [y[:5] for y in names].count(x[:5]) > 1)
    ran = cli("show", ambiguous)
    assert ran.code == 1
    first, *candidates = ran.err.splitlines()
    assert first == f"forgekit: {ambiguous!r} could be any of these; use one of the ids:"
    assert {line.split()[0] for line in candidates} == {x for x in names if x.startswith(ambiguous)}


def test_lists_are_filtered_by_tag_and_sorted(cli: Cli, registry: Path) -> None:
    for day, (title, *tags) in enumerate((("Bus", "a", "b"), ("Api", "a"), ("Cache", "b")), 1):
        options = [word for tag in tags for word in ("--tag", tag)]
        at = f"2026-03-0{day}"
        cli("decision", "new", title, "--project", "P", "--at", at, *options, root=registry)

    def listed(*options: str) -> list[str]:
        return [d["decision"] for d in cli("decision", "list", *options, "--json").json]

    assert listed() == ["Cache", "Api", "Bus"]
    assert listed("--tag", "a") == ["Api", "Bus"]
    assert listed("--tag", "a", "--tag", "b") == ["Bus"]
    assert listed("--sort", "oldest") == ["Bus", "Api", "Cache"]
    assert listed("--sort", "title") == ["Api", "Bus", "Cache"]
    assert listed("--as-of", "HEAD~1") == ["Api", "Bus"]


def test_the_log_says_what_a_commit_is_about(cli: Cli, registry: Path) -> None:
    name = cli("decision", "new", "Use NATS", "--project", "P", root=registry).out.strip()
    newest = cli("log").out.splitlines()[0]
    assert newest.endswith(f"{name} Use NATS")


def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process's output a terminal of 50 columns; a fixture would patch another stream."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


def test_at_50_columns_ids_are_whole_and_words_are_not_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _narrow(monkeypatch)
    title = "Keep access tokens of classroom tablets valid for thirty minutes"
    row = ("dec_b34bfcd74276", "superseded", "0.85", title, "The learning platform")
    console.table(("id", "status", "tier", "title", "project"), [row, row])
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines[: len(lines) // 2]] == [
        "dec_b34bfcd74276  superseded  0.85",
        "    Keep access tokens of classroom tablets valid",
        "    for thirty minutes",
        "    The learning platform",
    ]


def test_a_table_that_fits_50_columns_is_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _narrow(monkeypatch)
    console.table(("id", "title"), [("dec_b34bfcd74276", "Use Postgres for the job queue")])
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "id                title",
        "dec_b34bfcd74276  Use Postgres for the job queue",
    ]


def _completed(folder: Path, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "forgekit"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "_FORGEKIT_COMPLETE": "zsh_complete",
            "COMP_WORDS": " ".join(("forgekit", *words)),
            "COMP_CWORD": str(len(words)),
        },
    )
    return done.stdout.splitlines()


def test_a_shell_completes_ids_projects_and_tags(cli: Cli, registry: Path) -> None:
    name = cli("decision", "new", "Use NATS", "--project", "Nexus", "--tag", "bus", root=registry).out.strip()
    thread = cli("thread", "new", "Which queue?", "--tag", "broker").out.strip()
    assert _completed(registry, "decision", "show", "dec_") == ["plain", name, "Use NATS"]
    assert _completed(registry, "thread", "resolve", "t") == ["plain", thread, "Which queue?"]
    assert _completed(registry, "show", "thr") == ["plain", thread, "Which queue?"]
    assert _completed(registry, "stale", "--project", "N") == ["plain", "Nexus", "_"]
    assert _completed(registry, "decision", "list", "--tag", "b") == [
        *("plain", "broker", "_"),
        *("plain", "bus", "_"),
    ]


def test_a_shell_is_told_nothing_where_there_is_no_registry(tmp_path: Path) -> None:
    assert "".join(_completed(tmp_path, "decision", "show", "dec_")) == ""


def _paged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for a terminal of ten lines and its pager; return what the pager was given."""
    shown: list[str] = []
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("LINES", "10")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("PAGER", raising=False)
    monkeypatch.setattr("click.echo_via_pager", lambda text, **_: shown.append(text))
    return shown


def test_what_is_longer_than_the_terminal_is_paged(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pager = _paged(monkeypatch)
    for number in range(12):
        cli("decision", "new", f"Use number {number}", "--project", "P", root=registry)
    assert cli("decision", "list", "--limit", "5").out.count("\n") == 5
    assert pager == []
    assert cli("decision", "list").out == ""
    (text,) = pager
    assert text.count("Use number") == 12


@pytest.mark.parametrize(("options", "variable"), [(("--no-pager",), "less"), ((), "cat"), ((), "")])
def test_a_pager_is_not_started_where_it_is_not_wanted(
    cli: Cli,
    registry: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    variable: str,
) -> None:
    pager = _paged(monkeypatch)
    for number in range(12):
        cli("decision", "new", f"Use number {number}", "--project", "P", root=registry)
    monkeypatch.setenv("PAGER", variable)
    assert cli(*options, "decision", "list").out.count("Use number") == 12
    assert pager == []


def test_json_is_never_paged(cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pager = _paged(monkeypatch)
    for number in range(3):
        cli("decision", "new", f"Use number {number}", "--project", "P", root=registry)
    assert len(cli("decision", "list", "--json").json) == 3
    assert pager == []
