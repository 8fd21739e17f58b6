"""Find the decision or thread of an earlier archive that a record is about.

In: a record's text, project, local id and short id, and the local ids that its archive's ancestors use. Out:
the entity, or None for a new one. In this order (texts are compared by `match_key`):

1. the short id, if the project is the same and the text does not contradict it;
2. the same text among the entities of the ancestors;
3. the same text anywhere in the project;
4. the same local id in the nearest ancestor, if the archive marks the record as inherited, or if one
   text abbreviates the other.

Near-paraphrases are not matched; a person is asked about them elsewhere.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from forgekit.ids import EntityId, match_key

_WORD = re.compile(r"\w+")

LocalIds = Mapping[str, EntityId]
"""Local id to entity, as one archive and its ancestors use them."""


def abbreviates(a: str, b: str) -> bool:
    """Say whether one text consists of at least two words, all of which the other has."""
    one, other = set(_WORD.findall(match_key(a))), set(_WORD.findall(match_key(b)))
    small, large = sorted((one, other), key=len)
    return len(small) >= 2 and small <= large


@dataclass(slots=True)
class EntityIndex:
    """The entities of one kind that were mentioned so far.

    Attributes:
        renamed: whether people may give an entity another text under the same id.
    """

    renamed: bool = False
    texts: dict[EntityId, str] = field(default_factory=dict)
    projects: dict[EntityId, EntityId] = field(default_factory=dict)
    by_key: dict[str, list[EntityId]] = field(default_factory=lambda: defaultdict(list))
    by_suffix: dict[str, EntityId] = field(default_factory=dict)

    def add(self, entity: EntityId, project: EntityId, text: str) -> None:
        """Add an entity under its first text."""
        self.texts[entity] = text
        self.projects[entity] = project
        self.by_key[match_key(text)].append(entity)
        self.by_suffix[entity[-12:]] = entity

    def named(self, short: str | None) -> EntityId | None:
        """Return the entity of a short or full id."""
        return self.by_suffix.get(short[-12:]) if short else None

    def match(
        self,
        text: str,
        *,
        project: EntityId,
        lineage: Iterable[LocalIds],
        local_id: str,
        inherited: bool,
        short: str | None = None,
    ) -> EntityId | None:
        """Return the entity that a record is about, None for a new one; `lineage` is nearest first."""
        key = match_key(text)
        named = self.named(short)
        if named is not None and self.projects[named] == project:
            known = self.texts[named]
            if self.renamed or match_key(known) == key or abbreviates(known, text):
                return named
        visible = list(lineage)
        of_ancestors = {entity for ids in visible for entity in ids.values()}
        same = self.by_key.get(key, [])
        near = [e for e in same if e in of_ancestors] or [e for e in same if self.projects[e] == project]
        if near:
            return near[0]
        for ids in visible:
            entity = ids.get(local_id)
            if entity in self.texts and (inherited or abbreviates(self.texts[entity], text)):
                return entity
        return None
