"""The same decisions in forgekit and in other tools: import them, write one more, search by words.

    python benchmarks/peers.py DATA [--texts 2000] [--runs 7] [--folder CACHE]

DATA holds `decisions.jsonl.gz`. Each peer is installed with pip into an environment of its own in CACHE, or
skipped, with the reason. None has an embedding model: all search by words. Peer and forgekit are run in turn,
whole processes started by a shell, and meet the same disturbances. Printed: medians in ms, and the ratio of
forgekit's to the peer's. `found` counts searches whose answer has the record that the words are from.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import count, cycle
from pathlib import Path
from typing import NamedTuple

from costs import MissingError, processor_seconds, taken

from forgekit.model.settings import Settings
from forgekit.models.encoder import Missing, find_encoder

ROOT = str(Path(__file__).resolve().parent.parent)
ARCHIVES = 20
CUT = 400  # characters of a record's text that each tool gets
FIXED = {f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
FIXED |= {"BASIC_MEMORY_AUTO_UPDATE": "false", "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"}
FIXED |= {"LOGFIRE_SEND_TO_LOGFIRE": "false"}
PYTHONS = (sys.executable, "python3.12", "python3.13", "python3.14")


class Record(NamedTuple):
    """A decision: a short name, a title and a text, each of one line."""

    name: str
    title: str
    text: str


class Tool(NamedTuple):
    """How a tool is used, by commands of the shell: `start` makes an empty store and is not timed."""

    requirement: str
    differs: str
    start: str
    fill: str
    write: str
    search: str
    least: tuple[int, int] = (3, 11)


FORGEKIT = Tool(
    "forgekit",
    "20 archives by one command; a write checks, commits one file and looks for contradictions",
    "{forgekit} init && cp {inputs}/forgekit.toml . && git commit -qam settings",
    "{forgekit} sync-compression {inputs}/archives/*.md; test $? -le 1",  # 1: it kept a line as it was
    "{forgekit} decision new {title} --rationale {text} --project Bench",
    "{forgekit} search {words} --mode lexical --limit 10",
)
PEERS = (
    Tool(
        "projectmem==0.3.4",
        "events in its file, then `regenerate`; no commit, no file a record; searches by a pattern, unranked",
        "pjm init --no-hooks --no-global --no-watch --no-backfill --no-claude-md --no-stack-detect"
        " --no-mcp-config --no-structure && cp {inputs}/events.jsonl .projectmem/",
        "pjm regenerate",
        "pjm decision {title}': '{text}",
        "pjm search --regex {either}",
    ),
    Tool(
        "memgit==0.13.0",
        "memory files by `import`; writes by two commands, to objects of its own: no commit to git, no file",
        "memgit init $MEMGIT_STORE",
        "memgit import claude-code {notes}",
        "memgit add {name} {title}': '{text} && memgit commit -m written",
        "memgit search {words} -k 10 --all-projects",
    ),
    Tool(
        "agent-memory-git==0.1.15",
        "memory files by `import`; a write commits one file, without checks or contradictions",
        "mem init {home}/data && mkdir {home}/.claude && cp -r {inputs}/projects {home}/.claude/",
        "mem import claude",
        "mem add --type project --scope here --name {name} --description {title} {text}",
        "mem search --all --limit 10 {words}",
    ),
    Tool(
        "basic-memory==0.22.1",
        "its own notes by `reindex`; no commit to git; its server, once it runs, starts no process a call",
        "cp -r {notes} {home}/notes && basic-memory project add bench {home}/notes",
        "basic-memory reindex --full --search -p bench",
        "basic-memory tool write-note --local --project bench --folder n --title {title} --content {text}",
        "basic-memory tool search-notes --local --project bench {words}",
        (3, 12),
    ),
)
NEW = (Record(f"n{n:05}", f"Write the handbook of matter {n}", "It was asked for.") for n in count())


class Place(NamedTuple):
    """Where a tool runs: a home of its own with a git repository, the environment, what commands name."""

    home: Path
    env: dict[str, str]
    values: dict[str, str]

    def run(self, command: str, record: Record | None = None) -> str:
        """Run a command for a record, return what it prints; MissingError where it fails."""
        values = dict(self.values)
        if record is not None:
            words = [word for word in record.title.split() if word.isalpha() and len(word) > 3][:3]
            given = record._asdict() | {"words": " ".join(words), "either": "|".join(words)}
            values |= {name: shlex.quote(value) for name, value in given.items()}
        line, folder = ["sh", "-c", command.format(**values)], self.home / "work"
        done = subprocess.run(line, cwd=folder, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip() or "no word").splitlines()[-1]
            raise MissingError(f"`{command[:40]}...` ended with status {done.returncode}: {last}")
        return done.stdout


def write_inputs(folder: Path, records: Sequence[Record]) -> None:
    """Write the records as archives, as memory files and notes, and as events."""
    for made in (notes := folder / "projects" / "bench" / "memory", archives := folder / "archives"):
        made.mkdir(parents=True)
    (folder / "forgekit.toml").write_text(f'schema = 2\nmodel = "{folder}/none"\n', encoding="utf-8")
    for number in range(ARCHIVES):
        head = f"# Conversation Archive: Part {number}\n\n**Compression Tag:** PART_{number:02}_RESULT\n"
        parts = [f"{head}**Project:** Bench\n**Date:** 2026-01-{number + 1:02}\n\n## Decision Log\n"]
        for local, one in enumerate(records[number::ARCHIVES], 1):
            parts.append(f"### D{local:03}: {one.title}\n- **Status:** active\n- **Rationale:** {one.text}\n")
        (archives / f"{number:02}.md").write_text("\n".join(parts), encoding="utf-8")
    with (folder / "events.jsonl").open("w", encoding="utf-8") as events:
        for number, (name, title, text) in enumerate(records):
            row = {"id": f"evt_{number:020x}", "type": "decision", "timestamp": "2026-01-01T00:00:00Z"}
            events.write(json.dumps(row | {"summary": f"{title}: {text}"}) + "\n")
            head = f"---\nname: {name}\ndescription: {json.dumps(title)}\ntype: project\n---\n"
            (notes / f"{name}.md").write_text(f"{head}{title}\n\n{text}\n", encoding="utf-8")


def read_records(data: Path, wanted: int) -> list[Record]:
    """Return the first decisions that have a title and a text."""
    with gzip.open(data / "decisions.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [[" ".join(row[name].split()) for name in ("title", "text")] for row in map(json.loads, lines)]
    whole = [row for row in rows if all(row)][:wanted]
    return [Record(f"d{number:05}", title, text[:CUT]) for number, (title, text) in enumerate(whole)]


def installed(tool: Tool, folder: Path) -> Path:
    """Return the programs of a peer's environment, made where it is missing; MissingError says why not."""
    place, check = folder / tool.requirement, f"import sys; sys.exit(sys.version_info < {tool.least})"
    if (place / "complete").exists():
        return place / "bin"
    for python in PYTHONS:
        if not shutil.which(python) or subprocess.call([python, "-c", check], stderr=subprocess.DEVNULL):
            continue
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", tool.requirement]
        for command in ([python, "-m", "venv", "--clear", str(place)], pip):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise MissingError(f"not installed: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
        (place / "complete").touch()
        return place / "bin"
    raise MissingError(f"needs Python {tool.least[0]}.{tool.least[1]} or newer; none of {PYTHONS[1:]} runs")


def filled(tool: Tool, inputs: Path, programs: Path, records: Sequence[Record]) -> Place:
    """Fill a tool's store; print what that takes, and whether searches find what they are for."""
    home = inputs.with_name(tool.requirement)
    (home / "work").mkdir(parents=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | FIXED
    env |= {"PATH": f"{programs}:{env['PATH']}", "HOME": str(home), "MEMGIT_STORE": f"{home}/store"}
    values = {"forgekit": f"PYTHONPATH={shlex.quote(ROOT)} {sys.executable} -m forgekit", "home": str(home)}
    place = Place(home, env, values | {"inputs": str(inputs), "notes": f"{inputs}/projects/bench/memory"})
    place.run(f"git init --quiet --initial-branch=main && {tool.start}")
    wall, processor = time.perf_counter(), processor_seconds()
    place.run(tool.fill)
    wall, processor = time.perf_counter() - wall, processor_seconds() - processor
    asked = records[:: max(1, len(records) // 10)]
    answers = [" ".join(place.run(tool.search, one).split()) for one in asked]
    found = sum(one.name in text or one.title in text for one, text in zip(asked, answers, strict=True))
    print(
        f"\n{tool.requirement}: {len(records):,} records in {wall:.1f} s, {processor:.1f} of processor time;"
    )
    print(f"    found {found} of {len(asked)}; {tool.differs}", flush=True)
    return place


def uses(tool: Tool, place: Place, records: Sequence[Record]) -> dict[str, Callable[[], object]]:
    """Return the calls that write another record, and that search for the next of the records."""
    asked = cycle(records[:: max(1, len(records) // 10)])
    run = place.run
    return {"write": lambda: run(tool.write, next(NEW)), "search": lambda: run(tool.search, next(asked))}


def vectors(place: Place, records: Sequence[Record]) -> str:
    """Return what vectors cost beside the encoder alone, given some of the texts."""
    (place.home / "work" / "forgekit.toml").write_text("schema = 2\n", encoding="utf-8")
    encoder = find_encoder(Settings(), place.home)
    if isinstance(encoder, Missing):
        return f"SKIPPED vectors: {encoder}"
    texts, start = [f"{one.title}\n{one.text}" for one in records[:256]], time.perf_counter()
    encoder.encode_documents(texts)
    floor, start = len(texts) / (time.perf_counter() - start), time.perf_counter()
    place.run(f"HOME={shlex.quote(str(Path.home()))} {{forgekit}} index build")
    built = len(records) / (time.perf_counter() - start)
    return f"vectors by `index build`: {built:.0f} texts a second; the encoder alone {floor:.0f}"


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description="The same decisions in forgekit and in other tools.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache" / "forgekit-peers")
    options = parser.parse_args()
    records = read_records(options.data, options.texts)
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch, "inputs")
        write_inputs(inputs, records)
        ours = filled(FORGEKIT, inputs, Path(sys.executable).parent, records)
        print(f"\n{'':32}{'wall':>12}{'peer':>8}{'ratio':>8}{'processor':>12}{'peer':>8}{'ratio':>8}")
        for peer in PEERS:
            try:
                theirs = uses(peer, filled(peer, inputs, installed(peer, options.folder), records), records)
                for name, call in uses(FORGEKIT, ours, records).items():
                    row = f"    {name:28}"
                    for mine, other in zip(*taken(options.runs, call, theirs[name]), strict=True):
                        one, two = statistics.median(mine), statistics.median(other)
                        row += f"{one:12.0f}{two:8.0f}{one / two:8.2f}"
                    print(row, flush=True)
            except MissingError as e:
                print(f"\nSKIPPED {peer.requirement}: {e}")
        print(f"\n{vectors(ours, records)}")


if __name__ == "__main__":
    main()
