"""The registry's files in the work tree: read and put in place, never through a symbolic link.

An entity file is `<id>.md` at the one path that its kind and id give.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from forgekit.errors import FormatError, RuleError, WriteError
from forgekit.frozen import frozen
from forgekit.ids import EntityId, is_id
from forgekit.model.entities import Entity
from forgekit.model.kinds import ENTITY_LIMIT, Kind, kind_of_path, path_of
from forgekit.model.problem import Problem
from forgekit.model.registry import Registry

_LEADING_AWAY = frozenset({"", ".", "..", ".git"})
TEMPORARY = ".forgekit-"  # a write under way, or the remains of one that was killed


@frozen()
class FileEdit:
    """A file that is no entity's before and after, as text; None where there is none.

    Attributes:
        lost: lines of a person's that are not in it afterwards.
    """

    path: Path
    before: str | None
    after: str | None
    lost: tuple[str, ...] = ()

    @property
    def diff(self) -> str:
        """The change as a unified diff, whatever ends the lines."""
        from difflib import unified_diff

        texts = ((text or "").encode("utf-8", "surrogateescape") for text in (self.before, self.after))
        a, b = ([f"{line}\n" for line in text.decode("utf-8", "replace").splitlines()] for text in texts)
        return "".join(unified_diff(a, b, str(self.path), str(self.path)))


def require_plain(path: str) -> None:
    """Raise RuleError for a path that could leave the registry or enter git's own folder."""
    if any(part.casefold() in _LEADING_AWAY for part in path.split("/")):
        raise RuleError(f"{path!r} is not a path inside the registry")


def entity_of_path(path: str) -> tuple[Kind, EntityId] | None:
    """Return whose file a path is, or None where no entity can have it."""
    kind, owner = kind_of_path(path), EntityId(_name(path).removesuffix(".md"))
    return (kind, owner) if kind and is_id(owner) and path_of(kind, owner) == path else None


def parse(path: str, data: bytes) -> tuple[Entity, str]:
    """Read one entity from the bytes of its file; raises FormatError with the path."""
    from forgekit.text import codec
    from forgekit.text.frontmatter import decode

    owner = entity_of_path(path)
    if owner is None:
        raise FormatError("is not where any entity is filed", path=path)
    kind, stem = owner
    try:
        text = decode(data)
        entity = codec.loads(kind, text)
    except FormatError as e:
        raise e.at(path) from None
    if entity.id != stem:
        raise FormatError("is not the id in the file's name", path=path, field=kind.id_field)
    return entity, text


def registry_of(contents: Mapping[str, Callable[[], bytes | None]]) -> Registry:
    """Make a registry of files; one that cannot be read is a problem and hides no other.

    Args:
        contents: path -> what returns its bytes; None for no file.
    """
    entities, found = [], []
    for path, get in contents.items():
        try:
            data = get()
            if data is not None:
                entities.append(parse(path, data)[0])
        except FormatError as e:
            found.append(Problem(code="format", message=e.message, path=path, line=e.line, field=e.field))
    return Registry.of(entities, found)


def read_bytes(root: Path, path: str) -> bytes | None:
    """Return the bytes of a regular file, or None where there is none.

    Args:
        path: relative, `/`-separated.

    Raises FormatError for a link, a folder, a device, or more than an entity may have.
    """
    try:
        with _folder(root, path) as folder:
            handle = os.open(_name(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as e:
        raise FormatError(f"cannot be read: {e.strerror}", path=path) from None
    try:
        status = os.fstat(handle)  # before `open`, which refuses a folder in its own words
        if not stat.S_ISREG(status.st_mode):
            raise FormatError("is not a regular file", path=path)
        if status.st_size > ENTITY_LIMIT:
            size = f"is {status.st_size:,} bytes long; at most {ENTITY_LIMIT:,} are read"
            raise FormatError(size, path=path)
        with open(handle, "rb", closefd=False) as file:
            return file.read(ENTITY_LIMIT + 1)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _folder(root: Path, path: str, *, make: bool = False) -> Iterator[int]:
    """Open the folder that holds a path, one real folder after the other.

    Raises OSError; also for a path that leads out of the root or into git's own folder, whoever gave it.
    """
    *folders, last = path.split("/")
    if any(name.casefold() in _LEADING_AWAY for name in folders) or last == "..":
        raise OSError(errno.EINVAL, "is no path inside the registry")
    flags = os.O_RDONLY | os.O_DIRECTORY
    handle = os.open(root, flags)
    try:
        for name in folders:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=handle)
                    os.fsync(handle)
            inner = os.open(name, flags | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _beside(path: str, mark: str) -> str:
    return f"{TEMPORARY}{mark}.{_name(path)}"


def stage(root: Path, path: str, data: bytes, mark: str, *, executable: bool = False) -> None:
    """Write new bytes beside a file, on disk before this returns.

    Args:
        mark: names this write and no other.
        executable: for a new file; an existing one keeps its mode.

    Raises WriteError.
    """
    with _writing(path), _folder(root, path, make=True) as folder:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        mode = _mode(folder, path, 0o777 if executable else 0o666)
        handle = os.open(_beside(path, mark), flags, mode, dir_fd=folder)
        with open(handle, "wb") as file:  # noqa: PTH123 - a file descriptor, not a path
            file.write(data)
            file.flush()
            os.fsync(handle)


@contextlib.contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise WriteError(path, e.strerror or str(e)) from None


def _mode(folder: int, path: str, new: int) -> int:
    try:
        return stat.S_IMODE(os.stat(_name(path), dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return new


def place(root: Path, path: str, mark: str) -> os.stat_result:
    """Move staged bytes into place; raises WriteError."""
    name = _name(path)
    with _writing(path), _folder(root, path) as folder:
        os.replace(_beside(path, mark), name, src_dir_fd=folder, dst_dir_fd=folder)
        return os.stat(name, dir_fd=folder, follow_symlinks=False)


def remove(root: Path, path: str) -> None:
    """Delete a file that may be missing; raises WriteError."""
    with _writing(path), contextlib.suppress(FileNotFoundError), _folder(root, path) as folder:
        os.unlink(_name(path), dir_fd=folder)


def replace(root: Path, path: str, data: bytes | None, mark: str) -> None:
    """Put bytes in the place of a file, on disk before they are there; delete it for None.

    Raises WriteError.
    """
    if data is None:
        remove(root, path)
    else:
        stage(root, path, data, mark)
        place(root, path, mark)


def discard(root: Path, path: str, mark: str) -> None:
    """Delete what `stage` left, if anything."""
    remove(root, "/".join([*path.split("/")[:-1], _beside(path, mark)]))


def settle(root: Path, paths: Iterable[str]) -> None:
    """Bring renames and deletions on disk, and take away month folders that they emptied."""
    for folder in sorted({path.rpartition("/")[0] for path in paths}):
        with contextlib.suppress(OSError):
            if folder.count("/") > 0:
                (root / folder).rmdir()
        with contextlib.suppress(OSError), _folder(root, f"{folder}/." if folder else ".") as handle:
            os.fsync(handle)
