"""Judgements of pairs of texts and vectors of texts, kept so that nothing is computed twice.

One SQLite database for all work trees. The key of a row is the hash of everything that a judgement follows
from.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from forgekit.index.database import CheckedRows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_ROWS = 2_000_000
_GROUP = 64  # texts encoded between two commits


class FindingCache:
    """Texts by key, in a database that may be deleted at any time; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._rows = CheckedRows(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.__exit__()

    def get(self, keys: Collection[str]) -> dict[str, str]:
        """Return what is kept under these keys."""
        return {key: data.decode("utf-8", "replace") for key, data in self._rows.get(keys).items()}

    def put(self, texts: Mapping[str, str]) -> None:
        """Keep texts, in one transaction; once there are very many, what was kept before goes."""
        self._rows.put({key: text.encode() for key, text in texts.items()}, _MOST_ROWS)


def text_cosines(
    cache: FindingCache,
    version: str,
    encode: Callable[[str], NDArray[np.float32]],
    pairs: Sequence[tuple[str, str]],
    late: Callable[[], bool],
) -> list[float | None]:
    """Return the cosines of pairs of texts, each a function of its two texts and the version alone.

    Args:
        cache: keeps the vectors.
        version: names what encodes.
        encode: returns the unit vector of a text.
        pairs: of texts.
        late: says that no more texts may be encoded; a pair that needs one has None.
    """
    import numpy as np

    keys = {
        text: _vector_key(version, text) for text in dict.fromkeys(text for pair in pairs for text in pair)
    }
    known = cache.get(keys.values())
    made: dict[str, str] = {}
    for text, key in keys.items():
        if key not in known and not late():
            made[key] = known[key] = base64.b64encode(encode(text).astype("<f2").tobytes()).decode()
        if len(made) >= _GROUP:
            cache.put(made)
            made = {}
    cache.put(made)
    vectors: dict[str, NDArray[Any]] = {
        text: np.frombuffer(base64.b64decode(known[key]), "<f2").astype(np.float64)
        for text, key in keys.items()
        if key in known
    }
    return [
        round(float(vectors[a] @ vectors[b]), 3) if a in vectors and b in vectors else None for a, b in pairs
    ]


def _vector_key(version: str, text: str) -> str:
    return hashlib.sha256(f"{version} vector {text}".encode()).hexdigest()
