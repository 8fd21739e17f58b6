"""The table of requirements in docs/conventions.md names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
IDS = (*(f"LIFE-0{number}" for number in range(1, 7)), "TRNS-01", "TRNS-02", "TRNS-05", "PRSC-01", "PRSC-02")


def defined(path: Path) -> set[str]:
    """Return the functions of a module, and as `Class.name` the methods of its classes."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    names = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    classes = (node for node in body if isinstance(node, ast.ClassDef))
    return names | {f"{c.name}.{n.name}" for c in classes for n in c.body if isinstance(n, ast.FunctionDef)}


def test_each_requirement_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]+-\d+) \| .*? \| (`tests/.*?`) \| .* \|$", text, re.MULTILINE)
    assert [key for key, _ in rows] == list(IDS)
    for key, named in rows:
        for test in named.split(", "):
            file, name = re.fullmatch(r"`([\w/]+\.py)::([\w.]+)`", test).groups()  # type: ignore[union-attr] # a failure is one
            assert name in defined(ROOT / file), f"{key}: {test}"
