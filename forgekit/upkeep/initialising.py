"""Make a registry: settings, folders, git attributes, in one commit; a second time changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from forgekit.errors import FormatError, NoRegistryError, RepositoryError, UsageError, WriteError
from forgekit.git import driver
from forgekit.git.repository import create
from forgekit.model.schema import SETTINGS_FILE
from forgekit.model.settings import DEFAULT_TOML
from forgekit.store.files import read_bytes
from forgekit.store.roots import TOPS, find_root, work_tree
from forgekit.store.settings import require_schema
from forgekit.store.store import Change, Outcome, Store

ATTRIBUTES_FILE = ".gitattributes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Initialised:
    """What `init` did.

    Attributes:
        root: of the registry.
        made_repository: whether a git repository was made for it.
        registered: whether this clone did not know the merge driver before.
    """

    root: Path
    made_repository: bool
    registered: bool
    outcome: Outcome


def initialise(folder: Path, *, dry_run: bool = False, no_commit: bool = False) -> Initialised:
    """Make a folder a registry; in no git repository, make it one first. A clone learns how to merge.

    Raises UsageError inside another registry, WriteError, RepositoryError.
    """
    root = folder.absolute()
    _refuse_nested(root)
    made = _ensure_repository(root, dry_run=dry_run)
    store = Store(root)
    change = Change(
        files=wanted(root),
        subject="init: start a registry",
        trailers=(("Forgekit-Op", "init"),),
    )
    outcome = store.commit(lambda: change, dry_run=dry_run, no_commit=no_commit)
    registered = not dry_run and driver.register(store.repository)
    return Initialised(root=root, made_repository=made, registered=registered, outcome=outcome)


def _refuse_nested(root: Path) -> None:
    try:
        outer = find_root(root, {})
    except NoRegistryError:
        return
    if outer != root.resolve():
        raise UsageError(f"{root} lies in the registry at {outer}; a registry holds no other")


def _ensure_repository(root: Path, *, dry_run: bool) -> bool:
    try:
        work_tree(root)
    except RepositoryError:
        if any((place / "objects").is_dir() for place in (root, *root.parents)):
            raise  # a bare repository: `git init` inside would only hide it
        made = True
    else:
        made = False
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
