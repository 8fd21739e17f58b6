"""Damaged and hostile input at every parser: our own errors or an answer, and neither time nor memory lost.

An input is one of the sound examples below, mutated: cut, doubled, spliced with another, sprinkled with what
parsers stumble over. The seed is the run's own (`--seed`). Each parser either answers or raises a ForgeError;
questions of size are asked of 100 kB inputs made in the same way.
"""

from __future__ import annotations

import io
import os
import random
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import hostile_registry as sound
import pytest
from guarantees import Level, Report

from forgekit.archives.logs import parse_machine_block
from forgekit.archives.read import read_archive
from forgekit.errors import ForgeError
from forgekit.forge import Forge
from forgekit.hooks.pre_commit import HOOKS, run
from forgekit.ids import match_key, parse_id
from forgekit.insight.question import read_question
from forgekit.model.entities import Entity
from forgekit.model.kinds import Kind
from forgekit.model.settings import DEFAULT_TOML
from forgekit.search import search
from forgekit.text import codec
from forgekit.text.blocks import quote
from forgekit.text.edit import comments, update
from forgekit.text.frontmatter import decode
from forgekit.times import parse_instant
from forgekit.transcripts.claude_code import read_sessions
from forgekit.worktree.roots import parse_settings

CASES = Path(__file__).parents[1] / "cases" / "archives"
NASTY = (
    *(
        "---\n",
        "```\n",
        "~~~yaml\n",
        "<!--",
        "-->",
        "<!-- forgekit:machine-block v3\n",
        "<!-- FORGE_OS_MACHINE_BLOCK v1 -->\n",
    ),
    *(
        "[" * 40,
        "{" * 40,
        "? " * 40,
        "- " * 40,
        "&a ",
        "*a",
        "!!python/name:os.system ",
        "<<: ",
        "%YAML 9.9\n",
    ),
    *(
        "\0",
        "\ufeff",
        "\r",
        "\u2028",
        "\u202e",
        "\x1b[2J",
        "\x85",
        "\ud800",
        "\U000e0041",
        "\u0660",
        "\N{KELVIN SIGN}",
        "\u0130",
    ),
    *(
        "9" * 5_000,
        "2026-02-30",
        "-1",
        "1e999",
        ".nan",
        "0x",
        "null",
        "~",
        "true",
        "''",
        '"',
        "'",
        "\\",
        "\\ud800",
        "|",
        ": ",
        "#",
    ),
    *(
        "D001",
        "T999",
        "OT1",
        "A000",
        "dec_000000000000",
        "../../x",
        "--output=X",
        "AND",
        "NEAR(",
        '""',
        "*",
        "^",
        "{",
        "}",
        "\n",
        "\n\n",
        "\t",
    ),
)
TRANSCRIPT = (
    '{"type":"system","subtype":"compact_boundary","sessionId":"s1","timestamp":"2026-01-01T00:00:00Z",'
    '"compactMetadata":{"trigger":"auto","preTokens":1000}}\n'
    '{"type":"user","isCompactSummary":true,"sessionId":"s1","timestamp":"2026-01-01T00:00:01Z","cwd":"/x",'
    '"message":{"role":"user","content":"Analysis\\n1. Primary Request\\n   - keep"}}\n'
)


def _archives() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(CASES.glob("*.md"))]


def _entity(text: str) -> None:
    for kind in (Kind.DECISION, Kind.THREAD, Kind.ARCHIVE, Kind.LINEAGE):
        try:
            entity: Entity = codec.loads(kind, text)
        except ForgeError:
            continue
        again = codec.loads(kind, codec.dumps(entity))
        assert again == entity
        codec.loads(kind, update(text, entity))


def _id(text: str) -> None:
    try:
        parse_id(text)
        parse_instant(text)
    except ValueError:
        match_key(text)


def _bytes(text: str) -> None:
    decode(text.encode("utf-8", "surrogatepass"))


def _transcript(text: str) -> None:
    for _ in read_sessions(io.BytesIO(text.encode("utf-8", "surrogatepass"))):
        pass


def _mentioned(text: str) -> None:
    quote(text)
    read_question(text)


PARSERS: dict[str, tuple[Callable[[str], object], list[str]]] = {
    "front matter": (
        _entity,
        [
            codec.dumps(e)
            for e in (sound.DECISIONS[3], sound.THREADS[3], sound.ARCHIVES[0], sound.ENTITIES[180])
        ],
    ),
    "archive": (read_archive, _archives()),
    "machine block": (parse_machine_block, [text for text in _archives() if "<!--" in text]),
    "settings": (parse_settings, [DEFAULT_TOML]),
    "id": (_id, [sound.DECISIONS[3].id, "2026-03-04T16:20:00Z", "dec_876be845ea71"]),
    "bytes": (_bytes, ["text\n"]),
    "transcript": (_transcript, [TRANSCRIPT]),
    "question": (_mentioned, ["Why did we decide to keep rows?", "D001", "show earlier version of TAG:D003"]),
}
HUNDRED_KB = 100_000


def mutated(rng: random.Random, examples: list[str]) -> str:
    """Return an example after one to six accidents."""
    text = rng.choice(examples)
    for _ in range(rng.randint(1, 6)):
        at, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        end = min(end, at + rng.choice((1, 20, 2_000)))
        text = rng.choice(
            (
                lambda t, a=at, e=end: t[:a] + t[e:],
                lambda t, a=at, e=end: t[:a] + t[a:e] * 3 + t[e:],
                lambda t, a=at: t[:a] + rng.choice(NASTY) + t[a:],
                lambda t, a=at, e=end: t[:a] + rng.choice(NASTY) + t[e:],
                lambda t, a=at: t[:a] + rng.choice(examples)[a:],
                lambda t, a=at, e=end: t[:a] + t[a:e].swapcase() + t[e:],
            )
        )(text)
    return text[:HUNDRED_KB]


def _outcome(parse: Callable[[str], object], text: str) -> str | None:
    """Return what a parser did that it must not."""
    try:
        parse(text)
    except ForgeError as e:
        if "\n" in str(e) and not str(e).count("\n  "):
            return f"several lines: {e}"
        return None
    except Exception as e:  # noqa: BLE001 - whatever else comes is what is looked for
        return f"{type(e).__name__}: {e}"
    return None


@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_answers_or_says_what_is_wrong(level: Level, guarantee: Report, name: str) -> None:
    parse, examples = PARSERS[name]
    rng = level.random(f"fuzz {name}")
    count = level.pick(125, 1_300)
    for number in range(count):
        text = mutated(rng, examples)
        fault = _outcome(parse, text)
        assert fault is None, f"{name}, input {number} of seed {level.seed}: {fault}\n{text[:2000]!r}"
    guarantee("G14", f"mutated inputs: {name}", f"{count:,} inputs, 0 tracebacks")


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (
            read_archive,
            "# Conversation Archive: x\n\n```yaml\ndecisions:\n  - id: D001\n    text: '\ud800'\n```\n",
        ),
        (comments, "---\n# nothing but a comment\n---\n"),
        (comments, "---\n# a list\n- a\n---\n"),
        (comments, f"---\n# deep\na: {'[' * 30_000}\n---\n"),
        (parse_settings, "a = [\n" + "[\n" * 20_000),
        (parse_settings, "budget = " + "9" * 900),
    ],
)
def test_what_once_escaped(parse: Callable[[str], object], text: str) -> None:
    assert _outcome(parse, text) is None


@pytest.mark.parametrize("name", PARSERS)
def test_100_kb_take_neither_long_nor_much(level: Level, guarantee: Report, name: str) -> None:
    """Work is counted in this process's own time, best of two, so a busy machine is no failure."""
    parse, examples = PARSERS[name]
    rng = level.random(f"size {name}")
    before, worst = _peak_mb(), 0.0
    for _ in range(level.pick(3, 30)):
        unit = mutated(rng, [*examples, *NASTY]) or "x"
        text = (unit * (HUNDRED_KB // len(unit) + 1))[:HUNDRED_KB]
        worst = max(worst, min(_seconds(parse, text) for _ in range(2)))
    assert worst < 2
    grown = _peak_mb() - before
    assert grown < 200
    guarantee("G14", f"100 kB: {name}", f"{worst:.2f} s, {grown:.0f} MB more at the worst")


def _seconds(parse: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    assert _outcome(parse, text) is None
    return time.process_time() - start


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def test_queries(base: Path, level: Level, guarantee: Report) -> None:
    """What a person looks for reaches the full-text index, the names and the words of the catalogue."""
    forge = Forge.open(base)
    rng = level.random("queries")
    count = level.pick(60, 500)
    for _ in range(count):
        text = mutated(rng, ["keep ledger rows", "D001", "dec_876be845ea71", "c++ AND (x OR y*)"])[:2_000]
        for ask in (lambda t: search(forge, t, limit=3), forge.resolve):
            assert (fault := _outcome(ask, text)) is None, (text, fault)
    guarantee("G14", "mutated inputs: query", f"{2 * count:,} inputs, 0 tracebacks")


def _hooked(hook: Callable[[list[str], Path], int], folder: Path, given: str) -> None:
    hook(given.split("\0"), folder)


def _as_argument(text: str) -> str:
    """Return a text as the operating system would hand over its bytes."""
    return os.fsdecode(text.replace("\0", "").encode("utf-8", "surrogatepass"))


def test_hooks(copied: Path, level: Level, guarantee: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of files, as pre-commit hands them over."""
    monkeypatch.chdir(copied)
    rng = level.random("hooks")
    count = level.pick(10, 100)
    names = [sound.ENTITIES[30].id, f"registry/decisions/2023-11/{sound.DECISIONS[3].id}.md", "forgekit.toml"]
    for number in range(count):
        given = [_as_argument(mutated(rng, names)[:200]) for _ in range(2)]
        hook = partial(run, sorted(HOOKS)[number % len(HOOKS)])
        fault = _outcome(partial(_hooked, hook, copied), "\0".join(given))
        assert fault is None, (given, fault)
    guarantee("G14", "mutated inputs: file names for hooks", f"{count:,} inputs, 0 tracebacks")
