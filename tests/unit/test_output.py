from __future__ import annotations

import io
import json
import sys

import pytest

from forgekit import console

HOSTILE = "a\x1b[2Jb\u202ec\u200bd\x9be\U000e0041f\rg\x00h"


def test_harmful_characters_are_visible() -> None:
    assert console.visible(HOSTILE) == r"a\x1b[2Jb\u202ec\u200bd\x9be\U000e0041f\rg\x00h"


def test_running_text_keeps_tabs_lines_and_what_scripts_need() -> None:
    text = "one\ttwo\nthree\r\n\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-16}é漢"
    assert console.visible(text) == text.replace("\r\n", "\n")


def test_a_cell_has_neither_tabs_nor_lines() -> None:
    assert console.one_line("a\tb\nc") == r"a\tb\nc"


def test_json_carries_hostile_text_unchanged_and_shows_none_of_it() -> None:
    text = console.json_text({"title": HOSTILE, "lone": "\ud800"})
    assert json.loads(text) == {"title": HOSTILE, "lone": "\ud800"}
    assert console.visible(text) == text


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-16"])
def test_json_is_utf_8_on_a_stream_that_is_not(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stream, encoding=encoding))
    console.prepare()
    console.as_json({"title": "café 漢 \U0001f600"})
    assert json.loads(stream.getvalue().decode("utf-8")) == {"title": "café 漢 \U0001f600"}


def test_json_on_a_terminal_ends_with_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    console.as_json([])
    assert capsys.readouterr().out == "[]\n"


def test_data_and_talk_go_to_their_streams(capsys: pytest.CaptureFixture[str]) -> None:
    console.data("found\x1b")
    console.info("said\x07")
    assert capsys.readouterr() == ("found\\x1b\n", "said\\x07\n")


def test_rows_are_lines_with_tabs_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console.table(("id", "title"), [("dec_1", "a\tb"), ("dec_2", "c\x1b")])
    assert capsys.readouterr().out == "dec_1\ta\\tb\ndec_2\tc\\x1b\n"


def test_a_terminal_gets_a_table_without_control_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    console.table(("id", "status", "title"), [("dec_1", "open", "[bold]x[/bold]\x1b[2J")])
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()] == [
        ["id", "status", "title"],
        ["dec_1", "open", "[bold]x[/bold]\\x1b[2J"],
    ]


def test_beside_a_long_project_a_title_keeps_its_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    project = "The learning platform for schools of the northern districts"
    row = ("dec_b34bfcd74276", "active", "0.85", "Use Postgres for the job queue", project)
    console.table(("id", "status", "tier", "title", "project"), [row])
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "id                status  tier  title                   project",
        "dec_b34bfcd74276  active  0.85  Use Postgres for the    The learning platform",
        "                                job queue               for schools of the",
        "                                                        northern districts",
    ]


def test_a_diff_on_a_terminal_is_coloured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    console.diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new \x1b[2J\n")
    out = capsys.readouterr().out
    assert "\x1b[32m+new \\x1b[2J" in out
    assert "\x1b[2J" not in out


def test_fields_stand_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    console.fields({"id": "dec_1", "rests on": "dec_2\ndec_3"})
    assert capsys.readouterr().out == "id        dec_1\nrests on  dec_2\n          dec_3\n"


def test_a_verbatim_text_is_not_touched_in_a_pipe(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    console.verbatim("a\r\n\x1b\u202e")
    assert capsysbinary.readouterr().out == "a\r\n\x1b\u202e".encode()


def test_a_verbatim_text_is_visible_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    console.verbatim("a\x1b")
    assert capsys.readouterr().out == "a\\x1b\n"


@pytest.mark.parametrize(("number", "said"), [(1, "1 thread"), (0, "0 threads"), (1234, "1,234 threads")])
def test_numbers_have_their_nouns(number: int, said: str) -> None:
    assert console.count(number, "thread") == said


def test_progress_says_nothing_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress("waiting", after=0):
        pass
    assert capsys.readouterr() == ("", "")


def test_progress_on_a_terminal_takes_its_line_back(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = threading.Event()
    write = sys.stderr.write

    def told(text: str) -> int:
        shown.set()
        return write(text)

    monkeypatch.setattr(sys.stderr, "write", told)
    with console.progress("waiting", after=0):
        assert shown.wait(10)
    assert capsys.readouterr().err == "waiting ...\r\x1b[K"


@pytest.mark.parametrize(("terminal", "ci"), [(True, ""), (True, "1"), (False, "")])
def test_a_counter_and_a_meter_show_pace_and_time_left_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool, ci: str
) -> None:
    moments = iter([100.0, 100.0, 110.0, 130.0, 200.0, 200.0, 210.0])
    monkeypatch.setattr("time.monotonic", lambda: next(moments))
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with console.counter("talks") as show:
        show(1, 0.0)
        show(1000, None)
        show(3000, 0.25)
    with console.meter("texts") as show_of:
        show_of(0, 2000)
        show_of(200, 2000)
    talks = ("talks: 1", "talks: 1,000, 100/s", "talks: 3,000, 100/s, 25%, 1:30 left", "")
    texts = ("texts: 0 of 2,000", "texts: 200 of 2,000, 20/s, 1:30 left", "")
    told = "".join(f"\r\x1b[K{line}" for line in (*talks, *texts))
    assert capsys.readouterr().err == (told if terminal and not ci else "")
