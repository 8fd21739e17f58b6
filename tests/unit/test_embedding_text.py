"""Which text of each kind of entity stands for its meaning."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sample_entities as w

from forgekit.index import query
from forgekit.index.query import TEXT_LIMIT
from forgekit.index.rows import memory_of
from forgekit.model.entity import Entity
from forgekit.model.lineage import Compression

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
