"""Separated values written as tables."""

from __future__ import annotations

import pytest

from forgekit.archives.delimited import write_tables
from forgekit.archives.read import read_archive

ROWS = ["no,decision,why", 'D1,"Oak, oiled",it lasts', "D2,Slate roof,"]
TABLE = [
    "| no | decision | why |",
    "|---|---|---|",
    "| D1 | Oak, oiled | it lasts |",
    "| D2 | Slate roof |  |",
]


@pytest.mark.parametrize(
    ("before", "behind", "expected"),
    [
        (["Words", ""], ["", "More"], ["Words", *TABLE, "", "More"]),
        (["```csv"], ["```", "More"], [*TABLE, "", "More"]),
        (["", "[settled]"], [""], ["[settled]", *TABLE, ""]),
        ([], ["", "More"], [*TABLE, "More"]),
    ],
    ids=["below an empty line", "in a fence", "below a title", "at the top"],
)
def test_values_below_labels_are_a_table_where_a_line_is_free(
    before: list[str], behind: list[str], expected: list[str]
) -> None:
    lines = [*before, *ROWS, *behind]
    write_tables(lines)
    assert lines == expected


@pytest.mark.parametrize(
    "lines",
    [
        ["", "We chose oak, slate, and lime.", "Later, we saw why, again.", "It rained, a lot, then."],
        ["", "D1;Use oak;0.9", "D2;Use slate;0.8", "D3;Use lime;0.7"],
        ["", "decision,why,state", 'D1,"open quote,x', "D2,a,b"],
        ["", "decision,why,state", "D1,a,b,c,d", "D2,a,b"],
        ["Words", *ROWS, "Words"],
    ],
    ids=["sentences", "no labels", "no CSV", "rows longer than the labels", "no line is free"],
)
def test_other_lines_stay_as_they_are(lines: list[str]) -> None:
    kept = list(lines)
    write_tables(kept)
    assert kept == lines


def test_records_in_separated_values_keep_their_lines() -> None:
    text = (
        "# Barn\n\n```csv\nid;decision;why;instead of\nD1;Oak, oiled;it lasts;ash | pine\nD2;Slate;;\n```\n"
    )
    found = read_archive(text).decisions
    assert [(d.local_id, d.text, d.rationale, d.alternatives, d.line) for d in found] == [
        ("D1", "Oak, oiled", "it lasts", ("ash", "pine"), 5),
        ("D2", "Slate", "", (), 6),
    ]
