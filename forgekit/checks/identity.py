"""Ids: each follows from its text and time.

The name of a file is checked when it is read.

Checked as hard derivations: projects, decisions, lineage edges, conflicts, archives. Not checked:
threads, whose titles people may edit, and conversations, which may bear an id given by their archive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from forgekit import ids
from forgekit.checks.base import CheckInput, finding
from forgekit.ids import EntityId, match_key, pair_id, project_id, timestamp
from forgekit.model.entities import Archive, Conflict, Decision, Entity, Lineage, Project, entity_path
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.times import Instant


def text_gives_id(decision: Decision) -> bool:
    """Say whether a decision's text and origin give its id at the time that the id holds."""
    origin = decision.originated_in or EntityId("")
    at = timestamp(decision.id)
    return ids.decision_id(decision.project_uuid, decision.decision, origin, at) == decision.id


def derivations(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find ids that do not follow from what they name."""
    for entity in given.subjects(registry):
        expected = _expected(entity)
        if expected is not None and expected != entity.id:
            yield finding(
                entity,
                "id-derivation",
                f"the id should be {expected}, from {_BASIS[type(entity)]}",
                field=entity.kind.id_field,
                fix="undo the change to what the id is made from",
            )


def edited_in_place(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find decisions whose text, or what else gives their id, was changed without becoming a revision."""
    for entity in given.subjects(registry):
        if not isinstance(entity, Decision) or text_gives_id(entity):
            continue
        old = given.committed.get(entity.id)
        field, message, fix = "decision", _NEW_TEXT, "undo the edit"
        fixable = old is not None and revised_id(registry, entity, old, Instant(0)) is not None
        if fixable:
            fix = "`forgekit check --fix` turns the edit into a revision"
        elif old is None:
            message = "the text, originated_in or project_uuid was changed, and the id is made from them"
        elif _same_text(entity, old):
            field = "originated_in" if entity.originated_in != old.originated_in else "project_uuid"
            message = "was changed, and the id is made from it"
        yield finding(entity, "edited-in-place", message, field=field, fix=fix, fixable=fixable)


def revised_id(registry: Registry, edited: Decision, old: Decision, now: Instant) -> EntityId | None:
    """Return the id that an edited text has as a decision of its own, or None where the edit is to be undone.

    Args:
        registry: all entities.
        edited: whose text does not give its id.
        old: the same decision, when its text gave the id.
        now: when it is revised.
    """
    if old.status.ended or _same_text(edited, old):
        return None
    new = ids.decision_id(old.project_uuid, edited.decision, old.originated_in or EntityId(""), now)
    return None if new in registry.entities else new


def _same_text(one: Decision, other: Decision) -> bool:
    return ids.normalise(one.decision) == ids.normalise(other.decision)


def projects_agree(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find entities whose project name and project id belong to two projects."""
    for entity in given.subjects(registry):
        if isinstance(entity, (Conflict, Project)):
            continue
        project = registry.get(entity.project_uuid)
        if isinstance(project, Project):
            agrees = entity.project_name == project.project_name
            named = f"the project {project.project_name!r}"
        else:
            agrees = entity.project_uuid == project_id(entity.project_name)
            named = "another project"
        if not agrees:
            yield finding(
                entity,
                "project-mismatch",
                f"is {entity.project_name!r}, but project_uuid belongs to {named}",
                field="project_name",
                fix="make the two agree",
            )


def twins(registry: Registry, given: CheckInput) -> Iterator[Problem]:
    """Find projects whose names differ in case, Unicode form or final stop only."""
    names: dict[str, list[Project]] = defaultdict(list)
    for project in registry.projects:
        names[match_key(project.project_name)].append(project)
    for group in names.values():
        for project in group if len(group) > 1 else ():
            if given.wants(entity_path(project)):
                others = ", ".join(repr(p.project_name) for p in group if p is not project)
                yield finding(
                    project,
                    "twin-project",
                    f"reads like the other project {others}",
                    field="project_name",
                    severity=Severity.WARNING,
                )


_NEW_TEXT = "the text was changed under the same id; a new text is a new decision"
_BASIS: dict[type[Entity], str] = {
    Project: "project_name",
    Lineage: "source_conversation_id and target_conversation_id",
    Conflict: "decision_a and decision_b",
    Archive: "project_uuid, conversation_id, turn_range and compressed_at",
}


def _expected(entity: Entity) -> EntityId | None:
    """Return the id that an entity should have, or None for other kinds."""
    match entity:
        case Project():
            return project_id(entity.project_name)
        case Lineage():
            return pair_id(entity.source_conversation_id, entity.target_conversation_id)
        case Conflict():
            return pair_id(entity.decision_a, entity.decision_b)
        case Archive():
            turns = "{}-{}".format(*entity.turn_range) if entity.turn_range else "all"
            return ids.archive_id(entity.project_uuid, entity.conversation_id, turns, entity.compressed_at)
        case _:
            return None
