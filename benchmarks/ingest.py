"""Read real conversations and generated exports, and print what was read, how fast, and in how much memory.

Run from the repository: `python benchmarks/ingest.py [FOLDER]`. FOLDER (default `../shared/data`) holds
`claude_code/` with its notes, `specstory/`, `chatgpt/` and `exports_synthetic/`. A process of its own reads
each row: `peak` is the most memory that it held at once, in brackets before it read anything (Linux only).
Prompts and the summaries of compactions are compared with the notes, by line. Generated exports,
written to a temporary folder, hold 1,000 and 10,000 conversations, eight a day. Last, some go through
`forgekit ingest` into a registry that is thrown away, with their text and without: seconds, those on the
processor, and peak memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from forgekit.model.transcript import ImportedConversation, Speaker
from forgekit.transcripts.formats import conversations

SIZES = (1_000, 10_000)
FILED = (1_000, 3_000, 10_000)
HEADER = (
    "what",
    "conversations",
    "turns",
    "prompts",
    "compactions",
    "problems",
    "MB",
    "seconds",
    "MB/s",
    "peak MB",
)
WIDTHS = (28, 14, 8, 8, 12, 9, 8, 8, 7, 12)
WORDS = "we the queue decide use because Redis token cache instead of worker page retry limit".split()  # noqa: SIM905 -- a list of words reads best as a sentence


def main() -> int:
    """Print the tables; exit 1 when real conversations were not there, or do not agree with the notes."""
    parser = argparse.ArgumentParser(description="what reading conversations yields and costs")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--child", metavar="PATH", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        print(json.dumps(measured(given.child)))
        return 0
    row(*HEADER)
    wrong = 1
    if (given.folder / "claude_code").is_dir():
        for name in ("claude_code", "specstory", "chatgpt", "exports_synthetic"):
            measure(given.folder / name, name)
        wrong = agreement(given.folder)
    else:
        print(f"SKIPPED: no conversations in {given.folder}; only generated ones are read", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for form, write in (("claude", claude), ("chatgpt", chatgpt)):
            for size in SIZES:
                path = Path(folder, f"{form}-{size}.json")
                generate(path, size, write)
                measure(path, f"{form}, {size:,} generated")
                path.unlink()
        filed(Path(folder))
    return min(wrong, 1)


def measure(path: Path, name: str) -> None:
    """Read a path in a process of its own and print the row."""
    ran = subprocess.run(
        [sys.executable, __file__, "--child", str(path)], check=True, capture_output=True, text=True
    )
    told = json.loads(ran.stdout)
    size = unpacked(path) / 1e6
    seconds = told["seconds"]
    counts = [f"{told[key]:,}" for key in ("conversations", "turns", "prompts", "compactions", "problems")]
    peak = f"{told['peak']:.1f} ({told['before']:.1f})"
    row(name, *counts, f"{size:.1f}", f"{seconds:.2f}", f"{size / seconds:.1f}", peak)


def measured(path: str) -> dict[str, float]:
    """Read a path and return the figures."""
    before = held()
    counts = {"conversations": 0, "turns": 0, "prompts": 0, "compactions": 0, "problems": 0}
    start = time.perf_counter()
    for found in conversations([path]):
        if not isinstance(found, ImportedConversation):
            counts["problems"] += 1
            continue
        counts["conversations"] += 1
        counts["turns"] += len(found.turns)
        counts["prompts"] += sum(turn.speaker is Speaker.USER and not turn.aside for turn in found.turns)
        counts["compactions"] += sum(turn.compaction for turn in found.turns)
    return {**counts, "seconds": time.perf_counter() - start, "before": before, "peak": held()}


def filed(folder: Path) -> None:
    """Print what it takes to file generated exports by the command line."""
    command = [sys.executable, "-m", "forgekit"]
    print(
        f"\n{'through forgekit ingest':28}{'conversations':>14}{'seconds':>9}{'processor':>11}{'peak MB':>9}"
    )
    for text in ("--without-text", "--with-text"):
        for size in FILED:
            path, root = folder / "claude.json", folder / f"registry-{size}{text}"
            generate(path, size, claude)
            subprocess.run([*command, "init", str(root)], check=True, capture_output=True)
            start = time.perf_counter()
            with subprocess.Popen(
                [*command, "-C", str(root), "ingest", "claude", str(path), "--project", "X", text],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as process:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                print(f"NOT FILED: exit {process.returncode}", file=sys.stderr)
            seconds = time.perf_counter() - start
            busy = used.ru_utime + used.ru_stime
            print(
                f"{text:28}{size:>14,}{seconds:>9.1f}{busy:>11.1f}{used.ru_maxrss / 1024:>9.1f}", flush=True
            )
            shutil.rmtree(root)


def agreement(folder: Path) -> int:
    """Print how many sessions agree with their notes, and return how many do not."""
    wrong: list[str] = []
    rows = (folder / "claude_code_truth.jsonl").read_text("utf-8").splitlines()
    for truth in map(json.loads, rows):
        (talk,) = conversations([str(folder / truth["file"])])
        if not isinstance(talk, ImportedConversation) or not agrees(talk, truth):
            wrong.append(truth["file"])
    print(f"{len(rows) - len(wrong)} of {len(rows)} sessions agree with their notes", *wrong, sep="\n  ")
    return len(wrong)


def agrees(talk: ImportedConversation, truth: dict[str, Any]) -> bool:
    """Say whether a session's prompts and compactions are those of its notes."""
    prompts = [turn.line for turn in talk.turns if turn.speaker is Speaker.USER and not turn.aside]
    summaries = [turn.line for turn in talk.turns if turn.compaction]
    known = [event["line"] for event in truth["compaction_events"] if event["kind"] == "compact_summary"]
    return prompts == truth["human_prompt_lines"] and summaries == known


def held() -> float:
    """Return the most memory that this process held, in MB; what its parent held does not count."""
    told = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("utf-8").splitlines())
    return int(told["VmHWM"].split()[0]) / 1024


def unpacked(path: Path) -> int:
    """Return the bytes of a file or of a folder's files, unpacked."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(len(gzip.decompress(f.read_bytes())) if f.suffix == ".gz" else f.stat().st_size for f in files)


def generate(path: Path, size: int, write: Any) -> None:
    """Write an export of so many conversations of 2 to 20 messages, one after the other."""
    numbers = random.Random(size)
    with path.open("w", encoding="utf-8") as file:
        for number in range(size):
            file.write("[" if number == 0 else ",")
            json.dump(write(number, list(messages(numbers))), file)
        file.write("]")


def messages(numbers: random.Random) -> Iterator[str]:
    """Yield the texts of one conversation."""
    for _ in range(numbers.randint(2, 20)):
        yield " ".join(numbers.choices(WORDS, k=numbers.randint(5, 200)))


def claude(number: int, texts: list[str]) -> dict[str, Any]:
    """Return one conversation as claude.ai exports it."""
    begun = f"{begins(number):%Y-%m-%dT%H:%M}"
    said = [
        {
            "uuid": f"m{number}-{place}",
            "text": text,
            "content": [{"type": "text", "text": text}],
            "sender": "assistant" if place % 2 else "human",
            "created_at": f"{begun}:{place:02d}.000000Z",
            "attachments": [],
            "files": [],
            "parent_message_uuid": f"m{number}-{place - 1}"
            if place
            else "00000000-0000-4000-8000-000000000000",
        }
        for place, text in enumerate(texts)
    ]
    return {"uuid": f"c{number}", "name": f"Chat {number}", "summary": "", "chat_messages": said}


def begins(number: int) -> datetime:
    """Return when a conversation begins: one every three hours."""
    return datetime(2022, 1, 1, tzinfo=UTC) + timedelta(hours=3 * number)


def chatgpt(number: int, texts: list[str]) -> dict[str, Any]:
    """Return one conversation as ChatGPT exports it."""
    begun = begins(number).timestamp()
    mapping = {
        f"n{place}": {
            "id": f"n{place}",
            "parent": f"n{place - 1}" if place else None,
            "children": [f"n{place + 1}"],
            "message": {
                "id": f"m{number}-{place}",
                "author": {"role": "assistant" if place % 2 else "user"},
                "create_time": begun + 0.25 + place,
                "content": {"content_type": "text", "parts": [text]},
                "recipient": "all",
            },
        }
        for place, text in enumerate(texts)
    }
    return {
        "title": f"Chat {number}",
        "create_time": begun,
        "mapping": mapping,
        "current_node": f"n{len(texts) - 1}",
        "conversation_id": f"g{number}",
    }


def row(*cells: str) -> None:
    """Print one line of the table."""
    print(cells[0].ljust(WIDTHS[0]), *(c.rjust(w) for c, w in zip(cells[1:], WIDTHS[1:], strict=True)))


if __name__ == "__main__":
    sys.exit(main())
