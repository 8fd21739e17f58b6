"""Topics over time: clusters of notes become suggestions to change the topics that there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from forgekit.ids import EntityId, text_hash, topic_id
from forgekit.insight.fidelity import IDLE_DAYS, has_essence
from forgekit.model.entities import Note, Topic, TopicStatus
from forgekit.times import DAY_MS, Instant

LEAST = 3
"""Notes of the smallest topic."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A topic as it would be, and what is new about it.

    Attributes:
        what: `new`, `split`, `merge`, `notes`, `archive`, `reactivate` or `empty`.
        added, removed: notes that come and go.
    """

    what: str
    topic: Topic
    added: int = 0
    removed: int = 0


def suggest(
    topics: Sequence[Topic], notes: Iterable[Note], clusters: Iterable[Sequence[EntityId]], now: Instant
) -> list[Suggestion]:
    """Return how the topics of a project would change so that each cluster is one of them.

    A cluster keeps the id of the topic that gave it most notes, as long as it has most of that topic's; a
    topic whose notes went to another's cluster is merged into it; of a topic that fell apart, the largest
    part keeps the id. Nothing here depends on the order of the arguments.

    Args:
        topics: all of the project, merged ones too.
        notes: of the project.
        clusters: of their ids, disjoint.
        now: in ms since 1970.
    """
    known = {note.id: note for note in notes}
    groups = sorted((sorted(group) for group in clusters), key=lambda group: (-len(group), group))
    place = {note: at for at, group in enumerate(groups) for note in group}
    every = sorted(topics, key=lambda topic: topic.id)
    standing = [topic for topic in every if topic.status is not TopicStatus.MERGED]
    shares = {t.id: Counter(place[n] for n in t.note_ids if n in place) for t in standing}
    successor = {key: min(share, key=lambda at: (-share[at], at)) for key, share in shares.items() if share}
    owner: dict[int, Topic] = {}
    for topic in sorted(standing, key=lambda t: (-shares[t.id][successor.get(t.id, -1)], t.id)):
        if topic.id in successor:
            owner.setdefault(successor[topic.id], topic)
    taken = {topic.id for topic in topics}
    found: list[Suggestion] = []
    for at, group in enumerate(groups):
        members = [known[key] for key in group]
        what = "notes"
        if at in owner:
            topic = owner[at]
        else:
            # The earliest note may have begun another topic before.
            key = next(k for k in (topic_id(members[0].project_uuid, n) for n in group) if k not in taken)
            taken.add(key)
            what = "split" if any(share[at] >= LEAST for share in shares.values()) else "new"
            topic = Topic(
                topic_id=key,
                title=label(members),
                project_name=members[0].project_name,
                project_uuid=members[0].project_uuid,
                created_at=min(note.created_at for note in members),
                updated_at=Instant(0),
            )
        found.append(_with_notes(topic, members, what, now))
    for topic in standing:
        if topic.id in successor and (into := owner[successor[topic.id]]) is not topic:
            merged = replace(topic, status=TopicStatus.MERGED, merged_into=into.id)
            found.append(Suggestion("merge", merged))
        elif topic.id not in successor:
            found.append(_with_notes(topic, [known[n] for n in topic.note_ids if n in known], "notes", now))
    before = {topic.id: topic for topic in topics}
    return [each for each in found if before.get(each.topic.id) != each.topic]


def _with_notes(topic: Topic, members: Sequence[Note], what: str, now: Instant) -> Suggestion:
    ids = tuple(sorted(note.id for note in members))
    last = max((note.updated_at for note in members), default=topic.updated_at)
    idle = now - last > IDLE_DAYS * DAY_MS
    status = TopicStatus.ARCHIVED if idle else TopicStatus.ACTIVE
    if what == "notes" and status is not topic.status:
        what = "archive" if idle else "reactivate"
    new = replace(topic, note_ids=ids, status=status, updated_at=last)
    return Suggestion(
        what, new, len(set(ids).difference(topic.note_ids)), len(set(topic.note_ids).difference(ids))
    )


def label(members: Sequence[Note]) -> str:
    """Return the key phrases that most of some notes share, else the title of the earliest."""
    counts = Counter(concept for note in members for concept in dict.fromkeys(note.concepts))
    shared = [(phrase, number) for phrase, number in counts.items() if number > 1]
    best: list[str] = []
    for phrase, _ in sorted(shared, key=lambda item: (-item[1] * (1 + item[0].count(" ")), item[0])):
        if all(phrase not in other and other not in phrase for other in best):
            best.append(phrase)
    return ", ".join(best[:2]) or min(members, key=lambda note: (note.created_at, note.id)).title


def digest_of(topic: Topic, note: Callable[[EntityId], Note | None]) -> tuple[str, str]:
    """Return the essences of a topic's notes as one text, the latest first, and the hash of that."""
    found = (note(key) for key in topic.note_ids)
    notes = sorted((n for n in found if n is not None), key=lambda n: (-n.updated_at, n.id))
    essences = "\n\n".join(n.essence or "" for n in notes if has_essence(n))
    return essences, text_hash(f"{topic.title}\n{essences}")
