"""Share the registry: fetch, merge, push.

The merge is that of `git.merging`, in this process: it needs no merge driver and runs no hook. What both
sides changed in different ways is committed with both values, and named; it is a person's to choose. The
branch is never forced, here or there: when somebody else was first, theirs is merged too.

What a merge brings together is then read together (`loop.rejoining`): of each merge since the tip at which
this clone last did so, be it an earlier sync's that was ended in between or git's own. A commit of a sync
that the other repository holds vouches for the merges before it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

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
from forgekit.merge.files import MergedFile
from forgekit.merge.revisions import SUCCESSORS, completed, recorded, reinstated
from forgekit.merge.rules import FieldConflict
from forgekit.model.conflict import Conflict
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity, entity_path
from forgekit.model.graph import Graph, cycles
from forgekit.model.kinds import Kind, path_of
from forgekit.model.problem import Problem
from forgekit.sharing.refold import Apart, Rejoined, rejoin
from forgekit.store import Change, Outcome
from forgekit.text import codec
from forgekit.text.edit import update
from forgekit.text.frontmatter import conflict_marker, decode
from forgekit.worktree import files

ATTEMPTS = 20
_PAUSE_SECONDS = 0.05
_SUBJECT = "sync: merge another clone"
_OP = ("Forgekit-Op", "sync")
_READ = "forgekit/read-together"
_COMPARED = frozenset({Kind.ARCHIVE, Kind.CONVERSATION, Kind.DECISION})


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncReport:
    """One thing about one file that a person should know.

    Attributes:
        path: relative to the registry's root.
        found: what stands and what does not.
    """

    path: str
    found: FieldConflict


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """What a sync did, or on a dry run would do.

    Attributes:
        remote: what the branch is shared through.
        commit: the tip here afterwards; None in a registry without commits.
        received: paths that came in or were merged.
        sent: whether the other repository took anything.
        diff: unified; on a dry run only.
        conflicts: what a person has to choose.
        outlived: ends and times that a rule has passed over; the history holds them.
        rivals: conflicts between decisions that were revised in two clones.
        contradictions: between what one clone decided and what another did.
    """

    remote: Remote
    commit: str | None
    received: tuple[str, ...]
    sent: bool
    diff: str
    conflicts: tuple[SyncReport, ...]
    outlived: tuple[SyncReport, ...]
    rivals: tuple[Conflict, ...]
    contradictions: tuple[Conflict, ...]


@dataclass(kw_only=True, slots=True)
class Plan:
    """What bringing in one commit comes to.

    Attributes:
        commit: the tip that holds both.
        joined: what differs from our files.
        rivals: by id.
    """

    commit: str
    joined: Joined = field(default_factory=Joined)
    rivals: dict[EntityId, Conflict] = field(default_factory=dict)


def sync(forge: Forge, *, dry_run: bool = False) -> Synced:
    """Fetch the branch, merge it, and push the result; on a dry run fetch alone.

    Raises RemoteError, RepositoryError where a person has to merge first, DirtyFileError; then nothing was
    merged, or what was merged stands here and was not pushed.
    """
    repository = forge.store.repository
    _refuse_unready(forge, repository)
    remote = upstream(repository)
    outcomes: list[Outcome] = []
    theirs = fetch(repository, remote)
    for attempt in range(ATTEMPTS):
        if theirs is not None:
            outcomes.append(_bring_in(forge, theirs, dry_run=dry_run))
        if not dry_run:
            outcomes += _read_together(forge, theirs)
        tip = repository.tip()
        sent = tip is not None and theirs != tip
        if not sent or dry_run or tip is None:
            break
        try:
            push(repository, remote, tip)
            break
        except RemoteError:
            # Somebody may have been first. A refusal for any other reason is one.
            before, theirs = theirs, _after_a_while(lambda: fetch(repository, remote), theirs)
            if theirs == before or attempt == ATTEMPTS - 1:
                raise
    return _report(remote, repository.tip(), outcomes, sent=sent)


def _read_together(forge: Forge, theirs: str | None) -> list[Outcome]:
    """Read together what each merge has joined that nobody has read yet, until there is none."""
    repository, outcomes = forge.store.repository, list[Outcome]()
    read = noted = _noted(repository)
    while (tip := repository.tip()) is not None and tip != read:
        known = [] if read is None else [read]
        if theirs is not None:
            known += commits_with(repository, theirs, known, ": ".join(_OP))
        for merge in merges(repository, tip, known):
            apart = _apart(repository, merge)
            if apart.revised or (apart.here and apart.there):
                outcomes.append(rejoin(forge, apart))
        read = tip
    if read is not None and read != noted:
        with contextlib.suppress(WriteError):  # without the note they are read again, which changes nothing
            files.stage(repository.common_dir, _READ, read.encode(), read)
            files.place(repository.common_dir, _READ, read)
    return outcomes


def _noted(repository: Repository) -> str | None:
    """Return the commit up to which this clone has read all merges, where the branch holds it still."""
    try:
        noted = files.read_bytes(repository.common_dir, _READ) or b""
        commit = repository.resolve(noted.decode("ascii", "replace"))
    except ForgeError:
        return None
    return commit if repository.holds(commit) else None


def _apart(repository: Repository, merge: Merge) -> Apart:
    base, here, there = (repository.blobs(commit) for commit in (merge.base, merge.ours, merge.theirs))
    revised = {}
    for path in here.keys() & there.keys():
        owner, blobs = files.entity_of_path(path), [side.get(path) for side in (base, here, there)]
        if owner is not None and owner[0] is Kind.DECISION and len({*blobs}) == len(blobs):
            before, *given = (_successor(repository, path, blob) for blob in blobs)
            revised[owner[1]] = frozenset(successor for successor in given if successor is not None) - {
                before
            }
    return Apart(_owners(here.keys() - there.keys()), _owners(there.keys() - here.keys()), revised)


def _successor(repository: Repository, path: str, blob: str | None) -> EntityId | None:
    try:
        entity = None if blob is None else files.parse(path, repository.read_blob(blob))[0]
    except FormatError:
        return None
    return entity.superseded_by if isinstance(entity, Decision) else None


def _owners(paths: Iterable[str]) -> frozenset[EntityId]:
    owners = map(files.entity_of_path, paths)
    return frozenset(owner[1] for owner in owners if owner is not None and owner[0] in _COMPARED)


def _after_a_while(look: Callable[[], str | None], before: str | None) -> str | None:
    """Look until something has changed; who was first may hold the branch's lock still."""
    found = look()
    for _ in range(3):
        if found != before:
            break
        time.sleep(_PAUSE_SECONDS)
        found = look()
    return found


def _refuse_unready(forge: Forge, repository: Repository) -> None:
    """Raise RepositoryError where a merge would build on something unfinished."""
    if repository.root != repository.top:
        raise RepositoryError(
            f"the registry is a part of the repository at {repository.top}; use `git pull` and `git push` "
            "there: with the merge driver (`forgekit init`) they merge its files as `sync` would; then "
            "`forgekit conflict scan` compares what was decided apart"
        )
    if is_midway(repository):
        raise RepositoryError("a merge, rebase or bisect is under way; end it (see `git status`), then sync")
    marked = [problem for problem in forge.registry().problems if _is_marked(repository.root, problem)]
    if marked:
        places = ", ".join(f"{p.path}:{p.line}" for p in marked)
        raise RepositoryError(
            f"conflict marks of an earlier merge stand in {places}; choose a side, commit, sync"
        )


def _is_marked(root: Path, problem: Problem) -> bool:
    """Say whether a file cannot be read because a merge left its marks there."""
    if problem.line is None:
        return False
    try:
        return conflict_marker(decode(files.read_bytes(root, problem.path) or b"")) == problem.line
    except FormatError:
        return False


def _bring_in(forge: Forge, theirs: str, *, dry_run: bool) -> Outcome:
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
            f"these need a person: {named}; run `git merge` with the fetched branch, mend them, commit, "
            "and sync again"
        )
    if not ahead:
        held = partial(_held, repository, ours, plan)
        get = partial(_get, held)
        _record_rivals(plan, get)
        _complete_rivals(repository, ours, plan, get)
        _open_circles(plan, held, get)
        message = message_of(_SUBJECT, [_OP])
        plan.commit = build_commit(
            repository, ours, joined.files, message, merged=theirs, executable=joined.executable
        )
    return plan


class _Get(Protocol):
    """Returns an entity of the merged registry, or None."""

    def __call__(self, owner: EntityId, kind: Kind = Kind.DECISION, /) -> Entity | None: ...


def _held(repository: Repository, ours: str, plan: Plan, path: str) -> bytes | None:
    """Return a file of the merged registry, or None."""
    if path in plan.joined.files:
        return plan.joined.files[path]
    blob = repository.blob_id(ours, path)
    return None if blob is None else repository.read_blob(blob)


def _get(
    held: Callable[[str], bytes | None], owner: EntityId, kind: Kind = Kind.DECISION, /
) -> Entity | None:
    path = path_of(kind, owner)
    data = held(path)
    try:
        return None if data is None else files.parse(path, data)[0]
    except FormatError:
        return None


def _record_rivals(plan: Plan, get: _Get) -> None:
    """Turn successors that clones gave to one decision into conflicts between any two of them."""
    for path, merged in list(plan.joined.merged.items()):
        owner = files.entity_of_path(path)
        if owner is None or owner[0] is not Kind.DECISION or not merged.conflicts:
            continue
        old = get(owner[1])
        if not isinstance(old, Decision):
            continue
        decision, rivals = recorded(old, get)
        if not rivals:
            continue
        assert merged.data is not None  # noqa: S101 - it holds the entries
        plan.joined.files[path] = update(decode(merged.data), decision).encode()
        plan.joined.merged[path] = replace(
            merged, conflicts=tuple(c for c in merged.conflicts if c.field not in SUCCESSORS)
        )
        for conflict in rivals:
            if get(conflict.id, Kind.CONFLICT) is None:
                plan.rivals[conflict.id] = conflict
                plan.joined.files[entity_path(conflict)] = codec.dumps(conflict).encode()


def _complete_rivals(repository: Repository, ours: str, plan: Plan, get: _Get) -> None:
    """Add the conflicts between revisions of which each side knew another one."""
    coming = {owner[1] for path in plan.joined.files if (owner := _conflict_of(path)) is not None}
    if not coming:
        return
    standing = {owner[1] for path in repository.blobs(ours) if (owner := _conflict_of(path)) is not None}
    known = (get(key, Kind.CONFLICT) for key in coming | standing)
    for conflict in completed((one for one in known if isinstance(one, Conflict)), get):
        if get(conflict.id, Kind.CONFLICT) is None:
            plan.rivals[conflict.id] = conflict
            plan.joined.files[entity_path(conflict)] = codec.dumps(conflict).encode()


def _open_circles(plan: Plan, held: Callable[[str], bytes | None], get: _Get) -> None:
    """Put one decision back in force of those that clones have put in each other's place.

    It is the one that a conflict between them keeps, else the smallest; its end becomes a conflicting edit.
    """
    successors: dict[EntityId, EntityId] = {}
    # Only what names a successor is parsed: a merge may bring thousands of decisions.
    some = [path for path, data in plan.joined.files.items() if data is not None and b"superseded_by" in data]
    todo = [owner[1] for path in some if (owner := files.entity_of_path(path)) and owner[0] is Kind.DECISION]
    while todo:
        key = todo.pop()
        if key not in successors and isinstance(one := get(key), Decision) and one.superseded_by is not None:
            successors[key] = one.superseded_by
            todo.append(one.superseded_by)
    for circle in cycles(Graph.of(successors.items())):
        known = (get(pair_id(key, successors[key]), Kind.CONFLICT) for key in circle)
        kept = {one.kept for one in known if isinstance(one, Conflict)}
        ended = get(next((key for key in circle if key in kept), circle[0]))
        assert isinstance(ended, Decision)  # noqa: S101 - it names a successor
        path = entity_path(ended)
        data = held(path)
        assert data is not None  # noqa: S101 - as above
        decision, told = reinstated(ended)
        plan.joined.files[path] = update(decode(data), decision).encode()
        merged = plan.joined.merged.get(path) or MergedFile(data=data)
        plan.joined.merged[path] = replace(merged, conflicts=(*merged.conflicts, *told))


def _conflict_of(path: str) -> tuple[Kind, EntityId] | None:
    owner = files.entity_of_path(path)
    return owner if owner is not None and owner[0] is Kind.CONFLICT else None


def _report(remote: Remote, tip: str | None, outcomes: list[Outcome], *, sent: bool) -> Synced:
    plans = [outcome.change.result for outcome in outcomes if isinstance(outcome.change.result, Plan)]
    merged = [(path, file) for plan in plans for path, file in plan.joined.merged.items()]
    joined = [outcome.change.result for outcome in outcomes if isinstance(outcome.change.result, Rejoined)]
    rivals = {key: conflict for plan in plans for key, conflict in plan.rivals.items()}
    rivals |= {conflict.id: conflict for each in joined for conflict in each.rivals}
    return Synced(
        remote=remote,
        commit=tip,
        received=tuple(
            sorted({path for outcome in outcomes for path in (*outcome.written, *outcome.deleted)})
        ),
        sent=sent,
        diff="".join(outcome.diff for outcome in outcomes),
        conflicts=tuple(
            SyncReport(path=path, found=found) for path, file in merged for found in file.conflicts
        ),
        outlived=tuple(
            SyncReport(path=path, found=found) for path, file in merged for found in file.overridden
        ),
        rivals=tuple(rivals[key] for key in sorted(rivals)),
        contradictions=tuple(conflict for each in joined for conflict in each.found),
    )
