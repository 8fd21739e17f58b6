"""Clones that edit and merge in any order, with clocks a year apart; and everything that was ever written.

A schedule works on commits alone: what a clone checks out has no part in what a merge comes to. Clones
share through a hub, and now and then straight with each other, so that merges cross.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from repositories import BORN, PROJECT, TALK, decision

from forgekit.git.commits import build_commit
from forgekit.git.repository import Repository
from forgekit.ids import thread_id
from forgekit.merge import conflicting_edits
from forgekit.model.entities import (
    Conversation,
    Decision,
    DecisionStatus,
    Entity,
    Project,
    Thread,
    ThreadStatus,
    entity_path,
)
from forgekit.model.rules import with_section
from forgekit.sharing import bring_together
from forgekit.text import codec
from forgekit.text.edit import update
from forgekit.times import Instant
from forgekit.worktree import files

YEAR_MS = 365 * 86_400_000


def thread(title: str) -> Thread:
    return Thread(
        thread_id=thread_id(PROJECT, title, TALK),
        title=title,
        project_name="The Nexus",
        project_uuid=PROJECT,
        created_at=BORN,
        updated_at=BORN,
        tags=("seed",),
        body="What is it about?",
    )


SEEDS: list[Entity] = [
    Project(project_uuid=PROJECT, project_name="The Nexus"),
    Conversation(
        conversation_id=TALK,
        title="Resource ids",
        project_name="The Nexus",
        project_uuid=PROJECT,
        created_at=BORN,
    ),
    thread("Design pagination"),
    thread("Name the tables"),
    decision("Use UUID v7", "Sortable."),
    decision("Use cursors", "Stable."),
]


@dataclass(eq=False)
class Edit:
    """One value that somebody wrote; it must be found at the end unless somebody who saw it took it out."""

    path: str
    name: str
    value: str
    covered: bool = False


@dataclass
class Clone:
    tip: str
    skew: int
    known: set[Edit] = field(default_factory=set)


class World:
    """Some clones, a hub, and everything that was ever written."""

    def __init__(self, repository: Repository, start: str, count: int, chance: random.Random) -> None:
        self.repository = repository
        self.chance = chance
        self.hub = start
        self.hub_known: set[Edit] = set()
        self.clones = [Clone(start, chance.randint(-YEAR_MS, YEAR_MS)) for _ in range(count)]
        self.edits: list[Edit] = []
        self.clock = BORN
        self.validated: dict[str, int] = {}

    def value(self) -> str:
        return f"value-{len(self.edits)}-{self.chance.randint(0, 9999)}"

    def moment(self, clone: Clone) -> Instant:
        self.clock = Instant(self.clock + 3_600_000)
        return Instant(self.clock + clone.skew)

    def text(self, clone: Clone, path: str) -> str | None:
        blob = self.repository.blob_id(clone.tip, path)
        return None if blob is None else self.repository.read_blob(blob).decode()

    def write(self, clone: Clone, contents: dict[str, bytes | None]) -> None:
        clone.tip = build_commit(self.repository, clone.tip, contents, "edit")

    def note(self, clone: Clone, path: str, name: str, value: str) -> None:
        for edit in clone.known:
            if (edit.path, edit.name) == (path, name):
                edit.covered = True
        edit = Edit(path, name, value)
        self.edits.append(edit)
        clone.known.add(edit)

    def edit(self, clone: Clone) -> None:
        """Change one thing in one file, as a person or a command would."""
        path = entity_path(self.chance.choice(SEEDS))
        text = self.text(clone, path)
        if text is None:
            return
        entity, _ = files.parse(path, text.encode())
        made = self.chance.choice(EDITS)(self, clone, entity, self.value())
        if made is None:
            return
        changed, name, value, more = made
        if changed == entity:
            return
        self.write(clone, {path: update(text, changed).encode(), **more})
        self.note(clone, path, name, value)

    def delete(self, clone: Clone) -> None:
        path = entity_path(self.chance.choice(SEEDS[2:]))
        text = self.text(clone, path)
        if text is not None:
            self.write(clone, {path: None})
            seen = getattr(files.parse(path, text.encode())[0], "last_validated", 0)
            if seen >= self.validated.get(path, 0):
                self.validated.pop(path, None)
            for edit in clone.known:
                edit.covered = edit.covered or edit.path == path

    def choose(self, clone: Clone) -> None:
        """Look at what yielded in a file, and take it out."""
        path = entity_path(self.chance.choice(SEEDS))
        text = self.text(clone, path)
        if text is None or conflicting_edits.HEADING not in text:
            return
        entity: Any = files.parse(path, text.encode())[0]
        body, _ = conflicting_edits.split_entries(entity.body)
        chosen = update(text, replace(entity, body=body))
        self.write(clone, {path: chosen.encode()})
        for edit in clone.known:
            edit.covered = edit.covered or (edit.path == path and edit.value not in chosen)

    def share(self, clone: Clone) -> None:
        clone.tip = self.hub = bring_together(self.repository, clone.tip, self.hub)[0]
        clone.known |= self.hub_known
        self.hub_known = set(clone.known)

    def meet(self, clone: Clone, other: Clone) -> None:
        """Merge each other's work at the same time: the merges cross."""
        mine, yours = clone.tip, other.tip
        clone.tip = bring_together(self.repository, mine, yours)[0]
        other.tip = bring_together(self.repository, yours, mine)[0]
        clone.known |= other.known
        other.known |= clone.known

    def step(self) -> None:
        clone = self.chance.choice(self.clones)
        match self.chance.choices(range(5), (12, 4, 1, 0.4, 0.6))[0]:
            case 0:
                self.edit(clone)
            case 1:
                self.share(clone)
            case 2:
                self.meet(clone, self.chance.choice([c for c in self.clones if c is not clone]))
            case 3:
                self.delete(clone)
            case _:
                self.choose(clone)

    def end(self) -> None:
        """Let each clone share twice, each time in some order."""
        for _ in range(2):
            for clone in self.chance.sample(self.clones, len(self.clones)):
                self.share(clone)

    def missing(self) -> Iterator[str]:
        """Yield what was written and cannot be found."""
        blobs = self.repository.blobs(self.hub)
        texts = {path: self.repository.read_blob(blob).decode() for path, blob in blobs.items()}
        for edit in self.edits:
            if edit.covered:
                continue
            where = texts.get(edit.path, "")
            if edit.name == "superseded_by":
                where = "".join(text for path, text in texts.items() if edit.value not in path)
            if edit.value not in where:
                yield f"{edit.path}: {edit.name}: {edit.value}"
        for path, text in texts.items():
            if files.entity_of_path(path) is not None:
                entity, _ = files.parse(path, text.encode())
                if isinstance(entity, Decision) and entity.last_validated < self.validated.get(path, 0):
                    yield f"{path}: last_validated"


Made = tuple[Entity, str, str, dict[str, bytes | None]] | None


def title(_: World, __: Clone, entity: Any, value: str) -> Made:
    if isinstance(entity, Decision | Project):
        return None
    return replace(entity, title=value), "title", value, {}


def tag(world: World, clone: Clone, entity: Any, value: str) -> Made:
    if entity.tags and world.chance.random() < 0.3:
        gone = world.chance.choice(entity.tags)
        for edit in clone.known:
            edit.covered = edit.covered or edit.value == gone
        return replace(entity, tags=tuple(t for t in entity.tags if t != gone)), f"-{gone}", "", {}
    return replace(entity, tags=(*entity.tags, value)), value, value, {}


def section(world: World, _: Clone, entity: Any, value: str) -> Made:
    name = world.chance.choice(("Rationale", "Context", "Aside", None))
    body = with_section(entity.body, name, f"It is {value}\nbecause.")
    return replace(entity, body=body), f"## {name}", value, {}


def unknown(world: World, _: Clone, entity: Any, value: str) -> Made:
    key = world.chance.choice(("owner", "x-team"))
    return replace(entity, extra={**entity.extra, key: value}), key, value, {}


def end(world: World, clone: Clone, entity: Any, value: str) -> Made:
    if not isinstance(entity, Thread) or entity.status.ended:
        return None
    status = world.chance.choice((ThreadStatus.RESOLVED, ThreadStatus.ABANDONED))
    ended = replace(entity, status=status, updated_at=world.moment(clone), resolved_in=TALK)
    return replace(ended, body=with_section(entity.body, "Resolution", value)), "## Resolution", value, {}


def validate(world: World, clone: Clone, entity: Any, value: str) -> Made:
    if not isinstance(entity, Decision):
        return None
    moment = max(entity.last_validated, world.moment(clone))
    path = entity_path(entity)
    world.validated[path] = max(moment, world.validated.get(path, 0))
    return replace(entity, last_validated=moment), value, "", {}


def revise(_: World, __: Clone, entity: Any, value: str) -> Made:
    if not isinstance(entity, Decision) or entity.status.ended:
        return None
    successor = decision(f"Use {value}")
    old = replace(entity, status=DecisionStatus.REVISED, superseded_by=successor.id)
    return old, "superseded_by", successor.id, {entity_path(successor): codec.dumps(successor).encode()}


EDITS: tuple[Callable[[World, Clone, Any, str], Made], ...] = (
    *(title, tag, tag, section, section),
    *(unknown, end, validate, revise),
)
