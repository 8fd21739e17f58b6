"""Read every compaction summary of a folder of real transcripts and print what became of each.

Run from the repository: `python benchmarks/summaries.py [FOLDER]`. FOLDER (default `../shared/data`) holds
`claude_code/*.jsonl[.gz]`. A row per summary: decisions, threads open and ended, files, sections, and how
many characters stand in records against those that stay text only. Every word stays in the archive anyway.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from forgekit.archives.formats.summary import is_summary, read_summary
from forgekit.model.archive_record import ArchiveText
from forgekit.transcripts.claude_code import CompactSummary, compactions

HEADER = (
    "summary",
    "trigger",
    "decisions",
    "open",
    "ended",
    "files",
    "sections",
    "read",
    "text only",
    "share",
)


def main() -> int:
    """Print the table; exit 1 when there was nothing to read."""
    parser = argparse.ArgumentParser(description="what is read from real compaction summaries")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("../shared/data"))
    folder = parser.parse_args().folder / "claude_code"
    files = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
    if not files:
        print(f"SKIPPED: no transcripts in {folder}; nothing was measured", file=sys.stderr)
        return 1
    rows: list[tuple[str, ...]] = []
    totals = [0] * 7
    skipped: list[str] = []
    for file in files:
        for found in compactions(str(file)):
            name = file.name[:8]
            if not isinstance(found, CompactSummary):
                skipped.append(f"{name}: {found} (line {found.line})")
            elif not is_summary(found.text):
                skipped.append(f"{name}: line {found.line} does not open like a compaction summary")
            else:
                counts = measure(found.text)
                totals = [total + one for total, one in zip(totals, counts, strict=True)]
                rows.append(row(f"{name}_{found.ordinal}", found.trigger, counts))
    show([HEADER, *rows, row(f"{len(rows)} in all", "", totals)])
    print(f"{len(files)} transcripts, {len(rows)} summaries read")
    for line in skipped:
        print(f"SKIPPED {line}", file=sys.stderr)
    return 0 if rows else 1


def measure(text: str) -> list[int]:
    """Count decisions, open threads, ended threads, files, sections, characters read and left."""
    said = read_summary(text)
    read = min(characters(said), len(text))
    ended = sum(thread.status is not None and thread.status.ended for thread in said.threads)
    return [
        len(said.decisions),
        len(said.threads) - ended,
        ended,
        len(said.artifacts),
        len(said.sections),
        read,
        len(text) - read,
    ]


def characters(said: ArchiveText) -> int:
    """Count the characters that stand in records."""
    return (
        len(said.summary)
        + sum(max(len(one.text), len(one.context)) for one in said.decisions)
        + sum(max(len(one.title), len(one.content)) + len(one.resolution) for one in said.threads)
        + sum(len(one.name) + len(one.summary) for one in said.artifacts)
    )


def row(name: str, trigger: str, counts: list[int]) -> tuple[str, ...]:
    """Write one row of the table."""
    share = f"{counts[5] / max(1, counts[5] + counts[6]):.0%}"
    return (name, trigger, *(f"{one:,}" for one in counts), share)


def show(rows: list[tuple[str, ...]]) -> None:
    """Print rows in columns, numbers to the right."""
    widths = [max(len(one[column]) for one in rows) for column in range(len(rows[0]))]
    for one in rows:
        cells = (
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(one, widths, strict=True))
        )
        print("  ".join(cells).rstrip())


if __name__ == "__main__":
    sys.exit(main())
