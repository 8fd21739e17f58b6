"""git: what two branches changed apart from each other, joined file by file.

A file of an entity is merged by the meaning of its fields, whether or not a merge driver is registered;
any other file as git merges text. Where two commits have several merge bases, these are merged first, as
git does, so that two clones that merged each other's work at the same time agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pygit2
from pygit2.enums import FileMode, MergeFlag, RepositoryState, SortMode

from forgekit.errors import FormatError, RepositoryError
from forgekit.git.commits import write_tree
from forgekit.git.repository import Repository
from forgekit.ids import EntityId
from forgekit.merge.merge import MergedFile, merge_file
from forgekit.model.kinds import Kind
from forgekit.text.frontmatter import ENTITY_LIMIT
from forgekit.worktree.files import entity_of_path

_DEEPEST = 20
_PLAIN = {FileMode.BLOB, FileMode.BLOB_EXECUTABLE}


class TreeEntry(NamedTuple):
    """One file in a tree."""

    blob: str
    mode: int


class Triple(NamedTuple):
    """One path in three trees; None for no file."""

    path: str
    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None


@dataclass(slots=True)
class Joined:
    """The result of joining two trees.

    Attributes:
        files: path -> bytes, or None for no file, wherever the result differs from ours.
        merged: the entity files that both sides changed.
        refused: path -> why only a person can merge it.
        executable: the files that come in and are executable.
    """

    files: dict[str, bytes | None] = field(default_factory=dict)
    merged: dict[str, MergedFile] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    executable: set[str] = field(default_factory=set)


def is_midway(repository: Repository) -> bool:
    """Say whether a merge, rebase or the like was begun and not ended."""
    return bool(repository.raw.state() != RepositoryState.NONE)


def holds(repository: Repository, commit: str, other: str) -> bool:
    """Say whether a commit is another, or comes after it."""
    return commit == other or bool(repository.raw.descendant_of(commit, other))


class Merge(NamedTuple):
    """Two commits that a third has joined, and one of those from which they went apart."""

    base: str | None
    ours: str
    theirs: str


def merges(repository: Repository, tip: str, without: Iterable[str]) -> list[Merge]:
    """Return the merges that a tip holds and others do not, the oldest first."""
    return [
        Merge(next(iter(merge_bases(repository.raw, ours, theirs)), None), ours, theirs)
        for commit in _history(repository, tip, without)
        for ours, theirs in ((str(commit.parent_ids[0]), str(other)) for other in commit.parent_ids[1:])
    ]


def commits_with(repository: Repository, tip: str, without: Iterable[str], line: str) -> list[str]:
    """Return the commits that a tip holds and others do not, and whose message holds a line."""
    found = _history(repository, tip, without)
    return [str(commit.id) for commit in found if line.encode() in commit.raw_message.splitlines()]


def _history(repository: Repository, tip: str, without: Iterable[str]) -> Iterable[pygit2.Commit]:
    walk = repository.raw.walk(tip, SortMode.TOPOLOGICAL | SortMode.REVERSE)
    for commit in without:
        walk.hide(commit)
    return walk


def join(repository: Repository, ours: str, theirs: str) -> Joined:
    """Join what a commit holds into another.

    Raises RepositoryError when the two have no commit in common.
    """
    base = _base(repository, ours, theirs, _DEEPEST)
    if base is None:
        raise RepositoryError(
            "this clone holds the last commits only, and none in common; `git fetch --unshallow`, then sync"
            if repository.raw.is_shallow
            else "the two histories have no commit in common: this is another registry; "
            "look at `git remote -v`"
        )
    trees = [repository.raw[commit].peel(pygit2.Tree) for commit in (ours, theirs)]
    return _joined(repository, base, *trees)


def difference(repository: Repository, ours: str, theirs: str) -> Joined:
    """Return what leads from one commit's files to those of its descendant."""
    trees = [repository.raw[commit].peel(pygit2.Tree) for commit in (ours, theirs)]
    return _joined(repository, trees[0], *trees)


def _base(repository: Repository, one: str, other: str, deepest: int) -> pygit2.Tree | None:
    """Return the tree that two commits have in common: of several merge bases, their merge."""
    raw = repository.raw
    first, *more = merge_bases(raw, one, other) or (None,)
    if first is None:
        return None
    tree = raw[first].peel(pygit2.Tree)
    for commit in more if deepest else ():
        common = _base(repository, first, commit, deepest - 1)
        if common is not None:
            side = raw[commit].peel(pygit2.Tree)
            joined = _joined(repository, common, tree, side)
            tree = raw[write_tree(repository, tree, joined.files, joined.executable)].peel(pygit2.Tree)
    return tree


def merge_bases(raw: pygit2.Repository, one: str, other: str) -> list[str]:
    """Return all merge bases of two commits, sorted; libgit2 finds one, and so where to stop."""
    best = raw.merge_base(one, other)
    if best is None:
        return []
    reached = []
    for tip in (one, other):
        walk = raw.walk(tip)
        walk.hide(best)
        reached.append({commit.id: commit.parent_ids for commit in walk})
    common = reached[0].keys() & reached[1].keys()
    lower = {parent for commit in common for parent in reached[0][commit]}
    return sorted(str(commit) for commit in {best, *common} - lower)


def _joined(repository: Repository, base: pygit2.Tree, ours: pygit2.Tree, theirs: pygit2.Tree) -> Joined:
    out = Joined()
    by_lines: list[Triple] = []
    for triple in _moved(base, ours, theirs):
        owner = entity_of_path(triple.path.removeprefix(repository.prefix))
        standing = triple.ours or triple.base
        if standing is None and triple.theirs and triple.theirs.mode == FileMode.BLOB_EXECUTABLE:
            out.executable.add(triple.path)
        if any(entry is not None and entry.mode == FileMode.TREE for entry in triple[2:]):
            out.refused[triple.path] = "is a file on one side and a folder on the other"
        elif any(entry is not None and entry.mode not in _PLAIN for entry in triple[2:]):
            out.refused[triple.path] = "is no plain file"
        elif triple.theirs and standing and triple.theirs.mode != standing.mode:
            out.refused[triple.path] = "was made executable, or no longer is"
        elif triple.ours == triple.base:
            data = _read(repository, triple.theirs, triple.path, out)
            if triple.path not in out.refused:
                out.files[triple.path] = data
        elif owner is not None:
            _merge_entity(repository, owner, triple, out)
        else:
            by_lines.append(triple)
    if by_lines:
        _merge_lines(repository, (base, ours, theirs), by_lines, out)
    return out


def _merge_entity(repository: Repository, owner: tuple[Kind, EntityId], triple: Triple, out: Joined) -> None:
    base, ours, theirs = (_read(repository, entry, triple.path, out) for entry in triple[1:])
    if triple.path in out.refused:
        return
    try:
        merged = merge_file(*owner, base, ours, theirs)
    except FormatError as e:
        out.refused[triple.path] = str(e)
        return
    out.merged[triple.path] = merged
    if merged.data != ours:
        out.files[triple.path] = merged.data


def _merge_lines(
    repository: Repository,
    trees: tuple[pygit2.Tree, pygit2.Tree, pygit2.Tree],
    triples: list[Triple],
    out: Joined,
) -> None:
    """Merge other files as git merges text."""
    index = repository.raw.merge_trees(*trees, flags=MergeFlag(0))
    clashing = {entry.path for entries in index.conflicts or () for entry in entries if entry is not None}
    for triple in triples:
        if triple.path in clashing:
            out.refused[triple.path] = "was changed on both sides"
            continue
        try:
            found = index[triple.path]
        except KeyError:
            out.files[triple.path] = None
        else:
            out.files[triple.path] = repository.read_blob(str(found.id))


def _read(repository: Repository, entry: TreeEntry | None, path: str, out: Joined) -> bytes | None:
    if entry is None:
        return None
    if repository.raw[entry.blob].peel(pygit2.Blob).size > ENTITY_LIMIT:
        out.refused[path] = f"is longer than {ENTITY_LIMIT:,} bytes"
        return b""
    return repository.read_blob(entry.blob)


def _moved(
    base: pygit2.Tree | None, ours: pygit2.Tree | None, theirs: pygit2.Tree | None, folder: str = ""
) -> Iterator[Triple]:
    """Yield the paths that theirs changed and that ours has not changed in the same way."""
    trees = (base, ours, theirs)
    names = sorted({entry.name or "" for tree in (base, theirs) if tree is not None for entry in tree})
    for name in names:
        found = [tree[name] if tree is not None and name in tree else None for tree in trees]
        ids = [None if entry is None else (entry.id, entry.filemode) for entry in found]
        if ids[2] in ids[:2]:
            continue
        path = f"{folder}{name}"
        entries = [None if entry is None else TreeEntry(str(entry.id), entry.filemode) for entry in found]
        below = [entry if isinstance(entry, pygit2.Tree) else None for entry in found]
        files = [None if tree is not None else entry for entry, tree in zip(entries, below, strict=True)]
        if (files[1] and below[2]) or (below[1] and files[2]):
            yield Triple(path, files[0], entries[1], entries[2])
            continue
        if files[2] not in files[:2]:
            yield Triple(path, *files)
        if any(below):
            yield from _moved(below[0], below[1], below[2], f"{path}/")
