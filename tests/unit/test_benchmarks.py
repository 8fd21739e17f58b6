"""The benchmarks: nothing else runs them, so that they can be started at all is tested here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_benchmark_can_be_imported() -> None:
    names = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py"))
    line = [sys.executable, "-c", f"import {', '.join(names)}"]
    env, folder = os.environ | {"PYTHONPATH": str(ROOT)}, ROOT / "benchmarks"
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
