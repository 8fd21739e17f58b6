"""Notes: typed, edited, and ingested from a folder of Markdown."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import git

from forgekit import notes, projects
from forgekit.checks import CheckInput, unresolved_edits
from forgekit.errors import NotFoundError, SecretError, UsageError
from forgekit.forge import COMMITTED, Forge, WriteOptions
from forgekit.model.entities import Note, entity_path
from forgekit.search import search
from forgekit.store import Change, Outcome
from forgekit.text.secrets import find
from forgekit.times import UNKNOWN, Instant, format_date, parse_instant
from forgekit.upkeep.maintain import daily

NOW = parse_instant("2026-09-20T09:00:00Z")
TOKEN = "ghp_" + "a8Kz2LmN0pQ4rT6vX8yB1dF3gH5jW7sC9eUo"


@pytest.fixture
def forge(repository: Path) -> Forge:
    forge = replace(Forge.open(repository), now=lambda: NOW)
    projects.create(forge, "Ledger")
    return forge


def vault(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def test_a_note_is_kept_whole_and_found(forge: Forge) -> None:
    text = "# Queue of payments\n\nRetries are safe with keys. #storage\n\n<<<<<<< x"
    note = notes.add(forge, text, tags=["ops"]).entity
    assert isinstance(note, Note)
    assert (note.title, note.tags, note.created_at) == ("Queue of payments", ("ops", "storage"), NOW)
    assert note.body.endswith("\\<<<<<<< x")
    assert search(forge, "safe retries").ids == [note.id]
    again = notes.add(forge, text, tags=["ops"])
    assert (again.entity, again.outcome.commit) == (note, None)
    with pytest.raises(UsageError, match="the note holds no word"):
        notes.add(forge, " \n--\n")


@pytest.mark.parametrize("text", ["Use {}", "---\ntitle: {}\n---\nNow", "---\nkey: {}\n---\nNow"])
def test_a_typed_note_with_a_secret_is_refused_unless_it_is_allowed(forge: Forge, text: str) -> None:
    text = text.format(TOKEN)
    (found,) = find(text)
    kept = notes.add(forge, "Use the token").entity
    refusal = rf"this looks like a secret \(github-token {found.fingerprint}\), and nothing was written;"
    with pytest.raises(SecretError, match=refusal):
        notes.add(forge, text)
    with pytest.raises(SecretError, match=refusal):
        notes.edit(forge, kept.id, content=text)
    assert forge.registry().notes == [kept]
    allowed = replace(forge, allow=frozenset({found.fingerprint}))
    note = notes.add(allowed, text).entity
    assert isinstance(note, Note)
    assert TOKEN in f"{note.title} {note.body} {note.extra}"
    day = daily(allowed)
    assert day is not None
    assert isinstance(day.entity, Note)
    assert TOKEN not in day.entity.body


def test_a_folder_is_ingested_without_secrets_and_they_are_counted(forge: Forge, tmp_path: Path) -> None:
    folder = vault(tmp_path / "v", one=f"---\nkey: {TOKEN}\n---\nNow {TOKEN}", two="Words.")
    report = notes.ingest_folder(forge, folder)
    assert (report.redacted, report.secret) == ({"github-token": 2}, ("v/one.md",))
    assert not any(TOKEN in f"{note.body} {note.extra}" for note in forge.registry().notes)


def test_an_edited_note_keeps_its_id_and_says_when_its_text_changed(forge: Forge) -> None:
    note = notes.add(forge, "Buy milk", at=parse_instant("2026-01-01")).entity
    titled = notes.edit(forge, note.id, title="Milk").entity
    assert isinstance(titled, Note)
    assert (titled.id, titled.title, titled.body, titled.updated_at) == (
        note.id, "Milk", "Buy milk", parse_instant("2026-01-01"),
    )  # fmt: skip
    changed = notes.edit(forge, note.id, content="Buy tea", tags=["shop"]).entity
    assert isinstance(changed, Note)
    assert (changed.body, changed.tags, changed.updated_at) == ("Buy tea", ("shop",), NOW)


def test_a_note_is_not_emptied_by_an_edit(forge: Forge) -> None:
    note = notes.add(forge, "Buy milk").entity
    with pytest.raises(UsageError, match="the note holds no word"):
        notes.edit(forge, note.id, content=" \n")
    with pytest.raises(UsageError, match="the title holds no word; leave --title out"):
        notes.edit(forge, note.id, title=" ")
    assert forge.registry().notes == [note]


def test_a_folder_is_ingested_once_and_only_its_changes_again(forge: Forge, tmp_path: Path) -> None:
    folder = vault(
        tmp_path / "vault",
        dated="---\ntitle: Plan\ntags: [a, b]\ndate: 2025-03-04\n---\nSee [[other]] and ![[pic.png]]. #c/d\n",
        other="No heading here.\n",
        rule="---\nnot: [front matter\n",
        empty="---\n",
    )
    (folder / "pic.png").write_bytes(b"\x89PNG")
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "app.md").write_text("settings")
    report = notes.ingest_folder(forge, folder)
    assert report.states == {"new": 3}
    assert [(p.path, p.message) for p in report.problems] == [("vault/empty.md", "holds no word")]
    found = {note.title: note for note in forge.registry().notes}
    assert set(found) == {"Plan", "other", "rule"}
    plan = found["Plan"]
    assert (plan.tags, plan.created_at) == (("a", "b", "c/d"), parse_instant("2025-03-04"))
    assert plan.body == "See [[other]] and ![[pic.png]]. #c/d"
    again = notes.ingest_folder(forge, folder)
    assert (again.states, again.outcome.commit) == ({"unchanged": 3}, None)

    notes.edit(forge, plan.id, tags=["mine"])
    vault(folder, other="Another text.\n")
    (folder / "rule.md").unlink()
    report = notes.ingest_folder(forge, folder)
    assert report.states == {"unchanged": 1, "changed": 1}
    assert [note.title for note in report.gone] == ["rule"]
    later = {note.title: note for note in forge.registry().notes}
    assert later["Plan"].tags == ("mine",), "an unchanged file does not undo what a person changed"
    assert (later["other"].id, later["other"].body) == (found["other"].id, "Another text.")
    assert git(forge.root, "log", "-1", "--format=%s").strip() == "note: ingest 0 new, 1 changed"
    assert (forge.root / entity_path(later["rule"])).is_file()


def test_a_folder_that_is_none_is_refused(forge: Forge, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        notes.ingest_folder(forge, tmp_path / "gone")
    (tmp_path / "vault.zip").touch()
    with pytest.raises(UsageError, match="is a file; unpack a"):
        notes.ingest_folder(forge, tmp_path / "vault.zip")


def test_a_colour_is_no_tag(forge: Forge) -> None:
    made = notes.add(forge, "Paint it #ff8800 or #A0B0C0FF, not #decade or #b2b. #ff8800s #ff8800/x")
    assert isinstance(made.entity, Note)
    assert made.entity.tags == ("decade", "b2b", "ff8800s", "ff8800/x")


def test_what_was_edited_here_outlives_a_change_of_the_file(forge: Forge, tmp_path: Path) -> None:
    folder = vault(tmp_path / "vault", tea="# Tea\n\nGreen.")
    (made,) = notes.ingest_folder(forge, folder).outcome.change.writes
    notes.edit(forge, made.id, title="Tea for guests")
    vault(folder, tea="# Tea\n\nGreen and black.")
    report = notes.ingest_folder(forge, folder)
    note = forge.registry().find(Note, made.id)
    assert note is not None
    assert (report.problems, note.title, note.body) == ((), "Tea for guests", "# Tea\n\nGreen and black.")
    notes.edit(forge, made.id, content="My own words.")
    vault(folder, tea="# Tea\n\nWhite.")
    for _ in range(2):
        (problem,) = notes.ingest_folder(forge, folder).problems
        assert problem.message.endswith(
            "was edited here and in its file, and stays as it is; give both the same text"
        )
        note = forge.registry().find(Note, made.id)
        assert note is not None
        assert (note.title, note.body) == ("Tea for guests", "My own words.")


def test_a_folder_that_is_read_again_for_another_commit_reports_each_problem_once(
    forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = vault(tmp_path / "vault", tea="# Tea\n\nGreen.", empty="")
    (made,) = notes.ingest_folder(forge, folder).outcome.change.writes
    notes.edit(forge, made.id, content="My own words.")
    vault(folder, tea="# Tea\n\nWhite.")
    commit = Forge.commit

    def late(forge: Forge, decide: Callable[[], Change], options: WriteOptions = COMMITTED) -> Outcome:
        decide()
        return commit(forge, decide, options)

    monkeypatch.setattr(Forge, "commit", late)
    assert [p.code for p in notes.ingest_folder(forge, folder).problems] == ["no-note", "edited-twice"]


def test_a_note_has_no_terminal_codes_no_reserved_heading_and_no_title_of_code(forge: Forge) -> None:
    text = "\x1b[32mPASS\x1b[0m all 40\n\n```python\n# helper code #tag\n```\n\n## Conflicting edits\n\nHow."
    note = notes.add(forge, text).entity
    assert isinstance(note, Note)
    assert (note.title, note.tags) == ("PASS all 40", ())
    assert note.body.startswith("PASS all 40\n")
    assert "\n\\## Conflicting edits\n" in note.body
    assert note.text == note.body.replace("\\##", "##")
    assert "\\" not in search(forge, "conflicting edits").hits[0].hit.snippet
    assert not list(unresolved_edits(forge.registry(), CheckInput()))


def test_a_file_that_moved_keeps_its_note(forge: Forge, tmp_path: Path) -> None:
    folder = vault(tmp_path / "vault", pump="# Pump\n\nThe heat pump goes behind the shed.")
    notes.ingest_folder(forge, folder)
    before = forge.registry().notes
    (folder / "pump.md").rename(folder / "heating.md")
    report = notes.ingest_folder(forge, folder)
    assert (dict(report.states), report.gone) == ({"moved": 1}, ())
    assert [(note.id, note.source) for note in forge.registry().notes] == [(before[0].id, "vault/heating.md")]


def test_two_folders_of_one_name_are_the_notes_of_two_projects(forge: Forge, tmp_path: Path) -> None:
    texts = ("Call the builder", "Ring the school")
    for place, text in zip(("work", "home"), texts, strict=True):
        (tmp_path / place).mkdir()
        folder = vault(tmp_path / place / "vault", todo=f"# Todo\n\n{text}.")
        notes.ingest_folder(forge, folder, project=place.capitalize())
    found = {(note.project_name, note.body.partition("\n\n")[2]) for note in forge.registry().notes}
    assert found == {("Work", "Call the builder."), ("Home", "Ring the school.")}
    assert notes.ingest_folder(forge, folder).states == {"unchanged": 1}
    notes.ingest_folder(forge, folder, project="Work")
    with pytest.raises(UsageError) as refused:
        notes.ingest_folder(forge, folder)
    assert str(refused.value) == "'Home', 'Work' have notes of this folder; say --project which"


def test_two_folders_of_one_name_have_their_own_notes_in_one_project(forge: Forge, tmp_path: Path) -> None:
    at_work, at_home = tmp_path / "work" / "vault", tmp_path / "home" / "vault"
    for folder, text in ((at_work, "Call the builder."), (at_home, "Ring the school.")):
        folder.parent.mkdir()
        same = "---\ndate: 2026-01-02\n---\nThe same everywhere."
        vault(folder, todo=f"---\ndate: 2026-01-02\n---\n{text}", template=same)
        notes.ingest_folder(forge, folder)
    assert notes.ingest_folder(forge, at_work).states == {"unchanged": 2}
    vault(at_work, todo="The builder comes on Monday.")
    vault(at_home, todo="The school rang.")
    for folder in (at_home, at_work):
        assert notes.ingest_folder(forge, folder).states == {"changed": 1, "unchanged": 1}
        assert notes.ingest_folder(forge, folder).outcome.commit is None
    bodies = sorted(note.body for note in forge.registry().notes)
    assert bodies == ["The builder comes on Monday.", "The same everywhere.", "The school rang."]


def test_a_folder_is_known_where_it_was_moved_or_copied_to(forge: Forge, tmp_path: Path) -> None:
    folder = vault(tmp_path / "vault", a="One.", b="Two.", c="Three.")
    notes.ingest_folder(forge, folder)
    copy = tmp_path / "copy" / "vault"
    shutil.copytree(folder, copy)
    assert notes.ingest_folder(forge, copy).outcome.commit is None
    vault(copy, a="One, changed.")
    assert notes.ingest_folder(forge, copy).states == {"changed": 1, "unchanged": 2}
    vault(copy, a="Changed again.", b="Changed.", c="Changed too.")
    assert notes.ingest_folder(forge, copy).states == {"changed": 3}, "its place is known now"


def test_notes_that_name_no_folder_are_found_again(forge: Forge, tmp_path: Path) -> None:
    folder = vault(tmp_path / "vault", a="One.")
    notes.ingest_folder(forge, folder)
    (note,) = forge.registry().notes
    path = forge.root / entity_path(note)
    path.write_text(re.sub("source_folders: .*\n", "", path.read_text("utf-8")), encoding="utf-8")
    git(forge.root, "commit", "-qam", "as an earlier version wrote it")
    vault(folder, a="Another text.")
    assert notes.ingest_folder(forge, folder).states == {"changed": 1}
    (changed,) = forge.registry().notes
    assert (changed.id, len(changed.source_folders)) == (note.id, 1)


def test_what_front_matter_holds_is_read_key_by_key_and_the_rest_is_named(
    forge: Forge, tmp_path: Path
) -> None:
    folder = vault(
        tmp_path / "vault",
        twice="---\ntags: [one]\ntags: [two]\n---\nTwice.",
        broken="---\ntitle: Budget: 2026 [draft\ntags:\n- a\ncreated: 12.04.2024\n---\nBroken.",
        anchor="---\nbase: &x [1, 2]\nalso: *x\ntags: [yaml]\n---\nAnchor.",
        dates="---\ncreated: 1717171717\nupdated: 2025-06-07 08:09\n---\nDates.",
        slashes="---\ndate: 04/05/2024\nmodified: null\n---\nSlashes.",
        rule="---\n\nA rule: no front matter.\n\n---\n\nRule.",
        marker="---\ntags: [git]\n---\nMarker.\n<<<<<<< HEAD",
    )
    report = notes.ingest_folder(forge, folder)
    assert [(problem.path, problem.message) for problem in report.unread] == [
        ("vault/anchor.md", "base: YAML anchors are not allowed"),
        ("vault/anchor.md", "also: YAML aliases are not allowed"),
        ("vault/broken.md", "title: a value that holds `: ` needs quotes"),
        ("vault/slashes.md", "date: '04/05/2024' is no date such as 2026-03-04"),
        ("vault/twice.md", "tags: is given twice"),
    ]
    found = {note.body.partition(".")[0]: note for note in forge.registry().notes}
    tags = {name: note.tags for name, note in found.items() if note.tags}
    assert tags == {"Twice": ("one",), "Broken": ("a",), "Anchor": ("yaml",), "Marker": ("git",)}
    assert found["Broken"].extra == {"front_matter": {"title": "Budget: 2026 [draft"}}
    assert found["Anchor"].extra == {"front_matter": {"base": "&x [1, 2]", "also": "*x"}}
    assert format_date(found["Broken"].created_at) == "2024-04-12"
    assert (found["Dates"].created_at, found["Dates"].updated_at) == (
        Instant(1_717_171_717_000),
        parse_instant("2025-06-07T08:09:00Z"),
    )
    assert notes.ingest_folder(forge, folder).unread == ()


def test_a_note_without_a_date_is_the_same_one_on_every_machine(forge: Forge, tmp_path: Path) -> None:
    folder = vault(tmp_path / "vault", pump="The pump runs at 12 V.")
    notes.ingest_folder(forge, folder)
    (note,) = forge.registry().notes
    assert (note.created_at, note.updated_at) == (UNKNOWN, NOW)
    git(forge.root, "reset", "-q", "--hard", "HEAD~1")
    os.utime(folder / "pump.md", (1, 1))
    notes.ingest_folder(replace(forge, now=lambda: Instant(NOW + 1)), folder)
    (other,) = forge.registry().notes
    assert other == replace(note, updated_at=Instant(NOW + 1))
    vault(folder, pump="The pump runs at 24 V.")
    assert notes.ingest_folder(forge, folder).states == {"changed": 1}


def test_two_names_that_are_one_to_other_computers_are_told(forge: Forge, tmp_path: Path) -> None:
    folder = vault(
        tmp_path / "vault", **{"cafe\u0301": "Mac.", "caf\u00e9": "Linux.", "a  b": "1", "a b": "2"}
    )
    for state in ("new", "unchanged"):
        report = notes.ingest_folder(forge, folder)
        assert report.states == {state: 2}
        why = "has the name of another file but for blanks or accents; rename one of them"
        assert [(p.path, p.message) for p in report.problems] == [
            ("vault/a b.md", why),
            ("vault/caf\u00e9.md", why),
        ]
    for name in ("a  b", "cafe\u0301"):
        (folder / f"{name}.md").unlink()
    report = notes.ingest_folder(forge, folder)
    assert (report.states, report.problems) == ({"changed": 2}, ())


def test_front_matter_is_read_in_every_spelling_and_its_other_keys_are_kept(
    forge: Forge, tmp_path: Path
) -> None:
    head = (
        "---\nTitle: Sauna\nkeywords: wood, heat\ndate: '[[2026-03-05]]'\naliases: [Banya]\nrating: 4\n---\n"
    )
    folder = vault(tmp_path / "vault", sauna=f"{head}Forty logs a night.")
    (folder / "2026-03-03 walk.md").write_text("Along the canal.", encoding="utf-8")
    notes.ingest_folder(forge, folder)
    walk, sauna = sorted(forge.registry().notes, key=lambda note: note.created_at)
    assert (format_date(walk.created_at), format_date(sauna.created_at)) == ("2026-03-03", "2026-03-05")
    assert (sauna.title, sauna.tags, sauna.body) == ("Sauna", ("wood", "heat"), "Forty logs a night.")
    assert sauna.extra == {"front_matter": {"aliases": ["Banya"], "rating": "4"}}
    typed = notes.add(forge, f"{head}Fifty logs.").entity
    assert isinstance(typed, Note)
    assert (typed.title, format_date(typed.created_at)) == ("Sauna", "2026-03-05")
