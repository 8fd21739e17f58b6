"""What answers and blocks say stands: no decision that ended, no text that changed, no other project."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import new_repository

from forgekit import context, decisions, lineage, threads
from forgekit.archives.read import ImportOptions
from forgekit.briefing.answers import AnswerBlock, ask
from forgekit.briefing.blocks import prepare_compression, prepare_continuation
from forgekit.change import write
from forgekit.errors import UsageError
from forgekit.filing.archives import Incoming, sync_compression
from forgekit.forge import Forge
from forgekit.ids import pair_id
from forgekit.model.entities import Conflict, Decision, ThreadStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.text.blocks import brief
from forgekit.text.words import tokens
from forgekit.times import format_date, parse_instant
from forgekit.upkeep.export import export
from forgekit.upkeep.init_migrate import SAMPLES as SAMPLES_FOLDER

SAMPLES = sorted(SAMPLES_FOLDER.glob("*.md"))
OLD = "A skill counts as mastered after three correct answers over two days"
NEW = "A skill counts as mastered after five correct answers over seven days"

LIMIT, REST = "Limit each partner to ten requests a second", "Offer the public API as REST resources"


def opened(root: Path) -> Forge:
    return replace(Forge.open(root), now=lambda: parse_instant("2026-09-20T09:00:00Z"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = new_repository(tmp_path_factory.mktemp("template") / "repo")
    sync_compression(opened(root), [Incoming(path=p, options=ImportOptions(), name=p.name) for p in SAMPLES])
    return root


@pytest.fixture
def filed(template: Path, tmp_path: Path) -> Forge:
    shutil.copytree(template, tmp_path / "filed")
    return opened(tmp_path / "filed")


def decision(forge: Forge, text: str) -> Decision:
    (found,) = [d for d in forge.registry().decisions if d.decision == text]
    return found


def short(entity: Decision) -> str:
    return short_id(Kind.DECISION, entity.id)


def told(answer: AnswerBlock) -> list[str]:
    return answer.text.splitlines()


def test_a_decision_that_ended_stands_in_no_place(filed: Forge) -> None:
    old, new = decision(filed, OLD), decision(filed, NEW)
    line = f"- D002 {short(old)}: “{OLD}” is REVISED; in its place: "
    block = prepare_continuation(filed, "TRELLIS_PLACEMENT_CHOSEN")
    assert f"{line}{short(new)} (tier 0.8) “{NEW}”" in block.text.splitlines()
    decisions.invalidate(filed, new.id, "Nobody waits that long")
    nothing = f"nothing; {short(new)}, which followed, was invalidated"
    block = prepare_continuation(filed, "TRELLIS_PLACEMENT_CHOSEN")
    assert f"{line}{nothing}" in block.text.splitlines()
    overtaken = block.data()["overtaken"]
    assert isinstance(overtaken, list)
    assert [o["superseded_by"] for o in overtaken if o["local_id"] == "D002"] == [None]
    assert f"- In its place now: {nothing}" in told(ask(filed, f"Why did we decide {OLD}?"))


def test_a_decision_that_was_revised_twice_names_what_came_between(filed: Forge) -> None:
    old, new = decision(filed, OLD), decision(filed, NEW)
    last = decisions.revise(filed, new.id, "A skill counts as mastered after ten correct answers").entity
    assert isinstance(last, Decision)
    way = f"by way of {short(new)} “{brief(NEW, 60)}”"
    block = prepare_continuation(filed, "TRELLIS_PLACEMENT_CHOSEN")
    line = f"- D002 {short(old)}: “{OLD}” is REVISED; in its place: "
    assert f"{line}{short(last)} (tier 0.8) “{last.decision}”, {way}" in block.text.splitlines()
    answer = told(ask(filed, f"Why did we decide {OLD}?"))
    assert f"- In its place now: {short(last)}: {last.decision}, {way}" in answer


def test_blocks_count_as_stale_what_the_settings_say(filed: Forge) -> None:
    settings = filed.root / "forgekit.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + "stale_max_tier = 0.4\n", encoding="utf-8")
    forge = opened(filed.root)
    assert "1 of 12 stale" in prepare_compression(forge, "Trellis").text
    assert "1 of 12 stale" in prepare_continuation(forge, "TRELLIS_PLACEMENT_CHOSEN").text


@pytest.mark.parametrize("fresh", [True, False])
def test_an_archive_is_read_as_its_text_stands_whatever_hash_it_claims(filed: Forge, *, fresh: bool) -> None:
    shed, curriculum = "What turns cover sheds?", "What turns cover the shape of the curriculum?"
    (archive,) = [a for a in filed.registry().archives if a.compression_tag == "TRELLIS_CURRICULUM_GRAPH"]
    (path,) = filed.root.glob(f"archives/*/{archive.id}.md")
    if not fresh:
        assert (ask(filed, curriculum).found, ask(filed, shed).found) == (True, False)
    text = path.read_text(encoding="utf-8")
    changed = text.replace("| 1-12 | Shape of the curriculum | D001 |", "| 1-12 | Garden sheds | |")
    assert changed != text
    path.write_text(changed, encoding="utf-8")
    line = "- Turn 1 - Turn 12: Garden sheds (TRELLIS_CURRICULUM_GRAPH)"
    assert line in told(ask(opened(filed.root), shed))
    path.write_text(text, encoding="utf-8")
    assert (ask(filed, curriculum).found, ask(filed, shed).found) == (True, False)


def test_an_answer_stays_in_the_project_that_is_asked_about(repository: Path) -> None:
    forge = opened(repository)
    decisions.create(forge, "Encrypt backups with age", project="Quay")
    decisions.create(forge, "Encrypt backups with age", rationale="It is short.", project="Pier")
    foreign = decisions.create(forge, "Rotate keys monthly", project="Quay").entity
    for question in ("Why did we decide {}?", "Expand on {}", "What were the alternatives for {}?"):
        for name in ("Rotate keys monthly", foreign.id):
            answer = ask(forge, question.format(name), "Pier")
            assert (answer.found, answer.data["ids"]) == (False, [])
        answer = ask(forge, question.format("Encrypt backups with age"), "Pier")
        assert told(answer)[-1] == "**Scope:** Pier"


def test_a_name_of_several_is_explained_for_each(filed: Forge) -> None:
    answer = ask(filed, "Why did we decide D001?")
    ids = answer.data["ids"]
    assert isinstance(ids, list)
    assert len(ids) == 2
    (first, second) = (filed.registry().get(key) for key in ids)
    assert {getattr(e, "project_name", "") for e in (first, second)} == {"Harbor", "Trellis"}
    for question in ("Why did we decide D001?", "Expand on D001", "What were the alternatives for D001?"):
        lines = told(ask(filed, question))
        assert lines[-1] == "**Scope:** Harbor, Trellis"
        assert not [line for line in lines if line.startswith("**Transcript Reference:**")]
    forge = filed
    for project in ("Harbor", "Trellis"):
        decisions.create(forge, "Keep logs for a year", project=project)
    assert told(ask(forge, "Why did we decide to keep logs for a year?"))[-1] == "**Scope:** Harbor, Trellis"


def test_earlier_versions_are_all_that_gave_way(repository: Path) -> None:
    forge = opened(repository)
    texts = ("Use REST", "Use gRPC", "Use SOAP", "Use GraphQL")
    a, older, b, successor = (decisions.create(forge, text, project="Nexus").entity for text in texts)
    for name, by in ((a, successor), (older, b), (b, successor)):
        decisions.supersede(forge, name.id, by.id)
    shown = [line for line in told(ask(forge, "Show earlier version of Use GraphQL")) if line[:4] == "dec_"]
    assert [line.partition(": ")[2].partition(" (")[0] for line in shown] in (
        ["Use gRPC", "Use REST", "Use SOAP", "Use GraphQL"],
        ["Use gRPC", "Use SOAP", "Use REST", "Use GraphQL"],
    )


def test_earlier_versions_of_an_artifact_keep_their_indents(repository: Path) -> None:
    path = repository.parent / "query.md"
    path.write_text(
        "# Conversation Archive: q\n\n**Tag:** QUERY_KEPT\n**Project:** Nexus\n**Date:** 2026-07-01\n\n"
        "## Artifacts\n\n### A001: count.py\n\n```python\ndef count(rows):\n\treturn len(rows)\n```\n\n"
        "```yaml\nartifacts:\n  - id: A002\n    name: query.sql\n    versions:\n      - version: 3\n"
        "        status: final\n        content: |\n          SELECT 2\n            FROM b;\n```\n"
    )
    forge = opened(repository)
    sync_compression(forge, [Incoming(path=path, options=ImportOptions(), name=path.name)])
    assert told(ask(forge, "Show earlier version of count.py"))[2:6] == [
        "A001 count.py (artifact)",
        "- version 1",
        "      def count(rows):",
        "          return len(rows)",
    ]
    assert told(ask(forge, "Show earlier version of query.sql"))[3:6] == [
        "- version 3 (final)",
        "      SELECT 2",
        "        FROM b;",
    ]


@pytest.mark.parametrize(
    "question",
    [
        "Why did we choose Postgres over MySQL?",
        "Why do we use Kubernetes instead of Nomad?",
        "Why did we choose tabs rather than spaces?",
        "What were the alternatives for the database?",
    ],
)
def test_a_word_in_common_makes_no_answer(filed: Forge, question: str) -> None:
    given = ask(filed, question)
    assert given.text == f"## Retrieved Context: {question}\n\nNothing in the registry answers this.\n"
    assert (given.found, given.data["ids"]) == (False, [])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Warum ist der Himmel blau?", "Nothing in the registry answers this."),
        ("Was kostet ein neues Auto?", "Nothing in the registry is clearly about this; the nearest are:"),
        ("Wie wird der Mitgliedsbeitrag eingezogen?", "- dec_"),
        ("空はなぜ青いのですか", "Nothing in the registry answers this."),
        ("屋台は誰が担当しますか", "- dec_"),
        ("Où est la gare ?", "Nothing in the registry answers this."),
    ],
)
def test_function_words_of_no_language_make_an_answer(repository: Path, question: str, answer: str) -> None:
    forge = opened(repository)
    texts = (
        "Der Mitgliedsbeitrag wird per Lastschrift eingezogen, und ein neues Mitglied zahlt was es kann",
        "Der Werkraum ist für alle offen",
        "焼きそばの屋台は青年部が担当する",
        "地元の青大豆を使う",
    )
    for text in texts:
        decisions.create(forge, text, project="Verein")
    given = ask(forge, question)
    assert given.text.splitlines()[2].startswith(answer)
    assert given.found is bool(given.data["found"]) is answer.startswith("- ")


def test_a_word_of_hex_digits_is_no_id(filed: Forge) -> None:
    known = decision(filed, NEW)
    for digits in (known.id[-12:-8], known.id[:5], known.id[-6:]):
        assert not ask(filed, f"Why did we choose {digits}?").found
    for name in (short(known), short(known)[:9], known.id, "TRELLIS_SPACED_PRACTICE:D007", NEW):
        assert ask(filed, f"Why did we choose {name}?").data["ids"] == [known.id]


def test_a_thread_that_ended_blocks_nothing(repository: Path) -> None:
    forge = opened(repository)
    first, second = (threads.create(forge, t, project="Nexus").entity for t in ("Who pays?", "When?"))
    waiting = threads.create(forge, "Ship it", project="Nexus", blocked_by=[first.id, second.id]).entity
    threads.update(forge, first.id, ThreadStatus.RESOLVED, resolution="We do")
    name, blocker = (short_id(Kind.THREAD, entity.id) for entity in (waiting, second))
    assert (
        f"- {name}: “Ship it” (medium, blocked by {blocker}) [by hand, "
        in prepare_compression(forge, "Nexus").text
    )
    threads.update(forge, second.id, ThreadStatus.RESOLVED, resolution="Now")
    assert f"- {name}: “Ship it” (medium) [by hand, " in prepare_compression(forge, "Nexus").text


def test_a_context_keeps_to_its_budget_whatever_is_asked(filed: Forge) -> None:
    query = "how do learners find the next lesson " * 200
    for budget in (200, 300, 1000):
        assert tokens(context.load(filed, query, budget=budget).text) <= budget
    head = context.load(filed, query, budget=4000).text.partition("\n")[0]
    assert head == f"## Context: {query[:199]}…"
    with pytest.raises(UsageError) as refused:
        context.load(filed, query, budget=20)
    assert str(refused.value).startswith(
        "20 tokens do not hold the first rows of the block; ask for --budget "
    )


def test_what_stands_is_read_from_the_registry(filed: Forge) -> None:
    assert told(ask(filed, "What are the open threads?", "Harbor")) == [
        "## Retrieved Context: What are the open threads?",
        "",
        "- thr_153154ae060a: Where do partners register their applications? [OPEN] (high)",
        "- thr_9fc644a63e42: How long are parked webhooks kept? [OPEN] (medium)",
        "- thr_6cd4d091b946: Which scope does the curriculum design tool of Trellis ask for? [OPEN] (low)",
        "- thr_17b1c4b42229: How do partners learn that a limit changed? [OPEN] (low)",
        "",
        "**Source:** `forgekit thread list --status open`",
        "**Scope:** Harbor",
    ]
    named = told(ask(filed, "What threads are open in harbor?"))
    assert [line for line in named if "thr_" in line] == [
        line for line in told(ask(filed, "What are the open threads?", "Harbor")) if "thr_" in line
    ]
    assert told(ask(filed, "which questions are open about webhooks"))[2:] == [
        "- thr_9fc644a63e42: How long are parked webhooks kept? [OPEN] (medium)",
        "",
        "**Source:** `forgekit thread list --status open`",
        "**Scope:** Harbor",
    ]
    new = decision(filed, NEW)
    shown = told(ask(filed, "Which decisions are in force?"))
    assert f"- {short(new)}: {NEW} (tier 0.8, active, decided 2026-07-14)" in shown
    assert shown[-1] == "**Scope:** Harbor, Trellis"
    assert len([line for line in shown if line.startswith("- dec_")]) == 21
    assert not [line for line in shown if OLD in line]


def test_where_nothing_stands_nothing_is_answered(repository: Path) -> None:
    forge = opened(repository)
    decisions.create(forge, "Use REST", project="Nexus")
    assert not ask(forge, "What are the open questions?", "Nexus").found


def test_why_a_decision_went_out_of_force_is_said_with_the_day(filed: Forge) -> None:
    cursors, limit = (decision(filed, text) for text in ("Page long lists with opaque cursors", LIMIT))
    decisions.invalidate(filed, cursors.id, "Exports of long lists broke")
    decisions.supersede(filed, limit.id, decision(filed, REST).id, reason="Gateways count")
    (commit,) = filed.store.repository.log(limit=1)
    day, rest = format_date(commit.time), f"{short(decision(filed, REST))} (tier 0.85) “{REST}”"
    decisions.edit(filed, cursors.id, tags=["api"])
    lines = prepare_continuation(filed, "HARBOR_REST_RESOURCES").text.splitlines()
    assert (
        f"- D005 {short(cursors)}: “Page long lists with opaque cursors” is INVALIDATED since {day}: "
        "Exports of long lists broke"
    ) in lines
    assert (
        f"- D007 {short(limit)}: “{LIMIT}” is SUPERSEDED since {day}: Gateways count; in its place: {rest}"
    ) in lines
    shown = told(ask(filed, "Why did we choose opaque cursors?"))
    assert shown[3:5] == [
        f"- Invalidated since {day}: Exports of long lists broke",
        "- Because: Rows move while a partner pages; an offset skips some and repeats others.",
    ]
    assert f"- Superseded since {day}: Gateways count" in told(ask(filed, f"Why did we decide {LIMIT}?"))
    exported = export(filed.registry(), "markdown")
    assert (
        "an offset skips some and repeats others. — invalidated: Exports of long lists broke"
        " — Rejected: page numbers (skips rows when a list changes) — Builds on: "
    ) in exported


def test_an_answer_lists_the_active_decision_before_the_revised_one_and_no_conflict_unasked(
    repository: Path,
) -> None:
    forge = opened(repository)
    old = decisions.create(forge, "Store rows of the ledger in files", project="Ledger").entity
    new = decisions.revise(forge, old.id, "Store rows of the ledger in tables").entity
    other = decisions.create(forge, "Store no rows of the ledger", project="Ledger").entity
    low, high = sorted((new.id, other.id))
    verdict = Conflict(
        conflict_id=pair_id(low, high),
        decision_a=low,
        decision_b=high,
        nature="rows of the ledger",
        detected_at=forge.now(),
    )
    write(forge, lambda _: [verdict], "conflict record")
    found = [str(key) for key in ask(forge, "rows of the ledger").data["ids"]]  # type: ignore[attr-defined] # JSON
    assert found.index(new.id) < found.index(old.id)
    assert found[-1] == old.id
    assert verdict.id not in found
    asked = ask(forge, "which decisions contradict: rows of the ledger").data["ids"]
    assert verdict.id in asked  # type: ignore[operator] # JSON
    why = ask(forge, "Why did we store rows of the ledger in files?").text
    assert why.index("in tables (tier") < why.index("in files (tier")


def test_what_rejects_a_choice_is_no_reason_for_it_and_is_named_when_that_is_asked(filed: Forge) -> None:
    why = ask(filed, "Why did we choose REST?").text
    assert REST in why
    assert "GraphQL API instead of REST" not in why
    assert "- Rejected: GraphQL" in ask(filed, "Why did we reject gRPC?").text


def test_what_a_decision_says_it_does_not_choose_is_rejected_by_it(repository: Path) -> None:
    forge = opened(repository)
    text = "Use Procrastinate, not Celery with Redis"
    made = decisions.create(forge, text, rationale="No second store.", project="Jobs").entity
    stays = decisions.create(forge, "Marble is out because of the lemons", project="Kitchen").entity
    for asked in ("Why did we not choose Celery with Redis?", "Why did we reject Celery?"):
        assert ask(forge, asked).data["ids"] == [made.id]
    assert ask(forge, "Why did we reject marble?").data["ids"] == [stays.id]


@pytest.fixture
def kitchen(repository: Path) -> tuple[Forge, Decision]:
    """Register what a reviewed candidate of a conversation became."""
    forge = opened(repository)
    at = parse_instant("2026-03-09T10:00:00Z")
    talk = lineage.new_conversation(forge, "Kitchen plans", project="Home", at=at).entity
    said = "Turn 5: ok, we go with quartz"
    made = decisions.create(forge, "Go with quartz", context=said, conversation=talk.id).entity
    assert isinstance(made, Decision)
    return forge, made


def test_the_conversation_and_the_turn_of_a_decision_are_cited(kitchen: tuple[Forge, Decision]) -> None:
    forge, made = kitchen
    talk = short_id(Kind.CONVERSATION, made.conversation_ids[0])
    source, turn, _ = told(ask(forge, "Why did we choose quartz?"))[-3:]
    assert source.startswith(f"**Source:** conversation Kitchen plans ({talk}, 2026-03-09), turn 5; commit ")
    assert turn == "**Transcript Reference:** Turn 5"


def test_when_something_was_decided_is_said_first(kitchen: tuple[Forge, Decision]) -> None:
    forge, made = kitchen
    talk = short_id(Kind.CONVERSATION, made.conversation_ids[0])
    first, second = told(ask(forge, "When did we choose quartz?"))[2:4]
    assert first == f"Decided 2026-03-09 in Kitchen plans ({talk}), turn 5:"
    assert second.startswith(f"{short(made)}: Go with quartz")


def test_why_shows_the_sections_that_are_no_field(repository: Path) -> None:
    forge = opened(repository)
    made = decisions.create(forge, "Keep backups in Falkenstein", project="Ledger").entity
    body = "### Rationale\n\nNear us.\n\n## Begruendung\n\nBillig."
    write(forge, lambda _: [replace(made, body=body)], "edit")
    assert told(ask(forge, "Why did we decide to keep backups in Falkenstein?"))[3:6] == [
        "- No rationale was recorded.",
        "- Also written: ### Rationale Near us.",
        "- Begruendung: Billig.",
    ]


def test_what_changed_since_a_day_is_told_in_order(filed: Forge) -> None:
    lines = told(ask(filed, "What changed in Trellis since July 2026?"))
    events = [line.split(" ", 3)[1:3] for line in lines if line.startswith("- ")]
    assert events == sorted(events, key=lambda event: event[0])
    assert {what for _, what in events} >= {"decided:", "revised:", "opened:"}
    assert min(day for day, _ in events) >= "2026-07-01"
    nothing = "- Nothing was decided, ended, opened or closed since 2026-09-19."
    assert nothing in told(ask(filed, "What changed in Trellis since 19 September 2026?"))
