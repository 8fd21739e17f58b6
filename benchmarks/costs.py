"""What the commands cost, each beside the floor under it, taken in the same run.

    python benchmarks/costs.py [--count 10000] [--runs 7] [--folder KEPT] [--vectors]

A row is a whole process unless it says "in process". Its floor does the least that any program must do for
the same answer. Printed: the best and the median of the runs in ms, the floor's median, the ratio of both
medians, and the budget for the median. No number here fails a build.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml
from generate import write

from forgekit.catalogue.catalogue import Catalogue
from forgekit.store.roots import cache_dir

QUERY = "why did we choose uuid ids for the billing service"
PYTHON = [sys.executable]
FORGEKIT = [sys.executable, "-m", "forgekit"]
USAGE = 2

# The floor of a search: look at the state of each file, then ask FTS5, with nothing but the standard library.
SEARCH_FLOOR = """
import os, sqlite3, sys
waiting = [os.path.join(sys.argv[1], "registry")]
while waiting:
    for entry in os.scandir(waiting.pop()):
        waiting.append(entry.path) if entry.is_dir() else entry.stat()
query = "SELECT title FROM words WHERE words MATCH 'uuid OR ids OR billing' ORDER BY rank LIMIT 20"
print(len(sqlite3.connect(sys.argv[2]).execute(query).fetchall()))
"""


class MissingError(Exception):
    """There is no such command."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: what runs, and the least that would do the same."""

    name: str
    budget: str
    run: Callable[[], object]
    floor_name: str
    floor: Callable[[], object]


def process(root: Path, *command: str, allowed: tuple[int, ...] = (0,)) -> Callable[[], object]:
    """Return a call that runs a whole process in the registry."""

    def run() -> object:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode not in allowed:
            said = (done.stderr.strip().splitlines() or ["no word on stderr"])[-1]
            raise MissingError(f"exit status {done.returncode}: {said}")
        return done.stdout

    return run


def rows(root: Path) -> list[Row]:
    """Return the table's rows, those of commands that are not there included."""
    found = Catalogue(root, cache_dir(root))
    found.refresh()
    decisions = sorted((root / "registry" / "decisions").rglob("*.md"))
    edited, watched = decisions[0], str(decisions[1].relative_to(root))
    number = itertools.count()

    def edit() -> None:
        with edited.open("a", encoding="utf-8") as file:
            file.write(f"\nEdit {next(number)}.\n")

    def refresh_edit() -> None:
        edit()
        found.refresh()

    def rebuild() -> None:
        with tempfile.TemporaryDirectory() as folder:
            new = Catalogue(root, Path(folder))
            new.refresh()
            new.close()

    def parse_all() -> None:
        for path in (root / "registry").rglob("*.md"):
            yaml.load(path.read_text(encoding="utf-8").split("---\n")[1], Loader=yaml.CBaseLoader)  # noqa: S506 - builds text only

    def decision() -> None:
        text = f"Benchmark decision {next(number)} of {time.time_ns()}"
        process(root, *FORGEKIT, "decision", "new", text, "--project", "The Nexus")()

    def commit() -> None:
        edit()
        process(root, "git", "commit", "--quiet", "--only", "--message", "floor", str(edited))()

    interpreter = process(root, *PYTHON, "-c", "pass")
    status = process(root, "git", "status", "--porcelain")
    floor = process(root, *PYTHON, "-c", SEARCH_FLOOR, str(root), str(found.path))
    libraries = process(root, *PYTHON, "-c", "import sqlite3, json, numpy, tokenizers")
    by_words = process(root, *FORGEKIT, "search", QUERY, "--mode", "lexical")
    search = process(root, *FORGEKIT, "search", QUERY, "--json")

    def by_both() -> None:
        said = json.loads(str(search()))
        if said["mode"] != "hybrid" or said["notice"]:
            raise MissingError(said["notice"])

    one = str(edited.relative_to(root))
    return [
        Row(
            name="--version",
            budget="60",
            run=process(root, *FORGEKIT, "--version"),
            floor_name="interpreter",
            floor=interpreter,
        ),
        Row(
            name="hook, nothing to do",
            budget="60",
            run=process(root, *FORGEKIT, "hook", "archives"),
            floor_name="interpreter",
            floor=interpreter,
        ),
        Row(name="search by words", budget="100", run=by_words, floor_name="stat + FTS5", floor=floor),
        Row(
            name="search by both",
            budget="300",
            run=by_both,
            floor_name="import NumPy, tokenizer",
            floor=libraries,
        ),
        Row(
            name="check of one file",
            budget="120",
            run=process(root, *FORGEKIT, "check", one, allowed=(0, 1)),
            floor_name="git status",
            floor=status,
        ),
        Row(
            name="write one decision",
            budget="200",
            run=decision,
            floor_name="git commit of a file",
            floor=commit,
        ),
        Row(
            name="history of one entity",
            budget="100",
            run=process(root, *FORGEKIT, "decision", "history", decisions[1].stem),
            floor_name="git log -- PATH",
            floor=process(root, "git", "log", "--oneline", "--", watched),
        ),
        Row(
            name="refresh, nothing new (in process)",
            budget="-",
            run=found.refresh,
            floor_name="git status",
            floor=status,
        ),
        Row(
            name="refresh after an edit (in process)",
            budget="60",
            run=refresh_edit,
            floor_name="git status",
            floor=status,
        ),
        Row(
            name="rebuild catalogue (in process)",
            budget="5,000",
            run=rebuild,
            floor_name="read and parse YAML",
            floor=parse_all,
        ),
    ]


def taken(action: Callable[[], object], runs: int) -> list[float]:
    """Return the sorted durations of several runs in ms, after one that warms the caches."""
    action()
    out = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        out.append((time.perf_counter() - start) * 1000)
    return sorted(out)


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="use this registry, made when it is not there")
    parser.add_argument("--vectors", action="store_true", help="make them first: a minute per 5,000 entities")
    options = parser.parse_args()
    source = str(Path(__file__).resolve().parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    for who in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{who}_NAME": "bench", f"GIT_{who}_EMAIL": "bench@example.org"}
    with tempfile.TemporaryDirectory() as scratch:
        root = options.folder or Path(scratch, "registry")
        if not root.exists():
            write(root, options.count)
        if options.vectors:
            process(root, *FORGEKIT, "index", "build")()
        time.sleep(2.5)  # files younger than two seconds are read twice
        show(root, options.runs)


def show(root: Path, runs: int) -> None:
    """Print the table."""
    head = f"{'command':36}{'best':>9}{'median':>9}{'floor':>9}{'ratio':>7}  {'budget':13}floor is\n"
    print(head + "-" * 104)
    for row in rows(root):
        try:
            times, floor = taken(row.run, runs), statistics.median(taken(row.floor, runs))
        except MissingError as e:
            print(f"{row.name:36}SKIPPED: {e}")
            continue
        median = statistics.median(times)
        print(
            f"{row.name:36}{times[0]:9.1f}{median:9.1f}{floor:9.1f}{median / floor:7.1f}  "
            f"{row.budget:13}{row.floor_name}"
        )


if __name__ == "__main__":
    main()
