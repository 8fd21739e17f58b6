"""Transcripts of Claude Code: synthetic ones for every law, and the real ones in place."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from forgekit.errors import FormatError, NotFoundError
from forgekit.model.problem import Problem, Severity
from forgekit.times import Instant, parse_instant
from forgekit.transcripts import claude_code, json_streams
from forgekit.transcripts.claude_code import (
    CompactSummary,
    compactions,
    looks_like_transcript,
    read_compactions,
)

REAL = Path(__file__).parents[3] / "shared" / "data"
SESSION = "5b0c9a52-0000-4000-8000-000000000001"
TEXT = "This session is being continued from a previous conversation that ran out of context.\n\nSummary:\n"


def record(kind: str, second: int, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "sessionId": SESSION,
        "uuid": f"{kind}-{second}",
        "timestamp": f"2026-03-01T10:00:{second:02d}.000Z",
        "cwd": "/home/ada/engine",
        "isSidechain": False,
        **fields,
    }


def boundary(second: int, **fields: Any) -> dict[str, Any]:
    said = {"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "preTokens": 155_000}}
    return record("system", second, **{**said, **fields})


def summary(second: int, text: Any = TEXT, **fields: Any) -> dict[str, Any]:
    return record("user", second, isCompactSummary=True, message={"role": "user", "content": text}, **fields)


def read(*rows: dict[str, Any] | bytes) -> list[CompactSummary | Problem]:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    return list(read_compactions(io.BytesIO(b"\n".join(lines) + b"\n")))


def one(*rows: dict[str, Any] | bytes) -> CompactSummary:
    (found,) = read(*rows)
    assert isinstance(found, CompactSummary)
    return found


def at(second: int) -> Instant:
    return parse_instant(f"2026-03-01T10:00:{second:02d}Z")


def warning(code: str, message: str, line: int | None) -> Problem:
    return Problem(code=code, message=message, line=line, severity=Severity.WARNING)


def test_a_compaction_with_all_that_the_records_say() -> None:
    title = {"type": "summary", "summary": "A title", "leafUuid": "elsewhere"}
    found = read(title, record("user", 1), record("assistant", 2), boundary(5), summary(6))
    assert found == [
        CompactSummary(
            text=TEXT,
            line=5,
            session_id=SESSION,
            project_hint="engine",
            compacted_at=at(5),
            trigger="auto",
            pre_tokens=155_000,
            ordinal=1,
        )
    ]


def test_the_compactions_of_a_session_are_counted() -> None:
    first, second = read(boundary(5), summary(6), boundary(20), summary(21, uuid="b"))
    assert isinstance(first, CompactSummary)
    assert isinstance(second, CompactSummary)
    assert (first.ordinal, first.compacted_at) == (1, at(5))
    assert (second.ordinal, second.compacted_at) == (2, at(20))


def test_a_summary_without_a_boundary_has_its_own_time() -> None:
    found = one(summary(6))
    assert (found.compacted_at, found.trigger, found.pre_tokens) == (at(6), "", None)


def test_a_boundary_goes_for_one_summary_only() -> None:
    _, second = read(boundary(5), summary(6), summary(9, uuid="b"))
    assert isinstance(second, CompactSummary)
    assert (second.compacted_at, second.trigger) == (at(9), "")


@pytest.mark.parametrize("said", [{"trigger": "later", "preTokens": -1}, {"preTokens": True}, [], None])
def test_what_a_boundary_says_amiss_is_left_out(said: object) -> None:
    found = one(boundary(5, compactMetadata=said), summary(6))
    assert (found.compacted_at, found.trigger, found.pre_tokens) == (at(5), "", None)


def test_only_the_user_record_of_a_summary_counts() -> None:
    other = [
        record("assistant", 1, isCompactSummary=True, message={"content": TEXT}),
        record("user", 2, isCompactSummary="true", message={"content": TEXT}),
        record("system", 3, subtype="microcompact_boundary"),
        {"type": "summary", "summary": TEXT, "leafUuid": "x"},
    ]
    assert read(*other) == []


def test_a_copied_record_counts_once() -> None:
    first, second = read(boundary(5), summary(6), summary(6), boundary(8), summary(9, uuid="b"))
    assert isinstance(first, CompactSummary)
    assert isinstance(second, CompactSummary)
    assert (first.line, second.line, second.ordinal) == (2, 5, 2)


def test_sessions_of_one_file_are_counted_apart() -> None:
    rows = (summary(1), summary(2, sessionId="other", uuid="b"), summary(3, uuid="c"))
    found = [one for one in read(*rows) if isinstance(one, CompactSummary)]
    assert [(one.session_id, one.ordinal) for one in found] == [(SESSION, 1), ("other", 1), (SESSION, 2)]


def test_the_text_may_come_in_blocks() -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}, 7]
    assert one(summary(1, blocks)).text == "one\ntwo"


def test_half_a_surrogate_pair_becomes_a_replacement_mark() -> None:
    assert one(summary(1, "a\ud83d b \U0001f600")).text == "a\ufffd b \U0001f600"


@pytest.mark.parametrize(
    ("cwd", "hint"),
    [
        ("/home/ada/engine", "engine"),
        ("/home/ada/engine/", "engine"),
        ("/home/ada/engine/.worktrees/fix/deep", "engine"),
        ("/home/ada/engine/.claude/worktrees/fix", "engine"),
        ("C:\\Users\\ada\\engine", "engine"),
        ("/", ""),
        (7, ""),
    ],
)
def test_the_folder_hints_at_the_project(cwd: object, hint: str) -> None:
    assert one(summary(1, cwd=cwd)).project_hint == hint


def test_the_first_folder_of_a_session_counts() -> None:
    assert one(record("user", 1), summary(2, cwd="/home/ada/engine/src")).project_hint == "engine"


def test_broken_lines_are_named() -> None:
    found = read(b'{"type": "user", ', b"", b"[1, 2]", b"\xff\xfe", summary(4), b"[" * 100_000)
    assert [one for one in found if isinstance(one, Problem)] == [
        warning("broken-line", "this line is not a JSON record", line) for line in (1, 3, 4, 6)
    ]
    assert [one.line for one in found if isinstance(one, CompactSummary)] == [5]


def test_many_broken_lines_are_counted() -> None:
    found = read(*[b"{"] * 50)
    assert len(found) == 21
    assert found[-1] == warning("broken-line", "30 more lines are not JSON records", None)


def test_a_line_that_is_too_long_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_streams, "LONGEST_LINE", 2_000)
    monkeypatch.setattr(json_streams, "_CHUNK", 100)
    found = read(record("user", 1, message="x" * 5_000), summary(2))
    assert found[0] == warning("line-too-long", "this line is longer than 32 MB and was skipped", 1)
    assert isinstance(found[1], CompactSummary)
    assert found[1].line == 2


def test_a_file_that_is_too_long_is_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_streams, "LONGEST_FILE", 100)
    assert read(summary(1), summary(2, uuid="b"))[1:] == [
        warning("file-too-long", "reading stopped after 16 GB", 1)
    ]


def test_summaries_that_cannot_be_filed_are_told() -> None:
    found = read(
        summary(1, sessionId="../../etc"),
        summary(2, isSidechain=True),
        summary(3, "  \n"),
        record("user", 4, isCompactSummary=True, message=None),
        summary(5, timestamp="yesterday"),
    )
    assert found == [
        warning("unusable-summary", "this compaction summary names no session", 1),
        warning("unusable-summary", "this compaction summary belongs to a side chain and was left out", 2),
        warning("unusable-summary", "this compaction summary is empty", 3),
        warning("unusable-summary", "this compaction summary is empty", 4),
        warning("unusable-summary", "neither this compaction summary nor its boundary has a time", 5),
    ]


def test_a_file_of_very_many_sessions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_code, "MOST_SESSIONS", 2)
    with pytest.raises(FormatError) as raised:
        read(*[record("user", 1, sessionId=name) for name in "abc"])
    assert str(raised.value) == (
        "line 3: more than 10,000 sessions in one file; give one transcript at a time"
    )


def test_plain_packed_and_standard_input_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "".join(json.dumps(row) + "\n" for row in (record("user", 1), boundary(5), summary(6))).encode()
    plain, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
    plain.write_bytes(b"\xef\xbb\xbf" + content)
    packed.write_bytes(gzip.compress(content))
    expected = list(read_compactions(io.BytesIO(content)))
    assert list(compactions(str(plain))) == list(compactions(str(packed))) == expected
    for given in (content, gzip.compress(content)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(given))))
        assert list(compactions("-")) == expected
        assert list(compactions(io.BytesIO(given))) == expected


def test_a_packed_file_that_is_cut_off_says_so(tmp_path: Path) -> None:
    content = "".join(json.dumps(summary(1, uuid=str(n))) + "\n" for n in range(3)).encode()
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(content)[:-12])
    *_, last = compactions(str(path))
    assert isinstance(last, Problem)
    assert last.code == "file-cut-off"
    assert last.message.startswith("the file cannot be read past this line: ")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as missing:
        next(compactions(str(tmp_path / "no.jsonl")))
    assert str(missing.value) == f"no file answers to '{tmp_path / 'no.jsonl'}'"
    with pytest.raises(FormatError) as folder:
        next(compactions(str(tmp_path)))
    assert str(folder.value) == f"{tmp_path}: cannot be read: Is a directory"


def test_the_first_bytes_tell_a_transcript() -> None:
    line = json.dumps(record("user", 1)).encode()
    title = b'{"type":"summary","summary":"A title","leafUuid":"x"}\n'
    assert looks_like_transcript(line + b"\n")
    assert looks_like_transcript(b"\xef\xbb\xbf\n" + title)
    assert looks_like_transcript(gzip.compress(line)[:60] + gzip.compress(line)[60:])
    assert not looks_like_transcript(b"")
    assert not looks_like_transcript(b"\x1f\x8bnot gzip at all")
    assert not looks_like_transcript(b'[{"type": "user", "sessionId": "x"}]')
    assert not looks_like_transcript(b'{"title": "a chat", "mapping": {}}')
    assert not looks_like_transcript(b"# A title\n" + line)


def test_the_real_transcripts_agree_with_their_notes() -> None:
    if not REAL.is_dir():
        pytest.skip(f"no real transcripts in {REAL}: nothing was read")
    for row in (REAL / "claude_code_truth.jsonl").read_text("utf-8").splitlines():
        truth = json.loads(row)
        path = REAL / truth["file"]
        assert looks_like_transcript(path.read_bytes()[:4_096])
        events = truth["compaction_events"]
        found = list(compactions(str(path)))
        assert [one.line for one in found] == [e["line"] for e in events if e["kind"] == "compact_summary"]
        boundaries = [e for e in events if e["kind"] == "compact_boundary"]
        for ordinal, (one, event) in enumerate(zip(found, boundaries, strict=True), 1):
            assert isinstance(one, CompactSummary)
            assert (one.session_id, one.ordinal) == (truth["session_id"], ordinal)
            assert (one.trigger, one.pre_tokens) == (event["trigger"], event["preTokens"])
            assert one.compacted_at == parse_instant(event["timestamp"])
