r"""The one place that prints: data on stdout, messages on stderr.

Text comes from files and models that cannot be trusted, so nothing reaches a terminal that could move its
cursor or hide a word: control characters, bidirectional overrides and zero-width characters are written as
visible escapes (`\x1b`, `\u202e`). Tabs and line ends stay in running text; the joiners that scripts and
emoji need stay everywhere. JSON carries the same characters as JSON escapes, so nothing is lost.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache

NO_COLOR = "NO_COLOR"

_INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f\U000e0100-\U000e01ef"
)


@cache
def _harmful(more: str = "") -> re.Pattern[str]:
    """Return what matches a harmful character, compiled on demand: what a hook prints needs none."""
    return re.compile(f"[{more}{_INVISIBLE}]")


def prepare() -> None:
    """Make both streams take any text, whatever encoding the terminal claims, and none where it is closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def visible(text: str) -> str:
    """Return text with harmful characters as escapes; tabs and line ends stay."""
    if text.isascii() and text.replace("\n", "").isprintable():  # most texts, for which nothing is compiled
        return text
    return _harmful().sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return text with harmful characters, tabs and line ends as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return _harmful("\t\n").sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode()


def data(text: str = "") -> None:
    """Write a line or a text to stdout."""
    sys.stdout.write(visible(text) + "\n")


def verbatim(text: str) -> None:
    """Write a text to stdout byte for byte, unless it goes to a terminal."""
    if sys.stdout.isatty():
        data(text.removesuffix("\n"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()


def info(text: str) -> None:
    """Write a line to stderr."""
    sys.stdout.flush()
    sys.stderr.write(visible(text) + "\n")


def as_json(value: object) -> None:
    """Write one JSON document to stdout, in UTF-8 whatever the locale."""
    verbatim(json_text(value) + "\n")


def json_text(value: object) -> str:
    """Return JSON in which harmful characters are JSON escapes."""
    import json

    return _harmful().sub(_json_escape, json.dumps(value, ensure_ascii=False, indent=2))


def _json_escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def diff(text: str) -> None:
    """Write a diff to stdout, in colour on a terminal; nothing of an empty one."""
    if not text:
        return
    if not _fancy() or os.environ.get(NO_COLOR):
        data(text.rstrip("\n"))
        return
    colours = {"+": 32, "-": 31, "@": 36}
    for line in visible(text).splitlines():
        code = 1 if line.startswith(("+++", "---")) else colours.get(line[:1], 0)
        sys.stdout.write(f"\x1b[{code}m{line}\x1b[0m\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write rows: a table on a terminal, else a line each with tabs between the cells.

    On a terminal too narrow for the table each row is a line of ids and states, with its texts below it.
    """
    cleaned = [[one_line(cell) for cell in row] for row in rows]
    if not cleaned:
        return
    if not _fancy():
        for row in cleaned:
            sys.stdout.write("\t".join(row) + "\n")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    plain = bool(os.environ.get(NO_COLOR))
    console = Console(file=sys.stdout, color_system=None if plain else "auto", highlight=False)
    wraps = [name in _TEXTS for name in columns]
    widths = [
        max(_width(cell, wraps=wrapped) for cell in (name, *cells))
        for name, wrapped, *cells in zip(columns, wraps, *cleaned, strict=True)
    ]
    if sum(widths) + 2 * (len(widths) - 1) <= console.width:
        shown = Table(box=None, pad_edge=False, header_style="bold")
        for name, wrapped, width in zip(columns, wraps, widths, strict=True):
            shown.add_column(name, no_wrap=not wrapped, overflow="fold", min_width=width)
        for row in cleaned:
            shown.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
        console.print(shown)
        return
    for row in cleaned:
        cells = list(zip(row, wraps, strict=True))
        console.print(Text("  ".join(cell for cell, wrapped in cells if not wrapped), overflow="fold"))
        for cell in (cell for cell, wrapped in cells if wrapped):
            for line in Text(cell).wrap(console, console.width - 4):
                console.print(Text("    ") + line)


def _width(cell: str, *, wraps: bool) -> int:
    """Return the columns that a cell needs: all of it, or its longest word."""
    from rich.cells import cell_len

    words = cell.split() if wraps else [cell]
    longest = max(map(cell_len, words), default=0)
    return min(_LONGEST_WORD, longest) if wraps else longest


_TEXTS = frozenset({"title", "name", "message", "project", "one text", "other text"})
_LONGEST_WORD = 24
"""Columns; what is longer, such as an address, may be broken."""
_STYLES = {
    "open": "yellow",
    "high": "bold",
    "error": "red",
    "warning": "yellow",
    "revised": "dim",
    "superseded": "dim",
    "invalidated": "dim",
    "abandoned": "dim",
}


def fields(pairs: Mapping[str, str]) -> None:
    """Write names and values, one pair a line, the values in one column."""
    named = [(one_line(name), value) for name, value in pairs.items()]
    width = max((len(name) for name, _ in named), default=0)
    for name, value in named:
        head, *more = value.split("\n")
        sys.stdout.write(f"{name.ljust(width)}  {one_line(head)}".rstrip() + "\n")
        for line in more:
            sys.stdout.write(f"{' ' * width}  {one_line(line)}".rstrip() + "\n")


def section(heading: str, text: str) -> None:
    """Write a text below a heading, after a blank line."""
    data(f"\n{heading}\n")
    data("\n".join(f"  {line}".rstrip() for line in visible(text).split("\n")))


@contextlib.contextmanager
def progress(what: str, after: float = 0.5) -> Iterator[None]:
    """Show on a terminal what is going on, once it has taken `after` seconds."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield
        return
    import threading

    shown = threading.Event()

    def show() -> None:
        shown.set()
        sys.stderr.write(f"{what} ...")
        sys.stderr.flush()

    timer = threading.Timer(after, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def meter(what: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """Give a function that shows how many of all are done, how fast, and how long the rest takes."""

    def line(passed: float, done: int, total: int) -> str:
        pace = ""
        if done and passed > 0:
            pace = f", {done / passed:.0f}/s, {_minutes(passed / done * (total - done))} left"
        return f"{what}: {done:,} of {total:,}{pace}"

    return _live(line)


def counter(what: str) -> AbstractContextManager[Callable[[int, float | None], None]]:
    """Give a function that shows how many are done and how fast; with the share of all, the time left."""

    def line(passed: float, number: int, share: float | None) -> str:
        pace = f", {number / passed:.0f}/s" if passed > 0.5 else ""
        if pace and share:
            pace += f", {share:.0%}, {_minutes(passed / share * (1 - share))} left"
        return f"{what}: {number:,}{pace}"

    return _live(line)


@contextlib.contextmanager
def _live(line: Callable[..., str]) -> Iterator[Callable[..., None]]:
    """Give a function that writes one line of a terminal again and again.

    Args:
        line: makes it of the seconds since now and what the function is given.
    """
    import time

    start = time.monotonic()
    shows = sys.stderr.isatty() and not os.environ.get("CI")

    def write(text: str) -> None:
        if shows:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    try:
        yield lambda *numbers: write(line(time.monotonic() - start, *numbers))
    finally:
        write("")


def _minutes(seconds: float) -> str:
    left = round(seconds)
    return f"{left // 60}:{left % 60:02}"


def is_terminal() -> bool:
    """Whether both input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask(question: str) -> str | None:
    """Ask on stderr and return the line that a person types; None at the end of the input."""
    _question(question)
    line = sys.stdin.readline()
    if not line:
        info("")
        return None
    return line.strip()


def ask_key(question: str) -> str | None:
    """Ask on stderr and return the key that a person presses, in lower case; None at the end of the input.

    Where keys cannot be read one by one the answer is a line.
    """
    if not sys.stdin.isatty():
        return ask(question)
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    _question(question)
    try:
        tty.setcbreak(descriptor)
        key = os.read(descriptor, 1).decode("ascii", "replace").lower()
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
    info(key.strip())
    return None if key in {"", "\x04"} else key.strip()


def _question(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(visible(text))
    sys.stderr.flush()


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, such as `1 thread` or `3 threads`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _fancy() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
