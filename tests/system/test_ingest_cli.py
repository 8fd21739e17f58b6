"""`ingest` and `review` as a person types them, on small exports."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from agent_transcripts import Transcript
from claude_export import message
from cli_runner import Cli
from repositories import git


def export(*texts: str) -> str:
    """Write what claude.ai exports: one conversation."""
    said = [message("assistant" if n % 2 else "human", text, n) for n, text in enumerate(texts)]
    talk = {
        "uuid": "5b6f1c2e-7d3a-4c1b-9e55-0f2a3b4c5d6e",
        "name": "Queue design",
        "created_at": "2026-02-01T10:00:00Z",
        "updated_at": "2026-02-01T11:00:00Z",
        "chat_messages": said,
    }
    return json.dumps([talk])


TEXTS = (
    "Which database shall we use for the queue?",
    "We decided to use Postgres for the queue because it is already there.",
    "D007: Retry three times",
    "Noted.",
)

UNSORTED = (
    "nothing names the project of 1 conversation: `forgekit conversation edit ID --project NAME` moves one; "
    "before an ingest, [projects] patterns in forgekit.toml or --project NAME give it"
)


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    path = tmp_path / "exports" / "conversations.json"
    path.parent.mkdir()
    path.write_text(export(*TEXTS), encoding="utf-8")
    return path


def test_an_export_is_filed_in_one_commit_and_a_second_time_not_at_all(
    registry: Path, cli: Cli, exported: Path
) -> None:
    told = cli("ingest", "claude", str(exported), "--project", "Nexus", "--with-text")
    assert told.code == 0
    assert told.out.startswith("new  con_")
    assert told.out.endswith("Queue design  (Nexus, by --project): 4 new turns, 1 candidate\n")
    assert told.err == (
        "new project 'Nexus'\n"
        "ingest: 1 new, 0 joined, 0 grown, 0 unchanged; 0 archives, 1 decision or thread registered, "
        "0 new lineage edges, 1 candidate, 0 secrets redacted, 0 doubtful: committed as <commit>\n"
        "next: `forgekit review`\n"
    )
    again = cli("ingest", "auto", str(exported), "--json").json
    assert (again["commit"], again["written"], again["dry_run"]) == (None, [], False)
    assert cli("ingest", "auto", str(exported), "--dry-run", "--json").json["dry_run"]
    assert [talk["state"] for talk in again["conversations"]] == ["unchanged"]
    assert "Forgekit-Op: ingest" in git(registry, "log", "-1", "--format=%B")


def test_a_conversation_stays_where_it_was_filed_until_that_is_undone(
    registry: Path, cli: Cli, exported: Path
) -> None:
    told = cli("ingest", "claude", str(exported))
    assert (told.err.splitlines()[0], told.err.splitlines()[2]) == ("new project 'Unsorted'", UNSORTED)
    stays = (
        "1 conversation stays in 'Unsorted', as the registry has it; "
        "`forgekit conversation edit ID --project NAME` moves one, with what waits for review\n"
    )
    for options in ((), ("--json",)):
        told = cli("ingest", "claude", str(exported), "--project", "Nexus", *options)
        assert told.err.endswith(stays)
    assert "stays" not in cli("ingest", "claude", str(exported), "--project", "unsorted").err
    git(registry, "revert", "--no-edit", "HEAD")
    told = cli("ingest", "claude", str(exported), "--project", "Nexus")
    assert "(Nexus, by --project)" in told.out
    assert "stays" not in told.err


def test_a_dry_run_writes_nothing_and_without_a_commit_the_files_are_there(
    registry: Path, cli: Cli, exported: Path
) -> None:
    assert "+title: Queue design" in cli("ingest", "claude", str(exported), "--dry-run").out
    assert git(registry, "status", "--porcelain") == ""
    told = cli("ingest", "claude", str(exported), "--no-commit")
    made, summed, *_ = told.err.splitlines()
    assert (made, summed.partition(": ")[0]) == ("new project 'Unsorted'", "ingest")
    assert summed.endswith("files written, not committed")
    assert "registry/candidates/" in git(registry, "status", "--porcelain", "--untracked-files=all")


@pytest.mark.usefixtures("registry")
def test_what_was_said_is_searched_and_shown(cli: Cli, exported: Path) -> None:
    cli("ingest", "claude", str(exported), "--with-text")
    found = cli("search", "Postgres", "already", "--scope", "messages", "--json").json["hits"]
    assert [(hit["turn"], hit["speaker"], hit["title"]) for hit in found] == [
        (2, "assistant", "Queue design")
    ]
    shown = cli("conversation", "show", "Queue design", "--turns", "3-4")
    assert shown.out == (
        "### 3. User, 2026-02-01T10:02:00Z\n\nD007: Retry three times\n\n"
        "### 4. Assistant, 2026-02-01T10:03:00Z\n\nNoted.\n\n"
    )
    assert cli("search", "Postgres", "--scope", "messages", "--mode", "semantic").code == 2
    hits = cli("search", "Postgres queue", "--json").json["hits"]
    assert [hit["kind"] for hit in hits][-1] == "message"
    assert {hit["kind"] for hit in hits} <= {"conversation", "decision", "message"}
    assert "turn 2, assistant  Queue design" in cli("search", "Postgres queue").out


def test_without_a_kept_text_there_is_nothing_to_show(registry: Path, cli: Cli, exported: Path) -> None:
    cli("ingest", "claude", str(exported))
    told = cli("conversation", "show", "Queue design", "--turns", "1")
    assert told.code == 1
    assert "`forgekit ingest --with-text` keeps it" in told.err
    assert not (registry / "archives" / "transcripts").exists()


@pytest.mark.usefixtures("registry")
def test_a_review_approves_rewords_and_rejects(cli: Cli, exported: Path) -> None:
    cli("ingest", "claude", str(exported), "--project", "Nexus")
    waiting = cli("review", "--json").json
    assert [(item["proposes"], item["turn"]) for item in waiting] == [("decision", 2)]
    name = waiting[0]["short_id"]
    done = cli("review", "--approve", name, "--title", name, "Use Postgres for the queue")
    assert done.code == 0
    assert done.out.split("  ", 1)[1] == "Use Postgres for the queue\n"
    shown = cli("decision", "show", "Use Postgres for the queue", "--json").json
    assert shown["created_at"] == "2026-02-01T10:01:00Z"
    assert shown["originated_in"] == waiting[0]["conversation_id"]
    assert cli("review", "--reject", name).err == f"forgekit: {name} is already approved\n"
    assert cli("review", "--json").json == []
    assert cli("check").code == 0


@pytest.mark.usefixtures("registry")
def test_approve_above_a_confidence_are_approved_at_once(cli: Cli, exported: Path) -> None:
    cli("ingest", "claude", str(exported))
    assert cli("review", "--approve-above", "1.0").err == "nothing to do\n"
    assert cli("review", "--approve-above", "1.0", "--dry-run", "--json").json == {
        "commit": None,
        "dry_run": True,
        "written": [],
        "answered": [],
        "conflicts": [],
    }
    told = cli("review", "--approve-above", "0.1", "--json").json
    assert [answer["status"] for answer in told["answered"]] == ["approved"]


@pytest.mark.parametrize(
    "answer",
    [
        ("--approve", "x"),
        ("--reject", "x"),
        ("--merge", "x", "y"),
        ("--title", "x", "y"),
        ("--approve-above", "0"),
    ],
)
def test_a_list_answers_nothing(registry: Path, cli: Cli, exported: Path, answer: tuple[str, ...]) -> None:
    cli("ingest", "claude", str(exported))
    before = git(registry, "rev-parse", "HEAD")
    told = cli("review", "--list", *answer)
    assert (told.code, told.out, told.err) == (
        2,
        "",
        "forgekit: --list answers nothing; leave it out, or the answers\n",
    )
    assert git(registry, "rev-parse", "HEAD") == before


def test_a_setting_keeps_the_text(registry: Path, cli: Cli, exported: Path) -> None:
    settings = registry / "forgekit.toml"
    text = settings.read_text(encoding="utf-8").replace("keep_text = false", "keep_text = true")
    settings.write_text(text, encoding="utf-8")
    cli("ingest", "claude", str(exported))
    assert len(list((registry / "archives" / "transcripts").rglob("*.md"))) == 1
    shutil.rmtree(registry / ".git" / "forgekit")
    assert cli("search", "Postgres", "--scope", "messages", "--json").json["hits"]


def test_a_cron_line_files_what_is_new_from_any_folder(
    registry: Path, cli: Cli, exported: Path, tmp_path: Path
) -> None:
    line = ("-C", str(registry), "ingest", "auto", str(exported.parent), "--with-text")
    first = cli(*line, root=tmp_path)
    assert (first.code, first.out.count("new  con_")) == (0, 1)
    assert cli(*line).err.endswith("0 doubtful: unchanged\n")
    exported.write_text(export(*TEXTS, "One more thing."), encoding="utf-8")
    assert cli(*line).out.endswith("1 new turn\n")
    assert git(registry, "rev-list", "--count", "HEAD").strip() == "3"


@pytest.mark.usefixtures("registry")
def test_batches_are_told(cli: Cli, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talks = json.loads(export(*TEXTS)) + json.loads(export(*TEXTS).replace("5b6f1c2e", "5b6f1c2f"))
    exported.write_text(json.dumps(talks), encoding="utf-8")
    monkeypatch.setattr("forgekit.filing.conversations.BATCH_SIZE", 1)
    told = cli("ingest", "claude", str(exported), "--with-text")
    assert told.err.splitlines()[1].endswith("0 doubtful: committed as <commit>, the last of 2 commits")


@pytest.mark.usefixtures("registry")
def test_no_date_is_said_where_there_is_none(cli: Cli, tmp_path: Path) -> None:
    pasted = tmp_path / "chat.md"
    pasted.write_text("**User:** Where to?\n\n**Assistant:** We decided to use Postgres.\n", encoding="utf-8")
    cli("ingest", "markdown", str(pasted))
    assert "\tno date\t" in cli("conversation", "list").out
    assert ", no date)" in cli("review", "--list").out
    (talk,), (found,) = (cli(kind, "list", "--json").json for kind in ("conversation", "candidate"))
    assert (talk["created_at"], found["created_at"]) == (None, None)
    for item in (talk, found):
        shown = cli("show", item["short_id"]).out.splitlines()
        assert [line.split(maxsplit=2)[2] for line in shown if line.startswith("created at")] == ["no date"]
    assert "1970-01-01" not in cli("export", "--format", "csv").out


@pytest.mark.usefixtures("registry")
def test_a_note_whose_file_is_gone_is_named_once(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    for name in ("pump", "roof"):
        (folder / f"{name}.md").write_text(f"About the {name}.", encoding="utf-8")
    assert cli("ingest", "notes", str(folder), "--project", "House").code == 0
    [path] = [row["path"] for row in cli("note", "list", "--json").json if row["title"] == "pump"]
    (folder / "pump.md").unlink()
    first = cli("ingest", "notes", str(folder)).err.splitlines()
    assert [line.partition(" ")[2] for line in first[:-1]] == [
        f"pump: its file is gone; the note stays (`git rm {path}` deletes it)"
    ]
    (again,) = cli("ingest", "notes", str(folder)).err.splitlines()
    assert again == first[-1]
    assert "1 unchanged, 1 gone" in again


def test_a_trace_names_the_compaction_that_is_the_same_conversation(
    registry: Path, cli: Cli, tmp_path: Path
) -> None:
    talk = Transcript("s1")
    talk.prompt("Add the export.")
    talk.compact("This session is being continued from a previous conversation that ran out of context.")
    path = talk.write(tmp_path / "s1.jsonl")
    assert cli("ingest", "claude-code", str(path), "--project", "Nexus", root=registry).code == 0
    rows = cli("conversation", "list").out.splitlines()
    compaction, session = sorted(
        (row.split("\t") for row in rows), key=lambda row: "compaction" not in row[2]
    )
    assert cli("trace", session[0]).err.splitlines() == [
        f"{compaction[0]} {compaction[2]} is the same conversation",
        f"{session[0]} is joined to no other conversation",
    ]
    assert cli("trace", compaction[0]).err.splitlines() == [
        f"{session[0]} {session[2]} is the same conversation",
        f"{compaction[0]} is joined to no other conversation",
    ]


@pytest.mark.usefixtures("registry")
def test_a_file_with_a_secret_is_named(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "pump.md").write_text(f"The key is {'AKIA' + 'QYLPMN5HFIQR7XYZ'}.", encoding="utf-8")
    (folder / "roof.md").write_text("About the roof.", encoding="utf-8")
    lines = cli("ingest", "notes", str(folder), "--project", "House").err.splitlines()
    assert lines[-2] == "kept without a secret, which the file still holds: vault/pump.md"
    assert "2 new" in lines[-1]
    assert "1 redacted" in lines[-1]
