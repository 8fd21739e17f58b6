"""One decision revised in two clones: two active revisions, and no choice between them yet.

The file of the old decision can name one of them; the other is among its conflicting edits. Here that
entry becomes a conflict between the two revisions, as any other pair that cannot both be followed: both
are shown, and neither is carried on until a person has chosen.

Two decisions that clones replaced with each other are both out of force; one of them is reinstated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import combinations
from typing import cast

from forgekit.ids import EntityId, is_id, match_key, pair_id
from forgekit.merge import conflicting_edits
from forgekit.merge.conflicting_edits import FieldConflict, plain
from forgekit.model.entities import Conflict, ConflictStatus, Decision, DecisionStatus, Entity, group_fields
from forgekit.model.kinds import Kind, short_id
from forgekit.model.rules import parts, section, with_section

SUCCESSORS = frozenset({"superseded_by", "revised_in"})
"""The fields that name a successor."""

_NATURE = "two revisions of "
SUPERSEDED = "Superseded"
ANSWERS = "Earlier answers"
"""The section of a verdict with the answers that differed."""

_SUCCESSOR, _WHERE = "### superseded_by\n", "### revised_in\n"


def recorded(
    old: Decision, get: Callable[[EntityId], Entity | None]
) -> tuple[Decision, list[Conflict], list[Decision]]:
    """Return a decision without the successors among its conflicting edits, and what follows from them.

    Args:
        old: as it was merged.
        get: returns an entity of the merged registry, or None.

    A successor is in conflict with the one in the file; with the same text it is superseded by that one.
    """
    in_file = get(old.superseded_by) if old.superseded_by else None
    rest, entries = conflicting_edits.split_entries(old.body)
    successors = {entry: get(successor) for entry in entries if (successor := _successor(entry)) is not None}
    others = {
        entry: cast(Decision, successor)
        for entry, successor in successors.items()
        if _active(successor) and successor != in_file
    }
    if not isinstance(in_file, Decision) or in_file.status.ended or not others:
        return old, [], []
    left = {
        entry
        for entry in entries.difference(others)
        if not entry.startswith(_WHERE) or len(others) < len(successors)
    }
    rivals = [_conflict(old, in_file, one) for one in others.values() if not same_text(in_file, one)]
    ended = [_repetition(one, in_file) for one in others.values() if same_text(in_file, one)]
    return replace(old, body=conflicting_edits.put(rest, left)), rivals, ended


def same_text(one: Decision, other: Decision) -> bool:
    """Say whether two decisions say the same, letter case and final stop apart."""
    return match_key(one.decision) == match_key(other.decision)


def _repetition(one: Decision, in_file: Decision) -> Decision:
    body = with_section(one.body, SUPERSEDED, "Two clones recorded the same text.")
    return replace(one, status=DecisionStatus.SUPERSEDED, superseded_by=in_file.id, body=body)


def completed(conflicts: Iterable[Conflict], get: Callable[[EntityId], Entity | None]) -> list[Conflict]:
    """Return the conflicts that are missing between the active revisions of one decision.

    Where more than two clones revise one decision, two by two they meet in some order; in any order, each
    revision is in conflict with each other one in the end.

    Args:
        conflicts: of the merged registry; those of other decisions and of other kinds say nothing.
        get: returns an entity of the merged registry, or None.
    """
    known: dict[str, list[Conflict]] = defaultdict(list)
    for conflict in conflicts:
        if conflict.nature.startswith(_NATURE):
            known[conflict.nature].append(conflict)
    out = []
    for nature, some in sorted(known.items()):
        ids = sorted({side for conflict in some for side in (conflict.decision_a, conflict.decision_b)})
        sides = [cast(Decision, side) for side in map(get, ids) if _active(side)]
        there = {conflict.id for conflict in some}
        evidence = min(conflict.evidence for conflict in some)
        pairs = [pair for pair in combinations(sides, 2) if pair_id(pair[0].id, pair[1].id) not in there]
        pairs = [pair for pair in pairs if not same_text(*pair)]
        out += [Conflict.between(*pair, nature, evidence) for pair in pairs]
    return out


def reinstated(ended: Decision) -> tuple[Decision, tuple[FieldConflict, ...]]:
    """Return a decision put back in force, its end among its conflicting edits, and the losing values."""
    active = replace(ended, status=DecisionStatus.ACTIVE, superseded_by=None, revised_in=None)
    changed = [
        (name, getattr(active, name), getattr(ended, name)) for name in group_fields(Kind.DECISION, "state")
    ]
    rest, entries = conflicting_edits.split_entries(ended.body)
    reason = "".join(text for name, text in parts(rest) if name == SUPERSEDED).strip("\n")
    changed.append((f"## {SUPERSEDED}", None, reason or None))
    losers = tuple(
        FieldConflict(field=name, base=winner, winner=winner, loser=loser)
        for name, winner, loser in changed
        if winner != loser
    )
    entries |= {conflicting_edits.entry_of(Kind.DECISION, found) for found in losers}
    return replace(active, body=conflicting_edits.put(with_section(rest, SUPERSEDED, ""), entries)), losers


def reopened(conflict: Conflict) -> Conflict:
    """Return a verdict that clones gave in different ways as open, with their answers in its body."""
    rest, entries = conflicting_edits.split_entries(conflict.body)
    names = group_fields(Kind.CONFLICT, "state")
    winning = {name: str(plain(name, value) if (value := getattr(conflict, name)) else "") for name in names}
    losing = {name: "; ".join(conflicting_edits.values(entries, name)) for name in names}
    known = {name for name in names if any(entry.startswith(f"### {name}\n") for entry in entries)}
    given = (winning, {n: losing[n] if n in known else winning[n] for n in names})
    lines = {_answer(values) for values in given if values["status"] != ConflictStatus.OPEN.value}
    answers = "\n".join(sorted({*section(rest, ANSWERS).splitlines(), *lines}))
    left = {entry for entry in entries if entry.partition("\n")[0].removeprefix("### ") not in names}
    return replace(
        conflict,
        status=ConflictStatus.OPEN,
        kept=None,
        reason=None,
        body=conflicting_edits.put(with_section(rest, ANSWERS, answers), left),
    )


def _answer(values: dict[str, str]) -> str:
    kept = short_id(Kind.DECISION, EntityId(values["kept"])) if is_id(values["kept"]) else values["kept"]
    return f"- {values['status']}{kept and f', kept {kept}'}: {values['reason'] or 'no reason given'}"


def _successor(entry: str) -> EntityId | None:
    last = entry.rpartition(" ")[2]
    return EntityId(last) if entry.startswith(_SUCCESSOR) and is_id(last) else None


def _active(entity: Entity | None) -> bool:
    return isinstance(entity, Decision) and not entity.status.ended


def _conflict(old: Decision, one: Decision, other: Decision) -> Conflict:
    name = short_id(Kind.DECISION, old.id)
    evidence = (f"{name} was revised in two clones: {old.decision}",)
    return Conflict.between(one, other, _NATURE + name, evidence)
