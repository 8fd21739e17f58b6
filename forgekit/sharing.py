"""Share the registry: fetch, merge, push.

The merge runs in this process: it needs no merge driver and runs no hook. Where both sides changed a field in
different ways, both values are committed and reported for a person to choose. No branch is ever forced; when
another clone pushed first, its commits are merged too.

Each clone has registered what its own archives say. Where a parent was filed here and its child there, both
together say more: what the child carries belongs to the parent. So the merged files are brought from the sum
of the two folds to the fold of all archives, as filing one more archive does. The result is the same as if
all had been filed in one place. Two revisions of one decision become a conflict between them.

This is done in a commit after the merge, for each merge since the tip up to which this clone has done so: of
an interrupted sync, or made by git itself. Revisions that a rebase or a cherry-pick put in one line are found
in the messages of their commits. A commit of a sync that the other repository holds shows that the merges
before it were folded.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from forgekit.archives.changes import ChangeSet, settle
from forgekit.archives.conversations import Ingested, gather
from forgekit.archives.fold import FoldResult, fold
from forgekit.change import superseding
from forgekit.checks import CheckInput, recorded_twice
from forgekit.errors import (
    ForgeError,
    FormatError,
    RemoteError,
    RepositoryError,
    UnsentSecretError,
    UnsoundError,
    WriteError,
)
from forgekit.filing.archive_facts import by_people, facts
from forgekit.forge import Forge
from forgekit.frozen import frozen
from forgekit.git import driver
from forgekit.git.commits import build_commit
from forgekit.git.remote import Joined, Remote, commits_with, fetch, join, merges, push, unsent, upstream
from forgekit.git.repository import Repository
from forgekit.ids import EntityId, pair_id
from forgekit.merge import conflicting_edits
from forgekit.merge.conflicting_edits import FieldConflict
from forgekit.merge.merge import merge as merge_entity
from forgekit.merge.revisions import SUCCESSORS, SUPERSEDED, completed, recorded, reinstated, reopened
from forgekit.model.entities import Conflict, Decision, Entity, entity_path, group_fields
from forgekit.model.graph import Graph, cycles
from forgekit.model.kinds import Kind
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.model.rules import with_section
from forgekit.store import Change, Outcome
from forgekit.text.frontmatter import conflict_marker, decode
from forgekit.text.secrets import SecretFinding, find
from forgekit.upkeep.check import check
from forgekit.upkeep.rivals import successors_given, successors_recorded, with_successors
from forgekit.worktree import files

ATTEMPTS = 20
_FETCHES = 4
_PAUSE_SECONDS = 0.05
_SUBJECT = "sync: merge another clone"
_OP = ("Forgekit-Op", "sync")
_FOLDED_UP_TO = "forgekit/read-together"
"""File in the git directory with the tip up to which all merges are folded."""


@frozen(kw_only=True)
class Synced:
    """The result of a sync, or on a dry run what it would be.

    Attributes:
        commit: the local tip afterwards; None in a registry without commits.
        received: paths that came in or were merged.
        deleted: paths that are gone since.
        diff: unified; on a dry run only.
        conflicts: paths, each with a field that both sides changed, for a person to choose.
        outlived: likewise, ends and times that a merge rule overrode; the history holds them.
        rivals: conflicts between decisions that were revised in two clones, and verdicts that two clones gave
            in different ways.
        errors: in what came in, and in what was merged here and not pushed yet.
        held_back: whether something was not pushed for these errors.
        unsettled: all that hold conflicting edits, of this merge or an earlier one.
        repeated: where decisions came in, all that two clones recorded in the same words.
        uncommitted: files of the registry with uncommitted changes, which nobody gets.
    """

    remote: Remote
    commit: str | None
    received: tuple[str, ...]
    deleted: tuple[str, ...]
    sent: bool
    diff: str
    conflicts: tuple[tuple[str, FieldConflict], ...]
    outlived: tuple[tuple[str, FieldConflict], ...]
    rivals: tuple[Conflict, ...]
    errors: tuple[Problem, ...] = ()
    held_back: bool = False
    unsettled: tuple[Entity, ...] = ()
    repeated: tuple[Problem, ...] = ()
    uncommitted: tuple[str, ...] = ()


@frozen(kw_only=True)
class MergedSides:
    """What each side of a merge did.

    Attributes:
        here: archives, conversations and decisions that one side added.
        there: those of the other.
        revised: decisions that both sides changed, and the successors that they gave them; without a merge,
            decisions that commits in one line revised more than once.
        changed: decisions that a side changed or added, where both sides did.
        answered: whether both sides changed one verdict.
    """

    here: frozenset[EntityId] = frozenset()
    there: frozenset[EntityId] = frozenset()
    revised: Mapping[EntityId, frozenset[EntityId]] = field(default_factory=dict)
    changed: frozenset[EntityId] = frozenset()
    answered: bool = False


@dataclass(kw_only=True, slots=True)
class Refolded:
    """What a merge did beside merging files.

    Attributes:
        rivals: conflicts between decisions that both sides revised, by id.
        explained: path -> fields whose two values the rivals name.
        reinstated: path -> the end of a decision that is back in force.
    """

    rivals: dict[EntityId, Conflict] = field(default_factory=dict)
    explained: dict[str, frozenset[str]] = field(default_factory=dict)
    reinstated: dict[str, tuple[FieldConflict, ...]] = field(default_factory=dict)


def sync(forge: Forge, *, dry_run: bool = False) -> Synced:
    """Fetch the branch, merge it, and push the result; on a dry run only fetch.

    Raises RemoteError, RepositoryError where a person has to merge first, DirtyFileError; then nothing was
    merged, or the merge is committed here and was not pushed.
    """
    repository = forge.store.repository
    _require_ready(forge, repository)
    remote = upstream(repository)
    outcomes: list[Outcome] = []
    theirs, held_back = fetch(repository, remote), False
    for attempt in range(ATTEMPTS):
        if theirs is not None:
            outcomes.append(_merge(forge, theirs, dry_run=dry_run))
        if not dry_run:
            outcomes += _refold_merges(forge, theirs)
        tip = repository.tip()
        sent = tip is not None and theirs != tip
        if not sent or dry_run or tip is None:
            break
        _require_sound(forge, tip, theirs)
        if _errors(forge, _received(outcomes) | _joined(repository, tip, theirs)):
            held_back, sent = True, False
            break
        try:
            push(repository, remote, tip)
            break
        except RemoteError:
            before, theirs = theirs, _fetched_again(repository, remote, theirs)
            if theirs == before or attempt == ATTEMPTS - 1:
                raise
    found = _report(remote, repository.tip(), outcomes, sent=sent)
    found = replace(found, uncommitted=tuple(repository.changed_paths()))
    if dry_run or found.commit is None:
        return found
    _register_driver(repository)
    came = _received(outcomes) | (_joined(repository, found.commit, theirs) if held_back else set())
    return replace(
        found,
        errors=_errors(forge, came),
        held_back=held_back,
        unsettled=tuple(forge.unsettled()),
        repeated=tuple(recorded_twice(forge.registry(), CheckInput())) if _ids(came, Kind.DECISION) else (),
    )


def _register_driver(repository: Repository) -> None:
    """Let git merge in this clone as a sync does, which needs no driver itself; `doctor` reports its lack."""
    with contextlib.suppress(ForgeError):
        if driver.is_missing(repository):
            driver.register(repository)


def _fetched_again(repository: Repository, remote: Remote, before: str | None) -> str | None:
    """Return the branch's tip; another clone may have pushed first, and may still hold the branch's lock."""
    theirs = before
    for _ in range(_FETCHES):
        theirs = fetch(repository, remote)
        if theirs != before:
            break
        time.sleep(_PAUSE_SECONDS)
    return theirs


def _received(outcomes: Iterable[Outcome]) -> set[str]:
    """Return the files of entities that came in or were merged."""
    paths = {path for outcome in outcomes for path in (*outcome.written, *outcome.deleted)}
    return {path for path in paths if files.entity_of_path(path) is not None}


def _joined(repository: Repository, tip: str, theirs: str | None) -> set[str]:
    """Return the files that the merges which a tip alone holds brought together, from either side."""
    paths: set[str] = set()
    now = repository.blobs(tip)
    for base, *_ in merges(repository, tip, [theirs] if theirs else []):
        before = repository.blobs(base)
        paths |= {path for path in {*before, *now} if before.get(path) != now.get(path)}
    return {path for path in paths if files.entity_of_path(path) is not None}


def _require_sound(forge: Forge, tip: str, theirs: str | None) -> None:
    """Refuse to push what people committed without forgekit, if it holds a secret or an error.

    Raises UnsentSecretError, UnsoundError.
    """
    repository = forge.store.repository

    def secrets(blob: str | None, known: Iterable[str] = ()) -> Sequence[SecretFinding]:
        text = repository.read_blob(blob).decode("utf-8", "replace") if blob else ""
        return find(text, {*forge.allowed, *known})

    paths: dict[str, None] = {}
    for file in unsent(repository, tip, [theirs] if theirs else [], f"{_OP[0]}: "):
        for found in secrets(file.blob, (each.fingerprint for each in secrets(file.before))):
            raise UnsentSecretError(
                path=file.path, line=found.line, commit=file.commit, rule=found.rule, name=found.fingerprint
            )
        paths[file.path] = None
    if errors := _errors(forge, paths):
        raise UnsoundError([str(problem) for problem in errors])


def _errors(forge: Forge, paths: Collection[str]) -> tuple[Problem, ...]:
    """Return the errors in the files at some paths, and in what names those that are gone."""
    if not paths:
        return ()
    there = [path for path in paths if (forge.root / path).is_file()]
    problems = check(forge, there, set(paths).difference(there)).problems
    found = (problem for problem in problems if problem.severity is Severity.ERROR)
    return tuple(p for p in found if p.code != "conflicting-edits")  # a sync names them, and shares them


def _require_ready(forge: Forge, repository: Repository) -> None:
    """Raise RepositoryError where a merge would build on something unfinished."""
    if repository.root != repository.top:
        raise RepositoryError(
            f"the registry is a part of the repository at {repository.top}; use `git pull` and `git push` "
            "there: with the merge driver (`forgekit init`) they merge its files as `sync` would"
        )
    if repository.unfinished():
        raise RepositoryError("a merge, rebase or bisect is under way; end it (see `git status`), then sync")
    marked = []
    for problem in forge.registry().problems:
        with contextlib.suppress(FormatError):
            text = decode(files.read_bytes(repository.root, problem.path) or b"")
            if problem.line and problem.line == conflict_marker(text):
                marked.append(f"{problem.path}:{problem.line}")
    if marked:
        raise RepositoryError(
            f"there are conflict markers of an earlier merge in {', '.join(marked)}; choose a side, commit, "
            "sync"
        )


def _refold_merges(forge: Forge, theirs: str | None) -> list[Outcome]:
    """Fold each merge that nobody has folded yet, until there is none."""
    repository, outcomes = forge.store.repository, list[Outcome]()
    done = noted = _folded_up_to(repository)
    while (tip := repository.tip()) is not None and tip != done:
        known = [] if done is None else [done]
        if theirs is not None:
            known += commits_with(repository, theirs, known, ": ".join(_OP))
        for merge in merges(repository, tip, known):
            sides = _sides(repository, *map(repository.blobs, merge))
            if sides.revised or sides.changed or sides.answered or (sides.here and sides.there):
                outcomes.append(refold(forge, sides))
        if revised := successors_recorded(repository, tip, known):
            outcomes.append(refold(forge, MergedSides(revised=revised)))
        done = tip
    if done is not None and done != noted:
        with contextlib.suppress(WriteError):  # without the note they are folded again, which changes nothing
            files.replace(repository.common_dir, _FOLDED_UP_TO, done.encode(), done)
    return outcomes


def _folded_up_to(repository: Repository) -> str | None:
    """Return the noted commit, if the branch still holds it."""
    try:
        noted = files.read_bytes(repository.common_dir, _FOLDED_UP_TO) or b""
        commit = repository.resolve(noted.decode("ascii", "replace"))
    except ForgeError:
        return None
    return commit if repository.holds(commit) else None


def _sides(
    repository: Repository, base: Mapping[str, str], here: Mapping[str, str], there: Mapping[str, str]
) -> MergedSides:
    """Return what the sides of a merge did, from the files of their common base and their own."""
    edits = [[path for path, blob in side.items() if base.get(path) != blob] for side in (here, there)]
    changed = [_ids(paths, Kind.DECISION) for paths in edits]
    answered = [_ids(paths, Kind.CONFLICT) for paths in edits]
    return MergedSides(
        here=_ids(here.keys() - there.keys(), Kind.ARCHIVE, Kind.CONVERSATION, Kind.DECISION),
        there=_ids(there.keys() - here.keys(), Kind.ARCHIVE, Kind.CONVERSATION, Kind.DECISION),
        revised=successors_given(repository, base, here, there),
        changed=changed[0] | changed[1] if all(changed) else frozenset(),
        answered=not answered[0].isdisjoint(answered[1]),
    )


def _ids(paths: Iterable[str], *kinds: Kind) -> frozenset[EntityId]:
    """Return the ids of the entities of some kinds among files."""
    return frozenset(key for kind, key in filter(None, map(files.entity_of_path, paths)) if kind in kinds)


def _merge(forge: Forge, theirs: str, *, dry_run: bool) -> Outcome:
    """Make the tip hold a commit that was fetched."""
    repository = forge.store.repository

    def decide() -> Change:
        ours = repository.tip()
        if ours is None:
            raise RepositoryError("there is no commit here yet; `git pull` first, or clone the registry")
        commit, joined = bring_together(repository, ours, theirs)
        return Change(files=joined.files, commit=commit, subject=_SUBJECT, result=joined)

    return forge.store.commit(decide, dry_run=dry_run)


def bring_together(repository: Repository, ours: str, theirs: str) -> tuple[str, Joined]:
    """Return a commit that holds what two hold, made where neither does, and what it changes of ours.

    No branch names it yet.

    Raises RepositoryError where a person has to merge.
    """
    if repository.holds(theirs, ours):
        return ours, Joined()
    joined = join(repository, ours, theirs)
    if joined.refused:
        named = "; ".join(f"{path} {why}" for path, why in sorted(joined.refused.items()))
        raise RepositoryError(
            f"these need a person: {named}; run `git merge` with the fetched branch, fix them, commit, "
            "and sync again"
        )
    if repository.holds(ours, theirs):
        return theirs, joined
    commit = build_commit(
        repository, ours, joined.files, _SUBJECT, [_OP], merged=theirs, executable=joined.executable
    )
    return commit, joined


def refold(forge: Forge, sides: MergedSides) -> Outcome:
    """Register what both sides of a merge say together, in one commit; none where nothing changes.

    The change's result is a `Refolded`.
    """

    def decide() -> Change:
        ours, out = forge.registry(), Refolded()
        changes = _changes(forge, ours, sides)
        writes = {entity.id: entity for entity in changes.writes}
        deleted = {entity.id for entity in changes.deletes}

        def get(key: EntityId) -> Entity | None:
            return writes.get(key) or (None if key in deleted else ours.get(key))

        for key, successors in sorted(sides.revised.items()):
            if isinstance(old := get(key), Decision):
                decision, rivals, repetitions = recorded(with_successors(old, successors), get)
                if rivals or repetitions:
                    writes |= {one.id: one for one in (decision, *repetitions)}
                    out.explained[entity_path(decision)] = SUCCESSORS
                    out.rivals |= {one.id: one for one in rivals if get(one.id) is None}
        for entity in _reopened(ours.conflicts, get):
            writes[entity.id] = entity
            if isinstance(entity, Conflict):
                out.explained[entity_path(entity)] = frozenset(group_fields(Kind.CONFLICT, "state"))
                out.rivals[entity.id] = entity
        out.rivals |= {one.id: one for one in completed((*ours.conflicts, *out.rivals.values()), get)}
        writes |= out.rivals
        for ended in _breaking_cycles(sides.changed, get):
            decision, out.reinstated[entity_path(ended)] = reinstated(ended)
            writes[ended.id] = decision
        return Change(
            writes=tuple(writes.values()),
            deletes=tuple(entity_path(entity) for entity in changes.deletes),
            subject="sync: fold what two clones filed apart",
            trailers=(_OP, *superseding(tuple(writes.values()))),
            result=out,
        )

    return forge.commit(decide)


def _reopened(
    conflicts: Iterable[Conflict], get: Callable[[EntityId], Entity | None]
) -> Iterator[Conflict | Decision]:
    """Yield the verdicts that two clones gave in different ways as open again, with both sides in force."""
    for conflict in conflicts:
        if {"status", "kept"}.isdisjoint(conflicting_edits.fields_in_conflict(conflict)):
            continue
        yield reopened(conflict)
        for side in map(get, conflict.sides):
            if isinstance(side, Decision) and side.superseded_by in conflict.sides:
                yield replace(reinstated(side)[0], body=with_section(side.body, SUPERSEDED, ""))


def _breaking_cycles(
    changed: Iterable[EntityId], get: Callable[[EntityId], Entity | None]
) -> Iterator[Decision]:
    """Yield one of the decisions that clones made each other's successor, for each such cycle.

    It is the one that a conflict between them keeps, else the smallest.
    """
    successors: dict[EntityId, EntityId] = {}
    todo = sorted(changed)
    while todo:
        key = todo.pop()
        one = get(key) if key not in successors else None
        if isinstance(one, Decision) and one.superseded_by is not None:
            successors[key] = one.superseded_by
            todo.append(one.superseded_by)
    for cycle in cycles(Graph.of(successors.items())):
        known = (get(pair_id(key, successors[key])) for key in cycle)
        kept = {one.kept for one in known if isinstance(one, Conflict)}
        ended = get(next((key for key in cycle if key in kept), cycle[0]))
        if isinstance(ended, Decision):
            yield ended


def _changes(forge: Forge, ours: Registry, sides: MergedSides) -> ChangeSet:
    """Return what the archives and conversations of both sides say together and not each for itself."""
    sources = {one.id for one in ours.archives} | {one.id for one in ours.conversations}
    if not (sides.here & sources and sides.there & sources):
        return ChangeSet((), (), {}, ())
    known = facts(forge.catalogue, ours.archives)
    manual = by_people(forge.catalogue, known, Ingested.of(ours.conversations, ours.candidates))

    def fold_without(left_out: Collection[EntityId]) -> FoldResult:
        ingested = Ingested.of(
            (one for one in ours.conversations if one.id not in left_out),
            (one for one in ours.candidates if one.conversation_id not in left_out),
        )
        return gather(fold((fact for fact in known if fact[0].id not in left_out), manual), ingested)

    return settle(_folded_apart(fold_without, sides), fold_without(()), ours)


def _folded_apart(
    fold_without: Callable[[Collection[EntityId]], FoldResult], sides: MergedSides
) -> FoldResult:
    """Return the folds of two clones, each for itself, merged as their files were."""
    both = (sides.here | sides.there, sides.there, sides.here)
    base, ours, theirs = (fold_without(left_out) for left_out in both)
    entities: dict[EntityId, Entity] = {}
    for key in sorted({*ours.entities, *theirs.entities}):
        merged = merge_entity(*(each.entities.get(key) for each in (base, ours, theirs))).entity
        if merged is not None:
            entities[key] = merged
    return FoldResult(entities, {**ours.mentions, **theirs.mentions})


def _report(remote: Remote, tip: str | None, outcomes: list[Outcome], *, sent: bool) -> Synced:
    results = [outcome.change.result for outcome in outcomes]
    folds = [result for result in results if isinstance(result, Refolded)]
    explained = {path: names for fold in folds for path, names in fold.explained.items()}
    merged = [(p, f) for each in results if isinstance(each, Joined) for p, f in each.merged.items()]
    found = [(p, one) for p, f in merged for one in f.conflicts if one.field not in explained.get(p, ())]
    found += [(path, one) for fold in folds for path, lost in fold.reinstated.items() for one in lost]
    rivals = {key: one for fold in folds for key, one in fold.rivals.items()}
    here: dict[str, bool] = {}
    for outcome in outcomes:
        here |= dict.fromkeys(outcome.written, True) | dict.fromkeys(outcome.deleted, False)
    return Synced(
        remote=remote,
        commit=tip,
        received=tuple(sorted(path for path, there in here.items() if there)),
        deleted=tuple(sorted(path for path, there in here.items() if not there)),
        sent=sent,
        diff="".join(outcome.diff for outcome in outcomes),
        conflicts=tuple(found),
        outlived=tuple((path, one) for path, f in merged for one in f.overridden),
        rivals=tuple(rivals[key] for key in sorted(rivals)),
    )
