"""Share the registry: fetch, merge, push.

The merge runs in this process: it needs no merge driver and runs no hook. Where both sides changed a field in
different ways, both values are committed and reported for a person to choose. No branch is ever forced; when
another clone pushed first, its commits are merged too.

After a merge the archives of both sides are folded together (`sharing.refold`), for each merge since the tip
up to which this clone has done so: of an interrupted sync, or made by git itself. A commit of a sync that the
other repository holds shows that the merges before it were folded.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from forgekit.errors import ForgeError, FormatError, RemoteError, RepositoryError, WriteError
from forgekit.forge import Forge
from forgekit.git.commits import build_commit, message_of
from forgekit.git.merge_commits import (
    Joined,
    Merge,
    commits_with,
    difference,
    holds,
    is_midway,
    join,
    merges,
)
from forgekit.git.remote import Remote, fetch, push, upstream
from forgekit.git.repository import Repository
from forgekit.ids import EntityId, pair_id
from forgekit.merge.conflicting_edits import FieldConflict
from forgekit.merge.merge import MergedFile
from forgekit.merge.revisions import SUCCESSORS, completed, recorded, reinstated
from forgekit.model.entities import Conflict, Decision, Entity, entity_path
from forgekit.model.graph import Graph, cycles
from forgekit.model.kinds import Kind, path_of
from forgekit.model.problem import Problem
from forgekit.sharing.refold import MergedSides, refold
from forgekit.store import Change, Outcome
from forgekit.text import codec
from forgekit.text.edit import update
from forgekit.text.frontmatter import conflict_marker, decode
from forgekit.worktree import files

ATTEMPTS = 20
_PAUSE_SECONDS = 0.05
_SUBJECT = "sync: merge another clone"
_OP = ("Forgekit-Op", "sync")
_FOLDED_UP_TO = "forgekit/read-together"
"""File in the git directory with the tip up to which all merges are folded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileConflict:
    """A field of one file that both sides changed; the path is relative to the registry's root."""

    path: str
    found: FieldConflict


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """The result of a sync, or on a dry run what it would be.

    Attributes:
        commit: the local tip afterwards; None in a registry without commits.
        received: paths that came in or were merged.
        sent: whether anything was pushed.
        diff: unified; on a dry run only.
        conflicts: fields for a person to choose.
        outlived: ends and times that a merge rule overrode; the history holds them.
        rivals: conflicts between decisions that were revised in two clones.
    """

    remote: Remote
    commit: str | None
    received: tuple[str, ...]
    sent: bool
    diff: str
    conflicts: tuple[FileConflict, ...]
    outlived: tuple[FileConflict, ...]
    rivals: tuple[Conflict, ...]


@dataclass(kw_only=True, slots=True)
class Plan:
    """The merge of one commit.

    Attributes:
        commit: the tip that holds both.
        joined: what differs from our files.
        rivals: by id.
    """

    commit: str
    joined: Joined = field(default_factory=Joined)
    rivals: dict[EntityId, Conflict] = field(default_factory=dict)


def sync(forge: Forge, *, dry_run: bool = False) -> Synced:
    """Fetch the branch, merge it, and push the result; on a dry run only fetch.

    Raises RemoteError, RepositoryError where a person has to merge first, DirtyFileError; then nothing was
    merged, or the merge is committed here and was not pushed.
    """
    repository = forge.store.repository
    _require_ready(forge, repository)
    remote = upstream(repository)
    outcomes: list[Outcome] = []
    theirs = fetch(repository, remote)
    for attempt in range(ATTEMPTS):
        if theirs is not None:
            outcomes.append(_merge(forge, theirs, dry_run=dry_run))
        if not dry_run:
            outcomes += _refold_merges(forge, theirs)
        tip = repository.tip()
        sent = tip is not None and theirs != tip
        if not sent or dry_run or tip is None:
            break
        try:
            push(repository, remote, tip)
            break
        except RemoteError:
            # Another clone may have pushed first; if the remote has not moved, it is an error.
            before, theirs = theirs, _fetch_change(repository, remote, theirs)
            if theirs == before or attempt == ATTEMPTS - 1:
                raise
    return _report(remote, repository.tip(), outcomes, sent=sent)


def _fetch_change(repository: Repository, remote: Remote, before: str | None) -> str | None:
    """Fetch until the tip differs, a few times: the other clone may still hold the branch's lock."""
    found = fetch(repository, remote)
    for _ in range(3):
        if found != before:
            break
        time.sleep(_PAUSE_SECONDS)
        found = fetch(repository, remote)
    return found


def _require_ready(forge: Forge, repository: Repository) -> None:
    """Raise RepositoryError where a merge would build on something unfinished."""
    if repository.root != repository.top:
        raise RepositoryError(
            f"the registry is a part of the repository at {repository.top}; use `git pull` and `git push` "
            "there: with the merge driver (`forgekit init`) they merge its files as `sync` would"
        )
    if is_midway(repository):
        raise RepositoryError("a merge, rebase or bisect is under way; end it (see `git status`), then sync")
    marked = [problem for problem in forge.registry().problems if _is_marked(repository, problem)]
    if marked:
        places = ", ".join(f"{p.path}:{p.line}" for p in marked)
        raise RepositoryError(
            f"there are conflict markers of an earlier merge in {places}; choose a side, commit, sync"
        )


def _is_marked(repository: Repository, problem: Problem) -> bool:
    """Say whether a file cannot be read because of a merge's conflict markers."""
    if problem.line is None:
        return False
    try:
        data = files.read_bytes(repository.root, problem.path) or b""
        return conflict_marker(decode(data)) == problem.line
    except FormatError:
        return False


def _refold_merges(forge: Forge, theirs: str | None) -> list[Outcome]:
    """Fold each merge that nobody has folded yet, until there is none."""
    repository, outcomes = forge.store.repository, list[Outcome]()
    done = noted = _folded_up_to(repository)
    while (tip := repository.tip()) is not None and tip != done:
        known = [] if done is None else [done]
        if theirs is not None:
            known += commits_with(repository, theirs, known, ": ".join(_OP))
        for merge in merges(repository, tip, known):
            sides = _sides(repository, merge)
            if sides.revised or (sides.here and sides.there):
                outcomes.append(refold(forge, sides))
        done = tip
    if done is not None and done != noted:
        with contextlib.suppress(WriteError):  # without the note they are folded again, which changes nothing
            files.stage(repository.common_dir, _FOLDED_UP_TO, done.encode(), done)
            files.place(repository.common_dir, _FOLDED_UP_TO, done)
    return outcomes


def _folded_up_to(repository: Repository) -> str | None:
    """Return the noted commit, if the branch still holds it."""
    try:
        noted = files.read_bytes(repository.common_dir, _FOLDED_UP_TO) or b""
        commit = repository.resolve(noted.decode("ascii", "replace"))
    except ForgeError:
        return None
    return commit if repository.holds(commit) else None


def _sides(repository: Repository, merge: Merge) -> MergedSides:
    base, here, there = (repository.blobs(commit) for commit in (merge.base, merge.ours, merge.theirs))
    revised = {}
    for path in here.keys() & there.keys():
        blobs = [side.get(path) for side in (base, here, there)]
        if (key := _id_of(path, Kind.DECISION)) is not None and len({*blobs}) == len(blobs):
            before, *given = (_successor(repository, path, blob) for blob in blobs)
            revised[key] = frozenset(one for one in given if one is not None) - {before}
    return MergedSides(_sources(here.keys() - there.keys()), _sources(there.keys() - here.keys()), revised)


def _sources(paths: Iterable[str]) -> frozenset[EntityId]:
    """Return the archives, conversations and decisions among files."""
    owners = filter(None, map(files.entity_of_path, paths))
    return frozenset(key for kind, key in owners if kind in {Kind.ARCHIVE, Kind.CONVERSATION, Kind.DECISION})


def _id_of(path: str, kind: Kind) -> EntityId | None:
    """Return the id of a file's entity, None if it is of another kind."""
    owner = files.entity_of_path(path)
    return owner[1] if owner is not None and owner[0] is kind else None


def _successor(repository: Repository, path: str, blob: str | None) -> EntityId | None:
    entity = None if blob is None else _parsed(path, repository.read_blob(blob))
    return entity.superseded_by if isinstance(entity, Decision) else None


def _parsed(path: str, data: bytes) -> Entity | None:
    try:
        return files.parse(path, data)[0]
    except FormatError:
        return None


def _merge(forge: Forge, theirs: str, *, dry_run: bool) -> Outcome:
    """Make the tip hold a commit that was fetched."""
    repository = forge.store.repository

    def decide() -> Change:
        ours = repository.tip()
        if ours is None:
            raise RepositoryError("there is no commit here yet; `git pull` first, or clone the registry")
        plan = bring_together(repository, ours, theirs)
        return Change(
            files=plan.joined.files,
            executable=plan.joined.executable,
            commit=plan.commit,
            subject=_SUBJECT,
            result=plan,
        )

    return forge.store.commit(decide, dry_run=dry_run)


def bring_together(repository: Repository, ours: str, theirs: str) -> Plan:
    """Store a commit that holds what two hold, where neither holds the other; no branch names it yet.

    Raises RepositoryError where a person has to merge.
    """
    if holds(repository, ours, theirs):
        return Plan(commit=ours)
    ahead = holds(repository, theirs, ours)
    joined = difference(repository, ours, theirs) if ahead else join(repository, ours, theirs)
    plan = Plan(commit=theirs, joined=joined)
    if joined.refused:
        named = "; ".join(f"{path} {why}" for path, why in sorted(joined.refused.items()))
        raise RepositoryError(
            f"these need a person: {named}; run `git merge` with the fetched branch, fix them, commit, "
            "and sync again"
        )
    if not ahead:
        merged = _MergedRegistry(repository, ours, plan)
        merged.record_rivals()
        merged.complete_rivals()
        merged.break_cycles()
        message = message_of(_SUBJECT, [_OP])
        plan.commit = build_commit(
            repository, ours, joined.files, message, merged=theirs, executable=joined.executable
        )
    return plan


class _MergedRegistry:
    """The files of a merge before they are committed.

    Args:
        repository: where our files are.
        ours: our commit.
        plan: the merge, which the methods complete.
    """

    def __init__(self, repository: Repository, ours: str, plan: Plan) -> None:
        self._repository = repository
        self._ours = ours
        self._plan = plan
        self._joined = plan.joined

    def get(self, key: EntityId, kind: Kind = Kind.DECISION, /) -> Entity | None:
        """Return an entity, or None."""
        path = path_of(kind, key)
        data = self._data(path)
        return None if data is None else _parsed(path, data)

    def _data(self, path: str) -> bytes | None:
        if path in self._joined.files:
            return self._joined.files[path]
        blob = self._repository.blob_id(self._ours, path)
        return None if blob is None else self._repository.read_blob(blob)

    def _changed(self, kind: Kind) -> Iterator[tuple[EntityId, str, bytes]]:
        """Yield the files of a kind that differ from ours."""
        for path, data in list(self._joined.files.items()):
            if data is not None and (key := _id_of(path, kind)) is not None:
                yield key, path, data

    def _rewrite(self, path: str, data: bytes, decision: Decision, note: MergedFile) -> None:
        self._joined.files[path] = update(decode(data), decision).encode()
        self._joined.merged[path] = note

    def _add(self, rivals: Iterable[Conflict]) -> None:
        for conflict in rivals:
            if self.get(conflict.id, Kind.CONFLICT) is None:
                self._plan.rivals[conflict.id] = conflict
                self._joined.files[entity_path(conflict)] = codec.dumps(conflict).encode()

    def record_rivals(self) -> None:
        """Turn the successors that clones gave to one decision into conflicts between them."""
        for path, merged in list(self._joined.merged.items()):
            key = _id_of(path, Kind.DECISION)
            old = self.get(key) if key is not None and merged.conflicts else None
            if not isinstance(old, Decision) or merged.data is None:
                continue
            decision, rivals = recorded(old, self.get)
            if rivals:
                others = tuple(c for c in merged.conflicts if c.field not in SUCCESSORS)
                self._rewrite(path, merged.data, decision, replace(merged, conflicts=others))
                self._add(rivals)

    def complete_rivals(self) -> None:
        """Add the conflicts between revisions of which each side knew another one."""
        coming = {key for key, _, _ in self._changed(Kind.CONFLICT)}
        if coming:
            ours = (_id_of(path, Kind.CONFLICT) for path in self._repository.blobs(self._ours))
            known = (self.get(key, Kind.CONFLICT) for key in coming | {*filter(None, ours)})
            self._add(completed((one for one in known if isinstance(one, Conflict)), self.get))

    def break_cycles(self) -> None:
        """Make one decision active again where clones made decisions each other's successor.

        It is the one that a conflict between them keeps, else the smallest; its end becomes a conflicting
        edit.
        """
        successors: dict[EntityId, EntityId] = {}
        # A merge may bring thousands of decisions, so only those that name a successor are parsed.
        todo = [key for key, _, data in self._changed(Kind.DECISION) if b"superseded_by" in data]
        while todo:
            key = todo.pop()
            one = self.get(key) if key not in successors else None
            if isinstance(one, Decision) and one.superseded_by is not None:
                successors[key] = one.superseded_by
                todo.append(one.superseded_by)
        for cycle in cycles(Graph.of(successors.items())):
            known = (self.get(pair_id(key, successors[key]), Kind.CONFLICT) for key in cycle)
            kept = {one.kept for one in known if isinstance(one, Conflict)}
            ended = self.get(next((key for key in cycle if key in kept), cycle[0]))
            assert isinstance(ended, Decision)  # noqa: S101 - it names a successor
            path = entity_path(ended)
            data = self._data(path)
            assert data is not None  # noqa: S101 - as above
            decision, lost = reinstated(ended)
            merged = self._joined.merged.get(path) or MergedFile(data=data)
            note = replace(merged, conflicts=(*merged.conflicts, *lost))
            self._rewrite(path, data, decision, note)


def _report(remote: Remote, tip: str | None, outcomes: list[Outcome], *, sent: bool) -> Synced:
    results = [outcome.change.result for outcome in outcomes]
    plans = [result for result in results if isinstance(result, Plan)]
    merged = [(path, file) for plan in plans for path, file in plan.joined.merged.items()]
    found = [one for result in results if isinstance(result, tuple) for one in result]
    rivals = {one.id: one for one in (*(r for plan in plans for r in plan.rivals.values()), *found)}
    received = {path for outcome in outcomes for path in (*outcome.written, *outcome.deleted)}
    return Synced(
        remote=remote,
        commit=tip,
        received=tuple(sorted(received)),
        sent=sent,
        diff="".join(outcome.diff for outcome in outcomes),
        conflicts=tuple(
            FileConflict(path=path, found=one) for path, file in merged for one in file.conflicts
        ),
        outlived=tuple(
            FileConflict(path=path, found=one) for path, file in merged for one in file.overridden
        ),
        rivals=tuple(rivals[key] for key in sorted(rivals)),
    )
