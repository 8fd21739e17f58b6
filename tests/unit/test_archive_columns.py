"""Columns of tables: a column means the same in each of its rows."""

from __future__ import annotations

from forgekit.archives.read import read_archive

FERRY = """\
# HARBOUR-FERRY-TIMETABLE

| We are going with | Bet | What tipped it | Left on the quay |
|:--|:-:|:--|:--|
| First boat leaves the island at 6:20 | 9 | the creamery shift starts at seven | 6:00; 6:45 |
| Bicycles travel free outside July | 7 | counting them cost more than they paid | a flat bicycle fare |
| One return ticket, valid all week | 6 | islanders sleep over when the wind turns | day returns |
| One Sunday boat at noon, crewed by volunteers | 8 | the chapel has no priest on Saturdays | no Sunday boat |
"""


def test_each_cell_of_a_column_is_read_as_most_of_them() -> None:
    decisions = read_archive(FERRY).decisions
    assert [each.alternatives for each in decisions] == [
        ("6:00", "6:45"),
        ("a flat bicycle fare",),
        ("day returns",),
        ("no Sunday boat",),
    ]
    assert [each.tier for each in decisions] == [0.9, 0.7, 0.6, 0.8]


def test_a_column_of_ids_holds_dependencies_and_a_full_width_dash_nothing() -> None:
    text = """\
# OAT-BARN-WEDDING

| Code | We settled | Because | Under it |
|---|---|---|---|
| W-1 | Serve the meal at long tables, family style | guests who share bowls talk | \uff0d |
| W-2 | Hire one band and no disc jockey | the barn has a limiter at 92 dB | W-1 |
| W-3 | Light sparklers at ten, outside the gate | the horses bolt at fireworks | W-1, W-2 |
"""
    decisions = read_archive(text).decisions
    assert [each.dependencies for each in decisions] == [None, ("W-1",), ("W-1", "W-2")]


def test_the_first_sign_of_an_item_of_a_legend_counts() -> None:
    text = """\
# OAT-BARN-WEDDING

Legend
- State: o = active, x = rejected

| Code | We settled | State |
|---|---|---|
| W-1 | Serve the meal at long tables, family style | o |
| W-2 | Light fireworks at eleven | x |
"""
    assert [each.status.value for each in read_archive(text).decisions] == ["active", "invalidated"]
