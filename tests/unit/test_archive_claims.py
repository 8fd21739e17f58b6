"""What one record says of itself and what stands around it: values, blockers, the ends of a transcript."""

from __future__ import annotations

import pytest
from machine_blocks import signed_block

from forgekit.archives.claims import items, parse_priority, parse_thread_status, parse_tier
from forgekit.archives.read import read_archive
from forgekit.briefing.template import template
from forgekit.model.archive_record import ArchiveText, Scope
from forgekit.model.entities import DecisionStatus, Priority, ThreadStatus

TABLE = "## Decisions\n\n| ID | Decision | Tier |\n|---|---|---|\n| D001 | Keep rows | 0.9 |\n"


def said(read: ArchiveText) -> list[str]:
    return [str(problem) for problem in read.problems]


def test_a_list_is_split_at_semicolons_where_a_bracket_is_never_closed() -> None:
    assert items("rows (fast; columns, trees") == ("rows (fast", "columns", "trees")


def test_a_list_is_not_split_within_a_number_of_thousands() -> None:
    assert items("offer 150, split the 1,200") == ("offer 150", "split the 1,200")
    assert items("100,200,300") == ("100", "200", "300")


def test_of_a_key_that_is_written_twice_the_first_stands() -> None:
    record = "{id: D001, decision: Keep rows, Decision: Drop rows}"
    read = read_archive(f"```yaml\ndecisions:\n  - {record}\n```\n")
    assert [d.text for d in read.decisions] == ["Keep rows"]


def test_a_status_of_blocked_may_name_what_blocks() -> None:
    read = read_archive("### T001: Who pays\n- **Status:** blocked by T002\n\n### T002: Budget\n")
    assert [(t.local_id, t.status, t.blocked_by) for t in read.threads] == [
        ("T001", ThreadStatus.OPEN, ("T002",)),
        ("T002", None, None),
    ]


@pytest.mark.parametrize("key", ["reason", "reason_rejected"])
def test_a_rejected_alternative_keeps_its_reason(key: str) -> None:
    read = read_archive(
        "```yaml\ndecisions:\n  - id: D001\n    decision: Keep rows\n"
        f"    alternatives: [{{option: columns, {key}: too slow}}]\n```\n"
    )
    assert [d.alternatives for d in read.decisions] == [("columns (too slow)",)]


def test_only_a_last_row_without_its_closing_bar_was_cut_off() -> None:
    whole = read_archive(TABLE + "| D002 | Use NATS |")
    assert [(d.local_id, d.text) for d in whole.decisions] == [("D001", "Keep rows"), ("D002", "Use NATS")]
    assert whole.truncated == ""
    cut = read_archive(TABLE + "| D002 | Use NA")
    assert cut.truncated == "the table row on line 6 stops before its last column"


def test_a_heading_that_was_said_in_a_transcript_does_not_end_it() -> None:
    read = read_archive("## Full Transcript\n\nHello.\n\n### Decisions\n\n- D001: Keep rows\n")
    assert read.decisions == ()
    after = read_archive("## Full Transcript\n\nHello.\n\n## Decisions\n\n- D001: Keep rows\n")
    assert [d.text for d in after.decisions] == ["Keep rows"]


HEAD = "# Conversation Archive: cables\n\n**Tag:** CABLES_KEPT\n\n"
OWN = "## Decision Log\n\n### D001: Label every cable\n- **Tier:** 0.7\n\n"


@pytest.mark.parametrize("notes", ["", "## Notes\n\n", "# Conversation Archive: other\n\n"])
@pytest.mark.parametrize("pasted", ["## Decision Log\n\n### D002: Zigbee\n", "- D001: Zigbee\n"])
def test_records_pasted_in_the_last_turn_do_not_end_a_transcript(notes: str, pasted: str) -> None:
    transcript = f"## Full Transcript\n\nUser: they wrote\n\n{notes}{pasted}"
    read = read_archive(f"{HEAD}{OWN}{transcript}\n### thr_ca677b9cc739: RESOLVED\n")
    assert [(d.local_id, d.text) for d in read.decisions] == [("D001", "Label every cable")]
    assert read.threads == ()
    message = (
        "records follow the transcript as they come before it; they were taken for a part of it"
        " (move the archive's own records above the transcript)"
    )
    is_headed = bool(notes) or pasted[0] == "#"  # else it belongs to the turn
    assert said(read) == ([f"{14 + 2 * bool(notes)}: {message}"] if is_headed else [])


@pytest.mark.parametrize(
    "quote",
    [
        "> ### D005: Quoted\n> - Tier: 1.0",
        "> D005: Quoted",
        "> dec_3ce1b286eded: Quoted",
        "> **Decision:** Quoted",
        "<blockquote>\n### D005: Quoted\n- Tier: 1.0\n</blockquote>",
        "<blockquote>D005: Quoted</blockquote>",
        "They wrote: <pre>\n\n### D005: Quoted\n\n</pre>",
    ],
)
@pytest.mark.parametrize("page", ["{0}{1}\n\n{2}", "{0}## Decisions\n\n{1}\n\n{2}", "{0}{2}{1}\n"])
def test_a_quote_is_no_record_wherever_it_is(quote: str, page: str) -> None:
    read = read_archive(page.format(HEAD, quote, OWN))
    assert [(d.local_id, d.text, d.tier) for d in read.decisions] == [("D001", "Label every cable", 0.7)]
    assert read.tag == "CABLES_KEPT"


@pytest.mark.parametrize("element", ["blockquote", "pre"])
def test_an_archive_that_is_quoted_as_a_whole_is_read(element: str) -> None:
    marked = "".join(f"> {line}\n" for line in (HEAD + OWN).splitlines())
    for text in (marked, f"<{element}>\n{HEAD}{OWN}</{element}>\n", f"{HEAD}## Decisions\n\n> D001: Rows\n"):
        assert [d.local_id for d in read_archive(text).decisions] == ["D001"]


def test_a_template_whose_text_is_a_place_to_fill_in_is_no_record() -> None:
    read = read_archive(f"{HEAD}{OWN}The template:\n\n### D999: <decision text>\n- Tier: 1.0\n")
    assert [d.local_id for d in read.decisions] == ["D001"]
    assert [(p.code, p.line) for p in read.problems] == [("unparsed-id", 12)]


def test_the_heading_that_ends_a_transcript_speaks_for_the_archive() -> None:
    read = read_archive("# Full Transcript\n\nHello.\n\n# Conversation Archive: rows\n\n- D001: Keep rows\n")
    assert read.title == "rows"


def test_a_class_and_the_tiers_of_its_band_agree() -> None:
    read = read_archive(
        "## Decision Log\n\n### D001: Keep rows\n- **Tier:** 1\n\n"
        "```yaml\ndecisions:\n  - {id: D001, decision: Keep rows, tier: 0.85}\n```\n"
    )
    assert [(d.tier, d.tier_token) for d in read.decisions] == [(0.85, None)]
    assert said(read) == []


def test_a_field_that_three_records_disagree_on_is_named_once() -> None:
    read = read_archive(
        "- D001: Keep rows [tier 0.9]\n\n- D001: Keep rows [tier 0.7]\n\n"
        "```yaml\ndecisions:\n  - {id: D001, decision: Keep rows, tier: 0.8}\n```\n"
    )
    assert [d.tier for d in read.decisions] == [0.8]
    assert said(read) == [
        "1: D001: the tier is 0.8 on line 7 and 0.9 on line 1; the yaml record counts",
    ]


def test_a_machine_block_may_be_indented() -> None:
    rest = "# Conversation Archive: x\n\n"
    written = signed_block(rest, project="Ledger", tag="TAG", decisions=[{"id": "D001", "text": "Keep rows"}])
    read = read_archive(rest + "  " + written)
    assert [(d.local_id, d.text) for d in read.decisions] == [("D001", "Keep rows")]


def test_a_label_says_nothing_of_a_machine_blocks_threads() -> None:
    rest = "# Conversation Archive: x\n\n**Resolved:**\n\n"
    read = read_archive(rest + signed_block(rest, tag="TAG", threads=[{"id": "T001", "title": "Who pays"}]))
    assert [(t.title, t.status) for t in read.threads] == [("Who pays", None)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("deferred", (ThreadStatus.OPEN, False)),
        ("Deferred to May", (ThreadStatus.OPEN, False)),
        ("open (re-open)", (ThreadStatus.OPEN, True)),
        ("re-open", (ThreadStatus.OPEN, True)),
        ("Reopened in May", (ThreadStatus.OPEN, True)),
        ("Re-opened", (ThreadStatus.OPEN, True)),
    ],
)
def test_a_thread_that_waits_or_was_opened_again_is_open(
    text: str, found: tuple[ThreadStatus | None, bool]
) -> None:
    assert parse_thread_status(text) == found


def test_a_minor_thread_has_a_low_priority() -> None:
    assert parse_priority("minor") is Priority.LOW


@pytest.mark.parametrize("token", ["Validated (0.85)", "heuristic [0.85]"])
def test_a_number_in_brackets_goes_before_the_word_of_a_tier(token: str) -> None:
    assert parse_tier(token) == (0.85, None)


def test_a_status_says_what_a_record_replaces_and_what_replaced_it() -> None:
    read = read_archive(
        "# Conversation Archive: x\n\n| # | Decision | Status |\n|---|---|---|\n"
        "| D007 | Use Isar | active; supersedes D002 |\n\n"
        "### T001: Offline maps?\n- **Status:** superseded by T002\n"
        "### T002: Which tiles?\n- **Status:** open\n"
    )
    assert [(d.status, d.revises) for d in read.decisions] == [(DecisionStatus.ACTIVE, ("D002",))]
    assert [(t.status, t.resolution) for t in read.threads] == [
        (ThreadStatus.SUPERSEDED, "superseded by T002"),
        (ThreadStatus.OPEN, ""),
    ]


def test_an_alternative_keeps_its_reason_under_any_key() -> None:
    text = (
        '{"tag": "A_B", "decisions": [{"id": "D1", "decision": "Match ourselves", "alternatives": '
        '[{"name": "Tesorio", "why_not": "DPA refused"}, {"choice": "by hand", "cost": "9 hours"}]}]}'
    )
    (decision,) = read_archive(text).decisions
    assert decision.alternatives == ("Tesorio (DPA refused)", "by hand (9 hours)")


CHILD = "# Conversation Archive: x\n**Continues:** OLD_TAG\n\n"


def test_an_id_with_a_state_alone_is_a_parent_s_record() -> None:
    text = (
        CHILD
        + "## Decisions\n- D003 unchanged.\n- D004: superseded by D005\n- D005: Active voice everywhere\n"
    )
    read = read_archive(f"{text}\n## Threads\n- T001 done: imported in May\n- T002: Open or closed source?\n")
    assert [
        (d.local_id, d.text, d.status, d.superseded_by, d.scope is Scope.INHERITED) for d in read.decisions
    ] == [
        ("D003", "", DecisionStatus.ACTIVE, None, True),
        ("D004", "", DecisionStatus.SUPERSEDED, "D005", True),
        ("D005", "Active voice everywhere", None, None, False),
    ]
    assert [(t.local_id, t.title, t.status, t.resolution) for t in read.threads] == [
        ("T001", "", ThreadStatus.RESOLVED, "imported in May"),
        ("T002", "Open or closed source?", None, ""),
    ]
    alone = read_archive("# Conversation Archive: x\n\n## Decisions\n- D003 unchanged.\n")
    assert [(d.local_id, d.text) for d in alone.decisions] == [("D003", "unchanged.")]


def test_a_sentence_that_names_several_ids_is_no_record() -> None:
    text = CHILD + "## Decisions\n- D001, D002 and D003 were read again.\n- D004: Keep rows\n"
    assert [d.local_id for d in read_archive(text).decisions] == ["D004"]


ARTIFACT = """# Conversation Archive: counts

**Tag:** COUNTS_KEPT
**Project:** Sensors
**Date:** 2026-07-01

## Artifacts

### Artifact A001: count.py
- **Type:** code
- **Content:**

```python
def count(rows):
    return len(rows)
```

```python
def count(rows):
    return sum(rows)
```
"""


def test_the_fences_below_an_artifact_are_its_versions() -> None:
    (artifact,) = read_archive(ARTIFACT).artifacts
    assert (artifact.name, artifact.type, artifact.summary) == ("count.py", "code", "")
    assert [(each.version, each.content) for each in artifact.versions] == [
        ("1", "def count(rows):\n    return len(rows)\n"),
        ("2", "def count(rows):\n    return sum(rows)\n"),
    ]


@pytest.mark.parametrize(
    ("text", "insights"),
    [
        (
            "- I001: Rows are empty\n  at noon.\n- Batches are cheap.\n",
            ("Rows are empty at noon.", "Batches are cheap."),
        ),
        ("| ID | Insight | So |\n|---|---|---|\n| I001 | Rows are empty | filter |\n", ("Rows are empty",)),
    ],
)
def test_what_is_listed_as_insights_is_read_by_its_heading(text: str, insights: tuple[str, ...]) -> None:
    assert read_archive(f"{HEAD}{OWN}## Insights\n\n{text}").insights == insights


def test_the_insights_of_our_own_template_are_read() -> None:
    assert read_archive(template("archive")).insights == (
        "What was learnt that is neither a decision nor a thread.",
    )


@pytest.mark.parametrize("page", ["### D001: Keep\n{}", "### D001: Keep\n\n{}", "- **D001: Keep**\n{}"])
def test_fields_behind_a_dash_need_no_bullet(page: str) -> None:
    (decision,) = read_archive(page.format("Tier \u2014 0.7\nWhy \u2014 it is cheap\n")).decisions
    assert (decision.text, decision.tier, decision.rationale) == ("Keep", 0.7, "it is cheap")


@pytest.mark.parametrize("mark", ["_", "__", "*", "**", "`", ""])
def test_a_bracket_in_emphasis_behind_a_title_is_read(mark: str) -> None:
    (decision,) = read_archive(f"### D001: Keep rows {mark}(speculative){mark}\n").decisions
    assert (decision.text, decision.tier) == ("Keep rows", 0.1)
