"""The conventions that a project's own files state: each with its line, to be reviewed by a person."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from forgekit.extraction.extract import extract
from forgekit.extraction.sentences import own_lines
from forgekit.extraction.statements import StatementReader
from forgekit.model.entities import Proposal
from forgekit.model.rules import clean
from forgekit.model.transcript import Speaker, Turn

SURE, READ = 0.8, 0.6
"""Confidence in what a configuration states, and in what is read out of prose."""
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "package-lock.json": "npm",
    "bun.lock": "bun",
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "Cargo.lock": "cargo",
    "go.sum": "go",
    "Gemfile.lock": "bundle",
    "composer.lock": "composer",
}
_ONE_OF = (frozenset({"pnpm", "yarn", "npm", "bun"}), frozenset({"uv", "poetry"}))
"""Programs that install the same packages: a project uses one of them."""
_TOOLS = {
    ".prettierrc": "prettier",
    ".prettierrc.json": "prettier",
    "eslint.config.js": "eslint",
    "eslint.config.mjs": "eslint",
    ".eslintrc.json": "eslint",
    "biome.json": "biome",
    "rustfmt.toml": "rustfmt",
    "clippy.toml": "clippy",
    ".golangci.yml": "golangci-lint",
    ".markdownlint.json": "markdownlint",
    ".rubocop.yml": "rubocop",
    "ruff.toml": "ruff",
    "mypy.ini": "mypy",
    ".flake8": "flake8",
    ".clang-format": "clang-format",
}
"""A tool's configuration states that its checks are kept to."""
_VERSIONS = {".nvmrc": "Node", ".node-version": "Node", ".python-version": "Python", ".ruby-version": "Ruby"}
_VERSION = re.compile(r"[\w.*/-]{1,40}")
_TASKS = ("build", "check", "fmt", "format", "lint", "test", "typecheck")
_TARGET = re.compile(rf"({'|'.join(_TASKS)})\s*:(?!=)")
_SETTING = re.compile(r"(indent_style|indent_size|max_line_length)\s*=\s*([\w-]{1,20})\s*")
_RUN = re.compile(r"\s*(?:- )?run:\s*([^|>\s#][^`]{1,200})")
WORKFLOW = ".github/workflows/"
PROSE = ("CONTRIBUTING.md", "CLAUDE.md", "AGENTS.md")


class Stated(NamedTuple):
    """What a line of a file states; `scope` is the paths that it is about, "" for all."""

    line: int
    text: str
    scope: str = ""
    confidence: float = SURE


def _pyproject(text: str) -> Iterator[Stated]:
    for name, table in _toml(text, "tool").items():
        line = _line(text, f"[tool.{name}")
        yield Stated(line, f"Keep to `{name}` as pyproject.toml configures it")
        length = table.get("line-length") if isinstance(table, dict) else None
        if isinstance(length, int):
            yield Stated(
                _line(text, "line-length", line), f"Keep lines of Python to {length} characters", "*.py"
            )


def _mise(text: str) -> Iterator[Stated]:
    for name in _toml(text, "tasks"):
        if name in _TASKS:
            yield Stated(_line(text, f"tasks.{name}"), f"To {name}, run `mise run {name}`")


def _package(text: str) -> Iterator[Stated]:
    try:
        package = json.loads(text)
        scripts, manager = package.get("scripts"), package.get("packageManager")
    except (ValueError, AttributeError, RecursionError):
        return
    if isinstance(manager, str) and _VERSION.fullmatch(manager.partition("@")[0]):
        yield Stated(_line(text, "packageManager"), f"Install packages with `{manager.partition('@')[0]}`")
    for name in _TASKS:
        if isinstance(scripts, dict) and name in scripts:
            yield Stated(_line(text, f'"{name}"'), f"To {name}, run the script `{name}` of package.json")


def _makefile(text: str) -> Iterator[Stated]:
    for number, line in enumerate(text.splitlines(), 1):
        if match := _TARGET.match(line):
            yield Stated(number, f"To {match[1]}, run `make {match[1]}`")


def _editorconfig(text: str) -> Iterator[Stated]:
    scope = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("[") and line.rstrip().endswith("]"):
            scope = line.strip()[1:-1]
        elif scope and (match := _SETTING.fullmatch(line)):
            yield Stated(number, f"In `{scope}`, {match[1].replace('_', ' ')} is {match[2]}", scope)


def _workflow(text: str) -> Iterator[Stated]:
    for number, line in enumerate(text.splitlines(), 1):
        if match := _RUN.fullmatch(line):
            yield Stated(number, f"CI runs `{match[1].strip()}`, and it must pass")


READERS: Mapping[str, Callable[[str], Iterator[Stated]]] = {
    "pyproject.toml": _pyproject,
    "mise.toml": _mise,
    "package.json": _package,
    "Makefile": _makefile,
    ".editorconfig": _editorconfig,
}
FILES = (*READERS, *_LOCKS, *_TOOLS, *_VERSIONS, *PROSE)
"""Paths below the top of a project; the files of `WORKFLOW` are read too."""


def rival_locks(paths: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the lock files, among some files, of different programs that install the same packages."""
    found = [path for path in paths if path in _LOCKS]
    groups = (tuple(path for path in found if _LOCKS[path] in group) for group in _ONE_OF)
    return [group for group in groups if len(group) > 1]


def stated_in(path: str, text: str, reader: StatementReader | None = None) -> Iterator[Stated]:
    """Yield what a file states.

    Args:
        path: of `FILES`, or below `WORKFLOW`.
        text: of the file, without what forgekit wrote into it.
        reader: of prose; without one, prose states nothing.
    """
    if path in _LOCKS:
        yield Stated(1, f"Install packages with `{_LOCKS[path]}`")
    elif path in _TOOLS:
        yield Stated(1, f"Keep to `{_TOOLS[path]}` as {path} configures it")
    elif path in _VERSIONS:
        if version := _VERSION.match(text.strip()):
            yield Stated(1, f"Use version {version[0]} of {_VERSIONS[path]}")
    elif path in PROSE:
        prose = clean(text)
        heads = (start for start, line in own_lines(prose) if line.lstrip().startswith("#"))
        sections = {  # by first line; a message of several sections would count as a pasted document
            prose.count("\n", 0, a) + 1: prose[a:b] for a, b in pairwise((0, *heads, len(prose)))
        }
        turns = [Turn(number=n, speaker=Speaker.USER, text=section) for n, section in sections.items()]
        for find in extract(turns, reader):
            if find.kind is Proposal.INSTRUCTION:
                line = find.turn + sections[find.turn].count("\n", 0, find.start)
                yield Stated(line, find.title, confidence=READ)
    else:
        yield from READERS.get(path, _workflow)(text)


def _toml(text: str, table: str) -> dict[str, Any]:
    try:
        found = tomllib.loads(text).get(table)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _line(text: str, needle: str, first: int = 1) -> int:
    """Return the first line from one on that holds a text, 1 where none does."""
    lines = enumerate(text.splitlines(), 1)
    return next((number for number, line in lines if number >= first and needle in line), 1)
