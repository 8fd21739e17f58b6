"""The statement reader: its windows, its files, and what the shipped one reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_judge import tiny
from tiny_model import write_json

from forgekit.extraction.extract import extract
from forgekit.extraction.statements import FAMILIES, TAGS, Words
from forgekit.model.entities import Proposal
from forgekit.model.transcript import Speaker, Turn
from forgekit.models import shipped, statement_reader
from forgekit.models.encoder import Missing
from forgekit.models.files import TOKENIZER, WEIGHTS, file_sha256
from forgekit.models.forward import open_tokenizer
from forgekit.models.shipped import Damaged, read_card
from forgekit.models.statement_reader import (
    CARD,
    DELTA,
    FOLDER,
    FORMAT,
    Card,
    TrainedReader,
    card_of,
    find_statement_reader,
)
from forgekit.models.windows import AFTER, BEFORE, LAST, NEW, conversation_of, windows_of


@given(st.integers(0, 3_000))
def test_windows_tag_every_token_once_and_see_no_more_than_the_model(length: int) -> None:
    windows = windows_of(length)
    assert [n for _, _, begin, end in windows for n in range(begin, end)] == list(range(length))
    for first, last, begin, end in windows:
        assert 0 <= first <= begin < end <= last <= length
        assert last - first <= BEFORE + NEW + AFTER


def test_tokens_have_their_places_in_their_turns(tmp_path: Path) -> None:
    turns = [(True, "we choose uuid. why?"), (False, "```\nwe choose rest\n```"), (False, "the query")]
    model = tiny(tmp_path)
    found = conversation_of(open_tokenizer(model.folder / TOKENIZER, model.sha256[TOKENIZER]), turns)
    words = [(turn, turns[turn][1][a:b]) for turn, a, b in found.places if turn >= 0]
    assert words == [
        *((0, word) for word in ("we", "choose", "uuid", ".", "why", "?")),
        *((2, word) for word in ("the", "query")),
    ]
    assert {turn for turn, _, _ in found.places} == {-1, 0, 2}
    assert sorted(set(found.sentences)) == [-1, 0, 1, 2]
    by = dict(zip((turn for turn, _, _ in found.places), found.human, strict=True))
    assert (by[0], by[2]) == (1, 0)


def test_a_sentence_that_is_said_again_at_once_is_read_once(tmp_path: Path) -> None:
    again = [(True, "why?")] * 3_000
    turns = [(True, "1. \n" * 3_000 + "the query"), *again, (False, "why?"), (True, "why?")]
    model = tiny(tmp_path)
    found = conversation_of(open_tokenizer(model.folder / TOKENIZER, model.sha256[TOKENIZER]), turns)
    assert sorted(set(found.sentences)) == [-1, 0, 1, 2, 3, 4]
    assert {turn for turn, _, _ in found.places} == {-1, 0, 1, 3_001, 3_002}


def test_of_what_an_assistant_says_in_a_row_the_end_is_read(tmp_path: Path) -> None:
    long = " ".join(f"we choose uuid {n}." for n in range(LAST))
    turns = [(False, long), (False, "the query"), (True, long), (False, "rest")]
    model = tiny(tmp_path)
    found = conversation_of(open_tokenizer(model.folder / TOKENIZER, model.sha256[TOKENIZER]), turns)
    read = [
        len({n for n, (of, _, _) in zip(found.sentences, found.places, strict=True) if of == turn})
        for turn in range(4)
    ]
    assert read[1:] == [1, LAST, 1]
    assert 0 < read[0] < LAST
    first = [place for place in found.places if place[0] == 0]
    assert LAST < len(first) + 2 <= LAST + 10
    assert long[first[-1][1] : first[-1][2]] == "."


def write_reader(folder: Path, **changed: object) -> None:
    folder.mkdir()
    (folder / DELTA).write_bytes(b"a delta")
    card = {
        "format": FORMAT,
        "base": "0" * 64,
        "sha256": "a0d8c23b40ab9c8d8e5f1df8c8a3b4f1a2ed0e1dcb7d5e8f7c8e9a0b1c2d3e4f",
        "tags": list(TAGS),
        "levels": {name: {"bias": 0.0, "slope": 1.0, "least": 0.5} for name in FAMILIES},
    }
    write_json(folder / CARD, card | changed)


def test_files_that_are_not_there_are_missing(tmp_path: Path) -> None:
    found = find_statement_reader(tmp_path, tmp_path / "none")
    assert (
        str(found) == f"the statement reader's files are not in {tmp_path / 'none'}; install forgekit again"
    )


def test_a_delta_that_is_not_the_published_one_is_refused(tmp_path: Path) -> None:
    write_reader(tmp_path / "reader")
    found = find_statement_reader(tmp_path, tmp_path / "reader")
    delta = tmp_path / "reader" / DELTA
    assert isinstance(found, Damaged)
    assert str(found) == f"{delta} is not the published file: its SHA-256 differs; install forgekit again"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"format": 99}, "it belongs to another forgekit"),
        ({"tags": ["none"]}, "it belongs to another forgekit"),
        ({"levels": {}}, "'decision'"),
    ],
)
def test_a_card_of_another_shape_is_refused(tmp_path: Path, changed: dict[str, object], why: str) -> None:
    write_reader(tmp_path / "reader", **changed)
    found = find_statement_reader(tmp_path, tmp_path / "reader")
    path = tmp_path / "reader" / CARD
    assert str(found) == f"{path}: cannot be read: {why}; install forgekit again"


def test_a_delta_of_another_encoder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_reader(tmp_path / "reader")
    delta = tmp_path / "reader" / DELTA
    card = json.loads((tmp_path / "reader" / CARD).read_text("utf-8"))
    write_json(tmp_path / "reader" / CARD, card | {"sha256": file_sha256(delta, tmp_path)})
    model = tiny(tmp_path)
    monkeypatch.setattr(shipped, "find_default", lambda _: model)
    assert model.sha256[WEIGHTS] != "0" * 64
    found = find_statement_reader(tmp_path, tmp_path / "reader")
    assert str(found) == (
        f"{delta} belongs to another encoder than {model.folder}: its SHA-256 differs; install forgekit again"
    )


def test_the_shipped_files_belong_together(tmp_path: Path) -> None:
    card = read_card(FOLDER / CARD, card_of)
    assert file_sha256(FOLDER / DELTA, tmp_path) == card.sha256
    assert all(0.1 <= card.levels[family].least <= 0.9 for family in FAMILIES)
    assert (FOLDER / DELTA).stat().st_size < 8_000_000


def test_the_shipped_reader_reads_a_conversation(tmp_path: Path) -> None:
    reader = find_statement_reader(tmp_path)
    if isinstance(reader, Missing):
        pytest.skip(str(reader))
    said = (
        (Speaker.ASSISTANT, "Where should the sessions live?\nA) in Postgres\nB) in Redis\nC) in a cookie"),
        (Speaker.USER, "B. and from now on never touch the migrations folder"),
        (Speaker.ASSISTANT, "Done, 12 tests pass."),
        (Speaker.USER, "who pays for the hosting is still open, park that until monday"),
    )
    turns = [Turn(number=n, speaker=who, text=text) for n, (who, text) in enumerate(said, 1)]
    found = [(one.turn, one.kind) for one in extract(turns, reader)]
    assert (2, Proposal.INSTRUCTION) in found
    assert {(4, Proposal.THREAD_OPEN), (4, Proposal.THREAD_BLOCKED)}.intersection(found)  # until monday
    assert not any(turn == 3 for turn, _ in found)
    assert statement_reader.FOLDER == FOLDER


class Kept(dict[tuple[str, str], str]):
    """A memory that may be damaged."""

    def cached(self, text_hash: str, version: str) -> str | None:
        return self.get((text_hash, version))

    def remember(self, text_hash: str, version: str, text: str) -> None:
        self[text_hash, version] = text


def test_a_conversation_is_read_once_and_again_from_a_damaged_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny(tmp_path)
    memory, read = Kept(), list[int]()
    turns = [(True, "We take it.")]
    words = [Words([(0, 2), (3, 7), (8, 10)], [0, 0, 0], [[0.1, 0.9, *[0.0] * 10]] * 3)]

    def tagged(_: TrainedReader, given: list[tuple[bool, str]]) -> list[Words]:
        read.append(len(given))
        return words

    monkeypatch.setattr(TrainedReader, "read", tagged)
    reader = TrainedReader(Card(base="", sha256="s", levels={}), model, Path("none")).remembering(memory)
    first = reader.runs(turns)
    assert [run.family for run in first] == ["decision"]
    assert "take" not in str(memory)
    assert (reader.runs(turns), read) == (first, [1])
    for key in memory:
        memory[key] = "[[1"
    assert (reader.runs(turns), read) == (first, [1, 1])
