"""One hostile file hides none of 200 sound ones, is named with its line, and stops no command."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import hostile_registry as sound
import pytest
from cli_runner import Cli
from guarantees import Report
from hostile_files import CANARY, HOSTILE, PATH
from repositories import git

from forgekit.briefing.blocks import prepare_continuation
from forgekit.forge import Forge
from forgekit.model.problem import Severity
from forgekit.queries import status
from forgekit.search import search
from forgekit.upkeep.check import check

_IDS = frozenset(entity.id for entity in sound.ENTITIES)


def _bytes(root: Path) -> dict[str, bytes]:
    """Return every regular file of the two folders."""
    paths = (
        Path(folder, name)
        for top in ("registry", "archives")
        for folder, _, names in os.walk(root / top)
        for name in names
    )
    return {
        str(path.relative_to(root)): path.read_bytes() for path in paths if stat.S_ISREG(path.lstat().st_mode)
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_named_and_hides_no_other(copied: Path, name: str) -> None:
    hostile = HOSTILE[name]
    hostile.plant(copied)
    before = _bytes(copied)
    forge = Forge.open(copied)

    registry = forge.registry()
    assert {e.id for e in registry} >= _IDS
    assert len(list(registry)) in {200, 201}
    assert all(registry.get(e.id) == e for e in sound.ENTITIES)

    problems = [p for p in check(forge).problems if p.severity is not Severity.INFO]
    found = [p for p in problems if f"{p.field}: {p.message}".removeprefix(": ") == hostile.says]
    assert [(p.path, p.line) for p in found] == ([(hostile.path, hostile.line)] if hostile.says else [])
    assert {p.path for p in problems} <= {hostile.path}
    assert all(len(p.message) < 300 and "\n" not in p.message for p in problems)

    hits = search(forge, "ledger", limit=500).ids
    assert _IDS & set(hits) == _IDS
    assert status(forge).active >= 118
    assert sound.DECISIONS[19].decision in prepare_continuation(forge, sound.TAG).text
    assert _bytes(copied) == before
    assert not any(folder.joinpath(CANARY).exists() for folder in (copied, copied.parent, Path.cwd()))


def test_forty_hostile_files(guarantee: Report) -> None:
    named = sum(bool(hostile.says) for hostile in HOSTILE.values())
    assert len(HOSTILE) >= 40
    sentence = "one hostile file hides none of 200 entities"
    guarantee(
        "G15", sentence, f"{len(HOSTILE)} files: 200 of 200 listed each time, {named} named, the rest read"
    )


@pytest.mark.parametrize(
    "name", ["yaml tag", "1.2 MB of brackets", "latin-1", "link out", "neighbour's id", "5 MB"]
)
def test_a_hostile_file_in_a_commit_hides_no_other(copied: Path, name: str) -> None:
    HOSTILE[name].plant(copied)
    git(copied, "add", "--all")
    git(copied, "commit", "--quiet", "--message", "hostile")
    registry = Forge.open(copied).registry_at("HEAD")
    assert {e.id for e in registry} >= _IDS
    assert {p.path for p in registry.problems} <= {PATH}


@pytest.mark.parametrize(
    "name", ["brackets", "no such day", "twin in capitals", "terminal escapes", "pipe", "line end in a name"]
)
def test_the_command_line_names_it_and_goes_on(copied: Path, cli: Cli, name: str) -> None:
    hostile = HOSTILE[name]
    hostile.plant(copied)
    place = hostile.path + (f":{hostile.line}" if hostile.line else "")
    is_error = name != "terminal escapes"
    checked = cli("check", root=copied)
    assert checked.code == (1 if is_error else 0)
    assert f"{'error' if is_error else 'warning'}: {place}: {hostile.says}" in checked.out
    assert len(checked.out.splitlines()) == 1
    listed = (
        cli("decision", "list", "--limit", "500")
        if "--limit" in cli("decision", "list", "--help").out
        else cli("decision", "list")
    )
    assert listed.code == 0
    assert len(listed.out.splitlines()) == 118 + (not is_error)
    assert ("could not be read" in listed.err) is is_error
    assert cli("prepare-continuation", "--tag", sound.TAG).code == 0
    created = cli("decision", "new", "Go on all the same", "--project", "Ledger")
    assert created.code == 0
    assert git(copied, "show", "--name-status", "--format=", "HEAD").count("\n") == 1
    for ran in (checked, listed, created):
        assert "Traceback" not in ran.out + ran.err
        assert "\x1b" not in ran.out + ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="LOUD SKIP: root reads what nobody may read")
def test_a_file_that_may_not_be_read(copied: Path) -> None:
    path = copied / PATH
    path.write_text("secret", encoding="utf-8")
    path.chmod(0)
    (problem,) = Forge.open(copied).registry().problems
    assert (problem.path, problem.message) == (PATH, "cannot be read: Permission denied")


SETTINGS = {
    "too long": (b"#" * 64_001, "forgekit.toml: is longer than 64,000 bytes"),
    "a key of 30,000 parts": (
        b"a" + b".a" * 30_000 + b" = 1",
        "forgekit.toml:1: is longer than 1,000 characters on this line",
    ),
    "nested lists": (b"a = [\n" + b"[\n" * 20_000, "forgekit.toml:1: is nested too deeply"),
    "a long number": (b"budget = " + b"9" * 900, None),
    "no text": (b"a = '\xff'", "forgekit.toml:1: is not UTF-8 text; save it as UTF-8"),
    "nul": (b"\n\na = \x00", "forgekit.toml:3: cannot be read: Invalid value"),
    "unclosed": (b"\na = '''x\n", "forgekit.toml:3: cannot be read: "),
    "no such day": (b"budget = 2026-02-30", "forgekit.toml:1: cannot be read: Invalid date or datetime"),
    "a key given twice": (
        b"budget = 1\nbudget = 2\n",
        "forgekit.toml:2: cannot be read: Cannot overwrite a value",
    ),
    "a file as a server": (
        b'judge_url = "file:///etc/passwd"',
        "forgekit.toml:1: judge_url: must be an address such as",
    ),
    "escapes in a key": (b'"\\u001b[2J" = 1', "forgekit.toml: \\x1b[2J: is not a setting"),
    "an old long number": (b"schema = " + b"9" * 900, None),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_hostile_settings_are_refused_in_one_sentence(copied: Path, cli: Cli, name: str) -> None:
    data, says = SETTINGS[name]
    (copied / "forgekit.toml").write_bytes(data)
    listed = cli("decision", "list", root=copied)
    assert len(listed.out.splitlines()) in {0, 118}
    for command in (("status",), ("check",), ("prepare-continuation", "--tag", sound.TAG)):
        ran = cli(*command)
        assert ran.code == 1, command
        assert (says or "forgekit.toml:1: ") in ran.out + ran.err
        assert "Traceback" not in ran.err
        assert "\x1b" not in ran.out + ran.err


@pytest.mark.parametrize("what", ["link", "pipe"])
def test_settings_that_are_no_file(copied: Path, cli: Cli, tmp_path: Path, what: str) -> None:
    settings = copied / "forgekit.toml"
    settings.unlink()
    if what == "pipe":
        os.mkfifo(settings)
        says = (
            f"forgekit: no forgekit.toml in {copied} or above it; "
            "run `forgekit init` where the registry is to be\n"
        )
    else:
        (tmp_path / "elsewhere").write_text("secret = 1", encoding="utf-8")
        settings.symlink_to(tmp_path / "elsewhere")
        says = "forgekit: forgekit.toml: cannot be read: Too many levels of symbolic links\n"
    ran = cli("status", root=copied)
    assert (ran.code, ran.out, ran.err) == (1, "", says)


def test_attributes_that_change_what_is_stored_are_named_and_change_nothing(copied: Path, cli: Cli) -> None:
    line = "*.md merge=union filter=pwn working-tree-encoding=UTF-16\n"
    (copied / ".gitattributes").write_text(line, encoding="utf-8")
    before = _bytes(copied)
    assert len(cli("decision", "list", root=copied).out.splitlines()) == 118
    ran = cli("doctor")
    assert ran.code == 1
    assert "filter=pwn, merge=union, working-tree-encoding=UTF-16" in ran.out + ran.err
    created = cli("decision", "new", "Go on all the same", "--project", "Ledger")
    assert created.code == 0
    assert before.items() <= _bytes(copied).items()
    assert "Go on all the same" in git(copied, "show", "HEAD")
