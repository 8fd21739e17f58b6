"""The loop on the sample archives: what filing, carrying and asking must come to in a real repository."""

from __future__ import annotations

import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import files, git, new_repository

from forgekit import decisions, threads
from forgekit.archives import tagged
from forgekit.archives.read import ImportOptions, read_archive
from forgekit.archives.spans import Span
from forgekit.briefing.answers import ask
from forgekit.briefing.blocks import prepare_compression, prepare_continuation
from forgekit.context import context_load
from forgekit.decisions import decision_search, decision_stale
from forgekit.errors import ArchiveError, UsageError
from forgekit.filing import review
from forgekit.filing.archive_facts import facts
from forgekit.filing.archives import Coverage, Incoming, SyncReport, sync_compression
from forgekit.forge import Forge
from forgekit.insight.staleness import Ages
from forgekit.lineage import bridge, lineage_bridge, lineage_trace
from forgekit.model.archive_record import ArchiveText
from forgekit.model.entities import Decision, Lineage, Thread, ThreadStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.threads import thread_active
from forgekit.times import parse_instant
from forgekit.upkeep.init_migrate import SAMPLES as SAMPLES_FOLDER

SAMPLES = sorted(SAMPLES_FOLDER.glob("*.md"))
NOW = parse_instant("2026-09-20T09:00:00Z")


def opened(root: Path) -> Forge:
    return replace(Forge.open(root), now=lambda: NOW)


def file(forge: Forge, *paths: Path) -> SyncReport:
    return sync_compression(
        forge, [Incoming(path=path, options=ImportOptions(), name=path.name) for path in paths]
    )


def paste(forge: Forge, text: str, **options: str) -> SyncReport:
    return sync_compression(
        forge,
        [Incoming(data=text.encode(), options=ImportOptions(**options))],  # type: ignore[arg-type] # names
    )


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = new_repository(tmp_path_factory.mktemp("template") / "repo")
    file(opened(root), *SAMPLES)
    return root


@pytest.fixture
def filed(template: Path, tmp_path: Path) -> Forge:
    shutil.copytree(template, tmp_path / "filed")
    return opened(tmp_path / "filed")


def test_an_archive_that_is_given_twice_is_new_once(repository: Path) -> None:
    report = file(opened(repository), SAMPLES[3], SAMPLES[3])
    assert [item.new for item in report.filed] == [True, False]


def test_filing_an_archive_twice_makes_no_commit_and_changes_no_byte(filed: Forge) -> None:
    tip, before = git(filed.root, "rev-parse", "HEAD"), files(filed.root)
    report = file(filed, SAMPLES[3])
    assert report.outcome.commit is None
    assert (git(filed.root, "rev-parse", "HEAD"), files(filed.root)) == (tip, before)
    assert [item.new for item in report.filed] == [False]


def test_what_a_text_said_to_another_reader_is_read_anew(
    filed: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    archives = filed.registry().archives
    before = facts(filed.catalogue, archives)
    monkeypatch.setattr("forgekit.archives.read.read_archive", lambda *_: ArchiveText(title="read anew"))
    assert facts(filed.catalogue, archives) == before
    monkeypatch.setattr("forgekit.archives.READER_VERSION", "another one")
    assert {text.title for _, text in facts(filed.catalogue, archives)} == {"read anew"}


@pytest.mark.parametrize("seed", range(4))
def test_any_order_and_any_split_into_commands_give_the_same_files(
    filed: Forge, tmp_path: Path, seed: int
) -> None:
    other = opened(new_repository(tmp_path / "other"))
    order = list(SAMPLES)
    chance = random.Random(seed)  # noqa: S311 - a seeded order, no secret
    chance.shuffle(order)
    while order:
        several = chance.randint(1, len(order))
        file(other, *order[:several])
        del order[:several]
    assert files(other.root) == files(filed.root)
    assert git(other.root, "status", "--porcelain") == ""


def test_a_thread_resolved_later_stays_resolved_and_the_old_tag_says_so(filed: Forge) -> None:
    (thread,) = [t for t in filed.registry().threads if t.title == "Who reviews the prerequisite edges?"]
    assert thread.status is ThreadStatus.RESOLVED
    block = prepare_continuation(filed, "TRELLIS_CURRICULUM_GRAPH").text
    assert (
        f"- T002 thr_{thread.id[-12:]}: “Who reviews the prerequisite edges?” is RESOLVED since 2026-07-14"
        in block
    )


def test_a_continuation_says_nothing_that_the_archive_says_itself(repository: Path) -> None:
    forge = opened(repository)

    def saved(tag: str, day: int, old: str, threads: str, decisions: str) -> str:
        return (
            f"# Conversation Archive: {tag}\n\n## Metadata\n- Project: Ledger\n"
            f"- Created: 2026-01-{day:02}T10:00:00Z\n- Compressed Turn Range: all\n- Primary Topic: {tag}\n"
            f"- Last Compressed Tag: {tag}\n- Prior Compression Chain: [{old}]\n\n"
            f"## Decision Log\n\n```yaml\ndecisions:\n{decisions}```\n\n"
            f"## Thread Log\n\n```yaml\nthreads:\n{threads}```\n"
        )

    queue = "  - id: T001\n    title: Which queue?\n    status: {}\n    resolution: NATS\n"
    keep = "  - id: D001\n    decision: Keep one table\n    tier: 0.8\n"
    split = "  - id: D002\n    decision: Split the table by year\n    tier: 0.8\n    supersedes: D001\n"
    paste(forge, saved("ONE", 1, "", queue.format("open"), keep))
    paste(forge, saved("TWO", 2, "ONE", queue.format("resolved"), keep + split))
    paste(
        forge, saved("THREE", 3, "TWO", queue.format("resolved"), split.replace("    supersedes: D001\n", ""))
    )
    carried = "inherited_context:\n  carried_decisions:\n    - id: D001\n      decision: Keep one table\n"
    text = saved("FOUR", 2, "ONE", queue.format("open"), split.replace("by year", "by month"))
    paste(forge, f"{text}\n## Inherited Context\n\n```yaml\n{carried}```\n")
    told = {
        tag: prepare_continuation(forge, tag).data()["overtaken"] for tag in ("ONE", "TWO", "THREE", "FOUR")
    }
    shown = {tag: [item["local_id"] for item in found] for tag, found in told.items()}  # type: ignore[attr-defined] # JSON
    assert shown == {"ONE": ["D001", "T001"], "TWO": [], "THREE": [], "FOUR": ["T001"]}


def test_a_partial_compression_ages_nothing_else(repository: Path) -> None:
    forge = opened(repository)
    partial = next(path for path in SAMPLES if "classrooms" in path.name)
    file(forge, *(path for path in SAMPLES if path not in (partial, SAMPLES[-1])))
    before = _ages(forge)
    carried = {entity for _, entity in file(forge, partial).filed[0].archive.records}
    after = _ages(forge)
    assert {key: after[key] for key in before if key not in carried} == {
        key: age for key, age in before.items() if key not in carried
    }


def _ages(forge: Forge) -> dict[str, object]:
    registry = forge.registry()
    ages = Ages(registry)
    return {decision.id: ages.age(decision) for decision in registry.decisions}


def test_a_speculative_decision_keeps_its_tier_and_stays_out_of_the_continuation(filed: Forge) -> None:
    (guess,) = [d for d in filed.registry().decisions if d.epistemic_tier == 0.15]
    block = prepare_continuation(filed, "TRELLIS_CURRICULUM_GRAPH")
    assert guess.decision not in block.text
    assert block.data()["speculative_left_out"] == 1
    assert guess.decision in prepare_compression(filed, "Trellis").text


def test_classes_become_tiers_and_keep_their_token(filed: Forge) -> None:
    classes = {(d.tier_token, d.epistemic_tier) for d in filed.registry().decisions if d.tier_token}
    assert classes
    assert classes <= {("1", 0.9), ("2", 0.5), ("3", 0.1)}


def test_what_people_changed_stands_against_an_archive_that_says_nothing_new(repository: Path) -> None:
    forge = opened(repository)
    file(forge, SAMPLES[3])
    (thread,) = [t for t in forge.registry().threads if t.title.startswith("Do lessons have to work")]
    threads.update(forge, thread.id, ThreadStatus.ABANDONED, resolution="Nobody asked for it")
    threads.update(forge, thread.id, title="Do lessons work offline?")
    file(forge, *SAMPLES)
    kept = forge.registry().expect(Thread, thread.id)
    assert (kept.status, kept.title) == (ThreadStatus.ABANDONED, "Do lessons work offline?")


def test_edits_go_along_when_a_parent_comes_and_takes_the_identity(repository: Path) -> None:
    forge = opened(repository)
    child, parent = SAMPLES[4], SAMPLES[3]
    file(forge, child)
    text = "Design the curriculum as a graph of skills with prerequisites"
    (early,) = [d for d in forge.registry().decisions if d.decision == text]
    decisions.edit(forge, early.id, tags=["mine"])
    file(forge, parent)
    (late,) = [d for d in forge.registry().decisions if d.decision == text]
    assert late.id != early.id
    assert "mine" in late.tags
    assert not (repository / "registry" / "decisions" / "x").exists()
    assert git(repository, "status", "--porcelain") == ""


def test_a_damaged_archive_names_each_id_and_writes_nothing(repository: Path) -> None:
    forge = opened(repository)
    before = git(repository, "rev-parse", "HEAD")
    with pytest.raises(ArchiveError) as caught:
        paste(forge, "# Notes\n\nD001 was about keys.\nT002 is still there.\n", project="Ledger")
    assert str(caught.value) == (
        "archive: the text has ids, but no record could be read\n  line 3: D001\n  line 4: T002"
    )
    assert (git(repository, "rev-parse", "HEAD"), files(repository)) == (before, {})


def test_an_archive_of_the_same_conversation_time_and_turns_with_another_text_is_refused(
    filed: Forge,
) -> None:
    text = SAMPLES[3].read_text(encoding="utf-8").replace("graph of skills", "tree of skills")
    with pytest.raises(ArchiveError, match="is already filed for this conversation, time and turns"):
        paste(filed, text)


def test_an_archive_of_another_tag_with_the_same_title_and_time_is_told_apart(repository: Path) -> None:
    forge = opened(repository)
    text = "# Conversation Archive\nProject: Beta\nTag: {}\nDate: 2026-06-01\n\n## Decisions\n- D1: {}\n"
    [first] = paste(forge, text.format("budget-1", "Spend 100 euros on paint")).filed
    other = text.format("hiring-1", "Hire two welders")
    with pytest.raises(ArchiveError) as caught:
        paste(forge, other)
    assert str(caught.value) == (
        f"{short_id(Kind.ARCHIVE, first.archive.id)} (budget-1) has the title, time and turns of hiring-1; "
        "--title gives this one's conversation a name of its own, --replace puts it in the other's place"
    )
    assert paste(forge, other, title="Hiring").filed[0].new


def test_what_is_given_of_a_filed_archive_is_not_dropped(repository: Path) -> None:
    forge, text = opened(repository), "# Queues\n\n## Decisions\n\n- D001: Use NATS for the bus\n"
    given = {"tag": "QUEUES", "inherits_from": ("STORAGE",), "external_id": "some-uuid"}

    def filing(**options: object) -> SyncReport:
        told = ImportOptions(project="Ledger", at=NOW, title="Queues", **options)  # type: ignore[arg-type] # names
        return sync_compression(forge, [Incoming(data=text.encode(), options=told)])

    (filed,) = filing().filed
    with pytest.raises(ArchiveError) as caught:
        filing(**given)
    short = short_id(Kind.ARCHIVE, filed.archive.id)
    assert str(caught.value) == (
        f"{short} is already filed with another tag and parent and external id, and filing it again changes "
        "nothing; --replace files it anew, and `forgekit lineage new` joins a parent"
    )
    git(repository, "revert", "--no-edit", "HEAD")
    assert filing(**given).outcome.commit
    assert filing(**given).outcome.commit is None
    assert filing().outcome.commit is None


def test_the_functions_of_the_seed_answer_on_the_samples(filed: Forge) -> None:
    chain = lineage_trace("5b0c8a52-6f0e-4c1b-9d57-2e94c6f3a7d1", forge=filed)
    assert [edge["compression_tag"] for edge in chain] == [
        "TRELLIS_CURRICULUM_GRAPH",
        "TRELLIS_PLACEMENT_CHOSEN",
        "TRELLIS_CLASSROOMS_BRIDGE",
    ]
    assert len(str(chain[0]["source_conversation_id"])) == 36
    waiting = thread_active(forge=filed)
    assert {thread["status"] for thread in waiting} == {"open"}
    priorities = [str(thread["priority"]) for thread in waiting]
    assert priorities == sorted(priorities, key=["high", "medium", "low"].index)
    found = decision_search("authentication approach", forge=filed)
    assert found[0]["decision"] == "Authenticate partners with OAuth 2.1 authorization code and PKCE"
    assert {"epistemic_tier", "project_name", "rationale", "dependents"} <= found[0].keys()
    stale = decision_stale(days=30, forge=filed)
    assert stale
    assert all(float(str(d["epistemic_tier"])) <= 0.7 for d in stale)
    text = str(context_load("curriculum design", cross_project=True, forge=filed)["context_text"])
    assert "Design the curriculum as a graph of skills with prerequisites" in text
    talks = {c.session_id: c.id for c in filed.registry().conversations}
    crossed = lineage_bridge(talks["trellis-curriculum-graph"], talks["trellis-pilot"], forge=filed)
    graph, lesson, redraw, old, new = (
        "dec_5f41b0bfcafb",
        "dec_d9e329eca63d",
        "dec_2963e3452990",
        "dec_339bd30ce2ec",
        "dec_b81925cecf3a",
    )
    assert (crossed["decisions_carried"], crossed["decisions_dropped"]) == ([graph, lesson], [redraw])
    assert crossed["decisions_revised"] == {old: new}
    counts = "3 hops: 2 decisions carried, 1 decision dropped, 1 decision revised, 3 threads ended, "
    counts += "10 records new."
    assert str(crossed["bridge_summary"]).partition("\n")[0] == counts


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Why did we decide to offer the public API as REST?", "caches and gateways understand it"),
        ("What were the alternatives for the curriculum graph?", "chapters in textbook order"),
        ("Show earlier version of the mastery rule", "three correct answers over two days"),
        ("What did we discuss about webhooks?", "webhook"),
        ("Expand on D005", "Place new learners with an adaptive test"),
        ("What was in the TRELLIS_PLACEMENT_CHOSEN compression?", "D005 dec_"),
        ("Show what I inherited from TRELLIS_PLACEMENT_CHOSEN", "carried into con_"),
        ("What turns cover placement?", "Turn 1 - Turn 13"),
    ],
)
def test_the_eight_retrieval_commands_are_answered_with_their_source(
    filed: Forge, question: str, answer: str
) -> None:
    given = ask(filed, question)
    assert given.found
    assert answer in given.text
    assert f"## Retrieved Context: {question}" in given.text
    assert "**Source:** " in given.text


def test_a_question_without_an_answer_says_so(filed: Forge) -> None:
    given = ask(filed, "Why did we decide on zeppelins?")
    assert not given.found
    assert "Nothing in the registry answers this." in given.text


def test_a_block_keeps_to_its_budget_and_says_what_it_cut(filed: Forge) -> None:
    from forgekit.text.words import tokens

    block = prepare_compression(filed, "Trellis", budget=900)
    assert tokens(block.text) <= 900
    assert block.cut
    assert f"\n\n{block.cut}\n\n" in block.text


def test_every_budget_is_kept_or_refused_with_the_least_that_works(filed: Forge) -> None:
    from forgekit.archives.logs import parse_machine_block
    from forgekit.text.words import tokens

    with pytest.raises(UsageError) as refused:
        prepare_continuation(filed, "TRELLIS_PLACEMENT_CHOSEN", budget=100)
    least = int(re.findall(r"\d+", str(refused.value))[1])
    message = f"100 tokens do not hold the first rows of the block; ask for --budget {least} or more"
    assert str(refused.value) == message
    with pytest.raises(UsageError):
        prepare_continuation(filed, "TRELLIS_PLACEMENT_CHOSEN", budget=least - 1)
    for budget in (least, least + 150, least + 400, least + 700, 4000):
        block = prepare_continuation(filed, "TRELLIS_PLACEMENT_CHOSEN", budget=budget)
        assert tokens(block.text) <= budget
        (names,) = parse_machine_block(block.text)
        shown = block.text.partition("### Active Threads")[2].partition("(end of")[0]
        listed = re.findall(r"^(?:- |\| )((?:\w+ )?(?:dec|thr)_\w{12})(?::| \(| \|)", shown, re.MULTILINE)
        assert listed == [
            f"{record.id} {record.entity}".lstrip() for record in (*names.threads, *names.decisions)
        ]
    assert block.cut == ""


def test_a_bridge_counts_what_ended_on_the_way_though_its_end_names_it_not(repository: Path) -> None:
    forge = opened(repository)
    head = "# Conversation Archive: {0}\n\n**Compression Tag:** T_{0}\n**Date:** {1}\n{2}\n## Decisions\n\n"
    told = (
        ("ONE", "2026-03-01", "", "### D1: Keep all readings\n### D2: Store in SQLite\n"),
        (
            *("TWO", "2026-03-02", "**Continues:** T_ONE\n"),
            "### D1: Keep all readings\n- Status: withdrawn\n### D3: Store in DuckDB\n- Supersedes: D2\n",
        ),
        ("THREE", "2026-03-03", "**Continues:** T_TWO\n", "### D4: Use Grafana\n"),
    )
    for tag, day, parent, records in told:
        paste(forge, head.format(tag, day, parent) + records, project="Nexus")
    talks = {a.compression_tag: a.conversation_id for a in forge.registry().archives}
    found = bridge(forge.registry(), talks["T_ONE"], talks["T_THREE"])
    names = {d.id: d.decision for d in forge.registry().decisions}
    assert [names[key] for key in found.dropped] == ["Keep all readings"]
    assert [(names[a], names[b]) for a, b in found.revised] == [("Store in SQLite", "Store in DuckDB")]
    assert found.carried == ()


def test_what_was_reopened_since_is_said(repository: Path) -> None:
    forge = opened(repository)
    head = "# Conversation Archive: {0}\n\n- **Created:** {1}\n- **Last Compressed Tag:** {0}\n\n"
    ended = f"{head.format('ENDED', '2026-03-05')}### T001: Who pays?\n- **Status:** RESOLVED\n"
    again = f"{head.format('AGAIN', '2026-03-09')}### T001: Who pays?\n- **Status:** REOPENED\n"
    paste(forge, ended, project="Nexus")
    paste(forge, again, project="Nexus")
    block = prepare_continuation(forge, "ENDED")
    changed = block.text.partition("### Changed Since This Archive (1)\n\n")[2].partition("\n\n")[0]
    (thread,) = forge.registry().threads
    short = short_id(Kind.THREAD, thread.id)
    assert changed == f"- T001 {short}: “Who pays?” is OPEN again since 2026-03-09"


def test_a_section_is_shown_where_it_stands_whatever_signs_are_above_it(repository: Path) -> None:
    forge = opened(repository)
    above = "One\u2028two\x0cthree\x85four.\n\n"
    paste(forge, f"# Conversation Archive: x\n\n{above}### D001: a\n\n## Naming\n\nBirds.\n", project="Nexus")
    given = ask(forge, "Expand on naming")
    assert "    Birds.\n" in given.text
    assert "lines 8-10" in given.text


def test_every_entity_filed_is_valid_and_carries_a_decision_record(filed: Forge) -> None:
    from forgekit.checks import check

    registry = filed.registry()
    assert registry.problems == ()
    errors = [p for p in check(registry, None) if p.severity.value == "error"]
    assert errors == []
    assert sum(isinstance(entity, Decision) for entity in registry) >= 15


def transcript(path: Path, *, compacted: bool) -> Path:
    """Write a small transcript of a coding agent."""
    session = "5b0c8a52-6f0e-4c1b-9d57-2e94c6f3a7d1"
    common = {"sessionId": session, "cwd": "/home/dev/ledger", "version": "2.1.0", "isSidechain": False}
    talk = {"type": "user", "uuid": "u1", "timestamp": "2026-03-01T10:00:00.000Z", **common}
    lines = [{**talk, "message": {"role": "user", "content": "Let us begin"}}]
    if compacted:
        at = "2026-03-01T12:00:00.000Z"
        boundary = {"trigger": "auto", "preTokens": 150000}
        summary = (
            "This session is being continued from a previous conversation that ran out of context.\n\n"
            "Summary:\n1. Primary Request and Intent:\n   Build the ledger.\n\n"
            "7. Pending Tasks:\n   - Write the export of refunds\n"
        )
        lines += [
            {"type": "system", "subtype": "compact_boundary", "uuid": "u2", "timestamp": at, **common}
            | {"compactMetadata": boundary},
            {"type": "user", "uuid": "u3", "parentUuid": "u2", "isCompactSummary": True, "timestamp": at}
            | {**common, "message": {"role": "user", "content": summary}},
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_transcript_is_filed_and_one_without_a_compaction_is_passed_over(
    repository: Path, tmp_path: Path
) -> None:
    forge = opened(repository)
    full = transcript(tmp_path / "full.jsonl", compacted=True)
    empty = transcript(tmp_path / "empty.jsonl", compacted=False)

    def given(*paths: Path) -> list[Incoming]:
        return [
            Incoming(path=path, options=ImportOptions(project="Ledger"), name=path.name) for path in paths
        ]

    message = "empty.jsonl is a transcript in which nothing was compacted; there is nothing to file"
    with pytest.raises(ArchiveError) as caught:
        sync_compression(forge, given(empty))
    assert str(caught.value) == message
    report = sync_compression(forge, given(empty, full))
    assert report.passed_over == (message,)
    (filed_one,) = report.filed
    assert filed_one.archive.compression_tag == "CLAUDE_CODE_5b0c8a52_1"
    assert filed_one.archive.compressed_at == parse_instant("2026-03-01T12:00:00Z")
    assert forge.registry().threads == []
    assert sync_compression(forge, given(empty, full)).outcome.commit is None


@pytest.mark.parametrize("from_path", [True, False])
def test_a_transcript_is_known_though_its_first_record_is_long(
    repository: Path, tmp_path: Path, *, from_path: bool
) -> None:
    path = transcript(tmp_path / "full.jsonl", compacted=True)
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    long = json.dumps({"attachments": "wide " * 10_000, **json.loads(first)})
    path.write_text("\n".join([long, *rest]), encoding="utf-8")
    given = {"path": path} if from_path else {"data": path.read_bytes()}
    report = sync_compression(
        opened(repository),
        [Incoming(options=ImportOptions(project="Ledger"), **given)],
    )
    assert [item.archive.compression_tag for item in report.filed] == ["CLAUDE_CODE_5b0c8a52_1"]


def compressed(tag: str, day: str, records: str, parent: str = "none") -> str:
    return (
        f"# Conversation Archive: {tag}\n\n## Metadata\n- Project: Ledger\n- Created: {day}T10:00:00Z\n"
        f"- Turns: 20\n- Last Compressed Tag: {tag}\n- Previous Session: {parent}\n\n{records}"
    )


def test_an_archive_repeats_what_people_registered(repository: Path) -> None:
    forge = opened(repository)
    rest = "## Decision Log\n### D001: Use REST for partners\n"
    paste(forge, compressed("ONE_DONE", "2026-03-01", rest))
    decisions.create(forge, "Use Ed25519 for signatures", tier=0.8)
    threads.create(forge, "Who pays for the module?")
    threads.update(forge, "Who pays for the module?", ThreadStatus.RESOLVED, resolution="Nobody.")
    block = prepare_compression(forge, "Ledger").text
    more = "### D002: Use Ed25519 for signatures\n\n## Threads\n### T001: Who pays for the module?\n"
    report = paste(forge, compressed("TWO_DONE", "2026-12-02", f"{rest}{more}\n{block}", "ONE_DONE"))
    registry = forge.registry()
    assert sorted(d.decision for d in registry.decisions) == [
        "Use Ed25519 for signatures",
        "Use REST for partners",
    ]
    [thread] = registry.threads
    assert (thread.status, thread.resolution) == (ThreadStatus.RESOLVED, "Nobody.")
    assert [name for name, _ in report.filed[0].overruled] == ["T001"]
    assert report.conflicts == ()


@pytest.mark.parametrize("local_id", ["D002", "D003"])
def test_an_archive_repeats_the_successor_that_a_person_made(repository: Path, local_id: str) -> None:
    forge = opened(repository)
    paste(
        forge, compressed("ONE_DONE", "2026-03-01", "## Decision Log\n### D002: Keep sessions for one hour\n")
    )
    [old] = forge.registry().decisions
    successor = decisions.revise(forge, old.id, "Keep sessions for two hours").entity
    record = f"## Decision Log\n### {local_id}: Keep sessions for two hours\n- **Source:** inherited\n"
    text = compressed("TWO_DONE", "2026-12-02", record, "ONE_DONE")
    report = paste(forge, text)
    assert report.filed[0].archive.records == ((local_id, successor.id),)
    assert len(forge.registry().decisions) == 2
    assert forge.registry().expect(Decision, successor.id).last_validated == parse_instant(
        "2026-12-02T10:00:00Z"
    )


@pytest.mark.parametrize("form", ["\r\n", "no end", "blank"])
def test_line_ends_and_blank_lines_around_an_archive_make_no_other_text(repository: Path, form: str) -> None:
    forge = opened(repository)
    text = compressed("ONE_DONE", "2026-03-01", "## Decision Log\n### D001: Use REST for partners\n")
    paste(forge, text)
    forms = {"\r\n": text.replace("\n", "\r\n"), "no end": text.rstrip(), "blank": f"\n\n{text}\n\n"}
    assert paste(forge, forms[form]).outcome.commit is None


def test_the_lines_that_a_block_prints_come_back_as_what_they_name(filed: Forge) -> None:
    text = (
        "# Conversation Archive: after the pilot\n\n**Project:** Trellis\n**Date:** 2026-09-20\n"
        "**Compression Tag:** `TRELLIS_AFTER_PILOT`\n**Inherited From:** TRELLIS_PILOT_READY\n\n"
        "- dec_5f41b0bfcafb (tier 0.9): Design the curriculum as a graph of skills with prerequisites\n"
        "- D003 dec_d9e329eca63d (tier 0.75): One lesson takes at most twelve minutes\n"
        "- D012: Run a second pilot in spring\n"
        "- thr_ad29cacee06d: Who may see a learner's answers after the pilot? [RESOLVED]\n"
    )
    report = paste(filed, text)
    assert [e.title for e in report.created if isinstance(e, (Decision, Thread))] == [
        "Run a second pilot in spring"
    ]
    assert [(e.title, e.status) for e in report.changed if isinstance(e, Thread)] == [
        ("Who may see a learner's answers after the pilot?", ThreadStatus.RESOLVED)
    ]
    assert (report.filed[0].decisions, report.filed[0].problems) == (3, ())
    (edge,) = [e for e in report.created if isinstance(e, Lineage)]
    assert [local for local, _ in edge.compressions[0].decisions_carried] == ["D001", "D003"]
    block = prepare_continuation(filed, "TRELLIS_AFTER_PILOT").text
    assert "\n- dec_5f41b0bfcafb (tier 0.9): “Design the curriculum" in block
    told = ask(filed, "What was in the TRELLIS_AFTER_PILOT compression?").text
    assert "\n- dec_5f41b0bfcafb: Design the curriculum" in told


def test_what_filing_brings_up_in_an_earlier_archive_is_told(repository: Path) -> None:
    forge = opened(repository)
    text = "# Conversation Archive: {0}\n\n**Project:** Nexus\n**Date:** 2026-08-0{1}\n**Tag:** {0}\n"
    one = text.format("RING_ONE", 1) + "**Inherited From:** RING_TWO\n\n- D001: Use NATS\n"
    two = text.format("RING_TWO", 2) + "**Inherited From:** RING_ONE\n\n- D002: Use Protobuf\n"
    paste(forge, one)
    report = paste(forge, two)
    (problem,) = report.filed[0].problems
    assert str(problem) == (
        "in RING_ONE: RING_ONE continues RING_TWO, which closes a cycle; this reference was left out "
        "(remove one of the references)"
    )


def test_the_template_is_an_archive_that_is_read_without_a_remark() -> None:
    from forgekit.archives.read import read_archive
    from forgekit.briefing.template import template

    text = read_archive(template("archive"))
    assert text.problems == ()
    assert (text.tag, text.project, text.inherits_from) == (
        "SENSOR_PROTOCOL_CHOSEN",
        "Sensors",
        ("SENSOR_STUDY_RESULT",),
    )
    (decision,) = text.decisions
    assert (decision.local_id, decision.tier, decision.alternatives, decision.dependencies) == (
        "D001",
        0.8,
        ("AMQP", "polling over HTTP"),
        ("dec_0123456789ab",),
    )
    assert [(t.local_id, t.status, t.blocked_by, t.resolution) for t in text.threads] == [
        ("T001", ThreadStatus.OPEN, None, ""),
        ("T002", ThreadStatus.RESOLVED, ("T001",), "the operations budget"),
    ]
    assert [artifact.name for artifact in text.artifacts] == ["broker.conf"]


def test_an_archive_that_names_every_id_of_a_block_carries_everything(filed: Forge) -> None:
    block = prepare_compression(filed, "Trellis").text
    rows = re.findall(r"^(?:- |\| )(?:dec|thr)_.*$", block.partition("### Cross-Project")[0], re.MULTILINE)
    lines = [
        row if row.startswith("-") else "- {}: {}".format(*row.split(" | ")).replace("| ", "") for row in rows
    ]
    head = "# Conversation Archive: all\n\n**Project:** Trellis\n**Date:** 2026-09-20\n**Tag:** ALL_OF_IT\n"
    report = paste(filed, f"{head}**Continues:** TRELLIS_PILOT_READY\n\n" + "\n".join(lines))
    assert [e for e in report.created if isinstance(e, (Decision, Thread))] == []
    (archive,) = report.filed
    assert archive.problems == ()
    in_force = [d for d in filed.registry().decisions if not d.status.ended and d.project_name == "Trellis"]
    assert archive.decisions == len(in_force) == len([line for line in lines if "dec_" in line[:8]])
    assert "### How To Write The Archive" in block
    assert "### How To Write" not in prepare_compression(filed, "Trellis", instructions=False).text


def test_one_archive_that_cannot_be_read_stops_no_other(repository: Path) -> None:
    forge = opened(repository)
    good = compressed("ONE_DONE", "2026-03-01", "## Decision Log\n### D001: Use REST for partners\n")
    incoming = [
        Incoming(options=ImportOptions(project="Nexus"), data=text.encode(), name=name)
        for name, text in (("bad.md", "Hello there"), ("good.md", good))
    ]
    report = sync_compression(forge, incoming)
    assert [filed.archive.compression_tag for filed in report.filed] == ["ONE_DONE"]
    assert [str(error) for error in report.refused] == [
        "bad.md does not look like an archive: no record, tag or session in it"
    ]
    assert [decision.title for decision in forge.registry().decisions] == ["Use REST for partners"]


def test_a_corrected_text_takes_the_place_of_the_filed_one_when_that_is_asked_for(repository: Path) -> None:
    forge = opened(repository)
    first = compressed("ONE_DONE", "2026-03-01", "## Decision Log\n### D001: Use REST\n### D002: Use gRPC\n")
    second = first.replace("Use REST", "Use REST for partners").replace("### D002: Use gRPC\n", "")
    paste(forge, first)
    with pytest.raises(ArchiveError, match="with another text; --replace puts this one in its place"):
        paste(forge, second)
    incoming = [Incoming(options=ImportOptions(), data=second.encode())]
    (filed,) = sync_compression(forge, incoming, replace_filed=True).filed
    assert filed.new
    registry = forge.registry()
    assert [decision.title for decision in registry.decisions] == ["Use REST for partners"]
    assert [archive.body for archive in registry.archives] == [second]


def test_what_was_read_is_counted_and_strict_refuses_what_was_not(repository: Path) -> None:
    forge = opened(repository)
    head = compressed("ONE_DONE", "2026-03-01", "## Decision Log\n")
    fields = "- **Tier:** 0.8\n- **Rationale:** Partners ask.\n- **Depends on:** D009\n"
    text = f"{head}### D001: Use REST\n{fields}"
    incoming = [Incoming(options=ImportOptions(project="Nexus"), data=text.encode(), name="one.md")]
    with pytest.raises(ArchiveError, match=r"one.md: not everything was read, and --strict asks for it"):
        sync_compression(forge, incoming, strict=True)
    (filed,) = sync_compression(forge, incoming).filed
    assert filed.lost
    assert filed.coverage == (1, 2, 3)


def test_every_record_with_an_id_is_counted_however_that_is_written() -> None:
    text = "### D001: Six\n\nBeside this D044 and T099.\n\n### D0: zero\n### D001a: letter\n"
    text += "### \uff24\uff10\uff10\uff17\uff1a\u5168\n"
    assert Coverage.of(read_archive(compressed("ONE_DONE", "2026-03-01", text))) == (4, 6, 1)


def test_running_text_that_is_not_sure_enough_waits_for_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsure = Span("D", "active", "the gate stays shut", 3, 3, 0.0, 0.25)
    monkeypatch.setattr(tagged, "spans_of", lambda *_: [unsure])
    forge = opened(new_repository(tmp_path / "repo"))
    text = "# Conversation Archive: goats\n\nPerhaps the gate stays shut.\n"
    report = paste(forge, text, project="Farm", tag="GOATS_1")
    (item,) = review.waiting(forge)
    assert (item.candidate.candidate, item.candidate.turn) == ("the gate stays shut", 0)
    assert item.candidate.why == "read out of the text of GOATS_1, line 3"
    assert list(forge.registry().decisions) == []
    assert paste(forge, text, project="Farm", tag="GOATS_1").outcome.commit is None
    review.answer(forge, review.Answers(approve=frozenset([item.candidate.id])))
    (decision,) = forge.registry().decisions
    assert decision.conversation_ids == (report.filed[0].archive.conversation_id,)
    assert "Perhaps the gate stays shut." in decision.body
    assert paste(forge, text, project="Farm", tag="GOATS_1").outcome.commit is None
