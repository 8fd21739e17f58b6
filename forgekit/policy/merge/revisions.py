"""One decision revised in two clones: two active revisions, and nobody has said which one stands.

The file of the old decision can name one of them; the other is among its conflicting edits. Here that
entry becomes a conflict between the two revisions, as any other pair that cannot both be followed: both
are shown, and neither is carried on until a person has chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from forgekit.ids import EntityId, is_id, pair_id
from forgekit.model.conflict import Conflict
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity
from forgekit.model.kinds import Kind, short_id
from forgekit.policy.merge import record

HEIRS = frozenset({"superseded_by", "revised_in"})
"""The fields that name an heir."""

_HEIR, _WHERE = "### superseded_by\n", "### revised_in\n"


def recorded(old: Decision, get: Callable[[EntityId], Entity | None]) -> tuple[Decision, list[Conflict]]:
    """Return a decision without the heirs among its conflicting edits, and the conflicts they have become.

    Args:
        old: as it was merged.
        get: returns an entity of the merged registry, or None.
    """
    standing = get(old.superseded_by) if old.superseded_by else None
    rest, entries = record.taken(old.body)
    heirs = {entry: get(heir) for entry in entries if (heir := _heir(entry)) is not None}
    others = {entry: heir for entry, heir in heirs.items() if _active(heir) and heir != standing}
    if not _active(standing) or not others:
        return old, []
    left = {
        entry
        for entry in entries.difference(others)
        if not entry.startswith(_WHERE) or len(others) < len(heirs)
    }
    return replace(old, body=record.put(rest, left)), [
        _conflict(old, cast(Decision, standing), cast(Decision, other)) for other in others.values()
    ]


def _heir(entry: str) -> EntityId | None:
    last = entry.rpartition(" ")[2]
    return EntityId(last) if entry.startswith(_HEIR) and is_id(last) else None


def _active(entity: Entity | None) -> bool:
    return isinstance(entity, Decision) and not entity.status.ended


def _conflict(old: Decision, one: Decision, other: Decision) -> Conflict:
    low, high = sorted((one, other), key=lambda side: side.id)
    name = short_id(Kind.DECISION, old.id)
    return Conflict(
        conflict_id=pair_id(low.id, high.id),
        decision_a=low.id,
        decision_b=high.id,
        nature=f"two revisions of {name}",
        evidence=(f"{name} was revised in two clones: {old.decision}",),
        detected_at=max(low.created_at, high.created_at),
    )
