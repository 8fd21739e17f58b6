"""Projects and conversations: registering them and changing their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from forgekit.change import Written, require_same, typed, write
from forgekit.errors import NotFoundError
from forgekit.forge import COMMITTED, Forge, WriteOptions
from forgekit.ids import EntityId, normalise, project_id
from forgekit.model.entities import Candidate, CandidateStatus, Entity, Lineage, Project, TranscriptPart
from forgekit.model.kinds import Kind
from forgekit.model.registry import Registry
from forgekit.model.rules import one_line, with_section


def create(
    forge: Forge, name: str, *, content: str = "", tags: Iterable[str] = (), options: WriteOptions = COMMITTED
) -> Written:
    """Register a project; one of that name, in whatever case, is returned as it is.

    Raises RuleError where the existing one has another description or other tags.
    """
    line = normalise(one_line(forge.project(name, forge.registry()) or ""))
    words = tuple(dict.fromkeys(tags))
    body = with_section("", None, content)

    def decide(registry: Registry) -> list[Entity]:
        existing = registry.get(project_id(line))
        if isinstance(existing, Project):
            wanted = with_section(existing.body, None, content) if content else ""
            return [require_same(existing, body=wanted, tags=words)]
        return [replace(new, tags=words, body=body) for new in forge.new_project(line, registry)]

    return write(forge, decide, "project new", options)


def describe(
    forge: Forge,
    name: str,
    kind: Kind | str,
    *,
    content: str | None = None,
    tags: Iterable[str] | None = None,
    title: str | None = None,
    project: str | None = None,
    options: WriteOptions = COMMITTED,
) -> Written:
    """Change the description, tags, title or project of a project, conversation or lineage edge.

    Args:
        content: Markdown, in place of what is above the sections; of an edge, its bridge summary.
        tags: in place of the old ones.
        title: of a conversation; its id stays.
        project: of a conversation, by name; a new one is registered along. Its kept text, its unregistered
            candidates and the edges that lead to it go along. Decisions and threads stay: their ids are
            made from their project.

    Raises RuleError for a title that is too long.
    """
    kind = Kind(kind)
    key = forge.resolve(name, kind)
    values: dict[str, Any] = {}
    if tags is not None:
        values["tags"] = tuple(dict.fromkeys(tags))
    if title is not None:
        values["title"] = typed(title, "--content")

    def decide(registry: Registry) -> list[Entity]:
        entity = registry.get(key)
        if entity is None:
            raise NotFoundError(kind.value, name)
        body = entity.body if content is None else with_section(entity.body, None, content)
        entity = replace(entity, **values, body=body)
        if project is None:
            return [entity]
        owner = forge.project(project, registry) or ""
        place: dict[str, Any] = {"project_name": owner, "project_uuid": project_id(owner)}
        moved = (replace(each, **place) for each in (entity, *_along(registry, key)))
        return [*moved, *forge.new_project(owner, registry)]

    return write(forge, decide, f"{kind.value} edit", options)


def _along(registry: Registry, conversation: EntityId) -> Iterator[TranscriptPart | Candidate | Lineage]:
    """Yield what belongs to the project of a conversation, and has an id that is not made from it."""
    yield from (part for part in registry.transcripts if part.conversation_id == conversation)
    yield from (edge for edge in registry.lineage if edge.target_conversation_id == conversation)
    unregistered = {CandidateStatus.WAITING, CandidateStatus.REJECTED}
    for candidate in registry.candidates:
        if candidate.conversation_id == conversation and candidate.status in unregistered:
            yield candidate
