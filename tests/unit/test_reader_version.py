"""The reader's cache is keyed by a version that people raise."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from forgekit.archives import READER_VERSION
from forgekit.upkeep.init_migrate import SAMPLES

ROOT = Path(__file__).parents[2]
READ = {"41": "fbf2efca5aa7c92730d133371d652723d4e90b2360d9c74314d684623f3459ed"}
"""READER_VERSION to the SHA-256 of what it reads from the case files and the examples."""
READING = """
import json, sys
from pathlib import Path
from forgekit.archives.read import read_archive
from forgekit.text.plain import to_plain
read = [to_plain(read_archive(Path(path).read_text("utf-8"))) for path in sys.argv[1:]]
print(json.dumps(read, sort_keys=True), end="")
"""


def test_another_reading_of_the_case_files_has_another_reader_version() -> None:
    paths = [*(ROOT / "tests/cases/archives").glob("*.md"), *SAMPLES.glob("*.md")]
    command = [sys.executable, "-c", READING, *map(str, sorted(paths))]  # as a command reads them
    read = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    digest = hashlib.sha256(read.encode()).hexdigest()
    assert digest == READ[READER_VERSION], (
        "the reader reads the case files in another way: raise READER_VERSION in "
        f"forgekit/archives/__init__.py and note {digest} here"
    )
