"""Ways to damage a registry, each with what a diagnosis must call it and what a repair must make of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum, auto
from pathlib import Path

import sample_entities
from repositories import git

from forgekit.git import driver
from forgekit.git.publish import Publication, Step
from forgekit.git.repository import blob_of
from forgekit.model.entities import Entity, ThreadStatus, entity_path
from forgekit.store import Change, Store
from forgekit.text import codec
from forgekit.upkeep.init_migrate import initialise

TALK, LATER = sample_entities.chain("talk", "later")
ROWS = sample_entities.decision("Keep rows", TALK)
COLUMNS = sample_entities.decision("Drop columns", TALK, dependencies=(ROWS.id,))
LAYOUT = sample_entities.decision("Lay tables out by columns", LATER, dependencies=(COLUMNS.id,))
THREAD = sample_entities.thread("Which store", TALK)
ARCHIVE = sample_entities.archive(TALK, body="The whole talk.\n\nIn two paragraphs.\n")
ENTITIES: tuple[Entity, ...] = (
    *(sample_entities.PROJECT, TALK, LATER, ROWS, COLUMNS, LAYOUT, THREAD, ARCHIVE),
    *(sample_entities.edge(TALK, LATER), sample_entities.conflict(ROWS, LAYOUT)),
)
SETTINGS = "forgekit.toml"
ATTRIBUTES = ".gitattributes"
OLD = time.time() - 3600


def make(root: Path) -> Path:
    """Make a registry of three commits in a new folder."""
    initialise(root)
    store = Store(root)
    store.commit(lambda: Change(writes=ENTITIES, subject="decision: new"))
    resolved = sample_entities.thread(
        "Which store", TALK, status=ThreadStatus.RESOLVED, resolved_in=LATER.id, updated_at=LATER.created_at
    )
    store.commit(lambda: Change(writes=(resolved,), subject="thread: resolve"))
    return root


def path_of(root: Path, entity: Entity) -> Path:
    return root / entity_path(entity)


def commit_all(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "by hand")


def edit(root: Path, entity: Entity, old: str, new: str) -> None:
    """Replace a text that the file holds once."""
    path = path_of(root, entity)
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (old, text)
    path.write_text(text.replace(old, new), encoding="utf-8")


def add_line(root: Path, entity: Entity, line: str) -> None:
    edit(root, entity, "\nproject_uuid:", f"\n{line}\nproject_uuid:")


def half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def old_file(path: Path, text: str = "") -> None:
    path.write_text(text, encoding="utf-8")
    os.utime(path, (OLD, OLD))


def loose(root: Path, name: str) -> Path:
    commit = git(root, "rev-parse", name).strip()
    return root / ".git" / "objects" / commit[:2] / commit[2:]


def spoil(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(b"not what it was")


def _branch(root: Path) -> Path:
    return root / ".git" / "refs" / "heads" / "main"


def _forgotten(root: Path) -> None:
    _branch(root).write_text("", encoding="utf-8")
    shutil.rmtree(root / ".git" / "logs")


def _packed(root: Path) -> Path:
    git(root, "pack-refs", "--all")
    return root / ".git" / "packed-refs"


def _cut_pack(root: Path) -> None:
    git(root, "gc", "--quiet")
    (pack,) = (root / ".git" / "objects" / "pack").glob("*.pack")
    pack.chmod(0o644)
    half(pack)


def _begun(root: Path) -> None:
    """Leave what a write leaves that was killed between its files and its branch."""
    entity = sample_entities.decision("Never acknowledged", TALK)
    path, data = entity_path(entity), codec.dumps(entity).encode()
    (root / path).write_bytes(data)
    tip = git(root, "rev-parse", "HEAD").strip()
    tree = git(root, "rev-parse", "HEAD^{tree}").strip()
    commit = git(root, "commit-tree", tree, "-p", tip, "-m", "never").strip()
    steps = (Step(path=path, old=None, before=None, staged=None, new=blob_of(data)),)
    publication = Publication(
        prefix="", ref="refs/heads/main", parent=tip, commit=commit, subject="x", steps=steps
    )
    journal = root / ".git" / "forgekit" / "journal-main.json"
    journal.write_text(json.dumps(asdict(publication)), encoding="utf-8")


def _divided(root: Path) -> None:
    """Leave a merge whose sides a person must choose from."""
    git(root, "switch", "--quiet", "--create", "side")
    git(root, "rm", "--quiet", entity_path(ARCHIVE))
    git(root, "commit", "--quiet", "--message", "theirs")
    git(root, "switch", "--quiet", "main")
    add_line(root, ARCHIVE, "note: mine")
    commit_all(root)
    subprocess.run(["git", "merge", "--quiet", "side"], cwd=root, capture_output=True, check=False)


def _linked_file(root: Path) -> None:
    path = path_of(root, ROWS)
    path.rename(root.parent / f"{root.name}-elsewhere.md")
    path.symlink_to(root.parent / f"{root.name}-elsewhere.md")


def _linked_folder(root: Path) -> None:
    place = root / "registry" / "decisions"
    place.rename(root.parent / f"{root.name}-elsewhere")
    place.symlink_to(root.parent / f"{root.name}-elsewhere")


def _move(root: Path, entity: Entity, to: str) -> Path:
    path = path_of(root, entity)
    place = root / to.format(name=path.name, folder=path.parent.relative_to(root))
    place.parent.mkdir(parents=True, exist_ok=True)
    return path.rename(place)


def _copy(root: Path, entity: Entity, to: str) -> Path:
    path = path_of(root, entity)
    place = _move(root, entity, to)
    shutil.copy(place, path)
    return place


def _superseded(root: Path) -> None:
    edit(root, LAYOUT, "status: active", "status: superseded")
    add_line(root, LAYOUT, f"superseded_by: {ROWS.id[:-1]}0")


def _markers(root: Path) -> None:
    edit(
        root,
        ROWS,
        "decision: Keep rows\n",
        "<<<<<<< a\ndecision: Keep rows\n=======\ndecision: No\n>>>>>>> b\n",
    )


def _circle(root: Path) -> None:
    add_line(root, ROWS, f"dependencies: [{LAYOUT.id}]")


def _catalogue(root: Path) -> Path:
    from forgekit.forge import Forge

    forge = Forge.open(root)
    forge.registry()
    forge.catalogue.close()
    return forge.catalogue.path


def _manifest(root: Path) -> None:
    path = root / ".git" / "forgekit" / "vectors-main.json"
    path.write_text('{"layout": 1, "digest": "abc", "files": {"ids": [7, 1, 1, 1]}}', encoding="utf-8")


def _filter(root: Path) -> None:
    path = root / ".git" / "info" / "attributes"
    path.write_text("registry/** filter=theirs\n" + path.read_text(encoding="utf-8"), encoding="utf-8")


def _blocked(root: Path) -> None:
    shutil.rmtree(root / ".git" / "forgekit")
    (root / ".git" / "forgekit").write_text("no folder", encoding="utf-8")


def _deleted(root: Path, *entities: Entity) -> None:
    for entity in entities:
        path_of(root, entity).unlink()


def _emptied(root: Path) -> None:
    shutil.rmtree(root / "registry")
    shutil.rmtree(root / "archives")


def _settings(root: Path, old: str, new: str) -> None:
    path = root / SETTINGS
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def committed(act: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return damage that somebody has committed."""

    def do(root: Path) -> None:
        act(root)
        commit_all(root)

    return do


def _uncommitted_attributes(root: Path) -> None:
    git(root, "rm", "--quiet", "--cached", ATTRIBUTES)
    git(root, "commit", "--quiet", "--message", "by hand")


class After(Enum):
    """What a repair makes of it."""

    WHOLE = auto()  # files, index and tip are as they were
    FILES = auto()  # the files are as they were; history says how that came about
    LEFT = auto()  # nothing was changed, and the finding stands


@dataclass(frozen=True)
class Case:
    """One kind of damage; `found` is the subject of its finding."""

    found: str
    do: Callable[[Path], object | None]
    after: After = After.WHOLE


L, F = After.LEFT, After.FILES
CASES: dict[str, Case] = {
    # git
    "HEAD is gone": Case("git", lambda r: (r / ".git/HEAD").unlink(), L),
    "HEAD is garbage": Case("git", lambda r: (r / ".git/HEAD").write_text("junk"), L),
    "branch is empty": Case("git", lambda r: _branch(r).write_text(""), L),
    "branch is gone": Case("broken-branch", lambda r: _branch(r).unlink(), L),
    "branch names nothing": Case("broken-branch", lambda r: _branch(r).write_text("1" * 40 + "\n"), L),
    "branch and logs are gone": Case("git", _forgotten, L),
    "packed refs with junk": Case("git", lambda r: append(_packed(r), "junk\n"), L),
    "packed refs cut off": Case("git", lambda r: os.truncate(_packed(r), 60), L),
    "HEAD is detached": Case("detached-head", lambda r: git(r, "checkout", "--quiet", "--detach"), L),
    "merge begun": Case("unfinished-merge", lambda r: shutil.copy(_branch(r), r / ".git/MERGE_HEAD"), L),
    "deleted here, changed there": Case("unfinished-merge", _divided, L),
    "index.lock left": Case("stale-lock", lambda r: old_file(r / ".git/index.lock")),
    "HEAD.lock left": Case("stale-lock", lambda r: old_file(r / ".git/HEAD.lock")),
    "lock of the branch left": Case("stale-lock", lambda r: old_file(r / ".git/refs/heads/main.lock")),
    "packed-refs.lock left": Case("stale-lock", lambda r: old_file(r / ".git/packed-refs.lock")),
    "write killed": Case("half-done", _begun),
    "journal damaged": Case(
        "broken-journal", lambda r: (r / ".git/forgekit/journal-main.json").write_text('{"ref"'), L
    ),
    "temporary file left": Case(
        "leftover-file", lambda r: path_of(r, ROWS).with_name(".forgekit-0a.x.md").write_text("half")
    ),
    "temporary file left at the root": Case(
        "leftover-file", lambda r: (r / ".forgekit-doctor.forgekit.toml").write_text("half")
    ),
    "index is empty": Case("broken-index", lambda r: (r / ".git/index").write_bytes(b"")),
    "index is garbage": Case("broken-index", lambda r: (r / ".git/index").write_bytes(b"junk" * 99)),
    "index is gone": Case("broken-index", lambda r: (r / ".git/index").unlink()),
    "index lacks a file": Case(
        "index-differs", lambda r: git(r, "rm", "--quiet", "--cached", entity_path(ROWS))
    ),
    "blob is lost": Case("lost-objects", lambda r: loose(r, f"HEAD:{entity_path(ROWS)}").unlink(), L),
    "blob of the settings is lost": Case("lost-objects", lambda r: loose(r, f"HEAD:{SETTINGS}").unlink(), L),
    "blob is damaged": Case("lost-objects", lambda r: spoil(loose(r, f"HEAD:{entity_path(ROWS)}")), L),
    "tree is lost": Case("lost-objects", lambda r: loose(r, "HEAD:registry/decisions").unlink(), L),
    "tree is damaged": Case("lost-objects", lambda r: spoil(loose(r, "HEAD:registry/decisions")), L),
    "tree of the tip is lost": Case("broken-branch", lambda r: loose(r, "HEAD^{tree}").unlink(), L),
    "pack is cut off": Case("broken-branch", _cut_pack, L),
    "old blob is lost": Case("lost-objects", lambda r: loose(r, f"HEAD~1:{entity_path(THREAD)}").unlink(), L),
    "commit of the tip is lost": Case("broken-branch", lambda r: loose(r, "HEAD").unlink(), L),
    "clone is shallow": Case(
        "shallow-clone", lambda r: (r / ".git/shallow").write_text(git(r, "rev-parse", "HEAD~2")), L
    ),
    "clone is partial": Case("partial-clone", lambda r: git(r, "config", "remote.o.promisor", "true"), L),
    "fsync is off": Case("fsync-off", lambda r: git(r, "config", "core.fsync", "none"), L),
    "config is garbage": Case("git", lambda r: (r / ".git/config").write_text("[[["), L),
    # files
    "entity is empty": Case("empty-file", lambda r: path_of(r, ROWS).write_bytes(b"")),
    "entity is zeros": Case("empty-file", lambda r: path_of(r, ROWS).write_bytes(bytes(300))),
    "entity is cut off": Case("truncated-file", lambda r: half(path_of(r, ROWS))),
    "entity is garbage": Case("unreadable-file", lambda r: path_of(r, ROWS).write_bytes(b"\xff\xfe")),
    "cut off and committed": Case("unreadable-file", committed(lambda r: half(path_of(r, ROWS))), F),
    "conflict markers": Case("conflict-markers", _markers, L),
    "archive deleted": Case("deleted-file", lambda r: _deleted(r, ARCHIVE)),
    "archive deleted, committed": Case("archive-deleted", committed(lambda r: _deleted(r, ARCHIVE)), F),
    "registry and archives deleted": Case("deleted-file", _emptied),
    "deleted though cited": Case("broken-reference", lambda r: _deleted(r, ROWS)),
    "deleted, committed, though cited": Case(
        "broken-reference", committed(lambda r: _deleted(r, ROWS, COLUMNS)), F
    ),
    "conversation deleted": Case("broken-reference", lambda r: _deleted(r, TALK)),
    "all decisions deleted": Case("broken-reference", lambda r: _deleted(r, ROWS, COLUMNS, LAYOUT)),
    "moved to another month": Case(
        "misplaced", lambda r: _move(r, ROWS, "registry/decisions/1999-01/{name}")
    ),
    "moved to no place": Case("misplaced", lambda r: _move(r, ROWS, "registry/drafts/{name}")),
    "moved, and committed": Case(
        "misplaced", committed(lambda r: _move(r, ROWS, "registry/decisions/1999-01/{name}")), F
    ),
    "renamed to another id": Case("misplaced", lambda r: _move(r, THREAD, f"{{folder}}/{LAYOUT.id}.md")),
    "id edited": Case(
        "misplaced", lambda r: edit(r, ROWS, f"\ndecision_id: {ROWS.id}", f"\ndecision_id: {LAYOUT.id[:-1]}0")
    ),
    "copied": Case("duplicate-id", lambda r: _copy(r, ROWS, "registry/decisions/1999-01/{name}"), L),
    "copied and edited": Case(
        "duplicate-id",
        lambda r: append(_copy(r, ROWS, "registry/decisions/1999-01/{name}"), "\nmore\n"),
        L,
    ),
    "twin by case": Case("twin", lambda r: _copy(r, ROWS, f"{{folder}}/{ROWS.id.upper()}.md"), L),
    "link in place of a file": Case("symlink", _linked_file),
    "link in place of a folder": Case("symlink", _linked_folder),
    "stray file": Case("stray-file", lambda r: (r / "registry/notes.txt").write_text("mine"), L),
    "archive edited": Case(
        "archive-changed", lambda r: edit(r, ARCHIVE, "The whole talk.", "Half the talk.")
    ),
    "archive edited, committed": Case(
        "archive-changed", committed(lambda r: edit(r, ARCHIVE, "The whole talk.", "Half of it.")), F
    ),
    "decision edited in place": Case(
        "edited-in-place", lambda r: edit(r, ROWS, "decision: Keep rows", "decision: Keep no rows"), L
    ),
    "circle of dependencies": Case("cycle", _circle, L),
    "revised by nothing": Case(
        "status-fields", lambda r: edit(r, ROWS, "status: active", "status: revised"), L
    ),
    "superseded by nobody": Case("broken-reference", _superseded, L),
    "another project's name": Case(
        "project-mismatch", lambda r: edit(r, ROWS, "project_name: Ledger", "project_name: Other"), L
    ),
    "id does not follow": Case("id-derivation", lambda r: add_line(r, ARCHIVE, "turn_range: [1, 9]")),
    "date to come": Case(
        "future-dates", lambda r: edit(r, ROWS, "last_validated: 2023", "last_validated: 2999"), L
    ),
    # settings and attributes
    "settings are garbage": Case("settings", lambda r: (r / SETTINGS).write_text("[[[")),
    "settings with a slip": Case("settings", lambda r: _settings(r, "budget", "bugdet")),
    "settings are gone": Case("settings-missing", lambda r: (r / SETTINGS).unlink()),
    "newer schema": Case("newer-schema", lambda r: _settings(r, "schema = 2", "schema = 3"), L),
    "attributes are gone": Case("attributes-lost", lambda r: (r / ATTRIBUTES).unlink()),
    "attributes are gone, committed": Case(
        "attributes-lost", committed(lambda r: (r / ATTRIBUTES).unlink()), F
    ),
    "attributes are gone, staged": Case("attributes-lost", lambda r: git(r, "rm", "--quiet", ATTRIBUTES)),
    "attributes are gone from the index": Case(
        "index-differs", lambda r: git(r, "rm", "--quiet", "--cached", ATTRIBUTES)
    ),
    "attributes are no longer committed": Case("attributes-uncommitted", _uncommitted_attributes, L),
    "attributes that rewrite": Case("attributes-harmful", _filter, L),
    "merge driver is not registered": Case(
        "driver-missing", lambda r: git(r, "config", "--unset", f"merge.{driver.NAME}.driver")
    ),
    "rules for the merge driver are gone": Case(
        "driver-missing", lambda r: (r / ".git/info/attributes").unlink()
    ),
    "hooks are not installed": Case(
        "hooks-missing", lambda r: (r / ".pre-commit-config.yaml").write_text("- id: forgekit-check\n"), L
    ),
    "model is not there": Case("model", lambda r: _settings(r, 'model = ""', 'model = "/nowhere"'), L),
    # cache
    "catalogue is garbage": Case("cache-damaged", lambda r: _catalogue(r).write_bytes(b"junk" * 999)),
    "catalogue is cut off": Case("cache-damaged", lambda r: half(_catalogue(r))),
    "vectors are garbage": Case(
        "cache-damaged", lambda r: (r / ".git/forgekit/vectors.sqlite").write_bytes(b"junk" * 999)
    ),
    "manifest without files": Case("cache-damaged", _manifest),
    "file in place of the cache": Case("cache-blocked", _blocked, L),
}
