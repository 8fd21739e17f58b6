"""What the judge reads in a text: quantities, signs, parts, scopes."""

from __future__ import annotations

import pytest

from forgekit.conflict.rules.port import Statement
from forgekit.conflict.rules.numbers import quantities
from forgekit.conflict.rules.quantity import Bound
from forgekit.conflict.rules.reading import Reading, read
from forgekit.conflict.rules.words import cut, stem

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
        ("within two working days", "time", 2 * DAY, Bound.MOST),
        ("within a month", "time", 30.4375 * DAY, Bound.MOST),
        ("a quarter of an hour", "time", 900, Bound.EXACT),
        ("by 1 March", "date", 63, Bound.MOST),
        ("on March 1", "date", 63, Bound.EXACT),
        ("the 5th of June", "date", 160, Bound.EXACT),
        ("by the fifth of the month", "day", 5, Bound.MOST),
        ("on the 20th", "day", 20, Bound.EXACT),
        ("at half past nine", "clock", 9.5, Bound.EXACT),
        ("quarter to ten", "clock", 9.75, Bound.EXACT),
        ("at 14:30", "clock", 14.5, Bound.EXACT),
        ("before 9 pm", "clock", 21, Bound.MOST),
        ("until noon", "clock", 12, Bound.MOST),
        ("at eight", "clock", 8, Bound.EXACT),
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


@pytest.mark.parametrize(
    "text", ["may 5 nodes fail", "at two widths", "the first draft", "2^63-1 wei", "2:1 odds"]
)
def test_no_date_and_no_value(text: str) -> None:
    (words, _), *_ = cut(text)
    assert not [q for q in quantities(words) if q.dimension in {"date", "day", "clock", "count:wei"}]


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("Never skip the audit", {"skip"}),
        ("Alerts never miss an outage", {"miss"}),
        ("Forms are public once names are removed", set()),
        ("Use unreleased drafts", set()),
    ],
)
def test_what_is_no_denial(text: str, denied: set[str]) -> None:
    assert {concept for segment in reading(text).segments for concept in segment.denied} == denied


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The team lead approves leave", [("does", "team lead")]),
        ("Leave is approved by the head of sales", [("does", "head sales")]),
        ("Only editors may publish", [("only", "editors")]),
        ("Publishing is reserved for editors", [("only", "editors")]),
        ("Interns can publish", [("may", "interns")]),
        ("Interns may not publish", []),
        ("The parser may fail", []),
        ("Publishing is limited to 10 MB", []),
    ],
)
def test_who_does_it(text: str, found: list[tuple[str, str]]) -> None:
    (segment,) = reading(text).segments
    assert [(agent.mode.value, agent.shown) for agent in segment.agents] == found


def test_before_and_after() -> None:
    inside, opening = reading("Run the lint before the commit"), reading("Before the launch it is secret")
    assert inside.segments[0].moments == {("before", "commit")}
    assert opening.segments[0].moments == set()
    assert not inside.periods
    assert opening.periods == {("before", "launch")}


def test_what_stands_in_brackets_is_said_in_passing() -> None:
    assert [segment.later for segment in reading("Keep rows (old ones too) forever").segments] == [
        False,
        True,
        False,
    ]


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
