"""Command lines under injected faults, and what must be true of a registry after them."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from independent_reader import placed, plain_git

SHIM = Path(__file__).parents[1] / "faults/shim.c"
SERVER = Path(__file__).parents[1] / "faults/faultserver.py"
NOW = "2026-04-01T12:00:00Z"
_COUNT, _SIGNAL, _FAIL, _TORN, _SHORT = range(5)


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at a call.

    Attributes:
        name: as it is reported.
        action: of the shim.
        value: signal or errno.
        sticky: whether every later call that writes fails too.
        kinds: the calls that it can happen to; all where empty.
    """

    name: str
    action: int
    value: int = 0
    sticky: bool = False
    kinds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Call:
    """A file system call, as the shim recorded it."""

    number: int
    kind: str
    result: int
    offset: int
    path: str
    other: str
    data: bytes

    @property
    def disposable(self) -> bool:
        """Say whether it is about what can be deleted at any moment: catalogue, vectors."""
        return any(f"/.git/forgekit/{name}" in self.path for name in ("catalogue-", "vectors", "model-files"))


_WRITING = frozenset(
    {"create", "truncate", "write", "ftruncate", "rename", "link", "unlink", "rmdir", "mkdir", "fsync"}
)
_NAMING = frozenset({"create", "rename", "link", "unlink", "rmdir", "mkdir"})
_FILLING = frozenset({"create", "write", "link", "mkdir", "rename", "ftruncate"})

KILL = Fault("SIGKILL", _SIGNAL, signal.SIGKILL, kinds=_WRITING)
FAULTS = (
    KILL,
    Fault("SIGTERM", _SIGNAL, signal.SIGTERM, kinds=_WRITING),
    Fault("SIGINT", _SIGNAL, signal.SIGINT, kinds=_WRITING),
    Fault("torn write", _TORN, kinds=frozenset({"write"})),
    Fault("short write", _SHORT, kinds=frozenset({"write"})),
    Fault("ENOSPC", _FAIL, errno.ENOSPC, kinds=_FILLING),
    Fault("ENOSPC from here on", _FAIL, errno.ENOSPC, sticky=True, kinds=_FILLING),
    Fault("EIO", _FAIL, errno.EIO),
    Fault("EIO from here on", _FAIL, errno.EIO, sticky=True, kinds=_WRITING),
    Fault("EACCES", _FAIL, errno.EACCES, kinds=_NAMING | {"open", "truncate"}),
    Fault("EROFS from here on", _FAIL, errno.EROFS, sticky=True, kinds=_WRITING - {"fsync"}),
    Fault("EINTR", _FAIL, errno.EINTR, kinds=frozenset({"open", "create", "truncate", "write"})),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of one command line."""

    code: int
    out: str
    err: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a child.

    Attributes:
        status: its exit code; negative for a signal.
        seen: calls that were counted during the first command line.
        done: the command lines that it came through.
    """

    status: int
    seen: int
    done: tuple[Ran, ...]


class Server:
    """The process that runs command lines under faults."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        library = scratch / "shim.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SHIM)], check=True)
        self._record = scratch / "record"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "FORGEKIT_"))}
        fixed = {
            "LD_PRELOAD": str(library),
            "FORGEKIT_NOW": NOW,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": NOW,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "OPENBLAS_NUM_THREADS": "1",
            "CI": "1",
        }
        command = [sys.executable, str(SERVER), str(scratch)]
        self._process = subprocess.Popen(
            command, env=kept | fixed, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def run(
        self,
        root: Path,
        *commands: Sequence[str],
        call: int = 0,
        fault: Fault | None = None,
        record: bool = False,
        kill_at_end: bool = False,
        warm: bool = False,
    ) -> Ended:
        """Run command lines in one child, the first of them with a fault at its n-th call.

        With `warm` they run in the server itself, so that what they import is there for all children.
        """
        request = {
            "root": str(root),
            "commands": [list(words) for words in commands],
            "call": call,
            "action": fault.action if fault else _COUNT,
            "value": fault.value if fault else 0,
            "sticky": bool(fault and fault.sticky),
            "record": str(self._record) if record else "",
            "kill_at_end": kill_at_end,
            "warm": warm,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert "broken" not in answer, answer["broken"]
        done = tuple(Ran(**each) for each in answer["done"])
        return Ended(answer["status"], answer["seen"], done)

    def recorded(self) -> list[Call]:
        """Return the calls of the last run that was recorded, in order."""
        lines = self._record.read_text("utf-8").splitlines()
        return [_call(line) for line in lines]


def _call(line: str) -> Call:
    number, kind, result, offset, path, other, data = line.split("\t")
    return Call(
        int(number),
        kind,
        int(result),
        int(offset),
        path,
        "" if other == "-" else other,
        b"" if data == "-" else bytes.fromhex(data),
    )


def unavailable(scratch: Path) -> str:
    """Say why faults cannot be injected here; an empty text where they can."""
    if shutil.which("cc") is None:
        return "NO FAULTS ARE INJECTED: there is no C compiler (cc) to build tests/faults/shim.c with"
    library = scratch / "probe.so"
    built = subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", str(library), str(SHIM)], capture_output=True, text=True, check=False
    )
    if built.returncode:
        return f"NO FAULTS ARE INJECTED: tests/faults/shim.c does not build here: {built.stderr[:200]}"
    probe = "import ctypes; ctypes.CDLL(None).faults_seen()"
    env = {**os.environ, "LD_PRELOAD": str(library)}
    tried = subprocess.run([sys.executable, "-c", probe], env=env, capture_output=True, check=False)
    return "" if tried.returncode == 0 else "NO FAULTS ARE INJECTED: nothing can be preloaded here"


def left_over(root: Path) -> list[str]:
    """Return what a write leaves only while it lasts: locks, temporary files, journals."""
    held = re.compile(r"forgekit/(?:write|findings|vectors|catalogue-[0-9a-f]+)\.lock")
    found = [path.relative_to(root / ".git").as_posix() for path in _all(root / ".git")]
    return [
        name
        for name in found
        if not held.fullmatch(name)
        and not name.startswith("forgekit/vectors-")
        and (
            name.endswith(".lock")
            or name.startswith(("forgekit/journal", "forgekit/index-"))
            or ".new" in name
        )
    ] + [str(path) for path in root.rglob(".forgekit-*")]


def _all(folder: Path) -> Iterator[Path]:
    return folder.rglob("*")


def sound(root: Path, files: Mapping[str, str]) -> None:
    """Assert that git finds nothing wrong, and that index and work tree hold these files and nothing else."""
    plain_git(root, "fsck", "--strict", "--no-dangling")
    assert plain_git(root, "status", "--porcelain", "--untracked-files=all").decode() == ""
    assert placed(root) == files
    left = left_over(root)
    assert not left, left


def restore(source: Path, target: Path) -> None:
    """Make a folder what another is, by the files that differ in size or time; the others are not touched."""
    wanted, found = _statuses(source), _statuses(target)
    for name in sorted(found.keys() - wanted.keys(), reverse=True):
        path = target / name
        path.rmdir() if stat.S_ISDIR(found[name][0]) else path.unlink()
    for name in sorted(wanted):
        if wanted[name] != found.get(name):
            if stat.S_ISDIR(wanted[name][0]):
                (target / name).mkdir(exist_ok=True)
            else:
                (target / name).unlink(missing_ok=True)
                shutil.copy2(source / name, target / name)


def _statuses(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return name -> mode, size and time of everything below a folder; a folder has only a mode."""
    found = {}
    for base, folders, files in os.walk(folder):
        for name in folders:
            found[os.path.relpath(f"{base}/{name}", folder)] = (stat.S_IFDIR, 0, 0)
        for name in files:
            status = os.lstat(f"{base}/{name}")
            found[os.path.relpath(f"{base}/{name}", folder)] = (
                status.st_mode,
                status.st_size,
                status.st_mtime_ns,
            )
    return found
