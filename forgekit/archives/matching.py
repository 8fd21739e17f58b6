"""Is this the decision (the thread) that an earlier archive spoke of?

Matched in this order; texts are compared as `match_key` has them:

1. the id that a machine block gives, where project and wording do not speak against it: a block is text
   like any other, and gives no archive a say in what it could not have named in words;
2. the same text among what the ancestors spoke of;
3. the same text anywhere in the project: a local id may be its decision's successor's by now;
4. the same local id in the nearest ancestor, where the archive says that it inherited the record, or
   where one wording is an abbreviation of the other.

Near-paraphrases are not matched: they are offered to the person elsewhere.
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
    """Say whether the words of one text, at least two, all stand in the other."""
    one, other = set(_WORD.findall(match_key(a))), set(_WORD.findall(match_key(b)))
    small, large = sorted((one, other), key=len)
    return len(small) >= 2 and small <= large


@dataclass(slots=True)
class EntityIndex:
    """What has been spoken of so far, of one kind: grows while archives are folded in order.

    Attributes:
        renamed: whether people may give an entity another text under the same id.
    """

    renamed: bool = False
    texts: dict[EntityId, str] = field(default_factory=dict)
    projects: dict[EntityId, EntityId] = field(default_factory=dict)
    by_key: dict[str, list[EntityId]] = field(default_factory=lambda: defaultdict(list))
    by_suffix: dict[str, EntityId] = field(default_factory=dict)

    def add(self, entity: EntityId, project: EntityId, text: str) -> None:
        """Remember an entity under the text that named it first."""
        self.texts[entity] = text
        self.projects[entity] = project
        self.by_key[match_key(text)].append(entity)
        self.by_suffix[entity[-12:]] = entity

    def named(self, short: str | None) -> EntityId | None:
        """Return the entity of a short or full id."""
        return self.by_suffix.get(short[-12:]) if short else None

    def _may_read(self, entity: EntityId, text: str) -> bool:
        known = self.texts[entity]
        return self.renamed or match_key(known) == match_key(text) or abbreviates(known, text)

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
        """Return the entity that a record speaks of, or None for a new one.

        Args:
            text: the decision or the thread's title.
            project: of the archive.
            lineage: local ids of each parent and its ancestors, nearest first.
            local_id: of the record; "" where it says nothing of an earlier one.
            inherited: the archive says that it took the record over.
            short: the id that a machine block gives.
        """
        exact = self.named(short)
        if exact is not None and self.projects[exact] == project and self._may_read(exact, text):
            return exact
        visible = list(lineage)
        same = self.by_key.get(match_key(text), [])
        standing = {entity for ids in visible for entity in ids.values()}
        near = [e for e in same if e in standing] or [e for e in same if self.projects[e] == project]
        if near:
            return near[0]
        for ids in visible:
            entity_or_none = ids.get(local_id)
            known = self.texts.get(entity_or_none) if entity_or_none else None
            if known is not None and (inherited or abbreviates(known, text)):
                return entity_or_none
        return None
