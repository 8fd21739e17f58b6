"""Which text of an entity stands for its meaning.

A model reads the first few hundred tokens and no more, so what tells one entity from another comes first:
the title, then why and how, then the tags. One text per entity.
"""

from __future__ import annotations

from collections.abc import Iterable

from forgekit.model.archive import Archive
from forgekit.model.conflict import Conflict
from forgekit.model.decision import Decision
from forgekit.model.entity import Entity
from forgekit.model.lineage import Lineage
from forgekit.model.thread import Thread
from forgekit.text.archive import read_archive

CHUNK_RULE = "entity-1"
"""Names the rule of this module; vectors made under another rule are not used."""
TEXT_LIMIT = 4_000
"""Characters of the longest text: more than the 512 tokens that the models read of common prose."""


def embedding_text(entity: Entity) -> str:
    """Return the text that stands for an entity's meaning; "" where it says nothing."""
    text = "\n\n".join(part for part in map(str.strip, _parts(entity)) if part)
    return text[:TEXT_LIMIT].strip()


def _parts(entity: Entity) -> Iterable[str]:
    if isinstance(entity, Decision):
        return (
            entity.decision,
            entity.rationale,
            entity.context,
            "; ".join(entity.alternatives_rejected),
            ", ".join(entity.tags),
        )
    if isinstance(entity, Thread):
        return entity.title, entity.content, entity.resolution, ", ".join(entity.tags)
    if isinstance(entity, Conflict):
        return entity.nature, "\n".join(entity.evidence), entity.reason or "", entity.body
    if isinstance(entity, Archive):
        return _words(entity.compression_tag), entity.conversation_title, *_said(entity.body)
    if isinstance(entity, Lineage):
        return (*(_words(c.compression_tag) for c in entity.compressions), entity.body)
    return entity.title, entity.body, ", ".join(entity.tags)


def _said(body: str) -> tuple[str, ...]:
    """Return what an archive says in short, or its first part where it says nothing in short."""
    read = read_archive(body)
    told = (read.summary, *(d.text for d in read.decisions), *(t.title for t in read.threads))
    return told if any(told) else (body[:TEXT_LIMIT],)


def _words(tag: str) -> str:
    """Return a tag as the words that it is made of, the way a question would use them."""
    return tag.replace("_", " ").lower()
