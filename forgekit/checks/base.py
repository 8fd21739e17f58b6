"""The input of every check, and how a problem about an entity is made.

A check is a pure function of a registry and a `CheckInput`; it looks at `input.subjects(registry)` and
yields problems with path and field. Lines are added by `locate`, from the texts of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from forgekit.errors import FormatError
from forgekit.ids import EntityId
from forgekit.model.entities import Decision, Entity, entity_path
from forgekit.model.kinds import Kind, path_of, short_id
from forgekit.model.problem import Problem, Severity
from forgekit.model.registry import Registry
from forgekit.text import frontmatter


@dataclass(frozen=True, kw_only=True)
class CheckInput:
    """What a check may know beside the registry.

    Attributes:
        texts: the files whose wording is to be checked, by path; may hold a part of them.
        only: the paths to look at, or None for all. References out of them are followed too.
        allowed: fingerprints of what looks like a secret and is allowed.
        committed: for a decision edited in place its last version whose text gives its id, where known.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    only: frozenset[str] | None = None
    allowed: frozenset[str] = frozenset()
    committed: Mapping[EntityId, Decision] = field(default_factory=dict)

    def subjects(self, registry: Registry) -> Iterable[Entity]:
        """Return the entities to look at."""
        if self.only is None:
            return registry
        names = sorted(path.rpartition("/")[2].removesuffix(".md") for path in self.only)
        named = (registry.get(EntityId(name)) for name in names)
        return [entity for entity in named if entity is not None and self.wants(entity_path(entity))]

    def wants(self, path: str) -> bool:
        """Say whether findings about a path are asked for."""
        return self.only is None or path in self.only


def finding(entity: Entity, code: str, message: str, **more: Any) -> Problem:
    """Make a problem about an entity; `more` are other attributes of Problem."""
    return Problem(code=code, message=message, path=entity_path(entity), **more)


Check = Callable[[Registry, CheckInput], Iterator[Problem]]


def name_of(registry: Registry, entity: EntityId) -> str:
    """Return the short id of an entity that may be missing."""
    found = registry.get(entity)
    return short_id(found.kind, entity) if found else entity


def unread_paths(registry: Registry) -> frozenset[str]:
    """Return the paths of files that could not be read; each has its own finding."""
    return frozenset(p.path for p in registry.problems if p.severity is Severity.ERROR)


def is_unread(unread: frozenset[str], entity: EntityId) -> bool:
    """Say whether an id belongs to a file that could not be read."""
    return bool(unread) and any(path_of(kind, entity) in unread for kind in Kind)


def locate(problems: Iterable[Problem], texts: Mapping[str, str]) -> list[Problem]:
    """Add the line of its field to each problem whose file's text is given."""
    lines: dict[str, Mapping[str, int]] = {}

    def lines_of(path: str) -> Mapping[str, int]:
        if path not in lines:
            try:
                head, _ = frontmatter.split(texts[path])
                lines[path] = frontmatter.load_fields(head.replace("\r\n", "\n"))[1]
            except FormatError:
                lines[path] = {}
        return lines[path]

    return [
        replace(p, line=lines_of(p.path).get(p.field))
        if p.line is None and p.field and p.path in texts
        else p
        for p in problems
    ]
