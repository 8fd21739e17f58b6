"""Which text of each kind of entity stands for its meaning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sample_entities as w
from repositories import write

from forgekit.archives import READER_VERSION
from forgekit.archives import read as reader
from forgekit.ids import body_sha256
from forgekit.index import query
from forgekit.index.catalogue import Catalogue
from forgekit.index.query import TEXT_LIMIT
from forgekit.index.rows import memory_of
from forgekit.model.archive_record import ArchiveText
from forgekit.model.entities import Compression, Entity

SOURCE, TARGET = w.chain("Keys", "Rows")
DECISION = w.decision(
    "Use UUID v7",
    SOURCE,
    alternatives_rejected=("auto-increment", "UUID v4"),
    tags=("database", "ids"),
    body="Said twice.\n\n## Rationale\n\nSortable.\n\n## Context\n\nThree hosts insert.",
)
SAID = """\
Use UUID v7

Said twice.

Sortable.

Three hosts insert.

auto-increment; UUID v4

database, ids"""
THREAD = w.thread("Which keys?", SOURCE, tags=("ids",), body="Rows need one.\n\n## Resolution\n\nUUID v7.")
TAGGED = Compression(compression_tag="LEDGER_KEYS_SETTLED")


def embedding_texts(entity: Entity) -> tuple[str, ...]:
    db = memory_of([entity])
    try:
        return query.embedding_texts(db, entity.id, "")
    finally:
        db.close()


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        (
            DECISION,
            SAID,
        ),
        (w.decision("Use REST", SOURCE), "Use REST"),
        (THREAD, "Which keys?\n\nRows need one.\n\nUUID v7.\n\nids"),
        (replace(SOURCE, body="About ids.", tags=("x",)), "Keys\n\nAbout ids.\n\nx"),
        (replace(w.PROJECT, body="Books."), "Ledger\n\nBooks."),
        (
            replace(w.edge(SOURCE, TARGET, TAGGED), body="Keys carried."),
            "ledger keys settled\n\nKeys carried.",
        ),
        (w.edge(SOURCE, TARGET), ""),
        (
            w.conflict(w.X, w.Y, evidence=("keep", "drop"), reason="none"),
            "one chooses what the other rejects\n\nkeep\n\ndrop\n\nnone",
        ),
        (replace(w.archive(SOURCE), body="Only prose.\n"), "keys\n\nKeys\n\nOnly prose."),
        (
            replace(
                w.archive(SOURCE), body="# T\n\n## Decisions\n\n### D001: Use UUID v7\n\n- **T001:** Which?\n"
            ),
            "keys\n\nKeys\n\nUse UUID v7\n\nWhich?",
        ),
    ],
)
def test_text(entity: Entity, text: str) -> None:
    assert embedding_texts(entity)[-1] == text


@pytest.mark.parametrize(
    ("entity", "titles"),
    [
        (DECISION, ["Use UUID v7"]),
        (THREAD, ["Which keys?"]),
        (replace(w.archive(SOURCE), body="Only prose.\n"), ["keys\n\nKeys"]),
        (replace(w.edge(SOURCE, TARGET, TAGGED), body="Keys carried."), ["ledger keys settled"]),
        (replace(w.edge(SOURCE, TARGET), body="Keys carried."), []),
        (w.edge(SOURCE, TARGET), []),
        (w.decision("Use REST", SOURCE), []),
    ],
)
def test_a_title_stands_beside_the_whole_text_where_there_is_more(entity: Entity, titles: list[str]) -> None:
    assert list(embedding_texts(entity)[:-1]) == titles


def test_a_long_text_is_cut() -> None:
    assert [len(text) for text in embedding_texts(replace(DECISION, body="x" * 900_000))] == [11, TEXT_LIMIT]


@pytest.mark.parametrize(
    "kept", ['{"decisions": [{"text": "Use UUID v7"}]}', '{"decisions": [{"text": 7}]}', "junk"]
)
def test_an_archive_is_read_again_only_where_the_cache_does_not_know_its_text(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = replace(w.archive(SOURCE), body="# T\n\n## Decisions\n\n### D001: Use UUID v7\n")
    write(tmp_path / "root", archive)
    catalogue = Catalogue(tmp_path / "root", tmp_path / "cache")
    catalogue.refresh()
    catalogue.remember(body_sha256(archive.body), READER_VERSION, kept)
    read: list[str] = []
    real = reader.read_archive

    def counted(body: str) -> ArchiveText:
        read.append(body)
        return real(body)

    monkeypatch.setattr(reader, "read_archive", counted)
    ((entity, blob),) = catalogue.contents()
    assert catalogue.embedding_texts(entity, blob) == ("keys\n\nKeys", "keys\n\nKeys\n\nUse UUID v7")
    assert read == ([] if "UUID" in kept else [archive.body])
    assert catalogue.embedding_texts(entity, "another blob") == ()
    catalogue.close()
