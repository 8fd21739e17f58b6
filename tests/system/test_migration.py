"""Registries of another schema: an older one is brought up in one commit, a newer one is refused (G20)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from cli_runner import Cli
from damage_cases import ENTITIES, ROWS, SETTINGS, commit_all, make, path_of
from guarantees import Report
from repositories import git

from forgekit.errors import FormatError
from forgekit.forge import Forge
from forgekit.model.entities import Decision, entity_path
from forgekit.model.settings import SCHEMA_VERSION, schema_of
from forgekit.store import Store
from forgekit.text import codec
from forgekit.upkeep import init_migrate
from forgekit.upkeep.repair import repair

NEWER = "forgekit: forgekit.toml: schema: is 3, and this forgekit reads up to 2; upgrade forgekit\n"
OLDER = "forgekit: forgekit.toml: schema: is 0; `forgekit init` brings the registry to 2\n"
COMMANDS = (
    ("status",),
    ("decision", "list"),
    ("check",),
    ("check", "--fix"),
    ("search", "rows"),
    ("context", "rows"),
    ("stale",),
    ("log",),
    ("export",),
    ("ask", "why rows?"),
    ("index", "build"),
    ("index", "status"),
    ("show", ROWS.id),
    ("history", ROWS.id),
    ("init",),
    ("prepare-compression", "--project", "Ledger"),
    ("prepare-continuation", "--tag", "TALK"),
    ("sync-compression", "--archive", "-"),
    ("project", "new", "Other"),
    ("decision", "new", "Use columns", "--project", "Ledger"),
    ("decision", "revise", ROWS.id, "Keep all rows"),
    ("thread", "new", "Why", "--project", "Ledger"),
    ("conversation", "new", "talk", "--project", "Ledger"),
    ("conflict", "scan"),
)


def upgrade(path: str, text: str) -> str:
    """Bring a file of the invented schema 0 up: it called a decision's text `choice`."""
    return text.replace("\nchoice: ", "\ndecision: ", 1) if path.startswith("registry/decisions/") else text


def upgraded(texts: Mapping[str, str], _touched: Callable[[str], bool]) -> dict[str, str | None]:
    return {path: new for path, text in texts.items() if (new := upgrade(path, text)) != text}


def set_schema(root: Path, number: int) -> None:
    path = root / SETTINGS
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("schema = 2 ", f"schema = {number} "), encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "registry")


@pytest.fixture
def older(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a registry of the invented schema 0, with fields of its team's own."""
    monkeypatch.setattr(init_migrate, "STEPS", {**init_migrate.STEPS, 0: upgraded})
    for entity in ENTITIES:
        path = path_of(root, entity)
        text = path.read_text(encoding="utf-8").replace("\ndecision: ", "\nchoice: ", 1)
        if isinstance(entity, Decision):
            text = text.replace("\ncreated_at:", "\nteam: blue  # theirs\ncreated_at:", 1)
        path.write_text(text, encoding="utf-8")
    set_schema(root, 0)
    commit_all(root)
    return root


def contents(root: Path) -> dict[str, bytes]:
    names = git(root, "ls-files", "-z").split("\0")
    return {name: (root / name).read_bytes() for name in names if name}


def test_an_older_registry_is_brought_up_in_one_commit(older: Path, guarantee: Report) -> None:
    before = contents(older)
    tip = git(older, "rev-parse", "HEAD").strip()
    done = repair(older)
    assert done.left == ()
    assert git(older, "rev-parse", "HEAD~1").strip() == tip
    assert git(older, "log", "-1", "--format=%B").strip() == (
        "doctor: migrate from schema 0 to 2\n\nForgekit-Op: doctor --repair"
    )
    after = contents(older)
    assert git(older, "status", "--porcelain") == ""
    for name, data in after.items():
        old = before[name].decode()
        expected = old.replace("schema = 0 ", "schema = 2 ", 1) if name == SETTINGS else upgrade(name, old)
        assert data.decode() == expected
    forge = Forge.open(older)
    found = forge.registry()
    assert found.problems == ()
    assert set(found.entities) == {entity.id for entity in ENTITIES}
    decisions = [entity for entity in found if isinstance(entity, Decision)]
    assert [decision.extra for decision in decisions] == [{"team": "blue"}] * 3
    assert repair(older).steps == ()
    guarantee("G20", "an older schema is migrated in one commit, unknown fields kept", "1 invented schema")


def test_an_older_registry_is_not_touched_before(older: Path, cli: Cli) -> None:
    before = contents(older)
    for command in COMMANDS:
        if command != ("init",):
            ran = cli(*command, root=older)
            assert (ran.code, ran.out, ran.err) == (1, "", OLDER), command
    dry = cli("doctor", "--repair", root=older)
    assert dry.code == 1
    assert "would  older-schema: forgekit.toml: every file is brought to the present schema" in dry.out
    assert contents(older) == before


def test_init_brings_an_older_registry_up_in_one_commit(older: Path, cli: Cli) -> None:
    before = contents(older)
    assert f"+schema = {SCHEMA_VERSION} " in cli("init", "--dry-run", root=older).out
    assert contents(older) == before
    tip = git(older, "rev-parse", "HEAD").strip()
    assert cli("init", root=older).code == 0
    assert git(older, "rev-parse", "HEAD~1").strip() == tip
    assert git(older, "log", "-1", "--format=%B").strip() == (
        f"init: migrate from schema 0 to {SCHEMA_VERSION}\n\nForgekit-Op: init"
    )
    assert git(older, "status", "--porcelain") == ""
    assert set(Forge.open(older).registry().entities) == {entity.id for entity in ENTITIES}
    assert cli("status", root=older).code == 0


def test_a_file_that_is_no_text_is_left_as_it_stands_and_the_rest_is_brought_up(older: Path) -> None:
    name = entity_path(ROWS)
    (older / name).write_bytes(b"\xff\xfe")
    change = init_migrate.migration(Store(older))
    rest = {path: text for path, text in contents(older).items() if path not in (name, SETTINGS)}
    brought_up = {path: upgrade(path, data.decode()).encode() for path, data in rest.items()}
    assert {path: data for path, data in change.files.items() if path != SETTINGS} == {
        path: data for path, data in brought_up.items() if data != rest[path]
    }


def test_a_hand_edit_is_not_swept_into_the_migration(older: Path) -> None:
    path = path_of(older, ROWS)
    path.write_text(path.read_text(encoding="utf-8") + "\nMine.\n", encoding="utf-8")
    tip = git(older, "rev-parse", "HEAD")
    done = repair(older)
    assert {f.subject for f in done.left} >= {"not-done", "older-schema"}
    assert f"uncommitted changes in {entity_path(ROWS)}" in done.left[0].message
    assert git(older, "rev-parse", "HEAD") == tip


def test_a_newer_registry_is_refused_by_every_command(root: Path, cli: Cli, guarantee: Report) -> None:
    set_schema(root, 3)
    commit_all(root)
    before = contents(root)
    for command in COMMANDS:
        ran = cli(*command, root=root)
        assert (ran.code, ran.out, ran.err) == (1, "", NEWER), command
    with pytest.raises(FormatError, match="upgrade forgekit"):
        Forge.open(root)
    ran = cli("doctor", "--repair", "--yes", root=root)
    assert ran.code == 1
    assert "BAD  newer-schema: forgekit.toml: schema: is 3, and this forgekit reads up to 2" in ran.out
    assert contents(root) == before
    guarantee("G20", "a newer schema is refused with one sentence", f"{len(COMMANDS)} commands")


def test_a_schema_that_no_forgekit_ever_wrote_is_left_alone(root: Path) -> None:
    set_schema(root, 0)
    commit_all(root)
    done = repair(root)
    assert "not done: forgekit.toml: schema: is 0, which no forgekit ever wrote" in done.left[0].message
    assert done.commits == ()


def test_steps_are_taken_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(_texts: Mapping[str, str], _touched: Callable[[str], bool]) -> dict[str, str | None]:
        return {}

    second = init_migrate.STEPS[1]
    monkeypatch.setattr(init_migrate, "SCHEMA_VERSION", 3)
    monkeypatch.setattr(init_migrate, "STEPS", {1: first, 2: second})
    assert init_migrate.path_up(1) == [first, second]
    assert init_migrate.path_up(2) == [second]
    assert init_migrate.path_up(0) is None


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("schema = 1\n", 1),
        ("budget = 1\r\nschema=7\t# so\r\n", 7),
        ("# schema = 9\n", SCHEMA_VERSION),
        ("", SCHEMA_VERSION),
        ('project = "schema = 4"\n', SCHEMA_VERSION),
        ("schema = 99999999999999\n", SCHEMA_VERSION),
    ],
)
def test_the_schema_is_read_from_the_text(text: str, schema: int) -> None:
    assert schema_of(text) == schema


def test_the_present_form_is_what_is_written() -> None:
    assert upgrade(entity_path(ROWS), codec.dumps(ROWS)) == codec.dumps(ROWS)
