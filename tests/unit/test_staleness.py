"""Which decisions have gone too long without being said again, or rest on something that ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sample_entities import (
    LOSSLESS,
    PARTIAL,
    PROJECT,
    P,
    archive,
    chain,
    conflict,
    conversation,
    day,
    decision,
    edge,
    links,
)

from forgekit.ids import EntityId
from forgekit.insight.staleness import (
    Ages,
    Staleness,
    blocked_from_carrying,
    needs_revalidation,
    open_conflicts,
    stale_by,
)
from forgekit.model.entities import (
    Compression,
    ConflictStatus,
    Conversation,
    Decision,
    DecisionStatus,
    Entity,
)
from forgekit.model.registry import Registry
from forgekit.model.settings import Settings
from forgekit.times import Instant


def stale(registry: Registry, now: Instant, project: EntityId | None = None, **limits: float) -> Staleness:
    settings: Any = {f"stale_{name}": value for name, value in limits.items()}
    return stale_by(Settings(**settings), registry, now, project=project)


def hops(d: Decision, *entities: Entity) -> int:
    return Ages(Registry.of([d, *entities])).age(d).hops


def full(*conversations: Conversation) -> list[Entity]:
    return [*conversations, *links(*conversations), *map(archive, conversations)]


def test_hops_count_the_full_archives_that_left_a_decision_out() -> None:
    a, b, c, d = chain("a", "b", "c", "d")
    assert hops(decision("x", a), *full(a, b, c, d)) == 3
    assert hops(decision("x", a, b), *full(a, b, c, d)) == 2
    assert hops(decision("x", a, d), *full(a, b, c, d)) == 0
    assert hops(decision("x", a), a) == 0


def test_the_longest_way_counts() -> None:
    a, b, c, d = chain("a", "b", "c", "d")
    assert hops(decision("x", a), *full(a, b, c, d), edge(a, d)) == 3


def test_a_partial_compression_ages_only_what_it_carries() -> None:
    a, b, c = chain("a", "b", "c")
    x = decision("x", a)
    partial: list[Entity] = [a, b, c, edge(a, b), archive(a), archive(b, PARTIAL)]
    assert hops(x, *partial) == 0
    assert hops(x, *partial, edge(b, c)) == 1
    assert hops(x, *partial, edge(b, c), archive(c)) == 1


def test_a_partial_compression_ages_what_it_dropped_and_nothing_else() -> None:
    a, b, c = chain("a", "b", "c")
    x, y = decision("x", a), decision("y", a)
    part = Compression(compression_tag="A", compression_mode=PARTIAL, decisions_dropped=(("D001", x.id),))
    edges = [edge(a, b, part), edge(b, c)]
    entities: list[Entity] = [a, b, c, *edges, archive(a, PARTIAL), archive(b), archive(c)]
    assert hops(x, y, *entities) == 2
    assert hops(y, x, *entities) == 0


def test_every_lineage_edge_is_a_hop_however_it_was_made() -> None:
    a, b, c, d = chain("a", "b", "c", "d")
    assert hops(decision("x", a), a, b, *links(a, b), archive(a)) == 1
    assert hops(decision("x", a), a, b, c, d, *links(a, b, c, d)) == 3
    linked = Compression(compression_tag="A", compression_mode=LOSSLESS, compressed_at=day(1))
    assert hops(decision("x", a), a, b, c, edge(a, b, linked), *links(b, c)) == 2


def test_an_edge_that_is_filed_twice_is_one_hop() -> None:
    a, b = chain("a", "b")
    twice = [Compression(compression_tag=tag, compressed_at=day(1)) for tag in ("A", "A_AGAIN")]
    assert hops(decision("x", a), a, b, edge(a, b, *twice), archive(b)) == 1


def test_one_full_archive_among_partial_ones_is_enough() -> None:
    a, b = chain("a", "b")
    again = replace(archive(b, PARTIAL), archive_id=archive(conversation("other")).id)
    assert hops(decision("x", a), a, b, *links(a, b), archive(b), again) == 1


def test_branches_that_carry_are_each_a_start() -> None:
    a, b, c, d = chain("a", "b", "c", "d")
    entities: list[Entity] = [a, b, c, d, edge(a, b), edge(a, c), edge(b, d), *map(archive, (a, b, c, d))]
    assert hops(decision("x", a, b, c), *entities) == 1
    assert hops(decision("x", a, c), *entities) == 0
    assert hops(decision("x", a, b, c, d), *entities) == 0


def test_a_record_or_a_carried_entry_is_a_statement() -> None:
    a, b, c = chain("a", "b", "c")
    x = decision("x", a)
    told = archive(b, LOSSLESS, (("D001", x.id),))
    assert hops(x, a, b, c, *links(a, b, c), archive(a), told, archive(c)) == 1
    carried = edge(a, b, Compression(compression_tag="A", decisions_carried=(("", x.id),)))
    registry = Registry.of([x, a, b, carried])
    assert Ages(registry).age(x).last_validated == day(1)
    assert Ages(registry).age(x).conversations == (a.id, b.id)


def test_after_a_person_validated_only_later_archives_count() -> None:
    a, b, c, d = chain("a", "b", "c", "d")
    everything = full(a, b, c, d)
    assert hops(decision("x", a, last_validated=day(9)), *everything) == 0
    between = decision("x", a, last_validated=day(2))
    assert hops(between, *everything) == 2
    assert Ages(Registry.of([between, *everything])).age(between).last_validated == day(2)


def test_the_last_full_archive_of_a_conversation_counts() -> None:
    a, b = chain("a", "b")
    again = replace(archive(b), archive_id=archive(conversation("other")).id, compressed_at=day(9))
    x = decision("x", a, last_validated=day(4))
    assert hops(x, a, b, *links(a, b), archive(b)) == 0
    assert hops(x, a, b, *links(a, b), archive(b), again) == 1


def test_an_archive_with_an_earlier_clock_counts_until_a_person_validates() -> None:
    a, b = conversation("a", 5), conversation("b", 1)
    assert hops(decision("x", a), *full(a, b)) == 1
    assert hops(decision("x", a, last_validated=day(6)), *full(a, b)) == 0


def test_hops_end_on_a_cycle() -> None:
    a, b = chain("a", "b")
    c = conversation("c", 5)
    loop: list[Entity] = [a, b, c, edge(a, b), edge(b, c), edge(c, a), *map(archive, (a, b, c))]
    assert hops(decision("x", a), *loop) == 0


def test_a_long_chain_needs_no_recursion() -> None:
    names = chain(*(str(n) for n in range(3000)))
    assert hops(decision("x", names[0]), *full(*names)) == 2999


def test_stale_by_days_by_hops_or_both_with_the_share() -> None:
    a, b, c, d = chain("a", "b", "c", "d")
    old, kept = decision("old", a), decision("kept", a, d)
    ended = decision("ended", a, status=DecisionStatus.INVALIDATED)
    registry = Registry.of([PROJECT, old, kept, ended, *full(a, b, c, d)])

    found = stale(registry, day(20))
    assert [(decision, s.days, s.hops, s.reasons) for decision, s in found] == [(old, 20, 3, ("hops",))]
    assert (found.active, found.share) == (2, 0.5)

    assert [s.reasons for _, s in stale(registry, day(33))] == [
        ("days", "hops"),
        ("days",),
    ]
    assert len(stale(registry, day(32), hops=9)) == 1
    assert stale(Registry(), day(0)).share == 0.0


def test_the_longest_unvalidated_comes_first() -> None:
    a, b, c = chain("a", "b", "c")
    first, second = decision("made first, said again", a, c), decision("made second", b)
    found = stale(Registry.of([a, b, c, first, second]), day(40))
    assert [decision for decision, _ in found] == [second, first]


def test_day_thirty_is_stale_and_a_moment_before_is_not() -> None:
    a = conversation("a")
    registry = Registry.of([decision("x", a), a])
    assert len(stale(registry, day(30))) == 1
    assert len(stale(registry, type(day(0))(day(30) - 1))) == 0
    assert [s.days for _, s in stale(registry, day(-1), days=0)] == [0]


def test_max_tier_leaves_out_higher_tiers_and_takes_no_tier_for_a_half() -> None:
    a = conversation("a")
    tiers = {"low": 0.3, "edge": 0.7, "high": 0.9, "none": None}
    registry = Registry.of([a, *(decision(t, a, epistemic_tier=tier) for t, tier in tiers.items())])
    found = {decision.decision for decision, _ in stale(registry, day(40), max_tier=0.7)}
    assert found == {"low", "edge", "none"}
    assert {decision.decision for decision, _ in stale(registry, day(40), max_tier=0.4)} == {"low"}
    assert len(stale(registry, day(40))) == 4


def test_a_project_is_asked_about_alone() -> None:
    a = conversation("a")
    registry = Registry.of([a, decision("x", a)])
    assert len(stale(registry, day(40), project=P)) == 1
    elsewhere = stale(registry, day(40), project=EntityId("other"))
    assert (len(elsewhere), elsewhere.active) == (0, 0)


def test_what_rests_on_an_ended_decision_needs_another_look_through_others_too() -> None:
    a = conversation("a")
    new = decision("new", a)
    base = decision("base", a, status=DecisionStatus.REVISED, superseded_by=new.id)
    direct = decision("direct", a, dependencies=(base.id, new.id))
    beyond = decision("beyond", a, dependencies=(direct.id,))
    ended = decision("ended", a, dependencies=(base.id,), status=DecisionStatus.INVALIDATED)
    registry = Registry.of([a, new, base, direct, beyond, ended])
    base_short, direct_short, new_short = (f"dec_{d.id[-12:]}" for d in (base, direct, new))
    found = {s.decision.decision: s for s in needs_revalidation(registry)}
    assert {text: (s.broken.decision, s.why) for text, s in found.items()} == {
        "direct": ("base", f"rests on {base_short}, which was revised by {new_short}"),
        "beyond": (
            "base",
            f"rests on {direct_short}, and so on {base_short}, which was revised by {new_short}",
        ),
    }


def test_an_ended_decision_passes_its_own_ground_on_to_nobody() -> None:
    a = conversation("a")
    first = decision("first", a, status=DecisionStatus.INVALIDATED)
    second = decision("second", a, status=DecisionStatus.INVALIDATED, dependencies=(first.id,))
    third = decision("third", a, dependencies=(second.id,))
    [found] = needs_revalidation(Registry.of([a, first, second, third]))
    assert (found.decision, found.broken) == (third, second)


def test_an_ended_decision_needs_no_other_look_and_ends_the_way() -> None:
    a = conversation("a")
    base = decision("base", a, status=DecisionStatus.INVALIDATED)
    direct = decision("direct", a, dependencies=(base.id,))
    over = decision("over", a, dependencies=(direct.id,), status=DecisionStatus.INVALIDATED)
    [found] = needs_revalidation(Registry.of([a, base, direct, over]))
    assert (found.decision, found.broken) == (direct, base)


def test_a_dependency_that_is_listed_twice_is_named_once() -> None:
    a = conversation("a")
    base = decision("base", a, status=DecisionStatus.INVALIDATED)
    twice = decision("twice", a, dependencies=(base.id, base.id))
    [found] = needs_revalidation(Registry.of([a, base, twice]))
    assert found.why == f"rests on dec_{base.id[-12:]}, which was invalidated"


def test_revalidation_ends_on_a_cycle() -> None:
    a = conversation("a")
    dead = decision("dead", a, status=DecisionStatus.INVALIDATED)
    one, two = decision("one", a), decision("two", a)
    one = replace(one, dependencies=(two.id, dead.id))
    two = replace(two, dependencies=(one.id,))
    assert len(needs_revalidation(Registry.of([a, dead, one, two]))) == 2


def test_a_conflict_waits_while_both_sides_stand() -> None:
    a = conversation("a")
    x, y, z = (decision(t, a) for t in "xyz")
    dead = decision("dead", a, status=DecisionStatus.INVALIDATED)
    waiting = conflict(x, y)
    registry = Registry.of(
        [a, x, y, z, dead, waiting, conflict(x, dead), conflict(y, z, status=ConflictStatus.DISMISSED)]
    )
    assert open_conflicts(registry) == [waiting]
    assert blocked_from_carrying(registry) == {x.id, y.id}


def test_an_ingested_conversation_and_what_its_archive_tells_of_are_one() -> None:
    told = [replace(c, source="claude", external_id=f"platform-{c.title}") for c in chain("a", "b", "c")]
    archived = [replace(conversation(f"{c.title} archived", 9), external_id=c.external_id) for c in told]
    a, b, c = told
    x = decision("x", a, archived[0], last_validated=day(0))
    first = replace(archive(archived[0], records=(("D001", x.id),)), compressed_at=day(0))
    entities: list[Entity] = [*told, *archived, edge(archived[0], b), edge(archived[1], c), first]
    entities += map(archive, archived[1:])
    assert Ages(Registry.of([x, *entities])).age(x).conversations == (a.id,)
    assert hops(x, *entities) == 2
    assert hops(x, *entities, edge(a, archived[0]), edge(archived[0], archived[1])) == 2


def test_what_an_ingested_conversations_archive_says_was_said_when_the_archive_began() -> None:
    a = replace(conversation("a"), source="claude", external_id="platform-a")
    archived = replace(conversation("a archived", 9), external_id="platform-a")
    x = decision("x", archived, last_validated=day(0))
    age = Ages(Registry.of([x, a, archived])).age(x)
    assert (age.last_validated, age.conversations) == (day(9), (a.id,))
