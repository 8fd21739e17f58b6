"""What is computed of notes: their essence, how much of each is shown, and the topics that they form.

An essence is few sentences of the text itself. A sentence counts by its cosine with the text's centroid and
its title, the earlier ones somewhat more; a second one is added where it adds something else and there is
room. How much of a note is shown is a function of its age, its topics and when it was last opened. Clusters
of notes become suggestions to change the topics that there are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from math import log

from forgekit.frozen import frozen, replace
from forgekit.ids import EntityId, text_hash, topic_id
from forgekit.model.entities import Note, Topic, TopicStatus
from forgekit.model.registry import Registry
from forgekit.model.rules import STATEMENT_LIMIT
from forgekit.text.blocks import brief
from forgekit.text.words import stop_words
from forgekit.times import DAY_MS, UNKNOWN, Instant

ESSENCE_LIMIT, DIGEST_LIMIT = 280, 560
"""Characters of the longest essence of a note, and of the longest digest of a topic."""
SENTENCES = 24
"""Sentences of a text that are considered: its first ones."""
PHRASES = 8
"""Phrases of a text that are considered."""
_POSITION = 0.2
_SAME = 0.75
_ENDS = ".!?\u3002\uff01\uff1f"
_CLOSE = 0.6
_LINK = re.compile(
    r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,400}\)|!?\[\[([^\]|\n]{1,200})(?:\|[^\]\n]{0,200})?\]\]"
)
_WORDS = re.compile(r"[^\W_][\w-]*")
_BREAK = re.compile(r"[^\w\s-]+")


def candidates(sentences: Iterable[str], text: str) -> list[str]:
    """Return what an essence may be made of: whole sentences that fit, else the text's first words.

    Args:
        sentences: of the text, unchanged.
    """
    plain = (_LINK.sub(lambda m: m[1] or m[2] or "", each).replace("`", "") for each in sentences)
    every = list(dict.fromkeys(" ".join(each.split()) for each in plain))
    whole = [each for each in every if _is_informative(each) and len(each) <= ESSENCE_LIMIT]
    if not whole:
        rest = " ".join(every) or " ".join(_LINK.sub(lambda m: m[1] or m[2] or "", text).split())
        whole = [brief(rest, ESSENCE_LIMIT)[:ESSENCE_LIMIT]] if rest else []
    return whole[:SENTENCES]


def conversation_text(stated: Iterable[str], *texts: str) -> str:
    """Return what the essence of a conversation is made of: a sentence for each record, and its texts."""
    sentences = (line if line[-1] in _ENDS else f"{line}." for line in stated)
    return "\n\n".join(filter(None, (*sentences, *texts)))


def _is_informative(sentence: str) -> bool:
    """Say whether a text is a sentence with words enough to be understood alone."""
    words = _WORDS.findall(sentence)
    letters = sum(map(str.isalpha, sentence))
    return len(words) > 3 and sentence[-1] in _ENDS and 2 * letters > len(sentence)


def choose(
    sentences: Sequence[str],
    central: Sequence[float],
    alike: Sequence[Sequence[float]],
    *,
    limit: int = ESSENCE_LIMIT,
    most: int = 2,
) -> str:
    """Return the sentences that say most, in the order of the text.

    Args:
        sentences: each no longer than `limit`.
        central: how near each is to the whole.
        alike: the cosine of each pair of them.
    """
    count = len(sentences)
    score = [value - _POSITION * at / count for at, value in enumerate(central)]
    order = sorted(range(count), key=lambda at: (-score[at], at))
    chosen: list[int] = []
    for at in order:
        room = limit - sum(len(sentences[one]) + 1 for one in chosen)
        worth = not chosen or score[at] >= _CLOSE * score[chosen[0]]
        if len(sentences[at]) <= room and worth and all(alike[at][one] < _SAME for one in chosen):
            chosen.append(at)
        if len(chosen) == most:
            break
    return " ".join(sentences[at] for at in sorted(chosen))


def phrases(title: str, text: str) -> list[str]:
    """Return the phrases that a text repeats, and those of its title: runs of words that say something."""
    counts: Counter[str] = Counter()
    passed_over = stop_words(f"{title}\n{text}")
    for weight, part in ((3, title), (1, text)):
        for run in _runs(part, passed_over):
            counts[run] += weight * (" " in run) + weight
    repeated = [(phrase, number) for phrase, number in counts.items() if len(phrase) > 3 and number > 1]
    return [phrase for phrase, _ in sorted(repeated, key=lambda item: (-item[1], item[0]))[:PHRASES]]


def _runs(text: str, passed_over: Collection[str]) -> Iterator[str]:
    """Yield the runs of one to three words that say something, as those of `passed_over` do not."""
    for piece in _BREAK.split(text):
        run: list[str] = []
        for word in [*_WORDS.findall(piece), "the"]:
            if word.casefold() in passed_over or word.isdigit():
                for size in (1, 2, 3):
                    for at in range(len(run) - size + 1):
                        yield " ".join(run[at : at + size]).casefold()
                run = []
            else:
                run.append(word)


NEW_DAYS, LIVE_DAYS, OLD_DAYS, IDLE_DAYS = 7, 90, 180, 60
"""Days for which a note is new and live, from which it is old, and after which a topic is idle."""


class Fidelity(Enum):
    """How much of a note is shown at most."""

    FULL = "full"  # title and text
    HIGH = "high"  # title, theme and text
    SUMMARY = "summary"  # title, theme and essence
    SKELETON = "skeleton"  # title and theme


def fidelity(note: Note, topics: Collection[TopicStatus], now: Instant, opened: Instant | None) -> Fidelity:
    """Return how much of a note is shown.

    Args:
        note: its essence counts where it is of the present text.
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
    current = (topic for topic in topics if topic.status is not TopicStatus.MERGED)
    for topic in sorted(current, key=lambda t: (t.status is not TopicStatus.ACTIVE, t.id)):
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


def fidelity_counts(registry: Registry, now: Instant, opened: Mapping[str, Instant]) -> dict[str, int]:
    """Return how many notes are shown in each fidelity; arguments as of `tiers`."""
    found = tiers(registry.notes, topics_of(registry.topics), now, opened)
    return dict(Counter(tier.value for tier in found.values()))


def theme(note: Note, topics: Collection[Topic]) -> str:
    """Return what a note is about, in few words: its topic, else a tag, else a concept, else ""."""
    named = (*(topic.title for topic in topics), *note.tags, *note.concepts)
    return next(iter(named), "")


LEAST = 3
"""Notes of the smallest topic."""
_SHARE = 5
"""One of so many notes of a topic has a phrase that names it."""


@frozen()
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
    part keeps the id. A cluster too small for a topic stays with the topic that has notes of it, and wakes
    that. Nothing here depends on the order of the arguments.

    Args:
        topics: all of the project, merged ones too.
        clusters: of their ids, disjoint.
    """
    known = {note.id: note for note in notes}
    every_group = sorted((sorted(group) for group in clusters), key=lambda group: (-len(group), group))
    groups = [group for group in every_group if len(group) >= LEAST]
    place = {note: at for at, group in enumerate(groups) for note in group}
    every = sorted(topics, key=lambda topic: topic.id)
    current = [topic for topic in every if topic.status is not TopicStatus.MERGED]
    shares = {t.id: Counter(place[n] for n in t.note_ids if n in place) for t in current}
    successor = {key: min(share, key=lambda at: (-share[at], at)) for key, share in shares.items() if share}
    home = {note: topic.id for topic in current if topic.id in successor for note in topic.note_ids}
    for small in every_group[len(groups) :]:
        topics_there = Counter(home[note] for note in small if note in home)
        if topics_there:
            nearest = min(topics_there, key=lambda key: (-topics_there[key], key))
            groups[successor[nearest]].extend(small)
    owner: dict[int, Topic] = {}
    for topic in sorted(current, key=lambda t: (-shares[t.id][successor.get(t.id, -1)], t.id)):
        if topic.id in successor:
            owner.setdefault(successor[topic.id], topic)
    taken = {topic.id for topic in topics}
    found: list[Suggestion] = []
    labels = Labels(known.values()) if len(owner) < len(groups) else None
    for at, group in enumerate(groups):
        members = [known[key] for key in group]
        what = "notes"
        if at in owner or labels is None:
            topic = owner[at]
        else:
            # The earliest note may have begun another topic before.
            key = next(k for k in (topic_id(members[0].project_uuid, n) for n in group) if k not in taken)
            taken.add(key)
            what = "split" if any(share[at] >= LEAST for share in shares.values()) else "new"
            topic = Topic(
                topic_id=key,
                title=brief(labels.label(members), STATEMENT_LIMIT),
                project_name=members[0].project_name,
                project_uuid=members[0].project_uuid,
                created_at=min(filter(None, (note.created_at for note in members)), default=UNKNOWN),
                updated_at=Instant(0),
            )
        found.append(_with_notes(topic, members, what, now))
    for topic in current:
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


class Labels:
    """Names groups of notes by the phrases that many of a group have, and few of all notes.

    A phrase of a title, and a key phrase, count twice as much as one of an essence, of which a single word
    names nothing.
    """

    def __init__(self, every: Iterable[Note]) -> None:
        self._of = {note.id: _weighed(note) for note in every}
        self._everywhere = Counter(phrase for own in self._of.values() for phrase in own)

    def label(self, members: Sequence[Note]) -> str:
        """Return up to three phrases, else the title of the earliest note."""
        shared: Counter[str] = Counter()
        weight: Counter[str] = Counter()
        for note in members:
            shared.update(self._of[note.id].keys())
            weight.update(self._of[note.id])
        least = max(2, len(members) / _SHARE)
        scores = {
            phrase: weight[phrase]
            * log((len(self._of) + 1) / self._everywhere[phrase])
            * (2 + phrase.count(" "))
            for phrase, number in shared.items()
            if number >= least and len(phrase) > 2 and (" " in phrase or weight[phrase] > number)
        }
        best: list[str] = []
        begun: set[str] = set()  # of words, so that no word is named beside its plural
        for phrase, score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
            begins = {word[:5] for word in phrase.split()}
            if 2 * score >= scores[best[0] if best else phrase] and begun.isdisjoint(begins):
                best.append(phrase)
                begun |= begins
        return ", ".join(best[:3]) or min(members, key=lambda note: (note.created_at, note.id)).title


def _weighed(note: Note) -> Counter[str]:
    passed_over = stop_words(f"{note.title}\n{note.text}")
    concepts = (each for each in note.concepts if each not in passed_over)
    own = Counter(dict.fromkeys(_runs(note.essence or "", passed_over), 1))
    return own | Counter(dict.fromkeys((*_runs(note.title, passed_over), *concepts), 2))


def digest_of(topic: Topic, note: Callable[[EntityId], Note | None]) -> tuple[str, str]:
    """Return the essences of a topic's notes as one text, the latest first, and the hash of that."""
    found = (note(key) for key in topic.note_ids)
    notes = sorted((n for n in found if n is not None), key=lambda n: (-n.updated_at, n.id))
    essences = "\n\n".join(n.essence or "" for n in notes if has_essence(n))
    return essences, text_hash(f"{topic.title}\n{essences}")
