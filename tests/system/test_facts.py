"""What the filed archives say, and what people registered beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import new_repository, write
from sample_entities import PROJECT, archive, chain, decision, thread

from forgekit.archives.conversations import Ingested
from forgekit.filing.archive_facts import by_people, facts
from forgekit.index.catalogue import Catalogue
from forgekit.model.entities import DecisionStatus, ThreadStatus
from forgekit.model.kinds import Kind, short_id
from forgekit.model.registry import Registry

A, B, C = chain("a", "b", "c")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "registry")


@pytest.fixture
def catalogue(root: Path, tmp_path: Path) -> Iterator[Catalogue]:
    found = Catalogue(root, tmp_path / "cache")
    yield found
    found.close()


def test_what_is_in_force_comes_before_what_is_older(root: Path, catalogue: Catalogue) -> None:
    ended = thread("Who pays", A, status=ThreadStatus.RESOLVED)
    revised = decision("Keep rows", B, status=DecisionStatus.REVISED)
    open_still, active = thread("Who reads", B), decision("Keep columns", C)
    registry = Registry.of([PROJECT, A, B, C, ended, revised, open_still, active])
    write(root, *registry)
    write(root, thread("Who writes", B))
    catalogue.refresh()
    body = (
        "- T001: Who pays\n- T002: who reads.\n- D001: Keep columns\n"
        f"- **D002 (revises {short_id(Kind.DECISION, revised.id)}):** Keep both\n"
    )
    said = facts(catalogue, [archive(A, body=body)])
    assert by_people(catalogue, [], Ingested.of([], []), said) == (open_still, active, ended, revised)


def test_an_archive_that_claims_the_hash_of_another_says_what_its_own_text_says(catalogue: Catalogue) -> None:
    rows = archive(A, body="- D001: Keep rows\n")
    columns = archive(B, body="- D001: Keep columns\n")
    claimed = replace(columns, content_sha256=rows.content_sha256)
    catalogue.refresh()
    found = facts(catalogue, [rows, claimed])
    assert [[d.text for d in text.decisions] for _, text in found] == [["Keep rows"], ["Keep columns"]]
