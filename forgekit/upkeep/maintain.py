"""What notes need from time to time: essences, topics, digests and the day's summary; and what runs that.

Each step changes nothing when repeated. Essences are committed every few seconds, the last ones together with
topics and digests. An interrupted run loses no more than those seconds, and the next one goes on from there.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from forgekit.errors import UsageError
from forgekit.forge import COMMITTED, Forge, WriteOptions, reading
from forgekit.ids import EntityId, text_hash
from forgekit.insight.notes import (
    DIGEST_LIMIT,
    Suggestion,
    conversation_text,
    digest_of,
    fidelity_counts,
    has_essence,
    suggest,
    topics_of,
)
from forgekit.model.entities import (
    Conflict,
    Conversation,
    Decision,
    Entity,
    Note,
    Thread,
    Topic,
    TopicStatus,
    part_id,
)
from forgekit.model.kinds import UNSORTED, Kind, short_id
from forgekit.model.registry import Registry
from forgekit.models.choice import find_distiller
from forgekit.models.encoder import Missing
from forgekit.text.blocks import count, disagreements
from forgekit.times import DAY_MS, Instant, format_date
from forgekit.worktree import local_state

if TYPE_CHECKING:  # the look at whether anything is due does without what writing needs
    from forgekit.change import Written
    from forgekit.models.essences import Distiller, Essence
    from forgekit.store import Change

SOURCE = "daily:"
"""Begins the source of each daily summary."""
STEPS = ("distil", "threads", "reconsolidate", "digests", "fidelity", "daily")
_PAUSE_S, _PAUSE_COMMITS = 3.0, 20
"""Seconds between two commits of essences at least, and how many times as long as the last one took."""
_BEGINNING = 8_000
"""Characters of a conversation's kept text that its essence is made of."""
_AT_ONCE = 16
"""Texts that are distilled together."""
Progress = Callable[[int, int], None]
_SYSTEMD = """\
# ~/.config/systemd/user/forgekit-maintain.service
[Unit]
Description=Maintain the notes of a forgekit registry

[Service]
Type=oneshot
Nice=10
ExecStart={command}

# ~/.config/systemd/user/forgekit-maintain.timer
[Unit]
Description=Maintain the notes of a forgekit registry every hour

[Timer]
OnCalendar=hourly
Persistent=true

[Install]
WantedBy=timers.target

# then: systemctl --user enable --now forgekit-maintain.timer
"""
_LAUNCHD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ~/Library/LaunchAgents/forgekit.maintain.plist; then: launchctl load that file -->
<plist version="1.0">
<dict>
  <key>Label</key><string>forgekit.maintain</string>
  <key>ProgramArguments</key>
  <array>
{command}
  </array>
  <key>StartInterval</key><integer>3600</integer>
  <key>LowPriorityIO</key><true/>
</dict>
</plist>
"""


@dataclass(kw_only=True, slots=True)
class Maintained:
    """What a run did, or would do.

    Attributes:
        due: whether anything was to be looked at.
        unmade: titles of texts for which none could be made.
        failures: how many of them, by the reason.
        tiers: notes by how much of them is shown.
        missing: why nothing was distilled, or "".
    """

    due: bool = True
    essences: int = 0
    digests: int = 0
    unmade: list[str] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    suggestions: tuple[Suggestion, ...] = ()
    applied: bool = False
    tiers: Mapping[str, int] = field(default_factory=dict)
    missing: str = ""
    commits: list[str] = field(default_factory=list)
    diff: str = ""

    def fail(self, title: str, why: str) -> None:
        """Note that no essence or digest of a text could be made."""
        self.unmade.append(title)
        self.failures[why] += 1


def maintain(
    forge: Forge,
    *,
    only: str | None = None,
    progress: Progress | None = None,
    options: WriteOptions = COMMITTED,
) -> Maintained:
    """Run the steps that are due.

    Args:
        only: one of `STEPS`; it runs even where nothing seems due.
        progress: called with the texts that are distilled, and of how many.
    """
    forge.catalogue.refresh()
    before = local_state.read(forge.root, local_state.MAINTAINED)
    report = Maintained(applied=forge.settings.apply_topics)
    if only is None and before.get("state") == _stamp(forge):
        return replace(report, due=False)
    steps = STEPS if only is None else (only,)
    if not options.dry_run:
        _undo_leftovers(forge, options)
    if only is None or only == "daily":
        report.commits += filter(None, [None if options.dry_run else _yesterday(forge, options)])
    distiller = find_distiller(forge.settings, forge.encoder)
    if isinstance(distiller, Missing):
        report.missing = str(distiller)
    else:
        _distil(forge, distiller, steps, report, progress, options)
    if "fidelity" in steps:
        report.tiers = fidelity_counts(forge.registry(), forge.now(), local_state.opened(forge.root))
    if only is None and not (options.dry_run or options.no_commit):
        forge.catalogue.refresh()
        done = "" if report.unmade or report.missing else _stamp(forge)
        run = {"state": done, "at": forge.now(), "failed": len(report.unmade)}
        local_state.write(forge.root, local_state.MAINTAINED, run)
    return report


def _undo_leftovers(forge: Forge, options: WriteOptions) -> None:
    """Let the store undo what a killed write left, before this run takes it for what is registered."""
    from forgekit.store import Change

    forge.commit(lambda: Change(subject="note: maintain"), options)


def note_threads(
    forge: Forge, *, action: str | None = None, options: WriteOptions = COMMITTED
) -> tuple[Maintained, list[Topic], dict[tuple[EntityId, EntityId], float]]:
    """Return how the topics would change, or apply it in one commit; with them, and what they are close to.

    Args:
        action: `apply`, else nothing is written.
    """
    distiller = find_distiller(forge.settings, forge.encoder)
    report = Maintained(applied=action == "apply")
    if isinstance(distiller, Missing):
        report.missing = str(distiller)
    elif report.applied:
        _distil(forge, distiller, ("threads", "digests"), report, None, options)
    else:
        report.suggestions = tuple(suggestions(forge))
    registry = forge.registry()
    topics = [topic for topic in registry.topics if topic.status is not TopicStatus.MERGED]
    return report, topics, _links(forge, topics)


def _links(forge: Forge, topics: Iterable[Topic]) -> dict[tuple[EntityId, EntityId], float]:
    """Return the cosines of topics with open threads and active decisions that are close to them."""
    if forge.vectors is None:
        return {}
    from forgekit.search import CLOSE, update_vectors

    update_vectors(forge, forge.vectors)
    others = forge.catalogue.matching(kinds=(Kind.DECISION,), status="active")
    others |= forge.catalogue.matching(kinds=(Kind.THREAD,), status="open")
    pairs = forge.vectors.pairs([topic.id for topic in topics], others, CLOSE)
    return {(EntityId(a), EntityId(b)): cosine for (a, b), cosine in pairs.items()}


def _distil(
    forge: Forge,
    distiller: Distiller,
    steps: Iterable[str],
    report: Maintained,
    progress: Progress | None,
    options: WriteOptions,
) -> None:
    made: dict[EntityId, tuple[str, Essence]] = {}
    due = list(_without_essence(forge)) if "distil" in steps else []
    pause, begun = _PAUSE_S, time.monotonic()
    for start in range(0, len(due), _AT_ONCE):
        some = due[start : start + _AT_ONCE]
        found = distiller.distil([(title, text) for *_, title, text in some])
        for (key, digest, title, _), essence in zip(some, found, strict=True):
            if essence.text:
                made[key] = digest, essence
            else:
                report.fail(title, essence.why)
            if made and not options.dry_run and time.monotonic() - begun >= pause:
                before = time.monotonic()
                _commit(forge, distiller, made, (), report, options)
                made, begun = {}, time.monotonic()
                pause = max(_PAUSE_S, _PAUSE_COMMITS * (begun - before))
        if progress is not None:
            progress(min(start + _AT_ONCE, len(due)), len(due))
    _commit(forge, distiller, made, steps, report, options)


def _without_essence(forge: Forge) -> Iterator[tuple[EntityId, str, str, str]]:
    """Yield id, hash, title and text of each note and conversation without an essence of its text."""
    registry = forge.registry()
    for note in registry.notes:
        if not has_essence(note):
            yield note.id, note.made_of, note.title, note.text
    stated: dict[EntityId | None, list[str]] = {}
    for decision in registry.decisions:
        stated.setdefault(decision.originated_in, []).append(decision.decision)
    for thread in registry.threads:
        stated.setdefault(thread.first_seen_in, []).append(thread.title)
    for each in registry.conversations:
        kept = forge.catalogue.entity(part_id(each.id, 1, each.created_at))
        begins = kept.body[:_BEGINNING] if kept is not None else ""
        text = conversation_text(stated.get(each.id, ()), each.body, begins)
        digest = text_hash(f"{each.title}\n{text}")
        if each.essence_of != digest and any(map(str.isalnum, text)):
            yield each.id, digest, each.title, text


def _commit(
    forge: Forge,
    distiller: Distiller,
    made: Mapping[EntityId, tuple[str, Essence]],
    steps: Iterable[str],
    report: Maintained,
    options: WriteOptions,
) -> None:
    """Write essences, then the topics and digests that follow from all of them."""
    from forgekit.store import Change

    every = "threads" in steps
    groups = list(_clusters(forge, every=every)) if every or "reconsolidate" in steps else []
    digests: dict[str, str] = {}
    found: list[Suggestion] = []
    counts: Counter[str] = Counter()

    def change() -> Change:
        registry = forge.registry()
        writes: dict[EntityId, Entity] = {e.id: e for e in _condensed(registry, made, distiller.name)}
        notes = {note.id: note for note in registry.notes}
        notes |= {key: entity for key, entity in writes.items() if isinstance(entity, Note)}
        counts.clear()
        counts["essence"] = len(writes)
        topics = {topic.id: topic for topic in registry.topics}
        found[:] = _suggestions(registry, notes, groups, forge.now())
        if report.applied:
            changed = {each.topic.id: each.topic for each in found}
            topics |= changed
            writes |= changed
        if "digests" in steps:
            for topic in topics.values():
                essences, digest = digest_of(topic, notes.get)
                if topic.status is TopicStatus.MERGED or not essences or topic.digest_of == digest:
                    continue
                if digest not in digests:
                    digests[digest] = _digest(distiller, topic, essences, report)
                if digests[digest]:
                    new: dict[str, Any] = {"digest_of": digest, "digest_by": distiller.name}
                    writes[topic.id] = replace(topic, digest=digests[digest], **new)
                    counts["digest"] += 1
        counts["topic"] = len(found) if report.applied else 0
        parts = [count(number, name) for name, number in counts.items() if number]
        return Change(
            writes=tuple(writes.values()),
            subject=f"note: maintain {', '.join(parts)}",
            trailers=(("Forgekit-Op", "maintain"),),
        )

    blobs = dict(forge.catalogue.contents())
    outcome = forge.commit(change, options)
    report.essences += counts["essence"]
    report.digests += counts["digest"]
    report.suggestions += tuple(found)
    report.diff += outcome.diff
    if outcome.commit is not None:
        report.commits.append(outcome.commit)
        if forge.vectors is not None:  # an essence changes a file, not what its vector is made of
            forge.catalogue.refresh()
            now = dict(forge.catalogue.contents())
            changed = (entity.id for entity in outcome.change.writes if not isinstance(entity, Topic))
            forge.vectors.copy({now[key]: blobs[key] for key in changed if key in now and key in blobs})


def _digest(distiller: Distiller, topic: Topic, essences: str, report: Maintained) -> str:
    """Return what the notes of a topic say together; where nothing could be made, the report names it."""
    (found,) = distiller.distil([(topic.title, essences)], DIGEST_LIMIT)
    if not found.text:
        report.fail(topic.title, found.why)
    return found.text


def _condensed(
    registry: Registry, made: Mapping[EntityId, tuple[str, Essence]], maker: str
) -> Iterator[Note | Conversation]:
    """Yield what got an essence; its hash says of which text."""
    for key, (digest, essence) in made.items():
        entity = registry.get(key)
        if isinstance(entity, Note | Conversation) and entity.essence_of != digest:
            values: dict[str, Any] = {"concepts": essence.concepts} if isinstance(entity, Note) else {}
            yield replace(entity, essence=essence.text, essence_of=digest, essence_by=maker, **values)


def _clusters(forge: Forge, *, every: bool = True) -> Iterator[list[EntityId]]:
    """Yield the clusters of each project's notes; daily summaries belong to none.

    Args:
        every: whether notes that belong to no topic yet are in them.
    """
    vectors = forge.vectors
    if vectors is None:
        return
    from forgekit.search import update_vectors

    forge.catalogue.refresh()
    update_vectors(forge, vectors)
    of_project: dict[EntityId, list[str]] = {}
    registry = forge.registry()
    inside = topics_of(registry.topics)
    for note in registry.notes:
        if not (note.source or "").startswith(SOURCE):
            of_project.setdefault(note.project_uuid, []).append(note.id)
    for keys in of_project.values():
        for group in vectors.clusters(keys):
            members = [key for key in map(EntityId, group) if every or key in inside]
            if len(members) > 1:
                yield members


def _suggestions(
    registry: Registry, notes: Mapping[EntityId, Note], groups: Iterable[list[EntityId]], now: Instant
) -> list[Suggestion]:
    whole = [[key for key in group if key in notes] for group in groups]
    if not whole:
        return []
    found: list[Suggestion] = []
    for project in sorted({note.project_uuid for note in notes.values()}):
        own = [note for note in notes.values() if note.project_uuid == project]
        topics = [topic for topic in registry.topics if topic.project_uuid == project]
        clusters = [group for group in whole if group and notes[group[0]].project_uuid == project]
        found += suggest(topics, own, clusters, now)
    return found


@reading
def suggestions(forge: Forge) -> list[Suggestion]:
    """Return how the topics would change now."""
    registry = forge.registry()
    notes = {note.id: note for note in registry.notes}
    return _suggestions(registry, notes, list(_clusters(forge)), forge.now())


def _stamp(forge: Forge) -> str:
    """Name all that a run depends on: the files, the settings, the day."""
    settings = forge.settings.essences, forge.settings.apply_topics
    parts = [forge.catalogue.contents(), *settings, format_date(forge.now())]
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def daily(
    forge: Forge,
    *,
    date: Instant | None = None,
    project: str | None = None,
    options: WriteOptions = COMMITTED,
) -> Written | None:
    """Write the summary of a day as a note, None where nothing happened; the same day again updates it.

    Args:
        date: a moment of the day, in UTC, else now.
        project: summarise this one alone; else all, in a note of the default or only project or `Unsorted`.

    Raises NotFoundError for a project that is not known.
    """
    from forgekit.notes import add
    from forgekit.text.secrets import redact

    at = Instant((date if date is not None else forge.now()) // DAY_MS * DAY_MS)
    registry = forge.registry()
    only = forge.known_project(project, registry).project_name if project is not None else None
    text = redact(_summary(forge, registry, at, only)).text  # a person may have allowed one once
    if not text:
        return None
    owner, day = only or forge.project(None, registry, required=False) or UNSORTED, format_date(at)
    source = f"{SOURCE}{day}" + (f" {only}" if only else "")
    return add(forge, text, title=f"Summary of {day}", project=owner, at=at, source=source, options=options)


def _yesterday(forge: Forge, options: WriteOptions) -> str | None:
    """Write the summary of the day before, where anything happened and no summary is there."""
    at, registry = Instant((forge.now() // DAY_MS - 1) * DAY_MS), forge.registry()
    if any(note.source == f"{SOURCE}{format_date(at)}" for note in registry.notes):
        return None
    written = daily(forge, date=at, options=options)
    return written.outcome.commit if written is not None else None


def _summary(forge: Forge, registry: Registry, at: Instant, project: str | None = None) -> str:
    """Return what happened on the day that begins at a moment, as Markdown; "" where nothing did.

    Args:
        project: its name; None for all.
    """
    from forgekit.findings import findings_of
    from forgekit.history import out_of_force, settlings
    from forgekit.insight.staleness import open_conflicts, stale_by

    def own(entity: Decision | Thread | Note) -> bool:
        return project in (None, entity.project_name)

    def on_day(moment: Instant | None) -> bool:
        return moment is not None and at <= moment < at + DAY_MS

    def line(entity: Entity) -> str:
        state = ""
        if isinstance(entity, (Decision, Thread)) and entity.status.ended:
            state = f" [{entity.status.value}]"
        elif isinstance(entity, Conflict):
            sides = (getattr(registry.get(side), "title", side) for side in entity.sides)
            state = f" [{entity.status.value}: {' | '.join(sides)}]"
        return f"- {short_id(entity.kind, entity.id)}: {entity.title}{state}"

    mine = {d.id: d for d in registry.decisions if own(d)}
    disputes = [c for c in registry.conflicts if not mine.keys().isdisjoint(c.sides)]
    ended, settled = out_of_force(forge, registry), settlings(forge, disputes)
    written = (note for note in registry.notes if not (note.source or "").startswith(SOURCE))
    parts: list[tuple[str, Iterable[Entity]]] = [
        ("Decided", [d for d in mine.values() if on_day(d.created_at)]),
        ("No longer in force", [d for d in mine.values() if on_day(ended.get(d.id))]),
        ("Conflicts settled", [c for c in disputes if on_day(settled.get(c.id))]),
        ("Opened", [t for t in registry.threads if own(t) and on_day(t.created_at)]),
        ("Resolved", [t for t in registry.threads if own(t) and t.status.ended and on_day(t.updated_at)]),
        ("Noted", [note for note in written if own(note) and on_day(note.updated_at)]),
    ]
    sections = [f"{heading}:\n\n" + "\n".join(map(line, entities)) for heading, entities in parts if entities]
    if not sections or at + DAY_MS <= forge.now():  # what was stale on a past day, the files do not say
        return "\n\n".join(sections)
    old = stale_by(forge.settings, registry, forge.now(), among=mine)
    noted = [c for c in open_conflicts(registry) if c in disputes]
    against = findings_of(forge, registry, mine, wait_ms=0).conflicts
    return "\n\n".join(
        [*sections, f"Stale decisions: {len(old)}. {disagreements(len(noted), len(against))}."]
    )


def schedule(forge: Forge, *, system: str) -> str:
    """Return the unit of a scheduler, one of `systemd`, `launchd`, `cron`.

    Raises UsageError for a folder whose name no unit can hold.
    """
    words = [sys.executable, "-m", "forgekit", "-C", str(forge.root), "maintain"]
    if not all(word.isprintable() for word in words):
        raise UsageError(f"the name of the folder {str(forge.root)!r} cannot stand in a unit; rename it")
    if system == "launchd":
        from xml.sax.saxutils import escape

        return _LAUNCHD.format(command="\n".join(f"    <string>{escape(word)}</string>" for word in words))
    if system == "cron":
        return "7 * * * * " + shlex.join(words).replace("%", "\\%") + "\n"
    quoted = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    command = " ".join(f'"{word}"' for word in quoted).replace("%", "%%").replace("$", "$$")
    return _SYSTEMD.format(command=command)
