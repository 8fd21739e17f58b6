"""Text in, records out: layouts of archives by hands that the reader had not met."""

# ruff: noqa: RUF001 - other scripts are what is tested

from __future__ import annotations

from forgekit.archives.read import read_archive
from forgekit.model.entities import DecisionStatus, Priority


def test_a_label_of_titles_beside_a_title_gives_the_answer() -> None:
    text = "## Fils\n\n### FIL-02 : Analyse de l'eau\n- **Statut :** {}\n- **Issue :** eau potable\n"
    (ended,) = read_archive(text.format("r\u00e9solu")).threads
    assert (ended.title, ended.resolution) == ("Analyse de l'eau", "eau potable")
    (open_,) = read_archive(text.format("ouvert")).threads
    assert (open_.title, open_.resolution, open_.content) == ("Analyse de l'eau", "", "eau potable")


def test_a_label_of_several_words_is_the_field_that_its_first_names() -> None:
    text = (
        "## Decisions\n\n- **D1. Use oak**\n  - **Epistemic status:** established (0.93)\n"
        "  - **Reasoning chain:**\n    - Steel shakes.\n    - Oak does not.\n"
        "  - **Alternatives considered and why not:**\n    - Damped steel: dampers need replacing\n"
    )
    (read,) = read_archive(text).decisions
    assert (read.text, read.tier, read.rationale) == ("Use oak", 0.93, "Steel shakes.\nOak does not.")
    assert read.alternatives == ("Damped steel: dampers need replacing",)


def test_data_may_name_a_decision_by_a_verb_and_part_a_label_from_its_state() -> None:
    text = '{"tag": "tw#2", "decisions": [{"n": 1, "decided": "Use feet", "status": "superseded", "by": 2}, '
    text += '{"n": 2, "decided": "Ask the phone", "reason": "half switched", "needs": [1]}]}'
    read = read_archive(f"```json\n{text}\n```\n").decisions
    assert [(d.local_id, d.text, d.superseded_by) for d in read] == [
        ("1", "Use feet", "2"),
        ("2", "Ask the phone", None),
    ]


def test_tags_have_letters_of_any_script_and_colons() -> None:
    read = read_archive(
        "# Archive\n\nTag: m\u00fcsli-\u0442\u0435\u0430:4\n"
        "Parents: m\u00fcsli-\u0442\u0435\u0430/2, frame-oak:3\n"
    )
    assert (read.tag, read.inherits_from) == (
        "m\u00fcsli-\u0442\u0435\u0430:4",
        ("m\u00fcsli-\u0442\u0435\u0430/2", "frame-oak:3"),
    )


def test_priorities_may_be_the_letters_a_b_and_c() -> None:
    text = "## Threads\n\n- **T1** (OPEN, prio A) Which paint?\n- **T2** (CLOSED, prio C) Name. Answer: Ida\n"
    read = read_archive(text).threads
    assert [(t.title, t.priority and t.priority.value) for t in read] == [
        ("Which paint?", "high"),
        ("Name", "low"),
    ]


def test_the_words_before_a_tier_in_brackets_are_no_alternative() -> None:
    text = (
        "## Decisions\n\n* **K5** Buy the wheels from a wheelbarrow maker.\n  * Because: they are cheap\n"
        "  * Over: robotics wheels; casting our own\n  * Epistemic: plausible (0.6)\n"
        "* **K6** Steer by camera.\n  * Because: it is light\n"
        "  * Over: beacons\n  * Epistemic: plausible (0.65)\n"
    )
    read = read_archive(text).decisions
    assert [(d.tier, d.alternatives) for d in read] == [
        (0.6, ("robotics wheels", "casting our own")),
        (0.65, ("beacons",)),
    ]


def test_an_id_may_have_a_second_part_behind_a_point() -> None:
    text = (
        "## Topic 1\n\n#### Decision 1.A: Record while walking\n- **Dependencies:** none\n"
        "- **Rejected alternatives:** none discussed\n\n#### Decision 1.B: Keep it short\n"
        "- **Dependencies:** Decision 1.A\n- **Confidence:** 0.7\n\n#### D2.1: Cut no breath\n"
        "- **Dependencies:** D2.2\n\n"
        "#### D2.2: Use two microphones\n- **Confidence:** 0.8\n"
    )
    read = read_archive(text).decisions
    assert [(d.local_id, d.text, d.dependencies or (), d.alternatives or ()) for d in read] == [
        ("Decision 1.A", "Record while walking", (), ()),
        ("Decision 1.B", "Keep it short", ("Decision 1.A",), ()),
        ("D2.1", "Cut no breath", ("D2.2",), ()),
        ("D2.2", "Use two microphones", (), ()),
    ]


def test_no_artifact_between_ruled_titles_is_a_thread() -> None:
    text = "-- THREADS --\nT-1 | Where to buy trees | OPEN | prio: high\n\n"
    text += "-- ARTIFACTS --\nA-1 | bed plan 2027\n"
    assert [t.local_id for t in read_archive(text).threads] == ["T-1"]


def test_a_record_given_as_an_example_is_none() -> None:
    text = (
        "## Decisions\n\nD-1 | Grow a hedge | Needs: - | ACTIVE\nD-2 | Dig no more | Needs: D-1 | ACTIVE\n\n"
    )
    text += "## Resume\n\nAppend what is new in the same form, for example:\nD-99 | text of it | Needs: ids\n"
    read = read_archive(f"# Archive\n\nContinues: hedge-1\n\n{text}").decisions
    assert [(d.local_id, d.dependencies) for d in read] == [("D-1", ()), ("D-2", ("D-1",))]


def test_a_section_at_the_end_may_state_the_facts_of_the_archive() -> None:
    text = (
        "# Conversation Archive: Oak\n\n## Decisions\n\n- **D1** Use oak\n\n## Lineage\n\n"
        "- **This archive:** oak-4\n- **Parents:** oak-2, oak-3\n- **Compressed:** 2026-10-25\n"
    )
    read = read_archive(text)
    assert (read.tag, read.inherits_from) == ("oak-4", ("oak-2", "oak-3"))
    assert read.created == read_archive("# Archive\n\n**Date:** 2026-10-25\n").created


def test_emphasis_behind_the_fields_of_a_line_gives_the_state() -> None:
    text = "## Decisions\n\n**D3: Lose weight** \u00b7 **Why:** the joint \u00b7 "
    text += "**Depends on:** none \u00b7 *Rejected after a talk*\n"
    (read,) = read_archive(text).decisions
    assert (read.text, read.status, read.dependencies) == ("Lose weight", DecisionStatus.INVALIDATED, ())


def test_words_behind_the_fields_of_a_line_are_kept() -> None:
    text = "## Decisions\n\n- **D3: Lose weight** \u00b7 **Why:** the joint \u00b7 "
    text += "**Depends on:** none \u00b7 *Measured by Ana in May*\n"
    (read,) = read_archive(text).decisions
    assert (read.text, read.rationale, read.context) == (
        "Lose weight",
        "the joint",
        "Dependencies: none; Measured by Ana in May",
    )


def test_no_rating_is_behind_the_label_of_a_state() -> None:
    text = "## Нити\n\n**Н1. Сигнализация на складе**\nСтатус: заблокирована. Приоритет: высокий.\n"
    (read,) = read_archive(text).threads
    assert read.priority is Priority.HIGH


def test_a_label_that_lines_share_is_one_and_may_name_earlier_decisions() -> None:
    text = "DECISIONS\n\n"
    for number, linked in ((1, ""), (2, "Linked: D1.\n"), (3, "Linked: D1, D2.\n"), (4, "Linked: D2.\n")):
        text += f"[D{number}] (in force)\nBake wave {number}.\n"
        text += f"Basis: it is fresh.\nPassed over: one wave.\n{linked}\n"
    read = read_archive(text).decisions
    assert [(d.rationale, d.dependencies or ()) for d in read] == [
        ("it is fresh.", ()),
        ("it is fresh.", ("D1",)),
        ("it is fresh.", ("D1", "D2")),
        ("it is fresh.", ("D2",)),
    ]


def test_the_name_of_a_project_does_not_end_within_quotes() -> None:
    text = '# Project Bakery "Crumb & Co." night shift\n\nMETA\ntag = crumb-nightshift-r2\n'
    text += "date = 2026-08-19\n\n"
    text += "DECISIONS\n\n[D1] (in force)\nStart the rye sour at 14:00 so that it peaks at night.\n"
    assert read_archive(text).project == 'Bakery "Crumb & Co." night shift'


def test_a_row_without_a_head_has_words_and_fields_between_bars() -> None:
    text = (
        "## Decisions\n\nD1 | Use oak | 0.9 | active | light and dry | -\n"
        "D2 | Use pegs | 0.4 | replaced by D3 | strong | D1\n"
        "D3 | Use glue | 0.7 | active | quick | D1, D2\n\n## Threads\n\n"
        "T1 | Who calls | open | high |\nT2 | Ramp | blocked | low | T1\n"
    )
    read = read_archive(text)
    assert [(d.text, d.tier, d.superseded_by, d.dependencies or ()) for d in read.decisions] == [
        ("Use oak", 0.9, None, ()),
        ("Use pegs", 0.4, "D3", ("D1",)),
        ("Use glue", 0.7, None, ("D1", "D2")),
    ]
    assert [(t.title, t.priority and t.priority.value, t.blocked_by or ()) for t in read.threads] == [
        ("Who calls", "high", ()),
        ("Ramp", "low", ("T1",)),
    ]


def test_what_is_now_is_the_state_of_a_record_of_data() -> None:
    text = "decisions:\n  D1:\n    what: Use oak\n"
    text += "  D2:\n    what: Use pegs\n    why: strong\n    now: replaced by D1\n"
    read = read_archive(f"```yaml\ntag: OAK_7\n{text}```\n").decisions
    assert [(d.text, d.superseded_by) for d in read] == [("Use oak", None), ("Use pegs", "D1")]


def test_every_line_with_an_id_of_a_series_below_a_title_of_threads_is_one() -> None:
    text = (
        "[HILOS]\n(H1) \u00bfQui\u00e9n llama? | abierto | prioridad A\n"
        "(H2) Andamio | bloqueado por H1 | prioridad B\n"
        "(H3) \u00bfD\u00f3nde van los murci\u00e9lagos? | resuelto: se trabaja en marzo | prioridad C\n\n"
        "[EJEMPLO PARA ENTRADAS]\n(H9) Texto del hilo | abierto\n"
    )
    read = read_archive(text).threads
    assert [(t.local_id, t.title, t.priority and t.priority.value) for t in read] == [
        ("H1", "\u00bfQui\u00e9n llama?", "high"),
        ("H2", "Andamio", "medium"),
        ("H3", "\u00bfD\u00f3nde van los murci\u00e9lagos?", "low"),
    ]
    assert (read[1].blocked_by, read[2].resolution) == (("H1",), "se trabaja en marzo")


def test_an_alternative_keeps_its_reason_in_brackets() -> None:
    text = (
        "## Decisiones\n\n"
        "(D1) [alta] Usar roble. Descartado: pino (blando), alerce (rojo). Estado: vigente\n"
        "(D2) [media] Usar clavijas. Descartado: pernos. Depende de: D1.\n"
    )
    assert read_archive(text).decisions[0].alternatives == ("pino (blando)", "alerce (rojo)")
