"""The house around the package: what lies at the top, what is documented, and what must not be said."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import click
import pytest

from forgekit.cli.commands import forgekit as command_line

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "forgekit").rglob("*.py"))
TOP = {
    ".ci",
    ".claude-plugin",
    ".gitattributes",
    ".gitignore",
    ".pre-commit-config.yaml",
    ".pre-commit-hooks.yaml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "archives",
    "benchmarks",
    "constraints.txt",
    "docs",
    "examples",
    "forgekit",
    "forgekit.toml",
    "hooks",
    "pyproject.toml",
    "registry",
    "tests",
    "training",
}
# Paths of one machine, where packages come from, and words that mean nothing to a reader of this repository.
FOREIGN = re.compile(
    r"(?<![\w./~{}*-])/(?:work|root|opt|mnt)/\w|index[-]url|find[-]links"
    r"|the[ ]seed\b|seed[ ]schema|seed['](?:s|\b)"
)


def tracked() -> list[Path]:
    """Return the files of the repository that git keeps or would keep."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a checkout: the files that belong to it are not known")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_nothing_unexpected_lies_at_the_top() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} - TOP == set()


def test_files_speak_of_the_project_alone() -> None:
    said = []
    for path in tracked():
        if path.suffix in {".gz", ".png"} or "bank" in path.parts:
            continue  # the bank holds decisions of gardeners too
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if found := FOREIGN.search(line):
                said.append(f"{path.relative_to(ROOT)}:{number}: {found.group()}")
    assert said == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is_for(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert text.split("\n")[0].endswith((".", ":", "?"))


def test_every_pinned_version_is_exact_and_every_dependency_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", pin)] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(extras) == {"models", "mcp", "dev"}
    assert "torch==2.13.0" in pins, "another one brings several GB of CUDA packages"
    wanted = [*project["dependencies"], *extras["dev"], *extras["models"], *extras["mcp"]]
    names = {_folded(pin.partition("==")[0]) for pin in pins}
    assert {_folded(re.split(r"[<>=!~;\[ ]", want)[0]) for want in wanted} - names == set()


def _folded(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).casefold()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_readme_shows_the_table_of_operations() -> None:
    from forgekit.operations import NOUNS, sections, verbs

    rows = ["| | |", "| --- | --- |"]
    for heading, names in sections().items():
        shown = [f"`{name}`" + (f" ({', '.join(verbs(name))})" if name in NOUNS else "") for name in names]
        rows.append(f"| {heading.lower()} | {' '.join(shown)} |")
    table = "\n".join(["<!-- commands -->", *rows, "<!-- /commands -->"])
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_daily_command_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    context = click.Context(command_line)
    missing = [
        name
        for name in command_line.list_commands(context)
        if not re.search(rf"(?:forgekit |`){re.escape(name)}\b", text)
    ]
    assert missing == []


HEADINGS = {"lineage": "Lineage edge"}


def test_every_field_is_in_the_table_of_its_kind() -> None:
    from forgekit.model.entities import known_fields
    from forgekit.model.kinds import Kind

    text = (ROOT / "docs" / "FORMAT.md").read_text(encoding="utf-8")
    for kind in Kind:
        heading = HEADINGS.get(kind.value, kind.value.capitalize())
        table = re.search(rf"^### {heading}\n\n((?:\|.*\n)+)", text, re.MULTILINE)
        assert table, heading
        assert re.findall(r"^\| `(\w+)` \|", table[1], re.MULTILINE) == list(known_fields(kind)), heading


def test_the_format_document_is_of_the_schema_that_is_written() -> None:
    from forgekit.model.settings import SCHEMA_VERSION

    text = (ROOT / "docs" / "FORMAT.md").read_text(encoding="utf-8")
    assert f"a forgekit registry, version {SCHEMA_VERSION}." in text


def test_every_room_is_on_the_map() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {path.relative_to(ROOT / "forgekit").parts[0].removesuffix(".py") for path in MODULES}
    assert rooms - set(re.findall(r"`([a-z_]+)/?`", text)) == {"__init__", "__main__"}


def test_the_vectors_of_the_format_document_hold() -> None:
    from forgekit.ids import conversation_id, decision_id, project_id, thread_id

    text = (ROOT / "docs" / "FORMAT.md").read_text(encoding="utf-8")
    project = project_id("The Nexus")
    talk = conversation_id(project, "Pagination design", 1_700_000_000_000)
    expected = [
        project,
        talk,
        decision_id(project, "Use UUID v7 for all resource IDs", talk),
        thread_id(project, "Design pagination strategy", talk),
    ]
    assert re.findall(r"\| `([0-9a-f-]{36})` \|$", text, re.MULTILINE) == expected
