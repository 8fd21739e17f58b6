"""Running a command line, and what that gives back."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_COMMIT = re.compile(r"(?<=committed as )[0-9a-f]{10}")


@dataclass(frozen=True)
class Ran:
    """What a command line did; commits are masked in `err`."""

    code: int
    out: str
    err: str

    @classmethod
    def of(cls, code: int, out: str, err: str) -> Ran:
        return cls(code, out, _COMMIT.sub("<commit>", err))

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ran]


def runner(monkeypatch: pytest.MonkeyPatch, said: Callable[[], tuple[str, str]]) -> Cli:
    """Return what runs a command line in this process; `said` takes what was printed since it last did."""
    from forgekit.cli.main import main

    def run(*arguments: str, root: Path | None = None, stdin: bytes = b"") -> Ran:
        if root is not None:
            monkeypatch.chdir(root)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        said()
        return Ran.of(main(arguments), *said())

    return run
