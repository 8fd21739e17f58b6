"""The checks of a registry: pure functions that find what is wrong and how to fix it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from forgekit.checks.base import Check, CheckInput
from forgekit.checks.identity import derivations, edited_in_place, projects_agree, twins
from forgekit.checks.references import no_cycles, references_exist, status_fields
from forgekit.checks.texts import (
    archives_unchanged,
    canonical_texts,
    hidden_characters,
    no_secrets,
    probable_slips,
    unresolved_edits,
)
from forgekit.model.problem import Problem
from forgekit.model.registry import Registry

CHECKS: tuple[Check, ...] = (
    derivations,
    edited_in_place,
    projects_agree,
    references_exist,
    no_cycles,
    status_fields,
    unresolved_edits,
    archives_unchanged,
    probable_slips,
    hidden_characters,
    no_secrets,
    twins,
    canonical_texts,
)


def check(
    registry: Registry, given: CheckInput | None = None, only: Collection[str] | None = None
) -> list[Problem]:
    """Run every check.

    Args:
        registry: all entities, and the problems found while they were read, which come first.
        given: texts of the files.
        only: paths to look at, or None for all.

    Returns problems by path; within a path in the order of the checks.
    """
    given = given or CheckInput()
    if only is not None:
        given = replace(given, only=frozenset(only))
    found = [p for p in registry.problems if given.wants(p.path)]
    for run in CHECKS:
        found.extend(run(registry, given))
    return sorted(found, key=lambda p: p.path)
