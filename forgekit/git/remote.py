"""git, elsewhere: the repository that a branch is shared through, fetched from, joined with and pushed to.

The git program talks, since it knows everybody's transports and passwords. Which repository that is comes
from the clone's settings and is checked; no setting of the clone names a program that is run for it.

A file of an entity is merged by the meaning of its fields, whether or not a merge driver is registered;
any other file as git merges text. Where two commits have several merge bases, these are merged first, as
git does, so that two clones that merged each other's work at the same time agree.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pygit2
from pygit2.enums import FileMode, MergeFlag, SortMode

from forgekit.errors import FormatError, RemoteError, RepositoryError, StoreError
from forgekit.frozen import frozen
from forgekit.git.commits import write_tree
from forgekit.git.repository import Repository
from forgekit.ids import EntityId, is_id
from forgekit.merge.merge import MergedFile, merge_file
from forgekit.model.kinds import ENTITY_LIMIT, Kind, path_of
from forgekit.worktree.files import entity_of_path
from forgekit.worktree.roots import TOPS

_NAME = re.compile(r"\w[^\x00-\x20~^:?*\[\\\x7f]{0,200}")
_HELPER = re.compile(r"[A-Za-z0-9+.-]*::")
# Settings that name a program which a fetch or a push runs. In a person's own settings they are meant; in
# those of a folder that came from somewhere they may be a trap.
_PROGRAMS = re.compile(
    r"core\.(?:sshcommand|gitproxy|askpass|alternaterefscommand)|credential\.(?:.*\.)?helper"
    r"|remote\..*\.(?:vcs|uploadpack|receivepack)|gpg\.(?:.*\.)?program|gpg\.ssh\.defaultkeycommand"
)
# By itself git leaves objects that come singly unsynced; a merge of ours is to outlive a power failure.
_SHARED = (
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("-c", "fetch.fsckObjects=true", "-c", "core.fsync=committed"),
)
_TRANSPORTS = "file:git:http:https:ssh"
_DEEPEST = 20
_PLAIN = {FileMode.BLOB, FileMode.BLOB_EXECUTABLE}
_Entry = tuple[pygit2.Oid, FileMode] | None
_REVISING = ("decision revise", "decision edit", "check --fix")
"""The operations whose commits name a decision and its revision, one behind the other."""
_ENTITY = "Forgekit-Entity: "
_ENV = ("GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS")


@frozen(kw_only=True)
class Remote:
    """A branch of another repository.

    Attributes:
        name: as the clone calls the repository.
        branch: its name there, without `refs/heads/`.
    """

    name: str
    branch: str

    def __str__(self) -> str:
        return f"{self.name}/{self.branch}"


def upstream(repository: Repository) -> Remote:
    """Return what the current branch is shared through: its upstream, else the same branch of `origin`.

    Raises RemoteError with what to type where there is none, or one that is not to be trusted.
    """
    ref = repository.head().ref
    if not ref.startswith("refs/heads/"):
        raise RemoteError("no branch is checked out; `git switch` to the one to be shared")
    branch = ref.removeprefix("refs/heads/")
    name = _setting(repository, f"branch.{branch}.remote") or "origin"
    there = _setting(repository, f"branch.{branch}.merge").removeprefix("refs/heads/") or branch
    urls = [_setting(repository, f"remote.{name}.{key}") for key in ("url", "pushurl")]
    if not urls[0]:
        raise RemoteError(
            f"there is no remote {name!r} to share {branch} through; `git remote add origin URL` names one"
        )
    if not _NAME.fullmatch(name) or not _NAME.fullmatch(there):
        raise RemoteError(f"{name!r} or {there!r} is no name of a remote and a branch; see `.git/config`")
    for url in urls:
        if url.startswith("-") or _HELPER.match(url):
            raise RemoteError(f"{url!r} would run a program; give remote {name} the address of a repository")
    # git lists them itself: it includes files (`includeIf "hasconfig:..."`) that libgit2 does not know of.
    listed = repository.run("config", "--list", "--show-scope", "--name-only", "-z")
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        if scope in {"local", "worktree"} and _PROGRAMS.fullmatch(setting):
            raise RemoteError(
                f"{setting} in this clone's .git/config names a program to run; if you trust it, move it to "
                "your own settings (`git config --global`), else delete it (`git config --unset`)"
            )
    return Remote(name=name, branch=there)


def fetch(repository: Repository, remote: Remote) -> str | None:
    """Fetch the branch and return its tip, or None where the other repository has no such branch yet.

    Raises RemoteError when the repository cannot be reached.
    """
    head, tracking = f"refs/heads/{remote.branch}", f"refs/remotes/{remote.name}/{remote.branch}"
    options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
    program = "--upload-pack=git-upload-pack"
    done = _run(
        repository, "fetch", *options, program, "--end-of-options", remote.name, f"+{head}:{tracking}"
    )
    if done.returncode and b"couldn't find remote ref" in done.stderr:
        return None
    _require_done(remote, done)
    return str(repository.raw.lookup_reference(tracking).target)


def push(repository: Repository, remote: Remote, commit: str) -> None:
    """Make a commit the tip of the branch there; never against what the branch holds.

    Raises RemoteError when the repository cannot be reached or refuses.
    """
    options = ("--quiet", "--no-recurse-submodules", "--receive-pack=git-receive-pack")
    refs = f"{commit}:refs/heads/{remote.branch}"
    _require_done(remote, _run(repository, "push", *options, "--end-of-options", remote.name, refs))


def _run(repository: Repository, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    kept = {name: os.environ[name] for name in _ENV if name in os.environ}
    env = {"LC_ALL": "C", "GIT_ALLOW_PROTOCOL": _TRANSPORTS, **kept}
    return repository.attempt(*_SHARED, *arguments, env=env)


def _require_done(remote: Remote, done: subprocess.CompletedProcess[bytes]) -> None:
    if not done.returncode:
        return
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:", " !", "remote:"))]
    reason = " ".join((telling or lines or ["no reason given"])[0].split())
    raise RemoteError(
        f"{remote} cannot be reached or refuses: {reason}; nothing is lost here, "
        "run `forgekit sync` again when it can be"
    )


def _setting(repository: Repository, key: str) -> str:
    try:
        return str(repository.raw.config[key])
    except (KeyError, ValueError, pygit2.GitError):
        return ""


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


def merges(
    repository: Repository, tip: str, without: Iterable[str], folder: str = ""
) -> list[tuple[str | None, str, str]]:
    """Return the merges that a tip holds and others do not, the oldest first: a merge base, ours, theirs.

    Args:
        folder: only those that made of it what no side had; "" for all.
    """
    return [
        _merge_of(repository, str(commit.parent_ids[0]), str(other))
        for commit in _history(repository, tip, without)
        if len(commit.parent_ids) > 1 and not (folder and _taken_over(repository, commit, folder))
        for other in commit.parent_ids[1:]
    ]


def merge_under_way(repository: Repository) -> list[tuple[str | None, str, str]]:
    """Return what a merge that is not committed yet joins, as `merges` does."""
    try:
        others = (repository.git_dir / "MERGE_HEAD").read_text("ascii").split()
    except (OSError, ValueError):
        return []
    tip = repository.tip()
    return [_merge_of(repository, tip, other) for other in others if tip and other in repository.raw]


def _merge_of(repository: Repository, ours: str, theirs: str) -> tuple[str | None, str, str]:
    return next(iter(merge_bases(repository.raw, ours, theirs)), None), ours, theirs


def _taken_over(repository: Repository, commit: pygit2.Commit, folder: str) -> bool:
    """Say whether a merge has a folder as one of its sides has it."""
    made, *sides = (_entry(each.tree, repository.prefix + folder) for each in (commit, *commit.parents))
    return made in sides


def commits_with(repository: Repository, tip: str, without: Iterable[str], line: str) -> list[str]:
    """Return the commits that a tip holds and others do not, and whose message holds a line."""
    found = _history(repository, tip, without)
    return [str(commit.id) for commit in found if line.encode() in commit.raw_message.splitlines()]


def revisions(
    repository: Repository, tip: str, without: Iterable[str]
) -> Iterator[tuple[EntityId, EntityId]]:
    """Yield the decisions that commits of forgekit revised, and the revision that each commit added.

    Args:
        without: commits that are left out, with their ancestors.
    """
    for commit in _history(repository, tip, without):
        lines = commit.raw_message.decode("utf-8", "replace").splitlines()
        if not any(f"Forgekit-Op: {operation}" in lines for operation in _REVISING):
            continue
        named = (line.removeprefix(_ENTITY) for line in lines if line.startswith(_ENTITY))
        keys = iter([EntityId(key) for key in named if is_id(key)])
        for pair in zip(keys, keys, strict=False):
            places = (repository.prefix + path_of(Kind.DECISION, key) for key in pair)
            known = [bool(commit.parents) and place in commit.parents[0].tree for place in places]
            if known[0] != known[1]:
                yield pair if known[0] else pair[::-1]


class UnsentFile(NamedTuple):
    """A file that a commit changes: its path below the registry's root, and its blobs; None for no file."""

    commit: str
    path: str
    before: str | None
    blob: str | None


def unsent(repository: Repository, tip: str, without: Iterable[str], line: str) -> Iterator[UnsentFile]:
    """Yield what the commits that a tip alone holds change in the registry.

    Left out are commits with a line in their message that were not amended since, and what a merge has from
    one of its parents.
    """
    for commit in _history(repository, tip, without):
        marked = any(each.startswith(line.encode()) for each in commit.raw_message.splitlines())
        if marked and commit.author.time == commit.committer.time:
            continue
        trees = [parent.tree for parent in commit.parents]
        delta_of = trees[0].diff_to_tree(commit.tree) if trees else commit.tree.diff_to_tree(swap=True)
        for delta in delta_of.deltas:
            path = delta.new_file.path
            old, new = (_entry(trees[0], path) if trees else None), _entry(commit.tree, path)
            others = [_entry(tree, path) for tree in trees[1:]]
            if path.startswith(tuple(f"{repository.prefix}{top}/" for top in TOPS)) and new not in others:
                blobs = (str(each[0]) if each and each[1] in _PLAIN else None for each in (old, new))
                yield UnsentFile(str(commit.id), path.removeprefix(repository.prefix), *blobs)


def _history(repository: Repository, tip: str, without: Iterable[str]) -> Iterator[pygit2.Commit]:
    try:
        walk = repository.raw.walk(tip, SortMode.TOPOLOGICAL | SortMode.REVERSE)
        for commit in without:
            walk.hide(commit)
        yield from walk
    except (KeyError, ValueError, pygit2.GitError) as e:
        raise StoreError(f"the history cannot be read: {e}") from None


def join(repository: Repository, ours: str, theirs: str) -> Joined:
    """Join what a commit holds into another; raises RepositoryError when the two have no commit in common."""
    if repository.holds(ours, theirs):
        base = repository.tree(ours)
    else:
        base = _base(repository, ours, theirs, _DEEPEST)
    if base is None:
        raise RepositoryError(
            "this clone holds the last commits only, and none in common; `git fetch --unshallow`, then sync"
            if repository.raw.is_shallow
            else "the two histories have no commit in common: this is another registry; "
            "look at `git remote -v`"
        )
    return _joined(repository, base, *(repository.raw[each].peel(pygit2.Tree) for each in (ours, theirs)))


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
    """Join what led from a tree to theirs into ours."""
    out, by_lines = Joined(), []
    for delta in base.diff_to_tree(theirs).deltas:
        path = delta.new_file.path
        entries = [_entry(base, path), _entry(ours, path), _entry(theirs, path)]
        before, here, there = entries
        if there == here:
            continue
        current = here or before
        if (above := _file_above(ours, path)) or FileMode.TREE in {e[1] for e in (here, there) if e}:
            out.refused[above or path] = "is a file on one side and a folder on the other"
        elif any(entry[1] not in _PLAIN for entry in (here, there) if entry):
            out.refused[path] = "is no plain file"
        elif there and current and there[1] != current[1]:
            out.refused[path] = "was made executable, or no longer is"
        elif here != before and entity_of_path(path.removeprefix(repository.prefix)) is None:
            by_lines.append(path)
        elif any(
            entry and repository.raw[entry[0]].peel(pygit2.Blob).size > ENTITY_LIMIT for entry in entries
        ):
            out.refused[path] = f"is longer than {ENTITY_LIMIT:,} bytes"
        else:
            _take(repository, path, entries, out)
    if by_lines:
        _merge_lines(repository, (base, ours, theirs), by_lines, out)
    return out


def _entry(tree: pygit2.Tree, path: str) -> _Entry:
    """Return id and mode of what a tree has at a path, or None."""
    found = tree[path] if path and path in tree else None
    return None if found is None else (found.id, found.filemode)


def _file_above(tree: pygit2.Tree, path: str) -> str:
    """Return the path of the file that a tree has where a path needs a folder, or ""."""
    folder = path.rpartition("/")[0]
    entry = _entry(tree, folder)
    if not folder or entry is None:
        return folder and _file_above(tree, folder)
    return "" if entry[1] == FileMode.TREE else folder


def _take(repository: Repository, path: str, entries: list[_Entry], out: Joined) -> None:
    """Take theirs where ours is unchanged; else merge an entity's file by its fields."""
    base, ours, theirs = (entry and repository.read_blob(str(entry[0])) for entry in entries)
    owner = entity_of_path(path.removeprefix(repository.prefix))
    if entries[0] == entries[1] or owner is None:
        out.files[path] = theirs
        if entries[0] is None and entries[2] and entries[2][1] == FileMode.BLOB_EXECUTABLE:
            out.executable.add(path)
        return
    try:
        merged = merge_file(*owner, base, ours, theirs)
    except FormatError as e:
        out.refused[path] = str(e)
        return
    out.merged[path] = merged
    if merged.data != ours:
        out.files[path] = merged.data


def _merge_lines(
    repository: Repository, trees: tuple[pygit2.Tree, pygit2.Tree, pygit2.Tree], paths: list[str], out: Joined
) -> None:
    """Merge other files as git merges text."""
    index = repository.raw.merge_trees(*trees, flags=MergeFlag(0))
    clashing = {entry.path for entries in index.conflicts or () for entry in entries if entry is not None}
    for path in paths:
        if path in clashing:
            out.refused[path] = "was changed on both sides"
        else:
            out.files[path] = repository.read_blob(str(index[path].id)) if path in index else None
