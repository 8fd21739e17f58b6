"""The life of conventions over months of sessions, in two clones."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from forgekit.conventions import answered, replaced
from forgekit.errors import TransitionError
from forgekit.ids import EntityId, convention_id, conversation_id, project_id
from forgekit.insight.conventions import (
    EXPLICIT,
    MOST,
    OBSERVATIONS,
    SESSIONS,
    UNUSED,
    Life,
    Mentions,
    Stage,
    contradicted,
    injected,
    lives,
    observed,
    stated,
)
from forgekit.merge.merge import reconcile
from forgekit.model.entities import Convention, ConventionStatus, Conversation
from forgekit.model.transcript import Speaker, Turn
from forgekit.times import DAY_MS, Instant

P = project_id("Nexus")
TEXTS = [f"Rule {number}" for number in range(55)]
START = 1_700_000_000_000
CLONES = st.sampled_from((0, 1))
RULES = st.integers(0, 2)


def session(number: int, more: str = "") -> Conversation:
    """Return the session that began on a day, or a further file of it."""
    at = Instant(START + number * DAY_MS)
    return Conversation(
        conversation_id=conversation_id(P, f"session {number}{more}", at),
        title=f"Session {number}",
        project_name="Nexus",
        project_uuid=P,
        source="claude-code",
        external_id=f"session-{number}{more}",
        session_id=f"session-{number}",
        created_at=Instant(at + len(more)),
    )


class Months(RuleBasedStateMachine):
    """Two clones that observe, answer, cite and ignore, and are merged now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.clones: list[dict[EntityId, Convention]] = [{}, {}]
        self.base: dict[EntityId, Convention] = {}
        self.sessions: list[Conversation] = []
        self.licensed: set[EntityId] = set()
        self.day = 0

    @initialize(many=st.booleans())
    def begin(self, many: bool) -> None:
        self.new_session()
        for text in TEXTS if many else ():
            self._observe(0, text, 0.9)

    @rule()
    def new_session(self) -> None:
        self.day += 1
        self.sessions.append(session(self.day))

    @rule(number=RULES)
    def resume(self, number: int) -> None:
        self.sessions.append(session(self.day, "+" * (number + 1)))

    @rule(clone=CLONES, number=RULES, sure=st.sampled_from((0.4, 0.4, 0.79, 0.8)))
    def observe(self, clone: int, number: int, sure: float) -> None:
        self._observe(clone, TEXTS[number], sure)

    def _observe(self, clone: int, text: str, sure: float) -> None:
        talk = self.sessions[-1]
        turn = len(self.sessions)
        new = stated(self.clones[clone], observed(talk, text, sure, turn, talk.created_at))
        self.clones[clone][new.id] = new
        if sure >= EXPLICIT:
            self.licensed.add(new.id)

    @rule(clone=CLONES, number=RULES, status=st.sampled_from(("active", "rejected", "retired")))
    def answer(self, clone: int, number: int, status: str) -> None:
        known = self.clones[clone].get(convention_id(P, TEXTS[number]))
        if known is None:
            return
        now = Instant(START + self.day * DAY_MS + 1_000)
        try:
            self.clones[clone][known.id] = answered(known, ConventionStatus(status), now)
        except TransitionError:
            return
        if status == "active":
            self.licensed.add(known.id)

    @rule(clone=CLONES, number=RULES)
    def cite(self, clone: int, number: int) -> None:
        known = self.clones[clone].get(convention_id(P, TEXTS[number]))
        if known is not None:
            self.clones[clone][known.id] = with_citation(known, self.sessions[-1].id)

    @rule(clone=CLONES, number=RULES)
    def edit(self, clone: int, number: int) -> None:
        known = self.clones[clone].get(convention_id(P, TEXTS[number]))
        text = f"{TEXTS[number]}, reworded"
        new = convention_id(P, text)
        if known is None or known.status is ConventionStatus.REVISED or new in self.clones[clone]:
            return
        now = Instant(START + self.day * DAY_MS + 1_000)
        self.clones[clone][new] = replace(known, convention_id=new, convention=text)
        self.clones[clone][known.id] = replaced(known, new, now)
        if known.status is ConventionStatus.ACTIVE:
            self.licensed.add(new)

    @rule()
    def merge(self) -> None:
        ours, theirs = self.clones
        found = {}
        for key in {**ours, **theirs}:
            sides: Any = self.base.get(key), ours.get(key), theirs.get(key)
            one, other = reconcile(*sides).entity, reconcile(sides[0], sides[2], sides[1]).entity
            assert one == other
            assert one is not None
            found[key] = one
        self.base, self.clones = dict(found), [dict(found), dict(found)]

    @invariant()
    def nothing_is_active_without_a_person_or_an_explicit_statement(self) -> None:
        for clone in self.clones:
            assert {each.id for each in clone.values() if each.status.value == "active"} <= self.licensed

    @invariant()
    def a_stage_follows_from_the_facts(self) -> None:
        for clone in self.clones:
            for life in lives(clone.values(), self.sessions).values():
                assert life.stage is self.expected(life.convention), life

    def expected(self, each: Convention) -> Stage:
        """Return the stage by counting days: a session of these tests is a day."""
        days = {talk.id: (talk.created_at - START) // DAY_MS for talk in self.sessions}
        if each.status is ConventionStatus.ACTIVE:
            used = [days[key] for key in (*each.sessions_seen, *each.cited_in)]
            used += [(each.answered_at - START) // DAY_MS] if each.answered_at is not None else []
            return Stage.DECAYED if self.day - max(used) >= UNUSED else Stage.ACTIVE
        if each.status is not ConventionStatus.PROPOSED:
            return Stage(each.status.value)
        in_days = len({days[key] for key in each.sessions_seen})
        ready = len(each.evidence) >= OBSERVATIONS and in_days >= SESSIONS
        return Stage.READY if ready else Stage.OBSERVED

    @invariant()
    def order_and_repetition_do_not_matter(self) -> None:
        chance = random.Random(self.day)  # noqa: S311 - an order, repeatable
        for clone in self.clones:
            mixed = [*self.sessions, *self.sessions]
            chance.shuffle(mixed)
            every = list(clone.values())
            chance.shuffle(every)
            assert lives(every, mixed) == lives(clone.values(), self.sessions)

    @invariant()
    def at_most_fifty_are_injected(self) -> None:
        for clone in self.clones:
            found = lives(clone.values(), self.sessions).values()
            kept, out = injected(found)
            active = [life for life in found if life.stage is Stage.ACTIVE]
            assert len(kept) == min(MOST, len(active))
            assert len(kept) + len(out) == len(active)
            assert min(map(rank, kept), default=(9.0, 0)) >= max(map(rank, out), default=(0.0, 0))


def with_citation(known: Convention, talk: EntityId) -> Convention:
    return replace(known, cited_in=tuple(sorted({*known.cited_in, talk})))


def rank(life: Life) -> tuple[float, int]:
    return life.confidence, life.uses


TestMonths = Months.TestCase
TestMonths.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_convention_decays_exactly_after_five_unused_sessions() -> None:
    first = observed(session(1), "Use pnpm", 0.9, 3, Instant(START))
    for count in range(8):
        talks = [session(number) for number in range(1, 2 + count)]
        again = [*talks, session(1, "+"), session(3, "+")] if count > 3 else talks
        (life,) = lives([first], again).values()
        assert (life.unused, life.stage) == (count, Stage.DECAYED if count >= 5 else Stage.ACTIVE)
        (cited,) = lives([with_citation(first, talks[-1].id)], talks).values()
        assert (cited.unused, cited.stage) == (0, Stage.ACTIVE)


def test_three_observations_are_ready_for_review_when_two_sessions_made_them() -> None:
    talks = [session(1), session(1, "+"), session(2)]
    first, resumed, other = (observed(talk, "Use pnpm", 0.4, 3, Instant(START)) for talk in talks)
    again = observed(talks[0], "Use pnpm", 0.4, 9, Instant(START))
    stages = []
    for third in (resumed, other):
        known = first
        for each in (again, third):
            known = stated({known.id: known}, each)
        (life,) = lives([known], talks).values()
        stages.append((life.observations, life.sessions, life.stage))
    assert stages == [(3, 1, Stage.OBSERVED), (3, 2, Stage.READY)]


def test_what_only_a_session_without_a_date_stated_does_not_decay() -> None:
    undated = replace(session(0), created_at=Instant(0))
    first = observed(undated, "Use pnpm", 0.9, 1, Instant(0))
    talks = [undated, *(session(number) for number in range(1, 9))]
    (life,) = lives([first], talks).values()
    assert (life.unused, life.stage) == (0, Stage.ACTIVE)
    (cited,) = lives([with_citation(first, talks[1].id)], talks).values()
    assert (cited.unused, cited.stage) == (7, Stage.DECAYED)


def test_of_two_that_contradict_each_other_the_one_stated_last_stays() -> None:
    talks = [session(number) for number in range(4)]
    tabs = observed(talks[1], "Use tabs", 0.9, 1, talks[1].created_at)
    spaces = observed(talks[2], "Use spaces", 0.9, 1, talks[2].created_at)
    against = {tabs.id: {spaces.id}, spaces.id: {tabs.id}}
    assert [*contradicted(lives([tabs, spaces], talks).values(), against)] == [tabs.id]
    again = stated({tabs.id: tabs}, observed(talks[3], "Use tabs", 0.9, 1, talks[3].created_at))
    assert [*contradicted(lives([again, spaces], talks).values(), against)] == [spaces.id]
    approved = answered(spaces, ConventionStatus.ACTIVE, Instant(talks[3].created_at + 1))
    assert [*contradicted(lives([again, approved], talks).values(), against)] == [tabs.id]
    apart = [replace(tabs, scope=("go/**",)), replace(spaces, scope=("py/**",))]
    assert not contradicted(lives(apart, talks).values(), against)


def test_what_says_the_same_is_counted_together_and_offered_once() -> None:
    talks = [session(1), session(2)]
    first = observed(talks[0], "Use pnpm", 0.4, 3, Instant(START))
    first = stated({first.id: first}, observed(talks[0], "Use pnpm", 0.4, 9, Instant(START)))
    other = observed(talks[1], "Packages are installed with pnpm", 0.4, 1, Instant(START))
    alone = lives([first, other], talks)
    assert {life.stage for life in alone.values()} == {Stage.OBSERVED}
    same = {first.id: {other.id}, other.id: {first.id}}
    both = lives([first, other], talks, same)
    assert [both[key].stage for key in (first.id, other.id)] == [Stage.READY, Stage.OBSERVED]
    assert (both[first.id].observations, both[first.id].sessions) == (3, 2)
    rejected = answered(first, ConventionStatus.REJECTED, Instant(START))
    assert lives([rejected, other], talks, same)[other.id].stage is Stage.OBSERVED


@pytest.mark.parametrize(
    ("text", "call", "used"),
    [
        ("Run tests with `make test`", "cd src && make test -q", True),
        ("Run tests with `make test`", "make lint", False),
        ("From now on use pnpm", "pnpm install", True),
        ("From now on use pnpm", "npm install pnpm", False),
        ("Note it in `docs/log.md`", "/home/ada/docs/log.md", True),
        ("Fix small issues too", 'git commit -m "$(cat <<\'EOF\'\nFix the "first"\nFix more\nEOF\n)"', False),
        ("Fix small issues too", "git commit -m 'One\nFix it'", False),
        ("Fix small issues too", "cat <<EOF > a\nFix it, cut off", False),
        ("Find the cause first", "find . -name x", False),
    ],
)
def test_a_call_is_a_use_where_it_begins_with_what_the_text_names(text: str, call: str, used: bool) -> None:
    known = observed(session(1), text, 0.9, 3, Instant(START))
    made = Turn(speaker=Speaker.ASSISTANT, text="", calls=(call,))
    assert Mentions.of((), [made]).uses(known) is used
