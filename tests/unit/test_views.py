"""Views: every field of the schema and what is derived from it."""

from __future__ import annotations

import json
from dataclasses import replace

from sample_entities import NAME, PROJECT, P, archive, chain, conflict, decision, edge, thread

from forgekit.insight.views import Derived
from forgekit.model.entities import (
    Compression,
    CompressionMode,
    DecisionStatus,
    Entity,
    ThreadStatus,
    known_fields,
)
from forgekit.model.kinds import Kind, path_of
from forgekit.model.registry import Registry
from forgekit.times import UNKNOWN


def test_a_decision_carries_what_is_counted() -> None:
    a, b, c = chain("a", "b", "c")
    base = decision("base", a)
    d = decision(
        "Keep rows",
        a,
        b,
        dependencies=(base.id,),
        epistemic_tier=0.85,
        body="## Rationale\n\nSmall.\n\n## Context\n\nNow.",
        extra={"team": "blue"},
    )
    on_top = decision("Index rows", a, dependencies=(d.id,))
    rival = decision("Drop rows", a)
    fight = conflict(d, rival)
    edges = [edge(a, b), edge(b, c)]
    registry = Registry.of([PROJECT, a, b, c, base, d, on_top, rival, fight, *edges, archive(c)])
    assert Derived(registry).view(d) == {
        "decision_id": d.id,
        "decision": "Keep rows",
        "status": "active",
        "epistemic_tier": 0.85,
        "tier_token": None,
        "project_name": NAME,
        "project_uuid": P,
        "local_id": None,
        "originated_in": a.id,
        "revised_in": None,
        "superseded_by": None,
        "conversation_ids": [a.id, b.id],
        "dependencies": [base.id],
        "governs": [],
        "alternatives_rejected": [],
        "created_at": "2023-11-14T22:13:20Z",
        "last_validated": "2023-11-15T22:13:20Z",
        "tags": [],
        "rationale": "Small.",
        "context": "Now.",
        "hops_since_validated": 1,
        "validation_count": 1,
        "dependents": [on_top.id],
        "scope": "",
        "conflicts_with": [rival.id],
        "kind": "decision",
        "short_id": f"dec_{d.id[-12:]}",
        "path": path_of(Kind.DECISION, d.id),
        "extra": {"team": "blue"},
    }


def test_the_effective_validation_is_the_latest_of_what_is_stored_and_what_is_said() -> None:
    a, b = chain("a", "b")
    d = decision("Keep rows", a)
    registry = Registry.of([a, b, d, archive(b, records=(("D001", d.id),))])
    view = Derived(registry).view(d)
    assert (view["last_validated"], view["validation_count"]) == ("2023-11-15T22:13:20Z", 1)


def test_each_side_of_a_conflict_names_the_other() -> None:
    [a] = chain("a")
    x, y = decision("x", a), decision("y", a)
    derived = Derived(Registry.of([a, x, y, conflict(x, y)]))
    assert [derived.view(d)["conflicts_with"] for d in (x, y)] == [[y.id], [x.id]]


def test_a_conflict_that_is_over_is_no_opposition() -> None:
    [a] = chain("a")
    d, rival = decision("x", a), decision("y", a, status=DecisionStatus.INVALIDATED)
    assert Derived(Registry.of([a, d, rival, conflict(d, rival)])).view(d)["conflicts_with"] == []


def test_a_thread_carries_content_resolution_and_what_it_blocks() -> None:
    [a] = chain("a")
    t = thread("Retry", a, body="How often?")
    waiting = thread("Ship", a, blocked_by=(t.id,))
    done = replace(waiting, status=ThreadStatus.RESOLVED, resolved_in=a.id, body="## Resolution\n\nOnce.")
    registry = Registry.of([a, t, waiting])
    view = Derived(registry).view(t)
    assert (view["content"], view["resolution"], view["blocks"]) == ("How often?", None, [waiting.id])
    view = Derived(registry).view(done)
    assert (view["content"], view["resolution"], view["blocked_by"]) == ("", "Once.", [t.id])


def test_an_edge_shows_the_seeds_fields_and_every_compression() -> None:
    a, b = chain("a", "b")
    d, t = decision("x", a), thread("t", a)
    first = Compression(
        compression_tag="A_ONE",
        compression_mode=CompressionMode.PARTIAL,
        compressed_at=a.created_at,
        turn_range=(1, 35),
        decisions_carried=(("D001", d.id),),
        threads_resolved=(("", t.id),),
    )
    e = replace(edge(a, b, first, Compression(compression_tag="A_TWO")), body="Went on.")
    view = Derived(Registry.of([a, b, d, t, e])).view(e)
    assert view["compression_tag"] == "A_ONE"
    assert view["compression_mode"] == "partial"
    assert view["compressed_at"] == "2023-11-14T22:13:20Z"
    assert view["turn_range"] == [1, 35]
    assert view["decisions_carried"] == ["D001"]
    assert view["decisions_dropped"] == []
    assert view["threads_resolved"] == [t.id]
    assert view["bridge_summary"] == "Went on."
    compressions = view["compressions"]
    assert isinstance(compressions, list)
    assert compressions[0]["decisions_carried"] == {"D001": d.id}
    assert compressions[0]["turn_range"] == [1, 35]
    assert compressions[1]["compression_tag"] == "A_TWO"


def test_an_edge_without_a_compression_has_the_same_keys() -> None:
    a, b = chain("a", "b")
    bare, full = edge(a, b), edge(a, b, Compression(compression_tag="A"))
    registry = Registry.of([a, b, full])
    assert Derived(registry).view(bare).keys() == Derived(registry).view(full).keys()
    assert Derived(registry).view(bare)["compression_tag"] is None


def test_a_conversation_names_its_neighbours_and_an_archive_its_text_only_when_asked() -> None:
    a, b = chain("a", "b")
    filed = archive(a)
    derived = Derived(Registry.of([a, b, edge(a, b), filed]))
    assert derived.view(a)["continued_by"] == [b.id]
    assert derived.view(b)["continuation_of"] == [a.id]
    assert "body" not in derived.view(filed)
    assert derived.view(filed, body=True)["body"] == "text\n"
    assert derived.view(filed)["records"] == {}


def test_a_time_that_nobody_said_is_none_and_a_whole_number_is_no_time() -> None:
    (talk,) = chain("a")
    d = decision("Keep rows", talk, epistemic_tier=0, created_at=UNKNOWN, last_validated=UNKNOWN)
    derived = Derived(Registry.of([PROJECT, replace(talk, created_at=UNKNOWN), d]))
    assert derived.view(replace(talk, created_at=UNKNOWN))["created_at"] is None
    view = derived.view(d)
    assert (view["created_at"], view["epistemic_tier"]) == (None, 0)


def test_every_kind_has_all_its_stored_keys_and_is_json() -> None:
    a, b = chain("a", "b")
    x, y = decision("x", a), decision("y", a)
    everything: list[Entity] = [PROJECT, a, b, x, y, thread("t", a), edge(a, b), conflict(x, y), archive(a)]
    registry = Registry.of(everything)
    for entity in everything:
        view = Derived(registry).view(entity)
        assert set(known_fields(entity.kind)) <= set(view)
        assert json.loads(json.dumps(view)) == view


def test_a_conversation_has_the_neighbours_of_what_its_archive_tells_of() -> None:
    a, b, archived = chain("a", "b", "a archived")
    a = replace(a, source="claude", external_id="platform-a")
    archived = replace(archived, external_id="platform-a")
    derived = Derived(Registry.of([a, b, archived, edge(archived, b), edge(a, archived)]))
    assert [derived.view(talk)["continued_by"] for talk in (a, archived)] == [[b.id], [b.id]]
    assert [derived.view(talk)["continuation_of"] for talk in (a, archived)] == [[], []]
    assert derived.view(b)["continuation_of"] == [a.id]


def test_what_a_conversation_says_it_continues_stays_beside_what_was_found() -> None:
    a, b = chain("a", "b")
    b = replace(b, continues=("LEDGER_API_FROZEN",))
    view = Derived(Registry.of([a, b, edge(a, b)])).view(b)
    assert (view["continues"], view["continuation_of"]) == (["LEDGER_API_FROZEN"], [a.id])
