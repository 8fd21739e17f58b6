"""All entities together."""

from __future__ import annotations

from typing import get_args

from forgekit.model.archive import Archive
from forgekit.model.candidate import Candidate
from forgekit.model.conflict import Conflict
from forgekit.model.conversation import Conversation
from forgekit.model.decision import Decision
from forgekit.model.kinds import Kind, path_of
from forgekit.model.lineage import Lineage
from forgekit.model.project import Project
from forgekit.model.thread import Thread
from forgekit.model.transcript import TranscriptPart

Entity = (
    Project | Conversation | Thread | Decision | Lineage | Conflict | Candidate | TranscriptPart | Archive
)

CLASSES: dict[Kind, type[Entity]] = {cls.kind: cls for cls in get_args(Entity)}


def entity_path(entity: Entity) -> str:
    """Return the path an entity is filed under, relative to the registry's root."""
    return path_of(entity.kind, entity.id)
