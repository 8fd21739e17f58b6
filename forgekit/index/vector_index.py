"""The searchable form of a set of vectors: a few files that are made anew whenever the set changes.

Files are written under names of their own and never changed; the manifest, renamed into place last, says
which belong together and in what state they were left. A file in any other state is not opened, so that a
library never maps damaged bytes: whoever asks makes the index anew from the vector cache.

    ids       the keys, one per line, then the hashes of their texts; row numbers follow this order
    matrix    the vectors themselves, float32, row by row
    faiss     an index of FAISS, from SCAN_UP_TO rows on

    rows                            ids   matrix   faiss     found by
    up to SCAN_UP_TO                 x      x                all dot products, in NumPy
    up to IVF_ABOVE                  x               flat    all dot products, in FAISS
    above                            x      x      IVF-SQ8   the nearest lists in FAISS, then the matrix

Whoever finds the candidates, their cosines are computed in one way, in double precision, and equal ones are
in the order of their keys: so the answers of the exact kinds are identical.

Why the limit is where it is (two cores, 384 numbers per vector, ten answers, median ms):

    rows     allowed    NumPy   FAISS flat
    10,000   all          0.2      1.7
    50,000   all         12       31
    100,000  all         18       40
    100,000  half        16       12
    100,000  a fifth     17        5

NumPy is the quicker one until a filter leaves out most of very many rows, and importing FAISS costs 25 to
40 ms besides.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

SCAN_UP_TO = 50_000
IVF_ABOVE = 100_000

_LAYOUT = 1
_TRIES = 3  # a reader may find the files of a manifest gone when a writer was quicker
_SPARE = 32  # candidates beyond those asked for: rounding may have changed their order
_SPARE_SQ8 = 100  # ... and so did eight bits per number
_TRAIN_PER_LIST = 40  # FAISS asks for 39
_TRAIN_ROUNDS = 10
_PROBES_OF_LISTS = 16  # one list in so many is looked into
_SCAN_ROWS = 65_536  # rows of the matrix that are copied at once


class Candidates(Protocol):
    """Finds the rows that are probably nearest to a vector."""

    def nearest(self, vector: Floats, count: int, rows: Rows | None) -> Rows:
        """Return rows, in no order; with `rows`, among those only."""

    def vectors(self, rows: Rows) -> Floats:
        """Return the vectors of rows, [len(rows), dimension]."""


class Scan:
    """All dot products with a matrix, in NumPy; exact."""

    def __init__(self, matrix: Floats) -> None:
        self._matrix = matrix

    def nearest(self, vector: Floats, count: int, rows: Rows | None) -> Rows:
        """Return the nearest rows, in no order."""
        if rows is None:
            scores = self._matrix @ vector
        elif len(rows) * 4 > len(self._matrix):  # reading all is quicker than picking a quarter
            scores = (self._matrix @ vector)[rows]
        else:
            steps = range(0, len(rows), _SCAN_ROWS)
            picked = [self._matrix[rows[i : i + _SCAN_ROWS]] @ vector for i in steps]
            scores = np.concatenate(picked) if picked else np.empty(0, np.float32)
        if len(scores) <= count:
            best = np.arange(len(scores))
        else:
            worst = np.partition(scores, len(scores) - count)[len(scores) - count]
            best = np.flatnonzero(scores >= worst)  # every one of those that are equally far
        return best if rows is None else rows[best]

    def vectors(self, rows: Rows) -> Floats:
        """Return the vectors of rows."""
        return self._matrix[rows]


class Mapped:
    """A flat FAISS index over a mapped file; exact.

    It can only be read: adding to a mapped index ends the process, so nothing here can add.
    """

    def __init__(self, path: Path, count: int, dimension: int) -> None:
        import faiss

        self._faiss: Any = faiss
        self._index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        if (self._index.ntotal, self._index.d) != (count, dimension):
            raise ValueError("the FAISS index is of another size")
        self._count = count

    def nearest(self, vector: Floats, count: int, rows: Rows | None) -> Rows:
        """Return the nearest rows, in no order."""
        return self._search(vector, count, rows, self._faiss.SearchParameters)

    def vectors(self, rows: Rows) -> Floats:
        """Return the vectors of rows."""
        found: Floats = self._index.reconstruct_batch(rows)
        return found

    def _search(
        self, vector: Floats, count: int, rows: Rows | None, parameters: Callable[..., Any], **options: int
    ) -> Rows:
        selector = None
        if rows is not None:
            wanted = np.zeros(self._count, np.bool_)
            wanted[rows] = True
            selector = self._faiss.IDSelectorBitmap(np.packbits(wanted, bitorder="little"))
        chosen = parameters(sel=selector, **options)
        _, found = self._index.search(vector[None], min(count, self._count), params=chosen)
        return np.unique(found[0][found[0] >= 0])  # -1 stands where there was no further row


class Lists(Mapped):
    """An IVF-SQ8 FAISS index, whose few candidates are then compared in full."""

    def __init__(self, path: Path, matrix: Floats) -> None:
        super().__init__(path, *matrix.shape)
        self._scan = Scan(matrix)

    def nearest(self, vector: Floats, count: int, rows: Rows | None) -> Rows:
        """Return rows that are probably the nearest; all that are allowed, where those are few."""
        if rows is not None and len(rows) <= SCAN_UP_TO:
            return self._scan.nearest(vector, count, rows)
        probes = max(8, self._index.nlist // _PROBES_OF_LISTS)
        parameters = self._faiss.SearchParametersIVF
        found = self._search(vector, count + _SPARE_SQ8, rows, parameters, nprobe=probes)
        return found if len(found) >= count else self._scan.nearest(vector, count, rows)

    def vectors(self, rows: Rows) -> Floats:
        """Return the vectors of rows."""
        return self._scan.vectors(rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorIndex:
    """A set of vectors that can be searched and not changed.

    Attributes:
        keys: whose vectors they are, in ascending order; a row is a place in this list.
        hashes: of the texts that the vectors stand for.
        kind: `scan`, `flat` or `ivf`.
        state: of what it was made from, as its maker named it; None where nobody did.
    """

    keys: Sequence[str]
    hashes: Sequence[str]
    kind: str
    candidates: Candidates
    state: str | None = None

    def search(self, vector: Floats, count: int, rows: Rows | None) -> list[tuple[str, float]]:
        """Return the nearest keys with their cosines, best first; with `rows`, among those only."""
        if not self.keys or count < 1 or (rows is not None and not len(rows)):
            return []
        found = np.sort(self.candidates.nearest(vector, count + _SPARE, rows))
        cosines = self.cosines(vector, found)
        order = np.argsort(-cosines, kind="stable")[:count]
        return [(self.keys[int(found[i])], float(cosines[i])) for i in order]

    def cosines(self, vector: Floats, rows: Rows) -> NDArray[np.float64]:
        """Return the cosine of each row."""
        exact = self.candidates.vectors(rows).astype(np.float64) @ vector.astype(np.float64)
        return np.round(exact, 9)


def digest_of(space: str, keys: Sequence[str], hashes: Sequence[str]) -> str:
    """Return the name of a set of vectors."""
    return hashlib.sha256("\n".join((space, *keys, *hashes)).encode()).hexdigest()[:32]


class IndexFiles:
    """The files of one index.

    Args:
        folder: the cache folder.
        tree: tells the indexes of several work trees apart.
        space: names the encoder and the chunk rule.
    """

    def __init__(self, folder: Path, tree: str, space: str) -> None:
        if not re.fullmatch(r"[\w.-]{1,200}", tree):
            raise ValueError("the name of a work tree must be fit for a file name")
        self._folder = folder
        self._base = f"vectors-{tree}"
        self.manifest = folder / f"{self._base}.json"
        self._space = space

    def read_manifest(self) -> dict[str, Any] | None:
        """Return what the manifest says, or None where it says nothing that can be relied on."""
        try:
            said = json.loads(self.manifest.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(said, dict) or (said.get("layout"), said.get("space")) != (_LAYOUT, self._space):
            return None
        files = said.get("files")
        if not isinstance(files, dict) or not all(
            isinstance(s, list) and len(s) == 4 for s in files.values()
        ):
            return None
        numbers = [said.get("count"), said.get("dimension"), *itertools.chain(*files.values())]
        sound = all(type(n) is int and n >= 0 for n in numbers) and isinstance(said.get("kind"), str)
        return said if sound and re.fullmatch("[0-9a-f]{32}", str(said.get("digest"))) else None

    def load(self) -> VectorIndex | None:
        """Open the index; None where there is none, or one that was damaged."""
        for _ in range(_TRIES):
            said = self.read_manifest()
            if said is None:
                return None
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                return self._open(said)
        return None

    def _open(self, said: dict[str, Any]) -> VectorIndex:
        count, dimension, kind = said["count"], said["dimension"], said.get("kind")
        text = self._file(said, "ids").read_bytes().decode()
        lines = text.split("\n") if count else []
        keys, hashes = lines[:count], lines[count:]
        if len(hashes) != count or digest_of(self._space, keys, hashes) != said["digest"]:
            raise ValueError("the ids are not those of the manifest")
        candidates: Candidates
        if kind == "flat":
            candidates = Mapped(self._file(said, "faiss"), count, dimension)
        elif kind in {"scan", "ivf"}:
            path = self._file(said, "matrix")
            if path.stat().st_size != max(4 * count * dimension, 4):  # an empty one holds one number
                raise ValueError("the matrix is of another size")
            matrix = np.asarray(np.memmap(path, "<f4", mode="r", shape=(count, dimension)))
            candidates = Scan(matrix) if kind == "scan" else Lists(self._file(said, "faiss"), matrix)
        else:
            raise ValueError("an index of an unknown kind")
        state = said.get("state")
        return VectorIndex(
            keys=keys,
            hashes=hashes,
            kind=str(kind),
            candidates=candidates,
            state=state if isinstance(state, str) else None,
        )

    def _file(self, said: dict[str, Any], part: str) -> Path:
        """Return a file's path; raise where it is not as it was left."""
        path = self._path(said["digest"], part)
        if list(_state(path)) != said["files"].get(part):
            raise ValueError(f"{path} was changed")
        return path

    def _path(self, digest: str, part: str) -> Path:
        return self._folder / f"{self._base}-{digest}.{part}"

    def write(
        self, keys: Sequence[str], hashes: Sequence[str], matrix: Floats, state: str | None = None
    ) -> VectorIndex:
        """Write an index and return it; where the folder cannot be written to, it lives in memory."""
        in_memory = VectorIndex(keys=keys, hashes=hashes, kind="scan", candidates=Scan(matrix), state=state)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                self._write(keys, hashes, matrix, state)
        except OSError:
            return in_memory
        found = self.load()
        if found is None or (found.keys, found.hashes) != (keys, hashes):  # another process wrote since
            return in_memory
        return found

    def stamp(self, index: VectorIndex, state: str) -> VectorIndex:
        """Note what state an index is made of, and return it; what cannot be noted is found out again."""
        digest = digest_of(self._space, index.keys, index.hashes)
        with contextlib.suppress(OSError), self._locked():
            said = self.read_manifest()
            if said is not None and said["digest"] == digest:
                self._replace(self.manifest, json.dumps({**said, "state": state}).encode())
        return replace(index, state=state)

    def _write(self, keys: Sequence[str], hashes: Sequence[str], matrix: Floats, state: str | None) -> None:
        count, dimension = matrix.shape
        kind = "scan" if count <= SCAN_UP_TO else "flat" if count <= IVF_ABOVE else "ivf"
        digest = digest_of(self._space, keys, hashes)
        # mmap(2) refuses an empty file.
        numbers = matrix.astype("<f4", copy=False) if matrix.size else np.zeros(1, "<f4")
        files = {"ids": self._put(digest, "ids", "\n".join((*keys, *hashes)).encode())}
        if kind != "flat":
            files["matrix"] = self._put(digest, "matrix", numbers.data.cast("B"))
        if kind != "scan":
            files["faiss"] = self._put(digest, "faiss", _faiss_bytes(matrix, kind))
        said = {
            "layout": _LAYOUT,
            "space": self._space,
            "digest": digest,
            "kind": kind,
            "count": count,
            "dimension": dimension,
            "files": files,
            "state": state,
        }
        self._replace(self.manifest, json.dumps(said).encode())
        for path in self._folder.glob(f"{self._base}-*"):
            if path.name.removeprefix(f"{self._base}-")[:32] != digest:
                path.unlink(missing_ok=True)

    def _put(self, digest: str, part: str, data: bytes | memoryview) -> tuple[int, ...]:
        path = self._path(digest, part)
        self._replace(path, data)
        return _state(path)

    def _replace(self, path: Path, data: bytes | memoryview) -> None:
        temporary = self._folder / f"{self._base}-new.tmp"  # only the holder of the lock has one
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # the manifest must never be older than what it vouches for
        temporary.replace(path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self._folder / f"{self._base}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def sound(manifest: Path) -> bool:
    """Say whether a manifest can be read and its files have the sizes that it says."""
    try:
        said = json.loads(manifest.read_bytes())
        base = f"{manifest.with_suffix('')}-{said['digest']}"
        return all(_state(Path(f"{base}.{part}"))[0] == state[0] for part, state in said["files"].items())
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return False


def _state(path: Path) -> tuple[int, int, int, int]:
    """Return what changes when a file is written to, replaced or touched."""
    found = path.stat(follow_symlinks=False)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _faiss_bytes(matrix: Floats, kind: str) -> memoryview:
    """Return a FAISS index of the rows as the bytes of its file."""
    import faiss

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
