"""Every noun and its verbs, through the command line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from cli_runner import Cli
from repositories import git

NATS = ("decision", "new", "Use NATS", "--tier", "0.8", "--rationale", "Fast", "--rejected", "Kafka")


@pytest.fixture
def nexus(registry: Path, cli: Cli) -> Path:
    assert cli("project", "new", "The Nexus", "--content", "A message bus").code == 0
    return registry


def test_new_prints_the_id_and_says_the_commit(nexus: Path, cli: Cli) -> None:
    ran = cli(*NATS, root=nexus)
    name = ran.out.strip()
    assert (ran.code, ran.err) == (0, f"decision new {name}: committed as <commit>\n")
    again = cli(*NATS)
    assert (again.code, again.out) == (0, ran.out)
    assert again.err == f"decision new {name}: unchanged\n"
    assert cli(*NATS, "--dry-run", "--json").json["dry_run"], "what was asked, though nothing changes"


def test_show_has_everything_and_where_it_came_from(nexus: Path, cli: Cli) -> None:
    name = cli(*NATS, root=nexus).out.strip()
    view = cli("show", name, "--json").json
    assert view["decision"] == "Use NATS"
    assert view["epistemic_tier"] == 0.8
    assert (view["dependents"], view["conflicts_with"], view["hops_since_validated"]) == ([], [], 0)
    assert view["provenance"]["archives"] == []
    commit = view["provenance"]["last_commit"]
    assert commit["subject"] == f"decision: add {name} Use NATS"
    assert commit["trailers"]["Forgekit-Op"] == ["decision new"]
    text = cli("decision", "show", name).out
    assert text.startswith(
        f"{name}  Use NATS\n"
        f"id                     {view['decision_id']}\n"
        "status                 active\n"
        "epistemic tier         0.8\n"
        "project                The Nexus\n"
        "alternatives rejected  Kafka\n"
        "created at             2026-04-01T12:00:00Z\n"
    )
    assert text.endswith(f"file                   {view['path']}\n\nRationale\n\n  Fast\n")


def test_show_prints_an_added_section_once(nexus: Path, cli: Cli) -> None:
    name = cli(*NATS, root=nexus).out.strip()
    path = nexus / cli("show", name, "--json").json["path"]
    with path.open("a", encoding="utf-8") as file:
        file.write("\n## Cost\n\nTwo servers.\n")
    text = cli("show", name).out
    assert text.count("Two servers.") == 1
    assert text.endswith("\n\nRationale\n\n  Fast\n\nCost\n\n  Two servers.\n")
    assert "validation count" not in text


def test_lists_are_newest_first_and_filtered(nexus: Path, cli: Cli) -> None:
    cli("decision", "new", "Old", "--at", "2026-01-01", root=nexus)
    cli("decision", "new", "New", "--at", "2026-02-01", "--tier", "0.5")
    cli("decision", "new", "Other", "--at", "2026-03-01", "--project", "Apollo")
    rows = [line.split("\t")[1:] for line in cli("decision", "list").out.splitlines()]
    assert rows == [
        ["active", "?", "Other", "Apollo"],
        ["active", "0.5", "New", "The Nexus"],
        ["active", "?", "Old", "The Nexus"],
    ]
    assert [d["decision"] for d in cli("decision", "list", "--limit", "1", "--json").json] == ["Other"]
    named = cli("decision", "list", "--project", "the nexus", "--json").json
    assert [d["decision"] for d in named] == ["New", "Old"]
    assert cli("decision", "list", "--status", "revised").err == "no decisions\n"
    assert cli("project", "list").out.splitlines()[0].split("\t")[1:] == ["The Nexus", "2", "0", "0"]


def test_a_name_in_another_case_is_the_same_project(nexus: Path, cli: Cli, tmp_path: Path) -> None:
    cases = Path(__file__).parents[1] / "cases"
    chat = tmp_path / "chat.md"
    chat.write_text("User: Which queue?\n\nAssistant: NATS.\n", encoding="utf-8")
    named = ("--project", " the  nexus")
    for arguments in (
        ("project", "new", "THE NEXUS"),
        ("decision", "new", "Use NATS", *named),
        ("thread", "new", "Which queue?", *named),
        ("conversation", "new", "Talk 1", *named),
        ("sync-compression", str(cases / "archives" / "example_a.md"), *named),
        ("ingest", "markdown", str(chat), *named),
    ):
        assert cli(*arguments, root=nexus).code == 0
    (nexus / "forgekit.toml").write_text('project = "the nexus"\njudge = "rules"\n', encoding="utf-8")
    assert cli("thread", "new", "Which broker?").code == 0
    assert [row.split("\t")[1] for row in cli("project", "list").out.splitlines()] == ["The Nexus"]
    for kind in ("decision", "thread", "conversation", "archive"):
        assert {row["project_name"] for row in cli(kind, "list", "--json").json} == {"The Nexus"}


def test_a_new_project_is_said_and_the_one_that_may_have_been_meant(
    registry: Path, cli: Cli, tmp_path: Path
) -> None:
    archive = tmp_path / "archive.md"
    archive.write_text(
        "# Conversation Archive: b\n\n**Date:** 2026-03-03\n**Project:** Nexsu\n"
        "**Compression Tag:** `NEXUS_B`\n\n## Decisions\n\n#### D001: Use NATS\n**Decision:** Use NATS.\n",
        encoding="utf-8",
    )
    said = "new project 'Nexsu'; did you mean 'Nexus'?"
    assert cli("project", "new", "Nexus", root=registry).err.splitlines()[0] == "new project 'Nexus'"
    assert cli("project", "new", "Nexus").err.startswith("project new ")
    for command in (
        ("decision", "new", "Use NATS"),
        ("thread", "new", "Which queue?"),
        ("conversation", "new", "Storage"),
    ):
        told = cli(*command, "--project", "Nexsu", "--dry-run")
        assert (told.code, told.err.splitlines()[0]) == (0, said)
    told = cli("sync-compression", str(archive), "--json")
    assert (told.err, told.json["passed_over"]) == (f"{said}\n", [])
    told = cli("project", "new", "nexus Two")
    assert told.err.splitlines()[0] == "new project 'nexus Two'"


def test_of_two_names_that_differ_in_case_the_exact_one_answers(nexus: Path, cli: Cli) -> None:
    from forgekit.change import write
    from forgekit.forge import Forge
    from forgekit.ids import project_id
    from forgekit.model.entities import Project
    from forgekit.model.kinds import short_id

    one, other = (
        Project(project_uuid=project_id(name), project_name=name) for name in ("The Nexus", "the nexus")
    )
    write(Forge.open(nexus), lambda _: [other], "project new")
    for project in (one, other):
        name = project.project_name
        cli("decision", "new", f"Use NATS in {name}", "--project", name, root=nexus)
        for given in (name, project.id, short_id(project.kind, project.id)):
            (found,) = cli("decision", "list", "--project", given, "--json").json
            assert found["project_name"] == name
            hits = cli("search", "NATS", "--scope", "decisions", "--project", given, "--json").json["hits"]
            assert [hit["project_name"] for hit in hits] == [name]
    listed = "".join(
        f"\n  {short_id(p.kind, p.id)}  {p.project_name}" for p in sorted((one, other), key=lambda p: p.id)
    )
    refusal = f"forgekit: 'THE NEXUS' could be any of these; use one of the ids:{listed}\n"
    for arguments in (("decision", "list"), ("search", "NATS"), ("decision", "new", "Use Kafka")):
        ran = cli(*arguments, "--project", "THE NEXUS")
        assert (ran.code, ran.out, ran.err) == (1, "", refusal)


@pytest.mark.parametrize("options", [(), ("--scope", "messages"), ("--as-of", "HEAD")])
def test_a_search_in_a_project_that_is_not_known_is_refused(
    nexus: Path, cli: Cli, options: tuple[str, ...]
) -> None:
    ran = cli("search", "NATS", "--project", "Nope", *options, root=nexus)
    refusal = "forgekit: no project answers to 'Nope'; known projects: The Nexus\n"
    assert (ran.code, ran.out, ran.err) == (1, "", refusal)


def test_a_decision_is_revised_and_its_history_kept(nexus: Path, cli: Cli) -> None:
    old = cli(*NATS, root=nexus).out.strip()
    new = cli("decision", "revise", old, "Use JetStream", "--tier", "0.9").out.strip()
    assert new != old
    shown = cli("show", old, "--json").json
    assert shown["status"] == "revised"
    assert shown["superseded_by"].endswith(new[-12:])
    subjects = [c["subject"] for c in cli("history", old, "--json").json]
    assert subjects[-1] == f"decision: add {old} Use NATS"
    assert len(subjects) == 2
    assert cli("decision", "show", old, "--at", "HEAD~1", "--json").json["status"] == "active"
    past = cli("decision", "show", new, "--at", "HEAD~1")
    assert (past.code, past.err) == (
        1,
        f"forgekit: no entity answers to '{new}'; it is not in the registry of HEAD~1\n",
    )
    again = cli("decision", "revise", old, "Use Kafka")
    assert (again.code, again.err) == (1, f"forgekit: {old} is revised; in its place: {new}\n")
    assert cli("decision", "validate", new, "--tier", "0.95").code == 0
    other = cli("decision", "new", "Use gRPC").out.strip()
    assert cli("decision", "supersede", other, "--by", new, "--reason", "One transport").code == 0
    for reason in ("", " \n"):
        empty = cli("decision", "invalidate", new, "--reason", reason)
        assert (empty.code, empty.err) == (1, "forgekit: reason: '' must be one line of text\n")
    assert cli("decision", "invalidate", new, "--reason", "Wrong").code == 0
    assert cli("show", new, "--json").json["status"] == "invalidated"


def test_a_thread_ends_and_opens_again(nexus: Path, cli: Cli) -> None:
    name = cli("thread", "new", "Which queue?", "--priority", "high", root=nexus).out.strip()
    ran = cli("thread", "resolve", name, "--resolution", "NATS")
    assert (ran.code, ran.err) == (0, f"thread resolve {name}: committed as <commit>\n")
    assert cli("show", name, "--json").json["resolution"] == "NATS"
    ran = cli("thread", "abandon", name)
    assert (ran.code, ran.err) == (
        1,
        f"forgekit: {name} is already resolved; `forgekit thread reopen {name}` first\n",
    )
    assert cli("thread", "reopen", name).code == 0
    assert re.search(
        r"## Earlier resolutions\n\n- \d{4}-\d\d-\d\d, resolved: NATS\n*$",
        next(Path("registry/threads").rglob(f"*{name[4:]}.md")).read_text("utf-8"),
    )
    assert cli("thread", "supersede", name, "--resolution", "See the other").code == 0
    assert cli("thread", "list", "--status", "superseded", "--json").json[0]["short_id"] == name


def test_conversations_are_joined_traced_and_compared(nexus: Path, cli: Cli) -> None:
    a, b = (
        cli("conversation", "new", f"Talk {day}", "--at", f"2026-01-0{day}", root=nexus).out.strip()
        for day in (1, 2)
    )
    kept, left = (cli("decision", "new", text, "--conversation", a).out.strip() for text in ("One", "Two"))
    ran = cli("lineage", "new", a, b, "--tag", "TALK_RESULT", "--carried", kept, "--dropped", left)
    assert ran.code == 0
    edge = ran.out.strip()
    traced = cli("trace", b, "--direction", "ancestors")
    assert traced.out == f"<1  {a} Talk 1 -> {b} Talk 2  [TALK_RESULT] 1 carried, 1 dropped\n"
    bridged = cli("bridge", a, b, "--json").json
    assert (bridged["hops"], bridged["decisions_carried"]) == ([edge], [kept])
    assert cli("lineage", "edit", edge, "--summary", "Storage came first").code == 0
    assert cli("lineage", "show", edge).out.endswith("Bridge summary\n\n  Storage came first\n")
    assert cli("conversation", "edit", a, "--title", "The first talk", "--project", "Quay").code == 0
    assert cli("show", a, "--json").json["project_name"] == "Quay"
    assert cli("trace", kept).err == (
        f"forgekit: no conversation answers to '{kept}'; find its id with `forgekit conversation list`\n"
    )


def test_edit_takes_options_and_without_a_terminal_asks_for_them(nexus: Path, cli: Cli) -> None:
    name = cli(*NATS, root=nexus).out.strip()
    assert cli("decision", "edit", name, "--tag", "bus", "--tag", "storage").code == 0
    assert cli("show", name, "--json").json["tags"] == ["bus", "storage"]
    ran = cli("decision", "edit", name)
    assert (ran.code, ran.err) == (
        2,
        (
            "forgekit: nothing to change: without a terminal say what, by --rationale, --context, --tier, "
            "--rejected, --depends-on, --governs, --tag\n"
        ),
    )
    diff = cli("decision", "edit", name, "--tier", "0.1", "--dry-run")
    assert [line for line in diff.out.splitlines() if line[0] in "+-"][2:] == [
        "-epistemic_tier: 0.8",
        "+epistemic_tier: 0.1",
    ]


def test_what_has_ended_is_named_where_something_rests_on_it_or_waits_for_it(nexus: Path, cli: Cli) -> None:
    base = cli(*NATS, root=nexus).out.strip()
    first = cli("thread", "new", "Which stream?").out.strip()
    cli("decision", "invalidate", base, "--reason", "Lost messages")
    cli("thread", "resolve", first, "--resolution", "One")
    ran = cli("decision", "new", "Use JetStream", "--depends-on", base)
    assert ran.err.splitlines()[1:] == [f"it depends on {base}  Use NATS, which is invalidated"]
    ran = cli("thread", "new", "Which subject?", "--blocked-by", first)
    assert ran.err.splitlines()[1:] == [f"it waits for {first}  Which stream?, which is resolved"]


def test_one_empty_value_empties_a_list(nexus: Path, cli: Cli) -> None:
    base = cli(*NATS, "--rejected", "Kafka", "--tag", "bus", root=nexus).out.strip()
    rests = cli("decision", "new", "Use JetStream", "--depends-on", base).out.strip()
    first = cli("thread", "new", "Which topic?").out.strip()
    later = cli("thread", "new", "Which subject?", "--blocked-by", first).out.strip()
    assert cli("decision", "edit", base, "--rejected", "", "--tag", "").code == 0
    assert cli("decision", "edit", rests, "--depends-on", "").code == 0
    edited = cli("thread", "edit", later, "--blocked-by", "", "--json").json
    assert (edited["short_id"], len(edited["written"])) == (later, 1)
    shown = [cli("show", name, "--json").json for name in (base, rests, later)]
    names = ("tags", "alternatives_rejected", "dependencies", "blocked_by")
    assert [view.get(name, []) for view in shown for name in names] == [[]] * 12


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Stand in for a person's editor: it runs `edit(text)` of the script returned."""
    script = tmp_path / "an editor.py"
    monkeypatch.setenv("VISUAL", f"'{sys.executable}' '{script}'")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return script


def _writes(editor: Path, old: str, new: str) -> None:
    editor.write_text(
        "import sys, pathlib\n"
        "path = pathlib.Path(sys.argv[1])\n"
        f"path.write_text(path.read_text().replace({old!r}, {new!r}))\n",
        encoding="utf-8",
    )


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forgekit.console.is_terminal", lambda: True)


@pytest.mark.usefixtures("terminal")
def test_the_editor_s_text_is_checked_and_committed(nexus: Path, cli: Cli, editor: Path) -> None:
    name = cli(*NATS, root=nexus).out.strip()
    _writes(editor, "epistemic_tier: 0.8", "epistemic_tier: 0.4")
    ran = cli("decision", "edit", name)
    assert (ran.code, ran.out, ran.err) == (0, f"{name}\n", f"decision edit {name}: committed as <commit>\n")
    assert cli("show", name, "--json").json["epistemic_tier"] == 0.4
    assert cli("decision", "edit", name).err == "nothing changed\n"


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("status: active\n", "# measured twice\nstatus: active # for now\n"),
        ("status: active\n", "status:   'active'\n\n"),
        ("epistemic_tier: 0.8\n", "epistemic_tier: 0.4 # measured\n"),
        ("Fast", "Fast,\n\n\n- and small   "),
    ],
)
def test_what_is_typed_in_the_editor_is_what_is_written(
    nexus: Path, cli: Cli, editor: Path, old: str, new: str
) -> None:
    name = cli(*NATS, root=nexus).out.strip()
    path = nexus / cli("show", name, "--json").json["path"]
    typed = path.read_text(encoding="utf-8").replace(old, new)
    _writes(editor, old, new)
    assert cli("decision", "edit", name).err == f"decision edit {name}: committed as <commit>\n"
    assert path.read_text(encoding="utf-8") == typed
    assert git(nexus, "status", "--porcelain") == ""
    assert cli("check").code == 0


@pytest.mark.usefixtures("terminal")
def test_a_thread_that_is_resolved_in_the_editor_has_its_time_and_a_resolution(
    nexus: Path, cli: Cli, editor: Path
) -> None:
    name = cli("thread", "new", "Which queue?", "--at", "2026-01-05", root=nexus).out.strip()
    _writes(editor, "status: open", "status: resolved # at last")
    assert (
        "is resolved, and nothing says how; add a section `## Resolution`" in cli("thread", "edit", name).err
    )
    ended = "\n---\n\n## Resolution\n\nNATS\n"
    editor.write_text(
        "import sys, pathlib\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "text = path.read_text().replace('status: open', 'status: resolved # at last')\n"
        f"path.write_text(text.rstrip().removesuffix('---').rstrip() + {ended!r})\n",
        encoding="utf-8",
    )
    assert cli("thread", "edit", name).code == 0
    shown = cli("show", name, "--json").json
    assert (shown["status"], shown["created_at"][:10]) == ("resolved", "2026-01-05")
    assert shown["updated_at"] > shown["created_at"]
    assert "status: resolved # at last\n" in (nexus / shown["path"]).read_text(encoding="utf-8")


def test_check_dates_a_thread_that_was_resolved_in_its_file(nexus: Path, cli: Cli) -> None:
    name = cli("thread", "new", "Which queue?", "--at", "2026-01-05", root=nexus).out.strip()
    path = nexus / cli("show", name, "--json").json["path"]
    path.write_text(
        path.read_text(encoding="utf-8").replace("status: open", "status: resolved"), encoding="utf-8"
    )
    codes = {problem["code"] for problem in cli("check", "--json").json["problems"]}
    assert codes == {"undated-change", "no-resolution"}
    assert cli("check", "--fix").code == 0
    shown = cli("show", name, "--json").json
    assert shown["updated_at"] > shown["created_at"]
    assert git(nexus, "status", "--porcelain") == ""


@pytest.mark.usefixtures("terminal")
def test_an_edit_leaves_the_line_ends_to_git(nexus: Path, cli: Cli, editor: Path) -> None:
    name = cli(*NATS, root=nexus).out.strip()
    inside = cli("show", name, "--json").json["path"]
    path = nexus / inside
    git(nexus, "config", "core.autocrlf", "true")
    path.unlink()
    git(nexus, "checkout", "--", inside)
    assert b"\r\n" in path.read_bytes()
    editor.write_text("", encoding="utf-8")
    assert cli("decision", "edit", name).err == "nothing changed\n"
    editor.write_text(
        "import sys, pathlib\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_bytes(path.read_bytes().replace(b'status: active', b'status: active # for now'))\n",
        encoding="utf-8",
    )
    assert cli("decision", "edit", name).err == f"decision edit {name}: committed as <commit>\n"
    kept = git(nexus, "show", f"HEAD:{inside}")
    assert ("status: active # for now\n" in kept, "\r" in kept) == (True, False)


@pytest.mark.usefixtures("terminal")
def test_an_edit_beside_another_s_comment_is_refused(nexus: Path, cli: Cli, editor: Path) -> None:
    name = cli(*NATS, root=nexus).out.strip()
    inside = cli("show", name, "--json").json["path"]
    path = nexus / inside
    _writes(editor, "epistemic_tier: 0.8", "epistemic_tier: 0.4")
    with editor.open("a", encoding="utf-8") as script:
        script.write(
            "import subprocess\n"
            f"other = pathlib.Path({str(path)!r})\n"
            "other.write_text(other.read_text().replace('tier: 0.8', 'tier: 0.8 # theirs'))\n"
            f"subprocess.run(['git', '-C', {str(nexus)!r}, 'commit', '-qam', 'theirs'], check=True)\n"
        )
    ran = cli("decision", "edit", name)
    assert (ran.code, ran.err.splitlines()[0]) == (
        1,
        f"forgekit: {inside} has changed since you read it; read it again and repeat the change",
    )
    assert "tier: 0.8 # theirs" in path.read_text(encoding="utf-8")


@pytest.mark.usefixtures("terminal")
def test_a_text_changed_in_the_editor_becomes_a_revision(nexus: Path, cli: Cli, editor: Path) -> None:
    name = cli(*NATS, "--at", "2026-03-01", root=nexus).out.strip()
    _writes(editor, "Use NATS", "Use JetStream")
    new = cli("decision", "edit", name).out.strip()
    assert cli("show", name, "--json").json["status"] == "revised"
    assert cli("show", new, "--json").json["decision"] == "Use JetStream"


@pytest.mark.usefixtures("terminal")
def test_a_revision_takes_new_comments_along(nexus: Path, cli: Cli, editor: Path) -> None:
    name = cli(*NATS, "--at", "2026-03-01", root=nexus).out.strip()
    _writes(editor, "decision: Use NATS", "# it keeps messages\ndecision: Use JetStream")
    new = cli("decision", "edit", name).out.strip()
    path = nexus / cli("show", new, "--json").json["path"]
    assert path.read_text(encoding="utf-8").split("---\n")[1].splitlines()[-1] == "# it keeps messages"


NOBODY = "019cc85a-5700-8000-8000-000000000000"
UNKNOWN = f"no decision has the id {NOBODY}; restore its file, or take the id out"
ALONE = (
    "cannot be changed along with the text, which makes a new decision; undo this change, or make it alone"
)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("created_at:", f"dependencies: [{NOBODY}]\ncreated_at:", f"9: dependencies: {UNKNOWN}"),
        ("status: active", "status: superseded", f"4: status: {ALONE}"),
        ("project_name: The Nexus", "project_name: Elsewhere", f"6: project_name: {ALONE}"),
    ],
)
def test_all_of_an_edit_is_checked_where_the_text_was_changed(
    nexus: Path, cli: Cli, editor: Path, old: str, new: str, says: str
) -> None:
    name = cli(*NATS, "--at", "2026-03-01", root=nexus).out.strip()
    path = cli("show", name, "--json").json["path"]
    _writes(editor, old, new)
    with editor.open("a", encoding="utf-8") as script:
        script.write("path.write_text(path.read_text().replace('Use NATS', 'Use JetStream'))\n")
    tip = git(nexus, "rev-parse", "HEAD")
    ran = cli("decision", "edit", name)
    assert (ran.code, ran.err.splitlines()[0]) == (1, f"forgekit: {path}:{says}")
    assert git(nexus, "rev-parse", "HEAD") == tip


@pytest.mark.usefixtures("terminal")
def test_an_edit_that_cannot_be_read_is_refused_and_kept(nexus: Path, cli: Cli, editor: Path) -> None:
    name = cli(*NATS, root=nexus).out.strip()
    _writes(editor, "status: active", "status: sleeping")
    ran = cli("decision", "edit", name)
    assert ran.code == 1
    first, second = ran.err.splitlines()
    assert first == (
        f"forgekit: {name}:4: status: 'sleeping' is none of active, revised, superseded, invalidated"
    )
    copy = Path(second.removeprefix("your edit is kept in "))
    assert "status: sleeping" in copy.read_text(encoding="utf-8")
    assert git(nexus, "status", "--porcelain") == ""


@pytest.mark.usefixtures("terminal")
def test_an_edit_in_another_encoding_is_refused_and_kept(nexus: Path, cli: Cli, editor: Path) -> None:
    name = cli(*NATS, root=nexus).out.strip()
    editor.write_text(
        "import sys, pathlib\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_bytes(path.read_bytes().replace(b'Fast', b'Fast, \\xe0 la carte'))\n",
        encoding="utf-8",
    )
    ran = cli("decision", "edit", name)
    first, second = ran.err.splitlines()
    assert (ran.code, first) == (
        1,
        "forgekit: the editor saved no UTF-8; set its encoding to UTF-8 and edit again",
    )
    copy = Path(second.removeprefix("your edit is kept in "))
    assert b"Fast, \xe0 la carte" in copy.read_bytes()
    assert git(nexus, "status", "--porcelain") == ""


@pytest.mark.usefixtures("terminal")
def test_an_editor_that_is_no_command_is_refused(
    nexus: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = cli(*NATS, root=nexus).out.strip()
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", '"x')
    ran = cli("decision", "edit", name)
    assert (ran.code, ran.err) == (
        2,
        "forgekit: cannot start the editor '\"x': No closing quotation; set VISUAL or EDITOR\n",
    )


def _recorded(root: Path, *names: str) -> None:
    """Record an open conflict of two decisions."""
    from forgekit.change import write
    from forgekit.forge import Forge
    from forgekit.ids import pair_id
    from forgekit.model.entities import Conflict
    from forgekit.times import parse_instant

    forge = Forge.open(root)
    low, high = sorted(forge.resolve(name) for name in names)
    conflict = Conflict(
        conflict_id=pair_id(low, high),
        decision_a=low,
        decision_b=high,
        nature="one rejects what the other chooses",
        detected_at=parse_instant("2026-04-01"),
    )
    write(forge, lambda _: [conflict], "conflict new")


def test_a_conflict_is_shown_and_a_person_chooses(nexus: Path, cli: Cli) -> None:
    a, b = (cli("decision", "new", text, root=nexus).out.strip() for text in ("Use REST", "Use gRPC"))
    _recorded(nexus, a, b)
    (row,) = cli("conflict", "list", "--status", "open", "--project", "The Nexus").out.splitlines()
    assert sorted(row.split("\t")[2::2]) == sorted((a, b))
    assert (row.split("\t")[1], sorted(row.split("\t")[3::2])) == ("open", ["Use REST", "Use gRPC"])
    wrong = cli("conflict", "resolve", row.split("\t")[0], "--keep", "Use SOAP", "--reason", "x")
    assert wrong.code == 1
    assert cli("conflict", "resolve", a, "--keep", b, "--reason", "Measured twice").code == 0
    assert cli("show", a, "--json").json["status"] == "superseded"
    settled = cli("conflict", "dismiss", row.split("\t")[0], "--reason", "no")
    assert (settled.code, settled.err) == (1, f"forgekit: {row.split(chr(9))[0]} is already resolved\n")


def test_a_conflict_whose_side_was_revised_is_moot(nexus: Path, cli: Cli) -> None:
    texts = ("Use PostgreSQL as the primary database", "Use MongoDB as the primary database")
    other, side = (cli("decision", "new", text, root=nexus).out.strip() for text in texts)
    _recorded(nexus, other, side)
    name = cli("conflict", "list").out.split("\t")[0]
    cli("decision", "revise", side, "Keep blobs on disk")
    assert cli("conflict", "list").out.split("\t")[1] == "moot"
    assert "\nstatus       open (moot: one side is no longer active)\n" in cli("conflict", "show", name).out
    assert cli("conflict", "list", "--status", "open").err == "no conflicts\n"
