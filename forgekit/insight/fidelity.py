"""How much of a note is shown: a function of its age, its topics and when it was last opened."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum

from forgekit.ids import EntityId
from forgekit.model.entities import Note, Topic, TopicStatus
from forgekit.times import DAY_MS, Instant

NEW_DAYS, LIVE_DAYS, OLD_DAYS, IDLE_DAYS = 7, 90, 180, 60
"""Days for which a note is new and live, from which it is old, and after which a topic is idle."""


class Fidelity(Enum):
    """How much of a note is shown at most."""

    FULL = "full"  # title and text
    HIGH = "high"  # title, essence and text
    SUMMARY = "summary"  # title, theme and essence
    SKELETON = "skeleton"  # title and theme


def fidelity(
    note: Note, topics: Collection[TopicStatus], now: Instant, opened: Instant | None = None
) -> Fidelity:
    """Return how much of a note is shown.

    Args:
        note: its essence counts where it is of the present text.
        topics: the states of its topics.
        now: in ms since 1970.
        opened: when a person last opened it on this machine.
    """
    age = (now - note.updated_at) / DAY_MS
    if age < NEW_DAYS or not has_essence(note):
        return Fidelity.FULL
    lately = opened is not None and now - opened < NEW_DAYS * DAY_MS
    if age < LIVE_DAYS or TopicStatus.ACTIVE in topics or lately:
        return Fidelity.HIGH
    return Fidelity.SKELETON if topics and age >= OLD_DAYS else Fidelity.SUMMARY


def has_essence(note: Note) -> bool:
    """Say whether a note has an essence of its present text."""
    return bool(note.essence) and note.essence_of == note.made_of


def topics_of(topics: Iterable[Topic]) -> dict[EntityId, list[Topic]]:
    """Return the topics of each note, the active ones first; merged ones are left out."""
    found: dict[EntityId, list[Topic]] = {}
    standing = (topic for topic in topics if topic.status is not TopicStatus.MERGED)
    for topic in sorted(standing, key=lambda t: (t.status is not TopicStatus.ACTIVE, t.id)):
        for note in topic.note_ids:
            found.setdefault(note, []).append(topic)
    return found


def tiers(
    notes: Iterable[Note],
    topics: Mapping[EntityId, Collection[Topic]],
    now: Instant,
    opened: Mapping[str, Instant],
) -> dict[EntityId, Fidelity]:
    """Return how much of each note is shown; arguments as of `fidelity` and `topics_of`."""
    return {
        note.id: fidelity(note, [t.status for t in topics.get(note.id, ())], now, opened.get(note.id))
        for note in notes
    }


def theme(note: Note, topics: Collection[Topic]) -> str:
    """Return what a note is about, in few words: its topic, else a tag, else a concept, else ""."""
    named = (*(topic.title for topic in topics), *note.tags, *note.concepts)
    return next(iter(named), "")
