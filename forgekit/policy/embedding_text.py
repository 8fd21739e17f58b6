"""Which text of an entity stands for its meaning.

A model reads the first few hundred tokens and no more, so what tells one entity from another comes first:
the title, then what its sections say, then the tags. Headings, ids and times are left out. A title says
what an entity is about, and a long body drowns it: so an entity is as near to a question as its title and
its whole text are, on average.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from forgekit.model.body import parts

if TYPE_CHECKING:
    from forgekit.model.entity import Entity

CHUNK_RULE = "entity-2"
"""Names the rule of this module; vectors made under another rule are not used."""
TEXT_LIMIT = 4_000
"""Characters of the longest text: more than the 512 tokens that the models read of common prose."""


def embedding_texts(entity: Entity) -> tuple[str, ...]:
    """Return the texts whose mean vector stands for an entity: its title and its whole text.

    Only one where the title is all there is, and "" where it says nothing.
    """
    title, *rest = _parts(entity)
    whole = "\n\n".join(part for part in map(str.strip, (title, *rest)) if part)[:TEXT_LIMIT].strip()
    title = title.strip()[:TEXT_LIMIT].strip()
    return (title, whole) if title and title != whole else (whole,)


def _parts(entity: Entity) -> Iterable[str]:
    """Return the title and what else is said; any of it may be empty."""
    from forgekit.model.archive import Archive  # noqa: PLC0415 - a search needs the name of the rule only
    from forgekit.model.conflict import Conflict  # noqa: PLC0415 - as above
    from forgekit.model.decision import Decision  # noqa: PLC0415 - as above
    from forgekit.model.lineage import Lineage  # noqa: PLC0415 - as above

    match entity:
        case Archive():
            title = f"{_words(entity.compression_tag)}\n\n{entity.conversation_title}"
            return title, *_told(entity.body)
        case Lineage():
            title = "\n\n".join(_words(c.compression_tag) for c in entity.compressions)
            return title, *_sections(entity.body)
        case Conflict():
            return entity.nature, *entity.evidence, entity.reason or "", *_sections(entity.body)
        case Decision():
            rejected = "; ".join(entity.alternatives_rejected)
            return entity.decision, *_sections(entity.body), rejected, ", ".join(entity.tags)
        case _:
            return entity.title, *_sections(entity.body), ", ".join(getattr(entity, "tags", ()))


def _sections(body: str) -> Iterable[str]:
    """Return what a body's sections say, without their headings."""
    return (text if heading is None else text.partition("\n")[2] for heading, text in parts(body))


def _told(body: str) -> Iterable[str]:
    """Return what an archive says in short, or its first part where it says nothing in short."""
    from forgekit.text.archive import read_archive  # noqa: PLC0415 - it loads YAML

    read = read_archive(body)
    told = (read.summary, *(d.text for d in read.decisions), *(t.title for t in read.threads))
    return told if any(told) else (body[:TEXT_LIMIT],)


def _words(tag: str) -> str:
    """Return a tag as the words that it is made of, the way a question would use them."""
    return tag.replace("_", " ").lower()
