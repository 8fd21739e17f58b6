"""Decisions that two clones revised, from the history: a file may name one successor only.

The sides of a merge say so, and the commits that revised a decision, which a rebase or a cherry-pick puts in
one line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from forgekit.errors import FormatError, StoreError
from forgekit.git.remote import merge_under_way, merges, revisions
from forgekit.git.repository import Repository
from forgekit.ids import EntityId
from forgekit.merge import conflicting_edits
from forgekit.merge.conflicting_edits import FieldConflict
from forgekit.merge.revisions import recorded
from forgekit.model.entities import Conflict, Decision, Entity, entity_path
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Problem
from forgekit.worktree import files


def successors_given(
    repository: Repository, base: Mapping[str, str], here: Mapping[str, str], there: Mapping[str, str]
) -> dict[EntityId, frozenset[EntityId]]:
    """Return the decisions that both sides of a merge changed, and the successors that they gave them.

    Args:
        base: the files of the common base, path -> blob.
    """
    given = {}
    for path in here.keys() & there.keys():
        blobs = [side.get(path) for side in (base, here, there)]
        owner = files.entity_of_path(path)
        if owner is not None and owner[0] is Kind.DECISION and len({*blobs}) == len(blobs):
            before, *after = (_successor(repository, path, blob) for blob in blobs)
            given[owner[1]] = frozenset(one for one in after if one is not None) - {before}
    return given


def _successor(repository: Repository, path: str, blob: str | None) -> EntityId | None:
    try:
        entity = None if blob is None else files.parse(path, repository.read_blob(blob))[0]
    except FormatError:
        return None
    return entity.superseded_by if isinstance(entity, Decision) else None


def successors_recorded(
    repository: Repository, tip: str, without: Iterable[str]
) -> dict[EntityId, frozenset[EntityId]]:
    """Return the decisions that commits revised more than once, and all revisions of them.

    Args:
        without: only decisions that a commit revised which none of these holds.
    """
    known = dict.fromkeys(old for old, _ in revisions(repository, tip, without))
    found: dict[EntityId, set[EntityId]] = {old: set() for old in known}
    for old, new in revisions(repository, tip, ()) if found else ():
        if old in found:
            found[old].add(new)
    return {old: frozenset(successors) for old, successors in found.items() if len(successors) > 1}


def with_successors(old: Decision, successors: Collection[EntityId]) -> Decision:
    """Return a decision as a merge left it; a person may have removed the other successor since."""
    rest, entries = conflicting_edits.split_entries(old.body)
    for successor in {*successors} - {old.superseded_by}:
        lost = FieldConflict(field="superseded_by", base=None, winner=old.superseded_by, loser=successor)
        entries.add(conflicting_edits.entry_of(Kind.DECISION, lost))
    return replace(old, body=conflicting_edits.put(rest, entries))


def unrecorded(repository: Repository, get: Callable[[EntityId], Entity | None]) -> list[Problem]:
    """Find revisions of one decision that are in force side by side, and no verdict on them."""
    try:
        pairs = {conflict.id: (old, conflict) for old, conflict in _pairs(repository, get)}
    except StoreError:
        return []  # damage of git is reported elsewhere
    return [_problem(*pairs[key]) for key in sorted(pairs)]


def _pairs(
    repository: Repository, get: Callable[[EntityId], Entity | None]
) -> Iterator[tuple[Decision, Conflict]]:
    tip = repository.tip()
    if tip is None:
        return
    joined = [*merges(repository, tip, (), Kind.DECISION.folder), *merge_under_way(repository)]
    revised = [successors_given(repository, *map(repository.blobs, sides)) for sides in joined]
    for key, given in chain.from_iterable(
        each.items() for each in (*revised, successors_recorded(repository, tip, ()))
    ):
        if isinstance(old := get(key), Decision):
            _, rivals, _ = recorded(with_successors(old, given), get)
            yield from ((old, rival) for rival in rivals if get(rival.id) is None)


def _problem(old: Decision, rival: Conflict) -> Problem:
    a, b = (short_id(Kind.DECISION, side) for side in rival.sides)
    return Problem(
        code="rival-revisions",
        path=entity_path(old),
        field="superseded_by",
        message=f"{a} and {b} both revise {short_id(Kind.DECISION, old.id)}, and both are in force",
        fix=f"`forgekit decision supersede {b} --by {a}` keeps one (or the other way round), "
        f"`forgekit conflict new {a} {b}` leaves it open",
    )
