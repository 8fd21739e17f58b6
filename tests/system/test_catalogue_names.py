"""What is a name and what is not, which words count, and the order of equals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from repositories import write
from sample_entities import ARCHIVE, PROJECT, A, B, X, Y, decision, edge

from forgekit.errors import NotFoundError
from forgekit.index.catalogue import Catalogue
from forgekit.index.lazy_registry import PartialRegistry
from forgekit.model.entities import Compression, entity_path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    where = tmp_path / "world"
    write(where, PROJECT, A, B, X, Y)
    return where


@pytest.mark.parametrize("name", ["----", "0---", "-01-8", "dec_----", "dec_0---"])
def test_fewer_than_four_digits_name_nothing_whatever_stands_between(name: str, catalogue: Catalogue) -> None:
    with pytest.raises(NotFoundError):
        catalogue.resolve(name)


@pytest.mark.parametrize("local", ["d003", "D003"])
@pytest.mark.parametrize("asked", ["d003", "D003"])
def test_a_local_id_is_found_in_either_case(root: Path, catalogue: Catalogue, local: str, asked: str) -> None:
    write(root, replace(ARCHIVE, records=((local, X.id),)))
    catalogue.refresh()
    assert catalogue.resolve(f"{ARCHIVE.compression_tag}:{asked}") == X.id


def test_an_edge_takes_no_name_from_the_archives_that_it_shows(root: Path, catalogue: Catalogue) -> None:
    kept = replace(ARCHIVE, compression_tag="ROWS_COUNTED")
    joined = edge(A, B, Compression(compression_tag="ROWS_COUNTED"))
    write(root, kept, joined)
    catalogue.refresh()
    assert (catalogue.entity(joined.id), joined.title) == (joined, "ROWS_COUNTED")
    assert catalogue.resolve("ROWS_COUNTED") == kept.id


def test_the_class_of_a_decision_is_no_word_of_it(root: Path, catalogue: Catalogue) -> None:
    write(root, replace(X, tier_token="walrus", tags=("penguin",)))  # noqa: S106 - a class, no password
    catalogue.refresh()
    assert catalogue.search("walrus") == []
    assert [hit.id for hit in catalogue.search("penguin")] == [X.id]


def test_what_answers_equally_well_comes_in_the_order_of_ids(root: Path, catalogue: Catalogue) -> None:
    made = sorted((decision(f"{name} walrus", B) for name in ("First", "Other", "Third")), key=lambda d: d.id)
    for one in reversed(made):
        write(root, one)
        catalogue.refresh()
    assert [hit.id for hit in catalogue.search("walrus")] == [one.id for one in made]
    assert [hit.id for hit in catalogue.search("walrus", limit=2)] == [one.id for one in made[:2]]


@pytest.mark.parametrize(
    "name", [".gitattributes", ".GITATTRIBUTES", ".g\u200citattributes", ".gi\ufefftignore"]
)
def test_a_name_that_some_file_system_takes_for_one_of_gits_is_told(
    root: Path, catalogue: Catalogue, name: str
) -> None:
    (root / "registry" / name).touch()
    catalogue.refresh()
    assert [problem.message for problem in catalogue.problems()] == [
        "has a name that git gives a meaning to, which harms a registry"
    ]


def test_what_keeps_an_empty_folder_in_git_is_no_stray(root: Path, catalogue: Catalogue) -> None:
    (root / "registry" / ".gitkeep").touch()
    catalogue.refresh()
    assert catalogue.problems() == ()


def test_all_of_a_kind_are_looked_for_as_the_files_are_now(root: Path, catalogue: Catalogue) -> None:
    born = decision("Count rows", B)
    write(root, born)
    (root / entity_path(Y)).unlink()
    part = PartialRegistry.as_asked(catalogue, [])
    assert part.decisions == sorted((X, born), key=lambda found: found.id)
