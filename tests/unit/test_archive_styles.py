"""Archives in the styles of other models and people: layouts, languages, records without ids."""

# ruff: noqa: RUF001 - full-width marks are what is tested

from __future__ import annotations

import json

import pytest

from forgekit.archives.claims import references
from forgekit.archives.document import read_document
from forgekit.archives.grouping import Found
from forgekit.archives.logs import unread_lines
from forgekit.archives.read import read_archive
from forgekit.archives.spans import Span
from forgekit.archives.tagged import left_behind
from forgekit.model.archive_record import ArchiveText
from forgekit.model.entities import DecisionStatus, Priority, ThreadStatus
from forgekit.times import parse_instant

OPEN, RESOLVED = ThreadStatus.OPEN, ThreadStatus.RESOLVED


def decisions(read: ArchiveText) -> list[tuple[str, str, float | None, str, tuple[str, ...]]]:
    return [(d.local_id, d.text, d.tier, d.rationale, d.alternatives) for d in read.decisions]


@pytest.mark.parametrize(
    "record",
    [
        "**D001: Use MQTT**\n- **Tier:** 0.2\n- **Rationale:** small\n- **Ruled out:** AMQP; Kafka\n",
        "**D001 - Use MQTT**\n- 🎯 **Tier:** 0.2\n- 💭 **Why:** small\n- ❌ **Rejected:** AMQP; Kafka\n",
        "**D001**: Use MQTT\nTier = 0.2\nRationale → small\nRejected: AMQP; Kafka\n",
        "### Decision D001 — Use MQTT\nTier 0.2. Reason: small\n\nInstead of: AMQP; Kafka\n",
        "### 1. Use MQTT (D001)\n\n- Confidence: 20%\n- Why: small\n- Rejected:\n  - AMQP\n  - Kafka\n",
        "### Use MQTT\n- ID: D001\n- Stufe: 0,2\n- Begründung: small\n- Verworfen: AMQP; Kafka\n",
        "- D001 (tier 0.2): Use MQTT — because small\n  - Considered: AMQP, Kafka\n",
        "1. (D001, 20%) Use MQTT. *Why:* small *Not:* AMQP; Kafka\n",
        "### D001：Use MQTT\n- **段階：** 0.2\n- **理由：** small\n- **却下した案：** AMQP、Kafka\n",
        "|ID|Decision|Tier|Why|Not|\n|-|-|-|-|-|\n| D1 | Use MQTT | 20% | small | AMQP; Kafka |\n",
        "## D1\n\n|K|V|\n|-|-|\n|Decision|Use MQTT|\n|Tier|0.2|\n|Why|small|\n|Not|AMQP; Kafka|\n",
        "> ### D001: Use MQTT\n> *Tier 0.2. Reason: small*\n> *Rejected: AMQP; Kafka*\n",
        '```json\n[{"id":"D1","text":"Use MQTT","tier":0.2,"why":"small","not":"AMQP; Kafka"}]\n```\n',
        "• D001 – Use MQTT\n   Tier: 0.2\n   Reason: small\n   Rejected: AMQP; Kafka\n",
    ],
)
def test_one_decision_in_many_layouts(record: str) -> None:
    read = read_archive(record)
    assert decisions(read) == [(read.decisions[0].local_id, "Use MQTT", 0.2, "small", ("AMQP", "Kafka"))]
    assert read.decisions[0].local_id in ("D001", "D1")
    assert read.problems == ()


@pytest.mark.parametrize(
    ("line", "status", "priority", "resolution"),
    [
        ("- T001: Which salt? [RESOLVED] Postmark", RESOLVED, None, "Postmark"),
        ("### T001: Which salt?\n**Status:** Resolved - Postmark", RESOLVED, None, "Postmark"),
        ("- T001: Which salt? (resolved: Postmark)", RESOLVED, None, "Postmark"),
        ("- [x] T001 Which salt? → Postmark", RESOLVED, None, "Postmark"),
        ("- T001: RESOLVED Which salt?", RESOLVED, None, ""),
        ("- **T001 :** Which salt? — résolu : Postmark", RESOLVED, None, "Postmark"),
        ("## Temas cerrados\n- T001: Which salt? Postmark", RESOLVED, None, "Postmark"),
        ("T001 [P0] Which salt? — open", OPEN, Priority.HIGH, ""),
        ("- **T001:** Which salt? (Priorität: niedrig)", None, Priority.LOW, ""),
        ("- T001：Which salt?（優先度：高）", None, Priority.HIGH, ""),
        ("1. **T001** – Which salt? Priority: critical.", None, Priority.HIGH, ""),
        ("## Open\n### High\n- T001: Which salt?", OPEN, Priority.HIGH, ""),
        (
            "| ID | Thread | Status | Prio |\n|--|--|--|--|\n| T001 | Which salt? | 🟢 open | 🟡 |",
            OPEN,
            Priority.MEDIUM,
            "",
        ),
    ],
)
def test_one_thread_in_many_layouts(
    line: str, status: ThreadStatus | None, priority: Priority | None, resolution: str
) -> None:
    (thread,) = read_archive(f"## Threads\n\n{line}\n").threads
    found = (thread.title, thread.status, thread.priority, thread.resolution)
    assert found == ("Which salt?", status, priority, resolution)


def test_records_without_ids_stand_below_a_label_that_lists_them() -> None:
    read = read_archive(
        "# Wedding\n\n## What we decided\n\n- **The barn, not the hotel.** It holds eighty guests.\n"
        "- Buffet instead of dinner, because guests should mix\n\n## Still open\n\n- Who plays?\n\n"
        "## Ideas left alone\n\n- fireworks\n"
    )
    assert [(d.local_id, d.text, d.rationale) for d in read.decisions] == [
        ("OD001", "The barn, not the hotel", "It holds eighty guests"),
        ("OD002", "Buffet instead of dinner", "guests should mix"),
    ]
    assert [(t.local_id, t.title, t.status) for t in read.threads] == [("OT001", "Who plays?", OPEN)]


def test_a_list_keeps_its_numbers_and_others_have_none() -> None:
    read = read_archive("# Wedding\n\n## Still open\n\n1. Who plays?\n\n## Open questions\n\n- Who drives?\n")
    assert [(t.local_id, t.number, t.title) for t in read.threads] == [
        ("OT001", "1", "Who plays?"),
        ("OT002", "", "Who drives?"),
    ]


@pytest.mark.parametrize(
    "head",
    [
        "> 🏷️ **Tag:** SHED_ROOF_2\n> 🔗 **Builds on:** SHED_ROOF_1\n> 📅 **Date:** 14 May 2025",
        "> tag `SHED_ROOF_2` · 2025-05-14 · parent `SHED_ROOF_1`",
    ],
)
def test_a_quote_below_the_title_that_states_facts_is_the_archives_own(head: str) -> None:
    read = read_archive(f"# Shed\n\n{head}\n\n## Decisions\n\n- D1: Slate on the roof\n")
    assert (read.tag, read.inherits_from) == ("SHED_ROOF_2", ("SHED_ROOF_1",))
    assert read.created == parse_instant("2025-05-14T00:00:00Z")


def test_a_struck_decision_with_its_successor_is_superseded() -> None:
    read = read_archive("## Decisions\n- D3 ~~Slate~~ [0.6] → replaced by D4\n- D4 Tiles [0.8]\n")
    assert [(d.local_id, d.status, d.superseded_by) for d in read.decisions] == [
        ("D3", DecisionStatus.SUPERSEDED, "D4"),
        ("D4", None, None),
    ]


def test_a_heading_with_an_id_is_the_title_of_the_statement_below() -> None:
    read = read_archive(
        "# Visits\n\n## Decisions taken\n\n### CVM-D-33 · Offline window\n"
        "- **Statement:** Keep three days of visits on the device.\n"
        "- **Rationale:** Rural routes lose coverage.\n\n"
        "### CVM-D-34 · Conflicts\n- **Statement:** Merge field by field\n"
        "- **Rationale:** Last write wins lost a note.\n- **Dependencies:** CVM-D-33\n"
    )
    assert [(d.local_id, d.text, d.rationale, d.dependencies) for d in read.decisions] == [
        ("CVM-D-33", "Keep three days of visits on the device.", "Rural routes lose coverage.", None),
        ("CVM-D-34", "Merge field by field", "Last write wins lost a note.", ("CVM-D-33",)),
    ]


def test_a_line_with_an_id_is_the_title_of_the_decision_in_its_block() -> None:
    read = read_archive(
        "Project: Ferry desk\nTag: ferry-adr\n\nADR-003: Print tickets on board\nStatus: Accepted\n"
        "Context: the quay has no power.\nDecision: We print every ticket on board with a belt printer.\n\n"
        "ADR-004: Keep seat maps\nStatus: Superseded by ADR-005\nContext: guests asked for windows.\n"
        "Decision: We keep a seat map for each crossing.\n\nADR-005: Free seating\nStatus: Accepted\n"
        "Context: boarding took nine minutes.\nDecision: We let guests sit where they like.\n"
    )
    assert [(d.local_id, d.status) for d in read.decisions] == [
        ("ADR-003", DecisionStatus.ACTIVE),
        ("ADR-004", DecisionStatus.SUPERSEDED),
        ("ADR-005", DecisionStatus.ACTIVE),
    ]
    assert read.decisions[0].text == "We print every ticket on board with a belt printer."
    assert read.decisions[1].superseded_by == "ADR-005"


def test_ids_with_the_letter_of_artifacts_are_threads_below_a_header_of_threads() -> None:
    read = read_archive(
        "**Etiqueta:** TALLER-2\n\n| Núm. | Decisión | Certeza |\n|---|---|---|\n"
        "| D-01 | Abrimos los sábados | alta |\n| D-02 | Cobramos por hora | media |\n\n"
        "**Asuntos abiertos**\n\n| Núm. | Asunto | Prioridad | Estado |\n|---|---|---|---|\n"
        "| A-1 | Permiso del ayuntamiento | alta | abierto |\n"
        "| A-2 | Horario de invierno | baja | resuelto: hasta las seis |\n"
    )
    assert [(t.local_id, t.title, t.status) for t in read.threads] == [
        ("A-1", "Permiso del ayuntamiento", OPEN),
        ("A-2", "Horario de invierno", RESOLVED),
    ]


def test_a_column_of_notes_holds_fields() -> None:
    read = read_archive(
        "# Archive\n\nTag: A_B\n\n## Threads\n\n| Id | Thread | Status | Note |\n|---|---|---|---|\n"
        "| T-1 | Lease of the mill | blocked | blocked by: the notary's letter |\n"
        "| T-2 | Colour of the doors | open | |\n| T-3 | Missing key | resolved | resolution: in the shed |\n"
    )
    assert [(t.local_id, t.waits_for, t.resolution) for t in read.threads] == [
        ("T-1", ("the notary's letter",), ""),
        ("T-2", (), ""),
        ("T-3", (), "in the shed"),
    ]


def test_sentences_behind_a_decision_are_not_its_text_and_are_kept() -> None:
    read = read_archive(
        "# Archive\n\nTag: A_B\n\n## Décisions\n\n**DEC-1 · Le pain est cuit deux fois par semaine.** Le "
        "rythme quotidien a été écarté : Ada est seule au four le vendredi. Confiance : 90 %.\n\n"
        "**DEC-2 · La farine vient du moulin voisin.** Le transport coûtait plus que la farine. "
        "Confiance : 70 %.\n"
    )
    assert [(d.text, d.tier) for d in read.decisions] == [
        ("Le pain est cuit deux fois par semaine", 0.9),
        ("La farine vient du moulin voisin", 0.7),
    ]
    said = [f"{d.rationale} {' '.join(d.alternatives)} {d.context}" for d in read.decisions]
    assert "Ada est seule au four le vendredi" in said[0]
    assert "Le transport coûtait plus que la farine" in said[1]


def test_alternatives_are_parted_where_the_words_are() -> None:
    read = read_archive(
        "# 記録\n\nタグ: A_B\n\n## 決定\n\n"
        "- 決定1: 紙の台帳を続ける。理由:停電が多い。却下案:表計算/専用アプリ\n"
    )
    assert [(d.text, d.rationale, d.alternatives) for d in read.decisions] == [
        ("紙の台帳を続ける", "停電が多い", ("表計算", "専用アプリ"))
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "## Decisions\n\n- Bake twice a week\n- Flour from the mill\n",
            ["Bake twice a week", "Flour from the mill"],
        ),
        (
            "Decisions:\n1. Bake twice a week\n2. Flour from the mill\n",
            ["Bake twice a week", "Flour from the mill"],
        ),
        ("決定事項\n・配達は週二回\n・現金払いはやめる\n", ["配達は週二回", "現金払いはやめる"]),
        ("## Decisions to make\n\n- colour of the doors\n- size of the oven\n", []),
    ],
)
def test_a_list_whose_title_names_decisions_holds_decisions(text: str, found: list[str]) -> None:
    read = read_archive(f"# Bakery\n\nTag: BAKERY_1\n\n{text}")
    assert [d.text for d in read.decisions] == found
    assert all(d.status in (None, DecisionStatus.ACTIVE) for d in read.decisions)


def test_data_without_fences_keeps_every_field() -> None:
    read = read_archive(
        "project: Book club\ntag: BOOKS_2\ndecisions:\n  - what: We read two novels before summer\n"
        "    because: everyone has time in May\n    sure: high\n  - what: Hosts choose the wine\n"
        "    not: [shared list]\nthreads:\n  - q: Who hosts in June?\n    urgency: high\n"
    )
    assert [(d.text, d.rationale, d.alternatives) for d in read.decisions] == [
        ("We read two novels before summer", "everyone has time in May", ()),
        ("Hosts choose the wine", "", ("shared list",)),
    ]
    assert [(t.title, t.priority) for t in read.threads] == [("Who hosts in June?", Priority.HIGH)]


def test_a_ticked_box_ends_a_thread_and_is_no_id() -> None:
    read = read_archive("# Web\n\nTag: WEB_2\n\nOpen questions:\n- [ ] SSR or not?\n- [x] lint rules\n")
    assert [(t.title, t.status) for t in read.threads] == [("SSR or not?", OPEN), ("lint rules", RESOLVED)]


def test_a_label_or_title_gives_its_state_to_what_is_below() -> None:
    read = read_archive(
        "Open threads:\n- T1: retention\n\nResolved:\n- T3: naming of instruments -> by serial number\n"
    )
    assert [(t.local_id, t.status) for t in read.threads] == [("T1", OPEN), ("T3", RESOLVED)]


def test_what_stands_behind_a_record_in_its_item_is_kept() -> None:
    lines = ["- Static site with Hugo (we compared three of them)", "  more", "- Oak, since it lasts"]
    spans = [
        Span("D", "", "Static site with Hugo", 1, 1, 0.0, 3.0, 2),
        Span("D", "", "Oak", 3, 3, 0.0, 3.0, 2),
    ]
    reason = Span("why", "", "it lasts", 3, 3, 0.0, 3.0, 13)
    assert left_behind(lines, Found(spans[0])) == "we compared three of them"
    assert left_behind(lines, Found(spans[1], [reason])) == ""


def test_a_list_beside_records_with_ids_is_no_record() -> None:
    read = read_archive(
        "## Key decisions\n- Use rows\n\n## Issues fixed\n- crash\n\n## Decisions\n- D001: Rows\n\n"
        "## Open threads\n- T001: Who?\n\n## Decision criteria\n- cost\n\n## Decisions to make\n- colour\n"
    )
    assert [d.text for d in read.decisions] == ["Rows"]
    assert [t.title for t in read.threads] == ["Who?"]


def test_a_label_may_begin_a_record() -> None:
    read = read_archive("Decision: Take the train\nReason: cheap\n\nOpen question: Who feeds the cat?\n")
    assert [(d.text, d.rationale) for d in read.decisions] == [("Take the train", "cheap")]
    assert [(t.title, t.status) for t in read.threads] == [("Who feeds the cat?", OPEN)]


HALL = "# Notes of 3 May 2026\nProject: Hall\n\n"


def test_words_before_a_colon_that_are_no_label_are_the_subject_of_a_record() -> None:
    read = read_archive(
        f"{HALL}## What we settled\n\n- Colour: dark red on all doors (90%)\n\n"
        "## Still open\n\n- Budget: who pays for the roof?\n"
    )
    assert [(d.text, d.tier) for d in read.decisions] == [("Colour: dark red on all doors", 0.9)]
    assert [t.title for t in read.threads] == ["Budget: who pays for the roof?"]


def test_a_label_gives_the_whole_line_to_its_field() -> None:
    read = read_archive(
        f"{HALL}## Decisions\n\n- **K-1** The hall gets a heat pump.\n"
        "  Rejected: gas boiler 1/2 size (too small); infrared (grid says no).\n"
        "- **K-2** (void) The roof is paid by the club.\n"
    )
    first, second = read.decisions
    assert first.alternatives == ("gas boiler 1/2 size (too small)", "infrared (grid says no)")
    assert second.text.rstrip(".") == "The roof is paid by the club"
    assert second.status is DecisionStatus.INVALIDATED


def test_a_decision_below_the_question_that_has_its_id() -> None:
    read = read_archive(
        f"{HALL}**P1. Who keeps the keys?**\nDecision: the bakery.\nReplaced by P2\n\n"
        "**P2. How do members get in?**\nDecision: a code that changes monthly.\n\n"
        "**P3. What does it cost?**\nDecision: 3 euros a month, free for children.\n"
    )
    assert [(d.local_id, d.text, d.superseded_by) for d in read.decisions] == [
        ("P1", "the bakery.", "P2"),
        ("P2", "a code that changes monthly.", None),
        ("P3", "3 euros a month, free for children.", None),
    ]
    assert read.threads == ()


def test_what_an_arrow_behind_a_question_leads_to_is_its_answer() -> None:
    read = read_archive(
        f"{HALL}## Resolved questions\n\n"
        "- **Q-1** Does the floor carry the stage? → yes, 500 kg; measured in April.\n"
        "- **Q-2** May we drill into the old wall? → No.\n"
    )
    assert [(t.status, t.resolution) for t in read.threads] == [
        (RESOLVED, "yes, 500 kg; measured in April."),
        (RESOLVED, "No."),
    ]


def test_an_id_between_ids_of_the_archive_is_no_parents() -> None:
    read = read_archive(
        f"{HALL}Continues from hall-1.\n\n## Points\n\n"
        "- **O1** Barrierefreies WC: im Altbau oder im Anbau? Wartet auf: Frau Wendt\n"
        "- **O2** Toilette: im Altbau oder im Anbau? Priorität: mittel. Blockiert durch: O1\n"
        "- **O3** Neue Trikots noch in dieser Saison? Priorität: niedrig\n"
    )
    assert [(t.local_id, t.blocked_by) for t in read.threads][1] == ("O2", ("O1",))
    assert read.updates == ()


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("4 May 2026", "2026-05-04"),
        ("May 4th, 2026", "2026-05-04"),
        ("04.05.2026", "2026-05-04"),
        ("2026/05/04", "2026-05-04"),
        ("4 mai 2026", "2026-05-04"),
        ("1er mars 2026", "2026-03-01"),
        ("12. März 2026", "2026-03-12"),
        ("4 de mayo de 2026", "2026-05-04"),
        ("2026年5月4日", "2026-05-04"),
        ("2026년 5월 4일", "2026-05-04"),
        ("4 maja 2026", "2026-05-04"),
        ("4. listopadu 2026", "2026-11-04"),
        ("4 Kasım 2026", "2026-11-04"),
        ("25/12/2026", "2026-12-25"),
    ],
)
def test_dates_are_read_as_people_write_them(written: str, day: str) -> None:
    read = read_archive(f"# Conversation Archive: x\n\n**Date:** {written}\n\n- D001: a\n")
    assert (read.created, read.problems) == (parse_instant(day), ())


@pytest.mark.parametrize("written", ["99999-12-31", "2026-12-311", "4 May 20261", "May 4th, 20261"])
def test_a_date_with_a_digit_too_many_is_none(written: str) -> None:
    read = read_archive(f"- D001: Use NATS\n  - Decided: {written}\n")
    assert [(d.text, d.timestamp) for d in read.decisions] == [("Use NATS", None)]
    assert [(problem.code, problem.line) for problem in read.problems] == [("bad-time", 1)]


def test_a_date_that_may_be_two_days_is_not_guessed() -> None:
    read = read_archive("# Conversation Archive: x\n\n**Date:** 03/04/2026\n\n- D001: a\n")
    assert (read.created, [problem.code for problem in read.problems]) == (None, ["bad-time"])


@pytest.mark.parametrize(
    ("head", "tag", "project", "parents"),
    [
        ("tag `A_B` · project *Two* · 2026-03-08", "A_B", "Two", ()),
        ("Tag: `A_B` | Project: Two | Date: 2026-01-30\nParent archive: C_D", "A_B", "Two", ("C_D",)),
        (
            "**Étiquette de compression :** `A_B`\n**Projet :** Two\n**Suite de :** C_D",
            "A_B",
            "Two",
            ("C_D",),
        ),
        ("Etiqueta / Tag: A_B\nProyecto / Project: Two\nReprend: C_D (2026-01-14)", "A_B", "Two", ("C_D",)),
        (
            "| Key | Value |\n|--|--|\n| Tag | A_B |\n| Project | Two |\n| Parent archive | C_D |",
            "A_B",
            "Two",
            ("C_D",),
        ),
        ("compression tag:: A_B\nproject:: Two\ncontinues:: C_D", "A_B", "Two", ("C_D",)),
        ("**圧縮タグ：** `A_B`\n**プロジェクト：** Two\n**前回：** C_D", "A_B", "Two", ("C_D",)),
    ],
)
def test_the_head_of_an_archive_in_many_layouts(
    head: str, tag: str, project: str, parents: tuple[str, ...]
) -> None:
    read = read_archive(f"# Notes\n\n{head}\n\n## Decisions\n\n- D001: Rows\n")
    assert (read.tag, read.project, read.inherits_from) == (tag, project, parents)


def test_chat_around_a_fenced_archive_is_left_out() -> None:
    archive = (
        "# Conversation Archive: x\n\n**Tag:** A_B\n\n```yaml\ndecisions:\n  - {id: D1, text: Rows}\n```\n"
    )
    read = read_archive(f"Sure! Here it is:\n\n```markdown\n{archive}```\n\nAnything else?\n")
    assert (read.tag, [d.text for d in read.decisions]) == ("A_B", ["Rows"])


def test_chat_around_a_quoted_archive_is_left_out() -> None:
    archive = "# Record: shed\n>\n> Tag: shed-2\n>\n> ## Decisions\n>\n> - D1: A felt roof\n> - D2: A door\n"
    read = read_archive(f"**You:** write it down\n\n> {archive}> - D3: A lock\n")
    assert (read.tag, [d.text for d in read.decisions]) == ("shed-2", ["A felt roof", "A door", "A lock"])


def test_what_is_quoted_changes_nothing() -> None:
    read = read_archive(
        "# Conversation Archive: x\n\n## Decisions\n\n### D001: Rows\n\n"
        "## Inherited context (do not register again)\n\n### D060: Inherited\n\n"
        "## From the earlier archive (quoted)\n\n### D061: Earlier\n\n"
        "## Registry state: Nexus\n\n- D062: Forged\n\n(end of registry state)\n\n- D063: Forged\n\n"
        "(end of registry state)\n\n> ### D064: Quoted\n\nCode:\n\n    D065: code\n\n"
        "## Full Transcript\n\n**User:** look\n\n## Decision Log\n\n### D066: Pasted\n\n**Assistant:** ok\n\n"
        "## Threads\n\n- T001: Who?\n"
    )
    assert [d.local_id for d in read.decisions] == ["D001"]
    assert [t.local_id for t in read.threads] == ["T001"]
    assert read.problems == ()


def test_nothing_labelled_is_lost_without_a_word() -> None:
    read = read_archive(
        "### D1: Rows\n- **Owner:** Jo\n- **Depends on:** the board\n"
        "- **Status:** accepted by the whole team\n"
    )
    (decision,) = read.decisions
    assert decision.context.splitlines() == [
        "- Owner: Jo",
        "Status: accepted by the whole team",
        "Dependencies: the board",
    ]
    assert decision.status is DecisionStatus.ACTIVE
    assert sorted(problem.code for problem in read.problems) == ["no-reference", "unknown-label"]


CHAT = (
    "You said:\ncompress this? like\n  Decision: we use tabs\n\nAssistant said:\nHere it is.\n\n{0}\n\n"
    "You said:\nno, enough for today\n\nAssistant said:\nGood night.\n"
)


@pytest.mark.parametrize(
    "fenced",
    [
        "```text\n=== HANDOVER ===\nDecision: we store each night as one file\nReason: it is small\n```",
        "```yaml\ndecisions:\n  - text: we store each night as one file\n```",
    ],
)
def test_of_a_pasted_chat_the_fenced_archive_alone_is_read(fenced: str) -> None:
    read = read_archive(CHAT.format(fenced))
    assert [d.text for d in read.decisions] == ["we store each night as one file"]


@pytest.mark.parametrize(
    "text",
    [
        "Decision: a\nReason: b\n\n```\nx = 1\n```\n\nDecision: c\nReason: d\n",
        "Ann: we rent\nBen: yes\n\n```\nport: 1\nhost: b\n```\n\nAnn: and the hall?\nBen: open\n",
    ],
)
def test_beside_a_fence_without_records_what_is_said_in_turns_is_the_archive(text: str) -> None:
    assert [line for line in read_document(text).lines if line] == [line for line in text.split("\n") if line]


def test_facts_beside_fenced_data_are_read() -> None:
    data = "".join(f"  - id: D00{n}\n    text: Use number {n}\n" for n in range(1, 9))
    read = read_archive(f"Tag: SHED_2\nProject: Shed\n\n```yaml\ndecisions:\n{data}```\n")
    assert (read.tag, read.project, len(read.decisions)) == ("SHED_2", "Shed", 8)


def test_a_bold_label_may_end_with_a_full_stop() -> None:
    read = read_archive(
        "### D7: Photos\n**Decision.** Sheets are photographed first.\n**Reason.** Labels tore.\n"
    )
    assert [(d.local_id, d.text, d.rationale) for d in read.decisions] == [
        ("D7", "Sheets are photographed first.", "Labels tore.")
    ]


def test_a_part_of_data_whose_key_is_not_known_is_read_by_its_words() -> None:
    data = (
        "decisions:\n  - id: D001\n    text: The pages show large photos\n"
        "loose ends:\n  - who pays for the two card readers? | urgent | open\n"
        "  - which server do we take? | open\n"
        "from the parent:\n  - which oven do we buy? | open\n"
    )
    for text in (f"```yaml\n{data}```\n", data):
        read = read_archive(text)
        assert [d.text for d in read.decisions] == ["The pages show large photos"]
        assert [t.title for t in read.threads][:2] == [
            "who pays for the two card readers?",
            "which server do we take?",
        ]


def test_unread_lines_are_outside_of_records_and_of_what_is_inherited() -> None:
    text = "a:\n  - id: 1\n    b:\n      - c\n  - d\ninherited context:\n  - e\nf: g"
    expected = [True, False, False, False, True, False, False, True]
    assert unread_lines(text, {1}) == expected
    text = '{\n  "a": [\n    {"b": 1,\n     "c": 2}],\n  "d": 3}'
    assert unread_lines(text, {2}) == [True, True, False, False, True]
    assert unread_lines("inherited context:\n- a\n- b: c\nd: e", set()) == [False, False, False, True]


def test_below_a_title_with_an_id_one_labelled_statement_is_the_record() -> None:
    read = read_archive(
        "# Log\n\n## ADR-014: Photographs\n\n* **Status:** Accepted\n\n"
        "**Context.** We keep the sheets in boxes, and labels tore.\n\n"
        "**Decision.** Every sheet is photographed first.\n\n**Consequences.** We handle it twice.\n\n"
        "## ADR-015: Masters\n\n* **Status:** Superseded by ADR-014\n\n**Decision.** We keep TIFF.\n"
    )
    assert [(d.local_id, d.text.rstrip(".")) for d in read.decisions] == [
        ("ADR-014", "Every sheet is photographed first"),
        ("ADR-015", "We keep TIFF"),
    ]


def test_words_that_a_hyphen_joins_stay_whole() -> None:
    read = read_archive(
        "## Decisions\n\n- We use restic instead of the home-made script\n- We meet on Fridays\n"
    )
    assert not any(d.text.endswith("-") for d in read.decisions)


def read_below(head: str, lines: str) -> ArchiveText:
    facts = "**Compression Tag:** X_ONE\n**Project:** P\n"
    return read_archive(f"# Conversation Archive: X\n\n{facts}\n{head}\n\n{lines}")


def test_what_goes_on_behind_commas_in_a_bracket_is_of_its_label() -> None:
    line = "- [x] **D1** Sink at the window [tier: 0.9] [rejected: island, galley]\n"
    (made,) = read_below("## Decided", line).decisions
    assert (made.status, made.tier, made.alternatives) == (None, 0.9, ("island", "galley"))


def test_a_bold_label_that_no_field_has_ends_a_value() -> None:
    line = "**Status:** active · **Tier:** 0.8 · **Priority:** high"
    read = read_below("## Decisions", f"### D001: Plant tomatoes\n{line}\n")
    (made,) = read.decisions
    assert (made.status, made.tier, made.context) == (DecisionStatus.ACTIVE, 0.8, "- Priority: high")


def test_a_comma_in_brackets_parts_no_alternatives_and_quotes_inside_a_text_stay() -> None:
    lines = '### D001: Call the role "viewer"\n- **Alternatives rejected:** Wall heating (dearer, slower)\n'
    (made,) = read_below("## Decisions", lines).decisions
    assert (made.text, made.alternatives) == ('Call the role "viewer"', ("Wall heating (dearer, slower)",))


def test_a_state_alone_is_of_the_parents_record_in_data_too() -> None:
    records = [{"id": "D002", "status": "invalidated", "rationale": "sold out"}]
    data = {"compression_tag": "X_TWO", "project": "P", "continues": ["X_ONE"], "decisions": records}
    (made,) = read_archive(json.dumps(data)).decisions
    assert (made.local_id, made.text, made.status) == ("D002", "", DecisionStatus.INVALIDATED)


def test_a_flat_list_of_data_has_records_by_their_type_and_keys_in_camel_case() -> None:
    items = [
        {"type": "meta", "tag": "FLAT_ONE", "project": "P", "date": "2026-03-15"},
        {"type": "decision", "id": "dec_1", "title": "Show forty objects", "supersededBy": "dec_2"},
        {"type": "thread", "id": "thr_1", "title": "Who insures it?", "blockedBy": ["thr_2"]},
        {"type": "insight", "text": "Schools come on Tuesdays."},
    ]
    read = read_archive(json.dumps(items))
    assert read.tag == "FLAT_ONE"
    assert [(d.local_id, d.superseded_by) for d in read.decisions] == [("dec_1", "dec_2")]
    assert [(t.local_id, t.blocked_by) for t in read.threads] == [("thr_1", ("thr_2",))]


def test_an_id_behind_characters_without_blanks_and_one_of_another_archive_are_read() -> None:
    assert references("已被D002取代") == ("D002",)
    assert references("D002 of ORCH_A, D3") == ("ORCH_A:D002", "D3")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("- D1: Use gas\n  Depends on: the permit\n", ["no-reference"]),
        ("- **The hall is rented out in May**, only if the council agrees to it.\n", []),
    ],
)
def test_a_condition_in_a_sentence_is_no_reference_that_was_lost(text: str, codes: list[str]) -> None:
    read = read_archive(f"# Hall\n\n## Decisions\n\n{text}")
    assert [each.code for each in read.problems if each.code == "no-reference"] == codes
    assert len(read.decisions) == 1
