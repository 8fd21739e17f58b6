"""What a project's own files state as conventions."""

from __future__ import annotations

import pytest

from forgekit.extraction.config_files import stated_in


@pytest.mark.parametrize(
    ("path", "text", "stated"),
    [
        (
            "pyproject.toml",
            "[tool.ruff]\nline-length = 100\n\n[tool.black]\nline-length = 88\n\n[tool.ours]\n",
            [
                (1, "Lint Python with `ruff`"),
                (2, "Keep lines of Python to 100 characters"),
                (4, "Format Python with `black`"),
                (5, "Keep lines of Python to 88 characters"),
            ],
        ),
        ("rustfmt.toml", "max_width = 90\n", [(1, "Format Rust with `rustfmt`")]),
        (".prettierrc.yaml", "semi: false\n", [(1, "Format files with `prettier`")]),
        (
            ".github/workflows/ci.yml",
            "    - run: pytest\n    - run: mypy .\n    - run: pytest\n    - run: ruff check .\n",
            [(1, "CI runs `pytest`, `mypy .` and `ruff check .`, and each must pass")],
        ),
        (".nvmrc", "v22.3.0\n", [(1, "Use version v22.3.0 of Node")]),
        (".nvmrc", "`rm -rf`\n", []),
        (
            "package.json",
            '{\n "packageManager": "pnpm@9.1.0",\n "scripts": {"test": "vitest"}\n}\n',
            [
                (2, "Install JavaScript packages with `pnpm`"),
                (3, "To test, run the script `test` of package.json"),
            ],
        ),
    ],
)
def test_each_statement_has_its_line(path: str, text: str, stated: list[tuple[int, str]]) -> None:
    assert [(each.line, each.text) for each in stated_in(path, text)] == stated
