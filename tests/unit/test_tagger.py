"""The tagger and what is made of its tags."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgekit.archives import tagged
from forgekit.archives.grouping import grouped
from forgekit.archives.network import GRID, weights
from forgekit.archives.read import read_archive
from forgekit.archives.spans import Span, spans_of, with_parts
from forgekit.archives.tagger import TAGS, VALUES, tag
from forgekit.archives.tokens import WIDTH, tokens_of
from forgekit.model.archive_record import PossibleRecord

LETTER = """Hand-over, 4 May 2026. This chat is called BOAT_SHED_2, it goes on from BOAT_SHED_1.

We settled two things. The slipway gets a steel rail, because the timber one rots within five years.
The roof stays as it is; slate was looked at and turned down.

Still open:
- who pays for the crane? (urgent)
"""


def span(tag: str, text: str, line: int, *, forward: bool = False) -> Span:
    return Span(tag, "", text, line, line, forward, 5.0)


def test_an_archive_without_ids_or_known_labels_is_read() -> None:
    read = read_archive(LETTER)
    assert (read.tag, read.inherits_from) == ("BOAT_SHED_2", ("BOAT_SHED_1",))
    assert [d.text for d in read.decisions][:1] == ["The slipway gets a steel rail"]
    assert read.decisions[0].rationale == "the timber one rots within five years"
    assert [(t.title, t.priority.value if t.priority else "") for t in read.threads] == [
        ("who pays for the crane?", "high")
    ]


def test_a_line_with_a_known_label_fills_no_other_field() -> None:
    record = "### D007: Five correct answers\n- **Tier:** 0.8\n- **Tags:** curriculum, mastery\n"
    (decision,) = read_archive(f"# Conversation Archive: x\n\n{record}").decisions
    assert (decision.alternatives, decision.tags) == ((), ("curriculum", "mastery"))


def test_weights_are_on_the_grid_so_that_sums_are_exact() -> None:
    for name, each in weights("tagger.bin").items():
        assert np.array_equal(each * GRID, np.round(each * GRID)), name
        assert np.abs(each).max() < 32, name


def test_a_text_gets_the_same_tags_whatever_the_order_of_its_sums() -> None:
    tokens = tokens_of(LETTER.split("\n"), [True] * LETTER.count("\n") + [True])
    found = tag(tokens, weights("tagger.bin"))
    mirrored = dict(weights("tagger.bin"))
    size = mirrored["out"].shape[0]
    half = size // 2
    mirrored["third"] = mirrored["third"][:, ::-1]
    mirrored["third bias"] = mirrored["third bias"][::-1]
    taps = mirrored["fourth"].shape[0] // half
    kernel = mirrored["fourth"].reshape(taps, half, half)[:, ::-1]
    mirrored["fourth"] = kernel.reshape(taps * half, half)
    mirrored["out"] = np.concatenate([mirrored["out"][:half][::-1], mirrored["out"][half:]])
    other = tag(tokens, mirrored)
    assert np.array_equal(found.tags, other.tags)
    assert np.array_equal(found.margins, other.margins)


@given(st.lists(st.text(max_size=30), max_size=6))
@settings(max_examples=50, deadline=None)
def test_lines_that_do_not_speak_change_no_token(zone: list[str]) -> None:
    zone = [line.replace("\n", " ") for line in zone]
    lines = ["## Decisions", "- D1: rows", *zone, "> said", "- D2: columns"]
    own = [True, True, *[False] * (len(zone) + 1), True]
    one, other = tokens_of(lines, own), tokens_of([*lines[:2], "", lines[-1]], [True, True, True, True])
    assert one.texts == other.texts
    assert np.array_equal(one.dense, other.dense)
    assert np.array_equal(one.around, other.around)


def test_tokens_of_nothing_have_no_spans() -> None:
    assert tokens_of([], []).dense.shape == (0, WIDTH)
    assert spans_of(["", "x" * 30_000], [True, True]) == []


def test_fields_go_with_the_record_before_them_or_wait_for_the_next() -> None:
    spans = [
        span("id", "K1", 1, forward=True),
        span("D", "Rows", 1),
        span("why", "small", 2),
        span("tier", "0.9", 3, forward=True),
        span("D", "Columns", 3),
    ]
    found, _ = grouped(spans, ["- K1: Rows", "  small", "- (0.9) Columns"], {})
    assert [(each.words.text, [f.text for f in each.fields]) for each in found] == [
        ("Rows", ["K1", "small"]),
        ("Columns", ["0.9"]),
    ]


def test_what_was_not_taken_may_stand_within_a_decision() -> None:
    line = "- We take the bus, not the train or a car, because it is cheap"

    def at(tag: str, text: str) -> Span:
        return replace(span(tag, text, 1), column=line.index(text))

    spans = [at("D", "We take the bus, not"), at("alt", "the train"), at("D", "or"), at("alt", "a car")]
    found = with_parts([*spans, at("why", "it is cheap")], [line])
    assert [(each.tag, each.text) for each in found] == [
        ("D", "We take the bus, not the train or a car"),
        ("alt", "the train"),
        ("alt", "a car"),
        ("why", "it is cheap"),
    ]


def test_what_stands_behind_a_mark_is_no_part_of_a_decision() -> None:
    line = "- We take the bus (not the train)"
    spans = [
        replace(span("D", "We take the bus", 1), column=2),
        replace(span("alt", "the train", 1), column=23),
    ]
    assert with_parts(spans, [line]) == spans


def test_records_of_one_series_have_one_kind() -> None:
    names, kinds = ("E1", "F1", "F2", "F3", "G"), "DTDTD"
    spans = [
        each
        for line, (name, kind) in enumerate(zip(names, kinds, strict=True), 1)
        for each in (span("id", name, line, forward=True), span(kind, f"Words {line}", line))
    ]
    found, _ = grouped(spans, [f"- {name}: Words" for name in names], {})
    assert "".join(each.kind for each in found) == "DTTTD"


def test_one_series_may_number_decisions_and_threads() -> None:
    spans = [
        each
        for line, kind in enumerate("DDDTT", 1)
        for each in (span("id", f"ar-{line}", line, forward=True), span(kind, f"Words {line}", line))
    ]
    found, _ = grouped(spans, [f"- ar-{line}: Words" for line in range(1, 6)], {})
    assert "".join(each.kind for each in found) == "DDDTT"


def test_what_stands_in_a_row_goes_with_its_record() -> None:
    spans = [span("why", "small", 4), span("D", "Rows", 4), span("tier", "0.9", 4), span("D", "Columns", 5)]
    found, _ = grouped(spans, ["", "", "", *["| small | Rows | 0.9 |"] * 2], {4: 1, 5: 1})
    assert [(each.words.text, [f.text for f in each.fields]) for each in found] == [
        ("Rows", ["small", "0.9"]),
        ("Columns", []),
    ]


def test_an_id_that_comes_again_is_said_of_its_record() -> None:
    spans = [
        span("id", "D1", 1, forward=True),
        span("D", "Rows", 1),
        span("T", "Who pays?", 2),
        span("id", "D001", 5),
        span("why", "small", 5),
        span("tag", "A_B", 6),
    ]
    lines = ["- D1: Rows", "- Who pays?", "", "", "D001 is small", "A_B"]
    found, facts = grouped(spans, lines, {})
    assert [(each.words.text, [f.text for f in each.fields]) for each in found] == [
        ("Rows", ["D1", "small"]),
        ("Who pays?", []),
    ]
    assert [fact.text for fact in facts] == ["A_B"]


def test_every_tag_with_values_is_a_tag() -> None:
    assert set(VALUES) <= set(TAGS)


def test_what_is_not_sure_enough_waits_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    unsure = Span("D", "active", "the gate stays shut", 3, 3, 0.0, 0.25)
    why = Span("why", "", "of the goats", 3, 3, 0.0, 3.0)
    monkeypatch.setattr(tagged, "spans_of", lambda *_: [unsure, why])
    quote = "Perhaps the gate stays shut because of the goats."
    read = read_archive(f"# Conversation Archive: goats\n\n{quote}\n")
    assert read.decisions == ()
    assert read.possible == (
        PossibleRecord(
            kind="D", text="the gate stays shut", sure=0.53, line=3, quote=quote, rationale="of the goats"
        ),
    )
    assert [str(problem) for problem in read.problems] == [
        "3: 'the gate stays shut' may be a decision; it waits for `forgekit review`"
    ]


@pytest.mark.parametrize(("margin", "waits"), [(0.9, False), (1.1, True), (2.1, False)])
def test_beside_ids_half_of_the_least_margin_is_asked_about(
    monkeypatch: pytest.MonkeyPatch, margin: float, *, waits: bool
) -> None:
    monkeypatch.setattr(
        tagged, "spans_of", lambda *_: [Span("D", "active", "We go with rsync", 3, 3, 0.0, margin)]
    )
    read = read_archive("# Backups\n\nWe go with rsync\n\n### D1: Photos are kept for a year\n")
    assert bool(read.possible) is waits
    assert len(read.decisions) == (2 if margin > 2 else 1)
