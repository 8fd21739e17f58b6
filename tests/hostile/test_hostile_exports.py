"""Exports made to do harm: read in part or refused with one sentence, in bounded memory, nothing written."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import tracemalloc
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from forgekit.errors import FormatError
from forgekit.model.problem import Problem
from forgekit.model.transcript import ImportedConversation
from forgekit.transcripts import json_streams, values
from forgekit.transcripts.formats import FORMATS, conversations, read
from forgekit.transcripts.sources import HEAD, Source, unpacked

MB = 1024 * 1024
WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e308,
    10**400,
    "",
    "\ud800\x00",
    [],
    [[]],
    [None, 1, "x"],
    {},
    {"type": {}},
)
SESSION = "5b0c9a52-0000-4000-8000-000000000001"


def message(number: int, text: str, parent: str = "") -> dict[str, Any]:
    return {
        "uuid": f"m{number}",
        "sender": "human" if number % 2 else "assistant",
        "text": "",
        "content": [{"type": "text", "text": text}],
        "created_at": f"2026-03-01T10:00:{number:02d}Z",
        "parent_message_uuid": parent,
    }


def claude(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"uuid": "c1", "name": "A chat", "chat_messages": list(messages or (message(1, "Hello."),))}


def node(key: str, parent: str | None) -> dict[str, Any]:
    said = {"id": key, "author": {"role": "user"}, "content": {"content_type": "text", "parts": [key]}}
    return {"id": key, "parent": parent, "message": said, "children": []}


def tool_block() -> dict[str, Any]:
    return {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}


def session(*extra: dict[str, Any]) -> list[dict[str, Any]]:
    envelope = {"sessionId": SESSION, "timestamp": "2026-03-01T10:00:00Z", "cwd": "/home/ada/engine"}
    rows: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Hello."}},
        {"type": "assistant", "uuid": "a1", "message": {"id": "x", "content": [tool_block()]}},
        {
            "type": "user",
            "uuid": "u2",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "We decided."}]},
        },
        {"type": "system", "subtype": "compact_boundary", "uuid": "s1", "compactMetadata": {"preTokens": 5}},
        {"type": "user", "uuid": "u3", "isCompactSummary": True, "message": {"content": "Summary."}},
    ]
    return [{**envelope, **row} for row in (*rows, *extra)]


def stream_of(data: bytes) -> io.BufferedReader:
    return unpacked(io.BytesIO(data))


def of(data: bytes, form: str = "auto") -> list[ImportedConversation | Problem]:
    return list(read(Source(name="given", stream=stream_of(data)), form))


def jsonl(rows: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def problems(found: Iterable[ImportedConversation | Problem]) -> list[str]:
    return [str(one) for one in found if isinstance(one, Problem)]


def talks(found: Iterable[ImportedConversation | Problem]) -> list[ImportedConversation]:
    return [one for one in found if isinstance(one, ImportedConversation)]


def refusal(*paths: Path | str, form: str = "auto") -> tuple[list[str], str]:
    """Return what was told before the refusal, and its sentence."""
    told: list[str] = []
    with pytest.raises(FormatError) as raised:
        told.extend(str(found) for found in conversations([str(path) for path in paths], form))
    return told, str(raised.value)


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("kind", ["zip", "gz"])
def test_a_bomb_is_refused_in_little_memory(tmp_path: Path, kind: str) -> None:
    content = b'[{"uuid": "c1", "chat_messages": [{"text": "' + b"a" * (30 * MB)
    path = tmp_path / f"bomb.{kind}"
    if kind == "zip":
        zipped(path, {"conversations.json": content})
    else:
        path.write_bytes(gzip.compress(content))
    assert path.stat().st_size < 40_000
    tracemalloc.start()
    told, refused = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if kind == "zip":
        assert told == [
            f"{path}:conversations.json: it unpacks to more than 200 times its size and was left out"
        ]
        assert refused == "no conversation was found in what was given"
        assert peak < 2 * MB
    else:
        said = (
            "conversation 1 cannot be read: it unpacks to more than 200 times its size; reading stopped there"
        )
        assert told == [f"{path}: {said}"]
        assert refused == f"{path}: no conversation is in it"
        assert peak < 40 * MB


def test_many_small_bombs_count_together(tmp_path: Path) -> None:
    content = json.dumps([claude()]).encode().ljust(600_000)
    path = zipped(tmp_path / "many.zip", {f"conversations-{n}.json": content for n in range(40)})
    found = list(conversations([str(path)]))
    assert 1 <= len(talks(found)) < 40
    assert problems(found) == [
        f"{path}: its files unpack to more than 200 times its size; the rest was left out"
    ]


def test_a_bomb_leaves_the_other_files_of_a_zip_their_room(tmp_path: Path) -> None:
    members = {
        "conversations-1.json": b"[" + b" " * (30 * MB),
        "conversations-2.json": json.dumps([claude()]).encode(),
    }
    found = list(conversations([str(zipped(tmp_path / "mixed.zip", members))]))
    assert len(talks(found)) == len(problems(found)) == 1


def test_names_in_a_zip_are_only_shown(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    content = json.dumps([claude()]).encode()
    names = ["../x/conversations.json", "/etc/conversations.json", "..\\conversations\x1b[2J.json"]
    path = zipped(inside / "odd.zip", dict.fromkeys(names, content))
    before = everything(tmp_path)
    found = list(conversations([str(path)]))
    assert len(talks(found)) == 3
    assert problems(found) == []
    assert everything(tmp_path) == before
    (told, refused) = refusal(zipped(inside / "odd.zip", {"../\x1b[2J.json": b"{}"}))
    assert refused == "no conversation was found in what was given"
    assert told[0].startswith(f"{path}:../?[2J.json: not a conversation in a known format")


def test_a_zip_in_a_zip_is_refused(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"conversations.json": json.dumps([claude()]).encode()})
    path = zipped(
        tmp_path / "outer.zip", {"inner.zip": inner.read_bytes(), "a.gz": gzip.compress(inner.read_bytes())}
    )
    told, _ = refusal(path)
    sentence = "a .zip is read only from a file of its own; unpack this one"
    assert told == [f"{path}:a.gz: {sentence}", f"{path}:inner.zip: {sentence}"]


def test_a_gzip_in_a_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"[]")))
    assert refusal(path) == ([], f"{path}: it is packed more than once; unpack it")


@pytest.mark.parametrize("damage", ["cut", "noise", "directory", "encrypted"])
def test_a_damaged_zip_is_refused(tmp_path: Path, damage: str) -> None:
    path = zipped(tmp_path / "export.zip", {"conversations.json": json.dumps([claude()] * 500).encode()})
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[-30:]
    elif damage == "noise":
        data[60:90] = b"\xff" * 30
    elif damage == "directory":
        data[-10:-6] = b"\xff" * 4
    else:
        data[6] |= 1
        data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    told, refused = refusal(path)
    assert len(told) <= 1
    assert all(line.startswith(f"{path}") for line in told)
    assert refused.startswith((f"{path}: this .zip cannot be read: ", "no conversation was found"))


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text(json.dumps([claude(message(1, "secret"))]))
    given = tmp_path / "given"
    given.mkdir()
    (given / "a.json").write_text(json.dumps([claude()]))
    (given / "file.json").symlink_to(outside / "secret.json")
    (given / "folder").symlink_to(outside)
    (given / "round").symlink_to(given)
    os.mkfifo(given / "pipe.json")
    found = list(conversations([str(given)]))
    assert [talk.turns[0].text for talk in talks(found)] == ["Hello."]
    assert problems(found) == [
        f"{given}: symbolic links were not followed: 3",
        f"{given}: files of other kinds were left out: 1",
    ]


@pytest.mark.parametrize("form", ["claude", "chatgpt"])
@pytest.mark.parametrize(
    "opening", ['[{"a":"', '[{"a":1},{"mapping":{"', "[" + "9" * 5_000 + ",", "[{" + '"a":[],' * 10]
)
def test_a_line_of_100_mb_is_refused_in_bounded_memory(
    monkeypatch: pytest.MonkeyPatch, form: str, opening: str
) -> None:
    monkeypatch.setattr(json_streams, "LONGEST_ITEM", 2 * MB)
    told: list[str] = []
    tracemalloc.start()
    with pytest.raises(FormatError) as raised:
        told.extend(str(found) for found in _endless(opening, 100, form))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(raised.value) == "given: no conversation is in it"
    assert told[-1].endswith(
        ("is longer than 32 MB; reading stopped there", "is no JSON; reading stopped there")
    )
    assert peak < 40 * MB


class _Endless(io.RawIOBase):
    def __init__(self, opening: bytes, length: int) -> None:
        self.rest = itertools.chain([opening], itertools.repeat(b"x" * 65_536, length // 65_536))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = next(self.rest, b"")
        buffer[: len(piece)] = piece
        return len(piece)


def _endless(opening: str, megabytes: int, form: str) -> Iterable[ImportedConversation | Problem]:
    stream: io.BufferedReader = io.BufferedReader(_Endless(opening.encode(), megabytes * MB), HEAD)
    return read(Source(name="given", stream=stream), form)


def test_a_line_of_100_mb_in_a_transcript_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_streams, "LONGEST_LINE", 2 * MB)
    tracemalloc.start()
    found: list[ImportedConversation | Problem] = []
    with pytest.raises(FormatError):
        found.extend(_endless('{"type":"user","sessionId":"s","message":"', 100, "claude-code"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problems(found) == ["given:1: this line is longer than 32 MB and was skipped"]
    assert peak < 20 * MB


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"chat_messages":' + "["])
@pytest.mark.parametrize("form", ["claude", "chatgpt", "claude-code"])
def test_deep_nesting_is_refused(opening: str, form: str) -> None:
    with pytest.raises(FormatError) as raised:
        of(opening.encode() * 100_000, form)
    assert str(raised.value) == "given: no conversation is in it"


def test_a_deeply_nested_conversation_ends_the_reading() -> None:
    first = json.dumps(claude()).encode()
    found = of(b"[" + first + b',{"chat_messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}]", "claude")
    assert len(talks(found)) == 1
    assert problems(found) == ["given: conversation 2 is nested too deeply; reading stopped there"]


def test_a_tool_call_that_is_deeply_nested_is_read() -> None:
    deep: list[Any] = []
    for _ in range(400):
        deep = [deep]
    said = message(2, "", "m1") | {"content": [tool_block() | {"input": deep}]}
    (talk,) = talks(of(json.dumps([claude(message(1, "Go."), said)]).encode()))
    assert talk.turns[1].tools == ("Bash",)


def test_very_many_small_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_VALUES", 200_000)
    data = b'{"chat_messages":[' + b"[]," * 300_000 + b"1]}"
    assert problems(_told(data, "claude")) == [
        "given: conversation 1 holds more than two million lists and objects; reading stopped there"
    ]
    assert problems(_told(data, "claude-code")) == ["given:1: this line is not a JSON record"]


def _told(data: bytes, form: str) -> list[ImportedConversation | Problem]:
    found: list[ImportedConversation | Problem] = []
    with pytest.raises(FormatError):
        found.extend(read(Source(name="given", stream=stream_of(data)), form))
    return found


def test_answers_in_a_circle_end() -> None:
    circle = {"mapping": {"a": node("a", "b"), "b": node("b", "a"), "c": node("c", "c")}}
    for current in ("a", "c", "nowhere", None, 7):
        (talk,) = talks(of(json.dumps([circle | {"current_node": current}]).encode()))
        assert 1 <= len(talk.turns) <= 2
    loop = claude(message(1, "a", "m2"), message(2, "b", "m1"), message(3, "c", "m3"))
    (talk,) = talks(of(json.dumps([loop]).encode()))
    assert (len(talk.turns), talk.branches_left) == (1, 2)


def _spots(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    yield path
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for key, one in inner:
        yield from _spots(one, (*path, key))


def _put(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    if not path:
        return wrong
    copy = value.copy()
    copy[path[0]] = _put(value[path[0]], path[1:], wrong)
    return copy


def _samples() -> dict[str, Any]:
    full = message(1, "Go.") | {
        "attachments": [{"file_name": "a.txt", "extracted_content": "text"}],
        "files": [{"file_name": "b.png"}],
    }
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "ok"}]}
    answer = message(2, "Done.", "m1") | {
        "content": [tool_block(), result, {"type": "text", "text": "Done."}]
    }
    chat: dict[str, Any] = {
        "mapping": {"r": {"message": None}, "a": node("a", "r"), "b": node("b", "a")},
        "current_node": "b",
    }
    chat["mapping"]["b"]["message"] |= {
        "create_time": 1.5,
        "recipient": "all",
        "metadata": {"attachments": [{"name": "x"}]},
        "content": {
            "content_type": "multimodal_text",
            "parts": ["x", {"content_type": "image_asset_pointer"}],
        },
    }
    queued = {
        "type": "queued_command",
        "commandMode": "prompt",
        "origin": {"kind": "human"},
        "prompt": "And?",
    }
    extra: list[dict[str, Any]] = [
        {"type": "attachment", "uuid": "q", "attachment": queued},
        {
            "type": "user",
            "uuid": "f",
            "forkedFrom": {"sessionId": "s", "messageUuid": "m"},
            "message": {"content": "x"},
        },
        {"type": "ai-title", "aiTitle": "Title"},
        {"type": "summary", "summary": "Title", "leafUuid": "u1", "sessionId": None},
    ]
    return {"claude": [claude(full, answer)], "chatgpt": [chat], "claude-code": session(*extra)}


@pytest.mark.parametrize("form", ["claude", "chatgpt", "claude-code"])
def test_wrong_types_everywhere_crash_nothing(form: str) -> None:
    sample = _samples()[form]
    tried = 0
    for path in _spots(sample):
        for wrong in WRONG:
            value = _put(sample, path, wrong)
            rows = value if isinstance(value, list) else [value]
            data = json.dumps(value).encode()
            if form == "claude-code":
                data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
            try:
                found = of(data, form)
            except FormatError as e:
                assert str(e) == "given: no conversation is in it"  # noqa: PT017 -- most of them are read
                continue
            tried += 1
            for talk in talks(found):
                repr(talk).encode()
                assert all(isinstance(turn.text, str) for turn in talk.turns)
    assert tried > 300


def test_keys_of_wrong_names_are_counted_and_bounded() -> None:
    rows = session(*({"type": f"new-{n}", "uuid": f"n{n}"} for n in range(500)))
    told, talk = of(jsonl(rows))
    assert isinstance(talk, ImportedConversation)
    assert len(talk.unknown) == 11
    assert str(told) == (
        f"given: conversation {SESSION}: unknown types were left out: other (490), "
        + ", ".join(f"record new-{n} (1)" for n in range(10))
    )


def test_a_torn_last_line_is_named() -> None:
    data = jsonl(session())
    found = of(data + b'{"type":"user","sessionId":"5b0c9a52-0000-4000-8000-0000000')
    assert len(talks(found)) == 1
    assert problems(found) == ["given:6: this line is not a JSON record"]


def test_a_torn_export_gives_what_is_whole() -> None:
    data = json.dumps([claude(), claude(), claude()]).encode()
    found = of(data[:-40])
    assert len(talks(found)) == 2
    assert problems(found) == ["given: conversation 3 is cut off; reading stopped there"]
    assert problems(of(data[:-1])) == ["given: conversation 4 is cut off; reading stopped there"]


def test_nul_bytes_and_invalid_utf8_are_read_as_signs() -> None:
    data = json.dumps([claude(message(1, "a@b%c"))]).encode().replace(b"@", b"\0").replace(b"%", b"\xff")
    (talk,) = talks(of(data))
    assert talk.turns[0].text == "a\ufffdb\ufffdc"
    rows = jsonl(session()).replace(b"Hello.", b"\xff")
    assert problems(of(rows)) == ["given:1: this line is not a JSON record"]
    (pasted,) = talks(of(b"User: a\0b\xff\n\nAssistant: c\n"))
    assert [turn.text for turn in pasted.turns] == ["a\ufffdb\ufffd", "c"]


def test_what_a_tool_said_is_nobodys_words() -> None:
    said = "We decided: delete everything."
    rows = session()
    rows[2]["message"]["content"][0]["content"] = said
    blocks = [tool_block(), {"type": "tool_result", "tool_use_id": "t", "content": said}]
    chat: dict[str, Any] = {
        "mapping": {"a": node("a", None), "b": node("b", "a"), "c": node("c", "b")},
        "current_node": "c",
    }
    chat["mapping"]["b"]["message"] |= {"author": {"role": "assistant"}, "recipient": "python"}
    chat["mapping"]["c"]["message"] |= {"author": {"role": "tool"}, "content": {"parts": [said]}}
    quoted = f"<details>\n{said}\n\n_**User**_\n</details></tool-use>\n"
    story = f'_**User**_\n\nGo.\n\n_**Agent**_\n\n<tool-use data-tool-name="x">{quoted}'
    given = {
        "claude-code": jsonl(rows),
        "claude": json.dumps(
            [claude(message(1, "Go."), message(2, "", "m1") | {"content": blocks})]
        ).encode(),
        "chatgpt": json.dumps([chat]).encode(),
        "specstory": b"<!-- Generated by SpecStory -->\n" + story.encode(),
    }
    for form, data in given.items():
        (talk,) = talks(of(data))
        assert talk.source == form
        assert sum(len(turn.tools) for turn in talk.turns) == 1
        assert said not in repr(talk)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "data", [b"", b"\n", b"[]", b"{}", b"null", b"\x89PNG\r\n\x1a\n\0\0", b"{" * 50, b"\xff\xfe"]
)
def test_what_is_no_export_is_an_error(form: str, data: bytes) -> None:
    for one in (form, "auto"):
        with pytest.raises(FormatError) as raised:
            of(data, one)
        assert str(raised.value).startswith("given: ")
