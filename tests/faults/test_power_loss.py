"""What a recorded write leaves on a disk that lost power: replayed, without what was not yet synced (G4).

A file system promises that bytes are on disk after fsync(2) of their file, and names after fsync(2) of their
folder; nothing else. So a state is a prefix of the recorded calls, and a choice for each file and name that
was not synced by then: as written, or not. Renames are atomic.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fault_checks import OPERATIONS, Trial
from fault_injection import Call, Server
from guarantees import Level, Report
from independent_reader import plain_git

AT_LEVEL_C = "revise"
_FOLDER = -1  # in place of a file's number


@dataclass(slots=True)
class _File:
    """Bytes as written and as they are on disk for sure."""

    written: bytearray
    synced: bytes = b""

    def states(self) -> list[bytes]:
        """Return what may be on disk."""
        return [bytes(self.written), *({self.synced, b""} if self.written != self.synced else ())]


@dataclass(slots=True)
class _Naming:
    """Names that change together, in folders that are not synced yet: name -> a file's number, or None."""

    folder: str
    names: dict[str, int | None]


@dataclass(slots=True)
class Disk:
    """A file system as POSIX promises it, no better."""

    files: list[_File] = field(default_factory=list)
    synced: dict[str, int] = field(default_factory=dict)
    pending: list[_Naming] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path) -> Disk:
        """Read a folder, all of it synced."""
        disk = cls()
        for base, folders, files in os.walk(folder):
            for name in folders:
                disk.synced[_relative(f"{base}/{name}", folder)] = _FOLDER
            for name in files:
                data = Path(base, name).read_bytes()
                disk.synced[_relative(f"{base}/{name}", folder)] = disk.new(data, data)
        return disk

    def new(self, written: bytes = b"", synced: bytes = b"") -> int:
        self.files.append(_File(bytearray(written), synced))
        return len(self.files) - 1

    def names(self, chosen: Sequence[_Naming]) -> dict[str, int]:
        """Return the names, with these changes on top of what is synced."""
        found = dict(self.synced)
        for naming in chosen:
            for name, number in naming.names.items():
                if number is None:
                    found.pop(name, None)
                else:
                    found[name] = number
        return found

    def play(self, call: Call, folder: Path) -> None:
        """Do what a recorded call did."""
        if call.result < 0:
            return
        path, other = _relative(call.path, folder), _relative(call.other, folder) if call.other else ""
        number = self.names(self.pending).get(path, _FOLDER)
        if names := _named(call.kind, path, other, number, self):
            self.pending.append(_Naming(os.path.dirname(other or path), names))  # noqa: PTH120 - of a text
        elif call.kind == "fsync":
            self._sync(path, number)
        elif number != _FOLDER:
            _fill(call, self.files[number].written)

    def _sync(self, path: str, number: int) -> None:
        if number != _FOLDER:
            self.files[number].synced = bytes(self.files[number].written)
            return
        folder = "" if path == "." else path
        done = [naming for naming in self.pending if naming.folder == folder]
        self.synced = self.names(done)
        self.pending = [naming for naming in self.pending if naming.folder != folder]

    def lost(self, keep: random.Random | None) -> dict[str, tuple[int, bytes]]:
        """Return name -> file and bytes after the power went; without chances, all that could be lost is."""
        chosen = [naming for naming in self.pending if keep is not None and keep.random() < 0.5]
        contents = [file.synced if keep is None else keep.choice(file.states()) for file in self.files]
        names = self.names(chosen)
        return {
            name: (number, b"" if number == _FOLDER else contents[number])
            for name, number in names.items()
            if all(parent in names for parent in _parents(name))
        }


def _named(kind: str, path: str, other: str, number: int, disk: Disk) -> dict[str, int | None]:
    """Return the names that a call changes."""
    if kind == "create":
        return {path: disk.new()}
    if kind == "mkdir":
        return {path: _FOLDER}
    if kind in {"unlink", "rmdir"}:
        return {path: None}
    if kind == "link":
        return {other: number}
    return {path: None, other: number} if kind == "rename" else {}


def _fill(call: Call, data: bytearray) -> None:
    """Change a file's bytes as a call did."""
    if call.kind == "truncate":
        data.clear()
    elif call.kind == "ftruncate":
        del data[call.offset :]
        data.extend(bytes(call.offset - len(data)))
    elif call.kind == "write":
        data.extend(bytes(max(0, call.offset - len(data))))
        data[call.offset : call.offset + len(call.data)] = call.data


def _relative(path: str, folder: Path) -> str:
    return os.path.relpath(path, folder)


def _parents(name: str) -> Iterator[str]:
    while name := os.path.dirname(name):  # noqa: PTH120 - of a text
        yield name


def _lay(state: dict[str, tuple[int, bytes]], root: Path) -> None:
    """Make a folder hold a state; what it holds already is not touched. Two names of a file stay one file."""
    for path in sorted(root.rglob("*"), reverse=True):
        if path.relative_to(root).as_posix() not in state:
            path.rmdir() if path.is_dir() else path.unlink()
    laid: dict[int, Path] = {}
    for name, (number, data) in sorted(state.items(), key=lambda item: (item[0].count("/"), item[1][0])):
        path = root / name
        if number == _FOLDER:
            path.mkdir(exist_ok=True)
        elif number in laid:
            path.unlink(missing_ok=True)
            path.hardlink_to(laid[number])
        elif not path.exists() or path.read_bytes() != data:
            path.unlink(missing_ok=True)
            path.write_bytes(data)
        laid.setdefault(number, path)


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "rebuild"])
def test_power_loss_leaves_old_or_new(
    name: str, server: Server, level: Level, guarantee: Report, tmp_path: Path
) -> None:
    if not level.soak and name != AT_LEVEL_C:
        pytest.skip(f"{name} is replayed at level N")
    trial = Trial(server, OPERATIONS[name], tmp_path)
    calls = [call for call in trial.calls if not call.disposable and call.kind != "open"]
    chances = level.random(name)
    states = level.pick(60, 500)
    before = Disk.of(trial.base)
    # Every prefix with all lost that could be, then random ones; those after the last call come often.
    plan: list[tuple[int, random.Random | None]] = [(len(calls), None)]
    plan += [(len(calls), chances)] * (states // 5)
    every = list(range(len(calls)))
    plan += [(prefix, None) for prefix in chances.sample(every, min(len(every), states * 2 // 5))]
    plan += [(chances.choice(every), chances) for _ in range(states - len(plan))]
    failed = []
    for turn, (prefix, keep) in enumerate(plan):
        disk = Disk.of(trial.base) if turn else before
        for call in calls[:prefix]:
            disk.play(call, trial.root)
        state = disk.lost(keep)
        trial.reset()
        _lay(state, trial.root)
        try:
            outcome = trial.outcome()
            plain_git(trial.root, "fsck", "--strict", "--no-dangling")
            assert outcome != "old" or prefix < len(calls), "acknowledged, and lost"
            trial.go_on(outcome, next_first=bool(turn % 2))
        except AssertionError as e:
            last = calls[prefix - 1] if prefix else None
            at = f"{last.number} {last.kind} {_relative(last.path, trial.root)}" if last else "0"
            failed.append(f"power lost after call {at}, {'some' if keep else 'all'} lost: {e}")
            print(failed[-1][:600], flush=True)  # noqa: T201
    assert not failed, "\n\n".join(failed[:10])
    guarantee("G4", f"{name}: power lost in {len(plan)} states", "0 acknowledged lost, fsck clean in all")
