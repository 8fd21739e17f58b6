"""How two rankings become one."""

from __future__ import annotations

from forgekit.catalogue.catalogue import NAMED_SCORE, Hit
from forgekit.ids import EntityId
from forgekit.model.kinds import Kind
from forgekit.search import COSINE_FLOOR, Mode, fuse, rank

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


def test_an_id_has_the_sum_of_its_reciprocal_ranks() -> None:
    assert fuse([A, B], [B, C]) == [(B, 1 / 62 + 1 / 61), (A, 1 / 61), (C, 1 / 62)]


def test_equal_ones_are_in_the_order_of_their_ids() -> None:
    assert fuse([B, A], [A, B]) == fuse([A, B], [B, A])
    assert [entity for entity, _ in fuse([D, B], [C, A])] == [C, D, A, B]


def test_nothing_fuses_to_nothing_and_one_ranking_to_itself() -> None:
    assert fuse([], []) == []
    assert [entity for entity, _ in fuse([C, A, B], [])] == [C, A, B]


def test_what_the_query_names_comes_first_in_each_mode() -> None:
    words = [hit(C, NAMED_SCORE), hit(A, 2.0)]
    nearest = [(B, 0.9), (C, 0.8), (A, 0.7)]
    hybrid = rank(words, nearest, Mode.HYBRID)
    assert [(p.id, p.lexical_rank, p.semantic_rank, p.cosine) for p in hybrid] == [
        (C, None, None, 0.8),
        (A, 1, 2, 0.7),
        (B, None, 1, 0.9),
    ]
    assert hybrid[0].score == NAMED_SCORE
    semantic = rank(words, nearest, Mode.SEMANTIC)
    assert [(p.id, p.score) for p in semantic] == [(C, NAMED_SCORE), (B, 0.9), (A, 0.7)]


def test_what_is_far_from_the_query_is_found_by_its_words_alone() -> None:
    far = COSINE_FLOOR - 0.01
    places = rank([hit(A)], [(C, COSINE_FLOOR), (A, far), (B, far)], Mode.HYBRID)
    assert [(p.id, p.lexical_rank, p.semantic_rank, p.cosine) for p in places] == [
        (A, 1, None, far),
        (C, None, 1, COSINE_FLOOR),
    ]
