"""The catalogue over real files: what it sees, what it survives, what it loads."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from repositories import BORN, PROJECT, TALK, decision, git, write

from forgekit.errors import AmbiguousError, NotFoundError, StoreError
from forgekit.ids import EntityId, archive_id, conversation_id, thread_id
from forgekit.index import catalogue as catalogue_module
from forgekit.index import update
from forgekit.index.catalogue import Catalogue
from forgekit.index.database import engine, fault
from forgekit.index.query import SCOPES, Hit, search_registry
from forgekit.index.update import Refresh
from forgekit.model.entities import (
    Archive,
    CompressionMode,
    Conversation,
    Decision,
    DecisionStatus,
    Entity,
    Project,
    Thread,
    entity_path,
)
from forgekit.model.kinds import Kind, short_id
from forgekit.model.problem import Problem
from forgekit.model.registry import Registry
from forgekit.times import Instant

EXTERNAL = "6f1d2c3b-0a4e-4c55-9b7e-2f8f6a1d9e01"
IDS = decision("Use UUID v7 for all resource IDs", "Sortable, no coordination required.")
REST = decision("Expose REST endpoints with C++ clients", "Boring, and naïve caching works. </b>")
CHINESE = decision("数据库使用索引", "查询速度更快")
THREAD = Thread(
    thread_id=thread_id(PROJECT, "Which cache?", TALK),
    title="Which cache?",
    project_name="The Nexus",
    project_uuid=PROJECT,
    created_at=Instant(BORN + 1000),
    updated_at=BORN,
    body="Redis or memory; ask Ana.",
)
ARCHIVE = Archive(
    archive_id=archive_id(PROJECT, TALK, "1-35", BORN),
    compression_tag="IDS_UUID_DONE",
    compression_mode=CompressionMode.LOSSY,
    compressed_at=BORN,
    conversation_id=TALK,
    conversation_title="Resource ids",
    project_name="The Nexus",
    project_uuid=PROJECT,
    conversation_started=BORN,
    content_sha256="0" * 64,
    records=(("D003", IDS.id), ("T001", THREAD.id)),
    body="# Archive\nwe spoke of zebras\n",
)
CONVERSATION = Conversation(
    conversation_id=TALK,
    title="Resource ids",
    project_name="The Nexus",
    project_uuid=PROJECT,
    created_at=BORN,
    external_id=EXTERNAL,
)
WORLD: tuple[Entity, ...] = (
    Project(project_uuid=PROJECT, project_name="The Nexus"),
    CONVERSATION,
    THREAD,
    IDS,
    dataclasses.replace(REST, status=DecisionStatus.INVALIDATED),
    CHINESE,
    ARCHIVE,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    where = tmp_path / "world"
    where.mkdir()
    write(where, *WORLD)
    return where


Answers = tuple[Registry, tuple[Problem, ...], list[list[Hit]], list[object]]
QUERIES = ("uuid sortable", "zebras", "数据库", "cache", IDS.id, "IDS_UUID_DONE:D003", "endpoint")


def answers(catalogue: Catalogue) -> Answers:
    return (
        catalogue.registry(),
        catalogue.problems(),
        [catalogue.search(query) for query in QUERIES],
        [catalogue.find(query) for query in (*QUERIES, "018b", "The Nexus")],
    )


def fresh(root: Path, tmp_path: Path) -> Answers:
    """Return what a catalogue answers that never saw the one under test."""
    new = Catalogue(root, tmp_path / f"fresh-{time.monotonic_ns()}")
    new.refresh()
    out = answers(new)
    new.close()
    return out


# --- what it sees -------------------------------------------------------------------------------------------


def test_the_registry_is_what_the_files_hold(catalogue: Catalogue) -> None:
    assert catalogue.registry() == Registry.of(WORLD)
    assert catalogue.entity(IDS.id) == IDS
    assert catalogue.entities(Kind.THREAD) == [THREAD]
    assert catalogue.entity(EntityId("018bcfe5-6800-8f8f-b518-000000000000")) is None
    assert catalogue.refresh() == Refresh(0, 0, 0, 0)


def test_conversations_that_others_are_tied_to(root: Path, catalogue: Catalogue) -> None:
    def talk(title: str, **more: Any) -> Conversation:
        key = conversation_id(PROJECT, title, BORN)
        return dataclasses.replace(
            CONVERSATION, conversation_id=key, title=title, **{"external_id": None} | more
        )

    later = talk("Later", continues=("IDS_UUID_DONE", "first-session"))
    first = talk("First", session_id="first-session")
    archived = talk("Archived", archived_as=("A_TAG", "B_TAG"))
    write(root, later, first, archived, talk("Alone", external_id="alone", session_id="s"))
    catalogue.refresh()
    assert set(catalogue.linked([])) == {later.id, first.id}
    assert set(catalogue.linked(["B_TAG"])) == {later.id, first.id, archived.id}
    assert set(catalogue.linked([EXTERNAL, "'"])) == {later.id, first.id, CONVERSATION.id}
    assert set(catalogue.linked([CONVERSATION.id])) == {later.id, first.id, CONVERSATION.id}


def test_an_edit_an_addition_and_a_deletion_are_seen(root: Path, catalogue: Catalogue) -> None:
    edited = dataclasses.replace(IDS, body="## Rationale\n\nBecause of giraffes.")
    other = decision("Keep a changelog")
    write(root, edited, other)
    (root / entity_path(THREAD)).unlink()
    assert catalogue.refresh() == Refresh(1, 1, 1, 0)
    assert [hit.id for hit in catalogue.search("giraffes")] == [IDS.id]
    assert catalogue.search("Redis") == []
    assert [hit.id for hit in catalogue.search("changelog")] == [other.id]


def test_an_edit_that_keeps_size_and_mtime_is_seen(
    root: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "RACY_NS", 0)
    time.sleep(0.02)  # two ticks of the file system's clock
    catalogue.refresh()
    path = root / entity_path(IDS)
    before = path.stat()
    time.sleep(0.02)
    path.write_bytes(path.read_bytes().replace(b"Sortable", b"Portable"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert catalogue.refresh() == Refresh(0, 1, 0, 0)
    assert [hit.id for hit in catalogue.search("portable")] == [IDS.id]


def test_an_edit_by_rename_is_seen(root: Path, catalogue: Catalogue) -> None:
    path = root / entity_path(IDS)
    before = path.stat()
    new = root / "new"
    new.write_bytes(path.read_bytes().replace(b"Sortable", b"Portable"))
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.replace(path)
    assert catalogue.refresh() == Refresh(0, 1, 0, 0)


def test_a_young_file_is_read_once_more_and_an_old_one_never(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = update.read_file

    def counted(path: str, name: str) -> tuple[bytes, update.FileEntry]:
        read.append(name)
        return real(path, name)

    monkeypatch.setattr(update, "read_file", counted)
    catalogue.refresh()
    assert len(read) == len(WORLD)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 10_000_000_000)
    catalogue.refresh()
    assert len(read) == 2 * len(WORLD)
    catalogue.refresh()
    assert len(read) == 2 * len(WORLD)


def test_a_touched_file_is_not_parsed_again(
    root: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "put", lambda *_: pytest.fail("parsed again"))
    (root / entity_path(IDS)).touch()
    assert catalogue.refresh() == Refresh(0, 0, 0, 0)


def test_checkout_and_reset_are_followed(repository: Path, tmp_path: Path) -> None:
    write(repository, *WORLD)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "world")
    found = Catalogue(repository, repository / ".git" / "forgekit")
    found.refresh()
    git(repository, "checkout", "--quiet", "-b", "other")
    (repository / entity_path(IDS)).unlink()
    write(repository, decision("Only on the other branch"))
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "other")
    for command in (["checkout", "main"], ["checkout", "other"], ["reset", "--hard", "main"]):
        git(repository, *command, "--quiet")
        found.refresh()
        assert answers(found) == fresh(repository, tmp_path)
    assert git(repository, "status", "--porcelain") == ""


# --- what is no entity --------------------------------------------------------------------------------------


def test_one_bad_file_does_not_hide_two_hundred(root: Path, catalogue: Catalogue) -> None:
    many = [decision(f"Decision number {number}") for number in range(200)]
    write(root, *many)
    bad = root / entity_path(THREAD)
    bad.write_bytes(b"---\ntitle: [\n---\n")
    assert catalogue.refresh() == Refresh(200, 1, 0, 1)
    assert len(catalogue.registry().decisions) == 203
    (problem,) = catalogue.problems()
    assert (problem.code, problem.path, problem.line) == ("format", entity_path(THREAD), 3)
    assert problem.message.startswith("front matter is not YAML: ")
    assert catalogue.registry().problems == (problem,)
    write(root, THREAD)
    catalogue.refresh()
    assert catalogue.problems() == ()
    assert catalogue.entity(THREAD.id) == THREAD


def hostile() -> dict[str, tuple[Callable[[Path], object], str]]:
    """Return ways to spoil the thread's file, and the problem each of them makes."""
    place = entity_path(THREAD)
    other = entity_path(decision("Elsewhere")).rsplit("/", 1)[1]

    def replaced(make: Callable[[Path], object]) -> Callable[[Path], object]:
        def spoil(path: Path) -> None:
            path.unlink()
            make(path)

        return spoil

    return {
        "latin-1": (
            lambda p: p.write_bytes(b"---\ntitle: caf\xe9\n---\n"),
            f"{place}:2: is not UTF-8 text; save it as UTF-8",
        ),
        "nul": (lambda p: p.write_bytes(b"---\n\x00"), f"{place}:2: holds a NUL byte"),
        "long": (
            lambda p: p.write_bytes(b"x" * 4_000_001),
            f"{place}: is 4,000,001 bytes long; at most 4,000,000 are read",
        ),
        "empty": (lambda p: p.write_bytes(b""), f"{place}:1: must begin with a line of three dashes"),
        "markers": (
            lambda p: p.write_text("<<<<<<< ours\n", encoding="utf-8"),
            f"{place}:1: merge-conflict marker; choose a side and remove the markers",
        ),
        "misplaced": (
            lambda p: p.write_text(p.read_text(encoding="utf-8").replace(THREAD.id, TALK), encoding="utf-8"),
            (
                f"{place}: thread_id: holds {TALK}, whose place is {place.replace(THREAD.id, TALK)}"
                " (move the file there, or correct the id)"
            ),
        ),
        "symlink": (
            replaced(lambda p: p.symlink_to("/etc/passwd")),
            f"{place}: is a symbolic link, and links are not followed (put the file itself here)",
        ),
        "fifo": (
            replaced(os.mkfifo),
            (
                f"{place}: is a pipe, a socket or a device that the registry has no place for"
                " (move it elsewhere)"
            ),
        ),
        "folder": (
            replaced(Path.mkdir),
            f"{place}: is a folder that the registry has no place for (move it elsewhere)",
        ),
        "stray": (
            lambda p: p.rename(p.with_name("notes\n\x1b.md")),
            (
                f"{place.rsplit('/', 1)[0]}/notes\\n\\x1b.md: is a file that the registry has no place for"
                " (move it elsewhere)"
            ),
        ),
        "not utf-8 name": (
            lambda p: p.rename(os.fsdecode(os.fsencode(p.parent) + b"/\xff.md")),
            (
                f"{place.rsplit('/', 1)[0]}/\\udcff.md: is a file that the registry has no place for"
                " (move it elsewhere)"
            ),
        ),
        "no kind": (
            lambda p: p.rename(p.parents[2] / other),
            f"registry/{other}: is a file that the registry has no place for (move it elsewhere)",
        ),
    }


@pytest.mark.parametrize("way", hostile())
def test_what_is_no_entity_is_named_with_its_place(way: str, root: Path, catalogue: Catalogue) -> None:
    spoil, sentence = hostile()[way]
    spoil(root / entity_path(THREAD))
    catalogue.refresh()
    assert [str(problem) for problem in catalogue.problems()] == [sentence]
    assert catalogue.registry().entities.keys() == {e.id for e in WORLD} - {THREAD.id}
    catalogue.refresh()
    assert [str(problem) for problem in catalogue.problems()] == [sentence]


def test_a_linked_folder_is_not_entered(root: Path, catalogue: Catalogue, tmp_path: Path) -> None:
    (root / "registry").rename(tmp_path / "outside")
    (root / "registry").symlink_to(tmp_path / "outside")
    catalogue.refresh()
    assert [str(problem) for problem in catalogue.problems()] == [
        "registry: is a symbolic link, and links are not followed (put the file itself here)"
    ]
    assert list(catalogue.registry()) == [ARCHIVE]


def test_hidden_names_are_passed_over(root: Path, catalogue: Catalogue) -> None:
    (root / "registry" / ".obsidian").mkdir()
    (root / "registry" / "decisions" / ".DS_Store").write_bytes(b"\x00")
    catalogue.refresh()
    assert catalogue.problems() == ()


# --- what it survives ---------------------------------------------------------------------------------------


def _zero(path: Path, start: int, end: int | None = None) -> None:
    data = bytearray(path.read_bytes())
    data[start:end] = bytes(len(data[start:end]))
    path.write_bytes(data)


def _in_place(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def _sql(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "empty": lambda p: p.write_bytes(b""),
    "truncated": lambda p: os.truncate(p, p.stat().st_size // 2),
    "junk": lambda p: p.write_bytes(b"junk " * 5000),
    "zero header": lambda p: _zero(p, 0, 100),
    "zero pages": lambda p: _zero(p, 4096),
    "zero half": lambda p: _zero(p, p.stat().st_size // 2),
    "folder": lambda p: _in_place(p, Path.mkdir),
    "full folder": lambda p: _in_place(p, lambda q: (q / "deeper").mkdir(parents=True)),
    "other version": lambda p: _sql(p, "UPDATE meta SET value = 'forgekit 99'", "DELETE FROM entity"),
    "other program": lambda p: _in_place(
        p, lambda q: _sql(q, "CREATE TABLE t (x)", "PRAGMA user_version = 7")
    ),
    "no text": lambda p: p.write_bytes(p.read_bytes().replace(b"CREATE TABLE", b"CR\xffATE TABLE")),
    "no words": lambda p: _sql(p, "DROP TABLE words"),
    "no entities": lambda p: _sql(p, "DROP TABLE entity"),
    "wrong json": lambda p: _sql(p, "UPDATE entity SET fields = '[1, 2]'"),
    "wrong types": lambda p: _sql(p, "UPDATE entity SET title = x'00ff', body = 7, kind = 'x'"),
    "pickle": lambda p: _sql(p, "UPDATE entity SET fields = x'80049500', id = '../../etc/' || row"),
    "deep json": lambda p: _sql(p, "UPDATE entity SET fields = replace(hex(zeroblob(50000)), '0', '[')"),
    "stale journal": lambda p: Path(f"{p}-wal").write_bytes(b"\x37\x7f\x06\x82" * 2000),
}


@pytest.mark.parametrize("way", DAMAGE)
@pytest.mark.parametrize("refreshed", [True, False], ids=["refreshed", "asked at once"])
def test_answers_survive_damage(
    way: str, refreshed: bool, root: Path, catalogue: Catalogue, tmp_path: Path
) -> None:
    expected = answers(catalogue)
    catalogue.close()
    DAMAGE[way](catalogue.path)
    again = Catalogue(root, tmp_path / "cache")
    if refreshed or way in {"deleted", "empty", "stale journal", "other version", "other program"}:
        again.refresh()  # a database that was never filled is filled by the refresh that every reader does
    assert answers(again) == expected
    again.close()
    assert not list(root.glob("**/*.sqlite*"))


@pytest.mark.parametrize("way", DAMAGE)
def test_answers_survive_damage_under_an_open_catalogue(way: str, catalogue: Catalogue) -> None:
    expected = answers(catalogue)
    DAMAGE[way](catalogue.path)
    catalogue.refresh()
    assert answers(catalogue) == expected


def test_what_is_wrong_with_a_database_is_said(catalogue: Catalogue) -> None:
    catalogue.close()
    assert fault(catalogue.path) == ""
    DAMAGE["no text"](catalogue.path)
    assert fault(catalogue.path) == "it holds bytes that are not text"


def test_a_cache_that_cannot_be_made_is_done_without(
    root: Path, catalogue: Catalogue, tmp_path: Path
) -> None:
    expected = answers(catalogue)
    (tmp_path / "file").write_bytes(b"")
    without = Catalogue(root, tmp_path / "file" / "cache")
    assert without.refresh() == Refresh(len(WORLD), 0, 0, 0)
    assert answers(without) == expected
    assert without.refresh() == Refresh(0, 0, 0, 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes to read-only folders")
def test_a_read_only_cache_is_done_without(root: Path, catalogue: Catalogue) -> None:
    expected = answers(catalogue)
    catalogue.close()
    catalogue.path.parent.chmod(0o500)
    try:
        without = Catalogue(root, catalogue.path.parent)
        without.refresh()
        assert answers(without) == expected
    finally:
        catalogue.path.parent.chmod(0o700)


def test_a_database_locked_for_good_is_done_without(
    root: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(catalogue)
    holder = sqlite3.connect(catalogue.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr("forgekit.index.database._WAIT_S", 0.05)
    other = Catalogue(root, catalogue.path.parent)
    assert other.refresh() == Refresh(len(WORLD), 0, 0, 0)
    assert answers(other) == expected
    holder.execute("ROLLBACK")
    holder.close()
    assert catalogue.path.exists()


_SLOW = """
import sys, time
from pathlib import Path
from forgekit.index import update
from forgekit.index.catalogue import Catalogue
real = update.put
def slow(*arguments):
    real(*arguments)
    print("put", flush=True)
    time.sleep(60)
update.put = slow
Catalogue(Path(sys.argv[1]), Path(sys.argv[2])).refresh()
"""


def test_a_killed_update_leaves_the_old_catalogue(root: Path, catalogue: Catalogue, tmp_path: Path) -> None:
    before = catalogue.registry()
    write(root, *(decision(f"Decision number {number}") for number in range(5)))
    arguments = [sys.executable, "-c", _SLOW, str(root), str(catalogue.path.parent)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"put\n"
        assert catalogue.registry() == before
        other.send_signal(signal.SIGKILL)
    assert catalogue.registry() == before
    assert catalogue.refresh() == Refresh(5, 0, 0, 0)
    assert answers(catalogue) == fresh(root, tmp_path)


_REFRESH = """
import sys
from pathlib import Path
from forgekit.index.catalogue import Catalogue
found = Catalogue(Path(sys.argv[1]), Path(sys.argv[2]))
for _ in range(5):
    found.refresh()
print(len(found.registry().entities), found.database.in_memory)
"""


def test_several_processes_refresh_at_once(root: Path, tmp_path: Path) -> None:
    write(root, *(decision(f"Decision number {number}") for number in range(60)))
    cache = tmp_path / "shared"
    arguments = [sys.executable, "-c", _REFRESH, str(root), str(cache)]
    running = [
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate() for process in running] == [(f"{len(WORLD) + 60} False\n", "")] * 4
    found = Catalogue(root, cache)
    assert found.refresh().added == 0
    assert answers(found) == fresh(root, tmp_path)
    found.close()


def test_two_registries_share_one_cache_folder(catalogue: Catalogue, tmp_path: Path) -> None:
    second = tmp_path / "second"
    write(second, THREAD)
    other = Catalogue(second, catalogue.path.parent)
    other.refresh()
    assert list(other.registry()) == [THREAD]
    assert len(catalogue.registry().entities) == len(WORLD)
    other.close()


def test_facts_are_kept_by_hash_and_version(catalogue: Catalogue) -> None:
    assert catalogue.cached("a", "1") is None
    catalogue.remember("a", "1", '{"x": 1}')
    catalogue.remember("a", "2", "two")
    catalogue.remember("a", "2", "three")
    assert (catalogue.cached("a", "1"), catalogue.cached("a", "2")) == ('{"x": 1}', "three")
    assert catalogue.cached("b", "1") is None


def test_a_python_without_full_text_search_is_told_so(root: Path, tmp_path: Path) -> None:
    db = sqlite3.connect(":memory:")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue_module, "tables", lambda: "CREATE VIRTUAL TABLE words USING fts99 (title);\n")
        with pytest.raises(StoreError) as caught:
            Catalogue(root, tmp_path / "none").refresh()
    db.close()
    assert str(caught.value) == "this Python's SQLite lacks FTS5; use a Python that has it"


def test_the_engine_is_named() -> None:
    assert engine() == (sqlite3.sqlite_version, True)


# --- names --------------------------------------------------------------------------------------------------

NAMES: dict[str, tuple[str, EntityId]] = {
    "uuid": (IDS.id, IDS.id),
    "upper case": (f"  {IDS.id.upper()} ", IDS.id),
    "short id": (short_id(Kind.DECISION, IDS.id), IDS.id),
    "short id, cut": (short_id(Kind.DECISION, IDS.id)[:9], IDS.id),
    "suffix": (IDS.id[-8:], IDS.id),
    "start of the last digits": (IDS.id[-12:-5], IDS.id),
    "prefix": (IDS.id[:23], IDS.id),
    "prefix without dashes": (IDS.id[:23].replace("-", ""), IDS.id),
    "external id": (EXTERNAL.upper(), TALK),
    "local id": ("IDS_UUID_DONE:D003", IDS.id),
    "local id of a thread": ("ids_uuid_done:t001", THREAD.id),
    "tag": ("IDS_UUID_DONE", ARCHIVE.id),
    "project": ("the nexus", PROJECT),
    "title": ("use uuid v7 for all  resource IDs.", IDS.id),
    "title, decomposed": ("数据库使用索引", CHINESE.id),
}


@pytest.mark.parametrize("way", NAMES)
def test_a_name_is_resolved(way: str, catalogue: Catalogue) -> None:
    name, entity = NAMES[way]
    assert catalogue.resolve(name) == entity


def test_kinds_narrow_a_name(catalogue: Catalogue) -> None:
    write(catalogue._root, dataclasses.replace(CONVERSATION, title=IDS.decision))
    catalogue.refresh()
    assert {c.kind for c in catalogue.find(IDS.decision)} == {Kind.DECISION, Kind.CONVERSATION}
    assert catalogue.resolve(IDS.decision, [Kind.CONVERSATION]) == TALK


@pytest.mark.parametrize(
    "name", ["", " ", "018", "xyz", "xxx_1234", "%", "____", "IDS_UUID_DONE:D999", "\x00", "'"]
)
def test_an_unknown_name_is_refused(name: str, catalogue: Catalogue) -> None:
    with pytest.raises(NotFoundError, match="answers to"):
        catalogue.resolve(name)


def test_an_ambiguous_name_lists_the_candidates(catalogue: Catalogue) -> None:
    with pytest.raises(AmbiguousError) as caught:
        catalogue.resolve("018bcfe56800", [Kind.DECISION])
    assert str(caught.value) == "'018bcfe56800' could be any of these; use one of the ids:" + "".join(
        f"\n  {short_id(Kind.DECISION, d.id)}  {d.decision}"
        for d in sorted((IDS, REST, CHINESE), key=lambda d: d.id)
    )


def test_a_long_list_of_candidates_is_cut_aloud(root: Path, catalogue: Catalogue) -> None:
    write(root, *(decision(f"Decision number {number}") for number in range(30)))
    catalogue.refresh()
    with pytest.raises(AmbiguousError) as caught:
        catalogue.resolve("018bcfe56800", [Kind.DECISION])
    assert len(caught.value.candidates) == 21
    assert caught.value.candidates[-1] == ("...", "and 13 more; type more of the id")


def test_an_exact_match_hides_a_prefix(root: Path, catalogue: Catalogue) -> None:
    named = decision(IDS.id[:13])
    write(root, named)
    catalogue.refresh()
    assert catalogue.resolve(IDS.id[:13]) == named.id


# --- words --------------------------------------------------------------------------------------------------


def found(catalogue: Catalogue, query: str) -> list[str]:
    return [hit.id for hit in catalogue.search(query)]


def test_a_hit_says_where_it_came_from(catalogue: Catalogue) -> None:
    (hit,) = catalogue.search("zebra")
    assert hit == Hit(
        kind=Kind.ARCHIVE,
        id=ARCHIVE.id,
        short=short_id(Kind.ARCHIVE, ARCHIVE.id),
        title="IDS_UUID_DONE",
        status=None,
        project="The Nexus",
        snippet="Archive: we spoke of «zebras»",
        score=hit.score,
        path=entity_path(ARCHIVE),
    )
    assert hit.score > 0


def test_words_are_joined_by_or_and_stemmed(catalogue: Catalogue) -> None:
    assert found(catalogue, "Why did we choose a sorting coordination giraffe?") == [IDS.id]
    assert found(catalogue, "naive") == [REST.id]


def test_only_stop_words_are_looked_for_as_they_are(catalogue: Catalogue) -> None:
    assert found(catalogue, "what we") == [ARCHIVE.id]


@pytest.mark.parametrize("query", ["数据库", "索引", "使用索引的数据", "查询", "引"])
def test_text_without_blanks_is_found(query: str, catalogue: Catalogue) -> None:
    assert found(catalogue, query) == [CHINESE.id]


def test_a_snippet_shows_text_without_blanks_as_written(catalogue: Catalogue) -> None:
    assert catalogue.search("查询速度")[0].snippet == "Rationale: «查询速度»更快"


def test_what_the_query_names_comes_first(catalogue: Catalogue) -> None:
    query = f"REST endpoints clients, unlike {short_id(Kind.DECISION, IDS.id)}?"
    assert found(catalogue, query)[:2] == [IDS.id, REST.id]
    assert found(catalogue, "IDS_UUID_DONE:D003")[0] == IDS.id


def test_filters_narrow_a_search(catalogue: Catalogue) -> None:
    both = "uuid redis"
    assert {h.kind for h in catalogue.search(both)} >= {Kind.DECISION, Kind.THREAD}
    assert {h.kind for h in catalogue.search(both, kinds=SCOPES["threads"])} == {Kind.THREAD}
    assert catalogue.search(both, kinds=[]) == []
    assert [h.id for h in catalogue.search("rest uuid", status="invalidated")] == [REST.id]
    assert catalogue.search(both, project="Another") == []
    assert catalogue.search(both, project="the nexus") == catalogue.search(both, project=PROJECT) != []
    assert len(catalogue.search(both, limit=1)) == 1
    assert catalogue.search(both, limit=0) == catalogue.search(both, limit=-1) == []


def test_an_exact_id_obeys_the_filters(catalogue: Catalogue) -> None:
    assert catalogue.search(IDS.id, kinds=SCOPES["threads"]) == []


def test_the_title_weighs_more_than_the_body(root: Path, catalogue: Catalogue) -> None:
    write(root, decision("Walrus", "of little note"), decision("Of little note", "walrus"))
    catalogue.refresh()
    assert [h.title for h in catalogue.search("walrus")] == ["Walrus", "Of little note"]


ODD_QUERIES = (
    *(
        '"',
        '""',
        "'",
        '"unbalanced',
        "c++",
        "C#",
        "AND",
        "NOT",
        "a OR",
        "NEAR(a b)",
        "uuid*",
        "-uuid",
        "^uuid",
    ),
    *(
        "title:uuid",
        "{title body}: uuid",
        "(",
        ")",
        "+",
        "uuid + v7",
        ";DROP TABLE entity",
        "😀",
        "👩‍👩‍👧",
        "\x00",
    ),
    *("uuid\x00v7", "", " \t\n", "%", "_", "\\", "--", "/*", "\ud800", "`", "ﬀ", "\u202e", "a" * 100_000),
    *(
        "uuid " * 20_000,
        '" OR "' * 5_000,
        "数" * 10_000,
        "a:1 " * 9_000,
        "\u0301" * 9_000,
        " ".join(map(str, range(9_000))),
    ),
)


@pytest.mark.parametrize("query", ODD_QUERIES, ids=lambda query: repr(query[:12]))
def test_no_query_is_taken_for_syntax(query: str, catalogue: Catalogue) -> None:
    hits = catalogue.search(query)
    assert catalogue.search(query) == hits
    assert (IDS.id in {hit.id for hit in hits}) == ("uuid" in query)
    assert not catalogue.database.in_memory


def test_a_registry_in_memory_answers_alike(catalogue: Catalogue) -> None:
    for query in QUERIES:
        assert search_registry(Registry.of(WORLD), query) == catalogue.search(query)
    only = search_registry(Registry.of(WORLD), "uuid redis", kinds=[Kind.THREAD], status="open", limit=1)
    assert [hit.id for hit in only] == [THREAD.id]


def test_history_leaves_no_trace_in_scores(root: Path, catalogue: Catalogue, tmp_path: Path) -> None:
    extra = [decision(f"uuid sortable number {n}", "zebras " * n) for n in range(9)]
    write(root, *extra)
    catalogue.refresh()
    for entity in extra[::2]:
        (root / entity_path(entity)).unlink()
    catalogue.refresh()
    write(root, *reversed(extra))
    catalogue.refresh()
    assert answers(catalogue) == fresh(root, tmp_path)


# --- what it loads ------------------------------------------------------------------------------------------

_LOADED = """
import json, sys
from pathlib import Path
from forgekit.index.catalogue import Catalogue
found = Catalogue(Path(sys.argv[1]), Path(sys.argv[2]))
found.refresh()
assert found.search("uuid") and found.find("018b")
print(json.dumps(sorted(sys.modules)))
"""


def test_a_search_loads_nothing_it_does_not_need(
    root: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time_ns()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: now + 10_000_000_000)
        catalogue.refresh()  # the files are old now
    catalogue.close()
    arguments = [sys.executable, "-c", _LOADED, str(root), str(catalogue.path.parent)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    heavy = {"numpy", "pygit2", "faiss", "torch", "yaml", "ruamel", "frontmatter", "dataclasses", "click"}
    assert heavy & {name.split(".")[0] for name in json.loads(done.stdout)} == set()


def test_decisions_of_one_moment_are_told_apart(catalogue: Catalogue) -> None:
    assert all(isinstance(e, Decision) for e in catalogue.entities(Kind.DECISION))
    assert [e.id for e in catalogue.entities(Kind.DECISION)] == sorted([IDS.id, REST.id, CHINESE.id])
