"""Imports point down, the pure layers do no I/O, and each outside thing has one room."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "forgekit"

# A module may import modules of its own layer and of those before it. A name stands for its module and for
# the package below it.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"forgekit.errors", "forgekit.ids", "forgekit.times"}),
    frozenset({"forgekit.model"}),
    frozenset({"forgekit.text", "forgekit.policy"}),
    frozenset(
        {
            "forgekit.catalogue",
            "forgekit.embedding",
            "forgekit.git",
            "forgekit.ingest",
            "forgekit.judges",
            "forgekit.store",
            "forgekit.vectors",
        }
    ),
    frozenset(
        {
            "forgekit.conflicts",
            "forgekit.context",
            "forgekit.decisions",
            "forgekit.detecting",
            "forgekit.forge",
            "forgekit.history",
            "forgekit.lineage",
            "forgekit.loop",
            "forgekit.projects",
            "forgekit.search",
            "forgekit.threads",
            "forgekit.upkeep",
            "forgekit.writing",
        }
    ),
    frozenset({"forgekit.__main__", "forgekit.cli", "forgekit.hooks", "forgekit.mcp"}),
)
PURE = 3
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
    "sqlite3": ("forgekit.catalogue", "forgekit.vectors"),
    "faiss": ("forgekit.vectors",),
    "numpy": ("forgekit.embedding", "forgekit.judges", "forgekit.vectors"),
    "yaml": ("forgekit.text",),
    "ruamel": ("forgekit.text",),
    "frontmatter": ("forgekit.text",),
    "click": ("forgekit.cli",),
    "rich": ("forgekit.cli",),
    "mcp": ("forgekit.mcp",),
    "tokenizers": ("forgekit.embedding",),
    "sentence_transformers": ("forgekit.embedding", "forgekit.judges"),
    "torch": ("forgekit.embedding",),
    "transformers": ("forgekit.embedding", "forgekit.judges"),
    "http": ("forgekit.judges",),
    "socket": ("forgekit.judges",),
    "ssl": ("forgekit.judges",),
    "urllib": ("forgekit.judges",),
}

FILES = sorted(PACKAGE.rglob("*.py"))
PARSED = {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in FILES}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def in_room(module: str, rooms: Iterable[str]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def layer(module: str) -> int | None:
    """Return a module's layer, or None where the table does not say."""
    if module == "forgekit":
        return 0
    return next((number for number, rooms in enumerate(LAYERS) if in_room(module, rooms)), None)


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
    module = name_of(path)
    own = layer(module)
    assert own is not None, f"{module} has no layer; give it one in LAYERS"
    wrong = []
    for target, line in IMPORTS[path]:
        if target.split(".")[0] == "forgekit":
            other = layer(target)
            if other is None or other > own:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {target}")
    assert wrong == []


@pytest.mark.parametrize("path", [p for p in FILES if layer(name_of(p)) in range(PURE)], ids=name_of)
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
