"""Exports: what belongs to a project, what a chart shows of too much, what a label may not become."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from sample_entities import (
    NAME,
    PROJECT,
    A,
    B,
    X,
    Y,
    chain,
    conflict,
    conversation,
    decision,
    edge,
    links,
    thread,
)

from forgekit.ids import decision_id, project_id
from forgekit.model.kinds import short_id
from forgekit.model.lineage import Compression
from forgekit.model.project import Project
from forgekit.model.registry import Registry
from forgekit.upkeep.export import Format, export

OTHER = project_id("Nexus")
THEIRS = replace(
    Y,
    decision_id=decision_id(OTHER, Y.decision, A.id),
    project_name="Nexus",
    project_uuid=OTHER,
    dependencies=(),
)


def test_the_export_of_a_project_holds_its_own_and_every_conflict_that_touches_it() -> None:
    nexus = Project(project_uuid=OTHER, project_name="Nexus")
    own, shared = conflict(X, Y), conflict(X, THEIRS)
    registry = Registry.of([PROJECT, nexus, A, X, Y, THEIRS, own, shared])
    found = [json.loads(line) for line in export(registry, Format.JSONL, OTHER).splitlines()]
    assert [(view["kind"], view["short_id"]) for view in found] == [
        (entity.kind.value, short_id(entity.kind, entity.id)) for entity in (shared, THEIRS, nexus)
    ]


def test_a_chart_of_too_much_draws_the_newest_arrows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forgekit.upkeep.export.MERMAID_EDGES", 2)
    talks = chain("a", "b", "c", "d")
    names = [short_id(talk.kind, talk.id) for talk in talks]
    assert export(Registry.of([PROJECT, *talks, *links(*talks)]), Format.MERMAID).splitlines() == [
        "flowchart LR",
        "    %% the newest 2 of 3 arrows",
        f'    {names[1]}["b (2023-11-15)"]',
        f'    {names[2]}["c (2023-11-16)"]',
        f'    {names[3]}["d (2023-11-17)"]',
        f'    {names[1]} -->|"(no tag)"| {names[2]}',
        f'    {names[2]} -->|"(no tag)"| {names[3]}',
    ]


def test_a_label_in_a_chart_shows_its_signs_as_they_were_written() -> None:
    marked = conversation('a & #35; <b> "c" `d`')
    arrow = edge(marked, B, Compression(compression_tag="TAG"))
    chart = export(Registry.of([PROJECT, marked, B, arrow]), Format.MERMAID)
    assert "[\"a #amp; #35;35; #lt;b#gt; #quot;c#quot; 'd' (2023-11-14)\"]" in chart


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t="])
def test_no_cell_of_a_table_is_a_formula(sign: str) -> None:
    rows = export(Registry.of([thread("Who pays", A, body=f"{sign}1+2")]), Format.CSV).splitlines()
    assert f",'{sign}1+2," in rows[1]


def test_the_columns_of_a_table_say_what_their_names_say() -> None:
    text = decision("Keep rows", A, body="## Rationale\n\nSmall.")
    header, row = export(Registry.of([text]), Format.CSV).splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert (cells["title"], cells["text"], cells["project_name"]) == ("Keep rows", "Small.", NAME)
