"""Exports: what belongs to a project, what a chart shows of too much, what a label may not become."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from sample_entities import (
    ARCHIVE,
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

from forgekit.archives.read import ImportOptions
from forgekit.errors import ArchiveError, UsageError
from forgekit.filing.archives import Incoming, arrival
from forgekit.ids import convention_id, decision_id, note_id, project_id
from forgekit.model.entities import (
    Compression,
    Convention,
    ConventionOrigin,
    ConventionStatus,
    Note,
    Project,
)
from forgekit.model.kinds import short_id
from forgekit.model.registry import Registry
from forgekit.upkeep.export import FORMATS, export

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
    found = [json.loads(line) for line in export(registry, "jsonl", OTHER).splitlines()]
    assert [(view["kind"], view["short_id"]) for view in found] == [
        (entity.kind.value, short_id(entity.kind, entity.id)) for entity in (shared, THEIRS, nexus)
    ]


def test_a_chart_of_too_much_draws_the_newest_arrows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forgekit.upkeep.export.MERMAID_EDGES", 2)
    talks = chain("a", "b", "c", "d")
    names = [short_id(talk.kind, talk.id) for talk in talks]
    assert export(Registry.of([PROJECT, *talks, *links(*talks)]), "mermaid").splitlines() == [
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
    chart = export(Registry.of([PROJECT, marked, B, arrow]), "mermaid")
    assert "[\"a #amp; #35;35; #lt;b#gt; #quot;c#quot; 'd' (2023-11-14)\"]" in chart


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t="])
def test_no_cell_of_a_table_is_a_formula(sign: str) -> None:
    rows = export(Registry.of([thread("Who pays", A, body=f"{sign}1+2")]), "csv").splitlines()
    assert f",'{sign}1+2," in rows[1]


def test_the_columns_of_a_table_say_what_their_names_say() -> None:
    text = decision("Keep rows", A, body="## Rationale\n\nSmall.")
    header, row = export(Registry.of([text]), "csv").splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert (cells["title"], cells["text"], cells["project_name"]) == ("Keep rows", "Small.", NAME)


def test_tables_and_documents_hold_what_a_decision_and_a_thread_say() -> None:
    text = decision(
        "Keep rows",
        A,
        alternatives_rejected=("columns, as files", "one blob"),
        governs=("src/api/**",),
        dependencies=(X.id,),
        body="## Rationale\n\nSmall.\n\n## Context\n\nBelow 10 GB.",
    )
    waiting = thread("Who pays", A, blocked_by=("the budget of May",))
    registry = Registry.of([PROJECT, A, X, text, waiting])
    rows = {row["title"]: row for row in csv.DictReader(io.StringIO(export(registry, "csv")))}
    assert rows["Keep rows"]["alternatives_rejected"] == "columns, as files\none blob"
    assert rows["Keep rows"]["governs"] == "src/api/**"
    assert rows["Keep rows"]["dependencies"] == X.id
    assert rows["Keep rows"]["context"] == "Below 10 GB."
    assert rows["Who pays"]["blocked_by"] == "the budget of May"
    for form in ("markdown", "html"):
        page = export(registry, form)
        for said in (
            "Context: Below 10 GB.",
            "Rejected: columns, as files; one blob",
            "Governs: src/api/**",
            f"Builds on: {short_id(X.kind, X.id)}",
            "Waits for: the budget of May",
        ):
            assert said in page


@pytest.mark.parametrize("form", FORMATS)
def test_no_export_holds_a_character_that_a_terminal_obeys(form: str) -> None:
    odd = "Paint it\x1b[2J \x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\ \x9b31m\u202e"
    one = replace(X, body=f"## Rationale\n\n{odd}\n\n{odd}")
    text = export(Registry.of([PROJECT, A, one]), form)
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text) == []
    assert ("here" in text) is (form != "mermaid")  # which draws titles alone


def test_an_html_page_escapes_every_text_and_runs_no_script() -> None:
    attack = '<script>alert("x")</script>'
    text = decision(f"Keep {attack}", A, body=f"## Rationale\n\n{attack}\u202e")
    page = export(Registry.of([PROJECT, A, text]), "html")
    assert "<script" not in page
    assert "\u202e" not in page
    assert page.count("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;") == 2
    assert "default-src 'none'" in page
    assert not re.search(r"\b(?:src|href)=|@import|url\(", page)


def test_a_markdown_document_holds_no_markup_image_or_hidden_character() -> None:
    image, link = "![x](https://example.org/x.png)", "[y](https://example.org/y)\u202e"
    text = decision(f"See {image} and {link} <script>", A)
    page = export(Registry.of([PROJECT, A, text]), "markdown")
    assert ": See ![x] (https://example.org/x.png) and [y] (https://example.org/y) " in page
    assert "<script>" not in page


def test_a_madr_record_has_the_sections_of_the_template() -> None:
    text = decision("Keep rows", A, alternatives_rejected=("columns",), body="## Rationale\n\nSmall.")
    assert export(Registry.of([PROJECT, A, text, thread("Who pays", A)]), "madr") == (
        "<!-- 0001-keep-rows.md -->\n"
        '---\nstatus: "accepted"\ndate: 2023-11-14\n---\n\n'
        "# Keep rows\n\n"
        "## Context and Problem Statement\n\n(not recorded)\n\n"
        "## Considered Options\n\n* Keep rows\n* columns\n\n"
        '## Decision Outcome\n\nChosen option: "Keep rows", because Small.\n\n'
        f"## More Information\n\n{short_id(text.kind, text.id)} of {NAME}, tier {text.tier_words}\n"
    )


@pytest.mark.parametrize("form", ["markdown", "madr", "html"])
def test_a_document_says_what_is_not_settled(form: str) -> None:
    edits = "## Conflicting edits\n\n### epistemic_tier\n\n    epistemic_tier: 0.2"
    one, other = decision("Keep rows", A, body=edits), decision("Drop rows", A)
    fight = conflict(one, other)
    page = export(Registry.of([PROJECT, A, one, other, fight]), form)
    assert page.count("[TWO VERSIONS OF epistemic_tier, NOT SETTLED]") == 1
    assert page.lower().count("in an open conflict") == 2
    assert form != "madr" or short_id(fight.kind, fight.id) in page


def test_a_chart_shows_no_hidden_character() -> None:
    marked = conversation("a\u202eb\u200bc")
    chart = export(Registry.of([PROJECT, marked, B, edge(marked, B)]), "mermaid")
    assert '["abc (2023-11-14)"]' in chart


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_writes_every_kind_of_entity_the_same_twice(form: str) -> None:
    registry = Registry.of([PROJECT, A, B, X, Y, ARCHIVE, thread("t", A), edge(A, B), conflict(X, Y)])
    assert export(registry, form) == export(registry, form) != ""


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no format 'xml'; use one of json, jsonl, csv"):
        export(Registry.of([]), "xml")


@pytest.mark.parametrize("form", sorted({"json", "jsonl", "csv", "markdown", "html", "madr"}))
def test_what_people_wrote_below_a_heading_of_their_own_is_exported(form: str) -> None:
    body = "A remark.\n\n## Rationale\n\nBecause.\n\n## Consequences\n\nPagers ring."
    text = export(Registry.of([PROJECT, A, replace(X, body=body)]), form)
    assert "Consequences" in text
    assert "Pagers ring." in text
    assert "A remark." in text


def test_a_record_keeps_the_lines_of_its_texts_and_lets_none_of_them_run() -> None:
    code = "```sh\nmake <x>\n```"
    why = f"First line.\n\n{code}\n\n- [docs](https://example.org)\n### Not ours\n<b>bold</b>"
    text = export(Registry.of([PROJECT, A, replace(X, body=f"## Rationale\n\n{why}")]), "madr")
    assert f"{code}\n\n- [docs](https://example.org)\n\\### Not ours\n&lt;b>bold&lt;/b>" in text


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_documents_hold_notes_and_active_conventions(form: str) -> None:
    note = Note(
        note_id=note_id(PROJECT.id, "sauna", A.created_at),
        title="Sauna",
        project_name=PROJECT.project_name,
        project_uuid=PROJECT.id,
        created_at=A.created_at,
        updated_at=A.created_at,
        body="Forty logs a night.",
    )
    rule = Convention(
        convention_id=convention_id(PROJECT.id, "Use pnpm"),
        convention="Use pnpm",
        status=ConventionStatus.ACTIVE,
        origin=ConventionOrigin.EXPLICIT,
        confidence=1.0,
        project_name=PROJECT.project_name,
        project_uuid=PROJECT.id,
    )
    text = export(Registry.of([PROJECT, note, rule]), form)
    assert "Forty logs a night." in text
    assert "Use pnpm" in text


@pytest.mark.parametrize("form", sorted({"json", "jsonl", "csv", "markdown", "html", "madr"}))
def test_an_export_is_not_filed_as_an_archive(form: str) -> None:
    text = export(Registry.of([PROJECT, A, X, Y, thread("Who pays", A)]), form)
    item = Incoming(options=ImportOptions(project=NAME), data=text.encode(), name="exported")
    with pytest.raises(ArchiveError) as caught:
        arrival(item, lambda *_: NAME)
    assert str(caught.value) == (
        "exported is an export of a registry, not an archive; `git clone` copies the registry, "
        "and `forgekit sync` brings its changes into a clone"
    )
