"""Checks of files: a renamed entity, what git tracks beside entities, attributes, times in the future."""

from __future__ import annotations

import pytest
from sample_entities import PROJECT, archive, chain, decision, edge, thread

from forgekit.checks.base import CheckInput
from forgekit.checks.files import GITLINK, LINK, hostile_attributes, tracked_files
from forgekit.checks.fixes import Fix, fixes
from forgekit.checks.list import check
from forgekit.model.entity import Entity, entity_path
from forgekit.model.kinds import short_id
from forgekit.model.problem import Problem
from forgekit.model.registry import Registry
from forgekit.text.codec import dumps
from forgekit.times import DAY_MS, Instant

A, B = chain("a", "b")
X = decision("Keep rows", A, B)
KINDS: tuple[Entity, ...] = (PROJECT, A, X, thread("Retry", A), edge(A, B), archive(A))
NOW = Instant(max(A.created_at, B.created_at, X.last_validated) + DAY_MS)


@pytest.mark.parametrize("entity", KINDS, ids=lambda entity: str(entity.kind.value))
@pytest.mark.parametrize("folder", ["registry/decisions", "registry", "archives/2020-01"])
def test_a_renamed_file_is_found_with_the_path_it_belongs_at(entity: Entity, folder: str) -> None:
    path, data = f"{folder}/notes.md", dumps(entity).encode()
    registry = Registry.of([], [Problem(code="stray-file", message="is a file", path=path)])
    given = CheckInput(strays={path: data}, only=frozenset({path}))
    name, right = short_id(entity.kind, entity.id), entity_path(entity)
    assert check(registry, given) == [
        Problem(
            code="misplaced-file",
            message=f"holds {name}, whose path is {right}",
            path=path,
            fix="`forgekit check --fix` moves it there",
            fixable=True,
        )
    ]
    assert fixes(registry, given, NOW) == [
        Fix(code="misplaced-file", path=path, message=f"moved to {right}", writes=(entity,), removes=path)
    ]


def test_a_second_file_of_an_entity_is_not_moved_over_the_first() -> None:
    path = "registry/decisions/copy.md"
    given = CheckInput(strays={path: dumps(X).encode()}, only=frozenset({path}))
    registry = Registry.of([X])
    (found,) = check(registry, given)
    assert (found.code, found.fixable) == ("misplaced-file", False)
    assert found.message == f"is a second file of {short_id(X.kind, X.id)}, beside {entity_path(X)}"
    assert fixes(registry, given, NOW) == []


@pytest.mark.parametrize(
    "data", [b"", b"# Notes\n", b"---\ntitle: x\n---\n", b"\xff", b"---\ndecision_id: 1\n---\n"]
)
def test_a_stray_file_that_is_no_entity_stays_a_stray_file(data: bytes) -> None:
    stray = Problem(code="stray-file", message="is a file", path="registry/notes.md")
    given = CheckInput(strays={stray.path: data})
    assert check(Registry.of([], [stray]), given) == [stray]
    assert fixes(Registry.of([]), given, NOW) == []


def test_submodules_links_and_hidden_files_in_the_registry_are_found() -> None:
    modes = {
        "registry/decisions/lib": GITLINK,
        "registry/threads/2023-11/a.md": LINK,
        "archives/.gitattributes": 0o100644,
        "registry/.DS_Store": 0o100644,
        "registry/decisions/.gitkeep": 0o100644,
        "registry/decisions/2023-11/a.md": 0o100644,
        "src/lib": GITLINK,
        ".gitignore": 0o100644,
    }
    assert [(p.path, p.code, p.message) for p in tracked_files(modes)] == [
        (
            "registry/decisions/lib",
            "stray-file",
            "is a submodule, whose files the registry does not hold",
        ),
        ("registry/threads/2023-11/a.md", "stray-file", "is a symbolic link, and links are not followed"),
        ("archives/.gitattributes", "stray-file", "is a hidden file that the registry does not read"),
        ("registry/.DS_Store", "stray-file", "is a hidden file that the registry does not read"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "* filter=evil",
        "*.md merge=union",
        "registry/** working-tree-encoding=UTF-16",
        "/registry/decisions/** ident",
        "archives/**/*.md -merge",
        "**/*.md binary",
    ],
)
def test_attributes_that_change_the_files_of_the_registry_are_found(line: str) -> None:
    (found,) = hostile_attributes(".gitattributes", f"# ours\n\n{line}\n")
    assert (found.code, found.path, found.line) == ("hostile-attributes", ".gitattributes", 3)
    assert found.message == f"`{line.split()[1]}` changes what git stores or merges of the registry's files"


@pytest.mark.parametrize(
    "line",
    [
        "registry/**/*.md merge=forgekit",
        "* text=auto eol=lf",
        "*.png filter=lfs diff=lfs merge=lfs -text",
        "docs/** filter=evil",
        "# * filter=evil",
    ],
)
def test_other_attributes_are_left_alone(line: str) -> None:
    assert list(hostile_attributes(".gitattributes", line)) == []


def test_attributes_in_a_folder_count_from_there() -> None:
    assert len(list(hostile_attributes("registry/.gitattributes", "decisions/** filter=evil"))) == 1
    assert list(hostile_attributes("docs/.gitattributes", "* filter=evil")) == []


def test_times_far_in_the_future_are_found() -> None:
    registry = Registry.of([PROJECT, A, B, X])
    assert [p for p in check(registry, CheckInput(now=NOW)) if p.code == "future-time"] == []
    early = Instant(X.last_validated - 3650 * DAY_MS)
    found = [p for p in check(registry, CheckInput(now=early)) if p.code == "future-time"]
    assert {(p.path, p.field) for p in found} == {
        *((entity_path(c), name) for c in (A, B) for name in ("conversation_id", "created_at")),
        *((entity_path(X), name) for name in ("decision_id", "created_at", "last_validated")),
    }
