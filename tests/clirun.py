"""What running a command line gives back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
