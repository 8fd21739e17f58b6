"""Make a registry, bring an older one to the present schema, and write sample archives to try it with."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from forgekit.conflict import first_version
from forgekit.errors import FormatError, NoRegistryError, RepositoryError, UsageError, WriteError
from forgekit.forge import COMMITTED, WriteOptions
from forgekit.frozen import frozen
from forgekit.git import driver
from forgekit.git.repository import create
from forgekit.index.update import is_place, scan, shown
from forgekit.model.settings import DEFAULT_TOML, SCHEMA_VERSION, SETTINGS_FILE, schema_of, with_schema
from forgekit.store import Change, Outcome, Store
from forgekit.text.frontmatter import decode
from forgekit.worktree import files
from forgekit.worktree.files import read_bytes
from forgekit.worktree.roots import TOPS, find_root, require_schema, work_tree

ATTRIBUTES_FILE = ".gitattributes"
SAMPLES = Path(__file__).parent / "demo"


@frozen(kw_only=True)
class Initialised:
    """What `init` did.

    Attributes:
        registered: whether this clone did not know the merge driver before.
    """

    root: Path
    made_repository: bool
    registered: bool
    outcome: Outcome


def initialise(folder: Path, options: WriteOptions = COMMITTED) -> Initialised:
    """Make a folder a registry; in no git repository, make it one first. A clone learns how to merge.

    A registry of an older schema is brought to the present one instead.

    Raises UsageError inside or around another registry and for folders that hold other files, WriteError,
    RepositoryError.
    """
    root = folder.absolute()
    _refuse_nested(root)
    if not (root / SETTINGS_FILE).exists():
        _refuse_other_files(root)
    made = _ensure_repository(root, dry_run=options.dry_run)
    store = Store(root)
    change = partial(migration, store, "init") if is_older(root) else partial(_first_files, store)
    outcome = store.commit(change, dry_run=options.dry_run, no_commit=options.no_commit)
    registered = not options.dry_run and driver.register(store.repository)
    return Initialised(root=root, made_repository=made, registered=registered, outcome=outcome)


def _first_files(store: Store) -> Change:
    needed = wanted(store.root)
    if SETTINGS_FILE in needed:
        _refuse_around(store)
    # A registry that is one already lacks what somebody deleted.
    subject = "init: start a registry" if SETTINGS_FILE in needed else f"init: restore {', '.join(needed)}"
    return Change(files=needed, subject=subject, trailers=(("Forgekit-Op", "init"),))


def _refuse_nested(root: Path) -> None:
    try:
        outer = find_root(root, {})
    except NoRegistryError:
        return
    if outer != root.resolve():
        raise UsageError(f"{root} lies in the registry at {outer}; a registry holds no other")


def _refuse_other_files(root: Path) -> None:
    """Refuse folders that hold files of somebody else, and none of a registry whose settings are gone."""
    others = []
    for folder, rows in scan(root):
        for name, mode, *_ in rows if folder else ():
            path = f"{folder}/{name}"
            if files.entity_of_path(path) is not None:
                return
            if not (stat.S_ISDIR(mode) and is_place(folder, name)):
                others.append(path)
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise UsageError(
            f"{root} has {shown(others[0])}{more}, and a registry keeps its own files alone there; move them "
            "elsewhere, or make the registry in a folder of its own: `forgekit init FOLDER`"
        )


def _refuse_around(store: Store) -> None:
    """Refuse a folder above a registry of the same repository."""
    listed = store.repository.run("ls-files", "--cached", "--others", "--exclude-standard", "-z")
    for name in os.fsdecode(listed).split("\0"):
        if name.endswith(f"/{SETTINGS_FILE}") and (store.root / name).is_file():
            inner = (store.root / name).parent
            raise UsageError(f"{store.root} holds the registry at {inner}; a registry holds no other")


def _ensure_repository(root: Path, *, dry_run: bool) -> bool:
    made = False
    try:
        work_tree(root)
    except RepositoryError:
        if any((place / "objects").is_dir() for place in (root, *root.parents)):
            raise  # a bare repository: `git init` inside would only hide it
        made = True
    if dry_run:
        if made:
            raise UsageError(f"{root} is in no git repository; `git init` it first, or leave out --dry-run")
        return False
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise WriteError(str(root), e.strerror or str(e)) from None
    if made:
        create(root)
    return made


def wanted(root: Path) -> dict[str, bytes]:
    """Return the files that `init` would write: those missing, and the attributes with our lines added."""
    files: dict[str, bytes] = {}
    if read_bytes(root, SETTINGS_FILE) is None:
        files[SETTINGS_FILE] = DEFAULT_TOML.encode()
    require_schema(root)
    for top in TOPS:
        if (root / top).is_symlink() or ((root / top).exists() and not (root / top).is_dir()):
            raise FormatError("is not a folder; move it away, the registry keeps its files there", path=top)
        if not any((root / top).glob("*")):
            files[f"{top}/.gitkeep"] = b""
    attributes = read_bytes(root, ATTRIBUTES_FILE) or b""
    missing = [line.encode() for line in driver.RULES if line.encode() not in attributes.splitlines()]
    if missing:
        joint = b"" if not attributes or attributes.endswith(b"\n") else b"\n"
        files[ATTRIBUTES_FILE] = attributes + joint + b"".join(line + b"\n" for line in missing)
    return files


Step = Callable[[Mapping[str, str], Callable[[str], bool]], Mapping[str, str | None]]
"""Takes entity files by path, and what says whether a person changed one; returns those that change."""

STEPS: Mapping[int, Step] = {1: first_version.migrated}
"""Schema -> what brings a registry of it to the next one. Schema 1 is the first that was released."""


def path_up(schema: int) -> list[Step] | None:
    """Return the steps from a schema to the present one; None where none lead there."""
    steps = [STEPS.get(number) for number in range(schema, SCHEMA_VERSION)]
    return [step for step in steps if step] if all(steps) else None


def migration(store: Store, operation: str = "doctor --repair") -> Change:
    """Return the change that brings every file to the present schema.

    Raises FormatError where no steps lead there, or for settings that are no text.
    """
    settings = decode(files.read_bytes(store.root, SETTINGS_FILE) or b"")
    schema = schema_of(settings)
    steps = path_up(schema)
    if steps is None:
        raise FormatError(f"is {schema}, which no forgekit ever wrote", path=SETTINGS_FILE, field="schema")
    texts: dict[str, str] = {}
    for path in _entity_files(store.root):
        # A file that is no text is damage, which has a diagnosis of its own.
        with contextlib.suppress(FormatError):
            texts[path] = decode(files.read_bytes(store.root, path) or b"")
    changed: dict[str, bytes | None] = {SETTINGS_FILE: with_schema(settings).encode()}
    for step in steps:
        for path, text in step(texts, partial(_touched, store)).items():
            changed[path] = None if text is None else text.encode()
            if text is None:
                del texts[path]
            else:
                texts[path] = text
    return Change(
        files=changed,
        subject=f"{operation.partition(' ')[0]}: migrate from schema {schema} to {SCHEMA_VERSION}",
        trailers=(("Forgekit-Op", operation),),
    )


def _touched(store: Store, path: str) -> bool:
    """Say whether a commit that forgekit did not make changed a file after it was added."""
    commits = store.repository.log(path)
    return any("Forgekit-Op" not in dict(commit.trailers) for commit in commits[:-1])


def _entity_files(root: Path) -> list[str]:
    found = (
        f"{folder}/{name}"
        for folder, listing in scan(root)
        for name, mode, *_ in listing
        if stat.S_ISREG(mode)
    )
    return sorted(path for path in found if files.entity_of_path(path) is not None)


def is_older(root: Path) -> bool:
    """Say whether the schema of a registry is older than this program's."""
    return schema_of(decode(files.read_bytes(root, SETTINGS_FILE) or b"")) < SCHEMA_VERSION


def write_demo_data(folder: Path) -> list[Path]:
    """Write the sample archives into a folder and return their paths; a second time changes nothing.

    Raises UsageError where the folder has other files of the same names.
    """
    wanted = {folder / sample.name: sample.read_bytes() for sample in sorted(SAMPLES.glob("*.md"))}
    for path, data in wanted.items():
        if path.exists() and path.read_bytes() != data:
            raise UsageError(f"{path} exists and differs from the sample; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in wanted.items():
        path.write_bytes(data)
    return list(wanted)
