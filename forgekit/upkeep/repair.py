"""Mend what a diagnosis found: planned, saved, done, and looked at again.

A repair takes nothing away that it has not saved before (`backup`), restores only what git has held and what
is sound in itself, and leaves to a person what has two sides. It goes from the ground up (git, schema, files
as committed, files from history, cache) and looks again after each layer, since a layer hides the next; so a
second repair finds nothing to do.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from forgekit.checks.references import references
from forgekit.errors import ForgeError, FormatError, RepositoryError, WriteError
from forgekit.forge import Forge
from forgekit.git import driver, health
from forgekit.git.mending import mending
from forgekit.git.repository import Repository, diff
from forgekit.ids import EntityId
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import path_of
from forgekit.model.problem import Problem
from forgekit.model.settings import SETTINGS_FILE
from forgekit.store import Change, Store
from forgekit.text.frontmatter import decode
from forgekit.upkeep import doctor, init_migrate
from forgekit.upkeep.check import last_good
from forgekit.upkeep.doctor import Diagnosis, bad, diagnose
from forgekit.upkeep.init_migrate import wanted
from forgekit.worktree import files
from forgekit.worktree.roots import TOPS, git_dirs, work_tree
from forgekit.worktree.settings import parse_settings

FOLDER = "forgekit-backups"
_OWN = ("HEAD", "config", "index", "packed-refs", "refs", "logs")


def save(root: Path, extra: Iterable[str] = ()) -> Path:
    """Save a copy and return its folder.

    Args:
        root: the registry's root.
        extra: files of git's own that are to be saved too, relative to the work tree's top.

    Raises WriteError; then nothing may be repaired.
    """
    git = health.git_folder(root)
    try:
        data = _tar(root, git, sorted(set(extra)))
        folder = _shared(root) / FOLDER / hashlib.sha256(data).hexdigest()[:16]
        if not (folder / "files.tar").exists():
            folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(RepositoryError):
                _bundle(Repository(root), folder / "history.bundle")
            beside = folder / "files.new"
            beside.write_bytes(data)
            beside.replace(folder / "files.tar")  # last: it says that the copy is whole
    except OSError as e:
        raise WriteError(str(e.filename or git), e.strerror or str(e)) from None
    return folder


def _shared(root: Path) -> Path:
    try:
        return git_dirs(root)[1]
    except RepositoryError:
        return health.git_folder(root)


def unblock(cache: Path) -> None:
    """Move away what stands in the place of the cache folder."""
    if cache.exists() and not cache.is_dir():
        cache.replace(cache.with_name("forgekit-was-no-folder"))


def _bundle(repository: Repository, path: Path) -> None:
    """Write the history, where git can read all of it; git's folder is left as it is anyway."""
    if repository.attempt("bundle", "create", "--quiet", str(path), "--all").returncode:
        path.unlink(missing_ok=True)


def _tar(root: Path, git: Path, extra: Iterable[str]) -> bytes:
    """Return the files as an archive whose bytes follow from their content alone."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, path in _members(root, git, extra):
            found = tar.gettarinfo(path, name)
            found.mtime, found.uid, found.gid, found.uname, found.gname = 0, 0, 0, "", ""
            if found.issym():
                tar.addfile(found)
                continue
            data = path.read_bytes()
            found.type, found.size, found.linkname = tarfile.REGTYPE, len(data), ""
            tar.addfile(found, io.BytesIO(data))
        for name, data in _staged(root):
            info = tarfile.TarInfo(f"staged/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _members(root: Path, git: Path, extra: Iterable[str]) -> Iterator[tuple[str, Path]]:
    for name in (SETTINGS_FILE, ".gitattributes", *TOPS):
        yield from _below(name, root / name)
    for path in sorted(
        [*(git / name for name in _OWN), *git.glob("*.lock"), *git.glob("forgekit/journal-*")]
    ):
        yield from _below(f"git/{path.relative_to(git).as_posix()}", path)
    for name in extra:
        yield from _below(f"git/{name.removeprefix('.git/')}", work_tree(root) / name)


def _below(name: str, path: Path) -> Iterator[tuple[str, Path]]:
    if path.is_dir() and not path.is_symlink():
        for inner in sorted(path.iterdir()):
            yield from _below(f"{name}/{inner.name}", inner)
    elif path.is_symlink() or path.is_file():
        yield name, path


def _staged(root: Path) -> list[tuple[str, bytes]]:
    try:
        return sorted(Repository(root).staged())
    except (RepositoryError, KeyError):
        return []


Judge = Callable[[str, bytes], bool]

_ROUNDS = 12
_FROM_HISTORY = frozenset(
    {
        "empty-file",
        "truncated-file",
        "unreadable-file",
        "misplaced",
        "archive-changed",
        "id-derivation",
    }
)
_SAME_BYTES = frozenset({"duplicate-id", "twin"})
_HIDING = frozenset({"broken-head", "broken-packed-refs", "broken-branch", "git", "ownership"})


class Layer(IntEnum):
    """What a step works on; a lower one is mended first."""

    GIT = 1
    SCHEMA = 2
    WORK_TREE = 3  # files as the last commit has them
    COMMIT = 4  # files as an earlier commit had them, or at another path
    CACHE = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairStep:
    """One thing to do.

    Attributes:
        subject: of the finding that it mends.
        path: of the file at fault.
        message: what is done, as a clause.
        files: path -> bytes to be, or None for a file to delete.
        act: does it, where no file is written.
    """

    layer: Layer
    subject: str
    path: str
    message: str
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    act: Callable[[], object] | None = None

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
    steps = _ordered(plan)
    changes = (
        diff(_bytes(root, path), data, path) for step in steps for path, data in sorted(step.files.items())
    )
    return Repair(
        steps=tuple(steps),
        left=tuple(finding for finding, found in plan if not found),
        edits=_edits(root, steps),
        diff="".join(changes),
    )


def repair(root: Path) -> Repair:
    """Save a copy, do what can be done, and say what is left.

    Raises WriteError when the copy cannot be saved; then nothing was changed.
    """
    done: list[RepairStep] = []
    edits: set[str] = set()
    commits: list[str] = []
    copy: Path | None = None
    findings = bad(diagnose(root))
    failed: list[Diagnosis] = []
    for _ in range(_ROUNDS):
        seen = {str(step) for step in done}
        steps = [step for step in _ordered(_plan(root, findings)) if str(step) not in seen]
        if not steps:
            break
        steps = [step for step in steps if step.layer is steps[0].layer]
        if copy is None or any(step.subject == "corrupt-object" for step in steps):
            copy = save(root, (step.path for step in steps if step.layer is Layer.GIT))
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
    if steps[0].layer is Layer.SCHEMA:
        store = Store(root)
        return store.commit(lambda: init_migrate.migration(store)).commit
    if steps[0].layer is Layer.COMMIT:
        return Store(root).commit(lambda: _change(root, steps)).commit
    for step in steps:
        if step.act is not None:
            step.act()
        _place(root, step.files)
    return None


def _change(root: Path, steps: list[RepairStep]) -> Change:
    written = {path: data for step in steps for path, data in step.files.items()}
    over = {path: data for path in written if (data := _bytes(root, path)) is not None}
    owners = sorted({owner[1] for path in written if (owner := files.entity_of_path(path)) is not None})
    number = f"{len(steps)} {'file' if len(steps) == 1 else 'files'}"
    return Change(
        files=written,
        over=over,
        subject=f"doctor: repair {number}",
        trailers=(("Forgekit-Op", "doctor --repair"), *(("Forgekit-Entity", owner) for owner in owners)),
    )


def _place(root: Path, contents: Mapping[str, bytes | None]) -> None:
    for path, data in contents.items():
        if data is None:
            files.remove(root, path)
            continue
        files.stage(root, path, data, "doctor")
        files.place(root, path, "doctor")
    files.settle(root, contents)


def _edits(root: Path, steps: list[RepairStep]) -> tuple[str, ...]:
    """Return the files with uncommitted bytes that the steps replace."""
    touched = {path for step in steps for path in step.files if _bytes(root, path) is not None}
    places = [*TOPS, SETTINGS_FILE, ".gitattributes"]
    return tuple(sorted(touched.intersection(Repository(root).changed_paths(places)))) if touched else ()


Plan = list[tuple[Diagnosis, list[RepairStep]]]


def _plan(root: Path, findings: list[Diagnosis]) -> Plan:
    """Return what can be done about each finding; one that has no step is for a person."""
    plan = [(finding, list(_git_steps(root, finding))) for finding in findings]
    if not any(finding.subject in _HIDING for finding in findings):
        for finding, steps in plan:
            with contextlib.suppress(ForgeError, KeyError):  # said of settings and objects, which come first
                steps.extend(_file_steps(root, finding))
    return plan


def _ordered(plan: Plan) -> list[RepairStep]:
    """Return each step once, the lower layers first."""
    once = {(step.layer, step.path, step.message): step for _, steps in plan for step in steps}
    return sorted(once.values(), key=lambda step: (step.layer, step.path))


def _git_steps(root: Path, finding: Diagnosis) -> Iterator[RepairStep]:
    found = mending(root, Problem(code=finding.subject, message="", path=finding.path))
    if found:
        yield RepairStep(
            layer=Layer.GIT, subject=finding.subject, path=finding.path, message=found[0], act=found[1]
        )
    standing: dict[str, tuple[str, Callable[[], object]]] = {
        "half-done": (
            "the killed write is undone, or finished where the branch holds its commit",
            lambda: Store(root).commit(lambda: Change(subject="doctor: recover")),
        ),
        "driver-missing": (
            "the merge driver is registered in this clone",
            lambda: driver.register(Repository(root)),
        ),
    }
    if finding.subject in standing:
        message, act = standing[finding.subject]
        yield RepairStep(
            layer=Layer.GIT, subject=finding.subject, path=finding.path, message=message, act=act
        )


def _file_steps(root: Path, finding: Diagnosis) -> Iterator[RepairStep]:
    subject, path = finding.subject, finding.path
    store = Store(root)
    if subject == "older-schema":
        yield RepairStep(
            layer=Layer.SCHEMA,
            subject=subject,
            path=path,
            message="every file is brought to the present schema, in one commit",
        )
    elif subject in {"settings", "settings-missing"}:
        yield from _restored(store, subject, path, _is_settings)
    elif subject == "attributes-lost":
        yield from _attributes(store, subject, path)
    elif subject == "cache-damaged":
        yield RepairStep(
            layer=Layer.CACHE,
            subject=subject,
            path=path,
            message="deleted, to be made anew",
            act=lambda: _remove_all(Path(path)),
        )
    elif subject == "cache-blocked":
        yield RepairStep(
            layer=Layer.CACHE,
            subject=subject,
            path=path,
            message="moved to forgekit-was-no-folder",
            act=lambda: unblock(Path(path)),
        )
    elif subject == "symlink":
        yield from _unlinked(store, subject, path)
    elif subject in _FROM_HISTORY:
        steps = list(_restored(store, subject, path, doctor.sound))
        yield from steps or _moved(store, subject, path)
    elif subject in _SAME_BYTES:
        yield from _without_copy(store, subject, path)
    elif subject == "broken-reference":
        yield from _targets(store, subject, path)


def _restored(store: Store, subject: str, path: str, good: Judge) -> Iterator[RepairStep]:
    """Bring back the last good version of a file."""
    repository = store.repository
    found = last_good(repository, path, good)
    if found is None:
        return
    commit, data = found
    present, committed = _bytes(store.root, path), doctor.committed(repository, path)
    if data == committed:
        message, layer = "brought back as committed", Layer.WORK_TREE
    elif present is None and committed is not None:
        data, message, layer = committed, "brought back as committed, to be mended", Layer.WORK_TREE
    else:
        message, layer = f"brought back as of commit {commit[:12]}", Layer.COMMIT
    if data != present:
        yield RepairStep(layer=layer, subject=subject, path=path, message=message, files={path: data})


def _attributes(store: Store, subject: str, path: str) -> Iterator[RepairStep]:
    data = wanted(store.root).get(path)
    committed = doctor.committed(store.repository, path)
    if _bytes(store.root, path) is None and committed is not None:
        message = "brought back as committed"
        yield RepairStep(
            layer=Layer.WORK_TREE, subject=subject, path=path, message=message, files={path: committed}
        )
    elif data is not None:
        message = "what forgekit needs is added"
        yield RepairStep(layer=Layer.COMMIT, subject=subject, path=path, message=message, files={path: data})


def _unlinked(store: Store, subject: str, path: str) -> Iterator[RepairStep]:
    """Put the committed files where a link stands."""
    repository = store.repository
    tip = repository.tip()
    blobs = {p: b for p, b in repository.blobs(tip).items() if p == path or p.startswith(f"{path}/")}
    if blobs:
        yield RepairStep(
            layer=Layer.WORK_TREE,
            subject=subject,
            path=path,
            message="the link is taken away, and what was committed is brought back",
            files={p: repository.read_blob(blob) for p, blob in sorted(blobs.items())},
            act=(store.root / path).unlink,
        )


def _moved(store: Store, subject: str, path: str) -> Iterator[RepairStep]:
    """Move an entity to its place, when nothing is there and nothing is wrong with it."""
    if subject != "misplaced":
        return
    entity, data = doctor.entity_in(Forge.open(store.root), path), _bytes(store.root, path)
    if entity is None or data is None:
        return
    home = entity_path(entity)
    if not doctor.sound(home, data):
        return
    layer, message = Layer.WORK_TREE, f"moved to {home}"  # what was not committed stays so
    contents: dict[str, bytes | None] = {home: data, path: None}
    if doctor.committed(store.repository, path) is not None:
        layer = Layer.COMMIT
        if (committed := doctor.committed(store.repository, home)) is not None:
            layer, contents = Layer.WORK_TREE, {home: committed}
            message = f"{home} is brought back as committed"
    yield RepairStep(layer=layer, subject=subject, path=path, message=message, files=contents)


def _without_copy(store: Store, subject: str, path: str) -> Iterator[RepairStep]:
    """Delete a file that says what the one at its id's place says, byte for byte."""
    entity, data = doctor.entity_in(Forge.open(store.root), path), _bytes(store.root, path)
    if entity is None or data is None or _bytes(store.root, entity_path(entity)) != data:
        return
    layer = Layer.WORK_TREE if doctor.committed(store.repository, path) is None else Layer.COMMIT
    message = f"deleted: {entity_path(entity)} holds the same"
    yield RepairStep(layer=layer, subject=subject, path=path, message=message, files={path: None})


def _targets(store: Store, subject: str, path: str) -> Iterator[RepairStep]:
    """Bring back the entities that a file names and that history holds, and those that they name."""
    registry = Forge.open(store.root).registry()
    found = files.entity_of_path(path)
    start = registry.get(found[1]) if found else None
    todo: list[Entity] = [start] if start else []
    seen: set[EntityId] = set()
    while todo:
        for _, target, kinds in references(todo.pop()):
            if target in seen or registry.get(target) is not None:
                continue
            seen.add(target)
            for place in (path_of(kind, target) for kind in kinds):
                for step in _restored(store, subject, place, doctor.sound):
                    yield step
                    data = step.files[place]
                    todo += [files.parse(place, data)[0]] if data and doctor.sound(place, data) else []


def _is_settings(_: str, data: bytes) -> bool:
    parse_settings(decode(data))
    return True


def _remove_all(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _bytes(root: Path, path: str) -> bytes | None:
    """Return what stands at a path, or None for nothing or no regular file."""
    try:
        return files.read_bytes(root, path)
    except FormatError:
        return None
