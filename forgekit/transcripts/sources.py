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
from pathlib import Path
from typing import Any, BinaryIO, cast

from forgekit.errors import FormatError, NotFoundError
from forgekit.frozen import frozen
from forgekit.model.problem import Problem, Severity

GZIP = b"\x1f\x8b"
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
HEAD = 256 * 1024
READ_ERRORS = (EOFError, OSError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)

MOST_TIMES = 200
MOST_MEMBERS = 100_000
_ALWAYS = 1024 * 1024
_READ = (".json", ".jsonl", ".md", ".markdown", ".txt", ".gz", ".zip")
_SHARD = re.compile(r"conversations[^/]*\.json", re.IGNORECASE)


@frozen(kw_only=True)
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
        self._total: int | None = 0
        for path in paths:
            is_folder = Path(path).is_dir()
            files = _listing(path)[0] if is_folder else [path] if Path(path).is_file() else []
            known = self._total is not None and (files or is_folder)
            self._total = (self._total or 0) + sum(map(_size, files)) if known else None
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


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def sources(paths: Iterable[str], reading: ReadingState | None = None) -> Iterator[Source | Problem]:
    """Open files one after the other; `-` is standard input.

    Folders are read recursively, in the order of names, for the kinds of files that exports are; symbolic
    links are not followed. Packed files are recognised by their first bytes. Of an export's `.zip` only
    `conversations*.json` is read: no other file names a conversation's project.

    Raises NotFoundError and FormatError for a path that cannot be opened, when its turn comes.
    """
    for path in paths:
        if path == "-":
            yield _source("standard input", sys.stdin.buffer, given=True)
        elif not Path(path).is_dir():
            yield from _file(path, reading, given=True)
        else:
            files, links, others = _listing(path)
            for found in files:
                try:
                    yield from _file(found, reading, given=False)
                except (FormatError, NotFoundError) as e:
                    yield _unreadable(str(e))
            if links:
                yield _remark("link-not-followed", f"symbolic links were not followed: {links}", path)
            if others:
                yield _remark("file-left-out", f"files of other kinds were left out: {others}", path)


def _listing(top: str) -> tuple[list[str], int, int]:
    """Return the files of a folder that are read, by name, and the numbers of links and of others."""
    found: list[str] = []
    links = others = 0
    for folder, below, files in os.walk(top):
        below.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)  # noqa: PTH118 -- it keeps the path as it was given
            mode = _mode(path)
            if stat.S_ISREG(mode) and name.lower().endswith(_READ):
                found.append(path)
            else:
                links += stat.S_ISLNK(mode)
                others += not stat.S_ISLNK(mode)
        links += sum(stat.S_ISLNK(_mode(os.path.join(folder, name))) for name in below)  # noqa: PTH118 -- as above
    return found, links, others


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _file(path: str, reading: ReadingState | None, *, given: bool) -> Iterator[Source | Problem]:
    name = _shown(path)
    with _opened(path, follow=given) as raw, nullcontext() if reading is None else reading.of(raw):
        start = b""
        if raw.seekable():
            with suppress(OSError):
                start = raw.read(4)
                raw.seek(0)
        if start.startswith(ZIP):
            yield from _members(raw, name)
        else:
            yield _source(name, raw, given=given)


def _opened(path: str, *, follow: bool) -> BinaryIO:
    flags = 0 if follow else os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return cast("BinaryIO", open(path, "rb", opener=lambda p, f: os.open(p, f | flags)))
    except FileNotFoundError as e:
        raise NotFoundError("file", path) from e
    except (OSError, ValueError) as e:
        raise FormatError(f"cannot be read: {getattr(e, 'strerror', None) or e}", path=path) from e


def _source(name: str, raw: BinaryIO, *, given: bool) -> Source:
    """Return a source; refuse what was unpacked and is packed again, and a `.zip` that cannot be unpacked."""
    try:
        source = Source(name=name, stream=unpacked(raw), given=given)
        head = source.head()
    except READ_ERRORS as e:
        raise FormatError(f"cannot be read: {e}", path=name) from e
    if head.startswith(ZIP):
        raise FormatError("a .zip is read only from a file of its own; unpack this one", path=name)
    if head.startswith(GZIP):
        raise FormatError("it is packed more than once; unpack it", path=name)
    return source


def _members(raw: BinaryIO, name: str) -> Iterator[Source | Problem]:
    """Open the members of a `.zip` that are read; one that cannot be read does not end the reading."""
    try:
        archive = zipfile.ZipFile(raw)
    except (*READ_ERRORS, ValueError, NotImplementedError) as e:
        raise FormatError(f"this .zip cannot be read: {e}", path=name) from e
    with archive:
        members = [one for one in archive.infolist() if not one.is_dir()]
        if len(members) > MOST_MEMBERS:
            raise FormatError(f"this .zip holds {len(members)} files, more than {MOST_MEMBERS}", path=name)
        wanted = [one for one in members if _SHARD.fullmatch(re.split(r"[/\\]", one.filename)[-1])]
        wanted = wanted or [one for one in members if one.filename.lower().endswith(_READ)]
        left = max(_ALWAYS, MOST_TIMES * raw.seek(0, os.SEEK_END))
        for member in sorted(wanted, key=lambda one: one.filename):
            shown = f"{name}:{_shown(member.filename)}"
            if member.file_size > max(_ALWAYS, MOST_TIMES * member.compress_size):
                reason = f"it unpacks to more than {MOST_TIMES} times its size and was left out"
                yield Problem(code="packed-bomb", message=f"{shown}: {reason}")
                continue
            left -= member.file_size
            if left < 0:
                reason = f"its files unpack to more than {MOST_TIMES} times its size; the rest was left out"
                yield Problem(code="packed-bomb", message=f"{name}: {reason}")
                return
            try:
                with archive.open(member) as stream:
                    yield _source(shown, cast("BinaryIO", stream), given=False)
            except FormatError as e:
                yield _unreadable(str(e))
            except (*READ_ERRORS, RuntimeError, NotImplementedError) as e:
                yield _unreadable(f"{shown}: cannot be read: {e}")
        if others := len(members) - len(wanted):
            yield _remark("file-left-out", f"files of other kinds were left out: {others}", name)


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


def unpacked(stream: BinaryIO) -> io.BufferedReader:
    """Undo gzip, recognised by the first two bytes, which stay in the stream."""
    packed = _Whole(stream)
    buffered: io.BufferedReader = io.BufferedReader(packed, HEAD)
    if buffered.peek(2)[:2] != GZIP:
        return buffered
    plain = cast("BinaryIO", gzip.GzipFile(fileobj=buffered))
    return io.BufferedReader(_Whole(plain, lambda: max(_ALWAYS, MOST_TIMES * packed.given)), HEAD)


def _shown(path: str) -> str:
    """Return the end of a name without unprintable characters, as messages show it."""
    return "".join(sign if sign.isprintable() else "?" for sign in path)[-300:]


def _remark(code: str, message: str, name: str) -> Problem:
    return Problem(code=code, message=f"{_shown(name)}: {message}", severity=Severity.INFO)


def _unreadable(message: str) -> Problem:
    return Problem(code="unreadable-file", message=message)
