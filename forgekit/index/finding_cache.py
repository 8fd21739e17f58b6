"""Judgements of pairs of texts and vectors of texts, kept so that nothing is computed twice.

One SQLite database for all work trees. The key of a row is the hash of everything that a judgement follows
from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.ids import EntityId
from forgekit.index.database import CheckedRows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CACHE_FILE = "findings.sqlite"
_MOST_ROWS = 2_000_000
_GROUP = 64  # texts encoded between two commits
_ERROR = 5e-5  # of a cosine where other texts were encoded along: at most 1.5e-5 in 180,000 pairs


def finding_cache(folder: Path) -> CheckedRows:
    """Return the cache in a folder; use it as a context manager."""
    return CheckedRows(folder / CACHE_FILE, most=_MOST_ROWS)


Opposed = tuple[EntityId, str, EntityId, str]
"""Both sides of a contradiction, each with the blob id of the file that was read."""


def keep_opposed(cache: CheckedRows, tree: str, found: Collection[Opposed]) -> None:
    """Keep the contradictions of a work tree for readers that have no time to judge."""
    cache.put({f"opposed {tree}": json.dumps(list(found)).encode()})


def kept_opposed(folder: Path, tree: str) -> list[Opposed]:
    """Return the contradictions that were last found in a work tree, whatever changed since."""
    key = f"opposed {tree}"
    if not (folder / CACHE_FILE).exists():
        return []
    with finding_cache(folder) as cache:
        return [(a, of_a, b, of_b) for a, of_a, b, of_b in json.loads(cache.get([key]).get(key, b"[]"))]


def keep_contradicted(cache: CheckedRows, found: Mapping[EntityId, Collection[EntityId]]) -> None:
    """Keep which conventions contradict each one, for readers that have no time to judge."""
    cache.put({f"contradict {key}": json.dumps(sorted(others)).encode() for key, others in found.items()})


def kept_contradicted(folder: Path, keys: Iterable[EntityId]) -> dict[EntityId, set[EntityId]]:
    """Return which conventions were found to contradict each one; an id names a convention's text."""
    if not (folder / CACHE_FILE).exists():
        return {}
    names = {f"contradict {key}": key for key in keys}
    with finding_cache(folder) as cache:
        return {names[name]: set(json.loads(text)) for name, text in cache.get(names).items()}


def text_cosines(
    cache: CheckedRows,
    version: str,
    encode: Callable[[str], NDArray[np.float32]],
    pairs: Sequence[tuple[str, str]],
    late: Callable[[], bool],
    near: Callable[[Sequence[str]], Mapping[str, bytes]] | None = None,
) -> list[float | None]:
    """Return the cosines of pairs of texts, each a function of its two texts and the version alone.

    Args:
        version: names what encodes.
        late: whether no more texts may be encoded; a pair that needs one has None.
        near: returns, in half precision, vectors that were made while other texts were encoded; they serve
            where an error as great as that makes cannot change the cosine.
    """
    import numpy as np

    keys = {
        text: hashlib.sha256(f"{version} exact vector {text}".encode()).hexdigest()
        for text in dict.fromkeys(t for pair in pairs for t in pair)
    }
    known = cache.get(keys.values())
    exact = {text: known[key] for text, key in keys.items() if key in known}
    close = near([text for text in keys if text not in exact]) if near and len(exact) < len(keys) else {}
    made: dict[str, bytes] = {}

    def vector(text: str, exactly: bool) -> NDArray[np.float64] | None:
        if text not in exact and (exactly or text not in close):
            if late():
                return None
            exact[text] = made[keys[text]] = encode(text).astype("<f2").tobytes()
            if len(made) >= _GROUP:
                cache.put(made)
                made.clear()
        return np.frombuffer(exact.get(text) or close[text], "<f2").astype(np.float64)

    def cosine(a: str, b: str, exactly: bool = False) -> float | None:
        one, two = vector(a, exactly), vector(b, exactly)
        if one is None or two is None:
            return None
        found = float(one @ two)
        if exact.keys() >= {a, b} or abs(found * 1000 % 1 - 0.5) > _ERROR * 1000:
            return round(found, 3)
        return cosine(a, b, exactly=True)

    cosines = [cosine(a, b) for a, b in pairs]
    cache.put(made)
    return cosines
