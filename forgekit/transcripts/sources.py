"""Files, folders, standard input and packed files, as streams of bytes.

Nothing is unpacked to disk, and a name inside a packed file is only shown, never used as a path. What a
packed file unpacks to is bounded by its own size, so that a small file cannot grow without end.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from forgekit.errors import FormatError, NotFoundError
from forgekit.model.problem import Problem, Severity
from forgekit.transcripts.fields import problem

GZIP = b"\x1f\x8b"
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
HEAD = 256 * 1024
READ_ERRORS = (EOFError, OSError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)

MOST_TIMES = 200
MOST_MEMBERS = 100_000
_ALWAYS = 1024 * 1024
_SUFFIXES = (".json", ".jsonl", ".md", ".markdown", ".txt")
_PACKED = (".gz", ".zip")
_SHARD = re.compile(r"conversations[^/]*\.json", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One stream of bytes, unpacked.

    Attributes:
        name: what messages call it; a member of a packed file is `export.zip:conversations.json`.
        stream: may be read until the next source is asked for.
        given: a person named it, and it was not found in a folder or in a packed file.
    """

    name: str
    stream: io.BufferedReader
    given: bool = True

    def head(self) -> bytes:
        """Return the first bytes, up to 256 KB, and leave them in the stream."""
        return self.stream.peek(HEAD)[:HEAD]


class ReadingState:
    """How far the reading of files has come, in bytes as they lie on disk.

    Args:
        paths: as of `sources`; the size of standard input is not known.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        sizes = [_size(path) for path in paths]
        self._total = None if None in sizes else sum(filter(None, sizes))
        self._before = 0
        self._now: BinaryIO | None = None

    @contextmanager
    def of(self, raw: BinaryIO) -> Iterator[None]:
        """Count what is read of an open file, and all of it once it is done with."""
        self._now = raw
        try:
            yield
        finally:
            self._now = None
            with suppress(OSError):
                self._before += os.fstat(raw.fileno()).st_size

    def share(self) -> float | None:
        """Return what share of all has been read, 0.0 to 1.0; None where their size is not known."""
        now = 0
        if self._now is not None:
            with suppress(OSError, ValueError):
                now = self._now.tell()
        return min((self._before + now) / self._total, 1.0) if self._total else None


def _size(path: str) -> int | None:
    """Return the bytes of a file, or of the files that a folder is read for; None where it is no such."""
    if path == "-":
        return None
    if not Path(path).is_dir():
        status = Path(path).stat() if Path(path).exists() else None
        return status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None
    return sum(os.lstat(found).st_size for found in files_of(path) if _mode(found))


def files_of(path: str) -> list[str]:
    """Return the file that a path names, or those that a folder is read for."""
    return list(_read_in(path, _Left())) if Path(path).is_dir() else [path] if Path(path).is_file() else []


def sources(
    paths: Iterable[str], reading: ReadingState | None = None, *, given: bool = True
) -> Iterator[Source | Problem]:
    """Open files one after the other; `-` is standard input.

    Folders are read recursively, in the order of names, for the kinds of files that exports are; symbolic
    links are not followed. Packed files are recognised by their first bytes. Of an export's `.zip` only
    `conversations*.json` is read: no other file names a conversation's project.

    Args:
        paths: of files and folders.
        reading: updated with the progress.
        given: a person named them; they were not found in a folder.

    Raises NotFoundError and FormatError for a path that cannot be opened, when its turn comes.
    """
    for path in paths:
        if path != "-" and Path(path).is_dir():
            yield from _folder(path, reading)
        else:
            yield from _file(path, reading, given=given)


@contextmanager
def opened(source: str | BinaryIO) -> Iterator[io.BufferedReader]:
    """Open a path, `-` for standard input, or an open file; gzip is recognised by its first bytes.

    Raises NotFoundError and FormatError.
    """
    if not isinstance(source, str):
        yield _unpacked(source)
    elif source == "-":
        yield _unpacked(sys.stdin.buffer)
    else:
        with _open(source) as stream:
            yield _unpacked(stream)


def _open(path: str, *, follow: bool = True) -> BinaryIO:
    flags = 0 if follow else os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return cast("BinaryIO", open(path, "rb", opener=lambda p, f: os.open(p, f | flags)))
    except FileNotFoundError as e:
        raise NotFoundError("file", path) from e
    except (OSError, ValueError) as e:
        raise FormatError(f"cannot be read: {getattr(e, 'strerror', None) or e}", path=path) from e


@dataclass(slots=True)
class _Left:
    """What of a folder is not read: symbolic links, and files of other kinds."""

    links: int = 0
    others: int = 0


def _folder(top: str, reading: ReadingState | None) -> Iterator[Source | Problem]:
    left = _Left()
    for path in _read_in(top, left):
        yield from _found(path, reading)
    if left.links:
        yield _remark("link-not-followed", f"symbolic links were not followed: {left.links}", top)
    if left.others:
        yield _remark("file-left-out", f"files of other kinds were left out: {left.others}", top)


def _read_in(top: str, left: _Left) -> Iterator[str]:
    """Yield the files of a folder that are read, in the order of names, and count the others."""
    for folder, below, files in os.walk(top):
        below.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)  # noqa: PTH118 -- it keeps the path as it was given
            mode = _mode(path)
            if stat.S_ISLNK(mode):
                left.links += 1
            elif not stat.S_ISREG(mode) or not name.lower().endswith((*_SUFFIXES, *_PACKED)):
                left.others += 1
            else:
                yield path
        left.links += sum(stat.S_ISLNK(_mode(os.path.join(folder, name))) for name in below)  # noqa: PTH118 -- as above


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _found(path: str, reading: ReadingState | None) -> Iterator[Source | Problem]:
    """Open a file of a folder; one that cannot be opened does not end the reading of the others."""
    try:
        yield from _file(path, reading, given=False)
    except (FormatError, NotFoundError) as e:
        yield problem("unreadable-file", str(e), severity=Severity.ERROR)


def _file(path: str, reading: ReadingState | None, *, given: bool = True) -> Iterator[Source | Problem]:
    name = _shown(path)
    if path == "-":
        stream = _unpacked(sys.stdin.buffer)
        yield from _checked(Source(name="standard input", stream=stream, given=given))
        return
    with _open(path, follow=given) as raw, nullcontext() if reading is None else reading.of(raw):
        if raw.seekable() and _peek(raw).startswith(ZIP):
            yield from _members(raw, name)
        else:
            yield from _checked(Source(name=name, stream=_unpacked(raw), given=given))


def _peek(raw: BinaryIO) -> bytes:
    try:
        start = raw.read(4)
        raw.seek(0)
    except OSError:
        return b""
    return start


def _checked(source: Source) -> Iterator[Source]:
    """Yield a source unless what was unpacked is packed again, or was packed where it cannot be unpacked."""
    try:
        head = source.head()
    except READ_ERRORS as e:
        raise FormatError(f"cannot be read: {e}", path=source.name) from e
    if head.startswith(ZIP):
        raise FormatError("a .zip is read only from a file of its own; unpack this one", path=source.name)
    if head.startswith(GZIP):
        raise FormatError("it is packed more than once; unpack it", path=source.name)
    yield source


def _members(raw: BinaryIO, name: str) -> Iterator[Source | Problem]:
    try:
        archive = zipfile.ZipFile(raw)
    except (*READ_ERRORS, ValueError, NotImplementedError) as e:
        raise FormatError(f"this .zip cannot be read: {e}", path=name) from e
    with archive:
        members = [one for one in archive.infolist() if not one.is_dir()]
        if len(members) > MOST_MEMBERS:
            raise FormatError(f"this .zip holds {len(members)} files, more than {MOST_MEMBERS}", path=name)
        size = raw.seek(0, os.SEEK_END)
        wanted = [one for one in members if _SHARD.fullmatch(_base(one))]
        wanted = wanted or [one for one in members if _base(one).lower().endswith((*_SUFFIXES, *_PACKED))]
        total = 0
        for member in sorted(wanted, key=lambda one: one.filename):
            shown = f"{name}:{_shown(member.filename)}"
            total += member.file_size
            if member.file_size > max(_ALWAYS, MOST_TIMES * member.compress_size):
                reason = f"it unpacks to more than {MOST_TIMES} times its size and was left out"
                yield problem("packed-bomb", f"{shown}: {reason}", severity=Severity.ERROR)
                continue
            if total > max(_ALWAYS, MOST_TIMES * size):
                reason = f"its files unpack to more than {MOST_TIMES} times its size; the rest was left out"
                yield problem("packed-bomb", f"{name}: {reason}", severity=Severity.ERROR)
                return
            yield from _member(archive, member, shown)
        if others := len(members) - len(wanted):
            yield _remark("file-left-out", f"files of other kinds were left out: {others}", name)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, shown: str) -> Iterator[Source | Problem]:
    try:
        with archive.open(member) as stream:
            source = Source(name=shown, stream=_unpacked(cast("BinaryIO", stream)), given=False)
            yield from _checked(source)
    except FormatError as e:
        yield problem("unreadable-file", str(e), severity=Severity.ERROR)
    except (*READ_ERRORS, RuntimeError, NotImplementedError) as e:
        yield problem("unreadable-file", f"{shown}: cannot be read: {e}", severity=Severity.ERROR)


def _base(member: zipfile.ZipInfo) -> str:
    return member.filename.replace("\\", "/").rsplit("/", 1)[-1]


class _Whole(io.RawIOBase):
    """Fills what it is asked for, so that a peek sees a head of known size, and counts what it gave."""

    def __init__(self, stream: BinaryIO, allowed: Callable[[], int] | None = None) -> None:
        self.read1: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
        self.allowed = allowed
        self.given = 0
        self.failed: Exception | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; what was read before a failure is given first, and the failure after it."""
        if self.failed is not None:
            raise self.failed
        view = memoryview(buffer).cast("B")
        filled = 0
        try:
            while filled < len(view) and (piece := self.read1(min(len(view) - filled, HEAD))):
                view[filled : filled + len(piece)] = piece
                filled += len(piece)
                self.given += len(piece)
                if self.allowed is not None and self.given > self.allowed():
                    raise OSError(f"it unpacks to more than {MOST_TIMES} times its size")
        except READ_ERRORS as e:
            self.failed = e
            if not filled:
                raise
        return filled


def _unpacked(stream: BinaryIO) -> io.BufferedReader:
    """Undo gzip, recognised by the first two bytes, which stay in the stream."""
    packed = _Whole(stream)
    buffered = _buffered(packed)
    if buffered.peek(2)[:2] != GZIP:
        return buffered
    plain = cast("BinaryIO", gzip.GzipFile(fileobj=buffered))
    return _buffered(_Whole(plain, lambda: max(_ALWAYS, MOST_TIMES * packed.given)))


def _buffered(raw: io.RawIOBase) -> io.BufferedReader:
    return io.BufferedReader(raw, HEAD)


def _shown(path: str) -> str:
    """Return a name of which nothing but letters and signs is left, as messages show it."""
    return "".join(sign if sign.isprintable() else "?" for sign in path)[-300:]


def _remark(code: str, message: str, name: str) -> Problem:
    return problem(code, f"{_shown(name)}: {message}", severity=Severity.INFO)
