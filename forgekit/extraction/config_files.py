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
_TOOLS: Mapping[str, tuple[str, ...]] = {
    "pytest": ("Run the tests", "pytest.ini"),
    "coverage": ("Measure which lines the tests cover", ".coveragerc"),
    "tox": ("Run the checks of each environment", "tox.ini"),
    "mypy": ("Check the types", "mypy.ini", ".mypy.ini"),
    "pyright": ("Analyse the types", "pyrightconfig.json"),
    "ruff": ("Lint Python", "ruff.toml", ".ruff.toml"),
    "flake8": ("Follow the style guide", ".flake8"),
    "pylint": ("Analyse Python", ".pylintrc"),
    "bandit": ("Scan for security problems",),
    "black": ("Format Python",),
    "isort": ("Sort the imports", ".isort.cfg"),
    "prettier": (
        "Format files",
        *(f".prettierrc{end}" for end in ("", ".json", ".yaml", ".yml", ".toml", ".js", ".cjs", ".mjs")),
        *(f"prettier.config.{end}" for end in ("js", "cjs", "mjs")),
    ),
    "eslint": (
        "Lint JavaScript",
        *(f"eslint.config.{end}" for end in ("js", "cjs", "mjs", "ts")),
        *(f".eslintrc.{end}" for end in ("json", "yaml", "yml", "js", "cjs")),
    ),
    "biome": ("Lint and format", "biome.json", "biome.jsonc"),
    "markdownlint": ("Check Markdown files", ".markdownlint.json", ".markdownlint.yaml"),
    "rustfmt": ("Format Rust", "rustfmt.toml", ".rustfmt.toml"),
    "clippy": ("Lint Rust", "clippy.toml"),
    "golangci-lint": ("Lint Go", ".golangci.yml", ".golangci.yaml"),
    "rubocop": ("Lint Ruby", ".rubocop.yml"),
    "clang-format": ("Format C and C++", ".clang-format"),
    "pnpm": ("Install JavaScript packages", "pnpm-lock.yaml"),
    "yarn": ("Install JavaScript packages", "yarn.lock"),
    "npm": ("Install JavaScript packages", "package-lock.json"),
    "bun": ("Install JavaScript packages", "bun.lock"),
    "uv": ("Install Python packages", "uv.lock"),
    "poetry": ("Install Python packages", "poetry.lock"),
    "pdm": ("Install Python packages", "pdm.lock"),
    "cargo": ("Install Rust crates", "Cargo.lock"),
    "go": ("Install Go modules", "go.sum"),
    "bundle": ("Install Ruby gems", "Gemfile.lock"),
    "composer": ("Install PHP packages", "composer.lock"),
}
"""What each tool is for, and the files that state that it is used; a project uses one tool for one purpose.

Two texts that differ in their tools alone read as a contradiction, so each names its purpose.
"""
_TOOL_OF = {path: tool for tool, (_, *paths) in _TOOLS.items() for path in paths}
_VERSIONS = {".nvmrc": "Node", ".node-version": "Node", ".python-version": "Python", ".ruby-version": "Ruby"}
_VERSION = re.compile(r"[\w.*/-]{1,40}")
_TASKS = ("build", "check", "fmt", "format", "lint", "test", "typecheck")
_TARGET = re.compile(rf"({'|'.join(_TASKS)})\s*:(?!=)")
_SETTING = re.compile(r"(indent_style|indent_size|max_line_length)\s*=\s*([\w-]{1,20})\s*")
_RUN = re.compile(r"\s*(?:- )?run:\s*([^|>\s#][^`]{1,200})")
_STEPS = 8
"""Commands of a workflow that are named."""
WORKFLOW = ".github/workflows/"
PROSE = ("CONTRIBUTING.md", "CLAUDE.md", "AGENTS.md")


class Stated(NamedTuple):
    """What a line of a file states; `scope` is the paths that it is about, "" for all."""

    line: int
    text: str
    scope: str = ""
    confidence: float = SURE


def _tool(line: int, name: str) -> Iterator[Stated]:
    if name in _TOOLS:
        yield Stated(line, f"{_TOOLS[name][0]} with `{name}`")


def _pyproject(text: str) -> Iterator[Stated]:
    for name, table in _toml(text, "tool").items():
        line = _line(text, f"[tool.{name}")
        yield from _tool(line, name)
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
    if isinstance(manager, str):
        yield from _tool(_line(text, "packageManager"), manager.partition("@")[0])
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
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _RUN.fullmatch(line):
            lines.setdefault(f"`{match[1].strip()}`", number)
    *others, last = [*lines][:_STEPS] or [""]
    if last:
        named = f"{', '.join(others)} and {last}, and each" if others else f"{last}, and it"
        yield Stated(min(lines.values()), f"CI runs {named} must pass")


READERS: Mapping[str, Callable[[str], Iterator[Stated]]] = {
    "pyproject.toml": _pyproject,
    "mise.toml": _mise,
    "package.json": _package,
    "Makefile": _makefile,
    ".editorconfig": _editorconfig,
}
FILES = (*READERS, *_TOOL_OF, *_VERSIONS, *PROSE)
"""Paths below the top of a project; the files of `WORKFLOW` are read too."""


def rivals(paths: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the files, among some, of different tools for one purpose."""
    groups: dict[str, dict[str, str]] = {}
    for path in paths:
        if tool := _TOOL_OF.get(path):
            groups.setdefault(_TOOLS[tool][0], {}).setdefault(tool, path)
    return [tuple(group.values()) for group in groups.values() if len(group) > 1]


def stated_in(path: str, text: str, reader: StatementReader | None = None) -> Iterator[Stated]:
    """Yield what a file states.

    Args:
        path: of `FILES`, or below `WORKFLOW`.
        text: of the file, without what forgekit wrote into it.
        reader: of prose; without one, prose states nothing.
    """
    if path in _TOOL_OF:
        yield from _tool(1, _TOOL_OF[path])
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
