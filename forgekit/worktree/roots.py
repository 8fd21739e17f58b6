"""Where things are: the registry's root with its settings, git's own folders, the cache.

Paths are found by the rules of gitrepository-layout(5), so that a command that only reads the cache starts no
git and loads no library.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from forgekit.errors import FormatError, NoRegistryError, RepositoryError

if TYPE_CHECKING:
    from forgekit.model.settings import Settings

SETTINGS_FILE = "forgekit.toml"  # as in `model.settings`, whose import is too slow for a hook

TOPS = ("archives", "registry")
"""The folders of a registry that hold entities, beside its settings."""
# What git and libgit2 read of a repository before they know anything, by gitrepository-layout(5).
_GIT_FILES = (
    "HEAD",
    "config",
    "config.worktree",
    "index",
    "packed-refs",
    "shallow",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "objects/info/commit-graph",
)
_PIPE = "is a pipe or a device, which git would wait for; delete it"
_TREE_FILES = (".gitattributes", ".gitignore", ".gitmodules", ".mailmap")
_POINTER_LIMIT = 4096  # bytes read of a `.git` file: one path
_SETTINGS_LIMIT = 64_000
_LINE_LIMIT = 1_000  # of a line of the settings: the parser's time grows with the square of a key's parts
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def find_root(start: Path, env: Mapping[str, str]) -> Path:
    """Return the registry's root: `FORGEKIT_ROOT`, else the nearest parent with a `forgekit.toml`.

    Raises NoRegistryError.
    """
    named = env.get("FORGEKIT_ROOT")
    base = start.absolute()
    if named:
        base = base / named
        if (base / SETTINGS_FILE).is_file():
            return base.resolve()
        raise NoRegistryError(str(base))
    for folder in (base, *base.parents):
        if (folder / SETTINGS_FILE).is_file():
            return folder.resolve()
    raise NoRegistryError(str(base))


def work_tree(root: Path) -> Path:
    """Return the folder at or above `root` that holds `.git`; raises RepositoryError outside a work tree."""
    base = root.resolve()
    for folder in (base, *base.parents):
        if (folder / ".git").exists():
            return folder
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
            raise RepositoryError(
                f"{folder} is a bare git repository; clone it and run this in the clone, where files are"
            )
    raise RepositoryError(f"{base} is in no git repository; run `git init` there first")


def top_of(folder: Path) -> Path:
    """Return the top of the git repository that a folder is in, else the folder."""
    try:
        return work_tree(folder)
    except RepositoryError:
        return folder


def git_dirs(root: Path) -> tuple[Path, Path]:
    """Return the work tree's own git folder and the one that all its work trees share.

    Raises RepositoryError outside git.
    """
    dot_git = work_tree(root) / ".git"
    git_dir = dot_git
    if dot_git.is_file():
        pointer = _first_line(dot_git)
        if not pointer.startswith("gitdir:"):
            raise RepositoryError(f"{dot_git} names no git folder; make the work tree again")
        git_dir = (dot_git.parent / pointer.removeprefix("gitdir:").strip()).resolve()
    if not (git_dir / "HEAD").exists():
        raise RepositoryError(f"{git_dir} is not a git folder; run `git init`, or make the work tree again")
    commondir = git_dir / "commondir"
    common = (git_dir / _first_line(commondir)).resolve() if commondir.is_file() else git_dir
    _require_harmless(git_dir, common)
    return git_dir, common


def _require_harmless(git_dir: Path, common: Path) -> None:
    """Refuse what could come with a folder and turn its reader's own programs against him.

    git and libgit2 wait for ever for who writes into a pipe, and the writes of the cache would follow links.
    """
    named = [folder / name for folder in {git_dir, common} for name in _GIT_FILES]
    named += [git_dir.parent / name for name in _TREE_FILES]
    head = _first_line(git_dir / "HEAD") if _is_harmless(git_dir / "HEAD") else ""
    if head.startswith("ref: refs/") and "\0" not in head:
        named.append(common / head.removeprefix("ref: "))
    for path in named:
        if not _is_harmless(path):
            raise RepositoryError(f"{path} {_PIPE}")
    pending = [common / "forgekit"]
    while pending:
        path = pending.pop()
        if path.is_symlink():
            raise RepositoryError(f"{path} is a symbolic link; delete it, the cache makes itself anew")
        with contextlib.suppress(OSError), os.scandir(path) as found:
            pending += [Path(item) for item in found if item.is_symlink() or item.is_dir()]


def require_no_pipes(folders: Iterable[Path]) -> None:
    """Refuse folders whose attributes or ignore file is a pipe, for which git would wait for ever.

    Raises RepositoryError.
    """
    for folder in folders:
        for name in _TREE_FILES[:2]:
            if not _is_harmless(folder / name):
                raise RepositoryError(f"{folder / name} {_PIPE}")


def _is_harmless(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def git_program() -> str:
    """Return the absolute path of git; a link on the way stays, since git looks at its own name.

    Raises RepositoryError.
    """
    for folder in filter(os.path.isabs, os.get_exec_path()):  # never the working directory
        path = os.path.abspath(os.path.join(folder, "git"))  # noqa: PTH100, PTH118 - pathlib cannot keep a link
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113 - as above
            return path
    raise RepositoryError("the git program is not on the PATH; install git")


def cache_dir(root: Path) -> Path:
    """Return the folder of everything that can be rebuilt, and of forgekit's locks; it need not exist."""
    return git_dirs(root)[1] / "forgekit"


def agent_folder(usual: str, moved: str, env: Mapping[str, str]) -> Path:
    """Return the folder of a coding agent's settings and transcripts; it need not exist.

    Args:
        usual: its name below the user's home.
        moved: the variable of the environment that may name another folder, "" for none.
    """
    if moved and (named := env.get(moved)):
        return Path(named)
    return Path(env.get("HOME") or Path.home()) / usual


def sessions_dir(root: Path | None) -> Path:
    """Return the folder of what is kept of agents' sessions; it need not exist.

    Args:
        root: of the registry; None for sessions outside one, which are in the user's state folder.
    """
    if root is not None:
        return cache_dir(root) / "sessions"
    return (
        Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "forgekit" / "sessions"
    )


def hook_log(root: Path) -> Path:
    """Return the file where the hooks of coding agents note what they could not do; it need not exist."""
    return cache_dir(root) / "agent-hooks.log"


def worktree_key(root: Path) -> str:
    """Return the name under which the cache keeps what belongs to one work tree."""
    git_dir, common = git_dirs(root)
    return "main" if git_dir == common else f"worktree-{git_dir.name}"


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_POINTER_LIMIT).decode("utf-8", "surrogateescape").split("\n", 1)[0].strip()


def load_settings(root: Path) -> Settings:
    """Read `forgekit.toml`; raises FormatError naming the line or the key at fault."""
    return parse_settings(_text(root))


def _text(root: Path) -> str:
    """Return the text of the settings, read as a stranger's file: a pipe would block, a link lead elsewhere.

    Raises FormatError.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(os.open(root / SETTINGS_FILE, flags), "rb") as file:  # noqa: PTH123 - a file descriptor
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _fault("is not a regular file")
            data = file.read(_SETTINGS_LIMIT + 1)
        if len(data) > _SETTINGS_LIMIT:
            raise _fault(f"is longer than {_SETTINGS_LIMIT:,} bytes")
        return data.decode("utf-8")
    except OSError as e:
        raise _fault(f"cannot be read: {e.strerror}") from None
    except UnicodeDecodeError as e:
        raise _fault("is not UTF-8 text; save it as UTF-8", data.count(b"\n", 0, e.start) + 1) from None


def _fault(message: str, line: int | None = None, field: str = "") -> FormatError:
    return FormatError(message, path=SETTINGS_FILE, line=line, field=field)


def parse_settings(text: str) -> Settings:
    """Read the text of `forgekit.toml`; raises FormatError naming the line or the key at fault."""
    import tomllib

    from forgekit.model.settings import read_settings

    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > _LINE_LIMIT:
            raise _fault(f"is longer than {_LINE_LIMIT:,} characters on this line", number)
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise _fault("is nested too deeply", 1) from None
    except ValueError as e:  # of which the parser's own error is one, and that of too long a number another
        place = _PLACE.search(str(e))
        reason = _PLACE.sub("", str(e)) if place else "a number is too long"
        at = int(place[1] or text.count("\n") + 1) if place else 1
        raise _fault(f"cannot be read: {reason}", at) from None
    settings, problems = read_settings(data)
    for problem in problems:
        raise _fault(problem.message, _line_of(text, problem.field), problem.field[:60])
    return settings


def _line_of(text: str, key: str) -> int | None:
    """Return the line that gives a key its value, or None where the parser alone can tell."""
    found = (n for n, line in enumerate(text.splitlines(), 1) if line.split("=")[0].strip(" \t\"'[]") == key)
    return next(found, None)


def require_schema(root: Path) -> None:
    """Refuse a registry whose files this program does not know.

    Reading is refused as well as writing: what a newer schema means by a field nobody can guess, and an
    answer that leaves out what it does not understand is worse than none.

    Raises FormatError saying what to do.
    """
    try:
        text = _text(root)
    except FormatError:
        return  # whoever needs the settings reports it
    from forgekit.model.settings import schema_fault, schema_of

    if fault := schema_fault(schema_of(text)):
        raise _fault(fault, field="schema")
