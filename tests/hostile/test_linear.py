"""Linear time: twice the input is at most two and a half times the work (G16).

Time is this process's own, best of three, judged over two doublings at once: four times the input may take
2.5 x 2.5 times as long, where growth with the square takes sixteen. What takes less than a floor counts as
the floor, and growth that looks too fast is measured twice more: a busy machine slows one measurement,
growth with the square fails all three.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import time
from collections.abc import Callable

import pytest
from fake_reader import PLAIN_ENGLISH, FakeReader
from guarantees import Level, Report

from forgekit import console
from forgekit.archives.logs import parse_machine_block
from forgekit.archives.read import read_archive
from forgekit.compaction.anchors import command_key, stretches, target_of
from forgekit.errors import ForgeError
from forgekit.extraction.extract import extract
from forgekit.ids import conversation_id, match_key, normalise, project_id
from forgekit.insight.conventions import Mentions, observed
from forgekit.model.entities import Conversation
from forgekit.model.kinds import Kind
from forgekit.model.transcript import Speaker, Turn
from forgekit.notes import title_of
from forgekit.text import codec
from forgekit.text.blocks import quote
from forgekit.text.edit import comments
from forgekit.text.secrets import redact
from forgekit.times import Instant
from forgekit.transcripts.agent_events import EventReader
from forgekit.transcripts.claude_code import read_sessions
from forgekit.transcripts.labelled import read_markdown, read_specstory
from forgekit.transcripts.sources import unpacked

SHAPES: dict[str, str] = {
    "brackets": "[",
    "backticks": "`x ",
    "backticks alone": "`",
    "comment openers": "<!-- ",
    "fences": "```\n~~~\n",
    "headings": "# D001: x\n",
    "table rows": "| D001 | a | b |\n",
    "stars": "**a** *",
    "blanks": " \t",
    "blanks only": " ",
    "dots": ".",
    "exclamation marks": "!",
    "hashes": "#",
    "stars and blanks": "*  ",
    "line ends": "\n",
    "keys": "- **Decision:** x\n  - a: b\n",
    "ids": "D001 T002 ",
    "block marks": "<!-- forgekit:machine-block v3\n-->\n",
    "parts of a secret": "eyJhbGciOi.",
    "here-documents": "<<A\n",
    "here-documents on one line": "<<A ",
    "words with quotation marks": "<<'a\"b",
    "pipes": "cd a|b&&",
    "commands of the program": "<command-name>a</command-name><command-args>b",
    "surrogates and controls": "\u202e\x1b\u200b",
}


READER = FakeReader({}, patterns=PLAIN_ENGLISH)
STATED = "We decided on plan {} because it is the next of all the plans that we have here."


def _extract(text: str) -> None:
    """Look for decisions where a long run stands within a line."""
    said = (f"Wait{text}x", f"# a{text}b", f"We go, fine{text}c", f"**{text}x", f"- {text}:")
    for one in (*said, f"| Decision | Why |\n|---|---|\n| {text}a | b |"):
        extract([Turn(number=1, speaker=Speaker.USER, time=None, text=one)], READER)


def _read(text: str) -> None:
    try:
        codec.loads(Kind.DECISION, f"---\nnote: x\n---\n{text}")
        codec.loads(Kind.DECISION, f"---\nnote: {text}\n---\n")
    except ForgeError:
        return


def _events(text: str) -> None:
    record = {"type": "user", "message": {"content": f"<command-name>{text}"}}
    stretches(EventReader().read(io.BytesIO(json.dumps(record).encode() + b"\n")))


RULE = observed(
    Conversation(
        conversation_id=conversation_id(project_id("P"), "c", Instant(0)),
        title="c",
        project_name="P",
        project_uuid=project_id("P"),
        created_at=Instant(0),
    ),
    "Run `make test` first",
    sure=1,
    turn=1,
    at=Instant(0),
)


WORK: dict[str, Callable[[str], object]] = {
    "read_archive": read_archive,
    "an archive's summary": lambda text: read_archive(
        f"Summary:\n1. Primary Request and Intent:\n{text}\n7. Pending Tasks:\n{text}"
    ),
    "parse_machine_block": parse_machine_block,
    "codec.loads": _read,
    "transcript": lambda text: list(read_sessions(io.BytesIO(text.encode()))),
    "pasted chat": lambda text: list(read_markdown(unpacked(io.BytesIO(f"User: {text}".encode())))),
    "specstory": lambda text: list(read_specstory(unpacked(io.BytesIO(f"_**Agent**_\n{text}".encode())))),
    "extract": _extract,
    "quote": quote,
    "visible": console.visible,
    "json": console.json_text,
    "normalise": lambda text: (normalise(text), match_key(text)),
    "comments": lambda text: comments(f"---\n{text}\n---\n"),
    "redact": redact,
    "an agent's transcript": _events,
    "a note": title_of,
    "a command line": lambda text: (command_key(f"cat <<E {text}"), target_of(f"cd a{text}")),
    "use of a convention": lambda text: Mentions(frozenset(), frozenset({f"cat <<E {text}"})).uses(RULE),
}
FLOOR_S = 0.05
RATIO = 2.5
ATTEMPTS = 3


def _seconds(work: Callable[[str], object], text: str) -> float:
    best = 9.9
    gc.disable()  # what it takes depends on everything that earlier tests have left
    try:
        for _ in range(3):
            start = time.process_time()
            with contextlib.suppress(ForgeError):
                work(text)
            best = min(best, time.process_time() - start)
            if best < FLOOR_S:
                break
    finally:
        gc.enable()
    return best


def _growth(work: Callable[[str], object], small: str, large: str) -> float:
    """Return how often longer the large text takes than the small one, the least of three attempts."""
    least = 99.9
    for _ in range(ATTEMPTS):
        before, after = (max(FLOOR_S, _seconds(work, text)) for text in (small, large))
        least = min(least, after / before)
        if least <= RATIO**2:
            break
    return least


@pytest.mark.parametrize("name", WORK)
def test_work_grows_with_the_input_and_no_faster(level: Level, guarantee: Report, name: str) -> None:
    smallest = level.pick(20_000, 100_000)
    worst = 0.0
    for shape, unit in SHAPES.items():
        small, large = (smallest * factor // len(unit) for factor in (1, 4))
        growth = _growth(WORK[name], unit * small, unit * large)
        assert growth <= RATIO**2, f"{name} on {shape}: {growth:.1f} times as long for 4 times the text"
        worst = max(worst, growth**0.5)
    guarantee("G16", f"time per doubling of the input: {name}", f"{len(SHAPES)} shapes, x{worst:.2f} at most")


def _decisions(number: int) -> list[Turn]:
    """Return a message of so many decisions, each with a reason, and so many messages of one."""
    said = [STATED.format(n) for n in range(number)]
    return [
        Turn(number=n, speaker=(Speaker.USER, Speaker.ASSISTANT)[n % 2], time=None, text=text)
        for n, text in enumerate(["\n".join(said), *said], 1)
    ]


def test_reading_decisions_grows_with_their_number_and_no_faster(level: Level, guarantee: Report) -> None:
    smallest = level.pick(100, 1_000)

    def work(number: str) -> object:
        return extract(_decisions(int(number)), READER)

    growth = _growth(work, str(smallest), str(smallest * 4))
    assert growth <= RATIO**2, f"{smallest} decisions: {growth:.1f} times as long for 4 times as many"
    guarantee("G16", "time per doubling of the decisions of a conversation", f"x{growth**0.5:.2f}")
