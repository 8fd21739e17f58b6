"""Search by meaning: the vectors of a registry's texts, kept and searched in the cache folder.

Two things are kept, and either can be deleted or damaged at any moment without changing an answer: the
vector of each text (`vectors.cache`, what costs time to make) and the index over them (`vectors.index`,
made from the former in well under a second). What neither vouches for is made anew from the texts.

    space   encoder and chunk rule; vectors of different spaces are never compared
    entry   a key (an entity's id), the hash of what it says, and its texts; their mean is its vector
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.index.vector_cache import VectorCache
from forgekit.model.body import parts

if TYPE_CHECKING:
    from forgekit.model.entity import Entity

CHUNK_RULE = "entity-2"
"""Names the rule of this module; vectors made under another rule are not used."""
TEXT_LIMIT = 4_000
"""Characters of the longest text: more than the 512 tokens that the models read of common prose."""


def embedding_texts(entity: Entity) -> tuple[str, ...]:
    """Return the texts whose mean vector stands for an entity: its title and its whole text.

    Only one where the title is all there is, and "" where it says nothing.
    """
    title, *rest = _parts(entity)
    whole = "\n\n".join(part for part in map(str.strip, (title, *rest)) if part)[:TEXT_LIMIT].strip()
    title = title.strip()[:TEXT_LIMIT].strip()
    return (title, whole) if title and title != whole else (whole,)


def _parts(entity: Entity) -> Iterable[str]:
    """Return the title and what else is said; any of it may be empty."""
    from forgekit.model.archive import Archive
    from forgekit.model.conflict import Conflict
    from forgekit.model.decision import Decision
    from forgekit.model.lineage import Lineage

    match entity:
        case Archive():
            title = f"{_words(entity.compression_tag)}\n\n{entity.conversation_title}"
            return title, *_told(entity.body)
        case Lineage():
            title = "\n\n".join(_words(c.compression_tag) for c in entity.compressions)
            return title, *_sections(entity.body)
        case Conflict():
            return entity.nature, *entity.evidence, entity.reason or "", *_sections(entity.body)
        case Decision():
            rejected = "; ".join(entity.alternatives_rejected)
            return entity.decision, *_sections(entity.body), rejected, ", ".join(entity.tags)
        case _:
            return entity.title, *_sections(entity.body), ", ".join(getattr(entity, "tags", ()))


def _sections(body: str) -> Iterable[str]:
    """Return what a body's sections say, without their headings."""
    return (text if heading is None else text.partition("\n")[2] for heading, text in parts(body))


def _told(body: str) -> Iterable[str]:
    """Return what an archive says in short, or its first part where it says nothing in short."""
    from forgekit.archives.read import read_archive

    read = read_archive(body)
    told = (read.summary, *(d.text for d in read.decisions), *(t.title for t in read.threads))
    return told if any(told) else (body[:TEXT_LIMIT],)


def _words(tag: str) -> str:
    """Return a tag as the words that it is made of, the way a question would use them."""
    return tag.replace("_", " ").lower()


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forgekit.index.vector_index import IndexFiles, VectorIndex
    from forgekit.models.encoder import Encoder

Progress = Callable[[int, int], None]
"""Called with the texts that are encoded so far, and how many there are to encode."""
Texts = Callable[[], Sequence[str]] | str
"""A text, or what returns one or more; none where the entry's text is another by now."""
Entry = tuple[str, str, Texts]
"""Key, hash, texts; neither of the first two holds a line break."""

_WINDOW = 2_048  # texts held at once, and put in order of length
_PAIR_ROWS = 256  # rows compared with all others at once
_COMMIT = 64  # texts encoded between two commits: an interrupted build loses less than a second


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """What an update did, in entries.

    Attributes:
        added: whose text had to be encoded.
        reused: whose vector was known.
        removed: that were in the index and are no more.
        missing: that are not in the index yet: the limit was reached, or the text is another by now.
    """

    added: int
    reused: int
    removed: int
    missing: int


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorStatus:
    """The index on disk: `kind` is `scan`, `flat`, `ivf`, or `none` where there is no index of this space."""

    model: str
    fingerprint: str
    kind: str
    count: int
    size: int


class Vectors:
    """The vectors of one work tree's texts in one space.

    Args:
        cache: the folder for everything that can be rebuilt.
        encoder: makes the vectors.
        tree: tells the work trees that share the cache folder apart.
    """

    def __init__(self, cache: Path, encoder: Encoder, tree: str = "main") -> None:
        self._folder = cache
        self._encoder = encoder
        self._tree = tree
        self._space = f"{encoder.fingerprint} {CHUNK_RULE}"
        self._index: VectorIndex | None = None

    def standing(self, state: str | None) -> Built | None:
        """Return what an update would say where the index was made from this state; None where it was not."""
        index = self._current() if state is not None else None
        if index is None or index.state != state:
            return None
        return Built(added=0, reused=len(index.keys), removed=0, missing=0)

    def update(
        self,
        entries: Iterable[Entry],
        progress: Progress | None = None,
        limit: int | None = None,
        state: str | None = None,
    ) -> Built:
        """Make the index hold exactly these entries; what was encoded is kept even when this is interrupted.

        Args:
            entries: all that are to be found; of two with one key the last counts.
            progress: told how far the encoding is.
            limit: texts to encode at most; the others are left for the next update.
            state: names what all of the entries follow from, for `standing`.
        """
        wanted = {key: (digest, text) for key, digest, text in entries}
        keys = sorted(wanted)
        hashes = [wanted[key][0] for key in keys]
        before = self._current()
        if before is not None and (before.keys, before.hashes) == (keys, hashes):
            if state is not None and before.state != state:
                self._index = self._files().stamp(before, state)
            return Built(added=0, reused=len(keys), removed=0, missing=0)
        cache = VectorCache(self._folder / "vectors.sqlite", self._space, self._encoder.dimension)
        with cache:
            known = cache.get(set(hashes))
            texts = {digest: text for digest, text in wanted.values() if digest not in known}
            todo = list(texts.items())[:limit]
            reused = sum(digest in known for digest in hashes)
            for made in self._encoded(todo, progress):
                cache.put(made)
                known |= made
            cache.trim(set(hashes))
        kept = [(key, digest) for key, digest in zip(keys, hashes, strict=True) if digest in known]
        gone = set(before.keys).difference(keys) if before is not None else ()
        if before is None or list(zip(before.keys, before.hashes, strict=True)) != kept:
            whole = state if len(kept) == len(keys) else None
            self._index = self._made([key for key, _ in kept], [digest for _, digest in kept], known, whole)
        return Built(
            added=len(kept) - reused, reused=reused, removed=len(gone), missing=len(keys) - len(kept)
        )

    def search(
        self, query: str | NDArray[np.float32], k: int, allowed: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return the keys nearest to a query with their cosines, best first; equal ones by key.

        The index is that of the last update, in this process or an earlier one; without any, the answer is
        empty.

        Args:
            query: a question, or a vector of unit length.
            k: how many at most.
            allowed: keys to choose from; None for all.
        """
        import numpy as np

        index = self._current()
        if index is None or not index.keys:
            return []
        rows = None
        if allowed is not None:
            picked = allowed if isinstance(allowed, (set, frozenset, dict)) else set(allowed)
            rows = np.array([row for row, key in enumerate(index.keys) if key in picked], np.int64)
        return index.search(self.vector(query), k, rows)

    def vector(self, query: str | NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the vector of a question, with which one can ask more than once."""
        import numpy as np

        found = self._encoder.encode_queries([query])[0] if isinstance(query, str) else query
        return np.ascontiguousarray(found, np.float32)

    def cosines(self, vector: NDArray[np.float32], keys: Iterable[str]) -> dict[str, float]:
        """Return the cosines of keys with a vector of unit length; of those that are in the index."""
        import numpy as np

        index = self._current()
        if index is None:
            return {}
        rows = _rows(index.keys, keys)
        found = index.cosines(vector, np.array(rows, np.int64)) if rows else ()
        return {index.keys[row]: float(cosine) for row, cosine in zip(rows, found, strict=True)}

    def nearness(self, key: str, *texts: str) -> float | None:
        """Return the cosine of the vector that is kept for a key with a new one of texts."""
        vector = self._vectors([texts])[0]
        return next((cosine for _, cosine in self.search(vector, 1, [key])), None)

    def pairs(
        self, these: Collection[str], those: Collection[str], least: float
    ) -> dict[tuple[str, str], float]:
        """Return the cosine of each pair, one of these and one of those, that is at least so near."""
        import numpy as np

        index = self._current()
        if index is None:
            return {}
        sides = (set(these), set(those))
        a, b = (np.array([row for row, key in enumerate(index.keys) if key in s], np.int64) for s in sides)
        if not len(a) or not len(b):
            return {}
        others = index.candidates.vectors(b).T
        out = {}
        for start in range(0, len(a), _PAIR_ROWS):
            rows = a[start : start + _PAIR_ROWS]
            cosines = index.candidates.vectors(rows) @ others
            for i, j in np.argwhere(cosines >= least).tolist():
                out[index.keys[int(rows[i])], index.keys[int(b[j])]] = round(float(cosines[i, j]), 6)
        return out

    def nearest(
        self, these: Collection[str], among: Collection[str], count: int
    ) -> dict[str, list[tuple[str, float]]]:
        """Return, for each of these, the nearest others among some keys with their cosines, best first."""
        import numpy as np

        index = self._current()
        own, others = (sorted(set(keys)) for keys in (these, among))
        a, b = ((_rows(index.keys, keys) if index is not None else []) for keys in (own, others))
        if index is None or not a or not b:
            return {}
        matrix = index.candidates.vectors(np.array(b, np.int64)).T
        out: dict[str, list[tuple[str, float]]] = {}
        for start in range(0, len(a), _PAIR_ROWS):
            rows = a[start : start + _PAIR_ROWS]
            cosines = index.candidates.vectors(np.array(rows, np.int64)) @ matrix
            most = min(count + 1, len(b))
            picked = np.argpartition(-cosines, most - 1, axis=1)[:, :most]
            for place, row in enumerate(rows):
                found = [(index.keys[b[j]], round(float(cosines[place, j]), 6)) for j in picked[place]]
                best = sorted(found, key=lambda item: (-item[1], item[0]))
                out[index.keys[row]] = [item for item in best if item[0] != index.keys[row]][:count]
        return out

    def between(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Return the cosine of each pair of keys; None where one of them is not in the index."""
        import numpy as np

        index = self._current()
        if index is None:
            return [None] * len(pairs)
        places = {key: row for key in {k for pair in pairs for k in pair} for row in _rows(index.keys, [key])}
        known = [(i, places[a], places[b]) for i, (a, b) in enumerate(pairs) if a in places and b in places]
        out: list[float | None] = [None] * len(pairs)
        for start in range(0, len(known), _PAIR_ROWS):
            some = known[start : start + _PAIR_ROWS]
            one, two = (
                index.candidates.vectors(np.array([item[side] for item in some], np.int64)) for side in (1, 2)
            )
            for (i, *_), cosine in zip(some, np.einsum("ij,ij->i", one, two), strict=True):
                out[i] = float(cosine)
        return out

    def status(self) -> VectorStatus:
        """Return what is on disk; opens none of it."""
        said = self._files().read_manifest() or {}
        sizes = [state[0] for state in said.get("files", {}).values()]
        return VectorStatus(
            model=self._encoder.name,
            fingerprint=self._encoder.fingerprint,
            kind=str(said.get("kind", "none")),
            count=said.get("count", 0),
            size=sum(sizes),
        )

    def _current(self) -> VectorIndex | None:
        if self._index is None:
            self._index = self._files().load()
        return self._index

    def _files(self) -> IndexFiles:
        from forgekit.index.vector_index import IndexFiles

        return IndexFiles(self._folder, self._tree, self._space)

    def _encoded(
        self, todo: Sequence[tuple[str, Texts]], progress: Progress | None
    ) -> Iterator[dict[str, bytes]]:
        """Yield the vectors of entries in half precision, in groups of entries of like length."""
        done = 0
        if progress is not None and todo:
            progress(0, len(todo))
        for first in range(0, len(todo), _WINDOW):
            read = [
                (h, (texts,) if isinstance(texts, str) else texts())
                for h, texts in todo[first : first + _WINDOW]
            ]
            window = [(h, texts) for h, texts in read if texts]
            window.sort(key=lambda item: sum(map(len, item[1])))
            for start in range(0, len(window), _COMMIT):
                group = window[start : start + _COMMIT]
                vectors = self._vectors([texts for _, texts in group]).astype("<f2")
                yield {digest: row.tobytes() for (digest, _), row in zip(group, vectors, strict=True)}
                done += len(group)
                if progress is not None:
                    progress(done, len(todo))

    def _vectors(self, entries: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """Return the vectors of entries: the mean of those of their texts, of unit length."""
        import numpy as np

        found = self._encoder.encode_documents([text for texts in entries for text in texts])
        starts = np.cumsum([0, *map(len, entries[:-1])])
        return _unit(np.add.reduceat(found, starts))

    def _made(
        self, keys: list[str], hashes: list[str], known: dict[str, bytes], state: str | None
    ) -> VectorIndex:
        import numpy as np

        halves = np.frombuffer(b"".join(map(known.__getitem__, hashes)), "<f2")
        matrix = halves.reshape(len(keys), self._encoder.dimension).astype(np.float32)
        return self._files().write(keys, hashes, _unit(matrix), state)


def _rows(index: Sequence[str], keys: Iterable[str]) -> list[int]:
    """Return the rows of keys in a sorted index; those it does not hold are left out."""
    places = ((bisect_left(index, key), key) for key in keys)
    return [row for row, key in places if index[row : row + 1] == [key]]


def _unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows of a matrix, which is changed, with unit length."""
    import numpy as np

    matrix /= np.maximum(np.sqrt(np.einsum("ij,ij->i", matrix, matrix))[:, None], np.float32(1e-12))
    return matrix
