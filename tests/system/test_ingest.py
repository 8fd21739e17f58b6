"""Conversations filed: once, in any order, in two clones; lineage, candidates, kept texts, secrets."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_runner import Cli
from planted_secrets import planted, seeded
from repositories import files, git, in_turn, new_repository

from forgekit import threads
from forgekit.archives.read import ImportOptions
from forgekit.briefing.answers import decision_line
from forgekit.errors import RuleError, TransitionError
from forgekit.filing import review
from forgekit.filing.archives import Incoming, sync_compression
from forgekit.filing.conversations import IngestReport, Unpacked, ingest, unpack
from forgekit.forge import Forge, WriteOptions
from forgekit.model.entities import (
    CandidateStatus,
    Conversation,
    Decision,
    Proposal,
    Thread,
    ThreadStatus,
    in_order,
)
from forgekit.model.graph import same_conversations, trace
from forgekit.model.kinds import Kind
from forgekit.model.transcript import Attachment, ImportedConversation
from forgekit.models.encoder import Missing
from forgekit.sharing import sync
from forgekit.text.transcript import read_messages
from forgekit.times import UNKNOWN, Instant, parse_instant
from forgekit.transcripts.formats import conversations
from forgekit.upkeep.check import check

START = parse_instant("2026-01-05T10:00:00Z")
DAY = 86_400_000


def transcript(name: str, *texts: str, day: int = 0, **more: object) -> ImportedConversation:
    """Make a conversation in which the user and the assistant speak in turn."""
    at = Instant(START + day * DAY)
    made = ImportedConversation(
        source="claude",
        external_id=f"{name}-0001",
        title=name,
        project="",
        folder="",
        started=at,
        turns=in_turn(texts, at),
    )
    return replace(made, **more)  # type: ignore[arg-type] # fields of a transcript


def archive(tag: str, *, day: int, parent: str = "", decision: str, session: str) -> str:
    return f"""# Conversation Archive: {session}

**Session ID:** {session}
**Created:** {day:02}
**Project:** Nexus
**Compression Tag:** {tag}
**Inherits From:** {parent or "none"}

## Decisions

### D001: {decision}

- **Rationale:** it was measured.
""".replace(f"**Created:** {day:02}", f"**Created:** 2026-01-{5 + day:02}T18:00:00Z")


A_ARCHIVE = archive("TOPIC_A_RESULT", day=0, decision="Use Postgres for the queue", session="alpha-session")
B_ARCHIVE = archive(
    "TOPIC_B_RESULT", day=1, parent="TOPIC_A_RESULT", decision="Retry three times", session="beta-session"
)
CHAIN = (
    transcript("Alpha", "How do we store jobs?", "A queue table will do.", "Compress this.", A_ARCHIVE),
    transcript(
        "Beta", f"Here is where we were:\n\n{A_ARCHIVE}", "Understood.", "Compress this.", B_ARCHIVE, day=1
    ),
    transcript("Gamma", f"Let us go on.\n\n{B_ARCHIVE}", "Gladly.", day=2),
)


def opened(root: Path) -> Forge:
    return replace(Forge.open(root), now=lambda: Instant(START + 30 * DAY))


def file(root: Path, *transcripts: ImportedConversation, **more: object) -> IngestReport:
    return ingest(opened(root), transcripts, **more)  # type: ignore[arg-type] # options of ingest


def states(report: IngestReport) -> list[str]:
    return [filed.state for filed in report.filed]


def test_a_conversation_that_cannot_be_filed_keeps_no_other_back(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unpacked(talk: ImportedConversation, *args: Any, **options: Any) -> Unpacked:
        if talk.title == "Alpha":
            raise RuleError("body: holds a merge-conflict marker")
        return unpack(talk, *args, **options)

    monkeypatch.setattr("forgekit.filing.conversations.unpack", unpacked)
    report = file(repository, *CHAIN[:2], project="Nexus")
    assert [filed.conversation.title for filed in report.filed] == ["Beta"]
    assert list(map(str, report.problems)) == [
        "Alpha: nothing of it was filed: body: holds a merge-conflict marker"
    ]


def test_a_second_time_changes_nothing_and_a_batch_is_one_commit(repository: Path) -> None:
    report = file(repository, *CHAIN, project="Nexus", with_text=True)
    assert states(report) == ["new", "new", "new"]
    assert (report.counts["archives"], report.counts["edges"]) == (2, 2)
    before = files(repository)
    again = file(repository, *CHAIN, project="Nexus", with_text=True)
    assert (again.outcome.commit, again.outcome.written, states(again)) == (None, (), ["unchanged"] * 3)
    assert files(repository) == before
    assert git(repository, "rev-list", "--count", "HEAD").strip() == "2"
    assert [str(p) for p in check(opened(repository)).problems] == []


def test_any_order_gives_one_registry_and_one_trace(tmp_path: Path) -> None:
    seen = []
    for number, order in enumerate(itertools.permutations(CHAIN)):
        root = new_repository(tmp_path / str(number))
        for one in order:
            file(root, one, project="Nexus", with_text=True)
        seen.append(files(root))
        registry = opened(root).registry()
        talk = opened(root).resolve("Beta-0001", Kind.CONVERSATION)
        same = same_conversations(registry)
        ends = [
            tuple(
                same.get(end, end) for end in (h.edge.source_conversation_id, h.edge.target_conversation_id)
            )
            for h in trace(registry, talk)
        ]
        titles = [[registry.entities[end].title for end in pair] for pair in ends]
        assert [pair for pair in titles if pair[0] != pair[1]] == [["Alpha", "Beta"], ["Beta", "Gamma"]]
    assert all(one == seen[0] for one in seen)


def test_what_a_paste_carries_stands_on_the_edge(repository: Path) -> None:
    file(repository, *CHAIN, project="Nexus")
    registry = opened(repository).registry()
    carried = {
        edge.title: [registry.entities[e].title for c in edge.compressions for _, e in c.decisions_carried]
        for edge in registry.lineage
    }
    assert carried["TOPIC_B_RESULT"] == ["Retry three times"]


def test_two_clones_that_ingest_apart_merge_to_one_registry(tmp_path: Path) -> None:
    whole = new_repository(tmp_path / "whole")
    for one in CHAIN:
        file(whole, one, project="Nexus", with_text=True)
    hub = tmp_path / "hub.git"
    first = new_repository(tmp_path / "first")
    git(first, "init", "--quiet", "--bare", str(hub))
    git(first, "remote", "add", "origin", str(hub))
    git(first, "push", "--quiet", "--set-upstream", "origin", "main")
    git(tmp_path, "clone", "--quiet", str(hub), "second")
    second = tmp_path / "second"
    file(first, CHAIN[0], CHAIN[2], project="Nexus", with_text=True)
    file(second, CHAIN[1], CHAIN[0], project="Nexus", with_text=True)
    for root in (first, second, first):
        sync(opened(root))
    assert files(first) == files(second) == files(whole)


def test_a_tag_and_its_source_meet_when_two_clones_do(tmp_path: Path) -> None:
    later = transcript("Later", "Continue from TOPIC_A_RESULT, please.", "Of course.", day=3)
    hub, first = tmp_path / "hub.git", new_repository(tmp_path / "first")
    git(first, "init", "--quiet", "--bare", str(hub))
    git(first, "remote", "add", "origin", str(hub))
    git(first, "push", "--quiet", "--set-upstream", "origin", "main")
    git(tmp_path, "clone", "--quiet", str(hub), "second")
    file(first, CHAIN[0], project="Nexus")
    file(tmp_path / "second", later, project="Nexus")
    for root in (first, tmp_path / "second", first):
        sync(opened(root))
    assert [edge.title for edge in opened(first).registry().lineage] == ["TOPIC_A_RESULT"]
    assert files(first) == files(tmp_path / "second")


def test_an_edited_message_is_kept_beside_the_words_that_it_replaces(repository: Path) -> None:
    old = transcript("Alpha", "How many?", "Five.", "We decided to use five retries.", "Good.", "Next?")
    new = transcript("Alpha", "How many?", "Five.", "We decided to use three retries.")
    later = replace(new.turns[-1], time=Instant(START + DAY))
    file(repository, old, with_text=True)
    report = file(repository, replace(new, turns=(*new.turns[:-1], later)), with_text=True)
    assert states(report) == ["grown"]
    (kept,) = opened(repository).registry().transcripts
    third = [message.text for message in read_messages([kept.body]) if message.number == 3]
    assert third == ["We decided to use five retries.", "We decided to use three retries."]
    forge = opened(repository)
    for item in review.waiting(forge):
        around = review.seen(forge, item)
        assert (around.speaker, around.before) == ("user", "")
    assert states(file(repository, old, with_text=True)) == ["unchanged"]


def test_a_conversation_that_grew_adds_its_turns_and_keeps_its_id(repository: Path) -> None:
    long = transcript(
        "Alpha", "Which store?", "We decided to use Postgres for the queue.", "Good.", "Next step: write it."
    )
    short = replace(long, turns=long.turns[:2])
    first = file(repository, short, with_text=True)
    grown = file(repository, long)
    assert (states(grown), grown.filed[0].new_turns) == (["grown"], 2)
    assert grown.filed[0].conversation.id == first.filed[0].conversation.id
    assert states(file(repository, short)) == ["unchanged"]
    kept = opened(repository).registry().transcripts
    assert [(text.turn_range, text.body.count("### ")) for text in kept] == [((1, 4), 4)]


def test_an_archive_filed_after_its_conversation_joins_it(repository: Path) -> None:
    report = file(
        repository, transcript("Alpha", "How?", "So.", external_id="alpha-session"), project="Nexus"
    )
    sync_compression(opened(repository), [Incoming(options=ImportOptions(), data=A_ARCHIVE.encode())])
    registry = opened(repository).registry()
    stand_in = registry.archives[0].conversation_id
    assert same_conversations(registry) == {stand_in: report.filed[0].conversation.id}
    found = registry.get(stand_in)
    assert isinstance(found, Conversation)
    assert found.external_id == "alpha-session"
    assert opened(repository).resolve("alpha-session", Kind.CONVERSATION) == report.filed[0].conversation.id


def test_resumed_sessions_and_compactions_are_edges(repository: Path) -> None:
    summary = (
        "This session is being continued from a previous conversation that ran out of context.\n\n"
        "Analysis:\nWe went through it.\n\nSummary:\n1. Primary Request and Intent:\n   Build the queue.\n\n"
        "7. Pending Tasks:\n   - Write the retry logic\n"
    )
    first = transcript("S1", "Go", "Done", summary, "On.", source="claude-code", folder="/home/ada/nexus")
    turns = tuple(replace(t, compaction=t.number == 3) for t in first.turns)
    first = replace(first, turns=turns)
    second = transcript("S2", "Further", "Yes", day=1, source="claude-code", resumes=("S1-0001",))
    file(repository, second, first)
    registry = opened(repository).registry()
    assert [a.compression_tag for a in registry.archives] == ["CLAUDE_CODE_S1-0001_1"]
    talk = opened(repository).resolve("S2-0001", Kind.CONVERSATION)
    assert len(trace(registry, talk)) == 1
    assert [c.candidate for c in registry.candidates if "retry logic" in c.candidate] == []


def test_a_session_resumes_others_and_not_itself(repository: Path) -> None:
    file(repository, transcript("Alpha", "Go on.", external_id=" alpha ", resumes=(" alpha ", " beta ")))
    [talk] = opened(repository).registry().conversations
    assert (talk.external_id, talk.continues) == ("alpha", ("beta",))


def test_a_tag_alone_is_remembered_until_its_source_comes(repository: Path) -> None:
    file(
        repository,
        transcript("Later", "Continue from TOPIC_A_RESULT, please.", "Of course.", day=3),
        project="Nexus",
    )
    assert opened(repository).registry().lineage == []
    file(repository, CHAIN[0], project="Nexus")
    edges = opened(repository).registry().lineage
    assert [edge.title for edge in edges] == ["TOPIC_A_RESULT"]


def test_the_project_is_the_exports_else_the_settings_else_the_persons(repository: Path) -> None:
    (repository / "forgekit.toml").write_text('[projects]\n"Harbor" = ["*harbor*"]\n', encoding="utf-8")
    git(repository, "commit", "--quiet", "--all", "--message", "projects")
    given = (
        transcript("One", "Hi", "Ho", project="Nexus"),
        transcript("Two", "Hi", "Ho", folder="/home/ada/harbor-api", day=1),
        transcript("Three", "Hi", "Ho", day=2),
    )
    report = file(repository, *given, project="Mine")
    assert [(f.conversation.project_name, f.project_from) for f in report.filed] == [
        ("Nexus", "export"),
        ("Harbor", "settings"),
        ("Mine", "option"),
    ]
    unsorted = file(repository, transcript("Four", "Hi", "Ho", day=3))
    assert (unsorted.filed[0].conversation.project_name, unsorted.filed[0].project_from) == (
        "Unsorted",
        "nothing",
    )


def test_secrets_reach_no_object_of_git(repository: Path) -> None:
    secrets = planted(seeded("ingest"), 200)
    texts = [f"We decided to use this: {one.text}" if n % 3 else one.text for n, one in enumerate(secrets)]
    talk = transcript("Alpha", *texts)
    last = replace(talk.turns[-1], attachments=(Attachment(name="keys.txt", text=secrets[0].text),))
    report = file(repository, replace(talk, turns=(*talk.turns[:-1], last)), with_text=True)
    assert report.outcome.commit is not None
    assert sum(report.redacted.values()) >= 200
    assert not file(repository, replace(talk, turns=(*talk.turns[:-1], last)), with_text=True).redacted
    listed = git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    blobs = [line.split()[0] for line in listed.splitlines() if not line.endswith("tree")]
    held = "".join(git(repository, "cat-file", "-p", blob) for blob in blobs)
    assert "We decided to use this" in held
    assert [one.kind for one in secrets if one.secret in held] == []


TALK = transcript(
    "Alpha",
    "Which database shall we use for the queue?",
    "We decided to use Postgres for the queue because it is already there.",
    "D007: Retry three times",
    "Noted.",
)


def test_candidates_wait_and_are_seen_by_nothing_else(repository: Path) -> None:
    report = file(repository, TALK, project="Nexus")
    assert report.candidates
    forge = opened(repository)
    assert [d.decision for d in forge.registry().decisions] == ["Retry three times"]
    assert not {hit.kind for hit in forge.catalogue.search("Postgres queue")} - {Kind.CONVERSATION}
    waiting = review.waiting(forge, "Nexus")
    best = waiting[0].candidate
    assert (best.turn, best.conversation_id) == (2, report.filed[0].conversation.id)
    assert "Postgres" in best.quote
    assert best.why == "read as a decision"


def test_a_few_words_of_a_person_come_with_what_they_answer(repository: Path, cli: Cli) -> None:
    asked = f"{'x' * 400} Some y.\n\nShould errors follow RFC 9457?"
    turns = (
        "What about errors?",
        asked,
        "Let's do that.",
        "Noted.",
        "We decided to keep them for a whole year.",
    )
    file(repository, transcript("Alpha", *turns), project="Nexus")
    few, many = (each.candidate for each in review.waiting(opened(repository)))
    assert (few.context, many.context) == ("Turn 2: … Some y. Should errors follow RFC 9457?", "")
    listed = cli("review", "--list", root=repository).out.splitlines()
    assert listed[2] == "  context: Turn 2: … Some y. Should errors follow RFC 9457?"
    done = review.answer(opened(repository), review.Answers(approve=frozenset({few.id})))
    [made] = (each for each in done.entities if isinstance(each, Decision))
    assert made.context == "Turn 3: Let's do that.\n\nTurn 2: … Some y. Should errors follow RFC 9457?"


def test_without_a_reader_of_sentences_records_and_labelled_lists_are_found(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = Missing(reason="no embedding model is installed", hint="forgekit model install")
    monkeypatch.setattr("forgekit.models.statement_reader.find_statement_reader", lambda _: missing)
    listed = transcript("Beta", "Decisions made:\n\n- Keep every job for a week\n\nWe chose gRPC.", day=1)
    report = file(repository, TALK, listed, project="Nexus", batch=1)
    assert (states(report), len(report.commits)) == (["new", "new"], 2)
    [problem] = report.problems
    assert (problem.code, problem.fix) == ("sentences-unread", "forgekit model install")
    assert problem.message == "only records and labelled lists were read: no embedding model is installed"
    registry = opened(repository).registry()
    assert [one.decision for one in registry.decisions] == ["Retry three times"]
    assert [one.candidate.candidate for one in review.waiting(opened(repository))] == [
        "Keep every job for a week"
    ]


def test_what_is_approved_is_registered_at_the_time_of_its_turn(repository: Path) -> None:
    file(repository, TALK, project="Nexus")
    forge = opened(repository)
    best = review.waiting(forge)[0].candidate
    done = review.answer(forge, review.Answers(approve=frozenset({best.id})))
    made = done.entities[0]
    assert (made.title, made.created_at) == (best.candidate, best.created_at)  # type: ignore[union-attr] # a decision
    assert [(c.status, c.became) for c in done.answered] == [(CandidateStatus.APPROVED, made.id)]
    assert [str(p) for p in check(opened(repository)).problems] == []
    assert best.id not in {w.candidate.id for w in review.waiting(opened(repository))}
    assert file(repository, TALK, project="Nexus").outcome.commit is None


def test_a_question_becomes_a_thread(repository: Path) -> None:
    said, proposes, kind = "The size of the queue is still open", Proposal.THREAD_OPEN, Kind.THREAD
    file(repository, transcript("Alpha", f"{said}.", "Noted."), project="Nexus")
    forge = opened(repository)
    (found,) = (one.candidate for one in review.waiting(forge))
    assert (found.candidate, found.proposes, found.turn) == (said, proposes, 1)
    (made,) = review.answer(forge, review.Answers(approve=frozenset({found.id}))).entities
    assert (made.kind, made.title) == (kind, said)
    assert file(repository, transcript("Alpha", f"{said}.", "Noted."), project="Nexus").candidates == []


def test_what_is_rejected_is_never_offered_again(repository: Path) -> None:
    file(repository, replace(TALK, turns=TALK.turns[:2]), project="Nexus")
    forge = opened(repository)
    every = frozenset(one.candidate.id for one in review.waiting(forge))
    review.answer(forge, review.Answers(reject=every))
    assert file(repository, TALK, project="Nexus").candidates == []
    assert review.waiting(opened(repository)) == []


def test_a_candidate_merges_into_what_is_registered(repository: Path) -> None:
    file(repository, TALK, project="Nexus")
    forge = opened(repository)
    into = forge.registry().decisions[0]
    best = review.waiting(forge)[0].candidate
    done = review.answer(forge, review.Answers(merge=((best.id, into.id),)))
    assert [(c.status, c.became) for c in done.answered] == [(CandidateStatus.MERGED, into.id)]


def test_a_record_of_its_own_becomes_the_archives_when_that_comes(tmp_path: Path) -> None:
    said = transcript("Alpha", "D001: Use Postgres for the queue", "Noted.", external_id="alpha-session")
    found = []
    for name, order in (("a", (0, 1)), ("b", (1, 0))):
        root = new_repository(tmp_path / name)
        steps = (
            lambda root=root: file(root, said, project="Nexus"),
            lambda root=root: sync_compression(
                opened(root), [Incoming(options=ImportOptions(), data=A_ARCHIVE.encode())]
            ),
        )
        for step in order:
            steps[step]()
        found.append(files(root))
        decisions = [d.decision for d in opened(root).registry().decisions]
        assert decisions == ["Use Postgres for the queue"]
    assert found[0] == found[1]


def test_what_the_assistant_calls_by_an_id_waits_for_a_person(repository: Path) -> None:
    said = transcript(
        "Alpha", "What does the issue say?", "It says:\n\n- D001: Store card numbers in plain text"
    )
    file(repository, said, project="Nexus")
    registry = opened(repository).registry()
    assert not registry.decisions
    assert [(c.candidate, c.status.value) for c in registry.candidates] == [
        ("Store card numbers in plain text", "waiting")
    ]


@pytest.mark.parametrize("ended", [True, False])
def test_a_thread_that_is_said_open_again_stays_as_it_stood(repository: Path, *, ended: bool) -> None:
    middle = "T001: Port the queue (done)" if ended else "How?"
    told = ["T001: Port the queue (open)", "Yes.", middle, "Yes.", "T001: Port all queues (open)"]
    said = transcript("Alpha", *told)
    file(repository, said, project="Nexus")
    [thread] = opened(repository).registry().threads
    at = said.turns[2 if ended else 0].time
    assert (thread.title, thread.status.ended, thread.updated_at) == ("Port the queue", ended, at)


def test_messages_are_found_and_shown(repository: Path) -> None:
    file(repository, TALK, project="Nexus", with_text=True)
    catalogue = opened(repository).catalogue
    catalogue.refresh()
    found = catalogue.messages("already there Postgres", project="Nexus")
    assert [(hit.number, hit.speaker, hit.title) for hit in found][:1] == [(2, "assistant", "Alpha")]
    assert catalogue.messages("Postgres", project="Other") == []


@pytest.mark.parametrize("turns", [1, 3])
def test_a_long_text_is_kept_in_parts(repository: Path, turns: int) -> None:
    long = "word " * 100_000
    report = file(repository, transcript("Alpha", *[long] * turns), with_text=True)
    assert report.outcome.commit is not None
    kept = in_order(opened(repository).registry().transcripts)
    assert len(kept) == {1: 2, 3: 5}[turns]
    said = read_messages(part.body for part in kept)
    assert [(m.number, "".join(m.text.split()) == "".join(long.split())) for m in said] == [
        (number, True) for number in range(1, turns + 1)
    ]


def test_batches_of_any_size_give_one_registry(tmp_path: Path) -> None:
    seen = []
    for size, commits in ((1, 3), (2, 2), (500, 1)):
        root = new_repository(tmp_path / str(size))
        report = file(root, *CHAIN, project="Nexus", with_text=True, batch=size)
        assert len(report.commits) == commits
        assert report.outcome.commit == report.commits[-1]
        assert git(root, "rev-list", "--count", "HEAD").strip() == str(commits + 1)
        assert (states(report), report.counts["archives"], report.counts["edges"]) == (["new"] * 3, 2, 2)
        assert set(report.outcome.written) >= files(root).keys()
        seen.append(files(root))
    assert all(one == seen[0] for one in seen)


def test_a_batch_is_full_by_size_too(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forgekit.filing.conversations.BATCH_SIZE", 100)
    talks = [transcript(name, "Hello. " * 30) for name in ("Alpha", "Beta")]
    assert len(file(repository, *talks, with_text=True).commits) == 2
    assert len(file(repository, *talks, with_text=True).commits) == 0


def test_an_ingest_that_was_ended_goes_on_where_it_was(tmp_path: Path) -> None:
    whole, ended = new_repository(tmp_path / "whole"), new_repository(tmp_path / "ended")
    file(whole, *CHAIN, project="Nexus")

    def until_the_third() -> Iterator[ImportedConversation]:
        yield from CHAIN[:2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(opened(ended), until_the_third(), project="Nexus", batch=1)
    assert [str(problem) for problem in check(opened(ended)).problems] == []
    assert git(ended, "status", "--porcelain") == ""
    again = file(ended, *CHAIN, project="Nexus", batch=1)
    assert states(again) == ["unchanged", "unchanged", "new"]
    assert files(ended) == files(whole)


@pytest.mark.parametrize("batch", [1, 2, 50])
def test_a_conversation_is_known_by_its_platforms_id_however_long_ago_it_was_met(
    repository: Path, batch: int
) -> None:
    others = [transcript(name, "Hello.") for name in ("Beta", "Gamma", "Delta")]
    first = replace(transcript("Alpha", "Hello."), project="Nexus")
    again = replace(transcript("Alpha", "Hello.", "And more."), project="Elsewhere", title="Alpha, renamed")
    file(repository, first, *others, again, batch=batch)
    talks = [t for t in opened(repository).registry().conversations if t.external_id == first.external_id]
    assert [(talk.title, talk.project_name, talk.turns) for talk in talks] == [("Alpha", "Nexus", 2)]


def test_a_short_report_counts_all_and_names_the_first_that_changed(repository: Path) -> None:
    file(repository, CHAIN[1], project="Nexus")
    whole = file(new_repository(repository.parent / "twin"), *CHAIN, project="Nexus")
    short = file(repository, *CHAIN, project="Nexus", batch=1, shown=1)
    assert dict(short.states) == {"new": 2, "unchanged": 1}
    assert [filed.conversation.title for filed in short.filed] == ["Alpha"]
    assert (short.outcome.written, short.candidates) == ((), [])
    assert (len(whole.filed), short.counts["edges"], short.counts["waiting"]) == (
        3,
        1,
        whole.counts["waiting"],
    )


def test_a_dry_run_is_one_piece(repository: Path) -> None:
    report = file(repository, *CHAIN, project="Nexus", batch=1, options=WriteOptions(dry_run=True))
    assert (report.commits, report.counts["edges"]) == ([], 2)
    assert report.outcome.diff.count("+title: Alpha\n") == 1


UNDATED = transcript(
    "Pasted", "Where do jobs live?", "We decided to use Postgres for the queue.", "D007: Retry three times"
)
UNDATED = replace(UNDATED, started=None, turns=tuple(replace(turn, time=None) for turn in UNDATED.turns))


def test_a_time_that_nobody_said_is_unknown(repository: Path) -> None:
    file(repository, UNDATED, project="Nexus", with_text=True)
    registry = opened(repository).registry()
    times = {talk.created_at for talk in registry.conversations}
    assert times | {found.created_at for found in registry.candidates} == {UNKNOWN}
    written = {path: data for path, data in files(repository).items() if "/projects/" not in path}
    assert all("/1970-01/" in path and b"created_at" not in data for path, data in written.items())
    assert registry.decisions == []  # D007 would stand in 1970
    assert [c.status for c in registry.candidates] == [CandidateStatus.WAITING] * 2
    assert [str(problem) for problem in check(opened(repository)).problems] == []
    assert file(repository, UNDATED, project="Nexus", with_text=True).commits == []


def test_what_nobody_dated_has_no_date_after_its_approval(repository: Path) -> None:
    file(repository, UNDATED, project="Nexus")
    forge = opened(repository)
    found = frozenset(one.candidate.id for one in review.waiting(forge))
    review.answer(forge, review.Answers(approve=found))
    registry = opened(repository).registry()
    assert {(one.created_at, one.last_validated) for one in registry.decisions} == {(UNKNOWN, UNKNOWN)}
    assert {one.created_at for one in registry.candidates} == {UNKNOWN}
    assert decision_line(registry.decisions[0]).endswith("active, no date)")
    assert [str(problem) for problem in check(opened(repository)).problems] == []


def test_a_better_export_brings_the_time(repository: Path) -> None:
    file(repository, UNDATED, project="Nexus")
    file(repository, replace(UNDATED, started=START), project="Nexus")
    (talk,) = opened(repository).registry().conversations
    assert talk.created_at == START


def test_pasted_chats_that_begin_alike_are_two(repository: Path) -> None:
    texts = ("Please review this.", "Gladly: what is it?")
    talks = [transcript("Pasted", *texts, last, external_id="", title="") for last in ("The API.", "The UI.")]
    talks = [
        replace(talk, started=None, turns=tuple(replace(turn, time=None) for turn in talk.turns))
        for talk in talks
    ]
    assert states(file(repository, *talks)) == ["new", "new"]
    assert states(file(repository, *talks)) == ["unchanged", "unchanged"]


def test_a_secret_in_the_name_of_a_project_or_a_folder_is_taken_out(repository: Path) -> None:
    secret = planted(seeded("names"), 1)[0].secret
    summed = transcript("S1", "Go", "Summed up:\n\n### D001: Use rows", source="claude-code", title="")
    turns = (summed.turns[0], replace(summed.turns[1], compaction=True))
    folders = replace(summed, turns=turns, folder=f"/home/ada/{secret}")
    report = file(repository, replace(CHAIN[0], project=f"Nexus {secret}"), folders, with_text=True)
    assert report.counts["archives"] == 2
    assert sum(report.redacted.values()) == 2
    assert secret.encode() not in b"".join(files(repository).values())
    assert secret not in git(repository, "log", "--format=%B")


@pytest.mark.parametrize("reopened", [None, 1, 9])
def test_an_end_that_is_older_than_its_thread_ends_it_unless_it_was_opened_again(
    repository: Path, reopened: int | None
) -> None:
    forge = opened(repository)
    day = [Instant(START + n * DAY) for n in range(10)]
    title = "The question of the parking space is finally settled"
    made = threads.create(forge, title, project="Nexus", at=day[5 if reopened is None else 0])
    if reopened is not None:
        threads.update(forge, made.entity.id, ThreadStatus.RESOLVED, at=Instant(day[0] + 1))
        threads.update(forge, made.entity.id, "open", at=day[reopened])
    file(repository, transcript("Later", f"{title}.", "Good.", day=2), project="Nexus")
    (found,) = (waiting.candidate for waiting in review.waiting(forge))
    answers = review.Answers(approve=frozenset({found.id}))
    if reopened == 9:
        with pytest.raises(TransitionError) as raised:
            review.answer(forge, answers)
        thread, candidate = f"thr_{made.entity.id[-12:]}", f"can_{found.id[-12:]}"
        assert str(raised.value) == (
            f"{thread} was reopened after the end that {candidate} reports; reject {candidate}, "
            f"or end it now: `forgekit thread resolve {thread}`"
        )
        assert forge.registry().expect(Thread, made.entity.id).status is ThreadStatus.OPEN
        return
    review.answer(forge, answers)
    ended = forge.registry().expect(Thread, made.entity.id)
    assert (ended.status, ended.resolved_in) == (ThreadStatus.RESOLVED, found.conversation_id)
    assert ended.updated_at == max(found.created_at, day[5 if reopened is None else reopened])


def test_a_compaction_is_filed_alike_by_ingest_and_by_sync(tmp_path: Path) -> None:
    common = {"sessionId": "5b0c8a52-0001", "cwd": "/home/ada/nexus/.worktrees/fix", "isSidechain": False}
    content = [
        {"type": "text", "text": "Summary:\r\n1. Primary Request and Intent:\r\n   Build the ledger."},
        {"type": "text", "text": ""},
        {"type": "text", "text": "\n7. Pending Tasks:\n   - Write the export of refunds\n\n"},
    ]
    rows: list[dict[str, object]] = [
        {"type": "user", "uuid": "u1", "message": {"content": "Go."}},
        {"type": "user", "uuid": "u2", "message": {"content": content}, "isCompactSummary": True},
    ]
    path = tmp_path / "session.jsonl"
    at = {"timestamp": "2026-03-01T10:00:00Z"}
    path.write_text("".join(json.dumps({**common, **at, **row}) + "\n" for row in rows), encoding="utf-8")
    roots = [new_repository(tmp_path / name) for name in ("ingested", "synced")]
    ingest(opened(roots[0]), conversations([str(path)]), project="Nexus")
    sync_compression(opened(roots[1]), [Incoming(path=path, options=ImportOptions(project="Nexus"))])
    (first,), (second,) = (opened(root).registry().archives for root in roots)
    assert first == second
    assert first.conversation_title == "nexus 5b0c8a52, compaction 1"


def test_a_tag_shows_the_text_of_the_conversation_that_it_was_written_in(repository: Path, cli: Cli) -> None:
    file(repository, *CHAIN, project="Nexus", with_text=True)
    shown = cli("conversation", "show", "TOPIC_A_RESULT", "--turns", "2", root=repository)
    own = cli("conversation", "show", "Alpha-0001", "--turns", "2")
    assert (shown.code, shown.out) == (0, own.out)
    assert own.out.endswith("\n\nA queue table will do.\n\n")
    told = cli("conversation", "show", "Beta-0001", "--json").json
    assert [len(told[side]) for side in ("continues", "continued_by")] == [1, 1]


def test_a_platform_s_id_names_its_conversation_in_any_spelling(repository: Path) -> None:
    report = file(repository, *CHAIN, project="Nexus")
    for name in ("Alpha-0001", "ALPHA-0001", " alpha-0001 "):
        assert opened(repository).resolve(name, Kind.CONVERSATION) == report.filed[0].conversation.id


def test_an_archive_stands_as_it_was_written_whatever_it_was_pasted_with(tmp_path: Path) -> None:
    asked = f"{A_ARCHIVE}\n\n### T001: Who runs the backups?\n\nNobody does."
    wrote = transcript("Alpha", "How?", "So.", "Compress this.", asked)
    pastes = [transcript(name, f"{asked}\n\n{name}, go on.", "Yes.", day=2) for name in ("Beta", "Gamma")]
    seen = []
    for number, order in enumerate(itertools.permutations([wrote, *pastes])):
        root = new_repository(tmp_path / str(number))
        if number % 2:
            file(root, *order, project="Nexus")
        else:
            for one in order:
                file(root, one, project="Nexus")
        [archived] = opened(root).registry().archives
        [thread] = opened(root).registry().threads
        assert (archived.body.endswith("Nobody does."), thread.body) == (True, "Nobody does.")
        seen.append(files(root))
    assert all(one == seen[0] for one in seen)


def test_a_pasted_archive_gives_way_to_the_one_that_a_person_files(repository: Path) -> None:
    file(repository, transcript("B", f"{A_ARCHIVE}\n\nGo on.", "Yes."), project="Nexus")
    sync_compression(opened(repository), [Incoming(data=A_ARCHIVE.encode(), options=ImportOptions())])
    [archived] = opened(repository).registry().archives
    assert archived.body == A_ARCHIVE


def test_a_text_with_more_records_is_another(repository: Path) -> None:
    more = f"{A_ARCHIVE}\n\n### D002: Retry three times\n"
    sync_compression(opened(repository), [Incoming(data=more.encode(), options=ImportOptions())])
    report = file(repository, CHAIN[0], project="Nexus")
    [archived] = opened(repository).registry().archives
    assert archived.body == more
    assert [p.message for p in report.problems] == [
        f"arc_{archived.id[-12:]} (TOPIC_A_RESULT) is filed with another text, which is kept"
    ]
