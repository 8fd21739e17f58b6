"""The rules of reading: tiers, statuses, families that disagree, quoted parts, damage, machine blocks."""

from __future__ import annotations

import pytest
from machine_blocks import signed_block

from forgekit.archives.claims import parse_integer, parse_range, parse_thread_status, parse_tier
from forgekit.archives.logs import parse_machine_block
from forgekit.archives.read import read_archive
from forgekit.model.archive_record import ArchiveText, Family, Scope
from forgekit.model.entities import CompressionMode, DecisionStatus, Priority, ThreadStatus
from forgekit.model.problem import Severity

BLOCK_IN_TRANSCRIPT = """## Full Transcript
<!-- FORGE_OS_MACHINE_BLOCK_START
version: 2
decisions: [{id: D101, text: x}]
FORGE_OS_MACHINE_BLOCK_END -->
"""


def codes(read: ArchiveText) -> list[tuple[str, int | None]]:
    return [(problem.code, problem.line) for problem in read.problems]


@pytest.mark.parametrize(
    ("token", "tier"),
    [
        ("0.15", (0.15, None)),
        ("1", (0.9, "1")),
        ("2", (0.5, "2")),
        ("3", (0.1, "3")),
        ("1.0", (1.0, None)),
        ("0", (0.0, None)),
        ("`0.85` (validated)", (0.85, None)),
        ("Validated (0.9)", (0.9, None)),
        ("heuristic", (0.5, None)),
        ("7 out of 10", (0.7, None)),
        ("8 из 10", (0.8, None)),
        ("1 von 4", (0.25, None)),
    ],
)
def test_tiers(token: str, tier: tuple[float, str | None]) -> None:
    assert parse_tier(token) == tier


@pytest.mark.parametrize("token", ["4", "1.5", "-0.1", "high", ""])
def test_what_is_no_tier_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="tier"):
        parse_tier(token)


def test_confidence_stands_in_only_where_no_tier_is_given() -> None:
    read = read_archive(
        "```yaml\ndecisions:\n"
        "  - {id: D001, decision: a, tier: 0.15, confidence: high}\n"
        "  - {id: D002, decision: b, confidence: low}\n"
        "  - {id: D003, decision: c, tier: 7, confidence: high}\n```\n"
    )
    assert [d.tier for d in read.decisions] == [0.15, 0.3, None]
    assert [str(p) for p in read.problems] == [
        "5: D003: the tier 7 lies outside 0 to 1 (write a tier between 0 and 1)"
    ]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("PLANNED", ThreadStatus.OPEN),
        ("in progress", ThreadStatus.OPEN),
        ("Blocked by T002", ThreadStatus.OPEN),
        ("DONE", ThreadStatus.RESOLVED),
        ("superseded", ThreadStatus.SUPERSEDED),
        ("wontfix", ThreadStatus.ABANDONED),
        ("mauve", None),
    ],
)
def test_thread_statuses(text: str, status: ThreadStatus | None) -> None:
    assert parse_thread_status(text) == (status, False)


def test_a_reopened_thread_is_open_and_says_so() -> None:
    (thread,) = read_archive("### T001: Retry window\n- **Status:** reopened\n").threads
    assert (thread.status, thread.reopened) == (ThreadStatus.OPEN, True)


def test_bullets_bold_and_rows() -> None:
    read = read_archive(
        "# Conversation Archive: x\n\n## Threads\n\n"
        "- **T001:** Retry window (High)\n"
        "  - **Blocked By:** T002; T003\n"
        "- T002: Owner [OPEN] (low)\n\n"
        "**T003 (HIGH):** Layout of refunds\n\n"
        "| ID | Title | Priority | Status |\n|---|---|---|---|\n| T004 | Alerts | urgent | done |\n\n"
        "**OT001:** Who pays\n"
    )
    assert [(t.local_id, t.title, t.status, t.priority, t.blocked_by) for t in read.threads] == [
        ("T001", "Retry window", None, Priority.HIGH, ("T002", "T003")),
        ("T002", "Owner", ThreadStatus.OPEN, Priority.LOW, None),
        ("T003", "Layout of refunds", None, Priority.HIGH, None),
        ("T004", "Alerts", ThreadStatus.RESOLVED, Priority.HIGH, None),
        ("OT001", "Who pays", None, None, None),
    ]
    assert read.problems == ()


def test_clauses_of_one_sentence_keep_the_semicolon_between_them() -> None:
    read = read_archive(
        "## Decisions\n\n### D001\nTraffic goes by a proxy; sockets are closed.\n**Rationale:** A leak.\n"
    )
    assert read.decisions[0].text == "Traffic goes by a proxy; sockets are closed."


def test_numbered_open_threads_get_ids_of_their_own() -> None:
    read = read_archive(
        "**Open threads requiring resolution:**\n\n"
        "1. **[HIGH]** Retry window for jobs\n"
        "2. Refund layout (blocked by #1)\n\n"
        "**High (compress to 1-2 sentences)**\n1. Rationale\n"
    )
    assert [(t.local_id, t.title, t.priority, t.blocked_by, t.line) for t in read.threads] == [
        ("OT001", "Retry window for jobs", Priority.HIGH, None, 3),
        ("OT002", "Refund layout", None, ("OT001",), 4),
    ]


def test_the_higher_family_stands_and_the_difference_is_named() -> None:
    read = read_archive(
        "### Decision Index\n| ID | Decision | Source | Ref |\n|---|---|---|---|\n"
        "| D001 | short wording | this session | chunk_001 |\n\n"
        "### D001: Use rows\n- **Tier:** 0.4\n- **Rationale:** simple\n\n"
        "```yaml\ndecisions:\n  - id: D001\n    decision: Use rows\n    tier: 0.9\n```\n"
    )
    (decision,) = read.decisions
    assert (decision.family, decision.tier, decision.rationale) == (Family.YAML, 0.9, "simple")
    assert [str(p) for p in read.problems] == [
        "6: D001: the tier is 0.9 on line 12 and 0.4 on line 6; the yaml record counts"
    ]


def test_explicit_revisions() -> None:
    read = read_archive(
        "### D007: Use rows\n- **Revises:** D002, D003\n\n"
        "### D002: Use files\n- **Status:** superseded by D007\n\n### D003: x\n- **Superseded by:** D007\n"
    )
    assert [(d.local_id, d.revises, d.superseded_by) for d in read.decisions] == [
        ("D007", ("D002", "D003"), None),
        ("D002", (), "D007"),
        ("D003", (), "D007"),
    ]


def test_inherited_scope() -> None:
    read = read_archive(
        "```yaml\ndecisions:\n  - id: D001\n    decision: a\n    scope: inherited\n"
        "    inherited_from: OLD_TAG\n```"
    )
    assert [(d.scope, d.inherited_from) for d in read.decisions] == [(Scope.INHERITED, "OLD_TAG")]


@pytest.mark.parametrize(
    "quote",
    [
        "## Conflicts\n| D101: a (0.5) | D102: b |\n",
        "## FORGE OS: Pre-Compression Context\n### Active Threads\n- T101: title [OPEN] (high)\n",
        "## Registry state\n- T101: title\n\n### D101: x\n",
        "## Registry state: Nexus\n- T101: title\n\n### D101: x\n(end of registry state)\n",
        "## Updated context: OLD_TAG\n\n### Active Threads\n\n- T101: title\n",
        "## Previous Archive (OLD_TAG)\n\n### D001: Other\n- **Tier:** 0.9\n",
        "<!-- forgekit:registry-state -->\n### D101: x\n<!-- /forgekit:registry-state -->\n",
        "## Full Transcript\n### Turn 1\nD101: take it\n",
        "## RETRIEVAL PROTOCOL\nAsk: show D101\n",
        "```\n### D101: x\n```\n",
        "## Inherited Context Snapshot\n```yaml\ndecisions:\n  - id: D101\n    decision: x\n```\n",
        BLOCK_IN_TRANSCRIPT,
    ],
)
def test_quoted_parts_give_neither_records_nor_losses(quote: str) -> None:
    read = read_archive(f"# Conversation Archive: x\n\n### D001: Own\n\n{quote}\n## Chunk Index\n")
    assert [d.local_id for d in read.decisions] == ["D001"]
    assert (read.threads, read.problems) == ((), ())
    assert [local_id for local_id, _ in read.ids_seen] == ["D001"]


def test_an_id_without_a_record_is_named_with_its_line() -> None:
    assert [str(p) for p in read_archive("# Notes\n\nWe settled D004 last week.\n").problems] == [
        "3: D004 is named but no record of it could be read (write it as `### D004: ...` or in the YAML log)"
    ]
    child = read_archive("**Inherited From:** OLD_TAG\n\nWe build on D004.\n- D005\n")
    assert [(p.code, p.line, p.severity) for p in child.problems] == [("foreign-id", 3, Severity.INFO)]
    assert [(each.local_id, each.line) for each in child.updates] == [("D005", 4)]


def test_an_id_of_few_digits_begins_a_record_where_its_place_says_so() -> None:
    lines = "### D1: Use rows", "- **T12:** Which rows?", "**OT3** : Ask"
    read = read_archive("\n\n".join(("# Conversation Archive: x", *lines)))
    assert [(d.local_id, d.text) for d in read.decisions] == [("D1", "Use rows")]
    assert [(t.local_id, t.title) for t in read.threads] == [("T12", "Which rows?"), ("OT3", "Ask")]
    below = read_archive(
        "## Decisions\n- D1: Use rows\n\n## Notes\n- D2: a printer\n\n**Open threads:**\n1. T1: Which?\n"
    )
    assert [record.local_id for some in (below.decisions, below.threads) for record in some] == ["D1", "T1"]
    assert [(p.code, p.line) for p in below.problems] == [("unparsed-id", 5)]
    log = "```yaml\ndecisions:\n  - id: D1\n    decision: Use rows\n```\n"
    assert read_archive(f"### D1: Use rows\n\n{log}").problems == ()


@pytest.mark.parametrize(
    "written", ["D001", "D1", "D-001", "DEC-001", "Decision 1", "d001", "\uff24\uff10\uff10\uff11"]
)
def test_the_spellings_of_an_id_are_one_and_each_is_kept_as_written(written: str) -> None:
    read = read_archive(
        f"## Decisions\n\n### {written}: Use rows\n- **Depends on:** D2\n\n### D2: Use files\n\nSee D-001.\n"
    )
    assert [(d.local_id, d.text, d.dependencies) for d in read.decisions] == [
        (written, "Use rows", ("D2",)),
        ("D2", "Use files", None),
    ]
    assert read.problems == ()


def test_damaged_yaml_is_read_by_its_lines() -> None:
    read = read_archive(
        "```yaml\ndecisions:\n  - id: D001\n    decision: Use rows: they sort\n"
        "  - id: D002\n    decision: [never closed\n  - id: D003\n    decision: Fine\n```\n"
    )
    assert [(d.local_id, d.text, d.line) for d in read.decisions] == [
        ("D001", "Use rows: they sort", 3),
        ("D002", "[never closed", 5),
        ("D003", "Fine", 7),
    ]
    assert ("damaged-yaml", 4) in codes(read)


@pytest.mark.parametrize(
    "value", ["&a [x]", "!!python/object:os.system x", "[" * 200, "2026-02-30"], ids=str.strip
)
def test_hostile_yaml_loses_only_its_record(value: str) -> None:
    read = read_archive(
        f"```yaml\ndecisions:\n  - id: D001\n    decision: a\n  - id: D002\n    timestamp: {value}\n```\n"
    )
    assert [d.local_id for d in read.decisions] == ["D001"]
    assert any(p.line in (5, 6) for p in read.problems)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\n```yaml\ndecisions:\n", "the code block opened on line 2 is never closed"),
        ("a\n\n<!-- note\n", "the comment opened on line 3 is never closed"),
        (
            "| ID | Text | Tier |\n|--|--|--|\n| D001 | a",
            "the table row on line 3 stops before its last column",
        ),
        ("### D001: a\n", ""),
    ],
)
def test_a_text_that_was_cut_off_says_where(text: str, why: str) -> None:
    assert read_archive(text).truncated == why


def test_an_unclosed_fence_ends_at_the_next_heading() -> None:
    read = read_archive("```yaml\ndecisions:\n  - id: D001\n    decision: a\n\n## Threads\n- T001: b\n")
    assert [d.local_id for d in read.decisions] == ["D001"]
    assert [t.local_id for t in read.threads] == ["T001"]
    assert (codes(read), read.truncated) == ([("unclosed-fence", 1)], "")


def test_a_chain_of_compressions_names_ancestors_and_only_the_last_is_the_parent() -> None:
    read = read_archive(
        "### Session Reference\n- Last Compressed Tag: `OWN_TAG`\n"
        "- Compression Scope: partial (turns 9-20, bridging from NEAR_TAG)\n"
        "- Prior Compression Chain:\n  1. FIRST_TAG\n  2. NEAR_TAG\n  3. OWN_TAG\n"
    )
    assert (read.tag, read.inherits_from) == ("OWN_TAG", ("NEAR_TAG",))
    assert (read.mode, read.turn_range, read.turns) == (CompressionMode.PARTIAL, (9, 20), 12)
    alone = read_archive("## Metadata\n- Prior Compression Chain: [FIRST_TAG, NEAR_TAG]\n\n### D001: a\n")
    assert alone.inherits_from == ("NEAR_TAG",)


def test_a_later_stretch_that_says_full_is_no_partial_compression() -> None:
    head = "# Conversation Archive: x\n\n## Metadata\n- Compressed Turn Range: 29-51\n"
    assert read_archive(head).mode is CompressionMode.PARTIAL
    assert read_archive(f"{head}- Compression Scope: full\n").mode is CompressionMode.LOSSLESS


BLOCK = {
    "project": "The Nexus",
    "tag": "TOPIC_A",
    "parents": ["OLD_TAG"],
    "decisions": [{"id": "D001", "entity": "dec_b34bfcd74276", "text": 'Keep "x" \u00e9 \\', "tier": 1.0}],
    "threads": [{"id": "T001", "title": "t", "status": "open", "priority": "high", "blocked_by": ["T002"]}],
}


def test_a_machine_block_is_believed_as_long_as_the_text_is_not_edited() -> None:
    rest = "# Conversation Archive: x\n\n### D001: other\n\n"
    block = signed_block(rest, **BLOCK)
    (read,) = parse_machine_block(rest + block)
    assert (read.project, read.tag, read.parents) == ("The Nexus", "TOPIC_A", ("OLD_TAG",))
    assert (read.fresh, read.broken, read.first_line) == (True, "", 5)
    archive = read_archive(rest + block)
    assert [(d.text, d.entity, d.tier) for d in archive.decisions] == [
        ('Keep "x" \u00e9 \\', "dec_b34bfcd74276", 1.0)
    ]
    (thread,) = archive.threads
    assert (thread.title, thread.status, thread.priority) == ("t", ThreadStatus.OPEN, Priority.HIGH)
    assert (archive.tag, archive.inherits_from) == ("TOPIC_A", ("OLD_TAG",))


def test_a_stale_machine_block_is_not_believed() -> None:
    rest = "# Conversation Archive: x\n\n### D001: other\n\n"
    read = read_archive(rest.replace("other", "edited") + signed_block(rest, **BLOCK))
    assert [d.text for d in read.decisions] == ["edited"]
    assert codes(read) == [("machine-block-stale", 5)]


def test_a_broken_machine_block_gives_way_to_the_text() -> None:
    text = (
        "### D001: a\n\n<!-- FORGE_OS_MACHINE_BLOCK_START\nversion: 2\ndecisions:\n  - id: D001\n"
        "\n## Threads\n"
        "- T001: b\n"
    )
    read = read_archive(text)
    assert [d.text for d in read.decisions] == ["a"]
    assert [t.title for t in read.threads] == ["b"]
    assert ("machine-block-broken", 3) in codes(read)


def test_a_first_version_machine_block() -> None:
    read = read_archive(
        "<!-- FORGE_OS_MACHINE_BLOCK v1 -->\nschema_version: 1\ncompression_tag: TAG_A\n"
        "lineage: {parent_conversation: 018bcfe5-6800-8625-89cf-d5faf30f5d9e}\n"
        "decisions:\n  - id: D001\n    text: a\n<!-- /FORGE_OS_MACHINE_BLOCK -->\n"
    )
    assert [(d.text, d.family) for d in read.decisions] == [("a", Family.MACHINE)]
    assert (read.tag, read.conversation) == ("TAG_A", None)
    assert read.inherits_from == ("018bcfe5-6800-8625-89cf-d5faf30f5d9e",)
    assert read.problems == ()


def test_front_matter_in_the_pasted_text_is_metadata() -> None:
    read = read_archive("---\ncompression_tag: TAG_A\ndate: 2026-03-04\n---\n\n# Conversation Archive: a b\n")
    assert (read.tag, read.title, read.session_id) == ("TAG_A", "a b", None)
    assert read.created == 1_772_582_400_000


def test_a_continuation_prompt_does_not_double_the_threads() -> None:
    read = read_archive(
        "## COMPRESSION\n\n```yaml\nconversation_state:\n  open_threads:\n    - id: T001\n"
        "      description: Column order for refunds\n```\n\n**Open threads requiring resolution:**\n"
        "1. **[HIGH]** Refund column order\n2. Who signs off\n"
    )
    assert [(t.local_id, t.title) for t in read.threads] == [("T001", "Column order for refunds")]


EXAMPLES = """# Conversation Archive: settings

### D001: Settings are YAML

```yaml
project: Example
date: 1999-01-01
open_threads: 4
```

```json
{"compressed_at": "1999-01-01", "project": "Example"}
```

### T001: Who may change them

```yml
- who: everybody
```
"""


def test_an_example_in_a_record_is_no_log_of_the_archive() -> None:
    read = read_archive(EXAMPLES)
    assert (read.created, read.project, read.problems) == (None, None, ())
    assert [d.local_id for d in read.decisions] == ["D001"]
    assert [t.local_id for t in read.threads] == ["T001"]


@pytest.mark.parametrize(
    "fence",
    [
        "## Log\n\n```yaml\nproject: Nexus\n```\n",
        "```yaml\nproject: Nexus\ncompression_tag: TAG_A\n```\n",
        "```yaml\nproject: Nexus\ndecisions:\n  - id: D002\n    decision: b\n```\n",
        '```json\n{"project": "Nexus", "decisions": {"D002": {"decision": "b"}}}\n```\n',
    ],
)
def test_what_speaks_for_the_archive_counts_behind_a_record(fence: str) -> None:
    read = read_archive(f"### D001: a\n\n{fence}")
    assert read.project == "Nexus"
    assert ("D002" in fence) == (len(read.decisions) == 2)


@pytest.mark.parametrize(
    ("title", "text", "status", "tier"),
    [
        ("Use REST (rejected)", "Use REST", DecisionStatus.INVALIDATED, None),
        ("[deprecated] Use REST", "Use REST", DecisionStatus.INVALIDATED, None),
        ("Use REST [accepted] (0.8)", "Use REST", DecisionStatus.ACTIVE, 0.8),
        ("Use REST (.8)", "Use REST", None, 0.8),
        ("Use REST (1.0)", "Use REST", None, 1.0),
        ("Use REST (tier 1)", "Use REST", None, 0.9),
        ("Use the model of data (done)", "Use the model of data (done)", None, None),
        ("Keep the port (open)", "Keep the port (open)", None, None),
        ("Begin with level (1)", "Begin with level (1)", None, None),
        ("Count from (0)", "Count from (0)", None, None),
        ("Require Python (3.12)", "Require Python (3.12)", None, None),
    ],
)
def test_brackets_behind_a_decision_are_read_in_its_own_words(
    title: str, text: str, status: DecisionStatus | None, tier: float | None
) -> None:
    read = read_archive(f"### D001: {title}\n")
    assert [(d.text, d.status, d.tier) for d in read.decisions] == [(text, status, tier)]
    assert read.problems == ()


@pytest.mark.parametrize("heading", ["Resolved", "Active", "Closed", "Unresolved"])
def test_threads_behind_a_transcript_are_read(heading: str) -> None:
    read = read_archive(f"## Full Transcript\n\n### T009: quoted\n\n## {heading} Threads\n\n### T001: a\n")
    assert [t.local_id for t in read.threads] == ["T001"]


@pytest.mark.parametrize("heading", ["Decisions Made", "Key Decisions", "Artifacts Produced"])
def test_records_behind_a_transcript_are_read(heading: str) -> None:
    read = read_archive(f"## Full Transcript\n\nD009: quoted\n\n## {heading}\n\n### D001: a\n")
    assert [d.local_id for d in read.decisions] == ["D001"]


def test_a_number_that_is_none_counts_as_not_said() -> None:
    rows = "".join(
        f"  - {{title: {title}, number: {n}}}\n" for title, n in zip("abcd", ("two", 0, 1000, 7), strict=True)
    )
    read = read_archive(f"```yaml\nopen_threads:\n{rows}```\n")
    assert [(t.local_id, t.title) for t in read.threads] == [
        ("OT001", "a"),
        ("OT002", "b"),
        ("OT003", "c"),
        ("OT007", "d"),
    ]


def test_every_list_of_a_log_is_read() -> None:
    read = read_archive("```yaml\n- id: D001\n  decision: a\n---\n- id: D002\n  decision: b\n```\n")
    assert ([d.local_id for d in read.decisions], read.problems) == (["D001", "D002"], ())


def test_a_full_stop_may_stand_behind_an_id() -> None:
    read = read_archive("### D002. Use REST\n\n- T001. Retry window\n\nIt follows from\nD003. And so on.\n")
    assert [(d.local_id, d.text) for d in read.decisions] == [("D002", "Use REST")]
    assert [(t.local_id, t.title) for t in read.threads] == [("T001", "Retry window")]


@pytest.mark.parametrize(
    ("text", "found", "number"),
    [
        ("1,250", None, 1250),
        ("1,250-1,300", (1250, 1300), 1250),
        ("[1,250]", (1, 250), None),
        ("1, 250", (1, 250), 1),
        ("1,25", (1, 25), 1),
    ],
)
def test_a_comma_before_three_digits_groups_them(
    text: str, found: tuple[int, int] | None, number: int | None
) -> None:
    assert (parse_range(text), parse_integer(text)) == (found, number)


@pytest.mark.parametrize(
    ("line", "resolution"),
    [
        ("- [x] T001: Which salt?", ""),
        ("- \u2705 T001: Which salt?", ""),
        ("- ~~T001: Which salt?~~", ""),
        ("- ~~T001: Which salt?~~ RESOLVED: 96 bits", "96 bits"),
        ("- ~~**T001:** Which salt?~~ \u2014 Resolved: 96 bits", "96 bits"),
        ("- T001: ~~Which salt?~~ (resolved)", ""),
        ("- T001: Which salt? \u2014 RESOLVED: 96 bits (see D004)", "96 bits (see D004)"),
        ("- **T001: Which salt?** - RESOLVED", ""),
        ("- T001: Which salt? - done.", ""),
        ("- T001: Which salt? (RESOLVED in D004)", "in D004"),
        ("- T001: Which salt? **[RESOLVED \u2014 96 bits]**", "96 bits"),
        ("- T001: Which salt? \u2705 Resolved", ""),
        ("- T001: Which salt? \u2705", ""),
        ("### T001: Which salt? **Resolved:** 96 bits", "96 bits"),
        ("| ID | Title |\n|---|---|\n| T001 | Which salt? \u2014 RESOLVED: 96 bits |", "96 bits"),
    ],
)
def test_a_thread_that_is_marked_as_ended_has_ended(line: str, resolution: str) -> None:
    read = read_archive(f"### D004: a\n\n{line}\n")
    assert [(t.title, t.status, t.resolution) for t in read.threads] == [
        ("Which salt?", ThreadStatus.RESOLVED, resolution)
    ]
    assert read.problems == ()


def test_a_mark_of_an_end_goes_with_brackets_and_yields_to_a_status() -> None:
    read = read_archive(
        "- T001: Which salt? (high) \u2014 RESOLVED: 96 bits\n- [x] T002: Which port? (abandoned)\n"
    )
    assert [(t.title, t.status, t.priority) for t in read.threads] == [
        ("Which salt?", ThreadStatus.RESOLVED, Priority.HIGH),
        ("Which port?", ThreadStatus.ABANDONED, None),
    ]


@pytest.mark.parametrize(
    "title",
    [
        "Which tasks are done?",
        "Which states: DONE or CLOSED?",
        "Move the card from open \u2192 closed",
        "Is the review (done by hand) enough?",
        "~~Which host?~~ Which region?",
    ],
)
def test_a_title_that_speaks_of_an_end_is_no_mark_of_one(title: str) -> None:
    read = read_archive(f"- [ ] T001: {title}\n")
    assert [(t.title, t.status, t.resolution) for t in read.threads] == [(title, None, "")]


@pytest.mark.parametrize("last", ["For example:", "For example:\n\n", "Earlier:"])
def test_an_archive_may_end_where_an_example_would_follow(last: str) -> None:
    read = read_archive(f"## Decisions\n\n- D001: Use NATS\n\n{last}")
    assert [d.text for d in read.decisions] == ["Use NATS"]


def test_a_decision_that_is_struck_out_is_not_in_force() -> None:
    read = read_archive(
        "- ~~D001: Use SOAP~~\n- [x] ~~D003: Use CORBA~~ (superseded by D002)\n\n### D002: Use REST\n"
    )
    assert [(d.local_id, d.text, d.status, d.superseded_by) for d in read.decisions] == [
        ("D001", "Use SOAP", DecisionStatus.INVALIDATED, None),
        ("D003", "Use CORBA", DecisionStatus.SUPERSEDED, "D002"),
        ("D002", "Use REST", None, None),
    ]
    assert read.problems == ()


@pytest.mark.parametrize(
    "listed",
    [
        "- **Alternatives rejected:**\n  - GraphQL: limits, costs\n  - gRPC: browsers cannot\n- Tier: 0.8\n",
        "**Alternatives rejected:**\n- GraphQL: limits,\n  costs\n\n- gRPC: browsers cannot\n**Tier:** 0.8\n",
        "#### Alternatives rejected\n\n* GraphQL: limits, costs\n* gRPC: browsers cannot\n- Tier: 0.8\n",
    ],
)
def test_what_is_listed_below_a_key_is_its_value(listed: str) -> None:
    read = read_archive(f"### D001: Use REST\n{listed}")
    assert [(d.alternatives, d.tier, d.context) for d in read.decisions] == [
        (("GraphQL: limits, costs", "gRPC: browsers cannot"), 0.8, "")
    ]


def test_a_rationale_and_a_resolution_may_be_lists() -> None:
    read = read_archive(
        "### D001: Page with cursors\n**Rationale:**\n- stable under inserts\n- cheap: one index\n\n"
        "Said twice.\n"
        "### T001: Who owns webhooks?\n**Resolution:**\n- the platform team\n- from May on\n"
    )
    assert [(d.rationale, d.context) for d in read.decisions] == [
        ("stable under inserts\ncheap: one index", "Said twice.")
    ]
    assert [(t.resolution, t.content) for t in read.threads] == [("the platform team\nfrom May on", "")]


def test_a_key_that_is_not_known_is_prose_beside_the_fields() -> None:
    read = read_archive(
        "### D001: a\n- Tags: x, y\n- Owner: Anna\n- Tier: 0.8\n\n"
        "- **D002:** b\n  - Tags: x, y\n  - Owner: Anna\n"
    )
    assert [(d.text, d.tags, d.tier, d.context) for d in read.decisions] == [
        ("a", ("x", "y"), 0.8, "- Owner: Anna"),
        ("b", ("x", "y"), None, "- Owner: Anna"),
    ]


def test_a_heading_below_a_record_may_name_a_field() -> None:
    read = read_archive(
        "### D001: Page with cursors `[Tier 0.8]`\n\n#### Rationale\n\nOffsets skip rows.\n\nTwice.\n\n"
        "#### Discussion\n\nLong.\n\n### Rationale\n\nOf all.\n"
    )
    assert [(d.text, d.tier, d.rationale, d.context) for d in read.decisions] == [
        ("Page with cursors", 0.8, "Offsets skip rows.\nTwice.", "- Discussion: Long.")
    ]


def test_a_record_behind_a_printed_block_is_read() -> None:
    block = "## Registry state: Nexus\n\n- T101: title\n\n(end of registry state)\n"
    read = read_archive(f"{block}\n- **D001:** Use REST\n")
    assert ([d.local_id for d in read.decisions], read.threads, read.problems) == (["D001"], (), ())


def test_a_reference_may_name_the_archive_that_its_id_is_of() -> None:
    read = read_archive(
        "# Conversation Archive: x\n\n### D003: Amounts are strings\n- **Supersedes:** PAY_ONE_DONE:D001\n"
        "- **Depends On:** D002, see:D004, PAY_ONE_DONE:D002\n"
    )
    [found] = read.decisions
    assert found.revises == ("PAY_ONE_DONE:D001",)
    assert found.dependencies == ("D002", "D004", "PAY_ONE_DONE:D002")


def test_a_thread_that_names_where_it_is_from_is_inherited() -> None:
    read = read_archive("# Conversation Archive: x\n\n### T001: Key owner\n- **Inherited From:** KEYS_DONE\n")
    assert [(t.scope, t.inherited_from) for t in read.threads] == [(Scope.INHERITED, "KEYS_DONE")]


def test_an_id_of_the_records_own_series_may_be_a_parent_s() -> None:
    read = read_archive(
        "# Gesprächsarchiv: Storno\n\n**Setzt fort:** NORDWIND\n\n## Entscheidungen\n\n"
        "### E6: Zahlungen laufen über Stripe\n- **Stufe:** 0,7\n- **Supersedes:** E2\n- **Depends on:** E1\n"
    )
    [found] = read.decisions
    assert (found.local_id, found.revises, found.dependencies) == ("E6", ("E2",), ("E1",))


def test_a_colon_behind_a_bold_id_and_a_bracket_is_no_part_of_the_text() -> None:
    read = read_archive("# Conversation Archive: x\n\n## Decisions\n\n- **D2 (revised)**: Keep 14 daily\n")
    assert [d.text for d in read.decisions] == ["Keep 14 daily"]


def test_a_bold_line_below_a_record_may_name_a_field_that_holds_code() -> None:
    read = read_archive(
        "### D1: Back up with restic\n- **Tier:** 0.8\n\n**Rationale**\n\nIt checks itself:\n\n"
        "```bash\nrestic check\n```\n\nSo a flip is found.\n\n"
        "**Alternatives rejected**\n\n1. borg: one writer\n2. tape\n\n"
        "### D2: Keep 7 daily\n- **Tier:** 0.6\n"
    )
    assert [(d.text, d.tier, d.alternatives, d.rationale, d.context) for d in read.decisions] == [
        (
            "Back up with restic",
            0.8,
            ("borg: one writer", "tape"),
            "It checks itself:\n```bash\nrestic check\n```\nSo a flip is found.",
            "",
        ),
        ("Keep 7 daily", 0.6, (), "", ""),
    ]
