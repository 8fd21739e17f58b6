"""Essences, topics and digests of notes: made once, when due, whatever interrupts the run."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_encoder import FakeEncoder
from repositories import git, in_turn

from forgekit import conflicts, context, decisions, notes, projects
from forgekit.errors import NotFoundError
from forgekit.filing.conversations import ingest
from forgekit.forge import Forge, WriteOptions
from forgekit.git import publish
from forgekit.insight.notes import has_essence
from forgekit.model.entities import Note, TopicStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.model.transcript import ImportedConversation
from forgekit.models.chat import Chat
from forgekit.models.essences import Essence, ExtractiveDistiller, LlmDistiller
from forgekit.queries import show, status
from forgekit.times import DAY_MS, Instant, parse_instant
from forgekit.upkeep import maintain as module
from forgekit.upkeep.maintain import daily, maintain, note_threads, schedule
from forgekit.worktree import local_state

NOW = parse_instant("2026-09-20T09:00:00Z")
SUBJECTS = {"queue": "The queue keeps messages until a worker reads the queue.",
    "garden": "The garden needs water in the garden each dry summer."}  # fmt: skip


def at(forge: Forge, moment: int) -> Forge:
    """Return the registry opened at another time."""
    other = replace(forge, now=lambda: Instant(moment))
    vars(other)["encoder"] = FakeEncoder()
    return other


@pytest.fixture
def forge(repository: Path) -> Forge:
    forge = at(Forge.open(repository), NOW)
    projects.create(forge, "Ledger")
    for days, name in enumerate(("queue", "garden") * 3):
        text = f"# {name} {days}\n\n{SUBJECTS[name]} Number {days} of the {name}.\n\n```\ncode of it.\n```"
        notes.add(forge, text, at=Instant(NOW - (200 + days) * DAY_MS))
    return forge


def test_nothing_is_done_twice_and_a_changed_note_is_distilled_again(forge: Forge) -> None:
    first = maintain(forge)
    assert (first.essences, len(first.unmade), len(first.commits)) == (6, 0, 1)
    found = forge.registry().notes
    for note in found:
        assert has_essence(note)
        assert note.essence_by == "fake extract-2"
        assert note.essence is not None
        assert note.essence in SUBJECTS["queue"] + " " + note.body.replace("\n", " ")
        assert "code" not in note.essence
    head = git(forge.root, "rev-parse", "HEAD")
    assert not maintain(forge).due
    assert maintain(forge, only="distil").commits == []
    assert git(forge.root, "rev-parse", "HEAD") == head

    notes.edit(forge, found[0].id, content="Another text is here now. It is short.")
    again = maintain(forge)
    assert (again.due, again.essences) == (True, 1)
    said = status(forge)
    assert (said.essences, said.maintained) == (6, (NOW, "2026-09-21", 0))


def test_a_dry_run_writes_nothing(forge: Forge) -> None:
    head = git(forge.root, "rev-parse", "HEAD")
    report = maintain(forge, options=WriteOptions(dry_run=True))
    assert report.essences == 6
    assert "essence: " in report.diff
    assert git(forge.root, "rev-parse", "HEAD") == head
    assert git(forge.root, "status", "--porcelain") == ""


def test_topics_are_suggested_then_applied_archived_and_woken(forge: Forge) -> None:
    assert [each.what for each in maintain(forge).suggestions] == ["new", "new"]
    assert forge.registry().topics == []
    report, topics, _ = note_threads(forge, action="apply")
    assert report.digests == 2
    assert [len(topic.note_ids) for topic in topics] == [3, 3]
    assert {topic.status for topic in topics} == {TopicStatus.ARCHIVED}
    assert all(topic.digest for topic in topics)
    assert note_threads(forge)[0].suggestions == ()
    assert status(forge).notes == {"skeleton": 6}

    new = notes.add(forge, f"# queue 9\n\n{SUBJECTS['queue']}").entity
    maintain(forge, only="distil")
    found = note_threads(forge)[0].suggestions
    assert [(each.what, each.added, each.removed) for each in found] == [("reactivate", 1, 0)]
    note_threads(forge, action="apply")
    (live,) = (topic for topic in forge.registry().topics if topic.status is TopicStatus.ACTIVE)
    assert new.id in live.note_ids
    assert live.id in {topic.id for topic in topics}
    assert status(forge).notes == {"high": 3, "skeleton": 3, "full": 1}


def test_an_opened_note_comes_back_for_a_week(forge: Forge) -> None:
    maintain(forge)
    note_threads(forge, action="apply")
    show(forge, forge.registry().notes[0].id)
    assert status(forge).notes == {"high": 1, "skeleton": 5}
    assert status(at(forge, NOW + 8 * DAY_MS)).notes == {"skeleton": 6}


def talk(*texts: str, days: int = 0, name: str = "a") -> ImportedConversation:
    started = Instant(NOW - days * DAY_MS)
    return ImportedConversation(
        source="claude",
        external_id=f"{name}-0001",
        title=f"Talk {name}",
        project="Ledger",
        folder="",
        started=started,
        turns=in_turn(texts, started),
    )


def test_a_note_of_a_pasted_block_was_in_use_on_that_day(forge: Forge) -> None:
    maintain(forge)
    note_threads(forge, action="apply")
    block = context.load(forge, "queue worker").text
    shown = [note for note in forge.registry().notes if short_id(Kind.NOTE, note.id) in block]
    assert len(shown) >= 3
    pasted = talk(f"Where were we?\n\n{block}", "At nte_0123456789ab.", days=3)
    ingest(forge, [pasted], options=WriteOptions(dry_run=True))
    assert status(forge).notes == {"skeleton": 6}
    for _ in range(2):
        ingest(forge, [pasted])
        expected = {"high": len(shown), "skeleton": 6 - len(shown)}
        assert status(forge).notes == {tier: number for tier, number in expected.items() if number}
        assert status(at(forge, NOW + 5 * DAY_MS)).notes == {"skeleton": 6}


def test_openings_are_bounded_and_the_latest_stay(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_state, "MOST_OPENED", 2)
    local_state.record_openings(forge.root, {"a": Instant(3), "b": Instant(1)})
    local_state.record_openings(forge.root, {"a": Instant(2), "c": Instant(4)})
    assert local_state.opened(forge.root) == {"a": 3, "c": 4}


def test_a_conversation_has_an_essence_of_its_records_and_text(forge: Forge) -> None:
    texts = ("Which queue do we take for all of the messages?", "The queue of the database keeps messages.")
    ingest(forge, [talk(*texts), talk("Hello", "Hi", name="b")], with_text=True)
    first = forge.registry().conversations[0]
    decisions.create(forge, "Keep messages in the queue table", project="Ledger", conversation=first.id)
    assert maintain(forge, only="distil").essences == 8
    one = forge.registry().conversations[0]
    assert one.essence_by == "fake extract-2"
    assert one.essence
    assert set(one.essence.replace("? ", "?|").replace(". ", ".|").split("|")) <= {
        "Keep messages in the queue table.", *texts}  # fmt: skip
    assert forge.registry().conversations[1].essence
    assert f"({one.project_name}): {one.title}: {one.essence}" in context.load(forge, "queue messages").text
    assert maintain(forge, only="distil").commits == []

    ingest(forge, [talk(*texts, "Fine, that is what we do then.")])
    grown = forge.registry().conversations[0]
    assert (grown.turns, grown.essence) == (2, one.essence)
    assert maintain(forge, only="distil").essences == 1


def test_topics_are_reconsolidated_without_taking_notes_in(forge: Forge) -> None:
    applied = at(forge, NOW)
    vars(applied)["settings"] = replace(forge.settings, apply_topics=True)
    maintain(forge)
    note_threads(forge, action="apply")
    for word in ("queue", "roses"):
        for number in range(3):
            notes.add(forge, f"# {word} again {number}\n\n{SUBJECTS.get(word, 'Roses bloom.')} It is so.")
    before = {topic.id: topic for topic in forge.registry().topics}
    assert maintain(applied, only="reconsolidate").commits == []
    found = maintain(forge, only="threads").suggestions
    assert sorted(each.what for each in found) == ["new", "reactivate"]
    maintain(applied, only="threads")
    later = at(forge, NOW + 100 * DAY_MS)
    vars(later)["settings"] = applied.settings
    (idle,) = {each.what for each in maintain(later, only="reconsolidate").suggestions}
    assert idle == "archive"
    assert {topic.status for topic in forge.registry().topics} == {TopicStatus.ARCHIVED}
    assert set(before) < {topic.id for topic in forge.registry().topics}


class Stop(BaseException):
    """What a killed process is like to its own code."""


@pytest.mark.parametrize("step", range(6))
def test_a_run_that_is_killed_is_finished_by_the_next(
    forge: Forge, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE_S", 0)
    monkeypatch.setattr(module, "_PAUSE_COMMITS", 0)
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    calls = 0
    plain = ExtractiveDistiller.distil

    def dying(self: Any, texts: Sequence[tuple[str, str]], limit: int = 280) -> Iterator[Essence]:
        nonlocal calls
        calls += 1
        if calls > step:
            raise Stop
        return plain(self, texts, limit)

    monkeypatch.setattr(ExtractiveDistiller, "distil", dying)
    with pytest.raises(Stop):
        maintain(forge)
    monkeypatch.setattr(ExtractiveDistiller, "distil", plain)
    assert git(forge.root, "status", "--porcelain") == ""
    report = maintain(forge)
    assert report.essences == 6 - step
    assert all(map(has_essence, forge.registry().notes))
    assert not maintain(forge).due


def test_essences_are_committed_every_few_seconds_and_commits_take_a_small_share(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, plain = [0.0], ExtractiveDistiller.distil

    def slow(self: Any, texts: Sequence[tuple[str, str]], limit: int = 280) -> Iterator[Essence]:
        for each in plain(self, texts, limit):
            clock[0] += 2
            yield each

    def committed(*given: Any) -> None:
        clock[0] += 0.25
        commit(*given)

    commit = module._commit
    monkeypatch.setattr(module, "_commit", committed)
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    monkeypatch.setattr(ExtractiveDistiller, "distil", slow)
    report = maintain(forge, only="distil")
    subjects = git(forge.root, "log", "--format=%s", "-3").splitlines()
    assert subjects == [f"note: maintain {n} essence{'s' if n > 1 else ''}" for n in (1, 3, 2)]
    assert (report.essences, len(report.commits)) == (6, 3)


def test_a_summary_that_was_not_committed_is_written_by_the_next_run(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes.add(forge, "Water the roses", at=Instant(NOW - DAY_MS))

    def killed() -> None:
        monkeypatch.setattr(
            publish, "_move", lambda *_: os._exit(7)
        )  # the files are in place, the commit is not
        maintain(forge)

    child = multiprocessing.get_context("fork").Process(target=killed)
    child.start()
    child.join()
    assert child.exitcode == 7
    assert "registry/notes/" in git(forge.root, "status", "--porcelain")
    maintain(at(Forge.open(forge.root), NOW))
    assert [note.source for note in forge.registry().notes if note.source] == ["daily:2026-09-19"]
    assert git(forge.root, "status", "--porcelain") == ""


def test_a_model_that_fails_leaves_notes_as_they_are(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LlmDistiller(Chat(url="http://127.0.0.1:9", model="m", seconds=1))
    monkeypatch.setattr(module, "find_distiller", lambda *_: model)
    before = {note.id: note for note in forge.registry().notes}
    report = maintain(forge)
    assert (report.essences, len(report.unmade)) == (0, 6)
    assert report.failures == {"127.0.0.1:9 cannot be reached: Connection refused": 6}
    assert {note.id: note for note in forge.registry().notes} == before
    assert maintain(forge).due, "what failed is tried again"


def test_a_context_mixes_notes_and_topics_and_says_what_it_left_out(forge: Forge) -> None:
    maintain(forge)
    note_threads(forge, action="apply")
    found = context.load(forge, "queue worker", budget=400)
    assert found.text == context.load(forge, "queue worker", budget=400).text
    assert "### Threads of thought (2)" in found.text
    placed = [each for each in found.placed if each.section == "Notes"]
    assert "queue" in placed[0].text
    assert {each.of for each in placed} == {1}, "old notes of idle topics have one rendition"
    assert found.text.count("\n- nte_") == len(placed) >= 3


def test_what_bears_on_a_query_is_shown_at_length_before_digests_that_do_not(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "NOTES", 6)
    fresh = [notes.add(forge, f"# queue of {day}\n\n{SUBJECTS['queue']} " + f"Letter {day}. " * 40,
        at=Instant(NOW - day * DAY_MS)).entity for day in (1, 2)]  # fmt: skip
    long = notes.add(forge, "# A queue at length\n\n" + "The queue of messages is long. " * 1_000).entity
    maintain(forge)
    note_threads(forge, action="apply")
    titles = {short_id(Kind.TOPIC, topic.id): topic.title for topic in forge.registry().topics}
    digests = set()
    for budget in range(600, 2_500, 100):
        found = context.load(forge, "queue messages", budget=budget)
        shown = {each.text.split()[1]: each for each in found.placed}
        whole = {titles[name]: shown[name].rendition == 0 for name in titles}
        garden = next(whole[title] for title in whole if title.startswith("garden"))
        digests.add((all(whole.values()), garden))
        assert not garden or all(each.rendition == 0 for each in found.placed), (
            "a digest that bears not waits"
        )
    assert digests == {(False, False), (True, True)}
    assert all(shown[short_id(Kind.NOTE, each.id)].rendition == 0 for each in fresh)
    assert shown[short_id(Kind.NOTE, long.id)].cost <= context.TEXT_LIMIT // 4 + 100, "no note takes all"
    spent = found.data["tokens"]
    assert isinstance(spent, dict)
    assert set(spent) == {"Threads of thought", "Notes, full", "Notes, high"}
    assert sum(spent.values()) == sum(each.cost for each in found.placed) < 2_400
    few = context.load(forge, "queue", budget=230)
    assert "Left out: 1 of 7 in Notes; `--budget` shows more." in few.text


def test_a_larger_context_drops_and_shortens_nothing_and_counts_what_it_knows(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "NOTES", 2)
    settings = forge.root / "forgekit.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("budget = 4000", "budget = 250"), encoding="utf-8")
    forge = replace(Forge.open(forge.root), now=forge.now)
    for day in (1, 2):
        notes.add(forge, f"# Queue of {day}\n\nThe queue waits.\n\n" + f"Letter {day}. " * 400)
    assert "Notes (4 of 4+)" in context.load(forge, "queue worker", budget=499).text
    shown: dict[str, int] = {}
    for budget in range(200, 6_000, 50):
        found = context.load(forge, "queue worker", budget=budget)
        now = {each.text.split()[1]: each.rendition for each in found.placed}
        assert all((at := now.get(name)) is not None and at <= before for name, before in shown.items())
        shown = {name: at for name, at in now.items() if at is not None}
        assert len(found.data["notes"]) == found.text.count("\n- nte_")  # type: ignore[arg-type]
    assert set(shown.values()) == {0}


def test_a_small_context_has_the_decisions_that_bear_on_the_query_before_topics(forge: Forge) -> None:
    maintain(forge)
    note_threads(forge, action="apply")
    for number in range(6):
        decisions.create(forge, f"Keep worker logs for {number} days", project="Ledger")
    texts = [context.load(forge, "worker logs", budget=budget).text for budget in range(240, 400, 10)]
    shown = [(text.count("Keep worker logs for"), text.count("\n- top_")) for text in texts]
    assert shown[0] < (6, 1)
    assert shown[-1] == (6, 2)
    assert all(many == 6 for many, topics in shown if topics == 2), shown


def test_a_context_says_that_nothing_bears_on_a_query(forge: Forge) -> None:
    projects.create(forge, "Kontor")
    text = "## Context: firmware\n\nNothing on record bears on this.\n\n(end of context)\n"
    assert context.load(forge, "firmware", project="Kontor").text == text


def summary(forge: Forge, **more: Any) -> Note:
    """Return the summary of the day on which the tests are."""
    written = daily(forge, date=NOW, **more)
    assert written is not None
    assert isinstance(written.entity, Note)
    return written.entity


def test_a_day_is_summarised_once(forge: Forge) -> None:
    forge.registry()
    notes.add(forge, "Water the roses", at=NOW)
    written = summary(forge)
    assert (written.title, written.source) == ("Summary of 2026-09-20", "daily:2026-09-20")
    assert "Noted:\n\n- nte_" in written.body
    assert "Water the roses" in written.body
    again = daily(forge, date=NOW)
    assert again is not None
    assert again.outcome.commit is None
    assert maintain(at(forge, NOW + DAY_MS)).suggestions != ()
    titles = [note.title for note in forge.registry().notes if note.source]
    assert titles == ["Summary of 2026-09-20"]


def test_a_day_says_what_ended_and_which_conflict_was_settled(forge: Forge) -> None:
    forge = replace(forge, now=lambda: Instant(time.time_ns() // 1_000_000))  # as commits are dated
    old, new, rival = (
        decisions.create(forge, text, project="Ledger").entity
        for text in ("Keep one queue", "Keep two queues", "Keep none")
    )
    decisions.supersede(forge, old.id, new.id)
    settled = conflicts.create(forge, new.id, rival.id).entity
    conflicts.settle(forge, settled.id, "Each in its place", "scoped")
    written = daily(forge)
    assert written is not None
    dec = short_id(Kind.DECISION, old.id)
    ended = f"No longer in force:\n\n- {dec}: Keep one queue [superseded]\n\nConflicts settled:\n\n- cfl_"
    assert ended in written.entity.body
    assert "Stale decisions: 0. 0 conflicts noted, 0 contradictions found." in written.entity.body


def test_only_of_today_is_counted_what_is_stale(forge: Forge) -> None:
    decisions.create(forge, "Keep one queue", project="Ledger")
    assert "Stale decisions: 0." in summary(forge).body
    later = at(forge, NOW + 90 * DAY_MS)
    assert "Stale decisions" not in summary(later).body


def test_a_day_without_anything_is_not_written(forge: Forge) -> None:
    head = git(forge.root, "rev-parse", "HEAD")
    assert daily(forge, date=Instant(NOW + 9 * DAY_MS)) is None
    assert git(forge.root, "rev-parse", "HEAD") == head


def test_a_day_of_one_project_holds_that_project_alone(forge: Forge) -> None:
    projects.create(forge, "Garden")
    notes.add(forge, "Water the roses", project="Garden", at=NOW)
    notes.add(forge, "Oil the lock", project="Ledger", at=NOW)
    written = summary(forge, project="garden")
    assert (written.project_name, written.source) == ("Garden", "daily:2026-09-20 Garden")
    assert "Water the roses" in written.body
    assert "Oil the lock" not in written.body
    with pytest.raises(NotFoundError):
        daily(forge, date=NOW, project="Nopeproj")


def test_units_name_the_registry_and_what_is_special_in_them_is_escaped(forge: Forge) -> None:
    odd = replace(forge, root=Path('/home/a "b" %c$d & <e>'))
    assert '"-C" "/home/a \\"b\\" %%c$$d & <e>" "maintain"' in schedule(odd, system="systemd")
    assert '<string>/home/a "b" %c$d &amp; &lt;e&gt;</string>' in schedule(odd, system="launchd")
    line = schedule(forge, system="cron")
    assert line.startswith("7 * * * * ")
    assert subprocess.run(["sh", "-n", "-c", line[10:]], check=False).returncode == 0
