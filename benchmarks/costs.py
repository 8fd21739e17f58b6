"""What the commands cost, each beside the floor under it, taken in the same run.

    python benchmarks/costs.py [--count 10000] [--runs 7] [--folder KEPT] [--growth [100000]]

A row is a whole process unless it says "in process". Its floor does the least that any program must do for
the same answer. The two are run in turn, so that both meet the same disturbances. Printed: the best and the
median of the runs in ms, the floor's median, the ratio of both medians, the budget for the median, and the
median of the processor time, which disturbances touch least. No number here fails a build.

A process finds its modules compiled, as in an installation. What a vector says costs a search nothing, and
minutes to find out: most of those here are invented. What making them costs, `benchmarks/vectors.py` prints.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import yaml
from generate import PLACES, PROJECTS, THINGS, write
from numpy.typing import NDArray

from forgekit import conventions
from forgekit.decisions import create
from forgekit.forge import COMMITTED, Forge
from forgekit.ids import convention_id
from forgekit.index.catalogue import Catalogue
from forgekit.index.vectors import Vectors
from forgekit.insight.conventions import MOST
from forgekit.mcp.server import RequestHandlers
from forgekit.models.encoder import Encoder
from forgekit.search import update_vectors
from forgekit.store import Change
from forgekit.worktree.roots import cache_dir

QUERY = "why did we choose uuid ids for the billing service"
PYTHON = [sys.executable]
FORGEKIT = [sys.executable, "-m", "forgekit"]
SMALL = 1_000

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
    """A row cannot be had; says why."""


class Row(NamedTuple):
    """One line of the table: what runs, and the least that would do the same."""

    name: str
    budget: str
    run: Callable[[], object]
    floor_name: str
    floor: Callable[[], object]


def process(root: Path, *command: str, allowed: tuple[int, ...] = (0,)) -> Callable[[], object]:
    """Return a call that runs a whole process in the registry; bytecode is kept, as where it is installed."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run() -> object:
        done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
        if done.returncode not in allowed:
            said = (done.stderr.strip().splitlines() or ["no word on stderr"])[-1]
            raise MissingError(f"exit status {done.returncode}: {said}")
        return done.stdout

    return run


def agent_hook(root: Path, event: str, **given: object) -> Callable[[], object]:
    """Return a call of a coding agent's hook as a whole process."""
    data = json.dumps({"session_id": "s", "cwd": str(root), "source": "startup"} | given)
    line, env = [*FORGEKIT, "hook", "claude-code", event], os.environ | {"HOME": str(root.parent)}
    return lambda: subprocess.run(
        line, cwd=root, input=data, capture_output=True, text=True, check=True, env=env
    )


def compacted(root: Path, turns: int = 40) -> str:
    """Write the transcript of a session that was just compacted, 1,000 records, and return its path."""
    path = root.parent / ".claude" / "projects" / "x" / "s.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for turn in range(turns):
        rows.append(
            {"type": "user", "message": {"content": f"Please change part {turn}, and never the API."}}
        )
        for call in range(12):
            key, name = f"{turn}-{call}", ("Edit", "Read", "Bash")[call % 3]
            given = (
                {"command": f"make part{call}"} if name == "Bash" else {"file_path": f"/w/{turn}/{call}.py"}
            )
            used = {"type": "tool_use", "id": key, "name": name, "input": given}
            rows.append({"type": "assistant", "message": {"id": key, "content": [used]}})
            back = {"type": "tool_result", "tool_use_id": key, "content": "ok", "is_error": call == turn % 12}
            rows.append({"type": "user", "message": {"content": [back]}})
    rows.append({"type": "system", "subtype": "compact_boundary", "compactMetadata": {"preTokens": 150_000}})
    rows.append({"type": "user", "isCompactSummary": True, "message": {"content": "Parts were changed."}})
    path.write_text("".join(json.dumps(row | {"uuid": str(n)}) + "\n" for n, row in enumerate(rows)))
    return str(path)


def stating(root: Path) -> Path:
    """Return a registry beside another one, in whose one project 500 conventions are injected by the hook."""
    made = root.with_name("conventions")
    process(root, *FORGEKIT, "init", str(made))()
    forge = Forge.open(made)
    conventions.create(forge, "Keep rule 0", project="Bench")
    first = forge.registry().conventions[0]
    texts = {convention_id(first.project_uuid, text): text for text in map("Keep rule {}".format, range(500))}
    every = tuple(replace(first, convention_id=key, convention=text) for key, text in texts.items())
    forge.commit(lambda: Change(writes=every, subject="bench"), COMMITTED)
    (made / "forgekit.toml").write_text('schema = 2\ninject = "CLAUDE.md"\n', encoding="utf-8")
    agent_hook(made, "SessionStart")()
    if (made / "CLAUDE.md").read_text(encoding="utf-8").count("\n- Keep rule") != MOST:
        raise MissingError("the hook injected no conventions")
    return made


def first_answer(root: Path) -> None:
    """Start the MCP server, shake hands over its standard streams and search once."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
    asked = {"name": "search", "arguments": {"query": QUERY}}
    said: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": asked},
    ]
    line = [*FORGEKIT, "-C", str(root), "mcp"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        if server.stdin is None or server.stdout is None:
            raise MissingError("the server has no streams")
        for each in said:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **each}) + "\n")
            server.stdin.flush()
            while "id" in each and json.loads(server.stdout.readline()).get("id") != each["id"]:
                pass
        server.stdin.close()


def mcp_search(root: Path) -> Callable[[], object]:
    """Return a call of the search tool in a server that has answered before."""
    handlers = RequestHandlers(Forge.open(root), writing=False)
    call = partial(handlers.called, handlers.tools["search"], {"query": QUERY}, "benchmark")
    call()
    return call


def memory_growth(root: Path, calls: int) -> str:
    """Return what so many calls of tools add to the memory of a server."""
    handlers = RequestHandlers(Forge.open(root), writing=False)
    given: dict[str, dict[str, Any]] = {"search": {"query": "uuid"}, "explain": {"paths": ["src/a.py"]}}
    before = 0
    for number in range(calls):
        for name, arguments in given.items():
            handlers.called(handlers.tools[name], arguments, "benchmark")
        if number == calls // 10:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"{calls * len(given):,} MCP calls: {grown / 1024:.1f} MiB more than after a tenth of them"


def search(root: Path, mode: str) -> Callable[[], object]:
    """Return a call that searches by a whole process, and sees to it that it was done in this mode."""
    run = process(root, *FORGEKIT, "search", QUERY, "--json", "--mode", mode)

    def checked() -> None:
        said = json.loads(str(run()))
        if said["mode"] != mode or said["notice"]:
            raise MissingError(said["notice"])

    return checked


def rows(root: Path, long: Path) -> list[Row]:
    """Return the table's rows, those that cannot be had included.

    Args:
        root: a registry.
        long: one of the same files, each committed on its own.
    """
    found = Catalogue(root, cache_dir(root))
    found.refresh()
    decisions = sorted((root / "registry" / "decisions").rglob("*.md"))
    edited, watched = decisions[0], str(decisions[1].relative_to(root))
    number, texts = itertools.count(), new_texts()

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
        process(root, *FORGEKIT, "decision", "new", next(texts), "--project", PROJECTS[0])()

    def archive() -> str:
        name, records = f"HANDBOOK_{time.time_ns()}_RESULT", itertools.islice(texts, 30)
        with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
            file.write(f"# Conversation Archive: {name}\n\n## Decisions\n\n")
            file.writelines(
                f"### D{n:03}: {text}\n- **Status:** active\n\n" for n, text in enumerate(records, 1)
            )
            file.flush()
            given = ("--tag", name, "--at", "2026-01-01", "--project", PROJECTS[0])
            process(root, *FORGEKIT, "sync-compression", file.name, *given)()
        return name

    def commit() -> None:
        edit()
        process(root, "git", "commit", "--quiet", "--only", "--message", "floor", str(edited))()

    interpreter = process(root, *PYTHON, "-c", "pass")
    hook = agent_hook(stating(root), "SessionStart")
    status = process(root, "git", "status", "--porcelain")
    floor = process(root, *PYTHON, "-c", SEARCH_FLOOR, str(root), str(found.path))
    libraries = process(root, *PYTHON, "-c", "import sqlite3, json, numpy, tokenizers")
    one = str(edited.relative_to(root))
    queries = {
        ("status",): "150",
        ("decision", "show", decisions[1].stem): "120",
        ("stale",): "200",
        ("ask", QUERY): "400",
        ("context", QUERY): "400",
        ("prepare-compression", "--project", PROJECTS[0]): "400",
        ("prepare-continuation", "--tag", archive()): "400",
    }
    meaning = ("import NumPy, tokenizer", libraries)
    return [
        Row("--version", "60", process(root, *FORGEKIT, "--version"), "interpreter", interpreter),
        Row(
            "hook, nothing to do",
            "60",
            process(root, *FORGEKIT, "hook", "archives"),
            "interpreter",
            interpreter,
        ),
        Row("agent hook, nothing to say", "60", agent_hook(root, "Notification"), "interpreter", interpreter),
        Row("agent hook, session starts", "100", agent_hook(root, "SessionStart"), "stat + FTS5", floor),
        Row("... 500 conventions, nothing changed", "100", hook, "interpreter", interpreter),
        Row(
            "agent hook, a prompt",
            "100",
            agent_hook(root, "UserPromptSubmit", prompt=QUERY),
            "stat + FTS5",
            floor,
        ),
        Row(
            "agent hook, after a compaction",
            "100",
            agent_hook(root, "SessionStart", source="compact", transcript_path=compacted(root)),
            "interpreter",
            interpreter,
        ),
        Row(
            "what governs a file",
            "150",
            process(root, *FORGEKIT, "explain", "src/a.py"),
            "stat + FTS5",
            floor,
        ),
        Row("MCP, start to first answer", "600", partial(first_answer, root), *meaning),
        Row("MCP, a search afterwards (in process)", "50", mcp_search(root), "stat + FTS5", floor),
        Row("search by words", "100", search(root, "lexical"), "stat + FTS5", floor),
        Row("search by meaning", "300", search(root, "semantic"), *meaning),
        Row("search by both", "300", search(root, "hybrid"), *meaning),
        Row(
            "check of one file",
            "120",
            process(root, *FORGEKIT, "check", one, allowed=(0, 1)),
            "git status",
            status,
        ),
        Row("write one decision, with findings", "450", decision, "git commit of a file", commit),
        Row("sync-compression of 30 records", "800", archive, "git commit of a file", commit),
        *(
            Row(
                " ".join(words[:2])[:34], budget, process(root, *FORGEKIT, *words), "interpreter", interpreter
            )
            for words, budget in queries.items()
        ),
        Row(
            "history of one entity",
            "100",
            process(long, *FORGEKIT, "decision", "history", decisions[1].stem),
            "git log -- PATH",
            process(long, "git", "log", "--oneline", "--", watched),
        ),
        Row("refresh, nothing new (in process)", "-", found.refresh, "git status", status),
        Row("refresh after an edit (in process)", "60", refresh_edit, "git status", status),
        Row("rebuild catalogue (in process)", "5,000", rebuild, "read and parse YAML", parse_all),
    ]


class Taken(NamedTuple):
    """What several runs took, sorted: wall clock and processor time in ms."""

    wall: list[float]
    processor: list[float]


def taken(runs: int, *actions: Callable[[], object]) -> list[Taken]:
    """Return what each action took, run in turn, after one run of each that warms the caches."""
    for action in actions:
        action()
    out = [Taken([], []) for _ in actions]
    for _ in range(runs):
        for action, sums in zip(actions, out, strict=True):
            wall, processor = time.perf_counter(), processor_seconds()
            action()
            sums.wall.append((time.perf_counter() - wall) * 1000)
            sums.processor.append((processor_seconds() - processor) * 1000)
    return [Taken(sorted(sums.wall), sorted(sums.processor)) for sums in out]


def processor_seconds() -> float:
    """Return the processor time of this process and of the children that it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def new_texts() -> Iterator[str]:
    """Yield decisions that are like others and contradict none."""
    rng = random.Random(time.time_ns())
    while True:
        name = "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(4))
        yield f"Describe {rng.choice(THINGS)} of {rng.choice(PLACES)} in the handbook of {name}"


def committed_one_by_one(source: Path, target: Path) -> None:
    """Make a registry of the same files, each of them added by a commit of its own."""
    process(source, "git", "init", "--quiet", "--initial-branch=main", str(target))()
    files = [source / "forgekit.toml", *sorted((source / "registry").rglob("*.md"))]
    stream = bytearray()
    for second, path in enumerate(files, 1_700_000_000):
        data, name = path.read_bytes(), path.relative_to(source).as_posix()
        stream += (
            f"commit refs/heads/main\ncommitter b <b@example.org> {second} +0000\ndata 3\nadd\n"
            f"M 100644 inline {name}\ndata {len(data)}\n"
        ).encode()
        stream += data + b"\n"
    subprocess.run(["git", "fast-import", "--quiet"], cwd=target, input=stream, check=True)
    process(target, "git", "reset", "--quiet", "--hard")()


class Invented:
    """Gives documents the vectors of a few texts, each moved a little."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.fingerprint, self.dimension = encoder.name, encoder.fingerprint, encoder.dimension
        self.encode_queries = encoder.encode_queries
        self._some = encoder.encode_documents([f"{a} of {b}" for a in THINGS for b in PLACES])
        self._rng = np.random.default_rng(7)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of unit length."""
        picked = self._some[self._rng.integers(len(self._some), size=len(texts))]
        moved = picked + self._rng.normal(0, 0.02, picked.shape).astype(np.float32)
        found: NDArray[np.float32] = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return found


def invent_vectors(root: Path) -> None:
    """Make the index of a registry's vectors; without an embedding model there is none."""
    forge = Forge.open(root)
    forge.catalogue.refresh()
    if forge.vectors is not None:
        update_vectors(
            forge, Vectors(cache_dir(root), Invented(cast("Encoder", forge.encoder)), forge.catalogue.tree)
        )


def show_growth(large_count: int, runs: int) -> None:
    """Print what a write costs in a small and in a large registry, and what the look at all files costs."""
    medians = []
    for count in (SMALL, large_count):
        with tempfile.TemporaryDirectory() as folder:
            root, texts = Path(folder, "registry"), new_texts()
            write(root, count)
            time.sleep(2.5)  # as below
            forge = Forge.open(root)
            both = taken(
                runs,
                lambda: create(forge, next(texts), project=PROJECTS[0]),  # noqa: B023 - run here
                forge.catalogue.refresh,
            )
        medians.append([statistics.median(times.wall) for times in both])
        for what, times in zip(("write", "refresh"), both, strict=True):
            name, used = f"{what} among {count:,} (in process)", statistics.median(times.processor)
            print(f"{name:36}{times.wall[0]:9.1f}{statistics.median(times.wall):9.1f}{used:43.1f}")
    (small, small_look), (large, large_look) = medians
    print(f"{'ratio of the writes':45}{large / small:9.1f}{'2':>20}")
    print(f"{'... without looking at the files':45}{(large - large_look) / (small - small_look):9.1f}")


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="use this registry, made when it is not there")
    parser.add_argument(
        "--growth",
        type=int,
        nargs="?",
        const=100_000,
        help="also write among 1,000 and among so many entities, and call MCP tools 10,000 times: minutes",
    )
    options = parser.parse_args()
    source = str(Path(__file__).resolve().parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    for who in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{who}_NAME": "bench", f"GIT_{who}_EMAIL": "bench@example.org"}
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(scratch, "compiled"))
        root, long = options.folder or Path(scratch, "registry"), Path(scratch, "long")
        if not root.exists():
            write(root, options.count)
        committed_one_by_one(root, long)
        invent_vectors(root)
        time.sleep(2.5)  # files younger than two seconds are read twice
        show(rows(root, long), options.runs)
        if options.growth:
            show_growth(options.growth, options.runs)
            small = Path(scratch, "small")
            write(small, 300)
            print(memory_growth(small, 5_000))


def show(table: list[Row], runs: int) -> None:
    """Print the table."""
    head = f"{'command':36}{'best':>9}{'median':>9}{'floor':>9}{'ratio':>7}  {'budget':7}{'processor':>11}"
    print(f"{head}  floor is\n{'-' * 112}")
    for row in table:
        try:
            times, floor = taken(runs, row.run, row.floor)
        except MissingError as e:
            print(f"{row.name:36}SKIPPED: {e}")
            continue
        median, least = statistics.median(times.wall), statistics.median(floor.wall)
        print(
            f"{row.name:36}{times.wall[0]:9.1f}{median:9.1f}{least:9.1f}{median / least:7.1f}  "
            f"{row.budget:7}{statistics.median(times.processor):11.1f}  {row.floor_name}"
        )


if __name__ == "__main__":
    main()
