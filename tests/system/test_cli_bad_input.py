"""Bad input: one clear sentence, exit status 1 or 2, nothing written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cli_runner import Cli, Ran
from repositories import git

CASES = Path(__file__).parents[1] / "cases" / "archives"
DECISION = "registry/decisions/2023-11/018bcfe5-6800-8f8f-b518-b34bfcd74276.md"
HEAD = "---\ndecision_id: 018bcfe5-6800-8f8f-b518-b34bfcd74276\n"


def _state(root: Path) -> tuple[str, str]:
    return git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain", "--untracked-files=all")


def _refused(cli: Cli, registry: Path, *arguments: str, stdin: bytes = b"") -> Ran:
    before = _state(registry)
    ran = cli(*arguments, root=registry, stdin=stdin)
    assert ran.code in {1, 2}
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert _state(registry) == before
    return ran


def _sync(cli: Cli, registry: Path, data: bytes) -> Ran:
    return _refused(cli, registry, "sync-compression", "--project", "P", "--archive", "-", stdin=data)


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_an_empty_archive(cli: Cli, registry: Path, data: bytes) -> None:
    assert _sync(cli, registry, data).err == "forgekit: standard input is empty; paste the whole archive\n"


def test_a_truncated_archive(cli: Cli, registry: Path) -> None:
    data = (CASES / "example_a.md").read_bytes()
    ran = _sync(cli, registry, data[: data.index(b"```yaml") + 60] if b"```yaml" in data else data[:900])
    assert ran.err.startswith("forgekit: standard input ")
    assert ran.code == 1


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\x00\x00", b"abc\x00def", b"caf\xe9 D001"])
def test_a_binary_archive(cli: Cli, registry: Path, data: bytes) -> None:
    ran = _sync(cli, registry, data)
    assert ran.err.startswith("forgekit: standard input:1: ")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("data", [b"#" * 5_000_000, b"#\n" * 2_500_000])
def test_five_megabytes(cli: Cli, registry: Path, data: bytes) -> None:
    assert _sync(cli, registry, data).err == (
        "forgekit: standard input: is 5,000,000 bytes long; at most 3,000,000 are read\n"
    )


def test_as_many_hashes_as_are_read(cli: Cli, registry: Path) -> None:
    ran = _sync(cli, registry, b"#" * 3_000_000)
    assert ran.err == (
        "forgekit: standard input does not look like an archive: no record, tag or session in it\n"
    )


def test_as_many_headings_as_are_read(cli: Cli, registry: Path) -> None:
    ran = _sync(cli, registry, b"#\n" * 1_500_000)
    assert ran.err.startswith("forgekit: standard input: no record could be read\n  line ")


def test_ids_without_records_are_each_named_with_their_line(cli: Cli, registry: Path) -> None:
    data = b"# Archive\n\nWe talked of D001 and of D002.\nT003 came up.\n"
    assert _sync(cli, registry, data).err == (
        "forgekit: standard input: the text has ids, but no record could be read\n"
        "  line 3: D001\n"
        "  line 3: D002\n"
        "  line 4: T003\n"
    )


def test_a_file_that_is_not_there(cli: Cli, registry: Path) -> None:
    ran = _refused(cli, registry, "sync-compression", "--project", "P", "nowhere.md")
    assert (ran.code, ran.err) == (2, "forgekit: cannot read nowhere.md: No such file or directory\n")


def test_a_note_is_refused_above_its_limit_and_within_a_character(cli: Cli, registry: Path) -> None:
    (registry / "long.md").write_text("x" + "\u00e9" * 500_000, encoding="utf-8")
    ran = cli("note", "add", "long.md", root=registry)
    assert (ran.code, ran.err) == (2, "forgekit: a note has at most 1,000,000 bytes; split it\n")


def test_a_note_typed_in_place_of_a_file_is_said(cli: Cli, registry: Path) -> None:
    ran = cli("note", "add", "Straw is four euros a bale", root=registry)
    assert ran.code == 2
    assert ran.err == (
        "forgekit: cannot read Straw is four euros a bale: No such file or directory; "
        "a text comes from standard input\n"
    )


def test_an_unknown_tag(cli: Cli, registry: Path) -> None:
    ran = _refused(cli, registry, "prepare-continuation", "--tag", "NOWHERE_RESULT")
    assert ran.code == 1
    assert ran.err.startswith("forgekit: no archive answers to 'NOWHERE_RESULT'")


def test_typed_bytes_that_are_no_utf_8_are_refused(cli: Cli, registry: Path) -> None:
    for arguments in (("new", "caf\udce9"), ("new", "x", "--project", "caf\udce9")):
        ran = _refused(cli, registry, "decision", *arguments)
        assert ran.code == 2
        assert "'caf?' is no text in UTF-8; set the terminal to UTF-8\n" in ran.err


@pytest.mark.parametrize(
    "name", ["dec_000000000000", "018bcfe5-6800-8f8f-b518-b34bfcd74276", "\x1b[2J", "%", "' --"]
)
def test_an_id_that_is_not_found(cli: Cli, registry: Path, name: str) -> None:
    ran = _refused(cli, registry, "decision", "show", name)
    assert ran.code == 1
    assert ran.err.startswith("forgekit: no decision answers to ")
    assert "\x1b" not in ran.err


def test_an_ambiguous_name_lists_the_candidates(cli: Cli, registry: Path) -> None:
    for project in ("Apollo", "Gemini"):
        assert cli("decision", "new", "Use NATS", "--project", project, root=registry).code == 0
    ran = _refused(cli, registry, "decision", "show", "Use NATS")
    assert ran.code == 1
    assert ran.err.splitlines()[0] == "forgekit: 'Use NATS' could be any of these; use one of the ids:"
    assert [line.split()[1:] for line in ran.err.splitlines()[1:]] == [["Use", "NATS"], ["Use", "NATS"]]


def test_no_registry(cli: Cli, tmp_path: Path) -> None:
    ran = cli("status", root=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"forgekit: no forgekit.toml in {tmp_path} or above it; "
        "run `forgekit init` where the registry is to be\n"
    )


@pytest.mark.parametrize("command", [("status",), ("project", "new", "X"), ("search", "x")])
def test_a_registry_outside_git(cli: Cli, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "forgekit.toml").touch()
    ran = cli(*command, root=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"forgekit: {tmp_path} is in no git repository; run `git init` there first\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["forgekit.toml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="LOUD SKIP: root may write in read-only folders")
def test_a_read_only_folder(cli: Cli, registry: Path) -> None:
    (registry / "registry").chmod(0o555)
    try:
        ran = _refused(cli, registry, "decision", "new", "X", "--project", "P")
    finally:
        (registry / "registry").chmod(0o755)
    assert ran.err.startswith("forgekit: cannot write registry/")
    assert ran.err.endswith("; nothing was recorded\n")


BAD_FILES = {
    "brackets": (f"{HEAD}decision: {'[' * 60_000}\n---\n", 3, "is nested too deeply"),
    "alias-bomb": (
        f"{HEAD}a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n---\n",
        3,
        "YAML anchors are not allowed",
    ),
    "duplicate-keys": (f"{HEAD}status: active\nstatus: revised\n---\n", 4, "is given twice"),
    "conflict-markers": (
        f"{HEAD}<<<<<<< ours\ndecision: a\n=======\ndecision: b\n>>>>>>> theirs\n---\n",
        3,
        "merge-conflict marker",
    ),
    "tag": (f"{HEAD}decision: !!python/object:os.system x\n---\n", 3, "is not allowed"),
    "long-front-matter": (f"{HEAD}decision: {'x' * 1_100_000}\n---\n", 1, "front matter is longer"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_cannot_be_read_is_named_and_hides_no_other(cli: Cli, registry: Path, name: str) -> None:
    text, line, message = BAD_FILES[name]
    assert cli("decision", "new", "Use NATS", "--project", "P", root=registry).code == 0
    path = registry / DECISION
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    ran = cli("check")
    assert ran.code == 1
    (found,) = ran.out.splitlines()
    assert found.startswith(f"error: {DECISION}:{line}: ")
    assert message in found
    listed = cli("decision", "list")
    assert listed.out.splitlines() == [cli("decision", "list").out.strip()]
    assert listed.out.split("\t")[3] == "Use NATS"
    assert listed.err == "1 file could not be read; `forgekit check` names them\n"


READERS: tuple[tuple[str, ...], ...] = (
    ("prepare-compression",),
    ("prepare-continuation", "--tag", "LEDGER_API_FROZEN"),
    ("ask", "Why did we decide plain table"),
    ("context", "table"),
    ("search", "table"),
    ("search", "table", "--scope", "messages"),
    ("stale",),
    ("trace", "LEDGER_API_FROZEN"),
    ("conflict", "scan"),
    ("decision", "duplicates"),
)


@pytest.mark.parametrize("arguments", READERS, ids=" ".join)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_what_could_not_be_read_is_told(
    cli: Cli, registry: Path, arguments: tuple[str, ...], form: tuple[str, ...]
) -> None:
    files = [str(CASES / f"example_{letter}.md") for letter in "ab"]
    assert cli("sync-compression", "--project", "P", *files, root=registry).code == 0
    (registry / DECISION).write_text("no front matter\n", encoding="utf-8")
    told = cli(*arguments, *form).err
    assert told.count("1 file could not be read; `forgekit check` names them\n") == 1
    (registry / DECISION).unlink()
    assert "could not be read" not in cli(*arguments, *form).err


@pytest.mark.parametrize(
    "arguments", [("prepare-compression",), ("prepare-continuation", "--tag", "LEDGER_API_FROZEN")]
)
def test_a_pasted_block_says_what_could_not_be_read(
    cli: Cli, registry: Path, arguments: tuple[str, ...]
) -> None:
    cli("sync-compression", "--project", "P", str(CASES / "example_a.md"), root=registry)
    whole = next(line for line in cli(*arguments).out.splitlines() if line.startswith("**Summary:**"))
    for name in (DECISION, f"{DECISION[:-4]}0.md"):
        (registry / name).parent.mkdir(parents=True, exist_ok=True)
        (registry / name).write_text("no front matter\n", encoding="utf-8")
    summary = f"{whole.removesuffix('.')}, 2 files could not be read."
    assert summary in cli(*arguments).out.splitlines()


def test_a_search_of_the_past_says_what_could_not_be_read_then(cli: Cli, registry: Path) -> None:
    cli("decision", "new", "Use NATS", "--project", "P", root=registry)
    (registry / DECISION).parent.mkdir(parents=True, exist_ok=True)
    (registry / DECISION).write_text("no front matter\n", encoding="utf-8")
    subprocess.run(["git", "add", "--all"], check=True)
    subprocess.run(["git", "commit", "--quiet", "--message", "by hand"], check=True)
    (registry / DECISION).unlink()
    unread = "files of that time that could not be read: 1\n"
    words = "searched by words alone: vectors are of the registry as it is now"
    assert cli("search", "NATS", "--as-of", "HEAD", "--mode", "lexical").err == unread
    assert cli("search", "NATS", "--as-of", "HEAD").err == f"{words}; {unread}"
    assert cli("search", "NATS", "--as-of", "HEAD~1", "--mode", "lexical").err == ""


def test_a_symlink_in_the_registry_is_never_followed(cli: Cli, registry: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("secret", encoding="utf-8")
    path = registry / DECISION
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    ran = cli("check", root=registry)
    assert ran.code == 1
    assert ran.out.startswith(f"error: {DECISION}: ")
    assert "link" in ran.out
    assert "secret" not in ran.out
    assert cli("search", "secret").out == ""


def test_writing_over_uncommitted_work_is_refused_by_name(cli: Cli, registry: Path) -> None:
    name = cli("decision", "new", "Use NATS", "--project", "P", root=registry).out.strip()
    path = registry / cli("show", name, "--json").json["path"]
    path.write_text(path.read_text(encoding="utf-8") + "\nmine\n", encoding="utf-8")
    ran = _refused(cli, registry, "decision", "edit", name, "--tier", "0.5")
    assert (ran.code, ran.err) == (
        1,
        (
            f"forgekit: uncommitted changes in {path.relative_to(registry)}; "
            "commit or undo them (`git restore`; a new file: delete it), then run this again\n"
        ),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("decision", "new", "X", "--tier", "1.5"), "Invalid value for '--tier': 1.5 is not in the range"),
        (("decision", "new", "X", "--tier", "1,5"), "Invalid value for '--tier': 1.5 is not in the range"),
        (("decision", "new", "X", "--tier", "a"), "'a' is not a valid number from 0 to 1."),
        (("decision", "new", "X", "--tier", "nan", "--project", "P"), "nan must lie between 0 and 1"),
        (("decision", "new", "X", "--at", "soon"), "'soon' is not a date such as 2026-03-04T16:20:00Z"),
        (("decision", "validate", "X", "--at", "2062-04-01"), "2062-04-01 lies ahead"),
        (("decision", "new", "   ", "--project", "P"), "must be one line of text"),
        (("decision", "new", "X"), "which project? say --project NAME"),
        (("sync-compression",), "which archive? say --archive FILE"),
        *(
            ((command, text), "nothing to look for; type a word at least")
            for command in ("ask", "search", "context")
            for text in ("", "?", " - ")
        ),
        (("decison",), "no such command: 'decison'; did you mean `decision`?"),
        (("check", "--dry-run"), "--dry-run and --no-commit go with --fix"),
        (("check", "../elsewhere.md"), "lies outside the registry"),
        (("check", "missing.md"), "missing.md does not exist"),
        (("thread", "resolve"), "Missing argument 'ID'"),
        (("decision", "list", "--project", "Nowhere"), "no project answers to 'Nowhere'"),
        (
            ("conversation", "show", "x", "--turns", "1", "--at", "nonsense"),
            "--turns shows the text as it is kept now; leave --at out",
        ),
        (
            ("conversation", "show", "x", "--turns", "1-" + "9" * 5_000),
            f"--turns takes numbers such as 12-18, not '1-{'9' * 38}'",
        ),
        (
            ("archive", "show", "x", "--text", "--json"),
            "--text prints the archive byte for byte, which JSON is not; leave one of them out",
        ),
        (
            ("search", "webhooks", "--status", "opne"),
            "Invalid value for '--status': 'opne' is not one of 'open'",
        ),
        (("candidate", "show", "can_nope"), "find its id with `forgekit candidate list`"),
        *(
            (
                ("review", *answer, "--project", "P"),
                "--project goes with --list and --approve-above; an answer names its candidate, leave it out",
            )
            for answer in (
                ("--approve", "x"),
                ("--reject", "x"),
                ("--merge", "x", "y"),
                ("--title", "x", "y"),
                ("--approve-above", "0.9", "--reject", "x"),
            )
        ),
        (("show", "x", "--at", "not-a-revision"), "no revision or date answers to 'not-a-revision'"),
        (("show", "x", "--at", "--output=/etc/passwd"), "no revision or date answers to"),
    ],
)
def test_wrong_calls(cli: Cli, registry: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in _refused(cli, registry, *arguments).err


def test_settings_that_cannot_be_read(cli: Cli, registry: Path) -> None:
    settings = registry / "forgekit.toml"
    settings.write_text("stale_dais = 3\n", encoding="utf-8")
    ran = cli("status", root=registry)
    assert ran.code == 1
    assert ran.err == "forgekit: forgekit.toml:1: stale_dais: is not a setting; did you mean `stale_days`?\n"


def test_a_bare_repository(cli: Cli, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "bare"], check=True)
    for folder in (tmp_path / "bare", tmp_path / "bare" / "inner"):
        ran = cli("init", str(folder), root=tmp_path)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err == (
            f"forgekit: {tmp_path / 'bare'} is a bare git repository; "
            "clone it and run this in the clone, where files are\n"
        )
    assert not (tmp_path / "bare" / "inner").exists()


def test_what_is_not_found_may_be_in_a_file_that_could_not_be_read(cli: Cli, registry: Path) -> None:
    files = [str(CASES / f"example_{letter}.md") for letter in "ab"]
    assert cli("sync-compression", "--project", "Harbor", *files, root=registry).code == 0
    a, b = (edge := cli("lineage", "list").out.split("\t"))[1:3]
    for path in (*registry.glob("registry/projects/*.md"), *registry.glob("registry/lineage/*/*.md")):
        path.write_text("<<<<<<< ours\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    unread = "2 files could not be read; `forgekit check` names them\n"
    said = f"forgekit: no project answers to 'Harbor'; known projects: none yet; {unread}"
    for arguments in (("stale",), ("decision", "list"), ("search", "table"), ("prepare-compression",)):
        ran = cli(*arguments, "--project", "Harbor")
        assert (ran.code, ran.out, ran.err) == (1, "", said)
    ran = cli("show", edge[0])
    assert (ran.code, ran.err) == (
        1,
        f"forgekit: no entity answers to '{edge[0]}'; find its id with `forgekit search`; {unread}",
    )
    ran = cli("bridge", a, b)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"forgekit: no lineage answers to '{a} -> {b}'; `forgekit trace` shows what is linked; {unread}"
    )
    assert cli("status").out.splitlines()[:2] == ["no project can be read", ""]


@pytest.mark.parametrize("scope", ["all", "messages"])
def test_a_limit_may_be_greater_than_any_number_of_answers(cli: Cli, registry: Path, scope: str) -> None:
    cli("decision", "new", "Use NATS", "--project", "P", root=registry)
    whole = cli("search", "NATS", "--scope", scope)
    assert cli("search", "NATS", "--scope", scope, "--limit", "99999999999999999999") == whole
    assert whole.code == 0
