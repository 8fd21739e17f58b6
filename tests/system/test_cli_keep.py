"""Keeping a registry in order, through the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from cli_runner import Cli
from repositories import git

CASES = Path(__file__).parents[1] / "cases" / "archives"
NO_MODEL = "no embedding model is installed; to search by meaning: forgekit model install"


def _path(cli: Cli, name: str, root: Path) -> Path:
    return root / str(cli("show", name, "--json", root=root).json["path"])


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_init_makes_a_registry_once(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "new"
    ran = cli("init", str(root))
    assert (ran.code, ran.out) == (0, ".gitattributes\narchives/.gitkeep\nforgekit.toml\nregistry/.gitkeep\n")
    assert ran.err == (
        f"made a git repository in {root}\n"
        f"init {root}: committed as <commit>\n"
        "next: `forgekit sync-compression --archive FILE`, "
        "or `forgekit decision new TEXT --project NAME`\n"
    )
    assert git(root, "status", "--porcelain") == ""
    again = cli("init", root=root)
    assert (again.code, again.out, again.err) == (0, "", f"{root} is a registry already: nothing to do\n")
    assert git(root, "rev-list", "--count", "HEAD") == "1\n"


def test_init_in_a_repository_leaves_what_is_there(cli: Cli, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitattributes").write_text("*.png binary", encoding="utf-8")
    git(tmp_path, "add", ".gitattributes")
    git(tmp_path, "commit", "--quiet", "--message", "start")
    (tmp_path / "mine.txt").write_text("staged", encoding="utf-8")
    git(tmp_path, "add", "mine.txt")
    assert cli("-C", str(tmp_path), "init").code == 0
    assert (tmp_path / ".gitattributes").read_text(encoding="utf-8").splitlines() == [
        "*.png binary",
        "archives/** -text",
        "registry/**/*.md merge=forgekit",
        "archives/**/*.md merge=forgekit",
    ]
    assert git(tmp_path, "status", "--porcelain") == "A  mine.txt\n"


def test_init_refuses_a_registry_inside_another(cli: Cli, registry: Path) -> None:
    ran = cli("init", "inner", root=registry)
    assert ran.code == 2
    assert (
        ran.err
        == f"forgekit: {registry / 'inner'} lies in the registry at {registry}; a registry holds no other\n"
    )
    assert not (registry / "inner").exists()


def test_init_refuses_a_folder_above_a_registry(cli: Cli, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert cli("init", str(tmp_path / "docs"), root=tmp_path).code == 0
    ran = cli("init", str(tmp_path), root=tmp_path)
    said = f"forgekit: {tmp_path} holds the registry at {tmp_path / 'docs'}; a registry holds no other\n"
    assert (ran.code, ran.err) == (2, said)
    assert not (tmp_path / "forgekit.toml").exists()
    assert cli("init", str(tmp_path / "notes"), root=tmp_path).code == 0


@pytest.mark.parametrize("name", ["archives/2025/report.pdf", "registry/users.csv", "archives/old.md"])
def test_init_refuses_folders_that_hold_other_files(cli: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("mine\n", encoding="utf-8")
    ran = cli("init", str(tmp_path), root=tmp_path)
    assert (ran.code, "move them elsewhere, or make the registry in a folder of its own" in ran.err) == (
        2,
        True,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [name.partition("/")[0]]


def test_check_names_file_line_and_field(cli: Cli, registry: Path) -> None:
    name = cli("decision", "new", "Use NATS", "--project", "P", root=registry).out.strip()
    path = _path(cli, name, registry)
    _replace(path, "created_at:", "dependencies: [018bcfe5-6800-8f8f-b518-b34bfcd74276]\ncreated_at:")
    ran = cli("check")
    assert ran.code == 1
    (line,) = ran.out.splitlines()
    assert line.startswith(f"error: {path.relative_to(registry)}:7: dependencies: ")
    assert ran.err == "2 entities checked: 1 error, 0 remarks\n"
    one = cli("check", str(path), "--json")
    assert (one.code, one.json["checked"], one.json["problems"][0]["line"]) == (1, 1, 7)
    assert cli("check", "registry/projects").code == 0
    git(registry, "add", "--all")
    assert cli("check").code == 1


def test_check_takes_a_path_as_it_is_written(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("decision", "new", "Use NATS", "--project", "The Nexus")
    (registry / "empty").mkdir()
    monkeypatch.chdir(registry / "registry")
    checked = [
        cli("check", path).err for path in ("..", "decisions/..", "decisions", "../archives/../registry")
    ]
    assert [line.partition(" checked")[0] for line in checked] == [
        "2 entities",
        "2 entities",
        "1 entity",
        "2 entities",
    ]
    ran = cli("check", "../empty")
    assert (ran.code, ran.err) == (
        2,
        "forgekit: no file of the registry lies in ../empty; nothing was checked\n",
    )


def test_check_turns_an_edit_in_place_into_a_revision(cli: Cli, registry: Path) -> None:
    name = cli(
        "decision", "new", "Use NATS", "--project", "P", "--at", "2026-03-01", root=registry
    ).out.strip()
    path = _path(cli, name, registry)
    _replace(path, "Use NATS", "Use JetStream")
    found = cli("check")
    assert (found.code, found.err) == (
        1,
        "2 entities checked: 1 error, 0 remarks; `forgekit check --fix` fixes 1\n",
    )
    dry = cli("check", "--fix", "--dry-run")
    assert "-decision: Use JetStream" in dry.out.splitlines()
    told = cli("check", "--fix", "--dry-run", "--json").json
    assert (told["dry_run"], told["commit"], len(told["written"])) == (True, None, 2)
    assert "Use JetStream" in path.read_text(encoding="utf-8")
    plain = cli("check", "--json").json
    assert (plain["dry_run"], plain["written"]) == (False, [])
    ran = cli("check", "--fix")
    assert ran.code == 0
    assert ran.err == "check --fix: committed as <commit>\n3 entities checked: 0 errors, 0 remarks\n"
    old = cli("show", name, "--json").json
    assert (old["decision"], old["status"]) == ("Use NATS", "revised")
    new = next(d for d in cli("decision", "list", "--json").json if d["status"] == "active")
    assert (new["decision"], new["decision_id"]) == ("Use JetStream", old["superseded_by"])
    assert git(registry, "status", "--porcelain") == ""
    assert git(registry, "log", "-1", "--format=%s") == "check: fix 1 file\n"


def test_check_promises_no_more_than_it_mends(cli: Cli, registry: Path) -> None:
    ran = cli("decision", "new", "Use NATS", "--project", "P", "--at", "2026-03-01", root=registry)
    name = ran.out.strip()
    path = _path(cli, name, registry)
    place = path.relative_to(registry)
    queues = cli("conversation", "new", "Queues", "--project", "P").out.strip()
    talk = cli("show", queues, "--json").json["conversation_id"]
    text = path.read_text(encoding="utf-8")
    _replace(path, "created_at:", f"originated_in: {talk}\ncreated_at:")
    edited = path.read_text(encoding="utf-8")
    said = f"error: {place}:7: originated_in: was changed, and the id is made from it (undo the edit)"
    for options in ((), ("--fix",)):
        found = cli("check", *options)
        assert (found.code, found.out.splitlines()[0]) == (1, said)
        assert found.err == "3 entities checked: 1 error, 0 remarks\n"
        assert path.read_text(encoding="utf-8") == edited
    path.write_text(text, encoding="utf-8")
    assert cli("decision", "invalidate", name, "--reason", "It is over").code == 0
    _replace(path, "Use NATS", "Use JetStream")
    said = f"error: {place}:3: decision: the text was changed under the same id; a new text is a new decision"
    found = cli("check", "--fix")
    assert (found.code, found.out) == (1, f"{said} (undo the edit)\n")
    # Where git cannot say what was committed, the edit is found all the same.
    (registry / ".git/refs/heads/main").write_text("1" * 40 + "\n", encoding="utf-8")
    assert cli("check").out == (
        f"error: {place}:3: decision: the text, originated_in or project_uuid was changed, and the id is "
        "made from them (undo the edit)\n"
    )


def test_check_brings_files_into_canonical_form_and_leaves_uncommitted_work(cli: Cli, registry: Path) -> None:
    names = [
        cli("decision", "new", text, "--project", "P", root=registry).out.strip()
        for text in ("Use A", "Use B")
    ]
    paths = [_path(cli, name, registry) for name in names]
    for path in paths:
        _replace(path, "status: active", "status:   'active'")
    git(registry, "commit", "--quiet", "--all", "--message", "by hand")
    _replace(paths[1], "status: ", "tags: [mine]\nstatus: ")
    before = paths[1].read_text(encoding="utf-8")
    assert cli("check").out.count("info: ") == 2
    ran = cli("check", "--fix")
    assert ran.code == 0
    assert "status: active\n" in paths[0].read_text(encoding="utf-8")
    assert paths[1].read_text(encoding="utf-8") == before
    assert git(registry, "status", "--porcelain").split() == ["M", str(paths[1].relative_to(registry))]


def test_check_leaves_a_draft_that_git_is_told_to_ignore(cli: Cli, registry: Path) -> None:
    (registry / ".git/info/exclude").write_text("registry/threads/\n", encoding="utf-8")
    assert cli("project", "new", "P", root=registry).code == 0
    name = cli("thread", "new", "Which queue?", "--project", "P", "--no-commit").out.strip()
    path = _path(cli, name, registry)
    _replace(path, "status: open", "status:   'open'")
    before = path.read_bytes()
    ran = cli("check", "--fix")
    assert (ran.code, ran.out.split(":")[:2]) == (0, ["info", f" {path.relative_to(registry)}"])
    assert path.read_bytes() == before
    assert git(registry, "ls-files", "--", "registry/threads") == ""


def test_check_mends_an_edit_that_is_staged(cli: Cli, registry: Path) -> None:
    """The hook that refuses the commit says so."""
    name = cli("decision", "new", "Use NATS", "--project", "P", root=registry).out.strip()
    path = _path(cli, name, registry)
    _replace(path, "Use NATS", "Use JetStream")
    git(registry, "add", "--all")
    assert cli("check").code == 1
    assert cli("check", "--fix", "--dry-run").err.startswith("check --fix: nothing written (dry run)\n")
    ran = cli("check", "--fix")
    assert (ran.code, ran.err) == (
        0,
        "check --fix: committed as <commit>\n3 entities checked: 0 errors, 0 remarks\n",
    )
    assert git(registry, "status", "--porcelain") == ""


def test_converted_line_ends_are_no_finding(cli: Cli, registry: Path) -> None:
    name = cli("decision", "new", "Use NATS", "--project", "P", root=registry).out.strip()
    git(registry, "config", "core.autocrlf", "true")
    git(registry, "rm", "--quiet", "-r", "--cached", "registry")
    git(registry, "reset", "--quiet", "--hard")
    path = _path(cli, name, registry)
    assert b"\r\n" in path.read_bytes()
    for options in ((), ("--fix",)):
        ran = cli("check", *options)
        assert (ran.code, ran.out, ran.err) == (0, "", "2 entities checked: 0 errors, 0 remarks\n")
    path.write_bytes(path.read_bytes().replace(b"Use NATS", b"Use JetStream"))
    assert cli("check", "--fix").code == 0
    assert git(registry, "status", "--porcelain") == ""
    assert cli("check").out == ""


def test_status_is_one_screen(cli: Cli, registry: Path) -> None:
    assert "no project yet" in cli("status", root=registry).out
    cli("decision", "new", "Use NATS", "--project", "P", "--at", "2026-01-01")
    cli("thread", "new", "Which queue?", "--priority", "high")
    (registry / "registry" / "stray.txt").touch()
    ran = cli("status")
    assert (ran.code, ran.out.splitlines()[0]) == (
        0,
        "P: 1 active decision, 1 open thread, 0 conversations",
    )
    found = cli("status", "--json").json
    assert found["stale"] == {"stale": 1, "active": 1, "share": 1.0}
    assert found["open_threads"] == {"high": 1}
    [line] = cli("thread", "list", "--json").json
    shown = ("thread_id", "short_id", "priority", "title", "project_name")
    assert found["next_threads"] == [{name: line[name] for name in shown}]
    assert (found["vectors"], found["vectors_of"]) == (0, 3)
    [project] = cli("project", "list", "--json").json
    assert [project[name] for name in ("active_decisions", "open_threads", "conversations")] == [1, 1, 0]
    assert found["unreadable"] == found["uncommitted"] == ["registry/stray.txt"]
    stale = cli("stale", "--json").json
    assert [(d["decision"], d["days"], d["reasons"]) for d in stale["stale"]] == [("Use NATS", 90, ["days"])]
    assert cli("stale", "--days", "100").err == (
        "1 file could not be read; `forgekit check` names them\nstale: 0 of 1 active decisions (0%)\n"
    )


def test_doctor_says_what_to_do(cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = cli("doctor", root=registry)
    assert ran.code == 0
    said = [line for line in ran.out.splitlines() if not line.startswith(" ")]
    assert [line[:3].strip() for line in said] == ["ok"] * len(said)
    assert (
        "ok   model: no embedding model is installed\n    to search by meaning: forgekit model install"
        in ran.out
    )
    (registry / "registry" / "stray.txt").touch()
    lock = registry / ".git" / "index.lock"
    lock.touch()
    import os

    os.utime(lock, (0, 0))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    findings = {f["subject"]: f for f in cli("doctor", "--json").json}
    assert cli("doctor").code == 1
    assert {name for name, f in findings.items() if not f["good"]} == {"identity", "stale-lock", "stray-file"}
    assert "git config --global user.name" in findings["identity"]["message"]
    assert (
        findings["stale-lock"]["advice"] == "if no other program uses the repository, delete .git/index.lock"
    )
    assert findings["stray-file"]["path"] == "registry/stray.txt"


def test_the_index_can_be_made_anew(cli: Cli, registry: Path) -> None:
    cli("decision", "new", "Use NATS", "--project", "P", root=registry)
    ran = cli("index", "build", "--force")
    assert ran.err == f"index: 2 added, 0 updated, 0 removed, 0 unreadable\nno vectors: {NO_MODEL}\n"
    found = cli("index", "status", "--json").json
    assert (found["entities"], found["existed"], found["unreadable"]) == (2, True, 0)


@pytest.fixture
def filed(registry: Path, cli: Cli) -> Path:
    files = [str(CASES / f"example_{letter}.md") for letter in "ab"]
    assert cli("sync-compression", "--project", "The Nexus", *files).code == 0
    return registry


def test_exports_say_the_same_in_every_format(cli: Cli, filed: Path) -> None:
    whole = cli("export", "--format", "json", root=filed).json
    lines = [json.loads(line) for line in cli("export", "--format", "jsonl").out.splitlines()]
    rows = list(csv.DictReader(io.StringIO(cli("export", "--format", "csv").out)))
    entities = [e for kind, group in whole.items() if kind != "schema" for e in group]
    ids = sorted(e["short_id"] for e in entities)
    assert ids == sorted(e["short_id"] for e in lines) == sorted(row["short_id"] for row in rows)
    assert whole["archive"][0]["body"] == (CASES / "example_a.md").read_text(encoding="utf-8")
    decision = next(d for d in whole["decision"] if d["short_id"] == "dec_ef7e00af8609")
    assert decision["dependents"]
    text = cli("export", "--format", "markdown", "--project", "The Nexus").out
    assert all(e["short_id"] in text for e in entities if e["kind"] in {"decision", "thread"})
    assert cli("export", "--format", "mermaid").out == (
        "flowchart LR\n"
        '    con_d5faf30f5d9e["ledger-retries-2026-03 (2023-11-14)"]\n'
        '    con_bfd788415939["ledger-api-2026-03 (2026-03-04)"]\n'
        '    con_bfd788415939 -->|"LEDGER_API_FROZEN"| con_d5faf30f5d9e\n'
    )


def test_log_has_the_registry_s_commits_alone(cli: Cli, registry: Path) -> None:
    (registry / "notes.txt").touch()
    git(registry, "add", "notes.txt")
    git(registry, "commit", "--quiet", "--message", "something else")
    name = cli("decision", "new", "Use NATS", "--project", "P", root=registry).out.strip()
    assert [c["subject"] for c in cli("log", "--json").json] == [
        f"decision: add {name} Use NATS",
        "init: start a registry",
    ]


def test_a_log_of_no_commits_says_since_when(
    cli: Cli, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGEKIT_NOW", "2199-01-01")
    ran = cli("log", "--since", "2199-01-01", root=registry)
    assert (ran.code, ran.out, ran.err) == (0, "", "no commit since 2199-01-01T00:00:00Z\n")


def test_searches_are_filtered_and_reach_back(cli: Cli, registry: Path) -> None:
    name = cli("decision", "new", "Use NATS for events", "--project", "P", root=registry).out.strip()
    cli("decision", "revise", name, "Use Kafka for events")
    found = cli("search", "events", "--status", "active", "--json").json["hits"]
    assert [hit["title"] for hit in found] == ["Use Kafka for events"]
    past = cli("search", "events", "--scope", "decisions", "--as-of", "HEAD~1", "--json").json["hits"]
    assert [hit["title"] for hit in past] == ["Use NATS for events"]
    none = cli("search", "nothing-like-it", "--mode", "lexical")
    assert (none.code, none.out, none.err) == (0, "", "nothing found for 'nothing-like-it'\n")


def test_completion_scripts(cli: Cli, registry: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        ran = cli("completion", shell, root=registry)
        assert ran.code == 0
        assert "_FORGEKIT_COMPLETE" in ran.out


def test_hooks_are_run_by_name(cli: Cli, registry: Path) -> None:
    assert cli("hook", "check", root=registry).code == 0
    name = cli("decision", "new", "Use NATS", "--project", "P").out.strip()
    path = _path(cli, name, registry)
    _replace(path, "Use NATS", "Use JetStream")
    ran = cli("hook", "check", str(path.relative_to(registry)))
    assert ran.code == 1
    assert "forgekit check --fix" in ran.out
    assert cli("hook", "nothing").code == 2
