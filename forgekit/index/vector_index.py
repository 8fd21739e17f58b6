"""The searchable form of a set of vectors: a few files that are made anew whenever the set changes.

Files are written under names of their own and never changed. The manifest, renamed into place last, records
which files belong together and their state when they were written. A file in any other state is not opened,
so that no library maps damaged bytes: the index is then made anew from the cached vectors.

    ids       the keys, one per line, then the hashes of their texts; row numbers follow this order
    matrix    the vectors, float32, row by row
    faiss     an index of FAISS, above SCAN_UP_TO rows

    kind  rows               files              search
    scan  up to SCAN_UP_TO   ids matrix         all dot products, in NumPy
    flat  up to IVF_ABOVE    ids faiss          all dot products, in FAISS, memory-mapped
    ivf   above              ids matrix faiss   the nearest lists of IVF-SQ8 in FAISS, then the matrix

Cosines are computed in one way for every kind, in double precision, and equal ones are ordered by key, so the
exact kinds (scan, flat) give identical answers. NumPy is faster up to 100,000 rows unless a filter excludes
most of them (`benchmarks/vectors.py`), and importing FAISS costs 25 to 40 ms.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forgekit.frozen import frozen, replace
from forgekit.index.database import locked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]

SCAN_UP_TO = 50_000
IVF_ABOVE = 100_000

_LAYOUT = 1
_TRIES = 3  # a reader may find the files of a manifest deleted by a faster writer
_SPARE = 32  # candidates beyond those asked for: rounding may have changed their order
_SPARE_SQ8 = 100  # ... and so did eight bits per number
_TRAIN_PER_LIST = 40  # FAISS asks for 39
_TRAIN_ROUNDS = 10
_PROBES_OF_LISTS = 16  # one list in so many is searched


@frozen(kw_only=True)
class VectorIndex:
    """A set of vectors that can be searched and not changed.

    Attributes:
        keys: whose vectors they are, in ascending order; a row is a place in this list.
        hashes: of the texts of the vectors.
        kind: `scan`, `flat` or `ivf`; `none` where there are no files.
        matrix: the vectors; None for `flat`.
        faiss: a FAISS index that is only read: adding to a mapped one ends the process. None for `scan`.
        state: names what the index was made from; None where nobody named it.
        added: vectors beyond the matrix, and where each row's is in both; of an index that no file holds.
    """

    keys: Sequence[str]
    hashes: Sequence[str]
    kind: str
    matrix: Floats | None = None
    faiss: Any = None
    state: str | None = None
    added: tuple[Floats, Rows] | None = None

    def search(self, vector: Floats, count: int, rows: Rows | None) -> list[tuple[str, float]]:
        """Return the nearest keys with their cosines, best first; with `rows`, among those only."""
        import numpy as np

        if not self.keys or count < 1 or (rows is not None and not len(rows)):
            return []
        found = np.sort(self._nearest(vector, count + _SPARE, rows))
        cosines = self.cosines(vector, found)
        order = np.argsort(-cosines, kind="stable")[:count]
        return [(self.keys[int(found[i])], float(cosines[i])) for i in order]

    def cosines(self, vector: Floats, rows: Rows) -> NDArray[np.float64]:
        """Return the cosine of each row."""
        import numpy as np

        return np.round(self.vectors(rows).astype(np.float64) @ vector.astype(np.float64), 9)

    def vectors(self, rows: Rows) -> Floats:
        """Return the vectors of rows, [len(rows), dimension]."""
        if self.matrix is None:
            return self.faiss.reconstruct_batch(rows)  # type: ignore[no-any-return]
        if self.added is None:
            return self.matrix[rows]
        beyond = self.added[1][rows] - len(self.matrix)
        found = self.matrix[self.added[1][rows] * (beyond < 0)]
        found[beyond >= 0] = self.added[0][beyond[beyond >= 0]]
        return found

    def changed(
        self, keys: Sequence[str], hashes: Sequence[str], rows: Rows, made: Floats, state: str | None
    ) -> VectorIndex:
        """Return an index in memory of rows of this one; for each row that is -1 the next vector made.

        Nothing is copied: of sixteen megabytes for 10,000 rows, that takes longer than a search.
        """
        import numpy as np

        matrix = self._whole()
        added, places = self.added or (made[:0], np.arange(len(matrix)))
        places = np.where(rows < 0, len(matrix) + len(added) - 1 + np.cumsum(rows < 0), places[rows])
        both = np.concatenate([added, made]), places
        return VectorIndex(keys=keys, hashes=hashes, kind="scan", matrix=matrix, state=state, added=both)

    def products(self, vectors: Floats) -> Floats:
        """Return the dot products of all rows with a vector, or with each of some, [len(keys), ...]."""
        import numpy as np

        matrix = self._whole()
        if self.added is None:
            return matrix @ vectors.T
        return np.concatenate([matrix @ vectors.T, self.added[0] @ vectors.T])[self.added[1]]

    def _whole(self) -> Floats:
        """Return the matrix, made of the FAISS index where there is none."""
        import numpy as np

        return self.vectors(np.arange(len(self.keys))) if self.matrix is None else self.matrix

    def _nearest(self, vector: Floats, count: int, rows: Rows | None) -> Rows:
        """Return the rows that are probably nearest, in no order."""
        if self.faiss is None or (self.matrix is not None and rows is not None and len(rows) <= SCAN_UP_TO):
            return self._scan(vector, count, rows)
        if self.matrix is None:
            return self._ask_faiss(vector, count, rows)
        found = self._ask_faiss(vector, count + _SPARE_SQ8, rows)
        return found if len(found) >= count else self._scan(vector, count, rows)

    def _scan(self, vector: Floats, count: int, rows: Rows | None) -> Rows:
        """Compare every vector; exact."""
        import numpy as np

        if rows is None:
            scores = self.products(vector)
        elif len(rows) * 4 > len(self.keys):  # reading all is faster than picking a quarter
            scores = self.products(vector)[rows]
        else:
            scores = self.vectors(rows) @ vector
        if len(scores) <= count:
            best = np.arange(len(scores))
        else:
            worst = np.partition(scores, len(scores) - count)[len(scores) - count]
            best = np.flatnonzero(scores >= worst)  # includes all that are equally far
        return best if rows is None else rows[best]

    def _ask_faiss(self, vector: Floats, count: int, rows: Rows | None) -> Rows:
        """Ask FAISS; exact for a flat index."""
        import faiss
        import numpy as np

        library: Any = faiss
        selector = None
        if rows is not None:
            wanted = np.zeros(len(self.keys), np.bool_)
            wanted[rows] = True
            selector = library.IDSelectorBitmap(np.packbits(wanted, bitorder="little"))
        parameters = library.SearchParameters(sel=selector)
        if self.kind == "ivf":
            probes = max(8, self.faiss.nlist // _PROBES_OF_LISTS)
            parameters = library.SearchParametersIVF(sel=selector, nprobe=probes)
        _, found = self.faiss.search(vector[None], min(count, len(self.keys)), params=parameters)
        return np.unique(found[0][found[0] >= 0])  # -1 where there was no further row


def no_index() -> VectorIndex:
    """Return an index of nothing."""
    import numpy as np

    return VectorIndex(keys=[], hashes=[], kind="none", matrix=np.empty((0, 1), np.float32))


class IndexFiles:
    """The files of one index.

    Args:
        tree: distinguishes the indexes of several work trees.
        space: names the encoder and the chunk rule.
    """

    def __init__(self, folder: Path, tree: str, space: str) -> None:
        if not re.fullmatch(r"[\w.-]{1,200}", tree):
            raise ValueError("the name of a work tree must be fit for a file name")
        self._folder = folder
        self._base = f"vectors-{tree}"
        self.manifest = folder / f"{self._base}.json"
        self._lock = folder / f"{self._base}.lock"
        self._space = space

    def read_manifest(self) -> dict[str, Any] | None:
        """Return the manifest, or None where there is no valid one of this space."""
        with contextlib.suppress(OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
            manifest: dict[str, Any] = json.loads(self.manifest.read_bytes())
            states = manifest["files"].values()
            numbers = [manifest["count"], manifest["dimension"], *(n for state in states for n in state)]
            if (
                (manifest["layout"], manifest["space"]) == (_LAYOUT, self._space)
                and all(type(n) is int and n >= 0 for n in numbers)
                and all(len(state) == 4 for state in states)
                and isinstance(manifest["kind"], str)
                and re.fullmatch("[0-9a-f]{32}", manifest["digest"])
            ):
                return manifest
        return None

    def load(self) -> VectorIndex | None:
        """Open the index; None where there is none, or one that was damaged."""
        for _ in range(_TRIES):
            manifest = self.read_manifest()
            if manifest is None:
                return None
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                return self._open(manifest)
        return None

    def _open(self, manifest: dict[str, Any]) -> VectorIndex:
        import numpy as np

        count, dimension, kind = manifest["count"], manifest["dimension"], manifest["kind"]
        if kind not in {"scan", "flat", "ivf"}:
            raise ValueError("an index of an unknown kind")
        lines = self._file(manifest, "ids").read_bytes().decode().split("\n") if count else []
        keys, hashes = lines[:count], lines[count:]
        if len(hashes) != count or _digest_of(self._space, keys, hashes) != manifest["digest"]:
            raise ValueError("the ids are not those of the manifest")
        index = matrix = None
        if kind != "flat":
            path = self._file(manifest, "matrix")
            if path.stat().st_size != max(4 * count * dimension, 4):  # an empty one holds one number
                raise ValueError("the matrix is of another size")
            matrix = np.asarray(np.memmap(path, "<f4", mode="r", shape=(count, dimension)))
        if kind != "scan":
            import faiss

            index = faiss.read_index(str(self._file(manifest, "faiss")), faiss.IO_FLAG_MMAP_IFC)
            if (index.ntotal, index.d) != (count, dimension):
                raise ValueError("the FAISS index is of another size")
        state = manifest.get("state")
        return VectorIndex(
            keys=keys,
            hashes=hashes,
            kind=kind,
            matrix=matrix,
            faiss=index,
            state=state if isinstance(state, str) else None,
        )

    def _file(self, manifest: dict[str, Any], part: str) -> Path:
        """Return the path of a file; raise where the file is not as it was written."""
        path = self._path(manifest["digest"], part)
        if list(_state(path)) != manifest["files"].get(part):
            raise ValueError(f"{path} was changed")
        return path

    def _path(self, digest: str, part: str) -> Path:
        return self._folder / f"{self._base}-{digest}.{part}"

    @staticmethod
    def in_memory(
        keys: Sequence[str], hashes: Sequence[str], matrix: Floats, state: str | None
    ) -> VectorIndex:
        """Return an index that no file holds."""
        return VectorIndex(keys=keys, hashes=hashes, kind="scan", matrix=matrix, state=state)

    def write(
        self, keys: Sequence[str], hashes: Sequence[str], matrix: Floats, state: str | None = None
    ) -> VectorIndex:
        """Write an index and return it; where the folder is not writable, it lives in memory."""
        in_memory = self.in_memory(keys, hashes, matrix, state)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with locked(self._lock):
                self._write(keys, hashes, matrix, state)
        except OSError:
            return in_memory
        found = self.load()
        if found is None or (found.keys, found.hashes) != (keys, hashes):  # another process wrote since
            return in_memory
        return found

    def stamp(self, index: VectorIndex, state: str) -> VectorIndex:
        """Record what an index was made from, as far as the folder is writable, and return the index."""
        digest = _digest_of(self._space, index.keys, index.hashes)
        with contextlib.suppress(OSError), locked(self._lock):
            manifest = self.read_manifest()
            if manifest is not None and manifest["digest"] == digest:
                self._replace(self.manifest, json.dumps({**manifest, "state": state}).encode())
        return replace(index, state=state)

    def _write(self, keys: Sequence[str], hashes: Sequence[str], matrix: Floats, state: str | None) -> None:
        import numpy as np

        count, dimension = matrix.shape
        kind = "scan" if count <= SCAN_UP_TO else "flat" if count <= IVF_ABOVE else "ivf"
        digest = _digest_of(self._space, keys, hashes)
        parts: dict[str, bytes | memoryview] = {"ids": "\n".join((*keys, *hashes)).encode()}
        if kind != "flat":
            # mmap(2) refuses an empty file.
            numbers = matrix.astype("<f4", copy=False) if matrix.size else np.zeros(1, "<f4")
            parts["matrix"] = numbers.data.cast("B")
        if kind != "scan":
            parts["faiss"] = _faiss_bytes(matrix, kind)
        files = {}
        for part, data in parts.items():
            path = self._path(digest, part)
            self._replace(path, data)
            files[part] = _state(path)
        manifest = {
            "layout": _LAYOUT,
            "space": self._space,
            "digest": digest,
            "kind": kind,
            "count": count,
            "dimension": dimension,
            "files": files,
            "state": state,
        }
        self._replace(self.manifest, json.dumps(manifest).encode())
        for path in self._folder.glob(f"{self._base}-*"):
            if path.name.removeprefix(f"{self._base}-")[:32] != digest:
                path.unlink(missing_ok=True)

    def _replace(self, path: Path, data: bytes | memoryview) -> None:
        temporary = self._folder / f"{self._base}-new.tmp"  # one writer at a time holds the lock
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # the manifest must never be older than its files
        temporary.replace(path)


def is_sound(manifest: Path) -> bool:
    """Return whether a manifest can be read and its files have the recorded sizes."""
    try:
        found = json.loads(manifest.read_bytes())
        base = f"{manifest.with_suffix('')}-{found['digest']}"
        return all(_state(Path(f"{base}.{part}"))[0] == state[0] for part, state in found["files"].items())
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return False


def _digest_of(space: str, keys: Sequence[str], hashes: Sequence[str]) -> str:
    """Return the name of a set of vectors."""
    return hashlib.sha256("\n".join((space, *keys, *hashes)).encode()).hexdigest()[:32]


def _state(path: Path) -> tuple[int, int, int, int]:
    """Return what changes when a file is written to, replaced or touched."""
    found = path.stat(follow_symlinks=False)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _faiss_bytes(matrix: Floats, kind: str) -> memoryview:
    """Return a FAISS index of the rows as the bytes of its file."""
    import faiss
    import numpy as np

    count, dimension = matrix.shape
    index: Any = faiss.IndexFlatIP(dimension)
    if kind == "ivf":
        lists = int(1.5 * count**0.5)
        index = faiss.IndexIVFScalarQuantizer(
            index, dimension, lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
        )
        index.cp.niter = _TRAIN_ROUNDS
        step = max(1, count // (lists * _TRAIN_PER_LIST))
        index.train(np.ascontiguousarray(matrix[::step]))
    index.add(matrix)
    data: NDArray[np.uint8] = faiss.serialize_index(index)
    return data.data
