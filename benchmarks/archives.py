"""Measure what filing archives registers, in whole processes, against the truth about each archive.

    python benchmarks/archives.py [DATA] [--set SET] [--misses 0]

DATA (default `../shared/data`) holds `archive_styles`: 24 archives and the scorer. The zips beside this file
hold more of the same schema, composed by others from a brief. Of the sealed sets only figures are printed;
their items are not read by those who change the reader, and every scoring is logged in `SCORES.md`.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ITEMS = ("  s", "  k")
"""How the scorer's lines about single archives begin."""


def main() -> int:
    """Print the scorer's table; exit 1 when there was nothing to measure."""
    parser = argparse.ArgumentParser(description="what filing archives registers")
    parser.add_argument("data", nargs="?", type=Path, default=Path("../shared/data"))
    developed = ("dev", *(f"dev-{number}" for number in range(2, 13)))
    sets = ("styles", *developed, "sealed", *(f"sealed-{number}" for number in range(2, 11)))
    parser.add_argument("--set", choices=sets, default="styles", dest="chosen")
    parser.add_argument("--forgekit", default=str(Path(sys.executable).with_name("forgekit")))
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--misses", default="0")
    options = parser.parse_args()
    scorer = options.data.resolve() / "archive_styles" / "run_forgekit.py"
    if not scorer.is_file():
        print(f"LOUD SKIP: {scorer} is not there")
        return 1
    command = [sys.executable, str(scorer), "--forgekit", options.forgekit, "--jobs", options.jobs]
    if options.chosen == "styles":
        return subprocess.run([*command, "--misses", options.misses], check=False).returncode
    path = HERE / f"archives-{options.chosen}.zip"
    print(f"{path.name} sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as archives:
        archives.extractall(folder)
        command += ["--folder", folder]
        if not options.chosen.startswith("sealed"):
            return subprocess.run([*command, "--misses", options.misses], check=False).returncode
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    print("".join(line for line in ran.stdout.splitlines(keepends=True) if not line.startswith(ITEMS)))
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
