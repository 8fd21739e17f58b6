"""The cache is disposable: after any history of files and damage, answers are those of a fresh rebuild."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import sample_entities as w
from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import write
from strategies import any_text, entities

from forgekit.errors import NotFoundError
from forgekit.index.catalogue import Catalogue
from forgekit.index.query import NAMED_SCORE, full_score, search, search_registry
from forgekit.index.rows import memory_of
from forgekit.model.entities import Entity
from forgekit.model.registry import Registry
from forgekit.text.words import match_expression, readable

QUERIES = ("no null yes", "rationale", "a b x", "é", "D001", "018bcfe5")

Step = tuple[str, Any]


def steps() -> st.SearchStrategy[list[Step]]:
    """What people and disks do, one after the other."""
    step: st.SearchStrategy[Step] = st.one_of(
        st.tuples(st.just("write"), entities()),
        st.tuples(st.just("spoil"), st.tuples(st.integers(0, 20), st.binary(max_size=40))),
        st.tuples(st.just("delete"), st.integers(0, 20)),
        st.tuples(st.just("refresh"), st.none()),
        st.tuples(st.just("reopen"), st.none()),
        st.tuples(
            st.just("damage"), st.tuples(st.floats(0, 1), st.sampled_from((b"\0" * 4096, b"junk", b"")))
        ),
    )
    return st.lists(step, max_size=12)


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.md") if path.is_file())


def damage(path: Path, place: float, junk: bytes) -> None:
    """Overwrite a stretch of the database, or (no junk) cut it off there."""
    if not path.exists():
        return
    at = int(path.stat().st_size * place) // 4096 * 4096
    if not junk:
        os.truncate(path, at)
        return
    with path.open("r+b") as file:
        file.seek(at)
        file.write(junk)


def answers(found: Catalogue) -> tuple[object, ...]:
    return (
        found.registry(),
        [found.search(query) for query in QUERIES],
        [found.find(query) for query in QUERIES],
    )


def play(root: Path, cache: Path, history: list[Step]) -> Catalogue:
    found = Catalogue(root, cache)
    for what, value in history:
        known = files(root)
        if what == "write":
            write(root, value)
        elif what == "spoil" and known:
            number, data = value
            known[number % len(known)].write_bytes(data)
        elif what == "delete" and known:
            known[value % len(known)].unlink()
        elif what == "refresh":
            found.refresh()
        elif what in {"reopen", "damage"}:
            found.close()
            if what == "damage":
                damage(found.path, *value)
            found = Catalogue(root, cache)
    found.refresh()
    return found


@settings(max_examples=60, deadline=None)
@given(steps())
def test_answers_are_those_of_a_fresh_rebuild(history: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        found = play(root, Path(folder, "cache"), history)
        before = {path: path.read_bytes() for path in files(root)}
        fresh = Catalogue(root, Path(folder, "fresh"))
        fresh.refresh()
        assert answers(found) == answers(fresh)
        assert {path: path.read_bytes() for path in files(root)} == before
        assert len(before) == len(found.registry().entities) + len(found.problems())
        found.close()
        fresh.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(entities(), max_size=6, unique_by=lambda e: e.id), any_text())
def test_files_and_memory_answer_alike(world: list[Entity], query: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        for entity in world:
            write(root, entity)
        found = Catalogue(root, Path(folder, "cache"))
        found.refresh()
        assert found.registry() == Registry.of(world)
        assert found.search(query) == search_registry(Registry.of(world), query)
        for entity in world:
            assert found.resolve(entity.id) == entity.id
            assert entity.kind.registered == (entity.id in {hit.id for hit in found.search(entity.id)})
        found.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("abc .", max_size=30), min_size=1, max_size=9), st.text("abcd ", max_size=30))
def test_no_hit_scores_more_than_every_word_allows(titles: list[str], query: str) -> None:
    source = w.conversation("Words")
    db = memory_of({t.id: t for t in (w.thread(f"t {title}".strip(), source) for title in titles)}.values())
    scores = [hit.score for hit in search(db, query) if hit.score < NAMED_SCORE]
    assert all(0 <= score < full_score(db, query) + 1e-6 for score in scores)
    assert full_score(db, " ") == 0
    db.close()


@settings(max_examples=100, deadline=None)
@given(any_text())
def test_an_empty_catalogue_knows_no_name(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = Catalogue(Path(folder), Path(folder, "cache"))
        found.refresh()
        with pytest.raises(NotFoundError):
            found.resolve(name)
        found.close()


@given(st.text(max_size=60))
def test_an_expression_is_quoted_words_and_nothing_else(query: str) -> None:
    expression = match_expression(query)
    words = expression.split(" OR ") if expression else []
    assert all(word[0] == word[-1] == '"' and '"' not in word[1:-1] for word in words)
    assert all(readable(c).isalnum() or c == "\u200b" or ord(c) > 127 for word in words for c in word[1:-1])
