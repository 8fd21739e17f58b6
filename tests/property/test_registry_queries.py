"""What a catalogue answers by a query is what a registry in memory answers by looking at every entity."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import sample_entities as sample
from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import write

from forgekit.conflict.pairs import RARE, Pair, pair, sharing_rare_words, statement
from forgekit.ids import EntityId, project_id
from forgekit.index.catalogue import Catalogue
from forgekit.index.judged_pairs import JudgedPairs
from forgekit.index.lazy_registry import PartialRegistry
from forgekit.insight.project_state import project_state
from forgekit.insight.staleness import Ages, needs_revalidation, stale_by
from forgekit.model.entities import (
    Compression,
    CompressionMode,
    Decision,
    DecisionStatus,
    Entity,
    Priority,
    Project,
    Thread,
    ThreadStatus,
)
from forgekit.model.registry import Registry
from forgekit.model.settings import Settings
from forgekit.text.words import words
from forgekit.threads import active as open_threads

OTHER = Project(project_uuid=project_id("Other"), project_name="Other")
WORDS = (
    "Keep",
    "rows",
    "keys",
    "policies",
    "policy",
    "the",
    "queue",
    "logs",
    "Größe",
    "数据",
    "retries",
    "in",
)
NOW = sample.day(60)


def world(seed: int) -> list[Entity]:
    """Return entities that refer to each other in every way that the queries follow."""
    rng = random.Random(seed)  # noqa: S311 - repeatable

    def owned(entity: Decision | Thread) -> Decision | Thread:
        if rng.random() < 0.6:
            return entity
        return replace(entity, project_uuid=OTHER.id, project_name=OTHER.project_name)

    def line() -> str:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 6))) + f" {rng.randrange(99)}"

    talks = [sample.conversation(f"talk {n}", rng.randrange(40)) for n in range(rng.randint(1, 6))]
    begun: list[Entity] = [sample.PROJECT, OTHER, *talks]
    made = {entity.id: entity for entity in begun}
    decided: list[Decision] = []
    for _ in range(rng.randint(0, 14)):
        status = rng.choices(tuple(DecisionStatus), weights=(6, 1, 1, 1))[0]
        bases = rng.sample(decided, min(len(decided), rng.randrange(3)))
        one = sample.decision(
            line(),
            rng.choice(talks),
            *rng.sample(talks, rng.randrange(2)),
            status=status,
            superseded_by=bases[0].id if bases and status.replaced else None,
            dependencies=tuple(base.id for base in bases),
            epistemic_tier=rng.choice((None, 0.1, 0.3, 0.9)),
            alternatives_rejected=tuple(line() for _ in range(rng.randrange(3))),
            last_validated=sample.day(rng.randrange(50)),
        )
        decided.append(one)
        made[one.id] = owned(one)
    for _ in range(rng.randint(0, 6)):
        ended = rng.random() < 0.4
        thread = sample.thread(
            line(),
            rng.choice(talks),
            status=ThreadStatus.RESOLVED if ended else ThreadStatus.OPEN,
            priority=rng.choice(tuple(Priority)),
        )
        made[thread.id] = owned(thread)
    for talk in rng.sample(talks, len(talks) // 2):
        records = tuple((f"D{n:03d}", d.id) for n, d in enumerate(rng.sample(decided, len(decided) // 2), 1))
        filed = sample.archive(talk, rng.choice(tuple(CompressionMode)), records)
        made[filed.id] = filed
        target = rng.choice(talks)
        if target is not talk:
            carried, dropped = records[::2], records[1::2]
            modes = rng.choice((*CompressionMode, None))
            entry = Compression(
                compression_tag=filed.compression_tag,
                compression_mode=modes,
                decisions_carried=carried,
                decisions_dropped=dropped,
            )
            edge = sample.edge(talk, target, entry)
            made[edge.id] = edge
    if len(decided) > 1:
        verdict = sample.conflict(*rng.sample(decided, 2))
        made[verdict.id] = verdict
    return list(made.values())


def answers(registry: Registry) -> list[object]:
    ages = Ages(registry)
    found: list[object] = [
        registry.counts(),
        [(one.id, ages.age(one)) for one in registry.active_decisions()],
        needs_revalidation(registry),
        registry.of_ids(Decision, [d.id for d in registry.decisions[::2]]),
    ]
    for project in (None, sample.P, OTHER.id):
        found += [open_threads(registry, project), registry.with_status(Decision, "superseded", project)]
        for days, hops, tier in ((30, 3, None), (1, 1, 0.5), (99, 2, 0.7)):
            limits = Settings(stale_days=days, stale_hops=hops, stale_max_tier=tier)
            old = stale_by(limits, registry, NOW, project=project)
            found.append((list(old), old.active, old.share))
    limits = Settings(stale_days=30, stale_hops=2, stale_max_tier=0.7)
    for project in (sample.P, OTHER.id):
        state = project_state(registry, project, NOW, limits)
        rows = [tuple(each.id for each in rows) for rows in (state.threads, state.decisions)]
        found += [rows, replace(state, threads=(), decisions=())]
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_queries_answer_as_a_look_at_everything(seed: int) -> None:
    entities = world(seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        for entity in entities:
            write(root, entity)
        catalogue = Catalogue(root, Path(folder, "cache"))
        catalogue.refresh()
        assert answers(PartialRegistry.over(catalogue)) == answers(Registry.of(entities))
        registry = Registry.of(entities)
        active = {d.id: statement(d) for d in registry.with_status(Decision, "active")}
        whole = {tuple(sorted(group)) for group in sharing_rare_words(active) if len(group) > 1}
        assert {tuple(sorted(g)) for g in catalogue.sharing_rare_words(RARE)} == whole
        assert [*catalogue.active_blobs()] == [*active]
        for project, most in ((sample.P, 100), (OTHER.id, 2)):
            wanted: dict[str, list[EntityId]] = {}
            for one in registry.with_status(Decision, "active"):
                for word in (
                    words(one.decision) if one.project_uuid != project and not one.speculative else ()
                ):
                    wanted.setdefault(word, []).append(one.id)
            asked = {*wanted, "nothing"}
            assert catalogue.decisions_with_words(asked, project, most) == {
                word: keys for word, keys in wanted.items() if len(keys) <= most
            }
        catalogue.close()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_judged_is_kept_from_one_set_of_decisions_to_the_next(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - repeatable
    names = [EntityId(f"{n:036}") for n in range(12)]

    def pairs_of(active: dict[EntityId, str], kept: str) -> tuple[JudgedPairs, set[Pair]]:
        keys = sorted(rng.sample(sorted(active), rng.randint(0, len(active))))
        near = np.array([[rng.randrange(-1, len(keys)) for _ in range(2)] for _ in keys], np.int32)
        near = near.reshape(-1, 2)
        near[near == np.arange(len(keys))[:, None]] = -1
        sharing = [rng.sample(sorted(active), min(3, len(active))) for _ in range(2)]
        found = JudgedPairs(active, kept)
        found.pair(keys, near, np.round(near / 100, 2).astype(np.float32), sharing)
        wanted = {pair(keys[a], keys[b]) for a, row in enumerate(near) for b in row if b >= 0}
        return found, wanted | {pair(a, b) for ids in sharing for a, b in combinations(ids, 2)}

    before = {name: str(rng.randrange(2)) for name in names if rng.random() < 0.8}
    old, pairs = pairs_of(before, "")
    assert set(old.todo(None)) == pairs
    judged = {sides for sides in pairs if rng.random() < 0.6}
    old.add(judged, [(*sides, 0.5, "said") for sides in sorted(judged)[::2]])
    assert old.counts(None) == (len(judged), len(pairs - judged))
    after = {name: str(rng.randrange(2)) for name in names if rng.random() < 0.8}
    new, pairs = pairs_of(after, old.text())
    same = {name for name in before if before[name] == after.get(name)}
    kept = {sides for sides in pairs & judged if same.issuperset(sides)}
    assert set(new.todo(None)) == pairs - kept
    assert {row[:2] for row in new.flagged} == {sides for sides in sorted(judged)[::2] if sides in kept}
    for chosen in (None, {name for name in after if rng.random() < 0.4}):
        mine = pairs if chosen is None else {sides for sides in pairs if chosen.intersection(sides)}
        assert new.counts(chosen) == (len(mine & kept), len(mine - kept))
        assert set(new.todo(chosen)) == mine - kept
