"""Repair what a diagnosis found: save a copy, restore registry files from history, rebuild caches and index.

A repair removes nothing that it has not saved before, restores only what git has held and what is sound in
itself, and leaves to a person what has two sides. Lost branches and objects of git are not rebuilt: the
diagnosis advises a fresh clone. It goes by stages (git and caches, files as committed, files from history)
and diagnoses again after each, since a stage hides the next; so a second repair finds nothing to do.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from forgekit.errors import ForgeError, FormatError, RepositoryError, WriteError
from forgekit.forge import Forge
from forgekit.frozen import field, frozen
from forgekit.git import driver, health
from forgekit.git.publish import clear_dead
from forgekit.git.repository import Repository, diff
from forgekit.model.entities import references
from forgekit.model.kinds import path_of
from forgekit.model.settings import SETTINGS_FILE
from forgekit.store import Change, Store
from forgekit.text.frontmatter import decode
from forgekit.upkeep import init_migrate
from forgekit.upkeep.check import at_tip, fix, last_good, move_of, sound
from forgekit.upkeep.doctor import Diagnosis, bad, diagnose
from forgekit.worktree import files
from forgekit.worktree.roots import TOPS, git_dirs, parse_settings, work_tree

_SAVED = ("HEAD", "config", "index", "packed-refs", "refs", "logs")
_ROUNDS = 12
_FROM_HISTORY = frozenset(
    {
        *("empty-file", "truncated-file", "unreadable-file", "misplaced", "archive-changed", "id-derivation"),
        *("deleted-file", "archive-deleted"),
    }
)
_HIDING = frozenset({"broken-branch", "lost-objects", "git", "ownership"})


@frozen(kw_only=True)
class RepairStep:
    """One thing to do.

    Attributes:
        message: what is done, as a clause.
        files: path -> bytes to be, or None for a file to delete.
        commits: whether these are no longer as the last commit has them.
        act: does it and may return a commit, where no file is written.
    """

    finding: Diagnosis
    message: str
    path: str
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    commits: bool = False
    act: Callable[[], object] | None = None

    @property
    def subject(self) -> str:
        """The name of the damage's kind."""
        return self.finding.subject

    @property
    def stage(self) -> int:
        """What goes first: a lower stage hides damage of the next."""
        return 0 if self.act is not None else 1 + self.commits

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@frozen(kw_only=True)
class Repair:
    """What a repair did, or would do.

    Attributes:
        steps: in the order in which they were done.
        left: what is still wrong afterwards; on a dry run what no step is for.
        edits: files whose uncommitted bytes are replaced; the copy keeps them.
        diff: of the files that would change, on a dry run.
        copy: the folder of the copy, or None where nothing was done.
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
    steps, repaired = _once(plan), {step.finding for step in plan}
    changes = [(path, data) for step in steps for path, data in sorted(step.files.items())]
    return Repair(
        steps=tuple(steps),
        left=tuple(finding for finding in findings if finding not in repaired),
        edits=tuple(_edits(root, steps)),
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
        steps = [step for step in steps if step.stage == steps[0].stage]
        if not steps:
            break
        copy = copy or save(root)
        edits.update(_edits(root, steps))
        try:
            commits += _do(root, steps)
        except ForgeError as e:
            message = f"{'; '.join(map(str, steps))}: not done: {e}"
            failed.append(Diagnosis(subject="not-done", message=message, path=steps[0].path))
        done += steps
        findings = bad(diagnose(root))
    return Repair(
        steps=tuple(done),
        left=(*failed, *findings),
        edits=tuple(sorted(edits)),
        copy=copy,
        commits=tuple(commits),
    )


def _do(root: Path, steps: list[RepairStep]) -> list[str]:
    """Do the steps of one stage; return the commits that were made."""
    if steps[0].commits:
        made: list[object] = [Store(root).commit(lambda: _change(root, steps)).commit]
    else:
        made = [step.act() for step in steps if step.act is not None]
        written = {path: data for step in steps for path, data in step.files.items() if data is not None}
        for path, data in written.items():
            files.replace(root, path, data, "doctor")
        files.settle(root, written)
    return [commit for commit in made if isinstance(commit, str)]


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


def _edits(root: Path, steps: list[RepairStep]) -> list[str]:
    """Return the files with uncommitted bytes that the steps replace."""
    touched = {path for step in steps for path in step.files if _bytes(root, path) is not None}
    places = [*TOPS, SETTINGS_FILE, init_migrate.ATTRIBUTES_FILE]
    return sorted(touched.intersection(Repository(root).changed_paths(places))) if touched else []


def _plan(root: Path, findings: list[Diagnosis]) -> list[RepairStep]:
    """Return what can be done about each finding; one without a step is for a person."""
    steps: list[RepairStep] = []
    for finding in [] if any(finding.subject in _HIDING for finding in findings) else findings:
        with contextlib.suppress(ForgeError):  # settings and git have findings of their own, which come first
            steps += _steps(root, finding)
    return steps


def _once(plan: list[RepairStep]) -> list[RepairStep]:
    """Return each step once, by stages."""
    once = {(step.path, step.message): step for step in plan}
    return sorted(once.values(), key=lambda step: (step.stage, step.path))


def _steps(root: Path, finding: Diagnosis) -> Iterable[RepairStep]:
    subject, path = finding.subject, finding.path
    step = partial(RepairStep, finding=finding, path=path)
    if subject in _ACTIONS:
        message, action = _ACTIONS[subject]
        return [step(message=message, act=partial(action, root, path))]
    if subject in {"settings", "settings-missing"}:
        return _restored(root, finding, path, _is_settings)
    if subject == "attributes-lost":
        needed, lost = init_migrate.wanted(root).get(path), _bytes(root, path) is None
        if lost and (steps := [*_restored(root, finding, path, lambda *_: True)]):
            return steps
        message = "what forgekit needs is added"
        return [step(message=message, files={path: needed}, commits=True)] if needed is not None else ()
    if subject == "broken-reference":
        return _targets(root, finding)
    if subject == "symlink":
        repository = Repository(root)
        held = any(f"{name}/".startswith(f"{path}/") for name in repository.blobs(repository.tip()))
        message = "the link is deleted; what was committed can be restored"
        return [step(message=message, act=(root / path).unlink)] if held else ()
    steps = [*_restored(root, finding, path)] if subject in _FROM_HISTORY else []
    if not steps and subject == "misplaced" and move_of(forge := Forge.open(root), path) is not None:
        return [step(message="moved to its place", act=lambda: _commit_of_fix(forge, path))]
    return steps


def _targets(root: Path, finding: Diagnosis) -> Iterator[RepairStep]:
    """Restore what a file names and history holds."""
    registry = Forge.open(root).registry()
    owner = files.entity_of_path(finding.path)
    entity = registry.get(owner[1]) if owner else None
    for _, target, kinds in references(entity) if entity is not None else ():
        for kind in kinds if registry.get(target) is None else ():
            yield from _restored(root, finding, path_of(kind, target))


def _restored(
    root: Path, finding: Diagnosis, path: str, is_sound: Callable[[str, bytes], bool] = sound
) -> Iterator[RepairStep]:
    """Restore a deleted file as committed, any other in its last sound version."""
    repository, present = Repository(root), _bytes(root, path)
    data, message, commits = at_tip(repository, path), "restored as committed", False
    if present is not None or data is None:
        found = last_good(repository, path, is_sound)
        if found is None or found[1] == present:
            return
        if commits := found[1] != data:
            message = f"restored as of commit {found[0][:12]}"
        data = found[1]
    yield RepairStep(finding=finding, path=path, message=message, files={path: data}, commits=commits)


def _commit_of_fix(forge: Forge, path: str) -> str | None:
    outcome = fix(forge, [path]).outcome
    return outcome.commit if outcome is not None else None


def _unstage(root: Path, path: str) -> None:
    # `git reset` would refresh the whole index, and so run the clone's filters.
    Repository(root).run("restore", "--quiet", "--staged", "--", path)


def _migrate(root: Path, _: str) -> str | None:
    store = Store(root)
    return store.commit(lambda: init_migrate.migration(store)).commit


def _recover(root: Path, _: str) -> None:
    Store(root).commit(lambda: Change(subject="doctor: recover"), no_commit=True)


def _remove_database(_: Path, path: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


_ACTIONS: dict[str, tuple[str, Callable[[Path, str], object]]] = {
    "broken-index": ("rebuilt from the last commit; what was staged is lost", _recover),
    "index-differs": ("the index holds what was committed", _unstage),
    "stale-lock": ("deleted", lambda root, path: clear_dead(work_tree(root) / path, work_tree(root))),
    "half-done": ("the killed write is undone, or finished", _recover),
    "leftover-file": ("deleted", files.remove),
    "driver-missing": ("registered in this clone", lambda root, _: driver.register(Repository(root))),
    "older-schema": ("every file is brought to the present schema, in one commit", _migrate),
    "cache-damaged": ("deleted, to be rebuilt", _remove_database),
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
    named = [(name, root / name) for name in (SETTINGS_FILE, init_migrate.ATTRIBUTES_FILE, *TOPS)]
    own = sorted([*(git / name for name in _SAVED), *git.glob("*.lock"), *git.glob("forgekit/journal-*")])
    named += [(f"git/{path.relative_to(git).as_posix()}", path) for path in own]
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, path in named:
            if path.is_symlink() or path.exists():
                tar.add(path, name, filter=_plain)
        with contextlib.suppress(RepositoryError):
            for name, data in sorted(Repository(root).staged()):
                info = tarfile.TarInfo(f"staged/{name}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    return member


def _is_settings(_: str, data: bytes) -> bool:
    parse_settings(decode(data))
    return True


def _bytes(root: Path, path: str) -> bytes | None:
    """Return the bytes of a regular file, or None where there is none."""
    try:
        return files.read_bytes(root, path)
    except FormatError:
        return None
