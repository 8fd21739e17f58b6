"""How words and meaning become one ranking."""

from __future__ import annotations

from forgekit.ids import EntityId
from forgekit.index.query import NAMED_SCORE, Hit
from forgekit.model.kinds import Kind
from forgekit.search import COSINE_FLOOR, Place, by_meaning, in_force_first, rank

A, B, C, D = (EntityId(letter) for letter in "abcd")


def hit(entity: EntityId, score: float = 1.0) -> Hit:
    return Hit(
        kind=Kind.DECISION,
        id=entity,
        short=entity,
        title=entity,
        status=None,
        project=None,
        snippet="",
        score=score,
        path=entity,
    )


def test_a_hit_has_the_mean_of_its_share_of_the_words_and_its_cosine() -> None:
    assert rank([hit(A, 6.0), hit(B, 2.0)], [(B, 0.5), (C, 0.25)], {}, 8.0) == [
        Place(A, 0.375, 1, 0.75, None, None),
        Place(B, 0.375, 2, 0.25, 1, 0.5),
        Place(C, 0.125, None, None, 2, 0.25),
    ]


def test_where_no_text_says_the_words_meaning_decides() -> None:
    words, nearest = [hit(A, 2.0), hit(B, 1.9)], [(C, 0.6), (A, 0.2)]
    assert [place.id for place in rank(words, nearest, {B: 0.1}, 20.0)] == [C, A, B]
    assert [place.id for place in rank(words, nearest, {B: 0.1}, 2.0)] == [A, B, C]


def test_equal_ones_are_in_the_order_of_their_ids() -> None:
    places = rank([hit(D, 2.0), hit(B, 2.0)], [(C, 0.5), (A, 0.5)], {}, 4.0)
    assert [place.id for place in places] == [A, B, C, D]


def test_a_share_is_never_above_one() -> None:
    assert rank([hit(A, 2.0)], [], {}, 1.0) == [Place(A, 0.5, 1, 1.0, None, None)]
    assert rank([], [], {}, 0.0) == []


def test_what_the_query_names_comes_first_in_each_mode() -> None:
    words = [hit(C, NAMED_SCORE), hit(A, 2.0)]
    nearest = [(B, 0.9), (C, 0.8), (A, 0.7)]
    hybrid = rank(words, nearest, {}, 4.0)
    assert [(p.id, p.lexical_rank, p.semantic_rank, p.cosine) for p in hybrid] == [
        (C, None, None, 0.8),
        (A, 1, 2, 0.7),
        (B, None, 1, 0.9),
    ]
    assert hybrid[0].score == NAMED_SCORE
    semantic = by_meaning(words, nearest)
    assert [(p.id, p.score) for p in semantic] == [(C, NAMED_SCORE), (B, 0.9), (A, 0.7)]


def test_what_replaced_a_hit_comes_before_it() -> None:
    places = [hit(C, NAMED_SCORE), hit(A, 3.0), hit(D, 2.0), hit(B, 1.0)]
    ranked = in_force_first(places, {A: B, B: D, C: D})
    assert [(p.id, p.score) for p in ranked] == [(C, NAMED_SCORE), (D, 3.0), (B, 3.0), (A, 3.0)]
    assert in_force_first(places, {}) == places
    assert {p.id for p in in_force_first(places, {A: B, B: A})} == {A, B, C, D}


def test_what_is_far_from_the_query_is_found_by_its_words_alone() -> None:
    far = COSINE_FLOOR - 0.01
    places = rank([hit(A), hit(D)], [(C, COSINE_FLOOR), (A, far), (B, far)], {D: -0.5}, 2.0)
    assert [(p.id, p.lexical_rank, p.semantic_rank, p.cosine) for p in places] == [
        (A, 1, None, far),
        (C, None, 1, COSINE_FLOOR),
        (D, 2, None, -0.5),
    ]
