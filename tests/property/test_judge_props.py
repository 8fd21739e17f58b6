"""Laws of the judge by rules: symmetry, determinism, and what must not change a verdict."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from forgekit.conflict.rules.port import Judgement, Statement, Verdict
from forgekit.conflict.rules.reading import SEGMENT_LIMIT, read
from forgekit.conflict.rules.rules import RuleJudge
from forgekit.conflict.rules.words import TEXT_LIMIT, WORD_LIMIT, cut
from forgekit.times import Instant

SUBJECTS = ("Logs", "The API", "Invoices", "Session tokens", "Production", "We", "Lessons", "")
VERBS = (
    "use",
    "never use",
    "are kept for",
    "are stored in",
    "must not",
    "switched from",
    "keep",
    "are",
    "is rejected",
)
OBJECTS = (
    "PostgreSQL",
    "MongoDB",
    "30 days",
    "90 days",
    "public",
    "private",
    "cookies instead of tokens",
    "at most 3 retries",
    "Jenkins to Buildkite",
    "manual",
    "automatic",
    "twice a week",
    "v2",
)
TAILS = (
    "",
    " in production",
    " for customers",
    " when the load is high",
    ", except on Sundays",
    ". It is cheaper",
    "; no others",
)
IRRELEVANT = (
    "; the zebra yawns",
    ". Giraffes hum",
    ", whereas xylophones glisten",
    "; walruses juggle kumquats",
)

sentences = st.builds(
    lambda *parts: " ".join(part for part in parts[:3] if part) + parts[3],
    st.sampled_from(SUBJECTS),
    st.sampled_from(VERBS),
    st.sampled_from(OBJECTS),
    st.sampled_from(TAILS),
)
texts = sentences | st.text(max_size=120)
statements = st.builds(
    Statement,
    text=texts,
    rationale=st.just("") | sentences,
    alternatives=st.lists(st.sampled_from(OBJECTS), max_size=2).map(tuple),
    scope=st.lists(st.sampled_from(("production", "staging", "mobile", "zebra")), max_size=1).map(tuple),
)
cosines = st.none() | st.floats(-1, 1)


def judge(a: Statement, b: Statement, cosine: float | None = None) -> Judgement:
    return RuleJudge().judge([(a, b)], [cosine])[0]


@given(statements, statements, cosines)
def test_the_order_of_the_sides_says_nothing(a: Statement, b: Statement, cosine: float | None) -> None:
    assert judge(a, b, cosine) == judge(b, a, cosine)


@given(statements, statements, cosines)
def test_the_same_pair_gets_the_same_judgement(a: Statement, b: Statement, cosine: float | None) -> None:
    together = RuleJudge().judge([(b, b), (a, b), (a, a)], [None, cosine, None])
    assert together[1] == judge(replace(a), replace(b), cosine)


@given(statements, statements, cosines)
def test_the_score_is_a_probability_and_agrees_with_the_verdict(
    a: Statement, b: Statement, cosine: float | None
) -> None:
    found = judge(a, b, cosine)
    assert 0 <= found.score <= 1
    assert (found.score >= 0.5) is (found.verdict is Verdict.CONTRADICTION)
    assert found.reasons or found.verdict is not Verdict.CONTRADICTION


@given(
    statements,
    statements,
    st.floats(0, 1),
    st.sampled_from(("The Nexus", "Trellis", None)),
    st.integers(0, 10**12).map(Instant),
)
def test_tier_project_and_time_change_nothing(
    a: Statement, b: Statement, tier: float, project: str | None, created: Instant
) -> None:
    assert judge(a, b) == judge(replace(a, tier=tier, project=project, created=created), b)


@given(sentences, sentences, st.sampled_from(IRRELEVANT))
def test_a_clause_about_something_else_flips_nothing(a: str, b: str, clause: str) -> None:
    plain = judge(Statement(text=a), Statement(text=b))
    longer = judge(Statement(text=a + clause), Statement(text=b))
    assert (plain.verdict is Verdict.CONTRADICTION) is (longer.verdict is Verdict.CONTRADICTION)


@given(texts)
def test_nothing_contradicts_itself(text: str) -> None:
    assert judge(Statement(text=text), Statement(text=text)).verdict is not Verdict.CONTRADICTION


@given(st.text(st.characters(codec="utf-8"), max_size=400), st.integers(1, 2_000))
def test_long_texts_are_read_up_to_a_limit(text: str, times: int) -> None:
    long = text * times
    clauses = [clause for clause, _ in cut(long)]
    assert sum(len(clause) for clause in clauses) <= TEXT_LIMIT
    assert sum(word.raw[0].isalnum() for clause in clauses for word in clause) <= WORD_LIMIT
    assert len(read(Statement(text=long)).segments) <= SEGMENT_LIMIT
