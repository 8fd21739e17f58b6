"""The reader of conversations by a language model, against a server on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from model_server import Server, ollama, sent, serving

from forgekit.extraction.statements import Find
from forgekit.model.entities import Proposal
from forgekit.model.problem import Problem, Severity
from forgekit.model.settings import ModelKind, Settings
from forgekit.models.chat import Chat
from forgekit.models.choice import find_reader
from forgekit.models.encoder import Missing
from forgekit.models.llm_reader import READ, SCHEMA, LlmReader, question, read_answer

TALK = [
    (True, "GET /orders is slow. what can we do"),
    (False, "Offset paging with an index, or keyset pagination?"),
    (True, "the second,\nmax 200 rows"),
]
KEYSET = {
    "turn": 2,
    "kind": "decision",
    "text": "the second",
    "title": "use keyset pagination.",
    "rationale": "offset is\nslow",
    "alternatives": ["offset paging", "offset paging"],
    "probability": 0.914,
}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def reader_of(server: Server, *answers: object) -> LlmReader:
    server.replies = [ollama(answer) for answer in answers]
    return LlmReader(Chat(url=f"http://{server.host}", model="tiny", seconds=20))


def row(**changed: object) -> dict[str, Any]:
    return KEYSET | changed


def answer(*rows: object) -> dict[str, Any]:
    return {"statements": list(rows)}


def test_a_statement_is_found_at_its_words(server: Server) -> None:
    rows = row(kind="instruction", text="max 200\n rows", title=" ", alternatives=[]), row()
    reader = reader_of(server, answer(*rows))
    first, second = reader.statements(TALK)
    assert first == (
        2,
        Find(
            kind=Proposal.DECISION,
            start=0,
            end=10,
            text="the second",
            title="Use keyset pagination",
            rationale="offset is slow",
            alternatives=("Offset paging",),
            confidence=0.91,
            why="read by the language model",
        ),
    )
    assert (second[1].kind, second[1].start, second[1].title) == (Proposal.INSTRUCTION, 12, "Max 200 rows")
    assert reader.problems == ()
    [(_, _, asked)] = server.seen
    assert asked["format"] == SCHEMA
    assert asked["messages"][1]["content"] == question(
        [(n, by_person, text, True) for n, (by_person, text) in enumerate(TALK)]
    )


@pytest.mark.parametrize(
    "said",
    [row(text="the third"), row(text=" "), row(turn=1), row(turn=99), row(turn=-1), row(probability=0.49)],
)
def test_words_that_the_turn_does_not_have_and_doubtful_ones_are_left_out(
    server: Server, said: dict[str, Any]
) -> None:
    assert list(reader_of(server, answer(said)).statements(TALK)) == []


def test_a_long_conversation_is_read_in_parts_with_what_was_said_before(server: Server) -> None:
    turns = [(True, f"turn {number} " + "x" * 2_000) for number in range(8)]
    reader = reader_of(
        server,
        answer(row(turn=0, text="turn 0")),
        answer(row(turn=0, text="turn 0"), row(turn=5, text="turn 5")),
    )
    assert [(number, find.text) for number, find in reader.statements(turns)] == [
        (0, "turn 0"),
        (5, "turn 5"),
    ]
    asked = [said["messages"][1]["content"] for _, _, said in server.seen]
    rows = [json.loads(text.partition("```json\n")[2].removesuffix("\n```")) for text in asked]
    assert [[(each["turn"], each["read"]) for each in some] for some in rows] == [
        [(n, True) for n in range(4)],
        [(3, False), (4, True), (5, True), (6, True), (7, True)],
    ]
    assert all(len(each["text"]) < READ for some in rows for each in some)


def test_code_and_pasted_documents_are_not_sent(server: Server) -> None:
    turns = [
        (True, "build this\n# Plan\nuse kafka\n## Steps\none"),
        (False, "```\nuse redis\n```\ndone"),
        (True, " "),
    ]
    assert list(reader_of(server, answer()).statements(turns)) == []
    [(_, _, asked)] = server.seen
    assert asked["messages"][1]["content"] == question(
        [(0, True, "build this", True), (1, False, "done", True)]
    )


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("[]", "it is not one JSON object"),
        ({"rows": []}, "its keys must be statements"),
        ({"statements": {}}, "statements must be a list of at most 100"),
        (answer(*[KEYSET] * 101), "statements must be a list of at most 100"),
        (
            answer("x"),
            "each statement must have the keys turn, kind, text, title, rationale, alternatives, probability",
        ),
        (answer(row(title=None)), "texts must be strings, and alternatives a list of them"),
        (answer(row(alternatives="x")), "texts must be strings, and alternatives a list of them"),
        (
            answer(row(kind="rule")),
            (
                "kind must be one of decision, instruction, thread_open, thread_resolved, thread_blocked, "
                "thread_abandoned"
            ),
        ),
        (answer(row(turn=True)), "turn must be a whole number"),
        (answer(row(probability=2)), "probability must be a number from 0 to 1"),
    ],
)
def test_each_slip_from_the_schema_is_named(said: object, why: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read_answer(said if isinstance(said, str) else json.dumps(said))
    assert str(caught.value) == why


def test_a_part_without_an_answer_is_left_unread_and_reported(server: Server) -> None:
    reader = reader_of(server)
    server.replies = [sent(500, b"")]
    assert list(reader.statements(TALK)) == []
    assert reader.problems == (
        Problem(
            code="unread-turns",
            path="forgekit.toml",
            field="reader",
            message=f"1 of 1 parts of conversations were left unread: {server.host} answered with status 500",
            fix="ingest them again when the model answers",
            severity=Severity.WARNING,
        ),
    )


def test_nothing_leaves_the_machine_unless_the_person_agrees(tmp_path: Any) -> None:
    settings = Settings(reader=ModelKind.LLM, judge_model="m", judge_url="https://api.example.org/v1")
    assert str(find_reader(settings, tmp_path, {})) == (
        "`judge_url` would send conversations to api.example.org; if you agree, "
        "set FORGEKIT_JUDGE_HOST=api.example.org in your environment"
    )
    assert isinstance(find_reader(settings, tmp_path, {"FORGEKIT_JUDGE_HOST": "api.example.org"}), LlmReader)
    off = find_reader(Settings(reader=ModelKind.OFF), tmp_path, {})
    assert isinstance(off, Missing)
    assert str(off) == '`reader` is "off"; set it to "trained" in forgekit.toml'
