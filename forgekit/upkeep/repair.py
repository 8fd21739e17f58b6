"""Repair what a diagnosis found: save a copy, restore registry files from history, rebuild caches and index.

A repair removes nothing that it has not saved before, restores only what git has held and what is sound in
itself, and leaves to a person what has two sides. Lost branches and objects of git are not rebuilt: the
diagnosis advises a fresh clone. It goes by layers (git, schema, files as committed, files from history,
cache) and diagnoses again after each, since a layer hides the next; so a second repair finds nothing to do.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from pathlib import Path

from forgekit.errors import ForgeError, FormatError, RepositoryError, WriteError
from forgekit.forge import Forge
from forgekit.git import driver, health
from forgekit.git.publish import Places, clear_dead
from forgekit.git.repository import Repository, diff
from forgekit.ids import EntityId
from forgekit.model.entities import Entity, references
from forgekit.model.kinds import path_of
from forgekit.model.settings import SETTINGS_FILE
from forgekit.store import Change, Store
from forgekit.text.frontmatter import decode
from forgekit.upkeep import init_migrate
from forgekit.upkeep.check import at_tip, last_good, move_back, move_of, sound
from forgekit.upkeep.doctor import Diagnosis, bad, diagnose
from forgekit.worktree import files
from forgekit.worktree.roots import TOPS, git_dirs, parse_settings, work_tree

_SAVED = ("HEAD", "config", "index", "packed-refs", "refs", "logs")
_ROUNDS = 12
_FROM_HISTORY = frozenset(
    {
        *("empty-file", "truncated-file", "unreadable-file", "misplaced", "archive-changed", "id-derivation"),
        "deleted-file",
    }
)
_HIDING = frozenset({"broken-branch", "lost-objects", "git", "ownership"})


IsSound = Callable[[str, bytes], bool]


class Layer(IntEnum):
    """What a step works on; a lower one is repaired first."""

    GIT = 1
    SCHEMA = 2
    WORK_TREE = 3  # files as the last commit has them
    COMMIT = 4  # files as an earlier commit had them, or at another path
    CACHE = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairStep:
    """One thing to do.

    Attributes:
        finding: that it repairs.
        message: what is done, as a clause.
        path: of the file at fault.
        files: path -> bytes to be, or None for a file to delete.
        act: does it, where no file is written.
    """

    layer: Layer
    finding: Diagnosis
    message: str
    path: str
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    act: Callable[[], object] | None = None

    @property
    def subject(self) -> str:
        """The name of the damage's kind."""
        return self.finding.subject

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@dataclass(frozen=True, kw_only=True, slots=True)
class Repair:
    """What a repair did, or would do.

    Attributes:
        steps: in the order in which they were done.
        left: what is still wrong afterwards; on a dry run what no step is for.
        edits: files whose uncommitted bytes are replaced; the copy keeps them.
        diff: of the files that would change, on a dry run.
        copy: the folder of the copy, or None where nothing was done.
        commits: ids.
    """

    steps: tuple[RepairStep, ...]
    left: tuple[Diagnosis, ...]
    edits: tuple[str, ...] = ()
    diff: str = ""
    copy: Path | None = None
    commits: tuple[str, ...] = ()


def plan_repair(root: Path) -> Repair:
    """Say what a repair would do, as far as it can be seen before the first step is done."""
    findings = bad(diagnose(root))
    plan = _plan(root, findings)
    repaired, steps = {id(step.finding) for step in plan}, _once(plan)
    changes = [(path, data) for step in steps for path, data in sorted(step.files.items())]
    return Repair(
        steps=tuple(steps),
        left=tuple(finding for finding in findings if id(finding) not in repaired),
        edits=_edits(root, steps),
        diff="".join(diff(_bytes(root, path), data, path) for path, data in changes),
    )


def repair(root: Path) -> Repair:
    """Save a copy, do what can be done, and say what is left.

    Raises WriteError when the copy cannot be saved; then nothing was changed.
    """
    done: list[RepairStep] = []
    edits: set[str] = set()
    commits: list[str] = []
    copy: Path | None = None
    failed: list[Diagnosis] = []
    findings = bad(diagnose(root))
    for _ in range(_ROUNDS):
        seen = {str(step) for step in done}
        steps = [step for step in _once(_plan(root, findings)) if str(step) not in seen]
        steps = [step for step in steps if step.layer is steps[0].layer]
        if not steps:
            break
        copy = copy or save(root)
        edits.update(_edits(root, steps))
        try:
            commit = _do(root, steps)
        except ForgeError as e:
            message = f"{'; '.join(map(str, steps))}: not done: {e}"
            failed.append(Diagnosis(subject="not-done", good=False, message=message, path=steps[0].path))
        else:
            commits += [commit] if commit else []
        done += steps
        findings = bad(diagnose(root))
    return Repair(
        steps=tuple(done),
        left=(*failed, *findings),
        edits=tuple(sorted(edits)),
        copy=copy,
        commits=tuple(commits),
    )


def _do(root: Path, steps: list[RepairStep]) -> str | None:
    """Do the steps of one layer; return the commit, where one was made."""
    if steps[0].layer is Layer.COMMIT:
        return Store(root).commit(lambda: _change(root, steps)).commit
    commit = None
    for step in steps:
        if step.act is not None:
            made = step.act()
            commit = made if isinstance(made, str) else commit
        for path, data in step.files.items():
            if data is None:
                files.remove(root, path)
                continue
            files.stage(root, path, data, "doctor")
            files.place(root, path, "doctor")
        files.settle(root, step.files)
    return commit


def _change(root: Path, steps: list[RepairStep]) -> Change:
    written = {path: data for step in steps for path, data in step.files.items()}
    owners = sorted({owner[1] for path in written if (owner := files.entity_of_path(path)) is not None})
    number = f"{len(steps)} {'file' if len(steps) == 1 else 'files'}"
    return Change(
        files=written,
        over={path: data for path in written if (data := _bytes(root, path)) is not None},
        subject=f"doctor: repair {number}",
        trailers=(("Forgekit-Op", "doctor --repair"), *(("Forgekit-Entity", owner) for owner in owners)),
    )


def _edits(root: Path, steps: list[RepairStep]) -> tuple[str, ...]:
    """Return the files with uncommitted bytes that the steps replace."""
    touched = {path for step in steps for path in step.files if _bytes(root, path) is not None}
    places = [*TOPS, SETTINGS_FILE, init_migrate.ATTRIBUTES_FILE]
    return tuple(sorted(touched.intersection(Repository(root).changed_paths(places)))) if touched else ()


def _plan(root: Path, findings: list[Diagnosis]) -> list[RepairStep]:
    """Return what can be done about each finding; one without a step is for a person."""
    steps: list[RepairStep] = []
    for finding in [] if any(finding.subject in _HIDING for finding in findings) else findings:
        with contextlib.suppress(ForgeError):  # settings and git have findings of their own, which come first
            steps += _steps(root, finding)
    return steps


def _once(steps: list[RepairStep]) -> list[RepairStep]:
    """Return each step once, the lower layers first."""
    once = {(step.layer, step.path, step.message): step for step in steps}
    return sorted(once.values(), key=lambda step: (step.layer, step.path))


def _steps(root: Path, finding: Diagnosis) -> Iterator[RepairStep]:
    subject, path = finding.subject, finding.path
    if subject in _ACTIONS:
        layer, message, action = _ACTIONS[subject]
        act = partial(action, root, path)
        yield RepairStep(layer=layer, finding=finding, path=path, message=message, act=act)
    elif subject in _FROM_HISTORY:
        yield from list(_restored(root, finding, path, sound)) or _moved(root, finding)
    elif subject in {"settings", "settings-missing"}:
        yield from _restored(root, finding, path, _is_settings)
    elif subject == "symlink":
        yield from _unlinked(root, finding)
    elif subject == "attributes-lost":
        yield from _attributes(root, finding)
    elif subject == "broken-reference":
        yield from _targets(root, finding)


def _unlinked(root: Path, finding: Diagnosis) -> Iterator[RepairStep]:
    """Delete a link in the place of committed files; these are then missing, and restored."""
    path, repository = finding.path, Repository(root)
    if any(name == path or name.startswith(f"{path}/") for name in repository.blobs(repository.tip())):
        message, act = "the link is deleted; what was committed can be restored", (root / path).unlink
        yield RepairStep(layer=Layer.WORK_TREE, finding=finding, path=path, message=message, act=act)


def _attributes(root: Path, finding: Diagnosis) -> Iterator[RepairStep]:
    path = finding.path
    step = partial(RepairStep, finding=finding, path=path)
    before, needed = at_tip(Repository(root), path), init_migrate.wanted(root).get(path)
    if _bytes(root, path) is None and before is not None:
        yield step(layer=Layer.WORK_TREE, message="restored as committed", files={path: before})
    elif needed is not None:
        yield step(layer=Layer.COMMIT, message="what forgekit needs is added", files={path: needed})


def _restored(root: Path, finding: Diagnosis, path: str, is_sound: IsSound) -> Iterator[RepairStep]:
    """Restore a deleted file as committed, any other in its last sound version."""
    repository, present = Repository(root), _bytes(root, path)
    before = at_tip(repository, path)
    if present is None and before is not None:
        message, layer, data = "restored as committed", Layer.WORK_TREE, before
    elif (found := last_good(repository, path, is_sound)) is None:
        return
    elif found[1] == before:
        message, layer, data = "restored as committed", Layer.WORK_TREE, before
    else:
        message, layer, data = f"restored as of commit {found[0][:12]}", Layer.COMMIT, found[1]
    if data != present:
        yield RepairStep(layer=layer, finding=finding, path=path, message=message, files={path: data})


def _moved(root: Path, finding: Diagnosis) -> Iterator[RepairStep]:
    """Move an entity to its place, when nothing is there and nothing is wrong with it."""
    forge = Forge.open(root)
    move = move_of(forge, finding.path)
    if move is None:
        return
    step = partial(RepairStep, finding=finding, path=move.path, message=f"moved to {move.home}")
    if move.committed:
        yield step(layer=Layer.COMMIT, files={move.home: move.data, move.path: None})
    else:
        yield step(layer=Layer.WORK_TREE, act=lambda: move_back(forge, move))


def _targets(root: Path, finding: Diagnosis) -> Iterator[RepairStep]:
    """Restore the entities that a file names and that history holds, and those that they name."""
    registry = Forge.open(root).registry()
    owner = files.entity_of_path(finding.path)
    start = registry.get(owner[1]) if owner else None
    todo: list[Entity] = [start] if start else []
    seen: set[EntityId] = set()
    while todo:
        for _, target, kinds in references(todo.pop()):
            if target in seen or registry.get(target) is not None:
                continue
            seen.add(target)
            for place in (path_of(kind, target) for kind in kinds):
                for step in _restored(root, finding, place, sound):
                    yield step
                    data = step.files[place]
                    todo += [files.parse(place, data)[0]] if data and sound(place, data) else []


def _unstage(root: Path, path: str) -> None:
    # `git reset` would refresh the whole index, and so run the clone's filters.
    Repository(root).run("restore", "--quiet", "--staged", "--", path)


def _drop_journal(root: Path, _: str) -> None:
    places = Places.of(Repository(root))
    if places.owned():
        places.lock.unlink()
    places.index.unlink(missing_ok=True)
    places.journal.unlink(missing_ok=True)


def _migrate(root: Path, _: str) -> str | None:
    store = Store(root)
    return store.commit(lambda: init_migrate.migration(store)).commit


def _unblock(_: Path, path: str) -> None:
    if not (cache := Path(path)).is_dir():
        cache.replace(cache.with_name("forgekit-was-no-folder"))


def _remove_database(_: Path, path: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


_ACTIONS: dict[str, tuple[Layer, str, Callable[[Path, str], object]]] = {
    "broken-index": (
        Layer.GIT,
        "rebuilt from the last commit; what was staged is lost",
        lambda root, _: Repository(root).run("read-tree", "HEAD"),
    ),
    "index-differs": (Layer.GIT, "the index holds what was committed", _unstage),
    "stale-lock": (
        Layer.GIT,
        "deleted",
        lambda root, path: clear_dead(work_tree(root) / path, work_tree(root)),
    ),
    "half-done": (
        Layer.GIT,
        "the killed write is undone, or finished",
        lambda root, _: Store(root).commit(lambda: Change(subject="doctor: recover"), no_commit=True),
    ),
    "broken-journal": (Layer.GIT, "deleted; `git status` shows what the killed write did", _drop_journal),
    "leftover-file": (Layer.GIT, "deleted", files.remove),
    "driver-missing": (
        Layer.GIT,
        "registered in this clone",
        lambda root, _: driver.register(Repository(root)),
    ),
    "older-schema": (Layer.SCHEMA, "every file is brought to the present schema, in one commit", _migrate),
    "cache-damaged": (Layer.CACHE, "deleted, to be rebuilt", _remove_database),
    "cache-blocked": (Layer.CACHE, "moved to forgekit-was-no-folder", _unblock),
}


def save(root: Path) -> Path:
    """Save a copy of the registry's files, of git's small ones and of the history, and return its folder.

    Raises WriteError; then nothing may be repaired.
    """
    git = health.git_folder(root)
    try:
        data = _tar(root, git)
        folder = git_dirs(root)[1] / health.BACKUPS / hashlib.sha256(data).hexdigest()[:16]
        if not (folder / "files.tar").exists():
            folder.mkdir(parents=True, exist_ok=True)
            bundle = folder / "history.bundle"
            if Repository(root).attempt("bundle", "create", "--quiet", str(bundle), "--all").returncode:
                bundle.unlink(missing_ok=True)  # git cannot read all of it; its folder stays as it is anyway
            beside = folder / "files.new"
            beside.write_bytes(data)
            beside.replace(folder / "files.tar")  # last: it marks the copy as whole
    except OSError as e:
        raise WriteError(str(e.filename or git), e.strerror or str(e)) from None
    return folder


def _tar(root: Path, git: Path) -> bytes:
    """Return the files as an archive whose bytes follow from their content alone."""
    buffer = io.BytesIO()
    own = sorted([*(git / name for name in _SAVED), *git.glob("*.lock"), *git.glob("forgekit/journal-*")])
    named = [(name, root / name) for name in (SETTINGS_FILE, init_migrate.ATTRIBUTES_FILE, *TOPS)]
    named += [(f"git/{path.relative_to(git).as_posix()}", path) for path in own]
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, path in (member for each in named for member in _below(*each)):
            found = tar.gettarinfo(path, name)
            found.mtime, found.uid, found.gid, found.uname, found.gname = 0, 0, 0, "", ""
            if found.issym():
                tar.addfile(found)
                continue
            data = path.read_bytes()
            found.type, found.size, found.linkname = tarfile.REGTYPE, len(data), ""
            tar.addfile(found, io.BytesIO(data))
        with contextlib.suppress(RepositoryError):
            for name, data in sorted(Repository(root).staged()):
                info = tarfile.TarInfo(f"staged/{name}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _below(name: str, path: Path) -> Iterator[tuple[str, Path]]:
    if path.is_dir() and not path.is_symlink():
        for inner in sorted(path.iterdir()):
            yield from _below(f"{name}/{inner.name}", inner)
    elif path.is_symlink() or path.is_file():
        yield name, path


def _is_settings(_: str, data: bytes) -> bool:
    parse_settings(decode(data))
    return True


def _bytes(root: Path, path: str) -> bytes | None:
    """Return the bytes of a regular file, or None where there is none."""
    try:
        return files.read_bytes(root, path)
    except FormatError:
        return None
