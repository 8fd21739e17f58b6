"""What the judge reads in a text: quantities, signs, parts, scopes."""

from __future__ import annotations

import pytest

from forgekit.policy.judge import Statement
from forgekit.policy.judge.numbers import Bound, quantities
from forgekit.policy.judge.reading import Reading, read
from forgekit.policy.judge.words import cut, stem

DAY = 86_400.0


def reading(text: str) -> Reading:
    return read(Statement(text=text))


@pytest.mark.parametrize(
    ("text", "dimension", "value", "bound"),
    [
        ("a timeout of 5000 ms", "time", 5, Bound.EXACT),
        ("at most 15 minutes", "time", 900, Bound.MOST),
        ("at least 2 hours", "time", 7200, Bound.LEAST),
        ("90s", "time", 90, Bound.EXACT),
        ("seven and a half hours", "time", 27_000, Bound.EXACT),
        ("half a year", "time", 182.625 * DAY, Bound.EXACT),
        ("up to 20 MB", "size", 20e6, Bound.MOST),
        ("99.9%", "percent", 99.9, Bound.EXACT),
        ("$1,500", "money", 1500, Bound.EXACT),
        ("2 thousand euros", "money", 2000, Bound.EXACT),
        ("3 gateway replicas", "count:replica", 3, Bound.EXACT),
        ("12 learners or more", "count:student", 12, Bound.LEAST),
        ("port 8080", "label:port", 8080, Bound.EXACT),
        ("Python 3.12 or newer", "label:python", 3.0012, Bound.LEAST),
        ("every two weeks", "every", 14 * DAY, Bound.EXACT),
        ("twice a week", "every", 3.5 * DAY, Bound.EXACT),
        ("four times a day", "every", 0.25 * DAY, Bound.EXACT),
        ("monthly", "every", 30.4375 * DAY, Bound.EXACT),
        ("until 2027", "year", 2027, Bound.EXACT),
    ],
)
def test_quantity(text: str, dimension: str, value: float, bound: Bound) -> None:
    (words, _), *_ = cut(text)
    found = quantities(words)
    assert [(q.dimension, q.bound) for q in found] == [(dimension, bound)]
    assert found[0].value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("Never store card numbers", {"stor", "card", "number"}),
        ("Kafka is rejected as broker", {"kafka"}),
        ("Kafka was considered and turned down", {"kafka", "consider"}),
        ("JWT is not used for browsers", {"jwt", "use"}),
        ("Use cookies instead of tokens", {"token"}),
        ("Prefer composition over inheritance", {"inherit"}),
        ("Replace Redis with Memcached", {"redis"}),
        ("We switched from Jenkins to Buildkite", {"jenkins"}),
        ("We decided against Kafka", {"kafka"}),
        ("Sign-in is passwordless", {"password"}),
        ("Backups are uncompressed", {"compress"}),
        ("Never mock the ledger in tests", {"mock", "ledger"}),
        ("Cache results, never errors", {"error"}),
    ],
)
def test_what_a_text_says_no_to(text: str, denied: set[str]) -> None:
    assert {concept for segment in reading(text).segments for concept in segment.denied} == denied


def test_parts() -> None:
    (segment,) = reading("Invoices are sent to customers in March").segments
    assert [(t.concept, t.part.value) for t in segment.terms] == [
        ("invoic", "subject"),
        ("send", "core"),
        ("customer", "core"),
        ("march", "adjunct"),
    ]


def test_scopes_and_conditions() -> None:
    (segment,) = reading("Internal clients may use gRPC unless the call leaves production").segments
    assert segment.conditional
    assert {slot for slot, _ in segment.scopes} == {"audience", "environment"}


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["deploys", "deployed", "deploying", "deployment"], "deploy"),
        (["cookies", "cookie"], "cookie"),
        (["deletion", "deletes", "deleted"], "delet"),
        (["policies", "policy"], "policy"),
        (["automatically"], "automatical"),
    ],
)
def test_stem(words: list[str], same: str) -> None:
    assert {stem(word) for word in words} == {same}


def test_limits() -> None:
    long = reading("a, " * 5_000 + "; ".join(f"rule {i} holds" for i in range(500)))
    assert len(long.segments) <= 12
