"""The registry against a model: a dictionary of what must be there, after each of many random steps."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pygit2
import pytest
from clone_schedules import SEEDS
from git_clones import template
from guarantees import Level, Report
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from repositories import TALK, decision, git

from forgekit import threads
from forgekit.archives.read import ImportOptions
from forgekit.errors import DirtyFileError
from forgekit.filing.archives import Incoming, sync_compression
from forgekit.forge import Forge
from forgekit.git import publish
from forgekit.merge.merge import reconcile
from forgekit.model.entities import Entity, Thread, ThreadStatus, entity_path
from forgekit.sharing import bring_together
from forgekit.store import Change
from forgekit.text import codec

ARCHIVES = sorted((Path(__file__).parent.parent / "cases" / "archives").glob("*.md"))
WORDS = st.sampled_from(("cursors", "ledger", "pages", "ids", "tables", "queue"))
Model = dict[str, Entity]


class Killed(BaseException):
    """What ends a write from outside."""


class Registry(RuleBasedStateMachine):
    """One work tree with its branches; `model` is what must be seen in it."""

    source: Path
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(mkdtemp(dir=self.source.parent)) / "registry"
        shutil.copytree(self.source, self.root)
        self.forge = Forge.open(self.root)
        self.model: Model = {entity_path(entity): entity for entity in SEEDS}
        self.dirty: set[str] = set()
        self.branches: dict[str, Model] = {}
        self.number = 0

    def teardown(self) -> None:
        shutil.rmtree(self.root.parent)

    @initialize()
    def begin(self) -> None:
        self.branches = {"main": dict(self.model)}

    def value(self) -> str:
        self.number += 1
        return f"value {self.number}"

    @property
    def branch(self) -> str:
        return self.forge.store.repository.head().ref.removeprefix("refs/heads/")

    def committed(self, *entities: Entity) -> None:
        for entity in entities:
            self.model[entity_path(entity)] = entity
            self.branches[self.branch][entity_path(entity)] = entity

    def write(self, entity: Entity) -> None:
        """Write through the store, which refuses what somebody has not committed yet."""
        change = Change(writes=(entity,), subject="edit: by a test")
        path = entity_path(entity)
        if path in self.dirty:
            with pytest.raises(DirtyFileError):
                self.forge.store.commit(lambda: change)
        else:
            self.forge.store.commit(lambda: change)
            self.committed(entity)

    def any_of(self, data: st.DataObject, *kinds: type) -> Any:
        found = [path for path, entity in self.model.items() if isinstance(entity, kinds or (object,))]
        return self.model[data.draw(st.sampled_from(sorted(found)))] if found else None

    @rule(word=WORDS)
    def create(self, word: str) -> None:
        path = entity_path(self.thread(word))
        before = self.model.get(path)
        if before is None and path not in self.dirty:
            written = threads.create(self.forge, f"Look at {word}", project="The Nexus", conversation=TALK)
            self.committed(written.entity)

    def thread(self, word: str) -> Thread:
        like = next(entity for entity in SEEDS if isinstance(entity, Thread))
        from forgekit.ids import thread_id

        title = f"Look at {word}"
        return replace(like, title=title, thread_id=thread_id(like.project_uuid, title, TALK))

    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        thread = self.any_of(data, Thread)
        if thread is not None and not thread.status.ended and entity_path(thread) not in self.dirty:
            how = data.draw(st.sampled_from((ThreadStatus.RESOLVED, ThreadStatus.ABANDONED)))
            self.committed(threads.update(self.forge, thread.id, how, resolution=self.value()).entity)

    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        entity = self.any_of(data)
        if entity is not None and entity.kind.value != "archive":
            self.write(replace(entity, extra={**entity.extra, "owner": self.value()}))

    @rule(data=st.data())
    def hand_edit(self, data: st.DataObject) -> None:
        entity = self.any_of(data)
        if entity is None or entity.kind.value == "archive":
            return
        path = entity_path(entity)
        changed = replace(entity, extra={**entity.extra, "note": self.value()})
        (self.root / path).write_text(codec.dumps(changed), encoding="utf-8")
        self.model[path] = changed
        self.dirty.add(path)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        entity = self.any_of(data, Thread)
        if entity is not None:
            path = entity_path(entity)
            (self.root / path).unlink()
            del self.model[path]
            self.dirty.add(path)

    @precondition(lambda self: self.dirty)
    @rule()
    def commit(self) -> None:
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--message", "by hand")
        self.branches[self.branch] = dict(self.model)
        self.dirty.clear()

    @precondition(lambda self: self.dirty)
    @rule()
    def reset(self) -> None:
        git(self.root, "reset", "--quiet", "--hard")
        self.model = dict(self.branches[self.branch])
        self.dirty.clear()

    @precondition(lambda self: not self.dirty)
    @rule(name=st.sampled_from(("main", "side", "other")))
    def switch(self, name: str) -> None:
        if name == self.branch:
            return
        if name in self.branches:
            git(self.root, "switch", "--quiet", name)
            self.model = dict(self.branches[name])
        else:
            git(self.root, "switch", "--quiet", "--create", name)
            self.branches[name] = dict(self.model)

    @precondition(lambda self: not self.dirty and len(self.branches) > 1)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(set(self.branches) - {self.branch})))
        repository = self.forge.store.repository
        ours, theirs = repository.tip(), repository.resolve(name)
        assert ours is not None
        common = repository.raw.merge_base(ours, theirs)
        base = self.at(str(common))
        commit, joined = bring_together(repository, ours, theirs)
        change = Change(files=joined.files, commit=commit, subject="merge")
        self.forge.store.commit(lambda: change)
        expected: Model = {}
        for path in {*self.model, *self.branches[name]}:
            merged = reconcile(base.get(path), self.model.get(path), self.branches[name].get(path)).entity
            if merged is not None:
                expected[path] = merged
        self.model, self.branches[self.branch] = expected, dict(expected)

    def at(self, commit: str) -> Model:
        return {entity_path(entity): entity for entity in self.forge.store.load_at(commit)}

    @precondition(lambda self: self.dirty)
    @rule()
    def stage(self) -> None:
        git(self.root, "add", "--all")

    @rule(where=st.sampled_from(("_move", "_put", "_lock_index")))
    def kill(self, where: str) -> None:
        """End a write from outside at some place, and leave all that it leaves; the next one mends it.

        It may be made from what somebody has not committed yet.
        """

        def killed(*_: object) -> None:
            raise Killed

        made = decision(f"Use {self.value()}")
        edited = [self.model[path] for path in sorted(self.dirty & self.model.keys())]
        writes = (made, *(replace(entity, extra={**entity.extra, "owner": "x"}) for entity in edited))
        over = {entity_path(entity): (self.root / entity_path(entity)).read_bytes() for entity in edited}
        staged = git(self.root, "ls-files", "--stage")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(publish, where, killed)
            patch.setattr(publish, "_end", lambda *_: None)
            with pytest.raises((Killed, DirtyFileError)):  # another edit may be staged than lies there
                self.forge.store.commit(lambda: Change(writes=writes, over=over, subject="edit: killed"))
        self.forge.store.commit(lambda: Change(subject="edit: nothing"))
        assert git(self.root, "ls-files", "--stage") == staged
        self.write(decision(f"Use {self.value()}"))

    @rule()
    def rebuild(self) -> None:
        self.forge.catalogue.close()
        shutil.rmtree(self.root / ".git" / "forgekit", ignore_errors=True)
        self.forge = Forge.open(self.root)

    @rule(number=st.integers(0, len(ARCHIVES) - 1))
    def ingest(self, number: int) -> None:
        path = ARCHIVES[number]
        incoming = Incoming(path=path, options=ImportOptions(project="The Nexus"), name=path.name)
        try:
            report = sync_compression(self.forge, [incoming])
        except DirtyFileError:
            assert self.dirty
            return
        for entity in report.removed:
            for place in (self.model, self.branches[self.branch]):
                place.pop(entity_path(entity), None)
        self.committed(*report.created, *report.changed)

    @invariant()
    def registry_is_the_model(self) -> None:
        type(self).steps += 1
        registry = self.forge.registry()
        assert {entity_path(entity): entity for entity in registry} == self.model
        assert registry.problems == ()
        repository = self.forge.store.repository
        assert set(repository.changed_paths()) <= self.dirty
        assert not (repository.git_dir / "index.lock").exists()


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr("forgekit.models.encoder._in_package", lambda: None)
    pygit2.settings.enable_fsync_gitdir(False)
    yield template(tmp_path / "registry", SEEDS)
    pygit2.settings.enable_fsync_gitdir(True)


def test_the_registry_is_the_model(source: Path, level: Level, guarantee: Report) -> None:
    class Machine(Registry):
        pass

    Machine.source = source
    sequences, length = level.pick(80, 5_000), level.pick(25, 50)
    own = settings(
        max_examples=sequences,
        stateful_step_count=length,
        derandomize=not level.soak,
        suppress_health_check=list(HealthCheck),
    )
    machine = seed(level.seed)(Machine) if level.soak else Machine
    run_state_machine_as_test(machine, settings=own)
    guarantee(
        "G10", "registry against a model", f"{sequences:,} sequences, {Machine.steps:,} steps, 0 differences"
    )
