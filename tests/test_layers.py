"""Imports point down, the pure layers do no I/O, and each outside thing has one room."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "forgekit"

# Three floors and the doors, each a list of levels: a room imports rooms of earlier levels only.
FLOORS: dict[str, tuple[tuple[str, ...], ...]] = {
    "decide": (
        ("errors", "frozen", "ids", "times"),
        ("model",),
        ("text",),
        ("conflict", "merge"),
        ("archives", "checks"),
        ("extraction", "insight"),
        ("compaction",),
    ),
    "reach": (
        ("console", "worktree"),
        ("git", "models", "transcripts"),
        ("index", "store"),
    ),
    "use": (
        ("forge",),
        ("agent_sessions", "change", "history", "search"),
        ("findings", "lineage", "notes", "projects", "survival_report", "threads"),
        ("conflicts", "context", "governing"),
        ("conventions", "decisions", "filing", "injection", "upkeep"),
        ("briefing", "operations", "queries", "sharing"),
    ),
    "doors": (("hooks", "mcp"), ("cli",), ("__main__",)),
}
LEVEL = {
    room: number
    for number, rooms in enumerate(level for floor in FLOORS.values() for level in floor)
    for room in rooms
}
PURE = frozenset(room for level in FLOORS["decide"] for room in level)
IMPURE = frozenset(
    {
        "asyncio",
        "glob",
        "io",
        "os",
        "pathlib",
        "random",
        "secrets",
        "shutil",
        "socket",
        "sqlite3",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "urllib",
    }
)
BUILTINS = frozenset({"open", "print", "input", "eval", "exec", "__import__"})
CLOCKS = frozenset({"now", "utcnow", "today", "uuid1", "uuid4", "getnode"})
# Outside thing -> the rooms that may import it.
ROOMS: dict[str, tuple[str, ...]] = {
    "pygit2": ("forgekit.git",),
    "sqlite3": ("forgekit.index",),
    "faiss": ("forgekit.index",),
    "numpy": (
        "forgekit.index",
        "forgekit.models",
        "forgekit.archives.network",
        "forgekit.archives.states",
        "forgekit.archives.tagger",
        "forgekit.archives.tokens",
    ),
    "yaml": ("forgekit.text",),
    "ruamel": ("forgekit.text",),
    "frontmatter": ("forgekit.text",),
    "click": ("forgekit.cli",),
    "rich": ("forgekit.cli", "forgekit.console"),
    "mcp": ("forgekit.mcp",),
    "tokenizers": ("forgekit.models",),
    "sentence_transformers": ("forgekit.models",),
    "torch": ("forgekit.models",),
    "transformers": ("forgekit.models",),
    "http": ("forgekit.models",),
    "socket": ("forgekit.models", "forgekit.mcp.http"),
    "starlette": ("forgekit.mcp.http",),
    "uvicorn": ("forgekit.mcp.http",),
    "ssl": ("forgekit.models",),
    "urllib": ("forgekit.models", "forgekit.mcp"),
}

FILES = sorted(PACKAGE.rglob("*.py"))
PARSED = {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in FILES}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def in_room(module: str, rooms: Iterable[str]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def room_of(module: str) -> str | None:
    """Return the room of a module of the package: the first name below the package."""
    package, _, rest = module.partition(".")
    return rest.split(".")[0] or None if package == "forgekit" else None


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Return every module imported anywhere in a module, and the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            base = node.module or ""
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield (inner if inner in MODULES else base), node.lineno


MODULES = {name_of(path) for path in FILES}
IMPORTS = {path: list(imports(tree)) for path, tree in PARSED.items()}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_down(path: Path) -> None:
    own = room_of(name_of(path))
    if own is None:
        return
    assert own in LEVEL, f"{own} has no level; give it one in FLOORS"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {target}"
        for target, line in IMPORTS[path]
        if (other := room_of(target)) not in {None, own} and LEVEL.get(other or "", 99) >= LEVEL[own]
    ]
    assert wrong == []


@pytest.mark.parametrize("path", [p for p in FILES if room_of(name_of(p)) in PURE], ids=name_of)
def test_pure_layers_do_no_io_and_read_no_clock(path: Path) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {target}"
        for target, line in IMPORTS[path]
        if target.split(".")[0] in IMPURE
    ]
    for node in ast.walk(PARSED[path]):
        if isinstance(node, ast.Attribute) and node.attr in CLOCKS:
            wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} uses .{node.attr}")
        if isinstance(node, ast.Name) and node.id in BUILTINS:
            wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} uses {node.id}")
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_each_outside_thing_has_one_room(path: Path) -> None:
    module = name_of(path)
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {target}"
        for target, line in IMPORTS[path]
        if (rooms := ROOMS.get(target.split(".")[0])) is not None and not in_room(module, rooms)
    ]
    assert wrong == []
