"""Edits that yielded in a merge and that nobody has looked at yet."""

from __future__ import annotations

from collections.abc import Iterator

from forgekit.model.problem import Problem
from forgekit.model.registry import Registry
from forgekit.policy.checks.base import CheckInput, finding
from forgekit.policy.merge import record


def conflicting_edits(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find entities in which a merge kept what it could not choose between."""
    for entity in given.subjects(registry):
        names = record.fields_in_conflict(entity)
        if not names:
            continue
        archive = entity.kind.quoted
        place = f"the key {record.KEY}" if archive else f"the section {record.NAME!r}"
        yield finding(
            entity,
            "conflicting-edits",
            f"two clones changed {', '.join(names)} in different ways",
            field=record.KEY if archive else "",
            fix=f"{place} holds what yielded: put the right text in its place, then delete {place}",
        )
