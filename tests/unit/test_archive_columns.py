"""Columns of tables: a column means the same in each of its rows."""

from __future__ import annotations

from forgekit.archives.read import read_archive
from forgekit.model.entities import DecisionStatus, Priority, ThreadStatus

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


def test_cards_in_quotes_are_records_and_words_in_quotes_are_none() -> None:
    text = """\
Tag: `STOVE-2`. Continues `STOVE-1`.

> We lay the stove with two flues and a hob.
> confidence: 0.9
> why: the house is empty in winter and must warm in an evening
> status: in force

> Who sweeps the chimney before the first fire?
> priority: high
> status: open

> "A stove without a cat is no stove", as Matvey puts it.
"""
    found = read_archive(text)
    assert [(each.text, each.tier) for each in found.decisions] == [
        ("We lay the stove with two flues and a hob", 0.9)
    ]
    assert [each.title for each in found.threads] == ["Who sweeps the chimney before the first fire?"]


def test_cards_with_labels_before_other_signs_are_records_of_an_archive_without_others() -> None:
    text = """\
# Board

## Settled

> **Books stand by season**
> reason \u25b8 visitors do not know the subject
> dropped ideas \u25b8 by colour

## To do

- Fire inspection: open
"""
    assert [(each.text, each.rationale) for each in read_archive(text).decisions] == [
        ("Books stand by season", "visitors do not know the subject")
    ]


def test_signs_that_come_again_in_a_column_are_no_ids() -> None:
    rows = "".join(
        f"| B | {text} | {why} |\n"
        for text, why in (
            ("Ride north to south", "the wind"),
            ("Sleep in tents", "it is cheap"),
            ("Cook in the evening", "midday is too hot"),
        )
    )
    found = read_archive(f"# Trip\n\n| sign | what | why |\n|---|---|---|\n{rows}").decisions
    assert [each.text for each in found] == ["Ride north to south", "Sleep in tents", "Cook in the evening"]


def test_keys_of_data_that_no_label_names_mean_what_their_values_show() -> None:
    text = """\
{"k":"head","tag":"BUOY-FW-0412","when":"2025-04-12"}
{"k":"d","id":"D1","say":"Sample the accelerometer at 26 Hz in storms","p":0.82,"on":[]}
{"k":"d","id":"D2","say":"Watchdog period is eight seconds","p":0.5,"on":["D1"],"st":"revised","see":"D3"}
{"k":"d","id":"D3","say":"Watchdog period is twenty seconds, fed from the main loop","p":0.9,"on":[]}
{"k":"q","id":"T1","ask":"Is the lamp driver audible?","pr":"P3","st":"closed","ans":"yes at 400 Hz"}
{"k":"q","id":"T2","ask":"Port the simulator to Windows","pr":"P1","st":"open"}
{"k":"sample","id":"D99","say":"this is how a decision line looks","p":0.0}
"""
    found = read_archive(text)
    assert [(d.local_id, d.text, d.tier, d.superseded_by) for d in found.decisions] == [
        ("D1", "Sample the accelerometer at 26 Hz in storms", 0.82, None),
        ("D2", "Watchdog period is eight seconds", 0.5, "D3"),
        ("D3", "Watchdog period is twenty seconds, fed from the main loop", 0.9, None),
    ]
    assert [(t.title, t.status, t.resolution) for t in found.threads] == [
        ("Is the lamp driver audible?", ThreadStatus.RESOLVED, "yes at 400 Hz"),
        ("Port the simulator to Windows", ThreadStatus.OPEN, ""),
    ]


def test_a_mapping_of_names_to_like_mappings_is_records() -> None:
    text = """\
scale: {hot: high, cold: low}
settled:
  deposit-flat:
    we_do: Ask each singer for a flat deposit of 120 pounds
    sure: 0.85
    now: replaced
  deposit-parts:
    we_do: Take the deposit in two parts, in March and April
    sure: 0.95
    leans_on: [deposit-flat]
loose_ends:
  insurance:
    ask: Does the policy of the hall cover the risers?
    heat: hot
    state: open
  encore:
    ask: Which encore do we give in Lithuanian?
    heat: cold
    state: open
"""
    found = read_archive(text)
    assert [(d.local_id, d.tier, d.dependencies) for d in found.decisions] == [
        ("deposit-flat", 0.85, None),
        ("deposit-parts", 0.95, ("deposit-flat",)),
    ]
    assert [(t.local_id, t.priority) for t in found.threads] == [
        ("insurance", Priority.HIGH),
        ("encore", Priority.LOW),
    ]


def test_lists_by_topic_are_read_together_and_outcomes_are_decisions() -> None:
    text = """\
# Salt road

```json
{
  "areas": {
    "format": {
      "resolved_questions": [
        {
          "outcome": "Each episode follows one object",
          "certainty": {"value": 0.88, "basis": "test listeners dropped off after twenty-five minutes"},
          "still_valid": true
        }
      ],
      "unresolved_questions": [
        {"question": "Do we number the episodes?", "weight": "low"}
      ]
    },
    "money": {
      "resolved_questions": [
        {
          "outcome": "Sell transcripts for two euros each",
          "certainty": {"value": 0.4, "basis": "a listener asked for print"},
          "still_valid": false
        },
        {
          "outcome": "Carry no advertising in the first season",
          "certainty": {"value": 0.7, "basis": "the county grant forbids it until June"},
          "still_valid": true
        }
      ],
      "unresolved_questions": [
        {"question": "Whose field recorder do we borrow?", "weight": "high", "answered": "Teun lends his"}
      ]
    }
  }
}
```
"""
    found = read_archive(text)
    assert [(d.text, d.tier, d.status) for d in found.decisions] == [
        ("Each episode follows one object", 0.88, DecisionStatus.ACTIVE),
        ("Sell transcripts for two euros each", 0.4, DecisionStatus.INVALIDATED),
        ("Carry no advertising in the first season", 0.7, DecisionStatus.ACTIVE),
    ]
    assert found.decisions[0].rationale == "test listeners dropped off after twenty-five minutes"
    assert [(t.priority, t.resolution) for t in found.threads] == [
        (Priority.LOW, ""),
        (Priority.HIGH, "Teun lends his"),
    ]


def test_labels_in_braces_are_fields_and_a_block_comment_is_no_record() -> None:
    text = """\
# INVOICE-PARSER-S4

[D1|active|0.9] Read the text layer first {why: the scan turned a 7 into a 1; not: always scan, a service}
[D5|rejected|0.25] Train a layout model of our own {}

/* shape for the next model, do not load:
[D9|active|0.0] sentence {why: reason; not: a, b}
*/
"""
    decisions = read_archive(text).decisions
    assert [(d.text, d.rationale, d.alternatives) for d in decisions] == [
        ("Read the text layer first", "the scan turned a 7 into a 1", ("always scan", "a service")),
        ("Train a layout model of our own", "", ()),
    ]
