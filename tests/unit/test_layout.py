"""Series of ids: records found by what counts them, and names that count archives."""

from __future__ import annotations

import pytest

from forgekit.archives.layout import with_headings, with_series
from forgekit.archives.spans import Span

PLAN = [
    "- dec/1: rail of steel",
    "- dec/2: roof stays",
    "- dec/3: no paint; too dear",
    "",
    "Plans",
    "- dec/4: a pier",
]


def decision(line: int, column: int, text: str) -> Span:
    return Span("D", "active", text, line, line, 0.0, 1.0, column)


def seen(spans: list[Span], lines: list[str]) -> list[tuple[int, str, str]]:
    found = with_series(spans, lines, [True] * len(lines))
    return [(span.line, span.tag, span.text) for span in found]


def test_a_line_that_counts_among_records_is_one_up_to_its_first_mark() -> None:
    spans = [decision(1, 9, "rail of steel"), decision(2, 9, "roof stays")]
    assert seen(spans, PLAN) == [
        (1, "id", "dec/1"),
        (1, "D", "rail of steel"),
        (2, "id", "dec/2"),
        (2, "D", "roof stays"),
        (3, "id", "dec/3"),
        (3, "D", "no paint"),
    ]


@pytest.mark.parametrize("lines", [PLAN[:2], [line.replace("dec/", "") for line in PLAN]])
def test_two_ids_or_plain_numbers_are_no_series(lines: list[str]) -> None:
    assert seen([decision(1, 9, "rail of steel")], lines) == [(1, "D", "rail of steel")]


def test_a_list_of_which_few_lines_are_records_gives_no_more() -> None:
    assert seen([decision(1, 9, "rail of steel")], PLAN) == [(1, "D", "rail of steel")]


def test_a_heading_that_is_an_id_alone_names_the_record_below_it() -> None:
    lines = ["## Plan A", "", "- rail of steel", "## Plan B", "- roof stays", "## Plan C", "to be seen"]
    spans = [decision(3, 2, "rail of steel"), decision(5, 2, "roof stays")]
    named = [(1, "id", "Plan A"), (3, "D", "rail of steel"), (4, "id", "Plan B"), (5, "D", "roof stays")]
    for found, of in ((named, spans), ([(3, "D", "rail of steel")], spans[:1])):
        read = with_headings(of, lines, [True] * len(lines))
        assert [(span.line, span.tag, span.text) for span in read] == found


def test_a_bracket_behind_an_id_of_a_series_is_not_the_record() -> None:
    lines = ["- C1 (open): Who drives?", "- C2 (stuck, by: the bill): Three phases", "- C3 (open): The tin"]
    spans = [Span("T", "", "Who drives?", 1, 1, 0.0, 3.0, 12), Span("T", "", "The tin", 3, 3, 0.0, 3.0, 12)]
    found = [(s.line, s.tag, s.text) for s in with_series(spans, lines, [True] * 3)]
    assert (2, "T", "Three phases") in found
