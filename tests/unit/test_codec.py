"""Reading what editors leave, and the canonical text of each kind."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, cast

import pytest

from forgekit.errors import FormatError, RuleError
from forgekit.ids import EntityId, project_id
from forgekit.model.entities import (
    CLASSES,
    Archive,
    Compression,
    CompressionMode,
    Decision,
    Lineage,
    Project,
    Thread,
    known_fields,
)
from forgekit.model.fields import Plain
from forgekit.model.kinds import Kind
from forgekit.text import codec, edit, frontmatter
from forgekit.text.codec import dump_field, scalar
from forgekit.times import Instant

PLAIN = """\
---
thread_id: 018bcfe5-6800-826f-96f9-fb59f47a1cbd
title: Design pagination
status: open
project_name: The Nexus
project_uuid: a48e83a0-af8c-5975-9225-16e202e1338c
created_at: 2023-11-14T22:13:20Z
updated_at: 2023-11-14T22:13:20Z
tags: [api, paging]
---

What comes after page one?
"""
CASES = sorted(Path(__file__).parent.parent.joinpath("cases", "frontmatter").glob("*.txt"))
SIGNS = {"␢": "\ufeff", "␍": "\r", "␉": "\t", "␠": " ", "␇": "\x07", "␤": "\x85", "␞": "\u2028"}
P = EntityId("a48e83a0-af8c-5975-9225-16e202e1338c")
A, B = EntityId("018bcfe5-6800-8625-89cf-d5faf30f5d9e"), EntityId("018bd01c-5680-8f8d-8100-fad94ae904ff")
MS = Instant(1_700_000_000_000)


def case(path: Path) -> tuple[list[str], str]:
    """Return what is expected of a case, and its text."""
    expected, _, shown = path.read_text(encoding="utf-8").partition("\n\n")
    text = shown[: shown.rindex("␃")]
    for sign, meant in SIGNS.items():
        text = text.replace(sign, meant)
    return expected.split("\n"), text


def test_there_are_cases() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_editors_leave(path: Path) -> None:
    expected, text = case(path)
    if expected[0].startswith("refused: "):
        with pytest.raises(FormatError) as caught:
            codec.loads(Kind.THREAD, text)
        assert f"refused: {caught.value}" == expected[0]
        return
    thread = codec.loads(Kind.THREAD, text)
    plain = codec.loads(Kind.THREAD, PLAIN)
    wanted = {**codec.to_fields(plain), "body": plain.body}
    for line in expected[1:]:
        key, _, value = line.partition(" = ")
        wanted[key] = json.loads(value)
    if ", without " in expected[0]:
        for key in expected[0].partition(", without ")[2].split(", "):
            del wanted[key]
    assert {**codec.to_fields(thread), "body": thread.body} == wanted
    assert edit.update(text, thread) == text
    renamed = dataclasses.replace(cast(Thread, thread), title="A new title: yes", tags=("one", "no"))
    assert codec.loads(Kind.THREAD, edit.update(text, renamed)) == renamed


def with_line(line: str) -> str:
    return PLAIN.replace("tags: [api, paging]", line)


def test_sixty_thousand_brackets_are_refused_and_end_nothing() -> None:
    for count in (33, 20_000, 60_000):
        with pytest.raises(FormatError) as caught:
            codec.loads(Kind.THREAD, with_line("x: " + "[" * count))
        assert str(caught.value) == "line 9: x: is nested too deeply"


def test_the_greatest_nesting_is_read() -> None:
    depth = frontmatter.NESTING_LIMIT - 1
    thread = codec.loads(Kind.THREAD, with_line("x: " + "[" * depth + "]" * depth))
    assert codec.loads(Kind.THREAD, codec.dumps(thread)) == thread


def test_front_matter_over_the_limit_is_refused() -> None:
    with pytest.raises(FormatError) as caught:
        codec.loads(Kind.THREAD, with_line("x: " + "é" * 500_000))
    expected = "line 1: front matter is longer than 1,000,000 bytes; move text into the body"
    assert str(caught.value) == expected


def test_nine_levels_of_aliases_are_refused() -> None:
    bomb = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))
    with pytest.raises(FormatError) as caught:
        codec.loads(Kind.THREAD, with_line(bomb))
    assert str(caught.value) == "line 9: a0: YAML anchors are not allowed"


def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(FormatError) as caught:
        codec.loads(Kind.THREAD, PLAIN.replace("Design", "\ud800"))
    assert str(caught.value) == "line 3: holds half of a surrogate pair, which no file can"
    with pytest.raises(FormatError) as caught:
        codec.loads(Kind.THREAD, PLAIN + "\udc80")
    assert str(caught.value) == "body: holds half of a surrogate pair, which no file can"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"---\na: \xff\n", "line 2: is not UTF-8 text; save it as UTF-8"),
        (b"---\na: b\n\x00", "line 3: holds a NUL byte"),
        (b"x" * 4_000_001, "is 4,000,001 bytes long; at most 4,000,000 are read"),
        ("---\n".encode("utf-16"), "line 1: is not UTF-8 text; save it as UTF-8"),
    ],
)
def test_bytes_that_are_no_text(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        frontmatter.decode(data)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", ["five", "nan", "inf", "-0.1", "1.01", "9" * 5000, "1e400"])
def test_a_tier_that_is_none_is_refused_by_field(value: str) -> None:
    fields = codec.to_fields(DECISION) | {"epistemic_tier": value}
    with pytest.raises(FormatError, match=r"^epistemic_tier: "):
        codec.from_fields(Kind.DECISION, fields, "")


DECISION = Decision(
    decision_id=EntityId("018bcfe5-6800-8f8f-b518-b34bfcd74276"),
    decision="Use UUID v7 for all resource IDs",
    epistemic_tier=0.85,
    project_name="The Nexus",
    project_uuid=P,
    local_id="D001",
    originated_in=A,
    conversation_ids=(A,),
    alternatives_rejected=("auto-increment", "UUID v4"),
    created_at=MS,
    last_validated=MS,
    tags=("database", "identifiers"),
    body="## Rationale\n\nSortable, no coordination required, K-sortable.",
)


def test_the_canonical_decision() -> None:
    text = """\
---
decision_id: 018bcfe5-6800-8f8f-b518-b34bfcd74276
decision: Use UUID v7 for all resource IDs
status: active
epistemic_tier: 0.85
project_name: The Nexus
project_uuid: a48e83a0-af8c-5975-9225-16e202e1338c
local_id: D001
originated_in: 018bcfe5-6800-8625-89cf-d5faf30f5d9e
conversation_ids: [018bcfe5-6800-8625-89cf-d5faf30f5d9e]
alternatives_rejected: [auto-increment, UUID v4]
created_at: 2023-11-14T22:13:20Z
last_validated: 2023-11-14T22:13:20Z
tags: [database, identifiers]
---

## Rationale

Sortable, no coordination required, K-sortable.
"""
    assert codec.dumps(DECISION) == text
    assert codec.loads(Kind.DECISION, text) == DECISION


def test_the_canonical_edge() -> None:
    edge = Lineage(
        lineage_id=B,
        source_conversation_id=A,
        target_conversation_id=B,
        project_name="no",
        project_uuid=P,
        compressions=(
            Compression(
                compression_tag="TOPIC_A_RESULT",
                compression_mode=CompressionMode.LOSSY,
                turn_range=(1, 35),
                decisions_carried=(("D001", A), ("", B)),
            ),
            Compression(compression_tag="B"),
        ),
    )
    text = f"""\
---
lineage_id: {B}
source_conversation_id: {A}
target_conversation_id: {B}
project_name: 'no'
project_uuid: {P}
compressions:
  - compression_tag: TOPIC_A_RESULT
    compression_mode: lossy
    turn_range: [1, 35]
    decisions_carried:
      D001: {A}
      {B}: {B}
  - compression_tag: B
---
"""
    assert codec.dumps(edge) == text
    assert codec.loads(Kind.LINEAGE, text) == edge


@pytest.mark.parametrize(
    "body", ["", "\n", "\r\n", "a\r\n\rb", "---\n", "\n\n---\nx\n\n", "<<<<<<< x\n", "\ufeff", " "]
)
def test_an_archive_keeps_every_byte(body: str) -> None:
    archive = Archive(
        archive_id=A,
        compression_tag="T",
        compression_mode=CompressionMode.LOSSLESS,
        compressed_at=MS,
        conversation_id=B,
        conversation_title="C",
        project_name="N",
        project_uuid=P,
        conversation_started=MS,
        content_sha256="12e4567" + "0" * 57,
        body=body,
    )
    text = codec.dumps(archive)
    assert text.endswith(f"---\n\n{body}")
    assert codec.loads(Kind.ARCHIVE, text) == archive


@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.value)
def test_the_schema_names_every_attribute_once(kind: Kind) -> None:
    names = {f.name for f in dataclasses.fields(CLASSES[kind])} - {"extra", "body"}
    assert set(known_fields(kind)) == names
    assert len(known_fields(kind)) == len(names)


def test_a_field_of_another_kind_is_an_unknown_field() -> None:
    text = PLAIN.replace("tags:", "nature: x\ndecision: y\ntags:")
    thread = codec.loads(Kind.THREAD, text)
    assert thread.extra == {"nature": "x", "decision": "y"}
    assert codec.loads(Kind.THREAD, codec.dumps(thread)) == thread


def test_errors_inside_an_entry_name_it() -> None:
    edge = {
        "lineage_id": B,
        "source_conversation_id": A,
        "target_conversation_id": B,
        "project_name": "N",
        "project_uuid": P,
    }
    for entry, message in (
        ({"compression_mode": "lossy"}, "entry 1: compression_tag: is missing"),
        (
            {"compression_tag": "T", "turn_range": ["5", "1"]},
            "entry 1: turn_range: must be two turn numbers, such as [1, 35]",
        ),
        (
            {"compression_tag": "T", "threads_carried": {"T001": "x"}},
            "entry 1: threads_carried: 'x' is not a valid id",
        ),
        ({"compression_tag": "T", "odd": "x"}, "entry 1: odd: is not a field of an entry"),
        ({"compression_tag": "T\n"}, "entry 1: compression_tag: 'T\\n' must be one line of text"),
        ("T", "entry 1 must be a map"),
    ):
        fields: dict[str, Any] = {**edge, "compressions": [entry]}
        with pytest.raises(FormatError) as caught:
            codec.from_fields(Kind.LINEAGE, fields, "")
        assert str(caught.value) == f"compressions: {message}"


def test_scalars_are_quoted_only_where_some_reader_needs_it() -> None:
    for text in ("Use cursors", "no way", "T001", "a48e83a0-af8c-5975-9225-16e202e1338c", "C#", "a,b", "x:y"):
        assert scalar(text) == text
    for text in (
        "no",
        "Yes",
        "null",
        "~",
        "1.10",
        "1e3",
        "0o17",
        "12e4567",
        "2026-01-01",
        "a: b",
        "x #y",
        "@x",
        " a",
        "",
    ):
        assert scalar(text) != text
    assert scalar("a\nb\x85\u2028\x00") == '"a\\nb\\u0085\\u2028\\u0000"'
    assert scalar(Plain("1.10")) == "1.10"
    assert scalar(Plain("a: b")) == "'a: b'"
    assert scalar("a, b", flow=True) == "'a, b'"
    assert dump_field("x", {"a": ["b", {"c": []}], "d": {}}) == "x:\n  a:\n    - b\n    - c: []\n  d: {}\n"


def test_maps_and_entries_have_each_key_once() -> None:
    with pytest.raises(RuleError) as caught:
        Compression(compression_tag="T", decisions_carried=(("D001", A), ("D001", B)))
    assert str(caught.value) == "decisions_carried: 'D001' stands there twice"
    with pytest.raises(RuleError) as caught:
        Lineage(
            lineage_id=B,
            source_conversation_id=A,
            target_conversation_id=B,
            project_name="N",
            project_uuid=P,
            compressions=(Compression(compression_tag="T"), Compression(compression_tag="T")),
        )
    assert str(caught.value) == "compressions: 'T' stands there twice"


def test_a_front_matter_too_long_to_be_read_back_is_not_written() -> None:
    long = Project(
        project_uuid=project_id("Long"),
        project_name="Long",
        tags=tuple(f"tag-{n}-{'x' * 90}" for n in range(11_000)),
    )
    with pytest.raises(FormatError) as caught:
        codec.dumps(long)
    assert str(caught.value) == "tags: makes the front matter longer than 1,000,000 bytes; shorten it"
