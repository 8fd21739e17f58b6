"""Which pairs of active decisions there are to judge, and which of them are judged, as arrays of numbers.

A registry of 10,000 has 75,000 pairs, and one write changes few of them. So what is judged is kept from one
set of decisions to the next, by ids and blob ids, and only pairs that are new are looked at one by one.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forgekit.ids import EntityId

Flagged = tuple[EntityId, EntityId, float, Any]
"""Both sides of a pair, their cosine, the judgement."""


class JudgedPairs:
    """The pairs of one set of active decisions; a pair is one number, made of the places of both sides.

    Args:
        active: the decisions with the blob ids of their files.
        kept: what `text` returned for an earlier set, or nothing.
    """

    def __init__(self, active: Mapping[EntityId, str], kept: str | bytes) -> None:
        self._active = active
        self._ids = sorted(active)
        self._place = {key: at for at, key in enumerate(self._ids)}
        self._judged: NDArray[np.int64] = np.empty(0, np.int64)
        self.flagged: list[Flagged] = []
        self._pairs: NDArray[np.int64] = self._judged
        if kept:
            ids, blobs, numbers, flagged = json.loads(kept)
            left = {key for key, blob in zip(ids, blobs, strict=True) if active.get(key) == blob}
            moved = np.array([self._place[key] if key in left else -1 for key in ids], np.int64)
            before = np.frombuffer(base64.b64decode(numbers), "<i8")
            a, b = moved[before // max(len(ids), 1)], moved[before % max(len(ids), 1)]
            self._judged = self._number(a, b)[(a >= 0) & (b >= 0)]
            self.flagged = [
                (a, b, cosine, found) for a, b, cosine, found in flagged if a in left and b in left
            ]

    def _number(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum(a, b) * len(self._ids) + np.maximum(a, b)

    def pair(
        self,
        keys: Sequence[str],
        near: NDArray[np.int32],
        cosines: NDArray[np.float32],
        sharing: Iterable[Sequence[str]],
    ) -> None:
        """Find the pairs: each decision with its nearest, and those that share a rare word.

        Args:
            keys: of the decisions that have a vector.
            near: for each of them the rows of its nearest among them; -1 for none.
            cosines: of these.
            sharing: groups of decisions; one that was filed since by another process is passed over.
        """
        place = np.array([self._place[EntityId(key)] for key in keys], np.int64)
        known = near >= 0
        rows = np.broadcast_to(np.arange(len(keys))[:, None], near.shape)[known]
        close = self._number(place[rows], place[near[known]])
        at = ([self._place[EntityId(key)] for key in ids if key in self._place] for ids in sharing)
        shared = np.array([sides for ids in at for sides in combinations(ids, 2)], np.int64).reshape(-1, 2)
        every = np.concatenate([close, self._number(shared[:, 0], shared[:, 1])])
        nearness = np.concatenate([cosines[known], np.full(len(shared), -1, np.float32)])
        order = np.argsort(every, kind="stable")
        order = order[np.diff(every[order], prepend=-1) > 0]  # each once
        self._pairs, self._nearness = every[order], nearness[order]
        self._judged = self._judged[_among(self._judged, self._pairs)]
        self.flagged = [row for row in self.flagged if self._has(row[0], row[1])]

    def _has(self, a: EntityId, b: EntityId) -> bool:
        number = self._place[a] * len(self._ids) + self._place[b]
        at = int(np.searchsorted(self._pairs, number))
        return at < len(self._pairs) and int(self._pairs[at]) == number

    def todo(
        self, chosen: Collection[EntityId] | None, most: int | None = None
    ) -> list[tuple[EntityId, EntityId]]:
        """Return the pairs not judged, those of the chosen decisions or all, the nearest `most` first."""
        new = ~_among(self._pairs, self._judged) & self._touching(self._pairs, chosen)
        order = np.argsort(-self._nearness[new], kind="stable")[:most]
        size = max(len(self._ids), 1)
        return [(self._ids[n // size], self._ids[n % size]) for n in self._pairs[new][order].tolist()]

    def counts(self, chosen: Collection[EntityId] | None) -> tuple[int, int]:
        """Return how many pairs are judged and how many are not, of the chosen decisions or of all."""
        judged = int(self._touching(self._judged, chosen).sum())
        return judged, int(self._touching(self._pairs, chosen).sum()) - judged

    def _touching(self, pairs: NDArray[np.int64], chosen: Collection[EntityId] | None) -> NDArray[np.bool_]:
        if chosen is None:
            return np.full(len(pairs), True)
        member = np.zeros(len(self._ids), np.bool_)
        member[[self._place[key] for key in chosen]] = True
        size = max(len(self._ids), 1)
        return np.asarray(member[pairs // size] | member[pairs % size], np.bool_)

    def add(self, judged: Iterable[tuple[EntityId, EntityId]], flagged: Iterable[Flagged]) -> None:
        """Note pairs as judged, and the judgements of those that matter."""
        numbers = [self._place[a] * len(self._ids) + self._place[b] for a, b in judged]
        self._judged = np.sort(np.concatenate([self._judged, np.array(numbers, np.int64)]))
        self.flagged += flagged

    def text(self) -> str:
        """Return everything as one text."""
        numbers = base64.b64encode(self._judged.astype("<i8").tobytes()).decode()
        blobs = [self._active[key] for key in self._ids]
        return json.dumps([self._ids, blobs, numbers, self.flagged])


def _among(these: NDArray[np.int64], those: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say of each number whether it is among others, which are in ascending order."""
    if not len(those):
        return np.full(len(these), False)
    at = np.searchsorted(those, these).clip(max=len(those) - 1)
    return np.asarray(those[at] == these, np.bool_)
