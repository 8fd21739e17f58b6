"""Text in, records out: layouts that models write, and what earlier versions of the reader lost."""

# ruff: noqa: RUF001 - full-width marks and other scripts are what is tested

from __future__ import annotations

import pytest

from forgekit.archives.read import ImportOptions, identify, read_archive
from forgekit.model.entities import DecisionStatus, Priority, ThreadStatus


def decisions(text: str) -> list[tuple[str, str, float | None, str, tuple[str, ...]]]:
    read = read_archive(text)
    return [(d.local_id, d.text, d.tier, d.rationale, d.dependencies or ()) for d in read.decisions]


def threads(text: str) -> list[tuple[str, str, str, str, str]]:
    return [
        (
            t.local_id,
            t.title,
            t.status.value if t.status else "",
            t.priority.value if t.priority else "",
            t.resolution,
        )
        for t in read_archive(text).threads
    ]


TWO = [
    ("D1", "Use gas", 0.9, "small", ()),
    ("D2", "Keep Bob", 0.4, "cheap", ("D1",)),
]


@pytest.mark.parametrize(
    "text",
    [
        (
            "DECISIONS\n\nID: D1\nDecision: Use gas\nTier: 0.9\nWhy: small\n\n"
            "ID: D2\nDecision: Keep Bob\nTier: 0.4\nWhy: cheap\nDepends on: D1\n"
        ),
        (
            "## Decisions\n\n- id: D1\n  text: Use gas\n  tier: 0.9\n  why: small\n"
            "- id: D2\n  text: Keep Bob\n  tier: 0.4\n  why: cheap\n  needs: D1\n"
        ),
        (
            "decisions:\n  D1:\n    text: Use gas\n    tier: 0.9\n    why: small\n"
            "  D2:\n    text: Keep Bob\n    tier: 0.4\n    why: cheap\n    deps: [D1]\n"
        ),
        (
            '{"chosen": [{"ref": "D1", "pick": "Use gas", "tier": 0.9, "why": "small"},'
            ' {"ref": "D2", "pick": "Keep Bob", "tier": 0.4, "why": "cheap", "deps": ["D1"]}]}'
        ),
        (
            '{"id": "D1", "text": "Use gas", "tier": 0.9, "why": "small"}\n'
            '{"id": "D2", "text": "Keep Bob", "tier": 0.4, "why": "cheap", "deps": ["D1"]}\n'
        ),
        (
            '<decisions>\n<decision id="D1" tier="0.9">\n<text>Use gas</text>\n<why>small</why>\n'
            "</decision>\n"
            '<decision id="D2" tier="0.4">\n<text>Keep Bob</text>\n<why>cheap</why>\n<deps>D1</deps>\n'
            "</decision>\n"
            "</decisions>\n"
        ),
        (
            "* Decisions\n#+TAG: A_B\n** D1 Use gas\n   :PROPERTIES:\n   :TIER: 0.9\n   :END:\n"
            "   - why :: small\n"
            "** D2 Keep Bob\n   - tier :: 0.4\n   - why :: cheap\n   - needs :: D1\n"
        ),
        (
            "## Decisions\n\nD1\n: Use gas\n: Tier: 0.9\n: Why: small\n\n"
            "D2\n: Keep Bob\n: Tier: 0.4\n: Why: cheap\n: Needs: D1\n"
        ),
        (
            "## D1 Use gas\n\n### Rationale\n\nsmall\n\n### Tier\n\n0.9\n\n"
            "## D2 Keep Bob\n\n### Rationale\n\ncheap\n\n### Tier\n\n0.4\n\n### Depends on\n\nD1\n"
        ),
        (
            "## Decisions\n\n> **D1.** Use gas\n> Tier: 0.9\n> Why: small\n\n"
            "> **D2.** Keep Bob\n> Tier: 0.4\n> Why: cheap\n> Needs: D1\n"
        ),
        (
            "DECISIONS\n=========\nD1  Use gas\n    Tier: 0.9 / Why: small\nD2  Keep Bob\n"
            "    Tier: 0.4 / Why: cheap / Needs: D1\n"
        ),
        (
            "- Decisions\n  - D1: Use gas\n    - tier: 0.9\n    - why: small\n"
            "  - D2: Keep Bob\n    - tier: 0.4\n"
            "    - why: cheap\n    - needs: D1\n"
        ),
        (
            "<details>\n<summary>Archive</summary>\n\n```markdown\n> ## Decisions\n"
            "> 1. **D1** Use gas (0.9)\n"
            ">    - Why: small\n> 2. **D2** Keep Bob (0.4)\n>    - Why: cheap\n"
            ">    - Needs: D1\n```\n</details>\n"
        ),
    ],
)
def test_two_decisions_in_many_layouts(text: str) -> None:
    assert decisions(text) == TWO


@pytest.mark.parametrize(
    ("label", "first", "second"),
    [
        ("Beschlüsse", "B-01", "B-02"),
        ("II. Décisions prises", "Décision A", "Décision B"),
        ("Decisioni", "Delibera 1", "Delibera 2"),
        ("Decisões tomadas", "FT-21", "FT-22"),
        ("Genomen besluiten", "K1", "K2"),
        ("Принятые решения", "Р1", "Р2"),
        ("已做的决定", "决定1", "决定2"),
    ],
)
def test_the_ids_of_a_list_are_those_of_its_kind(label: str, first: str, second: str) -> None:
    heading = label if label.startswith("■") else f"## {label}"
    text = f"{heading}\n\n- **{first}** — Use gas\n- **{second}** — Keep Bob\n  - Depends on: {first}\n"
    assert decisions(text) == [
        (first, "Use gas", None, "", ()),
        (second, "Keep Bob", None, "", (first,)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "## Decisions\n\n### 1\ufe0f\u20e3 Use gas\n- Tier: 0.9\n- Why: small\n",
        "**Decision:** Use gas\n**Tier:** 0.9\n**Rationale:** small\n",
        "## Decisions\n- **Decision**: Use gas | **Tier**: 0.9 | **Why**: small\n",
        "### Decision: Use gas\nTier: 0.9\nWhy: small\n",
        "## Decisions\n\n#### ✅ Use gas (0.9)\nWhy: small\n",
        "## Decisions\n\n| Decision | Rationale | Confidence |\n|--|--|--|\n| Use gas | small | 90% |\n",
        "**Key decisions:**\n• Use gas – 90% – because small\n",
        "DECISIONS (1)\n-------------\n1. Use gas            | conf 0.9 | because small\n",
    ],
)
def test_a_decision_without_an_id(text: str) -> None:
    ((local_id, *fields),) = decisions(text)
    assert fields == ["Use gas", 0.9, "small", ()]
    assert local_id in ("OD001", "1")


def test_records_begin_with_their_kind_and_number() -> None:
    text = (
        "DECISION D1: Use gas\n  TIER: 0.9\n  WHY: small\nDECISION D2: Keep Bob\n  TIER: 0.4\n  WHY: cheap\n"
        "  DEPENDS ON: D1\nTHREAD T1: Who pays?\n  STATUS: OPEN\n  PRIORITY: HIGH\n"
    )
    assert decisions(text) == TWO
    assert threads(text) == [("T1", "Who pays?", "open", "high", "")]


def test_numbers_that_others_refer_to_are_ids() -> None:
    text = (
        "## Decisions\n\n1. **Water the beds by night**\n2. **Compost goes on the south bed**\n"
        "   - Depends on: decision 1\n"
    )
    assert decisions(text) == [
        ("1", "Water the beds by night", None, "", ()),
        ("2", "Compost goes on the south bed", None, "", ("1",)),
    ]


@pytest.mark.parametrize(
    ("line", "thread"),
    [
        ("❓ T1: Who pays?", ("T1", "Who pays?", "", "", "")),
        ("✅ T1: Who pays?", ("T1", "Who pays?", "resolved", "", "")),
        ("- [ ] T1: Who pays? 🔴", ("T1", "Who pays?", "", "high", "")),
        ("- 【解決済み】T1：誰が払うか？", ("T1", "誰が払うか？", "resolved", "", "")),
        ("- **T1: Who pays?** open, P1", ("T1", "Who pays?", "open", "high", "")),
        ("- **T1: Who pays?** resolved, P3. Outcome: Ann", ("T1", "Who pays?", "resolved", "low", "Ann")),
        ("- T1 — Who pays? · aberta · prioridade alta", ("T1", "Who pays?", "open", "high", "")),
        ("- T1: Who pays? *(owner: Ann, priority: high)*", ("T1", "Who pays?", "", "high", "")),
        ("- T1 — Who pays? · resolvida: a Ana", ("T1", "Who pays?", "resolved", "", "a Ana")),
        ("#### T1. Who pays?\nAbandoned. Priority: low.", ("T1", "Who pays?", "abandoned", "low", "")),
        ("[T1] Who pays? (stato: risolta — Anna)", ("T1", "Who pays?", "resolved", "", "Anna")),
    ],
)
def test_what_stands_beside_a_thread(line: str, thread: tuple[str, ...]) -> None:
    assert threads(f"## Threads\n\n{line}\n") == [thread]


@pytest.mark.parametrize(
    ("said", "tier"),
    [
        ("⭐⭐⭐⭐", 0.8),
        ("★★☆", 2 / 3),
        ("9/10", 0.9),
        ("High (0.9)", 0.9),
        ("ziemlich sicher", 0.7),
        ("élevée", 0.7),
        ("muito baixa", 0.2),
        ("средняя", 0.5),
    ],
)
def test_certainty_as_people_write_it(said: str, tier: float) -> None:
    assert decisions(f"### D001: Use gas\n- Confidence: {said}\n")[0][2] == pytest.approx(tier)


@pytest.mark.parametrize(
    ("head", "tag", "parents"),
    [
        ("**Kennung:** A_B_2\n**Knüpft an:** A_B_1", "A_B_2", ("A_B_1",)),
        ("Sigla: A_B_2\nContinua da: A_B_1", "A_B_2", ("A_B_1",)),
        ("**Tag → A_B_2**\n**Follows → A_B_1**", "A_B_2", ("A_B_1",)),
        ("Compressed on 4 May 2026 (A_B_2, following A_B_1 and C_D_1).", "A_B_2", ("A_B_1", "C_D_1")),
        ("Handle me as: A_B_2", "A_B_2", ()),
        ("> Метка: A_B_2\n> Продолжение: A_B_1", "A_B_2", ("A_B_1",)),
        ("タグ：A_B_2\n前の会話：A_B_1", "A_B_2", ("A_B_1",)),
    ],
)
def test_tag_and_parents_in_many_words(head: str, tag: str, parents: tuple[str, ...]) -> None:
    read = read_archive(f"# Notes\n\n{head}\n\n## Decisions\n\n- D001: Rows\n")
    assert (read.tag, read.inherits_from) == (tag, parents)


def test_a_date_has_its_day_first_where_its_label_is_not_english() -> None:
    days = [read_archive(f"# x\n\n**{label}:** 03/11/2025\n").created for label in ("Fecha", "Date")]
    assert days == [read_archive("# x\n\n**Date:** 2025-11-03\n").created, None]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ('{"misc": [{"a": "1"}], "decisions": [{"id": "D1", "text": "x"}]}', "unread-list", 1),
        ("## Came of it\n\n| Nr | Was | Sicherheit |\n|--|--|--|\n| 1 | - | hoch |\n", "unread-table", 3),
        ("# Notes\n\nWe met.\n\nConfidence: 0.8\n", "unread-label", 5),
        ("### D001: Use gas\n> Confidence: 0.9\n", "", 0),
        ("# a\n\n### D001: Use gas\n\n> Confidence: 0.9\n", "quoted-field", 5),
        ("### D001: Use gas\n- **Tier:** rather good\n", "bad-tier", 1),
    ],
)
def test_what_is_not_read_is_named(text: str, code: str, line: int) -> None:
    assert [(p.code, p.line) for p in read_archive(text).problems if code] == ([(code, line)] if code else [])


@pytest.mark.parametrize(
    "text",
    [
        "## Decisions\n\n- D001: Rows\n\n## Next steps\n\n- buy rows\n\nnote to self\n- ask Hans\n",
        "## Decisions\n\n- D001: Rows\n\n## Action items\n\n1. Buy\n\n## Key takeaways\n\n- Rows are good\n",
        "## Decisions\n\n- D001: Rows\n\n## Glossary\n\n- **row** – a line\n\n## Example\n\n- D002: forged\n",
        '{"decisions": [{"id": "D001", "text": "Rows"}], "inherited": [{"id": "D002", "text": "x"}]}',
        "## Decisions\n\n- D001: Rows\n\n## Inherited from A_B_1\n\n- D002: Earlier\n",
    ],
)
def test_lists_beside_the_decisions_are_none(text: str) -> None:
    assert [text for _, text, *_ in decisions(text)] == ["Rows"]
    assert threads(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "**D001: Use gas**\n\n- 🎯 **Tier:** 0.2\n- 🔗 **Dependencies:** D002\n",
            (0.2, "", ("D002",)),
        ),
        ("1. **D001: Use gas** - tier 0.85. Because it is small\n", (0.85, "it is small", ())),
        (
            "### D001: Use gas\n- **Why:** small\n  ```\n  code\n  ```\n",
            (None, "small\n  ```\n  code\n  ```", ()),
        ),
        (
            "| ID | Decision | Confidence |\n|--|--|--|\n| D001 | Use gas | 85% |\n",
            (0.85, "", ()),
        ),
        (
            "| ID | Decision | Conf. | Deps |\n|--|--|--|--|\n| D001 | Use gas | high | D002 |\n",
            (0.7, "", ("D002",)),
        ),
    ],
)
def test_fields_that_were_lost_once(text: str, found: tuple[object, ...]) -> None:
    assert [each[2:] for each in decisions(text)] == [found]


@pytest.mark.parametrize("written", ["D0", "D000001", "d001", "D001a", "D-001", "Ｄ００１", "Decision 1"])
def test_an_id_of_any_shape_is_read_as_it_is_written(written: str) -> None:
    assert decisions(f"## Decisions\n\n- {written}: Rows\n") == [(written, "Rows", None, "", ())]


def test_a_callout_is_the_archives_own_and_a_quotation_is_not() -> None:
    read = read_archive(
        "# Vault\n\nUp: [[Home|the start]]\n\n"
        "> [!decision]+ D001: Use gas\n> Tier:: 0.7\n> Why:: it is [[Gas stove|cheap]]\n\n"
        "> [!quote] the landlord\n> - D002: Use oil\n\n"
        "> [!IMPORTANT]\n> - D003: Use wood ^wood\n"
    )
    decisions = {(d.local_id, d.text, d.tier, d.rationale) for d in read.decisions}
    assert decisions == {("D001", "Use gas", 0.7, "it is Gas stove"), ("D003", "Use wood", None, "")}


def test_a_bracket_opens_with_an_id_of_a_series_and_says_more() -> None:
    read = read_archive(
        "**Decided (Dec-1, tier 0.8).** Glacier work comes first. One page is read.\n\n"
        "**Decided (Dec-2, tier 0.6; rests on Dec-1).** Sediment papers share one heading.\n\n"
        "**Decided (Dec-3, tier 0.4).** Citation counts are left out of the statement.\n"
    )
    assert [(d.local_id, d.text.rstrip("."), d.dependencies or ()) for d in read.decisions] == [
        ("Dec-1", "Glacier work comes first", ()),
        ("Dec-2", "Sediment papers share one heading", ("Dec-1",)),
        ("Dec-3", "Citation counts are left out of the statement", ()),
    ]


def test_elements_on_one_line_are_the_fields_of_their_record() -> None:
    read = read_archive(
        "<archive>\n<threads>\n"
        '<thread id="T001" status="open">Who pays for the storage?</thread>\n'
        '<thread id="T002"><status>resolved</status><question>Which region?</question>'
        "<resolution>eu-west</resolution></thread>\n</threads>\n</archive>\n"
    )
    assert [(t.local_id, t.title, t.status and t.status.value, t.resolution) for t in read.threads] == [
        ("T001", "Who pays for the storage?", "open", ""),
        ("T002", "Which region?", "resolved", "eu-west"),
    ]


def test_yaml_below_one_key_needs_no_fence() -> None:
    read = read_archive(
        "archive:\n  tag: STORES\n  decisions:\n    - id: D001\n      text: Use rows\n      tier: 0.9\n"
    )
    assert [(d.local_id, d.text, d.tier) for d in read.decisions] == [("D001", "Use rows", 0.9)]
    assert read.problems == ()


def test_a_phase_in_an_unknown_state_is_no_successor() -> None:
    [decision] = read_archive("## Decisions\n\n- D001: Keep logs. Status: deferred to phase 2\n").decisions
    assert decision.superseded_by is None
    assert decision.context == "Status: deferred to phase 2"


def test_a_series_of_ids_in_a_table_needs_no_letter_of_its_kind() -> None:
    table = (
        "| ID | Decision | Status | Rationale | Rejected | Governs |\n|--|--|--|--|--|--|\n"
        "| FD-4 | Keep frames 30 days | active | GDPR | 1 year | infra/s3.tf |\n"
    )
    [decision] = read_archive(f"## Decisions\n\n{table}").decisions
    assert (decision.local_id, decision.text, decision.rationale) == ("FD-4", "Keep frames 30 days", "GDPR")
    assert (decision.alternatives, decision.governs) == (("1 year",), ("infra/s3.tf",))


@pytest.mark.parametrize(
    "lines",
    [
        "- D1: Logs are kept 14 days (accepted; high confidence; governs `ops/loki/`)\n",
        "### D1: Logs are kept 14 days\n- Status: accepted\n- Tier: 70\n- Governs: `ops/loki/`\n",
        "### D1: Logs are kept 14 days\n> Status: **accepted** \u00b7 Tier: 0.7\n> Governs: ops/loki/\n",
        "**D1: Logs are kept 14 days**\n:   Status: Accepted\n:   Tier: 0.7\n:   Governs: ops/loki/\n",
    ],
)
def test_what_a_decision_governs_in_some_layouts(lines: str) -> None:
    [decision] = read_archive(f"## Decisions\n\n{lines}").decisions
    assert (decision.text, decision.tier, decision.governs) == ("Logs are kept 14 days", 0.7, ("ops/loki/",))
    assert decision.status is DecisionStatus.ACTIVE


def test_what_is_no_path_is_kept_in_the_text() -> None:
    read = read_archive("## Decisions\n\n### D1: Pay on Friday\n- Applies to: all staff, src/pay/**\n")
    [decision] = read.decisions
    assert (decision.governs, decision.context) == (("src/pay/**",), "Applies to: all staff, src/pay/**")


def test_two_labels_of_one_field_are_both_read() -> None:
    lines = "- D1: Keep logs\n  - Why: it is cheap\n  - Reason: the law asks for it\n"
    assert decisions(f"## Decisions\n\n{lines}") == [
        ("D1", "Keep logs", None, "it is cheap\nthe law asks for it", ())
    ]


def test_a_bracket_with_a_part_that_is_no_field_gives_the_others() -> None:
    [decision] = read_archive("## Decisions\n\n- D1: Keep logs (accepted; tier 0.8; from Ana)\n").decisions
    assert (decision.text, decision.tier, decision.status) == (
        "Keep logs (from Ana)",
        0.8,
        DecisionStatus.ACTIVE,
    )


def test_an_empty_box_is_open_whatever_stands_beside_it() -> None:
    lines = (
        "- [x] T3 Internet: Telenet, from 1 Sept\n- [x] ~~T4 Parking ban sign~~ movers do it\n"
        "- [ ] T5 Insurance gap in August\n"
    )
    read = read_archive(f"# Moving\n{lines}")
    assert [t.status and t.status.value for t in read.threads] == ["resolved", "resolved", "open"]


def test_an_abbreviation_does_not_end_the_name_of_a_project() -> None:
    assert read_archive("# A\n\n**Project:** Acme v. Borealis\n**Tag:** A_1\n").project == "Acme v. Borealis"


def test_an_alternative_with_a_colon_in_yaml_is_whole() -> None:
    text = "decisions:\n  - id: D1\n    title: Buy it\n    alternatives:\n      - Trimble: too expensive\n"
    assert [d.alternatives for d in read_archive(text).decisions] == [("Trimble: too expensive",)]


def test_lists_of_data_below_one_key_part_records_with_ids_of_any_key() -> None:
    lines = (
        "tag: SHED_PLAN",
        "decisions:",
        "  made:",
        "    - {key: D1, what: Keep the shed}",
        "  rejected:",
        "    - {key: D3, what: Buy a boat}",
    )
    read = read_archive("\n".join(lines))
    assert [(d.local_id, d.text, d.status) for d in read.decisions] == [
        ("D1", "Keep the shed", None),
        ("D3", "Buy a boat", DecisionStatus.INVALIDATED),
    ]


def test_ids_in_words_with_accents_and_labels_with_articles() -> None:
    lines = (
        "**Décision 1 (ferme) :** le concert est dans la halle. La raison : elle est grande.",
        "**Décision 2 (remplacée par la décision 1) :** le concert est dehors.",
    )
    first, second = read_archive("## Décisions\n\n" + "\n\n".join(lines)).decisions
    assert (first.text, first.rationale) == ("le concert est dans la halle (ferme)", "elle est grande.")
    assert (second.local_id, second.superseded_by) == ("Décision 2", "Décision 1")


def test_lines_that_are_an_id_alone_begin_records_in_any_language() -> None:
    lines = (
        "Decyzja 1\n: Rower zamiast biegania do końca lipca\n: *Uzasadnienie:* lekarz zabronił podskoków",
        "Decyzja 2\n: Lód trzy razy dziennie\n: *Zależy od:* Decyzja 1",
    )
    read = read_archive("**DECYZJE**\n\n" + "\n\n".join(lines))
    assert [(d.local_id, d.dependencies) for d in read.decisions] == [
        ("Decyzja 1", None),
        ("Decyzja 2", ("Decyzja 1",)),
    ]


def test_callouts_with_an_id_are_records_with_fields_and_examples_are_quoted() -> None:
    lines = "> [!question] T-02 Who shuffles?\n> priority:: low\n\n> [!example] A card\n> D9: draw two cards."
    read = read_archive(f"## Threads\n\n{lines}\n")
    assert [(t.local_id, t.title, t.priority) for t in read.threads] == [
        ("T-02", "Who shuffles?", Priority.LOW)
    ]
    assert read.decisions == ()


def test_items_of_data_state_their_own_kind_and_may_have_inner_fields() -> None:
    text = """{"tag": "LOCKERS", "issues": [
      {"key": "P-1", "type": "Decision", "summary": "Keep parcels for three days", "confidence": 0.8},
      {"key": "P-2", "fields": {"issuetype": {"name": "Question"}, "summary": "Who mops?", "priority": "P1"}}
    ]}"""
    read = read_archive(text)
    assert [(d.local_id, d.text, d.tier) for d in read.decisions] == [
        ("P-1", "Keep parcels for three days", 0.8)
    ]
    assert [(t.local_id, t.title, t.priority) for t in read.threads] == [("P-2", "Who mops?", Priority.HIGH)]


def test_the_header_of_a_column_may_give_the_scale_of_its_numbers() -> None:
    rows = (
        "| ID | Decision | Confidence (1-5) |\n|---|---|---|\n| D1 | Use drip | 4 |\n| D2 | Use hose | 3 |\n"
    )
    read = read_archive(f"## Decisions\n\n{rows}")
    assert [d.tier for d in read.decisions] == [0.8, 0.6]


def test_a_thread_waits_for_threads_by_the_ids_of_their_own() -> None:
    one = "- V1: May I drive?\n- V2: May I swim?\n  - Blocked by: V1\n"
    read = read_archive(f"## Questions\n{one}- 1.3: May I run?\n- 1.4: May I walk?\n  - Blocked by: 1.3\n")
    assert {t.local_id: (t.blocked_by, t.waits_for) for t in read.threads if t.blocked_by} == {
        "V2": (("V1",), ()),
        "1.4": (("1.3",), ()),
    }


def test_a_column_of_blockers_counts_where_no_other_head_is_known() -> None:
    rows = "| I-01 | Which licence do we need? | \u2013 |\n| I-02 | May volunteers go alone? | I-01 |\n"
    read = read_archive(f"| Ref | Issue | Waiting on |\n|---|---|---|\n{rows}")
    assert [(t.local_id, t.blocked_by) for t in read.threads][-1] == ("I-02", ("I-01",))


def test_no_part_of_a_record_below_an_unknown_heading_is_lost() -> None:
    head = "## ADR-0007: Guardar en PostgreSQL\n\n**Estado:** Aceptada\n\n"
    parts = "### Alternativas consideradas\n- MongoDB\n- SQLite\n\n### Consecuencias\nHay que migrar.\n"
    read = read_archive(head + parts)
    (decision,) = read.decisions
    assert (decision.alternatives, decision.context) == (
        ("MongoDB", "SQLite"),
        "- Consecuencias: Hay que migrar.",
    )
    assert [problem.message for problem in read.problems] == [
        "ADR-0007: the label 'Consecuencias' is not known; its line was kept in the record's text"
    ]


def test_the_id_before_the_words_of_a_line_counts_and_no_code_behind_them() -> None:
    lines = (
        "K1 | Four players at most | c9 | // talk broke down at five | not: six players",
        "K2 | The tide moves every round by a fixed step | c7 | <- K1 | not: dice",
        "K4 | One shared goal card lies on the table | c8 | <- K2 | not: a goal for each",
    )
    read = read_archive("tag: TIDE-07\n\nKEPT\n\n" + "\n".join(lines) + "\n")
    assert [d.local_id for d in read.decisions] == ["K1", "K2", "K4"]


def test_an_answer_has_the_number_of_its_question() -> None:
    pairs = (
        ("Do we sell the farmhouse?", "No, we let it."),
        ("Who pays for the roof?", "Open until the survey is in."),
        ("Who keeps the books?", "Ruth."),
    )
    lines = "\n\n".join(f"Q{n}: {asked}\nA{n}: {answer}" for n, (asked, answer) in enumerate(pairs, 1))
    read = read_archive(f"Tag: FARM_HOUSE\n\n## Questions\n\n{lines}")
    assert [(t.local_id, t.status, t.resolution) for t in read.threads] == [
        ("Q1", ThreadStatus.RESOLVED, "No, we let it"),
        ("Q2", ThreadStatus.OPEN, "Open until the survey is in"),
        ("Q3", ThreadStatus.RESOLVED, "Ruth."),
    ]


def test_an_element_that_names_a_decision_holds_no_artifact() -> None:
    read = read_archive(
        '<log name="OIL-2">\n<acuerdo id="A1" firmeza="alta">\n  <dice>Picking begins in October</dice>\n'
        "  <motivo>it pays better</motivo>\n</acuerdo>\n"
        '<acuerdo id="A2" firmeza="media">\n  <dice>We buy a mixer of 300 litres</dice>\n'
        "  <motivo>the large one is never full</motivo>\n</acuerdo>\n</log>\n"
    )
    assert [(d.local_id, d.rationale) for d in read.decisions] == [
        ("A1", "it pays better"),
        ("A2", "the large one is never full"),
    ]
    assert read.artifacts == ()


def test_the_indent_of_a_whole_text_is_no_code() -> None:
    read = read_archive(
        "WHERE WE ARE\n\nDecisions\n\n"
        "    D1: The show runs on weekdays only\n    D2: The report is read live\n    D3: No adverts\n"
    )
    assert [(d.local_id, d.text) for d in read.decisions] == [
        ("D1", "The show runs on weekdays only"),
        ("D2", "The report is read live"),
        ("D3", "No adverts"),
    ]


def test_indented_code_in_an_archive_holds_no_record() -> None:
    read = read_archive("## Decisions\n\nD1: Use rows\n\nSo we write:\n\n    D2: Use columns\n")
    assert [d.local_id for d in read.decisions] == ["D1"]


def test_a_bracket_behind_an_id_rates_the_sentence_that_follows() -> None:
    read = read_archive(
        "# Export\n\nDecision 1 (4/5, active). One file per office. Reasoning: offices refuse others.\n\n"
        "Decision 2 (9/10, replaced by Decision 1). One file for all.\n"
    )
    assert [(d.local_id, d.text, d.tier, d.rationale, d.superseded_by) for d in read.decisions] == [
        ("Decision 1", "One file per office", 0.8, "offices refuse others.", None),
        ("Decision 2", "One file for all.", 0.9, "", "Decision 1"),
    ]


def test_a_code_that_is_also_an_id_is_none_of_a_legend() -> None:
    read = read_archive("Tier key: T1 = 0.9, T2 = 0.5\n\n## Threads\n\n- T1: Who pays?\n- T2: Which bank?\n")
    assert [t.local_id for t in read.threads] == ["T1", "T2"]


def test_an_element_with_inner_elements_holds_its_text_and_ends() -> None:
    text = (
        '<archive>\n  <threads>\n    <thread id="T3" status="resolved">\n      Colour-blind test\n'
        "      <resolution>shapes on the hats</resolution>\n    </thread>\n"
        '    <thread id="T4" status="open">French title</thread>\n  </threads>\n</archive>\n'
    )
    assert [(t[0], t[1], t[2], t[4]) for t in threads(text)] == [
        ("T3", "Colour-blind test", "resolved", "shapes on the hats"),
        ("T4", "French title", "open", ""),
    ]


def test_labels_in_brackets_begin_fields() -> None:
    read = read_archive(
        "## Decisions\n\n### D1\nServe tiles from storage.\n  [rationale] the server fell over\n"
        "  [alternatives] a bigger server | bought tiles\n  [status] active\n"
    )
    assert [(d.text, d.rationale, d.alternatives) for d in read.decisions] == [
        ("Serve tiles from storage.", "the server fell over", ("a bigger server", "bought tiles"))
    ]


def test_an_attribute_may_hold_the_other_quote() -> None:
    read = read_archive(
        '<log>\n<decision id="D1" reason="it\'s small">\n<text>Use gas</text>\n</decision>\n</log>\n'
    )
    assert [(d.text, d.rationale) for d in read.decisions] == [("Use gas", "it's small")]


def test_quoted_cards_are_read_beside_words_that_only_seem_to_be_records() -> None:
    cards = "".join(
        f"> **F{n}** [active]\n> **Decided:** {text}\n> **Reason:** small\n> **Confidence:** 90%\n\n"
        for n, text in enumerate(("Beds lie in the north", "Drip watering", "Two beds a family"), 1)
    )
    read = read_archive(
        f"# Garden\n\nEach card is one decision.\n\n{cards}Ready: a map of the beds; a rota\n"
    )
    assert [(d.local_id, d.text) for d in read.decisions] == [
        ("F1", "Beds lie in the north"),
        ("F2", "Drip watering"),
        ("F3", "Two beds a family"),
    ]


def test_threads_whose_ids_have_wide_brackets_behind_them_are_those_of_one_series() -> None:
    text = (
        "■ 未解決\n\nQ1（高）：機種変更のときのデータ移行をどうするか\nQ2（低）：ダークモードの配色\n"
        "Q3（保留・Q1待ち）：家族との共有機能\nQ4（解決済み）：看板の文字の色 → 藍色に決めた\n"
    )
    assert [(t.local_id, t.title) for t in read_archive(text).threads] == [
        ("Q1", "機種変更のときのデータ移行をどうするか"),
        ("Q2", "ダークモードの配色"),
        ("Q3", "家族との共有機能"),
        ("Q4", "看板の文字の色"),
    ]


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("Here is what you asked for:\n\n**Choir trip, state of things:**\n", "Choir trip, state of things"),
        ("### Heating\n", "Heating"),
        ("sheep / winter feed, where we got to\n", "sheep / winter feed, where we got to"),
        (f"{'on and on ' * 20}\n", f"{('on and on ' * 20)[:79]}\u2026"),
        ("", "{digest}"),
        ("**Tag:** SHEEP_1\n\n**Sheep**\n", "SHEEP_1"),
    ],
)
def test_an_archive_without_a_title_is_shown_by_its_first_lines(head: str, title: str) -> None:
    text = f"{head}\n## Decisions\n- D1: Feed hay\n- D2: Sell two rams\n"
    filed = identify(text, read_archive(text), ImportOptions(), "Farm")
    assert filed.conversation_title == title.format(digest=filed.content_sha256[:16])


def test_what_an_archive_is_shown_by_does_not_identify_it() -> None:
    texts = [f"**Summary**\n\n## Decisions\n- D1: {words}\n" for words in ("Feed hay", "Sell two rams")]
    first, second = (identify(text, read_archive(text), ImportOptions(), "Farm") for text in texts)
    assert first.conversation_title == second.conversation_title == "Summary"
    assert first.conversation_id != second.conversation_id
