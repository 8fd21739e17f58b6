"""Search by meaning: the vectors of a registry's texts, cached and searched in the cache folder.

Two things are cached, and either can be deleted or damaged at any moment without changing an answer: the
vector of each entry and of its first text (`vectors.sqlite`, in half precision, expensive to compute) and the
index over the entries (`vector_index`, made from the former in well under a second).

    space   encoder and chunk rule; vectors of different spaces are never compared
    entry   a key (an entity's id), the hash of its texts, and the texts; their mean is its vector
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.frozen import frozen
from forgekit.index.database import CheckedRows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forgekit.index.vector_index import IndexFiles, VectorIndex
    from forgekit.models.encoder import Encoder

    Floats = NDArray[np.float32]

CHUNK_RULE = "entity-2"
"""Names the rule of `query.embedding_texts`; vectors made under another rule are not used."""

Progress = Callable[[int, int], None]
"""Called with the number of texts encoded so far, and of those to encode."""
Texts = Callable[[], Sequence[str]] | str
"""A text, or what returns one or more; none where the entry's text has changed by now."""
Entry = tuple[str, str, Texts]
"""Key, hash, texts; the key and the hash have no line break."""
Limit = int | None | Callable[[Collection[str]], int | None]
"""Texts to encode at most, or what returns it for the keys without a vector."""

_WINDOW = 2_048  # texts held at once, and sorted by length
_PAIR_ROWS = 256  # rows compared with all others at once
_NEAREST = 20  # of those that are paired with one key
_FEW = 64  # changes for which the files are not made anew where only some texts may be encoded
_COMMIT = 64  # texts encoded between two commits: an interrupted build loses less than a second


@frozen(kw_only=True)
class Built:
    """What an update did, in entries.

    Attributes:
        added: whose text had to be encoded.
        reused: whose vector was cached.
        removed: that were in the index and are gone.
        missing: that are not in the index yet: the limit was reached, or the text has changed by now.
    """

    added: int
    reused: int
    removed: int
    missing: int


@frozen(kw_only=True)
class VectorStatus:
    """The index on disk: `kind` is `scan`, `flat`, `ivf`, or `none` where there is no index of this space."""

    model: str
    kind: str
    count: int
    size: int


class Vectors:
    """The vectors of one work tree's texts in one space.

    Args:
        cache: the folder for everything that can be rebuilt.
        tree: distinguishes the work trees that share the cache folder.
    """

    def __init__(self, cache: Path, encoder: Encoder, tree: str = "main") -> None:
        self._folder = cache
        self._encoder = encoder
        self._tree = tree
        self.space = f"{encoder.fingerprint} {CHUNK_RULE}"
        self._index: VectorIndex | None = None
        self._asked: tuple[str, Floats] | None = None

    @property
    def digest(self) -> str:
        """The digest of the index on disk, "" where there is none; opens the manifest alone."""
        return str((self._files().read_manifest() or {}).get("digest", ""))

    def current(self, state: str | None) -> Built | None:
        """Return the result of an update if the index was made from this state, else None."""
        if state is None or (index := self._current()).state != state:
            return None
        return Built(added=0, reused=len(index.keys), removed=0, missing=0)

    def update(
        self,
        entries: Iterable[Entry],
        progress: Progress | None = None,
        limit: Limit = None,
        state: str | None = None,
        only: Collection[str] | None = None,
    ) -> Built:
        """Make the index hold exactly these entries; an interrupted update keeps what it encoded.

        Args:
            entries: all of them; of two with one key the last counts.
            limit: of the texts to encode; the others are left for the next update.
            state: names what all of the entries follow from, for `current`.
            only: keys whose texts may be encoded; None for all. With it, few changes stay in memory.
        """
        import numpy as np

        wanted = {key: (digest, text) for key, digest, text in entries}
        keys = sorted(wanted)
        hashes = [wanted[key][0] for key in keys]
        before = self._current()
        if (before.keys, before.hashes) == (keys, hashes):
            if state is not None and before.state != state:
                self._index = self._files().stamp(before, state)
            return Built(added=0, reused=len(keys), removed=0, missing=0)
        have = {digest: row for row, digest in enumerate(before.hashes)}
        new = dict.fromkeys(digest for digest in hashes if digest not in have)
        with self._cache() as cache:
            known = cache.get(new)
            fresh = set(new).difference(known)
            reused = sum(digest not in fresh for digest in hashes)
            absent = {key: entry for key, entry in wanted.items() if entry[0] in fresh}
            texts = dict(entry for key, entry in absent.items() if only is None or key in only)
            most = limit(absent) if callable(limit) else limit
            for made in self._encoded(list(texts.items())[:most], progress):
                cache.put(made)
                known |= made
            cache.trim(hashes)
        gone = set(before.keys).difference(keys)
        missing = fresh.difference(known)
        if missing:
            kept = [(key, digest) for key, digest in zip(keys, hashes, strict=True) if digest not in missing]
            keys, hashes, state = [key for key, _ in kept], [digest for _, digest in kept], None
        if (before.keys, before.hashes) != (keys, hashes):
            rows = np.array([have.get(digest, -1) for digest in hashes], np.int64)
            added = self._read([known[hashes[at]] for at in np.flatnonzero(rows < 0).tolist()])
            if only is not None and before.keys and len(new) + len(gone) <= _FEW:
                self._index = before.changed(keys, hashes, rows, added, state)
            else:
                matrix = before.vectors(rows.clip(0)) if before.keys else np.empty_like(added)
                matrix[rows < 0] = added
                self._index = self._files().write(keys, hashes, matrix, state)
        return Built(
            added=len(keys) - reused,
            reused=reused,
            removed=len(gone),
            missing=len(wanted) - len(keys),
        )

    def _read(self, kept: Sequence[bytes]) -> Floats:
        """Return the vectors that were kept in half precision."""
        import numpy as np

        halves = np.frombuffer(b"".join(kept), "<f2").reshape(len(kept), self._encoder.dimension)
        return _unit(halves.astype(np.float32))

    def search(
        self, query: str | Floats, k: int, allowed: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return the keys nearest to a query with their cosines, best first; equal ones by key.

        The index is that of the last update, in this process or an earlier one; without any, the answer is
        empty.

        Args:
            query: a question, or a vector of unit length.
            allowed: keys to choose from; None for all.
        """
        index = self._current()
        if not index.keys:
            return []
        rows = None if allowed is None else _rows_of(index, allowed)
        return index.search(self.vector(query), k, rows)

    def vector(self, query: str | Floats) -> Floats:
        """Return the vector of a question; that of the last one is remembered."""
        import numpy as np

        if not isinstance(query, str):
            return np.ascontiguousarray(query, np.float32)
        if self._asked is None or self._asked[0] != query:
            self._asked = query, np.ascontiguousarray(self._encoder.encode_queries([query])[0], np.float32)
        return self._asked[1]

    def cosines(self, vector: Floats, keys: Iterable[str]) -> dict[str, float]:
        """Return the cosines of a vector of unit length with those keys that are in the index."""
        import numpy as np

        index = self._current()
        rows = _rows(index.keys, keys)
        found = index.cosines(vector, np.array(rows, np.int64)) if rows else ()
        return {index.keys[row]: float(cosine) for row, cosine in zip(rows, found, strict=True)}

    def nearness(self, key: str, *texts: str) -> float | None:
        """Return the cosine of a key's indexed vector with a new one of these texts."""
        return self.cosines(self._vectors([texts])[1][0], [key]).get(key)

    def of_texts(self, fingerprint: str, texts: Iterable[str]) -> dict[str, bytes]:
        """Return the vectors kept of entries' first texts, by text; none where the encoder is another one."""
        if fingerprint != self._encoder.fingerprint:
            return {}
        keys = {_text_key(text): text for text in texts}
        with self._cache() as cache:
            return {keys[key]: data for key, data in cache.get(keys).items()}

    def pairs(
        self, these: Collection[str], those: Collection[str], least: float
    ) -> dict[tuple[str, str], float]:
        """Return the cosine of each pair, one of these and one of its nearest of those, at least so near."""
        import numpy as np

        index = self._current()
        a, b = _rows_of(index, these), _rows_of(index, those)
        if not len(a) or not len(b):
            return {}
        others, those_keys = index.vectors(b).T, [index.keys[row] for row in b.tolist()]
        out = {}
        for start in range(0, len(a), _PAIR_ROWS):
            rows = a[start : start + _PAIR_ROWS]
            cosines = index.vectors(rows) @ others
            if len(b) > _NEAREST:
                bound = -np.partition(-cosines, _NEAREST - 1, axis=1)[:, _NEAREST - 1 : _NEAREST]
                cosines[cosines < bound] = -2  # below every cosine
            near = cosines >= least
            for (i, j), cosine in zip(np.argwhere(near).tolist(), cosines[near].tolist(), strict=True):
                out[index.keys[int(rows[i])], those_keys[j]] = round(cosine, 6)
        return out

    def neighbours(self, among: Collection[str], count: int) -> tuple[list[str], NDArray[np.int32], Floats]:
        """Return those of some keys that have a vector, the rows of the nearest others of each, and cosines.

        Best first, equal ones by key, -1 where there are no more.
        """
        import numpy as np

        from forgekit.index import neighbours

        index = self._current()
        rows = _rows_of(index, among)
        if not len(rows):
            return [], np.empty((0, count), np.int32), np.empty((0, count), np.float32)
        keys, hashes = ([names[row] for row in rows] for names in (index.keys, index.hashes))
        space = hashlib.sha256(self.space.encode()).hexdigest()[:12]
        kept = self._folder / f"neighbours-{self._tree}-{space}.npy"
        everything = cache(lambda: index.vectors(rows))

        def cosines_of(some: NDArray[np.int64]) -> Floats:
            these = index.vectors(rows[some])
            if len(some) <= _FEW:  # a copy of all the others takes longer
                return index.products(these)[rows].T
            return these @ everything().T

        return keys, *neighbours.nearest(keys, hashes, cosines_of, count, kept)

    def clusters(self, among: Collection[str]) -> list[list[str]]:
        """Return the groups that some keys form by their vectors; those without one are left out."""
        import numpy as np

        from forgekit.index.clusters import COUNT, clusters

        keys, near, cosines = self.neighbours(among, COUNT)
        if not keys:
            return []
        index = self._current()
        rows = np.array(_rows(index.keys, keys), np.int64)
        return clusters(keys, near, cosines, index.vectors(rows))

    def copy(self, same: Mapping[str, str]) -> None:
        """Give the hashes of new texts the vectors that they have under former hashes: new -> former."""
        with self._cache() as cache:
            known = cache.get(set(same.values()))
            cache.put({new: known[old] for new, old in same.items() if old in known})

    def between(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Return the cosine of each pair of keys; None where one of them is not in the index."""
        import numpy as np

        index = self._current()
        rows = [np.array(_rows(index.keys, pair), np.int64) for pair in pairs]
        found = (index.vectors(each) if len(each) == 2 else None for each in rows)
        return [None if both is None else float(both[0] @ both[1]) for both in found]

    def missing_count(self, keys: Collection[str]) -> int:
        """Return of how many keys the index has no vector."""
        return len(keys) - len(_rows_of(self._current(), keys))

    def status(self) -> VectorStatus:
        """Return what the manifest records; opens no other file."""
        found = self._files().read_manifest() or {}
        return VectorStatus(
            model=self._encoder.name,
            kind=str(found.get("kind", "none")),
            count=found.get("count", 0),
            size=sum(state[0] for state in found.get("files", {}).values()),
        )

    def _current(self) -> VectorIndex:
        """Return the index, without any key where there is none."""
        from forgekit.index.vector_index import no_index

        self._index = self._index or self._files().load()
        return self._index or no_index()

    def _cache(self) -> CheckedRows:
        """Return the vectors, as half-precision numbers, by the hash of their texts."""
        return CheckedRows(self._folder / "vectors.sqlite", self.space)

    def _files(self) -> IndexFiles:
        from forgekit.index.vector_index import IndexFiles

        return IndexFiles(self._folder, self._tree, self.space)

    def _encoded(
        self, todo: Sequence[tuple[str, Texts]], progress: Progress | None
    ) -> Iterator[dict[str, bytes]]:
        """Yield the vectors of entries in half precision, in groups of entries of similar length."""
        done = 0
        if progress is not None and todo:
            progress(0, len(todo))
        for first in range(0, len(todo), _WINDOW):
            part = todo[first : first + _WINDOW]
            read = [(key, (texts,) if isinstance(texts, str) else texts()) for key, texts in part]
            window = sorted(filter(lambda item: item[1], read), key=lambda item: sum(map(len, item[1])))
            for start in range(0, len(window), _COMMIT):
                group = window[start : start + _COMMIT]
                firsts, means = (rows.astype("<f2") for rows in self._vectors([texts for _, texts in group]))
                yield {
                    key: row.tobytes()
                    for (digest, texts), first, mean in zip(group, firsts, means, strict=True)
                    for key, row in ((_text_key(texts[0]), first), (digest, mean))
                }
                done += len(group)
                if progress is not None:
                    progress(done, len(todo))

    def _vectors(self, entries: Sequence[Sequence[str]]) -> tuple[Floats, Floats]:
        """Return the vectors of entries' first texts, and their own: the mean of all, of unit length."""
        import numpy as np

        found = self._encoder.encode_documents([text for texts in entries for text in texts])
        starts = np.cumsum([0, *map(len, entries[:-1])])
        return found[starts], _unit(np.add.reduceat(found, starts))


def _text_key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _rows(index: Sequence[str], keys: Iterable[str]) -> list[int]:
    """Return the rows of keys in a sorted index; those it does not hold are left out."""
    places = ((bisect_left(index, key), key) for key in keys)
    return [row for row, key in places if index[row : row + 1] == [key]]


def _rows_of(index: VectorIndex, keys: Collection[str]) -> NDArray[np.int64]:
    import numpy as np

    wanted = keys if isinstance(keys, (set, frozenset, dict)) else set(keys)
    return np.array([row for row, key in enumerate(index.keys) if key in wanted], np.int64)


def _unit(matrix: Floats) -> Floats:
    """Return the rows of a matrix, which is changed, with unit length."""
    import numpy as np

    matrix /= np.maximum(np.sqrt(np.einsum("ij,ij->i", matrix, matrix))[:, None], np.float32(1e-12))
    return matrix
